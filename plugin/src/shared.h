// Memory of a connection that the other end writes to, and from which this end writes to it: the same layout on both
// ends.
#ifndef RAILWEAVE_SHARED_H
#define RAILWEAVE_SHARED_H

#include "pairs.h"
#include "record.h"

enum {
  RW_SLOTS = 256,  // clear-to-send entries in flight; a request's number modulo this is its slot
  RW_RECVS = 8,    // receives grouped in one request
};

// What the receiver tells the sender, little-endian: where to put the message, and how much fits. number comes last, so
// that an entry whose number is right is whole.
struct rw_cts {
  uint64_t address, size;
  uint32_t rkeys[RW_MAX_MERGED];
  uint32_t tag, count;
  uint64_t number;  // of the request, from 1
};
_Static_assert(sizeof(struct rw_cts) == 64, "struct rw_cts");

// Is the process there (presence.h)? Little-endian.
struct rw_beat {
  uint64_t question, answer;  // newest question of the writer; newest of the reader's that the writer saw
};

struct rw_shared {
  struct rw_cts cts_in[RW_SLOTS][RW_RECVS], cts_out[RW_SLOTS][RW_RECVS];
  struct rw_record record_in[RW_MAX_QPS], record_out[RW_MAX_QPS];
  uint64_t size_in[RW_SLOTS][RW_RECVS], size_out[RW_SLOTS][RW_RECVS];  // of messages, where bulk data goes separately
  uint64_t probe, flushed;
  struct rw_beat beat_in, beat_out;
};

// The immediate of a piece: which request and receive it belongs to and which of how many pieces it is.
// CONTROL marks a record instead (the queue pair's number in the low bits), SIZED a message whose size lies in size_in.
#define RW_IMM_CONTROL (1u << 31)
#define RW_IMM_SIZED (1u << 30)
static inline uint32_t rw_imm(uint64_t id, unsigned receive, unsigned piece, unsigned pieces) {
  return (uint32_t)(id / RW_SLOTS % 128) << 23 | (uint32_t)(id % RW_SLOTS) << 15 | receive << 12 | piece << 6 |
         (pieces - 1);
}

// The immediate of the notification of several messages of one request, which came whole and before it over the same
// queue pair: those whose bits are set. Their sizes lie in size_in. No piece has such a number among so many.
static inline uint32_t rw_imm_group(uint64_t id, unsigned receives) {
  return rw_imm(id, receives >> 5, 63, (receives & 31) + 1);
}
static inline unsigned rw_imm_receives(uint32_t imm) {  // 0: of one piece
  unsigned piece = imm >> 6 & 63, pieces = (imm & 63) + 1;
  return piece < pieces ? 0 : (imm >> 12 & 7) << 5 | (imm & 31);
}

#endif
