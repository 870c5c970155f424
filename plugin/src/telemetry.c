#include "telemetry.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "params.h"
#include "stats.h"

// A live process writes its files anew all the time: one that is older than this many periods is of a dead one.
enum { STALE_PERIODS = 10, STALE_LEAST_S = 10 };

static void labels(FILE *file, const struct rw_stats_entry *e, const char *separator, const char *quote) {
  const char *values[][2] = {{"direction", e->sends ? "send" : "receive"},
                             {"device", e->device},
                             {"leaf", e->leaf},
                             {"peer_leaf", e->peer_leaf},
                             {"color_name", e->color_name}};
  for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++)
    fprintf(file, "%s%s%s%s\"%s\"", v ? ", " : "", quote, values[v][0], separator, values[v][1]);
  fprintf(file, ", %scolor%s%s%d%s", quote, separator, *quote ? "" : "\"", e->color, *quote ? "" : "\"");
}

static void write_json(FILE *file, const struct rw_stats_page *page) {
  fprintf(file, "{\"schema\": 2, \"host\": \"%s\", \"pid\": %u, \"paths\": [", page->host, page->pid);
  for (uint32_t i = 0; i < page->n; i++) {
    const struct rw_stats_entry *e = &page->entries[i];
    fprintf(file, "%s\n  {", i ? "," : "");
    labels(file, e, "\": ", "\"");
    fprintf(file, ", \"connections\": %u, \"queue_pairs\": %u, \"live\": %u, \"suspect\": %u", e->connections,
            e->queue_pairs, e->live, e->suspect);
#define X(name, text) fprintf(file, ", \"" #name "\": %llu", (unsigned long long)e->name);
    RW_STATS_COUNTERS(X)
#undef X
    fprintf(file, ", \"latency_us\": {\"p50\": %.1f, \"p90\": %.1f, \"p99\": %.1f, \"max\": %.1f}}",
            (double)e->p50_ns / 1e3, (double)e->p90_ns / 1e3, (double)e->p99_ns / 1e3, (double)e->max_ns / 1e3);
  }
  fprintf(file, "], \"peers\": [");
  for (uint32_t i = 0; i < page->n_peers; i++) {
    const struct rw_stats_peer *p = &page->peers[i];
    fprintf(file,
            "%s\n  {\"host\": \"%s\", \"pid\": %u, \"rank\": %d, \"local_rank\": %d, \"connections\": %u, "
            "\"queue_pairs\": %u, "
            "\"live\": %u, \"suspect\": %u, \"deaths\": %llu, \"last_death_ms\": %llu, \"reason\": \"%s\", \"doing\": "
            "\"%s\"}",
            i ? "," : "", p->host, p->pid, p->rank, p->local_rank, p->connections, p->queue_pairs, p->live, p->suspect,
            (unsigned long long)p->deaths, (unsigned long long)(p->last_death_ns / 1000000), p->reason, p->doing);
  }
  fprintf(file, "]}\n");
}

static void head(FILE *file, const char *name, const char *type, const char *text) {
  fprintf(file, "# HELP railweave_net_%s %s\n# TYPE railweave_net_%s %s\n", name, text, name, type);
}

static void value(FILE *file, const struct rw_stats_page *page, const struct rw_stats_entry *e, const char *name,
                  double number) {
  fprintf(file, "railweave_net_%s{", name);
  labels(file, e, "=", "");
  fprintf(file, ", pid=\"%u\"} %.17g\n", page->pid, number);
}

static void write_prometheus(FILE *file, const struct rw_stats_page *page) {
#define EACH(name, type, text, number)                  \
  head(file, name, type, text);                         \
  for (uint32_t i = 0; i < page->n; i++) {              \
    const struct rw_stats_entry *e = &page->entries[i]; \
    value(file, page, e, name, (double)(number));       \
  }
#define X(name, text) EACH(#name "_total", "counter", text, e->name)
  RW_STATS_COUNTERS(X)
#undef X
  EACH("queue_pairs", "gauge", "queue pairs that are open", e->queue_pairs)
  EACH("live", "gauge", "of these, those that carry data", e->live)
  EACH("latency_p50_seconds", "gauge", "from posting a piece to its completion, median", (double)e->p50_ns / 1e9)
  EACH("latency_p99_seconds", "gauge", "from posting a piece to its completion, 99th percentile",
       (double)e->p99_ns / 1e9)
#undef EACH
}

static void name(char *to, size_t size, const char *ending) {
  char host[64] = "";
  gethostname(host, sizeof(host) - 1);
  snprintf(to, size, "%s/railweave-net-%s-%d.%s", rw_params.telemetry, host, getpid(), ending);
}

static void write_whole(const char *ending, const struct rw_stats_page *page,
                        void (*write)(FILE *, const struct rw_stats_page *)) {
  static bool complained;
  char path[512], temporary[560];
  name(path, sizeof(path), ending);
  snprintf(temporary, sizeof(temporary), "%s.new", path);
  FILE *file = fopen(temporary, "we");
  if (file) {
    write(file, page);
    bool good = !ferror(file);
    good &= fclose(file) == 0;
    if (good && rename(temporary, path) == 0) return;
    unlink(temporary);
  }
  if (!complained) rw_warn("RAILWEAVE_NET_TELEMETRY: cannot write %s: %s", path, strerror(errno));
  complained = true;
}

void rw_telemetry_write(const struct rw_stats_page *page) {
  write_whole("json", page, write_json);
  write_whole("prom", page, write_prometheus);
}

void rw_telemetry_remove(void) {
  static const char *const endings[] = {"json", "prom"};
  char path[512];
  for (int i = 0; i < 2; i++) {
    name(path, sizeof(path), endings[i]);
    unlink(path);
  }
}

void rw_telemetry_remove_stale(void) {
  DIR *dir = opendir(rw_params.telemetry);
  int64_t limit = (int64_t)rw_params.telemetry_ms * STALE_PERIODS / 1000;
  if (limit < STALE_LEAST_S) limit = STALE_LEAST_S;
  for (struct dirent *e; dir && (e = readdir(dir));) {
    struct stat s;
    if (strncmp(e->d_name, "railweave-net-", 14) || fstatat(dirfd(dir), e->d_name, &s, 0)) continue;
    if (S_ISREG(s.st_mode) && time(NULL) - s.st_mtime > limit) unlinkat(dirfd(dir), e->d_name, 0);
  }
  if (dir) closedir(dir);
}
