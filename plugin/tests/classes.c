// Traffic classes and service levels as queue pairs get them: the host file's by color, those of variables and of the
// communicator, and the class of clear-to-send messages at the receiving end. Both ends are in this process, over fake
// verbs; what the plugin hands to ibv_modify_qp is what counts.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "connect.h"
#include "params.h"
#include "process.h"
#include "qp.h"
#include "verbs.h"

enum { COLORS = 4 };

static int failures;
static int (*modify)(struct ibv_qp *, struct ibv_qp_attr *, int);
static struct {
  struct ibv_qp *qp;
  struct ibv_ah_attr address;
} seen[64];
static int n_seen;

static int watch(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask) {
  if (attr->qp_state == IBV_QPS_RTR) {
    seen[n_seen].qp = qp;
    seen[n_seen++].address = attr->ah_attr;
  }
  return modify(qp, attr, mask);
}

static void look(const char *what, const struct rw_comm *c, const int classes[COLORS], const int levels[COLORS]) {
  for (int i = 0; i < c->n_qps; i++) {
    const struct ibv_ah_attr *a = NULL;
    for (int s = 0; s < n_seen; s++)
      if (seen[s].qp == c->qps[i].qp) a = &seen[s].address;
    if (a && a->grh.traffic_class == classes[i] && a->sl == levels[i]) continue;
    printf("classes: %s, %s end, queue pair %d: class %d level %d, not %d and %d\n", what,
           c->sends ? "sending" : "receiving", i, a ? a->grh.traffic_class : -1, a ? a->sl : -1, classes[i], levels[i]);
    failures++;
  }
}

// Enhanced connection establishment: the end that connects first takes the other's offer, and what its device leaves of
// that is what the other end takes.
static struct {
  struct ibv_qp *qp;
  uint32_t options;
} offers[64];
static int n_offers;

static int query_ece(struct ibv_qp *qp, struct ibv_ece *ece) {
  int i = 0;
  while (i < n_offers && offers[i].qp != qp) i++;
  if (i == n_offers) {  // the accepting end makes its queue pairs first
    offers[n_offers].qp = qp;
    offers[n_offers].options = n_offers < COLORS ? 7 : 13;
    n_offers++;
  }
  *ece = (struct ibv_ece){.vendor_id = 0x15b3, .options = offers[i].options};
  return 0;
}

static int set_ece(struct ibv_qp *qp, struct ibv_ece *ece) {
  for (int i = 0; i < n_offers; i++)
    if (offers[i].qp == qp)
      offers[i].options &= ece->options & (i < COLORS ? 7 : 14);  // one device leaves less than both offer
  return 0;
}

enum { LEFT = 7 & 13 & 14 };

static void check_ece(const struct rw_comm *c) {
  for (int q = 0; q < c->n_qps; q++)
    for (int i = 0; i < n_offers; i++)
      if (offers[i].qp == c->qps[q].qp && offers[i].options != LEFT) {
        printf("classes: the %s end has ECE options %u, not %d\n", c->sends ? "sending" : "receiving",
               offers[i].options, LEFT);
        failures++;
      }
}

// of_communicator: NCCL_NET_TRAFFIC_CLASS_UNDEF where it sets none.
static void check(const char *what, const char *variables, int of_communicator, const int data[COLORS],
                  const int clear[COLORS], const int levels[COLORS]) {
  static const char *const names[] = {"NCCL_IB_TC", "NCCL_IB_FIFO_TC", "NCCL_IB_SL", "RAILWEAVE_NET_HOST_FILE"};
  unsigned char handle[NCCL_NET_HANDLE_MAXSIZE];
  struct rw_context context = {.traffic_class = of_communicator};
  void *listening, *out = NULL, *in = NULL;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) unsetenv(names[i]);
  char copy[256], *rest = copy;
  snprintf(copy, sizeof(copy), "%s", variables);
  for (char *one, *value; (one = strsep(&rest, " "));) {
    value = one;
    one = strsep(&value, "=");
    if (value) setenv(one, value, 1);
  }
  if (rw_process_open() != ncclSuccess) exit(1);
  modify = rw_verbs.ibv_modify_qp;
  rw_verbs.ibv_modify_qp = watch;
  rw_verbs.ibv_query_ece = query_ece;
  rw_verbs.ibv_set_ece = set_ece;
  n_seen = n_offers = 0;
  if (rw_listen_on(&context, 0, handle, &listening) != ncclSuccess) exit(1);
  while (!out || !in) {
    if (!out && rw_connect(&context, 0, handle, &out) != ncclSuccess) exit(1);
    if (!in && rw_accept(listening, &in) != ncclSuccess) exit(1);
  }
  look(what, out, data, levels);
  look(what, in, clear, levels);
  check_ece(out);
  check_ece(in);
  rw_comm_close(out);
  rw_comm_close(in);
  rw_close_listening(listening);
  rw_verbs.ibv_modify_qp = modify;
  rw_process_close();
}

static const char *host_file(const char *more_of_path, const char *more_of_roce) {
  static char path[64], variable[128];
  snprintf(path, sizeof(path), "/tmp/railweave-classes-%d.json", getpid());
  FILE *file = fopen(path, "we");
  fprintf(file,
          "{\"schema\": 1, \"fabrics\": {\"be\": {\"roce\": {\"traffic_class\": 106%s}}}, \"nics\": [{\"rdma\": "
          "\"fake0\", \"rdma_port\": 1, \"fabric\": \"be\", \"addresses\": [",
          more_of_roce);
  for (int color = 0; color < COLORS; color++)
    fprintf(file, "%s{\"path\": %d, \"color\": %d, \"prefix\": \"fd00:1:1:%x::/64\"%s}", color ? ", " : "", color + 1,
            color, color + 1, color % 2 ? more_of_path : "");
  fprintf(file, "]}]}\n");
  fclose(file);
  snprintf(variable, sizeof(variable), "RAILWEAVE_NET_HOST_FILE=%s", path);
  return variable;
}

int main(void) {
  enum { NONE = NCCL_NET_TRAFFIC_CLASS_UNDEF };
  const int zero[COLORS] = {0}, fabric[COLORS] = {106, 106, 106, 106}, by_color[COLORS] = {106, 74, 106, 74},
            levels[COLORS] = {0, 2, 0, 2}, clear[COLORS] = {194, 194, 194, 194}, given[COLORS] = {32, 32, 32, 32},
            fifo[COLORS] = {200, 200, 200, 200}, level5[COLORS] = {5, 5, 5, 5};
  char text[512];
  check("no host file", "RAILWEAVE_NET_HOST_FILE=/nonexistent", NONE, zero, zero, zero);
  const char *file = host_file("", "");
  check("the fabric's class", file, NONE, fabric, fabric, zero);
  check("the communicator's class", file, 32, given, given, zero);
  snprintf(text, sizeof(text), "%s NCCL_IB_FIFO_TC=200", file);
  check("NCCL_IB_FIFO_TC", text, NONE, fabric, fifo, zero);
  file = host_file(", \"traffic_class\": 74, \"service_level\": 2", ", \"clear_to_send_traffic_class\": 194");
  check("classes by color", file, NONE, by_color, clear, levels);
  snprintf(text, sizeof(text), "%s NCCL_IB_TC=32", file);
  check("NCCL_IB_TC before the host file", text, NONE, given, clear, levels);
  snprintf(text, sizeof(text), "%s NCCL_IB_SL=5 NCCL_IB_FIFO_TC=200", file);
  check("NCCL_IB_SL and NCCL_IB_FIFO_TC before the host file", text, NONE, by_color, fifo, level5);
  unlink(strchr(file, '=') + 1);
  if (!failures) printf("classes: all well\n");
  return failures > 0;
}
