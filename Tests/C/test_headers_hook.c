/* Wherry: row R21 of features.md, from C: the decision on response headers
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

static wherry_client *client;
static wherry_queue *queue;

/* Sends and reads up to the decision on the headers, which the test frees. */
static wherry_event *ask(wherry_request *request, wherry_transfer **out_transfer) {
  queue = new_queue();
  CHECK_OK(wherry_request_set_hooks(request, WHERRY_HOOK_HEADERS));
  wherry_transfer *transfer = send_request(client, request, queue, NULL);
  if (out_transfer != NULL) *out_transfer = transfer;
  wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK_INT(wherry_event_detail(event), WHERRY_HOOK_HEADERS);
  return event;
}

static wherry_event *ask_about(const char *url) { return ask(new_request("GET", url), NULL); }

TEST("R21 the decision on the headers turns a request into a file") {
  client = new_client(NULL);
  wherry_event *event = ask_about(server_url("/bytes/1000003"));
  const wherry_response *response = wherry_event_response(event);
  CHECK_INT(wherry_response_http_code(response), 200);
  CHECK_TEXT(wherry_response_header(response, "Content-Length"), "1000003");
  size_t count = 1;
  wherry_response_body(response, &count);
  CHECK_INT(count, 0);
  const char *path = check_path("file.bin");
  CHECK_OK(wherry_event_resolve_save(event, path));
  CHECK_FAILS(wherry_event_resolve_save(event, check_path("other")), WHERRY_E_STATE, "resolved");
  CHECK_OK(wherry_event_free(event));
  outcome got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_INT(got.count, 0);
  CHECK_TEXT(got.text, path);
  long size;
  const char *bytes = check_read_file(path, &size);
  CHECK_INT(size, 1000003);
  CHECK(is_pattern(bytes, (size_t)size, 0));
  CHECK_INT(check_entries(check_path(".")), 1);
}

TEST("R21 a response continues, or ends with its headers, as decided") {
  client = new_client(NULL);
  for (int proceed = 0; proceed < 2; proceed++) {
    wherry_event *event = ask_about(server_url("/bytes/100000"));
    CHECK_FAILS(wherry_event_resolve_redirect(event, true), WHERRY_E_ARGUMENT, "bad_argument");
    CHECK_OK(wherry_event_resolve_headers(event, proceed == 1));
    CHECK_OK(wherry_event_free(event));
    outcome got = next_done(queue);
    CHECK_STATUS(got.status, proceed ? WHERRY_OK : WHERRY_E_CANCELLED);
    CHECK_TEXT(got.reason, proceed ? "" : "refused");
    CHECK_INT(got.http_code, 200);
    CHECK_INT(got.count, proceed ? 100000 : 0);
    CHECK(got.text == NULL);
  }
}

TEST("R21 an invalid target is refused at once, and the decision stays open") {
  client = new_client(NULL);
  const char *path = check_path("taken");
  check_write_file(path, "old", 3);
  wherry_event *event = ask_about(server_url("/bytes/10"));
  CHECK_FAILS(wherry_event_resolve_save(event, NULL), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_FAILS(wherry_event_resolve_save(event, ""), WHERRY_E_ARGUMENT, "bad_path");
  CHECK_FAILS(wherry_event_resolve_save(event, path), WHERRY_E_FILE, "exists");
  CHECK_FAILS(wherry_event_resolve_save(event, check_path("no/such")), WHERRY_E_FILE, "no_file");
  CHECK_OK(wherry_event_resolve_save(event, check_path("free")));
  CHECK_OK(wherry_event_free(event));
  CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  long size;
  CHECK_TEXT(check_read_file(path, &size), "old");

  wherry_request *request = new_request("GET", server_url("/bytes/10"));
  REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_TARGET_EXISTS, 1));
  event = ask(request, NULL);
  CHECK_OK(wherry_event_resolve_save(event, path));
  CHECK_OK(wherry_event_free(event));
  CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  check_read_file(path, &size);
  CHECK_INT(size, 10);
  CHECK_INT(check_entries(check_path(".")), 2);
}

TEST("R21 HEAD and BODY follow the decision, and a saved stream has no BODY") {
  client = new_client(NULL);
  for (int saves = 0; saves < 2; saves++) {
    wherry_request *request = new_request("GET", server_url("/bytes/300000"));
    REQUIRE_OK(wherry_request_set_streamed(request, true));
    REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_WANT_HEADERS, 1));
    wherry_event *event = ask(request, NULL);
    CHECK(queue_is_empty(queue));
    CHECK_OK(saves ? wherry_event_resolve_save(event, check_path("stream"))
                   : wherry_event_resolve_headers(event, true));
    CHECK_OK(wherry_event_free(event));
    CHECK_OK(wherry_event_free(next_event(queue, WHERRY_EVENT_HEADERS)));
    outcome got = next_done(queue);
    CHECK_STATUS(got.status, WHERRY_OK);
    CHECK(saves ? got.body_count == 0 : got.body_count > 0);
  }
  long size;
  check_read_file(check_path("stream"), &size);
  CHECK_INT(size, 300000);
}

TEST("R21 redirects and retries raise a decision only for the final response") {
  client = new_client(NULL);
  wherry_request *request =
      new_request("GET", server_url("/status/302?location=%s",
                                    server_url("/bytes/10?status_first=503&status_times=1")));
  REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_MAX_RETRIES, 2));
  wherry_event *event = ask(request, NULL);
  CHECK_INT(wherry_response_http_code(wherry_event_response(event)), 200);
  CHECK_OK(wherry_event_resolve_headers(event, true));
  CHECK_OK(wherry_event_free(event));
  CHECK_INT(next_done(queue).count, 10);
}

TEST("R21 an open decision continues after a timeout or a free, and a later one is refused") {
  wherry_stub *stub = new_stub();
  client = new_stub_client(stub);
  CHECK_OK(wherry_stub_advance_ms(stub, 0));
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, NULL, "whole", 5));
  wherry_event *event = ask_about("http://h.invalid/");
  CHECK_OK(wherry_stub_advance_ms(stub, 29999));
  CHECK(queue_is_empty(queue));
  CHECK_OK(wherry_stub_advance_ms(stub, 1));
  CHECK_TEXT(next_done(queue).body, "whole");
  CHECK_FAILS(wherry_event_resolve_headers(event, false), WHERRY_E_STATE, "hook_expired");
  CHECK_FAILS(wherry_event_resolve_save(event, check_path("late")), WHERRY_E_STATE, "hook_expired");
  CHECK_OK(wherry_event_free(event));
  CHECK_OK(wherry_event_free(ask_about("http://h.invalid/")));
  CHECK_TEXT(next_done(queue).body, "whole");
  CHECK_INT(check_entries(check_path(".")), 0);
}

TEST("R21 pausing, cancelling, and closing the client work with an open decision") {
  for (int way = 0; way < 3; way++) {
    client = new_client(NULL);
    wherry_transfer *transfer = NULL;
    wherry_event *event =
        ask(new_request("GET", server_url("/bytes/100?hold=%d&gate=%d", way == 0 ? 0 : 10, way)),
            &transfer);
    if (way == 0) {
      CHECK_OK(wherry_transfer_pause(transfer));
      CHECK_OK(wherry_event_resolve_save(event, check_path("paused")));
      CHECK_OK(wherry_transfer_resume(transfer));
      server_open("0");
      CHECK_STATUS(next_done(queue).status, WHERRY_OK);
    } else {
      if (way == 1) CHECK_OK(wherry_transfer_cancel(transfer));
      if (way == 2) CHECK_OK(wherry_client_free(client));
      CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
      CHECK_FAILS(wherry_event_resolve_headers(event, true), WHERRY_E_STATE, "hook_expired");
    }
    CHECK_OK(wherry_event_free(event));
  }
  CHECK_INT(check_entries(check_path(".")), 1);
}
