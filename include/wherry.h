/* wherry.h - HTTP requests, image uploads, and resumable downloads from C.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Five kinds of objects are in almost every program:
 *
 *    wherry_client     connections, settings, cookies, and caches; usually one per program
 *    wherry_request    what to send: method, URL, headers, body, and options
 *    wherry_transfer   a request in flight, to pause, cancel, or measure
 *    wherry_queue      where the events of transfers arrive: progress, body, end
 *    wherry_response   status, headers, and body
 *
 * For a single GET, download, or image upload, one call is enough (see Simple calls):
 *
 *    wherry_response *response = NULL;
 *    if (wherry_get(url, &response) != WHERRY_OK) puts(wherry_error_message(wherry_last_error()));
 *    size_t size = 0;
 *    const uint8_t *body = wherry_response_body(response, &size);
 *    fwrite(body, 1, size, stdout);
 *    wherry_response_free(response);
 *
 * The same with a client, which later requests can reuse (see docs/tutorial.md):
 *
 *    wherry_client *client = NULL;
 *    wherry_request *request = NULL;
 *    wherry_response *response = NULL;
 *    wherry_status status = wherry_client_new(NULL, &client);
 *    if (status == WHERRY_OK) status = wherry_request_new("GET", url, &request);
 *    if (status == WHERRY_OK) status = wherry_client_perform(client, request, &response);
 *    if (status != WHERRY_OK) puts(wherry_error_message(wherry_last_error()));
 *    size_t size = 0;
 *    const uint8_t *body = wherry_response_body(response, &size);
 *    fwrite(body, 1, size, stdout);
 *    wherry_response_free(response);
 *    wherry_request_free(request);
 *    wherry_client_free(client);
 *
 * For concurrent transfers, send each with wherry_client_send and read their events from a queue
 * (sections 7 and 8). The library never calls back into your code. Examples/c has complete programs.
 *
 * These rules apply to every function:
 *
 *  NAMES     Most functions are named wherry_<type>_<verb>, or wherry_<type>_<property> for getters.
 *            The object is the first parameter, except in functions that create one. Names of times,
 *            sizes, and rates end with the unit (_ms, _bytes, _per_second). An int64_t of -1 means
 *            "unknown" in results and "no limit" in arguments, unless its comment says otherwise.
 *  RESULTS   Functions that can fail return a wherry_status; 0 is success. Comments name statuses
 *            and reasons in short form: "E_ARGUMENT `bad_url`" is the status WHERRY_E_ARGUMENT with
 *            that wherry_error_reason, and a reason alone belongs to E_ARGUMENT. Other results are
 *            in trailing out-parameters, which are written only if the call succeeds, or if the
 *            comment says so. These may be NULL: out_count (except in wherry_queue_read), the
 *            out_transfer of a function that starts a transfer, and others whose comment says so.
 *            Any other NULL gives E_ARGUMENT. Functions that cannot fail return their result
 *            directly. For a bad handle, they return NULL, false, 0, or the value for "none" that
 *            their comment names.
 *  HANDLES   A handle is opaque: the pointer is an id that every call checks, not an address. A
 *            handle that is freed, invented, of another type, or NULL where the comment does not
 *            allow it gives E_ARGUMENT `bad_handle`.
 *  OWNERSHIP You own every handle that you get through an out-parameter. Free it once, with the
 *            *_free function of its type. Freeing NULL returns OK; freeing a handle twice returns an
 *            error and never crashes. You may free objects in any order, even while you handle one
 *            of their events. A handle that a function returns directly is borrowed; never free it.
 *  BORROWING Bytes and text that a getter returns are borrowed: they stay valid until you free the
 *            object, or until an earlier end that the comment names. Unlike handles, these pointers
 *            are not checked. Getters of client, queue, transfer, stub, and reachability copy their
 *            results instead.
 *  INPUTS    The library copies what you pass in before the call returns; comments name the two
 *            exceptions, for images. Text must be NUL-terminated UTF-8; other text gives E_ARGUMENT
 *            `bad_text`. Bytes are a pointer and a count; the pointer may be NULL if the count is 0.
 *            Paths and file names are NUL-terminated bytes in any encoding, and are used unchanged.
 *            Error messages show an invalid byte as an escape such as \xE9.
 *  THREADS   Any thread may call any function, at any time. If threads change the same config,
 *            request, response, event, list, image, compression, json, or sse concurrently, nothing
 *            crashes, but the result can be a mixture of their changes. The events of one transfer
 *            arrive in order. Your code never runs on a library thread. A thread that calls the
 *            library needs a stack of at least 64 KiB. wherry_json_parse needs 1 KiB more for each
 *            level of nesting above 30, and fails with `bad_json` if the stack is too small. Library
 *            threads have stacks of 8 MiB, whatever the stack limit of the process (ulimit -s).
 *  STRUCTS   A few types are plain structs, which the library fills. Before the call, set `size` to
 *            the sizeof of the struct; 0 gives E_ARGUMENT. Fields that an older library does not
 *            know become zero. The layouts are those of 64-bit Linux, the only supported system.
 *  EXIT      The program may exit at any time, from any thread, even with transfers in flight. The
 *            library then cancels every transfer and waits at most 50 ms for them, so that no
 *            library thread uses OpenSSL while OpenSSL shuts down. Blocking calls on other threads
 *            return E_CANCELLED. Partial files stay. Your own exit handlers may call any function.
 *  SIGNALS   Library threads block every signal except SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, and
 *            SIGSYS. If a Swift toolchain is installed, the Swift runtime handles SIGQUIT, SIGABRT,
 *            and fault signals to print backtraces. Set SWIFT_BACKTRACE=enable=no to prevent that.
 *  FORK      All file descriptors are close-on-exec. In a forked child, every function that returns
 *            a wherry_status returns E_FORKED until you call wherry_library_restart.
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
/* Marks functions whose result must be used. For tools that cannot parse attributes, define it as
 * empty before you include this header. */
#ifndef WHERRY_CHECKED
#define WHERRY_CHECKED __attribute__((warn_unused_result))
#endif

/* ---- 1. Version ------------------------------------------------------------------------------ */

#define WHERRY_VERSION_MAJOR 0
#define WHERRY_VERSION_MINOR 1
#define WHERRY_VERSION_PATCH 0
#define WHERRY_VERSION_NUMBER \
  (WHERRY_VERSION_MAJOR * 1000000 + WHERRY_VERSION_MINOR * 1000 + WHERRY_VERSION_PATCH)

/* These return the version of the loaded library, the first as a number like WHERRY_VERSION_NUMBER,
 * the second as static text. It may differ from the version of this header. */
int32_t wherry_library_version(void);
const char *wherry_library_version_text(void);

/* ---- 2. Status and errors -------------------------------------------------------------------- */

typedef enum wherry_status {
  WHERRY_OK = 0,
  WHERRY_E_ARGUMENT = -1,    /* NULL, wrong kind of object, or out of range */
  /* not valid in the object's current state, such as already sent or closed */
  WHERRY_E_STATE = -2,
  WHERRY_E_TIMEOUT = -3,     /* the wait or the transfer timed out */
  WHERRY_E_CANCELLED = -4,
  WHERRY_E_NETWORK = -5,     /* name resolution or connection failed, or the connection dropped */
  WHERRY_E_TLS = -6,         /* the peer is not trusted */
  WHERRY_E_HTTP = -7,        /* the response reports an error or is not acceptable */
  WHERRY_E_FILE = -8,        /* a local file or directory cannot be used */
  WHERRY_E_IMAGE = -9,       /* not an image, or an image that cannot be encoded */
  WHERRY_E_CACHE_MISS = -10, /* cache-only request without a usable entry */
  WHERRY_E_LIMIT = -11,      /* a size or count limit was exceeded */
  WHERRY_E_INTERNAL = -12,   /* a bug in Wherry: please report it */
  WHERRY_E_FORKED = -13,     /* called in a forked child */
  /* the object or file is in use by another transfer or process, or a buffer is full at the moment
   * */
  WHERRY_E_BUSY = -14
} wherry_status;

/* borrowed from an event or the calling thread; never free it */
typedef struct wherry_error wherry_error;
typedef struct wherry_list wherry_list;   /* section 11 */

/* Returns the name, such as "E_TIMEOUT"; "E_UNKNOWN" for other numbers. Static text. */
const char *wherry_status_name(wherry_status status);
/* Returns the error of the last failed call on this thread; never NULL. Its status is OK if no call
 * has failed. Functions that return their result directly, and wherry_error_status, never set it.
 * The handle is valid until the next failing call on this thread. */
const wherry_error *wherry_last_error(void);
wherry_status wherry_error_status(const wherry_error *error);
/* Returns the reason, a stable word such as "bad_url" or "stalled" (see docs/errors.md); "" for OK.
 * Static text. */
const char *wherry_error_reason(const wherry_error *error);
/* Returns the message: one sentence for users, without secrets. Returns "" for a bad handle, so you
 * can print the result unchecked. */
const char *wherry_error_message(const wherry_error *error);
int32_t wherry_error_curl_code(const wherry_error *error); /* or 0 */
int32_t wherry_error_http_code(const wherry_error *error); /* or 0 */
int32_t wherry_error_os_code(const wherry_error *error);   /* errno, or 0 */
bool wherry_error_is_retryable(const wherry_error *error);
int64_t wherry_error_retry_after_ms(const wherry_error *error);      /* or -1 */
const char *wherry_error_partial_path(const wherry_error *error);    /* the partial file, or NULL */
const wherry_error *wherry_error_underlying(const wherry_error *error); /* or NULL */
/* Lists the failed images of an upload, to be read with wherry_list_image. If the request itself
 * failed, the list contains every image. Also works with wherry_last_error after
 * wherry_client_perform. */
wherry_status wherry_error_list_failed_images(const wherry_error *error, wherry_list **out_list);
/* Makes the library usable in a forked child. Handles from before the fork stay invalid: using or
 * freeing one is E_FORKED and changes nothing. Does nothing in a process that is not a forked
 * child. */
wherry_status wherry_library_restart(void);

/* ---- Simple calls ---------------------------------------------------------------------------- */

typedef struct wherry_response wherry_response;

/* Each of these functions blocks until its transfer ends. Each can fail like the function of
 * section 7 that its comment names; wherry_last_error has the details. Each call creates a client
 * with default settings and frees it afterwards. For several requests, a wherry_client is faster,
 * because it reuses connections. A URL without a scheme gives E_ARGUMENT `bad_url`. */

/* Gets a URL, like wherry_client_perform. On OK and E_HTTP you own *out_response; otherwise it is
 * set to NULL. */
WHERRY_CHECKED wherry_status wherry_get(const char *url, wherry_response **out_response);
/* Downloads a URL to a file, like wherry_client_download. path is the file to write. If path ends
 * with "/" or is an existing directory, the file is written there, under the name that the server
 * gives. After an interruption, call it again to continue. */
WHERRY_CHECKED wherry_status wherry_download_file(const char *url, const char *path);
/* Compresses a JPEG or PNG file with the default compression (section 13) and posts it as a part of
 * a multipart form, like wherry_client_upload_images. name is the name of that part. out_response
 * works as in wherry_get. */
WHERRY_CHECKED wherry_status wherry_upload_image(const char *url, const char *name, const char *path,
    wherry_response **out_response);

/* ---- 3. Options: one list for client and request --------------------------------------------- */

/* The letters say where you can set an option. B: on a config. L: on a live client, for requests
 * started afterwards. R: on one request, overriding the client's value. Elsewhere the call fails
 * with E_ARGUMENT `bad_option`. The default value comes next, then the range in parentheses.
 * Without a range, an option accepts the values that its comment lists, or 0 or more if it only has
 * one. If the default is -1, you can set -1 too. A colon after a value introduces its meaning.
 * Booleans are 0 and 1. In comments that mention both requests and downloads, "requests" means all
 * transfers that are not downloads. */
typedef enum wherry_option {
  /* options: begin wherry_option (scripts/make-options) */
  /* BLR 20000; maximum time without a byte in either direction; 0: no limit */
  WHERRY_OPTION_IDLE_TIMEOUT_MS = 1,
  WHERRY_OPTION_CONNECT_TIMEOUT_MS = 2,     /* BLR 10000; 0: libcurl's default, 300 s */
  /* BLR 30000; maximum time from the last byte sent to the first byte received. Except in
   * downloads, the idle timeout also limits this wait: for slow servers, raise both. 0: no limit */
  WHERRY_OPTION_FIRST_BYTE_TIMEOUT_MS = 3,
  WHERRY_OPTION_TOTAL_TIMEOUT_MS = 4,       /* BLR 0: no limit; includes redirects and retries */
  /* BLR 30000; time that the program has to resolve a hook (section 9); after that, the hook's
   * default applies. 0: the default applies at once */
  WHERRY_OPTION_HOOK_TIMEOUT_MS = 5,
  /* BLR 10 (0 to 100); 0: the redirect itself is the response */
  WHERRY_OPTION_MAX_REDIRECTS = 10,
  /* BLR 0: after a redirect to another origin, only headers without secrets are sent, such as
   * Accept. Credentials, Cookie, and all other headers that you set are not sent, and a redirect
   * that would send the body fails with E_HTTP `redirect_refused`. 1: all of these are sent, except
   * Host */
  WHERRY_OPTION_KEEP_AUTH_ACROSS_HOSTS = 11,
  /* BLR -1 (0 to 1000): 5 for downloads, 0 for requests. Maximum number of retries after a dropped
   * connection, a timeout, or status 408, 429, 500, 502, 503, 504. The wait before a retry is
   * random. Its maximum is 0.5 s at first and doubles with each retry up to 30 s. If Retry-After
   * asks for more, the wait is that long; above MAX_RETRY_AFTER_MS, there is no retry. The requests
   * of a client share a budget of at most 100 retries; every five successful requests add one to
   * it. Downloads do not use it. */
  WHERRY_OPTION_MAX_RETRIES = 12,
  /* BLR 0: only GET, HEAD, PUT, DELETE, and OPTIONS are retried. When a reused connection is
   * dropped without a response, the request is sent again at once, but also only with these
   * methods. 1: all methods are retried, and the server may execute a request twice */
  WHERRY_OPTION_RETRY_UNSAFE_METHODS = 13,
  /* BLR -1: 0 for requests, 60000 for downloads. Maximum time that a transfer waits for a route to
   * its host, in state WAITING with reason `offline`. After that, a request fails with E_NETWORK
   * `offline`. A download waits in this way after each dropped connection, then makes its next
   * retry. 0: no wait */
  WHERRY_OPTION_WAIT_FOR_NETWORK_MS = 15,
  /* BL 0; 1: sends Accept-Language with the user's languages (LANGUAGE, LC_ALL, LC_MESSAGES, LANG),
   * unless you set that header. */
  WHERRY_OPTION_SEND_LANGUAGES = 14,
  /* BLR 0: automatic: HTTP/2 over TLS if the server offers it, otherwise HTTP/1.1; 1.1 for
   * downloads and for bodies over 16 KiB, which costs less CPU time. 11: HTTP/1.1 only.
   * 20: HTTP/2 over TLS if the server offers it, for every request */
  WHERRY_OPTION_HTTP_VERSION = 16,
  /* BLR 200 (100 to 999); lowest status that counts as success; wherry_request_accept_status adds
   * more */
  WHERRY_OPTION_ACCEPT_STATUS_MIN = 17,
  WHERRY_OPTION_ACCEPT_STATUS_MAX = 18,     /* BLR 299 (100 to 999) */
  /* BLR 1; the content encodings to accept. 0: none. 1: gzip and deflate. 2: also br and zstd */
  WHERRY_OPTION_COMPRESSED = 19,
  /* BLR 67108864; maximum decoded size of a body in memory; 0: only empty bodies */
  WHERRY_OPTION_MAX_BODY_BYTES = 20,
  WHERRY_OPTION_MAX_HEADER_BYTES = 21,      /* BLR 307200 (1024 to 307200) */
  WHERRY_OPTION_MAX_SEND_BYTES_PER_SECOND = 22, /* BLR 0: no limit */
  WHERRY_OPTION_MAX_RECEIVE_BYTES_PER_SECOND = 23, /* BLR 0: no limit */
  /* BL 0: no limit; for all downloads together; also applies to running downloads */
  WHERRY_OPTION_MAX_DOWNLOAD_BYTES_PER_SECOND = 24,
  /* R 1: adds the client's default parameters (see wherry_request_set_parameter); those of the
   * request override them */
  WHERRY_OPTION_DEFAULT_PARAMETERS = 25,
  /* R 0; 1: ignores the base URL; the result of wherry_request_identifier then has "(null)" in
   * place of the host */
  WHERRY_OPTION_IGNORE_BASE = 26,
  /* BLR 0; 1: a response fails if its type is not JSON, or its body is not valid JSON */
  WHERRY_OPTION_JSON_ONLY = 27,
  /* BLR 0; how queries and forms name the elements of an array "a". 0: a[]=. 1: a=. 2: a[0]= */
  WHERRY_OPTION_ARRAY_STYLE = 28,
  /* BLR 1: the client's cookie jar stores and sends cookies, including those of redirects. If the
   * request has a Cookie header, it is sent instead. 0: the jar neither stores nor sends cookies.
   * 2: a Cookie header is sent, together with the cookies of the jar that have other names. 3: like
   * 2, but with a separate jar for this request and its redirects. */
  WHERRY_OPTION_COOKIES = 29,
  /* R 0 (-100 to 100); orders requests that wait for a connection (MAX_PER_HOST, MAX_CONNECTIONS)
   * and queued downloads (MAX_DOWNLOADS). Higher priorities start first, equal ones in the order of
   * submission. Low priorities may starve. Over HTTP/2 the priority also sets the stream weight,
   * which servers may ignore. */
  WHERRY_OPTION_PRIORITY = 30,
  /* R 0; 1: you can write a streamed body again if a redirect or a 401 requires it (see
   * wherry_transfer_wants_rewind). 0: the transfer fails then. */
  WHERRY_OPTION_REWINDABLE_BODY = 31,
  WHERRY_OPTION_WANT_HEADERS = 32,          /* R 0; 1: raise a HEADERS event */
  /* BLR -1 (0 to 1): PROGRESS events only for downloads and multipart uploads. 0: never.
   * 1: always */
  WHERRY_OPTION_WANT_PROGRESS = 33,
  /* BLR 0; how an upload handles an image that is damaged, that has an unsupported format (GIF,
   * WebP, HEIC), or that exceeds a limit of its wherry_compression. 0: fails before the request is
   * sent, with a message that names every such image. With SEPARATE_IMAGES, the upload sends the
   * other images, then fails. 1: skips the image, and fails if none is left. 2: sends the file
   * unchanged, with all metadata; a file that cannot be opened or is larger than
   * WHERRY_IMAGE_MAX_BYTES still fails the upload. */
  WHERRY_OPTION_UNREADABLE_IMAGES = 34,
  /* BLR 0 (0 to 1000): one form with all images. n: one form per image, each with all parts that
   * are not images; up to n forms are sent at a time. A failed image does not stop the others, but
   * DONE reports a failure, which lists the failed images. Pass the list of
   * wherry_transfer_list_images to wherry_list_response to get each image's response. DONE has the
   * response for the first image that failed or, if none failed, for the first image. */
  WHERRY_OPTION_SEPARATE_IMAGES = 35,
  /* BLR 0 (0 to 1000); with SEPARATE_IMAGES, the maximum number of retries of each image after a
   * transient failure, with the waits of MAX_RETRIES. MAX_RETRIES itself has no effect then. The
   * server may receive an image twice. */
  WHERRY_OPTION_IMAGE_RETRIES = 36,
  /* BLR 0; 1: sends non-ASCII file names also as filename* (RFC 8187), for servers that need it.
   * RFC 7578 advises against it. */
  WHERRY_OPTION_EXTENDED_NAMES = 37,
  /* BLR 0; a wherry_digest. The library computes this digest of the request body and sends it as
   * Content-MD5 (MD5) or Content-Digest (RFC 9530), unless the request has that header. The body is
   * read once before it is sent; a streamed body gives E_ARGUMENT `bad_option`. */
  WHERRY_OPTION_BODY_DIGEST = 38,
  /* BLR 0; a wherry_digest to send in the part headers of each file and image */
  WHERRY_OPTION_PART_DIGESTS = 39,
  WHERRY_OPTION_MAX_PER_HOST = 40,          /* BL 6 (1 to 100000); connections to one origin */
  WHERRY_OPTION_MAX_CONNECTIONS = 41,       /* BL 32 (1 to 100000) */
  /* BL 0 (0 to 100000); maximum number of concurrent downloads; 0: no limit. The others are QUEUED,
   * ordered by PRIORITY and then by the time they were added. A paused download gives up its slot
   * to the next one. When it is resumed, it is queued again with its priority and the time it was
   * added. A new value applies at once; downloads that already run continue. TOTAL_TIMEOUT_MS
   * includes the wait. */
  WHERRY_OPTION_MAX_DOWNLOADS = 42,
  /* BLR 0; how queries and forms name the member "b" of an object "a". 0: a[b]=. 1: a.b= */
  WHERRY_OPTION_MEMBER_STYLE = 43,
  /* BLR 0; how queries and forms spell booleans. 0: "1" and "0". 1: "true" and "false" */
  WHERRY_OPTION_BOOL_STYLE = 44,
  /* R 0; 1: shares the response or failure of an identical request of this client that is in flight
   * and also has this option. Identical means the same method, URL, headers, credentials, body, and
   * options. Each transfer has its own events, and can time out or be cancelled alone. The shared
   * request ends when its last transfer is cancelled. Not shared: requests with hooks, streamed
   * responses, WANT_HEADERS, CACHE_THEN_NETWORK, and multipart, file, or streamed bodies. Does not
   * apply to downloads. */
  WHERRY_OPTION_COALESCE = 45,
  /* BLR 0; compresses the request body: 1 gzip, 2 deflate (zlib format). The server must support
   * it. Bytes, JSON, and URL-encoded forms of up to 1 MiB are compressed before sending, and sent
   * unchanged if compression does not make them smaller. Files, streams, and larger bodies are
   * compressed while they are sent, without a Content-Length. Multipart forms are not compressed.
   * In PROGRESS, done_bytes counts bytes before compression, wire_bytes those after it. */
  WHERRY_OPTION_BODY_CODING = 46,
  /* BLR 0; 1: fails with E_NETWORK `metered` instead of connecting over a mobile network. Name
   * resolution is not restricted. */
  WHERRY_OPTION_DENY_METERED = 47,
  WHERRY_OPTION_BODY_CODING_MIN_BYTES = 48, /* BLR 1024; shorter bodies are not compressed */
  /* BLR 0; how BODY_CODING treats a request with a Content-Encoding header (its own or the
   * client's). 0: sends it unchanged. 1: compresses it; the header then names only the new coding.
   * 2: fails with `bad_header` */
  WHERRY_OPTION_CODED_BODY = 49,
  WHERRY_OPTION_HTTP_CACHE = 50,            /* BL 0; 1: requests use the HTTP cache by default */
  /* BL 268435456; maximum size of each of the two caches on disk; least recently used entries are
   * evicted */
  WHERRY_OPTION_CACHE_MAX_BYTES = 51,
  /* BL 16777216; maximum size of each of the two caches in memory; 0: keep none */
  WHERRY_OPTION_CACHE_MEMORY_BYTES = 52,
  /* BL 67108864; maximum size of the decoded images in memory (wherry_client_load_image); the least
   * recently used ones are removed first; 0: keep none */
  WHERRY_OPTION_IMAGE_MEMORY_BYTES = 132,
  /* BLR 0; 1: wherry_client_load_image reports an IMAGE_PREVIEW event after each scan of a
   * progressive JPEG except the last, and after each of the first six passes of an interlaced
   * PNG */
  WHERRY_OPTION_IMAGE_PREVIEWS = 133,
  /* R 0; identifies the hooks of a request for wherry_client_load_image. Requests with the same key
   * have hooks that give the same answers, so they share requests and images in memory. 0: a load
   * whose request has hooks of its own shares nothing */
  WHERRY_OPTION_HOOKS_KEY = 134,
  /* BL 0 (0 to 1000000); maximum number of requests per RATE_INTERVAL_MS; 0: no limit. Further
   * requests wait, and start in the order of PRIORITY and then of the time they were added.
   * TOTAL_TIMEOUT_MS includes the wait. The limit is a token bucket that fills at a constant rate
   * and holds up to RATE_BURST tokens. Downloads, redirects, and retries count and wait too; cache
   * hits do not count. The additional connections of SEGMENTS count but do not wait. A new value
   * applies at once. */
  WHERRY_OPTION_RATE_LIMIT = 53,
  /* BL 0 (0 to 1000000); like RATE_LIMIT, for each origin separately. Both limits apply. 0: no
   * limit */
  WHERRY_OPTION_HOST_RATE_LIMIT = 54,
  /* BL 0 (0 to 10000); for each of the two limits, the maximum number of requests that may start at
   * once after idle time; 0: as many as the limit */
  WHERRY_OPTION_RATE_BURST = 55,
  WHERRY_OPTION_RATE_INTERVAL_MS = 56,      /* BL 1000 (1 to 86400000) */
  /* B 0; the address ranges to refuse, as a sum: 1 loopback, 2 private, 4 link-local, 8 cloud
   * metadata, 16 multicast. Host names and redirects that lead to them are refused too. Any value
   * except 0 disables proxies. */
  WHERRY_OPTION_DENY_ADDRESSES = 59,
  /* B 0; 1 disables certificate verification and logs a warning to stderr once */
  WHERRY_OPTION_INSECURE = 60,
  /* B 0; 1: requests without https fail with E_ARGUMENT `https_only` */
  WHERRY_OPTION_HTTPS_ONLY = 61,
  /* B 0; 1: ignores http_proxy and similar variables */
  WHERRY_OPTION_IGNORE_PROXY_ENVIRONMENT = 62,
  WHERRY_OPTION_REQUIRE_TLS_1_3 = 63,       /* B 0; 0: TLS 1.2 or newer */
  /* B 0; 1: the server must staple a good OCSP response */
  WHERRY_OPTION_REQUIRE_STAPLE = 64,
  /* B 0; 1: a pinned host is trusted if a pin matches. The issuer of its certificate is not
   * checked; with PIN_MODE 0, neither are its validity dates. Logs a warning to stderr once. */
  WHERRY_OPTION_ALLOW_INVALID = 65,
  WHERRY_OPTION_CHECK_NAME = 66,            /* B 1; 0 accepts any name; warns on stderr once */
  /* B 0: a pin that is a certificate stands for the public key in it. 1: pinned certificates are
   * trust anchors, and the server's chain must lead to one of them. 1 cannot be combined with an
   * https proxy. */
  WHERRY_OPTION_PIN_MODE = 67,
  WHERRY_OPTION_REQUIRE_PINS = 68,          /* B 0; 1: refuses hosts without pins */
  /* B 0; 1: a pin failure is only reported on stderr, and the connection continues */
  WHERRY_OPTION_REPORT_PINS = 69,
  WHERRY_OPTION_RESUME = 70,                /* R 1; 0 starts a download at byte 0 */
  /* BLR 0; what to do if the target file exists. 0: fails with E_FILE `exists`. 1: replaces it.
   * 2: uses "name (1)" */
  WHERRY_OPTION_TARGET_EXISTS = 71,
  /* R 0; 1: the path is a directory, and the response gives the file name */
  WHERRY_OPTION_TARGET_IS_DIRECTORY = 72,
  WHERRY_OPTION_MAKE_DIRECTORIES = 73,      /* BLR 0; 1: creates missing parent directories */
  /* BLR 1: a checkpoint every 1 s or 4 MiB, whichever comes first. While the disk is slow,
   * checkpoints can be further apart. After kill -9 or a power failure, a download resumes from the
   * last checkpoint. 2: a checkpoint every 1 s or 1 MiB. 0: checkpoints do not wait for the disk,
   * so the partial file survives a crash of the program, but may not survive a crash of the
   * system. */
  WHERRY_OPTION_DURABILITY = 75,
  /* BLR 0 (0 to 16): starts with one connection and adds more as long as each one increases the
   * speed, up to 5 connections or MAX_PER_HOST - 1, whichever is fewer. 1 to 16: uses that many
   * connections as soon as a response has a length and a strong validator, regardless of
   * MAX_PER_HOST and MAX_CONNECTIONS. If the server refuses one, the download uses one fewer. */
  WHERRY_OPTION_SEGMENTS = 74,
  /* BLR 1000; a download that stays below this speed for STALL_TIMEOUT_MS has stalled; 0: slow
   * downloads never count as stalled */
  WHERRY_OPTION_STALL_BYTES_PER_SECOND = 76,
  /* BLR 10000; a download that stays below STALL_BYTES_PER_SECOND for this time has stalled and is
   * retried. If you set this option, even to its default, it also limits the wait for the first
   * byte, whatever STALL_BYTES_PER_SECOND is. Otherwise only FIRST_BYTE_TIMEOUT_MS limits that
   * wait. */
  WHERRY_OPTION_STALL_TIMEOUT_MS = 77,
  /* R 1; which partial files a download resumes. 0: those of the same URL. 1: those of the same URL
   * with any query, such as a new signature. 2: the partial file of the same target file, from any
   * URL. If the server names the file, 2 means the same as 1. The download resumes only if the
   * server confirms the validator (If-Range) and the length; otherwise it starts at byte 0. If the
   * server names the file (TARGET_IS_DIRECTORY), URLs with different queries may be different
   * files. Therefore a partial file that the server does not confirm is kept, and a later download
   * of the URL that it came from can resume it. */
  WHERRY_OPTION_PARTIAL_OF = 78,
  /* BLR 60000; if Retry-After asks for a longer wait, a download fails with E_HTTP `retry_later`,
   * and a request is not retried but ends with that response */
  WHERRY_OPTION_MAX_RETRY_AFTER_MS = 79,
  WHERRY_OPTION_DEBUG = 80,                 /* BL 0; 1 logs to stderr; applies at once */
  /* B 1: if the agent of a session has died, the next agent resumes its jobs (section 18) */
  WHERRY_OPTION_AUTOSTART = 81,
  WHERRY_OPTION_AGENT_IDLE_MS = 82,         /* B 5000; how long an idle agent stays alive */
  /* BLR 0; 1: sets a downloaded file's modification time to Last-Modified */
  WHERRY_OPTION_KEEP_SERVER_TIME = 90,
  /* BLR 0; 1: a response whose body may be truncated (wherry_response_is_length_unverified) fails
   * with E_NETWORK `length_unverified`. A download with such a body always fails. */
  WHERRY_OPTION_REQUIRE_VERIFIED_LENGTH = 100,
  /* BLR 1; 0: each request sends Connection: close on a connection of its own, which is then
   * closed */
  WHERRY_OPTION_KEEP_ALIVE = 130,
  /* R 0; 1: the caches also serve and store streamed responses. The body arrives in the same BODY
   * events as without a cache, and is stored when it is complete. A body larger than an eighth of
   * CACHE_MAX_BYTES is not stored. */
  WHERRY_OPTION_CACHE_STREAM = 131
  /* options: end */
} wherry_option;

typedef enum wherry_text_option {
  /* options: begin wherry_text_option (scripts/make-options) */
  /* BL; joined with relative URLs as in docs/urls.md; an invalid URL gives E_ARGUMENT `bad_url` */
  WHERRY_TEXT_BASE_URL = 1,
  WHERRY_TEXT_APP_VERSION = 2,    /* BL "1"; cache entries of another version are misses */
  /* BL "Wherry/" and the version of the library; with APP_NAME "name/version (Linux x86_64)
   * Wherry/..." */
  WHERRY_TEXT_USER_AGENT = 3,
  WHERRY_TEXT_STORAGE_NAME = 4,   /* B the program's name; $XDG_CACHE_HOME/wherry/<name> */
  WHERRY_TEXT_STORAGE_DIRECTORY = 5, /* B: an absolute path instead of a name */
  /* BL: the application's name for USER_AGENT, sent with APP_VERSION. Accents are removed, and
   * other characters that are not ASCII are percent-encoded. */
  WHERRY_TEXT_APP_NAME = 6,
  /* B: the proxy of every request: a URL with scheme http, https, socks4, socks4a, socks5, or
   * socks5h, or "host:port" for http. "": no proxy. NULL (the default) reads http_proxy,
   * https_proxy, and all_proxy from the environment when the client is created. Anything else is
   * E_ARGUMENT `bad_value`. */
  WHERRY_TEXT_PROXY = 7,
  /* B: "name:password" for all proxies, instead of the credentials in their URLs; http and https
   * proxies get them as Basic */
  WHERRY_TEXT_PROXY_CREDENTIALS = 8,
  /* B: hosts that are reached without a proxy, separated by ','. An entry is a name ("example.org"
   * or ".example.org": the host and its subdomains), an address, a network ("10.0.0.0/8",
   * "fe80::/10"), or "*". A port restricts it: "example.org:8080", "[::1]:8080". Anything else is
   * E_ARGUMENT `bad_value`. NULL (the default) reads no_proxy from the environment when the client
   * is created. */
  WHERRY_TEXT_NO_PROXY = 9,
  WHERRY_TEXT_CA_FILE = 10,       /* B: PEM certificates to trust instead of the system's */
  /* B: folders of such certificates, hashed with `openssl rehash` and separated by ':' */
  WHERRY_TEXT_CA_DIRECTORY = 11,
  /* B: PEM revocation lists; a connection fails unless every CA in the chain has one */
  WHERRY_TEXT_CRL_FILE = 12,
  WHERRY_TEXT_BEARER_TOKEN = 14,  /* BLR; sent as Authorization: Bearer */
  WHERRY_TEXT_TAG = 15,           /* R: your name for a group of transfers */
  /* BLR "index"; how several images in the field "name" are named. "index": name0, name1. "repeat":
   * name, name. "brackets": name[], name[] */
  WHERRY_TEXT_IMAGE_NAMES = 16,
  WHERRY_TEXT_JPEG_TYPE = 17,     /* BLR "image/jpeg"; old servers need "image/jpg" */
  /* B: path of wherry-agent; default: $WHERRY_AGENT, or next to the library, or in its libexec */
  WHERRY_TEXT_AGENT_PATH = 18,
  /* B: absolute path for the records of one session; section 18 */
  WHERRY_TEXT_STATE_DIRECTORY = 19,
  /* B: addresses to use instead of name resolution: entries "host:port:address[,address]..."
   * separated by spaces; "*" is every host. The Host header and certificate checks still use the
   * host's name. */
  WHERRY_TEXT_RESOLVE = 20,
  WHERRY_TEXT_INTERFACE = 21,     /* B: the network interface or local address to use */
  /* B: absolute path of the socket for all connections; no proxy is used */
  WHERRY_TEXT_UNIX_SOCKET = 22,
  WHERRY_TEXT_PROXY_HTTP = 23,    /* B: the proxy for http URLs; "": none; NULL: PROXY */
  WHERRY_TEXT_PROXY_HTTPS = 24,   /* B: the proxy for https URLs; "": none; NULL: PROXY */
  /* B: the path of a .netrc file with user names and passwords by host; "~/" is the home directory.
   * "" (the default) reads none. wherry_client_new reads the file once. It fails with E_FILE if the
   * file cannot be read, and with E_ARGUMENT `bad_value` and the line number if it is malformed.
   * Each host, including one reached by a redirect, is sent its own user name and password as
   * Basic, without waiting for a 401. The entry "default" applies only to the host of the request's
   * own URL. Credentials, a bearer token, and an Authorization header of the client or the request
   * take precedence. The file's permissions are not checked. */
  WHERRY_TEXT_NETRC = 25
  /* options: end */
} wherry_text_option;

/* ---- 4. Config: settings for new clients; may be freed once the client exists ---------------- */

typedef struct wherry_config wherry_config;
typedef struct wherry_stub wherry_stub; /* section 16 */

wherry_status wherry_config_new(wherry_config **out_config);
wherry_status wherry_config_free(wherry_config *config);
wherry_status wherry_config_set_option(wherry_config *config, wherry_option option, int64_t value);
wherry_status wherry_config_set_text(wherry_config *config, wherry_text_option option,
    const char *value /* NULL: the default */);
/* These three work like wherry_client_set_header, _add_header, and _set_parameter. */
wherry_status wherry_config_set_header(wherry_config *config, const char *name, const char *value);
wherry_status wherry_config_add_header(wherry_config *config, const char *name, const char *value);
wherry_status wherry_config_set_parameter(wherry_config *config, const char *name,
    const char *value);
/* Loads a JSON settings file in the format of docs/configuration.md. Settings that are not in the
 * file keep their values. A NULL path loads the file named by $WHERRY_CONFIG, or nothing if the
 * variable is unset. On E_ARGUMENT (`bad_json`, `bad_value`, or the error of a setting), the config
 * is unchanged. */
wherry_status wherry_config_load(wherry_config *config, const char *path);
/* Adds a base URL that requests select by name; a NULL url removes it. An invalid URL gives
 * E_ARGUMENT `bad_url`. */
wherry_status wherry_config_set_base(wherry_config *config, const char *name, const char *url);
wherry_status wherry_config_set_stub(wherry_config *config, wherry_stub *stub);
/* Trust. By default the client requires TLS 1.2 or newer and a certificate for the requested name
 * that chains to a system CA. No environment variable changes that. wherry_client_new reads the
 * files that these functions name, and fails if it cannot use one.
 *
 * Pins a host: "example.org", "*.example.org" (all hosts below, at any depth), or "*". If several
 * match, only the pins of the most specific one apply. pin is "sha256/" followed by the base64
 * SHA-256 of a public key (SubjectPublicKeyInfo), or the path of a certificate or public key (PEM
 * or DER), or of a folder of such files (*.pem, *.crt, *.cer, *.der). On each connection, before a
 * request is sent, the server's own key must match one of the host's pins. All other checks still
 * apply. PIN_MODE, ALLOW_INVALID, and REPORT_PINS change these rules. A pinned host is never
 * contacted without TLS. wherry_client_new fails with `bad_pin` if a pin is malformed, or if a base
 * URL of a pinned host is http. */
wherry_status wherry_config_add_pin(wherry_config *config, const char *host, const char *pin);
/* Like wherry_config_add_pin, for a certificate or public key in memory. */
wherry_status wherry_config_add_pin_certificate(wherry_config *config, const char *host,
    const void *bytes, size_t count);
/* Sets the time from which the host's pins are no longer checked, in seconds since 1970; -1:
 * never. */
wherry_status wherry_config_set_pin_expiry(wherry_config *config, const char *host,
    int64_t expires_at);
/* Sets PEM certificates to trust instead of the system's and those of CA_FILE. A count of 0 removes
 * the setting. */
wherry_status wherry_config_set_ca_certificates(wherry_config *config, const void *bytes,
    size_t count);
/* Sets the client certificate for one origin, "https://example.org"; other origins never see it. A
 * NULL origin means that of the base URL. certificate is the path of a PEM file, or of a PKCS #12
 * file with its key. If key is NULL, the key is in the same file. If password is NULL, none is used
 * or prompted for. A NULL certificate removes the client certificate. */
wherry_status wherry_config_set_client_certificate(wherry_config *config, const char *origin,
    const char *certificate, const char *key, const char *password);

/* ---- 5. Client: connections and live settings ------------------------------------------------ */

typedef struct wherry_client wherry_client;
typedef struct wherry_queue wherry_queue;
typedef struct wherry_json wherry_json;

typedef enum wherry_auth {
  /* The strongest scheme that the server offers: Digest before Basic. The first request is sent
   * without credentials. */
  WHERRY_AUTH_ANY = 0,
  WHERRY_AUTH_BASIC = 1, /* sent with every request; the password is not encrypted without TLS */
  /* Sent in reply to the server's challenge; never contains the password. SHA-512-256, SHA-256, or
   * MD5. If the server requires a digest of the body (qop=auth-int), a request with a streamed body
   * fails with E_HTTP `body_spent`. */
  WHERRY_AUTH_DIGEST = 2
} wherry_auth;

/* Creates a client; a NULL config means all defaults. The network thread starts with the first
 * transfer. */
wherry_status wherry_client_new(const wherry_config *config, wherry_client **out_client);
/* Cancels all transfers and frees the client. On return, every DONE event is in its queue. Transfer
 * handles stay valid. */
wherry_status wherry_client_free(wherry_client *client);
/* Refuses new transfers (E_STATE) and waits for the running ones to end. After E_TIMEOUT the
 * running transfers continue, and new ones are still refused. */
wherry_status wherry_client_drain(wherry_client *client, int64_t timeout_ms);
wherry_status wherry_client_set_option(wherry_client *client, wherry_option option, int64_t value);
wherry_status wherry_client_set_text(wherry_client *client, wherry_text_option option,
    const char *value);
/* Returns an option's value; -1 also for a bad handle, or an option that clients do not have. */
int64_t wherry_client_get_option(const wherry_client *client, wherry_option option);
/* Sets a default header; names are case-insensitive. A NULL value removes the header; NULL name and
 * value remove all. E_ARGUMENT `bad_header` for an invalid name, a value with CR or LF, or a header
 * that only the library may set (Connection, Content-Length, Expect, Transfer-Encoding).
 *
 * You can set a Host header, which is sent instead of the one made from the URL. It must be one
 * host with an optional port; anything else gives `bad_header`. Connections, SNI, and certificate
 * checks still use the host of the URL. A request with such a header uses neither the cookie jar
 * nor a cache. A redirect to another origin drops the header. */
wherry_status wherry_client_set_header(wherry_client *client, const char *name, const char *value);
/* Adds a header; others of the same name stay, and all are sent. Fails like
 * wherry_client_set_header. */
wherry_status wherry_client_add_header(wherry_client *client, const char *name, const char *value);
/* Copies the value and a NUL to buffer, truncated if capacity is too small. *out_count is the full
 * length without the NUL. E_ARGUMENT `not_found` if there is none. */
wherry_status wherry_client_copy_header(const wherry_client *client, const char *name, char *buffer,
    size_t capacity, size_t *out_count);
/* Sets a default parameter; parameters of the request override it. A NULL value removes it. */
wherry_status wherry_client_set_parameter(wherry_client *client, const char *name,
    const char *value);
/* Like wherry_config_set_base, for requests started afterwards. */
wherry_status wherry_client_set_base(wherry_client *client, const char *name, const char *url);
/* Copies the path of the client's storage folder (STORAGE_NAME, STORAGE_DIRECTORY), like
 * wherry_client_copy_header. Creates the folder on first use with mode 0700; E_FILE if it cannot be
 * used. */
wherry_status wherry_client_copy_storage(const wherry_client *client, char *buffer, size_t capacity,
    size_t *out_count);
/* Sets credentials for later requests to one origin, given as "https://host:port" or any URL of it.
 * A NULL origin means the origin of each request's own URL. Credentials are not sent to another
 * origin, even after redirects. Only with KEEP_AUTH_ACROSS_HOSTS, those of a NULL origin are sent
 * to the targets of redirects too. An Authorization header or bearer token of a request takes
 * precedence. A NULL user removes the credentials of that origin. E_ARGUMENT `bad_value`: control
 * characters, or a colon in a user name that may be sent as Basic. */
wherry_status wherry_client_set_credentials(wherry_client *client, const char *origin,
    wherry_auth auth, const char *user, const char *password);
/* Adds a cookie to the client's jar (RFC 6265). The jar is in memory, is scoped by domain, path,
 * and TLS, and uses libpsl's public suffixes. It holds at most 50 cookies per domain and 3000 in
 * total, and none for hosts with a trailing dot. set_cookie is a Set-Cookie value such as "a=1;
 * Path=/; Max-Age=60", treated as if the server of the URL had sent it. E_ARGUMENT `bad_value` if
 * that server may not set it. */
wherry_status wherry_client_set_cookie(wherry_client *client, const char *url,
    const char *set_cookie);
/* Removes the cookies that would be sent to the URL; NULL removes all. */
wherry_status wherry_client_clear_cookies(wherry_client *client, const char *url);
wherry_status wherry_client_list_cookies(const wherry_client *client,
    wherry_list **out_list /* rows by wherry_list_cookie */);
/* Saves and loads cookies in the Netscape format of curl and wget. Saving replaces the file
 * atomically, with mode 0600; `sessions` includes session cookies. Loading adds to the jar and
 * ignores malformed lines. */
wherry_status wherry_client_save_cookies(wherry_client *client, const char *path, bool sessions);
wherry_status wherry_client_load_cookies(wherry_client *client, const char *path);
/* Selects the hooks that requests raise (section 9). Requests with hooks need a queue;
 * wherry_client_perform returns E_STATE for them. */
wherry_status wherry_client_set_hooks(wherry_client *client, uint32_t hooks);

/* ---- 6. Request ------------------------------------------------------------------------------ */

typedef struct wherry_request wherry_request;
typedef struct wherry_image wherry_image;             /* section 13 */
typedef struct wherry_compression wherry_compression; /* section 13 */

typedef enum wherry_cache_policy {
  WHERRY_CACHE_OFF = 0,          /* no cache is read or written */
  /* use a fresh entry of the timed cache; otherwise fetch and store */
  WHERRY_CACHE_USE = 1,
  WHERRY_CACHE_ONLY = 2,         /* never fetch; E_CACHE_MISS without a fresh entry */
  WHERRY_CACHE_REFRESH = 3,      /* always fetch; store the response like USE */
  /* Raise a CACHED event if there is an entry (in the HTTP cache: of any age), then fetch. DONE has
   * the new response or the failure. wherry_client_perform skips the CACHED event. */
  WHERRY_CACHE_THEN_NETWORK = 4,
  /* the HTTP cache as in RFC 9111; the default if HTTP_CACHE is on */
  WHERRY_CACHE_PROTOCOL = 10,
  WHERRY_CACHE_RELOAD = 11,      /* the HTTP cache: always fetch, then store */
  WHERRY_CACHE_ANY_AGE = 12,     /* the HTTP cache: an entry of any age; otherwise fetch */
  WHERRY_CACHE_ANY_AGE_ONLY = 13 /* the HTTP cache: an entry of any age; otherwise E_CACHE_MISS */
} wherry_cache_policy;

typedef enum wherry_digest {
  WHERRY_DIGEST_NONE = 0,
  WHERRY_DIGEST_MD5 = 1,
  WHERRY_DIGEST_SHA1 = 2,
  WHERRY_DIGEST_SHA256 = 3,
  WHERRY_DIGEST_SHA512 = 4
} wherry_digest;

/* method is any token except CONNECT and TRACE. If it is NULL, a request that has parameters or a
 * body is a POST, and any other a GET. url may be relative; it is joined with the base URL and
 * checked when the request is sent. "" means the base URL itself. You can also pass "" and set the
 * URL later with wherry_request_set_url. */
wherry_status wherry_request_new(const char *method, const char *url, wherry_request **out_request);
wherry_status wherry_request_copy(const wherry_request *request, wherry_request **out_copy);
/* Frees the request. Sending takes a snapshot, so you may free, change, or resend a request at any
 * time. */
wherry_status wherry_request_free(wherry_request *request);
wherry_status wherry_request_set_option(wherry_request *request, wherry_option option,
    int64_t value);
wherry_status wherry_request_set_text(wherry_request *request, wherry_text_option option,
    const char *value);
/* Overrides the client's credentials for this request; a NULL user restores them. */
wherry_status wherry_request_set_credentials(wherry_request *request, wherry_auth auth,
    const char *user, const char *password);
/* These two replace the method and the URL given to wherry_request_new. */
wherry_status wherry_request_set_method(wherry_request *request, const char *method);
wherry_status wherry_request_set_url(wherry_request *request, const char *url);
/* Selects base URLs of the client by name: "api", or "api,api2" to try the next one if no
 * connection can be made (downloads use only the first). NULL selects the unnamed base URL. An
 * unknown name gives E_ARGUMENT `not_found` when the request is sent. */
wherry_status wherry_request_set_base(wherry_request *request, const char *names);
/* Sets a header, which overrides the client's header of that name. A NULL value suppresses the
 * client's header. */
wherry_status wherry_request_set_header(wherry_request *request, const char *name,
    const char *value);
/* Adds a header and keeps the request's other headers of that name. Together they replace the
 * client's headers of that name. */
wherry_status wherry_request_add_header(wherry_request *request, const char *name,
    const char *value);
/* Sets a parameter. With GET, HEAD, and DELETE, parameters go into the query. With other methods,
 * they go into the query if the body is JSON, bytes, a file, or a stream; they become fields of the
 * form if the request has fields, parts, or images; otherwise they become a JSON body. The client's
 * default parameters follow the same rule. Parameters are part of wherry_request_identifier. A NULL
 * value removes the parameter. */
wherry_status wherry_request_set_parameter(wherry_request *request, const char *name,
    const char *value);
/* Sets parameters from the JSON text of one object, so that values can be numbers, arrays, or
 * objects. Merges them into the existing ones. */
wherry_status wherry_request_set_parameters_json(wherry_request *request, const void *text,
    size_t count);
/* Appends a pair to the URL's query. You may add a name more than once. */
wherry_status wherry_request_add_query(wherry_request *request, const char *name,
    const char *value);
/* Appends encoded query text such as "a+b&q=%E4" to the pairs added so far. Escapes only bytes that
 * a query cannot contain: control characters, space, ", #, <, >, and bytes above 0x7e. */
wherry_status wherry_request_add_query_text(wherry_request *request, const char *text);
/* Adds a form field. A request has one body: JSON, bytes, a file, a stream, or a form of fields and
 * parts. Setting a body of another kind removes the previous one. A form with parts or images is a
 * multipart body. It contains parameters, then fields, then parts and images, each in the order you
 * added them. */
wherry_status wherry_request_add_field(wherry_request *request, const char *name,
    const char *value);
/* Sets a JSON body, which is checked at once and sent unchanged. E_ARGUMENT `bad_json` if it is not
 * JSON, contains NaN or invalid UTF-8, or is nested too deeply. More than 64 MiB gives E_LIMIT
 * `too_large`. */
wherry_status wherry_request_set_json(wherry_request *request, const void *text, size_t count);
wherry_status wherry_request_set_json_value(wherry_request *request, const wherry_json *value);
wherry_status wherry_request_set_body(wherry_request *request, const void *bytes, size_t count,
    const char *content_type);
/* Sets a file as the body; it is opened when the request is sent. If the file is missing or not
 * regular, the transfer fails before connecting. */
wherry_status wherry_request_set_body_file(wherry_request *request, const char *path,
    const char *content_type);
/* Sets a body of count bytes that you write on WANT_BODY events (wherry_transfer_write). If count
 * is -1, the length is unknown and the body is sent chunked. Needs a queue. */
wherry_status wherry_request_set_body_stream(wherry_request *request, int64_t count,
    const char *content_type);
/* Adds a part to a multipart body. file_name and content_type may be NULL. Quotes, CR, and LF in
 * names are escaped. */
wherry_status wherry_request_add_part(wherry_request *request, const char *name, const void *bytes,
    size_t count, const char *file_name, const char *content_type);
wherry_status wherry_request_add_part_file(wherry_request *request, const char *name,
    const char *path, const char *file_name, const char *content_type);
/* Adds a part of `count` bytes that you write on WANT_BODY events. Write such parts in the order
 * you added them; one wherry_transfer_write may span two parts. The request needs a queue, cannot
 * be resent after a redirect, and cannot use SEPARATE_IMAGES (`bad_argument`). */
wherry_status wherry_request_add_part_stream(wherry_request *request, const char *name,
    int64_t count, const char *file_name, const char *content_type);
/* Sets a header of the last added part or image (not field); a NULL value removes it.
 * Content-Disposition and Content-Type give `bad_header`. Without a part the call returns E_STATE
 * `wrong_state`. */
wherry_status wherry_request_set_part_header(wherry_request *request, const char *name,
    const char *value);
/* Adds an image, which is compressed on a library thread when the request is sent. Each image
 * raises one IMAGE event; images are numbered from 0 as added. A NULL compression means the
 * default, quality 1. The request shares the image's bytes instead of copying them; you may still
 * free the image at any time. */
wherry_status wherry_request_add_image(wherry_request *request, const char *name,
    const wherry_image *image, const wherry_compression *compression);
/* Sets whether the response body arrives as BODY events instead of being collected in memory. Needs
 * a queue. */
wherry_status wherry_request_set_streamed(wherry_request *request, bool streamed);
/* Adds an HTTP status that counts as success. */
wherry_status wherry_request_accept_status(wherry_request *request, int32_t http_code);
/* Sets the required shape of a JSON response, as JSON text: {"name": "string", "friends": [{"id":
 * "integer"}]}. Types are "any", "string", "number", "integer" (no fraction), "bool", "array", and
 * "object". An array contains the shape of its elements, an object the shapes of its members. A
 * member must be present, but may be null; other members are allowed. A response that has another
 * shape or is not JSON fails with E_HTTP `bad_json_body`; the message names the place, as in
 * "data/list/3/id is a string, not an integer". Applies to successful responses, except those to
 * HEAD. NULL removes the shape. This call fails with E_ARGUMENT `bad_json` or, for an invalid
 * shape, `bad_value`. Sending such a request with a streamed response, or as a download or
 * background job, fails with `bad_option`. */
wherry_status wherry_request_set_json_shape(wherry_request *request, const char *shape);
wherry_status wherry_request_set_hooks(wherry_request *request, uint32_t hooks);
/* Sets the expected digest of a downloaded file, in hexadecimal or base64. With a NULL value,
 * wherry_event_digest has the digest, but it is not checked. WHERRY_DIGEST_NONE with a NULL value,
 * the default, computes and checks no digest. */
wherry_status wherry_request_set_digest(wherry_request *request, wherry_digest digest,
    const char *value);
/* Adds a mirror for downloads: a URL with the same content. When the previous URL has failed
 * permanently, the download resumes from the mirror. Requires a digest (E_ARGUMENT `bad_digest`).
 * The request's parameters and query are not added to the mirror URL, and credentials go only to
 * the origin of the first URL. NULL removes all mirrors. */
wherry_status wherry_request_add_mirror(wherry_request *request, const char *url);
/* Sets which cache the request uses, and for how long the timed cache stores the response. There are
 * two caches, each with its own storage.
 *
 * The timed cache stores a successful response for duration_ms (<= 0: not at all), regardless of
 * its headers. Its key consists of base URL, URL, method, the request's own parameters, query, and
 * body, and the Authorization and Cookie headers sent (without cookies of the jar). Other headers
 * are part of it only if you name them with wherry_request_add_cache_header; the client's default
 * parameters, CA file, and proxy never are. Not stored: responses to requests with a streamed,
 * multipart, or file body or a Range header; downloads; streamed responses without CACHE_STREAM;
 * status 206 and 304; and anything with INSECURE. If a hook edits the request, the key is that of
 * the edited request; if a hook edits it again after a redirect, the response is not stored.
 *
 * The HTTP cache is a private cache as in RFC 9111: the response headers say whether and how long a
 * response is fresh. Stale entries are validated, and a 304 freshens them. Unsafe methods
 * invalidate the entries of their target. Each redirect is a separate entry. The policies PROTOCOL,
 * RELOAD, ANY_AGE, and ANY_AGE_ONLY use it. With OPTION_HTTP_CACHE, requests without a policy use
 * it too. USE and THEN_NETWORK then look in it after a miss in the timed cache; a response found
 * there is not copied to the timed cache. REFRESH then stores the response in both caches. The key
 * includes the Authorization header that is sent; Cookie only if the response lists it in Vary. Not
 * cached: streamed responses without CACHE_STREAM, GET with a body, downloads, and anything with
 * INSECURE.
 *
 * If the storage folder becomes unusable, requests continue without a cache, and
 * wherry_client_cache_usage fails with E_FILE. */
wherry_status wherry_request_set_cache(wherry_request *request, wherry_cache_policy policy,
    int64_t duration_ms);
/* Excludes a parameter, such as a time or signature, from the identifier and the cache key, also
 * where it occurs in the query or form. If you call this for the GET requests of a URL, also call
 * it for its POST, PUT, and other unsafe requests, so that they also invalidate the entries stored
 * without the parameter. */
wherry_status wherry_request_add_cache_ignored(wherry_request *request, const char *parameter);
/* Adds a header, such as Accept-Language, with all its values to the cache key. */
wherry_status wherry_request_add_cache_header(wherry_request *request, const char *name);
/* Adds a string such as a user name to the cache key. Stored as a hash; NULL removes it. */
wherry_status wherry_request_set_cache_partition(wherry_request *request, const char *text);
/* Sets the version of cache entries (default: 0). An entry of another version is a miss and is
 * deleted. */
wherry_status wherry_request_set_cache_version(wherry_request *request, int64_t version);
/* Sets how long a stale HTTP cache entry may be served if the server is unreachable or responds
 * with 500, 502, 503, or 504. 0, the default, uses the stored response's stale-if-error. An entry
 * with no-cache or must-revalidate is never served stale, except by policies that use entries of
 * any age. */
wherry_status wherry_request_set_stale_if_error_ms(wherry_request *request, int64_t milliseconds);
/* Attaches an integer to the request, for languages such as Go that cannot pass one as a void *. It
 * is the user_key of all events and list rows of the transfer, in addition to the user_data of the
 * send call. The library does not use it. Redirects, retries, cache hits, and stubs keep it, and
 * wherry_request_copy copies it. 0, the default: none. */
wherry_status wherry_request_set_user_key(wherry_request *request, uint64_t key);
/* These three return strings that are borrowed until the next call of the same function for this
 * request. */
const char *wherry_request_method(const wherry_request *request);
const char *wherry_request_url(const wherry_request *request);
/* Returns the identifier of the request (base URL, URL, method, and parameters) for
 * WHERRY_MATCH_IDENTIFIER. client supplies the base URL; NULL means none. The format is that of the
 * iOS library SJNetwork, so that its identifiers stay valid. */
const char *wherry_request_identifier(const wherry_request *request, const wherry_client *client);
/* Reads the header at an index, including repeated names; returns false past the last. *out_value
 * is NULL if the request suppresses the client's header of that name. Borrowed until the next call
 * of the same function for this request.
 *
 * The request of a WHERRY_HOOK_ADAPT event is the one that will be sent, except for the headers
 * listed below. Its URL is absolute with the complete query. Its headers include the client's
 * headers and the Content-Type of the body. Its parameters include the client's default parameters,
 * and wherry_request_body returns the bytes to sign. It lacks headers that are added afterwards:
 * Content-Digest, Content-Encoding, Accept, Accept-Encoding, User-Agent, and the client's
 * Authorization and Cookie, which depend on the final origin. A request that you created has only
 * what you set. */
bool wherry_request_header_at(const wherry_request *request, size_t index, const char **out_name,
    const char **out_value);
/* Reads the pairs added by wherry_request_add_query and wherry_request_add_query_text, decoded. The
 * URL's own query is part of wherry_request_url. The URL of an ADAPT request contains these pairs
 * too. */
bool wherry_request_query_at(const wherry_request *request, size_t index, const char **out_name,
    const char **out_value);
/* Returns the parameters as the JSON text of one object; "{}" for none. */
const char *wherry_request_parameters(const wherry_request *request, size_t *out_count);
/* Returns the body if it is in memory: bytes or JSON that you set, or a body that the library makes
 * from parameters and fields. Returns NULL and 0 for no body, files, streams, and parts. */
const uint8_t *wherry_request_body(const wherry_request *request, size_t *out_count);

/* ---- 7. Transfers: requests in flight, identified by a handle or an id ----------------------- */

typedef struct wherry_transfer wherry_transfer;
typedef struct wherry_record wherry_record; /* section 8 */

typedef enum wherry_state {
  WHERRY_STATE_NONE = 0,
  WHERRY_STATE_QUEUED = 1,  /* a download waits for its turn (MAX_DOWNLOADS) */
  WHERRY_STATE_RUNNING = 2,
  WHERRY_STATE_WAITING = 3, /* for a retry, the network, or a hook */
  WHERRY_STATE_PAUSED = 4,
  WHERRY_STATE_RESTARTED = 5, /* from byte 0; the event's reason says why. RUNNING follows */
  WHERRY_STATE_VERIFYING = 6,
  WHERRY_STATE_DONE = 7,
  WHERRY_STATE_FAILED = 8,
  WHERRY_STATE_CANCELLED = 9,
  WHERRY_STATE_INTERRUPTED = 10 /* a background job whose agent died */
} wherry_state;

typedef struct wherry_progress {
  size_t size;
  /* Bytes sent or received, from the start of the file or body. For a compressed response, this
   * counts compressed bytes, because only their total is known in advance. For a compressed request
   * body, it counts bytes before compression. */
  int64_t done_bytes;
  int64_t expected_bytes;   /* -1 while unknown */
  int64_t resumed_at_bytes; /* size of the partial file when this transfer started */
  /* bytes of the body sent or received by this transfer, in compressed form */
  int64_t wire_bytes;
  int64_t bytes_per_second; /* over the last 5 s; -1 while unknown */
  int64_t remaining_ms;     /* -1 while unknown */
  /* increases each time done_bytes restarts at 0 because the file on the server has changed */
  int32_t generation;
  /* number of transfers that these numbers cover: 1, or more for a group or wherry_client_progress
   * */
  int32_t count;
  int64_t decoded_bytes;    /* done_bytes after decoding */
  int32_t ended;            /* finished members of a group; otherwise 0 */
  int32_t reserved;         /* 0 */
} wherry_progress;

/* Starts a transfer; its events go to the queue and carry user_data. An error that is known at once
 * (bad handle, bad URL, no images) is returned, and no event follows. Otherwise exactly one DONE
 * follows, never before this call returns. */
wherry_status wherry_client_send(wherry_client *client, const wherry_request *request,
    wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
/* Sends a copy of `request` with another URL, so that threads can share one unchanging request. A
 * NULL url means the request's own. */
wherry_status wherry_client_send_url(wherry_client *client, const wherry_request *request,
    const char *url, wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
/* Sends the request and blocks until it ends. On OK and E_HTTP you own *out_response; otherwise it
 * is set to NULL. wherry_last_error has the details. E_STATE for streamed bodies in either
 * direction, and with hooks. Another thread may cancel it by tag. */
WHERRY_CHECKED wherry_status wherry_client_perform(wherry_client *client,
    const wherry_request *request, wherry_response **out_response);
/* Like perform, but blocks for at most timeout_ms (negative: no limit), so that a program can
 * handle signals between two waits. OK: the transfer has ended, successfully or not, and
 * *out_record is its DONE record, whose event you own; *out_transfer is NULL. E_TIMEOUT: the
 * transfer continues; pass *out_transfer, which you own, to wherry_transfer_wait. Any other status:
 * the transfer was not started, or the program is already exiting. url is as in
 * wherry_client_send_url. Set out_record->size first. */
WHERRY_CHECKED wherry_status wherry_client_perform_for(wherry_client *client,
    const wherry_request *request, const char *url, int64_t timeout_ms,
    wherry_transfer **out_transfer, wherry_record *out_record);
/* Downloads to a file. The file appears under its name only when it is complete and verified. The
 * partial file is in the same directory. Errors about the target (`exists`, a directory without
 * write permission) are returned at once. E_BUSY `already_running` if the same URL is already being
 * downloaded to the same file, even under another spelling of its path. E_ARGUMENT `bad_method` if
 * the request is not a GET, `bad_parameters` if it has a body, and `bad_header` if it has a Range
 * or If-Range header. The client's default parameters do not apply. */
wherry_status wherry_client_download(wherry_client *client, const wherry_request *request,
    const char *path, wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
/* Adds the image at each path to a copy of `request`, as wherry_request_add_image does, and sends
 * the copy. count 0 gives E_ARGUMENT `no_images`. */
wherry_status wherry_client_upload_images(wherry_client *client, const wherry_request *request,
    const char *name, const char *const *paths, size_t count, const wherry_compression *compression,
    wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);

/* Continues to wait after wherry_client_perform_for. Returns OK and the DONE record once (E_STATE
 * afterwards), or E_TIMEOUT. E_STATE for a transfer whose events go to a queue. */
WHERRY_CHECKED wherry_status wherry_transfer_wait(wherry_transfer *transfer, int64_t timeout_ms,
    wherry_record *out_record);

/* Frees the handle. The transfer continues, and its events still arrive. */
wherry_status wherry_transfer_free(wherry_transfer *transfer);
/* Returns the transfer's id: unique in the process, never 0, and the same in events and lists. */
uint64_t wherry_transfer_id(const wherry_transfer *transfer);
wherry_state wherry_transfer_state(const wherry_transfer *transfer);
/* You may repeat these four calls. After the end they return OK and do nothing, except that discard
 * still deletes the partial file. wherry_transfer_pause returns when a download's journal is on
 * disk. A paused request stops reading and sending. */
wherry_status wherry_transfer_pause(wherry_transfer *transfer);
wherry_status wherry_transfer_resume(wherry_transfer *transfer);
/* Cancels the transfer: DONE arrives with E_CANCELLED, unless the transfer ended first. A partial
 * file that can be resumed is kept. */
wherry_status wherry_transfer_cancel(wherry_transfer *transfer);
/* Like cancel, but deletes the partial file, even after an earlier cancel or failure. */
wherry_status wherry_transfer_discard(wherry_transfer *transfer);
/* Limits the speed of a download over all its connections, from now on; 0: no limit; negative
 * values give `bad_value`. E_STATE if the transfer is not a download. After the end, the call has
 * no effect and returns OK. */
wherry_status wherry_transfer_set_max_bytes_per_second(wherry_transfer *transfer,
    int64_t bytes_per_second);
/* Sets the priority, -100...100, of a request that waits for a connection or of a queued download.
 * It moves behind others of that priority. A transfer that no longer waits is not changed, and the
 * call returns OK. For a group, the call applies to every member that was sent and still waits; for
 * a chain, to the current step; for a request that shares a response (COALESCE), to the shared
 * request. */
wherry_status wherry_transfer_set_priority(wherry_transfer *transfer, int32_t priority);
/* Moves a queued download (MAX_DOWNLOADS) to another position: 0 is next, past the end is last;
 * paused downloads count too. If its priority does not fit the new position, it takes over that of
 * a neighbor there. E_STATE if the transfer is not a download. If the download runs or has ended,
 * the call has no effect and returns OK. */
wherry_status wherry_transfer_move(wherry_transfer *transfer, size_t place);
/* Returns a queued download's position; -1 if it runs or has ended, and for other transfers. */
int64_t wherry_transfer_place(const wherry_transfer *transfer);
wherry_status wherry_transfer_progress(const wherry_transfer *transfer,
    wherry_progress *out_progress);
/* Lists an upload's images with their current state, in the order you added them, to be read with
 * wherry_list_image. Also works after the end. Without SEPARATE_IMAGES, the list is empty until all
 * images have been encoded. It is also empty for other transfers. */
wherry_status wherry_transfer_list_images(const wherry_transfer *transfer, wherry_list **out_list);
/* Writes the next bytes of a streamed body, after a WANT_BODY event. Accepts as many bytes as fit;
 * the next WANT_BODY asks for more. E_BUSY if nothing fits. */
wherry_status wherry_transfer_write(wherry_transfer *transfer, const void *bytes, size_t count,
    size_t *out_taken);
/* For a request with REWINDABLE_BODY: returns whether you must write its body again, from the first
 * byte. Check at each WANT_BODY until DONE, even after wherry_transfer_finish. If it returns true,
 * call wherry_transfer_rewind and write the body again; before the rewind, writing gives E_BUSY and
 * finish does nothing. */
bool wherry_transfer_wants_rewind(const wherry_transfer *transfer);
wherry_status wherry_transfer_rewind(wherry_transfer *transfer);
/* Ends the body. The transfer fails with `truncated` if you wrote fewer bytes than announced. If
 * the transfer has already ended, returns OK if you wrote all announced bytes, because a response
 * may arrive early; otherwise E_STATE. */
wherry_status wherry_transfer_finish(wherry_transfer *transfer);

/* ---- 8. Queue and events --------------------------------------------------------------------- */

typedef struct wherry_event wherry_event;
typedef struct wherry_group wherry_group; /* section 23 */

typedef enum wherry_event_kind {
  WHERRY_EVENT_NONE = 0,
  WHERRY_EVENT_PROGRESS = 1,     /* at most one per transfer is queued; a newer one replaces it */
  WHERRY_EVENT_HEADERS = 2,      /* status and headers have arrived; once, before any BODY */
  /* a piece of a streamed body; freeing it lets the stream continue */
  WHERRY_EVENT_BODY = 3,
  WHERRY_EVENT_WANT_BODY = 4,    /* you can write `detail` bytes, at offset done_bytes */
  WHERRY_EVENT_STATE = 5,        /* detail is a wherry_state */
  /* image number `detail` was encoded (SEPARATE_IMAGES: sent), or failed */
  WHERRY_EVENT_IMAGE = 6,
  WHERRY_EVENT_CACHED = 7,       /* a cached response, before the request is sent */
  WHERRY_EVENT_HOOK = 8,         /* detail is a wherry_hook; section 9 */
  WHERRY_EVENT_DONE = 9,         /* exactly one per transfer, always last */
  WHERRY_EVENT_REACHABILITY = 10, /* detail is a wherry_reach; no transfer; section 19 */
  WHERRY_EVENT_LOG = 11,         /* detail is a wherry_log_level; section 20 */
  WHERRY_EVENT_PAGE = 12,        /* detail is a wherry_page_event; no transfer; section 21 */
  WHERRY_EVENT_ACTIVITY = 13,    /* detail is the number of running transfers; section 20 */
  /* an incomplete image, of which `detail` scans or passes are complete; section 24. At most one per
   * transfer is queued; a newer one replaces it */
  WHERRY_EVENT_IMAGE_PREVIEW = 14
} wherry_event_kind;

typedef enum wherry_record_flag {
  WHERRY_RECORD_REDIRECTED = 1, /* the response came from another URL, after a redirect */
  WHERRY_RECORD_FROM_CACHE = 2, /* wherry_response_is_from_cache */
  WHERRY_RECORD_UNCHANGED = 4,  /* wherry_response_is_unchanged */
  WHERRY_RECORD_STALE = 8,      /* wherry_response_is_stale */
  WHERRY_RECORD_REVALIDATED = 16, /* wherry_response_is_revalidated */
  WHERRY_RECORD_LENGTH_UNVERIFIED = 32, /* wherry_response_is_length_unverified */
  WHERRY_RECORD_INFORMATIONAL = 64, /* there are responses for wherry_response_informational_at */
  WHERRY_RECORD_HTTP_2 = 128,     /* the response came over HTTP/2 */
  WHERRY_RECORD_HTTP_1_0 = 256    /* the response is HTTP/1.0 */
} wherry_record_flag;

/* An event as a plain struct, with the fields that most programs need. 120 bytes without padding,
 * in native byte order: Python's struct "=QQQQiiqiIQQQQqqQQ" reads it. Fields are only added at the
 * end. */
struct wherry_record {
  /* sizeof(wherry_record); wherry_queue_read needs it only in the first record */
  size_t size;
  /* you own it; to keep it after wherry_queue_release, set this field to NULL first */
  wherry_event *event;
  void *user_data;
  uint64_t transfer_id; /* 0 for NONE, REACHABILITY, PAGE, and ACTIVITY */
  int32_t kind;         /* wherry_event_kind */
  int32_t status;       /* the result of wherry_event_status */
  /* see wherry_event_kind; DONE of a group: the number of the member that failed first, or -1 */
  int64_t detail;
  int32_t http_code;    /* or 0 */
  uint32_t flags;       /* DONE, HEADERS, CACHED: combined wherry_record_flag values */
  const uint8_t *body;  /* BODY, DONE, CACHED: borrowed from the event. LOG: the text */
  size_t body_count;
  const char *head;     /* HEADERS, DONE, CACHED: the response headers as "name: value\n" lines */
  size_t head_count;
  /* PROGRESS: as in wherry_progress. WANT_BODY, BODY: the offset. IMAGE: the encoded size. PAGE:
   * the page number, or -1 */
  int64_t done_bytes;
  int64_t expected_bytes; /* PROGRESS; or -1. IMAGE: the original size. REACHABILITY: the previous
                           * wherry_reach */
  /* static text, or NULL: the reason of the error or the state; REACHABILITY: the result of
   * wherry_reachability_interface */
  const char *reason;
  uint64_t user_key; /* the result of wherry_event_user_key */
};

wherry_status wherry_queue_new(wherry_queue **out_queue);
/* Cancels the transfers bound to the queue. Unread events are dropped; events that you hold stay
 * valid. Closes the descriptor, so remove it from your poll set first. Threads that wait on the
 * queue get E_STATE. */
wherry_status wherry_queue_free(wherry_queue *queue);
/* Returns a descriptor that is readable (level-triggered) while the queue has events. Never read,
 * write, or close it. It is created on first use. Returns -1 for a bad handle, or if no descriptor
 * is available. */
int wherry_queue_fd(const wherry_queue *queue);
size_t wherry_queue_count(const wherry_queue *queue);
/* Returns the next event. timeout_ms 0 does not wait; a negative value waits without limit.
 * E_TIMEOUT if no event arrived. Signals do not interrupt the wait. Several threads may wait; each
 * event goes to one. */
WHERRY_CHECKED wherry_status wherry_queue_next(wherry_queue *queue, int64_t timeout_ms,
    wherry_event **out_event);
/* Waits for an event, then returns up to `capacity` of the queued events. Set records[0].size
 * first, and pass the records to wherry_queue_release afterwards, which frees their events. */
WHERRY_CHECKED wherry_status wherry_queue_read(wherry_queue *queue, wherry_record *records,
    size_t capacity, int64_t timeout_ms, size_t *out_count);
/* Frees the event of each record, from whatever queue; records whose event is NULL are skipped. If
 * a handle is bad, even the queue's, all other events are freed before the error is returned. */
wherry_status wherry_queue_release(wherry_queue *queue, const wherry_record *records, size_t count);
/* Cancels the transfers that were sent with this queue and user_data, for programs that keep no
 * handles. *out_count is the number of transfers. Their DONE events still arrive. */
wherry_status wherry_queue_cancel(wherry_queue *queue, void *user_data, size_t *out_count);
/* Wakes a waiting thread: adds one event of kind NONE with this user_data. */
wherry_status wherry_queue_wake(wherry_queue *queue, void *user_data);

/* Freeing an unresolved HOOK applies its default; freeing a BODY lets its stream continue. */
wherry_status wherry_event_free(wherry_event *event);
wherry_event_kind wherry_event_get_kind(const wherry_event *event);
void *wherry_event_user_data(const wherry_event *event);
/* Returns the integer of wherry_request_set_user_key; for the group's own events, that of
 * wherry_group_set_user_key. 0 if none was set, and for events without a transfer, such as LOG,
 * PAGE, and those of background jobs (see wherry_event_job_id). */
uint64_t wherry_event_user_key(const wherry_event *event);
uint64_t wherry_event_transfer_id(const wherry_event *event);
/* Opens a handle to the event's transfer; you own the handle. Also works after the transfer's end.
 * E_STATE for events without a transfer. */
wherry_status wherry_event_open_transfer(const wherry_event *event, wherry_transfer **out_transfer);
int64_t wherry_event_detail(const wherry_event *event);
/* Returns the result of DONE, IMAGE, and PAGE, and the cause of a RETRY hook or a STATE with a
 * reason; OK for other events. */
wherry_status wherry_event_status(const wherry_event *event);
const wherry_error *wherry_event_error(const wherry_event *event); /* NULL on success */
/* HEADERS, CACHED, HOOK, DONE; NULL without a response. Borrowed from the event. */
const wherry_response *wherry_event_response(const wherry_event *event);
const uint8_t *wherry_event_body(const wherry_event *event, size_t *out_count);
/* IMAGE: the file name or path that you gave, otherwise the file name in the form. DONE of a
 * download, or of a body that a hook saved: the final path. LOG: the text. REACHABILITY: the
 * target, NULL for any network. HOOK: see wherry_hook. Otherwise NULL. */
const char *wherry_event_text(const wherry_event *event);
/* The id of a background job, otherwise NULL. */
const char *wherry_event_job_id(const wherry_event *event);
/* DONE of a download: returns this digest of the file in lowercase hexadecimal, if you passed its
 * algorithm to wherry_request_set_digest or the server announced such a digest. Otherwise NULL. */
const char *wherry_event_digest(const wherry_event *event, wherry_digest digest);
/* Gets the progress of a PROGRESS event; E_STATE for other events. */
wherry_status wherry_event_progress(const wherry_event *event, wherry_progress *out_progress);

/* ---- 9. Hooks: decisions of the program during a transfer ------------------------------------ */

/* A hook lets the program decide about a step of a transfer, such as a redirect. Enable hooks with
 * wherry_client_set_hooks or wherry_request_set_hooks; combine them with |. The transfer then sends
 * a HOOK event and waits, without using a thread, until the program resolves it with one of the
 * functions wherry_event_resolve_*. Freeing the event applies the default, and so does
 * HOOK_TIMEOUT_MS.
 *
 * An event can be resolved once; after that, the functions fail with E_STATE `resolved`. After the
 * timeout they fail with E_STATE `hook_expired`. A function for another hook fails with E_ARGUMENT.
 * Downloads call no hooks except RESPOND. */
typedef enum wherry_hook {
  WHERRY_HOOK_NONE = 0,
  WHERRY_HOOK_ADAPT = 1,        /* before every attempt. Default: send the request without edits */
  WHERRY_HOOK_REDIRECT = 2,     /* text: the absolute target. Default: the usual rules */
  WHERRY_HOOK_CREDENTIALS = 4,  /* a 401; text: its realm. Default: the 401 is the response */
  /* error: the failure; response: its response, if any. Default: retry as MAX_RETRIES allows. Not
   * called if the request body is streamed and cannot be sent again, or after a HEADERS or BODY
   * event of the response. With this hook, only the final response causes HEADERS and BODY events.
   * */
  WHERRY_HOOK_RETRY = 8,
  /* The headers of the final response have arrived; response: status and headers. Not called for a
   * redirect that is followed, a 401 that is answered with credentials, or a failure after which
   * the request is retried. The body usually waits until the hook is resolved. It is already in
   * memory if the response comes from a cache, or if its status could have led to another request.
   * HEADERS and BODY events arrive after this hook, and the request is not retried afterwards.
   * Default: continue. */
  WHERRY_HOOK_HEADERS = 16,
  WHERRY_HOOK_STORE = 32,       /* before a response is cached, once per cache. Default: store it */
  /* response: a 401 to a request with the client's bearer token, or without a token. If several
   * requests receive such a 401, the hook is called only for the first of them, and the others wait
   * for its result. Not called if you set an Authorization header, if two new tokens for the same
   * request were refused, or after five calls within 30 s; the 401 is then the response. Default:
   * the 401 is the response. */
  WHERRY_HOOK_TOKEN = 64,
  /* Every chain (section 23) calls it; *_set_hooks is not needed. response: that of the previous
   * step. Default: the next step that was added, or the end */
  WHERRY_HOOK_NEXT = 128,
  /* Called by stub rules that leave the response to the program (wherry_stub_add_hook), also for
   * downloads and uploads; *_set_hooks does not accept it. wherry_event_response then returns the
   * complete request, in the form of wherry_stub_copy_request. HOOK_TIMEOUT_MS does not apply, but
   * the timeouts of the request do. Default: the request fails with E_NETWORK `connect`. */
  WHERRY_HOOK_RESPOND = 256
} wherry_hook;

/* ADAPT: the request of the next attempt, as it will be sent (see wherry_request_header_at).
 * REDIRECT: the request to the target. Read it with the functions that return parts of a request,
 * such as wherry_request_url and wherry_request_header_at. Edit it with wherry_request_set_*, then
 * resolve the hook with `true`; if it is resolved in another way, the edits are ignored. The event
 * owns the request. Returns NULL for other hooks.
 *
 * Every ADAPT shows the request without the edits of earlier attempts, so that a signature is not
 * added twice. A new URL must be complete: neither the client's base URL and default parameters nor
 * the previous query are added to it. Parameters and query pairs that you add after
 * wherry_request_set_url are added to it. */
wherry_request *wherry_event_request(const wherry_event *event);
/* ADAPT: true sends the request of the event, edited or not. false ends the transfer with
 * E_CANCELLED `refused`. */
wherry_status wherry_event_resolve_adapt(wherry_event *event, bool proceed);
/* REDIRECT: false returns the redirect itself as the response. true sends the request of the event,
 * edited or not. The rules for redirects apply to an edited request too: it counts toward
 * MAX_REDIRECTS, and credentials stay with their origin. The request fails with E_HTTP
 * `redirect_refused` if the redirect, edited or not, leads from https to http, or if the edited
 * request would send the original body to another origin. */
wherry_status wherry_event_resolve_redirect(wherry_event *event, bool follow);
/* CREDENTIALS: sets the credentials that this transfer sends to the origin of the 401, as with
 * WHERRY_AUTH_ANY. The hook is called again if the server rejects them, at most eight times. If
 * user is NULL, the 401 is the response. */
wherry_status wherry_event_resolve_credentials(wherry_event *event, const char *user,
    const char *password);
/* HEADERS: false ends the transfer with E_CANCELLED `refused` and closes the connection. The
 * response of DONE has the status and headers. */
wherry_status wherry_event_resolve_headers(wherry_event *event, bool proceed);
/* HEADERS: saves the decoded body to this file instead of memory or BODY events. The text of DONE
 * is the path. The file appears when it is complete, like that of a download. The options
 * TARGET_EXISTS, TARGET_IS_DIRECTORY, MAKE_DIRECTORIES, DURABILITY, and KEEP_SERVER_TIME of the
 * request apply; MAX_BODY_BYTES and a JSON shape do not, and the response is not cached. If the
 * target is unusable (E_FILE `exists`, `is_directory`, and others), the hook stays unresolved, so
 * that the program can choose another. If the response has an error status, the transfer continues,
 * but no file is written. A body that may have been cut (wherry_response_is_length_unverified)
 * creates no file: E_NETWORK `length_unverified`. */
wherry_status wherry_event_resolve_save(wherry_event *event, const char *path);
/* RETRY: whether to retry, for any method and after any number of retries. delay_ms is the delay
 * before the retry; -1 means the usual delay, as described for MAX_RETRIES. */
wherry_status wherry_event_resolve_retry(wherry_event *event, bool again, int64_t delay_ms);
/* TOKEN: sets the client's bearer token and resends all waiting requests. If token is NULL, the 401
 * is their response. */
wherry_status wherry_event_resolve_token(wherry_event *event, const char *token);
/* STORE: without_headers lists headers to omit, such as "Set-Cookie, X-Trace"; it may be NULL. A
 * later 304 does not add them to the entry of the HTTP cache either. If you omit a header that
 * reuse requires (Age, Cache-Control, Content-*, Date, ETag, Expires, Last-Modified, Location,
 * Vary), the response is not stored. The entry that the response would replace is deleted in any
 * case. The hook is not called for a 304 or a response to HEAD, because these only update an entry.
 * With this hook, stale entries are not validated in the background. */
wherry_status wherry_event_resolve_store(wherry_event *event, bool store,
    const char *without_headers);
/* NEXT: sends this request or group before the remaining steps, as an ordinary transfer with this
 * user_data and the client's current settings. If the transfer cannot be started, the chain ends.
 * */
wherry_status wherry_event_resolve_next(wherry_event *event, const wherry_request *request,
    void *user_data);
wherry_status wherry_event_resolve_next_group(wherry_event *event, const wherry_group *group,
    void *user_data);
/* NEXT: ends the chain and skips the remaining steps. */
wherry_status wherry_event_resolve_stop(wherry_event *event);
/* RESPOND: sets the response to the request. http_code is 200 to 999. head: lines of the form
 * "Name: value\n", or NULL; Content-Length is added if it is missing. Copies the body. */
wherry_status wherry_event_resolve_response(wherry_event *event, int32_t http_code, const char *head,
    const void *body, size_t count);
/* RESPOND: makes the attempt fail with a reason of a network error or timeout, such as "connect" or
 * "idle_timeout" (docs/errors.md). The request may be retried. message: a sentence, or NULL. */
wherry_status wherry_event_resolve_failure(wherry_event *event, const char *reason,
    const char *message);
/* Any hook: ends the transfer with E_CANCELLED `refused` and this message. */
wherry_status wherry_event_resolve_refuse(wherry_event *event, const char *message);

/* ---- 10. Management: transfers by URL, tag, identifier, path, or all ------------------------- */

typedef enum wherry_match {
  /* all transfers that have not ended at the time of the call; key is NULL */
  WHERRY_MATCH_ALL = 1,
  /* with any method and parameters; key is the URL of the request, joined with the base URL */
  WHERRY_MATCH_URL = 2,
  WHERRY_MATCH_TAG = 3,
  WHERRY_MATCH_IDENTIFIER = 4, /* exact, from wherry_request_identifier */
  WHERRY_MATCH_PATH = 5,       /* the target of a download */
  WHERRY_MATCH_URLS = 6        /* several URLs, one per line */
} wherry_match;

typedef enum wherry_transfer_kind {
  WHERRY_TRANSFER_NONE = 0,
  WHERRY_TRANSFER_REQUEST = 1,
  WHERRY_TRANSFER_UPLOAD = 2,
  WHERRY_TRANSFER_DOWNLOAD = 3,
  WHERRY_TRANSFER_GROUP = 4 /* section 23; has no URL or tag, so only ALL matches it */
} wherry_transfer_kind;

/* These functions pause, resume, cancel, or discard all matching transfers, as in section 7. They
 * return OK even if nothing matches; *out_count is the number of matches. */
wherry_status wherry_client_pause(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_client_resume(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_client_cancel(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
/* With URL and URLS, also deletes matching partial files that no transfer uses, in the directories
 * that this client has used; with PATH, the partial file of that path. */
wherry_status wherry_client_discard(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
size_t wherry_client_count(const wherry_client *client, wherry_match match, const char *key);
/* Waits until all matching transfers have ended and their DONE events are queued; E_TIMEOUT
 * otherwise. Reads no events. */
wherry_status wherry_client_wait(wherry_client *client, wherry_match match, const char *key,
    int64_t timeout_ms);
/* Returns the total progress of all matching transfers that have not ended; expected_bytes is -1 if
 * that of any transfer is unknown. With MATCH_TAG, the total also includes transfers that have
 * ended, so it does not decrease when one ends. After all transfers with the tag have ended, the
 * next transfer with the tag starts a new total. Until then you can still read the old total, but
 * only those of the last 256 tags are kept. The expected_bytes of a failed transfer stay in the
 * total, unless a new download to the same path takes its place. */
wherry_status wherry_client_progress(const wherry_client *client, wherry_match match,
    const char *key, wherry_progress *out_progress);
/* Opens a handle to the transfer with that id; you own the handle. E_ARGUMENT `not_found` if the
 * transfer has ended. */
wherry_status wherry_client_open_transfer(wherry_client *client, uint64_t transfer_id,
    wherry_transfer **out_transfer);
wherry_status wherry_client_list(const wherry_client *client, wherry_match match, const char *key,
    wherry_list **out_list /* rows by wherry_list_transfer */);

/* ---- 11. Lists: snapshots with plain structs as rows; their text lives as long as the list --- */

typedef struct wherry_transfer_row {
  size_t size;
  uint64_t transfer_id;
  const char *method;
  const char *url;        /* absolute, without parameters: the key of WHERRY_MATCH_URL */
  const char *tag, *path; /* may be NULL */
  void *user_data;
  int64_t done_bytes, expected_bytes;
  int32_t kind;  /* wherry_transfer_kind */
  int32_t state; /* wherry_state */
  uint64_t user_key; /* see wherry_request_set_user_key */
} wherry_transfer_row;

typedef struct wherry_image_row {
  size_t size;
  /* The file name or path that you gave, otherwise the file name in the form. It is the same
   * whether the image was sent or failed. */
  const char *file_name;
  const char *reason, *message;             /* NULL unless failed */
  int64_t original_bytes, encoded_bytes;    /* -1 if not known yet */
  int32_t index;                            /* number of the image in the order of adding, from 0 */
  int32_t status;                           /* wherry_status */
  int32_t width, height;                    /* of the image as sent; 0 while unknown */
  int32_t quality;    /* libjpeg quality (1 to 100) if re-encoded as JPEG; otherwise 0 */
  int32_t http_code;  /* SEPARATE_IMAGES: HTTP status of this image's response; otherwise 0 */
  /* SEPARATE_IMAGES: bytes of this image's request body sent so far; otherwise -1 */
  int64_t sent_bytes;
} wherry_image_row;

typedef struct wherry_partial_row {
  size_t size;
  const char *path, *partial_path, *url;
  int64_t done_bytes, expected_bytes;
  double ratio; /* 0.00...1.00; -1 if the length is unknown */
} wherry_partial_row;

typedef struct wherry_cookie_row {
  size_t size;
  const char *name, *value, *domain, *path; /* domain without a leading dot */
  int64_t expires_s;                        /* since 1970; -1: a session cookie */
  int32_t host_only, secure, http_only;     /* 0 or 1 */
} wherry_cookie_row;

typedef struct wherry_entry_row {
  size_t size;
  const char *entry_id;   /* for wherry_client_read_cache_entry */
  const char *identifier; /* wherry_request_identifier of its request; "" in the HTTP cache */
  const char *method;
  /* absolute URL of the request; in the timed cache, without the query pairs of parameters and
   * wherry_request_add_query */
  const char *url;
  int64_t stored_at_ms; /* since 1970 */
  int64_t fresh_for_ms; /* remaining freshness; 0: the HTTP cache would validate the entry first */
  int64_t body_bytes;
  int32_t http_code;
  int32_t store; /* wherry_cache_store */
} wherry_entry_row;

typedef struct wherry_job_row {
  size_t size;
  /* path and tag may be NULL; the URL's query is replaced with "?..." */
  const char *job_id, *url, *path, *tag;
  const char *reason;     /* why it failed, restarted, or waits; static word or NULL */
  const char *message;    /* of a failed job, or NULL */
  int64_t done_bytes, expected_bytes;
  int64_t started_at_ms;  /* since 1970 */
  int64_t retry_at_ms;    /* time from which the server allows a retry, since 1970, or -1 */
  int32_t kind;           /* wherry_transfer_kind */
  int32_t state;          /* wherry_state */
  int32_t status;         /* wherry_status of a failed job */
  int32_t http_code;      /* of the final response, or 0 */
} wherry_job_row;

wherry_status wherry_list_free(wherry_list *list);
size_t wherry_list_count(const wherry_list *list);
/* These return the row at an index. Set out_row->size first. E_ARGUMENT if the list has rows of
 * another type, or if the index is past the end. */
wherry_status wherry_list_transfer(const wherry_list *list, size_t index,
    wherry_transfer_row *out_row);
wherry_status wherry_list_image(const wherry_list *list, size_t index, wherry_image_row *out_row);
/* Returns the response to the image's own request (SEPARATE_IMAGES), borrowed from the list; NULL
 * if there was none, and for other lists. */
const wherry_response *wherry_list_response(const wherry_list *list, size_t index);
wherry_status wherry_list_partial(const wherry_list *list, size_t index,
    wherry_partial_row *out_row);
wherry_status wherry_list_cookie(const wherry_list *list, size_t index,
    wherry_cookie_row *out_row);
wherry_status wherry_list_entry(const wherry_list *list, size_t index, wherry_entry_row *out_row);
wherry_status wherry_list_job(const wherry_list *list, size_t index, wherry_job_row *out_row);

/* ---- 12. Responses --------------------------------------------------------------------------- */

typedef struct wherry_metrics {
  size_t size;
  int64_t queued_us, lookup_us, connect_us, tls_us; /* duration of each step, not cumulative */
  int64_t first_byte_us, total_us;
  int64_t sent_bytes, received_bytes; /* on the wire, headers included */
  int32_t http_version;               /* 10, 11, 20 */
  /* retries: the number of attempts, not counting the first attempt and redirects: after a failure,
   * after a 401, with a new token, at the next base URL, and when a cache sends the request again
   * */
  int32_t redirects, retries;
  int32_t is_reused;                  /* 1: used an existing connection */
} wherry_metrics;

/* Returns a copy that you own and that outlives the event. The body is shared, not copied. */
wherry_status wherry_response_copy(const wherry_response *response, wherry_response **out_copy);
/* Frees a response that you own. E_STATE for a borrowed one; free the event or list that it belongs
 * to instead. */
wherry_status wherry_response_free(wherry_response *response);
int32_t wherry_response_http_code(const wherry_response *response);
const char *wherry_response_url(const wherry_response *response); /* after redirects */
/* Returns true if the body may be truncated: it has no length, and its TLS connection ended without
 * close_notify, or its HTTP/2 stream ended before the request was sent completely. See
 * REQUIRE_VERIFIED_LENGTH. */
bool wherry_response_is_length_unverified(const wherry_response *response);
bool wherry_response_is_from_cache(const wherry_response *response);
/* Returns true if the body is the same as that of the preceding CACHED event. */
bool wherry_response_is_unchanged(const wherry_response *response);
/* Returns true for a stale cache entry, served because the origin failed or the policy, request, or
 * response allows it. */
bool wherry_response_is_stale(const wherry_response *response);
/* Returns true for a cache entry that the server just confirmed with a 304. */
bool wherry_response_is_revalidated(const wherry_response *response);
/* Reads the followed redirect at an index, oldest first; returns false past the last. */
bool wherry_response_redirect_at(const wherry_response *response, size_t index,
    int32_t *out_http_code, const char **out_url);
/* Reads an informational response (1xx, such as 103 Early Hints) that arrived before this one,
 * oldest first, at most 64; returns false past the last. Those of redirects and earlier attempts
 * are not included. *out_fields is the headers as "name: value\n" lines, borrowed from the
 * response. */
bool wherry_response_informational_at(const wherry_response *response, size_t index,
    int32_t *out_http_code, const char **out_fields);
/* The headers of a redirect, in order; false past the last. */
bool wherry_response_redirect_header_at(const wherry_response *response, size_t redirect,
    size_t index, const char **out_name, const char **out_value);
/* Returns the first header of that name (case-insensitive), or NULL. Bytes above 0x7f are
 * unchanged. */
const char *wherry_response_header(const wherry_response *response, const char *name);
/* All headers in order, including repeated names; false past the last. */
bool wherry_response_header_at(const wherry_response *response, size_t index, const char **out_name,
    const char **out_value);
/* The decoded body, not NUL-terminated; NULL and 0 if it is empty or streamed. */
const uint8_t *wherry_response_body(const wherry_response *response, size_t *out_count);
/* Returns the body as NUL-terminated UTF-8, converted from the charset of Content-Type if the
 * system supports it, otherwise decoded as UTF-8. Invalid bytes become U+FFFD. The text may contain
 * NULs. Borrowed from the response. Returns "" without a body; NULL if out of memory. */
const char *wherry_response_text(const wherry_response *response, size_t *out_count);
/* Parses the body. An empty body or a single space is a null value. E_HTTP `bad_json_body` if it is
 * not JSON; the message has the position of the error. */
wherry_status wherry_response_json(const wherry_response *response, wherry_json **out_json);
/* Returns a sanitized file name, never a path: from Content-Disposition or the URL, or else
 * "download". */
const char *wherry_response_suggested_name(const wherry_response *response);
const char *wherry_response_remote_address(const wherry_response *response);
wherry_status wherry_response_metrics(const wherry_response *response, wherry_metrics *out_metrics);
/* Lists the upload's images, including skipped ones, in the order you added them, to be read with
 * wherry_list_image. Empty for other responses. */
wherry_status wherry_response_list_images(const wherry_response *response, wherry_list **out_list);

/* ---- 13. Images ------------------------------------------------------------------------------ */

typedef enum wherry_image_format {
  /* the original format; for raw pixels, PNG if they have alpha, otherwise JPEG */
  WHERRY_IMAGE_KEEP = 0,
  WHERRY_IMAGE_JPEG = 1,
  WHERRY_IMAGE_PNG = 2,
  WHERRY_IMAGE_GIF = 3,  /* can be read if libgif.so.7 is installed */
  WHERRY_IMAGE_TIFF = 4, /* is recognized but cannot be read */
  WHERRY_IMAGE_WEBP = 5, /* can be read if libwebp.so.7 is installed */
  WHERRY_IMAGE_HEIC = 6, /* can be read if libheif.so.1 is installed */
  WHERRY_IMAGE_AVIF = 7  /* the same */
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
  WHERRY_METADATA_NO_GPS = 3, /* all but the parts that contain a location, or may contain one */
  WHERRY_METADATA_ALL = 4
} wherry_metadata;

/* How an image fills the box of MAX_WIDTH and MAX_HEIGHT, in which it is upright. CROP and PAD need
 * both limits. No image is enlarged. */
typedef enum wherry_resize_mode {
  /* the whole image, inside the box */
  WHERRY_RESIZE_FIT = 0,
  /* the center of the image, with the size of the box; a smaller image is only cropped to the aspect
   * ratio of the box */
  WHERRY_RESIZE_CROP = 1,
  /* the whole image in the center of an image with the size of the box. The padding has the color
   * BACKGROUND_RGB. It is transparent if the result has alpha and BACKGROUND_RGB was not set. */
  WHERRY_RESIZE_PAD = 2
} wherry_resize_mode;

/* Each comment begins with the default value of the option. */
typedef enum wherry_image_option {
  /* options: begin wherry_image_option (scripts/make-options) */
  WHERRY_IMAGE_MAX_WIDTH = 1,        /* 0: none; never enlarges */
  WHERRY_IMAGE_MAX_HEIGHT = 2,       /* 0: none */
  WHERRY_IMAGE_MAX_BYTES = 3,        /* 0: no limit; reduces quality first, then dimensions */
  WHERRY_IMAGE_FORMAT = 4,           /* wherry_image_format KEEP, JPEG, or PNG */
  /* 0xffffff; replaces transparency if the result is a JPEG; the color of padding */
  WHERRY_IMAGE_BACKGROUND_RGB = 5,
  WHERRY_IMAGE_METADATA = 6,         /* wherry_metadata */
  WHERRY_IMAGE_KEEP_ORIENTATION = 7, /* 0: rotates the image upright */
  WHERRY_IMAGE_NEVER_LARGER = 8,     /* 1: keeps the original if the result has more bytes */
  /* -1: only if the image is resized; 0: never; 1: always. Makes smaller files, more slowly */
  WHERRY_IMAGE_OPTIMIZE = 9,
  WHERRY_IMAGE_PROGRESSIVE = 10,     /* 0 */
  /* 0: 444 at quality 0.9 or higher, otherwise 420. Other values: 420, 422, 444 */
  WHERRY_IMAGE_SUBSAMPLING = 11,
  WHERRY_IMAGE_BEST_FILTER = 12,     /* 0: PNG's fast filter */
  WHERRY_IMAGE_MAX_PIXELS = 13,      /* 100000000; checked from the header alone */
  WHERRY_IMAGE_MAX_MEMORY_BYTES = 14, /* 268435456 */
  WHERRY_IMAGE_DEADLINE_MS = 15,     /* 30000; 0: none */
  /* 0: an animation that must be decoded fails with `unsupported_image`. 1: its first frame, or the
   * default image of a PNG, is decoded. An animated PNG that is sent unchanged stays animated in
   * both cases. */
  WHERRY_IMAGE_ANIMATED = 16,
  /* 0; a wherry_resize_mode: how the image fills MAX_WIDTH and MAX_HEIGHT */
  WHERRY_IMAGE_RESIZE_MODE = 17,
  /* 0; 1: searches for the smallest JPEG of the quality, about 12 % smaller than a progressive one
   * with the same SSIM. Takes about four times its CPU time, and memory for the whole image */
  WHERRY_IMAGE_SMALLEST = 18,
  /* 0: none; the SSIM that a JPEG must have, in ten-thousandths: 9800 is 0.98. Tries at most five
   * qualities up to the given one, and uses the lowest that reaches it */
  WHERRY_IMAGE_TARGET_SSIM = 19,
  /* 0: none; the strength, in percent, with which a scaled image is sharpened (unsharp mask of
   * luma). 50 to 100 is good for thumbnails. An image that is not scaled is never sharpened */
  WHERRY_IMAGE_SHARPEN = 20,
  /* -1: unchanged; the number of decimals to which a location in degrees is rounded, if
   * METADATA_ALL keeps it; 2 is about 1 km. Also removes altitudes and all locations outside EXIF,
   * such as those in XMP and after the image */
  WHERRY_IMAGE_LOCATION_DECIMALS = 21
  /* options: end */
} wherry_image_option;

/* An EXIF field that wherry_compression_set_metadata sets or removes. */
typedef enum wherry_metadata_field {
  WHERRY_METADATA_COPYRIGHT = 1,   /* Copyright */
  WHERRY_METADATA_ARTIST = 2,      /* Artist: the photographer */
  WHERRY_METADATA_DESCRIPTION = 3, /* ImageDescription */
  WHERRY_METADATA_SOFTWARE = 4,    /* Software */
  /* DateTimeOriginal and OffsetTimeOriginal: "2024-05-01T12:34:56", the local time, optionally
   * followed by an offset such as "+02:00", or Z */
  WHERRY_METADATA_TAKEN_AT = 5,
  WHERRY_METADATA_MAKE = 6,        /* Make: the manufacturer of the camera */
  WHERRY_METADATA_MODEL = 7        /* Model of the camera */
} wherry_metadata_field;

typedef enum wherry_image_flag {
  WHERRY_IMAGE_HAS_ALPHA = 1,
  WHERRY_IMAGE_HAS_ICC = 2,
  WHERRY_IMAGE_HAS_EXIF = 4,
  WHERRY_IMAGE_HAS_GPS = 8, /* in its EXIF */
  WHERRY_IMAGE_IS_ANIMATED = 16,
  WHERRY_IMAGE_IS_PROGRESSIVE = 32 /* progressive or interlaced: decoded in memory as a whole */
} wherry_image_flag;

/* The method by which wherry_image_compress made the result, cheapest first. */
typedef enum wherry_image_way {
  WHERRY_IMAGE_WAY_NONE = 0,
  WHERRY_IMAGE_WAY_UNTOUCHED = 1, /* the original bytes */
  WHERRY_IMAGE_WAY_STRIPPED = 2,  /* metadata removed or edited, nothing else */
  WHERRY_IMAGE_WAY_TURNED = 3,    /* rotated without loss */
  /* from a JPEG's coefficients or planes, without color conversion */
  WHERRY_IMAGE_WAY_RECODED = 4,
  WHERRY_IMAGE_WAY_STREAMED = 5,  /* decoded and encoded row by row */
  WHERRY_IMAGE_WAY_WHOLE = 6      /* decoded as a whole */
} wherry_image_way;

typedef struct wherry_image_info {
  size_t size;
  int64_t byte_count;     /* encoded; -1 for raw pixels */
  int64_t pixel_bytes;    /* memory for the decoded pixels */
  /* size of the image from which wherry_image_compress made this one; -1 if that had raw pixels,
   * and for other images */
  int64_t original_bytes;
  int32_t format;         /* wherry_image_format; KEEP for raw pixels */
  int32_t width, height;  /* as stored; swap them for display if orientation is 5 to 8 */
  int32_t orientation;    /* EXIF orientation, 1 to 8; 1 is upright */
  /* As stored: 1 gray or palette, 2 gray with alpha, 3 color, 4 color with alpha or CMYK */
  int32_t components;
  int32_t bit_depth;      /* of one sample */
  /* libjpeg quality (1 to 100) that wherry_image_compress used; otherwise 0 */
  int32_t quality;
  int32_t way;            /* wherry_image_way of wherry_image_compress; otherwise NONE */
  uint32_t flags;         /* combined wherry_image_flag values */
  int32_t reserved;       /* 0 */
} wherry_image_info;

/* How wherry_image_hash computes a hash. Only hashes of the same kind are comparable. */
typedef enum wherry_hash_kind {
  WHERRY_HASH_DIFFERENCE = 1, /* compares neighboring pixels: dhash of imagehash; cheaper */
  WHERRY_HASH_PERCEPTUAL = 2  /* compares the lowest frequencies: phash; survives more edits */
} wherry_hash_kind;

typedef enum wherry_photo_flag {
  WHERRY_PHOTO_HAS_POSITION = 1, /* latitude and longitude are set */
  WHERRY_PHOTO_HAS_ALTITUDE = 2
} wherry_photo_flag;

/* What EXIF says about a photograph. Values that are missing or malformed are 0 and "". */
typedef struct wherry_image_photo {
  size_t size;
  double latitude, longitude; /* degrees north and east; negative for south and west */
  double altitude;            /* meters above sea level; negative below */
  uint32_t flags;             /* combined wherry_photo_flag values */
  int32_t reserved;           /* 0 */
  /* The local time of the exposure: "2024-05-01T12:34:56", followed by the offset from UTC, such as
   * "+02:00", if the camera recorded it. */
  char taken_at[32];
  char make[64];              /* manufacturer of the camera, as UTF-8; longer texts are cut */
  char model[64];             /* model of the camera */
  char copyright[256];
  char artist[128];           /* photographer */
  char description[256];      /* of the image */
  char software[64];          /* that wrote the image, or the firmware of the camera */
} wherry_image_photo;

/* The similarity of two images: see wherry_image_compare. */
typedef struct wherry_image_comparison {
  size_t size;
  double ssim; /* mean structural similarity of the gray images, 1 for equal images */
  double psnr; /* peak signal-to-noise ratio of the RGB images, in dB; INFINITY for equal images */
} wherry_image_comparison;

/* Determines the image format from the first bytes: FF is JPEG, 89 PNG, 47 GIF, 49 or 4D TIFF,
 * RIFF....WEBP WebP, and an `ftyp` box HEIC or AVIF. WHERRY_IMAGE_KEEP for anything else. Twelve
 * bytes are enough, except for some AVIF files, which need up to 128: they count as HEIC otherwise.
 */
wherry_image_format wherry_image_recognise(const void *bytes, size_t count);
/* Creates an image from a file. Checks that the file can be opened; reads it when needed. */
wherry_status wherry_image_new_file(const char *path, wherry_image **out_image);
wherry_status wherry_image_new_bytes(const void *bytes, size_t count, wherry_image **out_image);
wherry_status wherry_image_new_pixels(const void *bytes, size_t count, wherry_pixel_format format,
    int32_t width, int32_t height, size_t stride_bytes, wherry_image **out_image);
/* Like wherry_image_new_pixels, without a copy: do not change or free the memory until
 * wherry_image_free has returned. wherry_image_free waits while the library reads the pixels. An
 * upload that still has to encode the image then fails with E_STATE `wrong_state`, so free the
 * image after the DONE events of its uploads. */
wherry_status wherry_image_new_pixels_lent(const void *bytes, size_t count,
    wherry_pixel_format format, int32_t width, int32_t height, size_t stride_bytes,
    wherry_image **out_image);
wherry_status wherry_image_free(wherry_image *image);
/* Reads the header without decoding. Set out_info->size first. */
wherry_status wherry_image_inspect(const wherry_image *image, wherry_image_info *out_info);
/* Reads from EXIF when, where, with which camera, and by whom a photograph was taken, without
 * decoding. Succeeds with empty values for an image without EXIF, and fails like
 * wherry_image_inspect. Set out_photo->size first. */
wherry_status wherry_image_read_photo(const wherry_image *image, wherry_image_photo *out_photo);
/* Returns the image that an upload with this compression (NULL: the default) would send. Blocks
 * while it compresses: tens of milliseconds for a photograph. Threads may compress different images
 * at the same time. */
wherry_status wherry_image_compress(const wherry_image *image,
    const wherry_compression *compression, wherry_image **out_image);
/* Like wherry_image_compress for `count` compressions, of which each may be NULL, but decodes the
 * image at most once, at the smallest scale that suffices for all results. The results are encoded
 * together while rows are decoded, so that the decoded image is not in memory. out_images has room
 * for `count` images, in the order of the compressions. Results of a PNG or of pixels, and those
 * that need no decoding, have the same bytes as from wherry_image_compress. Those of a JPEG have
 * the same size and almost the same pixels. The strictest limits apply to the decoding. If one
 * result fails, the call fails, all of out_images are NULL, and the message names the compression
 * if it is the cause. */
wherry_status wherry_image_compress_many(const wherry_image *image,
    const wherry_compression *const *compressions, size_t count, wherry_image **out_images);
/* Decodes an image to raw pixels, rotated upright unless KEEP_ORIENTATION is set. Format NONE
 * selects GRAY8, RGB8, or RGBA8, so that only bit depth above 8 is lost. compression may be NULL;
 * its MAX_WIDTH, MAX_HEIGHT, RESIZE_MODE, SHARPEN, BACKGROUND_RGB (of padding, and if the format
 * has no alpha), KEEP_ORIENTATION, ANIMATED, and limits apply. Blocks; fails like compress with
 * E_IMAGE, E_LIMIT, and E_FILE. */
wherry_status wherry_image_decode(const wherry_image *image, wherry_pixel_format format,
    const wherry_compression *compression, wherry_image **out_image);
/* Computes a perceptual hash of 64 bits. Copies of an image that were resized, recompressed, or
 * slightly edited have hashes that differ in few bits: usually at most 4, and 20 or more for
 * different images. `__builtin_popcountll(a ^ b)` counts them. The top left bit of the hash is the
 * most significant one. The hash equals that of the Python package imagehash 4.3 with Pillow 13,
 * but the image is rotated upright unless KEEP_ORIENTATION is set, and 16-bit gray images are not
 * clipped. Alpha is ignored; of an animation, one frame is used. compression may be
 * NULL; its KEEP_ORIENTATION and limits apply. Decodes the image, and blocks and fails like
 * wherry_image_decode. E_ARGUMENT `bad_value` for an unknown kind. */
wherry_status wherry_image_hash(const wherry_image *image, wherry_hash_kind kind,
    const wherry_compression *compression, uint64_t *out_hash);
/* Compares two images of the same size, such as an original and its compressed copy; their order
 * does not matter. SSIM uses a Gaussian window of 11x11 pixels with a standard deviation of 1.5, at
 * every position inside the image; along a side of fewer than 11 pixels, the window is as long as
 * the side. The images are rotated upright unless KEEP_ORIENTATION is set, and alpha is blended
 * with BACKGROUND_RGB. compression may be NULL; these options and the limits apply, the limits to
 * each image. Decodes both images row by row, and blocks and fails like wherry_image_decode.
 * E_ARGUMENT `bad_parameters` for different sizes. Set out_comparison->size first. */
wherry_status wherry_image_compare(const wherry_image *image, const wherry_image *other,
    const wherry_compression *compression, wherry_image_comparison *out_comparison);
/* Returns raw pixels, top row first, borrowed until wherry_image_free; NULL for an encoded image.
 * wherry_image_inspect returns width and height. *out_stride is the bytes per row. out_stride and
 * out_format may be NULL. */
const uint8_t *wherry_image_pixels(const wherry_image *image, wherry_pixel_format *out_format,
    size_t *out_stride);
/* The encoded image, borrowed until wherry_image_free; NULL and 0 for a file and for raw pixels. */
const uint8_t *wherry_image_bytes(const wherry_image *image, size_t *out_count);
/* Sets the file name in the multipart body and in errors; by default <ms since
 * 1970><index>.<ext>. */
wherry_status wherry_image_set_file_name(wherry_image *image, const char *file_name);

/* Creates a compression. quality is 0...1 for JPEG; any other value means 1, which keeps the
 * original if it satisfies the options. */
wherry_status wherry_compression_new(double quality, wherry_compression **out_compression);
wherry_status wherry_compression_free(wherry_compression *compression);
wherry_status wherry_compression_set_option(wherry_compression *compression,
    wherry_image_option option, int64_t value);
/* Sets the output format: "png", "PNG", "jpg", "JPG", "jpeg", or "JPEG", as in the iOS library
 * SJNetwork; anything else means "jpg". */
wherry_status wherry_compression_set_type(wherry_compression *compression, const char *type);
/* Sets an EXIF field in every result. "" removes the field and its copies; NULL undoes earlier calls
 * for this field. Applies after METADATA: the field is set even if the image had no EXIF, or METADATA
 * removes the rest. If NEVER_LARGER keeps the original, its metadata is edited as well.
 *
 * The text is stored as UTF-8, which most programs expect although EXIF defines ASCII. Other values
 * of EXIF keep their bytes and offsets, so that MakerNotes stay readable. Copies of the edited texts
 * in XMP, IPTC, and the texts of a PNG are removed, so that programs do not find two versions. XMP
 * and IPTC that cannot be parsed are removed completely, and damaged EXIF is replaced. Removing
 * TAKEN_AT removes all times in EXIF, including those of digitization, change, and GPS. MakerNotes
 * and additional images in a file are not edited.
 *
 * E_ARGUMENT `bad_value` for an unknown field, `bad_parameters` for a TAKEN_AT in another form
 * than above, and `bad_text` for a text that is not UTF-8. wherry_image_compress and uploads fail
 * with E_IMAGE `image_too_large` if the EXIF data exceed 65,527 bytes in a JPEG, or 1 MiB in a PNG. */
wherry_status wherry_compression_set_metadata(wherry_compression *compression,
    wherry_metadata_field field, const char *text);

/* ---- 14. Partial downloads on disk, including those of earlier processes --------------------- */

/* Reads the journals in a directory and starts nothing. E_FILE if it cannot be read. */
wherry_status wherry_partial_list(const char *directory,
    wherry_list **out_list /* rows by wherry_list_partial */);
/* Returns how much of the download to path is already in its partial file, 0.00...1.00, like the
 * iOS library SJNetwork. 0 without a partial file, and for an unknown length. */
double wherry_partial_ratio(const char *path);
/* Deletes the partial file and its journal. OK if there are none; E_BUSY while a transfer uses
 * them. */
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

/* Parses RFC 8259 JSON with exact 64-bit integers, at most 512 levels deep. E_ARGUMENT `bad_json`
 * for anything else; E_LIMIT `too_large` above 64 MiB. */
wherry_status wherry_json_parse(const void *text, size_t count, wherry_json **out_json);
/* Creates a null value. Setting a member of it makes it an object; setting an element makes it an
 * array. */
wherry_status wherry_json_new(wherry_json **out_json);
wherry_status wherry_json_free(wherry_json *json);
/* Paths look like "data/items/0/name"; "" or NULL is the root. Empty segments are skipped; in a
 * name, ~1 means / and ~0 means ~; when setting, "-" appends. Getters return `otherwise` if the
 * path is missing or the value does not convert. The string "12" converts to a number, and 12 to a
 * string. As a bool, a number is true unless it is 0, and a string is true if it starts with y, Y,
 * t, T, or 1. */
wherry_json_type wherry_json_get_type(const wherry_json *json, const char *path);
size_t wherry_json_count(const wherry_json *json, const char *path);
bool wherry_json_get_bool(const wherry_json *json, const char *path, bool otherwise);
int64_t wherry_json_get_integer(const wherry_json *json, const char *path, int64_t otherwise);
/* Like wherry_json_get_integer, for values from 0 to UINT64_MAX. */
uint64_t wherry_json_get_unsigned(const wherry_json *json, const char *path, uint64_t otherwise);
double wherry_json_get_number(const wherry_json *json, const char *path, double otherwise);
/* Returns a string that is borrowed until json changes. out_count may be NULL; use it if the text
 * can contain NULs. */
const char *wherry_json_get_text(const wherry_json *json, const char *path, const char *otherwise,
    size_t *out_count);
/* Returns the name at an index of the object at path, or NULL. */
const char *wherry_json_name_at(const wherry_json *json, const char *path, size_t index);
wherry_status wherry_json_set_bool(wherry_json *json, const char *path, bool value);
wherry_status wherry_json_set_integer(wherry_json *json, const char *path, int64_t value);
wherry_status wherry_json_set_number(wherry_json *json, const char *path, double value);
wherry_status wherry_json_set_text(wherry_json *json, const char *path, const char *value);
/* Sets a copy of a value; NULL sets JSON null. json and value may be the same. */
wherry_status wherry_json_set_value(wherry_json *json, const char *path, const wherry_json *value);
/* Removes null members of all objects at any depth; arrays keep their nulls. */
wherry_status wherry_json_remove_nulls(wherry_json *json);
/* Returns a copy of the value at the path. E_ARGUMENT `not_found` if there is none. */
wherry_status wherry_json_copy(const wherry_json *json, const char *path, wherry_json **out_copy);
/* Returns the JSON text, borrowed until the next print or change. With pretty, lines are indented
 * by two spaces, and names are sorted; wherry_request_identifier uses this format. */
const char *wherry_json_print(const wherry_json *json, bool pretty, size_t *out_count);

/* ---- 16. Stub transport: canned responses instead of a network, for tests -------------------- */

wherry_status wherry_stub_new(wherry_stub **out_stub);
/* Frees the handle. The stub lives as long as clients use it. */
wherry_status wherry_stub_free(wherry_stub *stub);
/* Adds a rule that responds to the next `times` matching requests (-1: all). Of the matching rules
 * that are not used up, the oldest applies. A NULL method matches any. In url, '*' matches any
 * text; a '*' in the host matches only within the host. head is "Name: value\n" lines or NULL.
 * Requests that match no rule fail with E_NETWORK `connect`. */
wherry_status wherry_stub_add_response(wherry_stub *stub, const char *method, const char *url,
    int32_t times, int32_t http_code, const char *head, const void *body, size_t count);
/* Adds a rule that makes matching requests fail with a reason of docs/errors.md, such as "resolve"
 * or "truncated". after_bytes is the size of the response body that arrives before the failure. */
wherry_status wherry_stub_add_failure(wherry_stub *stub, const char *method, const char *url,
    int32_t times, const char *reason, int64_t after_bytes);
/* Leaves the response to the program: each matching request raises a WHERRY_HOOK_RESPOND event in
 * the queue of its transfer, after the request body has been read (at most 64 MiB). Requests sent
 * by wherry_client_perform have no queue and fail. Background validations fail too. */
wherry_status wherry_stub_add_hook(wherry_stub *stub, const char *method, const char *url,
    int32_t times);
/* Sends matching requests to the network, with all settings of the client except WAIT_FOR_NETWORK.
 * Do not combine with wherry_stub_advance_ms. */
wherry_status wherry_stub_add_network(wherry_stub *stub, const char *method, const char *url,
    int32_t times);
/* Delays the responses or failures of the rule added last. After the first call of
 * wherry_stub_advance_ms, the delay follows the stub's clock. E_STATE for rules of
 * wherry_stub_add_hook and wherry_stub_add_network. */
wherry_status wherry_stub_set_delay_ms(wherry_stub *stub, int64_t milliseconds);
/* Advances the clock of all clients with this stub. After the first call, their timeouts and retry
 * delays depend only on this clock. Returns when everything that is due has happened. */
wherry_status wherry_stub_advance_ms(wherry_stub *stub, int64_t milliseconds);
size_t wherry_stub_request_count(const wherry_stub *stub);
/* Copies a recorded request, as a response object with the URL, headers, and body that would have
 * been sent. index counts in the order of arrival. The first header is ":method". Requests that
 * matched a rule of wherry_stub_add_hook or wherry_stub_add_network are neither recorded nor
 * counted. */
wherry_status wherry_stub_copy_request(const wherry_stub *stub, size_t index,
    wherry_response **out_echo);

/* ---- 17. Caches ------------------------------------------------------------------------------ */

typedef enum wherry_cache_store {
  WHERRY_STORE_TIMED = 1,
  WHERRY_STORE_HTTP = 2,
  WHERRY_STORE_PARTIALS = 4 /* of downloads, in the directories that this client has used */
} wherry_cache_store;

typedef struct wherry_cache_usage {
  size_t size;
  int64_t entries, entry_bytes; /* on disk */
  int64_t partials, partial_bytes;
  int64_t memory_bytes; /* of entries that are also in memory */
} wherry_cache_usage;

/* None of these functions sends a request. They may block on the disk, and fail with E_FILE
 * (`bad_storage` and others) if the storage folder cannot be used.
 *
 * Returns the cached response for a request. A request with the policy PROTOCOL, RELOAD, ANY_AGE,
 * or ANY_AGE_ONLY reads the HTTP cache, any other the timed cache. With OPTION_HTTP_CACHE, the HTTP
 * cache is also tried after a miss in the timed cache. E_CACHE_MISS has the reason `missing`,
 * `damaged`, `clock`, `stale`, `app_version`, or `cache_version`. The timed cache deletes entries
 * that it cannot serve. */
wherry_status wherry_client_read_cache(wherry_client *client, const wherry_request *request,
    wherry_response **out_response);
/* Stores a response with status 200 in the timed cache. E_ARGUMENT `bad_value` unless duration_ms
 * is positive. content_type may be NULL. */
wherry_status wherry_client_write_cache(wherry_client *client, const wherry_request *request,
    const void *bytes, size_t count, const char *content_type, int64_t duration_ms);
/* Deletes the entry of the timed cache for this request, and those of the HTTP cache for its URL
 * and query. *out_count is 1 if at least one entry was deleted, otherwise 0. */
wherry_status wherry_client_remove_cache(wherry_client *client, const wherry_request *request,
    size_t *out_count);
/* Lists usable entries. url is a URL as in a request or in a row of this list; NULL means all URLs.
 * A NULL method matches any. stores is TIMED, HTTP, or both, combined with |. base is the name of
 * the entries' base URL, NULL for the unnamed one. Entries of requests with IGNORE_BASE have no
 * base URL, and are always included. In the timed cache, url is the URL that the request was given,
 * without the query made from parameters. In the HTTP cache, a URL without a query matches all
 * queries, and all entries have the method GET. Secret values in the query of a stored URL, such as
 * `token` and `password`, appear on disk and in rows as keyed hashes (`token=***3f0c...`); you can
 * pass such a URL too. Deletes entries of the timed cache that have expired. */
wherry_status wherry_client_list_cache(wherry_client *client, uint32_t stores, const char *base,
    const char *url, const char *method, wherry_list **out_list /* rows by wherry_list_entry */);
/* Returns the response of a listed entry; E_CACHE_MISS `missing` if the entry no longer exists. */
wherry_status wherry_client_read_cache_entry(wherry_client *client, const char *entry_id,
    wherry_response **out_response);
/* Deletes a listed entry. *out_count is 1, or 0 if the entry was gone. */
wherry_status wherry_client_remove_cache_entry(wherry_client *client, const char *entry_id,
    size_t *out_count);
/* Deletes the entries that wherry_client_list_cache would list. stores can also contain
 * WHERRY_STORE_PARTIALS, which deletes the matching partial files, except those of running
 * downloads. Returns OK even if nothing matches; *out_count is the number of matches. */
wherry_status wherry_client_clear_cache(wherry_client *client, uint32_t stores, const char *base,
    const char *url, const char *method, size_t *out_count);
/* Set out_usage->size first. */
wherry_status wherry_client_cache_usage(wherry_client *client, wherry_cache_usage *out_usage);
/* Formats a byte count, as in "1023.9990 KB" or "1.2385 MB". Copies like wherry_client_copy_header;
 * 32 bytes suffice. */
wherry_status wherry_format_bytes(int64_t bytes, char *buffer, size_t capacity, size_t *out_count);

/* ---- 18. Background sessions: downloads and uploads that outlive the process ----------------- */

/* A separate process, wherry-agent, runs the jobs of a session. It starts with the first job, and
 * exits when no job is left and no program follows one. Programs of the same user that open a
 * session with the same name share its jobs. Job records are in $XDG_STATE_HOME/wherry/<name>, mode
 * 0700. They contain the request headers until the job ends. These functions wait for the disk and
 * the agent. */
typedef struct wherry_session wherry_session;

/* Opens or creates the session of that name. The name is a file name of at most 100 bytes, without
 * spaces or a leading dot. Starts no agent. A NULL config means all defaults. The options of the
 * config apply to the jobs, except those for caches and hooks. User names and passwords, pins, and
 * client certificates give `bad_option`; job records cannot store them. Job records do contain the
 * headers and bearer tokens of requests. E_FILE `unsafe_state_dir`: the folder is a link, belongs
 * to another user, or is accessible to others. */
wherry_status wherry_session_new(const wherry_config *config, const char *name,
    wherry_session **out_session);
/* Frees the session and stops following its jobs, which continue. */
wherry_status wherry_session_free(wherry_session *session);
#define WHERRY_JOB_ID_SIZE 33 /* 32 hexadecimal digits and NUL */

/* Starts a download job; returns when the agent has stored it. Fails like wherry_client_download,
 * and with E_FILE `no_agent` if no agent can be started. A call with the path and URL of an
 * existing job returns OK and the id of that job. If that job is paused, interrupted, or failed, it
 * continues its partial file with this request; if it is cancelled, it starts again. A job that is
 * running, or done and not acknowledged, does not change. E_BUSY `busy`: another URL is being
 * downloaded to that path. out_id has WHERRY_JOB_ID_SIZE bytes or is NULL. path must be absolute.
 * */
wherry_status wherry_session_download(wherry_session *session, const wherry_request *request,
    const char *path, char *out_id);
/* Starts an upload job. Before it returns, it encodes images, reads files, and stores a copy of the
 * body. Streamed bodies and SEPARATE_IMAGES are not supported. Each call starts a separate job. If
 * the connection is lost or the agent dies, the upload is sent again from its first byte. Each
 * attempt has the same header `Idempotency-Key: "<job id>"`, so that the server can recognize a
 * repeated upload. A header of that name in the request or config overrides it; a NULL value
 * suppresses it. After a 2xx status, the upload is not sent again. If the agent dies after it has
 * recorded this status and before it has the complete response, the job is DONE, with the reason
 * `interrupted` and a response without a body. If the agent sent the upload completely but its
 * result cannot be found out any more, the job is FAILED with the reason `interrupted` and is not
 * sent again; check whether the server has the upload. If the stored copy of the body has changed,
 * the job fails with `damaged_job`, and nothing is sent. E_TIMEOUT if the agent does not reply in
 * time. It may still run the job, whose id is in the error message. */
wherry_status wherry_session_upload(wherry_session *session, const wherry_request *request,
    char *out_id);
/* Lists all jobs, including finished ones that are not acknowledged, oldest first. If the agent has
 * died, a new agent starts and resumes the jobs. Without OPTION_AUTOSTART none starts, and the jobs
 * are INTERRUPTED. A job whose record cannot be read is FAILED with the reason `damaged_job`; its
 * message says why, and acknowledging it deletes the record. */
wherry_status wherry_session_list(wherry_session *session,
    wherry_list **out_list /* rows by wherry_list_job */);
/* Sends STATE, PROGRESS, and DONE events of one job (NULL: all jobs, including later ones) to the
 * queue, starting with the current state. A finished job sends DONE at once, after a PROGRESS with
 * its size. If the agent is unreachable, STATE INTERRUPTED says why, and the library keeps trying.
 * Until the job is acknowledged or removed, every follower gets DONE, even a late one. After that,
 * following the job gives `not_found`. Freeing the session or the queue stops the events;
 * wherry_queue_cancel does not. Following a job that the session already follows gives E_BUSY
 * `already_running`. While a program follows a job, the agent stays alive. */
wherry_status wherry_session_follow(wherry_session *session, const char *job_id,
    wherry_queue *queue, void *user_data);
/* You may repeat these calls; they do not change a finished job. E_ARGUMENT `not_found` if the job
 * does not exist. When wherry_session_pause returns, the job's data is safely on disk. */
wherry_status wherry_session_pause(wherry_session *session, const char *job_id);
wherry_status wherry_session_resume(wherry_session *session, const char *job_id);
/* Cancels a job and deletes its partial data. The record stays until you acknowledge the job. */
wherry_status wherry_session_cancel(wherry_session *session, const char *job_id);
/* Acknowledges a finished job and deletes its record. Only one caller among all processes gets OK;
 * others get E_ARGUMENT `not_found`. Therefore handle DONE only if this call succeeds. E_STATE for
 * an unfinished job. A finished job that no program acknowledges is removed after 7 days. */
wherry_status wherry_session_acknowledge(wherry_session *session, const char *job_id);
/* Pause, resume, cancel, or acknowledge all matching jobs. match is ALL, URL, URLS, TAG, or PATH;
 * others give `bad_argument`. URLs are compared without their queries. Return OK even if nothing
 * matches. *out_count is the number of matching unfinished jobs; for acknowledge_all, of
 * acknowledged jobs. If the call fails for one job, it still applies to the others, and returns the
 * first error. */
wherry_status wherry_session_pause_all(wherry_session *session, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_session_resume_all(wherry_session *session, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_session_cancel_all(wherry_session *session, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_session_acknowledge_all(wherry_session *session, wherry_match match,
    const char *key, size_t *out_count);
/* Copies a description, as in "<Download job: 3f2a91c07d5e>", or if in_full, several lines: kind,
 * URL, path, tag, state, progress, error. Contains no secrets. Copies like
 * wherry_client_copy_header. E_ARGUMENT `not_found` if the job does not exist. */
wherry_status wherry_session_copy_description(wherry_session *session, const char *job_id, bool in_full,
    char *buffer, size_t capacity, size_t *out_count);
/* Runs wherry-agent inside your program, which then acts as the agent. Returns the exit status when
 * no jobs are left. */
int wherry_agent_main(int count, const char *const *arguments);

/* ---- 19. Reachability: network reachability, from kernel routing state ----------------------- */

/* A monitor of network reachability, based on links, addresses, and routes of IPv4 and IPv6. It
 * does not poll, and sends packets only for probes and name resolution. One thread serves all
 * monitors that run or are waited for. */
typedef struct wherry_reachability wherry_reachability;

typedef enum wherry_reach {
  WHERRY_REACH_UNKNOWN = -1, /* not determined yet */
  WHERRY_REACH_NONE = 0,
  WHERRY_REACH_WWAN = 1,     /* a mobile network */
  WHERRY_REACH_WIFI = 2      /* any other network, including Ethernet and tunnels */
} wherry_reach;

/* Each comment begins with the default value of the option. */
typedef enum wherry_reach_option {
  /* default 0; 1: sends an event after every evaluation, even without a change */
  WHERRY_REACH_RAW = 1,
  /* default 0; 1: wherry_reachability_start evaluates the status before it returns, and may wait
   * for DNS */
  WHERRY_REACH_INITIAL_SYNC = 2,
  WHERRY_REACH_PROBE_INTERVAL_MS = 3, /* 30000; at least 10 */
  WHERRY_REACH_PROBE_TIMEOUT_MS = 4   /* 5000; at least 1 */
} wherry_reach_option;

/* target: a host name or an address; NULL: any network. Names are resolved at the start and after
 * network changes; a name that does not resolve is not reachable. A URL gives E_ARGUMENT
 * `bad_value`. */
wherry_status wherry_reachability_new(const char *target, wherry_reachability **out_reachability);
/* Creates a monitor whose status you set with wherry_reachability_report, for tests and programs
 * with a better source. */
wherry_status wherry_reachability_new_reported(wherry_reachability **out_reachability);
/* Returns the client's own monitor, whose target is any network. You own the handle; freeing it
 * does not stop the monitor. */
wherry_status wherry_client_open_reachability(wherry_client *client,
    wherry_reachability **out_reachability);
/* Creates an observer. Until you free the observer, the queue receives the events of all monitors
 * in the process, including those started without a queue. The status of the observer itself is
 * UNKNOWN. */
wherry_status wherry_reachability_observe(wherry_queue *queue, void *user_data,
    wherry_reachability **out_reachability);
/* Frees the handle, and stops the monitor unless it is the client's own. No event follows; queued
 * events are dropped. */
wherry_status wherry_reachability_free(wherry_reachability *reachability);
/* Set options and the probe before the first start or wait; afterwards these two functions return
 * E_STATE. */
wherry_status wherry_reachability_set_option(wherry_reachability *reachability,
    wherry_reach_option option, int64_t value);
/* Sets a probe: the target then counts as reachable only if there is a route and a server responds.
 * With "tcp://host:port", the server must accept a connection. With "http://..." and "https://...",
 * it must respond to GET with 200 to 299, without a redirect. NULL removes the probe. An invalid
 * URL gives E_ARGUMENT `bad_url`. */
wherry_status wherry_reachability_set_probe(wherry_reachability *reachability, const char *url);
/* Starts the monitor. It sends one REACHABILITY event soon, whatever the status, and then one for
 * every change. Starting a running monitor restarts it. If queue is NULL, only observers get
 * events. E_NETWORK `no_network_state` if the system does not provide routing state. */
wherry_status wherry_reachability_start(wherry_reachability *reachability, wherry_queue *queue,
    void *user_data);
/* Stops the monitor, which keeps its status. No event follows; queued events are dropped. */
wherry_status wherry_reachability_stop(wherry_reachability *reachability);
/* Returns the current status; UNKNOWN before the first start or wait. */
wherry_reach wherry_reachability_status(const wherry_reachability *reachability);
/* Returns the kind of the route's first interface: "wired", "wifi", "wwan", "vpn", "loopback", or
 * "none". Static text. */
const char *wherry_reachability_interface(const wherry_reachability *reachability);
/* Copies the name of that interface, such as "eth0"; "" for none. Copies like
 * wherry_client_copy_header; 16 bytes suffice. */
wherry_status wherry_reachability_copy_name(const wherry_reachability *reachability, char *buffer,
    size_t capacity, size_t *out_count);
/* Waits until the status is WWAN or WIFI; E_TIMEOUT if that takes longer than timeout_ms. A
 * negative timeout_ms means no limit. The monitor need not be started. */
wherry_status wherry_reachability_wait(wherry_reachability *reachability, int64_t timeout_ms);
/* Like wherry_reachability_wait, without blocking: sends one REACHABILITY event, with NONE after a
 * timeout. No event arrives once the monitor is freed. */
wherry_status wherry_reachability_notify(wherry_reachability *reachability, int64_t timeout_ms,
    wherry_queue *queue, void *user_data);
/* Sets the status of a monitor made by wherry_reachability_new_reported; E_STATE for others. */
wherry_status wherry_reachability_report(wherry_reachability *reachability, wherry_reach status);
/* Returns the status before the change that a REACHABILITY event reports. If the event reports no
 * change, this is the current status. UNKNOWN for other events. */
wherry_reach wherry_event_reach_before(const wherry_event *event);
/* Returns the localized text of a status, such as "Reachable via WiFi". Languages: simplified
 * Chinese ("zh", "zh_CN.UTF-8"), traditional Chinese ("zh-Hant", "zh_TW"), and English for
 * everything else. Static text. */
const char *wherry_reach_text(wherry_reach status, const char *language);
/* Like wherry_reach_text, for a kind of interface as wherry_reachability_interface returns it:
 * "Reachable via Ethernet" for "wired". For unknown kinds and NULL, it returns the same as
 * wherry_reach_text. Static text. */
const char *wherry_reach_interface_text(wherry_reach status, const char *interface,
    const char *language);
/* Replaces the text of a status in this process, for both functions above and every kind of
 * interface. NULL restores the default. */
wherry_status wherry_reach_set_text(wherry_reach status, const char *language, const char *text);
/* Sets the kind of the interfaces whose name matches ("usb0", or "usb*" for a prefix) in this
 * process. word is a result of wherry_reachability_interface except "none"; NULL removes the
 * pattern. */
wherry_status wherry_reach_set_interface(const char *pattern, const char *word);

/* ---- 20. Log, descriptions, and counters ----------------------------------------------------- */

/* A client logs nothing by default. Enable the log with OPTION_DEBUG, with the calls below, or from
 * the environment: WHERRY_LOG=<level> writes to standard error, and with WHERRY_LOG_FILE=<path> to
 * that file instead. Programs with elevated privileges ignore both. Bodies are never logged. Secret
 * values are always redacted: Authorization, Cookie, Set-Cookie, user names and passwords in URLs,
 * and every field whose name contains token, secret, password, key, or similar. */
typedef enum wherry_log_level {
  WHERRY_LOG_OFF = 0,
  WHERRY_LOG_ERROR = 1,   /* failures */
  WHERRY_LOG_WARNING = 2, /* problems that did not stop the transfer */
  WHERRY_LOG_INFO = 3,    /* start, steps, and end of each transfer, without queries and headers */
  WHERRY_LOG_DEBUG = 4    /* everything except bodies */
} wherry_log_level;

/* The kind of a log record. Later versions may add kinds. */
typedef enum wherry_log_event {
  WHERRY_LOG_EVENT_NONE = 0,
  WHERRY_LOG_EVENT_STARTED = 1,    /* the first attempt starts */
  WHERRY_LOG_EVENT_HEADER = 2,     /* one of your headers is sent */
  /* request number `count` of this transfer is sent, counting redirects and retries */
  WHERRY_LOG_EVENT_SENT = 3,
  WHERRY_LOG_EVENT_HEADERS = 4,    /* status and headers have arrived */
  WHERRY_LOG_EVENT_REDIRECTED = 5,
  WHERRY_LOG_EVENT_RETRIED = 6,    /* an attempt failed (see reason), and a retry follows */
  WHERRY_LOG_EVENT_SUSPENDED = 7,
  WHERRY_LOG_EVENT_RESUMED = 8,
  WHERRY_LOG_EVENT_RESTARTED = 9,  /* a download restarts at byte 0 */
  WHERRY_LOG_EVENT_PROGRESSED = 10, /* `count` bytes */
  WHERRY_LOG_EVENT_HOOK = 11,      /* a hook was called; the transfer waits until it is resolved */
  WHERRY_LOG_EVENT_ADAPTED = 12,   /* a hook changed the request */
  WHERRY_LOG_EVENT_IMAGE = 13,     /* image number `count` is ready, or failed */
  WHERRY_LOG_EVENT_HIT = 14,       /* a cache has a usable response */
  WHERRY_LOG_EVENT_MISSED = 15,    /* a cache has no usable response */
  WHERRY_LOG_EVENT_BYPASSED = 16,  /* no cache applies */
  WHERRY_LOG_EVENT_STORED = 17,
  WHERRY_LOG_EVENT_UNSTORED = 18,  /* the response could not be stored */
  WHERRY_LOG_EVENT_VERIFYING = 19,
  WHERRY_LOG_EVENT_MOVED = 20,     /* a download was renamed to its final name, `path` */
  /* the transfer ended; like FAILED and CANCELLED, this record has metrics */
  WHERRY_LOG_EVENT_SUCCEEDED = 21,
  WHERRY_LOG_EVENT_FAILED = 22,
  WHERRY_LOG_EVENT_CANCELLED = 23,
  WHERRY_LOG_EVENT_REFUSED = 24,   /* a call failed and changed nothing */
  WHERRY_LOG_EVENT_CLOSED = 25,    /* the client was closed */
  WHERRY_LOG_EVENT_LOST = 26,      /* `count` records are missing here */
  WHERRY_LOG_EVENT_WARNED = 27
} wherry_log_event;

typedef struct wherry_log_record {
  size_t size;
  int64_t time_ms;      /* since 1970 */
  uint64_t transfer_id; /* or 0 */
  const char *text;     /* human-readable; LF separates lines; control characters are escaped */
  const char *method, *url, *reason, *path; /* or NULL; url without its query */
  int64_t count;        /* see the events */
  int32_t level;        /* wherry_log_level */
  int32_t event;        /* wherry_log_event */
  int32_t http_code;    /* or 0 */
  int32_t has_metrics;  /* 1: the fields below are of the whole transfer, as in wherry_metrics */
  int64_t queued_us, lookup_us, connect_us, tls_us, first_byte_us, total_us;
  int64_t sent_bytes, received_bytes;
} wherry_log_record;

typedef struct wherry_counters {
  size_t size;
  int64_t started, succeeded, failed, cancelled; /* transfers */
  int64_t requests;   /* sent; each redirect, retry, and download connection counts */
  int64_t retried, redirected;
  int64_t cache_hits; /* transfers completed without a request to the server */
  int64_t sent_bytes, received_bytes; /* on the wire, headers included */
} wherry_counters;

/* Sends LOG events of this client to a queue; OFF or a NULL queue stops them. The LOG events of a
 * transfer arrive in order, the last one before its DONE. While 1,000 LOG events are queued,
 * further ones are dropped and counted in a LOST event. */
wherry_status wherry_client_set_log(wherry_client *client, wherry_log_level level,
    wherry_queue *queue, void *user_data);
/* Sends ACTIVITY events of this client to a queue, for an activity indicator; a NULL queue stops
 * them. The `detail` of an event is the number of running transfers. When a transfer starts while
 * none is running, an event arrives show_after_ms later, if any transfer still runs then: show the
 * indicator. After the last one has ended or been paused, an event with 0 arrives hide_after_ms
 * later: hide the indicator. When the client is freed, it arrives at once. Good values are 1000 and
 * 170. E_ARGUMENT `bad_value` for negative delays. */
wherry_status wherry_client_set_activity(wherry_client *client, wherry_queue *queue,
    int64_t show_after_ms, int64_t hide_after_ms, void *user_data);
/* Appends the log to a file, optionally as one JSON object per line. The file has mode 0600; above
 * max_bytes (0: no limit) it is renamed to PATH.1, and a new one is started. A library thread
 * writes the file. OFF or a NULL path stops the log file. When that call or wherry_client_free
 * returns, all records have been written. */
wherry_status wherry_client_set_log_file(wherry_client *client, wherry_log_level level,
    const char *path, bool json, int64_t max_bytes);
/* Adds the name of a header, parameter, or JSON member whose values are redacted. Case, - and _ are
 * ignored. */
wherry_status wherry_client_add_secret_name(wherry_client *client, const char *name);
/* Returns the record of a LOG event; E_STATE for other events. Its texts are borrowed from the
 * event. */
wherry_status wherry_event_log(const wherry_event *event, wherry_log_record *out_record);
/* Copies a description such as "<Request: 12>". With in_full, it has several lines: kind, method,
 * URL, and parameters; the cache settings of a request, the images of an upload, or the path of a
 * download; identifier and state. Copies like wherry_client_copy_header. */
wherry_status wherry_transfer_copy_description(const wherry_transfer *transfer, bool in_full,
    char *buffer, size_t capacity, size_t *out_count);
/* Copies the absolute URL that a request is sent to, including the base URL and the complete query.
 * Fails like wherry_client_send for an invalid URL. Copies like wherry_client_copy_header. */
wherry_status wherry_client_copy_url(const wherry_client *client, const wherry_request *request,
    char *buffer, size_t capacity, size_t *out_count);
/* Copies a curl command that sends the same request. Without with_secrets, the command contains ***
 * instead of secrets and of bodies that are neither forms nor JSON. It uploads the original images,
 * not the compressed ones. Sends nothing and opens no file; fails like wherry_client_send. Copies
 * like copy_header. */
wherry_status wherry_client_copy_curl_command(const wherry_client *client,
    const wherry_request *request, bool with_secrets, char *buffer, size_t capacity,
    size_t *out_count);
wherry_status wherry_transfer_copy_curl_command(const wherry_transfer *transfer, bool with_secrets,
    char *buffer, size_t capacity, size_t *out_count);
/* Returns the counters since the client was created, for all hosts (NULL) or one, such as
 * "example.org" (any port). A transfer counts for the host of its first URL; requests and bytes
 * count for the host of each request. */
wherry_status wherry_client_counters(const wherry_client *client, const char *host,
    wherry_counters *out_counters);

/* ---- 21. Models and pages -------------------------------------------------------------------- */

typedef struct wherry_mapping wherry_mapping;   /* the JSON paths and types of an item's fields */
/* a request that is sent repeatedly; each time is an access, and a new access cancels the previous
 * one */
typedef struct wherry_endpoint wherry_endpoint;
typedef struct wherry_pager wherry_pager;       /* a list that is loaded page by page */

/* The type of a field. Numbers and strings convert if nothing is lost: "12" to the integer 12, but
 * not "12 apples". Integers are exact up to 64 bits. Unless the comment of a type says otherwise,
 * other values do not match it. */
typedef enum wherry_field_type {
  WHERRY_FIELD_VALUE = 0,   /* any value except null, unchanged */
  WHERRY_FIELD_TEXT = 1,    /* a string; a number becomes its digits */
  WHERRY_FIELD_INTEGER = 2, /* a number without a fraction, or a string of such a number */
  WHERRY_FIELD_NUMBER = 3,  /* a number, or a string of one */
  /* a bool, number, or string; numbers except 0 are true, and so are strings starting with y, Y, t,
   * T, or 1 */
  WHERRY_FIELD_BOOL = 4,
  WHERRY_FIELD_ITEM = 5     /* an object with its own mapping; "" and [] count as missing */
} wherry_field_type;

wherry_status wherry_mapping_new(wherry_mapping **out_mapping);
wherry_status wherry_mapping_free(wherry_mapping *mapping);
/* Adds a field `name` of the item, found at `path` (NULL: at its name). arrays is the number of
 * nested arrays around the values, 0 to 16; an element of the wrong type makes its array, and so
 * the whole field, a value of the wrong type. item is the mapping of a FIELD_ITEM, copied at once
 * and nested at most 16 deep; otherwise NULL. */
wherry_status wherry_mapping_add(wherry_mapping *mapping, const char *name, const char *path,
    wherry_field_type type, int32_t arrays, const wherry_mapping *item);
/* Creates a mapping of the fields that most lists show: the strings "identifier", "title",
 * "subtitle", "image", and "accessoryImage". The images are strings such as URLs; your program
 * loads them. If you add a field with one of these names, it takes precedence when it is found. */
wherry_status wherry_mapping_new_base_item(wherry_mapping **out_mapping);
/* Reads the fields from the value at `path` in `json` and sets them in `record`. A field that is
 * missing, null, or of the wrong type leaves its member unchanged. A null record becomes an
 * object. */
wherry_status wherry_mapping_apply(const wherry_mapping *mapping, const wherry_json *json,
    const char *path, wherry_json *record);
/* Lists everything that apply would skip, as an array of {"path": "people/0/name", "kind":
 * "missing"}; other kinds are "null" and "wrong_type". Empty if apply would skip nothing. */
wherry_status wherry_mapping_check(const wherry_mapping *mapping, const wherry_json *json,
    const char *path, wherry_json **out_problems);

/* Sets the URL of a request from a server name as users type it ("example.org",
 * "https://example.org/") and a path on that server. The default scheme is http. An invalid URL
 * gives E_ARGUMENT `bad_url`. */
wherry_status wherry_request_set_server(wherry_request *request, const char *server,
    const char *path);

typedef struct wherry_timing {
  size_t size;
  int64_t started_us;                                /* on the system's monotonic clock */
  int64_t queued_us, lookup_us, connect_us, tls_us;  /* the duration of each step */
  /* from the start of the last HTTP request to the first and to the last byte of its response */
  int64_t first_byte_us, network_us;
  int64_t total_us;                                  /* of the access, without parsing */
  /* duration of wherry_endpoint_json; 0 before it */
  int64_t parse_us;
} wherry_timing;

/* A copy of `request` is the template of every access. Each access is an ordinary transfer, whose
 * events go to the queue with this user_data. */
wherry_status wherry_endpoint_new(wherry_client *client, const wherry_request *request,
    wherry_queue *queue, void *user_data, wherry_endpoint **out_endpoint);
wherry_status wherry_endpoint_free(wherry_endpoint *endpoint); /* cancels */
/* Starts an access. parameters is a JSON object that replaces the request's parameters. NULL means
 * those of the last access, or of the template for the first access. A running access ends with
 * DONE E_CANCELLED `replaced` before the first event of the new one. */
wherry_status wherry_endpoint_access(wherry_endpoint *endpoint, const wherry_json *parameters,
    wherry_transfer **out_transfer);
/* Like access with NULL, but starts nothing while an access is running; *out_transfer is then
 * NULL. */
wherry_status wherry_endpoint_load(wherry_endpoint *endpoint, wherry_transfer **out_transfer);
/* returns OK even if no access is running */
wherry_status wherry_endpoint_cancel(wherry_endpoint *endpoint);
/* Returns NONE before the first access, RUNNING during one, then DONE, FAILED, or CANCELLED. The
 * state changes before the DONE event can be read. */
wherry_state wherry_endpoint_state(const wherry_endpoint *endpoint);
/* Parses the last response as JSON. E_STATE without a response; E_HTTP `bad_json_body` if it is not
 * JSON. */
wherry_status wherry_endpoint_json(const wherry_endpoint *endpoint, wherry_json **out_json);
/* Gets the timing of the last finished access; E_STATE if there is none. Set out_timing->size
 * first. */
wherry_status wherry_endpoint_timing(const wherry_endpoint *endpoint, wherry_timing *out_timing);

/* How a pager recognizes the last page. */
typedef enum wherry_pager_end {
  /* fewer items than wherry_pager_set_size says or, without a size, than the page before */
  WHERRY_PAGER_END_SHORT_PAGE = 0,
  WHERRY_PAGER_END_LAST_PAGE = 1,  /* path: number of the last page */
  WHERRY_PAGER_END_HAS_NEXT = 2,   /* path: a bool */
  /* path: total number of items; an empty page also ends the list */
  WHERRY_PAGER_END_TOTAL = 3,
  /* path: token of the next page, sent as the page parameter; if missing, the end */
  WHERRY_PAGER_END_CURSOR = 4,
  /* path: URL of the next page, of the same origin; NULL: the Link header with rel="next" */
  WHERRY_PAGER_END_LINK = 5
} wherry_pager_end;

/* Creates a pager. items_path is the path of the items array, such as "data/list"; NULL means the
 * whole response. Defaults: first page 0, parameter "nextPage", SHORT_PAGE. A request that has
 * neither a method nor parameters is sent as GET. Once a load has started, the functions that
 * configure the pager return E_STATE. Contradictory settings give `bad_value` at the first load. */
wherry_status wherry_pager_new(wherry_client *client, const wherry_request *request,
    const char *items_path, wherry_queue *queue, void *user_data, wherry_pager **out_pager);
wherry_status wherry_pager_free(wherry_pager *pager); /* cancels a load and drops the items */
wherry_status wherry_pager_set_parameter(wherry_pager *pager, const char *name, int64_t first_page);
/* Sets the number of items per page, sent as `parameter` (NULL: not sent). With by_items, the page
 * parameter is the number of items before the page. */
wherry_status wherry_pager_set_size(wherry_pager *pager, int64_t size, const char *parameter,
    bool by_items);
wherry_status wherry_pager_set_end(wherry_pager *pager, wherry_pager_end end, const char *path);
/* Removes duplicates: of items with equal values at key_path ("": the item itself; NULL: off), only
 * the first stays. With newest_wins, the last one takes the position of the first. */
wherry_status wherry_pager_set_key(wherry_pager *pager, const char *key_path, bool newest_wins);
/* Sets how many pages stay in memory, so that they load without a request (default: 0). */
wherry_status wherry_pager_set_kept_pages(wherry_pager *pager, int32_t count);
/* The events of a pager. A load raises WILL_LOAD; then REFRESHED or LOADED on success, otherwise
 * FAILED; then FINISHED. They arrive before the transfer's DONE, and also for a page from memory,
 * which needs no transfer. */
typedef enum wherry_page_event {
  WHERRY_PAGE_WILL_LOAD = 1,
  WHERRY_PAGE_REFRESHED = 2, /* the list now consists of the first page */
  WHERRY_PAGE_LOADED = 3,    /* the page is now part of the list */
  WHERRY_PAGE_FAILED = 4,    /* with status and error; the list is unchanged */
  WHERRY_PAGE_FINISHED = 5,  /* the load ended; this event and those below have no page number */
  WHERRY_PAGE_FIRST = 6,     /* load_previous was called on the first page; a refresh follows */
  WHERRY_PAGE_LAST = 7       /* load_next on the last page; nothing follows */
} wherry_page_event;

/* Sets whether the pager sends these events to its queue, as PAGE events with its user_data. */
wherry_status wherry_pager_set_events(wherry_pager *pager, bool told);
/* Returns the page number of a PAGE event; -1 if it has none, and for other events. */
int64_t wherry_event_page(const wherry_event *event);
/* These start a load; E_BUSY during another one. The page changes only on success, before the DONE
 * event can be read. If the response has no items array, DONE has E_HTTP `bad_json_body`.
 * *out_transfer is NULL if the page is in memory; then only PAGE events follow, if enabled. At the
 * end, load_next returns E_STATE `last_page`. load_previous on the first page is a refresh. refresh
 * starts over, bypasses the cache, and replaces the items on success. */
wherry_status wherry_pager_load_next(wherry_pager *pager, wherry_transfer **out_transfer);
wherry_status wherry_pager_load_previous(wherry_pager *pager, wherry_transfer **out_transfer);
wherry_status wherry_pager_refresh(wherry_pager *pager, wherry_transfer **out_transfer);
/* Loads any page. A page next to the loaded ones is added to the list, a loaded page is replaced,
 * and any other page starts a new list. E_ARGUMENT `bad_value` for a page before the first one and,
 * with END_CURSOR and END_LINK, for a page that no loaded page has led to. */
wherry_status wherry_pager_load_page(wherry_pager *pager, int64_t page,
    wherry_transfer **out_transfer);
wherry_status wherry_pager_cancel(wherry_pager *pager); /* returns OK even if nothing is loading */
/* Undoes the last load, for example if its items are unusable. The list is then as before the load,
 * and the same load function loads the page again. E_STATE if no page has arrived since the last
 * load began. */
wherry_status wherry_pager_take_back(wherry_pager *pager);
bool wherry_pager_is_loading(const wherry_pager *pager);
/* as far as is known; true before the first load */
bool wherry_pager_has_next(const wherry_pager *pager);
bool wherry_pager_has_previous(const wherry_pager *pager);
int64_t wherry_pager_page(const wherry_pager *pager, int64_t otherwise); /* the last loaded page */
size_t wherry_pager_count(const wherry_pager *pager);
/* Returns an array of at most `count` items of the list, starting at `first`. */
wherry_status wherry_pager_copy_items(const wherry_pager *pager, size_t first, size_t count,
    wherry_json **out_items);

/* A list of items in sections, each with a header and footer text, for a view. Items are JSON
 * values, which are copied. Every mutation reports its changes in order, so that any kind of view
 * can apply them: *out_changes is a list for wherry_list_change; out_changes may be NULL. An
 * out-of-range position gives NULL, 0, or no change, not an error. items must be an array
 * (otherwise E_ARGUMENT `bad_argument`); NULL means an empty array. A NULL item gives E_ARGUMENT.
 * Any thread may use the list. */
typedef struct wherry_sectioned_list wherry_sectioned_list;

typedef enum wherry_change {
  WHERRY_CHANGE_INSERT_ROWS = 1,
  WHERRY_CHANGE_REMOVE_ROWS = 2,
  WHERRY_CHANGE_RELOAD_ROWS = 3, /* their items changed */
  WHERRY_CHANGE_INSERT_SECTIONS = 4,
  WHERRY_CHANGE_REMOVE_SECTIONS = 5,
  WHERRY_CHANGE_RELOAD_SECTIONS = 6, /* their items or texts changed */
  WHERRY_CHANGE_RELOAD_ALL = 7
} wherry_change;

typedef struct wherry_change_row {
  size_t size;
  size_t section;      /* section of the changed rows; otherwise 0 */
  /* first: number of the first changed row or section, after the earlier changes of this list have
   * been applied. count: how many changed. Both are 0 for RELOAD_ALL */
  size_t first, count;
  int32_t kind;        /* wherry_change */
  int32_t reserved;    /* 0 */
} wherry_change_row;

/* Set out_row->size first. E_ARGUMENT for an index past the end. */
wherry_status wherry_list_change(const wherry_list *list, size_t index, wherry_change_row *out_row);

/* Creates a list without sections. wherry_sectioned_list_append creates the first one. */
wherry_status wherry_sectioned_list_new(wherry_sectioned_list **out_sections);
wherry_status wherry_sectioned_list_free(wherry_sectioned_list *sections);
size_t wherry_sectioned_list_count(const wherry_sectioned_list *sections); /* of sections */
size_t wherry_sectioned_list_row_count(const wherry_sectioned_list *sections, size_t section);
/* Returns a copy of an item; *out_item is NULL if the position is out of range. */
wherry_status wherry_sectioned_list_copy_item(const wherry_sectioned_list *sections, size_t section,
    size_t row, wherry_json **out_item);
/* Return a section's text; NULL if empty. Borrowed until the next call of the same function for
 * this list. */
const char *wherry_sectioned_list_header(const wherry_sectioned_list *sections, size_t section);
const char *wherry_sectioned_list_footer(const wherry_sectioned_list *sections, size_t section);
/* Adds an array of items at the end of a section; creates the first section if there is none. */
wherry_status wherry_sectioned_list_append(wherry_sectioned_list *sections, size_t section,
    const wherry_json *items, wherry_list **out_changes);
/* Inserts items before `row`. To insert at the end of the section, pass its number of rows as
 * `row`. */
wherry_status wherry_sectioned_list_insert(wherry_sectioned_list *sections, size_t section,
    size_t row, const wherry_json *items, wherry_list **out_changes);
/* Removes `count` rows, starting with `row`, or fewer if the section ends earlier. */
wherry_status wherry_sectioned_list_remove(wherry_sectioned_list *sections, size_t section,
    size_t row, size_t count, wherry_list **out_changes);
wherry_status wherry_sectioned_list_replace(wherry_sectioned_list *sections, size_t section,
    size_t row, const wherry_json *item, wherry_list **out_changes);
/* Inserts a section before `section`. To insert at the end, pass the number of sections as
 * `section`. Texts and items may be NULL. */
wherry_status wherry_sectioned_list_insert_section(wherry_sectioned_list *sections, size_t section,
    const char *header, const char *footer, const wherry_json *items, wherry_list **out_changes);
wherry_status wherry_sectioned_list_replace_section(wherry_sectioned_list *sections, size_t section,
    const char *header, const char *footer, const wherry_json *items, wherry_list **out_changes);
wherry_status wherry_sectioned_list_remove_section(wherry_sectioned_list *sections, size_t section,
    wherry_list **out_changes);
/* Removes everything. The list then has one empty section. */
wherry_status wherry_sectioned_list_remove_all(wherry_sectioned_list *sections,
    wherry_list **out_changes);

/* ---- 22. Server-sent events ------------------------------------------------------------------ */

/* A parser for text/event-stream, which accepts the bytes in pieces of any size. */
typedef struct wherry_sse wherry_sse;

/* Creates a parser. An event longer than max_event_bytes (0: 1 MiB) gives E_LIMIT `too_large`. */
wherry_status wherry_sse_new(size_t max_event_bytes, wherry_sse **out_sse);
wherry_status wherry_sse_free(wherry_sse *sse);
/* Adds the bytes of a BODY event or another source. E_STATE after an error. */
wherry_status wherry_sse_feed(wherry_sse *sse, const void *bytes, size_t count);
/* Moves to the next complete event; false if there is none yet. Invalidates the text of the
 * previous event. */
bool wherry_sse_next(wherry_sse *sse);
/* Return the fields of the current event; NULL without an event. The name defaults to "message";
 * the id is the last one the stream has sent, or "". */
const char *wherry_sse_name(const wherry_sse *sse);
const char *wherry_sse_data(const wherry_sse *sse, size_t *out_count); /* lines joined by LF */
const char *wherry_sse_id(const wherry_sse *sse);
/* Returns the reconnection delay that the server asked for, or -1. */
int64_t wherry_sse_retry_ms(const wherry_sse *sse);

/* ---- 23. Groups: several requests that end together ------------------------------------------ */

typedef enum wherry_group_policy {
  WHERRY_GROUP_FAIL_FAST = 0,   /* all at once; the first failure cancels the others */
  WHERRY_GROUP_ALL_SETTLED = 1, /* all at once; waits for all; DONE has OK despite failures */
  /* One after the other; the first failure ends the chain. The hook NEXT asks for the next step:
   * after each step, and at the start if no step was added. If the program does not decide, the
   * next added step starts; if there is none, the chain ends. */
  WHERRY_GROUP_CHAIN = 2
} wherry_group_policy;

wherry_status wherry_group_new(wherry_group_policy policy, wherry_group **out_group);
wherry_status wherry_group_free(wherry_group *group); /* transfers that were sent continue */
/* Members are numbered from 0 in the order of adding. Each is an ordinary transfer, whose events go
 * to the group's queue with this user data. Returns E_STATE `already_started` once the group is
 * sent. */
wherry_status wherry_group_add(wherry_group *group, const wherry_request *request, void *user_data);
/* Adds a copy of `inner` as one member with its own events; groups nest at most 16 deep. You may
 * add `inner` again, or send it alone. */
wherry_status wherry_group_add_group(wherry_group *group, const wherry_group *inner,
    void *user_data);
/* Sets the user_key of the group's own events. The events of a member have that of its request.
 * E_STATE `already_started` once the group is sent. 0, the default: none. */
wherry_status wherry_group_set_user_key(wherry_group *group, uint64_t key);
/* Starts the group: all its members, or the first step of a CHAIN. A second call returns E_STATE
 * `already_started`. If any member has an error that is known at once, the error is returned and
 * nothing starts. The group is a transfer: pausing, cancelling, and so on apply to all members. Its
 * PROGRESS arrives as each member ends, and its DONE after theirs. With FAIL_FAST and CHAIN, DONE
 * has the status, error, and response of the member that failed first; `detail` is that member's
 * number, and the message names the member. FROM_CACHE is set if all responses came from a cache
 * without a request. */
wherry_status wherry_client_send_group(wherry_client *client, wherry_group *group,
    wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);

/* ---- 24. Image loader: images from URLs, decoded and kept in memory --------------------------- */

/* The decoded images of a client in memory. */
typedef struct wherry_image_usage {
  size_t size;
  int64_t images, image_bytes; /* decoded images in memory */
  int64_t limit_bytes;         /* IMAGE_MEMORY_BYTES */
  int64_t hits;                /* loads and lookups that found the image in memory */
  int64_t misses;              /* loads that did not */
  int64_t requests;            /* requests that were started for loads */
} wherry_image_usage;

/* Loads an image: requests it, and decodes it on a worker thread at the size that MAX_WIDTH,
 * MAX_HEIGHT, and RESIZE_MODE of the compression ask for. A JPEG is decoded at the smallest scale
 * that suffices. format and the other options are as in wherry_image_decode.
 *
 * Decoded images stay in memory, up to IMAGE_MEMORY_BYTES. They are found by URL, format, and
 * compression, and by the headers, parameters, and options of the request, except PRIORITY. The
 * server is not asked whether a decoded image is still fresh. The cache policies OFF, REFRESH, and
 * RELOAD do not read the memory. A response with `Cache-Control: no-store` is not kept. A change of
 * the client's headers, parameters, credentials, or texts removes all images; a change of cookies
 * does not. Encoded images are in the caches of the client, if the client or the request uses them.
 *
 * Equal loads that run at the same time share one request and one decoding, and loads that differ
 * only in format or compression share the request. The request has the highest priority of its
 * loads, and ends if all of them are cancelled.
 *
 * The transfer is an ordinary one: its DONE event has the response with the encoded image, or no
 * response if the image was in memory. wherry_event_open_image returns the pixels. Errors are those
 * of wherry_client_perform and of wherry_image_decode, and are not kept in memory. A response that
 * is not a valid image is also removed from the caches. The encoded image is limited by
 * MAX_BODY_BYTES, and the decoded one by MAX_PIXELS and MAX_MEMORY_BYTES.
 *
 * With IMAGE_PREVIEWS, a load also reports IMAGE_PREVIEW events while the image arrives: after each
 * scan of a progressive JPEG except the last, as soon as the next scan begins, and after each of the
 * first six passes of an interlaced PNG. wherry_event_open_image returns the pixels, which have the
 * size, format, and orientation of the result. Scans that arrive faster than they are decoded give
 * one preview. Other images have no previews. Images from memory, a cache, or a stub have none either.
 * Only successful responses are shown; after a retry, previews start over with the first scan. Each
 * decoder of previews holds the coefficients of a JPEG or the pixels of a PNG, up to
 * MAX_MEMORY_BYTES, and each preview may need as much again. A limit, damage, or a JPEG with more
 * than 100 scans ends the previews; the load then fails at its end, as without them. The result is
 * decoded from the complete image, and is the same with and without previews. Previews are not kept
 * in memory.
 *
 * A NULL url means the request's own. A NULL request means a GET of the url. E_ARGUMENT
 * `bad_method` unless the request is a GET, `bad_parameters` if it has a body.
 *
 * Loads with hooks from wherry_client_set_hooks share requests, and one of them receives the HOOK
 * events. If it is cancelled before it answers, the hook's default applies. A load with hooks from
 * wherry_request_set_hooks shares neither its request nor its image, unless HOOKS_KEY says which
 * loads have the same hooks. */
wherry_status wherry_client_load_image(wherry_client *client, const wherry_request *request,
    const char *url, wherry_pixel_format format, const wherry_compression *compression,
    wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
/* Like wherry_client_load_image, but waits like wherry_client_perform_for. */
WHERRY_CHECKED wherry_status wherry_client_load_image_for(wherry_client *client,
    const wherry_request *request, const char *url, wherry_pixel_format format,
    const wherry_compression *compression, int64_t timeout_ms, wherry_transfer **out_transfer,
    wherry_record *out_record);
/* Returns the pixels of a DONE or IMAGE_PREVIEW event, which you own. They stay valid and do not
 * change when the image is removed from memory. wherry_image_pixels returns them without a copy.
 * E_STATE if the event is neither a preview nor the successful end of an image load. */
wherry_status wherry_event_open_image(const wherry_event *event, wherry_image **out_image);
/* Returns an image that is in memory, at once and without a transfer. E_CACHE_MISS `missing` if it
 * is not. Parameters are as in wherry_client_load_image. */
wherry_status wherry_client_cached_image(wherry_client *client, const wherry_request *request,
    const char *url, wherry_pixel_format format, const wherry_compression *compression,
    wherry_image **out_image);
/* Loads an image into the memory, without events. Unless the request sets PRIORITY, it has the
 * lowest one; a later load of the same image raises it. Errors are only logged. Hooks have their
 * default results. wherry_client_cancel cancels it by URL or tag. */
wherry_status wherry_client_prefetch_image(wherry_client *client, const wherry_request *request,
    const char *url, wherry_pixel_format format, const wherry_compression *compression);
/* Removes all decoded images from the memory. Images that you opened stay valid. */
wherry_status wherry_client_clear_images(wherry_client *client);
/* Set out_usage->size first. */
wherry_status wherry_client_image_usage(wherry_client *client, wherry_image_usage *out_usage);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif /* WHERRY_H */
