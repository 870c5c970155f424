// A net plugin of any version as its newest: what NCCL's own compatibility layer does, for the tests.
#ifndef RAILWEAVE_TESTS_NET_API_H
#define RAILWEAVE_TESTS_NET_API_H

#include <stdbool.h>

#include "nccl_net_abi.h"

struct net {
  int version;
  void *table;
  void *ctx;
  ncclResult_t (*init)(struct net *net, ncclDebugLogger_t log, ncclProfilerCallback_t profiler);
  ncclResult_t (*finalize)(struct net *net);
  ncclResult_t (*devices)(int *n);
  ncclResult_t (*properties)(struct net *net, int dev, ncclNetProperties_v12_t *p);
  ncclResult_t (*listen)(struct net *net, int dev, void *handle, void **comm);
  ncclResult_t (*connect)(struct net *net, int dev, void *handle, void **comm);
  ncclResult_t (*accept)(struct net *net, void *listening, void **comm);
  ncclResult_t (*reg)(struct net *net, void *comm, void *data, size_t size, int type, void **mhandle);
  CALL(regMrDmaBuf, void *comm, void *data, size_t size, int type, uint64_t offset, int fd, void **mhandle)
  CALL(deregMr, void *comm, void *mhandle)
  ncclResult_t (*isend)(struct net *net, void *comm, void *data, size_t size, int tag, void *mhandle, void *phandle,
                        void **request);
  ncclResult_t (*irecv)(struct net *net, void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
                        void **request);
  FINISH_CALLS
  ncclResult_t (*make_vdevice)(struct net *net, int *dev, const int *members, int n);  // NULL before v9
};

// The plugin's table of that version, by the symbol NCCL looks up; false where it is missing.
bool net_open(struct net *net, void *library, int version);

#endif
