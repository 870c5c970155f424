#include "paths.h"

#include <stdio.h>

#include "log.h"
#include "params.h"

enum {
  PATHS = 1024,
  REPORT_AFTER_MS = 1000,  // a path that comes back before is a flap; a process that is gone is known by then
  CLAIM_MS = 10000,        // a connection that nobody works on may not keep the others from trying
  SAME_MS = 3000,          // a queue pair that dies so long after the path came back died of what the path died of
  REMAKE_MS = 1,           // between two queue pairs that are made on a path that answers again
};

struct rw_path {
  bool used;
  int users;  // queue pairs of open connections; without any, nothing is known of it, and another may take its place
  const struct rw_device *device;
  char host[RW_NAME], peer_device[RW_NAME];
  int peer_port;
  uint64_t process;
  int color;
  char text[256];  // "mlx5_0 color 3 blue fc00::1 -> fc00::2"
  char peer[2 * RW_NAME];
  char reason[160];  // of the last death
  int64_t dead_ms;   // since when, 0: it lives
  int64_t back_ms;   // when it came back, 0: nothing to say of that
  int64_t was_dead_ms;
  bool reported;
  bool quiet;  // its port is down: that has been said
  const struct rw_comm *prober;
  int64_t probe_until_ms, remake_ms, proven_ms;
  unsigned proven;  // how often: others that died before need no probe of their own
  bool steered;     // by its color: what one queue pair finds out holds for all. Else each has a way of its own
  int live;         // queue pairs
  int lost;         // of those without color, since that was last said
  int64_t lost_ms;  // when the first of them was
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rw_path paths[PATHS];
static bool something_to_say;

static bool is(const struct rw_path *p, const struct rw_comm *c, const struct rw_qp *q) {
  const struct rw_end_device *peer = &c->remote.devices[q->device[1]];
  return p->device == c->devices[q->device[0]].device && p->color == q->color && p->process == c->remote.process &&
         strcmp(p->host, c->remote.host) == 0 && p->peer_port == peer->port && strcmp(p->peer_device, peer->name) == 0;
}

static unsigned place(const struct rw_comm *c, const struct rw_qp *q) {
  uint64_t key = c->remote.process ^ (uint64_t)q->color << 40 ^ (uintptr_t)c->devices[q->device[0]].device;
  return (unsigned)(key * 0x9e3779b97f4a7c15u >> 32) % PATHS;
}

struct rw_path *rw_path_of(const struct rw_comm *c, const struct rw_qp *q) {
  char from[RW_GID_TEXT], to[RW_GID_TEXT];
  struct rw_path *found = NULL, *spare = NULL;
  unsigned at = place(c, q);
  pthread_mutex_lock(&lock);
  for (int tries = 0; tries < PATHS && !found; tries++) {
    struct rw_path *p = &paths[(at + (unsigned)tries) % PATHS];
    if (p->used && is(p, c, q)) found = p;
    if (!spare && p->users == 0) spare = p;
    if (!p->used) break;
  }
  if (!found && spare) {
    found = spare;
    *found = (struct rw_path){.used = true,
                              .steered = q->label < 0,
                              .device = c->devices[q->device[0]].device,
                              .process = c->remote.process,
                              .color = q->color,
                              .peer_port = c->remote.devices[q->device[1]].port};
    snprintf(found->host, sizeof(found->host), "%s", c->remote.host);
    snprintf(found->peer_device, sizeof(found->peer_device), "%s", c->remote.devices[q->device[1]].name);
    rw_gid_text(&q->local.gid, from);
    rw_gid_text(&q->remote.gid, to);
    const char *device = found->device->name, *name = q->local.color_name, *via = q->local.via;
    if (found->steered)
      snprintf(found->text, sizeof(found->text), "%s color %d%s%s%s%s %s -> %s", device, q->color, *name ? " " : "",
               name, *via ? " by " : "", via, from, to);
    else snprintf(found->text, sizeof(found->text), "%s %s -> %s, all flow labels", device, from, to);
    rw_end_text(&c->remote, found->peer, sizeof(found->peer));
  }
  if (found) found->users++;
  pthread_mutex_unlock(&lock);
  return found;
}

void rw_path_begins(struct rw_qp *q) {
  if (!q->path) return;
  pthread_mutex_lock(&lock);
  q->path->live++;
  q->proven_seen = q->path->proven;
  pthread_mutex_unlock(&lock);
}

void rw_path_dead(struct rw_comm *c, struct rw_qp *q) {
  struct rw_path *p = q->path;
  if (!p) return;
  pthread_mutex_lock(&lock);
  // Others' queue pairs on it may have died before, of the same, and be back already.
  bool same = q->proven_seen != p->proven && c->now_ms - p->proven_ms < SAME_MS;
  p->live--;
  if (!p->dead_ms && !same) snprintf(p->reason, sizeof(p->reason), "%s", q->reason);
  if (!p->dead_ms && !same && (p->steered || p->live <= 0)) {
    p->dead_ms = c->now_ms;
    p->back_ms = 0;
    p->reported = false;
    p->lost = 0;
    p->quiet = !atomic_load(&p->device->port_up);
  }
  if (!p->steered && !p->dead_ms && p->lost++ == 0) p->lost_ms = c->now_ms;
  something_to_say = true;
  q->proven_seen = p->proven;
  pthread_mutex_unlock(&lock);
}

bool rw_path_try(struct rw_comm *c, struct rw_qp *q) {
  struct rw_path *p = q->path;
  if (!p) return c->now_ms >= q->recover_at_ms;
  bool may = false;
  pthread_mutex_lock(&lock);
  if (p->proven != q->proven_seen) {
    may = c->now_ms - p->remake_ms >= REMAKE_MS;
    if (may) p->remake_ms = c->now_ms;
  } else if (c->now_ms >= q->recover_at_ms && !p->dead_ms) {
    may = true;  // others of its kind live, on other ways
  } else if (c->now_ms >= q->recover_at_ms && (!p->prober || p->prober == c || c->now_ms > p->probe_until_ms)) {
    p->prober = c;
    p->probe_until_ms = c->now_ms + CLAIM_MS;
    may = true;
  }
  pthread_mutex_unlock(&lock);
  return may;
}

void rw_path_unproven(struct rw_comm *c, struct rw_qp *q) {
  struct rw_path *p = q->path;
  if (!p) return;
  pthread_mutex_lock(&lock);
  if (p->prober == c) p->prober = NULL;
  q->proven_seen = p->proven;
  pthread_mutex_unlock(&lock);
}

void rw_path_proven(struct rw_comm *c, struct rw_qp *q) {
  struct rw_path *p = q->path;
  if (!p) return;
  pthread_mutex_lock(&lock);
  p->live++;
  if (p->dead_ms) {
    p->was_dead_ms = c->now_ms - p->dead_ms;
    p->back_ms = c->now_ms;
    p->dead_ms = 0;
    p->lost = 0;
    p->proven++;
    p->proven_ms = c->now_ms;
    something_to_say = true;
  }
  if (p->prober == c) p->prober = NULL;
  q->proven_seen = p->proven;
  pthread_mutex_unlock(&lock);
}

void rw_path_reason(const struct rw_path *p, char *text, size_t size) {
  pthread_mutex_lock(&lock);
  snprintf(text, size, "%s", p ? p->reason : "");
  pthread_mutex_unlock(&lock);
}

void rw_path_let_go(const struct rw_comm *c) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < PATHS; i++)
    if (paths[i].prober == c) paths[i].prober = NULL;
  for (int i = 0; c->qps && i < c->n_qps; i++) {
    struct rw_path *p = c->qps[i].path;
    if (!p) continue;
    if (rw_state(&c->qps[i]) == RW_QP_LIVE) p->live--;
    if (--p->users) continue;
    p->dead_ms = p->back_ms = 0;
    p->lost = p->live = 0;
    p->reported = p->quiet = false;
  }
  pthread_mutex_unlock(&lock);
}

// 0: nothing yet, 1: to be said now, 2: too early.
static int to_say(const struct rw_path *p, int64_t now_ms) {
  if (!p->used) return 0;
  if (p->dead_ms && !p->reported && !p->quiet) return now_ms - p->dead_ms >= REPORT_AFTER_MS ? 1 : 2;
  return p->back_ms ? 1 : 0;
}

static bool together(const struct rw_path *a, const struct rw_path *b) {
  return a->process == b->process && strcmp(a->host, b->host) == 0 && !a->dead_ms == !b->dead_ms &&
         (a->dead_ms ? strcmp(a->reason, b->reason) == 0 : a->reported == b->reported && !a->quiet == !b->quiet);
}

// Is there another from the same NIC to the same process?
static bool others_live(const struct rw_path *p) {
  for (const struct rw_path *o = paths; o < paths + PATHS; o++)
    if (o->live > 0 && !o->dead_ms && o->device == p->device && o->process == p->process &&
        strcmp(o->host, p->host) == 0)
      return true;
  return false;
}

static void say(struct rw_path *first, int64_t now_ms) {
  char list[400] = "", more[32] = "";
  size_t used = 0;
  int n = 0;
  bool dead = first->dead_ms != 0, loud = dead || first->reported;
  int64_t longest = 0;
  for (struct rw_path *p = first; p < paths + PATHS; p++) {
    if (p != first && (!to_say(p, now_ms) || !together(first, p))) continue;
    if (!dead && p->was_dead_ms > longest) longest = p->was_dead_ms;
    size_t length = strlen(p->text);
    if (used + length + 3 < sizeof(list))
      used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", n ? ", " : "", p->text);
    else snprintf(more, sizeof(more), ", and more");
    n++;
    if (p == first) continue;
    p->back_ms = 0;
    p->reported = dead;
    if (!dead) p->quiet = false;
  }
  first->back_ms = 0;
  first->reported = dead;
  if (!dead) first->quiet = false;
  char then[160] = "The other paths carry the data";
  if (!others_live(first))
    snprintf(then, sizeof(then),
             "No path from that NIC is left: what has no other NIC waits for up to %.1f s (RAILWEAVE_NET_ALL_DEAD_MS)",
             (double)rw_params.all_dead_ms / 1e3);
  if (dead)
    rw_warn("%d path%s to %s %s dead: %s%s: %s. %s. Look at railweave host rdma-ping, and at the leaves' routes", n,
            n == 1 ? "" : "s", first->peer, n == 1 ? "is" : "are", list, more, first->reason, then);
  else
    rw_log(loud ? NCCL_LOG_WARN : NCCL_LOG_INFO, __FILE__, __LINE__,
           "%d path%s to %s %s back: %s down for %lld ms: %s%s", n, n == 1 ? "" : "s", first->peer,
           n == 1 ? "is" : "are", n == 1 ? "was" : "were", (long long)longest, list, more);
}

// Of queue pairs that ECMP spreads, those on one switch or cable die, and go on by others.
static void say_lost(struct rw_path *p) {
  int lost = p->lost;
  p->lost = 0;
  if (p->dead_ms || p->back_ms) return;  // all: that is said of the path
  rw_warn(
      "%d queue pair%s to %s from %s died or were slow on the way, and %s another flow label now; %d live. Some switch "
      "or cable that "
      "ECMP takes loses packets: look at railweave host rdma-ping --labels",
      lost, lost == 1 ? "" : "s", p->peer, p->device->name, lost == 1 ? "takes" : "each take", p->live);
}

void rw_paths_report(int64_t now_ms) {
  pthread_mutex_lock(&lock);
  if (something_to_say) {
    something_to_say = false;
    for (struct rw_path *p = paths; p < paths + PATHS; p++) {
      int what = to_say(p, now_ms);
      if (p->lost && now_ms - p->lost_ms >= REPORT_AFTER_MS) say_lost(p);
      something_to_say |= p->lost > 0;
      if (what == 1) say(p, now_ms);
      something_to_say |= what == 2;
    }
  }
  pthread_mutex_unlock(&lock);
}

void rw_paths_gone(uint64_t process) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < PATHS; i++)
    if (paths[i].used && paths[i].process == process) paths[i].reported = paths[i].dead_ms != 0;
  pthread_mutex_unlock(&lock);
}

void rw_paths_forget(void) {
  pthread_mutex_init(&lock, NULL);
  memset(paths, 0, sizeof(paths));
  something_to_say = false;
}
