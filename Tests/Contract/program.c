/* Wherry: a program that was built with the header of the last release
 * SPDX-License-Identifier: Apache-2.0
 *
 * abi.py compiles it with the saved header, and runs it with the current library. It uses the
 * calls, options, and structs that programs use most. Behind each struct are bytes that a library
 * with a longer struct must not touch. */
#include <stdio.h>
#include <string.h>
#include <wherry.h>

static int faults;

#define CHECK(condition)                                           \
  do {                                                             \
    if (!(condition)) {                                            \
      printf("program.c:%d: %s is false\n", __LINE__, #condition); \
      faults++;                                                    \
    }                                                              \
  } while (0)

#define CHECK_OK(call)                                                                        \
  do {                                                                                        \
    wherry_status status_ = (call);                                                           \
    if (status_ != WHERRY_OK) {                                                               \
      printf("program.c:%d: %s returned %s\n", __LINE__, #call, wherry_status_name(status_)); \
      faults++;                                                                               \
    }                                                                                         \
  } while (0)

/* A struct filled with 0xAA, with guard bytes behind it. */
#define GUARDED(type, name)         \
  struct {                          \
    type in;                        \
    unsigned char guard[256];       \
  } name;                           \
  memset(&name, 0xAA, sizeof name); \
  name.in.size = sizeof name.in

#define CHECK_GUARD(name)                               \
  do {                                                  \
    CHECK(name.in.size == sizeof name.in);              \
    CHECK(is_untouched(name.guard, sizeof name.guard)); \
  } while (0)

static bool is_untouched(const unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (bytes[i] != 0xAA) return false;
  return true;
}

static wherry_client *new_client(void) {
  wherry_stub *stub = NULL;
  wherry_config *config = NULL;
  wherry_client *client = NULL;
  CHECK_OK(wherry_stub_new(&stub));
  CHECK_OK(wherry_stub_add_response(stub, "GET", "http://h.invalid/json*", -1, 200,
                                    "Content-Type: application/json\nSet-Cookie: a=1\n",
                                    "{\"n\":[1,2]}", 11));
  CHECK_OK(wherry_stub_add_failure(stub, NULL, "http://h.invalid/cut*", -1, "truncated", 10));
  CHECK_OK(wherry_config_new(&config));
  CHECK_OK(wherry_config_set_option(config, WHERRY_OPTION_IDLE_TIMEOUT_MS, 5000));
  CHECK_OK(wherry_config_set_option(config, WHERRY_OPTION_KEEP_ALIVE, 1));
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_BASE_URL, "http://h.invalid/"));
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_USER_AGENT, "program"));
  CHECK_OK(wherry_config_set_stub(config, stub));
  CHECK_OK(wherry_client_new(config, &client));
  CHECK(wherry_client_get_option(client, WHERRY_OPTION_IDLE_TIMEOUT_MS) == 5000);
  CHECK(wherry_client_get_option(client, WHERRY_OPTION_MAX_REDIRECTS) == 10);
  CHECK_OK(wherry_config_free(config));
  CHECK_OK(wherry_stub_free(stub));
  return client;
}

static void test_perform(wherry_client *client) {
  wherry_request *request = NULL;
  wherry_response *response = NULL;
  CHECK_OK(wherry_request_new("GET", "json", &request));
  CHECK_OK(wherry_request_set_parameter(request, "page", "2"));
  CHECK_OK(wherry_request_set_header(request, "X-A", "1"));
  CHECK_OK(wherry_client_perform(client, request, &response));
  CHECK(wherry_response_http_code(response) == 200);
  CHECK(strcmp(wherry_response_url(response), "http://h.invalid/json?page=2") == 0);

  wherry_json *json = NULL;
  CHECK_OK(wherry_response_json(response, &json));
  CHECK(wherry_json_get_integer(json, "n/1", -1) == 2);
  CHECK_OK(wherry_json_free(json));

  GUARDED(wherry_metrics, metrics);
  CHECK_OK(wherry_response_metrics(response, &metrics.in));
  CHECK(metrics.in.redirects == 0 && metrics.in.retries == 0 && metrics.in.total_us >= 0);
  CHECK_GUARD(metrics);
  CHECK_OK(wherry_response_free(response));

  CHECK_OK(wherry_request_set_url(request, "cut"));
  CHECK(wherry_client_perform(client, request, &response) == WHERRY_E_NETWORK);
  CHECK(strcmp(wherry_error_reason(wherry_last_error()), "truncated") == 0);
  CHECK_OK(wherry_request_free(request));
}

static void test_events(wherry_client *client) {
  wherry_queue *queue = NULL;
  wherry_request *request = NULL;
  wherry_transfer *transfer = NULL;
  int tag = 0;
  CHECK_OK(wherry_queue_new(&queue));
  CHECK_OK(wherry_request_new("GET", "json", &request));
  for (int i = 0; i < 3; i++)
    CHECK_OK(wherry_client_send(client, request, queue, &tag, i == 0 ? &transfer : NULL));
  CHECK_OK(wherry_client_wait(client, WHERRY_MATCH_ALL, NULL, 60000));

  /* Records follow each other at the distance that the program was built with. */
  wherry_record records[4];
  memset(records, 0xAA, sizeof records);
  records[0].size = sizeof *records;
  size_t count = 0;
  CHECK_OK(wherry_queue_read(queue, records, 3, 60000, &count));
  CHECK(count == 3);
  for (size_t i = 0; i < count; i++) {
    CHECK(records[i].kind == WHERRY_EVENT_DONE && records[i].status == WHERRY_OK);
    CHECK(records[i].http_code == 200 && records[i].user_data == &tag);
    CHECK(records[i].body_count == 11 && memcmp(records[i].body, "{\"n\":[1,2]}", 11) == 0);
  }
  CHECK(is_untouched((unsigned char *)&records[3], sizeof records[3]));
  CHECK_OK(wherry_queue_release(queue, records, count));

  GUARDED(wherry_progress, progress);
  CHECK_OK(wherry_transfer_progress(transfer, &progress.in));
  CHECK(progress.in.done_bytes == 11 && progress.in.count == 1);
  CHECK_GUARD(progress);
  CHECK(wherry_transfer_state(transfer) == WHERRY_STATE_DONE);
  CHECK_OK(wherry_transfer_free(transfer));
  CHECK_OK(wherry_request_free(request));
  CHECK_OK(wherry_queue_free(queue));
}

static void test_rows(wherry_client *client) {
  wherry_list *cookies = NULL;
  CHECK_OK(wherry_client_list_cookies(client, &cookies));
  CHECK(wherry_list_count(cookies) == 1);
  GUARDED(wherry_cookie_row, cookie);
  CHECK_OK(wherry_list_cookie(cookies, 0, &cookie.in));
  CHECK(strcmp(cookie.in.name, "a") == 0 && strcmp(cookie.in.domain, "h.invalid") == 0);
  CHECK(cookie.in.expires_s == -1 && cookie.in.host_only == 1);
  CHECK_GUARD(cookie);
  CHECK_OK(wherry_list_free(cookies));

  GUARDED(wherry_counters, counters);
  CHECK_OK(wherry_client_counters(client, NULL, &counters.in));
  CHECK(counters.in.started == 5 && counters.in.succeeded == 4 && counters.in.failed == 1);
  CHECK_GUARD(counters);
}

static void test_image(void) {
  const unsigned char pixels[4 * 4 * 3] = {0};
  wherry_image *image = NULL, *result = NULL;
  wherry_compression *compression = NULL;
  CHECK_OK(wherry_image_new_pixels(pixels, sizeof pixels, WHERRY_PIXELS_RGB8, 4, 4, 12, &image));
  CHECK_OK(wherry_compression_new(0.5, &compression));
  CHECK_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_MAX_WIDTH, 2));
  CHECK_OK(wherry_image_compress(image, compression, &result));
  GUARDED(wherry_image_info, info);
  CHECK_OK(wherry_image_inspect(result, &info.in));
  CHECK(info.in.width == 2 && info.in.height == 2 && info.in.format == WHERRY_IMAGE_JPEG);
  CHECK_GUARD(info);
  CHECK_OK(wherry_compression_free(compression));
  CHECK_OK(wherry_image_free(result));
  CHECK_OK(wherry_image_free(image));
}

int main(void) {
  CHECK(wherry_library_version() >= WHERRY_VERSION_NUMBER);
  wherry_client *client = new_client();
  test_perform(client);
  test_events(client);
  test_rows(client);
  test_image();
  CHECK_OK(wherry_client_free(client));
  return faults > 0;
}
