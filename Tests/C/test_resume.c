/* Wherry: rows D6 to D12 and D20 of features.md, from C: interrupted and resumed downloads
 * SPDX-License-Identifier: Apache-2.0
 *
 * test_downloads.c covers files, directories, and names. */
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

enum { SIZE = 1060921, CUT = 400000, SMALL = 300000 };

/* A request without automatic retries. */
static wherry_request *once(const char *url) {
  wherry_request *request = new_request("GET", url);
  REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_MAX_RETRIES, 0));
  return request;
}

/* The file has `count` bytes of the server's pattern, and its folder contains nothing else. */
static void is_whole(const char *path, long count) {
  long found;
  const char *bytes = check_read_file(path, &found);
  CHECK_INT(found, count);
  CHECK(bytes != NULL && is_pattern(bytes, (size_t)found, 0));
  CHECK_INT(check_entries(check_path(".")), 1);
}

/* Leaves a partial file. */
static void leave_partial(wherry_client *client, const char *url, const char *path) {
  outcome got = download(client, once(url), path);
  REQUIRE_STATUS(got.status, WHERRY_E_NETWORK);
  REQUIRE(got.partial != NULL);
}

static wherry_transfer *start(wherry_client *client, const wherry_request *request,
                              const char *path, wherry_queue *queue) {
  wherry_transfer *transfer = NULL;
  REQUIRE_OK(wherry_client_download(client, request, path, queue, NULL, &transfer));
  return keep_transfer(transfer);
}

/* Waits until the transfer has that many bytes, or until an event proves that it never will. */
static void wait_for_bytes(wherry_queue *queue, const wherry_transfer *transfer, int64_t count) {
  for (;;) {
    wherry_progress now = {.size = sizeof now};
    wherry_event *event = NULL;
    REQUIRE_OK(wherry_transfer_progress(transfer, &now));
    if (now.done_bytes >= count) return;
    wherry_status status = wherry_queue_next(queue, 20, &event);
    if (status == WHERRY_E_TIMEOUT) continue; /* the guard of the test ends this */
    REQUIRE_OK(status);
    wherry_event_kind kind = wherry_event_get_kind(event);
    REQUIRE_OK(wherry_event_free(event));
    REQUIRE(kind != WHERRY_EVENT_DONE);
  }
}

/* Reads to the end; "changed,416,": the reasons of restarts, in order. */
static const char *restarts_until_done(wherry_queue *queue, wherry_status *out_status) {
  const char *restarts = "";
  for (;;) {
    wherry_record record = {.size = sizeof record};
    size_t count = 0;
    REQUIRE_OK(wherry_queue_read(queue, &record, 1, 600000, &count));
    bool is_done = record.kind == WHERRY_EVENT_DONE;
    if (record.kind == WHERRY_EVENT_STATE && record.detail == WHERRY_STATE_RESTARTED)
      restarts = check_format("%s%s,", restarts, record.reason ? record.reason : "?");
    *out_status = record.status;
    REQUIRE_OK(wherry_queue_release(queue, &record, 1));
    if (is_done) return restarts;
  }
}

TEST("D6 the server's response to a resume decides whether the download restarts") {
  const struct {
    const char *query, *restarts;
    long size;
    int requests;
  } rows[] = {
      {"", "", SIZE, 2},
      {"seed=2&seed_next=1", "changed,", SIZE, 2},                   /* If-Range honored */
      {"seed=2&seed_next=1&ignore_if_range=1", "changed,", SIZE, 3}, /* a 206 of another tag */
      {"etag=none", "", SIZE, 2},                                    /* only an old date */
      {"ranges=0&accept_ranges=bytes", "ranges_unsupported,", SIZE, 2},
      {"bad_range=zero", "", SIZE, 2},
      {"bad_range=missing", "bad_range,", SIZE, 3},
      {"bad_range=unknown", "bad_range,", SIZE, 3},
      {"bad_range=total", "changed,", SIZE, 3},
      {"bad_range=encoding", "encoding,", SIZE, 3},
      {"seed=2&seed_next=1&size_next=300000&ignore_if_range=1", "416,", SMALL, 3}};
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  const char *path = check_path("file.bin");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    server_ask("/_reset"); /* resets the count of attempts */
    const char *url = server_url("/bytes/%d?cut=%d&times=1&%s", SIZE, CUT, rows[i].query);
    leave_partial(client, url, path);
    start(client, once(url), path, queue);
    wherry_status status;
    const char *restarts = restarts_until_done(queue, &status);
    CHECK_INT(status, WHERRY_OK);
    if (!CHECK_TEXT(restarts, rows[i].restarts)) CHECK_TEXT(rows[i].query, "good");
    CHECK_INT(server_count("requests"), rows[i].requests);
    CHECK_HOLDS(server_field(1, "Range"), check_format("bytes=%d-", CUT));
    CHECK(server_field(1, "If-Range") != NULL);
    is_whole(path, rows[i].size);
    CHECK_INT(unlink(path), 0);
  }
}

TEST("D6 DR6 a server that answers If-Range with the complete file gets one If-Match request") {
  const struct {
    const char *query, *restarts;
  } rows[] = {{"no_if_range=1", ""},                                    /* no If-Range support */
              {"ranges=0&accept_ranges=bytes", "ranges_unsupported,"}}; /* no range support */
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  const char *path = check_path("file.bin");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    server_ask("/_reset");
    const char *url = server_url("/bytes/%d?cut=700000&times=1&%s", SIZE, rows[i].query);
    leave_partial(client, url, path);
    start(client, once(url), path, queue);
    wherry_status status;
    CHECK_TEXT(restarts_until_done(queue, &status), rows[i].restarts);
    CHECK_INT(status, WHERRY_OK);
    CHECK_INT(server_count("requests"), 3);
    CHECK(server_field(1, "If-Range") != NULL && server_field(1, "If-Match") == NULL);
    CHECK(server_field(2, "If-Range") == NULL && server_field(2, "If-Match") != NULL);
    CHECK_TEXT(server_field(2, "Range"), "bytes=700000-");
    is_whole(path, SIZE);
    CHECK_INT(unlink(path), 0);
  }
}

TEST("DR6 the partial file is kept if another URL or a useless response returns nothing better") {
  wherry_client *client = new_client(NULL);
  const char *path = check_path("file.bin");
  const char *url = server_url("/bytes/%d?cut=%d&times=1", SIZE, CUT);
  leave_partial(client, url, path);
  outcome got = download(client, once(server_url("/status/404")), path);
  CHECK_INT(got.http_code, 404);
  CHECK(got.partial != NULL && check_exists(got.partial));
  CHECK_INT(check_entries(check_path(".")), 2);

  got = download(client, once(url), path);

  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(server_field(2, "Range"), check_format("bytes=%d-", CUT));
  is_whole(path, SIZE);
}

TEST("D7 a 416 with the size of the partial file completes it, without another download") {
  wherry_client *client = new_client(NULL);
  const char *path = check_path("file.bin");
  wherry_queue *queue = new_queue();
  const char *url = server_url("/bytes/%d?hold=%d&gate=g", SIZE, CUT);
  wherry_transfer *transfer = start(client, once(url), path, queue);
  wait_for_bytes(queue, transfer, CUT);
  /* Every byte arrives, but the target name is taken before the end. */
  REQUIRE_INT(mkdir(path, 0755), 0);
  server_open("g");
  outcome blocked = done_of(queue, transfer);
  REQUIRE_STATUS(blocked.status, WHERRY_E_FILE);
  REQUIRE(blocked.partial != NULL);
  REQUIRE_INT(rmdir(path), 0);

  outcome got = download(client, once(url), path);

  CHECK_STATUS(got.status, WHERRY_OK);
  is_whole(path, SIZE);
  CHECK_INT(server_count("requests"), 2);
  CHECK_TEXT(server_field(1, "Range"), check_format("bytes=%d-", SIZE));
  wherry_json *log = server_log();
  CHECK_INT(wherry_json_get_integer(log, "requests/1/status", 0), 416);
  CHECK_OK(wherry_json_free(log));
}

TEST("D7 a 5xx keeps the partial file and its text, and later the download resumes") {
  wherry_client *client = new_client(NULL);
  const char *path = check_path("file.bin");
  const int codes[] = {500, 503};
  for (int i = 0; i < 2; i++) {
    const char *url = server_url("/bytes/%d?hold=%d&gate=never&status_first=%d&status_times=1&n=%d",
                                 SIZE, CUT, codes[i], i);
    server_ask("/_reset");
    outcome refused = download(client, once(url), path);
    CHECK_STATUS(refused.status, WHERRY_E_HTTP);
    CHECK_INT(refused.http_code, codes[i]);
    CHECK_INT(check_entries(check_path(".")), 0); /* no partial file existed */
  }
  server_ask("/_reset");
  const char *url = server_url("/bytes/%d?cut=%d&times=1&status_next=503&change_at=2", SIZE, CUT);
  leave_partial(client, url, path);
  outcome refused = download(client, once(url), path);
  CHECK_INT(refused.http_code, 503);
  CHECK(refused.partial != NULL);
  CHECK(wherry_partial_ratio(path) >= 0.37 && wherry_partial_ratio(path) <= 0.38);
}

TEST("D9 without passing time only the first and the last progress are reported, or none") {
  wherry_stub *stub = new_stub();
  wherry_client *client = new_stub_client(stub);
  CHECK_OK(wherry_stub_advance_ms(stub, 0)); /* from here on its clock stands still */
  size_t count = 8 << 20;
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, NULL, check_memory(count), count));
  outcome got = download(client, once("http://h.invalid/a"), check_path("a.bin"));
  CHECK_STATUS(got.status, WHERRY_OK);
  /* Of unread progress events only the newest is kept. */
  CHECK(got.progress_count == 1 || got.progress_count == 2);
  CHECK_INT(got.last_done, count);
  wherry_request *quiet = once("http://h.invalid/b");
  CHECK_OK(wherry_request_set_option(quiet, WHERRY_OPTION_WANT_PROGRESS, 0));
  got = download(client, quiet, check_path("b.bin"));
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_INT(got.progress_count, 0);
}

TEST("D9 progress includes the speed and the time left") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = once(server_url("/bytes/%d?drip=100000&interval_ms=500&gate=g", SIZE));
  /* However slow all of this is, it is not a stall. */
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_STALL_BYTES_PER_SECOND, 0));
  wherry_transfer *transfer = start(client, request, check_path("file.bin"), queue);
  server_open("g");
  int speeds = 0, estimates = 0;
  bool is_over = false;
  while (!is_over) {
    wherry_event *event = NULL;
    REQUIRE_OK(wherry_queue_next(queue, 600000, &event));
    if (wherry_event_get_kind(event) == WHERRY_EVENT_PROGRESS) {
      wherry_progress now = {.size = sizeof now};
      CHECK_OK(wherry_event_progress(event, &now));
      CHECK(now.bytes_per_second >= -1);
      speeds += now.bytes_per_second > 0;
      CHECK_INT(now.resumed_at_bytes, 0);
      CHECK_INT(now.count, 1);
      if (now.remaining_ms >= 0) {
        estimates++;
        double expected = 1000.0 * (double)(SIZE - now.done_bytes) / (double)now.bytes_per_second;
        CHECK(now.bytes_per_second > 0);
        CHECK((double)now.remaining_ms >= expected * 0.9 - 2);
        CHECK((double)now.remaining_ms <= expected * 1.1 + 2);
      }
    }
    is_over = wherry_event_get_kind(event) == WHERRY_EVENT_DONE;
    if (is_over) CHECK_STATUS(wherry_event_status(event), WHERRY_OK);
    CHECK_OK(wherry_event_free(event));
  }
  CHECK(speeds > 0);
  CHECK(estimates > 0); /* it took five seconds, and a stall takes two */
  CHECK_INT(wherry_transfer_state(transfer), WHERRY_STATE_DONE);
}

TEST("D11 the partial file of a failure has exactly the received bytes") {
  wherry_client *client = new_client(NULL);
  const char *path = check_path("file.bin");
  const int cuts[] = {CUT, SIZE / 2};
  for (int i = 0; i < 2; i++) {
    outcome got = download(client, once(server_url("/bytes/%d?cut=%d", SIZE, cuts[i])), path);
    CHECK_STATUS(got.status, WHERRY_E_NETWORK);
    REQUIRE(got.partial != NULL);
    long count;
    const char *bytes = check_read_file(got.partial, &count);
    CHECK_INT(count, cuts[i]);
    CHECK(bytes != NULL && is_pattern(bytes, (size_t)count, 0));
    CHECK_OK(wherry_partial_discard(path));
    CHECK_INT(check_entries(check_path(".")), 0);
  }
}

typedef enum standing { RUNNING, PAUSED, DONE, FAILED, CANCELLED, STANDINGS } standing;
typedef wherry_status (*verb)(wherry_transfer *);

TEST("D12 each command works in each state, also when repeated") {
  const verb verbs[] = {wherry_transfer_pause, wherry_transfer_resume, wherry_transfer_cancel,
                        wherry_transfer_discard};
  enum { PAUSE, RESUME, CANCEL, DISCARD, VERBS };
  wherry_client *client = new_client(NULL);
  for (standing at = RUNNING; at < STANDINGS; at++) {
    for (int said = PAUSE; said < VERBS; said++) {
      wherry_queue *queue = new_queue();
      const char *folder = check_path("%d-%d", at, said), *path = check_format("%s/a.bin", folder);
      const char *gate = check_format("go%d-%d", at, said);
      REQUIRE_INT(mkdir(folder, 0755), 0);
      const char *query = at == FAILED ? "cut=400000" : "hold=400000&times=1";
      server_ask("/_reset"); /* resets the count of attempts */
      wherry_transfer *transfer =
          start(client, once(server_url("/bytes/%d?%s&gate=%s", SIZE, query, gate)), path, queue);
      outcome got = {.status = WHERRY_OK};
      if (at == RUNNING || at == PAUSED || at == CANCELLED) wait_for_bytes(queue, transfer, CUT);
      if (at == PAUSED) CHECK_OK(wherry_transfer_pause(transfer));
      if (at == CANCELLED) CHECK_OK(wherry_transfer_cancel(transfer));
      if (at == DONE || at == FAILED) server_open(gate);
      bool is_over = at == DONE || at == FAILED || at == CANCELLED;
      if (is_over) got = done_of(queue, transfer);

      CHECK_OK(verbs[said](transfer));
      CHECK_OK(verbs[said](transfer));

      if (!is_over) {
        if (said == PAUSE) {
          CHECK_INT(wherry_transfer_state(transfer), WHERRY_STATE_PAUSED);
          CHECK_OK(wherry_transfer_resume(transfer));
        }
        server_open(gate);
        got = done_of(queue, transfer);
      }
      CHECK(queue_is_empty(queue)); /* it ended once */
      bool is_cancelled = at == CANCELLED || (!is_over && said >= CANCEL);
      bool is_kept = at != DONE && said != DISCARD && (is_cancelled || at == FAILED);
      bool is_there = at == DONE || (!is_over && said < CANCEL);
      CHECK_INT(got.status, is_cancelled   ? WHERRY_E_CANCELLED
                            : at == FAILED ? WHERRY_E_NETWORK
                                           : WHERRY_OK);
      CHECK_INT(wherry_transfer_state(transfer), is_cancelled   ? WHERRY_STATE_CANCELLED
                                                 : at == FAILED ? WHERRY_STATE_FAILED
                                                                : WHERRY_STATE_DONE);
      CHECK_INT(check_exists(path), is_there);
      CHECK_INT(wherry_partial_ratio(path) > 0, is_kept);
      /* The file, or partial file and journal, or no file. */
      if (!CHECK_INT(check_entries(folder), is_there ? 1 : is_kept ? 2 : 0))
        CHECK_TEXT(folder, "as it should be");
    }
  }
  CHECK_INT(wherry_client_count(client, WHERRY_MATCH_ALL, NULL), 0);
}

TEST("D12 commands reach one download by its path, several by tag and URL, and all at once") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  const char *url = server_url("/bytes/%d?hold_at=%d&gate=go", SIZE, CUT);
  const char *names[] = {"a", "b", "c", "d"};
  wherry_transfer *transfers[4];
  for (int i = 0; i < 4; i++) {
    wherry_request *request = once(i < 3 ? url : check_format("%s&n=d", url));
    if (i < 2) CHECK_OK(wherry_request_set_text(request, WHERRY_TEXT_TAG, "album"));
    transfers[i] = start(client, request, check_path("%s", names[i]), queue);
    wait_for_bytes(queue, transfers[i], CUT);
  }
  const struct {
    wherry_match match;
    const char *key;
    size_t count;
  } rows[] = {{WHERRY_MATCH_PATH, check_path("b"), 1},
              {WHERRY_MATCH_TAG, "album", 2},
              {WHERRY_MATCH_URL, url, 3},
              {WHERRY_MATCH_ALL, NULL, 4}};
  for (size_t i = 0; i < 4; i++) {
    size_t count = 0;
    int paused = 0;
    CHECK_OK(wherry_client_pause(client, rows[i].match, rows[i].key, &count));
    CHECK_INT(count, rows[i].count);
    for (int j = 0; j < 4; j++)
      paused += wherry_transfer_state(transfers[j]) == WHERRY_STATE_PAUSED;
    CHECK_INT(paused, rows[i].count);
    CHECK_OK(wherry_client_resume(client, rows[i].match, rows[i].key, &count));
    CHECK_INT(count, rows[i].count);
    for (int j = 0; j < 4; j++) CHECK(wherry_transfer_state(transfers[j]) != WHERRY_STATE_PAUSED);
  }
  size_t count = 0;
  CHECK_OK(wherry_client_discard(client, WHERRY_MATCH_PATH, check_path("a"), &count));
  CHECK_INT(count, 1);
  CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
  CHECK_OK(wherry_client_cancel(client, WHERRY_MATCH_TAG, "album", &count));
  CHECK_INT(count, 1);
  CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
  server_open("go");
  CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  CHECK(!check_exists(check_path("a")) && wherry_partial_ratio(check_path("a")) == 0);
  CHECK(!check_exists(check_path("b")) && wherry_partial_ratio(check_path("b")) > 0);
  CHECK(check_exists(check_path("c")) && check_exists(check_path("d")));
}

TEST("D20 a wrong digest is an error with the expected and the actual digest") {
  wherry_client *client = new_client(NULL);
  const struct {
    wherry_digest digest;
    const char *name;
  } rows[] = {{WHERRY_DIGEST_MD5, "md5"},
              {WHERRY_DIGEST_SHA1, "sha1"},
              {WHERRY_DIGEST_SHA256, "sha256"},
              {WHERRY_DIGEST_SHA512, "sha512"}};
  for (int i = 0; i < 4; i++) {
    outcome right = perform(
        client, new_request("GET", server_url("/digest/%d?algorithm=%s", SIZE, rows[i].name)));
    outcome wrong = perform(client, new_request("GET", server_url("/digest/%d?seed=2&algorithm=%s",
                                                                  SIZE, rows[i].name)));
    CHECK(strcmp(right.body, wrong.body) != 0);
    for (int resumed = 0; resumed < 2; resumed++) {
      const char *path = check_path("file.bin");
      const char *query = resumed ? "cut=400000&times=1" : "whole=1";
      const char *url = server_url("/bytes/%d?%s&n=%d", SIZE, query, i);
      server_ask("/_reset"); /* resets the count of attempts */
      if (resumed) leave_partial(client, url, path);
      wherry_request *request = once(url);
      CHECK_OK(wherry_request_set_digest(request, rows[i].digest, wrong.body));
      outcome got = download(client, request, path);
      CHECK_STATUS(got.status, WHERRY_E_FILE);
      CHECK_TEXT(got.reason, "checksum");
      CHECK_HOLDS(got.message, wrong.body);
      CHECK_HOLDS(got.message, right.body);
      CHECK_TEXT(got.partial, NULL);
      CHECK_INT(check_entries(check_path(".")), 0);
    }
  }
}
