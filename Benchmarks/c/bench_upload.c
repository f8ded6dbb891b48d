/* Wherry: multipart uploads of a file with libcurl's MIME API and a send buffer of 1 MiB
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_upload URL FILE COUNT [CA] */
#include <curl/curl.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "bench.h"

enum { BUFFER = 1024 * 1024 };

static size_t on_body(char *bytes, size_t size, size_t count, void *user) {
  (void)bytes, (void)user;
  return size * count;
}

/* Sends one form; returns whether it failed. */
static bool upload(CURL *easy, const char *path) {
  long code = 0;
  curl_mime *mime = curl_mime_init(easy);
  curl_mimepart *part = curl_mime_addpart(mime);
  curl_mime_name(part, "file");
  curl_mime_filedata(part, path);
  curl_mime_type(part, "application/octet-stream");
  curl_easy_setopt(easy, CURLOPT_MIMEPOST, mime);
  CURLcode result = curl_easy_perform(easy);
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
  curl_easy_setopt(easy, CURLOPT_MIMEPOST, NULL);
  curl_mime_free(mime);
  return result != CURLE_OK || code != 200;
}

int main(int count, char **arguments) {
  if (count < 4 || count > 5) bench_fail("usage", "bench_upload URL FILE COUNT [CA]");
  long total = atol(arguments[3]), failed = 0;
  struct stat status;
  if (stat(arguments[2], &status) != 0) bench_fail(arguments[2], "is not there");
  curl_global_init(CURL_GLOBAL_ALL);
  CURL *easy = curl_easy_init();
  struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
  curl_easy_setopt(easy, CURLOPT_URL, arguments[1]);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  if (count > 4) curl_easy_setopt(easy, CURLOPT_CAINFO, arguments[4]);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)BUFFER);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  bench begun = bench_begin();
  upload(easy, arguments[2]);
  bench_restart(&begun);
  for (long i = 0; i < total; i++) failed += upload(easy, arguments[2]);
  bench_end(begun, total, failed, (int64_t)status.st_size * total);
  curl_easy_cleanup(easy);
  curl_slist_free_all(headers);
  return failed != 0;
}
