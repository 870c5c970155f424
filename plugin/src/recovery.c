// A dead queue pair comes back: the sending end makes a new one and names it, the receiving end makes its counterpart,
// a write proves the path. Addresses are looked up again by value, then by prefix and by color, since SLAAC may have
// changed them.
#include "recovery.h"

#include "failover.h"
#include "live.h"
#include "log.h"
#include "paths.h"
#include "publish.h"
#include "qp.h"
#include "verbs.h"

enum { ANSWER_MS = 2000, PROBE_MS = 200 };

// The address of this end's side of the path as it is now; false where the NIC has none of that color or is down.
static bool find_address(struct rw_comm *c, struct rw_qp *q) {
  const struct rw_device *d = c->devices[q->device[0]].device;
  if (!atomic_load_explicit(&d->port_up, memory_order_relaxed)) return false;
  struct rw_gid_list gids = rw_device_gids(d);
  const struct rw_gid *gid = rw_gid_find(&gids, &q->local.gid);
  if (!gid) gid = rw_gid_of_prefix(&gids, &q->local.gid);
  // Ranks shift when an address goes: they say nothing of which path another address is.
  if (!gid && c->local.devices[q->device[0]].gids.scheme != RW_COLOR_RANK) gid = rw_gid_of_color(&gids, q->local.color);
  if (!gid) return false;
  q->local.gid = gid->gid;
  q->local.index = gid->index;
  return true;
}

static bool renew(struct rw_comm *c, struct rw_qp *q, uint32_t epoch) {
  rw_qp_destroy(q);
  q->epoch = epoch;
  q->record.peer_closed = false;
  q->record.kind = RW_SAYS_NOTHING;
  q->progress_ms = c->now_ms;
  rw_set_state(q, RW_QP_OPENING);
  q->deadline_ms = c->now_ms + c->settings.reroute_ms + ANSWER_MS;
  if (rw_qp_create(c, q)) return true;
  rw_qp_close(c, q, "no new queue pair");
  return false;
}

void rw_recovery_start(struct rw_comm *c, struct rw_qp *q) {
  if (!find_address(c, q)) {
    rw_qp_put_off(c, q);
    rw_path_unproven(c, q);
    return;
  }
  if (!renew(c, q, q->epoch + 1)) return;
  q->record.kind = RW_SAYS_OPENING;
  rw_record_publish(c, q);
}

static void take_peer(struct rw_qp *q, const struct rw_record_fields *peer) {
  q->remote_qpn = peer->qpn;
  q->remote_psn = peer->psn;
  q->remote_ece = (struct ibv_ece){.vendor_id = peer->ece_vendor, .options = peer->ece_options};
  memcpy(q->remote.gid.raw, peer->gid, sizeof(peer->gid));
}

void rw_recovery_answer(struct rw_comm *c, struct rw_qp *q, const struct rw_record_fields *peer) {
  bool opens = peer->kind == RW_SAYS_OPENING;
  if (!opens || !find_address(c, q)) {
    // Given up by the other end before this one heard of it, or no address: closed, with nothing arrived.
    q->epoch = peer->epoch;
    q->arrived = 0;
    q->record.peer_closed = !opens;
    q->record.kind = RW_SAYS_CLOSED;
    rw_record_publish(c, q);
    return;
  }
  if (!renew(c, q, peer->epoch)) return;
  take_peer(q, peer);
  if (!rw_qp_connect(c, q)) {
    rw_qp_close(c, q, "no route to the other end's address");
    return;
  }
  rw_set_state(q, RW_QP_PROBING);
  q->deadline_ms = c->now_ms + 2 * c->settings.reroute_ms + 2 * ANSWER_MS;
  q->record.kind = RW_SAYS_OPENING;
  rw_record_publish(c, q);
}

bool rw_probe(struct rw_comm *c, struct rw_qp *q, enum rw_work work) {
  struct ibv_sge sge = {
      .addr = (uintptr_t)&c->shared->probe,
      .length = sizeof(c->shared->probe),
      .lkey = c->devices[q->device[0]].shared_mr->lkey,
  };
  struct ibv_send_wr wr = {
      .wr_id = rw_work_id(work, (unsigned)(q - c->qps), q->epoch),
      .sg_list = &sge,
      .num_sge = 1,
      .opcode = IBV_WR_RDMA_WRITE,
      .send_flags = IBV_SEND_SIGNALED,
      .wr.rdma = {.remote_addr = c->remote_shared + offsetof(struct rw_shared, probe),
                  .rkey = c->devices[q->device[1]].remote_rkey},
  };
  if (q->sends_out == 0) q->progress_ms = c->now_ms;
  if (rw_post_send(q->qp, &wr)) return false;
  q->sends_out++;
  return true;
}

void rw_recovery_connect(struct rw_comm *c, struct rw_qp *q, const struct rw_record_fields *peer) {
  take_peer(q, peer);
  if (!rw_qp_connect(c, q) || !rw_probe(c, q, RW_WORK_PROBE)) {
    rw_qp_close(c, q, "no route to the other end's address");
    return;
  }
  rw_set_state(q, RW_QP_PROBING);
  // A queue pair without a color does not wait for the fabric to move its path: another label is another path.
  bool patient = c->settings.reroute_ms > PROBE_MS && (q->label < 0 || c->live.n == 0);
  q->deadline_ms = c->now_ms + (patient ? c->settings.reroute_ms : PROBE_MS);
}

void rw_recovery_proven(struct rw_comm *c, struct rw_qp *q) {
  char name[256];
  if (rw_state(q) != RW_QP_PROBING) return;
  rw_set_state(q, RW_QP_LIVE);
  rw_count(&q->counters.recoveries, 1);
  q->ramp = 12;
  q->recover_wait_ms = 0;
  q->record.kind = RW_SAYS_LIVE;
  rw_record_publish(c, q);
  rw_live_update(c);
  rw_qp_name(c, q, name, sizeof(name));
  rw_info("%s is back: was down for %lld ms; %d of %d queue pairs live", name, (long long)(c->now_ms - q->dead_ms),
          c->live.n, c->n_qps);
  q->dead_ms = 0;
  rw_path_proven(c, q);
}
