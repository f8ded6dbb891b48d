/* Wherry: row C19 and rule SEC-U9, from C: network routes
 * SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

static wherry_config *with(wherry_text_option option, const char *value) {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_PROXY, ""));
  CHECK_OK(wherry_config_set_text(config, option, value));
  return config;
}

/* A URL of this test with another host, with or without the port. */
static const char *url_at(const char *host, bool with_port) {
  const char *rest = server_url("/echo") + strlen("http://127.0.0.1");
  if (!with_port) rest = strchr(rest, '/');
  return check_format("http://%s%s", host, rest);
}

TEST("C19 a host with a given address is not looked up and keeps its name") {
  int port = 0;
  sscanf(server_url("/"), "http://127.0.0.1:%d", &port);
  wherry_client *client = new_client(
      with(WHERRY_TEXT_RESOLVE, check_format("a.example:%d:127.0.0.1 b.example:9:::1", port)));
  outcome got = perform(client, new_request("GET", url_at("a.example", true)));
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(server_field(0, "host"), check_format("a.example:%d", port));
  CHECK_FAILS(wherry_config_set_text(new_config(), WHERRY_TEXT_RESOLVE, "a:80:b"),
              WHERRY_E_ARGUMENT, "bad_value");
}

TEST("C19 a Unix socket serves every host") {
  wherry_client *client = new_client(with(WHERRY_TEXT_UNIX_SOCKET, server_unix_socket()));
  outcome got = perform(client, new_request("GET", url_at("container.invalid", false)));
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(server_field(0, "host"), "container.invalid");
  CHECK_FAILS(wherry_config_set_text(new_config(), WHERRY_TEXT_UNIX_SOCKET, "relative"),
              WHERRY_E_ARGUMENT, "bad_path");
}

TEST("C19 connections use the given interface") {
  wherry_client *client = new_client(with(WHERRY_TEXT_INTERFACE, "lo"));
  CHECK_STATUS(perform(client, new_request("GET", server_url("/echo"))).status, WHERRY_OK);
  client = new_client(with(WHERRY_TEXT_INTERFACE, "none0"));
  CHECK_TEXT(perform(client, new_request("GET", server_url("/echo"))).reason, "connect");
}

TEST("C19 SEC-U9 a proxy gets its credentials, but not for hosts that bypass it") {
  char *proxy = server_url("/");
  *strstr(proxy, "/@") = '\0';
  wherry_config *config = with(WHERRY_TEXT_PROXY, proxy);
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_PROXY_CREDENTIALS, "name:hunter4"));
  CHECK_STATUS(perform(new_client(config), new_request("GET", server_url("/echo"))).status,
               WHERRY_OK);
  CHECK_TEXT(server_field(0, "proxy-authorization"), "Basic bmFtZTpodW50ZXI0");
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_NO_PROXY, "example.com,127.0.0.1"));
  CHECK_STATUS(perform(new_client(config), new_request("GET", server_url("/echo"))).status,
               WHERRY_OK);
  CHECK(server_field(1, "proxy-authorization") == NULL);
  CHECK_FAILS(wherry_config_set_text(config, WHERRY_TEXT_PROXY_CREDENTIALS, "name"),
              WHERRY_E_ARGUMENT, "bad_value");
}

TEST("C19 an invalid proxy is refused, and an unreachable one is named") {
  CHECK_FAILS(wherry_config_set_text(new_config(), WHERRY_TEXT_PROXY, "ftp://h:1"),
              WHERRY_E_ARGUMENT, "bad_value");
  CHECK_HOLDS(wherry_error_message(wherry_last_error()), "proxy ");
  wherry_client *client = new_client(with(WHERRY_TEXT_PROXY, "http://name:hunter4@127.0.0.1:1"));
  outcome got = perform(client, new_request("GET", "http://h.invalid/"));
  CHECK_TEXT(got.reason, "connect");
  CHECK_HOLDS(got.message, "the proxy http://127.0.0.1:1:");
  CHECK_LACKS(got.message, "h.invalid");
  CHECK_LACKS(got.message, "hunter4");
}

TEST("R39 a stub passes selected requests to the network") {
  wherry_stub *stub = new_stub();
  wherry_client *client = new_stub_client(stub);
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*/made-up", -1, 200, NULL, "stub", 4));
  CHECK_OK(wherry_stub_add_network(stub, NULL, server_url("/*"), -1));
  CHECK_TEXT(perform(client, new_request("GET", server_url("/made-up"))).body, "stub");
  wherry_request *request = new_request("POST", server_url("/echo"));
  CHECK_OK(wherry_request_set_body(request, "real", 4, "text/plain"));
  outcome got = perform(client, request);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(echoed_body(&got), "real");
  CHECK_TEXT(perform(client, new_request("GET", "http://h.invalid/")).reason, "connect");
  CHECK_INT(server_count("requests"), 1);
  CHECK_INT(wherry_stub_request_count(stub), 2);
  /* A cancel reaches the network too. */
  wherry_queue *queue = new_queue();
  wherry_transfer *transfer =
      send_request(client, new_request("GET", server_url("/bytes/10?hold=0&gate=g")), queue, NULL);
  CHECK(server_wait("requests=2"));
  CHECK_OK(wherry_transfer_cancel(transfer));
  CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
}

/* The host that clients resolve is compared with that of URLs, which are in ASCII: in the locale C
 * no international name ever matched. */
TEST("C19 an international name of a URL or a proxy is resolved in every locale") {
  int port = 0;
  sscanf(server_url("/"), "http://127.0.0.1:%d", &port);
  const char *name =
      "b\xc3\xbc"
      "cher.example";
  const char *locales[] = {"C", "C.UTF-8"};
  for (size_t i = 0; i < 2; i++) {
    REQUIRE(setlocale(LC_ALL, locales[i]) != NULL);
    wherry_config *config = with(WHERRY_TEXT_RESOLVE, check_format("%s:%d:127.0.0.1", name, port));
    outcome got = perform(new_client(config), new_request("GET", url_at(name, true)));
    CHECK_STATUS(got.status, WHERRY_OK);
    CHECK_TEXT(server_field(2 * i, "host"), check_format("xn--bcher-kva.example:%d", port));
    CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_PROXY,
                                    check_format("http://%s:%d", name, port)));
    got = perform(new_client(config), new_request("GET", server_url("/echo")));
    CHECK_STATUS(got.status, WHERRY_OK);
    CHECK_INT(strncmp(echoed(&got, "target"), "http://", 7), 0);
  }
  setlocale(LC_ALL, "C");
}

TEST("C19 each scheme has its own proxy, and exceptions have ports") {
  char *proxy = server_url("/");
  *strstr(proxy, "/@") = '\0';
  wherry_config *config = with(WHERRY_TEXT_PROXY, "http://127.0.0.1:1");
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_PROXY_HTTP, proxy));
  outcome got = perform(new_client(config), new_request("GET", server_url("/echo")));
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_INT(strncmp(echoed(&got, "target"), "http://", 7), 0);
  got = perform(new_client(config), new_request("GET", "https://h.invalid/"));
  CHECK_HOLDS(got.message, "the proxy http://127.0.0.1:1:");
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_PROXY_HTTPS, "http://127.0.0.1:2"));
  got = perform(new_client(config), new_request("GET", "https://h.invalid/"));
  CHECK_HOLDS(got.message, "the proxy http://127.0.0.1:2:");
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_NO_PROXY, strstr(proxy, "127")));
  got = perform(new_client(config), new_request("GET", server_url("/echo")));
  CHECK_INT(strncmp(echoed(&got, "target"), "/", 1), 0);
  CHECK_FAILS(wherry_config_set_text(config, WHERRY_TEXT_PROXY_HTTP, "ftp://h"), WHERRY_E_ARGUMENT,
              "bad_value");
  CHECK_FAILS(wherry_config_set_text(config, WHERRY_TEXT_NO_PROXY, "h:0"), WHERRY_E_ARGUMENT,
              "bad_value");
}
