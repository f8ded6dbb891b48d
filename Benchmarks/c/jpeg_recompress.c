/* Wherry: a JPEG coded anew with libjpeg, rows streamed from file to file, as a C programmer does
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: jpeg_recompress IN.jpg OUT.jpg QUALITY [TIMES]
 *
 * Prints one line: CPU milliseconds of one time (the least of all), peak RSS in KiB, bytes. */
/* clang-format off */
#include <stdio.h>
#include <jpeglib.h> /* wants stdio before */
/* clang-format on */
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { BAND = 16 };

static void fail(const char *what, const char *which) {
  fprintf(stderr, "%s: %s\n", what, which);
  exit(1);
}

static long recompress(const char *from, const char *to, int quality) {
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
  jpeg_start_decompress(&decoder);

  jpeg_create_compress(&encoder);
  jpeg_stdio_dest(&encoder, out);
  encoder.image_width = decoder.output_width;
  encoder.image_height = decoder.output_height;
  encoder.input_components = decoder.output_components;
  encoder.in_color_space = decoder.out_color_space;
  jpeg_set_defaults(&encoder);
  jpeg_set_quality(&encoder, quality, TRUE);
  jpeg_start_compress(&encoder, TRUE);

  size_t row = (size_t)decoder.output_width * (size_t)decoder.output_components;
  JSAMPLE *memory = malloc(row * BAND);
  if (memory == NULL) fail("no memory", from);
  JSAMPROW rows[BAND];
  for (int i = 0; i < BAND; i++) rows[i] = memory + (size_t)i * row;
  while (decoder.output_scanline < decoder.output_height) {
    JDIMENSION got = jpeg_read_scanlines(&decoder, rows, BAND);
    jpeg_write_scanlines(&encoder, rows, got);
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
  if (count < 4) fail("usage", "jpeg_recompress IN.jpg OUT.jpg QUALITY [TIMES]");
  int times = count > 4 ? atoi(arguments[4]) : 1;
  double best = 1e12;
  long bytes = 0;
  for (int i = 0; i < times; i++) {
    double start = cpu_ms();
    bytes = recompress(arguments[1], arguments[2], atoi(arguments[3]));
    double spent = cpu_ms() - start;
    if (spent < best) best = spent;
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("cpu_ms %.1f rss_kib %ld bytes %ld\n", best, usage.ru_maxrss, bytes);
  return 0;
}
