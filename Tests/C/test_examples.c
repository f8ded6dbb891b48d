/* Wherry: the programs of Examples/c work as described
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "fixture.h"
#include "program.h"
#include "server.h"

/* Runs an example with up to three arguments until it exits. */
static program run_example(const char *name, const char *a, const char *b, const char *c) {
  return program_run(check_format("%s/example_%s", WHERRY_EXAMPLES, name), a, b, c, NULL);
}

TEST("the get example prints a body, and the server's text with an error") {
  program got = run_example("get", server_url("/echo"), NULL, NULL);
  CHECK_INT(got.code, 0);
  CHECK_HOLDS(got.out, "\"method\": \"GET\"");
  got = run_example("get", server_url("/status/404?body=gone"), NULL, NULL);
  CHECK_INT(got.code, 1);
  CHECK_TEXT(got.out, "gone");
  CHECK_HOLDS(got.err, "http_status: ");
  got = run_example("get", "ftp://127.0.0.1/", NULL, NULL);
  CHECK_INT(got.code, 1);
  CHECK_HOLDS(got.err, "bad_url: ");
}

TEST("the epoll example gets a hundred responses in its own loop") {
  program got = run_example("epoll", server_url("/echo/"), NULL, NULL);
  CHECK_INT(got.code, 0);
  for (int i = 0; i < 100; i++)
    CHECK_HOLDS(check_format("\n%s", got.out), check_format("\n%d: HTTP 200, ", i));
  CHECK_INT(server_count("requests"), 100);
}

TEST("the download example completes the file and checks its digest") {
  const char *path = check_path("file");
  program got = run_example("download", server_url("/bytes/300000"), path, NULL);
  CHECK_INT(got.code, 0);
  CHECK_HOLDS(got.out, path);
  long count = 0;
  const char *bytes = check_read_file(path, &count);
  REQUIRE_INT(count, 300000);
  CHECK(is_pattern(bytes, (size_t)count, 0));

  got = run_example("download", server_url("/bytes/300000"), path, NULL);
  CHECK_INT(got.code, 1);
  CHECK_HOLDS(got.err, "already exists");
  const char *wrong = "0000000000000000000000000000000000000000000000000000000000000000";
  got = run_example("download", server_url("/bytes/1000"), check_path("other"), wrong);
  CHECK_INT(got.code, 1);
  CHECK_HOLDS(got.err, "checksum");
  CHECK(!check_exists(check_path("other")));
}

TEST("the album example sends images and names the invalid one") {
  /* The smallest gray PNG. */
  static const unsigned char png[] = {
      0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
      0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00,
      0x00, 0x3a, 0x7e, 0x9b, 0x55, 0x00, 0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78,
      0x9c, 0x63, 0x60, 0x00, 0x00, 0x00, 0x02, 0x00, 0x01, 0x48, 0xaf, 0xa4, 0x71, 0x00,
      0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
  const char *good = check_path("good.png"), *bad = check_path("bad.png");
  check_write_file(good, png, sizeof png);
  check_write_file(bad, "no picture", 10);
  program got = run_example("album", server_url("/echo"), good, NULL);
  CHECK_INT(got.code, 0);
  CHECK_HOLDS(got.out, ".png: OK");
  CHECK_INT(server_count("requests"), 1);
  got = run_example("album", server_url("/echo"), good, bad);
  CHECK_INT(got.code, 1);
  CHECK_HOLDS(got.err, "not sent");
}
