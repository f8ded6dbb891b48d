/* Wherry: rows C20 and C10 of features.md, from C: settings from a file, and application
 * identity
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

static const char *configuration(const char *text) {
  const char *path = check_path("config.json");
  FILE *file = fopen(path, "w");
  REQUIRE(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
  return path;
}

TEST("C20 a settings file gives the same requests in every language") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_header(config, "X-C", "3"));
  const char *path = configuration(check_format(
      "{\"base_url\": \"%s\", \"app_name\": \"F\303\244hre\", \"app_version\": \"2\","
      " \"headers\": {\"X-A\": \"1\"}, \"compressed\": false, \"parameters\": {\"p\": [1, 2]},"
      " \"array_style\": 1}",
      server_url("/")));
  CHECK_OK(wherry_config_load(config, path));
  outcome got = perform(new_client(config), new_request("GET", "echo"));
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_HOLDS(echoed(&got, "target"), "/echo?p=1&p=2");
  CHECK_HOLDS(server_field(0, "user-agent"), "Fahre/2 (Linux ");
  CHECK_TEXT(server_field(0, "accept-encoding"), "identity");
  CHECK_TEXT(server_field(0, "x-a"), "1");
  CHECK_TEXT(server_field(0, "x-c"), "3");

  setenv("WHERRY_CONFIG", path, 1);
  wherry_config *other = new_config();
  CHECK_OK(wherry_config_load(other, NULL));
  unsetenv("WHERRY_CONFIG");
  CHECK_OK(wherry_config_load(other, NULL));
  CHECK_STATUS(perform(new_client(other), new_request("GET", "echo")).status, WHERRY_OK);
  CHECK_TEXT(server_field(1, "x-a"), "1");
}

TEST("C20 an invalid entry in a file is named, and no setting changes") {
  wherry_config *config = new_config();
  CHECK_FAILS(wherry_config_load(config, configuration("{\"max_redirects\": 0, \"timeout\": 1}")),
              WHERRY_E_ARGUMENT, "bad_option");
  CHECK_HOLDS(wherry_error_message(wherry_last_error()), "timeout");
  CHECK_FAILS(wherry_config_load(config, configuration("[")), WHERRY_E_ARGUMENT, "bad_json");
  CHECK_FAILS(wherry_config_load(config, "/nowhere/at/all"), WHERRY_E_FILE, "no_file");
  CHECK_INT(wherry_client_get_option(new_client(config), WHERRY_OPTION_MAX_REDIRECTS), 10);
}

TEST("C10 an application sends its identity and the user's languages if configured") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_APP_NAME, "Demo"));
  CHECK_OK(wherry_config_set_option(config, WHERRY_OPTION_SEND_LANGUAGES, 1));
  setenv("LC_ALL", "de_AT.UTF-8", 1);
  setenv("LANGUAGE", "de_AT:en", 1);
  wherry_client *client = new_client(config);
  unsetenv("LC_ALL");
  unsetenv("LANGUAGE");
  CHECK_STATUS(perform(client, new_request("GET", server_url("/echo"))).status, WHERRY_OK);
  CHECK_HOLDS(server_field(0, "user-agent"), "Demo/1 (Linux ");
  CHECK_TEXT(server_field(0, "accept-language"), "de-AT, en;q=0.9");
  CHECK_OK(wherry_client_set_header(client, "Accept-Language", "fr"));
  CHECK_STATUS(perform(client, new_request("GET", server_url("/echo"))).status, WHERRY_OK);
  CHECK_TEXT(server_field(1, "accept-language"), "fr");
}
