#include "redial.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "clock.h"
#include "comm.h"
#include "log.h"
#include "pending.h"

enum { AGAIN_MS = 1000, LONGEST_AGAIN_MS = 30000, CALL_MS = 3000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rw_pending pending = {.fd = -1};
static int port;

int rw_redial_port(void) {
  pthread_mutex_lock(&lock);
  if (pending.fd < 0) {
    union rw_address a;
    int fd = rw_listen(&a);
    if (fd >= 0) port = ntohs(a.any.sa_family == AF_INET6 ? a.v6.sin6_port : a.v4.sin_port);
    pending.fd = fd;
  }
  int found = pending.fd < 0 ? 0 : port;
  pthread_mutex_unlock(&lock);
  return found;
}

void rw_redial_close(void) {
  pthread_mutex_lock(&lock);
  rw_pending_close(&pending);
  pthread_mutex_unlock(&lock);
}

void rw_redial_forget(void) {
  pthread_mutex_init(&lock, NULL);
  if (pending.fd >= 0) close(pending.fd);
  pending.fd = -1;
  pending.n = 0;
}

static struct rw_comm *of_key(struct rw_comm *comms, uint64_t key) {
  for (struct rw_comm *c = comms; c; c = c->next)
    if (!c->sends && c->line.key == key) return c;
  return NULL;
}

static void say(struct rw_link *link, enum rw_message type, const char *text) {
  struct rw_cursor b;
  if (!rw_link_begin(link, &b)) return;
  rw_put(&b, text, strlen(text));
  rw_link_send(link, type, &b);
}

void rw_redial_answer(struct rw_comm *comms) {
  struct rw_link *link;
  struct rw_cursor b;
  int type;
  pthread_mutex_lock(&lock);
  while (pending.fd >= 0 && (link = rw_pending_next(&pending, rw_now_ns() / 1000000, &type, &b)) != NULL) {
    struct rw_comm *c = type == RW_REJOIN ? of_key(comms, rw_get64(&b)) : NULL;
    rw_link_next(link);
    if (c) {
      rw_link_close(atomic_exchange(&c->line.new_link, link));
    } else {
      if (type == RW_REJOIN) say(link, RW_FAILED, "it has no such connection");
      rw_link_close(link);
    }
  }
  pthread_mutex_unlock(&lock);
}

static void replace(struct rw_comm *c, struct rw_link *link) {
  rw_link_close(c->line.link);
  c->line.link = link;
  c->presence.lost_ms = 0;
  c->presence.hung_up = c->presence.refused = false;
  c->line.redial_wait_ms = 0;
  rw_presence_heard(&c->presence, c->now_ms);
  rw_info("the set-up connection is back, %s %s", c->sends ? "to" : "from", c->remote.host);
}

static void hang_up(struct rw_comm *c) {
  rw_link_close(c->line.call);
  c->line.call = NULL;
  c->line.redial_wait_ms = c->line.redial_wait_ms ? c->line.redial_wait_ms * 2 : AGAIN_MS;
  // Where no path lives, the connection is what brings them back.
  int longest = c->live.n ? LONGEST_AGAIN_MS : AGAIN_MS;
  if (c->line.redial_wait_ms > longest) c->line.redial_wait_ms = longest;
  c->line.redial_at_ms = c->now_ms + c->line.redial_wait_ms;
}

static void call(struct rw_comm *c) {
  struct rw_cursor b;
  if (!c->line.call) {
    if (c->now_ms < c->line.redial_at_ms) return;
    c->line.call = rw_link_connect(&c->line.address);
    c->line.called_ms = c->now_ms;
    c->line.call_said = false;
    if (!c->line.call) return;
  }
  int ready = c->line.call_said ? 1 : rw_link_ready(c->line.call);
  if (ready < 0 && errno == ECONNREFUSED) c->presence.refused = c->presence.hung_up = true;
  if (ready < 0 || c->now_ms - c->line.called_ms > CALL_MS) {
    hang_up(c);
    return;
  }
  if (!ready) return;
  if (!c->line.call_said && rw_link_begin(c->line.call, &b)) {
    rw_put64(&b, c->line.key);
    rw_link_send(c->line.call, RW_REJOIN, &b);
    c->line.call_said = true;
  }
  int type = rw_link_receive(c->line.call, &b);
  if (type == RW_REJOINED) {
    struct rw_link *link = c->line.call;
    rw_link_next(link);
    c->line.call = NULL;
    replace(c, link);
  } else if (type == RW_FAILED) {
    c->peer.gone = true;  // its process lives, the connection was closed there
    c->peer.gone_ms = c->now_ms;
    hang_up(c);
  } else if (type || c->line.call->closed || c->line.call->failed) {
    hang_up(c);
  }
}

void rw_redial_look(struct rw_comm *c) {
  struct rw_link *link =
      atomic_load_explicit(&c->line.new_link, memory_order_relaxed) ? atomic_exchange(&c->line.new_link, NULL) : NULL;
  if (link) {
    replace(c, link);
    say(c->line.link, RW_REJOINED, "");
  }
  if (!c->line.link->closed && !c->line.link->failed) return;
  if (c->peer.gone) return;
  if (!c->presence.lost_ms) {
    int why = c->line.link->error;
    c->presence.lost_ms = c->now_ms;
    c->presence.hung_up = why != ETIMEDOUT && why != EHOSTUNREACH && why != ENETUNREACH;
    rw_info("the set-up connection %s %s is lost%s", c->sends ? "to" : "from", c->remote.host,
            c->line.address.any.sa_family ? ": calling again" : "");
  }
  if (c->sends && c->line.address.any.sa_family) call(c);
}
