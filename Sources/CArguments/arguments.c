/* Wherry: the arguments that the kernel gave to this process.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Swift's CommandLine reads /proc/self/cmdline, or searches the stack from `environ` on. Without
 * /proc, and after a library's setenv, it finds nothing. The C library calls constructors with the
 * arguments of main, so they are kept here.
 */
#include <stddef.h>

#include "carguments.h"

static int count;
static char **vector;

__attribute__((constructor)) static void keep(int argc, char **argv, char **envp) {
  (void)envp;
  count = argc;
  vector = argv;
}

int carguments_count(void) { return count; }

const char *carguments_at(int index) { return index >= 0 && index < count ? vector[index] : NULL; }
