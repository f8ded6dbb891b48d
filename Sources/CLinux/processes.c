/* Wherry: processes and local sockets; see clinux.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clinux.h"

/* Adds the actions for the new process. Returns the first error. */
static int file_actions(posix_spawn_file_actions_t *actions, int ready) {
  int error = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
  if (error == 0) error = posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
  if (error == 0) error = posix_spawn_file_actions_addopen(actions, 2, "/dev/null", O_WRONLY, 0);
  if (error == 0 && ready >= 0) error = posix_spawn_file_actions_adddup2(actions, ready, 3);
  if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(actions, ready >= 0 ? 4 : 3);
  if (error == 0) error = posix_spawn_file_actions_addchdir_np(actions, "/");
  return error;
}

static int attributes(posix_spawnattr_t *attributes) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  int error = posix_spawnattr_setflags(
      attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  if (error == 0) error = posix_spawnattr_setsigmask(attributes, &none);
  if (error == 0) error = posix_spawnattr_setsigdefault(attributes, &all);
  return error;
}

int clinux_spawn_detached(const char *path, char *const *arguments, char *const *environment,
                          int ready, int32_t *out_process) {
  /* Move the descriptor away from those that the file actions set up first. */
  int safe = -1;
  if (ready >= 0) {
    safe = fcntl(ready, F_DUPFD_CLOEXEC, 10);
    if (safe < 0) return errno;
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t how;
  int error = posix_spawn_file_actions_init(&actions);
  if (error == 0) {
    error = posix_spawnattr_init(&how);
    if (error == 0) {
      pid_t process = 0;
      error = file_actions(&actions, safe);
      if (error == 0) error = attributes(&how);
      if (error == 0) error = posix_spawn(&process, path, &actions, &how, arguments, environment);
      if (error == 0) *out_process = process;
      posix_spawnattr_destroy(&how);
    }
    posix_spawn_file_actions_destroy(&actions);
  }
  if (safe >= 0) close(safe);
  return error;
}

void clinux_wait_child(int32_t process) {
  int status;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
}

int clinux_pipe(int *out_read, int *out_write) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  *out_read = ends[0];
  *out_write = ends[1];
  return 0;
}

static int address(const char *path, struct sockaddr_un *out) {
  memset(out, 0, sizeof *out);
  out->sun_family = AF_UNIX;
  if (strlen(path) >= sizeof out->sun_path) return ENAMETOOLONG;
  memcpy(out->sun_path, path, strlen(path));
  return 0;
}

static int make_socket(void) {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

static int failed(int descriptor, int error) {
  close(descriptor);
  errno = error;
  return -1;
}

int clinux_listen(const char *path) {
  struct sockaddr_un name;
  int error = address(path, &name);
  int descriptor = make_socket();
  if (descriptor < 0) return -1;
  if (error != 0) return failed(descriptor, error);
  /* The socket file inherits the mode of the socket. */
  if (fchmod(descriptor, 0600) != 0 ||
      bind(descriptor, (const struct sockaddr *)&name, sizeof name) != 0 ||
      listen(descriptor, 64) != 0)
    return failed(descriptor, errno);
  return descriptor;
}

int clinux_connect(const char *path) {
  struct sockaddr_un name;
  int error = address(path, &name);
  int descriptor = make_socket();
  if (descriptor < 0) return -1;
  if (error != 0) return failed(descriptor, error);
  if (connect(descriptor, (const struct sockaddr *)&name, sizeof name) != 0)
    return failed(descriptor, errno);
  return descriptor;
}

int clinux_accept(int descriptor) {
  int accepted;
  do {
    accepted = accept4(descriptor, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  } while (accepted < 0 && (errno == EINTR || errno == ECONNABORTED));
  return accepted;
}

int clinux_peer_user(int descriptor, uint32_t *out_user) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return errno;
  *out_user = peer.uid;
  return 0;
}

int64_t clinux_send(int descriptor, const void *bytes, uint64_t count) {
  ssize_t sent;
  do {
    sent = send(descriptor, bytes, count, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

int64_t clinux_receive(int descriptor, void *bytes, uint64_t count) {
  ssize_t received;
  do {
    received = recv(descriptor, bytes, count, 0);
  } while (received < 0 && errno == EINTR);
  return received;
}

int clinux_end_signals(void) {
  /* Failing calls report a closed peer (EPIPE) and a size limit (EFBIG) instead. */
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGHUP);
  int error = pthread_sigmask(SIG_BLOCK, &set, NULL);
  if (error != 0) {
    errno = error;
    return -1;
  }
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int clinux_redirect_error(int descriptor) { return dup2(descriptor, 2) < 0 ? errno : 0; }

int clinux_own_file(char *buffer, uint64_t capacity) {
  Dl_info info;
  struct link_map *map = NULL;
  if (capacity < PATH_MAX) return ENAMETOOLONG;
  /* For a program, dladdr reports argv[0]; /proc has the real path. */
  int found = dladdr1((void *)clinux_own_file, &info, (void **)&map, RTLD_DL_LINKMAP);
  const char *name =
      found != 0 && map != NULL && map->l_name[0] != 0 ? map->l_name : "/proc/self/exe";
  return realpath(name, buffer) != NULL ? 0 : errno;
}

const char *clinux_secure_variable(const char *name) { return secure_getenv(name); }
