// NCCL's choice of algorithm, protocol and channels by a table that railweave build writes: a pure function of the
// collective, its size, the ranks, the nodes and the table. Never of anything that one rank alone knows: ranks that
// choose differently wait for each other for ever. So that tables cannot differ either, both ends of every connection
// compare their hashes while it is set up (pairs.h).
#ifndef RAILWEAVE_TUNER_H
#define RAILWEAVE_TUNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RW_TUNER_ROWS = 512, RW_TUNER_ALGORITHMS = 7, RW_TUNER_PROTOCOLS = 3 };

// The first row that fits decides.
struct rw_tuner_row {
  int collective;      // as NCCL numbers them: 0 broadcast, 1 reduce, 2 all-gather, 3 reduce-scatter, 4 all-reduce
  int ranks, nodes;    // 0: any
  uint64_t max_bytes;  // of the collective, as NCCL counts them
  int algorithm, protocol, channels;
};

struct rw_tuner_table {
  int n;
  uint64_t hash;  // of the rows; 0: no table
  struct rw_tuner_row rows[RW_TUNER_ROWS];
};

// Reads a table. Empty, with a warning, where it cannot be used as a whole; empty where there is none.
void rw_tuner_read(const char *path, struct rw_tuner_table *table);

// NULL where no row fits.
const struct rw_tuner_row *rw_tuner_choose(const struct rw_tuner_table *table, int collective, uint64_t bytes,
                                           size_t ranks, size_t nodes);

// Of the table in force (RAILWEAVE_NET_TUNER=1), 0 where none is.
uint64_t rw_tuner_hash(void);
const struct rw_tuner_table *rw_tuner_table(void);  // of this process, in force or not; read once

const char *rw_tuner_row_text(const struct rw_tuner_row *row, char *text, size_t size);

#endif
