#!/usr/bin/env bash
# Make a virtual environment with Ansible, its collections and ansible-lint in it: tools/ansible.sh DIR
#
# 600 MB and a minute or two: for the trial `ansible`, and for the tests that run it where it exists. Says why where it cannot.
set -euo pipefail

target=${1:?usage: tools/ansible.sh DIR}
skip() { echo "ansible: skipped: $1" >&2; exit 0; }

[ -x "$target/bin/ansible-lint" ] && { echo "ansible: $target is there already"; exit 0; }
python=$(for name in python3 python3.13 python3.12 python3.11; do
  "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$name" && break
done) || skip "there is no Python 3.11 or later with venv"
# Only a virtual environment is made anew: any other folder may hold something of the user's.
if [ -e "$target" ] && [ ! -f "$target/pyvenv.cfg" ]; then
  echo "ansible: $target exists and is no virtual environment: nothing was changed; name a folder that does not exist" >&2
  exit 1
fi
rm -rf "$target"
mkdir -p "$(dirname "$target")"
"$python" -m venv "$target" || skip "a virtual environment could not be made"
"$target/bin/python" -m pip install -qq --disable-pip-version-check --require-hashes -r "$(dirname "$0")/../requirements/ansible.lock" || { rm -rf "$target"; skip "the packages could not be had"; }
echo "ansible: made $target"
