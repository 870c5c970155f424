// NCCL's network plugin interface, versions 6 to 12, as far as the plugin needs it. Every version is laid out anew, so
// each is declared in full; the assertions at the end hold the sizes that NCCL and RCCL were seen to expect.
#ifndef RAILWEAVE_NCCL_NET_ABI_H
#define RAILWEAVE_NCCL_NET_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
} ncclResult_t;

typedef enum {
  NCCL_LOG_NONE,
  NCCL_LOG_VERSION,
  NCCL_LOG_WARN,
  NCCL_LOG_INFO,
  NCCL_LOG_ABORT,
  NCCL_LOG_TRACE
} ncclDebugLogLevel;
enum { NCCL_INIT = 0x1, NCCL_NET = 0x10 };

typedef void (*ncclDebugLogger_t)(ncclDebugLogLevel level, unsigned long flags, const char *file, int line,
                                  const char *fmt, ...);

// Called from v10 on: an event of type START gets a handle, which STOP takes back. data is what plugin_id says.
enum { NCCL_PROFILER_EVENT_START = 0, NCCL_PROFILER_EVENT_STOP = 1 };
typedef ncclResult_t (*ncclProfilerCallback_t)(void **event, int type, void *phandle, int64_t plugin_id, void *data);

// What a profiler takes for an event of an RDMA plugin: the type in the upper, the version in the lower 16 bits.
enum { NCCL_PROFILER_NET_IB_V1 = (1 << 16) | 1, NCCL_PROFILE_QP = 1 };
typedef struct {
  uint8_t type;
  struct {
    int device;
    uint64_t wr_id;
    int opcode;
    int qpNum;
    size_t length;
  } qp;
} ncclProfilerNetIbDescr_v1_t;

enum { NCCL_NET_HANDLE_MAXSIZE = 128 };
enum { NCCL_PTR_HOST = 1, NCCL_PTR_CUDA = 2, NCCL_PTR_DMABUF = 4 };
enum { NCCL_NET_DEVICE_HOST = 0, NCCL_NET_DEVICE_INVALID_VERSION = 0 };
enum { NCCL_NET_OPTIONAL_RECV_COMPLETION = 1 };
enum { NCCL_NET_TRAFFIC_CLASS_UNDEF = -1, NCCL_NET_ID_UNDEF = -1 };

typedef struct {
  char *name;
  char *pciPath;
  uint64_t guid;
  int ptrSupport;
  int speed;  // Mbit/s
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
} ncclNetProperties_v6_t;

typedef struct {
  char *name;
  char *pciPath;
  uint64_t guid;
  int ptrSupport;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
} ncclNetProperties_v7_t;

typedef struct {
  char *name;
  char *pciPath;
  uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
} ncclNetProperties_v8_t;

typedef struct {
  int ndevs;
  int devs[4];
} ncclNetVDeviceProps_v9_t;

typedef struct {
  int ndevs;
  int devs[8];
} ncclNetVDeviceProps_v12_t;

typedef struct {
  char *name;
  char *pciPath;
  uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int forceFlush;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
  ncclNetVDeviceProps_v9_t vProps;
  size_t maxP2pBytes;
  size_t maxCollBytes;
} ncclNetProperties_v9_t;

typedef ncclNetProperties_v9_t ncclNetProperties_v10_t;

typedef struct {
  char *name;
  char *pciPath;
  uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int forceFlush;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
  ncclNetVDeviceProps_v9_t vProps;
  size_t maxP2pBytes;
  size_t maxCollBytes;
  int maxMultiRequestSize;
} ncclNetProperties_v11_t;

typedef struct {
  char *name;
  char *pciPath;
  uint64_t guid;
  int ptrSupport;
  int regIsGlobal;
  int forceFlush;
  int speed;
  int port;
  float latency;
  int maxComms;
  int maxRecvs;
  int netDeviceType;
  int netDeviceVersion;
  ncclNetVDeviceProps_v12_t vProps;
  size_t maxP2pBytes;
  size_t maxCollBytes;
  int maxMultiRequestSize;
  int16_t railId;
  int16_t planeId;
} ncclNetProperties_v12_t;

typedef struct {
  int trafficClass;
} ncclNetCommConfig_t;

// Tables of functions. What a version shares with the one before it is written once.
#define CALL(name, ...) ncclResult_t (*name)(__VA_ARGS__);
#define CLOSE_CALLS       \
  CALL(closeSend, void *) \
  CALL(closeRecv, void *) \
  CALL(closeListen, void *)
#define REG_CALLS(size_type)                                                                                \
  CALL(regMr, void *comm, void *data, size_type size, int type, void **mhandle)                             \
  CALL(regMrDmaBuf, void *comm, void *data, size_t size, int type, uint64_t offset, int fd, void **mhandle) \
  CALL(deregMr, void *comm, void *mhandle)
#define FINISH_CALLS                                                                        \
  CALL(iflush, void *comm, int n, void **data, int *sizes, void **mhandles, void **request) \
  CALL(test, void *request, int *done, int *sizes)                                          \
  CLOSE_CALLS
#define TRANSFER_CALLS(size_type)                                                                           \
  CALL(isend, void *comm, void *data, size_type size, int tag, void *mhandle, void **request)               \
  CALL(irecv, void *comm, int n, void **data, size_type *sizes, int *tags, void **mhandles, void **request) \
  FINISH_CALLS
#define PROFILED_TRANSFER_CALLS                                                                           \
  CALL(isend, void *comm, void *data, size_t size, int tag, void *mhandle, void *phandle, void **request) \
  CALL(irecv, void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles, void **phandles, \
       void **request)                                                                                    \
  FINISH_CALLS
#define DEVICE_CALLS                                                  \
  CALL(getDeviceMr, void *comm, void *mhandle, void **device_mhandle) \
  CALL(irecvConsumed, void *comm, int n, void *request)

typedef struct {
  const char *name;
  CALL(init, ncclDebugLogger_t log)
  CALL(devices, int *n)
  CALL(getProperties, int dev, ncclNetProperties_v6_t *props)
  CALL(listen, int dev, void *handle, void **comm)
  CALL(connect, int dev, void *handle, void **comm)
  CALL(accept, void *listen, void **comm)
  REG_CALLS(int)
  TRANSFER_CALLS(int)
} ncclNet_v6_t;

typedef struct {
  const char *name;
  CALL(init, ncclDebugLogger_t log)
  CALL(devices, int *n)
  CALL(getProperties, int dev, ncclNetProperties_v7_t *props)
  CALL(listen, int dev, void *handle, void **comm)
  CALL(connect, int dev, void *handle, void **comm, void **device_comm)
  CALL(accept, void *listen, void **comm, void **device_comm)
  REG_CALLS(int)
  TRANSFER_CALLS(int)
  DEVICE_CALLS
} ncclNet_v7_t;

typedef struct {
  const char *name;
  CALL(init, ncclDebugLogger_t log)
  CALL(devices, int *n)
  CALL(getProperties, int dev, ncclNetProperties_v8_t *props)
  CALL(listen, int dev, void *handle, void **comm)
  CALL(connect, int dev, void *handle, void **comm, void **device_comm)
  CALL(accept, void *listen, void **comm, void **device_comm)
  REG_CALLS(size_t)
  TRANSFER_CALLS(int)
  DEVICE_CALLS
} ncclNet_v8_t;

typedef struct {
  const char *name;
  CALL(init, ncclDebugLogger_t log)
  CALL(devices, int *n)
  CALL(getProperties, int dev, ncclNetProperties_v9_t *props)
  CALL(listen, int dev, void *handle, void **comm)
  CALL(connect, int dev, void *handle, void **comm, void **device_comm)
  CALL(accept, void *listen, void **comm, void **device_comm)
  REG_CALLS(size_t)
  TRANSFER_CALLS(size_t)
  DEVICE_CALLS
  CALL(makeVDevice, int *dev, ncclNetVDeviceProps_v9_t *props)
} ncclNet_v9_t;

typedef struct {
  const char *name;
  CALL(init, ncclDebugLogger_t log, ncclProfilerCallback_t profiler)
  CALL(devices, int *n)
  CALL(getProperties, int dev, ncclNetProperties_v10_t *props)
  CALL(listen, int dev, void *handle, void **comm)
  CALL(connect, int dev, ncclNetCommConfig_t *config, void *handle, void **comm, void **device_comm)
  CALL(accept, void *listen, void **comm, void **device_comm)
  REG_CALLS(size_t)
  PROFILED_TRANSFER_CALLS
  DEVICE_CALLS
  CALL(makeVDevice, int *dev, ncclNetVDeviceProps_v9_t *props)
} ncclNet_v10_t;

#define CONTEXT_CALLS(version, vdevice)                                                        \
  const char *name;                                                                            \
  CALL(init, void **ctx, uint64_t comm_id, ncclNetCommConfig_t *config, ncclDebugLogger_t log, \
       ncclProfilerCallback_t profiler)                                                        \
  CALL(devices, int *n)                                                                        \
  CALL(getProperties, int dev, ncclNetProperties_##version##_t *props)                         \
  CALL(listen, void *ctx, int dev, void *handle, void **comm)                                  \
  CALL(connect, void *ctx, int dev, void *handle, void **comm, void **device_comm)             \
  CALL(accept, void *listen, void **comm, void **device_comm)                                  \
  REG_CALLS(size_t)                                                                            \
  PROFILED_TRANSFER_CALLS                                                                      \
  DEVICE_CALLS                                                                                 \
  CALL(makeVDevice, int *dev, vdevice *props)                                                  \
  CALL(finalize, void *ctx)                                                                    \
  CALL(setNetAttr, void *ctx, void *attr)

typedef struct {
  CONTEXT_CALLS(v11, ncclNetVDeviceProps_v9_t)
} ncclNet_v11_t;

typedef struct {
  CONTEXT_CALLS(v12, ncclNetVDeviceProps_v12_t)
} ncclNet_v12_t;

#define LAYOUT(version, table, properties)                                       \
  _Static_assert(sizeof(ncclNet_##version##_t) == (table), "ncclNet_" #version); \
  _Static_assert(sizeof(ncclNetProperties_##version##_t) == (properties), "ncclNetProperties_" #version);
LAYOUT(v6, 136, 48)
LAYOUT(v7, 152, 56)
LAYOUT(v8, 152, 64)
LAYOUT(v9, 160, 104)
LAYOUT(v10, 160, 104)
LAYOUT(v11, 176, 112)
LAYOUT(v12, 176, 128)
_Static_assert(offsetof(ncclNetProperties_v12_t, maxP2pBytes) == 104, "ncclNetProperties_v12.maxP2pBytes");
_Static_assert(sizeof(ncclProfilerNetIbDescr_v1_t) == 40, "ncclProfilerNetIbDescr_v1");
#undef LAYOUT

#endif
