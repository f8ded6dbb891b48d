/* Wherry: encoding of rows as JPEG. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_internal.h"

typedef struct {
  cimage_encoder base;
  struct jpeg_compress_struct codec;
  cimage_jpeg_sink sink;
  cimage_jpeg_errors errors;
  cimage_jpeg_watch watch;
  cimage_jpeg_options options;
  bool started;
  cimage_jpeg_transform *transform; /* NULL unless options.smallest; belongs to codec */
} cimage_jpeg_encoder;

/* ---- Destination ---- */

static void sink_reserve(j_compress_ptr codec) {
  cimage_jpeg_sink *sink = (cimage_jpeg_sink *)codec->dest;
  cimage_status status = cimage_buffer_reserve(sink->output, 32768);
  if (status != CIMAGE_OK) {
    cimage_jpeg_fail((j_common_ptr)codec, status,
                     status == CIMAGE_OUTPUT_LIMIT ? "longer than allowed" : "no memory");
  }
  sink->base.next_output_byte = sink->output->bytes + sink->output->count;
  sink->base.free_in_buffer = sink->output->capacity - sink->output->count;
}

static boolean sink_full(j_compress_ptr codec) {
  cimage_jpeg_sink *sink = (cimage_jpeg_sink *)codec->dest;
  sink->output->count = sink->output->capacity; /* only called when the buffer is full */
  sink_reserve(codec);
  return TRUE;
}

static void sink_end(j_compress_ptr codec) {
  cimage_jpeg_sink *sink = (cimage_jpeg_sink *)codec->dest;
  sink->output->count = sink->output->capacity - sink->base.free_in_buffer;
}

void cimage_jpeg_sink_init(cimage_jpeg_sink *sink, cimage_buffer *output) {
  sink->base.init_destination = sink_reserve;
  sink->base.empty_output_buffer = sink_full;
  sink->base.term_destination = sink_end;
  sink->output = output;
}

/* ---- Settings ---- */

void cimage_jpeg_transpose_tables(j_compress_ptr codec) {
  for (int slot = 0; slot < NUM_QUANT_TBLS; slot++) {
    JQUANT_TBL *table = codec->quant_tbl_ptrs[slot];
    if (table == NULL) continue;
    for (int v = 0; v < DCTSIZE; v++) {
      for (int u = 0; u < v; u++) {
        UINT16 kept = table->quantval[v * DCTSIZE + u];
        table->quantval[v * DCTSIZE + u] = table->quantval[u * DCTSIZE + v];
        table->quantval[u * DCTSIZE + v] = kept;
      }
    }
  }
}

/* libjpeg's forward DCT divides by eight times a table entry in 16 bits, without a check. */
static bool can_divide(const UINT16 *table) {
  for (int k = 0; k < DCTSIZE2; k++) {
    if (table[k] < 1 || table[k] > UINT16_MAX / 8) return false;
  }
  return true;
}

/* Uses the quantization tables of another file. Keeps those of `quality` if the encoder cannot use
 * them. */
static void take_tables(j_compress_ptr codec, const cimage_jpeg_options *options) {
  const cimage_jpeg_decoder *source = (const cimage_jpeg_decoder *)options->tables_from;
  if (source->tables_count < codec->num_components) return;
  for (int i = 0; i < codec->num_components; i++) {
    if (!can_divide(source->tables[i])) return;
  }
  for (int i = 0; i < codec->num_components; i++) {
    JQUANT_TBL *table = codec->quant_tbl_ptrs[codec->comp_info[i].quant_tbl_no];
    if (table != NULL) memcpy(table->quantval, source->tables[i], sizeof table->quantval);
  }
  if (options->transpose_tables) cimage_jpeg_transpose_tables(codec);
}

void cimage_jpeg_configure(j_compress_ptr codec, const cimage_jpeg_options *options) {
  jpeg_set_quality(codec, options->quality, TRUE);
  if (options->tables_from != NULL) take_tables(codec, options);
  codec->dct_method = JDCT_ISLOW;
  codec->optimize_coding = options->optimize;
  codec->mem->max_memory_to_use =
      options->max_memory > LONG_MAX ? LONG_MAX : (long)options->max_memory;
  if (options->density_x > 0 && options->density_y > 0 && options->density_unit <= 2) {
    codec->density_unit = options->density_unit;
    codec->X_density = options->density_x;
    codec->Y_density = options->density_y;
  }
  if (options->progressive) jpeg_simple_progression(codec);
}

void cimage_jpeg_write_segments(j_compress_ptr codec, const uint8_t *segments, size_t count) {
  while (count >= 4 && segments[0] == 0xFF) {
    size_t length = (size_t)segments[2] << 8 | segments[3];
    if (length < 2 || length > count - 2) break;
    jpeg_write_marker(codec, segments[1], segments + 4, (unsigned)(length - 2));
    segments += length + 2;
    count -= length + 2;
  }
  if (count > 0) cimage_jpeg_fail((j_common_ptr)codec, CIMAGE_ARGUMENT, "a broken segment");
}

/* ---- Rows ---- */

static cimage_status jpeg_write(cimage_encoder *base, const uint8_t *rows, size_t stride,
                                uint32_t count, cimage_message message) {
  cimage_jpeg_encoder *encoder = (cimage_jpeg_encoder *)base;
  j_compress_ptr codec = &encoder->codec;
  if (setjmp(encoder->errors.landing)) return cimage_jpeg_failed(&encoder->errors, message);
  if (encoder->transform != NULL) {
    if (cimage_is_late(encoder->options.deadline_ns)) return CIMAGE_DEADLINE;
    for (uint32_t y = 0; y < count; y++) {
      cimage_jpeg_transform_row(encoder->transform, rows + (size_t)y * stride);
    }
    base->written += count;
    return CIMAGE_OK;
  }
  if (!encoder->started) {
    encoder->started = true;
    jpeg_start_compress(codec, TRUE);
    cimage_jpeg_write_segments(codec, encoder->options.segments, encoder->options.segments_count);
  }
  JDIMENSION first = codec->next_scanline;
  while (codec->next_scanline < first + count) {
    JSAMPROW band[CIMAGE_BAND];
    const uint8_t *row = rows + (size_t)(codec->next_scanline - first) * stride;
    JDIMENSION wanted = first + count - codec->next_scanline;
    if (wanted > CIMAGE_BAND) wanted = CIMAGE_BAND;
    for (JDIMENSION i = 0; i < wanted; i++) band[i] = (JSAMPROW)(row + i * stride);
    jpeg_write_scanlines(codec, band, wanted);
  }
  base->written = codec->next_scanline;
  return CIMAGE_OK;
}

static cimage_status jpeg_finish(cimage_encoder *base, cimage_message message) {
  cimage_jpeg_encoder *encoder = (cimage_jpeg_encoder *)base;
  if (setjmp(encoder->errors.landing)) return cimage_jpeg_failed(&encoder->errors, message);
  if (encoder->transform != NULL) {
    cimage_jpeg_write_smallest(&encoder->codec, cimage_jpeg_transformed(encoder->transform),
                               &encoder->options);
  } else {
    jpeg_finish_compress(&encoder->codec);
  }
  return CIMAGE_OK;
}

static void jpeg_destroy_encoder(cimage_encoder *base) {
  jpeg_destroy_compress(&((cimage_jpeg_encoder *)base)->codec);
}

/* ---- Begin ---- */

static cimage_status begin(cimage_jpeg_encoder *encoder, cimage_message message) {
  j_compress_ptr codec = &encoder->codec;
  if (setjmp(encoder->errors.landing)) return cimage_jpeg_failed(&encoder->errors, message);
  jpeg_create_compress(codec);
  codec->dest = &encoder->sink.base;
  codec->progress = &encoder->watch.base;
  codec->image_width = encoder->base.width;
  codec->image_height = encoder->base.height;
  codec->input_components = (int)cimage_pixel_bytes(encoder->base.pixels);
  switch (encoder->base.pixels) {
    case CIMAGE_GRAY8:
      codec->in_color_space = JCS_GRAYSCALE;
      break;
    case CIMAGE_RGB8:
      codec->in_color_space = JCS_RGB;
      break;
    case CIMAGE_RGBA8:
      codec->in_color_space = JCS_EXT_RGBX;
      break;
    case CIMAGE_BGRA8:
      codec->in_color_space = JCS_EXT_BGRX;
      break;
    case CIMAGE_YCBCR8:
      codec->in_color_space = JCS_YCbCr;
      break;
  }
  jpeg_set_defaults(codec);
  if (encoder->base.pixels != CIMAGE_GRAY8) {
    codec->comp_info[0].h_samp_factor = encoder->options.luma_h;
    codec->comp_info[0].v_samp_factor = encoder->options.luma_v;
  }
  cimage_jpeg_configure(codec, &encoder->options);
  if (encoder->options.smallest && encoder->options.tables_from == NULL) {
    encoder->transform = cimage_jpeg_transform_new(codec, encoder->base.pixels);
  }
  return CIMAGE_OK;
}

cimage_status cimage_jpeg_begin(uint32_t width, uint32_t height, cimage_pixels pixels,
                                const cimage_jpeg_options *options, cimage_encoder **out_encoder,
                                cimage_message message) {
  if (width == 0 || height == 0 || width > CIMAGE_SIDE || height > CIMAGE_SIDE ||
      cimage_pixel_bytes(pixels) == 0 || options->luma_h < 1 || options->luma_h > 2 ||
      options->luma_v < 1 || options->luma_v > 2) {
    return CIMAGE_ARGUMENT;
  }
  cimage_jpeg_encoder *encoder = calloc(1, sizeof *encoder);
  if (encoder == NULL) return CIMAGE_NO_MEMORY;
  encoder->base.pixels = pixels;
  encoder->base.width = width;
  encoder->base.height = height;
  encoder->base.deadline_ns = options->deadline_ns;
  encoder->base.output.limit = options->max_output;
  encoder->base.write = jpeg_write;
  encoder->base.finish = jpeg_finish;
  encoder->base.destroy = jpeg_destroy_encoder;
  encoder->options = *options;
  cimage_jpeg_errors_init(&encoder->errors);
  cimage_jpeg_watch_init(&encoder->watch, 0, options->deadline_ns);
  cimage_jpeg_sink_init(&encoder->sink, &encoder->base.output);
  encoder->codec.err = &encoder->errors.base;
  cimage_status status = begin(encoder, message);
  if (status != CIMAGE_OK) {
    cimage_encoder_free(&encoder->base);
    return status;
  }
  *out_encoder = &encoder->base;
  return CIMAGE_OK;
}
