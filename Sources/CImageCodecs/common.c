/* Wherry: input, output, limits and dispatch of the image codecs. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

size_t cimage_pixel_bytes(cimage_pixels pixels) {
  switch (pixels) {
    case CIMAGE_GRAY8:
      return 1;
    case CIMAGE_RGB8:
    case CIMAGE_YCBCR8:
      return 3;
    case CIMAGE_RGBA8:
    case CIMAGE_BGRA8:
      return 4;
  }
  return 0;
}

/* ---- Input ---- */

cimage_status cimage_reader_open(cimage_reader *reader, const cimage_input *input) {
  reader->source = *input;
  reader->offset = 0;
  reader->error = 0;
  reader->buffer = NULL;
  if (input->bytes == NULL && input->descriptor >= 0) {
    reader->buffer = malloc(CIMAGE_INPUT_CHUNK);
    if (reader->buffer == NULL) return CIMAGE_NO_MEMORY;
  }
  return CIMAGE_OK;
}

void cimage_reader_close(cimage_reader *reader) {
  free(reader->buffer);
  reader->buffer = NULL;
}

cimage_status cimage_reader_next(cimage_reader *reader, size_t most, const uint8_t **bytes,
                                 size_t *count) {
  if (reader->buffer == NULL) {
    size_t left = reader->source.bytes == NULL ? 0 : reader->source.count - (size_t)reader->offset;
    *bytes = left == 0 ? NULL : reader->source.bytes + reader->offset;
    *count = left < most ? left : most;
    reader->offset += *count;
    return CIMAGE_OK;
  }
  if (most > CIMAGE_INPUT_CHUNK) most = CIMAGE_INPUT_CHUNK;
  ssize_t got;
  do {
    got = pread(reader->source.descriptor, reader->buffer, most, (off_t)reader->offset);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    reader->error = errno;
    return CIMAGE_READ_FAILED;
  }
  *bytes = reader->buffer;
  *count = (size_t)got;
  reader->offset += (uint64_t)got;
  return CIMAGE_OK;
}

/* ---- Output ---- */

cimage_status cimage_buffer_reserve(cimage_buffer *buffer, size_t more) {
  if (buffer->limit > 0 && buffer->count > buffer->limit) return CIMAGE_OUTPUT_LIMIT;
  if (more <= buffer->capacity - buffer->count) return CIMAGE_OK;
  if (more > SIZE_MAX / 4 || buffer->capacity > SIZE_MAX / 4) return CIMAGE_NO_MEMORY;
  size_t capacity = buffer->capacity < 65536 ? 65536 : buffer->capacity * 2;
  if (capacity < buffer->count + more) capacity = buffer->count + more;
  uint8_t *grown = realloc(buffer->bytes, capacity);
  if (grown == NULL) return CIMAGE_NO_MEMORY;
  buffer->bytes = grown;
  buffer->capacity = capacity;
  return CIMAGE_OK;
}

cimage_status cimage_buffer_append(cimage_buffer *buffer, const void *bytes, size_t count) {
  cimage_status status = cimage_buffer_reserve(buffer, count);
  if (status != CIMAGE_OK) return status;
  if (count > 0) memcpy(buffer->bytes + buffer->count, bytes, count);
  buffer->count += count;
  return buffer->limit > 0 && buffer->count > buffer->limit ? CIMAGE_OUTPUT_LIMIT : CIMAGE_OK;
}

/* ---- Limits ---- */

void cimage_say(cimage_message message, const char *text) {
  if (message.text != NULL && message.capacity > 0) {
    snprintf(message.text, message.capacity, "%s", text);
  }
}

bool cimage_is_late(int64_t deadline_ns) {
  if (deadline_ns == INT64_MAX) return false;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec >= deadline_ns;
}

cimage_status cimage_judge(uint64_t width, uint64_t height, const cimage_limits *limits,
                           cimage_message message) {
  uint64_t side = limits->max_side < CIMAGE_SIDE ? limits->max_side : CIMAGE_SIDE;
  if (width == 0 || height == 0) {
    cimage_say(message, "the image has no pixels");
    return CIMAGE_CORRUPT;
  }
  if (width > side || height > side || width * height > limits->max_pixels) {
    char text[96];
    snprintf(text, sizeof text, "the header announces %llux%llu pixels", (unsigned long long)width,
             (unsigned long long)height);
    cimage_say(message, text);
    return CIMAGE_TOO_LARGE;
  }
  return CIMAGE_OK;
}

/* ---- Dispatch ---- */

cimage_header cimage_decoder_header(const cimage_decoder *decoder) { return decoder->header; }

void cimage_decoder_use_high_bytes(cimage_decoder *decoder) { decoder->uses_high_bytes = true; }

int cimage_decoder_errno(const cimage_decoder *decoder) { return decoder->reader.error; }

cimage_status cimage_decoder_start(cimage_decoder *decoder, cimage_pixels pixels, int eighths,
                                   uint32_t *out_width, uint32_t *out_height,
                                   cimage_message message) {
  bool fits = (int)pixels == decoder->header.natural || pixels == CIMAGE_RGBA8 ||
              (pixels == CIMAGE_YCBCR8 && decoder->header.is_ycbcr);
  if (!fits || eighths < 1 || eighths > 8 || decoder->pixels != 0) return CIMAGE_ARGUMENT;
  decoder->pixels = pixels;
  return decoder->start(decoder, eighths, out_width, out_height, message);
}

cimage_status cimage_decoder_read(cimage_decoder *decoder, uint8_t *rows, size_t stride,
                                  uint32_t count, uint32_t *out_count, cimage_message message) {
  *out_count = 0;
  if (decoder->pixels == 0) return CIMAGE_ARGUMENT;
  if (cimage_is_late(decoder->limits.deadline_ns)) return CIMAGE_DEADLINE;
  return decoder->read(decoder, rows, stride, count, out_count, message);
}

cimage_status cimage_decoder_feed(cimage_decoder *decoder, const uint8_t *bytes, size_t count,
                                  int64_t deadline_ns, cimage_progress *out_progress,
                                  cimage_message message) {
  if (decoder->feed == NULL) return CIMAGE_ARGUMENT;
  decoder->limits.deadline_ns = deadline_ns;
  cimage_status status = decoder->feed(decoder, bytes, count, message);
  *out_progress = decoder->progress;
  return status;
}

cimage_status cimage_decoder_begin_pass(cimage_decoder *decoder, cimage_message message) {
  if (decoder->begin_pass == NULL || decoder->pixels == 0 || decoder->progress.passes == 0) {
    return CIMAGE_ARGUMENT;
  }
  return decoder->begin_pass(decoder, message);
}

void cimage_decoder_free(cimage_decoder *decoder) {
  if (decoder == NULL) return;
  decoder->destroy(decoder);
  cimage_reader_close(&decoder->reader);
  free(decoder);
}

cimage_status cimage_encoder_write(cimage_encoder *encoder, const uint8_t *rows, size_t stride,
                                   uint32_t count, cimage_message message) {
  if (count > encoder->height - encoder->written) return CIMAGE_ARGUMENT;
  if (cimage_is_late(encoder->deadline_ns)) return CIMAGE_DEADLINE;
  return encoder->write(encoder, rows, stride, count, message);
}

cimage_status cimage_encoder_finish(cimage_encoder *encoder, uint8_t **out_bytes, size_t *out_count,
                                    cimage_message message) {
  if (encoder->written != encoder->height) return CIMAGE_ARGUMENT;
  cimage_status status = encoder->finish(encoder, message);
  if (status != CIMAGE_OK) return status;
  if (encoder->output.limit > 0 && encoder->output.count > encoder->output.limit) {
    return CIMAGE_OUTPUT_LIMIT;
  }
  *out_bytes = encoder->output.bytes;
  *out_count = encoder->output.count;
  encoder->output.bytes = NULL;
  return CIMAGE_OK;
}

void cimage_encoder_free(cimage_encoder *encoder) {
  if (encoder == NULL) return;
  encoder->destroy(encoder);
  free(encoder->output.bytes);
  free(encoder);
}
