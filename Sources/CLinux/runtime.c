/* Wherry: replacements for functions that a static Swift runtime calls. Only for CMake. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* hypotf has a new symbol version in glibc 2.35. With this definition, the library also runs
 * with glibc 2.34. A double holds the squares without overflow. */
float hypotf(float x, float y) {
  if (isinf(x) || isinf(y)) return INFINITY;
  return (float)sqrt((double)x * x + (double)y * y);
}

/* The Unicode names of characters, of which the runtime has 550 kB. Nothing asks for them:
 * Unicode.Scalar.Properties.name is nil. The linker's --wrap calls this instead. */
ptrdiff_t __wrap__swift_stdlib_getScalarName(uint32_t scalar, uint8_t *buffer, ptrdiff_t capacity);
ptrdiff_t __wrap__swift_stdlib_getScalarName(uint32_t scalar, uint8_t *buffer, ptrdiff_t capacity) {
  (void)scalar, (void)buffer, (void)capacity;
  return 0;
}

/* Only the command uses Dispatch, which registers its workers with a monitor. Every second, the
 * monitor reads the states of the workers in /proc, and adds a worker if they block. The monitor
 * ends the process if /proc is missing. Swift tasks do not block, so the monitor is unnecessary. */
void __wrap__dispatch_workq_worker_register(void *queue);
void __wrap__dispatch_workq_worker_register(void *queue) { (void)queue; }
void __wrap__dispatch_workq_worker_unregister(void *queue);
void __wrap__dispatch_workq_worker_unregister(void *queue) { (void)queue; }

/* The arguments of the program, for Swift's CommandLine. The runtime's own function comes with a
 * constructor that reads all of /proc/self/maps, in every program that loads the library. The C
 * library calls constructors with the arguments of main. The linker finds this function first. */
static int argument_count;
static char **argument_vector;

__attribute__((constructor)) static void keep_arguments(int count, char **vector) {
  argument_count = count;
  argument_vector = vector;
}

char **_swift_stdlib_getUnsafeArgvArgc(int *count);
char **_swift_stdlib_getUnsafeArgvArgc(int *count) {
  *count = argument_count;
  return argument_vector;
}
