#include "gid.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "params.h"
#include "verbs.h"

enum { TABLE = 256 };

bool rw_gid_is_ipv4(const union ibv_gid *gid) {
  static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
  return memcmp(gid->raw, mapped, sizeof(mapped)) == 0;
}

const char *rw_gid_text(const union ibv_gid *gid, char text[RW_GID_TEXT]) {
  if (rw_gid_is_ipv4(gid)) return inet_ntop(AF_INET, gid->raw + 12, text, RW_GID_TEXT);
  return inet_ntop(AF_INET6, gid->raw, text, RW_GID_TEXT);
}

// Global unicast or unique local (ULA); link-local, multicast and empty entries cannot cross a leaf.
static bool routable(const union ibv_gid *gid) {
  if (rw_gid_is_ipv4(gid)) return gid->raw[12] != 0 && !(gid->raw[12] == 169 && gid->raw[13] == 254);
  return (gid->raw[0] & 0xe0) == 0x20 || (gid->raw[0] & 0xfe) == 0xfc;
}

// Lines of /proc/net/if_inet6: address in 32 hex digits, interface index, prefix length, scope, flags, name.
static bool unfit(const char *if_inet6, const union ibv_gid *gid) {
  char hex[33];
  for (int i = 0; i < 16; i++) snprintf(hex + 2 * i, 3, "%02x", gid->raw[i]);
  const char *line = if_inet6 ? strstr(if_inet6, hex) : NULL;
  unsigned flags = 0;
  if (if_inet6 && !line && !rw_params.any_namespace) return true;
  return line && sscanf(line + 32, " %*x %*x %*x %x", &flags) == 1 && (flags & RW_ADDRESS_UNFIT);
}

static bool in_range(const union ibv_gid *gid) {
  char text[64];
  snprintf(text, sizeof(text), "%s", rw_params.addr_range);
  char *slash = strchr(text, '/');
  uint8_t prefix[16] = {0};
  int bits = 128;
  if (slash) *slash = 0;
  if (!text[0]) return true;
  if (inet_pton(AF_INET6, text, prefix) == 1) {
    if (slash) bits = atoi(slash + 1);
  } else if (inet_pton(AF_INET, text, prefix + 12) == 1) {
    prefix[10] = prefix[11] = 0xff;
    if (slash) bits = 96 + atoi(slash + 1);
  } else {
    return true;
  }
  return bits >= 0 && bits <= 128 && rw_prefix_holds(prefix, bits, gid->raw);
}

static bool family_fits(const union ibv_gid *gid, bool any_ipv6) {
  bool ipv4 = rw_gid_is_ipv4(gid);
  if (strcmp(rw_params.addr_family, "AF_INET") == 0) return ipv4;
  if (strcmp(rw_params.addr_family, "AF_INET6") == 0) return !ipv4;
  return ipv4 != any_ipv6;
}

static int color_of_bits(const union ibv_gid *gid, int first, int count) {
  unsigned color = 0;
  for (int bit = first; bit < first + count; bit++) color = color << 1 | (gid->raw[bit / 8] >> (7 - bit % 8) & 1);
  return (int)color;
}

static bool color_by_bits(struct rw_gid_list *list) {
  int first, count;
  if (!rw_params.color_bits[0]) return false;
  if (sscanf(rw_params.color_bits, "%d:%d", &first, &count) != 2 || first < 0 || count < 1 || count > 30 ||
      first + count > 128) {
    rw_warn("RAILWEAVE_NET_COLOR_BITS=%s is not FIRST:COUNT within 128 bits: colors are ranks", rw_params.color_bits);
    return false;
  }
  for (int i = 0; i < list->n; i++) list->gids[i].color = color_of_bits(&list->gids[i].gid, first, count);
  list->scheme = RW_COLOR_BITS;
  return true;
}

// Takes the host file's colors if it knows the prefix of at least one address; others are then left out, since the
// fabric does not steer them.
static bool color_by_file(struct rw_gid_list *list, const struct rw_host_nic *nic) {
  if (!nic) return false;
  struct rw_gid_list known = {.scheme = RW_COLOR_FILE};
  for (int i = 0; i < list->n; i++) {
    for (int p = 0; p < nic->n_paths; p++) {
      const struct rw_host_path *path = &nic->paths[p];
      if (!rw_prefix_holds(path->prefix, path->prefix_bits, list->gids[i].gid.raw)) continue;
      struct rw_gid *gid = &known.gids[known.n++];
      *gid = list->gids[i];
      gid->color = path->color;
      memcpy(gid->color_name, path->name, sizeof(gid->color_name));
      memcpy(gid->via, path->via, sizeof(gid->via));
      break;
    }
  }
  if (known.n == 0) return false;
  *list = known;
  return true;
}

static int by_address(const void *a, const void *b) {
  return memcmp(((const struct rw_gid *)a)->gid.raw, ((const struct rw_gid *)b)->gid.raw, 16);
}

static int by_color(const void *a, const void *b) {
  const struct rw_gid *x = a, *y = b;
  return x->color != y->color ? (x->color < y->color ? -1 : 1) : by_address(a, b);
}

void rw_gids_color_by_rank(struct rw_gid_list *list) {
  qsort(list->gids, (size_t)list->n, sizeof(list->gids[0]), by_address);
  for (int i = 0; i < list->n; i++) {
    list->gids[i].color = i;
    list->gids[i].color_name[0] = list->gids[i].via[0] = 0;
  }
  list->scheme = RW_COLOR_RANK;
}

static void keep_one_per_color(struct rw_gid_list *list) {
  int n = 0;
  for (int i = 0; i < list->n; i++)
    if (n == 0 || list->gids[n - 1].color != list->gids[i].color) list->gids[n++] = list->gids[i];
  list->n = n;
}

struct rw_gid_list rw_gids_choose(const struct ibv_gid_entry *entries, int n, int port, bool ethernet,
                                  const char *if_inet6, const struct rw_host_nic *nic) {
  struct rw_gid_list list = {0};
  unsigned type = !ethernet                     ? IBV_GID_TYPE_IB
                  : rw_params.roce_version == 1 ? IBV_GID_TYPE_ROCE_V1
                                                : IBV_GID_TYPE_ROCE_V2;
  bool fits[TABLE] = {false}, any_ipv6 = false;
  if (n > TABLE) n = TABLE;
  for (int i = 0; i < n; i++) {
    const struct ibv_gid_entry *e = &entries[i];
    if ((int)e->port_num != port) continue;
    if (rw_params.gid_index >= 0) {
      fits[i] = (int)e->gid_index == rw_params.gid_index;
    } else {
      fits[i] =
          e->gid_type == type && (!ethernet || (routable(&e->gid) && !unfit(if_inet6, &e->gid) && in_range(&e->gid)));
    }
    if (fits[i] && !rw_gid_is_ipv4(&e->gid)) any_ipv6 = true;
  }
  for (int i = 0; i < n && list.n < RW_MAX_GIDS; i++) {
    if (!fits[i]) continue;
    if (rw_params.gid_index < 0 && ethernet && !family_fits(&entries[i].gid, any_ipv6)) continue;
    list.gids[list.n++] = (struct rw_gid){.gid = entries[i].gid, .index = (int)entries[i].gid_index};
  }
  rw_gids_color_by_rank(&list);
  if (!color_by_bits(&list)) color_by_file(&list, nic);
  qsort(list.gids, (size_t)list.n, sizeof(list.gids[0]), by_color);
  keep_one_per_color(&list);
  return list;
}

static int table_of_old_library(struct ibv_context *context, int port, int length, bool ethernet,
                                struct ibv_gid_entry *entries) {
  // Without ibv_query_gid_table the types are unknown; the kernel puts a RoCE v1 entry before each v2 entry of one
  // address.
  int n = 0;
  for (int i = 0; i < length && n < TABLE; i++) {
    union ibv_gid gid;
    if (rw_verbs.ibv_query_gid(context, (uint8_t)port, i, &gid) || (!gid.words[0] && !gid.words[1])) continue;
    bool second = n > 0 && memcmp(entries[n - 1].gid.raw, gid.raw, 16) == 0;
    entries[n++] = (struct ibv_gid_entry){
        .gid = gid,
        .gid_index = (uint32_t)i,
        .port_num = (uint32_t)port,
        .gid_type = !ethernet ? IBV_GID_TYPE_IB
                    : second  ? IBV_GID_TYPE_ROCE_V2
                              : IBV_GID_TYPE_ROCE_V1,
    };
  }
  return n;
}

// Of this network namespace: the kernel's list of IPv6 addresses, which tells which are fit for traffic, and IPv4. NULL
// where they cannot be had: then nothing is left out.
static char *own_addresses(void) {
  enum { TEXT = 256 << 10 };
  struct ifaddrs *list;
  char *text = calloc(1, TEXT);
  if (!text || getifaddrs(&list)) {
    free(text);
    return NULL;
  }
  FILE *file = fopen("/proc/net/if_inet6", "re");
  size_t used = file ? fread(text, 1, TEXT / 2, file) : 0;
  if (file) fclose(file);
  for (const struct ifaddrs *i = list; i && used < TEXT - 128; i = i->ifa_next) {
    if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET) continue;
    const uint8_t *a = (const uint8_t *)&((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr;
    used += (size_t)snprintf(text + used, TEXT - used, "00000000000000000000ffff%02x%02x%02x%02x 00 00 00 00 %.15s\n",
                             a[0], a[1], a[2], a[3], i->ifa_name);
  }
  freeifaddrs(list);
  return text;
}

struct rw_gid_list rw_gids_read(struct ibv_context *context, int port, int table_length, bool ethernet,
                                const struct rw_host_nic *nic) {
  struct ibv_gid_entry entries[TABLE];
  memset(entries, 0, sizeof(entries));
  ssize_t n = rw_verbs._ibv_query_gid_table
                  ? rw_verbs._ibv_query_gid_table(context, entries, TABLE, 0, sizeof(entries[0]))
                  : -EOPNOTSUPP;
  if (n < 0) n = table_of_old_library(context, port, table_length, ethernet, entries);
  char *text = own_addresses();
  struct rw_gid_list list = rw_gids_choose(entries, (int)n, port, ethernet, text, nic);
  free(text);
  return list;
}

const struct rw_gid *rw_gid_find(const struct rw_gid_list *list, const union ibv_gid *gid) {
  for (int i = 0; i < list->n; i++)
    if (memcmp(list->gids[i].gid.raw, gid->raw, 16) == 0) return &list->gids[i];
  return NULL;
}

const struct rw_gid *rw_gid_of_prefix(const struct rw_gid_list *list, const union ibv_gid *gid) {
  for (int i = 0; i < list->n && !rw_gid_is_ipv4(gid); i++)
    if (!rw_gid_is_ipv4(&list->gids[i].gid) && list->gids[i].gid.words[0] == gid->words[0]) return &list->gids[i];
  return NULL;
}

const struct rw_gid *rw_gid_of_color(const struct rw_gid_list *list, int color) {
  for (int i = 0; i < list->n; i++)
    if (list->gids[i].color == color) return &list->gids[i];
  return NULL;
}
