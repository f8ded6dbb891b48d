/* Wherry: rows R17, D1, and U1 of features.md, from C: the calls that need no client
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"
#include "server.h"

static wherry_response *response;

static void end_response(void) {
  CHECK_OK(wherry_response_free(response));
  response = NULL;
}

TEST("R17 wherry_get returns the response of a URL") {
  REQUIRE_OK(wherry_get(server_url("/bytes/100"), &response));
  size_t count = 0;
  CHECK(wherry_response_body(response, &count) != NULL);
  CHECK_INT(count, 100);
  CHECK_INT(wherry_response_http_code(response), 200);
  end_response();
  CHECK_INT(server_count("requests"), 1);
}

TEST("R17 an error response is returned with its error, and another failure is not") {
  CHECK_FAILS(wherry_get(server_url("/status/404"), &response), WHERRY_E_HTTP, "http_status");
  CHECK_INT(wherry_response_http_code(response), 404);
  end_response();

  response = (wherry_response *)1;
  CHECK_FAILS(wherry_get("nowhere", &response), WHERRY_E_ARGUMENT, "bad_url");
  CHECK(response == NULL);
  CHECK_FAILS(wherry_get(NULL, &response), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_FAILS(wherry_get("http://127.0.0.1:1/", &response), WHERRY_E_NETWORK, "connect");
  CHECK(response == NULL);
}

TEST("D1 wherry_download_file writes a file, and keeps an existing one") {
  const char *path = check_path("file.bin");
  REQUIRE_OK(wherry_download_file(server_url("/bytes/100000"), path));
  struct stat status;
  REQUIRE(stat(path, &status) == 0);
  CHECK_INT(status.st_size, 100000);
  CHECK_FAILS(wherry_download_file(server_url("/bytes/9"), path), WHERRY_E_FILE, "exists");
  CHECK_FAILS(wherry_download_file(server_url("/status/404"), check_path("none")), WHERRY_E_HTTP,
              "http_status");
  CHECK(!check_exists(check_path("none")));
}

TEST("D1 in a directory the server names the file") {
  const char *folder = check_path("folder");
  REQUIRE(mkdir(folder, 0700) == 0);
  REQUIRE_OK(wherry_download_file(server_url("/bytes/1000"), folder));
  CHECK(check_exists(check_path("folder/1000")));
  REQUIRE_OK(wherry_download_file(server_url("/bytes/2000"), check_format("%s/", folder)));
  CHECK(check_exists(check_path("folder/2000")));
}

TEST("U1 wherry_upload_image posts a compressed image") {
  size_t count;
  const uint8_t *bytes = picture_jpeg(40, 30, 90, &count);
  const char *path = check_path("a.jpg");
  check_write_file(path, bytes, count);
  REQUIRE_OK(wherry_upload_image(server_url("/echo"), "photo", path, &response));
  size_t length = 0;
  const char *body = (const char *)wherry_response_body(response, &length);
  outcome got = {.body = body, .count = length};
  CHECK_TEXT(echoed(&got, "method"), "POST");
  CHECK_TEXT(echoed(&got, "parts/0/name"), "photo");
  CHECK_TEXT(echoed(&got, "parts/0/type"), "image/jpeg");
  end_response();
  CHECK_FAILS(wherry_upload_image(server_url("/echo"), "photo", check_path("none.jpg"), &response),
              WHERRY_E_FILE, "no_file");
  CHECK(response == NULL);
}
