// What NVIDIA's NICs do beyond verbs (libmlx5 of rdma-core), where the library and the device have it.
#ifndef RAILWEAVE_MLX5_H
#define RAILWEAVE_MLX5_H

#include "verbs.h"

enum { RW_MLX5_DATA_DIRECT = 1 };  // MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT

// ANY(result, name, arguments): NULL where the library is missing or older.
#define RW_MLX5(ANY)                                                                                     \
  ANY(bool, mlx5dv_is_supported, (struct ibv_device * device))                                           \
  ANY(int, mlx5dv_modify_qp_udp_sport, (struct ibv_qp * qp, uint16_t port))                              \
  ANY(int, mlx5dv_get_data_direct_sysfs_path, (struct ibv_context * context, char *path, size_t length)) \
  ANY(struct ibv_mr *, mlx5dv_reg_dmabuf_mr,                                                             \
      (struct ibv_pd * pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access, int mlx5_access))

struct rw_mlx5 {
#define FIELD(result, name, arguments) result(*name) arguments;
  RW_MLX5(FIELD)
#undef FIELD
};

extern struct rw_mlx5 rw_mlx5;

// Loads the library once; verbs are loaded.
void rw_mlx5_load(void);

bool rw_mlx5_drives(struct ibv_device *device);

// The folder in sysfs of the Data Direct function of a NIC: a second way to memory, beside its GPU's PCIe switch and
// past the CPU. False where there is none.
bool rw_mlx5_data_direct(struct ibv_context *context, char *path, size_t size);

#endif
