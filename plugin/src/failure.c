// The end of a connection: says what, where, and what to look at, and tells the other end.
#include <stdarg.h>
#include <stdio.h>

#include "comm.h"
#include "log.h"

void rw_fail(struct rw_comm *c, ncclResult_t error, const char *format, ...) {
  struct rw_cursor b;
  va_list args;
  if (atomic_load(&c->error) != ncclSuccess) return;
  va_start(args, format);
  vsnprintf(c->failure, sizeof(c->failure), format, args);
  va_end(args);
  atomic_store(&c->error, error);
  rw_warn("connection %s %s: %s", c->sends ? "to" : "from", c->remote.host, c->failure);
  if (c->peer_gone || !rw_link_begin(c->link, &b)) return;
  rw_put(&b, c->failure, strlen(c->failure));
  rw_link_send(c->link, RW_FAILED, &b);
}

void rw_fail_all_dead(struct rw_comm *c) {
  char text[800], place[256];
  size_t used = 0;
  text[0] = 0;
  for (int i = 0; i < c->n_devices && used < sizeof(text); i++)
    used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? ", " : "",
                             rw_device_place(c->devices[i].device, place, sizeof(place)));
  for (int i = 0; i < c->n_qps && i < 4 && used < sizeof(text); i++) {
    char name[256];
    rw_qp_name(c, &c->qps[i], name, sizeof(name));
    used += (size_t)snprintf(text + used, sizeof(text) - used, "; %s: %s", name, c->qps[i].reason);
  }
  rw_fail(c, ncclRemoteError,
          "no path of any NIC of this connection lives: %s. Look at that port, its cable and its leaf, and those of %s", text,
          c->remote.host);
}
