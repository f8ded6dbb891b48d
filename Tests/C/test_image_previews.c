/* Wherry: row I2 of features.md, from C: previews of images that are loading
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "fixture.h"
#include "pictures.h"
#include "server.h"

/* A progressive JPEG of 160x120 pixels; freed with the image. */
static wherry_image *progressive(void) {
  size_t count;
  const uint8_t *jpeg = picture_jpeg(160, 120, 90, &count);
  wherry_image *image = NULL, *made = NULL;
  wherry_compression *settings = NULL;
  REQUIRE_OK(wherry_image_new_bytes(jpeg, count, &image));
  REQUIRE_OK(wherry_compression_new(0.8, &settings));
  REQUIRE_OK(wherry_compression_set_option(settings, WHERRY_IMAGE_PROGRESSIVE, 1));
  REQUIRE_OK(wherry_image_compress(image, settings, &made));
  CHECK_OK(wherry_compression_free(settings));
  CHECK_OK(wherry_image_free(image));
  return made;
}

/* The offsets at which the scans of a JPEG are complete: after the header of the next one. The last
 * one is `count`. */
static size_t scan_ends(const uint8_t *jpeg, size_t count, size_t ends[32]) {
  size_t scans = 0;
  for (size_t at = 0; at + 3 < count; at++) {
    if (jpeg[at] != 0xff || jpeg[at + 1] != 0xda) continue;
    REQUIRE(scans < 31);
    if (scans > 0) ends[scans - 1] = at + 2 + jpeg[at + 3];
    scans++;
  }
  ends[scans - 1] = count;
  return scans;
}

/* Serves a JPEG as /s/a. After scan number N, the server waits for the gate "gN". Returns the
 * number of scans. */
static size_t serve(const uint8_t *jpeg, size_t count) {
  size_t ends[32], scans = scan_ends(jpeg, count, ends), start = 0;
  char *steps =
      check_format("[\"send\", \"HTTP/1.1 200 OK\\r\\nContent-Length: %zu\\r\\n\\r\\n\"]", count);
  for (size_t i = 0; i < scans; i++) {
    if (i > 0) steps = check_format("%s, [\"gate\", \"g%zu\"]", steps, i);
    steps = check_format("%s, [\"send_base64\", \"%s\"]", steps,
                         encoded_base64(jpeg + start, ends[i] - start));
    start = ends[i];
  }
  server_script(check_format("{\"a\": [{\"raw\": [%s, [\"fin\"]]}]}", steps));
  return scans;
}

static wherry_request *with_previews(void) {
  wherry_request *request = new_request("GET", server_url("/s/a"));
  REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_IMAGE_PREVIEWS, 1));
  return request;
}

/* Opens the image of an event, and checks its size. Freed by the caller. */
static wherry_image *opened(const wherry_event *event, int width, int height) {
  wherry_image *image = NULL;
  wherry_image_info info = {.size = sizeof info};
  REQUIRE_OK(wherry_event_open_image(event, &image));
  CHECK_OK(wherry_image_inspect(image, &info));
  CHECK_INT(info.width, width);
  CHECK_INT(info.height, height);
  return image;
}

TEST("I2 each scan of a progressive JPEG is an event, and the last one has the complete image") {
  wherry_image *source = progressive();
  size_t count, stride;
  const uint8_t *jpeg = wherry_image_bytes(source, &count);
  size_t scans = serve(jpeg, count);
  REQUIRE(scans > 5);
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_compression *box = NULL;
  REQUIRE_OK(wherry_compression_new(1, &box));
  REQUIRE_OK(wherry_compression_set_option(box, WHERRY_IMAGE_MAX_WIDTH, 80));
  REQUIRE_OK(wherry_client_load_image(client, with_previews(), NULL, WHERRY_PIXELS_RGBA8, box,
                                      queue, (void *)7, NULL));
  wherry_image *first = NULL, *image = NULL;
  for (size_t scan = 1; scan < scans; scan++) {
    wherry_event *event = next_event(queue, WHERRY_EVENT_IMAGE_PREVIEW);
    CHECK_INT(wherry_event_detail(event), (int64_t)scan);
    CHECK(wherry_event_user_data(event) == (void *)7);
    CHECK(wherry_event_response(event) == NULL);
    CHECK_STATUS(wherry_event_status(event), WHERRY_OK);
    image = opened(event, 80, 60);
    CHECK_OK(wherry_event_free(event));
    wherry_pixel_format format;
    CHECK(wherry_image_pixels(image, &format, &stride) != NULL);
    CHECK_INT(format, WHERRY_PIXELS_RGBA8);
    if (scan == 1) {
      first = image;
    } else {
      CHECK_OK(wherry_image_free(image));
    }
    /* The server sends the next scan only now. */
    server_open(check_format("g%zu", scan));
  }
  wherry_event *done = next_event(queue, WHERRY_EVENT_DONE);
  CHECK_STATUS(wherry_event_status(done), WHERRY_OK);
  image = opened(done, 80, 60);
  wherry_image *plain = NULL;
  REQUIRE_OK(wherry_image_decode(source, WHERRY_PIXELS_RGBA8, box, &plain));
  const uint8_t *pixels = wherry_image_pixels(image, NULL, &stride);
  CHECK(memcmp(pixels, wherry_image_pixels(plain, NULL, NULL), stride * 60) == 0);
  /* A preview does not change when the image arrives, and is not kept by the client. */
  CHECK(memcmp(pixels, wherry_image_pixels(first, NULL, NULL), stride * 60) != 0);
  wherry_image_usage usage = {.size = sizeof usage};
  CHECK_OK(wherry_client_image_usage(client, &usage));
  CHECK_INT(usage.images, 1);
  CHECK_OK(wherry_event_free(done));
  CHECK_OK(wherry_image_free(first));
  CHECK_OK(wherry_image_free(image));
  CHECK_OK(wherry_image_free(plain));

  /* From the memory, there are no previews: next_event ends the test if DONE is not the first. */
  REQUIRE_OK(wherry_client_load_image(client, with_previews(), NULL, WHERRY_PIXELS_RGBA8, box,
                                      queue, NULL, NULL));
  wherry_record record = {.size = sizeof record};
  size_t got = 0;
  REQUIRE_OK(wherry_queue_read(queue, &record, 1, -1, &got));
  CHECK_INT(record.kind, WHERRY_EVENT_DONE);
  CHECK_OK(wherry_event_free(record.event));
  CHECK_OK(wherry_compression_free(box));
  CHECK_OK(wherry_image_free(source));
}

TEST("I2 a load without the option has no previews, and an equal load with it has them") {
  wherry_image *source = progressive();
  size_t count;
  const uint8_t *jpeg = wherry_image_bytes(source, &count);
  size_t scans = serve(jpeg, count);
  wherry_client *client = new_client(NULL);
  wherry_queue *plain = new_queue(), *queue = new_queue();
  REQUIRE_OK(wherry_client_load_image(client, NULL, server_url("/s/a"), WHERRY_PIXELS_NONE, NULL,
                                      plain, NULL, NULL));
  REQUIRE_OK(wherry_client_load_image(client, with_previews(), NULL, WHERRY_PIXELS_NONE, NULL,
                                      queue, NULL, NULL));
  wherry_event *event = next_event(queue, WHERRY_EVENT_IMAGE_PREVIEW);
  wherry_image *image = opened(event, 160, 120);
  CHECK_OK(wherry_image_free(image));
  CHECK_OK(wherry_event_free(event));
  for (size_t scan = 1; scan < scans; scan++) server_open(check_format("g%zu", scan));
  wherry_record record = {.size = sizeof record};
  size_t got = 0;
  REQUIRE_OK(wherry_queue_read(plain, &record, 1, -1, &got));
  CHECK_INT(record.kind, WHERRY_EVENT_DONE);
  CHECK_STATUS(record.status, WHERRY_OK);
  CHECK_OK(wherry_event_free(record.event));
  CHECK_OK(wherry_event_free(next_event(queue, WHERRY_EVENT_DONE)));
  CHECK_INT(server_count("requests"), 1);
  CHECK_OK(wherry_image_free(source));
}

TEST("I2 a cancelled load has no further previews") {
  wherry_image *source = progressive();
  size_t count;
  const uint8_t *jpeg = wherry_image_bytes(source, &count);
  serve(jpeg, count);
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  wherry_transfer *transfer = NULL;
  REQUIRE_OK(wherry_client_load_image(client, with_previews(), NULL, WHERRY_PIXELS_NONE, NULL,
                                      queue, NULL, &transfer));
  CHECK_OK(wherry_event_free(next_event(queue, WHERRY_EVENT_IMAGE_PREVIEW)));
  CHECK_OK(wherry_transfer_cancel(keep_transfer(transfer)));
  wherry_event *done = next_event(queue, WHERRY_EVENT_DONE);
  CHECK_STATUS(wherry_event_status(done), WHERRY_E_CANCELLED);
  wherry_image *image = NULL;
  CHECK_FAILS(wherry_event_open_image(done, &image), WHERRY_E_STATE, "wrong_state");
  CHECK_OK(wherry_event_free(done));
  CHECK(server_wait("ended=1"));
  CHECK_OK(wherry_image_free(source));
}

TEST("I2 a damaged image ends the previews, and the load fails") {
  wherry_image *source = progressive();
  size_t count, ends[32];
  const uint8_t *jpeg = wherry_image_bytes(source, &count);
  size_t scans = scan_ends(jpeg, count, ends);
  REQUIRE(scans > 5);
  uint8_t *damaged = check_memory(count);
  memcpy(damaged, jpeg, count);
  /* The spectral selection of the fourth scan, whose header is the end of the third one. */
  damaged[ends[2] - 3] = damaged[ends[2] - 2] = 99;
  serve(damaged, count);
  for (size_t scan = 1; scan < scans; scan++) server_open(check_format("g%zu", scan));
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  REQUIRE_OK(wherry_client_load_image(client, with_previews(), NULL, WHERRY_PIXELS_NONE, NULL,
                                      queue, NULL, NULL));
  wherry_event *done = NULL;
  while (done == NULL) {
    wherry_event *event = NULL;
    REQUIRE_OK(wherry_queue_next(queue, -1, &event));
    if (wherry_event_get_kind(event) == WHERRY_EVENT_IMAGE_PREVIEW) {
      CHECK(wherry_event_detail(event) <= 2);
      CHECK_OK(wherry_event_free(event));
    } else {
      done = event;
    }
  }
  CHECK_STATUS(wherry_event_status(done), WHERRY_E_IMAGE);
  CHECK_OK(wherry_event_free(done));
  CHECK_OK(wherry_image_free(source));
}

TEST("I2 metadata of a PNG are not collected for previews") {
  enum { COUNT = 24 << 20 };
  /* The start of an interlaced PNG of 16x16 pixels, and of an iTXt chunk with COUNT bytes. */
  static const uint8_t start[] = {0x89, 'P',  'N', 'G', 13,  10,  26,  10,   0,    0,    0,
                                  13,   'I',  'H', 'D', 'R', 0,   0,   0,    16,   0,    0,
                                  0,    16,   8,   2,   0,   0,   1,   0xe7, 0x96, 0x58, 0xa0,
                                  1,    0x80, 0,   0,   'i', 'T', 'X', 't'};
  server_script(check_format(
      "{\"a\": [{\"raw\": [[\"send\", \"HTTP/1.1 200 OK\\r\\nContent-Length: %zu\\r\\n\\r\\n\"], "
      "[\"send_base64\", \"%s\"], [\"bytes\", %d, 1, 0], [\"fin\"]]}]}",
      sizeof start + COUNT, encoded_base64(start, sizeof start), COUNT));
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  REQUIRE(check_reset_peak());
  long before = check_resident_kib();
  REQUIRE_OK(wherry_client_load_image(client, with_previews(), NULL, WHERRY_PIXELS_NONE, NULL,
                                      queue, NULL, NULL));
  wherry_event *done = next_event(queue, WHERRY_EVENT_DONE);
  CHECK_STATUS(wherry_event_status(done), WHERRY_E_IMAGE);
  CHECK_PEAK(before, 2 * COUNT / 1024); /* the body alone takes COUNT */
  CHECK_OK(wherry_event_free(done));
}

static void show(const wherry_image *image) {
  CHECK(wherry_image_pixels(image, NULL, NULL) != NULL);
}

/* guide: begin previews */
/* Shows an image as it arrives. */
static wherry_status load_progressively(wherry_client *client, const char *url,
                                        wherry_queue *queue) {
  wherry_request *request = NULL;
  wherry_event_kind kind = WHERRY_EVENT_NONE;
  wherry_status status = wherry_request_new("GET", url, &request);
  if (status == WHERRY_OK)
    status = wherry_request_set_option(request, WHERRY_OPTION_IMAGE_PREVIEWS, 1);
  if (status == WHERRY_OK)
    status = wherry_client_load_image(client, request, NULL, WHERRY_PIXELS_RGBA8, NULL, queue, NULL,
                                      NULL);
  while (status == WHERRY_OK && kind != WHERRY_EVENT_DONE) {
    wherry_event *event = NULL;
    wherry_image *image = NULL;
    status = wherry_queue_next(queue, -1, &event);
    kind = wherry_event_get_kind(event);
    if (kind == WHERRY_EVENT_DONE) status = wherry_event_status(event);
    if (status == WHERRY_OK && wherry_event_open_image(event, &image) == WHERRY_OK) show(image);
    wherry_image_free(image);
    wherry_event_free(event);
  }
  wherry_request_free(request);
  return status;
}
/* guide: end previews */

TEST("I2 the sample of the guide works") {
  wherry_image *source = progressive();
  size_t count;
  const uint8_t *jpeg = wherry_image_bytes(source, &count);
  size_t scans = serve(jpeg, count);
  for (size_t scan = 1; scan < scans; scan++) server_open(check_format("g%zu", scan));
  wherry_client *client = new_client(NULL);
  wherry_queue *queue = new_queue();
  CHECK_STATUS(load_progressively(client, server_url("/s/a"), queue), WHERRY_OK);
  CHECK_STATUS(load_progressively(client, server_url("/status/404"), queue), WHERRY_E_HTTP);
  CHECK_OK(wherry_image_free(source));
}
