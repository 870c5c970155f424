"""The status of the labs on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.errors import LabError
from railweave.json_values import JsonObject
from railweave.live.lab import names, state
from railweave.live.lab.kernel import processes
from railweave.live.lab.kernel.namespace import existing

if TYPE_CHECKING:
    from collections.abc import Iterable


_TICKS = 100  # of USER_HZ, in which /proc counts (proc(5)): the same on every Linux that FRR is packaged for


@dataclass(frozen=True)
class Status(JsonObject):
    """The status of a lab: its record, its namespaces, and the memory (MB) and processor time (s) of its processes.

    ``missing``: the namespaces that should exist but do not.
    """

    lab: str
    fabric: str
    stage: str
    slice: str
    timers: str
    frr: str
    namespaces: int
    missing: tuple[str, ...]
    processes: int
    memory_mb: int
    cpu_s: float

    def to_text(self) -> str:
        """Return lines for people."""
        part = f", slice {self.slice}" if self.slice else ""
        lines = [
            f"{self.lab}: {self.stage}, of {self.fabric or 'an unknown file'}{part}",
            (
                f"    {counted(self.namespaces, 'namespace')}, {counted(self.processes, 'process', 'processes')}, {self.memory_mb} MB, "
                f"{self.cpu_s:.0f} s of processor time; {self.frr}"
            ),
            f"    timers: {self.timers}",
        ]
        return "\n".join(
            [*lines, *([f"    namespaces that are gone: {', '.join(self.missing)}"] if self.missing else [])]
        )


def labs(fabric: Path | None) -> list[Status]:
    """Return the status of a fabric file's lab, or of all labs."""
    every = [names.lab_id(fabric)] if fabric else state.all_labs()
    return [status for status in (_status(lab) for lab in every) if status is not None]


def _status(lab: str) -> Status | None:
    spaces = existing(f"{lab}-")
    try:
        record = state.read(state.Place(lab))
    except LabError:
        record = None
    if record is None and not spaces and not names.folder(lab).exists():
        return None
    pids = processes.of_lab(lab)
    overlay = record.timers() if record else None
    expected = {names.namespace(lab, device) for device in record.devices} if record else set[str]()
    return Status(
        lab,
        record.fabric if record else "",
        record.stage if record else "damaged",
        record.slice if record else "",
        overlay.sentence() if overlay else "those of the design",
        f"FRR {record.frr_version} in {record.frr_root}" if record else "",
        len(spaces),
        tuple(sorted(expected - set(spaces))),
        len(pids),
        sum(_shares(pids, "smaps_rollup")) // 1000,
        round(sum(_ticks(pids)) / _TICKS, 1),
    )


def _shares(pids: Iterable[int], file: str) -> list[int]:
    """Return the memory of processes in kB. Shared memory is divided among the processes that share it (PSS)."""
    sizes: list[int] = []
    for text in _read(pids, file):
        sizes += [int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:")]
    return sizes


def _ticks(pids: Iterable[int]) -> list[int]:
    return [sum(map(int, text.rpartition(")")[2].split()[11:13])) for text in _read(pids, "stat")]


def _read(pids: Iterable[int], file: str) -> list[str]:
    texts: list[str] = []
    for pid in pids:
        try:
            texts.append(Path("/proc", str(pid), file).read_text(encoding="utf-8", errors="replace"))
        except OSError:  # it ended meanwhile
            continue
    return texts
