/* Wherry: few descriptors, little memory, and missing folders, from C
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"
#include "program.h"
#include "server.h"

enum { AT_ONCE = 50 };

TEST("DR18 fifty requests at once with 32 descriptors wait or report the limit, and recover") {
  wherry_config *config = new_config();
  REQUIRE_OK(wherry_config_set_option(config, WHERRY_OPTION_MAX_PER_HOST, AT_ONCE));
  REQUIRE_OK(wherry_config_set_option(config, WHERRY_OPTION_MAX_CONNECTIONS, AT_ONCE));
  REQUIRE_OK(wherry_config_set_option(config, WHERRY_OPTION_CONNECT_TIMEOUT_MS, 500));
  wherry_client *client = new_client(config);
  wherry_queue *queue = new_queue();
  const char *url = server_url("/bytes/1000?gate=g");
  struct rlimit old;
  REQUIRE_INT(getrlimit(RLIMIT_NOFILE, &old), 0);
  for (int round = 0; round < 3; round++) {
    struct rlimit limit = {32, old.rlim_max};
    REQUIRE_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (int i = 0; i < AT_ONCE; i++) send_request(client, new_request("GET", url), queue, NULL);
    /* Without connections to reuse, the first round fills the table of descriptors. */
    int failures = 0, count = 0;
    for (; round == 0 && failures == 0; count++) {
      outcome got = next_done(queue);
      failures += got.status != WHERRY_OK;
      CHECK_TEXT(got.reason, "too_many_files");
      CHECK_HOLDS(got.message, "ulimit -n");
    }
    REQUIRE_INT(setrlimit(RLIMIT_NOFILE, &old), 0);
    server_open("g");
    for (; count < AT_ONCE; count++) {
      outcome got = next_done(queue);
      if (got.status != WHERRY_OK) CHECK_TEXT(got.reason, "too_many_files");
    }
    CHECK_STATUS(perform(client, new_request("GET", url)).status, WHERRY_OK);
  }
}

TEST("DR18 a client without descriptors is refused with the limit, and a later one works") {
  const char *url = server_url("/empty");
  struct rlimit old;
  REQUIRE_INT(getrlimit(RLIMIT_NOFILE, &old), 0);
  for (int more = 0; more < 8; more++) {
    wherry_client *client = NULL;
    struct rlimit limit = {(rlim_t)(check_descriptors() + more), old.rlim_max};
    REQUIRE_INT(setrlimit(RLIMIT_NOFILE, &limit), 0);
    wherry_status status = wherry_client_new(NULL, &client);
    REQUIRE_INT(setrlimit(RLIMIT_NOFILE, &old), 0);
    if (status == WHERRY_OK) {
      CHECK_STATUS(perform(client, new_request("GET", url)).status, WHERRY_OK);
      CHECK_OK(wherry_client_free(client));
    } else {
      CHECK_STATUS(status, WHERRY_E_LIMIT);
      CHECK_TEXT(wherry_error_reason(wherry_last_error()), "too_many_files");
      CHECK_HOLDS(wherry_error_message(wherry_last_error()), "ulimit -n");
    }
  }
}

TEST("fifty requests at once with little memory succeed or report it, and later ones succeed") {
  if (getenv("WHERRY_TEST_INSTRUMENTED") != NULL) {
    printf("  skipped: an instrumented program reserves more memory\n");
    return;
  }
  static const struct {
    int size, megabytes, at_least, at_most;
  } cases[] = {{1000, 512, AT_ONCE, AT_ONCE},
               {5000000, 512, AT_ONCE, AT_ONCE},
               {20000000, 512, 1, AT_ONCE - 1},
               {1000, 100, AT_ONCE, AT_ONCE},
               {3000000, 100, 1, AT_ONCE - 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int succeeded = -1, failed = -1;
    program child =
        program_run(WHERRY_LIFE "/crowd_child", server_url("/bytes/%d", cases[i].size),
                    check_format("%d", AT_ONCE), check_format("%d", cases[i].megabytes), NULL);
    CHECK_INT(child.code, 0);
    CHECK_TEXT(child.err, "");
    REQUIRE_INT(sscanf(child.out, "%d succeeded, %d had no memory", &succeeded, &failed), 2);
    CHECK_INT(succeeded + failed, AT_ONCE);
    CHECK(succeeded >= cases[i].at_least && succeeded <= cases[i].at_most);
  }
}

/* ---- Missing folders ------------------------------------------------------------------------- */

/* Runs place_child, which must not crash; NULL if the system does not permit its way. */
static const char *run_in(const char *way, const char *folder) {
  if (getenv("WHERRY_TEST_INSTRUMENTED") != NULL && strcmp(way, "empty") == 0) {
    printf("  skipped: a sanitizer needs /proc\n");
    return NULL;
  }
  size_t count;
  const uint8_t *bytes = picture_jpeg(200, 100, 90, &count);
  check_write_file(check_path("a.jpg"), bytes, count);
  program child = program_run(WHERRY_LIFE "/place_child", way, server_url("/echo"),
                              server_tls_url("/echo"), check_path("a.jpg"), folder, NULL);
  if (child.code == 77) printf("  skipped: %s needs root and a mount namespace\n", way);
  if (child.code == 77) return NULL;
  CHECK_INT(child.code, 0);
  CHECK_TEXT(child.err, "");
  CHECK_HOLDS(child.out, "get: OK\n");
  CHECK_HOLDS(child.out, "upload: OK\n");
  CHECK_HOLDS(child.out, "client: OK\n");
  return child.out;
}

/* Sets or unsets the variables of folders for the programs that this test starts. */
static void set_home(const char *home) {
  const char *names[] = {"XDG_CACHE_HOME", "XDG_STATE_HOME"};
  for (int i = 0; i < 2; i++) REQUIRE_INT(unsetenv(names[i]), 0);
  REQUIRE_INT(home == NULL ? unsetenv("HOME") : setenv("HOME", home, 1), 0);
}

TEST("C12 without HOME and a temporary folder, only storage fails") {
  const char *folder = check_path("folder"), *home = getenv("HOME"), *kept = getenv("TMPDIR");
  REQUIRE_INT(mkdir(folder, 0700), 0);
  if (home != NULL) home = check_format("%s", home);
  if (kept != NULL) kept = check_format("%s", kept);
  set_home(NULL);
  REQUIRE_INT(setenv("TMPDIR", check_path("missing"), 1), 0);
  const char *out = run_in("as-is", folder);
  if (home != NULL) set_home(home);
  REQUIRE_INT(kept == NULL ? unsetenv("TMPDIR") : setenv("TMPDIR", kept, 1), 0);
  CHECK_HOLDS(out, "download: OK\n");
  CHECK_HOLDS(out, "storage: E_FILE bad_storage: Could not find a storage folder");
  CHECK_HOLDS(out, "client with a cache: E_FILE bad_storage: Could not find a storage folder");
  CHECK_INT(check_entries(folder), 1);
}

TEST("a program in an empty root folder makes requests, uploads, and downloads") {
  const char *folder = check_path("root");
  REQUIRE_INT(mkdir(folder, 0700), 0);
  const char *out = run_in("empty", folder);
  if (out == NULL) return;
  CHECK_HOLDS(out, "download: OK\n");
  CHECK_HOLDS(out, "get by name: E_NETWORK resolve: ");
  /* The system's certificates are missing. */
  CHECK_HOLDS(out, "get over TLS: E_TLS tls: ");
  CHECK_HOLDS(out, "Install the package ca-certificates, or set a CA file or directory.");
  CHECK(check_exists(check_path("root/file")));
}

TEST("C12 on a read-only file system, only downloads and storage fail, and say so") {
  const char *folder = check_path("disk"), *home = getenv("HOME");
  REQUIRE_INT(mkdir(folder, 0700), 0);
  if (home != NULL) home = check_format("%s", home);
  set_home(folder);
  const char *out = run_in("read-only", folder);
  if (home != NULL) set_home(home);
  if (out == NULL) return;
  CHECK_HOLDS(out,
              check_format("download: E_FILE read_only: The file system of the directory %s is "
                           "read-only. Use another directory.",
                           folder));
  CHECK_HOLDS(out, "storage: E_FILE read_only: Could not create ");
  CHECK_HOLDS(out, "client with a cache: E_FILE read_only: Could not create ");
  CHECK_INT(check_entries(folder), 0);
}
