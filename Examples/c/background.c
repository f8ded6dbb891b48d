/* A download that continues after this program exits.
 * usage: background start URL ABSOLUTE-PATH, background list, background wait JOB */
#include <stdio.h>
#include <string.h>
#include <wherry.h>

static wherry_status start(wherry_session *session, const char *url, const char *path) {
  wherry_request *request = NULL;
  /* guide: begin start */
  char job[WHERRY_JOB_ID_SIZE];
  wherry_status status = wherry_request_new("GET", url, &request);
  if (status == WHERRY_OK) status = wherry_session_download(session, request, path, job);
  if (status == WHERRY_OK) printf("%s\n", job); /* the job id, for any later program */
  wherry_request_free(request);
  /* guide: end start */
  return status;
}

static wherry_status list(wherry_session *session) {
  /* guide: begin list */
  wherry_list *jobs = NULL;
  wherry_job_row row = {.size = sizeof row};
  wherry_status status = wherry_session_list(session, &jobs);
  for (size_t i = 0; i < wherry_list_count(jobs); i++)
    if (wherry_list_job(jobs, i, &row) == WHERRY_OK)
      printf("%s %lld %s\n", row.job_id, (long long)row.done_bytes,
             row.path != NULL ? row.path : row.url);
  wherry_list_free(jobs);
  /* guide: end list */
  return status;
}

static wherry_status wait(wherry_session *session, const char *job) {
  /* guide: begin wait */
  wherry_queue *queue = NULL;
  wherry_event *event = NULL;
  wherry_status status = wherry_queue_new(&queue);
  if (status == WHERRY_OK) status = wherry_session_follow(session, job, queue, NULL);
  while (status == WHERRY_OK && wherry_event_get_kind(event) != WHERRY_EVENT_DONE) {
    wherry_event_free(event);
    event = NULL;
    status = wherry_queue_next(queue, -1, &event);
  }
  /* Succeeds for exactly one program. */
  if (status == WHERRY_OK) status = wherry_session_acknowledge(session, job);
  if (status == WHERRY_OK) {
    const wherry_error *error = wherry_event_error(event);
    printf("%s\n", error == NULL ? wherry_event_text(event) : wherry_error_message(error));
  }
  wherry_event_free(event);
  wherry_queue_free(queue);
  /* guide: end wait */
  return status;
}

int main(int count, char **arguments) {
  wherry_session *session = NULL;
  const char *verb = count > 1 ? arguments[1] : "";
  wherry_status status = wherry_session_new(NULL, "files", &session);
  if (status == WHERRY_OK) {
    if (strcmp(verb, "start") == 0 && count == 4)
      status = start(session, arguments[2], arguments[3]);
    else if (strcmp(verb, "list") == 0 && count == 2) status = list(session);
    else if (strcmp(verb, "wait") == 0 && count == 3) status = wait(session, arguments[2]);
    else {
      fprintf(stderr, "usage: background start URL ABSOLUTE-PATH | list | wait JOB\n");
      wherry_session_free(session);
      return 2;
    }
  }
  if (status != WHERRY_OK)
    fprintf(stderr, "%s: %s\n", wherry_error_reason(wherry_last_error()),
            wherry_error_message(wherry_last_error()));
  wherry_session_free(session);
  return status == WHERRY_OK ? 0 : 1;
}
