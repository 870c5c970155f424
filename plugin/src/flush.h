// Flushes of GPU memory.
#ifndef RAILWEAVE_FLUSH_H
#define RAILWEAVE_FLUSH_H

#include "comm.h"

ncclResult_t rw_iflush(struct rw_comm *c, int n, void **data, const int *sizes, void **mrs, void **request);
bool rw_flush_create(struct rw_comm *c, struct rw_comm_device *d);
void rw_flush_done(struct rw_comm *c, int device, struct rw_request *r, int status);
// No read is posted over the device until rw_flush_repair has made its queue pair anew; those that failed follow then.
// reason: a constant.
void rw_flush_break(struct rw_comm *c, int device, const char *reason);
void rw_flush_repair(struct rw_comm *c, int device);
// Time in which nobody looked: no flush failed in it.
void rw_flush_again(struct rw_comm *c);  // a port is up: reads that wait begin to wait anew
void rw_flush_put_off(struct rw_comm *c, int64_t ms);

#endif
