/* Wherry: row R26 of features.md, from C: JSON schemas of responses
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check.h"
#include "fixture.h"

/* The table of Tests/Scenarios. */
static wherry_json *table(void) {
  long count;
  char *text = check_read_file(check_format("%s/json-shapes.json", WHERRY_SCENARIOS), &count);
  REQUIRE(text != NULL);
  return new_json(text, (size_t)count);
}

static wherry_client *client_of(const char *body) {
  wherry_stub *stub = new_stub();
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, NULL, body, strlen(body)));
  return new_stub_client(stub);
}

TEST("R26 responses match the schema table, including nested arrays") {
  wherry_json *cases = table();
  size_t count = wherry_json_count(cases, "cases");
  REQUIRE(count > 25);
  for (size_t i = 0; i < count; i++) {
    const char *fault = wherry_json_get_text(cases, check_format("cases/%zu/fault", i), NULL, NULL);
    wherry_request *request = new_request("GET", "http://h.invalid/");
    CHECK_OK(wherry_request_set_json_shape(
        request, json_text_at(cases, check_format("cases/%zu/shape", i))));
    outcome got =
        perform(client_of(json_text_at(cases, check_format("cases/%zu/json", i))), request);
    CHECK_STATUS(got.status, fault == NULL ? WHERRY_OK : WHERRY_E_HTTP);
    if (fault == NULL) continue;
    CHECK_TEXT(got.reason, "bad_json_body");
    CHECK_HOLDS(got.message, check_format(": %s", fault));
    CHECK_INT(got.http_code, 200);
  }
}

TEST("R26 an invalid schema is refused, and NULL removes the schema") {
  wherry_json *cases = table();
  wherry_request *request = new_request("GET", "http://h.invalid/");
  for (size_t i = 0; i < wherry_json_count(cases, "bad"); i++)
    CHECK_FAILS(wherry_request_set_json_shape(
                    request, json_text_at(cases, check_format("bad/%zu/shape", i))),
                WHERRY_E_ARGUMENT, "bad_value");
  CHECK_FAILS(wherry_request_set_json_shape(request, "{"), WHERRY_E_ARGUMENT, "bad_json");
  CHECK_OK(wherry_request_set_json_shape(request, "[]"));
  wherry_client *client = client_of("{}");
  CHECK_STATUS(perform(client, request).status, WHERRY_E_HTTP);
  CHECK_OK(wherry_request_set_streamed(request, true));
  CHECK_FAILS(wherry_client_send(client, request, new_queue(), NULL, NULL), WHERRY_E_ARGUMENT,
              "bad_option");
  CHECK_OK(wherry_request_set_streamed(request, false));
  CHECK_OK(wherry_request_set_json_shape(request, NULL));
  CHECK_OK(perform(client, request).status);
}
