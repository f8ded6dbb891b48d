/* Wherry: the stacks of threads, from C
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each test runs a program (life/stack_child.c) whose first call is on a small thread. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "check.h"
#include "pictures.h"
#include "program.h"
#include "server.h"

static const char *image_file(void) {
  size_t count;
  const uint8_t *bytes = picture_jpeg(1200, 900, 90, &count);
  check_write_file(check_path("a.jpg"), bytes, count);
  return check_path("a.jpg");
}

/* Debug builds and sanitizers need larger stacks. */
static bool has_usual_frames(void) {
  if (getenv("WHERRY_TEST_INSTRUMENTED") == NULL) return true;
  printf("  skipped: an instrumented program needs more stack\n");
  return false;
}

static void call(const char *kind, const char *kib, const char *url, const char *file) {
  program child = program_run(WHERRY_LIFE "/stack_child", kind, kib, url, file, NULL);
  if (!CHECK_INT(child.code, 0)) printf("  %s %s %s: %s\n", kind, kib, url, child.err);
}

TEST("M12 a thread with a stack of 64 KiB may make any call") {
  if (!has_usual_frames()) return;
  const char *image = image_file();
  const char *kinds[] = {"nothing", "json", "compress", "decode", "get",
                         "perform", "send", "pages",    "upload"};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    call(kinds[i], "64", server_url("/echo"), image);
  call("download", "64", server_url("/bytes/3000000"), check_path("download"));
  const char *with_tls[] = {"perform", "send", "pages"};
  for (size_t i = 0; i < 3; i++) call(with_tls[i], "64", server_tls_url("/echo"), "");
}

/* Library threads had the stack limit of the process: nested JSON was refused with a small limit,
 * and no thread started with a large one. */
TEST("M12 the library's threads do not depend on the stack limit of the process") {
  if (!has_usual_frames()) return;
  enum { LEVELS = 400 };
  char *nested = check_memory(2 * LEVELS + 1);
  memset(nested, '[', LEVELS);
  memset(nested + LEVELS, ']', LEVELS);
  server_script(check_format("{\"deep\": [{\"json\": {\"headers\": [%s]}}]}", nested));
  const char *image = image_file();
  const rlim_t limits[] = {64 << 10, 256 << 10, 1 << 30, RLIM_INFINITY};
  struct rlimit old;
  REQUIRE_INT(getrlimit(RLIMIT_STACK, &old), 0);
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    struct rlimit limit = {limits[i], old.rlim_max};
    if (limits[i] > old.rlim_max) continue;
    REQUIRE_INT(setrlimit(RLIMIT_STACK, &limit), 0);
    call("pages", "1000", server_url("/s/deep"), "");
    call("send", "64", server_tls_url("/echo"), "");
    call("upload", "64", server_url("/echo"), image);
    call("download", "64", server_url("/bytes/3000000"), check_path("%zu", i));
    REQUIRE_INT(setrlimit(RLIMIT_STACK, &old), 0);
  }
}
