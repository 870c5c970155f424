#include "mlx5.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "params.h"

struct rw_mlx5 rw_mlx5;

void rw_mlx5_load(void) {
  static void *library;
  if (library) return;
  library = dlopen(rw_params.mlx5_lib, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    rw_info("no %s: UDP source ports and Data Direct are the driver's own affair", rw_params.mlx5_lib);
    return;
  }
  void *found;
#define BIND(result, name, arguments) found = dlsym(library, #name), memcpy(&rw_mlx5.name, &found, sizeof(found));
  RW_MLX5(BIND)
#undef BIND
}

bool rw_mlx5_drives(struct ibv_device *device) {
  return rw_mlx5.mlx5dv_is_supported && rw_mlx5.mlx5dv_is_supported(device);
}

bool rw_mlx5_data_direct(struct ibv_context *context, char *path, size_t size) {
  int root = snprintf(path, size, "/sys");
  if (!rw_mlx5.mlx5dv_get_data_direct_sysfs_path) return false;
  int error = rw_mlx5.mlx5dv_get_data_direct_sysfs_path(context, path + root, size - (size_t)root);
  if (error && error != ENODEV && error != EOPNOTSUPP)
    rw_warn("%s: its Data Direct function cannot be found: %s", rw_verbs.ibv_get_device_name(context->device),
            strerror(error > 0 ? error : errno));
  return !error;
}
