#!/usr/bin/env bash
# NCCL's own core without a GPU: its host sources by g++, with a CUDA runtime that is host memory (cuda.cc, kernel.cc) and an
# NVML that knows one GPU (nvml.c). About eight minutes on two cores; what is there is not built again.
#   build.sh NCCL_SOURCE CUDA_WHEELS OUT
# NCCL_SOURCE: a checkout of NVIDIA/nccl, 2.28 or 2.30. CUDA_WHEELS: where `pip install --target` put nvidia-cuda-runtime-cu12,
# nvidia-cuda-nvcc-cu12 and nvidia-cuda-cccl-cu12 (only their headers are used).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$1" && pwd) cuda=$(cd "$2" && pwd)/nvidia
mkdir -p "$3/o" "$3/inc/nccl_device/gin/gdaki/doca_gpunetio"
out=$(cd "$3" && pwd)
number() { sed -n "s/^NCCL_$1 *:= *//p" "$source/makefiles/version.mk"; }
major=$(number MAJOR) minor=$(number MINOR) patch=$(number PATCH)
cd "$source/src"
sed -e "s/\${nccl:Major}/$major/g;s/\${nccl:Minor}/$minor/g;s/\${nccl:Patch}/$patch/g;s/\${nccl:Suffix}//g;s/\${nccl:Version}/$((major * 10000 + minor * 100 + patch))/g" \
  nccl.h.in > "$out/inc/nccl.h.new"
cmp -s "$out/inc/nccl.h.new" "$out/inc/nccl.h" || mv "$out/inc/nccl.h.new" "$out/inc/nccl.h"
cp include/nccl_device.h "$out/inc/" && cp -r include/nccl_device "$out/inc/" || true
cp -r transport/net_ib/gdaki/doca-gpunetio/include/* "$out/inc/nccl_device/gin/gdaki/doca_gpunetio/" 2> /dev/null || true
printf '#define NCCL_GIT_BRANCH ""\n#define NCCL_GIT_COMMIT_HASH ""\n' > "$out/inc/nccl_git_version.h"
flags="-std=c++17 -O1 -fPIC -w -DNCCL_OS_LINUX -D_GNU_SOURCE -DPROFAPI -DDOCA_VERBS_USE_CUDA_WRAPPER -DDOCA_VERBS_USE_NET_WRAPPER
  -DNCCL_GIN_PROXY_ENABLE=1 -DNCCL_GIN_GDAKI_ENABLE=0 -DCUDA_MAJOR=12 -DCUDA_MINOR=9 -fvisibility=default -I$out/inc -Iinclude -Iinclude/plugin
  -I. -I$cuda/cuda_runtime/include -I$cuda/cuda_nvcc/include -I$cuda/cuda_cccl/include -Itransport/net_ib/gdaki/doca-gpunetio/include"
flags=$(echo $flags)
files=$(ls bootstrap.cc channel.cc collectives.cc debug.cc enqueue.cc group.cc init.cc proxy.cc transport.cc mnnvl.cc allocator.cc dev_runtime.cc \
  dev_runtime_segments.cc sym_kernels.cc ce_coll.cc mem_manager.cc os/linux.cc os/linux_ipcsocket.cc os/linux_socket_pair.cc init_nvtx.cc \
  graph/*.cc misc/*.cc transport/*.cc transport/net_ib/*.cc register/*.cc plugin/*.cc plugin/*/*.cc nccl_device/*.cc scheduler/*.cc gin/*.cc \
  rma/*.cc devcomm/*.cc param/*.cc ras/*.cc 2> /dev/null || true)  # each release has its own
echo "$files" | grep -v -e stub -e ncclparam.cc -e ras/client.cc |
  xargs -P 2 -I{} sh -c 'o='"$out"'/o/$(echo {} | tr / _).o; [ -f $o ] || g++ '"$flags"' -c {} -o $o'
for f in cuda kernel; do g++ $flags -c "$here/$f.cc" -o "$out/$f.o"; done
gcc -fPIC -w -c "$here/missing.c" -o "$out/missing.o"
g++ -shared -o "$out/libnccl.so.2" "$out"/o/*.o "$out"/{cuda,kernel,missing}.o -lpthread -ldl -lrt
gcc -w -shared -fPIC "$here/nvml.c" -o "$out/libnvidia-ml.so.1"
g++ -std=c++17 -O1 -Wall -I"$out/inc" -I"$cuda/cuda_runtime/include" -I"$cuda/cuda_nvcc/include" -I"$cuda/cuda_cccl/include" "$here/ranks.cc" \
  -o "$out/ranks" -L"$out" -l:libnccl.so.2 -Wl,-rpath,"$out"
g++ $flags "$here/tuning.cc" -o "$out/tuning" -L"$out" -l:libnccl.so.2 -Wl,-rpath,"$out"
echo "NCCL $major.$minor.$patch without a GPU: $out"
