/* Wherry: row R35 of features.md, from C: chains of requests
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

enum { LOGIN = 1, PROFILE, BIND, BATCH, CHAIN = 100 };

static wherry_group *new_group(wherry_group_policy policy) {
  wherry_group *group = NULL;
  REQUIRE_OK(wherry_group_new(policy, &group));
  return group;
}

static wherry_transfer *send_chain(wherry_client *client, wherry_group *chain,
                                   wherry_queue *queue) {
  wherry_transfer *transfer = NULL;
  REQUIRE_OK(wherry_client_send_group(client, chain, queue, (void *)CHAIN, &transfer));
  CHECK_OK(wherry_group_free(chain));
  return keep_transfer(transfer);
}

/* The next DECISION or DONE event, which the test frees. */
static wherry_event *next_step(wherry_queue *queue) {
  for (;;) {
    wherry_event *event = NULL;
    REQUIRE_OK(wherry_queue_next(queue, 600000, &event));
    wherry_event_kind kind = wherry_event_get_kind(event);
    if (kind == WHERRY_EVENT_HOOK || kind == WHERRY_EVENT_DONE) return event;
    CHECK_OK(wherry_event_free(event));
  }
}

/* The chain's next decision; returns its response's status, or 0 at the beginning. */
static wherry_event *question(wherry_queue *queue, int32_t *http_code) {
  wherry_event *event = next_step(queue);
  REQUIRE_INT(wherry_event_get_kind(event), WHERRY_EVENT_HOOK);
  CHECK_INT(wherry_event_detail(event), WHERRY_HOOK_NEXT);
  CHECK_INT((uintptr_t)wherry_event_user_data(event), CHAIN);
  *http_code = wherry_response_http_code(wherry_event_response(event));
  return event;
}

/* The next event is the DONE of this user data; returns its status. */
static wherry_status done(wherry_queue *queue, uintptr_t user_data) {
  wherry_event *event = next_step(queue);
  REQUIRE_INT(wherry_event_get_kind(event), WHERRY_EVENT_DONE);
  CHECK_INT((uintptr_t)wherry_event_user_data(event), user_data);
  wherry_status status = wherry_event_status(event);
  CHECK_OK(wherry_event_free(event));
  return status;
}

static void answer(wherry_event *event, wherry_request *request, uintptr_t user_data) {
  CHECK_OK(wherry_event_resolve_next(event, request, (void *)user_data));
  CHECK_FAILS(wherry_event_resolve_stop(event), WHERRY_E_STATE, "resolved");
  CHECK_OK(wherry_event_free(event));
}

TEST("R35 login, profile, and bind each use the result of the previous step") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_transfer *chain = send_chain(client, new_group(WHERRY_GROUP_CHAIN), queue);
  int32_t code;

  wherry_event *asked = question(queue, &code);
  CHECK(wherry_event_response(asked) == NULL);
  CHECK_INT(wherry_transfer_state(chain), WHERRY_STATE_WAITING);
  answer(asked, new_request("POST", server_url("/token")), LOGIN);
  CHECK_STATUS(done(queue, LOGIN), WHERRY_OK);

  asked = question(queue, &code);
  CHECK_INT(code, 200);
  wherry_json *login = NULL;
  REQUIRE_OK(wherry_response_json(wherry_event_response(asked), &login));
  wherry_request *profile = new_request("GET", server_url("/protected"));
  CHECK_OK(wherry_request_set_text(profile, WHERRY_TEXT_BEARER_TOKEN,
                                   wherry_json_get_text(login, "access_token", "", NULL)));
  CHECK_OK(wherry_json_free(login));
  answer(asked, profile, PROFILE);
  CHECK_STATUS(done(queue, PROFILE), WHERRY_OK);

  asked = question(queue, &code);
  wherry_request *bind = new_request("POST", server_url("/echo"));
  CHECK_OK(wherry_request_set_parameter(bind, "status", check_format("%d", code)));
  answer(asked, bind, BIND);
  CHECK_STATUS(done(queue, BIND), WHERRY_OK);

  asked = question(queue, &code);
  CHECK_FAILS(wherry_event_resolve_adapt(asked, true), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_OK(wherry_event_resolve_stop(asked));
  CHECK_OK(wherry_event_free(asked));
  CHECK_STATUS(done(queue, CHAIN), WHERRY_OK);
  wherry_progress progress = {.size = sizeof progress};
  CHECK_OK(wherry_transfer_progress(chain, &progress));
  CHECK_INT(progress.ended, 3);
  wherry_json *log = server_log();
  CHECK_TEXT(wherry_json_get_text(log, "requests/2/path", "", NULL), "/echo");
  CHECK_OK(wherry_json_free(log));
  CHECK_INT(server_count("requests"), 3);
}

TEST("R35 freeing the decision sends the added step; a failure ends the chain and names the step") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_group *chain = new_group(WHERRY_GROUP_CHAIN);
  const char *const paths[] = {"/text/a", "/text/b", "/status/503", "/text/c"};
  for (uintptr_t i = 0; i < 4; i++) {
    wherry_request *request = new_request("GET", server_url("%s", paths[i]));
    CHECK_OK(wherry_group_add(chain, request, (void *)(i + 1)));
  }
  send_chain(client, chain, queue);
  int32_t code;

  for (uintptr_t i = 1; i <= 2; i++) {
    CHECK_STATUS(done(queue, i), WHERRY_OK);
    CHECK_OK(wherry_event_free(question(queue, &code)));
  }
  CHECK_STATUS(done(queue, 3), WHERRY_E_HTTP);

  wherry_event *end = next_step(queue);
  CHECK_INT((uintptr_t)wherry_event_user_data(end), CHAIN);
  CHECK_STATUS(wherry_event_status(end), WHERRY_E_HTTP);
  CHECK_INT(wherry_event_detail(end), 2);
  const wherry_error *error = wherry_event_error(end);
  CHECK_HOLDS(wherry_error_message(error), "Step 3, GET ");
  CHECK_HOLDS(wherry_error_message(error), "/status/503");
  CHECK_INT(wherry_error_http_code(wherry_error_underlying(error)), 503);
  CHECK_OK(wherry_event_free(end));
  CHECK_INT(server_count("requests"), 3);
  CHECK(queue_is_empty(queue));
}

TEST("R35 a chain can branch and have a batch as a step") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_group *chain = new_group(WHERRY_GROUP_CHAIN);
  CHECK_OK(wherry_group_add(chain, new_request("GET", server_url("/status/204")), (void *)LOGIN));
  CHECK_OK(wherry_group_add(chain, new_request("GET", server_url("/text/last")), (void *)BIND));
  send_chain(client, chain, queue);
  int32_t code;

  CHECK_STATUS(done(queue, LOGIN), WHERRY_OK);
  wherry_event *asked = question(queue, &code);
  wherry_group *batch = new_group(WHERRY_GROUP_ALL_SETTLED);
  CHECK_OK(wherry_group_add(batch, new_request("GET", server_url("/status/404")), (void *)1));
  CHECK_OK(wherry_group_add(batch, new_request("GET", server_url("/text/a")), (void *)1));
  CHECK_OK(wherry_event_resolve_next_group(asked, code == 204 ? batch : NULL, (void *)BATCH));
  CHECK_OK(wherry_group_free(batch));
  CHECK_OK(wherry_event_free(asked));
  int refused = 0;
  for (int i = 0; i < 2; i++) refused += done(queue, 1) == WHERRY_E_HTTP;
  CHECK_INT(refused, 1);
  CHECK_STATUS(done(queue, BATCH), WHERRY_OK);
  CHECK_OK(wherry_event_free(question(queue, &code)));
  CHECK_STATUS(done(queue, BIND), WHERRY_OK);
  CHECK_OK(wherry_event_free(question(queue, &code)));
  CHECK_STATUS(done(queue, CHAIN), WHERRY_OK);
  CHECK_INT(server_count("requests"), 4);
}

TEST("R35 refusing, an invalid step, and cancelling end the chain") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  int32_t code;
  send_chain(client, new_group(WHERRY_GROUP_CHAIN), queue);
  wherry_event *asked = question(queue, &code);
  CHECK_OK(wherry_event_resolve_refuse(asked, "no more"));
  CHECK_OK(wherry_event_free(asked));
  CHECK_STATUS(done(queue, CHAIN), WHERRY_E_CANCELLED);

  send_chain(client, new_group(WHERRY_GROUP_CHAIN), queue);
  answer(question(queue, &code), new_request("GET", "ftp://h/"), LOGIN);
  CHECK_STATUS(done(queue, CHAIN), WHERRY_E_ARGUMENT);

  wherry_transfer *chain = send_chain(client, new_group(WHERRY_GROUP_CHAIN), queue);
  asked = question(queue, &code);
  CHECK_OK(wherry_transfer_cancel(chain));
  CHECK_FAILS(wherry_event_resolve_stop(asked), WHERRY_E_STATE, "hook_expired");
  CHECK_OK(wherry_event_free(asked));
  CHECK_STATUS(done(queue, CHAIN), WHERRY_E_CANCELLED);

  chain = send_chain(client, new_group(WHERRY_GROUP_CHAIN), queue);
  answer(question(queue, &code), new_request("GET", server_url("/text/a?gate=g")), LOGIN);
  REQUIRE(server_wait("requests=1"));
  CHECK_OK(wherry_transfer_cancel(chain));
  CHECK_STATUS(done(queue, LOGIN), WHERRY_E_CANCELLED);
  CHECK_STATUS(done(queue, CHAIN), WHERRY_E_CANCELLED);
  CHECK_FAILS(wherry_client_set_hooks(client, WHERRY_HOOK_NEXT), WHERRY_E_ARGUMENT, "bad_value");

  /* Freeing the client or the queue ends a chain that waits for a decision. */
  send_chain(client, new_group(WHERRY_GROUP_CHAIN), queue);
  asked = question(queue, &code);
  CHECK_OK(wherry_client_free(client));
  CHECK_OK(wherry_event_free(asked));
  CHECK_STATUS(done(queue, CHAIN), WHERRY_E_CANCELLED);
  client = new_client(NULL);
  send_chain(client, new_group(WHERRY_GROUP_CHAIN), queue);
  CHECK_OK(wherry_queue_free(queue));
  CHECK_OK(wherry_client_wait(client, WHERRY_MATCH_ALL, NULL, 600000));
}
