#!/usr/bin/env bash
# Make everything that a release has, into dist/: a wheel for Linux of 2014 and later, the sdist, Debian packages, the server's program, the bill of
# materials, the licences, the provenance, checksums.
# usage: tools/release.sh BIN PLUGIN_BUILD
# BUILDER is the address that the provenance names as the builder; by default that of a build by hand. INVOCATION is the address of its run.
# The wheel is for the machine that it is made on. For aarch64, run this on an aarch64 machine; nobody has yet.
set -euo pipefail
bin=$1 plugin=$2
version=$("$bin/railweave" --version)
grep -q "^## $version" CHANGELOG.md || { echo "release: CHANGELOG.md has no section $version"; exit 1; }
. tools/reproducible.sh
rm -rf dist
tool=build/release-tool
[ -x "$tool/bin/maturin" ] && [ ! requirements/release.lock -nt "$tool/bin/maturin" ] ||
  { rm -rf "$tool"; "$bin/python" -m venv "$tool"; "$tool/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/release.lock; touch "$tool/bin/maturin"; }
tools/packages.sh "$bin/python" "$tool/bin/maturin" dist
tools/deb.sh "$bin/python" "$plugin" dist
"$bin/railweave" host zipapp dist/railweave-host.pyz > /dev/null
"$bin/python" tools/sbom.py
cp requirements/licences.csv dist/
"$bin/python" tools/provenance.py dist --builder "${BUILDER:-urn:railweave:built-by-hand}" --invocation "${INVOCATION:-}"
(cd dist && sha256sum -- * > SHA256SUMS && cat SHA256SUMS)
