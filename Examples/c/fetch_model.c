/* Downloads one large file, such as a model, over several connections and checks its digest. Ctrl-C
 * keeps the partial file; the same command resumes it. */
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <wherry.h>

static const char usage[] =
    "usage: fetch_model URL FILE --sha256 HEX [--mirror URL]... [--segments 4] [--retries 5]\n";

enum { INTERRUPTED = 130, MAX_MIRRORS = 16 };

typedef struct options {
  const char *url, *path, *sha256, *mirrors[MAX_MIRRORS];
  int mirror_count;
  long segments, retries;
} options;

static bool read_options(int count, char **arguments, options *out) {
  static const struct option known[] = {{"sha256", 1, NULL, 'd'},
                                        {"mirror", 1, NULL, 'm'},
                                        {"segments", 1, NULL, 's'},
                                        {"retries", 1, NULL, 'r'},
                                        {NULL, 0, NULL, 0}};
  *out = (options){.segments = 4, .retries = 5};
  for (int found; (found = getopt_long(count, arguments, "", known, NULL)) != -1;) {
    char *end = "";
    if (found == 'd') out->sha256 = optarg;
    else if (found == 'm' && out->mirror_count < MAX_MIRRORS)
      out->mirrors[out->mirror_count++] = optarg;
    else if (found == 's') out->segments = strtol(optarg, &end, 10);
    else if (found == 'r') out->retries = strtol(optarg, &end, 10);
    else return false;
    if (*end != '\0') return false;
  }
  if (count - optind != 2 || out->sha256 == NULL) return false;
  out->url = arguments[optind];
  out->path = arguments[optind + 1];
  return true;
}

static void print_progress(const wherry_progress *progress) {
  static bool has_begun = false;
  if (!has_begun && progress->resumed_at_bytes > 0)
    fprintf(stderr, "resuming at byte %lld\n", (long long)progress->resumed_at_bytes);
  has_begun = true;
  fprintf(stderr, "\r%lld of %lld bytes", (long long)progress->done_bytes,
          (long long)progress->expected_bytes);
}

static int finish(const wherry_event *done) {
  const wherry_error *error = wherry_event_error(done);
  fprintf(stderr, "\n");
  if (error == NULL) {
    printf("%s is complete\n", wherry_event_text(done));
    return 0;
  }
  fprintf(stderr, "%s: %s\n", wherry_error_reason(error), wherry_error_message(error));
  if (wherry_error_partial_path(error) != NULL)
    fprintf(stderr, "partial file kept; run the same command to resume\n");
  return wherry_error_status(error) == WHERRY_E_CANCELLED ? INTERRUPTED : 1;
}

/* Waits for events and for Ctrl-C; returns the exit status. */
static int follow(wherry_transfer *transfer, wherry_queue *queue, int interrupts) {
  struct pollfd ready[] = {{.fd = wherry_queue_fd(queue), .events = POLLIN},
                           {.fd = interrupts, .events = POLLIN}};
  for (;;) {
    if (poll(ready, 2, -1) < 0) continue; /* another signal */
    if (ready[1].revents != 0) {
      wherry_transfer_cancel(transfer); /* keeps the partial file */
      ready[1].fd = -1;
    }
    wherry_event *event = NULL;
    while (wherry_queue_next(queue, 0, &event) == WHERRY_OK) {
      wherry_progress progress = {.size = sizeof progress};
      bool is_done = wherry_event_get_kind(event) == WHERRY_EVENT_DONE;
      int result = is_done ? finish(event) : 0;
      if (wherry_event_progress(event, &progress) == WHERRY_OK) print_progress(&progress);
      wherry_event_free(event);
      if (is_done) return result;
    }
  }
}

int main(int count, char **arguments) {
  options wanted;
  wherry_client *client = NULL;
  wherry_queue *queue = NULL;
  wherry_request *request = NULL;
  wherry_transfer *transfer = NULL;
  sigset_t interrupt;
  if (!read_options(count, arguments, &wanted)) {
    fputs(usage, stderr);
    return 2;
  }
  if (access(wanted.path, F_OK) == 0) { /* the file appears only when complete and verified */
    printf("%s already exists\n", wanted.path);
    return 0;
  }
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  sigprocmask(SIG_BLOCK, &interrupt, NULL); /* before the library's threads start */
  int interrupts = signalfd(-1, &interrupt, SFD_CLOEXEC);
  if (interrupts < 0) {
    perror("signalfd");
    return 1;
  }
  /* guide: begin download */
  wherry_status status = wherry_client_new(NULL, &client);
  if (status == WHERRY_OK) status = wherry_queue_new(&queue);
  if (status == WHERRY_OK) status = wherry_request_new("GET", wanted.url, &request);
  if (status == WHERRY_OK)
    status = wherry_request_set_digest(request, WHERRY_DIGEST_SHA256, wanted.sha256);
  for (int i = 0; i < wanted.mirror_count && status == WHERRY_OK; i++)
    status = wherry_request_add_mirror(request, wanted.mirrors[i]); /* resumes the partial file */
  if (status == WHERRY_OK)
    status = wherry_request_set_option(request, WHERRY_OPTION_SEGMENTS, wanted.segments);
  if (status == WHERRY_OK)
    status = wherry_request_set_option(request, WHERRY_OPTION_MAX_RETRIES, wanted.retries);
  if (status == WHERRY_OK)
    status = wherry_request_set_option(request, WHERRY_OPTION_MAKE_DIRECTORIES, 1);
  if (status == WHERRY_OK)
    status = wherry_client_download(client, request, wanted.path, queue, NULL, &transfer);
  int result = 1;
  if (status == WHERRY_OK) result = follow(transfer, queue, interrupts);
  else fprintf(stderr, "%s\n", wherry_error_message(wherry_last_error()));
  /* guide: end download */
  wherry_transfer_free(transfer);
  wherry_request_free(request);
  wherry_queue_free(queue);
  wherry_client_free(client);
  close(interrupts);
  return result;
}
