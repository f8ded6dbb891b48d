/* Wherry: benchmark of cache hits through wherry.h
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_cache FOLDER memory|disk CALL SIZE ENTRIES COUNT
 * CALL: read     wherry_client_read_cache
 *       perform  wherry_client_perform, which never uses the network
 *       open     opens a new client for every hit
 *       clear    wherry_client_clear_cache of one URL; the entry is stored again afterwards
 *       read-http, perform-http
 *                the same with the HTTP cache
 *       sweep    opens a client, and waits for the sweep that its first call starts
 *       evict    the same once, with a limit that removes a tenth of the entries; they are stored
 *                again afterwards
 *
 * Missing entries are stored first. */
#define _GNU_SOURCE
#include "bench_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wherry.h>

enum { REQUESTS = 1024, DAY_MS = 86400000 };

static const char *folder;
static wherry_client *client;
static wherry_request *requests[REQUESTS];
static bool in_memory, is_http;
static size_t size;
static int64_t limit = INT64_C(1) << 40;
static char *body;

static void check(wherry_status status) {
  if (status == WHERRY_OK) return;
  const wherry_error *error = wherry_last_error();
  bench_fail(wherry_error_reason(error), wherry_error_message(error));
}

static void url_of(long number, char url[64]) {
  snprintf(url, 64, "http://bench.invalid/items/%ld", number);
}

static wherry_request *ask(long number) {
  wherry_request *request = NULL;
  char url[64];
  url_of(number, url);
  check(wherry_request_new("GET", url, &request));
  if (is_http) {
    check(wherry_request_set_cache(request, WHERRY_CACHE_PROTOCOL, 0));
  } else {
    check(wherry_request_set_cache(request, WHERRY_CACHE_USE, DAY_MS));
  }
  return request;
}

static wherry_client *open_client(wherry_stub *stub) {
  wherry_config *config = NULL;
  wherry_client *made = NULL;
  check(wherry_config_new(&config));
  if (stub != NULL) check(wherry_config_set_stub(config, stub));
  check(wherry_config_set_text(config, WHERRY_TEXT_STORAGE_DIRECTORY, folder));
  check(wherry_config_set_option(config, WHERRY_OPTION_CACHE_MAX_BYTES, limit));
  check(wherry_config_set_option(config, WHERRY_OPTION_CACHE_MEMORY_BYTES,
                                 in_memory ? INT64_C(1) << 30 : 0));
  check(wherry_client_new(config, &made));
  check(wherry_config_free(config));
  return made;
}

/* A stub supplies the response, which is then stored like any other. */
static void fill(long entries) {
  wherry_stub *stub = NULL;
  check(wherry_stub_new(&stub));
  check(wherry_stub_add_response(stub, NULL, "*", -1, 200,
                                 "Content-Type: application/octet-stream\n"
                                 "Cache-Control: max-age=86400\nETag: \"v1\"\n",
                                 body, size));
  wherry_client *filler = open_client(stub);
  for (long i = 0; i < entries; i++) {
    wherry_request *request = ask(i);
    wherry_response *response = NULL;
    check(wherry_client_perform(filler, request, &response));
    check(wherry_response_free(response));
    check(wherry_request_free(request));
  }
  check(wherry_client_free(filler));
  check(wherry_stub_free(stub));
}

static bool is_hit(wherry_status status, wherry_response *response) {
  size_t count = 0;
  if (status != WHERRY_OK) return false;
  const uint8_t *bytes = wherry_response_body(response, &count);
  bool is_right =
      wherry_response_is_from_cache(response) && count == size && bytes[count - 1] == 'x';
  return wherry_response_free(response) == WHERRY_OK && is_right;
}

static bool read_one(long number) {
  wherry_response *response = NULL;
  wherry_status status = wherry_client_read_cache(client, requests[number % REQUESTS], &response);
  return is_hit(status, response);
}

static bool perform_one(long number) {
  wherry_response *response = NULL;
  wherry_status status = wherry_client_perform(client, requests[number % REQUESTS], &response);
  return is_hit(status, response);
}

static bool open_one(long number) {
  client = open_client(NULL);
  bool is_right = read_one(number);
  wherry_status status = wherry_client_free(client);
  client = NULL;
  return status == WHERRY_OK && is_right;
}

static bool clear_one(long number) {
  char url[64];
  size_t count = 0;
  url_of(number % REQUESTS, url);
  wherry_status status =
      wherry_client_clear_cache(client, WHERRY_STORE_TIMED, NULL, url, NULL, &count);
  return status == WHERRY_OK && count == 1;
}

/* The sweeper locks this file during a sweep, and changes its time at the start. */
static int open_sweep_file(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/timed/sweep", folder);
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) bench_fail(path, "cannot be opened");
  return file;
}

/* Waits until no sweep has the lock. */
static void wait_unlocked(int file) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(file, F_OFD_SETLKW, &lock) != 0) bench_fail("lock", "failed");
  lock.l_type = F_UNLCK;
  if (fcntl(file, F_OFD_SETLK, &lock) != 0) bench_fail("unlock", "failed");
}

/* Opens a client, and waits for the sweep that the first use of the cache starts. */
static bool sweep_one(long number) {
  static const struct timespec past[2];
  struct stat status = {0};
  int file = open_sweep_file();
  wherry_response *response = NULL;
  wait_unlocked(file);
  if (futimens(file, past) != 0) bench_fail("futimens", "failed");
  client = open_client(NULL);
  if (wherry_client_read_cache(client, requests[number], &response) == WHERRY_OK)
    check(wherry_response_free(response));
  while (status.st_mtime == 0) {
    static const struct timespec step = {.tv_nsec = 10000};
    nanosleep(&step, NULL);
    if (fstat(file, &status) != 0) bench_fail("fstat", "failed");
  }
  wait_unlocked(file);
  close(file);
  wherry_status freed = wherry_client_free(client);
  client = NULL;
  return freed == WHERRY_OK;
}

static wherry_cache_usage usage(void) {
  wherry_cache_usage found = {.size = sizeof found};
  check(wherry_client_cache_usage(client, &found));
  return found;
}

/* Measures a sweep that removes a tenth of the entries, and adds them again. */
static long evict(long entries) {
  limit = usage().entry_bytes / 100 * 99;
  check(wherry_client_free(client));
  long failed = bench_each(0, 1, 1, sweep_one);
  limit = INT64_C(1) << 40;
  client = open_client(NULL);
  failed += usage().entries >= entries;
  fill(entries);
  return failed + (usage().entries != entries);
}

/* Whether all entries of the measured calls exist. */
static bool is_full(long entries) {
  wherry_request *last = ask(entries - 1);
  wherry_response *response = NULL;
  wherry_status status = wherry_client_read_cache(client, last, &response);
  bool is_there = is_hit(status, response);
  check(wherry_request_free(last));
  return is_there;
}

int main(int count, char **arguments) {
  static const char usage[] =
      "bench_cache FOLDER memory|disk read|read-http|perform|perform-http|open|clear|sweep|evict "
      "SIZE ENTRIES COUNT";
  if (count != 7) bench_fail("usage", usage);
  const char *call = arguments[3];
  folder = arguments[1];
  in_memory = strcmp(arguments[2], "memory") == 0;
  is_http = strcmp(call, "read-http") == 0 || strcmp(call, "perform-http") == 0;
  size = (size_t)atol(arguments[4]);
  long entries = atol(arguments[5]), times = atol(arguments[6]), failed = 0;
  body = malloc(size);
  if (body == NULL) bench_fail("malloc", "no memory");
  memset(body, 'x', size);
  long used = entries < REQUESTS ? entries : REQUESTS;
  for (long i = 0; i < used; i++) requests[i] = ask(i);
  client = open_client(NULL);
  if (!is_full(entries)) fill(entries);
  if (strncmp(call, "read", 4) == 0) {
    failed = bench_each(used, times, used, read_one);
  } else if (strncmp(call, "perform", 7) == 0) {
    failed = bench_each(used, times, used, perform_one);
  } else if (strcmp(call, "open") == 0) {
    check(wherry_client_free(client));
    client = NULL;
    failed = bench_each(1, times, used, open_one);
  } else if (strcmp(call, "sweep") == 0) {
    check(wherry_client_free(client));
    client = NULL;
    failed = bench_each(0, times, used, sweep_one);
  } else if (strcmp(call, "evict") == 0) {
    failed = evict(entries);
  } else if (strcmp(call, "clear") == 0) {
    /* Every URL may occur only once. */
    failed = bench_each(0, times < used ? times : used, used, clear_one);
    fill(used);
  } else {
    bench_fail("usage", usage);
  }
  for (long i = 0; i < used; i++) check(wherry_request_free(requests[i]));
  check(wherry_client_free(client));
  free(body);
  return failed != 0;
}
