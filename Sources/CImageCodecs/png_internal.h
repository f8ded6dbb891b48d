/* Wherry: declarations shared by the PNG files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CIMAGE_PNG_INTERNAL_H
#define CIMAGE_PNG_INTERNAL_H

#include <png.h>

#include "internal.h"

/* The state after a libpng error; png_get_error_ptr returns it. */
typedef struct {
  cimage_status status; /* set before png_error if its message is too general */
  char text[192];
} cimage_png_errors;

/* Where the bytes of a stream are in the file. */
typedef struct {
  uint8_t head[8]; /* the signature, and then the length and type of each chunk */
  size_t head_count;
  uint64_t left; /* bytes of the current chunk, with its checksum */
  bool has_signature, is_skipped;
} cimage_png_place;

typedef struct {
  cimage_decoder base;
  png_structp png;
  png_infop info;
  cimage_png_errors errors;
  uint32_t next_row;
  int passes;
  uint8_t *whole; /* all rows of an interlaced image */
  size_t row_bytes;
  cimage_png_place place; /* only of a stream */
} cimage_png_decoder;

/* Steps of reading that decoders of files and of streams share. Call them after setjmp. */

/* Sets the limits, and creates `info`. */
cimage_status cimage_png_configure(cimage_png_decoder *decoder);
/* Fills in the header of the decoder from `info`. */
cimage_status cimage_png_describe(cimage_png_decoder *decoder, cimage_message message);
/* Chooses the conversions to the pixels of the decoder, and reserves memory for the rows of an
 * interlaced image. */
cimage_status cimage_png_prepare_rows(cimage_png_decoder *decoder, cimage_message message);
void cimage_png_destroy_decoder(cimage_decoder *base);

/* For png_create_*_struct: stores the message and jumps. Warnings are ignored. */
PNG_NORETURN void cimage_png_fail(png_structp png, png_const_charp text);
void cimage_png_warn(png_structp png, png_const_charp text);
cimage_status cimage_png_failed(const cimage_png_errors *errors, cimage_message message);

#endif
