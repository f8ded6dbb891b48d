/* Wherry: rules SEC-A10 and SEC-A13, from C: a program that loads the library while it runs
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "program.h"
#include "server.h"

/* The file of the tested library. */
static const char *library(void) {
  Dl_info info;
  REQUIRE(dladdr((void *)(uintptr_t)wherry_library_version, &info) != 0);
  return info.dli_fname;
}

/* Runs load_child; returns the descriptors, threads, and bytes that it prints. */
static void load(int times, long *descriptors, long *threads, long *bytes) {
  program child = program_run(WHERRY_LIFE "/load_child", library(), server_url("/echo"),
                              check_format("%d", times), NULL);
  REQUIRE_INT(child.code, 0);
  CHECK_TEXT(child.err, "");
  REQUIRE_INT(
      sscanf(child.out, "descriptors %ld threads %ld bytes %ld", descriptors, threads, bytes), 3);
}

TEST("SEC-A10 loading and unloading the library 200 times, with requests, adds nothing") {
  if (getenv("WHERRY_TEST_INSTRUMENTED") != NULL) {
    printf("  skipped: SwiftPM builds the instrumented library, without nodelete\n");
    return;
  }
  long descriptors, threads, bytes;
  load(check_in_full() ? 2000 : 200, &descriptors, &threads, &bytes);
  CHECK_INT(descriptors, 0);
  CHECK_INT(threads, 0);
  CHECK(bytes < 20000);
}

TEST("SEC-A10 a loaded library has no thread and no descriptor before the first client") {
  long descriptors, threads, bytes;
  load(0, &descriptors, &threads, &bytes);
  CHECK_INT(descriptors, 0);
  CHECK_INT(threads, 0);
}

/* A libcurl older than 7.85 ignored that only http and https are allowed. */
TEST("R16 a libcurl that is too old is reported when the client is created") {
  if (getenv("LD_PRELOAD") != NULL) {
    wherry_client *client = NULL;
    CHECK_FAILS(wherry_client_new(NULL, &client), WHERRY_E_FILE, "old_libcurl");
    CHECK_HOLDS(wherry_error_message(wherry_last_error()),
                "Could not use libcurl 7.87.0: it is too old. Install version 7.88");
    return;
  }
  if (getenv("WHERRY_TEST_INSTRUMENTED") != NULL) {
    printf("  skipped: a sanitizer must be loaded first\n");
    return;
  }
  char own[4096];
  ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
  REQUIRE(length > 0);
  own[length] = '\0';
  REQUIRE_INT(setenv("LD_PRELOAD", WHERRY_LIFE "/libold_curl.so", 1), 0);
  program child = program_start(own, (const char *const[]){"a libcurl that is too old", NULL});
  REQUIRE_INT(unsetenv("LD_PRELOAD"), 0);
  program_wait(&child);
  CHECK_INT(child.code, 0);
  CHECK_HOLDS(child.out, "1 tests, 0 failed");
}
