// CPU time of isend, irecv and test for 1 to 32 queue pairs, beside the least that one queue pair needs: a receive
// posted, a write with immediate posted, both completions polled. Both ends are in this process, over fake verbs that
// deliver at once, so that what is measured is the calls. The fake's own time is part of each; the plain path shows how
// much.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "connect.h"
#include "params.h"
#include "process.h"
#include "qp.h"
#include "request.h"
#include "send.h"
#include "verbs.h"

enum { DEPTH = 8, ROUNDS = 5000, PIECE = 128 };

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);  // of this thread alone: the machine may be busy
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct times {
  double isend, irecv, test_send, test_recv;
};

// Per round; the median leaves out rounds in which an interrupt or another process' cache lines were paid for.
static double rounds[4][ROUNDS];

static int by_value(const void *a, const void *b) {
  return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static struct times medians(void) {
  double m[4];
  for (int i = 0; i < 4; i++) {
    qsort(rounds[i], ROUNDS, sizeof(double), by_value);
    m[i] = rounds[i][ROUNDS / 2] / DEPTH;
  }
  return (struct times){m[0], m[1], m[2], m[3]};
}

static void must(bool good, const char *what) {
  if (good) return;
  fprintf(stderr, "cpu-bench: %s fails\n", what);
  exit(1);
}

static struct times measure(struct rw_comm *out, struct rw_comm *in, size_t size, void *memory, struct rw_mr *mr) {
  void *sends[DEPTH], *recvs[DEPTH], *mrs[1] = {mr};
  int done, bytes, tag = 0;
  for (int round = -ROUNDS / 10; round < ROUNDS; round++) {
    double at[5];
    at[0] = now_ns();
    for (int i = 0; i < DEPTH; i++) {
      void *to = (char *)memory + (DEPTH + i) * 65536;
      for (recvs[i] = NULL; !recvs[i];) must(rw_irecv(in, 1, &to, &size, &tag, mrs, &recvs[i]) == ncclSuccess, "irecv");
    }
    at[1] = now_ns();
    for (int i = 0; i < DEPTH; i++)
      for (sends[i] = NULL; !sends[i];)
        must(rw_isend(out, (char *)memory + i * 65536, size, tag, mr, NULL, &sends[i]) == ncclSuccess, "isend");
    at[2] = now_ns();
    for (int i = 0; i < DEPTH; i++)
      for (done = 0; !done;) must(rw_test(recvs[i], &done, &bytes) == ncclSuccess, "test");
    at[3] = now_ns();
    for (int i = 0; i < DEPTH; i++)
      for (done = 0; !done;) must(rw_test(sends[i], &done, &bytes) == ncclSuccess, "test");
    at[4] = now_ns();
    if (round < 0) continue;  // warming up
    rounds[0][round] = at[2] - at[1], rounds[1][round] = at[1] - at[0], rounds[2][round] = at[4] - at[3],
    rounds[3][round] = at[3] - at[2];
  }
  return medians();
}

struct end {
  struct ibv_cq *cq;
  struct ibv_qp *qp;
};

static void open_end(struct end *e, struct rw_device *d, struct ibv_pd *pd) {
  e->cq = rw_verbs.ibv_create_cq(d->context, 64, NULL, NULL, 0);
  struct ibv_qp_init_attr init = {.send_cq = e->cq,
                                  .recv_cq = e->cq,
                                  .qp_type = IBV_QPT_RC,
                                  .cap = {.max_send_wr = 32, .max_recv_wr = 32, .max_send_sge = 1, .max_recv_sge = 1}};
  e->qp = rw_verbs.ibv_create_qp(pd, &init);
}

static void connect_end(const struct end *e, const struct end *other, const struct rw_gid *gid) {
  const int steps[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};
  for (int i = 0; i < 3; i++) {
    struct ibv_qp_attr attr = {
        .qp_state = steps[i], .port_num = 1, .dest_qp_num = other->qp->qp_num, .timeout = 14, .retry_cnt = 7};
    attr.ah_attr = (struct ibv_ah_attr){
        .is_global = 1, .port_num = 1, .grh = {.dgid = gid->gid, .sgid_index = (uint8_t)gid->index}};
    must(rw_qp_modify(e->qp, &attr, IBV_QP_STATE, true), "modify_qp");
  }
}

// One queue pair, no plugin: the write goes where the other end said once.
static struct times plain(void *memory, struct rw_mr *mr) {
  struct rw_device *d = rw_device(0);
  struct rw_gid_list gids = rw_device_gids(d);
  struct end out, in;
  struct ibv_wc wc;
  open_end(&out, d, mr->mrs[0]->pd);
  open_end(&in, d, mr->mrs[0]->pd);
  connect_end(&out, &in, &gids.gids[0]);
  connect_end(&in, &out, &gids.gids[0]);
  for (int round = -ROUNDS / 10; round < ROUNDS; round++) {
    double at[5];
    at[0] = now_ns();
    for (int i = 0; i < DEPTH; i++)
      must(in.qp->context->ops.post_recv(in.qp, &(struct ibv_recv_wr){.wr_id = 1}, &(struct ibv_recv_wr *){NULL}) == 0,
           "post_recv");
    at[1] = now_ns();
    for (int i = 0; i < DEPTH; i++) {
      struct ibv_sge sge = {.addr = (uintptr_t)memory, .length = PIECE, .lkey = mr->mrs[0]->lkey};
      struct ibv_send_wr wr = {.sg_list = &sge,
                               .num_sge = 1,
                               .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                               .send_flags = IBV_SEND_SIGNALED,
                               .wr.rdma = {.remote_addr = (uintptr_t)memory + 65536, .rkey = mr->mrs[0]->rkey}};
      must(rw_post_send(out.qp, &wr) == 0, "post_send");
    }
    at[2] = now_ns();
    for (int i = 0; i < DEPTH; i++) must(rw_poll_cq(in.cq, 1, &wc) == 1, "receive");
    at[3] = now_ns();
    for (int i = 0; i < DEPTH; i++) must(rw_poll_cq(out.cq, 1, &wc) == 1, "send");
    at[4] = now_ns();
    if (round < 0) continue;
    rounds[0][round] = at[2] - at[1], rounds[1][round] = at[1] - at[0], rounds[2][round] = at[4] - at[3],
    rounds[3][round] = at[3] - at[2];
  }
  rw_verbs.ibv_destroy_qp(out.qp), rw_verbs.ibv_destroy_qp(in.qp);
  rw_verbs.ibv_destroy_cq(out.cq), rw_verbs.ibv_destroy_cq(in.cq);
  return medians();
}

static void print(const char *name, int qps, struct times t) {
  printf("%s,%d,%.0f,%.0f,%.0f,%.0f\n", name, qps, t.isend, t.irecv, t.test_send, t.test_recv);
  fflush(stdout);
}

int main(void) {
  static const int counts[] = {1, 2, 4, 8, 16, 32};
  void *memory = aligned_alloc(4096, 2 * DEPTH * 65536);
  memset(memory, 1, 2 * DEPTH * 65536);
  must(rw_process_open() == ncclSuccess,
       "no device: RAILWEAVE_FAKE_FABRIC, RAILWEAVE_FAKE_HOST, NCCL_IBVERBS_LIB; init");
  puts("mode,qps,isend_ns,irecv_ns,test_send_ns,test_recv_ns");
  for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
    unsigned char handle[NCCL_NET_HANDLE_MAXSIZE];
    void *listening, *out = NULL, *in = NULL;
    struct rw_mr *mr;
    rw_params.qps = counts[i];
    must(rw_listen_on(NULL, 0, handle, &listening) == ncclSuccess, "listen");
    while (!out || !in) {
      if (!out) must(rw_connect(NULL, 0, handle, &out) == ncclSuccess, "connect");
      if (!in) must(rw_accept(listening, &in) == ncclSuccess, "accept");
    }
    must(rw_mr_register(rw_vdevice(0), memory, 2 * DEPTH * 65536, NCCL_PTR_HOST, 0, -1, &mr) == ncclSuccess, "regMr");
    if (i == 0) print("plain", 1, plain(memory, mr));
    rw_params.split = 0;
    print("one queue pair per message", counts[i], measure(out, in, PIECE, memory, mr));
    rw_params.split = 1;
    print("split over all", counts[i], measure(out, in, (size_t)PIECE * (size_t)counts[i], memory, mr));
    rw_mr_deregister(rw_vdevice(0), mr);
    rw_comm_close(out);
    rw_comm_close(in);
    rw_close_listening(listening);
  }
  rw_process_close();
  free(memory);
  return 0;
}
