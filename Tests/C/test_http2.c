/* Wherry: HTTP/2, from C: versions, many streams on one connection, and a stream reset
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

static wherry_client *trusting_client(void) {
  wherry_config *config = new_config();
  REQUIRE_OK(wherry_config_set_text(config, WHERRY_TEXT_CA_FILE, nginx_ca()));
  return new_client(config);
}

TEST("C19 a request has the chosen HTTP version, by default HTTP/2 over TLS") {
  if (!nginx_is_here()) return;
  wherry_client *client = trusting_client();
  const struct {
    int64_t asked;
    int32_t version;
    const char *told;
  } rows[] = {{0, 20, "HTTP/2.0"}, {11, 11, "HTTP/1.1"}, {20, 20, "HTTP/2.0"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    wherry_request *request = new_request("GET", nginx_url("/protocol"));
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_HTTP_VERSION, rows[i].asked));
    wherry_response *response = NULL;
    REQUIRE_OK(wherry_client_perform(client, request, &response));
    wherry_metrics metrics = {.size = sizeof metrics};
    CHECK_OK(wherry_response_metrics(response, &metrics));
    CHECK_INT(metrics.http_version, rows[i].version);
    size_t count = 0;
    const uint8_t *body = wherry_response_body(response, &count);
    CHECK_HOLDS(check_format("%.*s", (int)count, (const char *)body), rows[i].told);
    CHECK_OK(wherry_response_free(response));
  }
}

TEST("C19 a download over TLS uses HTTP/1.1 by default, and HTTP/2 on request") {
  if (!nginx_is_here()) return;
  const struct {
    int64_t asked;
    const char *told;
  } rows[] = {{0, "HTTP/1.1"}, {20, "HTTP/2.0"}, {11, "HTTP/1.1"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    wherry_request *request = new_request("GET", nginx_url("/protocol"));
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_HTTP_VERSION, rows[i].asked));
    const char *path = check_path("%zu", i);
    /* A separate client: a kept HTTP/1.1 connection would be used for HTTP/2 too. */
    CHECK_STATUS(download(trusting_client(), request, path).status, WHERRY_OK);
    long count;
    const char *told = check_read_file(path, &count);
    REQUIRE(told != NULL);
    CHECK_TEXT(check_format("%.*s", (int)count, told), rows[i].told);
  }
}

TEST("C19 a body over 16 KiB uses HTTP/1.1 over TLS, and HTTP/2 on request") {
  if (!nginx_is_here()) return;
  static uint8_t body[16 * 1024 + 1];
  const struct {
    int64_t asked;
    size_t count;
    const char *told;
  } rows[] = {{0, sizeof body - 1, "HTTP/2.0"},
              {0, sizeof body, "HTTP/1.1"},
              {20, sizeof body, "HTTP/2.0"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    wherry_request *request = new_request("POST", nginx_url("/protocol"));
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_HTTP_VERSION, rows[i].asked));
    CHECK_OK(wherry_request_set_body(request, body, rows[i].count, "application/octet-stream"));
    CHECK_TEXT(perform(trusting_client(), request).body, rows[i].told);
  }
}

TEST("C19 a hundred requests share one HTTP/2 connection, each with its own response") {
  enum { COUNT = 100 };
  if (!nginx_is_here()) return;
  wherry_client *client = trusting_client();
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("GET", nginx_url("/connection"));
  const char *first = perform(client, request).body;
  size_t length = strcspn(first, ":");
  CHECK(length > 0);
  for (intptr_t i = 0; i < COUNT; i++) {
    const char *url = i % 2 ? nginx_url("/connection") : nginx_url("/1k.bin");
    CHECK_OK(wherry_client_send_url(client, request, url, queue, (void *)i, NULL));
  }
  for (int i = 0; i < COUNT; i++) {
    outcome got = next_done(queue);
    CHECK_STATUS(got.status, WHERRY_OK);
    if ((intptr_t)got.user_data % 2) {
      CHECK_INT(strncmp(got.body, first, length + 1), 0);
    } else {
      CHECK_INT(got.count, 1024);
      CHECK(is_pattern(got.body, got.count, 0));
    }
  }
}

TEST("R16 an HTTP/2 stream reset during the body is E_NETWORK and does not affect other streams") {
  if (!nginx_is_here()) return;
  wherry_client *client = trusting_client();
  wherry_queue *queue = new_queue();
  const char *cut = nginx_via(server_url("/bytes/100000?cut=50000"));
  const char *whole = nginx_via(server_url("/bytes/100000"));
  for (intptr_t i = 0; i < 10; i++) {
    wherry_request *request = new_request("GET", i % 2 ? whole : cut);
    CHECK_OK(wherry_client_send(client, request, queue, (void *)i, NULL));
  }
  for (int i = 0; i < 10; i++) {
    outcome got = next_done(queue);
    if ((intptr_t)got.user_data % 2) {
      CHECK_STATUS(got.status, WHERRY_OK);
      CHECK_INT(got.count, 100000);
      CHECK(is_pattern(got.body, got.count, 0));
    } else {
      CHECK_INT(got.status, WHERRY_E_NETWORK);
      /* nginx resets the stream, or ends it before its length. */
      CHECK(strcmp(got.reason, "connection_reset") == 0 || strcmp(got.reason, "truncated") == 0);
    }
  }
}

TEST("D13 a download whose stream is reset resumes at its last byte") {
  enum { SIZE = 1060921, CUT = 400000 };
  if (!nginx_is_here()) return;
  wherry_client *client = trusting_client();
  const char *path = check_path("file.bin");
  const char *url = nginx_via(server_url("/bytes/%d?cut=%d&times=1", SIZE, CUT));
  wherry_request *request = new_request("GET", url);
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_HTTP_VERSION, 20));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_MAX_RETRIES, 0));
  outcome got = download(client, request, path);
  CHECK_STATUS(got.status, WHERRY_E_NETWORK);
  REQUIRE(got.partial != NULL);
  CHECK(wherry_partial_ratio(path) > 0);
  got = download(client, request, path);
  CHECK_STATUS(got.status, WHERRY_OK);
  long count;
  const char *bytes = check_read_file(path, &count);
  REQUIRE_INT(count, SIZE);
  CHECK(is_pattern(bytes, SIZE, 0));
  CHECK_HOLDS(server_field(1, "Range"), "bytes=");
  CHECK_INT(check_entries(check_path(".")), 1);
}
