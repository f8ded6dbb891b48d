/* Wherry: CRC-32C with the processor instruction; see clinux.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "clinux.h"

#ifdef __x86_64__
#include <nmmintrin.h>
#include <pthread.h>
#include <string.h>

/* The instruction has a latency of three cycles and a throughput of one: three interleaved runs
 * keep it busy. */
enum { RUN = 2048, RUNS = 3 };

/* The effect on a state of RUN zero bytes, for each byte of the state. */
static uint32_t after_zeros[4][256];
static pthread_once_t is_prepared = PTHREAD_ONCE_INIT;

static inline uint64_t word_at(const uint8_t *bytes) {
  uint64_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

__attribute__((target("sse4.2"))) static void prepare(void) {
  for (int bit = 0; bit < 32; bit++) {
    uint64_t state = UINT32_C(1) << bit;
    for (int i = 0; i < RUN; i += 8) state = _mm_crc32_u64(state, 0);
    /* The operation is linear: combine the effects of single bits. */
    for (int byte = 0; byte < 256; byte++)
      if (byte >> bit % 8 & 1) after_zeros[bit / 8][byte] ^= (uint32_t)state;
  }
}

static inline uint64_t moved(uint64_t state) {
  return after_zeros[0][state & 0xFF] ^ after_zeros[1][state >> 8 & 0xFF] ^
         after_zeros[2][state >> 16 & 0xFF] ^ after_zeros[3][state >> 24 & 0xFF];
}

__attribute__((target("sse4.2"))) static uint32_t run(uint32_t begin, const uint8_t *bytes,
                                                      uint64_t count) {
  uint64_t state = begin;
  while (count >= RUN * RUNS) {
    uint64_t second = 0, third = 0;
    for (int i = 0; i < RUN; i += 8) {
      state = _mm_crc32_u64(state, word_at(bytes + i));
      second = _mm_crc32_u64(second, word_at(bytes + RUN + i));
      third = _mm_crc32_u64(third, word_at(bytes + 2 * RUN + i));
    }
    state = moved(moved(state) ^ second) ^ third;
    bytes += RUN * RUNS;
    count -= RUN * RUNS;
  }
  for (; count >= 8; bytes += 8, count -= 8) state = _mm_crc32_u64(state, word_at(bytes));
  uint32_t rest = (uint32_t)state;
  for (; count > 0; bytes++, count--) rest = _mm_crc32_u8(rest, *bytes);
  return rest;
}

int clinux_crc32c(uint32_t *state, const void *bytes, uint64_t count) {
  if (!__builtin_cpu_supports("sse4.2")) return 0;
  pthread_once(&is_prepared, prepare);
  *state = run(*state, bytes, count);
  return 1;
}
#else
int clinux_crc32c(uint32_t *state, const void *bytes, uint64_t count) {
  (void)state, (void)bytes, (void)count;
  return 0;
}
#endif
