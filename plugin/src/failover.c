// Death of one queue pair. This end moves it to the error state, so that nothing more can arrive on it, and waits for
// its work requests to come back. Then it says how many pieces arrived. When both ends have done so, both know what was
// delivered, and the rest is sent over others: nothing is lost, nothing comes twice, in whatever order queue pairs die.
#include "failover.h"

#include <stdarg.h>
#include <stdio.h>

#include "live.h"
#include "log.h"
#include "params.h"
#include "publish.h"
#include "qp.h"
#include "recv.h"
#include "send.h"

static void resolve(struct rw_comm *c, struct rw_qp *q) {
  rw_send_lost(c, q, q->record.peer_arrived);
  rw_cts_released(c, q);
  rw_set_state(q, RW_QP_CLOSED);
  if (q->recover_wait_ms == 0) q->recover_wait_ms = rw_params.recover_ms;
  q->recover_at_ms = c->now_ms + q->recover_wait_ms;
}

void rw_qp_drained(struct rw_comm *c, struct rw_qp *q) {
  if (rw_state(q) != RW_QP_CLOSING || !q->errored || q->sends_out || q->recvs_out) return;
  if (q->record.kind != RW_SAYS_CLOSED) {
    q->record.kind = RW_SAYS_CLOSED;
    rw_record_publish(c, q);
  }
  if (q->record.peer_closed) resolve(c, q);
}

// A path takes the queue pairs of all connections with it: the first is told of, the rest is for those who look closer.
static bool told(const struct rw_comm *c, const struct rw_qp *q) {
  enum { PATHS = 64, QUIET_MS = 10000 };
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static struct {
    char device[RW_NAME], host[RW_NAME];
    int color;
    int64_t at_ms;
  } paths[PATHS];
  static unsigned next;
  const char *device = c->local.devices[q->device[0]].name;
  bool known = false;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < PATHS && !known; i++)
    known = paths[i].color == q->color && strcmp(paths[i].device, device) == 0 &&
            strcmp(paths[i].host, c->remote.host) == 0 && c->now_ms - paths[i].at_ms < QUIET_MS;
  if (!known) {
    unsigned i = next++ % PATHS;
    snprintf(paths[i].device, RW_NAME, "%s", device);
    snprintf(paths[i].host, RW_NAME, "%s", c->remote.host);
    paths[i].color = q->color;
    paths[i].at_ms = c->now_ms;
  }
  pthread_mutex_unlock(&lock);
  return known;
}

void rw_qp_close(struct rw_comm *c, struct rw_qp *q, const char *format, ...) {
  int state = rw_state(q);
  char name[256];
  va_list args;
  if (state == RW_QP_CLOSING || state == RW_QP_CLOSED) return;
  va_start(args, format);
  vsnprintf(q->reason, sizeof(q->reason), format, args);
  va_end(args);
  rw_qp_to_error(q);
  q->deadline_ms = c->now_ms;
  rw_set_state(q, RW_QP_CLOSING);
  atomic_store_explicit(&q->suspect, false, memory_order_relaxed);
  q->record.kind = RW_SAYS_NOTHING;
  if (state == RW_QP_LIVE) {
    rw_count(&q->counters.deaths, 1);
    q->recover_wait_ms = 0;
  } else {
    int most = 8 * rw_params.recover_ms;
    q->recover_wait_ms = q->recover_wait_ms * 2 < most ? q->recover_wait_ms * 2 : most;
  }
  rw_live_update(c);
  rw_qp_name(c, q, name, sizeof(name));
  if (state == RW_QP_LIVE)
    rw_log(told(c, q) ? NCCL_LOG_INFO : NCCL_LOG_WARN, __FILE__, __LINE__,
           "%s is dead: %s. %d of %d queue pairs go on. Look at that path: railweave-rdma-ping, and the leaves' routes "
           "of that color",
           name, q->reason, c->live.all_suspect ? 0 : c->live.n, c->n_qps);
  else rw_info("%s: not yet back: %s", name, q->reason);
  rw_qp_drained(c, q);
}

void rw_qp_close_refused(struct rw_comm *c) {
  c->any_refused = false;
  for (int i = 0; i < c->n_qps; i++)
    if (c->qps[i].refused) rw_qp_close(c, &c->qps[i], "the device refuses work");
}
