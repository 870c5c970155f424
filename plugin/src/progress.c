// What the device completed goes where it belongs. Everything a connection does by itself starts here.
#include <time.h>

#include "comm.h"
#include "log.h"
#include "verbs.h"

int64_t rw_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);  // no system call: the vDSO answers
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

static int64_t coarse_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return t.tv_sec * 1000L + t.tv_nsec / 1000000;
}

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
    q->arrived++;
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
  q->sends_out--;
  if (wc->status == IBV_WC_SUCCESS) {
    q->progress_ms = now_ns / 1000000;
    if (work == RW_WORK_PIECE) rw_send_acked(c, q, now_ns);
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
    rw_flush_done(c, (int)index, &c->requests[wc->wr_id & 0xffffffff], wc->status);
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
  int64_t now_ms = coarse_ms();
  if (now_ms != c->tick_ms) {
    c->tick_ms = now_ms;
    rw_tick(c);
  }
  if (c->sends) rw_send_pending(c);
}

ncclResult_t rw_test(struct rw_request *r, int *done, int *sizes) {
  struct rw_comm *c = r->comm;
  *done = 0;
  if (!r->done) {
    ncclResult_t error = atomic_load_explicit(&c->error, memory_order_relaxed);
    if (error == ncclSuccess) {
      rw_progress(c);
      error = atomic_load_explicit(&c->error, memory_order_relaxed);
    }
    if (!r->done) return error;
  }
  int n = r->kind == RW_RECV ? r->n : 1;
  for (int i = 0; sizes && r->kind != RW_FLUSH && i < n; i++) sizes[i] = (int)r->sizes[i];
  *done = 1;
  rw_request_put(r);
  rw_comm_leave(c);
  return ncclSuccess;
}
