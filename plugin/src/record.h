// What one end says about one queue pair of a connection: the whole state, so that the newest record alone counts. It
// is written into the other end's memory over a queue pair that lives, or sent by TCP where none does, and repeated
// until the other end echoes its sequence number.
#ifndef RAILWEAVE_RECORD_H
#define RAILWEAVE_RECORD_H

#include <stdbool.h>
#include <stdint.h>

enum rw_record_kind {
  RW_SAYS_NOTHING,
  RW_SAYS_CLOSED,   // this epoch's queue pair is in error here and drained: `arrived` pieces came, no more will
  RW_SAYS_OPENING,  // a queue pair for this epoch: its number, first packet number and address
  RW_SAYS_LIVE,     // proven by a probe
};

enum { RW_RECORD_BYTES = 64 };
struct rw_record {
  uint8_t bytes[RW_RECORD_BYTES];
};

struct rw_record_fields {
  uint32_t sequence, echo;  // of this record; the newest seen of the other end's
  uint32_t epoch, arrived, qpn, psn;
  uint32_t ece_vendor, ece_options;
  uint8_t kind;
  bool wants_echo;
  bool port_down;  // why it was closed
  uint8_t gid[16];
};

// One end's side of the exchange about one queue pair.
struct rw_record_state {
  uint32_t sequence, echoed;  // ours: newest, and newest the other end has seen
  uint32_t seen;              // newest of theirs
  int64_t sent_ms;
  uint8_t kind;
  bool port_down;    // this end's: why it was closed
  bool peer_closed;  // the other end closed the epoch that peer_epoch says
  uint32_t peer_epoch, peer_arrived;
};

// Network order, with a checksum: a record is overwritten while it may be read.
void rw_record_encode(const struct rw_record_fields *fields, struct rw_record *record);
bool rw_record_decode(const struct rw_record *record, struct rw_record_fields *fields);

#endif
