#!/usr/bin/env bash
# Write the locks below requirements/, and the licences of what they name: tools/update.sh PYTHON [--upgrade]
#
# A lock has the version and the hashes of every package for Python 3.11 to 3.13 and every system. Without --upgrade, versions that still fit are kept, so
# that only what changed in pyproject.toml or in requirements/*.in changes. With it, everything moves to the newest version that fits, and so do the crates.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(readlink -f "$(dirname "$1")")/$(basename "$1") upgrade=${2:-}
tool=build/update-tool
[ -x "$tool/bin/uv" ] || { "$python" -m venv "$tool"; "$tool/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/update.lock; }

lock() {  # NAME INPUT...; the packages of dev.lock have the same versions everywhere
  local name=$1
  shift
  echo "update: requirements/$name.lock"
  "$tool/bin/uv" pip compile --quiet --universal --python-version "${PYTHON_OF_LOCK:-3.11}" --generate-hashes --no-annotate --no-header --no-emit-index-url \
    $upgrade "$@" --output-file "requirements/$name.lock"
}
dev="--constraints requirements/dev.lock"
lock sdist requirements/sdist.in
lock dev pyproject.toml requirements/build.in --extra dev
lock base pyproject.toml requirements/build.in $dev
lock image pyproject.toml --extra live --extra watch $dev
lock plots pyproject.toml --extra plots $dev
for name in cmake ray release yang; do lock "$name" "requirements/$name.in" $dev; done
for name in ansible cuda installers nccl site update; do lock "$name" "requirements/$name.in"; done
lock yang-build requirements/yang-build.in $dev --constraints requirements/sdist.lock
for name in netbox nautobot; do PYTHON_OF_LOCK=3.13 lock "$name" "requirements/$name.in" --override requirements/servers.override; done
if [ -n "$upgrade" ]; then
  for manifest in Cargo.toml crates/sim/fuzz/Cargo.toml; do cargo update --quiet --manifest-path "$manifest"; done
fi
"$tool/bin/python" tools/licences.py
