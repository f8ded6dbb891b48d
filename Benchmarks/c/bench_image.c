/* Wherry: compresses an image file through wherry.h
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_image IN OUT QUALITY TIMES [WIDTH [jpeg [OPTIMIZE]]]
 *
 * Prints one line: lowest CPU time of one run in milliseconds, peak RSS in KiB, RSS before the
 * first run, and bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <wherry.h>

#include "peak.h"

static void check(wherry_status status) {
  if (status == WHERRY_OK) return;
  fprintf(stderr, "%s\n", wherry_error_message(wherry_last_error()));
  exit(1);
}

static double cpu_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static size_t once(const char *from, const char *to, double quality, long width, int as_jpeg,
                   int optimize) {
  wherry_image *image = NULL, *made = NULL;
  wherry_compression *compression = NULL;
  check(wherry_image_new_file(from, &image));
  check(wherry_compression_new(quality, &compression));
  check(wherry_compression_set_option(compression, WHERRY_IMAGE_MAX_WIDTH, width));
  check(wherry_compression_set_option(compression, WHERRY_IMAGE_OPTIMIZE, optimize));
  if (as_jpeg)
    check(wherry_compression_set_option(compression, WHERRY_IMAGE_FORMAT, WHERRY_IMAGE_JPEG));
  check(wherry_image_compress(image, compression, &made));
  size_t count;
  const uint8_t *bytes = wherry_image_bytes(made, &count);
  FILE *out = fopen(to, "wb");
  if (out == NULL || fwrite(bytes, 1, count, out) != count || fclose(out) != 0) {
    perror(to);
    exit(1);
  }
  check(wherry_compression_free(compression));
  check(wherry_image_free(made));
  check(wherry_image_free(image));
  return count;
}

int main(int count, char **arguments) {
  if (count < 5) return 2;
  double quality = atof(arguments[3]), best = 1e12;
  long width = count > 5 ? atol(arguments[5]) : 0;
  wherry_compression *first = NULL; /* loads the library, so that memory growth is the image's */
  check(wherry_compression_new(1, &first));
  check(wherry_compression_free(first));
  long before = bench_peak_kib();
  size_t bytes = 0;
  for (int i = 0; i < atoi(arguments[4]); i++) {
    double start = cpu_ms();
    bytes = once(arguments[1], arguments[2], quality, width, count > 6,
                 count > 7 ? atoi(arguments[7]) : 0);
    double spent = cpu_ms() - start;
    if (spent < best) best = spent;
  }
  printf("cpu_ms %.1f rss_kib %ld before_kib %ld bytes %zu\n", best, bench_peak_kib(), before,
         bytes);
  return 0;
}
