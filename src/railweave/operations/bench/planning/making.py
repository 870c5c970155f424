"""The plan of a suite on a network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.errors import InputError, Option, Problem
from railweave.model.catalog.nvlink_domains import domain_remarks
from railweave.model.network.status import absent_sentence, present
from railweave.operations.bench.plan import NcclTests, Perftest, Plan, PlannedRun
from railweave.operations.bench.planning.jobs import jobs
from railweave.operations.bench.planning.pairs import Pairs
from railweave.operations.bench.planning.places import check_memory, places
from railweave.operations.bench.planning.predictions import RATE_FREE_BYTES, predictions
from railweave.operations.bench.planning.suites import suite_of
from railweave.operations.bench.planning.times import estimate_s, timeout_s
from railweave.operations.bench.planning.ways import Routed
from railweave.prediction.simulation.job import stripes
from railweave.prediction.simulation.ranks import ordered

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.bench.plan import Memory
    from railweave.operations.bench.planning.places import Place
    from railweave.operations.bench.planning.wanted import Wanted
    from railweave.operations.store.records import Prediction

TOLERANCE = 0.05
"""How far below its band a number may be: repeated runs of the reports differ by up to 1.2 %, and tests of operators fail at 5 %."""
UNSURE = 0.15
"""The same where no published row says how far off predictions are; a target of docs/validation.md."""


def plan(
    network: Network,
    suite: str,
    *,
    fabric: str,
    design_digest: str,
    hosts: str | None = None,
    memory: Memory | None = None,
    parts: Sequence[str] = (),
    predict: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Plan:
    """The plan of a suite on a network of one fabric (``job_network``).

    ``fabric``, ``design_digest``: as of ``Plan``; ``hosts``: as of ``ranks.ordered``; ``memory``: where perftest's buffers lie;
    ``parts``: leave out all others; ``predict``: whether to ask what each run should give. Raises ``InputError``.
    """
    wanted = suite_of(suite)
    there = present(network)
    names = ordered(stripes(there, [server.name for server in there.servers]), hosts)
    found = places(there, names)
    check_memory(memory, found)
    routed = Routed.of(network)
    pairs = Pairs(routed, found, memory, progress)
    of = jobs(there, names)
    runs = wanted.runs(pairs, of)
    notes = [*([words] if (words := absent_sentence(network)) else []), *pairs.notes]
    if guessed := sum(one.nic.mac_is_placeholder and _by_mac(one) for one in found):
        notes.append(
            f"addresses of {counted(guessed, 'NIC')} follow from placeholders of MAC addresses: plan again once the inventory has them"
        )
    if not of:
        notes.append("collectives: left out, for no server has GPUs beside its NICs on this fabric")
    runs = _chosen(runs, parts, suite)
    expected: Sequence[tuple[Prediction, ...]] = [()] * len(runs)
    if predict:
        notes += domain_remarks(there.catalog, (server.model for server in there.servers))
        expected = predictions(routed, found, runs, progress)
        notes += _unpredicted(runs, expected)
    made = tuple(_planned(run, own) for run, own in zip(runs, expected, strict=True))
    return Plan(suite, fabric, design_digest, made, tuple(notes))


def _by_mac(one: Place) -> bool:
    return any(address.origin == "slaac" for address in one.nic.addresses)


def _chosen(runs: Sequence[Wanted], parts: Sequence[str], suite: str) -> list[Wanted]:
    known = list(dict.fromkeys(one.part for one in runs))
    for part in parts:
        if part not in known:
            what = f"suite {suite} has no part {part!r} on this network"
            raise InputError([Problem(Option("--part"), what, f"it has {', '.join(known) or 'none'}")])
    if not runs:
        what = f"suite {suite} has nothing to run on this network"
        raise InputError([Problem(Option("--suite"), what, "it takes two servers, or servers with GPUs")])
    return [one for one in runs if not parts or one.part in parts]


def _unpredicted(runs: Sequence[Wanted], expected: Sequence[tuple[Prediction, ...]]) -> list[str]:
    """Why runs come without a prediction, or with few."""
    found: list[str] = []
    if any(one.part == "loops" for one in runs):
        found.append(
            "loops: without predictions: how fast a NIC writes to itself the simulator does not know; compare them with each other"
        )
    both = list(zip(runs, expected, strict=True))
    swept = [own for one, own in both if isinstance(one.test, Perftest) and one.test.size_bytes is None and own]
    if any((own[0].size_bytes or 0) >= RATE_FREE_BYTES for own in swept):
        found.append(
            "pairs: predictions begin at 64 KiB: the catalog does not say how many messages a second the NIC takes"
        )
    none = sum(isinstance(one.test, NcclTests) and not own for one, own in both)
    if none:
        found.append(
            f"collectives: {counted(none, 'run')} without a prediction: in the simulator it does not come to its end"
        )
    return found


def _planned(run: Wanted, expected: tuple[Prediction, ...]) -> PlannedRun:
    estimate = estimate_s(run, expected)
    sure = all(one.low < one.value for one in expected)
    return PlannedRun(
        name=run.name,
        part=run.part,
        why=run.why,
        test=run.test,
        round=run.round,
        timeout_s=timeout_s(estimate),
        estimate_s=estimate,
        tolerance=TOLERANCE if sure and expected else UNSURE,
        predictions=expected,
        links=run.links,
        needs=run.needs,
    )
