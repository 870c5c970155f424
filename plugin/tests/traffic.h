// What the ranks send: groups of messages that both ends of an edge can work out, and bytes that tell where they
// belong.
#ifndef RAILWEAVE_TESTS_TRAFFIC_H
#define RAILWEAVE_TESTS_TRAFFIC_H

#include "harness.h"

enum { GROUP = 8, GUARD = 64 };

struct group {
  int n;
  size_t sizes[GROUP], room[GROUP];
  int tags[GROUP], order[GROUP];
};

struct group group_of(const struct plan *p, int edge, int number);
uint64_t key_of(const struct plan *p, int edge, int group, int i);
void fill(uint8_t *to, size_t n, uint64_t key);
bool right(const uint8_t *at, size_t n, uint64_t key);

#endif
