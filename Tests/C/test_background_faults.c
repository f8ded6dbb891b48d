/* Wherry: background sessions from C with damaged files, wrong ids, and many jobs
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

/* A session used only by this test, with an agent that exits soon. */
static wherry_session *new_session(void) {
  wherry_config *config = new_config();
  REQUIRE_OK(wherry_config_set_option(config, WHERRY_OPTION_AGENT_IDLE_MS, 200));
  REQUIRE_OK(wherry_config_set_option(config, WHERRY_OPTION_STALL_BYTES_PER_SECOND, 0));
  REQUIRE_OK(wherry_config_set_text(config, WHERRY_TEXT_STATE_DIRECTORY, check_path("state")));
  REQUIRE_OK(wherry_config_set_text(config, WHERRY_TEXT_AGENT_PATH, WHERRY_AGENT_PATH));
  wherry_session *session = NULL;
  REQUIRE_OK(wherry_session_new(config, "tests", &session));
  return session;
}

/* Returns when the session's agent has exited: the kernel then grants its lock. */
static void wait_for_leave(void) {
  int lock = open(check_path("state/agent.lock"), O_RDWR | O_CLOEXEC);
  if (lock < 0) return;
  struct flock wanted = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  while (fcntl(lock, F_SETLKW, &wanted) != 0) REQUIRE_INT(errno, EINTR);
  close(lock);
}

/* Cancels and acknowledges every job, and frees the session. */
static void end_session(wherry_session *session) {
  CHECK_OK(wherry_session_cancel_all(session, WHERRY_MATCH_ALL, NULL, NULL));
  CHECK_OK(wherry_session_acknowledge_all(session, WHERRY_MATCH_ALL, NULL, NULL));
  CHECK_OK(wherry_session_free(session));
  wait_for_leave();
}

static void start(wherry_session *session, const char *url, const char *name, const char *tag,
                  char *id) {
  wherry_request *request = new_request("GET", url);
  if (tag != NULL) REQUIRE_OK(wherry_request_set_text(request, WHERRY_TEXT_TAG, tag));
  REQUIRE_OK(wherry_session_download(session, request, check_path("%s", name), id));
}

static int state_of(wherry_session *session, const char *id) {
  wherry_list *jobs = NULL;
  wherry_job_row row = {.size = sizeof row};
  int state = 0;
  REQUIRE_OK(wherry_session_list(session, &jobs));
  for (size_t i = 0; i < wherry_list_count(jobs); i++) {
    REQUIRE_OK(wherry_list_job(jobs, i, &row));
    if (strcmp(row.job_id, id) == 0) state = row.state;
  }
  CHECK_OK(wherry_list_free(jobs));
  return state;
}

/* Each of these calls waited for 30 s, which check.c reports as a failure. */
TEST("D14 an unknown job id fails at once, with and without an agent") {
  wherry_session *session = new_session();
  const char *ids[] = {"", "x", "../x", "00000000000000000000000000000000",
                       "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF"};
  wherry_queue *queue = new_queue();
  char id[WHERRY_JOB_ID_SIZE], text[64];
  for (int round = 0; round < 2; round++) {
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
      CHECK_FAILS(wherry_session_pause(session, ids[i]), WHERRY_E_ARGUMENT, "not_found");
      CHECK_FAILS(wherry_session_resume(session, ids[i]), WHERRY_E_ARGUMENT, "not_found");
      CHECK_FAILS(wherry_session_cancel(session, ids[i]), WHERRY_E_ARGUMENT, "not_found");
      CHECK_FAILS(wherry_session_acknowledge(session, ids[i]), WHERRY_E_ARGUMENT, "not_found");
      CHECK_FAILS(wherry_session_follow(session, ids[i], queue, NULL), WHERRY_E_ARGUMENT,
                  "not_found");
      CHECK_FAILS(wherry_session_copy_description(session, ids[i], true, text, sizeof text, NULL),
                  WHERRY_E_ARGUMENT, "not_found");
    }
    if (round == 0) start(session, server_url("/bytes/10?gate=never"), "file.bin", NULL, id);
  }
  end_session(session);
}

TEST("D14 commands apply to all jobs, or to those of a URL, a tag, or a path") {
  wherry_session *session = new_session();
  char ids[3][WHERRY_JOB_ID_SIZE];
  start(session, server_url("/bytes/1000?hold=1&gate=never&n=1"), "a", "mine", ids[0]);
  start(session, server_url("/bytes/1000?hold=1&gate=never&n=2"), "b", NULL, ids[1]);
  start(session, server_url("/bytes/2000?hold=1&gate=never"), "c", NULL, ids[2]);
  size_t count = 99;

  REQUIRE_OK(
      wherry_session_pause_all(session, WHERRY_MATCH_URL, server_url("/bytes/1000"), &count));
  CHECK_INT(count, 2);
  CHECK_INT(state_of(session, ids[0]), WHERRY_STATE_PAUSED);
  CHECK_INT(state_of(session, ids[1]), WHERRY_STATE_PAUSED);
  CHECK(state_of(session, ids[2]) != WHERRY_STATE_PAUSED);
  REQUIRE_OK(wherry_session_resume_all(session, WHERRY_MATCH_TAG, "mine", &count));
  CHECK_INT(count, 1);
  CHECK(state_of(session, ids[0]) != WHERRY_STATE_PAUSED);
  REQUIRE_OK(wherry_session_cancel_all(session, WHERRY_MATCH_PATH, check_path("b"), &count));
  CHECK_INT(count, 1);
  CHECK_INT(state_of(session, ids[1]), WHERRY_STATE_CANCELLED);
  REQUIRE_OK(wherry_session_acknowledge_all(session, WHERRY_MATCH_ALL, NULL, &count));
  CHECK_INT(count, 1);
  REQUIRE_OK(wherry_session_pause_all(session, WHERRY_MATCH_URLS, "http://127.0.0.1:1/x", &count));
  CHECK_INT(count, 0);
  CHECK_FAILS(wherry_session_pause_all(session, WHERRY_MATCH_IDENTIFIER, "x", &count),
              WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_FAILS(wherry_session_pause_all(session, WHERRY_MATCH_ALL, "x", &count), WHERRY_E_ARGUMENT,
              "bad_argument");
  REQUIRE_OK(wherry_session_cancel_all(session, WHERRY_MATCH_ALL, NULL, &count));
  CHECK_INT(count, 2);
  end_session(session);
}

TEST("L4 a background job has a short and a full description") {
  wherry_session *session = new_session();
  char id[WHERRY_JOB_ID_SIZE], text[1024], wanted[64];
  start(session, server_url("/bytes/10?gate=never&secret=1"), "file.bin", "mine", id);
  snprintf(wanted, sizeof wanted, "<Download job: %.12s>", id);

  size_t count = 0;
  REQUIRE_OK(wherry_session_copy_description(session, id, false, text, sizeof text, &count));
  CHECK_TEXT(text, wanted);
  REQUIRE_OK(wherry_session_copy_description(session, id, true, text, sizeof text, &count));
  CHECK_HOLDS(text, wanted);
  CHECK_HOLDS(text, "background download");
  CHECK_HOLDS(text, check_path("file.bin"));
  CHECK_HOLDS(text, "mine");
  CHECK_LACKS(text, "secret");
  end_session(session);
}

TEST("U17 each attempt of an upload sends the job id as its Idempotency-Key") {
  wherry_session *session = new_session();
  char id[WHERRY_JOB_ID_SIZE], wanted[64];
  wherry_request *request = new_request("POST", server_url("/sink?stall=1&gate=g"));
  REQUIRE_OK(wherry_request_set_body(request, "hello", 5, "text/x-mine"));
  REQUIRE_OK(wherry_session_upload(session, request, id));
  REQUIRE(server_wait("requests=1"));
  REQUIRE_OK(wherry_session_pause(session, id));
  REQUIRE_OK(wherry_session_resume(session, id));
  REQUIRE(server_wait("requests=2"));
  server_open("g");
  snprintf(wanted, sizeof wanted, "\"%s\"", id);
  CHECK_TEXT(server_field(0, "Idempotency-Key"), wanted);
  CHECK_TEXT(server_field(1, "Idempotency-Key"), wanted);
  end_session(session);
}

TEST("U17 a body that changes while its upload is paused is not sent") {
  wherry_session *session = new_session();
  char id[WHERRY_JOB_ID_SIZE];
  wherry_request *request = new_request("POST", server_url("/sink?stall=1&gate=g"));
  REQUIRE_OK(wherry_request_set_body(request, "hello", 5, "text/x-mine"));
  REQUIRE_OK(wherry_session_upload(session, request, id));
  REQUIRE(server_wait("requests=1"));
  REQUIRE_OK(wherry_session_pause(session, id));
  check_write_file(check_path("state/jobs/%s.body", id), "hellO", 5);
  server_open("g");
  REQUIRE_OK(wherry_session_resume(session, id));

  wherry_queue *queue = new_queue();
  wherry_event *event = NULL;
  REQUIRE_OK(wherry_session_follow(session, id, queue, NULL));
  do {
    CHECK_OK(wherry_event_free(event));
    REQUIRE_OK(wherry_queue_next(queue, 120000, &event));
  } while (wherry_event_get_kind(event) != WHERRY_EVENT_DONE);
  CHECK_STATUS(wherry_event_status(event), WHERRY_E_FILE);
  CHECK_TEXT(wherry_error_reason(wherry_event_error(event)), "damaged_job");
  CHECK_OK(wherry_event_free(event));
  CHECK_INT(server_count("requests"), 1);
  end_session(session);
}

TEST("D14 an unreadable record is a failed job until it is acknowledged") {
  wherry_session *session = new_session();
  const char *id = "0123456789abcdef0123456789abcdef";
  check_write_file(check_path("state/jobs/%s.job", id), "{", 1);

  wherry_list *jobs = NULL;
  wherry_job_row row = {.size = sizeof row};
  REQUIRE_OK(wherry_session_list(session, &jobs));
  REQUIRE_INT(wherry_list_count(jobs), 1);
  REQUIRE_OK(wherry_list_job(jobs, 0, &row));
  CHECK_TEXT(row.job_id, id);
  CHECK_INT(row.state, WHERRY_STATE_FAILED);
  CHECK_INT(row.status, WHERRY_E_FILE);
  CHECK_TEXT(row.reason, "damaged_job");
  CHECK_HOLDS(row.message, "not valid JSON");
  CHECK_OK(wherry_list_free(jobs));
  CHECK_OK(wherry_session_acknowledge(session, id));
  CHECK(!check_exists(check_path("state/jobs/%s.job", id)));
  end_session(session);
}
