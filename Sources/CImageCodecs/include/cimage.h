/* Wherry: JPEG and PNG coding with libjpeg-turbo and libpng, a band of rows at a time, and decoding
 * of other formats with libraries that are loaded when they are needed. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CIMAGE_H
#define CIMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All setjmp and longjmp calls stay behind these functions. No function calls back, so a
 * caller's frame is never between setjmp and longjmp. Nothing here prints or aborts: a failing call
 * returns a status and writes the codec's message into the caller's buffer. However, the codecs of
 * libheif can print: dav1d, for example, reports some damaged AVIF images on standard error. An
 * object belongs to one thread at a time; different objects share no state. After a failure only
 * _free may follow. */

typedef enum {
  CIMAGE_OK = 0,
  CIMAGE_CORRUPT = 1,       /* violates the format; includes libjpeg's warnings about damaged
                             * data */
  CIMAGE_TRUNCATED = 2,     /* the input ends before the image does */
  CIMAGE_UNSUPPORTED = 3,   /* 12-bit or lossless coding, an unusual color space, or arithmetic
                             * coding if libjpeg was built without it */
  CIMAGE_TOO_LARGE = 4,     /* too many pixels, or a side is too long */
  CIMAGE_MEMORY_LIMIT = 5,  /* needs more than max_memory */
  CIMAGE_NO_MEMORY = 6,     /* malloc failed */
  CIMAGE_SCANS = 7,         /* more than max_scans */
  CIMAGE_DEADLINE = 8,      /* the deadline has passed */
  CIMAGE_READ_FAILED = 9,   /* pread failed; the errno is in the object */
  CIMAGE_OUTPUT_LIMIT = 10, /* the output exceeds max_output */
  CIMAGE_ARGUMENT = 11,     /* invalid call */
  CIMAGE_NO_LIBRARY = 12    /* the library of the format is not installed, or lacks a function */
} cimage_status;

typedef enum {
  CIMAGE_GRAY8 = 1,
  CIMAGE_RGB8 = 2,
  CIMAGE_RGBA8 = 3, /* alpha not premultiplied */
  CIMAGE_BGRA8 = 4, /* alpha not premultiplied */
  CIMAGE_YCBCR8 = 5 /* JPEG's native colors, one byte each, not subsampled */
} cimage_pixels;

/* Bytes per pixel; 0 for an unknown format. */
size_t cimage_pixel_bytes(cimage_pixels pixels);

/* Receives the codec's message: `capacity` bytes, always zero-terminated. */
typedef struct {
  char *text;
  size_t capacity;
} cimage_message;

typedef struct {
  uint64_t max_pixels; /* width times height */
  uint32_t max_side;   /* at most 65500, libjpeg's limit */
  uint32_t max_scans;  /* for a JPEG */
  uint64_t max_memory; /* bytes of working memory, checked before each allocation */
  int64_t deadline_ns; /* CLOCK_MONOTONIC; INT64_MAX for no deadline */
} cimage_limits;

/* The encoded image: `bytes`, or the file `descriptor` from its start if bytes is NULL. Both
 * must outlive the decoder. The file position is not changed. */
typedef struct {
  const uint8_t *bytes;
  size_t count;
  int descriptor;
} cimage_input;

typedef struct {
  uint32_t width, height;
  int32_t components; /* as stored: 1 gray, 2 gray and alpha, 3 color, 4 CMYK or color and alpha */
  int32_t bits;       /* bits per sample, as stored */
  int32_t natural;    /* cimage_pixels: the format that loses only depth above 8 bits */
  bool is_ycbcr;      /* a JPEG that supports CIMAGE_YCBCR8 */
  bool is_cmyk;       /* converted to RGB without its color profile, which no longer fits */
  bool needs_whole;   /* progressive or interlaced: the decoder holds the whole image in memory */
  bool is_animated;   /* has several frames, of which the first one is decoded; not for a PNG */
  int32_t luma_h, luma_v; /* a JPEG's luma sampling factors if the chroma's are 1; else 0 */
  uint8_t density_unit;   /* from the JFIF header; 0 if it has none */
  uint16_t density_x, density_y;
} cimage_header;

/* ---- Reading -----------------------------------------------------------------------------------
 */

typedef struct cimage_decoder cimage_decoder;

/* Reads the header and checks the dimensions; allocates no pixel memory. *out_errno is the errno
 * of CIMAGE_READ_FAILED, else 0. */
cimage_status cimage_jpeg_open(const cimage_input *input, const cimage_limits *limits,
                               cimage_decoder **out_decoder, int *out_errno,
                               cimage_message message);
cimage_status cimage_png_open(const cimage_input *input, const cimage_limits *limits,
                              cimage_decoder **out_decoder, int *out_errno, cimage_message message);

/* The formats that a library of the system decodes. */
typedef enum {
  CIMAGE_WEBP = 1, /* libwebp */
  CIMAGE_HEIF = 2, /* HEIC and AVIF: libheif, which turns images upright */
  CIMAGE_GIF = 3   /* giflib */
} cimage_library;

/* Loads the library if necessary, reads the header, and checks the dimensions. `bytes` must outlive
 * the decoder, which holds the whole image in memory after _start. Without `limits` (NULL), any
 * dimensions are accepted, and the decoder cannot be started. */
cimage_status cimage_library_open(cimage_library library, const uint8_t *bytes, size_t count,
                                  const cimage_limits *limits, cimage_decoder **out_decoder,
                                  cimage_message message);
/* The EXIF block (a TIFF structure) and the ICC profile of an image that cimage_library_open
 * opened, owned by the decoder; NULL if there is none. */
const uint8_t *cimage_library_exif(const cimage_decoder *decoder, size_t *out_count);
const uint8_t *cimage_library_profile(const cimage_decoder *decoder, size_t *out_count);

void cimage_decoder_free(cimage_decoder *decoder);
cimage_header cimage_decoder_header(const cimage_decoder *decoder);
/* The errno of CIMAGE_READ_FAILED, else 0. */
int cimage_decoder_errno(const cimage_decoder *decoder);

/* The ICC profile of a PNG, owned by the decoder; NULL if there is none or libpng rejects it. */
const uint8_t *cimage_png_profile(const cimage_decoder *decoder, size_t *out_count);

/* Makes 16-bit samples of a PNG their high bytes instead of rounding them. Call it before _start.
 */
void cimage_decoder_use_high_bytes(cimage_decoder *decoder);

/* Starts decoding in the natural format, in RGBA8, or in YCBCR8 if is_ycbcr. A JPEG can be
 * decoded at `eighths`/8 of its size (1 to 8; smaller is cheaper), other formats only at 8. */
cimage_status cimage_decoder_start(cimage_decoder *decoder, cimage_pixels pixels, int eighths,
                                   uint32_t *out_width, uint32_t *out_height,
                                   cimage_message message);
/* Decodes at most `count` rows, `stride` bytes apart; *out_count is 0 only after the last row.
 * Reading the last row also checks that the file ends correctly. */
cimage_status cimage_decoder_read(cimage_decoder *decoder, uint8_t *rows, size_t stride,
                                  uint32_t count, uint32_t *out_count, cimage_message message);

/* ---- Reading while the bytes arrive ------------------------------------------------------------
 */

/* What a decoder has read of the bytes so far. */
typedef struct {
  bool has_header;  /* cimage_decoder_header is valid */
  bool is_complete; /* the image has ended; later bytes are ignored */
  uint32_t passes;  /* complete scans of a JPEG; the last complete pass of a PNG, 1 to 7 */
} cimage_progress;

/* Opens a JPEG or PNG whose bytes arrive in pieces. Only for images that need_whole: the header of
 * another image is read, but not its pixels. */
cimage_status cimage_jpeg_open_stream(const cimage_limits *limits, cimage_decoder **out_decoder,
                                      cimage_message message);
cimage_status cimage_png_open_stream(const cimage_limits *limits, cimage_decoder **out_decoder,
                                     cimage_message message);
/* Decodes the next bytes as far as possible, and keeps a copy of the rest. A JPEG stops after its
 * header until _start has been called. CIMAGE_DEADLINE if this takes longer than `deadline_ns`,
 * which replaces that of the limits, also for _read. */
cimage_status cimage_decoder_feed(cimage_decoder *decoder, const uint8_t *bytes, size_t count,
                                  int64_t deadline_ns, cimage_progress *out_progress,
                                  cimage_message message);
/* After cimage_decoder_start: makes cimage_decoder_read return all rows of the image from the first
 * one, as its complete passes show it. Call it once for each number of passes above 0, and read all
 * rows before the next call of another function. Of an incomplete JPEG, the edges of blocks are
 * smoothed; pixels of an incomplete PNG are repeated. */
cimage_status cimage_decoder_begin_pass(cimage_decoder *decoder, cimage_message message);

/* ---- Writing -----------------------------------------------------------------------------------
 */

typedef struct cimage_encoder cimage_encoder;

typedef struct {
  int quality;                /* 1 to 100 */
  int luma_h, luma_v;         /* 1 or 2 */
  bool optimize, progressive; /* either one holds the coefficients of the whole image */
  /* Chooses quantization, levels, and scans for the fewest bytes; holds all coefficients, too.
   * Ignored with tables_from, and by the functions that copy coefficients or planes unchanged. */
  bool smallest;
  uint64_t max_memory;
  uint64_t max_output; /* bytes; 0 for no limit */
  int64_t deadline_ns;
  uint8_t density_unit;
  uint16_t density_x, density_y;
  const cimage_decoder *tables_from; /* a started JPEG decoder whose quantization to use; or NULL */
  bool transpose_tables;             /* for an image turned by 90 degrees */
  const uint8_t *segments;           /* complete APPn and COM segments, written after JFIF */
  size_t segments_count;
} cimage_jpeg_options;

typedef struct {
  bool best; /* all filters and level 9; otherwise the sub filter and level 1 */
  uint64_t max_output;
  int64_t deadline_ns;
  const uint8_t *profile; /* an ICC profile; left out if libpng rejects it */
  size_t profile_count;
  const uint8_t *chunks; /* complete ancillary chunks (length, type, data, CRC), before IDAT */
  size_t chunks_count;
} cimage_png_options;

/* JPEG accepts every format and ignores alpha; PNG accepts all except YCBCR8. Copies the
 * options, but not the bytes they point to, which must live until the first write returns. */
cimage_status cimage_jpeg_begin(uint32_t width, uint32_t height, cimage_pixels pixels,
                                const cimage_jpeg_options *options, cimage_encoder **out_encoder,
                                cimage_message message);
cimage_status cimage_png_begin(uint32_t width, uint32_t height, cimage_pixels pixels,
                               const cimage_png_options *options, cimage_encoder **out_encoder,
                               cimage_message message);
/* Encodes the next `count` rows. CIMAGE_ARGUMENT if the image has fewer. */
cimage_status cimage_encoder_write(cimage_encoder *encoder, const uint8_t *rows, size_t stride,
                                   uint32_t count, cimage_message message);
/* Returns the encoded image, to be released with free(). All rows must have been written. */
cimage_status cimage_encoder_finish(cimage_encoder *encoder, uint8_t **out_bytes, size_t *out_count,
                                    cimage_message message);
void cimage_encoder_free(cimage_encoder *encoder);

/* ---- JPEG to JPEG without pixels ---------------------------------------------------------------
 */

/* Decodes to the stored, subsampled planes and encodes those, without color conversion or
 * resampling of chroma. Needs memory for a few rows. For 8-bit gray and YCbCr with `luma_h` in
 * the header. Call it after _open instead of _start. Ignores the sampling options. */
cimage_status cimage_jpeg_recode_planes(cimage_decoder *decoder, const cimage_jpeg_options *options,
                                        uint8_t **out_bytes, size_t *out_count,
                                        cimage_message message);

/* Losslessly turns the coefficients upright from an EXIF orientation (1 leaves them unchanged).
 * Holds all coefficients twice in memory. */
cimage_status cimage_jpeg_turn(cimage_decoder *decoder, int orientation,
                               const cimage_jpeg_options *options, uint8_t **out_bytes,
                               size_t *out_count, cimage_message message);
/* Whether the image can be turned without loss: edges that move inside must end on whole blocks. */
bool cimage_jpeg_can_turn(const cimage_decoder *decoder, int orientation);
/* Rounds the coefficients to the quantization of the options' quality. Faster than planes, but
 * holds all coefficients in memory. */
cimage_status cimage_jpeg_requantise(cimage_decoder *decoder, const cimage_jpeg_options *options,
                                     uint8_t **out_bytes, size_t *out_count,
                                     cimage_message message);

#endif
