"""Suites by name, and runs of nccl-tests or rccl-tests for a job. A suite is a function that returns runs for pairs and jobs.

``table12``, ``table1.3`` and ``fifty-km`` reproduce the measurements of published documents. If a document does not state the
message size of a result, the suite uses the size that docs/validation.md assumes for this result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.errors import InputError, Option, Problem
from railweave.model.catalog.rdma import QUEUE_PAIRS, SPLIT
from railweave.operations.bench.plan import NcclTests, Perftest, RunRequest
from railweave.operations.bench.planning.jobs import Scope
from railweave.operations.bench.planning.pairs import Method, Pairs, in_turns, rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from railweave.operations.bench.planning.jobs import Job


KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send-recv")
"""The collectives in plans, under their names in ``railweave sim``."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """A series of message sizes in bytes from ``first`` to ``last``, each ``factor`` times the previous one."""

    first: int
    last: int
    factor: int = 2


@dataclass(frozen=True, slots=True)
class RunSettings:
    """The settings in which one run of a suite differs from others.

    - ``label``: the end of the run's name, such as ``qps-04``. ``variables``: NCCL variables.
    - ``lb``: the load balancing of switches; None for that of the design.
    - ``needs``: the state of switches or NICs that the run needs and cannot set itself.
    """

    label: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    lb: str | None = None
    needs: str = ""


AS_DESIGNED = RunSettings()


def queue_pairs(*numbers: int) -> list[RunSettings]:
    """Return settings for each number of queue pairs per connection. Each message is split over all of its connection's queue pairs."""
    return [RunSettings(f"qps-{number:02d}", ((QUEUE_PAIRS, str(number)), (SPLIT, "1"))) for number in numbers]


def of_scope(
    job: Job,
    scope: Scope,
    collective: str,
    sizes: Sizes,
    knobs: RunSettings = AS_DESIGNED,
    *,
    part: str = "",
    slope: bool = False,
) -> RunRequest:
    """Return the run of a collective on a scope (a group of servers of a job). ``numbered`` sets its round later.

    - ``knobs``: the settings in which the run differs from the design.
    - ``part``: the group of runs in the plan; by default, the part of the scope.
    - ``slope``: True to predict also the bandwidth from the slope of time over message size.
    """
    test = NcclTests(
        collective,
        scope.hosts,
        per_host=job.gpus,
        gpus=1,
        first_bytes=sizes.first,
        last_bytes=sizes.last,
        factor=sizes.factor,
        variables=knobs.variables,
        tenant=job.tenant,
    )
    run_part = part or scope.part
    name = "/".join(word for word in (run_part, job.label, scope.label, collective, knobs.label) if word)
    settings = "".join(f", {variable}={value}" for variable, value in knobs.variables)
    return RunRequest(
        name,
        run_part,
        f"{collective} of {scope.what}{settings}",
        test,
        0,
        scope.alike,
        job.gbps,
        lb=knobs.lb,
        needs=knobs.needs,
        slope=slope,
    )


def numbered(wanted: Iterable[RunRequest]) -> list[RunRequest]:
    """Return the requested runs with their round numbers, counted within each part (group of runs in a plan).

    Runs on different single servers share a round. A run that uses the network has a round to itself.
    """
    parts: dict[str, list[RunRequest]] = {}
    for run in wanted:
        parts.setdefault(run.part, []).append(run)
    return [
        replace(run, round=number)
        for runs in parts.values()
        for run, number in zip(runs, rounds(map(_taken, runs)), strict=True)
    ]


def _taken(run: RunRequest) -> Sequence[str]:
    hosts = run.test.hosts if isinstance(run.test, NcclTests) else ()
    return [*hosts, *(["the network"] if len(hosts) > 1 else [])]


SECONDS = 6
"""The duration in seconds of a timed perftest run. Perftest ignores the first two and the last two seconds."""
SHORT, LONG = Method(SECONDS, both_ways=False), Method(SECONDS, both_ways=True)
SWEEP = Method(None, both_ways=True)
"""The settings of a perftest that measures all message sizes in both directions, as in the Thor 2 guide, section 2.8.2."""

FEW = Sizes(16 * MIB, GIB, 8)
MANY = Sizes(2 * MIB, GIB, 8)
ALL_REDUCE, ALL_TO_ALL = Sizes(GIB, GIB), Sizes(256 * MIB, 256 * MIB)
"""The sizes that docs/validation.md assumes for averages over unstated sizes."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A suite of runs: a sentence about its purpose, and the function that returns its runs."""

    what: str
    runs: Callable[[Pairs, Sequence[Job]], list[RunRequest]]


def _quick(pairs: Pairs, jobs: Sequence[Job]) -> list[RunRequest]:
    runs = [*pairs.loops(SHORT), *pairs.neighbours(LONG), *pairs.mesh(LONG, every_color=False)]
    return runs + numbered(
        run
        for job in jobs
        for run in (
            *(of_scope(job, scope, "all-reduce", FEW) for scope in job.each()),
            *(of_scope(job, scope, kind, FEW) for scope in job.cluster() for kind in ("all-reduce", "all-to-all")),
        )
    )


def _acceptance(pairs: Pairs, jobs: Sequence[Job]) -> list[RunRequest]:
    runs = [*pairs.loops(SWEEP), *pairs.neighbours(SWEEP), *pairs.mesh(LONG, every_color=True)]
    return runs + numbered(run for job in jobs for run in (*_scopes(job), *_queue_pairs(job, (1, 2, 4, 8))))


def _scopes(job: Job) -> Iterator[RunRequest]:
    for scope in (*job.each(), *job.stripes(), *job.across(), *job.cluster()):
        for kind in KINDS:
            yield of_scope(job, scope, kind, MANY)


def _queue_pairs(job: Job, numbers: Sequence[int], part: str = "queue-pairs") -> Iterator[RunRequest]:
    for kind, sizes in (("all-reduce", ALL_REDUCE), ("all-to-all", ALL_TO_ALL)):
        for scope in job.alternating():
            for knobs in queue_pairs(*numbers):
                yield of_scope(job, scope, kind, sizes, knobs, part=part)


def _table12(_: Pairs, jobs: Sequence[Job]) -> list[RunRequest]:
    return numbered(run for job in jobs for run in _queue_pairs(job, (1, 2, 4, 8, 16, 32), "table12"))


PROFILES = {
    "evpn-flowlet-128us": "dlb:inactivity=128us,flowsets=2048,period=1us,min=20%,max=50%,rate-weight=50%,reassign-chance=0",
    "evpn-flowlet-128us-reassign": "dlb:inactivity=128us,flowsets=2048,period=1us,min=20%,max=50%,rate-weight=50%,reassign-chance=3,quality-delta=6",
    "evpn-flowlet-128us-10-90": "dlb:inactivity=128us,flowsets=2048,period=1us,min=10%,max=90%,rate-weight=50%,reassign-chance=0",
}
"""The load-balancing profiles of Table 1.3 in the EVPN test report (docs/load-balancing.md), in the syntax of ``railweave sim --lb``."""

WITH_TRAFFIC = (
    "table1.3: its rows with a traffic generator are left out: the report does not say where that traffic enters"
)


def _table13(pairs: Pairs, jobs: Sequence[Job]) -> list[RunRequest]:
    pairs.notes.append(WITH_TRAFFIC)
    rows = [
        ("evpn-flowlet-128us", "all-reduce", GIB),
        ("evpn-flowlet-128us", "all-reduce", 8 * GIB),
        ("evpn-flowlet-128us", "all-reduce", 16 * GIB),
        ("evpn-flowlet-128us-reassign", "all-reduce", 16 * GIB),
        ("evpn-flowlet-128us-10-90", "all-to-all", ALL_TO_ALL.first),
    ]
    runs: list[RunRequest] = []
    for job in jobs:
        for scope in job.cluster():
            for profile, kind, size in rows:
                knobs = RunSettings(
                    f"{profile}/{size // MIB}M",
                    ((QUEUE_PAIRS, "4"), (SPLIT, "1")),
                    PROFILES[profile],
                    _profile(profile),
                )
                runs.append(of_scope(job, scope, kind, Sizes(size, size), knobs, part="table1.3"))
    return numbered(runs)


def _profile(name: str) -> str:
    return f"`load_balancing: {{profile: {name}}}` on the switches"


def _fifty_km(pairs: Pairs, jobs: Sequence[Job]) -> list[RunRequest]:
    """Return runs between sites, like those of the 50 km article.

    The first runs measure one pair of NICs at different sites, each run with a different number of queue pairs. All further runs are
    all-reduces of each job in ``jobs`` over several sizes, with different buffers, channels and queue pairs. The slope of the time over
    the size gives the rate.
    """
    network = pairs.routed.network
    if not any(network.long_links(fabric.name) for fabric in network.fabrics):
        description = "fifty-km: the network has no links between sites"
        raise InputError([Problem(Option("--suite"), description, "give a network of several sites, or --suite knobs")])
    far = [run for run in pairs.mesh(Method(SECONDS, both_ways=False), every_color=True) if _crosses(pairs, run)]
    runs = [run for run in far[:1] for run in _by_queue_pairs(run, (1, 2, 4, 8, 13, 16, 32))]
    sizes = Sizes(4 * GIB, 16 * GIB)
    apart = RunSettings(
        "", (), "ecmp", "`load_balancing: {mode: ecmp}` on the routers, adaptive routing of the NICs off"
    )
    collectives: list[RunRequest] = []
    for job in jobs:
        for scope in job.cluster():
            for knobs in _fifty_km_knobs():
                collectives.append(of_scope(job, scope, "all-reduce", sizes, knobs, part="designed", slope=True))
                plain = replace(apart, label=knobs.label, variables=knobs.variables)
                collectives.append(of_scope(job, scope, "all-reduce", sizes, plain, part="ecmp", slope=True))
    return runs + numbered(collectives)


def _fifty_km_knobs() -> Iterator[RunSettings]:
    for channels in (8, 16):
        for buffer in (4, 16, 64, 128):
            label = f"channels-{channels:02d}/buffer-{buffer:03d}M/qps-16"
            variables = (
                ("NCCL_MIN_CTAS", str(channels)),
                ("NCCL_BUFFSIZE", str(buffer * MIB)),
                (QUEUE_PAIRS, "16"),
                (SPLIT, "1"),
            )
            yield RunSettings(label, variables)
    for number in (1, 4, 32):
        label = f"channels-08/buffer-128M/qps-{number:02d}"
        yield RunSettings(
            label, (("NCCL_MIN_CTAS", "8"), ("NCCL_BUFFSIZE", str(128 * MIB)), (QUEUE_PAIRS, str(number)), (SPLIT, "1"))
        )


def _crosses(pairs: Pairs, run: RunRequest) -> bool:
    test, network = run.test, pairs.routed.network
    if not isinstance(test, Perftest):
        return False
    return network.server(test.server.host).site != network.server(test.client.host).site


def _by_queue_pairs(run: RunRequest, numbers: Sequence[int]) -> Iterator[RunRequest]:
    """Yield copies of a run that differ in the number of queue pairs, in consecutive rounds."""
    for place, number in enumerate(numbers, 1):
        if isinstance(run.test, Perftest):
            yield replace(
                run,
                name=f"distance/qps-{number:02d}",
                part="distance",
                why=f"{run.why}: what {number} queue pairs have outstanding over the distance",
                test=replace(run.test, qps=number),
                round=place,
            )


def _knobs(_: Pairs, jobs: Sequence[Job]) -> list[RunRequest]:
    """Return runs on all servers of each job in ``jobs`` that vary one setting of NCCL or of the network at a time."""
    buffers = [
        RunSettings(f"buffer-{size_mib:02d}M", (("NCCL_BUFFSIZE", str(size_mib * MIB)),))
        for size_mib in (1, 2, 4, 8, 16, 32)
    ]
    channels = [
        RunSettings(f"channels-{channel_count:02d}", (("NCCL_MIN_NCHANNELS", str(channel_count)),))
        for channel_count in (4, 8, 16, 32)
    ]
    modes = ("ecmp", "dlb-flowlet", "dlb-per-packet", "spray")
    sharing = [RunSettings(mode, (), mode, f"`load_balancing: {{mode: {mode}}}` on the switches") for mode in modes]
    grids = {
        "queue-pairs": queue_pairs(1, 2, 4, 8, 16, 32),
        "buffers": buffers,
        "channels": channels,
        "load-balancing": [replace(AS_DESIGNED, label="designed"), *sharing],
    }
    return numbered(
        of_scope(job, scope, kind, sizes, knobs, part=part)
        for part, grid in grids.items()
        for job in jobs
        for scope in job.alternating()
        for kind, sizes in (("all-reduce", ALL_REDUCE), ("all-to-all", ALL_TO_ALL))
        for knobs in grid
    )


PARTNERS = 6
"""The number of other servers with which each server is paired in ``pairs-of-servers``, if there are that many."""


def _pairs_of_servers(_: Pairs, jobs: Sequence[Job]) -> list[RunRequest]:
    return [run for job in jobs for run in pairs_of_servers(job)]


def pairs_of_servers(job: Job) -> list[RunRequest]:
    """Return all-reduces of pairs of servers. In a round, no two pairs share a server or the uplinks of a stripe.

    Each server is paired with ``PARTNERS`` others, or with all if there are fewer. So a slow server can be distinguished from
    a slow partner. A stripe is the servers on the same set of leaves.
    """
    turns = list(in_turns(len(job.hosts)))
    chosen = turns if len(turns) <= PARTNERS else [turns[place * len(turns) // PARTNERS] for place in range(PARTNERS)]
    runs: list[RunRequest] = []
    resources: list[list[str]] = []
    for first, other in (pair for turn in chosen for pair in turn):
        hosts = job.hosts[first], job.hosts[other]
        stripes = sorted({job.stripe_of[host] for host in hosts})
        alike = (job.label, "pair", len(stripes))
        scope = Scope("server-pairs", "--".join(hosts), " and ".join(hosts), hosts, alike)
        runs.append(of_scope(job, scope, "all-reduce", FEW))
        resources.append([*hosts, *(f"uplinks of {stripe}" for stripe in stripes if len(stripes) > 1)])
    return [replace(run, round=number) for run, number in zip(runs, rounds(resources), strict=True)]


SUITES = {
    "quick": Suite(
        "each NIC, each pair of leaves by one path color, all-reduce and all-to-all: for a first look", _quick
    ),
    "acceptance": Suite(
        "each NIC over all sizes, each pair of leaves by each path color, five collectives from one server to all of them",
        _acceptance,
    ),
    "knobs": Suite("queue pairs, buffers, channels and load balancing, one at a time", _knobs),
    "pairs-of-servers": Suite(
        "all-reduce of two servers at a time, each server with six others: which server, NIC or leaf is slow",
        _pairs_of_servers,
    ),
    "table12": Suite("1 to 32 queue pairs a connection: Table 12 of the RDMA load-balancing document", _table12),
    "table1.3": Suite("DLB profiles at 1 to 16 GiB: Table 1.3 of the EVPN test report", _table13),
    "fifty-km": Suite("queue pairs, buffers and channels over a long link, with slopes: the 50 km article", _fifty_km),
}


def suite_of(name: str) -> Suite:
    """Return the suite with a name. Raises ``InputError`` if no suite has this name."""
    if name not in SUITES:
        raise InputError([Problem(Option("--suite"), f"there is no suite {name!r}", f"there are {', '.join(SUITES)}")])
    return SUITES[name]
