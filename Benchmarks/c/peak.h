/* Wherry: the peak memory of a benchmark
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAK_H
#define PEAK_H

#include <stdio.h>

/* Peak RSS in KiB, or 0 if unknown. getrusage would return the parent's peak if that was higher. */
static long bench_peak_kib(void) {
  char line[256];
  long peak = 0;
  FILE *file = fopen("/proc/self/status", "r");
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "VmHWM: %ld", &peak) == 1) break;
  fclose(file);
  return peak;
}

#endif
