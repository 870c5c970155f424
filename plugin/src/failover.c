// Death of one queue pair. This end moves it to the error state, so that nothing more can arrive on it, and waits for
// its work requests to come back. Then it says how many pieces arrived. When both ends have done so, both know what was
// delivered, and the rest is sent over others: nothing is lost, nothing comes twice, in whatever order queue pairs die.
#include <stdarg.h>
#include <stdio.h>

#include "comm.h"
#include "log.h"
#include "params.h"

static void resolve(struct rw_comm *c, struct rw_qp *q) {
  rw_send_lost(c, q, q->record.peer_arrived);
  rw_cts_released(c, q);
  rw_set_state(q, RW_QP_CLOSED);
  if (q->recover_wait_ms == 0) q->recover_wait_ms = rw_params.recover_ms;
  q->recover_at_ms = c->now_ms + q->recover_wait_ms;
}

void rw_qp_drained(struct rw_comm *c, struct rw_qp *q) {
  if (rw_state(q) != RW_QP_CLOSING || !q->errored || q->sends_out || q->recvs_out) return;
  if (q->record.kind != RW_SAYS_CLOSED) {
    q->record.kind = RW_SAYS_CLOSED;
    rw_record_publish(c, q);
  }
  if (q->record.peer_closed) resolve(c, q);
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
  rw_set_state(q, RW_QP_CLOSING);
  atomic_store_explicit(&q->suspect, false, memory_order_relaxed);
  q->record.kind = RW_SAYS_NOTHING;
  if (state == RW_QP_LIVE) {
    rw_count(&q->counters.deaths, 1);
    q->recover_wait_ms = 0;
  } else {
    int most = 8 * rw_params.recover_ms;
    q->recover_wait_ms = q->recover_wait_ms * 2 < most ? q->recover_wait_ms * 2 : most;
  }
  rw_live_update(c);
  rw_qp_name(c, q, name, sizeof(name));
  if (state == RW_QP_LIVE)
    rw_warn(
        "%s is dead: %s. %d of %d queue pairs go on. Look at that path: railweave-rdma-ping, and the leaves' routes "
        "of that color",
        name, q->reason, c->all_suspect ? 0 : c->n_live, c->n_qps);
  else rw_info("%s: not yet back: %s", name, q->reason);
  rw_qp_drained(c, q);
}
