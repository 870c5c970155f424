// Odd bytes for whatever the plugin reads of others: the set-up messages, records and failures of the other end, and
// the host file, the tuner's table and the costs. Good inputs are made and then changed, so that more than half of them
// pass the first check. Whoever builds with sanitizers (RAILWEAVE_SANITIZE) has them look.
//
// fuzz [SECONDS [SEED]]: a fixed number of inputs, or as many as there is time for. What it does is the same for a
// seed.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "costs.h"
#include "failure.h"
#include "host_file.h"
#include "json.h"
#include "link.h"
#include "log.h"
#include "name_list.h"
#include "pairs.h"
#include "params.h"
#include "record.h"
#include "tuner.h"
#include "weights.h"

enum { LARGEST = 8192, ROUNDS = 6000, HANGS_S = 120 };

static uint64_t state;
static const char *doing = "";
static unsigned long long input;

static uint64_t draw(void) {  // splitmix64
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static size_t below(size_t n) { return n ? (size_t)(draw() % n) : 0; }
static bool once_in(size_t n) { return below(n) == 0; }

static void check(bool good, const char *what) {
  if (good) return;
  printf("fuzz: %s, input %llu: not so: %s\n", doing, input, what);
  fflush(stdout);
  abort();
}
#define CHECK(condition) check(condition, #condition)

static void quiet(ncclDebugLogLevel level, unsigned long flags, const char *file, int line, const char *format, ...) {
  (void)level, (void)flags, (void)file, (void)line, (void)format;
}

static const uint8_t edges[] = {0, 1, 2, 15, 16, 17, 31, 32, 63, 64, 127, 128, 254, 255};

// Changes some bytes from a place on, or cuts or lengthens what is there; the new length.
static size_t change(uint8_t *data, size_t n, size_t from, size_t most) {
  for (size_t times = 1 + below(4); times; times--) {
    if (n <= from) return n;
    size_t at = from + below(n - from);
    switch (below(8)) {
      case 0: data[at] = (uint8_t)draw(); break;
      case 1: data[at] ^= (uint8_t)(1u << below(8)); break;
      case 2:
      case 3: data[at] = edges[below(sizeof(edges))]; break;
      case 4: memset(data + at, once_in(2) ? 0xff : 0, below(n - at) % 9); break;
      case 5:
        if (once_in(3)) n = at;
        break;
      case 6:
        if (n < most) memmove(data + at + 1, data + at, n - at), n++;
        break;
      default: {
        size_t far = below(n - at);
        memmove(data + at, data + at + far, (n - at - far) / 2 % 64);
      }
    }
  }
  return n;
}

// The same of JSON: values are exchanged for others, brackets mostly stay.
static size_t reword(char *text, size_t n, size_t most) {
  static const char *const words[] = {"0",
                                      "-1",
                                      "1e400",
                                      "2147483647",
                                      "99999999999999999999",
                                      "null",
                                      "true",
                                      "\"\"",
                                      "\"x\"",
                                      "[]",
                                      "{}",
                                      "nan",
                                      "0x7",
                                      "\"/\"",
                                      "\"fc00::/129\"",
                                      "\"10.0.0.0/2147483647\"",
                                      "\"\\u0000\"",
                                      "\"\\ud83d\"",
                                      "1.5"};
  for (size_t times = 1 + below(3); times; times--) {
    char *colon = strstr(text + below(n), ": ");
    if (!colon || strchr("{[", colon[2])) continue;
    size_t at = (size_t)(colon - text) + 2, end = at + 1;
    while (end < n && !strchr(text[at] == '"' ? "\"" : ",]}", text[end])) end++;
    end += text[at] == '"' && end < n;
    const char *word = words[below(sizeof(words) / sizeof(*words))];
    size_t length = strlen(word);
    if (n - (end - at) + length > most) continue;
    memmove(text + at + length, text + end, n - end);
    memcpy(text + at, word, length);
    n = n - (end - at) + length;
    text[n] = 0;
  }
  if (once_in(5)) n = change((uint8_t *)text, n, 0, most);
  text[n] = 0;
  return n;
}

static struct rw_end an_end(void) {
  struct rw_end e = {.n = 1 + (int)below(RW_MAX_MERGED), .pid = 7, .rank = (int)below(9) - 1, .local_rank = -1};
  int gids = (int)below(RW_MAX_GIDS + 1);
  snprintf(e.host, sizeof(e.host), "host%zu", below(1000));
  e.qps = (uint16_t)(once_in(2) ? 0 : below(RW_MAX_QPS + 1)), e.labels = (uint16_t)below(RW_MAX_QPS + 1);
  e.strict = once_in(4), e.tuner = once_in(4) ? draw() : 0, e.process = draw();
  for (int d = 0; d < e.n; d++) {
    struct rw_end_device *device = &e.devices[d];
    snprintf(device->name, sizeof(device->name), "mlx5_%d", d);
    device->ethernet = !once_in(4), device->mtu = 5, device->port = 1, device->guid = draw();
    device->gids.n = once_in(3) ? (int)below(RW_MAX_GIDS + 1) : gids;
    device->gids.scheme = once_in(4) ? (enum rw_color_scheme)below(3) : RW_COLOR_FILE;
    for (int i = 0; i < device->gids.n; i++) {
      struct rw_gid *g = &device->gids.gids[i];
      if (once_in(6)) g->gid.raw[10] = g->gid.raw[11] = 0xff;
      else g->gid.raw[0] = 0xfc, g->gid.raw[7] = (uint8_t)i;
      g->gid.raw[15] = (uint8_t)draw();
      g->color = once_in(9) ? (int)draw() : i;
      if (once_in(3)) snprintf(g->color_name, sizeof(g->color_name), "c%d", i);
    }
  }
  return e;
}

static bool ends(void) {
  static uint8_t buffer[RW_WIRE_BODY], again[RW_WIRE_BODY];
  static struct rw_pair_table table, back;
  static struct rw_end good, read, other, copy;
  char why[512], text[256];
  good = an_end();
  struct rw_cursor c = {.at = buffer, .end = buffer + sizeof(buffer)};
  rw_end_put(&c, &good);
  CHECK(!c.overflow);
  size_t n = (size_t)(c.at - buffer);
  if (!once_in(4)) n = change(buffer, n, once_in(3) ? 0 : RW_NAME + 30, sizeof(buffer));
  // What lies behind it must not be read: it is a block of its own.
  uint8_t *exact = malloc(n + 1);
  memcpy(exact, buffer, n);
  c = (struct rw_cursor){.at = exact, .end = exact + n};
  bool whole = rw_end_get(&c, &read);
  CHECK(c.at <= c.end);
  free(exact);
  if (!whole) return false;
  struct rw_cursor out = {.at = again, .end = again + sizeof(again)};
  rw_end_put(&out, &read);
  struct rw_cursor in = {.at = again, .end = out.at};
  CHECK(!out.overflow && rw_end_get(&in, &copy) && memcmp(&copy, &read, sizeof(read)) == 0);
  rw_end_text(&read, text, sizeof(text));
  for (int i = 0; i < read.n; i++) rw_end_device_place(&read.devices[i], text, sizeof(text));
  other = once_in(2) ? an_end() : good;
  other.tuner = read.tuner;
  if (!rw_pairs_make(&read, &other, &table, why, sizeof(why))) {
    CHECK(strlen(why) > 0 && strlen(why) < sizeof(why));
    return true;
  }
  CHECK(table.n >= 1 && table.n <= RW_MAX_QPS && table.paths <= table.n);
  for (int q = 0; q < table.n; q++) {
    const struct rw_pair *p = &table.pairs[q];
    CHECK(p->device[0] < read.n && p->gid[0] < read.devices[p->device[0]].gids.n);
    CHECK(p->device[1] < other.n && p->gid[1] < other.devices[p->device[1]].gids.n);
  }
  CHECK(rw_pairs_make(&read, &other, &back, why, sizeof(why)) && back.hash == table.hash && back.n == table.n);
  return true;
}

static uint32_t checksum(const uint8_t *data, int n) {  // as record.c has it
  uint32_t hash = 0x811c9dc5u;
  while (n--) hash = (hash ^ *data++) * 0x01000193u;
  return hash;
}

static bool records(void) {
  struct rw_record record, again;
  struct rw_record_fields f = {.sequence = (uint32_t)draw(), .epoch = (uint32_t)draw(), .kind = (uint8_t)below(4)}, g;
  rw_record_encode(&f, &record);
  change(record.bytes, sizeof(record.bytes), 4, sizeof(record.bytes));
  uint32_t sum = htobe32(checksum(record.bytes + 4, RW_RECORD_BYTES - 4));
  if (!once_in(6)) memcpy(record.bytes, &sum, sizeof(sum));
  if (!rw_record_decode(&record, &f)) return false;
  CHECK(f.kind <= RW_SAYS_LIVE);
  rw_record_encode(&f, &again);
  CHECK(rw_record_decode(&again, &g) && g.sequence == f.sequence && g.kind == f.kind && g.port_down == f.port_down);
  return true;
}

// Messages on a connection, in pieces; the share that is whole is counted by the caller.
static bool links(void) {
  static struct rw_link link;
  static uint8_t sent[LARGEST];
  struct rw_cursor body;
  int pair[2], type, taken = 0;
  size_t n = 0;
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
  for (size_t times = 1 + below(4); times; times--) {
    struct rw_cursor c = {.at = sent + n, .end = sent + sizeof(sent)};
    uint32_t length = (uint32_t)below(600);
    rw_put32(&c, RW_WIRE_MAGIC), rw_put16(&c, RW_WIRE_VERSION), rw_put16(&c, (uint16_t)(1 + below(RW_CAUSE)));
    rw_put32(&c, once_in(30) ? (uint32_t)draw() : length);
    for (uint32_t i = 0; i < length; i++) rw_put8(&c, (uint8_t)draw());
    n = (size_t)(c.at - sent);
  }
  if (once_in(3)) n = change(sent, n, 0, sizeof(sent));
  link.fd = pair[1], link.closed = link.failed = link.mute = false, link.error = 0;
  link.in_used = link.out_used = link.out_sent = 0;
  for (size_t at = 0; at < n;) {
    size_t part = once_in(2) ? n - at : 1 + below(n - at);
    CHECK(write(pair[0], sent + at, part) == (ssize_t)part);
    at += part;
    while ((type = rw_link_receive(&link, &body)) && !link.failed) {
      CHECK(body.at == link.in + RW_WIRE_HEADER && body.end >= body.at && body.end <= link.in + link.in_used);
      if (type == RW_CAUSE) rw_cause_get(&body);
      rw_link_next(&link);
      taken++;
    }
  }
  close(pair[0]);
  while (rw_link_receive(&link, &body) && !link.failed) rw_link_next(&link), taken++;
  CHECK(link.failed || link.closed);
  close(pair[1]);
  return taken > 0;
}

static const char host[] =
    "{\"schema\": 1, \"network\": \"n\", \"host\": \"H\", \"fabrics\": {\"backend\": {\"bfd_detection_ms\": 300, "
    "\"roce\": "
    "{\"traffic_class\": 106, \"clear_to_send_traffic_class\": 32, \"adaptive_routing\": true}}}, \"nics\": "
    "[{\"name\": "
    "\"gpu0_eth\", \"rdma\": \"mlx5_0\", \"rdma_port\": 1, \"rail\": 1, \"speed_gbps\": 400, \"fabric\": \"backend\", "
    "\"leaf\": \"leaf1\", \"leaf_port\": \"et-0/0/0\", \"addresses\": [{\"path\": 1, \"color\": 1, \"color_name\": "
    "\"green\", "
    "\"prefix\": \"fc00:1:1:1::/64\", \"segments\": \"fc00::1,fc00::2\"}, {\"path\": 2, \"prefix\": \"10.1.0.0/31\", "
    "\"spine\": \"spine2\", \"traffic_class\": 8, \"service_level\": 1}]}]}";
static const char table[] =
    "{\"schema\": 1, \"paths\": 4, \"rows\": [{\"collective\": \"all_reduce\", \"ranks\": 16, \"nodes\": 2, "
    "\"max_bytes\": "
    "65536, \"algorithm\": \"tree\", \"protocol\": \"ll\", \"channels\": 4}, {\"collective\": \"all_gather\", "
    "\"max_bytes\": "
    "1e12, \"algorithm\": \"ring\", \"protocol\": \"simple\", \"channels\": 8}]}";
static const char costs[] =
    "{\"schema\": 1, \"costs\": [{\"rdma\": \"mlx5_0\", \"color\": 1, \"cost\": 4}, {\"color\": 2, \"cost\": 1.5}]}";

static bool is_json(const char *text) {
  char copy[LARGEST + 1];
  strcpy(copy, text);
  struct rw_json *root = rw_json_parse(copy);
  bool object = root && root->kind == RW_JSON_OBJECT;
  rw_json_text(root, "schema"), rw_json_number(root, "nics", 0);
  rw_json_free(root);
  return object;
}

// A file that is only in memory, by its path.
static int memory = -1;
static char path[32];

static void write_file(const char *text, size_t n) {
  static time_t written = 1;
  struct timespec times[2] = {{.tv_sec = written}, {.tv_sec = written}};
  CHECK(ftruncate(memory, 0) == 0 && pwrite(memory, text, n, 0) == (ssize_t)n && futimens(memory, times) == 0);
  written++;  // costs are read again where the file's time differs
}

static bool files(void) {
  static struct rw_tuner_table t;
  static const char *const seeds[] = {host, host, table, costs};
  char text[LARGEST + 1];
  size_t kind = below(4), n = strlen(seeds[kind]);
  memcpy(text, seeds[kind], n + 1);
  n = reword(text, n, LARGEST);
  write_file(text, n);
  if (kind < 2) {
    struct rw_host_file file = rw_host_file_read(path);
    for (int i = 0; i < file.n_nics; i++) {
      const struct rw_host_nic *nic = &file.nics[i];
      CHECK(nic->n_paths >= 0 && nic->n_paths <= RW_HOST_PATHS);
      for (int k = 0; k < nic->n_paths; k++) CHECK(nic->paths[k].prefix_bits >= 0 && nic->paths[k].prefix_bits <= 128);
      rw_host_path_of(nic, (const uint8_t[16]){0xfc, 0, 0, 1});
    }
    rw_host_nic_find(&file, "mlx5_0", 1);
    rw_host_file_free(&file);
  } else if (kind == 2) {
    rw_tuner_read(path, &t);
    CHECK(t.n >= 0 && t.n <= RW_TUNER_ROWS && (t.n > 0) == (t.hash != 0));
    const struct rw_tuner_row *row = rw_tuner_choose(&t, 4, 4096, 16, 2);
    char line[256];
    if (row) rw_tuner_row_text(row, line, sizeof(line));
    CHECK(!row || (row->algorithm < RW_TUNER_ALGORITHMS && row->protocol < RW_TUNER_PROTOCOLS && row->channels >= 0));
  } else {
    rw_costs_look();
    uint32_t limit = rw_costs_limit("mlx5_0", 1);
    CHECK(limit >= 1 && limit <= RW_UNLIMITED);
  }
  return is_json(text);
}

static bool lists(void) {
  char text[256] = "^=mlx5_0:1:3:2,mlx5_1::5,bond0";
  int rail, plane;
  size_t n = change((uint8_t *)text, strlen(text), 0, sizeof(text) - 1);
  text[n] = 0;
  rw_name_list_holds(text, "mlx5_0", 1);
  rw_name_list_place(text, "mlx5_1", 1, &rail, &plane);
  return true;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    bool (*try)(void);
  } targets[] = {{"ends", ends}, {"records", records}, {"connections", links}, {"files", files}, {"name lists", lists}};
  double seconds = argc > 1 ? atof(argv[1]) : 0;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
  size_t n_targets = sizeof(targets) / sizeof(*targets);
  int wrong = 0;
  memory = memfd_create("fuzz", MFD_CLOEXEC);
  snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
  setenv("RAILWEAVE_NET_COST_FILE", path, 1);
  rw_params_read();
  rw_log_to(quiet);
  for (size_t i = 0; i < n_targets; i++) {
    unsigned long long passed = 0;
    time_t begun = time(NULL);
    doing = targets[i].name;
    for (input = 0; seconds > 0 ? difftime(time(NULL), begun) < seconds / (double)n_targets : input < ROUNDS; input++) {
      state = seed << 40 ^ (uint64_t)i << 36 ^ input;
      if (input % 1024 == 0) alarm(HANGS_S);
      passed += targets[i].try();
    }
    printf("fuzz: %-12s %9llu inputs, %3.0f %% past the first check\n", doing, input,
           100. * (double)passed / (double)input);
    wrong |= passed * 2 <= input;
  }
  if (wrong) puts("fuzz: too few inputs pass the first check");
  return wrong;
}
