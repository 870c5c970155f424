// railweave-rdma-ping: one queue pair per path between the NICs of two hosts; a small RDMA write on each, again and
// again. It connects, finds dead paths and tries them anew exactly as the plugin does, since it is the plugin's code.
#include <getopt.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "clock.h"
#include "connect.h"
#include "params.h"
#include "process.h"
#include "progress.h"
#include "qp.h"
#include "recovery.h"
#include "verbs.h"

enum { MAX_CLIENTS = 64 };

struct path_count {
  uint64_t sent, back, skipped;
  bool waiting;
  uint32_t epoch;
};

static volatile sig_atomic_t stop;
static void on_signal(int number) { stop = number; }

static void help(FILE *to) {
  fputs(
      "usage: railweave-rdma-ping --server [--port N] [--device LIST]\n"
      "       railweave-rdma-ping HOST [--port N] [--device LIST] [--count N] [--interval MS] [--timeout MS] [--json]\n"
      "       railweave-rdma-ping HOST --latency|--bandwidth [--sizes LIST] [--count N] [--csv|--json]\n"
      "\n"
      "Writes 8 bytes by RDMA over every path (source address, destination address) between the NICs of this host and\n"
      "HOST, where the server runs: lost writes, round trip times, and which path is dead. NICs are paired in PCI "
      "order.\n"
      "\n"
      "  -s, --server         wait for others\n"
      "  -p, --port N         TCP port of the server (18590)\n"
      "  -d, --device LIST    these RDMA devices only, as in NCCL_IB_HCA: mlx5_0,=mlx5_3\n"
      "  -c, --count N        writes per path (100)\n"
      "  -i, --interval MS    between two writes on a path (10)\n"
      "  -t, --timeout MS     after which a write counts as lost (200)\n"
      "  -n, --labels N       N queue pairs by each pair of addresses, with flow labels of their own: those that ECMP "
      "puts onto\n"
      "                       one path have much the same round trip (group). With --bandwidth they carry their load "
      "one after\n"
      "                       the other: the switch ports whose counters rise are on that label's path\n"
      "  -j, --json           for machines\n"
      "  -l, --latency        round trip times of one write after the other, by path and size\n"
      "  -b, --bandwidth      what 32 writes at a time carry, by path and size\n"
      "  -z, --sizes LIST     bytes of those writes, as 8,4096,1048576; 8388608 at most\n"
      "  -C, --csv            for spreadsheets\n"
      "\n"
      "NCCL_IB_* and RAILWEAVE_NET_* variables hold here too (man railweave-net).\n"
      "exit codes: 0 every path answers every write, 1 some do not, 2 bad use or no connection\n",
      to);
}

static void pause_ms(long ms) {
  nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static int all_devices(void) {
  int members[RW_MAX_MERGED], n = rw_device_count() < RW_MAX_MERGED ? rw_device_count() : RW_MAX_MERGED, index = 0;
  for (int i = 0; i < n; i++) members[i] = i;
  return rw_vdevice_make(&index, members, n) == ncclSuccess ? index : -1;
}

// Set-up goes over the interface by which the client came.
static void listen_where(int client) {
  static char chosen[IF_NAMESIZE + 2];
  union rw_address own;
  socklen_t size = sizeof(own);
  struct ifaddrs *list;
  memset(&own, 0, sizeof(own));
  if (getsockname(client, &own.any, &size) || getifaddrs(&list)) return;
  bool v6 = own.any.sa_family == AF_INET6, mapped = v6 && IN6_IS_ADDR_V4MAPPED(&own.v6.sin6_addr);
  for (const struct ifaddrs *i = list; i; i = i->ifa_next) {
    if (!i->ifa_addr) continue;
    const union rw_address *a = (const void *)i->ifa_addr;
    bool same = mapped ? a->any.sa_family == AF_INET && memcmp(&a->v4.sin_addr, own.v6.sin6_addr.s6_addr + 12, 4) == 0
                : v6   ? a->any.sa_family == AF_INET6 && memcmp(&a->v6.sin6_addr, &own.v6.sin6_addr, 16) == 0
                       : a->any.sa_family == AF_INET && a->v4.sin_addr.s_addr == own.v4.sin_addr.s_addr;
    if (!same) continue;
    snprintf(chosen, sizeof(chosen), "=%s", i->ifa_name);
    rw_params.socket_ifname = chosen;
    rw_params.socket_ifname_set = true;
    rw_params.socket_family = v6 && !mapped ? "AF_INET6" : "AF_INET";
    break;
  }
  freeifaddrs(list);
}

static struct rw_comm *welcome(int client, int device) {
  unsigned char handle[NCCL_NET_HANDLE_MAXSIZE];
  void *listening = NULL, *comm = NULL;
  listen_where(client);
  if (rw_listen_on(NULL, device, handle, &listening) != ncclSuccess) return NULL;
  if (send(client, handle, sizeof(handle), MSG_NOSIGNAL) == sizeof(handle))
    for (int waited = 0; !comm && waited < 10000 && rw_accept(listening, &comm) == ncclSuccess; waited++) pause_ms(1);
  if (comm) bench_offer(client, comm);
  rw_close_listening(listening);
  return comm;
}

static int serve(int port, int device) {
  struct rw_comm *clients[MAX_CLIENTS] = {NULL};
  struct sockaddr_in6 any = {
      .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = IN6ADDR_ANY_INIT};
  int one = 1, zero = 0, fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
  if (bind(fd, (struct sockaddr *)&any, sizeof(any)) || listen(fd, 16)) {
    perror("railweave-rdma-ping: cannot listen");
    return 2;
  }
  printf("waiting on port %d\n", port);
  fflush(stdout);
  while (!stop) {
    int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    for (int i = 0; client >= 0 && i < MAX_CLIENTS; i++) {
      if (clients[i]) continue;
      clients[i] = welcome(client, device);
      break;
    }
    if (client >= 0) close(client);
    else pause_ms(20);
    for (int i = 0; i < MAX_CLIENTS; i++) {
      if (!clients[i] || !rw_comm_enter(clients[i])) continue;
      bool gone = clients[i]->peer.gone || clients[i]->line.link->closed || clients[i]->line.link->failed;
      rw_comm_leave(clients[i]);
      if (!gone) continue;
      rw_comm_close(clients[i]);
      clients[i] = NULL;
    }
  }
  for (int i = 0; i < MAX_CLIENTS; i++) rw_comm_close(clients[i]);
  bench_forget(rw_vdevice(device));
  close(fd);
  return 0;
}

// Gives the socket, on which more may come; -1 where nothing does.
static int fetch_handle(const char *host, int port, unsigned char *handle) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
  char service[16];
  size_t got = 0;
  snprintf(service, sizeof(service), "%d", port);
  int error = getaddrinfo(host, service, &hints, &list);
  if (error) {
    fprintf(stderr, "railweave-rdma-ping: %s: %s\n", host, gai_strerror(error));
    return -1;
  }
  int fd = -1;
  for (const struct addrinfo *a = list; a && got < NCCL_NET_HANDLE_MAXSIZE; a = a->ai_next) {
    if (fd >= 0) close(fd);
    fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0)
      for (ssize_t n;
           got < NCCL_NET_HANDLE_MAXSIZE && (n = recv(fd, handle + got, NCCL_NET_HANDLE_MAXSIZE - got, 0)) > 0;)
        got += (size_t)n;
  }
  freeaddrinfo(list);
  if (got == NCCL_NET_HANDLE_MAXSIZE) return fd;
  if (fd >= 0) close(fd);
  fprintf(stderr, "railweave-rdma-ping: nothing answers on %s port %d: start railweave-rdma-ping --server there\n",
          host, port);
  return -1;
}

static void ping_all(struct rw_comm *c, struct path_count *counts) {
  c->now_ms = rw_now_ns() / 1000000;
  for (int i = 0; i < c->n_qps; i++) {
    struct rw_qp *q = &c->qps[i];
    struct path_count *p = &counts[i];
    if (p->waiting && q->sends_out && q->epoch == p->epoch && rw_state(q) == RW_QP_LIVE)
      continue;  // a late one: not yet lost
    p->waiting = false;
    p->sent++;
    if (rw_state(q) != RW_QP_LIVE) continue;
    q->pinged_ns = rw_now_ns();
    p->waiting = rw_probe(c, q, RW_WORK_PING);
    p->epoch = q->epoch;
  }
}

static uint64_t answered(const struct rw_qp *q) {
  uint64_t n = 0;
  for (int b = 0; b < RW_BUCKETS; b++) n += atomic_load_explicit(&q->counters.latency.counts[b], memory_order_relaxed);
  return n;
}

// Letters for what ECMP seems to put onto one path: round trips that differ by less than a tenth, from the shortest.
static void group(const struct rw_comm *c, char *groups) {
  double last = 0;
  char letter = 'A' - 1;
  for (int i = 0; i < c->n_qps; i++) groups[i] = '-';
  for (;;) {
    int next = -1;
    double least = 0;
    for (int i = 0; i < c->n_qps; i++) {
      double us = (double)rw_histogram_quantile(&c->qps[i].counters.latency, 0.5) / 1e3;
      if (c->qps[i].label < 0 || groups[i] != '-' || us <= 0 || (next >= 0 && us >= least)) continue;
      next = i;
      least = us;
    }
    if (next < 0) return;
    if (letter < 'A' || least > last * 1.1 + 0.5) letter = (char)(letter < 'Z' ? letter + 1 : 'Z');
    groups[next] = letter;
    last = least;
  }
}

static bool report(const struct rw_comm *c, const struct path_count *counts, bool json) {
  bool good = true;
  char groups[RW_MAX_QPS];
  group(c, groups);
  if (json) printf("[");
  else
    printf("%-14s %-14s %-8s %-41s %6s %6s %9s %9s %9s  %s\n", "device", "peer",
           c->n_qps && c->qps[0].label >= 0 ? "UDP port" : "color", "path", "sent", "lost", "p50 us", "p99 us",
           "max us", "state");
  for (int i = 0; i < c->n_qps; i++) {
    const struct rw_qp *q = &c->qps[i];
    uint64_t sent = counts[i].sent, back = answered(q), lost = sent > back ? sent - back : 0;
    char from[RW_GID_TEXT], to[RW_GID_TEXT], color[104];
    double us[3];
    const double quantiles[3] = {0.5, 0.99, 1};
    bool dead = rw_state(q) != RW_QP_LIVE || back == 0;
    for (int k = 0; k < 3; k++) us[k] = (double)rw_histogram_quantile(&q->counters.latency, quantiles[k]) / 1e3;
    good &= !dead && lost == 0;
    rw_gid_text(&q->local.gid, from);
    rw_gid_text(&q->remote.gid, to);
    if (q->label >= 0) snprintf(color, sizeof(color), "%c %u", groups[i], rw_udp_port(q->flow_label));
    else if (q->local.via[0]) snprintf(color, sizeof(color), "%s by %s", q->local.color_name, q->local.via);
    else if (q->local.color_name[0]) snprintf(color, sizeof(color), "%s", q->local.color_name);
    else snprintf(color, sizeof(color), "%d", q->color);
    const char *device = c->local.devices[q->device[0]].name, *peer = c->remote.devices[q->device[1]].name;
    if (json)
      printf(
          "%s\n {\"device\": \"%s\", \"peer_device\": \"%s\", \"color\": %d, \"color_name\": \"%s\", \"local\": "
          "\"%s\", \"remote\": \"%s\", "
          "\"flow_label\": %u, \"udp_port\": %u, \"group\": \"%c\", \"sent\": %llu, \"lost\": %llu, \"p50_us\": %.1f, "
          "\"p99_us\": %.1f, \"max_us\": %.1f, \"dead\": %s, "
          "\"reason\": \"%s\"}",
          i ? "," : "", device, peer, q->color, q->local.color_name, from, to, q->flow_label,
          q->flow_label ? rw_udp_port(q->flow_label) : 0, groups[i], (unsigned long long)sent, (unsigned long long)lost,
          us[0], us[1], us[2], dead ? "true" : "false", q->reason);
    else
      printf("%-14s %-14s %-8s %s -> %s %6llu %6llu %9.1f %9.1f %9.1f  %s%s%s\n", device, peer, color, from, to,
             (unsigned long long)sent, (unsigned long long)lost, us[0], us[1], us[2],
             dead   ? "DEAD"
             : lost ? "loses"
                    : "good",
             q->reason[0] ? ": " : "", q->reason);
  }
  if (json) printf("\n]\n");
  return good;
}

static int ping(struct rw_comm *c, int count, int interval, bool json) {
  struct path_count *counts = calloc((size_t)c->n_qps, sizeof(*counts));
  int64_t next = rw_now_ns(), left = count;
  while (!stop && left > 0) {
    rw_progress(c);
    if (rw_now_ns() < next) continue;
    ping_all(c, counts);
    next += interval * INT64_C(1000000);
    left--;
  }
  // Answers to the last round, and time for those that get none to say so.
  for (int64_t end = rw_now_ns() + (c->settings.reroute_ms + 50) * INT64_C(1000000); rw_now_ns() < end;) rw_progress(c);
  bool good = report(c, counts, json);
  free(counts);
  return good ? 0 : 1;
}

static int ask(const char *host, int port, int device, int count, int interval, const struct bench *b) {
  unsigned char handle[NCCL_NET_HANDLE_MAXSIZE];
  void *out = NULL;
  int fd = fetch_handle(host, port, handle), result = 2;
  if (fd < 0) return 2;
  for (int waited = 0; !out && waited < 10000 && rw_connect(NULL, device, handle, &out) == ncclSuccess; waited++)
    if (!out) pause_ms(1);
  if (out) {
    struct rw_comm *c = out;
    while (!rw_comm_enter(c)) pause_ms(1);
    result = b->kind ? bench_run(c, fd, b) : ping(c, count ? count : 100, interval, b->format == BENCH_JSON);
    rw_comm_leave(c);
    rw_comm_close(c);
    bench_forget(rw_vdevice(device));
  }
  close(fd);
  return result;
}

static void number_variable(const char *name, int value) {
  char text[16];
  snprintf(text, sizeof(text), "%d", value);
  setenv(name, text, 0);
}

int main(int n, char **words) {
  struct bench bench = {0};
  int port = 18590, count = -1, interval = 10, timeout = 200, labels = 0, option;
  bool server = false;
  static const struct option options[] = {{"server", 0, NULL, 's'},    {"port", 1, NULL, 'p'},
                                          {"device", 1, NULL, 'd'},    {"count", 1, NULL, 'c'},
                                          {"interval", 1, NULL, 'i'},  {"timeout", 1, NULL, 't'},
                                          {"labels", 1, NULL, 'n'},    {"json", 0, NULL, 'j'},
                                          {"help", 0, NULL, 'h'},      {"latency", 0, NULL, 'l'},
                                          {"bandwidth", 0, NULL, 'b'}, {"sizes", 1, NULL, 'z'},
                                          {"csv", 0, NULL, 'C'},       {0}};
  while ((option = getopt_long(n, words, "sp:d:c:i:t:n:jhlbz:C", options, NULL)) >= 0) {
    switch (option) {
      case 's': server = true; break;
      case 'p': port = atoi(optarg); break;
      case 'd': setenv("NCCL_IB_HCA", optarg, 1); break;
      case 'c': count = atoi(optarg); break;
      case 'i': interval = atoi(optarg); break;
      case 't': timeout = atoi(optarg); break;
      case 'n': labels = atoi(optarg); break;
      case 'j': bench.format = BENCH_JSON; break;
      case 'C': bench.format = BENCH_CSV; break;
      case 'l': bench.kind = BENCH_LATENCY; break;
      case 'b': bench.kind = BENCH_BANDWIDTH; break;
      case 'z': bench.sizes = optarg; break;
      case 'h': help(stdout); return 0;
      default: help(stderr); return 2;
    }
  }
  bool odd = !bench.kind && (bench.sizes || bench.format == BENCH_CSV);
  if (server ? optind != n
             : optind != n - 1 || odd || count == 0 || count < -1 || interval < 1 || timeout < 10 || labels < 0 ||
                   labels > 32) {
    help(stderr);
    return 2;
  }
  bench.count = count > 0 ? count : 0;
  // A write is lost when it is not acknowledged at once: no retries hide it. Dead paths are tried again soon.
  number_variable("RAILWEAVE_NET_REROUTE_MS", timeout);
  number_variable("NCCL_IB_RETRY_CNT", 0);
  number_variable("RAILWEAVE_NET_RECOVER_MS", 50);
  if (labels) number_variable("RAILWEAVE_NET_LABELS", labels);
  signal(SIGINT, on_signal);
  signal(SIGTERM, on_signal);
  signal(SIGPIPE, SIG_IGN);
  if (rw_process_open() != ncclSuccess) {
    fprintf(stderr, "railweave-rdma-ping: no usable RDMA device here: RAILWEAVE_NET_LOG=stderr says why\n");
    return 2;
  }
  int device = all_devices();
  int result = device < 0 ? 2
               : server   ? serve(port, device)
                          : ask(words[optind], port, device, bench.count, interval, &bench);
  rw_process_close();
  return result;
}
