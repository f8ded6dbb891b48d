/* The steps of the tutorial in C.
 * usage: tutorial BASE FOLDER     with the test server at BASE */
#include <stdio.h>
#include <string.h>
#include <wherry.h>

/* guide: begin get */
static wherry_status get(wherry_client *client, const char *url) {
  wherry_request *request = NULL;
  wherry_response *response = NULL;
  wherry_status status = wherry_request_new("GET", url, &request);
  if (status == WHERRY_OK) status = wherry_client_perform(client, request, &response);
  /* guide: end get */
  /* guide: begin errors */
  const wherry_error *error = wherry_last_error();
  if (status == WHERRY_E_HTTP) /* the status is not 200 to 299, but there is a response */
    printf("%d\n", wherry_response_http_code(response));
  else if (status != WHERRY_OK)
    printf("%s: %s\n", wherry_error_reason(error), wherry_error_message(error));
  /* guide: end errors */
  /* guide: begin get */
  if (status == WHERRY_OK) {
    size_t size = 0;
    const uint8_t *body = wherry_response_body(response, &size);
    printf("%d: %zu bytes\n%.*s\n", wherry_response_http_code(response), size, (int)size,
           (const char *)body);
  }
  wherry_response_free(response);
  wherry_request_free(request);
  return status;
}
/* guide: end get */

static wherry_status new_client(const char *base, wherry_client **client) {
  wherry_config *config = NULL;
  /* guide: begin client */
  wherry_status status = wherry_config_new(&config);
  if (status == WHERRY_OK) status = wherry_config_set_text(config, WHERRY_TEXT_BASE_URL, base);
  if (status == WHERRY_OK) status = wherry_config_set_header(config, "X-App", "tutorial");
  if (status == WHERRY_OK)
    status = wherry_config_set_option(config, WHERRY_OPTION_IDLE_TIMEOUT_MS, 5000);
  if (status == WHERRY_OK) status = wherry_config_set_option(config, WHERRY_OPTION_MAX_RETRIES, 2);
  if (status == WHERRY_OK) status = wherry_client_new(config, client);
  wherry_config_free(config);
  /* guide: end client */
  return status;
}

static wherry_status post(wherry_client *client) {
  wherry_request *request = NULL;
  wherry_response *response = NULL;
  /* guide: begin post */
  static const char note[] = "{\"text\": \"hello\"}";
  wherry_status status = wherry_request_new("POST", "echo", &request);
  if (status == WHERRY_OK) status = wherry_request_set_json(request, note, strlen(note));
  if (status == WHERRY_OK) status = wherry_client_perform(client, request, &response);
  /* guide: end post */
  if (status == WHERRY_OK) printf("posted: %d\n", wherry_response_http_code(response));
  wherry_response_free(response);
  wherry_request_free(request);
  return status;
}

static wherry_status download(wherry_client *client, const char *path) {
  wherry_request *request = NULL;
  wherry_queue *queue = NULL;
  /* guide: begin download */
  wherry_status status = wherry_queue_new(&queue);
  if (status == WHERRY_OK)
    status = wherry_request_new("GET", "bytes/20000000?rate=10000000", &request);
  if (status == WHERRY_OK)
    status = wherry_client_download(client, request, path, queue, NULL, NULL);
  for (bool is_done = false; status == WHERRY_OK && !is_done;) {
    wherry_event *event = NULL;
    wherry_progress progress = {.size = sizeof progress};
    status = wherry_queue_next(queue, -1, &event);
    if (wherry_event_progress(event, &progress) == WHERRY_OK)
      fprintf(stderr, "\r%lld bytes", (long long)progress.done_bytes);
    if (wherry_event_get_kind(event) == WHERRY_EVENT_DONE) {
      is_done = true;
      status = wherry_event_status(event);
      if (status == WHERRY_OK) printf("complete: %s\n", wherry_event_text(event));
    }
    wherry_event_free(event);
  }
  /* guide: end download */
  wherry_request_free(request);
  wherry_queue_free(queue);
  return status;
}

int main(int count, char **arguments) {
  wherry_client *client = NULL;
  if (count != 3) {
    fprintf(stderr, "usage: tutorial BASE FOLDER\n");
    return 2;
  }
  char path[4096];
  snprintf(path, sizeof path, "%s/big.bin", arguments[2]);
  wherry_status status = new_client(arguments[1], &client);
  if (status == WHERRY_OK) status = get(client, "echo?page=2");
  if (status == WHERRY_OK && get(client, "status/404") != WHERRY_E_HTTP) status = WHERRY_E_INTERNAL;
  if (status == WHERRY_OK && get(client, "http://127.0.0.1:1/") != WHERRY_E_NETWORK)
    status = WHERRY_E_INTERNAL;
  if (status == WHERRY_OK) status = get(client, "faulty-echo?status_first=503");
  if (status == WHERRY_OK) status = post(client);
  if (status == WHERRY_OK) status = download(client, path);
  if (status != WHERRY_OK) fprintf(stderr, "%s\n", wherry_error_message(wherry_last_error()));
  wherry_client_free(client);
  return status != WHERRY_OK;
}
