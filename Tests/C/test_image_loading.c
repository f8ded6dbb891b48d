/* Wherry: row I1 of features.md, from C: images that are loaded, decoded, and kept in memory
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"
#include "server.h"

/* Serves bytes as /s/NAME, twice, with this status and Cache-Control. */
static void serve(const char *name, const void *bytes, size_t count, int status,
                  const char *control) {
  const char *text = encoded_base64(bytes, count);
  size_t capacity = strlen(text) * 2 + 500;
  char *json = malloc(capacity);
  const char *step =
      "{\"status\": %d, \"headers\": [[\"Cache-Control\", \"%s\"]], "
      "\"body_base64\": \"%s\"}";
  int length = snprintf(json, capacity, "{\"%s\": [", name);
  for (int i = 0; i < 2; i++) {
    if (i) length += snprintf(json + length, capacity - length, ", ");
    length += snprintf(json + length, capacity - length, step, status, control, text);
  }
  snprintf(json + length, capacity - length, "]}");
  server_script(json);
  free(json);
}

static void serve_picture(const char *name) {
  size_t count;
  const uint8_t *jpeg = picture_jpeg(160, 120, 90, &count);
  serve(name, jpeg, count, 200, "max-age=60");
}

/* Freed by the caller; a size of 0 is no limit. */
static wherry_compression *box(int width, int height, wherry_resize_mode mode) {
  wherry_compression *compression = NULL;
  REQUIRE_OK(wherry_compression_new(1, &compression));
  REQUIRE_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_MAX_WIDTH, width));
  REQUIRE_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_MAX_HEIGHT, height));
  REQUIRE_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_RESIZE_MODE, mode));
  return compression;
}

static wherry_transfer *load(wherry_client *client, const char *url,
                             const wherry_compression *compression, wherry_queue *queue) {
  wherry_transfer *transfer = NULL;
  REQUIRE_OK(wherry_client_load_image(client, NULL, url, WHERRY_PIXELS_NONE, compression, queue,
                                      NULL, &transfer));
  return keep_transfer(transfer);
}

/* Waits for the load; the size of the image, or the status of the failure. */
static wherry_status loaded(wherry_client *client, const char *url,
                            const wherry_compression *compression, int *width, int *height) {
  wherry_record record = {.size = sizeof record};
  wherry_transfer *transfer = NULL;
  REQUIRE_OK(wherry_client_load_image_for(client, NULL, url, WHERRY_PIXELS_NONE, compression, -1,
                                          &transfer, &record));
  CHECK(transfer == NULL);
  CHECK_INT(record.kind, WHERRY_EVENT_DONE);
  wherry_image *image = NULL;
  *width = *height = 0;
  if (record.status) {
    CHECK_FAILS(wherry_event_open_image(record.event, &image), WHERRY_E_STATE, "wrong_state");
  } else {
    CHECK_OK(wherry_event_open_image(record.event, &image));
    wherry_image_info info = {.size = sizeof info};
    CHECK_OK(wherry_image_inspect(image, &info));
    *width = info.width;
    *height = info.height;
    CHECK_OK(wherry_image_free(image));
  }
  CHECK_OK(wherry_event_free(record.event));
  return record.status;
}

static wherry_image_usage usage_of(wherry_client *client) {
  wherry_image_usage usage = {.size = sizeof usage};
  CHECK_OK(wherry_client_image_usage(client, &usage));
  CHECK_INT(usage.size, sizeof usage);
  return usage;
}

static bool is_cached(wherry_client *client, const char *url, const wherry_compression *settings) {
  wherry_image *image = NULL;
  wherry_status status =
      wherry_client_cached_image(client, NULL, url, WHERRY_PIXELS_NONE, settings, &image);
  if (status == WHERRY_OK) return wherry_image_free(image) == WHERRY_OK;
  CHECK_FAILS(status, WHERRY_E_CACHE_MISS, "missing");
  CHECK(image == NULL);
  return false;
}

TEST("I1 an image is decoded once at its size, and its pixels outlive the memory and the client") {
  size_t count;
  const uint8_t *png = picture_png(160, 120, &count);
  serve("a", png, count, 200, "max-age=60");
  const char *url = server_url("/s/a");
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  load(client, url, NULL, queue);
  wherry_event *done = next_event(queue, WHERRY_EVENT_DONE);
  CHECK_STATUS(wherry_event_status(done), WHERRY_OK);
  CHECK(wherry_event_response(done) != NULL);
  wherry_image *first = NULL, *again = NULL;
  CHECK_OK(wherry_event_open_image(done, &first));

  /* From the memory: the same pixels, without a response. */
  load(client, url, NULL, queue);
  done = next_event(queue, WHERRY_EVENT_DONE);
  CHECK_STATUS(wherry_event_status(done), WHERRY_OK);
  CHECK(wherry_event_response(done) == NULL);
  CHECK_OK(wherry_event_open_image(done, &again));
  wherry_pixel_format format;
  size_t stride;
  const uint8_t *pixels = wherry_image_pixels(first, &format, &stride);
  CHECK(wherry_image_pixels(again, NULL, NULL) == pixels);
  CHECK_INT(format, WHERRY_PIXELS_RGB8);
  CHECK_INT(stride, 160 * 3);
  CHECK(is_cached(client, url, NULL));
  wherry_image_usage usage = usage_of(client);
  CHECK_INT(usage.images, 1);
  CHECK_INT(usage.image_bytes, 160 * 120 * 3);
  CHECK_INT(usage.hits, 2);
  CHECK_INT(usage.misses, 1);
  CHECK_INT(usage.requests, 1);

  CHECK_OK(wherry_client_clear_images(client));
  CHECK(!is_cached(client, url, NULL));
  CHECK_OK(wherry_image_free(again));
  CHECK_OK(wherry_client_free(client));
  CHECK(memcmp(pixels, picture_pixels(160, 120), 160 * 120 * 3) == 0);
  CHECK_OK(wherry_image_free(first));
  CHECK_INT(server_count("requests"), 1);
}

TEST("I1 twenty loads share one request, those of different sizes too, and the size is decoded") {
  serve_picture("a");
  const char *url = server_url("/s/a?gate=g");
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_compression *sizes[] = {NULL, box(80, 0, WHERRY_RESIZE_FIT),
                                 box(40, 40, WHERRY_RESIZE_CROP), box(40, 40, WHERRY_RESIZE_PAD)};
  for (int i = 0; i < 20; i++) load(client, url, sizes[i % 4], queue);
  REQUIRE(server_wait("requests=1"));
  CHECK_INT(wherry_client_count(client, WHERRY_MATCH_ALL, NULL), 20);
  server_open("g");
  for (int i = 0; i < 20; i++) CHECK_STATUS(next_done(queue).status, WHERRY_OK);

  wherry_image_usage usage = usage_of(client);
  CHECK_INT(usage.images, 4);
  CHECK_INT(usage.image_bytes, (160 * 120 + 80 * 60 + 2 * 40 * 40) * 3);
  CHECK_INT(usage.requests, 1);
  CHECK_INT(usage.misses, 20);
  int width, height;
  CHECK_STATUS(loaded(client, url, sizes[1], &width, &height), WHERRY_OK);
  CHECK(width == 80 && height == 60);
  CHECK_STATUS(loaded(client, url, sizes[2], &width, &height), WHERRY_OK);
  CHECK(width == 40 && height == 40);
  CHECK_INT(server_count("requests"), 1);
  for (int i = 1; i < 4; i++) CHECK_OK(wherry_compression_free(sizes[i]));
}

TEST("I1 a cancelled load leaves the others, and the last cancel ends the request") {
  serve_picture("a");
  const char *url = server_url("/s/a?gate=g"), *silent = server_url("/silent");
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_transfer *loads[3];
  for (int i = 0; i < 3; i++) loads[i] = load(client, url, NULL, queue);
  REQUIRE(server_wait("requests=1"));
  CHECK_OK(wherry_transfer_cancel(loads[0]));
  outcome got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_E_CANCELLED);
  CHECK(got.id == wherry_transfer_id(loads[0]));
  server_open("g");
  for (int i = 0; i < 2; i++) CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  CHECK_INT(server_count("requests"), 1);

  for (int i = 0; i < 3; i++) loads[i] = load(client, silent, NULL, queue);
  REQUIRE(server_wait("requests=2"));
  for (int i = 0; i < 3; i++) CHECK_OK(wherry_transfer_cancel(loads[i]));
  for (int i = 0; i < 3; i++) CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
  CHECK(server_wait("ended=2"));
  CHECK(queue_is_empty(queue));

  /* The end of the client ends all loads. */
  for (int i = 0; i < 3; i++) load(client, silent, NULL, queue);
  CHECK_OK(wherry_client_prefetch_image(client, NULL, silent, WHERRY_PIXELS_NONE, NULL));
  REQUIRE(server_wait("requests=3"));
  CHECK_OK(wherry_client_free(client));
  for (int i = 0; i < 3; i++) CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
  CHECK(queue_is_empty(queue));
}

TEST("I1 prefetched images need no request, and a load raises their priority") {
  for (const char *name = "abcd"; *name; name++) serve_picture((char[]){*name, 0});
  wherry_client *client = new_client_with(WHERRY_OPTION_MAX_PER_HOST, 1);
  wherry_queue *queue = new_queue();
  const char *urls[] = {server_url("/s/a?gate=g"), server_url("/s/b"), server_url("/s/c"),
                        server_url("/s/d")};
  load(client, urls[0], NULL, queue);
  REQUIRE(server_wait("requests=1"));
  for (int i = 1; i < 4; i++)
    CHECK_OK(wherry_client_prefetch_image(client, NULL, urls[i], WHERRY_PIXELS_NONE, NULL));
  wherry_transfer *wanted = load(client, urls[3], NULL, queue);
  CHECK_OK(wherry_transfer_set_priority(wanted, 5));
  CHECK_INT(wherry_client_count(client, WHERRY_MATCH_ALL, NULL), 5);
  /* Another host has a separate slot: after its response, all of them are waiting. */
  const char *other = strchr(server_url("/text/other") + strlen("http://"), ':');
  CHECK_STATUS(
      perform(client, new_request("GET", check_format("http://localhost%s", other))).status,
      WHERRY_OK);
  server_open("g");
  CHECK_OK(wherry_client_wait(client, WHERRY_MATCH_ALL, NULL, -1));
  for (int i = 0; i < 2; i++) CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  wherry_json *log = server_log();
  const char *order[] = {"/s/a", "/text/other", "/s/d", "/s/b", "/s/c"};
  for (size_t i = 0; i < 5; i++) {
    const char *path = wherry_json_get_text(log, check_format("requests/%zu/path", i), "", NULL);
    CHECK_TEXT(path, order[i]);
  }
  CHECK_OK(wherry_json_free(log));

  int width, height;
  for (int i = 0; i < 4; i++) {
    CHECK_STATUS(loaded(client, urls[i], NULL, &width, &height), WHERRY_OK);
    CHECK(width == 160 && height == 120);
  }
  CHECK_INT(server_count("requests"), 5);
}

TEST("I1 the least recently used image is removed, and changed settings remove all") {
  const char *urls[3];
  for (int i = 0; i < 3; i++) {
    serve_picture((char[]){'a' + i, 0});
    urls[i] = server_url("/s/%c", 'a' + i);
  }
  wherry_client *client = new_client_with(WHERRY_OPTION_IMAGE_MEMORY_BYTES, 2 * 160 * 120 * 3);
  int width, height;
  CHECK_STATUS(loaded(client, urls[0], NULL, &width, &height), WHERRY_OK);
  CHECK_STATUS(loaded(client, urls[1], NULL, &width, &height), WHERRY_OK);
  CHECK(is_cached(client, urls[0], NULL));
  CHECK_STATUS(loaded(client, urls[2], NULL, &width, &height), WHERRY_OK);
  CHECK(is_cached(client, urls[0], NULL));
  CHECK(!is_cached(client, urls[1], NULL));
  CHECK(is_cached(client, urls[2], NULL));
  CHECK_OK(wherry_client_set_option(client, WHERRY_OPTION_IMAGE_MEMORY_BYTES, 160 * 120 * 3));
  CHECK(!is_cached(client, urls[0], NULL));
  CHECK(is_cached(client, urls[2], NULL));
  CHECK_INT(usage_of(client).limit_bytes, 160 * 120 * 3);
  CHECK_OK(wherry_client_set_header(client, "X-User", "2"));
  CHECK(!is_cached(client, urls[2], NULL));
}

TEST("I1 broken images, other files, and error statuses fail, and are not kept") {
  size_t count;
  const uint8_t *jpeg = picture_jpeg(160, 120, 90, &count);
  serve("cut", jpeg, count / 2, 200, "max-age=60");
  serve("text", "<html>Please log in</html>", 26, 200, "max-age=60");
  serve("gone", jpeg, count, 404, "max-age=60");
  serve("large", jpeg, count, 200, "max-age=60");
  serve("secret", jpeg, count, 200, "no-store");
  wherry_compression *small = NULL;
  REQUIRE_OK(wherry_compression_new(1, &small));
  REQUIRE_OK(wherry_compression_set_option(small, WHERRY_IMAGE_MAX_PIXELS, 1000));
  struct {
    const char *path;
    const wherry_compression *compression;
    wherry_status status;
    const char *reason;
  } cases[] = {
      {"/s/cut", NULL, WHERRY_E_IMAGE, "truncated_image"},
      {"/s/text", NULL, WHERRY_E_IMAGE, "bad_image"},
      {"/s/gone", NULL, WHERRY_E_HTTP, "http_status"},
      {"/s/large", small, WHERRY_E_IMAGE, "image_too_large"},
      {"/s/secret", NULL, WHERRY_OK, ""},
  };
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    for (int round = 0; round < 2; round++) {
      load(client, server_url("%s", cases[i].path), cases[i].compression, queue);
      outcome got = next_done(queue);
      CHECK_STATUS(got.status, cases[i].status);
      CHECK_TEXT(got.reason, cases[i].reason);
      if (cases[i].status == WHERRY_E_IMAGE) CHECK_HOLDS(got.message, cases[i].path);
    }
  }
  CHECK_INT(usage_of(client).images, 0);
  CHECK_INT(server_count("requests"), 10);
  CHECK_OK(wherry_compression_free(small));
}

TEST("I1 a load is a GET without a body, of a URL or a request") {
  serve_picture("a");
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  const wherry_pixel_format none = WHERRY_PIXELS_NONE;
  wherry_request *post = new_request("POST", "https://example.org/");
  CHECK_FAILS(wherry_client_load_image(client, post, NULL, none, NULL, queue, NULL, NULL),
              WHERRY_E_ARGUMENT, "bad_method");
  wherry_request *with_body = new_request("GET", "https://example.org/");
  REQUIRE_OK(wherry_request_set_body(with_body, "a", 1, NULL));
  CHECK_FAILS(wherry_client_load_image(client, with_body, NULL, none, NULL, queue, NULL, NULL),
              WHERRY_E_ARGUMENT, "bad_parameters");
  CHECK_FAILS(wherry_client_load_image(client, NULL, NULL, none, NULL, queue, NULL, NULL),
              WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_FAILS(wherry_client_load_image(client, NULL, "https://", none, NULL, queue, NULL, NULL),
              WHERRY_E_ARGUMENT, "bad_url");
  CHECK_FAILS(wherry_client_load_image(client, post, NULL, 77, NULL, queue, NULL, NULL),
              WHERRY_E_ARGUMENT, "bad_value");
  wherry_compression *half = box(100, 0, WHERRY_RESIZE_CROP);
  CHECK_FAILS(
      wherry_client_load_image(client, NULL, server_url("/s/a"), none, half, queue, NULL, NULL),
      WHERRY_E_ARGUMENT, "bad_parameters");
  CHECK_OK(wherry_compression_free(half));
  CHECK(queue_is_empty(queue));

  wherry_request *request = new_request("GET", server_url("/s/a"));
  REQUIRE_OK(wherry_request_set_header(request, "X-User", "2"));
  CHECK_OK(wherry_client_load_image(client, request, NULL, WHERRY_PIXELS_GRAY8, NULL, queue, NULL,
                                    NULL));
  wherry_event *done = next_event(queue, WHERRY_EVENT_DONE);
  wherry_image *image = NULL;
  REQUIRE_OK(wherry_event_open_image(done, &image));
  wherry_pixel_format format;
  CHECK(wherry_image_pixels(image, &format, NULL) != NULL);
  CHECK_INT(format, WHERRY_PIXELS_GRAY8);
  CHECK_OK(wherry_image_free(image));
  CHECK_TEXT(server_field(0, "X-User"), "2");
  /* Another request: it is another image. */
  CHECK(!is_cached(client, server_url("/s/a"), NULL));
}

/* Loads an image with a request that has the hook ADAPT and this key, and answers the hook. */
static void load_adapted(wherry_client *client, wherry_queue *queue, const char *url, int key,
                         int *hooks) {
  wherry_request *request = new_request("GET", url);
  REQUIRE_OK(wherry_request_set_hooks(request, WHERRY_HOOK_ADAPT));
  REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_HOOKS_KEY, key));
  wherry_transfer *transfer = NULL;
  REQUIRE_OK(wherry_client_load_image(client, request, NULL, WHERRY_PIXELS_NONE, NULL, queue, NULL,
                                      &transfer));
  keep_transfer(transfer);
  wherry_event *event = NULL;
  REQUIRE_OK(wherry_queue_next(queue, 600000, &event));
  for (*hooks = 0; wherry_event_get_kind(event) == WHERRY_EVENT_HOOK; ++*hooks) {
    CHECK_INT(wherry_event_detail(event), WHERRY_HOOK_ADAPT);
    CHECK_OK(wherry_event_resolve_adapt(event, true));
    CHECK_OK(wherry_event_free(event));
    REQUIRE_OK(wherry_queue_next(queue, 600000, &event));
  }
  CHECK_INT(wherry_event_get_kind(event), WHERRY_EVENT_DONE);
  CHECK_STATUS(wherry_event_status(event), WHERRY_OK);
  CHECK_OK(wherry_event_free(event));
}

TEST("I1 a load with hooks shares its image only with loads of the same key") {
  serve_picture("a");
  serve_picture("b");
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  const char *a = check_format("%s", server_url("/s/a")), *b = server_url("/s/b");
  int hooks = 0;
  load_adapted(client, queue, a, 0, &hooks);
  CHECK_INT(hooks, 1);
  CHECK(!is_cached(client, a, NULL));
  load_adapted(client, queue, a, 0, &hooks);
  CHECK_INT(hooks, 1);
  load_adapted(client, queue, b, 7, &hooks);
  CHECK_INT(hooks, 1);
  CHECK(!is_cached(client, b, NULL));
  load_adapted(client, queue, b, 7, &hooks);
  CHECK_INT(hooks, 0);
  load_adapted(client, queue, b, 8, &hooks);
  CHECK_INT(hooks, 1);
  CHECK_INT(server_count("requests"), 4);
}

/* guide: begin load */
/* Returns the pixels of a thumbnail, which the caller frees; NULL after an error. */
static wherry_image *load_thumbnail(wherry_client *client, const char *url) {
  wherry_compression *box = NULL;
  wherry_image *pixels = NULL;
  wherry_transfer *transfer = NULL;
  wherry_record record = {.size = sizeof record};
  wherry_status status = wherry_compression_new(1, &box);
  wherry_compression_set_option(box, WHERRY_IMAGE_MAX_WIDTH, 100);
  wherry_compression_set_option(box, WHERRY_IMAGE_MAX_HEIGHT, 100);
  wherry_compression_set_option(box, WHERRY_IMAGE_RESIZE_MODE, WHERRY_RESIZE_CROP);
  if (status == WHERRY_OK)
    status = wherry_client_load_image_for(client, NULL, url, WHERRY_PIXELS_RGBA8, box, -1,
                                          &transfer, &record);
  if (status == WHERRY_OK) status = record.status;
  if (status == WHERRY_OK) status = wherry_event_open_image(record.event, &pixels);
  if (status != WHERRY_OK) printf("%s: %s\n", url, wherry_status_name(status));
  wherry_event_free(record.event);
  wherry_compression_free(box);
  return pixels;
}
/* guide: end load */

TEST("I1 the sample of the guide works") {
  serve_picture("a");
  wherry_client *client = new_client(NULL);
  wherry_image *pixels = load_thumbnail(client, server_url("/s/a"));
  size_t stride = 0;
  REQUIRE(wherry_image_pixels(pixels, NULL, &stride) != NULL);
  CHECK_INT(stride, 100 * 4);
  CHECK_OK(wherry_image_free(pixels));
  CHECK(load_thumbnail(client, server_url("/status/404")) == NULL);
}
