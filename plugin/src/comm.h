// A connection: its queue pairs, its requests and what each part of the code remembers of it. Data only; every .c file
// that works on it has a header of its own.
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
#include "record.h"
#include "shared.h"
#include "weights.h"

enum {
  RW_REQUESTS = 256,  // requests in flight on one connection
  RW_CHUNKS = 64,     // most pieces of one message: what 6 bits of the immediate can count
  RW_SPREAD = 32,     // most queue pairs that share one message
  RW_RING = 128,      // most pieces in flight on one queue pair
  RW_RECV_WRS = 160,
  RW_SEND_WRS = 2 * RW_RING + 64,
  RW_FLUSH_WRS = 64,
};

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
  int64_t started_ms;     // of a flush
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
  int max_inline;     // bytes
  bool refused;       // the device did not take a work request: it gets no more, and is closed at the next progress
  uint8_t device[2];  // position in the virtual device: of this end, of the other
  struct rw_gid local, remote;
  int color;
  int label;            // which of those without path colors, -1: its color steers it
  uint32_t flow_label;  // as sent; 0: the driver's own
  int traffic_class, service_level;
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
  struct rw_path *path;  // what all connections know of its path (paths.h); NULL: nothing
  unsigned proven_seen;
  int64_t dead_ms;           // since when, 0: it lives
  _Atomic uint64_t died_ns;  // when it last did, CLOCK_REALTIME; atomic because telemetry reads it
  int64_t pinged_ns, last_ns;
  _Atomic uint32_t share;  // of the bytes posted lately, out of 65536
  uint64_t share_bytes;    // counters.bytes when that was last computed
  float ns_per_byte;       // measured, smoothed; 0 unknown
  int64_t slow_ms;         // since when much slower than the others, 0: it is not
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
  bool flush_broken;               // its queue pair is being replaced: no read is posted
  int64_t flush_again_ms;          // when that is tried again
  const char *flush_reason;        // why it is being replaced
  unsigned seen_gids, seen_ports;  // changes that were looked at
};

// What both ends settled when they met.
struct rw_settings {
  int traffic_class;  // of data, where the user or the communicator says; -1: as the host file has it
  uint32_t max_message;
  bool adaptive_routing, timer_kills;
  int reroute_ms, hw_timeout;
};

struct rw_requests {
  uint64_t head;    // requests started
  int outstanding;  // not done
  int n_free;
  uint16_t free[RW_REQUESTS];
  struct rw_request all[RW_REQUESTS];
};

struct rw_sender {
  uint32_t taken;            // which receives of the head request are
  uint32_t held;             // of these, those that go out together with the last
  uint16_t holds[RW_RECVS];  // their requests
  int turn;                  // of live queue pairs: the next
  struct rw_piece *pending;  // pieces that wait for a queue pair, a ring
  uint32_t pending_head, pending_tail, pending_size;
  _Atomic bool wanted;  // isend found no receive
};

struct rw_receiver {
  struct rw_request *slots[RW_SLOTS];
  uint8_t cts_qp[RW_SLOTS];         // over which a slot's entry went
  uint8_t cts_under_way[RW_SLOTS];  // writes of a slot's entry that may still arrive
  bool cts_acked[RW_SLOTS];
  int cts_unsent;  // slots whose entry no queue pair would take
  int cts_turn;
};

// Queue pairs that get new data, and how much.
struct rw_live {
  int n;
  // Twice over, so that a turn may begin anywhere and go on to the end.
  uint8_t qps[2 * RW_MAX_QPS];
  struct rw_load *loads[2 * RW_MAX_QPS];
  struct rw_load of_qp[RW_MAX_QPS];  // side by side: every message looks at all of them
  bool limited;                      // some get less than an even share at most
  bool uneven;                       // some are slower than others
  bool all_suspect;                  // they are those from which nothing comes back, for want of better
  int weigh_waited;
  unsigned costs_seen;  // generation (costs.h)
  int64_t weigh_ms;
};

// Is the process at the other end there?
struct rw_presence {
  uint64_t asked, answered, told;  // our newest question; our newest that was answered; their newest that we answered
  int64_t wanted_ms;               // when isend last found no receive
  int64_t waits_ms;                // since when this end waits, or last heard of the other; 0 while it does not wait
  int64_t asked_ms;
  int unanswered;
  int64_t alive_ms;  // last sign of life
  int64_t lost_ms;   // since when the TCP connection is lost, 0: it is not
  bool hung_up;  // by the other end's kernel: its process has ended, or the connection was cut. Else packets are lost
  bool refused;  // the host at the other end does not know of a process to redial
};

// The TCP connection beside the queue pairs, and how it is made anew.
struct rw_line {
  struct rw_link *link;
  uint64_t key;                        // names the connection when its link is made anew
  union rw_address address;            // of the accepting end's process; family 0: none
  struct rw_link *call;                // to it, while it is being called
  _Atomic(struct rw_link *) new_link;  // of the accepting end: given by the service thread
  bool call_said;
  int64_t called_ms, redial_at_ms, redial_wait_ms;
};

// When what was last looked at.
struct rw_times {
  int64_t tick_ms, looked_ms, link_ms;
  int64_t all_dead_ms;  // since when no path lives, 0: one does
  unsigned cause_seen;  // generation of the first failure (failure.h) that the other end was told of
};

enum rw_owner { RW_IDLE, RW_PROXY, RW_SERVICE };

struct rw_comm {
  _Atomic int owner;  // enum rw_owner
  bool active;        // the proxy thread owns it
  bool sends;
  bool set_up;       // it is in use
  bool any_refused;  // a queue pair is (rw_qp.refused)
  int n_qps, n_devices, n_remote_devices;
  int64_t now_ms;
  struct rw_vdevice v;
  struct rw_comm_device devices[RW_MAX_MERGED];
  struct rw_end local, remote;
  struct rw_pair_table table;
  struct rw_settings settings;
  struct rw_qp *qps;
  struct rw_shared *shared;
  uint64_t remote_shared;

  struct rw_requests requests;
  struct rw_sender sender;
  struct rw_receiver receiver;
  struct rw_live live;
  struct rw_times times;
  struct rw_presence presence;
  struct rw_line line;
  struct {
    bool gone;  // it closed the connection, or has failed
    int64_t gone_ms;
  } peer;
  int control_turn;
  _Atomic int async_event;  // of a queue pair or completion queue, plus 1; set by the event thread
  _Atomic ncclResult_t error;
  char failure[1024];
  struct rw_comm *next;  // in the service's list
};

static inline int rw_state(const struct rw_qp *q) { return atomic_load_explicit(&q->state, memory_order_relaxed); }
static inline void rw_set_state(struct rw_qp *q, int state) {
  atomic_store_explicit(&q->state, state, memory_order_relaxed);
}
static inline void rw_count(_Atomic uint64_t *counter, uint64_t n) {
  atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n, memory_order_relaxed);
}

static inline void rw_qp_refuses(struct rw_comm *c, struct rw_qp *q) {
  q->refused = true;
  c->any_refused = true;
}

static inline void rw_presence_heard(struct rw_presence *p, int64_t now_ms) {
  p->alive_ms = now_ms;
  p->unanswered = 0;
  if (p->waits_ms) p->waits_ms = now_ms;
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
  if (c->requests.outstanding) return;
  c->active = false;
  atomic_store_explicit(&c->owner, RW_IDLE, memory_order_release);
}

static inline struct rw_request *rw_request_get(struct rw_comm *c, enum rw_request_kind kind) {
  if (c->requests.n_free == 0) return NULL;
  struct rw_request *r = &c->requests.all[c->requests.free[--c->requests.n_free]];
  r->kind = kind;
  r->done = false;
  c->requests.outstanding++;
  return r;
}

static inline void rw_request_put(struct rw_request *r) {
  struct rw_comm *c = r->comm;
  r->kind = RW_FREE;
  c->requests.free[c->requests.n_free++] = (uint16_t)(r - c->requests.all);
  c->requests.outstanding--;
}

// What a completion is of, in the number of its work request.
enum rw_work {
  RW_WORK_PIECE,
  RW_WORK_BULK,
  RW_WORK_QUIET,  // completes by itself in an error alone: the notification behind it tells of it
  RW_WORK_GROUP,  // that notification
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

#endif
