#include "profiler.h"

static _Atomic(ncclProfilerCallback_t) profiler;

void rw_profile_with(ncclProfilerCallback_t callback) { atomic_store(&profiler, callback); }

void rw_profile_start(struct rw_comm *c, const struct rw_qp *q, const struct rw_request *r, struct rw_piece *piece) {
  piece->event = NULL;
  if (!r->phandle) return;
  ncclProfilerCallback_t call = atomic_load_explicit(&profiler, memory_order_relaxed);
  if (!call) return;
  ncclProfilerNetIbDescr_v1_t data = {
      .type = NCCL_PROFILE_QP,
      .qp = {.device = c->v.devices[q->device[0]],
             .wr_id = r->id,
             .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
             .qpNum = (int)q->qp->qp_num,
             .length = piece->length},
  };
  call(&piece->event, NCCL_PROFILER_EVENT_START, r->phandle, NCCL_PROFILER_NET_IB_V1, &data);
}

void rw_profile_stop(struct rw_piece *piece) {
  ncclProfilerCallback_t call = atomic_load_explicit(&profiler, memory_order_relaxed);
  if (piece->event && call) call(&piece->event, NCCL_PROFILER_EVENT_STOP, NULL, 0, NULL);
  piece->event = NULL;
}
