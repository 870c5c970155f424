#include <stdlib.h>
#include <string.h>

#include "harness.h"

uint64_t random_of(uint64_t seed, uint64_t a, uint64_t b) {
  uint64_t z = seed * 0x9e3779b97f4a7c15u + a * 0xbf58476d1ce4e5b9u + b * 0x94d049bb133111ebu + 1;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static void add(struct schedule *s, struct fault fault) {
  if (s->n < MAX_FAULTS) s->faults[s->n++] = fault;
}

static int by_time(const void *a, const void *b) {
  return ((const struct fault *)a)->at_ms - ((const struct fault *)b)->at_ms;
}

// One path number is never touched, on one device. Of the others, each fault hits one; later faults may hit while
// earlier ones are being dealt with.
void schedule_survivable(const struct plan *p, struct schedule *s) {
  uint64_t turn = 0;
#define DRAW(n) ((int)(random_of(p->seed, 77, turn++) % (uint64_t)(n)))
  int safe_gid = DRAW(p->gids), safe_device = p->merge ? DRAW(p->devices) : 0;
  int span = 40 + DRAW(200), n = 1 + DRAW(7);
  memset(s, 0, sizeof(*s));
  for (int i = 0; i < n; i++) {
    struct fault f = {.at_ms = DRAW(span)};
    f.host = DRAW(p->ranks);
    f.device = DRAW(p->merge ? p->devices : 1);
    f.gid = DRAW(p->gids);
    int lasts = 5 + DRAW(3 * p->reroute_ms);
    f.peer = (f.host + 1) % p->ranks;
    int what = DRAW(13);
    if (f.gid == safe_gid && f.device == safe_device) continue;
    if (what < 3) {
      f.kind = PATH_DOWN;
      add(s, f);
      f.kind = PATH_UP;
      f.at_ms += lasts;
      if (DRAW(4)) add(s, f);  // else it stays down
    } else if (what < 5) {
      f.kind = PATH_BLINK;  // the fabric reroutes in time
      f.value = 1 + DRAW(p->reroute_ms > 2 ? p->reroute_ms / 2 : 1);
      add(s, f);
    } else if (what < 6) {
      f.kind = PATH_DROPS;
      f.value = 1000 + DRAW(30000);
      add(s, f);
      f.at_ms += lasts;
      f.value = 0;
      add(s, f);
    } else if (what < 7) {
      f.kind = PATH_SLOW;
      f.value = 1 + DRAW(20);
      add(s, f);
    } else if (what < 8) {
      f.kind = ADDRESS_CHANGE;
      add(s, f);
    } else if (what < 9) {
      f.kind = ADDRESS_GONE;
      add(s, f);
      f.kind = ADDRESS_BACK;
      f.at_ms += lasts;
      add(s, f);
    } else if (what >= 10) {  // whichever path's queue pair it is
      f.kind = what == 10 ? RECEIVE_REFUSED : what == 11 ? SEND_REFUSED : FLUSH_REFUSED;
      f.value = 1 + DRAW(30);
      add(s, f);
    } else if (p->merge && f.device != safe_device) {
      f.kind = PORT_DOWN;
      add(s, f);
      f.kind = PORT_UP;
      f.at_ms += lasts;
      if (DRAW(2)) add(s, f);
    }
  }
#undef DRAW
  qsort(s->faults, (size_t)s->n, sizeof(s->faults[0]), by_time);
}

void schedule_port_loss(const struct plan *p, struct schedule *s) {
  *s = (struct schedule){.must_fail = true};
  add(s, (struct fault){.at_ms = 30 + (int)(random_of(p->seed, 78, 0) % 50),
                        .kind = PORT_DOWN,
                        .host = (int)(random_of(p->seed, 78, 1) % (uint64_t)p->ranks)});
}

// Silent: no event tells of it.
void schedule_leaf_loss(const struct plan *p, struct schedule *s) {
  *s = (struct schedule){.must_fail = true};
  add(s, (struct fault){.at_ms = 30 + (int)(random_of(p->seed, 79, 0) % 50),
                        .kind = HOST_DARK,
                        .host = (int)(random_of(p->seed, 79, 1) % (uint64_t)p->ranks)});
}

static void both_ways(struct fake_fabric *f, const struct fault *x, void (*set)(struct fake_path *, int)) {
  int a = fake_end(x->host, x->device, x->gid), b = fake_end(x->peer, x->device, x->gid);
  set(&f->paths[a][b], x->value);
  set(&f->paths[b][a], x->value);
}

static void set_drops(struct fake_path *p, int ppm) { atomic_store(&p->drop_ppm, (uint32_t)ppm); }
static void set_rate(struct fake_path *p, int mbytes) { atomic_store(&p->mbytes_per_s, (uint32_t)mbytes); }

void fault_apply(struct fake_fabric *f, const struct plan *p, const struct fault *x) {
  uint64_t until = x->kind == PATH_DOWN ? UINT64_MAX
                   : x->kind == PATH_UP ? 0
                                        : fake_now_ns() + (uint64_t)x->value * 1000000;
  switch (x->kind) {
    case PATH_DOWN:
    case PATH_UP:
    case PATH_BLINK: fake_path_down(f, x->host, x->device, x->peer, x->device, x->gid, until); break;
    case PATH_DROPS: both_ways(f, x, set_drops); break;
    case PATH_SLOW: both_ways(f, x, set_rate); break;
    case ADDRESS_CHANGE: fake_gid_change(f, x->host, x->device, x->gid); break;
    case ADDRESS_GONE:
    case ADDRESS_BACK: fake_gid_present(f, x->host, x->device, x->gid, x->kind == ADDRESS_BACK); break;
    case PORT_DOWN:
    case PORT_UP: fake_port_set(f, x->host, x->device, x->kind == PORT_UP); break;
    case RECEIVE_REFUSED: atomic_store(&f->ports[x->host][x->device].refuse_receive, x->value); break;
    case SEND_REFUSED: atomic_store(&f->ports[x->host][x->device].refuse_send, x->value); break;
    case FLUSH_REFUSED: atomic_store(&f->ports[x->host][x->device].refuse_read, x->value); break;
    case RANK_KILLED: break;  // by the harness
    case HOST_DARK:
      for (int h = 0; h < p->ranks; h++)
        for (int d = 0; d < p->devices; d++)
          if (h != x->host)
            fake_path_down(f, x->host, d, h, d, -1, x->gid ? fake_now_ns() + (uint64_t)x->gid * 1000000 : UINT64_MAX);
      break;
  }
}
