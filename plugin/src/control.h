// What the other end says of its queue pairs.
#ifndef RAILWEAVE_CONTROL_H
#define RAILWEAVE_CONTROL_H

#include "comm.h"

void rw_record_arrived(struct rw_comm *c, int index, const struct rw_record *record);

#endif
