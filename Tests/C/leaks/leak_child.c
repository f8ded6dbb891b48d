/* Wherry: a program that LeakSanitizer examines at its exit
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: leak_child URL free|keep
 *
 * Makes one request. With `keep` the client still exists when the program ends. */
#include <string.h>
#include <wherry.h>

static wherry_client *client;

int main(int count, char **words) {
  wherry_request *request = NULL;
  wherry_response *response = NULL;
  if (count != 3 || wherry_client_new(NULL, &client) != WHERRY_OK) return 2;
  if (wherry_request_new("GET", words[1], &request) != WHERRY_OK) return 2;
  if (wherry_client_perform(client, request, &response) != WHERRY_OK) return 3;
  wherry_response_free(response);
  wherry_request_free(request);
  return strcmp(words[2], "free") == 0 && wherry_client_free(client) != WHERRY_OK ? 4 : 0;
}
