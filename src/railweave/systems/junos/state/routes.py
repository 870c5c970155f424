"""Routes of a Junos switch, and the VRFs, VNIs and EVPN routes of its overlay."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.state.protocols import EvpnRoutes, NextHop, Path, Route, VniState, VrfState
from railweave.model.state.question import asked_about
from railweave.systems.junos.state.neighbors import port_of

if TYPE_CHECKING:
    from railweave.model.state.values import Answers, Value


def routes(answers: Answers) -> tuple[Route, ...] | None:
    """Every route that was asked for by itself, and those of whole tables."""
    asked = [(name, about) for name in answers.texts if (about := asked_about(name)) and about[0] == "route"]
    tables = [name for name in answers.texts if name.startswith(("routes-", "static-", "aggregate-"))]
    if not asked and not tables:
        return None
    found: dict[tuple[str, str], Route] = {}
    for name in tables:
        vrf, answer = name.partition("@")[2], answers.tree(name)
        for entry in answer.find("rt") if answer else []:
            prefix = _prefix(entry)
            if not prefix:
                continue
            route = _route(vrf, prefix, entry)
            if route.protocol is not None or name.startswith("routes-"):  # lists by protocol have unused routes, too
                found[vrf, prefix] = route
    for name, (_, vrf, prefix) in asked:
        answer = answers.tree(name)
        if answer is not None:
            entry = next((one for one in answer.find("rt") if _prefix(one) == prefix), None)
            found[vrf, prefix] = Route(prefix, vrf, paths=()) if entry is None else _route(vrf, prefix, entry)
    return tuple(found.values())


def _prefix(entry: Value) -> str | None:
    """The prefix of a route: its length stands beside it in the detailed form."""
    destination, length = entry.one("rt-destination").text(), entry.one("rt-prefix-length").text()
    return f"{destination}/{length}" if destination and length and "/" not in destination else destination


def _route(vrf: str, prefix: str, entry: Value) -> Route:
    paths = entry.all("rt-entry")
    active = next((one for one in paths if one.one("active-tag").text() in {"*", "#"}), None)
    hops = tuple(
        NextHop(hop.one("to").text(), port_of(hop.one("via").text()), True)
        for hop in (active.all("nh") if active else ())
    )
    protocol = active.one("protocol-name").lower() if active else None
    kind = active.one("nh-type").lower() if active else None
    return Route(
        prefix,
        vrf,
        protocol,
        None,
        hops,
        tuple(_path(one) for one in paths if one.one("protocol-name").lower() == "bgp"),
        kind if kind in {"discard", "reject"} else None,
    )


def _path(one: Value) -> Path:
    said = tuple(
        text for community in one.all("communities") for part in community.all("community") if (text := part.text())
    )
    more = tuple(
        text
        for community in one.all("communities")
        for part in community.all("extended-community")
        if (text := part.text())
    )
    tag = one.one("active-tag").text()
    return Path(
        peer=one.first("learned-from", "gateway").text(),
        best=tag in {"*", "@"},
        hidden=one.one("hidden-reason").text(),
        as_path=one.one("as-path").text(),
        local_preference=one.one("local-preference").integer(),
        aigp=one.first("rt-aigp", "rt-effective-aigp").integer(),
        communities=said,
        extended_communities=more,
    )


def vrfs(answer: Value | None, instances: Value | None = None) -> dict[str, VrfState] | None:
    """The VRFs of ``show evpn l3-context extensive``, with the route targets of ``show route instance detail``."""
    if answer is None:
        return None
    targets = {
        one.one("instance-name").text(): one.one("instance-vrf")
        for one in (instances.find("instance-core") if instances else [])
    }
    found: dict[str, VrfState] = {}
    for one in answer.find("evpn-l3-context"):
        if (name := one.one("context-name").text()) is not None:
            state = VrfState(name, one.one("route-distinguisher").text(), one.one("context-vni").integer())
            if name in targets:
                taken, given = (_targets(targets[name], f"vrf-{way}-target") for way in ("import", "export"))
                state = replace(state, import_targets=taken, export_targets=given)
            found[name] = state
    return found


def _targets(instance: Value, key: str) -> tuple[str, ...] | None:
    """Route targets, which stand in brackets or one by one; None where the instance has none of that kind."""
    said = " ".join(text for one in instance.all(key) if (text := one.text()) is not None)
    return tuple(re.findall(r"target:([\w.:]+)", said)) or None


def vnis(answer: Value | None) -> dict[int, VniState] | None:
    """The VNIs of VRFs; those of VLANs have no form that was tried."""
    known = vrfs(answer)
    return (
        None
        if known is None
        else {one.vni: VniState(one.vni, 3, one.name) for one in known.values() if one.vni is not None}
    )


def evpn(prefixes: Value | None, macs: Value | None) -> EvpnRoutes | None:
    """Type 5 routes that were received and accepted, by VRF; MAC entries for type 2."""
    if prefixes is None and macs is None:
        return None
    by_vrf: dict[str, tuple[str, ...]] = {}
    for context in prefixes.find("evpn-pfxdb-l3-context") if prefixes else []:
        name = context.one("context-name").text()
        if name is not None:
            by_vrf[name] = tuple(
                prefix
                for one in context.find("evpn-pfxdb-evpn-ip-entry")
                if (prefix := one.first("entry-prefix", "ip-prefix").text()) is not None
            )
    return EvpnRoutes(
        None if macs is None else len(macs.find("mac-entry")),
        None if prefixes is None else sum(map(len, by_vrf.values())),
        None if prefixes is None else by_vrf,
    )
