/* Wherry: uploads with one request per image, and omitted images, from C
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"
#include "server.h"

/* An image file of this test. */
static char *picture_file(const char *name, int width, int height) {
  size_t count;
  char *path = check_path("%s", name);
  const uint8_t *bytes = strstr(name, ".png") ? picture_png(width, height, &count)
                                              : picture_jpeg(width, height, 90, &count);
  check_write_file(path, bytes, count);
  return path;
}

/* Only this image failed, and the error names it. */
static void check_blamed(const wherry_error *error, int32_t index, wherry_status status,
                         const char *path) {
  wherry_list *list = NULL;
  wherry_image_row row = {.size = sizeof row};
  REQUIRE_OK(wherry_error_list_failed_images(error, &list));
  keep_list(list);
  REQUIRE_INT(wherry_list_count(list), 1);
  CHECK_OK(wherry_list_image(list, 0, &row));
  CHECK_INT(row.index, index);
  CHECK_INT(row.status, status);
  CHECK_TEXT(row.file_name, path);
  CHECK(row.reason != NULL && row.message != NULL);
}

/* Reads an IMAGE event's transfer: the rows of its images, freed with the test. */
static wherry_list *images_of(const wherry_event *event) {
  wherry_transfer *transfer = NULL;
  wherry_list *list = NULL;
  REQUIRE_OK(wherry_event_open_transfer(event, &transfer));
  REQUIRE_OK(wherry_transfer_list_images(transfer, &list));
  CHECK_OK(wherry_transfer_free(transfer));
  return keep_list(list);
}

static wherry_image_row image_row(const wherry_list *list, size_t index) {
  wherry_image_row row = {.size = sizeof row};
  CHECK_OK(wherry_list_image(list, index, &row));
  return row;
}

/* Adds images from files; a name with "text" is a file that is not an image. */
static wherry_request *album(const char *url, const char *const *names, size_t count) {
  wherry_request *request = new_request("POST", url);
  for (size_t i = 0; i < count; i++) {
    char *path =
        strstr(names[i], "text") ? check_path("%s", names[i]) : picture_file(names[i], 32, 24);
    if (strstr(names[i], "text")) check_write_file(path, "no picture", 10);
    wherry_image *image = NULL;
    REQUIRE_OK(wherry_image_new_file(path, &image));
    REQUIRE_OK(wherry_request_add_image(request, "photo", image, NULL));
    CHECK_OK(wherry_image_free(image));
  }
  return request;
}

TEST("U22 images are sent one by one, encoded while others are sent, and fail separately") {
  static const char *const names[] = {"0.jpg", "1.png", "text2.jpg", "3.jpg"};
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = album(server_url("/faulty-echo?gate=g"), names, 4);
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_SEPARATE_IMAGES, 2));
  REQUIRE_OK(wherry_client_send(client, request, queue, NULL, NULL));
  server_wait("requests=2");
  /* Two are held while being sent; the third is read at that time, and is not an image. */
  wherry_event *event = next_event(queue, WHERRY_EVENT_IMAGE);
  CHECK_INT(wherry_event_detail(event), 2);
  CHECK_STATUS(wherry_event_status(event), WHERRY_E_IMAGE);
  CHECK_OK(wherry_event_free(event));
  server_open("g");

  event = next_event(queue, WHERRY_EVENT_DONE);
  CHECK_STATUS(wherry_event_status(event), WHERRY_E_IMAGE);
  check_blamed(wherry_event_error(event), 2, WHERRY_E_IMAGE, check_path("text2.jpg"));
  CHECK_HOLDS(wherry_error_message(wherry_event_error(event)), "Image 3 (");
  wherry_list *list = images_of(event);
  REQUIRE_INT(wherry_list_count(list), 4);
  for (size_t i = 0; i < 4; i++) {
    wherry_image_row row = image_row(list, i);
    const wherry_response *response = wherry_list_response(list, i);
    CHECK_INT(row.index, (int32_t)i);
    /* The same name whether the image was sent or not. */
    CHECK_TEXT(row.file_name, check_path("%s", names[i]));
    CHECK_INT(row.http_code, i == 2 ? 0 : 200);
    CHECK_INT(wherry_response_http_code(response), row.http_code);
    CHECK_INT(row.width, i == 2 ? 0 : 32);
    CHECK(i == 2 ? row.sent_bytes < 0 : row.sent_bytes > row.encoded_bytes);
  }
  CHECK(wherry_list_response(list, 4) == NULL);
  CHECK_OK(wherry_event_free(event));
}

TEST("U22 only failed images are sent again") {
  static const char *const names[] = {"0.jpg", "1.jpg", "2.jpg"};
  wherry_client *client = new_client(NULL);
  wherry_request *request =
      album(server_url("/faulty-echo?status_first=503&status_times=1"), names, 3);
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_SEPARATE_IMAGES, 3));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_IMAGE_RETRIES, 1));
  wherry_response *response = NULL;
  wherry_list *list = NULL;
  REQUIRE_OK(wherry_client_perform(client, request, &response));
  REQUIRE_OK(wherry_response_list_images(response, &list));
  keep_list(list);
  REQUIRE_INT(wherry_list_count(list), 3);
  for (size_t i = 0; i < 3; i++) CHECK_INT(image_row(list, i).http_code, 200);
  CHECK_OK(wherry_response_free(response));
  CHECK_INT(server_count("requests"), 4);
}

TEST("U22 R29 an image is not sent again if the server asks for too long a wait") {
  static const char *const names[] = {"0.jpg"};
  wherry_client *client = new_client_with(WHERRY_OPTION_MAX_RETRY_AFTER_MS, 4000);
  wherry_request *request =
      album(server_url("/faulty-echo?status_first=503&status_times=1&retry_after=5"), names, 1);
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_SEPARATE_IMAGES, 1));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_IMAGE_RETRIES, 3));
  wherry_response *response = NULL;
  CHECK_STATUS(wherry_client_perform(client, request, &response), WHERRY_E_HTTP);
  CHECK_INT(wherry_error_retry_after_ms(wherry_last_error()), 5000);
  CHECK_INT(server_count("requests"), 1);
}

TEST("U11 a broken image is omitted on request, and reported") {
  static const char *const names[] = {"text0.jpg", "1.jpg"};
  wherry_client *client = new_client(NULL);
  wherry_request *request = album(server_url("/echo"), names, 2);
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_UNREADABLE_IMAGES, 1));
  wherry_response *response = NULL;
  wherry_list *list = NULL;
  REQUIRE_OK(wherry_client_perform(client, request, &response));
  REQUIRE_OK(wherry_response_list_images(response, &list));
  keep_list(list);
  REQUIRE_INT(wherry_list_count(list), 2);
  CHECK_INT(image_row(list, 0).status, WHERRY_E_IMAGE);
  CHECK_TEXT(image_row(list, 0).reason, "bad_image");
  CHECK_INT(image_row(list, 1).status, WHERRY_OK);
  CHECK_INT(image_row(list, 1).sent_bytes, -1);
  CHECK(wherry_list_response(list, 1) == NULL);
  size_t count;
  const char *body = (const char *)wherry_response_body(response, &count);
  wherry_json *json = new_json(body, count);
  CHECK_INT(wherry_json_count(json, "parts"), 1);
  CHECK_OK(wherry_response_free(response));
}
