// The harness: ranks as processes, each on a host of a fake fabric, that send to each other through the plugin while
// the fabric fails under them.
#ifndef RAILWEAVE_TESTS_HARNESS_H
#define RAILWEAVE_TESTS_HARNESS_H

#include <stdatomic.h>
#include <stddef.h>

#include "fabric.h"
#include "nccl_net_abi.h"

enum { BOARD_TEXT = 8192, MAX_FAULTS = 64 };

enum outcome { WORKED = 0, ERROR_REPORTED = 1, DATA_WRONG = 2, BROKEN = 3, HUNG = 4 };

struct plan {
  uint64_t seed;
  int ranks, devices, gids, qps, version, groups, window;
  int spines;                               // equal paths between the addresses, 0: the addresses decide
  int reroute_ms, recover_ms, all_dead_ms;  // 0: as users have them
  bool multi, merge, dmabuf, verbose, adaptive_routing;
  int split;  // NCCL_IB_SPLIT_DATA_ON_QPS, -1 unset
  size_t largest;
  uint32_t rate_mbytes;
  const char *plugin, *verbs, *fabric_file, *host_file, *rate_file, *telemetry;
  int patience_s;          // a run that nothing moves for so long hangs, however slow the machine is
  int slow;                // factor of all times, where sanitizers slow the processes down
  int deaths, recoveries;  // at least so many must be seen, -1: exactly none
  int seconds;             // of a rate measurement: send until then
};

enum fault_kind {
  PATH_DOWN,
  PATH_UP,
  PATH_BLINK,
  PATH_DROPS,
  PATH_SLOW,
  ADDRESS_CHANGE,
  ADDRESS_GONE,
  ADDRESS_BACK,
  PORT_DOWN,
  PORT_UP,
  RANK_KILLED,
  HOST_DARK,
  RECEIVE_REFUSED,  // once, the value-th that the host posts
  SEND_REFUSED,
  FLUSH_REFUSED
};

struct fault {
  int at_ms;
  enum fault_kind kind;
  int host, device, peer, gid, value;
};

struct schedule {
  int n;
  struct fault faults[MAX_FAULTS];
  bool must_fail;  // some rank loses every path
  int killed;      // this rank, plus 1
};

// Shared by all processes of a run.
struct board {
  _Atomic int listening, connected;
  unsigned char handles[FAKE_HOSTS][NCCL_NET_HANDLE_MAXSIZE];
  _Atomic int results[FAKE_HOSTS];
  _Atomic int deaths, recoveries;  // of queue pairs, as the plugin logged them
  _Atomic uint64_t ended_ns[FAKE_HOSTS];
  _Atomic uint64_t bytes[FAKE_HOSTS];
  _Atomic uint64_t moves;  // steps of any rank that got somewhere: a run hangs once there are none
  char text[FAKE_HOSTS][BOARD_TEXT];
};

uint64_t random_of(uint64_t seed, uint64_t a, uint64_t b);

void rank_run(const struct plan *plan, int rank, struct board *board);

// Faults that leave at least one path between any two hosts untouched, so that every byte must arrive.
void schedule_survivable(const struct plan *plan, struct schedule *s);
void schedule_port_loss(const struct plan *plan, struct schedule *s);
void schedule_leaf_loss(const struct plan *plan, struct schedule *s);
void fault_apply(struct fake_fabric *f, const struct plan *plan, const struct fault *fault);

#endif
