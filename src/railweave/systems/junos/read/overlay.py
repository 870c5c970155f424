"""The EVPN overlay: its sessions, and the instance of bridged VLANs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from railweave.model.device.model import (
    BridgedVlan,
    MacVrf,
    NumberedSession,
    OverlayConfig,
    TunnelEndpoint,
)
from railweave.systems.junos.read import policies
from railweave.systems.junos.read.sessions import agreed
from railweave.systems.junos.read.values import address
from railweave.systems.junos.read.words import Word

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from railweave.model.config.addresses import Prefix
    from railweave.systems.junos.read.instances import Instance
    from railweave.systems.junos.read.policies import PolicyOptions
    from railweave.systems.junos.read.ports import Port
    from railweave.systems.junos.read.sessions import Group

DEFAULT_SWITCH = "default-switch"
"""Junos's name of the bridging instance that stands at the top of a configuration."""


@dataclass
class Exported:
    """What the export policy of overlay sessions says: the mark of spines, who adds it, and tunnel endpoints by color."""

    mark: str = ""
    adds: bool = False
    refuses: bool = False
    endpoints: list[TunnelEndpoint] = field(default_factory=list[TunnelEndpoint])


def overlay(
    top: Word, found: list[Group], options: PolicyOptions, loopback: Prefix, *, own_as: int, tunnels: bool
) -> OverlayConfig | None:
    """The overlay; None without sessions of EVPN. ``tunnels``: the device ends tunnels."""
    dscp = top.flag("forwarding-options", "vxlan-tos-copy-filter")
    if not found:
        return None
    exported = _exported(found, options)
    local = next((one.local for group in found for one in group.neighbors if one.local is not None), loopback.address)
    passes = any(one.cluster or one.keeps_next_hop for one in found)
    reflects = exported.adds or (passes and not exported.refuses and not tunnels)
    for one in found:
        one.word.flag("vpn-apply-export")
    source = top.at_path("switch-options", "vtep-source-interface")
    if source is not None:
        source.take_all()
    return OverlayConfig(
        loopback=local,
        neighbors=tuple(
            NumberedSession(
                "", "", one.description, (own_as if group.internal else one.asn) or 0, one.local or local, one.peer
            )
            for group in found
            for one in group.neighbors
        ),
        endpoints=() if reflects else tuple(exported.endpoints) or (TunnelEndpoint(local, None),),
        reflects=reflects,
        from_spine=exported.mark,
        bfd=agreed([one.bfd for one in found], [one.word for one in found]),
        tunnel_dscp=dscp,
    )


def _exported(found: Iterable[Group], options: PolicyOptions) -> Exported:
    result = Exported()
    names = [name for group in found for chain in group.exports for name in chain.split(policies.AND)]
    for name in dict.fromkeys(names):
        word = options.policies.get(name)
        for term in word.take().entries("term") if word is not None else ():
            _of_term(term, options, result)
    return result


def _of_term(term: Word, options: PolicyOptions, result: Exported) -> None:
    """A term is the spines' mark, the leaves' refusal of it, an endpoint of a color, or all the rest that is sent."""
    then, asked = term.at_path("then") or Word(""), term.at_path("from")
    added = then.at_path("community", "add")
    tagged = asked.at_path("community") if asked is not None else None
    hop = then.at_path("next-hop")
    if hop is not None and asked is not None:
        color = term.text.removeprefix("endpoint-")
        ends = [one for one in hop.below.values() if _is_address(one.text)]
        if ends and then.flag("accept"):
            result.endpoints.append(TunnelEndpoint(address(ends[0].take().text), color))
            asked.value("family")
            for one in asked.entries("route-filter"):
                one.flag("exact")
    elif added is not None and added.below and asked is None and then.flag("accept"):
        result.adds = True
        _mark(next(iter(added.below.values())).take(), options, result)
    elif tagged is not None and tagged.below and then.flag("reject"):
        result.refuses = True
        if asked is not None:
            asked.value("protocol")
        _mark(next(iter(tagged.below.values())).take(), options, result)
    elif asked is None and len(then.below) == 1:
        then.flag("accept")


def _mark(name: Word, options: PolicyOptions, result: Exported) -> None:
    word = options.communities.get(name.text)
    found = policies.community(word) if word is not None else []
    result.mark = found[0].value if found else result.mark


def _is_address(text: str) -> bool:
    try:
        address(text)
    except ValueError:
        return False
    return True


def mac_vrf(top: Word, found: Mapping[str, Instance], ports: Iterable[Port]) -> MacVrf | None:
    """The bridging instance: the one of type ``mac-vrf``, or that at the top of the configuration."""
    for one in found.values():
        if one.kind == "mac-vrf":
            word = one.word
            members = tuple(name.removesuffix(".0") for name in one.interfaces)
            _usual(word)
            return _bridging(word, word.text, members, word)
    evpn = top.at_path("protocols", "evpn")
    if evpn is None or top.at_path("switch-options") is None:
        return None
    evpn.take()
    members = tuple(port.name for port in ports for unit in port.units.values() if unit.vlans)
    return _bridging(top, DEFAULT_SWITCH, members, top.block("switch-options"))


def _usual(word: Word) -> None:
    """What the validated designs have in every instance."""
    word.value("description")
    word.value("service-type")


def _bridging(word: Word, name: str, members: tuple[str, ...], options: Word) -> MacVrf:
    evpn = word.block("protocols", "evpn")
    evpn.value("encapsulation")
    evpn.value("default-gateway")
    evpn.value("duplicate-mac-detection", "auto-recovery-time")
    evpn.names("extended-vni-list")
    options.value("vtep-source-interface")
    targets = {one.text: one.value("vrf-target") or "" for one in evpn.block("vni-options").entries("vni")}
    common = next((one.take().text for one in options.block("vrf-target").below.values() if one.text != "auto"), "")
    options.flag("vrf-target", "auto")
    vlans: list[BridgedVlan] = []
    for one in word.block("vlans").below.values():
        vni, number = one.number("vxlan", "vni"), one.number("vlan-id")
        if vni is not None and number is not None:
            one.take()
            vlans.append(BridgedVlan(number, one.text, vni, targets.get(str(vni)) or common))
    return MacVrf(name, options.value("route-distinguisher") or "", common, tuple(vlans), members)
