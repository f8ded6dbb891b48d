/* Wherry: rows U12 to U15 and U24 of features.md, from C: sources of bodies and parts
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"
#include "server.h"

enum { COUNT = 300000 };

/* `count` bytes that are not text and repeat late. */
static uint8_t *some_bytes(size_t count) {
  uint8_t *bytes = check_memory(count + 1);
  for (size_t i = 0; i < count; i++) bytes[i] = (uint8_t)(i * 7 + i / 251 + (i >> 13));
  bytes[count] = 0;
  return bytes;
}

static const char *bytes_file(const char *name, const void *bytes, size_t count) {
  const char *path = check_path("%s", name);
  check_write_file(path, bytes, count);
  return path;
}

static wherry_image *one_pixel(const char *file_name) {
  wherry_image *image = NULL;
  REQUIRE_OK(wherry_image_new_pixels("abc", 3, WHERRY_PIXELS_RGB8, 1, 1, 0, &image));
  if (file_name != NULL) CHECK_OK(wherry_image_set_file_name(image, file_name));
  return image;
}

/* A header of an echoed part, or NULL; "a, b" if it was sent twice. */
static const char *part_field(const outcome *got, size_t part, const char *name) {
  char *found = NULL;
  for (size_t i = 0;; i++) {
    const char *one = echoed(got, check_format("parts/%zu/headers/%zu/0", part, i));
    if (one == NULL) return found;
    if (strcmp(one, name) != 0) continue;
    const char *value = echoed(got, check_format("parts/%zu/headers/%zu/1", part, i));
    found = check_format("%s%s%s", found ? found : "", found ? ", " : "", value);
  }
}

/* Writes these bytes on demand, in chunks of at most `most`; then returns the DONE. */
static outcome write_all(wherry_queue *queue, wherry_transfer *transfer, const uint8_t *bytes,
                         size_t count, size_t most) {
  size_t written = 0;
  while (written < count) {
    CHECK_OK(wherry_event_free(next_event(queue, WHERRY_EVENT_WANT_BODY)));
    while (written < count) {
      size_t left = count - written, taken = 0;
      wherry_status status =
          wherry_transfer_write(transfer, bytes + written, left < most ? left : most, &taken);
      if (status == WHERRY_E_BUSY) break;
      REQUIRE_OK(status);
      written += taken;
    }
  }
  CHECK_OK(wherry_transfer_finish(transfer));
  return done_of(queue, transfer);
}

/* The server received these bytes as the part. */
static void check_part(const outcome *got, size_t index, const void *bytes, size_t count) {
  long found = -1;
  const uint8_t *part = echoed_part(got, index, &found);
  if (CHECK_INT(found, (long)count)) CHECK_BYTES(part, (size_t)found, bytes, count);
}

TEST("U12 all parts have headers, and images too") {
  wherry_request *request = new_request("POST", server_url("/echo"));
  CHECK_FAILS(wherry_request_set_part_header(request, "X-A", "b"), WHERRY_E_STATE, "wrong_state");
  CHECK_OK(wherry_request_add_part(request, "a", "1", 1, "a.txt", NULL));
  CHECK_OK(wherry_request_set_part_header(request, "X-First", "1"));
  CHECK_OK(wherry_request_set_part_header(request, "x-first", "2"));
  CHECK_OK(wherry_request_set_part_header(request, "X-Gone", "3"));
  CHECK_OK(wherry_request_set_part_header(request, "X-Gone", NULL));
  wherry_image *image = one_pixel(NULL);
  CHECK_OK(wherry_request_add_image(request, "p", image, NULL));
  CHECK_OK(wherry_request_set_part_header(request, "X-Picture", "yes"));
  outcome got = send_and_wait(new_client(NULL), request);
  REQUIRE_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(part_field(&got, 0, "x-first"), "2");
  CHECK(part_field(&got, 0, "X-Gone") == NULL);
  CHECK_TEXT(part_field(&got, 1, "X-Picture"), "yes");

  static const char *const bad[][2] = {{"X-A", "b\r\nX-C: d"},
                                       {"X A", "b"},
                                       {"", "b"},
                                       {"content-disposition", "form-data"},
                                       {"Content-Type", "text/plain"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK_FAILS(wherry_request_set_part_header(request, bad[i][0], bad[i][1]), WHERRY_E_ARGUMENT,
                "bad_header");
  CHECK_OK(wherry_image_free(image));
}

TEST("U12 parts of known size are written while the form is sent, next to other parts") {
  const uint8_t *bytes = some_bytes(900006);
  wherry_request *request = new_request("POST", server_url("/echo"));
  CHECK_OK(wherry_request_add_part(request, "before", "1", 1, NULL, NULL));
  CHECK_OK(wherry_request_add_part_stream(request, "s", 900001, "a.bin", "x/first"));
  CHECK_OK(wherry_request_add_part_stream(request, "none", 0, NULL, NULL));
  CHECK_OK(wherry_request_add_part_file(request, "f", bytes_file("f.txt", "file", 4), NULL, NULL));
  wherry_image *image = one_pixel("p.png");
  CHECK_OK(wherry_request_add_image(request, "p", image, NULL));
  CHECK_OK(wherry_request_add_part_stream(request, "t", 5, NULL, NULL));
  CHECK_OK(wherry_request_add_part(request, "after", "2", 1, NULL, NULL));
  wherry_queue *queue = new_queue();
  wherry_client *client = new_client(NULL);
  wherry_transfer *transfer = send_request(client, request, queue, NULL);
  outcome got = write_all(queue, transfer, bytes, 900006, 100000);
  REQUIRE_STATUS(got.status, WHERRY_OK);
  check_part(&got, 1, bytes, 900001);
  CHECK_TEXT(echoed(&got, "parts/1/filename"), "a.bin");
  CHECK_TEXT(echoed(&got, "parts/1/type"), "x/first");
  check_part(&got, 2, "", 0);
  check_part(&got, 3, "file", 4);
  CHECK_TEXT(echoed(&got, "parts/4/name"), "p0");
  check_part(&got, 5, bytes + 900001, 5);
  CHECK_TEXT(echoed(&got, "parts/6/text"), "2");
  CHECK(server_field(0, "Content-Length") != NULL);

  /* Fewer bytes than announced; no writer; no size; several requests. */
  request = new_request("POST", server_url("/sink"));
  CHECK_FAILS(wherry_request_add_part_stream(request, "s", -1, NULL, NULL), WHERRY_E_ARGUMENT,
              "bad_value");
  CHECK_OK(wherry_request_add_part_stream(request, "s", 5, NULL, NULL));
  transfer = send_request(client, request, queue, NULL);
  got = write_all(queue, transfer, bytes, 4, 4);
  CHECK_STATUS(got.status, WHERRY_E_NETWORK);
  CHECK_TEXT(got.reason, "truncated");
  wherry_response *response = NULL;
  CHECK_FAILS(wherry_client_perform(client, request, &response), WHERRY_E_STATE, "needs_queue");
  CHECK_OK(wherry_request_add_image(request, "p", image, NULL));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_SEPARATE_IMAGES, 2));
  CHECK_FAILS(wherry_client_send(client, request, queue, NULL, NULL), WHERRY_E_ARGUMENT,
              "bad_argument");
  CHECK_OK(wherry_image_free(image));
}

/* The other half of U13, a body replayed after a Digest 401, is in the tests of credentials. */
TEST("U13 a redirect gets the complete body again from any source") {
  const uint8_t *bytes = some_bytes(COUNT);
  const char *path = bytes_file("body.bin", bytes, COUNT);
  wherry_client *client = new_client(NULL);
  wherry_image *image = one_pixel(NULL);
  for (int status = 307; status <= 308; status++) {
    for (int kind = 0; kind < 3; kind++) {
      wherry_request *request = new_request("POST", server_url("/redirect/2?status=%d", status));
      if (kind == 0) CHECK_OK(wherry_request_set_body(request, bytes, COUNT, NULL));
      if (kind == 1) CHECK_OK(wherry_request_set_body_file(request, path, NULL));
      if (kind == 2) {
        CHECK_OK(wherry_request_add_part(request, "b", bytes, COUNT, "b", NULL));
        CHECK_OK(wherry_request_add_part_file(request, "f", path, NULL, NULL));
        CHECK_OK(wherry_request_add_image(request, "p", image, NULL));
      }
      outcome got = send_and_wait(client, request);
      REQUIRE_STATUS(got.status, WHERRY_OK);
      if (kind == 2) {
        check_part(&got, 0, bytes, COUNT);
        check_part(&got, 1, bytes, COUNT);
        CHECK_TEXT(echoed(&got, "parts/2/name"), "p0");
      } else {
        CHECK_BYTES(echoed_body(&got), COUNT, bytes, COUNT);
      }
    }
    wherry_request *request = new_request("POST", server_url("/redirect/1?status=%d", status));
    CHECK_OK(wherry_request_add_part_stream(request, "s", 1000, NULL, NULL));
    wherry_queue *queue = new_queue();
    wherry_transfer *transfer = send_request(client, request, queue, NULL);
    outcome got = write_all(queue, transfer, bytes, 1000, 1000);
    CHECK_STATUS(got.status, WHERRY_E_HTTP);
    CHECK_TEXT(got.reason, "redirect_refused");
  }
  CHECK_OK(wherry_image_free(image));
}

TEST("U14 files, bytes, and written bodies arrive byte for byte, by PUT and by POST") {
  const uint8_t *bytes = some_bytes(COUNT);
  const char *path = bytes_file("body.bin", bytes, COUNT);
  wherry_client *client = new_client(NULL);
  static const char *const methods[] = {"PUT", "POST"};
  for (int method = 0; method < 2; method++)
    for (int kind = 0; kind < 4; kind++) {
      wherry_request *request = new_request(methods[method], server_url("/echo"));
      wherry_queue *queue = new_queue();
      if (kind == 0) CHECK_OK(wherry_request_set_body_file(request, path, "x/y"));
      if (kind == 1) CHECK_OK(wherry_request_set_body(request, bytes, COUNT, "x/y"));
      if (kind >= 2)
        CHECK_OK(wherry_request_set_body_stream(request, kind == 2 ? COUNT : -1, "x/y"));
      wherry_transfer *transfer = send_request(client, request, queue, NULL);
      outcome got =
          kind < 2 ? done_of(queue, transfer) : write_all(queue, transfer, bytes, COUNT, 70001);
      REQUIRE_STATUS(got.status, WHERRY_OK);
      CHECK_TEXT(echoed(&got, "method"), methods[method]);
      CHECK_TEXT(echoed_header(&got, "Content-Type"), "x/y");
      CHECK_BYTES(echoed_body(&got), COUNT, bytes, COUNT);
    }
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

TEST("U15 an upload stays under the rate limit of the client and of the request") {
  const uint8_t *bytes = some_bytes(600000);
  for (int by_client = 0; by_client < 2; by_client++) {
    wherry_client *client = by_client
                                ? new_client_with(WHERRY_OPTION_MAX_SEND_BYTES_PER_SECOND, 400000)
                                : new_client(NULL);
    wherry_request *request = new_request("POST", server_url("/sink"));
    if (!by_client)
      CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_MAX_SEND_BYTES_PER_SECOND, 400000));
    CHECK_OK(wherry_request_add_part(request, "f", bytes, 600000, "f", NULL));
    double start = seconds();
    outcome got = send_and_wait(client, request);
    CHECK_STATUS(got.status, WHERRY_OK);
    CHECK(seconds() - start > 0.9); /* less time would violate the limit */
  }
}

#define HOSTILE "a\"b\r\n\xe5\xa4\xa9.jpg"

TEST("U24 hostile names stay in one part and are sent as filename* on request") {
  wherry_client *client = new_client(NULL);
  wherry_image *image = one_pixel(HOSTILE);
  for (int extended = 0; extended < 2; extended++) {
    wherry_request *request = new_request("POST", server_url("/echo"));
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_EXTENDED_NAMES, extended));
    CHECK_OK(wherry_request_add_part(request, "n\"\r\nX: y", "1", 1, HOSTILE, NULL));
    CHECK_OK(wherry_request_add_part_file(request, "f", bytes_file("x", "1", 1), "a.txt", NULL));
    CHECK_OK(wherry_request_add_image(request, "p", image, NULL));
    outcome got = send_and_wait(client, request);
    REQUIRE_STATUS(got.status, WHERRY_OK);
    wherry_json *json = new_json(got.body, got.count);
    CHECK_INT(wherry_json_count(json, "parts"), 3);
    for (size_t i = 0; i < 3; i++) {
      CHECK_INT(wherry_json_count(json, check_format("parts/%zu/headers", i)), 2);
      const char *shown = part_field(&got, i, "Content-Disposition");
      CHECK_TEXT(echoed(&got, check_format("parts/%zu/filename", i)), i == 1 ? "a.txt" : HOSTILE);
      if (i != 1) CHECK_HOLDS(shown, "filename=\"a%22b%0D%0A\xe5\xa4\xa9.jpg\"");
      if (i != 1 && extended) CHECK_HOLDS(shown, "filename*=UTF-8''a%22b%0D%0A%E5%A4%A9.jpg");
      else CHECK_LACKS(shown, "filename*");
    }
  }
  CHECK_OK(wherry_image_free(image));
}

/* Digests of the bytes "from a file", made by sha256sum, sha512sum, and md5sum. */
#define TEXT "from a file"
#define TEXT_MD5 "ov+SejXWNflSUIdNJNnsbw=="
#define TEXT_SHA256 "sha-256=:VStJ3LI7RVgCHfj9oQJy3kWYa85p3YAoP8CyovpXwgk=:"
#define TEXT_SHA512                                       \
  "sha-512=:ZIskklTnuwiVCIq7Xy+HF3zFNp5DSCIcmEv/ISsgrozS" \
  "nvkrosJkvkozuYlyo/h7k5dzDOcDuKdkIIbTirsv7g==:"

TEST("U24 digests precede bodies and parts") {
  wherry_client *client = new_client(NULL);
  const char *path = bytes_file("body", TEXT, strlen(TEXT));
  wherry_image *image = one_pixel(NULL);
  static const struct {
    int64_t kind;
    const char *name, *value;
  } rows[] = {{WHERRY_DIGEST_MD5, "Content-MD5", TEXT_MD5},
              {WHERRY_DIGEST_SHA256, "Content-Digest", TEXT_SHA256},
              {WHERRY_DIGEST_SHA512, "Content-Digest", TEXT_SHA512},
              {WHERRY_DIGEST_NONE, "Content-Digest", NULL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (int from_file = 0; from_file < 2; from_file++) {
      wherry_request *request = new_request("PUT", server_url("/redirect/1?status=308"));
      CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_BODY_DIGEST, rows[i].kind));
      CHECK_OK(from_file ? wherry_request_set_body_file(request, path, NULL)
                         : wherry_request_set_body(request, TEXT, strlen(TEXT), NULL));
      outcome got = send_and_wait(client, request);
      REQUIRE_STATUS(got.status, WHERRY_OK);
      CHECK_TEXT(echoed_header(&got, rows[i].name), rows[i].value);
    }
    for (int with_picture = 0; with_picture < 2; with_picture++) {
      wherry_request *request = new_request("POST", server_url("/echo"));
      CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_PART_DIGESTS, rows[i].kind));
      CHECK_OK(wherry_request_add_part(request, "plain", TEXT, strlen(TEXT), NULL, NULL));
      CHECK_OK(wherry_request_add_part(request, "a", TEXT, strlen(TEXT), "a", NULL));
      CHECK_OK(wherry_request_add_part_file(request, "b", path, NULL, NULL));
      if (with_picture) CHECK_OK(wherry_request_add_image(request, "p", image, NULL));
      outcome got = send_and_wait(client, request);
      REQUIRE_STATUS(got.status, WHERRY_OK);
      CHECK(part_field(&got, 0, rows[i].name) == NULL);
      CHECK_TEXT(part_field(&got, 1, rows[i].name), rows[i].value);
      CHECK_TEXT(part_field(&got, 2, rows[i].name), rows[i].value);
      if (with_picture && rows[i].value != NULL) CHECK(part_field(&got, 3, rows[i].name) != NULL);
    }
  }
  wherry_request *request = new_request("POST", server_url("/sink"));
  CHECK_FAILS(wherry_request_set_option(request, WHERRY_OPTION_BODY_DIGEST, WHERRY_DIGEST_SHA1),
              WHERRY_E_ARGUMENT, "bad_value");
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_BODY_DIGEST, WHERRY_DIGEST_SHA256));
  CHECK_OK(wherry_request_set_body_stream(request, 5, NULL));
  CHECK_FAILS(wherry_client_send(client, request, new_queue(), NULL, NULL), WHERRY_E_ARGUMENT,
              "bad_option");
  CHECK_OK(wherry_image_free(image));
}
