/* Wherry: row R39 of features.md, from C: a client without a network
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "fixture.h"

TEST("R39 a stub responds, counts, and records its requests") {
  wherry_stub *stub = new_stub();
  wherry_client *client = new_stub_client(stub);
  CHECK_OK(wherry_stub_add_response(stub, "GET", "http://nowhere.invalid/a", 1, 200,
                                    "Content-Type: application/json\nX-A: 1\n", "{\"n\":1}", 7));
  CHECK_OK(
      wherry_stub_add_response(stub, NULL, "http://nowhere.invalid/*", -1, 404, NULL, "no", 2));

  outcome got = perform(client, new_request("GET", "http://nowhere.invalid/a"));
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(got.body, "{\"n\":1}");
  CHECK_HOLDS(got.head, "X-A: 1\n");
  got = perform(client, new_request("GET", "http://nowhere.invalid/a"));
  CHECK_STATUS(got.status, WHERRY_E_HTTP);
  CHECK_INT(got.http_code, 404);
  wherry_request *post = new_request("POST", "http://nowhere.invalid/b");
  CHECK_OK(wherry_request_set_header(post, "X-B", "2"));
  CHECK_OK(wherry_request_set_body(post, "hello", 5, "text/plain"));
  got = send_and_wait(client, post);
  CHECK_TEXT(got.body, "no");
  got = perform(client, new_request("GET", "http://other.invalid/"));
  CHECK_STATUS(got.status, WHERRY_E_NETWORK);
  CHECK_TEXT(got.reason, "connect");

  CHECK_INT(wherry_stub_request_count(stub), 4);
  wherry_response *echo = NULL;
  size_t count = 0;
  REQUIRE_OK(wherry_stub_copy_request(stub, 2, &echo));
  CHECK_TEXT(wherry_response_url(echo), "http://nowhere.invalid/b");
  CHECK_TEXT(wherry_response_header(echo, "x-b"), "2");
  const uint8_t *bytes = wherry_response_body(echo, &count);
  CHECK_BYTES(bytes, count, "hello", 5);
  CHECK_OK(wherry_response_free(echo));
  CHECK_STATUS(wherry_stub_copy_request(stub, 4, &echo), WHERRY_E_ARGUMENT);
}

TEST("R39 a stub refuses lines that are no headers") {
  wherry_stub *stub = NULL;
  REQUIRE_OK(wherry_stub_new(&stub));
  const char *bad[] = {"no colon", "A: 1\nno colon\n", ": no name", "A b: 1", "A: 1\x01"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK_FAILS(wherry_stub_add_response(stub, NULL, "*", -1, 200, bad[i], "", 0),
                WHERRY_E_ARGUMENT, "bad_header");
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, "A: 1\r\nB:\n\n", "", 0));
  CHECK_OK(wherry_stub_free(stub));
}

TEST("R39 a stub fails as configured, also in the middle of a body") {
  wherry_stub *stub = new_stub();
  wherry_client *client = new_stub_client(stub);
  CHECK_OK(wherry_stub_add_failure(stub, NULL, "http://h.invalid/resolve", -1, "resolve", 0));
  CHECK_OK(wherry_stub_add_failure(stub, NULL, "http://h.invalid/cut", -1, "truncated", 100));
  outcome got = perform(client, new_request("GET", "http://h.invalid/resolve"));
  CHECK_STATUS(got.status, WHERRY_E_NETWORK);
  CHECK_TEXT(got.reason, "resolve");
  got = perform(client, new_request("GET", "http://h.invalid/cut"));
  CHECK_STATUS(got.status, WHERRY_E_NETWORK);
  CHECK_TEXT(got.reason, "truncated");
  CHECK_STATUS(wherry_stub_add_failure(stub, NULL, "*", -1, "no such word", 0), WHERRY_E_ARGUMENT);
}

TEST("R39 a test moves the stub's clock: an hour passes at once") {
  wherry_stub *stub = new_stub();
  wherry_client *client = new_stub_client(stub);
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_stub_advance_ms(stub, 0));
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, NULL, "late", 4));
  CHECK_OK(wherry_stub_set_delay_ms(stub, 3600000));
  wherry_request *request = new_request("GET", "http://h.invalid/");
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_FIRST_BYTE_TIMEOUT_MS, 0));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_IDLE_TIMEOUT_MS, 0));
  wherry_transfer *patient = send_request(client, request, queue, NULL);
  CHECK_OK(wherry_stub_advance_ms(stub, 3599999));
  CHECK(queue_is_empty(queue));
  CHECK_OK(wherry_stub_advance_ms(stub, 1));
  CHECK_STATUS(done_of(queue, patient).status, WHERRY_OK);

  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_TOTAL_TIMEOUT_MS, 60000));
  wherry_transfer *hasty = send_request(client, request, queue, NULL);
  CHECK_OK(wherry_stub_advance_ms(stub, 60000));
  outcome got = done_of(queue, hasty);
  CHECK_STATUS(got.status, WHERRY_E_TIMEOUT);
  CHECK_TEXT(got.reason, "total_timeout");
}

TEST("R39 a program responds to the requests of a stub, with their complete bodies") {
  wherry_stub *stub = new_stub();
  wherry_client *client = new_stub_client(stub);
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_stub_add_hook(stub, NULL, "https://*.example.org/*", -1));
  CHECK_FAILS(wherry_stub_set_delay_ms(stub, 5), WHERRY_E_STATE, "wrong_state");
  wherry_request *request = new_request("POST", "https://api.example.org/notes");
  CHECK_OK(wherry_request_set_body(request, "hello", 5, "text/plain"));
  send_request(client, request, queue, NULL);
  wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK_INT(wherry_event_detail(event), WHERRY_HOOK_RESPOND);
  const wherry_response *asked = wherry_event_response(event);
  CHECK_TEXT(wherry_response_url(asked), "https://api.example.org/notes");
  CHECK_TEXT(wherry_response_header(asked, ":method"), "POST");
  CHECK_TEXT(wherry_response_header(asked, "host"), "api.example.org");
  size_t count = 0;
  const uint8_t *bytes = wherry_response_body(asked, &count);
  CHECK_BYTES(bytes, count, "hello", 5);
  CHECK_STATUS(wherry_event_resolve_adapt(event, true), WHERRY_E_ARGUMENT);
  CHECK_STATUS(wherry_event_resolve_response(event, 100, NULL, NULL, 0), WHERRY_E_ARGUMENT);
  CHECK_OK(wherry_event_resolve_response(event, 201, "X-A: 1\n", "made", 4));
  CHECK_STATUS(wherry_event_resolve_response(event, 200, NULL, NULL, 0), WHERRY_E_STATE);
  CHECK_OK(wherry_event_free(event));
  outcome got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_INT(got.http_code, 201);
  CHECK_TEXT(got.body, "made");
  CHECK_HOLDS(got.head, "X-A: 1\n");
  CHECK_INT(wherry_stub_request_count(stub), 0);
}

TEST("R39 a program fails, refuses, or ignores a request of a stub") {
  wherry_stub *stub = new_stub();
  wherry_client *client = new_stub_client(stub);
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_stub_add_hook(stub, NULL, "*", -1));
  wherry_request *request = new_request("GET", "http://h.invalid/");
  send_request(client, request, queue, NULL);
  wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK_STATUS(wherry_event_resolve_failure(event, "no such word", NULL), WHERRY_E_ARGUMENT);
  CHECK_OK(wherry_event_resolve_failure(event, "resolve", "No such host here"));
  CHECK_OK(wherry_event_free(event));
  outcome got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_E_NETWORK);
  CHECK_TEXT(got.reason, "resolve");
  CHECK_TEXT(got.message, "No such host here");

  send_request(client, request, queue, NULL);
  event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK_OK(wherry_event_resolve_refuse(event, "not today"));
  CHECK_OK(wherry_event_free(event));
  got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_E_CANCELLED);
  CHECK_TEXT(got.reason, "refused");
  CHECK_TEXT(got.message, "not today");

  send_request(client, request, queue, NULL);
  CHECK_OK(wherry_event_free(next_event(queue, WHERRY_EVENT_HOOK)));
  got = next_done(queue);
  CHECK_TEXT(got.reason, "connect");
  /* A blocking call reads no events. */
  CHECK_TEXT(perform(client, request).reason, "connect");
}

TEST("R39 a program responds to downloads, and to every attempt of a retry") {
  wherry_stub *stub = new_stub();
  wherry_client *client = new_stub_client(stub);
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_stub_add_hook(stub, "GET", "http://h.invalid/*", -1));
  CHECK_OK(wherry_stub_advance_ms(stub, 0));
  wherry_request *request = new_request("GET", "http://h.invalid/file");
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_FIRST_BYTE_TIMEOUT_MS, 0));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_IDLE_TIMEOUT_MS, 0));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_STALL_BYTES_PER_SECOND, 0));
  const char *path = check_path("answered");
  wherry_transfer *transfer = NULL;
  REQUIRE_OK(wherry_client_download(client, request, path, queue, NULL, &transfer));
  keep_transfer(transfer);
  wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK_OK(wherry_event_resolve_failure(event, "connection_reset", NULL));
  CHECK_OK(wherry_event_free(event));
  event = NULL;
  while (event == NULL) {
    CHECK_OK(wherry_stub_advance_ms(stub, 60000));
    wherry_status status = wherry_queue_next(queue, 10, &event);
    if (status == WHERRY_OK && wherry_event_get_kind(event) != WHERRY_EVENT_HOOK) {
      REQUIRE(wherry_event_get_kind(event) != WHERRY_EVENT_DONE);
      CHECK_OK(wherry_event_free(event));
      event = NULL;
    }
  }
  CHECK_OK(wherry_event_resolve_response(event, 200, NULL, "content", 7));
  CHECK_OK(wherry_event_free(event));
  outcome got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_OK);
  long count = 0;
  char *content = check_read_file(path, &count);
  REQUIRE_INT(count, 7);
  CHECK_TEXT(content, "content");
}
