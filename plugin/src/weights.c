#include "weights.h"

enum {
  MOST = 32,
  SLIVER = 8,  // less than even share / SLIVER is not worth a work request of its own
  ENOUGH = 4,  // pieces per queue pair that tell something
  WAITS = 10,
  PROBE_EVERY = 32,  // times what the last one took: a window of messages waits for it
};

// A delay within NOISE of the others' says nothing; beyond, the weight changes by at most STEP a time.
static const float NOISE = 1.25f, STEP = 0.8f, BACK = 0.1f, LEAST = 1.0f / 64;
// A pace beyond SLOW_PACE counts, until it is below EVEN_PACE again.
// Pieces of a divided message take so long on a path that crawls that weights, which wait for them, come too late.
static const float SLOW_PACE = 1.25f, EVEN_PACE = 1.1f, CRAWLING = 4, FADE = 0.7f;
static const float SLOW_BELOW = 0.85f, SLOW_UNTIL = 0.95f;

void rw_load_reset(struct rw_load *load) { *load = (struct rw_load){.limit = RW_UNLIMITED, .weight = 1, .pace = 1}; }

// How much quicker than this one the quickest is, by whichever measure says more. A pace below least is not counted.
static float slowness(const struct rw_load *l, float least) {
  float pace = l->pace >= least ? l->pace : 1;
  return l->slow && l->weight * pace < 1 ? 1 / l->weight : pace;
}

// A vessel per queue pair: as wide as its weight, and filled already where its backlog exceeds the smallest one by more
// than an even share. What is poured in stands equally high in all.
struct vessel {
  float width, held;
  bool in;
};

static float pour(float size, int n, const struct vessel *v) {
  float sum = size, width = 0;
  for (int i = 0; i < n; i++)
    if (v[i].in) sum += v[i].held, width += v[i].width;
  return sum / width;
}

// True where all are alike, so that each gets the same: nothing is slow or held back, and backlogs differ by less than
// an even share. That is nearly always so, and asked for every message.
static bool alike(uint64_t even, int n, struct rw_load *const *loads, bool weigh) {
  uint64_t least = UINT64_MAX, most = 0;
  bool special = false;
  for (int i = 0; i < n; i++) {
    const struct rw_load *l = loads[i];
    special |= l->limit < RW_UNLIMITED || (weigh && (l->slow || l->pace >= CRAWLING));
    if (l->backlog < least) least = l->backlog;
    if (l->backlog > most) most = l->backlog;
  }
  return !special && (!weigh || most - least <= even);
}

static void set_up(float even, int n, struct rw_load *const *loads, bool weigh, struct vessel *v) {
  float least = -1;
  for (int i = 0; i < n; i++) {
    v[i] = (struct vessel){.width = weigh ? 1 / slowness(loads[i], CRAWLING) : 1, .in = true};
    v[i].held = weigh ? (float)loads[i]->backlog / v[i].width : 0;
    // One that is held back is no measure for the others: it is always empty.
    if (loads[i]->limit >= RW_UNLIMITED && (least < 0 || v[i].held < least)) least = v[i].held;
  }
  if (least < 0) least = 0;
  for (int i = 0; i < n; i++) {
    float over = v[i].held - least - even;
    v[i].held = over > 0 ? over * v[i].width : 0;
  }
}

void rw_divide(uint64_t size, int n, struct rw_load *const *loads, bool weigh, uint64_t *bytes) {
  struct vessel v[MOST];
  float even = (float)size / (float)n, left = (float)size, height;
  uint64_t rest = size, each = size / (uint64_t)n, more = size % (uint64_t)n;
  int last = 0;
  if (alike(each, n, loads, weigh)) {
    for (int i = 0; i < n; i++) bytes[i] = each + ((uint64_t)i < more);
    return;
  }
  set_up(even, n, loads, weigh, v);
  for (int chosen = n, changed = 1; changed;) {
    height = pour(left, n, v);
    changed = 0;
    for (int i = 0; i < n && chosen > 1; i++) {
      float most = even * (float)loads[i]->limit / RW_UNLIMITED;
      if (!v[i].in || loads[i]->limit >= RW_UNLIMITED || height * v[i].width - v[i].held <= most) continue;
      v[i].in = false;
      bytes[i] = (uint64_t)most;
      left -= most;
      rest -= bytes[i];
      chosen--;
      changed = 1;
    }
    for (int i = 0; i < n && !changed && chosen > 1; i++) {
      if (!v[i].in || height * v[i].width - v[i].held >= even / SLIVER) continue;
      v[i].in = false;
      bytes[i] = 0;
      chosen--;
      changed = 1;
    }
  }
  for (int i = 0; i < n; i++)
    if (v[i].in) last = i;
  for (int i = 0; i <= last; i++) {
    if (!v[i].in) continue;
    uint64_t wanted = (uint64_t)(height * v[i].width - v[i].held);
    bytes[i] = i == last || wanted > rest ? rest : wanted;
    rest -= bytes[i];
  }
}

int rw_choose(uint64_t size, int n, struct rw_load *const *loads, bool weigh) {
  int best = -1, any = 0;
  float soonest = 0;
  uint64_t least = loads[0]->backlog;
  for (int i = 0; i < n; i++) {
    struct rw_load *l = loads[i];
    if (l->backlog < least) least = l->backlog, any = i;
    if (l->limit < RW_UNLIMITED) {
      if (l->credit < RW_UNLIMITED) l->credit += l->limit / (uint32_t)n;
      if (l->credit < RW_UNLIMITED) continue;
    }
    if (weigh && l->probe && l->cost == 0) {
      l->probe = false;
      best = i;
      break;
    }
    float expected = weigh ? (float)(l->cost + size + RW_PIECE_COST) * slowness(l, 1) : 0;
    if (best < 0 || expected < soonest) best = i, soonest = expected;
  }
  if (best < 0) return any;
  if (loads[best]->limit < RW_UNLIMITED) loads[best]->credit -= RW_UNLIMITED;
  return best;
}

bool rw_pace(int n, struct rw_load *const *loads, int64_t now_ns) {
  float quickest = 0;
  bool uneven = false;
  for (int i = 0; i < n; i++) {
    struct rw_load *l = loads[i];
    if (l->busy_cost) {
      // Sums that fade, so that what little a path carries when it is nearly idle says as little.
      l->past_ns = l->past_ns * FADE + (float)l->busy_ns;
      l->past_cost = l->past_cost * FADE + (float)l->busy_cost;
      l->unit_ns = l->past_ns / l->past_cost;
    }
    l->busy_ns = 0;
    l->busy_cost = 0;
    if (l->unit_ns > 0 && (quickest <= 0 || l->unit_ns < quickest)) quickest = l->unit_ns;
  }
  for (int i = 0; i < n; i++) {
    struct rw_load *l = loads[i];
    float pace = l->unit_ns > 0 && quickest > 0 ? l->unit_ns / quickest : 1;
    l->pace = pace > (l->pace > 1 ? EVEN_PACE : SLOW_PACE) ? pace : 1;
    uneven |= l->pace > 1 || l->slow;
    l->probe = l->pace > 1 && l->cost == 0 && now_ns - l->done_ns > PROBE_EVERY * l->took_ns;
  }
  return uneven;
}

static float factor(float delay, float others) {
  if (delay <= 0 || others <= 0) return 1;
  float ratio = delay / others;
  if (ratio > NOISE) return NOISE / ratio > STEP ? NOISE / ratio : STEP;
  if (ratio * NOISE < 1) return 1 / (ratio * NOISE) < 1 / STEP ? 1 / (ratio * NOISE) : 1 / STEP;
  return 1;
}

void rw_weigh(int n, struct rw_load *const *loads, int *waited) {
  float sum = 0, highest = 0;
  int measured = 0;
  uint64_t pieces = 0;
  for (int i = 0; i < n; i++) pieces += loads[i]->pieces;
  if (pieces < (uint64_t)n * ENOUGH && pieces > 0 && ++*waited < WAITS) return;
  *waited = 0;
  for (int i = 0; i < n; i++) {
    if (!loads[i]->pieces) continue;
    sum += (float)loads[i]->delay_ns / (float)loads[i]->pieces;
    measured++;
  }
  for (int i = 0; i < n; i++) {
    struct rw_load *l = loads[i];
    float delay = l->pieces ? (float)l->delay_ns / (float)l->pieces : 0;
    float by = measured > 1 ? factor(delay, (sum - delay) / (float)(measured - 1)) : 1;
    l->weight *= by;
    if (by == 1) l->weight += (1 - l->weight) * BACK;  // exactly 1: nothing speaks for another weight
    if (l->weight < LEAST) l->weight = LEAST;
    if (l->weight > highest) highest = l->weight;
    l->delay_ns = 0;
    l->pieces = 0;
  }
  for (int i = 0; i < n; i++) {
    struct rw_load *l = loads[i];
    l->weight /= highest;
    l->slow = l->weight < (l->slow ? SLOW_UNTIL : SLOW_BELOW);
  }
}
