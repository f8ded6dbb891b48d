/* Wherry: row M12 of features.md, from C: a forked child
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

/* Runs the function in a child; returns its exit code, or -1 if it ended otherwise. */
static int in_child(int (*function)(void)) {
  pid_t pid = fork();
  if (pid == 0) {
    alarm(600); /* a child does not inherit the parent's guard */
    _exit(function());
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

static wherry_client *client;
static wherry_queue *queue;
static const char *url;

static int every_call_is_refused(void) {
  wherry_client *fresh = NULL;
  wherry_request *request = NULL;
  wherry_event *event = NULL;
  if (wherry_client_new(NULL, &fresh) != WHERRY_E_FORKED || fresh != NULL) return 1;
  if (wherry_request_new("GET", url, &request) != WHERRY_E_FORKED) return 2;
  if (wherry_queue_next(queue, -1, &event) != WHERRY_E_FORKED) return 3;
  if (strcmp(wherry_error_reason(wherry_last_error()), "forked") != 0) return 4;
  if (wherry_client_set_option(client, WHERRY_OPTION_MAX_REDIRECTS, 1) != WHERRY_E_FORKED) return 5;
  if (wherry_queue_fd(queue) != -1) return 6;
  if (wherry_client_free(client) != WHERRY_E_FORKED) return 7;
  if (wherry_library_version() != WHERRY_VERSION_NUMBER) return 8;
  return 0;
}

static int restart_works(void) {
  wherry_client *fresh = NULL;
  wherry_request *request = NULL;
  wherry_response *response = NULL;
  if (wherry_library_restart() != WHERRY_OK) return 1;
  /* Older handles stay invalid, and freeing them as the child ends is not reported as a mistake. */
  if (wherry_client_free(client) != WHERRY_E_FORKED) return 2;
  if (wherry_queue_free(queue) != WHERRY_E_FORKED) return 8;
  if (wherry_client_set_option(client, WHERRY_OPTION_MAX_REDIRECTS, 1) != WHERRY_E_FORKED) return 9;
  if (wherry_client_new(NULL, &fresh) != WHERRY_OK) return 3;
  if (wherry_request_new("GET", url, &request) != WHERRY_OK) return 4;
  if (wherry_client_perform(fresh, request, &response) != WHERRY_OK) return 5;
  if (wherry_response_http_code(response) != 200) return 6;
  if (wherry_client_free(fresh) != WHERRY_OK) return 7;
  return 0;
}

/* All threads compute the first digest of the process at the same time. One of them is the thread
 * that called fork, unless the Swift runtime is a shared library: then once.c does not protect the
 * runtime's own data, and that thread could wait for another one forever. */
#ifdef WHERRY_SHARED_RUNTIME
enum { NEW_THREADS_FROM = 0 };
#else
enum { NEW_THREADS_FROM = 1 };
#endif
static wherry_client *fresh_client;
static pthread_barrier_t ready;
static void *first_download(void *path) {
  wherry_request *request = NULL;
  wherry_queue *events = NULL;
  if (wherry_request_new("GET", url, &request) != WHERRY_OK) return "no request";
  if (wherry_queue_new(&events) != WHERRY_OK) return "no queue";
  pthread_barrier_wait(&ready);
  if (wherry_client_download(fresh_client, request, path, events, NULL, NULL) != WHERRY_OK)
    return "not started";
  return next_done(events).status == WHERRY_OK ? NULL : "not ended";
}

static int first_downloads_work(void) {
  enum { COUNT = 4 };
  pthread_t threads[COUNT];
  char paths[COUNT][4096];
  if (wherry_library_restart() != WHERRY_OK) return 1;
  if (wherry_client_new(NULL, &fresh_client) != WHERRY_OK) return 2;
  if (pthread_barrier_init(&ready, NULL, COUNT) != 0) return 3;
  for (int i = 0; i < COUNT; i++) {
    snprintf(paths[i], sizeof paths[i], "%s-%d", check_path("first"), i);
    if (i >= NEW_THREADS_FROM && pthread_create(&threads[i], NULL, first_download, paths[i]) != 0)
      return 4;
  }
  if (NEW_THREADS_FROM > 0 && first_download(paths[0]) != NULL) return 7;
  for (int i = NEW_THREADS_FROM; i < COUNT; i++) {
    void *failed = NULL;
    if (pthread_join(threads[i], &failed) != 0 || failed != NULL) return 5;
  }
  return wherry_client_free(fresh_client) == WHERRY_OK ? 0 : 6;
}

/* Must be the first test: the others compute digests too. */
TEST("M12 the first downloads of a program run in a forked child") {
  url = server_url("/json");
  new_client(NULL);
  REQUIRE_INT(in_child(first_downloads_work), 0);
}

static int request_with_ca_file_works(void) {
  wherry_config *config = NULL;
  wherry_client *fresh = NULL;
  wherry_request *request = NULL;
  wherry_response *response = NULL;
  if (wherry_library_restart() != WHERRY_OK) return 1;
  if (wherry_config_new(&config) != WHERRY_OK) return 2;
  if (wherry_config_set_text(config, WHERRY_TEXT_PROXY, "") != WHERRY_OK) return 3;
  if (wherry_config_set_text(config, WHERRY_TEXT_CA_FILE, authority_path("ca.pem")) != WHERRY_OK)
    return 4;
  if (wherry_client_new(config, &fresh) != WHERRY_OK) return 5;
  if (wherry_request_new("GET", url, &request) != WHERRY_OK) return 6;
  if (wherry_client_perform(fresh, request, &response) != WHERRY_OK) return 7;
  if (wherry_client_free(fresh) != WHERRY_OK) return 8;
  return 0;
}

TEST("M12 SEC-T1 a forked child uses the CA file that its parent uses") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_PROXY, ""));
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_CA_FILE, authority_path("ca.pem")));
  client = new_client(config);
  url = authority_url("tls_port", "good", "/echo");
  CHECK_TEXT(perform(client, new_request("GET", url)).reason, "");
  CHECK_INT(in_child(request_with_ca_file_works), 0);
  CHECK_TEXT(perform(client, new_request("GET", url)).reason, "");
}

TEST("M12 in a forked child every call fails with FORKED until the child restarts the library") {
  client = new_client(NULL);
  queue = new_queue();
  url = server_url("/echo");
  CHECK_STATUS(perform(client, new_request("GET", url)).status, WHERRY_OK);
  wherry_transfer *running =
      send_request(client, new_request("GET", server_url("/faulty-echo?gate=g")), queue, NULL);
  CHECK(server_wait("requests=2"));

  CHECK_INT(in_child(every_call_is_refused), 0);
  CHECK_INT(in_child(restart_works), 0);

  server_open("g"); /* the parent's transfer was not touched */
  CHECK_STATUS(done_of(queue, running).status, WHERRY_OK);
  CHECK_STATUS(perform(client, new_request("GET", url)).status, WHERRY_OK);
  CHECK_OK(wherry_library_restart());
  CHECK_STATUS(perform(client, new_request("GET", url)).status, WHERRY_OK);
}

#define REQUESTS 256
static wherry_request *requests[REQUESTS];
static atomic_bool stop;

/* Keeps the locks busy that a forked child could find held forever. */
static void *work_on(void *from) {
  size_t count = 200000;
  char *json = malloc(count);
  memset(json, ' ', count);
  json[count - 1] = '1';
  for (size_t i = (size_t)from; !atomic_load(&stop); i = (i + 2) % REQUESTS) {
    CHECK_OK(wherry_request_set_json(requests[i], json, count));
    CHECK_TEXT(wherry_request_url(requests[i]), "http://127.0.0.1/");
    wherry_error_message(wherry_last_error());
  }
  free(json);
  return NULL;
}

static int the_error_is_told(void) {
  wherry_request *request = NULL;
  if (wherry_request_new("GET", url, &request) != WHERRY_E_FORKED) return 1;
  const wherry_error *error = wherry_last_error();
  if (wherry_error_status(error) != WHERRY_E_FORKED) return 2;
  if (strcmp(wherry_error_reason(error), "forked") != 0) return 3;
  if (strstr(wherry_error_message(error), "wherry_library_restart") == NULL) return 4;
  if (wherry_error_underlying(error) != NULL || wherry_error_partial_path(error) != NULL) return 5;
  if (wherry_error_http_code(error) != 0 || wherry_error_is_retryable(error)) return 6;
  if (wherry_error_retry_after_ms(error) != -1) return 7;
  return wherry_library_restart() == WHERRY_OK ? 0 : 8;
}

TEST("M12 a forked child reads its error whatever the other threads were doing") {
  url = "http://127.0.0.1/";
  for (size_t i = 0; i < REQUESTS; i++) requests[i] = new_request("POST", url);
  atomic_store(&stop, false);
  pthread_t threads[2];
  for (size_t i = 0; i < 2; i++)
    REQUIRE_INT(pthread_create(&threads[i], NULL, work_on, (void *)i), 0);

  /* A sanitizer's memory is copied too, which takes long. */
  int wrong = 0, forks = getenv("WHERRY_TEST_INSTRUMENTED") != NULL ? 20 : 200;
  for (int i = 0; i < forks && wrong == 0; i++) wrong = in_child(the_error_is_told);
  atomic_store(&stop, true);
  for (size_t i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  CHECK_INT(wrong, 0);
}

/* ---- Forks while transfers run --------------------------------------------------------------- */

enum { PERFORMERS = 4 };

static void *perform_often(void *count) {
  wherry_request *request = NULL;
  CHECK_OK(wherry_request_new("GET", url, &request));
  while (!atomic_load(&stop)) {
    wherry_response *response = NULL;
    CHECK_OK(wherry_client_perform(client, request, &response));
    CHECK_OK(wherry_response_free(response));
    atomic_fetch_add((atomic_int *)count, 1);
  }
  CHECK_OK(wherry_request_free(request));
  return NULL;
}

/* Runs the function in many children while four threads make requests and twenty transfers wait;
 * none of these notices. */
static void fork_under_load(int times, int (*function)(void)) {
  pthread_t threads[PERFORMERS];
  atomic_int counts[PERFORMERS] = {0};
  client = new_client_with(WHERRY_OPTION_MAX_PER_HOST, 100);
  queue = new_queue();
  url = server_url("/echo");
  for (int i = 0; i < 20; i++)
    send_request(client, new_request("GET", server_url("/faulty-echo?gate=g")), queue, NULL);
  atomic_store(&stop, false);
  for (int i = 0; i < PERFORMERS; i++)
    REQUIRE_INT(pthread_create(&threads[i], NULL, perform_often, &counts[i]), 0);
  int wrong = 0;
  for (int i = 0; i < times && wrong == 0; i++) wrong = in_child(function);
  CHECK_INT(wrong, 0);
  int seen[PERFORMERS];
  for (int i = 0; i < PERFORMERS; i++) seen[i] = atomic_load(&counts[i]);
  for (int i = 0; i < PERFORMERS; i++) /* all of them continue */
    while (atomic_load(&counts[i]) < seen[i] + 2) CHECK(server_wait("requests=0"));
  atomic_store(&stop, true);
  for (int i = 0; i < PERFORMERS; i++) pthread_join(threads[i], NULL);
  server_open("g");
  for (int i = 0; i < 20; i++) CHECK_STATUS(next_done(queue).status, WHERRY_OK);
}

static int forks(void) { return getenv("WHERRY_TEST_INSTRUMENTED") != NULL ? 10 : 100; }

/* Unlike in_child, with exit handlers and destructors. */
static int exits(void) { exit(0); }

TEST("M12 a child that is forked while transfers run may exit without using the library") {
  if (getenv("WHERRY_TEST_INSTRUMENTED") != NULL) {
    printf("  skipped: in the child, LeakSanitizer misses the stacks of the parent's threads\n");
    return;
  }
  fork_under_load(forks(), exits);
}

TEST("M12 a child that is forked while transfers run can restart the library and make requests") {
  fork_under_load(forks() / 2, restart_works);
}

TEST("M12 a child that is forked while transfers run gets E_FORKED without a restart") {
  fork_under_load(forks(), every_call_is_refused);
}

/* The parent of exec has no shell between: it must not change the list. */
static const char *list_path;
static int list_descriptors(void) {
  static const char code[] = "import os; print(*sorted(os.listdir('/proc/self/fd')))";
  if (freopen(list_path, "w", stdout) == NULL) return 1;
  const char *python = getenv("WHERRY_PYTHON");
  execlp(python != NULL ? python : "python3", "python3", "-Sc", code, NULL);
  return 2;
}

TEST("M12 SEC-S3 a program that is executed while transfers run inherits no descriptor") {
  long count;
  CHECK(strlen(server_url("/echo")) > 0); /* starts the server */
  list_path = check_path("list");
  REQUIRE_INT(in_child(list_descriptors), 0);
  char *before = check_read_file(list_path, &count);
  CHECK(count > 0);
  fork_under_load(10, list_descriptors);
  CHECK_TEXT(check_read_file(list_path, &count), before);
}

TEST("M12 event, request, and client may be freed in any order while an event is handled") {
  client = new_client(NULL);
  queue = new_queue();
  wherry_request *request = new_request("GET", server_url("/echo"));
  wherry_transfer *transfer = send_request(client, request, queue, NULL);
  wherry_event *event = next_event(queue, WHERRY_EVENT_DONE);
  CHECK_OK(wherry_client_free(client));
  CHECK_OK(wherry_queue_free(queue));
  CHECK_OK(wherry_request_free(request));
  CHECK_OK(wherry_transfer_free(transfer));
  size_t count = 0;
  const wherry_response *response = wherry_event_response(event);
  CHECK_INT(wherry_response_http_code(response), 200);
  CHECK(wherry_response_body(response, &count) != NULL);
  CHECK(count > 0);
  CHECK_OK(wherry_event_free(event));
}
