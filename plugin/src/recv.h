// Receiving: clear-to-send entries, and pieces that come in.
#ifndef RAILWEAVE_RECV_H
#define RAILWEAVE_RECV_H

#include "comm.h"

// Starts a group of receives; NULL where its slot is not free yet.
struct rw_request *rw_recv_start(struct rw_comm *c, int n, void **data, const size_t *sizes, const int *tags,
                                 void **mrs);
void rw_recv_piece(struct rw_comm *c, uint32_t imm, uint32_t bytes);

// The write of a slot's entry came back well; failed; can no longer arrive, its queue pair being closed at both ends.
void rw_cts_acked(struct rw_comm *c, int slot);
void rw_cts_failed(struct rw_comm *c, struct rw_qp *q, int slot);
void rw_cts_released(struct rw_comm *c, struct rw_qp *q);

void rw_cts_elsewhere(struct rw_comm *c, const struct rw_qp *suspect);
void rw_cts_post_unsent(struct rw_comm *c);

#endif
