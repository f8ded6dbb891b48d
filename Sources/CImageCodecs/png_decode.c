/* Wherry: decoding of PNG images to rows. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "png_internal.h"

/* ---- Errors and input ---- */

PNG_NORETURN void cimage_png_fail(png_structp png, png_const_charp text) {
  cimage_png_errors *errors = png_get_error_ptr(png);
  if (errors->text[0] == 0) snprintf(errors->text, sizeof errors->text, "%s", text);
  png_longjmp(png, 1);
}

void cimage_png_warn(png_structp png, png_const_charp text) {
  (void)png;
  (void)text;
}

cimage_status cimage_png_failed(const cimage_png_errors *errors, cimage_message message) {
  cimage_say(message, errors->text);
  if (errors->status != CIMAGE_OK) return errors->status;
  if (strstr(errors->text, "emory") != NULL) return CIMAGE_NO_MEMORY;
  if (strstr(errors->text, "Not enough image data") != NULL) return CIMAGE_TRUNCATED;
  return CIMAGE_CORRUPT;
}

static void read_bytes(png_structp png, png_bytep out, size_t count) {
  cimage_png_decoder *decoder = png_get_io_ptr(png);
  while (count > 0) {
    const uint8_t *bytes;
    size_t got;
    decoder->errors.status = cimage_reader_next(&decoder->base.reader, count, &bytes, &got);
    if (decoder->errors.status != CIMAGE_OK) png_error(png, "could not be read");
    if (got == 0) {
      decoder->errors.status = CIMAGE_TRUNCATED;
      png_error(png, "the file ends before its image");
    }
    memcpy(out, bytes, got);
    out += got;
    count -= got;
  }
}

/* ---- Rows ---- */

/* Reads all rows of an interlaced image, pass by pass, into `whole`. */
static cimage_status read_whole(cimage_png_decoder *decoder, uint32_t height) {
  for (int pass = 0; pass < decoder->passes; pass++) {
    for (uint32_t y = 0; y < height; y++) {
      if (y % CIMAGE_BAND == 0 && cimage_is_late(decoder->base.limits.deadline_ns)) {
        return CIMAGE_DEADLINE;
      }
      png_read_row(decoder->png, decoder->whole + (size_t)y * decoder->row_bytes, NULL);
    }
  }
  return CIMAGE_OK;
}

cimage_status cimage_png_prepare_rows(cimage_png_decoder *decoder, cimage_message message) {
  cimage_decoder *base = &decoder->base;
  png_structp png = decoder->png;
  int type = png_get_color_type(png, decoder->info);
  bool has_key = png_get_valid(png, decoder->info, PNG_INFO_tRNS) != 0;
  bool has_alpha = has_key || (type & PNG_COLOR_MASK_ALPHA) != 0;
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
  if (has_key) png_set_tRNS_to_alpha(png);
  if (png_get_bit_depth(png, decoder->info) == 16) {
    if (base->uses_high_bytes) {
      png_set_strip_16(png);
    } else {
      png_set_scale_16(png);
    }
  }
  if (base->pixels != CIMAGE_GRAY8 && (type & PNG_COLOR_MASK_COLOR) == 0) png_set_gray_to_rgb(png);
  if (base->pixels == CIMAGE_RGBA8 && !has_alpha) png_set_add_alpha(png, 255, PNG_FILLER_AFTER);
  decoder->passes = png_set_interlace_handling(png);
  png_read_update_info(png, decoder->info);
  decoder->row_bytes = png_get_rowbytes(png, decoder->info);
  uint32_t width = base->header.width, height = base->header.height;
  if (decoder->row_bytes != (size_t)width * cimage_pixel_bytes(base->pixels)) {
    return CIMAGE_UNSUPPORTED;
  }
  if (decoder->passes > 1) {
    uint64_t needed = (uint64_t)decoder->row_bytes * height;
    if (needed > base->limits.max_memory) {
      cimage_say(message, "an interlaced image of this size has to be held as a whole");
      return CIMAGE_MEMORY_LIMIT;
    }
    decoder->whole = calloc(height, decoder->row_bytes);
    if (decoder->whole == NULL) return CIMAGE_NO_MEMORY;
  }
  return CIMAGE_OK;
}

static cimage_status png_start(cimage_decoder *base, int eighths, uint32_t *out_width,
                               uint32_t *out_height, cimage_message message) {
  cimage_png_decoder *decoder = (cimage_png_decoder *)base;
  if (eighths != 8) return CIMAGE_ARGUMENT;
  if (setjmp(png_jmpbuf(decoder->png))) return cimage_png_failed(&decoder->errors, message);
  cimage_status status = cimage_png_prepare_rows(decoder, message);
  if (status != CIMAGE_OK) return status;
  if (decoder->whole != NULL) {
    status = read_whole(decoder, base->header.height);
    if (status != CIMAGE_OK) return status;
    png_read_end(decoder->png, NULL);
  }
  *out_width = base->header.width;
  *out_height = base->header.height;
  return CIMAGE_OK;
}

static cimage_status png_read(cimage_decoder *base, uint8_t *rows, size_t stride, uint32_t count,
                              uint32_t *out_count, cimage_message message) {
  cimage_png_decoder *decoder = (cimage_png_decoder *)base;
  uint32_t first = decoder->next_row, height = base->header.height;
  uint32_t end = height - first < count ? height : first + count;
  if (first == end) return CIMAGE_OK;
  if (setjmp(png_jmpbuf(decoder->png))) return cimage_png_failed(&decoder->errors, message);
  for (uint32_t y = first; y < end; y++) {
    uint8_t *row = rows + (size_t)(y - first) * stride;
    if (decoder->whole != NULL) {
      memcpy(row, decoder->whole + (size_t)y * decoder->row_bytes, decoder->row_bytes);
    } else {
      png_read_row(decoder->png, row, NULL);
    }
  }
  if (end == height && decoder->whole == NULL) png_read_end(decoder->png, NULL);
  decoder->next_row = end;
  *out_count = end - first;
  return CIMAGE_OK;
}

void cimage_png_destroy_decoder(cimage_decoder *base) {
  cimage_png_decoder *decoder = (cimage_png_decoder *)base;
  if (decoder->png != NULL) png_destroy_read_struct(&decoder->png, &decoder->info, NULL);
  free(decoder->whole);
}

/* ---- Header ---- */

cimage_status cimage_png_configure(cimage_png_decoder *decoder) {
  /* Skip chunks that may contain megabytes of compressed text. The caller copies the chunks to
   * keep, because it knows the layout of the file. */
  static const uint8_t skipped[] = "eXIf\0iTXt\0tEXt\0zTXt\0sPLT\0hIST";
  png_structp png = decoder->png;
  decoder->info = png_create_info_struct(png);
  if (decoder->info == NULL) return CIMAGE_NO_MEMORY;
#ifdef PNG_HANDLE_AS_UNKNOWN_SUPPORTED
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, 0);
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, skipped, 6);
#endif
  png_set_chunk_malloc_max(png, 8000000);
  png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX); /* checked here, with better
                                                               * messages */
  return CIMAGE_OK;
}

cimage_status cimage_png_describe(cimage_png_decoder *decoder, cimage_message message) {
  png_structp png = decoder->png;
  cimage_header *header = &decoder->base.header;
  header->width = png_get_image_width(png, decoder->info);
  header->height = png_get_image_height(png, decoder->info);
  cimage_status status =
      cimage_judge(header->width, header->height, &decoder->base.limits, message);
  if (status != CIMAGE_OK) return status;
  int type = png_get_color_type(png, decoder->info);
  header->bits = png_get_bit_depth(png, decoder->info);
  header->components = png_get_channels(png, decoder->info);
  header->needs_whole = png_get_interlace_type(png, decoder->info) != PNG_INTERLACE_NONE;
  if ((type & PNG_COLOR_MASK_ALPHA) != 0 || png_get_valid(png, decoder->info, PNG_INFO_tRNS) != 0) {
    header->natural = CIMAGE_RGBA8;
  } else {
    header->natural = type == PNG_COLOR_TYPE_GRAY ? CIMAGE_GRAY8 : CIMAGE_RGB8;
  }
  return CIMAGE_OK;
}

static cimage_status read_header(cimage_png_decoder *decoder, cimage_message message) {
  if (setjmp(png_jmpbuf(decoder->png))) return cimage_png_failed(&decoder->errors, message);
  cimage_status status = cimage_png_configure(decoder);
  if (status != CIMAGE_OK) return status;
  png_set_read_fn(decoder->png, decoder, read_bytes);
  png_read_info(decoder->png, decoder->info);
  return cimage_png_describe(decoder, message);
}

const uint8_t *cimage_png_profile(const cimage_decoder *base, size_t *out_count) {
  const cimage_png_decoder *decoder = (const cimage_png_decoder *)base;
  png_charp name;
  png_bytep profile;
  png_uint_32 count;
  int method;
  *out_count = 0;
  if (png_get_iCCP(decoder->png, decoder->info, &name, &method, &profile, &count) == 0) return NULL;
  *out_count = count;
  return profile;
}

cimage_status cimage_png_open(const cimage_input *input, const cimage_limits *limits,
                              cimage_decoder **out_decoder, int *out_errno,
                              cimage_message message) {
  *out_errno = 0;
  cimage_png_decoder *decoder = calloc(1, sizeof *decoder);
  if (decoder == NULL) return CIMAGE_NO_MEMORY;
  decoder->base.limits = *limits;
  decoder->base.start = png_start;
  decoder->base.read = png_read;
  decoder->base.destroy = cimage_png_destroy_decoder;
  cimage_status status = cimage_reader_open(&decoder->base.reader, input);
  if (status == CIMAGE_OK) {
    decoder->png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder->errors, cimage_png_fail,
                                          cimage_png_warn);
    status = decoder->png == NULL ? CIMAGE_NO_MEMORY : read_header(decoder, message);
  }
  if (status != CIMAGE_OK) {
    *out_errno = decoder->base.reader.error;
    cimage_decoder_free(&decoder->base);
    return status;
  }
  *out_decoder = &decoder->base;
  return CIMAGE_OK;
}
