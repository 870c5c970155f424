#include "link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "log.h"
#include "name_list.h"
#include "params.h"

// What a library that is not loaded speaks: railweave host plugin doctor looks for it.
__attribute__((used)) static const char mark[] = "railweave-net wire 3";
_Static_assert(RW_WIRE_VERSION == 3, "mark");

static socklen_t length_of(const union rw_address *a) {
  return a->any.sa_family == AF_INET6 ? sizeof(a->v6) : sizeof(a->v4);
}

const char *rw_address_text(const union rw_address *a, char *text, size_t size) {
  char host[INET6_ADDRSTRLEN] = "?";
  bool v6 = a->any.sa_family == AF_INET6;
  inet_ntop(a->any.sa_family, v6 ? (const void *)&a->v6.sin6_addr : (const void *)&a->v4.sin_addr, host, sizeof(host));
  snprintf(text, size, v6 ? "[%s]:%d" : "%s:%d", host, ntohs(v6 ? a->v6.sin6_port : a->v4.sin_port));
  return text;
}

static bool family_fits(int family) {
  if (strcmp(rw_params.socket_family, "AF_INET") == 0) return family == AF_INET;
  if (strcmp(rw_params.socket_family, "AF_INET6") == 0) return family == AF_INET6;
  return family == AF_INET || family == AF_INET6;
}

// 0: not usable; else the lower, the better: real interfaces before those of containers before loopback, IPv4 before
// IPv6.
static int rank_of(const struct ifaddrs *i) {
  if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || !family_fits(i->ifa_addr->sa_family)) return 0;
  bool chosen = rw_params.socket_ifname_set;
  if (chosen && !rw_name_list_holds(rw_params.socket_ifname, i->ifa_name, 0)) return 0;
  bool v6 = i->ifa_addr->sa_family == AF_INET6, loopback = (i->ifa_flags & IFF_LOOPBACK) != 0;
  if (v6 && IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr)) return 0;
  bool container = strncmp(i->ifa_name, "docker", 6) == 0 || strncmp(i->ifa_name, "virbr", 5) == 0;
  return 1 + v6 + (chosen ? 0 : container * 2) + loopback * 4;
}

static bool own_address(union rw_address *out) {
  struct ifaddrs *list;
  int best = 0;
  if (getifaddrs(&list)) return false;
  for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
    int rank = rank_of(i);
    if (!rank || (best && rank >= best)) continue;
    best = rank;
    memset(out, 0, sizeof(*out));
    memcpy(out, i->ifa_addr, i->ifa_addr->sa_family == AF_INET6 ? sizeof(out->v6) : sizeof(out->v4));
  }
  freeifaddrs(list);
  return best > 0;
}

int rw_listen(union rw_address *a) {
  if (!own_address(a)) {
    rw_warn("no interface for set-up: NCCL_SOCKET_IFNAME=%s NCCL_SOCKET_FAMILY=%s leave none", rw_params.socket_ifname,
            rw_params.socket_family);
    return -1;
  }
  int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  socklen_t length = length_of(a);
  if (fd >= 0 && bind(fd, &a->any, length) == 0 && listen(fd, 1024) == 0 && getsockname(fd, &a->any, &length) == 0)
    return fd;
  rw_warn("cannot listen for set-up: %s", strerror(errno));
  if (fd >= 0) close(fd);
  return -1;
}

static struct rw_link *wrap(int fd) {
  int one = 1;
  struct rw_link *link = fd < 0 ? NULL : calloc(1, sizeof(*link));
  if (!link) {
    if (fd >= 0) close(fd);
    return NULL;
  }
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
  // A host that is off is noticed in 5 s, whether something is on its way to it or not.
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &(unsigned){5000}, sizeof(unsigned));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &(int){2}, sizeof(int));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &one, sizeof(one));
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &(int){3}, sizeof(int));
  link->fd = fd;
  return link;
}

struct rw_link *rw_link_connect(const union rw_address *a) {
  int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  struct rw_link *link = wrap(fd);
  if (link && connect(fd, &a->any, length_of(a)) && errno != EINPROGRESS) {
    link->failed = true;
    link->error = errno;
  }
  return link;
}

int rw_link_ready(struct rw_link *link) {
  struct pollfd p = {.fd = link->fd, .events = POLLOUT};
  int error = 0;
  socklen_t size = sizeof(error);
  if (link->failed) {
    errno = link->error;
    return -1;
  }
  if (poll(&p, 1, 0) <= 0) return 0;
  if (getsockopt(link->fd, SOL_SOCKET, SO_ERROR, &error, &size) || error || (p.revents & POLLERR)) {
    errno = error;
    return -1;
  }
  return 1;
}

struct rw_link *rw_link_accept(int listening) {
  return wrap(accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

void rw_link_close(struct rw_link *link) {
  if (!link) return;
  rw_link_flush(link);
  close(link->fd);
  free(link);
}

bool rw_link_begin(struct rw_link *link, struct rw_cursor *body) {
  rw_link_flush(link);
  if (sizeof(link->out) - link->out_used < RW_WIRE_HEADER + RW_WIRE_BODY) return false;
  uint8_t *start = link->out + link->out_used + RW_WIRE_HEADER;
  *body = (struct rw_cursor){.at = start, .end = start + RW_WIRE_BODY};
  return true;
}

void rw_link_send(struct rw_link *link, enum rw_message type, const struct rw_cursor *body) {
  uint8_t *start = link->out + link->out_used;
  uint32_t length = (uint32_t)(body->at - start - RW_WIRE_HEADER);
  struct rw_cursor header = {.at = start, .end = start + RW_WIRE_HEADER};
  if (body->overflow) {
    link->failed = true;
    return;
  }
  rw_put32(&header, RW_WIRE_MAGIC);
  rw_put16(&header, RW_WIRE_VERSION);
  rw_put16(&header, (uint16_t)type);
  rw_put32(&header, length);
  link->out_used += RW_WIRE_HEADER + length;
  rw_link_flush(link);
}

void rw_link_flush(struct rw_link *link) {
  if (link->mute) link->out_sent = link->out_used = 0;
  while (link->out_sent < link->out_used && !link->failed && !link->mute) {
    ssize_t n =
        send(link->fd, link->out + link->out_sent, link->out_used - link->out_sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) break;
    if (n < 0) {
      if (!link->error) link->error = errno;  // the kernel says it once, to whichever call comes first
      link->mute = true;
      return;
    }
    if (n > 0) link->out_sent += (size_t)n;
  }
  if (link->out_sent) {
    memmove(link->out, link->out + link->out_sent, link->out_used - link->out_sent);
    link->out_used -= link->out_sent;
    link->out_sent = 0;
  }
}

void rw_complain_of_version(const char *there, unsigned version) {
  char here[64] = "";
  gethostname(here, sizeof(here) - 1);
  rw_warn(
      "%s speaks version %u of the plugin's protocol, %s (this end) version %d: install the same plugin on all servers",
      there, version, here, RW_WIRE_VERSION);
}

static void complain_of_version(const struct rw_link *link, unsigned version) {
  union rw_address there;
  socklen_t size = sizeof(there);
  char text[80] = "the other end";
  if (getpeername(link->fd, &there.any, &size) == 0) rw_address_text(&there, text, sizeof(text));
  rw_complain_of_version(text, version);
}

static bool whole(struct rw_link *link, struct rw_cursor *body, int *type) {
  struct rw_cursor header = {.at = link->in, .end = link->in + link->in_used};
  if (link->in_used < RW_WIRE_HEADER) return false;
  uint32_t magic = rw_get32(&header);
  uint16_t version = rw_get16(&header);
  *type = rw_get16(&header);
  uint32_t length = rw_get32(&header);
  // No message is of type 0, which rw_link_receive gives where there is none yet: nothing behind it would be read.
  if (magic != RW_WIRE_MAGIC || version != RW_WIRE_VERSION || length > RW_WIRE_BODY || *type == 0) {
    if (!link->failed && magic == RW_WIRE_MAGIC && version != RW_WIRE_VERSION) complain_of_version(link, version);
    link->failed = true;
    return false;
  }
  *body = (struct rw_cursor){.at = header.at, .end = header.at + length};
  return link->in_used >= RW_WIRE_HEADER + length;
}

int rw_link_receive(struct rw_link *link, struct rw_cursor *body) {
  int type = 0;
  rw_link_flush(link);
  for (;;) {
    if (whole(link, body, &type)) return type;
    if (link->closed || link->failed) return 0;
    ssize_t n = recv(link->fd, link->in + link->in_used, sizeof(link->in) - link->in_used, MSG_DONTWAIT);
    if (n == 0) link->closed = true;
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      link->failed = true;
      if (!link->error) link->error = errno;
    }
    if (n <= 0) return 0;
    link->in_used += (size_t)n;
  }
}

void rw_link_next(struct rw_link *link) {
  struct rw_cursor body;
  int type;
  if (!whole(link, &body, &type)) return;
  size_t used = (size_t)(body.end - link->in);
  memmove(link->in, link->in + used, link->in_used - used);
  link->in_used -= used;
}
