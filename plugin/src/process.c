#include "process.h"

#include <pthread.h>

#include "devices.h"
#include "events.h"
#include "failure.h"
#include "log.h"
#include "mlx5.h"
#include "mr.h"
#include "params.h"
#include "paths.h"
#include "redial.h"
#include "service.h"
#include "verbs.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users;

// A process made by fork has none of the threads, and must leave to its parent what belongs to it: it begins anew. Its
// copies of the sockets are closed, so that they do not outlive the parent.
static void forget(void) {
  pthread_mutex_init(&lock, NULL);
  users = 0;
  rw_devices_forget();
  rw_service_forget();
  rw_redial_forget();
  rw_paths_forget();
  rw_cause_forget();
}

static void forget_in_children(void) { pthread_atfork(NULL, NULL, forget); }

static ncclResult_t open_all(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, forget_in_children);
  rw_params_read();
  if (rw_params.disable) {
    rw_info("NCCL_IB_DISABLE is set");
    return ncclInternalError;
  }
  if (!rw_verbs_load()) return ncclInternalError;
  rw_mlx5_load();
  rw_paths_forget();
  rw_cause_forget();
  ncclResult_t result = rw_devices_open();
  if (result != ncclSuccess) return result;
  rw_events_start(rw_device(0), rw_device_count());
  rw_service_start();
  return ncclSuccess;
}

static void close_all(void) {
  rw_service_stop();
  rw_redial_close();
  rw_events_stop();
  for (int i = 0; i < rw_device_count(); i++) rw_mr_release_all(rw_device(i));
  rw_devices_close();
}

ncclResult_t rw_process_open(void) {
  pthread_mutex_lock(&lock);
  ncclResult_t result = users ? ncclSuccess : open_all();
  if (result == ncclSuccess) users++;
  pthread_mutex_unlock(&lock);
  return result;
}

void rw_process_close(void) {
  pthread_mutex_lock(&lock);
  if (users && --users == 0) close_all();
  pthread_mutex_unlock(&lock);
}

// Before v11 NCCL never says that it is done. Its threads may still run when the process ends, so only ours are
// stopped; the kernel takes the devices back.
__attribute__((destructor)) static void at_exit(void) {
  if (!users) return;
  rw_service_stop();
  rw_events_stop();
}
