/* Wherry: what a C test is written with
 * SPDX-License-Identifier: Apache-2.0
 *
 *   TEST("R2 without a method and parameters it is GET") {
 *     REQUIRE_OK(wherry_request_new(NULL, "/x", &request));
 *     CHECK_TEXT(wherry_request_method(request), "GET");
 *   }
 *
 * A program links check.c, which has its main: it runs the tests whose description contains an
 * argument (all without one) and fails if a check failed or none ran. CHECK goes on, REQUIRE ends
 * the test. Checks may stand in any thread, REQUIRE only in the test's own. */
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

#define TEST(description)                                                                 \
  static void CHECK_JOIN(test_, __LINE__)(void);                                          \
  __attribute__((constructor)) static void CHECK_JOIN(test_register_, __LINE__)(void) {   \
    check_register(description, CHECK_JOIN(test_, __LINE__));                             \
  }                                                                                       \
  static void CHECK_JOIN(test_, __LINE__)(void)

#define CHECK(condition) check_true((condition), #condition, __FILE__, __LINE__)
#define CHECK_INT(actual, expected) \
  check_int((int64_t)(actual), (int64_t)(expected), #actual, __FILE__, __LINE__)
#define CHECK_TEXT(actual, expected) check_text((actual), (expected), #actual, __FILE__, __LINE__)
/* The text holds the piece. */
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

/* Resident memory has grown by less than so many KiB since `before`, of check_resident_kib. Not
 * judged, and said so, where WHERRY_TEST_INSTRUMENTED is set: valgrind and sanitizers need more. */
#define CHECK_GROWTH(before, limit_kib) check_growth((before), (limit_kib), __FILE__, __LINE__)

/* The same with the most that was in RAM since check_reset_peak. */
#define CHECK_PEAK(before, limit_kib) check_peak((before), (limit_kib), __FILE__, __LINE__)
#define REQUIRE_(passed) do { if (!(passed)) check_end_test(); } while (0)
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
bool check_fails(wherry_status actual, wherry_status expected, const char *reason,
                 const char *what, const char *file, int line);
bool check_growth(long before, long limit_kib, const char *file, int line);
bool check_peak(long before, long limit_kib, const char *file, int line);
/* Ends the test that runs, which has failed. */
_Noreturn void check_end_test(void);

/* The one function to call when a test ends, failed or not. */
void check_at_end(void (*function)(void));
/* Memory that lives until the test ends. */
void *check_memory(size_t size);
/* printf into such memory. */
__attribute__((format(printf, 1, 2))) char *check_format(const char *format, ...);
/* A path inside this test's own folder, which is empty at its start and removed after it. */
__attribute__((format(printf, 1, 2))) char *check_path(const char *format, ...);
/* A number of this test, unique in the process. */
unsigned check_number(void);
/* The whole file in such memory, NUL behind it; NULL and *count -1 if there is none. */
char *check_read_file(const char *path, long *count);
void check_write_file(const char *path, const void *bytes, size_t count);
bool check_exists(const char *path);
/* How many entries a directory has; -1 if there is none. */
long check_entries(const char *directory);
/* Resident memory and open descriptors of this process. */
long check_resident_kib(void);
/* Forgets how much was in RAM before; false where the kernel does not let it. */
bool check_reset_peak(void);
long check_descriptors(void);
/* Whether this process comes down to so many threads: one that was joined may be listed for a
 * moment more. */
bool check_threads_are(long count);
long check_threads(void);
/* Whether WHERRY_LOOPS is "full": then what is repeated is repeated as often as its row says. */
bool check_in_full(void);

#endif
