#include "verbs.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "log.h"
#include "params.h"

struct rw_verbs rw_verbs;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *library;

// rdma-core versions its symbols; the unversioned look-up would find the oldest, which has another ABI.
static void *symbol(const char *name) {
  static const char *const versions[] = {"IBVERBS_1.1",  "IBVERBS_1.5",  "IBVERBS_1.8",  "IBVERBS_1.10",
                                         "IBVERBS_1.11", "IBVERBS_1.12", "IBVERBS_1.16", "IBVERBS_1.0"};
  for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
    void *found = dlvsym(library, name, versions[i]);
    if (found) return found;
  }
  return dlsym(library, name);
}

static bool bind(void *function, const char *name) {
  void *found = symbol(name);
  memcpy(function, &found, sizeof(found));
  return found != NULL;
}

bool rw_verbs_load(void) {
  pthread_mutex_lock(&lock);
  bool loaded = library != NULL;
  if (loaded) goto out;
  library = dlopen(rw_params.ibverbs_lib, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    rw_info("no verbs library: %s", dlerror());
    goto out;
  }
  const char *missing = NULL;
#define REQUIRED(result, name, arguments) \
  if (!bind(&rw_verbs.name, #name)) missing = #name;
#define OPTIONAL(result, name, arguments) bind(&rw_verbs.name, #name);
  RW_VERBS(REQUIRED, OPTIONAL)
#undef REQUIRED
#undef OPTIONAL
  if (missing) {
    rw_warn("%s has no %s: install rdma-core 20 or newer", rw_params.ibverbs_lib, missing);
    dlclose(library);
    library = NULL;
    goto out;
  }
  if (rw_verbs.ibv_fork_init) rw_verbs.ibv_fork_init();
  loaded = true;
out:
  pthread_mutex_unlock(&lock);
  return loaded;
}

const char *rw_event_text(int event) {
  if (rw_verbs.ibv_event_type_str) return rw_verbs.ibv_event_type_str(event);
  return event == IBV_EVENT_CQ_ERR       ? "CQ error"
         : event == IBV_EVENT_QP_FATAL   ? "local work queue catastrophic error"
         : event == IBV_EVENT_QP_REQ_ERR ? "invalid request local work queue error"
                                         : "local access violation work queue error";
}

const char *rw_wc_status(int status) {
  return rw_verbs.ibv_wc_status_str ? rw_verbs.ibv_wc_status_str(status) : "error";
}
