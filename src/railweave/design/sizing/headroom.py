"""PFC headroom of a size's switches, with cables as long as a fabric file takes them to be, and the share it needs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from railweave.model.catalog.headroom import port_headroom
from railweave.model.intent.qos import Qos
from railweave.model.intent.topology import Cabling, Mtu

if TYPE_CHECKING:
    from railweave.design.sizing.size import Size
    from railweave.model.catalog.models import Catalog

LEAST_SHARED = 0.5
"""Share of a packet buffer that partitions are parts of where nobody says what a model dedicates to its ports: of those whose
figures are public a QFX5240 shares least, 86 of 165 MB (``dedicated`` in the catalog)."""


def shared_bytes(catalog: Catalog, found: Size) -> float:
    """What the partitions of a switch's packet buffer are parts of."""
    model = catalog.switches[found.wanted.switch]
    if model.dedicated is not None:
        return model.dedicated.shared_bytes(None, None)
    return LEAST_SHARED * model.buffer.shared_mb * 1e6


def headroom_need(catalog: Catalog, found: Size) -> int:
    """Headroom of the switch that needs most, bytes."""
    lengths, mtu, speed = Cabling(), Mtu(), found.ports.speed_gbps
    lossless = sum(one.lossless for one in Qos().classes.values())
    model = catalog.switches[found.wanted.switch]
    to_server = port_headroom(catalog, model, lengths.server.length, speed, mtu.server_port).need_bytes
    between = port_headroom(catalog, model, lengths.fabric.length, speed, mtu.fabric).need_bytes
    leaf = (found.leaf_used - found.uplinks) * to_server + found.uplinks * between
    return lossless * max(leaf, between * max(found.spine_used, found.top_used))


def headroom_percent(catalog: Catalog, found: Size) -> int:
    """The headroom partition that holds it, percent; the default where that does."""
    need = headroom_need(catalog, found)
    return max(Qos().buffers.headroom, math.ceil(100 * need / shared_bytes(catalog, found)))
