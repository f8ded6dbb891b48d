/* Wherry: the CPU time of HTTPS requests over new connections, through Wherry or libcurl
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_cold URL [CA]
 *
 * Prints the CPU time, in microseconds, of four steps: create a client and send its first request,
 * send a request over another connection, create a second client and send a request, and create a
 * third client after the others were freed. Without a CA file, the default roots are used.
 * Compiled with -DWITH_WHERRY, it uses Wherry, and otherwise libcurl. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef WITH_WHERRY
#include <wherry.h>

typedef wherry_client client;

static void check(wherry_status status) {
  if (status == WHERRY_OK) return;
  fprintf(stderr, "%s\n", wherry_error_message(wherry_last_error()));
  exit(1);
}

static client *make(const char *ca) {
  wherry_config *config = NULL;
  wherry_client *made = NULL;
  check(wherry_config_new(&config));
  if (ca != NULL) check(wherry_config_set_text(config, WHERRY_TEXT_CA_FILE, ca));
  check(wherry_config_set_option(config, WHERRY_OPTION_KEEP_ALIVE, 0));
  check(wherry_client_new(config, &made));
  check(wherry_config_free(config));
  return made;
}

static void get(client *used, const char *url) {
  wherry_request *request = NULL;
  wherry_response *response = NULL;
  check(wherry_request_new("GET", url, &request));
  check(wherry_client_perform(used, request, &response));
  check(wherry_request_free(request));
  check(wherry_response_free(response));
}

static void drop(client *used) { check(wherry_client_free(used)); }

#else
#include <curl/curl.h>

typedef CURL client;

static size_t ignore(char *bytes, size_t size, size_t count, void *context) {
  (void)bytes, (void)context;
  return size * count;
}

static client *make(const char *ca) {
  CURL *made = curl_easy_init();
  curl_easy_setopt(made, CURLOPT_WRITEFUNCTION, ignore);
  if (ca != NULL) {
    curl_easy_setopt(made, CURLOPT_CAINFO, ca);
    curl_easy_setopt(made, CURLOPT_CAPATH, NULL);
  }
  return made;
}

static void get(client *used, const char *url) {
  curl_easy_setopt(used, CURLOPT_URL, url);
  curl_easy_setopt(used, CURLOPT_FORBID_REUSE, 1L);
  CURLcode code = curl_easy_perform(used);
  if (code == CURLE_OK) return;
  fprintf(stderr, "%s\n", curl_easy_strerror(code));
  exit(1);
}

static void drop(client *used) { curl_easy_cleanup(used); }
#endif

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

int main(int count, char **words) {
  if (count < 2) return 2;
  const char *ca = count > 2 && words[2][0] != '\0' ? words[2] : NULL;
  double begun = now();
  client *first = make(ca);
  get(first, words[1]);
  double one = now();
  get(first, words[1]);
  double two = now();
  client *second = make(ca);
  get(second, words[1]);
  double three = now();
  drop(second);
  drop(first);
  double four = now();
  client *third = make(ca);
  get(third, words[1]);
  double five = now();
  drop(third);
  printf("%.0f %.0f %.0f %.0f\n", one - begun, two - one, three - two, five - four);
  return 0;
}
