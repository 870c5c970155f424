// A libmlx5 for the fake: RAILWEAVE_NET_MLX5_LIB names it, else fake devices are none of NVIDIA's. The first device has
// a Data Direct function.
#include <errno.h>
#include <stdio.h>

#include "nic.h"

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access);
bool mlx5dv_is_supported(struct ibv_device *device);
int mlx5dv_modify_qp_udp_sport(struct ibv_qp *qp, uint16_t port);
int mlx5dv_get_data_direct_sysfs_path(struct ibv_context *context, char *path, size_t length);
struct ibv_mr *mlx5dv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                                    int access, int mlx5_access);

bool mlx5dv_is_supported(struct ibv_device *device) {
  (void)device;
  return true;
}

int mlx5dv_modify_qp_udp_sport(struct ibv_qp *qp, uint16_t port) {
  if (qp->state != IBV_QPS_RTS) return EINVAL;
  pthread_mutex_lock(&fake_nic.lock);
  ((struct fake_qp *)qp)->flow_label = port & 0x3fff;
  pthread_mutex_unlock(&fake_nic.lock);
  return 0;
}

int mlx5dv_get_data_direct_sysfs_path(struct ibv_context *context, char *path, size_t length) {
  if (((struct fake_context *)context)->device != 0) return ENODEV;
  return snprintf(path, length, "/devices/direct%d", fake_nic.host) < (int)length ? 0 : ENOSPC;
}

struct ibv_mr *mlx5dv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                                    int access, int mlx5_access) {
  if (mlx5_access != 1 || ((struct fake_context *)pd->context)->device != 0) {
    errno = EOPNOTSUPP;
    return NULL;
  }
  return ibv_reg_dmabuf_mr(pd, offset, length, iova, fd, access);
}
