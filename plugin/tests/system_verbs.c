// Where rdma-core's header is installed: our declarations and the system's are of one layout, number by number.
#include <infiniband/verbs.h>
#include <stddef.h>

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type);
#define OFFSET(type, field, bytes) _Static_assert(offsetof(type, field) == (bytes), #type "." #field);
#include "verbs_layout.def"

_Static_assert(IBV_QPT_RC == 2 && IBV_QPS_ERR == 6 && IBV_WR_RDMA_READ == 4 && IBV_SEND_INLINE == 8, "queue pairs");
_Static_assert(IBV_WC_RECV_RDMA_WITH_IMM == 129 && IBV_WC_RETRY_EXC_ERR == 12 && IBV_WC_REM_ACCESS_ERR == 10,
               "completions");
_Static_assert(IBV_EVENT_GID_CHANGE == 18 && IBV_EVENT_PORT_ERR == 10 && IBV_EVENT_DEVICE_FATAL == 8, "events");
_Static_assert(IBV_QP_DEST_QPN == 1 << 20 && IBV_QP_MAX_QP_RD_ATOMIC == 1 << 13 && IBV_QP_AV == 1 << 7, "masks");
_Static_assert(IBV_ACCESS_RELAXED_ORDERING == 1 << 20 && IBV_GID_TYPE_ROCE_V2 == 2 && IBV_LINK_LAYER_ETHERNET == 2,
               "rest");

int main(void) { return 0; }
