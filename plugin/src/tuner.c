#include "tuner.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "log.h"
#include "params.h"

enum { SCHEMA = 1, LARGEST = 1 << 20 };

static const char *const collectives[] = {"broadcast", "reduce", "all_gather", "reduce_scatter", "all_reduce"};
static const char *const algorithms[RW_TUNER_ALGORITHMS] = {
    "tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
static const char *const protocols[RW_TUNER_PROTOCOLS] = {"ll", "ll128", "simple"};

static int index_of(const char *name, const char *const *names, int n) {
  for (int i = 0; i < n; i++)
    if (strcmp(name, names[i]) == 0) return i;
  return -1;
}

const char *rw_tuner_row_text(const struct rw_tuner_row *row, char *text, size_t size) {
  snprintf(text, size, "%s of up to %llu bytes: %s, %s, %d channels", collectives[row->collective],
           (unsigned long long)row->max_bytes, algorithms[row->algorithm], protocols[row->protocol], row->channels);
  return text;
}

static uint64_t hash_of(const struct rw_tuner_table *t) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (int i = 0; i < t->n; i++) {
    const struct rw_tuner_row *r = &t->rows[i];
    const uint64_t words[] = {(uint64_t)r->collective, (uint64_t)r->ranks,    (uint64_t)r->nodes,   r->max_bytes,
                              (uint64_t)r->algorithm,  (uint64_t)r->protocol, (uint64_t)r->channels};
    for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++) hash = (hash ^ words[w]) * 0x100000001b3u;
  }
  return hash ? hash : 1;
}

// Returns NULL where all is well. One wrong row makes the whole table useless: half a table is another table.
static const char *read_rows(const struct rw_json *root, struct rw_tuner_table *t) {
  const struct rw_json *rows = rw_json_get(root, "rows");
  int paths = (int)rw_json_number(root, "paths", 1);
  if ((int)rw_json_number(root, "schema", 0) != SCHEMA) return "its schema is not 1";
  if (!rows || rows->kind != RW_JSON_LIST || paths < 1) return "it has no rows";
  for (const struct rw_json *from = rows->child; from; from = from->next) {
    if (t->n == RW_TUNER_ROWS) return "it has more than 512 rows";
    struct rw_tuner_row r = {
        .collective = index_of(rw_json_text(from, "collective"), collectives, 5),
        .ranks = (int)rw_json_number(from, "ranks", 0),
        .nodes = (int)rw_json_number(from, "nodes", 0),
        .max_bytes = (uint64_t)rw_json_number(from, "max_bytes", 0),
        .algorithm = index_of(rw_json_text(from, "algorithm"), algorithms, RW_TUNER_ALGORITHMS),
        .protocol = index_of(rw_json_text(from, "protocol"), protocols, RW_TUNER_PROTOCOLS),
        .channels = (int)rw_json_number(from, "channels", 0),
    };
    if (r.collective < 0 || r.algorithm < 0 || r.protocol < 0)
      return "a row names an unknown collective, algorithm or protocol";
    if (r.max_bytes == 0 || r.channels < 0 || r.channels > 64)
      return "a row has no max_bytes, or channels beyond 0 to 64";
    if (r.channels % paths) return "a row's channels are not a multiple of the paths";
    t->rows[t->n++] = r;
  }
  return t->n ? NULL : "it has no rows";
}

void rw_tuner_read(const char *path, struct rw_tuner_table *t) {
  memset(t, 0, sizeof(*t));
  FILE *file = fopen(path, "re");
  if (!file) {
    if (errno != ENOENT) rw_warn("tuner: %s: %s: NCCL chooses by itself", path, strerror(errno));
    return;
  }
  char *text = malloc(LARGEST + 1);
  size_t n = text ? fread(text, 1, LARGEST, file) : 0;
  fclose(file);
  if (!text) return;
  text[n] = 0;
  struct rw_json *root = rw_json_parse(text);
  const char *wrong = root ? read_rows(root, t) : "it is not JSON";
  rw_json_free(root);
  free(text);
  if (wrong) {
    rw_warn("tuner: %s: %s: NCCL chooses by itself", path, wrong);
    memset(t, 0, sizeof(*t));
    return;
  }
  t->hash = hash_of(t);
}

const struct rw_tuner_row *rw_tuner_choose(const struct rw_tuner_table *t, int collective, uint64_t bytes, size_t ranks,
                                           size_t nodes) {
  for (int i = 0; i < t->n; i++) {
    const struct rw_tuner_row *r = &t->rows[i];
    if (r->collective == collective && bytes <= r->max_bytes && (r->ranks == 0 || (size_t)r->ranks == ranks) &&
        (r->nodes == 0 || (size_t)r->nodes == nodes))
      return r;
  }
  return NULL;
}

static struct rw_tuner_table own;

static void read_own(void) {
  if (rw_params.tuner_file[0]) rw_tuner_read(rw_params.tuner_file, &own);
}

const struct rw_tuner_table *rw_tuner_table(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, read_own);
  return &own;
}

uint64_t rw_tuner_hash(void) { return rw_params.tuner ? rw_tuner_table()->hash : 0; }
