#!/usr/bin/env bash
# Install libyang for the Junos validator into a Python environment: tools/libyang.sh PYTHON
#
# The Python package is compiled against the system's library. Says why where it cannot be had.
set -euo pipefail

python=${1:?usage: tools/libyang.sh PYTHON}
skip() { echo "libyang: skipped: $1" >&2; exit 0; }

"$python" -c 'import libyang' 2>/dev/null && { echo "libyang: there already"; exit 0; }
if [ ! -e /usr/include/libyang/libyang.h ]; then
  [ "$(id -u)" = 0 ] || skip "its headers are not installed, and installing them needs root (apt install libyang2-dev)"
  command -v apt-get >/dev/null || skip "this system has no apt; install the headers of libyang 2"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libyang2-dev >/dev/null; } \
    || skip "libyang2-dev could not be installed"
fi
pip=("$python" -m pip install --quiet --disable-pip-version-check --require-hashes)
"${pip[@]}" -r requirements/yang-build.lock || skip "what its build needs could not be had"
"${pip[@]}" --no-build-isolation -r requirements/yang.lock || skip "it does not compile here"
echo "libyang: installed"
