"""Names in a Junos configuration. The renderer, the checks, and the reader of a switch's state share them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.model.config.addresses import Family

FAMILIES: dict[Family, str] = {"ipv4": "inet", "ipv6": "inet6"}
"""The names of address families in Junos."""

CLASSIFIER = "roce"
SCHEDULER_MAP = "roce"
REWRITE_RULE = "roce"

SELECTIVE_FILTER = "dlb-by-opcode"
"""The filter that enables dynamic load balancing only for packets with certain RDMA opcodes."""

SPRAYING_FILTER = "gpu-input"
SPRAYING_INSTANCE = "spraying"
"""The name of the routing instance that sprays packets with certain RDMA opcodes on PTX, as in Juniper's article on long-haul links."""

MANAGEMENT_INSTANCE = "mgmt_junos"
"""The routing instance that Junos itself provides for management traffic."""


BUILT_IN_CLASSES = {"best-effort": 0, "network-control": 7}
"""The forwarding classes that Junos has by default, with their queues."""


def class_name(name: str) -> str:
    """Return the name of a forwarding class on the switch. Built-in classes keep their Junos names; all others are in capitals."""
    return name if name in BUILT_IN_CLASSES else name.upper()


EGRESS_PARTITION = {"egress_lossless": 50, "egress_lossy": 31, "egress_multicast": 19}
"""The default partitions of the egress buffer in percent (Juniper's reference, buffer-partition (Egress), table 1)."""
