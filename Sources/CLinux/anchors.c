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
#include "pem.h"

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
  SETTLED_S = 3,       /* a file changed this recently may change again with equal times */
  /* OpenSSL 1.1.1c. Older ones give find_by_subject an object with random contents. */
  OLDEST_OPENSSL = 0x1010103f
};

typedef struct certificate {
  uint64_t key; /* of the subject; see clinux_name_key */
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

/* Finds the certificates. Returns 0 if there is none, or anything that OpenSSL may read
 * differently. */
static int parse(clinux_anchors *anchors, clinux_span in) {
  size_t room = 0, length = 0;
  uint64_t key = 0;
  int found;
  if (memchr(in.at, 0, (size_t)(in.end - in.at)) != NULL) return 0;
  while ((found = clinux_next_certificate(&in, anchors->der + anchors->bytes, &length, &key)) ==
         1) {
    if (anchors->count == room) {
      room = room == 0 ? 160 : room * 2;
      certificate *grown = realloc(anchors->certificates, room * sizeof *grown);
      if (grown == NULL) return 0;
      anchors->certificates = grown;
    }
    anchors->certificates[anchors->count++] =
        (certificate){.key = key, .offset = (uint32_t)anchors->bytes, .length = (uint32_t)length};
    anchors->bytes += length;
  }
  return found == 0 && anchors->count > 0;
}

/* Called by OpenSSL for a name that the store has no certificate of. Adds all certificates that may
 * have the name, in the order of the file, as OpenSSL does for a directory. */
static int find_by_subject(void *lookup, int type, void *name, void *object) {
  clinux_anchors *anchors = ssl.X509_LOOKUP_get_method_data(lookup);
  void *store = ssl.X509_LOOKUP_get_store(lookup), *found = NULL;
  if (type != LU_X509 || anchors == NULL || store == NULL) return 0;
  const unsigned char *der = NULL;
  size_t length = 0;
  uint64_t key = 0;
  int has_key = ssl.X509_NAME_get0_der(name, &der, &length) == 1 && der != NULL &&
                clinux_name_key((clinux_span){der, der + length}, &key);
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
  made->der = malloc((size_t)count + CLINUX_PEM_SPARE);
  if (made->der == NULL || !parse(made, (clinux_span){start, start + count})) {
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
  /* libcurl must not have loaded other certificates. */
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
