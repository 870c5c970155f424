#include "net_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

// Tables of macros, one line each.
// clang-format off

#define EACH_VERSION(X) X(6) X(7) X(8) X(9) X(10) X(11) X(12)
#define TABLE(v) ((ncclNet_v##v##_t *)net->table)

#define INIT_OLD(v) \
  static ncclResult_t init_##v(struct net *net, ncclDebugLogger_t log, ncclProfilerCallback_t p) { (void)p; return TABLE(v)->init(log); } \
  static ncclResult_t finalize_##v(struct net *net) { (void)net; return ncclSuccess; } \
  static ncclResult_t listen_##v(struct net *net, int dev, void *h, void **c) { return TABLE(v)->listen(dev, h, c); }
INIT_OLD(6) INIT_OLD(7) INIT_OLD(8) INIT_OLD(9)
static ncclResult_t init_10(struct net *net, ncclDebugLogger_t log, ncclProfilerCallback_t p) { return TABLE(10)->init(log, p); }
static ncclResult_t finalize_10(struct net *net) { (void)net; return ncclSuccess; }
static ncclResult_t listen_10(struct net *net, int dev, void *h, void **c) { return TABLE(10)->listen(dev, h, c); }
#define INIT_NEW(v) \
  static ncclResult_t init_##v(struct net *net, ncclDebugLogger_t log, ncclProfilerCallback_t p) { \
    ncclNetCommConfig_t config = {.trafficClass = NCCL_NET_TRAFFIC_CLASS_UNDEF}; \
    return TABLE(v)->init(&net->ctx, 1, &config, log, p); \
  } \
  static ncclResult_t finalize_##v(struct net *net) { return TABLE(v)->finalize(net->ctx); } \
  static ncclResult_t listen_##v(struct net *net, int dev, void *h, void **c) { return TABLE(v)->listen(net->ctx, dev, h, c); }
INIT_NEW(11) INIT_NEW(12)

static ncclResult_t connect_6(struct net *net, int dev, void *h, void **c) { return TABLE(6)->connect(dev, h, c); }
static ncclResult_t accept_6(struct net *net, void *l, void **c) { return TABLE(6)->accept(l, c); }
// RCCL may hand something in that is no device communicator.
#define NOT_A_POINTER ((void **)(uintptr_t)0x10)
#define CONNECT(v, ...) \
  static ncclResult_t connect_##v(struct net *net, int dev, void *h, void **c) { return TABLE(v)->connect(__VA_ARGS__, h, c, NOT_A_POINTER); } \
  static ncclResult_t accept_##v(struct net *net, void *l, void **c) { return TABLE(v)->accept(l, c, NOT_A_POINTER); }
CONNECT(7, dev) CONNECT(8, dev) CONNECT(9, dev) CONNECT(10, dev, NULL) CONNECT(11, net->ctx, dev) CONNECT(12, net->ctx, dev)

#define REG(v, type) \
  static ncclResult_t reg_##v(struct net *net, void *c, void *d, size_t n, int t, void **m) { return TABLE(v)->regMr(c, d, (type)n, t, m); }
REG(6, int) REG(7, int) REG(8, size_t) REG(9, size_t) REG(10, size_t) REG(11, size_t) REG(12, size_t)

#define TRANSFER(v, type) \
  static ncclResult_t isend_##v(struct net *net, void *c, void *d, size_t n, int tag, void *m, void *p, void **r) { \
    (void)p; \
    return TABLE(v)->isend(c, d, (type)n, tag, m, r); \
  } \
  static ncclResult_t irecv_##v(struct net *net, void *c, int n, void **d, size_t *sizes, int *tags, void **m, void **r) { \
    type narrow[8]; \
    for (int i = 0; i < n; i++) narrow[i] = (type)sizes[i]; \
    return TABLE(v)->irecv(c, n, d, narrow, tags, m, r); \
  }
TRANSFER(6, int) TRANSFER(7, int) TRANSFER(8, int) TRANSFER(9, size_t)
#define PROFILED(v) \
  static ncclResult_t isend_##v(struct net *net, void *c, void *d, size_t n, int tag, void *m, void *p, void **r) { \
    return TABLE(v)->isend(c, d, n, tag, m, p, r); \
  } \
  static ncclResult_t irecv_##v(struct net *net, void *c, int n, void **d, size_t *sizes, int *tags, void **m, void **r) { \
    return TABLE(v)->irecv(c, n, d, sizes, tags, m, NULL, r); \
  }
PROFILED(10) PROFILED(11) PROFILED(12)

#define PROPERTIES(v, ...) \
  static ncclResult_t properties_##v(struct net *net, int dev, ncclNetProperties_v12_t *to) { \
    ncclNetProperties_v##v##_t p; \
    memset(&p, 0xee, sizeof(p)); \
    ncclResult_t result = TABLE(v)->getProperties(dev, &p); \
    *to = (ncclNetProperties_v12_t){.name = p.name, .pciPath = p.pciPath, .guid = p.guid, .ptrSupport = p.ptrSupport, \
                                    .speed = p.speed, .port = p.port, .maxComms = p.maxComms, .maxRecvs = p.maxRecvs, __VA_ARGS__}; \
    return result; \
  }
PROPERTIES(6, .maxP2pBytes = 1 << 30)
PROPERTIES(7, .netDeviceType = p.netDeviceType, .maxP2pBytes = 1 << 30)
PROPERTIES(8, .netDeviceType = p.netDeviceType, .regIsGlobal = p.regIsGlobal, .maxP2pBytes = 1 << 30)
#define NEWER .netDeviceType = p.netDeviceType, .regIsGlobal = p.regIsGlobal, .forceFlush = p.forceFlush, .maxP2pBytes = p.maxP2pBytes, \
  .maxCollBytes = p.maxCollBytes, .vProps.ndevs = p.vProps.ndevs
PROPERTIES(9, NEWER)
PROPERTIES(10, NEWER)
PROPERTIES(11, NEWER, .maxMultiRequestSize = p.maxMultiRequestSize)
PROPERTIES(12, NEWER, .maxMultiRequestSize = p.maxMultiRequestSize, .railId = p.railId, .planeId = p.planeId)

#define VDEVICE(v, props) \
  static ncclResult_t vdevice_##v(struct net *net, int *dev, const int *members, int n) { \
    props p = {.ndevs = n}; \
    memcpy(p.devs, members, (size_t)n * sizeof(int)); \
    return TABLE(v)->makeVDevice(dev, &p); \
  }
VDEVICE(9, ncclNetVDeviceProps_v9_t) VDEVICE(10, ncclNetVDeviceProps_v9_t) VDEVICE(11, ncclNetVDeviceProps_v9_t)
VDEVICE(12, ncclNetVDeviceProps_v12_t)
#define vdevice_6 NULL
#define vdevice_7 NULL
#define vdevice_8 NULL

bool net_open(struct net *net, void *library, int version) {
  char name[32];
  snprintf(name, sizeof(name), "ncclNetPlugin_v%d", version);
  void *table = dlsym(library, name);
  if (!table && version == 12) table = dlsym(library, "ncclNetIb");  // NCCL's own transport, where NCCL is the library
  memset(net, 0, sizeof(*net));
  if (!table) return false;
  net->version = version;
  net->table = table;
#define FILL(v) \
  if (version == (v)) { \
    net->init = init_##v, net->finalize = finalize_##v, net->devices = TABLE(v)->devices, net->properties = properties_##v; \
    net->listen = listen_##v, net->connect = connect_##v, net->accept = accept_##v, net->reg = reg_##v; \
    net->regMrDmaBuf = TABLE(v)->regMrDmaBuf, net->deregMr = TABLE(v)->deregMr, net->isend = isend_##v, net->irecv = irecv_##v; \
    net->iflush = TABLE(v)->iflush, net->test = TABLE(v)->test, net->closeSend = TABLE(v)->closeSend; \
    net->closeRecv = TABLE(v)->closeRecv, net->closeListen = TABLE(v)->closeListen, net->make_vdevice = vdevice_##v; \
  }
  EACH_VERSION(FILL)
  return net->init != NULL;
}
