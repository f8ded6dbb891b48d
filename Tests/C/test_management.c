/* Wherry: rows M of features.md, from C: managing many transfers
 * SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

/* A request that waits at the server until its gate opens. */
static wherry_request *gated(const char *gate) {
  return new_request("GET", server_url("/faulty-echo?gate=%s", gate));
}

TEST("M1 mixed transfers have unique numbers, and the count is exact") {
  enum { MOST = 334 };
  int each = check_in_full() ? MOST : 40;
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  uint64_t ids[3 * MOST];
  for (int i = 0; i < each; i++) {
    wherry_request *upload = new_request("POST", server_url("/sink?gate=g"));
    CHECK_OK(wherry_request_add_part(upload, "a", "b", 1, NULL, NULL));
    ids[3 * i] = wherry_transfer_id(send_request(client, gated("g"), queue, NULL));
    ids[3 * i + 1] = wherry_transfer_id(send_request(client, upload, queue, NULL));
    wherry_transfer *transfer = NULL;
    wherry_request *file = new_request("GET", server_url("/bytes/10?gate=g"));
    REQUIRE_OK(wherry_client_download(client, file, check_path("%d", i), queue, NULL, &transfer));
    ids[3 * i + 2] = wherry_transfer_id(keep_transfer(transfer));
  }
  CHECK_INT(wherry_client_count(client, WHERRY_MATCH_ALL, NULL), 3 * each);
  for (int i = 0; i < 3 * each; i++) {
    CHECK(ids[i] != 0);
    for (int j = 0; j < i; j++) CHECK(ids[i] != ids[j]);
  }
  server_open("g");
  for (int i = 0; i < 3 * each; i++) CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  CHECK_INT(wherry_client_count(client, WHERRY_MATCH_ALL, NULL), 0);
}

TEST("M2 the list shows kind, number, URL, method, and state") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  const char *path = check_path("file");
  wherry_request *put = new_request("PUT", server_url("/sink?gate=g"));
  CHECK_OK(wherry_request_set_body(put, "x", 1, "text/plain"));
  wherry_transfer *request = send_request(client, put, queue, NULL), *file = NULL;
  const char *url = server_url("/bytes/10?gate=g");
  REQUIRE_OK(wherry_client_download(client, new_request("GET", url), path, queue, NULL, &file));
  keep_transfer(file);
  CHECK(server_wait("requests=2"));

  wherry_list *list = NULL;
  REQUIRE_OK(wherry_client_list(client, WHERRY_MATCH_ALL, NULL, &list));
  keep_list(list);

  CHECK_INT(wherry_list_count(list), 2);
  for (size_t i = 0; i < wherry_list_count(list); i++) {
    wherry_transfer_row row = {.size = sizeof row};
    REQUIRE_OK(wherry_list_transfer(list, i, &row));
    CHECK_INT(row.state, WHERRY_STATE_RUNNING);
    if (row.transfer_id == wherry_transfer_id(file)) {
      CHECK_INT(row.kind, WHERRY_TRANSFER_DOWNLOAD);
      CHECK_TEXT(row.method, "GET");
      CHECK_TEXT(row.url, url);
      CHECK_TEXT(row.path, path);
    } else {
      CHECK_INT(row.transfer_id, wherry_transfer_id(request));
      CHECK_INT(row.kind, WHERRY_TRANSFER_REQUEST);
      CHECK_TEXT(row.method, "PUT");
      CHECK_TEXT(row.path, NULL);
    }
  }
  server_open("g");
  CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  CHECK_STATUS(next_done(queue).status, WHERRY_OK);
}

TEST("M2 the list shows kind and progress of uploads and downloads that are halfway") {
  enum { SIZE = 1000000, HALF = 500000 };
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *form = new_request("POST", server_url("/sink?gate=g"));
  CHECK_OK(wherry_request_add_part(form, "a", check_memory(SIZE), SIZE, NULL, NULL));
  wherry_transfer *upload = send_request(client, form, queue, NULL), *file = NULL;
  wherry_request *half = new_request("GET", server_url("/bytes/%d?hold=%d&gate=g", SIZE, HALF));
  REQUIRE_OK(wherry_client_download(client, half, check_path("file"), queue, NULL, &file));
  keep_transfer(file);
  CHECK(server_wait("requests=2"));
  for (int ready = 0; ready < 2;) { /* until all possible progress; the guard ends this */
    wherry_list *list = NULL;
    ready = 0;
    REQUIRE_OK(wherry_client_list(client, WHERRY_MATCH_ALL, NULL, &list));
    REQUIRE_INT(wherry_list_count(list), 2);
    for (size_t i = 0; i < 2; i++) {
      wherry_transfer_row row = {.size = sizeof row};
      REQUIRE_OK(wherry_list_transfer(list, i, &row));
      bool is_upload = row.transfer_id == wherry_transfer_id(upload);
      CHECK_INT(row.kind, is_upload ? WHERRY_TRANSFER_UPLOAD : WHERRY_TRANSFER_DOWNLOAD);
      CHECK_TEXT(row.method, is_upload ? "POST" : "GET");
      if (is_upload && row.expected_bytes > SIZE && row.done_bytes == row.expected_bytes) ready++;
      if (!is_upload && row.expected_bytes == SIZE && row.done_bytes == HALF) ready++;
    }
    REQUIRE_OK(wherry_list_free(list));
  }
  server_open("g");
  CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  CHECK_STATUS(next_done(queue).status, WHERRY_OK);
}

TEST("M3 cancelling by URL, identifier, tag, or all leaves other transfers running") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  const char *url = server_url("/faulty-echo?gate=a");
  wherry_request *post = new_request("POST", url), *other = gated("b"), *tagged = gated("c");
  CHECK_OK(wherry_request_set_parameter(post, "n", "1"));
  CHECK_OK(wherry_request_set_text(tagged, WHERRY_TEXT_TAG, "t"));
  send_request(client, new_request("GET", url), queue, NULL);
  send_request(client, post, queue, NULL);
  wherry_transfer *last = send_request(client, other, queue, NULL);
  send_request(client, tagged, queue, NULL);
  size_t count = 0;

  const char *identifier = wherry_request_identifier(post, client);
  CHECK_OK(wherry_client_cancel(client, WHERRY_MATCH_IDENTIFIER, identifier, &count));
  CHECK_INT(count, 1);
  CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
  CHECK_OK(wherry_client_cancel(client, WHERRY_MATCH_URL, url, &count));
  CHECK_INT(count, 1);
  CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
  CHECK_OK(wherry_client_cancel(client, WHERRY_MATCH_TAG, "t", &count));
  CHECK_INT(count, 1);
  CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
  CHECK_OK(wherry_client_cancel(client, WHERRY_MATCH_TAG, "t", &count));
  CHECK_INT(count, 0);
  CHECK_INT(wherry_client_count(client, WHERRY_MATCH_ALL, NULL), 1);

  server_open("b");
  CHECK_STATUS(done_of(queue, last).status, WHERRY_OK);
  send_request(client, gated("d"), queue, NULL);
  send_request(client, gated("d"), queue, NULL);
  CHECK_OK(wherry_client_cancel(client, WHERRY_MATCH_ALL, NULL, &count));
  CHECK_INT(count, 2);
  CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
  CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
  CHECK(queue_is_empty(queue));
}

TEST("M3 transfers without handles are cancelled by their queue and user data") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue(), *other = new_queue();
  int one, two;
  size_t count = 9;
  send_request(client, gated("a"), queue, &one);
  send_request(client, gated("a"), queue, &one);
  send_request(client, gated("a"), queue, &two);
  send_request(client, gated("a"), other, &one);

  CHECK_OK(wherry_queue_cancel(queue, &one, &count));

  CHECK_INT(count, 2);
  for (int i = 0; i < 2; i++) {
    outcome got = next_done(queue);
    CHECK_STATUS(got.status, WHERRY_E_CANCELLED);
    CHECK(got.user_data == &one);
  }
  CHECK_OK(wherry_queue_cancel(queue, &one, &count));
  CHECK_INT(count, 0);
  CHECK_OK(wherry_queue_cancel(queue, NULL, NULL));
  server_open("a");
  CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  CHECK_STATUS(next_done(other).status, WHERRY_OK);
  CHECK_STATUS(wherry_queue_cancel(NULL, &one, &count), WHERRY_E_ARGUMENT);
  CHECK_OK(wherry_queue_free(other));
  CHECK_STATUS(wherry_queue_cancel(other, &one, &count), WHERRY_E_ARGUMENT);
}

TEST("M4 a transfer ends exactly once, whenever it is cancelled") {
  enum { GROUP = 20 };
  int groups = check_in_full() ? 500 : 25;
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("GET", server_url("/bytes/20000"));
  unsigned seed = 1;
  for (int group = 0; group < groups; group++) {
    uint64_t ids[GROUP];
    int ended[GROUP] = {0};
    wherry_transfer *transfers[GROUP];
    for (int i = 0; i < GROUP; i++) {
      REQUIRE_OK(wherry_client_send(client, request, queue, NULL, &transfers[i]));
      ids[i] = wherry_transfer_id(transfers[i]);
      if (rand_r(&seed) % 2) CHECK_OK(wherry_transfer_cancel(transfers[rand_r(&seed) % (i + 1)]));
    }
    for (int i = 0; i < GROUP; i++) {
      outcome got = next_done(queue);
      CHECK(got.status == WHERRY_OK || got.status == WHERRY_E_CANCELLED);
      for (int j = 0; j < GROUP; j++) ended[j] += ids[j] == got.id;
    }
    for (int i = 0; i < GROUP; i++) {
      CHECK_INT(ended[i], 1);
      CHECK_OK(wherry_transfer_cancel(transfers[i])); /* after the end it changes nothing */
      CHECK_OK(wherry_transfer_free(transfers[i]));
    }
    CHECK(queue_is_empty(queue));
  }
}

TEST("M5 a transfer is queued, runs, is paused, runs, and is done") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_option(config, WHERRY_OPTION_MAX_PER_HOST, 1));
  wherry_client *client = new_client(config);
  wherry_queue *queue = new_queue();
  wherry_transfer *first = send_request(client, gated("one"), queue, NULL);
  wherry_transfer *second = send_request(client, gated("two"), queue, NULL);
  CHECK(server_wait("requests=1"));
  CHECK_INT(wherry_transfer_state(first), WHERRY_STATE_RUNNING);
  CHECK_INT(wherry_transfer_state(second), WHERRY_STATE_QUEUED);

  server_open("one");
  CHECK_STATUS(done_of(queue, first).status, WHERRY_OK);
  CHECK_INT(wherry_transfer_state(first), WHERRY_STATE_DONE);
  CHECK(server_wait("requests=2"));
  CHECK_INT(wherry_transfer_state(second), WHERRY_STATE_RUNNING);
  CHECK_OK(wherry_transfer_pause(second));
  CHECK_OK(wherry_transfer_pause(second));
  CHECK_INT(wherry_transfer_state(second), WHERRY_STATE_PAUSED);
  CHECK_OK(wherry_transfer_resume(second));
  CHECK_OK(wherry_transfer_resume(second));
  server_open("two");
  CHECK_STATUS(done_of(queue, second).status, WHERRY_OK);

  wherry_transfer *third = send_request(client, gated("three"), queue, NULL);
  CHECK_OK(wherry_transfer_cancel(third));
  CHECK_STATUS(done_of(queue, third).status, WHERRY_E_CANCELLED);
  CHECK_INT(wherry_transfer_state(third), WHERRY_STATE_CANCELLED);
  wherry_transfer *fourth =
      send_request(client, new_request("GET", server_url("/status/500")), queue, NULL);
  CHECK_STATUS(done_of(queue, fourth).status, WHERRY_E_HTTP);
  CHECK_INT(wherry_transfer_state(fourth), WHERRY_STATE_FAILED);
  CHECK_OK(wherry_transfer_pause(fourth));
  CHECK_OK(wherry_transfer_resume(fourth));
  CHECK_INT(wherry_transfer_state(fourth), WHERRY_STATE_FAILED);
  CHECK_INT(wherry_transfer_state(NULL), WHERRY_STATE_NONE);
}

TEST("M6 a paused upload stops, and continues when resumed") {
  enum { SIZE = 64 << 20 };
  const char *path = check_path("body");
  check_write_file(path, "", 0);
  REQUIRE_INT(truncate(path, SIZE), 0); /* sparse: it takes no space on the disk */
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("PUT", server_url("/sink?stall=1&gate=g"));
  CHECK_OK(wherry_request_set_body_file(request, path, NULL));
  wherry_transfer *transfer = send_request(client, request, queue, NULL);
  CHECK(server_wait("requests=1"));
  CHECK_OK(wherry_transfer_pause(transfer));

  server_open("g"); /* it reads now, but receives only what the kernel had buffered */
  CHECK_STATUS(perform(client, new_request("GET", server_url("/delay/300"))).status, WHERRY_OK);

  CHECK_INT(server_count("ended"), 1);
  CHECK(server_count("received") < SIZE / 2);
  CHECK_OK(wherry_transfer_resume(transfer));
  outcome got = done_of(queue, transfer);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_HOLDS(got.body, check_format("\"bytes\": %d", SIZE));
}

TEST("M7 a thousand clients created, used, and freed leave no descriptor, thread, or memory") {
  enum { WARM_UP = 50 };
  const char *url = server_url("/empty");
  int rounds = getenv("WHERRY_TEST_INSTRUMENTED") == NULL || check_in_full() ? 1000 : 100;
  wherry_client *unused = new_client(NULL);
  wherry_client_free(unused);
  long before = 0, threads = 0, bytes = 0, resident = 0;
  for (int i = 0; i < WARM_UP + rounds; i++) {
    wherry_client *client = NULL;
    wherry_queue *queue = NULL;
    wherry_request *request = NULL;
    wherry_response *response = NULL;
    REQUIRE_OK(wherry_client_new(NULL, &client));
    REQUIRE_OK(wherry_queue_new(&queue));
    REQUIRE_OK(wherry_request_new("GET", url, &request));
    CHECK_OK(wherry_client_send(client, request, queue, NULL, NULL));
    CHECK_OK(wherry_client_perform(client, request, &response));
    CHECK_OK(wherry_response_free(response));
    CHECK_OK(wherry_request_free(request));
    CHECK_OK(wherry_client_free(client));
    CHECK_OK(wherry_queue_free(queue));
    if (i != WARM_UP - 1) continue;
    before = check_descriptors();
    threads = check_threads();
    bytes = check_allocated();
    resident = check_resident_kib();
  }
  CHECK_INT(check_descriptors(), before);
  CHECK(check_threads_are(threads));
  CHECK_GROWTH(resident, 2048);
  /* Less than 64 bytes for each client: malloc keeps some freed memory for each thread. */
  if (getenv("WHERRY_TEST_INSTRUMENTED") == NULL) CHECK(check_allocated() - bytes < 64 * rounds);
}

TEST("M7 freeing a client cancels, and its queue has every end on return") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  for (int i = 0; i < 20; i++)
    CHECK_OK(wherry_client_send(client, gated("never"), queue, NULL, NULL));
  CHECK_OK(wherry_client_free(client));
  for (int i = 0; i < 20; i++) {
    wherry_event *event = NULL;
    do {
      wherry_event_free(event);
      REQUIRE_OK(wherry_queue_next(queue, 0, &event));
    } while (wherry_event_get_kind(event) != WHERRY_EVENT_DONE);
    CHECK_INT(wherry_event_status(event), WHERRY_E_CANCELLED);
    CHECK_OK(wherry_event_free(event));
  }
  CHECK(queue_is_empty(queue));
  CHECK_FAILS(wherry_client_send(client, gated("never"), queue, NULL, NULL), WHERRY_E_ARGUMENT,
              "bad_handle");
}

TEST("M7 draining refuses new transfers and waits for running ones") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = gated("g");
  wherry_transfer *transfer = send_request(client, request, queue, NULL);
  CHECK_STATUS(wherry_client_drain(client, 10), WHERRY_E_TIMEOUT);
  CHECK_STATUS(wherry_client_send(client, request, queue, NULL, NULL), WHERRY_E_STATE);
  server_open("g");
  CHECK_OK(wherry_client_drain(client, 600000));
  CHECK_STATUS(done_of(queue, transfer).status, WHERRY_OK);
}

TEST("M7 freeing a queue cancels only the transfers bound to it") {
  wherry_client *client = new_client(NULL);
  wherry_queue *gone = new_queue(), *queue = new_queue();
  send_request(client, gated("g"), gone, NULL);
  wherry_transfer *other = send_request(client, gated("g"), queue, NULL);
  CHECK_OK(wherry_queue_free(gone));
  CHECK_OK(wherry_client_wait(client, WHERRY_MATCH_ALL, NULL, 0) == WHERRY_E_TIMEOUT
               ? WHERRY_OK
               : WHERRY_E_STATE);
  server_open("g");
  CHECK_STATUS(done_of(queue, other).status, WHERRY_OK);
  CHECK_OK(wherry_client_wait(client, WHERRY_MATCH_ALL, NULL, 600000));
  CHECK_INT(wherry_queue_fd(gone), -1);
}

TEST("M8 identical requests are each sent") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("GET", server_url("/echo"));
  for (int i = 0; i < 3; i++) send_request(client, request, queue, NULL);
  for (int i = 0; i < 3; i++) CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  CHECK(server_wait("ended=3"));
  CHECK_INT(server_count("requests"), 3);
}

TEST("M9 sending again and cancelling are both allowed while handling a failure") {
  int depth = getenv("WHERRY_TEST_INSTRUMENTED") == NULL || check_in_full() ? 1000 : 200;
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *failing = new_request("GET", server_url("/status/404"));
  CHECK_OK(wherry_client_send(client, failing, queue, NULL, NULL));
  for (int i = 0; i < depth; i++) {
    wherry_transfer *next = NULL, *self = NULL;
    wherry_event *event = next_event(queue, WHERRY_EVENT_DONE);
    CHECK_INT(wherry_event_status(event), WHERRY_E_HTTP);
    REQUIRE_OK(wherry_client_send(client, failing, queue, NULL, &next));
    CHECK_OK(wherry_event_open_transfer(event, &self));
    CHECK_OK(wherry_transfer_cancel(self));
    CHECK_OK(wherry_transfer_free(self));
    CHECK_OK(wherry_transfer_free(next));
    CHECK_OK(wherry_event_free(event));
  }
  CHECK_STATUS(next_done(queue).status, WHERRY_E_HTTP);
  CHECK(queue_is_empty(queue));
}

TEST("M10 a tag counts, pauses, resumes, awaits, and cancels its transfers together") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *mine = gated("g");
  CHECK_OK(wherry_request_set_text(mine, WHERRY_TEXT_TAG, "mine"));
  for (int i = 0; i < 3; i++) send_request(client, mine, queue, NULL);
  wherry_transfer *other = send_request(client, gated("other"), queue, NULL);
  size_t count = 0;
  CHECK_INT(wherry_client_count(client, WHERRY_MATCH_TAG, "mine"), 3);
  CHECK_OK(wherry_client_pause(client, WHERRY_MATCH_TAG, "mine", &count));
  CHECK_INT(count, 3);
  CHECK(wherry_transfer_state(other) != WHERRY_STATE_PAUSED);
  CHECK_OK(wherry_client_resume(client, WHERRY_MATCH_TAG, "mine", &count));
  CHECK_INT(count, 3);
  CHECK_STATUS(wherry_client_wait(client, WHERRY_MATCH_TAG, "mine", 10), WHERRY_E_TIMEOUT);
  CHECK_OK(wherry_client_wait(client, WHERRY_MATCH_TAG, "none", 10));
  CHECK_OK(wherry_client_cancel(client, WHERRY_MATCH_TAG, "mine", NULL));
  CHECK_OK(wherry_client_wait(client, WHERRY_MATCH_TAG, "mine", 600000));
  CHECK_INT(wherry_client_count(client, WHERRY_MATCH_ALL, NULL), 1);
  for (int i = 0; i < 3; i++) CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
  server_open("other");
  CHECK_STATUS(done_of(queue, other).status, WHERRY_OK);
}

TEST("M11 the queue's descriptor is readable exactly while events wait") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  struct pollfd poller = {.fd = wherry_queue_fd(queue), .events = POLLIN};
  CHECK_INT(poll(&poller, 1, 0), 0);
  for (int i = 0; i < 5; i++)
    send_request(client, new_request("GET", server_url("/echo")), queue, NULL);
  CHECK_OK(wherry_client_wait(client, WHERRY_MATCH_ALL, NULL, 600000));
  CHECK_INT(poll(&poller, 1, 0), 1);

  wherry_record records[3] = {{.size = sizeof *records}};
  size_t dones = 0, count = 0;
  while (wherry_queue_read(queue, records, 3, 0, &count) == WHERRY_OK) {
    CHECK(count >= 1 && count <= 3);
    for (size_t i = 0; i < count; i++) {
      CHECK_INT(records[i].size, sizeof *records);
      dones += records[i].kind == WHERRY_EVENT_DONE;
    }
    CHECK_OK(wherry_queue_release(queue, records, count));
  }
  CHECK_INT(dones, 5);
  CHECK_INT(wherry_queue_count(queue), 0);
  CHECK_INT(poll(&poller, 1, 0), 0);
  CHECK_OK(wherry_queue_wake(queue, &poller));
  CHECK_INT(poll(&poller, 1, 0), 1);
  wherry_event *event = NULL;
  CHECK_OK(wherry_queue_next(queue, 0, &event));
  CHECK_INT(wherry_event_get_kind(event), WHERRY_EVENT_NONE);
  CHECK(wherry_event_user_data(event) == &poller);
  CHECK_OK(wherry_event_free(event));
  CHECK_STATUS(wherry_queue_next(queue, 20, &event), WHERRY_E_TIMEOUT);
}

TEST("M11 a transfer is found by its number until it has ended") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_transfer *transfer = send_request(client, gated("g"), queue, NULL), *again = NULL;
  uint64_t id = wherry_transfer_id(transfer);
  CHECK_OK(wherry_transfer_free(transfer));
  CHECK_OK(wherry_client_open_transfer(client, id, &again));
  CHECK_INT(wherry_transfer_id(again), id);
  CHECK_OK(wherry_transfer_free(again));
  server_open("g");
  CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  CHECK_FAILS(wherry_client_open_transfer(client, id, &again), WHERRY_E_ARGUMENT, "not_found");
}
