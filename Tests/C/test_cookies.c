/* Wherry: row C14 of features.md, from C: cookies
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

static const char *sent(wherry_client *client, wherry_request *request) {
  outcome got = perform(client, request);
  return echoed_header(&got, "Cookie");
}

TEST("C14 a cookie is sent back with the second request unless cookies are off") {
  wherry_client *client = new_client(NULL);
  perform(client, new_request("GET", server_url("/cookies/set?a=1&attributes=Path%%3D/")));
  CHECK_TEXT(sent(client, new_request("GET", server_url("/echo"))), "a=1");
  wherry_request *without = new_request("GET", server_url("/echo"));
  CHECK_OK(wherry_request_set_option(without, WHERRY_OPTION_COOKIES, 0));
  CHECK(sent(client, without) == NULL);
  wherry_client *off = new_client_with(WHERRY_OPTION_COOKIES, 0);
  perform(off, new_request("GET", server_url("/cookies/set?a=1")));
  CHECK(sent(off, new_request("GET", server_url("/echo"))) == NULL);
}

TEST("C14 cookies are merged with a header, or isolated in their request") {
  wherry_client *client = new_client(NULL);
  perform(client, new_request("GET", server_url("/cookies/set?a=1&attributes=Path%%3D/")));
  wherry_request *merged = new_request("GET", server_url("/echo"));
  CHECK_OK(wherry_request_set_option(merged, WHERRY_OPTION_COOKIES, 2));
  CHECK_OK(wherry_request_set_header(merged, "Cookie", "b=2"));
  CHECK_TEXT(sent(client, merged), "b=2; a=1");
  CHECK_OK(wherry_request_set_header(merged, "Cookie", "a=3; c=4"));
  CHECK_TEXT(sent(client, merged), "a=3; c=4");
  const char *echo = server_url("/echo");
  wherry_request *isolated =
      new_request("GET", server_url("/redirect-to?cookie=d%%3D5%%3B%%20Path%%3D/&url=%s", echo));
  CHECK_OK(wherry_request_set_option(isolated, WHERRY_OPTION_COOKIES, 3));
  CHECK_TEXT(sent(client, isolated), "d=5");
  CHECK_TEXT(sent(client, new_request("GET", server_url("/echo"))), "a=1");
  CHECK_FAILS(wherry_request_set_option(isolated, WHERRY_OPTION_COOKIES, 4), WHERRY_E_ARGUMENT,
              "bad_value");
}

TEST("C14 cookies are listed, added, cleared, saved, and loaded; SEC-U8 refuses some") {
  wherry_client *client = new_client(NULL);
  CHECK_OK(
      wherry_client_set_cookie(client, "https://a.example.org/x",
                               "a=1; Domain=example.org; Path=/; Max-Age=60; Secure; HttpOnly"));
  CHECK_OK(wherry_client_set_cookie(client, server_url("/"), "b=2; Path=/"));
  const char *bad[] = {"c=3; Domain=org", "c=3; Domain=other.org", "", "c=\x01"};
  for (int i = 0; i < 4; i++)
    CHECK_FAILS(wherry_client_set_cookie(client, "http://a.example.org/", bad[i]),
                WHERRY_E_ARGUMENT, "bad_value");
  CHECK_FAILS(wherry_client_set_cookie(client, "no url", "a=1"), WHERRY_E_ARGUMENT, "bad_url");
  wherry_list *list = NULL;
  CHECK_OK(wherry_client_list_cookies(client, &list));
  keep_list(list);
  CHECK_INT(wherry_list_count(list), 2);
  wherry_cookie_row row = {.size = sizeof row};
  bool seen = false;
  for (size_t i = 0; i < 2; i++) {
    CHECK_OK(wherry_list_cookie(list, i, &row));
    if (strcmp(row.name, "a") != 0) continue;
    seen = true;
    CHECK_TEXT(row.value, "1");
    CHECK_TEXT(row.domain, "example.org");
    CHECK_TEXT(row.path, "/");
    CHECK(row.expires_s > 0);
    CHECK(row.host_only == 0 && row.secure == 1 && row.http_only == 1);
  }
  CHECK(seen);
  wherry_transfer_row other = {.size = sizeof other};
  CHECK_FAILS(wherry_list_transfer(list, 0, &other), WHERRY_E_ARGUMENT, "bad_argument");

  char path[] = "/tmp/wherry-cookies-XXXXXX";
  REQUIRE(mkdtemp(path) != NULL);
  const char *file = check_format("%s/jar", path);
  CHECK_OK(wherry_client_save_cookies(client, file, true));
  struct stat about;
  CHECK(stat(file, &about) == 0 && (about.st_mode & 0777) == 0600);
  CHECK_OK(wherry_client_clear_cookies(client, server_url("/")));
  CHECK(sent(client, new_request("GET", server_url("/echo"))) == NULL);
  CHECK_OK(wherry_client_clear_cookies(client, NULL));
  CHECK_OK(wherry_client_load_cookies(client, file));
  CHECK_TEXT(sent(client, new_request("GET", server_url("/echo"))), "b=2");
  CHECK(unlink(file) == 0 && rmdir(path) == 0);
  CHECK_FAILS(wherry_client_load_cookies(client, file), WHERRY_E_FILE, "no_file");
  CHECK_STATUS(wherry_client_save_cookies(client, file, true), WHERRY_E_FILE);
}
