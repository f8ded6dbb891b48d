/* Wherry: mistakes by callers and servers are errors, and never worse
 * SPDX-License-Identifier: Apache-2.0
 *
 * test_handles.c covers bad handles, enumerations, and text. */
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

TEST("S11 a malformed or unsupported URL is an error before anything is sent") {
  const char *urls[] = {"http://",
                        "http://[::1",
                        "http://a b/",
                        "http://127.0.0.1:99999/",
                        "relative",
                        "//127.0.0.1/",
                        "ftp://127.0.0.1/",
                        "file:///etc/passwd",
                        "javascript:alert(1)",
                        "",
                        "http://127.0.0.1/\r\nX: 1",
                        "http://\x7f/",
                        "gopher://127.0.0.1:70/_x"};
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
    wherry_request *request = NULL;
    wherry_response *response = NULL;
    if (wherry_request_new("GET", urls[i], &request) != WHERRY_OK) {
      CHECK_INT(wherry_error_status(wherry_last_error()), WHERRY_E_ARGUMENT);
      continue;
    }
    CHECK_FAILS(wherry_client_perform(client, request, &response), WHERRY_E_ARGUMENT, "bad_url");
    CHECK_FAILS(wherry_client_send(client, request, queue, NULL, NULL), WHERRY_E_ARGUMENT,
                "bad_url");
    CHECK_FAILS(wherry_client_download(client, request, check_path("f"), queue, NULL, NULL),
                WHERRY_E_ARGUMENT, "bad_url");
    CHECK_OK(wherry_request_free(request));
  }
  CHECK(queue_is_empty(queue));
}

TEST("S11 a read-only folder is an error before any traffic") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("GET", server_url("/bytes/10"));
  const char *file = check_path("plain");
  check_write_file(file, "x", 1);
  const char *bad[] = {check_path("none/x"), check_format("%s/x", file), "", "/"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    wherry_status status = wherry_client_download(client, request, bad[i], queue, NULL, NULL);
    CHECK(status == WHERRY_E_FILE || status == WHERRY_E_ARGUMENT);
    CHECK(wherry_error_message(wherry_last_error())[0] != '\0');
  }
  /* Only an attempt shows that nothing can be created there. */
  CHECK_STATUS(download(client, request, "/proc/x").status, WHERRY_E_FILE);
  if (geteuid() != 0) { /* root may write everywhere */
    REQUIRE_INT(mkdir(check_path("closed"), 0500), 0);
    CHECK_STATUS(wherry_client_download(client, request, check_path("closed/x"), queue, NULL, NULL),
                 WHERRY_E_FILE);
  }
  CHECK(queue_is_empty(queue));
  CHECK_INT(server_count("requests"), 0);
  CHECK_FAILS(wherry_client_download(client, request, NULL, queue, NULL, NULL), WHERRY_E_ARGUMENT,
              "bad_argument");
}

TEST("S11 a malformed response is an error or contains only bytes that were sent") {
  wherry_client *client = new_client(NULL);
  const struct {
    const char *path;
    wherry_status status;
  } rows[] = {{"/bytes/1000?two_lengths=500", WHERRY_E_NETWORK},
              {"/bytes/1000?chunked_cut=1", WHERRY_E_NETWORK},
              {"/bytes/1000?chunked=1&cut=500", WHERRY_E_NETWORK},
              {"/bytes/1000?length=2000", WHERRY_E_NETWORK},
              {"/bytes/1000?more=100", WHERRY_OK},
              {"/gzip?cut=10", WHERRY_E_NETWORK},
              {"/headers?count=10&size=20000", WHERRY_E_LIMIT},
              {"/loop", WHERRY_E_HTTP}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    outcome got = perform(client, new_request("GET", server_url("%s", rows[i].path)));
    if (!CHECK_INT(got.status, rows[i].status)) CHECK_TEXT(got.message, rows[i].path);
    if (got.status == WHERRY_OK) CHECK_INT(got.count, 1000);
  }
  /* The client still works. */
  CHECK_STATUS(perform(client, new_request("GET", server_url("/echo"))).status, WHERRY_OK);
}

TEST("S11 a response that is not HTTP is a protocol error") {
  const char *answers[] = {"",
                           "SSH-2.0-OpenSSH\\r\\n",
                           "HTTP/1.1\\r\\n\\r\\n",
                           "HTTP/1.1 999999999999 X\\r\\n\\r\\n",
                           "HTTP/1.1 200 OK\\r\\nContent-Length: -5\\r\\n\\r\\n",
                           "HTTP/1.1 200 OK\\r\\nContent-Length: 99999999999999999999\\r\\n\\r\\n",
                           "HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nzz\\r\\n"};
  wherry_client *client = new_client(NULL);
  for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
    server_script(
        check_format("{\"raw%zu\": [{\"raw\": [[\"send\", \"%s\"], [\"fin\"]]}]}", i, answers[i]));
    outcome got = perform(client, new_request("GET", server_url("/s/raw%zu", i)));
    CHECK(got.status == WHERRY_E_NETWORK || got.status == WHERRY_E_LIMIT);
    CHECK(got.message[0] != '\0');
  }
  CHECK_STATUS(perform(client, new_request("GET", server_url("/echo"))).status, WHERRY_OK);
}

TEST("S11 a URL or header that is too long is an error that says how long it may be") {
  wherry_client *client = new_client(NULL);
  size_t many = 100u << 20;
  char *url = check_memory(many + 1);
  memset(url, 'a', many);
  memcpy(url, "http://127.0.0.1/?", 18);
  outcome got = perform(client, new_request("GET", url));
  CHECK_TEXT(got.reason, "bad_url");
  CHECK(strstr(got.message, "1000000") != NULL && strlen(got.message) < 400);

  wherry_request *request = new_request("GET", server_url("/echo"));
  url[many - 1] = 0;
  REQUIRE_OK(wherry_request_add_query(request, "q", url + (many - 1000001)));
  got = perform(client, request);
  CHECK_TEXT(got.reason, "bad_url");

  request = new_request("GET", server_url("/echo"));
  REQUIRE_OK(wherry_request_set_header(request, "A", url + (many - 600000)));
  REQUIRE_OK(wherry_request_set_header(request, "B", url + (many - 600000)));
  got = perform(client, request);
  CHECK_STATUS(got.status, WHERRY_E_LIMIT);
  CHECK_TEXT(got.reason, "header_too_large");
  CHECK(strstr(got.message, "1040000") != NULL);
}

TEST("S11 an empty path, a missing pointer, and an impossible size are errors that say so") {
  wherry_client *client = new_client(NULL);
  wherry_image *image = NULL;
  CHECK_FAILS(wherry_image_new_file("", &image), WHERRY_E_ARGUMENT, "bad_path");
  CHECK_FAILS(wherry_client_save_cookies(client, "", 0), WHERRY_E_ARGUMENT, "bad_path");
  CHECK_FAILS(wherry_client_load_cookies(client, ""), WHERRY_E_ARGUMENT, "bad_path");
  CHECK_FAILS(wherry_request_set_body_file(new_request("POST", "http://h/"), "", NULL),
              WHERRY_E_ARGUMENT, "bad_path");
  CHECK_FAILS(wherry_image_new_file("x", NULL), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_TEXT(wherry_error_message(wherry_last_error()),
             "The pointer for the result of wherry_image_new_file is NULL");
  CHECK_FAILS(wherry_image_new_bytes("x", SIZE_MAX, &image), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK(strstr(wherry_error_message(wherry_last_error()), "18446744073709551615") != NULL);
  CHECK_FAILS(wherry_request_set_json(new_request("POST", "http://h/"), "\xef\xbb\xbf{}", 5),
              WHERRY_E_ARGUMENT, "bad_json");
}

TEST("S11 deep, truncated, or long JSON is an error and not a crash") {
  wherry_json *json = NULL;
  char *deep = check_memory(200001);
  memset(deep, '[', 200000);
  CHECK_FAILS(wherry_json_parse(deep, 200000, &json), WHERRY_E_ARGUMENT, "bad_json");
  const char *bad[] = {"{",        "{\"a\"", "[1,]",     "{\"a\":1,}",  "\"\\u12", "01",
                       "1e999999", "nul",    "\"\x01\"", "\"\\ud800\"", "--1",     "[1 2]"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    wherry_status status = wherry_json_parse(bad[i], strlen(bad[i]), &json);
    if (strcmp(bad[i], "1e999999") == 0 && status == WHERRY_OK) { /* a number may be too large */
      CHECK_OK(wherry_json_free(json));
      json = NULL;
      continue;
    }
    CHECK_INT(status, WHERRY_E_ARGUMENT);
  }
  CHECK(json == NULL);
  CHECK_STATUS(wherry_json_parse(NULL, 3, &json), WHERRY_E_ARGUMENT);
}
