/* Wherry: rows D of features.md, from C: files
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

enum { SIZE = 1060921, CUT = 400000 };

/* A request without automatic retries. */
static wherry_request *once(const char *url) {
  wherry_request *request = new_request("GET", url);
  REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_MAX_RETRIES, 0));
  return request;
}

/* The file has `count` bytes of the server's pattern, and its folder contains nothing else. */
static bool is_whole(const char *path, long count) {
  long found;
  const char *bytes = check_read_file(path, &found);
  return CHECK_INT(found, count) && CHECK(is_pattern(bytes, (size_t)count, 0)) &&
         CHECK_INT(check_entries(check_path(".")), 1);
}

/* Waits until the transfer has that many bytes. */
static void wait_for_bytes(wherry_queue *queue, const wherry_transfer *transfer, int64_t count) {
  for (int i = 0; i < 3000; i++) {
    wherry_progress now = {.size = sizeof now};
    wherry_event *event = NULL;
    REQUIRE_OK(wherry_transfer_progress(transfer, &now));
    if (now.done_bytes >= count) return;
    if (wherry_queue_next(queue, 20, &event) == WHERRY_OK) CHECK_OK(wherry_event_free(event));
  }
  REQUIRE(!"the bytes arrive in a minute");
}

/* Leaves a partial file of about CUT bytes. */
static void leave_partial(wherry_client *client, const char *url, const char *path) {
  outcome got = download(client, once(url), path);
  REQUIRE_STATUS(got.status, WHERRY_E_NETWORK);
  REQUIRE(got.partial != NULL);
}

TEST("D1 a download has the client's headers, not its parameters, and is named when complete") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_header(config, "X-Mine", "1"));
  CHECK_OK(wherry_config_set_parameter(config, "lang", "en"));
  const char *path = check_path("file.bin");
  wherry_client *client = new_client(config);
  wherry_queue *queue = new_queue();
  wherry_transfer *transfer = NULL;
  wherry_request *request = new_request(NULL, server_url("/bytes/%d?hold=%d&gate=g", SIZE, CUT));
  REQUIRE_OK(wherry_client_download(client, request, path, queue, NULL, &transfer));
  keep_transfer(transfer);
  CHECK(server_wait("requests=1"));
  CHECK(!check_exists(path));
  server_open("g");
  outcome got = done_of(queue, transfer);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(got.text, path);
  is_whole(path, SIZE);
  CHECK_TEXT(server_field(0, "X-Mine"), "1");
  wherry_json *log = server_log();
  CHECK_TEXT(wherry_json_get_text(log, "requests/0/method", "", NULL), "GET");
  CHECK_LACKS(wherry_json_get_text(log, "requests/0/target", "", NULL), "lang");
  CHECK_OK(wherry_json_free(log));
}

TEST("D1 what a download cannot do is refused before any traffic") {
  wherry_client *client = new_client(NULL);
  const char *names[] = {"Range", "if-range"};
  for (size_t i = 0; i < 2; i++) {
    wherry_request *request = new_request("GET", server_url("/bytes/9"));
    REQUIRE_OK(wherry_request_set_header(request, names[i], "bytes=0-3"));
    CHECK_FAILS(wherry_client_download(client, request, check_path("f"), new_queue(), NULL, NULL),
                WHERRY_E_ARGUMENT, "bad_header");
  }
  wherry_request *request = new_request("GET", server_url("/bytes/9"));
  REQUIRE_OK(wherry_request_set_streamed(request, true));
  CHECK_FAILS(wherry_client_download(client, request, check_path("f"), new_queue(), NULL, NULL),
              WHERRY_E_ARGUMENT, "bad_option");
  CHECK_FAILS(wherry_request_set_stale_if_error_ms(request, -1), WHERRY_E_ARGUMENT, "bad_value");
  CHECK_INT(server_count("requests"), 0);
}

TEST("D3 an existing target is an error before any traffic unless it is to be replaced") {
  const char *path = check_path("file.bin");
  check_write_file(path, "old", 3);
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = once(server_url("/bytes/%d", SIZE));
  CHECK_FAILS(wherry_client_download(client, request, path, queue, NULL, NULL), WHERRY_E_FILE,
              "exists");
  CHECK_INT(server_count("requests"), 0);
  CHECK(queue_is_empty(queue));

  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_TARGET_EXISTS, 2));
  outcome got = download(client, request, path);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(got.text, check_path("file (1).bin"));
  CHECK_INT(unlink(check_path("file (1).bin")), 0);

  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_TARGET_EXISTS, 1));
  CHECK_STATUS(download(client, request, path).status, WHERRY_OK);
  is_whole(path, SIZE);
}

TEST("D3 a failed download keeps the old file unchanged") {
  const char *path = check_path("file.bin");
  check_write_file(path, "old", 3);
  wherry_client *client = new_client(NULL);
  const char *bad[] = {"/bytes/1060921?cut=400000", "/status/404", "/status/500"};
  for (int i = 0; i < 3; i++) {
    long count;
    wherry_request *request = once(server_url("%s", bad[i]));
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_TARGET_EXISTS, 1));
    CHECK(download(client, request, path).status != WHERRY_OK);
    CHECK_TEXT(check_read_file(path, &count), "old");
  }
}

TEST("D3 a directory is an error unless the server's name is used") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  const char *folder = check_path("folder");
  REQUIRE_INT(mkdir(folder, 0755), 0);
  wherry_request *request = new_request("GET", server_url("/bytes/1000"));
  CHECK_FAILS(wherry_client_download(client, request, folder, queue, NULL, NULL), WHERRY_E_FILE,
              "is_directory");
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_TARGET_IS_DIRECTORY, 1));
  outcome got = download(client, request, folder);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(got.text, check_format("%s/1000", folder));

  request = new_request("GET", server_url("/bytes/1000"));
  const char *deep = check_path("x/y/file");
  CHECK(wherry_client_download(client, request, deep, queue, NULL, NULL) == WHERRY_E_FILE);
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_MAKE_DIRECTORIES, 1));
  CHECK_STATUS(download(client, request, deep).status, WHERRY_OK);
  CHECK(check_exists(deep));
}

TEST("D4 memory use stays constant for any file size") {
  long long size = check_in_full() ? 2LL << 30 : 100LL << 20;
  const char *path = check_path("big.bin");
  wherry_client *client = new_client(NULL);
  CHECK_STATUS(
      download(client, new_request("GET", server_url("/bytes/1000000")), check_path("warm")).status,
      WHERRY_OK);
  CHECK_INT(unlink(check_path("warm")), 0);
  long before = check_resident_kib();
  outcome got = download(client, new_request("GET", server_url("/bytes/%lld", size)), path);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_GROWTH(before, 10 * 1024);
  struct stat status;
  CHECK_INT(stat(path, &status), 0);
  CHECK_INT(status.st_size, size);
}

TEST("D5 a partial file is listed with its address, length, and ratio") {
  const char *path = check_path("file.bin");
  wherry_client *client = new_client(NULL);
  leave_partial(client, server_url("/bytes/%d?cut=%d&times=1", SIZE, CUT), path);
  wherry_list *list = NULL;
  REQUIRE_OK(wherry_partial_list(check_path("."), &list));
  keep_list(list);
  REQUIRE_INT(wherry_list_count(list), 1);
  wherry_partial_row row = {.size = sizeof row};
  CHECK_OK(wherry_list_partial(list, 0, &row));
  CHECK_HOLDS(row.path, "/file.bin");
  CHECK_HOLDS(row.url, "/bytes/");
  CHECK(check_exists(row.partial_path));
  CHECK_INT(row.done_bytes, CUT);
  CHECK_INT(row.expected_bytes, SIZE);
  CHECK(row.ratio >= 0.37 && row.ratio <= 0.38);
  CHECK(wherry_partial_ratio(path) >= 0.37 && wherry_partial_ratio(path) <= 0.38);
}

TEST("D6 a download resumes at its last byte or restarts if necessary") {
  const struct {
    const char *query;
    bool from_start;
  } rows[] = {{"times=1", false},                             /* a correct server */
              {"times=1&ranges=0", true},                     /* one that ignores ranges */
              {"times=1&no_validator=1", true},               /* one without a validator */
              {"times=1&weak=1", true},                       /* only a weak validator */
              {"times=1&bad_range=gap&bad_times=1", true},    /* a wrong Content-Range */
              {"times=1&bad_range=early&shift=1000", false}}; /* one that starts too early */
  wherry_client *client = new_client(NULL);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *path = check_path("%zu/file.bin", i);
    REQUIRE_INT(mkdir(check_path("%zu", i), 0755), 0);
    server_ask("/_reset"); /* resets the count of attempts */
    const char *url = server_url("/bytes/%d?cut=%d&%s", SIZE, CUT, rows[i].query);
    outcome got = download(client, once(url), path);
    CHECK_STATUS(got.status, WHERRY_E_NETWORK);
    got = download(client, once(url), path);
    CHECK_STATUS(got.status, WHERRY_OK);
    long count;
    const char *bytes = check_read_file(path, &count);
    CHECK_INT(count, SIZE);
    CHECK(bytes != NULL && is_pattern(bytes, SIZE, 0));
    CHECK_INT(check_entries(check_path("%zu", i)), 1);
    if (!rows[i].from_start) CHECK(got.first_done >= CUT - 1000);
  }
}

TEST("D6 a file that changed meanwhile is downloaded again") {
  const char *path = check_path("file.bin");
  wherry_client *client = new_client(NULL);
  const char *url = server_url(
      "/bytes/%d?cut=%d&times=1&seed=2&seed_next=1&etag_next=new&change_at=2", SIZE, CUT);
  outcome got = download(client, once(url), path);
  CHECK_STATUS(got.status, WHERRY_E_NETWORK);
  got = download(client, once(url), path);
  CHECK_STATUS(got.status, WHERRY_OK);
  is_whole(path, SIZE);
}

TEST("D7 any status except 200 and 206 fails, and the caller gets the error body") {
  const int codes[] = {400, 404, 416, 500, 503};
  wherry_client *client = new_client(NULL);
  for (int i = 0; i < 5; i++) {
    const char *path = check_path("file");
    outcome got = download(client, once(server_url("/status/%d?body=why", codes[i])), path);
    CHECK_STATUS(got.status, WHERRY_E_HTTP);
    CHECK_INT(got.http_code, codes[i]);
    CHECK_TEXT(got.body, "why");
    CHECK(!check_exists(path));
    CHECK_INT(check_entries(check_path(".")), 0);
  }
}

TEST("D7 a 5xx keeps the partial file, and the next run resumes") {
  const char *path = check_path("file.bin");
  wherry_client *client = new_client(NULL);
  const char *url = server_url("/bytes/%d?cut=%d&times=1&status_next=503&change_at=2", SIZE, CUT);
  leave_partial(client, url, path);
  outcome got = download(client, once(url), path);
  CHECK_STATUS(got.status, WHERRY_E_HTTP);
  CHECK(got.partial != NULL);
  CHECK(wherry_partial_ratio(path) >= 0.37);
}

TEST("D8 without resume a leftover partial file is not used") {
  const char *path = check_path("file.bin");
  wherry_client *client = new_client(NULL);
  const char *url = server_url("/bytes/%d?cut=%d&times=1", SIZE, CUT);
  leave_partial(client, url, path);
  wherry_request *request = once(url);
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_RESUME, 0));
  outcome got = download(client, request, path);
  CHECK_STATUS(got.status, WHERRY_OK);
  is_whole(path, SIZE);
  CHECK_TEXT(server_field(1, "Range"), NULL);

  const char *other = check_path("other.bin");
  request = once(server_url("/bytes/%d?cut=%d&other=1", SIZE, CUT));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_RESUME, 0));
  got = download(client, request, other);
  CHECK_STATUS(got.status, WHERRY_E_NETWORK);
  CHECK_TEXT(got.partial, NULL);
  CHECK_INT(check_entries(check_path(".")), 1);
}

TEST("D9 progress includes the partial file, rises, and ends at the total") {
  const char *path = check_path("file.bin");
  wherry_client *client = new_client(NULL);
  const char *url = server_url("/bytes/%d?cut=%d&times=1", SIZE, CUT);
  leave_partial(client, url, path);
  outcome got = download(client, once(url), path);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK(got.progress_count > 0);
  CHECK(!got.progress_repeated);
  CHECK(got.first_done >= CUT);
  CHECK(!got.progress_fell);
  CHECK_INT(got.last_done, SIZE);
  CHECK_INT(got.last_expected, SIZE);
  CHECK_HOLDS(server_field(1, "Range"), check_format("bytes=%d-", CUT));
  CHECK(server_field(1, "If-Range") != NULL);
}

TEST("D10 an unknown length is -1, and the file is still complete") {
  wherry_client *client = new_client(NULL);
  const char *queries[] = {"chunked=1", "no_length=1"};
  for (int i = 0; i < 2; i++) {
    const char *path = check_path("file");
    wherry_queue *queue = new_queue();
    wherry_transfer *transfer = NULL;
    wherry_request *request =
        new_request("GET", server_url("/bytes/%d?%s&hold=%d&gate=g%d", SIZE, queries[i], CUT, i));
    REQUIRE_OK(wherry_client_download(client, request, path, queue, NULL, &transfer));
    keep_transfer(transfer);
    wherry_event *event = next_event(queue, WHERRY_EVENT_PROGRESS);
    wherry_progress now = {.size = sizeof now};
    CHECK_OK(wherry_event_progress(event, &now));
    CHECK_INT(now.expected_bytes, -1);
    CHECK_INT(now.remaining_ms, -1);
    CHECK_OK(wherry_event_free(event));
    server_open(check_format("g%d", i));
    CHECK_STATUS(done_of(queue, transfer).status, WHERRY_OK);
    is_whole(path, SIZE);
    CHECK_INT(unlink(path), 0);
  }
}

TEST("D11 a failure reports the path of the partial file, which has all received bytes") {
  const char *path = check_path("file.bin");
  outcome got = download(new_client(NULL), once(server_url("/bytes/%d?cut=%d", SIZE, CUT)), path);
  CHECK_STATUS(got.status, WHERRY_E_NETWORK);
  CHECK_TEXT(got.reason, "truncated");
  REQUIRE(got.partial != NULL);
  long count;
  const char *bytes = check_read_file(got.partial, &count);
  CHECK(count >= CUT);
  CHECK(is_pattern(bytes, CUT, 0));
  CHECK(!check_exists(path));
}

TEST("D12 pause, resume, cancel, and discard do what their names say") {
  const char *path = check_path("file.bin");
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_transfer *transfer = NULL;
  const char *url = server_url("/bytes/%d?hold=%d&gate=never&times=1", SIZE, CUT);
  REQUIRE_OK(wherry_client_download(client, once(url), path, queue, NULL, &transfer));
  keep_transfer(transfer);
  wait_for_bytes(queue, transfer, CUT);
  CHECK_STATUS(wherry_client_download(client, once(url), path, queue, NULL, NULL), WHERRY_E_BUSY);
  CHECK_TEXT(wherry_error_reason(wherry_last_error()), "already_running");
  const char *same = check_path("./file.bin");
  CHECK_FAILS(wherry_client_download(client, once(url), same, queue, NULL, NULL), WHERRY_E_BUSY,
              "already_running");

  CHECK_OK(wherry_transfer_pause(transfer));
  CHECK_OK(wherry_transfer_pause(transfer));
  CHECK_INT(wherry_transfer_state(transfer), WHERRY_STATE_PAUSED);
  server_ask("/_drop"); /* the server times out */
  CHECK_OK(wherry_transfer_resume(transfer));
  outcome got = done_of(queue, transfer);
  CHECK_STATUS(got.status, WHERRY_OK);
  is_whole(path, SIZE);
  CHECK_OK(wherry_transfer_cancel(transfer));
  CHECK_OK(wherry_transfer_discard(transfer));
  CHECK(check_exists(path));
  CHECK_INT(wherry_transfer_state(transfer), WHERRY_STATE_DONE);
}

TEST("D12 a cancelled download keeps its partial file, and a discarded one keeps nothing") {
  const char *path = check_path("file.bin"), *other = check_path("other.bin");
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_transfer *transfer = NULL;
  size_t count = 0;
  wherry_request *request = once(server_url("/bytes/%d?hold=%d&gate=never", SIZE, CUT));
  REQUIRE_OK(wherry_client_download(client, request, path, queue, NULL, &transfer));
  keep_transfer(transfer);
  wait_for_bytes(queue, transfer, CUT);
  CHECK_OK(wherry_client_cancel(client, WHERRY_MATCH_PATH, path, &count));
  CHECK_INT(count, 1);
  outcome got = done_of(queue, transfer);
  CHECK_STATUS(got.status, WHERRY_E_CANCELLED);
  REQUIRE(got.partial != NULL);
  CHECK(check_exists(got.partial));

  CHECK_OK(wherry_partial_discard(path));
  CHECK_OK(wherry_partial_discard(path));
  CHECK_INT(check_entries(check_path(".")), 0);

  REQUIRE_OK(wherry_client_download(client, request, other, queue, NULL, &transfer));
  keep_transfer(transfer);
  wait_for_bytes(queue, transfer, CUT);
  CHECK_STATUS(wherry_partial_discard(other), WHERRY_E_BUSY);
  CHECK_OK(wherry_transfer_discard(transfer));
  CHECK_STATUS(done_of(queue, transfer).status, WHERRY_E_CANCELLED);
  CHECK_INT(check_entries(check_path(".")), 0);
}

TEST("D16 the ratio is read from disk, also by another client") {
  const char *path = check_path("file.bin");
  CHECK(wherry_partial_ratio(path) == 0);
  wherry_client *client = new_client(NULL);
  leave_partial(client, server_url("/bytes/1000000?cut=250000"), path);
  CHECK_OK(wherry_client_free(client));
  CHECK(wherry_partial_ratio(path) == 0.25);
  CHECK_OK(wherry_partial_discard(path));
  CHECK(wherry_partial_ratio(path) == 0);
}

TEST("D18 response headers decide the name, and the resume offset is reported first") {
  wherry_client *client = new_client(NULL);
  const char *folder = check_path("folder");
  REQUIRE_INT(mkdir(folder, 0755), 0);
  const char *url =
      server_url("/bytes/%d?cut=%d&times=1&disposition=attachment;filename=x.bin", SIZE, CUT);
  wherry_request *request = once(url);
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_TARGET_IS_DIRECTORY, 1));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_WANT_HEADERS, 1));
  CHECK_TEXT(download(client, request, folder).reason, "truncated");

  wherry_queue *queue = new_queue();
  REQUIRE_OK(wherry_client_download(client, request, folder, queue, NULL, NULL));
  wherry_event *event = next_event(queue, WHERRY_EVENT_HEADERS);
  CHECK_INT(wherry_response_http_code(wherry_event_response(event)), 206);
  CHECK_OK(wherry_event_free(event));
  event = next_event(queue, WHERRY_EVENT_PROGRESS);
  wherry_progress first = {.size = sizeof first};
  CHECK_OK(wherry_event_progress(event, &first));
  CHECK_INT(first.resumed_at_bytes, CUT);
  CHECK_INT(first.expected_bytes, SIZE);
  CHECK_OK(wherry_event_free(event));
  CHECK_TEXT(next_done(queue).text, check_format("%s/x.bin", folder));
  CHECK_INT(check_entries(folder), 1);
}

TEST("D19 a hostile file name stays in its folder") {
  const struct {
    const char *field, *name;
  } rows[] = {{"attachment;+filename=%%22../../evil.bin%%22", "evil.bin"},
              {"attachment;+filename=%%22/etc/passwd%%22", "passwd"},
              {"attachment;+filename=%%22a%%5C%%5Cb.txt%%22", "b.txt"},
              {"attachment;+filename=%%22..%%22", "100"},
              {"attachment;+filename=%%22.bashrc%%22", "bashrc"},
              {"attachment;+filename=plain.bin;+filename*=UTF-8''%%25e2%%2582%%25ac%%2520rates.bin",
               "\xe2\x82\xac rates.bin"},
              {"inline", "100"}};
  wherry_client *client = new_client(NULL);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *folder = check_path("%zu", i);
    REQUIRE_INT(mkdir(folder, 0755), 0);
    char *field = check_format("%s", rows[i].field);
    for (char *from = field, *to = field;; from++) { /* the table is written for printf */
      if (from[0] == '%' && from[1] == '%') from++;
      *to++ = *from;
      if (*from == '\0') break;
    }
    wherry_request *request =
        new_request("GET", check_format("%s%s", server_url("/bytes/100?disposition="), field));
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_TARGET_IS_DIRECTORY, 1));
    outcome got = download(client, request, folder);
    CHECK_STATUS(got.status, WHERRY_OK);
    CHECK_TEXT(got.text, check_format("%s/%s", folder, rows[i].name));
    CHECK_INT(check_entries(folder), 1);
  }
}

TEST("D21 an unfinished download has a known path, and a finished one is not cached") {
  wherry_client *client = new_client_with(WHERRY_OPTION_HTTP_CACHE, 1);
  const char *path = check_path("file.bin");
  const char *url = server_url("/bytes/%d?cut=%d&times=1&cache=max-age=600", SIZE, CUT);
  outcome got = download(client, once(url), path);
  REQUIRE(got.partial != NULL);
  CHECK(check_exists(got.partial));
  CHECK_STATUS(download(client, once(url), path).status, WHERRY_OK);
  is_whole(path, SIZE);
  /* A cached copy would let a request succeed without the network. */
  for (int i = 0; i < 2; i++) CHECK_STATUS(perform(client, once(url)).status, WHERRY_OK);
  CHECK_INT(server_count("requests"), 3);
  CHECK_INT(unlink(path), 0);
  CHECK_STATUS(download(client, once(url), path).status, WHERRY_OK);
  CHECK_INT(server_count("requests"), 4);
}

TEST("D20 a matching digest passes, and a wrong one leaves no file") {
  wherry_client *client = new_client(NULL);
  const struct {
    wherry_digest digest;
    const char *name;
  } rows[] = {{WHERRY_DIGEST_MD5, "md5"},
              {WHERRY_DIGEST_SHA1, "sha1"},
              {WHERRY_DIGEST_SHA256, "sha256"},
              {WHERRY_DIGEST_SHA512, "sha512"}};
  for (int i = 0; i < 4; i++) {
    const char *path = check_path("file");
    outcome right = perform(
        client, new_request("GET", server_url("/digest/%d?algorithm=%s", SIZE, rows[i].name)));
    wherry_request *request = once(server_url("/bytes/%d?row=%d", SIZE, i));
    CHECK_OK(wherry_request_set_digest(request, rows[i].digest, right.body));
    CHECK_STATUS(download(client, request, path).status, WHERRY_OK);
    is_whole(path, SIZE);
    CHECK_INT(unlink(path), 0);

    request = once(server_url("/bytes/%d?flip=1000&row=%d", SIZE, i));
    CHECK_OK(wherry_request_set_digest(request, rows[i].digest, right.body));
    outcome got = download(client, request, path);
    CHECK_STATUS(got.status, WHERRY_E_FILE);
    CHECK_TEXT(got.reason, "checksum");
    CHECK_INT(check_entries(check_path(".")), 0);
  }
  wherry_request *request = new_request("GET", "/");
  CHECK_FAILS(wherry_request_set_digest(request, WHERRY_DIGEST_SHA256, "abc"), WHERRY_E_ARGUMENT,
              "bad_digest");
}

TEST("D20 a digest covers the complete file, also across two runs") {
  const char *path = check_path("file.bin");
  wherry_client *client = new_client(NULL);
  outcome right = perform(client, new_request("GET", server_url("/digest/%d", SIZE)));
  const char *url = server_url("/bytes/%d?cut=%d&times=1", SIZE, CUT);
  wherry_request *request = once(url);
  CHECK_OK(wherry_request_set_digest(request, WHERRY_DIGEST_SHA256, right.body));
  CHECK_STATUS(download(client, request, path).status, WHERRY_E_NETWORK);
  CHECK_STATUS(download(client, request, path).status, WHERRY_OK);
  is_whole(path, SIZE);
  CHECK_HOLDS(server_field(2, "Range"), "bytes=");
}
