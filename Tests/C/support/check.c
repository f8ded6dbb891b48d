/* Wherry: runs C tests and reports failures
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TESTS = 200, GUARD_SECONDS = 1200 };

typedef struct block {
  struct block *next;
  max_align_t bytes[];
} block;

static struct {
  const char *description;
  void (*function)(void);
} tests[MAX_TESTS];
static unsigned test_count, test_number;
static atomic_uint failures;
static jmp_buf test_end;
static block *blocks;
static char folder[64];
static void (*at_end)(void);
static const char *running = "";

void check_register(const char *description, void (*function)(void)) {
  if (test_count == MAX_TESTS) {
    fprintf(stderr, "more than %d tests in one program\n", MAX_TESTS);
    exit(2);
  }
  tests[test_count].description = description;
  tests[test_count++].function = function;
}

__attribute__((format(printf, 3, 4))) static bool fail(const char *file, int line,
                                                       const char *format, ...) {
  char text[2048];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  atomic_fetch_add(&failures, 1);
  const char *name = strrchr(file, '/');
  printf("  %s:%d: %s\n", name ? name + 1 : file, line, text);
  return false;
}

bool check_true(bool passed, const char *what, const char *file, int line) {
  return passed || fail(file, line, "%s does not hold", what);
}

bool check_int(int64_t actual, int64_t expected, const char *what, const char *file, int line) {
  return actual == expected ||
         fail(file, line, "%s is %lld, not %lld", what, (long long)actual, (long long)expected);
}

bool check_text(const char *actual, const char *expected, const char *what, const char *file,
                int line) {
  if (actual == NULL || expected == NULL ? actual == expected : strcmp(actual, expected) == 0)
    return true;
  return fail(file, line, "%s is %s%s%s, not %s%s%s", what, actual ? "\"" : "",
              actual ? actual : "NULL", actual ? "\"" : "", expected ? "\"" : "",
              expected ? expected : "NULL", expected ? "\"" : "");
}

bool check_holds(const char *text, const char *piece, bool wanted, const char *what,
                 const char *file, int line) {
  if (text == NULL) return fail(file, line, "%s is NULL", what);
  return (strstr(text, piece) != NULL) == wanted ||
         fail(file, line, "%s %s \"%s\": %.1500s", what, wanted ? "lacks" : "holds", piece, text);
}

bool check_bytes(const void *bytes, size_t count, const void *expected, size_t expected_count,
                 const char *what, const char *file, int line) {
  const unsigned char *a = bytes, *b = expected;
  if (bytes == NULL && count > 0) return fail(file, line, "%s is NULL", what);
  for (size_t i = 0; i < count && i < expected_count; i++)
    if (a[i] != b[i])
      return fail(file, line, "%s differs at byte %zu: %02x, not %02x", what, i, a[i], b[i]);
  return count == expected_count ||
         fail(file, line, "%s has %zu bytes, not %zu", what, count, expected_count);
}

bool check_status(wherry_status actual, wherry_status expected, const char *what, const char *file,
                  int line) {
  if (actual == expected) return true;
  const wherry_error *error = wherry_last_error();
  return fail(file, line, "%s is %s, not %s (%s: %s)", what, wherry_status_name(actual),
              wherry_status_name(expected), wherry_error_reason(error),
              wherry_error_message(error));
}

bool check_fails(wherry_status actual, wherry_status expected, const char *reason, const char *what,
                 const char *file, int line) {
  if (!check_status(actual, expected, what, file, line)) return false;
  const wherry_error *error = wherry_last_error();
  if (wherry_error_status(error) != expected)
    return fail(file, line, "wherry_last_error after %s is %s", what,
                wherry_status_name(wherry_error_status(error)));
  const char *word = wherry_error_reason(error), *message = wherry_error_message(error);
  if (word == NULL || strcmp(word, reason) != 0)
    return fail(file, line, "the reason after %s is \"%s\", not \"%s\" (%s)", what,
                word ? word : "NULL", reason, message ? message : "NULL");
  return (message != NULL && *message != '\0') || fail(file, line, "no message after %s", what);
}

static bool judge_growth(long grown, long limit_kib, const char *file, int line) {
  if (getenv("WHERRY_TEST_INSTRUMENTED") != NULL) {
    printf("  memory is not judged in an instrumented run: it grew by %ld KiB\n", grown);
    return true;
  }
  return grown < limit_kib ||
         fail(file, line, "memory grew by %ld KiB, not less than %ld", grown, limit_kib);
}

bool check_growth(long before, long limit_kib, const char *file, int line) {
  return judge_growth(check_resident_kib() - before, limit_kib, file, line);
}

bool check_peak(long before, long limit_kib, const char *file, int line) {
  char text[256];
  long peak = -1;
  FILE *status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(text, sizeof text, status) != NULL)
    if (sscanf(text, "VmHWM: %ld kB", &peak) == 1) break;
  if (status != NULL) fclose(status);
  if (peak < 0) return fail(file, line, "the kernel does not tell the most memory in use");
  return judge_growth(peak - before, limit_kib, file, line);
}

bool check_reset_peak(void) {
  FILE *file = fopen("/proc/self/clear_refs", "w");
  return file != NULL && fputs("5", file) >= 0 && fclose(file) == 0;
}

void check_end_test(void) { longjmp(test_end, 1); }

void check_at_end(void (*function)(void)) { at_end = function; }

void *check_memory(size_t size) {
  block *new = calloc(1, sizeof *new + size);
  if (new == NULL) abort();
  new->next = blocks;
  blocks = new;
  return new->bytes;
}

static char *format_text(const char *prefix, const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  size_t start = strlen(prefix);
  size_t count = start + (size_t)vsnprintf(NULL, 0, format, again) + 1;
  va_end(again);
  char *text = check_memory(count);
  memcpy(text, prefix, start);
  vsnprintf(text + start, count - start, format, arguments);
  return text;
}

char *check_format(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  char *text = format_text("", format, arguments);
  va_end(arguments);
  return text;
}

char *check_path(const char *format, ...) {
  if (folder[0] == '\0') {
    const char *root = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/wherry-c-XXXXXX",
             root && strlen(root) < 40 ? root : "/tmp");
    if (mkdtemp(folder) == NULL) {
      perror(folder);
      exit(2);
    }
  }
  va_list arguments;
  va_start(arguments, format);
  char *text = format_text(check_format("%s/", folder), format, arguments);
  va_end(arguments);
  return text;
}

unsigned check_number(void) { return test_number; }

char *check_read_file(const char *path, long *count) {
  struct stat status;
  FILE *file = fopen(path, "rb");
  *count = -1;
  if (file == NULL) return NULL;
  char *bytes = NULL;
  if (fstat(fileno(file), &status) == 0) {
    bytes = check_memory((size_t)status.st_size + 1);
    *count = (long)fread(bytes, 1, (size_t)status.st_size, file);
  }
  fclose(file);
  return bytes;
}

void check_write_file(const char *path, const void *bytes, size_t count) {
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(bytes, 1, count, file) != count || fclose(file) != 0) {
    perror(path);
    exit(2);
  }
}

bool check_exists(const char *path) { return access(path, F_OK) == 0; }

long check_entries(const char *directory) {
  DIR *stream = opendir(directory);
  long count = 0;
  if (stream == NULL) return -1;
  for (struct dirent *entry; (entry = readdir(stream)) != NULL;)
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  closedir(stream);
  return count;
}

long check_allocated(void) {
  struct mallinfo2 info = mallinfo2();
  return (long)(info.uordblks + info.hblkhd);
}

long check_resident_kib(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%*s %ld", &pages) != 1) pages = -1;
  if (file != NULL) fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

long check_descriptors(void) { return check_entries("/proc/self/fd") - 1; }

long check_threads(void) { return check_entries("/proc/self/task"); }

bool check_threads_are(long count) {
  for (long turn = 0; turn < 200000; turn++) {
    if (check_threads() <= count) return true;
    sched_yield();
  }
  return false;
}

bool check_in_full(void) {
  const char *loops = getenv("WHERRY_LOOPS");
  return loops != NULL && strcmp(loops, "full") == 0;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
  (void)status, (void)kind, (void)place;
  return remove(path);
}

static void clean_up(void) {
  if (at_end != NULL) at_end();
  while (blocks != NULL) {
    block *next = blocks->next;
    free(blocks);
    blocks = next;
  }
  if (folder[0] != '\0') nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
  folder[0] = '\0';
}

static void hang(int number) {
  (void)number;
  static const char text[] = "  hangs: ";
  if (write(1, text, sizeof text - 1) < 0 || write(1, running, strlen(running)) < 0 ||
      write(1, "\n", 1) < 0)
    _exit(4);
  _exit(3);
}

/* Returns whether the test passed. */
static bool run(unsigned index) {
  unsigned before = atomic_load(&failures);
  running = tests[index].description;
  test_number++;
  printf("- %s\n", running);
  const char *guard = getenv("WHERRY_TEST_GUARD_S");
  alarm(guard != NULL ? (unsigned)atoi(guard) : GUARD_SECONDS);
  if (setjmp(test_end) == 0) tests[index].function();
  alarm(0);
  clean_up();
  return atomic_load(&failures) == before;
}

int main(int count, char **arguments) {
  unsigned ran = 0, failed = 0;
  setvbuf(stdout, NULL, _IOLBF, 0);
  signal(SIGALRM, hang);
  for (unsigned i = 0; i < test_count; i++) {
    bool wanted = count < 2;
    for (int j = 1; j < count; j++) wanted |= strstr(tests[i].description, arguments[j]) != NULL;
    if (!wanted) continue;
    ran++;
    if (!run(i)) {
      failed++;
      printf("  FAILED: %s\n", tests[i].description);
    }
  }
  printf("%u tests, %u failed\n", ran, failed);
  return failed > 0 || ran == 0;
}
