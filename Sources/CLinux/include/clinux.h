/* Wherry: what Linux has and Swift's Glibc module does not show. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLINUX_H
#define CLINUX_H

#include <stdint.h>

/* An eventfd, close-on-exec and non-blocking; -1 and errno. */
int clinux_eventfd(void);

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

/* Sets the time of the last change in seconds since 1970 and leaves that of the last reading. */
int clinux_set_modified(int descriptor, int64_t seconds);

/* The magic number of statfs(2). */
int clinux_file_system(int descriptor, uint64_t *out_magic);

/* Opens a file below the directory for reading: a path of one or more names, none of which may be
 * a symbolic link or "..". The descriptor, or -1 and errno. */
int clinux_open_below(int directory, const char *path);

#endif
