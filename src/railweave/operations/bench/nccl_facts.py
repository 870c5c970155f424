"""What a log of NCCL says in short: facts that are kept with a run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.operations.bench.nccl_log import NcclLog


def variables_of(log: NcclLog) -> dict[str, str]:
    """The variables that were in force."""
    return dict(log.variables)


def versions_of(log: NcclLog) -> dict[str, str]:
    """The library's version; with commas between, where ranks had several."""
    return {log.library: ", ".join(text for _, text in log.versions)} if log.library and log.versions else {}


def facts_of(log: NcclLog) -> tuple[tuple[str, str], ...]:
    """What NCCL did, as pairs of a name and a text; what the log does not say is left out."""
    net = [one for one in log.channels if one.transport == "NET"]
    transports = Counter(
        f"{one.transport}/{one.through}{'/GDRDMA' if one.gdr else ''}"
        for one in log.channels
        if one.direction != "receive"
    )
    choices = Counter(f"{one.collective} {one.algorithm}/{one.protocol}".strip() for one in log.choices)
    counts = max(log.counts, key=lambda one: one.collective, default=None)
    found = {
        "network": ", ".join(sorted({one.text for one in log.networks})),
        "bootstrap": ", ".join(sorted({one.name for one in log.bootstrap})),
        "servers": "" if log.nodes is None else str(log.nodes),
        "order of servers": " ".join(log.hosts),
        "RDMA devices": " ".join(dict.fromkeys(one.name for one in log.devices)),
        "channels": "" if counts is None else str(counts.collective),
        "point-to-point channels": ""
        if counts is None
        else f"{counts.point_to_point}, {counts.per_peer} for each peer",
        "connections": ", ".join(f"{number} {name}" for name, number in sorted(transports.items())),
        "GPUDirect RDMA": ""
        if not net
        else "all"
        if all(one.gdr for one in net)
        else "some"
        if any(one.gdr for one in net)
        else "none",
        "over another GPU's NIC (PXN)": str(sum(one.proxy is not None for one in net) or ""),
        "ring 0": " ".join(map(str, log.ring_of(0))),
        "algorithms": ", ".join(f"{name} x{number}" for name, number in sorted(choices.items())),
        "GIDs": " ".join(dict.fromkeys(one.gid for one in log.queue_pairs if one.gid)),
        "colors": " ".join(map(str, sorted({one.color for one in log.plugin_paths}))),
    }
    return tuple((name, text) for name, text in found.items() if text)
