/* Wherry: rows U21 and SEC-R11 of features.md and security.md, from C: large and damaged images
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"

static wherry_compression *compression_of(double quality) {
  wherry_compression *compression = NULL;
  REQUIRE_OK(wherry_compression_new(quality, &compression));
  return compression;
}

TEST("U21 SEC-R9 a 100 megapixel JPEG takes a few rows of memory and no more than its time") {
  const char *path = check_path("large.jpg");
  picture_write_large(path, 10000, 10000);
  wherry_compression *compression = compression_of(0.3);
  wherry_image *small = NULL, *image = NULL, *made = NULL;
  size_t count;
  const uint8_t *warm = picture_jpeg(64, 64, 90, &count);
  REQUIRE_OK(wherry_image_new_bytes(warm, count, &small));
  REQUIRE_OK(wherry_image_compress(small, compression, &made));
  CHECK_OK(wherry_image_free(made));
  REQUIRE_OK(wherry_image_new_file(path, &image));
  REQUIRE(check_reset_peak());
  long before = check_resident_kib();

  REQUIRE_OK(wherry_image_compress(image, compression, &made));

  CHECK_PEAK(before, 60 * 1024);
  wherry_image_info info = {.size = sizeof info};
  CHECK_OK(wherry_image_inspect(made, &info));
  CHECK_INT(info.width, 10000);
  CHECK_INT(info.height, 10000);
  CHECK_OK(wherry_image_free(made));
  REQUIRE_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_MAX_PIXELS, 99999999));
  made = NULL;
  CHECK_FAILS(wherry_image_compress(image, compression, &made), WHERRY_E_IMAGE, "image_too_large");
  REQUIRE_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_MAX_PIXELS, 100000000));
  REQUIRE_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_DEADLINE_MS, 1)); /* SEC-R9 */
  CHECK_FAILS(wherry_image_compress(image, compression, &made), WHERRY_E_IMAGE, "image_too_large");
  CHECK_HOLDS(wherry_error_message(wherry_last_error()), "The deadline for this image has passed");
  CHECK_OK(wherry_image_free(small));
  CHECK_OK(wherry_image_free(image));
  CHECK_OK(wherry_compression_free(compression));
}

TEST("U19 a 12 megapixel photo is compressed to 200 KB with a longest side of 1280") {
  size_t count;
  const uint8_t *jpeg = picture_jpeg(4000, 3000, 95, &count);
  CHECK(count > 200000);
  wherry_compression *compression = compression_of(1);
  wherry_image *image = NULL, *made = NULL;
  REQUIRE_OK(wherry_image_new_bytes(jpeg, count, &image));
  REQUIRE_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_DEADLINE_MS, 0)); /* none */
  REQUIRE_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_MAX_WIDTH, 1280));
  REQUIRE_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_MAX_HEIGHT, 1280));
  REQUIRE_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_MAX_BYTES, 200000));
  REQUIRE_OK(wherry_image_compress(image, compression, &made));
  wherry_image_info info = {.size = sizeof info};
  CHECK_OK(wherry_image_inspect(made, &info));
  CHECK(info.byte_count <= 200000);
  CHECK_INT(info.width, 1280);
  CHECK_INT(info.height, 960);
  CHECK_OK(wherry_image_free(made));
  CHECK_OK(wherry_image_free(image));
  CHECK_OK(wherry_compression_free(compression));
}

TEST("SEC-R9 an image error is reported and not printed") {
  size_t jpeg_count, png_count;
  uint8_t *jpeg = picture_jpeg(64, 64, 90, &jpeg_count), *png = picture_png(64, 64, &png_count);
  memset(jpeg + jpeg_count - 60, 0xff, 20);
  png[png_count - 14] ^= 1;
  const char *path = check_path("stderr");
  int saved = dup(2), file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  REQUIRE(saved >= 0 && file >= 0);
  wherry_compression *compression = compression_of(0.5);
  /* A PNG of the right size would be sent unchanged, without decoding its pixels. */
  REQUIRE_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_MAX_WIDTH, 32));
  wherry_image *images[2] = {NULL, NULL}, *made = NULL;
  REQUIRE_OK(wherry_image_new_bytes(jpeg, jpeg_count, &images[0]));
  REQUIRE_OK(wherry_image_new_bytes(png, png_count, &images[1]));
  for (int i = 0; i < 2; i++) {
    dup2(file, 2);
    wherry_status status = wherry_image_compress(images[i], compression, &made);
    dup2(saved, 2);
    CHECK_STATUS(status, WHERRY_E_IMAGE);
    CHECK(strlen(wherry_error_message(wherry_last_error())) > 0);
    CHECK_OK(wherry_image_free(images[i]));
  }
  CHECK_INT(lseek(file, 0, SEEK_END), 0);
  close(file);
  close(saved);
  CHECK_OK(wherry_compression_free(compression));
}

/* libjpeg and libpng report errors with longjmp, which must not cross a Swift frame. */
TEST("I8 SEC-R11 randomly changed bytes give an image or an error, and never end the program") {
  int rounds = check_in_full() ? 20000 : 2000;
  uint64_t state = 88172645463325252ULL; /* xorshift64 */
  size_t counts[3];
  const uint8_t *plain = picture_jpeg(24, 17, 90, &counts[0]);
  const uint8_t *sources[3] = {plain, picture_png(24, 17, &counts[1]),
                               picture_with_exif(plain, counts[0], 7, &counts[2])};
  wherry_compression *compressions[3] = {compression_of(1), compression_of(0.5),
                                         compression_of(0.5)};
  REQUIRE_OK(wherry_compression_set_option(compressions[1], WHERRY_IMAGE_MAX_WIDTH, 9));
  REQUIRE_OK(wherry_compression_set_option(compressions[2], WHERRY_IMAGE_METADATA,
                                           WHERRY_METADATA_NO_GPS));
  int sound = 0;
  for (int i = 0; i < 3; i++)
    REQUIRE_OK(wherry_compression_set_option(compressions[i], WHERRY_IMAGE_MAX_PIXELS, 1 << 20));
  uint8_t *bytes = check_memory(counts[0] + counts[1] + counts[2]);
  for (int round = 0; round < rounds; round++) {
    size_t count = counts[round % 3];
    memcpy(bytes, sources[round % 3], count);
    for (int change = 0; change <= round % 8; change++) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      bytes[state % count] = (uint8_t)(state >> 56);
    }
    wherry_image *image = NULL, *made = NULL;
    REQUIRE_OK(wherry_image_new_bytes(bytes, count, &image));
    wherry_status status = wherry_image_compress(image, compressions[round / 3 % 3], &made);
    if (status == WHERRY_OK) sound++;
    CHECK(status == WHERRY_OK || (status == WHERRY_E_IMAGE && made == NULL));
    if (made != NULL) CHECK_OK(wherry_image_free(made));
    CHECK_OK(wherry_image_free(image));
  }
  CHECK(sound > 0 && sound < rounds);
  for (int i = 0; i < 3; i++) CHECK_OK(wherry_compression_free(compressions[i]));
}
