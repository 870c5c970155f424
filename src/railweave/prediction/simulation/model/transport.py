"""Parameters of hosts: frames, acknowledgements, classes and congestion control of the servers' NICs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.model.catalog.rdma import ADAPTIVE_WINDOW, rdma_mtu
from railweave.model.device.host_job import used_addresses
from railweave.nics import vendor

if TYPE_CHECKING:
    from railweave.model.config.addresses import Family
    from railweave.model.device.host_model import HostNic, HostQos

FRAMES = {"ipv4": 62, "ipv6": 82}
"""Ethernet (18 with its FCS), IP, UDP, base transport header, invariant CRC."""

AETH, CNP_PADDING = 4, 16
"""What an acknowledgement and a congestion notification packet carry beside these (InfiniBand architecture, annex 17)."""

ADDITIVE_MBPS, HYPER_MBPS, STEPS_GBPS = 5, 50, 25
"""Steps by which DCQCN raises rates, for each 25 Gb/s of the port (the rule of the HPCC simulator), of every vendor. NVIDIA documents 5
and 50 Mb/s, without a speed; the two differ in what the 2:1 ring of docs/validation.md loses, and with 5 and 50 Mb/s at 400G an
all-to-all of 2 GiB took half as long again as published."""

REORDER = 256
"""Packets that may come ahead of the next in order before a NIC with adaptive routing asks for it again; assumed."""


@dataclass(frozen=True, slots=True)
class Transport:
    """Parameters of hosts by the engine's names, the set of DCQCN's, and what was assumed."""

    parameters: dict[str, str]
    dcqcn: str | None
    notes: tuple[str, ...]


def transport(nic: HostNic, qos: HostQos, *, reordering: bool, family: Family | None = None) -> Transport:
    """The transport of NICs like this one. ``reordering``: whether switches share packets of a queue pair.

    ``family`` is the address family of RDMA traffic, where NICs have both; None: that of the first address.
    """
    family = used_addresses(nic, family)[0].address.family if nic.addresses else "ipv4"
    header = FRAMES[family]
    found = {
        "host.mtu": str(rdma_mtu(nic.mtu, family)),
        "host.header": str(header),
        "host.ack-bytes": str(header + AETH),
        "host.cnp-bytes": str(header + CNP_PADDING),
        "host.data-class": str(qos.priority),
        "host.cnp-class": str(qos.cnp_priority),
    }
    own = vendor(nic.vendor).transport(nic.model)
    found |= own.parameters
    notes = ["NICs: receive buffer and retransmission timeout are the engine's own", own.note]
    if own.dcqcn is not None:
        steps = nic.speed_gbps / STEPS_GBPS
        found |= {
            "dcqcn.additive": f"{ADDITIVE_MBPS * steps:g}M",
            "dcqcn.hyper": f"{HYPER_MBPS * steps:g}M",
        }
        notes.append("DCQCN: rates rise by steps that grow with the port's speed (assumed)")
    if reordering:
        found |= {
            "host.recovery": "selective",
            "host.reorder": str(REORDER),
            "host.reth": "every",
            "host.window": str(ADAPTIVE_WINDOW),
        }
        notes.append(
            f"packets are sprayed: NICs use adaptive routing, an RDMA header on every packet, at most {ADAPTIVE_WINDOW} "
            f"packets outstanding, {REORDER} ahead (assumed)"
        )
    return Transport(found, own.dcqcn, tuple(notes))
