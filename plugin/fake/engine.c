// The engine of the fake NIC: a thread that moves packets, and tells of what happens to ports.
#include <poll.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "nic.h"

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
    look_at_ports();
    bool any = fake_wires_read(now, &again, fake_deliver);
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
    struct pollfd fds[1 + FAKE_WIRES] = {{.fd = fake_nic.wake_fd, .events = POLLIN}};
    int n = 1 + fake_wires_poll(fds + 1);
    atomic_store(&fake_nic.asleep, true);
    pthread_mutex_unlock(&fake_nic.lock);
    now = fake_now_ns();
    struct timespec wait = {.tv_nsec = again > now ? (long)(again - now) : 0};
    ppoll(fds, (nfds_t)n, &wait, NULL);
    pthread_mutex_lock(&fake_nic.lock);
    atomic_store(&fake_nic.asleep, false);
    uint64_t woken;
    if (fds[0].revents && read(fake_nic.wake_fd, &woken, sizeof(woken)) < 0) perror("fake verbs: wake");
    fake_wires_accept(fds + 1);
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
  if (fake_nic.running) return;
  fake_wires_open();
  fake_nic.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  fake_nic.random = (uint64_t)fake_nic.host * 7919 + 1;
  fake_nic.stopping = false;
  fake_nic.running = pthread_create(&fake_nic.engine, NULL, run, NULL) == 0;
}

void fake_engine_stop(void) {
  if (!fake_nic.running) return;
  pthread_mutex_lock(&fake_nic.lock);
  fake_nic.stopping = true;
  atomic_store(&fake_nic.asleep, true);
  fake_engine_wake();
  pthread_mutex_unlock(&fake_nic.lock);
  pthread_join(fake_nic.engine, NULL);
  fake_nic.running = false;
  fake_wires_close();
  close(fake_nic.wake_fd);
}
