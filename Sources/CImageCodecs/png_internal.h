/* Wherry: what the PNG files share. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CIMAGE_PNG_INTERNAL_H
#define CIMAGE_PNG_INTERNAL_H

#include <png.h>

#include "internal.h"

/* What a libpng failure leaves behind; png_get_error_ptr answers it. */
typedef struct {
  cimage_status status; /* set before png_error where its words do not tell */
  char text[192];
} cimage_png_errors;

/* For png_create_*_struct: keeps the words and jumps; keeps silent about warnings. */
PNG_NORETURN void cimage_png_fail(png_structp png, png_const_charp text);
void cimage_png_warn(png_structp png, png_const_charp text);
cimage_status cimage_png_failed(const cimage_png_errors *errors, cimage_message message);

#endif
