/* Wherry: rows R29, R31 and R32 of features.md, from C: retries
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

TEST("R29 requests are retried after transient failures up to the requested number") {
  wherry_stub *stub = new_stub();
  wherry_client *client = new_stub_client(stub);
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_stub_advance_ms(stub, 0));
  CHECK_OK(wherry_stub_add_response(stub, NULL, "http://h.invalid/a", 2, 503, NULL, "no", 2));
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, NULL, "ok", 2));
  wherry_request *request = new_request("GET", "http://h.invalid/a");
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_MAX_RETRIES, 2));
  send_request(client, request, queue, NULL);
  for (int64_t bound = 500; bound <= 1000; bound *= 2) {
    wherry_event *event = next_event(queue, WHERRY_EVENT_STATE);
    CHECK_INT(wherry_event_detail(event), WHERRY_STATE_WAITING);
    CHECK_STATUS(wherry_event_status(event), WHERRY_E_HTTP);
    CHECK_OK(wherry_event_free(event));
    CHECK_OK(wherry_stub_advance_ms(stub, bound));
  }
  outcome got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(got.body, "ok");
  CHECK_INT(wherry_stub_request_count(stub), 3);
}

TEST("R29 a POST is not retried after a kept connection drops") {
  wherry_client *client = new_client(NULL);
  server_script(
      "{\"kept\": [{\"json\": {}}, {\"raw\": [[\"read_body\"], [\"fin\"]]}, {\"json\": {}},"
      "{\"raw\": [[\"read_body\"], [\"fin\"]]}, {\"json\": {}}]}");
  const char *url = server_url("/s/kept");
  CHECK_STATUS(perform(client, new_request("GET", url)).status, WHERRY_OK);
  wherry_request *request = new_request("POST", url);
  CHECK_OK(wherry_request_set_body(request, "amount=1", 8, NULL));
  outcome got = perform(client, request);
  CHECK_STATUS(got.status, WHERRY_E_NETWORK);
  CHECK_TEXT(got.reason, "connection_reset");
  CHECK_INT(server_count("requests"), 2);
  CHECK_STATUS(perform(client, request).status, WHERRY_OK);
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_RETRY_UNSAFE_METHODS, 1));
  CHECK_STATUS(perform(client, request).status, WHERRY_OK);
  CHECK_INT(server_count("requests"), 5);
}

TEST("R29 nothing is retried by default, and POST never automatically") {
  wherry_stub *stub = new_stub();
  wherry_client *client = new_stub_client(stub);
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 503, NULL, "no", 2));
  CHECK_INT(perform(client, new_request("GET", "http://h.invalid/")).http_code, 503);
  CHECK_OK(wherry_client_set_option(client, WHERRY_OPTION_MAX_RETRIES, 3));
  CHECK_INT(perform(client, new_request("POST", "http://h.invalid/")).http_code, 503);
  CHECK_INT(wherry_stub_request_count(stub), 2);
  CHECK_FAILS(wherry_client_set_option(client, WHERRY_OPTION_MAX_RETRIES, -2), WHERRY_E_ARGUMENT,
              "bad_value");
  CHECK_FAILS(wherry_client_set_option(client, WHERRY_OPTION_RETRY_UNSAFE_METHODS, 2),
              WHERRY_E_ARGUMENT, "bad_value");
}

TEST("R31 a decision event chooses whether a failure is final") {
  wherry_stub *stub = new_stub();
  wherry_client *client = new_stub_client(stub);
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 404, NULL, "none", 4));
  wherry_request *request = new_request("POST", "http://h.invalid/");
  CHECK_OK(wherry_request_set_hooks(request, WHERRY_HOOK_RETRY));
  send_request(client, request, queue, NULL);
  for (int again = 1; again >= 0; again--) {
    wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
    CHECK_INT(wherry_event_detail(event), WHERRY_HOOK_RETRY);
    CHECK_INT(wherry_error_http_code(wherry_event_error(event)), 404);
    CHECK_INT(wherry_response_http_code(wherry_event_response(event)), 404);
    CHECK_FAILS(wherry_event_resolve_retry(event, true, -2), WHERRY_E_ARGUMENT, "bad_value");
    CHECK_FAILS(wherry_event_resolve_token(event, "x"), WHERRY_E_ARGUMENT, "bad_argument");
    CHECK_OK(wherry_event_resolve_retry(event, again == 1, 0));
    CHECK_OK(wherry_event_free(event));
  }
  outcome got = next_done(queue);
  CHECK_INT(got.http_code, 404);
  CHECK_TEXT(got.body, "none");
  CHECK_INT(wherry_stub_request_count(stub), 2);
}

TEST("R32 fifty requests with a 401 share one token refresh, and all are retried") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  /* The server accepts only its newest token. */
  outcome got = perform(client, new_request("POST", server_url("/token")));
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_OK(wherry_client_set_text(client, WHERRY_TEXT_BEARER_TOKEN, "stale"));
  CHECK_OK(wherry_client_set_hooks(client, WHERRY_HOOK_TOKEN));
  for (int i = 0; i < 50; i++)
    send_request(client, new_request("GET", server_url("/protected")), queue, NULL);
  int asked = 0, done = 0;
  while (done < 50) {
    wherry_event *event = NULL;
    REQUIRE_OK(wherry_queue_next(queue, 600000, &event));
    if (wherry_event_get_kind(event) == WHERRY_EVENT_HOOK) {
      CHECK_INT(wherry_event_detail(event), WHERRY_HOOK_TOKEN);
      CHECK_INT(wherry_response_http_code(wherry_event_response(event)), 401);
      CHECK_FAILS(wherry_event_resolve_token(event, "a\r\nb"), WHERRY_E_ARGUMENT, "bad_header");
      CHECK_OK(wherry_event_resolve_token(event, "token-1"));
      asked++;
    } else if (wherry_event_get_kind(event) == WHERRY_EVENT_DONE) {
      CHECK_STATUS(wherry_event_status(event), WHERRY_OK);
      done++;
    }
    CHECK_OK(wherry_event_free(event));
  }
  CHECK_INT(asked, 1);
}

/* The retries counted in the response of a record. */
static int32_t retries_of(wherry_queue *queue) {
  wherry_event *event = next_event(queue, WHERRY_EVENT_DONE);
  wherry_metrics metrics = {.size = sizeof metrics};
  CHECK_STATUS(wherry_event_status(event), WHERRY_OK);
  CHECK_OK(wherry_response_metrics(wherry_event_response(event), &metrics));
  CHECK_OK(wherry_event_free(event));
  return metrics.retries;
}

/* Only attempts after a failure and with a new token were counted. */
TEST("R29 every attempt after the first one of a URL is counted, for any reason") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_base(config, "down", "http://127.0.0.1:1/"));
  CHECK_OK(wherry_config_set_base(config, "up", server_url("/echo")));
  wherry_client *client = new_client(config);
  wherry_queue *queue = new_queue();

  wherry_request *request = new_request("GET", server_url("/auth/digest/skye/p"));
  CHECK_OK(wherry_request_set_credentials(request, WHERRY_AUTH_DIGEST, "skye", "p"));
  for (int32_t expected = 1; expected >= 0; expected--) { /* the nonce is known the second time */
    send_request(client, request, queue, NULL);
    CHECK_INT(retries_of(queue), expected);
  }

  request = new_request("GET", "x");
  CHECK_OK(wherry_request_set_base(request, "down,up"));
  send_request(client, request, queue, NULL);
  CHECK_INT(retries_of(queue), 1);

  send_request(client, new_request("GET", server_url("/redirect/2")), queue, NULL);
  CHECK_INT(retries_of(queue), 0);

  CHECK_STATUS(perform(client, new_request("POST", server_url("/token"))).status, WHERRY_OK);
  CHECK_OK(wherry_client_set_text(client, WHERRY_TEXT_BEARER_TOKEN, "stale"));
  request = new_request("GET", server_url("/protected"));
  CHECK_OK(wherry_request_set_hooks(request, WHERRY_HOOK_TOKEN));
  send_request(client, request, queue, NULL);
  wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK_OK(wherry_event_resolve_token(event, "token-1"));
  CHECK_OK(wherry_event_free(event));
  CHECK_INT(retries_of(queue), 1);
}

TEST("R32 without a new token every 401 is final") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_client_set_hooks(client, WHERRY_HOOK_TOKEN));
  send_request(client, new_request("GET", server_url("/protected")), queue, NULL);
  wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK_OK(wherry_event_resolve_token(event, NULL));
  CHECK_OK(wherry_event_free(event));
  CHECK_INT(next_done(queue).http_code, 401);
}

/* The events of one response, as words. */
static const char *told(wherry_queue *queue) {
  char text[256] = "";
  for (;;) {
    wherry_record record = {.size = sizeof record};
    size_t count = 0;
    REQUIRE_OK(wherry_queue_read(queue, &record, 1, 600000, &count));
    const char *word = record.kind == WHERRY_EVENT_HEADERS  ? "head"
                       : record.kind == WHERRY_EVENT_BODY   ? "body"
                       : record.kind == WHERRY_EVENT_CACHED ? "cached"
                                                            : "done";
    if (record.kind == WHERRY_EVENT_HOOK) {
      if (record.detail == WHERRY_HOOK_RETRY)
        CHECK_OK(wherry_event_resolve_retry(record.event, false, -1));
    } else if (record.kind != WHERRY_EVENT_STATE) {
      size_t used = strlen(text);
      snprintf(text + used, sizeof text - used, "%s %d %.*s;", word, record.http_code,
               (int)record.body_count, record.body_count == 0 ? "" : (const char *)record.body);
    }
    CHECK_OK(wherry_queue_release(queue, &record, 1));
    if (record.kind == WHERRY_EVENT_DONE) return check_format("%s", text);
  }
}

/* HEAD events were sent twice or never when retries, hooks, and the cache combined. */
TEST("R29 R20 K15 each response has one HEAD event, that of the final attempt") {
  const char *url = "http://h.invalid/a";
  wherry_stub *stub = new_stub();
  wherry_client *client = new_cached_stub_client(stub);
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_stub_add_response(stub, NULL, url, 1, 200,
                                    "Cache-Control: max-age=0\nETag: \"1\"\n", "stored", 6));
  CHECK_OK(wherry_stub_add_response(stub, NULL, url, 2, 401, "WWW-Authenticate: Basic realm=r\n",
                                    "who", 3));
  CHECK_OK(wherry_stub_add_response(stub, NULL, url, 1, 503, NULL, "no", 2));
  CHECK_OK(wherry_stub_add_response(stub, NULL, url, -1, 304, "ETag: \"1\"\n", NULL, 0));
  const struct {
    uint32_t hooks;
    bool streamed;
    const char *told;
  } cases[] = {
      {WHERRY_HOOK_NONE, false, "head 200 ;done 200 stored;"},
      {WHERRY_HOOK_CREDENTIALS, false, "head 401 ;done 401 who;"},
      {WHERRY_HOOK_CREDENTIALS, true, "head 401 ;body 0 who;done 401 ;"},
      {WHERRY_HOOK_RETRY, true, "head 503 ;body 0 no;done 503 ;"},
      {WHERRY_HOOK_CREDENTIALS, false, "head 200 ;done 200 stored;"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    wherry_request *request = new_request("GET", url);
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_WANT_HEADERS, 1));
    CHECK_OK(wherry_request_set_streamed(request, cases[i].streamed));
    CHECK_OK(wherry_request_set_hooks(request, cases[i].hooks));
    send_request(client, request, queue, NULL);
    CHECK_TEXT(told(queue), cases[i].told);
  }
  CHECK_INT(wherry_stub_request_count(stub), 5);
}
