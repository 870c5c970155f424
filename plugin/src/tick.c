// What time brings: queue pairs from which nothing comes back, changed addresses and ports, attempts to recover, the
// state of the other end. Called about every millisecond while a connection is in use, every 10 ms while it is not.
#include "tick.h"

#include <stdio.h>

#include "clock.h"
#include "control.h"
#include "failover.h"
#include "failure.h"
#include "flush.h"
#include "live.h"
#include "params.h"
#include "paths.h"
#include "presence.h"
#include "publish.h"
#include "qp.h"
#include "recovery.h"
#include "recv.h"
#include "redial.h"
#include "send.h"
#include "verbs.h"

enum {
  REPEAT_MS = 20,    // between two sendings of a record that was not echoed
  LINK_MS = 50,      // between two looks at the TCP connection while all is well
  LINK_SOON_MS = 2,  // and while not
  UNSEEN_MS = 20,    // longest time between two looks that is not taken for an interruption
  GONE_MS = 200,     // after the other end's farewell: what it sent before is in the completion queue by then
  SETTLE_MS = 20,    // from a port that comes up, or an address that changes, to the next attempt
};

static void try_soon(struct rw_comm *c, struct rw_qp *q) {
  q->recover_wait_ms = rw_params.recover_ms;
  if (q->recover_at_ms > c->now_ms + SETTLE_MS) q->recover_at_ms = c->now_ms + SETTLE_MS;
}

// The sending end makes dead queue pairs anew, and does not see the other end's ports.
static void tell_to_try(struct rw_comm *c, int device) {
  struct rw_cursor b;
  if (c->peer.gone || !rw_link_begin(c->line.link, &b)) return;
  rw_put8(&b, (uint8_t)device);
  rw_link_send(c->line.link, RW_TRY, &b);
}

static void look_at_devices(struct rw_comm *c) {
  char place[256];
  int event = atomic_load_explicit(&c->async_event, memory_order_relaxed);
  if (event && rw_params.async_events)
    rw_fail(c, ncclSystemError, "its device reported: %s. Look at the kernel log", rw_event_text(event - 1));
  for (int i = 0; i < c->n_devices; i++) {
    struct rw_comm_device *d = &c->devices[i];
    unsigned gids = atomic_load_explicit(&d->device->gid_changes, memory_order_acquire);
    unsigned ports = atomic_load_explicit(&d->device->port_changes, memory_order_acquire);
    if (rw_params.async_events && atomic_load_explicit(&d->device->fatal, memory_order_relaxed))
      rw_fail(c, ncclSystemError, "%s reported a fatal error of the device", d->device->name);
    bool up = atomic_load_explicit(&d->device->port_up, memory_order_relaxed);
    if (up && ports != d->seen_ports) rw_flush_again(c);
    rw_flush_repair(c, i);
    if (gids == d->seen_gids && ports == d->seen_ports) continue;
    struct rw_gid_list now = {0};
    if (gids != d->seen_gids && up) now = rw_device_gids(d->device);
    for (int q = 0; q < c->n_qps; q++) {
      struct rw_qp *p = &c->qps[q];
      if (p->device[0] != i) continue;
      if (!up) rw_qp_close(c, p, "%s is down", rw_device_place(d->device, place, sizeof(place)));
      else if (gids != d->seen_gids && d->device->ethernet && !rw_gid_find(&now, &p->local.gid))
        rw_qp_close(c, p, "its address is gone from %s", d->device->name);
      try_soon(c, p);
    }
    if (up && ports != d->seen_ports) tell_to_try(c, i);
    if (!up || (gids != d->seen_gids && d->device->ethernet && d->flush_qp && !rw_gid_find(&now, &d->flush_gid)))
      rw_flush_break(c, i, up ? "its address is gone" : "its port is down");
    d->seen_gids = gids;
    d->seen_ports = ports;
  }
}

// Time beyond which silence of a queue pair tells something, on top of what its oldest piece needs at the rate seen.
static int64_t allowance_ms(const struct rw_comm *c, const struct rw_qp *q) {
  if (!c->sends || q->posted == q->acked) return 0;
  return (int64_t)(4e-6f * q->ns_per_byte * (float)q->ring[q->acked % RW_RING].length);
}

static void look_at_silence(struct rw_comm *c, struct rw_qp *q, bool *changed) {
  bool suspect = atomic_load_explicit(&q->suspect, memory_order_relaxed);
  int64_t silent = q->sends_out ? c->now_ms - q->progress_ms : 0, allowance = silent ? allowance_ms(c, q) : 0;
  if (suspect != (silent > rw_params.suspect_ms + allowance && c->n_qps > 1)) {
    atomic_store_explicit(&q->suspect, !suspect, memory_order_relaxed);
    *changed = true;
    if (!suspect) {
      rw_live_update(c);
      if (!c->sends) rw_cts_elsewhere(c, q);
    }
  }
  if (c->settings.timer_kills && silent > c->settings.reroute_ms + allowance)
    rw_qp_close(c, q, "nothing came back for %.1f s", (double)silent / 1e3);
}

static void look_at_queue_pairs(struct rw_comm *c) {
  bool changed = false;
  for (int i = 0; i < c->n_qps; i++) {
    struct rw_qp *q = &c->qps[i];
    switch (rw_state(q)) {
      case RW_QP_LIVE: look_at_silence(c, q, &changed); break;
      case RW_QP_CLOSING:  // the device was too busy to take it out of use
        if (!q->errored && c->now_ms - q->deadline_ms >= REPEAT_MS) {
          q->deadline_ms = c->now_ms;
          rw_qp_to_error(q);
          rw_qp_drained(c, q);
        }
        break;
      case RW_QP_CLOSED:
        if (c->sends && !c->peer.gone && rw_path_try(c, q)) rw_recovery_start(c, q);
        break;
      case RW_QP_OPENING:
      case RW_QP_PROBING:
        if (c->now_ms >= q->deadline_ms) rw_qp_close(c, q, "the path does not answer");
        break;
      default: break;
    }
    if (q->record.sequence != q->record.echoed && c->now_ms - q->record.sent_ms >= REPEAT_MS) rw_record_repeat(c, q);
  }
  if (changed) rw_live_update(c);
}

static void take_message(struct rw_comm *c, int type, struct rw_cursor *b) {
  struct rw_record record;
  if (type == RW_RECORD) {
    int index = rw_get16(b);
    rw_get(b, record.bytes, sizeof(record.bytes));
    if (!b->overflow && index < c->n_qps) rw_record_arrived(c, index, &record);
  } else if (type == RW_FAILED) {
    c->peer.gone = true;
    char why[600] = "";
    int length = rw_get16(b);
    if (length > b->end - b->at) length = (int)(b->end - b->at);
    snprintf(why, sizeof(why), "%.*s", length, (const char *)b->at);
    b->at += length;
    rw_cause_get(b);
    rw_fail_ended(c, "ended the connection", why);
  } else if (type == RW_BYE) {
    c->peer.gone = true;
    c->peer.gone_ms = c->now_ms;
    rw_send_complete_below(c, rw_get64(b));
    rw_cause_get(b);
  } else if (type == RW_CAUSE) {
    rw_cause_get(b);
  } else if (type == RW_TRY) {
    int device = rw_get8(b);
    for (int i = 0; i < c->n_qps; i++)
      if (c->qps[i].device[1] == device) try_soon(c, &c->qps[i]);
  }
}

static void look_at_link(struct rw_comm *c) {
  struct rw_cursor b;
  int type;
  while ((type = rw_link_receive(c->line.link, &b)) != 0) {
    rw_presence_heard(&c->presence, c->now_ms);
    take_message(c, type, &b);
    rw_link_next(c->line.link);
  }
  rw_redial_look(c);
  rw_cause_tell(c);
  if (c->peer.gone && rw_presence_waits(c) && c->now_ms - c->peer.gone_ms > GONE_MS &&
      atomic_load(&c->error) == ncclSuccess) {
    bool waits = c->requests.outstanding == 0;  // to send
    for (int i = 0; i < RW_REQUESTS; i++) {
      const struct rw_request *r = &c->requests.all[i];
      waits |= (r->kind == RW_SEND || r->kind == RW_RECV) && !r->done;  // flushes need no other end
    }
    if (waits) rw_fail_ended(c, "closed the connection before all was sent", "");
  }
}

static void look_for_life(struct rw_comm *c) {
  bool lives = false;
  for (int i = 0; i < c->n_qps; i++) lives |= rw_state(&c->qps[i]) == RW_QP_LIVE;
  // Where the other end's process may have ended, presence.c finds that out, and says so.
  if (lives || !rw_presence_waits(c) || (c->presence.lost_ms && c->presence.hung_up)) {
    c->times.all_dead_ms = 0;
  } else if (c->times.all_dead_ms == 0) {
    c->times.all_dead_ms = c->now_ms;
  } else if (c->now_ms - c->times.all_dead_ms > rw_params.all_dead_ms) {
    rw_fail_all_dead(c);
  }
}

// What ECMP put onto a slow way may find a better one by another label. Not at once: others share the ways as well.
// Only those between the same two NICs are a measure, and only what was measured lately.
static void leave_slow_ways(struct rw_comm *c) {
  enum { TIMES = 4, FOR_MS = 2000, LATELY_MS = 500 };
  for (int i = 0; i < c->n_qps; i++) {
    struct rw_qp *q = &c->qps[i];
    const struct rw_load *load = &c->live.of_qp[i];
    float quickest = load->unit_ns;
    bool counts = q->label >= 0 && rw_state(q) == RW_QP_LIVE && c->now_ms - load->done_ns / 1000000 < LATELY_MS;
    for (int k = 0; counts && k < c->n_qps; k++) {
      const struct rw_qp *other = &c->qps[k];
      float unit = c->live.of_qp[k].unit_ns;
      if (rw_state(other) == RW_QP_LIVE && other->device[0] == q->device[0] && other->device[1] == q->device[1] &&
          unit > 0 && unit < quickest)
        quickest = unit;
    }
    if (!counts || load->unit_ns < (float)TIMES * quickest) q->slow_ms = 0;
    else if (!q->slow_ms) q->slow_ms = c->now_ms;
    else if (c->now_ms - q->slow_ms >= FOR_MS)
      rw_qp_close(c, q, "%.0f times as slow as others for %.1f s", (double)(load->unit_ns / quickest), FOR_MS / 1e3);
  }
}

void rw_tick(struct rw_comm *c) {
  if (atomic_load_explicit(&c->error, memory_order_relaxed) != ncclSuccess) return;
  c->now_ms = rw_now_ns() / 1000000;
  // Time in which nobody looked tells nothing of the paths: this process was stopped, or NCCL was busy elsewhere.
  int64_t unseen = c->times.looked_ms ? c->now_ms - c->times.looked_ms - UNSEEN_MS : 0;
  for (int i = 0; unseen > 0 && i < c->n_qps; i++) {
    c->qps[i].progress_ms += unseen;
    if (c->qps[i].slow_ms) c->qps[i].slow_ms += unseen;
  }
  if (unseen > 0 && c->times.all_dead_ms) c->times.all_dead_ms += unseen;
  if (unseen > 0) rw_presence_put_off(c, unseen), rw_flush_put_off(c, unseen);
  c->times.looked_ms = c->now_ms;
  look_at_devices(c);
  look_at_queue_pairs(c);
  rw_presence_look(c);
  look_for_life(c);
  if (!c->sends) rw_cts_post_unsent(c);
  bool soon = c->live.n < c->n_qps || c->presence.lost_ms;
  if (c->now_ms - c->times.link_ms >= (soon ? LINK_SOON_MS : LINK_MS)) {
    c->times.link_ms = c->now_ms;
    look_at_link(c);
  }
  if (c->sends && c->now_ms - c->live.weigh_ms >= RW_WEIGH_MS) {
    c->live.weigh_ms = c->now_ms;
    rw_live_weigh(c);
    leave_slow_ways(c);
  }
}
