# Wherry: the functions of wherry.h
# SPDX-License-Identifier: Apache-2.0
"""The declarations of ``include/wherry.h``, verbatim."""

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
// Simple calls
wherry_status wherry_get(const char *url, wherry_response **out_response);
wherry_status wherry_download_file(const char *url, const char *path);
wherry_status wherry_upload_image(const char *url, const char *name, const char *path,
    wherry_response **out_response);
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
wherry_status wherry_client_set_hooks(wherry_client *client, uint32_t hooks);
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
wherry_status wherry_request_set_hooks(wherry_request *request, uint32_t hooks);
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
wherry_status wherry_request_set_user_key(wherry_request *request, uint64_t key);
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
uint64_t wherry_event_user_key(const wherry_event *event);
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
// 9. Hooks
wherry_request *wherry_event_request(const wherry_event *event);
wherry_status wherry_event_resolve_adapt(wherry_event *event, bool proceed);
wherry_status wherry_event_resolve_redirect(wherry_event *event, bool follow);
wherry_status wherry_event_resolve_headers(wherry_event *event, bool proceed);
wherry_status wherry_event_resolve_save(wherry_event *event, const char *path);
wherry_status wherry_event_resolve_retry(wherry_event *event, bool again, int64_t delay_ms);
wherry_status wherry_event_resolve_token(wherry_event *event, const char *token);
wherry_status wherry_event_resolve_credentials(wherry_event *event, const char *user, const char
    *password);
wherry_status wherry_event_resolve_store(wherry_event *event, bool store, const char *without_headers);
wherry_status wherry_event_resolve_next(wherry_event *event, const wherry_request *request,
    void *user_data);
wherry_status wherry_event_resolve_next_group(wherry_event *event, const wherry_group *group,
    void *user_data);
wherry_status wherry_event_resolve_stop(wherry_event *event);
wherry_status wherry_event_resolve_response(wherry_event *event, int32_t http_code, const char *head,
    const void *body, size_t count);
wherry_status wherry_event_resolve_failure(wherry_event *event, const char *reason,
    const char *message);
wherry_status wherry_event_resolve_refuse(wherry_event *event, const char *message);
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
bool wherry_response_is_length_unverified(const wherry_response *response);
bool wherry_response_is_from_cache(const wherry_response *response);
bool wherry_response_is_unchanged(const wherry_response *response);
bool wherry_response_is_stale(const wherry_response *response);
bool wherry_response_is_revalidated(const wherry_response *response);
bool wherry_response_redirect_at(const wherry_response *response, size_t index, int32_t
    *out_http_code, const char **out_url);
bool wherry_response_informational_at(const wherry_response *response, size_t index,
    int32_t *out_http_code, const char **out_fields);
bool wherry_response_redirect_header_at(const wherry_response *response, size_t redirect, size_t
    index, const char **out_name, const char **out_value);
const char *wherry_response_header(const wherry_response *response, const char *name);
bool wherry_response_header_at(const wherry_response *response, size_t index, const char **out_name,
    const char **out_value);
const uint8_t *wherry_response_body(const wherry_response *response, size_t *out_count);
const char *wherry_response_text(const wherry_response *response, size_t *out_count);
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
wherry_status wherry_image_read_photo(const wherry_image *image, wherry_image_photo *out_photo);
wherry_status wherry_image_compress(const wherry_image *image, const wherry_compression
    *compression, wherry_image **out_image);
wherry_status wherry_image_compress_many(const wherry_image *image, const wherry_compression *const
    *compressions, size_t count, wherry_image **out_images);
wherry_status wherry_image_decode(const wherry_image *image, wherry_pixel_format format,
    const wherry_compression *compression, wherry_image **out_image);
wherry_status wherry_image_hash(const wherry_image *image, wherry_hash_kind kind, const
    wherry_compression *compression, uint64_t *out_hash);
wherry_status wherry_image_compare(const wherry_image *image, const wherry_image *other, const
    wherry_compression *compression, wherry_image_comparison *out_comparison);
const uint8_t *wherry_image_pixels(const wherry_image *image, wherry_pixel_format *out_format,
    size_t *out_stride);
const uint8_t *wherry_image_bytes(const wherry_image *image, size_t *out_count);
wherry_status wherry_image_set_file_name(wherry_image *image, const char *file_name);
wherry_status wherry_compression_new(double quality, wherry_compression **out_compression);
wherry_status wherry_compression_free(wherry_compression *compression);
wherry_status wherry_compression_set_option(wherry_compression *compression, wherry_image_option
    option, int64_t value);
wherry_status wherry_compression_set_type(wherry_compression *compression, const char *type);
wherry_status wherry_compression_set_metadata(wherry_compression *compression,
    wherry_metadata_field field, const char *text);
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
wherry_status wherry_stub_add_response(wherry_stub *stub, const char *method, const char *url, int32_t
    times, int32_t http_code, const char *head, const void *body, size_t count);
wherry_status wherry_stub_add_failure(wherry_stub *stub, const char *method, const char *url,
    int32_t times, const char *reason, int64_t after_bytes);
wherry_status wherry_stub_add_hook(wherry_stub *stub, const char *method, const char *url,
    int32_t times);
wherry_status wherry_stub_add_network(wherry_stub *stub, const char *method, const char *url,
    int32_t times);
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
wherry_status wherry_client_remove_cache_entry(wherry_client *client, const char *entry_id,
    size_t *out_count);
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
wherry_status wherry_session_pause_all(wherry_session *session, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_session_resume_all(wherry_session *session, wherry_match match, const char
    *key, size_t *out_count);
wherry_status wherry_session_cancel_all(wherry_session *session, wherry_match match, const char
    *key, size_t *out_count);
wherry_status wherry_session_acknowledge_all(wherry_session *session, wherry_match match, const char
    *key, size_t *out_count);
wherry_status wherry_session_copy_description(wherry_session *session, const char *job_id, bool
    in_full, char *buffer, size_t capacity, size_t *out_count);
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
const char *wherry_reach_interface_text(wherry_reach status, const char *interface, const char *language);
wherry_status wherry_reach_set_text(wherry_reach status, const char *language, const char *text);
wherry_status wherry_reach_set_interface(const char *pattern, const char *word);
// 20. Log, descriptions and counters
wherry_status wherry_client_set_log(wherry_client *client, wherry_log_level level, wherry_queue
    *queue, void *user_data);
wherry_status wherry_client_set_activity(wherry_client *client, wherry_queue *queue, int64_t
    show_after_ms, int64_t hide_after_ms, void *user_data);
wherry_status wherry_client_set_log_file(wherry_client *client, wherry_log_level level, const char
    *path, bool json, int64_t max_bytes);
wherry_status wherry_client_add_secret_name(wherry_client *client, const char *name);
wherry_status wherry_event_log(const wherry_event *event, wherry_log_record *out_record);
wherry_status wherry_transfer_copy_description(const wherry_transfer *transfer, bool in_full, char
    *buffer, size_t capacity, size_t *out_count);
wherry_status wherry_client_copy_url(const wherry_client *client, const wherry_request *request, char
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
wherry_status wherry_mapping_new_base_item(wherry_mapping **out_mapping);
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
wherry_status wherry_pager_set_events(wherry_pager *pager, bool told);
int64_t wherry_event_page(const wherry_event *event);
wherry_status wherry_pager_load_next(wherry_pager *pager, wherry_transfer **out_transfer);
wherry_status wherry_pager_load_previous(wherry_pager *pager, wherry_transfer **out_transfer);
wherry_status wherry_pager_refresh(wherry_pager *pager, wherry_transfer **out_transfer);
wherry_status wherry_pager_load_page(wherry_pager *pager, int64_t page, wherry_transfer
    **out_transfer);
wherry_status wherry_pager_cancel(wherry_pager *pager);
wherry_status wherry_pager_take_back(wherry_pager *pager);
bool wherry_pager_is_loading(const wherry_pager *pager);
bool wherry_pager_has_next(const wherry_pager *pager);
bool wherry_pager_has_previous(const wherry_pager *pager);
int64_t wherry_pager_page(const wherry_pager *pager, int64_t otherwise);
size_t wherry_pager_count(const wherry_pager *pager);
wherry_status wherry_pager_copy_items(const wherry_pager *pager, size_t first, size_t count,
    wherry_json **out_items);
wherry_status wherry_list_change(const wherry_list *list, size_t index, wherry_change_row *out_row);
wherry_status wherry_sectioned_list_new(wherry_sectioned_list **out_sections);
wherry_status wherry_sectioned_list_free(wherry_sectioned_list *sections);
size_t wherry_sectioned_list_count(const wherry_sectioned_list *sections);
size_t wherry_sectioned_list_row_count(const wherry_sectioned_list *sections, size_t section);
wherry_status wherry_sectioned_list_copy_item(const wherry_sectioned_list *sections, size_t section,
    size_t row, wherry_json **out_item);
const char *wherry_sectioned_list_header(const wherry_sectioned_list *sections, size_t section);
const char *wherry_sectioned_list_footer(const wherry_sectioned_list *sections, size_t section);
wherry_status wherry_sectioned_list_append(wherry_sectioned_list *sections, size_t section,
    const wherry_json *items, wherry_list **out_changes);
wherry_status wherry_sectioned_list_insert(wherry_sectioned_list *sections, size_t section,
    size_t row, const wherry_json *items, wherry_list **out_changes);
wherry_status wherry_sectioned_list_remove(wherry_sectioned_list *sections, size_t section,
    size_t row, size_t count, wherry_list **out_changes);
wherry_status wherry_sectioned_list_replace(wherry_sectioned_list *sections, size_t section,
    size_t row, const wherry_json *item, wherry_list **out_changes);
wherry_status wherry_sectioned_list_insert_section(wherry_sectioned_list *sections, size_t section,
    const char *header, const char *footer, const wherry_json *items, wherry_list **out_changes);
wherry_status wherry_sectioned_list_replace_section(wherry_sectioned_list *sections, size_t section,
    const char *header, const char *footer, const wherry_json *items, wherry_list **out_changes);
wherry_status wherry_sectioned_list_remove_section(wherry_sectioned_list *sections, size_t section,
    wherry_list **out_changes);
wherry_status wherry_sectioned_list_remove_all(wherry_sectioned_list *sections,
    wherry_list **out_changes);
// 22. Server-sent events
wherry_status wherry_sse_new(size_t max_event_bytes, wherry_sse **out_sse);
wherry_status wherry_sse_free(wherry_sse *sse);
wherry_status wherry_sse_feed(wherry_sse *sse, const void *bytes, size_t count);
bool wherry_sse_next(wherry_sse *sse);
const char *wherry_sse_name(const wherry_sse *sse);
const char *wherry_sse_data(const wherry_sse *sse, size_t *out_count);
const char *wherry_sse_id(const wherry_sse *sse);
int64_t wherry_sse_retry_ms(const wherry_sse *sse);
// 23. Groups
wherry_status wherry_group_new(wherry_group_policy policy, wherry_group **out_group);
wherry_status wherry_group_free(wherry_group *group);
wherry_status wherry_group_add(wherry_group *group, const wherry_request *request, void *user_data);
wherry_status wherry_group_add_group(wherry_group *group, const wherry_group *inner,
    void *user_data);
wherry_status wherry_group_set_user_key(wherry_group *group, uint64_t key);
wherry_status wherry_client_send_group(wherry_client *client, wherry_group *group,
    wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
// 24. Image loader
wherry_status wherry_client_load_image(wherry_client *client, const wherry_request *request,
    const char *url, wherry_pixel_format format, const wherry_compression *compression,
    wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
wherry_status wherry_client_load_image_for(wherry_client *client, const wherry_request *request,
    const char *url, wherry_pixel_format format, const wherry_compression *compression,
    int64_t timeout_ms, wherry_transfer **out_transfer, wherry_record *out_record);
wherry_status wherry_event_open_image(const wherry_event *event, wherry_image **out_image);
wherry_status wherry_client_cached_image(wherry_client *client, const wherry_request *request,
    const char *url, wherry_pixel_format format, const wherry_compression *compression,
    wherry_image **out_image);
wherry_status wherry_client_prefetch_image(wherry_client *client, const wherry_request *request,
    const char *url, wherry_pixel_format format, const wherry_compression *compression);
wherry_status wherry_client_clear_images(wherry_client *client);
wherry_status wherry_client_image_usage(wherry_client *client, wherry_image_usage *out_usage);
"""
