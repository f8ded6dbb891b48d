/* Wherry: requantizes a JPEG file with Wherry's C code, without the rest of the library
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_requantise IN.jpg OUT.jpg QUALITY [TIMES [OPTIMIZE]]
 *
 * wherry_image_compress does this only if the coefficients are in memory anyway. This program
 * always does it, to compare with decoding and encoding. Built with Sources/CImageCodecs.
 *
 * Prints one line: lowest CPU time of one run in milliseconds, peak RSS in KiB, RSS before the
 * first run, and bytes. */
#include <cimage.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "peak.h"

static char words[256];

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, words);
  exit(1);
}

static size_t once(const char *from, const char *to, int quality, int optimize) {
  int file = open(from, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0) fail(from);
  cimage_input input = {.bytes = NULL, .count = (size_t)status.st_size, .descriptor = file};
  cimage_limits limits = {.max_pixels = 100000000,
                          .max_side = 65500,
                          .max_scans = 100,
                          .max_memory = 256 << 20,
                          .deadline_ns = INT64_MAX};
  cimage_jpeg_options options = {.quality = quality,
                                 .luma_h = 2,
                                 .luma_v = 2,
                                 .optimize = optimize != 0,
                                 .max_memory = 256 << 20,
                                 .deadline_ns = INT64_MAX};
  cimage_message message = {words, sizeof words};
  cimage_decoder *decoder = NULL;
  uint8_t *bytes = NULL;
  size_t count = 0;
  int code = 0;
  if (cimage_jpeg_open(&input, &limits, &decoder, &code, message) != CIMAGE_OK) fail(from);
  if (cimage_jpeg_requantise(decoder, &options, &bytes, &count, message) != CIMAGE_OK) fail(from);
  FILE *out = fopen(to, "wb");
  if (out == NULL || fwrite(bytes, 1, count, out) != count || fclose(out) != 0) fail(to);
  free(bytes);
  cimage_decoder_free(decoder);
  close(file);
  return count;
}

static double cpu_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

int main(int count, char **arguments) {
  if (count < 4) return 2;
  int times = count > 4 ? atoi(arguments[4]) : 1, optimize = count > 5 ? atoi(arguments[5]) : 0;
  double best = 1e12;
  long before = bench_peak_kib();
  size_t bytes = 0;
  for (int i = 0; i < times; i++) {
    double start = cpu_ms();
    bytes = once(arguments[1], arguments[2], atoi(arguments[3]), optimize);
    double spent = cpu_ms() - start;
    if (spent < best) best = spent;
  }
  printf("cpu_ms %.1f rss_kib %ld before_kib %ld bytes %zu\n", best, bench_peak_kib(), before,
         bytes);
  return 0;
}
