// Weights in virtual time: a sender with a window of messages over paths with a rate, a delay and a queue each. What is
// asserted is what NCCL sees, the rate of whole messages in order.
#include "weights.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATHS = 16, WINDOW = 8, PIECES = 4096, SPLIT = 65536 };

struct path {
  double rate, delay;  // bytes/s, s one way
  double busy_until, last_done, next;
  uint64_t weather;
  struct {
    double posted, done;
    int message;
    uint64_t bytes;
  } queue[PIECES];
  int first, last;
};

struct world {
  struct path paths[PATHS];
  struct rw_load loads[PATHS];
  int n, window, turn;
  uint64_t size;
  bool weights;
  double now, jitter, weighed;
  int waited;
  uint64_t random;
  int left[PIECES];  // pieces of a message that are out
  int head, tail;    // messages complete in order up to head, posted up to tail
  void (*change)(struct world *w);
};

static double draw(uint64_t *random) {
  *random = *random * 6364136223846793005u + 1442695040888963407u;
  return (double)(*random >> 40) / (double)(1 << 24);
}
static double chance(struct world *w) { return draw(&w->random); }

static void post(struct world *w) {
  struct rw_load *loads[PATHS];
  uint64_t bytes[PATHS];
  for (int i = 0; i < w->n; i++) loads[i] = &w->loads[i];
  if (w->size >= SPLIT) {
    rw_divide(w->size, w->n, loads, w->weights, bytes);
  } else {  // as send.c: from the next in turn
    struct rw_load *turned[PATHS];
    for (int i = 0; i < w->n; i++) turned[i] = loads[(w->turn + i) % w->n], bytes[i] = 0;
    int chosen = (w->turn + rw_choose(w->size, w->n, turned, w->weights)) % w->n;
    bytes[chosen] = w->size;
    w->turn = (chosen + 1) % w->n;
  }
  int m = w->tail++;
  w->left[m % PIECES] = 0;
  for (int i = 0; i < w->n; i++) {
    struct path *p = &w->paths[i];
    if (!bytes[i]) continue;
    double start = fmax(p->busy_until, w->now + p->delay);
    p->busy_until = start + (double)bytes[i] / p->rate;
    p->last_done = fmax(p->last_done, p->busy_until + p->delay + w->jitter * chance(w));
    p->queue[p->last % PIECES].done = p->last_done;
    p->queue[p->last % PIECES].posted = w->now;
    p->queue[p->last % PIECES].message = m;
    p->queue[p->last++ % PIECES].bytes = bytes[i];
    rw_load_posted(&w->loads[i], (uint32_t)bytes[i]);
    w->left[m % PIECES]++;
  }
}

// Bytes per second of whole messages from one time to another.
static double rate(struct world *w, double from, double to) {
  double started = from, ended = from;
  int begun = -1;
  while (w->now < to) {
    if (w->change) w->change(w);
    if (w->now - w->weighed >= RW_WEIGH_MS * 1e-3) {
      struct rw_load *loads[PATHS];
      for (int i = 0; i < w->n; i++) loads[i] = &w->loads[i];
      rw_pace(w->n, loads, (int64_t)(w->now * 1e9));
      rw_weigh(w->n, loads, &w->waited);
      w->weighed = w->now;
    }
    while (w->tail - w->head < w->window) post(w);
    double next = 1e30;
    for (int i = 0; i < w->n; i++)
      if (w->paths[i].first != w->paths[i].last) next = fmin(next, w->paths[i].queue[w->paths[i].first % PIECES].done);
    // The proxy looks now and then, not at every completion.
    w->now = next + 2e-6 * chance(w);
    for (int i = 0; i < w->n; i++) {
      struct path *p = &w->paths[i];
      for (; p->first != p->last && p->queue[p->first % PIECES].done <= w->now; p->first++) {
        rw_load_done(&w->loads[i], (uint32_t)p->queue[p->first % PIECES].bytes,
                     (int64_t)(p->queue[p->first % PIECES].posted * 1e9), (int64_t)(w->now * 1e9));
        w->left[p->queue[p->first % PIECES].message % PIECES]--;
      }
    }
    int head = w->head;
    while (w->head < w->tail && w->left[w->head % PIECES] == 0) w->head++;
    if (w->head != head) ended = w->now;
    if (begun < 0 && w->now >= from && w->head != head) begun = w->head, started = w->now;
  }
  return begun < 0 || w->head == begun ? 0 : (double)(w->head - begun) * (double)w->size / (ended - started);
}

static struct world world(int n, uint64_t size, int window, bool weights) {
  struct world w = {.n = n, .window = window, .size = size, .weights = weights, .random = 7};
  for (int i = 0; i < n; i++) {
    w.paths[i].rate = 6.25e9 / 16;  // slow, so that simulating a second takes little
    w.paths[i].delay = 8e-6;
    rw_load_reset(&w.loads[i]);
  }
  return w;
}

static int failures;
static void expect(bool good, const char *what, int n, uint64_t size, double got, double wanted) {
  if (good) return;
  printf("weights: %s: %d paths, messages of %llu bytes: %.1f MB/s, wanted %.1f\n", what, n, (unsigned long long)size,
         got / 1e6, wanted / 1e6);
  failures++;
}

static void identical(void) {
  for (int n = 2; n <= PATHS; n *= 2)
    for (uint64_t size = 4096; size <= 16 << 20; size *= 4) {
      double seconds = size < 65536 ? 0.3 : 1;
      static struct world even, weighted;
      even = world(n, size, WINDOW, false), weighted = world(n, size, WINDOW, true);
      even.jitter = weighted.jitter = 3e-6;
      double a = rate(&even, 0.1, seconds), b = rate(&weighted, 0.1, seconds);
      expect(b >= 0.98 * a, "identical paths", n, size, b, a);
    }
}

static void halve(struct world *w) { w->paths[1].rate = w->now >= 0.5 && w->now < 2 ? 6.25e9 / 32 : 6.25e9 / 16; }

static void half_rate(void) {
  for (int n = 2; n <= PATHS; n *= 2)
    for (uint64_t size = 65536; size <= 16 << 20; size *= 16)
      for (int window = 4; window <= 8; window *= 2) {
        static struct world w;
        w = world(n, size, window, true);
        w.change = halve;
        double before = rate(&w, 0.1, 0.5), slow = rate(&w, 1.5, 2), after = rate(&w, 4, 4.5);
        double ideal = before * (n - 0.5) / n;
        // With small messages the round trip, not the rate, is what limits; then there is nothing to gain.
        if (before > 0.9 * n * 6.25e9 / 16) expect(slow >= 0.9 * ideal, "one path at half rate", n, size, slow, ideal);
        expect(after >= 0.98 * before, "healed", n, size, after, before);
      }
}

// A path at a tenth of the rate, and one with thrice the delay: neither may cost more than it must.
static void unequal(void) {
  for (int n = 2; n <= PATHS; n *= 2)
    for (uint64_t size = 4096; size <= 4 << 20; size *= 4) {
      static struct world even, weighted;
      even = world(n, size, WINDOW, false), weighted = world(n, size, WINDOW, true);
      even.paths[1].delay = weighted.paths[1].delay = 24e-6;
      double a = rate(&even, 0.3, 0.6), b = rate(&weighted, 0.3, 0.6);
      expect(b >= 0.97 * a, "one path with a longer delay", n, size, b, a);
      if (size < 1 << 20) continue;
      weighted = world(n, size, WINDOW, true);
      weighted.paths[1].rate /= 10;
      b = rate(&weighted, 1, 2);
      expect(b >= 0.85 * (n - 0.9) * 6.25e9 / 16, "one path at a tenth", n, size, b, (n - 0.9) * 6.25e9 / 16);
    }
}

// Messages of any size while one path is slow: at least 80 % of what the paths carry together, of what the window
// allows, or of what the other paths carry alone. table: print it.
static void one_slow(bool table) {
  static const double shares[] = {0.05, 0.1, 0.5};
  if (table) puts("| size | one of 4 paths at 5 % | 10 % | 50 % |\n|---|---|---|---|");
  for (uint64_t size = 4096; size <= 1 << 20; size *= 2) {
    if (table) printf("| %llu KiB |", (unsigned long long)size >> 10);
    for (int s = 0; s < 3; s++)
      for (int n = 2; n <= PATHS; n *= 2)
        for (int window = 8; window <= (n == 4 ? 32 : 8); window *= 4) {
          static struct world w;
          w = world(n, size, window, true);
          w.jitter = 3e-6;
          double possible = rate(&w, 0.1, 0.3), all = (n - 1 + shares[s]) * 6.25e9 / 16;
          if (possible > all) possible = all;
          if (window < 2 * n) {  // some path has one message: then the slow one is best left alone
            static struct world others;
            others = world(n - 1, size, window, true);
            others.jitter = w.jitter;
            double without = rate(&others, 0.1, 0.3);
            if (possible > without) possible = without;
          }
          w.paths[1].rate *= shares[s];
          // What lies on the slow path when it becomes slow has to drain, and the weight falls by a fifth a time.
          double settled = 0.7 + (double)(size * (uint64_t)window) / n / w.paths[1].rate;
          double got = rate(&w, settled, settled + 0.7);
          expect(got >= 0.8 * possible, "one slow path", n, size, got, possible);
          if (table && n == 4 && window == 8) printf(" %.0f %% |", 100 * got / possible);
        }
    if (table) puts("");
  }
}

static void disturb(struct world *w) {
  // A sequence per path, so that both worlds have the same weather.
  for (int i = 0; i < w->n; i++) {
    struct path *p = &w->paths[i];
    if (p->weather == 0) p->weather = w->random + (uint64_t)i * 7919;
    while (w->now >= p->next) {
      p->rate = 6.25e9 / 16 * (0.3 + 0.7 * draw(&p->weather));
      p->delay = 8e-6 + 100e-6 * draw(&p->weather) * draw(&p->weather);
      p->next += 0.005 + 0.05 * draw(&p->weather);
    }
  }
}

static void congestion(void) {
  for (int n = 2; n <= PATHS; n *= 2)
    for (uint64_t size = 16384; size <= 4 << 20; size *= 4)
      for (uint64_t seed = 1; seed <= 3; seed++) {
        static struct world even, weighted;
        even = world(n, size, WINDOW, false), weighted = world(n, size, WINDOW, true);
        even.change = weighted.change = disturb;
        even.random = weighted.random = seed;
        even.jitter = weighted.jitter = 50e-6;
        double a = rate(&even, 0.1, 2), b = rate(&weighted, 0.1, 2);
        expect(b >= 0.97 * a, "random delays and congestion", n, size, b, a);
      }
}

static void sums(void) {
  struct world w = world(PATHS, 0, 1, true);
  for (int round = 0; round < 20000; round++) {
    struct rw_load *loads[PATHS];
    uint64_t bytes[PATHS], sum = 0, size = (uint64_t)(chance(&w) * chance(&w) * 1e7);
    int n = 1 + (int)(chance(&w) * PATHS);
    for (int i = 0; i < n; i++) {
      w.loads[i].backlog = (uint64_t)(chance(&w) * (double)(2 * size + 1));
      w.loads[i].limit = chance(&w) < 0.3 ? (uint32_t)(chance(&w) * RW_UNLIMITED) : RW_UNLIMITED;
      w.loads[i].weight = (float)(0.06 + 0.94 * chance(&w));
      w.loads[i].slow = chance(&w) < 0.5;
      loads[i] = &w.loads[i];
    }
    rw_divide(size, n, loads, round % 2, bytes);
    for (int i = 0; i < n; i++) sum += bytes[i];
    if (sum != size)
      failures++, printf("weights: %llu of %llu bytes\n", (unsigned long long)sum, (unsigned long long)size);
    int chosen = rw_choose(size, n, loads, round % 2);
    if (chosen < 0 || chosen >= n) failures++, printf("weights: chose %d of %d\n", chosen, n);
  }
}

// A queue pair that came back gets little at first, whole messages as well as split ones.
static void limits(void) {
  struct rw_load load[4], *loads[4];
  uint64_t bytes[4];
  int taken = 0;
  for (int i = 0; i < 4; i++) rw_load_reset(loads[i] = &load[i]);
  load[2].limit = RW_UNLIMITED / 8;
  rw_divide(1 << 20, 4, loads, true, bytes);
  if (bytes[2] != 1 << 15 || bytes[0] < 330000)
    failures++, printf("weights: limit: %llu\n", (unsigned long long)bytes[2]);
  for (int i = 0; i < 4; i++) load[i].backlog = i == 2 ? 0 : 10 << 20;
  rw_divide(1 << 20, 4, loads, true, bytes);
  if (bytes[2] != 1 << 15) failures++, printf("weights: limit of an empty path: %llu\n", (unsigned long long)bytes[2]);
  for (int i = 0; i < 4; i++) load[i].backlog = 0;
  // The caller begins at the next one each time.
  for (int i = 0; i < 3200; i++) {
    for (int k = 0; k < 4; k++) loads[k] = &load[(i + k) % 4];
    taken += loads[rw_choose(4096, 4, loads, false)] == &load[2];
  }
  if (taken < 90 || taken > 110) failures++, printf("weights: limit: %d of 3200 messages\n", taken);
}

int main(int words, char **word) {
  if (words > 1 && strcmp(word[1], "table") == 0) return one_slow(true), failures != 0;
  sums();
  limits();
  identical();
  half_rate();
  unequal();
  one_slow(false);
  congestion();
  if (!failures) puts("weights: all well");
  return failures != 0;
}
