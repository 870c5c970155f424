"""Congestion at first leaf, spine and last leaf of the EVPN report's bed (its Table 8), with and without VXLAN."""

from __future__ import annotations

from dataclasses import dataclass, field

from .engine import TOPOLOGIES, Run, run

BED = str(TOPOLOGIES / "evpn-bed.txt")
QPS = 16  # per tester port, as the report has it
VXLAN = {"switch.vxlan": "yes", "switch.vxlan-overhead": 70}  # an IPv6 underlay

Pairs = list[tuple[str, str]]

NOT_COPIED = {**VXLAN, "switch.vxlan-copy-out": "no"}


def ports(leaf: int, numbers: range) -> list[str]:
    """Tester ports of a leaf."""
    return [f"ixia{leaf}-{number}" for number in numbers]


def cases() -> dict[str, Pairs]:
    """Who sends to whom."""
    away = ports(2, range(4)) + ports(3, range(4)) + ports(4, range(4))
    senders = ports(1, range(4)) + ports(3, range(4)) + ports(4, range(4))
    return {
        # 4.8T from twelve ports into 3.2T of uplinks; no spine and no last leaf gets more than it can pass on
        "first leaf": list(zip(ports(1, range(12)), away, strict=True)),
        # 4.8T from three leaves into the 3.2T that spines have to leaf2, and a port of its own for each
        "spine": list(zip(senders, ports(2, range(12)), strict=True)),
        # four ports to one
        "last leaf": [(source, "ixia2-0") for source in ports(1, range(4))],
    }


@dataclass
class Counts:
    """What the switches did, by ``switch>kind of neighbor``."""

    marked: dict[str, float] = field(default_factory=dict)
    pauses: dict[str, float] = field(default_factory=dict)
    dropped: float = 0.0
    cnps: int = 0


def kind(name: str) -> str:
    """Tester, leaf or spine."""
    return name.rstrip("0123456789-")


def counted(ran: Run) -> Counts:
    """Sums over the ports of every switch."""
    counts = Counts(cnps=ran.count("cnps"), dropped=ran.count("dropped_packets"))
    for place in ran.ports.time_us:
        node, peer = place.split(">")
        if kind(node) == "ixia":
            continue
        where = f"{node}>{kind(peer)}"
        for name, column in ((counts.marked, "ecn_ce_packets"), (counts.pauses, "pfc_tx")):
            number = ran.port_sum(place, column)
            if number:
                name[where] = name.get(where, 0) + number
    return counts


def congest(pairs: Pairs, control: str, settings: dict[str, object], until_us: int) -> Counts:
    """Run a case with ``control`` (dcqcn or none, as a tester that does not react)."""
    size = until_us * 50_000 // QPS  # what a port of 400G sends meanwhile
    flows = [(source, to, size, 0.0) for source, to in pairs for _ in range(QPS)]
    words = ("--cc", control, "--until", f"{until_us}us")
    return counted(run(BED, flows, settings, *words, every=f"{until_us}us"))
