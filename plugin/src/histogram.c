#include "histogram.h"

static uint64_t upper_end(int bucket) {
  if (bucket < 4) return (uint64_t)bucket;
  int power = (bucket + 4) / 4;
  return ((uint64_t)(4 + (bucket + 4) % 4 + 1) << (power - 2)) - 1;
}

uint64_t rw_histogram_of(const uint64_t counts[RW_BUCKETS], double fraction) {
  uint64_t total = 0, below = 0;
  for (int i = 0; i < RW_BUCKETS; i++) total += counts[i];
  if (total == 0) return 0;
  for (int i = 0; i < RW_BUCKETS; i++) {
    below += counts[i];
    if (below > 0 && (double)below >= fraction * (double)total) return upper_end(i);
  }
  return upper_end(RW_BUCKETS - 1);
}

uint64_t rw_histogram_quantile(const struct rw_histogram *h, double fraction) {
  uint64_t counts[RW_BUCKETS];
  for (int i = 0; i < RW_BUCKETS; i++) counts[i] = atomic_load_explicit(&h->counts[i], memory_order_relaxed);
  return rw_histogram_of(counts, fraction);
}
