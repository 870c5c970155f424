#include "telemetry.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "comm.h"
#include "log.h"
#include "params.h"

#define COUNTERS(X)                                                              \
  X(bytes, "bytes posted, what was sent again included")                         \
  X(messages, "messages that began on this queue pair")                          \
  X(pieces, "pieces of messages posted")                                         \
  X(clear_to_sends, "clear-to-send messages posted")                             \
  X(resent, "pieces that this queue pair did not deliver and others sent again") \
  X(deaths, "times the queue pair was declared dead")                            \
  X(recoveries, "times it came back")                                            \
  X(errors, "completions with an error")

static struct {
#define X(name, text) uint64_t name;
  COUNTERS(X)
#undef X
  uint64_t connections;
} closed;

static const char *state_name(const struct rw_qp *q) {
  static const char *const names[] = {"live", "closing", "dead", "opening", "probing"};
  if (rw_state(q) == RW_QP_LIVE && atomic_load_explicit(&q->suspect, memory_order_relaxed)) return "suspect";
  return names[rw_state(q)];
}

static uint64_t load(const _Atomic uint64_t *counter) { return atomic_load_explicit(counter, memory_order_relaxed); }

static void labels(FILE *file, const struct rw_comm *c, int i, const char *separator, const char *quote) {
  // Addresses may change while a connection lives; what is written here is as it was set up, telemetry being another
  // thread.
  const struct rw_pair *p = &c->table.pairs[i];
  int here = !c->sends;
  const struct rw_end_device *mine = &c->local.devices[p->device[here]], *theirs = &c->remote.devices[p->device[!here]];
  char from[RW_GID_TEXT], to[RW_GID_TEXT];
  const char *values[][2] = {
      {"direction", c->sends ? "send" : "receive"},
      {"device", mine->name},
      {"leaf", mine->leaf},
      {"peer", c->remote.host},
      {"peer_device", theirs->name},
      {"local_gid", rw_gid_text(&mine->gids.gids[p->gid[here]].gid, from)},
      {"remote_gid", rw_gid_text(&theirs->gids.gids[p->gid[!here]].gid, to)},
  };
  for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++)
    fprintf(file, "%s%s%s%s\"%s\"", v ? ", " : "", quote, values[v][0], separator, values[v][1]);
  fprintf(file, ", %scolor%s%s%d%s, %sqp%s%s%d%s", quote, separator, *quote ? "" : "\"", p->color, *quote ? "" : "\"",
          quote, separator, *quote ? "" : "\"", i, *quote ? "" : "\"");
}

static void write_json(FILE *file, const struct rw_comm *comms) {
  char host[64] = "";
  bool first = true;
  gethostname(host, sizeof(host) - 1);
  fprintf(file, "{\"schema\": 1, \"host\": \"%s\", \"pid\": %d, \"queue_pairs\": [", host, getpid());
  for (const struct rw_comm *c = comms; c; c = c->next) {
    for (int i = 0; i < c->n_qps; i++) {
      const struct rw_qp *q = &c->qps[i];
      fprintf(file, "%s\n  {", first ? "" : ",");
      first = false;
      labels(file, c, i, "\": ", "\"");
      fprintf(file, ", \"connection\": \"%p\", \"state\": \"%s\", \"share\": %.4f", (const void *)c, state_name(q),
              atomic_load_explicit(&q->share, memory_order_relaxed) / 65536.0);
#define X(name, text) fprintf(file, ", \"" #name "\": %llu", (unsigned long long)load(&q->counters.name));
      COUNTERS(X)
#undef X
      fprintf(file, ", \"latency_us\": {\"p50\": %.1f, \"p90\": %.1f, \"p99\": %.1f, \"max\": %.1f}}",
              (double)rw_histogram_quantile(&q->counters.latency, 0.5) / 1e3,
              (double)rw_histogram_quantile(&q->counters.latency, 0.9) / 1e3,
              (double)rw_histogram_quantile(&q->counters.latency, 0.99) / 1e3,
              (double)rw_histogram_quantile(&q->counters.latency, 1) / 1e3);
    }
  }
  fprintf(file, "],\n \"closed\": {\"connections\": %llu", (unsigned long long)closed.connections);
#define X(name, text) fprintf(file, ", \"" #name "\": %llu", (unsigned long long)closed.name);
  COUNTERS(X)
#undef X
  fprintf(file, "}}\n");
}

static void write_metric(FILE *file, const struct rw_comm *comms, const char *name, const char *type, const char *text,
                         double (*value)(const struct rw_qp *)) {
  fprintf(file, "# HELP railweave_net_%s %s\n# TYPE railweave_net_%s %s\n", name, text, name, type);
  for (const struct rw_comm *c = comms; c; c = c->next)
    for (int i = 0; i < c->n_qps; i++) {
      fprintf(file, "railweave_net_%s{", name);
      labels(file, c, i, "=", "");
      fprintf(file, ", pid=\"%d\", connection=\"%p\"} %.17g\n", getpid(), (const void *)c, value(&c->qps[i]));
    }
}

#define X(name, text) \
  static double value_of_##name(const struct rw_qp *q) { return (double)load(&q->counters.name); }
COUNTERS(X)
#undef X
static double live(const struct rw_qp *q) { return rw_state(q) == RW_QP_LIVE; }
static double p50(const struct rw_qp *q) { return (double)rw_histogram_quantile(&q->counters.latency, 0.5) / 1e9; }
static double p99(const struct rw_qp *q) { return (double)rw_histogram_quantile(&q->counters.latency, 0.99) / 1e9; }

static void write_prometheus(FILE *file, const struct rw_comm *comms) {
#define X(name, text) write_metric(file, comms, #name "_total", "counter", text, value_of_##name);
  COUNTERS(X)
#undef X
#define X(name, text)                                                                          \
  fprintf(file,                                                                                \
          "# HELP railweave_net_closed_" #name "_total of closed connections: " text           \
          "\n# TYPE railweave_net_closed_" #name "_total counter\nrailweave_net_closed_" #name \
          "_total{pid=\"%d\"} %llu\n",                                                         \
          getpid(), (unsigned long long)closed.name);
  COUNTERS(X)
#undef X
  write_metric(file, comms, "live", "gauge", "1 where the queue pair carries data, else 0", live);
  write_metric(file, comms, "latency_p50_seconds", "gauge", "from posting a piece to its completion, median", p50);
  write_metric(file, comms, "latency_p99_seconds", "gauge", "from posting a piece to its completion, 99th percentile",
               p99);
}

static void write_whole(const char *ending, const struct rw_comm *comms,
                        void (*write)(FILE *, const struct rw_comm *)) {
  static bool complained;
  char host[64] = "", path[512], temporary[560];
  gethostname(host, sizeof(host) - 1);
  snprintf(path, sizeof(path), "%s/railweave-net-%s-%d.%s", rw_params.telemetry, host, getpid(), ending);
  snprintf(temporary, sizeof(temporary), "%s.new", path);
  FILE *file = fopen(temporary, "we");
  if (file) {
    write(file, comms);
    bool good = !ferror(file);
    good &= fclose(file) == 0;
    if (good && rename(temporary, path) == 0) return;
    unlink(temporary);
  }
  if (!complained) rw_warn("RAILWEAVE_NET_TELEMETRY: cannot write %s: %s", path, strerror(errno));
  complained = true;
}

void rw_telemetry_write(const struct rw_comm *comms) {
  write_whole("json", comms, write_json);
  write_whole("prom", comms, write_prometheus);
}

void rw_telemetry_closed(const struct rw_comm *c) {
  closed.connections++;
  for (int i = 0; i < c->n_qps; i++) {
#define X(name, text) closed.name += load(&c->qps[i].counters.name);
    COUNTERS(X)
#undef X
  }
}
