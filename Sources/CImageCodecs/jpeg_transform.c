/* Wherry: rows of pixels to DCT coefficients that are not quantized. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "jpeg_internal.h"

/* libjpeg quantizes the results of its DCT at once. Decoding a JPEG of quality 100 would return
 * them rounded, which costs 2 to 8 % of the bytes. */

enum { FRACTION = 8 }; /* of one: the precision of the stored coefficients */

struct cimage_jpeg_transform {
  cimage_pixels pixels;
  JDIMENSION width, height, next; /* `next` is the next row to be read */
  int h, v;                       /* luma samples for each chroma sample */
  JDIMENSION padded;              /* the width, filled up to whole MCUs */
  /* v * DCTSIZE rows of each component at full resolution, DCTSIZE rows of chroma after averaging
   */
  float *samples[CIMAGE_COMPONENTS];
  float basis[DCTSIZE][DCTSIZE]; /* [frequency][sample] */
  cimage_jpeg_coefficients all;
};

static JDIMENSION divided(JDIMENSION value, int by) {
  return (value + (JDIMENSION)by - 1) / (JDIMENSION)by;
}

cimage_jpeg_transform *cimage_jpeg_transform_new(j_compress_ptr codec, cimage_pixels pixels) {
  j_common_ptr owner = (j_common_ptr)codec;
  struct jpeg_memory_mgr *memory = codec->mem;
  cimage_jpeg_transform *made = (*memory->alloc_small)(owner, JPOOL_IMAGE, sizeof *made);
  memset(made, 0, sizeof *made);
  made->pixels = pixels;
  made->width = codec->image_width;
  made->height = codec->image_height;
  made->h = codec->comp_info[0].h_samp_factor;
  made->v = codec->comp_info[0].v_samp_factor;
  made->padded = divided(made->width, made->h * DCTSIZE) * (JDIMENSION)(made->h * DCTSIZE);
  for (int u = 0; u < DCTSIZE; u++) {
    for (int x = 0; x < DCTSIZE; x++) {
      double factor = u == 0 ? sqrt(0.125) : 0.5;
      made->basis[u][x] = (float)(factor * cos((2 * x + 1) * u * acos(-1.0) / 16));
    }
  }
  cimage_jpeg_coefficients *all = &made->all;
  all->owner = owner;
  all->components = codec->num_components;
  for (int i = 0; i < all->components; i++) {
    int h = i == 0 ? 1 : made->h, v = i == 0 ? 1 : made->v;
    made->samples[i] = (*memory->alloc_large)(
        owner, JPOOL_IMAGE, (size_t)made->padded * (size_t)made->v * DCTSIZE * sizeof(float));
    all->columns[i] = divided(made->width, h * DCTSIZE);
    all->rows[i] = divided(made->height, v * DCTSIZE);
    for (int k = 0; k < DCTSIZE2; k++) all->unit[i][k] = 1.0f / FRACTION;
    /* libjpeg reads the block rows of an MCU together, even if the last ones are below the image.
     */
    int group = codec->comp_info[i].v_samp_factor;
    all->arrays[i] = (*memory->request_virt_barray)(
        owner, JPOOL_IMAGE, TRUE, made->padded / (JDIMENSION)(h * DCTSIZE),
        divided(all->rows[i], group) * (JDIMENSION)group, (JDIMENSION)group);
  }
  (*memory->realize_virt_arrays)(owner);
  return made;
}

/* ---- Samples ---- */

static void read_color(const uint8_t *row, JDIMENSION width, size_t size, int red, int blue,
                       float *y, float *cb, float *cr) {
  for (JDIMENSION x = 0; x < width; x++) {
    const uint8_t *pixel = row + x * size;
    float r = pixel[red], g = pixel[1], b = pixel[blue];
    y[x] = 0.299f * r + 0.587f * g + 0.114f * b - 128;
    cb[x] = -0.168735892f * r - 0.331264108f * g + 0.5f * b;
    cr[x] = 0.5f * r - 0.418687589f * g - 0.081312411f * b;
  }
}

static void read_row(cimage_jpeg_transform *to, const uint8_t *row, size_t line) {
  float *out[CIMAGE_COMPONENTS] = {NULL};
  for (int i = 0; i < to->all.components; i++) out[i] = to->samples[i] + line * to->padded;
  switch (to->pixels) {
    case CIMAGE_GRAY8:
      for (JDIMENSION x = 0; x < to->width; x++) out[0][x] = (float)row[x] - 128;
      break;
    case CIMAGE_YCBCR8:
      for (JDIMENSION x = 0; x < to->width; x++) {
        for (int i = 0; i < 3; i++) out[i][x] = (float)row[3 * x + (JDIMENSION)i] - 128;
      }
      break;
    case CIMAGE_RGB8:
      read_color(row, to->width, 3, 0, 2, out[0], out[1], out[2]);
      break;
    case CIMAGE_RGBA8:
      read_color(row, to->width, 4, 0, 2, out[0], out[1], out[2]);
      break;
    case CIMAGE_BGRA8:
      read_color(row, to->width, 4, 2, 0, out[0], out[1], out[2]);
      break;
  }
  for (int i = 0; i < to->all.components; i++) {
    for (JDIMENSION x = to->width; x < to->padded; x++) out[i][x] = out[i][to->width - 1];
  }
}

/* Averages h x v samples, in place. */
static void shrink(cimage_jpeg_transform *to, float *samples) {
  if (to->h == 1 && to->v == 1) return;
  JDIMENSION columns = to->padded / (JDIMENSION)to->h;
  for (int y = 0; y < DCTSIZE; y++) {
    const float *first = samples + (size_t)(y * to->v) * to->padded;
    const float *last = first + (size_t)(to->v - 1) * to->padded;
    float *out = samples + (size_t)y * to->padded;
    JDIMENSION next = (JDIMENSION)to->h - 1;
    for (JDIMENSION x = 0; x < columns; x++) {
      JDIMENSION at = x * (JDIMENSION)to->h;
      out[x] = (first[at] + first[at + next] + last[at] + last[at + next]) / 4;
    }
  }
}

/* ---- DCT ---- */

static void transform_block(const cimage_jpeg_transform *to, const float *samples, JCOEF *block) {
  float columns[DCTSIZE][DCTSIZE]; /* transformed along the columns: [frequency][x] */
  for (int v = 0; v < DCTSIZE; v++) {
    float sum[DCTSIZE] = {0};
    for (int y = 0; y < DCTSIZE; y++) {
      const float *row = samples + (size_t)y * to->padded;
      for (int x = 0; x < DCTSIZE; x++) sum[x] += to->basis[v][y] * row[x];
    }
    memcpy(columns[v], sum, sizeof sum);
  }
  for (int v = 0; v < DCTSIZE; v++) {
    for (int u = 0; u < DCTSIZE; u++) {
      float sum = 0;
      for (int x = 0; x < DCTSIZE; x++) sum += to->basis[u][x] * columns[v][x];
      block[v * DCTSIZE + u] = (JCOEF)lrintf(sum * FRACTION);
    }
  }
}

/* Transforms the samples of a row of MCUs. */
static void transform_band(cimage_jpeg_transform *to, JDIMENSION band) {
  for (int i = 0; i < to->all.components; i++) {
    int count = i == 0 ? to->v : 1;
    if (i > 0) shrink(to, to->samples[i]);
    for (int part = 0; part < count; part++) {
      JDIMENSION y = band * (JDIMENSION)count + (JDIMENSION)part;
      if (y >= to->all.rows[i]) break;
      JBLOCKROW row = (*to->all.owner->mem->access_virt_barray)(to->all.owner, to->all.arrays[i], y,
                                                                1, TRUE)[0];
      const float *samples = to->samples[i] + (size_t)(part * DCTSIZE) * to->padded;
      for (JDIMENSION x = 0; x < to->all.columns[i]; x++) {
        transform_block(to, samples + x * DCTSIZE, row[x]);
      }
    }
  }
}

void cimage_jpeg_transform_row(cimage_jpeg_transform *to, const uint8_t *row) {
  JDIMENSION lines = (JDIMENSION)(to->v * DCTSIZE);
  JDIMENSION band = to->next / lines, line = to->next % lines;
  read_row(to, row, line);
  to->next++;
  if (to->next == to->height) {
    /* Repeat the last row down to the end of the MCUs. */
    for (JDIMENSION below = line + 1; below < lines; below++) read_row(to, row, below);
    line = lines - 1;
  }
  if (line == lines - 1) transform_band(to, band);
}

cimage_jpeg_coefficients *cimage_jpeg_transformed(cimage_jpeg_transform *from) {
  return &from->all;
}
