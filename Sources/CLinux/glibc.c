/* Wherry: a function of glibc whose symbol version is newer than the systems that Wherry runs on. Only for CMake. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

/* The Swift runtime refers to hypotf, which has a new version in glibc 2.35. With a definition of
 * our own, the library also runs with glibc 2.34. A double holds the squares without overflow. */
float hypotf(float x, float y) {
  if (isinf(x) || isinf(y)) return INFINITY;
  return (float)sqrt((double)x * x + (double)y * y);
}
