/* Compresses and uploads images; prints which ones failed.
 * usage: album URL IMAGE... */
#include <stdio.h>
#include <wherry.h>

static int finish(const wherry_event *done) {
  wherry_list *failed = NULL;
  wherry_image_row row = {.size = sizeof row};
  const wherry_error *error = wherry_event_error(done);
  if (error == NULL) return 0;
  fprintf(stderr, "\n%s\n", wherry_error_message(error));
  if (wherry_error_list_failed_images(error, &failed) == WHERRY_OK)
    for (size_t i = 0; i < wherry_list_count(failed); i++)
      if (wherry_list_image(failed, i, &row) == WHERRY_OK)
        fprintf(stderr, "  not sent: %s (%s)\n", row.file_name, row.message);
  wherry_list_free(failed);
  return 1;
}

int main(int count, char **arguments) {
  wherry_client *client = NULL;
  wherry_queue *queue = NULL;
  wherry_request *request = NULL;
  wherry_compression *compression = NULL;
  if (count < 3) {
    fprintf(stderr, "usage: album URL IMAGE...\n");
    return 2;
  }
  wherry_status status = wherry_client_new(NULL, &client);
  if (status == WHERRY_OK) status = wherry_queue_new(&queue);
  if (status == WHERRY_OK) status = wherry_compression_new(0.8, &compression);
  if (status == WHERRY_OK)
    status = wherry_compression_set_option(compression, WHERRY_IMAGE_MAX_WIDTH, 1600);
  if (status == WHERRY_OK) status = wherry_request_new("POST", arguments[1], &request);
  if (status == WHERRY_OK) status = wherry_request_set_parameter(request, "title", "Skye");
  for (int i = 2; i < count && status == WHERRY_OK; i++) {
    wherry_image *image = NULL;
    status = wherry_image_new_file(arguments[i], &image);
    if (status == WHERRY_OK)
      status = wherry_request_add_image(request, "photo", image, compression);
    wherry_image_free(image); /* the request keeps what it needs */
  }
  if (status == WHERRY_OK) status = wherry_client_send(client, request, queue, NULL, NULL);

  int result = -1;
  while (status == WHERRY_OK && result < 0) {
    wherry_event *event = NULL;
    wherry_progress progress = {.size = sizeof progress};
    status = wherry_queue_next(queue, -1, &event);
    switch (wherry_event_get_kind(event)) {
      case WHERRY_EVENT_IMAGE:
        printf("%s: %s\n", wherry_event_text(event),
               wherry_status_name(wherry_event_status(event)));
        break;
      case WHERRY_EVENT_PROGRESS:
        if (wherry_event_progress(event, &progress) == WHERRY_OK)
          printf("%lld of %lld\r", (long long)progress.done_bytes,
                 (long long)progress.expected_bytes);
        break;
      case WHERRY_EVENT_DONE:
        result = finish(event);
        break;
      default:
        break;
    }
    wherry_event_free(event);
  }
  if (status != WHERRY_OK) fprintf(stderr, "%s\n", wherry_error_message(wherry_last_error()));
  wherry_request_free(request);
  wherry_compression_free(compression);
  wherry_queue_free(queue);
  wherry_client_free(client);
  return result != 0;
}
