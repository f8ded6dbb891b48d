/* Wherry: reads plain files, to compare with cache hits
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_file FOLDER SIZE ENTRIES COUNT */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench_cache.h"

static int folder;
static size_t size;

static void name_of(long number, char name[32]) { snprintf(name, 32, "plain-%ld", number); }

static bool read_whole(long number) {
  char name[32];
  struct stat status;
  name_of(number, name);
  int file = openat(folder, name, O_RDONLY | O_CLOEXEC);
  if (file < 0 || fstat(file, &status) != 0) return false;
  char *bytes = malloc((size_t)status.st_size);
  ssize_t count = bytes == NULL ? -1 : read(file, bytes, (size_t)status.st_size);
  close(file);
  bool is_done = count == (ssize_t)size && bytes[count - 1] == 'x';
  free(bytes);
  return is_done;
}

static void write_whole(long number, const char *bytes) {
  char name[32];
  name_of(number, name);
  int file = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || write(file, bytes, size) != (ssize_t)size) bench_fail(name, "cannot be written");
  close(file);
}

int main(int count, char **arguments) {
  if (count != 5) bench_fail("usage", "bench_file FOLDER SIZE ENTRIES COUNT");
  long entries = atol(arguments[3]);
  size = (size_t)atol(arguments[2]);
  mkdir(arguments[1], 0700);
  folder = open(arguments[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  char *bytes = malloc(size);
  if (folder < 0 || bytes == NULL) bench_fail(arguments[1], "cannot be opened");
  memset(bytes, 'x', size);
  for (long i = 0; i < entries; i++) write_whole(i, bytes);
  free(bytes);
  return bench_each(entries, atol(arguments[4]), entries, read_whole) != 0;
}
