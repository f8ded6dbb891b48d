/* Wherry: declarations shared by the decoders that use a library of the system. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CIMAGE_LIBRARY_INTERNAL_H
#define CIMAGE_LIBRARY_INTERNAL_H

#include "internal.h"

/* A decoder that holds the decoded image. The format supplies `decode` and `release`. */
typedef struct cimage_held_decoder cimage_held_decoder;
struct cimage_held_decoder {
  cimage_decoder base;
  const uint8_t *bytes; /* the encoded image */
  size_t count;
  const uint8_t *pixels; /* the rows, once `decode` has succeeded */
  size_t stride;
  uint8_t *owned; /* the memory of `pixels`; NULL if it belongs to the library */
  uint32_t next_row;
  const uint8_t *exif, *profile; /* in `bytes` or in `metadata` */
  size_t exif_count, profile_count;
  uint8_t *metadata[2]; /* copies, to be freed */
  void *state;          /* of the format */
  cimage_status (*decode)(cimage_held_decoder *, cimage_message);
  void (*release)(cimage_held_decoder *);
};

/* Read the header, set `decode`, and set `release` as soon as there is something to release. */
cimage_status cimage_webp_describe(cimage_held_decoder *decoder, cimage_message message);
cimage_status cimage_heif_describe(cimage_held_decoder *decoder, cimage_message message);
cimage_status cimage_gif_describe(cimage_held_decoder *decoder, cimage_message message);

/* Allocates zeroed rows in the decoder's pixel format. `more` is the number of bytes that the
 * library needs besides for each pixel. */
cimage_status cimage_held_reserve(cimage_held_decoder *decoder, size_t more,
                                  cimage_message message);
/* Whether the memory for all pixels is within the limit. */
cimage_status cimage_held_judge(const cimage_held_decoder *decoder, size_t bytes_per_pixel,
                                cimage_message message);

/* A function of a library. It may be missing, so that *place is NULL, if `name` starts with '?'. */
typedef struct {
  const char *name;
  void **place;
} cimage_function;

/* Loads a library and finds its functions, up to one without a name, unless *is_loaded. Returns
 * false if that is impossible; a later call tries again. */
bool cimage_library_load(const char *file, const cimage_function *functions, bool *is_loaded);

/* Little-endian numbers. */
static inline uint32_t cimage_le16(const uint8_t *at) { return at[0] | (uint32_t)at[1] << 8; }
static inline uint32_t cimage_le24(const uint8_t *at) {
  return cimage_le16(at) | (uint32_t)at[2] << 16;
}
static inline uint32_t cimage_le32(const uint8_t *at) {
  return cimage_le24(at) | (uint32_t)at[3] << 24;
}

#endif
