/* Wherry: handling of process exit; see clinux.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "clinux.h"

enum {
  NO_ATEXIT = 0x80000, /* OPENSSL_INIT_NO_ATEXIT */
  /* The maximum time that the exit handler waits for library calls. A client freed by the program's
   * own exit handler may wait 30 ms more (CurlLoop.exitPatience), which is less than 100 ms in
   * total. */
  PATIENCE_MS = 50,
  STEP_NS = 50000,
  JOIN_STEP_NS = 20000000 /* the interval at which a join checks whether the process is exiting */
};

static atomic_int has_begun;
/* Whether the exit handler has stopped waiting. */
static atomic_int is_over;
/* The thread that runs the exit handlers. */
static atomic_uintptr_t leaver;
/* The number of threads between enter and leave. */
static atomic_int inside;
static __thread int own_depth;
/* The number of threads between attach and detach. */
static atomic_int attached;
static __thread int own_attached;
/* Library threads keep their OpenSSL data until they end. They do not end during process exit. */
static __thread int is_library_thread;
/* OPENSSL_thread_stop of libcurl's OpenSSL, and of a second copy if digests use one. */
static _Atomic(uintptr_t) stops[2];
/* Created on first use; a forked child creates another one. */
static atomic_int descriptor = -1;

struct kept {
  const void *memory;
  struct kept *next;
};
static _Atomic(struct kept *) all_kept;

void clinux_exit_keep(const void *memory) {
  struct kept *one = malloc(sizeof *one);
  if (one == NULL) return;
  one->memory = memory;
  one->next = atomic_load(&all_kept);
  while (!atomic_compare_exchange_weak(&all_kept, &one->next, one)) {
  }
}

void clinux_exit_block(int only_if_over) {
  if (only_if_over && !atomic_load(&is_over)) return;
  if (atomic_load(&leaver) == (uintptr_t)pthread_self()) return;
  for (;;) pause();
}

int clinux_exit_has_begun(void) { return atomic_load(&has_begun); }

/* Counts the calling thread, unless the process is exiting. A nested call always succeeds, because
 * the exit handler already waits for the thread. */
static int count_in(atomic_int *threads, int *own) {
  atomic_fetch_add(threads, 1);
  if (*own == 0 && atomic_load(&has_begun)) {
    atomic_fetch_sub(threads, 1);
    return 0;
  }
  ++*own;
  return 1;
}

int clinux_exit_enter(void) { return count_in(&inside, &own_depth); }

/* Frees the OpenSSL data of the calling thread. OpenSSL's own destructor would free the data when
 * the thread ends, and crash if OpenSSL's exit handler runs at the same time. */
static void stop_thread(void) {
  if (atomic_load(&is_over)) clinux_exit_block(0);
  for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
    void (*stop)(void) = (void (*)(void))atomic_load(&stops[i]);
    if (stop != NULL) stop();
  }
}

void clinux_exit_leave(void) {
  own_depth--;
  if (own_depth == 0 && own_attached == 0 && !is_library_thread) stop_thread();
  atomic_fetch_sub(&inside, 1);
}

int clinux_exit_attach(void) { return count_in(&attached, &own_attached); }

void clinux_exit_detach(void) {
  own_attached--;
  if (own_attached == 0 && own_depth == 0) stop_thread();
  atomic_fetch_sub(&attached, 1);
}

void clinux_exit_begin_thread(void) { is_library_thread = 1; }

void clinux_exit_end_thread(void) {
  if (clinux_exit_attach()) clinux_exit_detach();
  else clinux_exit_block(0);
}

void clinux_exit_join(uintptr_t thread) {
  while (!atomic_load(&has_begun)) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += JOIN_STEP_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    if (pthread_timedjoin_np((pthread_t)thread, NULL, &until) != ETIMEDOUT) return;
  }
  pthread_detach((pthread_t)thread);
}

int clinux_exit_descriptor(void) {
  int known = atomic_load(&descriptor);
  if (known >= 0) return known;
  int made = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (made < 0) return -1;
  if (atomic_compare_exchange_strong(&descriptor, &known, made)) return made;
  close(made);
  return known;
}

/* The exit handler. It takes no lock: the program may call exit from a signal handler, or from a
 * thread of the library. */
static void begin(void) {
  if (atomic_load(&has_begun)) return;
  int error = errno;
  atomic_store(&leaver, (uintptr_t)pthread_self());
  atomic_store(&has_begun, 1);
  int waker = atomic_load(&descriptor);
  uint64_t one = 1;
  if (waker >= 0)
    while (write(waker, &one, sizeof one) < 0 && errno == EINTR) {
    }
  struct timespec step = {.tv_nsec = STEP_NS}, start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  while (atomic_load(&inside) > own_depth || atomic_load(&attached) > own_attached) {
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 >= PATIENCE_MS)
      break;
    nanosleep(&step, NULL);
  }
  atomic_store(&is_over, 1);
  errno = error;
}

/* After fork: the child lacks the other threads, and the descriptor belongs to the parent. */
static void forget(void) {
  atomic_store(&inside, own_depth);
  atomic_store(&attached, own_attached);
  int old = atomic_exchange(&descriptor, -1);
  if (old >= 0) close(old);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static void watch_forks(void) { pthread_atfork(NULL, NULL, forget); }

void clinux_exit_watch(void) {
  pthread_once(&once, watch_forks);
  /* Handlers run in reverse order, so this handler runs before those registered earlier. If the
   * registration fails, the process exits as if the library were not loaded. */
  if (atexit(begin) != 0) return;
}

void clinux_exit_keep_libcrypto(void *library) {
  int (*init)(uint64_t, const void *) = NULL;
  *(void **)(&init) = dlsym(library, "OPENSSL_init_crypto");
  if (init != NULL) init(NO_ATEXIT, NULL);
  uintptr_t stop = (uintptr_t)dlsym(library, "OPENSSL_thread_stop");
  for (size_t i = 0; stop != 0 && i < sizeof stops / sizeof *stops; i++) {
    uintptr_t known = 0;
    if (atomic_compare_exchange_strong(&stops[i], &known, stop) || known == stop) break;
  }
}
