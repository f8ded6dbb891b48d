/* Wherry: the bytes of the test server's /bytes route, for C tests
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef WHERRY_TEST_PATTERN_H
#define WHERRY_TEST_PATTERN_H

#include <stdint.h>

static inline uint64_t test_pattern_mix(uint64_t z) {
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

/** The byte at `offset` of the stream of `seed`; pattern.py has the formula. */
static inline unsigned char test_pattern_byte(uint64_t seed, uint64_t offset) {
  const uint64_t gamma = UINT64_C(0x9E3779B97F4A7C15);
  uint64_t word = offset / 8;
  uint64_t value = test_pattern_mix(seed + (word % 8192 + 1) * gamma) ^
                   test_pattern_mix((seed ^ UINT64_C(0x6A09E667F3BCC909)) + (word / 8192) * gamma);
  return (unsigned char)(value >> (8 * (offset % 8)));
}

#endif
