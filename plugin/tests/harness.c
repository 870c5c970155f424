#include "harness.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ERROR_WITHIN_MS = 5000 };

static void set(const char *name, const char *format, long value) {
  char text[64];
  snprintf(text, sizeof(text), format, value);
  setenv(name, text, 1);
}

// Of the plugin's own times it sets those that an option names: all else is as users have it.
static void environment(const struct plan *p, int rank) {
  setenv("NCCL_IBVERBS_LIB", p->verbs, 1);
  setenv("NCCL_SOCKET_IFNAME", "lo", 1);
  setenv("RAILWEAVE_NET_COST_FILE", "", 0);
  setenv("RAILWEAVE_NET_ANY_NAMESPACE", "1", 1);  // the fake's addresses are of none
  setenv("RAILWEAVE_FAKE_FABRIC", p->fabric_file, 1);
  set("RAILWEAVE_FAKE_HOST", "%ld", rank);
  setenv("RAILWEAVE_NET_HOST_FILE", p->host_file, 1);
  if (p->telemetry) setenv("RAILWEAVE_NET_TELEMETRY", p->telemetry, 1);
  if (p->reroute_ms) set("RAILWEAVE_NET_REROUTE_MS", "%ld", p->reroute_ms);
  if (p->recover_ms) set("RAILWEAVE_NET_RECOVER_MS", "%ld", p->recover_ms);
  if (p->all_dead_ms) set("RAILWEAVE_NET_ALL_DEAD_MS", "%ld", p->all_dead_ms);
  if (p->qps) set("NCCL_IB_QPS_PER_CONNECTION", "%ld", p->qps);
  if (p->split >= 0) set("NCCL_IB_SPLIT_DATA_ON_QPS", "%ld", p->split);
  if (p->adaptive_routing) setenv("NCCL_IB_ADAPTIVE_ROUTING", "1", 1);
}

static void record_rate(FILE *file, const struct plan *p, const struct board *b, uint64_t start, uint64_t now) {
  static uint64_t last_ns, last_bytes;
  uint64_t bytes = 0;
  for (int r = 0; r < p->ranks; r++) bytes += atomic_load(&b->bytes[r]);
  if (last_ns && now - last_ns < 50000000) return;
  if (last_ns)
    fprintf(file, "%.3f %.2f\n", (double)(now - start) / 1e9,
            (double)(bytes - last_bytes) * 1e3 / (double)(now - last_ns) / p->ranks);
  last_ns = now;
  last_bytes = bytes;
}

// Waits for the ranks, failing the fabric meanwhile. Returns when the last fault that must end the job was applied,
// else 0.
static uint64_t watch(const struct plan *p, const struct schedule *s, struct fake_fabric *f, struct board *b,
                      const pid_t *pids, bool *hung) {
  uint64_t start = 0, fatal = 0, moves = 0, moved = fake_now_ns();
  int next = 0, left = p->ranks, status;
  bool ended[FAKE_HOSTS] = {false};
  FILE *rates = p->rate_file ? fopen(p->rate_file, "w") : NULL;
  struct timespec pause = {.tv_nsec = 500000};
  while (left) {
    uint64_t now = fake_now_ns();
    if (!start && atomic_load(&b->connected) == p->ranks) start = now;
    while (start && next < s->n && now - start >= (uint64_t)s->faults[next].at_ms * 1000000) {
      const struct fault *x = &s->faults[next++];
      if (x->kind == RANK_KILLED) kill(pids[x->gid], SIGKILL);
      else fault_apply(f, p, x);
      if (s->must_fail) fatal = moved = now;
    }
    if (rates && start) record_rate(rates, p, b, start, now);
    for (int r = 0; r < p->ranks; r++) {
      if (ended[r] || waitpid(pids[r], &status, WNOHANG) != pids[r]) continue;
      ended[r] = true;
      left--;
      if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        if (WIFSIGNALED(status) && r != s->killed - 1) fprintf(stderr, "rank %d: signal %d\n", r, WTERMSIG(status));
        if (atomic_load(&b->results[r]) <= ERROR_REPORTED) atomic_store(&b->results[r], BROKEN);
      }
    }
    // What moves after a fault that must end the job does not count.
    if (!fatal && atomic_load(&b->moves) != moves) {
      moves = atomic_load(&b->moves);
      moved = now;
    }
    if (now - moved > (uint64_t)p->patience_s * 1000000000u) {
      *hung = true;
      for (int r = 0; r < p->ranks; r++)
        if (!ended[r]) kill(pids[r], SIGUSR2);
      nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
      for (int r = 0; r < p->ranks; r++)
        if (!ended[r]) kill(pids[r], SIGABRT), waitpid(pids[r], &status, 0);
      break;
    }
    nanosleep(&pause, NULL);
  }
  if (rates) fclose(rates);
  return fatal;
}

static bool says_where(const char *text) {
  return strstr(text, "no path of any NIC") && strstr(text, "fake0 port 1") && strstr(text, "leaf leaf");
}

// Of a rank that was killed: every other names it, in few lines, and sends nobody to look at cables.
static bool names(const char *text, pid_t killed) {
  char pid[32];
  int lines = 0;
  snprintf(pid, sizeof(pid), "(pid %d) is gone", (int)killed);
  for (const char *at = text; (at = strchr(at, '\n')); at++) lines++;
  return strstr(text, pid) && lines <= 3 && !strstr(text, "cables");
}

static int verdict(const struct plan *p, const struct schedule *s, struct board *b, const pid_t *pids, uint64_t fatal,
                   bool hung) {
  int bad = 0;
  bool told = s->killed > 0;
  if (hung) {
    for (int r = 0; r < p->ranks; r++)
      fprintf(stderr, "rank %d hung: result %d\n%.1500s\n", r, atomic_load(&b->results[r]), b->text[r]);
    return HUNG;
  }
  for (int r = 0; r < p->ranks; r++) {
    int result = atomic_load(&b->results[r]), wanted = s->must_fail ? ERROR_REPORTED : WORKED;
    told |= says_where(b->text[r]);
    if (s->killed == r + 1) continue;
    if (s->killed && !names(b->text[r], pids[s->killed - 1])) {
      fprintf(stderr, "rank %d does not name the one that was killed, pid %d:\n%s", r, (int)pids[s->killed - 1],
              b->text[r]);
      bad = BROKEN;
    }
    if (result != wanted) {
      fprintf(stderr, "rank %d: result %d, not %d\n%.1500s\n", r, result, wanted, b->text[r]);
      bad = result ? result : BROKEN;
    } else if (s->must_fail && atomic_load(&b->ended_ns[r]) - fatal > (uint64_t)ERROR_WITHIN_MS * 1000000) {
      fprintf(stderr, "rank %d: its error came after %.1f s\n", r,
              (double)(atomic_load(&b->ended_ns[r]) - fatal) / 1e9);
      bad = BROKEN;
    }
  }
  int deaths = atomic_load(&b->deaths), recoveries = atomic_load(&b->recoveries);
  if (deaths < p->deaths || recoveries < p->recoveries || (p->deaths < 0 && deaths)) {
    fprintf(stderr, "%d deaths and %d recoveries of queue pairs, expected %d and %d\n%s", deaths, recoveries, p->deaths,
            p->recoveries, b->text[0]);
    bad = BROKEN;
  }
  if (s->must_fail && !told) {
    fprintf(stderr, "no error names NIC, port and leaf:\n%s", b->text[0]);
    bad = BROKEN;
  }
  return bad;
}

// Leaves for the errors to name. It knows no prefixes, so colors are ranks.
static void write_host_file(const char *path) {
  FILE *file = fopen(path, "w");
  fputs("{\"schema\": 1, \"fabrics\": {}, \"nics\": [", file);
  for (int d = 0; d < FAKE_DEVICES; d++)
    fprintf(file, "%s{\"rdma\": \"fake%d\", \"rdma_port\": 1, \"leaf\": \"leaf%d\", \"leaf_port\": \"et-0/0/%d\"}",
            d ? ", " : "", d, d, d);
  fputs("]}\n", file);
  fclose(file);
}

static void cleanup(const struct plan *p) {
  char path[512];
  snprintf(path, sizeof(path), "%s.json", p->fabric_file);
  unlink(path);
  unlink(p->fabric_file);
  for (int r = 0; r < p->ranks; r++) {
    snprintf(path, sizeof(path), "%s.%d", p->fabric_file, r);
    unlink(path);
  }
}

static int run(const struct plan *p, const struct schedule *s) {
  pid_t pids[FAKE_HOSTS];
  bool hung = false;
  struct fake_fabric *f = fake_fabric_create(p->fabric_file, p->ranks, p->devices, p->gids);
  struct board *b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (!f || b == MAP_FAILED) {
    perror(p->fabric_file);
    return BROKEN;
  }
  if (p->rate_mbytes) fake_path_limit(f, p->rate_mbytes);
  atomic_store(&f->spines, p->spines);
  if (strstr(p->host_file, p->fabric_file)) write_host_file(p->host_file);
  fflush(NULL);
  for (int r = 0; r < p->ranks; r++) {
    pids[r] = fork();
    if (pids[r] == 0) {
      environment(p, r);
      rank_run(p, r, b);
      exit(0);  // with the checks that sanitizers do at exit
    }
  }
  if (p->seconds) signal(SIGTERM, SIG_IGN);  // it is for the ranks, which end their time by it
  uint64_t fatal = watch(p, s, f, b, pids, &hung);
  int result = verdict(p, s, b, pids, fatal, hung);
  fake_fabric_close(f);
  munmap(b, sizeof(*b));
  cleanup(p);
  return result;
}

static void draw(struct plan *p) {
  uint64_t turn = 0;
#define DRAW(n) ((int)(random_of(p->seed, 1, turn++) % (uint64_t)(n)))
  p->ranks = DRAW(4) ? 2 : 2 + DRAW(3);
  p->gids = 2 + DRAW(4);
  p->merge = DRAW(4) == 0;
  p->devices = p->merge ? 2 : 1;
  p->version = 6 + DRAW(7);
  if (p->merge && p->version < 9) p->version = 9 + DRAW(4);
  p->qps = DRAW(3) ? 0 : 1 + DRAW(8);
  // With fewer queue pairs than paths, the path that stays whole might have none.
  if (p->qps && p->qps < p->gids) p->qps = p->gids;
  p->groups = 30 + DRAW(60);
  p->window = 1 + DRAW(8);
  p->largest = (size_t)(DRAW(3) ? 1 << (10 + DRAW(8)) : 300000);
  p->multi = DRAW(2);
  p->dmabuf = DRAW(4) == 0;
  p->split = DRAW(3) - 1;
  p->adaptive_routing = DRAW(4) == 0;
  p->rate_mbytes = (uint32_t)(20 + DRAW(100));
  p->reroute_ms = (50 + DRAW(60)) * p->slow;
  p->recover_ms = (10 + DRAW(40)) * p->slow;
#undef DRAW
}

static int soak(struct plan *p, uint64_t first, int runs) {
  for (uint64_t seed = first; seed < first + (uint64_t)runs; seed++) {
    struct schedule s;
    p->seed = seed;
    p->all_dead_ms = 0;
    draw(p);
    if (seed % 50 == 49) {
      p->merge = false;
      p->devices = 1;
      p->all_dead_ms = 500;
      if (seed % 100 == 99) schedule_leaf_loss(p, &s);
      else schedule_port_loss(p, &s);
      p->groups = 1000000;
    } else {
      schedule_survivable(p, &s);
    }
    uint64_t start = fake_now_ns();
    int result = run(p, &s);
    if (p->verbose)
      fprintf(stderr, "seed %lu: %d (%.0f ms)\n", (unsigned long)seed, result, (double)(fake_now_ns() - start) / 1e6);
    if (result == WORKED) continue;
    fprintf(stderr, "seed %lu fails: harness --soak %lu,1 --verbose\n", (unsigned long)seed, (unsigned long)seed);
    return 1;
  }
  return 0;
}

// "40:down:1" at 40 ms path 1 between hosts 0 and 1; :up, :port (host 0), :portup, :kill:RANK, :change, ...
// "40:dark:MS": all paths of host 0, for so long; without MS for ever.
static void add_fault(struct schedule *s, const char *text) {
  char what[16] = "";
  struct fault x = {.host = 0, .peer = 1, .value = 6};
  if (sscanf(text, "%d:%15[a-z]:%d:%d", &x.at_ms, what, &x.gid, &x.value) < 2 || s->n == MAX_FAULTS) return;
  static const struct {
    const char *name;
    enum fault_kind kind;
  } kinds[] = {{"down", PATH_DOWN},    {"up", PATH_UP},
               {"blink", PATH_BLINK},  {"drops", PATH_DROPS},
               {"slow", PATH_SLOW},    {"change", ADDRESS_CHANGE},
               {"gone", ADDRESS_GONE}, {"back", ADDRESS_BACK},
               {"port", PORT_DOWN},    {"portup", PORT_UP},
               {"dark", HOST_DARK},    {"refuse", RECEIVE_REFUSED},
               {"busy", SEND_REFUSED}, {"noflush", FLUSH_REFUSED},
               {"kill", RANK_KILLED}};
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
    if (strcmp(kinds[i].name, what) == 0) {
      x.kind = kinds[i].kind;
      if (x.kind == RANK_KILLED) s->must_fail = true, s->killed = x.gid + 1;
      s->faults[s->n++] = x;
    }
}

int main(int n, char **words) {
  char file[128], host_file[160];
  uint64_t first = 0;
  int runs = 0, option;
  struct schedule schedule = {0};
  struct plan p = {.seed = 1,
                   .ranks = 2,
                   .devices = 1,
                   .gids = 4,
                   .version = 12,
                   .groups = 50,
                   .window = 8,
                   .largest = 300000,
                   .split = -1,
                   .slow = 1,
                   .patience_s = 30,
                   .plugin = "./libnccl-net-railweave.so",
                   .verbs = "./libfakeverbs.so"};
  static const struct option options[] = {{"seed", 1, NULL, 's'},       {"ranks", 1, NULL, 'r'},
                                          {"devices", 1, NULL, 'd'},    {"gids", 1, NULL, 'g'},
                                          {"qps", 1, NULL, 'q'},        {"api", 1, NULL, 'a'},
                                          {"groups", 1, NULL, 'n'},     {"window", 1, NULL, 'w'},
                                          {"largest", 1, NULL, 'l'},    {"multi", 0, NULL, 'm'},
                                          {"merge", 0, NULL, 'M'},      {"dmabuf", 0, NULL, 'D'},
                                          {"rate", 1, NULL, 'R'},       {"reroute", 1, NULL, 'o'},
                                          {"recover", 1, NULL, 'c'},    {"all-dead", 1, NULL, 'e'},
                                          {"patience", 1, NULL, 'W'},   {"spines", 1, NULL, 'N'},
                                          {"fault", 1, NULL, 'f'},      {"must-fail", 0, NULL, 'F'},
                                          {"soak", 1, NULL, 'S'},       {"verbose", 0, NULL, 'v'},
                                          {"plugin", 1, NULL, 'p'},     {"verbs", 1, NULL, 'V'},
                                          {"host-file", 1, NULL, 'h'},  {"seconds", 1, NULL, 't'},
                                          {"rates", 1, NULL, 'T'},      {"telemetry", 1, NULL, 'y'},
                                          {"split", 1, NULL, 'P'},      {"adaptive-routing", 0, NULL, 'A'},
                                          {"slow", 1, NULL, 'L'},       {"deaths", 1, NULL, 'x'},
                                          {"recoveries", 1, NULL, 'b'}, {0}};
  while ((option = getopt_long(n, words, "", options, NULL)) >= 0) {
    switch (option) {
      case 's': p.seed = strtoull(optarg, NULL, 10); break;
      case 'r': p.ranks = atoi(optarg); break;
      case 'd': p.devices = atoi(optarg); break;
      case 'g': p.gids = atoi(optarg); break;
      case 'q': p.qps = atoi(optarg); break;
      case 'a': p.version = atoi(optarg); break;
      case 'n': p.groups = atoi(optarg); break;
      case 'w': p.window = atoi(optarg); break;
      case 'l': p.largest = strtoull(optarg, NULL, 10); break;
      case 'm': p.multi = true; break;
      case 'M': p.merge = true; break;
      case 'D': p.dmabuf = true; break;
      case 'R': p.rate_mbytes = (uint32_t)atoi(optarg); break;
      case 'o': p.reroute_ms = atoi(optarg); break;
      case 'c': p.recover_ms = atoi(optarg); break;
      case 'W': p.patience_s = atoi(optarg); break;
      case 'N': p.spines = atoi(optarg); break;
      case 'e': p.all_dead_ms = atoi(optarg); break;
      case 'f': add_fault(&schedule, optarg); break;
      case 'F': schedule.must_fail = true; break;
      case 'S': runs = sscanf(optarg, "%lu,%d", &first, &runs) == 2 ? runs : 0; break;
      case 'v': p.verbose = true; break;
      case 'p': p.plugin = optarg; break;
      case 'V': p.verbs = optarg; break;
      case 'h': p.host_file = optarg; break;
      case 't': p.seconds = atoi(optarg); break;
      case 'T': p.rate_file = optarg; break;
      case 'y': p.telemetry = optarg; break;
      case 'P': p.split = atoi(optarg); break;
      case 'x': p.deaths = atoi(optarg); break;
      case 'b': p.recoveries = atoi(optarg); break;
      case 'L': p.slow = atoi(optarg); break;
      case 'A': p.adaptive_routing = true; break;
      default: return 2;
    }
  }
  snprintf(file, sizeof(file), "/tmp/railweave-fabric-%d", getpid());
  snprintf(host_file, sizeof(host_file), "%s.json", file);
  p.fabric_file = file;
  if (!p.host_file) p.host_file = host_file;
  if (runs) return soak(&p, first, runs);
  return run(&p, &schedule);
}
