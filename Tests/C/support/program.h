/* Wherry: other programs started by a C test
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stddef.h>
#include <sys/types.h>

typedef struct program {
  pid_t child;
  const char *out_path;
  int err_pipe;
  int code;              /* -1 while it runs and after a signal */
  const char *out, *err; /* stdout once it has ended */
  char *err_bytes;
  size_t err_count;
} program;

/* Starts a program with these NULL-terminated arguments. */
program program_start(const char *path, const char *const *arguments);
/* Waits until it has written this to standard error; ends the test if it exits before. */
void program_wait_for(program *started, const char *text);
/* Waits for its exit. */
void program_wait(program *started);
/* Both, for NULL-terminated arguments. */
#define program_run(...) program_run_list((const char *const[]){__VA_ARGS__})
/* The first is the path. */
program program_run_list(const char *const *list);

#endif
