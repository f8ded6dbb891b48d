/* Wherry: rows O15 and O16 of features.md, from C: sectioned lists and base items
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "fixture.h"

static const char *const kinds[] = {"",
                                    "insert_rows",
                                    "remove_rows",
                                    "reload_rows",
                                    "insert_sections",
                                    "remove_sections",
                                    "reload_sections",
                                    "reload_all"};

/* A list of changes in the table's notation; frees it. */
static char *told(wherry_list *changes) {
  char *text = check_format("[");
  for (size_t i = 0; i < wherry_list_count(changes); i++) {
    wherry_change_row row = {.size = sizeof row};
    REQUIRE_OK(wherry_list_change(changes, i, &row));
    REQUIRE(row.kind >= WHERRY_CHANGE_INSERT_ROWS && row.kind <= WHERRY_CHANGE_RELOAD_ALL);
    text = check_format("%s%s[\"%s\"", text, i == 0 ? "" : ",", kinds[row.kind]);
    if (row.kind <= WHERRY_CHANGE_RELOAD_ROWS) text = check_format("%s,%zu", text, row.section);
    if (row.kind < WHERRY_CHANGE_RELOAD_ALL)
      text = check_format("%s,%zu,%zu", text, row.first, row.count);
    text = check_format("%s]", text);
  }
  wherry_transfer_row other = {.size = sizeof other};
  CHECK_FAILS(wherry_list_transfer(changes, 0, &other), WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_OK(wherry_list_free(changes));
  return check_format("%s]", text);
}

/* Performs the operation at a path of the table; returns the changes. */
static char *act(wherry_sectioned_list *list, const wherry_json *json, const char *at) {
  const char *verb = wherry_json_get_text(json, check_format("%s/0", at), "", NULL);
  const size_t section = (size_t)wherry_json_get_integer(json, check_format("%s/1", at), 0);
  const size_t row = (size_t)wherry_json_get_integer(json, check_format("%s/2", at), 0);
  const char *header = wherry_json_get_text(json, check_format("%s/2", at), NULL, NULL);
  const char *footer = wherry_json_get_text(json, check_format("%s/3", at), NULL, NULL);
  const size_t count = wherry_json_count(json, at);
  wherry_json *last = json_at(json, check_format("%s/%zu", at, count - 1));
  wherry_list *changes = NULL;
  if (strcmp(verb, "append") == 0)
    CHECK_OK(wherry_sectioned_list_append(list, section, last, &changes));
  else if (strcmp(verb, "insert") == 0)
    CHECK_OK(wherry_sectioned_list_insert(list, section, row, last, &changes));
  else if (strcmp(verb, "remove") == 0)
    CHECK_OK(wherry_sectioned_list_remove(
        list, section, row, (size_t)wherry_json_get_integer(last, NULL, 0), &changes));
  else if (strcmp(verb, "replace") == 0)
    CHECK_OK(wherry_sectioned_list_replace(list, section, row, last, &changes));
  else if (strcmp(verb, "insert_section") == 0)
    CHECK_OK(wherry_sectioned_list_insert_section(list, section, header, footer, last, &changes));
  else if (strcmp(verb, "replace_section") == 0)
    CHECK_OK(wherry_sectioned_list_replace_section(list, section, header, footer, last, &changes));
  else if (strcmp(verb, "remove_section") == 0)
    CHECK_OK(wherry_sectioned_list_remove_section(list, section, &changes));
  else if (strcmp(verb, "remove_all") == 0)
    CHECK_OK(wherry_sectioned_list_remove_all(list, &changes));
  CHECK_OK(wherry_json_free(last));
  REQUIRE(changes != NULL);
  return told(changes);
}

/* The list in the table's notation. */
static char *all_of(const wherry_sectioned_list *list) {
  char *text = check_format("[");
  for (size_t s = 0; s < wherry_sectioned_list_count(list); s++) {
    const char *header = wherry_sectioned_list_header(list, s);
    const char *footer = wherry_sectioned_list_footer(list, s);
    CHECK(header == NULL || header[0] != '\0');
    CHECK(footer == NULL || footer[0] != '\0');
    text = check_format("%s%s[\"%s\",\"%s\",[", text, s == 0 ? "" : ",",
                        header == NULL ? "" : header, footer == NULL ? "" : footer);
    for (size_t r = 0; r < wherry_sectioned_list_row_count(list, s); r++) {
      wherry_json *item = NULL;
      REQUIRE_OK(wherry_sectioned_list_copy_item(list, s, r, &item));
      text = check_format("%s%s%s", text, r == 0 ? "" : ",", wherry_json_print(item, false, NULL));
      CHECK_OK(wherry_json_free(item));
    }
    text = check_format("%s]]", text);
  }
  return check_format("%s]", text);
}

TEST("O15 sectioned lists match the table") {
  long count;
  char *text = check_read_file(WHERRY_SCENARIOS "/sections.json", &count);
  REQUIRE(text != NULL);
  wherry_json *cases = new_json(text, (size_t)count);
  REQUIRE(wherry_json_count(cases, "cases") > 0);
  for (size_t i = 0; i < wherry_json_count(cases, "cases"); i++) {
    char *one = check_format("cases/%zu", i);
    wherry_sectioned_list *list = NULL;
    REQUIRE_OK(wherry_sectioned_list_new(&list));
    for (size_t s = 0; s < wherry_json_count(cases, check_format("%s/start", one)); s++) {
      char *at = check_format("%s/start/%zu", one, s);
      wherry_json *items = json_at(cases, check_format("%s/2", at));
      CHECK_OK(wherry_sectioned_list_insert_section(
          list, s, wherry_json_get_text(cases, check_format("%s/0", at), NULL, NULL),
          wherry_json_get_text(cases, check_format("%s/1", at), NULL, NULL), items, NULL));
      CHECK_OK(wherry_json_free(items));
    }
    for (size_t k = 0; k < wherry_json_count(cases, check_format("%s/steps", one)); k++) {
      char *step = check_format("%s/steps/%zu", one, k);
      CHECK_TEXT(act(list, cases, check_format("%s/do", step)),
                 json_text_at(cases, check_format("%s/changes", step)));
    }
    CHECK_TEXT(all_of(list), json_text_at(cases, check_format("%s/sections", one)));
    CHECK_OK(wherry_sectioned_list_free(list));
  }
}

TEST("O15 an index out of range and invalid items are refused") {
  wherry_sectioned_list *list = NULL;
  REQUIRE_OK(wherry_sectioned_list_new(&list));
  wherry_json *items = new_json("[1,2]", 5), *object = new_json("{}", 2);
  CHECK_OK(wherry_sectioned_list_insert_section(list, 0, "A", NULL, items, NULL));
  CHECK_OK(wherry_sectioned_list_insert_section(list, 1, NULL, "end", NULL, NULL));
  const size_t places[][2] = {{0, 2}, {0, SIZE_MAX}, {1, 0}, {2, 0}, {SIZE_MAX, 0}};
  for (int i = 0; i < 5; i++) {
    wherry_json *item = items;
    CHECK_OK(wherry_sectioned_list_copy_item(list, places[i][0], places[i][1], &item));
    CHECK(item == NULL);
  }
  CHECK_INT(wherry_sectioned_list_row_count(list, 0), 2);
  CHECK_INT(wherry_sectioned_list_row_count(list, 2), 0);
  CHECK_INT(wherry_sectioned_list_row_count(list, SIZE_MAX), 0);
  CHECK(wherry_sectioned_list_footer(list, 0) == NULL);
  CHECK(wherry_sectioned_list_header(list, 1) == NULL);
  CHECK(wherry_sectioned_list_header(list, 2) == NULL);
  CHECK(wherry_sectioned_list_footer(list, SIZE_MAX) == NULL);
  /* A borrowed title stays valid while other items change. */
  const char *header = wherry_sectioned_list_header(list, 0);
  CHECK_OK(wherry_sectioned_list_remove_section(list, 0, NULL));
  CHECK_TEXT(header, "A");
  CHECK_OK(wherry_sectioned_list_remove(list, 0, 0, SIZE_MAX, NULL));
  CHECK_FAILS(wherry_sectioned_list_append(list, 0, object, NULL), WHERRY_E_ARGUMENT,
              "bad_argument");
  CHECK_FAILS(wherry_sectioned_list_insert_section(list, 0, NULL, NULL, object, NULL),
              WHERRY_E_ARGUMENT, "bad_argument");
  CHECK_FAILS(wherry_sectioned_list_replace(list, 0, 0, NULL, NULL), WHERRY_E_ARGUMENT,
              "bad_handle");
  CHECK_INT(wherry_sectioned_list_count(list), 1);
  CHECK_OK(wherry_sectioned_list_free(list));
  CHECK_OK(wherry_json_free(items));
  CHECK_OK(wherry_json_free(object));
}

TEST("O16 a base item reads the known fields, and the caller's fields take precedence") {
  wherry_mapping *mapping = NULL;
  REQUIRE_OK(wherry_mapping_new_base_item(&mapping));
  const char *text =
      "{\"identifier\":7,\"title\":\"Skye\",\"subtitle\":null,\"image\":[],"
      "\"pictures\":[\"https://example.org/a.jpg\"],\"accessoryImage\":\"arrow\"}";
  wherry_json *json = new_json(text, strlen(text)), *item = NULL;
  REQUIRE_OK(wherry_json_new(&item));
  CHECK_OK(wherry_mapping_apply(mapping, json, NULL, item));
  CHECK_TEXT(json_text_at(item, NULL),
             "{\"identifier\":\"7\",\"title\":\"Skye\",\"accessoryImage\":\"arrow\"}");
  CHECK_OK(wherry_mapping_add(mapping, "image", "pictures/0", WHERRY_FIELD_TEXT, 0, NULL));
  CHECK_OK(wherry_mapping_apply(mapping, json, NULL, item));
  CHECK_TEXT(wherry_json_get_text(item, "image", NULL, NULL), "https://example.org/a.jpg");
  CHECK_TEXT(wherry_json_get_text(item, "subtitle", "none", NULL), "none");
  CHECK_OK(wherry_json_free(item));
  CHECK_OK(wherry_json_free(json));
  CHECK_OK(wherry_mapping_free(mapping));
}
