/* Sends a hundred requests from an epoll loop; one call reads many results.
 * usage: epoll BASE-URL */
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <wherry.h>

enum { REQUESTS = 100, BATCH = 64 };

static void check(wherry_status status, const char *what) {
  if (status == WHERRY_OK) return;
  fprintf(stderr, "%s: %s\n", what, wherry_error_message(wherry_last_error()));
  exit(1);
}

int main(int count, char **arguments) {
  static int numbers[REQUESTS];
  wherry_config *config = NULL;
  wherry_client *client = NULL;
  wherry_queue *queue = NULL;
  const char *base = count > 1 ? arguments[1] : "http://127.0.0.1:8080/echo/";
  check(wherry_config_new(&config), "config");
  check(wherry_config_set_text(config, WHERRY_TEXT_BASE_URL, base), "base");
  check(wherry_config_set_option(config, WHERRY_OPTION_TOTAL_TIMEOUT_MS, 10000), "timeout");
  check(wherry_client_new(config, &client), "client");
  check(wherry_queue_new(&queue), "queue");
  wherry_config_free(config);

  for (int i = 0; i < REQUESTS; i++) {
    char path[32];
    wherry_request *request = NULL;
    numbers[i] = i;
    snprintf(path, sizeof path, "items/%d", i);
    check(wherry_request_new("GET", path, &request), path);
    check(wherry_client_send(client, request, queue, &numbers[i], NULL), path);
    wherry_request_free(request);
  }

  /* guide: begin epoll */
  int loop = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event interest = {.events = EPOLLIN, .data = {.ptr = queue}};
  if (loop < 0 || epoll_ctl(loop, EPOLL_CTL_ADD, wherry_queue_fd(queue), &interest) < 0) {
    perror("epoll");
    return 1;
  }
  for (int left = REQUESTS; left > 0;) {
    struct epoll_event ready;
    if (epoll_wait(loop, &ready, 1, -1) < 1) continue;
    wherry_record records[BATCH];
    size_t read = 0;
    records[0].size = sizeof records[0];
    while (wherry_queue_read(queue, records, BATCH, 0, &read) == WHERRY_OK) {
      for (size_t i = 0; i < read; i++) {
        if (records[i].kind != WHERRY_EVENT_DONE) continue;
        const int *number = records[i].user_data;
        left--;
        if (records[i].status == WHERRY_OK)
          printf("%d: HTTP %d, %zu bytes\n", *number, (int)records[i].http_code,
                 records[i].body_count);
        else
          printf("%d: %s: %s\n", *number, records[i].reason,
                 wherry_error_message(wherry_event_error(records[i].event)));
      }
      wherry_queue_release(queue, records, read);
    }
  }
  /* guide: end epoll */
  close(loop);
  wherry_queue_free(queue);
  wherry_client_free(client);
  return 0;
}
