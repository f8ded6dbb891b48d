/* Wherry: rows K12 to K19 of features.md, from C: the HTTP cache
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "fixture.h"

static const char URL[] = "http://nowhere.invalid/a";

/* A scripted origin with its own clock, and the test's own storage. */
typedef struct bench {
  wherry_stub *stub;
  wherry_client *client;
} bench;

static wherry_client *http_client(wherry_stub *stub, bool is_on) {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_stub(config, stub));
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_STORAGE_DIRECTORY, check_path("storage")));
  CHECK_OK(wherry_config_set_option(config, WHERRY_OPTION_HTTP_CACHE, is_on));
  return new_client(config);
}

static bench new_bench(void) {
  bench made = {.stub = new_stub()};
  CHECK_OK(wherry_stub_advance_ms(made.stub, 0));
  made.client = http_client(made.stub, true);
  return made;
}

/* The origin's next response. */
static void answer(bench b, int32_t http_code, const char *head, const char *body) {
  CHECK_OK(wherry_stub_add_response(b.stub, NULL, URL, 1, http_code, head, body, strlen(body)));
}

static wherry_request *asking(wherry_cache_policy policy) {
  wherry_request *request = new_request("GET", URL);
  CHECK_OK(wherry_request_set_cache(request, policy, 0));
  return request;
}

/* The response to a request, which must have this body. */
static wherry_response *answered(wherry_client *client, const wherry_request *request,
                                 const char *body) {
  wherry_response *response = NULL;
  REQUIRE_OK(wherry_client_perform(client, request, &response));
  CHECK_INT(wherry_response_http_code(response), 200);
  size_t count = 0;
  const uint8_t *bytes = wherry_response_body(response, &count);
  CHECK_BYTES(bytes, count, body, strlen(body));
  return response;
}

static bool is_cached(wherry_client *client, const wherry_request *request, const char *body) {
  wherry_response *response = answered(client, request, body);
  bool result = wherry_response_is_from_cache(response);
  CHECK_OK(wherry_response_free(response));
  return result;
}

TEST("K12 the four policies work with fresh, stale, and missing entries") {
  static const struct {
    int32_t policy;
    const char *fresh, *stale, *absent; /* NULL: E_CACHE_MISS */
  } cases[] = {
      {-1, "old", "new", "old"},
      {WHERRY_CACHE_PROTOCOL, "old", "new", "old"},
      {WHERRY_CACHE_RELOAD, "new", "new", "old"},
      {WHERRY_CACHE_ANY_AGE, "old", "old", "old"},
      {WHERRY_CACHE_ANY_AGE_ONLY, "old", "old", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *wanted[] = {cases[i].fresh, cases[i].stale, cases[i].absent};
    for (int state = 0; state < 3; state++) {
      bench b = new_bench();
      CHECK_OK(wherry_client_clear_cache(b.client, WHERRY_STORE_HTTP, NULL, NULL, NULL, NULL));
      answer(b, 200, "Cache-Control: max-age=60\n", "old");
      answer(b, 200, "Cache-Control: max-age=60\n", "new");
      if (state < 2) CHECK(!is_cached(b.client, new_request("GET", URL), "old"));
      if (state == 1) CHECK_OK(wherry_stub_advance_ms(b.stub, 61000));
      wherry_request *request = cases[i].policy < 0 ? new_request("GET", URL)
                                                    : asking((wherry_cache_policy)cases[i].policy);
      if (!wanted[state]) {
        wherry_response *response = NULL;
        CHECK_FAILS(wherry_client_perform(b.client, request, &response), WHERRY_E_CACHE_MISS,
                    "missing");
        CHECK_INT(wherry_stub_request_count(b.stub), 0);
        continue;
      }
      bool is_old = state < 2 && strcmp(wanted[state], "old") == 0;
      CHECK_INT(is_cached(b.client, request, wanted[state]), is_old);
    }
  }
}

TEST("K12 a request can use the HTTP cache of a client that disables it") {
  bench b = new_bench();
  wherry_client *off = http_client(b.stub, false);
  CHECK_OK(
      wherry_stub_add_response(b.stub, NULL, URL, -1, 200, "Cache-Control: max-age=60\n", "x", 1));
  for (int round = 0; round < 2; round++) CHECK(!is_cached(off, new_request("GET", URL), "x"));
  for (int round = 0; round < 2; round++)
    CHECK_INT(is_cached(off, asking(WHERRY_CACHE_PROTOCOL), "x"), round);
  CHECK_OK(wherry_client_set_option(off, WHERRY_OPTION_HTTP_CACHE, 1));
  CHECK(is_cached(off, new_request("GET", URL), "x"));
  CHECK(!is_cached(off, asking(WHERRY_CACHE_OFF), "x"));
}

TEST("K13 a program decides what is stored, and which headers are left out") {
  bench b = new_bench();
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_stub_add_response(b.stub, NULL, URL, -1, 200,
                                    "Cache-Control: max-age=60\nX-Private: 1\nX-Own: 2\n", "x", 1));
  for (int round = 0; round < 2; round++) {
    wherry_request *request = new_request("GET", URL);
    CHECK_OK(wherry_request_set_hooks(request, WHERRY_HOOK_STORE));
    send_request(b.client, request, queue, NULL);
    wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
    CHECK_INT(wherry_event_detail(event), WHERRY_HOOK_STORE);
    CHECK_INT(wherry_response_http_code(wherry_event_response(event)), 200);
    CHECK_FAILS(wherry_event_resolve_redirect(event, true), WHERRY_E_ARGUMENT, "bad_argument");
    CHECK_OK(wherry_event_resolve_store(event, round == 1, "X-None, x-private"));
    CHECK_STATUS(wherry_event_resolve_store(event, true, NULL), WHERRY_E_STATE);
    CHECK_OK(wherry_event_free(event));
    CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  }
  wherry_response *response = answered(b.client, new_request("GET", URL), "x");
  CHECK(wherry_response_is_from_cache(response));
  CHECK(wherry_response_header(response, "X-Private") == NULL);
  CHECK_TEXT(wherry_response_header(response, "X-Own"), "2");
  CHECK_OK(wherry_response_free(response));
}

TEST("K15 a stale entry is confirmed with 304, and then fresh again") {
  bench b = new_bench();
  answer(b, 200, "Cache-Control: max-age=60\nETag: \"1\"\n", "body");
  CHECK(!is_cached(b.client, new_request("GET", URL), "body"));
  CHECK_OK(wherry_stub_advance_ms(b.stub, 61000));
  answer(b, 304, "Cache-Control: max-age=60\nETag: \"1\"\nX-New: 1\n", "");
  wherry_response *response = answered(b.client, new_request("GET", URL), "body");
  CHECK(wherry_response_is_from_cache(response) && wherry_response_is_revalidated(response));
  CHECK(!wherry_response_is_stale(response));
  CHECK_TEXT(wherry_response_header(response, "X-New"), "1");
  CHECK_OK(wherry_response_free(response));
  CHECK(is_cached(b.client, new_request("GET", URL), "body"));
  CHECK_INT(wherry_stub_request_count(b.stub), 2);
}

TEST("K16 the cached response is delivered first, then the confirmed one, which is the same") {
  bench b = new_bench();
  answer(b, 200, "Cache-Control: max-age=60\nETag: \"1\"\n", "body");
  answer(b, 304, "ETag: \"1\"\n", "");
  CHECK(!is_cached(b.client, new_request("GET", URL), "body"));
  wherry_queue *queue = new_queue();
  send_request(b.client, asking(WHERRY_CACHE_THEN_NETWORK), queue, NULL);
  wherry_event *event = next_event(queue, WHERRY_EVENT_CACHED);
  CHECK(wherry_response_is_from_cache(wherry_event_response(event)));
  CHECK_OK(wherry_event_free(event));
  event = next_event(queue, WHERRY_EVENT_DONE);
  const wherry_response *response = wherry_event_response(event);
  CHECK(wherry_response_is_unchanged(response) && wherry_response_is_revalidated(response));
  CHECK_OK(wherry_event_free(event));
}

TEST("K17 a stale response is served with a mark if the origin fails") {
  bench b = new_bench();
  answer(b, 200, "Cache-Control: max-age=60\n", "body");
  CHECK(!is_cached(b.client, new_request("GET", URL), "body"));
  CHECK_OK(wherry_stub_advance_ms(b.stub, 61000));
  CHECK_OK(wherry_stub_add_failure(b.stub, NULL, URL, 2, "connect", 0));
  wherry_request *request = new_request("GET", URL);
  wherry_response *response = NULL;
  CHECK_FAILS(wherry_client_perform(b.client, request, &response), WHERRY_E_NETWORK, "connect");
  CHECK_OK(wherry_request_set_stale_if_error_ms(request, 10000));
  wherry_queue *queue = new_queue();
  send_request(b.client, request, queue, NULL);
  wherry_record records[1] = {{.size = sizeof records[0]}};
  size_t count = 0;
  CHECK_OK(wherry_queue_read(queue, records, 1, 60000, &count));
  CHECK_INT(records[0].kind, WHERRY_EVENT_DONE);
  CHECK_INT(records[0].flags, WHERRY_RECORD_FROM_CACHE | WHERRY_RECORD_STALE);
  CHECK(wherry_response_is_stale(wherry_event_response(records[0].event)));
  CHECK_OK(wherry_queue_release(queue, records, count));
}

TEST("K8 K9 K10 entries are listed, read, counted, and cleared per store") {
  bench b = new_bench();
  CHECK_OK(
      wherry_stub_add_response(b.stub, NULL, "*", -1, 200, "Cache-Control: max-age=60\n", "x", 1));
  const char *urls[] = {URL, "http://nowhere.invalid/a?x=1", "http://nowhere.invalid/b"};
  for (int i = 0; i < 3; i++) CHECK(!is_cached(b.client, new_request("GET", urls[i]), "x"));
  wherry_request *timed = new_request("GET", URL);
  CHECK_OK(wherry_request_set_cache(timed, WHERRY_CACHE_REFRESH, 60000));
  CHECK(!is_cached(b.client, timed, "x"));
  wherry_list *list = NULL;
  REQUIRE_OK(wherry_client_list_cache(b.client, WHERRY_STORE_HTTP, NULL, URL, NULL, &list));
  CHECK_INT(wherry_list_count(list), 2);
  for (size_t i = 0; i < 2; i++) {
    wherry_entry_row row = {.size = sizeof row};
    CHECK_OK(wherry_list_entry(list, i, &row));
    CHECK_INT(row.store, WHERRY_STORE_HTTP);
    CHECK_TEXT(row.identifier, "");
    CHECK_INT(row.fresh_for_ms, 60000);
    wherry_response *response = NULL;
    CHECK_OK(wherry_client_read_cache_entry(b.client, row.entry_id, &response));
    CHECK_OK(wherry_response_free(response));
  }
  CHECK_OK(wherry_list_free(list));
  wherry_response *response = NULL;
  CHECK_OK(wherry_client_read_cache(b.client, asking(WHERRY_CACHE_PROTOCOL), &response));
  CHECK_OK(wherry_response_free(response));
  wherry_cache_usage usage = {.size = sizeof usage};
  CHECK_OK(wherry_client_cache_usage(b.client, &usage));
  CHECK_INT(usage.entries, 4);
  size_t count = 0;
  CHECK_OK(wherry_client_clear_cache(b.client, WHERRY_STORE_HTTP, NULL, URL, NULL, &count));
  CHECK_INT(count, 2);
  CHECK_OK(wherry_client_clear_cache(b.client, WHERRY_STORE_HTTP, NULL, NULL, "POST", &count));
  CHECK_INT(count, 0);
  CHECK_OK(wherry_client_remove_cache(b.client, new_request("GET", urls[2]), &count));
  CHECK_INT(count, 1);
  CHECK_OK(wherry_client_clear_cache(b.client, WHERRY_STORE_HTTP | WHERRY_STORE_TIMED, NULL, NULL,
                                     NULL, &count));
  CHECK_INT(count, 1);
}

TEST("K19 SEC-C2 a request with another token never gets the response") {
  bench b = new_bench();
  CHECK_OK(
      wherry_stub_add_response(b.stub, NULL, URL, -1, 200, "Cache-Control: max-age=60\n", "x", 1));
  const char *tokens[] = {"Bearer a", "Bearer b"};
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 2; i++) {
      wherry_request *request = new_request("GET", URL);
      CHECK_OK(wherry_request_set_header(request, "Authorization", tokens[i]));
      CHECK_INT(is_cached(b.client, request, "x"), round);
    }
    CHECK_INT(is_cached(b.client, new_request("GET", URL), "x"), round);
  }
}
