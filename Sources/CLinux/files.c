/* Wherry: file functions; see clinux.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "clinux.h"

static int set_lock(int descriptor, short kind) {
  struct flock lock = {.l_type = kind, .l_whence = SEEK_SET};
  int result;
  do {
    result = fcntl(descriptor, F_OFD_SETLK, &lock);
  } while (result < 0 && errno == EINTR);
  if (result == 0) return 0;
  return errno == EACCES ? EAGAIN : errno;
}

int clinux_lock(int descriptor) { return set_lock(descriptor, F_WRLCK); }

int clinux_unlock(int descriptor) { return set_lock(descriptor, F_UNLCK); }

int clinux_is_locked(int descriptor, int *out_locked) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(descriptor, F_OFD_GETLK, &lock) != 0) return errno;
  *out_locked = lock.l_type != F_UNLCK;
  return 0;
}

int clinux_rename_exclusive(int from_directory, const char *from, int to_directory,
                            const char *to) {
  if (renameat2(from_directory, from, to_directory, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (linkat(from_directory, from, to_directory, to, 0) != 0) return errno;
  return unlinkat(from_directory, from, 0) == 0 ? 0 : errno;
}

int clinux_reserve(int descriptor, int64_t offset, int64_t length) {
  int result;
  do {
    result = fallocate(descriptor, FALLOC_FL_KEEP_SIZE, offset, length);
  } while (result < 0 && errno == EINTR);
  if (result == 0) return 0;
  return errno == ENOSYS ? EOPNOTSUPP : errno;
}

int clinux_release(int descriptor, int64_t offset, int64_t length) {
  int result;
  do {
    result = fallocate(descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, length);
  } while (result < 0 && errno == EINTR);
  if (result == 0) return 0;
  return errno == ENOSYS ? EOPNOTSUPP : errno;
}

int clinux_begin_write_back(int descriptor) {
  return sync_file_range(descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
}

int clinux_set_modified(int descriptor, int64_t seconds) {
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = (time_t)seconds}};
  return futimens(descriptor, times) == 0 ? 0 : errno;
}

int clinux_file_system(int descriptor, uint64_t *out_magic) {
  struct statfs status;
  int result;
  do {
    result = fstatfs(descriptor, &status);
  } while (result < 0 && errno == EINTR);
  if (result != 0) return errno;
  *out_magic = (uint64_t)(unsigned long)status.f_type;
  return 0;
}
