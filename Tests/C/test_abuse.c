/* Wherry: rules SEC-A10 to SEC-A13: programs that exit, receive signals, and share their libraries
 * SPDX-License-Identifier: Apache-2.0
 *
 * Each part runs this program again in a separate process. WHERRY_ABUSE names the part, and
 * WHERRY_ABUSE_URL is a URL of the test server. The exit status is the result. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "server.h"

extern char **environ;

/* ---- In the child ---------------------------------------------------------------------------- */

#define MUST(condition)                                                  \
  do {                                                                   \
    if (!(condition)) {                                                  \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, \
              wherry_error_message(wherry_last_error()));                \
      _exit(3);                                                          \
    }                                                                    \
  } while (0)

static wherry_client *client;
static wherry_queue *queue;
static const char *place;

static void begin(void) {
  wherry_config *config = NULL;
  MUST(wherry_config_new(&config) == WHERRY_OK);
  /* Transfers in flight leave connections for others. */
  MUST(wherry_config_set_option(config, WHERRY_OPTION_MAX_PER_HOST, 64) == WHERRY_OK);
  MUST(wherry_config_set_option(config, WHERRY_OPTION_MAX_CONNECTIONS, 64) == WHERRY_OK);
  MUST(wherry_client_new(config, &client) == WHERRY_OK);
  MUST(wherry_config_free(config) == WHERRY_OK);
  MUST(wherry_queue_new(&queue) == WHERRY_OK);
}

static wherry_request *request_of(const char *path) {
  char url[512];
  wherry_request *request = NULL;
  snprintf(url, sizeof url, "%s%s", place, path);
  MUST(wherry_request_new("GET", url, &request) == WHERRY_OK);
  return request;
}

static void start(const char *path) {
  wherry_request *request = request_of(path);
  MUST(wherry_client_send(client, request, queue, NULL, NULL) == WHERRY_OK);
  MUST(wherry_request_free(request) == WHERRY_OK);
}

static wherry_status get(const char *path) {
  wherry_request *request = request_of(path);
  wherry_response *response = NULL;
  wherry_status status = wherry_client_perform(client, request, &response);
  wherry_response_free(response);
  MUST(wherry_request_free(request) == WHERRY_OK);
  return status;
}

/* Exits while twenty requests wait, one streams, and a thread is inside a blocking call. */
static void *block(void *_) {
  get("/silent");
  return NULL;
}

static void leave(void) {
  pthread_t thread;
  begin();
  for (int i = 0; i < 20; i++) start("/silent");
  start("/bytes/100000000?rate=1000");
  MUST(pthread_create(&thread, NULL, block, NULL) == 0);
  MUST(get("/bytes/10") == WHERRY_OK);
  exit(0);
}

/* No library thread receives a signal, and no library call fails because of one. */
static atomic_int alarms;
static pthread_t own;
static void on_alarm(int _) {
  alarms++;
  if (!pthread_equal(pthread_self(), own)) _exit(4);
}

static int blocks_all(const char *task) {
  char path[300], line[256];
  unsigned long long blocked = 0;
  snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
  FILE *file = fopen(path, "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    sscanf(line, "SigBlk: %llx", &blocked);
  if (file != NULL) fclose(file);
  const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD, SIGPIPE};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
    if ((blocked >> (signals[i] - 1) & 1) == 0) return 0;
  return 1;
}

static void be_signalled(void) {
  own = pthread_self();
  signal(SIGPIPE, SIG_DFL);                           /* which would end the program */
  struct sigaction action = {.sa_handler = on_alarm}; /* without SA_RESTART */
  MUST(sigaction(SIGALRM, &action, NULL) == 0);
  begin();
  start("/bytes/1000000?rate=3000000");
  /* The network thread exists once the first event arrives. */
  wherry_event *event = NULL;
  MUST(wherry_queue_next(queue, 600000, &event) == WHERRY_OK);
  MUST(wherry_event_free(event) == WHERRY_OK);
  DIR *tasks = opendir("/proc/self/task");
  MUST(tasks != NULL);
  char name[32];
  snprintf(name, sizeof name, "%d", getpid());
  int count = 0;
  for (struct dirent *entry = readdir(tasks); entry != NULL; entry = readdir(tasks)) {
    if (entry->d_name[0] == '.' || strcmp(entry->d_name, name) == 0) continue;
    count++;
    MUST(blocks_all(entry->d_name));
  }
  closedir(tasks);
  MUST(count > 0);
  struct itimerval often = {{0, 2000}, {0, 2000}};
  MUST(setitimer(ITIMER_REAL, &often, NULL) == 0);
  for (int i = 0; i < 20 || alarms < 20; i++) {
    MUST(get("/bytes/300000?rate=10000000") == WHERRY_OK);
    MUST(get("/bytes/300000?reset=1000") != WHERRY_OK);
  }
  char url[512];
  wherry_request *request = NULL;
  snprintf(url, sizeof url, "%s/sink?reset_body=1000", place);
  MUST(wherry_request_new("POST", url, &request) == WHERRY_OK);
  char *body = calloc(1, 3000000);
  MUST(body != NULL && wherry_request_set_body(request, body, 3000000, "a/b") == WHERRY_OK);
  for (int i = 0; i < 5; i++) {
    wherry_response *response = NULL;
    MUST(wherry_client_perform(client, request, &response) == WHERRY_E_NETWORK);
    wherry_response_free(response);
  }
  free(body);
  exit(0);
}

/* Other code in the process initializes libcurl and cleans it up, before, between, and after. */
static void share(void) {
  void *curl = dlopen("libcurl.so.4", RTLD_LAZY);
  MUST(curl != NULL);
  int (*init)(long) = (int (*)(long))dlsym(curl, "curl_global_init");
  void (*cleanup)(void) = (void (*)(void))dlsym(curl, "curl_global_cleanup");
  MUST(init != NULL && cleanup != NULL);
  MUST(init(3) == 0);
  begin();
  MUST(get("/bytes/10") == WHERRY_OK);
  for (int i = 0; i < 3; i++) {
    cleanup();
    MUST(get("/bytes/10") == WHERRY_OK);
    wherry_client *other = NULL;
    MUST(wherry_client_new(NULL, &other) == WHERRY_OK);
    MUST(wherry_client_free(other) == WHERRY_OK);
    MUST(init(3) == 0);
  }
  MUST(wherry_client_free(client) == WHERRY_OK);
  dlclose(curl);
  exit(0);
}

/* Unloaded once more than it was loaded: it stays loaded. */
static void unload(void) {
  Dl_info info;
  MUST(dladdr((void *)wherry_client_new, &info) != 0);
  begin();
  start("/silent");
  for (int i = 0; i < 5; i++) {
    void *library = dlopen(info.dli_fname, RTLD_LAZY);
    MUST(library != NULL);
    dlclose(library);
    dlclose(library);
    MUST(get("/bytes/10") == WHERRY_OK);
  }
  exit(0);
}

static const struct {
  const char *name;
  void (*function)(void);
} parts[] = {
    {"leave", leave}, {"be signalled", be_signalled}, {"share", share}, {"unload", unload}};

__attribute__((constructor)) static void be_child(void) {
  const char *name = getenv("WHERRY_ABUSE");
  place = getenv("WHERRY_ABUSE_URL");
  if (name == NULL || place == NULL) return;
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (strcmp(parts[i].name, name) == 0) parts[i].function();
  _exit(5);
}

/* ---- In the test ----------------------------------------------------------------------------- */

/* The exit status of the part; a signal as 128 plus its number. */
static int run(const char *name) {
  setenv("WHERRY_ABUSE", name, 1);
  setenv("WHERRY_ABUSE_URL", server_url("%s", ""), 1);
  char *words[] = {"test_abuse", NULL}, program[4096];
  /* By its name: valgrind would follow the link to its own program. */
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  REQUIRE(length > 0);
  program[length] = '\0';
  pid_t child = 0;
  int status = 0, failure = posix_spawn(&child, program, NULL, NULL, words, environ);
  unsetenv("WHERRY_ABUSE");
  unsetenv("WHERRY_ABUSE_URL");
  REQUIRE_INT(failure, 0);
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

TEST("SEC-A11 a program may exit while transfers are in flight and threads wait for them") {
  for (int i = 0; i < (check_in_full() ? 100 : 10); i++) CHECK_INT(run("leave"), 0);
}

TEST("SEC-A12 library threads receive no signals, no signal ends a call, SIGPIPE is not raised") {
  CHECK_INT(run("be signalled"), 0);
}

TEST("SEC-A13 other code may initialize and clean up libcurl in the same process") {
  CHECK_INT(run("share"), 0);
}

TEST("SEC-A10 an unloaded library stays in memory") { CHECK_INT(run("unload"), 0); }
