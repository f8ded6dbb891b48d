/* Wherry: the rules of the header for every object: handles, structs, text, errors
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "fixture.h"

/* One object of each kind, and the function that frees it. */
typedef wherry_status (*free_function)(void *);
typedef struct object {
  const char *kind;
  void *handle;
  free_function free;
} object;

enum { KINDS = 12 };

static void make_objects(object *objects) {
  static const char pixel[3] = {1, 2, 3};
  wherry_config *config = NULL;
  wherry_client *client = NULL;
  wherry_queue *queue = NULL;
  wherry_request *request = NULL;
  wherry_image *image = NULL;
  wherry_compression *compression = NULL;
  wherry_json *json = NULL;
  wherry_stub *stub = NULL;
  wherry_list *list = NULL;
  wherry_event *event = NULL;
  REQUIRE_OK(wherry_config_new(&config));
  REQUIRE_OK(wherry_client_new(NULL, &client));
  REQUIRE_OK(wherry_queue_new(&queue));
  REQUIRE_OK(wherry_request_new("GET", "http://127.0.0.1/", &request));
  REQUIRE_OK(wherry_image_new_pixels(pixel, 3, WHERRY_PIXELS_RGB8, 1, 1, 0, &image));
  REQUIRE_OK(wherry_compression_new(0.5, &compression));
  REQUIRE_OK(wherry_json_new(&json));
  REQUIRE_OK(wherry_stub_new(&stub));
  REQUIRE_OK(wherry_client_list(client, WHERRY_MATCH_ALL, NULL, &list));
  wherry_config *stubbed = NULL;
  wherry_client *served = NULL;
  wherry_transfer *transfer = NULL;
  wherry_response *response = NULL;
  REQUIRE_OK(wherry_config_new(&stubbed));
  REQUIRE_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, NULL, "x", 1));
  REQUIRE_OK(wherry_config_set_stub(stubbed, stub));
  REQUIRE_OK(wherry_client_new(stubbed, &served));
  REQUIRE_OK(wherry_client_perform(served, request, &response));
  REQUIRE_OK(wherry_client_send(served, request, queue, NULL, &transfer));
  CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  REQUIRE_OK(wherry_client_free(served));
  REQUIRE_OK(wherry_config_free(stubbed));
  REQUIRE_OK(wherry_queue_wake(queue, NULL));
  REQUIRE_OK(wherry_queue_next(queue, 0, &event));
  const object made[KINDS] = {
      {"config", config, (free_function)wherry_config_free},
      {"client", client, (free_function)wherry_client_free},
      {"queue", queue, (free_function)wherry_queue_free},
      {"request", request, (free_function)wherry_request_free},
      {"image", image, (free_function)wherry_image_free},
      {"compression", compression, (free_function)wherry_compression_free},
      {"json", json, (free_function)wherry_json_free},
      {"stub", stub, (free_function)wherry_stub_free},
      {"list", list, (free_function)wherry_list_free},
      {"event", event, (free_function)wherry_event_free},
      {"transfer", transfer, (free_function)wherry_transfer_free},
      {"response", response, (free_function)wherry_response_free},
  };
  memcpy(objects, made, sizeof made);
}

TEST("S11 every handle is freed once; NULL is accepted, and a second free is refused") {
  object objects[KINDS];
  make_objects(objects);
  for (int i = 0; i < KINDS; i++) {
    CHECK_OK(objects[i].free(NULL));
    CHECK_OK(objects[i].free(objects[i].handle));
    CHECK_FAILS(objects[i].free(objects[i].handle), WHERRY_E_ARGUMENT, "bad_handle");
  }
}

TEST("S11 a handle of the wrong kind is refused and stays valid") {
  object objects[KINDS];
  make_objects(objects);
  for (int i = 0; i < KINDS; i++)
    for (int j = 0; j < KINDS; j++)
      if (i != j &&
          !CHECK_FAILS(objects[i].free(objects[j].handle), WHERRY_E_ARGUMENT, "bad_handle"))
        CHECK_TEXT(objects[j].kind, objects[i].kind);
  for (int i = 0; i < KINDS; i++) CHECK_OK(objects[i].free(objects[i].handle));
}

TEST("S11 numbers that were never handles are refused") {
  object objects[KINDS];
  make_objects(objects);
  srand(1);
  for (int round = 0; round < 2000; round++) {
    uintptr_t bits = (uintptr_t)rand() << 33 ^ (uintptr_t)rand() << 13 ^ (uintptr_t)rand();
    if (round % 2) bits = (uintptr_t)objects[round % KINDS].handle ^ ((uintptr_t)1 << round % 64);
    for (int i = 0; i < KINDS; i++)
      if (bits != 0 && (void *)bits != objects[i].handle)
        CHECK_STATUS(objects[i].free((void *)bits), WHERRY_E_ARGUMENT);
  }
  for (int i = 0; i < KINDS; i++) CHECK_OK(objects[i].free(objects[i].handle));
}

TEST("S11 getters return nothing for a bad handle and keep the last error") {
  wherry_request *request = NULL;
  CHECK_FAILS(wherry_request_new("G ET", "http://127.0.0.1/", &request), WHERRY_E_ARGUMENT,
              "bad_method");
  CHECK(request == NULL);

  size_t count = 7;
  CHECK_INT(wherry_client_get_option(NULL, WHERRY_OPTION_DEBUG), -1);
  CHECK_INT(wherry_client_count(NULL, WHERRY_MATCH_ALL, NULL), 0);
  CHECK_INT(wherry_queue_fd(NULL), -1);
  CHECK_INT(wherry_queue_count(NULL), 0);
  CHECK_INT(wherry_transfer_id(NULL), 0);
  CHECK_INT(wherry_event_get_kind(NULL), WHERRY_EVENT_NONE);
  CHECK_STATUS(wherry_event_status(NULL), WHERRY_E_ARGUMENT);
  CHECK(wherry_event_user_data(NULL) == NULL && wherry_event_error(NULL) == NULL);
  CHECK(wherry_event_response(NULL) == NULL && wherry_event_text(NULL) == NULL);
  CHECK(wherry_event_request(NULL) == NULL);
  CHECK(wherry_event_body(NULL, &count) == NULL && count == 0);
  CHECK_INT(wherry_response_http_code(NULL), 0);
  CHECK(wherry_response_header(NULL, "a") == NULL && wherry_response_url(NULL) == NULL);
  CHECK(!wherry_response_header_at(NULL, 0, NULL, NULL));
  CHECK(!wherry_response_redirect_at(NULL, 0, NULL, NULL));
  CHECK(wherry_request_url(NULL) == NULL && wherry_request_method(NULL) == NULL);
  CHECK(wherry_request_identifier(NULL, NULL) == NULL);
  CHECK_INT(wherry_json_get_type(NULL, ""), WHERRY_JSON_MISSING);
  CHECK_INT(wherry_json_get_integer(NULL, "", 5), 5);
  CHECK_TEXT(wherry_json_get_text(NULL, "", "x", &count), "x");
  CHECK_INT(count, 1);
  CHECK(wherry_json_print(NULL, true, &count) == NULL && count == 0);
  CHECK_INT(wherry_list_count(NULL), 0);
  CHECK_INT(wherry_stub_request_count(NULL), 0);
  CHECK_TEXT(wherry_error_message(NULL), "");
  CHECK(wherry_error_reason(NULL) == NULL && wherry_error_underlying(NULL) == NULL);
  CHECK_STATUS(wherry_error_status(NULL), WHERRY_E_ARGUMENT);
  CHECK_INT(wherry_error_retry_after_ms(NULL), -1);

  CHECK_TEXT(wherry_error_reason(wherry_last_error()), "bad_method");
}

static void *read_last_error(void *reason) {
  *(const char **)reason = wherry_error_reason(wherry_last_error());
  return NULL;
}

TEST("R16 each thread has its last error, whose handle lasts until the next failure") {
  CHECK_STATUS(wherry_queue_free((wherry_queue *)1), WHERRY_E_ARGUMENT);
  const wherry_error *first = wherry_last_error();
  CHECK(first == wherry_last_error());
  CHECK_STATUS(wherry_error_status(first), WHERRY_E_ARGUMENT);
  CHECK(strlen(wherry_error_message(first)) > 0);

  const char *reason = NULL;
  pthread_t thread;
  REQUIRE(pthread_create(&thread, NULL, read_last_error, &reason) == 0);
  pthread_join(thread, NULL);
  CHECK_TEXT(reason, "");

  wherry_request *request = NULL;
  CHECK_STATUS(wherry_request_new("GET", NULL, &request), WHERRY_E_ARGUMENT);
  CHECK_TEXT(wherry_error_message(first), "");
  CHECK_TEXT(wherry_error_reason(wherry_last_error()), "bad_argument");
}

TEST("S11 text that is not UTF-8, missing pointers, and bad counts are refused") {
  wherry_request *request = new_request("GET", "http://127.0.0.1/");
  wherry_client *client = new_client(NULL);
  CHECK_FAILS(wherry_request_set_url(request, "http://h/\xff"), WHERRY_E_ARGUMENT, "bad_text");
  CHECK_FAILS(wherry_request_set_parameter(request, "\xc3", "x"), WHERRY_E_ARGUMENT, "bad_text");
  CHECK_FAILS(wherry_request_add_query(request, NULL, "x"), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_FAILS(wherry_request_set_body(request, NULL, 1, NULL), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_FAILS(wherry_request_set_body(request, "x", SIZE_MAX, NULL), WHERRY_E_ARGUMENT,
              "bad_argument");
  CHECK_OK(wherry_request_set_body(request, NULL, 0, NULL));
  CHECK_FAILS(wherry_request_new("GET", "http://h/", NULL), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_FAILS(wherry_client_perform(client, request, NULL), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_FAILS(wherry_request_set_header(request, "A", "b\r\nc: d"), WHERRY_E_ARGUMENT,
              "bad_header");
  CHECK_FAILS(wherry_client_pause(client, WHERRY_MATCH_TAG, NULL, NULL), WHERRY_E_ARGUMENT,
              "bad_argument");
}

TEST("S11 numbers outside an enum or a range are refused") {
  wherry_request *request = new_request("GET", "http://127.0.0.1/");
  wherry_client *client = new_client(NULL);
  wherry_config *config = new_config();
  const int numbers[] = {-1, 0, 7, 98, 100000};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    wherry_option option = (wherry_option)numbers[i];
    CHECK_FAILS(wherry_request_set_option(request, option, 1), WHERRY_E_ARGUMENT, "bad_option");
    CHECK_FAILS(wherry_config_set_option(config, option, 1), WHERRY_E_ARGUMENT, "bad_option");
    CHECK_FAILS(wherry_client_set_option(client, option, 1), WHERRY_E_ARGUMENT, "bad_option");
    CHECK_INT(wherry_client_get_option(client, option), -1);
  }
  CHECK_FAILS(wherry_request_set_text(request, (wherry_text_option)99, "x"), WHERRY_E_ARGUMENT,
              "bad_option");
  CHECK_FAILS(wherry_request_set_option(request, WHERRY_OPTION_MAX_PER_HOST, 1), WHERRY_E_ARGUMENT,
              "bad_option");
  CHECK_FAILS(wherry_client_set_option(client, WHERRY_OPTION_INSECURE, 1), WHERRY_E_ARGUMENT,
              "bad_option");
  CHECK_FAILS(wherry_request_set_option(request, WHERRY_OPTION_IDLE_TIMEOUT_MS, -1),
              WHERRY_E_ARGUMENT, "bad_value");
  CHECK_FAILS(wherry_request_set_hooks(request, 1u << 31), WHERRY_E_ARGUMENT, "bad_value");
  CHECK_FAILS(wherry_request_accept_status(request, 99), WHERRY_E_ARGUMENT, "bad_value");
  CHECK_FAILS(wherry_request_set_digest(request, (wherry_digest)9, "00"), WHERRY_E_ARGUMENT,
              "bad_value");
  CHECK_FAILS(wherry_request_set_digest(request, WHERRY_DIGEST_MD5, "00"), WHERRY_E_ARGUMENT,
              "bad_digest");
  CHECK_FAILS(wherry_client_cancel(client, (wherry_match)77, "x", NULL), WHERRY_E_ARGUMENT,
              "bad_value");
  CHECK_TEXT(wherry_status_name((wherry_status)-100), "E_UNKNOWN");
  CHECK_TEXT(wherry_status_name(WHERRY_E_BUSY), "E_BUSY");
}

TEST("R14 structs are filled up to the caller's size, and no further") {
  wherry_stub *stub = new_stub();
  wherry_client *client = new_stub_client(stub);
  struct {
    wherry_progress known;
    char more[16];
  } large;
  memset(&large, 0x55, sizeof large);
  large.known.size = sizeof large;
  CHECK_OK(wherry_client_progress(client, WHERRY_MATCH_ALL, NULL, &large.known));
  CHECK_INT(large.known.size, sizeof large);
  CHECK_INT(large.known.expected_bytes, -1);
  for (size_t i = 0; i < sizeof large.more; i++) CHECK_INT(large.more[i], 0);

  wherry_progress small;
  memset(&small, 0x55, sizeof small);
  small.size = offsetof(wherry_progress, expected_bytes);
  CHECK_OK(wherry_client_progress(client, WHERRY_MATCH_ALL, NULL, &small));
  CHECK_INT(small.done_bytes, 0);
  CHECK_INT(small.expected_bytes, 0x5555555555555555);

  const size_t absurd[] = {0, 1, 7, SIZE_MAX, 1 << 20};
  for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
    small.size = absurd[i];
    CHECK_FAILS(wherry_client_progress(client, WHERRY_MATCH_ALL, NULL, &small), WHERRY_E_ARGUMENT,
                "bad_argument");
  }
}

TEST("M11 records are read at the caller's stride, and released at once") {
  wherry_queue *queue = new_queue();
  struct {
    wherry_record known;
    int64_t more;
  } large[4];
  memset(large, 0x55, sizeof large);
  for (intptr_t i = 1; i <= 6; i++) CHECK_OK(wherry_queue_wake(queue, (void *)i));
  size_t count = 0;
  large[0].known.size = sizeof large[0];
  CHECK_OK(wherry_queue_read(queue, &large[0].known, 4, 0, &count));
  REQUIRE_INT(count, 4);
  for (intptr_t i = 0; i < 4; i++) {
    CHECK_INT(large[i].known.size, sizeof large[0]);
    CHECK(large[i].known.user_data == (void *)(i + 1));
    CHECK_INT(large[i].known.kind, WHERRY_EVENT_NONE);
    CHECK_INT(large[i].more, 0);
  }
  wherry_event *kept = large[1].known.event;
  large[1].known.event = NULL;
  CHECK_OK(wherry_queue_release(queue, &large[0].known, 4));
  CHECK_FAILS(wherry_event_free(large[0].known.event), WHERRY_E_ARGUMENT, "bad_handle");
  CHECK(wherry_event_user_data(kept) == (void *)2);
  CHECK_FAILS(wherry_queue_release(queue, &large[0].known, 4), WHERRY_E_ARGUMENT, "bad_handle");

  struct {
    size_t size;
    wherry_event *event;
    void *user_data;
  } small[2] = {{sizeof small[0], NULL, NULL}};
  CHECK_OK(wherry_queue_read(queue, (wherry_record *)small, 2, 0, &count));
  REQUIRE_INT(count, 2);
  CHECK(small[1].user_data == (void *)6);
  small[0].size = 8;
  CHECK_FAILS(wherry_queue_read(queue, (wherry_record *)small, 2, 0, &count), WHERRY_E_ARGUMENT,
              "bad_argument");
  small[0].size = sizeof small[0];
  CHECK_FAILS(wherry_queue_read(queue, (wherry_record *)small, 2, 0, &count), WHERRY_E_TIMEOUT,
              "timeout");
  CHECK_FAILS(wherry_queue_read(queue, (wherry_record *)small, 0, 0, &count), WHERRY_E_ARGUMENT,
              "bad_argument");
  CHECK_OK(wherry_queue_free(queue));
  CHECK_STATUS(wherry_queue_release(queue, (wherry_record *)small, 2), WHERRY_E_ARGUMENT);
  CHECK_FAILS(wherry_event_free(small[1].event), WHERRY_E_ARGUMENT, "bad_handle");
  CHECK(wherry_event_user_data(kept) == (void *)2);
  CHECK_OK(wherry_event_free(kept));
}

typedef struct waiting {
  wherry_queue *queue;
  wherry_status status;
} waiting;

static void *wait_in_queue(void *argument) {
  waiting *self = argument;
  wherry_event *event = NULL;
  do {
    self->status = wherry_queue_next(self->queue, 600000, &event);
    if (self->status == WHERRY_OK) wherry_event_free(event);
  } while (self->status == WHERRY_OK);
  return NULL;
}

TEST("M7 freeing a queue ends the waits in it") {
  wherry_queue *queue = new_queue();
  waiting waits[4];
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) {
    waits[i] = (waiting){queue, WHERRY_OK};
    REQUIRE(pthread_create(&threads[i], NULL, wait_in_queue, &waits[i]) == 0);
  }
  for (int i = 0; i < 100; i++) CHECK_OK(wherry_queue_wake(queue, NULL));
  CHECK_OK(wherry_queue_free(queue));
  for (int i = 0; i < 4; i++) {
    pthread_join(threads[i], NULL);
    /* A thread that calls after the end has a bad handle. */
    CHECK(waits[i].status == WHERRY_E_STATE || waits[i].status == WHERRY_E_ARGUMENT);
  }
}

TEST("R14 text borrowed from a response lives as long as it, and copies share its body") {
  wherry_stub *stub = new_stub();
  wherry_client *client = new_stub_client(stub);
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, "A: 1\nB: caf\xc3\xa9\nA: 2\n",
                                    "body", 4));
  CHECK_OK(wherry_client_send(client, new_request("GET", "http://h.invalid/x"), queue, NULL, NULL));
  wherry_event *event = next_event(queue, WHERRY_EVENT_DONE);
  const wherry_response *lent = wherry_event_response(event);
  REQUIRE(lent != NULL);
  CHECK(lent == wherry_event_response(event));
  CHECK_FAILS(wherry_response_free((wherry_response *)lent), WHERRY_E_STATE, "wrong_state");
  wherry_response *copy = NULL;
  REQUIRE_OK(wherry_response_copy(lent, &copy));
  size_t lent_count = 0, copy_count = 0;
  CHECK(wherry_response_body(lent, &lent_count) == wherry_response_body(copy, &copy_count));
  CHECK_INT(lent_count, 4);
  const char *a = wherry_response_header(copy, "a");
  CHECK(a == wherry_response_header(copy, "A"));

  CHECK_OK(wherry_event_free(event));
  CHECK_INT(wherry_response_http_code(lent), 0);
  CHECK_TEXT(a, "1");
  CHECK_TEXT(wherry_response_header(copy, "b"), "caf\xc3\xa9");
  const char *name = NULL, *value = NULL;
  CHECK(wherry_response_header_at(copy, 2, &name, &value));
  CHECK_TEXT(name, "A");
  CHECK_TEXT(value, "2");
  CHECK_BYTES(wherry_response_body(copy, NULL), 4, "body", 4);
  CHECK_OK(wherry_response_free(copy));
  CHECK_FAILS(wherry_response_free(copy), WHERRY_E_ARGUMENT, "bad_handle");
}
