/* Wherry: decoding of progressive JPEG images while their bytes arrive. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "jpeg_internal.h"

/* libjpeg's buffered-image mode: the coefficients of all scans are collected, and each output pass
 * shows what they contain. The source suspends: libjpeg returns to the last complete unit if bytes
 * are missing, and reads from there when it is called again. */

/* ---- Source ---- */

static void source_begin(j_decompress_ptr codec) { (void)codec; }

static boolean source_suspend(j_decompress_ptr codec) {
  (void)codec;
  return FALSE;
}

static void source_skip(j_decompress_ptr codec, long count) {
  cimage_jpeg_decoder *decoder = codec->client_data;
  if (count <= 0) return;
  size_t here = codec->src->bytes_in_buffer;
  if ((size_t)count < here) here = (size_t)count;
  codec->src->next_input_byte += here;
  codec->src->bytes_in_buffer -= here;
  decoder->skipped += (size_t)count - here;
}

/* Removes the bytes that the codec has consumed, adds the new ones, and offers all of them. */
static cimage_status take(cimage_jpeg_decoder *decoder, const uint8_t *bytes, size_t count) {
  cimage_buffer *pending = &decoder->pending;
  size_t rest = decoder->source.bytes_in_buffer;
  if (rest > 0) memmove(pending->bytes, pending->bytes + pending->count - rest, rest);
  pending->count = rest;
  size_t skipped = decoder->skipped < count ? decoder->skipped : count;
  decoder->skipped -= skipped;
  cimage_status status = CIMAGE_OK;
  if (count > skipped) {
    status = cimage_buffer_append(pending, bytes + skipped, count - skipped);
  }
  decoder->source.next_input_byte = pending->bytes;
  decoder->source.bytes_in_buffer = pending->count;
  return status;
}

/* ---- Decoding ---- */

static cimage_status read_header(cimage_jpeg_decoder *decoder, cimage_message message) {
  j_decompress_ptr codec = &decoder->codec;
  if (jpeg_read_header(codec, TRUE) != JPEG_HEADER_OK) return CIMAGE_OK;
  cimage_status status = cimage_jpeg_describe(decoder, message);
  if (status != CIMAGE_OK) return status;
  if (codec->arith_code) {
    cimage_say(message, "arithmetic coding needs all bytes");
    return CIMAGE_UNSUPPORTED;
  }
  decoder->base.progress.has_header = true;
  return CIMAGE_OK;
}

static cimage_status read_scans(cimage_jpeg_decoder *decoder, cimage_message message) {
  j_decompress_ptr codec = &decoder->codec;
  cimage_progress *progress = &decoder->base.progress;
  const cimage_limits *limits = &decoder->base.limits;
  int step;
  do {
    if (cimage_is_late(limits->deadline_ns)) return CIMAGE_DEADLINE;
    step = jpeg_consume_input(codec);
    if ((int64_t)codec->input_scan_number > (int64_t)limits->max_scans) {
      cimage_say(message, "the image comes in too many scans");
      return CIMAGE_SCANS;
    }
  } while (step != JPEG_SUSPENDED && step != JPEG_REACHED_EOI);
  progress->is_complete = step == JPEG_REACHED_EOI;
  /* A scan is complete when the next one begins. Before that, an output pass would need bytes that
   * have not arrived. */
  progress->passes =
      (uint32_t)(progress->is_complete ? codec->input_scan_number : codec->input_scan_number - 1);
  return CIMAGE_OK;
}

static cimage_status feed(cimage_decoder *base, const uint8_t *bytes, size_t count,
                          cimage_message message) {
  cimage_jpeg_decoder *decoder = (cimage_jpeg_decoder *)base;
  if (base->progress.is_complete) return CIMAGE_OK;
  cimage_status status = take(decoder, bytes, count);
  if (status != CIMAGE_OK) return status;
  if (setjmp(decoder->errors.landing)) return cimage_jpeg_failed(&decoder->errors, message);
  decoder->watch.deadline_ns = base->limits.deadline_ns;
  if (!base->progress.has_header) return read_header(decoder, message);
  return base->pixels == 0 ? CIMAGE_OK : read_scans(decoder, message);
}

static cimage_status start(cimage_decoder *base, int eighths, uint32_t *out_width,
                           uint32_t *out_height, cimage_message message) {
  cimage_jpeg_decoder *decoder = (cimage_jpeg_decoder *)base;
  j_decompress_ptr codec = &decoder->codec;
  if (!base->header.needs_whole || !base->progress.has_header) return CIMAGE_ARGUMENT;
  if (setjmp(decoder->errors.landing)) return cimage_jpeg_failed(&decoder->errors, message);
  cimage_jpeg_choose_output(decoder, eighths);
  /* libjpeg smooths only blocks whose coefficients are incomplete. */
  codec->do_block_smoothing = TRUE;
  codec->buffered_image = TRUE;
  if (!jpeg_start_decompress(codec)) return CIMAGE_ARGUMENT;
  *out_width = codec->output_width;
  *out_height = codec->output_height;
  return cimage_jpeg_prepare_rows(decoder);
}

/* ---- Rows ---- */

static cimage_status begin_pass(cimage_decoder *base, cimage_message message) {
  cimage_jpeg_decoder *decoder = (cimage_jpeg_decoder *)base;
  if (setjmp(decoder->errors.landing)) return cimage_jpeg_failed(&decoder->errors, message);
  return jpeg_start_output(&decoder->codec, (int)base->progress.passes) ? CIMAGE_OK
                                                                        : CIMAGE_ARGUMENT;
}

static cimage_status read_rows(cimage_decoder *base, uint8_t *rows, size_t stride, uint32_t count,
                               uint32_t *out_count, cimage_message message) {
  cimage_jpeg_decoder *decoder = (cimage_jpeg_decoder *)base;
  j_decompress_ptr codec = &decoder->codec;
  JDIMENSION first = codec->output_scanline;
  if (first >= codec->output_height || count == 0) return CIMAGE_OK;
  if (setjmp(decoder->errors.landing)) return cimage_jpeg_failed(&decoder->errors, message);
  JDIMENSION end = codec->output_height - first < count ? codec->output_height : first + count;
  if (!cimage_jpeg_read_rows(decoder, rows, stride, end)) return CIMAGE_TRUNCATED;
  if (end == codec->output_height && !jpeg_finish_output(codec)) return CIMAGE_TRUNCATED;
  *out_count = end - first;
  return CIMAGE_OK;
}

cimage_status cimage_jpeg_open_stream(const cimage_limits *limits, cimage_decoder **out_decoder,
                                      cimage_message message) {
  cimage_jpeg_decoder *decoder;
  cimage_status status = cimage_jpeg_create(limits, &decoder, message);
  if (status != CIMAGE_OK) return status;
  decoder->base.feed = feed;
  decoder->base.start = start;
  decoder->base.begin_pass = begin_pass;
  decoder->base.read = read_rows;
  decoder->source.init_source = source_begin;
  decoder->source.fill_input_buffer = source_suspend;
  decoder->source.skip_input_data = source_skip;
  decoder->source.term_source = source_begin;
  *out_decoder = &decoder->base;
  return CIMAGE_OK;
}
