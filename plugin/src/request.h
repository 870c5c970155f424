// Receives and tests: the calls of NCCL's that also make a connection progress.
#ifndef RAILWEAVE_REQUEST_H
#define RAILWEAVE_REQUEST_H

#include "comm.h"

ncclResult_t rw_irecv(struct rw_comm *c, int n, void **data, const size_t *sizes, const int *tags, void **mrs,
                      void **request);
ncclResult_t rw_test(struct rw_request *r, int *done, int *sizes);

#endif
