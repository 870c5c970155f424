#include "presence.h"

#include "failover.h"
#include "failure.h"
#include "params.h"
#include "publish.h"
#include "verbs.h"

enum {
  ASK_MS = 300,      // of silence until the first question, over one queue pair
  ALL_MS = 150,      // without an answer until the second, over all
  REPEAT_MS = 500,   // between further ones
  LOST_MS = 2000,    // after the other end's kernel closed the TCP connection, without an answer: the process is gone
  REFUSED_MS = 300,  // the same, where nobody answers a call either
  WANTED_MS = 250,   // after an isend that found no receive, another is taken to follow
};

static void post(struct rw_comm *c, struct rw_qp *q) {
  struct ibv_sge sge = {.addr = (uintptr_t)&c->shared->beat_out,
                        .length = sizeof(c->shared->beat_out),
                        .lkey = c->devices[q->device[0]].shared_mr->lkey};
  struct ibv_send_wr wr = {
      .wr_id = rw_work_id(RW_WORK_BEAT, (unsigned)(q - c->qps), q->epoch),
      .sg_list = &sge,
      .num_sge = 1,
      .opcode = IBV_WR_RDMA_WRITE,
      .send_flags = IBV_SEND_SIGNALED,
      .wr.rdma = {.remote_addr = c->remote_shared + offsetof(struct rw_shared, beat_in),
                  .rkey = c->devices[q->device[1]].remote_rkey},
  };
  if (q->sends_out > RW_SEND_WRS - 8) return;
  if (q->sends_out == 0) q->progress_ms = c->now_ms;
  if (rw_post_send(q->qp, &wr)) rw_qp_close(c, q, "the device refuses work");
  else q->sends_out++;
}

static void write_beat(struct rw_comm *c, bool over_all) {
  struct rw_beat *out = &c->shared->beat_out;
  __atomic_store_n(&out->question, htole64(c->presence.asked), __ATOMIC_RELAXED);
  __atomic_store_n(&out->answer, htole64(c->presence.told), __ATOMIC_RELEASE);
  if (!over_all) {
    struct rw_qp *q = rw_record_carrier(c);
    if (q) post(c, q);
    return;
  }
  for (int i = 0; i < c->n_qps; i++)
    if (rw_state(&c->qps[i]) == RW_QP_LIVE) post(c, &c->qps[i]);
}

bool rw_presence_waits(const struct rw_comm *c) {
  return c->requests.outstanding > 0 || (c->presence.wanted_ms && c->now_ms - c->presence.wanted_ms < WANTED_MS);
}

void rw_presence_put_off(struct rw_comm *c, int64_t ms) {
  struct rw_presence *p = &c->presence;
  if (p->waits_ms) p->waits_ms += ms;
  if (p->lost_ms) p->lost_ms += ms;
  p->asked_ms += ms;
}

// Read what the other end wrote, and answer it.
static void listen_to_beat(struct rw_comm *c) {
  struct rw_presence *p = &c->presence;
  uint64_t question = le64toh(__atomic_load_n(&c->shared->beat_in.question, __ATOMIC_RELAXED));
  uint64_t answer = le64toh(__atomic_load_n(&c->shared->beat_in.answer, __ATOMIC_ACQUIRE));
  if (answer > p->answered || question > p->told) rw_presence_heard(p, c->now_ms);
  if (answer > p->answered) p->answered = answer;
  if (question > p->told) {
    p->told = question;
    write_beat(c, false);
  }
}

// Does its NIC answer? A path from which nothing comes back tells nothing of the process: the NIC's own retries, or
// tick.c, decide about that.
static bool nic_answers(const struct rw_comm *c) {
  for (int i = 0; i < c->n_qps; i++) {
    const struct rw_qp *q = &c->qps[i];
    if (rw_state(q) == RW_QP_LIVE && (q->sends_out == 0 || c->now_ms - q->progress_ms < LOST_MS)) return true;
  }
  return false;
}

static void fail_if_gone(struct rw_comm *c) {
  struct rw_presence *p = &c->presence;
  int64_t silent = c->now_ms - p->waits_ms;
  if (p->lost_ms && p->hung_up) {
    // What was on its way when the connection was closed may still have come.
    int64_t since = p->lost_ms > p->alive_ms ? p->lost_ms : p->alive_ms;
    if (since < p->waits_ms) since = p->waits_ms;
    if (c->now_ms - since > (p->refused || rw_cause_is(c) ? REFUSED_MS : LOST_MS))
      rw_fail_gone(c, "is gone: it ended, or was killed. Look at its own log, not at the network");
  } else if (rw_params.peer_ms > 0 && silent > rw_params.peer_ms && nic_answers(c)) {
    rw_fail_gone(c, "has not answered for %.1f s, although its NIC does: stopped, or hung (RAILWEAVE_NET_PEER_MS)",
                 (double)silent / 1e3);
  }
}

void rw_presence_look(struct rw_comm *c) {
  struct rw_presence *p = &c->presence;
  if (atomic_load_explicit(&c->sender.wanted, memory_order_relaxed)) {
    atomic_store_explicit(&c->sender.wanted, false, memory_order_relaxed);
    p->wanted_ms = c->now_ms;
  }
  listen_to_beat(c);
  if (c->peer.gone || !rw_presence_waits(c)) {
    p->waits_ms = 0;
    p->unanswered = 0;
    return;
  }
  if (!p->waits_ms) p->waits_ms = c->now_ms;
  bool urgent = p->lost_ms && p->alive_ms < p->lost_ms;
  int64_t since = c->now_ms - p->asked_ms;
  bool ask = p->unanswered == 0   ? urgent || c->now_ms - p->waits_ms >= ASK_MS
             : p->unanswered == 1 ? since >= ALL_MS
                                  : since >= REPEAT_MS;
  if (ask) {
    p->asked++;
    p->asked_ms = c->now_ms;
    write_beat(c, p->unanswered > 0);
    p->unanswered++;
  }
  fail_if_gone(c);
}
