"""The room to grow of a fabric of a designed network."""

from __future__ import annotations

from railweave.design.limits.growth import Growth, growth
from railweave.model.network.devices import Fabric
from railweave.model.network.model import Network


def growth_of(network: Network, fabric: Fabric) -> Growth:
    switches = [switch for switch in network.switches if switch.fabric == fabric.name]
    cables = [cable for cable in network.cables if cable.fabric == fabric.name and cable.kind == "fabric"]
    return growth(fabric.name, switches, cables, fabric.colors)
