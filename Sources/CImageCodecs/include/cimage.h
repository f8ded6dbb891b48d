/* Wherry: JPEG and PNG coding over libjpeg-turbo and libpng, a band of rows at a time. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CIMAGE_H
#define CIMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every jmp_buf lives behind these functions: none of them calls back, so no frame of the caller
 * is ever between setjmp and longjmp. Nothing is printed and nothing aborts: a failing call answers
 * a status and leaves the codec's words in the caller's message buffer. Objects belong to one
 * thread at a time; different objects never share state. After a failure only _free may follow. */

typedef enum {
  CIMAGE_OK = 0,
  CIMAGE_CORRUPT = 1,       /* not what the format allows; libjpeg's warnings of damage included */
  CIMAGE_TRUNCATED = 2,     /* the input ends before the picture does */
  CIMAGE_UNSUPPORTED = 3,   /* 12 bit or lossless coding, an odd colour space; arithmetic
                             * coding where libjpeg was built without it */
  CIMAGE_TOO_LARGE = 4,     /* more pixels or a longer side than allowed */
  CIMAGE_MEMORY_LIMIT = 5,  /* would need more than max_memory */
  CIMAGE_NO_MEMORY = 6,     /* malloc answered NULL */
  CIMAGE_SCANS = 7,         /* more scans than allowed */
  CIMAGE_DEADLINE = 8,      /* the time given for this picture is over */
  CIMAGE_READ_FAILED = 9,   /* pread failed; the errno is in the object */
  CIMAGE_OUTPUT_LIMIT = 10, /* the encoded picture is longer than max_output */
  CIMAGE_ARGUMENT = 11      /* a call that makes no sense here */
} cimage_status;

typedef enum {
  CIMAGE_GRAY8 = 1,
  CIMAGE_RGB8 = 2,
  CIMAGE_RGBA8 = 3, /* alpha not premultiplied */
  CIMAGE_BGRA8 = 4, /* alpha not premultiplied */
  CIMAGE_YCBCR8 = 5 /* JPEG's own colours, one byte each, not subsampled */
} cimage_pixels;

/* Bytes of one pixel; 0 for an unknown format. */
size_t cimage_pixel_bytes(cimage_pixels pixels);

/* Where the codec's words go: `capacity` bytes, always ended by a zero. */
typedef struct {
  char *text;
  size_t capacity;
} cimage_message;

typedef struct {
  uint64_t max_pixels; /* width times height */
  uint32_t max_side;   /* at most 65500, what libjpeg takes */
  uint32_t max_scans;  /* of a JPEG */
  uint64_t max_memory; /* bytes of working memory, judged before it is asked for */
  int64_t deadline_ns; /* CLOCK_MONOTONIC; INT64_MAX for none */
} cimage_limits;

/* The encoded picture: `bytes`, or from its beginning the file `descriptor` where bytes is NULL.
 * Both must outlive the decoder. The descriptor's position is left alone. */
typedef struct {
  const uint8_t *bytes;
  size_t count;
  int descriptor;
} cimage_input;

typedef struct {
  uint32_t width, height;
  int32_t
      components;   /* as stored: 1 gray, 2 gray and alpha, 3 colour, 4 CMYK or colour and alpha */
  int32_t bits;     /* of one sample, as stored */
  int32_t natural;  /* cimage_pixels: what loses nothing but depth over 8 bits */
  bool is_ycbcr;    /* a JPEG that can be read as CIMAGE_YCBCR8 */
  bool is_cmyk;     /* read as RGB by arithmetic: its colour profile no longer fits */
  bool needs_whole; /* progressive or interlaced: held in memory as a whole while it is read */
  int32_t luma_h, luma_v; /* a JPEG's sampling factors where the chroma's are 1; else 0 */
  uint8_t density_unit;   /* of the JFIF header; 0 where there is none */
  uint16_t density_x, density_y;
} cimage_header;

/* ---- Reading -----------------------------------------------------------------------------------
 */

typedef struct cimage_decoder cimage_decoder;

/* Reads the header and judges the dimensions; no pixel memory is asked for. *out_errno is that of
 * CIMAGE_READ_FAILED, else 0. */
cimage_status cimage_jpeg_open(const cimage_input *input, const cimage_limits *limits,
                               cimage_decoder **out_decoder, int *out_errno,
                               cimage_message message);
cimage_status cimage_png_open(const cimage_input *input, const cimage_limits *limits,
                              cimage_decoder **out_decoder, int *out_errno,
                              cimage_message message);
void cimage_decoder_free(cimage_decoder *decoder);
cimage_header cimage_decoder_header(const cimage_decoder *decoder);
/* The errno of CIMAGE_READ_FAILED, else 0. */
int cimage_decoder_errno(const cimage_decoder *decoder);

/* The ICC profile of a PNG, lent by its decoder; NULL where there is none or libpng refuses it. */
const uint8_t *cimage_png_profile(const cimage_decoder *decoder, size_t *out_count);

/* Begins the pixels, in the natural format, in RGBA8, or in YCBCR8 where is_ycbcr. A JPEG can come
 * at `eighths`/8 of its size (1 to 8, cheaper the smaller); a PNG only at 8. */
cimage_status cimage_decoder_start(cimage_decoder *decoder, cimage_pixels pixels, int eighths,
                                   uint32_t *out_width, uint32_t *out_height,
                                   cimage_message message);
/* The next rows, at most `count`, each at a multiple of `stride`; *out_count is 0 only after the
 * last. Reading the last row also checks that the file ends as it should. */
cimage_status cimage_decoder_read(cimage_decoder *decoder, uint8_t *rows, size_t stride,
                                  uint32_t count, uint32_t *out_count, cimage_message message);

/* ---- Writing -----------------------------------------------------------------------------------
 */

typedef struct cimage_encoder cimage_encoder;

typedef struct {
  int quality;                /* 1 to 100 */
  int luma_h, luma_v;         /* 1 or 2 */
  bool optimize, progressive; /* both hold the coefficients of the whole picture */
  uint64_t max_memory;
  uint64_t max_output; /* bytes; 0 for no limit */
  int64_t deadline_ns;
  uint8_t density_unit;
  uint16_t density_x, density_y;
  const cimage_decoder *tables_from; /* a JPEG begun whose quantisation is taken over; or NULL */
  bool transpose_tables;             /* for a picture turned by a quarter */
  const uint8_t *segments;           /* complete APPn and COM segments, written behind JFIF */
  size_t segments_count;
} cimage_jpeg_options;

typedef struct {
  bool best; /* every filter and level 9; else the sub filter and level 1 */
  uint64_t max_output;
  int64_t deadline_ns;
  const uint8_t *profile; /* an ICC profile; one libpng finds fault with is left out */
  size_t profile_count;
  const uint8_t *chunks; /* complete ancillary chunks (length, type, data, CRC), before IDAT */
  size_t chunks_count;
} cimage_png_options;

/* JPEG takes every format and leaves alpha out; PNG takes all but YCBCR8. The options are copied
 * but for the bytes they point to, which must live until the first write has returned. */
cimage_status cimage_jpeg_begin(uint32_t width, uint32_t height, cimage_pixels pixels,
                                const cimage_jpeg_options *options, cimage_encoder **out_encoder,
                                cimage_message message);
cimage_status cimage_png_begin(uint32_t width, uint32_t height, cimage_pixels pixels,
                               const cimage_png_options *options, cimage_encoder **out_encoder,
                               cimage_message message);
/* The next `count` rows. More than the picture has is CIMAGE_ARGUMENT. */
cimage_status cimage_encoder_write(cimage_encoder *encoder, const uint8_t *rows, size_t stride,
                                   uint32_t count, cimage_message message);
/* The encoded picture, to be given to free(); all rows must have been written. */
cimage_status cimage_encoder_finish(cimage_encoder *encoder, uint8_t **out_bytes, size_t *out_count,
                                    cimage_message message);
void cimage_encoder_free(cimage_encoder *encoder);

/* ---- JPEG to JPEG without pixels ---------------------------------------------------------------
 */

/* Decodes to the stored, still subsampled planes and encodes those: no colour conversion and no
 * resampling of chroma, memory of a few rows. For 8 bit gray and YCbCr with `luma_h` in the header,
 * after _open and instead of _start. The options' sampling is ignored. */
cimage_status cimage_jpeg_recode_planes(cimage_decoder *decoder, const cimage_jpeg_options *options,
                                        uint8_t **out_bytes, size_t *out_count,
                                        cimage_message message);

/* Turns the coefficients upright from an EXIF orientation (1 leaves them as they are), without
 * loss: nothing is decoded further. Coefficients twice over are held in memory. */
cimage_status cimage_jpeg_turn(cimage_decoder *decoder, int orientation,
                               const cimage_jpeg_options *options, uint8_t **out_bytes,
                               size_t *out_count, cimage_message message);
/* Whether the picture ends on whole blocks where the turning puts its edges inside. */
bool cimage_jpeg_can_turn(const cimage_decoder *decoder, int orientation);
/* Rounds the coefficients to the quantisation of the options' quality: faster than planes, but all
 * coefficients are held in memory. */
cimage_status cimage_jpeg_requantise(cimage_decoder *decoder, const cimage_jpeg_options *options,
                                     uint8_t **out_bytes, size_t *out_count,
                                     cimage_message message);

#endif
