// How a message is divided over queue pairs.
//
// Two things steer it, both of which correct themselves. Within milliseconds: a queue pair with more on its way than
// the others gets less of the next message (backlog). Over tens of milliseconds: one whose pieces take longer than the
// others' from posting to completion gets less (weight), until they take as long. Less data means a shorter way through
// its queue, so neither can run away; a difference that noise explains changes nothing, and a weight that nothing
// supports any more goes back to 1.
//
// A message that is not divided goes where it is expected to arrive first, by what lies ahead of it and the pace that
// was measured there. A window of messages is no faster than its slowest, so a path at a tenth of the rate gets none
// but one now and then, which tells whether it still is.
#ifndef RAILWEAVE_WEIGHTS_H
#define RAILWEAVE_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

enum { RW_UNLIMITED = 65536, RW_WEIGH_MS = 20 };

// Of one queue pair.
struct rw_load {
  uint64_t backlog;  // bytes posted and not acknowledged
  uint32_t limit;    // most that it gets, as a fraction of an even share, out of RW_UNLIMITED; RW_UNLIMITED: no limit
  uint32_t credit;   // of a queue pair with a limit, towards its next whole message
  float weight;      // 1: as much as any other
  bool slow;         // the weight counts, being clearly below 1
  int64_t delay_ns;  // sum over the pieces that completed since the last weighing, from posting to completion
  uint32_t pieces;
  // For messages that are not divided. Cost: bytes, and what a piece costs whatever its size.
  uint64_t cost;             // posted and not acknowledged
  int64_t busy_ns, done_ns;  // time with something under way since the last weighing; when something last completed
  int64_t took_ns;           // that, from posting to completion
  uint64_t busy_cost;        // completed in that time
  float past_ns, past_cost;  // the same before, fading
  float unit_ns;             // measured: of a unit of cost; 0: unknown
  float pace;                // 1: as quick as the quickest; 4: takes four times as long
  bool probe;                // slow, and not measured for long: it gets the next message
};

enum { RW_PIECE_COST = 4096 };

// As a queue pair begins: nothing under way, weight 1, no limit.
void rw_load_reset(struct rw_load *load);

static inline void rw_load_posted(struct rw_load *load, uint32_t bytes) {
  load->backlog += bytes;
  load->cost += bytes + RW_PIECE_COST;
}
static inline void rw_load_done(struct rw_load *load, uint32_t bytes, int64_t posted_ns, int64_t now_ns) {
  load->backlog -= bytes;
  load->cost -= bytes + RW_PIECE_COST;
  load->delay_ns += now_ns - posted_ns;
  load->pieces++;
  load->busy_ns += now_ns - (posted_ns > load->done_ns ? posted_ns : load->done_ns);
  load->busy_cost += bytes + RW_PIECE_COST;
  load->done_ns = now_ns;
  load->took_ns = now_ns - posted_ns;
}

// Bytes of a message for each of n <= 32 queue pairs; they add up to size. weigh false: evenly, but for limits.
void rw_divide(uint64_t size, int n, struct rw_load *const *loads, bool weigh, uint64_t *bytes);

// Which of n queue pairs gets a whole message: of those that no limit holds back the one that is expected to deliver it
// first, or the first.
int rw_choose(uint64_t size, int n, struct rw_load *const *loads, bool weigh);

// The same where none is held back and all are as quick: the one with the least on its way.
static inline int rw_choose_least(int n, struct rw_load *const *loads) {
  int best = 0;
  for (int i = 1; i < n && loads[best]->cost; i++)
    if (loads[i]->cost < loads[best]->cost) best = i;
  return best;
}

// Sets the paces by what was seen since the last call; to be called every RW_WEIGH_MS, before rw_weigh. True where some
// queue pair is slower than others.
bool rw_pace(int n, struct rw_load *const *loads, int64_t now_ns);

// Sets the weights by the delays seen since the last call; to be called every RW_WEIGH_MS. Waits for more pieces where
// they are few, up to ten times.
void rw_weigh(int n, struct rw_load *const *loads, int *waited);

#endif
