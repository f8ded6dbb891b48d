/* Wherry: the larger programs of Examples/c, against the scripted server
 * SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"
#include "program.h"
#include "server.h"

enum { SIZE = 8389385, HALF = SIZE / 2 };

static char *example(const char *name) {
  return check_format("%s/example_%s", WHERRY_EXAMPLES, name);
}

/* A folder of five images, and a file that is not an image. */
static const char *make_album(void) {
  const char *folder = check_path("album");
  REQUIRE_INT(mkdir(folder, 0700), 0);
  for (int i = 0; i < 5; i++) {
    size_t count;
    const uint8_t *bytes = picture_jpeg(60, 40, 95, &count);
    check_write_file(check_format("%s/p%d.jpg", folder, i), bytes, count);
  }
  check_write_file(check_format("%s/notes.txt", folder), "notes", 5);
  return folder;
}

TEST("U22 a folder is uploaded, and transient failures are retried") {
  const char *url = server_url("/faulty-echo?status_first=503&status_times=1&gate=g");
  const char *arguments[] = {url,  make_album(), "--parallel", "2", "--max-side",
                             "30", "--album",    "Skye",       NULL};
  program got = program_start(example("upload_images"), arguments);
  CHECK(server_wait("requests=2"));
  server_open("g");
  program_wait(&got);
  CHECK_INT(got.code, 0);
  for (int i = 0; i < 5; i++) CHECK_HOLDS(got.out, check_format("p%d.jpg: ", i));
  CHECK_HOLDS(got.out, "\n5 of 5 sent\n");
  CHECK_LACKS(got.out, "not sent");
  CHECK_HOLDS(got.err, "100 %");
  CHECK_INT(server_count("requests"), 6);
  CHECK_INT(server_count("peak_requests"), 2);
}

TEST("U22 each failed image is named") {
  const char *folder = make_album();
  check_write_file(check_format("%s/p1.jpg", folder), "no picture", 10);
  server_script("{\"album\": [{\"json\": {}}, {\"status\": 413}, {\"json\": {}}, {\"json\": {}}]}");
  program got = program_run(example("upload_images"), server_url("/s/album"), folder, "--parallel",
                            "1", NULL);
  CHECK_INT(got.code, 1);
  CHECK_HOLDS(got.out, "\np1.jpg: not sent: bad_image: ");
  CHECK_HOLDS(got.out, "\np2.jpg: not sent: http_status: ");
  CHECK_HOLDS(got.out, "\np4.jpg: ");
  CHECK_HOLDS(got.out, "\n3 of 5 sent\n");
}

TEST("U2 a folder without images and a wrong option send nothing") {
  const char *folder = check_path("empty");
  REQUIRE_INT(mkdir(folder, 0700), 0);
  program got = program_run(example("upload_images"), server_url("/echo"), folder, NULL);
  CHECK_INT(got.code, 2);
  CHECK_HOLDS(got.err, "no images");
  got = program_run(example("upload_images"), server_url("/echo"), make_album(), "--parallel",
                    "many", NULL);
  CHECK_INT(got.code, 2);
  CHECK_HOLDS(got.err, "usage");
  CHECK_INT(server_count("requests"), 0);
}

/* The digest of the pattern's first bytes. */
static const char *digest(void) {
  outcome got = perform(new_client(NULL), new_request("GET", server_url("/digest/%d", SIZE)));
  REQUIRE_STATUS(got.status, WHERRY_OK);
  return got.body;
}

static void check_model(const char *path) {
  long count = 0;
  const char *bytes = check_read_file(path, &count);
  REQUIRE_INT(count, SIZE);
  CHECK(is_pattern(bytes, (size_t)count, 0));
}

TEST("D23 D27 a model is downloaded over several connections and from a mirror") {
  const char *path = check_path("new/model.bin");
  const char *right = digest();
  const char *arguments[] = {server_url("/status/404"),
                             path,
                             "--sha256",
                             right,
                             "--segments",
                             "3",
                             "--mirror",
                             server_url("/bytes/%d?hold=100000&gate=g", SIZE),
                             NULL};
  program got = program_start(example("fetch_model"), arguments);
  CHECK(server_wait("requests=5")); /* one is of digest() */
  server_open("g");
  program_wait(&got);
  CHECK_INT(got.code, 0);
  CHECK_TEXT(got.out, check_format("%s is complete\n", path));
  check_model(path);
  CHECK_INT(server_count("peak_requests"), 3);

  got = program_start(example("fetch_model"), arguments);
  program_wait(&got);
  CHECK_INT(got.code, 0);
  CHECK_TEXT(got.out, check_format("%s already exists\n", path));
}

TEST("D6 Ctrl-C keeps the partial file, and the same command resumes") {
  const char *path = check_path("model.bin");
  const char *arguments[] = {server_url("/bytes/%d?hold=%d&gate=g&times=1", SIZE, HALF),
                             path,
                             "--sha256",
                             digest(),
                             "--segments",
                             "1",
                             NULL};
  program got = program_start(example("fetch_model"), arguments);
  program_wait_for(&got, check_format("\r%d of ", HALF)); /* the server holds the rest back */
  CHECK_INT(kill(got.child, SIGINT), 0);
  program_wait(&got);
  server_open("g");
  CHECK_INT(got.code, 130);
  CHECK_HOLDS(got.err, "partial file kept; run the same command to resume\n");
  CHECK(!check_exists(path));

  got = program_start(example("fetch_model"), arguments);
  program_wait(&got);
  CHECK_INT(got.code, 0);
  CHECK_HOLDS(got.err, check_format("resuming at byte %d", HALF));
  CHECK_TEXT(server_field(2, "Range"), check_format("bytes=%d-", HALF));
  check_model(path);
}

TEST("D17 kill -9 loses at most the bytes after the last checkpoint") {
  const char *folder = check_path("models"), *path = check_path("models/model.bin");
  REQUIRE_INT(mkdir(folder, 0700), 0);
  /* Slow enough to inspect the download, and never complete while the program lives. */
  const char *url = server_url("/bytes/%d?rate=50000&hold_at=%d&gate=g", SIZE, HALF);
  const char *arguments[] = {url, path, "--sha256", digest(), "--segments", "1", NULL};
  wherry_queue *nothing = new_queue();
  program got = program_start(example("fetch_model"), arguments);
  wherry_partial_row left = {.size = sizeof left};
  for (int i = 0; i < 3000 && left.done_bytes <= 0; i++) {
    wherry_event *event = NULL;
    wherry_list *list = NULL;
    if (wherry_queue_next(nothing, 20, &event) == WHERRY_OK) CHECK_OK(wherry_event_free(event));
    REQUIRE_OK(wherry_partial_list(folder, &list));
    if (wherry_list_count(list) == 1) CHECK_OK(wherry_list_partial(list, 0, &left));
    CHECK_OK(wherry_list_free(list));
  }
  CHECK(left.done_bytes > 0 && left.done_bytes < HALF);
  CHECK_INT(kill(got.child, SIGKILL), 0);
  program_wait(&got);
  CHECK_INT(got.code, -1);
  CHECK(!check_exists(path));

  server_open("g");
  got = program_start(example("fetch_model"), arguments);
  program_wait(&got);
  CHECK_INT(got.code, 0);
  long long from = 0;
  const char *range = server_field(2, "Range");
  REQUIRE(range != NULL && sscanf(range, "bytes=%lld-", &from) == 1);
  CHECK(from >= left.done_bytes);
  check_model(path);
  CHECK_INT(check_entries(folder), 1);
}

/* A server whose first token has expired; the number of times its books can be read. */
static void script_library(int times) {
  static const char pages[] =
      "{\"json\": {\"books\": [{\"id\": 1, \"title\": \"A\", \"author\": {\"name\": \"Ann\"}},"
      " {\"id\": 2, \"title\": \"B\"}], \"more\": true}},"
      "{\"json\": {\"books\": [{\"id\": \"3\", \"title\": \"C\"}], \"more\": true}},"
      "{\"json\": {\"books\": [{\"id\": 4}], \"more\": false}}";
  server_script(check_format(
      "{\"me\": [{\"status\": 401, \"headers\": [[\"WWW-Authenticate\", \"Bearer\"]]},"
      " {\"json\": {\"name\": \"Skye\"}, \"headers\": [[\"Cache-Control\", \"max-age=3600\"]]}],"
      " \"token\": [{\"json\": {\"access_token\": \"fresh\"}}], \"books\": [%s%s%s]}",
      pages, times > 1 ? "," : "", times > 1 ? pages : ""));
}

static void set_environment(const char *secret) {
  setenv("API_ID", "me", 1);
  setenv("API_SECRET", secret, 1);
  setenv("XDG_CACHE_HOME", check_path("cache"), 1);
}

TEST("R32 K12 O19 one token refresh, a cached response, and books in pages") {
  static const char books[] = "1: A, by Ann\n2: B, by unknown\n3: C, by unknown\n4: , by unknown\n";
  const char *token = check_path("token");
  check_write_file(token, "expired\n", 8);
  script_library(2);
  set_environment("s3cret");
  program first = program_run(example("api_client"), server_url("/s"), "--token-file", token, NULL);
  CHECK_INT(first.code, 0);
  CHECK_TEXT(first.err, "");
  CHECK_TEXT(first.out, check_format("signed in as Skye\n%s", books));
  CHECK_TEXT(server_field(0, "Authorization"), "Bearer expired");
  CHECK_TEXT(server_field(1, "Authorization"), "Basic bWU6czNjcmV0");
  CHECK_INT(server_count("requests"), 6); /* me, token, me, three pages */
  for (size_t i = 2; i < 6; i++) CHECK_TEXT(server_field(i, "Authorization"), "Bearer fresh");

  program second =
      program_run(example("api_client"), server_url("/s"), "--token-file", token, NULL);
  CHECK_INT(second.code, 0);
  CHECK_TEXT(second.out, check_format("signed in as Skye (from the cache)\n%s", books));
  CHECK_INT(server_count("requests"), 9);
  long count = 0;
  CHECK_TEXT(check_read_file(token, &count), "fresh");
}

TEST("R32 the error is reported if no new token is available") {
  server_script("{\"me\": [{\"status\": 401}], \"token\": [{\"status\": 400}]}");
  set_environment("no");
  const char *token = check_path("token");
  program got = program_run(example("api_client"), server_url("/s"), "--token-file", token, NULL);
  CHECK_INT(got.code, 1);
  CHECK_HOLDS(got.err, "http_status: ");
  CHECK(!check_exists(token));
  unsetenv("API_SECRET");
  got = program_run(example("api_client"), server_url("/s"), NULL);
  CHECK_INT(got.code, 2);
}
