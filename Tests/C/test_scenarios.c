/* Wherry: the case tables of Tests/Scenarios, shared with Swift and Python
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"
#include "server.h"

/* The table, parsed with the library's own functions; freed when the test ends. */
static wherry_json *table(const char *name) {
  long count;
  char *text = check_read_file(check_format("%s/%s", WHERRY_SCENARIOS, name), &count);
  REQUIRE(text != NULL);
  wherry_json *json = new_json(text, (size_t)count);
  REQUIRE(wherry_json_count(json, "cases") > 0);
  return json;
}

/* The text at a path of a case, freed with the test; NULL if it is missing. */
static char *text_of(const wherry_json *json, size_t index, const char *path) {
  const char *text =
      wherry_json_get_text(json, check_format("cases/%zu/%s", index, path), NULL, NULL);
  return text == NULL ? NULL : check_format("%s", text);
}

static bool is_set(const wherry_json *json, size_t index, const char *path) {
  return wherry_json_get_bool(json, check_format("cases/%zu/%s", index, path), false);
}

/* "http://127.0.0.1:PORT", or the same server by its other name. */
static char *origin(const char *host) {
  char *url = server_url("/");
  *strstr(url, "/@") = '\0';
  return check_format("http://%s%s", host, strrchr(url, ':'));
}

/* The text with {here} and {there} replaced. */
static char *filled(const char *text) {
  const struct {
    const char *mark;
    char *value;
  } marks[] = {{"{here}", origin("127.0.0.1")}, {"{there}", origin("localhost")}};
  char *result = check_format("%s", text);
  for (size_t i = 0; i < 2; i++) {
    char *found = strstr(result, marks[i].mark);
    if (found == NULL) continue;
    *found = '\0';
    result = check_format("%s%s%s", result, marks[i].value, found + strlen(marks[i].mark));
  }
  return result;
}

typedef enum joined { REQUEST, FORM, DOWNLOAD } joined;

/* Sends to the URL in one of three ways; the outcome has the /echo response. */
static outcome join(wherry_client *client, const char *url, joined kind, size_t row) {
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request(kind == FORM ? "POST" : "GET", url);
  const char *path = check_path("%zu", row);
  wherry_status status;
  if (kind == FORM) CHECK_OK(wherry_request_add_part(request, "a", "b", 1, NULL, NULL));
  if (kind == DOWNLOAD) status = wherry_client_download(client, request, path, queue, NULL, NULL);
  else status = wherry_client_send(client, request, queue, NULL, NULL);
  if (status != WHERRY_OK)
    return (outcome){.status = status, .reason = wherry_error_reason(wherry_last_error())};
  outcome got = next_done(queue);
  if (kind == DOWNLOAD && got.status == WHERRY_OK) {
    long count;
    got.body = check_read_file(path, &count);
    got.count = (size_t)count;
    CHECK_INT(unlink(path), 0);
  }
  return got;
}

TEST("C2 URLs of requests, forms, and downloads are joined as in the table") {
  wherry_json *json = table("url-joins.json");
  for (size_t i = 0; i < wherry_json_count(json, "cases"); i++) {
    const char *base = text_of(json, i, "base"), *error = text_of(json, i, "error");
    const char *url = filled(text_of(json, i, "url"));
    wherry_config *config = new_config();
    if (base != NULL) CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_BASE_URL, filled(base)));
    wherry_client *client = new_client(config);
    const char *host = text_of(json, i, "host");
    host = origin(host != NULL && strcmp(host, "there") == 0 ? "localhost" : "127.0.0.1");
    for (joined kind = REQUEST; kind <= DOWNLOAD; kind++) {
      outcome got = join(client, url, kind, i);
      if (error != NULL) {
        CHECK_INT(got.status, WHERRY_E_ARGUMENT);
        CHECK_TEXT(got.reason, error);
        continue;
      }
      CHECK_STATUS(got.status, WHERRY_OK);
      if (got.status != WHERRY_OK) continue;
      CHECK_TEXT(echoed(&got, "target"), text_of(json, i, "target"));
      CHECK_TEXT(echoed_header(&got, "Host"), host + strlen("http://"));
    }
  }
}

/* The styles that a case names. */
static void style(const wherry_json *json, size_t i, wherry_request *request) {
  const struct {
    const char *name;
    wherry_option option;
  } styles[] = {{"arrays", WHERRY_OPTION_ARRAY_STYLE},
                {"members", WHERRY_OPTION_MEMBER_STYLE},
                {"bools", WHERRY_OPTION_BOOL_STYLE}};
  for (size_t k = 0; k < 3; k++) {
    int64_t value =
        wherry_json_get_integer(json, check_format("cases/%zu/%s", i, styles[k].name), -1);
    if (value >= 0) CHECK_OK(wherry_request_set_option(request, styles[k].option, value));
  }
}

TEST("R6 R7 queries and forms match the table byte for byte") {
  wherry_json *json = table("query-encoding.json");
  wherry_client *client = new_client(NULL);
  for (size_t i = 0; i < wherry_json_count(json, "cases"); i++) {
    const char *query = text_of(json, i, "query");
    wherry_json *parameters = NULL;
    size_t count = 0;
    REQUIRE_OK(wherry_json_copy(json, check_format("cases/%zu/parameters", i), &parameters));
    const char *text = wherry_json_print(parameters, false, &count);

    wherry_request *request = new_request("GET", server_url("/echo"));
    CHECK_OK(wherry_request_set_parameters_json(request, text, count));
    style(json, i, request);
    outcome got = perform(client, request);
    const char *target = echoed(&got, "target");
    REQUIRE(target != NULL);
    const char *mark = strchr(target, '?');
    CHECK_TEXT(mark == NULL ? "" : mark + 1, query);

    request = new_request("GET", server_url("/echo?z=1"));
    CHECK_OK(wherry_request_set_parameters_json(request, text, count));
    style(json, i, request);
    got = perform(client, request);
    target = echoed(&got, "target");
    REQUIRE(target != NULL && strchr(target, '?') != NULL);
    CHECK_TEXT(strchr(target, '?') + 1, check_format("z=1%s%s", *query == '\0' ? "" : "&", query));

    /* A form's own field is last. */
    request = new_request("POST", server_url("/echo"));
    CHECK_OK(wherry_request_set_parameters_json(request, text, count));
    style(json, i, request);
    CHECK_OK(wherry_request_add_field(request, "z", "1"));
    got = perform(client, request);
    CHECK_TEXT(echoed_body(&got), check_format("%s%sz=1", query, *query == '\0' ? "" : "&"));
    CHECK_OK(wherry_json_free(parameters));
  }
}

TEST("SEC-U3 SEC-U6 credentials, headers, and bodies are sent only to their origin") {
  wherry_json *json = table("redirects.json");
  /* The other port serves HTTPS with a self-signed certificate. */
  wherry_client *client = new_client_with(WHERRY_OPTION_INSECURE, 1);
  for (size_t i = 0; i < wherry_json_count(json, "cases"); i++) {
    const char *to = text_of(json, i, "to"), *error = text_of(json, i, "error");
    const char *method = text_of(json, i, "method");
    char *target = strcmp(to, "port") == 0 ? server_tls_url("/echo") : server_url("/echo");
    if (strcmp(to, "host") == 0)
      target = check_format("%s%s", origin("localhost"), strstr(target, "/@"));
    int64_t status = wherry_json_get_integer(json, check_format("cases/%zu/status", i), 0);
    wherry_request *request = new_request(method, server_url("/redirect-to"));
    CHECK_OK(wherry_request_add_query(request, "status", check_format("%d", (int)status)));
    CHECK_OK(wherry_request_add_query(request, "url", target));
    CHECK_OK(wherry_request_set_header(request, "Authorization", "Bearer s"));
    CHECK_OK(wherry_request_set_header(request, "Cookie", "a=b"));
    CHECK_OK(wherry_request_set_header(request, "X-Secret", "s"));
    if (is_set(json, i, "body")) CHECK_OK(wherry_request_set_json(request, "{\"a\":1}", 7));
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_KEEP_AUTH_ACROSS_HOSTS,
                                       is_set(json, i, "keep")));
    size_t before = (size_t)server_count("requests");

    outcome got = perform(client, request);

    size_t after = (size_t)server_count("requests");
    if (error != NULL) {
      CHECK_STATUS(got.status, WHERRY_E_HTTP);
      CHECK_TEXT(got.reason, error);
      CHECK_INT(after, before + 1);
      continue;
    }
    CHECK_STATUS(got.status, WHERRY_OK);
    REQUIRE_INT(after, before + 2);
    wherry_json *log = server_log();
    const char *path = check_format("requests/%zu", after - 1);
    CHECK_TEXT(wherry_json_get_text(log, check_format("%s/method", path), NULL, NULL),
               text_of(json, i, "expect/method"));
    bool body = is_set(json, i, "expect/body"), credentials = is_set(json, i, "expect/credentials");
    CHECK_INT(wherry_json_get_integer(log, check_format("%s/received", path), -1), body ? 7 : 0);
    CHECK_OK(wherry_json_free(log));
    CHECK_INT(server_field(after - 1, "Authorization") != NULL, credentials);
    CHECK_INT(server_field(after - 1, "Cookie") != NULL, credentials);
    CHECK_INT(server_field(after - 1, "X-Secret") != NULL, is_set(json, i, "expect/custom"));
    CHECK_INT(server_field(after - 1, "Content-Type") != NULL, body);
  }
}

/* The raw image of a case of pictures.json, freed with the test. */
static uint8_t *recipe(int width, int height, int channels) {
  uint8_t *pixels = check_memory((size_t)(width * height * channels)), *at = pixels;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++)
      for (int c = 0; c < channels; c++) *at++ = (uint8_t)(3 * x + 5 * y + 40 * c + (x * y >> 4));
  return pixels;
}

/* The compression of a step. */
static wherry_compression *step_of(const wherry_json *json, size_t index, size_t step) {
  static const struct {
    const char *name;
    wherry_image_option option;
  } options[] = {{"max_width", WHERRY_IMAGE_MAX_WIDTH},
                 {"max_height", WHERRY_IMAGE_MAX_HEIGHT},
                 {"max_bytes", WHERRY_IMAGE_MAX_BYTES},
                 {"background", WHERRY_IMAGE_BACKGROUND_RGB},
                 {"subsampling", WHERRY_IMAGE_SUBSAMPLING}};
  const char *at = check_format("cases/%zu/steps/%zu", index, step);
  wherry_compression *made = NULL;
  double quality = wherry_json_get_number(json, check_format("%s/quality", at), 1);
  REQUIRE_OK(wherry_compression_new(quality, &made));
  for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
    int64_t value = wherry_json_get_integer(json, check_format("%s/%s", at, options[i].name), -1);
    if (value >= 0) REQUIRE_OK(wherry_compression_set_option(made, options[i].option, value));
  }
  if (wherry_json_get_bool(json, check_format("%s/progressive", at), false))
    REQUIRE_OK(wherry_compression_set_option(made, WHERRY_IMAGE_PROGRESSIVE, 1));
  if (wherry_json_get_bool(json, check_format("%s/optimize", at), false))
    REQUIRE_OK(wherry_compression_set_option(made, WHERRY_IMAGE_OPTIMIZE, 1));
  const char *format = wherry_json_get_text(json, check_format("%s/format", at), NULL, NULL);
  if (format != NULL) REQUIRE_OK(wherry_compression_set_type(made, format));
  return made;
}

TEST("U8 equal options give equal bytes in every language") {
  static const char *const formats[] = {"", "gray8", "rgb8", "rgba8", "bgra8"};
  static const int channels[] = {0, 1, 3, 4, 4};
  wherry_json *json = table("pictures.json");
  wherry_client *client = new_client(NULL);
  for (size_t i = 0; i < wherry_json_count(json, "cases"); i++) {
    int format = 0;
    while (strcmp(formats[format], text_of(json, i, "pixels")) != 0) REQUIRE(++format < 5);
    int width = (int)wherry_json_get_integer(json, check_format("cases/%zu/size/0", i), 0);
    int height = (int)wherry_json_get_integer(json, check_format("cases/%zu/size/1", i), 0);
    uint8_t *pixels = recipe(width, height, channels[format]);
    wherry_image *image = NULL;
    REQUIRE_OK(wherry_image_new_pixels(pixels, (size_t)(width * height * channels[format]),
                                       (wherry_pixel_format)format, width, height, 0, &image));
    size_t steps = wherry_json_count(json, check_format("cases/%zu/steps", i));
    for (size_t step = 0; step < steps; step++) {
      wherry_compression *compression = step_of(json, i, step);
      wherry_image *next = NULL;
      REQUIRE_OK(wherry_image_compress(image, compression, &next));
      CHECK_OK(wherry_image_free(image));
      CHECK_OK(wherry_compression_free(compression));
      image = next;
    }
    wherry_request *request = new_request("POST", server_url("/echo"));
    REQUIRE_OK(wherry_request_add_image(request, "p", image, NULL));
    outcome got = send_and_wait(client, request);
    CHECK_TEXT(echoed(&got, "parts/0/sha256"), text_of(json, i, "sha256"));
    CHECK_OK(wherry_image_free(image));
  }
}

/* Appends bytes given in hexadecimal, repeated this many times. */
static size_t append(uint8_t *bytes, size_t at, const char *hex, int64_t times) {
  for (; hex != NULL && times > 0; times--)
    for (const char *digit = hex; *digit != '\0'; digit += 2) {
      unsigned value;
      REQUIRE(sscanf(digit, "%2x", &value) == 1);
      if (bytes != NULL) bytes[at] = (uint8_t)value;
      at++;
    }
  return at;
}

TEST("SEC-R8 SEC-R9 unreadable images are each refused with their reason") {
  wherry_json *json = table("bad-pictures.json");
  for (size_t i = 0; i < wherry_json_count(json, "cases"); i++) {
    const char *head = text_of(json, i, "head"), *again = text_of(json, i, "again");
    int64_t times = wherry_json_get_integer(json, check_format("cases/%zu/times", i), 0);
    const char *tail = text_of(json, i, "tail");
    size_t count = append(NULL, append(NULL, append(NULL, 0, head, 1), again, times), tail, 1);
    uint8_t *bytes = check_memory(count + 1);
    append(bytes, append(bytes, append(bytes, 0, head, 1), again, times), tail, 1);
    wherry_image *image = NULL, *made = NULL;
    wherry_compression *compression = NULL;
    REQUIRE_OK(wherry_image_new_bytes(bytes, count, &image));
    REQUIRE_OK(wherry_compression_new(0.5, &compression));
    REQUIRE_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_FORMAT, WHERRY_IMAGE_JPEG));
    CHECK_STATUS(wherry_image_compress(image, compression, &made), WHERRY_E_IMAGE);
    CHECK_TEXT(wherry_error_reason(wherry_last_error()), text_of(json, i, "reason"));
    CHECK(made == NULL);
    CHECK_OK(wherry_image_free(image));
    CHECK_OK(wherry_compression_free(compression));
  }
}

TEST("U8 SEC-R10 every kind of image has the same colors as in another program") {
  wherry_json *json = table("picture-colours.json");
  for (size_t i = 0; i < wherry_json_count(json, "cases"); i++) {
    size_t count;
    const char *file = decoded_base64(text_of(json, i, "file"), &count);
    wherry_image *image = NULL, *made = NULL;
    wherry_compression *compression = NULL;
    REQUIRE_OK(wherry_image_new_bytes(file, count, &image));
    REQUIRE_OK(wherry_compression_new(1, &compression));
    REQUIRE_OK(wherry_compression_set_type(compression, text_of(json, i, "format")));
    REQUIRE_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_SUBSAMPLING, 444));
    int64_t ground = wherry_json_get_integer(json, check_format("cases/%zu/background", i), -1);
    if (ground >= 0)
      REQUIRE_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_BACKGROUND_RGB, ground));
    if (text_of(json, i, "animated") != NULL)
      REQUIRE_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_ANIMATED, 1));
    REQUIRE_OK(wherry_image_compress(image, compression, &made));

    wherry_image_info info = {.size = sizeof info};
    CHECK_OK(wherry_image_inspect(made, &info));
    CHECK_INT(info.components,
              wherry_json_get_integer(json, check_format("cases/%zu/components", i), 0));
    int width, height, worst = 0;
    size_t size, wanted_count;
    const uint8_t *bytes = wherry_image_bytes(made, &size);
    const uint8_t *ours = picture_decode_rgba(bytes, size, &width, &height);
    const uint8_t *wanted =
        (const uint8_t *)decoded_base64(text_of(json, i, "rgba"), &wanted_count);
    REQUIRE(ours != NULL);
    REQUIRE_INT((int64_t)wanted_count, (int64_t)width * height * 4);
    for (size_t at = 0; at < wanted_count; at++) {
      int off = abs((int)ours[at] - (int)wanted[at]);
      if (off > worst) worst = off;
    }
    int64_t tolerance = wherry_json_get_integer(json, check_format("cases/%zu/tolerance", i), 0);
    if (!CHECK(worst <= tolerance)) printf("  %s: %d\n", text_of(json, i, "name"), worst);
    CHECK_OK(wherry_image_free(made));
    CHECK_OK(wherry_image_free(image));
    CHECK_OK(wherry_compression_free(compression));
  }
}

/* The DONE of a request with a response of this Content-Type and body. */
static wherry_event *answered(wherry_client *client, const char *type, const char *base64) {
  char quoted[200], *to = quoted;
  for (const char *from = type; *from != '\0'; from++) {
    if (*from == '"') *to++ = '\\';
    *to++ = *from;
  }
  *to = '\0';
  server_script(
      check_format("{\"form\": [{\"headers\": [[\"Content-Type\", \"%s\"]],"
                   " \"body_base64\": \"%s\"}]}",
                   quoted, base64));
  wherry_queue *queue = new_queue();
  send_request(client, new_request("GET", server_url("/s/form")), queue, NULL);
  wherry_event *event = next_event(queue, WHERRY_EVENT_DONE);
  CHECK_STATUS(wherry_event_status(event), WHERRY_OK);
  return event;
}

TEST("R13 text uses the charset that the table expects") {
  wherry_json *json = table("charsets.json");
  wherry_client *client = new_client(NULL);
  for (size_t i = 0; i < wherry_json_count(json, "cases"); i++) {
    const char *type = text_of(json, i, "type");
    wherry_event *event = answered(client, type, text_of(json, i, "base64"));
    wherry_response *kept = NULL;
    CHECK_OK(wherry_response_copy(wherry_event_response(event), &kept));
    size_t count = 7;
    const char *text = wherry_response_text(wherry_event_response(event), &count);
    if (!CHECK_TEXT(text, text_of(json, i, "text"))) printf("  %s\n", type);
    CHECK_INT(count, strlen(text_of(json, i, "text")));
    CHECK(text == wherry_response_text(wherry_event_response(event), NULL));
    CHECK_OK(wherry_event_free(event));
    CHECK_TEXT(wherry_response_text(kept, NULL), text_of(json, i, "text"));
    CHECK_OK(wherry_response_free(kept));
  }
}

TEST("I3 images in formats that libraries decode have the pixels of another program") {
  wherry_json *json = table("formats.json");
  wherry_compression *first = NULL;
  REQUIRE_OK(wherry_compression_new(1, &first));
  CHECK_OK(wherry_compression_set_option(first, WHERRY_IMAGE_ANIMATED, 1));
  for (size_t i = 0; i < wherry_json_count(json, "cases"); i++) {
    size_t count, wanted_count, stride;
    const char *file = decoded_base64(text_of(json, i, "file"), &count);
    const uint8_t *wanted =
        (const uint8_t *)decoded_base64(text_of(json, i, "pixels"), &wanted_count);
    wherry_image *image = NULL, *pixels = NULL;
    wherry_pixel_format format;
    REQUIRE_OK(wherry_image_new_bytes(file, count, &image));
    wherry_image_info info = {.size = sizeof info};
    CHECK_OK(wherry_image_inspect(image, &info));
    CHECK_INT(info.format, wherry_image_recognise(file, count));
    bool is_animated = (info.flags & WHERRY_IMAGE_IS_ANIMATED) != 0;
    CHECK_INT(is_animated, is_set(json, i, "animated"));
    if (is_animated) {
      CHECK_FAILS(wherry_image_decode(image, WHERRY_PIXELS_RGBA8, NULL, &pixels), WHERRY_E_IMAGE,
                  "unsupported_image");
    }
    REQUIRE_OK(wherry_image_decode(image, WHERRY_PIXELS_RGBA8, first, &pixels));
    CHECK_OK(wherry_image_inspect(pixels, &info));
    const uint8_t *rows = wherry_image_pixels(pixels, &format, &stride);
    REQUIRE_INT((int64_t)wanted_count, (int64_t)info.width * info.height * 4);
    int worst = 0;
    for (int at = 0; at < info.width * info.height * 4; at++) {
      size_t y = (size_t)at / 4 / (size_t)info.width;
      int off =
          abs((int)rows[y * stride + (size_t)at % ((size_t)info.width * 4)] - (int)wanted[at]);
      if (off > worst) worst = off;
    }
    int64_t tolerance = wherry_json_get_integer(json, check_format("cases/%zu/tolerance", i), 0);
    if (!CHECK(worst <= tolerance)) printf("  %s: %d\n", text_of(json, i, "name"), worst);
    CHECK_OK(wherry_image_free(pixels));
    CHECK_OK(wherry_image_free(image));
  }
  CHECK_OK(wherry_compression_free(first));
}

TEST("R13 an image has the same pixels as in another program, and an invalid one is refused") {
  wherry_json *json = table("picture-colours.json");
  wherry_client *client = new_client(NULL);
  wherry_image *image = NULL, *pixels = NULL;
  for (size_t i = 0; i < wherry_json_count(json, "cases"); i++) {
    wherry_event *event = answered(client, "image/any", text_of(json, i, "file"));
    size_t count, wanted_count, stride;
    const uint8_t *body = wherry_response_body(wherry_event_response(event), &count);
    REQUIRE_OK(wherry_image_new_bytes(body, count, &image));
    CHECK_OK(wherry_event_free(event));
    CHECK(wherry_image_pixels(image, NULL, NULL) == NULL);

    bool is_flat = strcmp(text_of(json, i, "format"), "jpeg") == 0;
    wherry_compression *ground = NULL;
    REQUIRE_OK(wherry_compression_new(1, &ground));
    int64_t colour = wherry_json_get_integer(json, check_format("cases/%zu/background", i), -1);
    if (colour >= 0)
      CHECK_OK(wherry_compression_set_option(ground, WHERRY_IMAGE_BACKGROUND_RGB, colour));
    if (text_of(json, i, "animated") != NULL)
      CHECK_OK(wherry_compression_set_option(ground, WHERRY_IMAGE_ANIMATED, 1));
    wherry_pixel_format wanted_format = is_flat ? WHERRY_PIXELS_RGB8 : WHERRY_PIXELS_RGBA8, format;
    REQUIRE_OK(wherry_image_decode(image, wanted_format, ground, &pixels));
    wherry_image_info info = {.size = sizeof info};
    CHECK_OK(wherry_image_inspect(pixels, &info));
    CHECK_INT(info.format, WHERRY_IMAGE_KEEP);
    CHECK_INT(info.width, wherry_json_get_integer(json, check_format("cases/%zu/size/0", i), 0));
    CHECK_INT(info.height, wherry_json_get_integer(json, check_format("cases/%zu/size/1", i), 0));
    const uint8_t *rows = wherry_image_pixels(pixels, &format, &stride);
    CHECK_INT(format, wanted_format);
    const uint8_t *wanted =
        (const uint8_t *)decoded_base64(text_of(json, i, "rgba"), &wanted_count);
    REQUIRE_INT((int64_t)wanted_count, (int64_t)info.width * info.height * 4);
    int worst = 0, channels = is_flat ? 3 : 4;
    for (int at = 0; at < info.width * info.height * channels; at++) {
      int y = at / channels / info.width, x = at / channels % info.width, c = at % channels;
      int off = abs((int)rows[(size_t)y * stride + (size_t)(x * channels + c)] -
                    (int)wanted[(y * info.width + x) * 4 + c]);
      if (off > worst) worst = off;
    }
    int64_t tolerance = wherry_json_get_integer(json, check_format("cases/%zu/tolerance", i), 0);
    if (!CHECK(worst <= tolerance)) printf("  %s: %d\n", text_of(json, i, "name"), worst);
    CHECK_FAILS(wherry_image_decode(image, (wherry_pixel_format)5, NULL, &pixels),
                WHERRY_E_ARGUMENT, "bad_value");
    CHECK_OK(wherry_image_free(pixels));
    CHECK_OK(wherry_image_free(image));
    CHECK_OK(wherry_compression_free(ground));
  }
  REQUIRE_OK(wherry_image_new_bytes("no picture", 10, &image));
  CHECK_STATUS(wherry_image_decode(image, WHERRY_PIXELS_NONE, NULL, &pixels), WHERRY_E_IMAGE);
  CHECK_OK(wherry_image_free(image));
}
