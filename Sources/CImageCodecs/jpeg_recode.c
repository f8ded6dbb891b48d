/* Wherry: JPEG recoding without conversion to pixels. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "jpeg_internal.h"

enum { PLANES = 3, MOST_ROWS = 2 * DCTSIZE };

typedef struct {
  struct jpeg_compress_struct codec;
  cimage_jpeg_sink sink;
  cimage_buffer output;
  cimage_jpeg_watch watch;
  int orientation;
} cimage_recoder;

/* Errors of both codecs jump to the decoder's landing. */
static void prepare(cimage_recoder *recoder, cimage_jpeg_decoder *decoder,
                    const cimage_jpeg_options *options) {
  recoder->codec.err = &decoder->errors.base;
  jpeg_create_compress(&recoder->codec);
  cimage_jpeg_sink_init(&recoder->sink, &recoder->output);
  cimage_jpeg_watch_init(&recoder->watch, 0, options->deadline_ns);
  recoder->output.limit = options->max_output;
  recoder->codec.dest = &recoder->sink.base;
  recoder->codec.progress = &recoder->watch.base;
}

static void copy_planes(cimage_recoder *recoder, cimage_jpeg_decoder *decoder,
                        const cimage_jpeg_options *options) {
  j_decompress_ptr from = &decoder->codec;
  j_compress_ptr to = &recoder->codec;

  from->raw_data_out = TRUE;
  from->dct_method = JDCT_ISLOW;
  from->do_block_smoothing = FALSE;
  from->out_color_space = from->jpeg_color_space;
  jpeg_start_decompress(from);

  prepare(recoder, decoder, options);
  to->image_width = from->image_width;
  to->image_height = from->image_height;
  to->input_components = from->num_components;
  to->in_color_space = from->jpeg_color_space;
  jpeg_set_defaults(to);
  to->raw_data_in = TRUE;
  if (from->num_components == PLANES) {
    to->comp_info[0].h_samp_factor = decoder->base.header.luma_h;
    to->comp_info[0].v_samp_factor = decoder->base.header.luma_v;
  }
  cimage_jpeg_configure(to, options);
  jpeg_start_compress(to, TRUE);
  cimage_jpeg_write_segments(to, options->segments, options->segments_count);

  JSAMPROW rows[PLANES][MOST_ROWS];
  JSAMPARRAY planes[PLANES];
  for (int plane = 0; plane < from->num_components; plane++) {
    const jpeg_component_info *part = &from->comp_info[plane];
    /* Wide enough for whole MCUs, because the last one may extend past the edge. The decoder
     * owns the memory and frees it even if an error jumps over this frame. */
    JDIMENSION width = part->width_in_blocks + (JDIMENSION)part->h_samp_factor;
    JSAMPARRAY lines =
        (*from->mem->alloc_sarray)((j_common_ptr)from, JPOOL_IMAGE, width * DCTSIZE, MOST_ROWS);
    for (int i = 0; i < MOST_ROWS; i++) {
      memset(lines[i], 128, (size_t)width * DCTSIZE);
      rows[plane][i] = lines[i];
    }
    planes[plane] = rows[plane];
  }
  JDIMENSION step = (JDIMENSION)from->max_v_samp_factor * DCTSIZE;
  while (from->output_scanline < from->output_height) {
    jpeg_read_raw_data(from, planes, step);
    jpeg_write_raw_data(to, planes, step);
  }
  jpeg_finish_compress(to);
  jpeg_finish_decompress(from);
}

/* ---- Coefficients ---- */

/* Sets the output's parameters from the input's, like jpegtran. */
static void prepare_coefficients(cimage_recoder *recoder, cimage_jpeg_decoder *decoder,
                                 const cimage_jpeg_options *options) {
  j_compress_ptr to = &recoder->codec;
  prepare(recoder, decoder, options);
  jpeg_copy_critical_parameters(&decoder->codec, to);
  /* libjpeg would add a marker, with which decoders take the ink for inverted. */
  if (to->jpeg_color_space == JCS_CMYK) to->write_Adobe_marker = decoder->codec.saw_Adobe_marker;
  to->optimize_coding = options->optimize;
  to->mem->max_memory_to_use = decoder->codec.mem->max_memory_to_use;
  if (options->density_x > 0 && options->density_y > 0 && options->density_unit <= 2) {
    to->density_unit = options->density_unit;
    to->X_density = options->density_x;
    to->Y_density = options->density_y;
  }
  if (options->progressive) jpeg_simple_progression(to);
}

static void finish_coefficients(cimage_recoder *recoder, cimage_jpeg_decoder *decoder,
                                jvirt_barray_ptr *arrays, const cimage_jpeg_options *options) {
  jpeg_write_coefficients(&recoder->codec, arrays);
  cimage_jpeg_write_segments(&recoder->codec, options->segments, options->segments_count);
  jpeg_finish_compress(&recoder->codec);
  jpeg_finish_decompress(&decoder->codec);
}

static void stop_when_late(j_decompress_ptr codec, const cimage_jpeg_options *options) {
  if (cimage_is_late(options->deadline_ns)) {
    cimage_jpeg_fail((j_common_ptr)codec, CIMAGE_DEADLINE, "the time for this image is over");
  }
}

/* The transformation of the stored image for an EXIF orientation. */
typedef struct {
  bool swaps, flips_columns, flips_rows; /* of the stored image */
} turning;

static turning turning_of(int orientation) {
  turning turn = {
      .swaps = orientation >= 5,
      .flips_columns = orientation == 2 || orientation == 3 || orientation >= 7,
      .flips_rows = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7};
  return turn;
}

bool cimage_jpeg_can_turn(const cimage_decoder *base, int orientation) {
  const struct jpeg_decompress_struct *codec = &((const cimage_jpeg_decoder *)base)->codec;
  turning turn = turning_of(orientation);
  if (orientation < 1 || orientation > 8) return false;
  return (!turn.flips_columns ||
          codec->image_width % (JDIMENSION)(codec->max_h_samp_factor * DCTSIZE) == 0) &&
         (!turn.flips_rows ||
          codec->image_height % (JDIMENSION)(codec->max_v_samp_factor * DCTSIZE) == 0);
}

/* For each coefficient of a transformed block, in order: its position in the stored block, and -1
 * to negate it. */
typedef struct {
  uint8_t place[DCTSIZE2];
  JCOEF sign[DCTSIZE2];
} block_turning;

static block_turning block_turning_of(turning turn) {
  block_turning result;
  for (int v = 0; v < DCTSIZE; v++) {
    for (int u = 0; u < DCTSIZE; u++) {
      int column = turn.swaps ? v : u, row = turn.swaps ? u : v; /* stored frequencies */
      bool negative = (turn.flips_columns && (column & 1)) != (turn.flips_rows && (row & 1));
      result.place[v * DCTSIZE + u] = (uint8_t)(row * DCTSIZE + column);
      result.sign[v * DCTSIZE + u] = negative ? -1 : 0;
    }
  }
  return result;
}

static JDIMENSION rounded_up(JDIMENSION value, int step) {
  return (value + (JDIMENSION)step - 1) / (JDIMENSION)step * (JDIMENSION)step;
}

static void copy_turned(cimage_recoder *recoder, cimage_jpeg_decoder *decoder,
                        const cimage_jpeg_options *options) {
  j_decompress_ptr from = &decoder->codec;
  j_compress_ptr to = &recoder->codec;
  turning turn = turning_of(recoder->orientation);
  block_turning block = block_turning_of(turn);
  jvirt_barray_ptr turned[MAX_COMPONENTS];
  for (int i = 0; i < from->num_components; i++) {
    const jpeg_component_info *part = &from->comp_info[i];
    int h = turn.swaps ? part->v_samp_factor : part->h_samp_factor;
    int v = turn.swaps ? part->h_samp_factor : part->v_samp_factor;
    JDIMENSION columns = turn.swaps ? part->height_in_blocks : part->width_in_blocks;
    JDIMENSION rows = turn.swaps ? part->width_in_blocks : part->height_in_blocks;
    turned[i] = (*from->mem->request_virt_barray)((j_common_ptr)from, JPOOL_IMAGE, TRUE,
                                                  rounded_up(columns, h), rounded_up(rows, v),
                                                  (JDIMENSION)v);
  }
  jvirt_barray_ptr *stored = jpeg_read_coefficients(from);
  prepare_coefficients(recoder, decoder, options);
  if (turn.swaps) {
    to->image_width = from->image_height;
    to->image_height = from->image_width;
    for (int i = 0; i < to->num_components; i++) {
      to->comp_info[i].h_samp_factor = from->comp_info[i].v_samp_factor;
      to->comp_info[i].v_samp_factor = from->comp_info[i].h_samp_factor;
    }
    cimage_jpeg_transpose_tables(to);
  }
  for (int i = 0; i < from->num_components; i++) {
    const jpeg_component_info *part = &from->comp_info[i];
    JDIMENSION columns = turn.swaps ? part->height_in_blocks : part->width_in_blocks;
    JDIMENSION rows = turn.swaps ? part->width_in_blocks : part->height_in_blocks;
    for (JDIMENSION y = 0; y < rows; y++) {
      stop_when_late(from, options);
      JBLOCKROW out =
          (*from->mem->access_virt_barray)((j_common_ptr)from, turned[i], y, 1, TRUE)[0];
      for (JDIMENSION x = 0; x < columns; x++) {
        JDIMENSION column = turn.swaps ? y : x, row = turn.swaps ? x : y;
        if (turn.flips_columns) column = part->width_in_blocks - 1 - column;
        if (turn.flips_rows) row = part->height_in_blocks - 1 - row;
        JBLOCKROW in =
            (*from->mem->access_virt_barray)((j_common_ptr)from, stored[i], row, 1, FALSE)[0];
        for (int k = 0; k < DCTSIZE2; k++) {
          out[x][k] = (JCOEF)((in[column][block.place[k]] ^ block.sign[k]) - block.sign[k]);
        }
      }
    }
  }
  finish_coefficients(recoder, decoder, turned, options);
}

/* Contains no float comparisons, so that every compiler can vectorize it: GCC assumes that such a
 * comparison may trap. The product fits into 31 bits: 16 of the table and 15 of the coefficient. */
static void round_block(JCOEF *restrict block, const float *restrict scale) {
  for (int i = 0; i < DCTSIZE2; i++) {
    float value = (float)block[i] * scale[i];
    int rounded = (int)(value + copysignf(0.5f, value));
    /* Clamp to the range of 8-bit JPEG. -1024 is allowed only for the DC coefficient, where it
     * decodes to the same pixel as -1023. The standard Huffman tables have no code for other
     * coefficients of -1024, and libjpeg does not report that. */
    rounded = rounded < -1023 ? -1023 : rounded;
    rounded = rounded > 1023 ? 1023 : rounded;
    block[i] = (JCOEF)rounded;
  }
}

/* Like copy_requantised, with the options' search for the smallest file. */
static void copy_smallest(cimage_recoder *recoder, cimage_jpeg_decoder *decoder,
                          const cimage_jpeg_options *options) {
  j_decompress_ptr from = &decoder->codec;
  jvirt_barray_ptr *stored = jpeg_read_coefficients(from);
  prepare_coefficients(recoder, decoder, options);
  cimage_jpeg_coefficients all = {.owner = (j_common_ptr)from, .components = from->num_components};
  for (int i = 0; i < from->num_components; i++) {
    const jpeg_component_info *part = &from->comp_info[i];
    if (part->quant_table == NULL) {
      cimage_jpeg_fail((j_common_ptr)from, CIMAGE_CORRUPT, "a component without a scan");
    }
    all.arrays[i] = stored[i];
    all.columns[i] = part->width_in_blocks;
    all.rows[i] = part->height_in_blocks;
    for (int k = 0; k < DCTSIZE2; k++) all.unit[i][k] = part->quant_table->quantval[k];
  }
  cimage_jpeg_write_smallest(&recoder->codec, &all, options);
  jpeg_finish_decompress(from);
}

static void copy_requantised(cimage_recoder *recoder, cimage_jpeg_decoder *decoder,
                             const cimage_jpeg_options *options) {
  j_decompress_ptr from = &decoder->codec;
  j_compress_ptr to = &recoder->codec;
  jvirt_barray_ptr *stored = jpeg_read_coefficients(from);
  prepare_coefficients(recoder, decoder, options);
  jpeg_set_quality(to, options->quality, TRUE);
  for (int i = 0; i < from->num_components; i++) {
    const jpeg_component_info *part = &from->comp_info[i];
    to->comp_info[i].quant_tbl_no = i == 0 ? 0 : 1;
    if (part->quant_table == NULL) {
      cimage_jpeg_fail((j_common_ptr)from, CIMAGE_CORRUPT, "a component without a scan");
    }
    const UINT16 *old = part->quant_table->quantval;
    const UINT16 *now = to->quant_tbl_ptrs[to->comp_info[i].quant_tbl_no]->quantval;
    float scale[DCTSIZE2];
    for (int k = 0; k < DCTSIZE2; k++) scale[k] = (float)old[k] / (float)now[k];
    for (JDIMENSION y = 0; y < part->height_in_blocks; y++) {
      stop_when_late(from, options);
      JBLOCKROW row =
          (*from->mem->access_virt_barray)((j_common_ptr)from, stored[i], y, 1, TRUE)[0];
      for (JDIMENSION x = 0; x < part->width_in_blocks; x++) round_block(row[x], scale);
    }
  }
  finish_coefficients(recoder, decoder, stored, options);
}

/* ---- Entry points ---- */

typedef void (*cimage_copy)(cimage_recoder *, cimage_jpeg_decoder *, const cimage_jpeg_options *);

static cimage_status recode(cimage_decoder *base, cimage_copy copy, int orientation,
                            const cimage_jpeg_options *options, uint8_t **out_bytes,
                            size_t *out_count, cimage_message message) {
  cimage_jpeg_decoder *decoder = (cimage_jpeg_decoder *)base;
  if (base->pixels != 0) return CIMAGE_ARGUMENT;
  cimage_recoder *recoder = calloc(1, sizeof *recoder);
  if (recoder == NULL) return CIMAGE_NO_MEMORY;
  recoder->orientation = orientation;
  if (setjmp(decoder->errors.landing)) {
    cimage_status status = cimage_jpeg_failed(&decoder->errors, message);
    jpeg_destroy_compress(&recoder->codec);
    free(recoder->output.bytes);
    free(recoder);
    return status;
  }
  base->pixels = CIMAGE_YCBCR8; /* marks the decoder as started, to prevent a second use */
  copy(recoder, decoder, options);
  jpeg_destroy_compress(&recoder->codec);
  if (recoder->output.limit > 0 && recoder->output.count > recoder->output.limit) {
    free(recoder->output.bytes);
    free(recoder);
    return CIMAGE_OUTPUT_LIMIT;
  }
  *out_bytes = recoder->output.bytes;
  *out_count = recoder->output.count;
  free(recoder);
  return CIMAGE_OK;
}

cimage_status cimage_jpeg_recode_planes(cimage_decoder *decoder, const cimage_jpeg_options *options,
                                        uint8_t **out_bytes, size_t *out_count,
                                        cimage_message message) {
  if (decoder->header.luma_h == 0) return CIMAGE_ARGUMENT;
  return recode(decoder, copy_planes, 1, options, out_bytes, out_count, message);
}

cimage_status cimage_jpeg_turn(cimage_decoder *decoder, int orientation,
                               const cimage_jpeg_options *options, uint8_t **out_bytes,
                               size_t *out_count, cimage_message message) {
  if (!cimage_jpeg_can_turn(decoder, orientation)) return CIMAGE_ARGUMENT;
  return recode(decoder, copy_turned, orientation, options, out_bytes, out_count, message);
}

cimage_status cimage_jpeg_requantise(cimage_decoder *decoder, const cimage_jpeg_options *options,
                                     uint8_t **out_bytes, size_t *out_count,
                                     cimage_message message) {
  if (decoder->header.luma_h == 0) return CIMAGE_ARGUMENT;
  cimage_copy copy = options->smallest ? copy_smallest : copy_requantised;
  return recode(decoder, copy, 1, options, out_bytes, out_count, message);
}
