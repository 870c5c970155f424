#include <stdio.h>
#include <string.h>
typedef int R;
R nvmlInit() { return 0; }
R nvmlInit_v2() { return 0; }
R nvmlShutdown() { return 0; }
R nvmlDeviceGetCount(unsigned *n) {
  *n = 1;
  return 0;
}
R nvmlDeviceGetCount_v2(unsigned *n) {
  *n = 1;
  return 0;
}
R nvmlDeviceGetHandleByIndex(unsigned i, void **d) {
  *d = (void *)0x100;
  return 0;
}
R nvmlDeviceGetHandleByPciBusId(const char *b, void **d) {
  *d = (void *)0x100;
  return 0;
}
R nvmlDeviceGetIndex(void *d, unsigned *i) {
  *i = 0;
  return 0;
}
const char *nvmlErrorString(R r) { return "stub"; }
R nvmlDeviceGetNvLinkState() { return 3; }
R nvmlDeviceGetNvLinkRemotePciInfo() { return 3; }
R nvmlDeviceGetNvLinkCapability() { return 3; }
R nvmlDeviceGetCudaComputeCapability(void *d, int *a, int *b) {
  *a = 8;
  *b = 0;
  return 0;
}
R nvmlDeviceGetP2PStatus(void *a, void *b, int i, int *s) {
  *s = 1;
  return 0;
}
R nvmlDeviceGetFieldValues() { return 3; }
