/* Wherry: rows R10 to R27 of features.md, from C: responses
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

TEST("R10 a status from 200 to 299 succeeds, and a request may accept others") {
  wherry_client *client = new_client(NULL);
  const struct {
    int code;
    wherry_status status;
  } rows[] = {{200, WHERRY_OK},     {204, WHERRY_OK},     {299, WHERRY_OK},
              {400, WHERRY_E_HTTP}, {404, WHERRY_E_HTTP}, {500, WHERRY_E_HTTP}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    outcome got = perform(client, new_request("GET", server_url("/status/%d", rows[i].code)));
    CHECK_STATUS(got.status, rows[i].status);
    CHECK_INT(got.http_code, rows[i].code);
    CHECK_TEXT(got.reason, rows[i].status == WHERRY_OK ? "" : "http_status");
  }
  wherry_request *request = new_request("GET", server_url("/status/404"));
  CHECK_OK(wherry_request_accept_status(request, 404));
  CHECK_STATUS(perform(client, request).status, WHERRY_OK);
  request = new_request("GET", server_url("/status/300"));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_ACCEPT_STATUS_MAX, 300));
  CHECK_STATUS(perform(client, request).status, WHERRY_OK);
  request = new_request("GET", server_url("/status/200"));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_ACCEPT_STATUS_MIN, 201));
  CHECK_STATUS(perform(client, request).status, WHERRY_E_HTTP);
}

TEST("R10 304 and 300 are failures, and an interim response is no final response") {
  wherry_client *client = new_client(NULL);
  outcome got = perform(client, new_request("GET", server_url("/status/304")));
  CHECK_STATUS(got.status, WHERRY_E_HTTP);
  CHECK_INT(got.http_code, 304);
  CHECK_INT(got.count, 0);
  got = perform(client, new_request("GET", server_url("/status/300?body=many")));
  CHECK_STATUS(got.status, WHERRY_E_HTTP);
  CHECK_INT(got.http_code, 300);
  CHECK_TEXT(got.body, "many");
  wherry_request *request = new_request("GET", server_url("/status/304"));
  CHECK_OK(wherry_request_accept_status(request, 304));
  CHECK_STATUS(perform(client, request).status, WHERRY_OK);

  got = perform(client, new_request("GET", server_url("/status/199?then=200&body=x")));
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_INT(got.http_code, 200);
  got = perform(client, new_request("GET", server_url("/status/199?then=404")));
  CHECK_STATUS(got.status, WHERRY_E_HTTP);
  CHECK_INT(got.http_code, 404);
  server_script(
      "{\"interim\": [{\"raw\": [[\"send\", \"HTTP/1.1 199 Wait\\r\\n\\r\\n\"], [\"fin\"]]}]}");
  got = perform(client, new_request("GET", server_url("/s/interim")));
  CHECK_STATUS(got.status, WHERRY_E_NETWORK);
}

TEST("R16 informational responses are listed for the final response only") {
  wherry_client *client = new_client(NULL);
  server_script(
      "{\"hints\": [{\"raw\": [[\"send\", \"HTTP/1.1 103 Early Hints\\r\\nLink: </a.css>\\r\\n"
      "X-N: 1\\r\\n\\r\\nHTTP/1.1 102 Processing\\r\\n\\r\\nHTTP/1.1 200 OK\\r\\n"
      "Content-Length: 2\\r\\n\\r\\nok\"], [\"fin\"]]}]}");
  wherry_response *response = NULL;
  REQUIRE_OK(wherry_client_perform(client, new_request("GET", server_url("/s/hints")), &response));
  int32_t code = 0;
  const char *fields = NULL;
  REQUIRE(wherry_response_informational_at(response, 0, &code, &fields));
  CHECK_INT(code, 103);
  CHECK_TEXT(fields, "Link: </a.css>\nX-N: 1\n");
  REQUIRE(wherry_response_informational_at(response, 1, &code, &fields));
  CHECK_INT(code, 102);
  CHECK_TEXT(fields, "");
  CHECK(!wherry_response_informational_at(response, 2, &code, &fields));
  CHECK(!wherry_response_informational_at(NULL, 0, NULL, NULL));
  CHECK_OK(wherry_response_free(response));
}

TEST("C15 without keep-alive each request closes its connection") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_option(config, WHERRY_OPTION_KEEP_ALIVE, 0));
  wherry_client *client = new_client(config);
  for (int i = 0; i < 2; i++) {
    wherry_response *response = NULL;
    REQUIRE_OK(wherry_client_perform(client, new_request("GET", server_url("/echo")), &response));
    size_t count;
    const char *echo = wherry_response_text(response, &count);
    CHECK_HOLDS(echo, "\"close\"");
    CHECK_HOLDS(echo, "\"index\": 1");
    CHECK_OK(wherry_response_free(response));
  }
}

TEST("C15 the error for a Connection header names the option") {
  wherry_client *client = new_client(NULL);
  wherry_request *request = new_request("GET", server_url("/echo"));
  CHECK_FAILS(wherry_request_set_header(request, "Connection", "close"), WHERRY_E_ARGUMENT,
              "bad_header");
  CHECK_HOLDS(wherry_error_message(wherry_last_error()), "keep_alive");
  CHECK_FAILS(wherry_client_set_header(client, "connection", "close"), WHERRY_E_ARGUMENT,
              "bad_header");
}

TEST("R11 a rejected status takes precedence over a wrong type, which is its cause") {
  wherry_client *client = new_client(NULL);
  wherry_request *request =
      new_request("GET", server_url("/status/500?type=application/octet-stream&body=oh"));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_JSON_ONLY, 1));
  wherry_response *response = NULL;
  CHECK_FAILS(wherry_client_perform(client, request, &response), WHERRY_E_HTTP, "http_status");
  const wherry_error *beneath = wherry_error_underlying(wherry_last_error());
  CHECK_TEXT(wherry_error_reason(beneath), "content_type");
  CHECK_TEXT(check_format("%.2s", (const char *)wherry_response_body(response, NULL)), "oh");
  CHECK_OK(wherry_response_free(response));
}

TEST("R11 an invalid JSON body is refused and stays readable") {
  wherry_client *client = new_client(NULL);
  const struct {
    const char *path, *body, *reason;
  } rows[] = {{"/status/200?type=application/json&body=%7B", "{", "bad_json_body"},
              {"/status/200?type=text/html&body=%3Cp%3E", "<p>", "bad_json_body"},
              {"/status/200?type=text/html&body=%5B1%5D", "[1]", ""},
              {"/status/204", "", ""},
              {"/empty", "", ""},
              {"/space", " ", ""}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    wherry_request *request = new_request("GET", server_url("%s", rows[i].path));
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_JSON_ONLY, 1));
    outcome got = perform(client, request);
    CHECK_STATUS(got.status, *rows[i].reason ? WHERRY_E_HTTP : WHERRY_OK);
    CHECK_TEXT(got.reason, rows[i].reason);
    CHECK_TEXT(got.body, rows[i].body);
  }
}

TEST("R11 the content type matters only if JSON is requested, and the body stays readable") {
  wherry_client *client = new_client(NULL);
  const struct {
    const char *type, *reason;
  } rows[] = {{"application/json", ""},
              {"text/json; charset=utf-8", ""},
              {"text/html", ""},
              {"text/plain", ""},
              {"application/octet-stream", "content_type"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *url = server_url("/json?value=%%7B%%22a%%22:1%%7D&type=%s", rows[i].type);
    char *clean = check_format("%s", url);
    for (char *c = clean; *c; c++)
      if (*c == ' ') *c = '+';
    outcome got = perform(client, new_request("GET", clean));
    CHECK_STATUS(got.status, WHERRY_OK);
    wherry_request *request = new_request("GET", clean);
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_JSON_ONLY, 1));
    got = perform(client, request);
    CHECK_TEXT(got.reason, rows[i].reason);
    CHECK_HOLDS(got.body, "\"a\"");
  }
}

TEST("R12 an empty body or a single space is a null value") {
  wherry_client *client = new_client(NULL);
  const char *paths[] = {"/status/204", "/empty", "/space"};
  for (int i = 0; i < 3; i++) {
    wherry_response *response = NULL;
    wherry_json *json = NULL;
    REQUIRE_OK(
        wherry_client_perform(client, new_request("GET", server_url("%s", paths[i])), &response));
    CHECK_OK(wherry_response_json(response, &json));
    CHECK_INT(wherry_json_get_type(json, NULL), WHERRY_JSON_NULL);
    CHECK_OK(wherry_json_free(json));
    CHECK_OK(wherry_response_free(response));
  }
  wherry_response *response = NULL;
  wherry_json *json = NULL;
  wherry_request *request = new_request("GET", server_url("/json?value=%%7B%%22a%%22:null%%7D"));
  REQUIRE_OK(wherry_client_perform(client, request, &response));
  CHECK_OK(wherry_response_json(response, &json));
  CHECK_INT(wherry_json_get_type(json, "a"), WHERRY_JSON_NULL);
  CHECK_INT(wherry_json_get_type(json, "b"), WHERRY_JSON_MISSING);
  CHECK_OK(wherry_json_free(json));
  CHECK_OK(wherry_response_free(response));
  request = new_request("GET", server_url("/bytes/20"));
  REQUIRE_OK(wherry_client_perform(client, request, &response));
  json = NULL;
  CHECK_FAILS(wherry_response_json(response, &json), WHERRY_E_HTTP, "bad_json_body");
  CHECK(json == NULL);
  CHECK_OK(wherry_response_free(response));
}

TEST("R14 a response has status, headers, bytes, URL, and times, and outlives its event") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  const char *url = server_url("/bytes/1000?header=X-Two:1&header=X-Two:2");
  send_request(client, new_request("GET", url), queue, NULL);
  wherry_event *event = next_event(queue, WHERRY_EVENT_DONE);
  wherry_response *response = NULL;
  CHECK_STATUS(wherry_event_status(event), WHERRY_OK);
  CHECK(wherry_event_error(event) == NULL);
  CHECK_OK(wherry_response_copy(wherry_event_response(event), &response));
  CHECK_OK(wherry_event_free(event));

  size_t count = 0;
  const uint8_t *body = wherry_response_body(response, &count);
  CHECK_INT(wherry_response_http_code(response), 200);
  CHECK_INT(count, 1000);
  CHECK(is_pattern(body, count, 0));
  CHECK_TEXT(wherry_response_url(response), url);
  CHECK(!wherry_response_is_from_cache(response));
  CHECK_TEXT(wherry_response_header(response, "content-TYPE"), "application/octet-stream");
  CHECK_TEXT(wherry_response_header(response, "X-Two"), "1");
  CHECK_TEXT(wherry_response_header(response, "X-None"), NULL);
  int twos = 0;
  const char *name, *value;
  for (size_t i = 0; wherry_response_header_at(response, i, &name, &value); i++)
    twos += strcmp(name, "X-Two") == 0;
  CHECK_INT(twos, 2);
  CHECK_TEXT(wherry_response_remote_address(response), "127.0.0.1");
  CHECK_TEXT(wherry_response_suggested_name(response), "1000");
  wherry_metrics metrics = {.size = sizeof metrics};
  CHECK_OK(wherry_response_metrics(response, &metrics));
  CHECK_INT(metrics.http_version, 11);
  CHECK(metrics.total_us > 0);
  CHECK(metrics.received_bytes > 1000);
  CHECK(metrics.sent_bytes > 0);
  CHECK_INT(metrics.redirects, 0);
  CHECK_OK(wherry_response_free(response));
}

TEST("R14 a header that is not UTF-8 keeps its bytes") {
  /* "HTTP/1.1 200 OK", "Content-Length: 0", "X-Old: caf\xe9", "X-New: caf\xc3\xa9" */
  server_script(
      "{\"raw\": [{\"raw\": [[\"send_base64\", \"SFRUUC8xLjEgMjAwIE9LDQpDb250ZW50LUxlbmd0aDogMA"
      "0KWC1PbGQ6IGNhZukNClgtTmV3OiBjYWbDqQ0KDQo=\"], [\"fin\"]]}]}");
  wherry_response *response = NULL;
  REQUIRE_OK(
      wherry_client_perform(new_client(NULL), new_request("GET", server_url("/s/raw")), &response));
  CHECK_TEXT(wherry_response_header(response, "x-old"), "caf\xe9");
  CHECK_TEXT(wherry_response_header(response, "x-new"), "caf\xc3\xa9");
  const char *name, *value;
  REQUIRE(wherry_response_header_at(response, 1, &name, &value));
  CHECK_TEXT(name, "X-Old");
  CHECK_TEXT(value, "caf\xe9");
  CHECK_OK(wherry_response_free(response));
}

TEST("R15 a 422 keeps its status and body") {
  wherry_client *client = new_client(NULL);
  const char *url = server_url("/status/422?type=application/json&body=%%7B%%22why%%22:1%%7D");
  wherry_response *response = NULL;
  CHECK_FAILS(wherry_client_perform(client, new_request("GET", url), &response), WHERRY_E_HTTP,
              "http_status");
  CHECK_INT(wherry_error_http_code(wherry_last_error()), 422);
  CHECK_INT(wherry_response_http_code(response), 422);
  size_t count = 0;
  const uint8_t *bytes = wherry_response_body(response, &count);
  CHECK_BYTES(bytes, count, "{\"why\":1}", 9);
  CHECK_OK(wherry_response_free(response));

  outcome got = send_and_wait(client, new_request("GET", url));
  CHECK_STATUS(got.status, WHERRY_E_HTTP);
  CHECK_INT(got.http_code, 422);
  CHECK_TEXT(got.body, "{\"why\":1}");
  CHECK_HOLDS(got.head, "application/json");
}

TEST("R15 without a response the status is 0") {
  wherry_client *client = new_client(NULL);
  wherry_response *response = (wherry_response *)&client;
  wherry_request *request = new_request("GET", "http://127.0.0.1:1/");
  CHECK_FAILS(wherry_client_perform(client, request, &response), WHERRY_E_NETWORK, "connect");
  CHECK(response == NULL);
  CHECK_INT(wherry_error_http_code(wherry_last_error()), 0);
  CHECK(wherry_error_curl_code(wherry_last_error()) != 0);
  CHECK(wherry_error_is_retryable(wherry_last_error()));
}

/* One cause for each status; test_fork.c covers FORKED, and INTERNAL would be a bug. */
TEST("R16 each kind of failure has its status and reason") {
  wherry_client *client = new_client(NULL);
  outcome got = perform(client, new_request("GET", "ftp://127.0.0.1/"));
  CHECK_STATUS(got.status, WHERRY_E_ARGUMENT);
  CHECK_TEXT(got.reason, "bad_url");

  wherry_request *request = new_request("GET", server_url("/empty"));
  CHECK_OK(wherry_request_set_streamed(request, true));
  CHECK_STATUS(perform(client, request).status, WHERRY_E_STATE);

  request = new_request("GET", server_url("/silent?seconds=600"));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_TOTAL_TIMEOUT_MS, 100));
  got = perform(client, request);
  CHECK_STATUS(got.status, WHERRY_E_TIMEOUT);
  CHECK_TEXT(got.reason, "total_timeout");

  wherry_queue *queue = new_queue();
  wherry_transfer *transfer =
      send_request(client, new_request("GET", server_url("/silent?seconds=600")), queue, NULL);
  CHECK_OK(wherry_transfer_cancel(transfer));
  got = done_of(queue, transfer);
  CHECK_STATUS(got.status, WHERRY_E_CANCELLED);
  CHECK_TEXT(got.reason, "cancelled");

  got = perform(client, new_request("GET", server_url("/bytes/1000?cut=500")));
  CHECK_STATUS(got.status, WHERRY_E_NETWORK);
  CHECK_TEXT(got.reason, "truncated");
  got = perform(client, new_request("GET", server_url("/bytes/1000?reset=500")));
  CHECK_STATUS(got.status, WHERRY_E_NETWORK);
  CHECK_TEXT(got.reason, "connection_reset");
  got = perform(client, new_request("GET", "http://no-such-host.invalid/"));
  CHECK_STATUS(got.status, WHERRY_E_NETWORK);
  CHECK_TEXT(got.reason, "resolve");
  wherry_response *none = NULL;
  CHECK_STATUS(wherry_get("localhost:80/a", &none), WHERRY_E_ARGUMENT);
  CHECK_HOLDS(wherry_error_message(wherry_last_error()),
              "has no scheme. Write http://localhost:80/a");

  int64_t before = server_count("requests");
  got = perform(client, new_request("GET", server_tls_url("/empty")));
  CHECK_STATUS(got.status, WHERRY_E_TLS);
  CHECK_TEXT(got.reason, "untrusted");
  CHECK_INT(server_count("requests"), before);

  got = perform(client, new_request("GET", server_url("/status/500")));
  CHECK_STATUS(got.status, WHERRY_E_HTTP);
  got = perform(client, new_request("GET", server_url("/loop")));
  CHECK_STATUS(got.status, WHERRY_E_HTTP);
  CHECK_TEXT(got.reason, "too_many_redirects");

  request = new_request("PUT", server_url("/sink"));
  CHECK_OK(wherry_request_set_body_file(request, check_path("none"), NULL));
  got = perform(client, request);
  CHECK_STATUS(got.status, WHERRY_E_FILE);
  CHECK_TEXT(got.reason, "no_file");

  request = new_request("GET", server_url("/bytes/2000"));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_MAX_BODY_BYTES, 1999));
  got = perform(client, request);
  CHECK_STATUS(got.status, WHERRY_E_LIMIT);
  CHECK_TEXT(got.reason, "too_large");
  got = perform(client, new_request("GET", server_url("/headers?count=300&size=10")));
  CHECK_STATUS(got.status, WHERRY_E_LIMIT);
  CHECK_TEXT(got.reason, "header_too_large");

  CHECK_TEXT(wherry_status_name(WHERRY_E_BUSY), "E_BUSY");
  CHECK_TEXT(wherry_status_name(WHERRY_OK), "OK");
  CHECK_TEXT(wherry_status_name((wherry_status)-99), "E_UNKNOWN");
}

static wherry_client *common;
static const char *common_url;

static void *get_in_thread(void *unused) {
  int64_t good = 0;
  for (int i = 0; i < 20; i++) {
    wherry_request *request = NULL;
    wherry_response *response = NULL;
    CHECK_OK(wherry_request_new("GET", common_url, &request));
    good += wherry_client_perform(common, request, &response) == WHERRY_OK &&
            wherry_response_http_code(response) == 200;
    CHECK_OK(wherry_response_free(response));
    CHECK_OK(wherry_request_free(request));
  }
  return (void *)good;
}

TEST("R17 the blocking call works from any thread, but not with decision events enabled") {
  pthread_t threads[4];
  common = new_client(NULL);
  common_url = server_url("/echo");
  for (int i = 0; i < 4; i++)
    REQUIRE_INT(pthread_create(&threads[i], NULL, get_in_thread, NULL), 0);
  for (int i = 0; i < 4; i++) {
    void *good = NULL;
    pthread_join(threads[i], &good);
    CHECK_INT((int64_t)good, 20);
  }
  CHECK_OK(wherry_client_set_hooks(common, WHERRY_HOOK_ADAPT));
  CHECK_STATUS(perform(common, new_request("GET", common_url)).status, WHERRY_E_STATE);
}

TEST("R17 a wait with a timeout can be continued") {
  wherry_client *client = new_client(NULL);
  wherry_transfer *transfer = NULL;
  wherry_record record = {.size = sizeof record};
  wherry_request *request = new_request("GET", server_url("/faulty-echo?gate=g"));
  REQUIRE_STATUS(wherry_client_perform_for(client, request, NULL, 50, &transfer, &record),
                 WHERRY_E_TIMEOUT);
  keep_transfer(transfer);
  CHECK_STATUS(wherry_transfer_wait(transfer, 0, &record), WHERRY_E_TIMEOUT);

  server_open("g");

  REQUIRE_OK(wherry_transfer_wait(transfer, 600000, &record));
  CHECK_INT(record.kind, WHERRY_EVENT_DONE);
  CHECK_INT(record.status, WHERRY_OK);
  CHECK_INT(record.http_code, 200);
  CHECK(record.body_count > 0);
  CHECK_OK(wherry_event_free(record.event));
  CHECK_STATUS(wherry_transfer_wait(transfer, 0, &record), WHERRY_E_STATE);

  transfer = (wherry_transfer *)&transfer;
  record = (wherry_record){.size = sizeof record};
  REQUIRE_OK(wherry_client_perform_for(client, new_request("GET", "/elsewhere"),
                                       server_url("/empty"), -1, &transfer, &record));
  CHECK(transfer == NULL);
  CHECK_INT(record.status, WHERRY_OK);
  CHECK_OK(wherry_event_free(record.event));
}

TEST("R18 a transfer completes while its caller does other work") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  const char *path = check_path("file");
  REQUIRE_OK(wherry_client_download(client, new_request("GET", server_url("/bytes/3000000")), path,
                                    queue, NULL, NULL));
  CHECK(server_wait("ended=1")); /* the caller makes no library call */
  CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  long count;
  char *bytes = check_read_file(path, &count);
  CHECK_INT(count, 3000000);
  CHECK(is_pattern(bytes, 3000000, 0));
}

TEST("R22 a streamed body arrives in chunks and is not buffered") {
  int64_t size = check_in_full() ? INT64_C(1) << 30 : 100 << 20;
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  perform(client, new_request("GET", server_url("/empty")));
  long before = check_resident_kib();
  wherry_request *request = new_request("GET", server_url("/bytes/%lld", (long long)size));
  CHECK_OK(wherry_request_set_streamed(request, true));
  send_request(client, request, queue, NULL);
  int64_t received = 0;
  bool right = true, more = true;
  while (more) {
    wherry_event *event = NULL;
    size_t count = 0;
    REQUIRE_OK(wherry_queue_next(queue, 600000, &event));
    if (wherry_event_get_kind(event) == WHERRY_EVENT_BODY) {
      const uint8_t *bytes = wherry_event_body(event, &count);
      /* The first and last byte of each chunk: checking all would take longer than the transfer. */
      right = right && count > 0 && is_pattern(bytes, 1, (uint64_t)received) &&
              is_pattern(bytes + count - 1, 1, (uint64_t)received + count - 1);
      received += (int64_t)count;
    } else if (wherry_event_get_kind(event) == WHERRY_EVENT_DONE) {
      CHECK_STATUS(wherry_event_status(event), WHERRY_OK);
      wherry_response_body(wherry_event_response(event), &count);
      CHECK_INT(count, 0);
      more = false;
    }
    CHECK_OK(wherry_event_free(event));
  }
  CHECK(right);
  CHECK_INT(received, size);
  CHECK_GROWTH(before, 16 * 1024);
}

TEST("R22 holding a chunk stalls the sender, and freeing it continues the stream") {
  enum { SIZE = 64 << 20 };
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("GET", server_url("/bytes/%d", SIZE));
  CHECK_OK(wherry_request_set_streamed(request, true));
  wherry_transfer *transfer = send_request(client, request, queue, NULL);
  wherry_event *piece = next_event(queue, WHERRY_EVENT_BODY);

  /* The same client does other work, long enough to send everything. */
  outcome other = perform(client, new_request("GET", server_url("/delay/300")));

  CHECK_STATUS(other.status, WHERRY_OK);
  CHECK(server_count("sent") < SIZE / 2);
  CHECK_INT(wherry_transfer_state(transfer), WHERRY_STATE_RUNNING);
  CHECK_OK(wherry_event_free(piece));
  CHECK_STATUS(done_of(queue, transfer).status, WHERRY_OK);
}

TEST("R23 progress rises to the total and never past it") {
  wherry_client *client = new_client(NULL);
  wherry_request *request = new_request("GET", server_url("/bytes/3000000"));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_WANT_PROGRESS, 1));
  outcome got = send_and_wait(client, request);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK(got.progress_count > 0);
  CHECK(!got.progress_fell);
  CHECK_INT(got.last_done, 3000000);
  CHECK_INT(got.last_expected, 3000000);
  CHECK(!got.progress_repeated);

  request = new_request("GET", server_url("/bytes/3000000?gzip=1"));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_WANT_PROGRESS, 1));
  got = send_and_wait(client, request);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_INT(got.count, 3000000);
  CHECK(!got.progress_fell);

  request = new_request("GET", server_url("/bytes/300000?chunked=1"));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_WANT_PROGRESS, 1));
  got = send_and_wait(client, request);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK(!got.progress_fell);
}

TEST("R24 each content encoding is decoded") {
  const char *codings[] = {"/gzip", "/deflate", "/deflate?raw=1", "/br", "/zstd"};
  wherry_client *client = new_client_with(WHERRY_OPTION_COMPRESSED, 2);
  outcome plain = perform(client, new_request("GET", server_url("/gzip")));
  for (int i = 0; i < 5; i++) {
    outcome got = perform(client, new_request("GET", server_url("%s", codings[i])));
    CHECK_STATUS(got.status, WHERRY_OK);
    CHECK_HOLDS(got.head, "Content-Encoding");
    CHECK(got.count > 2);
    CHECK_BYTES(got.body, got.count, plain.body, plain.count);
  }
  outcome got = perform(new_client(NULL), new_request("GET", server_url("/echo")));
  CHECK_TEXT(echoed_header(&got, "Accept-Encoding"), "gzip, deflate");
}

TEST("R24 a decompression bomb is refused") {
  outcome got = perform(new_client(NULL), new_request("GET", server_url("/gzip?zeros=100000000")));
  CHECK_STATUS(got.status, WHERRY_E_LIMIT);
  CHECK_TEXT(got.reason, "too_large");
}

TEST("R27 the tag and the caller's pointer are returned") {
  static int mine;
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("GET", server_url("/faulty-echo?gate=g"));
  CHECK_OK(wherry_request_set_text(request, WHERRY_TEXT_TAG, "screen"));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_WANT_PROGRESS, 1));
  wherry_transfer *transfer = send_request(client, request, queue, &mine);

  wherry_list *list = NULL;
  wherry_transfer_row row = {.size = sizeof row};
  REQUIRE_OK(wherry_client_list(client, WHERRY_MATCH_TAG, "screen", &list));
  keep_list(list);
  CHECK_INT(wherry_list_count(list), 1);
  CHECK_OK(wherry_list_transfer(list, 0, &row));
  CHECK_TEXT(row.tag, "screen");
  CHECK(row.user_data == &mine);
  CHECK_INT(row.transfer_id, wherry_transfer_id(transfer));

  server_open("g");
  wherry_event *event = NULL;
  wherry_event_kind kind;
  do {
    REQUIRE_OK(wherry_queue_next(queue, 600000, &event));
    kind = wherry_event_get_kind(event);
    CHECK(wherry_event_user_data(event) == &mine);
    CHECK_INT(wherry_event_transfer_id(event), wherry_transfer_id(transfer));
    CHECK_OK(wherry_event_free(event));
  } while (kind != WHERRY_EVENT_DONE);
}
