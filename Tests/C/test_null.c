/* Wherry: every function of the header with a bad handle, and with NULL for everything
 * SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "fixture.h"

/* The call is answered with E_ARGUMENT, and there are words for it. */
#define REFUSED(call)                                                             \
  do {                                                                            \
    CHECK_STATUS(call, WHERRY_E_ARGUMENT);                                        \
    CHECK(strncmp(wherry_error_reason(wherry_last_error()), "bad_", 4) == 0);     \
    CHECK(wherry_error_message(wherry_last_error())[0] != '\0');                  \
  } while (0)

/* Frees nothing: NULL is fine, anything else is answered. */
#define FREES(call, handle) CHECK_STATUS(call, (handle) ? WHERRY_E_ARGUMENT : WHERRY_OK)

/* All functions whose first parameter is an object, with these in its place. */
static void call_all(void *bad, void *bad_compression) {
  CHECK_INT(wherry_error_status(bad), WHERRY_E_ARGUMENT);
  CHECK(wherry_error_reason(bad) == NULL);
  CHECK_TEXT(wherry_error_message(bad), "");
  CHECK_INT(wherry_error_curl_code(bad), 0);
  CHECK_INT(wherry_error_http_code(bad), 0);
  CHECK_INT(wherry_error_os_code(bad), 0);
  CHECK_INT(wherry_error_is_retryable(bad), 0);
  CHECK_INT(wherry_error_retry_after_ms(bad), -1);
  CHECK(wherry_error_partial_path(bad) == NULL);
  CHECK(wherry_error_underlying(bad) == NULL);
  REFUSED(wherry_error_list_failed_images(bad, NULL));
  REFUSED(wherry_config_set_option(bad, WHERRY_OPTION_DEBUG, 0));
  REFUSED(wherry_config_set_text(bad, WHERRY_TEXT_BASE_URL, NULL));
  REFUSED(wherry_config_set_header(bad, NULL, NULL));
  REFUSED(wherry_config_set_parameter(bad, NULL, NULL));
  REFUSED(wherry_config_set_base(bad, NULL, NULL));
  REFUSED(wherry_config_set_stub(bad, NULL));
  REFUSED(wherry_client_drain(bad, 0));
  REFUSED(wherry_client_set_option(bad, WHERRY_OPTION_DEBUG, 0));
  REFUSED(wherry_client_set_text(bad, WHERRY_TEXT_BASE_URL, NULL));
  CHECK_INT(wherry_client_get_option(bad, WHERRY_OPTION_DEBUG), -1);
  REFUSED(wherry_client_set_header(bad, NULL, NULL));
  REFUSED(wherry_client_copy_header(bad, NULL, NULL, 0, NULL));
  REFUSED(wherry_client_set_parameter(bad, NULL, NULL));
  REFUSED(wherry_client_set_base(bad, NULL, NULL));
  REFUSED(wherry_client_copy_storage(bad, NULL, 0, NULL));
  REFUSED(wherry_client_set_decisions(bad, 0));
  REFUSED(wherry_request_copy(bad, NULL));
  REFUSED(wherry_request_set_option(bad, WHERRY_OPTION_DEBUG, 0));
  REFUSED(wherry_request_set_text(bad, WHERRY_TEXT_BASE_URL, NULL));
  REFUSED(wherry_request_set_url(bad, NULL));
  REFUSED(wherry_request_set_base(bad, NULL));
  REFUSED(wherry_request_set_header(bad, NULL, NULL));
  REFUSED(wherry_request_set_parameter(bad, NULL, NULL));
  REFUSED(wherry_request_set_parameters_json(bad, NULL, 0));
  REFUSED(wherry_request_add_query(bad, NULL, NULL));
  REFUSED(wherry_request_add_field(bad, NULL, NULL));
  REFUSED(wherry_request_set_json(bad, NULL, 0));
  REFUSED(wherry_request_set_json_value(bad, NULL));
  REFUSED(wherry_request_set_body(bad, NULL, 0, NULL));
  REFUSED(wherry_request_set_body_file(bad, NULL, NULL));
  REFUSED(wherry_request_set_body_stream(bad, 0, NULL));
  REFUSED(wherry_request_add_part(bad, NULL, NULL, 0, NULL, NULL));
  REFUSED(wherry_request_add_part_file(bad, NULL, NULL, NULL, NULL));
  REFUSED(wherry_request_add_image(bad, NULL, NULL, NULL));
  REFUSED(wherry_request_set_streamed(bad, true));
  REFUSED(wherry_request_accept_status(bad, 0));
  REFUSED(wherry_request_set_decisions(bad, 0));
  REFUSED(wherry_request_set_digest(bad, WHERRY_DIGEST_MD5, NULL));
  REFUSED(wherry_request_add_mirror(bad, NULL));
  CHECK(wherry_request_method(bad) == NULL);
  CHECK(wherry_request_url(bad) == NULL);
  CHECK(wherry_request_identifier(bad, NULL) == NULL);
  REFUSED(wherry_client_send(bad, NULL, NULL, NULL, NULL));
  REFUSED(wherry_client_send_url(bad, NULL, NULL, NULL, NULL, NULL));
  REFUSED(wherry_client_perform(bad, NULL, NULL));
  REFUSED(wherry_client_perform_for(bad, NULL, NULL, 0, NULL, NULL));
  REFUSED(wherry_client_download(bad, NULL, NULL, NULL, NULL, NULL));
  REFUSED(wherry_client_upload_images(bad, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL));
  REFUSED(wherry_transfer_wait(bad, 0, NULL));
  CHECK_INT(wherry_transfer_id(bad), 0);
  CHECK_INT(wherry_transfer_state(bad), WHERRY_STATE_NONE);
  REFUSED(wherry_transfer_pause(bad));
  REFUSED(wherry_transfer_resume(bad));
  REFUSED(wherry_transfer_cancel(bad));
  REFUSED(wherry_transfer_discard(bad));
  REFUSED(wherry_transfer_set_max_bytes_per_second(bad, 0));
  REFUSED(wherry_transfer_progress(bad, NULL));
  REFUSED(wherry_transfer_write(bad, NULL, 0, NULL));
  REFUSED(wherry_transfer_finish(bad));
  CHECK_INT(wherry_queue_fd(bad), -1);
  CHECK_INT(wherry_queue_count(bad), 0);
  REFUSED(wherry_queue_next(bad, 0, NULL));
  REFUSED(wherry_queue_read(bad, NULL, 0, 0, NULL));
  REFUSED(wherry_queue_release(bad, NULL, 0));
  REFUSED(wherry_queue_cancel(bad, NULL, NULL));
  REFUSED(wherry_queue_wake(bad, NULL));
  CHECK_INT(wherry_event_get_kind(bad), WHERRY_EVENT_NONE);
  CHECK(wherry_event_user_data(bad) == NULL);
  CHECK_INT(wherry_event_transfer_id(bad), 0);
  REFUSED(wherry_event_open_transfer(bad, NULL));
  CHECK_INT(wherry_event_detail(bad), 0);
  CHECK_INT(wherry_event_status(bad), WHERRY_E_ARGUMENT);
  CHECK(wherry_event_error(bad) == NULL);
  CHECK(wherry_event_response(bad) == NULL);
  CHECK(wherry_event_body(bad, NULL) == NULL);
  CHECK(wherry_event_text(bad) == NULL);
  CHECK(wherry_event_digest(bad, WHERRY_DIGEST_MD5) == NULL);
  REFUSED(wherry_event_progress(bad, NULL));
  CHECK(wherry_event_request(bad) == NULL);
  REFUSED(wherry_event_answer_adapt(bad, true));
  REFUSED(wherry_event_answer_redirect(bad, true));
  REFUSED(wherry_event_answer_store(bad, true, NULL));
  REFUSED(wherry_event_answer_refuse(bad, NULL));
  REFUSED(wherry_client_pause(bad, WHERRY_MATCH_ALL, NULL, NULL));
  REFUSED(wherry_client_resume(bad, WHERRY_MATCH_ALL, NULL, NULL));
  REFUSED(wherry_client_cancel(bad, WHERRY_MATCH_ALL, NULL, NULL));
  REFUSED(wherry_client_discard(bad, WHERRY_MATCH_ALL, NULL, NULL));
  CHECK_INT(wherry_client_count(bad, WHERRY_MATCH_ALL, NULL), 0);
  REFUSED(wherry_client_wait(bad, WHERRY_MATCH_ALL, NULL, 0));
  REFUSED(wherry_client_progress(bad, WHERRY_MATCH_ALL, NULL, NULL));
  REFUSED(wherry_client_open_transfer(bad, 0, NULL));
  REFUSED(wherry_client_list(bad, WHERRY_MATCH_ALL, NULL, NULL));
  CHECK_INT(wherry_list_count(bad), 0);
  REFUSED(wherry_list_transfer(bad, 0, NULL));
  REFUSED(wherry_list_image(bad, 0, NULL));
  CHECK(wherry_list_response(bad, 0) == NULL);
  REFUSED(wherry_transfer_list_images(bad, NULL));
  REFUSED(wherry_response_list_images(bad, NULL));
  REFUSED(wherry_list_partial(bad, 0, NULL));
  REFUSED(wherry_list_entry(bad, 0, NULL));
  REFUSED(wherry_response_copy(bad, NULL));
  CHECK_INT(wherry_response_http_code(bad), 0);
  CHECK(wherry_response_url(bad) == NULL);
  CHECK_INT(wherry_response_is_from_cache(bad), 0);
  CHECK_INT(wherry_response_is_unchanged(bad), 0);
  CHECK_INT(wherry_response_is_stale(bad), 0);
  CHECK_INT(wherry_response_is_revalidated(bad), 0);
  CHECK_INT(wherry_response_redirect_at(bad, 0, NULL, NULL), 0);
  CHECK(wherry_response_header(bad, NULL) == NULL);
  CHECK_INT(wherry_response_header_at(bad, 0, NULL, NULL), 0);
  CHECK(wherry_response_body(bad, NULL) == NULL);
  REFUSED(wherry_response_json(bad, NULL));
  CHECK(wherry_response_suggested_name(bad) == NULL);
  CHECK(wherry_response_remote_address(bad) == NULL);
  REFUSED(wherry_response_metrics(bad, NULL));
  REFUSED(wherry_image_set_file_name(bad, NULL));
  REFUSED(wherry_image_inspect(bad, NULL));
  REFUSED(wherry_image_compress(bad, NULL, NULL));
  CHECK(wherry_image_bytes(bad, NULL) == NULL);
  REFUSED(wherry_compression_set_option(bad_compression, WHERRY_IMAGE_FORMAT, 0));
  REFUSED(wherry_compression_set_type(bad_compression, NULL));
  CHECK_INT(wherry_json_get_type(bad, NULL), WHERRY_JSON_MISSING);
  CHECK_INT(wherry_json_count(bad, NULL), 0);
  CHECK_INT(wherry_json_get_bool(bad, NULL, true), true);
  CHECK_INT(wherry_json_get_integer(bad, NULL, 0), 0);
  CHECK(wherry_json_get_number(bad, NULL, 0.5) == 0.5);
  CHECK(wherry_json_get_text(bad, NULL, NULL, NULL) == NULL);
  CHECK(wherry_json_name_at(bad, NULL, 0) == NULL);
  REFUSED(wherry_json_set_bool(bad, NULL, true));
  REFUSED(wherry_json_set_integer(bad, NULL, 0));
  REFUSED(wherry_json_set_number(bad, NULL, 0.5));
  REFUSED(wherry_json_set_text(bad, NULL, NULL));
  REFUSED(wherry_json_set_value(bad, NULL, NULL));
  REFUSED(wherry_json_copy(bad, NULL, NULL));
  REFUSED(wherry_json_remove_nulls(bad));
  CHECK(wherry_json_print(bad, true, NULL) == NULL);
  REFUSED(wherry_stub_add_answer(bad, NULL, NULL, 0, 0, NULL, NULL, 0));
  REFUSED(wherry_stub_add_failure(bad, NULL, NULL, 0, NULL, 0));
  REFUSED(wherry_stub_set_delay_ms(bad, 0));
  REFUSED(wherry_stub_advance_ms(bad, 0));
  CHECK_INT(wherry_stub_request_count(bad), 0);
  REFUSED(wherry_stub_copy_request(bad, 0, NULL));
  REFUSED(wherry_request_set_cache(bad, WHERRY_CACHE_USE, 1));
  REFUSED(wherry_request_add_cache_ignored(bad, NULL));
  REFUSED(wherry_request_add_cache_header(bad, NULL));
  REFUSED(wherry_request_set_cache_partition(bad, NULL));
  REFUSED(wherry_request_set_cache_version(bad, 0));
  REFUSED(wherry_request_set_stale_if_error_ms(bad, 0));
  REFUSED(wherry_client_read_cache(bad, bad, NULL));
  REFUSED(wherry_client_write_cache(bad, bad, NULL, 0, NULL, 1));
  REFUSED(wherry_client_remove_cache(bad, bad, NULL));
  REFUSED(wherry_client_list_cache(bad, WHERRY_STORE_TIMED, NULL, NULL, NULL, NULL));
  REFUSED(wherry_client_read_cache_entry(bad, NULL, NULL));
  REFUSED(wherry_client_clear_cache(bad, WHERRY_STORE_TIMED, NULL, NULL, NULL, NULL));
  REFUSED(wherry_client_cache_usage(bad, NULL));
  FREES(wherry_config_free(bad), bad);
  FREES(wherry_client_free(bad), bad);
  FREES(wherry_request_free(bad), bad);
  FREES(wherry_transfer_free(bad), bad);
  FREES(wherry_queue_free(bad), bad);
  FREES(wherry_event_free(bad), bad);
  FREES(wherry_list_free(bad), bad);
  FREES(wherry_response_free(bad), bad);
  FREES(wherry_image_free(bad), bad);
  FREES(wherry_compression_free(bad_compression), bad_compression);
  FREES(wherry_json_free(bad), bad);
  FREES(wherry_stub_free(bad), bad);
}

TEST("S11 every function with an object answers NULL, a freed, a foreign and an invented one") {
  wherry_config *freed = NULL;
  wherry_compression *compression = NULL;
  wherry_json *json = NULL;
  REQUIRE_OK(wherry_config_new(&freed));
  REQUIRE_OK(wherry_compression_new(0.5, &compression));
  REQUIRE_OK(wherry_json_new(&json));
  REQUIRE_OK(wherry_config_free(freed));
  call_all(NULL, NULL);
  call_all(freed, freed);
  call_all(compression, json);                        /* good, but of another kind */
  call_all((void *)(uintptr_t)0x1234567890abcdefu, (void *)&freed); /* a number, an address */
  /* The two objects are as they were. */
  CHECK_OK(wherry_compression_free(compression));
  CHECK_OK(wherry_json_free(json));
}

TEST("S11 every other function answers NULL for what it has to be given") {
  REFUSED(wherry_config_new(NULL));
  REFUSED(wherry_client_new(NULL, NULL));
  REFUSED(wherry_request_new(NULL, NULL, NULL));
  REFUSED(wherry_queue_new(NULL));
  REFUSED(wherry_image_new_file(NULL, NULL));
  REFUSED(wherry_image_new_bytes(NULL, 0, NULL));
  REFUSED(wherry_image_new_pixels(NULL, 0, WHERRY_PIXELS_RGB8, 0, 0, 0, NULL));
  REFUSED(wherry_image_new_pixels_lent(NULL, 0, WHERRY_PIXELS_RGB8, 0, 0, 0, NULL));
  REFUSED(wherry_compression_new(0.5, NULL));
  REFUSED(wherry_partial_list(NULL, NULL));
  REFUSED(wherry_partial_discard(NULL));
  REFUSED(wherry_json_parse(NULL, 0, NULL));
  REFUSED(wherry_json_new(NULL));
  REFUSED(wherry_stub_new(NULL));
  CHECK_INT(wherry_image_recognise(NULL, 0), WHERRY_IMAGE_KEEP);
  CHECK(wherry_partial_ratio(NULL) == 0);
  REFUSED(wherry_format_bytes(0, NULL, 1, NULL));
  CHECK_INT(wherry_library_version(), WHERRY_VERSION_NUMBER);
  CHECK(wherry_library_version_text()[0] != '\0');
  CHECK_TEXT(wherry_status_name(WHERRY_OK), "OK");
  CHECK_OK(wherry_library_restart());
  CHECK(wherry_last_error() != NULL);
}

TEST("S11 no function of the header is forgotten above") {
  long count;
  const char *header = check_read_file(WHERRY_HEADER, &count), *tests = check_read_file(__FILE__, &count);
  REQUIRE(header != NULL && tests != NULL);
  int functions = 0;
  for (const char *at = header; (at = strstr(at, "wherry_")) != NULL;) {
    size_t size = strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789_");
    const char *name = check_format("%.*s", (int)size, at);
    /* A declaration: at the start of a line or after its type, and with its parameters. */
    bool is_declared = at[size] == '(' && (at[-1] == ' ' || at[-1] == '*');
    at += size;
    if (!is_declared) continue;
    functions++;
    CHECK_HOLDS(tests, check_format("%s(", name));
  }
  CHECK(functions >= 191);
}
