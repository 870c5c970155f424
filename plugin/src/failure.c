#include "failure.h"

#include <stdarg.h>
#include <stdio.h>

#include "clock.h"
#include "log.h"
#include "params.h"
#include "paths.h"
#include "qp.h"

enum { TEXT = 600, CAUSE_MS = 120000, SAID = 64, QUIET_MS = 10000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// The first failure that this process knows of, for as long as others may follow from it.
static struct {
  uint64_t process;  // that is gone, 0: something else failed
  int64_t at_ms;
  char text[TEXT];
} cause;
static _Atomic unsigned generation;  // 0: there is none

// What was said lately: a process that dies ends all connections to it.
static struct {
  uint64_t process;
  int64_t age_ms;
  const char *format;
  int64_t at_ms;
} said[SAID];
static unsigned next_said;

static bool said_already(const struct rw_comm *c, const char *format) {
  bool known = false;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < SAID && !known; i++)
    known = said[i].format == format && said[i].process == c->remote.process && c->now_ms - said[i].at_ms < QUIET_MS;
  if (!known) {
    unsigned i = next_said++ % SAID;
    said[i].process = c->remote.process;
    said[i].format = format;
    said[i].at_ms = c->now_ms;
  }
  pthread_mutex_unlock(&lock);
  return known;
}

// age_ms: how long ago it was, as far as the end knows that tells of it.
static void set_cause(uint64_t process, const char *text, int64_t age_ms) {
  int64_t now_ms = rw_now_ns() / 1000000;
  if (age_ms >= CAUSE_MS) return;
  pthread_mutex_lock(&lock);
  bool known = atomic_load(&generation) && now_ms - cause.at_ms < CAUSE_MS;
  // That a process is gone explains the rest, even where that was noticed first.
  if (!known || (process && !cause.process)) {
    cause.process = process;
    cause.at_ms = now_ms - age_ms;
    snprintf(cause.text, sizeof(cause.text), "%s", text);
    atomic_fetch_add(&generation, 1);
  }
  pthread_mutex_unlock(&lock);
}

// False where there is none.
static bool known_cause(char *text, uint64_t *process, int64_t *age_ms) {
  if (!atomic_load(&generation)) return false;
  pthread_mutex_lock(&lock);
  *age_ms = rw_now_ns() / 1000000 - cause.at_ms;
  bool known = *age_ms < CAUSE_MS;
  if (known) memcpy(text, cause.text, TEXT);
  if (known) *process = cause.process;
  pthread_mutex_unlock(&lock);
  return known;
}

void rw_cause_put(struct rw_cursor *b) {
  char text[TEXT];
  uint64_t process;
  int64_t age_ms;
  if (!known_cause(text, &process, &age_ms)) return;
  rw_put64(b, process);
  rw_put32(b, (uint32_t)age_ms);
  rw_put(b, text, strlen(text));
}

void rw_cause_get(struct rw_cursor *b) {
  char text[TEXT];
  if (b->end - b->at <= 12) return;
  uint64_t process = rw_get64(b);
  uint32_t age_ms = rw_get32(b);
  snprintf(text, sizeof(text), "%.*s", (int)(b->end - b->at), (const char *)b->at);
  set_cause(process, text, age_ms);
}

void rw_cause_tell(struct rw_comm *c) {
  struct rw_cursor b;
  unsigned now = atomic_load_explicit(&generation, memory_order_relaxed);
  if (now == c->times.cause_seen || c->peer.gone || !rw_link_begin(c->line.link, &b)) return;
  c->times.cause_seen = now;
  rw_cause_put(&b);
  rw_link_send(c->line.link, RW_CAUSE, &b);
}

bool rw_cause_is(const struct rw_comm *c) {
  char text[TEXT];
  uint64_t process;
  int64_t age_ms;
  return known_cause(text, &process, &age_ms) && process && process == c->remote.process;
}

void rw_cause_forget(void) {
  pthread_mutex_init(&lock, NULL);
  atomic_store(&generation, 0);
  memset(said, 0, sizeof(said));
}

static void end(struct rw_comm *c, ncclResult_t error, const char *format) {
  struct rw_cursor b;
  char peer[2 * RW_NAME];
  atomic_store(&c->error, error);
  rw_log(said_already(c, format) ? NCCL_LOG_INFO : NCCL_LOG_WARN, __FILE__, __LINE__, "connection %s %s: %s",
         c->sends ? "to" : "from", rw_end_text(&c->remote, peer, sizeof(peer)), c->failure);
  if (c->peer.gone || !rw_link_begin(c->line.link, &b)) return;
  size_t length = strlen(c->failure) < TEXT ? strlen(c->failure) : TEXT - 1;
  rw_put16(&b, (uint16_t)length);
  rw_put(&b, c->failure, length);
  rw_cause_put(&b);
  rw_link_send(c->line.link, RW_FAILED, &b);
}

void rw_fail(struct rw_comm *c, ncclResult_t error, const char *format, ...) {
  char text[TEXT], here[2 * RW_NAME], there[2 * RW_NAME];
  va_list args;
  if (atomic_load(&c->error) != ncclSuccess) return;
  va_start(args, format);
  vsnprintf(c->failure, sizeof(c->failure), format, args);
  va_end(args);
  snprintf(text, sizeof(text), "%s, %s %s: %.400s", rw_end_text(&c->local, here, sizeof(here)),
           c->sends ? "sending to" : "receiving from", rw_end_text(&c->remote, there, sizeof(there)), c->failure);
  set_cause(0, text, 0);
  end(c, error, format);
}

void rw_fail_gone(struct rw_comm *c, const char *format, ...) {
  char text[TEXT], peer[2 * RW_NAME];
  uint64_t process;
  int64_t age_ms;
  va_list args;
  if (atomic_load(&c->error) != ncclSuccess) return;
  rw_end_text(&c->remote, peer, sizeof(peer));
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  size_t used = (size_t)snprintf(c->failure, sizeof(c->failure), "the process on %s %s", peer, text);
  snprintf(text, sizeof(text), "%.590s", c->failure);
  rw_paths_gone(c->remote.process);
  char first[TEXT];
  if (known_cause(first, &process, &age_ms) && process != c->remote.process && used < sizeof(c->failure))
    snprintf(c->failure + used, sizeof(c->failure) - used, ". Before that: %s", first);
  else set_cause(c->remote.process, text, 0);
  end(c, ncclRemoteError, format);
}

void rw_fail_ended(struct rw_comm *c, const char *how, const char *why) {
  char peer[2 * RW_NAME], first[TEXT];
  uint64_t process;
  int64_t age_ms;
  if (atomic_load(&c->error) != ncclSuccess) return;
  bool known = known_cause(first, &process, &age_ms);
  int used = snprintf(c->failure, sizeof(c->failure), "%s %s", rw_end_text(&c->remote, peer, sizeof(peer)), how);
  // Its own reason says what the first failure says, or followed from that.
  const char *reason = known ? first : why;
  if (*reason) used += snprintf(c->failure + used, sizeof(c->failure) - (size_t)used, ": %.590s", reason);
  if (known && *why && !strstr(first, why) && !strstr(why, first) && used < (int)sizeof(c->failure))
    snprintf(c->failure + used, sizeof(c->failure) - (size_t)used, " (%.200s)", why);
  end(c, ncclRemoteError, how);
}

static size_t append(char *text, size_t size, size_t used, const char *format, ...) {
  va_list args;
  if (used >= size) return used;
  va_start(args, format);
  int n = vsnprintf(text + used, size - used, format, args);
  va_end(args);
  return n < 0 ? used : used + (size_t)n;
}

void rw_fail_all_dead(struct rw_comm *c) {
  char text[800] = "", place[256];
  size_t used = 0;
  for (int i = 0; i < c->n_devices; i++) {
    const struct rw_device *d = c->devices[i].device;
    used = append(text, sizeof(text), used, "%s%s%s", i ? ", " : "", rw_device_place(d, place, sizeof(place)),
                  atomic_load(&d->port_up) ? "" : " is down");
  }
  used = append(text, sizeof(text), used, " to ");
  for (int i = 0; i < c->remote.n; i++)
    used = append(text, sizeof(text), used, "%s%s", i ? ", " : "",
                  rw_end_device_place(&c->remote.devices[i], place, sizeof(place)));
  if (c->presence.lost_ms) used = append(text, sizeof(text), used, "; nor is its host reached by TCP");
  for (int i = 0; i < c->n_qps && i < 4; i++) {
    char name[256];
    rw_qp_name(c, &c->qps[i], name, sizeof(name));
    used = append(text, sizeof(text), used, "; %s: %s", name, c->qps[i].reason);
  }
  rw_fail(c, ncclRemoteError,
          "no path of any NIC of this connection has lived for %.1f s (RAILWEAVE_NET_ALL_DEAD_MS): %s. Look at those "
          "ports, their cables and leaves",
          (double)rw_params.all_dead_ms / 1e3, text);
}
