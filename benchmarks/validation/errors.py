"""How far predictions are off, by kind of question: for people, and as ``errors.json`` for the bands of predictions."""

from __future__ import annotations

import json
from statistics import mean, median, quantiles
from typing import TYPE_CHECKING, Any

from .engine import ROOT
from .published import Collective, Perftest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .published import Job, Row

FILE = ROOT / "src/railweave/prediction/simulation/errors.json"
LARGE = 4 << 20
"""Sizes below are questions of latency, from here on of bandwidth."""


def group_of(row: Row) -> str | None:
    """The kind of question, as the document names it; None where nothing is collective or perftest."""
    job = row.job
    if isinstance(job, Perftest):
        return "perftest"
    if not isinstance(job, Collective):
        return None
    if job.bed != "thor2":
        return f"{'DLB' if job.bed == 'evpn' else 'RLB'} {job.name}"
    servers = job.of[0]
    processes = "1 server" if servers == 1 else f"{(job.processes or 1) * servers} processes"
    return f"RCCL {job.name}, {processes}, {'from' if job.size >= LARGE else 'below'} 4 MiB"


def by_group(rows: Iterable[Row], predicted: Mapping[Job, float]) -> list[str]:
    """Median, mean and most of each group, as lines of the document."""
    groups: dict[str, list[float]] = {}
    for row in rows:
        name = group_of(row)
        if name is not None and row.job is not None:
            groups.setdefault(name, []).append(abs(row.error(predicted[row.job])))
    lines = [
        "How far off rows are, whichever way, by group:",
        "",
        "| group | rows | median, mean, most |",
        "|---|---|---|",
    ]
    return lines + [
        f"| {name} | {len(off)} | {median(off):.1%}, {mean(off):.1%}, {max(off):.1%} |" for name, off in groups.items()
    ]


def write(rows: Iterable[Row], predicted: Mapping[Job, float]) -> None:
    """Write ``errors.json``: groups of rows of one library, collective and number of servers, below and from 4 MiB."""
    groups: dict[tuple[str, str, int, bool], list[tuple[int, float]]] = {}
    for row in rows:
        job = row.job
        if not isinstance(job, Collective):
            continue
        rccl = job.bed == "thor2"
        servers = job.of[0] if rccl else 4
        key = ("RCCL" if rccl else "NCCL", job.name, servers, job.size >= LARGE)
        groups.setdefault(key, []).append((job.size, abs(row.error(predicted[job])) * 100))
    table = [
        _entry(library, collective, "packet", servers, entries)
        for (library, collective, servers, _), entries in sorted(groups.items())
    ]
    _keep(table, domains=False)


def write_domains(groups: Iterable[Sequence[tuple[int, int, float]]]) -> None:
    """Write the groups of NVLink domains into ``errors.json``, each of (domains, size, error in percent).

    Inside one domain nothing is sent over the network, so both engines give the same result.
    """
    table: list[dict[str, Any]] = []
    for rows in groups:
        counts = [count for count, _, _ in rows]
        entry = _entry("NCCL", "all-reduce", "flow", min(counts), [(size, off) for _, size, off in rows])
        entry |= {"servers": [min(counts), max(counts)], "domains": True, "gpu": "GB200"}
        table += [{**entry, "engine": engine} for engine in (("flow", "packet") if max(counts) == 1 else ("flow",))]
    _keep(table, domains=True)


def _entry(
    library: str, collective: str, engine: str, servers: int, entries: Sequence[tuple[int, float]]
) -> dict[str, Any]:
    return {
        "library": library,
        "collective": collective,
        "engine": engine,
        "servers": [servers, servers],
        "bytes": [min(size for size, _ in entries), max(size for size, _ in entries)],
        "rows": len(entries),
        "median_abs_percent": round(median(off for _, off in entries), 1),
        "p90_abs_percent": round(_p90([off for _, off in entries]), 1),
        "max_abs_percent": round(max(off for _, off in entries), 1),
    }


def _keep(table: Sequence[dict[str, Any]], *, domains: bool) -> None:
    """Write groups of NVLink domains, or of servers, and keep the other groups of the file."""
    others = [group for group in json.loads(FILE.read_text()) if group.get("domains", False) != domains]
    groups = [*others, *table] if domains else [*table, *others]
    FILE.write_text("[\n" + ",\n".join(f"  {json.dumps(group)}" for group in groups) + "\n]\n")


def _p90(values: list[float]) -> float:
    return quantiles(values, n=10, method="inclusive")[-1] if len(values) > 1 else values[0]
