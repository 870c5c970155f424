"""BGP and BFD sessions of a Junos switch."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.state.protocols import BfdSession, BgpSession, FamilyState, IsisAdjacency
from railweave.systems.junos.state.neighbors import port_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.state.values import Value

_FAMILIES = {"inet.0": "ipv4", "inet6.0": "ipv6", "bgp.evpn.0": "evpn"}


def _peer(text: str) -> tuple[str, str | None]:
    """A neighbor's address and port, of ``fe80::1%et-0/0/0:0.0+179``: the TCP port follows a plus sign."""
    address, _, zone = re.sub(r"\+\d+$", "", text).partition("%")
    return address, port_of(zone) or None


def sessions(answers: Iterable[Value], now: float | None) -> tuple[BgpSession, ...] | None:
    """The sessions of ``show bgp summary`` in its forms, and of ``show bgp neighbor``, which says most and comes last."""
    asked = list(answers)
    found: dict[tuple[str, str | None], BgpSession] = {}
    for answer in asked:
        for one in answer.find("bgp-peer"):
            name = one.one("peer-address").text()
            if name is not None:
                key = _peer(name)
                found[key] = _session(one, key, now, found.get(key))
    return tuple(found.values()) if asked else None


def _session(one: Value, peer: tuple[str, str | None], now: float | None, known: BgpSession | None) -> BgpSession:
    address, zone = peer
    known = known or BgpSession(address)
    families = dict(known.families)
    for rib in one.all("bgp-rib"):
        table = rib.one("name").text()
        if table is not None:
            families[_FAMILIES.get(table, table)] = FamilyState(
                rib.one("received-prefix-count").integer(),
                rib.one("accepted-prefix-count").integer(),
                rib.one("advertised-prefix-count").integer(),
                rib.one("active-prefix-count").integer(),
            )
    state = one.one("peer-state").lower() or known.state
    ago = one.one("elapsed-time").attribute("seconds").number()
    since = now - ago if now is not None and ago is not None and state == "established" else known.established_since
    instance = one.one("peer-cfg-rti").text()
    return BgpSession(
        address,
        zone
        or (port_of(one.one("local-interface-name").text()) if address.startswith("fe80") else None)
        or known.interface,
        "default" if instance == "master" else instance or known.vrf,
        state,
        one.one("peer-as").integer() or known.peer_as,
        one.one("local-as").integer() or known.local_as,
        one.one("peer-group").text() or known.group,
        one.one("description").text() or known.description,
        discovered=one.one("peer-auto-discovery-type").there or zone is not None or known.discovered,
        established_since=since,
        flaps=_known(one.one("flap-count").integer(), known.flaps),
        last_error=one.one("last-error").text() or known.last_error,
        bfd=one.one("bgp-bfd", "bfd-operational-state").lower() or known.bfd,
        families=families,
    )


def _known(value: int | None, before: int | None) -> int | None:
    return before if value is None else value


def bfd_sessions(answer: Value | None) -> tuple[BfdSession, ...] | None:
    """The sessions of ``show bfd session extensive``; its times are seconds with decimals."""
    if answer is None:
        return None
    found: list[BfdSession] = []
    for one in answer.find("bfd-session"):
        name = one.one("session-neighbor").text()
        if name is None:
            continue
        address, zone = _peer(name)
        tx = _ms(one.one("session-transmission-interval"))
        found.append(
            BfdSession(
                address,
                zone or port_of(one.one("session-interface").text()),
                None,
                one.one("session-state").lower(),
                tx,
                None,
                one.one("session-adaptive-multiplier").integer(),
                _ms(one.one("session-detection-time")),
                one.one("local-diagnostic").text(),
            )
        )
    return tuple(found)


def adjacencies(answer: Value | None) -> tuple[IsisAdjacency, ...] | None:
    """The adjacencies of ``show isis adjacency``."""
    if answer is None:
        return None
    return tuple(
        IsisAdjacency(
            port_of(interface) or interface,
            one.one("system-name").text(),
            one.one("adjacency-state").lower(),
            one.one("level").integer(),
        )
        for one in answer.find("isis-adjacency")
        if (interface := one.one("interface-name").text()) is not None
    )


def _ms(value: Value) -> float | None:
    seconds = value.number()
    return None if seconds is None else round(seconds * 1000, 3)
