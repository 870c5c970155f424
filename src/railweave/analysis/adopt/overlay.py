"""The overlay of a fabric, its pools and timers, from the tunnels and gateways of its switches."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any

from railweave.analysis.adopt.parts import common, given
from railweave.model.intent.tenants import Overlay

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.analysis.adopt.draft import Draft
    from railweave.analysis.adopt.shape import Shape
    from railweave.model.device.model import DeviceConfig

USUAL = Overlay()


def overlay(draft: Draft, found: Shape, configs: Mapping[str, DeviceConfig]) -> bool:
    """``overlay``: pools and timers. Whether the fabric has one."""
    there = {name: one for name in draft.switches if (one := configs[name].overlay)}
    if not there:
        return False
    part: dict[str, Any] = {}
    families, _ = common([one.loopback.family for one in there.values()])
    if families != USUAL.vtep:
        part["vtep"] = families
    bfds = [one.bfd for one in there.values()]
    bfd, others = common(bfds)
    own = {"enabled": False} if bfd is None else given(bfd, USUAL.bfd)
    if own:
        part["bfd"] = own
    if others:
        draft.note(f"{others} switches have other BFD in the overlay than the rest, whose they get")
    macs = {one.mac for name in found.leaves for one in configs[name].gateways if one.mac}
    if macs and macs != {USUAL.gateway_mac}:
        part["gateway_mac"] = min(macs)
    if len(macs) > 1:
        draft.note("gateways of layer-2 networks have different MAC addresses: all get one")
    targets = [target for name in found.leaves for vrf in configs[name].vrfs for target in vrf.export_targets]
    heads = [int(one.split(":")[1]) for one in targets if one.count(":") == 2 and one.split(":")[1].isdecimal()]
    if heads and common(list(heads))[0] != USUAL.route_target_as:
        part["route_target_as"] = common(list(heads))[0]
    draft.fabric["overlay"] = {**draft.at("overlay"), **part}
    return True


def loopbacks(draft: Draft, configs: Mapping[str, DeviceConfig], local: Sequence[str]) -> None:
    """Pools of IPv6 loopbacks and of the tunnel endpoints of path colors; they follow from the slots of router ids."""
    slots = draft.slots("router-ids")
    part = draft.at("overlay")
    starts: list[int] = []
    ends: list[tuple[int, str]] = []
    for name in draft.switches:
        one = configs[name].overlay
        if one is None or name not in slots:
            continue
        if one.loopback.family == "ipv6":
            starts.append(int(ipaddress.ip_address(str(one.loopback))) - slots[name])
        colored = [end for end in one.endpoints if end.address != one.loopback]
        if len(one.endpoints) == 1 and colored and colored[0].color is None:
            draft.note(
                "tunnels end on an address of their own on each leaf: in a design they end on the loopback", "overlay"
            )
            continue
        for at, end in enumerate(colored, 1):
            start = int(ipaddress.ip_address(str(end.address))) - (slots[name] - 1) * 64 - at
            ends.append((start, end.address.family))
    if starts:
        start, wrong = common(list(starts))
        pool = _pool(start, "ipv6", local)
        if pool != USUAL.loopbacks:
            part["loopbacks"] = pool
        if wrong:
            draft.note(f"{wrong} IPv6 loopbacks are not numbered as router ids are: they get other ones")
    if ends:
        (start, family), wrong = common(list(ends))
        pool = _pool(start, family, local)
        if pool != USUAL.model_copy(update={"vtep": family}).endpoint_pool():
            part["color_endpoints"] = pool
        if wrong:
            draft.note(f"{wrong} tunnel endpoints are not numbered as router ids are: they get other ones")


def _pool(start: int, family: str, local: Sequence[str]) -> str:
    """The pool that begins at an address: one that is let through, else one of usual length."""
    address = ipaddress.IPv4Address(start) if family == "ipv4" else ipaddress.IPv6Address(start)
    for text in local:
        net = ipaddress.ip_network(text)
        if net.network_address == address:
            return text
    length = 16 if family == "ipv4" else 64
    while start % (1 << (address.max_prefixlen - length)):
        length += 1
    return f"{address}/{length}"
