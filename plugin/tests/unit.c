// Pure parts: name lists, the host file, choice and color of addresses, the pair table, records, histograms, the list
// of live queue pairs.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "json.h"
#include "link.h"
#include "live.h"
#include "name_list.h"
#include "params.h"
#include "tuner.h"

static int failures;
#define CHECK(condition)                                           \
  do {                                                             \
    if (condition) break;                                          \
    printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
    failures++;                                                    \
  } while (0)

static void name_lists(void) {
  CHECK(rw_name_list_holds("", "mlx5_0", 1));
  CHECK(rw_name_list_holds("mlx5_1,mlx5", "mlx5_0", 1));
  CHECK(!rw_name_list_holds("=mlx5_1", "mlx5_10", 1));
  CHECK(rw_name_list_holds("=mlx5_1", "mlx5_1", 2));
  CHECK(!rw_name_list_holds("mlx5_0:2", "mlx5_0", 1));
  CHECK(rw_name_list_holds("mlx5_0:2", "mlx5_0", 2));
  CHECK(!rw_name_list_holds("^docker,lo", "lo", 0));
  CHECK(rw_name_list_holds("^docker,lo", "eth0", 0));
  CHECK(rw_name_list_holds("^=mlx5_1", "mlx5_10", 1));
  int rail, plane;
  rw_name_list_place("mlx5_0:1:3:2,=mlx5_1", "mlx5_0", 1, &rail, &plane);
  CHECK(rail == 3 && plane == 2);
  rw_name_list_place("=mlx5_0::5,mlx5_1:1", "mlx5_0", 1, &rail, &plane);
  CHECK(rail == 5 && plane == -1);
  rw_name_list_place("mlx5_0,mlx5_1:1:7", "mlx5_0", 1, &rail, &plane);
  CHECK(rail == -1 && plane == -1);
}

static void parameters(void) {
  setenv("NCCL_IB_TIMEOUT", "18", 1);
  setenv("NCCL_IB_SL", "high", 1);
  setenv("RCCL_IB_QPS_PER_P2P", "3", 1);
  rw_params_read();
  CHECK(rw_params.timeout == 18 && rw_params.timeout_set);
  CHECK(rw_params.sl == -1 && !rw_params.sl_set);
  CHECK(rw_params.qps == 3 && rw_params.qps_set);
  CHECK(rw_params.retry_cnt == 7 && !rw_params.retry_cnt_set);
  // What means nothing is as if it were not set.
  setenv("NCCL_IB_ADDR_RANGE", "nonsense", 1), setenv("NCCL_IB_ADDR_FAMILY", "inet", 1), setenv("NCCL_IB_TC", "300", 1);
  rw_params_read();
  CHECK(!rw_params.addr_range[0] && !rw_params.addr_family[0] && rw_params.tc == -1);
  setenv("NCCL_IB_ADDR_RANGE", "10.0.0.0/33", 1);
  rw_params_read();
  CHECK(!rw_params.addr_range[0]);
  setenv("NCCL_IB_ADDR_RANGE", "10.0.0.0/8", 1);
  rw_params_read();
  CHECK(strcmp(rw_params.addr_range, "10.0.0.0/8") == 0);
  unsetenv("NCCL_IB_ADDR_RANGE"), unsetenv("NCCL_IB_ADDR_FAMILY"), unsetenv("NCCL_IB_TC");
  setenv("NCCL_IB_QPS_PER_CONNECTION", "5", 1);
  rw_params_read();
  CHECK(rw_params.qps == 5);
  unsetenv("NCCL_IB_TIMEOUT"), unsetenv("NCCL_IB_SL"), unsetenv("RCCL_IB_QPS_PER_P2P"),
      unsetenv("NCCL_IB_QPS_PER_CONNECTION");
  rw_params_read();
}

static void speeds(void) {
  CHECK(rw_port_speed(2, 128) == 400000 && rw_port_speed(2, 32) == 100000 && rw_port_speed(16, 128) == 200000);
  CHECK(rw_port_speed(2, 256) == 800000 && rw_port_speed(2, 512) == 800000 && rw_port_speed(2, 0) == 0);
}

static void tuner_of(const char *text, struct rw_tuner_table *t) {
  char path[] = "/tmp/railweave-unit-XXXXXX";
  int fd = mkstemp(path);
  CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
  close(fd);
  rw_tuner_read(path, t);
  unlink(path);
}

static void tuners(void) {
  static struct rw_tuner_table t, same, other;
  static const char good[] =
      "{\"schema\": 1, \"paths\": 4, \"rows\": [{\"collective\": \"all_reduce\", \"ranks\": 16, \"nodes\": 2, "
      "\"max_bytes\": "
      "65536, \"algorithm\": \"tree\", \"protocol\": \"ll\", \"channels\": 4}, {\"collective\": \"all_reduce\", "
      "\"max_bytes\": "
      "1e12, \"algorithm\": \"ring\", \"protocol\": \"simple\", \"channels\": 8}]}";
  tuner_of(good, &t);
  tuner_of(good, &same);
  CHECK(t.n == 2 && t.hash && t.hash == same.hash);
  CHECK(rw_tuner_choose(&t, 4, 65536, 16, 2) == &t.rows[0] && rw_tuner_choose(&t, 4, 65537, 16, 2) == &t.rows[1]);
  CHECK(rw_tuner_choose(&t, 4, 1024, 8, 1) == &t.rows[1] && !rw_tuner_choose(&t, 2, 1024, 16, 2));
  CHECK(t.rows[0].algorithm == 0 && t.rows[0].protocol == 0 && t.rows[1].protocol == 2 && t.rows[1].channels == 8);
  char changed[sizeof(good)];
  memcpy(changed, good, sizeof(good));
  *strstr(changed, "8}]}") = '4';
  tuner_of(changed, &other);
  CHECK(other.n == 2 && other.hash != t.hash);
  *strstr(changed, "4}]}") = '6';  // no multiple of the paths: the whole table goes
  tuner_of(changed, &other);
  CHECK(other.n == 0 && other.hash == 0);
  tuner_of("{\"schema\": 1, \"rows\": [{\"collective\": \"all_reduce\"}]}", &other);
  CHECK(other.n == 0);
  rw_tuner_read("/nonexistent", &other);
  CHECK(other.n == 0 && rw_tuner_hash() == 0);
}

static void json(void) {
  char good[] = " {\"a\": [1, -2.5e1, {\"b\": \"x\\n\\u00e4\"}], \"c\": null, \"d\": true} ";
  struct rw_json *v = rw_json_parse(good);
  const struct rw_json *list = rw_json_get(v, "a");
  CHECK(v && list && list->child->next->number == -25);
  CHECK(list && strcmp(rw_json_text(list->child->next->next, "b"), "x\n\xc3\xa4") == 0);
  CHECK(rw_json_number(v, "d", 7) == 1 && rw_json_number(v, "c", 7) == 7 && rw_json_get(v, "c"));
  rw_json_free(v);
  static const char *const bad[] = {"",          "{",   "{\"a\"}", "[1,]",      "[1 2]", "{\"a\": \"x}",
                                    "\"\\u12\"", "nul", "[] x",    "{\"a\":1,}"};
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    char text[32];
    strcpy(text, bad[i]);
    v = rw_json_parse(text);
    CHECK(v == NULL);
    rw_json_free(v);
  }
  char deep[200];
  memset(deep, '[', 199);
  deep[199] = 0;
  CHECK(rw_json_parse(deep) == NULL);
}

static struct rw_host_file host_file(const char *text) {
  char path[] = "/tmp/railweave-unit-XXXXXX";
  int fd = mkstemp(path);
  CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
  close(fd);
  struct rw_host_file file = rw_host_file_read(path);
  unlink(path);
  return file;
}

static const char host_text[] =
    "{\"schema\": 1, \"later\": {}, \"fabrics\": {\"be\": {\"bfd_detection_ms\": 3000, \"roce\": {\"traffic_class\": "
    "106, "
    "\"adaptive_routing\": true}}}, \"nics\": [{\"rdma\": \"mlx5_0\", \"rdma_port\": 1, \"fabric\": \"be\", \"leaf\": "
    "\"l1\", "
    "\"leaf_port\": \"et-0/0/1\", \"rail\": 1, \"speed_gbps\": 400, \"addresses\": ["
    "{\"path\": 1, \"segments\": \"fcbb:bb00:1:201::\", \"spine\": \"s1\", \"traffic_class\": 74, \"service_level\": "
    "2, \"color\": 7, \"color_name\": \"green\", \"prefix\": "
    "\"fc00:1:1:2::/64\"},"
    "{\"path\": 2, \"color\": null, \"prefix\": \"10.1.0.0/16\"}]}]}";

static void host_files(void) {
  struct rw_host_file f = host_file(host_text);
  const struct rw_host_nic *nic = rw_host_nic_find(&f, "mlx5_0", 1);
  CHECK(f.n_nics == 1 && nic && nic->bfd_ms == 3000 && nic->traffic_class == 106 && nic->adaptive_routing &&
        nic->rail == 1);
  CHECK(nic && nic->n_paths == 2 && nic->paths[0].color == 7 && strcmp(nic->paths[0].name, "green") == 0);
  CHECK(nic && nic->paths[0].traffic_class == 74 && nic->paths[0].service_level == 2 && nic->cts_traffic_class == -1);
  CHECK(nic && strcmp(nic->paths[0].via, "fcbb:bb00:1:201::") == 0 && !nic->paths[1].via[0]);
  CHECK(nic && nic->paths[1].traffic_class == -1 && nic->paths[1].service_level == -1);
  CHECK(nic && nic->paths[1].color == 2 && nic->paths[1].prefix_bits == 112);
  CHECK(!rw_host_nic_find(&f, "mlx5_0", 2));
  rw_host_file_free(&f);
  f = host_file("{\"schema\": 2, \"nics\": []}");
  CHECK(f.n_nics == 0 && !f.nics);
  f = rw_host_file_read("/nonexistent");
  CHECK(f.n_nics == 0);
  f = host_file(
      "{\"schema\": 1, \"nics\": [{\"rdma\": \"x\", \"addresses\": [{\"prefix\": \"10.0.0.0/2147483647\"}, "
      "{\"prefix\": \"10.0.0.0/-5\"}, {\"prefix\": \"fc00::/129\"}, {\"prefix\": \"10.0.0.0/31\"}]}]}");
  CHECK(f.n_nics == 1 && f.nics[0].n_paths == 1 && f.nics[0].paths[0].prefix_bits == 127);
  rw_host_file_free(&f);
}

static struct ibv_gid_entry entry(const char *address, int index, unsigned type) {
  struct ibv_gid_entry e = {.gid_index = (uint32_t)index, .port_num = 1, .gid_type = type};
  if (inet_pton(AF_INET6, address, e.gid.raw) != 1) abort();
  return e;
}

static void addresses(void) {
  const struct ibv_gid_entry entries[] = {
      entry("fe80::1", 0, IBV_GID_TYPE_ROCE_V2),         entry("fc00:1:1:3::9", 1, IBV_GID_TYPE_ROCE_V1),
      entry("fc00:1:1:3::9", 2, IBV_GID_TYPE_ROCE_V2),   entry("fc00:1:1:1::9", 3, IBV_GID_TYPE_ROCE_V2),
      entry("::ffff:10.1.2.3", 4, IBV_GID_TYPE_ROCE_V2), entry("fc00:1:1:2::77", 5, IBV_GID_TYPE_ROCE_V2),
      entry("fc00:1:1:2::9", 6, IBV_GID_TYPE_ROCE_V2),   entry("2001:db8::9", 7, IBV_GID_TYPE_ROCE_V2),
  };
  const int n = sizeof(entries) / sizeof(entries[0]);
  // Temporary (privacy extensions): flag 0x01, on fc00:1:1:2::77.
  static const char inet6[] =
      "fc000001000100020000000000000077 02 40 00 01     eth0\n"
      "fc000001000100020000000000000009 02 40 00 80     eth0\n";
  struct rw_gid_list l = rw_gids_choose(entries, n, 1, true, inet6, NULL);
  CHECK(l.n == 4 && l.scheme == RW_COLOR_RANK && l.gids[0].index == 7 && l.gids[1].index == 3 && l.gids[2].index == 6);
  rw_params.addr_range = "fc00::/16";
  l = rw_gids_choose(entries, n, 1, true, inet6, NULL);
  CHECK(l.n == 3 && l.gids[0].index == 3 && l.gids[0].color == 0 && l.gids[2].index == 2);
  rw_params.color_bits = "48:16";
  l = rw_gids_choose(entries, n, 1, true, inet6, NULL);
  CHECK(l.n == 3 && l.scheme == RW_COLOR_BITS && l.gids[0].color == 1 && l.gids[2].color == 3 && l.gids[2].index == 2);
  rw_params.color_bits = "120:16";
  l = rw_gids_choose(entries, n, 1, true, inet6, NULL);
  CHECK(l.scheme == RW_COLOR_RANK);
  rw_params_read();
  struct rw_host_file f = host_file(host_text);
  l = rw_gids_choose(entries, n, 1, true, inet6, &f.nics[0]);
  CHECK(l.n == 1 && l.scheme == RW_COLOR_FILE && l.gids[0].color == 7 && l.gids[0].index == 6 &&
        strcmp(l.gids[0].via, "fcbb:bb00:1:201::") == 0);
  rw_host_file_free(&f);
  rw_params.addr_family = "AF_INET";
  l = rw_gids_choose(entries, n, 1, true, inet6, NULL);
  CHECK(l.n == 1 && l.gids[0].index == 4 && rw_gid_is_ipv4(&l.gids[0].gid));
  rw_params_read();
  rw_params.gid_index = 5;
  l = rw_gids_choose(entries, n, 1, true, inet6, NULL);
  CHECK(l.n == 1 && l.gids[0].index == 5);
  rw_params_read();
  l = rw_gids_choose(entries, n, 1, true, inet6, NULL);
  struct ibv_gid_entry changed = entry("fc00:1:1:2::1234", 0, 0), gone = entry("fc00:1:1:4::9", 0, 0);
  CHECK(rw_gid_of_prefix(&l, &changed.gid) == &l.gids[2] && !rw_gid_of_prefix(&l, &gone.gid) &&
        !rw_gid_find(&l, &changed.gid));
  l = rw_gids_choose(entries, n, 2, true, inet6, NULL);
  CHECK(l.n == 0);
  // A device that pods share: of all those only one is of this namespace, and fit.
  rw_params.any_namespace = 0;
  l = rw_gids_choose(entries, n, 1, true, inet6, NULL);
  CHECK(l.n == 1 && l.gids[0].index == 6);
  l = rw_gids_choose(entries, n, 1, true, "00000000000000000000ffff0a010203 00 00 00 00 eth0\n", NULL);
  CHECK(l.n == 1 && l.gids[0].index == 4);
  l = rw_gids_choose(entries, n, 1, true, NULL, NULL);
  CHECK(l.n == 5);
  rw_params_read();
}

static struct rw_end end_with(int devices, int colors, int first_color, enum rw_color_scheme scheme) {
  struct rw_end e = {.n = devices};
  for (int d = 0; d < devices; d++) {
    struct rw_end_device *dev = &e.devices[d];
    dev->gids.n = colors;
    dev->gids.scheme = scheme;
    for (int i = 0; i < colors; i++) {
      struct rw_gid *g = &dev->gids.gids[i];
      g->gid.raw[0] = 0xfc, g->gid.raw[7] = (uint8_t)(first_color + i), g->gid.raw[15] = (uint8_t)(d + 1);
      g->color = scheme == RW_COLOR_RANK ? i : first_color + i;
    }
  }
  return e;
}

static void pair_tables(void) {
  char why[256] = "";
  struct rw_pair_table t, back;
  struct rw_end a = end_with(1, 4, 1, RW_COLOR_BITS), b = end_with(1, 3, 2, RW_COLOR_BITS);
  CHECK(rw_pairs_make(&a, &b, &t, why, sizeof(why)));
  CHECK(t.n == 3 && t.paths == 3 && t.pairs[0].color == 2 && t.pairs[0].gid[0] == 1 && t.pairs[0].gid[1] == 0 &&
        !t.fallback);
  CHECK(rw_pairs_make(&b, &a, &back, why, sizeof(why)));
  for (int q = 0; q < t.n; q++)
    CHECK(t.pairs[q].gid[0] == back.pairs[q].gid[1] && t.pairs[q].gid[1] == back.pairs[q].gid[0]);
  a.qps = 8;  // more queue pairs than paths: i takes path i mod P
  CHECK(rw_pairs_make(&a, &b, &t, why, sizeof(why)) && t.n == 8 && t.paths == 3 && t.pairs[3].color == 2 &&
        t.pairs[5].color == 4);
  a.strict = true;
  CHECK(!rw_pairs_make(&a, &b, &t, why, sizeof(why)) && strstr(why, "3 path colors in common, not 4"));
  // Without colors ECMP spreads queue pairs, by labels.
  a = end_with(1, 1, 1, RW_COLOR_RANK), b = end_with(1, 1, 2, RW_COLOR_RANK);
  a.devices[0].ethernet = b.devices[0].ethernet = 1, a.labels = 3, b.labels = 4;
  CHECK(rw_pairs_make(&a, &b, &t, why, sizeof(why)) && t.n == 4 && t.paths == 4 && t.pairs[0].label == 0 &&
        t.pairs[3].label == 3);
  b.qps = 2;
  CHECK(rw_pairs_make(&a, &b, &t, why, sizeof(why)) && t.n == 2 && t.pairs[1].label == 1);
  a.devices[0].ethernet = 0, b.qps = 0;
  CHECK(rw_pairs_make(&a, &b, &t, why, sizeof(why)) && t.n == 1);
  a = end_with(1, 4, 1, RW_COLOR_BITS), b = end_with(1, 4, 1, RW_COLOR_BITS);
  a.devices[0].ethernet = b.devices[0].ethernet = 1, a.labels = b.labels = 4;
  CHECK(rw_pairs_make(&a, &b, &t, why, sizeof(why)) && t.n == 4 && t.pairs[1].label == -1);
  // Ends that may mean different paths by one color.
  a = end_with(1, 4, 1, RW_COLOR_BITS), b = end_with(1, 4, 1, RW_COLOR_FILE);
  strcpy(a.host, "one"), strcpy(b.host, "two");
  CHECK(rw_pairs_make(&a, &b, &t, why, sizeof(why)) && strstr(t.doubt, "COLOR_BITS on one") &&
        strstr(t.doubt, "on two"));
  a = end_with(1, 4, 1, RW_COLOR_BITS), b = end_with(1, 4, 1, RW_COLOR_FILE);
  b.strict = true;
  CHECK(!rw_pairs_make(&a, &b, &t, why, sizeof(why)) && strstr(why, "STRICT"));
  a = end_with(1, 4, 1, RW_COLOR_RANK), b = end_with(1, 3, 2, RW_COLOR_RANK);
  strcpy(a.host, "one"), strcpy(b.host, "two");
  CHECK(rw_pairs_make(&a, &b, &t, why, sizeof(why)) && strstr(t.doubt, "of one has 4") &&
        strstr(t.doubt, "of two has 3"));
  a = end_with(1, 4, 1, RW_COLOR_FILE), b = end_with(1, 4, 1, RW_COLOR_FILE);
  strcpy(a.devices[0].gids.gids[1].color_name, "red"), strcpy(b.devices[0].gids.gids[1].color_name, "blue");
  CHECK(rw_pairs_make(&a, &b, &t, why, sizeof(why)) && strstr(t.doubt, "color 2 is red"));
  strcpy(b.devices[0].gids.gids[1].color_name, "red");
  CHECK(rw_pairs_make(&a, &b, &t, why, sizeof(why)) && !t.doubt[0]);
  a = end_with(1, 2, 1, RW_COLOR_BITS), b = end_with(1, 2, 9, RW_COLOR_BITS);
  CHECK(rw_pairs_make(&a, &b, &t, why, sizeof(why)) && t.fallback && t.n == 1 && t.paths == 1);
  a = end_with(1, 4, 1, RW_COLOR_BITS), b = end_with(1, 4, 11, RW_COLOR_RANK);
  CHECK(rw_pairs_make(&a, &b, &t, why, sizeof(why)) && t.n == 4 && t.pairs[3].gid[0] == 3 && t.pairs[3].gid[1] == 3);
  a = end_with(2, 4, 1, RW_COLOR_BITS), b = end_with(1, 4, 1, RW_COLOR_BITS);
  CHECK(rw_pairs_make(&a, &b, &t, why, sizeof(why)) && t.n == 8 && t.paths == 8 && t.pairs[1].device[0] == 1 &&
        t.pairs[1].device[1] == 0);
  b = end_with(1, 0, 1, RW_COLOR_BITS);
  CHECK(!rw_pairs_make(&a, &b, &t, why, sizeof(why)));
  b = end_with(1, 4, 1, RW_COLOR_BITS);
  b.tuner = 7;  // ranks that would choose differently do not get so far as to wait for each other
  CHECK(!rw_pairs_make(&a, &b, &t, why, sizeof(why)) && strstr(why, "tuner table"));
  a.tuner = 7;
  CHECK(rw_pairs_make(&a, &b, &t, why, sizeof(why)));
  // What goes over the wire comes back.
  uint8_t buffer[RW_WIRE_BODY];
  struct rw_end copy;
  struct rw_cursor c = {.at = buffer, .end = buffer + sizeof(buffer)};
  rw_end_put(&c, &a);
  CHECK(!c.overflow);
  struct rw_cursor in = {.at = buffer, .end = c.at};
  CHECK(rw_end_get(&in, &copy) && in.at == c.at && memcmp(&copy, &a, sizeof(a)) == 0);
  for (uint8_t *cut = buffer; cut < c.at; cut += 7) {
    in = (struct rw_cursor){.at = buffer, .end = cut};
    CHECK(!rw_end_get(&in, &copy));
  }
}

static void records(void) {
  struct rw_record record;
  struct rw_record_fields f = {.sequence = 1,
                               .echo = 2,
                               .epoch = 3,
                               .arrived = 0xffffffff,
                               .qpn = 5,
                               .psn = 6,
                               .kind = RW_SAYS_CLOSED,
                               .wants_echo = true,
                               .gid = {1, 2, 3}},
                          g = {0};
  rw_record_encode(&f, &record);
  CHECK(rw_record_decode(&record, &g) && memcmp(&f, &g, sizeof(f)) == 0);
  for (int i = 0; i < RW_RECORD_BYTES; i++) {
    record.bytes[i] ^= 0x10;
    CHECK(!rw_record_decode(&record, &g));
    record.bytes[i] ^= 0x10;
  }
  CHECK(record.bytes[7] == 1 && record.bytes[4] == 0);  // network order
  uint32_t imm = rw_imm(300, 5, 63, 64);
  CHECK((imm >> 15 & 255) == 300 % 256 && (imm >> 23 & 127) == 1 && (imm >> 12 & 7) == 5 && (imm >> 6 & 63) == 63 &&
        (imm & 63) == 63);
  CHECK(!(rw_imm(UINT64_MAX, 7, 63, 64) & (RW_IMM_CONTROL | RW_IMM_SIZED)));
  for (unsigned receives = 1; receives < 256; receives++)
    CHECK(rw_imm_receives(rw_imm_group(300, receives)) == receives);
  for (unsigned pieces = 1; pieces <= 64; pieces++)
    for (unsigned piece = 0; piece < pieces; piece++)
      CHECK(rw_imm_receives(rw_imm(300, piece % 8, piece, pieces)) == 0);
}

static uint64_t hash(uint64_t sum, const void *data, size_t n) {
  for (const uint8_t *p = data; n--; p++) sum = (sum ^ *p) * 0x100000001b3u;
  return sum;
}

// What two hosts exchange, by version: whoever changes it raises RW_WIRE_VERSION, and records the new sum here.
static void connections(void) {
  static struct rw_link link;
  struct rw_cursor body;
  uint8_t header[RW_WIRE_HEADER];
  struct rw_cursor c = {.at = header, .end = header + sizeof(header)};
  int pair[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
  link.fd = pair[1];
  rw_put32(&c, RW_WIRE_MAGIC), rw_put16(&c, RW_WIRE_VERSION), rw_put16(&c, 0), rw_put32(&c, 0);
  CHECK(write(pair[0], header, sizeof(header)) == sizeof(header));
  CHECK(rw_link_receive(&link, &body) == 0 && link.failed);  // type 0, behind which nothing would be read
  close(pair[0]), close(pair[1]);
}

static void wire(void) {
  static const uint64_t sum_of_version_3 = 0xeaf801e018f2b73au;
  uint8_t buffer[RW_WIRE_BODY];
  struct rw_record record;
  struct rw_record_fields f = {.sequence = 1,
                               .echo = 2,
                               .epoch = 3,
                               .arrived = 4,
                               .qpn = 5,
                               .psn = 6,
                               .ece_vendor = 7,
                               .ece_options = 8,
                               .kind = RW_SAYS_CLOSED,
                               .wants_echo = true,
                               .port_down = true,
                               .gid = {9}};
  struct rw_end e = end_with(2, 3, 1, RW_COLOR_FILE);
  strcpy(e.host, "host"), strcpy(e.devices[1].name, "device"), strcpy(e.devices[1].leaf, "leaf"),
      strcpy(e.devices[1].leaf_port, "port"), strcpy(e.devices[1].gids.gids[2].color_name, "blue");
  e.process = 11, e.pid = 12, e.rank = 13, e.local_rank = 14, e.qps = 15, e.labels = 20, e.strict = true,
  e.adaptive_routing = true, e.tuner = 16;
  e.devices[1].guid = 17, e.devices[1].port = 18, e.devices[1].mtu = 4, e.devices[1].ethernet = 1,
  e.devices[1].lid = 19;
  struct rw_cursor c = {.at = buffer, .end = buffer + sizeof(buffer)};
  rw_end_put(&c, &e);
  rw_record_encode(&f, &record);
  const size_t layout[] = {sizeof(struct rw_shared),
                           sizeof(struct rw_cts),
                           offsetof(struct rw_cts, number),
                           offsetof(struct rw_shared, record_in),
                           offsetof(struct rw_shared, size_in),
                           offsetof(struct rw_shared, probe),
                           offsetof(struct rw_shared, beat_in),
                           RW_CAUSE,
                           RW_SAYS_LIVE,
                           rw_imm(300, 5, 3, 4),
                           rw_imm_group(300, 0x83)};
  uint64_t sum = hash(hash(hash(0xcbf29ce484222325u, buffer, (size_t)(c.at - buffer)), &record, sizeof(record)), layout,
                      sizeof(layout));
  if (RW_WIRE_VERSION != 3 || sum != sum_of_version_3)
    printf("the wire's layout is %#llx, version %d\n", (unsigned long long)sum, RW_WIRE_VERSION);
  CHECK(RW_WIRE_VERSION == 3 && sum == sum_of_version_3);
}

static void histograms(void) {
  static struct rw_histogram h;
  CHECK(rw_histogram_quantile(&h, 0.5) == 0);
  for (uint64_t ns = 1; ns <= 1000; ns++) rw_histogram_add(&h, ns * 1000);
  uint64_t p50 = rw_histogram_quantile(&h, 0.5), p99 = rw_histogram_quantile(&h, 0.99);
  CHECK(p50 >= 500000 && p50 < 500000 * 5 / 4 + 1 && p99 >= 990000 && p99 < 990000 * 5 / 4);
  for (uint64_t ns = 1, last = 0; ns < UINT64_C(1) << 39; ns = ns * 5 / 4 + 1) {
    CHECK(rw_bucket(ns) >= (int)last && rw_bucket(ns) < RW_BUCKETS);
    last = (uint64_t)rw_bucket(ns);
  }
  rw_histogram_add(&h, UINT64_MAX);
}

static void live(void) {
  static struct rw_comm c;
  static struct rw_qp qps[4];
  c.qps = qps;
  c.n_qps = 4;
  for (int i = 0; i < 4; i++) {
    qps[i].ramp = 100;
    rw_load_reset(&c.live.of_qp[i]);
  }
  rw_live_update(&c);
  CHECK(c.live.n == 4 && !c.live.all_suspect && c.live.qps[5] == 1 && c.live.loads[7] == &c.live.of_qp[3]);
  CHECK(c.live.of_qp[0].limit == RW_UNLIMITED);
  qps[2].suspect = true;
  qps[3].ramp = 50;
  rw_live_update(&c);
  CHECK(c.live.n == 3 && c.live.qps[2] == 3 && c.live.qps[3] == 0 && !c.live.all_suspect &&
        c.live.of_qp[3].limit == RW_UNLIMITED / 2);
  for (int i = 0; i < 4; i++) qps[i].suspect = true;
  rw_live_update(&c);
  CHECK(c.live.n == 4 && c.live.all_suspect);
  rw_set_state(&qps[0], RW_QP_CLOSED);
  qps[1].suspect = false;
  rw_live_update(&c);
  CHECK(c.live.n == 1 && c.live.qps[0] == 1);
  qps[1].counters.bytes = 3000;
  qps[2].counters.bytes = 1000;
  rw_live_weigh(&c);
  CHECK(qps[1].share == 49152 && qps[2].share == 16384 && qps[0].share == 0 && qps[3].ramp > 50);
}

int main(void) {
  setenv("RAILWEAVE_NET_ANY_NAMESPACE", "1", 1);
  rw_params_read();
  name_lists();
  parameters();
  speeds();
  json();
  tuners();
  host_files();
  addresses();
  pair_tables();
  records();
  connections();
  wire();
  histograms();
  live();
  if (!failures) puts("unit: all well");
  return failures != 0;
}
