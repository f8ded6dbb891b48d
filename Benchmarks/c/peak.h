/* Wherry: the most memory that a benchmark has had
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PEAK_H
#define PEAK_H

#include <stdio.h>

/* Peak RSS in KiB; 0 where it cannot be read. getrusage tells the parent's where that was more. */
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
