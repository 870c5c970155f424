// The time. Neither call enters the kernel: the vDSO answers.
#ifndef RAILWEAVE_CLOCK_H
#define RAILWEAVE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t rw_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000L + t.tv_nsec;
}

// As of the last timer interrupt, some milliseconds ago at most; cheaper.
static inline int64_t rw_coarse_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
  return t.tv_sec * 1000L + t.tv_nsec / 1000000;
}

#endif
