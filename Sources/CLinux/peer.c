/* Wherry: peer verification with libcurl's OpenSSL; see clinux.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "clinux.h"

/* The functions of the OpenSSL that libcurl is linked with. Functions of another copy must not use
 * its objects. Declared here because the packages we depend on do not guarantee the headers. */
#define FUNCTIONS(X)                                                                   \
  X(void, SSL_CTX_set_cert_verify_callback, (void *, int (*)(void *, void *), void *)) \
  X(int, SSL_CTX_get_security_level, (const void *))                                   \
  X(void, SSL_CTX_set_security_level, (void *, int))                                   \
  X(int, X509_verify_cert, (void *))                                                   \
  X(int, X509_STORE_CTX_get_error, (const void *))                                     \
  X(void, X509_STORE_CTX_set_error, (void *, int))                                     \
  X(void *, X509_STORE_CTX_get_current_cert, (const void *))                           \
  X(void *, X509_STORE_CTX_get0_cert, (const void *))                                  \
  X(void *, X509_STORE_CTX_get0_untrusted, (const void *))                             \
  X(void *, X509_STORE_CTX_get0_param, (const void *))                                 \
  X(void *, X509_STORE_CTX_new, (void))                                                \
  X(int, X509_STORE_CTX_init, (void *, void *, void *, void *))                        \
  X(int, X509_STORE_CTX_set_default, (void *, const char *))                           \
  X(void, X509_STORE_CTX_free, (void *))                                               \
  X(void, X509_VERIFY_PARAM_set_auth_level, (void *, int))                             \
  X(void *, X509_STORE_new, (void))                                                    \
  X(int, X509_STORE_add_cert, (void *, void *))                                        \
  X(int, X509_STORE_set_flags, (void *, unsigned long))                                \
  X(void, X509_STORE_free, (void *))                                                   \
  X(const char *, X509_verify_cert_error_string, (long))                               \
  X(void *, X509_get_subject_name, (const void *))                                     \
  X(void *, X509_get_issuer_name, (const void *))                                      \
  X(char *, X509_NAME_oneline, (const void *, char *, int))                            \
  X(int, i2d_X509, (const void *, unsigned char **))                                   \
  X(void *, d2i_X509, (void **, const unsigned char **, long))                         \
  X(void, X509_free, (void *))                                                         \
  X(void *, X509_get_ext_d2i, (const void *, int, int *, int *))                       \
  X(int, OPENSSL_sk_num, (const void *))                                               \
  X(void *, OPENSSL_sk_value, (const void *, int))                                     \
  X(void *, GENERAL_NAME_get0_value, (const void *, int *))                            \
  X(void, GENERAL_NAMES_free, (void *))                                                \
  X(void, SSL_CTX_set_info_callback, (void *, void (*)(const void *, int, int)))       \
  X(void *, SSL_get_SSL_CTX, (const void *))                                           \
  X(int, SSL_CTX_set_ex_data, (void *, int, void *))                                   \
  X(void *, SSL_CTX_get_ex_data, (const void *, int))                                  \
  X(int, CRYPTO_get_ex_new_index, (int, long, void *, void *, void *, void *))         \
  X(void, ERR_clear_error, (void))

#define DECLARE(result, name, arguments) result(*name) arguments;
static struct {
  FUNCTIONS(DECLARE)
} ssl;

enum {
  APPLICATION_VERIFICATION = 50, /* X509_V_ERR_APPLICATION_VERIFICATION */
  HOSTNAME_MISMATCH = 62,        /* X509_V_ERR_HOSTNAME_MISMATCH */
  SUBJECT_ALT_NAME = 85,         /* NID_subject_alt_name */
  EX_INDEX_SSL_CTX = 1,          /* CRYPTO_EX_INDEX_SSL_CTX */
  HANDSHAKE_START = 0x10,        /* SSL_CB_HANDSHAKE_START */
  ALERT_READ = 0x4004,           /* SSL_CB_READ_ALERT */
  CLOSE_NOTIFY = 0,              /* SSL_AD_CLOSE_NOTIFY, in the low byte */
  NAME_OF_HOST = 2,              /* GEN_DNS */
  NAME_OF_ADDRESS = 7,           /* GEN_IPADD */
  PARTIAL_CHAIN = 0x80000,       /* X509_V_FLAG_PARTIAL_CHAIN: any certificate may be an anchor */
  SECURITY_LEVEL = 2             /* RSA and DH of 2,048 bits, no SHA-1 signatures */
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int is_ready;
/* The ex_data index of a context's watch; -1 if unavailable. */
static int watch_index = -1;

void *clinux_libcurl(void) {
  void *curl = dlsym(RTLD_DEFAULT, "curl_easy_init");
  Dl_info info;
  if (curl == NULL || dladdr(curl, &info) == 0 || info.dli_fname == NULL) return NULL;
  return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

void clinux_exit_keep_tls(void) {
  void *library = clinux_libcurl();
  if (library != NULL) clinux_exit_keep_libcrypto(library);
}

static void load(void) {
  void *library = clinux_libcurl();
  if (library == NULL) return;
#define FIND(result, name, arguments)            \
  *(void **)(&ssl.name) = dlsym(library, #name); \
  if (ssl.name == NULL) return;
  FUNCTIONS(FIND)
  watch_index = ssl.CRYPTO_get_ex_new_index(EX_INDEX_SSL_CTX, 0, NULL, NULL, NULL, NULL);
  is_ready = 1;
}

int clinux_peer_is_available(void) {
  pthread_once(&once, load);
  return is_ready;
}

/* Returns whether the chain leads to one of the watch's anchors. Checks everything but names. */
static int is_anchored(void *context, const clinux_peer_watch *watch) {
  int is_good = 0;
  void *store = ssl.X509_STORE_new();
  void *other = ssl.X509_STORE_CTX_new();
  if (store != NULL && other != NULL) {
    const unsigned char *at = watch->anchors, *end = at + watch->anchor_bytes;
    int count = 0;
    while (at < end) {
      void *certificate = ssl.d2i_X509(NULL, &at, (long)(end - at));
      if (certificate == NULL) break;
      count += ssl.X509_STORE_add_cert(store, certificate) == 1;
      ssl.X509_free(certificate);
    }
    void *leaf = ssl.X509_STORE_CTX_get0_cert(context);
    if (count > 0 && leaf != NULL && ssl.X509_STORE_set_flags(store, PARTIAL_CHAIN) == 1 &&
        ssl.X509_STORE_CTX_init(other, store, leaf, ssl.X509_STORE_CTX_get0_untrusted(context)) ==
            1 &&
        ssl.X509_STORE_CTX_set_default(other, "ssl_server") == 1) {
      ssl.X509_VERIFY_PARAM_set_auth_level(ssl.X509_STORE_CTX_get0_param(other), SECURITY_LEVEL);
      is_good = ssl.X509_verify_cert(other) == 1;
      if (!is_good && watch->only_anchors)
        ssl.X509_STORE_CTX_set_error(context, ssl.X509_STORE_CTX_get_error(other));
    }
  }
  ssl.X509_STORE_CTX_free(other);
  ssl.X509_STORE_free(store);
  /* Errors left in the queue would be reported for the next connection. */
  ssl.ERR_clear_error();
  return is_good;
}

/* Returns whether the certificate has a host name or an address in its subjectAltName. Otherwise,
 * libcurl would compare the common name, which RFC 9525 forbids. */
static int names_a_host(const void *certificate) {
  void *names = ssl.X509_get_ext_d2i(certificate, SUBJECT_ALT_NAME, NULL, NULL);
  int is_found = 0, count = names == NULL ? 0 : ssl.OPENSSL_sk_num(names);
  for (int i = 0; i < count; i++) {
    int type = -1;
    ssl.GENERAL_NAME_get0_value(ssl.OPENSSL_sk_value(names, i), &type);
    if (type == NAME_OF_HOST || type == NAME_OF_ADDRESS) is_found = 1;
  }
  ssl.GENERAL_NAMES_free(names);
  ssl.ERR_clear_error();
  return is_found;
}

static void name(char *text, void *certificate, void *(*get)(const void *)) {
  text[0] = '\0';
  void *of = certificate == NULL ? NULL : get(certificate);
  if (of != NULL) ssl.X509_NAME_oneline(of, text, CLINUX_PEER_NAME);
}

/* Called by OpenSSL instead of its default verification, once per full handshake. */
static int verify(void *context, void *argument) {
  const clinux_peer_watch *watch = argument;
  clinux_peer peer;
  memset(&peer, 0, sizeof peer);
  int is_good = 1;
  if (watch->only_anchors) ssl.X509_STORE_CTX_set_error(context, 0);
  else is_good = ssl.X509_verify_cert(context) == 1;
  peer.error = ssl.X509_STORE_CTX_get_error(context);
  void *leaf = ssl.X509_STORE_CTX_get0_cert(context);
  void *blamed = is_good ? leaf : ssl.X509_STORE_CTX_get_current_cert(context);
  if (is_good && watch->anchors != NULL && !is_anchored(context, watch)) {
    peer.is_unpinned = 1;
    if (!watch->only_reports) {
      is_good = 0;
      peer.error = ssl.X509_STORE_CTX_get_error(context);
      if (peer.error == 0) peer.error = APPLICATION_VERIFICATION;
      ssl.X509_STORE_CTX_set_error(context, peer.error);
    }
  }
  if (is_good && watch->checks_name && leaf != NULL && !names_a_host(leaf)) {
    is_good = 0;
    peer.is_unnamed = 1;
    peer.error = HOSTNAME_MISMATCH;
    ssl.X509_STORE_CTX_set_error(context, HOSTNAME_MISMATCH);
  }
  if (blamed == NULL) blamed = leaf;
  name(peer.subject, blamed, ssl.X509_get_subject_name);
  name(peer.issuer, blamed, ssl.X509_get_issuer_name);
  name(peer.leaf_subject, leaf, ssl.X509_get_subject_name);
  const char *text = ssl.X509_verify_cert_error_string(peer.error);
  peer.text = text == NULL ? "" : text;
  unsigned char leaf_bytes[CLINUX_PEER_LEAF], *at = leaf_bytes;
  int length = leaf == NULL ? 0 : ssl.i2d_X509(leaf, NULL);
  if (length > 0 && length <= CLINUX_PEER_LEAF && ssl.i2d_X509(leaf, &at) == length) {
    peer.leaf = leaf_bytes;
    peer.leaf_bytes = (uint64_t)length;
  }
  watch->told(watch->context, &peer);
  return is_good;
}

/* Called by OpenSSL on state changes of a connection. libcurl does not distinguish close_notify
 * from a dropped connection at the end of a body. */
static void inform(const void *connection, int where, int value) {
  const clinux_peer_watch *watch =
      ssl.SSL_CTX_get_ex_data(ssl.SSL_get_SSL_CTX(connection), watch_index);
  if (watch == NULL) return;
  if (where == ALERT_READ && (value & 0xff) == CLOSE_NOTIFY)
    watch->notified(watch->context, connection, 1);
  else if (where & HANDSHAKE_START) watch->notified(watch->context, connection, 0);
}

int clinux_peer_watch_start(void *context, const clinux_peer_watch *watch) {
  if (!clinux_peer_is_available()) return 0;
  ssl.SSL_CTX_set_cert_verify_callback(context, verify, (void *)watch);
  if (ssl.SSL_CTX_get_security_level(context) < SECURITY_LEVEL)
    ssl.SSL_CTX_set_security_level(context, SECURITY_LEVEL);
  if (watch_index >= 0 && ssl.SSL_CTX_set_ex_data(context, watch_index, (void *)watch) == 1)
    ssl.SSL_CTX_set_info_callback(context, inform);
  return 1;
}
