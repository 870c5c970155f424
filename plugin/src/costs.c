#include "costs.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "json.h"
#include "log.h"
#include "params.h"
#include "weights.h"

enum { SCHEMA = 1, MOST = 1024, LARGEST = 1 << 20 };

struct cost {
  char device[64];
  int color;
  uint32_t limit;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cost costs[MOST];
static int n_costs;
static atomic_uint generation;
static struct timespec seen;  // when the file that was read last was written

static const char *read_costs(const struct rw_json *root, struct cost *to, int *n) {
  const struct rw_json *list = rw_json_get(root, "costs");
  if (!root) return "it is not JSON";
  if ((int)rw_json_number(root, "schema", 0) != SCHEMA || !list || list->kind != RW_JSON_LIST)
    return "its schema is not 1, or it has no costs";
  for (const struct rw_json *from = list->child; from; from = from->next) {
    double cost = rw_json_number(from, "cost", 0);
    if (*n == MOST || !(cost >= 1)) return "a cost is below 1, or there are more than 1024";
    struct cost *c = &to[(*n)++];
    snprintf(c->device, sizeof(c->device), "%s", rw_json_text(from, "rdma"));
    c->color = (int)rw_json_number(from, "color", -1);
    c->limit = cost > RW_UNLIMITED ? 1 : (uint32_t)(RW_UNLIMITED / cost);
  }
  return NULL;
}

static void read_file(const char *path) {
  FILE *file = fopen(path, "re");
  char *text = malloc(LARGEST + 1);
  struct cost *new = calloc(MOST, sizeof(*new));
  int n = 0;
  if (file && text && new) {
    text[fread(text, 1, LARGEST, file)] = 0;
    struct rw_json *root = rw_json_parse(text);
    const char *wrong = read_costs(root, new, &n);
    rw_json_free(root);
    if (wrong) {
      rw_warn("%s: %s: the costs that were known go on", path, wrong);
    } else {
      pthread_mutex_lock(&lock);
      memcpy(costs, new, (size_t)n * sizeof(*new));
      n_costs = n;
      pthread_mutex_unlock(&lock);
      atomic_fetch_add(&generation, 1);
      rw_info("%s: costs of %d paths", path, n);
    }
  }
  if (file) fclose(file);
  free(text);
  free(new);
}

void rw_costs_look(void) {
  struct stat s;
  if (!rw_params.cost_file[0]) return;
  if (stat(rw_params.cost_file, &s)) {
    if (seen.tv_sec == 0) return;
    seen = (struct timespec){0};  // taken away: every path costs 1 again
    pthread_mutex_lock(&lock);
    n_costs = 0;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&generation, 1);
    return;
  }
  if (s.st_mtim.tv_sec == seen.tv_sec && s.st_mtim.tv_nsec == seen.tv_nsec) return;
  seen = s.st_mtim;
  read_file(rw_params.cost_file);
}

unsigned rw_costs_generation(void) { return atomic_load_explicit(&generation, memory_order_acquire); }

uint32_t rw_costs_limit(const char *device, int color) {
  uint32_t limit = RW_UNLIMITED;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < n_costs; i++)
    if ((!costs[i].device[0] || strcmp(costs[i].device, device) == 0) && costs[i].color == color)
      limit = costs[i].limit;
  pthread_mutex_unlock(&lock);
  return limit;
}
