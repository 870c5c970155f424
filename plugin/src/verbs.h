// libibverbs, loaded when the plugin starts, so that the plugin itself loads on a machine without it.
#ifndef RAILWEAVE_VERBS_H
#define RAILWEAVE_VERBS_H

#include <stdbool.h>
#include <sys/types.h>

#include "verbs_abi.h"

// REQUIRED(result, name, arguments) must be there; OPTIONAL may be NULL (older libraries).
#define RW_VERBS(REQUIRED, OPTIONAL)                                                                               \
  REQUIRED(struct ibv_device **, ibv_get_device_list, (int *n))                                                    \
  REQUIRED(void, ibv_free_device_list, (struct ibv_device * *list))                                                \
  REQUIRED(const char *, ibv_get_device_name, (struct ibv_device * device))                                        \
  REQUIRED(struct ibv_context *, ibv_open_device, (struct ibv_device * device))                                    \
  REQUIRED(int, ibv_close_device, (struct ibv_context * context))                                                  \
  REQUIRED(int, ibv_get_async_event, (struct ibv_context * context, struct ibv_async_event * event))               \
  REQUIRED(void, ibv_ack_async_event, (struct ibv_async_event * event))                                            \
  REQUIRED(int, ibv_query_device, (struct ibv_context * context, struct ibv_device_attr * attr))                   \
  REQUIRED(int, ibv_query_port, (struct ibv_context * context, uint8_t port, struct ibv_port_attr * attr))         \
  REQUIRED(struct ibv_pd *, ibv_alloc_pd, (struct ibv_context * context))                                          \
  REQUIRED(int, ibv_dealloc_pd, (struct ibv_pd * pd))                                                              \
  REQUIRED(struct ibv_mr *, ibv_reg_mr, (struct ibv_pd * pd, void *addr, size_t length, int access))               \
  REQUIRED(int, ibv_dereg_mr, (struct ibv_mr * mr))                                                                \
  REQUIRED(struct ibv_cq *, ibv_create_cq,                                                                         \
           (struct ibv_context * context, int cqe, void *cq_context, void *channel, int vector))                   \
  REQUIRED(int, ibv_destroy_cq, (struct ibv_cq * cq))                                                              \
  REQUIRED(struct ibv_qp *, ibv_create_qp, (struct ibv_pd * pd, struct ibv_qp_init_attr * attr))                   \
  REQUIRED(int, ibv_modify_qp, (struct ibv_qp * qp, struct ibv_qp_attr * attr, int mask))                          \
  REQUIRED(int, ibv_destroy_qp, (struct ibv_qp * qp))                                                              \
  REQUIRED(int, ibv_query_gid, (struct ibv_context * context, uint8_t port, int index, union ibv_gid *gid))        \
  OPTIONAL(ssize_t, _ibv_query_gid_table,                                                                          \
           (struct ibv_context * context, struct ibv_gid_entry * entries, size_t n, uint32_t flags, size_t bytes)) \
  OPTIONAL(struct ibv_mr *, ibv_reg_mr_iova2,                                                                      \
           (struct ibv_pd * pd, void *addr, size_t length, uint64_t iova, unsigned int access))                    \
  OPTIONAL(struct ibv_mr *, ibv_reg_dmabuf_mr,                                                                     \
           (struct ibv_pd * pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access))                \
  OPTIONAL(int, ibv_query_ece, (struct ibv_qp * qp, struct ibv_ece * ece))                                         \
  OPTIONAL(int, ibv_set_ece, (struct ibv_qp * qp, struct ibv_ece * ece))                                           \
  OPTIONAL(const char *, ibv_wc_status_str, (int status))                                                          \
  OPTIONAL(const char *, ibv_event_type_str, (int event))                                                          \
  OPTIONAL(int, ibv_query_port_speed, (struct ibv_context * context, uint32_t port, uint64_t * speed))             \
  OPTIONAL(int, ibv_fork_init, (void))

struct rw_verbs {
#define FIELD(result, name, arguments) result(*name) arguments;
  RW_VERBS(FIELD, FIELD)
#undef FIELD
};

extern struct rw_verbs rw_verbs;

// Loads the library (NCCL_IBVERBS_LIB) once. False, with the reason logged, where it or a symbol is missing.
bool rw_verbs_load(void);

const char *rw_wc_status(int status);
const char *rw_event_text(int event);

static inline int rw_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc) {
  return cq->context->ops.poll_cq(cq, n, wc);
}

static inline int rw_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr) {
  struct ibv_send_wr *bad;
  return qp->context->ops.post_send(qp, wr, &bad);
}

#endif
