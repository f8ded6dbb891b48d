/* Wherry: what Linux has and Swift's Glibc module does not show. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLINUX_H
#define CLINUX_H

#include <stdint.h>

/* An eventfd, close-on-exec and non-blocking; -1 and errno. */
int clinux_eventfd(void);

/* Whether bytes are under way in a pair of Unix sockets, seen from either of its ends: 1 or 0; -1 for
 * a descriptor that is close-on-exec or no such socket. */
int clinux_inherited_pair(int descriptor);
/* Makes the descriptor close-on-exec. 0, or -1 and errno. */
int clinux_close_on_exec(int descriptor);

/* The system's words for an errno; static text, "Unknown error" for what is none. */
const char *clinux_error_text(int code);

/* Reads what the page cache holds without waiting for the disk: the count, or -1 and errno, EAGAIN
 * or EOPNOTSUPP where that cannot be. */
int64_t clinux_read_now(int descriptor, void *bytes, uint64_t count, int64_t offset);

/* Goes on with a CRC-32C whose state is inverted before the first and after the last byte by the
 * caller. 0, and nothing has happened, where the processor has no instruction for it; else 1. */
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

/* Sets the interest in a descriptor, level triggered: 0 takes it out. `known` says whether it was
 * in before. 0, or -1 and errno. */
int clinux_epoll_set(int epoll, int32_t descriptor, uint32_t events, int known);

/* Fills `ready` with at most `capacity` (CLINUX_READY_LIMIT) descriptors. timeout_ms -1 waits for ever. The count,
 * or -1 and errno. */
int clinux_epoll_wait(int epoll, clinux_ready *ready, int capacity, int timeout_ms);

/* Files. Each answers 0 or the errno of its failure. */

/* An exclusive open-file-description lock on the whole file, without waiting. EAGAIN: another open
 * file holds it, here or in another process. */
int clinux_lock(int descriptor);
int clinux_unlock(int descriptor);
/* Whether another open file holds such a lock. */
int clinux_is_locked(int descriptor, int *out_locked);

/* renameat2 with RENAME_NOREPLACE. EEXIST: the new name is taken. Where the file system does not
 * know the flag the name is made by linkat, which never replaces either. */
int clinux_rename_exclusive(int from_directory, const char *from, int to_directory,
    const char *to);

/* Reserves blocks without changing the size. EOPNOTSUPP: the file system cannot. */
int clinux_reserve(int descriptor, int64_t offset, int64_t length);

/* Releases the blocks of a range, which then reads as zeros. The length of the file stays. */
int clinux_release(int descriptor, int64_t offset, int64_t length);

/* Has the disk begin with what was written and is only in memory, and does not wait for it. */
int clinux_begin_write_back(int descriptor);

/* Sets the time of the last change in seconds since 1970 and leaves that of the last reading. */
int clinux_set_modified(int descriptor, int64_t seconds);

/* The magic number of statfs(2). */
int clinux_file_system(int descriptor, uint64_t *out_magic);

/* Opens a file below the directory for reading: a path of one or more names, none of which may be
 * a symbolic link or "..". The descriptor, or -1 and errno. */
int clinux_open_below(int directory, const char *path);

/* Processes and local sockets. */

/* Starts a program in a session of its own and in "/", with every signal at its default and none
 * blocked. Standard input, output and error are /dev/null; `ready`, unless it is -1, becomes
 * descriptor 3; no other descriptor is handed on. 0 or the errno. */
int clinux_spawn_detached(const char *path, char *const *arguments, char *const *environment,
    int ready, int32_t *out_process);

/* Waits until a child of ours is gone, unless somebody else did. */
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
 * process; the descriptor is readable when one of the former came. -1 and errno. */
int clinux_end_signals(void);

/* Makes standard error the open file. 0 or the errno. */
int clinux_redirect_error(int descriptor);

/* The file that this code was loaded from. 0 or the errno. */
int clinux_own_file(char *buffer, uint64_t capacity);

/* A variable of the environment, NULL in a program that runs with rights of its own. */
const char *clinux_secure_variable(const char *name);

/* TLS. libcurl tells little of a certificate that it refuses, and knows no anchors beside its own:
 * these look over OpenSSL's shoulder. */

enum { CLINUX_PEER_NAME = 512, CLINUX_PEER_LEAF = 16384 };

/* What was found of a peer's chain. Lives for the call that tells it. */
typedef struct clinux_peer {
  int error;        /* X509_V_ERR_*; 0 where the chain is good */
  int is_unpinned;  /* the chain ends at none of the watch's anchors */
  int is_unnamed;   /* no host name or address in subjectAltName: refused if names are checked */
  const char *text; /* OpenSSL's words for the error */
  /* Of the certificate to blame, the peer's own where none is: "/CN=localhost", escaped. */
  char subject[CLINUX_PEER_NAME], issuer[CLINUX_PEER_NAME];
  char leaf_subject[CLINUX_PEER_NAME];
  const uint8_t *leaf; /* DER of the peer's own certificate; NULL where it is larger than LEAF */
  uint64_t leaf_bytes;
} clinux_peer;

typedef struct clinux_peer_watch {
  void (*told)(void *context, const clinux_peer *peer);
  /* The peer has closed that SSL connection by close_notify (1), or the address is that of a new
   * connection (0). */
  void (*notified)(void *context, const void *connection, int is_closed);
  void *context;
  const uint8_t *anchors; /* DER certificates, one of which the chain must lead to; or NULL */
  uint64_t anchor_bytes;
  int only_anchors; /* nothing but that counts: neither the system's roots nor a CA file */
  int checks_name;  /* refuse a certificate without a host name or address in subjectAltName */
  int only_reports; /* a chain that does not is told of, and goes on */
} clinux_peer_watch;

/* Whether libcurl speaks TLS by an OpenSSL whose functions can be found. */
int clinux_peer_is_available(void);

/* Has OpenSSL tell of the chain, given libcurl's SSL_CTX; weak keys and digests are refused from
 * then on, whatever the system's settings. The watch must outlive every connection of the context.
 * 0, and nothing has changed, where it is not available. */
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
/* Around work that enters many times: what OpenSSL keeps for the thread is freed by detach, and
 * otherwise by each outermost leave. The exit handler waits for detach as for leave. attach returns
 * 0 once the process is exiting; otherwise detach must follow. Calls nest. */
int clinux_exit_attach(void);
void clinux_exit_detach(void);
/* The first and the last call of a thread of the library. It keeps OpenSSL's data until its end, and
 * does not end while the process exits: do not join it then. */
void clinux_exit_begin_thread(void);
void clinux_exit_end_thread(void);
int clinux_exit_has_begun(void);
/* Blocks the calling thread for good; returns on the thread that runs the exit handlers. With
 * `only_if_over`, returns also while the exit handler still waits. */
void clinux_exit_block(int only_if_over);
/* A descriptor that is readable once the process is exiting, the same one for the whole process.
 * Never close it or read from it. -1 where none can be made. */
int clinux_exit_descriptor(void);

/* Networks, as the kernel tells of them over netlink sockets. */

/* A socket that is readable when links, addresses, routes or rules of routing have changed, IPv4 and
 * IPv6; close-on-exec, non-blocking; -1 and errno. */
int clinux_network_watch(void);
/* Reads away what waits there. 1: something has changed; 0: nothing; -1 and errno. */
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
  char driver[16]; /* "tun", "wireguard"; "" where the kernel names none */
} clinux_link;

/* The link with that index: 0 or an errno. */
int clinux_link_at(int32_t index, clinux_link *out);
/* Every link: fills the first `capacity`. How many there are, or -1 and errno. */
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

/* Which way packets to an address of 4 or 16 bytes in network order would go. `scope` is the index
 * of the link that a link-local address means, or 0. 0 or an errno, ENETUNREACH for no way. */
int clinux_route_to(const uint8_t *address, int32_t size, int32_t scope, clinux_route *out);

#endif
