"""The decision about routing where IS-IS runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.outputs.report.decisions.statement import Decision

if TYPE_CHECKING:
    from railweave.model.network.fabric import Fabric
    from railweave.model.network.model import Network


def isis_decision(network: Network, fabric: Fabric) -> Decision:
    """IS-IS: area, metric, what is advertised, and how silent neighbors are noticed."""
    wanted, bfd = fabric.underlay.isis, fabric.underlay.bfd
    links = sum(cable.fabric == fabric.name and cable.kind == "fabric" for cable in network.cables)
    facts = [
        ("Area", f"{wanted.area}, level 2 only, wide metrics; {wanted.metric} on each of {counted(links, 'link')}"),
        (
            "Prefixes",
            "server ports and loopbacks are passive: they are advertised, and no neighbor is looked for there",
        ),
        ("Authentication", "of hellos and the database, by a key" if wanted.key else "none"),
    ]
    if bfd.enabled:
        silent = f"a silent neighbor is down after {bfd.detection_ms():,} ms"
        facts.append(("BFD", f"{bfd.minimum_interval} ms x {bfd.multiplier}: {silent}"))
    return Decision(
        "Routing",
        "IS-IS, an address pair per link",
        "Every switch knows every link and takes all shortest paths; there are no policies to get wrong, and none that keep a "
        "switch from carrying others' traffic when links fail.",
        tuple(facts),
    )
