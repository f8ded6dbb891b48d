/* Wherry: tests of wherry.h, section 20: log, descriptions, curl commands, and counters
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

static const char planted[] = "pl4nted";
static int own;

/* The next LOG event as a record, freed with the test; ends the test if none waits. */
static wherry_log_record next_log(wherry_queue *queue, wherry_event **out_event) {
  wherry_log_record record = {.size = sizeof record};
  REQUIRE_OK(wherry_queue_next(queue, 600000, out_event));
  REQUIRE_INT(wherry_event_get_kind(*out_event), WHERRY_EVENT_LOG);
  REQUIRE_OK(wherry_event_log(*out_event, &record));
  CHECK_TEXT(wherry_event_text(*out_event), record.text);
  CHECK_INT(wherry_event_detail(*out_event), record.level);
  CHECK_INT(wherry_event_transfer_id(*out_event), record.transfer_id);
  return record;
}

/* The first lines of all waiting records, each with a line feed. */
static const char *first_lines(wherry_queue *queue) {
  const char *told = "";
  while (wherry_queue_count(queue) > 0) {
    wherry_event *event = NULL;
    wherry_log_record record = next_log(queue, &event);
    if (record.event != WHERRY_LOG_EVENT_HEADER && record.event != WHERRY_LOG_EVENT_SENT &&
        record.event != WHERRY_LOG_EVENT_HEADERS) {
      told = check_format("%s%.*s\n", told, (int)strcspn(record.text, "\n"), record.text);
    }
    CHECK_OK(wherry_event_free(event));
  }
  return told;
}

static char *copied(wherry_status (*copy)(const wherry_transfer *, bool, char *, size_t, size_t *),
                    const wherry_transfer *transfer, bool flag) {
  size_t count = 0;
  REQUIRE_OK(copy(transfer, flag, NULL, 0, &count));
  char *text = check_memory(count + 1);
  REQUIRE_OK(copy(transfer, flag, text, count + 1, &count));
  CHECK_INT(strlen(text), count);
  return text;
}

static char *curl_command(wherry_client *client, const wherry_request *request, bool secrets) {
  size_t count = 0;
  REQUIRE_OK(wherry_client_copy_curl_command(client, request, secrets, NULL, 0, &count));
  char *text = check_memory(count + 1);
  REQUIRE_OK(wherry_client_copy_curl_command(client, request, secrets, text, count + 1, &count));
  return text;
}

TEST("L3 the texts of the timed cache have SJNetwork's order: off, miss, hit") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_STORAGE_DIRECTORY, check_path("storage")));
  wherry_client *client = new_client(config);
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_client_set_log(client, WHERRY_LOG_DEBUG, queue, NULL));
  wherry_request *request = new_request("GET", server_url("/echo"));
  perform(client, request);
  CHECK_TEXT(first_lines(queue),
             "Do not need to load cache, start sending network request...\n"
             "Start requesting...\nRequest succeed!\n");
  CHECK_OK(wherry_request_set_cache(request, WHERRY_CACHE_USE, 180000));
  perform(client, request);
  CHECK_TEXT(first_lines(queue),
             "Load cache failed: Cache info does not exist\n"
             "Failed to load cache, start to sending network request...\n"
             "Start requesting...\nRequest succeed!\nWrite cache succeed!\n");
  outcome hit = perform(client, request);
  CHECK_TEXT(
      first_lines(queue),
      check_format("Load cache succeed:%zu bytes\nRequest succeed by loading Cache!\n", hit.count));
}

TEST("L4 a transfer has a short and a full description") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("POST", server_url("/echo"));
  CHECK_OK(wherry_request_set_parameter(request, "token", planted));
  wherry_transfer *transfer = send_request(client, request, queue, NULL);
  done_of(queue, transfer);
  char *shown = copied(wherry_transfer_copy_description, transfer, false);
  CHECK_TEXT(shown,
             check_format("<Request: %llu>", (unsigned long long)wherry_transfer_id(transfer)));
  char *full = copied(wherry_transfer_copy_description, transfer, true);
  CHECK_HOLDS(full, "   type:             ordinary request\n");
  CHECK_HOLDS(full, "   parameters:       {\"token\":\"***\"}\n");
  CHECK_HOLDS(full, "   task:             done\n");
  CHECK_LACKS(full, planted);
}

TEST("L5 headers, a download, its commands, and refusals are logged in SJNetwork's words") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_header(config, "X-Name", "skye"));
  wherry_client *client = new_client(config);
  wherry_queue *log = new_queue(), *queue = new_queue();
  CHECK_OK(wherry_client_set_log(client, WHERRY_LOG_DEBUG, log, NULL));
  const char *path = check_path("file.bin");
  wherry_transfer *transfer = NULL;
  wherry_request *request = new_request("GET", server_url("/bytes/900000?gate=g"));
  CHECK_OK(wherry_request_set_header(request, "X-Own", "7"));
  REQUIRE_OK(wherry_client_download(client, request, path, queue, NULL, &transfer));
  keep_transfer(transfer);
  CHECK(server_wait("requests=1"));
  CHECK_OK(wherry_transfer_resume(transfer));
  CHECK_OK(wherry_transfer_pause(transfer));
  CHECK_OK(wherry_transfer_pause(transfer));
  CHECK_OK(wherry_transfer_resume(transfer));
  server_open("g");
  CHECK_STATUS(done_of(queue, transfer).status, WHERRY_OK);
  const char *told = "", *id = copied(wherry_transfer_copy_description, transfer, false);
  while (wherry_queue_count(log) > 0) {
    wherry_event *event = NULL;
    wherry_log_record record = next_log(log, &event);
    told = check_format("%s%s\n", told, record.text);
    CHECK_OK(wherry_event_free(event));
  }
  CHECK_HOLDS(told, "added header:key:X-Own value:7\n");
  CHECK_HOLDS(told, "added header:key:X-Name value:skye\n");
  CHECK_HOLDS(told, "start downloading:\n");
  CHECK_HOLDS(told, check_format("Can not resume request: %s, since it is not suspended\n", id));
  CHECK_HOLDS(told, check_format("Suspended request:%s\n", id));
  CHECK_HOLDS(told, check_format("Request %s can not be suspended, since it is not running\n", id));
  CHECK_HOLDS(told, check_format("Resumed request: %s\n", id));
  CHECK_HOLDS(told, check_format("Move download file succeed:%s\n", path));
  CHECK_HOLDS(told, check_format("Download succeed,download file path:%s\n", path));

  CHECK_OK(wherry_client_pause(client, WHERRY_MATCH_TAG, "none", NULL));
  CHECK_TEXT(first_lines(log), "There is no task to suspend\n");
}

TEST("L6 L10 suspend, resume, a redirect, and the end are events with their records") {
  wherry_client *client = new_client(NULL);
  wherry_queue *log = new_queue(), *queue = new_queue();
  CHECK_OK(wherry_client_set_log(client, WHERRY_LOG_INFO, log, &own));
  wherry_request *request = new_request("GET", server_url("/redirect/1?gate=g&query=secret"));
  wherry_transfer *transfer = send_request(client, request, queue, NULL);
  CHECK(server_wait("requests=1"));
  CHECK_OK(wherry_transfer_pause(transfer));
  CHECK_OK(wherry_transfer_resume(transfer));
  server_open("g");
  CHECK_STATUS(done_of(queue, transfer).status, WHERRY_OK);
  CHECK_OK(wherry_client_free(client));
  const int32_t wanted[] = {WHERRY_LOG_EVENT_STARTED,   WHERRY_LOG_EVENT_SUSPENDED,
                            WHERRY_LOG_EVENT_RESUMED,   WHERRY_LOG_EVENT_REDIRECTED,
                            WHERRY_LOG_EVENT_SUCCEEDED, WHERRY_LOG_EVENT_CLOSED};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    wherry_event *event = NULL;
    wherry_log_record record = next_log(log, &event);
    CHECK_INT(record.event, wanted[i]);
    CHECK_INT(record.level, WHERRY_LOG_INFO);
    CHECK_LACKS(record.text, "query=secret");
    CHECK(record.time_ms > 1600000000000);
    CHECK(wherry_event_user_data(event) == &own);
    if (wanted[i] == WHERRY_LOG_EVENT_CLOSED) {
      CHECK_INT(record.transfer_id, 0);
      CHECK(record.url == NULL && record.method == NULL);
    } else {
      CHECK_INT(record.transfer_id, wherry_transfer_id(transfer));
      CHECK_TEXT(record.method, "GET");
      CHECK_LACKS(record.url, "query");
    }
    CHECK_INT(record.has_metrics, wanted[i] == WHERRY_LOG_EVENT_SUCCEEDED);
    if (record.has_metrics) {
      CHECK_INT(record.http_code, 200);
      CHECK(record.total_us > 0 && record.total_us >= record.first_byte_us);
      CHECK(record.received_bytes > 0 && record.sent_bytes > 0);
    }
    if (wanted[i] == WHERRY_LOG_EVENT_REDIRECTED) CHECK_INT(record.http_code, 302);
    /* No other record is one. */
    CHECK_FAILS(wherry_event_progress(event, &(wherry_progress){.size = sizeof(wherry_progress)}),
                WHERRY_E_STATE, "wrong_state");
    CHECK_OK(wherry_event_free(event));
  }
  CHECK(queue_is_empty(log));
}

TEST("R25 each step is reported to the client's log first, then to its queue, in one order") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_client_set_log(client, WHERRY_LOG_INFO, queue, NULL));
  wherry_request *request = new_request("GET", server_url("/redirect/1"));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_WANT_HEADERS, 1));
  (void)send_request(client, request, queue, NULL);
  const struct {
    wherry_event_kind kind;
    int32_t record; /* of LOG events */
  } wanted[] = {{WHERRY_EVENT_LOG, WHERRY_LOG_EVENT_STARTED},
                {WHERRY_EVENT_LOG, WHERRY_LOG_EVENT_REDIRECTED},
                {WHERRY_EVENT_HEADERS, 0},
                {WHERRY_EVENT_LOG, WHERRY_LOG_EVENT_SUCCEEDED},
                {WHERRY_EVENT_DONE, 0}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    wherry_event *event = NULL;
    wherry_log_record record = {.size = sizeof record};
    REQUIRE_OK(wherry_queue_next(queue, 600000, &event));
    CHECK_INT(wherry_event_get_kind(event), wanted[i].kind);
    if (wanted[i].kind == WHERRY_EVENT_LOG) {
      CHECK_OK(wherry_event_log(event, &record));
      CHECK_INT(record.event, wanted[i].record);
    }
    CHECK_OK(wherry_event_free(event));
  }
}

TEST("L8 SEC-S1 logs, descriptions, and commands contain no secret at any level") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  const char *file = check_path("log");
  CHECK_OK(wherry_client_set_log(client, WHERRY_LOG_DEBUG, queue, NULL));
  CHECK_OK(wherry_client_set_log_file(client, WHERRY_LOG_DEBUG, file, true, 0));
  CHECK_OK(wherry_client_add_secret_name(client, "X-Shop"));
  wherry_request *request =
      new_request("POST", server_url("/echo?access_token=%s&page=2", planted));
  CHECK_OK(wherry_request_set_text(request, WHERRY_TEXT_BEARER_TOKEN, planted));
  CHECK_OK(wherry_request_set_header(request, "Cookie", check_format("id=%s", planted)));
  CHECK_OK(wherry_request_set_header(request, "x_shop", planted));
  CHECK_OK(wherry_request_set_header(request, "X-Plain", "seen"));
  const char *json = check_format("{\"in\":[{\"pin\":\"%s\"}],\"page\":1}", planted);
  CHECK_OK(wherry_request_set_parameters_json(request, json, strlen(json)));
  outcome got = perform(client, request);
  CHECK_HOLDS(echoed_header(&got, "authorization"), planted);
  CHECK_LACKS(curl_command(client, request, false), planted);
  CHECK_HOLDS(curl_command(client, request, false), "Authorization: ***");
  CHECK_HOLDS(curl_command(client, request, true), planted);
  CHECK_OK(wherry_client_set_log_file(client, WHERRY_LOG_OFF, NULL, false, 0));
  long count = 0;
  const char *lines = check_read_file(file, &count);
  CHECK_HOLDS(lines, "\"event\":\"succeeded\"");
  CHECK_HOLDS(lines, "seen");
  CHECK_HOLDS(lines, "page=2");
  CHECK_LACKS(lines, planted);
  while (wherry_queue_count(queue) > 0) {
    wherry_event *event = NULL;
    CHECK_LACKS(next_log(queue, &event).text, planted);
    CHECK_OK(wherry_event_free(event));
  }
}

/* A client with a log, and a certificate key for the origin of that URL. */
static wherry_client *keyed(const char *url, const char *password, wherry_queue *queue) {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_CA_FILE, authority_path("ca.pem")));
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_PROXY, ""));
  const char *origin = check_format("%.*s", (int)(strstr(url, "/@") - url), url);
  CHECK_OK(wherry_config_set_client_certificate(config, origin, authority_path("client.p12"), NULL,
                                                password));
  wherry_client *client = new_client(config);
  CHECK_OK(wherry_client_set_log(client, WHERRY_LOG_DEBUG, queue, NULL));
  return client;
}

TEST("L8 SEC-S1 logs contain no password of a digest or key, and no cookie values") {
  const char *url = authority_url("client_port", "good", "/echo");
  wherry_queue *queue = new_queue();
  wherry_client *client = keyed(url, "open sesame", queue);
  CHECK_INT(perform(client, new_request("GET", url)).http_code, 200);
  server_script(
      check_format("{\"guarded\": [{\"status\": 401, \"headers\": [[\"WWW-Authenticate\", "
                   "\"Digest realm=\\\"r\\\", nonce=\\\"n\\\", qop=\\\"auth\\\"\"]]}, "
                   "{\"headers\": [[\"Set-Cookie\", \"id=%s-cookie; Path=/\"]], \"json\": {}}]}",
                   planted));
  wherry_request *request = new_request("GET", server_url("/s/guarded"));
  CHECK_OK(wherry_request_set_credentials(request, WHERRY_AUTH_DIGEST, "skye",
                                          check_format("%s-digest", planted)));
  CHECK_INT(perform(client, request).http_code, 200);
  CHECK_LACKS(curl_command(client, request, false), planted);
  outcome got = perform(client, new_request("GET", server_url("/echo")));
  CHECK_HOLDS(echoed_header(&got, "cookie"), check_format("id=%s-cookie", planted));

  wherry_client *shut = keyed(url, check_format("%s-key", planted), queue);
  got = perform(shut, new_request("GET", url));
  CHECK_TEXT(got.reason, "tls");
  CHECK_LACKS(wherry_error_message(wherry_last_error()), planted);
  bool hidden = false;
  while (wherry_queue_count(queue) > 0) {
    wherry_event *event = NULL;
    wherry_log_record record = next_log(queue, &event);
    CHECK_LACKS(record.text, planted);
    CHECK_LACKS(record.text, "open sesame");
    hidden |= strstr(record.text, "Set-Cookie: ***") != NULL;
    CHECK_OK(wherry_event_free(event));
  }
  CHECK(hidden);
}

TEST("L9 the command pasted into a shell sends the same request") {
  wherry_client *client = new_client(NULL);
  wherry_request *request = new_request("PUT", server_url("/echo"));
  CHECK_OK(wherry_request_set_header(request, "X-Odd", "it's $HOME `x` \\ \"y\""));
  CHECK_OK(wherry_request_add_query(request, "a b", "\xC3\xBC&="));
  CHECK_OK(wherry_request_set_body(request, "a\0b\xFF'\n", 6, "x/y"));
  perform(client, request);
  FILE *shell = popen(check_format("( %s ) 2>/dev/null", curl_command(client, request, true)), "r");
  REQUIRE(shell != NULL);
  char piece[256];
  while (fread(piece, 1, sizeof piece, shell) > 0) {
  }
  CHECK_INT(pclose(shell), 0);
  CHECK_INT(server_count("requests"), 2);
  CHECK_INT(server_count("received"), 12);
  for (const char **name = (const char *[]){"X-Odd", "Content-Type", "User-Agent", "Accept",
                                            "Accept-Encoding", "Content-Length", NULL};
       *name != NULL; name++) {
    CHECK(server_field(0, *name) != NULL);
    CHECK_TEXT(server_field(1, *name), server_field(0, *name));
  }
}

TEST("L11 a log file is private, restarts when it is full, and is complete at the end") {
  wherry_client *client = new_client(NULL);
  const char *path = check_path("log");
  CHECK_OK(wherry_client_set_log_file(client, WHERRY_LOG_INFO, path, false, 2000));
  wherry_request *request = new_request("GET", server_url("/echo"));
  for (int i = 0; i < 12; i++) perform(client, request);
  CHECK_OK(wherry_client_free(client));
  long count = 0, older = 0;
  const char *lines = check_read_file(path, &count);
  CHECK_HOLDS(lines, "info: =========== Client closed\n");
  check_read_file(check_format("%s.1", path), &older);
  CHECK(count > 0 && count <= 2000 && older > 0 && older <= 2000);
  struct stat status;
  REQUIRE(stat(path, &status) == 0);
  CHECK_INT(status.st_mode & 0777, 0600);
}

TEST("L11 an invalid log is refused, and freeing a queue ends its log") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  CHECK_FAILS(wherry_client_set_log(client, (wherry_log_level)5, queue, NULL), WHERRY_E_ARGUMENT,
              "bad_value");
  CHECK_FAILS(wherry_client_set_log(client, WHERRY_LOG_INFO, (wherry_queue *)client, NULL),
              WHERRY_E_ARGUMENT, "bad_handle");
  CHECK_FAILS(wherry_client_set_log_file(client, WHERRY_LOG_INFO, check_path("log"), false, -1),
              WHERRY_E_ARGUMENT, "bad_value");
  CHECK_STATUS(
      wherry_client_set_log_file(client, WHERRY_LOG_INFO, check_path("none/log"), false, 0),
      WHERRY_E_FILE);
  CHECK_OK(wherry_client_set_log(client, WHERRY_LOG_INFO, queue, NULL));
  wherry_request *request = new_request("GET", server_url("/echo"));
  perform(client, request);
  CHECK(wherry_queue_count(queue) == 2);
  CHECK_OK(wherry_client_set_log(client, WHERRY_LOG_OFF, NULL, NULL));
  perform(client, request);
  CHECK(wherry_queue_count(queue) == 2);
  CHECK_OK(wherry_client_set_log(client, WHERRY_LOG_INFO, queue, NULL));
  CHECK_OK(wherry_queue_free(queue));
  CHECK_INT(perform(client, request).http_code, 200);
  /* A reader that falls behind loses later records and gets their count. */
  queue = new_queue();
  CHECK_OK(wherry_client_set_log(client, WHERRY_LOG_INFO, queue, NULL));
  for (int i = 0; i < 600; i++) perform(client, request);
  CHECK_INT(wherry_queue_count(queue), 1000);
  for (int i = 0; i < 1000; i++) {
    wherry_event *event = NULL;
    next_log(queue, &event);
    CHECK_OK(wherry_event_free(event));
  }
  perform(client, request);
  wherry_event *event = NULL;
  wherry_log_record record = next_log(queue, &event);
  CHECK_INT(record.event, WHERRY_LOG_EVENT_LOST);
  CHECK_INT(record.count, 200);
  CHECK_OK(wherry_event_free(event));
}

TEST("L11 WHERRY_LOG and WHERRY_LOG_FILE enable a log from the environment") {
  const char *path = check_path("log");
  setenv("WHERRY_LOG", "debug", 1);
  setenv("WHERRY_LOG_FILE", path, 1);
  wherry_client *client = new_client(NULL);
  unsetenv("WHERRY_LOG");
  unsetenv("WHERRY_LOG_FILE");
  perform(client, new_request("GET", server_url("/echo?page=2")));
  CHECK_OK(wherry_client_free(client));
  long count = 0;
  const char *lines = check_read_file(path, &count);
  CHECK_HOLDS(lines, " debug #");
  CHECK_HOLDS(lines, "page=2");
}

TEST("L12 the counters match the server") {
  wherry_client *client = new_client(NULL);
  const char *target = server_url("/echo");
  perform(client, new_request("GET", server_url("/redirect-to?url=%s", target)));
  perform(client, new_request("GET", server_url("/status/500")));
  wherry_request *sink = new_request("POST", server_url("/sink"));
  char body[5000];
  memset(body, 'x', sizeof body);
  CHECK_OK(wherry_request_set_body(sink, body, sizeof body, NULL));
  perform(client, sink);
  perform(client, new_request("GET", "http://127.0.0.1:1/"));
  download(client, new_request(NULL, server_url("/bytes/1000")), check_path("file"));
  wherry_counters sums = {.size = sizeof sums}, host = {.size = sizeof host};
  REQUIRE_OK(wherry_client_counters(client, NULL, &sums));
  CHECK_INT(sums.started, 5);
  CHECK_INT(sums.succeeded, 3);
  CHECK_INT(sums.failed, 2);
  CHECK_INT(sums.cancelled, 0);
  CHECK_INT(sums.redirected, 1);
  CHECK_INT(sums.retried, 0);
  CHECK_INT(sums.requests, server_count("requests"));
  CHECK(sums.sent_bytes > 5000 && sums.received_bytes > 1000);
  REQUIRE_OK(wherry_client_counters(client, "127.0.0.1", &host));
  CHECK_BYTES(&host, sizeof host, &sums, sizeof sums);
  REQUIRE_OK(wherry_client_counters(client, "other.test", &host));
  CHECK_INT(host.requests, 0);
}
