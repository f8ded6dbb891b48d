/* Wherry: rules SEC-R1 to SEC-R7, from C: limits on what a server can cost
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

static const char *ending(wherry_client *client, const char *path) {
  return perform(client, new_request("GET", server_url("%s", path))).reason;
}

TEST("SEC-R1 SEC-R2 limits apply to the decoded size of a body and to its ratio") {
  wherry_client *client = new_client_with(WHERRY_OPTION_MAX_BODY_BYTES, 1000000);
  const char *large[] = {"/bytes/1000001", "/bytes/1000001?chunked=1", "/bytes/1000001?no_length=1",
                         "/gzip?zeros=1000001", "/deflate?zeros=1000001"};
  for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
    outcome got = perform(client, new_request("GET", server_url("%s", large[i])));
    CHECK_STATUS(got.status, WHERRY_E_LIMIT);
    CHECK_TEXT(got.reason, "too_large");
  }
  CHECK_INT(perform(client, new_request("GET", server_url("/gzip?zeros=1000000"))).count, 1000000);
  wherry_client *bombed = new_client(NULL);
  outcome bomb = perform(bombed, new_request("GET", server_url("/gzip?zeros=60000000")));
  CHECK_TEXT(bomb.reason, "too_large");
  CHECK_HOLDS(bomb.message, "1,000 times");
  CHECK_TEXT(ending(bombed, "/gzip?header=Content-Encoding:gzip"), "bad_encoding");
}

TEST("SEC-R3 a gzip body cut at any byte is an error") {
  wherry_client *client = new_client(NULL);
  outcome whole = perform(client, new_request("GET", server_url("/gzip")));
  const char *length = strstr(whole.head, "ontent-");
  CHECK_STATUS(whole.status, WHERRY_OK);
  int count = 0;
  for (; length != NULL && count == 0; length = strstr(length + 1, "ontent-"))
    sscanf(length, "ontent-%*1[Ll]ength: %d", &count);
  REQUIRE(count > 20);
  for (int cut = 1; cut < count; cut++) {
    const char *reason = ending(client, check_format("/gzip?no_length=1&cut=%d", cut));
    if (strcmp(reason, "truncated") != 0) CHECK_TEXT(reason, "bad_encoding");
  }
  CHECK_TEXT(ending(client, "/gzip?no_length=1"), "");
}

TEST("SEC-R4 a body that ends early is an error, and bytes after its end are discarded") {
  wherry_client *client = new_client(NULL);
  const char *cut[] = {"/bytes/1000?length=2000", "/bytes/1000?cut=500",
                       "/bytes/1000?chunked_cut=1", "/bytes/1000?chunked=1&cut=500"};
  for (size_t i = 0; i < sizeof cut / sizeof *cut; i++)
    CHECK_TEXT(ending(client, cut[i]), "truncated");
  outcome more = perform(client, new_request("GET", server_url("/bytes/1000?more=100")));
  CHECK_INT(more.count, 1000);
}

TEST("SEC-R5 response headers have limits for count, line length, and total size") {
  wherry_client *client = new_client(NULL);
  CHECK_TEXT(ending(client, "/headers?count=200&size=10"), "");
  CHECK_TEXT(ending(client, "/headers?count=257&size=10"), "header_too_large");
  CHECK_TEXT(ending(client, "/headers?count=1&size=16000"), "");
  CHECK_TEXT(ending(client, "/headers?count=1&size=16500"), "header_too_large");
  CHECK_TEXT(ending(client, "/headers?count=100&size=4000"), "header_too_large");
  /* around libcurl's limit, which counts line ends too */
  for (int size = 1266; size < 1286; size += 5)
    CHECK_TEXT(ending(client, check_format("/headers?count=240&size=%d", size)),
               "header_too_large");
  wherry_client *narrow = new_client_with(WHERRY_OPTION_MAX_HEADER_BYTES, 2000);
  CHECK_TEXT(ending(narrow, "/headers?count=10&size=300"), "header_too_large");
}

TEST("SEC-R6 endless slow headers and bodies end at the total timeout") {
  wherry_client *client = new_client_with(WHERRY_OPTION_TOTAL_TIMEOUT_MS, 300);
  const char *slow[] = {"/slow-head?drip=1&interval_ms=50", "/drip?bytes=1000&interval_ms=50"};
  for (size_t i = 0; i < 2; i++) {
    outcome got = perform(client, new_request("GET", server_url("%s", slow[i])));
    CHECK_STATUS(got.status, WHERRY_E_TIMEOUT);
    CHECK_TEXT(got.reason, "total_timeout");
  }
}

TEST("SEC-R7 conflicting lengths, NUL, a bare CR, and HTTP 0.9 never become a response") {
  const char *answers[] = {
      "Content-Length: 5\\r\\nContent-Length: 6\\r\\n\\r\\nhello!",
      "Content-Length: 5, 6\\r\\n\\r\\nhello",
      "Content-Length: -1\\r\\n\\r\\n",
      "Content-Length: +5\\r\\n\\r\\nhello",
      "Content-Length: 0x5\\r\\n\\r\\nhello",
      "X: a\\u0000b\\r\\nContent-Length: 0\\r\\n\\r\\n",
      "X: a\\rContent-Length: 7\\r\\nContent-Length: 0\\r\\n\\r\\n",
      " folded\\r\\nContent-Length: 0\\r\\n\\r\\n",
      "Transfer-Encoding: chunked\\r\\n\\r\\nzz\\r\\nhello\\r\\n0\\r\\n\\r\\n"};
  wherry_client *client = new_client(NULL);
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
    server_script(check_format(
        "{\"raw%zu\": [{\"raw\": [[\"send\", \"HTTP/1.1 200 OK\\r\\n%s\"], [\"fin\"]]}]}", i,
        answers[i]));
    outcome got = perform(client, new_request("GET", server_url("/s/raw%zu", i)));
    if (!CHECK_STATUS(got.status, WHERRY_E_NETWORK)) CHECK_TEXT(answers[i], got.reason);
  }
  server_script("{\"old\": [{\"raw\": [[\"send\", \"<html>hello</html>\"], [\"fin\"]]}]}");
  CHECK_TEXT(perform(client, new_request("GET", server_url("/s/old"))).reason, "protocol");
  server_script(
      "{\"both\": [{\"raw\": [[\"send\", \"HTTP/1.1 200 OK\\r\\nContent-Length: 3\\r\\n"
      "Transfer-Encoding: chunked\\r\\n\\r\\n5\\r\\nhello\\r\\n0\\r\\n\\r\\n\"], [\"keep\"]]}]}");
  CHECK_TEXT(perform(client, new_request("GET", server_url("/s/both"))).body, "hello");
}

TEST("R28 changing the priority of a waiting request moves it") {
  wherry_client *client = new_client_with(WHERRY_OPTION_MAX_PER_HOST, 1);
  wherry_queue *queue = new_queue();
  wherry_transfer *first =
      send_request(client, new_request("GET", server_url("/text/first?gate=g")), queue, NULL);
  REQUIRE(server_wait("requests=1"));
  wherry_transfer *waiting[3];
  const char *const names[] = {"a", "b", "c"};
  for (size_t i = 0; i < 3; i++)
    waiting[i] =
        send_request(client, new_request("GET", server_url("/text/%s", names[i])), queue, NULL);
  CHECK_OK(wherry_transfer_set_priority(waiting[2], 5));
  CHECK_OK(wherry_transfer_set_priority(waiting[0], -5));
  CHECK_OK(wherry_transfer_set_priority(first, -100)); /* it runs */
  CHECK_FAILS(wherry_transfer_set_priority(waiting[1], 101), WHERRY_E_ARGUMENT, "bad_value");
  /* Another host has a separate slot: after its response, all of them are waiting. */
  const char *other = strchr(server_url("/text/other") + strlen("http://"), ':');
  CHECK_STATUS(
      perform(client, new_request("GET", check_format("http://localhost%s", other))).status,
      WHERRY_OK);

  server_open("g");
  for (size_t i = 0; i < 4; i++) CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  CHECK_OK(wherry_transfer_set_priority(first, 1)); /* it has ended */

  const char *order[] = {"first", "other", "c", "b", "a"};
  wherry_json *log = server_log();
  for (size_t i = 0; i < 5; i++) {
    const char *path = wherry_json_get_text(log, check_format("requests/%zu/path", i), "", NULL);
    CHECK_TEXT(path, check_format("/text/%s", order[i]));
  }
  CHECK_OK(wherry_json_free(log));
}

TEST("R28 with one slot, high priority is first, and equals keep their order") {
  wherry_client *client = new_client_with(WHERRY_OPTION_MAX_PER_HOST, 1);
  wherry_queue *queue = new_queue();
  send_request(client, new_request("GET", server_url("/text/first?gate=g")), queue, NULL);
  REQUIRE(server_wait("requests=1"));
  const struct {
    const char *name;
    int priority;
  } line[] = {{"a", 0}, {"low", -100},    {"b", 0},    {"high", 5},
              {"c", 0}, {"highest", 100}, {"high2", 5}};
  for (size_t i = 0; i < 7; i++) {
    wherry_request *request = new_request("GET", server_url("/text/%s", line[i].name));
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_PRIORITY, line[i].priority));
    send_request(client, request, queue, NULL);
  }
  CHECK_FAILS(wherry_request_set_option(new_request("GET", "/"), WHERRY_OPTION_PRIORITY, 101),
              WHERRY_E_ARGUMENT, "bad_value");
  /* Another host has a separate slot: after its response, all of them are waiting. */
  const char *other = strchr(server_url("/text/other") + strlen("http://"), ':');
  CHECK_STATUS(
      perform(client, new_request("GET", check_format("http://localhost%s", other))).status,
      WHERRY_OK);

  server_open("g");
  for (size_t i = 0; i < 8; i++) CHECK_STATUS(next_done(queue).status, WHERRY_OK);

  const char *order[] = {"first", "other", "highest", "high", "high2", "a", "b", "c", "low"};
  wherry_json *log = server_log();
  for (size_t i = 0; i < 9; i++) {
    const char *path = wherry_json_get_text(log, check_format("requests/%zu/path", i), "", NULL);
    CHECK_TEXT(path, check_format("/text/%s", order[i]));
  }
  CHECK_OK(wherry_json_free(log));
}
