/* Wherry: declarations shared by the JPEG files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CIMAGE_JPEG_INTERNAL_H
#define CIMAGE_JPEG_INTERNAL_H

/* jpeglib.h uses FILE and size_t without including their headers. */
/* clang-format off */
#include "internal.h"

#include <jpeglib.h>
/* clang-format on */

/* libjpeg's error manager, as the first member so that both share an address, and the jump
 * target. Call setjmp on `landing` in every function that calls libjpeg. */
typedef struct {
  struct jpeg_error_mgr base;
  jmp_buf landing;
  cimage_status status; /* set before the jump if libjpeg's error code is too general */
  char text[JMSG_LENGTH_MAX];
} cimage_jpeg_errors;

/* Counts scans, and checks the deadline once per row of blocks. */
typedef struct {
  struct jpeg_progress_mgr base;
  uint32_t max_scans; /* 0: not a decoder */
  int64_t deadline_ns;
} cimage_jpeg_watch;

typedef struct {
  cimage_decoder base;
  struct jpeg_decompress_struct codec;
  struct jpeg_source_mgr source;
  cimage_jpeg_errors errors;
  cimage_jpeg_watch watch;
  /* The quantization tables of the first components; libjpeg frees them after the last row. */
  UINT16 tables[3][DCTSIZE2];
  int tables_count;
  uint8_t *cmyk; /* one row, for the conversion to RGB */
  /* Only of a stream. */
  cimage_buffer pending; /* the bytes that the codec has not consumed */
  size_t skipped;        /* bytes to skip that have not arrived */
} cimage_jpeg_decoder;

/* Steps of reading that decoders of files and of streams share. Call them after setjmp. */

/* Opens a decoder whose source and methods the caller sets. */
cimage_status cimage_jpeg_create(const cimage_limits *limits, cimage_jpeg_decoder **out_decoder,
                                 cimage_message message);
/* Fills in the header of the decoder after jpeg_read_header. */
cimage_status cimage_jpeg_describe(cimage_jpeg_decoder *decoder, cimage_message message);
/* Chooses the size and colors of the output before jpeg_start_decompress. */
void cimage_jpeg_choose_output(cimage_jpeg_decoder *decoder, int eighths);
/* Reserves what reading needs, after jpeg_start_decompress. */
cimage_status cimage_jpeg_prepare_rows(cimage_jpeg_decoder *decoder);
/* Reads rows up to the row `end`. Returns false if the source has too few bytes. */
bool cimage_jpeg_read_rows(cimage_jpeg_decoder *decoder, uint8_t *rows, size_t stride,
                           JDIMENSION end);
void cimage_jpeg_destroy_decoder(cimage_decoder *base);

typedef struct {
  struct jpeg_destination_mgr base;
  cimage_buffer *output;
} cimage_jpeg_sink;

enum { CIMAGE_COMPONENTS = 3 };

/* The coefficients of a gray or YCbCr image, in arrays of `owner`. */
typedef struct {
  j_common_ptr owner;
  int components;
  jvirt_barray_ptr arrays[CIMAGE_COMPONENTS];
  JDIMENSION columns[CIMAGE_COMPONENTS], rows[CIMAGE_COMPONENTS]; /* in blocks */
  float unit[CIMAGE_COMPONENTS][DCTSIZE2]; /* the value of 1 in an array, in natural order */
} cimage_jpeg_coefficients;

typedef struct cimage_jpeg_transform cimage_jpeg_transform;

void cimage_jpeg_errors_init(cimage_jpeg_errors *errors);
/* After the jump: copies the text into `message` and returns the status. */
cimage_status cimage_jpeg_failed(const cimage_jpeg_errors *errors, cimage_message message);
void cimage_jpeg_fail(j_common_ptr codec, cimage_status status, const char *text);
void cimage_jpeg_watch_init(cimage_jpeg_watch *watch, uint32_t max_scans, int64_t deadline_ns);
/* Call after setjmp. Applies all options, from quality to the extra segments, but does not call
 * jpeg_start_compress. */
void cimage_jpeg_configure(j_compress_ptr codec, const cimage_jpeg_options *options);
void cimage_jpeg_write_segments(j_compress_ptr codec, const uint8_t *segments, size_t count);
/* Transposes the codec's quantization tables, for transposed blocks. */
void cimage_jpeg_transpose_tables(j_compress_ptr codec);
/* Quantizes the coefficients in their arrays, and writes the file. Call it after setjmp, with all
 * parameters of `codec` set except for tables and scans, instead of jpeg_start_compress. */
void cimage_jpeg_write_smallest(j_compress_ptr codec, cimage_jpeg_coefficients *all,
                                const cimage_jpeg_options *options);
/* Reserves memory for the coefficients of an image, as part of `codec`, whose size, colors, and
 * sampling are set. Call these after setjmp. */
cimage_jpeg_transform *cimage_jpeg_transform_new(j_compress_ptr codec, cimage_pixels pixels);
/* Transforms the next row. */
void cimage_jpeg_transform_row(cimage_jpeg_transform *to, const uint8_t *row);
/* The coefficients, after all rows. */
cimage_jpeg_coefficients *cimage_jpeg_transformed(cimage_jpeg_transform *from);
void cimage_jpeg_sink_init(cimage_jpeg_sink *sink, cimage_buffer *output);

#endif
