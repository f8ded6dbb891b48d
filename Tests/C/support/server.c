/* Wherry: starts the scripted test server and controls it
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

extern char **environ;
static int port, tls_port, nginx_port;
static char nginx_ca_path[512], unix_path[108];
/* The announcement of the authority; "" if there is none. */
static char authority[8192];

_Noreturn static void give_up(const char *what) {
  fprintf(stderr, "test server: %s: %s\n", what, strerror(errno));
  exit(2);
}

static int announced(const char *line, const char *name) {
  const char *found = strstr(line, name);
  int number = found == NULL ? 0 : atoi(found + strlen(name));
  if (number == 0) give_up(line);
  return number;
}

static void announced_path(const char *line, const char *name, char *path, size_t capacity) {
  const char *found = strstr(line, name);
  if (found == NULL) give_up(line);
  found += strlen(name);
  snprintf(path, capacity, "%.*s", (int)strcspn(found, "\""), found);
}

/* Runs a Python module of the test server with these arguments, and returns its first line, kept
 * until the program exits. The server exits when its standard input closes: this process keeps its
 * end of the pipe open until it exits. */
static const char *launch(const char *module, char *const *more, char *line, int capacity) {
  int input[2], output[2];
  pid_t pid;
  posix_spawn_file_actions_t actions;
  if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) give_up("pipe");
  char *python = getenv("WHERRY_PYTHON");
  char *words[10] = {python ? python : "python3", "-m", (char *)module};
  for (size_t i = 0; more[i] != NULL && i < 6; i++) words[3 + i] = more[i];
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input[0], 0);
  posix_spawn_file_actions_adddup2(&actions, output[1], 1);
  posix_spawn_file_actions_addchdir_np(&actions, WHERRY_TEST_SERVER);
  errno = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (errno != 0) give_up(words[0]);
  close(input[0]);
  close(output[1]);

  FILE *stream = fdopen(output[0], "r");
  if (stream == NULL || fgets(line, capacity, stream) == NULL) give_up("no announcement");
  fclose(stream);
  return line;
}

static void start(void) {
  char *more[] = {"--port", "0", "--tls-make", "self-signed", NULL};
  char line[4096];
  launch("wherry_testserver", more, line, sizeof line);
  port = announced(line, "\"port\": ");
  tls_port = announced(line, "\"tls_port\": ");
  announced_path(line, "\"unix\": \"", unix_path, sizeof unix_path);
}

const char *server_unix_socket(void) {
  if (port == 0) start();
  return unix_path;
}

bool nginx_is_here(void) {
  char *more[] = {NULL};
  static char line[4096];
  if (line[0] == '\0') launch("wherry_testserver.nginx", more, line, sizeof line);
  if (strstr(line, "\"missing\"") != NULL) {
    printf("  skipped: nginx is missing: run scripts/setup\n");
    return false;
  }
  nginx_port = announced(line, "\"tls_port\": ");
  announced_path(line, "\"ca\": \"", nginx_ca_path, sizeof nginx_ca_path);
  return true;
}

const char *nginx_ca(void) { return nginx_ca_path; }

char *nginx_url(const char *path) {
  return check_format("https://localhost:%d%s", nginx_port, path);
}

char *nginx_via(const char *url) {
  return nginx_url(check_format("/via/%d%s", port, strchr(url + strlen("http://"), '/')));
}

static char *url_of(const char *scheme, int number, const char *format, va_list arguments) {
  char path[4096];
  int count = vsnprintf(path, sizeof path, format, arguments);
  if (count < 0 || (size_t)count >= sizeof path) give_up("path too long");
  return check_format("%s://127.0.0.1:%d/@c%u%s", scheme, number, check_number(), path);
}

char *server_url(const char *format, ...) {
  if (port == 0) start();
  va_list arguments;
  va_start(arguments, format);
  char *url = url_of("http", port, format, arguments);
  va_end(arguments);
  return url;
}

char *server_tls_url(const char *format, ...) {
  if (port == 0) start();
  va_list arguments;
  va_start(arguments, format);
  char *url = url_of("https", tls_port, format, arguments);
  va_end(arguments);
  return url;
}

static char *exchange(int to, const char *method, const char *route, const char *body) {
  char *head = check_format(
      "%s %s%ckey=c%u HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
      "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
      method, route, strchr(route, '?') ? '&' : '?', check_number(), strlen(body), body);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)to)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int socket_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_fd < 0 || connect(socket_fd, (struct sockaddr *)&address, sizeof address) != 0)
    give_up("connect");
  for (size_t sent = 0, count = strlen(head); sent < count;) {
    ssize_t step = send(socket_fd, head + sent, count - sent, MSG_NOSIGNAL);
    if (step < 0 && errno != EINTR) give_up("send");
    if (step > 0) sent += (size_t)step;
  }
  size_t size = 0, capacity = 1 << 16;
  char *answer = malloc(capacity);
  for (ssize_t step = 1; answer != NULL && step != 0;) {
    if (size + 1 >= capacity) {
      char *larger = realloc(answer, capacity *= 2);
      if (larger == NULL) give_up("memory");
      answer = larger;
    }
    step = recv(socket_fd, answer + size, capacity - size - 1, 0);
    if (step < 0 && errno != EINTR) give_up("recv");
    if (step > 0) size += (size_t)step;
  }
  close(socket_fd);
  if (answer == NULL) give_up("memory");
  answer[size] = '\0';
  char *blank = strstr(answer, "\r\n\r\n");
  char *result = check_format("%s", blank ? blank + 4 : "");
  if (strncmp(answer, "HTTP/1.1 200", 12) != 0) result[0] = '\0';
  free(answer);
  return result;
}

char *server_ask(const char *route) {
  if (port == 0) start();
  return exchange(port, "GET", route, "");
}

void server_script(const char *json) {
  if (port == 0) start();
  exchange(port, "POST", "/_script", json);
}

int64_t server_count(const char *name) {
  const char *stats = server_ask("/_stats");
  const char *found = strstr(stats, check_format("\"%s\": ", name));
  return found == NULL ? -1 : atoll(strchr(found, ':') + 1);
}

bool server_wait(const char *counts) {
  return server_ask(check_format("/_wait?timeout=600&%s", counts))[0] != '\0';
}

void server_open(const char *gate) { server_ask(check_format("/_signal?gate=%s", gate)); }

wherry_json *server_log(void) {
  const char *text = server_ask("/_log");
  wherry_json *log = NULL;
  REQUIRE_OK(wherry_json_parse(text, strlen(text), &log));
  return log;
}

const char *server_field(size_t index, const char *name) {
  wherry_json *log = server_log();
  char *result = NULL;
  char *fields = check_format("requests/%zu/headers", index);
  size_t count = wherry_json_count(log, fields);
  for (size_t i = 0; i < count; i++) {
    const char *found = wherry_json_get_text(log, check_format("%s/%zu/0", fields, i), "", NULL);
    if (strcasecmp(found, name) != 0) continue;
    const char *value = wherry_json_get_text(log, check_format("%s/%zu/1", fields, i), "", NULL);
    result = result ? check_format("%s, %s", result, value) : check_format("%s", value);
  }
  wherry_json_free(log);
  return result;
}

/* ---- The authority --------------------------------------------------------------------------- */

static const char *authority_line(void) {
  char *more[] = {NULL};
  if (authority[0] == '\0')
    launch("wherry_testserver.authority", more, authority, sizeof authority);
  return authority;
}

static char *authority_text(const char *name) {
  const char *found = strstr(authority_line(), check_format("\"%s\": \"", name));
  if (found == NULL) give_up(name);
  found = strstr(found, "\": \"") + strlen("\": \"");
  return check_format("%.*s", (int)strcspn(found, "\""), found);
}

static int authority_port(const char *name) {
  return announced(authority_line(), check_format("\"%s\": ", name));
}

const char *authority_path(const char *name) {
  return check_format("%s/%s", authority_text("folder"), name);
}

const char *authority_pin(const char *kind) { return authority_text(kind); }

char *authority_url(const char *port_name, const char *host, const char *path) {
  return check_format("https://%s.localhost:%d/@c%u%s", host, authority_port(port_name),
                      check_number(), path);
}

char *authority_plain(const char *host, const char *path) {
  return check_format("http://%s:%d/@c%u%s", host, authority_port("port"), check_number(), path);
}

int64_t authority_requests(void) {
  const char *stats = exchange(authority_port("port"), "GET", "/_stats", "");
  const char *found = strstr(stats, "\"requests\": ");
  return found == NULL ? -1 : atoll(strchr(found, ':') + 1);
}
