/* Wherry: a program that loads the library while it runs
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: load_child LIBRARY URL TIMES
 *
 * Loads the library, makes a request with a new client, and unloads the library, TIMES times. With
 * 0, it only loads the library, and makes objects that need no client. Prints how many descriptors,
 * threads, and allocated bytes were added after the first rounds, or since before the load. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <wherry.h>

#include "counts.h"

enum { WARM_UP = 10 };

static void fail(const char *what) {
  const char *reason = dlerror();
  fprintf(stderr, "%s: %s\n", what, reason == NULL ? "" : reason);
  exit(3);
}

/* A function of the library, with the type of its declaration. */
#define FUNCTION(name) __typeof__(name) *name##_ = (__typeof__(name) *)dlsym(library, #name)

static void make_objects(void *library) {
  wherry_config *config = NULL;
  wherry_request *request = NULL;
  wherry_json *json = NULL;
  FUNCTION(wherry_library_version);
  FUNCTION(wherry_config_new);
  FUNCTION(wherry_config_free);
  FUNCTION(wherry_request_new);
  FUNCTION(wherry_request_free);
  FUNCTION(wherry_json_parse);
  FUNCTION(wherry_json_free);
  if (wherry_library_version_() != WHERRY_VERSION_NUMBER) fail("version");
  if (wherry_config_new_(&config) != WHERRY_OK) fail("config");
  if (wherry_request_new_("GET", "http://127.0.0.1/", &request) != WHERRY_OK) fail("request");
  if (wherry_json_parse_("[1]", 3, &json) != WHERRY_OK) fail("json");
  if (wherry_config_free_(config) != WHERRY_OK || wherry_request_free_(request) != WHERRY_OK ||
      wherry_json_free_(json) != WHERRY_OK)
    fail("free");
}

static void request_once(void *library, const char *url) {
  wherry_client *client = NULL;
  wherry_request *request = NULL;
  wherry_response *response = NULL;
  FUNCTION(wherry_client_new);
  FUNCTION(wherry_client_perform);
  FUNCTION(wherry_client_free);
  FUNCTION(wherry_request_new);
  FUNCTION(wherry_request_free);
  FUNCTION(wherry_response_http_code);
  FUNCTION(wherry_response_free);
  if (wherry_client_new_(NULL, &client) != WHERRY_OK) fail("client");
  if (wherry_request_new_("GET", url, &request) != WHERRY_OK) fail("request");
  if (wherry_client_perform_(client, request, &response) != WHERRY_OK) fail("perform");
  if (wherry_response_http_code_(response) != 200) fail("status");
  if (wherry_response_free_(response) != WHERRY_OK) fail("free");
  if (wherry_request_free_(request) != WHERRY_OK) fail("free");
  if (wherry_client_free_(client) != WHERRY_OK) fail("free");
}

int main(int count, char **words) {
  if (count != 4) return 2;
  int times = atoi(words[3]);
  long descriptors_before = descriptors(), threads = threads_down_to(1), bytes = allocated();
  void *library = dlopen(words[1], RTLD_NOW);
  if (library == NULL) fail("load");
  if (times == 0) make_objects(library);
  for (int i = 0; i < times + WARM_UP && times > 0; i++) {
    if (library == NULL) library = dlopen(words[1], (i % 2 ? RTLD_NOW : RTLD_LAZY) | RTLD_GLOBAL);
    if (library == NULL) fail("load again");
    request_once(library, words[2]);
    if (dlclose(library) != 0) fail("unload");
    library = NULL;
    if (i == WARM_UP - 1) {
      descriptors_before = descriptors();
      threads = threads_down_to(1);
      bytes = allocated();
    }
  }
  printf("descriptors %ld threads %ld bytes %ld\n", descriptors() - descriptors_before,
         threads_down_to(threads) - threads, allocated() - bytes);
  return 0;
}
