"""``make trial NAME=bench``: plans carried out by real perftest, Open MPI and Slurm. Its figures go into docs/bench.md.

``python -m tests.operations.bench.trial [guests] [mpi] [slurm]``. A part that cannot run here says why, and its row stays as it was. Ends with
``bench-trial: ok``.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from tests.conftest import ROOT
from tests.live.lab.machine import needs_lab
from tests.operations.bench.trial import common, guests
from tests.operations.bench.trial.common import SkippedError, say

PAGE = ROOT / "docs" / "bench.md"
BEGIN, END = "<!-- bench-trial: begin -->", "<!-- bench-trial: end -->"
HEAD = ["| what ran | runs | time | median of what was measured |", "|---|---|---|---|"]


def _module(name: str, *words: str, own: tuple[str, ...] = ()) -> None:
    """A part as a program, in namespaces of its own where it needs some."""
    done = subprocess.run(
        [*own, sys.executable, "-m", f"tests.operations.bench.trial.{name}", *words], cwd=ROOT, check=False
    )
    assert done.returncode == 0, f"{name} ended with {done.returncode}"


def _guests(out: Path) -> None:
    if why := guests.missing():
        raise SkippedError(why)
    _module("over_rxe", str(common.root()), str(out), own=("unshare", "--net", "--"))


def _mpi(out: Path) -> None:
    if needs_lab.args[0]:
        raise SkippedError(needs_lab.kwargs["reason"])
    for one in ("mpirun", "mpicc", "ssh", "ssh-keygen"):
        if shutil.which(one) is None:
            raise SkippedError(f"there is no {one} (Debian: openmpi-bin, libopenmpi-dev, openssh-client)")
    _module("over_mpi", str(out))


def _slurm(out: Path) -> None:
    if shutil.which("mpicc") is None:
        raise SkippedError("there is no mpicc (Debian: libopenmpi-dev)")
    words = ("unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--propagation", "private", "--")
    _module("over_slurm", str(common.root()), str(out), own=words)


def _row_guests(found: Mapping[str, Any]) -> str:
    rates = "; ".join(f"{part} {median(values):.2f} Gb/s" for part, values in found["rates"].items())
    what = f"perftest {found['perftest']} over Soft-RoCE of Linux {found['kernel'].partition('-')[0]}, two virtual machines"
    again = f", {found['repeated']} of them twice" if found["repeated"] else ""
    return f"| {what} | {found['runs']}{again} | {found['took_s']:.0f} s | {rates} |"


def _times(found: Mapping[str, Any]) -> str:
    parts: dict[str, list[float]] = {}
    for name, time_us in found["times_us"].items():
        alone = name.startswith("servers/")
        parts.setdefault("all-reduce of 2 ranks" if alone else f"{name.partition('/')[2]} of 8 ranks", []).append(
            time_us
        )
    return "; ".join(f"{part} {median(values) / 1e3:.1f} ms" for part, values in parts.items()) + " for 1 MiB"


def _row_mpi(found: Mapping[str, Any]) -> str:
    what = f"Open MPI {found['mpi']} by `mpirun.sh`, four servers of a lab"
    return f"| {what} | {found['runs']} | {found['took_s']:.0f} s | {_times(found)} |"


def _row_slurm(found: Mapping[str, Any]) -> str:
    what = f"`srun` of Slurm {found['slurm']}, four nodes on one machine"
    return f"| {what} | {found['runs']} | {found['took_s']:.0f} s | {_times(found)} |"


PARTS: dict[str, tuple[Callable[[Path], None], Callable[[Mapping[str, Any]], str]]] = {
    "guests": (_guests, _row_guests),
    "mpi": (_mpi, _row_mpi),
    "slurm": (_slurm, _row_slurm),
}


def written(rows: Mapping[str, str]) -> None:
    """Put rows into the page, in the place of those of the same part."""
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    old = [line for line in rest.partition(END)[0].splitlines() if line.startswith("| ")][1:]
    marks = {"guests": "perftest", "mpi": "Open MPI", "slurm": "`srun`"}
    kept = {name: line for name, mark in marks.items() for line in old if line.startswith(f"| {mark}")}
    table = [(kept | dict(rows))[name] for name in PARTS if name in (kept | dict(rows))]
    PAGE.write_text("\n".join([f"{before}{BEGIN}", *HEAD, *table, f"{END}{rest.partition(END)[2]}"]), encoding="utf-8")


def main() -> int:
    """All parts, or those named."""
    rows: dict[str, str] = {}
    for name in sys.argv[1:] or list(PARTS):
        try_it, row = PARTS[name]
        with TemporaryDirectory() as folder:
            out = Path(folder) / "figures.json"
            try:
                try_it(out)
            except SkippedError as why:
                say(f"{name}: skipped: {why}")
                continue
            except AssertionError as wrong:
                say(f"{name}: {wrong}")
                say("bench-trial: failed")
                return 1
            rows[name] = row(json.loads(out.read_text()))
            say(rows[name])
    if rows:
        written(rows)
    say("bench-trial: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
