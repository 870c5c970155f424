// What all connections of this process did, summed up by direction, NIC, path color and the leaf at the other end: as
// many entries as the fabric has such paths, however many connections there are. Other programs read it while it
// changes, from a file in /dev/shm (railweave host plugin stats).
#ifndef RAILWEAVE_STATS_H
#define RAILWEAVE_STATS_H

#include <stdint.h>

#include "histogram.h"

struct rw_comm;

#define RW_STATS_COUNTERS(X)                                               \
  X(bytes, "bytes posted, what was sent again included")                   \
  X(messages, "messages that began on a queue pair of this path")          \
  X(pieces, "pieces of messages posted")                                   \
  X(clear_to_sends, "clear-to-send messages posted")                       \
  X(resent, "pieces that this path did not deliver and others sent again") \
  X(deaths, "times a queue pair was declared dead")                        \
  X(recoveries, "times one came back")                                     \
  X(errors, "completions with an error")

enum { RW_STATS = 256, RW_STATS_PEERS = 512, RW_STATS_VERSION = 2 };

// Layout for readers of any language: little-endian, no padding.
struct rw_stats_entry {
  char device[64], leaf[64], peer_leaf[64], color_name[32];
  int32_t color;
  uint32_t sends;  // 1: this end sends, 0: it receives
  uint32_t queue_pairs, live, suspect, connections;
#define X(name, text) uint64_t name;
  RW_STATS_COUNTERS(X)
#undef X
  uint64_t p50_ns, p90_ns, p99_ns, max_ns;  // from posting a piece to its completion
};
_Static_assert(sizeof(struct rw_stats_entry) == 344, "struct rw_stats_entry");

// A process at the other end of open connections, in both directions together.
struct rw_stats_peer {
  char host[64], reason[96],
      doing[64];  // why a queue pair to it died last; what is being done about those that do not live
  uint64_t process, last_death_ns, deaths;  // CLOCK_REALTIME, 0: never
  uint32_t pid;
  int32_t rank, local_rank;  // as its launcher says, -1: it does not
  uint32_t connections, queue_pairs, live, suspect, unused;
};
_Static_assert(sizeof(struct rw_stats_peer) == 280, "struct rw_stats_peer");

struct rw_stats_page {
  char magic[8];  // "RWSTATS", 0
  uint32_t version, entry_bytes;
  _Atomic uint64_t sequence;  // odd while it is being written
  uint64_t written_ns;        // CLOCK_REALTIME
  uint32_t pid, n;
  char host[64];
  uint32_t n_peers, peer_bytes;
  struct rw_stats_entry entries[RW_STATS];
  struct rw_stats_peer peers[RW_STATS_PEERS];
};

// Called by the service thread alone, comms being all connections there are.
void rw_stats_open(void);
const struct rw_stats_page *rw_stats_update(const struct rw_comm *comms);
void rw_stats_closed(const struct rw_comm *c);  // a connection ends: what it did stays in the sums
void rw_stats_close(void);
void rw_stats_forget(void);  // in a child of fork

#endif
