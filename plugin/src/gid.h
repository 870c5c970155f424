// The addresses of a port as path ends: which of its GIDs may be used, and the color of each. GIDs are known by value;
// an index holds only until the table changes.
#ifndef RAILWEAVE_GID_H
#define RAILWEAVE_GID_H

#include <stdbool.h>

#include "host_file.h"
#include "verbs_abi.h"

enum { RW_MAX_GIDS = 16 };

struct rw_gid {
  union ibv_gid gid;
  int index;
  int color;
  char color_name[32];
  char via[64];  // of this end's host file; the other end's is not known here
};

// How colors were found. Two hosts can pair colors only if both found them the same way.
enum rw_color_scheme { RW_COLOR_RANK = 0, RW_COLOR_BITS = 1, RW_COLOR_FILE = 2 };

struct rw_gid_list {
  int n;
  enum rw_color_scheme scheme;
  struct rw_gid gids[RW_MAX_GIDS];  // by color
};

// Flags of an IPv6 address as the kernel shows them (include/uapi/linux/if_addr.h): not for traffic, or not yet or no
// more.
enum { RW_ADDRESS_UNFIT = 0x01 /* temporary */ | 0x08 /* DAD failed */ | 0x20 /* deprecated */ | 0x40 /* tentative */ };

// The usable GIDs of a port, by color. The first form reads the device, the second takes the table and the text of
// /proc/net/if_inet6 as given, followed by the IPv4 addresses in the same form; an RDMA device that network namespaces
// share shows the addresses of all of them. nic may be NULL. Returns an empty list where there is none.
struct rw_gid_list rw_gids_read(struct ibv_context *context, int port, int table_length, bool ethernet,
                                const struct rw_host_nic *nic);
struct rw_gid_list rw_gids_choose(const struct ibv_gid_entry *entries, int n, int port, bool ethernet,
                                  const char *if_inet6, const struct rw_host_nic *nic);

// Colors anew by rank in the list, which is in order of the address.
void rw_gids_color_by_rank(struct rw_gid_list *list);

// The entry with this value, else NULL.
const struct rw_gid *rw_gid_find(const struct rw_gid_list *list, const union ibv_gid *gid);
const struct rw_gid *rw_gid_of_prefix(const struct rw_gid_list *list,
                                      const union ibv_gid *gid);  // of the same IPv6 /64
const struct rw_gid *rw_gid_of_color(const struct rw_gid_list *list, int color);

bool rw_gid_is_ipv4(const union ibv_gid *gid);
enum { RW_GID_TEXT = 48 };
const char *rw_gid_text(const union ibv_gid *gid, char text[RW_GID_TEXT]);

#endif
