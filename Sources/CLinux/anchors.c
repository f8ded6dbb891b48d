/* Wherry: CA certificates that OpenSSL decodes when it needs them; see clinux.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clinux.h"

/* See peer.c. */
#define FUNCTIONS(X)                                                                          \
  X(void *, SSL_CTX_get_cert_store, (const void *))                                           \
  X(int, X509_STORE_load_locations, (void *, const char *, const char *))                     \
  X(void *, X509_STORE_add_lookup, (void *, void *))                                          \
  X(int, X509_STORE_add_cert, (void *, void *))                                               \
  X(void *, X509_STORE_get0_objects, (const void *))                                          \
  X(int, OPENSSL_sk_num, (const void *))                                                      \
  X(unsigned long, OpenSSL_version_num, (void))                                               \
  X(void *, X509_LOOKUP_meth_new, (const char *))                                             \
  X(int, X509_LOOKUP_meth_set_free, (void *, void (*)(void *)))                               \
  X(int, X509_LOOKUP_meth_set_get_by_subject, (void *, int (*)(void *, int, void *, void *))) \
  X(int, X509_LOOKUP_set_method_data, (void *, void *))                                       \
  X(void *, X509_LOOKUP_get_method_data, (const void *))                                      \
  X(void *, X509_LOOKUP_get_store, (const void *))                                            \
  X(int, X509_OBJECT_set1_X509, (void *, void *))                                             \
  X(int, X509_NAME_cmp, (const void *, const void *))                                         \
  X(int, X509_NAME_get0_der, (void *, const unsigned char **, size_t *))                      \
  X(void *, X509_get_subject_name, (const void *))                                            \
  X(void *, d2i_X509, (void **, const unsigned char **, long))                                \
  X(void, X509_free, (void *))                                                                \
  X(int, ERR_set_mark, (void))                                                                \
  X(int, ERR_pop_to_mark, (void))

#define DECLARE(result, name, arguments) result(*name) arguments;
static struct {
  FUNCTIONS(DECLARE)
} ssl;

enum {
  LU_X509 = 1,         /* X509_LU_X509 */
  MOST_FILE = 8 << 20, /* the maximum size of a file; libcurl reads larger ones */
  MOST_TEXT = 250,     /* OpenSSL splits longer lines, and may find a boundary in the rest */
  MOST_LINE = 76,      /* the maximum length of a Base64 line */
  MOST_CERTIFICATE = 65535,
  SETTLED_S = 3, /* a file changed this recently may change again with equal times */
  /* OpenSSL 1.1.1c. Older ones give find_by_subject an object with random contents. */
  OLDEST_OPENSSL = 0x1010103f
};

typedef struct certificate {
  uint64_t key; /* see name_key */
  uint32_t offset, length;
  _Atomic(void *) decoded; /* X509, or NULL */
} certificate;

struct clinux_anchors {
  atomic_int owners;
  struct clinux_anchors *next; /* in `files` */
  char *path;                  /* NULL for bytes */
  struct stat found;           /* of the file, before it was read */
  int is_settled;              /* whether `found` identifies the contents */
  unsigned char *der;          /* concatenated certificates */
  certificate *certificates;   /* in the order of the file */
  size_t count, bytes;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int is_ready;
static void *method; /* X509_LOOKUP_METHOD */

/* The anchors of files, at most one for each path. They are not owned by the list. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static clinux_anchors *files;

static void lock_files(void) { pthread_mutex_lock(&lock); }
static void unlock_files(void) { pthread_mutex_unlock(&lock); }

/* Another thread of the parent may have locked one of the decoded certificates, so the child reads
 * the files again. */
static void forget_files(void) {
  files = NULL;
  unlock_files();
}

/* ---- DER (X.690) ------------------------------------------------------------------------------
 *
 * Accepts only certificates that OpenSSL accepts too, and fewer: those with the usual string and
 * time types, in strict DER. */

enum {
  BOOLEAN = 0x01,
  INTEGER = 0x02,
  BIT_STRING = 0x03,
  OCTET_STRING = 0x04,
  NULL_VALUE = 0x05,
  OID = 0x06,
  UTF8_STRING = 0x0c,
  PRINTABLE_STRING = 0x13,
  TELETEX_STRING = 0x14,
  IA5_STRING = 0x16,
  UTC_TIME = 0x17,
  GENERAL_TIME = 0x18,
  SEQUENCE = 0x30,
  SET = 0x31,
  VERSION = 0xa0,
  EXTENSIONS = 0xa3
};

typedef struct span {
  const unsigned char *at, *end;
} span;

static size_t length_of(span in) { return (size_t)(in.end - in.at); }

/* Reads the next value if it has this tag; returns 0 otherwise. */
static int next(span *in, int tag, span *value) {
  if (length_of(*in) < 2 || in->at[0] != tag) return 0;
  const unsigned char *at = in->at + 2;
  size_t length = in->at[1];
  if (length >= 0x80) {
    size_t digits = length - 0x80;
    if (digits < 1 || digits > 3 || (size_t)(in->end - at) < digits) return 0;
    length = 0;
    for (size_t i = 0; i < digits; i++) length = length << 8 | *at++;
    /* DER has the shortest form only. */
    if (length < 0x80 || length >> 8 * (digits - 1) == 0) return 0;
  }
  if ((size_t)(in->end - at) < length) return 0;
  *value = (span){at, at + length};
  in->at = value->end;
  return 1;
}

static int has(span *in, int tag) {
  span value;
  return next(in, tag, &value);
}

static int integer(span *in) {
  span value;
  if (!next(in, INTEGER, &value) || length_of(value) == 0) return 0;
  if (length_of(value) == 1) return 1;
  int is_padded =
      (value.at[0] == 0 && value.at[1] < 0x80) || (value.at[0] == 0xff && value.at[1] >= 0x80);
  return !is_padded;
}

static int identifier(span *in, span *value) {
  if (!next(in, OID, value) || length_of(*value) == 0 || value->end[-1] >= 0x80) return 0;
  for (const unsigned char *at = value->at; at < value->end; at++)
    if (*at == 0x80 && (at == value->at || at[-1] < 0x80)) return 0;
  return 1;
}

static int bits(span *in) {
  span value;
  return next(in, BIT_STRING, &value) && length_of(value) > 0 && value.at[0] == 0;
}

static int algorithm(span *in) {
  span body, ignored;
  if (!next(in, SEQUENCE, &body) || !identifier(&body, &ignored)) return 0;
  if (body.at == body.end) return 1;
  if (next(&body, NULL_VALUE, &ignored)) return ignored.at == ignored.end && body.at == body.end;
  if (identifier(&body, &ignored)) return body.at == body.end;
  return has(&body, SEQUENCE) && body.at == body.end;
}

static int time_value(span *in) {
  span value;
  size_t digits = 12;
  if (!next(in, UTC_TIME, &value)) {
    if (!next(in, GENERAL_TIME, &value)) return 0;
    digits = 14;
  }
  if (length_of(value) != digits + 1 || value.at[digits] != 'Z') return 0;
  for (size_t i = 0; i < digits; i++)
    if (value.at[i] < '0' || value.at[i] > '9') return 0;
  return 1;
}

/* Whether all bytes are valid UTF-8 without U+0000. */
static int is_utf8(span text) {
  while (text.at < text.end) {
    uint32_t lead = *text.at++, least, more;
    if (lead > 0 && lead < 0x80) continue;
    if (lead >= 0xc2 && lead < 0xe0) more = 1, least = 0x80, lead &= 0x1f;
    else if (lead >= 0xe0 && lead < 0xf0) more = 2, least = 0x800, lead &= 0x0f;
    else if (lead >= 0xf0 && lead < 0xf5) more = 3, least = 0x10000, lead &= 0x07;
    else return 0;
    if (length_of(text) < more) return 0;
    for (; more > 0; more--) {
      if ((*text.at & 0xc0) != 0x80) return 0;
      lead = lead << 6 | (*text.at++ & 0x3f);
    }
    if (lead < least || lead > 0x10ffff || (lead >= 0xd800 && lead < 0xe000)) return 0;
  }
  return 1;
}

static int is_ascii(span text) {
  for (; text.at < text.end; text.at++)
    if (*text.at == 0 || *text.at >= 0x80) return 0;
  return 1;
}

static uint64_t mixed(uint64_t hash, unsigned char byte) { return (hash ^ byte) * 0x100000001b3; }

/* Computes a number that is equal for names that OpenSSL considers equal: it ignores case, the type
 * of the strings, the number of spaces, and the order within a relative name. This one ignores
 * spaces and the order entirely. Returns 0 for a name that may contain other strings. */
static int name_key(span body, uint64_t *key) {
  *key = 0;
  while (body.at < body.end) {
    span relative;
    if (!next(&body, SET, &relative) || relative.at == relative.end) return 0;
    while (relative.at < relative.end) {
      span attribute, type, value;
      if (!next(&relative, SEQUENCE, &attribute) || !identifier(&attribute, &type)) return 0;
      if (next(&attribute, UTF8_STRING, &value)) {
        if (!is_utf8(value)) return 0;
      } else if (next(&attribute, PRINTABLE_STRING, &value) ||
                 next(&attribute, IA5_STRING, &value) || next(&attribute, TELETEX_STRING, &value)) {
        if (!is_ascii(value)) return 0;
      } else {
        return 0;
      }
      if (attribute.at != attribute.end) return 0;
      uint64_t hash = 0xcbf29ce484222325;
      for (; type.at < type.end; type.at++) hash = mixed(hash, *type.at);
      for (; value.at < value.end; value.at++) {
        unsigned char byte = *value.at;
        if (byte == ' ' || (byte >= '\t' && byte <= '\r')) continue;
        hash = mixed(hash, byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
      }
      *key += hash * 0x9e3779b97f4a7c15;
    }
  }
  return 1;
}

static int extensions(span *in) {
  span outer, list;
  if (!next(in, EXTENSIONS, &outer)) return 1;
  if (!next(&outer, SEQUENCE, &list) || outer.at != outer.end) return 0;
  while (list.at < list.end) {
    span extension, ignored;
    if (!next(&list, SEQUENCE, &extension) || !identifier(&extension, &ignored)) return 0;
    if (next(&extension, BOOLEAN, &ignored) && length_of(ignored) != 1) return 0;
    if (!has(&extension, OCTET_STRING) || extension.at != extension.end) return 0;
  }
  return 1;
}

/* Checks a certificate, and computes the key of its subject. */
static int check_certificate(span in, uint64_t *key) {
  span whole, body, version, name, value;
  uint64_t ignored;
  if (!next(&in, SEQUENCE, &whole) || in.at != in.end) return 0;
  if (!next(&whole, SEQUENCE, &body) || !algorithm(&whole) || !bits(&whole) ||
      whole.at != whole.end)
    return 0;
  if (next(&body, VERSION, &version) && (!integer(&version) || version.at != version.end)) return 0;
  if (!integer(&body) || !algorithm(&body)) return 0;
  if (!next(&body, SEQUENCE, &name) || !name_key(name, &ignored)) return 0;
  if (!next(&body, SEQUENCE, &value) || !time_value(&value) || !time_value(&value) ||
      value.at != value.end)
    return 0;
  if (!next(&body, SEQUENCE, &name) || !name_key(name, key)) return 0;
  if (!next(&body, SEQUENCE, &value) || !algorithm(&value) || !bits(&value) ||
      value.at != value.end)
    return 0;
  return extensions(&body) && body.at == body.end;
}

/* ---- PEM (RFC 7468) ---------------------------------------------------------------------------
 */

static const char BEGIN[] = "-----BEGIN CERTIFICATE-----", END[] = "-----END CERTIFICATE-----";

/* Takes the next line, without its end. */
static span take_line(span *in) {
  const unsigned char *end = memchr(in->at, '\n', length_of(*in));
  span line = {in->at, end == NULL ? in->end : end};
  in->at = end == NULL ? in->end : end + 1;
  if (line.end > line.at && line.end[-1] == '\r') line.end--;
  return line;
}

static int is_text(span line, const char *text, size_t length) {
  return length_of(line) == length && memcmp(line.at, text, length) == 0;
}

static int digit(unsigned char byte) {
  if (byte >= 'A' && byte <= 'Z') return byte - 'A';
  if (byte >= 'a' && byte <= 'z') return byte - 'a' + 26;
  if (byte >= '0' && byte <= '9') return byte - '0' + 52;
  return byte == '+' ? 62 : byte == '/' ? 63 : -1;
}

static signed char digits[256];

static void fill_digits(void) {
  for (int i = 0; i < 256; i++) digits[i] = (signed char)digit((unsigned char)i);
}

/* Decodes a line of Base64. Sets `is_last` if it is padded. Returns the bytes, or -1. */
static long decode_line(span line, unsigned char *out, int *is_last) {
  size_t count = length_of(line), padding = 0;
  if (count == 0 || count % 4 != 0 || count > MOST_LINE) return -1;
  while (padding < 2 && line.end[-1] == '=') line.end--, padding++;
  *is_last = padding > 0;
  const unsigned char *start = out;
  unsigned char last[4] = {'A', 'A', 'A', 'A'};
  for (size_t i = 0; i < count; i += 4, line.at += 4) {
    const unsigned char *four = line.at;
    size_t known = length_of(line) < 4 ? length_of(line) : 4;
    if (known < 4) four = memcpy(last, four, known);
    int a = digits[four[0]], b = digits[four[1]], c = digits[four[2]], d = digits[four[3]];
    if ((a | b | c | d) < 0) return -1;
    *out++ = (unsigned char)(a << 2 | b >> 4);
    if (known > 2) *out++ = (unsigned char)(b << 4 | c >> 2);
    if (known > 3) *out++ = (unsigned char)(c << 6 | d);
  }
  return out - start;
}

/* Decodes the lines up to the end of a certificate. Returns its length, or 0. */
static size_t decode_certificate(span *in, unsigned char *out) {
  size_t length = 0, width = 0;
  int is_last = 0;
  while (in->at < in->end) {
    span line = take_line(in);
    if (is_text(line, END, sizeof END - 1)) return length;
    /* All lines but the last have the same length. */
    if (is_last || length > MOST_CERTIFICATE) return 0;
    long got = decode_line(line, out + length, &is_last);
    if (got < 0) return 0;
    if (width == 0) width = length_of(line);
    if (length_of(line) > width) return 0;
    if (length_of(line) < width) is_last = 1;
    length += (size_t)got;
  }
  return 0;
}

/* Finds the certificates. Returns 0 if there is none, or anything that OpenSSL may read
 * differently, such as a revocation list. */
static int parse(clinux_anchors *anchors, span in) {
  size_t room = 0;
  if (memchr(in.at, 0, length_of(in)) != NULL) return 0;
  while (in.at < in.end) {
    span line = take_line(&in);
    if (length_of(line) > MOST_TEXT) return 0;
    if (length_of(line) < 5 || memcmp(line.at, "-----", 5) != 0) continue;
    if (!is_text(line, BEGIN, sizeof BEGIN - 1)) return 0;
    if (anchors->count == room) {
      room = room == 0 ? 160 : room * 2;
      certificate *grown = realloc(anchors->certificates, room * sizeof *grown);
      if (grown == NULL) return 0;
      anchors->certificates = grown;
    }
    unsigned char *der = anchors->der + anchors->bytes;
    size_t length = decode_certificate(&in, der);
    certificate *one = &anchors->certificates[anchors->count];
    *one = (certificate){.offset = (uint32_t)anchors->bytes, .length = (uint32_t)length};
    if (length == 0 || !check_certificate((span){der, der + length}, &one->key)) return 0;
    anchors->bytes += length;
    anchors->count++;
  }
  return anchors->count > 0;
}

/* ---- Anchors ----------------------------------------------------------------------------------
 */

/* Called by OpenSSL for a name that the store has no certificate of. Adds all certificates that may
 * have the name, in the order of the file, as OpenSSL does for a directory. */
static int find_by_subject(void *lookup, int type, void *name, void *object) {
  clinux_anchors *anchors = ssl.X509_LOOKUP_get_method_data(lookup);
  void *store = ssl.X509_LOOKUP_get_store(lookup), *found = NULL;
  if (type != LU_X509 || anchors == NULL || store == NULL) return 0;
  const unsigned char *der = NULL;
  size_t length = 0;
  uint64_t key = 0;
  span whole = {NULL, NULL}, body;
  if (ssl.X509_NAME_get0_der(name, &der, &length) == 1) whole = (span){der, der + length};
  int has_key =
      der != NULL && next(&whole, SEQUENCE, &body) && whole.at == whole.end && name_key(body, &key);
  ssl.ERR_set_mark();
  for (size_t i = 0; i < anchors->count; i++) {
    certificate *one = &anchors->certificates[i];
    if (has_key && one->key != key) continue;
    void *decoded = atomic_load(&one->decoded);
    if (decoded == NULL) {
      const unsigned char *at = anchors->der + one->offset;
      void *mine = ssl.d2i_X509(NULL, &at, (long)one->length);
      if (mine == NULL) continue;
      if (atomic_compare_exchange_strong(&one->decoded, &decoded, mine)) decoded = mine;
      else ssl.X509_free(mine);
    }
    if (ssl.X509_STORE_add_cert(store, decoded) != 1) continue;
    if (found == NULL && ssl.X509_NAME_cmp(ssl.X509_get_subject_name(decoded), name) == 0)
      found = decoded;
  }
  ssl.ERR_pop_to_mark();
  if (found == NULL || ssl.X509_OBJECT_set1_X509(object, found) != 1) return 0;
  /* OpenSSL counts the caller's reference itself, and the store has one. */
  ssl.X509_free(found);
  return 1;
}

static void forget_lookup(void *lookup) {
  clinux_anchors_release(ssl.X509_LOOKUP_get_method_data(lookup));
}

static void load(void) {
  fill_digits();
  void *library = clinux_libcurl();
  if (library == NULL) return;
#define FIND(result, name, arguments)            \
  *(void **)(&ssl.name) = dlsym(library, #name); \
  if (ssl.name == NULL) return;
  FUNCTIONS(FIND)
  if (ssl.OpenSSL_version_num() < OLDEST_OPENSSL) return;
  method = ssl.X509_LOOKUP_meth_new("CA certificates of Wherry");
  if (method == NULL || ssl.X509_LOOKUP_meth_set_get_by_subject(method, find_by_subject) != 1 ||
      ssl.X509_LOOKUP_meth_set_free(method, forget_lookup) != 1)
    return;
  /* After a fork at this point, the child calls this function again. */
  static int is_registered;
  if (!is_registered && pthread_atfork(lock_files, unlock_files, forget_files) != 0) return;
  is_registered = 1;
  is_ready = 1;
}

static void destroy(clinux_anchors *anchors) {
  for (size_t i = 0; i < anchors->count; i++) {
    void *decoded = atomic_load(&anchors->certificates[i].decoded);
    if (decoded != NULL) ssl.X509_free(decoded);
  }
  free(anchors->certificates);
  free(anchors->der);
  free(anchors->path);
  free(anchors);
}

clinux_anchors *clinux_anchors_of_bytes(const void *bytes, uint64_t count) {
  pthread_once(&once, load);
  if (!is_ready || count == 0 || count > MOST_FILE) return NULL;
  clinux_anchors *made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  atomic_init(&made->owners, 1);
  const unsigned char *start = bytes;
  /* Decoded bytes are fewer than encoded ones, and a line is checked after it is decoded. */
  made->der = malloc((size_t)count + MOST_LINE);
  if (made->der == NULL || !parse(made, (span){start, start + count})) {
    destroy(made);
    return NULL;
  }
  unsigned char *smaller = realloc(made->der, made->bytes);
  if (smaller != NULL) made->der = smaller;
  return made;
}

/* Reads a file. Returns NULL if that fails, or if the file is not a usual one. */
static clinux_anchors *read_file(const char *path) {
  /* A named pipe must not block. */
  int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return NULL;
  struct stat found;
  struct timespec now;
  clinux_anchors *made = NULL;
  unsigned char *bytes = NULL;
  if (fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode) && found.st_size > 0 &&
      found.st_size <= MOST_FILE && clock_gettime(CLOCK_REALTIME, &now) == 0)
    bytes = malloc((size_t)found.st_size + 1);
  if (bytes != NULL) {
    size_t count = 0, room = (size_t)found.st_size + 1;
    ssize_t got = 1;
    while (got > 0 && count < room) {
      got = read(descriptor, bytes + count, room - count);
      if (got < 0 && errno == EINTR) got = 1;
      else if (got > 0) count += (size_t)got;
    }
    if (got == 0 && count == (size_t)found.st_size) made = clinux_anchors_of_bytes(bytes, count);
  }
  free(bytes);
  close(descriptor);
  if (made == NULL) return NULL;
  made->found = found;
  made->is_settled = found.st_mtim.tv_sec + SETTLED_S < now.tv_sec &&
                     found.st_ctim.tv_sec + SETTLED_S < now.tv_sec;
  made->path = strdup(path);
  if (made->path != NULL) return made;
  destroy(made);
  return NULL;
}

static int is_same_time(struct timespec a, struct timespec b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static int is_same_file(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
         is_same_time(a->st_mtim, b->st_mtim) && is_same_time(a->st_ctim, b->st_ctim);
}

/* The functions below are called with the list locked. */

static clinux_anchors **place_of(const char *path) {
  clinux_anchors **at = &files;
  while (*at != NULL && strcmp((*at)->path, path) != 0) at = &(*at)->next;
  return at;
}

static clinux_anchors *retained(clinux_anchors *anchors) {
  atomic_fetch_add(&anchors->owners, 1);
  return anchors;
}

static void remove_from_list(clinux_anchors *anchors) {
  for (clinux_anchors **at = &files; *at != NULL; at = &(*at)->next)
    if (*at == anchors) {
      *at = anchors->next;
      return;
    }
}

clinux_anchors *clinux_anchors_of_file(const char *path) {
  pthread_once(&once, load);
  struct stat now;
  if (!is_ready) return NULL;
  int is_there = stat(path, &now) == 0;
  lock_files();
  clinux_anchors *known = *place_of(path);
  if (known != NULL && is_there && known->is_settled && is_same_file(&known->found, &now)) {
    retained(known);
    unlock_files();
    return known;
  }
  unlock_files();
  clinux_anchors *made = is_there ? read_file(path) : NULL;
  lock_files();
  known = *place_of(path);
  if (known != NULL && made != NULL && known->count == made->count && known->bytes == made->bytes &&
      memcmp(known->der, made->der, made->bytes) == 0) {
    known->found = made->found;
    known->is_settled = made->is_settled;
    retained(known);
    unlock_files();
    destroy(made);
    return known;
  }
  if (known != NULL) remove_from_list(known);
  if (made != NULL) {
    made->next = files;
    files = made;
  }
  unlock_files();
  return made;
}

void clinux_anchors_release(clinux_anchors *anchors) {
  if (anchors == NULL) return;
  lock_files();
  int is_last = atomic_fetch_sub(&anchors->owners, 1) == 1;
  if (is_last) remove_from_list(anchors);
  unlock_files();
  if (is_last) destroy(anchors);
}

uint64_t clinux_anchors_count(const clinux_anchors *anchors) { return anchors->count; }

int clinux_anchors_use(void *context, clinux_anchors *anchors) {
  void *store = ssl.SSL_CTX_get_cert_store(context);
  /* libcurl must not have loaded certificates of its own choice. */
  if (store == NULL || ssl.OPENSSL_sk_num(ssl.X509_STORE_get0_objects(store)) > 0) return 0;
  void *lookup = ssl.X509_STORE_add_lookup(store, method);
  if (lookup == NULL) return 0;
  lock_files();
  retained(anchors);
  unlock_files();
  clinux_anchors *old = ssl.X509_LOOKUP_get_method_data(lookup);
  if (ssl.X509_LOOKUP_set_method_data(lookup, anchors) != 1) {
    clinux_anchors_release(anchors);
    return 0;
  }
  clinux_anchors_release(old);
  return 1;
}

int clinux_anchors_load_file(void *context, const char *path) {
  pthread_once(&once, load);
  struct stat found;
  /* OpenSSL would wait for a named pipe. */
  if (!is_ready || stat(path, &found) != 0 || !S_ISREG(found.st_mode)) return 0;
  void *store = ssl.SSL_CTX_get_cert_store(context);
  if (store == NULL) return 0;
  ssl.ERR_set_mark();
  int is_loaded = ssl.X509_STORE_load_locations(store, path, NULL) == 1;
  ssl.ERR_pop_to_mark();
  return is_loaded;
}
