// Bandwidth and latency of RDMA writes, by path and size.
#ifndef RAILWEAVE_BENCH_H
#define RAILWEAVE_BENCH_H

#include "comm.h"

enum bench_kind { BENCH_NONE, BENCH_LATENCY, BENCH_BANDWIDTH };
enum bench_format { BENCH_TABLE, BENCH_CSV, BENCH_JSON };

struct bench {
  enum bench_kind kind;
  enum bench_format format;
  const char *sizes;  // as 8,4096,1048576; NULL: the usual ones
  int count;          // writes for each path and size; 0: as many as the kind needs
};

// The memory of this end that the other end may write to, told over the socket that it called on.
void bench_offer(int fd, const struct rw_comm *c);
void bench_forget(const struct rw_vdevice *v);

// Measures every path of a connection; fd is the socket on which the other end offers its memory. Gives the exit code.
int bench_run(struct rw_comm *c, int fd, const struct bench *b);

#endif
