// Records of queue pairs' states, to the other end.
#include "publish.h"

#include "verbs.h"

struct rw_qp *rw_record_carrier(struct rw_comm *c) {
  struct rw_qp *suspect = NULL;
  for (int tries = 0; tries < c->n_qps; tries++) {
    struct rw_qp *q = &c->qps[c->control_turn++ % c->n_qps];
    if (rw_state(q) != RW_QP_LIVE || q->sends_out >= RW_SEND_WRS) continue;
    if (!atomic_load_explicit(&q->suspect, memory_order_relaxed)) return q;
    suspect = q;
  }
  return suspect;
}

static void over_queue_pair(struct rw_comm *c, struct rw_qp *by, int index) {
  struct ibv_sge sge = {
      .addr = (uintptr_t)&c->shared->record_out[index],
      .length = RW_RECORD_BYTES,
      .lkey = c->devices[by->device[0]].shared_mr->lkey,
  };
  struct ibv_send_wr wr = {
      .wr_id = rw_work_id(RW_WORK_CONTROL, (unsigned)(by - c->qps), (unsigned)index),
      .sg_list = &sge,
      .num_sge = 1,
      .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
      .send_flags = IBV_SEND_SIGNALED,
      .imm_data = htobe32(RW_IMM_CONTROL | (unsigned)index),
      .wr.rdma = {.remote_addr =
                      c->remote_shared + offsetof(struct rw_shared, record_in) + (unsigned)index * RW_RECORD_BYTES,
                  .rkey = c->devices[by->device[1]].remote_rkey},
  };
  if (by->sends_out == 0) by->progress_ms = c->now_ms;
  if (rw_post_send(by->qp, &wr) == 0) by->sends_out++;
}

void rw_record_repeat(struct rw_comm *c, struct rw_qp *q) {
  int index = (int)(q - c->qps);
  struct rw_record *record = &c->shared->record_out[index];
  struct rw_record_fields f = {
      .sequence = q->record.sequence,
      .echo = q->record.seen,
      .epoch = q->epoch,
      .arrived = q->arrived,
      .qpn = q->qp ? q->qp->qp_num : 0,
      .psn = q->psn,
      .ece_vendor = q->ece.vendor_id,
      .ece_options = q->ece.options,
      .kind = q->record.kind,
      .wants_echo = q->record.sequence != q->record.echoed,
      .port_down = q->record.port_down,
  };
  memcpy(f.gid, q->local.gid.raw, sizeof(f.gid));
  rw_record_encode(&f, record);
  q->record.sent_ms = c->now_ms;
  struct rw_qp *by = rw_record_carrier(c);
  struct rw_cursor b;
  if (by) {
    over_queue_pair(c, by, index);
  } else if (!c->peer.gone && rw_link_begin(c->line.link, &b)) {
    rw_put16(&b, (uint16_t)index);
    rw_put(&b, record->bytes, RW_RECORD_BYTES);
    rw_link_send(c->line.link, RW_RECORD, &b);
  }
}

void rw_record_publish(struct rw_comm *c, struct rw_qp *q) {
  q->record.sequence++;
  rw_record_repeat(c, q);
}
