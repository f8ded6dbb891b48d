/* Wherry: forms, headers and queries, from C: sent in the caller's order and as written
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"
#include "server.h"

/* The names of the echoed parts, joined by commas. */
static const char *part_names(const outcome *got) {
  const char *names = "";
  for (size_t i = 0;; i++) {
    const char *name = echoed(got, check_format("parts/%zu/name", i));
    if (name == NULL) return names;
    names = check_format("%s%s%s", names, *names ? "," : "", name);
  }
}

/* Fields added after a file followed it, and parameters were sorted. S3 ignores fields after a
 * file. */
TEST("a form has its parameters, then its fields, then its parts, each in the caller's order") {
  wherry_request *request = new_request("POST", server_url("/echo"));
  CHECK_OK(wherry_request_add_part(request, "file", "1", 1, "a.txt", NULL));
  CHECK_OK(wherry_request_set_part_header(request, "X-File", "1"));
  CHECK_OK(wherry_request_add_field(request, "policy", "p"));
  CHECK_OK(wherry_request_add_field(request, "key", "k"));
  CHECK_OK(wherry_request_add_part(request, "caption", "c", 1, NULL, NULL));
  CHECK_OK(wherry_request_add_part(request, "other", "2", 1, "b.txt", NULL));
  CHECK_OK(wherry_request_add_field(request, "policy", "again"));
  CHECK_OK(wherry_request_set_part_header(request, "X-Other", "2"));
  CHECK_OK(wherry_request_set_parameter(request, "z", "1"));
  const char *nested = "{\"y\": {\"d\": 1, \"c\": 2}, \"a\": 3}";
  CHECK_OK(wherry_request_set_parameters_json(request, nested, strlen(nested)));

  outcome got = perform(new_client(NULL), request);

  REQUIRE_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(part_names(&got), "z,y[d],y[c],a,policy,key,policy,file,caption,other");
  CHECK_TEXT(echoed(&got, "parts/9/headers/2/0"), "X-Other");
}

TEST("fields added before the first part precede it and have no headers") {
  wherry_request *request = new_request("POST", server_url("/echo"));
  CHECK_OK(wherry_request_add_field(request, "b", "1"));
  CHECK_OK(wherry_request_add_field(request, "a", "2"));
  CHECK_OK(wherry_request_add_part(request, "file", "1", 1, "a.txt", NULL));

  outcome got = perform(new_client(NULL), request);

  REQUIRE_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(part_names(&got), "b,a,file");
}

/* Only the last one was sent. */
TEST("repeated headers of request, client, and configuration are all sent") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_add_header(config, "X-Config", "1"));
  CHECK_OK(wherry_config_add_header(config, "x-config", "2"));
  wherry_client *client = new_client(config);
  CHECK_OK(wherry_client_add_header(client, "X-Client", "1"));
  CHECK_OK(wherry_client_add_header(client, "X-Client", "2"));
  CHECK_OK(wherry_client_add_header(client, "X-Both", "client"));
  wherry_request *request = new_request("GET", server_url("/echo"));
  CHECK_OK(wherry_request_add_header(request, "X-Both", "1"));
  CHECK_OK(wherry_request_add_header(request, "X-Both", "2"));
  CHECK_OK(wherry_request_add_header(request, "X-Set", "1"));
  CHECK_OK(wherry_request_add_header(request, "X-Set", "2"));
  CHECK_OK(wherry_request_set_header(request, "X-Set", "3"));
  CHECK_OK(wherry_request_set_header(request, "X-Gone", NULL));
  CHECK_OK(wherry_request_add_header(request, "X-Gone", "back"));

  outcome got = perform(client, request);

  REQUIRE_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(echoed_header(&got, "X-Config"), "1, 2");
  CHECK_TEXT(echoed_header(&got, "X-Client"), "1, 2");
  CHECK_TEXT(echoed_header(&got, "X-Both"), "1, 2");
  CHECK_TEXT(echoed_header(&got, "X-Set"), "3");
  CHECK_TEXT(echoed_header(&got, "X-Gone"), "back");
  CHECK_FAILS(wherry_request_add_header(request, "X-A", "b\r\nc"), WHERRY_E_ARGUMENT, "bad_header");
  CHECK_FAILS(wherry_request_add_header(request, "X-A", NULL), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_FAILS(wherry_client_add_header(client, "Expect", "b"), WHERRY_E_ARGUMENT, "bad_header");
  CHECK_FAILS(wherry_config_add_header(config, "", "b"), WHERRY_E_ARGUMENT, "bad_header");
}

/* Host was refused like the framing headers. */
TEST("SEC-U11 a Host header selects another host, and disables cookies") {
  wherry_client *client = new_client(NULL);
  CHECK_OK(wherry_client_set_cookie(client, server_url("/"), "a=1"));
  wherry_request *request = new_request("GET", server_url("/cookies/set?b=2"));
  CHECK_OK(wherry_request_set_header(request, "Host", "other.example:8080"));
  outcome got = perform(client, request);
  REQUIRE_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(server_field(0, "Host"), "other.example:8080");
  CHECK(server_field(0, "Cookie") == NULL);
  CHECK_STATUS(perform(client, new_request("GET", server_url("/echo"))).status, WHERRY_OK);
  CHECK_TEXT(server_field(1, "Cookie"), "a=1");

  CHECK_OK(wherry_client_set_header(client, "Host", "client.example"));
  CHECK_STATUS(perform(client, new_request("GET", server_url("/echo"))).status, WHERRY_OK);
  CHECK_TEXT(server_field(2, "Host"), "client.example");
  CHECK_FAILS(wherry_client_add_header(client, "Host", "b.example"), WHERRY_E_ARGUMENT,
              "bad_header");
  CHECK_OK(wherry_client_set_header(client, "Host", NULL));
  const char *bad[] = {
      "", "a b", "a/b", "a:0", "a:65536", "u@a", "[::1", "a\r\nX: y", "b\xc3\xbc.example"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK_FAILS(wherry_request_set_header(request, "Host", bad[i]), WHERRY_E_ARGUMENT,
                "bad_header");
  CHECK_OK(wherry_request_add_header(request, "host", "second.example"));
  CHECK_TEXT(perform(client, request).reason, "bad_header");
  CHECK_INT(server_count("requests"), 3);
}

TEST("SEC-U11 a redirect to another origin drops the Host header") {
  char away[300];
  snprintf(away, sizeof away, "%s", server_url("/echo"));
  memcpy(strstr(away, "127.0.0.1"), "localhost", 9);
  wherry_request *request = new_request("GET", server_url("/redirect-to?url=%s", away));
  CHECK_OK(wherry_request_set_header(request, "Host", "other.example"));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_KEEP_AUTH_ACROSS_HOSTS, 1));
  outcome got = perform(new_client(NULL), request);
  REQUIRE_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(server_field(0, "Host"), "other.example");
  CHECK_INT(strncmp(server_field(1, "Host"), "localhost:", 10), 0);
}

static const char *target_of(const char *text) {
  wherry_request *request = new_request("GET", server_url("/echo"));
  CHECK_OK(wherry_request_add_query(request, "first", "a b"));
  CHECK_OK(wherry_request_add_query_text(request, text));
  outcome got = perform(new_client(NULL), request);
  REQUIRE_STATUS(got.status, WHERRY_OK);
  const char *target = echoed(&got, "target");
  const char *query = target ? strstr(target, "first=a%20b") : NULL;
  return query ? query + strlen("first=a%20b") : NULL;
}

TEST("the text of a query is sent as written") {
  CHECK_TEXT(target_of("a+b&q=%E4"), "&a+b&q=%E4");
  CHECK_TEXT(target_of("a&&b=;,/?:@!$'()*[]|~"), "&a&&b=;,/?:@!$'()*[]|~");
  CHECK_TEXT(target_of("a b#c\"\xc3\xa4"), "&a%20b%23c%22%C3%A4");
  CHECK_TEXT(target_of(""), "");

  /* A callback that edits the request reads the query unescaped. */
  wherry_request *request = new_request("GET", server_url("/echo"));
  CHECK_OK(wherry_request_add_query_text(request, "a+b=%C3%A4&q"));
  const char *name = NULL, *value = NULL;
  CHECK(wherry_request_query_at(request, 0, &name, &value));
  CHECK_TEXT(name, "a b");
  CHECK_TEXT(value, "\xc3\xa4");
  CHECK(wherry_request_query_at(request, 1, &name, &value));
  CHECK_TEXT(name, "q");
  CHECK_TEXT(value, "");
}

TEST("the URL of a request is known before it is sent") {
  wherry_client *client = new_client(NULL);
  CHECK_OK(wherry_client_set_text(client, WHERRY_TEXT_BASE_URL, "http://example.org/v1"));
  wherry_request *request = new_request("GET", "items?x=1");
  CHECK_OK(wherry_request_add_query(request, "a", "b c"));
  CHECK_OK(wherry_request_set_parameter(request, "p", "q"));
  char url[100];
  size_t count = 0;
  CHECK_OK(wherry_client_copy_url(client, request, url, sizeof url, &count));
  CHECK_TEXT(url, "http://example.org/v1/items?x=1&p=q&a=b%20c");
  CHECK_INT(count, strlen(url));
  wherry_request *bad = new_request("GET", "ftp://example.org");
  CHECK_FAILS(wherry_client_copy_url(client, bad, url, sizeof url, &count), WHERRY_E_ARGUMENT,
              "bad_url");
}

TEST("the redirects of a response have their headers") {
  wherry_request *request = new_request("GET", server_url("/redirect/1"));
  wherry_response *response = NULL;
  REQUIRE_OK(wherry_client_perform(new_client(NULL), request, &response));
  const char *name = NULL, *value = NULL, *location = NULL;
  for (size_t i = 0; wherry_response_redirect_header_at(response, 0, i, &name, &value); i++)
    if (strcmp(name, "Location") == 0) location = value;
  CHECK(location != NULL);
  CHECK(!wherry_response_redirect_header_at(response, 1, 0, &name, &value));
  CHECK_OK(wherry_response_free(response));
}
