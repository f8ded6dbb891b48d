/* Wherry: full disks and read-only folders, from C: files are kept and errors are reported
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"
#include "server.h"

enum { SIZE = 1060921, CUT = 400000, ROOM = 700000, NOBODY = 65534 };

static wherry_request *once(const char *url) {
  wherry_request *request = new_request("GET", url);
  REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_MAX_RETRIES, 0));
  return request;
}

/* The maximum size of a file that this process writes; 0 disables the limit. */
static void limit_files(rlim_t bytes) {
  struct rlimit limit;
  REQUIRE_INT(getrlimit(RLIMIT_FSIZE, &limit), 0);
  limit.rlim_cur = bytes > 0 ? bytes : limit.rlim_max;
  REQUIRE_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A download into a file limited to ROOM bytes. */
static outcome download_in_little_room(wherry_client *client, const char *url, const char *path) {
  wherry_request *request = once(url);
  wherry_queue *queue = new_queue();
  wherry_transfer *transfer = NULL;
  wherry_event *event = NULL;
  outcome got = {.reason = "", .message = ""};
  limit_files(ROOM);
  wherry_status status = wherry_client_download(client, request, path, queue, NULL, &transfer);
  if (status == WHERRY_OK) status = wherry_client_wait(client, WHERRY_MATCH_ALL, NULL, 600000);
  limit_files(0);
  REQUIRE_OK(status);
  got = done_of(queue, keep_transfer(transfer));
  CHECK_STATUS(wherry_queue_next(queue, 0, &event), WHERRY_E_TIMEOUT);
  return got;
}

TEST("DC-C09 a file that does not fit is E_FILE no_space, with and without a known length") {
  wherry_client *client = new_client(NULL);
  const char *queries[] = {"?n=1", "?chunked=1", "?no_length=1"};
  for (int i = 0; i < 3; i++) {
    const char *path = check_path("file.bin");
    outcome got =
        download_in_little_room(client, server_url("/bytes/%d%s", SIZE, queries[i]), path);
    CHECK_INT(got.status, WHERRY_E_FILE);
    CHECK_TEXT(got.reason, "no_space");
    CHECK_HOLDS(got.message, "file.bin");
    CHECK_INT(check_entries(check_path(".")), 0);
  }
  /* The client still works, and the space is free again. */
  const char *path = check_path("file.bin");
  CHECK_STATUS(download(client, once(server_url("/bytes/%d", SIZE)), path).status, WHERRY_OK);
  CHECK_INT(check_entries(check_path(".")), 1);
}

TEST("DC-C09 a full disk keeps the partial file, and the download resumes when there is space") {
  wherry_client *client = new_client(NULL);
  const char *path = check_path("file.bin");
  const char *url = server_url("/bytes/%d?cut=%d&times=1", SIZE, CUT);
  outcome got = download(client, once(url), path);
  REQUIRE(got.partial != NULL);
  /* No space is reserved in advance, as on a file system without that feature. */
  REQUIRE_INT(truncate(got.partial, CUT), 0);

  outcome full = download_in_little_room(client, url, path);

  CHECK_INT(full.status, WHERRY_E_FILE);
  CHECK_TEXT(full.reason, "no_space");
  CHECK_TEXT(full.partial, got.partial);
  CHECK(!check_exists(path));
  wherry_list *list = NULL;
  wherry_partial_row row = {.size = sizeof row};
  REQUIRE_OK(wherry_partial_list(check_path("."), &list));
  keep_list(list);
  REQUIRE_INT(wherry_list_count(list), 1);
  CHECK_OK(wherry_list_partial(list, 0, &row));
  CHECK(row.done_bytes >= CUT && row.done_bytes <= ROOM);
  size_t before = (size_t)server_count("requests");
  got = download(client, once(url), path);
  CHECK_STATUS(got.status, WHERRY_OK);
  CHECK_HOLDS(server_field(before, "Range"),
              check_format("bytes=%lld-", (long long)row.done_bytes));
  long count;
  const char *bytes = check_read_file(path, &count);
  REQUIRE_INT(count, SIZE);
  CHECK(is_pattern(bytes, SIZE, 0));
  CHECK_INT(check_entries(check_path(".")), 1);
}

/* Root may write anywhere, so the test drops root for a while; the last folder has this mode. */
static bool becomes_nobody(const char *folder, mode_t mode) {
  if (chmod(check_path("."), 0755) != 0 || chmod(folder, mode) != 0) return false;
  return geteuid() != 0 || seteuid(NOBODY) == 0;
}

static void becomes_root(const char *folder) {
  REQUIRE(geteuid() == getuid() || seteuid(getuid()) == 0);
  REQUIRE_INT(chmod(folder, 0700), 0);
}

TEST("DC-C10 a folder owned by another user is E_FILE at once, and nothing is sent") {
  const struct {
    mode_t mode;
    const char *file, *reason;
    bool makes;
  } rows[] = {{0555, "file.bin", "read_only", false},
              {0555, "new/file.bin", "no_permission", true},
              {0444, "x/file.bin", "no_permission", false}};
  const char *folder = check_path("closed");
  REQUIRE_INT(mkdir(folder, 0700), 0);
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    wherry_request *request = once(server_url("/bytes/10"));
    CHECK_OK(wherry_request_set_option(request, WHERRY_OPTION_MAKE_DIRECTORIES, rows[i].makes));
    const char *path = check_format("%s/%s", folder, rows[i].file);
    REQUIRE(becomes_nobody(folder, rows[i].mode));
    wherry_status status = wherry_client_download(client, request, path, queue, NULL, NULL);
    becomes_root(folder);
    CHECK_FAILS(status, WHERRY_E_FILE, rows[i].reason);
    CHECK_HOLDS(wherry_error_message(wherry_last_error()), folder);
    CHECK(wherry_error_os_code(wherry_last_error()) != 0);
    CHECK_INT(check_entries(folder), 0);
  }
  CHECK(queue_is_empty(queue));
  CHECK_INT(server_count("requests"), 0);
}

TEST("C12 a storage folder that cannot be created or entered is E_FILE and is named") {
  const char *folder = check_path("closed");
  char text[512];
  size_t count = 0;
  REQUIRE_INT(mkdir(folder, 0700), 0);
  for (int i = 0; i < 2; i++) {
    wherry_config *config = new_config();
    const char *path = i == 0 ? check_format("%s/kept", folder) : folder;
    CHECK_OK(wherry_config_set_text(config, WHERRY_TEXT_STORAGE_DIRECTORY, path));
    wherry_client *client = new_client(config);
    REQUIRE(becomes_nobody(folder, 0555));
    wherry_status status = wherry_client_copy_storage(client, text, sizeof text, &count);
    becomes_root(folder);
    CHECK_STATUS(status, WHERRY_E_FILE);
    CHECK_HOLDS(wherry_error_message(wherry_last_error()), folder);
    CHECK_INT(check_entries(folder), 0);
  }
}

/* A client with this storage folder; its cache is on or off. */
static wherry_status make_client(const char *folder, bool is_on) {
  wherry_config *config = new_config();
  wherry_client *client = NULL;
  REQUIRE_OK(wherry_config_set_text(config, WHERRY_TEXT_STORAGE_DIRECTORY, folder));
  REQUIRE_OK(wherry_config_set_option(config, WHERRY_OPTION_HTTP_CACHE, is_on));
  wherry_status status = wherry_client_new(config, &client);
  CHECK_INT(client != NULL, status == WHERRY_OK);
  if (client != NULL) CHECK_OK(wherry_client_free(client));
  return status;
}

/* The cache stayed empty, and only the log said so. */
TEST("C12 creating a client whose storage folder others may enter fails") {
  const char *folder = check_path("open");
  REQUIRE_INT(mkdir(folder, 0700), 0);
  for (int is_on = 0; is_on < 2; is_on++) {
    REQUIRE_INT(chmod(folder, 0755), 0);
    CHECK_FAILS(make_client(folder, is_on), WHERRY_E_FILE, "bad_storage");
    CHECK_HOLDS(wherry_error_message(wherry_last_error()), folder);
    REQUIRE_INT(chmod(folder, 0700), 0);
    CHECK_OK(make_client(folder, is_on));
  }
}

TEST("C12 creating a client with a storage folder on a read-only disk fails") {
  const char *disk = check_path("disk");
  REQUIRE_INT(mkdir(disk, 0700), 0);
  /* Only this thread sees the mount. */
  if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0 ||
      mount("none", "/", "", MS_REC | MS_PRIVATE, NULL) != 0 ||
      mount("tmpfs", disk, "tmpfs", 0, "size=1m") != 0) {
    printf("  skipped: no small disk can be mounted here\n");
    return;
  }
  const char *present = check_format("%s/present", disk), *missing = check_format("%s/none", disk);
  REQUIRE_INT(mkdir(present, 0700), 0);
  REQUIRE_INT(mount("tmpfs", disk, "tmpfs", MS_REMOUNT | MS_RDONLY, ""), 0);
  for (int is_on = 0; is_on < 2; is_on++) {
    const char *folders[] = {present, missing};
    for (int i = 0; i < 2; i++) {
      CHECK_STATUS(make_client(folders[i], is_on), WHERRY_E_FILE);
      CHECK_INT(wherry_error_os_code(wherry_last_error()), EROFS);
      CHECK_HOLDS(wherry_error_message(wherry_last_error()), disk);
    }
  }
  CHECK_INT(umount2(disk, MNT_DETACH), 0);
}
