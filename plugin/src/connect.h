// Setting a connection up and taking it down.
#ifndef RAILWEAVE_CONNECT_H
#define RAILWEAVE_CONNECT_H

#include "nccl_net_abi.h"

struct rw_comm;

struct rw_context {
  int traffic_class;  // NCCL_NET_TRAFFIC_CLASS_UNDEF where the communicator sets none
};
ncclResult_t rw_listen_on(const struct rw_context *context, int device, void *handle, void **listening);
ncclResult_t rw_connect(const struct rw_context *context, int device, void *handle, void **comm);
ncclResult_t rw_accept(void *listening, void **comm);
ncclResult_t rw_close_listening(void *listening);
ncclResult_t rw_comm_close(struct rw_comm *c);

#endif
