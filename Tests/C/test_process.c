/* Wherry: rules SEC-A12 and SEC-S3, from C: side effects of the library on a process
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

extern char **environ;

/* The value of a line in the status of a thread, as "SigBlk:\t"; "" if it is missing. */
static const char *status_of(const char *thread, const char *name) {
  const char *found = "";
  char line[256];
  FILE *file = fopen(check_format("/proc/self/task/%s/status", thread), "r");
  if (file == NULL) return "";
  while (fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, name, strlen(name)) == 0) {
      const char *value = line + strlen(name);
      found = check_format("%.*s", (int)strcspn(value, "\n"), value);
      break;
    }
  fclose(file);
  return found;
}

/* If a thread blocks the signal of its fault, the kernel ends the process without calling its
 * handler: programs lost their crash reports. */
TEST("SEC-A12 library threads block asynchronous signals, but not those that faults raise") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  keep_transfer(
      send_request(client, new_request("GET", server_url("/faulty-echo?gate=g")), queue, NULL));
  CHECK(server_wait("requests=1"));
  DIR *threads = opendir("/proc/self/task");
  REQUIRE(threads != NULL);
  int seen = 0;
  struct dirent *entry;
  while ((entry = readdir(threads)) != NULL) {
    if (strncmp(status_of(entry->d_name, "Name:\t"), "wherry-", 7) != 0) continue;
    uint64_t blocked = strtoull(status_of(entry->d_name, "SigBlk:\t"), NULL, 16);
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    static const int others[] = {SIGINT,  SIGTERM, SIGHUP,  SIGALRM,
                                 SIGCHLD, SIGUSR1, SIGPIPE, SIGPROF};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
      CHECK_INT((blocked >> (faults[i] - 1)) & 1, 0);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
      CHECK_INT((blocked >> (others[i] - 1)) & 1, 1);
    seen++;
  }
  closedir(threads);
  CHECK(seen > 0);
  server_open("g");
}

enum { MOST_DESCRIPTORS = 1024 };

/* libcurl creates two sockets for each multi handle without close-on-exec. */
TEST("SEC-S3 every descriptor of a client is close-on-exec") {
  CHECK(strlen(server_url("/echo")) > 0); /* starts the server */
  bool was_open[MOST_DESCRIPTORS];
  for (int i = 0; i < MOST_DESCRIPTORS; i++) was_open[i] = fcntl(i, F_GETFD) >= 0;
  enum { CLIENTS = 5 };
  wherry_client *clients[CLIENTS];
  wherry_queue *queue = new_queue();
  for (int i = 0; i < CLIENTS; i++) {
    clients[i] = new_client(NULL);
    CHECK_STATUS(perform(clients[i], new_request("GET", server_url("/echo"))).status, WHERRY_OK);
  }
  int opened = 0;
  for (int i = 0; i < MOST_DESCRIPTORS; i++) {
    int flags = fcntl(i, F_GETFD);
    if (was_open[i] || flags < 0) continue;
    opened++;
    if (!CHECK_INT(flags & FD_CLOEXEC, FD_CLOEXEC)) {
      char target[256] = "";
      if (readlink(check_format("/proc/self/fd/%d", i), target, sizeof target - 1) > 0)
        printf("  descriptor %d is %s\n", i, target);
    }
  }
  CHECK(opened > CLIENTS);
  CHECK_OK(wherry_queue_free(queue));
  for (int i = 0; i < CLIENTS; i++) CHECK_OK(wherry_client_free(clients[i]));
}

#ifdef WHERRY_LEAK_CHILD
static int run(const char *url, const char *end) {
  char *words[] = {"leak_child", (char *)url, (char *)end, NULL};
  pid_t pid;
  int status = -1;
  if (posix_spawn(&pid, WHERRY_LEAK_CHILD, NULL, NULL, words, environ) != 0) return -1;
  return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* 32 bytes were reported for each object that lives as long as the process and was ever referenced
 * weakly. */
TEST("LeakSanitizer finds no leak in a program that sent one request") {
  const char *url = server_url("/echo");
  CHECK_INT(run(url, "free"), 0);
  CHECK_INT(run(url, "keep"), 0);
}
#endif
