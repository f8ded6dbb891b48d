/* Sends a blocking GET and prints the body or the error.
 * usage: get URL */
#include <stdio.h>
#include <wherry.h>

int main(int count, char **arguments) {
  wherry_client *client = NULL;
  wherry_request *request = NULL;
  wherry_response *response = NULL;
  const char *url = count > 1 ? arguments[1] : "https://example.org/";
  /* readme: begin */
  wherry_status status = wherry_client_new(NULL, &client);
  if (status == WHERRY_OK) status = wherry_request_new("GET", url, &request);
  if (status == WHERRY_OK) status = wherry_client_perform(client, request, &response);
  if (status != WHERRY_OK) {
    const wherry_error *error = wherry_last_error();
    fprintf(stderr, "%s: %s\n", wherry_error_reason(error), wherry_error_message(error));
  }
  size_t size = 0; /* an error response has a body too */
  const uint8_t *body = wherry_response_body(response, &size);
  if (size > 0) fwrite(body, 1, size, stdout);
  wherry_response_free(response);
  wherry_request_free(request);
  wherry_client_free(client);
  /* readme: end */
  return status == WHERRY_OK ? 0 : 1;
}
