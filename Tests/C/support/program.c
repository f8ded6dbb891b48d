/* Wherry: other programs started by a C test
 * SPDX-License-Identifier: Apache-2.0 */
/* For pipe2. */
#define _GNU_SOURCE
#include "program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

extern char **environ;

enum { MAX_ARGUMENTS = 32, MAX_ERRORS = 1 << 20 };

program program_start(const char *path, const char *const *arguments) {
  const char *all[MAX_ARGUMENTS] = {path};
  for (int i = 0; arguments[i] != NULL; i++) {
    REQUIRE(i + 2 < MAX_ARGUMENTS);
    all[i + 1] = arguments[i];
  }
  program started = {.code = -1, .out_path = check_path("out-%u", check_number())};
  int ends[2];
  REQUIRE_INT(pipe2(ends, O_CLOEXEC), 0);
  started.err_pipe = ends[0];
  started.err = started.err_bytes = check_memory(MAX_ERRORS);
  started.err_bytes[0] = '\0';
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, started.out_path, O_CREAT | O_TRUNC | O_WRONLY,
                                   0600);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  int failure = posix_spawn(&started.child, path, &actions, NULL, (char *const *)all, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  REQUIRE_INT(failure, 0);
  return started;
}

/* Reads its next output; false at the end. */
static bool read_errors(program *started) {
  size_t room = MAX_ERRORS - 1 - started->err_count;
  REQUIRE(room > 0);
  ssize_t count = read(started->err_pipe, started->err_bytes + started->err_count, room);
  if (count <= 0) return false;
  started->err_count += (size_t)count;
  started->err_bytes[started->err_count] = '\0';
  return true;
}

void program_wait_for(program *started, const char *text) {
  while (strstr(started->err, text) == NULL) REQUIRE(read_errors(started));
}

void program_wait(program *started) {
  int status = 0;
  long count = 0;
  while (read_errors(started)) continue;
  close(started->err_pipe);
  REQUIRE(waitpid(started->child, &status, 0) == started->child);
  started->code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  started->out = check_read_file(started->out_path, &count);
}

program program_run_list(const char *const *list) {
  program started = program_start(list[0], list + 1);
  program_wait(&started);
  return started;
}
