// One thread per verbs context waits for asynchronous events and marks the device of the port they name. Connections
// see the marks at their next tick; nothing else is shared with them.
#include "events.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "clock.h"
#include "log.h"
#include "verbs.h"

struct listener {
  struct ibv_context *context;
  pthread_t thread;
};

static struct listener listeners[RW_MAX_DEVICES];
static int n_listeners;
static struct rw_device *watched;
static int n_watched;
static int stop_pipe[2] = {-1, -1};

static void mark(struct rw_device *d, int event) {
  char place[256];
  switch (event) {
    case IBV_EVENT_PORT_ERR:
      if (atomic_exchange(&d->port_up, false)) d->down_ms = rw_now_ns() / 1000000;
      atomic_fetch_add(&d->port_changes, 1);
      rw_warn("%s is down", rw_device_place(d, place, sizeof(place)));
      break;
    case IBV_EVENT_PORT_ACTIVE:
      // As loud as what it takes back.
      if (!atomic_exchange(&d->port_up, true))
        rw_warn("%s is up again: was down for %lld ms", rw_device_place(d, place, sizeof(place)),
                (long long)(rw_now_ns() / 1000000 - d->down_ms));
      atomic_fetch_add(&d->port_changes, 1);
      break;
    case IBV_EVENT_GID_CHANGE:
      atomic_fetch_add(&d->gid_changes, 1);
      rw_info("the addresses of %s changed", d->name);
      break;
    case IBV_EVENT_DEVICE_SPEED_CHANGE: {
      int now = rw_device_speed(d);
      rw_log(now < d->speed_mbps ? NCCL_LOG_WARN : NCCL_LOG_INFO, __FILE__, __LINE__,
             "%s runs at %g Gbit/s, and ran at %g when the job began", rw_device_place(d, place, sizeof(place)),
             now / 1e3, d->speed_mbps / 1e3);
      break;
    }
    case IBV_EVENT_DEVICE_FATAL:
      atomic_store(&d->fatal, true);
      rw_warn("%s reports a fatal error of the device: look at the kernel log", d->name);
      break;
    default: break;
  }
}

// Contexts of queue pairs and completion queues are their connection's mark (comm.h). It cannot go away meanwhile: they
// are not destroyed before the event is acknowledged.
static void mark_connection(struct ibv_context *context, const struct ibv_async_event *event) {
  bool queue = event->event_type == IBV_EVENT_CQ_ERR;
  _Atomic int *connection = queue ? event->element.cq->cq_context : event->element.qp->qp_context;
  const char *text = rw_event_text(event->event_type);
  if (queue) rw_warn("%s: a completion queue: %s", rw_verbs.ibv_get_device_name(context->device), text);
  else
    rw_warn("%s: queue pair 0x%x: %s", rw_verbs.ibv_get_device_name(context->device), event->element.qp->qp_num, text);
  if (connection) atomic_store(connection, event->event_type + 1);
}

static void dispatch(struct ibv_context *context, const struct ibv_async_event *event) {
  int type = event->event_type;
  if (type == IBV_EVENT_CQ_ERR || type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR ||
      type == IBV_EVENT_QP_ACCESS_ERR) {
    mark_connection(context, event);
    return;
  }
  bool of_port = type == IBV_EVENT_PORT_ERR || type == IBV_EVENT_PORT_ACTIVE || type == IBV_EVENT_GID_CHANGE;
  for (int i = 0; i < n_watched; i++)
    if (watched[i].context == context && (!of_port || watched[i].port == event->element.port_num))
      mark(&watched[i], type);
}

static void *listen_for_events(void *argument) {
  struct listener *self = argument;
  struct pollfd fds[2] = {{.fd = self->context->async_fd, .events = POLLIN}, {.fd = stop_pipe[0], .events = POLLIN}};
  for (;;) {
    if (poll(fds, 2, -1) < 0) continue;
    if (fds[1].revents) return NULL;
    if (!(fds[0].revents & POLLIN)) {
      if (fds[0].revents) return NULL;
      continue;
    }
    struct ibv_async_event event;
    if (rw_verbs.ibv_get_async_event(self->context, &event)) continue;
    dispatch(self->context, &event);
    rw_verbs.ibv_ack_async_event(&event);
  }
}

void rw_events_start(struct rw_device *devices, int n) {
  watched = devices;
  n_watched = n;
  n_listeners = 0;
  if (pipe2(stop_pipe, O_CLOEXEC)) return;
  for (int i = 0; i < n; i++) {
    bool known = false;
    for (int j = 0; j < n_listeners; j++) known |= listeners[j].context == devices[i].context;
    if (known) continue;
    struct listener *l = &listeners[n_listeners];
    l->context = devices[i].context;
    if (pthread_create(&l->thread, NULL, listen_for_events, l) == 0) n_listeners++;
  }
}

void rw_events_stop(void) {
  if (stop_pipe[1] < 0) return;
  close(stop_pipe[1]);
  for (int i = 0; i < n_listeners; i++) pthread_join(listeners[i].thread, NULL);
  close(stop_pipe[0]);
  stop_pipe[0] = stop_pipe[1] = -1;
  n_listeners = 0;
}
