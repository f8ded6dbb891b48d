/* Wherry: Linux functions that Swift's Glibc module does not export. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLINUX_H
#define CLINUX_H

#include <stddef.h>
#include <stdint.h>

/* Creates an eventfd, close-on-exec and non-blocking. Returns -1 and sets errno on failure. */
int clinux_eventfd(void);

/* Reads the number of bytes waiting in a Unix socket, and the memory used by sent bytes that its
 * peer has not read. Returns 0, or -1 if the descriptor is close-on-exec or not a Unix socket. */
int clinux_inherited_pair(int descriptor, int *out_unread, int *out_unsent);
/* Makes the descriptor close-on-exec. Returns 0, or -1 and errno. */
int clinux_close_on_exec(int descriptor);

/* Returns the system's message for an errno, or "Unknown error" for other numbers. Static text. */
const char *clinux_error_text(int code);

/* Reads bytes from the page cache without waiting for the disk. Returns the count, or -1 and errno.
 * EAGAIN or EOPNOTSUPP: the bytes are not cached, or the file system does not support it. */
int64_t clinux_read_now(int descriptor, void *bytes, uint64_t count, int64_t offset);

/* Updates a CRC-32C. The caller inverts the state before the first and after the last byte. Returns
 * 1, or 0 without an effect if the processor lacks the instruction. */
int clinux_crc32c(uint32_t *state, const void *bytes, uint64_t count);

/* Sets the name of the calling thread; at most 15 bytes. */
void clinux_name_thread(const char *name);

/* Creates an epoll descriptor, close-on-exec. Returns -1 and sets errno on failure. */
int clinux_epoll_create(void);

enum { CLINUX_READ = 1, CLINUX_WRITE = 2, CLINUX_HANGUP = 4 };

enum { CLINUX_READY_LIMIT = 256 };

typedef struct clinux_ready {
  int32_t descriptor;
  uint32_t events; /* CLINUX_* */
} clinux_ready;

/* Sets the events to wait for on a descriptor, level triggered; 0 removes the descriptor. `known`
 * tells whether the descriptor was added before. Returns 0, or -1 and errno. */
int clinux_epoll_set(int epoll, int32_t descriptor, uint32_t events, int known);

/* Waits for events and fills `ready` with at most `capacity` descriptors, at most
 * CLINUX_READY_LIMIT. A timeout of -1 waits forever. Returns the count, or -1 and errno. */
int clinux_epoll_wait(int epoll, clinux_ready *ready, int capacity, int timeout_ms);

/* Files. Each function returns 0, or an errno on failure. */

/* Takes an exclusive open-file-description lock on the whole file, without waiting. EAGAIN: another
 * open file holds the lock, in this or another process. */
int clinux_lock(int descriptor);
int clinux_unlock(int descriptor);
/* Checks whether another open file holds such a lock. */
int clinux_is_locked(int descriptor, int *out_locked);

/* Calls renameat2 with RENAME_NOREPLACE. EEXIST: the new name exists. If the file system does not
 * support the flag, uses linkat and unlinkat, which do not replace a file either. */
int clinux_rename_exclusive(int from_directory, const char *from, int to_directory, const char *to);

/* Reserves blocks without changing the size. EOPNOTSUPP: not supported by the file system. */
int clinux_reserve(int descriptor, int64_t offset, int64_t length);

/* Releases the blocks of a range, which then reads as zeros. Does not change the size. */
int clinux_release(int descriptor, int64_t offset, int64_t length);

/* Starts writing dirty pages to the disk, without waiting. */
int clinux_begin_write_back(int descriptor);

/* Sets the modification time in seconds since 1970. Keeps the access time. */
int clinux_set_modified(int descriptor, int64_t seconds);

/* Returns the file system type of statfs(2). */
int clinux_file_system(int descriptor, uint64_t *out_magic);

/* Opens a file below the directory for reading. The path consists of one or more names, none of
 * which may be a symbolic link or "..". Returns the descriptor, or -1 and errno. */
int clinux_open_below(int directory, const char *path);

/* Processes and Unix sockets. */

/* Starts a program in a new session and in "/", with default signal handlers and no blocked
 * signals. Standard input, output and error are /dev/null. `ready` becomes descriptor 3, unless it
 * is -1. The program inherits no other descriptor. Returns 0 or an errno. */
int clinux_spawn_detached(const char *path, char *const *arguments, char *const *environment,
                          int ready, int32_t *out_process);

/* Waits until a child process has ended. Returns at once if the program already waited. */
void clinux_wait_child(int32_t process);

/* Creates a pipe, close-on-exec. Returns 0 or an errno. */
int clinux_pipe(int *out_read, int *out_write);

/* Creates a Unix stream socket, close-on-exec and non-blocking, that listens at a new path with
 * mode 0600 or connects to a path. Returns the descriptor, or -1 and errno. */
int clinux_listen(const char *path);
int clinux_connect(const char *path);
int clinux_accept(int descriptor);

/* Gets the user ID of the peer process. Returns 0 or an errno. */
int clinux_peer_user(int descriptor, uint32_t *out_user);

/* Like send(2) without SIGPIPE, and like recv(2). Interrupted calls are repeated. */
int64_t clinux_send(int descriptor, const void *bytes, uint64_t count);
int64_t clinux_receive(int descriptor, void *bytes, uint64_t count);

/* Blocks SIGTERM, SIGINT and SIGHUP in the calling thread, and ignores SIGPIPE and SIGXFSZ in the
 * process. Returns a descriptor that becomes readable when one of the first three arrives, or -1
 * and errno. */
int clinux_end_signals(void);

/* Redirects standard error to an open file. Returns 0 or an errno. */
int clinux_redirect_error(int descriptor);

/* Gets the path of the file that contains this code. Returns 0 or an errno. */
int clinux_own_file(char *buffer, uint64_t capacity);

/* Returns an environment variable; NULL in a setuid or setgid program. */
const char *clinux_secure_variable(const char *name);

/* TLS. libcurl reports few details of a rejected certificate, and accepts no additional trust
 * anchors per host. These functions observe and extend OpenSSL's verification. */

enum { CLINUX_PEER_NAME = 512, CLINUX_PEER_LEAF = 16384 };

/* The result of verifying a peer's certificate chain. Valid only during the callback. */
typedef struct clinux_peer {
  int error;        /* X509_V_ERR_*; 0 if the chain is valid */
  int is_unpinned;  /* the chain ends at none of the watch's anchors */
  int is_unnamed;   /* no host name or address in subjectAltName: rejected if names are checked */
  const char *text; /* OpenSSL's message for the error */
  /* Names of the certificate that caused the error, or else of the peer's: "/CN=localhost",
   * escaped. */
  char subject[CLINUX_PEER_NAME], issuer[CLINUX_PEER_NAME];
  char leaf_subject[CLINUX_PEER_NAME];
  const uint8_t *leaf; /* DER of the peer's certificate; NULL if larger than LEAF */
  uint64_t leaf_bytes;
} clinux_peer;

typedef struct clinux_peer_watch {
  void (*told)(void *context, const clinux_peer *peer);
  /* Called when the peer sent close_notify on an SSL connection (1), or a connection is new (0). */
  void (*notified)(void *context, const void *connection, int is_closed);
  void *context;
  const uint8_t *anchors; /* DER certificates, one of which the chain must reach; or NULL */
  uint64_t anchor_bytes;
  int only_anchors; /* ignore the system's roots and CA files */
  int checks_name;  /* reject a certificate without a host name or address in subjectAltName */
  int only_reports; /* report a chain that reaches no anchor, but accept it */
} clinux_peer_watch;

/* Returns a dlopen handle of libcurl, or NULL. A lookup in it finds the copies of OpenSSL, libidn2,
 * and libpsl that libcurl is linked with, and no others in the process. */
void *clinux_libcurl(void);

/* Returns whether libcurl uses OpenSSL and its functions were found. */
int clinux_peer_is_available(void);

/* Reports the chain of each connection of libcurl's SSL_CTX to the watch. Rejects weak keys and
 * digests, whatever the system's settings. The watch must outlive all connections of the context.
 * Returns 0 without an effect if OpenSSL is unavailable. */
int clinux_peer_watch_start(void *context, const clinux_peer_watch *watch);

/* CA certificates of a PEM file or of PEM bytes, indexed by subject. OpenSSL decodes each
 * certificate when it looks for its subject, instead of all of them for each connection. Safe on
 * all threads. */
typedef struct clinux_anchors clinux_anchors;

/* Returns the certificates of a file with its current contents, and NULL if they must be loaded by
 * clinux_anchors_load_file: the file cannot be read, contains anything but ordinary certificates
 * and text around them, or libcurl does not use OpenSSL. All callers with the same file share the
 * result, until the file changes. Release it. */
clinux_anchors *clinux_anchors_of_file(const char *path);
/* Returns the certificates of bytes, or NULL like clinux_anchors_of_file. Does not keep the bytes.
 */
clinux_anchors *clinux_anchors_of_bytes(const void *bytes, uint64_t count);
void clinux_anchors_release(clinux_anchors *anchors);
/* The number of certificates. */
uint64_t clinux_anchors_count(const clinux_anchors *anchors);

/* Makes the connections of libcurl's SSL_CTX trust these certificates alone, and retains them.
 * Returns 0 without an effect if there is no memory, or if libcurl has loaded other certificates. */
int clinux_anchors_use(void *context, clinux_anchors *anchors);
/* Makes the connections of libcurl's SSL_CTX trust all certificates of a file, like libcurl does.
 * Returns 0 if OpenSSL cannot load it. */
int clinux_anchors_load_file(void *context, const char *path);

/* Process exit. OpenSSL's exit handler frees data that calls on other threads still use. Threads
 * therefore call libcurl and OpenSSL between enter and leave. Our exit handler waits up to 50 ms
 * until all threads have left; afterwards, enter returns 0. */

/* Registers the exit handler. Call it after each initialization of OpenSSL, so that our handler
 * runs before OpenSSL's. */
void clinux_exit_watch(void);
/* Initializes the OpenSSL library of a dlopen handle without OpenSSL's exit handler. No effect if
 * the program has already initialized OpenSSL. */
void clinux_exit_keep_libcrypto(void *library);
/* Does the same for the OpenSSL that libcurl is linked with. Call it before curl_global_init. */
void clinux_exit_keep_tls(void);
/* Returns 1, and leave must follow; 0 if the process is exiting. Calls nest. */
int clinux_exit_enter(void);
void clinux_exit_leave(void);
/* Encloses work that calls enter many times. Normally, the outermost leave frees the thread's
 * OpenSSL data, including its error queue. Between attach and detach, only detach frees it. The
 * exit handler also waits for detach. attach returns 0 if the process is exiting; otherwise, call
 * detach. Calls nest. */
int clinux_exit_attach(void);
void clinux_exit_detach(void);
/* The first and the last call of a library thread. The thread keeps its OpenSSL data until the last
 * call, which does not return if the process is exiting. */
void clinux_exit_begin_thread(void);
void clinux_exit_end_thread(void);
/* Joins a library thread, a pthread_t. If the process exits, detaches the thread instead. */
void clinux_exit_join(uintptr_t thread);
int clinux_exit_has_begun(void);
/* Blocks the calling thread forever; returns on the thread that runs the exit handlers. With
 * `only_if_over`, also returns while the exit handler still waits. */
void clinux_exit_block(int only_if_over);
/* The bytes that are left on the stack of the calling thread; SIZE_MAX if it is unknown. */
size_t clinux_stack_room(void);
/* Keeps memory reachable that an exiting process cannot free, so that leak checkers ignore it. */
void clinux_exit_keep(const void *memory);
/* Returns a descriptor that is readable once the process is exiting. Each process has one. Never
 * close it or read from it. -1 if it cannot be created. */
int clinux_exit_descriptor(void);

/* Networks, as reported by the kernel over netlink sockets. */

/* Creates a socket that becomes readable when links, addresses, routes or routing rules change, for
 * IPv4 and IPv6. Close-on-exec and non-blocking. Returns -1 and sets errno on failure. */
int clinux_network_watch(void);
/* Reads and discards all messages. Returns 1 if there were any, 0 if none, or -1 and errno. */
int clinux_network_drain(int socket);

enum {
  CLINUX_LINK_UP = 1,      /* the interface is enabled */
  CLINUX_LINK_CARRIER = 2, /* the other end is connected */
  CLINUX_LINK_LOOPBACK = 4
};

typedef struct clinux_link {
  int32_t index;
  uint32_t flags;    /* CLINUX_LINK_* */
  uint32_t hardware; /* ARPHRD_* */
  char name[16];
  char driver[16]; /* "tun", "wireguard"; "" if unknown */
} clinux_link;

/* Gets the link with an index. Returns 0 or an errno. */
int clinux_link_at(int32_t index, clinux_link *out);
/* Lists all links and stores the first `capacity` of them. Returns the number of links, or -1 and
 * errno. */
int clinux_links(clinux_link *links, int capacity);

enum {
  CLINUX_ROUTE_LOCAL = 1, /* the address belongs to this machine */
  CLINUX_ROUTE_DOWN = 2,  /* the link has no carrier */
  CLINUX_ROUTE_SOURCE = 4 /* there is a source address */
};

typedef struct clinux_route {
  int32_t link;   /* the index of the link */
  uint32_t flags; /* CLINUX_ROUTE_* */
} clinux_route;

/* Gets the route to an address of 4 or 16 bytes in network order. `scope` is the link index of a
 * link-local address, or 0. Returns 0 or an errno; ENETUNREACH if no route exists. */
int clinux_route_to(const uint8_t *address, int32_t size, int32_t scope, clinux_route *out);

#endif
