// Loads the plugin as NCCL and RCCL do: by the name in NCCL_NET_PLUGIN, then by that name between prefix and suffix,
// and then the newest version that the release knows. Every release must find a table, of the version it takes, that
// starts up.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_api.h"

struct release {
  const char *name, *prefix;
  int versions[8];  // newest first, 0 ends
};

static const struct release releases[] = {
    {"NCCL 2.18", "libnccl-net", {6, 0}},
    {"NCCL 2.19", "libnccl-net", {7, 6, 0}},
    {"NCCL 2.20 to 2.23", "libnccl-net", {8, 7, 6, 0}},
    {"NCCL 2.24 and 2.25", "libnccl-net", {9, 8, 7, 6, 0}},
    {"NCCL 2.26 and 2.27", "libnccl-net", {10, 9, 8, 7, 6, 0}},
    {"NCCL 2.28 and 2.29", "libnccl-net", {11, 10, 9, 8, 7, 6, 0}},
    {"NCCL 2.30 to 2.32", "libnccl-net", {12, 11, 10, 9, 8, 7, 6, 0}},
    {"RCCL of ROCm 6.0 and 6.1", "librccl-net", {6, 0}},
    {"RCCL of ROCm 6.2", "librccl-net", {8, 7, 6, 0}},
    {"RCCL 2.28.3", "librccl-net", {11, 10, 9, 8, 7, 6, 0}},
};

static void quiet(ncclDebugLogLevel level, unsigned long flags, const char *file, int line, const char *format, ...) {
  (void)level, (void)flags, (void)file, (void)line, (void)format;
}

static void *open_as(const struct release *r, const char *plugin) {
  char name[256];
  void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
  if (library) return library;
  snprintf(name, sizeof(name), "%s-%s.so", r->prefix, plugin);
  return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static bool try(const struct release *r) {
  struct net net;
  int n = 0;
  void *library = open_as(r, "railweave");
  if (!library) {
    printf("%s: %s\n", r->name, dlerror());
    return false;
  }
  const int *version = r->versions;
  while (*version && !net_open(&net, library, *version)) version++;
  if (*version != r->versions[0]) {
    printf("%s: takes version %d, found %d\n", r->name, r->versions[0], *version);
    return false;
  }
  ncclNetProperties_v12_t p;
  bool good = net.init(&net, quiet, NULL) == ncclSuccess && net.devices(&n) == ncclSuccess && n == 2 &&
              net.properties(&net, 0, &p) == ncclSuccess && strcmp(p.name, "fake0") == 0 && p.maxP2pBytes >= 1 << 30 &&
              net.properties(&net, n, &p) != ncclSuccess;
  good &= net.finalize(&net) == ncclSuccess;
  // NCCL takes its own device-initiated transports where a library has none.
  static const char *const others[] = {"ncclGin_v11",       "ncclGinPlugin_v11",    "ncclGinPlugin_v12",
                                       "ncclGinPlugin_v13", "ncclGinPlugin_v14",    "ncclRmaPlugin_v13",
                                       "ncclRmaPlugin_v14", "ncclCollNetPlugin_v12"};
  for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) good &= dlsym(library, others[i]) == NULL;
  dlclose(library);  // as NCCL does at the end; the library stays, its threads must have ended or go on unharmed
  printf("%s: version %d %s\n", r->name, *version, good ? "starts" : "does not start");
  return good;
}

// Without devices, init must fail, so that NCCL goes on to its own transports.
static bool falls_through(void) {
  struct net net;
  void *library = open_as(&releases[6], "railweave");
  setenv("NCCL_IB_DISABLE", "1", 1);
  bool good = library && net_open(&net, library, 12) && net.init(&net, quiet, NULL) != ncclSuccess;
  unsetenv("NCCL_IB_DISABLE");
  return good;
}

int main(void) {
  // Version 12 first: it gives everything back, so that it can be looked for; older ones keep the devices open.
  bool good = falls_through();
  if (!good) puts("NCCL_IB_DISABLE: init succeeds");
  for (size_t i = 0; i < sizeof(releases) / sizeof(releases[0]); i++) good &= try(&releases[i]);
  return !good;
}
