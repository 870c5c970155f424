#include "traffic.h"

#include <string.h>

// What both ends of an edge know of a group of messages.
struct group group_of(const struct plan *p, int edge, int number) {
  struct group g;
  uint64_t turn = 0, seed = p->seed * 1000 + (uint64_t)edge;
#define DRAW(n) (random_of(seed, (uint64_t)number, turn++) % (uint64_t)(n))
  g.n = p->multi && DRAW(2) ? 1 + (int)DRAW(GROUP) : 1;
  for (int i = 0; i < g.n; i++) {
    uint64_t kind = p->seconds ? 9 : DRAW(10);
    g.sizes[i] = kind < 1   ? 0
                 : kind < 3 ? DRAW(64)
                 : kind < 6 ? DRAW(p->largest < 65536 ? p->largest : 65536)
                            : DRAW(p->largest) + 1;
    if (p->seconds) g.sizes[i] = p->largest;
    g.room[i] = g.sizes[i] + (p->seconds ? 0 : DRAW(GUARD));
    g.tags[i] = (int)(100 + 7 * i + (int)DRAW(7));
    g.order[i] = i;
  }
  for (int i = g.n - 1; i > 0; i--) {
    int j = (int)DRAW(i + 1), t = g.order[i];
    g.order[i] = g.order[j];
    g.order[j] = t;
  }
#undef DRAW
  return g;
}

static uint64_t word_of(uint64_t key, size_t i) { return key + (uint64_t)i * 0x9e3779b97f4a7c15u; }

uint64_t key_of(const struct plan *p, int edge, int group, int i) {
  return random_of(p->seed, (uint64_t)edge * 100000 + (uint64_t)group, (uint64_t)i + 1000);
}

void fill(uint8_t *to, size_t n, uint64_t key) {
  for (size_t i = 0; i * 8 < n; i++) {
    uint64_t w = word_of(key, i);
    memcpy(to + i * 8, &w, n - i * 8 < 8 ? n - i * 8 : 8);
  }
}

bool right(const uint8_t *at, size_t n, uint64_t key) {
  for (size_t i = 0; i * 8 < n; i++) {
    uint64_t w = word_of(key, i);
    if (memcmp(at + i * 8, &w, n - i * 8 < 8 ? n - i * 8 : 8)) return false;
  }
  return true;
}
