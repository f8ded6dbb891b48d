/* Wherry: rule SEC-A11, from C: a program may exit at any time and in any way
 * SPDX-License-Identifier: Apache-2.0
 *
 * OpenSSL's exit handler frees what a thread in a TLS handshake still uses: 14 of 100 programs with
 * one request in flight died with SIGSEGV. Each test runs a program (exit/exit_child.c) many times:
 * twice for each combination, or WHERRY_EXIT_RUNS times. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "program.h"
#include "server.h"

extern char **environ;

/* The maximum is generous, for a busy machine: a slower exit waited for something.
 * scripts/test-exit also limits the median, with WHERRY_EXIT_MEDIAN_MS. */
enum { LONGEST_MS = 2000, MOST_RUNS = 10000 };

/* At the exit, a sanitizer stops all threads and searches the memory. Its time is not limited. */
static bool is_instrumented(void) { return getenv("WHERRY_TEST_INSTRUMENTED") != NULL; }

/* After this time a program hangs. */
static int give_up_ms(void) { return is_instrumented() ? 300000 : 20000; }

static int runs_of_each(void) {
  const char *text = getenv("WHERRY_EXIT_RUNS");
  if (text != NULL && atoi(text) > 0) return atoi(text) < MOST_RUNS ? atoi(text) : MOST_RUNS;
  return 2;
}

/* The maximum median of the exits, in nanoseconds; INT64_MAX if only the maximum is limited. */
static int64_t median_limit(void) {
  const char *text = getenv("WHERRY_EXIT_MEDIAN_MS");
  return text != NULL && atoi(text) > 0 ? atoi(text) * 1000000LL : INT64_MAX;
}

static int by_size(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Whether the descriptor becomes readable, or closes, before the timeout. */
static bool wait_for(int descriptor, int milliseconds) {
  struct pollfd interest = {descriptor, POLLIN, 0};
  int found;
  do found = poll(&interest, 1, milliseconds);
  while (found < 0 && errno == EINTR);
  return found > 0;
}

/* LeakSanitizer cannot see the table of weak references that Swift keeps for an object: it takes
 * the tables of transfers that still run for leaks. */
static const char *const lsan_options = "suppressions=" WHERRY_EXIT_LEAKS ":print_suppressions=0";

/* Runs the program; returns its wait status, or -1 if it did not exit. *out_ns is the time of the
 * exit. */
static int run(char *const *words, int64_t *out_ns) {
  int output[2], status = -1;
  pid_t pid;
  if (pipe2(output, O_CLOEXEC) != 0) return -1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output[1], 1);
  /* It warns that certificates are not checked. */
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  int error = posix_spawn(&pid, WHERRY_EXIT_CHILD, &actions, NULL, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(output[1]);
  char text[32] = "";
  bool has_ended = false;
  if (error == 0) {
    bool was_noted =
        wait_for(output[0], give_up_ms()) && read(output[0], text, sizeof text - 1) > 0;
    has_ended = wait_for(output[0], give_up_ms());
    if (!has_ended) kill(pid, SIGKILL);
    if (waitpid(pid, &status, 0) != pid) status = -1;
    *out_ns = was_noted ? now_ns() - atoll(text) : 0;
  }
  close(output[0]);
  return has_ended ? status : -1;
}

/* Runs each way to exit a program during some work. */
static void end_in_all_ways(const char *work, const char *url, const char *count, bool joins) {
  REQUIRE(setenv("LSAN_OPTIONS", lsan_options, 1) == 0);
  const char *ways[] = {"return",     "exit",      "thread", "atexit",     "atexit-late",
                        "quick_exit", "join-free", "stuck",  "join-stuck", "join"};
  for (size_t i = 0; i < sizeof ways / sizeof *ways - !joins; i++) {
    /* The exit waits 50 ms for a thread in OpenSSL. After that, OpenSSL's own exit handler, which
     * only a program that has initialized OpenSSL has, can crash the thread. */
    bool is_stuck = strstr(ways[i], "stuck") != NULL;
    for (int is_initialized = 0; is_initialized < 2 - is_stuck; is_initialized++) {
      int signals = 0, failures = 0, slow = 0, total = runs_of_each();
      int64_t longest = 0;
      static int64_t times[MOST_RUNS];
      unsigned random = 12345;
      const char *path = check_path("%s-%zu-%d", work, i, is_initialized);
      for (int j = 0; j < total; j++) {
        random = random * 1103515245u + 12345u;
        char delay[16], file[4096];
        snprintf(delay, sizeof delay, "%u", (random >> 8) % 4000);
        snprintf(file, sizeof file, "%s-%d", path, j);
        char *words[] = {
            "exit_child",  (char *)ways[i], (char *)work, (char *)url,
            (char *)count, delay,           file,         is_initialized ? "initialized" : NULL,
            NULL};
        int64_t took = 0;
        int status = run(words, &took);
        if (status == -1 || WIFSIGNALED(status)) signals++;
        else if (WEXITSTATUS(status) != 0) failures++;
        slow += took > 100000000;
        if (took > longest) longest = took;
        times[j] = took;
      }
      qsort(times, (size_t)total, sizeof *times, by_size);
      int64_t median = times[total / 2];
      printf(
          "  %-9s %-11s %-11s %5d runs, %d signals, %d failures, median %lld ms, longest %lld ms, "
          "%d over 100\n",
          work, ways[i], is_initialized ? "initialized" : "", total, signals, failures,
          (long long)median / 1000000, (long long)longest / 1000000, slow);
      CHECK_INT(signals, 0);
      CHECK_INT(failures, 0);
      CHECK(longest / 1000000 < LONGEST_MS || is_instrumented());
      CHECK(median < median_limit() || is_stuck); /* it may wait for the network thread */
    }
  }
}

TEST("SEC-A11 a program may exit while TLS handshakes run") {
  end_in_all_ways("handshake", server_tls_url("/echo"), "16", false);
}

TEST("SEC-A11 a program may exit while a server leaves a TLS handshake unanswered") {
  int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  REQUIRE(bind(silent, (struct sockaddr *)&address, size) == 0 && listen(silent, 64) == 0);
  REQUIRE(getsockname(silent, (struct sockaddr *)&address, &size) == 0);
  const char *url = check_format("https://127.0.0.1:%d/", ntohs(address.sin_port));
  end_in_all_ways("stalled", url, "1", false);
  close(silent);
}

TEST("SEC-A11 a program may exit during a download") {
  end_in_all_ways("download", server_tls_url("/bytes/200000000?rate=200000000"), "2", false);
}

TEST("SEC-A11 a program may exit while threads wait in blocking calls") {
  end_in_all_ways("blocking", server_tls_url("/delay/600000"), "4", true);
}

TEST("SEC-A11 a program may exit during an upload") {
  end_in_all_ways("upload", server_tls_url("/sink?stall=1&seconds=600"), "2", false);
}

TEST("SEC-A11 a program may exit while requests wait for a connection") {
  end_in_all_ways("queued", server_tls_url("/delay/600000"), "20", false);
}

TEST("SEC-A11 static C++ objects may use and free the client after main, while a request runs") {
#ifdef WHERRY_STATIC_CHILD
  static const struct {
    const char *way, *prints;
  } cases[] = {{"global", "E_CANCELLED OK\n"},
               {"local", "E_CANCELLED OK\n"},
               {"thread", "OK OK\n"}, /* destroyed before the process's exit begins */
               {"function", "E_CANCELLED OK\n"}};
  for (int run = 0; run < (check_in_full() ? 50 : 5); run++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      program child = program_run(WHERRY_STATIC_CHILD, cases[i].way, server_url("/echo"),
                                  server_url("/delay/600000"), NULL);
      if (!CHECK_INT(child.code, 0)) printf("  %s: %s\n", cases[i].way, child.err);
      CHECK_TEXT(child.out, cases[i].prints);
    }
#else
  printf("  skipped: no C++ compiler, or the library is instrumented\n");
#endif
}
