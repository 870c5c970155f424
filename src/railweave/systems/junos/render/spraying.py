"""Rendering of random spraying on PTX: of every packet, or only of packets whose RDMA opcode allows a NIC to accept them in any order.

Statements and names are those of Juniper's article on long-haul links. A filter on the ingress ports puts packets with
these opcodes into a forwarding instance that has a copy of all routes. In the forwarding table, packets on the routes
of this instance are spread at random, and packets on all other routes are spread by flow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.junos.names import FAMILIES, SPRAYING_FILTER, SPRAYING_INSTANCE
from railweave.systems.junos.tree import Statement, block, choices, leaf

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig

LB_POLICY = "lb-policy"
ROCE_PORT = 4791


def spraying_firewall(config: DeviceConfig) -> Statement | None:
    """Return the block ``firewall`` with the filter that selects the packets to spray by RDMA opcode.

    None if the device does not spray, or sprays all packets.
    """
    balancing = config.balancing
    if not balancing.sprays_by_opcode:
        return None
    return block(
        "firewall",
        [
            block(
                ("family", FAMILIES[family]),
                block(
                    ("filter", SPRAYING_FILTER),
                    block(
                        "term write-only",
                        block(
                            "from",
                            leaf("protocol" if family == "ipv4" else "next-header", "udp"),
                            leaf("destination-port", ROCE_PORT),
                            choices("first-byte-of-payload", balancing.opcodes),
                        ),
                        block("then", leaf("routing-instance", SPRAYING_INSTANCE)),
                    ),
                    block("term default", block("then", leaf("accept"))),
                ),
            )
            for family in balancing.ether_types
        ],
    )


def spraying_filter(config: DeviceConfig, port: str) -> Statement | None:
    """Return the statement that applies the spraying filter to a port, or None if the port does not need the filter."""
    if not config.balancing.sprays_by_opcode or port not in config.balancing.filtered_ports:
        return None
    return block("filter", leaf("input", SPRAYING_FILTER))


def instance(config: DeviceConfig) -> Statement | None:
    """Return the routing instance ``spraying``. None if the device does not spray, or sprays all packets."""
    if not config.balancing.sprays_by_opcode:
        return None
    return block(
        (SPRAYING_INSTANCE,),
        leaf("instance-type", "forwarding"),
        block("routing-options", leaf("instance-import", "all-routes")),
    )


def policies(config: DeviceConfig, plain: str) -> list[Statement | None]:
    """Return the export policies of the forwarding table. ``plain`` is the name of the policy that does not spray."""
    balancing = config.balancing
    if not balancing.random:
        return [block(("policy-statement", plain), block("then", leaf("load-balance", "per-packet")))]
    if not balancing.sprays_by_opcode:
        return [block(("policy-statement", LB_POLICY), block("then", leaf("load-balance", "random"), leaf("accept")))]
    ribs = [f"{SPRAYING_INSTANCE}.{FAMILIES[family]}.0" for family in balancing.ether_types]
    return [
        block(
            "policy-statement all-routes",
            block("term default", block("from", leaf("instance", "master")), block("then", leaf("accept"))),
        ),
        block(
            ("policy-statement", LB_POLICY),
            [
                block(
                    ("term", "spraying-rib" if len(ribs) == 1 else f"spraying-rib-{place}"),
                    block("from", leaf("rib", rib)),
                    block("then", leaf("load-balance", "random"), leaf("accept")),
                )
                for place, rib in enumerate(ribs, 1)
            ],
            block("term default", block("then", leaf("load-balance", "per-flow"))),
        ),
    ]


def exported(config: DeviceConfig, plain: str) -> str:
    """Return the name of the forwarding table's export policy. ``plain`` is the name of the policy that does not spray."""
    return LB_POLICY if config.balancing.random else plain
