/* Wherry: rows D23 and D26 and rules DR14 to DR16, from C: several connections for one file
 * SPDX-License-Identifier: Apache-2.0 */
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "pattern.h"
#include "server.h"

enum { SIZE = 8389385, CUT = 3000000 };

static wherry_request *segmented(const char *url, int64_t segments) {
  wherry_request *request = new_request("GET", url);
  REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_SEGMENTS, segments));
  return request;
}

static void is_whole(const char *path) {
  long found;
  const char *bytes = check_read_file(path, &found);
  CHECK_INT(found, SIZE);
  CHECK(bytes != NULL && is_pattern(bytes, (size_t)found, 0));
  CHECK_INT(check_entries(check_path(".")), 1);
}

TEST("D23 several connections download a file, whatever the limit per host") {
  wherry_client *client = new_client_with(WHERRY_OPTION_MAX_PER_HOST, 2);
  wherry_queue *queue = new_queue();
  wherry_transfer *transfer = NULL;
  const wherry_request *request = segmented(server_url("/bytes/%d?hold=100000&gate=all", SIZE), 4);

  REQUIRE_OK(wherry_client_download(client, request, check_path("a"), queue, NULL, &transfer));
  keep_transfer(transfer);
  REQUIRE(server_wait("requests=4"));
  server_open("all");
  outcome got = done_of(queue, transfer);

  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK(!got.progress_fell);
  CHECK_INT(got.last_done, SIZE);
  CHECK_INT(server_count("peak_requests"), 4);
  is_whole(check_path("a"));
}

TEST("D23 servers may ignore ranges, refuse connections, or change their file") {
  const struct {
    const char *query;
    int64_t segments;
  } rows[] = {{"ranges=0", 4},
              {"ranges=0&accept_ranges=bytes", 4},
              {"max_parallel=2&rate=16000000", 4},
              {"seed=2&seed_next=1&hold=1000000&gate=never&times=1", 4},
              {"cut=500000", 4},
              {"bad_range=gap&bad_times=1", 4},
              {"", 1},
              {"", 16},
              {"", 0}};
  wherry_client *client = new_client(NULL);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *url = server_url("/bytes/%d?row=%zu&%s", SIZE, i, rows[i].query);
    const char *path = check_path("a");
    unlink(path);
    outcome got = download(client, segmented(url, rows[i].segments), path);
    CHECK_STATUS(got.status, WHERRY_OK);
    is_whole(path);
  }
}

TEST("D23 more than 16 connections, and fewer than 0, are refused") {
  wherry_request *request = new_request("GET", "http://127.0.0.1:1/");
  CHECK_STATUS(wherry_request_set_option(request, WHERRY_OPTION_SEGMENTS, 17), WHERRY_E_ARGUMENT);
  CHECK_STATUS(wherry_request_set_option(request, WHERRY_OPTION_SEGMENTS, -1), WHERRY_E_ARGUMENT);
  CHECK_STATUS(wherry_request_set_option(request, WHERRY_OPTION_PARTIAL_OF, 3), WHERRY_E_ARGUMENT);
}

TEST("D26 a fresh link resumes the partial file of an expired one") {
  wherry_client *client = new_client_with(WHERRY_OPTION_MAX_RETRIES, 0);
  const char *path = check_path("a");
  const char *old =
      server_url("/bytes/%d?sig=1&cut=%d&times=1&status_next=403&change_at=2", SIZE, CUT);
  outcome got = download(client, new_request("GET", old), path);
  CHECK_TEXT(got.reason, "truncated");
  got = download(client, new_request("GET", old), path);
  CHECK_TEXT(got.reason, "expired");
  CHECK(got.partial != NULL);

  wherry_request *fresh = new_request("GET", server_url("/bytes/%d?sig=2", SIZE));
  REQUIRE_OK(wherry_request_set_option(fresh, WHERRY_OPTION_PARTIAL_OF, 1));
  got = download(client, fresh, path);

  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK(got.first_done >= CUT); /* only the newest unread event is reported */
  CHECK_TEXT(server_field(2, "Range"), "bytes=3000000-");
  is_whole(path);
}

/* A fresh link resumed only if the program set the option. */
TEST("D26 a fresh link resumes by default") {
  wherry_client *client = new_client_with(WHERRY_OPTION_MAX_RETRIES, 0);
  const char *path = check_path("a");
  outcome got = download(
      client, new_request("GET", server_url("/bytes/%d?sig=1&cut=%d&times=1", SIZE, CUT)), path);
  CHECK_TEXT(got.reason, "truncated");
  got = download(client, new_request("GET", server_url("/bytes/%d?sig=2", SIZE)), path);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(server_field(1, "Range"), "bytes=3000000-");
  is_whole(path);
}

static wherry_request *into_directory(const char *url) {
  wherry_request *request = new_request("GET", url);
  REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_TARGET_IS_DIRECTORY, 1));
  REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_SEGMENTS, 1));
  return request;
}

/* The partial file was keyed by the whole URL, so that a fresh query always began at byte 0. */
TEST("D26 a fresh link into a directory resumes, and another file of the same path does not") {
  wherry_client *client = new_client_with(WHERRY_OPTION_MAX_RETRIES, 0);
  const char *folder = check_path("folder");
  REQUIRE_INT(mkdir(folder, 0700), 0);
  outcome got = download(
      client, into_directory(server_url("/bytes/%d?sig=1&cut=%d&times=1", SIZE, CUT)), folder);
  CHECK_TEXT(got.reason, "truncated");
  REQUIRE(got.partial != NULL);

  /* Another file of the same length: the partial file of the first is kept. */
  got = download(client,
                 into_directory(server_url("/bytes/%d?id=2&seed=2&cut=%d&times=2", SIZE, CUT / 2)),
                 folder);
  CHECK_TEXT(got.reason, "truncated");
  CHECK_HOLDS(server_field(1, "Range"), "bytes=3000000-");
  CHECK_INT(check_entries(folder), 4);

  got = download(client, into_directory(server_url("/bytes/%d?sig=3", SIZE)), folder);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(server_field(2, "Range"), "bytes=3000000-");
  long found;
  const char *bytes = check_read_file(check_path("folder/%d", SIZE), &found);
  CHECK_INT(found, SIZE);
  CHECK(bytes != NULL && is_pattern(bytes, SIZE, 0));
  CHECK_INT(check_entries(folder), 3);

  wherry_request *same =
      into_directory(server_url("/bytes/%d?id=2&seed=2&cut=%d&times=2", SIZE, CUT / 2));
  REQUIRE_OK(wherry_request_set_option(same, WHERRY_OPTION_TARGET_EXISTS, 2));
  got = download(client, same, folder);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(server_field(3, "Range"), check_format("bytes=%d-", CUT / 2));
  CHECK_INT(check_entries(folder), 2);

  /* A program may refuse partial files of other queries. */
  got = download(
      client, into_directory(server_url("/bytes/%d?sig=4&cut=%d&times=1", SIZE - 1, CUT)), folder);
  CHECK_TEXT(got.reason, "truncated");
  wherry_request *strict = into_directory(server_url("/bytes/%d?sig=5", SIZE - 1));
  REQUIRE_OK(wherry_request_set_option(strict, WHERRY_OPTION_PARTIAL_OF, 0));
  CHECK_STATUS(download(client, strict, folder).status, WHERRY_OK);
  CHECK(server_field(5, "Range") == NULL);
}

TEST("D26 different queries of one path are downloaded into a directory at the same time") {
  enum { COUNT = 6 };
  wherry_client *client = new_client(NULL);
  const char *folder = check_path("folder");
  REQUIRE_INT(mkdir(folder, 0700), 0);
  wherry_queue *queue = new_queue();
  for (int i = 1; i <= COUNT; i++) {
    wherry_request *request =
        into_directory(server_url("/bytes/100000?seed=%d&hold=50000&gate=all", i));
    REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_TARGET_EXISTS, 2));
    wherry_transfer *transfer = NULL;
    REQUIRE_OK(wherry_client_download(client, request, folder, queue, NULL, &transfer));
    keep_transfer(transfer);
  }
  REQUIRE(server_wait("requests=6"));
  server_open("all");
  bool seen[COUNT] = {false};
  for (int i = 0; i < COUNT; i++) {
    outcome got = next_done(queue);
    CHECK_STATUS(got.status, WHERRY_OK);
    if (got.text == NULL) continue;
    long count;
    const char *bytes = check_read_file(got.text, &count);
    CHECK_INT(count, 100000);
    for (int j = 1; bytes != NULL && j <= COUNT; j++) {
      bool is_same = true;
      for (long k = 0; k < count && is_same; k++)
        is_same = (uint8_t)bytes[k] == test_pattern_byte((uint64_t)j, (uint64_t)k);
      if (is_same) seen[j - 1] = true;
    }
  }
  for (int j = 0; j < COUNT; j++) CHECK(seen[j]);
  CHECK_INT(check_entries(folder), COUNT);
}

TEST("DR15 a download limits the wait that a server may request") {
  wherry_client *client = new_client_with(WHERRY_OPTION_MAX_RETRY_AFTER_MS, 4000);
  const char *url = server_url("/bytes/1000?status_first=503&status_times=1&retry_after=5");
  outcome got = download(client, new_request("GET", url), check_path("a"));
  CHECK_TEXT(got.reason, "retry_later");
}

TEST("DR14 a download limits the time that it may stall") {
  wherry_client *client = new_client_with(WHERRY_OPTION_STALL_TIMEOUT_MS, 200);
  REQUIRE_OK(wherry_client_set_option(client, WHERRY_OPTION_MAX_RETRIES, 0));
  REQUIRE_OK(wherry_client_set_option(client, WHERRY_OPTION_STALL_BYTES_PER_SECOND, 1000));
  outcome got = download(client, new_request("GET", server_url("/bytes/1000?stall=10&seconds=600")),
                         check_path("a"));
  CHECK_TEXT(got.reason, "stalled");
}

TEST("D24 a download's rate limit can change during the transfer") {
  wherry_client *client = new_client(NULL);
  for (int of_all = 0; of_all < 2; of_all++) {
    wherry_queue *queue = new_queue();
    wherry_transfer *transfer = NULL;
    wherry_request *request = new_request("GET", server_url("/bytes/%d?row=%d", SIZE, of_all));
    const char *path = check_path("a");
    unlink(path);
    if (of_all)
      REQUIRE_OK(wherry_client_set_option(client, WHERRY_OPTION_MAX_DOWNLOAD_BYTES_PER_SECOND, 1));
    else
      REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_MAX_RECEIVE_BYTES_PER_SECOND, 1));
    REQUIRE_OK(wherry_client_download(client, request, path, queue, NULL, &transfer));
    keep_transfer(transfer);
    REQUIRE_OK(wherry_event_free(next_event(queue, WHERRY_EVENT_PROGRESS)));
    CHECK_FAILS(wherry_transfer_set_max_bytes_per_second(transfer, -1), WHERRY_E_ARGUMENT,
                "bad_value");

    if (of_all)
      REQUIRE_OK(wherry_client_set_option(client, WHERRY_OPTION_MAX_DOWNLOAD_BYTES_PER_SECOND, 0));
    else REQUIRE_OK(wherry_transfer_set_max_bytes_per_second(transfer, 0));

    CHECK_STATUS(done_of(queue, transfer).status, WHERRY_OK);
    CHECK_OK(wherry_transfer_set_max_bytes_per_second(transfer, 7));
    is_whole(path);
  }
}

TEST("D24 a request's rate limit cannot change during the transfer") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_transfer *transfer =
      send_request(client, new_request("GET", server_url("/empty")), queue, NULL);
  CHECK_FAILS(wherry_transfer_set_max_bytes_per_second(transfer, 7), WHERRY_E_STATE, "wrong_state");
  CHECK_STATUS(done_of(queue, transfer).status, WHERRY_OK);
}

TEST("D27 the next mirror continues after a permanent failure") {
  wherry_client *client = new_client_with(WHERRY_OPTION_MAX_RETRIES, 0);
  wherry_request *request = new_request("GET", server_url("/bytes/%d?cut_at=%d", SIZE, CUT));
  const char *path = check_path("a");
  REQUIRE_OK(wherry_request_add_mirror(request, server_url("/status/404")));
  REQUIRE_OK(wherry_request_add_mirror(request, server_url("/bytes/%d?mirror=2", SIZE)));
  CHECK_FAILS(wherry_client_download(client, request, path, new_queue(), NULL, NULL),
              WHERRY_E_ARGUMENT, "bad_digest");

  outcome digest = perform(client, new_request("GET", server_url("/digest/%d", SIZE)));
  REQUIRE_OK(wherry_request_set_digest(request, WHERRY_DIGEST_SHA256, digest.body));
  outcome got = download(client, request, path);

  CHECK_STATUS(got.status, WHERRY_OK);
  is_whole(path);
  CHECK_INT(server_count("requests"), 4);
}
