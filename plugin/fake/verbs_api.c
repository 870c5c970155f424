// The functions of libibverbs that the plugin calls, over the fake NIC. RAILWEAVE_FAKE_FABRIC names the fabric's file,
// RAILWEAVE_FAKE_HOST says which of its hosts this process is; one process per host.
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nic.h"

struct fake_nic fake_nic = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct ibv_device devices[FAKE_DEVICES];

static void lock(void) { pthread_mutex_lock(&fake_nic.lock); }
static void unlock(void) { pthread_mutex_unlock(&fake_nic.lock); }

struct ibv_device **ibv_get_device_list(int *n) {
  const char *file = getenv("RAILWEAVE_FAKE_FABRIC"), *host = getenv("RAILWEAVE_FAKE_HOST");
  struct ibv_device **list = calloc(FAKE_DEVICES + 1, sizeof(*list));
  *n = 0;
  if (!file || !host || !list) return list;
  if (!fake_nic.fabric) fake_nic.fabric = fake_fabric_open(file);
  if (!fake_nic.fabric) {
    perror(file);
    return list;
  }
  fake_nic.host = atoi(host);
  fake_nic.direct = getenv("RAILWEAVE_FAKE_DIRECT") != NULL;
  for (; *n < fake_nic.fabric->devices; ++*n) {
    snprintf(devices[*n].name, sizeof(devices[*n].name), "fake%d", *n);
    devices[*n].node_type = 1;
    list[*n] = &devices[*n];
  }
  return list;
}

void ibv_free_device_list(struct ibv_device **list) { free(list); }
const char *ibv_get_device_name(struct ibv_device *device) { return device->name; }

static int poll_cq(struct ibv_cq *base, int n, struct ibv_wc *wc) {
  struct fake_cq *cq = (struct fake_cq *)base;
  uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
  uint32_t there = atomic_load_explicit(&cq->tail, memory_order_acquire) - head;
  if (there < (uint32_t)n) n = (int)there;
  for (int i = 0; i < n; i++) wc[i] = cq->entries[(head + (uint32_t)i) % cq->size];
  atomic_store_explicit(&cq->head, head + (uint32_t)n, memory_order_release);
  return n;
}

static int post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad) {
  struct fake_qp *q = (struct fake_qp *)base;
  int error = 0;
  lock();
  for (; wr && !error; wr = wr->next) {
    *bad = wr;
    if (base->state < IBV_QPS_RTS || wr->num_sge > FAKE_SGES) error = EINVAL;
    else if (q->send_tail - q->send_head == q->send_size) error = ENOMEM;
    if (error) break;
    struct fake_send *s = &q->sends[q->send_tail++ % q->send_size];
    *s = (struct fake_send){.wr_id = wr->wr_id, .opcode = wr->opcode, .imm = wr->imm_data, .n_sge = wr->num_sge,
                            .remote_address = wr->wr.rdma.remote_addr, .rkey = wr->wr.rdma.rkey,
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

static int post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad) {
  struct fake_qp *q = (struct fake_qp *)base;
  int error = 0;
  lock();
  for (; wr && !error; wr = wr->next) {
    *bad = wr;
    if (base->state < IBV_QPS_INIT || wr->num_sge > 1) error = EINVAL;
    else if (q->recv_tail - q->recv_head == q->recv_size) error = ENOMEM;
    if (error) break;
    struct fake_recv *r = &q->recvs[q->recv_tail++ % q->recv_size];
    *r = (struct fake_recv){.wr_id = wr->wr_id, .n_sge = wr->num_sge};
    if (wr->num_sge) r->sge = wr->sg_list[0];
    if (base->state == IBV_QPS_ERR) fake_qp_error(q, IBV_WC_WR_FLUSH_ERR);
  }
  unlock();
  return error;
}

struct ibv_context *ibv_open_device(struct ibv_device *device) {
  int pipes[2];
  struct fake_context *c = calloc(1, sizeof(*c));
  if (!c || pipe2(pipes, O_CLOEXEC | O_NONBLOCK)) {
    free(c);
    return NULL;
  }
  c->device = (int)(device - devices);
  c->base = (struct ibv_context){.device = device, .async_fd = pipes[0], .cmd_fd = -1, .num_comp_vectors = 1,
                                 .ops = {.poll_cq = poll_cq, .post_send = post_send, .post_recv = post_recv}};
  c->event_write = pipes[1];
  const struct fake_port *port = &fake_nic.fabric->ports[fake_nic.host][c->device];
  c->port_up = atomic_load(&port->up);
  c->gid_changes = atomic_load(&port->gid_changes);
  lock();
  fake_nic.contexts[c->device] = c;
  fake_engine_start();
  unlock();
  return &c->base;
}

int ibv_close_device(struct ibv_context *base) {
  struct fake_context *c = (struct fake_context *)base;
  bool last = true;
  lock();
  fake_nic.contexts[c->device] = NULL;
  for (int d = 0; d < FAKE_DEVICES; d++) last &= fake_nic.contexts[d] == NULL;
  unlock();
  if (last) {
    fake_engine_stop();
    fake_fabric_close(fake_nic.fabric);
    fake_nic.fabric = NULL;
  }
  close(c->base.async_fd);
  close(c->event_write);
  free(c);
  return 0;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event) {
  return read(context->async_fd, event, sizeof(*event)) == sizeof(*event) ? 0 : -1;
}
void ibv_ack_async_event(struct ibv_async_event *event) { (void)event; }

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr) {
  int device = ((struct fake_context *)context)->device;
  memset(attr, 0, sizeof(*attr));
  snprintf(attr->fw_ver, sizeof(attr->fw_ver), "fake");
  attr->node_guid = attr->sys_image_guid = htobe64((uint64_t)(fake_nic.host + 1) << 16 | (uint64_t)(device + 1));
  attr->max_qp = FAKE_QPS;
  attr->max_qp_wr = 16384;
  attr->max_mr = FAKE_MRS;
  attr->phys_port_cnt = 1;
  return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr) {
  int device = ((struct fake_context *)context)->device;
  if (port != 1) return EINVAL;
  *attr = (struct ibv_port_attr){
      .state = atomic_load(&fake_nic.fabric->ports[fake_nic.host][device].up) ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
      .max_mtu = IBV_MTU_4096,
      .active_mtu = IBV_MTU_4096,
      .gid_tbl_len = FAKE_GIDS + 1,
      .max_msg_sz = 1u << 30,
      .pkey_tbl_len = 1,
      .active_width = 2,
      .active_speed = 128,
      .link_layer = IBV_LINK_LAYER_ETHERNET,
  };
  return 0;
}

// Index 0 is link-local, as on real ports. The rest is rotated by the number of changes: nobody may rely on an index.
static int index_of(const struct fake_port *port, int gid) {
  int n = fake_nic.fabric->gids;
  return 1 + (gid + (int)atomic_load(&port->gid_changes)) % n;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max, uint32_t flags, size_t size) {
  const struct fake_port *port = &fake_nic.fabric->ports[fake_nic.host][((struct fake_context *)context)->device];
  size_t n = 0;
  (void)flags;
  if (size != sizeof(*entries)) return -EINVAL;
  for (int g = -1; g < fake_nic.fabric->gids && n < max; g++) {
    if (g >= 0 && !atomic_load(&port->gids[g].present)) continue;
    struct ibv_gid_entry e = {.port_num = 1, .gid_type = IBV_GID_TYPE_ROCE_V2};
    if (g < 0) {
      e.gid.raw[0] = 0xfe, e.gid.raw[1] = 0x80, e.gid.raw[15] = 1;
    } else {
      e.gid.words[0] = atomic_load(&port->gids[g].prefix);
      e.gid.words[1] = atomic_load(&port->gids[g].interface);
      e.gid_index = (uint32_t)index_of(port, g);
    }
    entries[n++] = e;
  }
  return (ssize_t)n;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid) {
  struct ibv_gid_entry entries[FAKE_GIDS + 1];
  ssize_t n = _ibv_query_gid_table(context, entries, FAKE_GIDS + 1, 0, sizeof(entries[0]));
  (void)port;
  for (ssize_t i = 0; i < n; i++)
    if ((int)entries[i].gid_index == index) {
      *gid = entries[i].gid;
      return 0;
    }
  return ENODATA;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context) {
  struct ibv_pd *pd = calloc(1, sizeof(*pd));
  if (pd) pd->context = context;
  return pd;
}
int ibv_dealloc_pd(struct ibv_pd *pd) {
  free(pd);
  return 0;
}

static struct ibv_mr *register_memory(struct ibv_pd *pd, void *addr, size_t length, void *memory, size_t mapped) {
  struct fake_mr *mr = calloc(1, sizeof(*mr));
  static uint32_t next = 1;
  if (!mr) return NULL;
  lock();
  uint32_t tries = 0;
  do {
    next = next % (FAKE_MRS - 1) + 1;
  } while (fake_nic.mrs[next] && ++tries < FAKE_MRS);
  *mr = (struct fake_mr){.base = {.context = pd->context, .pd = pd, .addr = addr, .length = length, .lkey = next, .rkey = next},
                         .memory = memory, .mapped = mapped};
  fake_nic.mrs[next] = &mr->base;
  unlock();
  return &mr->base;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access) {
  (void)access;
  return register_memory(pd, addr, length, addr, 0);
}
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access) {
  (void)access;
  return register_memory(pd, (void *)(uintptr_t)iova, length, addr, 0);
}
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access) {
  (void)access;
  void *at = fd < 0 ? MAP_FAILED : mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
  if (at == MAP_FAILED) {
    if (fd < 0) errno = EBADF;
    return NULL;
  }
  return register_memory(pd, (void *)(uintptr_t)iova, length, at, length);
}
int ibv_dereg_mr(struct ibv_mr *base) {
  struct fake_mr *mr = (struct fake_mr *)base;
  lock();
  fake_nic.mrs[base->lkey] = NULL;
  unlock();
  if (mr->mapped) munmap(mr->memory, mr->mapped);
  free(mr);
  return 0;
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
  q->base = (struct ibv_qp){.context = pd->context, .qp_context = attr->qp_context, .pd = pd, .send_cq = attr->send_cq,
                            .recv_cq = attr->recv_cq, .qp_type = attr->qp_type};
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
    if (index_of(port, g) == index && atomic_load(&port->gids[g].present)) return fake_end(q->host, q->device, g);
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
    q->target_qp = attr->dest_qp_num;
    q->expected_psn = attr->rq_psn & 0xffffff;
    if (q->source_end < 0) error = EINVAL;
    else if (q->target_end < 0) error = ENETUNREACH;
    if (!error) q->source_interface = atomic_load(&fake_nic.fabric->ports[q->host][q->device].gids[q->source_end % FAKE_GIDS].interface);
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

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece) {
  (void)qp, (void)ece;
  return EOPNOTSUPP;
}
int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece) {
  (void)qp, (void)ece;
  return EOPNOTSUPP;
}
const char *ibv_wc_status_str(int status) {
  switch (status) {
    case IBV_WC_SUCCESS: return "success";
    case IBV_WC_WR_FLUSH_ERR: return "work request flushed";
    case IBV_WC_RETRY_EXC_ERR: return "transport retry counter exceeded";
    case IBV_WC_RNR_RETRY_EXC_ERR: return "receiver not ready retry counter exceeded";
    case IBV_WC_REM_ACCESS_ERR: return "remote access error";
    case IBV_WC_LOC_PROT_ERR: return "local protection error";
    default: return "error";
  }
}
int ibv_fork_init(void) { return 0; }
