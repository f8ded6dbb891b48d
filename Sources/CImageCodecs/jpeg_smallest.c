/* Wherry: quantization and scans for the smallest JPEG of a quality. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "jpeg_internal.h"

/* docs/decisions/image-processing.md explains the tables and constants. Coefficients are in zigzag
 * order here, except in libjpeg's blocks and tables. */

enum {
  EDGES = 9,      /* the coefficients at which a scan can begin or end */
  SYMBOLS = 256,  /* of a Huffman table */
  SAMPLE = 4096,  /* blocks that are counted */
  GROUP = 64,     /* adjacent blocks of the sample */
  LARGEST = 1023, /* level of an AC coefficient in 8-bit JPEG */
  LONGEST_RUN = 0x7FFF,
  TABLE_BYTES = 21, /* of a DHT segment, without its symbols */
  SCAN_BYTES = 10   /* of an SOS segment for one component */
};

static const uint8_t edges[EDGES] = {1, 2, 3, 6, 9, 13, 19, 28, 64};

static const uint8_t order[DCTSIZE2] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

/* The quantization steps of quality 50. */
static const float luma_steps[DCTSIZE2] = {
    14.7f, 11.1f, 11.9f, 13.3f, 11.9f, 10.3f, 14.7f, 13.3f, 12.6f, 13.3f, 16.1f, 15.4f, 14.7f,
    16.7f, 20.0f, 29.3f, 21.2f, 20.0f, 18.7f, 18.7f, 20.0f, 34.1f, 26.5f, 27.6f, 23.0f, 29.3f,
    38.7f, 35.1f, 40.2f, 39.7f, 38.2f, 35.1f, 37.7f, 37.2f, 41.6f, 45.5f, 54.7f, 48.3f, 41.6f,
    43.6f, 52.4f, 44.1f, 37.2f, 37.7f, 49.2f, 62.1f, 49.7f, 52.4f, 56.0f, 57.3f, 59.5f, 59.9f,
    59.5f, 40.7f, 47.8f, 63.8f, 67.1f, 63.3f, 58.2f, 66.7f, 54.7f, 58.6f, 59.5f, 57.7f};
static const float chroma_steps[DCTSIZE2] = {
    17.7f, 18.5f, 18.5f, 22.9f, 20.8f, 22.9f, 38.0f, 24.4f, 24.4f, 38.0f, 66.4f, 49.0f, 43.3f,
    49.0f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f,
    66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f,
    66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f,
    66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f, 66.4f};

/* How many bits it is worth to avoid an error of one quantization step. */
static const float error_weight = 12, largest_weight = 4096;

/* ---- Counting symbols ---- */

typedef struct {
  double count[SYMBOLS];
  double runs, run_bits; /* runs of blocks without further coefficients, and their extra bits */
  double ends;           /* blocks without further coefficients */
} symbols;

static int bits_of(int value) { return value == 0 ? 0 : 32 - __builtin_clz((unsigned)value); }

static void end_run(symbols *all, int *run) {
  if (*run == 0) return;
  int bits = bits_of(*run) - 1;
  all->count[bits << 4]++;
  all->runs++;
  all->run_bits += bits;
  *run = 0;
}

/* Counts the symbols of the coefficients from `from` up to `to` in one block, as a progressive scan
 * codes them. `run` is the number of preceding blocks that ended early. */
static void count_levels(const int16_t *levels, int from, int to, symbols *all, int *run) {
  int zeros = 0;
  bool is_empty = true;
  for (int i = from; i < to; i++) {
    if (levels[i] == 0) {
      zeros++;
      continue;
    }
    if (is_empty) end_run(all, run);
    is_empty = false;
    for (; zeros > 15; zeros -= 16) all->count[0xF0]++;
    all->count[zeros << 4 | bits_of(levels[i])]++;
    zeros = 0;
  }
  if (zeros == 0) return;
  all->ends++;
  if (++*run == LONGEST_RUN) end_run(all, run);
}

/* The size of the symbols with optimal codes of whole bits, and of the code table, in bits. */
static double size_of(const symbols *all) {
  double sum = 0, bits = all->run_bits;
  int kinds = 0;
  for (int i = 0; i < SYMBOLS; i++) sum += all->count[i];
  for (int i = 0; i < SYMBOLS; i++) {
    if (all->count[i] == 0) continue;
    kinds++;
    bits += all->count[i] * (fmax(1, log2(sum / all->count[i])) + (i & 15));
  }
  return bits + 8 * (TABLE_BYTES + kinds);
}

/* ---- Choosing scans ---- */

/* The symbols of one component, for each range of coefficients that a scan can have. */
typedef struct {
  symbols ranges[EDGES][EDGES]; /* [first edge][last edge] */
  double differences[16];       /* DC differences by their number of bits */
  double scale;                 /* blocks of the component for each block that was counted */
} counts;

typedef struct {
  int bands;
  uint8_t from[EDGES], to[EDGES]; /* indexes of edges */
  double bits;
} split;

static double scaled_size(const counts *all, int from, int to) {
  symbols part = all->ranges[from][to];
  for (int i = 0; i < SYMBOLS; i++) part.count[i] *= all->scale;
  part.run_bits *= all->scale;
  return size_of(&part);
}

/* Finds the division of the AC coefficients into scans that takes the fewest bits. */
static split best_split(const counts *all) {
  double best[EDGES] = {0};
  int before[EDGES] = {0};
  for (int to = 1; to < EDGES; to++) {
    best[to] = INFINITY;
    for (int from = 0; from < to; from++) {
      double bits = best[from] + scaled_size(all, from, to) + 8 * SCAN_BYTES;
      if (bits < best[to]) {
        best[to] = bits;
        before[to] = from;
      }
    }
  }
  split result = {.bits = best[EDGES - 1]};
  for (int to = EDGES - 1; to > 0; to = before[to]) result.bands++;
  int band = result.bands;
  for (int to = EDGES - 1; to > 0; to = before[to]) {
    band--;
    result.from[band] = (uint8_t)before[to];
    result.to[band] = (uint8_t)to;
  }
  return result;
}

/* Adds the symbols of a component in a sequential scan. */
static void add_sequential(symbols *sum, const counts *all) {
  const symbols *part = &all->ranges[0][EDGES - 1];
  for (int i = 1; i < SYMBOLS; i++) {
    bool is_run = (i & 15) == 0 && i != 0xF0;
    if (!is_run) sum->count[i] += part->count[i] * all->scale;
  }
  sum->count[0] += part->ends * all->scale;
}

/* Whether one scan is smaller than the scans of the splits. Their DC coefficients take about as
 * many bits, but more tables. */
static bool is_sequential_smaller(const counts *all, const split *splits, int components) {
  double progressive = 8 * components * (TABLE_BYTES + 8 + SCAN_BYTES);
  double sequential = 8 * (components > 1 ? 2 : 1) * (TABLE_BYTES + 8) + 8 * SCAN_BYTES;
  symbols luma = {0}, chroma = {0};
  add_sequential(&luma, &all[0]);
  sequential += size_of(&luma);
  for (int i = 0; i < components; i++) {
    progressive += splits[i].bits;
    if (i > 0) add_sequential(&chroma, &all[i]);
  }
  if (components > 1) sequential += size_of(&chroma);
  return sequential < progressive;
}

/* ---- Quantization ---- */

typedef struct {
  float scale[DCTSIZE2];  /* from stored coefficients to quantization steps */
  float weight[DCTSIZE2]; /* cost in bits of a squared error of one step */
} quantizer;

/* Reads a block in quantization steps. */
static void read_block(const JCOEF *block, const quantizer *to, float *out) {
  for (int i = 0; i < DCTSIZE2; i++) {
    float value = (float)block[order[i]] * to->scale[i];
    out[i] = fminf(fmaxf(value, -LARGEST), LARGEST);
  }
}

typedef struct {
  float bits[SYMBOLS]; /* of a symbol and the bits that follow it */
  float end;           /* of a run of blocks that end early */
} prices;

static prices prices_of(const symbols *all) {
  prices result;
  double sum = 0, end = all->run_bits;
  for (int i = 0; i < SYMBOLS; i++) sum += all->count[i] + 0.02;
  for (int i = 0; i < SYMBOLS; i++) {
    double bits = fmin(16, fmax(1, log2(sum / (all->count[i] + 0.02))));
    if ((i & 15) == 0 && i != 0xF0) end += all->count[i] * bits;
    result.bits[i] = (float)(bits + (i & 15));
  }
  result.end = all->runs > 0 ? (float)(end / all->runs) : 4;
  return result;
}

/* Chooses the levels of the coefficients from `from` up to `to`, so that the sum of the bits and of
 * the weighted squared errors is lowest. Each coefficient becomes the nearest level, the largest
 * level with one bit less, or zero. */
static void choose_levels(const float *values, const float *weight, int from, int to,
                          const prices *price, int16_t *levels) {
  /* Of the coefficients that can be the last one so far: the cost without all earlier zeros. */
  float cost[DCTSIZE2 + 1];
  int place[DCTSIZE2 + 1], before[DCTSIZE2 + 1], level[DCTSIZE2 + 1];
  float zeroed[DCTSIZE2 + 1]; /* the cost of zeros in place of the values before an index */
  int count = 1;
  cost[0] = 0;
  place[0] = from - 1;
  zeroed[from] = 0;
  for (int i = from; i < to; i++) {
    float value = fabsf(values[i]);
    levels[i] = 0;
    zeroed[i + 1] = zeroed[i] + value * value * weight[i];
    int nearest = (int)(value + 0.5f);
    if (nearest == 0) continue;
    float best = INFINITY;
    int bits = bits_of(nearest);
    int choices[2] = {nearest, (1 << (bits - 1)) - 1};
    for (int choice = 0; choice < 2 && choices[choice] > 0; choice++, bits--) {
      float error = value - (float)choices[choice];
      float own = error * error * weight[i] + zeroed[i];
      for (int j = 0; j < count; j++) {
        int zeros = i - 1 - place[j];
        float sum = cost[j] + own - zeroed[place[j] + 1] + price->bits[0xF0] * (float)(zeros >> 4) +
                    price->bits[(zeros & 15) << 4 | bits];
        if (sum < best) {
          best = sum;
          before[count] = j;
          level[count] = choices[choice];
        }
      }
    }
    cost[count] = best;
    place[count++] = i;
  }
  float best = INFINITY;
  int last = 0;
  for (int j = 0; j < count; j++) {
    float sum = cost[j] + zeroed[to] - zeroed[place[j] + 1];
    if (j > 0 && place[j] < to - 1) sum += price->end; /* an empty block only lengthens a run */
    if (sum < best) {
      best = sum;
      last = j;
    }
  }
  for (; last > 0; last = before[last]) levels[place[last]] = (int16_t)level[last];
}

enum { DC_CHOICES = 3 };

/* The best ways to code the DC coefficients of a row of blocks, by the choice for the last block:
 * the rounded value, or one less or more. */
typedef struct {
  int16_t value[DC_CHOICES];
  uint8_t before[DC_CHOICES];
} dc_step;

/* Chooses the DC levels of a row of blocks; returns the last one. */
static int choose_dc(JBLOCKROW row, JDIMENSION columns, const quantizer *to, const float *bits,
                     int previous, dc_step *steps, int16_t *levels) {
  float cost[DC_CHOICES] = {0};
  for (JDIMENSION x = 0; x < columns; x++) {
    float value = fminf(fmaxf((float)row[x][0] * to->scale[0], -LARGEST), LARGEST);
    float next[DC_CHOICES];
    for (int choice = 0; choice < DC_CHOICES; choice++) {
      int level = (int)lrintf(value) + choice - 1;
      level = level < -LARGEST ? -LARGEST : level > LARGEST ? LARGEST : level;
      float error = value - (float)level, best = INFINITY;
      for (int j = 0; j < (x == 0 ? 1 : DC_CHOICES); j++) {
        int from = x == 0 ? previous : steps[x - 1].value[j];
        float sum = cost[j] + bits[bits_of(abs(level - from))];
        if (sum < best) {
          best = sum;
          steps[x].before[choice] = (uint8_t)j;
        }
      }
      steps[x].value[choice] = (int16_t)level;
      next[choice] = best + error * error * to->weight[0];
    }
    memcpy(cost, next, sizeof cost);
  }
  int choice = 0;
  for (int j = 1; j < DC_CHOICES; j++) {
    if (cost[j] < cost[choice]) choice = j;
  }
  for (JDIMENSION x = columns; x-- > 0;) {
    levels[x] = steps[x].value[choice];
    choice = steps[x].before[choice];
  }
  return levels[columns - 1];
}

/* ---- Components ---- */

static JBLOCKROW block_row(const cimage_jpeg_coefficients *all, int component, JDIMENSION y) {
  return (*all->owner->mem->access_virt_barray)(all->owner, all->arrays[component], y, 1, TRUE)[0];
}

static void stop_when_late(j_common_ptr codec, int64_t deadline_ns) {
  if (cimage_is_late(deadline_ns)) {
    cimage_jpeg_fail(codec, CIMAGE_DEADLINE, "the time for this image is over");
  }
}

/* Counts the symbols of a component, rounded, in groups of blocks. */
static void count_component(const cimage_jpeg_coefficients *all, int component, const quantizer *to,
                            int64_t deadline_ns, counts *out) {
  JDIMENSION columns = all->columns[component], rows = all->rows[component];
  uint64_t blocks = (uint64_t)columns * rows;
  uint64_t step = (blocks + SAMPLE - 1) / SAMPLE;
  int run[EDGES][EDGES] = {{0}};
  uint64_t counted = 0;
  int previous = 0;
  memset(out, 0, sizeof *out);
  for (uint64_t first = 0; first < blocks; first += GROUP * step) {
    stop_when_late(all->owner, deadline_ns);
    for (uint64_t index = first; index < first + GROUP && index < blocks; index++, counted++) {
      JBLOCKROW row = block_row(all, component, (JDIMENSION)(index / columns));
      float values[DCTSIZE2];
      int16_t levels[DCTSIZE2];
      read_block(row[index % columns], to, values);
      int dc = (int)lrintf(values[0]);
      if (index > first || index == 0) out->differences[bits_of(abs(dc - previous))]++;
      previous = dc;
      /* Less than half, because the choice of levels makes many of them smaller. */
      for (int i = 1; i < DCTSIZE2; i++) levels[i] = (int16_t)(fabsf(values[i]) + 0.4f);
      for (int a = 0; a < EDGES; a++) {
        for (int b = a + 1; b < EDGES; b++) {
          count_levels(levels, edges[a], edges[b], &out->ranges[a][b], &run[a][b]);
        }
      }
    }
  }
  for (int a = 0; a < EDGES; a++) {
    for (int b = a + 1; b < EDGES; b++) end_run(&out->ranges[a][b], &run[a][b]);
  }
  out->scale = (double)blocks / (double)counted;
}

/* Replaces the coefficients of a component by their levels. */
static void quantize_component(const cimage_jpeg_coefficients *all, int component,
                               const quantizer *to, const counts *counted, const split *scans,
                               int64_t deadline_ns) {
  JDIMENSION columns = all->columns[component];
  prices price[EDGES];
  for (int band = 0; band < scans->bands; band++) {
    price[band] = prices_of(&counted->ranges[scans->from[band]][scans->to[band]]);
  }
  float dc_bits[16];
  double sum = 0;
  for (int i = 0; i < 16; i++) sum += counted->differences[i] + 0.05;
  for (int i = 0; i < 16; i++) {
    dc_bits[i] = (float)(log2(sum / (counted->differences[i] + 0.05)) + i);
  }
  struct jpeg_memory_mgr *memory = all->owner->mem;
  dc_step *steps = (*memory->alloc_large)(all->owner, JPOOL_IMAGE, columns * sizeof *steps);
  int16_t *dc = (*memory->alloc_large)(all->owner, JPOOL_IMAGE, columns * sizeof *dc);
  int previous = 0;
  for (JDIMENSION y = 0; y < all->rows[component]; y++) {
    stop_when_late(all->owner, deadline_ns);
    JBLOCKROW row = block_row(all, component, y);
    previous = choose_dc(row, columns, to, dc_bits, previous, steps, dc);
    for (JDIMENSION x = 0; x < columns; x++) {
      float values[DCTSIZE2];
      int16_t levels[DCTSIZE2];
      read_block(row[x], to, values);
      for (int band = 0; band < scans->bands; band++) {
        choose_levels(values, to->weight, edges[scans->from[band]], edges[scans->to[band]],
                      &price[band], levels);
      }
      row[x][0] = dc[x];
      for (int i = 1; i < DCTSIZE2; i++) {
        row[x][order[i]] = values[i] < 0 ? (JCOEF)-levels[i] : levels[i];
      }
    }
  }
}

/* Sets a quantization table, and prepares the quantization with it. */
static void prepare(j_compress_ptr codec, int slot, int quality, const float *unit,
                    quantizer *out) {
  const float *steps = slot == 0 ? luma_steps : chroma_steps;
  float scaling = (float)jpeg_quality_scaling(quality) / 100;
  unsigned table[DCTSIZE2];
  for (int i = 0; i < DCTSIZE2; i++) {
    float wanted = steps[i] * scaling;
    float step = fminf(fmaxf(floorf(wanted + 0.5f), 1), 255);
    table[order[i]] = (unsigned)step;
    out->scale[i] = unit[order[i]] / step;
    /* If a table has no such step, as at quality 100, errors count as if it had. */
    float ratio = step / fmaxf(wanted, 0.01f);
    out->weight[i] = fminf(error_weight * ratio * ratio, largest_weight);
  }
  jpeg_add_quant_table(codec, slot, table, 100, TRUE);
}

void cimage_jpeg_write_smallest(j_compress_ptr codec, cimage_jpeg_coefficients *all,
                                const cimage_jpeg_options *options) {
  int components = all->components;
  counts *counted = (*all->owner->mem->alloc_large)(all->owner, JPOOL_IMAGE,
                                                    (size_t)components * sizeof *counted);
  quantizer to[CIMAGE_COMPONENTS];
  split splits[CIMAGE_COMPONENTS];
  for (int i = 0; i < components; i++) {
    int slot = i == 0 ? 0 : 1;
    codec->comp_info[i].quant_tbl_no = slot;
    prepare(codec, slot, options->quality, all->unit[i], &to[i]);
    count_component(all, i, &to[i], options->deadline_ns, &counted[i]);
    splits[i] = best_split(&counted[i]);
  }
  bool is_progressive = options->progressive || !is_sequential_smaller(counted, splits, components);
  jpeg_scan_info scans[CIMAGE_COMPONENTS * EDGES];
  int count = 0;
  for (int i = 0; i < components; i++) {
    scans[count++] = (jpeg_scan_info){.comps_in_scan = 1, .component_index = {i}};
  }
  for (int i = 0; i < components; i++) {
    if (!is_progressive) splits[i] = (split){.bands = 1, .to = {EDGES - 1}};
    quantize_component(all, i, &to[i], &counted[i], &splits[i], options->deadline_ns);
    for (int band = 0; band < splits[i].bands; band++) {
      scans[count++] = (jpeg_scan_info){.comps_in_scan = 1,
                                        .component_index = {i},
                                        .Ss = edges[splits[i].from[band]],
                                        .Se = edges[splits[i].to[band]] - 1};
    }
  }
  codec->optimize_coding = TRUE;
  codec->num_scans = is_progressive ? count : 0;
  codec->scan_info = is_progressive ? scans : NULL;
  jpeg_write_coefficients(codec, all->arrays);
  cimage_jpeg_write_segments(codec, options->segments, options->segments_count);
  jpeg_finish_compress(codec);
  codec->scan_info = NULL;
}
