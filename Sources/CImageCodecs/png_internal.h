/* Wherry: declarations shared by the PNG files. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CIMAGE_PNG_INTERNAL_H
#define CIMAGE_PNG_INTERNAL_H

#include <png.h>

#include "internal.h"

/* The state after a libpng error; png_get_error_ptr returns it. */
typedef struct {
  cimage_status status; /* set before png_error if its message is too general */
  char text[192];
} cimage_png_errors;

/* For png_create_*_struct: stores the message and jumps. Warnings are ignored. */
PNG_NORETURN void cimage_png_fail(png_structp png, png_const_charp text);
void cimage_png_warn(png_structp png, png_const_charp text);
cimage_status cimage_png_failed(const cimage_png_errors *errors, cimage_message message);

#endif
