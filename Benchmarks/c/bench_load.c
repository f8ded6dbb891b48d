/* Wherry: the time to load libraries in a new process
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_load LIBRARY...
 *
 * Loads them in order, and prints the elapsed time and the CPU time of all in nanoseconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <time.h>

static long long now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(int count, char **words) {
  long long wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 1; i < count; i++)
    if (dlopen(words[i], RTLD_NOW) == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
  cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  printf("%lld %lld\n", now(CLOCK_MONOTONIC) - wall, cpu);
  return 0;
}
