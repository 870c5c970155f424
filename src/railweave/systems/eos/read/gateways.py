"""VLANs, the interfaces that servers reach their gateway by, and router advertisements."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.device.model import Gateway
from railweave.model.device.timers import RouterAdvertisements
from railweave.systems.eos.read.values import number, numbers, prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from railweave.model.config.select import Selected
    from railweave.model.config.taking import Taking
    from railweave.systems.eos.read.ports import Port
    from railweave.systems.eos.read.stanzas import Stanzas

VLAN = "Vlan"
EOS_RA = RouterAdvertisements(max_interval=200, min_interval=66, hop_limit=64, link_mtu=True)
"""What EOS advertises where nothing is said (EOS user manual, IPv6: 200 s, lifetime 1800 s, hop limit 64; RFC 4861: a third)."""

_TIMERS: dict[str, tuple[str, int]] = {
    "ipv6 nd ra lifetime <value>": ("router_lifetime", 65535),
    "ipv6 nd ra hop-limit <value>": ("hop_limit", 255),
    "ipv6 nd reachable-time <value>": ("reachable_time", 2**32 - 1),
    "ipv6 nd ns-interval <value>": ("retransmit_timer", 2**32 - 1),
}
_FLAGS = {"ipv6 nd managed-config-flag": "managed", "ipv6 nd other-config-flag": "other"}


def vlans(taking: Taking) -> dict[int, str]:
    """The names of VLANs; EOS calls one without a name by its number."""
    found: dict[int, str] = {}
    for one in taking.each("vlan <numbers>"):
        values = numbers(one["numbers"])
        if values is None:
            taking.leave(one)
            continue
        name = taking.last("name <text...>", below=one)
        found |= {value: name["text"] if name else f"VLAN{value:04d}" for value in values}
    return found


def advertisements(stanzas: Stanzas) -> Callable[[Port], RouterAdvertisements | None]:
    """What an interface advertises: nothing without an IPv6 address, or where it is told so."""
    taking = stanzas.taking
    off = stanzas.flag("ipv6 nd ra disabled") | {name: True for name, _ in stanzas.each("ipv6 nd ra disabled all")}
    found: dict[str, RouterAdvertisements] = {}

    def change(name: str, **more: int | bool) -> None:
        found[name] = replace(found.get(name, EOS_RA), **more)

    for form, (field, most) in _TIMERS.items():
        for name, value in stanzas.number(form, 0, most).items():
            change(name, **{field: value})
    for line, field in _FLAGS.items():
        for name, there in stanzas.flag(line).items():
            change(name, **{field: there})
    for name, there in stanzas.flag("ipv6 nd ra mtu suppress").items():
        change(name, link_mtu=not there)
    for name, one in stanzas.each("ipv6 nd ra interval <most> <least>"):
        most, least = number(one["most"]), number(one["least"])
        if most is None or least is None:
            taking.leave(one)
        else:
            change(name, max_interval=most, min_interval=least)
    for name, one in stanzas.each("ipv6 nd prefix <prefix> **"):
        if not (words := _prefix(one)):
            taking.leave(one)
        else:
            change(name, **words)

    def of(port: Port) -> RouterAdvertisements | None:
        if off.get(port.name) or not any(one.family == "ipv6" for one in port.addresses):
            return None
        return found.get(port.name, EOS_RA)

    return of


def _prefix(one: Selected) -> dict[str, int | bool]:
    """Lifetimes and flags of a prefix; none where the words are others."""
    words = one.line.split()[4:]
    flags = {"on_link": "no-onlink" not in words, "autonomous": "no-autoconfig" not in words}
    plain = [word for word in words if word not in {"no-onlink", "no-autoconfig"}]
    plain = ["4294967295" if word == "infinite" else word for word in plain]
    times = [number(word) for word in plain]
    if prefix(one["prefix"]) is None or None in times or len(times) not in {0, 2}:
        return {}
    valid, preferred = times or (EOS_RA.prefix_valid_lifetime, EOS_RA.prefix_preferred_lifetime)
    return {"prefix_valid_lifetime": valid or 0, "prefix_preferred_lifetime": preferred or 0, **flags}


def gateway(
    port: Port, name: str, vlan: int | None, names: Mapping[int, str], sent: RouterAdvertisements | None, mac: str
) -> Gateway:
    """The gateway that an interface is; ``mac`` is that of shared ones."""
    return Gateway(
        name=name,
        vlan=vlan,
        vlan_name="" if vlan is None else names.get(vlan, f"VLAN{vlan:04d}"),
        description=port.description,
        mtu=port.mtu,
        addresses=tuple(port.addresses),
        prefixes=tuple(one.prefix for one in port.addresses),
        advertisements=sent,
        port="" if vlan is not None else port.name,
        vrf=port.vrf,
        proxy_arp=port.proxy_arp,
        mac=mac if port.virtual else "",
    )


def shared_mac(taking: Taking) -> str:
    """The MAC address of shared gateways."""
    found = taking.last("ip virtual-router mac-address <value>")
    return found["value"] if found else ""
