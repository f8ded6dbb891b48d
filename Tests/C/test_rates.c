/* Wherry: row R38 of features.md, from C: rate limits for starting requests. The test
 * moves the clock: when wherry_stub_advance_ms returns, everything due has happened.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "fixture.h"

static wherry_stub *stub_for(wherry_client **out_client, int64_t limit, int64_t per_host) {
  wherry_stub *stub = new_stub();
  wherry_config *config = new_config();
  CHECK_OK(wherry_stub_advance_ms(stub, 0));
  CHECK_OK(wherry_stub_add_response(stub, NULL, "*", -1, 200, NULL, "here", 4));
  CHECK_OK(wherry_config_set_stub(config, stub));
  CHECK_OK(wherry_config_set_option(config, WHERRY_OPTION_RATE_LIMIT, limit));
  CHECK_OK(wherry_config_set_option(config, WHERRY_OPTION_HOST_RATE_LIMIT, per_host));
  *out_client = new_client(config);
  return stub;
}

static void start(wherry_client *client, wherry_queue *queue, int count) {
  for (int i = 0; i < count; i++)
    (void)send_request(client, new_request("GET", "http://h.invalid/"), queue, NULL);
}

TEST("R38 twenty requests at five per second take three seconds, in total or per host") {
  for (int per_host = 0; per_host < 2; per_host++) {
    wherry_client *client = NULL;
    wherry_queue *queue = new_queue();
    wherry_stub *stub = stub_for(&client, per_host ? 0 : 5, per_host ? 5 : 0);
    start(client, queue, 20);
    CHECK_OK(wherry_stub_advance_ms(stub, 0));
    size_t started = 5;
    for (int64_t passed = 0; passed < 3000; passed += 200) {
      CHECK_INT(wherry_stub_request_count(stub), started);
      CHECK_OK(wherry_stub_advance_ms(stub, 199));
      CHECK_INT(wherry_stub_request_count(stub), started);
      CHECK_OK(wherry_stub_advance_ms(stub, 1));
      started++;
    }
    CHECK_INT(wherry_stub_request_count(stub), 20);
    for (int i = 0; i < 20; i++) CHECK_OK(next_done(queue).status);
  }
}

TEST("R38 burst and period are settings, and a new limit applies at once") {
  wherry_client *client = NULL;
  wherry_queue *queue = new_queue();
  wherry_stub *stub = stub_for(&client, 60, 0);
  CHECK_OK(wherry_client_set_option(client, WHERRY_OPTION_RATE_INTERVAL_MS, 60000));
  CHECK_OK(wherry_client_set_option(client, WHERRY_OPTION_RATE_BURST, 2));
  start(client, queue, 9);
  CHECK_OK(wherry_stub_advance_ms(stub, 0));
  CHECK_INT(wherry_stub_request_count(stub), 2);
  CHECK_OK(wherry_stub_advance_ms(stub, 1000));
  CHECK_INT(wherry_stub_request_count(stub), 3);
  CHECK_OK(wherry_client_set_option(client, WHERRY_OPTION_RATE_LIMIT, 0));
  CHECK_OK(wherry_stub_advance_ms(stub, 0));
  CHECK_INT(wherry_stub_request_count(stub), 9);
  for (int i = 0; i < 9; i++) CHECK_OK(next_done(queue).status);
  static const struct {
    wherry_option option;
    int64_t value;
  } bad[] = {{WHERRY_OPTION_RATE_LIMIT, -1},
             {WHERRY_OPTION_HOST_RATE_LIMIT, 1000001},
             {WHERRY_OPTION_RATE_BURST, 10001},
             {WHERRY_OPTION_RATE_INTERVAL_MS, 0}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK_FAILS(wherry_client_set_option(client, bad[i].option, bad[i].value), WHERRY_E_ARGUMENT,
                "bad_value");
  CHECK_FAILS(wherry_request_set_option(new_request("GET", "/"), WHERRY_OPTION_RATE_LIMIT, 1),
              WHERRY_E_ARGUMENT, "bad_option");
}
