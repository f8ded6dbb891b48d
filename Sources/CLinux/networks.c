/* Wherry: network interfaces and routes; see clinux.h. */
/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "clinux.h"

/* The buffer size recommended by the kernel documentation; fits the largest dump message. */
enum { BUFFER_BYTES = 32768 };

static int join(int socket, int group) {
  return setsockopt(socket, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group);
}

static int close_failing(int socket) {
  int failure = errno;
  close(socket);
  errno = failure;
  return -1;
}

int clinux_network_watch(void) {
  int result = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (result < 0) return -1;
  struct sockaddr_nl own = {.nl_family = AF_NETLINK};
  if (bind(result, (struct sockaddr *)&own, sizeof own) != 0) return close_failing(result);
  static const int groups[] = {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR,
                               RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE};
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
    if (join(result, groups[i]) != 0) return close_failing(result);
  /* Kernels without policy routing do not have these groups. */
  (void)join(result, RTNLGRP_IPV4_RULE);
  (void)join(result, RTNLGRP_IPV6_RULE);
  return result;
}

int clinux_network_drain(int socket) {
  char buffer[BUFFER_BYTES];
  int changed = 0;
  for (;;) {
    ssize_t count = recv(socket, buffer, sizeof buffer, 0);
    if (count > 0) {
      changed = 1;
    } else if (count == 0) {
      return changed;
    } else if (errno == ENOBUFS) {
      changed = 1; /* ENOBUFS: the kernel dropped notifications */
    } else if (errno == EAGAIN) {
      return changed;
    } else if (errno != EINTR) {
      return -1;
    }
  }
}

typedef struct request {
  struct nlmsghdr head;
  union {
    struct ifinfomsg link;
    struct rtmsg route;
  } body;
  char attributes[64];
} request;

static void add_attribute(request *request, unsigned short type, const void *data, size_t size) {
  struct rtattr *attribute =
      (struct rtattr *)((char *)request + NLMSG_ALIGN(request->head.nlmsg_len));
  attribute->rta_type = type;
  attribute->rta_len = (unsigned short)RTA_LENGTH(size);
  memcpy(RTA_DATA(attribute), data, size);
  request->head.nlmsg_len =
      NLMSG_ALIGN(request->head.nlmsg_len) + (uint32_t)RTA_ALIGN(attribute->rta_len);
}

/* Handles one message of a reply. */
typedef void (*taker)(const struct nlmsghdr *message, void *context);

/* Sends a request and reads the reply, which arrives at once. Returns 0 or an errno; EINTR if a
 * dump was inconsistent. */
static int ask(request *request, taker take, void *context) {
  int link = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (link < 0) return errno;
  struct timeval patience = {.tv_sec = 5}; /* never takes this long */
  int failure = 0;
  int is_dump = request->head.nlmsg_flags & NLM_F_DUMP;
  struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
  request->head.nlmsg_flags |= NLM_F_REQUEST;
  if (setsockopt(link, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) != 0) failure = errno;
  while (failure == 0 && sendto(link, request, request->head.nlmsg_len, 0,
                                (struct sockaddr *)&kernel, sizeof kernel) < 0)
    if (errno != EINTR) failure = errno;
  char buffer[BUFFER_BYTES] __attribute__((aligned(NLMSG_ALIGNTO)));
  int overtaken = 0, finished = failure != 0;
  while (!finished) {
    ssize_t count = recv(link, buffer, sizeof buffer, 0);
    if (count < 0) {
      if (errno == EINTR) continue;
      failure = errno == EAGAIN ? ETIMEDOUT : errno;
      break;
    }
    if (count == 0) {
      failure = EIO;
      break;
    }
    size_t rest = (size_t)count;
    for (struct nlmsghdr *message = (struct nlmsghdr *)buffer; NLMSG_OK(message, rest);
         message = NLMSG_NEXT(message, rest)) {
      if (message->nlmsg_flags & NLM_F_DUMP_INTR) overtaken = 1;
      if (message->nlmsg_type == NLMSG_DONE) {
        finished = 1;
        break;
      }
      if (message->nlmsg_type == NLMSG_ERROR) {
        const struct nlmsgerr *error = NLMSG_DATA(message);
        failure = message->nlmsg_len >= NLMSG_LENGTH(sizeof *error) ? -error->error : EIO;
        finished = 1;
        break;
      }
      take(message, context);
      if (!is_dump) {
        finished = 1;
        break;
      }
    }
  }
  close(link);
  return failure != 0 ? failure : overtaken ? EINTR : 0;
}

static void copy_text(char out[16], const struct rtattr *attribute) {
  size_t size = RTA_PAYLOAD(attribute);
  if (size > 15) size = 15;
  memcpy(out, RTA_DATA(attribute), size);
  out[size] = 0;
}

static void read_link(const struct nlmsghdr *message, clinux_link *out) {
  const struct ifinfomsg *info = NLMSG_DATA(message);
  memset(out, 0, sizeof *out);
  out->index = info->ifi_index;
  out->hardware = info->ifi_type;
  if (info->ifi_flags & IFF_UP) out->flags |= CLINUX_LINK_UP;
  /* RUNNING: operational, not dormant. LOWER_UP: the cable is connected. */
  if ((info->ifi_flags & IFF_RUNNING) && (info->ifi_flags & IFF_LOWER_UP))
    out->flags |= CLINUX_LINK_CARRIER;
  if (info->ifi_flags & IFF_LOOPBACK) out->flags |= CLINUX_LINK_LOOPBACK;
  int rest = (int)IFLA_PAYLOAD(message);
  for (const struct rtattr *a = IFLA_RTA(info); RTA_OK(a, rest); a = RTA_NEXT(a, rest)) {
    if (a->rta_type == IFLA_IFNAME) copy_text(out->name, a);
    if (a->rta_type != IFLA_LINKINFO) continue;
    int inner = (int)RTA_PAYLOAD(a);
    for (const struct rtattr *b = RTA_DATA(a); RTA_OK(b, inner); b = RTA_NEXT(b, inner))
      if (b->rta_type == IFLA_INFO_KIND) copy_text(out->driver, b);
  }
}

typedef struct link_list {
  clinux_link *links;
  int capacity, count;
} link_list;

static void take_link(const struct nlmsghdr *message, void *context) {
  link_list *list = context;
  if (message->nlmsg_type != RTM_NEWLINK) return;
  if (list->count < list->capacity) read_link(message, list->links + list->count);
  list->count++;
}

static request link_request(void) {
  request result = {
      .head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)), .nlmsg_type = RTM_GETLINK}};
  result.body.link.ifi_family = AF_UNSPEC;
  return result;
}

int clinux_link_at(int32_t index, clinux_link *out) {
  request request = link_request();
  request.body.link.ifi_index = index;
  link_list list = {out, 1, 0};
  int failure = ask(&request, take_link, &list);
  return failure != 0 ? failure : list.count == 1 ? 0 : ENODEV;
}

int clinux_links(clinux_link *links, int capacity) {
  for (int attempt = 0; attempt < 10; attempt++) {
    request request = link_request();
    request.head.nlmsg_flags = NLM_F_DUMP;
    link_list list = {links, capacity, 0};
    int failure = ask(&request, take_link, &list);
    if (failure == 0) return list.count;
    errno = failure;
    if (failure != EINTR) break;
  }
  return -1;
}

static void take_route(const struct nlmsghdr *message, void *context) {
  clinux_route *out = context;
  const struct rtmsg *route = NLMSG_DATA(message);
  if (message->nlmsg_type != RTM_NEWROUTE) return;
  switch (route->rtm_type) {
    case RTN_LOCAL:
      out->flags |= CLINUX_ROUTE_LOCAL;
      break;
    case RTN_UNICAST:
    case RTN_BROADCAST:
    case RTN_ANYCAST:
    case RTN_MULTICAST:
      break;
    default:
      return; /* a route without a destination, such as `unreachable` */
  }
  if (route->rtm_flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN)) out->flags |= CLINUX_ROUTE_DOWN;
  int rest = (int)RTM_PAYLOAD(message);
  for (const struct rtattr *a = RTM_RTA(route); RTA_OK(a, rest); a = RTA_NEXT(a, rest)) {
    if (a->rta_type == RTA_OIF && RTA_PAYLOAD(a) == 4) memcpy(&out->link, RTA_DATA(a), 4);
    if (a->rta_type == RTA_PREFSRC) out->flags |= CLINUX_ROUTE_SOURCE;
  }
}

int clinux_route_to(const uint8_t *address, int32_t size, int32_t scope, clinux_route *out) {
  if (size != 4 && size != 16) return EINVAL;
  request request = {
      .head = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)), .nlmsg_type = RTM_GETROUTE}};
  request.body.route.rtm_family = size == 4 ? AF_INET : AF_INET6;
  request.body.route.rtm_dst_len = (unsigned char)(size * 8);
  /* The structures have different lengths. Attributes start after the one in use. */
  add_attribute(&request, RTA_DST, address, (size_t)size);
  if (scope > 0) add_attribute(&request, RTA_OIF, &scope, sizeof scope);
  memset(out, 0, sizeof *out);
  int failure = ask(&request, take_route, out);
  if (failure != 0) return failure;
  return out->link != 0 ? 0 : ENETUNREACH;
}
