/* Wherry: uploads with unreadable images, from C
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"
#include "server.h"

static const char gif[] = "GIF89a\1\0\1\0\0\0\0;";

/* A form of a GIF and a text, in this mode. */
static wherry_request *form(int64_t mode) {
  static const struct {
    const void *bytes;
    size_t count;
    const char *name;
  } all[] = {{gif, sizeof gif - 1, "a.gif"}, {"no picture", 10, "b.jpg"}};
  wherry_request *request = new_request("POST", server_url("/echo"));
  REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_UNREADABLE_IMAGES, mode));
  for (size_t i = 0; i < 2; i++) {
    wherry_image *image = NULL;
    REQUIRE_OK(wherry_image_new_bytes(all[i].bytes, all[i].count, &image));
    REQUIRE_OK(wherry_image_set_file_name(image, all[i].name));
    REQUIRE_OK(wherry_request_add_image(request, "photo", image, NULL));
    CHECK_OK(wherry_image_free(image));
  }
  return request;
}

TEST("U11 an upload that fails before a byte is sent names every unreadable image") {
  wherry_client *client = new_client(NULL);
  for (int64_t mode = 0; mode < 2; mode++) {
    wherry_response *response = NULL;
    CHECK_STATUS(wherry_client_perform(client, form(mode), &response), WHERRY_E_IMAGE);
    const char *message = wherry_error_message(wherry_last_error());
    CHECK_HOLDS(message, "2 of 2 images cannot be sent. Image 1 (a.gif)");
    CHECK_HOLDS(message, "Image 2 (b.jpg)");
  }
  CHECK_INT(server_count("requests"), 0);
}

TEST("U11 an unreadable image is sent unchanged on request") {
  wherry_response *response = NULL;
  wherry_list *list = NULL;
  REQUIRE_OK(wherry_client_perform(new_client(NULL), form(2), &response));
  REQUIRE_OK(wherry_response_list_images(response, &list));
  keep_list(list);
  static const char *const names[] = {"a.gif", "b.jpg"};
  static const int64_t sizes[] = {sizeof gif - 1, 10};
  for (size_t i = 0; i < 2; i++) {
    wherry_image_row row = {.size = sizeof row};
    CHECK_OK(wherry_list_image(list, i, &row));
    CHECK_INT(row.status, WHERRY_OK);
    CHECK_TEXT(row.file_name, names[i]);
    CHECK_INT(row.encoded_bytes, sizes[i]);
    CHECK_INT(row.original_bytes, sizes[i]);
  }
  size_t count;
  const char *body = (const char *)wherry_response_body(response, &count);
  wherry_json *json = new_json(body, count);
  CHECK_TEXT(wherry_json_get_text(json, "parts/0/type", NULL, NULL), "image/gif");
  CHECK_INT(wherry_json_get_integer(json, "parts/0/size", 0), sizes[0]);
  CHECK_OK(wherry_response_free(response));
}

TEST("U11 an unknown mode is refused, and HEIC and AVIF are recognized") {
  wherry_request *request = new_request("POST", server_url("/echo"));
  CHECK_FAILS(wherry_request_set_option(request, WHERRY_OPTION_UNREADABLE_IMAGES, 3),
              WHERRY_E_ARGUMENT, "bad_value");
  CHECK_INT(wherry_image_recognise("\0\0\0\x18"
                                   "ftypheic",
                                   12),
            WHERRY_IMAGE_HEIC);
  CHECK_INT(wherry_image_recognise("\0\0\0\x18"
                                   "ftypavif",
                                   12),
            WHERRY_IMAGE_AVIF);
  CHECK_INT(wherry_image_recognise("\0\0\0\x18"
                                   "ftypisom",
                                   12),
            WHERRY_IMAGE_KEEP);
}
