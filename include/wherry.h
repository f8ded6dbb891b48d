/* wherry.h - HTTP requests, image uploads, and resumable downloads from C.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A program works with five kinds of objects:
 *
 *    wherry_client     connections, settings, cookies, caches; usually one per program
 *    wherry_request    what to send: method, URL, headers, body, options
 *    wherry_transfer   a request in flight: pause, cancel, measure it
 *    wherry_queue      where the events of transfers arrive: progress, body, end
 *    wherry_response   status, headers, and body
 *
 * A single GET, download, or upload needs only the response (see Simple calls):
 *
 *    wherry_response *response = NULL;
 *    if (wherry_get(url, &response) != WHERRY_OK) puts(wherry_error_message(wherry_last_error()));
 *    size_t size = 0;
 *    const uint8_t *body = wherry_response_body(response, &size);
 *    fwrite(body, 1, size, stdout);
 *    wherry_response_free(response);
 *
 * The same with a client, which other requests can use too (see docs/tutorial.md):
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
 * (sections 7 and 8). There are no callbacks. Examples/c has complete programs.
 *
 * These rules hold everywhere:
 *
 *  NAMES     wherry_<type>_<verb>; the first parameter is the object. A number with a unit has the
 *            unit in its name (_ms, _bytes, _per_second). An int64_t of -1 means "unknown" in
 *            results and "no limit" in arguments, unless its comment says otherwise.
 *  RESULTS   Calls that can fail return a wherry_status; 0 is success. Other results go to trailing
 *            out-parameters, which are written only on success (exceptions: wherry_client_perform,
 *            wherry_get, and wherry_upload_image). NULL is allowed for out_transfer if a queue is
 *            passed, and for every out_count except that of wherry_queue_read; any other NULL
 *            out-parameter is E_ARGUMENT. Other functions return their value, or 0, NULL, false, or
 *            -1 for a bad handle.
 *  HANDLES   Objects are opaque; the pointer is a checked id, not an address. A freed, foreign,
 *            wrong-kind, or NULL handle gives WHERRY_E_ARGUMENT `bad_handle`.
 *  OWNERSHIP You own every handle that you get through an out-parameter; pass it to its *_free
 *            once. *_free(NULL) is OK, and freeing twice is an error, not a crash. Objects may be
 *            freed in any order, also while you handle one of their events. A handle that is a
 *            return value is borrowed; never free it.
 *  BORROWING Pointers to bytes and text that a getter returns live as long as their object (for
 *            events: until wherry_event_free). They are plain memory; nothing checks them after
 *            that. client, queue, transfer, stub, and reachability copy their results instead.
 *  INPUTS    The library copies everything you pass in before the call returns. Text is
 *            NUL-terminated UTF-8 (otherwise `bad_text`); bytes are a pointer and a count (NULL
 *            only with 0). Paths and file names are NUL-terminated bytes, UTF-8 or not, and are
 *            never converted. A message shows a byte that is not UTF-8 as \xE9.
 *  THREADS   Any thread may call any function. config, request, response, event, list, image,
 *            compression, and json are meant for one thread at a time: sharing one is safe, but
 *            concurrent changes may interleave. The events of one transfer arrive in order. Your
 *            code never runs on a library thread.
 *  STRUCTS   The library fills the few plain structs. Set `size` to sizeof first; fields that the
 *            library does not know are set to zero; size 0 is E_ARGUMENT. 64-bit Linux only.
 *  EXIT      The program may end at any time, on any thread, with transfers in flight. An exit
 *            handler cancels every transfer, waits at most 50 ms, and then keeps library threads
 *            out of OpenSSL. Blocking calls on other threads return E_CANCELLED. Partial files
 *            stay. Exit handlers may call every function.
 *  SIGNALS   Library threads block every signal except SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP,
 *            and SIGSYS. Every descriptor is close-on-exec. If a Swift toolchain is installed, Swift's
 *            runtime handles SIGQUIT, SIGABRT, and fault signals to print backtraces, unless the
 *            environment has SWIFT_BACKTRACE=enable=no.
 *  FORK      In a forked child every call returns WHERRY_E_FORKED until wherry_library_restart.
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

/* The version of the loaded library, which may be newer than this header. Static text. */
int32_t wherry_library_version(void);
const char *wherry_library_version_text(void);

/* ---- 2. Status and errors -------------------------------------------------------------------- */

typedef enum wherry_status {
  WHERRY_OK = 0,
  WHERRY_E_ARGUMENT = -1,    /* NULL, wrong kind of object, or out of range */
  WHERRY_E_STATE = -2,       /* not valid in the object's current state, such as already sent or closed */
  WHERRY_E_TIMEOUT = -3,     /* the wait or the transfer timed out */
  WHERRY_E_CANCELLED = -4,
  WHERRY_E_NETWORK = -5,     /* name resolution, connection, or broken stream */
  WHERRY_E_TLS = -6,         /* the peer is not trusted */
  WHERRY_E_HTTP = -7,        /* the response reports an error or is not acceptable */
  WHERRY_E_FILE = -8,        /* the local file or directory */
  WHERRY_E_IMAGE = -9,       /* not an image, or not one that can be encoded */
  WHERRY_E_CACHE_MISS = -10, /* cache-only request without a usable entry */
  WHERRY_E_LIMIT = -11,      /* a size or count limit */
  WHERRY_E_INTERNAL = -12,   /* a bug in Wherry: please report it */
  WHERRY_E_FORKED = -13,     /* called in a forked child */
  WHERRY_E_BUSY = -14        /* in use by another transfer or process, or full at the moment */
} wherry_status;

typedef struct wherry_error wherry_error; /* borrowed from the event or this thread; never freed */
typedef struct wherry_list wherry_list;   /* section 11 */

/* Returns the name, such as "E_TIMEOUT"; "E_UNKNOWN" for other numbers. Static text. */
const char *wherry_status_name(wherry_status status);
/* Returns the error of the last call that failed on this thread; never NULL. Its status is OK if no
 * call has failed. Only calls that return a wherry_status count, so a getter never overwrites the
 * error. The handle is valid until the next failing call on this thread. */
const wherry_error *wherry_last_error(void);
wherry_status wherry_error_status(const wherry_error *error);
/* A stable word from the table in docs/errors.md, such as "bad_url" or "stalled"; "" for OK. Static
 * text. */
const char *wherry_error_reason(const wherry_error *error);
/* One sentence for people, with secrets removed. "" for a bad handle, so it is safe to print
 * without checking. */
const char *wherry_error_message(const wherry_error *error);
int32_t wherry_error_curl_code(const wherry_error *error); /* or 0 */
int32_t wherry_error_http_code(const wherry_error *error); /* or 0 */
int32_t wherry_error_os_code(const wherry_error *error);   /* errno, or 0 */
bool wherry_error_is_retryable(const wherry_error *error);
int64_t wherry_error_retry_after_ms(const wherry_error *error);      /* or -1 */
const char *wherry_error_partial_path(const wherry_error *error);    /* the partial file, or NULL */
const wherry_error *wherry_error_underlying(const wherry_error *error); /* or NULL */
/* The images of an upload that failed, as rows for wherry_list_image: all of them if the request
 * failed as a whole. Also works with wherry_last_error after perform. */
wherry_status wherry_error_list_failed_images(const wherry_error *error, wherry_list **out_list);
/* Makes the library usable in a forked child. Handles from before the fork stay invalid: using or
 * freeing one is E_FORKED and changes nothing. No-op in a process that has not forked. */
wherry_status wherry_library_restart(void);

/* ---- Simple calls ---------------------------------------------------------------------------- */

typedef struct wherry_response wherry_response;

/* Each of these calls blocks until its transfer ends, and returns the same errors as the section 7
 * function that its comment names; wherry_last_error has the details. It creates a client with default
 * settings and closes it afterwards. For several requests, a wherry_client is faster, because it reuses
 * connections. The URL must have a scheme (otherwise `bad_url`). */

/* Gets a URL, like wherry_client_perform. On OK and E_HTTP you own *out_response; otherwise it is set
 * to NULL. */
WHERRY_CHECKED wherry_status wherry_get(const char *url, wherry_response **out_response);
/* Downloads a URL to a file, like wherry_client_download. path is the file, or a directory that ends
 * with "/" or exists; then the server names the file. After an interruption, call it again to
 * continue. */
WHERRY_CHECKED wherry_status wherry_download_file(const char *url, const char *path);
/* Posts a JPEG or PNG file as the part `name` of a multipart form, compressed with the default
 * compression (section 13), like wherry_client_upload_images. out_response as in wherry_get. */
WHERRY_CHECKED wherry_status wherry_upload_image(const char *url, const char *name, const char *path,
    wherry_response **out_response);

/* ---- 3. Options: one list for client and request --------------------------------------------- */

/* The letters say where an option can be set: B on a config, L on a live client (applies to
 * requests started afterwards), R on one request, where it overrides the client's value. Elsewhere
 * the call fails with E_ARGUMENT `bad_option`. The default follows, then the range in parentheses if
 * it is not 0 or more. Booleans are 0 and 1. */
typedef enum wherry_option {
  /* options: begin wherry_option (scripts/make-options) */
  WHERRY_OPTION_IDLE_TIMEOUT_MS = 1,        /* BLR 20000; restarts with every byte; 0: none */
  WHERRY_OPTION_CONNECT_TIMEOUT_MS = 2,     /* BLR 10000; 0: libcurl's default, 300 s */
  /* BLR 30000; time from the end of the request to the first byte of the response. The idle timeout
   * also runs during this wait, except for downloads: for slow servers, raise both. 0: none */
  WHERRY_OPTION_FIRST_BYTE_TIMEOUT_MS = 3,
  WHERRY_OPTION_TOTAL_TIMEOUT_MS = 4,       /* BLR 0: none; includes redirects and retries */
  WHERRY_OPTION_DECISION_TIMEOUT_MS = 5,    /* BLR 30000; then the default applies; 0: at once */
  /* BLR 10 (0 to 100); 0: the redirect itself is the response */
  WHERRY_OPTION_MAX_REDIRECTS = 10,
  WHERRY_OPTION_KEEP_AUTH_ACROSS_HOSTS = 11, /* BLR 0 */
  /* BLR -1 (0 to 1000): 5 for downloads, none for requests. Maximum number of retries after a
   * dropped connection, a timeout, or status 408, 429, 500, 502, 503, 504. Requests wait a random
   * time of up to 0.5, 1, 2... 30 s before each retry, or as long as Retry-After says. Each client
   * has a budget of 100 retries for its requests; every five successes add one. */
  WHERRY_OPTION_MAX_RETRIES = 12,
  /* BLR 0: only GET, HEAD, PUT, DELETE, OPTIONS, and TRACE are retried, also after a reused
   * connection drops without a response. 1: all methods; the server may execute a request twice */
  WHERRY_OPTION_RETRY_UNSAFE_METHODS = 13,
  /* BLR -1: 0 for requests, 60000 for downloads. How long a transfer waits for a route to its host,
   * in state WAITING with reason `offline`. Then a request fails with that reason; a download waits
   * after every dropped connection in this way, and then retries as usual. 0: no wait */
  WHERRY_OPTION_WAIT_FOR_NETWORK_MS = 15,
  /* BL 0; 1: sends the user's languages in Accept-Language, from LANGUAGE, LC_ALL, LC_MESSAGES, and
   * LANG. A header that you set wins. */
  WHERRY_OPTION_SEND_LANGUAGES = 14,
  /* BLR 0: automatic: HTTP/2 over TLS if the server offers it, otherwise HTTP/1.1; downloads use
   * 1.1, which costs less CPU time. 11 or 20: that version, also for downloads */
  WHERRY_OPTION_HTTP_VERSION = 16,
  /* BLR 200 (100 to 999); wherry_request_accept_status adds more */
  WHERRY_OPTION_ACCEPT_STATUS_MIN = 17,
  WHERRY_OPTION_ACCEPT_STATUS_MAX = 18,     /* BLR 299 (100 to 999) */
  /* BLR 1: accept gzip and deflate; 2: also br and zstd */
  WHERRY_OPTION_COMPRESSED = 19,
  /* BLR 67108864; decoded size of bodies in memory; 0: no body */
  WHERRY_OPTION_MAX_BODY_BYTES = 20,
  WHERRY_OPTION_MAX_HEADER_BYTES = 21,      /* BLR 307200 (1024 to 307200) */
  WHERRY_OPTION_MAX_SEND_BYTES_PER_SECOND = 22, /* BLR 0: no limit */
  WHERRY_OPTION_MAX_RECEIVE_BYTES_PER_SECOND = 23, /* BLR 0: no limit */
  /* BL 0: no limit; all downloads together; applies to running downloads at once */
  WHERRY_OPTION_MAX_DOWNLOAD_BYTES_PER_SECOND = 24,
  /* R 1: merge the client's default parameters under those of the request, by the rule of
   * wherry_request_set_parameter */
  WHERRY_OPTION_DEFAULT_PARAMETERS = 25,
  WHERRY_OPTION_IGNORE_BASE = 26,           /* R 0; 1 also makes the identifier's host (null) */
  /* BLR 0; 1: a response of a type other than JSON fails */
  WHERRY_OPTION_JSON_ONLY = 27,
  WHERRY_OPTION_ARRAY_STYLE = 28,           /* BLR 0 a[]=, 1 a=, 2 a[0]=; in queries and forms */
  /* BLR 1: the client's cookie jar stores cookies and sends them, at every redirect too; a Cookie
   * header of the request replaces the jar's cookies. 0: no jar. 2: a Cookie header is sent
   * together with the jar's other cookies. 3: like 2, but with a jar of the request alone, so that
   * its redirects receive its cookies, and other requests do not. */
  WHERRY_OPTION_COOKIES = 29,
  /* R 0 (-100 to 100); among requests that wait for a connection (MAX_PER_HOST, MAX_CONNECTIONS)
   * and downloads that wait for their turn (MAX_DOWNLOADS), higher priorities start first, and
   * equal ones in the order of submission. Lower ones wait as long as higher ones arrive. Over
   * HTTP/2 it is also the weight of the stream, for servers that use it. */
  WHERRY_OPTION_PRIORITY = 30,
  /* R 0; 1: the writer of a streamed body can rewind if a redirect or a 401 requires the body
   * again; see wherry_transfer_wants_rewind. Otherwise the transfer fails in that case. */
  WHERRY_OPTION_REWINDABLE_BODY = 31,
  WHERRY_OPTION_WANT_HEAD = 32,             /* R 0; 1: raise a HEAD event */
  /* BLR -1 (0 to 1): for multipart uploads and downloads; 0; 1 */
  WHERRY_OPTION_WANT_PROGRESS = 33,
  /* BLR 0; how an upload handles an image that is damaged, unsupported (GIF, WebP, HEIC), or above
   * a limit of its compression. 0: fails before the request is sent, with a message that names
   * every such image; with SEPARATE_IMAGES the other images are sent, and the upload fails at its
   * end. 1: skips the image, and fails if none is left. 2: sends the file unchanged, with all
   * metadata. MAX_BYTES still applies, and a file that cannot be opened still fails. */
  WHERRY_OPTION_UNREADABLE_IMAGES = 34,
  /* BLR 0 (0 to 1000): one form with all images. n: one form per image, each with all other parts,
   * n at a time. A failed image does not stop the others, but makes the DONE event a failure that
   * lists the failed images. wherry_list_response on the list of wherry_transfer_list_images
   * returns the response for each image; DONE carries the response of the first failure. */
  WHERRY_OPTION_SEPARATE_IMAGES = 35,
  /* BLR 0 (0 to 1000); with SEPARATE_IMAGES, how many times an image is retried after a transient
   * failure, after 0.5, 1, 2... s or as Retry-After says. MAX_RETRIES does not apply then. The
   * server may receive the image twice. */
  WHERRY_OPTION_IMAGE_RETRIES = 36,
  /* BLR 0; 1: sends file names that are not ASCII a second time as filename* (RFC 8187), for
   * servers that need it. RFC 7578 advises against it. */
  WHERRY_OPTION_EXTENDED_NAMES = 37,
  /* BLR 0; a wherry_digest: MD5 sends Content-MD5 of the body, SHA256 and SHA512 send
   * Content-Digest (RFC 9530), unless the request has that header. A worker reads the body first; a
   * streamed body is E_ARGUMENT `bad_option`. */
  WHERRY_OPTION_BODY_DIGEST = 38,
  /* BLR 0; the same in the headers of each file and image */
  WHERRY_OPTION_PART_DIGESTS = 39,
  WHERRY_OPTION_MAX_PER_HOST = 40,          /* BL 6 (1 to 100000); connections to one origin */
  WHERRY_OPTION_MAX_CONNECTIONS = 41,       /* BL 32 (1 to 100000) */
  /* BL 0 (0 to 100000): no limit; how many downloads run at once. The others are QUEUED in the
   * order of their PRIORITY and start. A paused download gives up its turn and keeps its place. A
   * new value applies at once, but running downloads continue. TOTAL_TIMEOUT_MS includes the wait.
   * */
  WHERRY_OPTION_MAX_DOWNLOADS = 42,
  WHERRY_OPTION_MEMBER_STYLE = 43,          /* BLR 0 a[b]=, 1 a.b=; in queries and forms */
  WHERRY_OPTION_BOOL_STYLE = 44,            /* BLR 0 a=1 and a=0, 1 a=true and a=false; the same */
  /* R 0; 1: if an identical request of this client is in flight, also with 1, both share its
   * response or failure. Identical means the same method, URL, headers, credentials, body, and
   * options. Each has separate events, TOTAL_TIMEOUT_MS, and cancellation; cancelling the last
   * cancels the request. Not shared: requests with decisions, streamed responses, WANT_HEAD,
   * CACHE_THEN_NETWORK, and multipart, file, or streamed bodies. Does not apply to downloads. */
  WHERRY_OPTION_COALESCE = 45,
  /* BLR 0; compresses the request body: 1 gzip, 2 deflate (zlib format). The server must support
   * it. Bytes, JSON, and URL-encoded forms of up to 1 MiB are compressed as a whole, and sent
   * unchanged if that does not make them smaller. Larger bodies, files, and streams are compressed
   * while they are sent, without a Content-Length. Multipart forms are not compressed. PROGRESS
   * counts the bytes before compression, its wire_bytes those after it. */
  WHERRY_OPTION_BODY_CODING = 46,
  /* BLR 0; 1: makes no connection over a mobile network: E_NETWORK `metered`. Name resolution is
   * not restricted. */
  WHERRY_OPTION_DENY_METERED = 47,
  WHERRY_OPTION_BODY_CODING_MIN_BYTES = 48, /* BLR 1024; shorter bodies are not compressed */
  /* BLR 0; with BODY_CODING, for a request that has a Content-Encoding header, its own or the
   * client's. 0: sent unchanged. 1: compressed, and the header names that coding alone. 2: fails
   * with `bad_header` */
  WHERRY_OPTION_CODED_BODY = 49,
  WHERRY_OPTION_HTTP_CACHE = 50,            /* BL 0; 1: requests use the HTTP cache by default */
  /* BL 268435456 on disk, for each of the two caches; least recently used entries are evicted */
  WHERRY_OPTION_CACHE_MAX_BYTES = 51,
  WHERRY_OPTION_CACHE_MEMORY_BYTES = 52,    /* BL 16777216; the same in memory; 0: nothing */
  /* BL 0 (0 to 1000000): no limit; how many requests may start per RATE_INTERVAL_MS. The others are
   * QUEUED by their PRIORITY and start; TOTAL_TIMEOUT_MS includes the wait. Tokens are added at a
   * constant rate; up to RATE_BURST are kept. Everything that is sent counts: redirects, retries,
   * and the segments of a download, but not cache hits. The further connections of SEGMENTS count
   * but do not wait. A new value applies at once. */
  WHERRY_OPTION_RATE_LIMIT = 53,
  /* BL 0 (0 to 1000000): no limit; the same per origin, in addition */
  WHERRY_OPTION_HOST_RATE_LIMIT = 54,
  WHERRY_OPTION_RATE_BURST = 55,            /* BL 0 (0 to 10000): as many as per interval */
  WHERRY_OPTION_RATE_INTERVAL_MS = 56,      /* BL 1000 (1 to 86400000) */
  /* B 0; a sum of address ranges that are refused, also after name resolution and redirects:
   * 1 loopback, 2 private, 4 link-local, 8 cloud metadata, 16 multicast. No proxy is used then. */
  WHERRY_OPTION_DENY_ADDRESSES = 59,
  /* B 0; 1 disables certificate verification and logs a warning to stderr once */
  WHERRY_OPTION_INSECURE = 60,
  WHERRY_OPTION_HTTPS_ONLY = 61,            /* B 0; 1: a request without https is `https_only` */
  WHERRY_OPTION_IGNORE_PROXY_ENVIRONMENT = 62, /* B 0 */
  WHERRY_OPTION_REQUIRE_TLS_1_3 = 63,       /* B 0; the minimum is TLS 1.2 otherwise */
  /* B 0; 1: the server must staple a good OCSP response */
  WHERRY_OPTION_REQUIRE_STAPLE = 64,
  /* B 0; 1: pinned hosts are trusted by their pins alone: the issuer, and with key pins the dates,
   * are not checked. Logs a warning to stderr once. */
  WHERRY_OPTION_ALLOW_INVALID = 65,
  WHERRY_OPTION_CHECK_NAME = 66,            /* B 1; 0 accepts any name; warns on stderr once */
  /* B 0: certificates among the pins pin their keys. 1: they are trust anchors, to one of which the
   * chain must lead; cannot be combined with a TLS proxy. */
  WHERRY_OPTION_PIN_MODE = 67,
  WHERRY_OPTION_REQUIRE_PINS = 68,          /* B 0; 1: refuses hosts without pins */
  WHERRY_OPTION_REPORT_PINS = 69,           /* B 0; 1: reports pin failures on stderr only */
  WHERRY_OPTION_RESUME = 70,                /* R 1; 0 starts a download at byte 0 */
  WHERRY_OPTION_TARGET_EXISTS = 71,         /* BLR 0 error `exists`, 1 replace, 2 use "name (1)" */
  WHERRY_OPTION_TARGET_IS_DIRECTORY = 72,   /* R 0; 1: the response gives the file name */
  WHERRY_OPTION_MAKE_DIRECTORIES = 73,      /* BLR 0 */
  /* BLR 1: a checkpoint at most 1 s or 4 MiB after data arrived; on a slow disk, more than 4 MiB
   * may arrive in that time. After kill -9 or a power failure, a download resumes from the last
   * checkpoint. 2: every 1 MiB. 0: a checkpoint does not wait for the disk: the partial file
   * survives a crash of the program, but perhaps not one of the system. */
  WHERRY_OPTION_DURABILITY = 75,
  /* BLR 0 (0 to 16): one connection, and more while they help: up to 5, and one fewer than
   * MAX_PER_HOST. 1...16: that many as soon as the first response shows a length and a strong
   * validator, regardless of MAX_PER_HOST and MAX_CONNECTIONS. If the server refuses one, the
   * download uses one fewer. */
  WHERRY_OPTION_SEGMENTS = 74,
  WHERRY_OPTION_STALL_BYTES_PER_SECOND = 76, /* BLR 1000, downloads only; 0: none */
  /* BLR 10000: a download that stays below that speed for this time has stalled and is retried. If
   * you set it, it also limits the wait for the first byte of a response, even if
   * STALL_BYTES_PER_SECOND is 0; otherwise only FIRST_BYTE_TIMEOUT_MS does (30 s, then MAX_RETRIES
   * retries). */
  WHERRY_OPTION_STALL_TIMEOUT_MS = 77,
  /* R 1: which partial files a download resumes. 0: of the same URL; 1: of the same URL with any
   * query, such as a link with a new signature; 2: of any URL for the same path, or as 1 if the
   * server names the file. The download resumes only if the server confirms the validator
   * (If-Range) and the length, and starts at byte 0 otherwise. If the server names the file
   * (TARGET_IS_DIRECTORY), different queries may be different files: a partial file that the server
   * does not confirm stays for its own query. */
  WHERRY_OPTION_PARTIAL_OF = 78,
  /* BLR 60000; if Retry-After asks for a longer wait, a download fails with `retry_later`, and a
   * request ends with the response */
  WHERRY_OPTION_MAX_RETRY_AFTER_MS = 79,
  WHERRY_OPTION_DEBUG = 80,                 /* BL 0; 1 logs to stderr; applies at once */
  /* B 1: background jobs restart after their agent died */
  WHERRY_OPTION_AUTOSTART = 81,
  WHERRY_OPTION_AGENT_IDLE_MS = 82,         /* B 5000; how long an idle agent stays alive */
  /* BLR 0; 1: sets a downloaded file's time to Last-Modified */
  WHERRY_OPTION_KEEP_SERVER_TIME = 90,
  /* BLR 0; 1: a response whose body may have been cut (wherry_response_is_length_unverified) fails
   * with `length_unverified`. Downloads always do. */
  WHERRY_OPTION_REQUIRE_VERIFIED_LENGTH = 100,
  /* BLR 1; 0: each request uses a separate connection, sends Connection: close, and closes it */
  WHERRY_OPTION_KEEP_ALIVE = 130,
  /* R 0; 1: the caches also serve and store streamed responses. Chunks arrive as without a cache,
   * and a copy is stored at the end. A body above an eighth of CACHE_MAX_BYTES is not stored. */
  WHERRY_OPTION_CACHE_STREAM = 131
  /* options: end */
} wherry_option;

typedef enum wherry_text_option {
  /* options: begin wherry_text_option (scripts/make-options) */
  /* BL; joined as in docs/urls.md; otherwise E_ARGUMENT `bad_url` */
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
  /* B: "name:password" for all proxies, sent to them as Basic; overrides those in their URLs */
  WHERRY_TEXT_PROXY_CREDENTIALS = 8,
  /* B: hosts that are reached without a proxy, separated by ','. An entry is a name ("example.org"
   * or ".example.org": the host and its subdomains), an address, a network ("10.0.0.0/8",
   * "fe80::/10"), or "*". A port restricts it: "example.org:8080", "[::1]:8080". Anything else is
   * E_ARGUMENT `bad_value`. NULL (the default) reads no_proxy from the environment when the client
   * is created. */
  WHERRY_TEXT_NO_PROXY = 9,
  WHERRY_TEXT_CA_FILE = 10,       /* B: PEM certificates to trust instead of the system's */
  /* B: the same in folders made by `openssl rehash`; ':' separates */
  WHERRY_TEXT_CA_DIRECTORY = 11,
  /* B: PEM; needs a list of every CA of the chain, and refuses a certificate otherwise */
  WHERRY_TEXT_CRL_FILE = 12,
  WHERRY_TEXT_BEARER_TOKEN = 14,  /* BLR */
  WHERRY_TEXT_TAG = 15,           /* R: your name for a group of transfers */
  WHERRY_TEXT_IMAGE_NAMES = 16,   /* BLR "index": name0, name1; or "repeat" or "brackets" */
  WHERRY_TEXT_JPEG_TYPE = 17,     /* BLR "image/jpeg"; old servers need "image/jpg" */
  /* B: $WHERRY_AGENT; otherwise next to the library or in its libexec */
  WHERRY_TEXT_AGENT_PATH = 18,
  WHERRY_TEXT_STATE_DIRECTORY = 19, /* B: absolute, for one session; section 18 */
  /* B: fixed addresses of hosts, used instead of name resolution: "host:port:address", further
   * addresses after ',', further hosts after a space; "*" is every host. Host header and
   * certificate checks do not change. */
  WHERRY_TEXT_RESOLVE = 20,
  WHERRY_TEXT_INTERFACE = 21,     /* B: the network interface or local address to use */
  WHERRY_TEXT_UNIX_SOCKET = 22,   /* B: absolute; all connections use it, without a proxy */
  WHERRY_TEXT_PROXY_HTTP = 23,    /* B: the proxy for http URLs; "": none; NULL: PROXY */
  WHERRY_TEXT_PROXY_HTTPS = 24,   /* B: the proxy for https URLs; "": none; NULL: PROXY */
  /* B: the path of a .netrc file with user names and passwords by host; "~/" is the home directory.
   * "" (the default) reads none. wherry_client_new reads the file once, and fails if it is missing,
   * or with E_ARGUMENT `bad_value` and the line if it cannot be parsed. Passwords are sent as Basic
   * with the first request, also to hosts that redirects lead to; the entry "default" applies to
   * the host of the URL only. Credentials, a bearer token, and an Authorization header of the
   * client or the request take precedence. Permissions are not checked. */
  WHERRY_TEXT_NETRC = 25
  /* options: end */
} wherry_text_option;

/* ---- 4. Config: builder for a client; may be freed once the client exists -------------------- */

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
 * file keep their values. path NULL: the file named by $WHERRY_CONFIG; no-op if the variable is not
 * set. On E_ARGUMENT (`bad_json`, `bad_value`, or the error of a setting) nothing has changed. */
wherry_status wherry_config_load(wherry_config *config, const char *path);
/* Adds a base URL that requests select by name; a NULL url removes it. E_ARGUMENT `bad_url`. */
wherry_status wherry_config_set_base(wherry_config *config, const char *name, const char *url);
wherry_status wherry_config_set_stub(wherry_config *config, wherry_stub *stub);
/* Trust. By default the client trusts servers with a certificate for the requested name that chains
 * to a system CA, over TLS 1.2 or newer. No environment variable changes that. Files are read when the
 * client is created, which fails if one cannot be used.
 *
 * Pins a host: "example.org", "*.example.org" (all hosts below, at any depth), or "*". The most
 * specific host applies. pin is "sha256/" and base64 of the SHA-256 of a public key
 * (SubjectPublicKeyInfo), or the path of a certificate or public key (PEM or DER), or of a folder of
 * *.pem, *.crt, *.cer, and *.der. The server's own key must be one of the host's pins, in addition to
 * all other checks, on each connection, before anything is sent. A pinned host is never contacted
 * without TLS. A malformed pin, or an http base URL for a pinned host, is `bad_pin` when the client
 * is created. */
wherry_status wherry_config_add_pin(wherry_config *config, const char *host, const char *pin);
/* The same for a certificate or public key in memory. */
wherry_status wherry_config_add_pin_certificate(wherry_config *config, const char *host,
    const void *bytes, size_t count);
/* Sets when the pins of this host stop being checked, in seconds since 1970; -1: never. */
wherry_status wherry_config_set_pin_expiry(wherry_config *config, const char *host,
    int64_t expires_at);
/* PEM certificates to trust instead of the system's and those of CA_FILE; count 0: none. */
wherry_status wherry_config_set_ca_certificates(wherry_config *config, const void *bytes,
    size_t count);
/* Sets the client certificate for one origin, "https://example.org"; other origins never see it.
 * NULL: the base URL's origin. certificate is a file: PEM, or PKCS #12 with its key. NULL key: the key
 * is in the same file. NULL password: none, without a prompt. A NULL certificate removes it. */
wherry_status wherry_config_set_client_certificate(wherry_config *config, const char *origin,
    const char *certificate, const char *key, const char *password);

/* ---- 5. Client: connections and live settings ------------------------------------------- */

typedef struct wherry_client wherry_client;
typedef struct wherry_queue wherry_queue;
typedef struct wherry_json wherry_json;

typedef enum wherry_auth {
  /* The strongest scheme that the server offers: Digest before Basic. The first request is sent
   * without credentials. */
  WHERRY_AUTH_ANY = 0,
  WHERRY_AUTH_BASIC = 1, /* sent with every request; readable for anyone who reads the connection */
  /* Sent after the server's challenge; never contains the password. SHA-512-256, SHA-256, or MD5. If
   * the server requires a digest of the body (qop=auth-int), a stream fails with `body_spent`. */
  WHERRY_AUTH_DIGEST = 2
} wherry_auth;

/* NULL config: all defaults. The network thread starts with the first transfer. */
wherry_status wherry_client_new(const wherry_config *config, wherry_client **out_client);
/* Cancels all transfers. On return, every DONE is in its queue. Handles of transfers stay valid. */
wherry_status wherry_client_free(wherry_client *client);
/* Refuses new transfers (E_STATE) and waits for the running ones. E_TIMEOUT: they continue. */
wherry_status wherry_client_drain(wherry_client *client, int64_t timeout_ms);
wherry_status wherry_client_set_option(wherry_client *client, wherry_option option, int64_t value);
wherry_status wherry_client_set_text(wherry_client *client, wherry_text_option option,
    const char *value);
/* -1 for a bad handle, or an option that a client does not have. */
int64_t wherry_client_get_option(const wherry_client *client, wherry_option option);
/* Sets a default header; names ignore case. A NULL value removes the header; NULL name and value
 * remove all. `bad_header`: CR, LF, or NUL in the value, or a header that only the library may set:
 * Connection, Content-Length, Expect, and Transfer-Encoding.
 *
 * A Host header replaces the host of the URL in requests: one value, a host with an optional port;
 * anything else is `bad_header`. Connections, SNI, and certificate checks still use the URL. Such a
 * request neither sends nor stores cookies of the jar, and uses no cache. A redirect to another origin
 * drops the header. */
wherry_status wherry_client_set_header(wherry_client *client, const char *name, const char *value);
/* Adds a header next to others of the same name; all of them are sent. Fails like set_header. */
wherry_status wherry_client_add_header(wherry_client *client, const char *name, const char *value);
/* Copies the value to buffer, truncated to capacity including its NUL; *out_count is the full length.
 * E_ARGUMENT `not_found` if there is none. */
wherry_status wherry_client_copy_header(const wherry_client *client, const char *name, char *buffer,
    size_t capacity, size_t *out_count);
/* Sets a default parameter; parameters of the request override it. A NULL value removes it. */
wherry_status wherry_client_set_parameter(wherry_client *client, const char *name,
    const char *value);
/* Like wherry_config_set_base, for requests started afterwards. */
wherry_status wherry_client_set_base(wherry_client *client, const char *name, const char *url);
/* Returns the client's storage folder (STORAGE_NAME, STORAGE_DIRECTORY), and creates it on first use
 * with mode 0700. Copies like copy_header. E_FILE if it cannot be used. */
wherry_status wherry_client_copy_storage(const wherry_client *client, char *buffer, size_t capacity,
    size_t *out_count);
/* Sets credentials for later requests to one origin: "https://host:port", or any URL there; NULL: the
 * origin of each request's own URL. Credentials never reach another origin, also after redirects. An
 * Authorization header or bearer token of a request takes precedence. A NULL user removes them.
 * E_ARGUMENT `bad_value`: control characters, or a colon in a user name that may be sent as Basic. */
wherry_status wherry_client_set_credentials(wherry_client *client, const char *origin,
    wherry_auth auth, const char *user, const char *password);
/* The client's cookie jar (RFC 6265): in memory, scoped by domain, path, and TLS, with libpsl's public
 * suffixes; no cookies for hosts with a trailing dot; at most 50 per domain and 3000 in total.
 * set_cookie is the value of a Set-Cookie header, "a=1; Path=/; Max-Age=60", as if the server of the
 * URL had sent it. E_ARGUMENT `bad_value` if that server may not set it. */
wherry_status wherry_client_set_cookie(wherry_client *client, const char *url,
    const char *set_cookie);
/* Removes the cookies that would be sent to the URL; NULL: all. */
wherry_status wherry_client_clear_cookies(wherry_client *client, const char *url);
wherry_status wherry_client_list_cookies(const wherry_client *client,
    wherry_list **out_list /* rows by wherry_list_cookie */);
/* Saves and loads cookies in the Netscape format of curl and wget. Saving replaces the file atomically,
 * mode 0600; sessions: also session cookies. Loading adds to the jar and ignores malformed lines. */
wherry_status wherry_client_save_cookies(wherry_client *client, const char *path, bool sessions);
wherry_status wherry_client_load_cookies(wherry_client *client, const char *path);
/* Selects the decisions that requests raise (section 9). They need a queue: perform is E_STATE with
 * any of them. */
wherry_status wherry_client_set_decisions(wherry_client *client, uint32_t decisions);

/* ---- 6. Request ------------------------------------------------------------------------------ */

typedef struct wherry_request wherry_request;
typedef struct wherry_image wherry_image;             /* section 13 */
typedef struct wherry_compression wherry_compression; /* section 13 */

typedef enum wherry_cache_policy {
  WHERRY_CACHE_OFF = 0,          /* no cache is read or written */
  WHERRY_CACHE_USE = 1,          /* a fresh entry of the timed cache; otherwise fetch and store */
  WHERRY_CACHE_ONLY = 2,         /* never fetch: E_CACHE_MISS with its reason without a fresh entry */
  WHERRY_CACHE_REFRESH = 3,      /* fetch; store if duration_ms > 0, or in the HTTP cache */
  /* A CACHED event if there is an entry (of the HTTP cache at any age), then fetch: DONE is the fresh
   * response or the failure. perform skips the CACHED event. */
  WHERRY_CACHE_THEN_NETWORK = 4,
  WHERRY_CACHE_PROTOCOL = 10,    /* the HTTP cache by RFC 9111; the default if HTTP_CACHE is on */
  WHERRY_CACHE_RELOAD = 11,      /* the HTTP cache: read nothing, store */
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

/* method is any token except CONNECT and TRACE. NULL: GET without parameters and body, otherwise POST.
 * url may be relative; it is joined with the base URL and checked when the request is sent. "" means
 * the base URL itself, or a template that gets its URL from wherry_request_set_url. */
wherry_status wherry_request_new(const char *method, const char *url, wherry_request **out_request);
wherry_status wherry_request_copy(const wherry_request *request, wherry_request **out_copy);
/* Sending takes a snapshot: you may free, change, or send the request again at any time. */
wherry_status wherry_request_free(wherry_request *request);
wherry_status wherry_request_set_option(wherry_request *request, wherry_option option,
    int64_t value);
wherry_status wherry_request_set_text(wherry_request *request, wherry_text_option option,
    const char *value);
/* Overrides the client's credentials; a NULL user restores them. */
wherry_status wherry_request_set_credentials(wherry_request *request, wherry_auth auth,
    const char *user, const char *password);
/* Like the arguments of wherry_request_new. */
wherry_status wherry_request_set_method(wherry_request *request, const char *method);
wherry_status wherry_request_set_url(wherry_request *request, const char *url);
/* Selects base URLs of the client by name: "api", or "api,api2" to try the next one if no connection
 * can be made (a download uses the first only). NULL: the base URL without a name. An unknown name is
 * E_ARGUMENT `not_found` when the request is sent. */
wherry_status wherry_request_set_base(wherry_request *request, const char *names);
/* Sets a header and overrides the client's. A NULL value suppresses the client's header. */
wherry_status wherry_request_set_header(wherry_request *request, const char *name,
    const char *value);
/* Adds a header next to the request's others of that name; all are sent instead of the client's. */
wherry_status wherry_request_add_header(wherry_request *request, const char *name,
    const char *value);
/* Sets a parameter. With GET, HEAD, and DELETE, parameters go into the query. With other methods they
 * become a JSON body, or fields of a form or multipart body. If you set a body (set_json, set_body, a
 * file, a stream), they go into the query. The client's default parameters follow the same rule.
 * Parameters are part of the identifier. A NULL value removes the parameter. */
wherry_status wherry_request_set_parameter(wherry_request *request, const char *name,
    const char *value);
/* The same with numbers, arrays, and objects: the JSON text of one object, merged into the others. */
wherry_status wherry_request_set_parameters_json(wherry_request *request, const void *text,
    size_t count);
/* Appends to the query, after that of the URL. A name may be added again. */
wherry_status wherry_request_add_query(wherry_request *request, const char *name,
    const char *value);
/* Appends encoded query text such as "a+b&q=%E4" to what add_query has added so far. Only bytes that a
 * query cannot contain are escaped: control characters, space, ", #, <, >, and bytes above 0x7e. */
wherry_status wherry_request_add_query_text(wherry_request *request, const char *text);
/* Adds a form field. Fields, JSON, body, file, stream, and parts exclude each other: the last call
 * wins, except that fields and parts make one multipart body. It contains parameters first, then
 * fields, then parts and images, each in the order of adding. */
wherry_status wherry_request_add_field(wherry_request *request, const char *name,
    const char *value);
/* Sets a JSON body, which is checked now and sent unchanged. `bad_json`: not JSON, NaN, invalid UTF-8,
 * or nested too deeply. More than 64 MiB is E_LIMIT `too_large`. */
wherry_status wherry_request_set_json(wherry_request *request, const void *text, size_t count);
wherry_status wherry_request_set_json_value(wherry_request *request, const wherry_json *value);
wherry_status wherry_request_set_body(wherry_request *request, const void *bytes, size_t count,
    const char *content_type);
/* Sends a file, which is opened when the request is sent. A file that is missing or not regular fails
 * before a connection is made. */
wherry_status wherry_request_set_body_file(wherry_request *request, const char *path,
    const char *content_type);
/* Sends bytes that you write on WANT_BODY events. count -1: unknown, sent chunked. Needs a queue. */
wherry_status wherry_request_set_body_stream(wherry_request *request, int64_t count,
    const char *content_type);
/* file_name and content_type may be NULL. Quotes, CR, and LF in names are escaped. */
wherry_status wherry_request_add_part(wherry_request *request, const char *name, const void *bytes,
    size_t count, const char *file_name, const char *content_type);
wherry_status wherry_request_add_part_file(wherry_request *request, const char *name,
    const char *path, const char *file_name, const char *content_type);
/* Adds a part whose count bytes you write on WANT_BODY events, in the order of such parts; one
 * wherry_transfer_write may cover two parts. Needs a queue, cannot be resent after a redirect, and
 * cannot be combined with SEPARATE_IMAGES (`bad_argument`). */
wherry_status wherry_request_add_part_stream(wherry_request *request, const char *name,
    int64_t count, const char *file_name, const char *content_type);
/* Sets a header of the part or image that was added last; NULL removes it. Not for fields.
 * Content-Disposition and Content-Type are `bad_header`; without a part it is E_STATE `wrong_state`. */
wherry_status wherry_request_set_part_header(wherry_request *request, const char *name,
    const char *value);
/* Adds an image, which a worker compresses when the request is sent. Each raises one IMAGE event,
 * numbered from 0 in the order of adding. compression NULL: the default, quality 1. Shares the bytes
 * of the image without a copy. */
wherry_status wherry_request_add_image(wherry_request *request, const char *name,
    const wherry_image *image, const wherry_compression *compression);
/* true: the response body arrives as BODY events and is not collected. Needs a queue. */
wherry_status wherry_request_set_streamed(wherry_request *request, bool streamed);
/* Adds a status that counts as success. */
wherry_status wherry_request_accept_status(wherry_request *request, int32_t http_code);
/* Sets the required shape of a JSON response, as JSON text: {"name": "string", "friends":
 * [{"id": "integer"}]}. Types are "any", "string", "number", "integer" (no fraction), "bool", "array",
 * and "object". An array contains the shape of its elements, an object those of its members. A member
 * must be present, but may be null; other members are allowed. A response of another shape, or that is
 * not JSON, is E_HTTP `bad_json_body`; its message names the place, as in "data/list/3/id is a string,
 * not an integer". Applies to successful responses, except to HEAD. NULL: none. E_ARGUMENT: `bad_json`;
 * `bad_value` for an invalid shape; `bad_option` for streams, downloads, and background jobs. */
wherry_status wherry_request_set_json_shape(wherry_request *request, const char *shape);
wherry_status wherry_request_set_decisions(wherry_request *request, uint32_t decisions);
/* Downloads: the expected digest of the complete file, in hexadecimal or base64. A NULL value expects
 * nothing, but DONE reports the digest; with NONE and NULL it is not computed. */
wherry_status wherry_request_set_digest(wherry_request *request, wherry_digest digest,
    const char *value);
/* Downloads: adds a URL with the same content, tried when the previous URL has failed permanently; the
 * download resumes there. Requires a digest (E_ARGUMENT `bad_digest`). Parameters and query of the
 * request are not added to it, and credentials stay with the origin of the first URL. NULL removes
 * all mirrors. */
wherry_status wherry_request_add_mirror(wherry_request *request, const char *url);
/* There are two caches, each with its own storage.
 *
 * The timed cache stores a successful response for duration_ms (<= 0: not at all), whatever its headers
 * say. Its key is base, URL, method, the request's own parameters, query, and body, and the
 * Authorization and Cookie headers that are sent (cookies of the jar do not count). Other headers count
 * only if you name them below; the client's default parameters, CA file, and proxy do not. Not stored:
 * streamed, multipart, and file bodies, requests with Range, downloads, status 206 and 304, and
 * anything with INSECURE. With decisions, the edited request counts; if a decision has edited it again
 * after a redirect, nothing is stored.
 *
 * The HTTP cache is a private cache by RFC 9111: the response headers say whether and how long a
 * response is fresh. Stale entries are validated, and a 304 freshens them; unsafe methods invalidate
 * the entries of their target; each redirect has an entry. Policies from PROTOCOL on use
 * it. With OPTION_HTTP_CACHE, so do requests without a policy, and USE, REFRESH, and THEN_NETWORK after
 * a miss in the timed cache; such a hit is not stored for duration_ms. The Authorization that a request
 * is sent with is part of its key, Cookie only if the response says so in Vary. Not cached: streamed
 * responses, GET with a body, downloads, and anything with INSECURE.
 *
 * If the storage folder becomes unusable, requests continue without a cache; see
 * wherry_client_cache_usage. */
wherry_status wherry_request_set_cache(wherry_request *request, wherry_cache_policy policy,
    int64_t duration_ms);
/* Names a parameter (time, signature) that is not part of identifier and cache key, also as a pair in
 * query and form. Name it on POST, PUT, and other unsafe requests too: they invalidate the entries of
 * their URL, with and without these parameters. */
wherry_status wherry_request_add_cache_ignored(wherry_request *request, const char *parameter);
/* Names a header that is part of the cache key, with all its values: Accept-Language, X-User. */
wherry_status wherry_request_add_cache_header(wherry_request *request, const char *name);
/* A text that is part of the cache key, such as a user name. Stored as a hash. NULL: none. */
wherry_status wherry_request_set_cache_partition(wherry_request *request, const char *text);
/* Entries of another version are deleted and miss. 0 by default. */
wherry_status wherry_request_set_cache_version(wherry_request *request, int64_t version);
/* How long a stale entry of the HTTP cache may be served if the server cannot be reached or responds
 * with 500, 502, 503, or 504. 0, the default: as the stored response says. Never if it says no-cache or
 * must-revalidate; ANY_AGE ignores that. */
wherry_status wherry_request_set_stale_if_error_ms(wherry_request *request, int64_t milliseconds);
/* The texts of these three are borrowed until the next call of the same function for this request. */
const char *wherry_request_method(const wherry_request *request);
const char *wherry_request_url(const wherry_request *request);
/* Returns the identifier of the request, made of base URL, URL, method, and parameters, for
 * wherry_client_cancel and its kind. client: the client whose base URL is used; NULL: no base. The
 * format is that of the iOS library SJNetwork, so that its identifiers stay valid. */
const char *wherry_request_identifier(const wherry_request *request, const wherry_client *client);
/* Reads the headers of a request, in order, including repeated names; false past the last. A NULL value
 * suppresses the client's header. Borrowed until the next call of the same function for this request.
 *
 * The request of WHERRY_DECISION_ADAPT is the one that will be sent. Its URL is absolute with the
 * complete query. Its headers include those of the client and the Content-Type of the body. Its
 * parameters include the client's default parameters, and wherry_request_body returns the bytes to
 * sign. The client adds its own Authorization and Cookie later, because they must not reach another
 * origin, and Content-Digest, Content-Encoding, Accept, Accept-Encoding, and User-Agent. Any other
 * request has only what was set on it. */
bool wherry_request_header_at(const wherry_request *request, size_t index, const char **out_name,
    const char **out_value);
/* Reads what wherry_request_add_query has added, decoded. The query of the URL itself is part of
 * wherry_request_url. The URL of an ADAPT request contains these pairs too. */
bool wherry_request_query_at(const wherry_request *request, size_t index, const char **out_name,
    const char **out_value);
/* The parameters as the JSON text of one object; "{}" for none. */
const char *wherry_request_parameters(const wherry_request *request, size_t *out_count);
/* The bytes of a body in memory: bytes, JSON, or the JSON or form made from parameters and fields. NULL
 * and 0 without a body, and for files, streams, and parts. */
const uint8_t *wherry_request_body(const wherry_request *request, size_t *out_count);

/* ---- 7. Transfers: requests in flight, known by handle and by number -------------------------- */

typedef struct wherry_transfer wherry_transfer;
typedef struct wherry_record wherry_record; /* section 8 */

typedef enum wherry_state {
  WHERRY_STATE_NONE = 0,
  WHERRY_STATE_QUEUED = 1,  /* a download waits for its turn (MAX_DOWNLOADS); not for a RATE_LIMIT */
  WHERRY_STATE_RUNNING = 2,
  WHERRY_STATE_WAITING = 3, /* for a retry, the network, or the answer to a decision */
  WHERRY_STATE_PAUSED = 4,
  WHERRY_STATE_RESTARTED = 5, /* from byte 0; the event's reason says why. RUNNING follows */
  WHERRY_STATE_VERIFYING = 6,
  WHERRY_STATE_DONE = 7,
  WHERRY_STATE_FAILED = 8,
  WHERRY_STATE_CANCELLED = 9,
  WHERRY_STATE_INTERRUPTED = 10 /* a background job whose agent is gone */
} wherry_state;

typedef struct wherry_progress {
  size_t size;
  /* Sent or received, from the start of the file or body. For a compressed response these are the
   * bytes on the wire, whose total is known; for a compressed request body, the bytes before
   * compression. */
  int64_t done_bytes;
  int64_t expected_bytes;   /* -1 while unknown */
  int64_t resumed_at_bytes; /* already in the partial file when this run started */
  int64_t wire_bytes;       /* transferred by this run, before decoding */
  int64_t bytes_per_second; /* over the last 5 s; -1 while unknown */
  int64_t remaining_ms;     /* -1 while unknown */
  int32_t generation;       /* increases, and done_bytes returns to 0, if the server's file changed */
  int32_t count;            /* transfers in this sum: 1, or more for a group or selection */
  int64_t decoded_bytes;    /* done_bytes after decoding */
  int32_t ended;            /* members of a group that have ended; otherwise 0 */
  int32_t reserved;         /* 0 */
} wherry_progress;

/* Starts a transfer; its events go to the queue and carry user_data. An error that is known at once
 * (bad handle, bad URL, no images) is returned, and no event follows. Otherwise exactly one DONE
 * follows, never before this call returns. */
wherry_status wherry_client_send(wherry_client *client, const wherry_request *request,
    wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
/* Sends a copy of `request` with another URL, so that many threads can share one request that never
 * changes. NULL: the request's own URL. */
wherry_status wherry_client_send_url(wherry_client *client, const wherry_request *request,
    const char *url, wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
/* Sends the request and blocks until it ends. On OK and E_HTTP you own *out_response; otherwise it is
 * set to NULL. wherry_last_error has the details. E_STATE for streamed bodies in either direction, and
 * with decisions. Another thread may cancel it by tag. */
WHERRY_CHECKED wherry_status wherry_client_perform(wherry_client *client,
    const wherry_request *request, wherry_response **out_response);
/* Like perform, but blocks for at most timeout_ms (negative: no limit), so that a program can handle
 * signals between two waits. OK: the transfer has ended, successfully or not; *out_record is its DONE,
 * whose event you own. E_TIMEOUT: it continues; pass *out_transfer, which you own, to
 * wherry_transfer_wait. Anything else: nothing was started. url as in send_url. Set out_record->size
 * first. */
WHERRY_CHECKED wherry_status wherry_client_perform_for(wherry_client *client,
    const wherry_request *request, const char *url, int64_t timeout_ms,
    wherry_transfer **out_transfer, wherry_record *out_record);
/* Downloads to a file, which gets its name only when it is complete and verified. The partial file is
 * in the same directory. Errors about the target (`exists`, a directory without write permission) are
 * returned at once. E_BUSY `already_running`: the same URL is being downloaded to the same file,
 * however its path is written. The request must be a GET (otherwise `bad_method`) without a body, and
 * without Range and If-Range (otherwise `bad_header`). The client's default parameters do not apply. */
wherry_status wherry_client_download(wherry_client *client, const wherry_request *request,
    const char *path, wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);
/* Adds each path to a copy of `request` like add_image, and sends it. count 0 is E_ARGUMENT
 * `no_images`. */
wherry_status wherry_client_upload_images(wherry_client *client, const wherry_request *request,
    const char *name, const char *const *paths, size_t count, const wherry_compression *compression,
    wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);

/* Continues the wait of perform_for: OK with the DONE, once (then E_STATE); or E_TIMEOUT. E_STATE for a
 * transfer whose events go to a queue. */
WHERRY_CHECKED wherry_status wherry_transfer_wait(wherry_transfer *transfer, int64_t timeout_ms,
    wherry_record *out_record);

/* Frees the handle. The transfer continues, and its events still arrive. */
wherry_status wherry_transfer_free(wherry_transfer *transfer);
/* Unique in the process, never 0, and the same in events and lists. */
uint64_t wherry_transfer_id(const wherry_transfer *transfer);
wherry_state wherry_transfer_state(const wherry_transfer *transfer);
/* These four calls may be repeated, and are OK without effect after the end. pause returns after a
 * download's journal is on disk. A paused request stops reading and sending. */
wherry_status wherry_transfer_pause(wherry_transfer *transfer);
wherry_status wherry_transfer_resume(wherry_transfer *transfer);
/* DONE arrives with E_CANCELLED, unless the transfer ended first. A partial file that can be resumed
 * is kept. */
wherry_status wherry_transfer_cancel(wherry_transfer *transfer);
/* Like cancel, but deletes the partial file, also after an earlier cancel or failure. */
wherry_status wherry_transfer_discard(wherry_transfer *transfer);
/* Limits a running download, all of its connections together; 0: no limit; negative is `bad_value`.
 * E_STATE for other transfers; OK after the end. */
wherry_status wherry_transfer_set_max_bytes_per_second(wherry_transfer *transfer,
    int64_t bytes_per_second);
/* Sets the priority, -100...100, of a request that waits for a connection or a download that waits for
 * its turn; it queues behind others of that priority. OK without effect for a transfer that runs or has
 * ended. For a group it applies to the running members, for a chain to the current step, and for
 * requests that share a response to all of them. */
wherry_status wherry_transfer_set_priority(wherry_transfer *transfer, int32_t priority);
/* Moves a waiting download of a client with MAX_DOWNLOADS. place 0 is next; past the end is last; paused
 * downloads count too. Its priority changes to fit the place. E_STATE for other transfers; OK without
 * effect for one that runs or has ended. */
wherry_status wherry_transfer_move(wherry_transfer *transfer, size_t place);
/* -1 if it runs or has ended, and for transfers other than downloads. */
int64_t wherry_transfer_place(const wherry_transfer *transfer);
wherry_status wherry_transfer_progress(const wherry_transfer *transfer,
    wherry_progress *out_progress);
/* The current state of an upload's images, in the order of adding, as rows for wherry_list_image; also
 * after the end. Empty while the images of one form are being encoded, and for other transfers. */
wherry_status wherry_transfer_list_images(const wherry_transfer *transfer, wherry_list **out_list);
/* Streamed uploads, after WANT_BODY: accepts as many bytes as there is room for; the next WANT_BODY asks
 * for more. E_BUSY without room. */
wherry_status wherry_transfer_write(wherry_transfer *transfer, const void *bytes, size_t count,
    size_t *out_taken);
/* Streamed uploads with REWINDABLE_BODY: check this at each WANT_BODY, and until DONE, also after
 * finish. true: the body is needed again from its first byte. Call rewind, then write it again; until
 * then writing is E_BUSY, and finish does nothing. */
bool wherry_transfer_wants_rewind(const wherry_transfer *transfer);
wherry_status wherry_transfer_rewind(wherry_transfer *transfer);
/* Ends the body. Fewer bytes than announced fail the transfer with `truncated`. After the end: E_STATE,
 * or OK if all announced bytes were written, since the response may arrive first. */
wherry_status wherry_transfer_finish(wherry_transfer *transfer);

/* ---- 8. Queue and events --------------------------------------------------------------------- */

typedef struct wherry_event wherry_event;
typedef struct wherry_group wherry_group; /* section 23 */

typedef enum wherry_event_kind {
  WHERRY_EVENT_NONE = 0,
  WHERRY_EVENT_PROGRESS = 1,     /* at most one waits per transfer; the newest replaces it */
  WHERRY_EVENT_HEAD = 2,         /* status and headers have arrived; once, before any BODY */
  WHERRY_EVENT_BODY = 3,         /* a piece of a streamed body; freeing it lets the stream continue */
  WHERRY_EVENT_WANT_BODY = 4,    /* there is room for `detail` bytes at the offset */
  WHERRY_EVENT_STATE = 5,        /* detail is a wherry_state */
  WHERRY_EVENT_IMAGE = 6,        /* image number `detail` is encoded (separate: sent), or failed */
  WHERRY_EVENT_CACHED = 7,       /* a cached response, before the request is sent */
  WHERRY_EVENT_DECISION = 8,     /* detail is a wherry_decision; section 9 */
  WHERRY_EVENT_DONE = 9,         /* exactly one per transfer, always last */
  WHERRY_EVENT_REACHABILITY = 10, /* detail is a wherry_reach; no transfer; section 19 */
  WHERRY_EVENT_LOG = 11,         /* detail is a wherry_log_level; section 20 */
  WHERRY_EVENT_PAGE = 12,        /* detail is a wherry_page_event; no transfer; section 21 */
  WHERRY_EVENT_ACTIVITY = 13     /* `detail` transfers are running, or 0; no transfer; section 20 */
} wherry_event_kind;

typedef enum wherry_record_flag {
  WHERRY_RECORD_REDIRECTED = 1, /* the response came from another URL, after a redirect */
  WHERRY_RECORD_FROM_CACHE = 2, /* wherry_response_is_from_cache */
  WHERRY_RECORD_UNCHANGED = 4,  /* wherry_response_is_unchanged */
  WHERRY_RECORD_STALE = 8,      /* wherry_response_is_stale */
  WHERRY_RECORD_REVALIDATED = 16, /* wherry_response_is_revalidated */
  WHERRY_RECORD_LENGTH_UNVERIFIED = 32, /* wherry_response_is_length_unverified */
  WHERRY_RECORD_INFORMATIONAL = 64, /* wherry_response_informational_at has responses */
  WHERRY_RECORD_HTTP_2 = 128,     /* the response came over HTTP/2 */
  WHERRY_RECORD_HTTP_1_0 = 256    /* the response is HTTP/1.0 */
} wherry_record_flag;

/* An event as a plain struct, with the fields that most programs need. 112 bytes without padding, in
 * native byte order: Python's struct "=QQQQiiqiIQQQQqqQ" reads it. Fields are only added at the end. */
struct wherry_record {
  size_t size;          /* the stride: set records[0].size; the library sets the others */
  wherry_event *event;  /* you own it; set it to NULL to keep it from wherry_queue_release */
  void *user_data;
  uint64_t transfer_id; /* 0 for NONE, REACHABILITY, PAGE, and ACTIVITY */
  int32_t kind;         /* wherry_event_kind */
  int32_t status;       /* DONE, IMAGE, STATE, PAGE: wherry_status */
  int64_t detail;       /* see the kinds; DONE of a group: the member that failed first, or -1 */
  int32_t http_code;    /* or 0 */
  uint32_t flags;       /* DONE, HEAD, CACHED: combined wherry_record_flag values */
  const uint8_t *body;  /* BODY, DONE, CACHED: borrowed from the event. LOG: the text */
  size_t body_count;
  const char *head;     /* HEAD, DONE, CACHED: the response headers as "name: value\n" lines */
  size_t head_count;
  int64_t done_bytes;   /* PROGRESS, WANT_BODY, BODY: the offset; IMAGE: the encoded size; PAGE: its
                         * number, or -1 */
  int64_t expected_bytes; /* PROGRESS; or -1. IMAGE: the original size. REACHABILITY: the previous
                           * wherry_reach */
  const char *reason;   /* static word if status or state has one, otherwise NULL. REACHABILITY: the
                         * word of wherry_reachability_interface */
};

wherry_status wherry_queue_new(wherry_queue **out_queue);
/* Cancels the transfers bound to the queue. Unread events are dropped; events that you hold stay valid.
 * Closes the descriptor: remove it from your poll set first. A thread that waits gets E_STATE. */
wherry_status wherry_queue_free(wherry_queue *queue);
/* A descriptor that is readable while events wait, level-triggered. Never read, write, or close it.
 * Created on first use. -1 for a bad handle, or if the process has no descriptor left. */
int wherry_queue_fd(const wherry_queue *queue);
size_t wherry_queue_count(const wherry_queue *queue);
/* Returns the next event. timeout_ms 0 does not wait, negative waits without limit; E_TIMEOUT if none
 * arrived. Signals do not interrupt the wait. Several threads may wait; each event goes to one. */
WHERRY_CHECKED wherry_status wherry_queue_next(wherry_queue *queue, int64_t timeout_ms,
    wherry_event **out_event);
/* Waits for the first event and returns up to `capacity` of those that are there. */
WHERRY_CHECKED wherry_status wherry_queue_read(wherry_queue *queue, wherry_record *records,
    size_t capacity, int64_t timeout_ms, size_t *out_count);
/* Frees the events of these records, of any queue; NULL events are skipped. If one of the handles is
 * bad, including the queue's, the others are freed before the error is returned. */
wherry_status wherry_queue_release(wherry_queue *queue, const wherry_record *records, size_t count);
/* Cancels the transfers that were sent with this queue and user_data, for programs that keep no
 * handles. *out_count, which may be NULL, is their number. Their DONE events still arrive. */
wherry_status wherry_queue_cancel(wherry_queue *queue, void *user_data, size_t *out_count);
/* Wakes a waiting thread: adds one event of kind NONE with this user_data. */
wherry_status wherry_queue_wake(wherry_queue *queue, void *user_data);

/* Freeing a DECISION without an answer applies its default; freeing a BODY lets its stream continue. */
wherry_status wherry_event_free(wherry_event *event);
wherry_event_kind wherry_event_get_kind(const wherry_event *event);
void *wherry_event_user_data(const wherry_event *event);
uint64_t wherry_event_transfer_id(const wherry_event *event);
/* Returns a handle of the transfer, which you own; also after its end. E_STATE without a transfer. */
wherry_status wherry_event_open_transfer(const wherry_event *event, wherry_transfer **out_transfer);
int64_t wherry_event_detail(const wherry_event *event);
/* The result or cause: of DONE, IMAGE, PAGE, a RETRY decision, and STATE if it has a reason. */
wherry_status wherry_event_status(const wherry_event *event);
const wherry_error *wherry_event_error(const wherry_event *event); /* NULL on success */
/* HEAD, CACHED, DECISION, DONE; NULL without a response. Borrowed from the event. */
const wherry_response *wherry_event_response(const wherry_event *event);
const uint8_t *wherry_event_body(const wherry_event *event, size_t *out_count);
/* IMAGE: the name or path that you gave, or the name in the form. DONE of a download, or of a body that
 * a decision saved: the final path. LOG: the text. REACHABILITY: the target, NULL for any network.
 * DECISION: see there. Otherwise NULL. */
const char *wherry_event_text(const wherry_event *event);
/* The id of a background job, otherwise NULL. */
const char *wherry_event_job_id(const wherry_event *event);
/* DONE of a download: the digest of the complete file in lowercase hexadecimal, if it was expected,
 * announced by the server, or requested. Otherwise NULL. */
const char *wherry_event_digest(const wherry_event *event, wherry_digest digest);
/* E_STATE for events other than PROGRESS. */
wherry_status wherry_event_progress(const wherry_event *event, wherry_progress *out_progress);

/* ---- 9. Decisions: callbacks as events -------------------------------------------------------- */

/* Combine them with | for *_set_decisions. The transfer waits for the answer and holds no thread.
 * Downloads raise none, except RESPOND. An answer counts once (then E_STATE), must be of the decision's
 * kind (E_ARGUMENT), and must arrive in time (E_STATE `decision_expired`). */
typedef enum wherry_decision {
  WHERRY_DECISION_NONE = 0,
  WHERRY_DECISION_ADAPT = 1,        /* before every attempt; default: send it without edits */
  WHERRY_DECISION_REDIRECT = 2,     /* text: the absolute target; default: the usual rules */
  WHERRY_DECISION_CREDENTIALS = 4,  /* a 401; text: the realm; default: the 401 is the response */
  /* error: the failure; response: its response; default: MAX_RETRIES. Not raised for requests that
   * cannot be resent (a streamed body), nor after a HEAD event or the first piece of the response.
   * HEAD and BODY events arrive only for the final response. */
  WHERRY_DECISION_RETRY = 8,
  /* Status and headers have arrived, and the body waits; response: both. Raised once: not for redirects
   * that are followed, a 401 that is answered, or a failure that is retried. For a response that could
   * be one of these, and for a cache hit, it is raised at the end, with the body in memory. All HEAD
   * and BODY events follow this decision; no retry does. Default: continue. */
  WHERRY_DECISION_HEAD = 16,
  WHERRY_DECISION_STORE = 32,       /* before a response is cached, once per cache; default: store */
  /* response: a 401 to the client's bearer token, or to none. Raised once for all requests that got it,
   * on the first of them; the others wait. At most two tokens for one request, and five decisions in
   * 30 s. Not raised for requests with an Authorization header. Default: the 401 is the response. */
  WHERRY_DECISION_TOKEN = 64,
  /* Raised by every chain (section 23), not for *_set_decisions; response: of the previous step */
  WHERRY_DECISION_NEXT = 128,
  /* A stub rule leaves the response to the program (wherry_stub_add_decision). Not for
   * *_set_decisions; downloads and uploads raise it too. response: the complete request, as
   * wherry_stub_copy_request shows it. The timeouts of the request limit the wait, not
   * DECISION_TIMEOUT_MS. Default: the request fails with E_NETWORK `connect`. */
  WHERRY_DECISION_RESPOND = 256
} wherry_decision;

/* ADAPT: the final request of the next attempt (see wherry_request_header_at); REDIRECT: the request to
 * the target, by the usual rules. Read it with wherry_request_header_at and the functions after it,
 * edit it with wherry_request_set_*, then answer `true`; otherwise the edits are ignored. Borrowed.
 * NULL for other decisions.
 *
 * Every ADAPT shows the request without the edits of earlier attempts, so that a signature is not added
 * twice. A new URL is complete: the client's base, parameters, and query are not added to it, only what
 * you add to the request afterwards. */
wherry_request *wherry_event_request(const wherry_event *event);
/* false ends the transfer with E_CANCELLED `refused`. */
wherry_status wherry_event_answer_adapt(wherry_event *event, bool proceed);
/* false: the redirect itself is the response. true: sends the request of the event, edited or not. The
 * rules of redirects apply to an edited request too: it counts as a redirect, and credentials stay with
 * their origin. A change from https to http, or one that would send the previous body to another
 * origin, fails with `redirect_refused`. */
wherry_status wherry_event_answer_redirect(wherry_event *event, bool follow);
/* Sets credentials for this transfer and its origin (WHERRY_AUTH_ANY). Raised again if the server
 * refuses them, at most eight times. A NULL user: the 401 is the response. */
wherry_status wherry_event_answer_credentials(wherry_event *event, const char *user,
    const char *password);
/* HEAD: false ends the transfer with E_CANCELLED `refused` and closes the connection. The response of
 * the error has status and headers. */
wherry_status wherry_event_answer_head(wherry_event *event, bool proceed);
/* HEAD: saves the decoded body to this file instead of memory or BODY events. The text of DONE is its
 * path. The file appears when it is complete, like that of a download. TARGET_EXISTS,
 * TARGET_IS_DIRECTORY, MAKE_DIRECTORIES, DURABILITY, and KEEP_SERVER_TIME of the request apply;
 * MAX_BODY_BYTES and a JSON shape do not, and no cache stores it. Errors about the target that can be
 * detected now are returned (E_FILE `exists`, `is_directory`, and others), and the decision stays open.
 * A response whose status is an error continues without a file. A body that may have been cut
 * (wherry_response_is_length_unverified) makes no file either: E_NETWORK `length_unverified`. */
wherry_status wherry_event_answer_save(wherry_event *event, const char *path);
/* delay_ms: the wait before the retry; -1: as for MAX_RETRIES. Any method, any number of times. */
wherry_status wherry_event_answer_retry(wherry_event *event, bool again, int64_t delay_ms);
/* Sets the client's bearer token, and all waiting requests are resent. NULL: the 401 is their
 * response. */
wherry_status wherry_event_answer_token(wherry_event *event, const char *token);
/* without_headers: names that are not stored, "Set-Cookie, X-Trace"; may be NULL. In the HTTP cache a
 * later 304 does not add them, and a response without a header that reuse requires (Age, Cache-Control,
 * Content-*, Date, ETag, Expires, Last-Modified, Location, Vary) is not stored. The entry that the
 * response would replace is deleted in any case. Not raised for a 304 and for responses to HEAD, which
 * only freshen an entry. With this decision, stale entries are not validated in the background. */
wherry_status wherry_event_answer_store(wherry_event *event, bool store,
    const char *without_headers);
/* NEXT: sends this request or group before those that were added, as an ordinary transfer with this user
 * data and the client's current settings. If it cannot be sent, the chain ends. */
wherry_status wherry_event_answer_next(wherry_event *event, const wherry_request *request,
    void *user_data);
wherry_status wherry_event_answer_next_group(wherry_event *event, const wherry_group *group,
    void *user_data);
/* NEXT: ends the chain; steps that were added are skipped. */
wherry_status wherry_event_answer_stop(wherry_event *event);
/* RESPOND: the response of the request. http_code is 200 to 999; head: "Name: value\n" lines or NULL,
 * Content-Length is added if it is missing. Copies the body. */
wherry_status wherry_event_answer_response(wherry_event *event, int32_t http_code, const char *head,
    const void *body, size_t count);
/* RESPOND: fails the attempt with a reason of docs/errors.md that a network can cause, such as
 * "connect" or "idle_timeout". Retries apply. message: a sentence, or NULL. */
wherry_status wherry_event_answer_failure(wherry_event *event, const char *reason,
    const char *message);
/* Any decision: ends the transfer with E_CANCELLED and this sentence. */
wherry_status wherry_event_answer_refuse(wherry_event *event, const char *message);

/* ---- 10. Management: transfers by URL, tag, identifier, or all -------------------------------- */

typedef enum wherry_match {
  WHERRY_MATCH_ALL = 1,        /* key is NULL; does not affect transfers that start later */
  WHERRY_MATCH_URL = 2,        /* any method and parameters; joined with the base like a request */
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
  WHERRY_TRANSFER_GROUP = 4 /* has no URL and tag; matched by ALL and its number only; section 23 */
} wherry_transfer_kind;

/* These apply the verbs of section 7 to all matching transfers. OK also if nothing matches; *out_count
 * is the number of matches. */
wherry_status wherry_client_pause(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_client_resume(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_client_cancel(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
/* Also deletes partial files without a transfer, for URL, URLS, and PATH. */
wherry_status wherry_client_discard(wherry_client *client, wherry_match match, const char *key,
    size_t *out_count);
size_t wherry_client_count(const wherry_client *client, wherry_match match, const char *key);
/* Returns when all DONE events are in their queues, without reading them; E_TIMEOUT. */
wherry_status wherry_client_wait(wherry_client *client, wherry_match match, const char *key,
    int64_t timeout_ms);
/* Sums up the running transfers; expected_bytes is -1 if one of them is unknown. With MATCH_TAG,
 * transfers that have ended stay in the sum, so that it never decreases. A sum begins with a transfer
 * that starts while no other transfer with the tag is running. It is kept until the tag's next sum
 * begins, or 256 other sums have ended. The bytes that a failed transfer lacks stay missing, unless a
 * download to the same path replaces it. */
wherry_status wherry_client_progress(const wherry_client *client, wherry_match match,
    const char *key, wherry_progress *out_progress);
/* Returns a handle to a running transfer by its number; E_ARGUMENT `not_found` after its end. */
wherry_status wherry_client_open_transfer(wherry_client *client, uint64_t transfer_id,
    wherry_transfer **out_transfer);
wherry_status wherry_client_list(const wherry_client *client, wherry_match match, const char *key,
    wherry_list **out_list /* rows by wherry_list_transfer */);

/* ---- 11. Lists: snapshots with plain structs as rows; their text lives as long as the list ---- */

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
} wherry_transfer_row;

typedef struct wherry_image_row {
  size_t size;
  /* The name or path that you gave, or the name in the form: the same in success and failure. */
  const char *file_name;
  const char *reason, *message;             /* NULL unless failed */
  int64_t original_bytes, encoded_bytes;    /* -1 if not known yet */
  int32_t index;                            /* order of adding */
  int32_t status;                           /* wherry_status */
  int32_t width, height;                    /* as sent; 0 if not known yet */
  int32_t quality;    /* libjpeg's 1 to 100 if it was re-encoded as JPEG; otherwise 0 */
  int32_t http_code;  /* SEPARATE_IMAGES: of the response to its own request; otherwise 0 */
  int64_t sent_bytes; /* SEPARATE_IMAGES: of that request body so far; otherwise -1 */
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
  const char *url;      /* of the request, absolute; with its query in the HTTP cache only */
  int64_t stored_at_ms; /* since 1970 */
  int64_t fresh_for_ms; /* from now on; 0: the HTTP cache would validate it first */
  int64_t body_bytes;
  int32_t http_code;
  int32_t store; /* wherry_cache_store */
} wherry_entry_row;

typedef struct wherry_job_row {
  size_t size;
  const char *job_id, *url, *path, *tag; /* path and tag may be NULL; a query of the URL is "?..." */
  const char *reason;     /* why it failed, restarted, or waits; static word or NULL */
  const char *message;    /* of a failed job, or NULL */
  int64_t done_bytes, expected_bytes;
  int64_t started_at_ms;  /* since 1970 */
  int64_t retry_at_ms;    /* since 1970; -1 unless the server asked to wait until then */
  int32_t kind;           /* wherry_transfer_kind */
  int32_t state;          /* wherry_state */
  int32_t status;         /* wherry_status of a failed job */
  int32_t http_code;      /* of the final response, or 0 */
} wherry_job_row;

wherry_status wherry_list_free(wherry_list *list);
size_t wherry_list_count(const wherry_list *list);
/* E_ARGUMENT: another kind of list, or an index past the end. Set out_row->size first. */
wherry_status wherry_list_transfer(const wherry_list *list, size_t index,
    wherry_transfer_row *out_row);
wherry_status wherry_list_image(const wherry_list *list, size_t index, wherry_image_row *out_row);
/* SEPARATE_IMAGES: the response to that image's own request, borrowed from the list; NULL if there was
 * none, and for other lists. */
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
  int64_t queued_us, lookup_us, connect_us, tls_us; /* the duration of each step, not a running sum */
  int64_t first_byte_us, total_us;
  int64_t sent_bytes, received_bytes; /* on the wire, headers included */
  int32_t http_version;               /* 10, 11, 20 */
  /* retries: attempts after the first one of each URL, for any reason: a retry, an answered 401, a new
   * token, the next base URL, or a cache that sent the request again */
  int32_t redirects, retries;
  int32_t is_reused;                  /* 1: on an existing connection */
} wherry_metrics;

/* Returns a response that you own and that outlives the event. Shares the body without a copy. */
wherry_status wherry_response_copy(const wherry_response *response, wherry_response **out_copy);
/* E_STATE for a borrowed response: free the event instead. */
wherry_status wherry_response_free(wherry_response *response);
int32_t wherry_response_http_code(const wherry_response *response);
const char *wherry_response_url(const wherry_response *response); /* after redirects */
/* true: the body came over TLS without a length, and the connection ended without close_notify, so an
 * attacker may have cut it. See REQUIRE_VERIFIED_LENGTH. */
bool wherry_response_is_length_unverified(const wherry_response *response);
bool wherry_response_is_from_cache(const wherry_response *response);
/* true: the body is the same as that of the CACHED event before it. */
bool wherry_response_is_unchanged(const wherry_response *response);
/* true: a stale cache entry, because the origin failed, or policy, request, or response allow it. */
bool wherry_response_is_stale(const wherry_response *response);
/* true: a cache entry that the server has just confirmed with 304. */
bool wherry_response_is_revalidated(const wherry_response *response);
/* The redirects that were followed, in order; false past the last. */
bool wherry_response_redirect_at(const wherry_response *response, size_t index,
    int32_t *out_http_code, const char **out_url);
/* The informational responses (1xx) before this one, such as 103 Early Hints, in the order of arrival,
 * at most 64; false past the last. Those before a redirect or an earlier attempt are not included.
 * *out_fields is the headers as text, one "name: value\n" for each, borrowed from the response. */
bool wherry_response_informational_at(const wherry_response *response, size_t index,
    int32_t *out_http_code, const char **out_fields);
/* The headers of a redirect, in order; false past the last. */
bool wherry_response_redirect_header_at(const wherry_response *response, size_t redirect,
    size_t index, const char **out_name, const char **out_value);
/* The first header of that name, ignoring case, or NULL; bytes above 0x7f unchanged. */
const char *wherry_response_header(const wherry_response *response, const char *name);
/* All headers in order, including repeated names; false past the last. */
bool wherry_response_header_at(const wherry_response *response, size_t index, const char **out_name,
    const char **out_value);
/* The decoded body, not NUL-terminated; NULL and 0 if it is empty or streamed. */
const uint8_t *wherry_response_body(const wherry_response *response, size_t *out_count);
/* The body as NUL-terminated UTF-8, converted from the charset of Content-Type if the system knows it,
 * otherwise read as UTF-8. Invalid bytes become U+FFFD. May contain NULs. Borrowed from the response. ""
 * without a body; NULL without memory. */
const char *wherry_response_text(const wherry_response *response, size_t *out_count);
/* Parses the body. An empty body or a single space is a null value. WHERRY_E_HTTP `bad_json_body`
 * if it is not JSON; the message names the byte. */
wherry_status wherry_response_json(const wherry_response *response, wherry_json **out_json);
/* A file name from Content-Disposition, the URL, or "download"; sanitized, never a path. */
const char *wherry_response_suggested_name(const wherry_response *response);
const char *wherry_response_remote_address(const wherry_response *response);
wherry_status wherry_response_metrics(const wherry_response *response, wherry_metrics *out_metrics);
/* The images of the upload, including skipped ones, in the order of adding, as rows for
 * wherry_list_image; empty for other responses. */
wherry_status wherry_response_list_images(const wherry_response *response, wherry_list **out_list);

/* ---- 13. Images ------------------------------------------------------------------------------ */

typedef enum wherry_image_format {
  WHERRY_IMAGE_KEEP = 0, /* the format of the original; for raw pixels PNG with alpha, else JPEG */
  WHERRY_IMAGE_JPEG = 1,
  WHERRY_IMAGE_PNG = 2,
  WHERRY_IMAGE_GIF = 3, /* this and the following are recognized but not decoded */
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
  WHERRY_METADATA_ICC = 2, /* default */
  WHERRY_METADATA_NO_GPS = 3,
  WHERRY_METADATA_ALL = 4
} wherry_metadata;

/* The default comes first. */
typedef enum wherry_image_option {
  /* options: begin wherry_image_option (scripts/make-options) */
  WHERRY_IMAGE_MAX_WIDTH = 1,        /* 0: none; keeps the aspect ratio, never enlarges */
  WHERRY_IMAGE_MAX_HEIGHT = 2,       /* 0: none */
  WHERRY_IMAGE_MAX_BYTES = 3,        /* 0: none; lowers the quality, then the size */
  WHERRY_IMAGE_FORMAT = 4,           /* wherry_image_format KEEP, JPEG, or PNG */
  WHERRY_IMAGE_BACKGROUND_RGB = 5,   /* 0xffffff; behind transparent pixels in a JPEG */
  WHERRY_IMAGE_METADATA = 6,         /* wherry_metadata */
  WHERRY_IMAGE_KEEP_ORIENTATION = 7, /* 0: rotates the image upright */
  WHERRY_IMAGE_NEVER_LARGER = 8,     /* 1: uses the original if the result is larger */
  WHERRY_IMAGE_OPTIMIZE = 9,         /* -1: if the image is resized */
  WHERRY_IMAGE_PROGRESSIVE = 10,     /* 0 */
  /* 0: 444 from quality 0.9 on, otherwise 420; or 420, 422, 444 */
  WHERRY_IMAGE_SUBSAMPLING = 11,
  WHERRY_IMAGE_BEST_FILTER = 12,     /* 0: PNG's fast filter */
  WHERRY_IMAGE_MAX_PIXELS = 13,      /* 100000000; checked from the header alone */
  WHERRY_IMAGE_MAX_MEMORY_BYTES = 14, /* 268435456 */
  WHERRY_IMAGE_DEADLINE_MS = 15,     /* 30000; 0: none */
  /* 0: an animated PNG that must be decoded is `unsupported_image`. 1: decodes its default image.
   * If it is sent unchanged, it stays animated in both cases. */
  WHERRY_IMAGE_ANIMATED = 16
  /* options: end */
} wherry_image_option;

typedef enum wherry_image_flag {
  WHERRY_IMAGE_HAS_ALPHA = 1,
  WHERRY_IMAGE_HAS_ICC = 2,
  WHERRY_IMAGE_HAS_EXIF = 4,
  WHERRY_IMAGE_HAS_GPS = 8, /* in its EXIF */
  WHERRY_IMAGE_IS_ANIMATED = 16,
  WHERRY_IMAGE_IS_PROGRESSIVE = 32 /* or interlaced: needs the whole image in memory */
} wherry_image_flag;

/* How wherry_image_compress made the result, from the cheapest way to the most expensive. */
typedef enum wherry_image_way {
  WHERRY_IMAGE_WAY_NONE = 0,
  WHERRY_IMAGE_WAY_UNTOUCHED = 1, /* the original bytes */
  WHERRY_IMAGE_WAY_STRIPPED = 2,  /* metadata removed, nothing else */
  WHERRY_IMAGE_WAY_TURNED = 3,    /* rotated without loss */
  WHERRY_IMAGE_WAY_RECODED = 4,   /* from a JPEG's coefficients or planes, without color conversion */
  WHERRY_IMAGE_WAY_STREAMED = 5,  /* decoded and encoded row by row */
  WHERRY_IMAGE_WAY_WHOLE = 6      /* decoded as a whole */
} wherry_image_way;

typedef struct wherry_image_info {
  size_t size;
  int64_t byte_count;     /* encoded; -1 for raw pixels */
  int64_t pixel_bytes;    /* memory for the decoded pixels */
  int64_t original_bytes; /* size of the input of wherry_image_compress; -1 for raw pixels or others */
  int32_t format;         /* wherry_image_format; KEEP for raw pixels */
  int32_t width, height;  /* as stored: an orientation of 5 to 8 swaps them for display */
  int32_t orientation;    /* EXIF's 1 to 8; 1 is upright */
  /* As stored: 1 gray or palette, 2 gray with alpha, 3 color, 4 color with alpha or CMYK */
  int32_t components;
  int32_t bit_depth;      /* of one sample */
  int32_t quality;        /* libjpeg's 1 to 100 if wherry_image_compress used one; otherwise 0 */
  int32_t way;            /* wherry_image_way of wherry_image_compress; otherwise NONE */
  uint32_t flags;         /* combined wherry_image_flag values */
  int32_t reserved;       /* 0 */
} wherry_image_info;

/* Recognizes a format by its first bytes: FF jpeg, 89 png, 47 gif, 49 and 4D tiff, RIFF...WEBP webp;
 * otherwise KEEP. */
wherry_image_format wherry_image_recognise(const void *bytes, size_t count);
/* Opens the file to check that it is readable; it is read when it is needed. */
wherry_status wherry_image_new_file(const char *path, wherry_image **out_image);
wherry_status wherry_image_new_bytes(const void *bytes, size_t count, wherry_image **out_image);
wherry_status wherry_image_new_pixels(const void *bytes, size_t count, wherry_pixel_format format,
    int32_t width, int32_t height, size_t stride_bytes, wherry_image **out_image);
/* The same without a copy: you keep the memory and must not change it until wherry_image_free, which
 * waits while the pixels are read. Encoding them later fails with E_STATE `wrong_state`, so free the
 * image after the DONE of the uploads that send it. */
wherry_status wherry_image_new_pixels_lent(const void *bytes, size_t count,
    wherry_pixel_format format, int32_t width, int32_t height, size_t stride_bytes,
    wherry_image **out_image);
wherry_status wherry_image_free(wherry_image *image);
/* Reads the header without decoding. Set out_info->size first. */
wherry_status wherry_image_inspect(const wherry_image *image, wherry_image_info *out_info);
/* Returns the image that an upload with this compression (NULL: the default) would send. Blocks for the
 * duration of the work: tens of milliseconds for a photograph. Several threads may call it at the same
 * time, each with its own images. */
wherry_status wherry_image_compress(const wherry_image *image,
    const wherry_compression *compression, wherry_image **out_image);
/* Decodes an image to upright raw pixels. NONE: GRAY8, RGB8, or RGBA8, whichever loses only depth above
 * 8 bits. compression may be NULL; its BACKGROUND_RGB (if alpha is dropped), KEEP_ORIENTATION, and
 * limits apply. Blocks; fails like compress with E_IMAGE, E_LIMIT, and E_FILE. */
wherry_status wherry_image_decode(const wherry_image *image, wherry_pixel_format format,
    const wherry_compression *compression, wherry_image **out_image);
/* Raw pixels, top row first, borrowed until wherry_image_free; NULL for an encoded image. The size is
 * that of wherry_image_inspect. *out_stride, the bytes per row, and out_format may be NULL. */
const uint8_t *wherry_image_pixels(const wherry_image *image, wherry_pixel_format *out_format,
    size_t *out_stride);
/* The encoded image, borrowed until wherry_image_free; NULL and 0 for a file and for raw pixels. */
const uint8_t *wherry_image_bytes(const wherry_image *image, size_t *out_count);
/* Sets the file name in the multipart body and in errors; by default <ms since 1970><index>.<ext>. */
wherry_status wherry_image_set_file_name(wherry_image *image, const char *file_name);

/* quality is 0...1 for JPEG. Any other value means 1: the original, if it satisfies the options. */
wherry_status wherry_compression_new(double quality, wherry_compression **out_compression);
wherry_status wherry_compression_free(wherry_compression *compression);
wherry_status wherry_compression_set_option(wherry_compression *compression,
    wherry_image_option option, int64_t value);
/* png PNG jpg JPG jpeg JPEG, as in the iOS library SJNetwork; anything else is jpg. */
wherry_status wherry_compression_set_type(wherry_compression *compression, const char *type);

/* ---- 14. Partial downloads: on disk, also of earlier runs ------------------------------------- */

/* Reads the journals in a directory and starts nothing. E_FILE if it cannot be read. */
wherry_status wherry_partial_list(const char *directory,
    wherry_list **out_list /* rows by wherry_list_partial */);
/* The completed fraction, as in the iOS library SJNetwork: 0.00...1.00; 0 without a partial file. */
double wherry_partial_ratio(const char *path);
/* Deletes partial file and journal. OK if there are none; E_BUSY while a transfer uses them. */
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

/* Parses RFC 8259 JSON with exact 64-bit integers, at most 512 levels deep. E_ARGUMENT `bad_json`;
 * E_LIMIT `too_large` above 64 MiB. */
wherry_status wherry_json_parse(const void *text, size_t count, wherry_json **out_json);
/* A null value; the first set makes it an object or array. */
wherry_status wherry_json_new(wherry_json **out_json);
wherry_status wherry_json_free(wherry_json *json);
/* Paths: "data/items/0/name"; "" or NULL is the root; empty segments are skipped; ~1 means / and ~0
 * means ~ in a name; "-" appends when setting. Getters return `otherwise` if the path is missing or its
 * type does not fit. The text "12" fits a number, 12 fits a text, and y Y t T 1 are true. */
wherry_json_type wherry_json_get_type(const wherry_json *json, const char *path);
size_t wherry_json_count(const wherry_json *json, const char *path);
bool wherry_json_get_bool(const wherry_json *json, const char *path, bool otherwise);
int64_t wherry_json_get_integer(const wherry_json *json, const char *path, int64_t otherwise);
/* The same for non-negative values up to UINT64_MAX. */
uint64_t wherry_json_get_unsigned(const wherry_json *json, const char *path, uint64_t otherwise);
double wherry_json_get_number(const wherry_json *json, const char *path, double otherwise);
/* Borrowed until json changes. out_count, which may be NULL, is needed for text that contains NULs. */
const char *wherry_json_get_text(const wherry_json *json, const char *path, const char *otherwise,
    size_t *out_count);
/* The index-th name of the object at path, or NULL. */
const char *wherry_json_name_at(const wherry_json *json, const char *path, size_t index);
wherry_status wherry_json_set_bool(wherry_json *json, const char *path, bool value);
wherry_status wherry_json_set_integer(wherry_json *json, const char *path, int64_t value);
wherry_status wherry_json_set_number(wherry_json *json, const char *path, double value);
wherry_status wherry_json_set_text(wherry_json *json, const char *path, const char *value);
/* Copies a value; NULL is JSON null. json and value may be the same. */
wherry_status wherry_json_set_value(wherry_json *json, const char *path, const wherry_json *value);
/* Removes null members of all objects at any depth; arrays keep their nulls. */
wherry_status wherry_json_remove_nulls(wherry_json *json);
/* Returns a copy of the value at the path. E_ARGUMENT `not_found` if there is none. */
wherry_status wherry_json_copy(const wherry_json *json, const char *path, wherry_json **out_copy);
/* Borrowed until the next print or change. pretty: two spaces and sorted names, as in identifiers. */
const char *wherry_json_print(const wherry_json *json, bool pretty, size_t *out_count);

/* ---- 16. Stub transport: a client without a network, for tests -------------------------------- */

wherry_status wherry_stub_new(wherry_stub **out_stub);
/* Clients that use the stub keep it alive. */
wherry_status wherry_stub_free(wherry_stub *stub);
/* Responds to the next `times` matching requests (-1: all); the oldest matching rule applies.
 * method NULL: any. In url, each '*' matches any text, in the host only up to the path. head:
 * "Name: value\n" lines or NULL. A request without a rule fails with E_NETWORK `connect`. */
wherry_status wherry_stub_add_answer(wherry_stub *stub, const char *method, const char *url,
    int32_t times, int32_t http_code, const char *head, const void *body, size_t count);
/* Fails with a reason of docs/errors.md, such as "resolve" or "truncated", after that many bytes. */
wherry_status wherry_stub_add_failure(wherry_stub *stub, const char *method, const char *url,
    int32_t times, const char *reason, int64_t after_bytes);
/* Leaves the response to the program: each matching request raises a WHERRY_DECISION_RESPOND event in
 * the queue of its transfer, after the request body has been read (at most 64 MiB). Requests sent by
 * wherry_client_perform have no queue and fail. Background validations fail too. */
wherry_status wherry_stub_add_decision(wherry_stub *stub, const char *method, const char *url,
    int32_t times);
/* Sends matching requests to the network, with all settings of the client except WAIT_FOR_NETWORK. Do
 * not combine with wherry_stub_advance_ms. */
wherry_status wherry_stub_add_network(wherry_stub *stub, const char *method, const char *url,
    int32_t times);
/* Delays the rule added last, on the stub's clock once wherry_stub_advance_ms was called. E_STATE for a
 * rule that does not respond itself. */
wherry_status wherry_stub_set_delay_ms(wherry_stub *stub, int64_t milliseconds);
/* Advances the clock of all clients with this stub. From the first call on, their time (timeouts,
 * retries) moves only this way. Returns when everything that is due has happened. */
wherry_status wherry_stub_advance_ms(wherry_stub *stub, int64_t milliseconds);
size_t wherry_stub_request_count(const wherry_stub *stub);
/* The requests so far, in order: URL, headers, and body as they would have been sent. The first header
 * is ":method". Requests that raised a decision or went to the network are not recorded. */
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

/* None of these sends a request. Each may wait for the disk; E_FILE, such as `bad_storage`, without
 * a storage folder.
 *
 * Returns the cached response for a request: from the timed cache, or with a policy from PROTOCOL on
 * from the HTTP cache; with OPTION_HTTP_CACHE from there if the timed cache has none. E_CACHE_MISS has
 * the reason `missing`, `damaged`, `clock`, `stale`, `app_version`, or `cache_version`; the timed cache
 * deletes an entry that it must not serve. */
wherry_status wherry_client_read_cache(wherry_client *client, const wherry_request *request,
    wherry_response **out_response);
/* Stores a response with status 200 in the timed cache. duration_ms <= 0 is `bad_value`. content_type
 * may be NULL. */
wherry_status wherry_client_write_cache(wherry_client *client, const wherry_request *request,
    const void *bytes, size_t count, const char *content_type, int64_t duration_ms);
/* Deletes the entry for this request, and the entries of the HTTP cache for its URL with that query;
 * *out_count is 1 or 0. */
wherry_status wherry_client_remove_cache(wherry_client *client, const wherry_request *request,
    size_t *out_count);
/* Lists usable entries: of one URL as in its requests or in a row (NULL: all), and one method (NULL:
 * any). stores: TIMED and HTTP. base: the name of their base URL, NULL for the one without a name;
 * requests that ignore the base are found too. In the timed cache a URL matches exactly as it was
 * written, with its own query; in the HTTP cache a URL without a query matches all queries, and every
 * method is GET. Secret values in the query of a stored URL, such as those of `token` and `password`,
 * are keyed hashes on disk and in rows (`token=***3f0c...`); such a URL finds its entry too. Deletes
 * entries of the timed cache that have expired. */
wherry_status wherry_client_list_cache(wherry_client *client, uint32_t stores, const char *base,
    const char *url, const char *method, wherry_list **out_list /* rows by wherry_list_entry */);
/* The response of a listed entry; E_CACHE_MISS `missing` if the entry is gone. */
wherry_status wherry_client_read_cache_entry(wherry_client *client, const char *entry_id,
    wherry_response **out_response);
/* Deletes a listed entry. *out_count is 1, or 0 if the entry was gone. */
wherry_status wherry_client_remove_cache_entry(wherry_client *client, const char *entry_id,
    size_t *out_count);
/* Deletes entries by the same selection; combine stores with |. Partial files of running downloads are
 * kept. OK also if nothing matches; *out_count is the number of matches. */
wherry_status wherry_client_clear_cache(wherry_client *client, uint32_t stores, const char *base,
    const char *url, const char *method, size_t *out_count);
/* Set out_usage->size first. */
wherry_status wherry_client_cache_usage(wherry_client *client, wherry_cache_usage *out_usage);
/* "1023.9990 KB" or "1.2385 MB". Copies like copy_header; 32 bytes suffice. */
wherry_status wherry_format_bytes(int64_t bytes, char *buffer, size_t capacity, size_t *out_count);

/* ---- 18. Background sessions: downloads and uploads that outlive the process ------------------ */

/* A separate process, wherry-agent, runs the jobs of a session. It starts with the first job and exits
 * after the last. All programs of the same user that open a session by its name share its jobs. Job
 * records are in $XDG_STATE_HOME/wherry/<name>, mode 0700, with their request headers, until the jobs
 * are finished. These calls wait for the disk and the agent. */
typedef struct wherry_session wherry_session;

/* Opens or creates the session of that name: a file name of at most 100 bytes without spaces or a
 * leading dot. Starts no agent. Config NULL: defaults. Its B and BLR options apply to the jobs, except
 * those for caches and decisions. Credentials, pins, and client certificates are `bad_option`: job
 * records keep no passwords and keys. They do keep headers and bearer tokens. E_FILE
 * `unsafe_state_dir`: the folder is a link, belongs to another user, or is accessible to others. */
wherry_status wherry_session_new(const wherry_config *config, const char *name,
    wherry_session **out_session);
/* Stops following. Jobs continue. */
wherry_status wherry_session_free(wherry_session *session);
#define WHERRY_JOB_ID_SIZE 33 /* 32 hexadecimal digits and NUL */

/* Starts a download job; returns when the agent has stored it. Errors that wherry_client_download
 * returns at once are returned; E_FILE `no_agent` if no agent can be started. The same path and URL
 * again are the same job: OK, also after it is done but not acknowledged; a job that is paused,
 * interrupted, or finished restarts with this request. E_BUSY `busy`: another URL is being downloaded
 * to that path. out_id has WHERRY_JOB_ID_SIZE bytes or is NULL. path must be absolute. */
wherry_status wherry_session_download(wherry_session *session, const wherry_request *request,
    const char *path, char *out_id);
/* Starts an upload job. Copies the body before it returns: images are encoded, files read. Not for
 * streamed bodies or SEPARATE_IMAGES. Each call is a separate job. The agent retries an interrupted
 * upload from its start, each time with the header `Idempotency-Key: "<job id>"`, so that the server
 * can recognize it. A header of that name in the request or config overrides it; a NULL value sends
 * none. An upload that the server has answered with 2xx is never retried: if the agent died before it
 * had the complete response, the job is done with the reason `interrupted` and a response without a
 * body; if nothing could be recorded, it fails with `interrupted`. If the stored copy of the body has
 * changed, the job fails with `damaged_job`, and nothing is sent. After E_TIMEOUT the agent may still
 * run the job; the message has the job's id. */
wherry_status wherry_session_upload(wherry_session *session, const wherry_request *request,
    char *out_id);
/* Lists all jobs, including finished ones that are not acknowledged, oldest first. If an agent died, a
 * new one is started and jobs continue (OPTION_AUTOSTART); otherwise they are INTERRUPTED. A job whose
 * record cannot be read is FAILED with the reason `damaged_job`; its message says why, and
 * acknowledging it deletes the record. */
wherry_status wherry_session_list(wherry_session *session,
    wherry_list **out_list /* rows by wherry_list_job */);
/* Sends STATE, PROGRESS, and DONE of one job (NULL: of all, also later ones) to the queue, first its
 * current state; a finished job sends DONE at once. If the agent is unreachable, STATE INTERRUPTED says
 * why, and the library keeps trying. Every follower gets DONE, also a later one, until a program
 * acknowledges the job; after that, following it is `not_found`. Freeing the session or the queue ends
 * the events; wherry_queue_cancel does not. Following a job twice is E_BUSY `already_running`. An agent
 * stays alive while a program follows. */
wherry_status wherry_session_follow(wherry_session *session, const char *job_id,
    wherry_queue *queue, void *user_data);
/* These may be repeated, and do not change a finished job. E_ARGUMENT `not_found` without such a job.
 * When pause returns, the data of the job is safe on disk. */
wherry_status wherry_session_pause(wherry_session *session, const char *job_id);
wherry_status wherry_session_resume(wherry_session *session, const char *job_id);
/* Deletes the partial data. The record stays until it is acknowledged. */
wherry_status wherry_session_cancel(wherry_session *session, const char *job_id);
/* Acknowledges a finished job and deletes its record: OK for exactly one caller in all processes;
 * others get E_ARGUMENT `not_found`. So handle DONE after this call succeeds. E_STATE for an unfinished
 * job. Jobs that are not acknowledged are removed after 7 days. */
wherry_status wherry_session_acknowledge(wherry_session *session, const char *job_id);
/* The same for many jobs: ALL, URL, URLS, TAG, or PATH; other matches are `bad_argument`. A URL matches
 * with any query. OK also if nothing matches. *out_count is the number of unfinished jobs; for
 * acknowledge_all, of acknowledged jobs. A failure does not stop the others; the first one is
 * returned. */
wherry_status wherry_session_pause_all(wherry_session *session, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_session_resume_all(wherry_session *session, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_session_cancel_all(wherry_session *session, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_session_acknowledge_all(wherry_session *session, wherry_match match,
    const char *key, size_t *out_count);
/* "<Download job: 3f2a91c07d5e>", or in_full several lines: kind, URL, path, tag, state, progress, error.
 * Contains no secrets. Copies like copy_header. E_ARGUMENT `not_found` without such a job. */
wherry_status wherry_session_copy_description(wherry_session *session, const char *job_id, bool in_full,
    char *buffer, size_t capacity, size_t *out_count);
/* The main function of wherry-agent, for a program that acts as the agent. Returns its exit status when
 * there is nothing left to do. */
int wherry_agent_main(int count, const char *const *arguments);

/* ---- 19. Reachability: network reachability, from kernel routing state ------------------------ */

/* From links, addresses, and routes of IPv4 and IPv6. Nothing is polled, and only probes send anything.
 * One thread serves all monitors, while at least one is running or waited for. */
typedef struct wherry_reachability wherry_reachability;

typedef enum wherry_reach {
  WHERRY_REACH_UNKNOWN = -1, /* not determined yet */
  WHERRY_REACH_NONE = 0,
  WHERRY_REACH_WWAN = 1,     /* a mobile network */
  WHERRY_REACH_WIFI = 2      /* anything else, including cable and tunnels */
} wherry_reach;

/* The default comes first. */
typedef enum wherry_reach_option {
  WHERRY_REACH_RAW = 1,               /* 0; 1: an event for every evaluation, also without a change */
  WHERRY_REACH_INITIAL_SYNC = 2,      /* 0; 1: start evaluates before it returns; may wait for DNS */
  WHERRY_REACH_PROBE_INTERVAL_MS = 3, /* 30000; at least 10 */
  WHERRY_REACH_PROBE_TIMEOUT_MS = 4   /* 5000; at least 1 */
} wherry_reach_option;

/* target: a host name or an address; NULL: any network. A name is resolved at the start and after
 * network changes; a name without an address is not reachable. E_ARGUMENT `bad_value` for a URL. */
wherry_status wherry_reachability_new(const char *target, wherry_reachability **out_reachability);
/* A monitor whose status comes from wherry_reachability_report, for tests and programs that have a
 * better source. */
wherry_status wherry_reachability_new_reported(wherry_reachability **out_reachability);
/* The client's own monitor of any network. You own the handle; freeing it does not stop the monitor. */
wherry_status wherry_client_open_reachability(wherry_client *client,
    wherry_reachability **out_reachability);
/* Receives the events of every monitor in the process until it is freed: after the monitor's own queue,
 * in the same order. Its own status is UNKNOWN. */
wherry_status wherry_reachability_observe(wherry_queue *queue, void *user_data,
    wherry_reachability **out_reachability);
/* Stops the monitor. No event follows; waiting ones are dropped. */
wherry_status wherry_reachability_free(wherry_reachability *reachability);
/* Options and probe can be set before the first start or wait; E_STATE afterwards. */
wherry_status wherry_reachability_set_option(wherry_reachability *reachability,
    wherry_reach_option option, int64_t value);
/* If there is a route, a server must respond too: "tcp://host:port" accepts a connection, "http://..."
 * and "https://..." respond to GET with 200 to 299, without a redirect. NULL: none. E_ARGUMENT
 * `bad_url`. */
wherry_status wherry_reachability_set_probe(wherry_reachability *reachability, const char *url);
/* Sends one REACHABILITY event soon, whatever the status was, and one for each change, without
 * omissions. Starting again starts over. queue NULL: no events. E_NETWORK `no_network_state` if the
 * system does not provide routing state. */
wherry_status wherry_reachability_start(wherry_reachability *reachability, wherry_queue *queue,
    void *user_data);
/* The status stays. No event follows; waiting ones are dropped. */
wherry_status wherry_reachability_stop(wherry_reachability *reachability);
/* UNKNOWN before the first start or wait. */
wherry_reach wherry_reachability_status(const wherry_reachability *reachability);
/* The first interface of the route: "wired", "wifi", "wwan", "vpn", "loopback", or "none". Static
 * text. */
const char *wherry_reachability_interface(const wherry_reachability *reachability);
/* Its name, such as "eth0"; "" for none. Copies like copy_header; 16 bytes suffice. */
wherry_status wherry_reachability_copy_name(const wherry_reachability *reachability, char *buffer,
    size_t capacity, size_t *out_count);
/* Returns when the status is WWAN or WIFI; works without a start. E_TIMEOUT. Negative: no limit. */
wherry_status wherry_reachability_wait(wherry_reachability *reachability, int64_t timeout_ms);
/* The same without blocking: one REACHABILITY event, NONE if the time ran out. It does not arrive after
 * the monitor was freed. */
wherry_status wherry_reachability_notify(wherry_reachability *reachability, int64_t timeout_ms,
    wherry_queue *queue, void *user_data);
/* E_STATE for a monitor that determines its own status. */
wherry_status wherry_reachability_report(wherry_reachability *reachability, wherry_reach status);
/* REACHABILITY: the previous status, the same one for a first event without a change. Otherwise
 * UNKNOWN. */
wherry_reach wherry_event_reach_before(const wherry_event *event);
/* Returns the localized text of a status, such as "Reachable via WiFi". Languages: English, and Chinese
 * in its simplified ("zh", "zh_CN.UTF-8") and traditional form ("zh-Hant", "zh_TW"); any other is
 * English. Static text. */
const char *wherry_reach_text(wherry_reach status, const char *language);
/* Returns the same for a route over the given kind of interface, as wherry_reachability_interface
 * returns it: "Reachable via Ethernet" for "wired". Other values, and NULL, make it wherry_reach_text.
 * Static text. */
const char *wherry_reach_interface_text(wherry_reach status, const char *interface,
    const char *language);
/* Overrides both texts of a status in this process; NULL restores the default. */
wherry_status wherry_reach_set_text(wherry_reach status, const char *language, const char *text);
/* Sets the kind of interfaces by name ("usb0", or "usb*" for a prefix) in this process: a word of
 * wherry_reachability_interface except "none"; NULL removes the pattern. */
wherry_status wherry_reach_set_interface(const char *pattern, const char *word);

/* ---- 20. Log, descriptions, and counters ------------------------------------------------------ */

/* A client logs nothing by default. Enable the log with OPTION_DEBUG, with the calls below, or from the
 * environment: WHERRY_LOG=<level> writes to standard error, and WHERRY_LOG_FILE=<path> to a file
 * instead; programs with elevated privileges ignore both. Bodies are never logged. Secret values are
 * redacted everywhere: Authorization, Cookie, Set-Cookie, user names and passwords in URLs, and every
 * field with token, secret, password, key, or similar in its name. */
typedef enum wherry_log_level {
  WHERRY_LOG_OFF = 0,
  WHERRY_LOG_ERROR = 1,   /* failures */
  WHERRY_LOG_WARNING = 2, /* problems that did not stop the transfer */
  WHERRY_LOG_INFO = 3,    /* start, steps, and end of each transfer, without queries and headers */
  WHERRY_LOG_DEBUG = 4    /* everything except bodies */
} wherry_log_level;

/* What happened. More events may be added. */
typedef enum wherry_log_event {
  WHERRY_LOG_EVENT_NONE = 0,
  WHERRY_LOG_EVENT_STARTED = 1,    /* the first attempt starts */
  WHERRY_LOG_EVENT_HEADER = 2,     /* one of your headers is sent */
  WHERRY_LOG_EVENT_SENT = 3,       /* attempt number `count` is sent, redirects included */
  WHERRY_LOG_EVENT_ANSWERED = 4,   /* status and headers have arrived */
  WHERRY_LOG_EVENT_REDIRECTED = 5,
  WHERRY_LOG_EVENT_RETRIED = 6,    /* an attempt failed for the reason, and a retry follows */
  WHERRY_LOG_EVENT_SUSPENDED = 7,
  WHERRY_LOG_EVENT_RESUMED = 8,
  WHERRY_LOG_EVENT_RESTARTED = 9,  /* a download restarts at byte 0 */
  WHERRY_LOG_EVENT_PROGRESSED = 10, /* `count` bytes */
  WHERRY_LOG_EVENT_ASKED = 11,     /* a DECISION waits for its answer */
  WHERRY_LOG_EVENT_ADAPTED = 12,   /* a DECISION changed the request */
  WHERRY_LOG_EVENT_IMAGE = 13,     /* image number `count` is ready, or failed */
  WHERRY_LOG_EVENT_HIT = 14,       /* a cache has a usable response */
  WHERRY_LOG_EVENT_MISSED = 15,    /* a cache has none */
  WHERRY_LOG_EVENT_BYPASSED = 16,  /* no cache applies */
  WHERRY_LOG_EVENT_STORED = 17,
  WHERRY_LOG_EVENT_UNSTORED = 18,  /* the response could not be stored */
  WHERRY_LOG_EVENT_VERIFYING = 19,
  WHERRY_LOG_EVENT_MOVED = 20,     /* a download got its final name, the path */
  WHERRY_LOG_EVENT_SUCCEEDED = 21, /* the end, with metrics; like the next two */
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
  const char *text;     /* for people; lines separated by LF; control characters are escaped */
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
  int64_t requests;   /* sent: each redirect, attempt, and connection of a download counts */
  int64_t retried, redirected;
  int64_t cache_hits; /* transfers completed without a request to the server */
  int64_t sent_bytes, received_bytes; /* on the wire, headers included */
} wherry_counters;

/* Sends LOG events of this client to a queue; OFF or a NULL queue ends that. The events of one transfer
 * arrive in order, its end before its DONE. While 1,000 of them wait in the queue, further ones are
 * dropped and counted in a LOST event. */
wherry_status wherry_client_set_log(wherry_client *client, wherry_log_level level,
    wherry_queue *queue, void *user_data);
/* Sends ACTIVITY events of this client to a queue, for an indicator that is visible while `detail` is
 * not 0; a NULL queue ends that. The number of running transfers is sent show_after_ms after the first
 * of them started, if one is still running; 0 is sent hide_after_ms after the last one ended or was
 * paused, or when the client is freed. Good values are 1000 and 170. E_ARGUMENT `bad_value` for
 * negative delays. */
wherry_status wherry_client_set_activity(wherry_client *client, wherry_queue *queue,
    int64_t show_after_ms, int64_t hide_after_ms, void *user_data);
/* Appends the log to a file, optionally as one JSON object per line. The file has mode 0600; above
 * max_bytes (0: no limit) it is renamed to PATH.1, and a new one is started. A worker writes it. OFF or
 * a NULL path ends that; on return, as after wherry_client_free, everything is written. */
wherry_status wherry_client_set_log_file(wherry_client *client, wherry_log_level level,
    const char *path, bool json, int64_t max_bytes);
/* Adds the name of a header, parameter, or JSON member with secret values. Ignores case, - and _. */
wherry_status wherry_client_add_secret_name(wherry_client *client, const char *name);
/* Returns the record of a LOG event; E_STATE for other events. Its texts are borrowed from the event. */
wherry_status wherry_event_log(const wherry_event *event, wherry_log_record *out_record);
/* "<Request: 12>", or in_full several lines: kind, method, URL, parameters, cache or images or path,
 * identifier, state. Copies like copy_header. */
wherry_status wherry_transfer_copy_description(const wherry_transfer *transfer, bool in_full,
    char *buffer, size_t capacity, size_t *out_count);
/* The absolute URL that a request is sent to: joined with the base URL, with its complete query. Fails
 * as the send would for its URL. Copies like copy_header. */
wherry_status wherry_client_copy_url(const wherry_client *client, const wherry_request *request,
    char *buffer, size_t capacity, size_t *out_count);
/* The curl command that sends the same request. Secrets, and bodies other than forms and JSON, are ***
 * unless with_secrets. Images are the originals. Sends nothing and opens no file; fails like the send.
 * Copies like copy_header. */
wherry_status wherry_client_copy_curl_command(const wherry_client *client,
    const wherry_request *request, bool with_secrets, char *buffer, size_t capacity,
    size_t *out_count);
wherry_status wherry_transfer_copy_curl_command(const wherry_transfer *transfer, bool with_secrets,
    char *buffer, size_t capacity, size_t *out_count);
/* Counters since the client was created. host NULL: all together; otherwise "example.org", any port. A
 * transfer counts for the host of its first URL, requests and bytes for the host they were sent to. */
wherry_status wherry_client_counters(const wherry_client *client, const char *host,
    wherry_counters *out_counters);

/* ---- 21. Models and pages -------------------------------------------------------------------- */

typedef struct wherry_mapping wherry_mapping;   /* the JSON paths and types of an item's fields */
typedef struct wherry_endpoint wherry_endpoint; /* one endpoint: a new access cancels the previous */
typedef struct wherry_pager wherry_pager;       /* a list that is loaded page by page */

/* The type of a field. Numbers and texts are converted if nothing is lost: "12" is the integer 12,
 * "12 apples" is not; integers are exact to 64 bits. Other values do not fit. */
typedef enum wherry_field_type {
  WHERRY_FIELD_VALUE = 0,   /* anything except null, unchanged */
  WHERRY_FIELD_TEXT = 1,    /* a text, or a number as digits */
  WHERRY_FIELD_INTEGER = 2, /* a number without a fraction, or a text with one */
  WHERRY_FIELD_NUMBER = 3,  /* a number, or a text with one */
  WHERRY_FIELD_BOOL = 4,    /* a bool; a number other than 0, or a text with y Y t T 1 first, is true */
  WHERRY_FIELD_ITEM = 5     /* an object with its own mapping; "" and [] count as missing */
} wherry_field_type;

wherry_status wherry_mapping_new(wherry_mapping **out_mapping);
wherry_status wherry_mapping_free(wherry_mapping *mapping);
/* Adds a field `name` of the item, found at `path` (NULL: at its name). arrays: how many arrays enclose
 * values of the type, 0 to 16; one element that does not fit drops its whole array. item: the mapping
 * of a FIELD_ITEM, copied now, nested at most 16 deep; otherwise NULL. */
wherry_status wherry_mapping_add(wherry_mapping *mapping, const char *name, const char *path,
    wherry_field_type type, int32_t arrays, const wherry_mapping *item);
/* The fields that most lists show: "identifier", "title", "subtitle", "image", and "accessoryImage", as
 * texts at these names; images are references that the program loads. A field that you add under one
 * of the names takes precedence if it is found. */
wherry_status wherry_mapping_new_base_item(wherry_mapping **out_mapping);
/* Sets the fields that are found in the value at `path` of `json` as members of `record`. A field that
 * is missing, null, or does not fit leaves its member unchanged. A null record becomes an object. */
wherry_status wherry_mapping_apply(const wherry_mapping *mapping, const wherry_json *json,
    const char *path, wherry_json *record);
/* Lists everything that apply would skip, as an array of {"path": "people/0/name", "kind": "missing"};
 * other kinds are "null" and "wrong_type". Empty if every field is there. */
wherry_status wherry_mapping_check(const wherry_mapping *mapping, const wherry_json *json,
    const char *path, wherry_json **out_problems);

/* Sets the URL of a request from a server as people write it, "example.org", "https://example.org/",
 * and the path of an endpoint. Without a scheme it is http. E_ARGUMENT `bad_url`. */
wherry_status wherry_request_set_server(wherry_request *request, const char *server,
    const char *path);

typedef struct wherry_timing {
  size_t size;
  int64_t started_us;                                /* on the system's monotonic clock */
  int64_t queued_us, lookup_us, connect_us, tls_us;  /* the duration of each step */
  int64_t first_byte_us, network_us;                 /* from the start of the exchange */
  int64_t total_us;                                  /* of the access, without parsing */
  int64_t parse_us;                                  /* of wherry_endpoint_json; 0 before */
} wherry_timing;

/* `request` is the template of every access, including its parts. Each access is an ordinary transfer,
 * whose events go to the queue with this user data. */
wherry_status wherry_endpoint_new(wherry_client *client, const wherry_request *request,
    wherry_queue *queue, void *user_data, wherry_endpoint **out_endpoint);
wherry_status wherry_endpoint_free(wherry_endpoint *endpoint); /* cancels */
/* Starts an access. parameters: an object that replaces the last parameters; NULL repeats the last
 * access, or the template. A running access ends with DONE E_CANCELLED `replaced` before the first event
 * of the new one. */
wherry_status wherry_endpoint_access(wherry_endpoint *endpoint, const wherry_json *parameters,
    wherry_transfer **out_transfer);
/* Like access with NULL, but starts nothing while an access is running; *out_transfer is then NULL. */
wherry_status wherry_endpoint_load(wherry_endpoint *endpoint, wherry_transfer **out_transfer);
wherry_status wherry_endpoint_cancel(wherry_endpoint *endpoint); /* OK also without an access */
/* NONE before the first access; RUNNING; then DONE, FAILED, or CANCELLED, set before the DONE event can
 * be read. */
wherry_state wherry_endpoint_state(const wherry_endpoint *endpoint);
/* Parses the last response as JSON. E_STATE without one; E_HTTP `bad_json_body`. */
wherry_status wherry_endpoint_json(const wherry_endpoint *endpoint, wherry_json **out_json);
/* The timing of the last access that ended; E_STATE before. Set out_timing->size first. */
wherry_status wherry_endpoint_timing(const wherry_endpoint *endpoint, wherry_timing *out_timing);

/* How a pager recognizes the last page. */
typedef enum wherry_pager_end {
  WHERRY_PAGER_END_SHORT_PAGE = 0, /* fewer items than set_size, or than the previous page */
  WHERRY_PAGER_END_LAST_PAGE = 1,  /* path: number of the last page */
  WHERRY_PAGER_END_HAS_NEXT = 2,   /* path: a bool */
  WHERRY_PAGER_END_TOTAL = 3,      /* path: total number of items; an empty page is the end too */
  WHERRY_PAGER_END_CURSOR = 4,     /* path: next token, sent as the parameter; missing: the end */
  WHERRY_PAGER_END_LINK = 5        /* the Link header, rel="next", same origin; path is NULL */
} wherry_pager_end;

/* items_path: the path of the array, as "data/list"; NULL: the whole response. The defaults are start
 * page 0, parameter "nextPage", and SHORT_PAGE. A request without a method and parameters is GET. The
 * setters are E_STATE after the first load; contradictory settings are `bad_value` at the first load. */
wherry_status wherry_pager_new(wherry_client *client, const wherry_request *request,
    const char *items_path, wherry_queue *queue, void *user_data, wherry_pager **out_pager);
wherry_status wherry_pager_free(wherry_pager *pager); /* cancels, and drops the items */
wherry_status wherry_pager_set_parameter(wherry_pager *pager, const char *name, int64_t first_page);
/* The number of items per page, sent as `parameter` (NULL: not sent). by_items: the page parameter is
 * an offset, the number of items before the page. */
wherry_status wherry_pager_set_size(wherry_pager *pager, int64_t size, const char *parameter,
    bool by_items);
wherry_status wherry_pager_set_end(wherry_pager *pager, wherry_pager_end end, const char *path);
/* Removes duplicates: items with equal values at key_path ("": the item itself) appear once; NULL: no
 * removal. The first item stays, or with newest_wins the last one at the place of the first. */
wherry_status wherry_pager_set_key(wherry_pager *pager, const char *key_path, bool newest_wins);
/* How many pages stay in memory, to be shown again without a request; 0 by default. */
wherry_status wherry_pager_set_kept_pages(wherry_pager *pager, int32_t count);
/* The events of a list, in order. A load is WILL_LOAD, then REFRESHED or LOADED on success or FAILED,
 * then FINISHED. They arrive before the DONE of the load's transfer, and also if a page from memory
 * needs no transfer. */
typedef enum wherry_page_event {
  WHERRY_PAGE_WILL_LOAD = 1,
  WHERRY_PAGE_REFRESHED = 2, /* the list now consists of the first page */
  WHERRY_PAGE_LOADED = 3,    /* the page is now part of the list */
  WHERRY_PAGE_FAILED = 4,    /* with status and error; the list is unchanged */
  WHERRY_PAGE_FINISHED = 5,  /* has no page, like those below */
  WHERRY_PAGE_FIRST = 6,     /* load_previous on the first page; its refresh follows */
  WHERRY_PAGE_LAST = 7       /* load_next on the last page; nothing follows */
} wherry_page_event;

/* true: sends these events to the queue, as PAGE events with the pager's user data. */
wherry_status wherry_pager_set_events(wherry_pager *pager, bool told);
/* The page number of a PAGE event; -1 for none, and for other events. */
int64_t wherry_event_page(const wherry_event *event);
/* One load at a time: E_BUSY. The page changes on success only, before the DONE event can be read. A
 * response without the items is DONE E_HTTP `bad_json_body`. *out_transfer is NULL if the page is in
 * memory: then no transfer events follow, only PAGE events if enabled. load_next is E_STATE `last_page`
 * at the end. load_previous on the first page is a refresh. refresh starts over, bypasses the cache,
 * and replaces the items on success. */
wherry_status wherry_pager_load_next(wherry_pager *pager, wherry_transfer **out_transfer);
wherry_status wherry_pager_load_previous(wherry_pager *pager, wherry_transfer **out_transfer);
wherry_status wherry_pager_refresh(wherry_pager *pager, wherry_transfer **out_transfer);
/* Loads any page. One next to those in the list joins them; another one starts a new list. `bad_value`
 * below the first page, and with tokens and links for a page that no other page has led to yet. */
wherry_status wherry_pager_load_page(wherry_pager *pager, int64_t page,
    wherry_transfer **out_transfer);
wherry_status wherry_pager_cancel(wherry_pager *pager); /* OK also without a load */
/* Rolls back the last loaded page, whose items the program cannot use: the list is as before, and the
 * same call loads the page again. E_STATE if no page has arrived since the last load began. */
wherry_status wherry_pager_take_back(wherry_pager *pager);
bool wherry_pager_is_loading(const wherry_pager *pager);
bool wherry_pager_has_next(const wherry_pager *pager); /* as far as known; true before the first load */
bool wherry_pager_has_previous(const wherry_pager *pager);
int64_t wherry_pager_page(const wherry_pager *pager, int64_t otherwise); /* the last loaded page */
size_t wherry_pager_count(const wherry_pager *pager);
/* Returns an array of at most `count` items of the list, from `first` on. */
wherry_status wherry_pager_copy_items(const wherry_pager *pager, size_t first, size_t count,
    wherry_json **out_items);

/* A list of items in sections, each with a header and footer text, for a view. Items are JSON values,
 * which are copied. Every mutation reports its changes in order, so that a view of any kind can follow:
 * *out_changes is a list for wherry_list_change; out_changes may be NULL. A position out of range gives
 * NULL, 0, or no change, not an error. items must be an array (E_ARGUMENT `bad_argument`); NULL is an
 * empty one. A NULL item is E_ARGUMENT. Any thread may use the list. */
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
  size_t section;      /* of rows; otherwise 0 */
  size_t first, count; /* rows or sections, numbered as after the previous changes; otherwise 0 */
  int32_t kind;        /* wherry_change */
  int32_t reserved;    /* 0 */
} wherry_change_row;

/* Set out_row->size first. E_ARGUMENT for an index past the end. */
wherry_status wherry_list_change(const wherry_list *list, size_t index, wherry_change_row *out_row);

/* Has no sections; the first item creates one. */
wherry_status wherry_sectioned_list_new(wherry_sectioned_list **out_sections);
wherry_status wherry_sectioned_list_free(wherry_sectioned_list *sections);
size_t wherry_sectioned_list_count(const wherry_sectioned_list *sections); /* of sections */
size_t wherry_sectioned_list_row_count(const wherry_sectioned_list *sections, size_t section);
/* Returns a copy of an item; *out_item is NULL out of range. */
wherry_status wherry_sectioned_list_copy_item(const wherry_sectioned_list *sections, size_t section,
    size_t row, wherry_json **out_item);
/* NULL if empty. Borrowed until the next call of the same function for this list. */
const char *wherry_sectioned_list_header(const wherry_sectioned_list *sections, size_t section);
const char *wherry_sectioned_list_footer(const wherry_sectioned_list *sections, size_t section);
/* Adds an array of items at the end of a section; creates the first section if there is none. */
wherry_status wherry_sectioned_list_append(wherry_sectioned_list *sections, size_t section,
    const wherry_json *items, wherry_list **out_changes);
/* Inserts before a row; the number of rows inserts at the end. */
wherry_status wherry_sectioned_list_insert(wherry_sectioned_list *sections, size_t section,
    size_t row, const wherry_json *items, wherry_list **out_changes);
/* Removes as many of these rows as exist. */
wherry_status wherry_sectioned_list_remove(wherry_sectioned_list *sections, size_t section,
    size_t row, size_t count, wherry_list **out_changes);
wherry_status wherry_sectioned_list_replace(wherry_sectioned_list *sections, size_t section,
    size_t row, const wherry_json *item, wherry_list **out_changes);
/* Inserts before a section; the number of sections inserts at the end. Texts and items may be NULL. */
wherry_status wherry_sectioned_list_insert_section(wherry_sectioned_list *sections, size_t section,
    const char *header, const char *footer, const wherry_json *items, wherry_list **out_changes);
wherry_status wherry_sectioned_list_replace_section(wherry_sectioned_list *sections, size_t section,
    const char *header, const char *footer, const wherry_json *items, wherry_list **out_changes);
wherry_status wherry_sectioned_list_remove_section(wherry_sectioned_list *sections, size_t section,
    wherry_list **out_changes);
/* Leaves one empty section. */
wherry_status wherry_sectioned_list_remove_all(wherry_sectioned_list *sections,
    wherry_list **out_changes);

/* ---- 22. Server-sent events ------------------------------------------------------------------ */

/* A parser for text/event-stream, which accepts the bytes in pieces of any size. */
typedef struct wherry_sse wherry_sse;

/* An event longer than max_event_bytes (0: 1 MiB) is E_LIMIT `too_large`. One thread at a time. */
wherry_status wherry_sse_new(size_t max_event_bytes, wherry_sse **out_sse);
wherry_status wherry_sse_free(wherry_sse *sse);
/* Adds the bytes of a BODY event or another source. E_STATE after an error. */
wherry_status wherry_sse_feed(wherry_sse *sse, const void *bytes, size_t count);
/* Moves to the next complete event; false if there is none yet. Invalidates the text of the previous
 * event. */
bool wherry_sse_next(wherry_sse *sse);
/* The fields of the current event; NULL without one. The name is "message" if the server sent none; the
 * id is the last one of the stream so far, or "". */
const char *wherry_sse_name(const wherry_sse *sse);
const char *wherry_sse_data(const wherry_sse *sse, size_t *out_count); /* lines joined by LF */
const char *wherry_sse_id(const wherry_sse *sse);
/* How long the server asks to wait before reconnecting; or -1. */
int64_t wherry_sse_retry_ms(const wherry_sse *sse);

/* ---- 23. Groups: several requests that end together ------------------------------------------- */

typedef enum wherry_group_policy {
  WHERRY_GROUP_FAIL_FAST = 0,   /* all at once; the first failure cancels the others */
  WHERRY_GROUP_ALL_SETTLED = 1, /* all at once, each to its end; DONE is OK despite failures */
  /* One after the other; the first failure ends the chain. A DECISION NEXT asks for the next step: before
   * the first one, unless one was added, and after each. The default is the next step that was added,
   * or the end. */
  WHERRY_GROUP_CHAIN = 2
} wherry_group_policy;

wherry_status wherry_group_new(wherry_group_policy policy, wherry_group **out_group);
wherry_status wherry_group_free(wherry_group *group); /* transfers that were sent continue */
/* Members are numbered from 0 in the order of adding. Each is an ordinary transfer, whose events go to
 * the group's queue with this user data. E_STATE `already_started` after the group was sent. */
wherry_status wherry_group_add(wherry_group *group, const wherry_request *request, void *user_data);
/* Adds a copy of a group, nested at most 16 deep. It counts as one member and has its own events.
 * `inner` may be added again, or sent alone. */
wherry_status wherry_group_add_group(wherry_group *group, const wherry_group *inner,
    void *user_data);
/* Starts all members, once: then E_STATE `already_started`. If an error of any member is known at once,
 * it is returned and nothing is started. The group is a transfer: its verbs apply to all members, its
 * PROGRESS arrives as each ends, and its DONE after theirs. With FAIL_FAST and CHAIN, DONE has status,
 * error, and response of the member that failed first; `detail` is its number, and the message names
 * it. FROM_CACHE is set if all responses came from a cache without a request. */
wherry_status wherry_client_send_group(wherry_client *client, wherry_group *group,
    wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif /* WHERRY_H */
