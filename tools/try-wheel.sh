#!/usr/bin/env bash
# Install the wheel in dist/ into a clean virtual environment and run the demo with it where no compiler is in reach.
# usage: tools/try-wheel.sh PYTHON
set -euo pipefail
python=$1
wheel=$(ls -t "$PWD"/dist/railweave-*.whl | head -1)
folder=$(mktemp -d)
remove=$(command -v rm)
trap '"$remove" -rf "$folder"' EXIT

"$python" -m venv --without-pip "$folder/venv"
# Only the environment's own programs and what every system has: no cargo, no cc, nothing of this checkout.
mkdir "$folder/bin"
for name in env sh uname dirname; do ln -s "$(command -v "$name")" "$folder/bin/"; done
export PATH="$folder/venv/bin:$folder/bin" PYTHONPATH= HOME="$folder"
for compiler in cargo rustc cc gcc; do
  if command -v "$compiler" > /dev/null; then echo "$compiler is in reach: this would prove nothing"; exit 1; fi
done
"$python" -m pip --python "$folder/venv/bin/python" install --quiet --disable-pip-version-check "$wheel"
cd "$folder"
railweave init mine --example h100-rlb
railweave build mine/h100-rlb.yaml -o out --quiet
railweave verify out
railweave paths out --src H100-01:gpu0_eth --dst H100-03:gpu0_eth --qps 4
railweave flows --topology fat-tree:k=4,speed=100G,delay=1us --traffic permutation:bytes=64KB
[ -s out/report.html ] && [ -s out/runbook/spine1.md ]
