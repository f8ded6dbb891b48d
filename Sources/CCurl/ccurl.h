/* Wherry: typed wrappers of libcurl's variadic functions. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>

/* Swift cannot call variadic functions, and each option has its own type. The compiler inlines
 * these wrappers (5 to 9 ns a call, as from C). */

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_headers(CURL *easy, struct curl_slist *list) {
  return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
}

/* The list must outlive its use by the handle. */
static inline CURLcode ccurl_set_resolve(CURL *easy, struct curl_slist *hosts) {
  return curl_easy_setopt(easy, CURLOPT_RESOLVE, hosts);
}

static inline CURLcode ccurl_set_share(CURL *easy, CURLSH *share) {
  return curl_easy_setopt(easy, CURLOPT_SHARE, share);
}

static inline CURLcode ccurl_set_blob(CURL *easy, CURLoption option, const void *bytes,
                                      size_t count) {
  struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
  return curl_easy_setopt(easy, option, &blob);
}

/* The bytes must outlive the handle. */
static inline CURLcode ccurl_set_lent_blob(CURL *easy, CURLoption option, const void *bytes,
                                           size_t count) {
  struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_NOCOPY};
  return curl_easy_setopt(easy, option, &blob);
}

typedef size_t (*ccurl_data_function)(char *bytes, size_t size, size_t count, void *context);
typedef int (*ccurl_seek_function)(void *context, curl_off_t offset, int origin);
typedef int (*ccurl_close_function)(void *context, curl_socket_t socket);

static inline CURLcode ccurl_set_write(CURL *easy, ccurl_data_function function, void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, function);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
}

static inline CURLcode ccurl_set_header(CURL *easy, ccurl_data_function function, void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, function);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
}

static inline CURLcode ccurl_set_read(CURL *easy, ccurl_data_function function, void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_READFUNCTION, function);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_READDATA, context);
}

static inline CURLcode ccurl_set_seek(CURL *easy, ccurl_seek_function function, void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, function);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_SEEKDATA, context);
}

static inline CURLcode ccurl_set_sockopt(CURL *easy, curl_sockopt_callback function,
                                         void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, function);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, context);
}

static inline CURLcode ccurl_set_open_socket(CURL *easy, curl_opensocket_callback function,
                                             void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, function);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
}

static inline CURLcode ccurl_set_close(CURL *easy, ccurl_close_function function, void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, function);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, context);
}

static inline CURLcode ccurl_set_prereq(CURL *easy, curl_prereq_callback function, void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_PREREQDATA, context);
}

static inline CURLcode ccurl_set_debug(CURL *easy, curl_debug_callback function, void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_DEBUGFUNCTION, function);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_DEBUGDATA, context);
}

static inline CURLcode ccurl_set_ssl_context(CURL *easy, curl_ssl_ctx_callback function,
                                             void *context) {
  CURLcode code = curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, function);
  return code != CURLE_OK ? code : curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, context);
}

static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_text(CURL *easy, CURLINFO info, char **value) {
  return curl_easy_getinfo(easy, info, value);
}

static inline CURLcode ccurl_get_pointer(CURL *easy, void **value) {
  return curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)value);
}

/* The SSL connection that the handle uses; NULL if it has none or TLS is not OpenSSL. */
static inline void *ccurl_get_tls(CURL *easy) {
  struct curl_tlssessioninfo *info = NULL;
  if (curl_easy_getinfo(easy, CURLINFO_TLS_SSL_PTR, &info) != CURLE_OK || info == NULL ||
      info->backend != CURLSSLBACKEND_OPENSSL)
    return NULL;
  return info->internals;
}

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}

static inline CURLMcode ccurl_multi_set_socket(CURLM *multi, curl_socket_callback function,
                                               void *context) {
  CURLMcode code = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, function);
  return code != CURLM_OK ? code : curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
}

static inline CURLMcode ccurl_multi_set_timer(CURLM *multi, curl_multi_timer_callback function,
                                              void *context) {
  CURLMcode code = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, function);
  return code != CURLM_OK ? code : curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

/* The next completed handle and its result; NULL if there is none. */
static inline CURL *ccurl_multi_next_done(CURLM *multi, CURLcode *result) {
  int left = 0;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left)) != NULL)
    if (message->msg == CURLMSG_DONE) {
      *result = message->data.result;
      return message->easy_handle;
    }
  return NULL;
}

static inline CURLSHcode ccurl_share_data(CURLSH *share, curl_lock_data data) {
  return curl_share_setopt(share, CURLSHOPT_SHARE, data);
}

static inline CURLcode ccurl_global_init(void) { return curl_global_init(CURL_GLOBAL_ALL); }

/* The version of libcurl in this process, such as 0x075800 for 7.88.0, and its text. */
static inline unsigned ccurl_version(const char **text) {
  const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
  *text = info->version;
  return info->version_num;
}

/* Macros that Swift does not import. */
enum {
  CCURL_WRITE_PAUSE = CURL_WRITEFUNC_PAUSE,
  CCURL_READ_PAUSE = CURL_READFUNC_PAUSE,
  CCURL_READ_ABORT = CURL_READFUNC_ABORT,
  CCURL_SEEK_OK = CURL_SEEKFUNC_OK,
  CCURL_SEEK_FAIL = CURL_SEEKFUNC_FAIL,
  CCURL_PREREQ_OK = CURL_PREREQFUNC_OK,
  CCURL_PREREQ_ABORT = CURL_PREREQFUNC_ABORT
};

#define CCURL_TIMEOUT_SOCKET CURL_SOCKET_TIMEOUT

#endif
