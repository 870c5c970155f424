"""Names of what a Junos configuration defines: rendering, checks and the reading of a switch use the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.config.addresses import Family

FAMILIES: dict[Family, str] = {"ipv4": "inet", "ipv6": "inet6"}
"""Names of address families in Junos."""

CLASSIFIER = "roce"
SCHEDULER_MAP = "roce"
REWRITE_RULE = "roce"

SELECTIVE_FILTER = "dlb-by-opcode"
"""The filter that balances packets of some RDMA opcodes alone."""

SPRAYING_FILTER = "gpu-input"
SPRAYING_INSTANCE = "spraying"
"""Names of what sprays packets of some RDMA opcodes on PTX, as the long-haul article has them."""

MANAGEMENT_INSTANCE = "mgmt_junos"
"""The routing instance that Junos has for management."""


BUILT_IN_CLASSES = {"best-effort": 0, "network-control": 7}
"""Forwarding classes that Junos has by itself, with their queues."""


def class_name(name: str) -> str:
    """Return the name of a forwarding class on the switch. Built-in classes have their Junos names; all others are in capitals."""
    return name if name in BUILT_IN_CLASSES else name.upper()


EGRESS_PARTITION = {"egress_lossless": 50, "egress_lossy": 31, "egress_multicast": 19}
"""The egress buffer where nothing is configured, percent (Juniper's reference, buffer-partition (Egress), table 1)."""
