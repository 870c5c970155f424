// The fabric that fake RDMA devices are attached to: a file that all processes map. Whoever maps it may change paths
// and ports while they run.
#ifndef RAILWEAVE_FAKE_FABRIC_H
#define RAILWEAVE_FAKE_FABRIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { FAKE_HOSTS = 8, FAKE_DEVICES = 4, FAKE_GIDS = 16, FAKE_ENDS = FAKE_HOSTS * FAKE_DEVICES * FAKE_GIDS };

struct fake_gid {
  _Atomic bool present;
  _Atomic uint64_t prefix, interface;  // big-endian halves of the address
};

struct fake_port {
  _Atomic bool up;
  _Atomic uint32_t gid_changes;
  // Counts down with each that is posted; at 1 it is refused; below 0 all are. Reads are the flushes of GPU memory.
  _Atomic int refuse_receive, refuse_send, refuse_read;
  _Atomic int event;  // IBV_EVENT_ of a queue pair or completion queue, plus 1, to be reported once
  struct fake_gid gids[FAKE_GIDS];
};

// From one address to another, one way.
struct fake_path {
  _Atomic uint64_t down_until_ns;  // CLOCK_MONOTONIC: packets are lost before; UINT64_MAX: until further notice
  _Atomic uint32_t delay_us, mbytes_per_s /* 0: no limit */, drop_ppm;
};

struct fake_fabric {
  uint64_t magic;
  int hosts, devices, gids;
  // Equal paths between two addresses, one of which a packet takes by a hash of both and its UDP source port, as ECMP
  // does: path N between two ends with GID N stands for spine N. 0: the addresses alone decide.
  _Atomic int spines;
  struct fake_port ports[FAKE_HOSTS][FAKE_DEVICES];
  struct fake_path paths[FAKE_ENDS][FAKE_ENDS];
};

// A new fabric in a file: every path up, without delay or limit. NULL with errno where it cannot be made.
struct fake_fabric *fake_fabric_create(const char *file, int hosts, int devices, int gids);
struct fake_fabric *fake_fabric_open(const char *file);
void fake_fabric_close(struct fake_fabric *fabric);

static inline int fake_end(int host, int device, int gid) { return (host * FAKE_DEVICES + device) * FAKE_GIDS + gid; }
// The place in paths of a packet between two ends with this flow label: its ends, or the spine that it takes.
void fake_route(const struct fake_fabric *f, int source_end, int target_end, uint32_t flow_label, int *from, int *to);
// The UDP source port of a flow label, as Linux has it (rdma_flow_label_to_udp_sport()).
static inline uint16_t fake_udp_port(uint32_t label) {
  return (uint16_t)(((label & 0x3fff) ^ (label & 0xfc000) >> 14) | 0xc000);
}
// The end that has this address now, -1 where none has.
int fake_end_of(const struct fake_fabric *fabric, const uint8_t gid[16]);

// Both ways between two hosts' devices on one path; gid -1: all of them. until_ns 0: up.
void fake_path_down(struct fake_fabric *f, int host_a, int device_a, int host_b, int device_b, int gid,
                    uint64_t until_ns);
void fake_path_delay(struct fake_fabric *f, int end_a, int end_b, uint32_t us);  // both ways
void fake_path_limit(struct fake_fabric *f, uint32_t mbytes_per_s);              // all paths
void fake_port_set(struct fake_fabric *f, int host, int device, bool up);
// Gives an address another interface identifier, as SLAAC does after a change of the MAC address.
void fake_gid_change(struct fake_fabric *f, int host, int device, int gid);
void fake_gid_present(struct fake_fabric *f, int host, int device, int gid, bool present);

uint64_t fake_now_ns(void);

#endif
