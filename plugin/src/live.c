// Which queue pairs get new data, and how much of it.
#include "live.h"

#include "costs.h"
#include "params.h"

void rw_live_update(struct rw_comm *c) {
  c->live.n = 0;
  c->live.limited = false;
  c->live.all_suspect = true;
  for (int i = 0; i < c->n_qps; i++)
    if (rw_state(&c->qps[i]) == RW_QP_LIVE && !atomic_load_explicit(&c->qps[i].suspect, memory_order_relaxed))
      c->live.all_suspect = false;
  for (int i = 0; i < c->n_qps; i++) {
    const struct rw_qp *q = &c->qps[i];
    if (rw_state(q) != RW_QP_LIVE) continue;
    if (atomic_load_explicit(&q->suspect, memory_order_relaxed) && !c->live.all_suspect) continue;
    uint32_t ramp = (uint32_t)(q->ramp * RW_UNLIMITED / 100);
    uint32_t cost = c->live.costs_seen ? rw_costs_limit(c->local.devices[q->device[0]].name, q->color) : RW_UNLIMITED;
    c->live.of_qp[i].limit = ramp < cost ? ramp : cost;
    c->live.limited |= c->live.of_qp[i].limit < RW_UNLIMITED;
    c->live.qps[c->live.n++] = (uint8_t)i;
  }
  for (int i = 0; i < c->live.n; i++) {
    c->live.qps[c->live.n + i] = c->live.qps[i];
    c->live.loads[i] = c->live.loads[c->live.n + i] = &c->live.of_qp[c->live.qps[i]];
  }
}

static void share_out(struct rw_comm *c) {
  uint64_t total = 0;
  for (int i = 0; i < c->n_qps; i++)
    total += atomic_load_explicit(&c->qps[i].counters.bytes, memory_order_relaxed) - c->qps[i].share_bytes;
  for (int i = 0; i < c->n_qps && total; i++) {
    struct rw_qp *q = &c->qps[i];
    uint64_t now = atomic_load_explicit(&q->counters.bytes, memory_order_relaxed);
    atomic_store_explicit(&q->share, (uint32_t)(65536.0 * (double)(now - q->share_bytes) / (double)total),
                          memory_order_relaxed);
    q->share_bytes = now;
  }
}

void rw_live_weigh(struct rw_comm *c) {
  c->live.uneven = rw_params.weights && c->live.n > 1 && rw_pace(c->live.n, c->live.loads, c->now_ms * 1000000);
  if (rw_params.weights && c->live.n > 1) rw_weigh(c->live.n, c->live.loads, &c->live.weigh_waited);
  bool ramps = rw_costs_generation() != c->live.costs_seen;
  c->live.costs_seen = rw_costs_generation();
  for (int i = 0; i < c->n_qps; i++) {
    struct rw_qp *q = &c->qps[i];
    if (q->ramp >= 100) continue;
    q->ramp = q->ramp * 5 / 4 + 1 < 100 ? q->ramp * 5 / 4 + 1 : 100;
    ramps = true;
  }
  if (ramps) rw_live_update(c);
  share_out(c);
}
