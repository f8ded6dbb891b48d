/* Wherry: rows R19 and R31 of features.md, from C: decision events
 * SPDX-License-Identifier: Apache-2.0 */
#include <strings.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

static wherry_request *asking(const char *url, uint32_t hooks) {
  wherry_request *request = new_request("GET", url);
  CHECK_OK(wherry_request_set_hooks(request, hooks));
  return request;
}

TEST("R31 a request is edited before it is sent, and edits apply only with the decision") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = asking(server_url("/echo"), WHERRY_HOOK_ADAPT);
  send_request(client, request, queue, NULL);
  wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK_INT(wherry_event_detail(event), WHERRY_HOOK_ADAPT);
  wherry_request *lent = wherry_event_request(event);
  CHECK(lent != NULL && lent == wherry_event_request(event));
  CHECK_OK(wherry_request_set_header(lent, "X-Signature", "abc"));
  CHECK_FAILS(wherry_request_free(lent), WHERRY_E_STATE, "wrong_state");
  CHECK_FAILS(wherry_event_resolve_redirect(event, true), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_OK(wherry_event_resolve_adapt(event, true));
  CHECK_FAILS(wherry_event_resolve_adapt(event, true), WHERRY_E_STATE, "resolved");
  CHECK_OK(wherry_event_free(event));
  CHECK_FAILS(wherry_request_set_url(lent, "/x"), WHERRY_E_ARGUMENT, "bad_handle");
  outcome got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(echoed_header(&got, "X-Signature"), "abc");

  send_request(client, request, queue, NULL);
  event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK_OK(wherry_request_set_header(wherry_event_request(event), "X-Signature", "abc"));
  CHECK_OK(wherry_event_free(event)); /* freed without a decision: sent unchanged */
  got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK(echoed_header(&got, "X-Signature") == NULL);
}

TEST("R31 a signer reads the request: headers, query, parameters, and body") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_client_set_header(client, "X-Client", "1"));
  wherry_request *request = new_request("POST", server_url("/echo?own=1"));
  CHECK_OK(wherry_request_set_hooks(request, WHERRY_HOOK_ADAPT));
  CHECK_OK(wherry_request_set_header(request, "X-Mine", "2"));
  CHECK_OK(wherry_request_set_header(request, "X-Client", NULL));
  CHECK_OK(wherry_request_add_query(request, "page", "a b"));
  CHECK_OK(wherry_request_set_parameter(request, "name", "\"x\""));
  CHECK_OK(wherry_request_set_body(request, "abc\0d", 5, "text/plain"));
  send_request(client, request, queue, NULL);
  wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
  wherry_request *lent = wherry_event_request(event);
  const char *name = NULL, *value = NULL;
  CHECK(wherry_request_header_at(lent, 0, &name, &value));
  CHECK_TEXT(name, "X-Mine");
  CHECK_TEXT(value, "2");
  CHECK(wherry_request_header_at(lent, 1, &name, &value));
  CHECK_TEXT(name, "X-Client");
  CHECK(value == NULL);
  CHECK(wherry_request_header_at(lent, 2, &name, &value));
  CHECK_TEXT(name, "Content-Type");
  CHECK_TEXT(value, "text/plain");
  CHECK(!wherry_request_header_at(lent, 3, &name, &value));
  CHECK(!wherry_request_header_at(lent, SIZE_MAX, NULL, NULL));
  CHECK(wherry_request_query_at(lent, 0, &name, &value));
  CHECK_TEXT(name, "page");
  CHECK_TEXT(value, "a b");
  CHECK(!wherry_request_query_at(lent, 1, &name, &value));
  size_t count = 0;
  CHECK_TEXT(wherry_request_parameters(lent, &count), "{\"name\":\"\\\"x\\\"\"}");
  CHECK_INT(count, strlen("{\"name\":\"\\\"x\\\"\"}"));
  const uint8_t *body = wherry_request_body(lent, &count);
  CHECK(count == 5 && memcmp(body, "abc\0d", 5) == 0);
  /* A borrowed text outlives the edit that replaces it. */
  CHECK_OK(wherry_request_set_json(lent, "[1]", 3));
  CHECK(memcmp(body, "abc\0d", 5) == 0);
  body = wherry_request_body(lent, &count);
  CHECK(count == 3 && memcmp(body, "[1]", 3) == 0);
  CHECK_OK(wherry_request_add_field(lent, "a", "b"));
  body = wherry_request_body(lent, &count);
  CHECK_BYTES(body, count, "name=%22x%22&a=b", 16);
  CHECK_OK(wherry_event_resolve_adapt(event, true));
  CHECK_OK(wherry_event_free(event));
  outcome got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK(echoed_header(&got, "X-Client") == NULL);
  wherry_request *plain = new_request(NULL, "/");
  CHECK_TEXT(wherry_request_parameters(plain, NULL), "{}");
}

static const char *const signed_names[] = {"X-Client", "X-Both", "Content-Type"};

/* The header of that name, or "-". */
static const char *shown_header(const wherry_request *request, const char *wanted) {
  const char *name = NULL, *value = NULL;
  for (size_t i = 0; wherry_request_header_at(request, i, &name, &value); i++)
    if (strcasecmp(name, wanted) == 0 && value != NULL) return check_format("%s", value);
  return "-";
}

/* Signs the request that it receives: the signature is the text itself. */
static void sign(wherry_request *request) {
  size_t count = 0;
  const uint8_t *body = wherry_request_body(request, &count);
  char *text = check_format("%s %s", wherry_request_method(request), wherry_request_url(request));
  for (int i = 0; i < 3; i++)
    text = check_format("%s %s", text, shown_header(request, signed_names[i]));
  text = check_format("%s <%.*s>", text, (int)count, body == NULL ? "" : (const char *)body);
  CHECK_OK(wherry_request_set_header(request, "X-Signature", text));
}

/* ADAPT showed a relative URL, without the headers and parameters of the client. */
TEST("R31 a signer sees the final request: absolute URL, default parameters, client headers") {
  wherry_config *config = new_config();
  const char *host = server_url("%s", "");
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_BASE_URL, host));
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_BEARER_TOKEN, "secret"));
  wherry_client *client = new_client(config);
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_client_set_header(client, "X-Client", "c"));
  CHECK_OK(wherry_client_set_header(client, "X-Both", "client"));
  CHECK_OK(wherry_client_set_header(client, "X-Dropped", "1"));
  CHECK_OK(wherry_client_set_parameter(client, "token", "t"));
  for (int i = 0; i < 4; i++) {
    wherry_request *request = new_request(i == 0 ? "GET" : "POST", "echo?own=1");
    CHECK_OK(wherry_request_set_hooks(request, WHERRY_HOOK_ADAPT));
    CHECK_OK(wherry_request_set_parameter(request, "page", "2"));
    if (i == 0) CHECK_OK(wherry_request_set_header(request, "X-Both", "own"));
    if (i == 2) CHECK_OK(wherry_request_add_field(request, "field", "a b"));
    if (i == 3) CHECK_OK(wherry_request_set_json(request, "[1]", 3));
    send_request(client, request, queue, NULL);
    wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
    wherry_request *lent = wherry_event_request(event);
    CHECK_TEXT(shown_header(lent, "Authorization"), "-");
    CHECK_TEXT(wherry_request_identifier(lent, client),
               check_format("%s", wherry_request_identifier(request, client)));
    sign(lent);
    CHECK_OK(wherry_request_set_header(lent, "X-Dropped", NULL));
    CHECK_OK(wherry_event_resolve_adapt(event, true));
    CHECK_OK(wherry_event_free(event));
    outcome got = next_done(queue);
    REQUIRE_STATUS(got.status, WHERRY_OK);
    /* The server computes the signature again from what it received. */
    const char *target = strstr(echoed(&got, "target"), "/echo");
    char *text = check_format("%s %s%s", echoed(&got, "method"), host, target);
    for (int j = 0; j < 3; j++) {
      const char *value = echoed_header(&got, signed_names[j]);
      text = check_format("%s %s", text, value == NULL ? "-" : value);
    }
    CHECK_TEXT(echoed_header(&got, "X-Signature"),
               check_format("%s <%s>", text, echoed_body(&got)));
    /* Each default is sent once, and the client adds its credentials. */
    const char *whole = check_format("%s %s", target, echoed_body(&got));
    CHECK_HOLDS(whole, "token");
    CHECK_LACKS(strstr(whole, "token") + 1, "token");
    CHECK_TEXT(echoed_header(&got, "Authorization"), "Bearer secret");
    CHECK(echoed_header(&got, "X-Dropped") == NULL);
  }
}

TEST("R31 a refusal ends the transfer, and nothing is sent") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = asking(server_url("/echo"), WHERRY_HOOK_ADAPT);
  send_request(client, request, queue, NULL);
  wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK_OK(wherry_event_resolve_adapt(event, false));
  CHECK_OK(wherry_event_free(event));
  outcome got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_E_CANCELLED);
  CHECK_TEXT(got.reason, "refused");

  send_request(client, request, queue, NULL);
  event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK_OK(wherry_event_resolve_refuse(event, "no key for this one"));
  CHECK_OK(wherry_event_free(event));
  got = next_done(queue);
  CHECK_TEXT(got.message, "no key for this one");
  CHECK_INT(server_count("requests"), 0);
}

TEST("R19 a redirect is followed or returned, as decided") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  const char *target = check_format("%s", server_url("/echo"));
  wherry_request *request =
      asking(server_url("/status/302?location=%s", target), WHERRY_HOOK_REDIRECT);
  for (int follow = 0; follow < 2; follow++) {
    send_request(client, request, queue, NULL);
    wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
    CHECK_INT(wherry_event_detail(event), WHERRY_HOOK_REDIRECT);
    CHECK_TEXT(wherry_event_text(event), target);
    CHECK_INT(wherry_response_http_code(wherry_event_response(event)), 302);
    CHECK_OK(wherry_event_resolve_redirect(event, follow == 1));
    CHECK_OK(wherry_event_free(event));
    CHECK_INT(next_done(queue).http_code, follow ? 200 : 302);
  }
}

TEST("R19 a redirect is rewritten: another URL, method, header, and body, under the same rules") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request =
      new_request("POST", server_url("/status/307?location=%s", server_url("/status/500")));
  CHECK_OK(wherry_request_set_header(request, "Authorization", "Bearer t"));
  CHECK_OK(wherry_request_set_hooks(request, WHERRY_HOOK_REDIRECT));
  send_request(client, request, queue, NULL);
  wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
  wherry_request *next = wherry_event_request(event);
  CHECK(next != NULL && next == wherry_event_request(event));
  CHECK_OK(wherry_request_set_url(next, server_url("/echo?a=1")));
  CHECK_FAILS(wherry_request_set_method(next, "P T"), WHERRY_E_ARGUMENT, "bad_method");
  CHECK_OK(wherry_request_set_method(next, "PUT"));
  CHECK_OK(wherry_request_set_header(next, "X-Why", "moved"));
  CHECK_OK(wherry_request_set_body(next, "new", 3, "text/plain"));
  CHECK_OK(wherry_event_resolve_redirect(event, true));
  CHECK_OK(wherry_event_free(event));
  outcome got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(echoed(&got, "method"), "PUT");
  CHECK_TEXT(echoed_pairs(&got, "query"), "a=1");
  CHECK_TEXT(echoed_header(&got, "X-Why"), "moved");
  CHECK_TEXT(echoed_header(&got, "Authorization"), "Bearer t");
  CHECK_TEXT(echoed_body(&got), "new");

  /* Edits of a freed event do not apply. */
  send_request(client, request, queue, NULL);
  event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK_OK(wherry_request_set_url(wherry_event_request(event), server_url("/echo")));
  CHECK_OK(wherry_event_free(event));
  CHECK_INT(next_done(queue).http_code, 500);

  send_request(client, request, queue, NULL);
  event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK_OK(wherry_request_set_url(wherry_event_request(event), "ftp://h.invalid/"));
  CHECK_OK(wherry_event_resolve_redirect(event, true));
  CHECK_OK(wherry_event_free(event));
  CHECK_TEXT(next_done(queue).reason, "bad_url");
}

TEST("R31 an open decision gets its default after a timeout, and a later one is refused") {
  wherry_stub *stub = new_stub();
  wherry_client *client = new_stub_client(stub);
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_stub_advance_ms(stub, 0));
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, NULL, "ok", 2));
  wherry_request *request = asking("http://h.invalid/", WHERRY_HOOK_ADAPT);
  send_request(client, request, queue, NULL);
  wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK_OK(wherry_stub_advance_ms(stub, 29999));
  CHECK(queue_is_empty(queue));
  CHECK_OK(wherry_stub_advance_ms(stub, 1));
  CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  CHECK_FAILS(wherry_event_resolve_adapt(event, true), WHERRY_E_STATE, "hook_expired");
  CHECK_OK(wherry_event_free(event));
}

TEST("R31 with decision events enabled, a blocking call is refused before anything is sent") {
  wherry_client *client = new_client(NULL);
  CHECK_OK(wherry_client_set_hooks(client, WHERRY_HOOK_ADAPT));
  wherry_response *response = NULL;
  CHECK_FAILS(wherry_client_perform(client, new_request("GET", server_url("/echo")), &response),
              WHERRY_E_STATE, "needs_queue");
  CHECK(response == NULL);
  CHECK_INT(server_count("requests"), 0);
}

TEST("R31 a transfer can be cancelled while the resolved decision is still held") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = asking(server_url("/bytes/1000?hold=10&gate=never"), WHERRY_HOOK_ADAPT);
  wherry_transfer *transfer = NULL;
  CHECK_OK(wherry_client_send(client, request, queue, NULL, &transfer));
  wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK_OK(wherry_event_resolve_adapt(event, true));
  CHECK_OK(wherry_transfer_cancel(transfer));
  CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
  CHECK_OK(wherry_event_free(event));
  CHECK_OK(wherry_transfer_free(transfer));
}

TEST("R31 freeing a queue drops its hooks, and their transfers end") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  for (int i = 0; i < 10; i++)
    send_request(client, asking(server_url("/echo"), WHERRY_HOOK_ADAPT), queue, NULL);
  wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK_OK(wherry_queue_free(queue));
  CHECK_OK(wherry_client_wait(client, WHERRY_MATCH_ALL, NULL, 600000));
  CHECK_STATUS(wherry_event_resolve_adapt(event, true), WHERRY_E_STATE);
  CHECK_OK(wherry_event_free(event));
  CHECK_INT(server_count("requests"), 0);
}
