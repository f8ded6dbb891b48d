/* Wherry: rows R20 and U13 of features.md, from C: user names, passwords, and replayed bodies
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

static wherry_request *guarded(const char *method, const char *path, wherry_auth auth) {
  wherry_request *request = new_request(method, server_url("%s", path));
  CHECK_OK(wherry_request_set_credentials(request, auth, "skye", "p"));
  return request;
}

/* The status of the server's response to the request with that index; 0 if there was none. */
static int64_t answered(size_t index) {
  wherry_json *log = server_log();
  char path[64];
  snprintf(path, sizeof path, "requests/%zu/status", index);
  int64_t status = wherry_json_get_integer(log, path, 0);
  CHECK_OK(wherry_json_free(log));
  return status;
}

TEST("R20 Basic is sent with the first request, and Digest needs one challenge for many requests") {
  wherry_client *client = new_client(NULL);
  CHECK_INT(perform(client, guarded("GET", "/auth/basic/skye/p", WHERRY_AUTH_BASIC)).http_code,
            200);
  CHECK_TEXT(server_field(0, "Authorization"), "Basic c2t5ZTpw");
  for (int i = 0; i < 3; i++)
    CHECK_INT(perform(client, guarded("GET", "/auth/digest/skye/p", WHERRY_AUTH_DIGEST)).http_code,
              200);
  CHECK_INT(answered(1), 401);
  CHECK_INT(answered(2), 200);
  CHECK_INT(answered(4), 200);
  CHECK_INT(server_count("requests"), 5);
  CHECK(strncmp(server_field(4, "Authorization"), "Digest username=\"skye\", realm=\"wherry\"",
                38) == 0);
}

TEST("R20 client credentials belong to one origin and follow no redirect to another") {
  wherry_client *client = new_client(NULL);
  CHECK_OK(wherry_client_set_credentials(client, server_url("/"), WHERRY_AUTH_BASIC, "here", "p"));
  CHECK_INT(perform(client, new_request("GET", server_url("/echo"))).http_code, 200);
  CHECK_TEXT(server_field(0, "Authorization"), "Basic aGVyZTpw");
  const char *home = server_url("/redirect-to?url=");
  char away[300];
  snprintf(away, sizeof away, "%s", server_url("/echo"));
  memcpy(strstr(away, "127.0.0.1"), "localhost", 9);
  const char *url = check_format("%s%s", home, away);
  CHECK_INT(perform(client, new_request("GET", url)).http_code, 200);
  CHECK_TEXT(server_field(1, "Authorization"), "Basic aGVyZTpw");
  CHECK(server_field(2, "Authorization") == NULL);
  CHECK_OK(wherry_client_set_credentials(client, server_url("/"), WHERRY_AUTH_BASIC, NULL, NULL));
  CHECK_INT(perform(client, new_request("GET", server_url("/echo"))).http_code, 200);
  CHECK(server_field(3, "Authorization") == NULL);
  CHECK_FAILS(wherry_client_set_credentials(client, "no url", WHERRY_AUTH_ANY, "a", "b"),
              WHERRY_E_ARGUMENT, "bad_url");
}

TEST("SEC-U1 control bytes, colons for Basic, and unknown schemes are refused at once") {
  wherry_request *request = new_request("GET", server_url("/echo"));
  CHECK_FAILS(wherry_request_set_credentials(request, WHERRY_AUTH_ANY, "a\r\nX: y", "p"),
              WHERRY_E_ARGUMENT, "bad_value");
  CHECK_FAILS(wherry_request_set_credentials(request, WHERRY_AUTH_DIGEST, "a", "p\n"),
              WHERRY_E_ARGUMENT, "bad_value");
  CHECK_FAILS(wherry_request_set_credentials(request, WHERRY_AUTH_BASIC, "a:b", "p"),
              WHERRY_E_ARGUMENT, "bad_value");
  CHECK_FAILS(wherry_request_set_credentials(request, (wherry_auth)9, "a", "p"), WHERRY_E_ARGUMENT,
              "bad_value");
  CHECK_OK(wherry_request_set_credentials(request, WHERRY_AUTH_DIGEST, "a:b", NULL));
  CHECK_OK(wherry_request_set_credentials(request, WHERRY_AUTH_ANY, NULL, NULL));
}

TEST("R20 a credentials event is supplied, retried, denied, or freed") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("GET", server_url("/auth/digest/skye/p"));
  CHECK_OK(wherry_request_set_hooks(request, WHERRY_HOOK_CREDENTIALS));
  send_request(client, request, queue, NULL);
  for (int i = 0; i < 2; i++) {
    wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
    CHECK_INT(wherry_event_detail(event), WHERRY_HOOK_CREDENTIALS);
    CHECK_TEXT(wherry_event_text(event), "wherry");
    CHECK_INT(wherry_response_http_code(wherry_event_response(event)), 401);
    CHECK_FAILS(wherry_event_resolve_redirect(event, true), WHERRY_E_ARGUMENT, "bad_argument");
    CHECK_OK(wherry_event_resolve_credentials(event, "skye", i == 0 ? "wrong" : "p"));
    CHECK_FAILS(wherry_event_resolve_credentials(event, "skye", "p"), WHERRY_E_STATE, "resolved");
    CHECK_OK(wherry_event_free(event));
  }
  CHECK_INT(next_done(queue).http_code, 200);

  send_request(client, request, queue, NULL);
  wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
  CHECK_OK(wherry_event_resolve_refuse(event, "nobody is logged in"));
  CHECK_OK(wherry_event_free(event));
  outcome got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_E_CANCELLED);
  CHECK_TEXT(got.message, "nobody is logged in");

  send_request(client, request, queue, NULL);
  CHECK_OK(wherry_event_free(next_event(queue, WHERRY_EVENT_HOOK)));
  got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_E_HTTP);
  CHECK_INT(got.http_code, 401);
  CHECK(got.count > 0);
}

TEST("U13 bytes and files are sent again completely after a digest 401") {
  wherry_client *client = new_client(NULL);
  size_t count = 700000;
  char *bytes = calloc(count, 1);
  REQUIRE(bytes != NULL);
  wherry_request *request = guarded("POST", "/auth/digest/skye/p", WHERRY_AUTH_DIGEST);
  CHECK_OK(wherry_request_set_body(request, bytes, count, NULL));
  outcome got = perform(client, request);
  CHECK_INT(got.http_code, 200);
  CHECK(strstr(got.body, "700000") != NULL);
  CHECK_INT(answered(0), 401);

  /* Another client has no nonce yet. */
  request = guarded("POST", "/auth/digest/skye/p", WHERRY_AUTH_DIGEST);
  CHECK_OK(wherry_request_set_body_file(request, "/etc/services", NULL));
  got = perform(new_client(NULL), request);
  CHECK_INT(got.http_code, 200);
  CHECK(strstr(got.body, "\"size\": 0") == NULL);
  CHECK_INT(answered(2), 401);
  CHECK_INT(answered((size_t)server_count("requests") - 1), 200);
  free(bytes);
}

/* SHA-512-256 and auth-int were refused. */
TEST("R20 Digest supports SHA-512-256, covers bodies, and hashes names") {
  const char *queries[] = {"algorithm=SHA-512-256", "algorithm=SHA-512-256-sess&userhash=1",
                           "qop=auth-int", "qop=auth-int&algorithm=MD5",
                           "weaker=MD5&algorithm=SHA-512-256"};
  static const char bytes[200000];
  for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
    wherry_client *client = new_client(NULL);
    /* A place of its own: elsewhere the server has seen the first counts of the nonce. */
    const char *path = check_format("/auth/digest/skye/p/%zu?%s", i, queries[i]);
    wherry_request *request = guarded("POST", path, WHERRY_AUTH_DIGEST);
    CHECK_OK(wherry_request_set_body(request, bytes, sizeof bytes, NULL));
    CHECK_INT(perform(client, request).http_code, 200);
    CHECK_OK(wherry_request_set_body_file(request, "/etc/services", NULL));
    CHECK_INT(perform(client, request).http_code, 200);
    CHECK_INT(perform(client, guarded("GET", path, WHERRY_AUTH_DIGEST)).http_code, 200);
    CHECK_INT(answered(4 * i), 401);
  }
  wherry_request *request =
      new_request("GET", server_url("/auth/digest/J%%C3%%A4s/p?charset=UTF-8&algorithm=MD5"));
  CHECK_OK(wherry_request_set_credentials(request, WHERRY_AUTH_DIGEST, "J\xc3\xa4s", "p"));
  CHECK_INT(perform(new_client(NULL), request).http_code, 200);
  CHECK_HOLDS(server_field((size_t)server_count("requests") - 1, "Authorization"),
              "username*=UTF-8''J%C3%A4s");
}

static const char *netrc_file(const char *text) {
  static char path[] = "/tmp/wherry-netrc-XXXXXX";
  snprintf(path, sizeof path, "/tmp/wherry-netrc-XXXXXX");
  int file = mkstemp(path);
  REQUIRE(file >= 0);
  CHECK_INT(write(file, text, strlen(text)), (long)strlen(text));
  close(file);
  return path;
}

TEST("R20 a .netrc file supplies credentials for hosts, also after redirects") {
  wherry_config *config = new_config();
  const char *path = netrc_file(
      "machine 127.0.0.1 login here password p1\nmachine localhost login there password p2\n");
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_NETRC, path));
  wherry_client *client = new_client(config);
  unlink(path);
  char away[300];
  snprintf(away, sizeof away, "%s", server_url("/echo"));
  memcpy(strstr(away, "127.0.0.1"), "localhost", 9);
  const char *url = server_url("/redirect-to?url=%s", away);
  CHECK_INT(perform(client, new_request("GET", url)).http_code, 200);
  CHECK_TEXT(server_field(0, "Authorization"), "Basic aGVyZTpwMQ==");
  CHECK_TEXT(server_field(1, "Authorization"), "Basic dGhlcmU6cDI=");
  wherry_request *request = new_request("GET", server_url("/echo"));
  CHECK_OK(wherry_request_set_credentials(request, WHERRY_AUTH_BASIC, "a", "b"));
  CHECK_INT(perform(client, request).http_code, 200);
  CHECK_TEXT(server_field(2, "Authorization"), "Basic YTpi");

  wherry_client *none = NULL;
  CHECK_FAILS(wherry_client_new(config, &none), WHERRY_E_FILE, "no_file");
  path = netrc_file("machine h.org\nlogin a passwd s3cret");
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_NETRC, path));
  CHECK_FAILS(wherry_client_new(config, &none), WHERRY_E_ARGUMENT, "bad_value");
  CHECK_HOLDS(wherry_error_message(wherry_last_error()), check_format("%s, line 2", path));
  CHECK_LACKS(wherry_error_message(wherry_last_error()), "s3cret");
  unlink(path);
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_NETRC, ""));
  CHECK_INT(perform(new_client(config), new_request("GET", server_url("/echo"))).http_code, 200);
  CHECK(server_field(3, "Authorization") == NULL);
}

/* Writes as many bytes as each WANT_BODY requests, restarting at the first byte if required.
 * Returns the number of starts. */
static outcome write_body(wherry_client *client, wherry_request *request, int64_t size,
                          int *began) {
  static char piece[100000];
  wherry_queue *queue = new_queue();
  wherry_transfer *transfer = send_request(client, request, queue, NULL);
  int64_t written = 0;
  *began = 1;
  for (;;) {
    wherry_event *event = NULL;
    CHECK_OK(wherry_queue_next(queue, 600000, &event));
    wherry_event_kind kind = wherry_event_get_kind(event);
    if (kind == WHERRY_EVENT_DONE) {
      outcome got = {.status = wherry_event_status(event)};
      got.reason = wherry_error_reason(wherry_event_error(event));
      got.http_code = wherry_response_http_code(wherry_event_response(event));
      CHECK_OK(wherry_event_free(event));
      return got;
    }
    CHECK_OK(wherry_event_free(event));
    if (kind != WHERRY_EVENT_WANT_BODY) continue;
    if (wherry_transfer_wants_rewind(transfer)) {
      size_t taken = 7;
      CHECK_STATUS(wherry_transfer_write(transfer, piece, 1, &taken), WHERRY_E_BUSY);
      CHECK_INT(taken, 7);
      CHECK_OK(wherry_transfer_rewind(transfer));
      (*began)++;
      written = 0;
    }
    CHECK_STATUS(wherry_transfer_rewind(transfer), WHERRY_E_STATE);
    while (written < size) {
      size_t taken = 0, left = (size_t)(size - written);
      if (wherry_transfer_write(transfer, piece, left < sizeof piece ? left : sizeof piece,
                                &taken) != WHERRY_OK)
        break;
      written += (int64_t)taken;
    }
    if (written == size) (void)wherry_transfer_finish(transfer);
  }
}

TEST("U13 a stream whose writer can restart is sent again, and another fails clearly") {
  int64_t size = 2000000;
  for (int announced = 0; announced < 2; announced++) {
    wherry_request *request = guarded("POST", "/auth/digest/skye/p", WHERRY_AUTH_DIGEST);
    CHECK_OK(wherry_request_set_body_stream(request, announced ? size : -1, NULL));
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_REWINDABLE_BODY, 1));
    int began = 0;
    outcome got = write_body(new_client(NULL), request, size, &began);
    CHECK_STATUS(got.status, WHERRY_OK);
    CHECK_INT(got.http_code, 200);
    CHECK(began >= 2);
  }
  wherry_request *request = guarded("POST", "/auth/digest/skye/p", WHERRY_AUTH_DIGEST);
  CHECK_OK(wherry_request_set_body_stream(request, size, NULL));
  int began = 0;
  outcome got = write_body(new_client(NULL), request, size, &began);
  CHECK_STATUS(got.status, WHERRY_E_HTTP);
  CHECK_TEXT(got.reason, "body_spent");
  CHECK_INT(got.http_code, 401);
}
