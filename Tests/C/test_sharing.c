/* Wherry: row R33 of features.md, from C: equal requests share a response
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "fixture.h"
#include "server.h"

static wherry_request *shared(const char *url) {
  wherry_request *request = new_request("GET", url);
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_COALESCE, 1));
  return request;
}

TEST("R33 twenty callers share one request and get twenty responses, each with its own user data") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue(), *other = new_queue();
  for (uintptr_t i = 0; i < 20; i++)
    send_request(client, shared(server_url("/text/a?gate=g")), i % 2 ? queue : other,
                 (void *)(i + 1));
  REQUIRE(server_wait("requests=1"));
  CHECK_INT(wherry_client_count(client, WHERRY_MATCH_ALL, NULL), 20);

  server_open("g");
  uint32_t seen = 0;
  for (int i = 0; i < 20; i++) {
    outcome got = next_done(i % 2 ? queue : other);
    CHECK_STATUS(got.status, WHERRY_OK);
    CHECK(got.count > 0);
    seen |= 1u << (uintptr_t)got.user_data;
  }

  CHECK_INT(seen, ((1u << 20) - 1) << 1);
  CHECK_INT(server_count("requests"), 1);
  CHECK_STATUS(send_and_wait(client, shared(server_url("/text/a?gate=g"))).status, WHERRY_OK);
  CHECK_INT(server_count("requests"), 2);
}

TEST("R33 cancelling one caller leaves the others, and the last cancel ends the request") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_transfer *transfers[3];
  for (int i = 0; i < 3; i++)
    transfers[i] = send_request(client, shared(server_url("/text/a?gate=g")), queue, NULL);
  REQUIRE(server_wait("requests=1"));
  CHECK_OK(wherry_transfer_cancel(transfers[0]));
  outcome got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_E_CANCELLED);
  CHECK(got.id == wherry_transfer_id(transfers[0]));
  server_open("g");
  for (int i = 0; i < 2; i++) CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  CHECK_INT(server_count("requests"), 1);

  for (int i = 0; i < 3; i++)
    transfers[i] = send_request(client, shared(server_url("/silent")), queue, NULL);
  REQUIRE(server_wait("requests=2"));
  for (int i = 0; i < 3; i++) CHECK_OK(wherry_transfer_cancel(transfers[i]));
  for (int i = 0; i < 3; i++) CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
  CHECK(server_wait("ended=2"));
  CHECK(queue_is_empty(queue));
  CHECK_FAILS(wherry_client_set_option(client, WHERRY_OPTION_COALESCE, 1), WHERRY_E_ARGUMENT,
              "bad_option");
}

TEST("R33 all callers get a failure; queues and clients may end while others share") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue(), *other = new_queue();
  for (int i = 0; i < 4; i++)
    send_request(client, shared(server_url("/status/503?gate=g")), i ? queue : other, NULL);
  REQUIRE(server_wait("requests=1"));
  /* The first caller's queue is freed, and the others are not affected. */
  CHECK_OK(wherry_queue_free(other));
  server_open("g");
  for (int i = 0; i < 3; i++) CHECK_INT(next_done(queue).http_code, 503);
  CHECK_INT(server_count("requests"), 1);

  for (int i = 0; i < 4; i++) send_request(client, shared(server_url("/silent")), queue, NULL);
  REQUIRE(server_wait("requests=2"));
  CHECK_OK(wherry_client_free(client));
  for (int i = 0; i < 4; i++) CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
  CHECK(queue_is_empty(queue));
}
