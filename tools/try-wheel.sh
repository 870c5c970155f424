#!/usr/bin/env bash
# Install the wheel in dist/ where no compiler is in reach, with pip and, from an index on loopback, with pipx and uv; run the demo with it.
# usage: tools/try-wheel.sh PYTHON
set -euo pipefail
python=$(readlink -f "$(dirname "$1")")/$(basename "$1")
wheel=$(ls -t "$PWD"/dist/railweave-*.whl | head -1)
folder=$(mktemp -d)
remove=$(command -v rm)
server=
trap '[ -z "$server" ] || kill "$server"; "$remove" -rf "$folder"' EXIT

"$python" -m venv --without-pip "$folder/venv"
"$python" -m venv "$folder/installers"
"$folder/installers/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/installers.lock
mkdir -p "$folder/index/railweave"
cp "$wheel" "$folder/index/railweave/"
"$folder/installers/bin/python" -m http.server --bind 127.0.0.1 --directory "$folder/index" 0 > "$folder/served" 2>&1 &
server=$!
for _ in $(seq 200); do grep -q 'port [0-9]' "$folder/served" && break; sleep 0.1; done
index="http://127.0.0.1:$(sed -n 's/.* port \([0-9]*\).*/\1/p' "$folder/served" | head -1)/"

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
[ -s venv/share/man/man1/railweave-build.1 ] && [ -s venv/share/bash-completion/completions/railweave ]

"$folder/installers/bin/pipx" install --quiet --python "$python" --pip-args="--extra-index-url $index --no-cache-dir" railweave
"$folder/.local/bin/railweave" --version
"$folder/installers/bin/pipx" uninstall railweave
"$folder/installers/bin/uv" tool install --quiet --python "$python" --index "$index" railweave
"$folder/.local/bin/railweave" --version
"$folder/installers/bin/uv" tool uninstall railweave
