/* Wherry: images that are fitted into, cropped to, or padded to a box, from C
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"

static wherry_image *image_of(const void *bytes, size_t count) {
  wherry_image *image = NULL;
  REQUIRE_OK(wherry_image_new_bytes(bytes, count, &image));
  return image;
}

static wherry_compression *box_of(wherry_resize_mode mode, int width, int height) {
  wherry_compression *box = NULL;
  REQUIRE_OK(wherry_compression_new(0.9, &box));
  CHECK_OK(wherry_compression_set_option(box, WHERRY_IMAGE_RESIZE_MODE, mode));
  CHECK_OK(wherry_compression_set_option(box, WHERRY_IMAGE_MAX_WIDTH, width));
  CHECK_OK(wherry_compression_set_option(box, WHERRY_IMAGE_MAX_HEIGHT, height));
  return box;
}

static void check_size(const wherry_image *image, wherry_resize_mode mode, int width, int height,
                       int made_width, int made_height) {
  wherry_compression *box = box_of(mode, width, height);
  wherry_image *made = NULL;
  REQUIRE_OK(wherry_image_compress(image, box, &made));
  wherry_image_info info = {.size = sizeof info};
  CHECK_OK(wherry_image_inspect(made, &info));
  CHECK_INT(info.width, made_width);
  CHECK_INT(info.height, made_height);
  CHECK_OK(wherry_image_free(made));
  CHECK_OK(wherry_compression_free(box));
}

TEST("I4 an image is fitted into, cropped to, or padded to a box, and never enlarged") {
  size_t count, turned_count;
  const uint8_t *jpeg = picture_jpeg(160, 120, 95, &count);
  const uint8_t *turned_jpeg = picture_with_exif(jpeg, count, 6, &turned_count);
  wherry_image *image = image_of(jpeg, count);
  wherry_image *turned = image_of(turned_jpeg, turned_count); /* 120x160, upright */
  check_size(image, WHERRY_RESIZE_FIT, 64, 64, 64, 48);
  check_size(image, WHERRY_RESIZE_CROP, 64, 64, 64, 64);
  check_size(image, WHERRY_RESIZE_PAD, 64, 64, 64, 64);
  check_size(image, WHERRY_RESIZE_FIT, 200, 300, 160, 120);
  check_size(image, WHERRY_RESIZE_CROP, 200, 300, 80, 120);
  check_size(image, WHERRY_RESIZE_PAD, 200, 300, 200, 300);
  check_size(turned, WHERRY_RESIZE_FIT, 100, 40, 30, 40);
  check_size(turned, WHERRY_RESIZE_CROP, 100, 40, 100, 40);
  check_size(turned, WHERRY_RESIZE_PAD, 100, 40, 100, 40);
  CHECK_OK(wherry_image_free(image));
  CHECK_OK(wherry_image_free(turned));
}

TEST("I4 padding is transparent until a background is set") {
  uint8_t pixels[4 * 4 * 2];
  memset(pixels, 200, sizeof pixels);
  wherry_image *image = NULL, *made = NULL;
  REQUIRE_OK(wherry_image_new_pixels(pixels, sizeof pixels, WHERRY_PIXELS_RGBA8, 4, 2, 0, &image));
  wherry_compression *box = box_of(WHERRY_RESIZE_PAD, 6, 6);
  REQUIRE_OK(wherry_image_compress(image, box, &made));
  size_t count;
  int width, height;
  const uint8_t *png = wherry_image_bytes(made, &count);
  const uint8_t *rows = picture_decode_rgba(png, count, &width, &height);
  CHECK_INT(width, 6);
  CHECK_INT(height, 6);
  static const uint8_t clear[4], color[4] = {200, 200, 200, 200}, red[4] = {255, 0, 0, 255};
  CHECK(memcmp(rows, clear, 4) == 0);
  CHECK(memcmp(rows + (2 * 6 + 1) * 4, color, 4) == 0);
  CHECK(memcmp(rows + (2 * 6 + 5) * 4, clear, 4) == 0);
  CHECK_OK(wherry_image_free(made));
  CHECK_OK(wherry_compression_set_option(box, WHERRY_IMAGE_BACKGROUND_RGB, 0xff0000));
  REQUIRE_OK(wherry_image_compress(image, box, &made));
  png = wherry_image_bytes(made, &count);
  rows = picture_decode_rgba(png, count, &width, &height);
  CHECK(memcmp(rows, red, 4) == 0);
  CHECK(memcmp(rows + (2 * 6 + 1) * 4, color, 4) == 0);
  CHECK_OK(wherry_image_free(made));
  CHECK_OK(wherry_image_free(image));
  CHECK_OK(wherry_compression_free(box));
}

TEST("I4 a box without a height, one that is too large, and unknown modes are refused") {
  size_t count;
  const uint8_t *jpeg = picture_jpeg(16, 16, 95, &count);
  wherry_image *image = image_of(jpeg, count), *made = NULL;
  wherry_compression *box = box_of(WHERRY_RESIZE_CROP, 8, 0);
  CHECK_FAILS(wherry_image_compress(image, box, &made), WHERRY_E_ARGUMENT, "bad_parameters");
  CHECK_HOLDS(wherry_error_message(wherry_last_error()), "Set both.");
  CHECK_STATUS(wherry_compression_set_option(box, WHERRY_IMAGE_RESIZE_MODE, 3), WHERRY_E_ARGUMENT);
  CHECK_STATUS(wherry_compression_set_option(box, WHERRY_IMAGE_RESIZE_MODE, -1), WHERRY_E_ARGUMENT);
  CHECK_OK(wherry_compression_free(box));
  box = box_of(WHERRY_RESIZE_PAD, 65501, 1);
  CHECK_FAILS(wherry_image_compress(image, box, &made), WHERRY_E_ARGUMENT, "bad_parameters");
  CHECK_OK(wherry_compression_free(box));
  CHECK_OK(wherry_image_free(image));
}

TEST("I4 several sizes come from one call, and those of a PNG equal separate calls") {
  size_t jpeg_count, png_count;
  const uint8_t *jpeg = picture_jpeg(400, 300, 95, &jpeg_count);
  const uint8_t *png = picture_png(400, 300, &png_count);
  wherry_compression *large = box_of(WHERRY_RESIZE_FIT, 200, 200);
  wherry_compression *square = box_of(WHERRY_RESIZE_CROP, 64, 64);
  const wherry_compression *compressions[] = {square, large, NULL};
  for (int i = 0; i < 2; i++) {
    wherry_image *image = i == 0 ? image_of(jpeg, jpeg_count) : image_of(png, png_count);
    wherry_image *made[3];
    REQUIRE_OK(wherry_image_compress_many(image, compressions, 3, made));
    for (int k = 0; k < 3; k++) {
      wherry_image *alone = NULL;
      REQUIRE_OK(wherry_image_compress(image, compressions[k], &alone));
      wherry_image_info info = {.size = sizeof info}, expected = info;
      CHECK_OK(wherry_image_inspect(made[k], &info));
      CHECK_OK(wherry_image_inspect(alone, &expected));
      CHECK_INT(info.width, expected.width);
      CHECK_INT(info.height, expected.height);
      CHECK_INT(info.way, expected.way);
      CHECK_INT(info.original_bytes, expected.original_bytes);
      wherry_image_comparison compared = {.size = sizeof compared};
      CHECK_OK(wherry_image_compare(made[k], alone, NULL, &compared));
      CHECK(compared.ssim >= 0.98);
      if (i == 1 || k > 0) {
        /* The largest image, and the one that is not decoded, are the same for a JPEG, too. */
        size_t count, alone_count;
        const uint8_t *bytes = wherry_image_bytes(made[k], &count);
        const uint8_t *alone_bytes = wherry_image_bytes(alone, &alone_count);
        CHECK(count == alone_count && memcmp(bytes, alone_bytes, count) == 0);
      }
      CHECK_OK(wherry_image_free(alone));
      CHECK_OK(wherry_image_free(made[k]));
    }
    CHECK_OK(wherry_image_free(image));
  }
  CHECK_OK(wherry_compression_free(large));
  CHECK_OK(wherry_compression_free(square));
}

TEST("I4 a call with a bad compression returns no image, and names the compression") {
  size_t count;
  const uint8_t *jpeg = picture_jpeg(40, 30, 95, &count);
  wherry_image *image = image_of(jpeg, count), *made[2] = {image, image};
  wherry_compression *small = box_of(WHERRY_RESIZE_FIT, 20, 20);
  wherry_compression *half = box_of(WHERRY_RESIZE_PAD, 20, 0);
  const wherry_compression *compressions[] = {small, half};
  CHECK_FAILS(wherry_image_compress_many(image, compressions, 2, made), WHERRY_E_ARGUMENT,
              "bad_parameters");
  CHECK_HOLDS(wherry_error_message(wherry_last_error()), "Compression 2 of 2: ");
  CHECK(made[0] == NULL && made[1] == NULL);
  CHECK_STATUS(wherry_image_compress_many(image, NULL, 2, made), WHERRY_E_ARGUMENT);
  CHECK_STATUS(wherry_image_compress_many(image, compressions, 2, NULL), WHERRY_E_ARGUMENT);
  CHECK_OK(wherry_image_compress_many(image, NULL, 0, NULL));
  CHECK_OK(wherry_compression_free(small));
  CHECK_OK(wherry_compression_free(half));
  CHECK_OK(wherry_image_free(image));
}

TEST("I4 an image is decoded at the size of the compression") {
  size_t count;
  const uint8_t *jpeg = picture_jpeg(160, 120, 95, &count);
  wherry_image *image = image_of(jpeg, count), *pixels = NULL;
  struct {
    wherry_resize_mode mode;
    int width, height, made_width, made_height;
  } cases[] = {{WHERRY_RESIZE_FIT, 64, 64, 64, 48},
               {WHERRY_RESIZE_CROP, 64, 64, 64, 64},
               {WHERRY_RESIZE_PAD, 64, 64, 64, 64},
               {WHERRY_RESIZE_FIT, 0, 30, 40, 30}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    wherry_compression *box = box_of(cases[i].mode, cases[i].width, cases[i].height);
    CHECK_OK(wherry_image_decode(image, WHERRY_PIXELS_NONE, box, &pixels));
    wherry_image_info info = {.size = sizeof info};
    CHECK_OK(wherry_image_inspect(pixels, &info));
    CHECK_INT(info.width, cases[i].made_width);
    CHECK_INT(info.height, cases[i].made_height);
    CHECK_OK(wherry_image_free(pixels));
    CHECK_OK(wherry_compression_free(box));
  }
  CHECK_OK(wherry_image_free(image));
}

/* Returns the difference between the lightest and the darkest sample of the pixels of an image. */
static int contrast_of(const wherry_image *image, const wherry_compression *compression) {
  wherry_image *decoded = NULL;
  REQUIRE_OK(wherry_image_decode(image, WHERRY_PIXELS_GRAY8, compression, &decoded));
  wherry_image_info info = {.size = sizeof info};
  CHECK_OK(wherry_image_inspect(decoded, &info));
  size_t stride;
  const uint8_t *rows = wherry_image_pixels(decoded, NULL, &stride);
  int low = 255, high = 0;
  for (int y = 0; y < info.height; y++) {
    for (int x = 0; x < info.width; x++) {
      int sample = rows[(size_t)y * stride + (size_t)x];
      low = sample < low ? sample : low;
      high = sample > high ? sample : high;
    }
  }
  CHECK_OK(wherry_image_free(decoded));
  return high - low;
}

TEST("I4 a scaled image is sharpened, and no other") {
  enum { SIDE = 64 };
  uint8_t pixels[SIDE * SIDE];
  for (int i = 0; i < SIDE * SIDE; i++) pixels[i] = i % SIDE < SIDE / 2 ? 100 : 150;
  wherry_image *image = NULL;
  REQUIRE_OK(
      wherry_image_new_pixels(pixels, sizeof pixels, WHERRY_PIXELS_GRAY8, SIDE, SIDE, 0, &image));
  int contrasts[3];
  static const int strengths[] = {0, 100, 200};
  for (int i = 0; i < 3; i++) {
    wherry_compression *box = box_of(WHERRY_RESIZE_FIT, 32, 32);
    CHECK_OK(wherry_compression_set_option(box, WHERRY_IMAGE_FORMAT, WHERRY_IMAGE_PNG));
    CHECK_OK(wherry_compression_set_option(box, WHERRY_IMAGE_SHARPEN, strengths[i]));
    contrasts[i] = contrast_of(image, box);
    wherry_image *made = NULL;
    REQUIRE_OK(wherry_image_compress(image, box, &made));
    CHECK_INT(contrast_of(made, NULL), contrasts[i]);
    CHECK_OK(wherry_image_free(made));
    const wherry_compression *boxes[] = {box};
    REQUIRE_OK(wherry_image_compress_many(image, boxes, 1, &made));
    CHECK_INT(contrast_of(made, NULL), contrasts[i]);
    CHECK_OK(wherry_image_free(made));
    /* Not scaled, and therefore not sharpened. */
    CHECK_OK(wherry_compression_set_option(box, WHERRY_IMAGE_MAX_WIDTH, SIDE));
    CHECK_OK(wherry_compression_set_option(box, WHERRY_IMAGE_MAX_HEIGHT, SIDE));
    CHECK_INT(contrast_of(image, box), 50);
    CHECK_OK(wherry_compression_free(box));
  }
  CHECK(contrasts[1] >= contrasts[0] + 10 && contrasts[2] >= contrasts[1] + 10);
  wherry_compression *box = box_of(WHERRY_RESIZE_FIT, 32, 32);
  CHECK_STATUS(wherry_compression_set_option(box, WHERRY_IMAGE_SHARPEN, -1), WHERRY_E_ARGUMENT);
  CHECK_STATUS(wherry_compression_set_option(box, WHERRY_IMAGE_SHARPEN, 501), WHERRY_E_ARGUMENT);
  CHECK_HOLDS(wherry_error_message(wherry_last_error()), "sharpen takes a value from 0 to 500");
  CHECK_OK(wherry_compression_free(box));
  CHECK_OK(wherry_image_free(image));
}
