/* Wherry: a server with a speed limit per connection, for benchmarks of parallel downloads
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: capped BYTES RATE     prints {"port": N} and exits at the end of its standard input
 *
 * HTTP/1.1 on loopback: one file of BYTES bytes with a strong ETag, GET and HEAD, single ranges.
 * RATE limits the bytes per second of each connection without bursts; 0 means no limit. nginx is
 * not suitable, because it allows each request a burst of one second. Each connection has a thread.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { HEAD_LIMIT = 16384, STEP = 16384 };
static int64_t size, rate;
static char block[1 << 20];

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static bool send_all(int fd, const char *bytes, size_t count) {
  while (count > 0) {
    ssize_t step = send(fd, bytes, count, MSG_NOSIGNAL);
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) return false;
    bytes += step;
    count -= (size_t)step;
  }
  return true;
}

/* Sends bytes [start, end) in steps at the given rate. */
static bool send_body(int fd, int64_t start, int64_t end) {
  int64_t begun = now_ns(), sent = 0, count = end - start;
  while (sent < count) {
    int64_t step = count - sent, most = rate ? STEP : (int64_t)sizeof block;
    if (step > most) step = most;
    if (rate) {
      int64_t wait = begun + (sent + step) * 1000000000LL / rate - now_ns();
      if (wait > 0) {
        struct timespec span = {wait / 1000000000LL, wait % 1000000000LL};
        nanosleep(&span, NULL);
      }
    }
    if (!send_all(fd, block, (size_t)step)) return false;
    sent += step;
  }
  return true;
}

/* Responds to one request; false closes the connection. */
static bool answer(int fd, const char *head) {
  int64_t start = 0, end = size;
  bool is_head = strncmp(head, "HEAD ", 5) == 0;
  const char *range = strcasestr(head, "\r\nrange: bytes=");
  char text[512];
  if (range) {
    char *rest;
    start = strtoll(range + 15, &rest, 10);
    if (*rest == '-' && rest[1] >= '0' && rest[1] <= '9') end = strtoll(rest + 1, NULL, 10) + 1;
    if (end > size) end = size;
    if (start < 0 || start >= end) {
      snprintf(text, sizeof text,
               "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Range: bytes */%lld\r\n"
               "Content-Length: 0\r\n\r\n",
               (long long)size);
      return send_all(fd, text, strlen(text));
    }
  }
  int count = snprintf(text, sizeof text,
                       "HTTP/1.1 %s\r\nContent-Length: %lld\r\nAccept-Ranges: bytes\r\n"
                       "ETag: \"capped\"\r\nContent-Type: application/octet-stream\r\n",
                       range ? "206 Partial Content" : "200 OK", (long long)(end - start));
  if (range)
    count += snprintf(text + count, sizeof text - (size_t)count,
                      "Content-Range: bytes %lld-%lld/%lld\r\n", (long long)start,
                      (long long)end - 1, (long long)size);
  snprintf(text + count, sizeof text - (size_t)count, "\r\n");
  return send_all(fd, text, strlen(text)) && (is_head || send_body(fd, start, end));
}

static void *serve(void *argument) {
  int fd = (int)(intptr_t)argument, on = 1;
  char head[HEAD_LIMIT + 1];
  size_t held = 0;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  for (;;) {
    ssize_t step = recv(fd, head + held, HEAD_LIMIT - held, 0);
    if (step < 0 && errno == EINTR) continue;
    if (step <= 0) break;
    held += (size_t)step;
    head[held] = 0;
    char *end = strstr(head, "\r\n\r\n");
    if (!end && held < HEAD_LIMIT) continue;
    if (!end || !answer(fd, head)) break;
    held -= (size_t)(end + 4 - head);
    memmove(head, end + 4, held);
  }
  close(fd);
  return NULL;
}

static void *accept_all(void *argument) {
  int listener = (int)(intptr_t)argument;
  for (;;) {
    pthread_t thread;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0) continue;
    if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd) != 0) close(fd);
    else pthread_detach(thread);
  }
  return NULL;
}

int main(int count, char **arguments) {
  if (count != 3) {
    fputs("usage: capped BYTES RATE\n", stderr);
    return 2;
  }
  size = atoll(arguments[1]);
  rate = atoll(arguments[2]);
  for (size_t i = 0; i < sizeof block; i++) block[i] = (char)(i * 2654435761u >> 13);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
      listen(listener, 128) != 0 ||
      getsockname(listener, (struct sockaddr *)&address, &length) != 0) {
    perror("capped");
    return 1;
  }
  printf("{\"port\": %d}\n", ntohs(address.sin_port));
  fflush(stdout);
  pthread_t thread;
  if (pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)listener) != 0) return 1;
  char byte;
  while (read(0, &byte, 1) > 0) {
  }
  return 0;
}
