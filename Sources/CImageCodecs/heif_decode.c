/* Wherry: decoding of HEIC and AVIF images with libheif. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "library_internal.h"

/* The part of libheif's heif.h that is used. */

typedef struct {
  int code, subcode;
  const char *message;
} heif_error;

/* The start of heif_security_limits. */
typedef struct {
  uint8_t version;
  uint64_t max_pixels; /* 0 for no limit */
} heif_limits;

typedef struct heif_context heif_context;
typedef struct heif_handle heif_handle;
typedef struct heif_image heif_image;

enum {
  HEIF_OK = 0,
  HEIF_UNSUPPORTED_FILE = 3,
  HEIF_UNSUPPORTED_FEATURE = 4,
  HEIF_NO_MEMORY = 6,
  HEIF_END_OF_DATA = 100, /* subcodes */
  HEIF_SECURITY_LIMIT = 1000
};
enum { HEIF_COLORS_RGB = 1, HEIF_INTERLEAVED_RGB = 10, HEIF_INTERLEAVED_RGBA = 11 };
enum { HEIF_CHANNEL_INTERLEAVED = 10 };

static heif_context *(*context_alloc)(void);
static void (*context_free)(heif_context *);
static heif_error (*context_read)(heif_context *, const void *, size_t, const void *);
static heif_error (*primary_handle)(heif_context *, heif_handle **);
static void (*handle_release)(const heif_handle *);
static int (*handle_width)(const heif_handle *);
static int (*handle_height)(const heif_handle *);
static int (*handle_has_alpha)(const heif_handle *);
static int (*handle_is_premultiplied)(const heif_handle *);
static int (*handle_bits)(const heif_handle *);
static int (*metadata_ids)(const heif_handle *, const char *, uint32_t *, int);
static size_t (*metadata_size)(const heif_handle *, uint32_t);
static heif_error (*metadata_get)(const heif_handle *, uint32_t, void *);
static size_t (*profile_size)(const heif_handle *);
static heif_error (*profile_get)(const heif_handle *, void *);
static heif_error (*decode_image)(const heif_handle *, heif_image **, int, int, const void *);
static void (*image_release)(const heif_image *);
static int (*image_width)(const heif_image *, int);
static int (*image_height)(const heif_image *, int);
static const uint8_t *(*image_plane)(const heif_image *, int, int *);
static int (*handle_coded_width)(const heif_handle *);
static int (*handle_coded_height)(const heif_handle *);
static heif_limits *(*context_limits)(const heif_context *); /* NULL before libheif 1.19 */

static bool load(void) {
  static bool is_loaded;
  const cimage_function functions[] = {
      {"heif_context_alloc", (void **)&context_alloc},
      {"heif_context_free", (void **)&context_free},
      {"heif_context_read_from_memory_without_copy", (void **)&context_read},
      {"heif_context_get_primary_image_handle", (void **)&primary_handle},
      {"heif_image_handle_release", (void **)&handle_release},
      {"heif_image_handle_get_width", (void **)&handle_width},
      {"heif_image_handle_get_height", (void **)&handle_height},
      {"heif_image_handle_has_alpha_channel", (void **)&handle_has_alpha},
      {"heif_image_handle_is_premultiplied_alpha", (void **)&handle_is_premultiplied},
      {"heif_image_handle_get_luma_bits_per_pixel", (void **)&handle_bits},
      {"heif_image_handle_get_list_of_metadata_block_IDs", (void **)&metadata_ids},
      {"heif_image_handle_get_metadata_size", (void **)&metadata_size},
      {"heif_image_handle_get_metadata", (void **)&metadata_get},
      {"heif_image_handle_get_raw_color_profile_size", (void **)&profile_size},
      {"heif_image_handle_get_raw_color_profile", (void **)&profile_get},
      {"heif_decode_image", (void **)&decode_image},
      {"heif_image_release", (void **)&image_release},
      {"heif_image_get_width", (void **)&image_width},
      {"heif_image_get_height", (void **)&image_height},
      {"heif_image_get_plane_readonly", (void **)&image_plane},
      {"?heif_image_handle_get_ispe_width", (void **)&handle_coded_width},
      {"?heif_image_handle_get_ispe_height", (void **)&handle_coded_height},
      {"?heif_context_get_security_limits", (void **)&context_limits},
      {NULL, NULL},
  };
  return cimage_library_load("libheif.so.1", functions, &is_loaded);
}

static cimage_status failed(heif_error error, cimage_message message) {
  if (error.message != NULL) cimage_say(message, error.message);
  if (error.subcode == HEIF_END_OF_DATA) return CIMAGE_TRUNCATED;
  if (error.subcode == HEIF_SECURITY_LIMIT) return CIMAGE_TOO_LARGE;
  switch (error.code) {
    case HEIF_UNSUPPORTED_FILE:
    case HEIF_UNSUPPORTED_FEATURE:
      return CIMAGE_UNSUPPORTED;
    case HEIF_NO_MEMORY:
      return CIMAGE_NO_MEMORY;
    default:
      return CIMAGE_CORRUPT;
  }
}

typedef struct {
  heif_context *context;
  heif_handle *handle;
  heif_image *image;
} heif_state;

static void release(cimage_held_decoder *decoder) {
  heif_state *state = decoder->state;
  if (state->image != NULL) image_release(state->image);
  if (state->handle != NULL) handle_release(state->handle);
  if (state->context != NULL) context_free(state->context);
  free(state);
}

/* Divides the colors by alpha. */
static cimage_status unpremultiply(cimage_held_decoder *decoder, const uint8_t *plane, int stride,
                                   cimage_message message) {
  cimage_status status = cimage_held_reserve(decoder, 4, message);
  if (status != CIMAGE_OK) return status;
  const cimage_header *header = &decoder->base.header;
  for (uint32_t y = 0; y < header->height; y++) {
    const uint8_t *from = plane + (size_t)y * (size_t)stride;
    uint8_t *to = decoder->owned + y * decoder->stride;
    for (uint32_t x = 0; x < header->width; x++, from += 4, to += 4) {
      uint32_t alpha = from[3];
      for (int c = 0; c < 3 && alpha > 0; c++) {
        uint32_t value = (from[c] * 255u + alpha / 2) / alpha;
        to[c] = (uint8_t)(value > 255 ? 255 : value);
      }
      to[3] = (uint8_t)alpha;
    }
  }
  return CIMAGE_OK;
}

/* Limits each image that libheif makes to the pixels that the caller of this module permits for all
 * parts of the image. */
static void limit_pixels(const heif_state *state) {
  enum { BLOCK = 64, LEAST = 4 << 20 };
  if (context_limits == NULL || handle_coded_width == NULL || handle_coded_height == NULL) return;
  int width = handle_coded_width(state->handle), height = handle_coded_height(state->handle);
  heif_limits *limits = context_limits(state->context);
  if (limits == NULL || width <= 0 || height <= 0) return;
  uint64_t most = 8 * ((uint64_t)width + BLOCK) * ((uint64_t)height + BLOCK) + LEAST;
  if (limits->max_pixels == 0 || limits->max_pixels > most) limits->max_pixels = most;
}

static cimage_status decode(cimage_held_decoder *decoder, cimage_message message) {
  heif_state *state = decoder->state;
  const cimage_header *header = &decoder->base.header;
  bool has_alpha = decoder->base.pixels == CIMAGE_RGBA8;
  /* libheif holds the planes of the codec, with up to 16 bits a sample, and the pixels. */
  cimage_status status = cimage_held_judge(decoder, has_alpha ? 12 : 9, message);
  if (status != CIMAGE_OK) return status;
  limit_pixels(state);
  heif_error error = decode_image(state->handle, &state->image, HEIF_COLORS_RGB,
                                  has_alpha ? HEIF_INTERLEAVED_RGBA : HEIF_INTERLEAVED_RGB, NULL);
  if (error.code != HEIF_OK) return failed(error, message);
  int stride = 0;
  const uint8_t *plane = image_plane(state->image, HEIF_CHANNEL_INTERLEAVED, &stride);
  if (plane == NULL || image_width(state->image, HEIF_CHANNEL_INTERLEAVED) != (int)header->width ||
      image_height(state->image, HEIF_CHANNEL_INTERLEAVED) != (int)header->height) {
    cimage_say(message, "the image has another size than declared");
    return CIMAGE_CORRUPT;
  }
  if (cimage_is_late(decoder->base.limits.deadline_ns)) return CIMAGE_DEADLINE;
  if (has_alpha && handle_is_premultiplied(state->handle)) {
    return unpremultiply(decoder, plane, stride, message);
  }
  decoder->pixels = plane;
  decoder->stride = (size_t)stride;
  return CIMAGE_OK;
}

/* Copies the EXIF block, which follows the offset of its TIFF header (ISO 23008-12, A.2.1), and the
 * color profile. Metadata that cannot be read count as missing. */
static cimage_status copy_metadata(cimage_held_decoder *decoder, const heif_handle *handle) {
  enum { MOST = 16 << 20, OFFSET = 4 };
  uint32_t id;
  size_t count = metadata_ids(handle, "Exif", &id, 1) == 1 ? metadata_size(handle, id) : 0;
  if (count > OFFSET && count <= MOST) {
    uint8_t *copy = decoder->metadata[0] = malloc(count);
    if (copy == NULL) return CIMAGE_NO_MEMORY;
    if (metadata_get(handle, id, copy).code == HEIF_OK) {
      size_t start = (size_t)copy[0] << 24 | (size_t)copy[1] << 16 | (size_t)copy[2] << 8 | copy[3];
      if (start < count - OFFSET) {
        decoder->exif = copy + OFFSET + start;
        decoder->exif_count = count - OFFSET - start;
      }
    }
  }
  count = profile_size(handle);
  if (count > 0 && count <= MOST) {
    uint8_t *copy = decoder->metadata[1] = malloc(count);
    if (copy == NULL) return CIMAGE_NO_MEMORY;
    if (profile_get(handle, copy).code == HEIF_OK) {
      decoder->profile = copy;
      decoder->profile_count = count;
    }
  }
  return CIMAGE_OK;
}

cimage_status cimage_heif_describe(cimage_held_decoder *decoder, cimage_message message) {
  if (!load()) {
    cimage_say(
        message,
        "HEIC and AVIF images need libheif. Install it, for example with: apt install libheif1");
    return CIMAGE_NO_LIBRARY;
  }
  heif_state *state = decoder->state = calloc(1, sizeof *state);
  if (state == NULL) return CIMAGE_NO_MEMORY;
  decoder->release = release;
  state->context = context_alloc();
  if (state->context == NULL) return CIMAGE_NO_MEMORY;
  heif_error error = context_read(state->context, decoder->bytes, decoder->count, NULL);
  if (error.code == HEIF_OK) error = primary_handle(state->context, &state->handle);
  if (error.code != HEIF_OK) return failed(error, message);
  cimage_header *header = &decoder->base.header;
  int width = handle_width(state->handle), height = handle_height(state->handle);
  header->width = width < 0 ? 0 : (uint32_t)width;
  header->height = height < 0 ? 0 : (uint32_t)height;
  bool has_alpha = handle_has_alpha(state->handle) != 0;
  header->components = has_alpha ? 4 : 3;
  header->natural = has_alpha ? CIMAGE_RGBA8 : CIMAGE_RGB8;
  /* Image sequences, of which the primary image is decoded. */
  static const char *const sequences[] = {"avis", "msf1", "hevc", "hevx"};
  for (size_t i = 0; i < 4 && decoder->count >= 12; i++) {
    if (memcmp(decoder->bytes + 8, sequences[i], 4) == 0) header->is_animated = true;
  }
  int bits = handle_bits(state->handle);
  if (bits > 0) header->bits = bits;
  decoder->decode = decode;
  return copy_metadata(decoder, state->handle);
}
