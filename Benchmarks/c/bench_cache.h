/* Wherry: measurements and output of every cache benchmark
 * SPDX-License-Identifier: Apache-2.0
 *
 * One line of JSON, from C, Swift and Python: {"ns": 2900, "failed": 0}
 * ns is the median time of a call. The line from C also has the mean CPU time of a call: thread_ns
 * in the calling thread, and process_ns in all threads. */
#ifndef BENCH_CACHE_H
#define BENCH_CACHE_H

#include <stdbool.h>

#include "bench.h"

static inline int64_t bench_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t bench_cpu_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int bench_compare(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
  return (left > right) - (left < right);
}

/* Calls the function with numbers below `entries`, `warm` times unmeasured, then `count` times. */
static inline long bench_each(long warm, long count, long entries, bool (*call)(long number)) {
  int64_t *times = malloc((size_t)count * sizeof *times);
  int64_t thread = 0, process = 0;
  long failed = 0;
  if (times == NULL) bench_fail("malloc", "no memory");
  for (long i = -warm; i < count; i++) {
    if (i == 0) {
      thread = bench_cpu_ns(CLOCK_THREAD_CPUTIME_ID);
      process = bench_cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    }
    /* A stride that is coprime to the count visits all numbers in a scattered order. */
    long number = (i + warm) * 7919 % entries;
    int64_t start = bench_ns();
    bool is_done = call(number);
    int64_t end = bench_ns();
    failed += !is_done;
    if (i >= 0) times[i] = end - start;
  }
  thread = bench_cpu_ns(CLOCK_THREAD_CPUTIME_ID) - thread;
  process = bench_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - process;
  qsort(times, (size_t)count, sizeof *times, bench_compare);
  printf("{\"ns\": %lld, \"thread_ns\": %lld, \"process_ns\": %lld, \"failed\": %ld}\n",
         (long long)times[count / 2], (long long)thread / count, (long long)process / count,
         failed);
  free(times);
  return failed;
}

#endif
