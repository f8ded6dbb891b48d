/* Wherry: sequential GETs with curl_easy_perform
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_get_sync URL REQUESTS */
#include <curl/curl.h>

#include "bench.h"

enum { WARM_UP = 64 };
static int64_t received;

static size_t on_body(char *bytes, size_t size, size_t count, void *user) {
  (void)bytes, (void)user;
  received += (int64_t)(size * count);
  return size * count;
}

static long run(CURL *easy, long total) {
  long failed = 0;
  for (long i = 0; i < total; i++) {
    long code = 0;
    CURLcode result = curl_easy_perform(easy);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    failed += result != CURLE_OK || code != 200;
  }
  return failed;
}

int main(int count, char **arguments) {
  if (count != 3) bench_fail("usage", "bench_get_sync URL REQUESTS");
  long total = atol(arguments[2]);
  curl_global_init(CURL_GLOBAL_ALL);
  CURL *easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_URL, arguments[1]);
  /* Sends the same bytes as the other drivers. */
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "wherry/0.1.0");
  curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "identity");
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  run(easy, WARM_UP);
  received = 0;
  bench begun = bench_begin();
  long failed = run(easy, total);
  bench_end(begun, total, failed, received);
  curl_easy_cleanup(easy);
  return failed != 0;
}
