/* Wherry: decoding of the first frame of GIF images with giflib. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "library_internal.h"

/* The part of giflib's gif_lib.h that is used. */

typedef struct {
  uint8_t red, green, blue;
} gif_color;

typedef struct {
  int count, bits;
  bool is_sorted;
  gif_color *colors;
} gif_color_map;

typedef struct {
  int left, top, width, height;
  bool is_interlaced;
  gif_color_map *colors;
} gif_image;

typedef struct {
  int width, height, color_resolution, background;
  uint8_t aspect;
  gif_color_map *colors;
  int image_count;
  gif_image image;
  void *saved_images;
  int extension_count;
  void *extensions;
  int error;
  void *user_data;
  void *internals;
} gif_file;

enum { GIF_OK = 1, GIF_IMAGE = 2, GIF_EXTENSION = 3 };
enum { GIF_READ_FAILED = 102, GIF_NO_MEMORY = 109, GIF_ENDS_TOO_SOON = 113 };

static gif_file *(*gif_open)(void *, int (*)(gif_file *, uint8_t *, int), int *);
static int (*gif_close)(gif_file *, int *);
static int (*gif_record_type)(gif_file *, int *);
static int (*gif_image_header)(gif_file *);
static int (*gif_line)(gif_file *, uint8_t *, int);
static int (*gif_extension)(gif_file *, int *, uint8_t **);
static int (*gif_extension_next)(gif_file *, uint8_t **);

static bool load(void) {
  static bool is_loaded;
  const cimage_function functions[] = {
      {"DGifOpen", (void **)&gif_open},
      {"DGifCloseFile", (void **)&gif_close},
      {"DGifGetRecordType", (void **)&gif_record_type},
      {"DGifGetImageDesc", (void **)&gif_image_header},
      {"DGifGetLine", (void **)&gif_line},
      {"DGifGetExtension", (void **)&gif_extension},
      {"DGifGetExtensionNext", (void **)&gif_extension_next},
      {NULL, NULL},
  };
  return cimage_library_load("libgif.so.7", functions, &is_loaded);
}

static cimage_status failed(int code, cimage_message message) {
  switch (code) {
    case GIF_NO_MEMORY:
      return CIMAGE_NO_MEMORY;
    case GIF_READ_FAILED:
    case GIF_ENDS_TOO_SOON:
      cimage_say(message, "the file ends before its image");
      return CIMAGE_TRUNCATED;
    default:
      cimage_say(message, "giflib cannot decode it");
      return CIMAGE_CORRUPT;
  }
}

/* ---- Header ---- */

/* What the blocks of the file say, without decoding. */
typedef struct {
  uint32_t width, height; /* of the canvas */
  uint32_t left, top, frame_width, frame_height;
  int transparent; /* index of the transparent color of the first frame; -1 if it has none */
  uint32_t frames; /* at most 2 are counted */
} gif_layout;

static size_t color_bytes(uint8_t flags) {
  return flags & 0x80 ? (size_t)3 << ((flags & 7) + 1) : 0;
}

/* Returns the offset after the sub-blocks at `at`, which is beyond the end if the file is
 * truncated. */
static size_t skip_blocks(const uint8_t *bytes, size_t count, size_t at) {
  while (at < count) {
    size_t size = bytes[at];
    at += 1 + size;
    if (size == 0) return at;
  }
  return count + 1;
}

static cimage_status read_layout(const uint8_t *bytes, size_t count, gif_layout *layout,
                                 cimage_message message) {
  enum { HEADER = 13, IMAGE = 10, CONTROL = 8 };
  *layout = (gif_layout){.transparent = -1};
  if (count < HEADER) return failed(GIF_ENDS_TOO_SOON, message);
  layout->width = cimage_le16(bytes + 6);
  layout->height = cimage_le16(bytes + 8);
  int transparent = -1;
  size_t at = HEADER + color_bytes(bytes[10]);
  while (at < count && layout->frames < 2) {
    if (bytes[at] == 0x21) {
      if (count - at < 2) at = count;
      if (at == count) break;
      /* A graphic control extension: label F9, four bytes. */
      if (bytes[at + 1] == 0xF9 && count - at >= CONTROL && bytes[at + 2] == 4) {
        transparent = bytes[at + 3] & 1 ? bytes[at + 6] : -1;
      }
      at = skip_blocks(bytes, count, at + 2);
    } else if (bytes[at] == 0x2C) {
      if (count - at < IMAGE) at = count;
      if (at == count) break;
      if (layout->frames == 0) {
        layout->left = cimage_le16(bytes + at + 1);
        layout->top = cimage_le16(bytes + at + 3);
        layout->frame_width = cimage_le16(bytes + at + 5);
        layout->frame_height = cimage_le16(bytes + at + 7);
        layout->transparent = transparent;
      }
      layout->frames++;
      transparent = -1;
      at = skip_blocks(bytes, count, at + IMAGE + color_bytes(bytes[at + 9]) + 1);
    } else {
      break; /* the trailer, or garbage after the images */
    }
  }
  if (layout->width == 0 || layout->height == 0) {
    layout->width = layout->left + layout->frame_width;
    layout->height = layout->top + layout->frame_height;
  }
  if (layout->frames > 0) return CIMAGE_OK;
  if (at >= count) return failed(GIF_ENDS_TOO_SOON, message);
  cimage_say(message, "the file has no image");
  return CIMAGE_CORRUPT;
}

/* ---- Decoding ---- */

typedef struct {
  const uint8_t *bytes;
  size_t left;
} gif_input;

static int read_input(gif_file *file, uint8_t *to, int count) {
  gif_input *input = file->user_data;
  size_t got = count < 0 ? 0 : (size_t)count < input->left ? (size_t)count : input->left;
  memcpy(to, input->bytes, got);
  input->bytes += got;
  input->left -= got;
  return (int)got;
}

/* Writes the pixels of a row of the frame that are on the canvas. */
static void put_line(cimage_held_decoder *decoder, const gif_layout *layout,
                     const gif_color_map *map, uint32_t y, const uint8_t *line) {
  const cimage_header *header = &decoder->base.header;
  if (layout->top + y >= header->height || layout->left >= header->width) return;
  size_t size = cimage_pixel_bytes(decoder->base.pixels);
  uint32_t count = header->width - layout->left;
  if (count > layout->frame_width) count = layout->frame_width;
  uint8_t *to = decoder->owned + (layout->top + y) * decoder->stride + layout->left * size;
  for (uint32_t x = 0; x < count; x++, to += size) {
    int index = line[x];
    if (index == layout->transparent) continue;
    if (index < map->count) memcpy(to, &map->colors[index], 3);
    if (size == 4) to[3] = 255;
  }
}

/* Decodes the rows of the frame, at which the file stands. */
static cimage_status decode_frame(cimage_held_decoder *decoder, const gif_layout *layout,
                                  gif_file *file, cimage_message message) {
  static const uint32_t starts[] = {0, 4, 2, 1}, steps[] = {8, 8, 4, 2};
  if (gif_image_header(file) != GIF_OK) return failed(file->error, message);
  const gif_color_map *map = file->image.colors != NULL ? file->image.colors : file->colors;
  if (map == NULL) {
    cimage_say(message, "it has no colors");
    return CIMAGE_CORRUPT;
  }
  if (file->image.width != (int)layout->frame_width ||
      file->image.height != (int)layout->frame_height) {
    cimage_say(message, "its frame has another size than declared");
    return CIMAGE_CORRUPT;
  }
  uint8_t *line = malloc(layout->frame_width);
  if (line == NULL) return CIMAGE_NO_MEMORY;
  cimage_status status = CIMAGE_OK;
  bool interlaced = file->image.is_interlaced;
  for (int pass = 0; pass < (interlaced ? 4 : 1) && status == CIMAGE_OK; pass++) {
    uint32_t step = interlaced ? steps[pass] : 1;
    for (uint32_t y = interlaced ? starts[pass] : 0; y < layout->frame_height; y += step) {
      if (cimage_is_late(decoder->base.limits.deadline_ns)) {
        status = CIMAGE_DEADLINE;
      } else if (gif_line(file, line, (int)layout->frame_width) != GIF_OK) {
        status = failed(file->error, message);
      }
      if (status != CIMAGE_OK) break;
      put_line(decoder, layout, map, y, line);
    }
  }
  free(line);
  return status;
}

static cimage_status decode(cimage_held_decoder *decoder, cimage_message message) {
  gif_layout layout;
  cimage_status status = read_layout(decoder->bytes, decoder->count, &layout, message);
  if (status == CIMAGE_OK) status = cimage_held_reserve(decoder, 0, message);
  if (status != CIMAGE_OK) return status;
  gif_input input = {decoder->bytes, decoder->count};
  int code = 0;
  gif_file *file = gif_open(&input, read_input, &code);
  if (file == NULL) return failed(code, message);
  int type = 0;
  while (status == CIMAGE_OK) {
    if (gif_record_type(file, &type) != GIF_OK) {
      status = failed(file->error, message);
    } else if (type == GIF_IMAGE) {
      status = decode_frame(decoder, &layout, file, message);
      break;
    } else if (type == GIF_EXTENSION) {
      uint8_t *block;
      int result = gif_extension(file, &code, &block);
      while (result == GIF_OK && block != NULL) result = gif_extension_next(file, &block);
      if (result != GIF_OK) status = failed(file->error, message);
    } else {
      status = failed(GIF_ENDS_TOO_SOON, message);
    }
  }
  gif_close(file, &code);
  return status;
}

cimage_status cimage_gif_describe(cimage_held_decoder *decoder, cimage_message message) {
  if (!load()) {
    cimage_say(message,
               "GIF images need giflib. Install it, for example with: apt install libgif7");
    return CIMAGE_NO_LIBRARY;
  }
  gif_layout layout;
  cimage_status status = read_layout(decoder->bytes, decoder->count, &layout, message);
  if (status != CIMAGE_OK) return status;
  cimage_header *header = &decoder->base.header;
  header->width = layout.width;
  header->height = layout.height;
  header->components = 1;
  header->is_animated = layout.frames > 1;
  bool covers = layout.left == 0 && layout.top == 0 && layout.frame_width >= layout.width &&
                layout.frame_height >= layout.height;
  header->natural = covers && layout.transparent < 0 ? CIMAGE_RGB8 : CIMAGE_RGBA8;
  decoder->decode = decode;
  return CIMAGE_OK;
}
