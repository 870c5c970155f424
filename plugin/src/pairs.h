// Which path each queue pair of a connection takes: a pure function of what both ends have, so that both compute it and
// need only compare a hash.
#ifndef RAILWEAVE_PAIRS_H
#define RAILWEAVE_PAIRS_H

#include "devices.h"
#include "wire.h"

enum { RW_MAX_QPS = 128, RW_NAME = 64 };

// One end's device as the other end is told of it.
struct rw_end_device {
  char name[RW_NAME];
  char leaf[RW_NAME], leaf_port[RW_NAME];
  uint64_t guid;
  uint8_t port, mtu, ethernet;
  uint16_t lid;
  struct rw_gid_list gids;
};

struct rw_end {
  char host[RW_NAME];
  uint64_t process;  // tells processes apart, of whatever host and namespace
  uint32_t pid;
  int32_t rank, local_rank;  // as its launcher says, -1: it does not
  int n;
  struct rw_end_device devices[RW_MAX_MERGED];
  uint16_t qps;     // wished for, 0: as many as paths
  uint16_t labels;  // wished for where there is one address
  bool strict, adaptive_routing;
  uint64_t tuner;  // hash of the tuner's table, 0: none in force
};

struct rw_pair {
  uint8_t device[2];  // by end: 0 connecting, 1 accepting
  uint8_t gid[2];     // index in the device's list
  int color;
  int label;  // which of several queue pairs without path colors, -1: its prefix is what steers it
};

struct rw_pair_table {
  int n, paths;     // paths: different pairs among the n
  bool fallback;    // some pair of devices had no common color
  char doubt[256];  // why a queue pair may have its ends on different colors; "": it has not
  struct rw_pair pairs[RW_MAX_QPS];
  uint64_t hash;
};

// Fills an end from a virtual device as it is now.
void rw_end_describe(struct rw_end *end, const struct rw_vdevice *v);
void rw_end_put(struct rw_cursor *c, const struct rw_end *end);
bool rw_end_get(struct rw_cursor *c, struct rw_end *end);

// "H100-03 (pid 4711, rank 12)"
const char *rw_end_text(const struct rw_end *end, char *text, size_t size);
// "mlx5_0 port 1 (leaf leaf1, port et-0/0/1)"
const char *rw_end_device_place(const struct rw_end_device *device, char *text, size_t size);

// The table for a connection; why is given where there is none: no address in common at all, or strict and no
// common color. Ends whose colors come from different sources are both colored by rank, in place.
bool rw_pairs_make(struct rw_end *connecting, struct rw_end *accepting, struct rw_pair_table *table, char *why,
                   size_t size);

#endif
