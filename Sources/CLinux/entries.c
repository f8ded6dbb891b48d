/* Wherry: files in private directories; see clinux.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clinux.h"

/* Opens the directories of the path one by one, for kernels and sandboxes without openat2. */
static int open_steps(int directory, const char *path) {
  int current = directory;
  for (;;) {
    const char *slash = strchr(path, '/');
    char name[256];
    size_t count = slash ? (size_t)(slash - path) : strlen(path);
    if (count == 0 || count >= sizeof name) {
      if (current != directory) close(current);
      errno = EINVAL;
      return -1;
    }
    memcpy(name, path, count);
    name[count] = 0;
    int flags = slash ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK | O_NOCTTY;
    int next = openat(current, name, flags | O_NOFOLLOW | O_CLOEXEC);
    int failure = errno;
    if (current != directory) close(current);
    errno = failure;
    if (next < 0 || !slash) return next;
    current = next;
    path = slash + 1;
  }
}

int clinux_open_below(int directory, const char *path) {
  struct open_how how = {
      .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW,
      .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH,
  };
  long result;
  do {
    result = syscall(SYS_openat2, directory, path, &how, sizeof how);
  } while (result < 0 && errno == EINTR);
  if (result < 0 && (errno == ENOSYS || errno == EPERM)) return open_steps(directory, path);
  return (int)result;
}
