/* Wherry: rule SEC-T1, from C: files and bytes with CA certificates
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

/* A config whose requests each use a new connection. */
static wherry_config *without_reuse(void) {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_PROXY, ""));
  CHECK_OK(wherry_config_set_option(config, WHERRY_OPTION_KEEP_ALIVE, 0));
  return config;
}

static wherry_config *trusting(const char *file) {
  wherry_config *config = without_reuse();
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_CA_FILE, file));
  return config;
}

static const char *pem(const char *name) {
  long size = 0;
  const char *text = check_read_file(authority_path(name), &size);
  return text == NULL ? "" : text;
}

static void write_text(const char *path, const char *text) {
  check_write_file(path, text, strlen(text));
}

/* The reason of a request to a host that is below the wildcard of its certificate, or "". TLS
 * sessions belong to a host, so a new name needs a full handshake. */
static const char *reason_of(wherry_client *client, const char *kind) {
  static unsigned number;
  const char *host = check_format("h%u.%s", ++number, kind);
  return perform(client, new_request("GET", authority_url("tls_port", host, "/echo"))).reason;
}

static const char *reason_with(const wherry_config *config, const char *host) {
  wherry_client *client = NULL;
  if (wherry_client_new(config, &client) != WHERRY_OK)
    return check_format("%s", wherry_error_reason(wherry_last_error()));
  outcome got = perform(client, new_request("GET", authority_url("tls_port", host, "/echo")));
  CHECK_OK(wherry_client_free(client));
  return got.reason;
}

TEST("SEC-T1 each new connection uses the CA file as it is then") {
  const char *path = check_path("roots.pem"), *moved = check_path("moved.pem");
  const char *ours = pem("ca.pem"), *other = pem("stranger.pem");
  write_text(path, ours);
  wherry_client *client = new_client(trusting(path));
  CHECK_TEXT(reason_of(client, "levels"), "");
  write_text(path, other);
  CHECK_TEXT(reason_of(client, "levels"), "untrusted");
  write_text(path, check_format("%s%s", other, ours));
  CHECK_TEXT(reason_of(client, "levels"), "");
  /* Another file with the same name, size, and time of modification. */
  struct stat now;
  CHECK_INT(stat(path, &now), 0);
  write_text(moved, check_format("%s%s", other, other));
  CHECK_INT(truncate(moved, now.st_size), 0);
  struct timespec times[2] = {now.st_mtim, now.st_mtim};
  CHECK_INT(utimensat(AT_FDCWD, moved, times, 0), 0);
  CHECK_INT(rename(moved, path), 0);
  CHECK(reason_of(client, "levels")[0] != '\0');
  write_text(path, ours);
  CHECK_TEXT(reason_of(client, "levels"), "");
  /* OpenSSL loads a file that is not an ordinary list of certificates. */
  write_text(path, check_format("%s%s", ours, pem("crl.pem")));
  CHECK_TEXT(reason_of(client, "levels"), "");
  CHECK_INT(unlink(path), 0);
  wherry_request *request = new_request("GET", authority_url("tls_port", "good", "/echo"));
  outcome got = perform(client, request);
  CHECK_TEXT(got.reason, "tls");
  CHECK_HOLDS(got.message, check_format("error setting certificate file: %s", path));
  write_text(path, ours);
  CHECK_TEXT(perform(client, request).reason, "");
}

TEST("SEC-T1 unusable CA files are refused, also if they become unusable later") {
  const char *path = check_path("roots.pem"), *ours = pem("ca.pem");
  char *damaged = check_format("%s", ours);
  char *begin = strstr(damaged, "CERTIFICATE-----");
  REQUIRE(begin != NULL);
  begin[strlen("CERTIFICATE-----\n")] = 'A';
  struct {
    const char *text, *at_once;
  } cases[] = {
      {"", "bad_certificate"},
      {"no certificate\n", "bad_certificate"},
      {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "tls"},
      {"-----BEGIN CERTIFICATE-----\nMIIB\n", "tls"},
      {check_format("%s%s", ours, damaged), "tls"},
      {check_format("%s-----BEGIN CERTIFICATE-----\n????\n-----END CERTIFICATE-----\n", ours),
       "tls"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_text(path, cases[i].text);
    CHECK_TEXT(reason_with(trusting(path), "good"), cases[i].at_once);
    write_text(path, ours);
    wherry_client *client = new_client(trusting(path));
    CHECK_TEXT(reason_of(client, "levels"), "");
    write_text(path, cases[i].text);
    CHECK_TEXT(reason_of(client, "levels"), "tls");
    CHECK_OK(wherry_client_free(client));
  }
  write_text(path, ours);
  wherry_client *client = new_client(trusting(path));
  CHECK_TEXT(reason_of(client, "levels"), "");
  CHECK_INT(unlink(path), 0);
  CHECK_INT(mkdir(path, 0700), 0);
  CHECK_TEXT(reason_of(client, "levels"), "tls");
  CHECK_INT(rmdir(path), 0);
  /* Opening a pipe would block. */
  CHECK_INT(mkfifo(path, 0600), 0);
  CHECK_TEXT(reason_of(client, "levels"), "tls");
}

TEST("SEC-T1 text around certificates, other line ends, and many certificates change nothing") {
  const char *path = check_path("roots.pem"), *ours = pem("ca.pem"), *other = pem("stranger.pem");
  size_t length = strlen(ours);
  char *windows = check_memory(2 * length + 1), *at = windows;
  for (const char *from = ours; *from != '\0'; from++) {
    if (*from == '\n') *at++ = '\r';
    *at++ = *from;
  }
  *at = '\0';
  char *many = check_memory(200 * (strlen(other) + 40) + length + 1);
  many[0] = '\0';
  for (int i = 0; i < 200; i++) {
    if (i == 100) strcat(many, ours);
    strcat(many, check_format("# number %d: Autorit\xc3\xa9\n%s", i, i % 2 ? other : ""));
  }
  char long_line[1200];
  memset(long_line, 'x', sizeof long_line - 1);
  long_line[sizeof long_line - 1] = '\0';
  char *shorter = check_format("%s", ours);
  while (shorter[strlen(shorter) - 1] == '\n') shorter[strlen(shorter) - 1] = '\0';
  const char *texts[] = {
      check_format("comment\n\n%s\ncomment", ours),
      windows,
      many,
      shorter,
      check_format("%s\n%s", long_line, ours),
      check_format("%s%s", ours, ours),
      check_format("%s\n%s", pem("good.pem"), ours),
  };
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    write_text(path, texts[i]);
    CHECK_TEXT(reason_with(trusting(path), "good"), "");
    CHECK_TEXT(reason_with(trusting(path), "chained"), "");
    CHECK_TEXT(reason_with(trusting(path), "self-signed"), "untrusted");
    wherry_config *bytes = without_reuse();
    CHECK_OK(wherry_config_set_ca_certificates(bytes, texts[i], strlen(texts[i])));
    CHECK_TEXT(reason_with(bytes, "good"), "");
    CHECK_TEXT(reason_with(bytes, "self-signed"), "untrusted");
  }
  /* A certificate of a server or an intermediate CA is an anchor too. */
  for (int i = 0; i < 2; i++) {
    write_text(path, pem(i == 0 ? "good.pem" : "inter.pem"));
    CHECK_TEXT(reason_with(trusting(path), "good"), i == 0 ? "" : "untrusted");
    CHECK_TEXT(reason_with(trusting(path), "chained"), i == 0 ? "untrusted" : "");
    CHECK_TEXT(reason_with(trusting(path), "missing-intermediate"), i == 0 ? "untrusted" : "");
  }
}

TEST("SEC-T1 clients with different CA files trust different servers") {
  wherry_client *ours = new_client(trusting(authority_path("ca.pem")));
  wherry_client *other = new_client(trusting(authority_path("stranger.pem")));
  const char *good = authority_url("tls_port", "good", "/echo");
  const char *unknown = authority_url("tls_port", "unknown-root", "/echo");
  for (int i = 0; i < 3; i++) {
    CHECK_TEXT(perform(ours, new_request("GET", good)).reason, "");
    CHECK_TEXT(perform(other, new_request("GET", good)).reason, "untrusted");
    CHECK_TEXT(perform(ours, new_request("GET", unknown)).reason, "untrusted");
    CHECK_TEXT(perform(other, new_request("GET", unknown)).reason, "");
  }
}

enum { CLIENTS = 1000, USED = 40, THREADS = 4 };

TEST("SEC-T1 a thousand clients share the certificates of a file") {
  const char *path = check_path("roots.pem"), *other = pem("stranger.pem"), *ours = pem("ca.pem");
  size_t copies = 400;
  char *text = check_memory(copies * strlen(other) + strlen(ours) + 1);
  text[0] = '\0';
  char *end = text;
  for (size_t i = 0; i < copies; i++) end = stpcpy(end, other);
  strcpy(end, ours);
  write_text(path, text);
  wherry_config *config = trusting(path);
  wherry_client **clients = check_memory(CLIENTS * sizeof *clients);
  long each = 0;
  for (int i = 0; i < CLIENTS; i++) {
    clients[i] = new_client(config);
    if (i % (CLIENTS / USED) != 0) continue;
    long before = check_allocated();
    CHECK_TEXT(reason_of(clients[i], "levels"), "");
    if (i > 0 && check_allocated() - before > each) each = check_allocated() - before;
  }
  /* The certificates of the file take 300 KB. */
  if (getenv("WHERRY_TEST_INSTRUMENTED") == NULL) CHECK(each < 200000);
  for (int i = 0; i < CLIENTS; i++) CHECK_OK(wherry_client_free(clients[i]));
}

typedef struct worker {
  const char *path, *other, *good;
  int number, failures;
} worker;

static void *work(void *context) {
  worker *own = context;
  for (int i = 0; i < 20; i++) {
    wherry_config *config = NULL;
    wherry_client *client = NULL;
    wherry_request *request = NULL;
    wherry_response *response = NULL;
    int is_trusted = (i + own->number) % 2 == 0;
    wherry_status status = wherry_config_new(&config);
    if (status == WHERRY_OK)
      status =
          wherry_config_set_text(config, WHERRY_TEXT_CA_FILE, is_trusted ? own->path : own->other);
    if (status == WHERRY_OK) status = wherry_config_set_text(config, WHERRY_TEXT_PROXY, "");
    if (status == WHERRY_OK) status = wherry_client_new(config, &client);
    if (status == WHERRY_OK) status = wherry_request_new("GET", own->good, &request);
    if (status == WHERRY_OK) status = wherry_client_perform(client, request, &response);
    own->failures += status != (is_trusted ? WHERRY_OK : WHERRY_E_TLS);
    wherry_response_free(response);
    wherry_request_free(request);
    wherry_client_free(client);
    wherry_config_free(config);
  }
  return NULL;
}

TEST("SEC-T1 clients of several threads share a CA file that is replaced meanwhile") {
  const char *path = check_path("roots.pem"), *next = check_path("next.pem");
  const char *ours = pem("ca.pem"), *other = pem("stranger.pem");
  write_text(path, ours);
  const char *good = authority_url("tls_port", "good", "/echo");
  worker workers[THREADS];
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){path, authority_path("stranger.pem"), good, i, 0};
    REQUIRE(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
  }
  for (int i = 0; i < 200; i++) {
    write_text(next, i % 2 ? ours : check_format("%s%s", other, ours));
    CHECK_INT(rename(next, path), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    CHECK_INT(workers[i].failures, 0);
  }
}
