// Setting a connection up and taking it down. connect and accept are called again and again until they give a
// connection; each call goes as far as it can without waiting.
//
//   connecting                         accepting
//       HELLO    devices, addresses →     computes the pair table, makes queue pairs
//       ← TABLE  devices, hash, queue pairs
//       computes the table, compares
//       QUEUE_PAIRS  hash, queue pairs →  connects them
//       ← READY
#include "connect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "clock.h"
#include "failure.h"
#include "log.h"
#include "params.h"
#include "pending.h"
#include "redial.h"
#include "resources.h"
#include "service.h"
#include "setup.h"

enum { HANDLE_MAGIC = 0x52574831 };

struct connecting {
  enum { TO_CONNECT, TO_GET_TABLE, TO_GET_READY } step;
  int refusals;
  int64_t again_ms;  // when to call again, 0: a call is under way
  struct rw_comm *comm;
};

// What listen gives and connect gets; on the connecting side it also remembers how far it got, since NCCL hands the
// same bytes in again.
struct handle {
  uint32_t magic, version;
  uint64_t nonce;
  union rw_address address;
  struct connecting *connecting;
  char host[48];  // of the listening end; other versions may have none here
};
_Static_assert(sizeof(struct handle) <= NCCL_NET_HANDLE_MAXSIZE, "struct handle");

struct listening {
  struct rw_pending pending;
  int traffic_class;
  uint64_t nonce;
  const struct rw_vdevice *v;
  struct rw_comm *comm;  // with the end that is connecting now
};

static int traffic_class(int of_communicator) {
  if (rw_params.tc >= 0) return rw_params.tc;
  return of_communicator != NCCL_NET_TRAFFIC_CLASS_UNDEF ? of_communicator : -1;
}

ncclResult_t rw_listen_on(const struct rw_context *context, int device, void *opaque, void **out) {
  const struct rw_vdevice *v = rw_vdevice(device);
  struct listening *l = v ? calloc(1, sizeof(*l)) : NULL;
  if (!l) return v ? ncclSystemError : ncclInvalidArgument;
  struct handle h = {.magic = HANDLE_MAGIC, .version = RW_WIRE_VERSION};
  if (getrandom(&h.nonce, sizeof(h.nonce), 0) != sizeof(h.nonce)) h.nonce = (uintptr_t)l ^ (uint64_t)rw_now_ns();
  gethostname(h.host, sizeof(h.host) - 1);
  l->pending.fd = rw_listen(&h.address);
  l->nonce = h.nonce;
  l->traffic_class = context ? context->traffic_class : NCCL_NET_TRAFFIC_CLASS_UNDEF;
  l->v = v;
  if (l->pending.fd < 0) {
    free(l);
    return ncclSystemError;
  }
  memset(opaque, 0, NCCL_NET_HANDLE_MAXSIZE);
  memcpy(opaque, &h, sizeof(h));
  *out = l;
  return ncclSuccess;
}

static ncclResult_t give_up(struct connecting *s, struct handle *h, const char *why) {
  char at[64];
  rw_warn("no connection to %s: %s", rw_address_text(&h->address, at, sizeof(at)), why);
  if (s) rw_comm_free(s->comm);
  free(s);
  h->connecting = NULL;
  return ncclSystemError;
}

static bool send_hello(struct rw_comm *c, uint64_t nonce) {
  struct rw_cursor b;
  if (!rw_link_begin(c->line.link, &b)) return false;
  rw_put64(&b, nonce);
  rw_end_put(&b, &c->local);
  rw_link_send(c->line.link, RW_HELLO, &b);
  return true;
}

// Returns NULL where all is well.
static const char *take_table(struct rw_comm *c, const union rw_address *listener, struct rw_cursor *b, char *why,
                              size_t size) {
  struct rw_peer_region p;
  c->line.key = rw_get64(b);
  uint16_t port = htons(rw_get16(b));
  if (port) c->line.address = *listener;
  if (listener->any.sa_family == AF_INET6) c->line.address.v6.sin6_port = port;
  else c->line.address.v4.sin_port = port;
  if (!rw_end_get(b, &c->remote) || !rw_setup_get_region(b, c, &p)) return "the other end's answer cannot be read";
  if (!rw_pairs_make(&c->local, &c->remote, &c->table, why, size)) return why;
  if (c->table.hash != p.hash)
    return "both ends computed different path tables: install the same plugin on all servers";
  if (rw_comm_prepare(c) != ncclSuccess) return "no resources";
  if (!rw_setup_get_queue_pairs(b, c, &p)) return "the other end's answer cannot be read";
  if (!rw_setup_connect_queue_pairs(c)) return "a queue pair cannot be connected";
  struct rw_cursor answer;
  if (!rw_link_begin(c->line.link, &answer)) return "the set-up connection is stuck";
  rw_setup_put_queue_pairs(&answer, c);
  rw_link_send(c->line.link, RW_QUEUE_PAIRS, &answer);
  return NULL;
}

ncclResult_t rw_connect(const struct rw_context *context, int device, void *opaque, void **out) {
  struct handle *h = opaque;
  struct connecting *s = h->connecting;
  struct rw_cursor b;
  char text[512];
  *out = NULL;
  if (h->magic != HANDLE_MAGIC || h->version != RW_WIRE_VERSION) {
    char there[sizeof(h->host)];
    snprintf(there, sizeof(there), "%.47s", h->host[0] ? h->host : "the other end");
    if (h->magic != HANDLE_MAGIC)
      rw_warn("the other end listens with another net plugin: set NCCL_NET_PLUGIN=railweave on all servers");
    else rw_complain_of_version(there, h->version);
    return ncclInvalidUsage;
  }
  if (!s) {
    const struct rw_vdevice *v = rw_vdevice(device);
    s = v ? calloc(1, sizeof(*s)) : NULL;
    if (s) s->comm = rw_comm_new(v, true);
    if (s && s->comm) s->comm->line.link = rw_link_connect(&h->address);
    if (!s || !s->comm || !s->comm->line.link) return give_up(s, h, strerror(errno));
    s->comm->settings.traffic_class = traffic_class(context ? context->traffic_class : NCCL_NET_TRAFFIC_CLASS_UNDEF);
    h->connecting = s;
  }
  struct rw_comm *c = s->comm;
  if (s->step == TO_CONNECT) {
    int ready = rw_link_ready(c->line.link);
    if (ready < 0 && s->again_ms == 0) {
      // As NCCL's own sockets: the other end's host may have more callers than it can take just now.
      if ((errno != ECONNREFUSED && errno != ETIMEDOUT) || ++s->refusals > rw_params.socket_retry_cnt)
        return give_up(s, h, "refused or unreachable (NCCL_SOCKET_IFNAME, a firewall)");
      s->again_ms = rw_now_ns() / 1000000 + (int64_t)rw_params.socket_retry_ms * s->refusals;
    }
    if (s->again_ms) {
      if (rw_now_ns() / 1000000 < s->again_ms) return ncclSuccess;
      s->again_ms = 0;
      rw_link_close(c->line.link);
      c->line.link = rw_link_connect(&h->address);
      return c->line.link ? ncclSuccess : give_up(s, h, strerror(errno));
    }
    if (ready == 0) return ncclSuccess;
    if (!send_hello(c, h->nonce)) return give_up(s, h, "the set-up connection is stuck");
    s->step = TO_GET_TABLE;
  }
  int type = rw_link_receive(c->line.link, &b);
  if (type == 0)
    return c->line.link->closed || c->line.link->failed ? give_up(s, h, "the other end closed it") : ncclSuccess;
  if (type == RW_FAILED) {
    snprintf(text, sizeof(text), "the other end refuses: %.*s", (int)(b.end - b.at), (const char *)b.at);
    return give_up(s, h, text);
  }
  if (s->step == TO_GET_TABLE && type == RW_TABLE) {
    const char *why = take_table(c, &h->address, &b, text, sizeof(text));
    if (why) return give_up(s, h, why);
    s->step = TO_GET_READY;
    rw_link_next(c->line.link);
    return ncclSuccess;
  }
  if (s->step != TO_GET_READY || type != RW_READY) return give_up(s, h, "the other end answers out of order");
  rw_link_next(c->line.link);
  free(s);
  h->connecting = NULL;
  *out = rw_setup_go(c);
  return ncclSuccess;
}

static void refuse(struct listening *l, const char *why) {
  struct rw_cursor b;
  rw_warn("connection refused: %s", why);
  if (rw_link_begin(l->comm->line.link, &b)) {
    rw_put(&b, why, strlen(why));
    rw_link_send(l->comm->line.link, RW_FAILED, &b);
  }
  rw_comm_free(l->comm);
  l->comm = NULL;
}

static const char *take_hello(struct listening *l, struct rw_cursor *b, char *why, size_t size) {
  struct rw_comm *c = l->comm;
  if (!rw_end_get(b, &c->remote)) return "its greeting cannot be read";
  if (!rw_pairs_make(&c->remote, &c->local, &c->table, why, size)) return why;
  if (rw_comm_prepare(c) != ncclSuccess) return "no resources";
  struct rw_cursor answer;
  if (!rw_link_begin(c->line.link, &answer)) return "the set-up connection is stuck";
  if (getrandom(&c->line.key, sizeof(c->line.key), 0) != sizeof(c->line.key))
    c->line.key = (uintptr_t)c ^ (uint64_t)rw_now_ns();
  rw_put64(&answer, c->line.key);
  rw_put16(&answer, (uint16_t)rw_redial_port());
  rw_end_put(&answer, &c->local);
  rw_setup_put_queue_pairs(&answer, c);
  rw_link_send(c->line.link, RW_TABLE, &answer);
  return NULL;
}

static const char *take_queue_pairs(struct rw_comm *c, struct rw_cursor *b) {
  struct rw_peer_region p;
  if (!rw_setup_get_region(b, c, &p)) return "its queue pairs cannot be read";
  if (p.hash != c->table.hash) return "both ends computed different path tables";
  if (!rw_setup_get_queue_pairs(b, c, &p)) return "its queue pairs cannot be read";
  if (!rw_setup_connect_queue_pairs(c)) return "a queue pair cannot be connected";
  struct rw_cursor answer;
  if (!rw_link_begin(c->line.link, &answer)) return "the set-up connection is stuck";
  rw_link_send(c->line.link, RW_READY, &answer);
  return NULL;
}

// Takes the next end that knows the nonce; others (port scanners, another job) are dropped.
static bool begin_accepting(struct listening *l) {
  struct rw_cursor b;
  int type;
  struct rw_link *link = rw_pending_next(&l->pending, rw_now_ns() / 1000000, &type, &b);
  if (!link) return false;
  if (type == RW_HELLO && rw_get64(&b) == l->nonce) l->comm = rw_comm_new(l->v, false);
  if (!l->comm) {
    rw_link_close(link);
    return false;
  }
  l->comm->line.link = link;
  l->comm->settings.traffic_class = traffic_class(l->traffic_class);
  return true;
}

ncclResult_t rw_accept(void *listening, void **out) {
  struct listening *l = listening;
  struct rw_cursor b;
  char why[512];
  const char *wrong = NULL;
  *out = NULL;
  if (!l->comm && !begin_accepting(l)) return ncclSuccess;
  int type = rw_link_receive(l->comm->line.link, &b);
  if (type == 0 && (l->comm->line.link->closed || l->comm->line.link->failed)) {
    // The other end gave up; NCCL there has its error. Another may come.
    rw_comm_free(l->comm);
    l->comm = NULL;
    return ncclSuccess;
  }
  if (type == RW_HELLO) {
    rw_get64(&b);
    wrong = take_hello(l, &b, why, sizeof(why));
    if (!wrong) rw_link_next(l->comm->line.link);
  } else if (type == RW_QUEUE_PAIRS && l->comm->n_qps) {
    wrong = take_queue_pairs(l->comm, &b);
    if (!wrong) {
      rw_link_next(l->comm->line.link);
      *out = rw_setup_go(l->comm);
      l->comm = NULL;
      return ncclSuccess;
    }
  } else if (type) {
    wrong = "it speaks out of order";
  }
  if (!wrong) return ncclSuccess;
  refuse(l, wrong);
  return ncclSystemError;
}

ncclResult_t rw_close_listening(void *listening) {
  struct listening *l = listening;
  if (!l) return ncclSuccess;
  rw_comm_free(l->comm);
  rw_pending_close(&l->pending);
  free(l);
  return ncclSuccess;
}

ncclResult_t rw_comm_close(struct rw_comm *c) {
  struct rw_cursor b;
  if (!c) return ncclSuccess;
  rw_service_remove(c);
  uint64_t complete = c->requests.head;  // receives up to here are
  for (int i = 0; i < RW_REQUESTS; i++)
    if (c->requests.all[i].kind == RW_RECV && c->requests.all[i].id < complete) complete = c->requests.all[i].id;
  while (rw_link_receive(c->line.link, &b))
    rw_link_next(c->line.link);  // unread bytes would make the kernel drop what follows
  if (!c->peer.gone && rw_link_begin(c->line.link, &b)) {
    rw_put64(&b, complete);
    rw_cause_put(&b);
    rw_link_send(c->line.link, RW_BYE, &b);
  }
  rw_comm_free(c);
  return ncclSuccess;
}
