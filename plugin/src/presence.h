// Is the process at the other end still there? Asked only while this end waits for something.
//
// Queue pairs tell of paths: a NIC acknowledges without its process. So each end writes a number into the other's
// memory now and then, and the other's thread that looks after the connection writes it back. Who gets no answer asks
// over all paths, which then tell by themselves whether they are dead.
#ifndef RAILWEAVE_PRESENCE_H
#define RAILWEAVE_PRESENCE_H

#include <stdbool.h>
#include <stdint.h>

struct rw_comm;

// As it lies in the other end's memory, little-endian.
struct rw_beat {
  uint64_t question, answer;  // newest question of the writer; newest of the reader's that the writer saw
};

struct rw_presence {
  uint64_t asked, answered, told;  // our newest question; our newest that was answered; their newest that we answered
  int64_t wanted_ms;               // when isend last found no receive
  int64_t waits_ms;                // since when this end waits, or last heard of the other; 0 while it does not wait
  int64_t asked_ms;
  int unanswered;
  int64_t alive_ms;  // last sign of life
  int64_t lost_ms;   // since when the TCP connection is lost, 0: it is not
  bool refused;      // the host at the other end does not know of a process to redial
};

static inline void rw_presence_heard(struct rw_presence *p, int64_t now_ms) {
  p->alive_ms = now_ms;
  p->unanswered = 0;
  if (p->waits_ms) p->waits_ms = now_ms;
}

bool rw_presence_waits(const struct rw_comm *c);
void rw_presence_look(struct rw_comm *c);
void rw_presence_put_off(struct rw_comm *c, int64_t ms);  // time in which nobody looked

#endif
