/* Wherry: measurements and output of every benchmark program in C
 * SPDX-License-Identifier: Apache-2.0
 *
 * One line of JSON, the same from C, Swift and Python:
 *   {"wall_s": 0.51, "cpu_s": 0.42, "done": 10000, "failed": 0, "bytes": 10240000,
 *    "start_kib": 9000, "peak_kib": 9800}
 * cpu_s is the user and system time of the process, peak_kib the maximum resident size during the
 * measurement, and start_kib the size at its start. */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

typedef struct bench {
  double wall, cpu;
  long start_kib;
} bench;

static inline double bench_wall(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline double bench_cpu(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static inline long bench_status_kib(const char *name) {
  char line[256];
  long value = -1;
  FILE *file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, name, strlen(name)) == 0) value = atol(line + strlen(name));
  if (file != NULL) fclose(file);
  return value;
}

static inline bench bench_begin(void) {
  FILE *file = fopen("/proc/self/clear_refs", "w"); /* 5 resets the peak */
  if (file != NULL) {
    fputs("5", file);
    fclose(file);
  }
  return (bench){bench_wall(), bench_cpu(), bench_status_kib("VmRSS:")};
}

/* Starts the clocks again after a first request whose memory counts, but whose time does not. */
static inline void bench_restart(bench *begun) {
  begun->wall = bench_wall();
  begun->cpu = bench_cpu();
}

static inline void bench_end(bench begun, long done, long failed, int64_t bytes) {
  double wall = bench_wall() - begun.wall, cpu = bench_cpu() - begun.cpu;
  printf(
      "{\"wall_s\": %.6f, \"cpu_s\": %.6f, \"done\": %ld, \"failed\": %ld, \"bytes\": %lld, "
      "\"start_kib\": %ld, \"peak_kib\": %ld}\n",
      wall, cpu, done, failed, (long long)bytes, begun.start_kib, bench_status_kib("VmHWM:"));
}

_Noreturn static inline void bench_fail(const char *what, const char *why) {
  fprintf(stderr, "%s: %s\n", what, why);
  exit(1);
}

#endif
