/* Wherry: rows O10 to O14, O18 and O19 of features.md, from C: lists in pages
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "fixture.h"
#include "server.h"

static wherry_pager *new_pager(wherry_client *client, const char *url, const char *items,
                               wherry_queue *queue) {
  wherry_pager *pager = NULL;
  wherry_request *request = new_request(NULL, url);
  REQUIRE_OK(wherry_pager_new(client, request, items, queue, &new_pager, &pager));
  return pager;
}

/* The list from "/s/books", which says whether there are more pages. */
static wherry_pager *new_books(wherry_queue *queue) {
  wherry_pager *pager = new_pager(new_client(NULL), server_url("/s/books"), "list", queue);
  CHECK_OK(wherry_pager_set_end(pager, WHERRY_PAGER_END_HAS_NEXT, "more"));
  return pager;
}

/* The items of the list as compact JSON. */
static char *items_of(const wherry_pager *pager) {
  wherry_json *items = NULL;
  REQUIRE_OK(wherry_pager_copy_items(pager, 0, SIZE_MAX / 2, &items));
  CHECK_INT(wherry_json_count(items, NULL), wherry_pager_count(pager));
  char *text = check_format("%s", wherry_json_print(items, false, NULL));
  wherry_json_free(items);
  return text;
}

/* Loads pages until the end; returns the reason of the end or of the failure. */
static const char *load_all(wherry_pager *pager, wherry_queue *queue) {
  for (;;) {
    wherry_status status = wherry_pager_load_next(pager, NULL);
    if (status != WHERRY_OK) return wherry_error_reason(wherry_last_error());
    outcome got = next_done(queue);
    if (got.status != WHERRY_OK) return got.reason;
  }
}

static wherry_json *table(const char *name) {
  long count;
  char *text = check_read_file(check_format("%s/%s", WHERRY_SCENARIOS, name), &count);
  REQUIRE(text != NULL);
  wherry_json *json = new_json(text, (size_t)count);
  REQUIRE(wherry_json_count(json, "cases") > 0);
  return json;
}

static char *text_at(const wherry_json *json, const char *path) {
  const char *text = wherry_json_get_text(json, path, NULL, NULL);
  return text == NULL ? NULL : check_format("%s", text);
}

/* The URL of a request that a stub received. */
static char *asked_url(wherry_stub *stub, size_t index) {
  wherry_response *echo = NULL;
  REQUIRE_OK(wherry_stub_copy_request(stub, index, &echo));
  char *url = check_format("%s", wherry_response_url(echo));
  CHECK_OK(wherry_response_free(echo));
  return url;
}

static void set_up(wherry_pager *pager, const wherry_json *json, const char *one) {
  static const char *const ends[] = {"short_page", "last_page", "has_next",
                                     "total",      "cursor",    "link"};
  const char *end = text_at(json, check_format("%s/end", one));
  for (int i = 0; i < 6; i++)
    if (strcmp(ends[i], end) == 0)
      CHECK_OK(wherry_pager_set_end(pager, (wherry_pager_end)i,
                                    text_at(json, check_format("%s/path", one))));
  const char *parameter = text_at(json, check_format("%s/parameter", one));
  int64_t first = wherry_json_get_integer(json, check_format("%s/first", one), 0);
  CHECK_OK(wherry_pager_set_parameter(pager, parameter == NULL ? "nextPage" : parameter, first));
  int64_t size = wherry_json_get_integer(json, check_format("%s/size", one), 0);
  const char *unit = text_at(json, check_format("%s/unit", one));
  if (size > 0)
    CHECK_OK(wherry_pager_set_size(pager, size,
                                   text_at(json, check_format("%s/size_parameter", one)),
                                   unit != NULL && strcmp(unit, "items") == 0));
  CHECK_OK(
      wherry_pager_set_key(pager, text_at(json, check_format("%s/key", one)),
                           wherry_json_get_bool(json, check_format("%s/newest_wins", one), false)));
}

TEST("O10 O14 O18 every way to end a list matches the table") {
  wherry_json *cases = table("page-ends.json");
  for (size_t i = 0; i < wherry_json_count(cases, "cases"); i++) {
    char *one = check_format("cases/%zu", i);
    wherry_stub *stub = new_stub();
    wherry_queue *queue = new_queue();
    for (size_t k = 0; k < wherry_json_count(cases, check_format("%s/answers", one)); k++) {
      char *answer = check_format("%s/answers/%zu", one, k);
      char *body = json_text_at(cases, check_format("%s/body", answer));
      char *link = text_at(cases, check_format("%s/link", answer));
      CHECK_OK(wherry_stub_add_response(stub, NULL, "http://h/list*", 1, 200,
                                        link == NULL ? NULL : check_format("Link: %s\n", link),
                                        body, strlen(body)));
    }
    wherry_pager *pager = new_pager(new_stub_client(stub), "http://h/list",
                                    text_at(cases, check_format("%s/items", one)), queue);
    set_up(pager, cases, one);
    CHECK_TEXT(load_all(pager, queue), "last_page");
    CHECK(!wherry_pager_has_next(pager));
    CHECK_TEXT(items_of(pager), json_text_at(cases, check_format("%s/finds", one)));
    REQUIRE_INT(wherry_stub_request_count(stub),
                wherry_json_count(cases, check_format("%s/asks", one)));
    for (size_t k = 0; k < wherry_stub_request_count(stub); k++) {
      char *query = strchr(asked_url(stub, k), '?');
      CHECK_TEXT(query == NULL ? "" : query + 1,
                 text_at(cases, check_format("%s/asks/%zu", one, k)));
    }
    CHECK_OK(wherry_pager_free(pager));
  }
}

TEST("O18 Link headers match the table") {
  wherry_json *cases = table("link-fields.json");
  for (size_t i = 0; i < wherry_json_count(cases, "cases"); i++) {
    char *one = check_format("cases/%zu", i);
    wherry_stub *stub = new_stub();
    wherry_queue *queue = new_queue();
    char *head = check_format("%s", "");
    for (size_t k = 0; k < wherry_json_count(cases, check_format("%s/fields", one)); k++)
      head =
          check_format("%sLink: %s\n", head, text_at(cases, check_format("%s/fields/%zu", one, k)));
    CHECK_OK(wherry_stub_add_response(stub, NULL, "http://h/list?page=1", -1, 200, head, "[1]", 3));
    CHECK_OK(wherry_stub_add_response(stub, NULL, "http://h/list?page=2", -1, 200, NULL, "[2]", 3));
    wherry_pager *pager = new_pager(new_stub_client(stub), "http://h/list?page=1", NULL, queue);
    CHECK_OK(wherry_pager_set_end(pager, WHERRY_PAGER_END_LINK, NULL));
    const char *error = text_at(cases, check_format("%s/error", one));
    const char *next = text_at(cases, check_format("%s/next", one));
    CHECK_TEXT(load_all(pager, queue), error == NULL ? "last_page" : error);
    CHECK_INT(wherry_stub_request_count(stub), next == NULL ? 1 : 2);
    if (next != NULL) CHECK_TEXT(asked_url(stub, 1), next);
    CHECK_OK(wherry_pager_free(pager));
  }
}

TEST("O11 a failed page 2 is requested again, and only success changes the list") {
  wherry_queue *queue = new_queue();
  server_script(
      "{\"books\": ["
      "{\"json\": {\"list\": [0], \"last\": 2}}, {\"json\": {\"list\": [1], \"last\": 2}},"
      "{\"status\": 503}, {\"json\": {\"oops\": 1}}, {\"json\": {\"list\": [2], \"last\": 2}}]}");
  wherry_pager *pager = new_pager(new_client(NULL), server_url("/s/books"), "list", queue);
  CHECK_OK(wherry_pager_set_end(pager, WHERRY_PAGER_END_LAST_PAGE, "last"));
  CHECK_INT(wherry_pager_page(pager, -1), -1);
  CHECK(wherry_pager_has_next(pager) && !wherry_pager_has_previous(pager));
  for (int page = 0; page < 2; page++) {
    REQUIRE_OK(wherry_pager_load_next(pager, NULL));
    CHECK_OK(next_done(queue).status);
    CHECK_INT(wherry_pager_page(pager, -1), page);
  }
  static const char *const reasons[] = {"http_status", "bad_json_body"};
  for (int i = 0; i < 2; i++) {
    REQUIRE_OK(wherry_pager_load_next(pager, NULL));
    outcome got = next_done(queue);
    CHECK_STATUS(got.status, WHERRY_E_HTTP);
    CHECK_TEXT(got.reason, reasons[i]);
    CHECK(got.http_code != 0);
    CHECK_INT(wherry_pager_page(pager, -1), 1);
    CHECK_TEXT(items_of(pager), "[0,1]");
    CHECK(!wherry_pager_is_loading(pager));
  }
  REQUIRE_OK(wherry_pager_load_next(pager, NULL));
  CHECK_OK(next_done(queue).status);
  CHECK_TEXT(items_of(pager), "[0,1,2]");
  CHECK_FAILS(wherry_pager_load_next(pager, NULL), WHERRY_E_STATE, "last_page");
  CHECK_FAILS(wherry_pager_set_key(pager, "id", false), WHERRY_E_STATE, "wrong_state");
  CHECK(queue_is_empty(queue));
  CHECK_OK(wherry_pager_free(pager));
}

TEST("O11 one page loads at a time; cancel keeps the list; previous on the first page refreshes") {
  wherry_queue *queue = new_queue();
  wherry_pager *pager = new_pager(
      new_client(NULL), server_url("/json?value=[1]&gate=held&gate_times=1"), NULL, queue);
  wherry_transfer *transfer = NULL;
  CHECK_OK(wherry_pager_cancel(pager));
  REQUIRE_OK(wherry_pager_load_next(pager, &transfer));
  CHECK(transfer != NULL && wherry_pager_is_loading(pager));
  CHECK_FAILS(wherry_pager_load_next(pager, NULL), WHERRY_E_BUSY, "busy");
  CHECK_FAILS(wherry_pager_refresh(pager, NULL), WHERRY_E_BUSY, "busy");
  REQUIRE(server_wait("requests=1"));
  CHECK_OK(wherry_pager_cancel(pager));
  outcome got = next_done(queue);
  CHECK_TEXT(got.reason, "cancelled");
  CHECK(got.user_data == &new_pager);
  CHECK_INT(got.id, wherry_transfer_id(transfer));
  CHECK_INT(wherry_pager_count(pager), 0);
  REQUIRE_OK(wherry_pager_load_next(pager, NULL));
  CHECK_OK(next_done(queue).status);
  REQUIRE_OK(wherry_pager_load_next(pager, NULL));
  CHECK_OK(next_done(queue).status);
  CHECK(wherry_pager_has_previous(pager));
  REQUIRE_OK(wherry_pager_load_previous(pager, NULL));
  CHECK_OK(next_done(queue).status);
  CHECK_INT(wherry_pager_count(pager), 2);
  REQUIRE_OK(wherry_pager_load_previous(pager, NULL));
  CHECK_OK(next_done(queue).status);
  CHECK_INT(wherry_pager_page(pager, -1), 0);
  CHECK_INT(wherry_pager_count(pager), 1);
  CHECK_FAILS(wherry_pager_load_page(pager, -1, NULL), WHERRY_E_ARGUMENT, "bad_value");
  CHECK_OK(wherry_transfer_free(transfer));
  CHECK_OK(wherry_pager_free(pager));
}

TEST("O11 an unusable page is rolled back and requested again") {
  wherry_queue *queue = new_queue();
  server_script(
      "{\"books\": [{\"json\": {\"list\": [1, 2], \"more\": true}},"
      "{\"json\": {\"list\": [3], \"more\": false}},"
      "{\"json\": {\"list\": [4], \"more\": true}},"
      "{\"json\": {\"list\": [5], \"more\": true}}]}");
  wherry_pager *pager = new_books(queue);
  CHECK_FAILS(wherry_pager_take_back(pager), WHERRY_E_STATE, "wrong_state");
  for (int i = 0; i < 2; i++) {
    CHECK_OK(wherry_pager_load_next(pager, NULL));
    CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  }
  CHECK_OK(wherry_pager_take_back(pager));
  CHECK_FAILS(wherry_pager_take_back(pager), WHERRY_E_STATE, "wrong_state");
  CHECK_TEXT(items_of(pager), "[1,2]");
  CHECK_INT(wherry_pager_page(pager, -1), 0);
  CHECK(wherry_pager_has_next(pager));
  CHECK_OK(wherry_pager_load_next(pager, NULL));
  CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  CHECK_TEXT(items_of(pager), "[1,2,4]");
  CHECK_OK(wherry_pager_refresh(pager, NULL));
  CHECK_STATUS(next_done(queue).status, WHERRY_OK);
  CHECK_TEXT(items_of(pager), "[5]");
  CHECK_OK(wherry_pager_take_back(pager));
  CHECK_TEXT(items_of(pager), "[1,2,4]");
  CHECK_INT(wherry_pager_page(pager, -1), 1);
  CHECK_OK(wherry_pager_free(pager));
}

/* The next event, as "loaded 2": the change of the list and the page number, if any; "failed 2
 * http_status"; "done" for the end of a transfer. Freed with the test. */
static char *next_told(wherry_queue *queue) {
  static const char *const words[] = {"?",      "will_load", "refreshed",  "loaded",
                                      "failed", "finished",  "first_page", "last_page"};
  wherry_event *event = NULL;
  REQUIRE_OK(wherry_queue_next(queue, 600000, &event));
  char *told = NULL;
  if (wherry_event_get_kind(event) == WHERRY_EVENT_PAGE) {
    const int64_t detail = wherry_event_detail(event), page = wherry_event_page(event);
    REQUIRE(detail >= WHERRY_PAGE_WILL_LOAD && detail <= WHERRY_PAGE_LAST);
    CHECK(wherry_event_user_data(event) == &new_pager);
    CHECK_INT(wherry_event_transfer_id(event), 0);
    told = check_format("%s", words[detail]);
    if (page >= 0) told = check_format("%s %lld", told, (long long)page);
    const char *reason = wherry_error_reason(wherry_event_error(event));
    if (reason != NULL) told = check_format("%s %s", told, reason);
    CHECK((wherry_event_status(event) == WHERRY_OK) == (reason == NULL));
  } else if (wherry_event_get_kind(event) == WHERRY_EVENT_DONE) {
    CHECK_INT(wherry_event_page(event), -1);
    told = check_format("done");
  }
  CHECK_OK(wherry_event_free(event));
  return told == NULL ? next_told(queue) : told;
}

#define TELLS(queue, ...)                                             \
  do {                                                                \
    const char *const expected[] = {__VA_ARGS__};                     \
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) \
      CHECK_TEXT(next_told(queue), expected[i]);                      \
    CHECK(queue_is_empty(queue));                                     \
  } while (0)

TEST("O12 the events of a load are in order, with success only on success") {
  wherry_queue *queue = new_queue();
  server_script(
      "{\"books\": [{\"json\": {\"list\": [0], \"more\": true}}, {\"status\": 503},"
      "{\"json\": {\"oops\": 1}}, {\"json\": {\"list\": [1], \"more\": false}},"
      "{\"json\": {\"list\": [2], \"more\": true}},"
      "{\"json\": {\"list\": [3], \"more\": true}}]}");
  wherry_pager *pager = new_books(queue);
  CHECK_OK(wherry_pager_set_kept_pages(pager, 2));
  CHECK_OK(wherry_pager_set_events(pager, true));
  REQUIRE_OK(wherry_pager_load_next(pager, NULL));
  TELLS(queue, "will_load 0", "loaded 0", "finished", "done");
  REQUIRE_OK(wherry_pager_load_next(pager, NULL));
  TELLS(queue, "will_load 1", "failed 1 http_status", "finished", "done");
  REQUIRE_OK(wherry_pager_load_next(pager, NULL));
  TELLS(queue, "will_load 1", "failed 1 bad_json_body", "finished", "done");
  REQUIRE_OK(wherry_pager_load_next(pager, NULL));
  TELLS(queue, "will_load 1", "loaded 1", "finished", "done");
  CHECK_FAILS(wherry_pager_load_next(pager, NULL), WHERRY_E_STATE, "last_page");
  TELLS(queue, "last_page");
  REQUIRE_OK(wherry_pager_load_previous(pager, NULL)); /* it was kept */
  TELLS(queue, "will_load 0", "loaded 0", "finished");
  REQUIRE_OK(wherry_pager_load_previous(pager, NULL));
  TELLS(queue, "first_page", "will_load 0", "refreshed 0", "finished", "done");
  CHECK_TEXT(items_of(pager), "[2]");
  CHECK_OK(wherry_pager_set_events(pager, false));
  REQUIRE_OK(wherry_pager_refresh(pager, NULL));
  TELLS(queue, "done");
  CHECK_OK(wherry_pager_free(pager));
}

TEST("O12 a load that cannot start fails, and the list stays") {
  wherry_queue *queue = new_queue();
  wherry_pager *pager = new_pager(new_client(NULL), "ftp://nowhere/", NULL, queue);
  CHECK_OK(wherry_pager_set_events(pager, true));
  for (int i = 0; i < 2; i++) {
    CHECK_FAILS(wherry_pager_load_next(pager, NULL), WHERRY_E_ARGUMENT, "bad_url");
    TELLS(queue, "will_load 0", "failed 0 bad_url", "finished");
    CHECK(!wherry_pager_is_loading(pager));
  }
  CHECK_OK(wherry_pager_free(pager));
}

TEST("O19 ten pages are read in order, with two loaded ahead") {
  wherry_queue *queue = new_queue();
  wherry_pager *pager = new_pager(
      new_client(NULL), server_url("/json?value={\"list\":[1,2],\"last\":9}"), "list", queue);
  CHECK_OK(wherry_pager_set_end(pager, WHERRY_PAGER_END_LAST_PAGE, "last"));
  size_t loaded = 0, read = 0; /* pages */
  while (read < 10) {
    /* Two pages beyond the next one to read, as far as they exist. */
    while (loaded < read + 3 && wherry_pager_load_next(pager, NULL) == WHERRY_OK) {
      CHECK_OK(next_done(queue).status);
      loaded++;
    }
    CHECK_INT(server_count("requests"), loaded);
    CHECK_INT(loaded, read + 3 < 10 ? read + 3 : 10);
    wherry_json *items = NULL;
    REQUIRE_OK(wherry_pager_copy_items(pager, read * 2, 2, &items));
    CHECK_TEXT(wherry_json_print(items, false, NULL), "[1,2]");
    CHECK_OK(wherry_json_free(items));
    read++;
  }
  CHECK(!wherry_pager_has_next(pager));
  CHECK_INT(wherry_pager_count(pager), 20);
  CHECK_OK(wherry_pager_free(pager));
}

TEST("O13 a cached page is available at once, without an event") {
  wherry_queue *queue = new_queue();
  wherry_pager *pager = new_pager(new_client(NULL), server_url("/json?value=[1]"), NULL, queue);
  CHECK_OK(wherry_pager_set_kept_pages(pager, 2));
  wherry_transfer *transfer = NULL;
  for (int64_t page = 0; page < 10; page += 5) {
    REQUIRE_OK(wherry_pager_load_page(pager, page, NULL));
    CHECK_OK(next_done(queue).status);
  }
  for (int64_t page = 0; page < 10; page += 5) {
    transfer = (wherry_transfer *)queue;
    CHECK_OK(wherry_pager_load_page(pager, page, &transfer));
    CHECK(transfer == NULL);
    CHECK_INT(wherry_pager_page(pager, -1), page);
  }
  CHECK_INT(server_count("requests"), 2);
  CHECK(queue_is_empty(queue));
  REQUIRE_OK(wherry_pager_refresh(pager, NULL));
  CHECK_OK(next_done(queue).status);
  CHECK_INT(server_count("requests"), 3);
  CHECK_OK(wherry_pager_free(pager));
}

TEST("O18 a marker of the wrong type is an error, and does not end the list") {
  static const char url[] = "{\"list\": [1], \"next\": \"http://h/list?page=2\"}";
  static const char number[] = "{\"list\": [1], \"next\": 2}";
  for (int i = 0; i < 2; i++) {
    wherry_stub *stub = new_stub();
    wherry_queue *queue = new_queue();
    const char *body = i == 0 ? url : number;
    CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, NULL, body, strlen(body)));
    wherry_pager *pager = new_pager(new_stub_client(stub), "http://h/list", "list", queue);
    CHECK_OK(wherry_pager_set_end(pager, i == 0 ? WHERRY_PAGER_END_HAS_NEXT : WHERRY_PAGER_END_LINK,
                                  "next"));
    CHECK_TEXT(load_all(pager, queue), "bad_json_body");
    CHECK_OK(wherry_pager_free(pager));
  }
}

TEST("O18 conflicting settings are refused before anything is sent") {
  wherry_stub *stub = new_stub();
  wherry_queue *queue = new_queue();
  wherry_client *client = new_stub_client(stub);
  wherry_pager *pager = new_pager(client, "http://h/list", NULL, queue);
  CHECK_FAILS(wherry_pager_set_end(pager, (wherry_pager_end)6, NULL), WHERRY_E_ARGUMENT,
              "bad_argument");
  CHECK_FAILS(wherry_pager_set_end(pager, WHERRY_PAGER_END_TOTAL, NULL), WHERRY_E_ARGUMENT,
              "bad_argument");
  CHECK_OK(wherry_pager_set_size(pager, 0, NULL, false));
  CHECK_FAILS(wherry_pager_load_next(pager, NULL), WHERRY_E_ARGUMENT, "bad_value");
  CHECK_OK(wherry_pager_set_size(pager, 10, NULL, true));
  CHECK_OK(wherry_pager_set_end(pager, WHERRY_PAGER_END_LINK, NULL));
  CHECK_FAILS(wherry_pager_load_next(pager, NULL), WHERRY_E_ARGUMENT, "bad_value");
  CHECK_OK(wherry_pager_set_size(pager, INT64_MAX, NULL, false));
  CHECK_OK(wherry_pager_set_parameter(pager, "p", INT64_MAX));
  CHECK_FAILS(wherry_pager_load_next(pager, NULL), WHERRY_E_ARGUMENT, "bad_value");
  CHECK_INT(wherry_stub_request_count(stub), 0);
  CHECK_OK(wherry_pager_free(pager));
}

TEST("O11 the available items are copied") {
  wherry_stub *stub = new_stub();
  wherry_queue *queue = new_queue();
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, NULL, "[1,2,3]", 7));
  wherry_pager *pager = new_pager(new_stub_client(stub), "http://h/list", NULL, queue);
  REQUIRE_OK(wherry_pager_load_next(pager, NULL));
  CHECK_OK(next_done(queue).status);
  const struct {
    size_t first, count;
    const char *text;
  } parts[] = {{0, 3, "[1,2,3]"}, {1, 1, "[2]"},  {2, 9, "[3]"},
               {3, 1, "[]"},      {99, 99, "[]"}, {0, 0, "[]"}};
  wherry_json *items = NULL;
  for (size_t i = 0; i < 6; i++) {
    REQUIRE_OK(wherry_pager_copy_items(pager, parts[i].first, parts[i].count, &items));
    CHECK_TEXT(wherry_json_print(items, false, NULL), parts[i].text);
    CHECK_OK(wherry_json_free(items));
  }
  CHECK_FAILS(wherry_pager_copy_items(pager, SIZE_MAX, 1, &items), WHERRY_E_ARGUMENT,
              "bad_argument");
  CHECK_OK(wherry_pager_free(pager));
}

TEST("O11 pager, client, and queue can be freed in any order while a page loads") {
  for (int order = 0; order < 3; order++) {
    wherry_queue *queue = new_queue();
    wherry_client *client = new_client(NULL);
    wherry_pager *pager = new_pager(client, server_url("/silent"), NULL, queue);
    REQUIRE_OK(wherry_pager_load_next(pager, NULL));
    if (order == 0) CHECK_OK(wherry_pager_free(pager));
    if (order == 1) CHECK_OK(wherry_client_free(client));
    if (order == 2) CHECK_OK(wherry_queue_free(queue));
    if (order < 2) CHECK_STATUS(next_done(queue).status, WHERRY_E_CANCELLED);
    if (order == 1) CHECK_FAILS(wherry_pager_load_next(pager, NULL), WHERRY_E_STATE, "closed");
    CHECK_OK(wherry_client_free(order == 1 ? NULL : client));
    CHECK_OK(wherry_pager_free(order == 0 ? NULL : pager));
    CHECK_OK(wherry_queue_free(order == 2 ? NULL : queue));
  }
}
