/* Wherry: paths whose bytes are not UTF-8, from C
 * SPDX-License-Identifier: Apache-2.0
 *
 * On Linux a path is bytes. 0xE9 is e with an acute accent in Latin-1, and no character in UTF-8.
 * Such a byte became U+FFFD: two names were one file, and an existing file was not found. */
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"
#include "server.h"

enum { SIZE = 200000, CUT = 100000 };

static const char *const NAMES[] = {"caf\xe9.bin", "caf\xe8.bin"};

static wherry_request *once(const char *url) {
  wherry_request *request = new_request("GET", url);
  REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_MAX_RETRIES, 0));
  return request;
}

TEST("two names that differ in one byte become two files") {
  wherry_client *client = new_client(NULL);
  for (int i = 0; i < 2; i++) {
    const char *path = check_path("%s", NAMES[i]);
    outcome got = download(client, once(server_url("/bytes/%d", 1000 + i)), path);
    CHECK_STATUS(got.status, WHERRY_OK);
    CHECK_TEXT(got.text, path);
  }
  CHECK_INT(check_entries(check_path(".")), 2);
  for (int i = 0; i < 2; i++) {
    long count;
    const char *bytes = check_read_file(check_path("%s", NAMES[i]), &count);
    CHECK_INT(count, 1000 + i);
    CHECK(bytes != NULL && is_pattern(bytes, (size_t)count, 0));
  }
  /* A message shows the byte as "\\xE9": it is text. */
  const char *path = check_path("%s", NAMES[0]);
  CHECK_FAILS(
      wherry_client_download(client, once(server_url("/bytes/10")), path, new_queue(), NULL, NULL),
      WHERRY_E_FILE, "exists");
  CHECK_HOLDS(wherry_error_message(wherry_last_error()), "/caf\\xE9.bin ");
}

TEST("D16 a partial file of any name is listed, measured, resumed, and discarded") {
  wherry_client *client = new_client(NULL);
  for (int i = 0; i < 2; i++) {
    const char *path = check_path("%s", NAMES[i]);
    const char *url = server_url("/bytes/%d?cut=%d&times=2&n=%d", SIZE, CUT, i);
    outcome got = download(client, once(url), path);
    CHECK_TEXT(got.reason, "truncated");
    REQUIRE(got.partial != NULL);
    CHECK(check_exists(got.partial));
    CHECK_HOLDS(got.partial, NAMES[i]);
    CHECK(wherry_partial_ratio(path) == 0.5);
  }
  wherry_list *list = NULL;
  REQUIRE_OK(wherry_partial_list(check_path("."), &list));
  keep_list(list);
  REQUIRE_INT(wherry_list_count(list), 2);
  bool seen[2] = {false, false};
  for (size_t i = 0; i < 2; i++) {
    wherry_partial_row row = {.size = sizeof row};
    CHECK_OK(wherry_list_partial(list, i, &row));
    int which = strstr(row.path, NAMES[0]) != NULL ? 0 : 1;
    CHECK_TEXT(row.path, check_path("./%s", NAMES[which]));
    CHECK(!seen[which]);
    seen[which] = true;
    CHECK(check_exists(row.partial_path));
  }
  CHECK(seen[0] && seen[1]);

  CHECK_OK(wherry_partial_discard(check_path("%s", NAMES[1])));
  CHECK(wherry_partial_ratio(check_path("%s", NAMES[1])) == 0);
  const char *path = check_path("%s", NAMES[0]);
  outcome got = download(client, once(server_url("/bytes/%d?n=0", SIZE)), path);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(server_field(2, "Range"), "bytes=100000-");
  long count;
  const char *bytes = check_read_file(path, &count);
  CHECK_INT(count, SIZE);
  CHECK(bytes != NULL && is_pattern(bytes, SIZE, 0));
  CHECK_INT(check_entries(check_path(".")), 1);
}

TEST("R9 U8 body files, parts, and images of any name are read and sent") {
  wherry_client *client = new_client(NULL);
  size_t size;
  const uint8_t *png = picture_png(4, 4, &size);
  for (int i = 0; i < 2; i++) check_write_file(check_path("%s", NAMES[i]), png, size);
  /* Another file with the second name, so that a mix-up is visible. */
  check_write_file(check_path("%s", NAMES[1]), "other", 5);
  const char *path = check_path("%s", NAMES[0]);

  wherry_request *request = new_request("POST", server_url("/echo"));
  REQUIRE_OK(wherry_request_set_body_file(request, path, "image/png"));
  outcome got = perform(client, request);
  REQUIRE_INT(got.status, WHERRY_OK);
  size_t found;
  const char *body = decoded_base64(echoed(&got, "body"), &found);
  CHECK_BYTES(body, found, png, size);

  request = new_request("POST", server_url("/echo"));
  REQUIRE_OK(wherry_request_add_part_file(request, "file", path, NULL, NULL));
  got = perform(client, request);
  REQUIRE_INT(got.status, WHERRY_OK);
  long count;
  const uint8_t *part = echoed_part(&got, 0, &count);
  REQUIRE_INT(count, (int64_t)size);
  CHECK_BYTES(part, (size_t)count, png, size);

  wherry_image *image = NULL;
  REQUIRE_OK(wherry_image_new_file(path, &image));
  wherry_image_info info = {.size = sizeof info};
  CHECK_OK(wherry_image_inspect(image, &info));
  CHECK_INT(info.width, 4);
  request = new_request("POST", server_url("/echo"));
  REQUIRE_OK(wherry_request_add_image(request, "photo", image, NULL));
  CHECK_OK(wherry_image_free(image));
  wherry_queue *queue = new_queue();
  keep_transfer(send_request(client, request, queue, NULL));
  wherry_event *event = next_event(queue, WHERRY_EVENT_IMAGE);
  CHECK_TEXT(wherry_event_text(event), path);
  CHECK_OK(wherry_event_free(event));
  CHECK_STATUS(next_done(queue).status, WHERRY_OK);

  /* An error about a missing image shows the byte. */
  const char *missing = check_path("gone\xe9.png");
  CHECK_FAILS(wherry_image_new_file(missing, &image), WHERRY_E_FILE, "no_file");
  CHECK_HOLDS(wherry_error_message(wherry_last_error()), "gone\\xE9.png");
}

TEST("C14 a cookie file of any name is written and read") {
  wherry_client *client = new_client(NULL);
  for (int i = 0; i < 2; i++) {
    CHECK_OK(wherry_client_clear_cookies(client, NULL));
    CHECK_OK(wherry_client_set_cookie(client, server_url("/"), check_format("n=%d; Path=/", i)));
    CHECK_OK(wherry_client_save_cookies(client, check_path("%s", NAMES[i]), true));
  }
  CHECK_INT(check_entries(check_path(".")), 2);
  CHECK_OK(wherry_client_clear_cookies(client, NULL));
  CHECK_OK(wherry_client_load_cookies(client, check_path("%s", NAMES[0])));
  outcome got = perform(client, new_request("GET", server_url("/echo")));
  CHECK_TEXT(echoed_header(&got, "cookie"), "n=0");
  CHECK_FAILS(wherry_client_load_cookies(client, check_path("gone\xe9")), WHERRY_E_FILE, "no_file");
  CHECK_HOLDS(wherry_error_message(wherry_last_error()), "/gone\\xE9");
}

TEST("C12 a storage folder of any name contains the cache") {
  wherry_config *config = new_config();
  REQUIRE_OK(wherry_config_set_text(config, WHERRY_TEXT_STORAGE_DIRECTORY, check_path("st\xe9")));
  REQUIRE_OK(wherry_config_set_option(config, WHERRY_OPTION_HTTP_CACHE, 1));
  wherry_client *client = new_client(config);
  wherry_request *request = new_request("GET", server_url("/cache?control=max-age=60"));
  for (int i = 0; i < 2; i++) CHECK_STATUS(perform(client, request).status, WHERRY_OK);
  CHECK_INT(server_count("requests"), 1);
  CHECK(check_exists(check_path("st\xe9")));
}
