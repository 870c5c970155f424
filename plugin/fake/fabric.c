#include "fabric.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MAGIC UINT64_C(0x7261696c66616b31)

static struct fake_fabric *map(int fd) {
  void *at = mmap(NULL, sizeof(struct fake_fabric), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  return at == MAP_FAILED ? NULL : at;
}

// fd00:<1 or 2>:<device>:<color>::/64, as a fabric of two stripes numbers its prefixes; the host is the interface
// identifier.
static void number(struct fake_fabric *f) {
  for (int h = 0; h < f->hosts; h++)
    for (int d = 0; d < f->devices; d++) {
      struct fake_port *port = &f->ports[h][d];
      atomic_store(&port->up, true);
      for (int g = 0; g < f->gids; g++) {
        uint64_t prefix =
            UINT64_C(0xfd00) << 48 | (uint64_t)(h % 2 + 1) << 32 | (uint64_t)(d + 1) << 16 | (uint64_t)(g + 1);
        atomic_store(&port->gids[g].prefix, htobe64(prefix));
        atomic_store(&port->gids[g].interface, htobe64((uint64_t)h + 1));
        atomic_store(&port->gids[g].present, true);
      }
    }
}

struct fake_fabric *fake_fabric_create(const char *file, int hosts, int devices, int gids) {
  if (hosts > FAKE_HOSTS || devices > FAKE_DEVICES || gids > FAKE_GIDS) {
    errno = EINVAL;
    return NULL;
  }
  int fd = open(file, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof(struct fake_fabric))) return NULL;
  struct fake_fabric *f = map(fd);
  if (!f) return NULL;
  f->hosts = hosts;
  f->devices = devices;
  f->gids = gids;
  number(f);
  f->magic = MAGIC;
  return f;
}

struct fake_fabric *fake_fabric_open(const char *file) {
  int fd = open(file, O_RDWR | O_CLOEXEC);
  struct fake_fabric *f = fd < 0 ? NULL : map(fd);
  if (!f || f->magic == MAGIC) return f;
  fake_fabric_close(f);
  errno = EINVAL;
  return NULL;
}

void fake_fabric_close(struct fake_fabric *f) { munmap(f, sizeof(*f)); }

int fake_end_of(const struct fake_fabric *f, const uint8_t gid[16]) {
  uint64_t words[2];
  memcpy(words, gid, 16);
  for (int h = 0; h < f->hosts; h++)
    for (int d = 0; d < f->devices; d++)
      for (int g = 0; g < f->gids; g++) {
        const struct fake_gid *entry = &f->ports[h][d].gids[g];
        if (atomic_load(&entry->present) && atomic_load(&entry->prefix) == words[0] &&
            atomic_load(&entry->interface) == words[1])
          return fake_end(h, d, g);
      }
  return -1;
}

void fake_route(const struct fake_fabric *f, int source_end, int target_end, uint32_t flow_label, int *from, int *to) {
  *from = source_end;
  *to = target_end;
  int spines = atomic_load_explicit(&f->spines, memory_order_relaxed);
  if (spines == 0 || target_end < 0) return;
  // Both ways of a pair of addresses by the same hash of the same, but for the port: ports of both ends differ.
  uint64_t hash =
      ((uint64_t)source_end << 40 ^ (uint64_t)target_end << 20 ^ fake_udp_port(flow_label)) * 0x9e3779b97f4a7c15u;
  int spine = (int)((hash >> 33) % (uint64_t)spines);
  *from += spine - source_end % FAKE_GIDS;
  *to += spine - target_end % FAKE_GIDS;
}

void fake_path_down(struct fake_fabric *f, int host_a, int device_a, int host_b, int device_b, int gid,
                    uint64_t until_ns) {
  int all = atomic_load(&f->spines) ? atomic_load(&f->spines) : f->gids;
  for (int g = gid < 0 ? 0 : gid; g < (gid < 0 ? all : gid + 1); g++) {
    int a = fake_end(host_a, device_a, g), b = fake_end(host_b, device_b, g);
    atomic_store(&f->paths[a][b].down_until_ns, until_ns);
    atomic_store(&f->paths[b][a].down_until_ns, until_ns);
  }
}

void fake_path_delay(struct fake_fabric *f, int end_a, int end_b, uint32_t us) {
  atomic_store(&f->paths[end_a][end_b].delay_us, us);
  atomic_store(&f->paths[end_b][end_a].delay_us, us);
}

void fake_path_limit(struct fake_fabric *f, uint32_t mbytes_per_s) {
  for (int a = 0; a < FAKE_ENDS; a++)
    for (int b = 0; b < FAKE_ENDS; b++) atomic_store(&f->paths[a][b].mbytes_per_s, mbytes_per_s);
}

void fake_port_set(struct fake_fabric *f, int host, int device, bool up) {
  atomic_store(&f->ports[host][device].up, up);
}

void fake_gid_change(struct fake_fabric *f, int host, int device, int gid) {
  struct fake_port *port = &f->ports[host][device];
  uint64_t old = be64toh(atomic_load(&port->gids[gid].interface));
  atomic_store(&port->gids[gid].interface, htobe64(old + 0x100));
  atomic_fetch_add(&port->gid_changes, 1);
}

void fake_gid_present(struct fake_fabric *f, int host, int device, int gid, bool present) {
  struct fake_port *port = &f->ports[host][device];
  atomic_store(&port->gids[gid].present, present);
  atomic_fetch_add(&port->gid_changes, 1);
}

uint64_t fake_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
