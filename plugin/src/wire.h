// Records that two hosts exchange while they set a connection up: a version, then fields of fixed size in network
// order. No structure of a compiler goes on the wire.
#ifndef RAILWEAVE_WIRE_H
#define RAILWEAVE_WIRE_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { RW_WIRE_VERSION = 3, RW_WIRE_HEADER = 12, RW_WIRE_BODY = 16384 };
#define RW_WIRE_MAGIC 0x52574e54u  // "RWNT"

enum rw_message {
  RW_HELLO = 1,    // connecting side: its devices, addresses and wishes
  RW_TABLE,        // accepting side: its devices, the hash of the pair table, its queue pairs
  RW_QUEUE_PAIRS,  // connecting side: the hash, its queue pairs
  RW_READY,        // accepting side: go
  RW_RECORD,       // either: state of a queue pair, where none lives to carry it (record.h)
  RW_FAILED,       // either: this end is lost, with the reason
  RW_BYE,          // either: closed in order; requests up to a number are complete
  RW_REJOIN,       // connecting side, on a new TCP connection: the key of a connection whose old one broke
  RW_REJOINED,     // accepting side: the new one counts
  RW_TRY,    // either: a port of this end is up again, its number in the virtual device; dead paths over it may live
  RW_CAUSE,  // either: the first failure that this end knows of, and the process that it was of
};

// A place in a buffer. Reading or writing past the end sets overflow and does nothing.
struct rw_cursor {
  uint8_t *at, *end;
  bool overflow;
};

static inline bool rw_room(struct rw_cursor *c, size_t n) {
  if ((size_t)(c->end - c->at) < n) c->overflow = true;
  return !c->overflow;
}

static inline void rw_put(struct rw_cursor *c, const void *from, size_t n) {
  if (!rw_room(c, n)) return;
  memcpy(c->at, from, n);
  c->at += n;
}

static inline void rw_get(struct rw_cursor *c, void *to, size_t n) {
  memset(to, 0, n);
  if (!rw_room(c, n)) return;
  memcpy(to, c->at, n);
  c->at += n;
}

#define RW_WIRE_INT(bits)                                                  \
  static inline void rw_put##bits(struct rw_cursor *c, uint##bits##_t v) { \
    v = htobe##bits(v);                                                    \
    rw_put(c, &v, sizeof(v));                                              \
  }                                                                        \
  static inline uint##bits##_t rw_get##bits(struct rw_cursor *c) {         \
    uint##bits##_t v;                                                      \
    rw_get(c, &v, sizeof(v));                                              \
    return be##bits##toh(v);                                               \
  }
#define htobe8(v) (v)
#define be8toh(v) (v)
RW_WIRE_INT(8)
RW_WIRE_INT(16)
RW_WIRE_INT(32)
RW_WIRE_INT(64)
#undef htobe8
#undef be8toh
#undef RW_WIRE_INT

#endif
