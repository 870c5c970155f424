"""Predicted figures for acceptance tests: the bandwidth of collectives and of pairs of NICs, each with the lowest value to accept.

The predictions are those of ``railweave bench plan``. A threshold is the lower end of a prediction's band. A prediction
without a band was never compared with published results, and gets no threshold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.network.status import present
from railweave.operations.bench.plan import NcclTests, Perftest
from railweave.operations.bench.planning.jobs import Job, Scope, jobs
from railweave.operations.bench.planning.making import (
    Question,
    bus_band,
    method_of,
    predicted_collectives,
    predicted_writes,
    sizes_of,
    write_prediction,
)
from railweave.operations.bench.planning.pairs import Pairs
from railweave.operations.bench.planning.places import Place, Routed, places
from railweave.operations.bench.planning.suites import ALL_REDUCE, ALL_TO_ALL, KINDS, SHORT, of_scope
from railweave.prediction.simulation.errors import results
from railweave.prediction.simulation.job import job_network
from railweave.prediction.simulation.model.wiring import fabrics

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.bench.plan import RunRequest

MOST_SERVERS = 64
"""The largest number of servers for which the job of all servers, and pairs of NICs, are predicted. Larger predictions take minutes."""
WRITE_BYTES = 64 << 10
"""The message size of ``ib_write_bw`` in l8k, by default (docs/user/validation.md of k8s-launch-kit, ``ibWriteSize``)."""

SERVER, NEAR, FAR, ALL = "one server", "two servers of a stripe", "two servers of different stripes", "all servers"
"""The groups of servers whose collectives are predicted."""
NEAR_NICS, FAR_NICS = "two NICs, one leaf", "two NICs, across spines"
"""The kinds of pairs of NICs."""
WRITE = "ib_write_bw"
"""The test of a pair of NICs."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A predicted bandwidth.

    - ``job``: the label of the job (``Job.label``) with its fabric, if the network has several; otherwise empty.
    - ``test``: a collective as in ``railweave sim``, or ``ib_write_bw``. ``group``: the group of servers.
    - ``hosts``: the servers of the simulated run; groups of the same kind get the same figure. ``ranks``: all its GPUs.
    - ``size_bytes``: the message size, as the test prints it. ``unit``: ``GB/s`` (bus bandwidth) or ``Gb/s``.
    - ``value``, ``low``, ``high``: the prediction and its band. ``method``: the engine, and the basis of the band.
    - ``beyond``: the conditions of the run that the published results do not cover; empty if they cover all.
    - ``left_out``: the reason why there is no threshold; empty if there is one.
    """

    job: str
    test: str
    group: str
    hosts: tuple[str, ...]
    ranks: int
    size_bytes: int
    unit: str
    value: float
    low: float
    high: float
    method: str
    beyond: str = ""
    left_out: str = ""

    @property
    def threshold(self) -> float | None:
        """The lowest value to accept, rounded down to hundredths; None if the figure has no band."""
        return None if self.left_out else math.floor(self.low * 100) / 100


@dataclass(frozen=True, slots=True)
class JobFigures:
    """The figures of one job.

    - ``label``: as ``Figure.job``. ``gpus``: the GPUs of each server.
    - ``vendor``: the vendor of the GPUs. ``nic_vendor``: that of their NICs.
    - ``stripes``: the servers of each stripe.
    """

    label: str
    hosts: tuple[str, ...]
    gpus: int
    vendor: str
    nic_vendor: str
    stripes: dict[str, list[str]]
    figures: tuple[Figure, ...]

    def of(self, test: str) -> list[Figure]:
        """Return the figures of a test."""
        return [figure for figure in self.figures if figure.test == test]


def job_figures(network: Network) -> tuple[list[JobFigures], list[str]]:
    """Return (the figures of each job of a network, notes on what was left out)."""
    result: list[JobFigures] = []
    notes: list[str] = []
    names = fabrics(network)
    for fabric in names:
        part = job_network(network, fabric)
        there = present(part)
        routed, nic_places = Routed.of(part), places(there, [server.name for server in there.servers])
        for job in jobs(there, [server.name for server in there.servers]):
            label = "-".join(word for word in (fabric if len(names) > 1 else "", job.label) if word)
            result.append(_of_job(routed, nic_places, job, label, notes))
    return result, list(dict.fromkeys(notes))


def _of_job(routed: Routed, nic_places: Sequence[Place], job: Job, label: str, notes: list[str]) -> JobFigures:
    gpu_places = [place for place in nic_places if place.server.name in job.hosts and place.gpu is not None]
    nic_vendor = catalog().nics[gpu_places[0].model].vendor if gpu_places else ""
    stripes: dict[str, list[str]] = {}
    for host in job.hosts:
        stripes.setdefault(job.stripe_of[host], []).append(host)
    large = len(job.hosts) > MOST_SERVERS
    if large:
        notes.append(
            f"{label or 'the job'} has {len(job.hosts):,} servers: neither the job of all servers nor pairs of NICs "
            f"were predicted, because this takes minutes above {MOST_SERVERS} servers; `railweave bench plan` predicts them"
        )
    vendor = catalog().servers[job.model].gpu_vendor
    library = "RCCL" if vendor == "AMD" else "NCCL"
    compared = {result.kind.collective for result in results() if result.kind.library == library}
    if left_out := [kind for kind in KINDS if kind not in compared]:
        notes.append(
            f"{', '.join(left_out)} of {library}: not compared: no result was published of this kind, so no threshold follows; "
            "`railweave bench plan` predicts them"
        )
    kinds = [kind for kind in KINDS if kind in compared]
    figures = [*_collectives(routed.network, job, label, kinds, large=large)]
    if not large:
        figures += _writes(routed, gpu_places, label, notes)
    return JobFigures(label, job.hosts, job.gpus, vendor, nic_vendor, stripes, tuple(figures))


def _scopes(job: Job, *, large: bool) -> Iterator[tuple[str, Scope]]:
    """Yield a scope for each group of servers, by the name of the group. Groups of the same kind have the same prediction."""
    first = job.hosts[0]
    yield SERVER, job.each()[0]
    same = [host for host in job.hosts if job.stripe_of[host] == job.stripe_of[first]]
    other = [host for host in job.hosts if job.stripe_of[host] != job.stripe_of[first]]
    for group, pair in ((NEAR, same[:2]), (FAR, [first, *other[:1]])):
        if len(pair) == 2 and len(job.hosts) > 2:
            yield group, Scope("", "", group, tuple(pair), (job.label, group))
    if len(job.hosts) == 2 or not large:
        for scope in job.cluster():
            yield (ALL if len(job.hosts) > 2 else NEAR if len(same) == 2 else FAR), scope


def _collectives(network: Network, job: Job, label: str, kinds: Sequence[str], *, large: bool) -> Iterator[Figure]:
    """Yield a figure for each group of servers and each of these collectives."""
    runs = [
        (group, of_scope(job, scope, kind, ALL_TO_ALL if kind == "all-to-all" else ALL_REDUCE))
        for group, scope in _scopes(job, large=large)
        for kind in kinds
    ]
    asked = {(group, run.test): Question(run, size) for group, run in runs for size in sizes_of(run.test)}
    known = predicted_collectives(network, {question.key: question for question in asked.values()})
    for (group, _), question in asked.items():
        test, predicted = question.run.test, known[question.key]
        if not isinstance(test, NcclTests):
            continue
        band = predicted.band
        outside = "" if band is None else band.outside
        if not predicted.complete:
            why = "the simulated run does not end"
        elif band is None or not band.known:
            why = f"not compared: {outside or 'no published result is of this kind'}"
        else:
            why = ""
        value, low, high = bus_band(predicted) if predicted.complete else (0.0, 0.0, 0.0)
        ranks = len(test.hosts) * test.per_host * test.gpus
        yield Figure(
            label,
            test.collective,
            group,
            test.hosts,
            ranks,
            question.size_bytes,
            "GB/s",
            value,
            low,
            high,
            method_of(predicted),
            beyond="" if why else outside,
            left_out=why,
        )


def _writes(routed: Routed, nic_places: Sequence[Place], label: str, notes: list[str]) -> Iterator[Figure]:
    """Yield a figure for each kind of pair of NICs: neighbors on a leaf, and pairs of leaves.

    The runs are those of l8k: buffers in the server's memory, one queue pair, one direction, one pair at a time.
    """
    pairs = Pairs(routed, nic_places, "host")
    runs = [*pairs.neighbours(SHORT), *pairs.mesh(SHORT, every_color=False)]
    notes += pairs.notes
    asked: dict[Hashable, Question] = {}
    for run in runs:
        if isinstance(run.test, Perftest):
            question = Question(_as_l8k(run, run.test), WRITE_BYTES)
            asked.setdefault(question.key, question)
    for key, rate in predicted_writes(routed, nic_places, asked).items():
        question = asked[key]
        test = question.run.test
        if isinstance(test, Perftest):
            band = write_prediction(question.run, "", WRITE_BYTES, rate)
            ends = tuple(f"{end.host}:{end.nic}" for end in (test.client, test.server))
            kind = FAR_NICS if question.run.part == "mesh" else NEAR_NICS
            yield Figure(label, WRITE, kind, ends, 2, WRITE_BYTES, "Gb/s", rate, band.low, band.high, band.method)


def _as_l8k(run: RunRequest, test: Perftest) -> RunRequest:
    return replace(run, test=replace(test, size_bytes=WRITE_BYTES, qps=1, both_ways=False))
