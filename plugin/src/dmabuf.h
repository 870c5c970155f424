// Registration of DMA-BUF memory, by verbs or by the Data Direct function of a NIC.
#ifndef RAILWEAVE_DMABUF_H
#define RAILWEAVE_DMABUF_H

#include "verbs.h"

// NULL, with errno, where it is refused or there is no such way.
struct ibv_mr *rw_dmabuf_register(struct ibv_pd *pd, bool data_direct, uint64_t offset, size_t length, uint64_t at,
                                  int fd, int access);

// Whether a device registers any.
bool rw_dmabuf_registers(struct ibv_context *context, bool data_direct);

#endif
