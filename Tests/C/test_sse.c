/* Wherry: row R36 of features.md, from C: server-sent events
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "fixture.h"

static wherry_sse *new_sse(size_t limit) {
  wherry_sse *sse = NULL;
  REQUIRE_OK(wherry_sse_new(limit, &sse));
  return sse;
}

/* The value at a path of the case, or `otherwise`, with its length. */
static const char *text_at(const wherry_json *json, const char *path, const char *otherwise,
                           size_t *count) {
  return wherry_json_get_text(json, path, otherwise, count);
}

/* The next events are exactly those of the case. */
static void expect_events(wherry_sse *sse, const wherry_json *json, const char *one, size_t cut) {
  size_t expected = wherry_json_count(json, check_format("%s/events", one)), count, length;
  for (size_t k = 0; k < expected; k++) {
    if (!CHECK(wherry_sse_next(sse))) return;
    char *event = check_format("%s/events/%zu", one, k);
    CHECK_TEXT(wherry_sse_name(sse),
               text_at(json, check_format("%s/name", event), "message", NULL));
    CHECK_TEXT(wherry_sse_id(sse), text_at(json, check_format("%s/id", event), "", NULL));
    const char *data = text_at(json, check_format("%s/data", event), "", &length);
    const char *found = wherry_sse_data(sse, &count);
    CHECK_BYTES(found, count, data, length);
  }
  if (!CHECK(!wherry_sse_next(sse))) CHECK_INT(cut, -1);
  CHECK(wherry_sse_data(sse, NULL) == NULL);
}

TEST("R36 events match the table for any chunk boundaries") {
  long size;
  char *text = check_read_file(check_format("%s/server-events.json", WHERRY_SCENARIOS), &size);
  REQUIRE(text != NULL);
  wherry_json *json = new_json(text, (size_t)size);
  REQUIRE(wherry_json_count(json, "cases") > 0);
  for (size_t i = 0; i < wherry_json_count(json, "cases"); i++) {
    char *one = check_format("cases/%zu", i);
    size_t count;
    const char *bytes = text_at(json, check_format("%s/text", one), NULL, &count);
    REQUIRE(bytes != NULL);
    for (size_t cut = 0; cut <= count; cut++) {
      wherry_sse *sse = new_sse(0);
      CHECK_OK(wherry_sse_feed(sse, bytes, cut));
      CHECK_OK(wherry_sse_feed(sse, bytes + cut, count - cut));
      CHECK_INT(wherry_sse_retry_ms(sse),
                wherry_json_get_integer(json, check_format("%s/retry", one), -1));
      expect_events(sse, json, one, cut);
      CHECK_OK(wherry_sse_free(sse));
    }
  }
}

TEST("R36 5,000 events arrive complete, in chunks of every size up to 64") {
  size_t length = 0, capacity = 5000 * 80;
  char *text = check_memory(capacity);
  for (int n = 0; n < 5000; n++) {
    const char *one = check_format(
        "event: tick\r\nid: %d\r\ndata: number %d\ndata: thr\xc3\xa9"
        "e\n\n",
        n, n);
    memcpy(text + length, one, strlen(one));
    length += strlen(one);
  }
  for (size_t piece = 1; piece <= 64; piece++) {
    wherry_sse *sse = new_sse(0);
    int n = 0;
    for (size_t at = 0; at < length; at += piece) {
      size_t count = length - at < piece ? length - at : piece;
      if (wherry_sse_feed(sse, text + at, count) != WHERRY_OK) break;
      while (wherry_sse_next(sse)) {
        if (n % 499 == 0) {
          CHECK_TEXT(wherry_sse_data(sse, NULL), check_format("number %d\nthr\xc3\xa9"
                                                              "e",
                                                              n));
          CHECK_TEXT(wherry_sse_id(sse), check_format("%d", n));
          CHECK_TEXT(wherry_sse_name(sse), "tick");
        }
        n++;
      }
    }
    CHECK_INT(n, 5000);
    CHECK_OK(wherry_sse_free(sse));
  }
}

TEST("R36 an event over the limit is an error, and no later data is accepted") {
  wherry_sse *sse = new_sse(9);
  CHECK_OK(wherry_sse_feed(sse, "data: abc\n\n", 11));
  CHECK_FAILS(wherry_sse_feed(sse, "data: x\n\ndata: too long", 23), WHERRY_E_LIMIT, "too_large");
  CHECK(wherry_sse_next(sse));
  CHECK_TEXT(wherry_sse_data(sse, NULL), "abc");
  CHECK(wherry_sse_next(sse));
  CHECK_TEXT(wherry_sse_data(sse, NULL), "x");
  CHECK(!wherry_sse_next(sse));
  CHECK_FAILS(wherry_sse_feed(sse, "", 0), WHERRY_E_STATE, "wrong_state");
  CHECK_FAILS(wherry_sse_feed(sse, NULL, 1), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_OK(wherry_sse_free(sse));
  CHECK_FAILS(wherry_sse_free(sse), WHERRY_E_ARGUMENT, "bad_handle");
  CHECK_STATUS(wherry_sse_new(SIZE_MAX, &sse), WHERRY_E_ARGUMENT);
}
