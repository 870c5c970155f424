#include "service.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "comm.h"
#include "costs.h"
#include "params.h"
#include "paths.h"
#include "progress.h"
#include "redial.h"
#include "stats.h"
#include "telemetry.h"

enum { PERIOD_MS = 10 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake;
static pthread_t thread;
static bool running, stopping;
static struct rw_comm *comms;

static void look_after(struct rw_comm *c) {
  int idle = RW_IDLE;
  if (!atomic_compare_exchange_strong_explicit(&c->owner, &idle, RW_SERVICE, memory_order_acquire,
                                               memory_order_relaxed))
    return;
  rw_progress(c);
  atomic_store_explicit(&c->owner, RW_IDLE, memory_order_release);
}

static void *serve(void *unused) {
  (void)unused;
  int64_t written_ms = rw_now_ns() / 1000000, looked_ms = 0;
  pthread_mutex_lock(&lock);
  while (!stopping) {
    rw_redial_answer(comms);
    for (struct rw_comm *c = comms; c; c = c->next) look_after(c);
    int64_t now_ms = rw_now_ns() / 1000000;
    rw_paths_report(now_ms);
    if (now_ms - looked_ms >= 1000) {
      rw_costs_look();
      looked_ms = now_ms;
    }
    if ((rw_params.telemetry[0] || rw_params.stats) && now_ms - written_ms >= rw_params.telemetry_ms) {
      const struct rw_stats_page *page = rw_stats_update(comms);
      if (rw_params.telemetry[0]) rw_telemetry_write(page);
      written_ms = now_ms;
    }
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += PERIOD_MS * 1000000L;
    if (until.tv_nsec >= 1000000000L) until.tv_sec++, until.tv_nsec -= 1000000000L;
    pthread_cond_timedwait(&wake, &lock, &until);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

void rw_service_start(void) {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&wake, &monotonic);
  pthread_condattr_destroy(&monotonic);
  stopping = false;
  rw_stats_open();
  if (rw_params.telemetry[0]) rw_telemetry_remove_stale();
  running = pthread_create(&thread, NULL, serve, NULL) == 0;
}

void rw_service_stop(void) {
  if (!running) return;
  pthread_mutex_lock(&lock);
  stopping = true;
  pthread_cond_signal(&wake);
  pthread_mutex_unlock(&lock);
  pthread_join(thread, NULL);
  pthread_cond_destroy(&wake);
  running = false;
  rw_stats_close();
  if (rw_params.telemetry[0]) rw_telemetry_remove();
}

void rw_service_forget(void) {
  pthread_mutex_init(&lock, NULL);
  for (struct rw_comm *c = comms; c; c = c->next)
    if (c->line.link) close(c->line.link->fd);
  comms = NULL;
  running = false;
  rw_stats_forget();
}

void rw_service_add(struct rw_comm *c) {
  pthread_mutex_lock(&lock);
  c->next = comms;
  comms = c;
  pthread_mutex_unlock(&lock);
}

void rw_service_remove(struct rw_comm *c) {
  pthread_mutex_lock(&lock);
  rw_stats_closed(c);
  for (struct rw_comm **at = &comms; *at; at = &(*at)->next) {
    if (*at != c) continue;
    *at = c->next;
    break;
  }
  pthread_mutex_unlock(&lock);
}
