/* Wherry: runs a program and prints its time and memory
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: measured PROGRAM [ARGUMENT...]
 *
 * Prints {"wall_s": 1.9, "cpu_s": 1.2, "peak_kib": 9800}, and discards the program's own output.
 * The kernel counts the parent's memory as part of the program's peak, so this parent is small. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double seconds(struct timeval time) {
  return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

int main(int count, char **arguments) {
  if (count < 2) {
    fputs("usage: measured PROGRAM [ARGUMENT...]\n", stderr);
    return 2;
  }
  double begun = now();
  pid_t child = fork();
  if (child == 0) {
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) dup2(nowhere, 1);
    execvp(arguments[1], arguments + 1);
    perror(arguments[1]);
    _exit(127);
  }
  int status = 0;
  struct rusage used;
  if (child < 0 || wait4(child, &status, 0, &used) != child) {
    perror("measured");
    return 1;
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    fprintf(stderr, "%s failed\n", arguments[1]);
    return 1;
  }
  printf("{\"wall_s\": %.6f, \"cpu_s\": %.6f, \"peak_kib\": %ld}\n", now() - begun,
         seconds(used.ru_utime) + seconds(used.ru_stime), used.ru_maxrss);
  return 0;
}
