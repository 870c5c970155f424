// Is the process at the other end still there? Asked only while this end waits for something.
//
// Queue pairs tell of paths: a NIC acknowledges without its process. So each end writes a number into the other's
// memory now and then, and the other's thread that looks after the connection writes it back. Who gets no answer asks
// over all paths, which then tell by themselves whether they are dead.
#ifndef RAILWEAVE_PRESENCE_H
#define RAILWEAVE_PRESENCE_H

#include "comm.h"

bool rw_presence_waits(const struct rw_comm *c);
void rw_presence_look(struct rw_comm *c);
void rw_presence_put_off(struct rw_comm *c, int64_t ms);  // time in which nobody looked

#endif
