/* Wherry: decoding of JPEG images to rows. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_internal.h"

/* ---- Source ---- */

static void source_begin(j_decompress_ptr codec) { (void)codec; }

static boolean source_fill(j_decompress_ptr codec) {
  cimage_jpeg_decoder *decoder = codec->client_data;
  const uint8_t *bytes;
  size_t count;
  cimage_status status =
      cimage_reader_next(&decoder->base.reader, CIMAGE_INPUT_CHUNK, &bytes, &count);
  if (status != CIMAGE_OK) cimage_jpeg_fail((j_common_ptr)codec, status, "could not be read");
  if (count == 0) {
    cimage_jpeg_fail((j_common_ptr)codec, CIMAGE_TRUNCATED, "the file ends before its image");
  }
  codec->src->next_input_byte = bytes;
  codec->src->bytes_in_buffer = count;
  return TRUE;
}

static void source_skip(j_decompress_ptr codec, long count) {
  while (count > (long)codec->src->bytes_in_buffer) {
    count -= (long)codec->src->bytes_in_buffer;
    source_fill(codec);
  }
  if (count <= 0) return;
  codec->src->next_input_byte += count;
  codec->src->bytes_in_buffer -= (size_t)count;
}

static void source_end(j_decompress_ptr codec) { (void)codec; }

/* ---- Rows ---- */

void cimage_jpeg_choose_output(cimage_jpeg_decoder *decoder, int eighths) {
  j_decompress_ptr codec = &decoder->codec;
  codec->scale_num = (unsigned)eighths;
  codec->scale_denom = 8;
  codec->dct_method = JDCT_ISLOW;
  codec->do_block_smoothing = FALSE; /* smoothing would only hide missing scans */
  switch (decoder->base.pixels) {
    case CIMAGE_GRAY8:
      codec->out_color_space = JCS_GRAYSCALE;
      break;
    case CIMAGE_RGB8:
      codec->out_color_space = JCS_RGB;
      break;
    case CIMAGE_YCBCR8:
      codec->out_color_space = JCS_YCbCr;
      break;
    default:
      codec->out_color_space = JCS_EXT_RGBA;
      break;
  }
  if (decoder->base.header.is_cmyk) codec->out_color_space = JCS_CMYK;
}

cimage_status cimage_jpeg_prepare_rows(cimage_jpeg_decoder *decoder) {
  if (!decoder->base.header.is_cmyk) return CIMAGE_OK;
  decoder->cmyk = malloc((size_t)decoder->codec.output_width * 4);
  return decoder->cmyk == NULL ? CIMAGE_NO_MEMORY : CIMAGE_OK;
}

static cimage_status jpeg_start(cimage_decoder *base, int eighths, uint32_t *out_width,
                                uint32_t *out_height, cimage_message message) {
  cimage_jpeg_decoder *decoder = (cimage_jpeg_decoder *)base;
  j_decompress_ptr codec = &decoder->codec;
  if (setjmp(decoder->errors.landing)) return cimage_jpeg_failed(&decoder->errors, message);
  cimage_jpeg_choose_output(decoder, eighths);
  jpeg_start_decompress(codec);
  cimage_status status = cimage_jpeg_prepare_rows(decoder);
  if (status != CIMAGE_OK) return status;
  for (int i = 0; i < codec->num_components && i < 3; i++) {
    const JQUANT_TBL *table = codec->comp_info[i].quant_table;
    if (table == NULL) break;
    memcpy(decoder->tables[i], table->quantval, sizeof decoder->tables[i]);
    decoder->tables_count = i + 1;
  }
  *out_width = codec->output_width;
  *out_height = codec->output_height;
  return CIMAGE_OK;
}

/* a*b/255, rounded to nearest. */
static inline uint8_t scaled(unsigned a, unsigned b) {
  unsigned product = a * b + 128;
  return (uint8_t)((product + (product >> 8)) >> 8);
}

/* Adobe stores inverted ink, where 255 means none. Other programs do not invert. */
static void cmyk_to_rgb(const uint8_t *cmyk, uint8_t *out, uint32_t width, bool inverted,
                        bool with_alpha) {
  uint8_t flip = inverted ? 0 : 255;
  for (uint32_t x = 0; x < width; x++, cmyk += 4) {
    unsigned light = cmyk[3] ^ flip;
    out[0] = scaled(cmyk[0] ^ flip, light);
    out[1] = scaled(cmyk[1] ^ flip, light);
    out[2] = scaled(cmyk[2] ^ flip, light);
    if (with_alpha) out[3] = 255;
    out += with_alpha ? 4 : 3;
  }
}

bool cimage_jpeg_read_rows(cimage_jpeg_decoder *decoder, uint8_t *rows, size_t stride,
                           JDIMENSION end) {
  j_decompress_ptr codec = &decoder->codec;
  JDIMENSION first = codec->output_scanline;
  while (codec->output_scanline < end) {
    uint8_t *row = rows + (size_t)(codec->output_scanline - first) * stride;
    if (decoder->base.header.is_cmyk) {
      JSAMPROW only = decoder->cmyk;
      if (jpeg_read_scanlines(codec, &only, 1) == 0) return false;
      cmyk_to_rgb(decoder->cmyk, row, codec->output_width, codec->saw_Adobe_marker,
                  decoder->base.pixels == CIMAGE_RGBA8);
      continue;
    }
    JSAMPROW band[CIMAGE_BAND];
    JDIMENSION wanted = end - codec->output_scanline;
    if (wanted > CIMAGE_BAND) wanted = CIMAGE_BAND;
    for (JDIMENSION i = 0; i < wanted; i++) band[i] = row + i * stride;
    if (jpeg_read_scanlines(codec, band, wanted) == 0) return false;
  }
  return true;
}

static cimage_status jpeg_read(cimage_decoder *base, uint8_t *rows, size_t stride, uint32_t count,
                               uint32_t *out_count, cimage_message message) {
  cimage_jpeg_decoder *decoder = (cimage_jpeg_decoder *)base;
  j_decompress_ptr codec = &decoder->codec;
  JDIMENSION first = codec->output_scanline;
  if (first >= codec->output_height || count == 0) return CIMAGE_OK;
  if (setjmp(decoder->errors.landing)) return cimage_jpeg_failed(&decoder->errors, message);
  JDIMENSION end = codec->output_height - first < count ? codec->output_height : first + count;
  if (!cimage_jpeg_read_rows(decoder, rows, stride, end)) return CIMAGE_TRUNCATED;
  if (codec->output_scanline == codec->output_height) jpeg_finish_decompress(codec);
  *out_count = end - first;
  return CIMAGE_OK;
}

void cimage_jpeg_destroy_decoder(cimage_decoder *base) {
  cimage_jpeg_decoder *decoder = (cimage_jpeg_decoder *)base;
  jpeg_destroy_decompress(&decoder->codec);
  free(decoder->cmyk);
  free(decoder->pending.bytes);
}

/* ---- Header ---- */

cimage_status cimage_jpeg_describe(cimage_jpeg_decoder *decoder, cimage_message message) {
  j_decompress_ptr codec = &decoder->codec;
  cimage_header *header = &decoder->base.header;
  cimage_status status =
      cimage_judge(codec->image_width, codec->image_height, &decoder->base.limits, message);
  if (status != CIMAGE_OK) return status;
  if (codec->data_precision != 8) {
    cimage_say(message, "only 8 bit JPEG is supported");
    return CIMAGE_UNSUPPORTED;
  }
  header->width = codec->image_width;
  header->height = codec->image_height;
  header->components = codec->num_components;
  header->bits = codec->data_precision;
  header->needs_whole = codec->progressive_mode || jpeg_has_multiple_scans(codec);
  header->is_ycbcr = codec->jpeg_color_space == JCS_YCbCr;
  switch (codec->jpeg_color_space) {
    case JCS_GRAYSCALE:
      header->natural = CIMAGE_GRAY8;
      break;
    case JCS_RGB:
    case JCS_YCbCr:
      header->natural = CIMAGE_RGB8;
      break;
    case JCS_CMYK:
    case JCS_YCCK:
      header->natural = CIMAGE_RGB8;
      header->is_cmyk = true;
      break;
    default:
      cimage_say(message, "an unknown colour space");
      return CIMAGE_UNSUPPORTED;
  }
  const jpeg_component_info *parts = codec->comp_info;
  bool plain =
      header->natural == CIMAGE_GRAY8 && parts[0].h_samp_factor == 1 && parts[0].v_samp_factor == 1;
  if (header->is_ycbcr) {
    plain = parts[0].h_samp_factor <= 2 && parts[0].v_samp_factor <= 2;
    for (int i = 1; i < 3; i++) {
      plain = plain && parts[i].h_samp_factor == 1 && parts[i].v_samp_factor == 1;
    }
  }
  if (plain) {
    header->luma_h = header->is_ycbcr ? parts[0].h_samp_factor : 1;
    header->luma_v = header->is_ycbcr ? parts[0].v_samp_factor : 1;
  }
  if (codec->saw_JFIF_marker) {
    header->density_unit = codec->density_unit;
    header->density_x = codec->X_density;
    header->density_y = codec->Y_density;
  }
  return CIMAGE_OK;
}

static cimage_status read_header(cimage_jpeg_decoder *decoder, cimage_message message) {
  if (setjmp(decoder->errors.landing)) return cimage_jpeg_failed(&decoder->errors, message);
  jpeg_read_header(&decoder->codec, TRUE);
  return cimage_jpeg_describe(decoder, message);
}

static cimage_status create_codec(cimage_jpeg_decoder *decoder, cimage_message message) {
  if (setjmp(decoder->errors.landing)) return cimage_jpeg_failed(&decoder->errors, message);
  jpeg_create_decompress(&decoder->codec);
  return CIMAGE_OK;
}

cimage_status cimage_jpeg_create(const cimage_limits *limits, cimage_jpeg_decoder **out_decoder,
                                 cimage_message message) {
  cimage_jpeg_decoder *decoder = calloc(1, sizeof *decoder);
  if (decoder == NULL) return CIMAGE_NO_MEMORY;
  decoder->base.limits = *limits;
  decoder->base.destroy = cimage_jpeg_destroy_decoder;
  cimage_jpeg_errors_init(&decoder->errors);
  decoder->codec.err = &decoder->errors.base;
  cimage_status status = create_codec(decoder, message);
  if (status != CIMAGE_OK) {
    cimage_decoder_free(&decoder->base);
    return status;
  }
  decoder->codec.client_data = decoder;
  cimage_jpeg_watch_init(&decoder->watch, limits->max_scans, limits->deadline_ns);
  decoder->codec.progress = &decoder->watch.base;
  decoder->codec.mem->max_memory_to_use =
      limits->max_memory > LONG_MAX ? LONG_MAX : (long)limits->max_memory;
  decoder->source.resync_to_restart = jpeg_resync_to_restart;
  decoder->codec.src = &decoder->source;
  *out_decoder = decoder;
  return CIMAGE_OK;
}

cimage_status cimage_jpeg_open(const cimage_input *input, const cimage_limits *limits,
                               cimage_decoder **out_decoder, int *out_errno,
                               cimage_message message) {
  *out_errno = 0;
  cimage_jpeg_decoder *decoder;
  cimage_status status = cimage_jpeg_create(limits, &decoder, message);
  if (status != CIMAGE_OK) return status;
  decoder->base.start = jpeg_start;
  decoder->base.read = jpeg_read;
  decoder->source.init_source = source_begin;
  decoder->source.fill_input_buffer = source_fill;
  decoder->source.skip_input_data = source_skip;
  decoder->source.term_source = source_end;
  status = cimage_reader_open(&decoder->base.reader, input);
  if (status == CIMAGE_OK) status = read_header(decoder, message);
  if (status != CIMAGE_OK) {
    *out_errno = decoder->base.reader.error;
    cimage_decoder_free(&decoder->base);
    return status;
  }
  *out_decoder = &decoder->base;
  return CIMAGE_OK;
}
