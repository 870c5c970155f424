"""Faults of every scope and duration, with the times that users have, in this plugin and in NCCL's own transport.

faults.py BUILD [NCCL]    NCCL: a build of NCCL without a GPU (make test-nccl), with libnccl.so.2

Two processes send to each other over fake verbs, 20 MB/s a path; every byte is checked. A cell says how long a job took beyond the fault itself and
a run without one, the longest of three sizes of messages, or that it ended: at least one end reported an error. With NCCL, writes the table of
docs/plugin.md; takes some minutes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import page

AT_MS = 300
DURATIONS_MS = (5, 50, 500, 5_000, 30_000, 60_000)
SIZES = {4_096: 30_000, 65_536: 6_000, 1_048_576: 500}
"""Largest message in bytes, and how many groups of messages are sent: about two seconds' worth."""
SCOPES = {
    "one of four paths": ([], "down:1", "up:1"),
    "a port, one NIC": ([], "port", "portup"),
    "a NIC of two that are merged": (["--devices", "2", "--merge"], "port", "portup"),
    "all paths, in silence": ([], "dark:{ms}", ""),
}
RUNS_AT_ONCE = 4


@dataclass(frozen=True)
class Way:
    """A transport to measure: its library, and variables that it needs."""

    name: str
    library: Path
    variables: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Run:
    """What became of a run."""

    carried: bool
    seconds: float


def main() -> int:
    """Measure all and print the table; 1 if the plugin ended a job that NCCL's own transport carried."""
    build = Path(sys.argv[1]).resolve()
    ways = [Way("plugin", build / "libnccl-net-railweave.so", ())]
    if len(sys.argv) > 2:
        nccl = Path(sys.argv[2]).resolve()
        needs = (("NCCL_IB_GID_INDEX", "2"), ("LD_LIBRARY_PATH", str(nccl)))  # the address whose path fails
        ways.append(Way("NCCL's own", nccl / "libnccl.so.2", needs))
    cells = [(scope, ms, size, way) for ms in (0, *DURATIONS_MS) for scope in SCOPES for size in SIZES for way in ways]
    with ThreadPoolExecutor(RUNS_AT_ONCE) as pool:
        runs = dict(zip(cells, pool.map(lambda cell: run(build, *cell), cells), strict=True))
    rows = ["| fault | " + " | ".join(f"{ms} ms" if ms < 1000 else f"{ms // 1000} s" for ms in DURATIONS_MS) + " |"]
    rows.append("|---" * (1 + len(DURATIONS_MS)) + "|")
    worse = 0
    for scope in SCOPES:
        row: list[str] = []
        for ms in DURATIONS_MS:
            extra = [
                [beyond(runs[scope, ms, size, way], runs[scope, 0, size, way], ms) for size in SIZES] for way in ways
            ]
            row.append(", ".join(longest(of_way) for of_way in extra))
            worse += sum(
                extra[0][i] is None and any(of_way[i] is not None for of_way in extra) for i in range(len(SIZES))
            )
            print(scope, ms, extra, flush=True)
        rows.append(f"| {scope} | " + " | ".join(row) + " |")
    if len(ways) > 1:
        page.write("faults", rows)
    print(f"{worse} jobs that NCCL's own transport carries and the plugin does not")
    return 1 if worse else 0


def run(build: Path, scope: str, ms: int, size: int, way: Way) -> Run:
    """A job with a fault of a scope, for ms; 0: without one."""
    more, begins, ends = SCOPES[scope]
    words = [str(build / "harness"), "--plugin", str(way.library), "--rate", "20", "--groups", str(SIZES[size]),
             "--largest", str(size), "--patience", str(ms // 1000 + 60), *more]  # fmt: skip
    if ms:
        words += ["--fault", f"{AT_MS}:{begins.format(ms=ms)}"]
        words += ["--fault", f"{AT_MS + ms}:{ends}"] if ends else []
    begun = time.monotonic()
    done = subprocess.run(words, cwd=build, env=os.environ | dict(way.variables), capture_output=True, check=False)
    return Run(done.returncode == 0, time.monotonic() - begun)


def beyond(of: Run, without: Run, ms: int) -> float | None:
    """Seconds that a job took beyond the fault and a run without one; None if it ended with an error."""
    if not without.carried:
        raise SystemExit("a run without a fault fails")
    return max(0.0, of.seconds - without.seconds - ms / 1000) if of.carried else None


def longest(seconds: list[float | None]) -> str:
    """A cell of the table."""
    known = [one for one in seconds if one is not None]
    return f"+{max(known):.1f} s" if len(known) == len(seconds) else "ended"


if __name__ == "__main__":
    raise SystemExit(main())
