// What a connection holds: queues, queue pairs, memory.
#ifndef RAILWEAVE_RESOURCES_H
#define RAILWEAVE_RESOURCES_H

#include "comm.h"

struct rw_comm *rw_comm_new(const struct rw_vdevice *v, bool sends);
void rw_comm_free(struct rw_comm *c);

// Once table, local and remote are known: makes every queue pair, not connected.
ncclResult_t rw_comm_prepare(struct rw_comm *c);

#endif
