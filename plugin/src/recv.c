// Receiving: the sender is told where each message goes, and pieces are counted until it is whole.
#include "recv.h"

#include "clock.h"
#include "failure.h"
#include "verbs.h"

static struct rw_qp *cts_qp(struct rw_comm *c) {
  for (int tries = 0; tries < c->live.n; tries++) {
    struct rw_qp *q = &c->qps[c->live.qps[c->receiver.cts_turn++ % c->live.n]];
    if (rw_state(q) == RW_QP_LIVE && !q->refused && q->sends_out <= RW_SEND_WRS - 8) return q;
  }
  return NULL;
}

static bool waits(const struct rw_comm *c, int slot) { return c->receiver.slots[slot] && !c->receiver.cts_acked[slot]; }

static void post(struct rw_comm *c, int slot) {
  struct rw_qp *q = cts_qp(c);
  struct ibv_sge sge = {.addr = (uintptr_t)c->shared->cts_out[slot],
                        .length = (uint32_t)c->receiver.slots[slot]->n * (uint32_t)sizeof(struct rw_cts)};
  if (!q) {
    c->receiver.cts_unsent++;
    return;
  }
  sge.lkey = c->devices[q->device[0]].shared_mr->lkey;
  struct ibv_send_wr wr = {
      .wr_id = rw_work_id(RW_WORK_CTS, (unsigned)(q - c->qps), (unsigned)slot),
      .sg_list = &sge,
      .num_sge = 1,
      .opcode = IBV_WR_RDMA_WRITE,
      .send_flags = IBV_SEND_SIGNALED,
      .wr.rdma = {.remote_addr = c->remote_shared + offsetof(struct rw_shared, cts_in) +
                                 (unsigned)slot * sizeof(c->shared->cts_in[0]),
                  .rkey = c->devices[q->device[1]].remote_rkey},
  };
  if (sge.length <= (uint32_t)q->max_inline) wr.send_flags |= IBV_SEND_INLINE;
  if (q->sends_out == 0) q->progress_ms = c->now_ms;
  if (rw_post_send(q->qp, &wr)) {
    c->receiver.cts_unsent++;
    rw_qp_refuses(c, q);
    return;
  }
  q->sends_out++;
  c->receiver.cts_qp[slot] = (uint8_t)(q - c->qps);
  c->receiver.cts_under_way[slot]++;
  rw_count(&q->counters.clear_to_sends, 1);
}

void rw_cts_post_unsent(struct rw_comm *c) {
  if (c->receiver.cts_unsent == 0 || c->live.n == 0) return;
  c->receiver.cts_unsent = 0;
  for (int slot = 0; slot < RW_SLOTS; slot++)
    if (waits(c, slot) && c->receiver.cts_under_way[slot] == 0) post(c, slot);
}

void rw_cts_acked(struct rw_comm *c, int slot) {
  c->receiver.cts_under_way[slot]--;
  c->receiver.cts_acked[slot] = true;
}

// The write failed at this end, but a packet of it may still be on its way: the slot is not used again before the other
// end has closed the queue pair. The entry itself goes over another one at once; it says the same.
void rw_cts_failed(struct rw_comm *c, struct rw_qp *q, int slot) {
  q->stuck_cts[slot]++;
  if (waits(c, slot) && c->receiver.cts_qp[slot] == q - c->qps) post(c, slot);
}

void rw_cts_released(struct rw_comm *c, struct rw_qp *q) {
  for (int slot = 0; slot < RW_SLOTS; slot++) {
    if (q->stuck_cts[slot] == 0) continue;
    c->receiver.cts_under_way[slot] = (uint8_t)(c->receiver.cts_under_way[slot] - q->stuck_cts[slot]);
    if (waits(c, slot) && c->receiver.cts_under_way[slot] == 0) c->receiver.cts_unsent++;
  }
  memset(q->stuck_cts, 0, sizeof(q->stuck_cts));
}

void rw_cts_elsewhere(struct rw_comm *c, const struct rw_qp *suspect) {
  if (c->live.all_suspect) return;
  for (int slot = 0; slot < RW_SLOTS; slot++)
    if (waits(c, slot) && c->receiver.cts_qp[slot] == suspect - c->qps && c->receiver.cts_under_way[slot] < 100)
      post(c, slot);
}

struct rw_request *rw_recv_start(struct rw_comm *c, int n, void **data, const size_t *sizes, const int *tags,
                                 void **mrs) {
  int slot = (int)(c->requests.head % RW_SLOTS);
  if (c->receiver.slots[slot] || c->receiver.cts_under_way[slot]) return NULL;
  struct rw_request *r = rw_request_get(c, RW_RECV);
  if (!r) return NULL;
  c->now_ms = rw_now_ns() / 1000000;
  r->id = c->requests.head++;
  r->n = n;
  for (int i = 0; i < n; i++) {
    const struct rw_mr *mr = mrs[i];
    struct rw_cts *cts = &c->shared->cts_out[slot][i];
    r->received[i] = false;
    r->seen[i] = 0;
    r->sizes[i] = 0;
    cts->address = htole64((uintptr_t)data[i]);
    cts->size = htole64(sizes[i]);
    for (int d = 0; d < mr->n; d++) cts->rkeys[d] = htole32(mr->mrs[d]->rkey);
    cts->tag = htole32((uint32_t)tags[i]);
    cts->count = htole32((uint32_t)n);
    cts->number = htole64(r->id + 1);
  }
  c->receiver.slots[slot] = r;
  c->receiver.cts_acked[slot] = false;
  post(c, slot);
  return r;
}

static void complete_if_whole(struct rw_comm *c, struct rw_request *r, unsigned slot) {
  for (int i = 0; i < r->n; i++)
    if (!r->received[i]) return;
  r->done = true;
  c->receiver.slots[slot] = NULL;
}

void rw_recv_piece(struct rw_comm *c, uint32_t imm, uint32_t bytes) {
  unsigned receives = rw_imm_receives(imm);
  unsigned slot = imm >> 15 & 255, which = imm >> 12 & 7, piece = imm >> 6 & 63, count = (imm & 63) + 1;
  struct rw_request *r = c->receiver.slots[slot];
  bool known = r && (imm >> 23 & 127) == (uint32_t)(r->id / RW_SLOTS % 128);
  bool wanted = known && receives == 0 && which < (unsigned)r->n && piece < count && !(r->seen[which] >> piece & 1);
  if (known && receives) wanted = receives >> r->n == 0;
  for (int i = 0; wanted && receives >> i; i++) wanted = !(receives >> i & 1) || !r->seen[i];
  if (!wanted) {
    rw_fail(c, ncclInternalError, "a piece came that nobody waits for, or twice (immediate %08x)", imm);
    return;
  }
  c->receiver.cts_acked[slot] = true;  // else it could not have come
  for (unsigned i = 0; receives >> i; i++) {
    if (!(receives >> i & 1)) continue;
    r->seen[i] = 1;
    r->sizes[i] = le64toh(__atomic_load_n(&c->shared->size_in[slot][i], __ATOMIC_ACQUIRE));
    r->received[i] = true;
  }
  if (receives) {
    complete_if_whole(c, r, slot);
    return;
  }
  r->seen[which] |= (uint64_t)1 << piece;
  if (imm & RW_IMM_SIZED)
    r->sizes[which] = le64toh(__atomic_load_n(&c->shared->size_in[slot][which], __ATOMIC_ACQUIRE));
  else r->sizes[which] += bytes;
  if (r->seen[which] != UINT64_MAX >> (64 - count)) return;
  r->received[which] = true;
  complete_if_whole(c, r, slot);
}
