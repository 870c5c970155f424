#include "devices.h"

#include <endian.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "dmabuf.h"
#include "log.h"
#include "mlx5.h"
#include "name_list.h"
#include "params.h"
#include "verbs.h"

enum { MAX_VIRTUAL = 256, NO_BFD_MS = 1500, AFTER_BFD_MS = 500 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int n_devices, n_virtual;
static struct rw_device devices[RW_MAX_DEVICES];
static struct rw_vdevice virtual_devices[MAX_VIRTUAL];

int rw_device_count(void) { return n_devices; }
struct rw_device *rw_device(int i) {
  return &devices[i];
}

int rw_vdevice_count(void) {
  pthread_mutex_lock(&lock);
  int n = n_virtual;
  pthread_mutex_unlock(&lock);
  return n;
}

const struct rw_vdevice *rw_vdevice(int i) { return i >= 0 && i < rw_vdevice_count() ? &virtual_devices[i] : NULL; }

int rw_port_speed(unsigned width, unsigned speed) {
  // By bit (InfiniBand, PortInfo): SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR; lanes.
  static const int lane[] = {2500, 5000, 10000, 10000, 14000, 25000, 50000, 100000, 200000};
  static const int lanes[] = {1, 4, 8, 12, 2};
  int of_lane = 0, n = 1;
  for (int i = 0; i < 9; i++)
    if (speed >> i & 1) of_lane = lane[i];
  if (speed >> 9) of_lane = lane[8];  // not known yet: at least as fast
  for (int i = 0; i < 5; i++)
    if (width >> i & 1) n = lanes[i];
  return of_lane * n;
}

// From XDR on the speed does not fit the attributes' byte any more.
static unsigned speed_bits(struct ibv_context *context, int port, const struct ibv_port_attr *attr) {
  struct ibv_verbs_context *v = (void *)((char *)context - offsetof(struct ibv_verbs_context, context));
  struct ibv_port_attr_ex more;
  memset(&more, 0, sizeof(more));
  if ((uintptr_t)context->abi_compat != UINTPTR_MAX || v->size < sizeof(*v) || !v->query_port ||
      v->query_port(context, (uint8_t)port, &more.attr, sizeof(more)) || !more.active_speed_ex)
    return attr->active_speed;
  return more.active_speed_ex;
}

// NCCL_IB_QUERY_PORT_SPEED=0 leaves out the newest way to ask, as in NCCL's own transport.
static int find_speed(struct ibv_context *context, int port, const struct ibv_port_attr *attr,
                      const struct rw_host_nic *nic) {
  uint64_t hundreds = 0;
  if (rw_params.query_port_speed && rw_verbs.ibv_query_port_speed &&
      rw_verbs.ibv_query_port_speed(context, (uint32_t)port, &hundreds) == 0 && hundreds > 0)
    return (int)(hundreds * 100);
  int speed = rw_port_speed(attr->active_width, speed_bits(context, port, attr));
  if (speed) return speed;
  return nic && nic->speed_gbps ? nic->speed_gbps * 1000 : 100000;
}

// The PCI device's folder in sysfs, with the function number cleared where virtual functions count as one NIC.
static void find_pci(struct rw_device *d, const struct ibv_device *device) {
  char link[PATH_MAX], real[PATH_MAX];
  snprintf(link, sizeof(link), "%s/device", device->ibdev_path);
  if (!realpath(link, real)) return;
  size_t n = strlen(real);
  if (n >= 3 && real[n - 2] == '.') {
    real[n - 1] = '0';
    if (rw_params.merge_vfs) real[n - 3] = real[n - 4] = '0';
  }
  snprintf(d->pci_path, sizeof(d->pci_path), "%s", real);
}

static bool gpu_memory_by_peer_module(void) {
  static const char *const modules[] = {
      "/sys/kernel/mm/memory_peers/nv_mem/version", "/sys/kernel/mm/memory_peers/nv_mem_nc/version",
      "/sys/module/nvidia_peermem/version", "/sys/kernel/mm/memory_peers/amdkfd/version"};
  for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
    if (access(modules[i], F_OK) == 0) return true;
  return false;
}

// data_direct: the folder of that function, where the port is reached by it; else NULL.
static void add_port(struct ibv_device *device, struct ibv_context *context, const struct ibv_device_attr *attr,
                     int port, const struct rw_host_file *file, const char *data_direct) {
  struct ibv_port_attr p;
  memset(&p, 0, sizeof(p));
  if (n_devices == RW_MAX_DEVICES || rw_verbs.ibv_query_port(context, (uint8_t)port, &p)) return;
  if (p.state != IBV_PORT_ACTIVE) return;
  if (p.link_layer != IBV_LINK_LAYER_ETHERNET && p.link_layer != IBV_LINK_LAYER_INFINIBAND) return;
  struct rw_device *d = &devices[n_devices];
  memset(d, 0, sizeof(*d));
  d->context = context;
  snprintf(d->name, sizeof(d->name), "%s", rw_verbs.ibv_get_device_name(device));
  if (!rw_name_list_holds(rw_params.hca, d->name, port)) return;
  d->port = d->shown_port = port;
  d->guid = be64toh(attr->sys_image_guid);
  d->mtu = p.active_mtu;
  d->gid_table_length = p.gid_tbl_len;
  d->max_qp = attr->max_qp;
  d->max_qp_wr = attr->max_qp_wr;
  d->max_message = p.max_msg_sz && p.max_msg_sz < 1u << 30 ? p.max_msg_sz : 1u << 30;
  d->lid = p.lid;
  d->ethernet = p.link_layer == IBV_LINK_LAYER_ETHERNET;
  const struct rw_host_nic *nic = rw_host_nic_find(file, d->name, port);
  if (nic) d->nic = *nic;
  d->speed_mbps = find_speed(context, port, &p, nic);
  d->adaptive_routing = rw_params.adaptive_routing >= 0 ? rw_params.adaptive_routing != 0
                        : d->ethernet                   ? nic && nic->adaptive_routing
                                                        : true;
  int rail, plane;
  rw_name_list_place(rw_params.hca, d->name, port, &rail, &plane);
  d->rail = rail >= 0 ? (int16_t)rail : nic && nic->rail > 0 ? (int16_t)(nic->rail - 1) : NCCL_NET_ID_UNDEF;
  d->plane = plane >= 0 ? (int16_t)plane : NCCL_NET_ID_UNDEF;
  d->dmabuf = rw_dmabuf_registers(context, false);
  d->mlx5 = rw_mlx5_drives(device);
  d->data_direct = data_direct != NULL;
  if (data_direct) snprintf(d->pci_path, sizeof(d->pci_path), "%s", data_direct);
  else find_pci(d, device);
  pthread_mutex_init(&d->lock, NULL);
  atomic_init(&d->port_up, true);
  struct rw_gid_list gids = rw_device_gids(d);
  if (gids.n == 0 && d->ethernet) {
    rw_warn(
        "%s port %d has no usable RoCE v%d address (looked for %s addresses of this network namespace%s%s): not used",
        d->name, port, rw_params.roce_version,
        rw_params.addr_family[0] ? rw_params.addr_family : "global or unique local",
        rw_params.addr_range[0] ? " in " : "", rw_params.addr_range);
    return;
  }
  static const char *const schemes[] = {"rank", "prefix bits", "host file"};
  for (int i = 0; i < gids.n; i++) {
    char text[RW_GID_TEXT];
    rw_info("%s port %d path %d: %s color %d %s (by %s)", d->name, port, i, rw_gid_text(&gids.gids[i].gid, text),
            gids.gids[i].color, gids.gids[i].color_name, schemes[gids.scheme]);
  }
  n_devices++;
}

// As NCCL's own transport names them.
static const char *function_suffix(const struct rw_device *d) { return d->data_direct ? "_dma" : ""; }

static int by_pci(const void *a, const void *b) {
  const struct rw_device *x = a, *y = b;
  int c = strcmp(x->pci_path, y->pci_path);
  return c ? c : strcmp(x->name, y->name);
}

// Functions of one NIC get ports of their own, so that NCCL sees one NIC with several ports.
static void number_ports(void) {
  for (int i = 0; i < n_devices; i++)
    for (int j = 0; j < i; j++)
      if (devices[i].pci_path[0] && strcmp(devices[i].pci_path, devices[j].pci_path) == 0) devices[i].shown_port++;
}

void rw_devices_forget(void) {
  pthread_mutex_init(&lock, NULL);
  n_devices = n_virtual = 0;
}

// Many set NCCL_IB_TIMEOUT by habit, for NCCL's own transport.
static void warn_of_timeout(void) {
  if (!rw_params.timeout_set || n_devices == 0) return;
  double retries_ms = 4.096e-3 * (double)(1ull << (rw_params.timeout & 31)) * (rw_params.retry_cnt + 1);
  int reroute_ms = rw_reroute_ms(&devices[0]);
  if (retries_ms < reroute_ms)
    rw_warn(
        "NCCL_IB_TIMEOUT=%d: the NIC gives a path up after %.0f ms, before the fabric had its %d ms to reroute "
        "(RAILWEAVE_NET_REROUTE_MS): unset it",
        rw_params.timeout, retries_ms, reroute_ms);
  else
    rw_info(
        "NCCL_IB_TIMEOUT=%d: the NIC repeats for %.0f ms; where another path lives, one is dead after %d ms all the "
        "same "
        "(RAILWEAVE_NET_REROUTE_MS)",
        rw_params.timeout, retries_ms, reroute_ms);
}

ncclResult_t rw_devices_open(void) {
  int n = 0;
  struct ibv_device **list = rw_verbs.ibv_get_device_list(&n);
  struct rw_host_file file = rw_host_file_read(rw_params.host_file);
  for (int i = 0; list && i < n; i++) {
    int before = n_devices;
    struct ibv_device_attr attr;
    struct ibv_context *context = rw_verbs.ibv_open_device(list[i]);
    if (!context) continue;
    char path[512];
    bool direct = rw_params.data_direct && rw_mlx5_drives(list[i]) &&
                  rw_mlx5_data_direct(context, path, sizeof(path)) && rw_dmabuf_registers(context, true);
    memset(&attr, 0, sizeof(attr));
    if (rw_verbs.ibv_query_device(context, &attr)) attr.phys_port_cnt = 0;
    for (int port = 1; port <= attr.phys_port_cnt; port++) {
      if (!direct || rw_params.data_direct == 2) add_port(list[i], context, &attr, port, &file, NULL);
      if (direct) add_port(list[i], context, &attr, port, &file, path);
    }
    if (n_devices == before) rw_verbs.ibv_close_device(context);
  }
  if (list) rw_verbs.ibv_free_device_list(list);
  rw_host_file_free(&file);
  if (rw_params.gid_index >= 0)
    rw_warn("NCCL_IB_GID_INDEX=%d leaves one path per NIC: unset it for a path per queue pair", rw_params.gid_index);
  warn_of_timeout();
  qsort(devices, (size_t)n_devices, sizeof(devices[0]), by_pci);
  number_ports();
  for (n_virtual = 0; n_virtual < n_devices; n_virtual++) {
    struct rw_vdevice *v = &virtual_devices[n_virtual];
    *v = (struct rw_vdevice){.n = 1, .devices = {n_virtual}, .speed_mbps = devices[n_virtual].speed_mbps};
    snprintf(v->name, sizeof(v->name), "%s%s", devices[n_virtual].name, function_suffix(&devices[n_virtual]));
  }
  if (n_devices == 0) {
    rw_info("no usable RDMA device");
    return ncclInternalError;
  }
  return ncclSuccess;
}

void rw_devices_close(void) {
  struct ibv_context *closed = NULL;
  for (int i = 0; i < n_devices; i++) {
    pthread_mutex_destroy(&devices[i].lock);
    bool again = closed == devices[i].context;
    for (int j = 0; j < i; j++) again |= devices[j].context == devices[i].context;
    if (!again) rw_verbs.ibv_close_device(devices[i].context);
    closed = devices[i].context;
  }
  n_devices = n_virtual = 0;
}

ncclResult_t rw_vdevice_make(int *index, const int *members, int n) {
  if (n < 1 || n > RW_MAX_MERGED) return ncclInvalidUsage;
  if (n > 1 && (!rw_params.merge_nics || strcasecmp(rw_params.merge_level, "LOC") == 0)) {
    rw_info("no virtual device: NCCL_IB_MERGE_NICS or NCCL_NET_MERGE_LEVEL forbids it");
    return ncclInvalidUsage;
  }
  pthread_mutex_lock(&lock);
  ncclResult_t result = ncclInvalidUsage;
  if (n_virtual == MAX_VIRTUAL) goto out;
  struct rw_vdevice *v = &virtual_devices[n_virtual];
  memset(v, 0, sizeof(*v));
  for (int i = 0; i < n; i++) {
    if (members[i] < 0 || members[i] >= n_devices) goto out;
    if (devices[members[i]].ethernet != devices[members[0]].ethernet) {
      rw_warn("%s and %s cannot be one device: different link layers", devices[members[i]].name,
              devices[members[0]].name);
      goto out;
    }
    v->devices[v->n++] = members[i];
    v->speed_mbps += devices[members[i]].speed_mbps;
    size_t used = strlen(v->name);
    const struct rw_device *member = &devices[members[i]];
    snprintf(v->name + used, sizeof(v->name) - used, "%s%s%s", i ? "+" : "", member->name, function_suffix(member));
  }
  *index = n_virtual++;
  result = ncclSuccess;
out:
  pthread_mutex_unlock(&lock);
  return result;
}

int rw_device_speed(const struct rw_device *d) {
  struct ibv_port_attr attr;
  memset(&attr, 0, sizeof(attr));
  if (rw_verbs.ibv_query_port(d->context, (uint8_t)d->port, &attr)) return d->speed_mbps;
  return find_speed(d->context, d->port, &attr, d->nic.rdma[0] ? &d->nic : NULL);
}

struct rw_gid_list rw_device_gids(const struct rw_device *d) {
  return rw_gids_read(d->context, d->port, d->gid_table_length, d->ethernet, d->nic.rdma[0] ? &d->nic : NULL);
}

ncclResult_t rw_device_properties(int index, ncclNetProperties_v12_t *p) {
  const struct rw_vdevice *v = rw_vdevice(index);
  if (!v) return ncclInvalidArgument;
  const struct rw_device *first = &devices[v->devices[0]];
  uint32_t message = first->max_message;
  bool dmabuf = true;
  memset(p, 0, sizeof(*p));
  for (int i = 0; i < v->n; i++) {
    const struct rw_device *d = &devices[v->devices[i]];
    if (d->max_message < message) message = d->max_message;
    dmabuf &= d->dmabuf;
    p->forceFlush |= d->data_direct;  // what the CPU sees comes another way than the data
    p->vProps.devs[i] = v->devices[i];
  }
  p->vProps.ndevs = v->n;
  p->name = (char *)(uintptr_t)v->name;
  p->pciPath = first->pci_path[0] ? (char *)(uintptr_t)first->pci_path : NULL;
  p->guid = first->guid;
  p->ptrSupport = NCCL_PTR_HOST | (gpu_memory_by_peer_module() ? NCCL_PTR_CUDA : 0) | (dmabuf ? NCCL_PTR_DMABUF : 0);
  p->regIsGlobal = 1;
  p->speed = v->speed_mbps;
  p->port = first->shown_port;
  p->maxComms = first->max_qp;
  p->maxRecvs = 8;
  p->netDeviceType = NCCL_NET_DEVICE_HOST;
  p->netDeviceVersion = NCCL_NET_DEVICE_INVALID_VERSION;
  p->maxP2pBytes = (size_t)message * 32;  // see RW_SPREAD in comm.h
  p->maxCollBytes = p->maxP2pBytes < 512u << 20 ? p->maxP2pBytes : 512u << 20;
  p->maxMultiRequestSize = 1;
  p->railId = first->rail;
  p->planeId = first->plane;
  for (int i = 1; i < v->n; i++) {
    if (devices[v->devices[i]].rail != first->rail) p->railId = NCCL_NET_ID_UNDEF;
    if (devices[v->devices[i]].plane != first->plane)
      p->planeId = NCCL_NET_ID_UNDEF;  // in several, where ports are merged
  }
  return ncclSuccess;
}

const char *rw_device_place(const struct rw_device *d, char *text, size_t size) {
  if (d->nic.leaf[0])
    snprintf(text, size, "%s port %d (leaf %s, port %s)", d->name, d->port, d->nic.leaf, d->nic.leaf_port);
  else snprintf(text, size, "%s port %d (leaf not known: no host file names it)", d->name, d->port);
  return text;
}

int rw_reroute_ms(const struct rw_device *d) {
  if (rw_params.reroute_ms >= 0) return rw_params.reroute_ms;
  return d->nic.rdma[0] && d->nic.bfd_ms >= 0 ? d->nic.bfd_ms + AFTER_BFD_MS : NO_BFD_MS;
}
