/* Wherry: decoding of interlaced PNG images while their bytes arrive. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "png_internal.h"

/* libpng's progressive reader: it calls these functions for the header, each row of each pass, and
 * the end. */

/* Leaves a function that libpng called with a status. */
static PNG_NORETURN void leave(png_structp png, cimage_png_decoder *decoder, cimage_status status) {
  decoder->errors.status = status;
  png_error(png, "the image cannot be decoded while it arrives");
}

static void take_header(png_structp png, png_infop info) {
  cimage_png_decoder *decoder = png_get_progressive_ptr(png);
  cimage_decoder *base = &decoder->base;
  (void)info;
  char text[192] = "";
  cimage_message message = {text, sizeof text};
  cimage_status status = cimage_png_describe(decoder, message);
  base->pixels = (cimage_pixels)base->header.natural;
  if (status == CIMAGE_OK && base->header.needs_whole) {
    status = cimage_png_prepare_rows(decoder, message);
  }
  base->pixels = 0; /* until cimage_decoder_start */
  if (text[0] != 0) snprintf(decoder->errors.text, sizeof decoder->errors.text, "%s", text);
  if (status != CIMAGE_OK) leave(png, decoder, status);
  base->progress.has_header = true;
}

static void take_row(png_structp png, png_bytep row, png_uint_32 y, int pass) {
  cimage_png_decoder *decoder = png_get_progressive_ptr(png);
  uint32_t height = decoder->base.header.height;
  if (decoder->whole == NULL || y >= height) return;
  png_progressive_combine_row(png, decoder->whole + (size_t)y * decoder->row_bytes, row);
  if (y < height - 1) return;
  decoder->base.progress.passes = (uint32_t)pass + 1;
  decoder->base.progress.is_complete = pass == PNG_INTERLACE_ADAM7_PASSES - 1;
}

static void take_end(png_structp png, png_infop info) {
  cimage_png_decoder *decoder = png_get_progressive_ptr(png);
  (void)info;
  decoder->base.progress.is_complete = true;
}

static cimage_status feed(cimage_decoder *base, const uint8_t *bytes, size_t count,
                          cimage_message message) {
  cimage_png_decoder *decoder = (cimage_png_decoder *)base;
  if (setjmp(png_jmpbuf(decoder->png))) return cimage_png_failed(&decoder->errors, message);
  for (size_t at = 0; at < count && !base->progress.is_complete; at += CIMAGE_INPUT_CHUNK) {
    if (cimage_is_late(base->limits.deadline_ns)) return CIMAGE_DEADLINE;
    size_t step = count - at < CIMAGE_INPUT_CHUNK ? count - at : CIMAGE_INPUT_CHUNK;
    /* libpng does not change the bytes. */
    png_process_data(decoder->png, decoder->info, (png_bytep)(uintptr_t)(bytes + at), step);
    if (base->progress.has_header && !base->header.needs_whole) break;
  }
  return CIMAGE_OK;
}

/* The conversions were chosen with the header, as libpng requires. */
static cimage_status start(cimage_decoder *base, int eighths, uint32_t *out_width,
                           uint32_t *out_height, cimage_message message) {
  (void)message;
  if (eighths != 8 || !base->header.needs_whole || (int)base->pixels != base->header.natural) {
    return CIMAGE_ARGUMENT;
  }
  *out_width = base->header.width;
  *out_height = base->header.height;
  return CIMAGE_OK;
}

static cimage_status begin_pass(cimage_decoder *base, cimage_message message) {
  cimage_png_decoder *decoder = (cimage_png_decoder *)base;
  (void)message;
  decoder->next_row = 0;
  return CIMAGE_OK;
}

static cimage_status read_rows(cimage_decoder *base, uint8_t *rows, size_t stride, uint32_t count,
                               uint32_t *out_count, cimage_message message) {
  cimage_png_decoder *decoder = (cimage_png_decoder *)base;
  uint32_t first = decoder->next_row, height = base->header.height;
  (void)message;
  if (decoder->whole == NULL) return CIMAGE_ARGUMENT;
  uint32_t end = height - first < count ? height : first + count;
  for (uint32_t y = first; y < end; y++) {
    memcpy(rows + (size_t)(y - first) * stride, decoder->whole + (size_t)y * decoder->row_bytes,
           decoder->row_bytes);
  }
  decoder->next_row = end;
  *out_count = end - first;
  return CIMAGE_OK;
}

static cimage_status configure(cimage_png_decoder *decoder, cimage_message message) {
  if (setjmp(png_jmpbuf(decoder->png))) return cimage_png_failed(&decoder->errors, message);
  cimage_status status = cimage_png_configure(decoder);
  if (status != CIMAGE_OK) return status;
  png_set_progressive_read_fn(decoder->png, decoder, take_header, take_row, take_end);
  return CIMAGE_OK;
}

cimage_status cimage_png_open_stream(const cimage_limits *limits, cimage_decoder **out_decoder,
                                     cimage_message message) {
  cimage_png_decoder *decoder = calloc(1, sizeof *decoder);
  if (decoder == NULL) return CIMAGE_NO_MEMORY;
  decoder->base.limits = *limits;
  decoder->base.feed = feed;
  decoder->base.start = start;
  decoder->base.begin_pass = begin_pass;
  decoder->base.read = read_rows;
  decoder->base.destroy = cimage_png_destroy_decoder;
  decoder->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder->errors, cimage_png_fail,
                                        cimage_png_warn);
  cimage_status status = decoder->png == NULL ? CIMAGE_NO_MEMORY : configure(decoder, message);
  if (status != CIMAGE_OK) {
    cimage_decoder_free(&decoder->base);
    return status;
  }
  *out_decoder = &decoder->base;
  return CIMAGE_OK;
}
