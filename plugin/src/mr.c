#include "mr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dmabuf.h"
#include "log.h"
#include "params.h"
#include "verbs.h"

struct rw_mr_entry {
  uintptr_t first, last;  // pages, [first, last)
  int users;
  struct ibv_mr *mr;
  struct rw_mr_entry *next;
};

ncclResult_t rw_pd_use(struct rw_device *d, struct ibv_pd **pd) {
  pthread_mutex_lock(&d->lock);
  if (!d->pd) d->pd = rw_verbs.ibv_alloc_pd(d->context);
  if (d->pd) d->pd_users++;
  *pd = d->pd;
  pthread_mutex_unlock(&d->lock);
  if (*pd) return ncclSuccess;
  rw_warn("%s: no protection domain: %s", d->name, strerror(errno));
  return ncclSystemError;
}

static void free_pd(struct rw_device *d) {
  if (!d->pd || d->pd_users || d->registrations) return;
  rw_verbs.ibv_dealloc_pd(d->pd);
  d->pd = NULL;
}

void rw_pd_release(struct rw_device *d) {
  pthread_mutex_lock(&d->lock);
  if (d->pd_users) d->pd_users--;
  free_pd(d);
  pthread_mutex_unlock(&d->lock);
}

static struct ibv_mr *register_pages(struct rw_device *d, uintptr_t first, size_t length, uint64_t offset, int fd) {
  unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  bool relaxed = rw_params.relaxed_ordering != 0 && rw_verbs.ibv_reg_mr_iova2;
  if (relaxed) access |= IBV_ACCESS_RELAXED_ORDERING;
  if (fd >= 0) return rw_dmabuf_register(d->pd, d->data_direct, offset, length, first, fd, (int)access);
  if (relaxed) return rw_verbs.ibv_reg_mr_iova2(d->pd, (void *)first, length, first, access);
  return rw_verbs.ibv_reg_mr(d->pd, (void *)first, length, (int)access);
}

static struct ibv_mr *find_or_register(struct rw_device *d, void *data, size_t size, uint64_t offset, int fd) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  uintptr_t first = (uintptr_t)data & ~(page - 1), last = ((uintptr_t)data + size + page - 1) & ~(page - 1);
  struct ibv_mr *found = NULL;
  pthread_mutex_lock(&d->lock);
  for (struct rw_mr_entry *e = d->registrations; e; e = e->next) {
    if (e->first > first || e->last < last) continue;
    e->users++;
    found = e->mr;
    goto out;
  }
  if (!d->pd) d->pd = rw_verbs.ibv_alloc_pd(d->context);
  struct rw_mr_entry *entry = d->pd ? calloc(1, sizeof(*entry)) : NULL;
  if (!entry) goto out;
  uint64_t slack = (uintptr_t)data - first;
  found = register_pages(d, first, last - first, fd >= 0 ? offset - slack : 0, fd);
  if (!found) {
    free(entry);
    free_pd(d);
    goto out;
  }
  *entry = (struct rw_mr_entry){.first = first, .last = last, .users = 1, .mr = found, .next = d->registrations};
  d->registrations = entry;
out:
  pthread_mutex_unlock(&d->lock);
  return found;
}

static void release(struct rw_device *d, const struct ibv_mr *mr) {
  pthread_mutex_lock(&d->lock);
  for (struct rw_mr_entry **at = &d->registrations; *at; at = &(*at)->next) {
    struct rw_mr_entry *e = *at;
    if (e->mr != mr) continue;
    if (--e->users == 0) {
      *at = e->next;
      rw_verbs.ibv_dereg_mr(e->mr);
      free(e);
      free_pd(d);
    }
    break;
  }
  pthread_mutex_unlock(&d->lock);
}

ncclResult_t rw_mr_register(const struct rw_vdevice *v, void *data, size_t size, int type, uint64_t offset, int fd,
                            struct rw_mr **out) {
  if (!data || !size) return ncclInvalidArgument;
  struct rw_mr *mr = calloc(1, sizeof(*mr));
  if (!mr) return ncclSystemError;
  mr->host = type == NCCL_PTR_HOST;
  for (; mr->n < v->n; mr->n++) {
    struct rw_device *d = rw_device(v->devices[mr->n]);
    mr->mrs[mr->n] = find_or_register(d, data, size, offset, fd);
    if (mr->mrs[mr->n]) continue;
    rw_warn("%s: cannot register %zu bytes at %p%s: %s%s", d->name, size, data,
            type == NCCL_PTR_CUDA ? " of a GPU" : "", strerror(errno),
            errno == ENOMEM ? " (raise the limit of locked memory: ulimit -l)" : "");
    rw_mr_deregister(v, mr);
    return ncclSystemError;
  }
  *out = mr;
  return ncclSuccess;
}

ncclResult_t rw_mr_deregister(const struct rw_vdevice *v, struct rw_mr *mr) {
  if (!mr) return ncclSuccess;
  for (int i = 0; i < mr->n; i++) release(rw_device(v->devices[i]), mr->mrs[i]);
  free(mr);
  return ncclSuccess;
}

void rw_mr_release_all(struct rw_device *d) {
  pthread_mutex_lock(&d->lock);
  while (d->registrations) {
    struct rw_mr_entry *e = d->registrations;
    d->registrations = e->next;
    rw_verbs.ibv_dereg_mr(e->mr);
    free(e);
  }
  d->pd_users = 0;
  free_pd(d);
  pthread_mutex_unlock(&d->lock);
}
