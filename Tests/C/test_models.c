/* Wherry: rows O1 to O9 of features.md, from C: mappings and endpoints
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

/* A case table, parsed with the library's own functions. */
static wherry_json *table(const char *name) {
  long count;
  char *text = check_read_file(check_format("%s/%s", WHERRY_SCENARIOS, name), &count);
  REQUIRE(text != NULL);
  wherry_json *json = new_json(text, (size_t)count);
  REQUIRE(wherry_json_count(json, "cases") > 0);
  return json;
}

static bool has(const wherry_json *json, const char *path) {
  return wherry_json_get_type(json, path) != WHERRY_JSON_MISSING;
}

static char *text_at(const wherry_json *json, const char *path) {
  const char *text = wherry_json_get_text(json, path, NULL, NULL);
  return text == NULL ? NULL : check_format("%s", text);
}

static wherry_mapping *mapping_of(const wherry_json *json, const char *path);

/* Adds a field whose type the table has at a path: a word, {"array": type} or {"item": fields}. */
static void add_field(wherry_mapping *mapping, const char *name, const char *path,
                      const wherry_json *json, const char *type) {
  static const char *const words[] = {"value", "text", "integer", "number", "bool"};
  int32_t arrays = 0;
  char *at = check_format("%s", type);
  while (has(json, check_format("%s/array", at))) {
    at = check_format("%s/array", at);
    arrays++;
  }
  if (has(json, check_format("%s/item", at))) {
    wherry_mapping *item = mapping_of(json, check_format("%s/item", at));
    REQUIRE_OK(wherry_mapping_add(mapping, name, path, WHERRY_FIELD_ITEM, arrays, item));
    CHECK_OK(wherry_mapping_free(item));
    return;
  }
  const char *word = text_at(json, at);
  for (int i = 0; i < 5; i++)
    if (word != NULL && strcmp(words[i], word) == 0) {
      REQUIRE_OK(wherry_mapping_add(mapping, name, path, (wherry_field_type)i, arrays, NULL));
      return;
    }
  REQUIRE(false);
}

static wherry_mapping *mapping_of(const wherry_json *json, const char *path) {
  wherry_mapping *mapping = NULL;
  REQUIRE_OK(wherry_mapping_new(&mapping));
  for (size_t i = 0; i < wherry_json_count(json, path); i++)
    add_field(mapping, text_at(json, check_format("%s/%zu/0", path, i)),
              text_at(json, check_format("%s/%zu/1", path, i)), json,
              check_format("%s/%zu/2", path, i));
  return mapping;
}

TEST("O8 conversions match the table") {
  wherry_json *cases = table("conversions.json");
  for (size_t i = 0; i < wherry_json_count(cases, "cases"); i++) {
    wherry_json *one = json_at(cases, check_format("cases/%zu", i));
    wherry_mapping *mapping = NULL;
    wherry_json *json = new_json("{}", 2), *record = NULL, *problems = NULL;
    REQUIRE_OK(wherry_mapping_new(&mapping));
    add_field(mapping, "a", NULL, one, "type");
    wherry_json *value = json_at(one, "value");
    REQUIRE_OK(wherry_json_set_value(json, "a", value));
    REQUIRE_OK(wherry_json_new(&record));
    CHECK_OK(wherry_mapping_apply(mapping, json, NULL, record));
    REQUIRE_OK(wherry_mapping_check(mapping, json, NULL, &problems));
    if (has(one, "gives")) {
      CHECK_TEXT(json_text_at(record, "a"), json_text_at(one, "gives"));
      CHECK_INT(wherry_json_count(problems, NULL), 0);
    } else {
      CHECK(!has(record, "a"));
      CHECK_INT(wherry_json_count(problems, NULL), has(one, "problem") ? 1 : 0);
      if (has(one, "problem")) CHECK_TEXT(text_at(problems, "0/kind"), text_at(one, "problem"));
    }
    wherry_json_free(problems);
    wherry_json_free(record);
    wherry_json_free(value);
    wherry_mapping_free(mapping);
    wherry_json_free(one);
  }
}

TEST("O7 field mappings match the table") {
  wherry_json *cases = table("item-mapping.json");
  for (size_t i = 0; i < wherry_json_count(cases, "cases"); i++) {
    wherry_json *one = json_at(cases, check_format("cases/%zu", i));
    wherry_mapping *mapping = mapping_of(one, "fields");
    wherry_json *record = NULL, *problems = NULL;
    if (has(one, "before")) record = json_at(one, "before");
    else REQUIRE_OK(wherry_json_new(&record));
    CHECK_OK(wherry_mapping_apply(mapping, one, "json", record));
    CHECK_TEXT(json_text_at(record, ""), json_text_at(one, "record"));
    REQUIRE_OK(wherry_mapping_check(mapping, one, "json", &problems));
    CHECK_INT(wherry_json_count(problems, NULL), wherry_json_count(one, "problems"));
    for (size_t k = 0; k < wherry_json_count(problems, NULL); k++) {
      CHECK_TEXT(text_at(problems, check_format("%zu/path", k)),
                 text_at(one, check_format("problems/%zu/0", k)));
      CHECK_TEXT(text_at(problems, check_format("%zu/kind", k)),
                 text_at(one, check_format("problems/%zu/1", k)));
    }
    wherry_json_free(problems);
    wherry_json_free(record);
    wherry_mapping_free(mapping);
    wherry_json_free(one);
  }
}

TEST("O7 an invalid mapping is refused") {
  wherry_mapping *mapping = NULL, *item = NULL;
  REQUIRE_OK(wherry_mapping_new(&mapping));
  REQUIRE_OK(wherry_mapping_new(&item));
  CHECK_FAILS(wherry_mapping_add(mapping, NULL, NULL, WHERRY_FIELD_TEXT, 0, NULL),
              WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_FAILS(wherry_mapping_add(mapping, "a", NULL, WHERRY_FIELD_ITEM, 0, NULL), WHERRY_E_ARGUMENT,
              "bad_argument");
  CHECK_FAILS(wherry_mapping_add(mapping, "a", NULL, WHERRY_FIELD_TEXT, 0, item), WHERRY_E_ARGUMENT,
              "bad_argument");
  CHECK_FAILS(wherry_mapping_add(mapping, "a", NULL, WHERRY_FIELD_TEXT, 17, NULL),
              WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_FAILS(wherry_mapping_add(mapping, "a", NULL, WHERRY_FIELD_TEXT, -1, NULL),
              WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_FAILS(wherry_mapping_add(mapping, "a", NULL, (wherry_field_type)6, 0, NULL),
              WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_FAILS(wherry_mapping_add(mapping, "\xff", NULL, WHERRY_FIELD_TEXT, 0, NULL),
              WHERRY_E_ARGUMENT, "bad_text");
  /* A mapping is a value: adding it to itself adds a copy. Too much depth is an error, not a crash.
   * */
  wherry_status status = WHERRY_OK;
  int depth = 0;
  while (status == WHERRY_OK && depth < 100) {
    status = wherry_mapping_add(mapping, "a", NULL, WHERRY_FIELD_ITEM, 0, mapping);
    depth++;
  }
  CHECK_STATUS(status, WHERRY_E_ARGUMENT);
  CHECK_INT(depth, 16);
  wherry_json *list = new_json("[]", 2);
  CHECK_FAILS(wherry_mapping_apply(item, list, NULL, list), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_OK(wherry_mapping_free(item));
  CHECK_OK(wherry_mapping_free(mapping));
  CHECK_FAILS(wherry_mapping_free(mapping), WHERRY_E_ARGUMENT, "bad_handle");
}

TEST("O9 paths match the table, and a missing value gives the default") {
  wherry_json *cases = table("json-paths.json");
  for (size_t i = 0; i < wherry_json_count(cases, "cases"); i++) {
    wherry_json *one = json_at(cases, check_format("cases/%zu", i));
    const char *path = check_format("json/%s", text_at(one, "path"));
    for (int otherwise = 0; otherwise < 2; otherwise++) {
      CHECK_INT(wherry_json_get_bool(cases, path, otherwise),
                wherry_json_get_bool(one, "bool", otherwise));
      CHECK_INT(wherry_json_get_integer(cases, path, otherwise - 1),
                wherry_json_get_integer(one, "integer", otherwise - 1));
    }
    uint64_t expected = wherry_json_get_unsigned(one, "integer", 77);
    CHECK(wherry_json_get_unsigned(cases, path, 77) ==
          wherry_json_get_unsigned(one, "unsigned", expected));
    CHECK(wherry_json_get_number(cases, path, -0.5) == wherry_json_get_number(one, "number", -0.5));
    CHECK_TEXT(wherry_json_get_text(cases, path, "?", NULL),
               has(one, "text") ? text_at(one, "text") : "?");
    if (has(one, "array")) {
      CHECK_INT(wherry_json_get_type(cases, path), WHERRY_JSON_ARRAY);
      CHECK_INT(wherry_json_count(cases, path), wherry_json_get_integer(one, "array", -1));
    }
    if (has(one, "object")) {
      CHECK_INT(wherry_json_get_type(cases, path), WHERRY_JSON_OBJECT);
      CHECK_INT(wherry_json_count(cases, path), wherry_json_get_integer(one, "object", -1));
    }
    wherry_json_free(one);
  }
}

TEST("O1 server URLs match the table") {
  wherry_json *cases = table("server-urls.json");
  for (size_t i = 0; i < wherry_json_count(cases, "cases"); i++) {
    wherry_json *one = json_at(cases, check_format("cases/%zu", i));
    wherry_request *request = new_request("GET", "before");
    wherry_status status =
        wherry_request_set_server(request, text_at(one, "server"), text_at(one, "path"));
    if (has(one, "error")) {
      CHECK_FAILS(status, WHERRY_E_ARGUMENT, text_at(one, "error"));
    } else {
      wherry_stub *stub = new_stub();
      CHECK_OK(status);
      CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, NULL, "", 0));
      CHECK_OK(perform(new_stub_client(stub), request).status);
      wherry_response *echo = NULL;
      REQUIRE_OK(wherry_stub_copy_request(stub, 0, &echo));
      const char *url = text_at(one, "url");
      /* A URL without a path is sent with the root path. */
      const char *sent = wherry_response_url(echo);
      CHECK(strcmp(sent, url) == 0 || strcmp(sent, check_format("%s/", url)) == 0);
      CHECK_OK(wherry_response_free(echo));
    }
    wherry_json_free(one);
  }
}

static wherry_endpoint *endpoint_of(wherry_client *client, const wherry_request *request,
                                    wherry_queue *queue) {
  wherry_endpoint *endpoint = NULL;
  REQUIRE_OK(wherry_endpoint_new(client, request, queue, &endpoint_of, &endpoint));
  return endpoint;
}

TEST("O1 parameters and files of an access form a multipart body") {
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("POST", "before");
  CHECK_OK(wherry_request_set_server(request, server_url("/"), "echo"));
  CHECK_OK(wherry_request_add_part(request, "f", "content", 7, "f.txt", NULL));
  wherry_endpoint *endpoint = endpoint_of(new_client(NULL), request, queue);
  CHECK_OK(wherry_endpoint_access(endpoint, new_json("{\"a\": 1}", 8), NULL));
  outcome got = next_done(queue);
  CHECK_OK(got.status);
  CHECK(got.user_data == &endpoint_of);
  wherry_json *echo = new_json(got.body, got.count);
  CHECK_INT(wherry_json_count(echo, "parts"), 2);
  CHECK_FAILS(wherry_endpoint_access(endpoint, new_json("[]", 2), NULL), WHERRY_E_ARGUMENT,
              "bad_parameters");
  CHECK_OK(wherry_endpoint_free(endpoint));
  CHECK_FAILS(wherry_endpoint_free(endpoint), WHERRY_E_ARGUMENT, "bad_handle");
}

TEST("O2 a new access cancels the previous one as replaced, and refresh repeats the last") {
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("GET", server_url("/faulty-echo?gate=held&gate_times=1"));
  wherry_endpoint *endpoint = endpoint_of(new_client(NULL), request, queue);
  CHECK_INT(wherry_endpoint_state(endpoint), WHERRY_STATE_NONE);
  wherry_transfer *first = NULL, *second = NULL;
  REQUIRE_OK(wherry_endpoint_access(endpoint, new_json("{\"n\": 1}", 8), &first));
  REQUIRE(server_wait("requests=1"));
  CHECK_INT(wherry_endpoint_state(endpoint), WHERRY_STATE_RUNNING);
  REQUIRE_OK(wherry_endpoint_access(endpoint, new_json("{\"n\": 2}", 8), &second));
  outcome got = next_done(queue);
  CHECK_INT(got.id, wherry_transfer_id(first));
  CHECK_STATUS(got.status, WHERRY_E_CANCELLED);
  CHECK_TEXT(got.reason, "replaced");
  got = next_done(queue);
  CHECK_INT(got.id, wherry_transfer_id(second));
  CHECK_OK(got.status);
  CHECK_HOLDS(got.body, "n=2");
  CHECK_INT(wherry_endpoint_state(endpoint), WHERRY_STATE_DONE);
  REQUIRE_OK(wherry_endpoint_access(endpoint, NULL, NULL));
  CHECK_HOLDS(next_done(queue).body, "n=2");
  CHECK(queue_is_empty(queue));
  CHECK_OK(wherry_transfer_free(first));
  CHECK_OK(wherry_transfer_free(second));
  CHECK_OK(wherry_endpoint_free(endpoint));
}

TEST("O2 cancelling and freeing end an access in flight") {
  wherry_queue *queue = new_queue();
  wherry_client *client = new_client(NULL);
  wherry_endpoint *endpoint = endpoint_of(client, new_request("GET", server_url("/silent")), queue);
  CHECK_OK(wherry_endpoint_cancel(endpoint));
  REQUIRE_OK(wherry_endpoint_access(endpoint, NULL, NULL));
  CHECK_OK(wherry_endpoint_cancel(endpoint));
  CHECK_TEXT(next_done(queue).reason, "cancelled");
  CHECK_INT(wherry_endpoint_state(endpoint), WHERRY_STATE_CANCELLED);
  REQUIRE_OK(wherry_endpoint_access(endpoint, NULL, NULL));
  CHECK_OK(wherry_endpoint_free(endpoint));
  CHECK_TEXT(next_done(queue).reason, "cancelled");
  CHECK(queue_is_empty(queue));
}

TEST("O3 O4 the last response has bytes, text, JSON, and times") {
  wherry_queue *queue = new_queue();
  wherry_endpoint *endpoint = endpoint_of(
      new_client(NULL), new_request("GET", server_url("/json?value=[7]&delay_ms=30")), queue);
  wherry_json *json = NULL;
  wherry_timing timing = {.size = sizeof timing};
  CHECK_FAILS(wherry_endpoint_json(endpoint, &json), WHERRY_E_STATE, "wrong_state");
  CHECK_FAILS(wherry_endpoint_timing(endpoint, &timing), WHERRY_E_STATE, "wrong_state");
  REQUIRE_OK(wherry_endpoint_access(endpoint, NULL, NULL));
  outcome got = next_done(queue);
  CHECK_TEXT(got.body, "[7]");
  CHECK_OK(wherry_endpoint_timing(endpoint, &timing));
  CHECK_INT(timing.parse_us, 0);
  CHECK(timing.started_us > 0 && timing.first_byte_us >= 30000);
  CHECK(timing.network_us >= timing.first_byte_us);
  CHECK(timing.total_us >= timing.network_us - 2000);
  CHECK(timing.queued_us + timing.lookup_us + timing.connect_us + timing.tls_us <=
        timing.first_byte_us + 2000);
  REQUIRE_OK(wherry_endpoint_json(endpoint, &json));
  CHECK_INT(wherry_json_get_integer(json, "0", 0), 7);
  CHECK_OK(wherry_json_free(json));
  wherry_timing none = {.size = 0};
  CHECK_FAILS(wherry_endpoint_timing(endpoint, &none), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_OK(wherry_endpoint_free(endpoint));
}

TEST("O5 two concurrent loads send one request; without an address nothing is sent") {
  wherry_queue *queue = new_queue();
  wherry_client *client = new_client(NULL);
  wherry_endpoint *endpoint =
      endpoint_of(client, new_request("GET", server_url("/json?gate=held")), queue);
  wherry_transfer *first = NULL, *second = (wherry_transfer *)queue;
  REQUIRE_OK(wherry_endpoint_load(endpoint, &first));
  CHECK(first != NULL);
  REQUIRE(server_wait("requests=1"));
  CHECK_OK(wherry_endpoint_load(endpoint, &second));
  CHECK(second == NULL);
  CHECK_OK(wherry_endpoint_load(endpoint, NULL));
  server_open("held");
  CHECK_OK(next_done(queue).status);
  CHECK(queue_is_empty(queue));
  CHECK_INT(server_count("requests"), 1);
  REQUIRE_OK(wherry_endpoint_load(endpoint, &second));
  CHECK(second != NULL);
  CHECK_OK(next_done(queue).status);
  CHECK_OK(wherry_transfer_free(first));
  CHECK_OK(wherry_transfer_free(second));
  CHECK_OK(wherry_endpoint_free(endpoint));

  endpoint = endpoint_of(client, new_request("GET", ""), queue);
  CHECK_FAILS(wherry_endpoint_load(endpoint, &first), WHERRY_E_ARGUMENT, "bad_url");
  CHECK_INT(wherry_endpoint_state(endpoint), WHERRY_STATE_NONE);
  CHECK_OK(wherry_endpoint_free(endpoint));
}

TEST("O2 an endpoint outlives its client and its queue, and reports that they are gone") {
  wherry_queue *queue = new_queue();
  wherry_client *client = new_client(NULL);
  wherry_endpoint *endpoint = endpoint_of(client, new_request("GET", server_url("/silent")), queue);
  REQUIRE_OK(wherry_endpoint_access(endpoint, NULL, NULL));
  CHECK_OK(wherry_client_free(client));
  CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
  CHECK_FAILS(wherry_endpoint_access(endpoint, NULL, NULL), WHERRY_E_STATE, "closed");
  CHECK_OK(wherry_queue_free(queue));
  CHECK_OK(wherry_endpoint_free(endpoint));
}
