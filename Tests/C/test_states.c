/* Wherry: row M5 of features.md, from C: state transitions follow the table
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

#define BIT(state) (1u << WHERRY_STATE_##state)

/* The states allowed after each state; Tests/AcceptanceTests/Support.swift has the same table. */
static const unsigned after_of_requests[] = {
    [WHERRY_STATE_QUEUED] =
        BIT(RUNNING) | BIT(PAUSED) | BIT(WAITING) | BIT(DONE) | BIT(FAILED) | BIT(CANCELLED),
    [WHERRY_STATE_RUNNING] = BIT(PAUSED) | BIT(WAITING) | BIT(DONE) | BIT(FAILED) | BIT(CANCELLED),
    [WHERRY_STATE_WAITING] = BIT(RUNNING) | BIT(PAUSED) | BIT(DONE) | BIT(FAILED) | BIT(CANCELLED),
    [WHERRY_STATE_PAUSED] =
        BIT(QUEUED) | BIT(RUNNING) | BIT(WAITING) | BIT(DONE) | BIT(FAILED) | BIT(CANCELLED),
    [WHERRY_STATE_CANCELLED] = 0};
static const unsigned after_of_downloads[] = {
    /* It begins as QUEUED, which is reported if others precede it. */
    [WHERRY_STATE_QUEUED] = BIT(QUEUED) | BIT(RUNNING) | BIT(PAUSED) | BIT(WAITING) |
                            BIT(VERIFYING) | BIT(RESTARTED) | BIT(DONE) | BIT(FAILED) |
                            BIT(CANCELLED),
    [WHERRY_STATE_RUNNING] = BIT(PAUSED) | BIT(WAITING) | BIT(VERIFYING) | BIT(RESTARTED) |
                             BIT(DONE) | BIT(FAILED) | BIT(CANCELLED),
    [WHERRY_STATE_WAITING] = BIT(RUNNING) | BIT(PAUSED) | BIT(FAILED) | BIT(CANCELLED),
    /* A resumed transfer may have to wait in the queue. */
    [WHERRY_STATE_PAUSED] =
        BIT(QUEUED) | BIT(RUNNING) | BIT(WAITING) | BIT(VERIFYING) | BIT(FAILED) | BIT(CANCELLED),
    [WHERRY_STATE_RESTARTED] = BIT(RUNNING),
    /* Then it gets its name or restarts; a pause stops it, and it is read again afterwards. */
    [WHERRY_STATE_VERIFYING] = BIT(RUNNING) | BIT(PAUSED) | BIT(FAILED) | BIT(CANCELLED),
    [WHERRY_STATE_CANCELLED] = 0};

/* The states of one transfer; their address is the transfer's user data. */
typedef struct history {
  const unsigned *after;
  int32_t now;
  int ends;
  char text[4000]; /* "1 2 4 2 7" */
} history;

static void note(history *self, int32_t state) {
  size_t used = strlen(self->text);
  if (used < sizeof self->text - 4) strcat(self->text, check_format(" %d", state));
  if (!CHECK(self->ends == 0 && (self->after[self->now] >> state & 1) != 0))
    CHECK_TEXT(self->text, "states that follow each other");
  self->now = state;
}

static void take(const wherry_record *record) {
  history *self = record->user_data;
  if (record->kind == WHERRY_EVENT_STATE) note(self, (int32_t)record->detail);
  if (record->kind != WHERRY_EVENT_DONE) return;
  note(self, record->status == WHERRY_OK            ? WHERRY_STATE_DONE
             : record->status == WHERRY_E_CANCELLED ? WHERRY_STATE_CANCELLED
                                                    : WHERRY_STATE_FAILED);
  self->ends++;
}

static wherry_client *shared;

/* Pauses, resumes, and sometimes cancels the transfers; at the end none is left paused. */
static void *disturb(void *seed_of) {
  unsigned *seed = seed_of;
  for (int i = 0; i < 150; i++) {
    wherry_match match = rand_r(seed) % 2 ? WHERRY_MATCH_ALL : WHERRY_MATCH_TAG;
    const char *key = match == WHERRY_MATCH_TAG ? "odd" : NULL;
    switch (rand_r(seed) % 40) {
      case 0:
        CHECK_OK(wherry_client_cancel(shared, WHERRY_MATCH_TAG, "odd", NULL));
        break;
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
      case 6:
      case 7:
      case 8:
      case 9:
      case 10:
        CHECK_OK(wherry_client_pause(shared, match, key, NULL));
        break;
      default:
        CHECK_OK(wherry_client_resume(shared, match, key, NULL));
        break;
    }
    sched_yield();
  }
  CHECK_OK(wherry_client_resume(shared, WHERRY_MATCH_ALL, NULL, NULL));
  return NULL;
}

TEST("M5 the states of a transfer follow the table whatever two threads do") {
  enum { GROUP = 20 };
  const char *paths[] = {"/bytes/20000",
                         "/status/404",
                         "/redirect/1",
                         "/drip?bytes=20&interval_ms=1",
                         "/bytes/60000?cut=30000&times=1",
                         "/bytes/60000"};
  int groups = check_in_full() ? 200 : 10;
  wherry_queue *queue = new_queue();
  unsigned seed = 3, other_seed = 5;
  shared = new_client(NULL);
  const char *digest = perform(shared, new_request("GET", server_url("/digest/60000"))).body;
  for (int group = 0; group < groups; group++) {
    history histories[GROUP];
    memset(histories, 0, sizeof histories);
    int started = 0, ended = 0;
    pthread_t thread;
    REQUIRE_INT(pthread_create(&thread, NULL, disturb, &other_seed), 0);
    for (int i = 0; i < GROUP; i++) {
      history *self = &histories[i];
      int path = rand_r(&seed) % 6;
      wherry_request *request = NULL;
      CHECK_OK(wherry_request_new("GET", server_url("%s", paths[path]), &request));
      CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_MAX_RETRIES, 0));
      if (i % 2) CHECK_OK(wherry_request_set_text(request, WHERRY_TEXT_TAG, "odd"));
      if (i % 4 == 0) CHECK_OK(wherry_request_set_digest(request, WHERRY_DIGEST_SHA256, digest));
      self->now = WHERRY_STATE_QUEUED;
      self->after = path < 4 ? after_of_requests : after_of_downloads;
      const char *file = check_path("%d-%d", group, i);
      wherry_status status = path < 4
                                 ? wherry_client_send(shared, request, queue, self, NULL)
                                 : wherry_client_download(shared, request, file, queue, self, NULL);
      if (CHECK_OK(status)) started++;
      CHECK_OK(wherry_request_free(request));
    }
    while (ended < started) {
      wherry_record record = {.size = sizeof record};
      size_t count = 0;
      wherry_status status = wherry_queue_read(queue, &record, 1, 600000, &count);
      if (!CHECK_OK(status)) break;
      take(&record);
      ended += record.kind == WHERRY_EVENT_DONE;
      CHECK_OK(wherry_queue_release(queue, &record, 1));
    }
    pthread_join(thread, NULL);
    for (int i = 0; i < started; i++) CHECK_INT(histories[i].ends, 1);
    if (ended < started) break;
  }
  CHECK(queue_is_empty(queue));
  CHECK_INT(wherry_client_count(shared, WHERRY_MATCH_ALL, NULL), 0);
}
