/* Wherry: rows R9, R22 of features.md, from C: bodies written while they are sent
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

/* Writes `count` bytes of 'x' on demand, then finishes. Returns the DONE. */
static outcome write_body(wherry_queue *queue, wherry_transfer *transfer, size_t count) {
  static char bytes[1 << 20];
  memset(bytes, 'x', sizeof bytes);
  size_t written = 0;
  while (written < count) {
    wherry_event *event = next_event(queue, WHERRY_EVENT_WANT_BODY);
    int64_t room = wherry_event_detail(event);
    CHECK(room > 0);
    CHECK_OK(wherry_event_free(event));
    for (;;) {
      size_t taken = 0, left = count - written;
      wherry_status status =
          left == 0 ? WHERRY_E_BUSY
                    : wherry_transfer_write(transfer, bytes,
                                            left < sizeof bytes ? left : sizeof bytes, &taken);
      if (status == WHERRY_E_BUSY) break;
      REQUIRE_OK(status);
      CHECK(taken > 0 && taken <= left);
      written += taken;
    }
  }
  CHECK_OK(wherry_transfer_finish(transfer));
  return next_done(queue);
}

static wherry_transfer *start_stream(wherry_queue *queue, int64_t count) {
  wherry_request *request = new_request("PUT", server_url("/sink"));
  CHECK_OK(wherry_request_set_body_stream(request, count, "application/x-test"));
  return send_request(new_client(NULL), request, queue, NULL);
}

TEST("R9 a body is written while it is sent, with and without a known length") {
  enum { COUNT = 3000000 };
  for (int chunked = 0; chunked < 2; chunked++) {
    wherry_queue *queue = new_queue();
    wherry_transfer *transfer = start_stream(queue, chunked ? -1 : COUNT);
    outcome got = write_body(queue, transfer, COUNT);
    CHECK_STATUS(got.status, WHERRY_OK);
    CHECK_HOLDS(got.body, check_format("\"bytes\": %d", COUNT));
    size_t taken = 0;
    CHECK_FAILS(wherry_transfer_write(transfer, "x", 1, &taken), WHERRY_E_STATE, "wrong_state");
    if (chunked) CHECK_FAILS(wherry_transfer_finish(transfer), WHERRY_E_STATE, "wrong_state");
  }
}

/* It was wrong_state then, so a fast server caused random failures. */
TEST("R9 a body may be finished before, during, and after the response") {
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("PUT", server_url("/sink?gate=go"));
  CHECK_OK(wherry_request_set_body_stream(request, 3, NULL));
  wherry_transfer *transfer = send_request(new_client(NULL), request, queue, NULL);
  CHECK_OK(wherry_event_free(next_event(queue, WHERRY_EVENT_WANT_BODY)));
  size_t taken = 0;
  CHECK_OK(wherry_transfer_write(transfer, "abc", 3, &taken));
  CHECK_INT(taken, 3);
  REQUIRE(server_wait("requests=1"));
  CHECK_OK(wherry_transfer_finish(transfer));
  server_open("go");
  outcome got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_HOLDS(got.body, "\"bytes\": 3");
  CHECK_OK(wherry_transfer_finish(transfer));

  /* The body was not finished before the end. */
  request = new_request("PUT", server_url("/sink"));
  CHECK_OK(wherry_request_set_body_stream(request, 3, NULL));
  transfer = send_request(new_client(NULL), request, queue, NULL);
  CHECK_OK(wherry_event_free(next_event(queue, WHERRY_EVENT_WANT_BODY)));
  CHECK_OK(wherry_transfer_write(transfer, "abc", 3, &taken));
  CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  CHECK_OK(wherry_transfer_finish(transfer));
}

TEST("R9 an empty written body is finished without a byte") {
  wherry_queue *queue = new_queue();
  wherry_transfer *transfer = start_stream(queue, -1);
  outcome got = write_body(queue, transfer, 0);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_HOLDS(got.body, "\"bytes\": 0");
}

TEST("R9 fewer bytes than announced fail the transfer, and more are refused") {
  wherry_queue *queue = new_queue();
  wherry_transfer *transfer = start_stream(queue, 100);
  size_t taken = 0;
  char bytes[200] = {0};
  wherry_event *event = next_event(queue, WHERRY_EVENT_WANT_BODY);
  CHECK_INT(wherry_event_detail(event), 100);
  CHECK_OK(wherry_event_free(event));
  CHECK_FAILS(wherry_transfer_write(transfer, bytes, 200, &taken), WHERRY_E_STATE, "wrong_state");
  CHECK_HOLDS(wherry_error_message(wherry_last_error()),
              "at least 200 bytes, but 100 were announced");
  CHECK_OK(wherry_transfer_write(transfer, bytes, 60, &taken));
  CHECK_INT(taken, 60);
  CHECK_OK(wherry_transfer_finish(transfer));
  outcome got = done_of(queue, transfer);
  CHECK_STATUS(got.status, WHERRY_E_NETWORK);
  CHECK_TEXT(got.reason, "truncated");
  CHECK_HOLDS(got.message, "after 60 of the 100 bytes announced");
}

TEST("R9 a streamed body needs a queue, and only it can be written") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("PUT", server_url("/sink"));
  wherry_response *response = NULL;
  size_t taken = 0;
  CHECK_OK(wherry_request_set_body_stream(request, 3, NULL));
  CHECK_FAILS(wherry_client_perform(client, request, &response), WHERRY_E_STATE, "needs_queue");
  wherry_transfer *plain =
      send_request(client, new_request("GET", server_url("/delay/50")), queue, NULL);
  CHECK_FAILS(wherry_transfer_write(plain, "abc", 3, &taken), WHERRY_E_STATE, "wrong_state");
  CHECK_STATUS(done_of(queue, plain).status, WHERRY_OK);
}

TEST("R9 a streamed upload that waits for its writer can be cancelled") {
  wherry_queue *queue = new_queue();
  wherry_transfer *transfer = start_stream(queue, 1000);
  CHECK_OK(wherry_event_free(next_event(queue, WHERRY_EVENT_WANT_BODY)));
  CHECK_OK(wherry_transfer_cancel(transfer));
  CHECK_STATUS(done_of(queue, transfer).status, WHERRY_E_CANCELLED);
}

TEST("R22 freeing a client during streams leaves events that can still be read") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("GET", server_url("/bytes/50000000"));
  CHECK_OK(wherry_request_set_streamed(request, true));
  send_request(client, request, queue, NULL);
  wherry_event *piece = next_event(queue, WHERRY_EVENT_BODY);
  CHECK_OK(wherry_client_free(client));
  size_t count = 0;
  const void *bytes = wherry_event_body(piece, &count);
  CHECK(count > 0 && is_pattern(bytes, count, 0));
  CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
  CHECK_OK(wherry_event_free(piece));
}
