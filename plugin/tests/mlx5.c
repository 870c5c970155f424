// What the plugin asks of libmlx5: the UDP source port of queue pairs that ECMP spreads, and the Data Direct function
// of a NIC. Both ends are in this process, over fake verbs, where the first of two devices has such a function.
#include "mlx5.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "comm.h"
#include "connect.h"
#include "process.h"
#include "qp.h"

static int failures, refusal, n_ports, n_plain, n_direct;
static struct {
  struct ibv_qp *qp;
  unsigned port;
} ports[64];

#define CHECK(...) \
  if (!(__VA_ARGS__)) failures++, printf("mlx5: line %d: not so: %s\n", __LINE__, #__VA_ARGS__)

static int set_port(struct ibv_qp *qp, uint16_t port) {
  ports[n_ports].qp = qp;
  ports[n_ports++].port = port;
  return refusal;
}

static struct ibv_mr *(*plain)(struct ibv_pd *, uint64_t, size_t, uint64_t, int, int);
static struct ibv_mr *(*direct)(struct ibv_pd *, uint64_t, size_t, uint64_t, int, int, int);
static struct ibv_mr *count_plain(struct ibv_pd *pd, uint64_t offset, size_t size, uint64_t at, int fd, int access) {
  n_plain += fd >= 0;
  return plain(pd, offset, size, at, fd, access);
}
static struct ibv_mr *count_direct(struct ibv_pd *pd, uint64_t offset, size_t size, uint64_t at, int fd, int access,
                                   int mlx5_access) {
  n_direct += fd >= 0;
  return direct(pd, offset, size, at, fd, access, mlx5_access);
}

static void connect_once(int device) {
  unsigned char handle[NCCL_NET_HANDLE_MAXSIZE];
  struct rw_context context = {.traffic_class = NCCL_NET_TRAFFIC_CLASS_UNDEF};
  void *listening, *out = NULL, *in = NULL;
  n_ports = 0;
  if (rw_listen_on(&context, device, handle, &listening) != ncclSuccess) exit(1);
  while (!out || !in) {
    if (!out && rw_connect(&context, device, handle, &out) != ncclSuccess) exit(1);
    if (!in && rw_accept(listening, &in) != ncclSuccess) exit(1);
  }
  struct rw_comm *ends[] = {out, in};
  for (int e = 0; e < 2; e++)
    for (int q = 0; q < ends[e]->n_qps; q++) {
      const struct rw_qp *qp = &ends[e]->qps[q];
      int calls = 0;
      for (int i = 0; i < n_ports; i++) calls += ports[i].qp == qp->qp && ports[i].port == rw_udp_port(qp->flow_label);
      CHECK(calls == 1);
    }
  CHECK(n_ports == 8 && ports[0].port != ports[1].port);
  rw_comm_close(out);
  rw_comm_close(in);
  rw_close_listening(listening);
}

// Registers a DMA-BUF with a virtual device: how often by the Data Direct function, how often not.
static void register_with(int device, int by_direct, int by_plain) {
  int fd = memfd_create("dmabuf", MFD_CLOEXEC);
  struct rw_mr *mr;
  n_plain = n_direct = 0;
  if (fd < 0 || ftruncate(fd, 8192)) exit(1);
  void *at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  CHECK(rw_mr_register(rw_vdevice(device), at, 8192, NCCL_PTR_CUDA, 0, fd, &mr) == ncclSuccess);
  CHECK(n_direct == by_direct && n_plain == by_plain);
  rw_mr_deregister(rw_vdevice(device), mr);
  munmap(at, 8192);
  close(fd);
}

static bool shown(int device, const char *name, const char *path, bool flushes) {
  ncclNetProperties_v12_t p;
  return rw_device_properties(device, &p) == ncclSuccess && strcmp(p.name, name) == 0 && p.forceFlush == flushes &&
         (path ? p.pciPath && strcmp(p.pciPath, path) == 0 : !p.pciPath);
}

static void open_with(const char *data_direct) {
  setenv("NCCL_IB_DATA_DIRECT", data_direct, 1);
  if (rw_process_open() != ncclSuccess) exit(1);
  plain = rw_verbs.ibv_reg_dmabuf_mr;
  direct = rw_mlx5.mlx5dv_reg_dmabuf_mr;
  rw_verbs.ibv_reg_dmabuf_mr = count_plain;
  rw_mlx5.mlx5dv_reg_dmabuf_mr = count_direct;
}

static void close_again(void) {
  rw_verbs.ibv_reg_dmabuf_mr = plain;
  rw_mlx5.mlx5dv_reg_dmabuf_mr = direct;
  rw_process_close();
}

int main(void) {
  int merged;
  open_with("1");
  CHECK(rw_mlx5.mlx5dv_modify_qp_udp_sport != NULL);
  rw_mlx5.mlx5dv_modify_qp_udp_sport = set_port;
  CHECK(rw_vdevice_count() == 2);
  int with = shown(0, "fake0_dma", "/sys/devices/direct0", true) ? 0 : 1;
  CHECK(shown(with, "fake0_dma", "/sys/devices/direct0", true) && shown(!with, "fake1", NULL, false));
  register_with(with, 1, 0);
  register_with(!with, 0, 1);
  CHECK(rw_vdevice_make(&merged, (int[]){0, 1}, 2) == ncclSuccess);
  register_with(merged, 1, 1);
  ncclNetProperties_v12_t p;
  CHECK(rw_device_properties(merged, &p) == ncclSuccess && p.forceFlush == 1 && strstr(p.name, "fake0_dma"));
  connect_once(with);
  refusal = EOPNOTSUPP;  // left to the driver: the connection is set up all the same
  connect_once(with);
  close_again();

  open_with("0");
  CHECK(rw_vdevice_count() == 2 && shown(0, "fake0", NULL, false) && shown(1, "fake1", NULL, false));
  register_with(0, 0, 1);
  close_again();

  open_with("2");
  CHECK(rw_vdevice_count() == 3);
  int n_with = 0;
  for (int d = 0; d < 3; d++) n_with += shown(d, "fake0_dma", "/sys/devices/direct0", true);
  CHECK(n_with == 1);
  close_again();
  if (!failures) printf("mlx5: all well\n");
  return failures > 0;
}
