"""``make trial NAME=acceptance``: the thresholds of every example, taken by gcm's and ROCm CVS's own code.

``python -m tests.operations.exports.acceptance_trial [NAME ...]``: examples by name; default: all. Needs the programs that acceptance_run.py names. For
each example: the files, the time, and that each tool passes results at the threshold and fails results below it. Ends with
``acceptance-trial: ok``.
"""

from __future__ import annotations

import sys
import tempfile
import time
import tomllib
from pathlib import Path

import yaml

import railweave
from railweave.errors import InputError
from railweave.operations.exports import acceptance
from tests.conftest import EXAMPLES
from tests.operations.exports.acceptance_run import NO_CVS, NO_GCM, cvs_check, health_check


def _tried(files: dict[str, str]) -> list[str]:
    """Return a line for each file of a tool, after its tool took it."""
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            if name.startswith("cvs/"):
                answer = cvs_check(Path(folder), text)
                assert answer["refused"], answer
                wrong = {key: n for key, n in answer["errors"].items() if bool(n) != key.endswith("0.949")}
                assert not wrong, wrong
                lines.append(
                    f"{name}: CVS passes 1.0 and 0.951 of {len(answer['errors']) // 3} thresholds, fails 0.949"
                )
            elif name.startswith("gcm/"):
                options = tomllib.loads(text)["health_checks"]["check-nccl"]
                threshold = options["critical_threshold"]
                code, runs = health_check(Path(folder), text, threshold + 0.01, "host-[01-03]")
                assert (code, len(runs)) == (0, 3), (code, runs)
                assert health_check(Path(folder), text, threshold - 0.01, "host-[01-03]")[0] == 2
                lines.append(f"{name}: gcm passes {threshold + 0.01:.2f}, is critical at {threshold - 0.01:.2f}")
            elif name.endswith(".yaml"):
                lines.append(f"{name}: {yaml.safe_load(text)}")
    return lines


def main() -> int:
    """Try the examples that the words name, or all of them."""
    if NO_GCM or NO_CVS:
        print("\n".join(filter(None, (NO_GCM, NO_CVS))))
        return 1
    for file in sorted(EXAMPLES.glob("*.yaml")):
        if sys.argv[1:] and file.stem not in sys.argv[1:]:
            continue
        began = time.monotonic()
        try:
            files = acceptance.files(railweave.load(file))
        except InputError as error:
            print(f"{file.stem}: refused: {error}", flush=True)
            continue
        print(f"{file.stem}: {len(files)} files in {time.monotonic() - began:.0f} s", flush=True)
        for line in _tried(files):
            print(f"  {line}", flush=True)
    print("acceptance-trial: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
