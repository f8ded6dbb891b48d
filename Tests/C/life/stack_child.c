/* Wherry: a program that makes one call on a thread with a small stack
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: stack_child KIND KIB URL FILE
 *
 * Makes the first call of the process on a thread whose stack has KIB KiB. FILE is the image to
 * upload, compress, or decode, or the target of a download. Exits with 0 after success, and dies of
 * SIGSEGV if the stack is too small. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wherry.h>

static const char *kind, *url, *file;

static void must(wherry_status status, const char *what) {
  if (status == WHERRY_OK) return;
  fprintf(stderr, "%s: %s\n", what, wherry_error_message(wherry_last_error()));
  exit(3);
}

static wherry_client *new_client(void) {
  wherry_config *config = NULL;
  wherry_client *client = NULL;
  must(wherry_config_new(&config), "config");
  must(wherry_config_set_option(config, WHERRY_OPTION_INSECURE, 1), "option");
  must(wherry_client_new(config, &client), "client");
  must(wherry_config_free(config), "config free");
  return client;
}

static wherry_request *new_request(const char *method) {
  wherry_request *request = NULL;
  must(wherry_request_new(method, url, &request), "request");
  return request;
}

/* A blocking request with a body; its response is parsed. */
static void perform(void) {
  static const char text[] = "{\"a\": [1, {\"b\": [true, null]}]}";
  wherry_client *client = new_client();
  wherry_request *request = new_request("POST");
  wherry_response *response = NULL;
  wherry_json *json = NULL;
  must(wherry_request_set_json(request, text, strlen(text)), "json");
  must(wherry_client_perform(client, request, &response), "perform");
  size_t count = 0;
  const uint8_t *body = wherry_response_body(response, &count);
  must(wherry_json_parse(body, count, &json), "parse");
  must(wherry_json_free(json), "json free");
  must(wherry_response_free(response), "response free");
  must(wherry_request_free(request), "request free");
  must(wherry_client_free(client), "client free");
}

/* A request whose events are read from a queue. */
static void send_one(void) {
  wherry_client *client = new_client();
  wherry_queue *queue = NULL;
  wherry_event *event = NULL;
  must(wherry_queue_new(&queue), "queue");
  must(wherry_client_send(client, new_request("GET"), queue, NULL, NULL), "send");
  must(wherry_queue_next(queue, 600000, &event), "next");
  must(wherry_event_status(event), "status");
  must(wherry_event_free(event), "event free");
  must(wherry_client_free(client), "client free");
}

static void load_page(void) {
  wherry_client *client = new_client();
  wherry_queue *queue = NULL;
  wherry_pager *pager = NULL;
  wherry_event *event = NULL;
  wherry_json *items = NULL;
  must(wherry_queue_new(&queue), "queue");
  must(wherry_pager_new(client, new_request("GET"), "headers", queue, NULL, &pager), "pager");
  must(wherry_pager_load_next(pager, NULL), "load");
  must(wherry_queue_next(queue, 600000, &event), "next");
  must(wherry_event_status(event), "status");
  must(wherry_pager_copy_items(pager, 0, 10, &items), "items");
  must(wherry_client_free(client), "client free");
}

/* Arrays of arrays, thirty deep. */
static void parse(void) {
  enum { LEVELS = 30 };
  char text[2 * LEVELS + 1];
  wherry_json *json = NULL;
  memset(text, '[', LEVELS);
  memset(text + LEVELS, ']', LEVELS);
  must(wherry_json_parse(text, 2 * LEVELS, &json), "parse");
  if (wherry_json_print(json, true, NULL) == NULL) exit(3);
  must(wherry_json_free(json), "free");
}

static void compress(bool decodes) {
  wherry_image *image = NULL, *made = NULL;
  wherry_compression *compression = NULL;
  must(wherry_image_new_file(file, &image), "image");
  must(wherry_compression_new(0.5, &compression), "compression");
  must(decodes ? wherry_image_decode(image, WHERRY_PIXELS_NONE, NULL, &made)
               : wherry_image_compress(image, compression, &made),
       kind);
  must(wherry_image_free(made), "free");
  must(wherry_image_free(image), "free");
}

static void *run(void *nothing) {
  wherry_response *response = NULL;
  if (strcmp(kind, "get") == 0) must(wherry_get(url, &response), kind);
  else if (strcmp(kind, "perform") == 0) perform();
  else if (strcmp(kind, "send") == 0) send_one();
  else if (strcmp(kind, "pages") == 0) load_page();
  else if (strcmp(kind, "json") == 0) parse();
  else if (strcmp(kind, "download") == 0) must(wherry_download_file(url, file), kind);
  else if (strcmp(kind, "upload") == 0) must(wherry_upload_image(url, "a", file, &response), kind);
  else if (strcmp(kind, "compress") == 0) compress(false);
  else if (strcmp(kind, "decode") == 0) compress(true);
  else if (strcmp(kind, "nothing") != 0) exit(2);
  return nothing;
}

int main(int count, char **words) {
  if (count != 5) return 2;
  kind = words[1], url = words[3], file = words[4];
  pthread_t thread;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0 ||
      pthread_attr_setstacksize(&attributes, (size_t)atoi(words[2]) << 10) != 0 ||
      pthread_create(&thread, &attributes, run, NULL) != 0)
    return 2;
  return pthread_join(thread, NULL) == 0 ? 0 : 2;
}
