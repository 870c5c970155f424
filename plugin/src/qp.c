// One queue pair at its place in a connection: create, connect, put into error, destroy.
#include "qp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clock.h"
#include "log.h"
#include "mlx5.h"
#include "params.h"
#include "verbs.h"

void rw_qp_name(const struct rw_comm *c, const struct rw_qp *q, char *text, size_t size) {
  char from[RW_GID_TEXT], to[RW_GID_TEXT];
  char steered[160];
  const char *name = q->local.color_name, *via = q->local.via;
  if (q->label < 0)
    snprintf(steered, sizeof(steered), "color %d%s%s%s%s", q->color, *name ? " " : "", name, *via ? " by " : "", via);
  else snprintf(steered, sizeof(steered), "flow label %#x", q->flow_label);
  snprintf(text, size, "QP %d %s %s -> %s (%s %s -> %s %s)", (int)(q - c->qps), steered,
           rw_gid_text(&q->local.gid, from), rw_gid_text(&q->remote.gid, to), c->local.host,
           c->local.devices[q->device[0]].name, c->remote.host, c->remote.devices[q->device[1]].name);
}

// Repeats after a timeout, which drivers report while a firmware is busy; after any error where the user wants that.
bool rw_qp_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, bool patient) {
  for (int attempt = 0;; attempt++) {
    int error = rw_verbs.ibv_modify_qp(qp, attr, mask);
    if (error == 0) return true;
    if (!patient || attempt >= rw_params.mqp_retry_cnt || (error != ETIMEDOUT && !rw_params.mqp_retry_all)) {
      errno = error > 0 ? error : errno;
      return false;
    }
    struct timespec pause = {.tv_sec = rw_params.mqp_retry_ms / 1000,
                             .tv_nsec = rw_params.mqp_retry_ms % 1000 * 1000000L};
    nanosleep(&pause, NULL);
  }
}

bool rw_qp_refill(struct rw_comm *c, struct rw_qp *q, int n) {
  struct ibv_recv_wr wrs[16];
  while (n > 0) {
    int batch = n < 16 ? n : 16;
    for (int i = 0; i < batch; i++)
      wrs[i] = (struct ibv_recv_wr){.wr_id = rw_work_id(RW_WORK_RECV, (unsigned)(q - c->qps), q->epoch),
                                    .next = i + 1 < batch ? &wrs[i + 1] : NULL};
    struct ibv_recv_wr *bad = wrs + batch;
    int error = q->qp->context->ops.post_recv(q->qp, wrs, &bad);
    // Those before the one that was refused were taken, and will come back.
    q->recvs_out += error ? (int)(bad - wrs) : batch;
    if (error) return false;
    n -= batch;
  }
  return true;
}

bool rw_qp_create(struct rw_comm *c, struct rw_qp *q) {
  struct rw_comm_device *d = &c->devices[q->device[0]];
  struct ibv_qp_init_attr init = {
      .qp_context = (void *)&c->async_event,
      .send_cq = d->cq,
      .recv_cq = d->cq,
      .cap = {.max_send_wr = RW_SEND_WRS + RW_RING,  // those without a completion of their own are not counted
              .max_recv_wr = RW_RECV_WRS,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = rw_params.use_inline || !c->sends ? sizeof(struct rw_cts) : 0},
      .qp_type = IBV_QPT_RC,
  };
  q->qp = rw_verbs.ibv_create_qp(d->pd, &init);
  if (!q->qp && init.cap.max_inline_data) {
    init.cap.max_inline_data = 0;  // not of every device: then the NIC reads what it sends
    q->qp = rw_verbs.ibv_create_qp(d->pd, &init);
  }
  if (!q->qp) {
    rw_warn("%s: no queue pair %d: %s", d->device->name, (int)(q - c->qps), strerror(errno));
    return false;
  }
  q->max_inline = (int)init.cap.max_inline_data;
  q->psn = (uint32_t)rw_now_ns() * 2654435761u >> 8;
  // 14 bits, so that the UDP source port is 0xc000 plus the label (rdma_flow_label_to_udp_sport() of Linux).
  q->flow_label = q->label < 0 ? 0 : 1 + (q->psn ^ (uint32_t)(q - c->qps) * 2654435761u >> 9) % 0x3fff;
  q->errored = false;
  q->refused = false;
  q->slow_ms = 0;
  q->posted = q->acked = q->arrived = 0;
  q->sends_out = q->recvs_out = q->recvs_missing = 0;
  rw_load_reset(&c->live.of_qp[q - c->qps]);
  q->ece = (struct ibv_ece){0};
  if (rw_params.ece && rw_verbs.ibv_query_ece && rw_verbs.ibv_query_ece(q->qp, &q->ece)) q->ece = (struct ibv_ece){0};
  struct ibv_qp_attr attr = {
      .qp_state = IBV_QPS_INIT,
      .pkey_index = (uint16_t)rw_params.pkey,
      .port_num = (uint8_t)d->device->port,
      .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
  };
  if (!rw_qp_modify(q->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, !c->set_up)) {
    rw_warn("%s: queue pair %d does not start: %s", d->device->name, (int)(q - c->qps), strerror(errno));
    return false;
  }
  return rw_qp_refill(c, q, RW_RECV_WRS);
}

// Kernels before 5.8 and some firmware take no notice of the flow label: the port is set as it would have been.
static void set_source_port(const struct rw_device *d, struct rw_qp *q) {
  static atomic_bool said;
  if (q->label < 0 || !d->mlx5 || !rw_mlx5.mlx5dv_modify_qp_udp_sport) return;
  int error = rw_mlx5.mlx5dv_modify_qp_udp_sport(q->qp, (uint16_t)rw_udp_port(q->flow_label));
  if (error && !atomic_exchange(&said, true))
    rw_info("%s sets no UDP source port (%s): it is left to what its driver makes of the flow label", d->name,
            strerror(error > 0 ? error : errno));
}

bool rw_qp_connect(struct rw_comm *c, struct rw_qp *q) {
  const struct rw_device *d = c->devices[q->device[0]].device;
  const struct rw_end_device *peer = &c->remote.devices[q->device[1]];
  char name[256];
  if (q->ece.vendor_id && q->remote_ece.vendor_id == q->ece.vendor_id && rw_verbs.ibv_set_ece)
    rw_verbs.ibv_set_ece(q->qp, &q->remote_ece);
  struct ibv_qp_attr rtr = {
      .qp_state = IBV_QPS_RTR,
      .path_mtu = d->mtu < peer->mtu ? d->mtu : peer->mtu,
      .dest_qp_num = q->remote_qpn,
      .rq_psn = q->remote_psn,
      .max_dest_rd_atomic = 1,
      .min_rnr_timer = 12,
      .ah_attr = {.sl = (uint8_t)q->service_level, .port_num = (uint8_t)d->port},
  };
  if (d->ethernet) {
    rtr.ah_attr.is_global = 1;
    rtr.ah_attr.grh = (struct ibv_global_route){
        .dgid = q->remote.gid,
        .sgid_index = (uint8_t)q->local.index,
        .hop_limit = 255,
        .traffic_class = (uint8_t)q->traffic_class,
        .flow_label = q->flow_label,
    };
  } else {
    rtr.ah_attr.dlid = peer->lid;
  }
  int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
             IBV_QP_MIN_RNR_TIMER;
  if (!rw_qp_modify(q->qp, &rtr, mask, !c->set_up)) {
    rw_qp_name(c, q, name, sizeof(name));
    rw_warn(
        "%s cannot reach its other end: %s: look at the route from that address (railweave host gids, ip -6 route get)",
        name, strerror(errno));
    return false;
  }
  // What is left of the offer, for the end that is connected after this one.
  if (q->ece.vendor_id && q->remote_ece.vendor_id == q->ece.vendor_id && rw_verbs.ibv_query_ece &&
      rw_verbs.ibv_query_ece(q->qp, &q->ece))
    q->ece = (struct ibv_ece){0};
  struct ibv_qp_attr rts = {
      .qp_state = IBV_QPS_RTS,
      .timeout = (uint8_t)c->settings.hw_timeout,
      .retry_cnt = (uint8_t)rw_params.retry_cnt,
      .rnr_retry = 7,  // without end: a receiver that is slow to post is not a dead path
      .sq_psn = q->psn,
      .max_rd_atomic = 1,
  };
  mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
  if (!rw_qp_modify(q->qp, &rts, mask, !c->set_up)) {
    rw_qp_name(c, q, name, sizeof(name));
    rw_warn("%s cannot send: %s", name, strerror(errno));
    return false;
  }
  set_source_port(d, q);
  return true;
}

void rw_qp_to_error(struct rw_qp *q) {
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
  if (q->errored || !q->qp) return;
  q->errored = rw_qp_modify(q->qp, &attr, IBV_QP_STATE, false);
}

void rw_qp_destroy(struct rw_qp *q) {
  if (q->qp) rw_verbs.ibv_destroy_qp(q->qp);
  q->qp = NULL;
}
