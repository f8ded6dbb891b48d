/* Downloads a file, and resumes an earlier run. Ctrl-C keeps the partial file.
 * usage: download URL PATH [SHA-256] */
#include <signal.h>
#include <stdio.h>
#include <wherry.h>

static volatile sig_atomic_t was_interrupted = 0;

static void interrupt(int number) { was_interrupted = number; }

static int finish(const wherry_event *done) {
  const wherry_error *error = wherry_event_error(done);
  if (error == NULL) {
    printf("\n%s\n", wherry_event_text(done));
    return 0;
  }
  const char *kept = wherry_error_partial_path(error);
  fprintf(stderr, "\n%s: %s\n", wherry_error_reason(error), wherry_error_message(error));
  if (kept != NULL) fprintf(stderr, "partial file: %s\n", kept);
  return 1;
}

int main(int count, char **arguments) {
  wherry_client *client = NULL;
  wherry_queue *queue = NULL;
  wherry_request *request = NULL;
  wherry_transfer *transfer = NULL;
  if (count < 3) {
    fprintf(stderr, "usage: download URL PATH [SHA-256]\n");
    return 2;
  }
  signal(SIGINT, interrupt);
  wherry_status status = wherry_client_new(NULL, &client);
  if (status == WHERRY_OK) status = wherry_queue_new(&queue);
  if (status == WHERRY_OK) status = wherry_request_new("GET", arguments[1], &request);
  if (status == WHERRY_OK && count > 3)
    status = wherry_request_set_digest(request, WHERRY_DIGEST_SHA256, arguments[3]);
  if (status == WHERRY_OK)
    status = wherry_client_download(client, request, arguments[2], queue, NULL, &transfer);

  int result = -1;
  while (status == WHERRY_OK && result < 0) {
    wherry_event *event = NULL;
    wherry_progress progress = {.size = sizeof progress};
    if (was_interrupted) wherry_transfer_cancel(transfer); /* harmless if repeated */
    status = wherry_queue_next(queue, 200, &event);
    if (status == WHERRY_E_TIMEOUT) {
      status = WHERRY_OK;
      continue;
    }
    if (wherry_event_progress(event, &progress) == WHERRY_OK)
      printf("%lld of %lld, %lld kB/s \r", (long long)progress.done_bytes,
             (long long)progress.expected_bytes, (long long)progress.bytes_per_second / 1000);
    if (wherry_event_get_kind(event) == WHERRY_EVENT_DONE) result = finish(event);
    wherry_event_free(event);
  }
  if (status != WHERRY_OK) fprintf(stderr, "%s\n", wherry_error_message(wherry_last_error()));
  wherry_transfer_free(transfer);
  wherry_request_free(request);
  wherry_queue_free(queue);
  wherry_client_free(client);
  return result != 0;
}
