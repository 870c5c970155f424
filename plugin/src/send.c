// Sending: a message goes out in pieces, each over one queue pair, into the memory that the receiver named.
#include "send.h"

#include "clock.h"
#include "failure.h"
#include "params.h"
#include "profiler.h"
#include "verbs.h"

// Pieces begin at multiples of this, which NCCL's LL and LL128 protocols rely on.
enum { ALIGNMENT = 128 };
// Messages of one request below this size go out together.
enum { TOGETHER_BELOW = 65536 };

static bool room(const struct rw_qp *q) {
  return rw_state(q) == RW_QP_LIVE && !q->refused && q->posted - q->acked < RW_RING && q->sends_out <= RW_SEND_WRS - 8;
}

static void park(struct rw_comm *c, const struct rw_piece *p) {
  if (c->sender.pending_tail - c->sender.pending_head == c->sender.pending_size) {
    rw_fail(c, ncclInternalError, "more pieces wait than there can be");
    return;
  }
  c->sender.pending[c->sender.pending_tail++ % c->sender.pending_size] = *p;
}

// What a queue pair remembers of a piece that is on its way.
static inline void keep(struct rw_comm *c, struct rw_qp *q, const struct rw_piece *piece, int64_t now_ns) {
  struct rw_piece *kept = &q->ring[q->posted++ % RW_RING];
  *kept = *piece;
  kept->posted_ns = now_ns;
  rw_profile_start(c, q, &c->requests.all[piece->request], kept);
  rw_load_posted(&c->live.of_qp[q - c->qps], piece->length);
  rw_count(&q->counters.pieces, 1);
  rw_count(&q->counters.bytes, piece->length);
  if (piece->index == 0) rw_count(&q->counters.messages, 1);
}

static bool post(struct rw_comm *c, struct rw_qp *q, const struct rw_piece *piece, int64_t now_ns) {
  struct rw_request *r = &c->requests.all[piece->request];
  unsigned index = (unsigned)(q - c->qps), slot = (unsigned)(r->id % RW_SLOTS);
  struct ibv_sge data = {.addr = r->data + piece->offset, .length = piece->length};
  if (piece->length) data.lkey = r->mr->mrs[q->device[0]]->lkey;
  // Of all pieces of a message or of none: the receiver either adds pieces up or is told the sum.
  bool separate = c->settings.adaptive_routing && r->sizes[0] > (size_t)rw_params.ar_threshold;
  struct ibv_sge size = {.addr = (uintptr_t)&c->shared->size_out[slot][r->n],
                         .length = 8,
                         .lkey = c->devices[q->device[0]].shared_mr->lkey};
  struct ibv_send_wr notify = {
      .wr_id = rw_work_id(RW_WORK_PIECE, index, q->posted),
      .sg_list = separate ? &size : &data,
      .num_sge = separate || piece->length ? 1 : 0,
      .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
      .send_flags = IBV_SEND_SIGNALED,
      .imm_data = htobe32(rw_imm(r->id, (unsigned)r->n, piece->index, piece->count) | (separate ? RW_IMM_SIZED : 0)),
      .wr.rdma = {.remote_addr = r->address + piece->offset, .rkey = r->rkeys[q->device[1]]},
  };
  struct ibv_send_wr bulk = {
      .wr_id = rw_work_id(RW_WORK_BULK, index, q->posted),
      .next = &notify,
      .sg_list = &data,
      .num_sge = 1,
      .opcode = IBV_WR_RDMA_WRITE,
      .send_flags = IBV_SEND_SIGNALED,
      .wr.rdma = notify.wr.rdma,
  };
  if (separate) {
    c->shared->size_out[slot][r->n] = htole64(r->sizes[0]);
    notify.wr.rdma.remote_addr =
        c->remote_shared + offsetof(struct rw_shared, size_in) + (slot * RW_RECVS + (unsigned)r->n) * 8;
    notify.wr.rdma.rkey = c->devices[q->device[1]].remote_rkey;
  } else if (piece->length <= (uint32_t)q->max_inline && r->mr && r->mr->host) {
    notify.send_flags |= IBV_SEND_INLINE;
  }
  struct ibv_send_wr *bad = NULL;
  if (q->sends_out == 0) q->progress_ms = c->now_ms;
  if (q->qp->context->ops.post_send(q->qp, separate ? &bulk : &notify, &bad)) {
    rw_qp_refuses(c, q);
    if (!separate || bad != &notify) return false;
    q->sends_out++;
    keep(c, q, piece, now_ns);  // the data is on its way: it goes elsewhere when both ends have closed the queue pair
    return true;
  }
  q->sends_out += separate ? 2 : 1;
  keep(c, q, piece, now_ns);
  return true;
}

static void post_or_park(struct rw_comm *c, struct rw_qp *q, const struct rw_piece *piece, int64_t now_ns) {
  if (!q || !room(q) || !post(c, q, piece, now_ns)) park(c, piece);
}

// The queue pair of a whole message or piece: the next in turn, or a less loaded one.
static struct rw_qp *next_qp(struct rw_comm *c, uint64_t size) {
  if (c->live.n == 0) return NULL;
  int n = c->live.n < RW_SPREAD ? c->live.n : RW_SPREAD, first = c->sender.turn < c->live.n ? c->sender.turn : 0;
  bool even = !c->live.limited && !c->live.uneven && rw_params.weights;
  int chosen = even ? rw_choose_least(n, c->live.loads + first)
                    : rw_choose(size, n, c->live.loads + first, rw_params.weights != 0);
  // From the one that was chosen, so that those which slow ones leave their turns to are others each time.
  c->sender.turn = first + chosen + 1;
  if (c->sender.turn >= c->live.n) c->sender.turn -= c->live.n;
  struct rw_qp *q = &c->qps[c->live.qps[first + chosen]];
  for (int k = 0; k < n && !room(q); k++) q = &c->qps[c->live.qps[first + k]];
  return q;
}

static bool splits(size_t size) {
  if (rw_params.split >= 0) return rw_params.split != 0 && size > 0;
  return size >= (size_t)rw_params.split_bytes;
}

static void send_whole(struct rw_comm *c, struct rw_request *r, size_t size, int64_t now_ns) {
  int count = (int)((size + c->settings.max_message - 1) / c->settings.max_message);
  if (count == 0) count = 1;
  r->left = count;
  for (int i = 0; i < count; i++) {
    uint64_t offset = (uint64_t)i * c->settings.max_message;
    struct rw_piece piece = {
        .request = (uint16_t)(r - c->requests.all),
        .index = (uint8_t)i,
        .count = (uint8_t)count,
        .offset = offset,
        .length = (uint32_t)(size - offset < c->settings.max_message ? size - offset : c->settings.max_message)};
    post_or_park(c, next_qp(c, piece.length), &piece, now_ns);
  }
}

static void send_split(struct rw_comm *c, struct rw_request *r, size_t size, int64_t now_ns) {
  struct rw_piece pieces[RW_CHUNKS];
  struct rw_qp *qps[RW_CHUNKS];
  uint64_t bytes[RW_SPREAD], sum = 0, from = 0;
  int n = c->live.n < RW_SPREAD ? c->live.n : RW_SPREAD, count = 0;
  // With more queue pairs than share one message, the next message starts at the next ones.
  int first = n < c->live.n ? (c->sender.turn = (c->sender.turn + n) % c->live.n) : 0;
  rw_divide(size, n, c->live.loads + first, rw_params.weights != 0, bytes);
  for (int k = 0; k < n && from < size; k++) {
    struct rw_qp *q = &c->qps[c->live.qps[first + k]];
    sum += bytes[k];
    uint64_t to = sum == size ? size : (sum + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
    if (to > size) to = size;
    while (from < to && count < RW_CHUNKS) {
      uint64_t length = to - from < c->settings.max_message ? to - from : c->settings.max_message;
      pieces[count] = (struct rw_piece){.request = (uint16_t)(r - c->requests.all),
                                        .index = (uint8_t)count,
                                        .offset = from,
                                        .length = (uint32_t)length};
      qps[count++] = q;
      from += length;
    }
  }
  if (from < size) {
    rw_fail(c, ncclInvalidUsage, "a message of %zu bytes is larger than this device sends (maxP2pBytes)", size);
    return;
  }
  r->left = count;
  for (int i = 0; i < count; i++) {
    pieces[i].count = (uint8_t)count;
    post_or_park(c, qps[i], &pieces[i], now_ns);
  }
}

// Small messages of one request go out together over one queue pair, with one notification: every one of them costs a
// work request, but only one a completion at each end. False where that cannot be now.
static bool send_together(struct rw_comm *c, uint64_t id, uint64_t total, int64_t now_ns) {
  struct ibv_send_wr wrs[RW_RECVS + 1], *bad = NULL;
  struct ibv_sge sges[RW_RECVS + 1];
  int n = 0, receives = 0;
  unsigned slot = (unsigned)(id % RW_SLOTS);
  struct rw_qp *q = next_qp(c, total);
  if (!q || !room(q) || q->posted - q->acked > RW_RING - RW_RECVS) return false;
  unsigned index = (unsigned)(q - c->qps);
  for (int i = 0; i < RW_RECVS; i++) {
    if (!(c->sender.held >> i & 1)) continue;
    struct rw_request *r = &c->requests.all[c->sender.holds[i]];
    receives = i + 1;
    if (!r->sizes[0]) continue;
    sges[n] =
        (struct ibv_sge){.addr = r->data, .length = (uint32_t)r->sizes[0], .lkey = r->mr->mrs[q->device[0]]->lkey};
    wrs[n] = (struct ibv_send_wr){.wr_id = rw_work_id(RW_WORK_QUIET, index, q->epoch),
                                  .next = &wrs[n + 1],
                                  .sg_list = &sges[n],
                                  .num_sge = 1,
                                  .opcode = IBV_WR_RDMA_WRITE,
                                  .wr.rdma = {.remote_addr = r->address, .rkey = r->rkeys[q->device[1]]}};
    n++;
  }
  sges[n] = (struct ibv_sge){.addr = (uintptr_t)c->shared->size_out[slot],
                             .length = (uint32_t)receives * 8,
                             .lkey = c->devices[q->device[0]].shared_mr->lkey};
  wrs[n] = (struct ibv_send_wr){
      .wr_id = rw_work_id(RW_WORK_GROUP, index, (unsigned)__builtin_popcount(c->sender.held)),
      .sg_list = &sges[n],
      .num_sge = 1,
      .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
      .send_flags = IBV_SEND_SIGNALED,
      .imm_data = htobe32(rw_imm_group(id, c->sender.held)),
      .wr.rdma = {.remote_addr = c->remote_shared + offsetof(struct rw_shared, size_in) + slot * RW_RECVS * 8,
                  .rkey = c->devices[q->device[1]].remote_rkey}};
  if (q->sends_out == 0) q->progress_ms = c->now_ms;
  if (q->qp->context->ops.post_send(q->qp, wrs, &bad)) {
    rw_qp_refuses(c, q);
    if (bad == wrs) return false;  // else as above
  } else {
    q->sends_out++;
  }
  for (int i = 0; i < RW_RECVS; i++) {
    if (!(c->sender.held >> i & 1)) continue;
    struct rw_request *r = &c->requests.all[c->sender.holds[i]];
    struct rw_piece piece = {.request = c->sender.holds[i], .count = 1, .length = (uint32_t)r->sizes[0]};
    r->left = 1;
    keep(c, q, &piece, now_ns);
  }
  return true;
}

static void send_held(struct rw_comm *c, uint64_t id, int64_t now_ns) {
  uint64_t total = 0;
  for (int i = 0; i < RW_RECVS; i++)
    if (c->sender.held >> i & 1) total += c->requests.all[c->sender.holds[i]].sizes[0];
  bool alone = (c->sender.held & (c->sender.held - 1)) == 0;
  if (alone || !send_together(c, id, total, now_ns))
    for (int i = 0; i < RW_RECVS; i++) {
      struct rw_request *r = &c->requests.all[c->sender.holds[i]];
      if (c->sender.held >> i & 1) send_whole(c, r, r->sizes[0], now_ns);
    }
  c->sender.held = 0;
}

// The group of receives that is next, if the receiver has named it whole: how many, else 0.
static int next_group(const struct rw_comm *c) {
  const struct rw_cts *cts = c->shared->cts_in[c->requests.head % RW_SLOTS];
  uint64_t number = htole64(c->requests.head + 1);
  if (__atomic_load_n(&cts[0].number, __ATOMIC_ACQUIRE) != number) return 0;
  int n = (int)le32toh(cts[0].count);
  if (n < 1 || n > RW_RECVS) return 0;
  for (int i = 1; i < n; i++)
    if (__atomic_load_n(&cts[i].number, __ATOMIC_ACQUIRE) != number) return 0;
  return n;
}

ncclResult_t rw_isend(struct rw_comm *c, void *data, size_t size, int tag, const struct rw_mr *mr, void *phandle,
                      void **request) {
  *request = NULL;
  ncclResult_t error = atomic_load_explicit(&c->error, memory_order_relaxed);
  if (error != ncclSuccess) return error;
  int n = next_group(c), which = 0;
  const struct rw_cts *cts = c->shared->cts_in[c->requests.head % RW_SLOTS];
  while (which < n && (c->sender.taken >> which & 1 || le32toh(cts[which].tag) != (uint32_t)tag)) which++;
  if (which == n) {
    // Only now and then: this is asked again and again.
    if (!atomic_load_explicit(&c->sender.wanted, memory_order_relaxed))
      atomic_store_explicit(&c->sender.wanted, true, memory_order_relaxed);
    return ncclSuccess;
  }
  if (!rw_comm_enter(c)) return ncclSuccess;
  struct rw_request *r = rw_request_get(c, RW_SEND);
  if (!r) return ncclSuccess;
  uint64_t fits = le64toh(cts[which].size);
  r->id = c->requests.head;
  r->n = which;
  r->data = (uintptr_t)data;
  r->sizes[0] = size < fits ? size : fits;
  r->mr = mr;
  r->address = le64toh(cts[which].address);
  for (int i = 0; i < c->n_remote_devices; i++) r->rkeys[i] = le32toh(cts[which].rkeys[i]);
  r->phandle = phandle;
  c->sender.taken |= 1u << which;
  // Of each, before the last goes: the sizes of those that go together lie among them.
  if (n > 1) c->shared->size_out[r->id % RW_SLOTS][which] = htole64(r->sizes[0]);
  bool last = c->sender.taken == (1u << n) - 1;
  if (last) {
    c->sender.taken = 0;
    c->requests.head++;
  }
  int64_t now_ns = rw_now_ns();
  c->now_ms = now_ns / 1000000;
  if (n > 1 && r->sizes[0] < TOGETHER_BELOW) {
    c->sender.held |= 1u << which;
    c->sender.holds[which] = (uint16_t)(r - c->requests.all);
    r->left = 1;
  } else if (splits(r->sizes[0]) && c->live.n) {
    send_split(c, r, r->sizes[0], now_ns);
  } else {
    send_whole(c, r, r->sizes[0], now_ns);
  }
  if (last && c->sender.held) send_held(c, r->id, now_ns);
  error = atomic_load_explicit(&c->error, memory_order_relaxed);
  if (error == ncclSuccess) *request = r;
  return error;
}

static void piece_done(struct rw_comm *c, struct rw_piece *p) {
  struct rw_request *r = &c->requests.all[p->request];
  rw_profile_stop(p);
  if (r->kind == RW_SEND && !r->done && --r->left == 0) r->done = true;
}

// The rate tells how long silence may last before it means anything (tick.c). Below this size the round trip, not the
// rate, is what a completion measures.
static void sample_rate(struct rw_qp *q, uint32_t bytes, int64_t posted_ns, int64_t now_ns) {
  enum { LEAST_BYTES = 16384 };
  int64_t start = posted_ns > q->last_ns ? posted_ns : q->last_ns;
  if (bytes >= LEAST_BYTES && now_ns > start) {
    float sample = (float)(now_ns - start) / (float)bytes;
    q->ns_per_byte = q->ns_per_byte > 0 ? q->ns_per_byte + (sample - q->ns_per_byte) / 8 : sample;
  }
  q->last_ns = now_ns;
}

void rw_send_acked(struct rw_comm *c, struct rw_qp *q, int64_t now_ns) {
  struct rw_piece *p = &q->ring[q->acked++ % RW_RING];
  rw_load_done(&c->live.of_qp[q - c->qps], p->length, p->posted_ns, now_ns);
  rw_histogram_add(&q->counters.latency, (uint64_t)(now_ns - p->posted_ns));
  sample_rate(q, p->length, p->posted_ns, now_ns);
  piece_done(c, p);
}

// Both ends have closed the queue pair: what arrived is done although no acknowledgement came back, the rest goes
// elsewhere.
void rw_send_lost(struct rw_comm *c, struct rw_qp *q, uint32_t arrived) {
  if (!c->sends) return;
  if (arrived - q->acked > q->posted - q->acked) {
    rw_fail(c, ncclInternalError, "the other end counts %u pieces on queue pair %d, this end sent %u to %u", arrived,
            (int)(q - c->qps), q->acked, q->posted);
    return;
  }
  while (q->acked != arrived) piece_done(c, &q->ring[q->acked++ % RW_RING]);
  for (; q->acked != q->posted; q->acked++) {
    struct rw_piece *p = &q->ring[q->acked % RW_RING];
    rw_profile_stop(p);
    rw_count(&q->counters.resent, 1);
    park(c, p);
  }
}

void rw_send_pending(struct rw_comm *c) {
  if (c->sender.pending_head == c->sender.pending_tail) return;
  int64_t now_ns = rw_now_ns();
  while (c->sender.pending_head != c->sender.pending_tail) {
    struct rw_piece piece = c->sender.pending[c->sender.pending_head % c->sender.pending_size];
    struct rw_qp *q = c->live.n ? next_qp(c, piece.length) : NULL;
    if (!q || !room(q)) return;
    if (!post(c, q, &piece, now_ns)) return;
    c->sender.pending_head++;
  }
}

void rw_send_complete_below(struct rw_comm *c, uint64_t complete) {
  if (!c->sends) return;
  c->sender.pending_head = c->sender.pending_tail;
  for (int i = 0; i < RW_REQUESTS; i++) {
    struct rw_request *r = &c->requests.all[i];
    if (r->kind == RW_SEND && r->id < complete) r->done = true;
  }
}
