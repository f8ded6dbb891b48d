/* Wherry: what a program holds: descriptors, threads, and memory
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COUNTS_H
#define COUNTS_H

#include <dirent.h>
#include <malloc.h>
#include <sched.h>
#include <stddef.h>

/* The number of entries of a folder. */
static inline long entries_of(const char *folder) {
  long count = 0;
  DIR *entries = opendir(folder);
  if (entries == NULL) return -1;
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) count += entry->d_name[0] != '.';
  closedir(entries);
  return count;
}

/* Without the descriptor that reads the folder. */
static inline long descriptors(void) { return entries_of("/proc/self/fd") - 1; }

/* A joined thread may stay listed for a moment: waits until there are at most this many. */
static inline long threads_down_to(long count) {
  long now = entries_of("/proc/self/task");
  for (long turn = 0; now > count && turn < 200000; turn++) {
    sched_yield();
    now = entries_of("/proc/self/task");
  }
  return now;
}

/* The bytes that malloc has handed out. */
static inline long allocated(void) {
  struct mallinfo2 info = mallinfo2();
  return (long)(info.uordblks + info.hblkhd);
}

#endif
