/* Wherry: rows N1-N13, C13 and R30 of features.md, from C, in a separate network namespace
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "fixture.h"

enum { PATIENCE_MS = 600000 };

static wherry_reachability *monitor;
static wherry_queue *queue;

/* Before the next test: a running object keeps the network of the thread that started it. */
static void free_monitor(void) {
  wherry_reachability_free(monitor);
  monitor = NULL;
}

static bool leave_the_network(void) {
  free_monitor();
  if (geteuid() == 0 && unshare(CLONE_NEWNET) == 0) return true;
  fputs("skipped: a network namespace of its own needs root\n", stderr);
  return false;
}

/* Runs `ip` with these arguments, in this thread's namespace. */
__attribute__((format(printf, 1, 2))) static void ip(const char *format, ...) {
  char words[200], command[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(words, sizeof words, format, arguments);
  va_end(arguments);
  snprintf(command, sizeof command, "ip %s", words);
  REQUIRE_INT(system(command), 0);
}

/* A link of that name with an address and the default route. */
static void make_link(const char *name) {
  ip("link add %s type veth peer name peer", name);
  ip("address add 10.9.0.1/24 dev %s", name);
  ip("link set peer up");
  ip("link set %s up", name);
  ip("route add default via 10.9.0.2");
}

static wherry_reachability *start_monitor(const char *target) {
  free_monitor();
  queue = new_queue();
  REQUIRE_OK(wherry_reachability_new(target, &monitor));
  CHECK_INT(wherry_reachability_status(monitor), WHERRY_REACH_UNKNOWN);
  REQUIRE_OK(wherry_reachability_start(monitor, queue, &queue));
  return monitor;
}

/* Waits for the next change and returns its status; *before is the previous status. */
static int next_status(int *before) {
  wherry_record record = {.size = sizeof record};
  size_t count = 0;
  REQUIRE_OK(wherry_queue_read(queue, &record, 1, PATIENCE_MS, &count));
  CHECK_INT(record.kind, WHERRY_EVENT_REACHABILITY);
  CHECK_INT(record.transfer_id, 0);
  CHECK(record.user_data == &queue);
  CHECK_INT(wherry_event_get_kind(record.event), WHERRY_EVENT_REACHABILITY);
  CHECK_INT(wherry_event_detail(record.event), record.detail);
  CHECK_INT(wherry_event_reach_before(record.event), record.expected_bytes);
  CHECK_STATUS(wherry_event_status(record.event), WHERRY_OK);
  if (before != NULL) *before = (int)record.expected_bytes;
  CHECK_OK(wherry_queue_release(queue, &record, 1));
  return (int)record.detail;
}

TEST("N1 N8 statuses have AFNetworking's numbers and texts, in English and Chinese, or others") {
  CHECK_INT(WHERRY_REACH_UNKNOWN, -1);
  CHECK_INT(WHERRY_REACH_NONE, 0);
  CHECK_INT(WHERRY_REACH_WWAN, 1);
  CHECK_INT(WHERRY_REACH_WIFI, 2);
  CHECK_TEXT(wherry_reach_text(WHERRY_REACH_UNKNOWN, NULL), "Unknown");
  CHECK_TEXT(wherry_reach_text(WHERRY_REACH_NONE, "en"), "Not Reachable");
  CHECK_TEXT(wherry_reach_text(WHERRY_REACH_WWAN, "en_GB.UTF-8"), "Reachable via WWAN");
  CHECK_TEXT(wherry_reach_text(WHERRY_REACH_WIFI, "xx"), "Reachable via WiFi");
  CHECK_TEXT(wherry_reach_text(WHERRY_REACH_NONE, "zh_CN.UTF-8"), "无法连接");
  CHECK_TEXT(wherry_reach_text(WHERRY_REACH_WIFI, "zh"), "通过WiFi连接");
  CHECK(wherry_reach_text((wherry_reach)7, "en") == NULL);
  CHECK_OK(wherry_reach_set_text(WHERRY_REACH_NONE, "de", "Nicht erreichbar"));
  CHECK_TEXT(wherry_reach_text(WHERRY_REACH_NONE, "de_AT"), "Nicht erreichbar");
  CHECK_TEXT(wherry_reach_text(WHERRY_REACH_WIFI, "de"), "Reachable via WiFi");
  CHECK_OK(wherry_reach_set_text(WHERRY_REACH_NONE, "de", NULL));
  CHECK_TEXT(wherry_reach_text(WHERRY_REACH_NONE, "de"), "Not Reachable");
}

TEST("N8 texts exist in traditional Chinese and name an interface") {
  CHECK_TEXT(wherry_reach_text(WHERRY_REACH_NONE, "zh_TW.UTF-8"), "無法連線");
  CHECK_TEXT(wherry_reach_interface_text(WHERRY_REACH_WIFI, "wired", "en"),
             "Reachable via Ethernet");
  CHECK_TEXT(wherry_reach_interface_text(WHERRY_REACH_WIFI, "vpn", NULL), "Reachable via VPN");
  CHECK_TEXT(wherry_reach_interface_text(WHERRY_REACH_WIFI, NULL, "en"), "Reachable via WiFi");
  CHECK_TEXT(wherry_reach_interface_text(WHERRY_REACH_WIFI, "token ring", "en"),
             "Reachable via WiFi");
  CHECK_TEXT(wherry_reach_interface_text(WHERRY_REACH_NONE, "none", "zh-HK"), "無法連線");
  CHECK(wherry_reach_interface_text((wherry_reach)7, "wired", "en") == NULL);
}

TEST("N3 N5 an invalid target fails at once, and options precede the start") {
  wherry_reachability *none = NULL;
  CHECK_FAILS(wherry_reachability_new("http://example.org/", &none), WHERRY_E_ARGUMENT,
              "bad_value");
  CHECK_FAILS(wherry_reachability_new("", &none), WHERRY_E_ARGUMENT, "bad_value");
  CHECK_FAILS(wherry_reachability_new("\xff", &none), WHERRY_E_ARGUMENT, "bad_text");
  CHECK(none == NULL);
  free_monitor();
  REQUIRE_OK(wherry_reachability_new("127.0.0.1", &monitor));
  CHECK_FAILS(wherry_reachability_set_option(monitor, WHERRY_REACH_RAW, 2), WHERRY_E_ARGUMENT,
              "bad_value");
  CHECK_FAILS(wherry_reachability_set_option(monitor, (wherry_reach_option)9, 1), WHERRY_E_ARGUMENT,
              "bad_option");
  CHECK_FAILS(wherry_reachability_set_option(monitor, WHERRY_REACH_PROBE_INTERVAL_MS, 9),
              WHERRY_E_ARGUMENT, "bad_value");
  CHECK_FAILS(wherry_reachability_set_probe(monitor, "ftp://h/"), WHERRY_E_ARGUMENT, "bad_url");
  CHECK_FAILS(wherry_reachability_set_probe(monitor, "tcp://h"), WHERRY_E_ARGUMENT, "bad_url");
  CHECK_OK(wherry_reachability_set_option(monitor, WHERRY_REACH_INITIAL_SYNC, 1));
  CHECK_TEXT(wherry_reachability_interface(monitor), "none");
  REQUIRE_OK(wherry_reachability_start(monitor, NULL, NULL));
  CHECK_INT(wherry_reachability_status(monitor), WHERRY_REACH_WIFI);
  CHECK_TEXT(wherry_reachability_interface(monitor), "loopback");
  char name[16];
  CHECK_OK(wherry_reachability_copy_name(monitor, name, sizeof name, NULL));
  CHECK_TEXT(name, "lo");
  CHECK_FAILS(wherry_reachability_set_option(monitor, WHERRY_REACH_RAW, 1), WHERRY_E_STATE,
              "wrong_state");
  CHECK_FAILS(wherry_reachability_report(monitor, WHERRY_REACH_NONE), WHERRY_E_STATE,
              "wrong_state");
  CHECK_OK(wherry_reachability_stop(monitor));
  CHECK_INT(wherry_reachability_status(monitor), WHERRY_REACH_WIFI);
  CHECK_FAILS(wherry_reach_set_interface("usb*", "cable"), WHERRY_E_ARGUMENT, "bad_value");
  CHECK_FAILS(wherry_reach_set_interface("", "wwan"), WHERRY_E_ARGUMENT, "bad_value");
}

TEST("N3 N9 a program's reports have old and new status; stop and free drop waiting changes") {
  free_monitor();
  queue = new_queue();
  REQUIRE_OK(wherry_reachability_new_reported(&monitor));
  CHECK_OK(wherry_reachability_report(monitor, WHERRY_REACH_WWAN));
  CHECK_INT(wherry_reachability_status(monitor), WHERRY_REACH_WWAN);
  REQUIRE_OK(wherry_reachability_start(monitor, queue, &queue));
  int before = 9;
  CHECK_INT(next_status(&before), WHERRY_REACH_WWAN);
  CHECK_INT(before, WHERRY_REACH_WWAN);
  CHECK_OK(wherry_reachability_report(monitor, WHERRY_REACH_NONE));
  CHECK_INT(next_status(&before), WHERRY_REACH_NONE);
  CHECK_INT(before, WHERRY_REACH_WWAN);
  CHECK_FAILS(wherry_reachability_report(monitor, (wherry_reach)3), WHERRY_E_ARGUMENT, "bad_value");
  /* Another observer has received it, so the report has been delivered. */
  wherry_queue *others = new_queue();
  wherry_reachability *all = NULL;
  REQUIRE_OK(wherry_reachability_observe(others, NULL, &all));
  CHECK_OK(wherry_reachability_report(monitor, WHERRY_REACH_WIFI));
  wherry_event *event = next_event(others, WHERRY_EVENT_REACHABILITY);
  CHECK(wherry_event_text(event) == NULL);
  CHECK_OK(wherry_event_free(event));
  CHECK_INT(wherry_queue_count(queue), 1);
  CHECK_OK(wherry_reachability_stop(monitor));
  CHECK(queue_is_empty(queue));
  CHECK_FAILS(wherry_reachability_start(all, NULL, NULL), WHERRY_E_STATE, "wrong_state");
  CHECK_OK(wherry_reachability_free(all));
  /* A freed queue does no harm. */
  REQUIRE_OK(wherry_reachability_start(monitor, queue, &queue));
  CHECK_OK(wherry_queue_free(queue));
  CHECK_OK(wherry_reachability_report(monitor, WHERRY_REACH_WWAN));
  CHECK_OK(wherry_reachability_wait(monitor, PATIENCE_MS));
}

TEST("N2 N5 N7 up, down, and no carrier are reported once each; other changes are not") {
  if (!leave_the_network()) return;
  long threads = check_threads(); /* a sanitizer uses one itself */
  ip("link set lo up");
  start_monitor(NULL);
  int before = 9;
  CHECK_INT(next_status(&before), WHERRY_REACH_NONE);
  CHECK_INT(before, WHERRY_REACH_UNKNOWN);
  make_link("cable");
  CHECK_INT(next_status(&before), WHERRY_REACH_WIFI);
  CHECK_INT(before, WHERRY_REACH_NONE);
  CHECK_TEXT(wherry_reachability_interface(monitor), "wired");
  ip("address add 10.9.0.7/24 dev cable");
  ip("address del 10.9.0.7/24 dev cable");
  ip("link set peer down"); /* the route stays, the carrier is gone */
  CHECK_INT(next_status(NULL), WHERRY_REACH_NONE);
  CHECK_TEXT(wherry_reachability_interface(monitor), "none");
  ip("link set peer up");
  CHECK_INT(next_status(NULL), WHERRY_REACH_WIFI);
  ip("link set cable down");
  CHECK_INT(next_status(NULL), WHERRY_REACH_NONE);
  CHECK_OK(wherry_reachability_stop(monitor));
  ip("link set cable up");
  CHECK(queue_is_empty(queue));
  CHECK_INT(wherry_reachability_status(monitor), WHERRY_REACH_NONE);
  CHECK(check_threads_are(threads));
}

TEST("N2 a mobile network is detected by name and by rule, and a tunnel too") {
  if (!leave_the_network()) return;
  make_link("wwan0");
  start_monitor(NULL);
  CHECK_INT(next_status(NULL), WHERRY_REACH_WWAN);
  CHECK_TEXT(wherry_reachability_interface(monitor), "wwan");
  ip("link del wwan0");
  CHECK_INT(next_status(NULL), WHERRY_REACH_NONE);
  ip("tuntap add tun7 mode tun"); /* its other end is not connected: no carrier */
  ip("address add 10.8.0.1/24 dev tun7");
  ip("link set tun7 up");
  ip("route add default dev tun7");
  int tunnel = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
  REQUIRE(tunnel >= 0);
  struct ifreq wanted = {.ifr_name = "tun7", .ifr_flags = IFF_TUN | IFF_NO_PI};
  REQUIRE_INT(ioctl(tunnel, TUNSETIFF, &wanted), 0);
  CHECK_INT(next_status(NULL), WHERRY_REACH_WIFI);
  CHECK_TEXT(wherry_reachability_interface(monitor), "vpn");
  close(tunnel);
  CHECK_INT(next_status(NULL), WHERRY_REACH_NONE);
  ip("link del tun7");
  CHECK_OK(wherry_reach_set_interface("stick*", "wwan"));
  make_link("stick3");
  CHECK_INT(next_status(NULL), WHERRY_REACH_WWAN);
  CHECK_OK(wherry_reach_set_interface("stick*", NULL));
  ip("link set peer down");
  CHECK_INT(next_status(NULL), WHERRY_REACH_NONE);
  ip("link set peer up");
  CHECK_INT(next_status(NULL), WHERRY_REACH_WIFI);
}

TEST("N3 IPv4 alone and IPv6 alone are networks, and addresses follow their own routes") {
  if (!leave_the_network()) return;
  ip("link set lo up");
  ip("link add cable type veth peer name peer");
  ip("link set peer up");
  ip("link set cable up");
  start_monitor(NULL);
  CHECK_INT(next_status(NULL), WHERRY_REACH_NONE);
  ip("-6 address add 2001:db8::1/64 dev cable nodad");
  ip("-6 route add default via 2001:db8::2");
  CHECK_INT(next_status(NULL), WHERRY_REACH_WIFI);
  const struct {
    const char *target;
    wherry_reach status;
  } table[] = {{"192.0.2.1", WHERRY_REACH_NONE},     {"2001:db8:9::1", WHERRY_REACH_WIFI},
               {"[2001:db8::7]", WHERRY_REACH_WIFI}, {"127.0.0.1", WHERRY_REACH_WIFI},
               {"::1", WHERRY_REACH_WIFI},           {"2001:db8::1", WHERRY_REACH_WIFI}};
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    wherry_reachability *other = NULL;
    REQUIRE_OK(wherry_reachability_new(table[i].target, &other));
    CHECK_OK(wherry_reachability_set_option(other, WHERRY_REACH_INITIAL_SYNC, 1));
    CHECK_OK(wherry_reachability_start(other, NULL, NULL));
    if (!CHECK_INT(wherry_reachability_status(other), table[i].status))
      fprintf(stderr, "that was %s\n", table[i].target);
    CHECK_OK(wherry_reachability_free(other));
  }
  ip("-6 route del default");
  CHECK_INT(next_status(NULL), WHERRY_REACH_NONE);
  ip("address add 10.9.0.1/24 dev cable");
  ip("route add default via 10.9.0.2");
  CHECK_INT(next_status(NULL), WHERRY_REACH_WIFI);
  ip("address del 10.9.0.1/24 dev cable");
  CHECK_INT(next_status(NULL), WHERRY_REACH_NONE);
}

TEST("N6 a monitor's queue and the global queue report the same 100 flips") {
  if (!leave_the_network()) return;
  make_link("cable");
  wherry_queue *others = new_queue();
  wherry_reachability *all = NULL;
  REQUIRE_OK(wherry_reachability_observe(others, &others, &all));
  start_monitor(NULL);
  CHECK_INT(next_status(NULL), WHERRY_REACH_WIFI);
  for (int flip = 0; flip < 100; flip++) {
    ip("link set peer %s", flip % 2 == 0 ? "down" : "up");
    REQUIRE_INT(next_status(NULL), flip % 2 == 0 ? WHERRY_REACH_NONE : WHERRY_REACH_WIFI);
  }
  for (int flip = -1; flip < 100; flip++) {
    wherry_event *event = next_event(others, WHERRY_EVENT_REACHABILITY);
    CHECK(wherry_event_user_data(event) == &others);
    REQUIRE_INT(wherry_event_detail(event), flip % 2 == 0 ? WHERRY_REACH_NONE : WHERRY_REACH_WIFI);
    CHECK_OK(wherry_event_free(event));
  }
  CHECK(queue_is_empty(others));
  CHECK_OK(wherry_reachability_free(all));
}

TEST("N13 N10 a wait ends when the link is up, also a client's wait and one that does not block") {
  if (!leave_the_network()) return;
  free_monitor();
  wherry_client *client = new_client(NULL);
  REQUIRE_OK(wherry_client_open_reachability(client, &monitor));
  CHECK_FAILS(wherry_reachability_wait(monitor, 50), WHERRY_E_TIMEOUT, "timeout");
  queue = new_queue();
  CHECK_OK(wherry_reachability_notify(monitor, 0, queue, &queue));
  CHECK_INT(next_status(NULL), WHERRY_REACH_NONE);
  CHECK_OK(wherry_reachability_notify(monitor, -1, queue, &queue));
  pid_t child = fork();
  if (child == 0) {
    execlp("sh", "sh", "-c",
           "ip link add cable type veth peer name peer && ip address add 10.9.0.1/24 dev cable &&"
           " ip link set peer up && ip link set cable up && ip route add default via 10.9.0.2",
           NULL);
    _exit(127);
  }
  CHECK_OK(wherry_reachability_wait(monitor, PATIENCE_MS));
  CHECK_INT(wherry_reachability_status(monitor), WHERRY_REACH_WIFI);
  CHECK_INT(next_status(NULL), WHERRY_REACH_WIFI);
  int status = 1;
  REQUIRE_INT(waitpid(child, &status, 0), child);
  CHECK_INT(status, 0);
  /* A cancelled wait reports nothing. */
  ip("link set cable down");
  CHECK_OK(wherry_reachability_notify(monitor, -1, queue, &queue));
  CHECK_OK(wherry_reachability_free(monitor));
  ip("link set cable up");
  CHECK(queue_is_empty(queue));
}

TEST("N12 a reachability probe requires a response from a server") {
  if (!leave_the_network()) return;
  ip("link set lo up");
  free_monitor();
  queue = new_queue();
  REQUIRE_OK(wherry_reachability_new("127.0.0.1", &monitor));
  REQUIRE_OK(wherry_reachability_set_probe(monitor, "tcp://127.0.0.1:9")); /* not in use */
  REQUIRE_OK(wherry_reachability_start(monitor, queue, &queue));
  CHECK_INT(next_status(NULL), WHERRY_REACH_NONE);
  CHECK_OK(wherry_reachability_free(monitor));
}

TEST("R30 a request waits for the network: it is sent when there is one, and offline otherwise") {
  if (!leave_the_network()) return;
  wherry_client *client = new_client(NULL);
  queue = new_queue();
  wherry_request *request = new_request("GET", "http://127.0.0.1:9/"); /* not in use */
  REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_WAIT_FOR_NETWORK_MS, 50));
  send_request(client, request, queue, NULL);
  outcome got = next_done(queue);
  CHECK_STATUS(got.status, WHERRY_E_NETWORK);
  CHECK_TEXT(got.reason, "offline");
  REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_WAIT_FOR_NETWORK_MS, PATIENCE_MS));
  send_request(client, request, queue, NULL);
  wherry_event *event = next_event(queue, WHERRY_EVENT_STATE);
  CHECK_INT(wherry_event_detail(event), WHERRY_STATE_WAITING);
  CHECK_OK(wherry_event_free(event));
  ip("link set lo up");
  got = next_done(queue);
  /* It was sent, and the machine itself refused it. */
  CHECK_TEXT(got.reason, "connect");
}

TEST("C13 a request that may not use a mobile network fails without a connection") {
  if (!leave_the_network()) return;
  make_link("wwan0");
  wherry_client *client = new_client(NULL);
  wherry_request *request = new_request("GET", "http://192.0.2.1/");
  REQUIRE_OK(wherry_request_set_option(request, WHERRY_OPTION_DENY_METERED, 1));
  for (int i = 0; i < 2; i++) {
    outcome got = send_and_wait(client, request);
    CHECK_STATUS(got.status, WHERRY_E_NETWORK);
    CHECK_TEXT(got.reason, "metered");
    REQUIRE_OK(wherry_request_set_url(request, "http://10.9.0.2/"));
  }
}
