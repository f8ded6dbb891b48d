/* Wherry: wherry.h of 0.1.0 without comments, written by Tests/Contract/abi.py */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WHERRY_H
#define WHERRY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)
#ifndef WHERRY_CHECKED
#define WHERRY_CHECKED __attribute__((warn_unused_result))
#endif
#define WHERRY_VERSION_MAJOR 0
#define WHERRY_VERSION_MINOR 1
#define WHERRY_VERSION_PATCH 0
#define WHERRY_VERSION_NUMBER \
  (WHERRY_VERSION_MAJOR * 1000000 + WHERRY_VERSION_MINOR * 1000 + WHERRY_VERSION_PATCH)
int32_t wherry_library_version(void);
const char *wherry_library_version_text(void);
typedef enum wherry_status {
  WHERRY_OK = 0,
  WHERRY_E_ARGUMENT = -1,
  WHERRY_E_STATE = -2,
  WHERRY_E_TIMEOUT = -3,
  WHERRY_E_CANCELLED = -4,
  WHERRY_E_NETWORK = -5,
  WHERRY_E_TLS = -6,
  WHERRY_E_HTTP = -7,
  WHERRY_E_FILE = -8,
  WHERRY_E_IMAGE = -9,
  WHERRY_E_CACHE_MISS = -10,
  WHERRY_E_LIMIT = -11,
  WHERRY_E_INTERNAL = -12,
  WHERRY_E_FORKED = -13,
  WHERRY_E_BUSY = -14
} wherry_status;
typedef struct wherry_error wherry_error;
typedef struct wherry_list wherry_list;
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
typedef struct wherry_response wherry_response;
WHERRY_CHECKED wherry_status wherry_get(const char *url, wherry_response **out_response);
WHERRY_CHECKED wherry_status wherry_download_file(const char *url, const char *path);
WHERRY_CHECKED wherry_status wherry_upload_image(const char *url, const char *name, const char *path,
    wherry_response **out_response);
typedef enum wherry_option {
  WHERRY_OPTION_IDLE_TIMEOUT_MS = 1,
  WHERRY_OPTION_CONNECT_TIMEOUT_MS = 2,
  WHERRY_OPTION_FIRST_BYTE_TIMEOUT_MS = 3,
  WHERRY_OPTION_TOTAL_TIMEOUT_MS = 4,
  WHERRY_OPTION_HOOK_TIMEOUT_MS = 5,
  WHERRY_OPTION_MAX_REDIRECTS = 10,
  WHERRY_OPTION_KEEP_AUTH_ACROSS_HOSTS = 11,
  WHERRY_OPTION_MAX_RETRIES = 12,
  WHERRY_OPTION_RETRY_UNSAFE_METHODS = 13,
  WHERRY_OPTION_WAIT_FOR_NETWORK_MS = 15,
  WHERRY_OPTION_SEND_LANGUAGES = 14,
  WHERRY_OPTION_HTTP_VERSION = 16,
  WHERRY_OPTION_ACCEPT_STATUS_MIN = 17,
  WHERRY_OPTION_ACCEPT_STATUS_MAX = 18,
  WHERRY_OPTION_COMPRESSED = 19,
  WHERRY_OPTION_MAX_BODY_BYTES = 20,
  WHERRY_OPTION_MAX_HEADER_BYTES = 21,
  WHERRY_OPTION_MAX_SEND_BYTES_PER_SECOND = 22,
  WHERRY_OPTION_MAX_RECEIVE_BYTES_PER_SECOND = 23,
  WHERRY_OPTION_MAX_DOWNLOAD_BYTES_PER_SECOND = 24,
  WHERRY_OPTION_DEFAULT_PARAMETERS = 25,
  WHERRY_OPTION_IGNORE_BASE = 26,
  WHERRY_OPTION_JSON_ONLY = 27,
  WHERRY_OPTION_ARRAY_STYLE = 28,
  WHERRY_OPTION_COOKIES = 29,
  WHERRY_OPTION_PRIORITY = 30,
  WHERRY_OPTION_REWINDABLE_BODY = 31,
  WHERRY_OPTION_WANT_HEADERS = 32,
  WHERRY_OPTION_WANT_PROGRESS = 33,
  WHERRY_OPTION_UNREADABLE_IMAGES = 34,
  WHERRY_OPTION_SEPARATE_IMAGES = 35,
  WHERRY_OPTION_IMAGE_RETRIES = 36,
  WHERRY_OPTION_EXTENDED_NAMES = 37,
  WHERRY_OPTION_BODY_DIGEST = 38,
  WHERRY_OPTION_PART_DIGESTS = 39,
  WHERRY_OPTION_MAX_PER_HOST = 40,
  WHERRY_OPTION_MAX_CONNECTIONS = 41,
  WHERRY_OPTION_MAX_DOWNLOADS = 42,
  WHERRY_OPTION_MEMBER_STYLE = 43,
  WHERRY_OPTION_BOOL_STYLE = 44,
  WHERRY_OPTION_COALESCE = 45,
  WHERRY_OPTION_BODY_CODING = 46,
  WHERRY_OPTION_DENY_METERED = 47,
  WHERRY_OPTION_BODY_CODING_MIN_BYTES = 48,
  WHERRY_OPTION_CODED_BODY = 49,
  WHERRY_OPTION_HTTP_CACHE = 50,
  WHERRY_OPTION_CACHE_MAX_BYTES = 51,
  WHERRY_OPTION_CACHE_MEMORY_BYTES = 52,
  WHERRY_OPTION_IMAGE_MEMORY_BYTES = 132,
  WHERRY_OPTION_IMAGE_PREVIEWS = 133,
  WHERRY_OPTION_HOOKS_KEY = 134,
  WHERRY_OPTION_RATE_LIMIT = 53,
  WHERRY_OPTION_HOST_RATE_LIMIT = 54,
  WHERRY_OPTION_RATE_BURST = 55,
  WHERRY_OPTION_RATE_INTERVAL_MS = 56,
  WHERRY_OPTION_DENY_ADDRESSES = 59,
  WHERRY_OPTION_INSECURE = 60,
  WHERRY_OPTION_HTTPS_ONLY = 61,
  WHERRY_OPTION_IGNORE_PROXY_ENVIRONMENT = 62,
  WHERRY_OPTION_REQUIRE_TLS_1_3 = 63,
  WHERRY_OPTION_REQUIRE_STAPLE = 64,
  WHERRY_OPTION_ALLOW_INVALID = 65,
  WHERRY_OPTION_CHECK_NAME = 66,
  WHERRY_OPTION_PIN_MODE = 67,
  WHERRY_OPTION_REQUIRE_PINS = 68,
  WHERRY_OPTION_REPORT_PINS = 69,
  WHERRY_OPTION_RESUME = 70,
  WHERRY_OPTION_TARGET_EXISTS = 71,
  WHERRY_OPTION_TARGET_IS_DIRECTORY = 72,
  WHERRY_OPTION_MAKE_DIRECTORIES = 73,
  WHERRY_OPTION_DURABILITY = 75,
  WHERRY_OPTION_SEGMENTS = 74,
  WHERRY_OPTION_STALL_BYTES_PER_SECOND = 76,
  WHERRY_OPTION_STALL_TIMEOUT_MS = 77,
  WHERRY_OPTION_PARTIAL_OF = 78,
  WHERRY_OPTION_MAX_RETRY_AFTER_MS = 79,
  WHERRY_OPTION_DEBUG = 80,
  WHERRY_OPTION_AUTOSTART = 81,
  WHERRY_OPTION_AGENT_IDLE_MS = 82,
  WHERRY_OPTION_KEEP_SERVER_TIME = 90,
  WHERRY_OPTION_REQUIRE_VERIFIED_LENGTH = 100,
  WHERRY_OPTION_KEEP_ALIVE = 130,
  WHERRY_OPTION_CACHE_STREAM = 131
} wherry_option;
typedef enum wherry_text_option {
  WHERRY_TEXT_BASE_URL = 1,
  WHERRY_TEXT_APP_VERSION = 2,
  WHERRY_TEXT_USER_AGENT = 3,
  WHERRY_TEXT_STORAGE_NAME = 4,
  WHERRY_TEXT_STORAGE_DIRECTORY = 5,
  WHERRY_TEXT_APP_NAME = 6,
  WHERRY_TEXT_PROXY = 7,
  WHERRY_TEXT_PROXY_CREDENTIALS = 8,
  WHERRY_TEXT_NO_PROXY = 9,
  WHERRY_TEXT_CA_FILE = 10,
  WHERRY_TEXT_CA_DIRECTORY = 11,
  WHERRY_TEXT_CRL_FILE = 12,
  WHERRY_TEXT_BEARER_TOKEN = 14,
  WHERRY_TEXT_TAG = 15,
  WHERRY_TEXT_IMAGE_NAMES = 16,
  WHERRY_TEXT_JPEG_TYPE = 17,
  WHERRY_TEXT_AGENT_PATH = 18,
  WHERRY_TEXT_STATE_DIRECTORY = 19,
  WHERRY_TEXT_RESOLVE = 20,
  WHERRY_TEXT_INTERFACE = 21,
  WHERRY_TEXT_UNIX_SOCKET = 22,
  WHERRY_TEXT_PROXY_HTTP = 23,
  WHERRY_TEXT_PROXY_HTTPS = 24,
  WHERRY_TEXT_NETRC = 25
} wherry_text_option;
typedef struct wherry_config wherry_config;
typedef struct wherry_stub wherry_stub;
wherry_status wherry_config_new(wherry_config **out_config);
wherry_status wherry_config_free(wherry_config *config);
wherry_status wherry_config_set_option(wherry_config *config, wherry_option option, int64_t value);
wherry_status wherry_config_set_text(wherry_config *config, wherry_text_option option,
    const char *value );
wherry_status wherry_config_set_header(wherry_config *config, const char *name, const char *value);
wherry_status wherry_config_add_header(wherry_config *config, const char *name, const char *value);
wherry_status wherry_config_set_parameter(wherry_config *config, const char *name,
    const char *value);
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
typedef struct wherry_client wherry_client;
typedef struct wherry_queue wherry_queue;
typedef struct wherry_json wherry_json;
typedef enum wherry_auth {
  WHERRY_AUTH_ANY = 0,
  WHERRY_AUTH_BASIC = 1,
  WHERRY_AUTH_DIGEST = 2
} wherry_auth;
wherry_status wherry_client_new(const wherry_config *config, wherry_client **out_client);
wherry_status wherry_client_free(wherry_client *client);
wherry_status wherry_client_drain(wherry_client *client, int64_t timeout_ms);
wherry_status wherry_client_set_option(wherry_client *client, wherry_option option, int64_t value);
wherry_status wherry_client_set_text(wherry_client *client, wherry_text_option option,
    const char *value);
int64_t wherry_client_get_option(const wherry_client *client, wherry_option option);
wherry_status wherry_client_set_header(wherry_client *client, const char *name, const char *value);
wherry_status wherry_client_add_header(wherry_client *client, const char *name, const char *value);
wherry_status wherry_client_copy_header(const wherry_client *client, const char *name, char *buffer,
    size_t capacity, size_t *out_count);
wherry_status wherry_client_set_parameter(wherry_client *client, const char *name,
    const char *value);
wherry_status wherry_client_set_base(wherry_client *client, const char *name, const char *url);
wherry_status wherry_client_copy_storage(const wherry_client *client, char *buffer, size_t capacity,
    size_t *out_count);
wherry_status wherry_client_set_credentials(wherry_client *client, const char *origin,
    wherry_auth auth, const char *user, const char *password);
wherry_status wherry_client_set_cookie(wherry_client *client, const char *url,
    const char *set_cookie);
wherry_status wherry_client_clear_cookies(wherry_client *client, const char *url);
wherry_status wherry_client_list_cookies(const wherry_client *client,
    wherry_list **out_list );
wherry_status wherry_client_save_cookies(wherry_client *client, const char *path, bool sessions);
wherry_status wherry_client_load_cookies(wherry_client *client, const char *path);
wherry_status wherry_client_set_hooks(wherry_client *client, uint32_t hooks);
typedef struct wherry_request wherry_request;
typedef struct wherry_image wherry_image;
typedef struct wherry_compression wherry_compression;
typedef enum wherry_cache_policy {
  WHERRY_CACHE_OFF = 0,
  WHERRY_CACHE_USE = 1,
  WHERRY_CACHE_ONLY = 2,
  WHERRY_CACHE_REFRESH = 3,
  WHERRY_CACHE_THEN_NETWORK = 4,
  WHERRY_CACHE_PROTOCOL = 10,
  WHERRY_CACHE_RELOAD = 11,
  WHERRY_CACHE_ANY_AGE = 12,
  WHERRY_CACHE_ANY_AGE_ONLY = 13
} wherry_cache_policy;
typedef enum wherry_digest {
  WHERRY_DIGEST_NONE = 0,
  WHERRY_DIGEST_MD5 = 1,
  WHERRY_DIGEST_SHA1 = 2,
  WHERRY_DIGEST_SHA256 = 3,
  WHERRY_DIGEST_SHA512 = 4
} wherry_digest;
wherry_status wherry_request_new(const char *method, const char *url, wherry_request **out_request);
wherry_status wherry_request_copy(const wherry_request *request, wherry_request **out_copy);
wherry_status wherry_request_free(wherry_request *request);
wherry_status wherry_request_set_option(wherry_request *request, wherry_option option,
    int64_t value);
wherry_status wherry_request_set_text(wherry_request *request, wherry_text_option option,
    const char *value);
wherry_status wherry_request_set_credentials(wherry_request *request, wherry_auth auth,
    const char *user, const char *password);
wherry_status wherry_request_set_method(wherry_request *request, const char *method);
wherry_status wherry_request_set_url(wherry_request *request, const char *url);
wherry_status wherry_request_set_base(wherry_request *request, const char *names);
wherry_status wherry_request_set_header(wherry_request *request, const char *name,
    const char *value);
wherry_status wherry_request_add_header(wherry_request *request, const char *name,
    const char *value);
wherry_status wherry_request_set_parameter(wherry_request *request, const char *name,
    const char *value);
wherry_status wherry_request_set_parameters_json(wherry_request *request, const void *text,
    size_t count);
wherry_status wherry_request_add_query(wherry_request *request, const char *name,
    const char *value);
wherry_status wherry_request_add_query_text(wherry_request *request, const char *text);
wherry_status wherry_request_add_field(wherry_request *request, const char *name,
    const char *value);
wherry_status wherry_request_set_json(wherry_request *request, const void *text, size_t count);
wherry_status wherry_request_set_json_value(wherry_request *request, const wherry_json *value);
wherry_status wherry_request_set_body(wherry_request *request, const void *bytes, size_t count,
    const char *content_type);
wherry_status wherry_request_set_body_file(wherry_request *request, const char *path,
    const char *content_type);
wherry_status wherry_request_set_body_stream(wherry_request *request, int64_t count,
    const char *content_type);
wherry_status wherry_request_add_part(wherry_request *request, const char *name, const void *bytes,
    size_t count, const char *file_name, const char *content_type);
wherry_status wherry_request_add_part_file(wherry_request *request, const char *name,
    const char *path, const char *file_name, const char *content_type);
wherry_status wherry_request_add_part_stream(wherry_request *request, const char *name,
    int64_t count, const char *file_name, const char *content_type);
wherry_status wherry_request_set_part_header(wherry_request *request, const char *name,
    const char *value);
wherry_status wherry_request_add_image(wherry_request *request, const char *name,
    const wherry_image *image, const wherry_compression *compression);
wherry_status wherry_request_set_streamed(wherry_request *request, bool streamed);
wherry_status wherry_request_accept_status(wherry_request *request, int32_t http_code);
wherry_status wherry_request_set_json_shape(wherry_request *request, const char *shape);
wherry_status wherry_request_set_hooks(wherry_request *request, uint32_t hooks);
wherry_status wherry_request_set_digest(wherry_request *request, wherry_digest digest,
    const char *value);
wherry_status wherry_request_add_mirror(wherry_request *request, const char *url);
wherry_status wherry_request_set_cache(wherry_request *request, wherry_cache_policy policy,
    int64_t duration_ms);
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
typedef struct wherry_transfer wherry_transfer;
typedef struct wherry_record wherry_record;
typedef enum wherry_state {
  WHERRY_STATE_NONE = 0,
  WHERRY_STATE_QUEUED = 1,
  WHERRY_STATE_RUNNING = 2,
  WHERRY_STATE_WAITING = 3,
  WHERRY_STATE_PAUSED = 4,
  WHERRY_STATE_RESTARTED = 5,
  WHERRY_STATE_VERIFYING = 6,
  WHERRY_STATE_DONE = 7,
  WHERRY_STATE_FAILED = 8,
  WHERRY_STATE_CANCELLED = 9,
  WHERRY_STATE_INTERRUPTED = 10
} wherry_state;
typedef struct wherry_progress {
  size_t size;
  int64_t done_bytes;
  int64_t expected_bytes;
  int64_t resumed_at_bytes;
  int64_t wire_bytes;
  int64_t bytes_per_second;
  int64_t remaining_ms;
  int32_t generation;
  int32_t count;
  int64_t decoded_bytes;
  int32_t ended;
  int32_t reserved;
} wherry_progress;
wherry_status wherry_client_send(wherry_client *client, const wherry_request *request,
    wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
wherry_status wherry_client_send_url(wherry_client *client, const wherry_request *request,
    const char *url, wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
WHERRY_CHECKED wherry_status wherry_client_perform(wherry_client *client,
    const wherry_request *request, wherry_response **out_response);
WHERRY_CHECKED wherry_status wherry_client_perform_for(wherry_client *client,
    const wherry_request *request, const char *url, int64_t timeout_ms,
    wherry_transfer **out_transfer, wherry_record *out_record);
wherry_status wherry_client_download(wherry_client *client, const wherry_request *request,
    const char *path, wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
wherry_status wherry_client_upload_images(wherry_client *client, const wherry_request *request,
    const char *name, const char *const *paths, size_t count, const wherry_compression *compression,
    wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
WHERRY_CHECKED wherry_status wherry_transfer_wait(wherry_transfer *transfer, int64_t timeout_ms,
    wherry_record *out_record);
wherry_status wherry_transfer_free(wherry_transfer *transfer);
uint64_t wherry_transfer_id(const wherry_transfer *transfer);
wherry_state wherry_transfer_state(const wherry_transfer *transfer);
wherry_status wherry_transfer_pause(wherry_transfer *transfer);
wherry_status wherry_transfer_resume(wherry_transfer *transfer);
wherry_status wherry_transfer_cancel(wherry_transfer *transfer);
wherry_status wherry_transfer_discard(wherry_transfer *transfer);
wherry_status wherry_transfer_set_max_bytes_per_second(wherry_transfer *transfer,
    int64_t bytes_per_second);
wherry_status wherry_transfer_set_priority(wherry_transfer *transfer, int32_t priority);
wherry_status wherry_transfer_move(wherry_transfer *transfer, size_t place);
int64_t wherry_transfer_place(const wherry_transfer *transfer);
wherry_status wherry_transfer_progress(const wherry_transfer *transfer,
    wherry_progress *out_progress);
wherry_status wherry_transfer_list_images(const wherry_transfer *transfer, wherry_list **out_list);
wherry_status wherry_transfer_write(wherry_transfer *transfer, const void *bytes, size_t count,
    size_t *out_taken);
bool wherry_transfer_wants_rewind(const wherry_transfer *transfer);
wherry_status wherry_transfer_rewind(wherry_transfer *transfer);
wherry_status wherry_transfer_finish(wherry_transfer *transfer);
typedef struct wherry_event wherry_event;
typedef struct wherry_group wherry_group;
typedef enum wherry_event_kind {
  WHERRY_EVENT_NONE = 0,
  WHERRY_EVENT_PROGRESS = 1,
  WHERRY_EVENT_HEADERS = 2,
  WHERRY_EVENT_BODY = 3,
  WHERRY_EVENT_WANT_BODY = 4,
  WHERRY_EVENT_STATE = 5,
  WHERRY_EVENT_IMAGE = 6,
  WHERRY_EVENT_CACHED = 7,
  WHERRY_EVENT_HOOK = 8,
  WHERRY_EVENT_DONE = 9,
  WHERRY_EVENT_REACHABILITY = 10,
  WHERRY_EVENT_LOG = 11,
  WHERRY_EVENT_PAGE = 12,
  WHERRY_EVENT_ACTIVITY = 13,
  WHERRY_EVENT_IMAGE_PREVIEW = 14
} wherry_event_kind;
typedef enum wherry_record_flag {
  WHERRY_RECORD_REDIRECTED = 1,
  WHERRY_RECORD_FROM_CACHE = 2,
  WHERRY_RECORD_UNCHANGED = 4,
  WHERRY_RECORD_STALE = 8,
  WHERRY_RECORD_REVALIDATED = 16,
  WHERRY_RECORD_LENGTH_UNVERIFIED = 32,
  WHERRY_RECORD_INFORMATIONAL = 64,
  WHERRY_RECORD_HTTP_2 = 128,
  WHERRY_RECORD_HTTP_1_0 = 256
} wherry_record_flag;
struct wherry_record {
  size_t size;
  wherry_event *event;
  void *user_data;
  uint64_t transfer_id;
  int32_t kind;
  int32_t status;
  int64_t detail;
  int32_t http_code;
  uint32_t flags;
  const uint8_t *body;
  size_t body_count;
  const char *head;
  size_t head_count;
  int64_t done_bytes;
  int64_t expected_bytes;
  const char *reason;
  uint64_t user_key;
};
wherry_status wherry_queue_new(wherry_queue **out_queue);
wherry_status wherry_queue_free(wherry_queue *queue);
int wherry_queue_fd(const wherry_queue *queue);
size_t wherry_queue_count(const wherry_queue *queue);
WHERRY_CHECKED wherry_status wherry_queue_next(wherry_queue *queue, int64_t timeout_ms,
    wherry_event **out_event);
WHERRY_CHECKED wherry_status wherry_queue_read(wherry_queue *queue, wherry_record *records,
    size_t capacity, int64_t timeout_ms, size_t *out_count);
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
typedef enum wherry_hook {
  WHERRY_HOOK_NONE = 0,
  WHERRY_HOOK_ADAPT = 1,
  WHERRY_HOOK_REDIRECT = 2,
  WHERRY_HOOK_CREDENTIALS = 4,
  WHERRY_HOOK_RETRY = 8,
  WHERRY_HOOK_HEADERS = 16,
  WHERRY_HOOK_STORE = 32,
  WHERRY_HOOK_TOKEN = 64,
  WHERRY_HOOK_NEXT = 128,
  WHERRY_HOOK_RESPOND = 256
} wherry_hook;
wherry_request *wherry_event_request(const wherry_event *event);
wherry_status wherry_event_resolve_adapt(wherry_event *event, bool proceed);
wherry_status wherry_event_resolve_redirect(wherry_event *event, bool follow);
wherry_status wherry_event_resolve_credentials(wherry_event *event, const char *user,
    const char *password);
wherry_status wherry_event_resolve_headers(wherry_event *event, bool proceed);
wherry_status wherry_event_resolve_save(wherry_event *event, const char *path);
wherry_status wherry_event_resolve_retry(wherry_event *event, bool again, int64_t delay_ms);
wherry_status wherry_event_resolve_token(wherry_event *event, const char *token);
wherry_status wherry_event_resolve_store(wherry_event *event, bool store,
    const char *without_headers);
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
typedef enum wherry_match {
  WHERRY_MATCH_ALL = 1,
  WHERRY_MATCH_URL = 2,
  WHERRY_MATCH_TAG = 3,
  WHERRY_MATCH_IDENTIFIER = 4,
  WHERRY_MATCH_PATH = 5,
  WHERRY_MATCH_URLS = 6
} wherry_match;
typedef enum wherry_transfer_kind {
  WHERRY_TRANSFER_NONE = 0,
  WHERRY_TRANSFER_REQUEST = 1,
  WHERRY_TRANSFER_UPLOAD = 2,
  WHERRY_TRANSFER_DOWNLOAD = 3,
  WHERRY_TRANSFER_GROUP = 4
} wherry_transfer_kind;
wherry_status wherry_client_pause(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_client_resume(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_client_cancel(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_client_discard(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
size_t wherry_client_count(const wherry_client *client, wherry_match match, const char *key);
wherry_status wherry_client_wait(wherry_client *client, wherry_match match, const char *key,
    int64_t timeout_ms);
wherry_status wherry_client_progress(const wherry_client *client, wherry_match match,
    const char *key, wherry_progress *out_progress);
wherry_status wherry_client_open_transfer(wherry_client *client, uint64_t transfer_id,
    wherry_transfer **out_transfer);
wherry_status wherry_client_list(const wherry_client *client, wherry_match match, const char *key,
    wherry_list **out_list );
typedef struct wherry_transfer_row {
  size_t size;
  uint64_t transfer_id;
  const char *method;
  const char *url;
  const char *tag, *path;
  void *user_data;
  int64_t done_bytes, expected_bytes;
  int32_t kind;
  int32_t state;
  uint64_t user_key;
} wherry_transfer_row;
typedef struct wherry_image_row {
  size_t size;
  const char *file_name;
  const char *reason, *message;
  int64_t original_bytes, encoded_bytes;
  int32_t index;
  int32_t status;
  int32_t width, height;
  int32_t quality;
  int32_t http_code;
  int64_t sent_bytes;
} wherry_image_row;
typedef struct wherry_partial_row {
  size_t size;
  const char *path, *partial_path, *url;
  int64_t done_bytes, expected_bytes;
  double ratio;
} wherry_partial_row;
typedef struct wherry_cookie_row {
  size_t size;
  const char *name, *value, *domain, *path;
  int64_t expires_s;
  int32_t host_only, secure, http_only;
} wherry_cookie_row;
typedef struct wherry_entry_row {
  size_t size;
  const char *entry_id;
  const char *identifier;
  const char *method;
  const char *url;
  int64_t stored_at_ms;
  int64_t fresh_for_ms;
  int64_t body_bytes;
  int32_t http_code;
  int32_t store;
} wherry_entry_row;
typedef struct wherry_job_row {
  size_t size;
  const char *job_id, *url, *path, *tag;
  const char *reason;
  const char *message;
  int64_t done_bytes, expected_bytes;
  int64_t started_at_ms;
  int64_t retry_at_ms;
  int32_t kind;
  int32_t state;
  int32_t status;
  int32_t http_code;
} wherry_job_row;
wherry_status wherry_list_free(wherry_list *list);
size_t wherry_list_count(const wherry_list *list);
wherry_status wherry_list_transfer(const wherry_list *list, size_t index,
    wherry_transfer_row *out_row);
wherry_status wherry_list_image(const wherry_list *list, size_t index, wherry_image_row *out_row);
const wherry_response *wherry_list_response(const wherry_list *list, size_t index);
wherry_status wherry_list_partial(const wherry_list *list, size_t index,
    wherry_partial_row *out_row);
wherry_status wherry_list_cookie(const wherry_list *list, size_t index,
    wherry_cookie_row *out_row);
wherry_status wherry_list_entry(const wherry_list *list, size_t index, wherry_entry_row *out_row);
wherry_status wherry_list_job(const wherry_list *list, size_t index, wherry_job_row *out_row);
typedef struct wherry_metrics {
  size_t size;
  int64_t queued_us, lookup_us, connect_us, tls_us;
  int64_t first_byte_us, total_us;
  int64_t sent_bytes, received_bytes;
  int32_t http_version;
  int32_t redirects, retries;
  int32_t is_reused;
} wherry_metrics;
wherry_status wherry_response_copy(const wherry_response *response, wherry_response **out_copy);
wherry_status wherry_response_free(wherry_response *response);
int32_t wherry_response_http_code(const wherry_response *response);
const char *wherry_response_url(const wherry_response *response);
bool wherry_response_is_length_unverified(const wherry_response *response);
bool wherry_response_is_from_cache(const wherry_response *response);
bool wherry_response_is_unchanged(const wherry_response *response);
bool wherry_response_is_stale(const wherry_response *response);
bool wherry_response_is_revalidated(const wherry_response *response);
bool wherry_response_redirect_at(const wherry_response *response, size_t index,
    int32_t *out_http_code, const char **out_url);
bool wherry_response_informational_at(const wherry_response *response, size_t index,
    int32_t *out_http_code, const char **out_fields);
bool wherry_response_redirect_header_at(const wherry_response *response, size_t redirect,
    size_t index, const char **out_name, const char **out_value);
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
typedef enum wherry_image_format {
  WHERRY_IMAGE_KEEP = 0,
  WHERRY_IMAGE_JPEG = 1,
  WHERRY_IMAGE_PNG = 2,
  WHERRY_IMAGE_GIF = 3,
  WHERRY_IMAGE_TIFF = 4,
  WHERRY_IMAGE_WEBP = 5,
  WHERRY_IMAGE_HEIC = 6,
  WHERRY_IMAGE_AVIF = 7
} wherry_image_format;
typedef enum wherry_pixel_format {
  WHERRY_PIXELS_NONE = 0,
  WHERRY_PIXELS_GRAY8 = 1,
  WHERRY_PIXELS_RGB8 = 2,
  WHERRY_PIXELS_RGBA8 = 3,
  WHERRY_PIXELS_BGRA8 = 4
} wherry_pixel_format;
typedef enum wherry_metadata {
  WHERRY_METADATA_NONE = 1,
  WHERRY_METADATA_ICC = 2,
  WHERRY_METADATA_NO_GPS = 3,
  WHERRY_METADATA_ALL = 4
} wherry_metadata;
typedef enum wherry_resize_mode {
  WHERRY_RESIZE_FIT = 0,
  WHERRY_RESIZE_CROP = 1,
  WHERRY_RESIZE_PAD = 2
} wherry_resize_mode;
typedef enum wherry_image_option {
  WHERRY_IMAGE_MAX_WIDTH = 1,
  WHERRY_IMAGE_MAX_HEIGHT = 2,
  WHERRY_IMAGE_MAX_BYTES = 3,
  WHERRY_IMAGE_FORMAT = 4,
  WHERRY_IMAGE_BACKGROUND_RGB = 5,
  WHERRY_IMAGE_METADATA = 6,
  WHERRY_IMAGE_KEEP_ORIENTATION = 7,
  WHERRY_IMAGE_NEVER_LARGER = 8,
  WHERRY_IMAGE_OPTIMIZE = 9,
  WHERRY_IMAGE_PROGRESSIVE = 10,
  WHERRY_IMAGE_SUBSAMPLING = 11,
  WHERRY_IMAGE_BEST_FILTER = 12,
  WHERRY_IMAGE_MAX_PIXELS = 13,
  WHERRY_IMAGE_MAX_MEMORY_BYTES = 14,
  WHERRY_IMAGE_DEADLINE_MS = 15,
  WHERRY_IMAGE_ANIMATED = 16,
  WHERRY_IMAGE_RESIZE_MODE = 17,
  WHERRY_IMAGE_SMALLEST = 18,
  WHERRY_IMAGE_TARGET_SSIM = 19,
  WHERRY_IMAGE_SHARPEN = 20,
  WHERRY_IMAGE_LOCATION_DECIMALS = 21
} wherry_image_option;
typedef enum wherry_metadata_field {
  WHERRY_METADATA_COPYRIGHT = 1,
  WHERRY_METADATA_ARTIST = 2,
  WHERRY_METADATA_DESCRIPTION = 3,
  WHERRY_METADATA_SOFTWARE = 4,
  WHERRY_METADATA_TAKEN_AT = 5,
  WHERRY_METADATA_MAKE = 6,
  WHERRY_METADATA_MODEL = 7
} wherry_metadata_field;
typedef enum wherry_image_flag {
  WHERRY_IMAGE_HAS_ALPHA = 1,
  WHERRY_IMAGE_HAS_ICC = 2,
  WHERRY_IMAGE_HAS_EXIF = 4,
  WHERRY_IMAGE_HAS_GPS = 8,
  WHERRY_IMAGE_IS_ANIMATED = 16,
  WHERRY_IMAGE_IS_PROGRESSIVE = 32
} wherry_image_flag;
typedef enum wherry_image_way {
  WHERRY_IMAGE_WAY_NONE = 0,
  WHERRY_IMAGE_WAY_UNTOUCHED = 1,
  WHERRY_IMAGE_WAY_STRIPPED = 2,
  WHERRY_IMAGE_WAY_TURNED = 3,
  WHERRY_IMAGE_WAY_RECODED = 4,
  WHERRY_IMAGE_WAY_STREAMED = 5,
  WHERRY_IMAGE_WAY_WHOLE = 6
} wherry_image_way;
typedef struct wherry_image_info {
  size_t size;
  int64_t byte_count;
  int64_t pixel_bytes;
  int64_t original_bytes;
  int32_t format;
  int32_t width, height;
  int32_t orientation;
  int32_t components;
  int32_t bit_depth;
  int32_t quality;
  int32_t way;
  uint32_t flags;
  int32_t reserved;
} wherry_image_info;
typedef enum wherry_hash_kind {
  WHERRY_HASH_DIFFERENCE = 1,
  WHERRY_HASH_PERCEPTUAL = 2
} wherry_hash_kind;
typedef enum wherry_photo_flag {
  WHERRY_PHOTO_HAS_POSITION = 1,
  WHERRY_PHOTO_HAS_ALTITUDE = 2
} wherry_photo_flag;
typedef struct wherry_image_photo {
  size_t size;
  double latitude, longitude;
  double altitude;
  uint32_t flags;
  int32_t reserved;
  char taken_at[32];
  char make[64];
  char model[64];
  char copyright[256];
  char artist[128];
  char description[256];
  char software[64];
} wherry_image_photo;
typedef struct wherry_image_comparison {
  size_t size;
  double ssim;
  double psnr;
} wherry_image_comparison;
wherry_image_format wherry_image_recognise(const void *bytes, size_t count);
wherry_status wherry_image_new_file(const char *path, wherry_image **out_image);
wherry_status wherry_image_new_bytes(const void *bytes, size_t count, wherry_image **out_image);
wherry_status wherry_image_new_pixels(const void *bytes, size_t count, wherry_pixel_format format,
    int32_t width, int32_t height, size_t stride_bytes, wherry_image **out_image);
wherry_status wherry_image_new_pixels_lent(const void *bytes, size_t count,
    wherry_pixel_format format, int32_t width, int32_t height, size_t stride_bytes,
    wherry_image **out_image);
wherry_status wherry_image_free(wherry_image *image);
wherry_status wherry_image_inspect(const wherry_image *image, wherry_image_info *out_info);
wherry_status wherry_image_read_photo(const wherry_image *image, wherry_image_photo *out_photo);
wherry_status wherry_image_compress(const wherry_image *image,
    const wherry_compression *compression, wherry_image **out_image);
wherry_status wherry_image_compress_many(const wherry_image *image,
    const wherry_compression *const *compressions, size_t count, wherry_image **out_images);
wherry_status wherry_image_decode(const wherry_image *image, wherry_pixel_format format,
    const wherry_compression *compression, wherry_image **out_image);
wherry_status wherry_image_hash(const wherry_image *image, wherry_hash_kind kind,
    const wherry_compression *compression, uint64_t *out_hash);
wherry_status wherry_image_compare(const wherry_image *image, const wherry_image *other,
    const wherry_compression *compression, wherry_image_comparison *out_comparison);
const uint8_t *wherry_image_pixels(const wherry_image *image, wherry_pixel_format *out_format,
    size_t *out_stride);
const uint8_t *wherry_image_bytes(const wherry_image *image, size_t *out_count);
wherry_status wherry_image_set_file_name(wherry_image *image, const char *file_name);
wherry_status wherry_compression_new(double quality, wherry_compression **out_compression);
wherry_status wherry_compression_free(wherry_compression *compression);
wherry_status wherry_compression_set_option(wherry_compression *compression,
    wherry_image_option option, int64_t value);
wherry_status wherry_compression_set_type(wherry_compression *compression, const char *type);
wherry_status wherry_compression_set_metadata(wherry_compression *compression,
    wherry_metadata_field field, const char *text);
wherry_status wherry_partial_list(const char *directory,
    wherry_list **out_list );
double wherry_partial_ratio(const char *path);
wherry_status wherry_partial_discard(const char *path);
typedef enum wherry_json_type {
  WHERRY_JSON_MISSING = 0,
  WHERRY_JSON_NULL = 1,
  WHERRY_JSON_BOOL = 2,
  WHERRY_JSON_NUMBER = 3,
  WHERRY_JSON_TEXT = 4,
  WHERRY_JSON_ARRAY = 5,
  WHERRY_JSON_OBJECT = 6
} wherry_json_type;
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
wherry_status wherry_stub_new(wherry_stub **out_stub);
wherry_status wherry_stub_free(wherry_stub *stub);
wherry_status wherry_stub_add_response(wherry_stub *stub, const char *method, const char *url,
    int32_t times, int32_t http_code, const char *head, const void *body, size_t count);
wherry_status wherry_stub_add_failure(wherry_stub *stub, const char *method, const char *url,
    int32_t times, const char *reason, int64_t after_bytes);
wherry_status wherry_stub_add_hook(wherry_stub *stub, const char *method, const char *url,
    int32_t times);
wherry_status wherry_stub_add_network(wherry_stub *stub, const char *method, const char *url,
    int32_t times);
wherry_status wherry_stub_set_delay_ms(wherry_stub *stub, int64_t milliseconds);
wherry_status wherry_stub_advance_ms(wherry_stub *stub, int64_t milliseconds);
size_t wherry_stub_request_count(const wherry_stub *stub);
wherry_status wherry_stub_copy_request(const wherry_stub *stub, size_t index,
    wherry_response **out_echo);
typedef enum wherry_cache_store {
  WHERRY_STORE_TIMED = 1,
  WHERRY_STORE_HTTP = 2,
  WHERRY_STORE_PARTIALS = 4
} wherry_cache_store;
typedef struct wherry_cache_usage {
  size_t size;
  int64_t entries, entry_bytes;
  int64_t partials, partial_bytes;
  int64_t memory_bytes;
} wherry_cache_usage;
wherry_status wherry_client_read_cache(wherry_client *client, const wherry_request *request,
    wherry_response **out_response);
wherry_status wherry_client_write_cache(wherry_client *client, const wherry_request *request,
    const void *bytes, size_t count, const char *content_type, int64_t duration_ms);
wherry_status wherry_client_remove_cache(wherry_client *client, const wherry_request *request,
    size_t *out_count);
wherry_status wherry_client_list_cache(wherry_client *client, uint32_t stores, const char *base,
    const char *url, const char *method, wherry_list **out_list );
wherry_status wherry_client_read_cache_entry(wherry_client *client, const char *entry_id,
    wherry_response **out_response);
wherry_status wherry_client_remove_cache_entry(wherry_client *client, const char *entry_id,
    size_t *out_count);
wherry_status wherry_client_clear_cache(wherry_client *client, uint32_t stores, const char *base,
    const char *url, const char *method, size_t *out_count);
wherry_status wherry_client_cache_usage(wherry_client *client, wherry_cache_usage *out_usage);
wherry_status wherry_format_bytes(int64_t bytes, char *buffer, size_t capacity, size_t *out_count);
typedef struct wherry_session wherry_session;
wherry_status wherry_session_new(const wherry_config *config, const char *name,
    wherry_session **out_session);
wherry_status wherry_session_free(wherry_session *session);
#define WHERRY_JOB_ID_SIZE 33
wherry_status wherry_session_download(wherry_session *session, const wherry_request *request,
    const char *path, char *out_id);
wherry_status wherry_session_upload(wherry_session *session, const wherry_request *request,
    char *out_id);
wherry_status wherry_session_list(wherry_session *session,
    wherry_list **out_list );
wherry_status wherry_session_follow(wherry_session *session, const char *job_id,
    wherry_queue *queue, void *user_data);
wherry_status wherry_session_pause(wherry_session *session, const char *job_id);
wherry_status wherry_session_resume(wherry_session *session, const char *job_id);
wherry_status wherry_session_cancel(wherry_session *session, const char *job_id);
wherry_status wherry_session_acknowledge(wherry_session *session, const char *job_id);
wherry_status wherry_session_pause_all(wherry_session *session, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_session_resume_all(wherry_session *session, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_session_cancel_all(wherry_session *session, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_session_acknowledge_all(wherry_session *session, wherry_match match,
    const char *key, size_t *out_count);
wherry_status wherry_session_copy_description(wherry_session *session, const char *job_id, bool in_full,
    char *buffer, size_t capacity, size_t *out_count);
int wherry_agent_main(int count, const char *const *arguments);
typedef struct wherry_reachability wherry_reachability;
typedef enum wherry_reach {
  WHERRY_REACH_UNKNOWN = -1,
  WHERRY_REACH_NONE = 0,
  WHERRY_REACH_WWAN = 1,
  WHERRY_REACH_WIFI = 2
} wherry_reach;
typedef enum wherry_reach_option {
  WHERRY_REACH_RAW = 1,
  WHERRY_REACH_INITIAL_SYNC = 2,
  WHERRY_REACH_PROBE_INTERVAL_MS = 3,
  WHERRY_REACH_PROBE_TIMEOUT_MS = 4
} wherry_reach_option;
wherry_status wherry_reachability_new(const char *target, wherry_reachability **out_reachability);
wherry_status wherry_reachability_new_reported(wherry_reachability **out_reachability);
wherry_status wherry_client_open_reachability(wherry_client *client,
    wherry_reachability **out_reachability);
wherry_status wherry_reachability_observe(wherry_queue *queue, void *user_data,
    wherry_reachability **out_reachability);
wherry_status wherry_reachability_free(wherry_reachability *reachability);
wherry_status wherry_reachability_set_option(wherry_reachability *reachability,
    wherry_reach_option option, int64_t value);
wherry_status wherry_reachability_set_probe(wherry_reachability *reachability, const char *url);
wherry_status wherry_reachability_start(wherry_reachability *reachability, wherry_queue *queue,
    void *user_data);
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
const char *wherry_reach_interface_text(wherry_reach status, const char *interface,
    const char *language);
wherry_status wherry_reach_set_text(wherry_reach status, const char *language, const char *text);
wherry_status wherry_reach_set_interface(const char *pattern, const char *word);
typedef enum wherry_log_level {
  WHERRY_LOG_OFF = 0,
  WHERRY_LOG_ERROR = 1,
  WHERRY_LOG_WARNING = 2,
  WHERRY_LOG_INFO = 3,
  WHERRY_LOG_DEBUG = 4
} wherry_log_level;
typedef enum wherry_log_event {
  WHERRY_LOG_EVENT_NONE = 0,
  WHERRY_LOG_EVENT_STARTED = 1,
  WHERRY_LOG_EVENT_HEADER = 2,
  WHERRY_LOG_EVENT_SENT = 3,
  WHERRY_LOG_EVENT_HEADERS = 4,
  WHERRY_LOG_EVENT_REDIRECTED = 5,
  WHERRY_LOG_EVENT_RETRIED = 6,
  WHERRY_LOG_EVENT_SUSPENDED = 7,
  WHERRY_LOG_EVENT_RESUMED = 8,
  WHERRY_LOG_EVENT_RESTARTED = 9,
  WHERRY_LOG_EVENT_PROGRESSED = 10,
  WHERRY_LOG_EVENT_HOOK = 11,
  WHERRY_LOG_EVENT_ADAPTED = 12,
  WHERRY_LOG_EVENT_IMAGE = 13,
  WHERRY_LOG_EVENT_HIT = 14,
  WHERRY_LOG_EVENT_MISSED = 15,
  WHERRY_LOG_EVENT_BYPASSED = 16,
  WHERRY_LOG_EVENT_STORED = 17,
  WHERRY_LOG_EVENT_UNSTORED = 18,
  WHERRY_LOG_EVENT_VERIFYING = 19,
  WHERRY_LOG_EVENT_MOVED = 20,
  WHERRY_LOG_EVENT_SUCCEEDED = 21,
  WHERRY_LOG_EVENT_FAILED = 22,
  WHERRY_LOG_EVENT_CANCELLED = 23,
  WHERRY_LOG_EVENT_REFUSED = 24,
  WHERRY_LOG_EVENT_CLOSED = 25,
  WHERRY_LOG_EVENT_LOST = 26,
  WHERRY_LOG_EVENT_WARNED = 27
} wherry_log_event;
typedef struct wherry_log_record {
  size_t size;
  int64_t time_ms;
  uint64_t transfer_id;
  const char *text;
  const char *method, *url, *reason, *path;
  int64_t count;
  int32_t level;
  int32_t event;
  int32_t http_code;
  int32_t has_metrics;
  int64_t queued_us, lookup_us, connect_us, tls_us, first_byte_us, total_us;
  int64_t sent_bytes, received_bytes;
} wherry_log_record;
typedef struct wherry_counters {
  size_t size;
  int64_t started, succeeded, failed, cancelled;
  int64_t requests;
  int64_t retried, redirected;
  int64_t cache_hits;
  int64_t sent_bytes, received_bytes;
} wherry_counters;
wherry_status wherry_client_set_log(wherry_client *client, wherry_log_level level,
    wherry_queue *queue, void *user_data);
wherry_status wherry_client_set_activity(wherry_client *client, wherry_queue *queue,
    int64_t show_after_ms, int64_t hide_after_ms, void *user_data);
wherry_status wherry_client_set_log_file(wherry_client *client, wherry_log_level level,
    const char *path, bool json, int64_t max_bytes);
wherry_status wherry_client_add_secret_name(wherry_client *client, const char *name);
wherry_status wherry_event_log(const wherry_event *event, wherry_log_record *out_record);
wherry_status wherry_transfer_copy_description(const wherry_transfer *transfer, bool in_full,
    char *buffer, size_t capacity, size_t *out_count);
wherry_status wherry_client_copy_url(const wherry_client *client, const wherry_request *request,
    char *buffer, size_t capacity, size_t *out_count);
wherry_status wherry_client_copy_curl_command(const wherry_client *client,
    const wherry_request *request, bool with_secrets, char *buffer, size_t capacity,
    size_t *out_count);
wherry_status wherry_transfer_copy_curl_command(const wherry_transfer *transfer, bool with_secrets,
    char *buffer, size_t capacity, size_t *out_count);
wherry_status wherry_client_counters(const wherry_client *client, const char *host,
    wherry_counters *out_counters);
typedef struct wherry_mapping wherry_mapping;
typedef struct wherry_endpoint wherry_endpoint;
typedef struct wherry_pager wherry_pager;
typedef enum wherry_field_type {
  WHERRY_FIELD_VALUE = 0,
  WHERRY_FIELD_TEXT = 1,
  WHERRY_FIELD_INTEGER = 2,
  WHERRY_FIELD_NUMBER = 3,
  WHERRY_FIELD_BOOL = 4,
  WHERRY_FIELD_ITEM = 5
} wherry_field_type;
wherry_status wherry_mapping_new(wherry_mapping **out_mapping);
wherry_status wherry_mapping_free(wherry_mapping *mapping);
wherry_status wherry_mapping_add(wherry_mapping *mapping, const char *name, const char *path,
    wherry_field_type type, int32_t arrays, const wherry_mapping *item);
wherry_status wherry_mapping_new_base_item(wherry_mapping **out_mapping);
wherry_status wherry_mapping_apply(const wherry_mapping *mapping, const wherry_json *json,
    const char *path, wherry_json *record);
wherry_status wherry_mapping_check(const wherry_mapping *mapping, const wherry_json *json,
    const char *path, wherry_json **out_problems);
wherry_status wherry_request_set_server(wherry_request *request, const char *server,
    const char *path);
typedef struct wherry_timing {
  size_t size;
  int64_t started_us;
  int64_t queued_us, lookup_us, connect_us, tls_us;
  int64_t first_byte_us, network_us;
  int64_t total_us;
  int64_t parse_us;
} wherry_timing;
wherry_status wherry_endpoint_new(wherry_client *client, const wherry_request *request,
    wherry_queue *queue, void *user_data, wherry_endpoint **out_endpoint);
wherry_status wherry_endpoint_free(wherry_endpoint *endpoint);
wherry_status wherry_endpoint_access(wherry_endpoint *endpoint, const wherry_json *parameters,
    wherry_transfer **out_transfer);
wherry_status wherry_endpoint_load(wherry_endpoint *endpoint, wherry_transfer **out_transfer);
wherry_status wherry_endpoint_cancel(wherry_endpoint *endpoint);
wherry_state wherry_endpoint_state(const wherry_endpoint *endpoint);
wherry_status wherry_endpoint_json(const wherry_endpoint *endpoint, wherry_json **out_json);
wherry_status wherry_endpoint_timing(const wherry_endpoint *endpoint, wherry_timing *out_timing);
typedef enum wherry_pager_end {
  WHERRY_PAGER_END_SHORT_PAGE = 0,
  WHERRY_PAGER_END_LAST_PAGE = 1,
  WHERRY_PAGER_END_HAS_NEXT = 2,
  WHERRY_PAGER_END_TOTAL = 3,
  WHERRY_PAGER_END_CURSOR = 4,
  WHERRY_PAGER_END_LINK = 5
} wherry_pager_end;
wherry_status wherry_pager_new(wherry_client *client, const wherry_request *request,
    const char *items_path, wherry_queue *queue, void *user_data, wherry_pager **out_pager);
wherry_status wherry_pager_free(wherry_pager *pager);
wherry_status wherry_pager_set_parameter(wherry_pager *pager, const char *name, int64_t first_page);
wherry_status wherry_pager_set_size(wherry_pager *pager, int64_t size, const char *parameter,
    bool by_items);
wherry_status wherry_pager_set_end(wherry_pager *pager, wherry_pager_end end, const char *path);
wherry_status wherry_pager_set_key(wherry_pager *pager, const char *key_path, bool newest_wins);
wherry_status wherry_pager_set_kept_pages(wherry_pager *pager, int32_t count);
typedef enum wherry_page_event {
  WHERRY_PAGE_WILL_LOAD = 1,
  WHERRY_PAGE_REFRESHED = 2,
  WHERRY_PAGE_LOADED = 3,
  WHERRY_PAGE_FAILED = 4,
  WHERRY_PAGE_FINISHED = 5,
  WHERRY_PAGE_FIRST = 6,
  WHERRY_PAGE_LAST = 7
} wherry_page_event;
wherry_status wherry_pager_set_events(wherry_pager *pager, bool told);
int64_t wherry_event_page(const wherry_event *event);
wherry_status wherry_pager_load_next(wherry_pager *pager, wherry_transfer **out_transfer);
wherry_status wherry_pager_load_previous(wherry_pager *pager, wherry_transfer **out_transfer);
wherry_status wherry_pager_refresh(wherry_pager *pager, wherry_transfer **out_transfer);
wherry_status wherry_pager_load_page(wherry_pager *pager, int64_t page,
    wherry_transfer **out_transfer);
wherry_status wherry_pager_cancel(wherry_pager *pager);
wherry_status wherry_pager_take_back(wherry_pager *pager);
bool wherry_pager_is_loading(const wherry_pager *pager);
bool wherry_pager_has_next(const wherry_pager *pager);
bool wherry_pager_has_previous(const wherry_pager *pager);
int64_t wherry_pager_page(const wherry_pager *pager, int64_t otherwise);
size_t wherry_pager_count(const wherry_pager *pager);
wherry_status wherry_pager_copy_items(const wherry_pager *pager, size_t first, size_t count,
    wherry_json **out_items);
typedef struct wherry_sectioned_list wherry_sectioned_list;
typedef enum wherry_change {
  WHERRY_CHANGE_INSERT_ROWS = 1,
  WHERRY_CHANGE_REMOVE_ROWS = 2,
  WHERRY_CHANGE_RELOAD_ROWS = 3,
  WHERRY_CHANGE_INSERT_SECTIONS = 4,
  WHERRY_CHANGE_REMOVE_SECTIONS = 5,
  WHERRY_CHANGE_RELOAD_SECTIONS = 6,
  WHERRY_CHANGE_RELOAD_ALL = 7
} wherry_change;
typedef struct wherry_change_row {
  size_t size;
  size_t section;
  size_t first, count;
  int32_t kind;
  int32_t reserved;
} wherry_change_row;
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
typedef struct wherry_sse wherry_sse;
wherry_status wherry_sse_new(size_t max_event_bytes, wherry_sse **out_sse);
wherry_status wherry_sse_free(wherry_sse *sse);
wherry_status wherry_sse_feed(wherry_sse *sse, const void *bytes, size_t count);
bool wherry_sse_next(wherry_sse *sse);
const char *wherry_sse_name(const wherry_sse *sse);
const char *wherry_sse_data(const wherry_sse *sse, size_t *out_count);
const char *wherry_sse_id(const wherry_sse *sse);
int64_t wherry_sse_retry_ms(const wherry_sse *sse);
typedef enum wherry_group_policy {
  WHERRY_GROUP_FAIL_FAST = 0,
  WHERRY_GROUP_ALL_SETTLED = 1,
  WHERRY_GROUP_CHAIN = 2
} wherry_group_policy;
wherry_status wherry_group_new(wherry_group_policy policy, wherry_group **out_group);
wherry_status wherry_group_free(wherry_group *group);
wherry_status wherry_group_add(wherry_group *group, const wherry_request *request, void *user_data);
wherry_status wherry_group_add_group(wherry_group *group, const wherry_group *inner,
    void *user_data);
wherry_status wherry_group_set_user_key(wherry_group *group, uint64_t key);
wherry_status wherry_client_send_group(wherry_client *client, wherry_group *group,
    wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
typedef struct wherry_image_usage {
  size_t size;
  int64_t images, image_bytes;
  int64_t limit_bytes;
  int64_t hits;
  int64_t misses;
  int64_t requests;
} wherry_image_usage;
wherry_status wherry_client_load_image(wherry_client *client, const wherry_request *request,
    const char *url, wherry_pixel_format format, const wherry_compression *compression,
    wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
WHERRY_CHECKED wherry_status wherry_client_load_image_for(wherry_client *client,
    const wherry_request *request, const char *url, wherry_pixel_format format,
    const wherry_compression *compression, int64_t timeout_ms, wherry_transfer **out_transfer,
    wherry_record *out_record);
wherry_status wherry_event_open_image(const wherry_event *event, wherry_image **out_image);
wherry_status wherry_client_cached_image(wherry_client *client, const wherry_request *request,
    const char *url, wherry_pixel_format format, const wherry_compression *compression,
    wherry_image **out_image);
wherry_status wherry_client_prefetch_image(wherry_client *client, const wherry_request *request,
    const char *url, wherry_pixel_format format, const wherry_compression *compression);
wherry_status wherry_client_clear_images(wherry_client *client);
wherry_status wherry_client_image_usage(wherry_client *client, wherry_image_usage *out_usage);
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
