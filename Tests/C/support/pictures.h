/* Wherry: small images for C tests, made by libjpeg and libpng themselves
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef PICTURES_H
#define PICTURES_H

#include <stddef.h>
#include <stdint.h>

/* RGB rows of an image with edges and a gradient, freed with the test. */
uint8_t *picture_pixels(int width, int height);
/* Such an image as the bytes of a file; quality as in libjpeg. */
uint8_t *picture_jpeg(int width, int height, int quality, size_t *out_count);
uint8_t *picture_png(int width, int height, size_t *out_count);
/* The JPEG with an EXIF block with this orientation and a location. */
uint8_t *picture_with_exif(const uint8_t *jpeg, size_t count, int orientation, size_t *out_count);
/* The RGB rows of a JPEG or PNG file; NULL if it is neither. */
uint8_t *picture_decode(const void *bytes, size_t count, int *out_width, int *out_height);
/* The RGBA rows of a PNG or JPEG file; NULL if it is neither. */
uint8_t *picture_decode_rgba(const void *bytes, size_t count, int *out_width, int *out_height);
/* Writes a JPEG of gray stripes into a file, row by row. */
void picture_write_large(const char *path, int width, int height);

#endif
