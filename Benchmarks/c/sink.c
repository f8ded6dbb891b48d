/* Wherry: a server that discards uploads as fast as possible, for benchmarks
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: sink     prints {"port": N} and exits at the end of its standard input
 *
 * HTTP/1.1 on loopback with keep-alive and any method. Bodies have a Content-Length or are chunked
 * without trailers. If the length is known, the kernel discards the data. The response is 200 with
 * {"bytes": N}. nginx is not suitable, because it responds before it has read the body. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_LIMIT = 65536, STEP = 4 << 20, EVENTS = 64 };

typedef struct connection {
  int fd;
  bool chunked, in_body;
  int64_t left, bytes; /* of the body or of the chunk */
  size_t held;
  char head[HEAD_LIMIT + 1];
} connection;

static bool send_all(int fd, const char *text, size_t count) {
  for (size_t sent = 0; sent < count;) {
    ssize_t step = send(fd, text + sent, count - sent, MSG_NOSIGNAL);
    if (step < 0 && errno != EINTR) return false; /* responses are tiny: never EAGAIN in practice */
    if (step > 0) sent += (size_t)step;
  }
  return true;
}

static void take(connection *self, size_t count) {
  self->held -= count;
  memmove(self->head, self->head + count, self->held);
  self->head[self->held] = '\0';
}

static bool answer(connection *self) {
  char body[64], text[256];
  int size = snprintf(body, sizeof body, "{\"bytes\": %lld}\n", (long long)self->bytes);
  int count = snprintf(text, sizeof text,
                       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                       "Content-Length: %d\r\n\r\n%s",
                       size, body);
  self->in_body = self->chunked = false;
  self->bytes = 0;
  return send_all(self->fd, text, (size_t)count);
}

/* Processes the buffered data; false closes the connection. */
static bool advance(connection *self) {
  for (;;) {
    if (!self->in_body) {
      char *end = strstr(self->head, "\r\n\r\n");
      if (end == NULL) return self->held < HEAD_LIMIT;
      *end = '\0';
      char *length = strcasestr(self->head, "\r\ncontent-length:");
      self->chunked = strcasestr(self->head, "\r\ntransfer-encoding: chunked") != NULL;
      self->left = length ? atoll(length + strlen("\r\ncontent-length:")) : 0;
      bool expects = strcasestr(self->head, "\r\nexpect: 100-continue") != NULL;
      take(self, (size_t)(end + 4 - self->head));
      self->in_body = true;
      static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
      if (expects && !send_all(self->fd, go_on, sizeof go_on - 1)) return false;
    }
    if (self->left > 0) {
      size_t now = (int64_t)self->held < self->left ? self->held : (size_t)self->left;
      take(self, now);
      self->left -= (int64_t)now;
      self->bytes += (int64_t)now;
      if (self->left > 0) return true;
    }
    if (!self->chunked) {
      if (!answer(self)) return false;
      continue;
    }
    if (strncmp(self->head, "\r\n", 2) == 0 && self->bytes > 0) take(self, 2);
    char *line = strstr(self->head, "\r\n");
    if (line == NULL) return self->held < HEAD_LIMIT;
    self->left = strtoll(self->head, NULL, 16);
    if (self->left == 0) {
      if (strncmp(line, "\r\n\r\n", 4) != 0) return self->held < HEAD_LIMIT;
      take(self, (size_t)(line + 4 - self->head));
      if (!answer(self)) return false;
    } else {
      take(self, (size_t)(line + 2 - self->head));
    }
  }
}

static bool receive(connection *self) {
  for (;;) {
    ssize_t step;
    if (self->in_body && self->left > 0 && self->held == 0) {
      /* MSG_TRUNC on TCP discards without copying. */
      size_t now = self->left < STEP ? (size_t)self->left : STEP;
      step = recv(self->fd, NULL, now, MSG_TRUNC | MSG_DONTWAIT);
      if (step > 0) {
        self->left -= step;
        self->bytes += step;
      }
    } else {
      step = recv(self->fd, self->head + self->held, HEAD_LIMIT - self->held, MSG_DONTWAIT);
      if (step > 0) self->held += (size_t)step;
      self->head[self->held] = '\0';
    }
    if (step == 0) return false;
    if (step < 0) return errno == EAGAIN || errno == EINTR;
    if ((self->left == 0 || self->held > 0) && !advance(self)) return false;
  }
}

int main(void) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t size = sizeof address;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  int loop = epoll_create1(EPOLL_CLOEXEC), one = 1;
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  struct epoll_event leave = {.events = EPOLLIN, .data.ptr = &leave};
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 ||
      listen(listener, 1024) != 0 ||
      getsockname(listener, (struct sockaddr *)&address, &size) != 0 ||
      epoll_ctl(loop, EPOLL_CTL_ADD, listener, &event) != 0 ||
      epoll_ctl(loop, EPOLL_CTL_ADD, 0, &leave) != 0) {
    perror("sink");
    return 1;
  }
  printf("{\"port\": %d}\n", ntohs(address.sin_port));
  fflush(stdout);
  for (;;) {
    struct epoll_event ready[EVENTS];
    int count = epoll_wait(loop, ready, EVENTS, -1);
    for (int i = 0; i < count; i++) {
      connection *self = ready[i].data.ptr;
      char unused[64];
      if ((void *)self == &leave) {
        if (read(0, unused, sizeof unused) <= 0) return 0;
      } else if (self == NULL) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0) continue;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        self = calloc(1, sizeof *self);
        event.data.ptr = self;
        if (self == NULL || epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) != 0) return 1;
        self->fd = fd;
      } else if (!receive(self)) {
        close(self->fd);
        free(self);
      }
    }
  }
}
