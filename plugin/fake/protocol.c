#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nic.h"

// Cumulative sequence numbers; no wrap within a test.
static int64_t distance(uint32_t a, uint32_t b) { return (int32_t)(a - b); }

void fake_complete(struct ibv_cq *base, const struct ibv_wc *wc) {
  struct fake_cq *cq = (struct fake_cq *)base;
  uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
  if (tail - atomic_load(&cq->head) == cq->size) {
    fprintf(stderr, "fake verbs: completion queue overrun (%u)\n", cq->size);
    abort();
  }
  cq->entries[tail % cq->size] = *wc;
  atomic_store_explicit(&cq->tail, tail + 1, memory_order_release);
}

static int completion_of(int opcode) {
  switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM: return IBV_WC_SEND;
    case IBV_WR_RDMA_READ: return IBV_WC_RDMA_READ;
    default: return IBV_WC_RDMA_WRITE;
  }
}

static void complete_send(struct fake_qp *q, int status) {
  struct fake_send *s = &q->sends[q->send_head++ % q->send_size];
  if (status == IBV_WC_SUCCESS && !s->signaled) return;
  struct ibv_wc wc = {.wr_id = s->wr_id,
                      .status = status,
                      .opcode = completion_of(s->opcode),
                      .qp_num = q->base.qp_num,
                      .vendor_err = status == IBV_WC_SUCCESS ? 0 : 0x81};
  fake_complete(q->base.send_cq, &wc);
}

void fake_qp_error(struct fake_qp *q, int status) {
  q->base.state = IBV_QPS_ERR;
  while (q->send_head != q->send_tail) {
    complete_send(q, status);
    status = IBV_WC_WR_FLUSH_ERR;
  }
  while (q->recv_head != q->recv_tail) {
    struct ibv_wc wc = {.wr_id = q->recvs[q->recv_head++ % q->recv_size].wr_id,
                        .status = IBV_WC_WR_FLUSH_ERR,
                        .opcode = IBV_WC_RECV,
                        .qp_num = q->base.qp_num};
    fake_complete(q->base.recv_cq, &wc);
  }
}

// -- requester

static struct fake_send *send_of(struct fake_qp *q, uint32_t psn) {
  for (uint32_t i = q->send_head; i != q->send_tail; i++) {
    struct fake_send *s = &q->sends[i % q->send_size];
    if (distance(psn, s->first_psn) >= 0 && distance(psn, s->first_psn + s->packets) < 0) return s;
  }
  return NULL;
}

static bool gather(struct fake_send *s, uint64_t offset, uint32_t n, uint8_t *to) {
  if (s->copied) {
    memcpy(to, s->inline_data + offset, n);
    return true;
  }
  for (int i = 0; i < s->n_sge && n; i++) {
    const struct ibv_sge *g = &s->sges[i];
    if (offset >= g->length) {
      offset -= g->length;
      continue;
    }
    uint32_t part = g->length - offset < n ? (uint32_t)(g->length - offset) : n;
    const void *from = fake_memory(g->lkey, g->addr + offset, part);
    if (!from) return false;
    fake_copy(to, from, part);
    to += part;
    n -= part;
    offset = 0;
  }
  return n == 0;
}

bool fake_has_address(const struct fake_qp *q) {
  const struct fake_gid *gid = &fake_nic.fabric->ports[q->host][q->device].gids[q->source_end % FAKE_GIDS];
  return atomic_load(&gid->present) && atomic_load(&gid->interface) == q->source_interface;
}

static uint64_t timeout_ns(const struct fake_qp *q) { return (uint64_t)4096 << q->timeout; }

// False: the wire is full.
static bool sent(struct fake_packet *p, uint64_t now) {
  enum fake_sent done = fake_wire_send(p, now);
  if (done == FAKE_ARRIVED) fake_deliver(p);
  return done != FAKE_FULL;
}

bool fake_transmit(struct fake_qp *q, uint64_t now, uint64_t *again) {
  if (q->base.state != IBV_QPS_RTS || q->next_psn == q->last_psn) return false;
  if (distance(q->next_psn, q->unacked_psn) >= FAKE_WINDOW) return false;
  if (now < q->wait_until_ns) {
    if (q->wait_until_ns < *again) *again = q->wait_until_ns;
    return false;
  }
  static struct fake_packet p;
  struct fake_send *s = send_of(q, q->next_psn);
  uint64_t offset = (uint64_t)(q->next_psn - s->first_psn) * FAKE_PACKET;
  bool read = s->opcode == IBV_WR_RDMA_READ;
  uint32_t n = read ? 0 : (uint32_t)(s->length - offset < FAKE_PACKET ? s->length - offset : FAKE_PACKET);
  int from_end, to_end;
  fake_route(fake_nic.fabric, q->source_end, q->target_end, q->flow_label, &from_end, &to_end);
  if (to_end < 0) to_end = 0;
  const struct fake_path *path = &fake_nic.fabric->paths[from_end][to_end];
  uint32_t rate = atomic_load_explicit(&path->mbytes_per_s, memory_order_relaxed);
  uint64_t *free_ns = &fake_nic.free_ns[from_end % (FAKE_DEVICES * FAKE_GIDS)][to_end];
  // A small one does not wait for a large packet of another queue pair: on a wire that would be 4 KiB, here it is 32.
  if (rate && n > 1024 && now < *free_ns) {
    if (*free_ns < *again) *again = *free_ns;
    return false;
  }
  p.h = (struct fake_header){.type = FAKE_DATA,
                             .source_qp = q->base.qp_num,
                             .target_qp = q->target_qp,
                             .psn = q->next_psn,
                             .length = n,
                             .opcode = (uint32_t)s->opcode,
                             .imm = s->imm,
                             .rkey = s->rkey,
                             .first = offset == 0,
                             .last = q->next_psn + 1 == s->first_psn + s->packets,
                             .total = (uint32_t)s->length,
                             .source_end = q->source_end,
                             .target_end = q->target_end,
                             .flow_label = q->flow_label,
                             .address = s->remote_address + offset};
  if (n && !gather(s, offset, n, p.data)) {
    fake_qp_error(q, IBV_WC_LOC_PROT_ERR);
    return false;
  }
  // Before it goes, since its acknowledgement may come while it is being sent (direct delivery).
  if (q->next_psn == q->unacked_psn || q->timer_ns == 0) q->timer_ns = now + timeout_ns(q);
  q->next_psn++;
  if (fake_has_address(q) && !sent(&p, now)) {
    q->next_psn--;
    return false;
  }
  // Late by less than a timer's grain: the path was not idle, the engine was.
  uint64_t from = *free_ns > now || now - *free_ns < 20000000 ? *free_ns : now;
  if (rate) *free_ns = from + (uint64_t)(n + 64) * 1000 / rate;
  return true;
}

void fake_timers(struct fake_qp *q, uint64_t now, uint64_t *again) {
  if (q->base.state != IBV_QPS_RTS || q->timer_ns == 0 || q->timeout == 0) return;
  if (now < q->timer_ns) {
    if (q->timer_ns < *again) *again = q->timer_ns;
    return;
  }
  if (q->retries-- == 0) {
    fake_qp_error(q, IBV_WC_RETRY_EXC_ERR);
    return;
  }
  q->next_psn = q->unacked_psn;
  q->timer_ns = now + timeout_ns(q);
  *again = now;
}

static void acknowledged(struct fake_qp *q, uint32_t psn) {
  if (distance(psn, q->unacked_psn) < 0 || distance(psn, q->last_psn) >= 0) return;
  q->unacked_psn = psn + 1;
  if (distance(q->next_psn, q->unacked_psn) < 0) q->next_psn = q->unacked_psn;
  q->retries = q->retry_count;
  q->timer_ns = q->unacked_psn == q->next_psn ? 0 : fake_now_ns() + timeout_ns(q);
  while (q->send_head != q->send_tail) {
    const struct fake_send *s = &q->sends[q->send_head % q->send_size];
    if (distance(q->unacked_psn, s->first_psn + s->packets) < 0) break;
    complete_send(q, IBV_WC_SUCCESS);
  }
}

// -- responder

static void answer(const struct fake_qp *q, const struct fake_packet *to, enum fake_type type, uint32_t psn,
                   const void *data, uint32_t n) {
  static struct fake_packet p;
  p.h = (struct fake_header){.type = type,
                             .source_qp = to->h.target_qp,
                             .target_qp = to->h.source_qp,
                             .psn = psn,
                             .length = n,
                             .source_end = to->h.target_end,
                             .target_end = to->h.source_end,
                             .flow_label = q->flow_label};
  if (n) fake_copy(p.data, data, n);
  sent(&p, fake_now_ns());
}

static void receive_done(struct fake_qp *q, const struct fake_packet *p, int opcode) {
  const struct fake_recv *r = &q->recvs[q->recv_head++ % q->recv_size];
  bool imm = p->h.opcode == IBV_WR_RDMA_WRITE_WITH_IMM || p->h.opcode == IBV_WR_SEND_WITH_IMM;
  struct ibv_wc wc = {.wr_id = r->wr_id,
                      .opcode = opcode,
                      .byte_len = p->h.total,
                      .imm_data = imm ? p->h.imm : 0,
                      .wc_flags = imm ? IBV_WC_WITH_IMM : 0,
                      .qp_num = q->base.qp_num};
  fake_complete(q->base.recv_cq, &wc);
}

// False where the packet is refused: the answer has been sent.
static bool execute(struct fake_qp *q, struct fake_packet *p) {
  bool sends = p->h.opcode == IBV_WR_SEND || p->h.opcode == IBV_WR_SEND_WITH_IMM;
  bool takes = sends || (p->h.opcode == IBV_WR_RDMA_WRITE_WITH_IMM && p->h.last);
  void *to = NULL;
  if (takes && q->recv_head == q->recv_tail) {
    answer(q, p, FAKE_NAK_RNR, p->h.psn, NULL, 0);
    return false;
  }
  if (p->h.opcode == IBV_WR_RDMA_READ) {
    const void *from = fake_memory(p->h.rkey, p->h.address, p->h.total);
    if (from && p->h.total <= FAKE_PACKET) {
      answer(q, p, FAKE_READ_RESPONSE, p->h.psn, from, p->h.total);
      return true;
    }
  } else if (sends) {
    const struct fake_recv *r = &q->recvs[q->recv_head % q->recv_size];
    if (p->h.first) q->arrived_bytes = 0;
    to = r->n_sge && q->arrived_bytes + p->h.length <= r->sge.length
             ? fake_memory(r->sge.lkey, r->sge.addr + q->arrived_bytes, p->h.length)
             : NULL;
    q->arrived_bytes += p->h.length;
  } else if (p->h.length) {
    to = fake_memory(p->h.rkey, p->h.address, p->h.length);
  }
  if (p->h.opcode == IBV_WR_RDMA_READ || (p->h.length && !to)) {
    answer(q, p, FAKE_NAK_ACCESS, p->h.psn, NULL, 0);
    fake_qp_error(q, IBV_WC_WR_FLUSH_ERR);
    return false;
  }
  if (p->h.length) fake_copy(to, p->data, p->h.length);
  if (takes && p->h.last) receive_done(q, p, sends ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM);
  return true;
}

static void request_arrived(struct fake_qp *q, struct fake_packet *p) {
  int64_t ahead = distance(p->h.psn, q->expected_psn);
  if (ahead > 0) {
    if (!q->nak_sent) answer(q, p, FAKE_NAK_SEQUENCE, q->expected_psn, NULL, 0);
    q->nak_sent = true;
    return;
  }
  if (ahead < 0) {
    if (p->h.opcode == IBV_WR_RDMA_READ) execute(q, p);  // a read may be repeated
    else answer(q, p, FAKE_ACK, q->expected_psn - 1, NULL, 0);
    return;
  }
  if (!execute(q, p)) return;
  q->expected_psn++;
  q->nak_sent = false;
  if (p->h.opcode != IBV_WR_RDMA_READ && (p->h.last || p->h.psn % 8 == 0)) answer(q, p, FAKE_ACK, p->h.psn, NULL, 0);
}

void fake_deliver(struct fake_packet *p) {
  struct fake_qp *q = p->h.target_qp < FAKE_QPS ? fake_nic.qps[p->h.target_qp] : NULL;
  int host = p->h.target_end / (FAKE_DEVICES * FAKE_GIDS), device = p->h.target_end / FAKE_GIDS % FAKE_DEVICES;
  const struct fake_port *port = &fake_nic.fabric->ports[host][device];
  if (!atomic_load(&port->up)) return;
  if (!q || (q->base.state != IBV_QPS_RTR && q->base.state != IBV_QPS_RTS) || q->target_qp != p->h.source_qp) return;
  if (!fake_has_address(q)) return;
  switch (p->h.type) {
    case FAKE_DATA: request_arrived(q, p); break;
    case FAKE_ACK: acknowledged(q, p->h.psn); break;
    case FAKE_NAK_SEQUENCE:
      acknowledged(q, p->h.psn - 1);
      if (distance(p->h.psn, q->unacked_psn) >= 0) q->next_psn = q->unacked_psn;
      break;
    case FAKE_NAK_RNR:
      acknowledged(q, p->h.psn - 1);
      q->next_psn = q->unacked_psn;
      q->wait_until_ns = fake_now_ns() + 1000000;
      q->timer_ns = q->wait_until_ns + timeout_ns(q);
      break;
    case FAKE_NAK_ACCESS:
      if (p->h.psn == q->unacked_psn || distance(p->h.psn, q->unacked_psn) > 0) {
        acknowledged(q, p->h.psn - 1);
        fake_qp_error(q, IBV_WC_REM_ACCESS_ERR);
      }
      break;
    case FAKE_READ_RESPONSE: {
      struct fake_send *s = send_of(q, p->h.psn);
      if (!s || s->opcode != IBV_WR_RDMA_READ || distance(p->h.psn, q->unacked_psn) < 0) break;
      void *to = fake_memory(s->sges[0].lkey, s->sges[0].addr, p->h.length);
      if (to) fake_copy(to, p->data, p->h.length);
      acknowledged(q, p->h.psn);
      break;
    }
    default: break;
  }
}
