#!/usr/bin/env bash
# Installs Microsoft's SARIF Multitool, by npm, into a folder: sarif.sh DIR. Tests validate SARIF files with it, by the rules of SARIF and of GitHub.
set -euo pipefail

target=${1:?usage: sarif.sh DIR}
version=5.7.0
integrity=sha512-NxUbpq6ISCWoTQ/NfOYEwEDKq1Heka/rMoJ5R5LMydcAZQX/X7g5mWHcgxDub+0M07LC96tZ5LZHvF1Qy3gjTA==  # of exactly this version
skip() { echo "sarif: skipped: $1" >&2; exit 0; }
program="$target/node_modules/@microsoft/sarif-multitool-linux/Sarif.Multitool"
[ -x "$program" ] && { echo "sarif: $program is there already"; exit 0; }
command -v npm >/dev/null || skip "there is no npm (Debian: apt install npm)"
[ "$(uname -m)" = x86_64 ] || skip "the program exists for x86_64 only"
mkdir -p "$target"
npm install --silent --no-fund --no-audit --ignore-scripts --prefix "$target" "@microsoft/sarif-multitool-linux@$version" >/dev/null 2>&1 ||
  skip "npm could not install @microsoft/sarif-multitool-linux $version"
grep -q -F "\"$integrity\"" "$target/node_modules/.package-lock.json" ||
  { rm -rf "$target/node_modules/@microsoft"; echo "sarif: the package from npm does not have the recorded hash: nothing was installed" >&2; exit 1; }
chmod +x "$program"
echo "sarif: installed $program"
