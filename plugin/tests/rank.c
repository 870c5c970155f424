// One rank: sends to the next, receives from the one before, checks every byte.
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "net_api.h"
#include "traffic.h"

static struct board *the_board;
static int the_rank;
static bool verbose;

static void log_line(ncclDebugLogLevel level, unsigned long flags, const char *file, int line, const char *format,
                     ...) {
  char text[1200];
  va_list args;
  (void)flags, (void)file, (void)line;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  if (verbose) fprintf(stderr, "[%d %.3f] %s\n", the_rank, (double)(fake_now_ns() % 1000000000000u) / 1e9, text);
  if (strstr(text, " is dead: ")) atomic_fetch_add(&the_board->deaths, 1);
  if (strstr(text, " is back: ")) atomic_fetch_add(&the_board->recoveries, 1);
  if (level != NCCL_LOG_WARN) return;
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // the plugin's threads log as well
  pthread_mutex_lock(&lock);
  char *board = the_board->text[the_rank];
  size_t used = strlen(board);
  snprintf(board + used, BOARD_TEXT - used, "%s\n", text);
  pthread_mutex_unlock(&lock);
}

static int profiled, unfinished;

// Every event that starts must stop, pieces that are sent again included.
static ncclResult_t profile(void **event, int type, void *phandle, int64_t plugin_id, void *data) {
  if (type == NCCL_PROFILER_EVENT_START) {
    const ncclProfilerNetIbDescr_v1_t *d = data;
    if (phandle != &profiled || plugin_id != NCCL_PROFILER_NET_IB_V1 || d->type != NCCL_PROFILE_QP || d->qp.qpNum <= 0)
      abort();
    *event = &unfinished;
    profiled++;
    unfinished++;
  } else {
    if (type != NCCL_PROFILER_EVENT_STOP || *event != &unfinished) abort();
    unfinished--;
  }
  return ncclSuccess;
}

static void end(enum outcome outcome) {
  atomic_fetch_add(&the_board->moves, 1);
  atomic_store(&the_board->ended_ns[the_rank], fake_now_ns());
  atomic_store(&the_board->results[the_rank], outcome);
}

__attribute__((noreturn, format(printf, 2, 3))) static void stop(enum outcome outcome, const char *format, ...) {
  va_list args;
  va_start(args, format);
  fprintf(stderr, "rank %d: ", the_rank);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  end(outcome);
  _exit(outcome);
}

struct transfer {
  struct group group;
  void *requests[GROUP];  // of a send; a receive has one
  int left;
  bool flushing;
};

struct rank {
  const struct plan *plan;
  struct net net;
  int dev;
  void *send_comm, *recv_comm;
  uint8_t *out, *in;
  size_t stride;
  void *out_mr, *in_mr;
  struct transfer sends[32], recvs[32];
  int sent, next_message, send_done, posted, recv_done;  // groups
  _Atomic uint64_t stop_ns;
};

static bool failed(ncclResult_t result) {
  if (result == ncclSuccess) return false;
  if (result == ncclRemoteError || result == ncclSystemError) return true;
  stop(BROKEN, "the plugin returned %d: %s", result, the_board->text[the_rank]);
}

static uint8_t *buffer(const struct rank *r, uint8_t *base, int group, int i) {
  return base + ((size_t)(group % r->plan->window) * GROUP + (size_t)i) * r->stride;
}

static bool wants_group(const struct rank *r, int number) {
  if (!r->plan->seconds) return number < r->plan->groups;
  return fake_now_ns() < r->stop_ns;
}

// Each returns 1 where something moved, 0 where not, -1 where the plugin reported an error.
static int try_send(struct rank *r) {
  const struct plan *p = r->plan;
  if (r->next_message == 0 && (r->sent - r->send_done >= p->window || !wants_group(r, r->sent))) return 0;
  struct transfer *t = &r->sends[r->sent % p->window];
  if (r->next_message == 0) {
    t->group = group_of(p, the_rank, r->sent);
    t->left = t->group.n;
    for (int i = 0; i < t->group.n && (!p->seconds || r->sent < p->window); i++)
      fill(buffer(r, r->out, r->sent, i), t->group.sizes[i], key_of(p, the_rank, r->sent, i));
  }
  int i = t->group.order[r->next_message];
  void *request = NULL;
  if (failed(r->net.isend(&r->net, r->send_comm, buffer(r, r->out, r->sent, i), t->group.sizes[i], t->group.tags[i],
                          r->out_mr, &profiled, &request)))
    return -1;
  if (!request) return 0;
  t->requests[i] = request;
  if (++r->next_message == t->group.n) {
    r->next_message = 0;
    r->sent++;
  }
  return 1;
}

static int try_receive(struct rank *r) {
  const struct plan *p = r->plan;
  int edge = (the_rank + p->ranks - 1) % p->ranks;
  if (r->posted - r->recv_done >= p->window || (!p->seconds && r->posted >= p->groups)) return 0;
  struct transfer *t = &r->recvs[r->posted % p->window];
  t->group = group_of(p, edge, r->posted);
  void *data[GROUP], *mrs[GROUP], *request = p->seed % 2 ? (void *)NCCL_NET_OPTIONAL_RECV_COMPLETION : NULL;
  for (int i = 0; i < t->group.n; i++) {
    data[i] = buffer(r, r->in, r->posted, i);
    mrs[i] = r->in_mr;
    if (!p->seconds) memset(data[i], 0xcc, t->group.room[i] + GUARD);
  }
  if (failed(r->net.irecv(&r->net, r->recv_comm, t->group.n, data, t->group.room, t->group.tags, mrs, &request)))
    return -1;
  if (!request) return 0;
  t->requests[0] = request;
  t->flushing = false;
  r->posted++;
  return 1;
}

static int finish_sends(struct rank *r) {
  int moved = 0;
  for (int g = r->send_done; g < r->sent + (r->next_message > 0); g++) {
    struct transfer *t = &r->sends[g % r->plan->window];
    for (int i = 0; i < t->group.n; i++) {
      int done = 0, size = -1;
      if (!t->requests[i]) continue;
      if (failed(r->net.test(t->requests[i], &done, &size))) return -1;
      if (!done) continue;
      if ((size_t)size != t->group.sizes[i]) stop(DATA_WRONG, "a send of %zu bytes says %d", t->group.sizes[i], size);
      t->requests[i] = NULL;
      t->left--;
      moved = 1;
    }
  }
  while (r->send_done < r->sent && r->sends[r->send_done % r->plan->window].left == 0) r->send_done++;
  return moved;
}

static void check(struct rank *r, const struct transfer *t, const int *sizes) {
  const struct plan *p = r->plan;
  int edge = (the_rank + p->ranks - 1) % p->ranks, g = (int)(r->recv_done);
  for (int i = 0; i < t->group.n; i++) {
    const uint8_t *at = buffer(r, r->in, g, i);
    if ((size_t)sizes[i] != t->group.sizes[i])
      stop(DATA_WRONG, "group %d message %d: %d bytes, sent %zu", g, i, sizes[i], t->group.sizes[i]);
    atomic_fetch_add(&the_board->bytes[the_rank], (uint64_t)sizes[i]);
    if (p->seconds) continue;
    if (!right(at, t->group.sizes[i], key_of(p, edge, g, i)))
      stop(DATA_WRONG, "group %d message %d of %zu bytes is wrong", g, i, t->group.sizes[i]);
    for (size_t k = t->group.sizes[i]; k < t->group.room[i] + GUARD; k++)
      if (at[k] != 0xcc) stop(DATA_WRONG, "group %d message %d: byte %zu behind its end was written", g, i, k);
  }
}

// Receives complete in the order in which they were posted, as NCCL looks at them.
static int finish_receives(struct rank *r) {
  const struct plan *p = r->plan;
  int moved = 0;
  while (r->recv_done < r->posted) {
    struct transfer *t = &r->recvs[r->recv_done % p->window];
    int done = 0, sizes[GROUP];
    if (failed(r->net.test(t->requests[0], &done, sizes))) return -1;
    if (!done) return moved;
    moved = 1;
    if (!t->flushing) {
      void *data[GROUP], *mrs[GROUP];
      for (int i = 0; i < t->group.n; i++) data[i] = buffer(r, r->in, r->recv_done, i), mrs[i] = r->in_mr;
      check(r, t, sizes);
      t->requests[0] = NULL;
      if (!p->seconds && random_of(p->seed, 5, (uint64_t)r->recv_done) % 4 == 0 &&
          failed(r->net.iflush(r->recv_comm, t->group.n, data, sizes, mrs, &t->requests[0])))
        return -1;
      t->flushing = true;
      if (t->requests[0]) continue;
    }
    r->recv_done++;
  }
  return moved;
}

static int connect_ring(struct rank *r) {
  void *listening = NULL;
  int next = (the_rank + 1) % r->plan->ranks;
  unsigned char handle[NCCL_NET_HANDLE_MAXSIZE];
  if (failed(r->net.listen(&r->net, r->dev, the_board->handles[the_rank], &listening))) return -1;
  atomic_fetch_add(&the_board->listening, 1);
  while (atomic_load(&the_board->listening) < r->plan->ranks) sched_yield();
  memcpy(handle, the_board->handles[next], sizeof(handle));
  while (!r->send_comm || !r->recv_comm) {
    if (!r->send_comm && failed(r->net.connect(&r->net, r->dev, handle, &r->send_comm))) return -1;
    if (!r->recv_comm && failed(r->net.accept(&r->net, listening, &r->recv_comm))) return -1;
    sched_yield();
  }
  if (failed(r->net.closeListen(listening))) return -1;
  atomic_fetch_add(&the_board->connected, 1);
  atomic_fetch_add(&the_board->moves, 1);
  return 0;
}

static uint8_t *memory(struct rank *r, void *comm, size_t size, void **mr) {
  bool dmabuf = r->plan->dmabuf;
  int fd = dmabuf ? memfd_create("dmabuf", MFD_CLOEXEC) : -1;
  if (dmabuf && ftruncate(fd, (off_t)size)) stop(BROKEN, "no memory");
  void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, dmabuf ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
  if (at == MAP_FAILED) stop(BROKEN, "no memory");
  ncclResult_t result = dmabuf ? r->net.regMrDmaBuf(comm, at, size, NCCL_PTR_CUDA, 0, fd, mr)
                               : r->net.reg(&r->net, comm, at, size, NCCL_PTR_HOST, mr);
  if (result != ncclSuccess) stop(BROKEN, "memory is not registered");
  if (dmabuf) close(fd);
  return at;
}

static int transfer(struct rank *r) {
  const struct plan *p = r->plan;
  struct timespec pause = {.tv_nsec = 20000};
  for (int idle = 0; p->seconds ? fake_now_ns() < r->stop_ns : r->send_done < p->groups || r->recv_done < p->groups;) {
    int moved = 0, n;
    int (*const steps[])(struct rank *) = {try_receive, try_send, finish_sends, finish_receives};
    for (int i = 0; i < 4; i++) {
      // Of a measurement: the other rank may have closed a moment before.
      if ((n = steps[i](r)) < 0) return p->seconds && fake_now_ns() + 200000000 > r->stop_ns ? 0 : -1;
      moved |= n;
    }
    if (moved) atomic_fetch_add(&the_board->moves, 1);
    idle = moved ? 0 : idle + 1;
    if (idle > 20) nanosleep(&pause, NULL);
  }
  return 0;
}

static void start(struct rank *r) {
  int n = 0, members[FAKE_DEVICES];
  void *library = dlopen(r->plan->plugin, RTLD_NOW | RTLD_LOCAL);
  if (!library) stop(BROKEN, "%s", dlerror());
  if (!net_open(&r->net, library, r->plan->version)) stop(BROKEN, "no ncclNetPlugin_v%d", r->plan->version);
  if (r->net.init(&r->net, log_line, profile) != ncclSuccess) stop(BROKEN, "init fails");
  if (r->net.devices(&n) != ncclSuccess || n != r->plan->devices) stop(BROKEN, "%d devices", n);
  ncclNetProperties_v12_t p;
  if (r->net.properties(&r->net, 0, &p) != ncclSuccess || strcmp(p.name, "fake0") || p.speed != 400000 ||
      p.maxRecvs != 8)
    stop(BROKEN, "properties: %s %d", p.name, p.speed);
  for (int i = 0; i < n; i++) members[i] = i;
  if (r->plan->merge && r->net.make_vdevice(&r->net, &r->dev, members, n) != ncclSuccess)
    stop(BROKEN, "no virtual device");
}

static struct rank r;

// Asked by the parent before it ends a run that hangs.
static void tell_state(int signal) {
  char text[256];
  (void)signal;
  int n = snprintf(text, sizeof(text), "rank %d: comms %p %p, sent %d+%d, done %d; posted %d, done %d%s\n", the_rank,
                   r.send_comm, r.recv_comm, r.sent, r.next_message, r.send_done, r.posted, r.recv_done,
                   r.recv_done < r.posted && r.recvs[r.recv_done % r.plan->window].flushing ? " (flushing)" : "");
  if (write(STDERR_FILENO, text, (size_t)n) < 0) _exit(BROKEN);
}

// Of a measurement: its time is over.
static void end_now(int signal) {
  (void)signal;
  r.stop_ns = fake_now_ns();
}

void rank_run(const struct plan *p, int rank, struct board *board) {
  the_board = board;
  the_rank = rank;
  verbose = p->verbose;
  r.plan = p;
  signal(SIGUSR2, tell_state);
  if (p->seconds) signal(SIGTERM, end_now);
  start(&r);
  r.stride = (p->largest + 2 * GUARD + 127) / 128 * 128;
  size_t size = r.stride * GROUP * (size_t)p->window;
  int result = connect_ring(&r);
  if (result == 0) {
    r.out = memory(&r, r.send_comm, size, &r.out_mr);
    r.in = memory(&r, r.recv_comm, size, &r.in_mr);
    r.stop_ns = fake_now_ns() + (uint64_t)p->seconds * 1000000000u;
    result = transfer(&r);
  }
  if (r.out_mr) r.net.deregMr(r.send_comm, r.out_mr);
  if (r.in_mr) r.net.deregMr(r.recv_comm, r.in_mr);
  if (r.recv_comm && p->seed % 2 == 0) r.net.closeRecv(r.recv_comm);
  if (r.send_comm) r.net.closeSend(r.send_comm);
  if (r.recv_comm && p->seed % 2) r.net.closeRecv(r.recv_comm);
  if (result == 0 && !p->seconds &&
      (unfinished || (p->version >= 10 && profiled == 0 && strstr(p->plugin, "railweave"))))
    stop(BROKEN, "the profiler saw %d events, %d of them without end", profiled, unfinished);
  if (r.net.finalize(&r.net) != ncclSuccess) stop(BROKEN, "finalize fails");
  end(result ? ERROR_REPORTED : WORKED);
}
