// The end of a connection: says what, where, and what to look at, and tells the other end.
#include "failure.h"

#include <stdarg.h>
#include <stdio.h>

#include "log.h"
#include "qp.h"

void rw_fail(struct rw_comm *c, ncclResult_t error, const char *format, ...) {
  struct rw_cursor b;
  va_list args;
  if (atomic_load(&c->error) != ncclSuccess) return;
  va_start(args, format);
  vsnprintf(c->failure, sizeof(c->failure), format, args);
  va_end(args);
  atomic_store(&c->error, error);
  rw_warn("connection %s %s: %s", c->sends ? "to" : "from", c->remote.host, c->failure);
  if (c->peer.gone || !rw_link_begin(c->line.link, &b)) return;
  rw_put(&b, c->failure, strlen(c->failure));
  rw_link_send(c->line.link, RW_FAILED, &b);
}

static size_t append(char *text, size_t size, size_t used, const char *format, ...) {
  va_list args;
  if (used >= size) return used;
  va_start(args, format);
  int n = vsnprintf(text + used, size - used, format, args);
  va_end(args);
  return n < 0 ? used : used + (size_t)n;
}

void rw_fail_all_dead(struct rw_comm *c) {
  char text[800] = "", place[256];
  size_t used = 0;
  for (int i = 0; i < c->n_devices; i++) {
    const struct rw_device *d = c->devices[i].device;
    used = append(text, sizeof(text), used, "%s%s%s", i ? ", " : "", rw_device_place(d, place, sizeof(place)),
                  atomic_load(&d->port_up) ? "" : " is down");
  }
  used = append(text, sizeof(text), used, " to ");
  for (int i = 0; i < c->remote.n; i++) {
    const struct rw_end_device *d = &c->remote.devices[i];
    used = append(text, sizeof(text), used, "%s%s port %d (leaf %s, port %s)", i ? ", " : "", d->name, d->port,
                  d->leaf[0] ? d->leaf : "not known", d->leaf_port[0] ? d->leaf_port : "not known");
  }
  for (int i = 0; i < c->n_qps && i < 4; i++) {
    char name[256];
    rw_qp_name(c, &c->qps[i], name, sizeof(name));
    used = append(text, sizeof(text), used, "; %s: %s", name, c->qps[i].reason);
  }
  rw_fail(c, ncclRemoteError,
          "no path of any NIC of this connection lives: %s. Look at those ports, their cables and leaves", text);
}
