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
 *            client, queue, transfer, stub and reachability lend nothing; they copy out.
 *  INPUTS    Everything you pass in is copied before the call returns, so it may be freed at once.
 *            Text is NUL-terminated UTF-8 (else `bad_text`); bytes are a pointer and a count (NULL
 *            only with 0). Paths and file names are NUL-terminated bytes as the kernel takes them,
 *            UTF-8 or not, and come back as they went in. A message shows such a byte as \xE9.
 *  THREADS   Every function may be called from any thread. config, request, response, event, list,
 *            image, compression and json are meant for one thread at a time: sharing one is safe
 *            for the process but its answers may mix. Events of one transfer come in order.
 *            Nothing of yours ever runs on a wherry thread: there are no callbacks.
 *  STRUCTS   The few plain structs are filled by the library. Set `size` to sizeof first; what
 *            the library does not know is zeroed; size 0 is WHERRY_E_ARGUMENT. 64-bit Linux only.
 *  EXIT      The program may end at any time, on any thread, with work in flight. An exit handler
 *            cancels every transfer, waits at most 80 ms, and keeps wherry threads out of OpenSSL
 *            from then on. Blocking calls on other threads return E_CANCELLED. Partial files stay.
 *            Every function may still be called from exit handlers.
 *  SIGNALS   wherry threads block every signal but SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, and
 *            SIGSYS. Every descriptor is close-on-exec.
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
/* In a forked child: makes the library usable again; every older handle stays dead: using it, and freeing
 * it, is E_FORKED and changes nothing. Without effect in a process that did not fork. */
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
  /* BLR -1: 5 for downloads, none for requests. How often one that failed goes again by itself after a
   * broken connection, a time limit, or 408, 429, 500, 502, 503, 504. Requests wait up to 0.5, 1, 2...
   * 30 s before (a random part of that), or what Retry-After says. All requests of a client together
   * have a hundred, and one more for every five that succeed. */
  WHERRY_OPTION_MAX_RETRIES = 12,
  /* BLR 0: only GET, HEAD, PUT, DELETE, OPTIONS and TRACE go again by themselves, also where a kept
   * connection breaks without an answer; 1: all, so that the server may do it twice */
  WHERRY_OPTION_RETRY_UNSAFE_METHODS = 13,
  /* BLR -1: 0 for requests, 60000 for downloads. How long a request waits where there is no way to its
   * host, as WAITING with `offline`, which it fails with after that; a download does so after every
   * broken connection, with its usual attempts after that. 0: they do not */
  WHERRY_OPTION_WAIT_FOR_NETWORK_MS = 15,
  /* BL 0; 1: Accept-Language names the user's languages, as LANGUAGE, LC_ALL, LC_MESSAGES and LANG have
   * them. A field of one's own goes before it. */
  WHERRY_OPTION_SEND_LANGUAGES = 14,
  /* BLR 0: by itself, that is 2 over TLS where the server offers it, else 1.1; downloads speak 1.1, since
   * HTTP/2's frames cost processor time. 11 or 20: that one, of downloads too */
  WHERRY_OPTION_HTTP_VERSION = 16,
  WHERRY_OPTION_ACCEPT_STATUS_MIN = 17,     /* BLR 200; wherry_request_accept_status adds more */
  WHERRY_OPTION_ACCEPT_STATUS_MAX = 18,     /* BLR 299 */
  WHERRY_OPTION_COMPRESSED = 19,            /* BLR 1: ask for gzip and deflate; 2: br, zstd too */
  WHERRY_OPTION_MAX_BODY_BYTES = 20,        /* BLR 67108864, decoded, collected bodies only */
  WHERRY_OPTION_MAX_HEADER_BYTES = 21,      /* BLR 307200 */
  WHERRY_OPTION_MAX_SEND_BYTES_PER_SECOND = 22,    /* BLR 0: no limit */
  WHERRY_OPTION_MAX_RECEIVE_BYTES_PER_SECOND = 23, /* BLR 0: no limit */
  WHERRY_OPTION_MAX_DOWNLOAD_BYTES_PER_SECOND = 24, /* BL 0: none; all downloads; counts at once */
  WHERRY_OPTION_DEFAULT_PARAMETERS = 25,    /* R 1: merge the client's under the request's, by
                                             * the rule of wherry_request_set_parameter */
  WHERRY_OPTION_IGNORE_BASE = 26,           /* R 0; also makes the identifier's host (null) */
  WHERRY_OPTION_JSON_ONLY = 27,             /* BLR 0; 1: an answer that cannot be JSON is an error */
  WHERRY_OPTION_ARRAY_STYLE = 28,           /* BLR 0 a[]=, 1 a=, 2 a[0]=; in queries and forms */
  /* BLR 1: cookies go into the client's jar, and out of it with each hop. A field Cookie of the request
   * goes before the jar's. */
  WHERRY_OPTION_COOKIES = 29,
  /* R 0; -100...100; higher gets its turn first, equals as they come: of requests that wait for a
   * connection (MAX_PER_HOST, MAX_CONNECTIONS), and of downloads (MAX_DOWNLOADS). While higher ones keep
   * coming, lower ones wait. Over HTTP/2 it is the stream's weight too, where the server minds that. */
  WHERRY_OPTION_PRIORITY = 30,
  /* R 0; 1: whoever writes a streamed body can begin again, where a redirect or a 401 wants the bytes
   * once more: see wherry_transfer_wants_rewind. Without it that ends the transfer. */
  WHERRY_OPTION_REWINDABLE_BODY = 31,
  WHERRY_OPTION_WANT_HEAD = 32,             /* R 0; 1: a HEAD event */
  WHERRY_OPTION_WANT_PROGRESS = 33,         /* BLR -1: uploads of parts and downloads; 0; 1 */
  /* BLR 0; what an upload does with a picture that is damaged, unsupported (GIF, WebP, HEIC), or above a
   * limit of its compression. 0: fails before a byte is sent, with a message that names every such
   * picture. 1: leaves it out, and fails if none is left. 2: sends the bytes as they are, with all
   * metadata. MAX_BYTES still counts, and a file that cannot be opened still fails. */
  WHERRY_OPTION_UNREADABLE_IMAGES = 34,
  /* BLR 0: one form with all pictures. n: a form of its own for each, with every other part, n at
   * once, as an upload of that picture alone. One that fails keeps no other from being sent; any
   * that failed makes DONE a failure, whose pictures tell which. Each picture's answer is
   * wherry_list_response of wherry_transfer_list_images, that of DONE the first one's to blame. */
  WHERRY_OPTION_SEPARATE_IMAGES = 35,
  /* BLR 0; with SEPARATE_IMAGES how often a picture is sent again whose failure may pass, after 0.5,
   * 1, 2... s or what the server asks for; MAX_RETRIES does not count then. The server may have it
   * twice. */
  WHERRY_OPTION_IMAGE_RETRIES = 36,
  /* BLR 0; 1: file names that are not ASCII are sent a second time, as filename* (RFC 8187), for servers
   * that read it. RFC 7578 advises against it. */
  WHERRY_OPTION_EXTENDED_NAMES = 37,
  /* BLR 0; a wherry_digest: MD5 sends the body's Content-MD5, SHA256 and SHA512 its Content-Digest (RFC
   * 9530), unless the request has such a field. The body is read for it first, on a worker; one that is
   * written while it is sent is E_ARGUMENT `bad_option`. */
  WHERRY_OPTION_BODY_DIGEST = 38,
  WHERRY_OPTION_PART_DIGESTS = 39,          /* BLR 0; the same in the head of each file and picture */
  WHERRY_OPTION_MAX_PER_HOST = 40,          /* BL 6 connections */
  WHERRY_OPTION_MAX_CONNECTIONS = 41,       /* BL 32 */
  /* BL 0: no limit; how many downloads run at once. The others are QUEUED, in the order of their
   * PRIORITY and their start; one that is paused gives its turn up and keeps its place. Counts at
   * once, but those that run go on. TOTAL_TIMEOUT_MS covers the wait. */
  WHERRY_OPTION_MAX_DOWNLOADS = 42,
  WHERRY_OPTION_MEMBER_STYLE = 43,          /* BLR 0 a[b]=, 1 a.b=; in queries and forms */
  WHERRY_OPTION_BOOL_STYLE = 44,            /* BLR 0 a=1 and a=0, 1 a=true and a=false; the same */
  /* R 0; 1: an equal request of this client that is on its way, with 1 too, is not sent again: its
   * answer, or its failure, is this one's too. Equal in method, URL, header fields, credentials, body
   * and options. Each has its own events and TOTAL_TIMEOUT_MS, and is cancelled by itself; with the
   * last the request is. Goes alone: with decisions, a streamed answer, WANT_HEAD,
   * CACHE_THEN_NETWORK, and a body of parts, of a file, or written as it goes. Not for downloads. */
  WHERRY_OPTION_COALESCE = 45,
  /* BLR 0; the content coding that a body gets before it is sent: 1 gzip, 2 deflate (the zlib format). The
   * server must know it. Bytes, JSON and URL-encoded forms of at most 1 MiB are coded as one, and go out
   * as they are where that makes them no smaller. What is longer, files and what is written as it goes are
   * coded on the way, without a Content-Length. Forms of parts are not coded. PROGRESS counts the bytes
   * before the coding, its wire_bytes those after it. */
  WHERRY_OPTION_BODY_CODING = 46,
  /* BLR 0; 1: no connection is made over a mobile network: E_NETWORK `metered`. What looks names up is
   * not held back */
  WHERRY_OPTION_DENY_METERED = 47,
  WHERRY_OPTION_BODY_CODING_MIN_BYTES = 48, /* BLR 1024; what is known to be shorter is not coded */
  /* BLR 0; with BODY_CODING, of a request with a field Content-Encoding of its own or its client's: 0, it
   * goes out as it is; 1, it is coded and the field names that coding alone; 2, `bad_header` */
  WHERRY_OPTION_CODED_BODY = 49,
  WHERRY_OPTION_HTTP_CACHE = 50,            /* BL 0; 1: requests use the HTTP cache unasked */
  WHERRY_OPTION_CACHE_MAX_BYTES = 51,       /* BL 268435456 on disk, for each of the two caches;
                                             * longest unused goes first */
  WHERRY_OPTION_CACHE_MEMORY_BYTES = 52,    /* BL 16777216, the same; 0 holds nothing in memory */
  /* BL 0: no limit; how many requests, 1000000 at most, may start in RATE_INTERVAL_MS. The others are
   * QUEUED, by their PRIORITY and their start; TOTAL_TIMEOUT_MS covers the wait. Tokens come at even distances, and
   * RATE_BURST of them are kept. What goes out counts, so redirects, attempts again and the parts of a
   * download do, and what a cache answers does not; further connections by SEGMENTS count and do not
   * wait. Counts at once. */
  WHERRY_OPTION_RATE_LIMIT = 53,
  WHERRY_OPTION_HOST_RATE_LIMIT = 54,       /* BL 0: no limit; the same for each origin, beside it */
  WHERRY_OPTION_RATE_BURST = 55,            /* BL 0: as many as in the interval; 10000 at most */
  WHERRY_OPTION_RATE_INTERVAL_MS = 56,      /* BL 1000; 86400000 at most */
  /* B 0; a sum of addresses that are not connected to, wherever a name or a redirect leads: 1 loopback,
   * 2 private, 4 link-local, 8 where clouds tell secrets, 16 multicast. No proxy is used then. */
  WHERRY_OPTION_DENY_ADDRESSES = 59,
  WHERRY_OPTION_INSECURE = 60,              /* B 0; 1 trusts anybody; stderr is told once */
  WHERRY_OPTION_HTTPS_ONLY = 61,            /* B 0; 1: a request without https is `https_only` */
  WHERRY_OPTION_IGNORE_PROXY_ENVIRONMENT = 62, /* B 0 */
  WHERRY_OPTION_REQUIRE_TLS_1_3 = 63,       /* B 0; 1: not TLS 1.2, the oldest that is ever spoken */
  WHERRY_OPTION_REQUIRE_STAPLE = 64,        /* B 0; 1: the server must staple a good OCSP answer */
  /* B 0; 1: pins alone vouch for the hosts that have some. Issuer and, with pins of keys, dates do not
   * count. Stderr is told once. */
  WHERRY_OPTION_ALLOW_INVALID = 65,
  WHERRY_OPTION_CHECK_NAME = 66,            /* B 1; 0: a certificate of any name; stderr is told */
  /* B 0: certificates among the pins stand for their keys; 1: for anchors, one of which the chain must
   * lead to. A proxy over TLS does not go with 1. */
  WHERRY_OPTION_PIN_MODE = 67,
  WHERRY_OPTION_REQUIRE_PINS = 68,          /* B 0; 1: a host without pins is refused */
  WHERRY_OPTION_REPORT_PINS = 69,           /* B 0; 1: what pins refuse goes on, and stderr is told */
  WHERRY_OPTION_RESUME = 70,                /* R 1; 0 starts a download at byte 0 */
  WHERRY_OPTION_TARGET_EXISTS = 71,         /* BLR 0 error `exists`, 1 replace, 2 name (1) */
  WHERRY_OPTION_TARGET_IS_DIRECTORY = 72,   /* R 0; 1: the name comes from the answer */
  WHERRY_OPTION_MAKE_DIRECTORIES = 73,      /* BLR 0 */
  /* BLR 1: a checkpoint at most 1 s or 4 MiB after bytes have arrived; on a slow disk more bytes, never
   * more time. After a kill -9 or a power cut, a download resumes from the last checkpoint. 2: every
   * 1 MiB. 0: a checkpoint does not wait for the disk: the partial file survives a crash of the program,
   * but perhaps not one of the system. */
  WHERRY_OPTION_DURABILITY = 75,
  /* BLR 0: one connection, and further ones while they help, up to 5 and one fewer than MAX_PER_HOST;
   * 1...16: so many as soon as the first answer shows a length and a strong validator, whatever
   * MAX_PER_HOST and MAX_CONNECTIONS say. A server that refuses one gets one fewer. */
  WHERRY_OPTION_SEGMENTS = 74,
  WHERRY_OPTION_STALL_BYTES_PER_SECOND = 76, /* BLR 1000, downloads only; 0: none */
  /* BLR 10000: a download that is slower than that for this time has stalled, and is retried. If you set
   * it, it also limits the wait for the first byte of a response; otherwise FIRST_BYTE_TIMEOUT_MS alone
   * does (30 s, then MAX_RETRIES retries). */
  WHERRY_OPTION_STALL_TIMEOUT_MS = 77,
  /* R 1: which partial files a download resumes. 0: of the same URL; 1: of the same URL with any query,
   * such as a link with a new signature; 2: of any URL for the same path. The download resumes only if
   * the server confirms the validator (If-Range) and the length, and starts at byte 0 otherwise. */
  WHERRY_OPTION_PARTIAL_OF = 78,
  /* BLR 60000; a download that is asked to wait longer ends with `retry_later`, a request with what it
   * was answered */
  WHERRY_OPTION_MAX_RETRY_AFTER_MS = 79,
  WHERRY_OPTION_DEBUG = 80,                 /* BL 0; 1 writes what happens to stderr; counts at once */
  WHERRY_OPTION_AUTOSTART = 81,             /* B 1: background jobs go on after their agent died */
  WHERRY_OPTION_AGENT_IDLE_MS = 82,         /* B 5000; so long an agent stays with nothing to do */
  WHERRY_OPTION_KEEP_SERVER_TIME = 90,      /* BLR 0; 1: a downloaded file's time is Last-Modified */
  /* BLR 0; 1: a response whose body may have been cut, wherry_response_is_length_unverified, is the
   * error `length_unverified`. Downloads always fail so. */
  WHERRY_OPTION_REQUIRE_VERIFIED_LENGTH = 100,
  /* BLR 1; 0: each request uses its own connection, sends Connection: close, and closes it */
  WHERRY_OPTION_KEEP_ALIVE = 130,
  /* R 0; 1: the caches serve and store a streamed response too. Its pieces come as without a cache, and
   * a copy of them is stored at the end. A body of more than an eighth of CACHE_MAX_BYTES passes by. */
  WHERRY_OPTION_CACHE_STREAM = 131
} wherry_option;

typedef enum wherry_text_option {
  WHERRY_TEXT_BASE_URL = 1,       /* BL; joined as docs/urls.md says; else E_ARGUMENT `bad_url` */
  WHERRY_TEXT_APP_VERSION = 2,    /* BL "1"; what was stored under another version counts as missing */
  /* BL "Wherry/" and the library's version; with APP_NAME "name/version (Linux x86_64) Wherry/..." */
  WHERRY_TEXT_USER_AGENT = 3,
  WHERRY_TEXT_STORAGE_NAME = 4,   /* B the program's name; $XDG_CACHE_HOME/wherry/<name> */
  WHERRY_TEXT_STORAGE_DIRECTORY = 5, /* B: an absolute path instead of a name */
  /* BL: what the application is called, for USER_AGENT, with APP_VERSION. Accents are left out, and what
   * is not ASCII then is escaped as in URLs. */
  WHERRY_TEXT_APP_NAME = 6,
  /* B: the proxy of every request: a URL of scheme http, https, socks4, socks4a, socks5, or socks5h, or
   * "host:port" for http. "" uses no proxy. NULL (the default) reads http_proxy, https_proxy, and
   * all_proxy from the environment when the client is made. Anything else is E_ARGUMENT `bad_value`. */
  WHERRY_TEXT_PROXY = 7,
  /* B: "name:password" for every proxy, sent as Basic to proxies only; overrides those in their URLs */
  WHERRY_TEXT_PROXY_CREDENTIALS = 8,
  /* B: hosts without a proxy, separated by ','. An entry is a name ("example.org" or ".example.org": the
   * host and all hosts below it), an address, a network ("10.0.0.0/8", "fe80::/10"), or "*". A port
   * restricts it: "example.org:8080", "[::1]:8080". Anything else is E_ARGUMENT `bad_value`. NULL (the
   * default) reads no_proxy from the environment when the client is made. */
  WHERRY_TEXT_NO_PROXY = 9,
  WHERRY_TEXT_CA_FILE = 10,       /* B: PEM to trust instead of the system's */
  WHERRY_TEXT_CA_DIRECTORY = 11,  /* B: the same in folders that `openssl rehash` made; ':' between */
  WHERRY_TEXT_CRL_FILE = 12,      /* B: PEM; a list of every CA of a chain: without one it is refused */
  WHERRY_TEXT_BEARER_TOKEN = 14,  /* BLR */
  WHERRY_TEXT_TAG = 15,           /* R: your name for a group of transfers */
  WHERRY_TEXT_IMAGE_NAMES = 16,   /* BLR "index": name0, name1; or "repeat" or "brackets" */
  WHERRY_TEXT_JPEG_TYPE = 17,     /* BLR "image/jpeg"; old servers want "image/jpg" */
  WHERRY_TEXT_AGENT_PATH = 18,    /* B: $WHERRY_AGENT, else beside the library or in its libexec */
  WHERRY_TEXT_STATE_DIRECTORY = 19, /* B: absolute, of one session; section 18 */
  /* B: addresses of hosts, which are not looked up then: "host:port:address", further addresses after
   * ',', further hosts after a space; "*" is every host. Names and certificates stay what they are. */
  WHERRY_TEXT_RESOLVE = 20,
  WHERRY_TEXT_INTERFACE = 21,     /* B: a network interface or address of this machine to go out by */
  WHERRY_TEXT_UNIX_SOCKET = 22,   /* B: absolute; every connection goes there, and no proxy is used */
  WHERRY_TEXT_PROXY_HTTP = 23,    /* B: the proxy for http URLs; "" uses none; NULL takes PROXY */
  WHERRY_TEXT_PROXY_HTTPS = 24,   /* B: the proxy for https URLs; "" uses none; NULL takes PROXY */
  /* B: the path of a .netrc file with user names and passwords by host; "~/" at its beginning is the home
   * directory; "" (the default) reads no file. wherry_client_new reads the file once. A file that is
   * missing is its error, one that cannot be parsed is E_ARGUMENT `bad_value` with the line.
   * Passwords are sent as Basic with the first request, also to the hosts that redirects lead to; the
   * entry "default" counts only for the host of the URL. Credentials, a bearer token, and an
   * Authorization header of the client or the request win. Permissions are not checked. */
  WHERRY_TEXT_NETRC = 25
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
/* As wherry_client_add_header. */
wherry_status wherry_config_add_header(wherry_config *config, const char *name, const char *value);
wherry_status wherry_config_set_parameter(wherry_config *config, const char *name,
    const char *value);
/* Takes the settings of a file of JSON over, whose form docs/configuration.md tells; those it does not
 * name stay. path NULL: the file that $WHERRY_CONFIG names; without such a variable nothing happens.
 * E_ARGUMENT `bad_json`, `bad_value`, or what is wrong with a setting; nothing is changed then. */
wherry_status wherry_config_load(wherry_config *config, const char *path);
/* Adds a base URL that requests select by name; a NULL url removes it. E_ARGUMENT `bad_url`. */
wherry_status wherry_config_set_base(wherry_config *config, const char *name, const char *url);
wherry_status wherry_config_set_stub(wherry_config *config, wherry_stub *stub);
/* Whom the client trusts. By default who has a certificate that a CA of the system vouches for, of the
 * name that is asked for, over TLS 1.2 or newer; no variable of the environment changes that. Files are
 * read, and what cannot be is an error, when the client is made.
 *
 * A pin of "example.org", of "*.example.org" (every host below, at any depth) or of "*"; the most
 * specific name counts. pin is "sha256/" and base64 of the SHA-256 of a public key
 * (SubjectPublicKeyInfo), or the path of a certificate or public key (PEM or DER), or of a folder of
 * *.pem, *.crt, *.cer and *.der. The server's own key must be one of the pins of its host, beside all
 * else that is checked, on each connection; nothing is sent before. A pinned host is not spoken to
 * without TLS. A malformed pin and a base URL of http are `bad_pin` when the client is made. */
wherry_status wherry_config_add_pin(wherry_config *config, const char *host, const char *pin);
/* The same of a certificate or public key in memory. */
wherry_status wherry_config_add_pin_certificate(wherry_config *config, const char *host,
    const void *bytes, size_t count);
/* The pins of this host count until then, in seconds since 1970; -1: for ever. */
wherry_status wherry_config_set_pin_expiry(wherry_config *config, const char *host,
    int64_t expires_at);
/* PEM certificates to trust instead of the system's, and of CA_FILE; count 0: none. */
wherry_status wherry_config_set_ca_certificates(wherry_config *config, const void *bytes,
    size_t count);
/* Shown to the server of this origin, "https://example.org", and to no other; NULL: the base URL's.
 * certificate is a file: PEM, or PKCS #12 with its key. NULL key: it stands in the same file. NULL
 * password: none; nobody is asked for it. A NULL certificate removes it. */
wherry_status wherry_config_set_client_certificate(wherry_config *config, const char *origin,
    const char *certificate, const char *key, const char *password);

/* ---- 5. Client: connections and live settings ------------------------------------------- */

typedef struct wherry_client wherry_client;
typedef struct wherry_queue wherry_queue;
typedef struct wherry_json wherry_json;

typedef enum wherry_auth {
  WHERRY_AUTH_ANY = 0,   /* as the server asks: a digest before Basic; the first request goes without */
  WHERRY_AUTH_BASIC = 1, /* with every request, unasked: whoever reads the connection has the password */
  /* once the server demands it; the password is not sent. SHA-512-256, SHA-256, or MD5. If the server
   * demands a digest of the body (qop=auth-int), a stream fails with `body_spent`. */
  WHERRY_AUTH_DIGEST = 2
} wherry_auth;

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
 * NUL are `bad_header`, and so are the names that only the library writes: Connection,
 * Content-Length, Expect and Transfer-Encoding.
 *
 * A Host header replaces the host of the URL in requests: one value, a host with an optional port, else
 * `bad_header`. Connections, SNI, and certificate checks still use the URL. Such a request sends and
 * stores no cookies of the jar and uses no cache. A redirect to another origin drops the header. */
wherry_status wherry_client_set_header(wherry_client *client, const char *name, const char *value);
/* Adds a field beside those of the same name: all of them are sent. Fails as set_header does. */
wherry_status wherry_client_add_header(wherry_client *client, const char *name, const char *value);
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
/* For later requests to one origin: "https://host:port", or any URL there. NULL: whichever origin a
 * request names. Credentials go to their own origin and to no other, also after a redirect; the
 * field Authorization and a bearer token of a request go before them. A NULL user removes. A digest
 * (RFC 7616) is MD5 or SHA-256, quality auth. E_ARGUMENT `bad_value` for control bytes, and for a
 * colon in a user name that may be sent as Basic. */
wherry_status wherry_client_set_credentials(wherry_client *client, const char *origin,
    wherry_auth auth, const char *user, const char *password);
/* The jar of a client (RFC 6265): in memory, by domain, path and TLS, public suffixes by libpsl; none
 * for hosts with a dot at their end; 50 a domain and 3000 in all. set_cookie is the text of such a
 * field, "a=1; Path=/; Max-Age=60", as if the server of the URL had sent it: what it may not set is
 * E_ARGUMENT `bad_value`. */
wherry_status wherry_client_set_cookie(wherry_client *client, const char *url,
    const char *set_cookie);
/* Those that would go to the URL; NULL: all. */
wherry_status wherry_client_clear_cookies(wherry_client *client, const char *url);
wherry_status wherry_client_list_cookies(const wherry_client *client,
    wherry_list **out_list /* rows by wherry_list_cookie */);
/* A file of Netscape's form, as curl's and wget's: 0600, in the old one's place when it is whole.
 * sessions: also those without an end. Loading adds, and passes over lines that make no sense. */
wherry_status wherry_client_save_cookies(wherry_client *client, const char *path, bool sessions);
wherry_status wherry_client_load_cookies(wherry_client *client, const char *path);
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
/* In place of the client's; a NULL user sends the client's. */
wherry_status wherry_request_set_credentials(wherry_request *request, wherry_auth auth,
    const char *user, const char *password);
/* As with wherry_request_new. */
wherry_status wherry_request_set_method(wherry_request *request, const char *method);
wherry_status wherry_request_set_url(wherry_request *request, const char *url);
/* Names of the client's further base URLs: "api", or "api,api2", where the next one is tried when no
 * connection can be made to the one before (a download keeps to the first). NULL: the base without
 * a name. A name that is not known is E_ARGUMENT `not_found` at the send. */
wherry_status wherry_request_set_base(wherry_request *request, const char *names);
/* A NULL value suppresses the client's header of that name. */
wherry_status wherry_request_set_header(wherry_request *request, const char *name,
    const char *value);
/* Adds a field beside the request's own of that name: all of them are sent, in place of the client's. */
wherry_status wherry_request_add_header(wherry_request *request, const char *name,
    const char *value);
/* Sets a parameter. One rule holds for these and for the client's default parameters. With GET, HEAD,
 * and DELETE they go into the query. With other methods they become a JSON body, or fields of a form or
 * of parts. Beside a body that you made (set_json, set_body, a file, a stream) they go into the query.
 * Counts for the identifier. A NULL value removes the parameter. */
wherry_status wherry_request_set_parameter(wherry_request *request, const char *name,
    const char *value);
/* The same with numbers, arrays and objects: JSON text of one object, merged into the others. */
wherry_status wherry_request_set_parameters_json(wherry_request *request, const void *text,
    size_t count);
/* Always into the query, after what the URL has; the same name may be added again. */
wherry_status wherry_request_add_query(wherry_request *request, const char *name,
    const char *value);
/* The text of a query, as in "a+b&q=%E4", sent as written after what add_query has added so far. Only
 * bytes that a query cannot have are escaped: controls, space, ", #, <, > and bytes above 0x7e. */
wherry_status wherry_request_add_query_text(wherry_request *request, const char *text);
/* A field of a form. Fields, json, body, file, stream and parts exclude each other: the last call wins,
 * except that fields and parts make one multipart body together. In it, parameters come first, then
 * fields, then parts and pictures, each in the order of adding. */
wherry_status wherry_request_add_field(wherry_request *request, const char *name,
    const char *value);
/* Checked here: a text that is not JSON, NaN, bad UTF-8, or depth are `bad_json`, more than 64 MiB are E_LIMIT
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
/* So many bytes that are written while the form is sent, as WANT_BODY asks for them; those of the first
 * such part come first, and wherry_transfer_write may go from one to the next. Needs a queue, cannot be
 * sent again after a redirect, and does not go with SEPARATE_IMAGES (`bad_argument`). */
wherry_status wherry_request_add_part_stream(wherry_request *request, const char *name,
    int64_t count, const char *file_name, const char *content_type);
/* A further header of the part or picture that was added last; NULL removes it. Fields have none.
 * Content-Disposition and Content-Type are `bad_header`; without a part E_STATE `wrong_state`. */
wherry_status wherry_request_set_part_header(wherry_request *request, const char *name,
    const char *value);
/* Compressed at send time on a worker. One IMAGE event each, numbered from 0 in the order added.
 * A NULL compression is the default: quality 1. Shares the image's bytes, copies nothing. */
wherry_status wherry_request_add_image(wherry_request *request, const char *name,
    const wherry_image *image, const wherry_compression *compression);
/* true: the body comes as BODY events and is not collected. Needs a queue. */
wherry_status wherry_request_set_streamed(wherry_request *request, bool streamed);
/* One more code that counts as success. */
wherry_status wherry_request_accept_status(wherry_request *request, int32_t http_code);
/* The shape that the JSON of the answer has to have, as JSON text: {"name": "string", "friends":
 * [{"id": "integer"}]}. Words are "any", "string", "number", "integer" (without a fraction), "bool",
 * "array" and "object"; an array has the shape of its elements, an object those of its members, which
 * must be there, though as null if they like; others may be there too. What has another shape, or is no
 * JSON, is E_HTTP `bad_json_body`, whose message names the place, as in "data/list/3/id is a string, not
 * an integer". Of successes only; not of HEAD. NULL: none. E_ARGUMENT `bad_json`, `bad_value` for what is no
 * shape; a stream, a download and a job in the background with a shape are `bad_option`. */
wherry_status wherry_request_set_json_shape(wherry_request *request, const char *shape);
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
 * base, URL, method, the request's own parameters, query and body, and the Authorization and Cookie field it
 * is sent with (cookies of the jar do not count). No other header field counts unless it is named below, nor do the client's default
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
/* What the request itself has, for who edits or signs it (WHERRY_DECISION_ADAPT); the client's default
 * fields and parameters come to it as it is sent. Lent until the next call of the same function for
 * this request. In order, repeats included; false beyond the last. A NULL value leaves the client's field
 * of that name out. */
bool wherry_request_header_at(const wherry_request *request, size_t index, const char **out_name,
    const char **out_value);
/* What wherry_request_add_query has added, unescaped; what the URL has is in wherry_request_url. */
bool wherry_request_query_at(const wherry_request *request, size_t index, const char **out_name,
    const char **out_value);
/* The parameters as JSON text of one object, "{}" for none. */
const char *wherry_request_parameters(const wherry_request *request, size_t *out_count);
/* The body that was given as bytes or as JSON; NULL and 0 for every other one, and for none. */
const uint8_t *wherry_request_body(const wherry_request *request, size_t *out_count);

/* ---- 7. Transfers: started by a client, known by handle and by number ------------------------ */

typedef struct wherry_transfer wherry_transfer;
typedef struct wherry_response wherry_response;
typedef struct wherry_record wherry_record; /* section 8 */

typedef enum wherry_state {
  WHERRY_STATE_NONE = 0,
  WHERRY_STATE_QUEUED = 1,  /* told where a download waits for its turn (MAX_DOWNLOADS), not of a RATE_LIMIT */
  WHERRY_STATE_RUNNING = 2,
  WHERRY_STATE_WAITING = 3, /* for a retry, or an answer to a question */
  WHERRY_STATE_PAUSED = 4,
  WHERRY_STATE_RESTARTED = 5, /* from byte 0; the event's reason says why. Then RUNNING */
  WHERRY_STATE_VERIFYING = 6,
  WHERRY_STATE_DONE = 7,
  WHERRY_STATE_FAILED = 8,
  WHERRY_STATE_CANCELLED = 9,
  WHERRY_STATE_INTERRUPTED = 10 /* a background job whose agent is gone */
} wherry_state;

typedef struct wherry_progress {
  size_t size;
  int64_t done_bytes;       /* sent or received, from the start of the file or body; of an answer
                               in a coding those on the wire, of which the whole is known, and of a
                               body that is coded (BODY_CODING) those before that */
  int64_t expected_bytes;   /* -1 while unknown */
  int64_t resumed_at_bytes; /* already there when this run began */
  int64_t wire_bytes;       /* moved by this run, before decoding */
  int64_t bytes_per_second; /* last 5 s; -1 before there is a figure */
  int64_t remaining_ms;     /* -1 while unknown */
  int32_t generation;       /* goes up, and done back to 0, when the server's file changed */
  int32_t count;            /* transfers added up: 1; more from wherry_client_progress, of a group */
  int64_t decoded_bytes;    /* done_bytes as you get them: more where gzip is undone */
  int32_t ended;            /* of a group, how many of its `count` members have ended; else 0 */
  int32_t reserved;         /* 0 */
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
/* Of what waits, a request for a connection and a download of a client with MAX_DOWNLOADS for its turn: a
 * new priority, -100...100, puts it behind those that have it. OK and without effect for what runs or has
 * ended. Of a group it is that of its members under way, of a chain that of the present step, and requests
 * that share one answer share it too. */
wherry_status wherry_transfer_set_priority(wherry_transfer *transfer, int32_t priority);
/* Downloads of a client with MAX_DOWNLOADS; E_STATE for a transfer of another kind, OK and without
 * effect for one that runs or has ended. A place is its number among those that have no turn, paused
 * ones too: 0 is the next, and beyond the last is the last; the priority becomes one that the place may
 * have. */
wherry_status wherry_transfer_move(wherry_transfer *transfer, size_t place);
/* -1 while it runs, after its end, and for what is no download. */
int64_t wherry_transfer_place(const wherry_transfer *transfer);
wherry_status wherry_transfer_progress(const wherry_transfer *transfer,
    wherry_progress *out_progress);
/* The pictures of an upload in the order of adding, rows of wherry_list_image, as they stand now;
 * also after the end. Empty while those of one form are being encoded, and for other transfers. */
wherry_status wherry_transfer_list_images(const wherry_transfer *transfer, wherry_list **out_list);
/* Streamed uploads, after WANT_BODY. Takes what fits; the next WANT_BODY tells of room for the
 * rest. Full is E_BUSY with nothing taken. */
wherry_status wherry_transfer_write(wherry_transfer *transfer, const void *bytes, size_t count,
    size_t *out_taken);
/* Streamed uploads with REWINDABLE_BODY, at each WANT_BODY: whether the body is wanted from its first
 * byte again. Until wherry_transfer_rewind says that this comes now, writing is E_BUSY and finishing
 * does nothing. Also after a finish: keep reading until DONE. */
bool wherry_transfer_wants_rewind(const wherry_transfer *transfer);
wherry_status wherry_transfer_rewind(wherry_transfer *transfer);
/* No more bytes. Fewer than the count that was announced fails the transfer: `truncated`. After the
 * end E_STATE, but OK where all that was announced was written: the answer may come first. */
wherry_status wherry_transfer_finish(wherry_transfer *transfer);

/* ---- 8. Queue and events --------------------------------------------------------------------- */

typedef struct wherry_event wherry_event;
typedef struct wherry_group wherry_group; /* section 23 */

typedef enum wherry_event_kind {
  WHERRY_EVENT_NONE = 0,
  WHERRY_EVENT_PROGRESS = 1,     /* at most one waits per transfer; newest wins */
  WHERRY_EVENT_HEAD = 2,         /* the answer's status and fields; once, before any BODY */
  WHERRY_EVENT_BODY = 3,         /* a piece of a streamed body; free it and the stream goes on */
  WHERRY_EVENT_WANT_BODY = 4,    /* detail bytes have room at the offset */
  WHERRY_EVENT_STATE = 5,        /* detail is a wherry_state */
  WHERRY_EVENT_IMAGE = 6,        /* picture number detail is encoded (separate: sent), or failed */
  WHERRY_EVENT_CACHED = 7,       /* a stored answer, before the network is asked */
  WHERRY_EVENT_DECISION = 8,     /* detail is a wherry_decision; section 9 */
  WHERRY_EVENT_DONE = 9,         /* exactly one per transfer, and the last one */
  WHERRY_EVENT_REACHABILITY = 10, /* detail is a wherry_reach; of no transfer; section 19 */
  WHERRY_EVENT_LOG = 11,         /* detail is a wherry_log_level, the text what happened; section 20 */
  WHERRY_EVENT_PAGE = 12,        /* detail is a wherry_page_event; of no transfer; section 21 */
  WHERRY_EVENT_ACTIVITY = 13     /* detail transfers are under way, 0: none; of no transfer; section 20 */
} wherry_event_kind;

typedef enum wherry_record_flag {
  WHERRY_RECORD_REDIRECTED = 1, /* the answer came from another URL than the request's own */
  WHERRY_RECORD_FROM_CACHE = 2, /* wherry_response_is_from_cache */
  WHERRY_RECORD_UNCHANGED = 4,  /* wherry_response_is_unchanged */
  WHERRY_RECORD_STALE = 8,      /* wherry_response_is_stale */
  WHERRY_RECORD_REVALIDATED = 16, /* wherry_response_is_revalidated */
  WHERRY_RECORD_LENGTH_UNVERIFIED = 32, /* wherry_response_is_length_unverified */
  WHERRY_RECORD_INFORMATIONAL = 64, /* wherry_response_informational_at has some */
  WHERRY_RECORD_HTTP_2 = 128,     /* the response came over HTTP/2 */
  WHERRY_RECORD_HTTP_1_0 = 256    /* the response is of HTTP/1.0 */
} wherry_record_flag;

/* One event with all that most programs need. 112 bytes, no padding, native byte order:
 * Python's struct "=QQQQiiqiIQQQQqqQ" reads it. Added fields go at the end. */
struct wherry_record {
  size_t size;          /* the stride: set records[0].size; the library writes it to each */
  wherry_event *event;  /* yours; NULL it to keep it from wherry_queue_release */
  void *user_data;
  uint64_t transfer_id; /* 0 for NONE, REACHABILITY, PAGE and ACTIVITY */
  int32_t kind;         /* wherry_event_kind */
  int32_t status;       /* DONE, IMAGE, STATE, PAGE: wherry_status */
  int64_t detail;       /* see the kinds; DONE of a group: the member that failed first, or -1 */
  int32_t http_code;    /* or 0 */
  uint32_t flags;       /* DONE, HEAD, CACHED: wherry_record_flag, or'ed together */
  const uint8_t *body;  /* BODY, DONE, CACHED: lent by the event. LOG: the text */
  size_t body_count;
  const char *head;     /* HEAD, DONE, CACHED: "name: value\n" lines of the answer, as they came */
  size_t head_count;
  int64_t done_bytes;   /* PROGRESS, WANT_BODY, BODY: the offset; IMAGE: the encoded size; PAGE: its
                           * number, or -1 */
  int64_t expected_bytes; /* PROGRESS; or -1. IMAGE: the original size. REACHABILITY: the
                           * wherry_reach before */
  const char *reason;   /* static word where status or state has one, else NULL. REACHABILITY: what
                         * wherry_reachability_interface says */
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
/* OK, or why it ended so: DONE, IMAGE, PAGE, a DECISION about a retry, and STATE where a reason stands behind it. */
wherry_status wherry_event_status(const wherry_event *event);
const wherry_error *wherry_event_error(const wherry_event *event); /* NULL on success */
/* HEAD, CACHED, DECISION, DONE; NULL if no answer came. Lent: dies with the event. */
const wherry_response *wherry_event_response(const wherry_event *event);
const uint8_t *wherry_event_body(const wherry_event *event, size_t *out_count);
/* IMAGE: the picture's name or path as you gave it, or else its name in the form. DONE of a download, or of a body saved by a DECISION: the final path.
 * LOG: the text. REACHABILITY: the target, NULL for any network. DECISION: see there. Else NULL. */
const char *wherry_event_text(const wherry_event *event);
/* The job's id for events of a background session, else NULL. */
const char *wherry_event_job_id(const wherry_event *event);
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
  WHERRY_DECISION_REDIRECT = 2,     /* text: the absolute target; default: the rules */
  WHERRY_DECISION_CREDENTIALS = 4,  /* a 401; text: the realm; default: the 401 is the answer */
  /* error: the failure, response: its answer; default: MAX_RETRIES. Not asked of what could not be sent
   * again, a body that is written as it goes, nor of an answer whose HEAD or first piece has been told.
   * Those of refused answers wait: HEAD and BODY come only of the one that stands. */
  WHERRY_DECISION_RETRY = 8,
  /* The head of the answer has come; response: status and fields, while the body waits. Once: not of
   * redirects that are followed, of a 401 that is answered, of a failure that another attempt follows.
   * What could be one of these, and what a cache gives, is asked about at the end, with its body in
   * memory. No attempt follows it, and HEAD and BODY come after it. Default: go on. */
  WHERRY_DECISION_HEAD = 16,
  WHERRY_DECISION_STORE = 32,       /* an answer may go into a cache, once for each; default: store */
  /* response: a 401 to the client's bearer token, or to none. Asked once for all requests that met it,
   * of the first one; the others wait. At most two tokens for one request, and five questions in half
   * a minute. Not asked of requests with an Authorization of their own. Default: the 401 stands. */
  WHERRY_DECISION_TOKEN = 64,
  /* of every chain (section 23), and not for *_set_decisions; response: of the step that is done */
  WHERRY_DECISION_NEXT = 128,
  /* A stub rule leaves the response to the program (wherry_stub_add_decision). Not for
   * *_set_decisions; downloads and uploads raise it too. response: the complete request, as
   * wherry_stub_copy_request shows it. The timeouts of the request limit the wait, not
   * DECISION_TIMEOUT_MS. Default: the request fails with E_NETWORK `connect`. */
  WHERRY_DECISION_RESPOND = 256
} wherry_decision;

/* ADAPT: the request about to go out; REDIRECT: the one that the rules would send to the target. Read it with
 * wherry_request_header_at and its kind, edit it with wherry_request_set_*, then answer with `true`; edits
 * count only then. Lent. NULL otherwise. */
wherry_request *wherry_event_request(const wherry_event *event);
/* false ends the transfer with E_CANCELLED `refused`. */
wherry_status wherry_event_answer_adapt(wherry_event *event, bool proceed);
/* false makes the redirect itself the answer; true sends the request of the event, as it is or edited. An
 * edited one is held to the rules of every redirect: it counts, credentials stay with their origin, and
 * `redirect_refused` is https to http, and the body from before at another origin. */
wherry_status wherry_event_answer_redirect(wherry_event *event, bool follow);
/* For this transfer and its origin, as the server asks (WHERRY_AUTH_ANY); asked again where they are
 * refused, eight times at most. A NULL user: the 401 is the answer. */
wherry_status wherry_event_answer_credentials(wherry_event *event, const char *user,
    const char *password);
/* HEAD: false ends with E_CANCELLED `refused`, the head in the error's response, and the connection. */
wherry_status wherry_event_answer_head(wherry_event *event, bool proceed);
/* HEAD: the body goes to this file, its content coding undone, in place of memory or BODY events; DONE
 * has its path as text. It appears when it is whole, as that of a download does; TARGET_EXISTS,
 * TARGET_IS_DIRECTORY, MAKE_DIRECTORIES, DURABILITY and KEEP_SERVER_TIME of the request count,
 * MAX_BODY_BYTES and a shape of JSON do not, and no cache stores it as it comes. What is known of the
 * target is answered here: E_FILE `exists`, `is_directory` and the like; the question stands then. A refused status goes on,
 * and makes no file. */
wherry_status wherry_event_answer_save(wherry_event *event, const char *path);
/* delay_ms: how long to wait before; -1: as MAX_RETRIES would. Any method, and as often as you say. */
wherry_status wherry_event_answer_retry(wherry_event *event, bool again, int64_t delay_ms);
/* Becomes the client's bearer token, and all that wait for it go again; NULL: their 401 stands. */
wherry_status wherry_event_answer_token(wherry_event *event, const char *token);
/* without_headers: names kept out of the store, "Set-Cookie, X-Trace"; may be NULL. In the HTTP cache no
 * later 304 brings them back, and an answer without a field that its reuse needs (Age, Cache-Control,
 * Content-*, Date, ETag, Expires, Last-Modified, Location, Vary) is not stored at all. What a new answer
 * would have replaced is gone, also where it is not stored itself. 304 and answers to HEAD, which only
 * freshen what is stored, are not asked about; and nothing is validated in the background. */
wherry_status wherry_event_answer_store(wherry_event *event, bool store,
    const char *without_headers);
/* NEXT: this comes before what was added, as an ordinary transfer with this user data, by the
 * client's settings of that moment. Where it cannot be sent the chain ends. */
wherry_status wherry_event_answer_next(wherry_event *event, const wherry_request *request,
    void *user_data);
wherry_status wherry_event_answer_next_group(wherry_event *event, const wherry_group *group,
    void *user_data);
/* NEXT: the chain is done, and what was added is left out. */
wherry_status wherry_event_answer_stop(wherry_event *event);
/* RESPOND: the response of the request. http_code is 200 to 999; head: "Name: value\n" lines or NULL,
 * Content-Length is added if it is missing. Copies the body. */
wherry_status wherry_event_answer_response(wherry_event *event, int32_t http_code, const char *head,
    const void *body, size_t count);
/* RESPOND: fails the attempt with a reason of docs/errors.md that a network can cause, such as
 * "connect" or "idle_timeout". Retries apply. message: a sentence, or NULL. */
wherry_status wherry_event_answer_failure(wherry_event *event, const char *reason,
    const char *message);
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
  WHERRY_TRANSFER_DOWNLOAD = 3,
  WHERRY_TRANSFER_GROUP = 4 /* of no URL and tag; only ALL and its own number find it; section 23 */
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
/* Summed up over those that have not ended; expected_bytes is -1 if that of one is unknown. With
 * MATCH_TAG those that have ended stay in it, so that it never goes back when one ends: the group of a
 * tag begins with the first transfer that starts while none is under way, and is remembered until then
 * or until 256 others have ended. What a failed one lacks stays missing, unless a download of the same
 * path takes its place. */
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
  /* The name or path you gave, or else the name in the form: the same in success and failure. */
  const char *file_name;
  const char *reason, *message;             /* NULL unless failed */
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

typedef struct wherry_cookie_row {
  size_t size;
  const char *name, *value, *domain, *path; /* the domain without a dot before it */
  int64_t expires_s;                        /* since 1970; -1: goes with its client */
  int32_t host_only, secure, http_only;     /* 0 or 1 */
} wherry_cookie_row;

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

typedef struct wherry_job_row {
  size_t size;
  const char *job_id, *url, *path, *tag; /* path and tag may be NULL; a query of the URL is "?..." */
  const char *reason;     /* why it failed, began again, or waits; static word or NULL */
  const char *message;    /* of a failed one, or NULL */
  int64_t done_bytes, expected_bytes;
  int64_t started_at_ms;  /* since 1970 */
  int64_t retry_at_ms;    /* since 1970; -1 unless the server wants to be asked then */
  int32_t kind;           /* wherry_transfer_kind */
  int32_t state;          /* wherry_state */
  int32_t status;         /* wherry_status of a failed one */
  int32_t http_code;      /* of the answer that ended it, or 0 */
} wherry_job_row;

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
wherry_status wherry_list_cookie(const wherry_list *list, size_t index,
    wherry_cookie_row *out_row);
wherry_status wherry_list_entry(const wherry_list *list, size_t index, wherry_entry_row *out_row);
wherry_status wherry_list_job(const wherry_list *list, size_t index, wherry_job_row *out_row);

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
/* Over TLS, the body has no length and its connection ended without close_notify: anyone on the
 * network may have cut it. See REQUIRE_VERIFIED_LENGTH. */
bool wherry_response_is_length_unverified(const wherry_response *response);
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
/* The informational responses (1xx) before this one, such as 103 Early Hints, in the order of arrival;
 * false beyond the last. Those before a redirect or an earlier attempt are not included. *out_fields
 * is the header fields as text, one "name: value\n" for each, lent by the response. */
bool wherry_response_informational_at(const wherry_response *response, size_t index,
    int32_t *out_http_code, const char **out_fields);
/* The header fields of such a redirect, in order; false beyond the last. */
bool wherry_response_redirect_header_at(const wherry_response *response, size_t redirect,
    size_t index, const char **out_name, const char **out_value);
/* First field of that name regardless of case, or NULL; bytes above 0x7f as they came. */
const char *wherry_response_header(const wherry_response *response, const char *name);
/* In order, repeats included; false beyond the last. */
bool wherry_response_header_at(const wherry_response *response, size_t index, const char **out_name,
    const char **out_value);
/* NULL and 0 for an empty or streamed body. Decoded. Not NUL-terminated. */
const uint8_t *wherry_response_body(const wherry_response *response, size_t *out_count);
/* The body as UTF-8: of the charset that Content-Type names, else, and where the system does not know
 * it, as UTF-8; what is no text of it is U+FFFD. NUL-terminated, but may have NULs of its own; lent by
 * the response. "" without a body, NULL without memory. */
const char *wherry_response_text(const wherry_response *response, size_t *out_count);
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
  WHERRY_IMAGE_DEADLINE_MS = 15,     /* 30000; 0: none */
  /* 0: an animated PNG that has to be decoded is `unsupported_image`. 1: its default image is decoded. One
   * that is sent as it is stays animated either way. */
  WHERRY_IMAGE_ANIMATED = 16
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
/* The pixels of a picture, upright, as an image of its own. NONE: as what loses nothing but depth over
 * 8 bits, GRAY8, RGB8 or RGBA8. Of the compression, which may be NULL, BACKGROUND_RGB (where alpha
 * goes), KEEP_ORIENTATION and the limits count. Blocks; E_IMAGE, E_LIMIT, E_FILE as for compress. */
wherry_status wherry_image_decode(const wherry_image *image, wherry_pixel_format format,
    const wherry_compression *compression, wherry_image **out_image);
/* Raw pixels, the top row first, lent until wherry_image_free; NULL for what is encoded. The sides are
 * those of wherry_image_inspect; *out_stride, the bytes from row to row, and out_format may be NULL. */
const uint8_t *wherry_image_pixels(const wherry_image *image, wherry_pixel_format *out_format,
    size_t *out_stride);
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
/* The same for what is not negative, up to UINT64_MAX. */
uint64_t wherry_json_get_unsigned(const wherry_json *json, const char *path, uint64_t otherwise);
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
/* Responds to the next `times` matching requests (-1: all); the oldest matching rule applies.
 * method NULL: any. In url, each '*' stands for any text. head: "Name: value\n" lines or NULL.
 * A request without a rule fails with E_NETWORK `connect`. */
wherry_status wherry_stub_add_answer(wherry_stub *stub, const char *method, const char *url,
    int32_t times, int32_t http_code, const char *head, const void *body, size_t count);
/* Fails with a reason of docs/errors.md, such as "resolve" or "truncated", after so many bytes. */
wherry_status wherry_stub_add_failure(wherry_stub *stub, const char *method, const char *url,
    int32_t times, const char *reason, int64_t after_bytes);
/* Leaves the response to the program: each matching request raises a WHERRY_DECISION_RESPOND event in
 * the queue of its transfer, after the request body has been read (at most 64 MiB). Requests sent by
 * wherry_client_perform have no queue and fail. Validations in the background fail too. */
wherry_status wherry_stub_add_decision(wherry_stub *stub, const char *method, const char *url,
    int32_t times);
/* Sends matching requests to the network, with all settings of the client except
 * WAIT_FOR_NETWORK. Do not combine with wherry_stub_advance_ms. */
wherry_status wherry_stub_add_network(wherry_stub *stub, const char *method, const char *url,
    int32_t times);
/* Delays the rule added last; counted on the stub's clock once that was moved by hand. E_STATE for a
 * rule that gives no response itself. */
wherry_status wherry_stub_set_delay_ms(wherry_stub *stub, int64_t milliseconds);
/* From the first call on, time in clients with this stub moves only so: timeouts and retries.
 * Returns when everything due has happened. */
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
 * base are found too; in the timed cache a URL counts as it was written, with its own query. Secret
 * values in the query of a stored URL, such as those of `token` and `password`, are keyed digests on
 * disk and in rows (`token=***3f0c...`); such a URL finds its entry too. stores are TIMED and HTTP. In the HTTP cache a URL without a query means all
 * queries, and all is for GET. What is no longer good in the timed cache is deleted. */
wherry_status wherry_client_list_cache(wherry_client *client, uint32_t stores, const char *base,
    const char *url, const char *method, wherry_list **out_list /* rows by wherry_list_entry */);
/* A listed entry's answer; E_CACHE_MISS `missing` if it is gone. */
wherry_status wherry_client_read_cache_entry(wherry_client *client, const char *entry_id,
    wherry_response **out_response);
/* Deletes a listed entry. *out_count is 1, or 0 if the entry was gone. */
wherry_status wherry_client_remove_cache_entry(wherry_client *client, const char *entry_id,
    size_t *out_count);
/* Deletes, by the same choice; stores or'ed together. Partials that run are left alone. OK also if
 * nothing was there; the count tells. */
wherry_status wherry_client_clear_cache(wherry_client *client, uint32_t stores, const char *base,
    const char *url, const char *method, size_t *out_count);
/* Set out_usage->size first. */
wherry_status wherry_client_cache_usage(wherry_client *client, wherry_cache_usage *out_usage);
/* "1023.9990 KB" or "1.2385 MB". Copies like copy_header; 32 bytes suffice. */
wherry_status wherry_format_bytes(int64_t bytes, char *buffer, size_t capacity, size_t *out_count);

/* ---- 18. Background sessions: downloads and uploads that outlive the process ------------------ */

/* A process of its own, wherry-agent, carries the jobs of a session out, starts with the first of them
 * and leaves when there is none left. Every program of the same user that opens a session of that name
 * has the same jobs. Their records lie in $XDG_STATE_HOME/wherry/<name>, 0700, with the headers that
 * they are sent with until they are over. These calls wait for the disk and the agent. */
typedef struct wherry_session wherry_session;

/* Opens the session of that name, or makes it: a file name of at most 100 bytes without spaces that
 * does not begin with a dot. Starts no agent. Config NULL: defaults; its B and BLR options count for the
 * jobs, but for caches and decisions; one with credentials, pins or client certificates is `bad_option`,
 * since jobs keep no secrets. E_FILE `unsafe_state_dir` where its folder is a link, another user's or
 * open to others. */
wherry_status wherry_session_new(const wherry_config *config, const char *name,
    wherry_session **out_session);
/* Jobs go on. Stops following. */
wherry_status wherry_session_free(wherry_session *session);
#define WHERRY_JOB_ID_SIZE 33 /* 32 hexadecimal digits and NUL */

/* Returns when the agent has the job on disk. What wherry_client_download would answer at once is
 * answered; E_FILE `no_agent` where there is no agent to start. The same path and URL again is the same
 * job: OK, also while it is done and not acknowledged; one that is paused, interrupted or over begins
 * again with this request. E_BUSY `busy` while another URL is downloaded to that path. out_id has
 * WHERRY_JOB_ID_SIZE bytes or is NULL. path must be absolute. */
wherry_status wherry_session_download(wherry_session *session, const wherry_request *request,
    const char *path, char *out_id);
/* The same for a request with a body, which is copied before this returns: pictures are encoded, files
 * read. Not for a streamed body, nor SEPARATE_IMAGES. Each call is a separate job. The agent retries an
 * interrupted upload from its start, each time with the field `Idempotency-Key: "<job id>"`, so that the
 * server can recognize it. A field of that name in the request or config wins; one with the value NULL
 * sends none. An upload that the server has answered with 2xx is never retried: if the agent died before
 * it had the whole response, the job is done with the reason `interrupted` and a response without its
 * body; if nothing could be recorded, it fails with `interrupted`. If the stored copy of the body has
 * changed, the job fails with `damaged_job`, and nothing is sent. After E_TIMEOUT the agent may carry it
 * out all the same; the message has its id. */
wherry_status wherry_session_upload(wherry_session *session, const wherry_request *request,
    char *out_id);
/* Every job, those too that are over and not acknowledged, oldest first. Where an agent died at some,
 * a new one is started and they go on (OPTION_AUTOSTART); else they are INTERRUPTED. A job whose record
 * cannot be read is FAILED with the reason `damaged_job`; its message says why, and acknowledging it
 * deletes the record. */
wherry_status wherry_session_list(wherry_session *session,
    wherry_list **out_list /* rows by wherry_list_job */);
/* STATE, PROGRESS and DONE of one job (job_id NULL: of all, later ones too) come to the queue, first how
 * it stands; a job that is over gives its DONE at once. Where the agent cannot be had, STATE INTERRUPTED
 * says why, and it is tried again. DONE is told to everybody who follows, and again to whoever follows
 * later, until one acknowledges; who follows and missed it is told `not_found` then. Freeing session or
 * queue stops it, wherry_queue_cancel does not. Following twice is E_BUSY `already_running`. An agent
 * stays while somebody follows. */
wherry_status wherry_session_follow(wherry_session *session, const char *job_id,
    wherry_queue *queue, void *user_data);
/* Each may be repeated, and changes nothing of a job that is over. E_ARGUMENT `not_found` where there
 * is none. What a paused job has is kept, and safe on disk when this returns. */
wherry_status wherry_session_pause(wherry_session *session, const char *job_id);
wherry_status wherry_session_resume(wherry_session *session, const char *job_id);
/* Deletes what it had brought. The record stays until it is acknowledged. */
wherry_status wherry_session_cancel(wherry_session *session, const char *job_id);
/* Claims a job that is over: OK for exactly one caller in all processes, and its record goes. The others
 * get E_ARGUMENT `not_found`. So act on DONE after this is OK. E_STATE for one that is not over. What
 * nobody claims for 7 days goes too. */
wherry_status wherry_session_acknowledge(wherry_session *session, const char *job_id);
/* The same for many jobs: ALL, URL, URLS, TAG, or PATH; other matches are `bad_argument`. A URL matches
 * with any query. OK also if nothing matched. out_count, or NULL, gets how many jobs were not over; for
 * acknowledge_all how many jobs this call has claimed. A failure leaves no other job out: the first one
 * is returned at the end. */
wherry_status wherry_session_pause_all(wherry_session *session, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_session_resume_all(wherry_session *session, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_session_cancel_all(wherry_session *session, wherry_match match, const char *key,
    size_t *out_count);
wherry_status wherry_session_acknowledge_all(wherry_session *session, wherry_match match,
    const char *key, size_t *out_count);
/* "<Download job: 3f2a91c07d5e>", or in_full several lines: kind, URL, path, tag, state, progress, error.
 * Without secrets. Copies like copy_header. E_ARGUMENT `not_found` if there is no such job. */
wherry_status wherry_session_copy_description(wherry_session *session, const char *job_id, bool in_full,
    char *buffer, size_t capacity, size_t *out_count);
/* The whole of the program wherry-agent, for one of your own that is to be it. Returns its exit
 * status when it has nothing left to do. */
int wherry_agent_main(int count, const char *const *arguments);

/* ---- 19. Reachability: whether there is a way out, as the kernel tells --------------------------- */

/* By links, addresses and routes, IPv4 and IPv6; nothing is polled, and nothing sent but by a probe.
 * One thread looks after all monitors, and only while one of them runs or is waited for. */
typedef struct wherry_reachability wherry_reachability;

typedef enum wherry_reach {
  WHERRY_REACH_UNKNOWN = -1, /* not looked yet */
  WHERRY_REACH_NONE = 0,
  WHERRY_REACH_WWAN = 1,     /* a mobile network */
  WHERRY_REACH_WIFI = 2      /* anything else: cables and tunnels too */
} wherry_reach;

typedef enum wherry_reach_option {
  WHERRY_REACH_RAW = 1,               /* 0; 1: an event for every look, also without a change */
  WHERRY_REACH_INITIAL_SYNC = 2,      /* 0; 1: start looks before it returns; it may wait for DNS */
  WHERRY_REACH_PROBE_INTERVAL_MS = 3, /* 30000; at least 10 */
  WHERRY_REACH_PROBE_TIMEOUT_MS = 4   /* 5000; at least 1 */
} wherry_reach_option;

/* target NULL: any network; else a host name or an address. A name is looked up at the start and when
 * the network changes; one without an address is not reachable. E_ARGUMENT `bad_value` for a URL. */
wherry_status wherry_reachability_new(const char *target, wherry_reachability **out_reachability);
/* One whose status is what wherry_reachability_report says, for programs that know better and tests. */
wherry_status wherry_reachability_new_reported(wherry_reachability **out_reachability);
/* The client's own monitor of any network. Your handle: freeing it stops nothing. */
wherry_status wherry_client_open_reachability(wherry_client *client,
    wherry_reachability **out_reachability);
/* Hears of every monitor in the process until it is freed: after the monitor's own queue, in the same
 * order. Its status is that of no monitor: UNKNOWN. */
wherry_status wherry_reachability_observe(wherry_queue *queue, void *user_data,
    wherry_reachability **out_reachability);
/* Stops it. No event comes after this; the ones waiting are dropped. */
wherry_status wherry_reachability_free(wherry_reachability *reachability);
/* Both before the first start or wait; E_STATE after it. */
wherry_status wherry_reachability_set_option(wherry_reachability *reachability,
    wherry_reach_option option, int64_t value);
/* Where the routes lead out, a server has to answer too: "tcp://host:port" a connection, "http://..."
 * and "https://..." a GET with 200 to 299, and no redirect. NULL: none. E_ARGUMENT `bad_url`. */
wherry_status wherry_reachability_set_probe(wherry_reachability *reachability, const char *url);
/* One REACHABILITY event soon, whatever the status was, and one for each change, none left out; again:
 * starts over. queue NULL: only asked. E_NETWORK `no_network_state` where the system does not tell. */
wherry_status wherry_reachability_start(wherry_reachability *reachability, wherry_queue *queue,
    void *user_data);
/* The status stays. No event comes after this; the ones waiting are dropped. */
wherry_status wherry_reachability_stop(wherry_reachability *reachability);
/* UNKNOWN before it was started or waited for. */
wherry_reach wherry_reachability_status(const wherry_reachability *reachability);
/* What the way begins with: "wired", "wifi", "wwan", "vpn", "loopback" or "none". Static text. */
const char *wherry_reachability_interface(const wherry_reachability *reachability);
/* The name of that, such as "eth0"; "" for none. Copies like copy_header; 16 bytes suffice. */
wherry_status wherry_reachability_copy_name(const wherry_reachability *reachability, char *buffer,
    size_t capacity, size_t *out_count);
/* Returns once it is WWAN or WIFI; looks for itself, started or not. E_TIMEOUT. Negative: for ever. */
wherry_status wherry_reachability_wait(wherry_reachability *reachability, int64_t timeout_ms);
/* The same without blocking: one REACHABILITY event, NONE where the time was over. It does not come
 * once the monitor was freed. */
wherry_status wherry_reachability_notify(wherry_reachability *reachability, int64_t timeout_ms,
    wherry_queue *queue, void *user_data);
/* E_STATE for a monitor that finds out by itself. */
wherry_status wherry_reachability_report(wherry_reachability *reachability, wherry_reach status);
/* REACHABILITY: the status before, the same one for a first event that changes nothing. Else UNKNOWN. */
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
/* What interfaces of a name are ("usb0", or "usb*" for all that begin so), in this process: one of the
 * words of wherry_reachability_interface but "none"; NULL takes back what was said of the pattern. */
wherry_status wherry_reach_set_interface(const char *pattern, const char *word);

/* ---- 20. Log, descriptions and counters ------------------------------------------------------ */

/* A client is silent unless it is asked: by OPTION_DEBUG, by the calls below, or by its user with
 * WHERRY_LOG=<level> in the environment, for standard error, and WHERRY_LOG_FILE=<path> for a file
 * instead; a program with rights that its caller does not have looks at neither. Bodies are never
 * told, and values of secret names never anywhere: Authorization, Cookie, Set-Cookie, user names and
 * passwords in URLs, and whatever has token, secret, password, key and the like for a name. */
typedef enum wherry_log_level {
  WHERRY_LOG_OFF = 0,
  WHERRY_LOG_ERROR = 1,   /* what failed */
  WHERRY_LOG_WARNING = 2, /* what went on all the same */
  WHERRY_LOG_INFO = 3,    /* beginning, turns and end of each transfer: no queries, fields, parameters */
  WHERRY_LOG_DEBUG = 4    /* everything but bodies */
} wherry_log_level;

/* What happened. More may come. */
typedef enum wherry_log_event {
  WHERRY_LOG_EVENT_NONE = 0,
  WHERRY_LOG_EVENT_STARTED = 1,    /* the network is asked for the first time */
  WHERRY_LOG_EVENT_HEADER = 2,     /* a field of your own goes along */
  WHERRY_LOG_EVENT_SENT = 3,       /* attempt number count leaves; redirects counted */
  WHERRY_LOG_EVENT_ANSWERED = 4,   /* status and fields are here */
  WHERRY_LOG_EVENT_REDIRECTED = 5,
  WHERRY_LOG_EVENT_RETRIED = 6,    /* an attempt failed, for the reason, and there will be another */
  WHERRY_LOG_EVENT_SUSPENDED = 7,
  WHERRY_LOG_EVENT_RESUMED = 8,
  WHERRY_LOG_EVENT_RESTARTED = 9,  /* a download begins at byte 0 again */
  WHERRY_LOG_EVENT_PROGRESSED = 10, /* count bytes */
  WHERRY_LOG_EVENT_ASKED = 11,     /* a DECISION waits */
  WHERRY_LOG_EVENT_ADAPTED = 12,   /* a DECISION changed the request */
  WHERRY_LOG_EVENT_IMAGE = 13,     /* picture number count is ready, or failed */
  WHERRY_LOG_EVENT_HIT = 14,       /* a cache has an answer that serves */
  WHERRY_LOG_EVENT_MISSED = 15,    /* a cache was asked, and nothing serves */
  WHERRY_LOG_EVENT_BYPASSED = 16,  /* no cache has to be asked */
  WHERRY_LOG_EVENT_STORED = 17,
  WHERRY_LOG_EVENT_UNSTORED = 18,  /* could not be stored */
  WHERRY_LOG_EVENT_VERIFYING = 19,
  WHERRY_LOG_EVENT_MOVED = 20,     /* a download got its name, the path */
  WHERRY_LOG_EVENT_SUCCEEDED = 21, /* the end, with the metrics; as the two that follow */
  WHERRY_LOG_EVENT_FAILED = 22,
  WHERRY_LOG_EVENT_CANCELLED = 23,
  WHERRY_LOG_EVENT_REFUSED = 24,   /* a call that started or changed nothing */
  WHERRY_LOG_EVENT_CLOSED = 25,    /* the client */
  WHERRY_LOG_EVENT_LOST = 26,      /* count records are missing here */
  WHERRY_LOG_EVENT_WARNED = 27
} wherry_log_event;

typedef struct wherry_log_record {
  size_t size;
  int64_t time_ms;      /* since 1970 */
  uint64_t transfer_id; /* or 0 */
  const char *text;     /* lines for people, joined by line feeds; control bytes are escaped */
  const char *method, *url, *reason, *path; /* NULL where there is none; url without its query */
  int64_t count;        /* see the events */
  int32_t level;        /* wherry_log_level */
  int32_t event;        /* wherry_log_event */
  int32_t http_code;    /* or 0 */
  int32_t has_metrics;  /* 1: the following are of the whole transfer, as in wherry_metrics */
  int64_t queued_us, lookup_us, connect_us, tls_us, first_byte_us, total_us;
  int64_t sent_bytes, received_bytes;
} wherry_log_record;

typedef struct wherry_counters {
  size_t size;
  int64_t started, succeeded, failed, cancelled; /* transfers */
  int64_t requests;   /* that went out: one for each redirect, attempt and connection of a download */
  int64_t retried, redirected;
  int64_t cache_hits; /* transfers answered without asking the server */
  int64_t sent_bytes, received_bytes; /* on the wire, heads included */
} wherry_counters;

/* LOG events of this client go to this queue, from now on; OFF or a NULL queue ends it. Those of one
 * transfer come in order, the end before its DONE. While 1,000 wait in the queue further ones are only
 * counted, and LOST says how many. */
wherry_status wherry_client_set_log(wherry_client *client, wherry_log_level level,
    wherry_queue *queue, void *user_data);
/* ACTIVITY events of this client go to this queue, from now on; a NULL queue ends it. For an indicator
 * that shows while detail is not 0: how many transfers are under way is told show_after_ms after the
 * first of them began, and if there are some then; 0 is told hide_after_ms after the last of them ended
 * or was paused, or when the client is freed. 1000 and 170 are good delays. E_ARGUMENT `bad_value` for
 * negative ones. */
wherry_status wherry_client_set_activity(wherry_client *client, wherry_queue *queue,
    int64_t show_after_ms, int64_t hide_after_ms, void *user_data);
/* Lines are appended, as JSON objects if asked; the file is made 0600 and at max_bytes (0: never)
 * gets the name PATH.1 and begins anew. A worker writes. OFF or a NULL path ends it: then all is
 * written on return, as it is after wherry_client_free. */
wherry_status wherry_client_set_log_file(wherry_client *client, wherry_log_level level,
    const char *path, bool json, int64_t max_bytes);
/* One more header field, parameter or JSON member whose value is secret; case, - and _ do not count. */
wherry_status wherry_client_add_secret_name(wherry_client *client, const char *name);
/* What a LOG event says; E_STATE for every other kind. Texts are lent by the event. */
wherry_status wherry_event_log(const wherry_event *event, wherry_log_record *out_record);
/* "<Request: 12>", or in_full several lines: kind, method, URL, parameters, cache or pictures or path,
 * identifier, state. Copies like copy_header. */
wherry_status wherry_transfer_copy_description(const wherry_transfer *transfer, bool in_full,
    char *buffer, size_t capacity, size_t *out_count);
/* The absolute URL that a request is sent to: joined with the base URL, with all of its query. Fails as
 * the send would for its URL. Copies like copy_header. */
wherry_status wherry_client_copy_url(const wherry_client *client, const wherry_request *request,
    char *buffer, size_t capacity, size_t *out_count);
/* The command line of curl that sends the same request. Secrets are *** unless with_secrets, and so is
 * a body that is neither form nor JSON. Pictures stand as they came. Nothing is sent, no file opened;
 * fails as the send would at once. Copies like copy_header. */
wherry_status wherry_client_copy_curl_command(const wherry_client *client,
    const wherry_request *request, bool with_secrets, char *buffer, size_t capacity,
    size_t *out_count);
wherry_status wherry_transfer_copy_curl_command(const wherry_transfer *transfer, bool with_secrets,
    char *buffer, size_t capacity, size_t *out_count);
/* Since the client was made; host NULL: all together, else "example.org", whatever the port. Transfers
 * count for the host they were started for, requests and bytes for the one that was asked. */
wherry_status wherry_client_counters(const wherry_client *client, const char *host,
    wherry_counters *out_counters);

/* ---- 21. Models and pages -------------------------------------------------------------------- */

typedef struct wherry_mapping wherry_mapping;   /* where the fields of an item stand in JSON */
typedef struct wherry_endpoint wherry_endpoint; /* one interface: a new access cancels the last */
typedef struct wherry_pager wherry_pager;       /* a list that comes in pages */

/* What a field is. Numbers and texts become each other where nothing is lost: "12" is the integer
 * 12, "12 apples" is none; integers are exact to 64 bits. Other values do not fit. */
typedef enum wherry_field_type {
  WHERRY_FIELD_VALUE = 0,   /* anything but null, as it is */
  WHERRY_FIELD_TEXT = 1,    /* text, or a number as digits */
  WHERRY_FIELD_INTEGER = 2, /* a number without fraction, or text that spells one */
  WHERRY_FIELD_NUMBER = 3,  /* a number, or text that spells one */
  WHERRY_FIELD_BOOL = 4,    /* a bool; a number unless it is 0; text with y Y t T 1 in front is true */
  WHERRY_FIELD_ITEM = 5     /* an object with a mapping of its own; "" and [] count as missing */
} wherry_field_type;

wherry_status wherry_mapping_new(wherry_mapping **out_mapping);
wherry_status wherry_mapping_free(wherry_mapping *mapping);
/* A field `name` of the item, found at `path` (NULL: at its name). arrays: 0, or how many arrays lie
 * around values of the type, up to 16; one element that does not fit drops a whole array. item: for
 * FIELD_ITEM, copied as it is now, at most 16 deep in each other; else NULL. */
wherry_status wherry_mapping_add(wherry_mapping *mapping, const char *name, const char *path,
    wherry_field_type type, int32_t arrays, const wherry_mapping *item);
/* The fields of what most lists show: "identifier", "title", "subtitle", "image" and "accessoryImage",
 * texts at these names; pictures are references, which the program loads. A field that is added under
 * one of the names goes before it where it is found. */
wherry_status wherry_mapping_new_base_item(wherry_mapping **out_mapping);
/* Sets the fields that are found in the value at `path` of `json` as members of `record`; what is
 * missing, null or does not fit leaves the member as it was. A record of null becomes an object. */
wherry_status wherry_mapping_apply(const wherry_mapping *mapping, const wherry_json *json,
    const char *path, wherry_json *record);
/* The strict view: an array of {"path": "people/0/name", "kind": "missing"} with all that apply
 * leaves out; the others are "null" and "wrong_type". Empty if every field is there. */
wherry_status wherry_mapping_check(const wherry_mapping *mapping, const wherry_json *json,
    const char *path, wherry_json **out_problems);

/* The request's URL from a server as people write it, "example.org", "https://example.org/", and the
 * path of one interface. Without a scheme it is http. E_ARGUMENT `bad_url`. */
wherry_status wherry_request_set_server(wherry_request *request, const char *server,
    const char *path);

typedef struct wherry_timing {
  size_t size;
  int64_t started_us;                                /* on the monotonic clock of the system */
  int64_t queued_us, lookup_us, connect_us, tls_us;  /* each its own length */
  int64_t first_byte_us, network_us;                 /* from the start of the exchange */
  int64_t total_us;                                  /* of the access, reading not counted */
  int64_t parse_us;                                  /* of wherry_endpoint_json; 0 before */
} wherry_timing;

/* `request` is the pattern of every access, with its parts. Each is an ordinary transfer, whose
 * events come to the queue with this user data. */
wherry_status wherry_endpoint_new(wherry_client *client, const wherry_request *request,
    wherry_queue *queue, void *user_data, wherry_endpoint **out_endpoint);
wherry_status wherry_endpoint_free(wherry_endpoint *endpoint); /* cancels */
/* parameters: an object in place of the last ones; NULL repeats the last access, or the pattern. An
 * access that is on its way ends in DONE E_CANCELLED `replaced`, before any event of this one. */
wherry_status wherry_endpoint_access(wherry_endpoint *endpoint, const wherry_json *parameters,
    wherry_transfer **out_transfer);
/* For a value that is loaded once at a time: the same with NULL, but while an access is on its way
 * nothing starts, and *out_transfer is NULL. */
wherry_status wherry_endpoint_load(wherry_endpoint *endpoint, wherry_transfer **out_transfer);
wherry_status wherry_endpoint_cancel(wherry_endpoint *endpoint); /* OK also if none is on its way */
/* NONE before the first access; RUNNING; then DONE, FAILED or CANCELLED. It changes before the
 * DONE can be read. */
wherry_state wherry_endpoint_state(const wherry_endpoint *endpoint);
/* The last answer as JSON. E_STATE without one; E_HTTP `bad_json_body`. */
wherry_status wherry_endpoint_json(const wherry_endpoint *endpoint, wherry_json **out_json);
/* Of the last access that ended; set out_timing->size first. E_STATE before. */
wherry_status wherry_endpoint_timing(const wherry_endpoint *endpoint, wherry_timing *out_timing);

/* How the last page is known. */
typedef enum wherry_pager_end {
  WHERRY_PAGER_END_SHORT_PAGE = 0, /* fewer items than set_size says, else than the page before */
  WHERRY_PAGER_END_LAST_PAGE = 1,  /* path: number of the last page */
  WHERRY_PAGER_END_HAS_NEXT = 2,   /* path: a bool */
  WHERRY_PAGER_END_TOTAL = 3,      /* path: number of items in all; a page without any ends too */
  WHERRY_PAGER_END_CURSOR = 4,     /* path: next token, sent as the parameter; missing: end */
  WHERRY_PAGER_END_LINK = 5        /* the Link header, rel="next", same origin; path is NULL */
} wherry_pager_end;

/* items_path: where the array is, as "data/list"; NULL: the answer. Start page 0, parameter
 * "nextPage", SHORT_PAGE. A request without method and parameters is GET. The setters are E_STATE
 * once a page was asked for; what does not go together is `bad_value` at the first load. */
wherry_status wherry_pager_new(wherry_client *client, const wherry_request *request,
    const char *items_path, wherry_queue *queue, void *user_data, wherry_pager **out_pager);
wherry_status wherry_pager_free(wherry_pager *pager); /* cancels; drops the items */
wherry_status wherry_pager_set_parameter(wherry_pager *pager, const char *name, int64_t first_page);
/* How many items a page has, sent as `parameter` (NULL: not sent). by_items: the page's parameter is
 * an offset, how many items come before the page. */
wherry_status wherry_pager_set_size(wherry_pager *pager, int64_t size, const char *parameter,
    bool by_items);
wherry_status wherry_pager_set_end(wherry_pager *pager, wherry_pager_end end, const char *path);
/* Items with an equal value at key_path appear once, "" being the item itself; NULL: all do. Of
 * equal ones the first stays, or with newest_wins the last at the place of the first. */
wherry_status wherry_pager_set_key(wherry_pager *pager, const char *key_path, bool newest_wins);
/* So many pages are kept in memory to be shown again without a request; 0, the default, keeps none. */
wherry_status wherry_pager_set_kept_pages(wherry_pager *pager, int32_t count);
/* What happens to a list, in the order of happening. A load is WILL_LOAD; REFRESHED or LOADED on success
 * alone, FAILED else; FINISHED. All of it comes before the DONE of the load's transfer, and comes too
 * where a kept page needs none. */
typedef enum wherry_page_event {
  WHERRY_PAGE_WILL_LOAD = 1,
  WHERRY_PAGE_REFRESHED = 2, /* the list is made of the first page alone */
  WHERRY_PAGE_LOADED = 3,    /* the page is part of the list */
  WHERRY_PAGE_FAILED = 4,    /* with status and error; the list stays as it was */
  WHERRY_PAGE_FINISHED = 5,  /* of no page, as those below */
  WHERRY_PAGE_FIRST = 6,     /* load_previous on the first page; its refresh follows */
  WHERRY_PAGE_LAST = 7       /* load_next on the last page; nothing follows */
} wherry_page_event;

/* true: the queue hears of these from now on, as PAGE events with the pager's user data. */
wherry_status wherry_pager_set_events(wherry_pager *pager, bool told);
/* The number of the page that a PAGE event is about; -1 for none, and for every other event. */
int64_t wherry_event_page(const wherry_event *event);
/* One load at a time: E_BUSY. The page moves on success only, before the DONE can be read; an answer
 * without the items is DONE E_HTTP `bad_json_body`. *out_transfer is NULL where a kept page is there
 * at once: no event of a transfer follows, only PAGE events where they are asked for. load_next is
 * E_STATE `last_page` at the end; load_previous on the first page is a refresh; refresh starts over, past the cache, and replaces the items when it
 * succeeds. */
wherry_status wherry_pager_load_next(wherry_pager *pager, wherry_transfer **out_transfer);
wherry_status wherry_pager_load_previous(wherry_pager *pager, wherry_transfer **out_transfer);
wherry_status wherry_pager_refresh(wherry_pager *pager, wherry_transfer **out_transfer);
/* Any page: a neighbour of those in the list joins them, another one begins a new list. `bad_value`
 * before the first, and with tokens and links for one that no page led to yet. */
wherry_status wherry_pager_load_page(wherry_pager *pager, int64_t page,
    wherry_transfer **out_transfer);
wherry_status wherry_pager_cancel(wherry_pager *pager); /* OK also if nothing is on its way */
/* The page that came last is of no use to the program, since its items are not what they should be: the
 * list is what it was before, and the same call asks for it again. E_STATE where none has come since
 * the last load began. */
wherry_status wherry_pager_take_back(wherry_pager *pager);
bool wherry_pager_is_loading(const wherry_pager *pager);
bool wherry_pager_has_next(const wherry_pager *pager); /* as far as is known; true before the first */
bool wherry_pager_has_previous(const wherry_pager *pager);
int64_t wherry_pager_page(const wherry_pager *pager, int64_t otherwise); /* loaded last, or otherwise */
size_t wherry_pager_count(const wherry_pager *pager);
/* An array of your own with the items from `first` on, at most `count`, of all pages in the list. */
wherry_status wherry_pager_copy_items(const wherry_pager *pager, size_t first, size_t count,
    wherry_json **out_items);

/* Items in sections, each with a title above and below, for whatever shows them. Items are JSON values,
 * which are copied. What changes it tells the changes in order, from which a view of any kind keeps up:
 * *out_changes is a list of wherry_list_change, or NULL where nobody asks. A place out of range is NULL,
 * 0 or no change, and no error. Items that are no array are E_ARGUMENT `bad_argument`; NULL for them is an
 * empty one; a NULL item is E_ARGUMENT. Any thread. */
typedef struct wherry_sectioned_list wherry_sectioned_list;

typedef enum wherry_change {
  WHERRY_CHANGE_INSERT_ROWS = 1,
  WHERRY_CHANGE_REMOVE_ROWS = 2,
  WHERRY_CHANGE_RELOAD_ROWS = 3, /* they have other items */
  WHERRY_CHANGE_INSERT_SECTIONS = 4,
  WHERRY_CHANGE_REMOVE_SECTIONS = 5,
  WHERRY_CHANGE_RELOAD_SECTIONS = 6, /* they have other items or titles */
  WHERRY_CHANGE_RELOAD_ALL = 7
} wherry_change;

typedef struct wherry_change_row {
  size_t size;
  size_t section;      /* of rows; else 0 */
  size_t first, count; /* the rows or sections, numbered as after the changes before; else 0 */
  int32_t kind;        /* wherry_change */
  int32_t reserved;    /* 0 */
} wherry_change_row;

/* Set out_row->size first. An index beyond the count: E_ARGUMENT. */
wherry_status wherry_list_change(const wherry_list *list, size_t index, wherry_change_row *out_row);

/* Without sections: the first item makes one. */
wherry_status wherry_sectioned_list_new(wherry_sectioned_list **out_sections);
wherry_status wherry_sectioned_list_free(wherry_sectioned_list *sections);
size_t wherry_sectioned_list_count(const wherry_sectioned_list *sections); /* of sections */
size_t wherry_sectioned_list_row_count(const wherry_sectioned_list *sections, size_t section);
/* An item of your own; out of range *out_item is NULL. */
wherry_status wherry_sectioned_list_copy_item(const wherry_sectioned_list *sections, size_t section,
    size_t row, wherry_json **out_item);
/* NULL where it is empty. Lent until the next call of the same function for this list. */
const char *wherry_sectioned_list_header(const wherry_sectioned_list *sections, size_t section);
const char *wherry_sectioned_list_footer(const wherry_sectioned_list *sections, size_t section);
/* items: an array. At the end of a section; the first one is made if there is none. */
wherry_status wherry_sectioned_list_append(wherry_sectioned_list *sections, size_t section,
    const wherry_json *items, wherry_list **out_changes);
/* Before a row, or with the count of rows at the end. */
wherry_status wherry_sectioned_list_insert(wherry_sectioned_list *sections, size_t section,
    size_t row, const wherry_json *items, wherry_list **out_changes);
/* As many of these rows as there are. */
wherry_status wherry_sectioned_list_remove(wherry_sectioned_list *sections, size_t section,
    size_t row, size_t count, wherry_list **out_changes);
wherry_status wherry_sectioned_list_replace(wherry_sectioned_list *sections, size_t section,
    size_t row, const wherry_json *item, wherry_list **out_changes);
/* Before a section, or with the count of sections at the end. Titles may be NULL, and so may items. */
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

/* Finds the events in a body of the type text/event-stream, however its bytes are cut. */
typedef struct wherry_sse wherry_sse;

/* An event longer than max_event_bytes (0: 1 MiB) is E_LIMIT `too_large`. One thread at a time. */
wherry_status wherry_sse_new(size_t max_event_bytes, wherry_sse **out_sse);
wherry_status wherry_sse_free(wherry_sse *sse);
/* Takes in the bytes of a BODY event, or of any other source. After an error it takes no more:
 * E_STATE. */
wherry_status wherry_sse_feed(wherry_sse *sse, const void *bytes, size_t count);
/* Goes to the next event that is whole; false if there is none yet. The text of the one before is
 * gone then. */
bool wherry_sse_next(wherry_sse *sse);
/* Of the event that wherry_sse_next went to; NULL without one. The name is "message" where the
 * server gave none, the id the last one of the stream so far, or "". */
const char *wherry_sse_name(const wherry_sse *sse);
const char *wherry_sse_data(const wherry_sse *sse, size_t *out_count); /* lines joined by LF */
const char *wherry_sse_id(const wherry_sse *sse);
/* How long the server asked to wait before the stream is asked for again; or -1. */
int64_t wherry_sse_retry_ms(const wherry_sse *sse);

/* ---- 23. Groups: several requests that end as one -------------------------------------------- */

typedef enum wherry_group_policy {
  WHERRY_GROUP_FAIL_FAST = 0,   /* all at once; the first that fails cancels the others */
  WHERRY_GROUP_ALL_SETTLED = 1, /* all at once, and each to its end; DONE is OK, whatever failed */
  /* one begins when the one before is done; the first that fails is the end. Before the first, unless
   * one was added, and after each a DECISION NEXT asks what follows; the default is the next one that
   * was added, and the end where there is none */
  WHERRY_GROUP_CHAIN = 2
} wherry_group_policy;

wherry_status wherry_group_new(wherry_group_policy policy, wherry_group **out_group);
wherry_status wherry_group_free(wherry_group *group); /* what was sent goes on */
/* Members are numbered from 0 in the order of adding. Each is an ordinary transfer, whose events come
 * to the group's queue with this user data. E_STATE `already_started` once the group was sent. */
wherry_status wherry_group_add(wherry_group *group, const wherry_request *request, void *user_data);
/* A group as it is now, at most 16 deep in each other. It counts as one member, and has events of its
 * own. `inner` may be added again, and sent by itself. */
wherry_status wherry_group_add_group(wherry_group *group, const wherry_group *inner,
    void *user_data);
/* Starts all of it, once: then E_STATE `already_started`. What is known at once of any member is
 * returned, and then nothing was started. The group is a transfer: its verbs are for all members, its
 * PROGRESS comes as each ends, and its DONE after theirs. FAIL_FAST: with status, error and answer of
 * the member that failed first, whose number is `detail`; a CHAIN too. The sentence names it.
 * FROM_CACHE is set where all came from a cache without asking a server. */
wherry_status wherry_client_send_group(wherry_client *client, wherry_group *group,
    wherry_queue *queue, void *user_data, wherry_transfer **out_transfer);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif /* WHERRY_H */
