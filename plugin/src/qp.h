// One queue pair at its place in a connection.
#ifndef RAILWEAVE_QP_H
#define RAILWEAVE_QP_H

#include "comm.h"

// create gives it receives and the state INIT.
bool rw_qp_create(struct rw_comm *c, struct rw_qp *q);
bool rw_qp_connect(struct rw_comm *c, struct rw_qp *q);
void rw_qp_to_error(struct rw_qp *q);
void rw_qp_destroy(struct rw_qp *q);
bool rw_qp_refill(struct rw_comm *c, struct rw_qp *q, int n);

// patient: waits and repeats where the device is busy. Only while a connection is set up; later somebody else waits.
bool rw_qp_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, bool patient);
void rw_qp_name(const struct rw_comm *c, const struct rw_qp *q, char *text, size_t size);

// The UDP source port of packets with a flow label (rdma_flow_label_to_udp_sport() of Linux).
static inline unsigned rw_udp_port(uint32_t label) { return ((label & 0x3fff) ^ (label & 0xfc000) >> 14) | 0xc000; }

#endif
