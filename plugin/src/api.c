// The tables that NCCL and RCCL look for: versions 6 to 12, each a thin layer over the core. getDeviceMr and
// irecvConsumed stay NULL: they are for transports that the GPU drives itself.
#include <stdlib.h>

#include "connect.h"
#include "flush.h"
#include "log.h"
#include "process.h"
#include "profiler.h"
#include "request.h"
#include "send.h"

#define EXPORT __attribute__((visibility("default")))
enum { LARGEST_OF_OLD = 1 << 30 };

static ncclResult_t start(ncclDebugLogger_t log, ncclProfilerCallback_t profiler) {
  rw_log_to(log);
  if (profiler) rw_profile_with(profiler);
  return rw_process_open();
}

static ncclResult_t init_v6(ncclDebugLogger_t log) { return start(log, NULL); }
static ncclResult_t init_v10(ncclDebugLogger_t log, ncclProfilerCallback_t profiler) { return start(log, profiler); }

// Called for every communicator; communicators made by a split share their parent's context.
static ncclResult_t init_v11(void **ctx, uint64_t comm_id, ncclNetCommConfig_t *config, ncclDebugLogger_t log,
                             ncclProfilerCallback_t profiler) {
  (void)comm_id;
  ncclResult_t result = start(log, profiler);
  if (result != ncclSuccess) return result;
  struct rw_context *context = calloc(1, sizeof(*context));
  if (!context) {
    rw_process_close();
    return ncclSystemError;
  }
  context->traffic_class = config ? config->trafficClass : NCCL_NET_TRAFFIC_CLASS_UNDEF;
  *ctx = context;
  return ncclSuccess;
}

static ncclResult_t finalize(void *ctx) {
  free(ctx);
  rw_process_close();
  return ncclSuccess;
}

// A hint about the peers of a communicator; nothing here depends on it.
static ncclResult_t set_net_attr(void *ctx, void *attr) {
  (void)ctx, (void)attr;
  return ncclSuccess;
}

static ncclResult_t devices(int *n) {
  *n = rw_device_count();
  return ncclSuccess;
}

// Fields that all versions have, and those of versions from 7, 8 and 9 on.
#define BASE(p, from)                                                                      \
  (p)->name = (from).name, (p)->pciPath = (from).pciPath, (p)->guid = (from).guid,         \
  (p)->ptrSupport = (from).ptrSupport, (p)->speed = (from).speed, (p)->port = (from).port, \
  (p)->latency = (from).latency, (p)->maxComms = (from).maxComms, (p)->maxRecvs = (from).maxRecvs
#define DEVICE_TYPE(p, from) (p)->netDeviceType = (from).netDeviceType, (p)->netDeviceVersion = (from).netDeviceVersion
#define GLOBAL(p, from) (p)->regIsGlobal = (from).regIsGlobal
#define MERGED(p, from) \
  (p)->forceFlush = (from).forceFlush, (p)->maxP2pBytes = (from).maxP2pBytes, (p)->maxCollBytes = (from).maxCollBytes

static ncclResult_t properties_v12(int dev, ncclNetProperties_v12_t *p) { return rw_device_properties(dev, p); }

static void members(ncclNetVDeviceProps_v9_t *to, const ncclNetVDeviceProps_v12_t *from) {
  *to = (ncclNetVDeviceProps_v9_t){.ndevs = from->ndevs < 4 ? from->ndevs : 4};
  for (int i = 0; i < to->ndevs; i++) to->devs[i] = from->devs[i];
}

#define PROPERTIES(version, ...)                                                          \
  static ncclResult_t properties_##version(int dev, ncclNetProperties_##version##_t *p) { \
    ncclNetProperties_v12_t all;                                                          \
    ncclResult_t result = rw_device_properties(dev, &all);                                \
    if (result != ncclSuccess) return result;                                             \
    BASE(p, all);                                                                         \
    __VA_ARGS__;                                                                          \
    return ncclSuccess;                                                                   \
  }
PROPERTIES(v6, (void)0)
PROPERTIES(v7, DEVICE_TYPE(p, all))
PROPERTIES(v8, DEVICE_TYPE(p, all), GLOBAL(p, all))
PROPERTIES(v9, DEVICE_TYPE(p, all), GLOBAL(p, all), MERGED(p, all), members(&p->vProps, &all.vProps))
PROPERTIES(v11, DEVICE_TYPE(p, all), GLOBAL(p, all), MERGED(p, all), members(&p->vProps, &all.vProps),
           p->maxMultiRequestSize = all.maxMultiRequestSize)

static ncclResult_t make_v9(int *dev, ncclNetVDeviceProps_v9_t *p) {
  return p->ndevs > 4 ? ncclInvalidUsage : rw_vdevice_make(dev, p->devs, p->ndevs);
}
static ncclResult_t make_v12(int *dev, ncclNetVDeviceProps_v12_t *p) { return rw_vdevice_make(dev, p->devs, p->ndevs); }

static ncclResult_t listen_v6(int dev, void *handle, void **comm) { return rw_listen_on(NULL, dev, handle, comm); }
static ncclResult_t listen_v11(void *ctx, int dev, void *handle, void **comm) {
  return rw_listen_on(ctx, dev, handle, comm);
}

// Device communicators are for transports that the GPU drives itself: never looked at, some callers pass anything.
static ncclResult_t connect_v6(int dev, void *handle, void **comm) { return rw_connect(NULL, dev, handle, comm); }
static ncclResult_t connect_v7(int dev, void *handle, void **comm, void **device_comm) {
  (void)device_comm;
  return rw_connect(NULL, dev, handle, comm);
}
static ncclResult_t connect_v10(int dev, ncclNetCommConfig_t *config, void *handle, void **comm, void **device_comm) {
  (void)device_comm;
  struct rw_context context = {.traffic_class = config ? config->trafficClass : NCCL_NET_TRAFFIC_CLASS_UNDEF};
  return rw_connect(&context, dev, handle, comm);
}
static ncclResult_t connect_v11(void *ctx, int dev, void *handle, void **comm, void **device_comm) {
  (void)device_comm;
  return rw_connect(ctx, dev, handle, comm);
}
static ncclResult_t accept_v6(void *listening, void **comm) { return rw_accept(listening, comm); }
static ncclResult_t accept_v7(void *listening, void **comm, void **device_comm) {
  (void)device_comm;
  return rw_accept(listening, comm);
}

static ncclResult_t reg_v8(void *comm, void *data, size_t size, int type, void **mhandle) {
  struct rw_mr *mr = NULL;
  ncclResult_t result = rw_mr_register(&((struct rw_comm *)comm)->v, data, size, type, 0, -1, &mr);
  *mhandle = mr;
  return result;
}
static ncclResult_t reg_v6(void *comm, void *data, int size, int type, void **mhandle) {
  return size < 0 ? ncclInvalidArgument : reg_v8(comm, data, (size_t)size, type, mhandle);
}
static ncclResult_t reg_dmabuf(void *comm, void *data, size_t size, int type, uint64_t offset, int fd, void **mhandle) {
  struct rw_mr *mr = NULL;
  ncclResult_t result = rw_mr_register(&((struct rw_comm *)comm)->v, data, size, type, offset, fd, &mr);
  *mhandle = mr;
  return result;
}
static ncclResult_t dereg(void *comm, void *mhandle) { return rw_mr_deregister(&((struct rw_comm *)comm)->v, mhandle); }

static ncclResult_t isend_v10(void *comm, void *data, size_t size, int tag, void *mhandle, void *phandle,
                              void **request) {
  return rw_isend(comm, data, size, tag, mhandle, phandle, request);
}
static ncclResult_t isend_v9(void *comm, void *data, size_t size, int tag, void *mhandle, void **request) {
  return rw_isend(comm, data, size, tag, mhandle, NULL, request);
}
static ncclResult_t isend_v6(void *comm, void *data, int size, int tag, void *mhandle, void **request) {
  return rw_isend(comm, data, (size_t)size, tag, mhandle, NULL, request);
}

// *request may come in as 1 (the caller does not need the completion); the plugin completes every receive all the same.
static ncclResult_t irecv_v10(void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
                              void **phandles, void **request) {
  (void)phandles;
  return rw_irecv(comm, n, data, sizes, tags, mhandles, request);
}
static ncclResult_t irecv_v9(void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles,
                             void **request) {
  return rw_irecv(comm, n, data, sizes, tags, mhandles, request);
}
static ncclResult_t irecv_v6(void *comm, int n, void **data, int *sizes, int *tags, void **mhandles, void **request) {
  size_t wide[RW_RECVS];
  if (n < 1 || n > RW_RECVS) return ncclInternalError;
  for (int i = 0; i < n; i++) wide[i] = sizes[i] < 0 ? LARGEST_OF_OLD : (size_t)sizes[i];
  return rw_irecv(comm, n, data, wide, tags, mhandles, request);
}
static ncclResult_t iflush(void *comm, int n, void **data, int *sizes, void **mhandles, void **request) {
  return rw_iflush(comm, n, data, sizes, mhandles, request);
}
static ncclResult_t test(void *request, int *done, int *sizes) { return rw_test(request, done, sizes); }
static ncclResult_t close_comm(void *comm) { return rw_comm_close(comm); }
static ncclResult_t close_listen(void *listening) { return rw_close_listening(listening); }

#define NAME .name = "railweave"
#define REGISTRATION(reg) .regMr = (reg), .regMrDmaBuf = reg_dmabuf, .deregMr = dereg
#define FINISH \
  .iflush = iflush, .test = test, .closeSend = close_comm, .closeRecv = close_comm, .closeListen = close_listen

EXPORT const ncclNet_v6_t ncclNetPlugin_v6 = {NAME,
                                              .init = init_v6,
                                              .devices = devices,
                                              .getProperties = properties_v6,
                                              .listen = listen_v6,
                                              .connect = connect_v6,
                                              .accept = accept_v6,
                                              REGISTRATION(reg_v6),
                                              .isend = isend_v6,
                                              .irecv = irecv_v6,
                                              FINISH};
EXPORT const ncclNet_v7_t ncclNetPlugin_v7 = {NAME,
                                              .init = init_v6,
                                              .devices = devices,
                                              .getProperties = properties_v7,
                                              .listen = listen_v6,
                                              .connect = connect_v7,
                                              .accept = accept_v7,
                                              REGISTRATION(reg_v6),
                                              .isend = isend_v6,
                                              .irecv = irecv_v6,
                                              FINISH};
EXPORT const ncclNet_v8_t ncclNetPlugin_v8 = {NAME,
                                              .init = init_v6,
                                              .devices = devices,
                                              .getProperties = properties_v8,
                                              .listen = listen_v6,
                                              .connect = connect_v7,
                                              .accept = accept_v7,
                                              REGISTRATION(reg_v8),
                                              .isend = isend_v6,
                                              .irecv = irecv_v6,
                                              FINISH};
EXPORT const ncclNet_v9_t ncclNetPlugin_v9 = {NAME,
                                              .init = init_v6,
                                              .devices = devices,
                                              .getProperties = properties_v9,
                                              .listen = listen_v6,
                                              .connect = connect_v7,
                                              .accept = accept_v7,
                                              REGISTRATION(reg_v8),
                                              .isend = isend_v9,
                                              .irecv = irecv_v9,
                                              FINISH,
                                              .makeVDevice = make_v9};
EXPORT const ncclNet_v10_t ncclNetPlugin_v10 = {NAME,
                                                .init = init_v10,
                                                .devices = devices,
                                                .getProperties = properties_v9,
                                                .listen = listen_v6,
                                                .connect = connect_v10,
                                                .accept = accept_v7,
                                                REGISTRATION(reg_v8),
                                                .isend = isend_v10,
                                                .irecv = irecv_v10,
                                                FINISH,
                                                .makeVDevice = make_v9};
EXPORT const ncclNet_v11_t ncclNetPlugin_v11 = {NAME,
                                                .init = init_v11,
                                                .devices = devices,
                                                .getProperties = properties_v11,
                                                .listen = listen_v11,
                                                .connect = connect_v11,
                                                .accept = accept_v7,
                                                REGISTRATION(reg_v8),
                                                .isend = isend_v10,
                                                .irecv = irecv_v10,
                                                FINISH,
                                                .makeVDevice = make_v9,
                                                .finalize = finalize,
                                                .setNetAttr = set_net_attr};
EXPORT const ncclNet_v12_t ncclNetPlugin_v12 = {NAME,
                                                .init = init_v11,
                                                .devices = devices,
                                                .getProperties = properties_v12,
                                                .listen = listen_v11,
                                                .connect = connect_v11,
                                                .accept = accept_v7,
                                                REGISTRATION(reg_v8),
                                                .isend = isend_v10,
                                                .irecv = irecv_v10,
                                                FINISH,
                                                .makeVDevice = make_v12,
                                                .finalize = finalize,
                                                .setNetAttr = set_net_attr};
