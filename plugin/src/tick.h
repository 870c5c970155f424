// What time brings.
#ifndef RAILWEAVE_TICK_H
#define RAILWEAVE_TICK_H

#include "comm.h"

void rw_tick(struct rw_comm *c);

#endif
