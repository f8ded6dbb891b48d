/* Wherry: encoding of rows as PNG. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "png_internal.h"

typedef struct {
  cimage_encoder base;
  png_structp png;
  png_infop info;
  cimage_png_errors errors;
  cimage_png_options options;
  bool started;
} cimage_png_encoder;

static void write_bytes(png_structp png, png_bytep bytes, size_t count) {
  cimage_png_encoder *encoder = png_get_io_ptr(png);
  encoder->errors.status = cimage_buffer_append(&encoder->base.output, bytes, count);
  if (encoder->errors.status != CIMAGE_OK) png_error(png, "the encoded image does not fit");
}

static void flush_bytes(png_structp png) { (void)png; }

/* ---- Rows ---- */

static void write_chunks(png_structp png, const uint8_t *chunks, size_t count) {
  while (count >= 12) {
    size_t length =
        (size_t)chunks[0] << 24 | (size_t)chunks[1] << 16 | (size_t)chunks[2] << 8 | chunks[3];
    if (length > count - 12) break;
    png_write_chunk(png, chunks + 4, chunks + 8, length);
    chunks += length + 12;
    count -= length + 12;
  }
  if (count > 0) png_error(png, "a broken chunk");
}

static void write_header(cimage_png_encoder *encoder) {
  png_structp png = encoder->png;
  int type = PNG_COLOR_TYPE_RGB_ALPHA;
  if (encoder->base.pixels == CIMAGE_GRAY8) type = PNG_COLOR_TYPE_GRAY;
  if (encoder->base.pixels == CIMAGE_RGB8) type = PNG_COLOR_TYPE_RGB;
  png_set_IHDR(png, encoder->info, encoder->base.width, encoder->base.height, 8, type,
               PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_compression_level(png, encoder->options.best ? 9 : 1);
  png_set_filter(png, PNG_FILTER_TYPE_BASE,
                 encoder->options.best ? PNG_ALL_FILTERS : PNG_FILTER_SUB);
  if (encoder->options.profile_count > 0) {
    png_set_iCCP(png, encoder->info, "ICC", PNG_COMPRESSION_TYPE_BASE, encoder->options.profile,
                 (png_uint_32)encoder->options.profile_count);
  }
  png_write_info(png, encoder->info);
  write_chunks(png, encoder->options.chunks, encoder->options.chunks_count);
  if (encoder->base.pixels == CIMAGE_BGRA8) png_set_bgr(png);
}

static cimage_status png_write(cimage_encoder *base, const uint8_t *rows, size_t stride,
                               uint32_t count, cimage_message message) {
  cimage_png_encoder *encoder = (cimage_png_encoder *)base;
  if (setjmp(png_jmpbuf(encoder->png))) return cimage_png_failed(&encoder->errors, message);
  if (!encoder->started) {
    encoder->started = true;
    write_header(encoder);
  }
  for (uint32_t i = 0; i < count; i++) png_write_row(encoder->png, rows + (size_t)i * stride);
  base->written += count;
  return CIMAGE_OK;
}

static cimage_status png_finish(cimage_encoder *base, cimage_message message) {
  cimage_png_encoder *encoder = (cimage_png_encoder *)base;
  if (setjmp(png_jmpbuf(encoder->png))) return cimage_png_failed(&encoder->errors, message);
  png_write_end(encoder->png, NULL);
  return CIMAGE_OK;
}

static void png_destroy_encoder(cimage_encoder *base) {
  cimage_png_encoder *encoder = (cimage_png_encoder *)base;
  if (encoder->png != NULL) png_destroy_write_struct(&encoder->png, &encoder->info);
}

/* ---- Begin ---- */

static cimage_status begin(cimage_png_encoder *encoder, cimage_message message) {
  if (setjmp(png_jmpbuf(encoder->png))) return cimage_png_failed(&encoder->errors, message);
  encoder->info = png_create_info_struct(encoder->png);
  if (encoder->info == NULL) return CIMAGE_NO_MEMORY;
  png_set_benign_errors(encoder->png, 1);
  png_set_user_limits(encoder->png, CIMAGE_SIDE, CIMAGE_SIDE);
  png_set_write_fn(encoder->png, encoder, write_bytes, flush_bytes);
  return CIMAGE_OK;
}

cimage_status cimage_png_begin(uint32_t width, uint32_t height, cimage_pixels pixels,
                               const cimage_png_options *options, cimage_encoder **out_encoder,
                               cimage_message message) {
  if (width == 0 || height == 0 || width > CIMAGE_SIDE || height > CIMAGE_SIDE ||
      cimage_pixel_bytes(pixels) == 0 || pixels == CIMAGE_YCBCR8 ||
      options->profile_count > UINT32_MAX) {
    return CIMAGE_ARGUMENT;
  }
  cimage_png_encoder *encoder = calloc(1, sizeof *encoder);
  if (encoder == NULL) return CIMAGE_NO_MEMORY;
  encoder->base.pixels = pixels;
  encoder->base.width = width;
  encoder->base.height = height;
  encoder->base.deadline_ns = options->deadline_ns;
  encoder->base.output.limit = options->max_output;
  encoder->base.write = png_write;
  encoder->base.finish = png_finish;
  encoder->base.destroy = png_destroy_encoder;
  encoder->options = *options;
  encoder->png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &encoder->errors, cimage_png_fail,
                                         cimage_png_warn);
  cimage_status status = encoder->png == NULL ? CIMAGE_NO_MEMORY : begin(encoder, message);
  if (status != CIMAGE_OK) {
    cimage_encoder_free(&encoder->base);
    return status;
  }
  *out_encoder = &encoder->base;
  return CIMAGE_OK;
}
