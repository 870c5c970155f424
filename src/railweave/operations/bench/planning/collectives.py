"""Runs of nccl-tests or rccl-tests for the servers of a job."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.model.catalog.posting import QUEUE_PAIRS, SPLIT
from railweave.operations.bench.plan import NcclTests
from railweave.operations.bench.planning.rounds import rounds
from railweave.operations.bench.planning.wanted import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from railweave.operations.bench.planning.jobs import Job, Scope

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send-recv")
"""The collectives that are planned, as ``railweave sim`` calls them."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """From the first to the last, each ``factor`` times the one before."""

    first: int
    last: int
    factor: int = 2


@dataclass(frozen=True, slots=True)
class Knobs:
    """Settings of a run: ``label`` for its name, ``variables`` of NCCL, ``lb`` and ``needs`` as of ``Wanted``."""

    label: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    lb: str | None = None
    needs: str = ""


AS_DESIGNED = Knobs()


def queue_pairs(*numbers: int) -> list[Knobs]:
    """Queue pairs of a connection, with the data of a message on all of them."""
    return [Knobs(f"qps-{number:02d}", ((QUEUE_PAIRS, str(number)), (SPLIT, "1"))) for number in numbers]


def of_scope(
    job: Job,
    scope: Scope,
    collective: str,
    sizes: Sizes,
    knobs: Knobs = AS_DESIGNED,
    *,
    part: str = "",
    slope: bool = False,
) -> Wanted:
    """A run; its round is set by ``numbered``. ``part``: where it is not the scope's."""
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
    own = part or scope.part
    name = "/".join(word for word in (own, job.label, scope.label, collective, knobs.label) if word)
    settings = "".join(f", {variable}={value}" for variable, value in knobs.variables)
    return Wanted(
        name,
        own,
        f"{collective} of {scope.what}{settings}",
        test,
        0,
        scope.alike,
        job.gbps,
        lb=knobs.lb,
        needs=knobs.needs,
        slope=slope,
    )


def numbered(found: Iterable[Wanted]) -> list[Wanted]:
    """The runs with their rounds, part by part: servers alone go at once, and what uses the network has it for itself."""
    parts: dict[str, list[Wanted]] = {}
    for one in found:
        parts.setdefault(one.part, []).append(one)
    return [
        replace(one, round=number)
        for runs in parts.values()
        for one, number in zip(runs, rounds(map(_taken, runs)), strict=True)
    ]


def _taken(one: Wanted) -> Sequence[str]:
    hosts = one.test.hosts if isinstance(one.test, NcclTests) else ()
    return [*hosts, *(["the network"] if len(hosts) > 1 else [])]
