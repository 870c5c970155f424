"""Derivation of ports, breakouts, addresses, VLANs with gateways, VRFs and the VXLAN tunnel from tables."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from railweave.model.catalog import catalog
from railweave.model.config.quantities import ETHERNET_HEADER
from railweave.model.config.secret_words import reference
from railweave.model.device.model import Interface, Macsec, Split
from railweave.model.device.port_model import Fec, far_end, neighbor_of, router_of
from railweave.systems.frr.read.text import interface_address, number
from railweave.systems.frr.statements.ports import Port

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from railweave.model.catalog.hardware import SwitchModel
    from railweave.systems.sonic.meaning.vlans import Membership
    from railweave.systems.sonic.read.rows import Row, Rows


Cipher = Literal["gcm-aes-128", "gcm-aes-256", "gcm-aes-xpn-128", "gcm-aes-xpn-256"]

ADDRESSED = ("LOOPBACK_INTERFACE", "INTERFACE", "VLAN_INTERFACE", "PORTCHANNEL_INTERFACE", "VLAN_SUB_INTERFACE")
"""The tables of interfaces that have addresses."""

MTU = 9100
"""The MTU in bytes of a port whose row has no MTU (sonic-buildimage, sonic-port.yang)."""

_MODE = re.compile(r"(\d{1,2})x(\d{1,4})G(?:\[[^\]]*\])?(?:\(\d+\))?")
_FECS: Mapping[str, Fec] = {"": "", "rs": "", "none": "none", "fc": "fc"}
_CIPHERS: tuple[Cipher, ...] = ("gcm-aes-128", "gcm-aes-256", "gcm-aes-xpn-128", "gcm-aes-xpn-256")


def model_of(sku: str) -> str:
    """Return the switch model of a hardware SKU; empty if the catalog has no model for the SKU, or several."""
    names = [name for name, switch in catalog().switches.items() if switch.sonic and switch.sonic.hwsku == sku]
    return names[0] if len(names) == 1 else ""


def addressed(tables: Rows, known: dict[str, Port]) -> None:
    """Add the addresses and VRFs that the tables give to interfaces. ``known`` has the interfaces by name, and is extended."""
    for table in ADDRESSED:
        for row in tables.rows(table):
            name, bar, text = row.key.partition("|")
            port = known.setdefault(name, Port(name))
            if bar:
                subnet = interface_address(text)
                row.known = subnet is not None
                if subnet is not None:
                    known[name] = replace(port, assigned=(*port.assigned, subnet))
            elif "vrf_name" in row.fields:
                known[name] = replace(port, vrf=row.text("vrf_name"))


def splits(tables: Rows, model: SwitchModel | None) -> tuple[Split, ...]:
    """Return the breakouts: ports that are split, and whole ports that run below their highest speed."""
    split_ports: list[Split] = []
    first = model.ports[0].first if model else 0
    for place, row in enumerate(tables.rows("BREAKOUT_CFG")):
        mode = _MODE.fullmatch(row.text("brkout_mode"))
        if mode is None:
            row.mark_unknown("brkout_mode")
            continue
        index = tables.row("PORT", row.key).number("index")
        physical = (index - 1 if index else place) + first
        group = model.group_of(physical) if model else None
        channels, speed = int(mode[1]), int(mode[2])
        if channels > 1 or (group is not None and group.speed_gbps != speed):
            split_ports.append(Split(row.key, physical, channels, speed))
    return tuple(sorted(split_ports, key=lambda port: port.physical))


@dataclass(frozen=True)
class Uses:
    """The uses of ports that are known from other settings, and the VLANs of each port.

    - ``fabric``: the ports to other switches.
    - ``routed``: the ports that are gateways for servers themselves.
    - ``vlans``: the VLANs of each port.
    """

    fabric: Collection[str]
    outside: Mapping[str, list[tuple[str, int | None]]]
    """By port to an external router: a list of (routed interface, VLAN tag or None)."""
    routed: Collection[str]
    vlans: Mapping[str, Membership]
    paused: Collection[str]
    """The ports with PFC. If it is empty, no port has PFC."""


def used(row: Row, uses: Uses) -> bool:
    """Return True if a port is cabled: it has a description, is up, or is in use."""
    described, up = bool(row.text("description")), row.text("admin_status")
    if up not in {"up", "down", ""}:
        row.mark_unknown("admin_status")
    if row.key in uses.fabric or row.key in uses.outside or row.key in uses.routed or row.key in uses.vlans:
        return True
    return described or up == "up"


def interfaces(tables: Rows, ports: Mapping[str, Port], uses: Uses) -> Iterator[Interface]:
    """Yield the cabled ports with their settings. ``ports`` has the addresses of interfaces, ``uses`` the purposes of ports."""
    lengths = _lengths(tables)
    for row in tables.rows("PORT"):
        if used(row, uses):
            for part in uses.outside.get(row.key, [(row.key, None)]):
                yield _interface(tables, row, ports, uses, lengths, part)
        else:
            for name in ("lanes", "speed", "mtu"):
                row.text(name)
            _fec(row)


def _interface(
    tables: Rows,
    row: Row,
    ports: Mapping[str, Port],
    uses: Uses,
    lengths: Mapping[str, int],
    part: tuple[str, int | None],
) -> Interface:
    name = row.key
    routed, tag = part
    kind: Literal["server", "fabric", "external"] = (
        "external" if name in uses.outside else "fabric" if name in uses.fabric else "server"
    )
    port = ports.get(routed)
    about = row.text("description") or (port.description if port else "")
    outside = kind == "external"
    peer, far = (router_of(about), "") if outside else far_end(about)
    neighbor = tables.row("DEVICE_NEIGHBOR", name)
    if neighbor.line:
        peer = neighbor_of(neighbor.text("name"))
        far = neighbor.text("port") if peer and not outside else ""
        if not peer:
            neighbor.mark_unknown("name")
    speed = row.number("speed") or 0
    if speed % 1000:
        row.mark_unknown("speed")
    mtu = row.number("mtu")
    member = uses.vlans.get(name)
    return Interface(
        name=name,
        link="",
        kind=kind,
        description=about,
        peer=peer,
        peer_port=far,
        speed_gbps=speed // 1000,
        lanes=len(row.words("lanes")),
        mtu=(mtu if mtu is not None else MTU) + ETHERNET_HEADER,
        length_m=lengths.get(name, 0),
        vlan=member.vlan if member else None,
        addresses=port.addresses if port and kind != "server" else (),
        macsec=_macsec(tables, row),
        pauses=name in uses.paused if uses.paused else not outside,
        vrf=port.vrf if port and outside else "",
        unit_vlan=tag,
        enabled=row.text("admin_status") == "up"
        and not (port is not None and port.shut)
        and tables.row("VLAN_SUB_INTERFACE", routed).text("admin_status") != "down",
        tagged=member.tagged if member else (),
        fec=_fec(row),
    )


def _fec(row: Row) -> Fec:
    """Return the forward error correction of a port. If the row does not set it, the platform of the switch decides."""
    fec = _FECS.get(row.text("fec"))
    if fec is None:
        row.mark_unknown("fec")
    return fec or ""


def _lengths(tables: Rows) -> dict[str, int]:
    """Return the cable lengths by port, in metres."""
    lengths: dict[str, int] = {}
    for row in tables.rows("CABLE_LENGTH"):
        for name in row.fields:
            length = number(row.text(name).removesuffix("m"))
            if length is None:
                row.mark_unknown(name)
            else:
                lengths[name] = length
    return lengths


def _macsec(tables: Rows, row: Row) -> Macsec | None:
    """Return the MACsec settings of a port, or None if the port does not use MACsec.

    SONiC pads the key's name with zeros, which are removed.
    """
    if not row.text("macsec"):
        return None
    profile = tables.row("MACSEC_PROFILE", row.text("macsec"))
    name = profile.text("primary_ckn")
    while name.endswith("00"):
        name = name[:-2]
    suite = profile.text("cipher_suite").casefold()
    profile.field_is("policy", "security")
    cipher: Cipher | None = next((known for known in _CIPHERS if known == suite), None)
    if cipher is None:
        profile.mark_unknown("cipher_suite")
    return Macsec(name, reference(profile.text("primary_cak")), cipher or "gcm-aes-128")


def port_number(name: str) -> int:
    """Return the number in a port's name, or 0 if the name has no number."""
    return number(name.removeprefix("Ethernet")) or 0
