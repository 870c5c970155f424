// An NVML that knows one GPU, without NVLink.
enum { GOOD = 0, NOT_SUPPORTED = 3 };
#define ANSWER(name, ...) \
  int name(__VA_ARGS__);  \
  int name(__VA_ARGS__)

ANSWER(nvmlInit, void) { return GOOD; }
ANSWER(nvmlInit_v2, void) { return GOOD; }
ANSWER(nvmlShutdown, void) { return GOOD; }
ANSWER(nvmlDeviceGetCount, unsigned *n) { return *n = 1, GOOD; }
ANSWER(nvmlDeviceGetCount_v2, unsigned *n) { return *n = 1, GOOD; }
ANSWER(nvmlDeviceGetHandleByIndex, unsigned i, void **device) { return *device = (void *)(0x100ul + 0 * i), GOOD; }
ANSWER(nvmlDeviceGetHandleByPciBusId, const char *id, void **device) { return *device = (void *)0x100, id ? GOOD : 1; }
ANSWER(nvmlDeviceGetIndex, void *device, unsigned *i) { return *i = 0, device ? GOOD : 1; }
ANSWER(nvmlDeviceGetCudaComputeCapability, void *device, int *major, int *minor) {
  *major = 8;
  *minor = 0;
  return device ? GOOD : 1;
}
ANSWER(nvmlDeviceGetP2PStatus, void *a, void *b, int kind, int *status) {
  return *status = 1, a && b && kind >= 0 ? GOOD : 1;
}
ANSWER(nvmlDeviceGetNvLinkState, void) { return NOT_SUPPORTED; }
ANSWER(nvmlDeviceGetNvLinkRemotePciInfo, void) { return NOT_SUPPORTED; }
ANSWER(nvmlDeviceGetNvLinkCapability, void) { return NOT_SUPPORTED; }
ANSWER(nvmlDeviceGetFieldValues, void) { return NOT_SUPPORTED; }
const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result) { return result ? "an error" : "no error"; }
