/* Wherry: the initialization of Swift's global variables, which survives a fork. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

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

#ifdef SWIFT_PACKAGE
/* The code of the package calls this instead of libswiftCore.so's function. */
#define ONCE swift_once
__attribute__((visibility("hidden")))
#else
/* The linker's --wrap calls this from a static runtime, which then uses it for its own data too. */
#define ONCE __wrap__ZN5swift14threading_impl9once_slowERNS0_6once_tEPFvPvES3_
#endif
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
