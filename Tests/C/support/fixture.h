/* Wherry: objects of a test, freed when it ends, and responses as plain values
 * SPDX-License-Identifier: Apache-2.0
 *
 * Creating any of these may end the test (REQUIRE), so only the test's thread creates them. A test
 * may free an object itself: freeing it again is harmless. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <wherry.h>

/* Its timeouts are generous. */
wherry_config *new_config(void);
/* Takes ownership of the config; NULL creates one. */
wherry_client *new_client(const wherry_config *config);
/* A client with one option. */
wherry_client *new_client_with(wherry_option option, int64_t value);
wherry_queue *new_queue(void);
wherry_request *new_request(const char *method, const char *url);
wherry_stub *new_stub(void);
/* A client on this stub. */
wherry_client *new_stub_client(wherry_stub *stub);
/* The same with an HTTP cache. */
wherry_client *new_cached_stub_client(wherry_stub *stub);
/* Parsed; ends the test if it is not JSON. */
wherry_json *new_json(const char *text, size_t count);
/* A copy of the value at a path; the caller frees it. */
wherry_json *json_at(const wherry_json *json, const char *path);
/* The compact JSON text of the value at a path, freed with the test. */
char *json_text_at(const wherry_json *json, const char *path);
/* Frees the list when the test ends. */
wherry_list *keep_list(wherry_list *list);
/* Frees the transfer's handle when the test ends. */
wherry_transfer *keep_transfer(wherry_transfer *transfer);

/* How a transfer ended. All text and bytes are freed with the test. */
typedef struct outcome {
  wherry_status status;
  const char *reason, *message; /* "" on success */
  int32_t http_code;
  const char *body; /* NUL-terminated; "" if empty */
  size_t count;
  const char *head;    /* "name: value\n" lines */
  const char *text;    /* wherry_event_text, or NULL */
  const char *partial; /* wherry_error_partial_path, or NULL */
  void *user_data;
  uint64_t id;
  /* Events before it, of the same transfer: */
  int64_t progress_count, image_count, body_count, state_count;
  int64_t first_done, last_done, last_expected; /* of PROGRESS; -1 without one */
  bool progress_fell;                           /* done_bytes or the fraction decreased */
  bool progress_repeated;                       /* the end, 100 %, was reported twice */
} outcome;

/* wherry_client_perform, which must return E_HTTP, OK, or an allowed status. */
outcome perform(wherry_client *client, const wherry_request *request);
/* Reads the queue up to the next DONE. Ends the test if none arrives in ten minutes. */
outcome next_done(wherry_queue *queue);
/* The same for one transfer; the DONE of another transfer ends the test. */
outcome done_of(wherry_queue *queue, const wherry_transfer *transfer);
/* Sends and requires success, then next_done. */
outcome send_and_wait(wherry_client *client, const wherry_request *request);
wherry_transfer *send_request(wherry_client *client, const wherry_request *request,
                              wherry_queue *queue, void *user_data);
/* A download with its own queue, until its end. */
outcome download(wherry_client *client, const wherry_request *request, const char *path);
/* Reads up to an event of this kind, which the test frees; an earlier DONE ends the test. */
wherry_event *next_event(wherry_queue *queue, wherry_event_kind kind);
/* No event is waiting. */
bool queue_is_empty(wherry_queue *queue);

/* Members of the /echo response: the text at a path, or NULL. */
const char *echoed(const outcome *got, const char *path);
/* The echoed header of that name, or NULL; "a, b" if it was sent twice. */
const char *echoed_header(const outcome *got, const char *name);
/* The decoded bytes of a base64 text, NUL-terminated; freed with the test. */
char *decoded_base64(const char *text, size_t *out_count);
/* The base64 text of bytes; freed with the test. */
char *encoded_base64(const void *bytes, size_t count);
/* The echoed body, decoded from base64, NUL-terminated. */
const char *echoed_body(const outcome *got);
/* The bytes of the index-th multipart part of an echoed body; *count -1 if there is none. */
const uint8_t *echoed_part(const outcome *got, size_t index, long *count);
/* The echoed query or form as "a=1&b=2", decoded pairs in order; "" if none. */
const char *echoed_pairs(const outcome *got, const char *name);
/* Has bytes 0 to count of the /bytes pattern of seed 1. */
bool is_pattern(const void *bytes, size_t count, uint64_t offset);

#endif
