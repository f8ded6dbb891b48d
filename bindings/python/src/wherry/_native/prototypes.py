# Wherry: the functions of wherry.h that start and manage transfers
# SPDX-License-Identifier: Apache-2.0
"""Sections 1 to 10 of ``include/wherry.h``, verbatim: clients, requests, queues, decisions."""

LINES = """
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
wherry_status wherry_config_add_header(wherry_config *config, const char *name, const char *value);
wherry_status wherry_config_set_parameter(wherry_config *config, const char *name, const char
    *value);
wherry_status wherry_config_load(wherry_config *config, const char *path);
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
wherry_status wherry_client_add_header(wherry_client *client, const char *name, const char *value);
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
wherry_status wherry_request_set_method(wherry_request *request, const char *method);
wherry_status wherry_request_set_url(wherry_request *request, const char *url);
wherry_status wherry_request_set_base(wherry_request *request, const char *names);
wherry_status wherry_request_set_header(wherry_request *request, const char *name, const char
    *value);
wherry_status wherry_request_add_header(wherry_request *request, const char *name, const char
    *value);
wherry_status wherry_request_set_parameter(wherry_request *request, const char *name, const char
    *value);
wherry_status wherry_request_set_parameters_json(wherry_request *request, const void *text, size_t
    count);
wherry_status wherry_request_add_query(wherry_request *request, const char *name, const char
    *value);
wherry_status wherry_request_add_query_text(wherry_request *request, const char *text);
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
wherry_status wherry_request_set_json_shape(wherry_request *request, const char *shape);
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
bool wherry_request_header_at(const wherry_request *request, size_t index, const char **out_name,
    const char **out_value);
bool wherry_request_query_at(const wherry_request *request, size_t index, const char **out_name,
    const char **out_value);
const char *wherry_request_parameters(const wherry_request *request, size_t *out_count);
const uint8_t *wherry_request_body(const wherry_request *request, size_t *out_count);
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
wherry_status wherry_event_answer_head(wherry_event *event, bool proceed);
wherry_status wherry_event_answer_save(wherry_event *event, const char *path);
wherry_status wherry_event_answer_retry(wherry_event *event, bool again, int64_t delay_ms);
wherry_status wherry_event_answer_token(wherry_event *event, const char *token);
wherry_status wherry_event_answer_credentials(wherry_event *event, const char *user, const char
    *password);
wherry_status wherry_event_answer_store(wherry_event *event, bool store, const char *without_headers);
wherry_status wherry_event_answer_next(wherry_event *event, const wherry_request *request,
    void *user_data);
wherry_status wherry_event_answer_next_group(wherry_event *event, const wherry_group *group,
    void *user_data);
wherry_status wherry_event_answer_stop(wherry_event *event);
wherry_status wherry_event_answer_response(wherry_event *event, int32_t http_code, const char *head,
    const void *body, size_t count);
wherry_status wherry_event_answer_failure(wherry_event *event, const char *reason,
    const char *message);
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
"""
