// A dead queue pair comes back.
#ifndef RAILWEAVE_RECOVERY_H
#define RAILWEAVE_RECOVERY_H

#include "comm.h"

void rw_recovery_start(struct rw_comm *c, struct rw_qp *q);
void rw_recovery_answer(struct rw_comm *c, struct rw_qp *q, const struct rw_record_fields *peer);
void rw_recovery_connect(struct rw_comm *c, struct rw_qp *q, const struct rw_record_fields *peer);
void rw_recovery_proven(struct rw_comm *c, struct rw_qp *q);
bool rw_probe(struct rw_comm *c, struct rw_qp *q, enum rw_work work);  // a small write to the other end

#endif
