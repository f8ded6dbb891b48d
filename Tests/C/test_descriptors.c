/* Wherry: thousands of downloads with few descriptors, from C
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

enum { SIZE = 1000000, PART = 100000, MOST = 4096 };

/* The number of this process's descriptors in the test's folder. */
static int descriptors_here(void) {
  const char *folder = check_path(".");
  char own[4096];
  REQUIRE(realpath(folder, own) != NULL);
  DIR *entries = opendir("/proc/self/fd");
  REQUIRE(entries != NULL);
  int count = 0;
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    char end[4096];
    ssize_t length = readlinkat(dirfd(entries), entry->d_name, end, sizeof end - 1);
    if (length <= 0) continue;
    end[length] = '\0';
    count += strncmp(end, own, strlen(own)) == 0;
  }
  closedir(entries);
  return count;
}

/* Sets the open file limit; returns the old one. */
static rlim_t limit_descriptors(rlim_t count) {
  struct rlimit limit;
  REQUIRE_INT(getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlim_t old = limit.rlim_cur;
  limit.rlim_cur = count;
  REQUIRE_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
  return old;
}

/* Descriptors were closed only in a process with more than 64 open partial files. */
TEST("DR18 downloads that are paused or wait for a retry hold no descriptor") {
  enum { COUNT = 10 };
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_transfer *transfers[COUNT];
  for (int i = 0; i < COUNT; i++) {
    /* The last one waits, because the server requests a minute. */
    const char *url =
        i < COUNT - 1
            ? server_url("/bytes/%d?n=%d&hold=%d&gate=go", SIZE, i, PART)
            : server_url("/bytes/%d?status_first=503&status_times=1&retry_after=50", SIZE + 1);
    REQUIRE_OK(wherry_client_download(client, new_request("GET", url), check_path("%d", i), queue,
                                      NULL, &transfers[i]));
    keep_transfer(transfers[i]);
    if (i == COUNT - 1) {
      while (wherry_transfer_state(transfers[i]) != WHERRY_STATE_WAITING)
        REQUIRE(server_wait("requests=0"));
      break;
    }
    REQUIRE_OK(wherry_event_free(next_event(queue, WHERRY_EVENT_PROGRESS)));
    CHECK_OK(wherry_transfer_pause(transfers[i]));
  }
  int open = COUNT;
  for (int i = 0; i < 10000 && open > 0; i++) {
    REQUIRE(server_wait("requests=0"));
    open = descriptors_here();
  }
  CHECK_INT(open, 0);
  server_open("go");
  CHECK_OK(wherry_transfer_cancel(transfers[COUNT - 1]));
  for (int i = 0; i < COUNT - 1; i++) CHECK_OK(wherry_transfer_resume(transfers[i]));
  for (int i = 0; i < COUNT; i++) {
    outcome got = next_done(queue);
    CHECK(got.status == WHERRY_OK || got.status == WHERRY_E_CANCELLED);
  }
  CHECK_INT(check_entries(check_path(".")), COUNT - 1);
  long count;
  const char *bytes = check_read_file(check_path("3"), &count);
  CHECK_INT(count, SIZE);
  CHECK(bytes != NULL && is_pattern(bytes, SIZE, 0));
}

/* 2,809 of 3,000 downloads failed with 1,024 descriptors. */
TEST("DR18 far more downloads than descriptors succeed") {
  int total = check_in_full() ? 3000 : 300;
  wherry_client *client = new_client(NULL);
  CHECK_STATUS(perform(client, new_request("GET", server_url("/empty"))).status, WHERRY_OK);
  wherry_queue *queue = new_queue();
  rlim_t old = limit_descriptors((rlim_t)check_descriptors() + 60);
  int failures = 0;
  for (int i = 0; i < total; i++) {
    wherry_request *request = new_request("GET", server_url("/bytes/2000?n=%d", i));
    if (wherry_client_download(client, request, check_path("%d", i), queue, NULL, NULL) !=
        WHERRY_OK)
      failures++;
  }
  for (int i = failures; i < total; i++) failures += next_done(queue).status != WHERRY_OK;
  limit_descriptors(old);
  CHECK_INT(failures, 0);
  CHECK_INT(check_entries(check_path(".")), total);
}

/* Gives this thread, and the threads that it starts, a name for the server's address: libcurl
 * resolves "localhost" without a lookup. */
static bool has_named_host(void) {
  const char *hosts = "127.0.0.1 server.test\n";
  const char *file = check_path("hosts");
  check_write_file(file, hosts, strlen(hosts));
  bool has_name = geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
                  mount("none", "/", "", MS_REC | MS_PRIVATE, NULL) == 0 &&
                  mount(file, "/etc/hosts", "", MS_BIND, NULL) == 0;
  if (!has_name) printf("  skipped: a host name; needs root\n");
  return has_name;
}

/* With a host name, the lookup failed first, and the request with it. */
TEST("DR18 a request waits for a descriptor, also for its lookup, and then reports the limit") {
  static int taken[MOST];
  const char *address = server_url("/bytes/1000?close=1");
  const char *port = strstr(address, "127.0.0.1") + strlen("127.0.0.1");
  const char *urls[] = {address, check_format("http://localhost%s", port),
                        check_format("http://server.test%s", port)};
  int count_of_urls = has_named_host() ? 3 : 2;
  for (int i = 0; i < count_of_urls; i++)
    for (int gives_back = 1; gives_back >= 0; gives_back--) {
      wherry_config *config = new_config();
      REQUIRE_OK(wherry_config_set_option(config, WHERRY_OPTION_CONNECT_TIMEOUT_MS,
                                          gives_back ? 60000 : 300));
      wherry_client *client = new_client(config);
      wherry_queue *queue = new_queue();
      /* Its own descriptors exist. */
      for (int j = 0; j < 2; j++)
        CHECK_STATUS(perform(client, new_request("GET", address)).status, WHERRY_OK);
      rlim_t old = limit_descriptors((rlim_t)check_descriptors() + 20);
      int count = 0;
      while (count < MOST && (taken[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) count++;
      wherry_event *event = NULL;
      keep_transfer(send_request(client, new_request("GET", urls[i]), queue, NULL));
      if (gives_back) {
        CHECK_STATUS(wherry_queue_next(queue, 300, &event), WHERRY_E_TIMEOUT);
      } else {
        outcome got = next_done(queue);
        CHECK_TEXT(got.reason, "too_many_files");
        CHECK_HOLDS(got.message, "ulimit -n");
      }
      while (count > 0) close(taken[--count]);
      limit_descriptors(old);
      if (gives_back && event == NULL) CHECK_STATUS(next_done(queue).status, WHERRY_OK);
      CHECK_OK(wherry_event_free(event));
      CHECK_OK(wherry_client_free(client));
    }
}
