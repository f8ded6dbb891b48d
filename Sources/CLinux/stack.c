/* Wherry: the stack of the current thread
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "clinux.h"

size_t clinux_stack_room(void) {
  /* The lowest usable address, and the end of the stack. */
  static __thread uintptr_t low, end;
  if (end == 0) {
    pthread_attr_t attributes;
    void *base;
    size_t size, guard;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return SIZE_MAX;
    if (pthread_attr_getstack(&attributes, &base, &size) == 0 &&
        pthread_attr_getguardsize(&attributes, &guard) == 0) {
      low = (uintptr_t)base + guard;
      end = (uintptr_t)base + size;
    }
    pthread_attr_destroy(&attributes);
  }
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  return here >= low && here < end ? here - low : SIZE_MAX;
}
