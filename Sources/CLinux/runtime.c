/* Wherry: replacements for functions that a static Swift runtime calls. Only for CMake. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* Runs the initializer of a global variable once. The runtime's own function locks with the number
 * of the thread, which a forked child has cached from its parent: if two threads of the child use a
 * variable first, both wait forever. So does a thread of the child if another thread of the parent
 * was initializing the variable at the fork. Here, as with pthread_once, the child starts over. */
typedef struct once {
  _Atomic(int32_t) flag;   /* negative once the function has returned */
  _Atomic(uint32_t) state; /* 0, or `generation` and perhaps HAS_WAITERS while the function runs */
} once;

enum { HAS_WAITERS = 1 };

/* Differs in a forked child. */
static uint32_t generation = 2;

static void begin_generation(void) { generation += 2; }
__attribute__((constructor)) static void watch_forks(void) {
  pthread_atfork(NULL, NULL, begin_generation);
}

#define ONCE __wrap__ZN5swift14threading_impl9once_slowERNS0_6once_tEPFvPvES3_
void ONCE(once *once, void (*function)(void *), void *context);
void ONCE(once *once, void (*function)(void *), void *context) {
  while (atomic_load_explicit(&once->flag, memory_order_acquire) >= 0) {
    uint32_t state = atomic_load_explicit(&once->state, memory_order_acquire);
    if ((state & ~(uint32_t)HAS_WAITERS) != generation) {
      if (!atomic_compare_exchange_strong(&once->state, &state, generation)) continue;
      /* Another thread may have finished between both loads. */
      if (atomic_load_explicit(&once->flag, memory_order_acquire) >= 0) {
        function(context);
        atomic_store_explicit(&once->flag, -1, memory_order_release);
      }
      if (atomic_exchange(&once->state, 0) & HAS_WAITERS)
        syscall(SYS_futex, &once->state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
    } else if (state & HAS_WAITERS ||
               atomic_compare_exchange_strong(&once->state, &state, state | HAS_WAITERS)) {
      syscall(SYS_futex, &once->state, FUTEX_WAIT_PRIVATE, generation | HAS_WAITERS, NULL, NULL, 0);
    }
  }
}
