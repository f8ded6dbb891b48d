/* Wherry: objects of a test, freed when it ends, and answers as plain values
 * SPDX-License-Identifier: Apache-2.0
 *
 * Making any of these may end the test (REQUIRE), so they belong to its own thread. A test may free
 * an object itself: freeing it again is answered. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <stdbool.h>
#include <stdint.h>
#include <wherry.h>

/* Its limits of time are far away. */
wherry_config *new_config(void);
/* Takes the config; NULL is a new one. */
wherry_client *new_client(const wherry_config *config);
/* A client with one option. */
wherry_client *new_client_with(wherry_option option, int64_t value);
wherry_queue *new_queue(void);
wherry_request *new_request(const char *method, const char *url);
wherry_stub *new_stub(void);
/* A client on this stub. */
wherry_client *new_stub_client(wherry_stub *stub);
/* Parsed; ends the test if it is no JSON. */
wherry_json *new_json(const char *text, size_t count);
/* A copy of the value at a path; the caller frees it. */
wherry_json *json_at(const wherry_json *json, const char *path);
/* The compact JSON text of the value at a path; the test's own. */
char *json_text_at(const wherry_json *json, const char *path);
/* Frees the list when the test ends. */
wherry_list *keep_list(wherry_list *list);
/* Frees the transfer's handle when the test ends. */
wherry_transfer *keep_transfer(wherry_transfer *transfer);

/* How a transfer ended. All text and bytes are the test's own. */
typedef struct outcome {
  wherry_status status;
  const char *reason, *message; /* "" on success */
  int32_t http_code;
  const char *body; /* NUL behind it; "" if there is none */
  size_t count;
  const char *head; /* "name: value\n" lines */
  const char *text; /* wherry_event_text, or NULL */
  const char *partial; /* wherry_error_partial_path, or NULL */
  void *user_data;
  uint64_t id;
  /* What came before it, of the same transfer: */
  int64_t progress_count, image_count, body_count, state_count;
  int64_t first_done, last_done, last_expected; /* of PROGRESS; -1 if none came */
  bool progress_fell; /* done_bytes or the fraction went back */
  bool progress_repeated; /* the end, 100 %, was told twice */
} outcome;

/* wherry_client_perform, which is to be E_HTTP or OK or what it may. */
outcome perform(wherry_client *client, const wherry_request *request);
/* Reads the queue up to the next DONE. Ends the test if none comes in ten minutes. */
outcome next_done(wherry_queue *queue);
/* The same for one transfer; other transfers' DONE ends the test. */
outcome done_of(wherry_queue *queue, const wherry_transfer *transfer);
/* Sends without expecting a failure, then next_done. */
outcome send_and_wait(wherry_client *client, const wherry_request *request);
wherry_transfer *send_request(wherry_client *client, const wherry_request *request,
                              wherry_queue *queue, void *user_data);
/* A download with a queue of its own, to its end. */
outcome download(wherry_client *client, const wherry_request *request, const char *path);
/* Reads up to an event of this kind, which is the test's to free; ends the test at a DONE before
 * it. */
wherry_event *next_event(wherry_queue *queue, wherry_event_kind kind);
/* No event waits. */
bool queue_is_empty(wherry_queue *queue);

/* Fields of what /echo answers: the text at a path, or NULL. */
const char *echoed(const outcome *got, const char *path);
/* The echoed header of that name, or NULL; "a, b" if it came twice. */
const char *echoed_header(const outcome *got, const char *name);
/* The bytes of a text in base64, with a NUL behind them; the test's own. */
char *decoded_base64(const char *text, size_t *out_count);
/* The echoed body, decoded from base64, with a NUL behind it. */
const char *echoed_body(const outcome *got);
/* The bytes of the index-th multipart part of an echoed body; *count -1 if there is none. */
const uint8_t *echoed_part(const outcome *got, size_t index, long *count);
/* The echoed query or form as "a=1&b=2", decoded pairs in order; "" if none. */
const char *echoed_pairs(const outcome *got, const char *name);
/* Has bytes 0 to count of the /bytes pattern of seed 1. */
bool is_pattern(const void *bytes, size_t count, uint64_t offset);

#endif
