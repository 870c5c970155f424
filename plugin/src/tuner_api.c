// The tuner's tables, versions 2 to 6: NCCL looks for them in the net plugin's library by itself (2.19 and newer).
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "log.h"
#include "nccl_net_abi.h"
#include "params.h"
#include "tuner.h"

#define EXPORT __attribute__((visibility("default")))
enum { NCCL_TUNING = 0x40 };

struct context {
  size_t ranks, nodes;
  ncclDebugLogger_t log;
  bool told[RW_TUNER_ROWS];
};

static ncclResult_t start(void **ctx, size_t ranks, size_t nodes, ncclDebugLogger_t log) {
  rw_params_read();
  struct context *c = calloc(1, sizeof(*c));
  if (!c) return ncclSystemError;
  c->ranks = ranks;
  c->nodes = nodes;
  c->log = log;
  const struct rw_tuner_table *t = rw_tuner_table();
  if (log && t->n)
    log(NCCL_LOG_INFO, NCCL_TUNING, __FILE__, __LINE__, "TUNER/railweave: %s, %d rows, hash %016llx: %s",
        rw_params.tuner_file, t->n, (unsigned long long)t->hash,
        rw_params.tuner ? "in force" : "only logged (RAILWEAVE_NET_TUNER=1 puts it in force)");
  *ctx = c;
  return ncclSuccess;
}

// The row in force, NULL where NCCL is to choose.
static const struct rw_tuner_row *row_for(struct context *c, int collective, size_t bytes) {
  const struct rw_tuner_table *t = rw_tuner_table();
  const struct rw_tuner_row *r = rw_tuner_choose(t, collective, bytes, c->ranks, c->nodes);
  char text[160];
  if (!r) return NULL;
  if (!c->told[r - t->rows] && c->log) {
    c->told[r - t->rows] = true;
    c->log(NCCL_LOG_INFO, NCCL_TUNING, __FILE__, __LINE__, "TUNER/railweave: %s %s",
           rw_params.tuner ? "chooses" : "would choose", rw_tuner_row_text(r, text, sizeof(text)));
  }
  return rw_params.tuner ? r : NULL;
}

// NCCL takes the cheapest entry; those that are not possible here are negative, and stay so, on all ranks alike.
static ncclResult_t by_table(void *ctx, int collective, size_t bytes, float **costs, int algorithms, int protocols,
                             int *channels) {
  const struct rw_tuner_row *r = row_for(ctx, collective, bytes);
  if (!r || r->algorithm >= algorithms || r->protocol >= protocols) return ncclSuccess;
  float *cost = (float *)(void *)costs + r->algorithm * protocols + r->protocol;
  if (*cost < 0) return ncclSuccess;
  *cost = 0;
  if (r->channels) *channels = r->channels;
  return ncclSuccess;
}

static ncclResult_t init_v2(size_t ranks, size_t nodes, ncclDebugLogger_t log, void **ctx) {
  return start(ctx, ranks, nodes, log);
}
static ncclResult_t init_v5(void **ctx, uint64_t comm_id, size_t ranks, size_t nodes, ncclDebugLogger_t log,
                            void *domains, void *constants) {
  (void)comm_id, (void)domains, (void)constants;
  return start(ctx, ranks, nodes, log);
}
static ncclResult_t destroy(void *ctx) {
  free(ctx);
  return ncclSuccess;
}

// Without a table of costs nothing tells what is possible: only what always is.
static ncclResult_t info_v2(void *ctx, int collective, size_t bytes, int collnet, int nvls, int ops, int *algorithm,
                            int *protocol, int *channels) {
  const struct rw_tuner_row *r = row_for(ctx, collective, bytes);
  (void)collnet, (void)nvls, (void)ops;
  if (!r || r->algorithm > 1 || (r->algorithm == 0 && collective != 4)) return ncclSuccess;
  *algorithm = r->algorithm;
  *protocol = r->protocol;
  if (r->channels) *channels = r->channels;
  return ncclSuccess;
}
static ncclResult_t info_v3(void *ctx, int collective, size_t bytes, int ops, float **costs, int algorithms,
                            int protocols, int *channels) {
  (void)ops;
  return by_table(ctx, collective, bytes, costs, algorithms, protocols, channels);
}
static ncclResult_t info_v4(void *ctx, int collective, size_t bytes, int ops, float **costs, int algorithms,
                            int protocols, int registered, int *channels) {
  (void)ops, (void)registered;
  return by_table(ctx, collective, bytes, costs, algorithms, protocols, channels);
}

struct tuner_v2 {
  const char *name;
  ncclResult_t (*init)(size_t, size_t, ncclDebugLogger_t, void **);
  ncclResult_t (*info)(void *, int, size_t, int, int, int, int *, int *, int *);
  ncclResult_t (*destroy)(void *);
};
struct tuner_v3 {
  const char *name;
  ncclResult_t (*init)(size_t, size_t, ncclDebugLogger_t, void **);
  ncclResult_t (*info)(void *, int, size_t, int, float **, int, int, int *);
  ncclResult_t (*destroy)(void *);
};
struct tuner_v4 {
  const char *name;
  ncclResult_t (*init)(size_t, size_t, ncclDebugLogger_t, void **);
  ncclResult_t (*info)(void *, int, size_t, int, float **, int, int, int, int *);
  ncclResult_t (*destroy)(void *);
};
struct tuner_v5 {
  const char *name;
  ncclResult_t (*init)(void **, uint64_t, size_t, size_t, ncclDebugLogger_t, void *, void *);
  ncclResult_t (*info)(void *, int, size_t, int, float **, int, int, int, int *);
  ncclResult_t (*finalize)(void *);
};
struct tuner_v6 {
  struct tuner_v5 as_v5;
  ncclResult_t (*chunk_size)(void *, int, size_t, int, int, int, size_t *);  // NULL: NCCL's
};

EXPORT const struct tuner_v2 ncclTunerPlugin_v2 = {"railweave", init_v2, info_v2, destroy};
EXPORT const struct tuner_v3 ncclTunerPlugin_v3 = {"railweave", init_v2, info_v3, destroy};
EXPORT const struct tuner_v4 ncclTunerPlugin_v4 = {"railweave", init_v2, info_v4, destroy};
EXPORT const struct tuner_v5 ncclTunerPlugin_v5 = {"railweave", init_v5, info_v4, destroy};
EXPORT const struct tuner_v6 ncclTunerPlugin_v6 = {{"railweave", init_v5, info_v4, destroy}, NULL};
