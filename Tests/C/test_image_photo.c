/* Wherry: what EXIF says about photographs, from C
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"

/* "Exif", two zero bytes, and a block that Pillow wrote: a camera, a time with an offset, and a
 * place. */
static const uint8_t block[] = {
    0x45, 0x78, 0x69, 0x66, 0x00, 0x00, 0x4d, 0x4d, 0x00, 0x2a, 0x00, 0x00, 0x00, 0x08, 0x00, 0x05,
    0x01, 0x0f, 0x00, 0x02, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x4a, 0x01, 0x10, 0x00, 0x02,
    0x00, 0x00, 0x00, 0x09, 0x00, 0x00, 0x00, 0x50, 0x01, 0x12, 0x00, 0x03, 0x00, 0x00, 0x00, 0x01,
    0x00, 0x06, 0x00, 0x00, 0x87, 0x69, 0x00, 0x04, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x5a,
    0x88, 0x25, 0x00, 0x04, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x94, 0x00, 0x00, 0x00, 0x00,
    0x41, 0x63, 0x6d, 0x65, 0x00, 0x00, 0x41, 0x63, 0x6d, 0x65, 0x20, 0x4f, 0x6e, 0x65, 0x00, 0x00,
    0x00, 0x02, 0x90, 0x03, 0x00, 0x02, 0x00, 0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x78, 0x90, 0x11,
    0x00, 0x02, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x8c, 0x00, 0x00, 0x00, 0x00, 0x32, 0x30,
    0x32, 0x34, 0x3a, 0x30, 0x35, 0x3a, 0x30, 0x31, 0x20, 0x31, 0x32, 0x3a, 0x33, 0x34, 0x3a, 0x35,
    0x36, 0x00, 0x2b, 0x30, 0x32, 0x3a, 0x30, 0x30, 0x00, 0x00, 0x00, 0x06, 0x00, 0x01, 0x00, 0x02,
    0x00, 0x00, 0x00, 0x02, 0x4e, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x05, 0x00, 0x00, 0x00, 0x03,
    0x00, 0x00, 0x00, 0xe2, 0x00, 0x03, 0x00, 0x02, 0x00, 0x00, 0x00, 0x02, 0x57, 0x00, 0x00, 0x00,
    0x00, 0x04, 0x00, 0x05, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00, 0xfa, 0x00, 0x05, 0x00, 0x01,
    0x00, 0x00, 0x00, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x06, 0x00, 0x05, 0x00, 0x00, 0x00, 0x01,
    0x00, 0x00, 0x01, 0x12, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x30, 0x00, 0x00, 0x00, 0x01,
    0x00, 0x00, 0x00, 0x33, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x02, 0xeb, 0x00, 0x00, 0x00, 0x19,
    0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x11, 0x00, 0x00, 0x00, 0x01,
    0x00, 0x00, 0x00, 0xc9, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x47, 0x00, 0x00, 0x00, 0x02,
};

/* A JPEG with the block as its first segment, freed with malloc's free. */
static uint8_t *photo(size_t *out_count) {
  size_t count;
  const uint8_t *jpeg = picture_jpeg(60, 40, 80, &count);
  uint8_t *bytes = malloc(count + 4 + sizeof block);
  memcpy(bytes, jpeg, 2);
  size_t length = sizeof block + 2;
  const uint8_t head[] = {0xff, 0xe1, (uint8_t)(length >> 8), (uint8_t)length};
  memcpy(bytes + 2, head, 4);
  memcpy(bytes + 6, block, sizeof block);
  memcpy(bytes + 6 + sizeof block, jpeg + 2, count - 2);
  *out_count = count + 4 + sizeof block;
  return bytes;
}

static wherry_image_photo photo_of(const void *bytes, size_t count) {
  wherry_image *image = NULL;
  REQUIRE_OK(wherry_image_new_bytes(bytes, count, &image));
  wherry_image_photo result;
  memset(&result, 0x55, sizeof result);
  result.size = sizeof result;
  CHECK_OK(wherry_image_read_photo(image, &result));
  CHECK_INT(result.size, sizeof result);
  CHECK_OK(wherry_image_free(image));
  return result;
}

TEST("I6 a photograph reports its time, camera, and place without decoding") {
  size_t count;
  uint8_t *bytes = photo(&count);
  wherry_image_photo found = photo_of(bytes, count - 100); /* without the end of its data */
  CHECK_TEXT(found.taken_at, "2024-05-01T12:34:56+02:00");
  CHECK_TEXT(found.make, "Acme");
  CHECK_TEXT(found.model, "Acme One");
  CHECK_INT(found.flags, WHERRY_PHOTO_HAS_POSITION | WHERRY_PHOTO_HAS_ALTITUDE);
  CHECK(fabs(found.latitude - 48.8583) < 1e-9);
  CHECK(fabs(found.longitude + 2.2945) < 1e-9);
  CHECK(found.altitude == -35.5);
  CHECK_INT(found.reserved, 0);
  free(bytes);
}

TEST("I6 an image without EXIF has empty values, and a small struct is filled") {
  size_t count;
  const uint8_t *png = picture_png(20, 10, &count);
  wherry_image_photo found = photo_of(png, count);
  CHECK_INT(found.flags, 0);
  CHECK(found.latitude == 0 && found.altitude == 0);
  CHECK_TEXT(found.taken_at, "");
  CHECK_TEXT(found.make, "");
  CHECK_TEXT(found.model, "");

  wherry_image *image = NULL;
  REQUIRE_OK(wherry_image_new_bytes(png, count, &image));
  wherry_image_photo small = {.size = 16, .longitude = 7};
  CHECK_OK(wherry_image_read_photo(image, &small));
  CHECK(small.longitude == 7);
  CHECK_STATUS(wherry_image_read_photo(image, NULL), WHERRY_E_ARGUMENT);
  CHECK_OK(wherry_image_free(image));
}

TEST("I6 mutated blocks never crash") {
  size_t count;
  uint8_t *bytes = photo(&count);
  unsigned seed = 1;
  for (int round = 0; round < 4000; round++) {
    uint8_t saved[sizeof block];
    memcpy(saved, bytes + 6, sizeof block);
    for (int i = 0; i < 3; i++) {
      seed = seed * 1103515245 + 12345;
      bytes[12 + (seed >> 8) % (sizeof block - 6)] = round % 2 == 0 ? 0xff : (uint8_t)(seed >> 20);
    }
    wherry_image_photo found = photo_of(bytes, count);
    CHECK(memchr(found.make, 0, sizeof found.make) != NULL);
    CHECK(fabs(found.latitude) <= 90 && fabs(found.longitude) <= 180);
    memcpy(bytes + 6, saved, sizeof block);
  }
  free(bytes);
}

TEST("I6 a long text is cut after a complete character") {
  size_t count;
  uint8_t *bytes = photo(&count);
  for (size_t i = 6; i + 12 < 6 + sizeof block; i++) {
    const uint8_t entry[] = {0x01, 0x10, 0x00, 0x02}; /* the model, a text */
    if (memcmp(bytes + i, entry, sizeof entry) != 0) continue;
    bytes[i + 7] = 100; /* its length */
    uint8_t *text = bytes + 12 + ((size_t)bytes[i + 10] << 8 | bytes[i + 11]);
    text[0] = 'x';
    for (int k = 1; k < 99; k++) text[k] = k % 2 == 1 ? 0xc3 : 0xa9;
    text[99] = 0;
    break;
  }
  wherry_image_photo found = photo_of(bytes, count);
  CHECK_INT(strlen(found.model), 63);
  CHECK_INT((unsigned char)found.model[62], 0xa9);
  free(bytes);
}

/* The image that a compression makes of encoded bytes, or the status of the failure. */
static wherry_status edit(const void *bytes, size_t count, const wherry_compression *compression,
                          wherry_image_photo *out_photo) {
  wherry_image *image = NULL;
  REQUIRE_OK(wherry_image_new_bytes(bytes, count, &image));
  wherry_image *made = NULL;
  wherry_status status = wherry_image_compress(image, compression, &made);
  if (status == WHERRY_OK) {
    size_t length;
    const uint8_t *result = wherry_image_bytes(made, &length);
    *out_photo = photo_of(result, length);
  }
  CHECK_OK(wherry_image_free(made));
  CHECK_OK(wherry_image_free(image));
  return status;
}

static void set(wherry_compression *compression, wherry_metadata_field field, const char *text) {
  CHECK_OK(wherry_compression_set_metadata(compression, field, text));
}

TEST("I6 texts of EXIF are set, removed, and left alone") {
  size_t count;
  uint8_t *bytes = photo(&count);
  wherry_compression *compression = NULL;
  REQUIRE_OK(wherry_compression_new(0.5, &compression));
  set(compression, WHERRY_METADATA_COPYRIGHT, "\xc2\xa9 2026 Ada");
  set(compression, WHERRY_METADATA_ARTIST, "Ada");
  set(compression, WHERRY_METADATA_DESCRIPTION, "Two\nlines");
  set(compression, WHERRY_METADATA_SOFTWARE, "test");
  set(compression, WHERRY_METADATA_TAKEN_AT, "2026-11-28T20:15:30Z");
  set(compression, WHERRY_METADATA_MAKE, "Other");
  set(compression, WHERRY_METADATA_MODEL, "Model");
  wherry_image_photo found;
  REQUIRE_OK(edit(bytes, count, compression, &found));
  CHECK_TEXT(found.copyright, "\xc2\xa9 2026 Ada");
  CHECK_TEXT(found.artist, "Ada");
  CHECK_TEXT(found.description, "Two\nlines");
  CHECK_TEXT(found.software, "test");
  CHECK_TEXT(found.taken_at, "2026-11-28T20:15:30+00:00");
  CHECK_TEXT(found.make, "Other");
  CHECK_TEXT(found.model, "Model");
  CHECK_INT(found.flags, 0); /* the default metadata rule removes the place */

  /* Everything is kept, and NULL takes back a change. */
  CHECK_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_METADATA, WHERRY_METADATA_ALL));
  set(compression, WHERRY_METADATA_MAKE, NULL);
  set(compression, WHERRY_METADATA_MODEL, "");
  set(compression, WHERRY_METADATA_TAKEN_AT, "");
  REQUIRE_OK(edit(bytes, count, compression, &found));
  CHECK_TEXT(found.copyright, "\xc2\xa9 2026 Ada");
  CHECK_TEXT(found.make, "Acme");
  CHECK_TEXT(found.model, "");
  CHECK_TEXT(found.taken_at, "");
  CHECK_INT(found.flags, WHERRY_PHOTO_HAS_POSITION | WHERRY_PHOTO_HAS_ALTITUDE);

  /* An image without EXIF gets the texts, too. */
  const uint8_t *png = picture_png(20, 10, &count);
  REQUIRE_OK(edit(png, count, compression, &found));
  CHECK_TEXT(found.artist, "Ada");
  CHECK_OK(wherry_compression_free(compression));
  free(bytes);
}

TEST("I6 a location is rounded") {
  size_t count;
  uint8_t *bytes = photo(&count);
  wherry_compression *compression = NULL;
  REQUIRE_OK(wherry_compression_new(1, &compression));
  CHECK_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_METADATA, WHERRY_METADATA_ALL));
  CHECK_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_LOCATION_DECIMALS, 1));
  wherry_image_photo found;
  REQUIRE_OK(edit(bytes, count, compression, &found));
  CHECK_INT(found.flags, WHERRY_PHOTO_HAS_POSITION);
  CHECK(fabs(found.latitude - 48.9) < 1e-9);
  CHECK(fabs(found.longitude + 2.3) < 1e-9);
  CHECK_TEXT(found.make, "Acme");
  CHECK_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_LOCATION_DECIMALS, -1));
  REQUIRE_OK(edit(bytes, count, compression, &found));
  CHECK(fabs(found.latitude - 48.8583) < 1e-9);
  CHECK(found.altitude == -35.5);
  CHECK_STATUS(wherry_compression_set_option(compression, WHERRY_IMAGE_LOCATION_DECIMALS, 7),
               WHERRY_E_ARGUMENT);
  CHECK_OK(wherry_compression_free(compression));
  free(bytes);
}

TEST("I6 texts that a field cannot hold are refused") {
  wherry_compression *compression = NULL;
  REQUIRE_OK(wherry_compression_new(1, &compression));
  CHECK_STATUS(wherry_compression_set_metadata(compression, WHERRY_METADATA_ARTIST, "\xff"),
               WHERRY_E_ARGUMENT);
  CHECK_STATUS(wherry_compression_set_metadata(compression, WHERRY_METADATA_TAKEN_AT, "today"),
               WHERRY_E_ARGUMENT);
  CHECK(strstr(wherry_error_message(wherry_last_error()), "2024-05-01T12:34:56") != NULL);
  for (int field = 0; field < 300; field++) {
    if (field > 0 && field < 8) continue;
    wherry_status status =
        wherry_compression_set_metadata(compression, (wherry_metadata_field)field, "text");
    CHECK_STATUS(status, WHERRY_E_ARGUMENT);
  }

  char *text = malloc(70001);
  memset(text, 'x', 70000);
  text[70000] = 0;
  set(compression, WHERRY_METADATA_DESCRIPTION, text);
  size_t count;
  const uint8_t *jpeg = picture_jpeg(60, 40, 80, &count);
  wherry_image_photo found;
  CHECK_STATUS(edit(jpeg, count, compression, &found), WHERRY_E_IMAGE);
  CHECK(strstr(wherry_error_message(wherry_last_error()), "at most 65527") != NULL);
  const uint8_t *png = picture_png(20, 10, &count);
  REQUIRE_OK(edit(png, count, compression, &found));
  CHECK_INT(strlen(found.description), 255);
  CHECK_OK(wherry_compression_free(compression));
  free(text);
}

TEST("I6 mutated blocks are edited without a crash") {
  wherry_compression *compression = NULL;
  REQUIRE_OK(wherry_compression_new(1, &compression));
  set(compression, WHERRY_METADATA_ARTIST, "Ada");
  set(compression, WHERRY_METADATA_TAKEN_AT, "2026-11-28T20:15:30");
  set(compression, WHERRY_METADATA_MAKE, "");
  CHECK_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_METADATA, WHERRY_METADATA_ALL));
  CHECK_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_LOCATION_DECIMALS, 2));
  CHECK_OK(wherry_compression_set_option(compression, WHERRY_IMAGE_KEEP_ORIENTATION, 1));
  size_t count;
  uint8_t *bytes = photo(&count);
  unsigned seed = 7;
  for (int round = 0; round < 2000; round++) {
    uint8_t saved[sizeof block];
    memcpy(saved, bytes + 6, sizeof block);
    for (int i = 0; i < 3; i++) {
      seed = seed * 1103515245 + 12345;
      bytes[12 + (seed >> 8) % (sizeof block - 6)] = round % 2 == 0 ? 0xff : (uint8_t)(seed >> 20);
    }
    wherry_image_photo found;
    REQUIRE_OK(edit(bytes, count, compression, &found));
    CHECK_TEXT(found.artist, "Ada");
    CHECK_TEXT(found.taken_at, "2026-11-28T20:15:30");
    CHECK_TEXT(found.make, "");
    memcpy(bytes + 6, saved, sizeof block);
  }
  CHECK_OK(wherry_compression_free(compression));
  free(bytes);
}
