"""Rules about what the control plane does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.findings import Finding
from railweave.verify.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.routes.table import Routes
    from railweave.verify.registry import Subject

MOST_FAULTS = 256
"""Single faults tried on one network; more are sampled evenly, and the finding says so."""


def _unreached(subject: Subject, routes: Routes) -> list[tuple[str, str]]:
    return [
        (leaf, prefix)
        for leaf, prefix, _ in subject.remote
        if leaf in routes.fibs and prefix in routes.index and not routes.next_hops(leaf, prefix)
    ]


@check("unreachable")
def unreachable(subject: Subject) -> Iterator[Finding]:
    """Every leaf reaches every server prefix of its fabric."""
    for leaf, prefix in _unreached(subject, subject.routes)[:20]:
        yield Finding(
            "unreachable",
            "error",
            leaf,
            f"no route to {prefix}",
            "servers there cannot be reached from this leaf",
            "compare policies and sessions of both leaves and the spines between them",
        )


@check("path-color")
def path_color(subject: Subject) -> Iterator[Finding]:
    """A prefix of a path color leaves every other leaf by that color's uplinks, all of them and no others."""
    network = subject.network
    uplinks = {
        (cable.a.device, cable.color): {
            c.name for c in network.cables_of(cable.a.device) if c.kind == "fabric" and c.color == cable.color
        }
        for cable in network.cables
        if cable.kind == "fabric" and cable.color is not None
    }
    for leaf, prefix, color in subject.remote:
        wanted = None if color is None else uplinks.get((leaf, color))
        found = set(subject.routes.next_hops(leaf, prefix))
        if wanted is not None and found and found != wanted:
            fabric = network.fabric(network.switch(leaf).fabric)
            yield Finding(
                "path-color",
                "error",
                leaf,
                f"{prefix} ({fabric.color_name(color)}) leaves by {', '.join(sorted(found))} instead of {', '.join(sorted(wanted))}",
                "queue pairs of different colors would share an uplink while another stays idle",
                "check the color of the group, the community and fabric-advertise or the import policy",
            )


@check("leaf-transit")
def leaf_transit(subject: Subject) -> Iterator[Finding]:
    """Spines hear from a leaf only what that leaf originates."""
    import numpy as np

    routes = subject.routes
    for (spine, link), heard in routes.heard.items():
        leaf = subject.network.cable(link).a.device
        if subject.network.switch(spine).role != "spine":
            continue
        own = {subnet.prefix for segment in subject.network.segments_of(leaf) for subnet in segment.subnets}
        foreign = [
            routes.prefixes[place] for place in np.flatnonzero(heard).tolist() if routes.prefixes[place] not in own
        ]
        if foreign:
            yield Finding(
                "leaf-transit",
                "error",
                leaf,
                f"advertises {foreign[0]} to {spine}"
                + (
                    f" and {len(foreign) - 1} more prefixes it only learned"
                    if len(foreign) > 1
                    else ", which it only learned"
                ),
                "a leaf must not carry traffic between spines",
                "restore the no-transit term of its export policy",
            )


@check("single-fault")
def single_fault(subject: Subject) -> Iterator[Finding]:
    """No single link or spine down leaves a leaf without a route to a prefix whose own leaf is up."""
    network = subject.network
    faults = [cable.name for cable in network.cables if cable.kind == "fabric"]
    faults += [switch.name for switch in network.switches if switch.role == "spine"]
    step = max(1, -(-len(faults) // MOST_FAULTS))
    if step > 1:
        yield Finding(
            "single-fault-sampled",
            "info",
            network.name,
            f"{len(faults[::step])} of {len(faults)} single faults were tried",
            "the others differ only in which leaf or spine they touch",
            "",
        )
    single = {fabric.name for fabric in network.fabrics if _uplinks(subject, fabric.name) <= 1}
    for fault in faults[::step]:
        lost = _unreached(subject, subject.control_plane.routes([fault]))
        lost = [(leaf, prefix) for leaf, prefix in lost if network.switch(leaf).fabric not in single]
        if lost:
            yield Finding(
                "single-fault",
                "error",
                fault,
                f"with it down, {lost[0][0]} has no route to {lost[0][1]} ({len(lost)} such in all)",
                "one failure cuts servers off",
                "give every prefix a backup color, or every leaf a second spine",
            )
    for fabric in sorted(single):
        if _uplinks(subject, fabric):
            yield Finding(
                "no-redundancy",
                "warning",
                fabric,
                "every leaf has one uplink: any fault on it cuts its servers off",
                "there is no other path to take",
                "add a spine or a second link",
            )


def _uplinks(subject: Subject, fabric: str) -> int:
    leaf = next(
        (switch.name for switch in subject.network.switches if switch.fabric == fabric and switch.role == "leaf"), ""
    )
    return sum(1 for cable in subject.network.cables_of(leaf) if cable.kind == "fabric")
