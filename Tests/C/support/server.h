/* Wherry: the scripted test server, seen from C tests
 * SPDX-License-Identifier: Apache-2.0
 *
 * The server (Tests/TestServer) starts with the first call in a program and leaves when the
 * program ends, however it ends. Each test has a key of its own there, so tests do not meet. */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <wherry.h>

/* "http://127.0.0.1:PORT/@KEY" and the path, which starts with '/'. */
__attribute__((format(printf, 1, 2))) char *server_url(const char *format, ...);
/* The same over HTTPS, with a certificate that nobody has signed. */
__attribute__((format(printf, 1, 2))) char *server_tls_url(const char *format, ...);
/* The path of a Unix socket where the same is served. */
const char *server_unix_socket(void);
/* A steering route of the README, as "/_stats"; the key is added. Its answer's body. */
char *server_ask(const char *route);
/* Sends the text as body of POST /_script. */
void server_script(const char *json);
/* A number of /_stats, such as "requests" or "peak_requests". */
int64_t server_count(const char *name);
/* Waits until the counts are reached, as "requests=3&ended=3"; false after 20 s. */
bool server_wait(const char *counts);
/* Opens a gate for good. */
void server_open(const char *gate);
/* The answer of /_log: "requests" this test sent, in the order of arrival, and "stats". To be
 * freed. */
wherry_json *server_log(void);
/* A field of the request with that index, or NULL if it was not sent; "a, b" if sent twice. */
const char *server_field(size_t index, const char *name);

/* Starts nginx, with HTTP/2 over TLS, at its first call; false with a word where it is missing. */
bool nginx_is_here(void);
/* The file of the CA to trust. */
const char *nginx_ca(void);
/* An HTTPS address of nginx, such as of "/protocol". */
char *nginx_url(const char *path);
/* The same for what server_url gave: nginx hands it on. */
char *nginx_via(const char *url);

/* Good and bad certificates, made at the first call, and a server that shows them: at
 * "expired.localhost" the one of kind "expired". The kinds stand in wherry_testserver/authority.py. */
const char *authority_path(const char *name);
/* The pin of a kind's key, "sha256/...", made by openssl. */
const char *authority_pin(const char *kind);
/* "https://HOST.localhost:PORT/@KEY" and the path; ports are "tls_port", which shows any kind,
 * "tls11_port", "tls12_port", "anonymous_port", "client_port", which demands a certificate, and
 * "staple_good_port", "staple_revoked_port". */
char *authority_url(const char *port_name, const char *host, const char *path);
/* The same server in the clear. */
char *authority_plain(const char *host, const char *path);
/* How many requests of this test have come there. */
int64_t authority_requests(void);

#endif
