/* Wherry: a C++ program whose objects outlive main
 * SPDX-License-Identifier: Apache-2.0
 *
 * usage: static_child WAY URL SLOW_URL
 *
 * A request to SLOW_URL runs at the end of main. The object that owns the client is destroyed by WAY:
 * `global`, `local`, and `thread` are static variables of these kinds, `function` is a destructor
 * function. It makes one more request, creates another client, and frees everything. Prints the
 * statuses. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <wherry.h>

static const char *url;

static void must(wherry_status status, const char *what) {
  if (status == WHERRY_OK) return;
  std::fprintf(stderr, "%s: %s\n", what, wherry_error_message(wherry_last_error()));
  std::_Exit(3);
}

static wherry_status get(wherry_client *client) {
  wherry_request *request = nullptr;
  wherry_response *response = nullptr;
  must(wherry_request_new("GET", url, &request), "request");
  wherry_status status = wherry_client_perform(client, request, &response);
  must(wherry_response_free(response), "response free");
  must(wherry_request_free(request), "request free");
  return status;
}

struct Owner {
  wherry_client *client = nullptr;
  wherry_queue *queue = nullptr;

  void open(const char *slow) {
    wherry_request *request = nullptr;
    wherry_event *event = nullptr;
    must(wherry_client_new(nullptr, &client), "client");
    must(wherry_queue_new(&queue), "queue");
    must(get(client), "get");
    must(wherry_request_new("GET", url, &request), "request");
    must(wherry_client_send(client, request, queue, nullptr, nullptr), "send");
    must(wherry_queue_next(queue, 600000, &event), "next"); /* handled while the program ends */
    must(wherry_request_new("GET", slow, &request), "request");
    must(wherry_client_send(client, request, queue, nullptr, nullptr), "send");
  }

  void close() {
    if (client == nullptr) return;
    wherry_client *other = nullptr;
    const char *used = wherry_status_name(get(client));
    const char *made = wherry_status_name(wherry_client_new(nullptr, &other));
    must(wherry_client_free(other), "other free");
    must(wherry_client_free(client), "client free");
    must(wherry_queue_free(queue), "queue free");
    client = nullptr;
    std::printf("%s %s\n", used, made);
  }

  ~Owner() { close(); }
};

static Owner global_owner;
static Owner *for_function;

__attribute__((destructor)) static void at_the_end() {
  if (for_function != nullptr) for_function->close();
  std::fflush(stdout);
}

int main(int count, char **words) {
  if (count != 4) return 2;
  const char *way = words[1];
  url = words[2];
  if (std::strcmp(way, "global") == 0) {
    global_owner.open(words[3]);
  } else if (std::strcmp(way, "local") == 0) {
    static Owner owner;
    owner.open(words[3]);
  } else if (std::strcmp(way, "thread") == 0) {
    static thread_local Owner owner;
    owner.open(words[3]);
  } else if (std::strcmp(way, "function") == 0) {
    for_function = new Owner;
    for_function->open(words[3]);
  } else {
    return 2;
  }
  return 0;
}
