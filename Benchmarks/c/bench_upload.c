/* Wherry: multipart uploads of a file with libcurl's MIME API and a send buffer of 1 MiB
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: bench_upload URL FILE COUNT */
#include <curl/curl.h>
#include <sys/stat.h>

#include "bench.h"

enum { BUFFER = 1024 * 1024 };

static size_t on_body(char *bytes, size_t size, size_t count, void *user) {
  (void)bytes, (void)user;
  return size * count;
}

int main(int count, char **arguments) {
  if (count != 4) bench_fail("usage", "bench_upload URL FILE COUNT");
  long total = atol(arguments[3]), failed = 0;
  struct stat status;
  if (stat(arguments[2], &status) != 0) bench_fail(arguments[2], "is not there");
  curl_global_init(CURL_GLOBAL_ALL);
  CURL *easy = curl_easy_init();
  struct curl_slist *headers = curl_slist_append(NULL, "Expect:");
  curl_easy_setopt(easy, CURLOPT_URL, arguments[1]);
  curl_easy_setopt(easy, CURLOPT_PROXY, "");
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)BUFFER);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
  bench begun = bench_begin();
  for (long i = 0; i < total; i++) {
    long code = 0;
    curl_mime *mime = curl_mime_init(easy);
    curl_mimepart *part = curl_mime_addpart(mime);
    curl_mime_name(part, "file");
    curl_mime_filedata(part, arguments[2]);
    curl_mime_type(part, "application/octet-stream");
    curl_easy_setopt(easy, CURLOPT_MIMEPOST, mime);
    CURLcode result = curl_easy_perform(easy);
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &code);
    failed += result != CURLE_OK || code != 200;
    curl_easy_setopt(easy, CURLOPT_MIMEPOST, NULL);
    curl_mime_free(mime);
  }
  bench_end(begun, total, failed, (int64_t)status.st_size * total);
  curl_easy_cleanup(easy);
  curl_slist_free_all(headers);
  return failed != 0;
}
