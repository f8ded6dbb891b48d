/* Wherry: the benchmark driver of the C interface
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_abi get URL REQUESTS IN_FLIGHT [CA [1.1]]
 *        bench_abi sync URL REQUESTS
 *        bench_abi download URL PATH COUNT [SEGMENTS [DURABILITY [RESUME [CA]]]]
 *        bench_abi upload URL FILE COUNT [CA] */
#include <unistd.h>
#include <wherry.h>

#include "bench.h"

enum { BATCH = 64, WARM_UP = 64 };

static wherry_client *client;
static wherry_queue *queue;
static int64_t received;

static void check(wherry_status status) {
  if (status == WHERRY_OK) return;
  const wherry_error *error = wherry_last_error();
  bench_fail(wherry_error_reason(error), wherry_error_message(error));
}

static void open_client(long in_flight, const char *ca) {
  wherry_config *config = NULL;
  check(wherry_config_new(&config));
  check(wherry_config_set_option(config, WHERRY_OPTION_IGNORE_PROXY_ENVIRONMENT, 1));
  check(wherry_config_set_option(config, WHERRY_OPTION_COMPRESSED, 0));
  check(wherry_config_set_option(config, WHERRY_OPTION_MAX_PER_HOST, in_flight));
  check(wherry_config_set_option(config, WHERRY_OPTION_MAX_CONNECTIONS, in_flight));
  if (ca != NULL) check(wherry_config_set_text(config, WHERRY_TEXT_CA_FILE, ca));
  check(wherry_client_new(config, &client));
  check(wherry_config_free(config));
  check(wherry_queue_new(&queue));
}

static long run_get(const wherry_request *request, long total, long in_flight) {
  long started = 0, done = 0, failed = 0;
  wherry_record records[BATCH];
  for (; started < in_flight && started < total; started++)
    check(wherry_client_send(client, request, queue, NULL, NULL));
  records[0].size = sizeof records[0];
  while (done < total) {
    size_t count = 0;
    check(wherry_queue_read(queue, records, BATCH, -1, &count));
    for (size_t i = 0; i < count; i++) {
      if (records[i].kind != WHERRY_EVENT_DONE) continue;
      done++;
      failed += records[i].status != WHERRY_OK || records[i].http_code != 200;
      received += (int64_t)records[i].body_count;
      if (started < total) {
        started++;
        check(wherry_client_send(client, request, queue, NULL, NULL));
      }
    }
    check(wherry_queue_release(queue, records, count));
  }
  return failed;
}

static long run_sync(const wherry_request *request, long total) {
  long failed = 0;
  for (long i = 0; i < total; i++) {
    wherry_response *response = NULL;
    size_t count = 0;
    wherry_status status = wherry_client_perform(client, request, &response);
    failed += status != WHERRY_OK || wherry_response_http_code(response) != 200;
    wherry_response_body(response, &count);
    received += (int64_t)count;
    check(wherry_response_free(response));
  }
  return failed;
}

/* The size of the file, or -1 if the transfer failed. */
static int64_t wait_done(void) {
  for (;;) {
    wherry_event *event = NULL;
    wherry_progress progress = {.size = sizeof progress};
    static int64_t last;
    check(wherry_queue_next(queue, -1, &event));
    wherry_event_kind kind = wherry_event_get_kind(event);
    wherry_status status = wherry_event_status(event);
    if (kind == WHERRY_EVENT_PROGRESS && wherry_event_progress(event, &progress) == WHERRY_OK)
      last = progress.done_bytes;
    if (kind == WHERRY_EVENT_DONE && status != WHERRY_OK)
      fprintf(stderr, "%s\n", wherry_error_message(wherry_event_error(event)));
    check(wherry_event_free(event));
    if (kind == WHERRY_EVENT_DONE) return status == WHERRY_OK ? last : -1;
  }
}

static long run_download(const wherry_request *request, const char *path, long total) {
  long failed = 0;
  for (long i = 0; i < total; i++) {
    unlink(path);
    check(wherry_client_download(client, request, path, queue, NULL, NULL));
    int64_t bytes = wait_done();
    failed += bytes < 0;
    received += bytes < 0 ? 0 : bytes;
  }
  return failed;
}

static long run_upload(const wherry_request *request, long total) {
  long failed = 0;
  for (long i = 0; i < total; i++) {
    check(wherry_client_send(client, request, queue, NULL, NULL));
    int64_t bytes = wait_done();
    failed += bytes < 0;
    received += bytes < 0 ? 0 : bytes;
  }
  return failed;
}

int main(int count, char **arguments) {
  const char *verb = count > 3 ? arguments[1] : "";
  wherry_request *request = NULL;
  bench begun;
  long total, failed;
  if (strcmp(verb, "get") == 0 && count >= 5 && count <= 7) {
    long in_flight = atol(arguments[4]);
    total = atol(arguments[3]);
    open_client(in_flight, count > 5 ? arguments[5] : NULL);
    check(wherry_request_new("GET", arguments[2], &request));
    if (count > 6) check(wherry_request_set_option(request, WHERRY_OPTION_HTTP_VERSION, 11));
    run_get(request, in_flight > WARM_UP ? in_flight : WARM_UP, in_flight);
    received = 0;
    begun = bench_begin();
    failed = run_get(request, total, in_flight);
  } else if (strcmp(verb, "sync") == 0 && count == 4) {
    total = atol(arguments[3]);
    open_client(1, NULL);
    check(wherry_request_new("GET", arguments[2], &request));
    run_sync(request, WARM_UP);
    received = 0;
    begun = bench_begin();
    failed = run_sync(request, total);
  } else if (strcmp(verb, "download") == 0 && count >= 5 && count <= 9) {
    total = atol(arguments[4]);
    open_client(6, count > 8 ? arguments[8] : NULL);
    check(wherry_request_new("GET", arguments[2], &request));
    if (count > 5)
      check(wherry_request_set_option(request, WHERRY_OPTION_SEGMENTS, atol(arguments[5])));
    if (count > 6)
      check(wherry_request_set_option(request, WHERRY_OPTION_DURABILITY, atol(arguments[6])));
    if (count > 7)
      check(wherry_request_set_option(request, WHERRY_OPTION_RESUME, atol(arguments[7])));
    begun = bench_begin();
    failed = run_download(request, arguments[3], total);
  } else if (strcmp(verb, "upload") == 0 && count >= 5 && count <= 6) {
    total = atol(arguments[4]);
    open_client(1, count > 5 ? arguments[5] : NULL);
    check(wherry_request_new("POST", arguments[2], &request));
    check(wherry_request_add_part_file(request, "file", arguments[3], NULL,
                                       "application/octet-stream"));
    begun = bench_begin();
    run_upload(request, 1);
    received = 0;
    bench_restart(&begun);
    failed = run_upload(request, total);
  } else {
    bench_fail("usage", "bench_abi get|sync|download|upload URL ...");
  }
  bench_end(begun, total, failed, received);
  wherry_request_free(request);
  wherry_queue_free(queue);
  wherry_client_free(client);
  return failed != 0;
}
