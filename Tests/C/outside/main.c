/* Wherry: uses the installed library as an outside program; C99 and C++11
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <wherry.h>

/* The argument is the expected version. */
int main(int count, char **arguments) {
  wherry_client *client = NULL;
  wherry_request *request = NULL;
  wherry_response *response = NULL;
  if (count != 2 || strcmp(arguments[1], wherry_library_version_text()) != 0) return 2;
  if (wherry_library_version() != WHERRY_VERSION_NUMBER) return 3;
  if (wherry_client_new(NULL, &client) != WHERRY_OK) return 4;
  if (wherry_request_new("GET", "gopher://127.0.0.1/", &request) != WHERRY_OK) return 5;
  if (wherry_client_perform(client, request, &response) != WHERRY_E_ARGUMENT) return 6;
  if (strcmp(wherry_error_reason(wherry_last_error()), "bad_url") != 0) return 7;
  if (wherry_request_free(request) != WHERRY_OK) return 8;
  if (wherry_client_free(client) != WHERRY_OK) return 9;
  printf("wherry %s\n", wherry_library_version_text());
  return 0;
}
