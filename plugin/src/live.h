// Which queue pairs get new data, and how much of it.
#ifndef RAILWEAVE_LIVE_H
#define RAILWEAVE_LIVE_H

#include "comm.h"

void rw_live_update(struct rw_comm *c);  // after a change of a queue pair's state
void rw_live_weigh(struct rw_comm *c);   // now and then, of a sender

#endif
