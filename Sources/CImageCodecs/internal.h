/* Wherry: declarations shared by the image codecs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CIMAGE_INTERNAL_H
#define CIMAGE_INTERNAL_H

#include <limits.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cimage.h"

enum { CIMAGE_INPUT_CHUNK = 65536, CIMAGE_BAND = 16, CIMAGE_SIDE = 65500 };

/* ---- Input: memory, or a file through one buffer ---- */

typedef struct {
  cimage_input source;
  uint64_t offset; /* of the next read */
  uint8_t *buffer; /* CIMAGE_INPUT_CHUNK bytes, for files */
  int error;       /* errno */
} cimage_reader;

cimage_status cimage_reader_open(cimage_reader *reader, const cimage_input *input);
void cimage_reader_close(cimage_reader *reader);
/* Returns at most `most` bytes, valid until the next call; *count is 0 at the end. */
cimage_status cimage_reader_next(cimage_reader *reader, size_t most, const uint8_t **bytes,
                                 size_t *count);

/* ---- Output: a growing malloc buffer ---- */

typedef struct {
  uint8_t *bytes;
  size_t count, capacity;
  uint64_t limit; /* 0: no limit */
} cimage_buffer;

/* Reserves capacity for `more` bytes after `count`. */
cimage_status cimage_buffer_reserve(cimage_buffer *buffer, size_t more);
cimage_status cimage_buffer_append(cimage_buffer *buffer, const void *bytes, size_t count);

/* ---- The rest ---- */

void cimage_say(cimage_message message, const char *text);
bool cimage_is_late(int64_t deadline_ns);
cimage_status cimage_judge(uint64_t width, uint64_t height, const cimage_limits *limits,
                           cimage_message message);

/* The common part of all decoders. The format supplies `start`, `read` and `destroy`. */
struct cimage_decoder {
  cimage_header header;
  cimage_limits limits;
  cimage_reader reader;
  cimage_pixels pixels;
  bool uses_high_bytes;
  cimage_status (*start)(cimage_decoder *, int eighths, uint32_t *, uint32_t *, cimage_message);
  cimage_status (*read)(cimage_decoder *, uint8_t *, size_t, uint32_t, uint32_t *, cimage_message);
  void (*destroy)(cimage_decoder *);
  /* Only of a stream. */
  cimage_status (*feed)(cimage_decoder *, const uint8_t *, size_t, cimage_message);
  cimage_status (*begin_pass)(cimage_decoder *, cimage_message);
  cimage_progress progress;
};

struct cimage_encoder {
  cimage_buffer output;
  cimage_pixels pixels;
  uint32_t width, height, written;
  int64_t deadline_ns;
  cimage_status (*write)(cimage_encoder *, const uint8_t *, size_t, uint32_t, cimage_message);
  cimage_status (*finish)(cimage_encoder *, cimage_message);
  void (*destroy)(cimage_encoder *);
};

#endif
