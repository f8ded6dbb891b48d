/* Wherry: row R27 of features.md, from C: the integer of a request in its events
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

static wherry_request *keyed(const char *url, uint64_t key) {
  wherry_request *request = new_request("GET", url);
  CHECK_OK(wherry_request_set_user_key(request, key));
  return request;
}

/* Reads the events up to the next DONE, which must all have this key. Returns their number. */
static int events_with(wherry_queue *queue, uint64_t key, wherry_status expected) {
  for (int count = 1;; count++) {
    wherry_record record = {.size = sizeof record};
    size_t read = 0;
    REQUIRE_OK(wherry_queue_read(queue, &record, 1, 600000, &read));
    CHECK(record.user_key == key);
    CHECK(wherry_event_user_key(record.event) == key);
    CHECK(record.user_data == NULL);
    wherry_status status = (wherry_status)record.status;
    CHECK_OK(wherry_queue_release(queue, &record, 1));
    if (record.kind != WHERRY_EVENT_DONE) continue;
    CHECK_STATUS(status, expected);
    return count;
  }
}

static void sends(wherry_client *client, wherry_queue *queue, wherry_request *request,
                  uint64_t key) {
  send_request(client, request, queue, NULL);
  events_with(queue, key, WHERRY_OK);
}

TEST("R27 every event and list row of a request has its integer, up to 64 bits") {
  static const uint64_t keys[] = {0, 1, INT64_MAX, UINT64_MAX};
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    wherry_request *request = keyed(server_url("/faulty-echo?gate=%zu", i), keys[i]);
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_WANT_HEADERS, 1));
    send_request(client, request, queue, NULL);
    CHECK_OK(wherry_request_set_user_key(request, 99)); /* the transfer has a copy */
    wherry_list *list = NULL;
    wherry_transfer_row row = {.size = sizeof row};
    REQUIRE_OK(wherry_client_list(client, WHERRY_MATCH_ALL, NULL, &list));
    keep_list(list);
    CHECK_OK(wherry_list_transfer(list, 0, &row));
    CHECK(row.user_key == keys[i]);
    server_open(check_format("%zu", i));
    CHECK(events_with(queue, keys[i], WHERRY_OK) > 1);
  }
}

TEST("R27 a copy of a request has its integer, and 0 removes it") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = keyed(server_url("/text/a"), 7), *copy = NULL;
  REQUIRE_OK(wherry_request_copy(request, &copy));
  CHECK_OK(wherry_request_set_user_key(request, 0));
  sends(client, queue, copy, 7);
  sends(client, queue, request, 0);
  REQUIRE_OK(wherry_client_send_url(client, copy, server_url("/text/b"), queue, NULL, NULL));
  events_with(queue, 7, WHERRY_OK);
  CHECK_OK(wherry_request_free(copy));
}

TEST("R27 redirects, failures, and downloads keep the integer") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  sends(client, queue, keyed(server_url("/redirect/2"), 8), 8);
  send_request(client, keyed(server_url("/status/404"), 9), queue, NULL);
  events_with(queue, 9, WHERRY_E_HTTP);
  wherry_request *file = keyed(server_url("/bytes/1000"), 10);
  REQUIRE_OK(wherry_client_download(client, file, check_path("file"), queue, NULL, NULL));
  events_with(queue, 10, WHERRY_OK);
}

TEST("R27 stubs, retries, their hooks, and cache hits keep the integer") {
  wherry_stub *stub = new_stub();
  wherry_client *client = new_cached_stub_client(stub);
  wherry_queue *queue = new_queue();
  const char *url = "http://h.invalid/a";
  CHECK_OK(wherry_stub_add_failure(stub, NULL, url, 1, "connection_reset", 0));
  CHECK_OK(
      wherry_stub_add_response(stub, NULL, url, 1, 200, "Cache-Control: max-age=60\n", "a", 1));
  wherry_request *request = keyed(url, 11);
  CHECK_OK(wherry_request_set_hooks(request, WHERRY_HOOK_RETRY));
  send_request(client, request, queue, NULL);
  wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK(wherry_event_user_key(event) == 11);
  CHECK_OK(wherry_event_resolve_retry(event, true, 0));
  CHECK_OK(wherry_event_free(event));
  events_with(queue, 11, WHERRY_OK);
  sends(client, queue, keyed(url, 12), 12); /* the stub has no second response */
}

TEST("R27 requests that share a response keep their own integers") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  for (uint64_t key = 1; key <= 3; key++) {
    wherry_request *request = keyed(server_url("/text/a?gate=g"), key);
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_COALESCE, 1));
    send_request(client, request, queue, NULL);
  }
  server_open("g");
  uint64_t seen = 0;
  for (int i = 0; i < 3; i++) {
    wherry_event *event = next_event(queue, WHERRY_EVENT_DONE);
    seen |= UINT64_C(1) << wherry_event_user_key(event);
    CHECK_OK(wherry_event_free(event));
  }
  CHECK_INT(seen, 2 + 4 + 8);
  CHECK_INT(server_count("requests"), 1);
}

TEST("R27 members of a group have their own integers, and the group has its own") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_group *group = NULL;
  REQUIRE_OK(wherry_group_new(WHERRY_GROUP_CHAIN, &group));
  CHECK_OK(wherry_group_set_user_key(group, 30));
  CHECK_OK(wherry_group_add(group, keyed(server_url("/text/a"), 31), NULL));
  CHECK_OK(wherry_group_add(group, keyed(server_url("/text/b"), 32), NULL));
  REQUIRE_OK(wherry_client_send_group(client, group, queue, NULL, NULL));
  CHECK_FAILS(wherry_group_set_user_key(group, 1), WHERRY_E_STATE, "already_started");
  for (uint64_t expected = 31, key = 0; key != 30;) {
    wherry_event *event = next_event(queue, WHERRY_EVENT_DONE);
    key = wherry_event_user_key(event);
    if (key == 30) CHECK_INT(expected, 33);
    else CHECK_INT(key, expected++);
    CHECK_OK(wherry_event_free(event));
  }
  CHECK_OK(wherry_group_free(group));
}

/* Go passes no user data, so it needs both: integers for transfers, and a wake without one. */
TEST("R27 waking a reader gives an event without an integer") {
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_queue_wake(queue, NULL));
  wherry_event *event = next_event(queue, WHERRY_EVENT_NONE);
  CHECK_INT(wherry_event_user_key(event), 0);
  CHECK_OK(wherry_event_free(event));
}

TEST("R27 a program with a shorter record gets no integer, and nothing is written past it") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_record record = {.size = offsetof(wherry_record, user_key), .user_key = 5};
  size_t read = 0;
  send_request(client, keyed(server_url("/text/a"), 40), queue, NULL);
  REQUIRE_OK(wherry_queue_read(queue, &record, 1, 600000, &read));
  CHECK_INT(record.user_key, 5);
  CHECK(wherry_event_user_key(record.event) == 40);
  CHECK_OK(wherry_queue_release(queue, &record, 1));
}
