/* Wherry: a typical download with libcurl, with a receive buffer of 256 KiB
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_download URL PATH COUNT [CA [1.1]]
 *
 * CA is a certificate file for https; 1.1 forces that HTTP version. */
#include <curl/curl.h>
#include <fcntl.h>
#include <unistd.h>

#include "bench.h"

enum { BUFFER = 256 * 1024 };
static int64_t received;

static size_t on_body(char *bytes, size_t size, size_t count, void *user) {
  size_t total = size * count, written = 0;
  while (written < total) {
    ssize_t step = write(*(int *)user, bytes + written, total - written);
    if (step < 0) return written;
    written += (size_t)step;
  }
  received += (int64_t)total;
  return total;
}

int main(int count, char **arguments) {
  if (count < 4 || count > 6) bench_fail("usage", "bench_download URL PATH COUNT [CA [1.1]]");
  long total = atol(arguments[3]), failed = 0;
  int file;
  curl_global_init(CURL_GLOBAL_ALL);
  CURL *easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_URL, arguments[1]);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)BUFFER);
  curl_easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
  if (count > 4) curl_easy_setopt(easy, CURLOPT_CAINFO, arguments[4]);
  if (count > 5) curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &file);
  bench begun = bench_begin();
  for (long i = 0; i < total; i++) {
    unlink(arguments[2]);
    file = open(arguments[2], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0) bench_fail(arguments[2], "cannot be made");
    failed += curl_easy_perform(easy) != CURLE_OK;
    failed += close(file) != 0;
  }
  bench_end(begun, total, failed, received);
  curl_easy_cleanup(easy);
  return failed != 0;
}
