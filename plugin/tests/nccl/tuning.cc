// NCCL's own search and cost model for the servers of a job, without the servers: what it estimates and what it would choose.
//   tuning TOPOLOGY SERVERS GPUS COMPUTE_CAPABILITY
// TOPOLOGY is one server in NCCL's XML (choices.py writes it). A line for each graph, one for the channels of the communicator, and one
// for each collective and size: every estimate in us, then "->", algorithm, protocol and channels.
#include "core.h"
#include "comm.h"
#include "graph.h"
#include "graph/topo.h"
#include "graph/xml.h"
#include <stdio.h>
#include <stdlib.h>

static void must(ncclResult_t result, const char* call) {
  if (result == ncclSuccess) return;
  fprintf(stderr, "%s: %s\n", call, ncclGetErrorString(result));
  exit(1);
}
#define MUST(call) must(call, #call)

static const char* algorithms[] = {"Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
static const char* protocols[] = {"LL", "LL128", "Simple"};
static const ncclFunc_t collectives[] = {ncclFuncAllReduce, ncclFuncAllGather, ncclFuncReduceScatter, ncclFuncBroadcast};
static const char* names[] = {"all-reduce", "all-gather", "reduce-scatter", "broadcast"};

static void search(ncclComm* comm, ncclTopoGraph* graph, int id, int pattern, int least, int most) {
  graph->id = id;
  graph->pattern = pattern;
  graph->minChannels = least;
  graph->maxChannels = most;
  MUST(ncclTopoCompute(comm->topo, graph));
  printf("graph %d channels %d inside %g across %g crosses %d plain %d\n", id, graph->nChannels, graph->bwIntra, graph->bwInter,
    graph->crossNic, graph->pattern == NCCL_TOPO_PATTERN_TREE);
}

static void estimates(ncclComm* comm, int collective, size_t size, bool switches) {
  float least = 1e30f, us;
  int algorithm = NCCL_ALGO_RING, protocol = NCCL_PROTO_SIMPLE;
  printf("%s %zu", names[collective], size);
  for (int a = 0; a < NCCL_NUM_ALGORITHMS; a++) {
    bool switched = a == NCCL_ALGO_NVLS || a == NCCL_ALGO_NVLS_TREE;
    if (a == NCCL_ALGO_COLLNET_DIRECT || a == NCCL_ALGO_COLLNET_CHAIN || (switched && !switches)) continue;
    if (a == NCCL_ALGO_NVLS && comm->nNodes > 1) continue;
    for (int p = 0; p < NCCL_NUM_PROTOCOLS; p++) {
      MUST(ncclTopoGetAlgoTime(comm, collectives[collective], a, p, size, 1, &us));
      if (us < 0) continue;
      printf(" %s/%s=%.3f", algorithms[a], protocols[p], us);
      if (us < least) least = us, algorithm = a, protocol = p;
    }
  }
  size_t channels = comm->nChannels, each = (size_t)comm->maxThreads[algorithm][protocol] * comm->threadThresholds[algorithm][protocol];
  while (channels > 1 && size < channels * each) channels--;
  printf(" -> %s %s %zu\n", algorithms[algorithm], protocols[protocol], channels);
}

int main(int n, char** words) {
  if (n < 5) return 2;
  int servers = atoi(words[2]), gpus = atoi(words[3]), capability = atoi(words[4]), model;
  auto comm = (ncclComm*)calloc(1, sizeof(ncclComm));
  ncclXml* xml;
  MUST(xmlAlloc(&xml, NCCL_TOPO_XML_MAX_NODES));
  MUST(ncclTopoGetXmlFromFile(words[1], xml, 1));
  MUST(ncclTopoGetSystemFromXml(xml, &comm->topo, 1));
  comm->nRanks = servers * gpus, comm->nNodes = servers;
  comm->localRanks = comm->maxLocalRanks = gpus;
  comm->minCompCap = comm->maxCompCap = comm->compCap = capability;
  comm->netDeviceType = NCCL_NET_DEVICE_HOST;
  MUST(ncclTopoComputePaths(comm->topo, nullptr));
  MUST(ncclTopoTrimSystem(comm->topo, comm));
  MUST(ncclTopoComputePaths(comm->topo, nullptr));
  MUST(ncclTopoSearchInit(comm->topo));
  MUST(ncclTopoCpuType(comm->topo, &comm->cpuArch, &comm->cpuVendor, &model));
  ncclTopoGraph ring{}, tree{}, none{}, nvls{};
  search(comm, &ring, 0, NCCL_TOPO_PATTERN_RING, 1, MAXCHANNELS / 2);
  search(comm, &tree, 1, NCCL_TOPO_PATTERN_BALANCED_TREE, ring.nChannels, ring.nChannels);
  search(comm, &nvls, 3, NCCL_TOPO_PATTERN_NVLS, 1, MAXCHANNELS);
  // As ncclTopoPostset does it.
  comm->nChannels = std::min(MAXCHANNELS, 2 * std::min(ring.nChannels, tree.nChannels));
  if (capability >= 90 && servers > 1 && ring.bwIntra > 45 && comm->nChannels < 16) comm->nChannels *= 2;
  printf("channels %d\n", comm->nChannels);
  comm->maxTreePattern = tree.pattern;
  MUST(ncclTopoInitTunerConstants(comm));
  ncclTopoGraph* graphs[] = {&tree, &ring, &none, &none, &nvls, &nvls, &tree};
  MUST(ncclTopoTuneModel(comm, capability, capability, graphs));
  for (int collective = 0; collective < 4; collective++)
    for (size_t size = 1 << 10; size <= (size_t)1 << 34; size *= 2) estimates(comm, collective, size, nvls.nChannels > 0);
}
