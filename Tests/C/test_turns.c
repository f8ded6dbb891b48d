/* Wherry: rows D25, D28 and D29 from C: queued downloads, group totals, and server times
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

enum { SIZE = 1060921, COUNT = 5 };

/* Starts a download whose response ends when the gate with its name opens. */
static wherry_transfer *begin(wherry_client *client, wherry_queue *queue, const char *name,
                              int64_t priority) {
  wherry_transfer *transfer = NULL;
  wherry_request *request =
      new_request("GET", server_url("/bytes/%d?hold=400000&gate=%s&name=%s", SIZE, name, name));
  REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_PRIORITY, priority));
  REQUIRE_OK(wherry_request_set_text(request, WHERRY_TEXT_TAG, "all"));
  REQUIRE_OK(
      wherry_client_download(client, request, check_path("%s", name), queue, NULL, &transfer));
  return keep_transfer(transfer);
}

TEST("D25 queued downloads wait, and are moved, preferred, paused, and cancelled") {
  wherry_client *client = new_client_with(WHERRY_OPTION_MAX_DOWNLOADS, 1);
  wherry_queue *queue = new_queue();
  const char *names[COUNT] = {"a", "b", "c", "d", "e"};
  wherry_transfer *transfers[COUNT];
  for (int i = 0; i < COUNT; i++) transfers[i] = begin(client, queue, names[i], i == 3 ? 5 : 0);
  REQUIRE(server_wait("requests=1"));

  const int64_t places[COUNT] = {-1, 1, 2, 0, 3};
  for (int i = 0; i < COUNT; i++) CHECK_INT(wherry_transfer_place(transfers[i]), places[i]);
  CHECK_INT(wherry_transfer_state(transfers[1]), WHERRY_STATE_QUEUED);
  CHECK_OK(wherry_transfer_set_priority(transfers[2], 7));
  CHECK_FAILS(wherry_transfer_set_priority(transfers[2], -101), WHERRY_E_ARGUMENT, "bad_value");
  CHECK_OK(wherry_transfer_move(transfers[4], 1));
  CHECK_OK(wherry_transfer_move(transfers[0], 1)); /* it runs and stays */
  const int64_t moved[COUNT] = {-1, 3, 0, 2, 1};
  for (int i = 0; i < COUNT; i++) CHECK_INT(wherry_transfer_place(transfers[i]), moved[i]);
  CHECK_OK(wherry_transfer_move(transfers[4], (size_t)-1));
  CHECK_INT(wherry_transfer_place(transfers[4]), 3);

  CHECK_OK(wherry_transfer_pause(transfers[2]));
  CHECK_INT(wherry_transfer_state(transfers[2]), WHERRY_STATE_PAUSED);
  CHECK_OK(wherry_transfer_cancel(transfers[3]));
  CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
  CHECK_INT(wherry_transfer_place(transfers[3]), -1);

  /* The paused one is skipped, and gets its old position when resumed. */
  const char *order[] = {"a", "b", "c", "e"};
  for (int i = 0; i < 4; i++) {
    const char *counts[] = {"requests=1", "requests=2", "requests=3", "requests=4"};
    REQUIRE(server_wait(counts[i]));
    if (i == 1) CHECK_OK(wherry_transfer_resume(transfers[2]));
    server_open(order[i]);
    CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  }
  CHECK_INT(server_count("requests"), 4);
  CHECK_INT(server_count("peak_requests"), 1);
  CHECK_INT(check_entries(check_path(".")), 4);
}

TEST("D25 the limit applies at once, and only downloads have positions") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  REQUIRE_OK(wherry_client_set_option(client, WHERRY_OPTION_MAX_DOWNLOADS, 1));
  for (int i = 0; i < 3; i++) begin(client, queue, i == 0 ? "a" : i == 1 ? "b" : "c", 0);
  REQUIRE(server_wait("requests=1"));
  REQUIRE_OK(wherry_client_set_option(client, WHERRY_OPTION_MAX_DOWNLOADS, 0));
  REQUIRE(server_wait("active=3"));
  CHECK_OK(wherry_client_cancel(client, WHERRY_MATCH_TAG, "all", NULL));
  for (int i = 0; i < 3; i++) CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);

  wherry_transfer *plain =
      send_request(client, new_request("GET", server_url("/empty")), queue, NULL);
  CHECK_FAILS(wherry_transfer_move(plain, 1), WHERRY_E_STATE, "wrong_state");
  CHECK_INT(wherry_transfer_place(plain), -1);
  CHECK_STATUS(done_of(queue, plain).status, WHERRY_OK);
  CHECK_FAILS(wherry_client_set_option(client, WHERRY_OPTION_MAX_DOWNLOADS, -1), WHERRY_E_ARGUMENT,
              "bad_value");
  CHECK_FAILS(wherry_client_set_option(client, WHERRY_OPTION_PRIORITY, 1), WHERRY_E_ARGUMENT,
              "bad_option");
}

TEST("D29 the total over a tag includes finished downloads") {
  wherry_client *client = new_client_with(WHERRY_OPTION_MAX_DOWNLOADS, 1);
  wherry_queue *queue = new_queue();
  for (int i = 0; i < 3; i++) begin(client, queue, i == 0 ? "a" : i == 1 ? "b" : "c", 0);
  int64_t last = 0;
  for (int i = 0; i < 3; i++) {
    server_open(i == 0 ? "a" : i == 1 ? "b" : "c");
    CHECK_STATUS(next_done(queue).status, WHERRY_OK);
    wherry_progress sum = {.size = sizeof sum};
    REQUIRE_OK(wherry_client_progress(client, WHERRY_MATCH_TAG, "all", &sum));
    CHECK_INT(sum.count, 3);
    CHECK(sum.done_bytes >= last && sum.done_bytes >= (int64_t)(i + 1) * SIZE);
    last = sum.done_bytes;
  }
  wherry_progress sum = {.size = sizeof sum};
  REQUIRE_OK(wherry_client_progress(client, WHERRY_MATCH_TAG, "all", &sum));
  CHECK_INT(sum.done_bytes, 3 * SIZE);
  CHECK_INT(sum.expected_bytes, 3 * SIZE);
  REQUIRE_OK(wherry_client_progress(client, WHERRY_MATCH_TAG, "none", &sum));
  CHECK_INT(sum.count, 0);
}

TEST("D28 a file gets the server's time on request") {
  wherry_client *client = new_client(NULL);
  for (int keeps = 0; keeps < 2; keeps++) {
    const char *path = check_path("%s", keeps ? "kept" : "new");
    wherry_request *request = new_request("GET", server_url("/bytes/1000?keeps=%d", keeps));
    REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_KEEP_SERVER_TIME, keeps));
    CHECK_STATUS(download(client, request, path).status, WHERRY_OK);
    struct stat about;
    REQUIRE(stat(path, &about) == 0);
    CHECK((about.st_mtime == 1704067200) == (keeps == 1)); /* 2024-01-01, as the server says */
  }
}
