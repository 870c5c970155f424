#!/usr/bin/env bash
# Build the wheel and the sdist of a release so that two builds of one commit give the same bytes: tools/packages.sh PYTHON MATURIN DIST
#
# PYTHON has railweave of this checkout installed, and MATURIN is a program of requirements/release.lock with zig. RAILWEAVE_LINKER=system links by this
# machine's linker, for a wheel that this machine's C library and later ones run.
set -euo pipefail
python=$1 maturin=$2 dist=$3
. tools/reproducible.sh
linker=(--zig --compatibility manylinux_2_17)
[ "${RAILWEAVE_LINKER:-zig}" = zig ] || linker=(--compatibility pypi)
rm -rf railweave._sim.data
"$python" -m docs.man_pages railweave._sim.data/data
"$maturin" sdist --out "$dist"
PATH="$(cd "$(dirname "$maturin")" && pwd):$PATH" "$maturin" build --quiet --release --locked "${linker[@]}" --out "$dist"
