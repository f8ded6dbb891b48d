/* Wherry: row L13 of features.md, from C: an activity indicator. The test moves the
 * clock: when wherry_stub_advance_ms returns, everything due has happened.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "fixture.h"

/* The next event of the queue is ACTIVITY with this detail, and belongs to no transfer. */
static void check_activity(wherry_queue *queue, int64_t detail) {
  wherry_event *event = NULL;
  REQUIRE_OK(wherry_queue_next(queue, 0, &event));
  CHECK_INT(wherry_event_get_kind(event), WHERRY_EVENT_ACTIVITY);
  CHECK_INT(wherry_event_detail(event), detail);
  CHECK_INT(wherry_event_transfer_id(event), 0);
  CHECK(wherry_event_user_data(event) == queue);
  CHECK_OK(wherry_event_free(event));
}

static wherry_stub *stub;
static wherry_client *client;
static wherry_queue *queue, *news;

/* A client with a request whose response takes this long, and a queue for the changes. */
static void start_request(int delay_ms) {
  stub = new_stub();
  client = new_stub_client(stub);
  queue = new_queue(), news = new_queue();
  CHECK_OK(wherry_stub_advance_ms(stub, 0));
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, NULL, "late", 4));
  CHECK_OK(wherry_stub_set_delay_ms(stub, delay_ms));
  (void)send_request(client, new_request("GET", "http://h.invalid/"), queue, NULL);
}

TEST("L13 the indicator shows after a second and hides 0.17 s after the last request") {
  stub = new_stub();
  client = new_stub_client(stub);
  queue = new_queue(), news = new_queue();
  CHECK_OK(wherry_stub_advance_ms(stub, 0));
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, NULL, "late", 4));
  CHECK_OK(wherry_stub_set_delay_ms(stub, 3000));
  CHECK_OK(wherry_client_set_activity(client, news, 1000, 170, news));
  for (int i = 0; i < 3; i++)
    (void)send_request(client, new_request("GET", "http://h.invalid/"), queue, NULL);
  CHECK_OK(wherry_stub_advance_ms(stub, 999));
  CHECK(queue_is_empty(news));
  CHECK_OK(wherry_stub_advance_ms(stub, 1));
  check_activity(news, 3);
  CHECK_OK(wherry_stub_advance_ms(stub, 2000));
  for (int i = 0; i < 3; i++) CHECK_OK(next_done(queue).status);
  CHECK_OK(wherry_stub_advance_ms(stub, 169));
  CHECK(queue_is_empty(news));
  CHECK_OK(wherry_stub_advance_ms(stub, 1));
  check_activity(news, 0);
  CHECK(queue_is_empty(news));
}

TEST("L13 a request that ended before a reader listens is not counted") {
  start_request(100);
  CHECK_OK(wherry_client_set_activity(client, news, 10, 0, news));
  CHECK_OK(wherry_queue_free(news));
  /* The indicator would show here, but its reader is gone; then the request ends. */
  CHECK_OK(wherry_stub_advance_ms(stub, 10));
  CHECK_OK(wherry_stub_advance_ms(stub, 90));
  CHECK_OK(next_done(queue).status);
  news = new_queue();
  CHECK_OK(wherry_client_set_activity(client, news, 10, 0, news));
  CHECK_OK(wherry_stub_advance_ms(stub, 1000));
  CHECK(queue_is_empty(news));
}

TEST("L13 a NULL queue, a freed queue, and a closed client end the indicator and hide it") {
  start_request(60000);
  CHECK_OK(wherry_client_set_activity(client, news, 0, 0, news));
  CHECK_OK(wherry_stub_advance_ms(stub, 0));
  check_activity(news, 1);
  CHECK_OK(wherry_client_set_activity(client, NULL, 0, 0, NULL));
  CHECK_OK(wherry_client_set_activity(client, news, 10, 0, news));
  CHECK_OK(wherry_queue_free(news));
  CHECK_OK(wherry_stub_advance_ms(stub, 10));
  news = new_queue();
  CHECK_OK(wherry_client_set_activity(client, news, 10, 0, news));
  CHECK_OK(wherry_stub_advance_ms(stub, 10));
  check_activity(news, 1);
  CHECK_FAILS(wherry_client_set_activity(client, news, -1, 0, NULL), WHERRY_E_ARGUMENT,
              "bad_value");
  CHECK_OK(wherry_client_free(client));
  check_activity(news, 0);
}
