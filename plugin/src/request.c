#include "request.h"

#include "progress.h"
#include "recv.h"

ncclResult_t rw_irecv(struct rw_comm *c, int n, void **data, const size_t *sizes, const int *tags, void **mrs,
                      void **request) {
  *request = NULL;
  ncclResult_t error = atomic_load_explicit(&c->error, memory_order_relaxed);
  if (error != ncclSuccess) return error;
  if (n < 1 || n > RW_RECVS) return ncclInternalError;
  if (!rw_comm_enter(c)) return ncclSuccess;
  *request = rw_recv_start(c, n, data, sizes, tags, mrs);
  if (*request) return ncclSuccess;
  rw_progress(c);
  rw_comm_leave(c);
  return ncclSuccess;
}

ncclResult_t rw_test(struct rw_request *r, int *done, int *sizes) {
  struct rw_comm *c = r->comm;
  *done = 0;
  if (!r->done) {
    ncclResult_t error = atomic_load_explicit(&c->error, memory_order_relaxed);
    if (error == ncclSuccess) {
      rw_progress(c);
      error = atomic_load_explicit(&c->error, memory_order_relaxed);
    }
    if (!r->done) return error;
  }
  int n = r->kind == RW_RECV ? r->n : 1;
  for (int i = 0; sizes && r->kind != RW_FLUSH && i < n; i++) sizes[i] = (int)r->sizes[i];
  *done = 1;
  rw_request_put(r);
  rw_comm_leave(c);
  return ncclSuccess;
}
