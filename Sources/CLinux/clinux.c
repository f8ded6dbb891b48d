/* Wherry: Linux functions for Swift; see clinux.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "clinux.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

int clinux_eventfd(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int clinux_inherited_pair(int descriptor, int *out_unread, int *out_unsent) {
  int flags = fcntl(descriptor, F_GETFD);
  if (flags < 0 || (flags & FD_CLOEXEC)) return -1;
  int domain = 0;
  socklen_t size = sizeof domain;
  if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX ||
      ioctl(descriptor, SIOCINQ, out_unread) != 0 || ioctl(descriptor, SIOCOUTQ, out_unsent) != 0)
    return -1;
  return 0;
}

int clinux_close_on_exec(int descriptor) { return fcntl(descriptor, F_SETFD, FD_CLOEXEC); }

const char *clinux_error_text(int code) {
  const char *text = strerrordesc_np(code);
  return text != NULL ? text : "Unknown error";
}

int64_t clinux_read_now(int descriptor, void *bytes, uint64_t count, int64_t offset) {
  struct iovec place = {bytes, count};
  return preadv2(descriptor, &place, 1, offset, RWF_NOWAIT);
}

void clinux_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

int clinux_epoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

int clinux_epoll_set(int epoll, int32_t descriptor, uint32_t events, int known) {
  struct epoll_event interest = {0};
  if (events & CLINUX_READ) interest.events |= EPOLLIN;
  if (events & CLINUX_WRITE) interest.events |= EPOLLOUT;
  interest.data.fd = descriptor;
  int operation = events == 0 ? EPOLL_CTL_DEL : known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
  return epoll_ctl(epoll, operation, descriptor, &interest);
}

int clinux_epoll_wait(int epoll, clinux_ready *ready, int capacity, int timeout_ms) {
  struct epoll_event events[CLINUX_READY_LIMIT];
  if (capacity > CLINUX_READY_LIMIT) capacity = CLINUX_READY_LIMIT;
  int count = epoll_wait(epoll, events, capacity, timeout_ms);
  for (int i = 0; i < count; i++) {
    ready[i].descriptor = events[i].data.fd;
    ready[i].events = ((events[i].events & EPOLLIN) ? CLINUX_READ : 0u) |
                      ((events[i].events & EPOLLOUT) ? CLINUX_WRITE : 0u) |
                      ((events[i].events & (EPOLLERR | EPOLLHUP)) ? CLINUX_HANGUP : 0u);
  }
  return count;
}
