// A connection: its queue pairs, requests and the memory that the other end writes to.
//
// One thread at a time works on a connection. While requests are under way that is NCCL's proxy thread, which then
// needs no lock; while none is, the service thread looks after it (service.c). owner says who; it changes hands only
// when the first request starts and the last one ends.
#ifndef RAILWEAVE_COMM_H
#define RAILWEAVE_COMM_H

#include "histogram.h"
#include "link.h"
#include "mr.h"
#include "pairs.h"
#include "presence.h"
#include "record.h"
#include "weights.h"

enum {
  RW_SLOTS = 256,     // clear-to-send entries in flight; a request's number modulo this is its slot
  RW_RECVS = 8,       // receives grouped in one request
  RW_REQUESTS = 256,  // requests in flight on one connection
  RW_CHUNKS = 64,     // most pieces of one message: what 6 bits of the immediate can count
  RW_SPREAD = 32,     // most queue pairs that share one message
  RW_RING = 128,      // most pieces in flight on one queue pair
  RW_RECV_WRS = 160,
  RW_SEND_WRS = 2 * RW_RING + 64,
  RW_FLUSH_WRS = 64,
};

// What the receiver tells the sender, little-endian: where to put the message, and how much fits. number comes last, so
// that an entry whose number is right is whole.
struct rw_cts {
  uint64_t address, size;
  uint32_t rkeys[RW_MAX_MERGED];
  uint32_t tag, count;
  uint64_t number;  // of the request, from 1
};
_Static_assert(sizeof(struct rw_cts) == 64, "struct rw_cts");

// Memory of a connection that the other end writes to, and from which this end writes to it: the same layout on both.
struct rw_shared {
  struct rw_cts cts_in[RW_SLOTS][RW_RECVS], cts_out[RW_SLOTS][RW_RECVS];
  struct rw_record record_in[RW_MAX_QPS], record_out[RW_MAX_QPS];
  uint64_t size_in[RW_SLOTS][RW_RECVS], size_out[RW_SLOTS][RW_RECVS];  // of messages, where bulk data goes separately
  uint64_t probe, flushed;
  struct rw_beat beat_in, beat_out;
};

// The immediate of a piece: which request and receive it belongs to and which of how many pieces it is.
// CONTROL marks a record instead (the queue pair's number in the low bits), SIZED a message whose size lies in size_in.
#define RW_IMM_CONTROL (1u << 31)
#define RW_IMM_SIZED (1u << 30)
static inline uint32_t rw_imm(uint64_t id, unsigned receive, unsigned piece, unsigned pieces) {
  return (uint32_t)(id / RW_SLOTS % 128) << 23 | (uint32_t)(id % RW_SLOTS) << 15 | receive << 12 | piece << 6 |
         (pieces - 1);
}

enum rw_request_kind { RW_FREE, RW_SEND, RW_RECV, RW_FLUSH };

struct rw_comm;

struct rw_request {
  enum rw_request_kind kind;
  struct rw_comm *comm;
  uint64_t id;
  int n;  // of a receive: how many; of a send: which of the group
  bool done;
  bool received[RW_RECVS];  // of a receive: which are whole
  uint64_t seen[RW_RECVS];  // pieces that came, one bit each
  size_t sizes[RW_RECVS];
  // Of a send.
  uint64_t data, address;
  uint32_t rkeys[RW_MAX_MERGED];
  const struct rw_mr *mr;
  int left;               // pieces, or reads of a flush, not complete
  uint32_t devices_left;  // of a flush: those whose read is not posted
  void *phandle;
};

struct rw_piece {
  uint16_t request;
  uint8_t index, count;
  uint32_t length;
  uint64_t offset;
  int64_t posted_ns;
  void *event;  // the profiler's
};

enum rw_qp_state {
  RW_QP_LIVE,
  RW_QP_CLOSING,  // in error at this end, draining or waiting for the other end to close as well
  RW_QP_CLOSED,   // closed at both ends; what it did not deliver has gone elsewhere
  RW_QP_OPENING,  // a new queue pair waits for its counterpart
  RW_QP_PROBING,  // connected, not proven
};

struct rw_qp_counters {
  _Atomic uint64_t bytes, messages, pieces, clear_to_sends, resent, deaths, recoveries, errors;
  struct rw_histogram latency;
};

struct rw_qp {
  struct ibv_qp *qp;
  _Atomic int state;  // enum rw_qp_state; atomic because telemetry reads it
  _Atomic bool suspect;
  uint8_t device[2];  // position in the virtual device: of this end, of the other
  struct rw_gid local, remote;
  int color;
  uint32_t psn, remote_qpn, remote_psn;
  struct ibv_ece ece, remote_ece;  // vendor 0: none
  uint32_t epoch;                  // which queue pair this is at this place, from 0

  uint32_t posted, acked;  // pieces since the epoch began; between them lies the ring
  struct rw_piece *ring;
  uint32_t arrived;          // pieces that came in since the epoch began
  int sends_out, recvs_out;  // work requests not completed
  int recvs_missing;
  uint8_t stuck_cts[RW_SLOTS];  // writes of a slot's entry that failed here, yet may arrive until the other end closes
  bool errored;                 // moved to the error state

  int64_t progress_ms;  // when something last completed, or was posted while nothing was under way
  int64_t deadline_ms, recover_at_ms;
  int recover_wait_ms;
  int64_t pinged_ns, last_ns;
  _Atomic uint32_t share;  // of the bytes posted lately, out of 65536
  uint64_t share_bytes;    // counters.bytes when that was last computed
  float ns_per_byte;       // measured, smoothed; 0 unknown
  int ramp;                // percent of an even share that a recovered queue pair gets at most
  char reason[160];        // of the last death

  struct rw_record_state record;
  struct rw_qp_counters counters;
};

struct rw_comm_device {
  struct rw_device *device;
  struct ibv_pd *pd;
  struct ibv_cq *cq;
  struct ibv_mr *shared_mr;
  uint32_t remote_rkey;  // of the other end's shared memory, by position there
  struct ibv_qp *flush_qp;
  struct ibv_mr *flush_mr;
  union ibv_gid flush_gid;
  int flush_out;                   // reads under way
  int64_t flush_broken_ms;         // since when it is being replaced, 0: it works
  unsigned seen_gids, seen_ports;  // changes that were looked at
};

struct rw_comm {
  _Atomic int owner;  // enum rw_owner
  bool active;        // the proxy thread owns it
  bool sends;
  int n_qps, n_devices, n_remote_devices;
  int outstanding;
  struct rw_vdevice v;
  struct rw_comm_device devices[RW_MAX_MERGED];
  struct rw_end local, remote;
  struct rw_pair_table table;
  struct rw_qp *qps;
  struct rw_shared *shared;
  uint64_t remote_shared;
  int traffic_class, max_inline;
  uint32_t max_message;
  bool adaptive_routing, timer_kills;
  bool set_up;  // it is in use
  int reroute_ms, hw_timeout;

  uint64_t head;  // requests started
  struct rw_request requests[RW_REQUESTS];
  uint16_t free_requests[RW_REQUESTS];
  int n_free;
  // Sender: which receives of the head request are taken. Receiver: the request of a slot, and its clear-to-send.
  uint32_t taken;
  struct rw_request *slots[RW_SLOTS];
  uint8_t cts_qp[RW_SLOTS];
  uint8_t cts_under_way[RW_SLOTS];  // writes of this slot's entry that may still arrive
  bool cts_acked[RW_SLOTS];
  int cts_unsent;  // slots whose entry no queue pair would take
  int cts_turn, turn, control_turn;

  struct rw_piece *pending;  // pieces that wait for a queue pair
  uint32_t pending_head, pending_tail, pending_size;

  int n_live;  // queue pairs that get new data, and which
  // Twice over, so that a turn may begin anywhere and go on to the end.
  uint8_t live[2 * RW_MAX_QPS];
  struct rw_load *live_loads[2 * RW_MAX_QPS];
  struct rw_load loads[RW_MAX_QPS];  // by queue pair, side by side: every message looks at all of them
  bool all_suspect;                  // they are those from which nothing comes back, for want of better
  int weigh_waited;
  unsigned costs_seen;  // generation (costs.h)
  int64_t now_ms, tick_ms, looked_ms, link_ms, weigh_ms, all_dead_ms;
  bool peer_gone;
  int64_t gone_ms;
  struct rw_presence presence;
  _Atomic bool wanted;      // isend found no receive
  _Atomic int async_event;  // of a queue pair or completion queue, plus 1; set by the event thread
  struct rw_link *link;
  uint64_t key;                        // names the connection when its link is made anew
  union rw_address redial;             // of the accepting end's process; family 0: none
  struct rw_link *call;                // to it, while it is being called
  _Atomic(struct rw_link *) new_link;  // of the accepting end: given by the service thread
  bool call_said;
  int64_t called_ms, redial_at_ms, redial_wait_ms;
  _Atomic ncclResult_t error;
  char failure[1024];
  struct rw_comm *next;  // in the service's list
};

enum rw_owner { RW_IDLE, RW_PROXY, RW_SERVICE };

static inline int rw_state(const struct rw_qp *q) { return atomic_load_explicit(&q->state, memory_order_relaxed); }
static inline void rw_set_state(struct rw_qp *q, int state) {
  atomic_store_explicit(&q->state, state, memory_order_relaxed);
}
static inline void rw_count(_Atomic uint64_t *counter, uint64_t n) {
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

// Takes the connection for the proxy thread; false while the service thread has it.
static inline bool rw_comm_enter(struct rw_comm *c) {
  int idle = RW_IDLE;
  if (!c->active)
    c->active =
        atomic_compare_exchange_strong_explicit(&c->owner, &idle, RW_PROXY, memory_order_acquire, memory_order_relaxed);
  return c->active;
}

static inline void rw_comm_leave(struct rw_comm *c) {
  if (c->outstanding) return;
  c->active = false;
  atomic_store_explicit(&c->owner, RW_IDLE, memory_order_release);
}

static inline struct rw_request *rw_request_get(struct rw_comm *c, enum rw_request_kind kind) {
  if (c->n_free == 0) return NULL;
  struct rw_request *r = &c->requests[c->free_requests[--c->n_free]];
  r->kind = kind;
  r->done = false;
  c->outstanding++;
  return r;
}

static inline void rw_request_put(struct rw_request *r) {
  struct rw_comm *c = r->comm;
  r->kind = RW_FREE;
  c->free_requests[c->n_free++] = (uint16_t)(r - c->requests);
  c->outstanding--;
}

// connect.c
struct rw_context {
  int traffic_class;  // NCCL_NET_TRAFFIC_CLASS_UNDEF where the communicator sets none
};
ncclResult_t rw_listen_on(const struct rw_context *context, int device, void *handle, void **listening);
ncclResult_t rw_connect(const struct rw_context *context, int device, void *handle, void **comm);
ncclResult_t rw_accept(void *listening, void **comm);
ncclResult_t rw_close_listening(void *listening);
ncclResult_t rw_comm_close(struct rw_comm *c);

// comm.c
struct rw_comm *rw_comm_new(const struct rw_vdevice *v, bool sends);
void rw_comm_free(struct rw_comm *c);
ncclResult_t rw_comm_prepare(
    struct rw_comm *c);  // once table, local, remote are known: makes every queue pair, not connected

// qp.c: a queue pair at its place; create gives it receives and the state INIT.
bool rw_qp_create(struct rw_comm *c, struct rw_qp *q);
bool rw_qp_connect(struct rw_comm *c, struct rw_qp *q);
void rw_qp_to_error(struct rw_qp *q);
void rw_qp_destroy(struct rw_qp *q);
bool rw_qp_refill(struct rw_comm *c, struct rw_qp *q, int n);
// patient: waits and repeats where the device is busy. Only while a connection is set up; later somebody else waits.
bool rw_qp_modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask, bool patient);
void rw_qp_name(const struct rw_comm *c, const struct rw_qp *q, char *text, size_t size);

// send.c, recv.c, flush.c
ncclResult_t rw_isend(struct rw_comm *c, void *data, size_t size, int tag, const struct rw_mr *mr, void *phandle,
                      void **request);
ncclResult_t rw_irecv(struct rw_comm *c, int n, void **data, const size_t *sizes, const int *tags, void **mrs,
                      void **request);
ncclResult_t rw_iflush(struct rw_comm *c, int n, void **data, const int *sizes, void **mrs, void **request);
ncclResult_t rw_test(struct rw_request *r, int *done, int *sizes);
void rw_send_pending(struct rw_comm *c);
void rw_send_acked(struct rw_comm *c, struct rw_qp *q, int64_t now_ns);
void rw_send_lost(struct rw_comm *c, struct rw_qp *q, uint32_t arrived);
void rw_send_complete_below(struct rw_comm *c, uint64_t complete);
void rw_recv_piece(struct rw_comm *c, uint32_t imm, uint32_t bytes);
void rw_cts_acked(struct rw_comm *c, int slot);
void rw_cts_failed(struct rw_comm *c, struct rw_qp *q, int slot);
void rw_cts_released(struct rw_comm *c, struct rw_qp *q);
void rw_cts_elsewhere(struct rw_comm *c, const struct rw_qp *suspect);
void rw_cts_post_unsent(struct rw_comm *c);
bool rw_flush_create(struct rw_comm *c, struct rw_comm_device *d);
void rw_flush_done(struct rw_comm *c, int device, struct rw_request *r, int status);
void rw_flush_break(struct rw_comm *c, int device);
void rw_flush_repair(struct rw_comm *c, int device);

// progress.c
enum rw_work {
  RW_WORK_PIECE,
  RW_WORK_BULK,
  RW_WORK_CTS,
  RW_WORK_CONTROL,
  RW_WORK_PROBE,
  RW_WORK_RECV,
  RW_WORK_FLUSH,
  RW_WORK_PING,
  RW_WORK_BEAT
};
static inline uint64_t rw_work_id(enum rw_work work, unsigned qp, unsigned value) {
  return (uint64_t)work << 56 | (uint64_t)qp << 32 | value;
}
void rw_progress(struct rw_comm *c);
int64_t rw_now_ns(void);

// failover.c, recovery.c, control.c, tick.c, live.c, failure.c
void rw_qp_close(struct rw_comm *c, struct rw_qp *q, const char *format, ...) __attribute__((format(printf, 3, 4)));
void rw_qp_drained(struct rw_comm *c, struct rw_qp *q);
void rw_record_arrived(struct rw_comm *c, int index, const struct rw_record *r);
void rw_record_publish(struct rw_comm *c, struct rw_qp *q);
void rw_record_repeat(struct rw_comm *c, struct rw_qp *q);
struct rw_qp *rw_record_carrier(struct rw_comm *c);  // the best queue pair for a word to the other end, NULL: none
void rw_recovery_start(struct rw_comm *c, struct rw_qp *q);
void rw_recovery_answer(struct rw_comm *c, struct rw_qp *q, const struct rw_record_fields *peer);
void rw_recovery_connect(struct rw_comm *c, struct rw_qp *q, const struct rw_record_fields *peer);
bool rw_probe(struct rw_comm *c, struct rw_qp *q, enum rw_work work);  // a small write to the other end
void rw_recovery_proven(struct rw_comm *c, struct rw_qp *q);
void rw_tick(struct rw_comm *c);
void rw_live_update(struct rw_comm *c);  // after a change of a queue pair's state
void rw_live_weigh(struct rw_comm *c);   // now and then, of a sender
void rw_fail(struct rw_comm *c, ncclResult_t error, const char *format, ...) __attribute__((format(printf, 3, 4)));
void rw_fail_all_dead(struct rw_comm *c);

#endif
