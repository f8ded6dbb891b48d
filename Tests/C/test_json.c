/* Wherry: rows R12 and O9 of features.md, from C: JSON values
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>

#include "check.h"
#include "fixture.h"

static wherry_json *parsed(const char *text) { return new_json(text, strlen(text)); }

TEST("O9 paths lead into arrays and objects, and a missing value gives the caller's default") {
  wherry_json *json = parsed(
      "{\"data\": {\"items\": [{\"name\": \"a\"}, {\"name\": \"b\", \"n\": 2}]}, \"a/b\": 1, "
      "\"c~d\": 2}");
  CHECK_INT(wherry_json_get_type(json, NULL), WHERRY_JSON_OBJECT);
  CHECK_INT(wherry_json_get_type(json, "data/items"), WHERRY_JSON_ARRAY);
  CHECK_INT(wherry_json_get_type(json, "data/items/2"), WHERRY_JSON_MISSING);
  CHECK_INT(wherry_json_count(json, "data/items"), 2);
  CHECK_INT(wherry_json_count(json, "data/items/1"), 2);
  CHECK_TEXT(wherry_json_get_text(json, "/data//items/1/name/", "?", NULL), "b");
  CHECK_TEXT(wherry_json_get_text(json, "data/items/7/name", "?", NULL), "?");
  CHECK(wherry_json_get_text(json, "nothing", NULL, NULL) == NULL);
  CHECK_INT(wherry_json_get_integer(json, "a~1b", -1), 1);
  CHECK_INT(wherry_json_get_integer(json, "c~0d", -1), 2);
  CHECK_TEXT(wherry_json_name_at(json, "data/items/1", 1), "n");
  CHECK(wherry_json_name_at(json, "data/items/1", 2) == NULL);
  CHECK(wherry_json_name_at(json, "data/items", 0) == NULL);
}

TEST("O9 values convert to the requested type if that is possible") {
  wherry_json *json = parsed(
      "{\"text\": \"12\", \"number\": 12, \"large\": 9223372036854775807, \"half\": 0.5,"
      " \"yes\": \"Yes\", \"no\": \"no\", \"true\": true, \"null\": null, \"list\": []}");
  CHECK_INT(wherry_json_get_integer(json, "text", -1), 12);
  CHECK_TEXT(wherry_json_get_text(json, "number", "?", NULL), "12");
  CHECK_INT(wherry_json_get_integer(json, "large", -1), INT64_MAX);
  CHECK_INT(wherry_json_get_integer(json, "half", -1), -1);
  CHECK(wherry_json_get_number(json, "half", 0) == 0.5);
  CHECK(wherry_json_get_bool(json, "yes", false) && !wherry_json_get_bool(json, "no", true));
  CHECK(wherry_json_get_bool(json, "true", false) && wherry_json_get_bool(json, "null", true));
  CHECK_INT(wherry_json_get_integer(json, "list", -1), -1);
  CHECK_INT(wherry_json_get_type(json, "null"), WHERRY_JSON_NULL);
}

TEST("R12 invalid JSON text is refused with the position of the error") {
  wherry_json *json = NULL;
  CHECK_FAILS(wherry_json_parse("{\"a\": 01}", 9, &json), WHERRY_E_ARGUMENT, "bad_json");
  CHECK_HOLDS(wherry_error_message(wherry_last_error()), "byte 7");
  CHECK_FAILS(wherry_json_parse("", 0, &json), WHERRY_E_ARGUMENT, "bad_json");
  CHECK_FAILS(wherry_json_parse(NULL, 3, &json), WHERRY_E_ARGUMENT, "bad_argument");
  char *deep = check_memory(1200);
  memset(deep, '[', 600);
  memset(deep + 600, ']', 600);
  CHECK_FAILS(wherry_json_parse(deep, 1200, &json), WHERRY_E_ARGUMENT, "bad_json");
  CHECK(json == NULL);
}

TEST("O9 values are built by paths and printed") {
  wherry_json *json = NULL;
  size_t count = 0;
  REQUIRE_OK(wherry_json_new(&json));
  CHECK_TEXT(wherry_json_print(json, false, &count), "null");
  CHECK_INT(count, 4);
  CHECK_OK(wherry_json_set_text(json, "user/name", "Zo\xc3\xab"));
  CHECK_OK(wherry_json_set_integer(json, "user/age", INT64_MIN));
  CHECK_OK(wherry_json_set_bool(json, "tags/-", true));
  CHECK_OK(wherry_json_set_number(json, "tags/-", 1.5));
  CHECK_OK(wherry_json_set_value(json, "none", NULL));
  CHECK_TEXT(wherry_json_print(json, false, NULL),
             "{\"user\":{\"name\":\"Zo\xc3\xab\",\"age\":-9223372036854775808},"
             "\"tags\":[true,1.5],\"none\":null}");
  CHECK_OK(wherry_json_set_value(json, "copy", json));
  CHECK_INT(wherry_json_get_integer(json, "copy/user/age", 0), INT64_MIN);
  CHECK_FAILS(wherry_json_set_bool(json, "user/name/first", true), WHERRY_E_ARGUMENT,
              "bad_parameters");
  CHECK_FAILS(wherry_json_set_number(json, "x", 0.0 / 0.0), WHERRY_E_ARGUMENT, "bad_parameters");
  CHECK_FAILS(wherry_json_set_text(json, "x", "\xff"), WHERRY_E_ARGUMENT, "bad_text");
  CHECK_INT(wherry_json_get_type(json, "x"), WHERRY_JSON_MISSING);
  CHECK_OK(wherry_json_free(json));
}

TEST("O9 borrowed text keeps NULs, and keeps bytes that Swift compares as equal") {
  wherry_json *json =
      parsed("{\"nul\": \"a\\u0000b\", \"one\": \"\xc3\xa9\", \"two\": \"e\xcc\x81\"}");
  size_t count = 0;
  const char *text = wherry_json_get_text(json, "nul", NULL, &count);
  CHECK_BYTES(text, count, "a\0b", 3);
  CHECK(text == wherry_json_get_text(json, "nul", NULL, NULL));
  const char *one = wherry_json_get_text(json, "one", NULL, &count);
  CHECK_BYTES(one, count, "\xc3\xa9", 2);
  const char *two = wherry_json_get_text(json, "two", NULL, &count);
  CHECK_BYTES(two, count, "e\xcc\x81", 3);
  CHECK_TEXT(one, "\xc3\xa9");
}

TEST("O9 a value inside another becomes an independent value") {
  const char *text = "{\"a\":[{\"b\":\"x\\u0000y\"},2],\"~\":null}";
  wherry_json *json = new_json(text, strlen(text)), *copy = NULL;
  size_t count = 0;
  REQUIRE_OK(wherry_json_copy(json, "a/0", &copy));
  CHECK_OK(wherry_json_set_integer(json, "a/0/b", 1));
  CHECK_TEXT(wherry_json_print(copy, false, &count), "{\"b\":\"x\\u0000y\"}");
  CHECK_OK(wherry_json_free(copy));
  REQUIRE_OK(wherry_json_copy(json, NULL, &copy));
  CHECK_TEXT(wherry_json_print(copy, false, &count), "{\"a\":[{\"b\":1},2],\"~\":null}");
  CHECK_OK(wherry_json_free(copy));
  REQUIRE_OK(wherry_json_copy(json, "~0", &copy));
  CHECK_INT(wherry_json_get_type(copy, ""), WHERRY_JSON_NULL);
  CHECK_OK(wherry_json_free(copy));
  wherry_json *untouched = json;
  CHECK_FAILS(wherry_json_copy(json, "a/7", &untouched), WHERRY_E_ARGUMENT, "not_found");
  CHECK(untouched == json);
  CHECK_FAILS(wherry_json_copy(json, "a", NULL), WHERRY_E_ARGUMENT, "bad_argument");
}

static char deep[100000];

static void *parse_deep(void *result) {
  wherry_json *json = NULL;
  *(wherry_status *)result = wherry_json_parse(deep, sizeof deep, &json);
  return NULL;
}

/* Text nested within the limit overflowed the stack of a small thread. */
TEST("O9 deeply nested text is an error on a thread with a small stack") {
  memset(deep, '[', sizeof deep);
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  CHECK(pthread_attr_setstacksize(&attributes, 256 << 10) == 0);
  wherry_status status = WHERRY_OK;
  pthread_t thread;
  REQUIRE(pthread_create(&thread, &attributes, parse_deep, &status) == 0);
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  CHECK_INT(status, WHERRY_E_ARGUMENT);
}
