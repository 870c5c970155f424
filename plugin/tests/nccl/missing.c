// Device entry points of NCCL that nothing here calls: every one says "internal error".
#define MISSING(number, symbol)               \
  int missing_##number(void) __asm__(symbol); \
  int missing_##number(void) { return 3; }

MISSING(1, "_Z17ncclLaunchOneRankPvPKvm16ncclDevRedOpFull14ncclDataType_tP11CUstream_st")
MISSING(2, "_Z20ncclGinGdakiProgressPv")
MISSING(3, "_Z20ncclGinGdakiRegMrSymPvS_mimPS_S0_")
MISSING(4, "_Z22ncclGinGdakiDeregMrSymPvS_")
MISSING(5, "_Z22ncclSymkGetKernelIndex16ncclSymkKernelIdi14ncclDataType_t")
MISSING(6, "_Z25ncclGinGdakiCreateContextPviiiiiiPS_PP24ncclNetDeviceHandle_v7_t")
MISSING(7, "_Z26ncclGinGdakiDestroyContextPv")
MISSING(8, "_Z26ncclGinGdakiQueryLastErrorPvPb")
// Of 2.28, where they have other arguments.
MISSING(9, "_Z20ncclGinGdakiRegMrSymPvS_miPS_S0_")
MISSING(10, "_Z20ncclSymkGetKernelPtr16ncclSymkKernelIdi14ncclDataType_t")
MISSING(11, "_Z25ncclGinGdakiCreateContextPviiPS_PP24ncclNetDeviceHandle_v7_t")
