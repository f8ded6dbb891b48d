/* Wherry: row R37 of features.md, from C: request bodies compressed with gzip or deflate
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

enum { SMALL = 5000, LARGE = 2500000 };

/* `count` bytes of text, which compress to a tenth. */
static char *lines(size_t count) {
  char *text = check_memory(count + 64);
  for (size_t filled = 0; filled < count;)
    filled +=
        (size_t)snprintf(text + filled, 64, "{\"line\": %zu, \"text\": \"as before\"}\n", filled);
  text[count] = 0;
  return text;
}

static wherry_request *coded(const char *url, int64_t coding) {
  wherry_request *request = new_request("PUT", url);
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_BODY_CODING, coding));
  return request;
}

/* The server decompressed a body of this length; count 0 accepts any length. */
static void check_inflated(const outcome *got, int64_t count) {
  wherry_json *json = new_json(got->body, got->count);
  int64_t inflated = wherry_json_get_integer(json, "inflated", -1);
  CHECK(wherry_json_get_bool(json, "whole", false));
  CHECK_INT(inflated, count > 0 ? count : inflated);
  CHECK(wherry_json_get_integer(json, "bytes", LARGE) < inflated / 2);
}

TEST("R37 bodies are sent compressed, also after a redirect, and the server decompresses them") {
  wherry_client *client = new_client(NULL);
  char *text = lines(LARGE);
  const char *path = check_path("lines");
  check_write_file(path, text, LARGE);
  const char *target = server_url("/sink");
  for (int64_t coding = 1; coding <= 2; coding++) {
    for (int kind = 0; kind < 4; kind++) {
      wherry_request *request = coded(server_url("/redirect-to?status=308&url=%s", target), coding);
      switch (kind) {
        case 0:
          CHECK_OK(wherry_request_set_body(request, text, SMALL, NULL));
          break;
        case 1:
          CHECK_OK(wherry_request_set_body(request, text, LARGE, NULL));
          break;
        case 2:
          CHECK_OK(wherry_request_set_body_file(request, path, NULL));
          break;
        default:
          CHECK_OK(wherry_request_add_field(request, "text", text));
      }
      outcome got = send_and_wait(client, request);
      REQUIRE_STATUS(got.status, WHERRY_OK);
      check_inflated(&got, kind == 0 ? SMALL : kind == 3 ? 0 : LARGE);
    }
  }
  /* The client setting applies unless the request overrides it. */
  client = new_client_with(WHERRY_OPTION_BODY_CODING, 1);
  for (int64_t own = 0; own < 2; own++) {
    wherry_request *request = coded(server_url("/echo"), own);
    CHECK_OK(wherry_request_set_body(request, text, SMALL, NULL));
    outcome got = perform(client, request);
    CHECK_TEXT(echoed_header(&got, "Content-Encoding"), own ? "gzip" : NULL);
  }
}

TEST("R37 a written body is compressed while it is sent, and progress counts the written bytes") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  char *text = lines(LARGE);
  wherry_request *request = coded(server_url("/sink"), 1);
  CHECK_OK(wherry_request_set_body_stream(request, LARGE, "text/plain"));
  wherry_transfer *transfer = send_request(client, request, queue, NULL);
  size_t written = 0;
  while (written < LARGE) {
    CHECK_OK(wherry_event_free(next_event(queue, WHERRY_EVENT_WANT_BODY)));
    size_t taken = 0;
    while (written < LARGE &&
           wherry_transfer_write(transfer, text + written, LARGE - written, &taken) == WHERRY_OK)
      written += taken;
  }
  CHECK_OK(wherry_transfer_finish(transfer));
  outcome got = done_of(queue, transfer);
  REQUIRE_STATUS(got.status, WHERRY_OK);
  check_inflated(&got, LARGE);
  wherry_progress progress = {.size = sizeof progress};
  CHECK_OK(wherry_transfer_progress(transfer, &progress));
  CHECK_INT(progress.done_bytes, LARGE);
  CHECK_INT(progress.expected_bytes, LARGE);
  CHECK(progress.wire_bytes > 0 && progress.wire_bytes < LARGE / 2);
}

TEST("R37 a setting decides about bodies that are already compressed, others are refused") {
  wherry_client *client = new_client(NULL);
  char *text = lines(SMALL);
  for (int64_t rule = 0; rule <= 2; rule++) {
    wherry_request *request = coded(server_url("/echo"), 2);
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_CODED_BODY, rule));
    CHECK_OK(wherry_request_set_header(request, "Content-Encoding", "identity"));
    CHECK_OK(wherry_request_set_body(request, text, SMALL, NULL));
    if (rule == 2) {
      CHECK_FAILS(wherry_client_send(client, request, new_queue(), NULL, NULL), WHERRY_E_ARGUMENT,
                  "bad_header");
      continue;
    }
    outcome got = send_and_wait(client, request);
    REQUIRE_STATUS(got.status, WHERRY_OK);
    CHECK_TEXT(echoed_header(&got, "Content-Encoding"), rule == 0 ? "identity" : "deflate");
  }
  wherry_request *request = new_request("PUT", "/");
  static const struct {
    wherry_option option;
    int64_t value;
  } bad[] = {{WHERRY_OPTION_BODY_CODING, 3},
             {WHERRY_OPTION_BODY_CODING, -1},
             {WHERRY_OPTION_CODED_BODY, 3},
             {WHERRY_OPTION_BODY_CODING_MIN_BYTES, -1}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK_FAILS(wherry_request_set_option(request, bad[i].option, bad[i].value), WHERRY_E_ARGUMENT,
                "bad_value");
}
