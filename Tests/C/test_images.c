/* Wherry: images inspected and compressed without an upload, from C
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"
#include "server.h"

static wherry_image *image_of(const void *bytes, size_t count) {
  wherry_image *image = NULL;
  REQUIRE_OK(wherry_image_new_bytes(bytes, count, &image));
  return image;
}

static wherry_compression *compression_of(double quality) {
  wherry_compression *compression = NULL;
  REQUIRE_OK(wherry_compression_new(quality, &compression));
  return compression;
}

static void set(wherry_compression *compression, wherry_image_option option, int64_t value) {
  REQUIRE_OK(wherry_compression_set_option(compression, option, value));
}

/* Compresses and frees both. */
static wherry_image *compressed(wherry_image *image, wherry_compression *compression) {
  wherry_image *result = NULL;
  CHECK_OK(wherry_image_compress(image, compression, &result));
  CHECK_OK(wherry_image_free(image));
  CHECK_OK(wherry_compression_free(compression));
  return result;
}

static wherry_image_info info_of(const wherry_image *image) {
  wherry_image_info info = {.size = sizeof info};
  CHECK_OK(wherry_image_inspect(image, &info));
  CHECK_INT(info.size, sizeof info);
  return info;
}

TEST("U18 an image reports its properties before decoding") {
  size_t count;
  const uint8_t *jpeg = picture_jpeg(120, 80, 90, &count);
  wherry_image *image = image_of(jpeg, count);
  wherry_image_info info = info_of(image);
  CHECK_INT(info.format, WHERRY_IMAGE_JPEG);
  CHECK_INT(info.width, 120);
  CHECK_INT(info.height, 80);
  CHECK_INT(info.orientation, 1);
  CHECK_INT(info.components, 3);
  CHECK_INT(info.bit_depth, 8);
  CHECK_INT(info.byte_count, (int64_t)count);
  CHECK_INT(info.pixel_bytes, 120 * 80 * 3);
  CHECK_INT(info.original_bytes, -1);
  CHECK_INT(info.way, WHERRY_IMAGE_WAY_NONE);
  CHECK_INT(info.flags, 0);
  size_t lent;
  CHECK(memcmp(wherry_image_bytes(image, &lent), jpeg, count) == 0);
  CHECK_INT(lent, count);
  CHECK_OK(wherry_image_free(image));

  const uint8_t *pixels = picture_pixels(7, 5);
  REQUIRE_OK(wherry_image_new_pixels(pixels, 7 * 5 * 3, WHERRY_PIXELS_RGB8, 7, 5, 0, &image));
  info = info_of(image);
  CHECK_INT(info.format, WHERRY_IMAGE_KEEP);
  CHECK_INT(info.byte_count, -1);
  CHECK(wherry_image_bytes(image, &lent) == NULL);
  CHECK_INT(lent, 0);
  /* A program built with an older header has a smaller struct. */
  wherry_image_info small;
  memset(&small, 0x55, sizeof small);
  small.size = 16;
  CHECK_OK(wherry_image_inspect(image, &small));
  CHECK_INT(small.byte_count, -1);
  CHECK_INT(small.pixel_bytes, 0x5555555555555555);
  CHECK_OK(wherry_image_free(image));
}

TEST("U6 U19 an image is compressed without an upload and reports how") {
  size_t count;
  const uint8_t *jpeg = picture_jpeg(640, 480, 95, &count);
  wherry_image *half = compressed(image_of(jpeg, count), compression_of(0.5));
  wherry_image_info info = info_of(half);
  CHECK_INT(info.quality, 50);
  CHECK_INT(info.way, WHERRY_IMAGE_WAY_RECODED);
  CHECK_INT(info.original_bytes, (int64_t)count);
  CHECK(info.byte_count < (int64_t)count / 2);
  CHECK_OK(wherry_image_free(half));

  wherry_image *same = compressed(image_of(jpeg, count), NULL);
  size_t lent;
  CHECK(memcmp(wherry_image_bytes(same, &lent), jpeg, count) == 0 && lent == count);
  info = info_of(same);
  CHECK_INT(info.way, WHERRY_IMAGE_WAY_UNTOUCHED);
  CHECK_INT(info.quality, 0);
  CHECK_OK(wherry_image_free(same));

  wherry_compression *small = compression_of(0.5);
  set(small, WHERRY_IMAGE_MAX_WIDTH, 160);
  wherry_image *little = compressed(image_of(jpeg, count), small);
  info = info_of(little);
  CHECK_INT(info.width, 160);
  CHECK_INT(info.height, 120);
  CHECK_INT(info.way, WHERRY_IMAGE_WAY_WHOLE); /* Huffman tables made for it contain coefficients */

  /* The result is an image like any other. */
  wherry_compression *fit = compression_of(1);
  set(fit, WHERRY_IMAGE_MAX_BYTES, 2000);
  wherry_image *least = compressed(little, fit);
  CHECK(info_of(least).byte_count <= 2000);
  int width, height;
  CHECK(picture_decode(wherry_image_bytes(least, &lent), lent, &width, &height) != NULL);
  CHECK_OK(wherry_image_free(least));
}

TEST("U7 compress produces the same bytes as an upload") {
  size_t count;
  const uint8_t *jpeg = picture_jpeg(300, 200, 95, &count);
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("POST", server_url("/echo"));
  wherry_image *image = image_of(jpeg, count);
  wherry_compression *compression = compression_of(0.4);
  REQUIRE_OK(wherry_request_add_image(request, "photo", image, compression));
  REQUIRE_OK(wherry_client_send(client, request, queue, NULL, NULL));
  outcome got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_OK);
  wherry_image *made = compressed(image, compression);
  long sent;
  size_t size;
  const uint8_t *part = echoed_part(&got, 0, &sent), *bytes = wherry_image_bytes(made, &size);
  CHECK(sent == (long)size && memcmp(part, bytes, size) == 0);
  CHECK_OK(wherry_image_free(made));
}

TEST("U8 borrowed pixels are read in place, and not after the image is freed") {
  const uint8_t *pixels = picture_pixels(64, 48);
  wherry_image *lent = NULL, *copied = NULL;
  REQUIRE_OK(
      wherry_image_new_pixels_lent(pixels, 64 * 48 * 3, WHERRY_PIXELS_RGB8, 64, 48, 0, &lent));
  REQUIRE_OK(wherry_image_new_pixels(pixels, 64 * 48 * 3, WHERRY_PIXELS_RGB8, 64, 48, 0, &copied));
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("POST", server_url("/echo"));
  REQUIRE_OK(wherry_request_add_image(request, "photo", lent, NULL));

  wherry_image *first = NULL, *second = compressed(copied, compression_of(0.5));
  wherry_compression *compression = compression_of(0.5);
  REQUIRE_OK(wherry_image_compress(lent, compression, &first));
  size_t one, two;
  const uint8_t *a = wherry_image_bytes(first, &one), *b = wherry_image_bytes(second, &two);
  CHECK(one == two && memcmp(a, b, one) == 0);
  CHECK_OK(wherry_image_free(first));
  CHECK_OK(wherry_image_free(second));
  CHECK_OK(wherry_compression_free(compression));

  CHECK_OK(wherry_image_free(lent));
  REQUIRE_OK(wherry_client_send(client, request, queue, NULL, NULL));
  outcome got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_E_STATE);
  CHECK_TEXT(got.reason, "wrong_state");
}

typedef struct work {
  const uint8_t *jpeg;
  size_t count;
  wherry_image *made;
} work;

static void *compress_one(void *data) {
  work *mine = data;
  wherry_image *image = NULL;
  wherry_compression *compression = NULL;
  if (wherry_image_new_bytes(mine->jpeg, mine->count, &image) == WHERRY_OK &&
      wherry_compression_new(0.5, &compression) == WHERRY_OK)
    (void)wherry_image_compress(image, compression, &mine->made);
  (void)wherry_image_free(image);
  (void)wherry_compression_free(compression);
  return NULL;
}

TEST("U8 many threads compress at the same time with equal results") {
  enum { THREADS = 8 };
  size_t count;
  const uint8_t *jpeg = picture_jpeg(320, 240, 90, &count);
  work works[THREADS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    works[i] = (work){jpeg, count, NULL};
    REQUIRE(pthread_create(&threads[i], NULL, compress_one, &works[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++) CHECK_INT(pthread_join(threads[i], NULL), 0);
  size_t first;
  const uint8_t *expected = wherry_image_bytes(works[0].made, &first);
  for (int i = 0; i < THREADS; i++) {
    size_t size;
    const uint8_t *bytes = wherry_image_bytes(works[i].made, &size);
    CHECK(size == first && memcmp(bytes, expected, size) == 0);
  }
  for (int i = 0; i < THREADS; i++) CHECK_OK(wherry_image_free(works[i].made));
}

TEST("U20 SEC-R12 the eight orientations become upright, and locations are removed") {
  enum { SIDE = 64 };
  for (int orientation = 1; orientation <= 8; orientation++) {
    size_t count;
    const uint8_t *jpeg = picture_jpeg(2 * SIDE, SIDE, 95, &count);
    size_t all;
    uint8_t *turned = picture_with_exif(jpeg, count, orientation, &all);
    wherry_image *image = image_of(turned, all);
    wherry_image_info info = info_of(image);
    CHECK_INT(info.orientation, orientation);
    CHECK(info.flags & WHERRY_IMAGE_HAS_GPS);
    wherry_compression *compression = compression_of(0.9);
    set(compression, WHERRY_IMAGE_NEVER_LARGER, 0);
    wherry_image *made = compressed(image, compression);
    info = info_of(made);
    CHECK_INT(info.orientation, 1);
    CHECK_INT(info.flags & (WHERRY_IMAGE_HAS_GPS | WHERRY_IMAGE_HAS_EXIF), 0);
    CHECK_INT(info.width, orientation >= 5 ? SIDE : 2 * SIDE);
    /* The stored top left corner, dark, is where the orientation puts it. */
    size_t size;
    int width, height;
    const uint8_t *bytes = wherry_image_bytes(made, &size);
    const uint8_t *rows = picture_decode(bytes, size, &width, &height);
    REQUIRE(rows != NULL);
    bool right = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
    bool bottom = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
    const uint8_t *corner =
        rows + 3 * ((bottom ? height - 4 : 3) * width + (right ? width - 4 : 3));
    CHECK(corner[0] < 40 && corner[1] < 40);
    CHECK_OK(wherry_image_free(made));
  }
}

TEST("U19 conflicting options are refused") {
  wherry_compression *compression = compression_of(0.5);
  CHECK_STATUS(wherry_compression_set_option(compression, WHERRY_IMAGE_MAX_WIDTH, -1),
               WHERRY_E_ARGUMENT);
  CHECK_STATUS(wherry_compression_set_option(compression, WHERRY_IMAGE_FORMAT, 3),
               WHERRY_E_ARGUMENT);
  CHECK_STATUS(wherry_compression_set_option(compression, WHERRY_IMAGE_SUBSAMPLING, 411),
               WHERRY_E_ARGUMENT);
  CHECK_STATUS(wherry_compression_set_option(compression, (wherry_image_option)99, 1),
               WHERRY_E_ARGUMENT);
  CHECK_OK(wherry_compression_free(compression));
}
