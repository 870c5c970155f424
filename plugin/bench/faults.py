"""Faults of every scope and duration, with the times that users have, in this plugin and in NCCL's own transport.

faults.py BUILD [NCCL]    NCCL: a build of NCCL without a GPU (make test-nccl), with libnccl.so.2

Two processes send to each other over fake verbs, 20 MB/s a path; every byte is checked. A cell says whether all arrived, and how long the job took
beyond the fault itself and a run without one. ``ended``: at least one end reported an error. Prints the table of docs/plugin.md; takes some minutes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

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
    print(
        "| fault | lasts | "
        + " | ".join(f"up to {size >> 10} KiB: {way.name}" for size in SIZES for way in ways)
        + " |"
    )
    print("|---" * (2 + len(SIZES) * len(ways)) + "|")
    worse = 0
    for scope in SCOPES:
        for ms in DURATIONS_MS:
            texts = [text(runs[scope, ms, size, way], runs[scope, 0, size, way], ms) for size in SIZES for way in ways]
            lasts = f"{ms} ms" if ms < 1000 else f"{ms // 1000} s"
            print(f"| {scope} | {lasts} | " + " | ".join(texts) + " |")
            worse += sum(
                not runs[scope, ms, size, ways[0]].carried and any(runs[scope, ms, size, way].carried for way in ways)
                for size in SIZES
            )
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


def text(of: Run, without: Run, ms: int) -> str:
    """A cell of the table."""
    if not without.carried:
        return "does not run"
    return f"+{max(0.0, of.seconds - without.seconds - ms / 1000):.1f} s" if of.carried else "ended"


if __name__ == "__main__":
    raise SystemExit(main())
