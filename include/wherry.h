/* wherry.h - HTTP requests, image uploads and resumable downloads from C.
 * SPDX-License-Identifier: Apache-2.0
 *
 * This header is the contract: every rule a caller needs is written here, once.
 *
 *  NAMES     wherry_<type>_<verb>; the first parameter is the object it acts on. A number with a
 *            unit has it in its name (_ms, _bytes, _per_second). An int64_t of -1 is "unknown"
 *            coming out and "none" going in, unless its comment says otherwise.
 *  RESULTS   Calls that can fail return a wherry_status; 0 is success. What else they produce goes
 *            through trailing out-parameters, written only on success (wherry_client_perform is
 *            the one exception). NULL may be out_transfer where work is started with a queue, and
 *            every out_count but that of wherry_queue_read; any other NULL is E_ARGUMENT. Other
 *            calls return their value, and 0, NULL, false or -1 for a bad handle.
 *  HANDLES   Objects are opaque; the pointer is a numbered ticket, never an address. A freed,
 *            foreign, wrong-kind or NULL handle is answered: WHERRY_E_ARGUMENT `bad_handle`.
 *  OWNERSHIP Every handle that an out-parameter gives you is yours: give it to its *_free once.
 *            *_free(NULL) is OK, twice is answered, any order is safe, also while handling one of
 *            its events. A handle that is a return value is lent and never freed.
 *  LENDING   Pointers to bytes and text that a getter returns live as long as the object asked
 *            (events: until wherry_event_free), not longer: those are plain memory, unchecked.
 *            client, queue, transfer and stub lend nothing; they copy out.
 *  INPUTS    Everything you pass in is copied before the call returns, so it may be freed at once.
 *            Text, paths too, is NUL-terminated UTF-8 (else `bad_text`); bytes are a pointer and a
 *            count (NULL only with 0).
 *  THREADS   Every function may be called from any thread. config, request, response, event, list,
 *            image, compression and json are meant for one thread at a time: sharing one is safe
 *            for the process but its answers may mix. Events of one transfer come in order.
 *            Nothing of yours ever runs on a wherry thread: there are no callbacks.
 *  STRUCTS   The few plain structs are filled by the library. Set `size` to sizeof first; what
 *            the library does not know is zeroed; size 0 is WHERRY_E_ARGUMENT. 64-bit Linux only.
 *  FORK      In a forked child every call answers WHERRY_E_FORKED until wherry_library_restart.
 */
#ifndef WHERRY_H
#define WHERRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)
#define WHERRY_CHECKED __attribute__((warn_unused_result))

/* ---- 1. Version ------------------------------------------------------------------------------ */

#define WHERRY_VERSION_MAJOR 0
#define WHERRY_VERSION_MINOR 1
#define WHERRY_VERSION_PATCH 0
#define WHERRY_VERSION_NUMBER \
  (WHERRY_VERSION_MAJOR * 1000000 + WHERRY_VERSION_MINOR * 1000 + WHERRY_VERSION_PATCH)

/* The library that was loaded, which may be newer than this header. Static text. */
int32_t wherry_library_version(void);
const char *wherry_library_version_text(void);

/* ---- 2. Status and errors -------------------------------------------------------------------- */

typedef enum wherry_status {
  WHERRY_OK = 0,
  WHERRY_E_ARGUMENT = -1,    /* NULL, wrong kind of object, or out of range */
  WHERRY_E_STATE = -2,       /* not now: already sent, answered, or closed */
  WHERRY_E_TIMEOUT = -3,     /* the wait or the transfer ran out of time */
  WHERRY_E_CANCELLED = -4,
  WHERRY_E_NETWORK = -5,     /* name lookup, connection, or broken stream */
  WHERRY_E_TLS = -6,         /* the peer could not be trusted */
  WHERRY_E_HTTP = -7,        /* an answer arrived, and it refused the request */
  WHERRY_E_FILE = -8,        /* the local file or directory */
  WHERRY_E_IMAGE = -9,       /* not an image, or one we cannot encode */
  WHERRY_E_CACHE_MISS = -10, /* cache-only request, and nothing usable */
  WHERRY_E_LIMIT = -11,      /* a size or count limit */
  WHERRY_E_INTERNAL = -12,   /* a bug in wherry: please report it */
  WHERRY_E_FORKED = -13,     /* called in a forked child */
  WHERRY_E_BUSY = -14        /* held by another transfer or process, or full for the moment */
} wherry_status;

typedef struct wherry_error wherry_error; /* never freed: lent by the event, or by this thread */
typedef struct wherry_list wherry_list;   /* section 11 */

/* "E_TIMEOUT"; "E_UNKNOWN" for a number that is not ours. Static text. */
const char *wherry_status_name(wherry_status status);
/* Why the last failing call on this thread failed; never NULL, and OK if none did. Only calls that
 * return a wherry_status count: a getter never hides what went wrong before it. The handle is good
 * until the next failing call on the same thread. */
const wherry_error *wherry_last_error(void);
wherry_status wherry_error_status(const wherry_error *error);
/* A stable word from the table in docs/errors.md, such as "bad_url" or "stalled"; "" for OK. Static
 * text. */
const char *wherry_error_reason(const wherry_error *error);
/* One sentence for people, secrets removed. "" on a bad handle, so it can be printed unlooked. */
const char *wherry_error_message(const wherry_error *error);
int32_t wherry_error_curl_code(const wherry_error *error); /* or 0 */
int32_t wherry_error_http_code(const wherry_error *error); /* or 0 */
int32_t wherry_error_os_code(const wherry_error *error);   /* errno, or 0 */
bool wherry_error_is_retryable(const wherry_error *error);
int64_t wherry_error_retry_after_ms(const wherry_error *error);      /* or -1 */
const char *wherry_error_partial_path(const wherry_error *error);    /* kept, or NULL */
const wherry_error *wherry_error_underlying(const wherry_error *error); /* or NULL */
/* An upload's pictures that did not get through, in rows of wherry_list_image: all of them if the
 * request failed as a whole. Also for wherry_last_error after perform. */
wherry_status wherry_error_list_failed_images(const wherry_error *error, wherry_list **out_list);
/* In a forked child: makes the library usable again; every older handle stays dead. Without effect
 * in a process that did not fork. */
wherry_status wherry_library_restart(void);

/* ---- 3. Options: one list for client and request --------------------------------------------- */

/* The letters say where an option counts: B while building a config, L live on a client (for
 * requests started afterwards), R on one request, which wins over the client. Elsewhere it is
 * E_ARGUMENT `bad_option`. After them stands the default. Booleans are 0 and 1. */
typedef enum wherry_option {
  WHERRY_OPTION_IDLE_TIMEOUT_MS = 1,        /* BLR 20000; restarts with every byte; 0: none */
  WHERRY_OPTION_CONNECT_TIMEOUT_MS = 2,     /* BLR 10000 */
  /* BLR 30000; the wait for an answer is silence too, so but for downloads the idle timeout ends it
   * where that is shorter: raise both. 0: none */
  WHERRY_OPTION_FIRST_BYTE_TIMEOUT_MS = 3,
  WHERRY_OPTION_TOTAL_TIMEOUT_MS = 4,       /* BLR 0: none; covers redirects and retries */
  WHERRY_OPTION_DECISION_TIMEOUT_MS = 5,    /* BLR 30000; then the default is taken; 0: at once */
  WHERRY_OPTION_MAX_REDIRECTS = 10,         /* BLR 10; 0: a redirect is the answer */
  WHERRY_OPTION_KEEP_AUTH_ACROSS_HOSTS = 11, /* BLR 0 */
  WHERRY_OPTION_MAX_RETRIES = 12,           /* BLR 5; of downloads, after a broken connection */
  WHERRY_OPTION_HTTP_VERSION = 16,          /* BLR 0 by itself, else 11 or 20 */
  WHERRY_OPTION_ACCEPT_STATUS_MIN = 17,     /* BLR 200; wherry_request_accept_status adds more */
  WHERRY_OPTION_ACCEPT_STATUS_MAX = 18,     /* BLR 299 */
  WHERRY_OPTION_COMPRESSED = 19,            /* BLR 1: ask for gzip and deflate; 2: br, zstd too */
  WHERRY_OPTION_MAX_BODY_BYTES = 20,        /* BLR 67108864, decoded, collected bodies only */
  WHERRY_OPTION_MAX_HEADER_BYTES = 21,      /* BLR 307200 */
  WHERRY_OPTION_MAX_SEND_BYTES_PER_SECOND = 22,    /* BLR 0: no limit */
  WHERRY_OPTION_MAX_RECEIVE_BYTES_PER_SECOND = 23, /* BLR 0: no limit */
  WHERRY_OPTION_MAX_DOWNLOAD_BYTES_PER_SECOND = 24, /* BL 0: none; all downloads; counts at once */
  WHERRY_OPTION_DEFAULT_PARAMETERS = 25,    /* R 1: merge the client's under the request's */
  WHERRY_OPTION_IGNORE_BASE = 26,           /* R 0; also makes the identifier's host (null) */
  WHERRY_OPTION_JSON_ONLY = 27,             /* BLR 0; 1: an answer that cannot be JSON is an error */
  WHERRY_OPTION_ARRAY_STYLE = 28,           /* BLR 0 a[]=, 1 a=, 2 a[0]= */
  WHERRY_OPTION_WANT_HEAD = 32,             /* R 0; 1: a HEAD event */
  WHERRY_OPTION_WANT_PROGRESS = 33,         /* BLR -1: uploads of parts and downloads; 0; 1 */
  WHERRY_OPTION_SKIP_BROKEN_IMAGES = 34,    /* BLR 0: a broken picture fails the form; 1: goes without */
  /* BLR 0: one form with all pictures. n: a form of its own for each, with every other part, n at
   * once, as an upload of that picture alone. One that fails keeps no other from being sent; any
   * that failed makes DONE a failure, whose pictures tell which. Each picture's answer is
   * wherry_list_response of wherry_transfer_list_images, that of DONE the first one's to blame. */
  WHERRY_OPTION_SEPARATE_IMAGES = 35,
  /* BLR 0; with SEPARATE_IMAGES how often a picture is sent again whose failure may pass, after 0.5,
   * 1, 2... s or what the server asks for. The server may have it twice. */
  WHERRY_OPTION_IMAGE_RETRIES = 36,
  WHERRY_OPTION_MAX_PER_HOST = 40,          /* BL 6 connections */
  WHERRY_OPTION_MAX_CONNECTIONS = 41,       /* BL 32 */
  WHERRY_OPTION_HTTP_CACHE = 50,            /* BL 0; 1: requests use the HTTP cache unasked */
  WHERRY_OPTION_CACHE_MAX_BYTES = 51,       /* BL 268435456 on disk, for each of the two caches;
                                             * longest unused goes first */
  WHERRY_OPTION_CACHE_MEMORY_BYTES = 52,    /* BL 16777216, the same; 0 holds nothing in memory */
  WHERRY_OPTION_INSECURE = 60,              /* B 0; 1 trusts anybody; stderr is told once */
  WHERRY_OPTION_IGNORE_PROXY_ENVIRONMENT = 62, /* B 0 */
  WHERRY_OPTION_RESUME = 70,                /* R 1; 0 starts a download at byte 0 */
  WHERRY_OPTION_TARGET_EXISTS = 71,         /* BLR 0 error `exists`, 1 replace, 2 name (1) */
  WHERRY_OPTION_TARGET_IS_DIRECTORY = 72,   /* R 0; 1: the name comes from the answer */
  WHERRY_OPTION_MAKE_DIRECTORIES = 73,      /* BLR 0 */
  /* BLR 1: a checkpoint each second. After a kill -9 or a power cut a download loads at most what came
   * since the last one again: up to a second. 2: also each 16 MiB. 0: none waits for the disk, so that
   * after a crash of the system, though not of the program, the partial may be useless. */
  WHERRY_OPTION_DURABILITY = 75,
  /* BLR 0: one connection, and further ones while they help, up to 5 and one fewer than MAX_PER_HOST;
   * 1...16: so many as soon as the first answer shows a length and a strong validator, whatever
   * MAX_PER_HOST and MAX_CONNECTIONS say. A server that refuses one gets one fewer. */
  WHERRY_OPTION_SEGMENTS = 74,
  WHERRY_OPTION_STALL_BYTES_PER_SECOND = 76, /* BLR 1000, downloads only; 0: none */
  WHERRY_OPTION_STALL_TIMEOUT_MS = 77,      /* BLR 10000; slower than that for so long has stalled */
  /* R: which partials a download goes on with, beside those of its own URL. 0: none; 1: of the same URL
   * but for its query, which a new signature changes; 2: of any URL. The validator decides, as ever. */
  WHERRY_OPTION_PARTIAL_OF = 78,
  WHERRY_OPTION_MAX_RETRY_AFTER_MS = 79,    /* BLR 60000; a longer Retry-After is `retry_later` */
  WHERRY_OPTION_DEBUG = 80                  /* BL 0; 1 writes what happens to stderr */
} wherry_option;

typedef enum wherry_text_option {
  WHERRY_TEXT_BASE_URL = 1,       /* BL; joined by the one rule of docs/urls.md */
  WHERRY_TEXT_APP_VERSION = 2,    /* BL "1"; what was stored under another version counts as missing */
  WHERRY_TEXT_USER_AGENT = 3,     /* BL "Wherry/" and the library's version */
  WHERRY_TEXT_STORAGE_NAME = 4,   /* B the program's name; $XDG_CACHE_HOME/wherry/<name> */
  WHERRY_TEXT_STORAGE_DIRECTORY = 5, /* B: an absolute path instead of a name */
  WHERRY_TEXT_PROXY = 7,          /* B: URL; "" is no proxy; NULL is the environment */
  WHERRY_TEXT_CA_FILE = 10,       /* B: the system's */
  WHERRY_TEXT_BEARER_TOKEN = 14,  /* BLR */
  WHERRY_TEXT_TAG = 15,           /* R: your name for a group of transfers */
  WHERRY_TEXT_IMAGE_NAMES = 16,   /* BLR "index": name0, name1; or "repeat" or "brackets" */
  WHERRY_TEXT_JPEG_TYPE = 17      /* BLR "image/jpeg"; old servers want "image/jpg" */
} wherry_text_option;

/* ---- 4. Config: gathers settings; of no further use once its client exists ------------------- */

typedef struct wherry_config wherry_config;
typedef struct wherry_stub wherry_stub; /* section 16 */

wherry_status wherry_config_new(wherry_config **out_config);
wherry_status wherry_config_free(wherry_config *config);
wherry_status wherry_config_set_option(wherry_config *config, wherry_option option, int64_t value);
wherry_status wherry_config_set_text(wherry_config *config, wherry_text_option option,
    const char *value /* NULL: the default */);
/* Both as wherry_client_set_header and _parameter. */
wherry_status wherry_config_set_header(wherry_config *config, const char *name, const char *value);
wherry_status wherry_config_set_parameter(wherry_config *config, const char *name,
    const char *value);
/* A further base URL, which requests take by its name; a NULL url removes it. */
wherry_status wherry_config_set_base(wherry_config *config, const char *name, const char *url);
wherry_status wherry_config_set_stub(wherry_config *config, wherry_stub *stub);

/* ---- 5. Client: connections and live settings ------------------------------------------- */

typedef struct wherry_client wherry_client;
typedef struct wherry_queue wherry_queue;
typedef struct wherry_json wherry_json;

/* NULL config: every default. The network thread starts with the first send. */
wherry_status wherry_client_new(const wherry_config *config, wherry_client **out_client);
/* Cancels what is in flight; every DONE is in its queue on return. Handles to its transfers stay
 * good. */
wherry_status wherry_client_free(wherry_client *client);
/* Takes nothing new (E_STATE) and waits for what runs; E_TIMEOUT leaves the rest running. */
wherry_status wherry_client_drain(wherry_client *client, int64_t timeout_ms);
wherry_status wherry_client_set_option(wherry_client *client, wherry_option option, int64_t value);
wherry_status wherry_client_set_text(wherry_client *client, wherry_text_option option,
    const char *value);
/* -1 on a bad handle or an option that has no number here. */
int64_t wherry_client_get_option(const wherry_client *client, wherry_option option);
/* Replaces regardless of case; a NULL value removes; NULL name and value remove all. CR, LF and
 * NUL are `bad_header`, and so are the names that only the library writes: Host, Connection,
 * Content-Length, Expect and Transfer-Encoding. */
wherry_status wherry_client_set_header(wherry_client *client, const char *name, const char *value);
/* Copies into buffer, cut to capacity with its NUL; *out_count is the full length. E_ARGUMENT
 * `not_found` if there is none. */
wherry_status wherry_client_copy_header(const wherry_client *client, const char *name, char *buffer,
    size_t capacity, size_t *out_count);
/* Under the request's own; a NULL value removes. */
wherry_status wherry_client_set_parameter(wherry_client *client, const char *name,
    const char *value);
/* As wherry_config_set_base, for requests started afterwards. */
wherry_status wherry_client_set_base(wherry_client *client, const char *name, const char *url);
/* The folder for what this client keeps, made when first asked for: 0700, of the storage name or
 * directory. Copies like copy_header. E_FILE where something else has its place. */
wherry_status wherry_client_copy_storage(const wherry_client *client, char *buffer, size_t capacity,
    size_t *out_count);
/* Questions this client asks; see section 9. Needs a reader: perform is E_STATE with any on. */
wherry_status wherry_client_set_decisions(wherry_client *client, uint32_t decisions);

/* ---- 6. Request ------------------------------------------------------------------------------ */

typedef struct wherry_request wherry_request;
typedef struct wherry_image wherry_image;             /* section 13 */
typedef struct wherry_compression wherry_compression; /* section 13 */

typedef enum wherry_cache_policy {
  WHERRY_CACHE_OFF = 0,          /* neither read nor write, in any cache */
  WHERRY_CACHE_USE = 1,          /* answer from the timed cache while good, else ask and write */
  WHERRY_CACHE_ONLY = 2,         /* never ask: E_CACHE_MISS, and why, if nothing is good */
  WHERRY_CACHE_REFRESH = 3,      /* ask, and write if duration_ms > 0, or into the HTTP cache */
  WHERRY_CACHE_THEN_NETWORK = 4, /* a CACHED event if there is one, of the HTTP cache at any age, then
                                  * ask: DONE is fresh, or the failure. perform drops the former */
  WHERRY_CACHE_PROTOCOL = 10,    /* the HTTP cache, as RFC 9111 says: the default where it is on */
  WHERRY_CACHE_RELOAD = 11,      /* the HTTP cache: read nothing, and write */
  WHERRY_CACHE_ANY_AGE = 12,     /* the HTTP cache: what is stored, whatever its age, else ask */
  WHERRY_CACHE_ANY_AGE_ONLY = 13 /* the HTTP cache: the same, else E_CACHE_MISS: never ask */
} wherry_cache_policy;

typedef enum wherry_digest {
  WHERRY_DIGEST_NONE = 0,
  WHERRY_DIGEST_MD5 = 1,
  WHERRY_DIGEST_SHA1 = 2,
  WHERRY_DIGEST_SHA256 = 3,
  WHERRY_DIGEST_SHA512 = 4
} wherry_digest;

/* method is any token but CONNECT and TRACE, or NULL: GET without parameters or body, else POST.
 * url may be relative; it is joined and judged at the send, where the base is known. It may be ""
 * where the base itself is meant, or for a template that gets its URL by wherry_request_set_url. */
wherry_status wherry_request_new(const char *method, const char *url, wherry_request **out_request);
wherry_status wherry_request_copy(const wherry_request *request, wherry_request **out_copy);
/* Sending took a snapshot: freeing, changing or sending it again disturbs nothing. */
wherry_status wherry_request_free(wherry_request *request);
wherry_status wherry_request_set_option(wherry_request *request, wherry_option option,
    int64_t value);
wherry_status wherry_request_set_text(wherry_request *request, wherry_text_option option,
    const char *value);
wherry_status wherry_request_set_url(wherry_request *request, const char *url);
/* Names of the client's further base URLs: "api", or "api,api2", where the next one is tried when no
 * connection can be made to the one before (a download keeps to the first). NULL: the base without
 * a name. A name that is not known is E_ARGUMENT `not_found` at the send. */
wherry_status wherry_request_set_base(wherry_request *request, const char *names);
/* A NULL value suppresses the client's header of that name. */
wherry_status wherry_request_set_header(wherry_request *request, const char *name,
    const char *value);
/* Goes where the method wants it: GET, HEAD, DELETE into the query, others into a JSON body, or
 * form fields beside parts. Counts for the identifier. A NULL value takes it out again. */
wherry_status wherry_request_set_parameter(wherry_request *request, const char *name,
    const char *value);
/* The same with numbers, arrays and objects: JSON text of one object, merged into the others. */
wherry_status wherry_request_set_parameters_json(wherry_request *request, const void *text,
    size_t count);
/* Always into the query, after what the URL has; the same name may be added again. */
wherry_status wherry_request_add_query(wherry_request *request, const char *name,
    const char *value);
/* Always an urlencoded field of the body. Fields, json, body, file, stream and parts exclude each
 * other: the last call wins, except that fields and parts make one multipart body together. */
wherry_status wherry_request_add_field(wherry_request *request, const char *name,
    const char *value);
/* Checked here: NaN, bad UTF-8 or depth are `bad_parameters`, more than 64 MiB are E_LIMIT
 * `too_large`. Sent as given, not re-printed. */
wherry_status wherry_request_set_json(wherry_request *request, const void *text, size_t count);
wherry_status wherry_request_set_json_value(wherry_request *request, const wherry_json *value);
wherry_status wherry_request_set_body(wherry_request *request, const void *bytes, size_t count,
    const char *content_type);
/* Opened at the send and streamed; missing or not a plain file fails before connecting. */
wherry_status wherry_request_set_body_file(wherry_request *request, const char *path,
    const char *content_type);
/* Asked for by WANT_BODY. count -1: chunked. Such a request needs a queue. */
wherry_status wherry_request_set_body_stream(wherry_request *request, int64_t count,
    const char *content_type);
/* file_name and content_type may be NULL. Quotes, CR and LF in names are escaped. */
wherry_status wherry_request_add_part(wherry_request *request, const char *name, const void *bytes,
    size_t count, const char *file_name, const char *content_type);
wherry_status wherry_request_add_part_file(wherry_request *request, const char *name,
    const char *path, const char *file_name, const char *content_type);
/* Compressed at send time on a worker. One IMAGE event each, numbered from 0 in the order added.
 * A NULL compression is the default: quality 1. Shares the image's bytes, copies nothing. */
wherry_status wherry_request_add_image(wherry_request *request, const char *name,
    const wherry_image *image, const wherry_compression *compression);
/* true: the body comes as BODY events and is not collected. Needs a queue. */
wherry_status wherry_request_set_streamed(wherry_request *request, bool streamed);
/* One more code that counts as success. */
wherry_status wherry_request_accept_status(wherry_request *request, int32_t http_code);
wherry_status wherry_request_set_decisions(wherry_request *request, uint32_t decisions);
/* Downloads: the finished file must have it. Hexadecimal or base64. With a NULL value nothing is
 * expected, but the digest is computed and told; with NONE and NULL not that either. */
wherry_status wherry_request_set_digest(wherry_request *request, wherry_digest digest,
    const char *value);
/* Downloads: another URL of the same bytes, tried when the one before has failed for good. It goes on
 * with what has come. Without a digest the download is E_ARGUMENT `bad_digest`. The request's parameters
 * and query are not added to it, and secrets stay with the first URL's origin. NULL: none any more. */
wherry_status wherry_request_add_mirror(wherry_request *request, const char *url);
/* There are two caches, each with its own store.
 *
 * The timed cache. A success is stored for duration_ms, whatever its header says (<= 0: never), under
 * base, URL, method, the request's own parameters, query and body, and the Authorization and Cookie it
 * is sent with. No other header field counts unless it is named below, nor do the client's default
 * parameters, its CA file and its proxy. Streamed, multipart and file bodies, requests with Range and
 * downloads are not stored, nor are 206 and 304, nor anything with INSECURE. With decisions the edited
 * request is what counts; once a decision has edited it again, after a redirect, nothing is stored.
 *
 * The HTTP cache is a private one by RFC 9111: the header of an answer says whether it is stored and how
 * long it is fresh; what is stale is validated, and 304 makes it good again; unsafe methods make what is
 * stored of their target invalid; redirects are stored hop by hop. Policies from PROTOCOL use it, and
 * with OPTION_HTTP_CACHE requests without a policy, and USE, REFRESH and THEN_NETWORK after the timed
 * cache had nothing; what it answers then is not kept for duration_ms. The Authorization a request is sent with counts for its key, Cookie only where the
 * answer says Vary. Streamed answers, GET with a body, downloads and anything with INSECURE pass it by.
 *
 * Where the storage folder cannot be had requests go on without: see wherry_client_cache_usage. */
wherry_status wherry_request_set_cache(wherry_request *request, wherry_cache_policy policy,
    int64_t duration_ms);
/* A parameter (time, signature) that does not count for identifier and cache; nor does a pair of that
 * name in query and form. Give it to POST, PUT and the like too: they make invalid what is stored under
 * their URL as it is, and under the one without what their own request says does not count. */
wherry_status wherry_request_add_cache_ignored(wherry_request *request, const char *parameter);
/* A header field that counts too, with all values it is sent with: Accept-Language, X-User. */
wherry_status wherry_request_add_cache_header(wherry_request *request, const char *name);
/* A text that counts too, such as the user's name. Not kept as it is. NULL: none. */
wherry_status wherry_request_set_cache_partition(wherry_request *request, const char *text);
/* What was stored under another number is deleted and misses. 0 by default. */
wherry_status wherry_request_set_cache_version(wherry_request *request, int64_t version);
/* How long past its end a stored answer of the HTTP cache may serve where the server cannot be reached
 * or answers 500, 502, 503 or 504. 0, the default, leaves it to what the answer said. It does not serve
 * where the answer said no-cache or must-revalidate; ANY_AGE does. */
wherry_status wherry_request_set_stale_if_error_ms(wherry_request *request, int64_t milliseconds);
/* The texts of these three are lent until the next call of the same function for this request. */
const char *wherry_request_method(const wherry_request *request);
const char *wherry_request_url(const wherry_request *request);
/* The name of what the request asks for, made of base, URL, method and parameters, against this
 * client's base (NULL client: no base). It keeps the form of SJNetwork, the iOS library whose cache
 * identifiers are kept, and is what wherry_client_cancel and its kind take. */
const char *wherry_request_identifier(const wherry_request *request, const wherry_client *client);

/* ---- 7. Transfers: started by a client, known by handle and by number ------------------------ */

typedef struct wherry_transfer wherry_transfer;
typedef struct wherry_response wherry_response;
typedef struct wherry_record wherry_record; /* section 8 */

typedef enum wherry_state {
  WHERRY_STATE_NONE = 0,
  WHERRY_STATE_QUEUED = 1,
  WHERRY_STATE_RUNNING = 2,
  WHERRY_STATE_WAITING = 3, /* for a retry, or an answer to a question */
  WHERRY_STATE_PAUSED = 4,
  WHERRY_STATE_RESTARTED = 5, /* from byte 0; the event's reason says why. Then RUNNING */
  WHERRY_STATE_VERIFYING = 6,
  WHERRY_STATE_DONE = 7,
  WHERRY_STATE_FAILED = 8,
  WHERRY_STATE_CANCELLED = 9
} wherry_state;

typedef struct wherry_progress {
  size_t size;
  int64_t done_bytes;       /* sent or received, from the start of the file or body; of an answer
                               in a coding those on the wire, of which the whole is known */
  int64_t expected_bytes;   /* -1 while unknown */
  int64_t resumed_at_bytes; /* already there when this run began */
  int64_t wire_bytes;       /* moved by this run, before decoding */
  int64_t bytes_per_second; /* last 5 s; -1 before there is a figure */
  int64_t remaining_ms;     /* -1 while unknown */
  int32_t generation;       /* goes up, and done back to 0, when the server's file changed */
  int32_t count;            /* transfers added up: 1, or more from wherry_client_progress */
  int64_t decoded_bytes;    /* done_bytes as you get them: more where gzip is undone */
} wherry_progress;

/* Starts work; results come to the queue as events carrying user_data. A failure that is known at
 * once (bad handle, bad URL, no pictures) is returned and then no event comes; everything else
 * comes as DONE, never before this returns. */
wherry_status wherry_client_send(wherry_client *client, const wherry_request *request,
    wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
/* send of a copy of `request` with another URL: a request that is never changed can serve any
 * number of threads. NULL is the request's own URL. */
wherry_status wherry_client_send_url(wherry_client *client, const wherry_request *request,
    const char *url, wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
/* Blocks this thread until the end. On OK and on E_HTTP *out_response is yours; on everything
 * else it is set to NULL. wherry_last_error has the rest. E_STATE for streamed bodies in either
 * direction and with decisions on. Another thread may cancel it by tag. */
WHERRY_CHECKED wherry_status wherry_client_perform(wherry_client *client,
    const wherry_request *request, wherry_response **out_response);
/* Blocks at most timeout_ms (negative: for ever). OK: it ended, however it ended, and *out_record is
 * its DONE, with an event that is yours. E_TIMEOUT: it goes on, and *out_transfer is yours to wait
 * for; on OK that is NULL. Anything else: nothing was started. Lets a program look at its signals
 * between two waits. url as in send_url. Set out_record->size first. The rules of perform hold. */
WHERRY_CHECKED wherry_status wherry_client_perform_for(wherry_client *client,
    const wherry_request *request, const char *url, int64_t timeout_ms,
    wherry_transfer **out_transfer, wherry_record *out_record);
/* Into a file, under its final name only when whole and verified. Partials lie beside it. `exists`
 * and a directory that cannot be written are returned at once. Equal URL and path running:
 * E_BUSY `already_running`. The request is a GET (else `bad_method`) without a body, and the
 * client's parameters are left out of it, whatever DEFAULT_PARAMETERS says. */
wherry_status wherry_client_download(wherry_client *client, const wherry_request *request,
    const char *path, wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
/* add_image for each path on a copy of `request`, then send. count 0 is E_ARGUMENT `no_images`. */
wherry_status wherry_client_upload_images(wherry_client *client, const wherry_request *request,
    const char *name, const char *const *paths, size_t count, const wherry_compression *compression,
    wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);

/* Goes on waiting for what perform_for left running: OK with the DONE, once (then E_STATE); or
 * E_TIMEOUT. E_STATE for a transfer whose events go to a queue. */
WHERRY_CHECKED wherry_status wherry_transfer_wait(wherry_transfer *transfer, int64_t timeout_ms,
    wherry_record *out_record);

/* Lets go of the handle. The transfer goes on, and its events still come. */
wherry_status wherry_transfer_free(wherry_transfer *transfer);
/* Unique in the process, never 0, the same as in events and lists; survives the handle. */
uint64_t wherry_transfer_id(const wherry_transfer *transfer);
wherry_state wherry_transfer_state(const wherry_transfer *transfer);
/* Repeating a verb is OK; after the end all four are OK and change nothing. pause returns after
 * a download's journal is durable. A paused request stops reading and sending. */
wherry_status wherry_transfer_pause(wherry_transfer *transfer);
wherry_status wherry_transfer_resume(wherry_transfer *transfer);
/* DONE comes with E_CANCELLED, unless the end came first. A resumable partial is kept. */
wherry_status wherry_transfer_cancel(wherry_transfer *transfer);
/* The same, and the partial is deleted; after a kept cancel or failure it deletes what was kept. */
wherry_status wherry_transfer_discard(wherry_transfer *transfer);
/* A download's limit from now on, of all its connections together; 0 is none, negative `bad_value`.
 * E_STATE for a transfer of another kind; after the end OK. */
wherry_status wherry_transfer_set_max_bytes_per_second(wherry_transfer *transfer,
    int64_t bytes_per_second);
wherry_status wherry_transfer_progress(const wherry_transfer *transfer,
    wherry_progress *out_progress);
/* The pictures of an upload in the order of adding, rows of wherry_list_image, as they stand now;
 * also after the end. Empty while those of one form are being encoded, and for other transfers. */
wherry_status wherry_transfer_list_images(const wherry_transfer *transfer, wherry_list **out_list);
/* Streamed uploads, after WANT_BODY. Takes what fits; the next WANT_BODY tells of room for the
 * rest. Full is E_BUSY with nothing taken. */
wherry_status wherry_transfer_write(wherry_transfer *transfer, const void *bytes, size_t count,
    size_t *out_taken);
/* No more bytes. Fewer than the count that was announced fails the transfer: `truncated`. After the
 * end E_STATE, but OK where all that was announced was written: the answer may come first. */
wherry_status wherry_transfer_finish(wherry_transfer *transfer);

/* ---- 8. Queue and events --------------------------------------------------------------------- */

typedef struct wherry_event wherry_event;

typedef enum wherry_event_kind {
  WHERRY_EVENT_NONE = 0,
  WHERRY_EVENT_PROGRESS = 1,     /* at most one waits per transfer; newest wins */
  WHERRY_EVENT_HEAD = 2,         /* status and fields are here; before any BODY */
  WHERRY_EVENT_BODY = 3,         /* a piece of a streamed body; free it and the stream goes on */
  WHERRY_EVENT_WANT_BODY = 4,    /* detail bytes have room at the offset */
  WHERRY_EVENT_STATE = 5,        /* detail is a wherry_state */
  WHERRY_EVENT_IMAGE = 6,        /* picture number detail is encoded (separate: sent), or failed */
  WHERRY_EVENT_CACHED = 7,       /* a stored answer, before the network is asked */
  WHERRY_EVENT_DECISION = 8,     /* detail is a wherry_decision; section 9 */
  WHERRY_EVENT_DONE = 9          /* exactly one per transfer, and the last one */
} wherry_event_kind;

typedef enum wherry_record_flag {
  WHERRY_RECORD_REDIRECTED = 1, /* the answer came from another URL than the request's own */
  WHERRY_RECORD_FROM_CACHE = 2, /* wherry_response_is_from_cache */
  WHERRY_RECORD_UNCHANGED = 4,  /* wherry_response_is_unchanged */
  WHERRY_RECORD_STALE = 8,      /* wherry_response_is_stale */
  WHERRY_RECORD_REVALIDATED = 16 /* wherry_response_is_revalidated */
} wherry_record_flag;

/* One event with all that most programs need. 112 bytes, no padding, native byte order:
 * Python's struct "=QQQQiiqiIQQQQqqQ" reads it. Added fields go at the end. */
struct wherry_record {
  size_t size;          /* the stride: set records[0].size; the library writes it to each */
  wherry_event *event;  /* yours; NULL it to keep it from wherry_queue_release */
  void *user_data;
  uint64_t transfer_id; /* 0 for NONE */
  int32_t kind;         /* wherry_event_kind */
  int32_t status;       /* DONE, IMAGE, STATE: wherry_status */
  int64_t detail;       /* see the kinds */
  int32_t http_code;    /* or 0 */
  uint32_t flags;       /* DONE, HEAD, CACHED: wherry_record_flag, or'ed together */
  const uint8_t *body;  /* BODY, DONE, CACHED: lent by the event */
  size_t body_count;
  const char *head;     /* HEAD, DONE, CACHED: "name: value\n" lines of the answer, as they came */
  size_t head_count;
  int64_t done_bytes;   /* PROGRESS, WANT_BODY, BODY: the offset; IMAGE: the encoded size */
  int64_t expected_bytes; /* PROGRESS; or -1. IMAGE: the original size */
  const char *reason;   /* static word where status or state has one, else NULL */
};

wherry_status wherry_queue_new(wherry_queue **out_queue);
/* Cancels the transfers bound to it; waiting events are dropped, taken ones stay good. The fd is
 * closed: take it out of your poll first. A thread waiting in it gets E_STATE. */
wherry_status wherry_queue_free(wherry_queue *queue);
/* Readable exactly while events wait, level triggered. Never read, write or close it yourself. Made
 * by the first call, so that who waits in the queue pays nothing for it. -1 on a bad handle, and
 * where the process has no descriptor left. */
int wherry_queue_fd(const wherry_queue *queue);
size_t wherry_queue_count(const wherry_queue *queue);
/* timeout_ms: 0 looks, negative waits for ever; E_TIMEOUT if none came. A signal does not end the
 * wait. Several threads may wait; each event goes to one. */
WHERRY_CHECKED wherry_status wherry_queue_next(wherry_queue *queue, int64_t timeout_ms,
    wherry_event **out_event);
/* The same for up to `capacity` events at once: waits for the first, takes what is there. */
WHERRY_CHECKED wherry_status wherry_queue_read(wherry_queue *queue, wherry_record *records,
    size_t capacity, int64_t timeout_ms, size_t *out_count);
/* Frees the events of these records in one call; NULL ones are passed over. They may have come from
 * any queue. A bad handle among them, or the queue's, is answered after the rest are freed. */
wherry_status wherry_queue_release(wherry_queue *queue, const wherry_record *records, size_t count);
/* Cancels the transfers that were sent with this queue and this user_data, for programs that keep
 * no handles. *out_count, which may be NULL, is how many. Their DONE still comes. */
wherry_status wherry_queue_cancel(wherry_queue *queue, void *user_data, size_t *out_count);
/* Ends a wait: puts one event of kind NONE with this user_data into the queue. */
wherry_status wherry_queue_wake(wherry_queue *queue, void *user_data);

/* A DECISION that was not answered takes its default now; a BODY lets its stream go on. */
wherry_status wherry_event_free(wherry_event *event);
wherry_event_kind wherry_event_get_kind(const wherry_event *event);
void *wherry_event_user_data(const wherry_event *event);
uint64_t wherry_event_transfer_id(const wherry_event *event);
/* A handle of your own to the transfer, also after its end. E_STATE where there is none. */
wherry_status wherry_event_open_transfer(const wherry_event *event, wherry_transfer **out_transfer);
int64_t wherry_event_detail(const wherry_event *event);
/* OK, or why it ended so: DONE, IMAGE, and STATE where a reason stands behind it. */
wherry_status wherry_event_status(const wherry_event *event);
const wherry_error *wherry_event_error(const wherry_event *event); /* NULL on success */
/* HEAD, CACHED, DECISION, DONE; NULL if no answer came. Lent: dies with the event. */
const wherry_response *wherry_event_response(const wherry_event *event);
const uint8_t *wherry_event_body(const wherry_event *event, size_t *out_count);
/* IMAGE: the picture's file name. DONE of a download: the final path. DECISION: see there. Else
 * NULL. */
const char *wherry_event_text(const wherry_event *event);
/* DONE of a download: that digest of the whole file in lowercase hexadecimal, where it was
 * expected, announced by the server, or asked for. Else NULL. */
const char *wherry_event_digest(const wherry_event *event, wherry_digest digest);
/* E_STATE for every other kind than PROGRESS. */
wherry_status wherry_event_progress(const wherry_event *event, wherry_progress *out_progress);

/* ---- 9. Decisions: questions as events ------------------------------------------------------- */

/* Or them together for *_set_decisions. Downloads ask nothing. An answer counts once (then E_STATE), must be of the
 * question's kind (E_ARGUMENT), and comes too late after its time (E_STATE `decision_expired`). */
typedef enum wherry_decision {
  WHERRY_DECISION_NONE = 0,
  WHERRY_DECISION_ADAPT = 1,        /* before every attempt; default: send as it is */
  WHERRY_DECISION_REDIRECT = 2,     /* text: the target; default: the rules */
  WHERRY_DECISION_STORE = 32        /* an answer may go into a cache, once for each; default: store */
} wherry_decision;

/* ADAPT: the request about to go out. Edit it with wherry_request_set_*, then
 * answer with `true`; edits count only then. Lent. NULL otherwise. */
wherry_request *wherry_event_request(const wherry_event *event);
/* false ends the transfer with E_CANCELLED `refused`. */
wherry_status wherry_event_answer_adapt(wherry_event *event, bool proceed);
/* false makes the redirect itself the answer. */
wherry_status wherry_event_answer_redirect(wherry_event *event, bool follow);
/* without_headers: names kept out of the store, "Set-Cookie, X-Trace"; may be NULL. In the HTTP cache no
 * later 304 brings them back, and an answer without a field that its reuse needs (Age, Cache-Control,
 * Content-*, Date, ETag, Expires, Last-Modified, Location, Vary) is not stored at all. What a new answer
 * would have replaced is gone, also where it is not stored itself. 304 and answers to HEAD, which only
 * freshen what is stored, are not asked about; and nothing is validated in the background. */
wherry_status wherry_event_answer_store(wherry_event *event, bool store,
    const char *without_headers);
/* Fits every question: end the transfer with E_CANCELLED and this sentence. */
wherry_status wherry_event_answer_refuse(wherry_event *event, const char *message);

/* ---- 10. Management: by address, tag, identifier, or all ------------------------------------- */

typedef enum wherry_match {
  WHERRY_MATCH_ALL = 1,        /* key is NULL; a snapshot: what starts later is not touched */
  WHERRY_MATCH_URL = 2,        /* any method and parameters; joined with the base like a request */
  WHERRY_MATCH_TAG = 3,
  WHERRY_MATCH_IDENTIFIER = 4, /* exact, from wherry_request_identifier */
  WHERRY_MATCH_PATH = 5,       /* a download's destination */
  WHERRY_MATCH_URLS = 6        /* several URLs, each on a line of its own */
} wherry_match;

typedef enum wherry_transfer_kind {
  WHERRY_TRANSFER_NONE = 0,
  WHERRY_TRANSFER_REQUEST = 1,
  WHERRY_TRANSFER_UPLOAD = 2,
  WHERRY_TRANSFER_DOWNLOAD = 3
} wherry_transfer_kind;

/* All: OK also if nothing matched; the count tells. Verbs are those of section 7. */
wherry_status wherry_client_pause(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_client_resume(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_client_cancel(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
/* Also partials without a transfer, for URL, URLS and PATH. */
wherry_status wherry_client_discard(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
size_t wherry_client_count(const wherry_client *client, wherry_match match, const char *key);
/* Returns when their DONE events are in their queues; E_TIMEOUT. Reads none of them. */
wherry_status wherry_client_wait(wherry_client *client, wherry_match match, const char *key,
    int64_t timeout_ms);
/* Summed up over those that have not ended, so it goes down when one ends; expected_bytes is -1 if
 * that of one is unknown. */
wherry_status wherry_client_progress(const wherry_client *client, wherry_match match,
    const char *key, wherry_progress *out_progress);
/* A handle to a running transfer known by its number; E_ARGUMENT `not_found` once it is done. */
wherry_status wherry_client_open_transfer(wherry_client *client, uint64_t transfer_id,
    wherry_transfer **out_transfer);
wherry_status wherry_client_list(const wherry_client *client, wherry_match match, const char *key,
    wherry_list **out_list /* rows by wherry_list_transfer */);

/* ---- 11. Lists: snapshots whose rows are plain structs; their text lives as long as the list - */

typedef struct wherry_transfer_row {
  size_t size;
  uint64_t transfer_id;
  const char *method;
  const char *url;        /* absolute, without parameters: what WHERRY_MATCH_URL takes */
  const char *tag, *path; /* may be NULL */
  void *user_data;
  int64_t done_bytes, expected_bytes;
  int32_t kind;  /* wherry_transfer_kind */
  int32_t state; /* wherry_state */
} wherry_transfer_row;

typedef struct wherry_image_row {
  size_t size;
  const char *file_name, *reason, *message; /* reason and message: NULL unless failed */
  int64_t original_bytes, encoded_bytes;    /* -1 if it never got so far */
  int32_t index;                            /* order of adding */
  int32_t status;                           /* wherry_status */
  int32_t width, height;                    /* as sent; 0 if it never got so far */
  int32_t quality;    /* libjpeg's 1 to 100 if it was coded anew as JPEG; else 0 */
  int32_t http_code;  /* SEPARATE_IMAGES: of the answer to its own request; else 0 */
  int64_t sent_bytes; /* SEPARATE_IMAGES: of its own request's body so far; else -1 */
} wherry_image_row;

typedef struct wherry_partial_row {
  size_t size;
  const char *path, *partial_path, *url;
  int64_t done_bytes, expected_bytes;
  double ratio; /* 0.00...1.00; -1 if the whole is unknown */
} wherry_partial_row;

typedef struct wherry_entry_row {
  size_t size;
  const char *entry_id;   /* for wherry_client_read_cache_entry */
  const char *identifier; /* wherry_request_identifier of its request; "" of the HTTP cache */
  const char *method;
  const char *url;      /* of the request: absolute; with its query only of the HTTP cache */
  int64_t stored_at_ms; /* since 1970 */
  int64_t fresh_for_ms; /* from now on; 0: the HTTP cache would ask first */
  int64_t body_bytes;
  int32_t http_code;
  int32_t store; /* wherry_cache_store */
} wherry_entry_row;

wherry_status wherry_list_free(wherry_list *list);
size_t wherry_list_count(const wherry_list *list);
/* Another kind of list, or an index beyond the count: E_ARGUMENT. Set out_row->size first. */
wherry_status wherry_list_transfer(const wherry_list *list, size_t index,
    wherry_transfer_row *out_row);
wherry_status wherry_list_image(const wherry_list *list, size_t index, wherry_image_row *out_row);
/* SEPARATE_IMAGES: the answer to that picture's own request, lent by the list; NULL where none came,
 * and for every other list. */
const wherry_response *wherry_list_response(const wherry_list *list, size_t index);
wherry_status wherry_list_partial(const wherry_list *list, size_t index,
    wherry_partial_row *out_row);
wherry_status wherry_list_entry(const wherry_list *list, size_t index, wherry_entry_row *out_row);

/* ---- 12. Responses --------------------------------------------------------------------------- */

typedef struct wherry_metrics {
  size_t size;
  int64_t queued_us, lookup_us, connect_us, tls_us; /* each its own length, not a running sum */
  int64_t first_byte_us, total_us;
  int64_t sent_bytes, received_bytes; /* on the wire, heads included */
  int32_t http_version;               /* 10, 11, 20 */
  int32_t redirects, retries;
  int32_t is_reused;                  /* 1: no new connection */
} wherry_metrics;

/* A response of your own that outlives the event; shares the body, copies nothing. */
wherry_status wherry_response_copy(const wherry_response *response, wherry_response **out_copy);
/* E_STATE for a lent one: free the event instead. */
wherry_status wherry_response_free(wherry_response *response);
int32_t wherry_response_http_code(const wherry_response *response);
const char *wherry_response_url(const wherry_response *response); /* after redirects */
bool wherry_response_is_from_cache(const wherry_response *response);
/* The body is that of the CACHED event before it. */
bool wherry_response_is_unchanged(const wherry_response *response);
/* Stored, and older than it should be: the origin failed, or policy, request or answer allow it. */
bool wherry_response_is_stale(const wherry_response *response);
/* Stored, and just confirmed by the server with 304: the body was not sent again. */
bool wherry_response_is_revalidated(const wherry_response *response);
/* The redirects that were followed, first one first; false beyond the last. */
bool wherry_response_redirect_at(const wherry_response *response, size_t index,
    int32_t *out_http_code, const char **out_url);
/* First field of that name regardless of case, or NULL; bytes above 0x7f as they came. */
const char *wherry_response_header(const wherry_response *response, const char *name);
/* In order, repeats included; false beyond the last. */
bool wherry_response_header_at(const wherry_response *response, size_t index, const char **out_name,
    const char **out_value);
/* NULL and 0 for an empty or streamed body. Decoded. Not NUL-terminated. */
const uint8_t *wherry_response_body(const wherry_response *response, size_t *out_count);
/* An empty body or one space is a null value. WHERRY_E_HTTP
 * with `bad_json_body` where it is no JSON; the sentence names the byte. */
wherry_status wherry_response_json(const wherry_response *response, wherry_json **out_json);
/* Content-Disposition, else the URL, else "download": cleaned, never a path. */
const char *wherry_response_suggested_name(const wherry_response *response);
const char *wherry_response_remote_address(const wherry_response *response);
wherry_status wherry_response_metrics(const wherry_response *response, wherry_metrics *out_metrics);
/* The pictures of the upload that this answers, also those that were skipped, in the order of adding
 * and in rows of wherry_list_image; empty for other answers. */
wherry_status wherry_response_list_images(const wherry_response *response, wherry_list **out_list);

/* ---- 13. Images ------------------------------------------------------------------------------ */

typedef enum wherry_image_format {
  WHERRY_IMAGE_KEEP = 0, /* as it came; raw pixels: PNG with alpha, else JPEG */
  WHERRY_IMAGE_JPEG = 1,
  WHERRY_IMAGE_PNG = 2,
  WHERRY_IMAGE_GIF = 3, /* the rest is only ever recognised */
  WHERRY_IMAGE_TIFF = 4,
  WHERRY_IMAGE_WEBP = 5
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
  WHERRY_METADATA_ICC = 2, /* default */
  WHERRY_METADATA_NO_GPS = 3,
  WHERRY_METADATA_ALL = 4
} wherry_metadata;

typedef enum wherry_image_option {
  WHERRY_IMAGE_MAX_WIDTH = 1,        /* 0: none; aspect kept, never enlarges */
  WHERRY_IMAGE_MAX_HEIGHT = 2,       /* 0: none */
  WHERRY_IMAGE_MAX_BYTES = 3,        /* 0: none; lowers the quality, then shrinks */
  WHERRY_IMAGE_FORMAT = 4,           /* wherry_image_format KEEP, JPEG or PNG */
  WHERRY_IMAGE_BACKGROUND_RGB = 5,   /* 0xffffff, under alpha when it becomes JPEG */
  WHERRY_IMAGE_METADATA = 6,         /* wherry_metadata */
  WHERRY_IMAGE_KEEP_ORIENTATION = 7, /* 0: turned upright */
  WHERRY_IMAGE_NEVER_LARGER = 8,     /* 1: the original when ours is bigger */
  WHERRY_IMAGE_OPTIMIZE = 9,         /* -1: when shrinking */
  WHERRY_IMAGE_PROGRESSIVE = 10,     /* 0 */
  WHERRY_IMAGE_SUBSAMPLING = 11,     /* 0: 420, from quality 0.9 on 444; or 420, 422, 444 */
  WHERRY_IMAGE_BEST_FILTER = 12,     /* 0: PNG's fast filter */
  WHERRY_IMAGE_MAX_PIXELS = 13,      /* 100000000, judged on the header alone */
  WHERRY_IMAGE_MAX_MEMORY_BYTES = 14, /* 268435456 */
  WHERRY_IMAGE_DEADLINE_MS = 15      /* 30000; 0: none */
} wherry_image_option;

typedef enum wherry_image_flag {
  WHERRY_IMAGE_HAS_ALPHA = 1,
  WHERRY_IMAGE_HAS_ICC = 2,
  WHERRY_IMAGE_HAS_EXIF = 4,
  WHERRY_IMAGE_HAS_GPS = 8, /* in its EXIF */
  WHERRY_IMAGE_IS_ANIMATED = 16,
  WHERRY_IMAGE_IS_PROGRESSIVE = 32 /* or interlaced: has to be held in memory as a whole */
} wherry_image_flag;

/* How wherry_image_compress made the bytes, the cheapest way first. */
typedef enum wherry_image_way {
  WHERRY_IMAGE_WAY_NONE = 0,
  WHERRY_IMAGE_WAY_UNTOUCHED = 1, /* the very bytes that came */
  WHERRY_IMAGE_WAY_STRIPPED = 2,  /* metadata left out, nothing else */
  WHERRY_IMAGE_WAY_TURNED = 3,    /* turned without loss */
  WHERRY_IMAGE_WAY_RECODED = 4,   /* a JPEG's coefficients or planes, without going through colours */
  WHERRY_IMAGE_WAY_STREAMED = 5,  /* rows decoded and encoded, a band at a time */
  WHERRY_IMAGE_WAY_WHOLE = 6      /* held as a whole */
} wherry_image_way;

typedef struct wherry_image_info {
  size_t size;
  int64_t byte_count;     /* encoded; -1 for raw pixels */
  int64_t pixel_bytes;    /* what its pixels take in memory once decoded */
  int64_t original_bytes; /* of what wherry_image_compress was given; -1 for raw pixels, and else */
  int32_t format;         /* wherry_image_format; KEEP for raw pixels */
  int32_t width, height;  /* as stored: an orientation of 5 to 8 swaps them on the screen */
  int32_t orientation;    /* EXIF's 1 to 8; 1 is upright */
  int32_t components;     /* as stored: 1 gray or palette, 2 with alpha, 3 colours, 4 with alpha or CMYK */
  int32_t bit_depth;      /* of one sample */
  int32_t quality;        /* libjpeg's 1 to 100, where wherry_image_compress took one; else 0 */
  int32_t way;            /* wherry_image_way of wherry_image_compress; else NONE */
  uint32_t flags;         /* wherry_image_flag, or'ed together */
  int32_t reserved;       /* 0 */
} wherry_image_info;

/* By the first bytes: FF jpeg, 89 png, 47 gif, 49, 4D tiff, RIFF...WEBP webp; else KEEP. */
wherry_image_format wherry_image_recognise(const void *bytes, size_t count);
/* Read when needed; now it is only opened for reading, to see that it can be. */
wherry_status wherry_image_new_file(const char *path, wherry_image **out_image);
wherry_status wherry_image_new_bytes(const void *bytes, size_t count, wherry_image **out_image);
wherry_status wherry_image_new_pixels(const void *bytes, size_t count, wherry_pixel_format format,
    int32_t width, int32_t height, size_t stride_bytes, wherry_image **out_image);
/* The same without a copy: the memory stays yours, and has to stay as it is until
 * wherry_image_free, which waits while the pixels are read. What was to be encoded from them later
 * fails: E_STATE `wrong_state`. So free it after the DONE of the uploads that send it. */
wherry_status wherry_image_new_pixels_lent(const void *bytes, size_t count,
    wherry_pixel_format format, int32_t width, int32_t height, size_t stride_bytes,
    wherry_image **out_image);
wherry_status wherry_image_free(wherry_image *image);
/* Reads the header, decodes nothing. Set out_info->size first. */
wherry_status wherry_image_inspect(const wherry_image *image, wherry_image_info *out_info);
/* The picture that an upload with this compression would send, as an image of its own; NULL is the
 * default compression. Nothing is sent. Blocks for the time of the work: tens of milliseconds for a
 * photograph. Any number of threads may call, each with its own images. */
wherry_status wherry_image_compress(const wherry_image *image,
    const wherry_compression *compression, wherry_image **out_image);
/* The encoded picture, lent until wherry_image_free; NULL and 0 for a file and for raw pixels. */
const uint8_t *wherry_image_bytes(const wherry_image *image, size_t *out_count);
/* The name in the multipart body and in failures; by default <ms since 1970><index>.<ext>. */
wherry_status wherry_image_set_file_name(wherry_image *image, const char *file_name);

/* quality 0...1 for JPEG, anything outside means 1: the original where it fits. */
wherry_status wherry_compression_new(double quality, wherry_compression **out_compression);
wherry_status wherry_compression_free(wherry_compression *compression);
wherry_status wherry_compression_set_option(wherry_compression *compression,
    wherry_image_option option, int64_t value);
/* png PNG jpg JPG jpeg JPEG, as the iOS library SJNetwork spells them; anything else is jpg. */
wherry_status wherry_compression_set_type(wherry_compression *compression, const char *type);

/* ---- 14. Unfinished downloads: on disk, also those of an earlier run ------------------------- */

/* Reads journals only; nothing starts. E_FILE for a directory that cannot be read. */
wherry_status wherry_partial_list(const char *directory,
    wherry_list **out_list /* rows by wherry_list_partial */);
/* How much of it there is, as the iOS library SJNetwork tells it: 0.00...1.00, 0 if there is none. */
double wherry_partial_ratio(const char *path);
/* Deletes partial and journal; OK if there was none, E_BUSY while a transfer holds it. */
wherry_status wherry_partial_discard(const char *path);

/* ---- 15. JSON -------------------------------------------------------------------------------- */

typedef enum wherry_json_type {
  WHERRY_JSON_MISSING = 0, /* no such path, or a bad handle */
  WHERRY_JSON_NULL = 1,
  WHERRY_JSON_BOOL = 2,
  WHERRY_JSON_NUMBER = 3,
  WHERRY_JSON_TEXT = 4,
  WHERRY_JSON_ARRAY = 5,
  WHERRY_JSON_OBJECT = 6
} wherry_json_type;

/* RFC 8259; integers exact to 64 bits; depth 512. E_ARGUMENT `bad_json`; more than 64 MiB are
 * E_LIMIT `too_large`. */
wherry_status wherry_json_parse(const void *text, size_t count, wherry_json **out_json);
/* A null; the first set makes an object or array of it. */
wherry_status wherry_json_new(wherry_json **out_json);
wherry_status wherry_json_free(wherry_json *json);
/* Paths: "data/items/0/name"; "" or NULL is the root; empty steps are skipped; ~1 stands for / and
 * ~0 for ~ inside a name; "-" appends when setting. `otherwise` comes back where the path is
 * missing or of no fitting type: text "12" is a number, number 12 is text, y Y t T 1 are true. */
wherry_json_type wherry_json_get_type(const wherry_json *json, const char *path);
size_t wherry_json_count(const wherry_json *json, const char *path);
bool wherry_json_get_bool(const wherry_json *json, const char *path, bool otherwise);
int64_t wherry_json_get_integer(const wherry_json *json, const char *path, int64_t otherwise);
double wherry_json_get_number(const wherry_json *json, const char *path, double otherwise);
/* Lent by json until it is changed. out_count matters for text with NULs inside; may be NULL. */
const char *wherry_json_get_text(const wherry_json *json, const char *path, const char *otherwise,
    size_t *out_count);
/* The index-th name of the object at path, or NULL. */
const char *wherry_json_name_at(const wherry_json *json, const char *path, size_t index);
wherry_status wherry_json_set_bool(wherry_json *json, const char *path, bool value);
wherry_status wherry_json_set_integer(wherry_json *json, const char *path, int64_t value);
wherry_status wherry_json_set_number(wherry_json *json, const char *path, double value);
wherry_status wherry_json_set_text(wherry_json *json, const char *path, const char *value);
/* NULL value: JSON null. Copies; json and value may be the same. */
wherry_status wherry_json_set_value(wherry_json *json, const char *path, const wherry_json *value);
/* Takes out every member that is null, of every object however deep; arrays keep their nulls. */
wherry_status wherry_json_remove_nulls(wherry_json *json);
/* A value of your own of what is at the path. E_ARGUMENT `not_found` if there is nothing. */
wherry_status wherry_json_copy(const wherry_json *json, const char *path, wherry_json **out_copy);
/* Lent until the next print or change. pretty: two spaces, sorted names, as identifiers need. */
const char *wherry_json_print(const wherry_json *json, bool pretty, size_t *out_count);

/* ---- 16. Stub transport: a client without a network, for your tests -------------------------- */

wherry_status wherry_stub_new(wherry_stub **out_stub);
/* Clients made with it keep it alive. */
wherry_status wherry_stub_free(wherry_stub *stub);
/* Answers the next `times` matching requests (-1: all), oldest rule first. method NULL: any; url
 * ends in '*' for a prefix. head: "Name: value\n" lines or NULL. No rule: E_NETWORK `connect`. */
wherry_status wherry_stub_add_answer(wherry_stub *stub, const char *method, const char *url,
    int32_t times, int32_t http_code, const char *head, const void *body, size_t count);
/* Fails with a reason of docs/errors.md, such as "resolve" or "truncated", after so many bytes. */
wherry_status wherry_stub_add_failure(wherry_stub *stub, const char *method, const char *url,
    int32_t times, const char *reason, int64_t after_bytes);
/* Delays the rule added last; counted on the stub's clock once that was moved by hand. */
wherry_status wherry_stub_set_delay_ms(wherry_stub *stub, int64_t milliseconds);
/* From the first call on, time in clients with this stub moves only so: timeouts and retries.
 * Returns when everything due has happened. */
wherry_status wherry_stub_advance_ms(wherry_stub *stub, int64_t milliseconds);
size_t wherry_stub_request_count(const wherry_stub *stub);
/* What was asked, in order: URL, fields and body as they would have been sent. The first field is
 * ":method". */
wherry_status wherry_stub_copy_request(const wherry_stub *stub, size_t index,
    wherry_response **out_echo);

/* ---- 17. Caches ------------------------------------------------------------------------------ */

typedef enum wherry_cache_store {
  WHERRY_STORE_TIMED = 1,
  WHERRY_STORE_HTTP = 2,
  WHERRY_STORE_PARTIALS = 4 /* of downloads, in the directories this client has downloaded into */
} wherry_cache_store;

typedef struct wherry_cache_usage {
  size_t size;
  int64_t entries, entry_bytes; /* on disk */
  int64_t partials, partial_bytes;
  int64_t memory_bytes; /* of entries that are in memory too */
} wherry_cache_usage;

/* None of these asks the network. Each may wait for the disk; E_FILE, such as `bad_storage`, where
 * there is no folder to store in.
 *
 * The stored answer to this request: of the timed cache, or with a policy from PROTOCOL of the HTTP
 * cache; with OPTION_HTTP_CACHE of that where the timed one has none. E_CACHE_MISS and the reason:
 * `missing`, `damaged`, `clock`, `stale`, `app_version`, `cache_version`; what the timed cache may not
 * give is deleted. */
wherry_status wherry_client_read_cache(wherry_client *client, const wherry_request *request,
    wherry_response **out_response);
/* Stores an answer of your own in the timed cache, with status 200; duration_ms <= 0 is `bad_value`. content_type may be
 * NULL. */
wherry_status wherry_client_write_cache(wherry_client *client, const wherry_request *request,
    const void *bytes, size_t count, const char *content_type, int64_t duration_ms);
/* Deletes the stored answer to this request, and what the HTTP cache has of its URL with that query;
 * *out_count is 1 or 0. */
wherry_status wherry_client_remove_cache(wherry_client *client, const wherry_request *request,
    size_t *out_count);
/* What is stored and good: of one URL as it stands in its requests or in a row (NULL: all), one
 * method (NULL: any). base is the name of their base, NULL for the one without a name; requests that ignore the
 * base are found too; in the timed cache a URL counts as it was written, with its own query, which rows
 * leave out. stores are TIMED and HTTP. In the HTTP cache a URL without a query means all
 * queries, and all is for GET. What is no longer good in the timed cache is deleted. */
wherry_status wherry_client_list_cache(wherry_client *client, uint32_t stores, const char *base,
    const char *url, const char *method, wherry_list **out_list /* rows by wherry_list_entry */);
/* A listed entry's answer; E_CACHE_MISS `missing` if it is gone. */
wherry_status wherry_client_read_cache_entry(wherry_client *client, const char *entry_id,
    wherry_response **out_response);
/* Deletes, by the same choice; stores or'ed together. Partials that run are left alone. OK also if
 * nothing was there; the count tells. */
wherry_status wherry_client_clear_cache(wherry_client *client, uint32_t stores, const char *base,
    const char *url, const char *method, size_t *out_count);
/* Set out_usage->size first. */
wherry_status wherry_client_cache_usage(wherry_client *client, wherry_cache_usage *out_usage);
/* "1023.9990 KB" or "1.2385 MB". Copies like copy_header; 32 bytes suffice. */
wherry_status wherry_format_bytes(int64_t bytes, char *buffer, size_t capacity, size_t *out_count);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif /* WHERRY_H */
