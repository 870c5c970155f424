"""What a switch's platform lacks, taken out of what is wanted of it, and said.

The QoS and load balancing of a fabric file are those of QFX switches. Routers with virtual output queues (PTX) have no
shared-buffer partitions, no thresholds of queues, no dynamic load balancing; the catalog says which (``Platform.lacks``).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from railweave.model.catalog.hardware import Platform
    from railweave.model.device.balancing import BalancingConfig
    from railweave.model.device.model import QosConfig


def lowered_qos(qos: QosConfig, lacks: Collection[str]) -> tuple[QosConfig, list[str]]:
    """QoS without what the platform lacks, and what was left out."""
    out: list[str] = []
    if "shared-buffer" in lacks:
        out.append("shared-buffer partitions and dedicated buffers")
        out += ["thresholds of queues"] if any(c.dynamic_threshold is not None for c in qos.classes.values()) else []
        out += ["record of peak buffer occupancy"] if qos.buffer_monitor else []
        plain = {name: replace(one, dynamic_threshold=None) for name, one in qos.classes.items()}
        qos = replace(qos, classes=plain, shared_buffer=False, buffer_monitor=False)
    if "pfc-watchdog" in lacks and qos.watchdog is not None and qos.profiles:
        out.append("PFC watchdog")
    if "pfc-watchdog" in lacks:
        qos = replace(qos, watchdog=None)
    if "dscp-ipv6" in lacks:
        qos = replace(qos, ipv6_classifiers=False)
    if "pfc-headroom" in lacks and qos.profiles:
        out.append("PFC headroom by cable length and MRU (PFC accounts pause by time instead)")
    if "pfc-xon" in lacks and qos.xon_offset_cells is not None:
        out.append("XON offset")
        qos = replace(qos, xon_offset_cells=None)
    return qos, out


def lowered_balancing(
    balancing: BalancingConfig, platform: Platform, entering: Sequence[str]
) -> tuple[BalancingConfig, list[str]]:
    """Load balancing as the platform can do it, and what was left out. ``entering``: ports by which traffic comes in.

    A platform that sprays but cannot look into packets sprays none where only some opcodes are to be.
    """
    lacks = platform.lacks
    if balancing.group_mode == "spray" and "random-spray" in platform.has:
        opcodes = balancing.spray_opcodes
        if opcodes and "payload-filter" not in platform.has:
            return replace(balancing, group_mode="ecmp"), ["match on RDMA opcodes (nothing is sprayed)"]
        return replace(balancing, random=True, opcodes=opcodes, filtered_ports=tuple(entering) if opcodes else ()), []
    if "dlb" not in lacks or not balancing.group_mode.startswith("dlb"):
        return balancing, []
    return replace(balancing, group_mode="ecmp", selective=(), global_role=""), [
        f"{balancing.group_mode} (next-hop groups share by static hash)"
    ]
