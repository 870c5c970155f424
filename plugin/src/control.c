#include "control.h"

#include "failover.h"
#include "live.h"
#include "paths.h"
#include "publish.h"
#include "recovery.h"

static void close_after(struct rw_comm *c, struct rw_qp *q, bool port_down) {
  char place[256];
  if (port_down)
    rw_qp_close(c, q, "%s of %s is down", rw_end_device_place(&c->remote.devices[q->device[1]], place, sizeof(place)),
                c->remote.host);
  else rw_qp_close(c, q, "closed by the other end");
}

// False where it comes too early to be acted on: it will be repeated.
static bool take(struct rw_comm *c, struct rw_qp *q, const struct rw_record_fields *f) {
  int state = rw_state(q);
  if (f->kind == RW_SAYS_NOTHING || f->epoch < q->epoch) return true;
  if (f->kind == RW_SAYS_LIVE) {
    if (f->epoch == q->epoch && state == RW_QP_PROBING && !c->sends) {
      rw_set_state(q, RW_QP_LIVE);
      rw_live_update(c);
      rw_path_proven(c, q);
    }
    return true;
  }
  if (f->kind == RW_SAYS_OPENING && f->epoch == q->epoch) {
    if (state == RW_QP_OPENING) rw_recovery_connect(c, q, f);
    return true;
  }
  // The other end has closed this queue pair: it says so, or it is an epoch further, where it cannot be without.
  q->record.peer_closed = true;
  q->record.peer_arrived = f->arrived;
  if (state != RW_QP_CLOSING && state != RW_QP_CLOSED) close_after(c, q, f->port_down);
  else if (state == RW_QP_CLOSING) rw_qp_drained(c, q);
  if (f->epoch == q->epoch) return true;
  if (rw_state(q) != RW_QP_CLOSED) return false;
  rw_recovery_answer(c, q, f);
  return true;
}

void rw_record_arrived(struct rw_comm *c, int index, const struct rw_record *record) {
  struct rw_qp *q = &c->qps[index];
  struct rw_record_fields f;
  if (!rw_record_decode(record, &f)) return;  // being overwritten: the newer one follows
  if ((int32_t)(f.echo - q->record.echoed) > 0) q->record.echoed = f.echo;
  if ((int32_t)(f.sequence - q->record.seen) > 0) {
    if (!take(c, q, &f)) return;
    q->record.seen = f.sequence;
  }
  if (f.wants_echo) rw_record_repeat(c, q);
}
