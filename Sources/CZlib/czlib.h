/* Wherry: zlib's macros as functions, for Swift. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CZLIB_H
#define CZLIB_H

#include <zlib.h>

/* inflateInit2 is a macro that passes the size of z_stream, which Swift cannot call. */
static inline int czlib_inflate_init(z_stream *stream, int window_bits) {
  return inflateInit2(stream, window_bits);
}

/* deflateInit2 with zlib's default level, memory and strategy. */
static inline int czlib_deflate_init(z_stream *stream, int window_bits) {
  return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits, 8,
                      Z_DEFAULT_STRATEGY);
}

#endif
