/* Shows which responses come from a cache.
 * usage: caching BASE FOLDER */
#include <stdio.h>
#include <wherry.h>

static wherry_status check(wherry_status status) {
  if (status != WHERRY_OK) fprintf(stderr, "%s\n", wherry_error_message(wherry_last_error()));
  return status;
}

static wherry_status show(const char *what, wherry_client *client, const wherry_request *request) {
  wherry_response *response = NULL;
  wherry_json *json = NULL;
  wherry_status status = check(wherry_client_perform(client, request, &response));
  if (status == WHERRY_OK) status = check(wherry_response_json(response, &json));
  if (status == WHERRY_OK)
    printf("%s %lld%s%s%s\n", what, (long long)wherry_json_get_integer(json, "n", 0),
           wherry_response_is_from_cache(response) ? " from_cache" : "",
           wherry_response_is_stale(response) ? " is_stale" : "",
           wherry_response_is_revalidated(response) ? " is_revalidated" : "");
  wherry_json_free(json);
  wherry_response_free(response);
  return status;
}

static wherry_status new_client(const char *base, const char *folder, bool http,
                                wherry_client **out) {
  wherry_config *config = NULL;
  wherry_status status = wherry_config_new(&config);
  if (status == WHERRY_OK) status = wherry_config_set_text(config, WHERRY_TEXT_BASE_URL, base);
  if (status == WHERRY_OK)
    status = wherry_config_set_text(config, WHERRY_TEXT_STORAGE_DIRECTORY, folder);
  if (status == WHERRY_OK)
    status = wherry_config_set_option(config, WHERRY_OPTION_HTTP_CACHE, http);
  if (status == WHERRY_OK) status = wherry_client_new(config, out);
  wherry_config_free(config);
  return check(status);
}

static wherry_status timed(const char *base, const char *folder) {
  wherry_client *client = NULL;
  wherry_request *request = NULL;
  size_t count = 0;
  wherry_status status = new_client(base, folder, false, &client);
  /* guide: begin timed */
  if (status == WHERRY_OK) status = wherry_request_new("GET", "news", &request);
  if (status == WHERRY_OK) /* for a minute, whatever the server says */
    status = wherry_request_set_cache(request, WHERRY_CACHE_USE, 60000);
  if (status == WHERRY_OK) status = show("asked", client, request);
  if (status == WHERRY_OK) status = show("again", client, request);
  if (status == WHERRY_OK) status = wherry_request_set_cache(request, WHERRY_CACHE_REFRESH, 60000);
  if (status == WHERRY_OK) status = show("fresh", client, request);
  if (status == WHERRY_OK)
    status = wherry_client_clear_cache(client, WHERRY_STORE_TIMED, NULL, "news", NULL, &count);
  if (status == WHERRY_OK) printf("cleared %zu\n", count);
  /* guide: end timed */
  wherry_request_free(request);
  wherry_client_free(client);
  return status;
}

static wherry_status by_the_server(const char *base, const char *folder) {
  wherry_client *client = NULL;
  wherry_request *request = NULL;
  wherry_status status = new_client(base, folder, true, &client); /* OPTION_HTTP_CACHE is 1 */
  /* guide: begin http */
  if (status == WHERRY_OK) status = wherry_request_new("GET", "feed", &request);
  if (status == WHERRY_OK) status = show("asked", client, request);
  if (status == WHERRY_OK) status = show("validated", client, request);
  if (status == WHERRY_OK) /* or a stale response */
    status = wherry_request_set_stale_if_error_ms(request, 3600 * 1000);
  if (status == WHERRY_OK) status = show("down", client, request);
  /* guide: end http */
  wherry_request_free(request);
  wherry_client_free(client);
  return status;
}

int main(int count, char **arguments) {
  if (count != 3) {
    fprintf(stderr, "usage: caching BASE FOLDER\n");
    return 2;
  }
  wherry_status status = timed(arguments[1], arguments[2]);
  if (status == WHERRY_OK) status = by_the_server(arguments[1], arguments[2]);
  return status == WHERRY_OK ? 0 : 1;
}
