// Packets between processes. A process listens on a Unix socket beside the fabric's file; sequenced packets keep their
// bounds and push back when the other end is slow.
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "nic.h"

struct held {
  struct held *next;
  struct fake_packet packet;
};

static int listening = -1;
static int out[FAKE_HOSTS] = {-1, -1, -1, -1, -1, -1, -1, -1};
static bool blocked[FAKE_HOSTS];
static struct { int fd; } in[FAKE_INCOMING];
static int n_in;
static struct held *held_first, **held_tail = &held_first;

static void name(struct sockaddr_un *a, int host) {
  memset(a, 0, sizeof(*a));
  a->sun_family = AF_UNIX;
  snprintf(a->sun_path, sizeof(a->sun_path), "%s.%d", getenv("RAILWEAVE_FAKE_FABRIC"), host);
}

static uint32_t chance(void) {
  fake_nic.random = fake_nic.random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(fake_nic.random >> 33);
}

static bool connected(int host) {
  struct sockaddr_un a;
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), size = 1 << 20;
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
  name(&a, host);
  if (connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0) {
    out[host] = fd;
    return true;
  }
  close(fd);
  return false;
}

static bool to_host(int host, const struct fake_packet *p) {
  // The second time where another process has taken over that host.
  for (int attempt = 0; attempt < 2; attempt++) {
    if (out[host] < 0 && !connected(host)) return true;  // nobody there: lost
    if (send(out[host], p, offsetof(struct fake_packet, data) + p->h.length, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
      return true;
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) {
      blocked[host] = true;
      return false;
    }
    close(out[host]);
    out[host] = -1;
  }
  return true;
}

static void hold(const struct fake_packet *p) {
  struct held *h = malloc(sizeof(*h));
  h->next = NULL;
  memcpy(&h->packet, p, offsetof(struct fake_packet, data) + p->h.length);
  *held_tail = h;
  held_tail = &h->next;
}

enum fake_sent fake_wire_send(struct fake_packet *p, uint64_t now) {
  if (p->h.target_end < 0) return FAKE_SENT;
  const struct fake_fabric *f = fake_nic.fabric;
  int from, to;
  fake_route(f, p->h.source_end, p->h.target_end, p->h.flow_label, &from, &to);
  const struct fake_path *path = &f->paths[from][to];
  const struct fake_port *port =
      &f->ports[p->h.source_end / (FAKE_DEVICES * FAKE_GIDS)][p->h.source_end / FAKE_GIDS % FAKE_DEVICES];
  uint32_t drop = atomic_load_explicit(&path->drop_ppm, memory_order_relaxed);
  if (!atomic_load(&port->up) || !atomic_load(&port->gids[p->h.source_end % FAKE_GIDS].present)) return FAKE_SENT;
  if (now < atomic_load_explicit(&path->down_until_ns, memory_order_relaxed)) return FAKE_SENT;
  if (drop && chance() % 1000000 < drop) return FAKE_SENT;
  uint32_t delay = atomic_load_explicit(&path->delay_us, memory_order_relaxed);
  p->h.deliver_ns = delay ? now + (uint64_t)delay * 1000 : 0;
  int host = p->h.target_end / (FAKE_DEVICES * FAKE_GIDS);
  if (host != fake_nic.host) return to_host(host, p) ? FAKE_SENT : FAKE_FULL;
  if (fake_nic.direct && !delay) return FAKE_ARRIVED;
  hold(p);
  return FAKE_SENT;
}

typedef void deliver(struct fake_packet *);

static void arrived(struct fake_packet *p, deliver *to) {
  if (p->h.deliver_ns > fake_now_ns()) hold(p);
  else to(p);
}

static bool release_held(uint64_t now, uint64_t *again, deliver *to) {
  bool any = false;
  struct held *list = held_first;
  held_first = NULL;
  held_tail = &held_first;
  while (list) {
    struct held *h = list;
    list = h->next;
    h->next = NULL;
    if (h->packet.h.deliver_ns > now) {
      if (h->packet.h.deliver_ns < *again) *again = h->packet.h.deliver_ns;
      *held_tail = h;
      held_tail = &h->next;
      continue;
    }
    to(&h->packet);
    free(h);
    any = true;
  }
  return any;
}

static bool read_wires(deliver *to) {
  static struct fake_packet p;
  bool any = false;
  for (int i = 0; i < n_in; i++) {
    for (int burst = 0; burst < 16; burst++) {
      ssize_t n = recv(in[i].fd, &p, sizeof(p), MSG_DONTWAIT);
      if (n < 0) break;
      if (n == 0) {
        close(in[i].fd);
        in[i--] = in[--n_in];
        break;
      }
      arrived(&p, to);
      any = true;
    }
  }
  return any;
}

bool fake_wires_read(uint64_t now, uint64_t *again, deliver *to) {
  memset(blocked, 0, sizeof(blocked));
  bool any = read_wires(to);
  return release_held(now, again, to) || any;
}

int fake_wires_poll(struct pollfd fds[FAKE_WIRES]) {
  int n = 0;
  fds[n++] = (struct pollfd){.fd = listening, .events = POLLIN};
  for (int i = 0; i < n_in; i++) fds[n++] = (struct pollfd){.fd = in[i].fd, .events = POLLIN};
  for (int h = 0; h < FAKE_HOSTS; h++)
    if (blocked[h] && out[h] >= 0) fds[n++] = (struct pollfd){.fd = out[h], .events = POLLOUT};
  return n;
}

void fake_wires_accept(const struct pollfd fds[FAKE_WIRES]) {
  if (!fds[0].revents) return;
  int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd >= 0 && n_in < FAKE_INCOMING) in[n_in++].fd = fd;
  else if (fd >= 0) close(fd);
}

void fake_wires_open(void) {
  struct sockaddr_un a;
  name(&a, fake_nic.host);
  unlink(a.sun_path);
  listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (bind(listening, (struct sockaddr *)&a, sizeof(a)) || listen(listening, FAKE_INCOMING)) {
    perror("fake verbs: socket");
    abort();
  }
}

void fake_wires_close(void) {
  struct sockaddr_un a;
  while (held_first) {
    struct held *h = held_first;
    held_first = h->next;
    free(h);
  }
  held_tail = &held_first;
  while (n_in) close(in[--n_in].fd);
  for (int h = 0; h < FAKE_HOSTS; h++)
    if (out[h] >= 0) close(out[h]), out[h] = -1;
  close(listening);
  name(&a, fake_nic.host);
  unlink(a.sun_path);
}
