/* Wherry: rules SEC-A13 and SEC-A15, from C: other users of libcurl and of Swift in one process
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "program.h"
#include "server.h"

/* The file of the tested library. */
static const char *library(void) {
  Dl_info info;
  REQUIRE(dladdr((void *)(uintptr_t)wherry_library_version, &info) != 0);
  return info.dli_fname;
}

TEST("SEC-A13 other code may use any build of libcurl before, during, and after Wherry's life") {
  const char *builds[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"};
  const char *orders[] = {"before", "after"};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 2; j++) {
      program child = program_run(WHERRY_LIFE "/curl_child", orders[j], builds[i], library(),
                                  server_url("/echo"), server_tls_url("/echo"), NULL);
      if (child.code == 77) printf("  skipped: %s is not installed\n", builds[i]);
      else if (!CHECK_INT(child.code, 0)) printf("  %s %s: %s\n", orders[j], builds[i], child.err);
    }
}

TEST("SEC-A15 a Swift program with its own Swift runtime may link or load the library") {
#ifdef WHERRY_SWIFT_CHILD
  const char *names[] = {"linked_dynamic", "linked_static", "loaded_dynamic", "loaded_static"};
  for (int i = 0; i < 4; i++) {
    program child =
        program_run(check_format(WHERRY_LIFE "/swift_child_%s", names[i]), server_url("/echo"),
                    strstr(names[i], "loaded") ? library() : NULL, NULL);
    if (!CHECK_INT(child.code, 0)) printf("  %s: %s\n", names[i], child.out);
  }
#else
  printf("  skipped: swiftc is missing, or the library is instrumented\n");
#endif
}
