// Writes to GPU memory are visible to the GPU once a read over the same PCIe link has come back: a queue pair connected
// to itself reads one byte of what was received.
#include "flush.h"

#include <errno.h>

#include "clock.h"
#include "failure.h"
#include "log.h"
#include "params.h"
#include "qp.h"
#include "verbs.h"

// A device whose flushes fail for this long cannot be relied on. Its queue pair is made anew at once, then every
// AGAIN_MS.
enum { PATIENCE_MS = 4000, AGAIN_MS = 50 };

bool rw_flush_create(struct rw_comm *c, struct rw_comm_device *d) {
  struct ibv_qp_init_attr init = {
      .qp_context = (void *)&c->async_event,
      .send_cq = d->cq,
      .recv_cq = d->cq,
      .cap = {.max_send_wr = RW_FLUSH_WRS, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = IBV_QPT_RC,
  };
  struct rw_gid_list gids = rw_device_gids(d->device);
  if (gids.n == 0 && d->device->ethernet) return false;
  if (!d->flush_mr)
    d->flush_mr = rw_verbs.ibv_reg_mr(d->pd, &c->shared->flushed, sizeof(c->shared->flushed), IBV_ACCESS_LOCAL_WRITE);
  d->flush_qp = rw_verbs.ibv_create_qp(d->pd, &init);
  if (!d->flush_mr || !d->flush_qp) goto fail;
  d->flush_gid = gids.gids[0].gid;
  struct ibv_qp_attr attr = {
      .qp_state = IBV_QPS_INIT,
      .pkey_index = (uint16_t)rw_params.pkey,
      .port_num = (uint8_t)d->device->port,
      .qp_access_flags = IBV_ACCESS_REMOTE_READ,
  };
  if (!rw_qp_modify(d->flush_qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
                    !c->set_up))
    goto fail;
  attr = (struct ibv_qp_attr){
      .qp_state = IBV_QPS_RTR,
      .path_mtu = d->device->mtu,
      .dest_qp_num = d->flush_qp->qp_num,
      .max_dest_rd_atomic = 1,
      .min_rnr_timer = 12,
      .ah_attr = {.dlid = d->device->lid, .port_num = (uint8_t)d->device->port, .is_global = d->device->ethernet},
  };
  if (d->device->ethernet)
    attr.ah_attr.grh = (struct ibv_global_route){
        .dgid = gids.gids[0].gid, .sgid_index = (uint8_t)gids.gids[0].index, .hop_limit = 255};
  if (!rw_qp_modify(d->flush_qp, &attr,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
                    !c->set_up))
    goto fail;
  attr =
      (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
  if (rw_qp_modify(
          d->flush_qp, &attr,
          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
          !c->set_up))
    return true;
fail:
  rw_log(c->set_up ? NCCL_LOG_INFO : NCCL_LOG_WARN, __FILE__, __LINE__,
         "%s: no queue pair for flushes of GPU memory: %s", d->device->name, strerror(errno));
  return false;
}

// Reads over every device that may have written. One without any live queue pair, while others have some, has had its
// day: its writes came before those that were resent elsewhere, and a tick at least before its port was seen to be
// down. Where none lives, what came last came over any of them: the read waits for the port.
static bool needs_flush(const struct rw_comm *c, int device) {
  bool others = false;
  for (int i = 0; i < c->n_qps; i++)
    if (rw_state(&c->qps[i]) == RW_QP_LIVE) {
      if (c->qps[i].device[0] == device) return true;
      others = true;
    }
  return !others;
}

static bool post(struct rw_comm *c, int device, struct rw_request *r) {
  struct rw_comm_device *d = &c->devices[device];
  struct ibv_sge sge = {.addr = (uintptr_t)&c->shared->flushed, .length = 1, .lkey = d->flush_mr->lkey};
  struct ibv_send_wr wr = {
      .wr_id = rw_work_id(RW_WORK_FLUSH, (unsigned)device, (unsigned)(r - c->requests.all)),
      .sg_list = &sge,
      .num_sge = 1,
      .opcode = IBV_WR_RDMA_READ,
      .send_flags = IBV_SEND_SIGNALED,
      .wr.rdma = {.remote_addr = r->data, .rkey = r->mr->mrs[device]->rkey},
  };
  if (d->flush_broken || d->flush_out == RW_FLUSH_WRS) return false;
  if (rw_post_send(d->flush_qp, &wr)) {
    rw_flush_break(c, device, "the device refuses work");
    return false;
  }
  d->flush_out++;
  r->devices_left &= ~(1u << device);
  return true;
}

// Reads that wait because their device's flush queue pair is full or being replaced.
static void post_waiting(struct rw_comm *c, int device) {
  for (int i = 0; i < RW_REQUESTS; i++) {
    struct rw_request *r = &c->requests.all[i];
    if (r->kind == RW_FLUSH && !r->done && r->devices_left >> device & 1 && !post(c, device, r)) return;
  }
}

static void read_done(struct rw_request *r) {
  if (--r->left == 0) r->done = true;
}

// Nobody waits any more for reads over a device that needs none.
static void leave_out(struct rw_comm *c, int device) {
  for (int i = 0; i < RW_REQUESTS; i++) {
    struct rw_request *r = &c->requests.all[i];
    if (r->kind != RW_FLUSH || r->done || !(r->devices_left >> device & 1)) continue;
    r->devices_left &= ~(1u << device);
    read_done(r);
  }
}

static bool waits_too_long(const struct rw_comm *c, int device) {
  int patience = atomic_load(&c->devices[device].device->port_up) ? PATIENCE_MS : PATIENCE_MS + rw_params.all_dead_ms;
  for (int i = 0; i < RW_REQUESTS; i++) {
    const struct rw_request *r = &c->requests.all[i];
    if (r->kind == RW_FLUSH && !r->done && r->devices_left >> device & 1 && c->now_ms - r->started_ms > patience)
      return true;
  }
  return false;
}

// An address that went away takes the flush queue pair with it: it is made anew on the address there is now.
void rw_flush_repair(struct rw_comm *c, int device) {
  struct rw_comm_device *d = &c->devices[device];
  if (!d->flush_broken || d->flush_out) return;
  if (!needs_flush(c, device)) {
    leave_out(c, device);
  } else if (waits_too_long(c, device)) {
    rw_fail(c, ncclSystemError, "flushes of GPU memory fail on %s: %s", d->device->name, d->flush_reason);
  } else if (c->now_ms >= d->flush_again_ms) {
    d->flush_again_ms = c->now_ms + AGAIN_MS;
    if (d->flush_qp) rw_verbs.ibv_destroy_qp(d->flush_qp);
    d->flush_qp = NULL;
    d->flush_broken = !rw_flush_create(c, d);
    post_waiting(c, device);
  }
}

void rw_flush_break(struct rw_comm *c, int device, const char *reason) {
  struct rw_comm_device *d = &c->devices[device];
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
  if (d->flush_broken || !d->flush_qp) return;
  d->flush_broken = true;
  d->flush_reason = reason;
  rw_info("%s: flushes of GPU memory need a new queue pair: %s", d->device->name, reason);
  rw_qp_modify(d->flush_qp, &attr, IBV_QP_STATE, false);
}

void rw_flush_again(struct rw_comm *c) {
  for (int i = 0; i < RW_REQUESTS; i++)
    if (c->requests.all[i].kind == RW_FLUSH) c->requests.all[i].started_ms = c->now_ms;
}

void rw_flush_put_off(struct rw_comm *c, int64_t ms) {
  for (int i = 0; i < RW_REQUESTS; i++)
    if (c->requests.all[i].kind == RW_FLUSH) c->requests.all[i].started_ms += ms;
}

ncclResult_t rw_iflush(struct rw_comm *c, int n, void **data, const int *sizes, void **mrs, void **request) {
  int last = -1;
  *request = NULL;
  for (int i = 0; i < n; i++)
    if (sizes[i]) last = i;
  if (last < 0 || rw_params.flush_disable) return ncclSuccess;
  ncclResult_t error = atomic_load_explicit(&c->error, memory_order_relaxed);
  if (error != ncclSuccess) return error;
  // A flush that is put off would be taken for done, so this waits for the service thread, which is quick.
  while (!rw_comm_enter(c)) {
  }
  struct rw_request *r = rw_request_get(c, RW_FLUSH);
  if (!r) return ncclInternalError;
  r->data = (uintptr_t)data[last];
  r->mr = mrs[last];
  r->left = 0;
  r->devices_left = 0;
  r->started_ms = c->now_ms = rw_now_ns() / 1000000;
  for (int i = 0; i < c->n_devices; i++) {
    if ((!c->devices[i].flush_qp && !c->devices[i].flush_broken) || !needs_flush(c, i)) continue;
    r->left++;
    r->devices_left |= 1u << i;
    post(c, i, r);
  }
  r->done = r->left == 0;
  *request = r;
  return ncclSuccess;
}

void rw_flush_done(struct rw_comm *c, int device, struct rw_request *r, int status) {
  struct rw_comm_device *d = &c->devices[device];
  d->flush_out--;
  if (status == IBV_WC_SUCCESS) {
    read_done(r);
    if (d->flush_out == RW_FLUSH_WRS - 1) post_waiting(c, device);
  } else {
    r->devices_left |= 1u << device;
    rw_flush_break(c, device, rw_wc_status(status));
  }
}
