/* Wherry: a program that makes many requests at once
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: crowd_child URL COUNT LIMIT_MB
 *
 * Limits its address space to LIMIT_MB million bytes (0: no limit), and makes COUNT requests at
 * once, then one more. Prints how many of them succeeded, and how many failed with each reason that
 * is allowed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <wherry.h>

static void fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, wherry_error_message(wherry_last_error()));
  exit(3);
}

int main(int words_count, char **words) {
  if (words_count != 4) return 2;
  enum { MOST = 1000 };
  int count = atoi(words[2]), succeeded = 0, without_memory = 0;
  if (count < 1 || count > MOST) return 2;
  struct rlimit limit = {(rlim_t)atoi(words[3]) * 1000000, (rlim_t)atoi(words[3]) * 1000000};
  if (limit.rlim_cur > 0 && setrlimit(RLIMIT_AS, &limit) != 0) return 2;
  wherry_config *config = NULL;
  wherry_client *client = NULL;
  wherry_queue *queue = NULL;
  wherry_request *request = NULL;
  if (wherry_config_new(&config) != WHERRY_OK) fail("config");
  if (wherry_config_set_option(config, WHERRY_OPTION_MAX_PER_HOST, count) != WHERRY_OK ||
      wherry_config_set_option(config, WHERRY_OPTION_MAX_CONNECTIONS, count) != WHERRY_OK)
    fail("option");
  if (wherry_client_new(config, &client) != WHERRY_OK) fail("client");
  if (wherry_queue_new(&queue) != WHERRY_OK) fail("queue");
  if (wherry_request_new("GET", words[1], &request) != WHERRY_OK) fail("request");
  for (int i = 0; i < count; i++)
    if (wherry_client_send(client, request, queue, NULL, NULL) != WHERRY_OK) fail("send");
  /* The events keep their bodies until all requests have ended. */
  static wherry_event *events[MOST];
  for (int i = 0; i < count; i++) {
    if (wherry_queue_next(queue, 600000, &events[i]) != WHERRY_OK) fail("next");
    const wherry_error *error = wherry_event_error(events[i]);
    if (wherry_event_status(events[i]) == WHERRY_OK) succeeded++;
    else if (strcmp(wherry_error_reason(error), "no_memory") == 0) without_memory++;
    else fprintf(stderr, "%s\n", wherry_error_message(error));
  }
  for (int i = 0; i < count; i++)
    if (wherry_event_free(events[i]) != WHERRY_OK) fail("event free");
  wherry_response *response = NULL;
  if (wherry_client_perform(client, request, &response) != WHERRY_OK) fail("the last request");
  if (wherry_response_free(response) != WHERRY_OK || wherry_request_free(request) != WHERRY_OK ||
      wherry_queue_free(queue) != WHERRY_OK || wherry_client_free(client) != WHERRY_OK)
    fail("free");
  printf("%d succeeded, %d had no memory\n", succeeded, without_memory);
  return 0;
}
