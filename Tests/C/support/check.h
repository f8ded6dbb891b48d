/* Wherry: the macros and helpers for C tests
 * SPDX-License-Identifier: Apache-2.0
 *
 *   TEST("R2 without a method and parameters it is GET") {
 *     REQUIRE_OK(wherry_request_new(NULL, "/x", &request));
 *     CHECK_TEXT(wherry_request_method(request), "GET");
 *   }
 *
 * A program links check.c, which contains main. It runs the tests whose names contain an argument
 * (all tests without arguments), and fails if a check failed or no test ran. CHECK continues after
 * a failure, REQUIRE ends the test. Any thread may use CHECK, only the test's thread REQUIRE. */
#ifndef CHECK_H
#define CHECK_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <wherry.h>

#define CHECK_JOIN_(a, b) a##b
#define CHECK_JOIN(a, b) CHECK_JOIN_(a, b)

#define TEST(description)                                                               \
  static void CHECK_JOIN(test_, __LINE__)(void);                                        \
  __attribute__((constructor)) static void CHECK_JOIN(test_register_, __LINE__)(void) { \
    check_register(description, CHECK_JOIN(test_, __LINE__));                           \
  }                                                                                     \
  static void CHECK_JOIN(test_, __LINE__)(void)

#define CHECK(condition) check_true((condition), #condition, __FILE__, __LINE__)
#define CHECK_INT(actual, expected) \
  check_int((int64_t)(actual), (int64_t)(expected), #actual, __FILE__, __LINE__)
#define CHECK_TEXT(actual, expected) check_text((actual), (expected), #actual, __FILE__, __LINE__)
/* The text contains the piece. */
#define CHECK_HOLDS(text, piece) check_holds((text), (piece), true, #text, __FILE__, __LINE__)
#define CHECK_LACKS(text, piece) check_holds((text), (piece), false, #text, __FILE__, __LINE__)
#define CHECK_BYTES(bytes, count, expected, expected_count) \
  check_bytes((bytes), (count), (expected), (expected_count), #bytes, __FILE__, __LINE__)
/* A wherry_status; a failure shows wherry_last_error. */
#define CHECK_STATUS(call, expected) check_status((call), (expected), #call, __FILE__, __LINE__)
#define CHECK_OK(call) CHECK_STATUS(call, WHERRY_OK)
/* The call fails with this status and, in wherry_last_error, this reason. */
#define CHECK_FAILS(call, status, reason) \
  check_fails((call), (status), (reason), #call, __FILE__, __LINE__)

/* Resident memory has grown by less than this many KiB since `before`, from check_resident_kib.
 * Skipped with a message if WHERRY_TEST_INSTRUMENTED is set: valgrind and sanitizers need more. */
#define CHECK_GROWTH(before, limit_kib) check_growth((before), (limit_kib), __FILE__, __LINE__)

/* The same with the peak of resident memory since check_reset_peak. */
#define CHECK_PEAK(before, limit_kib) check_peak((before), (limit_kib), __FILE__, __LINE__)
#define REQUIRE_(passed)             \
  do {                               \
    if (!(passed)) check_end_test(); \
  } while (0)
#define REQUIRE(condition) REQUIRE_(CHECK(condition))
#define REQUIRE_INT(actual, expected) REQUIRE_(CHECK_INT(actual, expected))
#define REQUIRE_STATUS(call, expected) REQUIRE_(CHECK_STATUS(call, expected))
#define REQUIRE_OK(call) REQUIRE_(CHECK_OK(call))

void check_register(const char *description, void (*function)(void));
bool check_true(bool passed, const char *what, const char *file, int line);
bool check_int(int64_t actual, int64_t expected, const char *what, const char *file, int line);
bool check_text(const char *actual, const char *expected, const char *what, const char *file,
                int line);
bool check_holds(const char *text, const char *piece, bool wanted, const char *what,
                 const char *file, int line);
bool check_bytes(const void *bytes, size_t count, const void *expected, size_t expected_count,
                 const char *what, const char *file, int line);
bool check_status(wherry_status actual, wherry_status expected, const char *what, const char *file,
                  int line);
bool check_fails(wherry_status actual, wherry_status expected, const char *reason, const char *what,
                 const char *file, int line);
bool check_growth(long before, long limit_kib, const char *file, int line);
bool check_peak(long before, long limit_kib, const char *file, int line);
/* Ends the running test, which has failed. */
_Noreturn void check_end_test(void);

/* The one function to call when a test ends, failed or not. */
void check_at_end(void (*function)(void));
/* Memory that lives until the test ends. */
void *check_memory(size_t size);
/* printf into such memory. */
__attribute__((format(printf, 1, 2))) char *check_format(const char *format, ...);
/* A path inside this test's own folder, which is empty at the start and removed afterwards. */
__attribute__((format(printf, 1, 2))) char *check_path(const char *format, ...);
/* A number for this test, unique in the process. */
unsigned check_number(void);
/* The complete file in memory of this test, NUL-terminated; NULL and *count -1 if it is missing. */
char *check_read_file(const char *path, long *count);
void check_write_file(const char *path, const void *bytes, size_t count);
bool check_exists(const char *path);
/* The number of entries of a directory; -1 if it is missing. */
long check_entries(const char *directory);
/* The bytes that malloc has handed out. */
long check_allocated(void);
/* Resident memory and open descriptors of this process. */
long check_resident_kib(void);
/* Resets the peak of resident memory; false if the kernel does not allow it. */
bool check_reset_peak(void);
long check_descriptors(void);
/* Whether this process gets down to this many threads: a joined thread may stay listed for a
 * moment. */
bool check_threads_are(long count);
long check_threads(void);
/* Whether WHERRY_LOOPS is "full": then loops run the number of times in their row. */
bool check_in_full(void);

#endif
