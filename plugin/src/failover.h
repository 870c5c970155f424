// Death of one queue pair.
#ifndef RAILWEAVE_FAILOVER_H
#define RAILWEAVE_FAILOVER_H

#include "comm.h"

void rw_qp_close(struct rw_comm *c, struct rw_qp *q, const char *format, ...) __attribute__((format(printf, 3, 4)));
void rw_qp_close_refused(struct rw_comm *c);             // those whose device did not take work
void rw_qp_put_off(struct rw_comm *c, struct rw_qp *q);  // the next attempt to replace it
void rw_qp_drained(struct rw_comm *c, struct rw_qp *q);

#endif
