/* Wherry: many concurrent GETs with libcurl, written carefully
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_get URL REQUESTS IN_FLIGHT [CA [1.1]]
 *
 * One thread, curl_multi_socket_action, no timerfd. The epoll interest of a
 * descriptor changes lazily: only after an unwanted event, or when libcurl wants more events than
 * are set. Easy handles are reused without a reset. */
#include <curl/curl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "bench.h"

enum { MAX_DESCRIPTORS = 65536, EVENTS = 128, WARM_UP = 64, GUARD_MS = 1000 };

static int epoll_fd;
static CURLM *multi;
static long deadline_ms = -1; /* on bench_wall's clock; -1: none */
static struct {
  uint32_t want, have;
} table[MAX_DESCRIPTORS];
static int64_t received;

static long now_ms(void) { return (long)(bench_wall() * 1000); }

static void set_interest(int fd, uint32_t want) {
  struct epoll_event event = {.events = want, .data.fd = fd};
  int verb = want == 0 ? EPOLL_CTL_DEL : table[fd].have == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
  if (want != table[fd].have && epoll_ctl(epoll_fd, verb, fd, &event) != 0)
    bench_fail("epoll_ctl", "failed");
  table[fd].have = want;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *socket_user) {
  (void)easy, (void)user, (void)socket_user;
  if (fd >= MAX_DESCRIPTORS) bench_fail("descriptor", "too large");
  table[fd].want = what == CURL_POLL_REMOVE ? 0
                                            : (what & CURL_POLL_IN ? EPOLLIN : 0u) |
                                                  (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
  if (table[fd].want & ~table[fd].have) set_interest(fd, table[fd].want);
  return 0;
}

static int on_close(void *user, curl_socket_t fd) {
  (void)user;
  table[fd].want = table[fd].have = 0; /* the kernel removes it */
  return close(fd);
}

static int on_timer(CURLM *handle, long timeout_ms, void *user) {
  (void)handle, (void)user;
  deadline_ms = timeout_ms < 0 ? -1 : now_ms() + timeout_ms;
  return 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *user) {
  (void)bytes, (void)user;
  received += (int64_t)(size * count);
  return size * count;
}

/* Runs `total` requests over these handles; returns how many failed. */
static long run(CURL **easies, long in_flight, long total) {
  long started = 0, done = 0, failed = 0;
  int running = 0;
  for (; started < in_flight && started < total; started++)
    curl_multi_add_handle(multi, easies[started]);
  while (done < total) {
    struct epoll_event events[EVENTS];
    long wait = deadline_ms < 0 ? GUARD_MS : deadline_ms - now_ms();
    int count = wait > 0 ? epoll_wait(epoll_fd, events, EVENTS, (int)wait) : 0;
    for (int i = 0; i < count; i++) {
      int fd = events[i].data.fd;
      uint32_t what = events[i].events;
      if (!(what & (table[fd].want | EPOLLERR | EPOLLHUP))) {
        set_interest(fd, table[fd].want);
        continue;
      }
      curl_multi_socket_action(multi, fd,
                               (what & EPOLLIN ? CURL_CSELECT_IN : 0) |
                                   (what & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                                   (what & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0),
                               &running);
    }
    if (deadline_ms >= 0 && deadline_ms <= now_ms()) {
      deadline_ms = -1;
      curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    int left = 0;
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left)) != NULL;) {
      CURL *easy = message->easy_handle;
      long code = 0;
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
      if (message->data.result != CURLE_OK || code != 200) failed++;
      curl_multi_remove_handle(multi, easy);
      done++;
      if (started < total) {
        started++;
        curl_multi_add_handle(multi, easy);
      }
    }
  }
  return failed;
}

int main(int count, char **arguments) {
  if (count < 4 || count > 6) bench_fail("usage", "bench_get URL REQUESTS IN_FLIGHT [CA [1.1]]");
  long total = atol(arguments[2]), in_flight = atol(arguments[3]);
  curl_global_init(CURL_GLOBAL_ALL);
  multi = curl_multi_init();
  epoll_fd = epoll_create1(EPOLL_CLOEXEC);
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timer);
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, in_flight);
  CURL **easies = calloc((size_t)in_flight, sizeof *easies);
  if (easies == NULL) bench_fail("memory", "none");
  for (long i = 0; i < in_flight; i++) {
    easies[i] = curl_easy_init();
    curl_easy_setopt(easies[i], CURLOPT_URL, arguments[1]);
    /* Sends the same bytes as the other drivers. */
    curl_easy_setopt(easies[i], CURLOPT_USERAGENT, "wherry/0.1.0");
    curl_easy_setopt(easies[i], CURLOPT_ACCEPT_ENCODING, "identity");
    curl_easy_setopt(easies[i], CURLOPT_PROXY, "");
    curl_easy_setopt(easies[i], CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easies[i], CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easies[i], CURLOPT_CLOSESOCKETFUNCTION, on_close);
    if (count > 4) {
      curl_easy_setopt(easies[i], CURLOPT_CAINFO, arguments[4]);
      curl_easy_setopt(easies[i], CURLOPT_PIPEWAIT, 1L);
    }
    if (count > 5) curl_easy_setopt(easies[i], CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  }
  run(easies, in_flight, in_flight > WARM_UP ? in_flight : WARM_UP);
  received = 0;
  bench begun = bench_begin();
  long failed = run(easies, in_flight, total);
  bench_end(begun, total, failed, received);
  for (long i = 0; i < in_flight; i++) curl_easy_cleanup(easies[i]);
  curl_multi_cleanup(multi);
  free(easies);
  return failed != 0;
}
