/* Wherry: the similarity of two images, from C
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"

static wherry_image *image_of(const void *bytes, size_t count) {
  wherry_image *image = NULL;
  REQUIRE_OK(wherry_image_new_bytes(bytes, count, &image));
  return image;
}

static wherry_image_comparison compared(const wherry_image *image, const wherry_image *other) {
  wherry_image_comparison result = {.size = sizeof result};
  CHECK_OK(wherry_image_compare(image, other, NULL, &result));
  CHECK_INT(result.size, sizeof result);
  return result;
}

TEST("I5 a finer copy is more similar, and equal images have a similarity of 1") {
  size_t count, fine_count, coarse_count;
  const uint8_t *png = picture_png(160, 120, &count);
  const uint8_t *fine_jpeg = picture_jpeg(160, 120, 95, &fine_count);
  const uint8_t *coarse_jpeg = picture_jpeg(160, 120, 10, &coarse_count);
  wherry_image *original = image_of(png, count);
  wherry_image *fine = image_of(fine_jpeg, fine_count);
  wherry_image *coarse = image_of(coarse_jpeg, coarse_count);
  wherry_image_comparison near = compared(original, fine), far = compared(original, coarse);
  CHECK(far.ssim < near.ssim && near.ssim < 1);
  CHECK(far.psnr < near.psnr && near.psnr < 100);
  CHECK(compared(fine, original).psnr == near.psnr);
  CHECK(compared(original, original).ssim == 1);
  CHECK(isinf(compared(original, original).psnr));
  CHECK_OK(wherry_image_free(original));
  CHECK_OK(wherry_image_free(fine));
  CHECK_OK(wherry_image_free(coarse));
}

TEST("I5 pixels are compared, and SSIM and PSNR have known values") {
  /* Two flat images: SSIM is (2ab + c1) / (a^2 + b^2 + c1), and PSNR is 20 log10(255 / 10). */
  uint8_t a[20 * 20], b[20 * 20];
  memset(a, 100, sizeof a);
  memset(b, 110, sizeof b);
  wherry_image *first = NULL, *second = NULL;
  REQUIRE_OK(wherry_image_new_pixels(a, sizeof a, WHERRY_PIXELS_GRAY8, 20, 20, 0, &first));
  REQUIRE_OK(wherry_image_new_pixels(b, sizeof b, WHERRY_PIXELS_GRAY8, 20, 20, 0, &second));
  wherry_image_comparison result = compared(first, second);
  CHECK(fabs(result.ssim - (22000 + 6.5025) / (22100 + 6.5025)) < 1e-9);
  CHECK(fabs(result.psnr - 28.13080361) < 1e-6);
  CHECK_OK(wherry_image_free(first));
  CHECK_OK(wherry_image_free(second));
}

TEST("I5 images of different sizes and damaged images fail, and small structs are filled") {
  size_t count, other_count;
  const uint8_t *png = picture_png(40, 30, &count);
  const uint8_t *other_png = picture_png(30, 40, &other_count);
  wherry_image *image = image_of(png, count);
  wherry_image *other = image_of(other_png, other_count);
  wherry_image *damaged = image_of(png, count / 2);
  wherry_image_comparison result = {.size = sizeof result};
  CHECK_STATUS(wherry_image_compare(image, other, NULL, &result), WHERRY_E_ARGUMENT);
  CHECK_TEXT(wherry_error_reason(wherry_last_error()), "bad_parameters");
  CHECK(strstr(wherry_error_message(wherry_last_error()), "40x30 and 30x40") != NULL);
  CHECK_STATUS(wherry_image_compare(image, damaged, NULL, &result), WHERRY_E_IMAGE);
  CHECK(strncmp(wherry_error_message(wherry_last_error()), "Second image: ", 14) == 0);
  CHECK_STATUS(wherry_image_compare(image, NULL, NULL, &result), WHERRY_E_ARGUMENT);
  CHECK_STATUS(wherry_image_compare(image, image, NULL, NULL), WHERRY_E_ARGUMENT);
  wherry_image_comparison small = {.size = 16, .psnr = 7};
  CHECK_OK(wherry_image_compare(image, image, NULL, &small));
  CHECK(small.ssim == 1 && small.psnr == 7);
  CHECK_OK(wherry_image_free(image));
  CHECK_OK(wherry_image_free(other));
  CHECK_OK(wherry_image_free(damaged));
}
