"""Routes, VRFs and EVPN of FRRouting's ``show … json`` (zebra/zebra_vty.c, bgpd/bgp_evpn_vty.c)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state.protocols import EvpnRoutes, NextHop, Route, VniState, VrfState
from railweave.model.state.question import DEFAULT_VRF, asked_about
from railweave.systems.frr.state.bgp import paths

if TYPE_CHECKING:
    from railweave.model.state.values import Answers, Value

_TYPE_5 = re.compile(r"\[5\]:\[\d+\]:\[(\d+)\]:\[([^\]]+)\]")


def routes(answers: Answers) -> tuple[Route, ...] | None:
    """Every route that was asked for by itself, and those of whole tables."""
    asked = [(name, about) for name in answers.texts if (about := asked_about(name)) and about[0] == "route"]
    tables = [name for name in answers.texts if name.startswith("routes-")]
    if not asked and not any(name.startswith(("routes-", "static-", "kernel-")) for name in answers.texts):
        return None
    found: dict[tuple[str, str], Route] = {}
    for name in tables:
        vrf = name.partition("@")[2] or DEFAULT_VRF
        answer = answers.tree(name)
        for prefix, entries in answer.entries() if answer else []:
            found[vrf, prefix] = route(vrf, prefix, entries, None)
    for name in [one for one in answers.texts if one.startswith(("static-", "kernel-"))]:
        answer = answers.tree(name)
        for vrf, table in answer.entries() if answer else []:
            for prefix, entries in table.entries():
                chosen = route(vrf, prefix, entries, None)
                if chosen.protocol is not None:
                    found[vrf, prefix] = chosen
    for name, (_, vrf, prefix) in asked:
        answer = answers.tree(name)
        if answer is not None:
            found[vrf, prefix] = route(
                vrf, prefix, answer.one(prefix), answers.tree(name.replace("route@", "path@", 1))
            )
    return tuple(found.values())


def route(vrf: str, prefix: str, entries: Value, known: Value | None) -> Route:
    """One route of ``show ipv6 route … json``, with its paths of ``show bgp … json`` where these were asked for."""
    chosen = next((one for one in entries.each() if one.one("selected").flag()), None)
    through = None if known is None else paths(known)
    if chosen is None:
        return Route(prefix, vrf, paths=through)
    hops = tuple(
        NextHop(
            one.one("ip").text(),
            one.one("interfaceName").text(),
            one.one("fib").flag() or False,
        )
        for one in chosen.all("nexthops")
        if not one.one("recursive").flag()  # what it resolves to follows it
    )
    drops = next((_drops(one) for one in chosen.all("nexthops") if one.one("unreachable").flag()), None)
    protocol, installed = chosen.one("protocol").text(), chosen.one("installed").flag() or False
    return Route(prefix, vrf, protocol, installed, hops, through, drops)


def _drops(hop: Value) -> str:
    """Return how a next hop drops packets: ``Null0`` and blackhole say nothing to the sender."""
    words = {"reject": "reject", "adminProhibited": "prohibit", "admin-prohibited": "prohibit"}
    return next((word for key, word in words.items() if hop.one(key).flag()), "blackhole")


def vrfs(answer: Value | None, evpn: Value | None) -> dict[str, VrfState] | None:
    """The VRFs of ``show vrf vni json``: those with a VNI; what BGP knows of that is from ``show bgp l2vpn evpn vni json``."""
    if answer is None:
        return None
    found: dict[str, VrfState] = {}
    for one in answer.all("vrfs"):
        if (name := one.one("vrf").text()) is None:
            continue
        vni = one.one("vni").integer()
        state = VrfState(name, vni=vni, up=one.one("state").flag())
        if evpn is not None and str(vni) in evpn.keys:
            bgp = evpn.one(str(vni))
            state = replace(
                state,
                route_distinguisher=bgp.one("rd").text(),
                import_targets=_texts(bgp.first("importRTs", "importRts")),
                export_targets=_texts(bgp.first("exportRTs", "exportRts")),
            )
        found[name] = state
    return found


def _texts(listed: Value) -> tuple[str, ...] | None:
    """The texts of a list; None where it is absent."""
    return tuple(text for one in listed.each() if (text := one.text()) is not None) if listed.there else None


def vnis(answer: Value | None) -> dict[int, VniState] | None:
    """The VNIs of ``show evpn vni detail json``, or of the same without ``detail``."""
    if answer is None:
        return None
    entries = answer.each() if isinstance(answer.raw, list) else [one for _, one in answer.entries()]
    found: dict[int, VniState] = {}
    for one in entries:
        vni = one.one("vni").integer() if one.keys else None
        if vni is not None:
            layer = {"l2": 2, "l3": 3}.get(one.one("type").lower() or "")
            state = one.one("state").flag() if layer == 3 else None
            found[vni] = VniState(vni, layer, one.first("tenantVrf", "vrf").text(), one.one("vlan").integer(), state)
    return found


def evpn(prefixes: Value | None, macs: Value | None) -> EvpnRoutes | None:
    """How many routes there are of type 5 and type 2, and the prefixes by route distinguisher."""
    if prefixes is None and macs is None:
        return None
    by_distinguisher: dict[str, tuple[str, ...]] = {}
    for distinguisher, table in prefixes.entries() if prefixes else []:
        if table.keys:
            found = [_TYPE_5.fullmatch(key) for key, _ in table.entries()]
            by_distinguisher[distinguisher] = tuple(f"{one[2]}/{one[1]}" for one in found if one)
    return EvpnRoutes(
        type2=None if macs is None else _counted(macs, "[2]"),
        type5=None if prefixes is None else sum(map(len, by_distinguisher.values())),
        type5_prefixes=None if prefixes is None else by_distinguisher,
    )


def _counted(answer: Value, kind: str) -> int:
    tables = [one for _, one in answer.entries() if one.keys]
    return sum(key.startswith(kind) for table in tables for key, _ in table.entries())
