/* Wherry: rows C of features.md, from C: settings of a client
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

static wherry_client *client_with_base(const char *base) {
  wherry_config *config = new_config();
  REQUIRE_OK(wherry_config_set_text(config, WHERRY_TEXT_BASE_URL, base));
  return new_client(config);
}

TEST("C1 a changed setting applies from the next request") {
  wherry_client *client = new_client(NULL);
  outcome got = perform(client, new_request("GET", server_url("/drip?bytes=4&interval_ms=100")));
  CHECK_STATUS(got.status, WHERRY_OK);

  CHECK_OK(wherry_client_set_option(client, WHERRY_OPTION_TOTAL_TIMEOUT_MS, 100));

  CHECK_INT(wherry_client_get_option(client, WHERRY_OPTION_TOTAL_TIMEOUT_MS), 100);
  got = perform(client, new_request("GET", server_url("/silent?seconds=600")));
  CHECK_STATUS(got.status, WHERRY_E_TIMEOUT);
  CHECK_TEXT(got.reason, "total_timeout");
}

TEST("C2 one rule joins base and path for requests") {
  char *host = server_url("/");
  *strstr(host, "/@") = '\0';
  const struct {
    const char *base, *url, *target;
  } rows[] = {
      {"/echo/v1", "foo", "/echo/v1/foo"},
      {"/echo/v1/", "foo", "/echo/v1/foo"},
      {"/echo/v1", "/echo/foo", "/echo/foo"},
      {"/echo/v1", "foo?a=b", "/echo/v1/foo?a=b"},
      {"/echo/v1", "../foo", "/echo/foo"},
      {"/echo/v1", "a//b", "/echo/v1/a//b"},
      {"", "echo/x", "/echo/x"},
      {"/", "/echo/x", "/echo/x"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    wherry_client *client = client_with_base(check_format("%s%s", host, rows[i].base));
    outcome got = perform(client, new_request("GET", rows[i].url));
    CHECK_STATUS(got.status, WHERRY_OK);
    if (got.status == WHERRY_OK) CHECK_TEXT(echoed(&got, "target"), rows[i].target);
  }
}

TEST("C2 an absolute URL ignores the base, and downloads and uploads join URLs alike") {
  wherry_client *client = client_with_base("http://127.0.0.1:9/nowhere");
  outcome got = perform(client, new_request("GET", server_url("/echo/whole")));
  CHECK_STATUS(got.status, WHERRY_OK);

  CHECK_OK(wherry_client_set_text(client, WHERRY_TEXT_BASE_URL, server_url("/echo")));
  wherry_request *upload = new_request("POST", "form");
  CHECK_OK(wherry_request_add_part(upload, "a", "b", 1, NULL, NULL));
  got = send_and_wait(client, upload);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(echoed(&got, "path"), "/echo/form");

  const char *path = check_path("file");
  got = download(client, new_request("GET", "file"), path);
  CHECK_STATUS(got.status, WHERRY_OK);
  long count;
  CHECK_HOLDS(check_read_file(path, &count), "\"path\": \"/echo/file\"");
}

TEST("C3 ignoring the base makes a relative URL an error and changes the identifier") {
  wherry_client *client = client_with_base("http://v.juhe.cn");
  wherry_request *request = new_request("POST", "toutiao/index");
  CHECK_OK(wherry_request_set_parameter(request, "key", "0c60"));
  CHECK_OK(wherry_request_set_parameter(request, "type", "top"));
  CHECK_TEXT(wherry_request_identifier(request, client),
             "b4b36793efabad54a14389cf09bc8133_a6a72ddee1dd86825cb5707c500784f5_"
             "f882aed12c0b16ebdaecb1e9619f608d_d42fd88cf63a1c22520547ab3c4250d3");

  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_IGNORE_BASE, 1));

  CHECK_HOLDS(wherry_request_identifier(request, client), "507e6fd9699c311e1e11850905939715_");
  outcome got = perform(client, request);
  CHECK_STATUS(got.status, WHERRY_E_ARGUMENT);
  CHECK_TEXT(got.reason, "bad_url");
  request = new_request("GET", server_url("/echo"));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_IGNORE_BASE, 1));
  CHECK_STATUS(perform(client, request).status, WHERRY_OK);
  CHECK_STATUS(download(client, request, check_path("file")).status, WHERRY_OK);
  CHECK(check_exists(check_path("file")));
}

TEST("C4 the client tries the next base if no connection is possible") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_base(config, "down", "http://127.0.0.1:1/"));
  CHECK_OK(wherry_config_set_base(config, "cdn", server_url("/echo/cdn")));
  CHECK_FAILS(wherry_config_set_base(config, "a,b", "http://h/"), WHERRY_E_ARGUMENT,
              "bad_argument");
  CHECK_FAILS(wherry_config_set_base(config, "", "http://h/"), WHERRY_E_ARGUMENT, "bad_argument");
  wherry_client *client = new_client(config);
  wherry_request *request = new_request("POST", "x");
  CHECK_OK(wherry_request_set_body(request, "abc", 3, "text/plain"));
  CHECK_OK(wherry_request_set_base(request, "down,down,cdn"));

  outcome got = perform(client, request);

  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(echoed(&got, "path"), "/echo/cdn/x");
  CHECK_TEXT(echoed_body(&got), "abc");
  CHECK_OK(wherry_request_set_base(request, "down,down"));
  got = perform(client, request);
  CHECK_STATUS(got.status, WHERRY_E_NETWORK);
  CHECK_TEXT(got.reason, "connect");
  /* Any response counts, also an error response. */
  CHECK_OK(wherry_client_set_base(client, "refuses", server_url("/status/503")));
  CHECK_OK(wherry_request_set_url(request, ""));
  CHECK_OK(wherry_request_set_base(request, "refuses,cdn"));
  CHECK_INT(perform(client, request).http_code, 503);
  CHECK_FAILS(wherry_request_set_base(request, "cdn,"), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_OK(wherry_request_set_base(request, "cdn,nowhere"));
  CHECK_TEXT(perform(client, request).reason, "not_found");
}

static wherry_client *client_with_defaults(void) {
  wherry_config *config = new_config();
  REQUIRE_OK(wherry_config_set_parameter(config, "lang", "en"));
  REQUIRE_OK(wherry_config_set_parameter(config, "page", "1"));
  return new_client(config);
}

TEST("C4 bases are selected by name, and an unknown name sends nothing") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_BASE_URL, server_url("/echo/plain")));
  CHECK_OK(wherry_config_set_base(config, "upload", server_url("/echo/up")));
  CHECK_OK(wherry_config_set_base(config, "cdn", server_url("/echo/cdn/")));
  CHECK_OK(wherry_config_set_base(config, "gone", server_url("/echo/gone")));
  CHECK_OK(wherry_config_set_base(config, "gone", NULL));
  wherry_client *client = new_client(config);
  const struct {
    const char *base, *path;
  } rows[] = {{NULL, "/echo/plain/x"}, {"upload", "/echo/up/x"}, {"cdn", "/echo/cdn/x"}};
  wherry_request *request = new_request("GET", "x");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    CHECK_OK(wherry_request_set_base(request, rows[i].base));
    outcome got = perform(client, request);
    CHECK_STATUS(got.status, WHERRY_OK);
    CHECK_TEXT(echoed(&got, "path"), rows[i].path);
  }
  for (const char **name = (const char *[]){"gone", "nowhere", NULL}; *name != NULL; name++) {
    CHECK_OK(wherry_request_set_base(request, *name));
    wherry_response *response = NULL;
    CHECK_FAILS(wherry_client_perform(client, request, &response), WHERRY_E_ARGUMENT, "not_found");
  }
  CHECK_INT(server_count("requests"), 3);
  CHECK_OK(wherry_client_set_base(client, "nowhere", server_url("/echo/late")));
  outcome got = perform(client, request);
  CHECK_TEXT(echoed(&got, "path"), "/echo/late/x");
  CHECK_FAILS(wherry_client_set_base(client, "bad", "ftp://127.0.0.1/"), WHERRY_E_ARGUMENT,
              "bad_url");
  CHECK_FAILS(wherry_client_set_base(client, NULL, "http://127.0.0.1/"), WHERRY_E_ARGUMENT,
              "bad_argument");
}

TEST("C5 the request's parameters override default parameters in query, body, and form") {
  wherry_client *client = client_with_defaults();
  wherry_request *get = new_request("GET", server_url("/echo"));
  CHECK_OK(wherry_request_set_parameter(get, "page", "2"));
  outcome got = perform(client, get);
  CHECK_TEXT(echoed_pairs(&got, "query"), "lang=en&page=2");

  wherry_request *post = new_request("POST", server_url("/echo"));
  CHECK_OK(wherry_request_set_parameter(post, "page", "3"));
  got = perform(client, post);
  CHECK_TEXT(echoed(&got, "json/lang"), "en");
  CHECK_TEXT(echoed(&got, "json/page"), "3");

  wherry_request *upload = new_request("POST", server_url("/echo"));
  CHECK_OK(wherry_request_add_part(upload, "file", "x", 1, "x.txt", "text/plain"));
  got = send_and_wait(client, upload);
  CHECK_HOLDS(got.body, "\"name\": \"lang\"");
}

/* They were lost, and the request's own were sent in the query although the header announced a JSON
 * body. */
TEST("C5 with an explicit body all parameters are sent in the query") {
  wherry_client *client = client_with_defaults();
  for (int kind = 0; kind < 2; kind++) {
    wherry_request *post = new_request("POST", server_url("/echo"));
    CHECK_OK(wherry_request_set_parameter(post, "page", "3"));
    if (kind == 0) {
      CHECK_OK(wherry_request_set_json(post, "[1,2]", 5));
    } else {
      CHECK_OK(wherry_request_set_body(post, "[1,2]", 5, "text/plain"));
    }
    outcome got = perform(client, post);
    CHECK_TEXT(echoed_pairs(&got, "query"), "lang=en&page=3");
    CHECK_TEXT(echoed_body(&got), "[1,2]");
  }
}

TEST("C5 default parameters do not apply to downloads or explicit bodies, and can be disabled") {
  wherry_client *client = client_with_defaults();
  const char *path = check_path("echo.json");
  CHECK_STATUS(download(client, new_request("GET", server_url("/echo")), path).status, WHERRY_OK);
  CHECK(server_wait("ended=1"));
  wherry_json *log = server_log();
  CHECK_INT(wherry_json_count(log, "requests/0/query"), 0);
  CHECK_OK(wherry_json_free(log));

  wherry_request *array = new_request("POST", server_url("/echo"));
  CHECK_OK(wherry_request_set_json(array, "[1,2]", 5));
  outcome got = perform(client, array);
  CHECK_TEXT(echoed_body(&got), "[1,2]");

  wherry_request *none = new_request("GET", server_url("/echo"));
  CHECK_OK(wherry_request_set_option(none, WHERRY_OPTION_DEFAULT_PARAMETERS, 0));
  got = perform(client, none);
  CHECK_TEXT(echoed_pairs(&got, "query"), "");
}

TEST("C6 silence times out, slow bytes do not, and a total timeout does") {
  wherry_client *client = new_client_with(WHERRY_OPTION_IDLE_TIMEOUT_MS, 1000);
  outcome got = perform(client, new_request("GET", server_url("/bytes/100?stall=50&seconds=600")));
  CHECK_STATUS(got.status, WHERRY_E_TIMEOUT);
  CHECK_TEXT(got.reason, "idle_timeout");

  /* If the machine stalls for as long as the timeout, the test runs again with doubled timeouts. */
  wherry_request *request = NULL;
  for (int limit = 1000; limit <= 64000; limit *= 2) {
    request = new_request("GET", server_url("/drip?bytes=16&interval_ms=%d", limit / 10));
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_IDLE_TIMEOUT_MS, limit));
    got = perform(client, request);
    if (got.status == WHERRY_OK) break;
  }
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_INT(got.count, 16);

  request = new_request("GET", server_url("/drip?bytes=6000&interval_ms=100"));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_TOTAL_TIMEOUT_MS, 300));
  got = perform(client, request);
  CHECK_STATUS(got.status, WHERRY_E_TIMEOUT);
  CHECK_TEXT(got.reason, "total_timeout");

  request = new_request("GET", server_url("/silent?seconds=600"));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_IDLE_TIMEOUT_MS, 0));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_FIRST_BYTE_TIMEOUT_MS, 200));
  got = perform(client, request);
  CHECK_STATUS(got.status, WHERRY_E_TIMEOUT);
  CHECK_TEXT(got.reason, "first_byte_timeout");
}

TEST("C8 client headers are added, replaced, read, and removed, case-insensitively") {
  wherry_client *client = new_client(NULL);
  char text[8] = "";
  size_t count = 0;
  CHECK_OK(wherry_client_set_header(client, "X-Token", "one"));
  CHECK_OK(wherry_client_set_header(client, "x-token", "the second"));
  CHECK_OK(wherry_client_copy_header(client, "X-TOKEN", text, sizeof text, &count));
  CHECK_TEXT(text, "the sec");
  CHECK_INT(count, 10);

  outcome got = perform(client, new_request("GET", server_url("/echo")));
  CHECK_TEXT(echoed_header(&got, "X-Token"), "the second");
  wherry_request *upload = new_request("POST", server_url("/echo"));
  CHECK_OK(wherry_request_add_part(upload, "a", "b", 1, NULL, NULL));
  got = send_and_wait(client, upload);
  CHECK_TEXT(echoed_header(&got, "X-Token"), "the second");
  got = download(client, new_request("GET", server_url("/bytes/10")), check_path("d"));
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_TEXT(server_field(2, "X-Token"), "the second");

  CHECK_OK(wherry_client_set_header(client, "X-TOKEN", NULL));
  CHECK_FAILS(wherry_client_copy_header(client, "X-Token", text, sizeof text, &count),
              WHERRY_E_ARGUMENT, "not_found");
  got = perform(client, new_request("GET", server_url("/echo")));
  CHECK_TEXT(echoed_header(&got, "X-Token"), NULL);
}

TEST("C8 a header with a line break is refused and changes nothing") {
  wherry_client *client = new_client(NULL);
  wherry_config *config = new_config();
  wherry_request *request = new_request("GET", server_url("/echo"));
  const char *bad[][2] = {{"X-A", "1\r\nX-B: 2"}, {"X-A", "1\n"}, {"X-A\r\n", "1"},
                          {"X A", "1"},           {"", "1"},      {"X:A", "1"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    CHECK_FAILS(wherry_client_set_header(client, bad[i][0], bad[i][1]), WHERRY_E_ARGUMENT,
                "bad_header");
    CHECK_FAILS(wherry_config_set_header(config, bad[i][0], bad[i][1]), WHERRY_E_ARGUMENT,
                "bad_header");
    CHECK_FAILS(wherry_request_set_header(request, bad[i][0], bad[i][1]), WHERRY_E_ARGUMENT,
                "bad_header");
  }
  outcome got = perform(client, request);
  CHECK_TEXT(echoed_header(&got, "X-A"), NULL);
  CHECK_TEXT(echoed_header(&got, "X-B"), NULL);
}

TEST("C9 request headers override client headers, which override built-in headers") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_header(config, "User-Agent", "client"));
  CHECK_OK(wherry_config_set_header(config, "Content-Type", "text/client"));
  wherry_client *client = new_client(config);
  outcome got = perform(new_client(NULL), new_request("GET", server_url("/echo")));
  char product[64];
  snprintf(product, sizeof product, "Wherry/%s", wherry_library_version_text());
  CHECK_HOLDS(echoed_header(&got, "User-Agent"), product);

  wherry_request *request = new_request("POST", server_url("/echo"));
  CHECK_OK(wherry_request_set_json(request, "{}", 2));
  got = perform(client, request);
  CHECK_TEXT(echoed_header(&got, "User-Agent"), "client");
  CHECK_TEXT(echoed_header(&got, "Content-Type"), "text/client");

  CHECK_OK(wherry_request_set_header(request, "user-agent", "request"));
  CHECK_OK(wherry_request_set_header(request, "Content-Type", "application/vnd.api+json"));
  got = perform(client, request);
  CHECK_TEXT(echoed_header(&got, "User-Agent"), "request");
  CHECK_TEXT(echoed_header(&got, "Content-Type"), "application/vnd.api+json");

  CHECK_OK(wherry_client_set_header(client, "X-Extra", "client"));
  CHECK_OK(wherry_request_set_header(request, "X-Extra", NULL));
  got = perform(client, request);
  CHECK_TEXT(echoed_header(&got, "X-Extra"), NULL);
}

TEST("C15 a hundred requests with a limit of four never open five connections") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_option(config, WHERRY_OPTION_MAX_PER_HOST, 4));
  wherry_client *client = new_client(config);
  wherry_queue *queue = new_queue();
  wherry_request *request = new_request("GET", server_url("/delay/10"));
  for (int i = 0; i < 100; i++) CHECK_OK(wherry_client_send(client, request, queue, NULL, NULL));
  for (int i = 0; i < 100; i++) CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  CHECK(server_wait("ended=100"));
  CHECK_INT(server_count("requests"), 100);
  CHECK(server_count("peak_requests") <= 4);
  CHECK(server_count("peak_connections") <= 4);
}

static wherry_client *shared_client;
static bool stop_setting;

static void *change_settings(void *number) {
  const char *name = (const char *)number;
  char text[64];
  for (int i = 0; !__atomic_load_n(&stop_setting, __ATOMIC_RELAXED) && i < 1000000; i++) {
    size_t count;
    CHECK_OK(wherry_client_set_header(shared_client, name, i % 3 ? "value" : NULL));
    CHECK_OK(wherry_client_set_option(shared_client, WHERRY_OPTION_IDLE_TIMEOUT_MS, 600000 + i));
    CHECK_OK(wherry_client_set_text(shared_client, WHERRY_TEXT_APP_VERSION, i % 2 ? "1" : "2"));
    CHECK_OK(wherry_client_set_parameter(shared_client, name, i % 2 ? "1" : NULL));
    wherry_client_copy_header(shared_client, name, text, sizeof text, &count);
  }
  return NULL;
}

TEST("C18 eight threads change settings during requests") {
  static char names[8][8] = {"X-0", "X-1", "X-2", "X-3", "X-4", "X-5", "X-6", "X-7"};
  int total = check_in_full() ? 1000 : 200;
  pthread_t threads[8];
  shared_client = new_client(NULL);
  wherry_queue *queue = new_queue();
  stop_setting = false;
  for (int i = 0; i < 8; i++)
    REQUIRE_INT(pthread_create(&threads[i], NULL, change_settings, names[i]), 0);
  wherry_request *request = new_request("GET", server_url("/empty"));
  for (int i = 0; i < total; i++)
    CHECK_OK(wherry_client_send(shared_client, request, queue, NULL, NULL));
  int good = 0;
  for (int i = 0; i < total; i++) {
    wherry_event *event = NULL;
    do {
      wherry_event_free(event);
      if (!CHECK_OK(wherry_queue_next(queue, 600000, &event))) break;
    } while (wherry_event_get_kind(event) != WHERRY_EVENT_DONE);
    good += wherry_event_status(event) == WHERRY_OK;
    wherry_event_free(event);
  }
  __atomic_store_n(&stop_setting, true, __ATOMIC_RELAXED);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
  CHECK_INT(good, total);
}

TEST("C7 debugging prints nothing while off, and can be switched at any time") {
  wherry_client *client = new_client(NULL);
  const char *paths[] = {check_path("quiet"), check_path("loud"), check_path("quiet again")};
  for (int i = 0; i < 3; i++) {
    CHECK_OK(wherry_client_set_option(client, WHERRY_OPTION_DEBUG, i == 1));
    wherry_request *request = new_request("GET", server_url("/echo/%d?password=secret", i));
    CHECK_OK(wherry_request_set_text(request, WHERRY_TEXT_BEARER_TOKEN, "secret-token"));
    wherry_response *response = NULL;
    fflush(stderr);
    int own = dup(STDERR_FILENO), file = open(paths[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(own >= 0 && file >= 0 && dup2(file, STDERR_FILENO) >= 0);
    wherry_status status = wherry_client_perform(client, request, &response);
    dup2(own, STDERR_FILENO);
    close(own);
    close(file);
    CHECK_STATUS(status, WHERRY_OK);
    CHECK_OK(wherry_response_free(response));
    long count;
    const char *said = check_read_file(paths[i], &count);
    if (i != 1) CHECK_INT(count, 0);
    if (i == 1) CHECK_HOLDS(said, "/echo/1");
    CHECK_LACKS(said, "secret");
  }
}

TEST("C12 the storage folder is private, has its own name, and never replaces another file") {
  char first[512], second[512];
  size_t count = 0;
  for (int i = 0; i < 2; i++) {
    wherry_config *config = new_config();
    const char *path = check_path("deep/%d", i);
    CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_STORAGE_DIRECTORY, path));
    wherry_client *client = new_client(config);
    CHECK(!check_exists(path)); /* created on first use */
    CHECK_OK(wherry_client_copy_storage(client, i ? second : first, sizeof first, &count));
    CHECK_TEXT(i ? second : first, path);
    CHECK_INT(count, strlen(path));
    struct stat status;
    REQUIRE_INT(stat(path, &status), 0);
    CHECK_INT(status.st_mode & 07777, 0700);
    char cut[4] = "???";
    CHECK_OK(wherry_client_copy_storage(client, cut, sizeof cut, &count));
    CHECK_INT(strlen(cut), 3);
    CHECK_INT(count, strlen(path));
  }
  CHECK(strcmp(first, second) != 0);

  const char *file = check_path("file");
  check_write_file(file, "mine", 4);
  const struct {
    const char *path, *reason;
  } bad[] = {{file, "bad_storage"}, {check_format("%s/below", file), NULL}, {"/proc/wherry", NULL}};
  for (size_t i = 0; i < 3; i++) {
    wherry_config *config = new_config();
    CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_STORAGE_DIRECTORY, bad[i].path));
    /* Errors that are known without creating the folder are returned at once. */
    wherry_client *client = NULL;
    wherry_status made = wherry_client_new(config, &client);
    if (made == WHERRY_OK) made = wherry_client_copy_storage(client, first, sizeof first, &count);
    CHECK_STATUS(made, WHERRY_E_FILE);
    if (bad[i].reason) CHECK_TEXT(wherry_error_reason(wherry_last_error()), bad[i].reason);
    CHECK_HOLDS(wherry_error_message(wherry_last_error()), bad[i].path);
  }
  long length;
  CHECK_TEXT(check_read_file(file, &length), "mine");
}

/* The storage folder of clients with this name, or the reason why there is none. */
static const char *storage_of(const char *name) {
  char text[512];
  size_t count = 0;
  wherry_config *config = new_config();
  if (name != NULL) CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_STORAGE_NAME, name));
  wherry_status status = wherry_client_copy_storage(new_client(config), text, sizeof text, &count);
  if (status == WHERRY_OK) return check_format("%s", text);
  CHECK_INT(status, WHERRY_E_FILE);
  return check_format("%s", wherry_error_reason(wherry_last_error()));
}

TEST("C12 two programs have separate folders, and without a home there is a clear error") {
  const char *names[] = {"HOME", "XDG_CACHE_HOME"};
  char *kept[2];
  for (int i = 0; i < 2; i++) {
    kept[i] = getenv(names[i]) ? check_format("%s", getenv(names[i])) : NULL;
    REQUIRE_INT(unsetenv(names[i]), 0);
  }
  CHECK_TEXT(storage_of("demo"), "bad_storage");
  CHECK_INT(setenv("XDG_CACHE_HOME", "relative/is/ignored", 1), 0);
  CHECK_TEXT(storage_of("demo"), "bad_storage");
  CHECK_INT(setenv("HOME", check_path("home"), 1), 0);
  CHECK_TEXT(storage_of("one"), check_path("home/.cache/wherry/one"));
  CHECK_TEXT(storage_of("two"), check_path("home/.cache/wherry/two"));
  CHECK_INT(setenv("XDG_CACHE_HOME", check_path("cache"), 1), 0);
  CHECK_TEXT(storage_of("one"), check_path("cache/wherry/one"));
  CHECK_HOLDS(storage_of(NULL), check_path("cache/wherry/")); /* the program's name */
  for (int i = 0; i < 2; i++)
    CHECK_INT(kept[i] ? setenv(names[i], kept[i], 1) : unsetenv(names[i]), 0);
  CHECK_INT(check_entries(check_path("home/.cache/wherry")), 2);

  wherry_config *config = new_config();
  const char *bad[] = {"", ".", "..", "a/b"};
  for (int i = 0; i < 4; i++)
    CHECK_FAILS(wherry_config_set_text(config, WHERRY_TEXT_STORAGE_NAME, bad[i]), WHERRY_E_ARGUMENT,
                "bad_value");
}

TEST("C11 the app version is set on a configuration or a client, not on a request") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_APP_VERSION, "2"));
  wherry_client *client = new_client(config);
  CHECK_OK(wherry_client_set_text(client, WHERRY_TEXT_APP_VERSION, "3"));
  CHECK_OK(wherry_client_set_text(client, WHERRY_TEXT_APP_VERSION, NULL));
  wherry_request *request = new_request("GET", server_url("/echo"));
  CHECK_FAILS(wherry_request_set_text(request, WHERRY_TEXT_APP_VERSION, "2"), WHERRY_E_ARGUMENT,
              "bad_option");
  CHECK_FAILS(wherry_client_set_text(client, WHERRY_TEXT_APP_VERSION, "\xff"), WHERRY_E_ARGUMENT,
              "bad_text");
  /* It is part of the cache key and is not sent to servers. */
  CHECK_OK(wherry_client_set_text(client, WHERRY_TEXT_APP_VERSION, "app-version-9"));
  outcome got = perform(client, request);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_LACKS(got.body, "app-version-9");
}

TEST("C16 the library calls no caller code: events wait until the caller's thread reads them") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  send_request(client, new_request("GET", server_url("/echo")), queue, NULL);
  REQUIRE_OK(wherry_client_wait(client, WHERRY_MATCH_ALL, NULL, 600000));
  CHECK_INT(wherry_queue_count(queue), 1);
  wherry_event *event = NULL;
  REQUIRE_OK(wherry_queue_next(queue, 0, &event));
  CHECK_INT(wherry_event_get_kind(event), WHERRY_EVENT_DONE);
  CHECK_OK(wherry_event_free(event));
}

/* An invalid base was refused only by wherry_client_new, far from the wrong call. */
TEST("C2 a base URL is checked when it is set") {
  wherry_config *config = NULL;
  REQUIRE_OK(wherry_config_new(&config));
  static const char *const bad[] = {"", "example.org/v1", "ftp://example.org", "http://",
                                    "http://h/?a=b"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    CHECK_FAILS(wherry_config_set_text(config, WHERRY_TEXT_BASE_URL, bad[i]), WHERRY_E_ARGUMENT,
                "bad_url");
    CHECK_FAILS(wherry_config_set_base(config, "cdn", bad[i]), WHERRY_E_ARGUMENT, "bad_url");
  }
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_BASE_URL, "http://example.org/v1"));
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_BASE_URL, NULL));
  CHECK_OK(wherry_config_set_base(config, "cdn", NULL));
  wherry_client *client = NULL;
  CHECK_OK(wherry_client_new(config, &client)); /* the failed calls changed nothing */
  CHECK_OK(wherry_client_free(client));
  CHECK_OK(wherry_config_free(config));
}
