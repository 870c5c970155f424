// What the device completed goes where it belongs.
#include "progress.h"

#include "clock.h"
#include "control.h"
#include "failover.h"
#include "failure.h"
#include "flush.h"
#include "qp.h"
#include "recovery.h"
#include "recv.h"
#include "send.h"
#include "tick.h"
#include "verbs.h"

static void received(struct rw_comm *c, struct rw_qp *q, const struct ibv_wc *wc) {
  q->recvs_out--;
  if (wc->status != IBV_WC_SUCCESS) {
    if (!q->errored) rw_qp_close(c, q, "its receives ended: %s", rw_wc_status(wc->status));
    return;
  }
  rw_presence_heard(&c->presence, c->now_ms);
  uint32_t imm = be32toh(wc->imm_data);
  if (imm & RW_IMM_CONTROL) {
    int index = (int)(imm & 0xff);
    if (index < c->n_qps) rw_record_arrived(c, index, &c->shared->record_in[index]);
  } else {
    unsigned receives = rw_imm_receives(imm);
    q->arrived += receives ? (uint32_t)__builtin_popcount(receives) : 1;
    rw_recv_piece(c, imm, wc->byte_len);
  }
  if (++q->recvs_missing >= 16 && !q->errored && rw_state(q) != RW_QP_CLOSING) {
    if (!rw_qp_refill(c, q, q->recvs_missing)) rw_qp_close(c, q, "the device refuses receives");
    q->recvs_missing = 0;
  }
}

static void sent(struct rw_comm *c, struct rw_qp *q, const struct ibv_wc *wc, int64_t now_ns) {
  enum rw_work work = (enum rw_work)(wc->wr_id >> 56);
  int value = (int)(wc->wr_id & 0xffffffff);
  if (work == RW_WORK_QUIET) {  // an error, of a queue pair that may be gone: nothing waits for it
    if (wc->status != IBV_WC_WR_FLUSH_ERR) rw_count(&q->counters.errors, 1);
    if (!q->errored && value == (int)q->epoch)
      rw_qp_close(c, q, "%s (vendor code 0x%x)", rw_wc_status(wc->status), wc->vendor_err);
    return;
  }
  q->sends_out--;
  if (wc->status == IBV_WC_SUCCESS) {
    q->progress_ms = now_ns / 1000000;
    if (work == RW_WORK_PIECE) rw_send_acked(c, q, now_ns);
    if (work == RW_WORK_GROUP)
      for (int i = 0; i < value; i++) rw_send_acked(c, q, now_ns);
    if (work == RW_WORK_CTS) rw_cts_acked(c, value);
    if (work == RW_WORK_PROBE) rw_recovery_proven(c, q);
    if (work == RW_WORK_PING) rw_histogram_add(&q->counters.latency, (uint64_t)(now_ns - q->pinged_ns));
    return;
  }
  if (wc->status != IBV_WC_WR_FLUSH_ERR) rw_count(&q->counters.errors, 1);
  if (!q->errored) rw_qp_close(c, q, "%s (vendor code 0x%x)", rw_wc_status(wc->status), wc->vendor_err);
  if (work == RW_WORK_CTS) rw_cts_failed(c, q, value);
}

static void complete(struct rw_comm *c, const struct ibv_wc *wc, int64_t now_ns) {
  unsigned index = wc->wr_id >> 32 & 0xff;
  if (wc->wr_id >> 56 == RW_WORK_FLUSH) {
    rw_flush_done(c, (int)index, &c->requests.all[wc->wr_id & 0xffffffff], wc->status);
    return;
  }
  struct rw_qp *q = &c->qps[index];
  if (wc->wr_id >> 56 == RW_WORK_RECV) received(c, q, wc);
  else sent(c, q, wc, now_ns);
  if (q->errored && q->sends_out == 0 && q->recvs_out == 0) rw_qp_drained(c, q);
}

void rw_progress(struct rw_comm *c) {
  struct ibv_wc wcs[16];
  for (int i = 0; i < c->n_devices; i++) {
    for (int rounds = 0; rounds < 8; rounds++) {
      int n = rw_poll_cq(c->devices[i].cq, 16, wcs);
      if (n < 0) {
        rw_fail(c, ncclSystemError, "the completion queue of %s failed", c->devices[i].device->name);
        return;
      }
      if (n == 0) break;
      int64_t now_ns = rw_now_ns();
      c->now_ms = now_ns / 1000000;
      for (int w = 0; w < n; w++) complete(c, &wcs[w], now_ns);
      if (n < 16) break;
    }
  }
  if (c->any_refused) rw_qp_close_refused(c);
  int64_t now_ms = rw_coarse_ms();
  if (now_ms != c->times.tick_ms) {
    c->times.tick_ms = now_ms;
    rw_tick(c);
  }
  if (c->sends) rw_send_pending(c);
}
