/* Wherry: the smallest JPEG of a quality, and a quality for a similarity, from C
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"

enum { WIDTH = 320, HEIGHT = 240 };

/* Waves, edges, and noise, which have the mix of frequencies of a photograph. */
static wherry_image *scene(void) {
  static uint8_t pixels[WIDTH * HEIGHT * 3];
  uint32_t state = 7;
  for (int y = 0; y < HEIGHT; y++) {
    for (int x = 0; x < WIDTH; x++) {
      state = state * 1664525u + 1013904223u;
      int wave = abs((x * 3 + y * 2) % 240 - 120) / 2;
      for (int i = 0; i < 3; i++) {
        int value = 40 + (x / 37 + y / 53) % 3 * 40 + wave * (i + 1) / 2 + (int)(state >> 28) - 8;
        pixels[(y * WIDTH + x) * 3 + i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
      }
    }
  }
  wherry_image *image = NULL;
  REQUIRE_OK(
      wherry_image_new_pixels(pixels, sizeof pixels, WHERRY_PIXELS_RGB8, WIDTH, HEIGHT, 0, &image));
  return image;
}

static wherry_image *compressed(const wherry_image *image, double quality,
                                wherry_image_option option, int64_t value,
                                wherry_image_info *info) {
  wherry_compression *compression = NULL;
  wherry_image *made = NULL;
  REQUIRE_OK(wherry_compression_new(quality, &compression));
  CHECK_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_FORMAT, WHERRY_IMAGE_JPEG));
  CHECK_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_OPTIMIZE, 1));
  CHECK_OK(wherry_compression_set_option(compression, option, value));
  CHECK_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_DEADLINE_MS, 0));
  REQUIRE_OK(wherry_image_compress(image, compression, &made));
  info->size = sizeof *info;
  CHECK_OK(wherry_image_inspect(made, info));
  CHECK_OK(wherry_compression_free(compression));
  return made;
}

static double ssim(const wherry_image *a, const wherry_image *b) {
  wherry_image_comparison found = {.size = sizeof found};
  REQUIRE_OK(wherry_image_compare(a, b, NULL, &found));
  return found.ssim;
}

TEST("I5 the smallest JPEG has fewer bytes than a progressive one with the same SSIM") {
  wherry_image *image = scene();
  wherry_image_info info, small_info;
  wherry_image *small = compressed(image, 0.7, WHERRY_IMAGE_SMALLEST, 1, &small_info);
  CHECK_INT(small_info.quality, 70);
  CHECK_INT(small_info.width, WIDTH);
  double wanted = ssim(image, small), found = 0;
  /* the coarsest progressive JPEG that is as similar */
  for (int quality = 50; quality <= 100 && found < wanted; quality++) {
    wherry_image *plain = compressed(image, quality / 100.0, WHERRY_IMAGE_PROGRESSIVE, 1, &info);
    found = ssim(image, plain);
    CHECK_OK(wherry_image_free(plain));
  }
  CHECK(found >= wanted);
  CHECK(small_info.byte_count * 100 < info.byte_count * 95);
  CHECK_OK(wherry_image_free(image));
  CHECK_OK(wherry_image_free(small));
}

TEST("I5 a JPEG has the SSIM that was asked for") {
  wherry_image *image = scene();
  for (int target = 8500; target < 9800; target += 500) {
    wherry_image_info info;
    wherry_image *made = compressed(image, 1, WHERRY_IMAGE_TARGET_SSIM, target, &info);
    double found = ssim(image, made), wanted = target / 10000.0;
    CHECK(found >= wanted);
    CHECK(info.quality > 15);
    CHECK(info.quality < 100);
    CHECK_OK(wherry_image_free(made));
    /* Five trials come close to the lowest quality. */
    made = compressed(image, (info.quality - 15) / 100.0, WHERRY_IMAGE_SMALLEST, 0, &info);
    CHECK(ssim(image, made) < wanted);
    CHECK_OK(wherry_image_free(made));
  }
  wherry_compression *compression = NULL;
  REQUIRE_OK(wherry_compression_new(1, &compression));
  const int64_t wrong[] = {-1, 10000};
  for (int i = 0; i < 2; i++) {
    CHECK_STATUS(wherry_compression_set_option(compression, WHERRY_IMAGE_TARGET_SSIM, wrong[i]),
                 WHERRY_E_ARGUMENT);
  }
  CHECK_STATUS(wherry_compression_set_option(compression, WHERRY_IMAGE_SMALLEST, 2),
               WHERRY_E_ARGUMENT);
  CHECK_OK(wherry_compression_free(compression));
  CHECK_OK(wherry_image_free(image));
}
