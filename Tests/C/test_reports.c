/* Wherry: rows D20, M3, R12 and R23 of features.md, from C: reports and shared queries
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

enum { SIZE = 500000 };

/* The DONE of a download, which the test frees. */
static wherry_event *finished(wherry_client *client, wherry_request *request, const char *path) {
  wherry_queue *queue = new_queue();
  wherry_transfer *transfer = NULL;
  REQUIRE_OK(wherry_client_download(client, request, path, queue, NULL, &transfer));
  keep_transfer(transfer);
  wherry_event *event = NULL;
  for (;;) {
    REQUIRE_OK(wherry_queue_next(queue, 600000, &event));
    if (wherry_event_get_kind(event) == WHERRY_EVENT_DONE) return event;
    CHECK_TEXT(wherry_event_digest(event, WHERRY_DIGEST_SHA256), NULL);
    CHECK_OK(wherry_event_free(event));
  }
}

TEST("D20 a finished download reports its digests: expected, announced, and requested") {
  wherry_client *client = new_client(NULL);
  const struct {
    wherry_digest digest;
    const char *name;
  } kinds[] = {{WHERRY_DIGEST_MD5, "md5"},
               {WHERRY_DIGEST_SHA1, "sha1"},
               {WHERRY_DIGEST_SHA256, "sha256"},
               {WHERRY_DIGEST_SHA512, "sha512"}};
  for (int i = 0; i < 4; i++) {
    const char *url = server_url("/digest/%d?algorithm=%s", SIZE, kinds[i].name);
    const char *right = perform(client, new_request("GET", url)).body;
    for (int expects = 0; expects < 2; expects++) {
      const char *path = check_path("%s-%d", kinds[i].name, expects);
      /* Cut once, so that the digest covers the bytes of two runs. */
      url = server_url("/bytes/%d?cut=200000&times=1&n=%d", SIZE, 2 * i + expects);
      wherry_request *request = new_request("GET", url);
      CHECK_OK(wherry_request_set_digest(request, kinds[i].digest, expects ? right : NULL));
      wherry_event *event = finished(client, request, path);
      REQUIRE_STATUS(wherry_event_status(event), WHERRY_OK);
      for (int j = 0; j < 4; j++) {
        CHECK_TEXT(wherry_event_digest(event, kinds[j].digest), j == i ? right : NULL);
      }
      CHECK_TEXT(wherry_event_digest(event, WHERRY_DIGEST_NONE), NULL);
      CHECK_TEXT(wherry_event_digest(event, (wherry_digest)9), NULL);
      CHECK_OK(wherry_event_free(event));
    }
  }
  CHECK_TEXT(wherry_event_digest(NULL, WHERRY_DIGEST_MD5), NULL);

  const char *right = perform(client, new_request("GET", server_url("/digest/%d", SIZE))).body;
  wherry_request *request = new_request("GET", server_url("/bytes/%d?repr_digest=right", SIZE));
  wherry_event *event = finished(client, request, check_path("announced"));
  CHECK_TEXT(wherry_event_digest(event, WHERRY_DIGEST_SHA256), right);
  CHECK_OK(wherry_event_free(event));

  /* A digest that is not requested is not computed, also after an earlier request for one. */
  request = new_request("GET", server_url("/bytes/%d?n=20", SIZE));
  CHECK_OK(wherry_request_set_digest(request, WHERRY_DIGEST_SHA256, NULL));
  CHECK_OK(wherry_request_set_digest(request, WHERRY_DIGEST_NONE, NULL));
  event = finished(client, request, check_path("none"));
  REQUIRE_STATUS(wherry_event_status(event), WHERRY_OK);
  CHECK_TEXT(wherry_event_digest(event, WHERRY_DIGEST_SHA256), NULL);
  CHECK_OK(wherry_event_free(event));
}

TEST("D20 a wrong digest reports no digest, and requesting one clears the expectation") {
  wherry_client *client = new_client(NULL);
  wherry_request *request = new_request("GET", server_url("/bytes/%d", SIZE));
  char wrong[65] = {0};
  memset(wrong, '0', 64);
  CHECK_OK(wherry_request_set_digest(request, WHERRY_DIGEST_SHA256, wrong));
  wherry_event *event = finished(client, request, check_path("file"));
  CHECK_STATUS(wherry_event_status(event), WHERRY_E_FILE);
  CHECK_TEXT(wherry_event_digest(event, WHERRY_DIGEST_SHA256), NULL);
  CHECK_OK(wherry_event_free(event));
  CHECK_OK(wherry_request_set_digest(request, WHERRY_DIGEST_SHA256, NULL));
  event = finished(client, request, check_path("file"));
  CHECK_STATUS(wherry_event_status(event), WHERRY_OK);
  CHECK_TEXT(wherry_event_digest(event, WHERRY_DIGEST_SHA256),
             perform(client, new_request("GET", server_url("/digest/%d", SIZE))).body);
  CHECK_OK(wherry_event_free(event));
}

TEST("R23 both sizes of a compressed response are reported, on the wire and decoded") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("GET", server_url("/gzip?zeros=400000"));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_WANT_PROGRESS, 1));
  send_request(client, request, queue, NULL);
  wherry_progress last = {.size = sizeof last};
  size_t body = 0;
  for (bool done = false; !done;) {
    wherry_event *event = NULL;
    REQUIRE_OK(wherry_queue_next(queue, 600000, &event));
    if (wherry_event_get_kind(event) == WHERRY_EVENT_PROGRESS) {
      CHECK_OK(wherry_event_progress(event, &last));
      CHECK(last.decoded_bytes >= last.done_bytes || last.done_bytes < 100);
    }
    done = wherry_event_get_kind(event) == WHERRY_EVENT_DONE;
    if (done) {
      CHECK_STATUS(wherry_event_status(event), WHERRY_OK);
      CHECK(wherry_event_body(event, &body) != NULL);
    }
    CHECK_OK(wherry_event_free(event));
  }
  CHECK_INT(last.decoded_bytes, body);
  CHECK(last.done_bytes > 0 && last.done_bytes < last.decoded_bytes);
  CHECK_INT(last.done_bytes, last.expected_bytes);
  CHECK_INT(last.wire_bytes, last.done_bytes);
}

TEST("R12 null members are removed on request at any depth, and array items stay") {
  const char *text = "{\"a\":null,\"b\":[null,{\"c\":null,\"d\":1}],\"e\":{\"f\":null}}";
  outcome got = perform(new_client(NULL), new_request("GET", server_url("/json?value=%s", text)));
  REQUIRE_STATUS(got.status, WHERRY_OK);
  wherry_json *json = new_json(got.body, got.count);
  CHECK_INT(wherry_json_get_type(json, "a"), WHERRY_JSON_NULL);
  CHECK_INT(wherry_json_get_type(json, "b/1/c"), WHERRY_JSON_NULL);
  CHECK_OK(wherry_json_remove_nulls(json));
  CHECK_INT(wherry_json_get_type(json, "a"), WHERRY_JSON_MISSING);
  CHECK_TEXT(wherry_json_print(json, false, NULL), "{\"b\":[null,{\"d\":1}],\"e\":{}}");
  CHECK_OK(wherry_json_remove_nulls(json));
  wherry_json *null = new_json("null", 4);
  CHECK_OK(wherry_json_remove_nulls(null));
  CHECK_INT(wherry_json_get_type(null, NULL), WHERRY_JSON_NULL);
  CHECK_FAILS(wherry_json_remove_nulls(NULL), WHERRY_E_ARGUMENT, "bad_handle");
}

TEST("M3 one key finds transfers of several URLs, one per line") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_transfer *transfers[4];
  const char *urls[4];
  for (int i = 0; i < 4; i++) {
    urls[i] = server_url("/silent?n=%d", i);
    transfers[i] = send_request(client, new_request("GET", urls[i]), queue, NULL);
  }
  const char *key = check_format("%s\n%s\n\nhttp://127.0.0.1:1/other\n", urls[0], urls[2]);
  CHECK_INT(wherry_client_count(client, WHERRY_MATCH_URLS, key), 2);
  size_t count = 9;
  CHECK_OK(wherry_client_cancel(client, WHERRY_MATCH_URLS, key, &count));
  CHECK_INT(count, 2);
  for (int i = 0; i < 2; i++) CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
  CHECK_INT(wherry_transfer_state(transfers[0]), WHERRY_STATE_CANCELLED);
  CHECK_INT(wherry_transfer_state(transfers[2]), WHERRY_STATE_CANCELLED);
  CHECK(wherry_transfer_state(transfers[1]) < WHERRY_STATE_DONE);
  CHECK(wherry_transfer_state(transfers[3]) < WHERRY_STATE_DONE);
  CHECK_INT(wherry_client_count(client, WHERRY_MATCH_URLS, ""), 0);
  CHECK_FAILS(wherry_client_cancel(client, WHERRY_MATCH_URLS, NULL, &count), WHERRY_E_ARGUMENT,
              "bad_argument");
  CHECK_INT(wherry_client_count(client, WHERRY_MATCH_ALL, NULL), 2);
}
