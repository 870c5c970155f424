// The functions of libibverbs that the plugin calls, over the fake NIC. RAILWEAVE_FAKE_FABRIC names the fabric's file,
// RAILWEAVE_FAKE_HOST says which of its hosts this process is; one process per host.
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nic.h"

static struct ibv_device devices[FAKE_DEVICES + 1];  // the real libmlx5, asked for one, reads behind it

static void lock(void) { pthread_mutex_lock(&fake_nic.lock); }
static void unlock(void) { pthread_mutex_unlock(&fake_nic.lock); }

struct ibv_device **ibv_get_device_list(int *n) {
  const char *file = getenv("RAILWEAVE_FAKE_FABRIC"), *host = getenv("RAILWEAVE_FAKE_HOST");
  struct ibv_device **list = calloc(FAKE_DEVICES + 1, sizeof(*list));
  *n = 0;
  if (!file || !host || !list) return list;
  if (!fake_nic.fabric) fake_nic.fabric = fake_fabric_open(file);
  if (!fake_nic.fabric) {
    perror(file);
    return list;
  }
  fake_nic.host = atoi(host);
  fake_nic.direct = getenv("RAILWEAVE_FAKE_DIRECT") != NULL;
  fake_nic.no_labels = getenv("RAILWEAVE_FAKE_NO_LABELS") != NULL;
  for (; *n < fake_nic.fabric->devices; ++*n) {
    snprintf(devices[*n].name, sizeof(devices[*n].name), "fake%d", *n);
    devices[*n].node_type = 1;
    list[*n] = &devices[*n];
  }
  return list;
}

void ibv_free_device_list(struct ibv_device **list) { free(list); }
const char *ibv_get_device_name(struct ibv_device *device) { return device->name; }

struct ibv_context *ibv_open_device(struct ibv_device *device) {
  int pipes[2];
  struct fake_context *c = calloc(1, sizeof(*c));
  if (!c || pipe2(pipes, O_CLOEXEC | O_NONBLOCK)) {
    free(c);
    return NULL;
  }
  c->device = (int)(device - devices);
  c->base =
      (struct ibv_context){.device = device,
                           .async_fd = pipes[0],
                           .cmd_fd = -1,
                           .num_comp_vectors = 1,
                           .ops = {.poll_cq = fake_poll_cq, .post_send = fake_post_send, .post_recv = fake_post_recv}};
  c->event_write = pipes[1];
  const struct fake_port *port = &fake_nic.fabric->ports[fake_nic.host][c->device];
  c->port_up = atomic_load(&port->up);
  c->gid_changes = atomic_load(&port->gid_changes);
  lock();
  fake_nic.contexts[c->device] = c;
  fake_engine_start();
  unlock();
  return &c->base;
}

int ibv_close_device(struct ibv_context *base) {
  struct fake_context *c = (struct fake_context *)base;
  bool last = true;
  lock();
  fake_nic.contexts[c->device] = NULL;
  for (int d = 0; d < FAKE_DEVICES; d++) last &= fake_nic.contexts[d] == NULL;
  unlock();
  if (last) {
    fake_engine_stop();
    fake_fabric_close(fake_nic.fabric);
    fake_nic.fabric = NULL;
  }
  close(c->base.async_fd);
  close(c->event_write);
  free(c);
  return 0;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event) {
  return read(context->async_fd, event, sizeof(*event)) == sizeof(*event) ? 0 : -1;
}
void ibv_ack_async_event(struct ibv_async_event *event) { (void)event; }

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr) {
  int device = ((struct fake_context *)context)->device;
  memset(attr, 0, sizeof(*attr));
  snprintf(attr->fw_ver, sizeof(attr->fw_ver), "fake");
  attr->node_guid = attr->sys_image_guid = htobe64((uint64_t)(fake_nic.host + 1) << 16 | (uint64_t)(device + 1));
  attr->max_qp = FAKE_QPS;
  attr->max_qp_wr = 16384;
  attr->max_mr = FAKE_MRS;
  attr->phys_port_cnt = 1;
  return 0;
}

#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr) {
  int device = ((struct fake_context *)context)->device;
  if (port != 1) return EINVAL;
  *attr = (struct ibv_port_attr){
      .state = atomic_load(&fake_nic.fabric->ports[fake_nic.host][device].up) ? IBV_PORT_ACTIVE : IBV_PORT_DOWN,
      .max_mtu = IBV_MTU_4096,
      .active_mtu = IBV_MTU_4096,
      .gid_tbl_len = FAKE_GIDS + 1,
      .max_msg_sz = 1u << 30,
      .pkey_tbl_len = 1,
      .active_width = 2,
      .active_speed = 128,
      .link_layer = IBV_LINK_LAYER_ETHERNET,
  };
  return 0;
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max, uint32_t flags,
                             size_t size) {
  const struct fake_port *port = &fake_nic.fabric->ports[fake_nic.host][((struct fake_context *)context)->device];
  size_t n = 0;
  (void)flags;
  if (size != sizeof(*entries)) return -EINVAL;
  for (int g = -1; g < fake_nic.fabric->gids && n < max; g++) {
    if (g >= 0 && !atomic_load(&port->gids[g].present)) continue;
    struct ibv_gid_entry e = {.port_num = 1, .gid_type = IBV_GID_TYPE_ROCE_V2};
    if (g < 0) {
      e.gid.raw[0] = 0xfe, e.gid.raw[1] = 0x80, e.gid.raw[15] = 1;
    } else {
      e.gid.words[0] = atomic_load(&port->gids[g].prefix);
      e.gid.words[1] = atomic_load(&port->gids[g].interface);
      e.gid_index = (uint32_t)fake_gid_index(port, g);
    }
    entries[n++] = e;
  }
  return (ssize_t)n;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid) {
  struct ibv_gid_entry entries[FAKE_GIDS + 1];
  ssize_t n = _ibv_query_gid_table(context, entries, FAKE_GIDS + 1, 0, sizeof(entries[0]));
  (void)port;
  for (ssize_t i = 0; i < n; i++)
    if ((int)entries[i].gid_index == index) {
      *gid = entries[i].gid;
      return 0;
    }
  return ENODATA;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context) {
  struct ibv_pd *pd = calloc(1, sizeof(*pd));
  if (pd) pd->context = context;
  return pd;
}
int ibv_dealloc_pd(struct ibv_pd *pd) {
  free(pd);
  return 0;
}

static struct ibv_mr *register_memory(struct ibv_pd *pd, void *addr, size_t length, void *memory, size_t mapped) {
  struct fake_mr *mr = calloc(1, sizeof(*mr));
  static uint32_t next = 1;
  if (!mr) return NULL;
  lock();
  uint32_t tries = 0;
  do {
    next = next % (FAKE_MRS - 1) + 1;
  } while (fake_nic.mrs[next] && ++tries < FAKE_MRS);
  *mr = (struct fake_mr){
      .base = {.context = pd->context, .pd = pd, .addr = addr, .length = length, .lkey = next, .rkey = next},
      .memory = memory,
      .mapped = mapped};
  fake_nic.mrs[next] = &mr->base;
  unlock();
  return &mr->base;
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access) {
  (void)access;
  return register_memory(pd, addr, length, addr, 0);
}
struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access) {
  (void)access;
  return register_memory(pd, (void *)(uintptr_t)iova, length, addr, 0);
}
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access) {
  (void)access;
  void *at = fd < 0 ? MAP_FAILED : mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
  if (at == MAP_FAILED) {
    if (fd < 0) errno = EBADF;
    return NULL;
  }
  return register_memory(pd, (void *)(uintptr_t)iova, length, at, length);
}
int ibv_dereg_mr(struct ibv_mr *base) {
  struct fake_mr *mr = (struct fake_mr *)base;
  lock();
  fake_nic.mrs[base->lkey] = NULL;
  unlock();
  if (mr->mapped) munmap(mr->memory, mr->mapped);
  free(mr);
  return 0;
}

// NCCL's own transport asks for no more than the state.
int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init);
int ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init) {
  (void)mask, (void)init;
  attr->qp_state = qp->state;
  return 0;
}

const char *ibv_event_type_str(int event);
const char *ibv_event_type_str(int event) {
  (void)event;
  return "event";
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece) {
  (void)qp, (void)ece;
  return EOPNOTSUPP;
}
int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece) {
  (void)qp, (void)ece;
  return EOPNOTSUPP;
}
const char *ibv_wc_status_str(int status) {
  switch (status) {
    case IBV_WC_SUCCESS: return "success";
    case IBV_WC_WR_FLUSH_ERR: return "work request flushed";
    case IBV_WC_RETRY_EXC_ERR: return "transport retry counter exceeded";
    case IBV_WC_RNR_RETRY_EXC_ERR: return "receiver not ready retry counter exceeded";
    case IBV_WC_REM_ACCESS_ERR: return "remote access error";
    case IBV_WC_LOC_PROT_ERR: return "local protection error";
    default: return "error";
  }
}
int ibv_fork_init(void) { return 0; }
