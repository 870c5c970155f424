// The part of the verbs ABI that the plugin uses, declared here so that it builds without rdma-core's headers.
// Names and values are those of the ABI; verbs_layout.def holds what the compiler checks.
#ifndef RAILWEAVE_VERBS_ABI_H
#define RAILWEAVE_VERBS_ABI_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

union ibv_gid {
  uint8_t raw[16];
  uint64_t words[2];  // big-endian: prefix, interface id
};

struct ibv_context;
struct ibv_qp;
struct ibv_cq;
struct ibv_srq;
struct ibv_send_wr;
struct ibv_recv_wr;
struct ibv_wc;

struct ibv_device {
  void *ops[2];
  int node_type;
  int transport_type;
  char name[64];
  char dev_name[64];
  char dev_path[256];
  char ibdev_path[256];
};

struct ibv_device_attr {
  char fw_ver[64];
  uint64_t node_guid;  // big-endian
  uint64_t sys_image_guid;
  uint64_t max_mr_size;
  uint64_t page_size_cap;
  uint32_t vendor_id;
  uint32_t vendor_part_id;
  uint32_t hw_ver;
  int max_qp;
  int max_qp_wr;
  unsigned int device_cap_flags;
  int max_sge;
  int max_sge_rd;
  int max_cq;
  int max_cqe;
  int max_mr;
  int max_pd;
  int max_qp_rd_atom;
  int max_ee_rd_atom;
  int max_res_rd_atom;
  int max_qp_init_rd_atom;
  int max_ee_init_rd_atom;
  int atomic_cap;
  int max_ee;
  int max_rdd;
  int max_mw;
  int max_raw_ipv6_qp;
  int max_raw_ethy_qp;
  int max_mcast_grp;
  int max_mcast_qp_attach;
  int max_total_mcast_qp_attach;
  int max_ah;
  int max_fmr;
  int max_map_per_fmr;
  int max_srq;
  int max_srq_wr;
  int max_srq_sge;
  uint16_t max_pkeys;
  uint8_t local_ca_ack_delay;
  uint8_t phys_port_cnt;
};

enum { IBV_PORT_DOWN = 1, IBV_PORT_ACTIVE = 4 };
enum { IBV_LINK_LAYER_INFINIBAND = 1, IBV_LINK_LAYER_ETHERNET = 2 };
enum { IBV_MTU_256 = 1, IBV_MTU_1024 = 3, IBV_MTU_4096 = 5 };

struct ibv_port_attr {
  int state;
  int max_mtu;
  int active_mtu;
  int gid_tbl_len;
  uint32_t port_cap_flags;
  uint32_t max_msg_sz;
  uint32_t bad_pkey_cntr;
  uint32_t qkey_viol_cntr;
  uint16_t pkey_tbl_len;
  uint16_t lid;
  uint16_t sm_lid;
  uint8_t lmc;
  uint8_t max_vl_num;
  uint8_t sm_sl;
  uint8_t subnet_timeout;
  uint8_t init_type_reply;
  uint8_t active_width;
  uint8_t active_speed;
  uint8_t phys_state;
  uint8_t link_layer;
  uint8_t flags;
  uint16_t port_cap_flags2;
};

// Functions reached through the context instead of a symbol: poll_cq, post_send, post_recv. The rest is padding.
struct ibv_context_ops {
  void *before_poll_cq[11];
  int (*poll_cq)(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
  void *before_post_send[13];
  int (*post_send)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
  int (*post_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
  void *after_post_recv[5];
};

struct ibv_context {
  struct ibv_device *device;
  struct ibv_context_ops ops;
  int cmd_fd;
  int async_fd;
  int num_comp_vectors;
  pthread_mutex_t mutex;
  void *abi_compat;
};

// What stands before a context where abi_compat says so (rdma-core since 2012): functions that came later.
struct ibv_port_attr_ex {
  struct ibv_port_attr attr;
  uint32_t active_speed_ex;
};
struct ibv_verbs_context {
  int (*query_port)(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr, size_t bytes);
  void *others[37];
  uint64_t placeholder;
  size_t size;  // of this structure, at the library's end
  struct ibv_context context;
};

struct ibv_pd {
  struct ibv_context *context;
  uint32_t handle;
};

enum {
  IBV_ACCESS_LOCAL_WRITE = 1,
  IBV_ACCESS_REMOTE_WRITE = 2,
  IBV_ACCESS_REMOTE_READ = 4,
  IBV_ACCESS_RELAXED_ORDERING = 1 << 20,
};

struct ibv_mr {
  struct ibv_context *context;
  struct ibv_pd *pd;
  void *addr;
  size_t length;
  uint32_t handle;
  uint32_t lkey;
  uint32_t rkey;
};

struct ibv_cq {
  struct ibv_context *context;
  void *channel;
  void *cq_context;
  uint32_t handle;
  int cqe;
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  uint32_t comp_events_completed;
  uint32_t async_events_completed;
};

enum { IBV_QPT_RC = 2 };
enum { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_SQE, IBV_QPS_ERR };

struct ibv_qp {
  struct ibv_context *context;
  void *qp_context;
  struct ibv_pd *pd;
  struct ibv_cq *send_cq;
  struct ibv_cq *recv_cq;
  struct ibv_srq *srq;
  uint32_t handle;
  uint32_t qp_num;
  int state;
  int qp_type;
  pthread_mutex_t mutex;
  pthread_cond_t cond;
  uint32_t events_completed;
};

struct ibv_qp_cap {
  uint32_t max_send_wr;
  uint32_t max_recv_wr;
  uint32_t max_send_sge;
  uint32_t max_recv_sge;
  uint32_t max_inline_data;
};

struct ibv_qp_init_attr {
  void *qp_context;
  struct ibv_cq *send_cq;
  struct ibv_cq *recv_cq;
  struct ibv_srq *srq;
  struct ibv_qp_cap cap;
  int qp_type;
  int sq_sig_all;
};

struct ibv_global_route {
  union ibv_gid dgid;
  uint32_t flow_label;
  uint8_t sgid_index;
  uint8_t hop_limit;
  uint8_t traffic_class;
};

struct ibv_ah_attr {
  struct ibv_global_route grh;
  uint16_t dlid;
  uint8_t sl;
  uint8_t src_path_bits;
  uint8_t static_rate;
  uint8_t is_global;
  uint8_t port_num;
};

enum {
  IBV_QP_STATE = 1 << 0,
  IBV_QP_ACCESS_FLAGS = 1 << 3,
  IBV_QP_PKEY_INDEX = 1 << 4,
  IBV_QP_PORT = 1 << 5,
  IBV_QP_AV = 1 << 7,
  IBV_QP_PATH_MTU = 1 << 8,
  IBV_QP_TIMEOUT = 1 << 9,
  IBV_QP_RETRY_CNT = 1 << 10,
  IBV_QP_RNR_RETRY = 1 << 11,
  IBV_QP_RQ_PSN = 1 << 12,
  IBV_QP_MAX_QP_RD_ATOMIC = 1 << 13,
  IBV_QP_MIN_RNR_TIMER = 1 << 15,
  IBV_QP_SQ_PSN = 1 << 16,
  IBV_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
  IBV_QP_DEST_QPN = 1 << 20,
};

struct ibv_qp_attr {
  int qp_state;
  int cur_qp_state;
  int path_mtu;
  int path_mig_state;
  uint32_t qkey;
  uint32_t rq_psn;
  uint32_t sq_psn;
  uint32_t dest_qp_num;
  unsigned int qp_access_flags;
  struct ibv_qp_cap cap;
  struct ibv_ah_attr ah_attr;
  struct ibv_ah_attr alt_ah_attr;
  uint16_t pkey_index;
  uint16_t alt_pkey_index;
  uint8_t en_sqd_async_notify;
  uint8_t sq_draining;
  uint8_t max_rd_atomic;
  uint8_t max_dest_rd_atomic;
  uint8_t min_rnr_timer;
  uint8_t port_num;
  uint8_t timeout;
  uint8_t retry_cnt;
  uint8_t rnr_retry;
  uint8_t alt_port_num;
  uint8_t alt_timeout;
  uint32_t rate_limit;
};

struct ibv_sge {
  uint64_t addr;
  uint32_t length;
  uint32_t lkey;
};

enum { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_READ };
enum { IBV_SEND_FENCE = 1, IBV_SEND_SIGNALED = 2, IBV_SEND_SOLICITED = 4, IBV_SEND_INLINE = 8 };

struct ibv_send_wr {
  uint64_t wr_id;
  struct ibv_send_wr *next;
  struct ibv_sge *sg_list;
  int num_sge;
  int opcode;
  unsigned int send_flags;
  uint32_t imm_data;  // big-endian
  union {
    struct {
      uint64_t remote_addr;
      uint32_t rkey;
    } rdma;
    uint8_t size[32];
  } wr;
  uint8_t after_wr[56];
};

struct ibv_recv_wr {
  uint64_t wr_id;
  struct ibv_recv_wr *next;
  struct ibv_sge *sg_list;
  int num_sge;
};

enum {
  IBV_WC_SUCCESS = 0,
  IBV_WC_LOC_LEN_ERR = 1,
  IBV_WC_LOC_PROT_ERR = 4,
  IBV_WC_WR_FLUSH_ERR = 5,
  IBV_WC_REM_INV_REQ_ERR = 9,
  IBV_WC_REM_ACCESS_ERR = 10,
  IBV_WC_RETRY_EXC_ERR = 12,
  IBV_WC_RNR_RETRY_EXC_ERR = 13,
};
enum {
  IBV_WC_SEND = 0,
  IBV_WC_RDMA_WRITE = 1,
  IBV_WC_RDMA_READ = 2,
  IBV_WC_RECV = 128,
  IBV_WC_RECV_RDMA_WITH_IMM = 129
};
enum { IBV_WC_WITH_IMM = 2 };

struct ibv_wc {
  uint64_t wr_id;
  int status;
  int opcode;
  uint32_t vendor_err;
  uint32_t byte_len;
  uint32_t imm_data;  // big-endian
  uint32_t qp_num;
  uint32_t src_qp;
  unsigned int wc_flags;
  uint16_t pkey_index;
  uint16_t slid;
  uint8_t sl;
  uint8_t dlid_path_bits;
};

enum {
  IBV_EVENT_CQ_ERR = 0,
  IBV_EVENT_QP_FATAL = 1,
  IBV_EVENT_QP_REQ_ERR = 2,
  IBV_EVENT_QP_ACCESS_ERR = 3,
  IBV_EVENT_DEVICE_FATAL = 8,
  IBV_EVENT_PORT_ACTIVE = 9,
  IBV_EVENT_PORT_ERR = 10,
  IBV_EVENT_GID_CHANGE = 18,
  IBV_EVENT_DEVICE_SPEED_CHANGE = 20,
};

struct ibv_async_event {
  union {
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    int port_num;
  } element;
  int event_type;
};

enum { IBV_GID_TYPE_IB, IBV_GID_TYPE_ROCE_V1, IBV_GID_TYPE_ROCE_V2 };

struct ibv_gid_entry {
  union ibv_gid gid;
  uint32_t gid_index;
  uint32_t port_num;
  uint32_t gid_type;
  uint32_t ndev_ifindex;
};

struct ibv_ece {
  uint32_t vendor_id;
  uint32_t options;
  uint32_t comp_mask;
};

_Static_assert(sizeof(struct ibv_verbs_context) == 648 && offsetof(struct ibv_verbs_context, size) == 312 &&
                   sizeof(struct ibv_port_attr_ex) == 56,
               "what stands before a context");
#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
#define OFFSET(type, field, bytes) _Static_assert(offsetof(type, field) == (bytes), #type "." #field);
#include "verbs_layout.def"
#undef SIZE
#undef OFFSET

#endif
