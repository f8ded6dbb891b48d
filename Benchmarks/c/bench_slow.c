/* Wherry: the memory of requests that wait for the rest of their responses
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_slow URL REQUESTS [BUFFER]
 *
 * Starts the requests and waits until the server has sent the beginning of each response. Prints
 * the private memory for each of them in bytes. With WITH_WHERRY, requests go through the library,
 * otherwise through libcurl, whose CURLOPT_BUFFERSIZE is BUFFER. The server must say on the
 * standard input when it has sent all of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static const char *url;

static long private_kib(void) {
  char line[256];
  long found = 0;
  FILE *file = fopen("/proc/self/smaps_rollup", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "Pss_Anon: %ld", &found) == 1) break;
  if (file != NULL) fclose(file);
  return found;
}

#ifdef WITH_WHERRY
#include <wherry.h>

static wherry_client *client;
static wherry_queue *queue;
static wherry_request *request;

static void check(wherry_status status) {
  if (status == WHERRY_OK) return;
  const wherry_error *error = wherry_last_error();
  bench_fail(wherry_error_reason(error), wherry_error_message(error));
}

static void open_client(long count, long buffer) {
  (void)buffer;
  wherry_config *config = NULL;
  check(wherry_config_new(&config));
  check(wherry_config_set_option(config, WHERRY_OPTION_IGNORE_PROXY_ENVIRONMENT, 1));
  check(wherry_config_set_option(config, WHERRY_OPTION_MAX_PER_HOST, count + 1));
  check(wherry_config_set_option(config, WHERRY_OPTION_MAX_CONNECTIONS, count + 1));
  check(wherry_client_new(config, &client));
  check(wherry_queue_new(&queue));
  check(wherry_request_new("GET", url, &request));
}

static void start(void) { check(wherry_client_send(client, request, queue, NULL, NULL)); }

/* Another thread moves the bytes. */
static void turn(void) { usleep(10000); }

#else
#include <curl/curl.h>

static CURLM *multi;
static long size;

static size_t drop(char *bytes, size_t one, size_t count, void *data) {
  (void)bytes, (void)data;
  return one * count;
}

static void open_client(long count, long buffer) {
  (void)count;
  size = buffer;
  multi = curl_multi_init();
}

static void start(void) {
  CURL *easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_URL, url);
  curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
  if (size > 0) curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, size);
  curl_multi_add_handle(multi, easy);
}

static void turn(void) {
  int running = 0;
  curl_multi_perform(multi, &running);
  curl_multi_poll(multi, NULL, 0, 10, NULL);
}
#endif

/* Starts requests, and waits until the server has sent as many beginnings in all. */
static void begin(long count) {
  for (long i = 0; i < count; i++) start();
  printf("started\n");
  fflush(stdout);
  char answer = 0;
  struct timeval none = {0, 0};
  fd_set input;
  do {
    turn();
    FD_ZERO(&input);
    FD_SET(0, &input);
  } while (select(1, &input, NULL, NULL, &none) == 0);
  if (read(0, &answer, 1) != 1) bench_fail("server", "the server ended");
  /* The last bytes are on their way. */
  for (int i = 0; i < 100; i++) turn();
}

int main(int count, char **words) {
  if (count < 3) bench_fail("usage", "bench_slow URL REQUESTS [BUFFER]");
  url = words[1];
  long requests = atol(words[2]);
  open_client(requests, count > 3 ? atol(words[3]) : 0);
  begin(1);
  long before = private_kib();
  begin(requests);
  printf("%ld\n", (private_kib() - before) * 1024 / requests);
  fflush(stdout);
  _exit(0);
}
