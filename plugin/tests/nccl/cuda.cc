// A CUDA runtime whose device memory is host memory: what NCCL's host code calls, no more. Kernels are kernel.cc.
#include <cuda.h>
#include <cuda_runtime.h>
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/mman.h>
static const char* BUS(){ const char*b=getenv("STUB_BUSID"); return b?b:"0000:00:03.0"; }
static thread_local int dev0=0;
static void* A(size_t n){ void*p=mmap(0,n?(n+4095)&~4095ul:4096,PROT_READ|PROT_WRITE,MAP_PRIVATE|MAP_ANONYMOUS,-1,0); return p==MAP_FAILED?0:p; }
static CUresult CUDAAPI s_str(CUresult,const char**o){*o="stub";return CUDA_SUCCESS;}
static CUresult CUDAAPI s_get(CUdevice*d,int i){*d=i;return CUDA_SUCCESS;}
static CUresult CUDAAPI s_attr(int*v,CUdevice_attribute,CUdevice){*v=0;return CUDA_SUCCESS;}
static CUresult CUDAAPI s_uuid(CUuuid*u,CUdevice){memset(u,7,sizeof*u);return CUDA_SUCCESS;}
static CUresult CUDAAPI s_ctx(CUcontext*c){*c=(CUcontext)0x10;return CUDA_SUCCESS;}
static CUresult CUDAAPI s_set(CUcontext){return CUDA_SUCCESS;}
CUresult rw_launch(void* args, size_t bytes);
void rw_wait_for_kernels();
static CUresult CUDAAPI s_launch(CUfunction,unsigned,unsigned,unsigned,unsigned,unsigned,unsigned,unsigned,CUstream,void**,void**extra){return rw_launch(extra[1],*(size_t*)extra[3]);}
static CUresult CUDAAPI s_launchex(const CUlaunchConfig*,CUfunction,void**,void**extra){return rw_launch(extra[1],*(size_t*)extra[3]);}
static CUresult CUDAAPI s_range(CUdeviceptr*b,size_t*n,CUdeviceptr p){if(b)*b=p;if(n)*n=1<<20;return CUDA_SUCCESS;}
extern "C" {
#define OK(decl) cudaError_t CUDARTAPI decl { return cudaSuccess; }
cudaError_t CUDARTAPI cudaGetDriverEntryPoint(const char*s,void**f,unsigned long long,cudaDriverEntryPointQueryResult*r){
  *f=0;
  if(!strcmp(s,"cuGetErrorString")||!strcmp(s,"cuGetErrorName"))*f=(void*)s_str;
  if(!strcmp(s,"cuDeviceGet"))*f=(void*)s_get;
  if(!strcmp(s,"cuDeviceGetAttribute"))*f=(void*)s_attr;
  if(!strcmp(s,"cuDeviceGetUuid"))*f=(void*)s_uuid;
  if(!strcmp(s,"cuCtxGetCurrent"))*f=(void*)s_ctx;
  if(!strcmp(s,"cuCtxSetCurrent")||!strcmp(s,"cuCtxDestroy"))*f=(void*)s_set;
  if(!strcmp(s,"cuLaunchKernel"))*f=(void*)s_launch;
  if(!strcmp(s,"cuLaunchKernelEx"))*f=(void*)s_launchex;
  if(!strcmp(s,"cuMemGetAddressRange"))*f=(void*)s_range;
  if(r)*r=*f?cudaDriverEntryPointSuccess:cudaDriverEntryPointSymbolNotFound; return cudaSuccess;}
cudaError_t CUDARTAPI cudaGetDriverEntryPointByVersion(const char*s,void**f,unsigned int,unsigned long long e,cudaDriverEntryPointQueryResult*r){return cudaGetDriverEntryPoint(s,f,e,r);}
cudaError_t CUDARTAPI cudaDeviceCanAccessPeer(int*v,int,int){*v=0;return cudaSuccess;}
OK(cudaDeviceEnablePeerAccess(int,unsigned))
cudaError_t CUDARTAPI cudaDeviceGetAttribute(int*v,cudaDeviceAttr a,int){ *v=0; switch((int)a){case cudaDevAttrComputeCapabilityMajor:*v=8;break;case cudaDevAttrComputeCapabilityMinor:*v=0;break;case cudaDevAttrMaxSharedMemoryPerBlockOptin:*v=166912;break;case cudaDevAttrMultiProcessorCount:*v=108;break;case cudaDevAttrWarpSize:*v=32;break;case cudaDevAttrUnifiedAddressing:*v=1;break;} return cudaSuccess;}
cudaError_t CUDARTAPI cudaDeviceGetPCIBusId(char*b,int n,int){snprintf(b,n,"%s",BUS());return cudaSuccess;}
OK(cudaDeviceSetLimit(cudaLimit,size_t)) OK(cudaDeviceSynchronize())
cudaError_t CUDARTAPI cudaDriverGetVersion(int*v){*v=12090;return cudaSuccess;}
cudaError_t CUDARTAPI cudaRuntimeGetVersion(int*v){*v=12090;return cudaSuccess;}
cudaError_t CUDARTAPI cudaEventCreate(cudaEvent_t*e){*e=(cudaEvent_t)malloc(8);return cudaSuccess;}
cudaError_t CUDARTAPI cudaEventCreateWithFlags(cudaEvent_t*e,unsigned){*e=(cudaEvent_t)malloc(8);return cudaSuccess;}
OK(cudaEventDestroy(cudaEvent_t)) OK(cudaEventQuery(cudaEvent_t)) OK(cudaEventRecord(cudaEvent_t,cudaStream_t)) OK(cudaEventSynchronize(cudaEvent_t))
OK(cudaFree(void*)) OK(cudaFreeAsync(void*,cudaStream_t)) OK(cudaFreeHost(void*))
cudaError_t CUDARTAPI cudaFuncGetAttributes(cudaFuncAttributes*a,const void*){memset(a,0,sizeof*a);return cudaSuccess;}
OK(cudaFuncSetAttribute(const void*,cudaFuncAttribute,int))
cudaError_t CUDARTAPI cudaGetDevice(int*d){*d=dev0;return cudaSuccess;}
cudaError_t CUDARTAPI cudaSetDevice(int d){dev0=d;return cudaSuccess;}
cudaError_t CUDARTAPI cudaGetDeviceCount(int*n){*n=1;return cudaSuccess;}
cudaError_t CUDARTAPI cudaGetDeviceProperties_v2(cudaDeviceProp*p,int){memset(p,0,sizeof*p);p->major=8;return cudaSuccess;}
const char* CUDARTAPI cudaGetErrorString(cudaError_t){return "stub error";}
cudaError_t CUDARTAPI cudaGetFuncBySymbol(cudaFunction_t*f,const void*s){*f=(cudaFunction_t)s;return cudaSuccess;}
OK(cudaGetLastError())
OK(cudaGraphAddDependencies(cudaGraph_t,const cudaGraphNode_t*,const cudaGraphNode_t*,size_t))
OK(cudaGraphAddDependencies_v2(cudaGraph_t,const cudaGraphNode_t*,const cudaGraphNode_t*,const cudaGraphEdgeData*,size_t))
OK(cudaGraphAddEventRecordNode(cudaGraphNode_t*,cudaGraph_t,const cudaGraphNode_t*,size_t,cudaEvent_t))
OK(cudaGraphRetainUserObject(cudaGraph_t,cudaUserObject_t,unsigned,unsigned))
cudaError_t CUDARTAPI cudaHostAlloc(void**p,size_t n,unsigned){*p=A(n);return *p?cudaSuccess:cudaErrorMemoryAllocation;}
cudaError_t CUDARTAPI cudaHostGetDevicePointer(void**d,void*h,unsigned){*d=h;return cudaSuccess;}
OK(cudaHostRegister(void*,size_t,unsigned)) OK(cudaHostUnregister(void*))
OK(cudaIpcCloseMemHandle(void*)) OK(cudaIpcGetMemHandle(cudaIpcMemHandle_t*,void*)) OK(cudaIpcOpenMemHandle(void**,cudaIpcMemHandle_t,unsigned))
cudaError_t CUDARTAPI cudaLaunchHostFunc(cudaStream_t,cudaHostFn_t f,void*u){f(u);return cudaSuccess;}
cudaError_t CUDARTAPI cudaMalloc(void**p,size_t n){*p=A(n);return *p?cudaSuccess:cudaErrorMemoryAllocation;}
cudaError_t CUDARTAPI cudaMallocFromPoolAsync(void**p,size_t n,cudaMemPool_t,cudaStream_t){*p=A(n);return cudaSuccess;}
cudaError_t CUDARTAPI cudaMemPoolCreate(cudaMemPool_t*p,const cudaMemPoolProps*){*p=(cudaMemPool_t)0x20;return cudaSuccess;}
OK(cudaMemPoolDestroy(cudaMemPool_t)) OK(cudaMemPoolSetAttribute(cudaMemPool_t,cudaMemPoolAttr,void*))
cudaError_t CUDARTAPI cudaMemcpy(void*d,const void*s,size_t n,cudaMemcpyKind){memcpy(d,s,n);return cudaSuccess;}
cudaError_t CUDARTAPI cudaMemcpyAsync(void*d,const void*s,size_t n,cudaMemcpyKind,cudaStream_t){memcpy(d,s,n);return cudaSuccess;}
cudaError_t CUDARTAPI cudaMemset(void*d,int v,size_t n){memset(d,v,n);return cudaSuccess;}
cudaError_t CUDARTAPI cudaMemsetAsync(void*d,int v,size_t n,cudaStream_t){memset(d,v,n);return cudaSuccess;}
cudaError_t CUDARTAPI cudaPointerGetAttributes(cudaPointerAttributes*a,const void*p){memset(a,0,sizeof*a);a->type=cudaMemoryTypeDevice;a->devicePointer=(void*)p;return cudaSuccess;}
cudaError_t CUDARTAPI cudaStreamCreateWithFlags(cudaStream_t*s,unsigned){*s=(cudaStream_t)malloc(8);return cudaSuccess;}
OK(cudaStreamDestroy(cudaStream_t))
cudaError_t CUDARTAPI cudaStreamGetCaptureInfo_v2(cudaStream_t,cudaStreamCaptureStatus*s,unsigned long long*,cudaGraph_t*,const cudaGraphNode_t**,size_t*){*s=cudaStreamCaptureStatusNone;return cudaSuccess;}
cudaError_t CUDARTAPI cudaStreamGetCaptureInfo_v3(cudaStream_t,cudaStreamCaptureStatus*s,unsigned long long*,cudaGraph_t*,const cudaGraphNode_t**,const cudaGraphEdgeData**,size_t*){*s=cudaStreamCaptureStatusNone;return cudaSuccess;}
cudaError_t CUDARTAPI cudaStreamGetId(cudaStream_t,unsigned long long*i){*i=1;return cudaSuccess;}
cudaError_t CUDARTAPI cudaStreamIsCapturing(cudaStream_t,cudaStreamCaptureStatus*s){*s=cudaStreamCaptureStatusNone;return cudaSuccess;}
cudaError_t CUDARTAPI cudaStreamSynchronize(cudaStream_t){rw_wait_for_kernels();return cudaSuccess;}
OK(cudaStreamUpdateCaptureDependencies(cudaStream_t,cudaGraphNode_t*,size_t,unsigned))
OK(cudaStreamUpdateCaptureDependencies_v2(cudaStream_t,cudaGraphNode_t*,const cudaGraphEdgeData*,size_t,unsigned))
OK(cudaStreamWaitEvent(cudaStream_t,cudaEvent_t,unsigned))
OK(cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*))
OK(cudaUserObjectCreate(cudaUserObject_t*,void*,cudaHostFn_t,unsigned,unsigned))
cudaError_t CUDARTAPI cudaMemcpyBatchAsync(void**,void**,size_t*,size_t,cudaMemcpyAttributes*,size_t*,size_t,size_t*,cudaStream_t){return cudaErrorNotSupported;}
static void dummyKernel(){}
extern const int ncclDevKernelCount=1, ncclSymkKernelCount=0;
void* ncclDevKernelList[4]={(void*)dummyKernel}; int ncclDevKernelRequirements[4];
extern const int ncclDevFuncRowToId[4096]={0};
extern void* const ncclDevKernelForFunc[4096]={(void*)dummyKernel}; extern const bool ncclDevKernelForFuncIsSpecialized[4096]={0};
void* ncclSymkKernelList[4]; int ncclSymkKernelRequirements[4]; int ncclSymkKernelMaxDynamicSmem[4];
}
