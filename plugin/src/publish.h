// What this end says of its queue pairs.
#ifndef RAILWEAVE_PUBLISH_H
#define RAILWEAVE_PUBLISH_H

#include "comm.h"

void rw_record_publish(struct rw_comm *c, struct rw_qp *q);
void rw_record_repeat(struct rw_comm *c, struct rw_qp *q);
struct rw_qp *rw_record_carrier(struct rw_comm *c);  // the best queue pair for a word to the other end, NULL: none

#endif
