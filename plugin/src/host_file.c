#include "host_file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "log.h"

enum { SCHEMA = 1, LARGEST = 16 << 20 };

static char *contents(const char *path) {
  FILE *file = fopen(path, "re");
  if (!file) {
    if (errno != ENOENT) rw_warn("%s: %s: going on without it", path, strerror(errno));
    return NULL;
  }
  char *text = malloc(LARGEST + 1);
  size_t n = text ? fread(text, 1, LARGEST, file) : 0;
  fclose(file);
  if (text) text[n] = 0;
  return text;
}

bool rw_prefix_holds(const uint8_t prefix[16], int bits, const uint8_t address[16]) {
  if (memcmp(prefix, address, (size_t)bits / 8)) return false;
  if (bits % 8 == 0) return true;
  int mask = 0xff00 >> bits % 8 & 0xff;
  return ((prefix[bits / 8] ^ address[bits / 8]) & mask) == 0;
}

static bool read_path(const struct rw_json *from, struct rw_host_path *path) {
  char text[64];
  snprintf(text, sizeof(text), "%s", rw_json_text(from, "prefix"));
  char *slash = strchr(text, '/');
  if (!slash) return false;
  *slash = 0;
  path->prefix_bits = atoi(slash + 1);
  if (path->prefix_bits < 0 || path->prefix_bits > 128) return false;
  if (inet_pton(AF_INET6, text, path->prefix) != 1) {
    // IPv4: as the GID table shows it, mapped into ::ffff:0:0/96.
    if (inet_pton(AF_INET, text, path->prefix + 12) != 1) return false;
    path->prefix[10] = path->prefix[11] = 0xff;
    path->prefix_bits += 96;
  }
  if (path->prefix_bits < 0 || path->prefix_bits > 128) return false;
  path->color = (int)rw_json_number(from, "color", rw_json_number(from, "path", 0));
  snprintf(path->name, sizeof(path->name), "%s", rw_json_text(from, "color_name"));
  const char *segments = rw_json_text(from, "segments");
  snprintf(path->via, sizeof(path->via), "%s", *segments ? segments : rw_json_text(from, "spine"));
  path->traffic_class = (int)rw_json_number(from, "traffic_class", -1);
  path->service_level = (int)rw_json_number(from, "service_level", -1);
  return true;
}

static void read_nic(const struct rw_json *from, const struct rw_json *fabrics, struct rw_host_nic *nic) {
  snprintf(nic->rdma, sizeof(nic->rdma), "%s", rw_json_text(from, "rdma"));
  snprintf(nic->name, sizeof(nic->name), "%s", rw_json_text(from, "name"));
  snprintf(nic->leaf, sizeof(nic->leaf), "%s", rw_json_text(from, "leaf"));
  snprintf(nic->leaf_port, sizeof(nic->leaf_port), "%s", rw_json_text(from, "leaf_port"));
  nic->port = (int)rw_json_number(from, "rdma_port", 1);
  nic->rail = (int)rw_json_number(from, "rail", 0);
  nic->speed_gbps = (int)rw_json_number(from, "speed_gbps", 0);
  const struct rw_json *fabric = rw_json_get(fabrics, rw_json_text(from, "fabric"));
  const struct rw_json *roce = rw_json_get(fabric, "roce");
  nic->bfd_ms = (int)rw_json_number(fabric, "bfd_detection_ms", -1);
  nic->traffic_class = (int)rw_json_number(roce, "traffic_class", -1);
  nic->cts_traffic_class = (int)rw_json_number(roce, "clear_to_send_traffic_class", -1);
  nic->adaptive_routing = rw_json_number(roce, "adaptive_routing", 0) != 0;
  const struct rw_json *addresses = rw_json_get(from, "addresses");
  for (const struct rw_json *a = addresses ? addresses->child : NULL; a && nic->n_paths < RW_HOST_PATHS; a = a->next)
    if (read_path(a, &nic->paths[nic->n_paths])) nic->n_paths++;
}

struct rw_host_file rw_host_file_read(const char *path) {
  struct rw_host_file file = {0};
  char *text = contents(path);
  if (!text) return file;
  struct rw_json *root = rw_json_parse(text);
  const struct rw_json *nics = rw_json_get(root, "nics");
  if (!root) {
    rw_warn("%s is not JSON: going on without it", path);
  } else if ((int)rw_json_number(root, "schema", 0) != SCHEMA) {
    rw_warn("%s has schema %g, this plugin reads %d: going on without it", path, rw_json_number(root, "schema", 0),
            SCHEMA);
  } else if (nics && nics->kind == RW_JSON_LIST) {
    int n = 0;
    for (const struct rw_json *nic = nics->child; nic; nic = nic->next) n++;
    file.nics = calloc((size_t)n + 1, sizeof(*file.nics));
    for (const struct rw_json *nic = nics->child; nic && file.nics; nic = nic->next)
      read_nic(nic, rw_json_get(root, "fabrics"), &file.nics[file.n_nics++]);
  }
  rw_json_free(root);
  free(text);
  return file;
}

void rw_host_file_free(struct rw_host_file *file) {
  free(file->nics);
  *file = (struct rw_host_file){0};
}

const struct rw_host_nic *rw_host_nic_find(const struct rw_host_file *file, const char *rdma, int port) {
  for (int i = 0; i < file->n_nics; i++)
    if (strcmp(file->nics[i].rdma, rdma) == 0 && file->nics[i].port == port) return &file->nics[i];
  return NULL;
}

const struct rw_host_path *rw_host_path_of(const struct rw_host_nic *nic, const uint8_t address[16]) {
  for (int i = 0; i < nic->n_paths; i++)
    if (rw_prefix_holds(nic->paths[i].prefix, nic->paths[i].prefix_bits, address)) return &nic->paths[i];
  return NULL;
}
