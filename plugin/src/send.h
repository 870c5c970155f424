// Sending: messages in pieces, each over one queue pair.
#ifndef RAILWEAVE_SEND_H
#define RAILWEAVE_SEND_H

#include "comm.h"

ncclResult_t rw_isend(struct rw_comm *c, void *data, size_t size, int tag, const struct rw_mr *mr, void *phandle,
                      void **request);
void rw_send_pending(struct rw_comm *c);
void rw_send_acked(struct rw_comm *c, struct rw_qp *q, int64_t now_ns);
void rw_send_lost(struct rw_comm *c, struct rw_qp *q, uint32_t arrived);
void rw_send_complete_below(struct rw_comm *c, uint64_t complete);

#endif
