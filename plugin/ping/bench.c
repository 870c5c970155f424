#include "bench.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "clock.h"
#include "gid.h"
#include "progress.h"
#include "qp.h"
#include "verbs.h"

enum { LARGEST = 8 << 20, WINDOW = 32, MOST_SIZES = 32, LATENCY_COUNT = 1000, BANDWIDTH_COUNT = 256 };

// Little-endian on the wire.
struct offer {
  uint64_t address;
  uint32_t size, devices;
  uint32_t rkeys[RW_MAX_MERGED];
};

static void *memory;
static struct rw_mr *registered;

static bool registers(const struct rw_vdevice *v) {
  if (registered) return true;
  if (!memory && posix_memalign(&memory, 4096, LARGEST)) memory = NULL;
  if (!memory) return false;
  memset(memory, 0, LARGEST);
  return rw_mr_register(v, memory, LARGEST, NCCL_PTR_HOST, 0, -1, &registered) == ncclSuccess;
}

void bench_forget(const struct rw_vdevice *v) {
  if (registered && v) rw_mr_deregister(v, registered);
  registered = NULL;
  free(memory);
  memory = NULL;
}

void bench_offer(int fd, const struct rw_comm *c) {
  struct offer o = {0};
  if (registers(&c->v)) {
    o.address = htole64((uintptr_t)memory);
    o.size = htole32(LARGEST);
    o.devices = htole32((uint32_t)registered->n);
    for (int i = 0; i < registered->n; i++) o.rkeys[i] = htole32(registered->mrs[i]->rkey);
  }
  (void)!send(fd, &o, sizeof(o), MSG_NOSIGNAL);  // who only pings has hung up
}

static bool take_offer(int fd, struct offer *o) {
  size_t got = 0;
  for (ssize_t n; got < sizeof(*o) && (n = recv(fd, (char *)o + got, sizeof(*o) - got, 0)) > 0;) got += (size_t)n;
  if (got < sizeof(*o)) {
    fprintf(stderr, "railweave-rdma-ping: the other end offers no memory to write to: it is an older version\n");
    return false;
  }
  o->address = le64toh(o->address);
  o->size = le32toh(o->size);
  o->devices = le32toh(o->devices);
  for (int i = 0; i < RW_MAX_MERGED; i++) o->rkeys[i] = le32toh(o->rkeys[i]);
  if (o->size && o->devices && o->devices <= RW_MAX_MERGED) return true;
  fprintf(stderr, "railweave-rdma-ping: the other end cannot register %d bytes: ulimit -l there\n", LARGEST);
  return false;
}

static bool post(struct rw_comm *c, struct rw_qp *q, const struct offer *o, uint32_t size) {
  struct ibv_sge sge = {.addr = (uintptr_t)memory, .length = size, .lkey = registered->mrs[q->device[0]]->lkey};
  struct ibv_send_wr wr = {
      .wr_id = rw_work_id(RW_WORK_PING, (unsigned)(q - c->qps), q->epoch),
      .sg_list = &sge,
      .num_sge = 1,
      .opcode = IBV_WR_RDMA_WRITE,
      .send_flags = IBV_SEND_SIGNALED,
      .wr.rdma = {.remote_addr = o->address, .rkey = o->rkeys[q->device[1]]},
  };
  c->now_ms = rw_now_ns() / 1000000;
  if (q->sends_out == 0) q->progress_ms = c->now_ms;
  q->pinged_ns = rw_now_ns();
  if (rw_post_send(q->qp, &wr)) return false;
  q->sends_out++;
  return true;
}

static bool live(const struct rw_qp *q, uint32_t epoch) { return rw_state(q) == RW_QP_LIVE && q->epoch == epoch; }

// Until all of a path's writes are acknowledged but so many; false where it dies meanwhile.
static bool drained(struct rw_comm *c, struct rw_qp *q, uint32_t epoch, int left) {
  while (live(q, epoch) && q->sends_out > left) rw_progress(c);
  return live(q, epoch);
}

static int ascending(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

struct measured {
  bool good;
  double gbit_s, us[4];  // least, median, 99 %, most
};

static struct measured latency(struct rw_comm *c, struct rw_qp *q, const struct offer *o, uint32_t size, int count) {
  struct measured m = {.good = true};
  uint32_t epoch = q->epoch;
  int64_t *took = calloc((size_t)count, sizeof(*took));
  m.good = took && drained(c, q, epoch, 0);
  for (int i = 0; m.good && i < count; i++) {
    int64_t begun = rw_now_ns();
    m.good = post(c, q, o, size) && drained(c, q, epoch, 0);
    took[i] = rw_now_ns() - begun;
  }
  if (m.good) {
    const int at[4] = {0, count / 2, (int)((int64_t)count * 99 / 100), count - 1};
    qsort(took, (size_t)count, sizeof(*took), ascending);
    for (int k = 0; k < 4; k++) m.us[k] = (double)took[at[k]] / 1e3;
  }
  free(took);
  return m;
}

static struct measured bandwidth(struct rw_comm *c, struct rw_qp *q, const struct offer *o, uint32_t size, int count) {
  struct measured m = {.good = true};
  uint32_t epoch = q->epoch;
  m.good = drained(c, q, epoch, 0);
  int64_t begun = rw_now_ns();
  for (int i = 0; m.good && i < count; i++) m.good = drained(c, q, epoch, WINDOW - 1) && post(c, q, o, size);
  m.good = m.good && drained(c, q, epoch, 0);
  int64_t took = rw_now_ns() - begun;
  if (m.good) m.gbit_s = (double)size * count * 8 / (double)(took > 0 ? took : 1);
  return m;
}

static int sizes_of(const struct bench *b, uint32_t *sizes) {
  const char *usual = b->kind == BENCH_LATENCY ? "8,64,512,4096,32768" : "4096,32768,262144,1048576,8388608";
  int n = 0;
  for (const char *at = b->sizes ? b->sizes : usual; n < MOST_SIZES; at++) {
    char *end;
    errno = 0;
    unsigned long size = *at >= '0' && *at <= '9' ? strtoul(at, &end, 10) : 0;
    if (size < 1 || size > LARGEST || errno || (*end && *end != ',')) return 0;
    sizes[n++] = (uint32_t)size;
    if (!*end) return n;
    at = end;
  }
  return 0;
}

static void row(const struct rw_comm *c, const struct rw_qp *q, const struct bench *b, uint32_t size, int count,
                const struct measured *m, bool first) {
  char from[RW_GID_TEXT], to[RW_GID_TEXT];
  const char *device = c->local.devices[q->device[0]].name, *peer = c->remote.devices[q->device[1]].name;
  char port[16] = "";
  if (q->label >= 0) snprintf(port, sizeof(port), "%u", rw_udp_port(q->flow_label));
  const char *name = q->label >= 0 ? port : q->local.color_name, *reason = m->good        ? ""
                                                                           : q->reason[0] ? q->reason
                                                                                          : "the path is dead";
  rw_gid_text(&q->local.gid, from);
  rw_gid_text(&q->remote.gid, to);
  if (b->format == BENCH_JSON) {
    printf(
        "%s\n {\"device\": \"%s\", \"peer_device\": \"%s\", \"color\": %d, \"color_name\": \"%s\", \"local\": \"%s\", "
        "\"remote\": \"%s\", \"flow_label\": %u, \"bytes\": %u, \"count\": %d, ",
        first ? "" : ",", device, peer, q->color, name, from, to, q->flow_label, size, count);
    if (b->kind == BENCH_LATENCY)
      printf("\"min_us\": %.2f, \"p50_us\": %.2f, \"p99_us\": %.2f, \"max_us\": %.2f, ", m->us[0], m->us[1], m->us[2],
             m->us[3]);
    else printf("\"gbit_s\": %.3f, ", m->gbit_s);
    printf("\"dead\": %s, \"reason\": \"%s\"}", m->good ? "false" : "true", reason);
    return;
  }
  const char *form = b->format == BENCH_CSV ? "%s,%s,%d,%s,%s,%s,%u,%d," : "%-10s %-10s %3d %-8s %s -> %s %8u %6d ";
  printf(form, device, peer, q->color, name, from, to, size, count);
  if (b->kind == BENCH_LATENCY)
    printf(b->format == BENCH_CSV ? "%.2f,%.2f,%.2f,%.2f," : "%9.2f %9.2f %9.2f %9.2f ", m->us[0], m->us[1], m->us[2],
           m->us[3]);
  else printf(b->format == BENCH_CSV ? "%.3f," : "%9.3f ", m->gbit_s);
  printf(b->format == BENCH_CSV ? "%s,\"%s\"\n" : "%s %s\n", m->good ? "good" : "dead", reason);
}

static void heading(const struct bench *b) {
  if (b->format == BENCH_JSON) printf("[");
  if (b->format == BENCH_CSV)
    printf("device,peer_device,color,color_name,local,remote,bytes,count,%s,state,reason\n",
           b->kind == BENCH_LATENCY ? "min_us,p50_us,p99_us,max_us" : "gbit_s");
  if (b->format == BENCH_TABLE)
    printf("device, peer, color, path, bytes, count, %s, state\n",
           b->kind == BENCH_LATENCY ? "us: min, p50, p99, max" : "Gbit/s");
}

int bench_run(struct rw_comm *c, int fd, const struct bench *b) {
  struct offer o;
  uint32_t sizes[MOST_SIZES];
  int n = sizes_of(b, sizes), count = b->count ? b->count : b->kind == BENCH_LATENCY ? LATENCY_COUNT : BANDWIDTH_COUNT;
  bool good = true, first = true;
  if (n == 0) {
    fprintf(stderr, "railweave-rdma-ping: --sizes %s: wanted are up to %d numbers from 1 to %d, with commas between\n",
            b->sizes, MOST_SIZES, LARGEST);
    return 2;
  }
  if (!take_offer(fd, &o)) return 2;
  if (!registers(&c->v)) {
    fprintf(stderr, "railweave-rdma-ping: %d bytes cannot be registered: ulimit -l\n", LARGEST);
    return 2;
  }
  heading(b);
  for (int i = 0; i < c->n_qps; i++)
    for (int k = 0; k < n; k++) {
      struct rw_qp *q = &c->qps[i];
      struct measured m = {.good = false};
      if (q->device[1] < o.devices)
        m = b->kind == BENCH_LATENCY ? latency(c, q, &o, sizes[k], count) : bandwidth(c, q, &o, sizes[k], count);
      row(c, q, b, sizes[k], count, &m, first);
      good &= m.good;
      first = false;
    }
  if (b->format == BENCH_JSON) printf("\n]\n");
  return good ? 0 : 1;
}
