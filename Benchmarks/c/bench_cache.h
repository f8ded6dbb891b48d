/* Wherry: measurements and output of every cache benchmark
 * SPDX-License-Identifier: Apache-2.0
 *
 * One line of JSON, the same from C, Swift and Python: {"ns": 2900, "failed": 0}
 * ns is the median time of a call. */
#ifndef BENCH_CACHE_H
#define BENCH_CACHE_H

#include <stdbool.h>

#include "bench.h"

static inline int64_t bench_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int bench_compare(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
  return (left > right) - (left < right);
}

/* Calls the function with numbers below `entries`, `warm` times unmeasured, then `count` times. */
static inline long bench_each(long warm, long count, long entries, bool (*call)(long number)) {
  int64_t *times = malloc((size_t)count * sizeof *times);
  long failed = 0;
  if (times == NULL) bench_fail("malloc", "no memory");
  for (long i = -warm; i < count; i++) {
    /* A stride that is coprime to the count visits all numbers in a scattered order. */
    long number = (i + warm) * 7919 % entries;
    int64_t start = bench_ns();
    bool is_done = call(number);
    int64_t end = bench_ns();
    failed += !is_done;
    if (i >= 0) times[i] = end - start;
  }
  qsort(times, (size_t)count, sizeof *times, bench_compare);
  printf("{\"ns\": %lld, \"failed\": %ld}\n", (long long)times[count / 2], failed);
  free(times);
  return failed;
}

#endif
