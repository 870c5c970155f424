"""Rules about NCCL's own instruments: the Inspector's bandwidths and NCCL's diagnostics."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING

from railweave.model.findings.registry import FindingPlace, check
from railweave.operations.bench.gpu_nics import described, nics_of
from railweave.operations.bench.inspector import POINT_TO_POINT, at_most
from railweave.operations.bench.triage.wire import once, times
from railweave.prediction.collectives.program import written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.operations.bench.gpu_nics import GpuNics
    from railweave.operations.bench.inspector import Communicator, InspectorRecord, Measured
    from railweave.operations.bench.triage.wire import Case

SLOW = 0.8
"""The part of the median bandwidth of similar communicators below which a communicator is slow.

Repeated runs of the source reports differ by 1.2 %; operators' tests fail at 5 to 10 %. A job's own load adds more.
"""
FEWEST = 3
"""The smallest number of similar communicators that are compared: of two, neither is known to be the slow one."""
SMALLEST = 16 << 20
"""The smallest message, in bytes, whose bandwidth is compared. Smaller ones measure latency."""
_POINT_TO_POINT = POINT_TO_POINT | {"send-recv"}
"""The operations between two ranks: their bandwidth depends on the pair. Prometheus' form does not name the other rank."""


Alike = tuple[str, int | None, str, int, int]
"""The properties that similar communicators share: operation, size or its range, and the numbers of ranks and servers."""


def is_compared(row: Measured | InspectorRecord, ranks: int) -> bool:
    """Return whether the bandwidth of an operation of ``ranks`` ranks is compared: not of two ranks only, and not of small messages."""
    of_all = row.peer is None and row.operation not in _POINT_TO_POINT
    return of_all and (at_most(row.operation, row.size_bytes, row.size_range, ranks) or 0) >= SMALLEST


def alike(communicator: Communicator, row: Measured) -> Alike | None:
    """Return what communicators must share to be compared in ``row``; None if its bandwidth is not compared."""
    if not is_compared(row, communicator.ranks):
        return None
    return row.operation, row.size_bytes, row.size_range, communicator.ranks, communicator.nodes


def usual_rates(of_job: Iterable[Communicator]) -> dict[Alike, tuple[float, int]]:
    """Return (median bus bandwidth in GB/s, number of communicators) for each kind that enough similar communicators of a job have."""
    rates: dict[Alike, list[float]] = defaultdict(list)
    for communicator in of_job:
        for row in communicator.measured:
            kind = alike(communicator, row)
            if row.busbw and kind is not None:
                rates[kind].append(row.busbw)
    return {kind: (median(group), len(group)) for kind, group in rates.items() if len(group) >= FEWEST}


def slower(communicator: Communicator, row: Measured, usual: tuple[float, int] | None, where: str) -> str:
    """Return a sentence if a communicator is slower than similar ones; empty if it is not.

    ``usual`` is its kind's value of ``usual_rates``, or None. ``where`` names its rails, NICs and links; empty if unknown.
    """
    if usual is None or not row.busbw or row.busbw >= SLOW * usual[0]:
        return ""
    return f"{measured(communicator, row)}, the median of {usual[1]} similar communicators is {usual[0]:.1f}; {place(communicator, where)}"


def measured(communicator: Communicator, row: Measured) -> str:
    """Return a phrase with a communicator, an operation, its size, and the bus bandwidth that it gets."""
    size = written(row.size_bytes) if row.size_bytes else row.size_range
    return f"{communicator.title}: {row.operation} of {size} gets {row.busbw or 0:.1f} GB/s"


def place(communicator: Communicator, where: str) -> str:
    """Return a phrase with the servers of a communicator. ``where`` names its rails, NICs and links; empty if unknown."""
    servers = ", ".join(communicator.hosts) or "servers that are not all in the records"
    return f"on {servers}{f' ({where})' if where else ''}"


@dataclass
class Instruments:
    """The communicators of all texts of a job, from the Inspector's records, and the design to compare with, or None."""

    of_job: list[Communicator]
    design: GpuNics | None

    @cached_property
    def slow(self) -> list[FindingPlace]:
        """The communicators that are slower than similar ones."""
        nics = nics_of(self.of_job, self.design) if self.design is not None else [()] * len(self.of_job)
        usual = usual_rates(self.of_job)
        result: list[FindingPlace] = []
        for communicator, of_gpus in zip(self.of_job, nics, strict=True):
            where = ", ".join(f"{name} {text}" for name, text in described(of_gpus))
            host = communicator.hosts[0] if len(communicator.hosts) == 1 else ""
            for row in communicator.measured:
                kind = alike(communicator, row)
                text = slower(communicator, row, usual.get(kind) if kind is not None else None, where)
                if text:
                    result.append(FindingPlace(host or row.file.rpartition("/")[2], text, row.file, row.line))
        return result


@check(
    "run-communicator-slow",
    "warning",
    applies="run",
    why="similar communicators of the job, with as many ranks and servers, get more for the same collective and size: the "
    "servers, NICs or links of this one are slower, or loaded by other traffic",
    fix="compare its NICs, links and leaves with the others' (`railweave check`, `railweave bench plan --suite quick`); "
    "`railweave bench import` and `railweave bench compare --predicted --fabric` lay each communicator beside its prediction",
)
def slow(case: Case) -> Iterator[FindingPlace]:
    """In the Inspector's records, similar communicators get a similar bandwidth."""
    if case.instruments is not None:
        yield from (place for place in case.instruments.slow if place.file == case.file)


@check(
    "run-nccl-diagnostics",
    "warning",
    applies="run",
    why="NCCL's own diagnostics (NCCL_RUN_DIAGNOSTICS, `ncclras -D`) report a condition that may need attention",
    fix="follow NCCL's user guide, Diagnostics; for `net bw`, compare the rank's NIC and link with the others' "
    "(`railweave check`, `railweave host check`)",
)
def diagnostics(case: Case) -> Iterator[FindingPlace]:
    """NCCL's diagnostics have no result tagged [INFO]."""
    failed = [(f"{each.host}\n{each.text}", each.line) for each in case.read.diagnostics if not each.passed]
    for key, line, often in once(failed):
        host, _, text = key.partition("\n")
        yield case.finding(line, text + times(often), host)


@check(
    "run-report-not-understood",
    "info",
    applies="run",
    why="a newer release of NCCL or RCCL writes fields or lines that railweave does not know, or records do not name their "
    "communicator; nothing was concluded from them",
    fix="check these lines yourself, and report the release; give communicators of several servers a name "
    "(`commName` of ncclConfig_t, or `group_desc` of PyTorch)",
)
def not_understood(case: Case) -> Iterator[FindingPlace]:
    """Every field and line of the reports of NCCL's Inspector, RAS and diagnostics is known, and each record's communicator."""
    notes = case.read.notes if case.read.inspector or case.read.diagnostics else ()
    for note in (*notes, *(case.reports.notes if case.reports is not None else ())):
        if note.file == case.file:
            yield case.finding(note.line, f"{note.what}{f': {note.text}' if note.text else ''}")
