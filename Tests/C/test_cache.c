/* Wherry: rows K1 to K11, K16 and K19 of features.md, from C: the timed cache
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "fixture.h"

static const char URL[] = "http://nowhere.invalid/items";

/* A stub that responds to everything, with its own clock and the test's own storage. */
typedef struct bench {
  wherry_stub *stub;
  wherry_client *client;
} bench;

static wherry_client *cached_client(wherry_stub *stub, const char *version) {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_stub(config, stub));
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_STORAGE_DIRECTORY, check_path("storage")));
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_APP_VERSION, version));
  return new_client(config);
}

static bench new_bench(void) {
  bench made = {.stub = new_stub()};
  CHECK_OK(wherry_stub_add_response(made.stub, NULL, "http://nowhere.invalid/bad", -1, 404, NULL,
                                    "", 0));
  CHECK_OK(wherry_stub_add_response(made.stub, NULL, "*", -1, 200,
                                    "Content-Type: application/json\nSet-Cookie: a=planted\n", "{}",
                                    2));
  CHECK_OK(wherry_stub_advance_ms(made.stub, 0));
  made.client = cached_client(made.stub, "1");
  return made;
}

static wherry_request *asking(const char *method, const char *url, wherry_cache_policy policy,
                              int64_t duration_ms) {
  wherry_request *request = new_request(method, url);
  CHECK_OK(wherry_request_set_cache(request, policy, duration_ms));
  return request;
}

/* Whether the response came from the cache; every body is {}. */
static bool is_cached(wherry_client *client, const wherry_request *request) {
  wherry_response *response = NULL;
  REQUIRE_OK(wherry_client_perform(client, request, &response));
  size_t count = 0;
  const uint8_t *body = wherry_response_body(response, &count);
  CHECK_BYTES(body, count, "{}", 2);
  CHECK_TEXT(wherry_response_header(response, "content-type"), "application/json");
  CHECK_TEXT(wherry_response_url(response), wherry_request_url(request));
  bool result = wherry_response_is_from_cache(response);
  CHECK(!result || wherry_response_header(response, "set-cookie") == NULL);
  CHECK_OK(wherry_response_free(response));
  return result;
}

static const char *miss(wherry_client *client, const wherry_request *request) {
  wherry_response *response = NULL;
  CHECK_STATUS(wherry_client_perform(client, request, &response), WHERRY_E_CACHE_MISS);
  return wherry_error_reason(wherry_last_error());
}

static wherry_cache_usage usage_of(wherry_client *client) {
  wherry_cache_usage usage = {.size = sizeof usage};
  CHECK_OK(wherry_client_cache_usage(client, &usage));
  return usage;
}

TEST("K1 K2 a response stored for some milliseconds is served for that time without the network") {
  bench b = new_bench();
  CHECK(!is_cached(b.client, asking("GET", URL, WHERRY_CACHE_REFRESH, 0)));
  CHECK(!is_cached(b.client, asking("GET", URL, WHERRY_CACHE_REFRESH, -1)));
  CHECK(!is_cached(b.client, asking("GET", URL, WHERRY_CACHE_USE, INT64_MIN)));
  CHECK_INT(usage_of(b.client).entries, 0);
  CHECK(!is_cached(b.client, asking("GET", URL, WHERRY_CACHE_USE, 500)));
  CHECK_INT(wherry_stub_request_count(b.stub), 4);
  CHECK_OK(wherry_stub_advance_ms(b.stub, 499));
  CHECK(is_cached(b.client, asking("GET", URL, WHERRY_CACHE_USE, 0)));
  CHECK(is_cached(b.client, asking("GET", URL, WHERRY_CACHE_ONLY, 0)));
  CHECK(!is_cached(b.client, asking("GET", URL, WHERRY_CACHE_OFF, 60000)));
  CHECK(!is_cached(b.client, new_request("GET", URL)));
  CHECK_INT(wherry_stub_request_count(b.stub), 6);
  CHECK_OK(wherry_stub_advance_ms(b.stub, 2));
  CHECK_TEXT(miss(b.client, asking("GET", URL, WHERRY_CACHE_ONLY, 0)), "stale");
  CHECK_INT(usage_of(b.client).entries, 0);
  CHECK(!is_cached(b.client, asking("GET", URL, WHERRY_CACHE_USE, INT64_MAX)));
  CHECK_OK(wherry_stub_advance_ms(b.stub, INT64_C(1) << 40));
  CHECK(is_cached(b.client, asking("GET", URL, WHERRY_CACHE_USE, 0)));
  CHECK_FAILS(wherry_request_set_cache(new_request("GET", URL), (wherry_cache_policy)99, 0),
              WHERRY_E_ARGUMENT, "bad_value");
}

TEST("K5 C11 misses have reasons: missing, another app version, another cache version") {
  bench b = new_bench();
  wherry_request *only = asking("GET", URL, WHERRY_CACHE_ONLY, 0);
  wherry_request *use = asking("GET", URL, WHERRY_CACHE_USE, 60000);
  CHECK_TEXT(miss(b.client, only), "missing");
  CHECK(!is_cached(b.client, use));
  wherry_client *newer = cached_client(b.stub, "2");
  CHECK_TEXT(miss(newer, only), "app_version");
  CHECK(!is_cached(b.client, use));
  CHECK_OK(wherry_request_set_cache_version(only, 7));
  CHECK_TEXT(miss(b.client, only), "cache_version");
  CHECK_TEXT(miss(b.client, only), "missing");
  CHECK_TEXT(wherry_status_name(WHERRY_E_CACHE_MISS), "E_CACHE_MISS");
}

TEST("K6 a cached response produces the usual events, with a mark") {
  bench b = new_bench();
  CHECK(!is_cached(b.client, asking("GET", URL, WHERRY_CACHE_USE, 60000)));
  wherry_request *request = asking("GET", URL, WHERRY_CACHE_USE, 0);
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_WANT_HEADERS, 1));
  wherry_queue *queue = new_queue();
  send_request(b.client, request, queue, &queue);
  wherry_record records[2] = {{.size = sizeof records[0]}};
  size_t count = 0;
  for (size_t read = 0; read < 2; read += count) {
    REQUIRE_OK(wherry_queue_read(queue, records, 1, 600000, &count));
    CHECK_INT(records[0].kind, read == 0 ? WHERRY_EVENT_HEADERS : WHERRY_EVENT_DONE);
    CHECK_INT(records[0].flags, WHERRY_RECORD_FROM_CACHE);
    CHECK_INT(records[0].http_code, 200);
    CHECK_INT(records[0].body_count, read == 0 ? 0 : 2);
    CHECK_OK(wherry_queue_release(queue, records, 1));
  }
  CHECK_INT(wherry_stub_request_count(b.stub), 1);
}

TEST("K7 error responses, streams, and uploads are not stored") {
  bench b = new_bench();
  wherry_response *response = NULL;
  CHECK_STATUS(wherry_client_perform(
                   b.client, asking("GET", "http://nowhere.invalid/bad", WHERRY_CACHE_USE, 60000),
                   &response),
               WHERRY_E_HTTP);
  CHECK_OK(wherry_response_free(response));
  wherry_request *parts = asking("POST", URL, WHERRY_CACHE_USE, 60000);
  CHECK_OK(wherry_request_add_part(parts, "a", "1", 1, NULL, NULL));
  CHECK(!is_cached(b.client, parts));
  wherry_request *streamed = asking("GET", URL, WHERRY_CACHE_USE, 60000);
  CHECK_OK(wherry_request_set_streamed(streamed, true));
  CHECK_STATUS(send_and_wait(b.client, streamed).status, WHERRY_OK);
  CHECK_INT(usage_of(b.client).entries, 0);
  CHECK_OK(wherry_request_set_cache(streamed, WHERRY_CACHE_ONLY, 0));
  outcome got = send_and_wait(b.client, streamed);
  CHECK_STATUS(got.status, WHERRY_E_CACHE_MISS);
  CHECK_TEXT(got.reason, "missing");
}

TEST("K1 a stream is stored and served if its request enables that") {
  bench b = new_bench();
  wherry_request *streamed = asking("GET", URL, WHERRY_CACHE_USE, 60000);
  CHECK_OK(wherry_request_set_streamed(streamed, true));
  CHECK_OK(wherry_request_set_option(streamed, WHERRY_OPTION_CACHE_STREAM, 1));
  for (int i = 0; i < 2; i++) CHECK_STATUS(send_and_wait(b.client, streamed).status, WHERRY_OK);
  CHECK_INT(usage_of(b.client).entries, 1);
  CHECK_INT(wherry_stub_request_count(b.stub), 1);
  CHECK(is_cached(b.client, asking("GET", URL, WHERRY_CACHE_USE, 60000)));
}

TEST("K8 K9 K10 entries are read, listed, and cleared by URL, by URL and method, and all at once") {
  bench b = new_bench();
  wherry_request *get =
      asking("GET", "http://nowhere.invalid/items?token=planted", WHERRY_CACHE_USE, 60000);
  wherry_request *post = asking("POST", URL, WHERRY_CACHE_USE, 1000);
  CHECK_OK(wherry_request_set_parameter(post, "password", "planted"));
  wherry_request *plain = asking("GET", URL, WHERRY_CACHE_USE, 60000);
  CHECK(!is_cached(b.client, get) && !is_cached(b.client, post) && !is_cached(b.client, plain));
  wherry_cache_usage usage = usage_of(b.client);
  CHECK_INT(usage.entries, 3);
  CHECK(usage.entry_bytes > 3 * 48 && usage.partials == 0 && usage.partial_bytes == 0);

  wherry_response *response = NULL;
  CHECK_OK(wherry_client_read_cache(b.client, post, &response));
  CHECK(wherry_response_is_from_cache(response));
  CHECK_TEXT(wherry_response_url(response), URL);
  CHECK_OK(wherry_response_free(response));
  wherry_list *list = NULL;
  REQUIRE_OK(wherry_client_list_cache(b.client, WHERRY_STORE_TIMED, NULL, URL, "POST", &list));
  keep_list(list);
  REQUIRE_INT(wherry_list_count(list), 1);
  wherry_entry_row row = {.size = sizeof row};
  CHECK_OK(wherry_list_entry(list, 0, &row));
  CHECK_TEXT(row.method, "POST");
  CHECK_TEXT(row.url, URL);
  CHECK_TEXT(row.identifier, wherry_request_identifier(post, b.client));
  CHECK(row.http_code == 200 && row.body_bytes == 2 && row.fresh_for_ms == 1000);
  CHECK(row.store == WHERRY_STORE_TIMED && row.stored_at_ms > INT64_C(1600000000000));
  CHECK_OK(wherry_client_read_cache_entry(b.client, row.entry_id, &response));
  CHECK_INT(wherry_response_http_code(response), 200);
  size_t removed = 9;
  CHECK_OK(wherry_client_remove_cache_entry(b.client, "00/none/0", &removed));
  CHECK_INT(removed, 0);
  CHECK_OK(wherry_response_free(response));
  CHECK_STATUS(wherry_list_entry(list, 1, &row), WHERRY_E_ARGUMENT);
  wherry_partial_row other = {.size = sizeof other};
  CHECK_STATUS(wherry_list_partial(list, 0, &other), WHERRY_E_ARGUMENT);

  /* An expired entry is neither listed nor found. */
  CHECK_OK(wherry_stub_advance_ms(b.stub, 1001));
  REQUIRE_OK(wherry_client_list_cache(b.client, WHERRY_STORE_TIMED, NULL, NULL, NULL, &list));
  keep_list(list);
  REQUIRE_INT(wherry_list_count(list), 2);
  for (size_t i = 0; i < 2; i++) {
    CHECK_OK(wherry_list_entry(list, i, &row));
    CHECK_LACKS(row.url, "planted");
  }
  CHECK_FAILS(wherry_client_read_cache(b.client, post, &response), WHERRY_E_CACHE_MISS, "missing");
  CHECK_FAILS(wherry_client_read_cache_entry(b.client, "../secret", &response), WHERRY_E_CACHE_MISS,
              "missing");

  size_t count = 9;
  CHECK_OK(wherry_client_clear_cache(b.client, WHERRY_STORE_TIMED, NULL, URL, "POST", &count));
  CHECK_INT(count, 0);
  CHECK_OK(wherry_client_clear_cache(b.client, WHERRY_STORE_TIMED, NULL, URL, NULL, &count));
  CHECK_INT(count, 1);
  CHECK(is_cached(b.client, get) && !is_cached(b.client, plain));
  CHECK_OK(wherry_client_remove_cache(b.client, plain, &count));
  CHECK_INT(count, 1);
  CHECK_OK(wherry_client_remove_cache(b.client, plain, &count));
  CHECK_INT(count, 0);
  CHECK_OK(wherry_client_clear_cache(b.client, WHERRY_STORE_TIMED | WHERRY_STORE_PARTIALS, NULL,
                                     NULL, NULL, NULL));
  CHECK_INT(usage_of(b.client).entries, 0);

  /* A URL joined to a base is listed in full, and found by the full URL. */
  CHECK_OK(wherry_client_set_text(b.client, WHERRY_TEXT_BASE_URL, "http://nowhere.invalid"));
  wherry_request *relative = asking("GET", "items", WHERRY_CACHE_USE, 60000);
  REQUIRE_OK(wherry_client_perform(b.client, relative, &response));
  CHECK_OK(wherry_response_free(response));
  REQUIRE_OK(wherry_client_list_cache(b.client, WHERRY_STORE_TIMED, NULL, URL, NULL, &list));
  keep_list(list);
  CHECK_OK(wherry_list_entry(list, 0, &row));
  CHECK_TEXT(row.url, URL);
  CHECK_OK(wherry_client_clear_cache(b.client, WHERRY_STORE_TIMED, NULL, row.url, NULL, &count));
  CHECK_INT(count, 1);
  CHECK_FAILS(wherry_client_clear_cache(b.client, 0, NULL, NULL, NULL, NULL), WHERRY_E_ARGUMENT,
              "bad_value");
  CHECK_FAILS(wherry_client_list_cache(b.client, WHERRY_STORE_PARTIALS, NULL, NULL, NULL, &list),
              WHERRY_E_ARGUMENT, "bad_value");
  CHECK_FAILS(wherry_client_clear_cache(b.client, 1, "none", URL, NULL, NULL), WHERRY_E_ARGUMENT,
              "not_found");
}

TEST("K10 sizes are formatted for people") {
  char text[32];
  size_t count = 0;
  CHECK_OK(wherry_format_bytes(1298661, text, sizeof text, &count));
  CHECK_TEXT(text, "1.2385 MB");
  CHECK_INT(count, 9);
  CHECK_OK(wherry_format_bytes(1048575, text, sizeof text, &count));
  CHECK_TEXT(text, "1023.9990 KB");
  CHECK_OK(wherry_format_bytes(-1, text, sizeof text, NULL));
  CHECK_TEXT(text, "0.0000 KB");
  CHECK_OK(wherry_format_bytes(0, NULL, 0, &count));
  CHECK_INT(count, 9);
}

TEST("K11 a response stored by the program is served until it expires") {
  bench b = new_bench();
  wherry_request *request = asking("GET", URL, WHERRY_CACHE_ONLY, 0);
  CHECK_OK(wherry_client_write_cache(b.client, request, "{}", 2, "application/json", 100));
  CHECK(is_cached(b.client, request));
  CHECK_OK(wherry_stub_advance_ms(b.stub, 101));
  CHECK_TEXT(miss(b.client, request), "stale");
  CHECK_FAILS(wherry_client_write_cache(b.client, request, "{}", 2, NULL, 0), WHERRY_E_ARGUMENT,
              "bad_value");
  CHECK_FAILS(wherry_client_write_cache(b.client, request, "{}", 2, "a\nb", 1), WHERRY_E_ARGUMENT,
              "bad_header");
  CHECK_FAILS(wherry_client_write_cache(b.client, request, NULL, 2, NULL, 1), WHERRY_E_ARGUMENT,
              "bad_argument");
  CHECK_INT(wherry_stub_request_count(b.stub), 0);
}

TEST("K14 the limits are options") {
  bench b = new_bench();
  CHECK_INT(wherry_client_get_option(b.client, WHERRY_OPTION_CACHE_MAX_BYTES), 268435456);
  CHECK_INT(wherry_client_get_option(b.client, WHERRY_OPTION_CACHE_MEMORY_BYTES), 16777216);
  wherry_request *use = asking("GET", URL, WHERRY_CACHE_USE, 60000);
  CHECK(!is_cached(b.client, use) && is_cached(b.client, use));
  CHECK(usage_of(b.client).memory_bytes > 0);
  CHECK_OK(wherry_client_set_option(b.client, WHERRY_OPTION_CACHE_MEMORY_BYTES, 0));
  CHECK_INT(usage_of(b.client).memory_bytes, 0);
  CHECK(is_cached(b.client, use));
  CHECK_OK(wherry_client_set_option(b.client, WHERRY_OPTION_CACHE_MAX_BYTES, 80));
  CHECK(!is_cached(b.client, asking("PUT", URL, WHERRY_CACHE_USE, 60000)));
  CHECK_TEXT(miss(b.client, asking("PUT", URL, WHERRY_CACHE_ONLY, 0)), "missing");
}

TEST("K16 the cached response is delivered first, then the fresh one, marked if it is the same") {
  bench b = new_bench();
  wherry_request *both = asking("GET", URL, WHERRY_CACHE_THEN_NETWORK, 60000);
  wherry_queue *queue = new_queue();
  for (int round = 0; round < 2; round++) {
    send_request(b.client, both, queue, NULL);
    wherry_record record = {.size = sizeof record};
    size_t count = 0;
    if (round == 1) {
      REQUIRE_OK(wherry_queue_read(queue, &record, 1, 600000, &count));
      CHECK_INT(record.kind, WHERRY_EVENT_CACHED);
      CHECK_INT(record.flags, WHERRY_RECORD_FROM_CACHE);
      CHECK_BYTES(record.body, record.body_count, "{}", 2);
      CHECK(wherry_response_is_from_cache(wherry_event_response(record.event)));
      CHECK_OK(wherry_queue_release(queue, &record, 1));
    }
    REQUIRE_OK(wherry_queue_read(queue, &record, 1, 600000, &count));
    CHECK_INT(record.kind, WHERRY_EVENT_DONE);
    CHECK_INT(record.flags, round == 1 ? WHERRY_RECORD_UNCHANGED : 0);
    const wherry_response *response = wherry_event_response(record.event);
    CHECK_INT(wherry_response_is_unchanged(response), round == 1);
    CHECK(!wherry_response_is_from_cache(response));
    CHECK_OK(wherry_queue_release(queue, &record, 1));
  }
  CHECK_INT(wherry_stub_request_count(b.stub), 2);
}

TEST("K19 ignored parameters do not count; key headers and the partition separate users") {
  bench b = new_bench();
  for (int i = 0; i < 2; i++) {
    wherry_request *request = asking("GET", URL, WHERRY_CACHE_USE, 60000);
    CHECK_OK(wherry_request_set_parameter(request, "sign", i == 0 ? "1" : "2"));
    CHECK_OK(wherry_request_add_cache_ignored(request, "sign"));
    wherry_response *response = NULL;
    REQUIRE_OK(wherry_client_perform(b.client, request, &response));
    CHECK_INT(wherry_response_is_from_cache(response), i);
    CHECK_OK(wherry_response_free(response));
  }
  const char *users[] = {"anna", "berta"};
  for (int i = 0; i < 2; i++) {
    wherry_request *request = asking("GET", URL, WHERRY_CACHE_USE, 60000);
    CHECK_OK(wherry_request_set_text(request, WHERRY_TEXT_BEARER_TOKEN, users[i]));
    CHECK_OK(wherry_request_add_cache_header(request, "Authorization"));
    CHECK(!is_cached(b.client, request) && is_cached(b.client, request));
    request = asking("GET", URL, WHERRY_CACHE_USE, 60000);
    CHECK_OK(wherry_request_set_cache_partition(request, users[i]));
    CHECK(!is_cached(b.client, request) && is_cached(b.client, request));
    CHECK_OK(wherry_request_set_cache_partition(request, NULL));
    CHECK(is_cached(b.client, request));
  }
  CHECK_FAILS(wherry_request_add_cache_header(new_request("GET", URL), "a b"), WHERRY_E_ARGUMENT,
              "bad_header");
}

TEST("K19 SEC-C2 a request with other credentials never gets the response") {
  bench b = new_bench();
  wherry_client *other = cached_client(b.stub, "1");
  const char *names[] = {"Authorization", "Authorization", "Cookie", "cookie", "Accept"};
  const char *values[] = {"a", "b", "a", "b", NULL};
  for (int i = 0; i < 5; i++) {
    wherry_request *request = asking("GET", URL, WHERRY_CACHE_USE, 60000);
    CHECK_OK(wherry_request_set_header(request, names[i], values[i]));
    CHECK(!is_cached(b.client, request) && is_cached(other, request));
  }
  CHECK_INT(wherry_stub_request_count(b.stub), 5);
  wherry_request *part = asking("GET", URL, WHERRY_CACHE_USE, 60000);
  CHECK_OK(wherry_request_set_header(part, "Range", "bytes=0-9"));
  CHECK(!is_cached(b.client, part) && !is_cached(b.client, part));
}

TEST("C12 without usable storage requests succeed, and the reason is reported") {
  bench b = new_bench();
  /* After the client exists: otherwise creating it would fail. */
  check_write_file(check_path("storage"), "", 0);
  wherry_request *use = asking("GET", URL, WHERRY_CACHE_USE, 60000);
  CHECK(!is_cached(b.client, use) && !is_cached(b.client, use));
  wherry_cache_usage usage = {.size = sizeof usage};
  CHECK_FAILS(wherry_client_cache_usage(b.client, &usage), WHERRY_E_FILE, "bad_storage");
  usage.size = 0;
  CHECK_STATUS(wherry_client_cache_usage(b.client, &usage), WHERRY_E_ARGUMENT);
}
