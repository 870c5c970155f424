#include "resources.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "flush.h"
#include "log.h"
#include "params.h"
#include "paths.h"
#include "profiler.h"
#include "qp.h"
#include "verbs.h"

struct rw_comm *rw_comm_new(const struct rw_vdevice *v, bool sends) {
  struct rw_comm *c = calloc(1, sizeof(*c));
  if (!c) return NULL;
  c->sends = sends;
  c->v = *v;
  c->n_devices = v->n;
  for (int i = 0; i < RW_REQUESTS; i++) {
    c->requests.all[i].comm = c;
    c->requests.free[i] = (uint16_t)(RW_REQUESTS - 1 - i);
  }
  c->requests.n_free = RW_REQUESTS;
  for (int i = 0; i < v->n; i++) {
    struct rw_comm_device *d = &c->devices[i];
    d->device = rw_device(v->devices[i]);
    // Before the addresses are read, so that a change in between is looked at.
    d->seen_gids = atomic_load(&d->device->gid_changes);
    d->seen_ports = atomic_load(&d->device->port_changes);
  }
  rw_end_describe(&c->local, v);
  return c;
}

static bool share_memory(struct rw_comm *c) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (sizeof(*c->shared) + page - 1) / page * page;
  void *memory;
  if (posix_memalign(&memory, page, size)) return false;
  c->shared = memory;
  memset(c->shared, 0, size);
  int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  for (int i = 0; i < c->n_devices; i++) {
    struct rw_comm_device *d = &c->devices[i];
    d->shared_mr = rw_verbs.ibv_reg_mr(d->pd, c->shared, size, access);
    if (d->shared_mr) continue;
    rw_warn("%s: cannot register memory: %s (raise the limit of locked memory: ulimit -l)", d->device->name,
            strerror(errno));
    return false;
  }
  return true;
}

static bool make_queues(struct rw_comm *c) {
  for (int i = 0; i < c->n_devices; i++) {
    struct rw_comm_device *d = &c->devices[i];
    int qps = 0;
    for (int q = 0; q < c->n_qps; q++) qps += c->table.pairs[q].device[!c->sends] == i;
    if (rw_pd_use(d->device, &d->pd) != ncclSuccess) return false;
    d->cq = rw_verbs.ibv_create_cq(d->device->context, qps * (RW_SEND_WRS + RW_RING + RW_RECV_WRS) + RW_FLUSH_WRS,
                                   (void *)&c->async_event, NULL, 0);
    if (d->cq) continue;
    rw_warn("%s: no completion queue for %d queue pairs: %s", d->device->name, qps, strerror(errno));
    return false;
  }
  return true;
}

// Transport timeout: 4.096 us x 2^t, over retries + 1 attempts. Lowered from 20 only where another path lives and the
// user set none, and no further than the time that the fabric needs to reroute, since an error of a queue pair is
// final.
static int timeout_exponent(const struct rw_comm *c) {
  if (rw_params.timeout_set || c->table.paths < 2) return rw_params.timeout_set ? rw_params.timeout : 20;
  double attempts = rw_params.retry_cnt + 1, wanted_us = c->settings.reroute_ms * 1250.0;
  int t = 8;
  while (t < 20 && 4.096 * (double)(1u << t) * attempts < wanted_us) t++;
  return t;
}

// A queue pair's packets are of one class. Those of the receiving end are clear-to-send messages and acknowledgements,
// as in NCCL's own transport, so that what clears the way for data need not queue behind it.
static void classify(const struct rw_comm *c, struct rw_qp *q) {
  const struct rw_device *d = c->devices[q->device[0]].device;
  const struct rw_host_nic *nic = d->nic.rdma[0] ? &d->nic : NULL;
  const struct rw_host_path *path = nic ? rw_host_path_of(nic, q->local.gid.raw) : NULL;
  int class = c->settings.traffic_class;
  if (class < 0 && path) class = path->traffic_class;
  if (class < 0 && nic) class = nic->traffic_class;
  if (!c->sends && rw_params.fifo_tc >= 0) class = rw_params.fifo_tc;
  else if (!c->sends && nic && nic->cts_traffic_class >= 0) class = nic->cts_traffic_class;
  q->traffic_class = class < 0 ? 0 : class;
  q->service_level = rw_params.sl >= 0 ? rw_params.sl : path && path->service_level >= 0 ? path->service_level : 0;
}

static void settle(struct rw_comm *c) {
  int this_end = !c->sends, slowest = 0;
  c->n_qps = c->table.n;
  c->n_remote_devices = c->remote.n;
  c->settings.max_message = 1u << 30;
  c->settings.adaptive_routing = c->local.adaptive_routing || c->remote.adaptive_routing;
  for (int i = 0; i < c->n_devices; i++) {
    int reroute = rw_reroute_ms(c->devices[i].device);
    if (reroute > slowest) slowest = reroute;
    if (c->devices[i].device->max_message < c->settings.max_message)
      c->settings.max_message = c->devices[i].device->max_message;
  }
  c->settings.reroute_ms = slowest;
  c->settings.hw_timeout = timeout_exponent(c);
  c->settings.timer_kills = c->table.paths > 1;
  for (int i = 0; i < c->n_qps; i++) {
    struct rw_qp *q = &c->qps[i];
    const struct rw_pair *p = &c->table.pairs[i];
    q->device[0] = p->device[this_end];
    q->device[1] = p->device[!this_end];
    q->local = c->local.devices[q->device[0]].gids.gids[p->gid[this_end]];
    q->remote = c->remote.devices[q->device[1]].gids.gids[p->gid[!this_end]];
    q->color = p->color;
    q->label = c->devices[q->device[0]].device->ethernet ? p->label : -1;
    q->ramp = 100;
    q->path = rw_path_of(c, q);
    classify(c, q);
    rw_set_state(q, RW_QP_OPENING);
  }
}

ncclResult_t rw_comm_prepare(struct rw_comm *c) {
  c->qps = calloc((size_t)c->table.n, sizeof(*c->qps));
  if (!c->qps) return ncclSystemError;
  settle(c);
  // All pieces that can be under way at all; pages that are never used cost nothing.
  c->sender.pending_size = RW_REQUESTS * RW_CHUNKS;
  if (c->sends) c->sender.pending = calloc(c->sender.pending_size, sizeof(*c->sender.pending));
  if ((c->sends && !c->sender.pending) || !make_queues(c) || !share_memory(c)) return ncclSystemError;
  for (int i = 0; i < c->n_qps; i++) {
    struct rw_qp *q = &c->qps[i];
    if (c->sends) q->ring = calloc(RW_RING, sizeof(*q->ring));
    if ((c->sends && !q->ring) || !rw_qp_create(c, q)) return ncclSystemError;
  }
  for (int i = 0; !c->sends && i < c->n_devices; i++) {
    struct rw_comm_device *d = &c->devices[i];
    ncclNetProperties_v12_t p;
    if (rw_params.flush_disable || rw_device_properties(c->v.devices[i], &p) != ncclSuccess) continue;
    if ((p.ptrSupport & (NCCL_PTR_CUDA | NCCL_PTR_DMABUF)) && !rw_flush_create(c, d)) return ncclSystemError;
  }
  return ncclSuccess;
}

void rw_comm_free(struct rw_comm *c) {
  if (!c) return;
  for (int i = 0; c->qps && i < c->n_qps; i++) {
    struct rw_qp *q = &c->qps[i];
    rw_qp_destroy(q);
    // Not acknowledged, yet complete: the other end said so when it closed.
    for (; q->ring && q->acked != q->posted; q->acked++) rw_profile_stop(&q->ring[q->acked % RW_RING]);
    free(q->ring);
  }
  for (int i = 0; i < c->n_devices; i++) {
    struct rw_comm_device *d = &c->devices[i];
    if (d->flush_qp) rw_verbs.ibv_destroy_qp(d->flush_qp);
    if (d->flush_mr) rw_verbs.ibv_dereg_mr(d->flush_mr);
    if (d->shared_mr) rw_verbs.ibv_dereg_mr(d->shared_mr);
    if (d->cq) rw_verbs.ibv_destroy_cq(d->cq);
    if (d->pd) rw_pd_release(d->device);
  }
  rw_path_let_go(c);
  rw_link_close(c->line.link);
  rw_link_close(c->line.call);
  rw_link_close(atomic_exchange(&c->line.new_link, NULL));
  free(c->qps);
  free(c->sender.pending);
  free(c->shared);
  free(c);
}
