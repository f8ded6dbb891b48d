/* Wherry: Linux functions that Swift's Glibc module does not export. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLINUX_H
#define CLINUX_H

#include <stdint.h>

/* An eventfd, close-on-exec and non-blocking; -1 and errno. */
int clinux_eventfd(void);

/* Reads how many bytes wait in a local socket, and how much memory those take that its peer has not read.
 * 0, or -1 if the descriptor is close-on-exec or no local socket. */
int clinux_inherited_pair(int descriptor, int *out_unread, int *out_unsent);
/* Makes the descriptor close-on-exec. 0, or -1 and errno. */
int clinux_close_on_exec(int descriptor);

/* The system's message for an errno; "Unknown error" for any other number. Static text. */
const char *clinux_error_text(int code);

/* Reads what the page cache holds without waiting for the disk. Returns the count, or -1 and errno:
 * EAGAIN or EOPNOTSUPP if the disk would have to be read, or the file system does not know. */
int64_t clinux_read_now(int descriptor, void *bytes, uint64_t count, int64_t offset);

/* Updates a CRC-32C. The caller inverts the state before the first and after the last byte. Returns 0
 * and changes nothing if the processor lacks the instruction; otherwise 1. */
int clinux_crc32c(uint32_t *state, const void *bytes, uint64_t count);

/* Names the calling thread; at most 15 bytes. */
void clinux_name_thread(const char *name);

/* An epoll descriptor, close-on-exec; -1 and errno. */
int clinux_epoll_create(void);

enum { CLINUX_READ = 1, CLINUX_WRITE = 2, CLINUX_HANGUP = 4 };

enum { CLINUX_READY_LIMIT = 256 };

typedef struct clinux_ready {
  int32_t descriptor;
  uint32_t events; /* CLINUX_* */
} clinux_ready;

/* Sets the events to wait for on a descriptor, level triggered; 0 removes the descriptor. `known` is
 * whether it was added before. 0, or -1 and errno. */
int clinux_epoll_set(int epoll, int32_t descriptor, uint32_t events, int known);

/* Fills `ready` with at most `capacity` (CLINUX_READY_LIMIT) descriptors. timeout_ms -1 waits forever.
 * Returns the count, or -1 and errno. */
int clinux_epoll_wait(int epoll, clinux_ready *ready, int capacity, int timeout_ms);

/* Files. Each function returns 0, or the errno of its failure. */

/* An exclusive open-file-description lock on the whole file, without waiting. EAGAIN: another open
 * file holds it, here or in another process. */
int clinux_lock(int descriptor);
int clinux_unlock(int descriptor);
/* Whether another open file holds such a lock. */
int clinux_is_locked(int descriptor, int *out_locked);

/* renameat2 with RENAME_NOREPLACE. EEXIST: the new name is taken. If the file system does not support
 * the flag, linkat creates the name, which never replaces a file either. */
int clinux_rename_exclusive(int from_directory, const char *from, int to_directory,
    const char *to);

/* Reserves blocks without changing the size. EOPNOTSUPP: the file system cannot. */
int clinux_reserve(int descriptor, int64_t offset, int64_t length);

/* Releases the blocks of a range, which then reads as zeros. The length of the file stays. */
int clinux_release(int descriptor, int64_t offset, int64_t length);

/* Starts writing dirty pages to the disk, and does not wait. */
int clinux_begin_write_back(int descriptor);

/* Sets the modification time, in seconds since 1970, and keeps the access time. */
int clinux_set_modified(int descriptor, int64_t seconds);

/* The magic number of statfs(2). */
int clinux_file_system(int descriptor, uint64_t *out_magic);

/* Opens a file below the directory for reading: a path of one or more names, none of which may be
 * a symbolic link or "..". The descriptor, or -1 and errno. */
int clinux_open_below(int directory, const char *path);

/* Processes and local sockets. */

/* Starts a program in a new session and in "/", with every signal at its default and none blocked.
 * Standard input, output, and error are /dev/null. `ready` becomes descriptor 3 unless it is -1. The
 * program inherits no other descriptor. 0 or the errno. */
int clinux_spawn_detached(const char *path, char *const *arguments, char *const *environment,
    int ready, int32_t *out_process);

/* Waits until a child of this process has ended. Returns at once if the program has already waited
 * for the child. */
void clinux_wait_child(int32_t process);

/* A pipe, close-on-exec. 0 or the errno. */
int clinux_pipe(int *out_read, int *out_write);

/* A stream socket of the file system, close-on-exec and non-blocking: listening under a new name of
 * mode 0600, or connected to one. The descriptor, or -1 and errno. */
int clinux_listen(const char *path);
int clinux_connect(const char *path);
int clinux_accept(int descriptor);

/* The user whose process made the other end. 0 or the errno. */
int clinux_peer_user(int descriptor, uint32_t *out_user);

/* As send(2) without SIGPIPE, and recv(2); an interrupted call is repeated. */
int64_t clinux_send(int descriptor, const void *bytes, uint64_t count);
int64_t clinux_receive(int descriptor, void *bytes, uint64_t count);

/* Blocks SIGTERM, SIGINT and SIGHUP in the calling thread, and ignores SIGPIPE and SIGXFSZ in the
 * process. The descriptor becomes readable when one of the first three arrives. -1 and errno. */
int clinux_end_signals(void);

/* Redirects standard error to the open file. 0 or the errno. */
int clinux_redirect_error(int descriptor);

/* The path of the file that this code was loaded from. 0 or the errno. */
int clinux_own_file(char *buffer, uint64_t capacity);

/* An environment variable; NULL in a setuid or setgid program. */
const char *clinux_secure_variable(const char *name);

/* TLS. libcurl reports little about a certificate that it refuses, and accepts no trust anchors besides
 * its own. These functions observe and extend OpenSSL's verification. */

enum { CLINUX_PEER_NAME = 512, CLINUX_PEER_LEAF = 16384 };

/* The result of verifying a peer's chain. Valid during the call that receives it. */
typedef struct clinux_peer {
  int error;        /* X509_V_ERR_*; 0 if the chain is good */
  int is_unpinned;  /* the chain ends at none of the watch's anchors */
  int is_unnamed;   /* no host name or address in subjectAltName: refused if names are checked */
  const char *text; /* OpenSSL's message for the error */
  /* Names in the certificate at fault, or else in the peer's: "/CN=localhost", escaped. */
  char subject[CLINUX_PEER_NAME], issuer[CLINUX_PEER_NAME];
  char leaf_subject[CLINUX_PEER_NAME];
  const uint8_t *leaf; /* DER of the peer's certificate; NULL if larger than LEAF */
  uint64_t leaf_bytes;
} clinux_peer;

typedef struct clinux_peer_watch {
  void (*told)(void *context, const clinux_peer *peer);
  /* The peer has sent close_notify on that SSL connection (1), or the connection is new (0). */
  void (*notified)(void *context, const void *connection, int is_closed);
  void *context;
  const uint8_t *anchors; /* DER certificates, one of which the chain must lead to; or NULL */
  uint64_t anchor_bytes;
  int only_anchors; /* ignore the system's roots and CA files */
  int checks_name;  /* refuse a certificate without a host name or address in subjectAltName */
  int only_reports; /* report a chain that reaches no anchor, and accept it */
} clinux_peer_watch;

/* Whether libcurl uses OpenSSL, and its functions can be found. */
int clinux_peer_is_available(void);

/* Reports the chain of each connection of libcurl's SSL_CTX to the watch, and refuses weak keys and
 * digests whatever the system's settings. The watch must outlive every connection of the context.
 * Returns 0 and changes nothing if OpenSSL is not available. */
int clinux_peer_watch_start(void *context, const clinux_peer_watch *watch);

/* The end of the process. OpenSSL's exit handler frees what its calls on other threads still use.
 * Threads therefore call libcurl and OpenSSL between enter and leave; the exit handler waits up to
 * 80 ms until they have left, and then enter returns 0. */

/* Registers the exit handler. Call it after each initialization of OpenSSL, so that this handler
 * runs before OpenSSL's own. */
void clinux_exit_watch(void);
/* Initializes the OpenSSL of that dlopen handle without OpenSSL's exit handler. Has no effect
 * if the program has initialized OpenSSL before. */
void clinux_exit_keep_libcrypto(void *library);
/* The same for the OpenSSL that libcurl is linked with. Call it before curl_global_init. */
void clinux_exit_keep_tls(void);
/* 1, and leave must follow; 0 once the process is exiting. Calls nest. */
int clinux_exit_enter(void);
void clinux_exit_leave(void);
/* Encloses work that calls enter many times. The outermost leave frees OpenSSL's data of the thread,
 * which includes its error queue; between attach and detach, only detach does. The exit handler also
 * waits for detach. attach returns 0 once the process is exiting; otherwise call detach. Calls nest. */
int clinux_exit_attach(void);
void clinux_exit_detach(void);
/* The first and the last call of a library thread. The thread keeps OpenSSL's data until the last
 * call, which does not return if the process is exiting. */
void clinux_exit_begin_thread(void);
void clinux_exit_end_thread(void);
/* Joins a library thread, a pthread_t. Detaches the thread instead if the process exits. */
void clinux_exit_join(uintptr_t thread);
int clinux_exit_has_begun(void);
/* Blocks the calling thread for good; returns on the thread that runs the exit handlers. With
 * `only_if_over`, returns also while the exit handler still waits. */
void clinux_exit_block(int only_if_over);
/* Keeps memory reachable that an exiting process cannot free, so that leak checkers do not report it. */
void clinux_exit_keep(const void *memory);
/* A descriptor that is readable once the process is exiting, the same one for the whole process.
 * Never close it or read from it. -1 where none can be made. */
int clinux_exit_descriptor(void);

/* Networks, as the kernel reports them over netlink sockets. */

/* A socket that becomes readable when links, addresses, routes, or routing rules change, for IPv4 and
 * IPv6; close-on-exec and non-blocking. -1 and errno. */
int clinux_network_watch(void);
/* Reads and discards all messages. 1 if there were any, 0 if none, -1 and errno. */
int clinux_network_drain(int socket);

enum {
  CLINUX_LINK_UP = 1,      /* switched on */
  CLINUX_LINK_CARRIER = 2, /* and something is at its other end */
  CLINUX_LINK_LOOPBACK = 4
};

typedef struct clinux_link {
  int32_t index;
  uint32_t flags;    /* CLINUX_LINK_* */
  uint32_t hardware; /* ARPHRD_* */
  char name[16];
  char driver[16]; /* "tun", "wireguard"; "" if the kernel names none */
} clinux_link;

/* The link with that index: 0 or an errno. */
int clinux_link_at(int32_t index, clinux_link *out);
/* Lists every link; fills the first `capacity`. Returns the number of links, or -1 and errno. */
int clinux_links(clinux_link *links, int capacity);

enum {
  CLINUX_ROUTE_LOCAL = 1,  /* the address is one of this machine */
  CLINUX_ROUTE_DOWN = 2,   /* nothing is at the other end of the link */
  CLINUX_ROUTE_SOURCE = 4 /* there is an address to send from */
};

typedef struct clinux_route {
  int32_t link; /* its index */
  uint32_t flags; /* CLINUX_ROUTE_* */
} clinux_route;

/* The route for packets to an address of 4 or 16 bytes in network order. `scope` is the index of the
 * link of a link-local address, or 0. 0 or an errno; ENETUNREACH if there is no route. */
int clinux_route_to(const uint8_t *address, int32_t size, int32_t scope, clinux_route *out);

#endif
