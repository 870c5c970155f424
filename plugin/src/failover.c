// Death of one queue pair. This end moves it to the error state, so that nothing more can arrive on it, and waits for
// its work requests to come back. Then it says how many pieces arrived. When both ends have done so, both know what was
// delivered, and the rest is sent over others: nothing is lost, nothing comes twice, in whatever order queue pairs die.
#include "failover.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "live.h"
#include "log.h"
#include "params.h"
#include "paths.h"
#include "publish.h"
#include "qp.h"
#include "recv.h"
#include "send.h"

static void resolve(struct rw_comm *c, struct rw_qp *q) {
  rw_send_lost(c, q, q->record.peer_arrived);
  rw_cts_released(c, q);
  rw_set_state(q, RW_QP_CLOSED);
  // Another flow label takes another way, which need not be dead as well.
  bool other_way = q->label >= 0 && c->live.n && q->recover_wait_ms == 0;
  if (q->recover_wait_ms == 0) q->recover_wait_ms = rw_params.recover_ms;
  q->recover_at_ms = other_way ? c->now_ms : c->now_ms + q->recover_wait_ms;
}

void rw_qp_drained(struct rw_comm *c, struct rw_qp *q) {
  if (rw_state(q) != RW_QP_CLOSING || !q->errored || q->sends_out || q->recvs_out) return;
  if (q->record.kind != RW_SAYS_CLOSED) {
    q->record.kind = RW_SAYS_CLOSED;
    rw_record_publish(c, q);
  }
  if (q->record.peer_closed) resolve(c, q);
}

// How long until it is tried again: twice as long each time, but where nothing else lives.
void rw_qp_put_off(struct rw_comm *c, struct rw_qp *q) {
  int most = c->live.n ? 8 * rw_params.recover_ms : rw_params.recover_ms;
  q->recover_wait_ms = q->recover_wait_ms * 2 < most ? q->recover_wait_ms * 2 : most;
  q->recover_at_ms = c->now_ms + q->recover_wait_ms;
}

void rw_qp_close(struct rw_comm *c, struct rw_qp *q, const char *format, ...) {
  int state = rw_state(q);
  char name[256];
  va_list args;
  if (state == RW_QP_CLOSING || state == RW_QP_CLOSED) return;
  va_start(args, format);
  vsnprintf(q->reason, sizeof(q->reason), format, args);
  va_end(args);
  rw_qp_to_error(q);
  q->deadline_ms = c->now_ms;
  rw_set_state(q, RW_QP_CLOSING);
  atomic_store_explicit(&q->suspect, false, memory_order_relaxed);
  q->record.kind = RW_SAYS_NOTHING;
  q->record.port_down = !atomic_load_explicit(&c->devices[q->device[0]].device->port_up, memory_order_relaxed);
  if (state == RW_QP_LIVE) {
    rw_count(&q->counters.deaths, 1);
    q->recover_wait_ms = 0;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    atomic_store_explicit(&q->died_ns, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
                          memory_order_relaxed);
    q->dead_ms = c->now_ms;
    rw_path_dead(c, q);
  } else {
    rw_qp_put_off(c, q);
    rw_path_unproven(c, q);
  }
  rw_live_update(c);
  rw_qp_name(c, q, name, sizeof(name));
  if (state == RW_QP_LIVE)
    rw_info("%s is dead: %s. %d of %d queue pairs go on", name, q->reason, c->live.all_suspect ? 0 : c->live.n,
            c->n_qps);
  else rw_info("%s: not yet back: %s", name, q->reason);
  rw_qp_drained(c, q);
}

void rw_qp_close_refused(struct rw_comm *c) {
  c->any_refused = false;
  for (int i = 0; i < c->n_qps; i++)
    if (c->qps[i].refused) rw_qp_close(c, &c->qps[i], "the device refuses work");
}
