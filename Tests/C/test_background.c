/* Wherry: background sessions from C
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

enum { SIZE = 1060921, CUT = 400000 };

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

/* Whether the session's agent is alive: then it holds its lock. */
static bool has_agent(void) {
  int lock = open(check_path("state/agent.lock"), O_RDWR | O_CLOEXEC);
  if (lock < 0) return false;
  struct flock asked = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  REQUIRE_INT(fcntl(lock, F_OFD_GETLK, &asked), 0);
  close(lock);
  return asked.l_type != F_UNLCK;
}

/* Returns when the session's agent has exited, because the kernel then grants its lock. An idle
 * agent exits without help; the guard of check.c ends one that does not. */
static void wait_for_leave(void) {
  int lock = open(check_path("state/agent.lock"), O_RDWR | O_CLOEXEC);
  if (lock < 0) return;
  struct flock wanted = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  /* Not F_OFD_SETLKW: valgrind does not know that it blocks, and would not run other threads. */
  while (fcntl(lock, F_SETLKW, &wanted) != 0) REQUIRE_INT(errno, EINTR);
  close(lock);
}

/* Ends every job, frees the session, and returns when the agent has exited. */
static void end_session(wherry_session *session) {
  wherry_list *jobs = NULL;
  CHECK_OK(wherry_session_list(session, &jobs));
  for (size_t i = 0; i < wherry_list_count(jobs); i++) {
    wherry_job_row row = {.size = sizeof row};
    CHECK_OK(wherry_list_job(jobs, i, &row));
    CHECK_OK(wherry_session_cancel(session, row.job_id));
    CHECK_OK(wherry_session_acknowledge(session, row.job_id));
  }
  CHECK_OK(wherry_list_free(jobs));
  CHECK_OK(wherry_session_free(session));
  wait_for_leave();
  CHECK(!has_agent());
}

/* The next event of that kind; earlier ones are freed. */
static wherry_event *next_of(wherry_queue *queue, wherry_event_kind kind) {
  for (;;) {
    wherry_event *event = NULL;
    REQUIRE_OK(wherry_queue_next(queue, 120000, &event));
    if (wherry_event_get_kind(event) == kind) return event;
    CHECK_OK(wherry_event_free(event));
  }
}

TEST("D14 a job is followed to its end, reported until acknowledged, and claimed once") {
  wherry_session *session = new_session();
  const char *path = check_path("file.bin");
  char id[WHERRY_JOB_ID_SIZE], again[WHERRY_JOB_ID_SIZE];
  wherry_request *request = new_request("GET", server_url("/bytes/%d?hold=%d&gate=g", SIZE, CUT));
  REQUIRE_OK(wherry_session_download(session, request, path, id));
  CHECK_INT(strlen(id), WHERRY_JOB_ID_SIZE - 1);
  REQUIRE_OK(wherry_session_download(session, request, path, again));
  CHECK_TEXT(again, id);
  wherry_queue *queue = new_queue();
  int mark = 0;
  REQUIRE_OK(wherry_session_follow(session, id, queue, &mark));
  CHECK_FAILS(wherry_session_follow(session, id, queue, NULL), WHERRY_E_BUSY, "already_running");
  CHECK_FAILS(wherry_session_acknowledge(session, id), WHERRY_E_STATE, "wrong_state");

  wherry_event *event = next_of(queue, WHERRY_EVENT_PROGRESS);
  CHECK_TEXT(wherry_event_job_id(event), id);
  CHECK_INT(wherry_event_transfer_id(event), 0);
  CHECK_INT(wherry_event_user_key(event), 0);
  CHECK(wherry_event_user_data(event) == &mark);
  CHECK_OK(wherry_event_free(event));
  CHECK(!check_exists(path));
  server_open("g");
  event = next_of(queue, WHERRY_EVENT_DONE);
  CHECK_TEXT(wherry_event_job_id(event), id);
  CHECK_STATUS(wherry_event_status(event), WHERRY_OK);
  CHECK_TEXT(wherry_event_text(event), path);
  CHECK_INT(wherry_response_http_code(wherry_event_response(event)), 200);
  CHECK_OK(wherry_event_free(event));
  long found;
  const char *bytes = check_read_file(path, &found);
  CHECK_INT(found, SIZE);
  CHECK(is_pattern(bytes, SIZE, 0));
  CHECK_INT(server_count("requests"), 1);

  /* A later follower gets the size and the report again. */
  REQUIRE_OK(wherry_session_follow(session, id, queue, NULL));
  event = next_of(queue, WHERRY_EVENT_PROGRESS);
  wherry_progress progress = {.size = sizeof progress};
  REQUIRE_OK(wherry_event_progress(event, &progress));
  CHECK_INT(progress.done_bytes, SIZE);
  CHECK_INT(progress.expected_bytes, SIZE);
  CHECK_OK(wherry_event_free(event));
  event = next_of(queue, WHERRY_EVENT_DONE);
  CHECK_STATUS(wherry_event_status(event), WHERRY_OK);
  CHECK_OK(wherry_event_free(event));
  CHECK_OK(wherry_session_acknowledge(session, id));
  CHECK_FAILS(wherry_session_acknowledge(session, id), WHERRY_E_ARGUMENT, "not_found");
  CHECK_FAILS(wherry_session_follow(session, id, queue, NULL), WHERRY_E_ARGUMENT, "not_found");
  end_session(session);
}

/* The byte became U+FFFD, and the second job wrote to the path of the first. */
TEST("D14 jobs whose paths differ in one byte that is not UTF-8 write two files") {
  wherry_session *session = new_session();
  const char *names[] = {"caf\xe9.bin", "caf\xe8.bin"};
  char ids[2][WHERRY_JOB_ID_SIZE];
  wherry_queue *queue = new_queue();
  for (int i = 0; i < 2; i++) {
    wherry_request *request = new_request("GET", server_url("/bytes/%d", 1000 + i));
    REQUIRE_OK(wherry_session_download(session, request, check_path("%s", names[i]), ids[i]));
  }
  CHECK(strcmp(ids[0], ids[1]) != 0);
  for (int i = 0; i < 2; i++) {
    REQUIRE_OK(wherry_session_follow(session, ids[i], queue, NULL));
    wherry_event *event = next_of(queue, WHERRY_EVENT_DONE);
    CHECK_STATUS(wherry_event_status(event), WHERRY_OK);
    CHECK_TEXT(wherry_event_text(event), check_path("%s", names[i]));
    CHECK_OK(wherry_event_free(event));
    long count;
    check_read_file(check_path("%s", names[i]), &count);
    CHECK_INT(count, 1000 + i);
  }
  wherry_list *jobs = NULL;
  REQUIRE_OK(wherry_session_list(session, &jobs));
  keep_list(jobs);
  REQUIRE_INT(wherry_list_count(jobs), 2);
  for (size_t i = 0; i < 2; i++) {
    wherry_job_row row = {.size = sizeof row};
    CHECK_OK(wherry_list_job(jobs, i, &row));
    int which = strcmp(row.job_id, ids[0]) == 0 ? 0 : 1;
    CHECK_TEXT(row.path, check_path("%s", names[which]));
  }
  end_session(session);
}

/* The partial file was keyed by the whole URL, so that only a download to a file name resumed. */
TEST("D26 a job with a fresh link into a directory resumes the partial file of a failed one") {
  wherry_session *session = new_session();
  const char *folder = check_path("folder");
  REQUIRE_INT(mkdir(folder, 0700), 0);
  wherry_queue *queue = new_queue();
  for (int sig = 1; sig <= 2; sig++) {
    char id[WHERRY_JOB_ID_SIZE];
    const char *cut = sig == 1 ? check_format("&cut=%d", CUT) : "";
    wherry_request *request = new_request("GET", server_url("/bytes/%d?sig=%d%s", SIZE, sig, cut));
    REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_TARGET_IS_DIRECTORY, 1));
    REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_MAX_RETRIES, 0));
    REQUIRE_OK(wherry_session_download(session, request, folder, id));
    REQUIRE_OK(wherry_session_follow(session, id, queue, NULL));
    wherry_event *event = next_of(queue, WHERRY_EVENT_DONE);
    CHECK_INT(wherry_event_status(event) == WHERRY_OK, sig == 2);
    CHECK_OK(wherry_event_free(event));
  }
  CHECK_TEXT(server_field(1, "Range"), check_format("bytes=%d-", CUT));
  long count;
  const char *bytes = check_read_file(check_path("folder/%d", SIZE), &count);
  CHECK_INT(count, SIZE);
  CHECK(bytes != NULL && is_pattern(bytes, SIZE, 0));
  CHECK_INT(check_entries(folder), 1);
  end_session(session);
}

TEST("D14 a job is listed, paused, resumed, and cancelled") {
  wherry_session *session = new_session();
  const char *path = check_path("file.bin");
  char id[WHERRY_JOB_ID_SIZE];
  wherry_request *request =
      new_request("GET", server_url("/bytes/%d?hold=%d&gate=g&secret=1", SIZE, CUT));
  REQUIRE_OK(wherry_request_set_text(request, WHERRY_TEXT_TAG, "mine"));
  REQUIRE_OK(wherry_session_download(session, request, path, id));
  wherry_queue *queue = new_queue();
  REQUIRE_OK(wherry_session_follow(session, NULL, queue, NULL));
  wherry_event *event = NULL;
  wherry_progress progress = {.size = sizeof progress};
  do { /* until the response headers have given the length */
    CHECK_OK(wherry_event_free(event));
    event = next_of(queue, WHERRY_EVENT_PROGRESS);
    REQUIRE_OK(wherry_event_progress(event, &progress));
  } while (progress.expected_bytes != SIZE);
  CHECK_OK(wherry_event_free(event));

  CHECK_OK(wherry_session_pause(session, id));
  CHECK_OK(wherry_session_pause(session, id));
  wherry_list *jobs = NULL;
  wherry_job_row row = {.size = sizeof row};
  REQUIRE_OK(wherry_session_list(session, &jobs));
  REQUIRE_INT(wherry_list_count(jobs), 1);
  REQUIRE_OK(wherry_list_job(jobs, 0, &row));
  CHECK_TEXT(row.job_id, id);
  CHECK_TEXT(row.path, path);
  CHECK_TEXT(row.tag, "mine");
  CHECK_HOLDS(row.url, "?...");
  CHECK_LACKS(row.url, "secret");
  CHECK_INT(row.state, WHERRY_STATE_PAUSED);
  CHECK_INT(row.kind, WHERRY_TRANSFER_DOWNLOAD);
  CHECK_INT(row.expected_bytes, SIZE);
  CHECK(row.started_at_ms > 0 && row.retry_at_ms == -1);
  CHECK_FAILS(wherry_list_job(jobs, 1, &row), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_OK(wherry_list_free(jobs));

  CHECK_OK(wherry_session_resume(session, id));
  CHECK_OK(wherry_session_cancel(session, id));
  CHECK_OK(wherry_session_cancel(session, id));
  event = next_of(queue, WHERRY_EVENT_DONE);
  CHECK_STATUS(wherry_event_status(event), WHERRY_E_CANCELLED);
  CHECK_TEXT(wherry_event_job_id(event), id);
  CHECK_OK(wherry_event_free(event));
  CHECK(!check_exists(path));
  server_open("g");
  end_session(session);
}

TEST("U17 the agent performs an upload with the original body") {
  wherry_session *session = new_session();
  char id[WHERRY_JOB_ID_SIZE];
  wherry_request *request = new_request("POST", server_url("/echo"));
  REQUIRE_OK(wherry_request_set_body(request, "hello", 5, "text/x-mine"));
  REQUIRE_OK(wherry_session_upload(session, request, id));
  wherry_queue *queue = new_queue();
  REQUIRE_OK(wherry_session_follow(session, id, queue, NULL));
  wherry_event *event = next_of(queue, WHERRY_EVENT_DONE);
  CHECK_STATUS(wherry_event_status(event), WHERRY_OK);
  CHECK_INT(wherry_response_http_code(wherry_event_response(event)), 200);
  CHECK_OK(wherry_event_free(event));
  CHECK_TEXT(server_field(0, "Content-Type"), "text/x-mine");
  CHECK_TEXT(server_field(0, "Content-Length"), "5");
  end_session(session);
}

TEST("U17 an upload whose end cannot be saved at once is saved later and sent only once") {
  wherry_session *session = new_session();
  char id[WHERRY_JOB_ID_SIZE];
  wherry_request *request = new_request("POST", server_url("/sink?gate=g"));
  REQUIRE_OK(wherry_request_set_body(request, "hello", 5, "text/x-mine"));
  REQUIRE_OK(wherry_session_upload(session, request, id));
  REQUIRE(server_wait("requests=1"));
  /* Prevents the record from being written, as a full disk does. */
  const char *obstacle = check_path("state/jobs/%s.job.new", id);
  REQUIRE_INT(mkdir(obstacle, 0700), 0);
  wherry_queue *queue = NULL;
  REQUIRE_OK(wherry_queue_new(&queue));
  REQUIRE_OK(wherry_session_follow(session, id, queue, NULL));
  server_open("g");
  wherry_event *event = next_of(queue, WHERRY_EVENT_DONE);
  CHECK_STATUS(wherry_event_status(event), WHERRY_OK);
  CHECK_OK(wherry_event_free(event));
  REQUIRE_INT(rmdir(obstacle), 0);
  CHECK_OK(wherry_queue_free(queue));
  wait_for_leave();

  wherry_list *jobs = NULL;
  wherry_job_row row = {.size = sizeof row};
  REQUIRE_OK(wherry_session_list(session, &jobs));
  REQUIRE_INT(wherry_list_count(jobs), 1);
  REQUIRE_OK(wherry_list_job(jobs, 0, &row));
  CHECK_INT(row.state, WHERRY_STATE_DONE);
  CHECK_INT(row.http_code, 200);
  CHECK_OK(wherry_list_free(jobs));
  CHECK_INT(server_count("requests"), 1);
  end_session(session);
}

TEST("D14 a freed queue follows nothing and keeps no agent alive") {
  wherry_session *session = new_session();
  char id[WHERRY_JOB_ID_SIZE];
  wherry_request *request = new_request("GET", server_url("/bytes/10?gate=g"));
  REQUIRE_OK(wherry_session_download(session, request, check_path("file.bin"), id));
  wherry_queue *queue = NULL;
  REQUIRE_OK(wherry_queue_new(&queue));
  REQUIRE_OK(wherry_session_follow(session, NULL, queue, NULL));
  CHECK_OK(wherry_event_free(next_of(queue, WHERRY_EVENT_STATE)));
  CHECK_OK(wherry_session_pause(session, id));
  CHECK_OK(wherry_queue_free(queue));
  wait_for_leave();
  server_open("g");
  end_session(session);
}

TEST("DC-E12 a background failure is reported with its status") {
  wherry_session *session = new_session();
  char id[WHERRY_JOB_ID_SIZE];
  wherry_request *request = new_request("GET", server_url("/status/404"));
  REQUIRE_OK(wherry_session_download(session, request, check_path("file.bin"), id));
  wherry_queue *queue = new_queue();
  REQUIRE_OK(wherry_session_follow(session, id, queue, NULL));
  wherry_event *event = next_of(queue, WHERRY_EVENT_DONE);
  CHECK_STATUS(wherry_event_status(event), WHERRY_E_HTTP);
  CHECK_INT(wherry_error_http_code(wherry_event_error(event)), 404);
  CHECK_TEXT(wherry_error_reason(wherry_event_error(event)), "http_status");
  CHECK_OK(wherry_event_free(event));
  end_session(session);
}

TEST("DC-E11 an invalid session fails when it is opened") {
  wherry_session *session = NULL;
  const char *names[] = {"", ".", "..", ".x", "a/b", "a b"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    CHECK_FAILS(wherry_session_new(NULL, names[i], &session), WHERRY_E_ARGUMENT, "bad_argument");
  REQUIRE_INT(mkdir(check_path("open"), 0700), 0);
  REQUIRE_INT(chmod(check_path("open"), 0777), 0);
  wherry_config *config = new_config();
  CHECK_FAILS(wherry_config_set_text(config, WHERRY_TEXT_STATE_DIRECTORY, "relative"),
              WHERRY_E_ARGUMENT, "bad_path");
  REQUIRE_OK(wherry_config_set_text(config, WHERRY_TEXT_STATE_DIRECTORY, check_path("open")));
  CHECK_FAILS(wherry_session_new(config, "tests", &session), WHERRY_E_FILE, "unsafe_state_dir");
  CHECK(session == NULL);
}

TEST("an invalid job is refused at once") {
  wherry_session *session = new_session();
  wherry_request *request = new_request("GET", server_url("/bytes/10"));
  CHECK_FAILS(wherry_session_download(session, request, "relative", NULL), WHERRY_E_ARGUMENT,
              "bad_path");
  check_write_file(check_path("there"), "old", 3);
  CHECK_FAILS(wherry_session_download(session, request, check_path("there"), NULL), WHERRY_E_FILE,
              "exists");
  wherry_request *streamed = new_request("POST", server_url("/sink"));
  REQUIRE_OK(wherry_request_set_body_stream(streamed, -1, NULL));
  CHECK_FAILS(wherry_session_upload(session, streamed, NULL), WHERRY_E_STATE, "needs_queue");
  CHECK_FAILS(wherry_session_pause(session, "00000000000000000000000000000000"), WHERRY_E_ARGUMENT,
              "not_found");
  CHECK(!has_agent());
  end_session(session);
}
