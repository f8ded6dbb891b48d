/* Wherry: rows U of features.md, from C: images and forms
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static wherry_compression *compression_of(double quality) {
  wherry_compression *compression = NULL;
  REQUIRE_OK(wherry_compression_new(quality, &compression));
  return compression;
}

/* Uploads one image to /echo with this compression, which is freed. */
static outcome upload_one(const char *path, wherry_compression *compression) {
  const char *paths[] = {path};
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  REQUIRE_OK(wherry_client_upload_images(client, new_request("POST", server_url("/echo")), "photo",
                                         paths, 1, compression, queue, NULL, NULL));
  CHECK_OK(wherry_compression_free(compression));
  outcome got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_OK);
  return got;
}

static const char *part_text(const outcome *got, size_t index, const char *field) {
  return echoed(got, check_format("parts/%zu/%s", index, field));
}

TEST("U1 images arrive as parts of a form") {
  const char *paths[] = {picture_file("a.jpg", 40, 30), picture_file("b.png", 20, 10)};
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("POST", server_url("/echo"));
  wherry_transfer *transfer = NULL;
  REQUIRE_OK(wherry_client_upload_images(client, request, "photo", paths, 2, NULL, queue, NULL,
                                         &transfer));
  outcome got = done_of(queue, keep_transfer(transfer));
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_INT(got.image_count, 2);
  CHECK_TEXT(echoed(&got, "method"), "POST");
  CHECK_HOLDS(echoed_header(&got, "Content-Type"), "multipart/form-data; boundary=");
  CHECK_TEXT(part_text(&got, 0, "type"), "image/jpeg");
  CHECK_TEXT(part_text(&got, 1, "type"), "image/png");
  for (size_t i = 0; i < 2; i++) {
    int width = 0, height = 0;
    long count;
    const uint8_t *bytes = echoed_part(&got, i, &count);
    CHECK(picture_decode(bytes, (size_t)count, &width, &height) != NULL);
    CHECK_INT(width, i == 0 ? 40 : 20);
    CHECK_INT(height, i == 0 ? 30 : 10);
  }
}

TEST("U2 no images is an error at once, and nothing is sent") {
  wherry_queue *queue = new_queue();
  wherry_transfer *transfer = NULL;
  CHECK_FAILS(
      wherry_client_upload_images(new_client(NULL), new_request("POST", server_url("/echo")),
                                  "photo", NULL, 0, NULL, queue, NULL, &transfer),
      WHERRY_E_ARGUMENT, "no_images");
  CHECK(transfer == NULL);
  CHECK(queue_is_empty(queue));
  CHECK_INT(server_count("requests"), 0);
}

TEST("U3 parts are named by index from 0, in order, also a single one") {
  outcome got = upload_one(picture_file("a.jpg", 8, 8), NULL);
  CHECK_TEXT(part_text(&got, 0, "name"), "photo0");
  const char *paths[] = {picture_file("1.jpg", 8, 8), picture_file("2.jpg", 16, 8),
                         picture_file("3.jpg", 24, 8)};
  const struct {
    const char *style, *names[3];
  } rows[] = {{"index", {"color0", "color1", "color2"}},
              {"repeat", {"color", "color", "color"}},
              {"brackets", {"color[]", "color[]", "color[]"}}};
  wherry_client *client = new_client(NULL);
  for (int i = 0; i < 3; i++) {
    wherry_queue *queue = new_queue();
    wherry_request *request = new_request("POST", server_url("/echo"));
    CHECK_OK(wherry_request_set_text(request, WHERRY_TEXT_IMAGE_NAMES, rows[i].style));
    REQUIRE_OK(
        wherry_client_upload_images(client, request, "color", paths, 3, NULL, queue, NULL, NULL));
    got = next_done(queue);
    for (size_t j = 0; j < 3; j++) {
      int width = 0, height = 0;
      long count;
      const uint8_t *bytes = echoed_part(&got, j, &count);
      CHECK_TEXT(part_text(&got, j, "name"), rows[i].names[j]);
      CHECK(picture_decode(bytes, (size_t)count, &width, &height) != NULL);
      CHECK_INT(width, 8 * ((int)j + 1));
    }
  }
}

TEST("U4 fifty images have fifty file names") {
  enum { COUNT = 50 };
  const char *paths[COUNT], *path = picture_file("a.jpg", 8, 8);
  for (int i = 0; i < COUNT; i++) paths[i] = path;
  wherry_queue *queue = new_queue();
  REQUIRE_OK(wherry_client_upload_images(new_client(NULL), new_request("POST", server_url("/echo")),
                                         "p", paths, COUNT, NULL, queue, NULL, NULL));
  outcome got = next_done(queue);
  const char *names[COUNT];
  for (size_t i = 0; i < COUNT; i++) {
    names[i] = part_text(&got, i, "filename");
    REQUIRE(names[i] != NULL);
    CHECK_HOLDS(names[i], ".jpg");
    for (size_t j = 0; j < i; j++) CHECK(strcmp(names[i], names[j]) != 0);
  }
}

TEST("U4 the caller may set names") {
  wherry_image *image = NULL;
  wherry_request *request = new_request("POST", server_url("/echo"));
  REQUIRE_OK(wherry_image_new_file(picture_file("a.jpg", 8, 8), &image));
  CHECK_OK(wherry_image_set_file_name(image, "holiday.jpg"));
  CHECK_OK(wherry_request_add_image(request, "p", image, NULL));
  CHECK_OK(wherry_image_free(image));
  outcome got = send_and_wait(new_client(NULL), request);
  CHECK_TEXT(part_text(&got, 0, "filename"), "holiday.jpg");
}

TEST("U5 seven type words give the extension and type of SJNetwork") {
  const struct {
    const char *word, *ending, *type;
  } rows[] = {{"png", ".png", "image/png"},   {"PNG", ".png", "image/png"},
              {"jpg", ".jpg", "image/jpeg"},  {"JPG", ".jpg", "image/jpeg"},
              {"jpeg", ".jpg", "image/jpeg"}, {"JPEG", ".jpg", "image/jpeg"},
              {"tiff", ".jpg", "image/jpeg"}};
  const char *path = picture_file("a.png", 16, 16);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    wherry_compression *compression = compression_of(1);
    CHECK_OK(wherry_compression_set_type(compression, rows[i].word));
    outcome got = upload_one(path, compression);
    const char *name = part_text(&got, 0, "filename");
    CHECK_TEXT(name + strlen(name) - strlen(rows[i].ending), rows[i].ending);
    CHECK_TEXT(part_text(&got, 0, "type"), rows[i].type);
  }
  wherry_client *client = new_client(NULL);
  wherry_request *request = new_request("POST", server_url("/echo"));
  const char *paths[] = {picture_file("b.jpg", 16, 16)};
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_request_set_text(request, WHERRY_TEXT_JPEG_TYPE, "image/jpg"));
  REQUIRE_OK(wherry_client_upload_images(client, request, "p", paths, 1, NULL, queue, NULL, NULL));
  outcome got = next_done(queue);
  CHECK_TEXT(part_text(&got, 0, "type"), "image/jpg");
}

TEST("U6 the ratio is a quality: less is smaller, outside 0 to 1 is 1, PNG ignores it") {
  const char *path = picture_file("a.jpg", 200, 150), *png = picture_file("b.png", 50, 40);
  const double ratios[] = {0, 0.5, 1, 7, -1};
  long counts[5];
  const uint8_t *bytes[5];
  for (int i = 0; i < 5; i++) {
    outcome got = upload_one(path, compression_of(ratios[i]));
    bytes[i] = echoed_part(&got, 0, &counts[i]);
  }
  CHECK(counts[0] < counts[1]);
  CHECK(counts[1] < counts[2]);
  CHECK_BYTES(bytes[3], (size_t)counts[3], bytes[2], (size_t)counts[2]);
  CHECK_BYTES(bytes[4], (size_t)counts[4], bytes[2], (size_t)counts[2]);
  for (int i = 0; i < 3; i++) {
    long count;
    int width, height;
    outcome got = upload_one(png, compression_of(ratios[i]));
    const uint8_t *part = echoed_part(&got, 0, &count);
    const uint8_t *pixels = picture_decode(part, (size_t)count, &width, &height);
    CHECK_BYTES(pixels, 50 * 40 * 3, picture_pixels(50, 40), 50 * 40 * 3);
  }
}

TEST("U7 an image that needs no change is sent byte for byte") {
  const char *names[] = {"a.jpg", "b.png"};
  for (int i = 0; i < 2; i++) {
    const char *path = picture_file(names[i], 60, 40);
    long file_count, count;
    const char *file = check_read_file(path, &file_count);
    outcome got = upload_one(path, compression_of(1));
    const uint8_t *part = echoed_part(&got, 0, &count);
    CHECK_BYTES(part, (size_t)count, file, (size_t)file_count);
  }
}

TEST("U8 file, bytes, and pixels give the same image") {
  size_t count;
  const uint8_t *png = picture_png(30, 20, &count), *pixels = picture_pixels(30, 20);
  wherry_image *images[3] = {NULL};
  REQUIRE_OK(wherry_image_new_file(picture_file("a.png", 30, 20), &images[0]));
  REQUIRE_OK(wherry_image_new_bytes(png, count, &images[1]));
  REQUIRE_OK(
      wherry_image_new_pixels(pixels, 30 * 20 * 3, WHERRY_PIXELS_RGB8, 30, 20, 90, &images[2]));
  wherry_compression *compression = compression_of(1);
  CHECK_OK(wherry_compression_set_type(compression, "png"));
  wherry_request *request = new_request("POST", server_url("/echo"));
  for (int i = 0; i < 3; i++) {
    CHECK_OK(wherry_request_add_image(request, "p", images[i], compression));
    CHECK_OK(wherry_image_free(images[i]));
  }
  CHECK_OK(wherry_compression_free(compression));
  outcome got = send_and_wait(new_client(NULL), request);
  REQUIRE_STATUS(got.status, WHERRY_OK);
  for (size_t i = 0; i < 3; i++) {
    long part_count;
    int width = 0, height = 0;
    const uint8_t *part = echoed_part(&got, i, &part_count);
    const uint8_t *decoded = picture_decode(part, (size_t)part_count, &width, &height);
    CHECK_INT(width, 30);
    CHECK_INT(height, 20);
    CHECK_BYTES(decoded, 30 * 20 * 3, pixels, 30 * 20 * 3);
  }
}

TEST("U8 rows of pixels in each format and stride give the same image") {
  enum { WIDTH = 23, HEIGHT = 17, ROOM = WIDTH * 4 + 13 };
  const uint8_t *rgb = picture_pixels(WIDTH, HEIGHT);
  const struct {
    wherry_pixel_format format;
    size_t bytes;
  } formats[] = {{WHERRY_PIXELS_GRAY8, 1},
                 {WHERRY_PIXELS_RGB8, 3},
                 {WHERRY_PIXELS_RGBA8, 4},
                 {WHERRY_PIXELS_BGRA8, 4}};
  wherry_request *request = new_request("POST", server_url("/echo"));
  wherry_compression *compression = compression_of(1);
  CHECK_OK(wherry_compression_set_type(compression, "png"));
  for (size_t i = 0; i < 8; i++) {
    wherry_pixel_format format = formats[i / 2].format;
    size_t size = formats[i / 2].bytes, stride = i % 2 ? ROOM : WIDTH * size;
    uint8_t *rows = check_memory(ROOM * HEIGHT);
    memset(rows, 0x77, ROOM * HEIGHT); /* bytes between the rows are not read */
    for (size_t y = 0; y < HEIGHT; y++)
      for (size_t x = 0; x < WIDTH; x++) {
        const uint8_t *from = rgb + (y * WIDTH + x) * 3;
        uint8_t *to = rows + y * stride + x * size;
        bool is_turned = format == WHERRY_PIXELS_BGRA8;
        to[0] = from[is_turned ? 2 : 0];
        if (size >= 3) to[1] = from[1];
        if (size >= 3) to[2] = from[is_turned ? 0 : 2];
        if (size == 4) to[3] = 255;
      }
    wherry_image *image = NULL;
    REQUIRE_OK(wherry_image_new_pixels(rows, stride * HEIGHT, format, WIDTH, HEIGHT,
                                       i % 2 ? stride : 0, &image));
    CHECK_OK(wherry_request_add_image(request, "p", image, compression));
    CHECK_OK(wherry_image_free(image));
  }
  CHECK_OK(wherry_compression_free(compression));
  outcome got = send_and_wait(new_client(NULL), request);
  REQUIRE_STATUS(got.status, WHERRY_OK);
  for (size_t i = 0; i < 8; i++) {
    long count;
    int width = 0, height = 0;
    const uint8_t *part = echoed_part(&got, i, &count);
    const uint8_t *decoded = picture_decode(part, (size_t)count, &width, &height);
    REQUIRE_INT(width, WIDTH);
    REQUIRE_INT(height, HEIGHT);
    uint8_t *expected = check_memory(WIDTH * HEIGHT * 3);
    for (size_t j = 0; j < WIDTH * HEIGHT * 3; j++)
      expected[j] = i < 2 ? rgb[j / 3 * 3] : rgb[j]; /* gray is its red */
    if (!CHECK_BYTES(decoded, WIDTH * HEIGHT * 3, expected, WIDTH * HEIGHT * 3))
      CHECK_INT(formats[i / 2].format, 0);
  }
}

TEST("U9 parameters of client and request are form fields") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_parameter(config, "lang", "en"));
  const char *paths[] = {picture_file("a.jpg", 8, 8)};
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("POST", server_url("/echo"));
  const char *json = "{\"o\":{\"k\":\"v\"},\"none\":null,\"n\":5,\"lang\":\"de\"}";
  CHECK_OK(wherry_request_set_parameters_json(request, json, strlen(json)));
  REQUIRE_OK(wherry_client_upload_images(new_client(config), request, "p", paths, 1, NULL, queue,
                                         NULL, NULL));
  outcome got = next_done(queue);
  const struct {
    const char *name, *text;
  } rows[] = {{"lang", "de"}, {"o[k]", "v"}, {"none", ""}, {"n", "5"}};
  for (size_t i = 0; i < 4; i++) {
    CHECK_TEXT(part_text(&got, i, "name"), rows[i].name);
    CHECK_TEXT(part_text(&got, i, "text"), rows[i].text);
  }
  CHECK_TEXT(part_text(&got, 4, "name"), "p0");
}

TEST("U10 progress counts the complete body, rises, and ends at its total") {
  size_t count = 6 << 20;
  char *bytes = check_memory(count);
  wherry_request *request = new_request("POST", server_url("/sink"));
  CHECK_OK(wherry_request_add_part(request, "file", bytes, count, "a.bin", NULL));
  outcome got = send_and_wait(new_client(NULL), request);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK(got.progress_count > 0);
  CHECK(!got.progress_fell);
  CHECK(!got.progress_repeated);
  CHECK(got.last_expected > (int64_t)count); /* the boundaries too */
  CHECK_INT(got.last_done, got.last_expected);
  CHECK_HOLDS(got.body, check_format("\"bytes\": %lld", (long long)got.last_done));
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

TEST("U11 if the request fails, all its images are listed as not sent") {
  const char *paths[] = {picture_file("a.jpg", 8, 8), picture_file("b.jpg", 8, 8),
                         picture_file("c.jpg", 8, 8)};
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("POST", server_url("/sink?status=500"));
  REQUIRE_OK(wherry_client_upload_images(new_client(NULL), request, "p", paths, 3, NULL, queue,
                                         NULL, NULL));
  wherry_event *event = NULL;
  wherry_event_kind kind;
  for (;;) {
    REQUIRE_OK(wherry_queue_next(queue, 600000, &event));
    kind = wherry_event_get_kind(event);
    if (kind == WHERRY_EVENT_DONE) break;
    CHECK_OK(wherry_event_free(event));
  }
  CHECK_INT(wherry_event_status(event), WHERRY_E_HTTP);
  CHECK_INT(wherry_error_http_code(wherry_event_error(event)), 500);
  wherry_list *list = NULL;
  REQUIRE_OK(wherry_error_list_failed_images(wherry_event_error(event), &list));
  keep_list(list);
  CHECK_INT(wherry_list_count(list), 3);
  for (size_t i = 0; i < wherry_list_count(list); i++) {
    wherry_image_row row = {.size = sizeof row};
    CHECK_OK(wherry_list_image(list, i, &row));
    CHECK_INT(row.index, i);
    CHECK_TEXT(row.file_name, paths[i]);
    CHECK(row.reason != NULL && row.message != NULL);
    CHECK(row.original_bytes > 0);
  }
  CHECK_OK(wherry_event_free(event));
}

TEST("U11 an unreadable image fails the upload and is named") {
  const char *bad = check_path("bad.jpg");
  check_write_file(bad, "\xff\xd8\xff\xe0 not a picture", 18);
  const char *paths[] = {picture_file("a.jpg", 8, 8), bad};
  wherry_queue *queue = new_queue();
  wherry_compression *compression = compression_of(0.5);
  REQUIRE_OK(wherry_client_upload_images(new_client(NULL), new_request("POST", server_url("/echo")),
                                         "p", paths, 2, compression, queue, NULL, NULL));
  CHECK_OK(wherry_compression_free(compression));
  int good = 0, bad_ones = 0;
  wherry_event *event = NULL;
  for (bool is_over = false; !is_over;) {
    CHECK_OK(wherry_event_free(event));
    REQUIRE_OK(wherry_queue_next(queue, 600000, &event));
    if (wherry_event_get_kind(event) == WHERRY_EVENT_IMAGE) {
      bool failed = wherry_event_status(event) != WHERRY_OK;
      CHECK_INT(wherry_event_detail(event), failed);
      if (failed) CHECK_INT(wherry_event_status(event), WHERRY_E_IMAGE), bad_ones++;
      else good++;
    }
    is_over = wherry_event_get_kind(event) == WHERRY_EVENT_DONE;
  }
  CHECK(good <= 1);
  CHECK_INT(bad_ones, 1);
  CHECK_INT(wherry_event_status(event), WHERRY_E_IMAGE);
  CHECK_HOLDS(wherry_error_message(wherry_event_error(event)), "bad.jpg");
  check_blamed(wherry_event_error(event), 1, WHERRY_E_IMAGE, bad);
  CHECK_OK(wherry_event_free(event));
  CHECK_INT(server_count("requests"), 0);
}

TEST("U11 a missing or unreadable image file is E_FILE at once, and is named") {
  const char *missing = check_path("none.jpg"), *closed = picture_file("closed.jpg", 8, 8),
             *good = picture_file("a.jpg", 8, 8);
  REQUIRE_INT(chmod(check_path("."), 0755), 0);
  REQUIRE_INT(chmod(closed, 0), 0);
  const char *bad[] = {missing, closed};
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  for (int i = 0; i < 2; i++) {
    const char *paths[] = {good, bad[i]};
    wherry_request *request = new_request("POST", server_url("/echo"));
    wherry_image *image = (wherry_image *)&request;
    /* Root may read everything, so the test drops root for a while. */
    REQUIRE(geteuid() != 0 || seteuid(65534) == 0);
    wherry_status single = wherry_image_new_file(bad[i], &image);
    const char *message = check_format("%s", wherry_error_message(wherry_last_error()));
    wherry_status all =
        wherry_client_upload_images(client, request, "p", paths, 2, NULL, queue, NULL, NULL);
    REQUIRE(geteuid() == getuid() || seteuid(getuid()) == 0);
    CHECK_STATUS(single, WHERRY_E_FILE);
    CHECK(image == (wherry_image *)&request); /* no byte was written */
    CHECK_HOLDS(message, bad[i]);
    CHECK_STATUS(all, WHERRY_E_FILE);
    CHECK_HOLDS(wherry_error_message(wherry_last_error()), bad[i]);
    CHECK(wherry_error_reason(wherry_last_error())[0] != '\0');
  }
  CHECK(queue_is_empty(queue));
  CHECK_INT(server_count("requests"), 0);
}

TEST("U11 a folder in place of an image fails the upload and is named") {
  const char *folder = check_path("folder.jpg");
  REQUIRE_INT(mkdir(folder, 0755), 0);
  const char *paths[] = {picture_file("a.jpg", 8, 8), folder};
  wherry_queue *queue = new_queue();
  REQUIRE_OK(wherry_client_upload_images(new_client(NULL), new_request("POST", server_url("/echo")),
                                         "p", paths, 2, NULL, queue, NULL, NULL));
  wherry_event *event = NULL;
  do {
    CHECK_OK(wherry_event_free(event));
    REQUIRE_OK(wherry_queue_next(queue, 600000, &event));
  } while (wherry_event_get_kind(event) != WHERRY_EVENT_DONE);
  CHECK_INT(wherry_event_status(event), WHERRY_E_FILE);
  CHECK_HOLDS(wherry_error_message(wherry_event_error(event)), folder);
  check_blamed(wherry_event_error(event), 1, WHERRY_E_FILE, folder);
  CHECK_OK(wherry_event_free(event));
  CHECK_INT(server_count("requests"), 0);
}

TEST("U12 parts from bytes and files keep names and types, and hostile names stay one part") {
  const char *path = check_path("data.txt");
  check_write_file(path, "from a file", 11);
  wherry_request *request = new_request("POST", server_url("/echo"));
  CHECK_OK(wherry_request_add_part(request, "a", "1\0002", 3, NULL, NULL));
  CHECK_OK(wherry_request_add_part_file(request, "b", path, NULL, NULL));
  CHECK_OK(wherry_request_add_part(request, "c\"d\r\ne", "x", 1, "a\"b\r\n\xe5\xa4\xa9.jpg",
                                   "image/jpeg"));
  outcome got = send_and_wait(new_client(NULL), request);
  REQUIRE_STATUS(got.status, WHERRY_OK);
  wherry_json *json = new_json(got.body, got.count);
  CHECK_INT(wherry_json_count(json, "parts"), 3);
  CHECK_INT(wherry_json_get_integer(json, "parts/0/size", -1), 3);
  CHECK_TEXT(part_text(&got, 1, "filename"), "data.txt");
  long count;
  const uint8_t *bytes = echoed_part(&got, 1, &count);
  CHECK_BYTES(bytes, (size_t)count, "from a file", 11);
  CHECK_HOLDS(part_text(&got, 2, "filename"), "\xe5\xa4\xa9.jpg");

  request = new_request("POST", server_url("/echo"));
  CHECK_OK(wherry_request_add_part_file(request, "b", check_path("none"), NULL, NULL));
  CHECK_FAILS(wherry_client_send(new_client(NULL), request, new_queue(), NULL, NULL), WHERRY_E_FILE,
              "no_file");
  CHECK_INT(server_count("requests"), 1);
}

TEST("U12 a file part is read while it is sent, however large it is") {
  int64_t size = check_in_full() ? INT64_C(2) << 30 : 128 << 20;
  const char *path = check_path("large");
  check_write_file(path, "", 0);
  REQUIRE_INT(truncate(path, size), 0); /* sparse: it takes no space on the disk */
  wherry_client *client = new_client(NULL);
  wherry_request *request = new_request("POST", server_url("/sink"));
  CHECK_OK(wherry_request_add_part(request, "name", "value", 5, NULL, NULL));
  send_and_wait(client, request); /* the client has warmed up */
  long before = check_resident_kib();

  CHECK_OK(wherry_request_add_part_file(request, "file", path, NULL, NULL));
  outcome got = send_and_wait(client, request);

  CHECK_STATUS(got.status, WHERRY_OK);
  wherry_json *json = new_json(got.body, got.count);
  int64_t arrived = wherry_json_get_integer(json, "bytes", -1);
  CHECK(arrived > size && arrived < size + 4096);
  CHECK_INT(got.last_done, arrived);
  CHECK_INT(got.last_expected, arrived);
  CHECK(server_field(1, "Content-Length") != NULL);
  CHECK_GROWTH(before, 8 * 1024);
}
