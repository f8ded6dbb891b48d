/* Wherry: a typical program that recompresses a JPEG file with libjpeg, row by row
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: jpeg_recompress IN.jpg OUT.jpg QUALITY [TIMES [WIDTH [OPTIMIZE]]]
 *
 * With WIDTH, the decoder scales to the next larger N/8, then a triangle filter to the width.
 * OPTIMIZE 1 optimizes the Huffman tables.
 *
 * Prints one line: lowest CPU time of one run in milliseconds, peak RSS in KiB, RSS before the
 * first run, and bytes. */
/* clang-format off */
#include <stdio.h>
#include <jpeglib.h> /* needs stdio.h first */
/* clang-format on */
#include <stdlib.h>
#include <time.h>

#include "peak.h"

enum { BAND = 16 };

static void fail(const char *what, const char *which) {
  fprintf(stderr, "%s: %s\n", what, which);
  exit(1);
}

/* The second scaling step: takes rows and returns rows of another size. */
typedef struct scaler {
  int from_width, from_height, width, height, channels, got, next;
  int *left, taps; /* of each output column: the first source column, and the number of them */
  float *weights;
  float *rows; /* the last `ring` source rows, scaled horizontally */
  int ring;
} scaler;

/* Computes the taps of a triangle filter around an output sample, and their weights. */
static int weigh(int from, int to, int at, float *weights, int *first) {
  double scale = (double)from / to, middle = (at + 0.5) * scale, sum = 0;
  int low = (int)(middle - scale), high = (int)(middle + scale) + 1, count = 0;
  if (low < 0) low = 0;
  if (high > from) high = from;
  for (int x = low; x < high; x++) {
    double far = (x + 0.5 - middle) / scale;
    double weight = far < 0 ? 1 + far : 1 - far;
    weights[count++] = (float)(weight > 0 ? weight : 0);
    sum += weight > 0 ? weight : 0;
  }
  for (int i = 0; i < count; i++) weights[i] = (float)(weights[i] / sum);
  *first = low;
  return count;
}

static void scaler_init(scaler *s, int from_width, int from_height, int width, int height,
                        int channels) {
  *s = (scaler){from_width, from_height, width, height, channels, 0, 0, NULL, 0, NULL, NULL, 0};
  s->taps = 2 * (from_width / width + 2);
  s->ring = 2 * (from_height / height + 2) + 1;
  s->left = calloc((size_t)width, sizeof *s->left);
  s->weights = calloc((size_t)(width * s->taps), sizeof *s->weights);
  s->rows = calloc((size_t)(s->ring * width * channels), sizeof *s->rows);
  if (s->left == NULL || s->weights == NULL || s->rows == NULL) fail("no memory", "scaler");
  for (int x = 0; x < width; x++)
    (void)weigh(from_width, width, x, s->weights + x * s->taps, &s->left[x]);
}

static void scaler_push(scaler *s, const JSAMPLE *row) {
  float *to = s->rows + (size_t)(s->got++ % s->ring) * (size_t)(s->width * s->channels);
  for (int x = 0; x < s->width; x++) {
    const JSAMPLE *at = row + s->left[x] * s->channels;
    const float *weights = s->weights + x * s->taps;
    int taps = s->taps < s->from_width - s->left[x] ? s->taps : s->from_width - s->left[x];
    float a = 0, b = 0, c = 0;
    for (int i = 0; i < taps; i++, at += 3) {
      a += weights[i] * at[0];
      b += weights[i] * at[1];
      c += weights[i] * at[2];
    }
    *to++ = a;
    *to++ = b;
    *to++ = c;
  }
}

/* Returns the next row if all of its source rows are available. */
static int scaler_pull(scaler *s, JSAMPLE *row) {
  float weights[64];
  int first, count;
  if (s->next == s->height) return 0;
  count = weigh(s->from_height, s->height, s->next, weights, &first);
  if (first + count > s->got) return 0;
  for (int x = 0; x < s->width * s->channels; x++) {
    float sum = 0.5f;
    for (int i = 0; i < count; i++)
      sum +=
          weights[i] *
          s->rows[(size_t)((first + i) % s->ring) * (size_t)(s->width * s->channels) + (size_t)x];
    row[x] = (JSAMPLE)(sum > 255 ? 255 : sum);
  }
  s->next++;
  return 1;
}

static long recompress(const char *from, const char *to, int quality, int width, int optimize) {
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  if (in == NULL) fail("cannot open", from);
  if (out == NULL) fail("cannot write", to);
  struct jpeg_error_mgr errors;
  struct jpeg_decompress_struct decoder;
  struct jpeg_compress_struct encoder;
  decoder.err = encoder.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&decoder);
  jpeg_stdio_src(&decoder, in);
  jpeg_read_header(&decoder, TRUE);
  int height = width ? (int)(((long)decoder.image_height * width + (long)decoder.image_width / 2) /
                             decoder.image_width)
                     : 0;
  if (width) {
    decoder.scale_denom = 8;
    decoder.scale_num = 1;
    while ((long)decoder.image_width * decoder.scale_num < (long)width * 8) decoder.scale_num++;
  }
  jpeg_start_decompress(&decoder);

  jpeg_create_compress(&encoder);
  jpeg_stdio_dest(&encoder, out);
  encoder.image_width = width ? (JDIMENSION)width : decoder.output_width;
  encoder.image_height = width ? (JDIMENSION)height : decoder.output_height;
  encoder.input_components = decoder.output_components;
  encoder.in_color_space = decoder.out_color_space;
  jpeg_set_defaults(&encoder);
  jpeg_set_quality(&encoder, quality, TRUE);
  encoder.optimize_coding = optimize ? TRUE : FALSE;
  jpeg_start_compress(&encoder, TRUE);

  size_t row = (size_t)decoder.output_width * (size_t)decoder.output_components;
  JSAMPLE *memory = malloc(row * BAND);
  if (memory == NULL) fail("no memory", from);
  JSAMPROW rows[BAND];
  for (int i = 0; i < BAND; i++) rows[i] = memory + (size_t)i * row;
  scaler small = {0};
  JSAMPLE *made = NULL;
  if (width) {
    scaler_init(&small, (int)decoder.output_width, (int)decoder.output_height, width, height, 3);
    made = malloc((size_t)width * 3);
    if (made == NULL) fail("no memory", from);
  }
  while (decoder.output_scanline < decoder.output_height) {
    JDIMENSION got = jpeg_read_scanlines(&decoder, rows, BAND);
    if (!width) jpeg_write_scanlines(&encoder, rows, got);
    for (JDIMENSION i = 0; width && i < got; i++) {
      scaler_push(&small, rows[i]);
      while (scaler_pull(&small, made)) jpeg_write_scanlines(&encoder, &made, 1);
    }
  }
  if (width) {
    free(small.left);
    free(small.weights);
    free(small.rows);
    free(made);
  }
  jpeg_finish_compress(&encoder);
  jpeg_finish_decompress(&decoder);
  jpeg_destroy_compress(&encoder);
  jpeg_destroy_decompress(&decoder);
  free(memory);
  fclose(in);
  long bytes = ftell(out);
  if (fclose(out) != 0) fail("cannot write", to);
  return bytes;
}

static double cpu_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(int count, char **arguments) {
  if (count < 4) fail("usage", "jpeg_recompress IN.jpg OUT.jpg QUALITY [TIMES [WIDTH [OPTIMIZE]]]");
  int times = count > 4 ? atoi(arguments[4]) : 1;
  double best = 1e12;
  long bytes = 0, before = bench_peak_kib();
  for (int i = 0; i < times; i++) {
    double start = cpu_ms();
    bytes = recompress(arguments[1], arguments[2], atoi(arguments[3]),
                       count > 5 ? atoi(arguments[5]) : 0, count > 6 ? atoi(arguments[6]) : 0);
    double spent = cpu_ms() - start;
    if (spent < best) best = spent;
  }
  printf("cpu_ms %.1f rss_kib %ld before_kib %ld bytes %ld\n", best, bench_peak_kib(), before,
         bytes);
  return 0;
}
