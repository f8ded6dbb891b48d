/* Wherry: rules SEC-U of security, from C: hostile texts, URLs, and redirects
 * SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdlib.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

/* Escapes a text for a query of the test server. */
static char *escaped(const char *text) {
  char *result = check_memory(3 * strlen(text) + 1), *at = result;
  for (; *text != '\0'; text++) {
    unsigned char byte = (unsigned char)*text;
    if (isalnum(byte)) *at++ = (char)byte;
    else
      for (const char *digit = check_format("%%%02X", byte); *digit != '\0';) *at++ = *digit++;
  }
  return result;
}

/* ---- SEC-U1: control bytes ------------------------------------------------------------------- */

/* Each sets one text that contains the control byte. */
typedef wherry_status (*setter)(wherry_config *, wherry_client *, wherry_request *, const char *);
#define SETTER(name, call)                                                                         \
  static wherry_status name(wherry_config *config, wherry_client *client, wherry_request *request, \
                            const char *text) {                                                    \
    return call;                                                                                   \
  }
static wherry_status new_method(const char *text) {
  wherry_request *other = NULL; /* the method is set on creation */
  wherry_status status = wherry_request_new(text, "http://127.0.0.1:1/", &other);
  CHECK_OK(wherry_request_free(other));
  return status;
}
SETTER(method, new_method(text))
SETTER(url, wherry_request_set_url(request, check_format("http://127.0.0.1:1/%s", text)))
SETTER(name, wherry_request_set_header(request, text, "v"))
SETTER(value, wherry_request_set_header(request, "X", text))
SETTER(agent, wherry_request_set_header(request, "User-Agent", text))
SETTER(cookie, wherry_request_set_header(request, "Cookie", text))
SETTER(referer, wherry_request_set_header(request, "Referer", text))
SETTER(range, wherry_request_set_header(request, "Range", text))
SETTER(authorization, wherry_request_set_header(request, "Authorization", text))
SETTER(token, wherry_request_set_text(request, WHERRY_TEXT_BEARER_TOKEN, text))
SETTER(picture_type, wherry_request_set_text(request, WHERRY_TEXT_JPEG_TYPE, text))
SETTER(type, wherry_request_set_body(request, "x", 1, text))
SETTER(file_type, wherry_request_set_body_file(request, "/proc/version", text))
SETTER(stream_type, wherry_request_set_body_stream(request, 1, text))
SETTER(part_type, wherry_request_add_part(request, "a", "x", 1, "f", text))
SETTER(part_file_type, wherry_request_add_part_file(request, "a", "/proc/version", "f", text))
SETTER(base, wherry_request_set_base(request, text))
SETTER(client_name, wherry_client_set_header(client, text, "v"))
SETTER(client_value, wherry_client_set_header(client, "X", text))
SETTER(client_agent, wherry_client_set_text(client, WHERRY_TEXT_USER_AGENT, text))
SETTER(client_token, wherry_client_set_text(client, WHERRY_TEXT_BEARER_TOKEN, text))
SETTER(client_type, wherry_client_set_text(client, WHERRY_TEXT_JPEG_TYPE, text))
SETTER(client_base,
       wherry_client_set_text(client, WHERRY_TEXT_BASE_URL, check_format("http://h/%s", text)))
SETTER(client_named_base, wherry_client_set_base(client, "n", check_format("http://h/%s", text)))
SETTER(config_name, wherry_config_set_header(config, text, "v"))
SETTER(config_value, wherry_config_set_header(config, "X", text))
SETTER(config_agent, wherry_config_set_text(config, WHERRY_TEXT_USER_AGENT, text))
SETTER(config_token, wherry_config_set_text(config, WHERRY_TEXT_BEARER_TOKEN, text))
SETTER(config_type, wherry_config_set_text(config, WHERRY_TEXT_JPEG_TYPE, text))
SETTER(config_base,
       wherry_config_set_text(config, WHERRY_TEXT_BASE_URL, check_format("http://h/%s", text)))
SETTER(config_named_base, wherry_config_set_base(config, "n", check_format("http://h/%s", text)))

static const struct {
  const char *name;
  setter set;
} setters[] = {{"method", method},
               {"url", url},
               {"name", name},
               {"value", value},
               {"agent", agent},
               {"cookie", cookie},
               {"referer", referer},
               {"range", range},
               {"authorization", authorization},
               {"token", token},
               {"picture type", picture_type},
               {"type", type},
               {"file's type", file_type},
               {"stream's type", stream_type},
               {"part's type", part_type},
               {"file part's type", part_file_type},
               {"base", base},
               {"client's name", client_name},
               {"client's value", client_value},
               {"client's agent", client_agent},
               {"client's token", client_token},
               {"client's picture type", client_type},
               {"client's base", client_base},
               {"client's named base", client_named_base},
               {"config's name", config_name},
               {"config's value", config_value},
               {"config's agent", config_agent},
               {"config's token", config_token},
               {"config's picture type", config_type},
               {"config's base", config_base},
               {"config's named base", config_named_base}};

TEST("SEC-U1 control bytes never reach a header, a method, a type, or a URL") {
  wherry_stub *stub = new_stub();
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, NULL, NULL, 0));
  wherry_client *client = new_stub_client(stub);
  wherry_queue *queue = new_queue();
  for (int byte = 1; byte <= 0x7f; byte = byte == 0x1f ? 0x7f : byte + 1) {
    if (byte == '\t') continue;
    const char *text = check_format("a%cb", byte);
    for (size_t i = 0; i < sizeof setters / sizeof *setters; i++) {
      wherry_config *config = NULL;
      wherry_request *request = NULL;
      wherry_client *fresh = NULL;
      REQUIRE_OK(wherry_config_new(&config));
      CHECK_OK(wherry_config_set_stub(config, stub));
      REQUIRE_OK(wherry_request_new("POST", "http://127.0.0.1:1/", &request));
      /* Refused where it is set, or when the request is composed. */
      wherry_status status = setters[i].set(config, client, request, text);
      if (status == WHERRY_OK) status = wherry_client_new(config, &fresh);
      if (status == WHERRY_OK) status = wherry_client_send(fresh, request, queue, NULL, NULL);
      if (!CHECK_STATUS(status, WHERRY_E_ARGUMENT))
        CHECK_TEXT(setters[i].name, check_format("refused with byte %d", byte));
      CHECK_OK(wherry_request_free(request));
      CHECK_OK(wherry_config_free(config));
      CHECK_OK(wherry_client_free(fresh));
    }
  }
  CHECK(queue_is_empty(queue));
  CHECK_INT(wherry_stub_request_count(stub), 0);
  /* A refused value has changed nothing. */
  CHECK_STATUS(perform(client, new_request("GET", "http://127.0.0.1:1/")).status, WHERRY_OK);
}

TEST("SEC-U1 a tag, a version, and part names may hold any text, and no header is split") {
  wherry_stub *stub = new_stub();
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, NULL, NULL, 0));
  wherry_client *client = new_stub_client(stub);
  const char *text = "a\r\nX-Evil: 1\r\n\r\nb";
  wherry_request *request = new_request("POST", "http://127.0.0.1:1/");
  CHECK_OK(wherry_request_set_text(request, WHERRY_TEXT_TAG, text));
  CHECK_OK(wherry_client_set_text(client, WHERRY_TEXT_APP_VERSION, text));
  CHECK_OK(wherry_request_add_part(request, text, "x", 1, text, NULL));
  CHECK_STATUS(send_and_wait(client, request).status, WHERRY_OK);

  wherry_response *echo = NULL;
  size_t count = 0;
  REQUIRE_OK(wherry_stub_copy_request(stub, 0, &echo));
  CHECK(wherry_response_header(echo, "X-Evil") == NULL);
  const char *field, *is;
  for (size_t i = 0; wherry_response_header_at(echo, i, &field, &is); i++) {
    CHECK_LACKS(field, "Evil");
    CHECK_LACKS(is, "Evil");
  }
  const uint8_t *body = wherry_response_body(echo, &count);
  CHECK_LACKS(check_format("%.*s", (int)count, (const char *)body), "\nX-Evil");
  CHECK_OK(wherry_response_free(echo));
}

/* ---- SEC-U2: one host, or none --------------------------------------------------------------- */

TEST("SEC-U2 a URL names one host, or is refused before anything is sent") {
  const char *refused[] = {"http://good.example\\@evil.example/",
                           "http://user@good.example/",
                           "http://a:b@c/",
                           "http://",
                           "//x",
                           "javascript:x",
                           "http://good.example:port/",
                           "http://good.example:0/",
                           "http://[::1/",
                           "http://good .example/",
                           "ht tp://x/",
                           "http//x",
                           "file:///etc/passwd",
                           ""};
  const struct {
    const char *url, *start;
  } taken[] = {{"http://good.example#@evil.example/", "http://good.example"},
               {"http://good.example?@evil.example/", "http://good.example"},
               {"http://good.example/@evil.example", "http://good.example/"},
               {"HTTP://GOOD.EXAMPLE/", "http://good.example"},
               {"http://[::1]:80/", "http://[::1]"}};
  wherry_stub *stub = new_stub();
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, NULL, NULL, 0));
  wherry_client *client = new_stub_client(stub);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    outcome got = perform(client, new_request("GET", refused[i]));
    if (!CHECK_TEXT(got.reason, "bad_url")) CHECK_TEXT(refused[i], "refused");
  }
  CHECK_INT(wherry_stub_request_count(stub), 0);
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
    CHECK_STATUS(perform(client, new_request("GET", taken[i].url)).status, WHERRY_OK);
    wherry_response *echo = NULL;
    REQUIRE_OK(wherry_stub_copy_request(stub, i, &echo));
    char *url = check_format("%s", wherry_response_url(echo));
    for (char *c = url; *c != '\0'; c++) *c = (char)tolower((unsigned char)*c);
    CHECK_INT(strncmp(url, taken[i].start, strlen(taken[i].start)), 0);
    CHECK_OK(wherry_response_free(echo));
  }
}

TEST("SEC-U2 no text ends the program, and the URL sent is the URL that was checked") {
  static const char *const words[] = {
      "http",  "https", ":",  "/",     "//", "\\",  "@",   "#",  "?",   "a",    "b.c",
      "127.1", "[",     "]",  "::1",   "%",  "%2f", "%00", "..", ".",   "\x7f", "\xe5\xa4\xa9",
      " ",     "\t",    "80", "99999", "&",  "=",   ";",   "|",  "\xff"};
  int turns = check_in_full() ? 20000 : 2000;
  wherry_stub *stub = new_stub();
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, NULL, NULL, 0));
  wherry_client *client = new_stub_client(stub);
  unsigned seed = 7;
  size_t sent = 0;
  for (int turn = 0; turn < turns; turn++) {
    char text[128] = "";
    if (turn % 2 == 0) strcpy(text, "http://");
    for (int i = 0, count = 1 + rand_r(&seed) % 8; i < count; i++)
      strcat(text, words[(size_t)rand_r(&seed) % (sizeof words / sizeof *words)]);
    wherry_request *request = NULL;
    wherry_response *response = NULL, *echo = NULL;
    wherry_status status = wherry_request_new("GET", text, &request);
    if (status == WHERRY_OK) status = wherry_client_perform(client, request, &response);
    if (status == WHERRY_OK) {
      REQUIRE_OK(wherry_stub_copy_request(stub, sent++, &echo));
      const char *asked = wherry_response_url(echo);
      CHECK(strncmp(asked, "http://", 7) == 0 || strncmp(asked, "https://", 8) == 0);
      CHECK_TEXT(wherry_response_url(response), asked);
    } else {
      CHECK_STATUS(status, WHERRY_E_ARGUMENT);
    }
    CHECK_INT(wherry_stub_request_count(stub), sent);
    CHECK_OK(wherry_response_free(echo));
    CHECK_OK(wherry_response_free(response));
    CHECK_OK(wherry_request_free(request));
  }
  CHECK(sent > 0);
}

/* ---- SEC-U3 to SEC-U6: redirects; the table of origins is in test_scenarios.c ---------------- */

TEST("SEC-U3 a client's token and Proxy-Authorization stay with their origin") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_BEARER_TOKEN, "mine"));
  wherry_client *client = new_client(config);
  const char *home = server_url("/echo");
  char *away = server_url("/redirect-to?url=%s", escaped(home));
  away = check_format("http://localhost%s", strchr(away + strlen("http://"), ':'));
  wherry_request *request = new_request("GET", server_url("/redirect-to?url=%s", escaped(away)));
  CHECK_OK(wherry_request_set_header(request, "Proxy-Authorization", "Basic c2VjcmV0"));

  outcome got = perform(client, request);

  CHECK_STATUS(got.status, WHERRY_OK);
  REQUIRE_INT(server_count("requests"), 3);
  CHECK_TEXT(server_field(0, "Authorization"), "Bearer mine");
  CHECK_TEXT(server_field(1, "Authorization"), NULL);
  CHECK_TEXT(server_field(2, "Authorization"), "Bearer mine");
  CHECK_TEXT(server_field(1, "Proxy-Authorization"), NULL);
}

TEST("SEC-U4 a redirect from https to http is not followed, and from http to https is") {
  wherry_client *client = new_client_with(WHERRY_OPTION_INSECURE, 1);
  char *down = server_tls_url("/redirect-to?url=%s", escaped(server_url("/echo")));
  outcome got = perform(client, new_request("GET", down));
  CHECK_STATUS(got.status, WHERRY_E_HTTP);
  CHECK_TEXT(got.reason, "redirect_refused");
  CHECK_INT(got.http_code, 302);
  CHECK_INT(server_count("requests"), 1); /* the one over TLS */
  char *up = server_url("/redirect-to?url=%s", escaped(server_tls_url("/echo")));
  CHECK_STATUS(perform(client, new_request("GET", up)).status, WHERRY_OK);

  const char *path = check_path("file");
  got = download(client, new_request("GET", down), path);
  CHECK_TEXT(got.reason, "redirect_refused");
  CHECK_INT(check_entries(check_path(".")), 0);
  CHECK_INT(server_count("requests"), 4);
}

TEST("SEC-U5 a redirect to another scheme is refused, and nothing is opened") {
  wherry_client *client = new_client(NULL);
  const char *targets[] = {"file:///etc/passwd",
                           "ftp://127.0.0.1/",
                           "gopher://127.0.0.1/",
                           "ldap://127.0.0.1/x",
                           "dict://127.0.0.1/",
                           "javascript:1",
                           "data:,x",
                           "http://user:pw@127.0.0.1/"};
  enum { COUNT = sizeof targets / sizeof *targets };
  for (int i = 0; i < COUNT; i++) {
    char *url = server_url("/redirect-to?url=%s", escaped(targets[i]));
    outcome got = perform(client, new_request("GET", url));
    CHECK_STATUS(got.status, WHERRY_E_HTTP);
    CHECK_TEXT(got.reason, "redirect_refused");
    CHECK_LACKS(got.body, "root:");
    CHECK_LACKS(got.message, "pw@");
    got = download(client, new_request("GET", url), check_path("file"));
    CHECK_TEXT(got.reason, "redirect_refused");
  }
  CHECK_INT(server_count("requests"), 2 * COUNT);
  CHECK_INT(check_entries(check_path(".")), 0);
}

TEST("SEC-U6 ten redirects are followed, the eleventh is not, and the limit can be set") {
  wherry_client *client = new_client(NULL);
  wherry_response *response = NULL;
  wherry_request *request = new_request("GET", server_url("/redirect/10"));
  REQUIRE_OK(wherry_client_perform(client, request, &response));
  wherry_metrics metrics = {.size = sizeof metrics};
  CHECK_OK(wherry_response_metrics(response, &metrics));
  CHECK_INT(metrics.redirects, 10);
  int32_t code = 0;
  const char *url = NULL;
  CHECK(wherry_response_redirect_at(response, 9, &code, &url));
  CHECK_INT(code, 302);
  CHECK(!wherry_response_redirect_at(response, 10, &code, &url));
  CHECK_OK(wherry_response_free(response));

  const struct {
    int most, hops;
    wherry_status status;
  } rows[] = {
      {10, 11, WHERRY_E_HTTP}, {1, 1, WHERRY_OK}, {1, 2, WHERRY_E_HTTP}, {12, 12, WHERRY_OK}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    request = new_request("GET", server_url("/redirect/%d", rows[i].hops));
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_MAX_REDIRECTS, rows[i].most));
    outcome got = perform(client, request);
    CHECK_STATUS(got.status, rows[i].status);
    CHECK_TEXT(got.reason, rows[i].status == WHERRY_OK ? "" : "too_many_redirects");
  }
  server_ask("/_reset");
  CHECK_TEXT(perform(client, new_request("GET", server_url("/loop"))).reason, "too_many_redirects");
  CHECK_INT(server_count("requests"), 11);
}

TEST("SEC-U6 a body that cannot be replayed is not sent again, but bytes and files are") {
  enum { COUNT = 300000 };
  char *bytes = check_memory(COUNT + 1); /* and a NUL */
  for (size_t i = 0; i < COUNT; i++) bytes[i] = (char)('a' + i % 26);
  const char *path = check_path("body");
  check_write_file(path, bytes, COUNT);
  wherry_client *client = new_client(NULL);
  for (int status = 307; status <= 308; status++) {
    for (int from_file = 0; from_file < 2; from_file++) {
      wherry_request *request = new_request("POST", server_url("/redirect/2?status=%d", status));
      CHECK_OK(from_file ? wherry_request_set_body_file(request, path, NULL)
                         : wherry_request_set_body(request, bytes, COUNT, NULL));
      outcome got = perform(client, request);
      CHECK_STATUS(got.status, WHERRY_OK);
      CHECK_TEXT(echoed(&got, "method"), "POST");
      CHECK_TEXT(echoed_body(&got), bytes);
    }
    wherry_queue *queue = new_queue();
    wherry_request *request = new_request("POST", server_url("/redirect/2?status=%d", status));
    CHECK_OK(wherry_request_set_body_stream(request, -1, NULL));
    wherry_transfer *transfer = send_request(client, request, queue, NULL);
    CHECK_OK(wherry_event_free(next_event(queue, WHERRY_EVENT_WANT_BODY)));
    size_t taken = 0;
    CHECK_OK(wherry_transfer_write(transfer, "0123456789", 10, &taken));
    CHECK_INT(taken, 10);
    CHECK_OK(wherry_transfer_finish(transfer));
    outcome got = done_of(queue, transfer);
    CHECK_STATUS(got.status, WHERRY_E_HTTP);
    CHECK_TEXT(got.reason, "redirect_refused");
    CHECK_INT(got.http_code, status);
  }
}
