/* Wherry: a program in a place without the usual folders
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: place_child WAY URL TLS_URL IMAGE FOLDER
 *
 * The ways: `as-is`; `empty`, where FOLDER becomes the root; `read-only`, where nothing can be
 * written. Makes some calls, and prints how each ended. Exits with 77 if the system does not permit
 * the way. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>
#include <wherry.h>

static void report(const char *what, wherry_status status) {
  const wherry_error *error = wherry_last_error();
  if (status == WHERRY_OK) printf("%s: OK\n", what);
  else
    printf("%s: %s %s: %s\n", what, wherry_status_name(status), wherry_error_reason(error),
           wherry_error_message(error));
}

static void must(wherry_status status, const char *what) {
  if (status == WHERRY_OK) return;
  report(what, status);
  exit(3);
}

static void get(const char *what, const char *url) {
  wherry_response *response = NULL;
  report(what, wherry_get(url, &response));
  must(wherry_response_free(response), "free");
}

/* A client with a cache in the default folder. */
static void use_storage(const char *url) {
  wherry_config *config = NULL;
  wherry_client *client = NULL;
  wherry_request *request = NULL;
  wherry_response *response = NULL;
  char folder[4096];
  size_t count = 0;
  must(wherry_config_new(&config), "config");
  wherry_status status = wherry_client_new(config, &client);
  report("client", status);
  if (status != WHERRY_OK) return;
  report("storage", wherry_client_copy_storage(client, folder, sizeof folder, &count));
  must(wherry_client_free(client), "free");
  must(wherry_config_set_option(config, WHERRY_OPTION_HTTP_CACHE, 1), "option");
  status = wherry_client_new(config, &client);
  report("client with a cache", status);
  if (status != WHERRY_OK) return;
  must(wherry_request_new("GET", url, &request), "request");
  report("cached", wherry_client_perform(client, request, &response));
  must(wherry_client_free(client), "free");
}

/* The image is read before the place changes. */
static void upload(const char *url, wherry_image *image) {
  wherry_client *client = NULL;
  wherry_request *request = NULL;
  wherry_response *response = NULL;
  must(wherry_client_new(NULL, &client), "client");
  must(wherry_request_new("POST", url, &request), "request");
  must(wherry_request_add_image(request, "photo", image, NULL), "add");
  report("upload", wherry_client_perform(client, request, &response));
  must(wherry_client_free(client), "free");
}

int main(int count, char **words) {
  if (count != 6) return 2;
  const char *way = words[1], *url = words[2], *tls_url = words[3], *folder = words[5];
  static unsigned char bytes[1 << 20];
  FILE *file = fopen(words[4], "rb");
  if (file == NULL) return 2;
  size_t size = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  if (strcmp(way, "empty") == 0) {
    if (chroot(folder) != 0 || chdir("/") != 0) return 77;
    folder = "";
  } else if (strcmp(way, "read-only") == 0) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", "", MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount(folder, folder, "", MS_BIND, NULL) != 0 ||
        mount("none", folder, "", MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) != 0)
      return 77;
  }
  wherry_image *image = NULL;
  must(wherry_image_new_bytes(bytes, size, &image), "image");
  char path[4096], text[4096];
  snprintf(path, sizeof path, "%s/file", folder);
  snprintf(text, sizeof text, "%s?n=1", url);
  get("get", url);
  get("get over TLS", tls_url);
  if (strcmp(way, "empty") == 0) get("get by name", "http://name.test/");
  upload(url, image);
  report("download", wherry_download_file(text, path));
  use_storage(url);
  return 0;
}
