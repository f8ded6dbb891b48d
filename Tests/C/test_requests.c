/* Wherry: rows R1 to R9 of features.md, from C: requests as sent
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

TEST("R1 GET, POST, PUT, and DELETE send their parameters") {
  wherry_client *client = new_client(NULL);
  const char *methods[] = {"GET", "DELETE", "POST", "PUT", "PATCH"};
  for (int i = 0; i < 5; i++) {
    wherry_request *request = new_request(methods[i], server_url("/echo"));
    CHECK_OK(wherry_request_set_parameter(request, "b", "2"));
    CHECK_OK(wherry_request_set_parameter(request, "a", "1"));
    outcome got = perform(client, request);
    REQUIRE_STATUS(got.status, WHERRY_OK);
    CHECK_INT(got.http_code, 200);
    CHECK_TEXT(echoed(&got, "method"), methods[i]);
    if (i < 2) {
      CHECK_TEXT(echoed_pairs(&got, "query"), "a=1&b=2");
      CHECK_TEXT(echoed_body(&got), "");
    } else {
      CHECK_TEXT(echoed_header(&got, "Content-Type"), "application/json");
      CHECK_TEXT(echoed(&got, "json/a"), "1");
      CHECK_TEXT(echoed(&got, "json/b"), "2");
      CHECK_TEXT(echoed_pairs(&got, "query"), "");
    }
  }
}

static void *send_elsewhere(void *argument) {
  void **given = argument; /* client, request, queue, URL */
  for (int i = 0; i < 50; i++)
    CHECK_OK(wherry_client_send_url(given[0], given[1], given[3], given[2], given[3], NULL));
  return NULL;
}

TEST("R1 several threads send one unchanged request to other URLs") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("PUT", server_url("/echo/own"));
  CHECK_OK(wherry_request_set_header(request, "X-Same", "1"));
  void *one[] = {client, request, queue, server_url("/echo/one")};
  void *two[] = {client, request, queue, server_url("/echo/two")};
  pthread_t threads[2];
  REQUIRE(pthread_create(&threads[0], NULL, send_elsewhere, one) == 0);
  REQUIRE(pthread_create(&threads[1], NULL, send_elsewhere, two) == 0);
  for (int i = 0; i < 100; i++) {
    outcome got = next_done(queue);
    CHECK_STATUS(got.status, WHERRY_OK);
    CHECK_TEXT(echoed(&got, "method"), "PUT");
    CHECK_TEXT(echoed(&got, "path"), got.user_data == one[3] ? "/echo/one" : "/echo/two");
    CHECK_TEXT(echoed_header(&got, "X-Same"), "1");
  }
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);

  CHECK_OK(wherry_client_send_url(client, request, NULL, queue, NULL, NULL));
  outcome got = next_done(queue);
  CHECK_TEXT(echoed(&got, "path"), "/echo/own");
  CHECK_STATUS(wherry_client_send_url(client, request, "nowhere", queue, NULL, NULL),
               WHERRY_E_ARGUMENT);
  CHECK(queue_is_empty(queue));
}

TEST("R2 without a method a request without parameters is GET, otherwise POST") {
  wherry_client *client = new_client(NULL);
  wherry_request *request = new_request(NULL, server_url("/echo"));
  CHECK_TEXT(wherry_request_method(request), "GET");
  outcome got = perform(client, request);
  CHECK_TEXT(echoed(&got, "method"), "GET");

  CHECK_OK(wherry_request_set_parameter(request, "a", "1"));

  CHECK_TEXT(wherry_request_method(request), "POST");
  got = perform(client, request);
  CHECK_TEXT(echoed(&got, "method"), "POST");
  CHECK_TEXT(echoed(&got, "json/a"), "1");
}

TEST("R3 HEAD returns headers and does not wait for a body") {
  outcome got = perform(new_client(NULL), new_request("HEAD", server_url("/bytes/1000000")));
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_INT(got.count, 0);
  CHECK_HOLDS(got.head, "Content-Length: 1000000\n");
}

TEST("R3 any token is a valid method, and other text is not") {
  wherry_client *client = new_client(NULL);
  const char *good[] = {"PURGE", "OPTIONS", "M-SEARCH", "PROPFIND"};
  for (int i = 0; i < 4; i++) {
    outcome got = perform(client, new_request(good[i], server_url("/echo")));
    CHECK_TEXT(echoed(&got, "method"), good[i]);
  }
  const char *bad[] = {"", "GET POST", "GET\r\nX: 1", "G\xc3\xa9T"};
  for (int i = 0; i < 4; i++) {
    wherry_request *request = NULL;
    CHECK_FAILS(wherry_request_new(bad[i], "/", &request), WHERRY_E_ARGUMENT, "bad_method");
    CHECK(request == NULL);
  }
}

TEST("R4 query, fields, JSON, and bytes are sent where requested") {
  wherry_client *client = new_client(NULL);
  wherry_request *request = new_request("POST", server_url("/echo?first=0"));
  CHECK_OK(wherry_request_add_query(request, "q", "1"));
  CHECK_OK(wherry_request_add_query(request, "q", "2"));
  CHECK_OK(wherry_request_add_field(request, "f", "a b&c"));
  outcome got = perform(client, request);
  CHECK_TEXT(echoed_pairs(&got, "query"), "first=0&q=1&q=2");
  CHECK_TEXT(echoed_header(&got, "Content-Type"), "application/x-www-form-urlencoded");
  CHECK_TEXT(echoed_body(&got), "f=a%20b%26c");

  request = new_request("PUT", server_url("/echo"));
  CHECK_OK(wherry_request_set_json(request, "{ \"x\":1.50 }", 12));
  got = perform(client, request);
  CHECK_TEXT(echoed_body(&got), "{ \"x\":1.50 }");
  CHECK_TEXT(echoed_header(&got, "Content-Type"), "application/json");

  request = new_request("POST", server_url("/echo"));
  CHECK_OK(wherry_request_set_json(request, "[]", 2));
  CHECK_OK(wherry_request_set_body(request, "raw", 3, "text/plain"));
  got = perform(client, request);
  CHECK_TEXT(echoed_body(&got), "raw");
  CHECK_TEXT(echoed_header(&got, "Content-Type"), "text/plain");

  wherry_json *value = new_json("{\"n\": 9007199254740993}", 23);
  CHECK_OK(wherry_request_set_json_value(request, value));
  got = perform(client, request);
  CHECK_HOLDS(echoed_body(&got), "9007199254740993");
}

TEST("R4 each method works with each encoding and with a query") {
  const char *methods[] = {"GET", "DELETE", "POST", "PUT", "PATCH", "OPTIONS"};
  enum { PARAMETERS, FIELDS, JSON_TEXT, BYTES, NOTHING, ENCODINGS };
  const char *types[] = {"application/json", "application/x-www-form-urlencoded",
                         "application/json", "text/x-note", NULL};
  wherry_client *client = new_client(NULL);
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
    for (int encoding = 0; encoding < ENCODINGS; encoding++) {
      wherry_request *request = new_request(methods[i], server_url("/echo?url=0"));
      bool goes_into_query = encoding == PARAMETERS && i < 2; /* GET and DELETE */
      const char *body = "";
      CHECK_OK(wherry_request_add_query(request, "q", "1"));
      switch (encoding) {
        case PARAMETERS:
          CHECK_OK(wherry_request_set_parameter(request, "a", "1"));
          CHECK_OK(wherry_request_set_parameters_json(request, "{\"b\":[2]}", 9));
          if (!goes_into_query) body = "{\"a\":\"1\",\"b\":[2]}";
          break;
        case FIELDS:
          CHECK_OK(wherry_request_add_field(request, "a", "x y"));
          body = "a=x%20y";
          break;
        case JSON_TEXT:
          CHECK_OK(wherry_request_set_json(request, "[1, 2]", 6));
          body = "[1, 2]";
          break;
        case BYTES:
          CHECK_OK(wherry_request_set_body(request, "raw", 3, "text/x-note"));
          body = "raw";
          break;
        default:
          break;
      }
      outcome got = perform(client, request);
      REQUIRE_STATUS(got.status, WHERRY_OK);
      CHECK_TEXT(echoed(&got, "method"), methods[i]);
      CHECK_TEXT(echoed_body(&got), body);
      CHECK_TEXT(echoed_header(&got, "Content-Type"), goes_into_query ? NULL : types[encoding]);
      CHECK_TEXT(echoed_pairs(&got, "query"),
                 goes_into_query ? "url=0&a=1&b[]=2&q=1" : "url=0&q=1");
    }
}

TEST("R5 DELETE and GET send a body, together with a query") {
  wherry_client *client = new_client(NULL);
  const char *methods[] = {"DELETE", "GET"};
  for (int i = 0; i < 2; i++) {
    wherry_request *request = new_request(methods[i], server_url("/echo"));
    CHECK_OK(wherry_request_add_query(request, "dry", "1"));
    CHECK_OK(wherry_request_set_json(request, "[1,2,3]", 7));
    outcome got = perform(client, request);
    CHECK_TEXT(echoed(&got, "method"), methods[i]);
    CHECK_TEXT(echoed_body(&got), "[1,2,3]");
    CHECK_TEXT(echoed_pairs(&got, "query"), "dry=1");
  }
}

TEST("R6 parameters are encoded byte for byte") {
  wherry_client *client = new_client(NULL);
  const struct {
    const char *json, *query;
  } rows[] = {
      {"{\"b\":\"2\",\"a\":\"1\"}", "a=1&b=2"},
      {"{\"a\":\"x+y&z=1\"}", "a=x%2By%26z%3D1"},
      {"{\"q\":\"a b?/c\"}", "q=a%20b?/c"},
      {"{\"o\":{\"b\":{\"c\":1}}}", "o%5Bb%5D%5Bc%5D=1"},
      {"{\"l\":[1,2,\"x\"]}", "l%5B%5D=1&l%5B%5D=2&l%5B%5D=x"},
      {"{\"n\":null}", "n"},
      {"{\"e\":\"\\ud83d\\ude00\"}", "e=%F0%9F%98%80"},
      {"{\"u\":\"-._~\"}", "u=-._~"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    wherry_request *request = new_request("GET", server_url("/echo"));
    CHECK_OK(wherry_request_set_parameters_json(request, rows[i].json, strlen(rows[i].json)));
    outcome got = perform(client, request);
    const char *target = echoed(&got, "target");
    REQUIRE(target != NULL && strchr(target, '?') != NULL);
    CHECK_TEXT(strchr(target, '?') + 1, rows[i].query);
  }
}

/* The message did not name the invalid one of several handles. */
TEST("bad_handle names the argument and its problem") {
  wherry_request *request = new_request("GET", server_url("/echo"));
  wherry_response *response = NULL;
  CHECK_FAILS(wherry_client_perform(NULL, request, &response), WHERRY_E_ARGUMENT, "bad_handle");
  CHECK_HOLDS(wherry_error_message(wherry_last_error()), "argument client is invalid: it is NULL");
  wherry_client *client = new_client(NULL);
  CHECK_FAILS(wherry_client_perform(client, (wherry_request *)client, &response), WHERRY_E_ARGUMENT,
              "bad_handle");
  CHECK_HOLDS(wherry_error_message(wherry_last_error()),
              "argument request is invalid: it is a handle of kind client");
  wherry_request *gone = NULL;
  REQUIRE_OK(wherry_request_copy(request, &gone));
  CHECK_OK(wherry_request_free(gone));
  CHECK_FAILS(wherry_client_perform(client, gone, &response), WHERRY_E_ARGUMENT, "bad_handle");
  CHECK_HOLDS(wherry_error_message(wherry_last_error()),
              "argument request is invalid: the handle was freed");
}

/* The last error names this argument. */
static void check_names(wherry_status status, const char *argument) {
  CHECK_STATUS(status, WHERRY_E_ARGUMENT);
  CHECK_TEXT(wherry_error_reason(wherry_last_error()), "bad_handle");
  CHECK_HOLDS(wherry_error_message(wherry_last_error()),
              check_format("argument %s is invalid", argument));
}

/* The message had the name of the kind, and so it blamed the valid one of two handles. */
TEST("bad_handle names the invalid one of two handles of a kind, as in the header") {
  wherry_json *json = new_json("{}", 2), *gone = NULL;
  REQUIRE_OK(wherry_json_new(&gone));
  CHECK_OK(wherry_json_free(gone));
  check_names(wherry_json_set_value(json, "a", gone), "value");
  check_names(wherry_json_set_value(gone, "a", json), "json");
  check_names(wherry_request_set_json_value(new_request("POST", "/"), gone), "value");
  check_names(wherry_request_set_json_value(NULL, json), "request");

  wherry_mapping *mapping = NULL, *freed = NULL;
  REQUIRE_OK(wherry_mapping_new(&mapping));
  REQUIRE_OK(wherry_mapping_new(&freed));
  CHECK_OK(wherry_mapping_free(freed));
  check_names(wherry_mapping_add(mapping, "a", NULL, WHERRY_FIELD_ITEM, 0, freed), "item");
  check_names(wherry_mapping_add(freed, "a", NULL, WHERRY_FIELD_ITEM, 0, mapping), "mapping");
  check_names(wherry_mapping_apply(mapping, json, NULL, gone), "record");
  check_names(wherry_mapping_apply(mapping, gone, NULL, json), "json");
  CHECK_OK(wherry_mapping_free(mapping));

  wherry_group *group = NULL, *inner = NULL;
  REQUIRE_OK(wherry_group_new(WHERRY_GROUP_FAIL_FAST, &group));
  REQUIRE_OK(wherry_group_new(WHERRY_GROUP_FAIL_FAST, &inner));
  CHECK_OK(wherry_group_free(inner));
  check_names(wherry_group_add_group(group, inner, NULL), "inner");
  check_names(wherry_group_add_group(inner, group, NULL), "group");
  CHECK_OK(wherry_group_free(group));

  wherry_endpoint *endpoint = NULL;
  REQUIRE_OK(
      wherry_endpoint_new(new_client(NULL), new_request("GET", "/"), new_queue(), NULL, &endpoint));
  check_names(wherry_endpoint_access(endpoint, gone, NULL), "parameters");
  CHECK_OK(wherry_endpoint_free(endpoint));

  wherry_sectioned_list *sections = NULL, *ended = NULL;
  REQUIRE_OK(wherry_sectioned_list_new(&sections));
  REQUIRE_OK(wherry_sectioned_list_new(&ended));
  CHECK_OK(wherry_sectioned_list_free(ended));
  check_names(wherry_sectioned_list_free(ended), "sections");
  check_names(wherry_sectioned_list_append(ended, 0, json, NULL), "sections");
  check_names(wherry_sectioned_list_append(sections, 0, gone, NULL), "items");
  check_names(wherry_sectioned_list_replace(sections, 0, 0, gone, NULL), "item");
  check_names(wherry_sectioned_list_replace_section(sections, 0, NULL, NULL, gone, NULL), "items");
  CHECK_OK(wherry_sectioned_list_free(sections));
}

/* A message repeated a URL of 80 MB. */
TEST("a message shortens a long URL") {
  wherry_client *client = new_client(NULL);
  const char *starts[] = {"http://[", "ftp://example.org/"};
  for (int i = 0; i < 2; i++) {
    char *url = check_memory(5000001);
    memset(url, 'a', 5000000);
    memcpy(url, starts[i], strlen(starts[i]));
    url[5000000] = '\0';
    outcome got = perform(client, new_request("GET", url));
    CHECK_STATUS(got.status, WHERRY_E_ARGUMENT);
    CHECK(strlen(got.message) < 700);
    CHECK_HOLDS(got.message, check_format("%.100s", url));
  }
}

TEST("R8 a value that JSON cannot represent is an error, and nothing is sent") {
  wherry_request *request = new_request("POST", server_url("/echo"));
  const char *bad[] = {"{\"a\": NaN}", "[1,", "{\"a\":1}x", "\"\xff\"", "'a'", ""};
  for (int i = 0; i < 6; i++) {
    CHECK_FAILS(wherry_request_set_json(request, bad[i], strlen(bad[i])), WHERRY_E_ARGUMENT,
                "bad_json");
    CHECK_FAILS(wherry_request_set_parameters_json(request, bad[i], strlen(bad[i])),
                WHERRY_E_ARGUMENT, "bad_parameters");
  }
  CHECK_FAILS(wherry_request_set_parameters_json(request, "[1]", 3), WHERRY_E_ARGUMENT,
              "bad_parameters");
  CHECK_INT(server_count("requests"), 0);
}

TEST("R9 a file body is not held in memory") {
  size_t mebibytes = check_in_full() ? 100 : 40;
  const char *path = check_path("body");
  size_t count = mebibytes << 20;
  check_write_file(path, "", 0);
  REQUIRE_INT(truncate(path, (off_t)count), 0); /* sparse: it takes no space on the disk */
  wherry_client *client = new_client(NULL);
  perform(client, new_request("GET", server_url("/empty")));
  long before = check_resident_kib();

  wherry_request *request = new_request("PUT", server_url("/sink"));
  CHECK_OK(wherry_request_set_body_file(request, path, "application/octet-stream"));
  outcome got = send_and_wait(client, request);

  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_HOLDS(got.body, check_format("\"bytes\": %zu", count));
  CHECK_GROWTH(before, 12 * 1024);
}

TEST("R9 a body of bytes may be freed at once, and NULs are sent") {
  wherry_client *client = new_client(NULL);
  wherry_request *request = new_request("POST", server_url("/sink"));
  char bytes[] = {'a', 0, 'b', 0};
  CHECK_OK(wherry_request_set_body(request, bytes, sizeof bytes, "application/octet-stream"));
  memset(bytes, 'z', sizeof bytes);
  outcome got = perform(client, request);
  CHECK_HOLDS(got.body, "\"bytes\": 4");
  CHECK_HOLDS(got.body, "8fb20ef63ced4145fc2e983ffe597d1dcff39154c3bf21f0fa9dde6a0c50fdc9");
}

TEST("R3 HEAD with a body, CONNECT and TRACE are not sent") {
  wherry_client *client = new_client(NULL);
  wherry_response *response = NULL;
  wherry_request *request = new_request("HEAD", server_url("/echo"));
  CHECK_OK(wherry_request_set_body(request, "x", 1, NULL));
  CHECK_FAILS(wherry_client_perform(client, request, &response), WHERRY_E_ARGUMENT, "bad_method");
  const char *methods[] = {"CONNECT", "TRACE", "trace"};
  for (size_t i = 0; i < 3; i++) {
    wherry_request *refused = NULL;
    CHECK_FAILS(wherry_request_new(methods[i], server_url("/echo"), &refused), WHERRY_E_ARGUMENT,
                "bad_method");
  }
  CHECK_INT(server_count("requests"), 0);
}

TEST("K3 repeated getters on a request use no more memory") {
  static char url[10000], last[200];
  wherry_request *request = new_request("GET", "http://127.0.0.1/");
  long before = 0;
  int rounds = check_in_full() ? 20000 : 5000;
  for (int i = 0; i < rounds; i++) {
    if (i == 1000) before = check_resident_kib();
    memset(url, 'a', sizeof url - 1);
    int count = snprintf(url, sizeof url, "http://127.0.0.1/%08d", i);
    url[count] = '/';
    CHECK_OK(wherry_request_set_url(request, url));
    const char *identifier = wherry_request_identifier(request, NULL);
    REQUIRE(identifier != NULL && strcmp(identifier, last) != 0);
    snprintf(last, sizeof last, "%s", identifier);
    REQUIRE(strcmp(wherry_request_url(request), url) == 0);
  }
  CHECK_GROWTH(before, check_in_full() ? 64 * 1024 : 16 * 1024);
}
