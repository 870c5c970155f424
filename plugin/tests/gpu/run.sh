#!/usr/bin/env bash
# Real NCCL on one GPU over the plugin and fake verbs: run.sh BUILD [NCCL version ...]. Needs a GPU with its driver, and
# NCCL and the CUDA runtime on the library path, or pip, which fetches them into BUILD/gpu.
# Not run yet: no machine with a GPU was at hand when this was written.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
shift
[ -e /dev/nvidiactl ] || { echo "gpu: skipped: no NVIDIA GPU"; exit 0; }
cc -std=gnu11 -O2 -Wall -Wextra "$here/allreduce.c" -o "$build/gpu-allreduce" -ldl
for version in "${@:-}"; do
  libraries=${LD_LIBRARY_PATH:-}
  if [ -n "$version" ] || ! ldconfig -p | grep -q libnccl.so.2; then
    target=$build/gpu/${version:-newest}
    # Without a version that of requirements/nccl.lock, by its hash; a given version comes as pip finds it.
    wanted=(--require-hashes -r "$here/../../../requirements/nccl.lock")
    [ -z "$version" ] || wanted=("nvidia-nccl-cu12==$version" nvidia-cuda-runtime-cu12)
    [ -d "$target" ] || python3 -m pip install --quiet --target "$target" "${wanted[@]}"
    libraries=$target/nvidia/nccl/lib:$target/nvidia/cuda_runtime/lib:$libraries
  fi
  fabric=$(mktemp)
  "$build/fake-fabric" "$fabric" create 2 1 4
  log=$build/gpu-${version:-installed}.log
  RAILWEAVE_NET_ANY_NAMESPACE=1 RAILWEAVE_FAKE_FABRIC=$fabric NCCL_IBVERBS_LIB=$build/libfakeverbs.so LD_LIBRARY_PATH=$build:$libraries \
    NCCL_NET_PLUGIN=railweave NCCL_NET=railweave NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_SOCKET_IFNAME=lo NCCL_DEBUG=INFO \
    RAILWEAVE_NET_HOST_FILE=/nonexistent timeout 300 "$build/gpu-allreduce" > "$log" 2>&1 || { tail -30 "$log"; echo "gpu: NCCL ${version:-installed} fails: $log"; exit 1; }
  rm -f "$fabric" "$fabric".*
  grep -q 'NET/railweave: sends: QP 3' "$log" || { echo "gpu: the plugin was not used: $log"; exit 1; }
  echo "gpu: NCCL ${version:-installed}: $(grep -c 'every element right' "$log") ranks right"
done
