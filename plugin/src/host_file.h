// What the fabric tool told this server: /etc/railweave/host.json (docs/folder.md). Nothing needs it to exist.
#ifndef RAILWEAVE_HOST_FILE_H
#define RAILWEAVE_HOST_FILE_H

#include <stdbool.h>
#include <stdint.h>

enum { RW_HOST_PATHS = 32 };

struct rw_host_path {
  uint8_t prefix[16];
  int prefix_bits;
  int color;  // color:0:N, else the path's number
  char name[32];
  char via[64];  // the segment list that sources give packets (SRv6), or the spine, as text; "": not told
  int traffic_class, service_level;  // of this color alone; -1: as the others
};

struct rw_host_nic {
  char rdma[64];
  int port;
  char name[64], leaf[64], leaf_port[64];
  int rail;  // from 1; 0 where unknown
  int speed_gbps;
  int bfd_ms;             // -1 where the fabric has no BFD
  int traffic_class;      // -1 where unknown
  int cts_traffic_class;  // of clear-to-send messages; -1: that of data
  bool adaptive_routing;
  int n_paths;
  struct rw_host_path paths[RW_HOST_PATHS];
};

struct rw_host_file {
  int n_nics;
  struct rw_host_nic *nics;
};

// Reads the file; empty where there is none, empty with a warning where it cannot be used.
struct rw_host_file rw_host_file_read(const char *path);
void rw_host_file_free(struct rw_host_file *file);
const struct rw_host_nic *rw_host_nic_find(const struct rw_host_file *file, const char *rdma, int port);

// The path whose prefix holds the address, NULL where there is none.
const struct rw_host_path *rw_host_path_of(const struct rw_host_nic *nic, const uint8_t address[16]);

// True where the first bits of address are those of prefix.
bool rw_prefix_holds(const uint8_t prefix[16], int bits, const uint8_t address[16]);

#endif
