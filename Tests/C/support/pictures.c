/* Wherry: small images for C tests
 * SPDX-License-Identifier: Apache-2.0 */
#include "pictures.h"

#include <stdio.h>
/* after stdio.h */
#include <jpeglib.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

uint8_t *picture_pixels(int width, int height) {
  uint8_t *pixels = check_memory((size_t)width * (size_t)height * 3), *at = pixels;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      *at++ = (uint8_t)(x * 255 / width);
      *at++ = (uint8_t)(y * 255 / height);
      *at++ = (uint8_t)((x / 8 + y / 8) % 2 ? 255 : (x * 7 ^ y * 13) & 63);
    }
  return pixels;
}

static uint8_t *own(const void *bytes, size_t count) {
  uint8_t *copy = check_memory(count + 1);
  memcpy(copy, bytes, count);
  return copy;
}

uint8_t *picture_jpeg(int width, int height, int quality, size_t *out_count) {
  struct jpeg_compress_struct info;
  struct jpeg_error_mgr errors; /* the standard one: a failure here ends the program */
  unsigned char *bytes = NULL;
  unsigned long count = 0;
  uint8_t *pixels = picture_pixels(width, height);
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  jpeg_mem_dest(&info, &bytes, &count);
  info.image_width = (JDIMENSION)width;
  info.image_height = (JDIMENSION)height;
  info.input_components = 3;
  info.in_color_space = JCS_RGB;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, quality, TRUE);
  jpeg_start_compress(&info, TRUE);
  for (int y = 0; y < height; y++) {
    JSAMPROW row = pixels + (size_t)y * (size_t)width * 3;
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  uint8_t *copy = own(bytes, count);
  *out_count = count;
  free(bytes);
  return copy;
}

uint8_t *picture_png(int width, int height, size_t *out_count) {
  png_image image = {.version = PNG_IMAGE_VERSION, .format = PNG_FORMAT_RGB};
  png_alloc_size_t count = 0;
  uint8_t *pixels = picture_pixels(width, height), *bytes = NULL;
  image.width = (png_uint_32)width;
  image.height = (png_uint_32)height;
  REQUIRE(png_image_write_get_memory_size(image, count, 0, pixels, 0, NULL));
  bytes = check_memory(count);
  REQUIRE(png_image_write_to_memory(&image, bytes, &count, 0, pixels, 0, NULL));
  *out_count = count;
  return bytes;
}

uint8_t *picture_with_exif(const uint8_t *jpeg, size_t count, int orientation, size_t *out_count) {
  /* Big endian TIFF: orientation, and a GPS directory with one entry, the north latitude reference.
   * */
  uint8_t exif[] = {0xff, 0xe1, 0,    66,   'E', 'x', 'i', 'f', 0, 0,
                    'M',  'M',  0,    42,   0,   0,   0,   8,   0, 2, /* entries */
                    0x01, 0x12, 0,    3,    0,   0,   0,   1,   0, (uint8_t)orientation,
                    0,    0,    0x88, 0x25, 0,   4,   0,   0,   0, 1,
                    0,    0,    0,    38,   0,   0,   0,   0, /* no more */
                    0,    1,    0,    1,    0,   2,   0,   0,   0, 2,
                    'N',  0,    0,    0,    0,   0,   0,   0};
  exif[3] = (uint8_t)(sizeof exif - 2);
  uint8_t *all = check_memory(count + sizeof exif);
  memcpy(all, jpeg, 2);
  memcpy(all + 2, exif, sizeof exif);
  memcpy(all + 2 + sizeof exif, jpeg + 2, count - 2);
  *out_count = count + sizeof exif;
  return all;
}

static uint8_t *decode_png(const void *bytes, size_t count, png_uint_32 format, int *out_width,
                           int *out_height) {
  png_image image = {.version = PNG_IMAGE_VERSION};
  REQUIRE(png_image_begin_read_from_memory(&image, bytes, count));
  image.format = format;
  uint8_t *pixels = check_memory(PNG_IMAGE_SIZE(image));
  REQUIRE(png_image_finish_read(&image, NULL, pixels, 0, NULL));
  *out_width = (int)image.width;
  *out_height = (int)image.height;
  return pixels;
}

uint8_t *picture_decode(const void *bytes, size_t count, int *out_width, int *out_height) {
  const uint8_t *first = bytes;
  if (count > 8 && memcmp(first, "\x89PNG", 4) == 0)
    return decode_png(bytes, count, PNG_FORMAT_RGB, out_width, out_height);
  if (count < 4 || first[0] != 0xff || first[1] != 0xd8) return NULL;
  struct jpeg_decompress_struct info;
  struct jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, bytes, count);
  jpeg_read_header(&info, TRUE);
  info.out_color_space = JCS_RGB;
  jpeg_start_decompress(&info);
  size_t stride = (size_t)info.output_width * 3;
  uint8_t *pixels = check_memory(stride * info.output_height);
  while (info.output_scanline < info.output_height) {
    JSAMPROW row = pixels + stride * info.output_scanline;
    jpeg_read_scanlines(&info, &row, 1);
  }
  *out_width = (int)info.output_width;
  *out_height = (int)info.output_height;
  jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  return pixels;
}

uint8_t *picture_decode_rgba(const void *bytes, size_t count, int *out_width, int *out_height) {
  if (count > 8 && memcmp(bytes, "\x89PNG", 4) == 0)
    return decode_png(bytes, count, PNG_FORMAT_RGBA, out_width, out_height);
  const uint8_t *rgb = picture_decode(bytes, count, out_width, out_height);
  if (rgb == NULL) return NULL;
  size_t pixels = (size_t)*out_width * (size_t)*out_height;
  uint8_t *rgba = check_memory(pixels * 4);
  for (size_t i = 0; i < pixels; i++) {
    memcpy(rgba + 4 * i, rgb + 3 * i, 3);
    rgba[4 * i + 3] = 255;
  }
  return rgba;
}

void picture_write_large(const char *path, int width, int height) {
  FILE *file = fopen(path, "wb");
  REQUIRE(file != NULL);
  struct jpeg_compress_struct info;
  struct jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  jpeg_stdio_dest(&info, file);
  info.image_width = (JDIMENSION)width;
  info.image_height = (JDIMENSION)height;
  info.input_components = 1;
  info.in_color_space = JCS_GRAYSCALE;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 80, TRUE);
  jpeg_start_compress(&info, TRUE);
  JSAMPROW row = check_memory((size_t)width);
  for (int y = 0; y < height; y++) {
    memset(row, y / 8 * 37 & 255, (size_t)width);
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  CHECK_INT(fclose(file), 0);
}
