// Device entry points of NCCL that nothing here calls: every one says "internal error".
int gen1() __asm__("_Z17ncclLaunchOneRankPvPKvm16ncclDevRedOpFull14ncclDataType_tP11CUstream_st");
int gen1() { return 3; }
int gen2() __asm__("_Z20ncclGinGdakiProgressPv");
int gen2() { return 3; }
int gen3() __asm__("_Z20ncclGinGdakiRegMrSymPvS_mimPS_S0_");
int gen3() { return 3; }
int gen4() __asm__("_Z22ncclGinGdakiDeregMrSymPvS_");
int gen4() { return 3; }
int gen5() __asm__("_Z22ncclSymkGetKernelIndex16ncclSymkKernelIdi14ncclDataType_t");
int gen5() { return 3; }
int gen6() __asm__("_Z25ncclGinGdakiCreateContextPviiiiiiPS_PP24ncclNetDeviceHandle_v7_t");
int gen6() { return 3; }
int gen7() __asm__("_Z26ncclGinGdakiDestroyContextPv");
int gen7() { return 3; }
int gen8() __asm__("_Z26ncclGinGdakiQueryLastErrorPvPb");
int gen8() { return 3; }
