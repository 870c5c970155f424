// Memory registered with devices. Registrations of one device are shared: NCCL registers the same buffers for many
// connections.
#ifndef RAILWEAVE_MR_H
#define RAILWEAVE_MR_H

#include "devices.h"

struct rw_mr {
  int n;
  bool host;
  struct ibv_mr *mrs[RW_MAX_MERGED];  // by position in the virtual device
};

ncclResult_t rw_pd_use(struct rw_device *device, struct ibv_pd **pd);
void rw_pd_release(struct rw_device *device);

// fd: of a DMA-BUF, or -1. type: NCCL_PTR_HOST or _CUDA.
ncclResult_t rw_mr_register(const struct rw_vdevice *v, void *data, size_t size, int type, uint64_t offset, int fd,
                            struct rw_mr **out);
ncclResult_t rw_mr_deregister(const struct rw_vdevice *v, struct rw_mr *mr);
void rw_mr_release_all(struct rw_device *device);

#endif
