// Packets between processes, and the engine. A process listens on a Unix socket beside the fabric's file; sequenced
// packets keep their bounds and push back when the other end is slow.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "nic.h"

struct held {
  struct held *next;
  struct fake_packet packet;
};

static int listening = -1;
static int out[FAKE_HOSTS] = {-1, -1, -1, -1, -1, -1, -1, -1};
static bool blocked[FAKE_HOSTS];
static struct { int fd; } in[64];
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

bool fake_wire_send(struct fake_packet *p, uint64_t now) {
  if (p->h.target_end < 0) return true;
  const struct fake_fabric *f = fake_nic.fabric;
  const struct fake_path *path = &f->paths[p->h.source_end][p->h.target_end];
  const struct fake_port *port =
      &f->ports[p->h.source_end / (FAKE_DEVICES * FAKE_GIDS)][p->h.source_end / FAKE_GIDS % FAKE_DEVICES];
  uint32_t drop = atomic_load_explicit(&path->drop_ppm, memory_order_relaxed);
  if (!atomic_load(&port->up) || !atomic_load(&port->gids[p->h.source_end % FAKE_GIDS].present)) return true;
  if (now < atomic_load_explicit(&path->down_until_ns, memory_order_relaxed)) return true;
  if (drop && chance() % 1000000 < drop) return true;
  uint32_t delay = atomic_load_explicit(&path->delay_us, memory_order_relaxed);
  p->h.deliver_ns = delay ? now + (uint64_t)delay * 1000 : 0;
  int host = p->h.target_end / (FAKE_DEVICES * FAKE_GIDS);
  if (host != fake_nic.host) return to_host(host, p);
  if (fake_nic.direct && !delay) fake_deliver(p);
  else hold(p);
  return true;
}

static void arrived(struct fake_packet *p) {
  if (p->h.deliver_ns > fake_now_ns()) hold(p);
  else fake_deliver(p);
}

static bool release_held(uint64_t now, uint64_t *again) {
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
    fake_deliver(&h->packet);
    free(h);
    any = true;
  }
  return any;
}

static bool read_wires(void) {
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
      arrived(&p);
      any = true;
    }
  }
  return any;
}

static void tell(struct fake_context *c, int event) {
  struct ibv_async_event e = {.element.port_num = 1, .event_type = event};
  if (write(c->event_write, &e, sizeof(e)) != sizeof(e)) perror("fake verbs: event");
}

// Of the first queue pair of the device that is connected.
static void tell_of_queue(struct fake_context *c, int device, int event) {
  for (int i = 0; i < fake_nic.n_qps; i++) {
    struct fake_qp *q = fake_nic.qps[i];
    if (!q || q->device != device || q->base.state != IBV_QPS_RTS) continue;
    struct ibv_async_event e = {.event_type = event};
    if (event == IBV_EVENT_CQ_ERR) e.element.cq = q->base.recv_cq;
    else e.element.qp = &q->base;
    if (write(c->event_write, &e, sizeof(e)) != sizeof(e)) perror("fake verbs: event");
    return;
  }
}

static void look_at_ports(void) {
  for (int d = 0; d < FAKE_DEVICES; d++) {
    struct fake_context *c = fake_nic.contexts[d];
    if (!c) continue;
    struct fake_port *port = &fake_nic.fabric->ports[fake_nic.host][d];
    bool up = atomic_load(&port->up);
    uint32_t changes = atomic_load(&port->gid_changes);
    if (up != c->port_up) tell(c, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
    if (changes != c->gid_changes) tell(c, IBV_EVENT_GID_CHANGE);
    int event = atomic_exchange(&port->event, 0) - 1;
    if (event >= 0) tell_of_queue(c, d, event);
    c->port_up = up;
    c->gid_changes = changes;
  }
}

static void *run(void *unused) {
  (void)unused;
  uint32_t turn = 0;
  pthread_mutex_lock(&fake_nic.lock);
  while (!fake_nic.stopping) {
    uint64_t now = fake_now_ns(), again = now + 2000000;
    memset(blocked, 0, sizeof(blocked));
    look_at_ports();
    bool any = read_wires();
    any |= release_held(now, &again);
    turn++;
    for (int i = 0; i < fake_nic.n_qps; i++) {
      // Another one first each time, so that queue pairs that share a path share its rate.
      struct fake_qp *q = fake_nic.qps[((uint32_t)i + turn) % (uint32_t)fake_nic.n_qps];
      if (!q) continue;
      fake_timers(q, now, &again);
      for (int burst = 0; burst < 8 && fake_transmit(q, now, &again); burst++) any = true;
    }
    if (any) {
      // Let the threads that wait for the lock have it.
      pthread_mutex_unlock(&fake_nic.lock);
      pthread_mutex_lock(&fake_nic.lock);
      continue;
    }
    struct pollfd fds[2 + 64 + FAKE_HOSTS];
    int n = 0;
    fds[n++] = (struct pollfd){.fd = fake_nic.wake_fd, .events = POLLIN};
    fds[n++] = (struct pollfd){.fd = listening, .events = POLLIN};
    for (int i = 0; i < n_in; i++) fds[n++] = (struct pollfd){.fd = in[i].fd, .events = POLLIN};
    for (int h = 0; h < FAKE_HOSTS; h++)
      if (blocked[h] && out[h] >= 0) fds[n++] = (struct pollfd){.fd = out[h], .events = POLLOUT};
    atomic_store(&fake_nic.asleep, true);
    pthread_mutex_unlock(&fake_nic.lock);
    now = fake_now_ns();
    struct timespec wait = {.tv_nsec = again > now ? (long)(again - now) : 0};
    ppoll(fds, (nfds_t)n, &wait, NULL);
    pthread_mutex_lock(&fake_nic.lock);
    atomic_store(&fake_nic.asleep, false);
    uint64_t woken;
    if (fds[0].revents && read(fake_nic.wake_fd, &woken, sizeof(woken)) < 0) perror("fake verbs: wake");
    if (fds[1].revents) {
      int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (fd >= 0 && n_in < 64) in[n_in++].fd = fd;
      else if (fd >= 0) close(fd);
    }
  }
  pthread_mutex_unlock(&fake_nic.lock);
  return NULL;
}

void fake_engine_wake(void) {
  uint64_t one = 1;
  if (atomic_exchange(&fake_nic.asleep, false) && write(fake_nic.wake_fd, &one, sizeof(one)) < 0)
    perror("fake verbs: wake");
}

void fake_engine_start(void) {
  struct sockaddr_un a;
  if (fake_nic.running) return;
  name(&a, fake_nic.host);
  unlink(a.sun_path);
  listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (bind(listening, (struct sockaddr *)&a, sizeof(a)) || listen(listening, 64)) {
    perror("fake verbs: socket");
    abort();
  }
  fake_nic.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  fake_nic.random = (uint64_t)fake_nic.host * 7919 + 1;
  fake_nic.stopping = false;
  fake_nic.running = pthread_create(&fake_nic.engine, NULL, run, NULL) == 0;
}

void fake_engine_stop(void) {
  struct sockaddr_un a;
  if (!fake_nic.running) return;
  pthread_mutex_lock(&fake_nic.lock);
  fake_nic.stopping = true;
  atomic_store(&fake_nic.asleep, true);
  fake_engine_wake();
  pthread_mutex_unlock(&fake_nic.lock);
  pthread_join(fake_nic.engine, NULL);
  fake_nic.running = false;
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
  close(fake_nic.wake_fd);
  name(&a, fake_nic.host);
  unlink(a.sun_path);
}
