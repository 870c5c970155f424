"""Rules about policies, communities, and load balancing over next-hop groups."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.findings.registry import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.systems.junos.lint.words import Words

ENHANCED_HASH = ("forwarding-options", "enhanced-hash-key")
INACTIVITY_US = range(16, 32001)
"""The range of the inactivity interval of flowlets in microseconds, from the command reference for the same switches."""

WELL_KNOWN = frozenset(
    {"no-export", "no-advertise", "no-export-subconfed", "no-peer", "llgr-stale", "no-llgr", "accept-own"}
)
_PATTERN = re.compile(r"[*.+?\[\](){}^$|\\]")
_TYPES = (
    "target|origin|domain-id|src-as|rt-import|bandwidth|bandwidth-non-transitive|encapsulation|redirect|redirect-to-ip"
    "|traffic-rate|l2info|mac-mobility|es-import-rt|evpn-etree|evpn-l2-info|evpn-mcast-flags|df-election|0x[0-9a-f]+"
)
_TYPED = re.compile(rf"(?:{_TYPES}):[^:\s]+(?::[^:\s]+)+")


@check(
    "junos-aigp-next-hop",
    why="commit rejects it: aigp-originate requires next-hop",
    fix="add `next-hop self` to the same `then`",
)
def aigp_next_hop(root: Words) -> Iterator[str]:
    """A policy that has ``aigp-originate`` sets a next hop in the same ``then``.

    Source: ``junos:must`` of policy-statement/then/aigp-originate.
    """
    for path, then in root.at("policy-options", "policy-statement").every("**", "then"):
        if then.has("aigp-originate") and not then.has("next-hop"):
            yield f"policy {' '.join(path)} has aigp-originate without next-hop"


@check(
    "junos-community-value",
    why="the published model accepts any text; commit rejects it, or the community matches nothing",
    fix="use color:0:N, large:A:B:C, A:B, a typed extended community, or a well-known name",
)
def community_value(root: Words) -> Iterator[str]:
    """A member of a community has the form of RFC 1997, RFC 4360, RFC 8092 or RFC 9012 (color), as Junos writes it.

    Patterns are not checked.
    """
    for (name, _, value), _ in root.at("policy-options", "community").every("*", "members", "*"):
        if not _is_community(value):
            yield f"community {name} has the member {value!r}"


def _is_community(value: str) -> bool:
    if value in WELL_KNOWN or _PATTERN.search(value):
        return True
    head, *rest = value.split(":")
    if head == "color":
        return len(rest) == 2 and rest[0] in {"0", "1", "2", "3", "00", "01", "10", "11"} and _within(rest[1], 32)
    if head == "large":
        return len(rest) == 3 and all(_within(part, 32) for part in rest)
    if head.isdecimal():
        return len(rest) == 1 and _within(head, 16) and _within(rest[0], 16)
    return _TYPED.fullmatch(value) is not None


def _within(text: str, bits: int) -> bool:
    return text.isdecimal() and int(text) < 2**bits


@check(
    "junos-inactivity-interval",
    why="the published model accepts any number; the chip supports idle times from 16 us to 32 ms",
    fix="use 16 to 32000 microseconds",
)
def inactivity_interval(root: Words) -> Iterator[str]:
    """The inactivity interval of flowlets is 16 to 32000 microseconds.

    Source: the command reference; the models have no range.
    """
    value = root.value(*ENHANCED_HASH, "ecmp-dlb", "flowlet", "inactivity-interval")
    if (
        value is not None
        and root.number(*ENHANCED_HASH, "ecmp-dlb", "flowlet", "inactivity-interval") not in INACTIVITY_US
    ):
        yield f"flowlet inactivity-interval is {value}"


@check(
    "junos-dlb-exclusive", why="commit rejects dynamic load balancing and resilient hashing together", fix="keep one"
)
def dlb_exclusive(root: Words) -> Iterator[str]:
    """Next-hop groups use dynamic load balancing or resilient hashing, but not both.

    Source: ``junos:must`` of enhanced-hash-key/ecmp-dlb.
    """
    if root.has(*ENHANCED_HASH, "ecmp-dlb") and root.has(*ENHANCED_HASH, "ecmp-resilient-hash"):
        yield "enhanced-hash-key has ecmp-dlb and ecmp-resilient-hash"


@check(
    "junos-dlb-quantization-pair",
    why="commit requires both limits, with min below max",
    fix="set min and max, with min below max",
)
def dlb_quantization_pair(root: Words) -> Iterator[str]:
    """Egress quantization sets both bounds or neither, and the lower bound is below the upper bound.

    Source: ``junos:must`` of ecmp-dlb/egress-quantization.
    """
    bounds = root.at(*ENHANCED_HASH, "ecmp-dlb", "egress-quantization")
    if bounds.has("min") != bounds.has("max"):
        yield f"egress-quantization has {'min' if bounds.has('min') else 'max'} alone"
        return
    low, high = bounds.number("min"), bounds.number("max")
    if low is not None and high is not None and low >= high:
        yield f"egress-quantization has min {low} and max {high}"


@check(
    "junos-reassignment-pair", why="commit requires quality-delta together with prob-threshold", fix="add quality-delta"
)
def reassignment_pair(root: Words) -> Iterator[str]:
    """The reassignment of flowlets has ``prob-threshold`` only with ``quality-delta``.

    Source: ``junos:must`` of ecmp-dlb/flowlet/reassignment/prob-threshold.
    """
    reassignment = root.at(*ENHANCED_HASH, "ecmp-dlb", "flowlet", "reassignment")
    if reassignment.has("prob-threshold") and not reassignment.has("quality-delta"):
        yield "flowlet reassignment has prob-threshold without quality-delta"
