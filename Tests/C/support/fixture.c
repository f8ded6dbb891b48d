/* Wherry: objects of a test, and responses as plain values
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "check.h"
#include "pattern.h"

enum { MAX_KEPT = 4096, WAIT_MS = 600000 };

typedef enum kept_kind { CONFIG, CLIENT, QUEUE, REQUEST, STUB, JSON, LIST, TRANSFER } kept_kind;

static struct {
  kept_kind kind;
  void *handle;
} kept[MAX_KEPT];
static size_t kept_count;

static void free_kept(void) {
  while (kept_count > 0) {
    void *handle = kept[--kept_count].handle;
    switch (kept[kept_count].kind) {
      case CONFIG:
        wherry_config_free(handle);
        break;
      case CLIENT:
        wherry_client_free(handle);
        break;
      case QUEUE:
        wherry_queue_free(handle);
        break;
      case REQUEST:
        wherry_request_free(handle);
        break;
      case STUB:
        wherry_stub_free(handle);
        break;
      case JSON:
        wherry_json_free(handle);
        break;
      case LIST:
        wherry_list_free(handle);
        break;
      case TRANSFER:
        wherry_transfer_free(handle);
        break;
    }
  }
}

static void *keep(kept_kind kind, void *handle) {
  check_at_end(free_kept);
  REQUIRE(handle != NULL);
  REQUIRE(kept_count < MAX_KEPT);
  kept[kept_count].kind = kind;
  kept[kept_count++].handle = handle;
  return handle;
}

/* A busy machine is not a failure; tests of the timeouts set their own. */
static const struct {
  wherry_option option;
  int64_t value;
} patience[] = {
    {WHERRY_OPTION_IDLE_TIMEOUT_MS, WAIT_MS},
    {WHERRY_OPTION_CONNECT_TIMEOUT_MS, WAIT_MS},
    {WHERRY_OPTION_FIRST_BYTE_TIMEOUT_MS, WAIT_MS},
    {WHERRY_OPTION_STALL_BYTES_PER_SECOND, 0},
};

wherry_config *new_config(void) {
  wherry_config *config = NULL;
  REQUIRE_OK(wherry_config_new(&config));
  keep(CONFIG, config);
  for (size_t i = 0; i < sizeof patience / sizeof *patience; i++)
    REQUIRE_OK(wherry_config_set_option(config, patience[i].option, patience[i].value));
  return config;
}

wherry_client *new_client(const wherry_config *config) {
  wherry_client *client = NULL;
  REQUIRE_OK(wherry_client_new(config ? config : new_config(), &client));
  return keep(CLIENT, client);
}

wherry_client *new_client_with(wherry_option option, int64_t value) {
  wherry_config *config = new_config();
  REQUIRE_OK(wherry_config_set_option(config, option, value));
  return new_client(config);
}

wherry_queue *new_queue(void) {
  wherry_queue *queue = NULL;
  REQUIRE_OK(wherry_queue_new(&queue));
  return keep(QUEUE, queue);
}

wherry_request *new_request(const char *method, const char *url) {
  wherry_request *request = NULL;
  REQUIRE_OK(wherry_request_new(method, url, &request));
  return keep(REQUEST, request);
}

wherry_stub *new_stub(void) {
  wherry_stub *stub = NULL;
  REQUIRE_OK(wherry_stub_new(&stub));
  return keep(STUB, stub);
}

wherry_client *new_stub_client(wherry_stub *stub) {
  wherry_config *config = new_config();
  REQUIRE_OK(wherry_config_set_stub(config, stub));
  return new_client(config);
}

wherry_client *new_cached_stub_client(wherry_stub *stub) {
  wherry_config *config = new_config();
  REQUIRE_OK(wherry_config_set_stub(config, stub));
  REQUIRE_OK(wherry_config_set_text(config, WHERRY_TEXT_STORAGE_DIRECTORY, check_path("storage")));
  REQUIRE_OK(wherry_config_set_option(config, WHERRY_OPTION_HTTP_CACHE, 1));
  return new_client(config);
}

wherry_json *new_json(const char *text, size_t count) {
  wherry_json *json = NULL;
  REQUIRE_OK(wherry_json_parse(text, count, &json));
  return keep(JSON, json);
}

wherry_json *json_at(const wherry_json *json, const char *path) {
  wherry_json *found = NULL;
  REQUIRE_OK(wherry_json_copy(json, path, &found));
  return found;
}

char *json_text_at(const wherry_json *json, const char *path) {
  wherry_json *found = json_at(json, path);
  char *text = check_format("%s", wherry_json_print(found, false, NULL));
  CHECK_OK(wherry_json_free(found));
  return text;
}

wherry_list *keep_list(wherry_list *list) { return keep(LIST, list); }

wherry_transfer *keep_transfer(wherry_transfer *transfer) { return keep(TRANSFER, transfer); }

static char *copy(const void *bytes, size_t count) {
  char *text = check_memory(count + 1);
  if (count > 0) memcpy(text, bytes, count);
  return text;
}

static const char *copy_text(const char *text) { return text ? copy(text, strlen(text)) : NULL; }

static void take_error(outcome *got, const wherry_error *error) {
  got->reason = copy_text(error ? wherry_error_reason(error) : "");
  got->message = copy_text(error ? wherry_error_message(error) : "");
  got->partial = error ? copy_text(wherry_error_partial_path(error)) : NULL;
  if (got->reason == NULL) got->reason = "";
}

static void take_response(outcome *got, const wherry_response *response) {
  const char *name, *value;
  size_t count = 0;
  got->body = "";
  got->head = "";
  if (response == NULL) return;
  const uint8_t *body = wherry_response_body(response, &count);
  got->http_code = wherry_response_http_code(response);
  got->body = copy(body, count);
  got->count = count;
  for (size_t i = 0; wherry_response_header_at(response, i, &name, &value); i++)
    got->head = check_format("%s%s: %s\n", got->head, name, value);
}

static outcome empty_outcome(void) {
  return (outcome){.first_done = -1, .last_done = -1, .last_expected = -1};
}

outcome perform(wherry_client *client, const wherry_request *request) {
  outcome got = empty_outcome();
  wherry_response *response = NULL;
  got.status = wherry_client_perform(client, request, &response);
  take_error(&got, got.status == WHERRY_OK ? NULL : wherry_last_error());
  take_response(&got, response);
  CHECK_OK(wherry_response_free(response));
  return got;
}

static void take_progress(outcome *got, const wherry_event *event) {
  wherry_progress now = {.size = sizeof now};
  REQUIRE_OK(wherry_event_progress(event, &now));
  if (got->progress_count++ == 0) got->first_done = now.done_bytes;
  if (now.done_bytes < got->last_done) got->progress_fell = true;
  if (now.expected_bytes >= 0 && now.done_bytes > now.expected_bytes) got->progress_fell = true;
  if (now.done_bytes == now.expected_bytes && now.done_bytes == got->last_done &&
      now.expected_bytes == got->last_expected)
    got->progress_repeated = true;
  got->last_done = now.done_bytes;
  got->last_expected = now.expected_bytes;
}

static void take_done(outcome *got, const wherry_event *event) {
  got->status = wherry_event_status(event);
  got->text = copy_text(wherry_event_text(event));
  got->user_data = wherry_event_user_data(event);
  got->id = wherry_event_transfer_id(event);
  take_error(got, wherry_event_error(event));
  take_response(got, wherry_event_response(event));
  if (got->http_code == 0) got->http_code = wherry_error_http_code(wherry_event_error(event));
}

outcome next_done(wherry_queue *queue) {
  outcome got = empty_outcome();
  for (;;) {
    wherry_event *event = NULL;
    REQUIRE_OK(wherry_queue_next(queue, WAIT_MS, &event));
    wherry_event_kind kind = wherry_event_get_kind(event);
    switch (kind) {
      case WHERRY_EVENT_PROGRESS:
        take_progress(&got, event);
        break;
      case WHERRY_EVENT_IMAGE:
        got.image_count++;
        break;
      case WHERRY_EVENT_BODY:
        got.body_count++;
        break;
      case WHERRY_EVENT_STATE:
        got.state_count++;
        break;
      case WHERRY_EVENT_DONE:
        take_done(&got, event);
        break;
      default:
        break;
    }
    REQUIRE_OK(wherry_event_free(event));
    if (kind == WHERRY_EVENT_DONE) return got;
  }
}

outcome done_of(wherry_queue *queue, const wherry_transfer *transfer) {
  outcome got = next_done(queue);
  REQUIRE_INT(got.id, wherry_transfer_id(transfer));
  return got;
}

wherry_transfer *send_request(wherry_client *client, const wherry_request *request,
                              wherry_queue *queue, void *user_data) {
  wherry_transfer *transfer = NULL;
  REQUIRE_OK(wherry_client_send(client, request, queue, user_data, &transfer));
  return keep(TRANSFER, transfer);
}

outcome send_and_wait(wherry_client *client, const wherry_request *request) {
  wherry_queue *queue = new_queue();
  return done_of(queue, send_request(client, request, queue, NULL));
}

outcome download(wherry_client *client, const wherry_request *request, const char *path) {
  wherry_queue *queue = new_queue();
  wherry_transfer *transfer = NULL;
  REQUIRE_OK(wherry_client_download(client, request, path, queue, NULL, &transfer));
  return done_of(queue, keep(TRANSFER, transfer));
}

wherry_event *next_event(wherry_queue *queue, wherry_event_kind kind) {
  for (;;) {
    wherry_event *event = NULL;
    REQUIRE_OK(wherry_queue_next(queue, WAIT_MS, &event));
    wherry_event_kind found = wherry_event_get_kind(event);
    if (found == kind) return event;
    wherry_status status = wherry_event_status(event);
    REQUIRE_OK(wherry_event_free(event));
    if (found == WHERRY_EVENT_DONE) {
      CHECK_INT(status, WHERRY_OK);
      REQUIRE(found == kind);
    }
  }
}

bool queue_is_empty(wherry_queue *queue) {
  wherry_event *event = NULL;
  wherry_status status = wherry_queue_next(queue, 0, &event);
  if (status == WHERRY_OK) wherry_event_free(event);
  return status == WHERRY_E_TIMEOUT;
}

const char *echoed(const outcome *got, const char *path) {
  return copy_text(wherry_json_get_text(new_json(got->body, got->count), path, NULL, NULL));
}

const char *echoed_header(const outcome *got, const char *name) {
  wherry_json *json = new_json(got->body, got->count);
  char *result = NULL;
  size_t count = wherry_json_count(json, "headers");
  for (size_t i = 0; i < count; i++) {
    const char *found = wherry_json_get_text(json, check_format("headers/%zu/0", i), "", NULL);
    if (strcasecmp(found, name) != 0) continue;
    const char *value = wherry_json_get_text(json, check_format("headers/%zu/1", i), "", NULL);
    result = result ? check_format("%s, %s", result, value) : check_format("%s", value);
  }
  return result;
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *encoded_base64(const void *bytes, size_t count) {
  const uint8_t *from = bytes;
  char *text = check_memory(count / 3 * 4 + 5), *to = text;
  for (size_t i = 0; i < count; i += 3) {
    uint32_t group = from[i] << 16;
    if (i + 1 < count) group |= from[i + 1] << 8;
    if (i + 2 < count) group |= from[i + 2];
    for (int shift = 18; shift >= 0; shift -= 6) *to++ = digits[group >> shift & 63];
    if (i + 1 >= count) to[-2] = '=';
    if (i + 2 >= count) to[-1] = '=';
  }
  *to = '\0';
  return text;
}

char *decoded_base64(const char *text, size_t *count) {
  char *bytes = check_memory(strlen(text) + 1), *end = bytes;
  uint32_t bits = 0;
  int held = 0;
  for (; *text != '\0' && *text != '='; text++) {
    bits = bits << 6 | (uint32_t)(strchr(digits, *text) - digits);
    held += 6;
    if (held >= 8) *end++ = (char)(bits >> (held -= 8) & 0xff);
  }
  *end = '\0';
  *count = (size_t)(end - bytes);
  return bytes;
}

static char *decoded_body(const outcome *got, size_t *count) {
  const char *text = echoed(got, "body");
  *count = 0;
  return text == NULL ? NULL : decoded_base64(text, count);
}

const char *echoed_body(const outcome *got) {
  size_t count;
  return decoded_body(got, &count);
}

const uint8_t *echoed_part(const outcome *got, size_t index, long *count) {
  size_t size;
  const char *bytes = decoded_body(got, &size), *end = bytes + size;
  const char *type = echoed_header(got, "Content-Type");
  const char *boundary = type ? strstr(type, "boundary=") : NULL;
  *count = -1;
  if (bytes == NULL || boundary == NULL) return NULL;
  char *mark = check_format("--%s", boundary + strlen("boundary="));
  const char *at = memmem(bytes, size, mark, strlen(mark));
  for (size_t i = 0; at != NULL; i++) {
    const char *head = at + strlen(mark);
    const char *body = memmem(head, (size_t)(end - head), "\r\n\r\n", 4);
    at = body ? memmem(body, (size_t)(end - body), mark, strlen(mark)) : NULL;
    if (at == NULL || i < index) continue;
    *count = (long)(at - 2 - (body + 4));
    return (const uint8_t *)body + 4;
  }
  return NULL;
}

const char *echoed_pairs(const outcome *got, const char *name) {
  wherry_json *json = new_json(got->body, got->count);
  const char *result = "";
  size_t count = wherry_json_count(json, name);
  for (size_t i = 0; i < count; i++) {
    const char *key = wherry_json_get_text(json, check_format("%s/%zu/0", name, i), "?", NULL);
    char *pair = check_format("%s%s", *result ? "&" : "", key);
    const char *value = wherry_json_get_text(json, check_format("%s/%zu/1", name, i), "?", NULL);
    result = check_format("%s%s=%s", result, pair, value);
  }
  return result;
}

bool is_pattern(const void *bytes, size_t count, uint64_t offset) {
  const unsigned char *at = bytes;
  for (size_t i = 0; i < count; i++)
    if (at[i] != test_pattern_byte(1, offset + i)) return false;
  return true;
}
