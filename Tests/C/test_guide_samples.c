/* Wherry: the C samples in the guides work as described
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "check.h"
#include "fixture.h"
#include "program.h"
#include "server.h"

static char *example(const char *name) {
  return check_format("%s/example_%s", WHERRY_EXAMPLES, name);
}

TEST("K2 K17 the caching guide works") {
  server_script(
      "{\"news\": [{\"json\": {\"n\": 1}}, {\"json\": {\"n\": 2}}],"
      " \"feed\": [{\"json\": {\"n\": 7},"
      "   \"headers\": [[\"Cache-Control\", \"max-age=0\"], [\"ETag\", \"\\\"a\\\"\"]]},"
      "  {\"status\": 304, \"headers\": [[\"ETag\", \"\\\"a\\\"\"]]}, {\"status\": 503}]}");
  program got = program_run(example("caching"), server_url("/s"), check_path("store"), NULL);
  CHECK_INT(got.code, 0);
  CHECK_TEXT(got.err, "");
  CHECK_TEXT(got.out,
             "asked 1\nagain 1 from_cache\nfresh 2\ncleared 1\n"
             "asked 7\nvalidated 7 from_cache is_revalidated\ndown 7 from_cache is_stale\n");
  CHECK_INT(server_count("requests"), 5);
}

TEST("D14 the background guide works") {
  const char *path = check_path("big.iso");
  setenv("WHERRY_AGENT", WHERRY_AGENT_PATH, 1);
  setenv("XDG_STATE_HOME", check_path("state"), 1);
  const char *url = server_url("/bytes/300000?hold=100000&gate=g");
  program begun = program_run(example("background"), "start", url, path, NULL);
  REQUIRE_INT(begun.code, 0);
  char *job = check_format("%.32s", begun.out);
  CHECK(server_wait("requests=1"));
  program listed = program_run(example("background"), "list", NULL);
  CHECK_HOLDS(listed.out, job);
  server_open("g");
  program ended = program_run(example("background"), "wait", job, NULL);
  CHECK_INT(ended.code, 0);
  CHECK_TEXT(ended.out, check_format("%s\n", path));
  long count = 0;
  const char *bytes = check_read_file(path, &count);
  REQUIRE_INT(count, 300000);
  CHECK(is_pattern(bytes, (size_t)count, 0));
  program again = program_run(example("background"), "wait", job, NULL);
  CHECK_INT(again.code, 1);
  CHECK_HOLDS(again.err, "not_found: ");
  CHECK_INT(program_run(example("background"), "stop", NULL).code, 2);
}

TEST("R1 R4 the guide for users of libcurl works") {
  const char *path = check_path("note.txt");
  check_write_file(path, "a note", 6);
  program got = program_run(example("from_libcurl"), server_url("/echo"), path, NULL);
  CHECK_INT(got.code, 0);
  CHECK_HOLDS(got.out, "200, application/json: {");
  CHECK_HOLDS(got.out, "\"text\": \"hello\"");
  CHECK_TEXT(server_field(0, "X-App"), "demo");
  CHECK_TEXT(server_field(0, "User-Agent"), "Demo/1");
  CHECK_TEXT(server_field(0, "Content-Type"), "application/json");
  CHECK_HOLDS(server_field(1, "Content-Type"), "multipart/form-data; boundary=");
  CHECK_INT(server_count("requests"), 2);
  got = program_run(example("from_libcurl"), "http://127.0.0.1:1/", path, NULL);
  CHECK_INT(got.code, 1);
  CHECK_HOLDS(got.err, "Could not connect");
}

TEST("the tutorial works") {
  program got = program_run(example("tutorial"), server_url("/"), check_path("."), NULL);
  CHECK_TEXT(got.err + strlen(got.err) - strlen("20000000 bytes"), "20000000 bytes");
  REQUIRE_INT(got.code, 0);
  CHECK_HOLDS(got.out, "\"query\": [[\"page\", \"2\"]]");
  CHECK_HOLDS(got.out, "\n404\nconnect: Could not connect");
  CHECK_HOLDS(got.out, "\nposted: 200\ncomplete: ");
  CHECK_TEXT(server_field(0, "X-App"), "tutorial");
}
