/* Wherry: perceptual hashes of images, from C
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"

static uint64_t hash_of(const void *bytes, size_t count, wherry_hash_kind kind) {
  wherry_image *image = NULL;
  REQUIRE_OK(wherry_image_new_bytes(bytes, count, &image));
  uint64_t hash = 0;
  CHECK_OK(wherry_image_hash(image, kind, NULL, &hash));
  CHECK_OK(wherry_image_free(image));
  return hash;
}

static int distance(uint64_t a, uint64_t b) { return __builtin_popcountll(a ^ b); }

TEST("I7 hashes have known values") {
  /* The values of imagehash 4.3.2 with Pillow 13.0. */
  uint8_t ramp[64 * 48];
  for (int y = 0; y < 48; y++) {
    for (int x = 0; x < 64; x++) ramp[y * 64 + x] = (uint8_t)(x * 255 / 63 / 2 + y * 255 / 47 / 2);
  }
  wherry_image *image = NULL;
  REQUIRE_OK(wherry_image_new_pixels(ramp, sizeof ramp, WHERRY_PIXELS_GRAY8, 64, 48, 0, &image));
  uint64_t hash = 0;
  CHECK_OK(wherry_image_hash(image, WHERRY_HASH_DIFFERENCE, NULL, &hash));
  CHECK(hash == UINT64_C(0xffffffffffffffff));
  CHECK_OK(wherry_image_hash(image, WHERRY_HASH_PERCEPTUAL, NULL, &hash));
  CHECK(hash == UINT64_C(0xa200000000008000));
  CHECK_OK(wherry_image_free(image));
}

TEST("I7 copies of an image have similar hashes") {
  size_t png_count, jpeg_count;
  const uint8_t *png = picture_png(320, 240, &png_count);
  const uint8_t *jpeg = picture_jpeg(320, 240, 70, &jpeg_count);
  CHECK(distance(hash_of(png, png_count, WHERRY_HASH_DIFFERENCE),
                 hash_of(jpeg, jpeg_count, WHERRY_HASH_DIFFERENCE)) <= 4);
}

TEST("I7 the upright image is hashed unless the orientation is kept") {
  size_t count, turned_count;
  const uint8_t *jpeg = picture_jpeg(120, 80, 90, &count);
  uint64_t stored = hash_of(jpeg, count, WHERRY_HASH_DIFFERENCE);
  const uint8_t *turned = picture_with_exif(jpeg, count, 6, &turned_count);
  CHECK(hash_of(turned, turned_count, WHERRY_HASH_DIFFERENCE) != stored);

  wherry_image *image = NULL;
  REQUIRE_OK(wherry_image_new_bytes(turned, turned_count, &image));
  wherry_compression *keep = NULL;
  REQUIRE_OK(wherry_compression_new(1, &keep));
  REQUIRE_OK(wherry_compression_set_option(keep, WHERRY_IMAGE_KEEP_ORIENTATION, 1));
  uint64_t hash = 0;
  CHECK_OK(wherry_image_hash(image, WHERRY_HASH_DIFFERENCE, keep, &hash));
  CHECK(hash == stored);
  CHECK_OK(wherry_compression_free(keep));
  CHECK_OK(wherry_image_free(image));
}

TEST("I7 a damaged image, a large one, and an unknown kind fail with a hash of 0") {
  size_t count;
  const uint8_t *jpeg = picture_jpeg(120, 80, 90, &count);
  wherry_image *image = NULL;
  REQUIRE_OK(wherry_image_new_bytes(jpeg, count / 2, &image));
  uint64_t hash = 7;
  CHECK_STATUS(wherry_image_hash(image, WHERRY_HASH_PERCEPTUAL, NULL, &hash), WHERRY_E_IMAGE);
  CHECK(hash == 0);
  CHECK_STATUS(wherry_image_hash(image, 3, NULL, &hash), WHERRY_E_ARGUMENT);
  CHECK_TEXT(wherry_error_reason(wherry_last_error()), "bad_value");
  CHECK_OK(wherry_image_free(image));

  REQUIRE_OK(wherry_image_new_bytes(jpeg, count, &image));
  wherry_compression *small = NULL;
  REQUIRE_OK(wherry_compression_new(1, &small));
  REQUIRE_OK(wherry_compression_set_option(small, WHERRY_IMAGE_MAX_PIXELS, 100));
  CHECK_STATUS(wherry_image_hash(image, WHERRY_HASH_PERCEPTUAL, small, &hash), WHERRY_E_IMAGE);
  CHECK_TEXT(wherry_error_reason(wherry_last_error()), "image_too_large");
  CHECK_OK(wherry_compression_free(small));
  CHECK_OK(wherry_image_free(image));
}
