#include "dmabuf.h"

#include <errno.h>

#include "mlx5.h"

struct ibv_mr *rw_dmabuf_register(struct ibv_pd *pd, bool data_direct, uint64_t offset, size_t length, uint64_t at,
                                  int fd, int access) {
  if (data_direct ? !rw_mlx5.mlx5dv_reg_dmabuf_mr : !rw_verbs.ibv_reg_dmabuf_mr) {
    errno = EOPNOTSUPP;
    return NULL;
  }
  if (data_direct) return rw_mlx5.mlx5dv_reg_dmabuf_mr(pd, offset, length, at, fd, access, RW_MLX5_DATA_DIRECT);
  return rw_verbs.ibv_reg_dmabuf_mr(pd, offset, length, at, fd, access);
}

// Without a descriptor the kernel says EBADF where it has DMA-BUF and EOPNOTSUPP or EPROTONOSUPPORT where not.
bool rw_dmabuf_registers(struct ibv_context *context, bool data_direct) {
  struct ibv_pd *pd = rw_verbs.ibv_alloc_pd(context);
  if (!pd) return false;
  errno = 0;
  struct ibv_mr *mr = rw_dmabuf_register(pd, data_direct, 0, 0, 0, -1, 0);
  bool does = !mr && errno != EOPNOTSUPP && errno != EPROTONOSUPPORT;
  rw_verbs.ibv_dealloc_pd(pd);
  return does;
}
