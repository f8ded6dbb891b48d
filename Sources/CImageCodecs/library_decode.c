/* Wherry: decoding of images with libraries that are loaded when they are needed. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>

#include "library_internal.h"

static bool find_functions(const char *file, const cimage_function *functions) {
  /* Never closed: other threads may use it. */
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return false;
  for (; functions->name != NULL; functions++) {
    bool is_optional = functions->name[0] == '?';
    *functions->place = dlsym(library, functions->name + is_optional);
    if (*functions->place == NULL && !is_optional) return false;
  }
  return true;
}

bool cimage_library_load(const char *file, const cimage_function *functions, bool *is_loaded) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&lock);
  if (!*is_loaded) *is_loaded = find_functions(file, functions);
  bool result = *is_loaded;
  pthread_mutex_unlock(&lock);
  return result;
}

cimage_status cimage_held_judge(const cimage_held_decoder *decoder, size_t bytes_per_pixel,
                                cimage_message message) {
  const cimage_header *header = &decoder->base.header;
  uint64_t needed = (uint64_t)header->width * header->height * bytes_per_pixel;
  if (needed <= decoder->base.limits.max_memory) return CIMAGE_OK;
  cimage_say(message, "an image of this format has to be held as a whole");
  return CIMAGE_MEMORY_LIMIT;
}

cimage_status cimage_held_reserve(cimage_held_decoder *decoder, size_t more,
                                  cimage_message message) {
  const cimage_header *header = &decoder->base.header;
  size_t size = cimage_pixel_bytes(decoder->base.pixels);
  cimage_status status = cimage_held_judge(decoder, size + more, message);
  if (status != CIMAGE_OK) return status;
  decoder->stride = (size_t)header->width * size;
  decoder->owned = calloc(header->height, decoder->stride);
  if (decoder->owned == NULL) return CIMAGE_NO_MEMORY;
  decoder->pixels = decoder->owned;
  return CIMAGE_OK;
}

static cimage_status held_start(cimage_decoder *base, int eighths, uint32_t *out_width,
                                uint32_t *out_height, cimage_message message) {
  cimage_held_decoder *decoder = (cimage_held_decoder *)base;
  if (eighths != 8) return CIMAGE_ARGUMENT;
  if (cimage_is_late(base->limits.deadline_ns)) return CIMAGE_DEADLINE;
  cimage_status status = decoder->decode(decoder, message);
  if (status != CIMAGE_OK) return status;
  *out_width = base->header.width;
  *out_height = base->header.height;
  return CIMAGE_OK;
}

static cimage_status held_read(cimage_decoder *base, uint8_t *rows, size_t stride, uint32_t count,
                               uint32_t *out_count, cimage_message message) {
  (void)message;
  cimage_held_decoder *decoder = (cimage_held_decoder *)base;
  uint32_t left = base->header.height - decoder->next_row;
  if (count > left) count = left;
  size_t row_bytes = (size_t)base->header.width * cimage_pixel_bytes(base->pixels);
  for (uint32_t y = 0; y < count; y++) {
    memcpy(rows + y * stride, decoder->pixels + (decoder->next_row + y) * decoder->stride,
           row_bytes);
  }
  decoder->next_row += count;
  *out_count = count;
  return CIMAGE_OK;
}

static void held_destroy(cimage_decoder *base) {
  cimage_held_decoder *decoder = (cimage_held_decoder *)base;
  if (decoder->release != NULL) decoder->release(decoder);
  free(decoder->owned);
  free(decoder->metadata[0]);
  free(decoder->metadata[1]);
}

cimage_status cimage_library_open(cimage_library library, const uint8_t *bytes, size_t count,
                                  const cimage_limits *limits, cimage_decoder **out_decoder,
                                  cimage_message message) {
  cimage_held_decoder *decoder = calloc(1, sizeof *decoder);
  if (decoder == NULL) return CIMAGE_NO_MEMORY;
  if (limits != NULL) decoder->base.limits = *limits;
  decoder->base.start = held_start;
  decoder->base.read = held_read;
  decoder->base.destroy = held_destroy;
  decoder->base.header.needs_whole = true;
  decoder->base.header.bits = 8;
  decoder->bytes = bytes;
  decoder->count = count;
  cimage_status status = CIMAGE_ARGUMENT;
  switch (library) {
    case CIMAGE_WEBP:
      status = cimage_webp_describe(decoder, message);
      break;
    case CIMAGE_HEIF:
      status = cimage_heif_describe(decoder, message);
      break;
    case CIMAGE_GIF:
      status = cimage_gif_describe(decoder, message);
      break;
  }
  const cimage_header *header = &decoder->base.header;
  if (status == CIMAGE_OK && limits != NULL) {
    status = cimage_judge(header->width, header->height, limits, message);
  } else if (status == CIMAGE_OK && (header->width == 0 || header->height == 0)) {
    cimage_say(message, "the image has no pixels");
    status = CIMAGE_CORRUPT;
  }
  if (status != CIMAGE_OK) {
    cimage_decoder_free(&decoder->base);
    return status;
  }
  *out_decoder = &decoder->base;
  return CIMAGE_OK;
}

const uint8_t *cimage_library_exif(const cimage_decoder *base, size_t *out_count) {
  const cimage_held_decoder *decoder = (const cimage_held_decoder *)base;
  *out_count = decoder->exif_count;
  return decoder->exif;
}

const uint8_t *cimage_library_profile(const cimage_decoder *base, size_t *out_count) {
  const cimage_held_decoder *decoder = (const cimage_held_decoder *)base;
  *out_count = decoder->profile_count;
  return decoder->profile;
}
