// How much of a message each queue pair gets: in proportion to the rate at which its pieces complete.
#include "comm.h"
#include "params.h"

// Below this the round trip, not the rate, is what a completion measures.
enum { LEAST_BYTES = 16384 };

void rw_weights_sample(struct rw_qp *q, uint32_t bytes, int64_t posted_ns, int64_t now_ns) {
  int64_t start = posted_ns > q->last_ns ? posted_ns : q->last_ns;
  if (bytes >= LEAST_BYTES && now_ns > start) {
    float sample = (float)(now_ns - start) / (float)bytes;
    q->ns_per_byte = q->ns_per_byte > 0 ? q->ns_per_byte + (sample - q->ns_per_byte) / 8 : sample;
  }
  q->last_ns = now_ns;
}

static double weight(const struct rw_qp *q, float fastest) {
  double w = 1;
  if (rw_params.weights && q->ns_per_byte > 0 && fastest > 0) w = (double)fastest / (double)q->ns_per_byte;
  if (w > 0.75) w = 1;             // noise: equal paths share equally
  if (w < 1.0 / 16) w = 1.0 / 16;  // a path that gets nothing could never show that it is fast again
  return w * q->ramp / 100;
}

void rw_weights_update(struct rw_comm *c) {
  float fastest = 0;
  double sum = 0;
  c->n_live = 0;
  c->all_suspect = true;
  for (int i = 0; i < c->n_qps; i++)
    if (rw_state(&c->qps[i]) == RW_QP_LIVE && !atomic_load_explicit(&c->qps[i].suspect, memory_order_relaxed))
      c->all_suspect = false;
  for (int i = 0; i < c->n_qps; i++) {
    struct rw_qp *q = &c->qps[i];
    atomic_store_explicit(&q->share, 0, memory_order_relaxed);
    if (rw_state(q) != RW_QP_LIVE) continue;
    if (atomic_load_explicit(&q->suspect, memory_order_relaxed) && !c->all_suspect) continue;
    c->live[c->n_live++] = (uint8_t)i;
    if (q->ns_per_byte > 0 && (fastest == 0 || q->ns_per_byte < fastest)) fastest = q->ns_per_byte;
  }
  for (int i = 0; i < c->n_live; i++) sum += weight(&c->qps[c->live[i]], fastest);
  for (int i = 0; i < c->n_live; i++) {
    struct rw_qp *q = &c->qps[c->live[i]];
    atomic_store_explicit(&q->share, (uint32_t)(65536 * weight(q, fastest) / sum), memory_order_relaxed);
  }
}
