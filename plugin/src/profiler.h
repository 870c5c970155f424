// Events for NCCL's profiler, one per piece of a message (net API 10 and newer).
#ifndef RAILWEAVE_PROFILER_H
#define RAILWEAVE_PROFILER_H

#include "comm.h"

void rw_profile_with(ncclProfilerCallback_t callback);
void rw_profile_start(struct rw_comm *c, const struct rw_qp *q, const struct rw_request *r, struct rw_piece *piece);
void rw_profile_stop(struct rw_piece *piece);

#endif
