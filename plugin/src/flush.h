// Flushes of GPU memory.
#ifndef RAILWEAVE_FLUSH_H
#define RAILWEAVE_FLUSH_H

#include "comm.h"

ncclResult_t rw_iflush(struct rw_comm *c, int n, void **data, const int *sizes, void **mrs, void **request);
bool rw_flush_create(struct rw_comm *c, struct rw_comm_device *d);
void rw_flush_done(struct rw_comm *c, int device, struct rw_request *r, int status);
void rw_flush_break(struct rw_comm *c, int device);
void rw_flush_repair(struct rw_comm *c, int device);

#endif
