#include "setup.h"

#include "clock.h"
#include "failover.h"
#include "live.h"
#include "log.h"
#include "paths.h"
#include "qp.h"
#include "service.h"

void rw_setup_put_queue_pairs(struct rw_cursor *b, const struct rw_comm *c) {
  rw_put64(b, c->table.hash);
  rw_put64(b, (uintptr_t)c->shared);
  for (int i = 0; i < c->n_devices; i++) rw_put32(b, c->devices[i].shared_mr->rkey);
  for (int i = 0; i < c->n_qps; i++) {
    rw_put32(b, c->qps[i].qp->qp_num);
    rw_put32(b, c->qps[i].psn);
    rw_put32(b, c->qps[i].ece.vendor_id);
    rw_put32(b, c->qps[i].ece.options);
  }
}

bool rw_setup_get_region(struct rw_cursor *b, const struct rw_comm *c, struct rw_peer_region *p) {
  p->hash = rw_get64(b);
  p->shared = rw_get64(b);
  for (int i = 0; i < c->remote.n; i++) p->rkeys[i] = rw_get32(b);
  return !b->overflow;
}

bool rw_setup_get_queue_pairs(struct rw_cursor *b, struct rw_comm *c, const struct rw_peer_region *p) {
  c->remote_shared = p->shared;
  for (int i = 0; i < c->remote.n; i++) c->devices[i].remote_rkey = p->rkeys[i];
  for (int i = 0; i < c->n_qps; i++) {
    struct rw_qp *q = &c->qps[i];
    q->remote_qpn = rw_get32(b);
    q->remote_psn = rw_get32(b);
    q->remote_ece.vendor_id = rw_get32(b);
    q->remote_ece.options = rw_get32(b);
  }
  return !b->overflow;
}

// One path without a route does not keep the others from working: it is treated as dead, and tried again.
bool rw_setup_connect_queue_pairs(struct rw_comm *c) {
  bool any = false;
  for (int i = 0; i < c->n_qps; i++) {
    if (!rw_qp_connect(c, &c->qps[i])) continue;
    rw_set_state(&c->qps[i], RW_QP_LIVE);
    rw_path_begins(&c->qps[i]);
    any = true;
  }
  return any;
}

static void announce(struct rw_comm *c) {
  char name[256];
  if (c->table.fallback)
    rw_warn(
        "%s and %s have NICs without a path color in common: those use one address each. Look at their prefixes "
        "(railweave host gids on both)",
        c->local.host, c->remote.host);
  static _Atomic bool doubted, said;
  if (c->table.doubt[0] && !atomic_exchange(&doubted, true))
    rw_warn("queue pairs to %s may cross colors: %s. RAILWEAVE_NET_STRICT=1 refuses this", c->remote.host,
            c->table.doubt);
  for (int i = 0; i < c->local.n && !c->table.fallback; i++) {
    int here = c->local.devices[i].gids.n, there = c->remote.devices[i % c->remote.n].gids.n;
    if (here != there && !c->table.doubt[0] && !atomic_exchange(&said, true))
      rw_warn("%s of %s has %d paths, %s of %s has %d: only common colors are used", c->local.devices[i].name,
              c->local.host, here, c->remote.devices[i % c->remote.n].name, c->remote.host, there);
  }
  for (int i = 0; i < c->n_qps; i++) {
    rw_qp_name(c, &c->qps[i], name, sizeof(name));
    rw_info("%s: %s, traffic class %d", c->sends ? "sends" : "receives", name, c->qps[i].traffic_class);
  }
}

void *rw_setup_go(struct rw_comm *c) {
  announce(c);
  c->set_up = true;
  c->now_ms = rw_now_ns() / 1000000;
  rw_live_update(c);
  for (int i = 0; i < c->n_qps; i++)
    if (rw_state(&c->qps[i]) != RW_QP_LIVE) rw_qp_close(c, &c->qps[i], "no route when the connection was made");
  rw_service_add(c);
  return c;
}
