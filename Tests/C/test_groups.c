/* Wherry: row R34 of features.md, from C: groups of requests
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "fixture.h"
#include "server.h"

static wherry_group *new_group(wherry_group_policy policy) {
  wherry_group *group = NULL;
  REQUIRE_OK(wherry_group_new(policy, &group));
  return group;
}

/* Adds a GET, identified by its position from 1. */
static void add(wherry_group *group, const char *url, size_t place) {
  wherry_request *request = new_request("GET", url);
  REQUIRE_OK(wherry_group_add(group, request, (void *)(uintptr_t)place));
  CHECK_OK(wherry_request_free(request));
}

static wherry_transfer *send_group(wherry_client *client, wherry_group *group,
                                   wherry_queue *queue) {
  wherry_transfer *transfer = NULL;
  REQUIRE_OK(wherry_client_send_group(client, group, queue, (void *)100, &transfer));
  return keep_transfer(transfer);
}

/* What the queue reported up to the group's DONE. */
typedef struct ending {
  wherry_record done;       /* the group's, without its event */
  wherry_status status[16]; /* from the DONE of each member, by user data */
  int32_t http_code[16];
  int members, progress; /* DONE of members; PROGRESS of the group */
  int32_t last_ended, last_count;
  const char *message; /* of the group's error */
} ending;

static ending read_group(wherry_queue *queue, const wherry_transfer *group) {
  ending told = {.message = ""};
  uint64_t id = wherry_transfer_id(group);
  for (;;) {
    wherry_record record = {.size = sizeof record};
    size_t count = 0;
    REQUIRE_OK(wherry_queue_read(queue, &record, 1, 600000, &count));
    size_t place = (size_t)(uintptr_t)record.user_data;
    bool is_over = false;
    if (record.transfer_id != id) {
      REQUIRE(place > 0 && place < 16);
      if (record.kind == WHERRY_EVENT_DONE) {
        told.members++;
        told.status[place] = (wherry_status)record.status;
        told.http_code[place] = record.http_code;
      }
    } else if (record.kind == WHERRY_EVENT_PROGRESS) {
      wherry_progress progress = {.size = sizeof progress};
      CHECK_OK(wherry_event_progress(record.event, &progress));
      CHECK(progress.ended >= told.last_ended);
      told.last_ended = progress.ended;
      told.last_count = progress.count;
      told.progress++;
    } else if (record.kind == WHERRY_EVENT_DONE) {
      CHECK_INT((uintptr_t)record.user_data, 100);
      told.done = record;
      const wherry_error *error = wherry_event_error(record.event);
      if (error != NULL) told.message = check_format("%s", wherry_error_message(error));
      is_over = true;
    }
    CHECK_OK(wherry_event_free(record.event));
    if (is_over) return told;
  }
}

static const char *const five[] = {"/text/0", "/text/1", "/status/500", "/text/3", "/text/4"};

TEST("R34 fail fast names the one request of five with status 500 and cancels the others") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_group *group = new_group(WHERRY_GROUP_FAIL_FAST);
  for (size_t i = 0; i < 5; i++)
    add(group, server_url(i == 2 ? "%s" : "%s?gate=g", five[i]), i + 1);

  wherry_transfer *transfer = send_group(client, group, queue);
  ending told = read_group(queue, transfer);

  CHECK_STATUS((wherry_status)told.done.status, WHERRY_E_HTTP);
  CHECK_TEXT(told.done.reason, "http_status");
  CHECK_INT(told.done.http_code, 500);
  CHECK_INT(told.done.detail, 2);
  CHECK_HOLDS(told.message, "Request 3 of 5, GET ");
  CHECK_HOLDS(told.message, "/status/500");
  CHECK_INT(told.members, 5);
  for (size_t i = 1; i <= 5; i++)
    CHECK_STATUS(told.status[i], i == 3 ? WHERRY_E_HTTP : WHERRY_E_CANCELLED);
  CHECK_INT(wherry_transfer_state(transfer), WHERRY_STATE_FAILED);
  CHECK_OK(wherry_client_wait(client, WHERRY_MATCH_ALL, NULL, 600000));
  CHECK_INT(wherry_client_count(client, WHERRY_MATCH_ALL, NULL), 0);
  CHECK_OK(wherry_group_free(group));
}

TEST("R34 all settled completes the other four requests if one has status 500") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_group *group = new_group(WHERRY_GROUP_ALL_SETTLED);
  for (size_t i = 0; i < 5; i++) add(group, server_url("%s", five[i]), i + 1);

  ending told = read_group(queue, send_group(client, group, queue));

  CHECK_STATUS((wherry_status)told.done.status, WHERRY_OK);
  CHECK_INT(told.done.detail, 2);
  CHECK_INT(told.done.flags, 0);
  CHECK_INT(told.members, 5);
  for (size_t i = 1; i <= 5; i++) CHECK_INT(told.http_code[i], i == 3 ? 500 : 200);
  CHECK_INT(told.last_ended, 5);
  CHECK_INT(told.last_count, 5);
  CHECK(told.progress >= 1);
  CHECK_OK(wherry_group_free(group));
}

TEST("R34 starting twice and adding after the start are refused") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_group *group = new_group(WHERRY_GROUP_FAIL_FAST);
  add(group, "ftp://nowhere/", 1);
  CHECK_FAILS(wherry_client_send_group(client, group, queue, NULL, NULL), WHERRY_E_ARGUMENT,
              "bad_url");
  CHECK_HOLDS(wherry_error_message(wherry_last_error()), "Request 1 of 1 cannot be sent: ");
  CHECK_OK(wherry_group_free(group));
  group = new_group(WHERRY_GROUP_FAIL_FAST);
  add(group, server_url("/text/0"), 1);

  ending told = read_group(queue, send_group(client, group, queue));

  CHECK_STATUS((wherry_status)told.done.status, WHERRY_OK);
  CHECK_INT(told.done.detail, -1);
  CHECK_FAILS(wherry_client_send_group(client, group, queue, NULL, NULL), WHERRY_E_STATE,
              "already_started");
  wherry_request *request = new_request("GET", server_url("/text/1"));
  CHECK_FAILS(wherry_group_add(group, request, NULL), WHERRY_E_STATE, "already_started");
  wherry_group *inner = new_group(WHERRY_GROUP_FAIL_FAST);
  CHECK_FAILS(wherry_group_add_group(group, inner, NULL), WHERRY_E_STATE, "already_started");
  CHECK_INT(server_count("requests"), 1);
  CHECK(queue_is_empty(queue));
  CHECK_OK(wherry_group_free(inner));
  CHECK_OK(wherry_group_free(group));
}

TEST("R34 a flag reports that all responses came from a cache") {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_STORAGE_DIRECTORY, check_path("cache")));
  wherry_client *client = new_client(config);
  wherry_queue *queue = new_queue();
  const char *const names[][2] = {{"a", "b"}, {"a", "b"}, {"a", "c"}};
  for (size_t round = 0; round < 3; round++) {
    wherry_group *group = new_group(WHERRY_GROUP_FAIL_FAST);
    for (size_t i = 0; i < 2; i++) {
      wherry_request *request = new_request("GET", server_url("/text/%s", names[round][i]));
      CHECK_OK(wherry_request_set_cache(request, WHERRY_CACHE_USE, 60000));
      CHECK_OK(wherry_group_add(group, request, (void *)(i + 1)));
    }
    ending told = read_group(queue, send_group(client, group, queue));
    CHECK_INT((told.done.flags & WHERRY_RECORD_FROM_CACHE) != 0, round == 1);
    CHECK_OK(wherry_group_free(group));
  }
  CHECK_INT(server_count("requests"), 3);
}

TEST("R34 groups can be nested and have their own events") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_group *inner = new_group(WHERRY_GROUP_ALL_SETTLED);
  add(inner, server_url("/status/404"), 1);
  add(inner, server_url("/text/a"), 2);
  wherry_group *outer = new_group(WHERRY_GROUP_FAIL_FAST);
  CHECK_OK(wherry_group_add_group(outer, inner, (void *)3));
  CHECK_OK(wherry_group_add_group(outer, inner, (void *)4));
  CHECK_OK(wherry_group_free(inner));

  ending told = read_group(queue, send_group(client, outer, queue));

  CHECK_STATUS((wherry_status)told.done.status, WHERRY_OK);
  CHECK_INT(told.members, 6);
  CHECK_STATUS(told.status[1], WHERRY_E_HTTP);
  CHECK_STATUS(told.status[3], WHERRY_OK);
  CHECK_STATUS(told.status[4], WHERRY_OK);
  CHECK_INT(told.last_count, 2);
  CHECK_OK(wherry_group_free(outer));
  /* A group may be added to itself: a copy of its present members. */
  wherry_group *deep = new_group(WHERRY_GROUP_FAIL_FAST);
  for (int depth = 1; depth < 16; depth++) CHECK_OK(wherry_group_add_group(deep, deep, NULL));
  CHECK_FAILS(wherry_group_add_group(deep, deep, NULL), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_OK(wherry_group_free(deep));
  CHECK_FAILS(wherry_group_new((wherry_group_policy)99, &deep), WHERRY_E_ARGUMENT, "bad_argument");
}

TEST("R34 commands, lists, and freeing the queue or client apply to groups too") {
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_group *group = new_group(WHERRY_GROUP_ALL_SETTLED);
  for (size_t i = 1; i <= 3; i++) add(group, server_url("/text/a?gate=g"), i);
  wherry_transfer *transfer = send_group(client, group, queue);
  REQUIRE(server_wait("requests=3"));
  wherry_list *list = NULL;
  REQUIRE_OK(wherry_client_list(client, WHERRY_MATCH_ALL, NULL, &list));
  wherry_transfer_row row = {.size = sizeof row};
  CHECK_INT(wherry_list_count(list), 4);
  CHECK_OK(wherry_list_transfer(list, 0, &row));
  CHECK_INT(row.kind, WHERRY_TRANSFER_GROUP);
  CHECK(row.transfer_id == wherry_transfer_id(transfer));
  CHECK_OK(wherry_list_free(list));
  wherry_progress progress = {.size = sizeof progress};
  CHECK_OK(wherry_client_progress(client, WHERRY_MATCH_ALL, NULL, &progress));
  CHECK_INT(progress.count, 3);
  CHECK_OK(wherry_transfer_progress(transfer, &progress));
  CHECK_INT(progress.count, 3);
  CHECK_INT(progress.ended, 0);
  size_t count = 0;
  CHECK_OK(wherry_queue_cancel(queue, (void *)100, &count));
  CHECK_INT(count, 1);
  ending told = read_group(queue, transfer);
  CHECK_STATUS((wherry_status)told.done.status, WHERRY_E_CANCELLED);
  CHECK_INT(told.members, 3);
  CHECK_OK(wherry_group_free(group));

  group = new_group(WHERRY_GROUP_FAIL_FAST);
  for (size_t i = 1; i <= 3; i++) add(group, server_url("/text/a?gate=g"), i);
  transfer = send_group(client, group, queue);
  CHECK_OK(wherry_client_free(client));
  told = read_group(queue, transfer);
  CHECK_STATUS((wherry_status)told.done.status, WHERRY_E_CANCELLED);
  CHECK_INT(told.members, 3);

  client = new_client(NULL);
  wherry_group *last = new_group(WHERRY_GROUP_FAIL_FAST);
  for (size_t i = 1; i <= 3; i++) add(last, server_url("/text/a?gate=g"), i);
  send_group(client, last, queue);
  CHECK_OK(wherry_queue_free(queue));
  CHECK_OK(wherry_client_wait(client, WHERRY_MATCH_ALL, NULL, 600000));
  CHECK_OK(wherry_group_free(group));
  CHECK_OK(wherry_group_free(last));
}
