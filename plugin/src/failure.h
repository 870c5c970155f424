// The end of a connection: said once, with what to look at, here and to the other end.
#ifndef RAILWEAVE_FAILURE_H
#define RAILWEAVE_FAILURE_H

#include "comm.h"

void rw_fail(struct rw_comm *c, ncclResult_t error, const char *format, ...) __attribute__((format(printf, 3, 4)));
void rw_fail_all_dead(struct rw_comm *c);

#endif
