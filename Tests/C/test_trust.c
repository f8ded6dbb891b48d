/* Wherry: rows S1 to S10 and rules SEC-T and SEC-U7, from C: client trust
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

/* A config that trusts the root of the authority. */
static wherry_config *trusting(void) {
  wherry_config *config = new_config();
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_CA_FILE, authority_path("ca.pem")));
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_PROXY, ""));
  return config;
}

static wherry_config *with(wherry_config *config, wherry_option option, int64_t value) {
  CHECK_OK(wherry_config_set_option(config, option, value));
  return config;
}

static wherry_config *pinned(wherry_config *config, const char *host, const char *pin) {
  CHECK_OK(wherry_config_add_pin(config, host, pin));
  return config;
}

/* The result of a GET with a new client: "" if it succeeds, otherwise the reason. */
static const char *ending(const wherry_config *config, const char *url) {
  wherry_client *client = NULL;
  if (wherry_client_new(config, &client) != WHERRY_OK)
    return check_format("%s", wherry_error_reason(wherry_last_error()));
  outcome got = perform(client, new_request("GET", url));
  CHECK_OK(wherry_client_free(client));
  return got.reason;
}

static const char *at(const char *host) { return authority_url("tls_port", host, "/echo"); }

/* ---- Certificates ---------------------------------------------------------------------------- */

TEST("S1 SEC-T4 SEC-T13 each bad certificate is refused with its reason, also if a pin matches") {
  long size = 0;
  const char *text = check_read_file(WHERRY_SCENARIOS "/certificates.json", &size);
  REQUIRE(text != NULL);
  wherry_json *table = new_json(text, (size_t)size);
  size_t count = wherry_json_count(table, "cases");
  int64_t trusted = 0;
  CHECK(count > 20);
  wherry_client *client = new_client(trusting());
  for (size_t i = 0; i < count; i++) {
    const char *host = wherry_json_get_text(table, check_format("cases/%zu/host", i), "", NULL);
    host = check_format("%s", host);
    const char *expected =
        wherry_json_get_text(table, check_format("cases/%zu/reason", i), "", NULL);
    expected = check_format("%s", expected);
    const char *kind = strrchr(host, '.') ? strrchr(host, '.') + 1 : host;
    outcome got = perform(client, new_request("GET", at(host)));
    if (!CHECK_TEXT(got.reason, expected)) CHECK_TEXT(got.message, host);
    CHECK_TEXT(ending(pinned(trusting(), "*", authority_pin(kind)), at(host)), expected);
    trusted += expected[0] == '\0';
    if (expected[0] == '\0') continue;
    CHECK_STATUS(got.status, WHERRY_E_TLS);
    CHECK_HOLDS(got.message, check_format("%s.localhost", host));
    CHECK_HOLDS(got.message, "/CN=");
  }
  CHECK_INT(authority_requests(), 2 * trusted);
}

TEST("S1 SEC-T8 insecure, trusting, and ordinary clients share no connections") {
  wherry_config *insecure = with(new_config(), WHERRY_OPTION_INSECURE, 1);
  for (int i = 0; i < 2; i++) {
    CHECK_TEXT(ending(insecure, at("self-signed")), "");
    CHECK_TEXT(ending(new_config(), at("good")), "untrusted");
    CHECK_TEXT(ending(trusting(), at("good")), "");
  }
  CHECK_INT(authority_requests(), 4);
}

TEST("SEC-T1 roots are a file, a folder, or bytes, and unusable ones are refused at once") {
  long size = 0;
  const char *pem = check_read_file(authority_path("ca.pem"), &size);
  wherry_config *folder = new_config(), *bytes = new_config();
  CHECK_OK(wherry_config_set_text(folder, WHERRY_TEXT_CA_DIRECTORY, authority_path("roots")));
  CHECK_OK(wherry_config_set_ca_certificates(bytes, pem, (size_t)size));
  wherry_config *ways[] = {trusting(), folder, bytes};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    CHECK_TEXT(ending(ways[i], at("good")), "");
    CHECK_TEXT(ending(ways[i], at("unknown-root")), "untrusted");
  }
  /* Once removed, the system's roots apply again. */
  CHECK_OK(wherry_config_set_ca_certificates(bytes, NULL, 0));
  CHECK_TEXT(ending(bytes, at("good")), "untrusted");
  CHECK_OK(wherry_config_set_ca_certificates(bytes, "no PEM", 6));
  CHECK_TEXT(ending(bytes, at("good")), "bad_certificate");
  wherry_config *wrong = new_config();
  CHECK_OK(wherry_config_set_text(wrong, WHERRY_TEXT_CA_FILE, "/proc/version"));
  CHECK_TEXT(ending(wrong, at("good")), "bad_certificate");
  CHECK_OK(wherry_config_set_text(wrong, WHERRY_TEXT_CA_FILE, "/nonexistent"));
  CHECK_TEXT(ending(wrong, at("good")), "no_file");
}

TEST("SEC-T2 TLS 1.2 is the oldest version, 1.3 is allowed, anonymous ciphers are refused") {
  const char *tls12 = authority_url("tls12_port", "good", "/echo");
  CHECK_TEXT(ending(trusting(), authority_url("tls11_port", "good", "/echo")), "tls_protocol");
  CHECK_TEXT(ending(trusting(), authority_url("anonymous_port", "good", "/echo")), "tls_protocol");
  CHECK_TEXT(ending(trusting(), tls12), "");
  CHECK_TEXT(ending(with(trusting(), WHERRY_OPTION_REQUIRE_TLS_1_3, 1), tls12), "tls_protocol");
  CHECK_TEXT(ending(with(trusting(), WHERRY_OPTION_REQUIRE_TLS_1_3, 1), at("good")), "");
}

TEST("S10 SEC-T9 revoked certificates are refused by a list and by a stapled response") {
  wherry_config *list = trusting();
  CHECK_OK(wherry_config_set_text(list, WHERRY_TEXT_CRL_FILE, authority_path("crl.pem")));
  CHECK_TEXT(ending(trusting(), at("revoked")), "");
  CHECK_TEXT(ending(list, at("revoked")), "revoked");
  CHECK_TEXT(ending(list, at("good")), "");
  wherry_config *staple = with(trusting(), WHERRY_OPTION_REQUIRE_STAPLE, 1);
  CHECK_TEXT(ending(staple, authority_url("staple_good_port", "good", "/")), "");
  CHECK_TEXT(ending(staple, authority_url("staple_revoked_port", "revoked", "/")), "revoked");
  CHECK_TEXT(ending(staple, at("good")), "untrusted");
}

/* ---- Client certificates --------------------------------------------------------------------- */

TEST("S7 SEC-T10 a client certificate is sent only to its origin") {
  const char *url = authority_url("client_port", "good", "/echo");
  const char *away = authority_url("client_port", "chained", "/echo");
  const char *origin = check_format("%.*s", (int)(strstr(url, "/@") - url), url);
  const struct {
    const char *certificate, *key, *password, *reason;
  } rows[] = {{"client.both.pem", NULL, NULL, ""},
              {"client.pem", "client.key", NULL, ""},
              {"client.pem", "client.locked.key", "open sesame", ""},
              {"client.p12", NULL, "open sesame", ""},
              {"client.p12", NULL, "shut", "tls"},
              {"client.pem", "client.locked.key", NULL, "tls"},
              {"client.pem", "alien.key", NULL, "tls"},
              {"alien.pem", "alien.key", NULL, "client_certificate"},
              {"client.pem", NULL, NULL, "bad_certificate"},
              {"client.key", NULL, NULL, "bad_certificate"},
              {"nothing", NULL, NULL, "no_file"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    wherry_config *config = trusting();
    CHECK_OK(wherry_config_set_client_certificate(
        config, origin, authority_path(rows[i].certificate),
        rows[i].key ? authority_path(rows[i].key) : NULL, rows[i].password));
    if (!CHECK_TEXT(ending(config, url), rows[i].reason))
      CHECK_TEXT(rows[i].certificate, rows[i].reason);
    if (rows[i].reason[0] == '\0') CHECK_TEXT(ending(config, away), "client_certificate");
    CHECK_OK(wherry_config_set_client_certificate(config, origin, NULL, NULL, NULL));
    if (i == 0) CHECK_TEXT(ending(config, url), "client_certificate");
  }
  /* Without a name, the origin of the base URL; an error if there is no base URL. */
  wherry_config *config = trusting();
  CHECK_OK(wherry_config_set_client_certificate(config, NULL, authority_path("client.both.pem"),
                                                NULL, NULL));
  CHECK_TEXT(ending(config, url), "bad_url");
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_BASE_URL, origin));
  CHECK_TEXT(ending(config, url), "");
  CHECK_TEXT(ending(config, away), "client_certificate");
  CHECK_INT(authority_requests(), 5);
}

/* ---- Pins ------------------------------------------------------------------------------------ */

TEST("S3 allowed, name, and pin settings give the expected results: sixteen cases in both modes") {
  for (int number = 0; number < 32; number++) {
    bool allow = number & 1, name = number & 2, has_pins = number & 4, valid = number & 8;
    const char *kind = valid ? "good" : "self-signed";
    wherry_config *config = with(trusting(), WHERRY_OPTION_ALLOW_INVALID, allow);
    with(with(config, WHERRY_OPTION_CHECK_NAME, name), WHERRY_OPTION_PIN_MODE, number >> 4);
    if (has_pins)
      pinned(config, "*",
             number >> 4 ? authority_path(check_format("%s.pem", kind)) : authority_pin(kind));
    const char *expected = allow && name && !has_pins ? "bad_pin"
                           : valid || allow           ? ""
                                                      : "untrusted";
    if (!CHECK_TEXT(ending(config, at(kind)), expected)) CHECK_INT(number, -1);
  }
}

TEST("S2 S4 S8 SEC-T5 a pin is the server's own key, from a digest, a file, a folder, or bytes") {
  long size = 0;
  const char *der = check_read_file(authority_path("good.der"), &size);
  const char *sources[] = {authority_pin("good"),      authority_path("good.der"),
                           authority_path("good.pem"), authority_path("good.pub"),
                           authority_path("pins"),     NULL};
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
    wherry_config *config = trusting();
    if (sources[i] != NULL) pinned(config, "*.localhost", sources[i]);
    else CHECK_OK(wherry_config_add_pin_certificate(config, "*.localhost", der, (size_t)size));
    CHECK_TEXT(ending(config, at("good")), "");
    CHECK_TEXT(ending(config, at("renewed")), "");
    CHECK_TEXT(ending(config, at("chained")), "pin");
    if (i == 0) {
      CHECK_TEXT(ending(config, at("rotated")), "pin");
      CHECK_TEXT(ending(pinned(config, "*.localhost", authority_pin("rotated")), at("rotated")),
                 "");
    }
  }
  const char *issuers[] = {"inter", "ca"};
  for (size_t i = 0; i < 2; i++) {
    const char *path = authority_path(check_format("%s.pem", issuers[i]));
    CHECK_TEXT(ending(pinned(trusting(), "*", authority_pin(issuers[i])), at("chained")), "pin");
    wherry_config *anchored = with(pinned(trusting(), "*", path), WHERRY_OPTION_PIN_MODE, 1);
    CHECK_TEXT(ending(anchored, at("chained")), "");
    CHECK_TEXT(ending(anchored, at("good")), i == 0 ? "pin" : "");
  }
  /* The chain contains the pinned certificate but is not issued by it. */
  for (int mode = 0; mode < 2; mode++) {
    wherry_config *config = with(new_config(), WHERRY_OPTION_PIN_MODE, mode);
    CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_CA_FILE, authority_path("stranger.pem")));
    pinned(pinned(config, "*", authority_path("inter.pem")), "*", authority_path("good.pem"));
    CHECK_TEXT(ending(config, at("stuffed")), "pin");
  }
}

TEST("S8 pins expire at their date and may only report") {
  wherry_config *config = pinned(trusting(), "*", authority_pin("good"));
  CHECK_OK(wherry_config_set_pin_expiry(config, "*", time(NULL) - 1000));
  CHECK_TEXT(ending(config, at("rotated")), "");
  CHECK_OK(wherry_config_set_pin_expiry(config, "*", time(NULL) + 100000));
  CHECK_TEXT(ending(config, at("rotated")), "pin");
  CHECK_OK(wherry_config_set_pin_expiry(config, "*", -1));
  CHECK_TEXT(ending(config, at("rotated")), "pin");
  CHECK_FAILS(wherry_config_set_pin_expiry(config, "*", -2), WHERRY_E_ARGUMENT, "bad_value");
  with(config, WHERRY_OPTION_REPORT_PINS, 1);
  CHECK_TEXT(ending(config, at("rotated")), "");
  CHECK_TEXT(ending(config, at("expired")), "certificate_expired");
}

TEST("S9 SEC-T7 pins apply per host, and are checked at each redirect and on kept connections") {
  wherry_config *config = pinned(trusting(), "good.localhost", authority_pin("good"));
  pinned(config, "*.localhost", authority_pin("rotated"));
  wherry_client *client = new_client(config);
  for (int i = 0; i < 2; i++) {
    CHECK_TEXT(perform(client, new_request("GET", at("good"))).reason, "");
    CHECK_TEXT(perform(client, new_request("GET", at("rotated"))).reason, "");
    CHECK_TEXT(perform(client, new_request("GET", at("chained"))).reason, "pin");
    char *target = authority_url("tls_port", "chained", "/echo");
    char *hop = authority_url("tls_port", "good", check_format("/redirect-to?url=%s", target));
    CHECK_TEXT(perform(client, new_request("GET", hop)).reason, "pin");
  }
  CHECK_TEXT(perform(client, new_request("GET", authority_plain("good.localhost", "/echo"))).reason,
             "pin");
  CHECK_TEXT(perform(client, new_request("GET", authority_plain("127.0.0.1", "/echo"))).reason, "");
  with(config, WHERRY_OPTION_REQUIRE_PINS, 1);
  CHECK_TEXT(ending(config, authority_plain("127.0.0.1", "/echo")), "pin");
  CHECK_TEXT(ending(config, at("good")), "");
  CHECK_INT(authority_requests(), 8);
}

TEST("S5 SEC-T6 an invalid pin, or one for a base without TLS, is an error before sending") {
  const char *good = authority_pin("good");
  const struct {
    const char *host, *pin;
  } rows[] = {{"a", ""},           {"a", "sha256/"},       {"a", "sha256/AAAA"},
              {"a", "word"},       {"a", "/proc/version"}, {"", good},
              {"https://a", good}, {"a:443", good},        {"*.*", good},
              {"a b", good},       {"a/b", good},          {"a..b", good}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!CHECK_TEXT(ending(pinned(new_config(), rows[i].host, rows[i].pin), at("good")), "bad_pin"))
      CHECK_TEXT(rows[i].host, rows[i].pin);
  wherry_config *base = pinned(new_config(), "*.example", good);
  CHECK_OK(wherry_config_set_text(base, WHERRY_TEXT_BASE_URL, "http://a.example/"));
  CHECK_TEXT(ending(base, at("good")), "bad_pin");
  CHECK_TEXT(ending(with(pinned(new_config(), "*", good), WHERRY_OPTION_INSECURE, 1), at("good")),
             "bad_pin");
  CHECK_TEXT(ending(with(new_config(), WHERRY_OPTION_REQUIRE_PINS, 1), at("good")), "bad_pin");
  wherry_config *config = new_config();
  CHECK_STATUS(wherry_config_add_pin(config, NULL, good), WHERRY_E_ARGUMENT);
  CHECK_STATUS(wherry_config_add_pin(config, "a", NULL), WHERRY_E_ARGUMENT);
  CHECK_STATUS(wherry_config_add_pin_certificate(config, "a", NULL, 3), WHERRY_E_ARGUMENT);
  CHECK_STATUS(wherry_config_set_pin_expiry(config, NULL, 3), WHERRY_E_ARGUMENT);
  CHECK_STATUS(wherry_config_set_ca_certificates(config, NULL, 3), WHERRY_E_ARGUMENT);
  /* A path may contain any bytes; no file has this name. */
  CHECK_TEXT(ending(pinned(new_config(), "a", "\xff"), at("good")), "bad_pin");
  /* Refused values have no effect. */
  CHECK_TEXT(ending(config, at("good")), "untrusted");
  CHECK_INT(authority_requests(), 0);
}

/* ---- Stored files ---------------------------------------------------------------------------- */

static int files, folders;
static int look(const char *path, const struct stat *status, int kind, struct FTW *place) {
  files += kind == FTW_F;
  folders += kind == FTW_D;
  if (!CHECK_INT(status->st_mode & 07777, kind == FTW_D ? 0700 : 0600)) CHECK_TEXT(path, "private");
  return 0;
}

TEST("S12 SEC-C5 stored files are 0600 in folders of 0700, whatever the umask") {
  const mode_t masks[] = {0, 077};
  for (size_t i = 0; i < 2; i++) {
    mode_t before = umask(masks[i]);
    wherry_config *config = with(new_config(), WHERRY_OPTION_HTTP_CACHE, 1);
    const char *store = check_path("store%zu", i);
    CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_STORAGE_DIRECTORY, store));
    wherry_client *client = new_client(config);
    wherry_request *timed = new_request("GET", server_url("/bytes/10"));
    CHECK_OK(wherry_request_set_cache(timed, WHERRY_CACHE_USE, 3600000));
    CHECK_STATUS(perform(client, timed).status, WHERRY_OK);
    CHECK_STATUS(
        perform(client, new_request("GET", server_url("/cache?control=max-age%%3D60"))).status,
        WHERRY_OK);
    CHECK_OK(wherry_client_free(client)); /* everything is written */
    umask(before);
    files = folders = 0;
    CHECK_INT(nftw(store, look, 8, FTW_PHYS), 0);
    CHECK(files >= 2 && folders >= 2);
  }
}

/* ---- https only, and addresses --------------------------------------------------------------- */

TEST("S10 https only refuses other URLs") {
  wherry_config *config = with(trusting(), WHERRY_OPTION_HTTPS_ONLY, 1);
  CHECK_TEXT(ending(config, authority_plain("127.0.0.1", "/echo")), "https_only");
  CHECK_TEXT(ending(config, at("good")), "");
  CHECK_INT(authority_requests(), 1);
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_BASE_URL, "http://a/"));
  CHECK_TEXT(ending(config, at("good")), "https_only");
}

TEST("SEC-U7 denied addresses get no connection, in any spelling and at any redirect") {
  wherry_config *config = with(new_config(), WHERRY_OPTION_DENY_ADDRESSES, 31);
  const char *hosts[] = {"127.0.0.1", "127.1", "2130706433",         "0x7f.1",
                         "localhost", "[::1]", "[::ffff:127.0.0.1]", "0"};
  for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
    if (!CHECK_TEXT(ending(config, authority_plain(hosts[i], "/echo")), "address_denied"))
      CHECK_TEXT(hosts[i], "denied");
  with(config, WHERRY_OPTION_DENY_ADDRESSES, 8);
  const char *hop =
      authority_plain("127.0.0.1", "/redirect-to?url=http%3A%2F%2F169.254.169.254%2F");
  CHECK_TEXT(ending(config, hop), "address_denied");
  CHECK_INT(authority_requests(), 1);
  CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_PROXY, "http://127.0.0.1:1"));
  CHECK_TEXT(ending(config, hop), "bad_value");
  CHECK_FAILS(wherry_config_set_option(config, WHERRY_OPTION_DENY_ADDRESSES, 32), WHERRY_E_ARGUMENT,
              "bad_value");
}

/* libcurl ends a body without a length the same way with and without close_notify. */
TEST("SEC-R4 a TLS body without a length is complete only with close_notify") {
  const char *cut = authority_url("tls_port", "good", "/bytes/1000?no_length=1&cut=400&unclean=1");
  const char *ended = authority_url("tls_port", "good", "/bytes/1000?no_length=1");
  wherry_client *client = new_client(trusting());
  wherry_response *response = NULL;
  wherry_request *request = new_request("GET", cut);
  REQUIRE_OK(wherry_client_perform(client, request, &response));
  CHECK(wherry_response_is_length_unverified(response));
  CHECK_OK(wherry_response_free(response));
  CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_REQUIRE_VERIFIED_LENGTH, 1));
  CHECK_TEXT(perform(client, request).reason, "length_unverified");
  REQUIRE_OK(wherry_client_perform(client, new_request("GET", ended), &response));
  CHECK(!wherry_response_is_length_unverified(response));
  CHECK_OK(wherry_response_free(response));
}

/* The file got its final name. */
TEST("SEC-R4 R21 a possibly truncated body creates no file") {
  const char *cut = authority_url("tls_port", "good", "/bytes/1000?no_length=1&cut=400&unclean=1");
  const char *ended = authority_url("tls_port", "good", "/bytes/1000?no_length=1");
  wherry_client *client = new_client(trusting());
  for (int i = 0; i < 4; i++) {
    bool is_cut = i < 2;
    wherry_queue *queue = new_queue();
    wherry_request *request = new_request("GET", is_cut ? cut : ended);
    CHECK_OK(wherry_request_set_hooks(request, WHERRY_HOOK_HEADERS));
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_REQUIRE_VERIFIED_LENGTH, i % 2));
    send_request(client, request, queue, NULL);
    wherry_event *event = next_event(queue, WHERRY_EVENT_HOOK);
    const char *path = check_path("file%d", i);
    CHECK_OK(wherry_event_resolve_save(event, path));
    CHECK_OK(wherry_event_free(event));
    outcome got = next_done(queue);
    CHECK_STATUS(got.status, is_cut ? WHERRY_E_NETWORK : WHERRY_OK);
    CHECK_TEXT(got.reason, is_cut ? "length_unverified" : "");
    CHECK_INT(check_exists(path), !is_cut);
    CHECK_INT(check_entries(check_path(".")), is_cut ? 0 : i - 1);
  }
}

TEST("SEC-R4 R22 a stream reports at its end whether its body may be truncated") {
  const char *cut = authority_url("tls_port", "good", "/bytes/1000?no_length=1&cut=400&unclean=1");
  wherry_client *client = new_client(trusting());
  for (int i = 0; i < 2; i++) {
    wherry_queue *queue = new_queue();
    wherry_request *request = new_request("GET", cut);
    CHECK_OK(wherry_request_set_streamed(request, true));
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_REQUIRE_VERIFIED_LENGTH, i));
    send_request(client, request, queue, NULL);
    size_t received = 0;
    for (bool is_over = false; !is_over;) {
      wherry_record record = {.size = sizeof record};
      size_t count = 0;
      REQUIRE_OK(wherry_queue_read(queue, &record, 1, 600000, &count));
      is_over = record.kind == WHERRY_EVENT_DONE;
      if (record.kind == WHERRY_EVENT_BODY) received += record.body_count;
      if (is_over) {
        CHECK_STATUS(record.status, i == 0 ? WHERRY_OK : WHERRY_E_NETWORK);
        CHECK(record.flags & WHERRY_RECORD_LENGTH_UNVERIFIED);
        CHECK(wherry_response_is_length_unverified(wherry_event_response(record.event)));
        CHECK_TEXT(wherry_error_reason(wherry_event_error(record.event)),
                   i == 0 ? NULL : "length_unverified");
      }
      CHECK_OK(wherry_queue_release(queue, &record, count));
    }
    CHECK_INT(received, 400);
  }
}
