/* Wherry: the scripted test server as seen from C tests
 * SPDX-License-Identifier: Apache-2.0
 *
 * The server (Tests/TestServer) starts with the first call in a program and exits with the program.
 * Each test has a unique key on the server, so tests do not affect each other. */
#ifndef SERVER_H
#define SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <wherry.h>

/* "http://127.0.0.1:PORT/@KEY" and the path, which starts with '/'. */
__attribute__((format(printf, 1, 2))) char *server_url(const char *format, ...);
/* The same over HTTPS, with a self-signed certificate. */
__attribute__((format(printf, 1, 2))) char *server_tls_url(const char *format, ...);
/* The path of a Unix socket that serves the same. */
const char *server_unix_socket(void);
/* A control route of the README, as "/_stats"; the key is added. Returns the response body. */
char *server_ask(const char *route);
/* Sends the text as the body of POST /_script. */
void server_script(const char *json);
/* A number from /_stats, such as "requests" or "peak_requests". */
int64_t server_count(const char *name);
/* Waits until the counts are reached, as "requests=3&ended=3"; false after 20 s. */
bool server_wait(const char *counts);
/* Opens a gate permanently. */
void server_open(const char *gate);
/* The response of /_log: "requests" this test sent, in order of arrival, and "stats". The caller
 * frees it. */
wherry_json *server_log(void);
/* A header of the request with that index, or NULL if it was not sent; "a, b" if sent twice. */
const char *server_field(size_t index, const char *name);

/* Starts nginx, with HTTP/2 over TLS, on the first call; false with a message if it is not
 * installed. */
bool nginx_is_here(void);
/* The CA file to trust. */
const char *nginx_ca(void);
/* An HTTPS URL of nginx, such as that of "/protocol". */
char *nginx_url(const char *path);
/* The same for a server_url: nginx forwards the request. */
char *nginx_via(const char *url);

/* Good and bad certificates, made on the first call, and a server that presents them:
 * "expired.localhost" gets the one of kind "expired". wherry_testserver/authority.py lists the
 * kinds. */
const char *authority_path(const char *name);
/* The pin of a kind's key, "sha256/...", made by openssl. */
const char *authority_pin(const char *kind);
/* "https://HOST.localhost:PORT/@KEY" and the path; ports are "tls_port", which serves any kind,
 * "tls11_port", "tls12_port", "anonymous_port", "client_port", which requires a certificate, and
 * "staple_good_port", "staple_revoked_port". */
char *authority_url(const char *port_name, const char *host, const char *path);
/* The same server without TLS. */
char *authority_plain(const char *host, const char *path);
/* The number of requests of this test that this server received. */
int64_t authority_requests(void);

#endif
