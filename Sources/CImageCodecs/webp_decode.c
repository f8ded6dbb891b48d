/* Wherry: decoding of WebP images with libwebp. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "library_internal.h"

/* The part of libwebp's decode.h that is used. */

typedef struct {
  int width, height, has_alpha, has_animation, format;
  uint32_t pad[5];
} webp_features;

typedef struct webp_incremental webp_incremental;

enum { WEBP_ABI = 0x0209, WEBP_RGB = 0, WEBP_RGBA = 1 };
enum {
  WEBP_OK = 0,
  WEBP_OUT_OF_MEMORY = 1,
  WEBP_UNSUPPORTED = 4,
  WEBP_SUSPENDED = 5,
  WEBP_NOT_ENOUGH_DATA = 7
};

static int (*get_features)(const uint8_t *, size_t, webp_features *, int);
static webp_incremental *(*new_incremental)(int, uint8_t *, size_t, int);
static int (*update_incremental)(webp_incremental *, const uint8_t *, size_t);
static void (*delete_incremental)(webp_incremental *);

static bool load(void) {
  static bool is_loaded;
  const cimage_function functions[] = {
      {"WebPGetFeaturesInternal", (void **)&get_features},
      {"WebPINewRGB", (void **)&new_incremental},
      {"WebPIUpdate", (void **)&update_incremental},
      {"WebPIDelete", (void **)&delete_incremental},
      {NULL, NULL},
  };
  return cimage_library_load("libwebp.so.7", functions, &is_loaded);
}

static cimage_status failed(int code, cimage_message message) {
  switch (code) {
    case WEBP_OUT_OF_MEMORY:
      return CIMAGE_NO_MEMORY;
    case WEBP_UNSUPPORTED:
      return CIMAGE_UNSUPPORTED;
    case WEBP_SUSPENDED:
    case WEBP_NOT_ENOUGH_DATA:
      cimage_say(message, "the file ends before its image");
      return CIMAGE_TRUNCATED;
    default:
      cimage_say(message, "libwebp cannot decode it");
      return CIMAGE_CORRUPT;
  }
}

/* ---- The chunks of the file ---- */

enum { RIFF_HEADER = 12, CHUNK_HEADER = 8, FRAME_HEADER = 16, EXTENDED_HEADER = 18 };

typedef struct {
  const uint8_t *data; /* NULL if there is no such chunk */
  size_t count;
} webp_chunk;

/* Finds the first chunk of a type that lies within the bytes, from an offset on. */
static webp_chunk find_chunk(const uint8_t *bytes, size_t count, size_t offset, const char *type) {
  while (offset <= count && count - offset >= CHUNK_HEADER) {
    size_t size = cimage_le32(bytes + offset + 4);
    if (size > count - offset - CHUNK_HEADER) break;
    const uint8_t *data = bytes + offset + CHUNK_HEADER;
    if (memcmp(bytes + offset, type, 4) == 0) return (webp_chunk){data, size};
    offset += CHUNK_HEADER + size + (size & 1);
  }
  return (webp_chunk){NULL, 0};
}

/* The first frame of an animation. */
typedef struct {
  uint32_t x, y, width, height;
  webp_chunk image; /* its chunks */
} webp_frame;

/* CIMAGE_TRUNCATED if the bytes have no complete frame. */
static cimage_status first_frame(const cimage_held_decoder *decoder, webp_frame *out) {
  webp_chunk chunk = find_chunk(decoder->bytes, decoder->count, RIFF_HEADER, "ANMF");
  if (chunk.data == NULL) return CIMAGE_TRUNCATED;
  if (chunk.count < FRAME_HEADER) return CIMAGE_CORRUPT;
  const cimage_header *header = &decoder->base.header;
  *out = (webp_frame){
      .x = 2 * cimage_le24(chunk.data),
      .y = 2 * cimage_le24(chunk.data + 3),
      .width = cimage_le24(chunk.data + 6) + 1,
      .height = cimage_le24(chunk.data + 9) + 1,
      .image = {chunk.data + FRAME_HEADER, chunk.count - FRAME_HEADER},
  };
  bool fits = out->x + out->width <= header->width && out->y + out->height <= header->height;
  return fits ? CIMAGE_OK : CIMAGE_CORRUPT;
}

static void put_le32(uint8_t *at, uint32_t value) {
  for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (8 * i));
}

/* Returns a file with the frame as its image, to be freed; NULL if there is no memory. */
static uint8_t *still_file(const webp_frame *frame, size_t *out_count) {
  bool has_alpha = find_chunk(frame->image.data, frame->image.count, 0, "ALPH").data != NULL;
  size_t extended = has_alpha ? EXTENDED_HEADER : 0;
  size_t count = RIFF_HEADER + extended + frame->image.count;
  uint8_t *file = calloc(1, count);
  if (file == NULL) return NULL;
  memcpy(file, "RIFF", 4);
  put_le32(file + 4, (uint32_t)(count - CHUNK_HEADER));
  memcpy(file + 8, "WEBP", 4);
  if (has_alpha) {
    uint8_t *at = file + RIFF_HEADER;
    memcpy(at, "VP8X", 4);
    put_le32(at + 4, 10);
    at[8] = 0x10; /* alpha */
    put_le32(at + 12, frame->width - 1);
    put_le32(at + 15, frame->height - 1); /* 24 bits each; the chunks overwrite the last byte */
  }
  memcpy(file + RIFF_HEADER + extended, frame->image.data, frame->image.count);
  *out_count = count;
  return file;
}

/* ---- Decoding ---- */

/* Decodes a still file into rows that start at `pixels`, with the decoder's stride. */
static cimage_status decode_still(cimage_held_decoder *decoder, const uint8_t *bytes, size_t count,
                                  uint8_t *pixels, uint32_t width, uint32_t height,
                                  cimage_message message) {
  enum { STEP = 262144 };
  webp_features features;
  int code = get_features(bytes, count, &features, WEBP_ABI);
  if (code != WEBP_OK) return failed(code, message);
  if (features.width != (int)width || features.height != (int)height) {
    cimage_say(message, "its frame has another size than declared");
    return CIMAGE_CORRUPT;
  }
  bool has_alpha = decoder->base.pixels == CIMAGE_RGBA8;
  size_t size = decoder->stride * (height - 1) + (size_t)width * (has_alpha ? 4 : 3);
  webp_incremental *incremental =
      new_incremental(has_alpha ? WEBP_RGBA : WEBP_RGB, pixels, size, (int)decoder->stride);
  if (incremental == NULL) return CIMAGE_NO_MEMORY;
  /* In steps, so that the deadline is checked. */
  code = WEBP_SUSPENDED;
  bool is_late = false;
  for (size_t have = 0; code == WEBP_SUSPENDED && have < count && !is_late;) {
    have = count - have < STEP ? count : have + STEP;
    code = update_incremental(incremental, bytes, have);
    is_late = cimage_is_late(decoder->base.limits.deadline_ns);
  }
  delete_incremental(incremental);
  if (is_late) return CIMAGE_DEADLINE;
  return code == WEBP_OK ? CIMAGE_OK : failed(code, message);
}

static cimage_status decode(cimage_held_decoder *decoder, cimage_message message) {
  const cimage_header *header = &decoder->base.header;
  /* libwebp holds the pixels of a lossless image. */
  cimage_status status = cimage_held_reserve(decoder, 4, message);
  if (status != CIMAGE_OK) return status;
  if (!header->is_animated) {
    return decode_still(decoder, decoder->bytes, decoder->count, decoder->owned, header->width,
                        header->height, message);
  }
  webp_frame frame;
  status = first_frame(decoder, &frame);
  if (status == CIMAGE_TRUNCATED) return failed(WEBP_NOT_ENOUGH_DATA, message);
  if (status != CIMAGE_OK) {
    cimage_say(message, "its first frame is not within the image");
    return status;
  }
  size_t count;
  uint8_t *file = still_file(&frame, &count);
  if (file == NULL) return CIMAGE_NO_MEMORY;
  uint8_t *start = decoder->owned + frame.y * decoder->stride +
                   frame.x * cimage_pixel_bytes(decoder->base.pixels);
  status = decode_still(decoder, file, count, start, frame.width, frame.height, message);
  free(file);
  return status;
}

cimage_status cimage_webp_describe(cimage_held_decoder *decoder, cimage_message message) {
  if (!load()) {
    cimage_say(message,
               "WebP images need libwebp. Install it, for example with: apt install libwebp7");
    return CIMAGE_NO_LIBRARY;
  }
  webp_features features;
  int code = get_features(decoder->bytes, decoder->count, &features, WEBP_ABI);
  if (code != WEBP_OK) return failed(code, message);
  cimage_header *header = &decoder->base.header;
  header->width = (uint32_t)features.width;
  header->height = (uint32_t)features.height;
  header->is_animated = features.has_animation != 0;
  /* The flag of the file counts, even if a frame has alpha, or leaves a part of the image empty,
   * which is black then. */
  bool has_alpha = features.has_alpha != 0;
  header->components = has_alpha ? 4 : 3;
  header->natural = has_alpha ? CIMAGE_RGBA8 : CIMAGE_RGB8;
  webp_chunk profile = find_chunk(decoder->bytes, decoder->count, RIFF_HEADER, "ICCP");
  decoder->profile = profile.data;
  decoder->profile_count = profile.count;
  webp_chunk exif = find_chunk(decoder->bytes, decoder->count, RIFF_HEADER, "EXIF");
  /* Some programs write the prefix of JPEG. */
  size_t prefix = exif.count >= 6 && memcmp(exif.data, "Exif\0\0", 6) == 0 ? 6 : 0;
  decoder->exif = exif.data == NULL ? NULL : exif.data + prefix;
  decoder->exif_count = exif.count - prefix;
  decoder->decode = decode;
  return CIMAGE_OK;
}
