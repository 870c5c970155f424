#!/usr/bin/env bash
# Make everything that a release has, into dist/: a wheel for Linux of 2014 and later, the sdist, Debian packages, the server's program, checksums.
# usage: tools/release.sh BIN PLUGIN_BUILD
# The wheel is for the machine that it is made on. For aarch64, run this on an aarch64 machine; nobody has yet.
set -euo pipefail
bin=$1 plugin=$2
version=$("$bin/railweave" --version)
grep -q "^## $version" CHANGELOG.md || { echo "release: CHANGELOG.md has no section $version"; exit 1; }
rm -rf dist railweave._sim.data
"$bin/python" -m docs.man_pages railweave._sim.data/data
tool=build/release-tool
[ -x "$tool/bin/maturin" ] || { "$bin/python" -m venv "$tool"; "$tool/bin/python" -m pip install --quiet --disable-pip-version-check 'maturin[zig]>=1.9,<2'; }
PATH="$PWD/$tool/bin:$PATH" "$tool/bin/maturin" build --release --locked --zig --compatibility manylinux_2_17 --out dist
"$tool/bin/maturin" sdist --out dist
tools/deb.sh "$bin/python" "$plugin" dist
"$bin/railweave" host zipapp dist/railweave-host.pyz > /dev/null
(cd dist && sha256sum -- * > SHA256SUMS && cat SHA256SUMS)
