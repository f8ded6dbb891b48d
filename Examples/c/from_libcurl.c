/* Code for libcurl's easy interface, ported to Wherry.
 * usage: from_libcurl BASE FILE */
#include <stdio.h>
#include <string.h>
#include <wherry.h>

static wherry_status post(wherry_client *client) {
  /* guide: begin post */
  static const char body[] = "{\"text\": \"hello\"}";
  wherry_request *request = NULL;
  wherry_response *response = NULL;
  wherry_status status = wherry_request_new("POST", "notes", &request);
  if (status == WHERRY_OK) status = wherry_request_set_header(request, "X-App", "demo");
  if (status == WHERRY_OK) status = wherry_request_set_json(request, body, strlen(body));
  if (status == WHERRY_OK)
    status = wherry_request_set_option(request, WHERRY_OPTION_CONNECT_TIMEOUT_MS, 5000);
  if (status == WHERRY_OK) status = wherry_client_perform(client, request, &response);
  /* E_HTTP also has a response: its status is not 200 to 299. No write callback is needed. */
  if (status == WHERRY_OK || status == WHERRY_E_HTTP) {
    wherry_metrics metrics = {.size = sizeof metrics};
    size_t count = 0;
    const uint8_t *bytes = wherry_response_body(response, &count);
    wherry_response_metrics(response, &metrics);
    const char *type = wherry_response_header(response, "content-type");
    printf("%d, %s: %.*s\n", wherry_response_http_code(response), type != NULL ? type : "no type",
           (int)count, (const char *)bytes);
    fprintf(stderr, "in %lld us\n", (long long)metrics.total_us);
  }
  wherry_response_free(response);
  wherry_request_free(request);
  /* guide: end post */
  return status;
}

static wherry_status form(wherry_client *client, const char *path) {
  wherry_response *response = NULL;
  wherry_request *request = NULL;
  /* guide: begin form */
  wherry_status status = wherry_request_new("POST", "form", &request);
  if (status == WHERRY_OK) status = wherry_request_add_part(request, "a", "1", 1, NULL, NULL);
  if (status == WHERRY_OK) status = wherry_request_add_part_file(request, "f", path, NULL, NULL);
  if (status == WHERRY_OK) status = wherry_client_perform(client, request, &response);
  /* guide: end form */
  wherry_response_free(response);
  wherry_request_free(request);
  return status;
}

int main(int count, char **arguments) {
  wherry_config *config = NULL;
  wherry_client *client = NULL;
  if (count != 3) {
    fprintf(stderr, "usage: from_libcurl BASE FILE\n");
    return 2;
  }
  /* guide: begin client */
  wherry_status status = wherry_config_new(&config);
  if (status == WHERRY_OK)
    status = wherry_config_set_text(config, WHERRY_TEXT_BASE_URL, arguments[1]);
  if (status == WHERRY_OK)
    status = wherry_config_set_text(config, WHERRY_TEXT_USER_AGENT, "Demo/1");
  if (status == WHERRY_OK) status = wherry_client_new(config, &client);
  wherry_config_free(config);
  /* guide: end client */
  if (status == WHERRY_OK) status = post(client);
  if (status == WHERRY_OK) status = form(client, arguments[2]);
  if (status != WHERRY_OK) fprintf(stderr, "%s\n", wherry_error_message(wherry_last_error()));
  wherry_client_free(client);
  return status == WHERRY_OK ? 0 : 1;
}
