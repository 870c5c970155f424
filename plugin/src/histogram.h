// Latencies in buckets a quarter of a power of two wide, from 1 ns to 2^40 ns; one writer, any reader.
#ifndef RAILWEAVE_HISTOGRAM_H
#define RAILWEAVE_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

enum { RW_BUCKETS = 160 };
struct rw_histogram {
  _Atomic uint32_t counts[RW_BUCKETS];
};

static inline int rw_bucket(uint64_t ns) {
  if (ns < 4) return (int)ns;
  int power = 63 - __builtin_clzll(ns);
  int bucket = power * 4 + (int)(ns >> (power - 2) & 3) - 4;
  return bucket < RW_BUCKETS ? bucket : RW_BUCKETS - 1;
}

static inline void rw_histogram_add(struct rw_histogram *h, uint64_t ns) {
  _Atomic uint32_t *count = &h->counts[rw_bucket(ns)];
  atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1, memory_order_relaxed);
}

// The same of sums of several.
uint64_t rw_histogram_of(const uint64_t counts[RW_BUCKETS], double fraction);

// Upper end of the bucket that holds the given fraction, in ns; 0 where nothing was counted.
uint64_t rw_histogram_quantile(const struct rw_histogram *h, double fraction);

#endif
