/* Gets a URL and prints the body or the error.
 * usage: get URL */
#include <stdio.h>
#include <wherry.h>

int main(int count, char **arguments) {
  const char *url = count > 1 ? arguments[1] : "https://example.org/";
  /* readme: begin */
  wherry_response *response = NULL;
  wherry_status status = wherry_get(url, &response);
  if (status != WHERRY_OK) {
    const wherry_error *error = wherry_last_error();
    fprintf(stderr, "%s: %s\n", wherry_error_reason(error), wherry_error_message(error));
  }
  size_t size = 0; /* an error response has a body too */
  const uint8_t *body = wherry_response_body(response, &size);
  if (size > 0) fwrite(body, 1, size, stdout);
  wherry_response_free(response);
  /* readme: end */
  return status == WHERRY_OK ? 0 : 1;
}
