/* Wherry: a libcurl that says that it is too old, for LD_PRELOAD
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

/* The first members of curl_version_info_data, which no version of libcurl changes. */
static const struct {
  int age;
  const char *version;
  unsigned version_num;
  const char *rest[32];
} info = {10, "7.87.0", 0x075700, {NULL}};

const void *curl_version_info(int age) {
  (void)age;
  return &info;
}
