// What both ends of a connection do while it is set up (connect.c says in which order).
#ifndef RAILWEAVE_SETUP_H
#define RAILWEAVE_SETUP_H

#include "comm.h"

struct rw_peer_region {
  uint64_t hash, shared;
  uint32_t rkeys[RW_MAX_MERGED];
};

void rw_setup_put_queue_pairs(struct rw_cursor *b, const struct rw_comm *c);
bool rw_setup_get_region(struct rw_cursor *b, const struct rw_comm *c, struct rw_peer_region *p);
bool rw_setup_get_queue_pairs(struct rw_cursor *b, struct rw_comm *c, const struct rw_peer_region *p);
bool rw_setup_connect_queue_pairs(struct rw_comm *c);  // false where none could be
void *rw_setup_go(struct rw_comm *c);                  // it may be used from now on

#endif
