"""The communicators of running jobs, beside similar ones and beside their prediction on the design.

A communicator of which nothing was recorded lately, or not by all ranks, is *not seen*: neither right nor wrong.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from time import monotonic, time
from typing import TYPE_CHECKING, Literal

from railweave.json_values import JsonObject
from railweave.model.findings.registry import Rule
from railweave.operations.bench.comparing.predicting import collective_question
from railweave.operations.bench.gpu_nics import described, gpu_nics, nics_of
from railweave.operations.bench.inspector import Gathered
from railweave.operations.bench.triage import instruments
from railweave.operations.bench.triage.instruments import (
    FEWEST,
    SLOW,
    alike,
    is_compared,
    measured,
    place,
    slower,
    usual_rates,
)
from railweave.operations.watch.inspector.following import FORGOTTEN_S, Follower
from railweave.operations.watch.inspector.predictor import Predictor
from railweave.prediction.collectives.program import written

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from railweave.model.findings import Finding
    from railweave.model.network.model import Network
    from railweave.operations.bench.comparing.predicting import Asked
    from railweave.operations.bench.inspector import Communicator, Identity, Measured
    from railweave.operations.store.records import Prediction
    from railweave.operations.watch.inspector.following import Growth

OPERATIONS = 32
"""The last operations of a collective and size of which the median is taken."""
KINDS = 64
"""The collectives and sizes of a communicator that are kept: those seen last. Some jobs never use a size twice."""
MOST_COMMUNICATORS = 20_000
"""The largest number of communicators that are kept. Those that were written longest ago are left out."""
SILENT_S = 120.0
"""The seconds without a record after which a communicator is not seen. Prometheus' form is written every 30 s or more."""

BELOW = Rule(
    "communicator-below-prediction",
    "warning",
    "living",
    f"A communicator of a running job gets less than {SLOW:.0%} of the lower end of its predicted band.",
    why="the job's collectives take longer than the design promises: links or NICs are slower, shared with other traffic, or the job "
    "sets NCCL's variables in another way than was predicted",
    fix="check its NICs and links (`railweave check`), and what else they carry (the console's Rails page); compare the job's NCCL "
    "variables with those that `railweave host env` prints",
)
UNREAD = Rule(
    "inspector-not-read",
    "warning",
    "living",
    "The folder of NCCL Inspector's records, or a part of it, cannot be read.",
    why="nothing is known of the jobs that write there; they are not seen",
    fix="give the user of `railweave watch` read access to the folder and its files, or mount it again",
)
Outcome = Literal["right", "wrong", "not-seen"]


@dataclass(frozen=True, slots=True)
class CommunicatorRate(JsonObject):
    """The bus bandwidth of a communicator for one collective and size.

    - ``job``: the job's folder or its number in Slurm. ``communicator``: the hash or name.
    - ``hosts``: the servers in the order of ranks; empty if records of some are missing.
    - ``size_bytes``, ``size``: the size in bytes, if it is known exactly, and as text.
    - ``seen``: the ranks that recorded the same operation, at most. ``operations``: how many operations the median is of, at most.
    - ``busbw``: the median bus bandwidth in GB/s; ``predicted``, ``low``, ``high``: its prediction with its band; ``usual``: the median of
      similar communicators. None if unknown.
    - ``places``: rails, planes, NICs and links, by name.
    - ``why``: the reason for ``outcome``. ``age_s``: the seconds since the last record.
    """

    JSON = (
        *(
            "job",
            "communicator",
            "name",
            "ranks",
            "nodes",
            "hosts",
            "operation",
            "size_bytes",
            "size",
            "seen",
            "operations",
        ),
        *("busbw:3", "predicted:3", "low:3", "high:3", "usual:3", "places=named_places", "outcome", "why", "age_s:1"),
    )

    job: str
    communicator: str
    name: str
    ranks: int
    nodes: int
    hosts: tuple[str, ...]
    operation: str
    size_bytes: int | None
    size: str
    seen: int
    operations: int
    busbw: float | None
    predicted: float | None
    low: float | None
    high: float | None
    usual: float | None
    places: tuple[tuple[str, str], ...]
    outcome: Outcome = "not-seen"
    why: str = ""
    age_s: float = 0.0

    @property
    def named_places(self) -> dict[str, str]:
        """The rails, planes, NICs and links by name."""
        return dict(self.places)


class JobInstruments:
    """The Inspector's records of running jobs, beside the design of their network.

    - ``folder``: the folder in which jobs write. ``every_s``: the seconds between two looks.
    - ``communicators``: the number of communicators at the last look. ``took_s``: the seconds that it took.
    """

    def __init__(self, folder: Path, network: Network, *, every_s: float) -> None:
        self.follower = Follower(folder)
        self.predictor = Predictor(network)
        self.took_s = 0.0
        self.communicators = 0
        self._network = network
        self._design = gpu_nics(network)
        self._servers = {server.name.lower(): server.name for server in network.servers}
        self._every_s = every_s
        self._rows: tuple[CommunicatorRate, ...] = ()
        self._findings: tuple[Finding, ...] = ()
        self._looked = monotonic()
        self._jobs: dict[str, Gathered] = {}
        self._last: dict[tuple[str, Identity], float] = {}

    @property
    def rows(self) -> tuple[CommunicatorRate, ...]:
        """The collectives of communicators, the slow ones first. If no look ended lately, none is seen."""
        why = self._stalled()
        return tuple(replace(row, outcome="not-seen", why=why) for row in self._rows) if why else self._rows

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of the last look."""
        why = self._stalled()
        stalled = (UNREAD.finding(self._network.name, f"{self.follower.folder}: {why}"),) if why else ()
        return (*self._findings, *stalled)

    def _stalled(self) -> str:
        """Return a sentence if no look ended lately, for example because a file system hangs; empty if one did."""
        passed = monotonic() - self._looked
        return f"it could not be read for {passed:,.0f} s" if passed >= max(SILENT_S, 3 * self._every_s) else ""

    async def run(self) -> None:
        """Look every ``every_s`` seconds, in a thread, and predict in a process, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.predictor.run())
            group.create_task(self._looking())

    async def _looking(self) -> None:
        while True:
            began = monotonic()
            await asyncio.to_thread(self.look, time())
            await asyncio.sleep(max(self._every_s - (monotonic() - began), self._every_s / 2))

    def look(self, now: float) -> None:
        """Read what the jobs wrote since the last look, and compare it. Never raises an error for what is read. ``now`` is in seconds since 1970."""
        began = monotonic()
        for growth in self.follower.look(now):
            self._add(self._jobs.setdefault(growth.job, _gathered()), growth)
        self._forget(now)
        rewritten: dict[str, Gathered] = {}
        for growth in self.follower.prometheus():
            if now - growth.at < FORGOTTEN_S:
                self._add(rewritten.setdefault(growth.job, _gathered()), growth)
        rows: list[CommunicatorRate] = []
        findings = list(self._unread())
        wanted: list[Asked] = []
        self.communicators = 0
        for folder, group in [*self._jobs.items(), *rewritten.items()]:
            by_job: dict[str, list[Communicator]] = {}
            for communicator in group.communicators():
                by_job.setdefault(communicator.job, []).append(communicator)
            for of_job in by_job.values():
                self.communicators += len(of_job)
                for row, finding, asked in self._compared(folder, of_job, now):
                    rows.append(row)
                    findings += () if finding is None else (finding,)
                    wanted += () if asked is None else (asked,)
        self._last = {key: at for key, at in self._last.items() if now - at < FORGOTTEN_S}
        self.predictor.want(wanted)
        order = {"wrong": 0, "right": 1, "not-seen": 2}
        self._rows = tuple(sorted(rows, key=lambda row: (order[row.outcome], row.job, row.name, row.communicator)))
        self._findings = tuple(findings)
        self._looked = monotonic()
        self.took_s = self._looked - began

    def _add(self, gathered: Gathered, growth: Growth) -> None:
        for record in growth.records:
            identity = gathered.add(record, measured=is_compared(record, record.ranks))
            if identity is not None:
                key = growth.job, identity
                self._last[key] = max(self._last.get(key, 0.0), growth.at)

    def _forget(self, now: float) -> None:
        """Leave out communicators of ended jobs, and the oldest if there are too many."""
        by_age = sorted(self._last, key=self._last.__getitem__, reverse=True)
        for newer, (job, identity) in enumerate(by_age):
            if (newer >= MOST_COMMUNICATORS or now - self._last[job, identity] >= FORGOTTEN_S) and job in self._jobs:
                self._jobs[job].forget(identity)
                if not len(self._jobs[job]):
                    del self._jobs[job]

    def _unread(self) -> Iterator[Finding]:
        folder = self.follower.folder
        if self.follower.why:
            yield UNREAD.finding(self._network.name, f"{folder}: {self.follower.why}")
        elif self.follower.unreadable:
            path, why = next(iter(self.follower.unreadable.items()))
            more = len(self.follower.unreadable) - 1
            text = f"{path}: {why}" + (f"; and {more:,} more files" if more else "")
            yield UNREAD.finding(self._network.name, text)

    def _compared(
        self, folder: str, of_job: list[Communicator], now: float
    ) -> Iterator[tuple[CommunicatorRate, Finding | None, Asked | None]]:
        """Yield (rate, finding, question for a prediction) for each collective and size of a job's communicators."""
        ages = [now - self._last.get((folder, _identity(communicator)), now) for communicator in of_job]
        usual = usual_rates(of_job)
        for communicator, of_gpus, age in zip(of_job, nics_of(of_job, self._design), ages, strict=True):
            places = described(of_gpus)
            for row in communicator.measured:
                kind, asked = alike(communicator, row), self._asked(communicator, row)
                beside = self._beside(communicator, row, asked, None if kind is None else usual.get(kind))
                finding = self._slow(communicator, row, beside, places)
                outcome, why = _outcome(communicator, row, beside, age, finding)
                rate = _rate(communicator, row, beside, places)
                rate = replace(rate, job=communicator.job or folder, outcome=outcome, why=why, age_s=age)
                yield rate, finding, asked

    def _asked(self, communicator: Communicator, row: Measured) -> Asked | None:
        size, ranks, hosts = row.size_bytes, communicator.ranks, communicator.hosts
        return None if size is None else collective_question(self._network, row.operation, size, hosts, ranks)

    def _beside(
        self, communicator: Communicator, row: Measured, asked: Asked | None, usual: tuple[float, int] | None
    ) -> _Beside:
        """Return what a row is compared with. ``asked`` is the question for its prediction, and ``usual`` its value of ``usual_rates``."""
        if asked is not None:
            answer = self.predictor.answer(asked)
            if isinstance(answer, str) or answer is None:
                return _Beside(usual, None, answer or "it is being predicted")
            return _Beside(usual, answer, "" if answer.low < answer.high else "no similar measurement was published")
        strange = [host for host in communicator.hosts if host.lower().partition(".")[0] not in self._servers]
        if row.size_bytes is None:
            why = "the records have a range in place of the size"
        elif not communicator.hosts:
            why = "the records do not name all servers"
        elif strange:
            why = f"the design has no server {strange[0]}"
        else:
            why = f"there is no model of {row.operation}"
        return _Beside(usual, None, why)

    def _slow(
        self, communicator: Communicator, row: Measured, beside: _Beside, places: tuple[tuple[str, str], ...]
    ) -> Finding | None:
        hosts, band = communicator.hosts, beside.band
        server = self._servers.get(hosts[0].lower().partition(".")[0]) if len(hosts) == 1 else None
        where = f"{server or self._network.name} {communicator.id}"
        on = ", ".join(f"{name} {text}" for name, text in places)
        if text := slower(communicator, row, beside.usual, on):
            return instruments.slow.finding(where, text)
        if band is None or not row.busbw or row.busbw >= SLOW * band.low:
            return None
        text = f"{measured(communicator, row)}, predicted {band.value:.1f} ({band.low:.1f} to {band.high:.1f})"
        return BELOW.finding(where, f"{text}; {place(communicator, on)}")


@dataclass(frozen=True, slots=True)
class _Beside:
    """The values that a row is compared with.

    - ``usual``: (median of similar communicators in GB/s, their number), or None.
    - ``predicted``: the prediction, or None. ``unpredicted``: the reason why there is none, or no band; empty if there is.
    """

    usual: tuple[float, int] | None
    predicted: Prediction | None
    unpredicted: str

    @property
    def band(self) -> Prediction | None:
        """The prediction, if it has a band."""
        return None if self.unpredicted else self.predicted


def _identity(communicator: Communicator) -> tuple[str, int, int, str]:
    return communicator.id, communicator.ranks, communicator.nodes, communicator.job


def _gathered() -> Gathered:
    return Gathered(OPERATIONS, KINDS, whole=True)


def _outcome(
    communicator: Communicator, row: Measured, beside: _Beside, age: float, finding: Finding | None
) -> tuple[Outcome, str]:
    """Return the outcome of a row with its reason. ``age`` is the seconds since the last record; ``finding`` says that it is slow."""
    busbw, band = row.busbw, beside.band
    if age >= SILENT_S:
        return "not-seen", f"no record for {age:,.0f} s"
    if len(communicator.places) > communicator.ranks:
        return "not-seen", "several communicators have the same name"
    if row.seen < communicator.ranks:
        return "not-seen", f"the same operation was recorded by {row.seen} of {communicator.ranks} ranks"
    if not busbw:
        return "not-seen", "the records have no bandwidth"
    if finding is not None:
        return "wrong", "below its predicted band" if finding.id == BELOW.id else "slower than similar communicators"
    if band is not None and busbw <= band.high:
        below = 1 - busbw / band.low
        return (
            "right",
            f"{below:.0%} below its band, as a job's own load may cause" if below > 0 else "in its predicted band",
        )
    if beside.usual is not None:
        return "right", f"like {beside.usual[1]} similar communicators"
    why = f"not predicted: {beside.unpredicted}" if band is None else "above its predicted band"
    return "not-seen", f"{why}, and fewer than {FEWEST} similar communicators"


def _rate(
    communicator: Communicator, row: Measured, beside: _Beside, places: tuple[tuple[str, str], ...]
) -> CommunicatorRate:
    predicted, band = beside.predicted, beside.band
    return CommunicatorRate(
        "",
        communicator.id,
        communicator.name,
        communicator.ranks,
        communicator.nodes,
        communicator.hosts,
        row.operation,
        row.size_bytes,
        written(row.size_bytes) if row.size_bytes else row.size_range,
        row.seen,
        row.operations,
        row.busbw,
        None if predicted is None else predicted.value,
        None if band is None else band.low,
        None if band is None else band.high,
        None if beside.usual is None else beside.usual[0],
        places,
    )
