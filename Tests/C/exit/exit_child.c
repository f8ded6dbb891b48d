/* Wherry: a program that exits while the library works
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: exit_child WAY WORK URL COUNT DELAY_US FILE [initialized]
 *
 * Starts COUNT transfers, waits until the work has begun and DELAY_US microseconds more, and ends.
 * With the way `stuck` or `join-stuck`, the network thread is busy during the exit. Just before the
 * end, the program writes the time of the monotonic clock to standard output, in nanoseconds. FILE
 * is the target of a download. The work `queued` allows one connection. With `initialized`, the
 * program has initialized OpenSSL before, as Python does with `import ssl`. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wherry.h>

static wherry_client *client;
static const char *url, *file;
static pthread_barrier_t started;

static void fail(const char *what) {
  const wherry_error *error = wherry_last_error();
  fprintf(stderr, "%s: %s\n", what, error == NULL ? "" : wherry_error_message(error));
  _exit(3);
}

static void note_end(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  char text[32];
  int count = snprintf(text, sizeof text, "%lld\n", now.tv_sec * 1000000000LL + now.tv_nsec);
  if (write(1, text, (size_t)count) != count) _exit(4);
}

static void free_client(void) { wherry_client_free(client); }

static void *free_on_thread(void *nothing) {
  free_client();
  return nothing;
}

static wherry_request *request_for(const char *address) {
  wherry_request *request = NULL;
  if (wherry_request_new("GET", address, &request) != WHERRY_OK) fail("request");
  return request;
}

static void *perform(void *nothing) {
  wherry_response *response = NULL;
  wherry_request *request = request_for(url);
  pthread_barrier_wait(&started);
  wherry_status status = wherry_client_perform(client, request, &response);
  (void)status;
  return nothing;
}

static void *leave(void *nothing) {
  note_end();
  exit(0);
  return nothing;
}

/* A thread in a blocking call, or in one that frees the client. */
static pthread_t blocked;
static void join_blocked(void) { pthread_join(blocked, NULL); }

static volatile sig_atomic_t is_stuck;
static void stick(int signal) {
  (void)signal;
  is_stuck = 1;
  nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
}

/* Keeps the network thread busy for longer than the exit of the process waits for it. Of the
 * signals that library threads do not block, SIGTRAP is the harmless one. */
static void stick_network_thread(void) {
  signal(SIGTRAP, stick);
  DIR *threads = opendir("/proc/self/task");
  if (threads == NULL) fail("tasks");
  for (struct dirent *thread; (thread = readdir(threads)) != NULL;) {
    char path[300], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/comm", thread->d_name);
    FILE *comm = fopen(path, "r");
    if (comm == NULL) continue;
    if (fgets(name, sizeof name, comm) != NULL && strcmp(name, "wherry-network\n") == 0) {
      tgkill(getpid(), atoi(thread->d_name), SIGTRAP);
      while (!is_stuck) sched_yield();
    }
    fclose(comm);
  }
  closedir(threads);
}

static void begin(const char *work, int count) {
  wherry_queue *queue = NULL;
  if (wherry_queue_new(&queue) != WHERRY_OK) fail("queue");
  if (strcmp(work, "blocking") == 0) {
    pthread_barrier_init(&started, NULL, (unsigned)count + 1);
    for (int i = 0; i < count; i++)
      if (pthread_create(&blocked, NULL, perform, NULL) != 0) fail("thread");
    pthread_barrier_wait(&started);
  } else if (strcmp(work, "download") == 0) {
    wherry_request *request = request_for(url);
    if (wherry_request_set_option(request, WHERRY_OPTION_SEGMENTS, count) != WHERRY_OK)
      fail("segments");
    if (wherry_client_download(client, request, file, queue, NULL, NULL) != WHERRY_OK)
      fail("download");
    for (;;) { /* until bytes have arrived */
      wherry_event *event = NULL;
      if (wherry_queue_next(queue, 20000, &event) != WHERRY_OK) fail("no progress");
      if (wherry_event_get_kind(event) == WHERRY_EVENT_DONE) fail("the download has ended");
      bool moves = wherry_event_get_kind(event) == WHERRY_EVENT_PROGRESS;
      wherry_event_free(event);
      if (moves) break;
    }
  } else {
    wherry_request *request = request_for(url);
    if (strcmp(work, "upload") == 0) {
      /* More than the socket buffers hold, so that the request is never complete. */
      static char body[64 << 20];
      if (wherry_request_set_method(request, "POST") != WHERRY_OK ||
          wherry_request_set_body(request, body, sizeof body, NULL) != WHERRY_OK)
        fail("body");
    }
    for (int i = 0; i < count; i++)
      if (wherry_client_send(client, request, queue, NULL, NULL) != WHERRY_OK) fail("send");
  }
}

int main(int count, char **words) {
  if (count < 7) return 2;
  const char *way = words[1];
  url = words[3];
  file = words[6];
  if (count > 7) { /* "initialized" */
    void *ssl = dlopen("libssl.so.3", RTLD_NOW);
    int (*init)(uint64_t, const void *) = NULL;
    if (ssl != NULL) *(void **)&init = dlsym(ssl, "OPENSSL_init_ssl");
    if (init == NULL || init(0, NULL) != 1) return 2;
  }
  if (strcmp(way, "atexit") == 0 || strcmp(way, "stuck") == 0) atexit(free_client);
  if (strcmp(way, "join") == 0 || strcmp(way, "join-free") == 0 || strcmp(way, "join-stuck") == 0)
    atexit(join_blocked);
  wherry_config *config = NULL;
  if (wherry_config_new(&config) != WHERRY_OK) fail("config");
  if (wherry_config_set_option(config, WHERRY_OPTION_INSECURE, 1) != WHERRY_OK) fail("option");
  int64_t connections = strcmp(words[2], "queued") == 0 ? 1 : 64;
  if (wherry_config_set_option(config, WHERRY_OPTION_MAX_PER_HOST, connections) != WHERRY_OK)
    fail("option");
  if (wherry_client_new(config, &client) != WHERRY_OK) fail("client");
  if (strcmp(way, "atexit-late") == 0) atexit(free_client);
  begin(words[2], atoi(words[4]));
  usleep((useconds_t)atoi(words[5]));

  if (strcmp(way, "thread") == 0) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, leave, NULL) != 0) fail("thread");
    for (;;) pause();
  }
  if (strstr(way, "stuck") != NULL) stick_network_thread();
  if ((strcmp(way, "join-free") == 0 || strcmp(way, "join-stuck") == 0) &&
      pthread_create(&blocked, NULL, free_on_thread, NULL) != 0)
    fail("thread");
  note_end();
  if (strcmp(way, "quick_exit") == 0) quick_exit(0);
  if (strcmp(way, "exit") == 0) exit(0);
  return 0;
}
