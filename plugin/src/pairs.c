#include "pairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "clock.h"
#include "params.h"
#include "tuner.h"

// A launcher's number, of the first of these variables that is set.
static int32_t launched_as(const char *const *names) {
  for (; *names; names++) {
    const char *text = getenv(*names);
    char *end;
    long value = text ? strtol(text, &end, 10) : -1;
    if (text && *text && !*end && value >= 0 && value < INT32_MAX) return (int32_t)value;
  }
  return -1;
}

// Of this process, not of its parent: a child of fork gets another.
static uint64_t process_number(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static uint64_t number;
  static pid_t of;
  pthread_mutex_lock(&lock);
  if (of != getpid() && getrandom(&number, sizeof(number), 0) != sizeof(number))
    number = (uint64_t)rw_now_ns() << 20 ^ (uint64_t)getpid();
  of = getpid();
  uint64_t mine = number;
  pthread_mutex_unlock(&lock);
  return mine;
}

void rw_end_describe(struct rw_end *end, const struct rw_vdevice *v) {
  memset(end, 0, sizeof(*end));
  static const char *const rank[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", NULL};
  static const char *const local[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID",
                                      NULL};
  gethostname(end->host, sizeof(end->host) - 1);
  end->process = process_number();
  end->pid = (uint32_t)getpid();
  end->rank = launched_as(rank);
  end->local_rank = launched_as(local);
  end->n = v->n;
  end->qps = rw_params.qps > 0 ? (uint16_t)(rw_params.qps < RW_MAX_QPS ? rw_params.qps : RW_MAX_QPS) : 0;
  end->labels = rw_params.roce_version == 1 ? 1 : (uint16_t)rw_params.labels;  // no UDP in version 1
  end->strict = rw_params.strict != 0;
  end->tuner = rw_tuner_hash();
  for (int i = 0; i < v->n; i++) {
    const struct rw_device *d = rw_device(v->devices[i]);
    struct rw_end_device *e = &end->devices[i];
    snprintf(e->name, sizeof(e->name), "%s", d->name);
    snprintf(e->leaf, sizeof(e->leaf), "%s", d->nic.leaf);
    snprintf(e->leaf_port, sizeof(e->leaf_port), "%s", d->nic.leaf_port);
    e->guid = d->guid;
    e->port = (uint8_t)d->port;
    e->mtu = (uint8_t)d->mtu;
    e->ethernet = d->ethernet;
    e->lid = d->lid;
    e->gids = rw_device_gids(d);
    end->adaptive_routing |= d->adaptive_routing;
  }
}

static void put_device(struct rw_cursor *c, const struct rw_end_device *d) {
  rw_put(c, d->name, RW_NAME);
  rw_put(c, d->leaf, RW_NAME);
  rw_put(c, d->leaf_port, RW_NAME);
  rw_put64(c, d->guid);
  rw_put8(c, d->port);
  rw_put8(c, d->mtu);
  rw_put8(c, d->ethernet);
  rw_put16(c, d->lid);
  rw_put8(c, (uint8_t)d->gids.scheme);
  rw_put8(c, (uint8_t)d->gids.n);
  for (int i = 0; i < d->gids.n; i++) {
    rw_put(c, d->gids.gids[i].gid.raw, 16);
    rw_put32(c, (uint32_t)d->gids.gids[i].color);
    rw_put(c, d->gids.gids[i].color_name, sizeof(d->gids.gids[i].color_name));
  }
}

static void get_device(struct rw_cursor *c, struct rw_end_device *d) {
  rw_get(c, d->name, RW_NAME - 1), rw_get8(c);
  rw_get(c, d->leaf, RW_NAME - 1), rw_get8(c);
  rw_get(c, d->leaf_port, RW_NAME - 1), rw_get8(c);
  d->guid = rw_get64(c);
  d->port = rw_get8(c);
  d->mtu = rw_get8(c);
  d->ethernet = rw_get8(c);
  d->lid = rw_get16(c);
  d->gids.scheme = rw_get8(c);
  d->gids.n = rw_get8(c);
  if (d->gids.n > RW_MAX_GIDS) c->overflow = true;
  for (int i = 0; i < d->gids.n && !c->overflow; i++) {
    struct rw_gid *g = &d->gids.gids[i];
    rw_get(c, g->gid.raw, 16);
    g->color = (int)rw_get32(c);
    rw_get(c, g->color_name, sizeof(g->color_name) - 1), rw_get8(c);
  }
}

void rw_end_put(struct rw_cursor *c, const struct rw_end *end) {
  rw_put(c, end->host, RW_NAME);
  rw_put64(c, end->process);
  rw_put32(c, end->pid);
  rw_put32(c, (uint32_t)end->rank);
  rw_put32(c, (uint32_t)end->local_rank);
  rw_put16(c, end->qps);
  rw_put16(c, end->labels);
  rw_put8(c, end->strict);
  rw_put8(c, end->adaptive_routing);
  rw_put64(c, end->tuner);
  rw_put8(c, (uint8_t)end->n);
  for (int i = 0; i < end->n; i++) put_device(c, &end->devices[i]);
}

bool rw_end_get(struct rw_cursor *c, struct rw_end *end) {
  memset(end, 0, sizeof(*end));
  rw_get(c, end->host, RW_NAME - 1), rw_get8(c);
  end->process = rw_get64(c);
  end->pid = rw_get32(c);
  end->rank = (int32_t)rw_get32(c);
  end->local_rank = (int32_t)rw_get32(c);
  end->qps = rw_get16(c);
  end->labels = rw_get16(c);
  end->strict = rw_get8(c);
  end->adaptive_routing = rw_get8(c);
  end->tuner = rw_get64(c);
  end->n = rw_get8(c);
  if (end->n < 1 || end->n > RW_MAX_MERGED || end->qps > RW_MAX_QPS || end->labels > RW_MAX_QPS) c->overflow = true;
  for (int i = 0; i < end->n && !c->overflow; i++) get_device(c, &end->devices[i]);
  return !c->overflow;
}

const char *rw_end_text(const struct rw_end *end, char *text, size_t size) {
  if (end->rank >= 0) snprintf(text, size, "%s (pid %u, rank %d)", end->host, end->pid, end->rank);
  else snprintf(text, size, "%s (pid %u)", end->host, end->pid);
  return text;
}

const char *rw_end_device_place(const struct rw_end_device *d, char *text, size_t size) {
  snprintf(text, size, "%s port %d (leaf %s, port %s)", d->name, d->port, d->leaf[0] ? d->leaf : "not known",
           d->leaf_port[0] ? d->leaf_port : "not known");
  return text;
}

static int common_colors(const struct rw_gid_list *a, const struct rw_gid_list *b, uint8_t pairs[][2]) {
  int n = 0;
  for (int i = 0; i < a->n; i++)
    for (int j = 0; j < b->n; j++)
      if (a->gids[i].color == b->gids[j].color && rw_gid_is_ipv4(&a->gids[i].gid) == rw_gid_is_ipv4(&b->gids[j].gid)) {
        pairs[n][0] = (uint8_t)i;
        pairs[n++][1] = (uint8_t)j;
        break;
      }
  return n;
}

static bool any_of_one_family(const struct rw_gid_list *a, const struct rw_gid_list *b, uint8_t pair[2]) {
  for (int i = 0; i < a->n; i++)
    for (int j = 0; j < b->n; j++)
      if (rw_gid_is_ipv4(&a->gids[i].gid) == rw_gid_is_ipv4(&b->gids[j].gid)) {
        pair[0] = (uint8_t)i;
        pair[1] = (uint8_t)j;
        return true;
      }
  return false;
}

static uint64_t fnv(uint64_t hash, const void *data, size_t n) {
  for (const uint8_t *p = data; n--; p++) hash = (hash ^ *p) * 0x100000001b3u;
  return hash;
}

static uint64_t hash_of(const struct rw_end *a, const struct rw_end *b, const struct rw_pair_table *t) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (int q = 0; q < t->n; q++) {
    const struct rw_pair *p = &t->pairs[q];
    hash = fnv(hash, p->device, 2);
    hash = fnv(hash, a->devices[p->device[0]].gids.gids[p->gid[0]].gid.raw, 16);
    hash = fnv(hash, b->devices[p->device[1]].gids.gids[p->gid[1]].gid.raw, 16);
  }
  return hash;
}

static void same_scheme(struct rw_end *a, struct rw_end *b, char *doubt, size_t size) {
  static const char *const by[] = {"the rank of its address", "RAILWEAVE_NET_COLOR_BITS", "its host file"};
  for (int i = 0; i < a->n; i++)
    for (int j = 0; j < b->n; j++)
      if (a->devices[i].gids.scheme != b->devices[j].gids.scheme) {
        snprintf(
            doubt, size,
            "a path's color is %s on %s, and %s on %s: both take ranks, which may differ. Install host.json on both",
            by[a->devices[i].gids.scheme % 3], a->host, by[b->devices[j].gids.scheme % 3], b->host);
        for (int k = 0; k < a->n; k++) rw_gids_color_by_rank(&a->devices[k].gids);
        for (int k = 0; k < b->n; k++) rw_gids_color_by_rank(&b->devices[k].gids);
        return;
      }
}

// Colors that both ends have, and yet not the same: ranks shift when an address is missing, and files may be of two
// designs.
static void doubt_colors(const struct rw_end *a, const struct rw_end *b, int i, int j, char *doubt, size_t size) {
  const struct rw_end_device *x = &a->devices[i], *y = &b->devices[j];
  if (doubt[0]) return;
  if (x->gids.scheme == RW_COLOR_RANK && x->gids.n != y->gids.n && x->gids.n > 0 && y->gids.n > 0)
    snprintf(doubt, size,
             "%s of %s has %d addresses, %s of %s has %d, and colors are ranks: which one is missing cannot be told. "
             "Look at "
             "railweave host gids, install host.json on both, or set RAILWEAVE_NET_COLOR_BITS",
             x->name, a->host, x->gids.n, y->name, b->host, y->gids.n);
  for (int g = 0; g < x->gids.n && !doubt[0]; g++)
    for (int h = 0; h < y->gids.n; h++)
      if (x->gids.gids[g].color == y->gids.gids[h].color && x->gids.gids[g].color_name[0] &&
          strcmp(x->gids.gids[g].color_name, y->gids.gids[h].color_name))
        snprintf(doubt, size, "color %d is %s on %s and %s on %s: their host files are of different designs",
                 x->gids.gids[g].color, x->gids.gids[g].color_name, a->host, y->gids.gids[h].color_name, b->host);
}

bool rw_pairs_make(struct rw_end *a, struct rw_end *b, struct rw_pair_table *t, char *why, size_t size) {
  int turn[RW_MAX_MERGED][RW_MAX_MERGED] = {{0}};
  int rows = a->n > b->n ? a->n : b->n, most = 1;
  uint8_t pairs[RW_MAX_GIDS][2];
  memset(t, 0, sizeof(*t));
  if (a->tuner != b->tuner) {
    snprintf(
        why, size,
        "%s and %s do not have the same tuner table in force (%016llx, %016llx; 0: none): ranks that choose "
        "differently "
        "would wait for each other for ever. Install the same file, and the same RAILWEAVE_NET_TUNER, on all servers",
        a->host, b->host, (unsigned long long)a->tuner, (unsigned long long)b->tuner);
    return false;
  }
  same_scheme(a, b, t->doubt, sizeof(t->doubt));
  for (int r = 0; r < rows; r++) {
    const struct rw_gid_list *ga = &a->devices[r % a->n].gids, *gb = &b->devices[r % b->n].gids;
    int n = common_colors(ga, gb, pairs), larger = ga->n > gb->n ? ga->n : gb->n;
    if (n > most) most = n;
    doubt_colors(a, b, r % a->n, r % b->n, t->doubt, sizeof(t->doubt));
    if ((a->strict || b->strict) && n < larger) {
      snprintf(why, size, "%s of %s and %s of %s have %d path colors in common, not %d (RAILWEAVE_NET_STRICT)",
               a->devices[r % a->n].name, a->host, b->devices[r % b->n].name, b->host, n, larger);
      return false;
    }
  }
  if (t->doubt[0] && (a->strict || b->strict)) {
    snprintf(why, size, "%s (RAILWEAVE_NET_STRICT)", t->doubt);
    return false;
  }
  int wished = a->qps > b->qps ? a->qps : b->qps;
  // Where no color steers, ECMP does, by what tells queue pairs apart.
  if (!wished && most == 1 && a->devices[0].ethernet && b->devices[0].ethernet)
    wished = a->labels > b->labels ? a->labels : b->labels;
  t->n = rows * (wished ? wished : most);
  if (t->n > RW_MAX_QPS) t->n = RW_MAX_QPS;
  for (int q = 0; q < t->n; q++) {
    struct rw_pair *p = &t->pairs[q];
    p->device[0] = (uint8_t)(q % rows % a->n);
    p->device[1] = (uint8_t)(q % rows % b->n);
    const struct rw_gid_list *ga = &a->devices[p->device[0]].gids, *gb = &b->devices[p->device[1]].gids;
    int n = common_colors(ga, gb, pairs), *k = &turn[p->device[0]][p->device[1]];
    if (n == 0) {
      t->fallback = true;
      n = 1;
      if (!any_of_one_family(ga, gb, pairs[0])) {
        snprintf(why, size, "%s of %s (%d addresses) and %s of %s (%d) have no address family in common",
                 a->devices[p->device[0]].name, a->host, ga->n, b->devices[p->device[1]].name, b->host, gb->n);
        return false;
      }
    }
    p->gid[0] = pairs[*k % n][0];
    p->gid[1] = pairs[*k % n][1];
    p->color = ga->gids[p->gid[0]].color;
    bool ecmp = n == 1 && a->devices[p->device[0]].ethernet && b->devices[p->device[1]].ethernet;
    p->label = ecmp ? *k : -1;
    if (*k < n || ecmp) t->paths++;
    ++*k;
  }
  t->hash = hash_of(a, b, t);
  return true;
}
