// Completion queues and queue pairs of the fake NIC.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nic.h"

static void lock(void) { pthread_mutex_lock(&fake_nic.lock); }
static void unlock(void) { pthread_mutex_unlock(&fake_nic.lock); }

// Index 0 is link-local, as on real ports. The rest is rotated by the number of changes: nobody may rely on an index.
int fake_gid_index(const struct fake_port *port, int gid) {
  int n = fake_nic.fabric->gids;
  return 1 + (gid + (int)atomic_load(&port->gid_changes)) % n;
}

static bool refused(_Atomic int *count) {
  int left = atomic_load(count);
  return left < 0 || (left > 0 && atomic_fetch_sub(count, 1) == 1);
}

int fake_poll_cq(struct ibv_cq *base, int n, struct ibv_wc *wc) {
  struct fake_cq *cq = (struct fake_cq *)base;
  uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
  uint32_t there = atomic_load_explicit(&cq->tail, memory_order_acquire) - head;
  if (there < (uint32_t)n) n = (int)there;
  for (int i = 0; i < n; i++) wc[i] = cq->entries[(head + (uint32_t)i) % cq->size];
  atomic_store_explicit(&cq->head, head + (uint32_t)n, memory_order_release);
  return n;
}

int fake_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad) {
  struct fake_qp *q = (struct fake_qp *)base;
  int error = 0;
  lock();
  for (; wr && !error; wr = wr->next) {
    *bad = wr;
    if (base->state < IBV_QPS_RTS || wr->num_sge > FAKE_SGES) error = EINVAL;
    else if (q->send_tail - q->send_head == q->send_size) error = ENOMEM;
    struct fake_port *port = &fake_nic.fabric->ports[q->host][q->device];
    if (refused(wr->opcode == IBV_WR_RDMA_READ ? &port->refuse_read : &port->refuse_send)) error = ENOMEM;
    if (error) break;
    struct fake_send *s = &q->sends[q->send_tail++ % q->send_size];
    *s = (struct fake_send){.wr_id = wr->wr_id,
                            .opcode = wr->opcode,
                            .imm = wr->imm_data,
                            .n_sge = wr->num_sge,
                            .remote_address = wr->wr.rdma.remote_addr,
                            .rkey = wr->wr.rdma.rkey,
                            .signaled = wr->send_flags & IBV_SEND_SIGNALED};
    for (int i = 0; i < wr->num_sge; i++) {
      if (wr->send_flags & IBV_SEND_INLINE) {
        memcpy(s->inline_data + s->length, (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
        s->copied = true;
      }
      s->sges[i] = wr->sg_list[i];
      s->length += wr->sg_list[i].length;
    }
    s->packets = wr->opcode == IBV_WR_RDMA_READ ? 1 : (uint32_t)((s->length + FAKE_PACKET - 1) / FAKE_PACKET);
    if (s->packets == 0) s->packets = 1;
    s->first_psn = q->last_psn;
    q->last_psn += s->packets;
    if (base->state == IBV_QPS_ERR) fake_qp_error(q, IBV_WC_WR_FLUSH_ERR);
  }
  if (fake_nic.direct) {
    uint64_t again = 0;
    while (fake_transmit(q, fake_now_ns(), &again)) {
    }
  }
  unlock();
  if (!fake_nic.direct || q->next_psn != q->last_psn) fake_engine_wake();
  return error;
}

int fake_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad) {
  struct fake_qp *q = (struct fake_qp *)base;
  int error = 0;
  lock();
  for (; wr && !error; wr = wr->next) {
    *bad = wr;
    if (base->state < IBV_QPS_INIT || wr->num_sge > 1) error = EINVAL;
    else if (q->recv_tail - q->recv_head == q->recv_size) error = ENOMEM;
    if (refused(&fake_nic.fabric->ports[q->host][q->device].refuse_receive)) error = ENOMEM;
    if (error) break;
    struct fake_recv *r = &q->recvs[q->recv_tail++ % q->recv_size];
    *r = (struct fake_recv){.wr_id = wr->wr_id, .n_sge = wr->num_sge};
    if (wr->num_sge) r->sge = wr->sg_list[0];
    if (base->state == IBV_QPS_ERR) fake_qp_error(q, IBV_WC_WR_FLUSH_ERR);
  }
  unlock();
  return error;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context, void *channel, int vector) {
  struct fake_cq *cq = calloc(1, sizeof(*cq));
  (void)vector;
  if (!cq) return NULL;
  cq->size = (uint32_t)cqe;
  cq->entries = calloc((size_t)cqe, sizeof(*cq->entries));
  cq->base.context = context;
  cq->base.channel = channel;
  cq->base.cq_context = cq_context;
  cq->base.cqe = cqe;
  return &cq->base;
}
int ibv_destroy_cq(struct ibv_cq *base) {
  free(((struct fake_cq *)base)->entries);
  free(base);
  return 0;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr) {
  struct fake_qp *q = calloc(1, sizeof(*q));
  uint32_t number = 0;
  if (!q) return NULL;
  if (attr->cap.max_inline_data > 64) attr->cap.max_inline_data = 64;
  q->host = fake_nic.host;
  q->device = ((struct fake_context *)pd->context)->device;
  q->source_end = q->target_end = -1;
  q->send_size = attr->cap.max_send_wr ? attr->cap.max_send_wr : 1;
  q->recv_size = attr->cap.max_recv_wr ? attr->cap.max_recv_wr : 1;
  q->sends = calloc(q->send_size, sizeof(*q->sends));
  q->recvs = calloc(q->recv_size, sizeof(*q->recvs));
  q->base = (struct ibv_qp){.context = pd->context,
                            .qp_context = attr->qp_context,
                            .pd = pd,
                            .send_cq = attr->send_cq,
                            .recv_cq = attr->recv_cq,
                            .qp_type = attr->qp_type};
  // Numbers are not used again soon, so that packets for a queue pair that is gone find none.
  static uint32_t last = 0;
  lock();
  for (uint32_t tries = 1; tries < FAKE_QPS && !number; tries++) {
    last = last % (FAKE_QPS - 1) + 1;
    if (!fake_nic.qps[last]) number = last;
  }
  if (number) {
    q->base.qp_num = number;
    fake_nic.qps[number] = q;
    if ((int)number >= fake_nic.n_qps) fake_nic.n_qps = (int)number + 1;
  }
  unlock();
  if (number) return &q->base;
  free(q->sends);
  free(q->recvs);
  free(q);
  errno = ENOMEM;
  return NULL;
}

static int end_of_index(struct fake_qp *q, int index) {
  const struct fake_port *port = &fake_nic.fabric->ports[q->host][q->device];
  for (int g = 0; g < fake_nic.fabric->gids; g++)
    if (fake_gid_index(port, g) == index && atomic_load(&port->gids[g].present)) return fake_end(q->host, q->device, g);
  return -1;
}

int ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask) {
  struct fake_qp *q = (struct fake_qp *)base;
  int error = 0;
  lock();
  int from = base->state, to = mask & IBV_QP_STATE ? attr->qp_state : from;
  if (to == IBV_QPS_ERR) {
    fake_qp_error(q, IBV_WC_WR_FLUSH_ERR);
  } else if (to != from + 1) {
    error = EINVAL;
  } else if (to == IBV_QPS_RTR) {
    q->source_end = end_of_index(q, attr->ah_attr.grh.sgid_index);
    q->target_end = fake_end_of(fake_nic.fabric, attr->ah_attr.grh.dgid.raw);
    // Where the user gives none, drivers make one of the queue pairs' numbers.
    q->flow_label = attr->ah_attr.grh.flow_label;
    if (!q->flow_label || fake_nic.no_labels)
      q->flow_label = (base->qp_num * 0x9e3779b9u ^ attr->dest_qp_num) >> 4 & 0xfffff;
    q->target_qp = attr->dest_qp_num;
    q->expected_psn = attr->rq_psn & 0xffffff;
    if (q->source_end < 0) error = EINVAL;
    else if (q->target_end < 0) error = ENETUNREACH;
    if (!error)
      q->source_interface =
          atomic_load(&fake_nic.fabric->ports[q->host][q->device].gids[q->source_end % FAKE_GIDS].interface);
  } else if (to == IBV_QPS_RTS) {
    q->next_psn = q->unacked_psn = q->last_psn = attr->sq_psn & 0xffffff;
    q->timeout = attr->timeout;
    q->retry_count = q->retries = attr->retry_cnt;
  }
  if (!error) base->state = to;
  unlock();
  return error;
}

int ibv_destroy_qp(struct ibv_qp *base) {
  struct fake_qp *q = (struct fake_qp *)base;
  lock();
  fake_nic.qps[base->qp_num] = NULL;
  unlock();
  free(q->sends);
  free(q->recvs);
  free(q);
  return 0;
}
