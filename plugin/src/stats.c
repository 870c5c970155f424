#include "stats.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "comm.h"
#include "log.h"
#include "params.h"
#include "paths.h"

static const char folder[] = "/dev/shm", prefix[] = "railweave-net-";

struct sums {
  struct rw_stats_entry entry;
  uint64_t latency[RW_BUCKETS];
};
struct table {
  int n;
  struct sums sums[RW_STATS];
};
static struct table closed, all;
static struct rw_stats_peer peers[RW_STATS_PEERS];
static int n_peers;
static struct rw_stats_page own, *page = &own;
static char path[64];
static int lock_fd = -1;

// Pages of processes that were killed: nobody holds their lock any more.
static void remove_stale(void) {
  DIR *dir = opendir(folder);
  for (struct dirent *e; dir && (e = readdir(dir));) {
    if (strncmp(e->d_name, prefix, strlen(prefix))) continue;
    int fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(dirfd(dir), e->d_name, 0);
    close(fd);
  }
  if (dir) closedir(dir);
}

void rw_stats_open(void) {
  if (!rw_params.stats || lock_fd >= 0) return;
  remove_stale();
  snprintf(path, sizeof(path), "%s/%s%d", folder, prefix, getpid());
  lock_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  void *at = MAP_FAILED;
  if (lock_fd >= 0 && flock(lock_fd, LOCK_EX | LOCK_NB) == 0 && ftruncate(lock_fd, sizeof(*page)) == 0)
    at = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED, lock_fd, 0);
  if (at == MAP_FAILED) {
    rw_info("%s cannot be written: no live statistics of this process", path);
    rw_stats_close();
    return;
  }
  page = at;
}

void rw_stats_close(void) {
  if (page != &own) munmap(page, sizeof(*page));
  page = &own;
  if (lock_fd < 0) return;
  unlink(path);
  close(lock_fd);
  lock_fd = -1;
}

void rw_stats_forget(void) {
  if (lock_fd >= 0) close(lock_fd);  // the parent keeps the lock
  lock_fd = -1;
  page = &own;
}

static struct sums *find(struct table *t, const struct rw_comm *c, const struct rw_qp *q) {
  const struct rw_end_device *here = &c->local.devices[q->device[0]], *there = &c->remote.devices[q->device[1]];
  for (int i = 0; i < t->n; i++) {
    const struct rw_stats_entry *e = &t->sums[i].entry;
    if (e->sends == c->sends && e->color == q->color && strcmp(e->device, here->name) == 0 &&
        strcmp(e->peer_leaf, there->leaf) == 0)
      return &t->sums[i];
  }
  if (t->n == RW_STATS) return &t->sums[RW_STATS - 1];
  struct sums *s = &t->sums[t->n++];
  memset(s, 0, sizeof(*s));
  s->entry.sends = c->sends;
  s->entry.color = q->color;
  snprintf(s->entry.device, sizeof(s->entry.device), "%s", here->name);
  snprintf(s->entry.leaf, sizeof(s->entry.leaf), "%s", here->leaf);
  snprintf(s->entry.peer_leaf, sizeof(s->entry.peer_leaf), "%s", there->leaf);
  const char *name = q->local.color_name, *via = q->local.via;
  snprintf(s->entry.color_name, sizeof(s->entry.color_name), "%s%s%s", name, *via ? (*name ? " by " : "by ") : "", via);
  return s;
}

static void add(struct table *t, const struct rw_comm *c, bool open) {
  for (int i = 0; i < c->n_qps; i++) {
    const struct rw_qp *q = &c->qps[i];
    struct sums *s = find(t, c, q);
#define X(name, text) s->entry.name += atomic_load_explicit(&q->counters.name, memory_order_relaxed);
    RW_STATS_COUNTERS(X)
#undef X
    for (int b = 0; b < RW_BUCKETS; b++)
      s->latency[b] += atomic_load_explicit(&q->counters.latency.counts[b], memory_order_relaxed);
    if (!open) continue;
    bool live = rw_state(q) == RW_QP_LIVE, suspect = atomic_load_explicit(&q->suspect, memory_order_relaxed);
    s->entry.queue_pairs++;
    s->entry.live += live && !suspect;
    s->entry.suspect += live && suspect;
    s->entry.connections += i == 0;
  }
}

static const char *doing(int state) {
  switch (state) {
    case RW_QP_CLOSING: return "closes it at both ends";
    case RW_QP_CLOSED: return "waits to try it again";
    case RW_QP_OPENING: return "asks the other end for a new one";
    case RW_QP_PROBING: return "probes the path";
    default: return "";
  }
}

static void add_peer(const struct rw_comm *c) {
  struct rw_stats_peer *p = peers;
  while (p < peers + n_peers && (p->process != c->remote.process || strcmp(p->host, c->remote.host))) p++;
  if (p == peers + RW_STATS_PEERS) return;
  if (p == peers + n_peers) {
    n_peers++;
    memset(p, 0, sizeof(*p));
    snprintf(p->host, sizeof(p->host), "%s", c->remote.host);
    p->process = c->remote.process;
    p->pid = c->remote.pid;
    p->rank = c->remote.rank;
    p->local_rank = c->remote.local_rank;
  }
  p->connections++;
  for (int i = 0; i < c->n_qps; i++) {
    const struct rw_qp *q = &c->qps[i];
    int state = rw_state(q);
    bool suspect = atomic_load_explicit(&q->suspect, memory_order_relaxed);
    uint64_t died_ns = atomic_load_explicit(&q->died_ns, memory_order_relaxed);
    p->queue_pairs++;
    p->live += state == RW_QP_LIVE && !suspect;
    p->suspect += state == RW_QP_LIVE && suspect;
    p->deaths += atomic_load_explicit(&q->counters.deaths, memory_order_relaxed);
    if (died_ns > p->last_death_ns) {
      p->last_death_ns = died_ns;
      rw_path_reason(q->path, p->reason, sizeof(p->reason));
    }
    if (state != RW_QP_LIVE) snprintf(p->doing, sizeof(p->doing), "%s", doing(state));
    else if (suspect && !p->doing[0]) snprintf(p->doing, sizeof(p->doing), "waits for an answer");
  }
}

void rw_stats_closed(const struct rw_comm *c) { add(&closed, c, false); }

const struct rw_stats_page *rw_stats_update(const struct rw_comm *comms) {
  struct timespec t;
  all.n = closed.n;
  memcpy(all.sums, closed.sums, (size_t)closed.n * sizeof(closed.sums[0]));
  n_peers = 0;
  for (const struct rw_comm *c = comms; c; c = c->next) {
    add(&all, c, true);
    add_peer(c);
  }
  uint64_t sequence = atomic_load_explicit(&page->sequence, memory_order_relaxed) | 1;
  atomic_store_explicit(&page->sequence, sequence, memory_order_relaxed);
  atomic_thread_fence(memory_order_release);
  memcpy(page->magic, "RWSTATS", sizeof(page->magic));
  page->version = RW_STATS_VERSION;
  page->entry_bytes = sizeof(struct rw_stats_entry);
  page->pid = (uint32_t)getpid();
  gethostname(page->host, sizeof(page->host) - 1);
  clock_gettime(CLOCK_REALTIME, &t);
  page->written_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
  for (int i = 0; i < all.n; i++) {
    struct rw_stats_entry *e = &all.sums[i].entry;
    e->p50_ns = rw_histogram_of(all.sums[i].latency, 0.5);
    e->p90_ns = rw_histogram_of(all.sums[i].latency, 0.9);
    e->p99_ns = rw_histogram_of(all.sums[i].latency, 0.99);
    e->max_ns = rw_histogram_of(all.sums[i].latency, 1);
    page->entries[i] = *e;
  }
  page->n = (uint32_t)all.n;
  page->n_peers = (uint32_t)n_peers;
  page->peer_bytes = sizeof(struct rw_stats_peer);
  memcpy(page->peers, peers, (size_t)n_peers * sizeof(peers[0]));
  atomic_store_explicit(&page->sequence, sequence + 1, memory_order_release);
  return page;
}
