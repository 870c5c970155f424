// Everything that a connection does by itself starts here.
#ifndef RAILWEAVE_PROGRESS_H
#define RAILWEAVE_PROGRESS_H

#include "comm.h"

void rw_progress(struct rw_comm *c);

#endif
