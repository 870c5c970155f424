// Inside the fake NIC. One lock guards everything of a process; one thread, the engine, moves packets. It follows the
// reliable connection of InfiniBand as far as a user of verbs can tell: packets in order, cumulative acknowledgements,
// going back after a loss, retries that run out, flushes in the error state.
#ifndef RAILWEAVE_FAKE_NIC_H
#define RAILWEAVE_FAKE_NIC_H

#include <poll.h>

#include "fabric.h"
#include "verbs_abi.h"

enum { FAKE_PACKET = 32768, FAKE_WINDOW = 64, FAKE_QPS = 4096, FAKE_MRS = 65536, FAKE_SGES = 2 };

enum fake_type { FAKE_DATA, FAKE_ACK, FAKE_NAK_SEQUENCE, FAKE_NAK_RNR, FAKE_NAK_ACCESS, FAKE_READ_RESPONSE };

struct fake_header {
  uint32_t type, source_qp, target_qp, psn;
  uint32_t length, opcode, imm, rkey;
  uint32_t first, last, total;
  int32_t source_end, target_end;
  uint32_t flow_label;
  uint64_t address, deliver_ns;
};

struct fake_packet {
  struct fake_header h;
  uint8_t data[FAKE_PACKET];
};

struct fake_send {
  uint64_t wr_id, remote_address, length;
  uint32_t rkey, imm, first_psn, packets;
  int opcode, n_sge;
  bool signaled, copied;
  struct ibv_sge sges[FAKE_SGES];
  uint8_t inline_data[64];
};

struct fake_recv {
  uint64_t wr_id;
  int n_sge;
  struct ibv_sge sge;
};

struct fake_cq {
  struct ibv_cq base;
  uint32_t size;
  _Atomic uint32_t head, tail;
  struct ibv_wc *entries;
};

struct fake_qp {
  struct ibv_qp base;
  int host, device;  // of this end
  int source_end, target_end;
  uint64_t source_interface;  // of the address the queue pair was connected with
  uint32_t target_qp, flow_label;
  int timeout, retry_count, retries;
  struct fake_send *sends;
  uint32_t send_size, send_head, send_tail;  // head: oldest not acknowledged
  struct fake_recv *recvs;
  uint32_t recv_size, recv_head, recv_tail;
  uint32_t next_psn, unacked_psn, last_psn;  // to send next, oldest not acknowledged, one past what was posted
  uint32_t expected_psn;
  uint64_t timer_ns, wait_until_ns;
  uint32_t arrived_bytes;
  bool nak_sent;
};

struct fake_mr {
  struct ibv_mr base;
  uint8_t *memory;  // where it lies in this process: elsewhere than addr says for a DMA-BUF
  size_t mapped;
};

struct fake_context {
  struct ibv_context base;
  int device;
  int event_write;
  bool port_up;
  uint32_t gid_changes;
};

struct fake_nic {
  pthread_mutex_t lock;
  struct fake_fabric *fabric;
  int host;
  bool direct;     // both ends are in this process: deliver in post_send
  bool no_labels;  // as kernels before 5.8, which make the UDP source port of the queue pairs' numbers
  bool running, stopping;
  pthread_t engine;
  int wake_fd;
  _Atomic bool asleep;
  struct fake_qp *qps[FAKE_QPS];
  int n_qps;
  struct ibv_mr *mrs[FAKE_MRS];
  struct fake_context *contexts[FAKE_DEVICES];
  uint64_t free_ns[FAKE_DEVICES * FAKE_GIDS][FAKE_ENDS];  // when a path with a rate can take the next packet
  uint64_t random;
};

extern struct fake_nic fake_nic;

// queues.c
int fake_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int fake_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int fake_gid_index(const struct fake_port *port, int gid);

// memory.c: bytes move as a NIC moves them, unseen by sanitizers of threads.
void fake_copy(void *to, const void *from, size_t n);
// The memory behind a key, NULL where the access is outside it.
void *fake_memory(uint32_t key, uint64_t address, uint64_t length);

// protocol.c, under the lock
bool fake_has_address(const struct fake_qp *q);  // its own address is still there
void fake_complete(struct ibv_cq *cq, const struct ibv_wc *wc);
void fake_qp_error(struct fake_qp *q, int status);                     // status of the oldest send; others are flushed
bool fake_transmit(struct fake_qp *q, uint64_t now, uint64_t *again);  // one packet; again: when to try next
void fake_timers(struct fake_qp *q, uint64_t now, uint64_t *again);
void fake_deliver(struct fake_packet *p);

// wires.c, under the lock. Takes paths' faults and delays into account.
enum fake_sent {
  FAKE_FULL,
  FAKE_SENT,
  FAKE_ARRIVED
};  // arrived: the other end is in this process, and has to be given it
enum { FAKE_INCOMING = 64, FAKE_WIRES = 1 + FAKE_INCOMING + FAKE_HOSTS };
enum fake_sent fake_wire_send(struct fake_packet *p, uint64_t now);
// Gives what has arrived by now; again: when the next arrives that is under way.
bool fake_wires_read(uint64_t now, uint64_t *again, void (*deliver)(struct fake_packet *));
int fake_wires_poll(struct pollfd fds[FAKE_WIRES]);  // what to wait for; the number of them
void fake_wires_accept(const struct pollfd fds[FAKE_WIRES]);
void fake_wires_open(void);
void fake_wires_close(void);

// engine.c, under the lock
void fake_engine_start(void);
void fake_engine_stop(void);
void fake_engine_wake(void);

#endif
