/* Lists the books of a library server. The token file and the cache are kept between runs. An
 * expired token is refreshed once, even if several requests got a 401. */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wherry.h>

static const char usage[] =
    "usage: API_ID=me API_SECRET=... api_client BASE-URL [--token-file token]\n";

typedef struct library {
  wherry_client *client;
  wherry_queue *queue;
  const char *id, *secret, *token_file;
} library;

/* guide: begin model */
typedef struct book {
  int64_t id;
  const char *title, *author; /* borrowed from the JSON */
} book;

static book read_book(const wherry_json *books, size_t index) {
  char id[32], title[32], author[40];
  snprintf(id, sizeof id, "%zu/id", index);
  snprintf(title, sizeof title, "%zu/title", index);
  snprintf(author, sizeof author, "%zu/author/name", index);
  return (book){wherry_json_get_integer(books, id, 0), wherry_json_get_text(books, title, "", NULL),
                wherry_json_get_text(books, author, "unknown", NULL)};
}
/* guide: end model */

static void read_token(const char *path, char *token, int capacity) {
  FILE *file = fopen(path, "r");
  if (file == NULL || fgets(token, capacity, file) == NULL) token[0] = '\0';
  token[strcspn(token, "\r\n")] = '\0';
  if (file != NULL) fclose(file);
}

static void keep_token(const char *path, const char *token) {
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  size_t count = strlen(token);
  if (file < 0 || write(file, token, count) != (ssize_t)count) perror(path);
  if (file >= 0) close(file);
}

static wherry_status make_client(library *app, const char *base) {
  wherry_config *config = NULL;
  char token[1024];
  read_token(app->token_file, token, sizeof token);
  /* guide: begin client */
  wherry_status status = wherry_config_new(&config);
  if (status == WHERRY_OK) status = wherry_config_set_text(config, WHERRY_TEXT_BASE_URL, base);
  if (status == WHERRY_OK && token[0] != '\0')
    status = wherry_config_set_text(config, WHERRY_TEXT_BEARER_TOKEN, token);
  if (status == WHERRY_OK) /* HTTP cache in ~/.cache/wherry/books */
    status = wherry_config_set_option(config, WHERRY_OPTION_HTTP_CACHE, 1);
  if (status == WHERRY_OK)
    status = wherry_config_set_text(config, WHERRY_TEXT_STORAGE_NAME, "books");
  if (status == WHERRY_OK) status = wherry_config_set_option(config, WHERRY_OPTION_MAX_RETRIES, 2);
  if (status == WHERRY_OK) status = wherry_client_new(config, &app->client);
  if (status == WHERRY_OK) /* raised once for all requests that got a 401 */
    status = wherry_client_set_hooks(app->client, WHERRY_HOOK_TOKEN);
  /* guide: end client */
  wherry_config_free(config);
  return status;
}

/* guide: begin token */
/* Requests a new token (RFC 6749, section 4.4) and passes it on; NULL keeps the 401. */
static void sign_in(const library *app, wherry_event *hook) {
  wherry_queue *queue = NULL;
  wherry_request *request = NULL;
  wherry_event *done = NULL;
  wherry_json *json = NULL;
  const char *token = NULL;
  wherry_status status = wherry_queue_new(&queue);
  if (status == WHERRY_OK) status = wherry_request_new("POST", "token", &request);
  if (status == WHERRY_OK)
    status = wherry_request_add_field(request, "grant_type", "client_credentials");
  if (status == WHERRY_OK)
    status = wherry_request_set_credentials(request, WHERRY_AUTH_BASIC, app->id, app->secret);
  if (status == WHERRY_OK) status = wherry_client_send(app->client, request, queue, NULL, NULL);
  while (status == WHERRY_OK && wherry_event_get_kind(done) != WHERRY_EVENT_DONE) {
    wherry_event_free(done);
    done = NULL;
    status = wherry_queue_next(queue, -1, &done);
  }
  if (wherry_response_json(wherry_event_response(done), &json) == WHERRY_OK)
    token = wherry_json_get_text(json, "access_token", NULL, NULL);
  if (wherry_event_resolve_token(hook, token) == WHERRY_OK && token != NULL)
    keep_token(app->token_file, token);
  wherry_json_free(json);
  wherry_event_free(done);
  wherry_request_free(request);
  wherry_queue_free(queue);
}
/* guide: end token */

/* Returns the next DONE event, or NULL after printing a failure. The caller frees the event. */
static wherry_event *next_end(const library *app) {
  wherry_event *event = NULL;
  while (wherry_queue_next(app->queue, -1, &event) == WHERRY_OK) {
    const wherry_error *error = wherry_event_error(event);
    if (wherry_event_get_kind(event) == WHERRY_EVENT_HOOK) sign_in(app, event);
    if (wherry_event_get_kind(event) == WHERRY_EVENT_DONE) {
      if (error == NULL) return event;
      fprintf(stderr, "%s: %s\n", wherry_error_reason(error), wherry_error_message(error));
      wherry_event_free(event);
      return NULL;
    }
    wherry_event_free(event);
  }
  return NULL;
}

static bool print_user(const library *app) {
  wherry_request *request = NULL;
  wherry_json *user = NULL;
  wherry_event *done = NULL;
  wherry_status status = wherry_request_new("GET", "me", &request);
  if (status == WHERRY_OK)
    status = wherry_client_send(app->client, request, app->queue, NULL, NULL);
  if (status == WHERRY_OK) done = next_end(app);
  const wherry_response *response = wherry_event_response(done);
  bool is_good = done != NULL && wherry_response_json(response, &user) == WHERRY_OK;
  if (is_good)
    printf("signed in as %s%s\n", wherry_json_get_text(user, "name", "nobody", NULL),
           wherry_response_is_from_cache(response) ? " (from the cache)" : "");
  wherry_json_free(user);
  wherry_event_free(done);
  wherry_request_free(request);
  return is_good;
}

/* Prints the books from `first` on and returns how many. */
static size_t print_books(const wherry_pager *pager, size_t first) {
  wherry_json *books = NULL;
  if (wherry_pager_copy_items(pager, first, SIZE_MAX / 2, &books) != WHERRY_OK) return 0;
  size_t count = wherry_json_count(books, NULL);
  for (size_t i = 0; i < count; i++) {
    book one = read_book(books, i);
    printf("%lld: %s, by %s\n", (long long)one.id, one.title, one.author);
  }
  wherry_json_free(books);
  return count;
}

static bool list_books(const library *app) {
  wherry_request *request = NULL;
  wherry_pager *pager = NULL;
  wherry_event *done = NULL;
  size_t printed = 0;
  bool is_last = false;
  /* guide: begin pages */
  wherry_status status = wherry_request_new("GET", "books", &request);
  if (status == WHERRY_OK)
    status = wherry_pager_new(app->client, request, "books", app->queue, NULL, &pager);
  if (status == WHERRY_OK) status = wherry_pager_set_parameter(pager, "page", 1);
  if (status == WHERRY_OK) status = wherry_pager_set_end(pager, WHERRY_PAGER_END_HAS_NEXT, "more");
  if (status == WHERRY_OK) status = wherry_pager_load_next(pager, NULL);
  while (status == WHERRY_OK && (done = next_end(app)) != NULL) {
    wherry_event_free(done);
    is_last = !wherry_pager_has_next(pager);
    if (!is_last) status = wherry_pager_load_next(pager, NULL); /* loads during printing */
    printed += print_books(pager, printed);
    if (is_last) break;
  }
  /* guide: end pages */
  wherry_pager_free(pager);
  wherry_request_free(request);
  return is_last;
}

int main(int count, char **arguments) {
  static const struct option known[] = {{"token-file", 1, NULL, 't'}, {NULL, 0, NULL, 0}};
  library app = {.id = getenv("API_ID"), .secret = getenv("API_SECRET"), .token_file = "token"};
  int found;
  while ((found = getopt_long(count, arguments, "", known, NULL)) == 't') app.token_file = optarg;
  if (found != -1 || count - optind != 1 || app.id == NULL || app.secret == NULL) {
    fputs(usage, stderr);
    return 2;
  }
  wherry_status status = make_client(&app, arguments[optind]);
  if (status == WHERRY_OK) status = wherry_queue_new(&app.queue);
  if (status != WHERRY_OK) fprintf(stderr, "%s\n", wherry_error_message(wherry_last_error()));
  bool is_good = status == WHERRY_OK && print_user(&app) && list_books(&app);
  wherry_queue_free(app.queue);
  wherry_client_free(app.client);
  return is_good ? 0 : 1;
}
