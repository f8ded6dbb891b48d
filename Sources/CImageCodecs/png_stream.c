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

/* Passes bytes to libpng, which does not change them. */
static void process(cimage_png_decoder *decoder, const uint8_t *bytes, size_t count) {
  png_process_data(decoder->png, decoder->info, (png_bytep)(uintptr_t)bytes, count);
}

/* Decides on the chunk whose length and type are in `head`.
 *
 * libpng collects a chunk until it is complete, and copies what it has with each call. Therefore it
 * receives only the chunks that change pixels: all critical ones, and tRNS. Others have no effect,
 * because neither gamma nor a background is applied. */
static cimage_status begin_chunk(cimage_png_decoder *decoder, cimage_message message) {
  enum { LONGEST = 1024 }; /* a palette has 768 bytes */
  cimage_png_place *place = &decoder->place;
  const uint8_t *head = place->head, *type = head + 4;
  uint32_t length =
      (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
  bool is_ancillary = (type[0] & 0x20) != 0;
  place->left = (uint64_t)length + 4;
  place->is_skipped = is_ancillary && memcmp(type, "tRNS", 4) != 0;
  if (place->is_skipped || memcmp(type, "IDAT", 4) == 0 || length <= LONGEST) return CIMAGE_OK;
  cimage_say(message, "a chunk is too long");
  return CIMAGE_CORRUPT;
}

/* Reads at most `count` bytes, but not more than the rest of a chunk or of its head. */
static cimage_status feed_some(cimage_png_decoder *decoder, const uint8_t *bytes, size_t count,
                               size_t *out_count, cimage_message message) {
  cimage_png_place *place = &decoder->place;
  if (place->left > 0) {
    *out_count = place->left < count ? (size_t)place->left : count;
    place->left -= *out_count;
    if (!place->is_skipped) process(decoder, bytes, *out_count);
    return CIMAGE_OK;
  }
  size_t missing = sizeof place->head - place->head_count;
  *out_count = missing < count ? missing : count;
  memcpy(place->head + place->head_count, bytes, *out_count);
  place->head_count += *out_count;
  if (place->head_count < sizeof place->head) return CIMAGE_OK;
  place->head_count = 0;
  cimage_status status = place->has_signature ? begin_chunk(decoder, message) : CIMAGE_OK;
  place->has_signature = true;
  if (status == CIMAGE_OK && !place->is_skipped) process(decoder, place->head, sizeof place->head);
  return status;
}

static cimage_status feed(cimage_decoder *base, const uint8_t *bytes, size_t count,
                          cimage_message message) {
  cimage_png_decoder *decoder = (cimage_png_decoder *)base;
  if (setjmp(png_jmpbuf(decoder->png))) return cimage_png_failed(&decoder->errors, message);
  for (size_t at = 0, done; at < count && !base->progress.is_complete; at += done) {
    if (cimage_is_late(base->limits.deadline_ns)) return CIMAGE_DEADLINE;
    size_t step = count - at < CIMAGE_INPUT_CHUNK ? count - at : CIMAGE_INPUT_CHUNK;
    cimage_status status = feed_some(decoder, bytes + at, step, &done, message);
    if (status != CIMAGE_OK) return status;
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
