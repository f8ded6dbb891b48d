/* Wherry: a program in which other code uses libcurl too
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: curl_child ORDER CURL LIBRARY URL TLS_URL
 *
 * ORDER is `before` or `after`: which of the file CURL, some build of libcurl, and LIBRARY is
 * loaded first. Both make requests in turn and at the same time, while libcurl is initialized and
 * cleaned up again and again. Exits with 77 if CURL cannot be loaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wherry.h>

/* From curl.h, which promises that the numbers do not change. */
enum {
  GLOBAL_ALL = 3,
  OPT_WRITEFUNCTION = 20011,
  OPT_URL = 10002,
  OPT_SSL_VERIFYPEER = 64,
  OPT_SSL_VERIFYHOST = 81,
  OPT_NOSIGNAL = 99,
  OPT_PROXY = 10004
};

static int (*global_init)(long);
static void (*global_cleanup)(void);
static void *(*easy_init)(void);
static int (*easy_setopt)(void *, int, ...);
static int (*easy_perform)(void *);
static void (*easy_cleanup)(void *);

static const char *url, *tls_url;
static void *library;
static wherry_client *client;
static atomic_bool stop;

static void fail(const char *what, int code) {
  fprintf(stderr, "%s: %d\n", what, code);
  exit(3);
}

#define LOOK_UP(in, pointer, name)              \
  do {                                          \
    *(void **)&(pointer) = dlsym((in), (name)); \
    if ((pointer) == NULL) fail("no " name, 0); \
  } while (0)
/* A function of the library, with the type of its declaration. */
#define FUNCTION(name)       \
  __typeof__(name) *name##_; \
  LOOK_UP(library, name##_, #name)

static void load_curl(const char *file) {
  /* The build's own functions, even if another one is loaded already. */
  void *curl = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (curl == NULL) exit(77);
  LOOK_UP(curl, global_init, "curl_global_init");
  LOOK_UP(curl, global_cleanup, "curl_global_cleanup");
  LOOK_UP(curl, easy_init, "curl_easy_init");
  LOOK_UP(curl, easy_setopt, "curl_easy_setopt");
  LOOK_UP(curl, easy_perform, "curl_easy_perform");
  LOOK_UP(curl, easy_cleanup, "curl_easy_cleanup");
}

static size_t count_bytes(const void *bytes, size_t size, size_t count, size_t *total) {
  (void)bytes;
  *total += size * count;
  return size * count;
}

/* A request of the other code. */
static void curl_get(const char *address) {
  enum { OPT_WRITEDATA = 10001 };
  size_t total = 0;
  void *easy = easy_init();
  if (easy == NULL) fail("curl_easy_init", 0);
  easy_setopt(easy, OPT_URL, address);
  easy_setopt(easy, OPT_PROXY, "");
  easy_setopt(easy, OPT_NOSIGNAL, 1L);
  easy_setopt(easy, OPT_SSL_VERIFYPEER, 0L);
  easy_setopt(easy, OPT_SSL_VERIFYHOST, 0L);
  easy_setopt(easy, OPT_WRITEFUNCTION, count_bytes);
  easy_setopt(easy, OPT_WRITEDATA, &total);
  int code = easy_perform(easy);
  if (code != 0 || total == 0) fail(address, code);
  easy_cleanup(easy);
}

static void curl_get_both(void) {
  curl_get(url);
  curl_get(tls_url);
}

static void *curl_get_often(void *nothing) {
  do curl_get_both();
  while (!atomic_load(&stop));
  return nothing;
}

static void make_client(void) {
  wherry_config *config = NULL;
  FUNCTION(wherry_config_new);
  FUNCTION(wherry_config_set_option);
  FUNCTION(wherry_config_free);
  FUNCTION(wherry_client_new);
  if (wherry_config_new_(&config) != WHERRY_OK) fail("config", 0);
  if (wherry_config_set_option_(config, WHERRY_OPTION_INSECURE, 1) != WHERRY_OK) fail("option", 0);
  int status = wherry_client_new_(config, &client);
  if (status != WHERRY_OK) fail("client", status);
  wherry_status freed = wherry_config_free_(config);
  if (freed != WHERRY_OK) fail("free", freed);
}

static void free_client(void) {
  FUNCTION(wherry_client_free);
  if (wherry_client_free_(client) != WHERRY_OK) fail("free", 0);
}

static void wherry_get_both(void) {
  FUNCTION(wherry_request_new);
  FUNCTION(wherry_request_free);
  FUNCTION(wherry_client_perform);
  FUNCTION(wherry_response_free);
  const char *addresses[] = {url, tls_url};
  for (int i = 0; i < 2; i++) {
    wherry_request *request = NULL;
    wherry_response *response = NULL;
    if (wherry_request_new_("GET", addresses[i], &request) != WHERRY_OK) fail("request", 0);
    int status = wherry_client_perform_(client, request, &response);
    if (status != WHERRY_OK) fail("perform", status);
    if (wherry_response_free_(response) != WHERRY_OK) fail("free", 0);
    if (wherry_request_free_(request) != WHERRY_OK) fail("free", 0);
  }
}

int main(int count, char **words) {
  if (count != 6) return 2;
  url = words[4], tls_url = words[5];
  bool is_before = strcmp(words[1], "before") == 0;
  if (is_before) load_curl(words[2]);
  if (is_before) { /* a complete life before Wherry's */
    global_init(GLOBAL_ALL);
    curl_get_both();
    global_cleanup();
    global_init(GLOBAL_ALL);
  }
  library = dlopen(words[3], RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) fail(dlerror(), 0);
  if (!is_before) load_curl(words[2]);
  make_client();
  wherry_get_both();
  if (!is_before) global_init(GLOBAL_ALL);
  for (int i = 0; i < 3; i++) {
    pthread_t thread;
    atomic_store(&stop, false);
    if (pthread_create(&thread, NULL, curl_get_often, NULL) != 0) fail("thread", 0);
    for (int j = 0; j < 5; j++) wherry_get_both();
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    global_cleanup();
    wherry_get_both();
    global_init(GLOBAL_ALL);
    curl_get_both();
  }
  free_client();
  curl_get_both();
  global_cleanup();
  global_init(GLOBAL_ALL); /* a complete life after Wherry's, and another client */
  curl_get_both();
  make_client();
  wherry_get_both();
  curl_get_both();
  global_cleanup();
  free_client();
  return 0;
}
