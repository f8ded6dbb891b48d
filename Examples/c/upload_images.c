/* Compresses and uploads the images of a folder, one request per image, and prints each result. */
#include <dirent.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wherry.h>

static const char usage[] =
    "usage: upload_images URL FOLDER [--album NAME] [--quality 0.8] [--max-side 2048]\n"
    "                     [--parallel 4] [--retries 2]\n";

typedef struct options {
  const char *url, *folder, *album;
  double quality;
  long max_side, parallel, retries;
} options;

static int is_image(const struct dirent *entry) {
  const char *dot = strrchr(entry->d_name, '.');
  return dot != NULL && (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0 ||
                         strcasecmp(dot, ".png") == 0);
}

static bool read_options(int count, char **arguments, options *out) {
  static const struct option known[] = {{"album", 1, NULL, 'a'},    {"quality", 1, NULL, 'q'},
                                        {"max-side", 1, NULL, 'm'}, {"parallel", 1, NULL, 'p'},
                                        {"retries", 1, NULL, 'r'},  {NULL, 0, NULL, 0}};
  *out = (options){.album = "", .quality = 0.8, .max_side = 2048, .parallel = 4, .retries = 2};
  for (int found; (found = getopt_long(count, arguments, "", known, NULL)) != -1;) {
    char *end = "";
    if (found == 'a') out->album = optarg;
    else if (found == 'q') out->quality = strtod(optarg, &end);
    else if (found == 'm') out->max_side = strtol(optarg, &end, 10);
    else if (found == 'p') out->parallel = strtol(optarg, &end, 10);
    else if (found == 'r') out->retries = strtol(optarg, &end, 10);
    else return false;
    if (*end != '\0') return false;
  }
  if (count - optind != 2) return false;
  out->url = arguments[optind];
  out->folder = arguments[optind + 1];
  return true;
}

static wherry_status add_image(wherry_request *request, const wherry_compression *compression,
                               const char *folder, const char *name) {
  char path[4096];
  wherry_image *image = NULL;
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
    return WHERRY_E_ARGUMENT;
  wherry_status status = wherry_image_new_file(path, &image);
  if (status == WHERRY_OK) status = wherry_request_add_image(request, "photo", image, compression);
  wherry_image_free(image); /* the request keeps what it needs */
  return status;
}

/* Prints each result and returns how many images were sent. */
static int print_images(const wherry_transfer *transfer, struct dirent **names, int count) {
  wherry_list *list = NULL;
  wherry_image_row row = {.size = sizeof row};
  int sent = 0;
  if (wherry_transfer_list_images(transfer, &list) != WHERRY_OK) return 0;
  for (int i = 0; i < count && wherry_list_image(list, (size_t)i, &row) == WHERRY_OK; i++) {
    if (row.status == WHERRY_OK) {
      printf("%s: %lld bytes, sent as %lld\n", names[i]->d_name, (long long)row.original_bytes,
             (long long)row.encoded_bytes);
      sent++;
    } else {
      printf("%s: not sent: %s: %s\n", names[i]->d_name, row.reason, row.message);
    }
  }
  wherry_list_free(list);
  return sent;
}

static wherry_status upload(const options *wanted, struct dirent **names, int count, int *sent) {
  wherry_client *client = NULL;
  wherry_queue *queue = NULL;
  wherry_request *request = NULL;
  wherry_compression *compression = NULL;
  wherry_transfer *transfer = NULL;
  /* guide: begin upload */
  wherry_status status = wherry_client_new(NULL, &client);
  if (status == WHERRY_OK) status = wherry_queue_new(&queue);
  if (status == WHERRY_OK) status = wherry_compression_new(wanted->quality, &compression);
  if (status == WHERRY_OK) status = wherry_compression_set_type(compression, "jpg");
  if (status == WHERRY_OK)
    status = wherry_compression_set_option(compression, WHERRY_IMAGE_MAX_WIDTH, wanted->max_side);
  if (status == WHERRY_OK)
    status = wherry_compression_set_option(compression, WHERRY_IMAGE_MAX_HEIGHT, wanted->max_side);
  if (status == WHERRY_OK) status = wherry_request_new("POST", wanted->url, &request);
  if (status == WHERRY_OK) status = wherry_request_set_parameter(request, "album", wanted->album);
  if (status == WHERRY_OK) /* one request per image, this many at once */
    status = wherry_request_set_option(request, WHERRY_OPTION_SEPARATE_IMAGES, wanted->parallel);
  if (status == WHERRY_OK) /* retries per image after transient failures */
    status = wherry_request_set_option(request, WHERRY_OPTION_IMAGE_RETRIES, wanted->retries);
  for (int i = 0; i < count && status == WHERRY_OK; i++)
    status = add_image(request, compression, wanted->folder, names[i]->d_name);
  if (status == WHERRY_OK) status = wherry_client_send(client, request, queue, NULL, &transfer);

  bool is_done = false;
  while (status == WHERRY_OK && !is_done) {
    wherry_event *event = NULL;
    wherry_progress progress = {.size = sizeof progress};
    status = wherry_queue_next(queue, -1, &event);
    is_done = wherry_event_get_kind(event) == WHERRY_EVENT_DONE;
    if (wherry_event_progress(event, &progress) == WHERRY_OK && progress.expected_bytes > 0)
      fprintf(stderr, "\r%3lld %%",
              (long long)(100 * progress.done_bytes / progress.expected_bytes));
    wherry_event_free(event);
  }
  fprintf(stderr, "\n");
  /* DONE has only the first failure; wherry_transfer_list_images has the result of each image. */
  if (is_done) *sent = print_images(transfer, names, count);
  /* guide: end upload */
  else fprintf(stderr, "%s\n", wherry_error_message(wherry_last_error()));
  wherry_transfer_free(transfer);
  wherry_request_free(request);
  wherry_compression_free(compression);
  wherry_queue_free(queue);
  wherry_client_free(client);
  return status;
}

int main(int count, char **arguments) {
  options wanted;
  struct dirent **names = NULL;
  int sent = 0;
  if (!read_options(count, arguments, &wanted)) {
    fputs(usage, stderr);
    return 2;
  }
  int found = scandir(wanted.folder, &names, is_image, alphasort);
  if (found < 0) perror(wanted.folder);
  if (found == 0) fprintf(stderr, "no images in %s\n", wanted.folder);
  if (found <= 0) {
    free(names);
    return 2;
  }
  wherry_status status = upload(&wanted, names, found, &sent);
  if (status == WHERRY_OK) printf("%d of %d sent\n", sent, found);
  for (int i = 0; i < found; i++) free(names[i]);
  free(names);
  return status == WHERRY_OK && sent == found ? 0 : 1;
}
