# Wherry: finds and loads the shared library and types its functions
# SPDX-License-Identifier: Apache-2.0
"""The one place that knows where libwherry is and what its functions look like.

`DECLARATIONS` holds the declarations of ``include/wherry.h`` word for word; the ctypes prototype of
a function is read from its line there when it is first used, so the two cannot differ.
"""

from __future__ import annotations

import ctypes
import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List

    Function = Callable[..., Any]

#: The library's major and minor version that these declarations belong to.
ABI = 0 * 1000 + 1

DECLARATIONS = """
// 1. Version
int32_t wherry_library_version(void);
const char *wherry_library_version_text(void);
// 2. Status and errors
const char *wherry_status_name(wherry_status status);
const wherry_error *wherry_last_error(void);
wherry_status wherry_error_status(const wherry_error *error);
const char *wherry_error_reason(const wherry_error *error);
const char *wherry_error_message(const wherry_error *error);
int32_t wherry_error_curl_code(const wherry_error *error);
int32_t wherry_error_http_code(const wherry_error *error);
int32_t wherry_error_os_code(const wherry_error *error);
bool wherry_error_is_retryable(const wherry_error *error);
int64_t wherry_error_retry_after_ms(const wherry_error *error);
const char *wherry_error_partial_path(const wherry_error *error);
const wherry_error *wherry_error_underlying(const wherry_error *error);
wherry_status wherry_error_list_failed_images(const wherry_error *error, wherry_list **out_list);
wherry_status wherry_library_restart(void);
// 4. Config
wherry_status wherry_config_new(wherry_config **out_config);
wherry_status wherry_config_free(wherry_config *config);
wherry_status wherry_config_set_option(wherry_config *config, wherry_option option, int64_t value);
wherry_status wherry_config_set_text(wherry_config *config, wherry_text_option option, const char
    *value);
wherry_status wherry_config_set_header(wherry_config *config, const char *name, const char *value);
wherry_status wherry_config_set_parameter(wherry_config *config, const char *name, const char
    *value);
wherry_status wherry_config_set_base(wherry_config *config, const char *name, const char *url);
wherry_status wherry_config_set_stub(wherry_config *config, wherry_stub *stub);
wherry_status wherry_config_add_pin(wherry_config *config, const char *host, const char *pin);
wherry_status wherry_config_add_pin_certificate(wherry_config *config, const char *host,
    const void *bytes, size_t count);
wherry_status wherry_config_set_pin_expiry(wherry_config *config, const char *host,
    int64_t expires_at);
wherry_status wherry_config_set_ca_certificates(wherry_config *config, const void *bytes,
    size_t count);
wherry_status wherry_config_set_client_certificate(wherry_config *config, const char *origin,
    const char *certificate, const char *key, const char *password);
// 5. Client
wherry_status wherry_client_new(const wherry_config *config, wherry_client **out_client);
wherry_status wherry_client_free(wherry_client *client);
wherry_status wherry_client_drain(wherry_client *client, int64_t timeout_ms);
wherry_status wherry_client_set_option(wherry_client *client, wherry_option option, int64_t value);
wherry_status wherry_client_set_text(wherry_client *client, wherry_text_option option, const char
    *value);
int64_t wherry_client_get_option(const wherry_client *client, wherry_option option);
wherry_status wherry_client_set_header(wherry_client *client, const char *name, const char *value);
wherry_status wherry_client_copy_header(const wherry_client *client, const char *name, char *buffer,
    size_t capacity, size_t *out_count);
wherry_status wherry_client_set_parameter(wherry_client *client, const char *name, const char
    *value);
wherry_status wherry_client_set_base(wherry_client *client, const char *name, const char *url);
wherry_status wherry_client_copy_storage(const wherry_client *client, char *buffer, size_t capacity,
    size_t *out_count);
wherry_status wherry_client_set_credentials(wherry_client *client, const char *origin, wherry_auth
    auth, const char *user, const char *password);
wherry_status wherry_client_set_cookie(wherry_client *client, const char *url, const char
    *set_cookie);
wherry_status wherry_client_clear_cookies(wherry_client *client, const char *url);
wherry_status wherry_client_list_cookies(const wherry_client *client, wherry_list **out_list);
wherry_status wherry_client_save_cookies(wherry_client *client, const char *path, bool sessions);
wherry_status wherry_client_load_cookies(wherry_client *client, const char *path);
wherry_status wherry_client_set_decisions(wherry_client *client, uint32_t decisions);
// 6. Request
wherry_status wherry_request_new(const char *method, const char *url, wherry_request **out_request);
wherry_status wherry_request_copy(const wherry_request *request, wherry_request **out_copy);
wherry_status wherry_request_free(wherry_request *request);
wherry_status wherry_request_set_option(wherry_request *request, wherry_option option, int64_t
    value);
wherry_status wherry_request_set_text(wherry_request *request, wherry_text_option option, const char
    *value);
wherry_status wherry_request_set_credentials(wherry_request *request, wherry_auth auth, const char
    *user, const char *password);
wherry_status wherry_request_set_url(wherry_request *request, const char *url);
wherry_status wherry_request_set_base(wherry_request *request, const char *names);
wherry_status wherry_request_set_header(wherry_request *request, const char *name, const char
    *value);
wherry_status wherry_request_set_parameter(wherry_request *request, const char *name, const char
    *value);
wherry_status wherry_request_set_parameters_json(wherry_request *request, const void *text, size_t
    count);
wherry_status wherry_request_add_query(wherry_request *request, const char *name, const char
    *value);
wherry_status wherry_request_add_field(wherry_request *request, const char *name, const char
    *value);
wherry_status wherry_request_set_json(wherry_request *request, const void *text, size_t count);
wherry_status wherry_request_set_json_value(wherry_request *request, const wherry_json *value);
wherry_status wherry_request_set_body(wherry_request *request, const void *bytes, size_t count,
    const char *content_type);
wherry_status wherry_request_set_body_file(wherry_request *request, const char *path, const char
    *content_type);
wherry_status wherry_request_set_body_stream(wherry_request *request, int64_t count, const char
    *content_type);
wherry_status wherry_request_add_part(wherry_request *request, const char *name, const void *bytes,
    size_t count, const char *file_name, const char *content_type);
wherry_status wherry_request_add_part_file(wherry_request *request, const char *name, const char
    *path, const char *file_name, const char *content_type);
wherry_status wherry_request_add_part_stream(wherry_request *request, const char *name, int64_t
    count, const char *file_name, const char *content_type);
wherry_status wherry_request_set_part_header(wherry_request *request, const char *name, const char
    *value);
wherry_status wherry_request_add_image(wherry_request *request, const char *name, const wherry_image
    *image, const wherry_compression *compression);
wherry_status wherry_request_set_streamed(wherry_request *request, bool streamed);
wherry_status wherry_request_accept_status(wherry_request *request, int32_t http_code);
wherry_status wherry_request_set_decisions(wherry_request *request, uint32_t decisions);
wherry_status wherry_request_set_digest(wherry_request *request, wherry_digest digest, const char
    *value);
wherry_status wherry_request_add_mirror(wherry_request *request, const char *url);
wherry_status wherry_request_set_cache(wherry_request *request, wherry_cache_policy policy, int64_t
    duration_ms);
wherry_status wherry_request_add_cache_ignored(wherry_request *request, const char *parameter);
wherry_status wherry_request_add_cache_header(wherry_request *request, const char *name);
wherry_status wherry_request_set_cache_partition(wherry_request *request, const char *text);
wherry_status wherry_request_set_cache_version(wherry_request *request, int64_t version);
wherry_status wherry_request_set_stale_if_error_ms(wherry_request *request, int64_t milliseconds);
const char *wherry_request_method(const wherry_request *request);
const char *wherry_request_url(const wherry_request *request);
const char *wherry_request_identifier(const wherry_request *request, const wherry_client *client);
// 7. Transfers
wherry_status wherry_client_send(wherry_client *client, const wherry_request *request, wherry_queue
    *queue, void *user_data, wherry_transfer **out_transfer);
wherry_status wherry_client_send_url(wherry_client *client, const wherry_request *request, const
    char *url, wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
wherry_status wherry_client_perform(wherry_client *client, const wherry_request *request,
    wherry_response **out_response);
wherry_status wherry_client_perform_for(wherry_client *client, const wherry_request *request,
    const char *url, int64_t timeout_ms, wherry_transfer **out_transfer, wherry_record *out_record);
wherry_status wherry_client_download(wherry_client *client, const wherry_request *request, const
    char *path, wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
wherry_status wherry_client_upload_images(wherry_client *client, const wherry_request *request,
    const char *name, const char *const *paths, size_t count, const wherry_compression *compression,
    wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
wherry_status wherry_transfer_wait(wherry_transfer *transfer, int64_t timeout_ms, wherry_record
    *out_record);
wherry_status wherry_transfer_free(wherry_transfer *transfer);
uint64_t wherry_transfer_id(const wherry_transfer *transfer);
wherry_state wherry_transfer_state(const wherry_transfer *transfer);
wherry_status wherry_transfer_pause(wherry_transfer *transfer);
wherry_status wherry_transfer_resume(wherry_transfer *transfer);
wherry_status wherry_transfer_cancel(wherry_transfer *transfer);
wherry_status wherry_transfer_discard(wherry_transfer *transfer);
wherry_status wherry_transfer_set_max_bytes_per_second(wherry_transfer *transfer, int64_t bytes_per_second);
wherry_status wherry_transfer_set_priority(wherry_transfer *transfer, int32_t priority);
wherry_status wherry_transfer_move(wherry_transfer *transfer, size_t place);
int64_t wherry_transfer_place(const wherry_transfer *transfer);
wherry_status wherry_transfer_progress(const wherry_transfer *transfer, wherry_progress
    *out_progress);
wherry_status wherry_transfer_list_images(const wherry_transfer *transfer, wherry_list **out_list);
wherry_status wherry_transfer_write(wherry_transfer *transfer, const void *bytes, size_t count,
    size_t *out_taken);
bool wherry_transfer_wants_rewind(const wherry_transfer *transfer);
wherry_status wherry_transfer_rewind(wherry_transfer *transfer);
wherry_status wherry_transfer_finish(wherry_transfer *transfer);
// 8. Queue and events
wherry_status wherry_queue_new(wherry_queue **out_queue);
wherry_status wherry_queue_free(wherry_queue *queue);
int wherry_queue_fd(const wherry_queue *queue);
size_t wherry_queue_count(const wherry_queue *queue);
wherry_status wherry_queue_next(wherry_queue *queue, int64_t timeout_ms, wherry_event **out_event);
wherry_status wherry_queue_read(wherry_queue *queue, wherry_record *records, size_t capacity,
    int64_t timeout_ms, size_t *out_count);
wherry_status wherry_queue_release(wherry_queue *queue, const wherry_record *records, size_t count);
wherry_status wherry_queue_cancel(wherry_queue *queue, void *user_data, size_t *out_count);
wherry_status wherry_queue_wake(wherry_queue *queue, void *user_data);
wherry_status wherry_event_free(wherry_event *event);
wherry_event_kind wherry_event_get_kind(const wherry_event *event);
void *wherry_event_user_data(const wherry_event *event);
uint64_t wherry_event_transfer_id(const wherry_event *event);
wherry_status wherry_event_open_transfer(const wherry_event *event, wherry_transfer **out_transfer);
int64_t wherry_event_detail(const wherry_event *event);
wherry_status wherry_event_status(const wherry_event *event);
const wherry_error *wherry_event_error(const wherry_event *event);
const wherry_response *wherry_event_response(const wherry_event *event);
const uint8_t *wherry_event_body(const wherry_event *event, size_t *out_count);
const char *wherry_event_text(const wherry_event *event);
const char *wherry_event_job_id(const wherry_event *event);
const char *wherry_event_digest(const wherry_event *event, wherry_digest digest);
wherry_status wherry_event_progress(const wherry_event *event, wherry_progress *out_progress);
// 9. Decisions
wherry_request *wherry_event_request(const wherry_event *event);
wherry_status wherry_event_answer_adapt(wherry_event *event, bool proceed);
wherry_status wherry_event_answer_redirect(wherry_event *event, bool follow);
wherry_status wherry_event_answer_retry(wherry_event *event, bool again, int64_t delay_ms);
wherry_status wherry_event_answer_token(wherry_event *event, const char *token);
wherry_status wherry_event_answer_credentials(wherry_event *event, const char *user, const char
    *password);
wherry_status wherry_event_answer_store(wherry_event *event, bool store, const char *without_headers);
wherry_status wherry_event_answer_refuse(wherry_event *event, const char *message);
// 10. Management
wherry_status wherry_client_pause(wherry_client *client, wherry_match match, const char *key, size_t
    *out_count);
wherry_status wherry_client_resume(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_client_cancel(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_client_discard(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
size_t wherry_client_count(const wherry_client *client, wherry_match match, const char *key);
wherry_status wherry_client_wait(wherry_client *client, wherry_match match, const char *key, int64_t
    timeout_ms);
wherry_status wherry_client_progress(const wherry_client *client, wherry_match match, const char
    *key, wherry_progress *out_progress);
wherry_status wherry_client_open_transfer(wherry_client *client, uint64_t transfer_id,
    wherry_transfer **out_transfer);
wherry_status wherry_client_list(const wherry_client *client, wherry_match match, const char *key,
    wherry_list **out_list);
// 11. Lists
wherry_status wherry_list_free(wherry_list *list);
size_t wherry_list_count(const wherry_list *list);
wherry_status wherry_list_transfer(const wherry_list *list, size_t index, wherry_transfer_row
    *out_row);
wherry_status wherry_list_image(const wherry_list *list, size_t index, wherry_image_row *out_row);
const wherry_response *wherry_list_response(const wherry_list *list, size_t index);
wherry_status wherry_list_partial(const wherry_list *list, size_t index, wherry_partial_row
    *out_row);
wherry_status wherry_list_cookie(const wherry_list *list, size_t index, wherry_cookie_row *out_row);
wherry_status wherry_list_entry(const wherry_list *list, size_t index, wherry_entry_row *out_row);
wherry_status wherry_list_job(const wherry_list *list, size_t index, wherry_job_row *out_row);
// 12. Responses
wherry_status wherry_response_copy(const wherry_response *response, wherry_response **out_copy);
wherry_status wherry_response_free(wherry_response *response);
int32_t wherry_response_http_code(const wherry_response *response);
const char *wherry_response_url(const wherry_response *response);
bool wherry_response_is_from_cache(const wherry_response *response);
bool wherry_response_is_unchanged(const wherry_response *response);
bool wherry_response_is_stale(const wherry_response *response);
bool wherry_response_is_revalidated(const wherry_response *response);
bool wherry_response_redirect_at(const wherry_response *response, size_t index, int32_t
    *out_http_code, const char **out_url);
const char *wherry_response_header(const wherry_response *response, const char *name);
bool wherry_response_header_at(const wherry_response *response, size_t index, const char **out_name,
    const char **out_value);
const uint8_t *wherry_response_body(const wherry_response *response, size_t *out_count);
wherry_status wherry_response_json(const wherry_response *response, wherry_json **out_json);
const char *wherry_response_suggested_name(const wherry_response *response);
const char *wherry_response_remote_address(const wherry_response *response);
wherry_status wherry_response_metrics(const wherry_response *response, wherry_metrics *out_metrics);
wherry_status wherry_response_list_images(const wherry_response *response, wherry_list **out_list);
// 13. Images
wherry_image_format wherry_image_recognise(const void *bytes, size_t count);
wherry_status wherry_image_new_file(const char *path, wherry_image **out_image);
wherry_status wherry_image_new_bytes(const void *bytes, size_t count, wherry_image **out_image);
wherry_status wherry_image_new_pixels(const void *bytes, size_t count, wherry_pixel_format format,
    int32_t width, int32_t height, size_t stride_bytes, wherry_image **out_image);
wherry_status wherry_image_new_pixels_lent(const void *bytes, size_t count, wherry_pixel_format
    format, int32_t width, int32_t height, size_t stride_bytes, wherry_image **out_image);
wherry_status wherry_image_free(wherry_image *image);
wherry_status wherry_image_inspect(const wherry_image *image, wherry_image_info *out_info);
wherry_status wherry_image_compress(const wherry_image *image, const wherry_compression
    *compression, wherry_image **out_image);
const uint8_t *wherry_image_bytes(const wherry_image *image, size_t *out_count);
wherry_status wherry_image_set_file_name(wherry_image *image, const char *file_name);
wherry_status wherry_compression_new(double quality, wherry_compression **out_compression);
wherry_status wherry_compression_free(wherry_compression *compression);
wherry_status wherry_compression_set_option(wherry_compression *compression, wherry_image_option
    option, int64_t value);
wherry_status wherry_compression_set_type(wherry_compression *compression, const char *type);
// 14. Unfinished downloads
wherry_status wherry_partial_list(const char *directory, wherry_list **out_list);
double wherry_partial_ratio(const char *path);
wherry_status wherry_partial_discard(const char *path);
// 15. JSON
wherry_status wherry_json_parse(const void *text, size_t count, wherry_json **out_json);
wherry_status wherry_json_new(wherry_json **out_json);
wherry_status wherry_json_free(wherry_json *json);
wherry_json_type wherry_json_get_type(const wherry_json *json, const char *path);
size_t wherry_json_count(const wherry_json *json, const char *path);
bool wherry_json_get_bool(const wherry_json *json, const char *path, bool otherwise);
int64_t wherry_json_get_integer(const wherry_json *json, const char *path, int64_t otherwise);
uint64_t wherry_json_get_unsigned(const wherry_json *json, const char *path, uint64_t otherwise);
double wherry_json_get_number(const wherry_json *json, const char *path, double otherwise);
const char *wherry_json_get_text(const wherry_json *json, const char *path, const char *otherwise,
    size_t *out_count);
const char *wherry_json_name_at(const wherry_json *json, const char *path, size_t index);
wherry_status wherry_json_set_bool(wherry_json *json, const char *path, bool value);
wherry_status wherry_json_set_integer(wherry_json *json, const char *path, int64_t value);
wherry_status wherry_json_set_number(wherry_json *json, const char *path, double value);
wherry_status wherry_json_set_text(wherry_json *json, const char *path, const char *value);
wherry_status wherry_json_set_value(wherry_json *json, const char *path, const wherry_json *value);
wherry_status wherry_json_remove_nulls(wherry_json *json);
wherry_status wherry_json_copy(const wherry_json *json, const char *path, wherry_json **out_copy);
const char *wherry_json_print(const wherry_json *json, bool pretty, size_t *out_count);
// 16. Stub transport
wherry_status wherry_stub_new(wherry_stub **out_stub);
wherry_status wherry_stub_free(wherry_stub *stub);
wherry_status wherry_stub_add_answer(wherry_stub *stub, const char *method, const char *url, int32_t
    times, int32_t http_code, const char *head, const void *body, size_t count);
wherry_status wherry_stub_add_failure(wherry_stub *stub, const char *method, const char *url,
    int32_t times, const char *reason, int64_t after_bytes);
wherry_status wherry_stub_set_delay_ms(wherry_stub *stub, int64_t milliseconds);
wherry_status wherry_stub_advance_ms(wherry_stub *stub, int64_t milliseconds);
size_t wherry_stub_request_count(const wherry_stub *stub);
wherry_status wherry_stub_copy_request(const wherry_stub *stub, size_t index, wherry_response
    **out_echo);
// 17. Caches
wherry_status wherry_client_read_cache(wherry_client *client, const wherry_request *request,
    wherry_response **out_response);
wherry_status wherry_client_write_cache(wherry_client *client, const wherry_request *request, const
    void *bytes, size_t count, const char *content_type, int64_t duration_ms);
wherry_status wherry_client_remove_cache(wherry_client *client, const wherry_request *request,
    size_t *out_count);
wherry_status wherry_client_list_cache(wherry_client *client, uint32_t stores, const char *base,
    const char *url, const char *method, wherry_list **out_list);
wherry_status wherry_client_read_cache_entry(wherry_client *client, const char *entry_id,
    wherry_response **out_response);
wherry_status wherry_client_clear_cache(wherry_client *client, uint32_t stores, const char *base,
    const char *url, const char *method, size_t *out_count);
wherry_status wherry_client_cache_usage(wherry_client *client, wherry_cache_usage *out_usage);
wherry_status wherry_format_bytes(int64_t bytes, char *buffer, size_t capacity, size_t *out_count);
// 18. Background sessions
wherry_status wherry_session_new(const wherry_config *config, const char *name, wherry_session
    **out_session);
wherry_status wherry_session_free(wherry_session *session);
wherry_status wherry_session_download(wherry_session *session, const wherry_request *request, const
    char *path, char *out_id);
wherry_status wherry_session_upload(wherry_session *session, const wherry_request *request, char
    *out_id);
wherry_status wherry_session_list(wherry_session *session, wherry_list **out_list);
wherry_status wherry_session_follow(wherry_session *session, const char *job_id, wherry_queue
    *queue, void *user_data);
wherry_status wherry_session_pause(wherry_session *session, const char *job_id);
wherry_status wherry_session_resume(wherry_session *session, const char *job_id);
wherry_status wherry_session_cancel(wherry_session *session, const char *job_id);
wherry_status wherry_session_acknowledge(wherry_session *session, const char *job_id);
int wherry_agent_main(int count, const char *const *arguments);
// 19. Reachability
wherry_status wherry_reachability_new(const char *target, wherry_reachability **out_reachability);
wherry_status wherry_reachability_new_reported(wherry_reachability **out_reachability);
wherry_status wherry_client_open_reachability(wherry_client *client, wherry_reachability
    **out_reachability);
wherry_status wherry_reachability_observe(wherry_queue *queue, void *user_data, wherry_reachability
    **out_reachability);
wherry_status wherry_reachability_free(wherry_reachability *reachability);
wherry_status wherry_reachability_set_option(wherry_reachability *reachability, wherry_reach_option
    option, int64_t value);
wherry_status wherry_reachability_set_probe(wherry_reachability *reachability, const char *url);
wherry_status wherry_reachability_start(wherry_reachability *reachability, wherry_queue *queue, void
    *user_data);
wherry_status wherry_reachability_stop(wherry_reachability *reachability);
wherry_reach wherry_reachability_status(const wherry_reachability *reachability);
const char *wherry_reachability_interface(const wherry_reachability *reachability);
wherry_status wherry_reachability_copy_name(const wherry_reachability *reachability, char *buffer,
    size_t capacity, size_t *out_count);
wherry_status wherry_reachability_wait(wherry_reachability *reachability, int64_t timeout_ms);
wherry_status wherry_reachability_notify(wherry_reachability *reachability, int64_t timeout_ms,
    wherry_queue *queue, void *user_data);
wherry_status wherry_reachability_report(wherry_reachability *reachability, wherry_reach status);
wherry_reach wherry_event_reach_before(const wherry_event *event);
const char *wherry_reach_text(wherry_reach status, const char *language);
wherry_status wherry_reach_set_text(wherry_reach status, const char *language, const char *text);
wherry_status wherry_reach_set_interface(const char *pattern, const char *word);
// 20. Log, descriptions and counters
wherry_status wherry_client_set_log(wherry_client *client, wherry_log_level level, wherry_queue
    *queue, void *user_data);
wherry_status wherry_client_set_log_file(wherry_client *client, wherry_log_level level, const char
    *path, bool json, int64_t max_bytes);
wherry_status wherry_client_add_secret_name(wherry_client *client, const char *name);
wherry_status wherry_event_log(const wherry_event *event, wherry_log_record *out_record);
wherry_status wherry_transfer_copy_description(const wherry_transfer *transfer, bool in_full, char
    *buffer, size_t capacity, size_t *out_count);
wherry_status wherry_client_copy_curl_command(const wherry_client *client, const wherry_request
    *request, bool with_secrets, char *buffer, size_t capacity, size_t *out_count);
wherry_status wherry_transfer_copy_curl_command(const wherry_transfer *transfer, bool with_secrets,
    char *buffer, size_t capacity, size_t *out_count);
wherry_status wherry_client_counters(const wherry_client *client, const char *host, wherry_counters
    *out_counters);
// 21. Models and pages
wherry_status wherry_mapping_new(wherry_mapping **out_mapping);
wherry_status wherry_mapping_free(wherry_mapping *mapping);
wherry_status wherry_mapping_add(wherry_mapping *mapping, const char *name, const char *path,
    wherry_field_type type, int32_t arrays, const wherry_mapping *item);
wherry_status wherry_mapping_apply(const wherry_mapping *mapping, const wherry_json *json, const
    char *path, wherry_json *record);
wherry_status wherry_mapping_check(const wherry_mapping *mapping, const wherry_json *json, const
    char *path, wherry_json **out_problems);
wherry_status wherry_request_set_server(wherry_request *request, const char *server, const char
    *path);
wherry_status wherry_endpoint_new(wherry_client *client, const wherry_request *request, wherry_queue
    *queue, void *user_data, wherry_endpoint **out_endpoint);
wherry_status wherry_endpoint_free(wherry_endpoint *endpoint);
wherry_status wherry_endpoint_access(wherry_endpoint *endpoint, const wherry_json *parameters,
    wherry_transfer **out_transfer);
wherry_status wherry_endpoint_load(wherry_endpoint *endpoint, wherry_transfer **out_transfer);
wherry_status wherry_endpoint_cancel(wherry_endpoint *endpoint);
wherry_state wherry_endpoint_state(const wherry_endpoint *endpoint);
wherry_status wherry_endpoint_json(const wherry_endpoint *endpoint, wherry_json **out_json);
wherry_status wherry_endpoint_timing(const wherry_endpoint *endpoint, wherry_timing *out_timing);
wherry_status wherry_pager_new(wherry_client *client, const wherry_request *request, const char
    *items_path, wherry_queue *queue, void *user_data, wherry_pager **out_pager);
wherry_status wherry_pager_free(wherry_pager *pager);
wherry_status wherry_pager_set_parameter(wherry_pager *pager, const char *name, int64_t first_page);
wherry_status wherry_pager_set_size(wherry_pager *pager, int64_t size, const char *parameter, bool
    by_items);
wherry_status wherry_pager_set_end(wherry_pager *pager, wherry_pager_end end, const char *path);
wherry_status wherry_pager_set_key(wherry_pager *pager, const char *key_path, bool newest_wins);
wherry_status wherry_pager_set_kept_pages(wherry_pager *pager, int32_t count);
wherry_status wherry_pager_load_next(wherry_pager *pager, wherry_transfer **out_transfer);
wherry_status wherry_pager_load_previous(wherry_pager *pager, wherry_transfer **out_transfer);
wherry_status wherry_pager_refresh(wherry_pager *pager, wherry_transfer **out_transfer);
wherry_status wherry_pager_load_page(wherry_pager *pager, int64_t page, wherry_transfer
    **out_transfer);
wherry_status wherry_pager_cancel(wherry_pager *pager);
bool wherry_pager_is_loading(const wherry_pager *pager);
bool wherry_pager_has_next(const wherry_pager *pager);
bool wherry_pager_has_previous(const wherry_pager *pager);
int64_t wherry_pager_page(const wherry_pager *pager, int64_t otherwise);
size_t wherry_pager_count(const wherry_pager *pager);
wherry_status wherry_pager_copy_items(const wherry_pager *pager, size_t first, size_t count,
    wherry_json **out_items);
// 22. Server-sent events
wherry_status wherry_sse_new(size_t max_event_bytes, wherry_sse **out_sse);
wherry_status wherry_sse_free(wherry_sse *sse);
wherry_status wherry_sse_feed(wherry_sse *sse, const void *bytes, size_t count);
bool wherry_sse_next(wherry_sse *sse);
const char *wherry_sse_name(const wherry_sse *sse);
const char *wherry_sse_data(const wherry_sse *sse, size_t *out_count);
const char *wherry_sse_id(const wherry_sse *sse);
int64_t wherry_sse_retry_ms(const wherry_sse *sse);
"""

# Handles and out-parameters are plain addresses: an int is the cheapest thing ctypes can pass.
_TYPES: Dict[str, Any] = {
    "void": None,
    "bool": ctypes.c_bool,
    "double": ctypes.c_double,
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "int64_t": ctypes.c_int64,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "const char *": ctypes.c_char_p,
}

# Calls that may take a while let other Python threads run; the rest keep the interpreter, so that
# a busy program does not lose its turn several times per request.
_SLOW = re.compile(
    r"_(perform|perform_for|wait|next|read|drain|pause|resume|cancel|discard|download|send|send_url"
    r"|upload_images|list|ratio|set_log_file|advance_ms|restart|copy_storage|new_file|new_bytes|new_pixels"
    r"|new_pixels_lent|image_free|inspect|compress"
    r"|(read|write|remove|list|clear)_cache|read_cache_entry|cache_usage"
    r"|access|load|load_next|load_previous|load_page|refresh|copy_items|endpoint_json)$"
    r"|^wherry_(client|queue)_(new|free)$|^wherry_(endpoint|pager)_free$|^wherry_request_(set_body|add_part|add_part_file)$"
    r"|^wherry_session_|^wherry_agent_main$"
    r"|^wherry_reachability_(start|stop|free)$"
)


class Library:
    """The loaded library; each function becomes an attribute when it is first used."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._slow = ctypes.CDLL(path)
        self._quick = ctypes.PyDLL(path)
        lines = " ".join(re.sub(r"//.*", "", DECLARATIONS).split()).split(";")
        self._lines = {declared_name(line): line for line in lines if line}

    def __getattr__(self, name: str) -> Function:
        line = self._lines.get(name)
        if line is None:
            raise AttributeError(f"{name} is not a function of wherry.h")
        function = getattr(self._slow if _SLOW.search(name) else self._quick, name)
        function.restype, *function.argtypes = prototype(line)
        setattr(self, name, function)
        return function  # type: ignore[no-any-return]


def declared_name(line: str) -> str:
    """The function's name in its declaration."""
    return line[: line.index("(")].split()[-1].lstrip("*")


def prototype(line: str) -> List[Any]:
    """The ctypes types of a declaration: the result's first, then the parameters'."""
    result, _, rest = line.partition("(")
    types = [_type(result)]
    for parameter in rest.rstrip(" );").split(", "):
        if parameter != "void":
            types.append(_type(parameter))
    return types


def _type(text: str) -> Any:
    words = text[: len(text) - len(re.findall(r"\w*$", text.strip())[0])].strip()
    found = _TYPES.get(words)
    if found is None and words not in _TYPES:
        found = ctypes.c_void_p if "*" in words else ctypes.c_int  # a pointer, or an enum
    return found


def candidates() -> Iterator[str]:
    """Where the library may be, best first."""
    named = os.environ.get("WHERRY_LIBRARY")
    if named:
        yield named
        return
    package = os.path.dirname(os.path.abspath(__file__))
    yield os.path.join(package, "_lib", "libwherry.so.0")
    root = os.path.abspath(os.path.join(package, *[os.pardir] * 4))
    if os.path.exists(os.path.join(root, "include", "wherry.h")):
        built = [
            os.path.join(root, *parts)
            for parts in (
                ("build", "libwherry.so.0"),
                (".build", "release", "libwherry-c.so"),
                (".build", "debug", "libwherry-c.so"),
            )
        ]
        yield from sorted(filter(os.path.exists, built), key=os.path.getmtime, reverse=True)
    yield "libwherry.so.0"


def load() -> Library:
    """Loads the library; ImportError tells every place that was tried."""
    tried = []
    for path in candidates():
        if os.sep in path and not os.path.exists(path):
            tried.append(f"{path}: not there")
            continue
        try:
            library = Library(path)
        except OSError as error:
            tried.append(str(error))
            continue
        version = int(library.wherry_library_version())
        if version // 1000 != ABI:
            raise ImportError(f"{path} is version {version}, not {ABI // 1000}.{ABI % 1000}")
        return library
    raise ImportError("libwherry was not found:\n  " + "\n  ".join(tried))
