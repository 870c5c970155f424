// RDMA devices of this host, and the virtual devices that NCCL makes of several.
#ifndef RAILWEAVE_DEVICES_H
#define RAILWEAVE_DEVICES_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "gid.h"
#include "host_file.h"
#include "nccl_net_abi.h"

enum { RW_MAX_DEVICES = 64, RW_MAX_MERGED = 8 };

struct rw_mr_entry;

struct rw_device {
  struct ibv_context *context;
  char name[64];
  char pci_path[512];
  int port;
  int shown_port;  // port, or a number of its own among merged virtual functions
  uint64_t guid;
  int speed_mbps;
  int mtu;
  int gid_table_length;
  int max_qp, max_qp_wr;
  uint32_t max_message;
  uint16_t lid;
  int16_t rail, plane;  // from 0; NCCL_NET_ID_UNDEF where unknown
  bool ethernet, dmabuf, adaptive_routing;
  bool mlx5, data_direct;  // by mlx5.h; of two functions of one NIC, this is the Data Direct one
  struct rw_host_nic nic;  // rdma empty where the host file does not know it

  pthread_mutex_t lock;  // guards what follows, up to the atomics
  struct ibv_pd *pd;
  int pd_users;
  struct rw_mr_entry *registrations;

  // Set by the event thread of the context, read by every connection.
  atomic_bool port_up, fatal;
  atomic_uint gid_changes, port_changes;
  int64_t down_ms;  // the event thread's own: when the port went down
};

struct rw_vdevice {
  int n;
  int devices[RW_MAX_MERGED];
  char name[256];
  int speed_mbps;
};

// Opens the devices that the parameters leave. Neither these nor what processes do around them (process.h) may run
// twice at a time.
ncclResult_t rw_devices_open(void);
void rw_devices_close(void);
void rw_devices_forget(void);  // in a child of fork

int rw_device_count(void);
struct rw_device *rw_device(int i);
const struct rw_vdevice *rw_vdevice(int i);  // NULL where there is none
int rw_vdevice_count(void);

// Makes a virtual device of physical ones and gives its number.
ncclResult_t rw_vdevice_make(int *index, const int *devices, int n);

// Mbit/s of a port by the bits that its attributes show: 0 where they say nothing.
int rw_port_speed(unsigned width, unsigned speed);

// Mbit/s of a device's port now.
int rw_device_speed(const struct rw_device *device);

// The GIDs of a device now.
struct rw_gid_list rw_device_gids(const struct rw_device *device);

ncclResult_t rw_device_properties(int index, ncclNetProperties_v12_t *properties);

// "mlx5_0 port 1 (leaf stripe1-leaf1, port et-0/0/16:0)", as far as known.
const char *rw_device_place(const struct rw_device *device, char *text, size_t size);

// How long the fabric may take to move a path, in ms: RAILWEAVE_NET_REROUTE_MS or the device's fabric's BFD time plus
// 500.
int rw_reroute_ms(const struct rw_device *device);

#endif
