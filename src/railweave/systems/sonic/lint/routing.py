"""Rules about settings that must be the same in ``frr.conf`` and ``config_db.json``."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network, ip_address, ip_interface
from typing import TYPE_CHECKING

from railweave.model.findings.registry import check
from railweave.systems.sonic.lint.files import Files, text

if TYPE_CHECKING:
    from collections.abc import Iterator


ROUTED = ("INTERFACE", "VLAN_INTERFACE", "VLAN_SUB_INTERFACE", "LOOPBACK_INTERFACE")
"""The tables of interfaces that have addresses."""


@check(
    "sonic-routing-mode",
    why="SONiC then replaces frr.conf by routing configuration from its own templates, or does not read frr.conf",
    fix="set docker_routing_config_mode to split-unified",
)
def mode(files: Files) -> Iterator[str]:
    """The routing mode is split-unified, in which FRR reads frr.conf unchanged (docker_init.sh of docker-fpm-frr)."""
    configured = text(files.tables.get("DEVICE_METADATA", {}).get("localhost", {}), "docker_routing_config_mode")
    if configured != "split-unified":
        yield f"DEVICE_METADATA|localhost: docker_routing_config_mode is {configured or 'not given'}"


@check(
    "sonic-frr-interface",
    why="FRR waits for an interface that does not exist, or that lacks the address of the session",
    fix="use in frr.conf only ports and VLANs that are routed in config_db.json",
)
def interfaces(files: Files) -> Iterator[str]:
    """The interfaces in frr.conf are routed in config_db.json, and interfaces of unnumbered sessions have IPv6 addresses."""
    routed = {name for table in ROUTED for name in files.names(table)}
    local = {parts[0] for parts, row in files.rows("INTERFACE") if text(row, "ipv6_use_link_local_only") == "enable"}
    addressed = {parts[0] for parts, _ in files.rows("INTERFACE") if len(parts) > 1 and ":" in parts[1]}
    for section in files.routing:
        words = section.line.split()
        if words[0] == "interface" and (name := _named(words)) not in routed:
            yield f"interface {name} of frr.conf is not routed"
        if words[:2] != ["router", "bgp"]:
            continue
        networks = _networks(files, words[4] if words[3:4] == ["vrf"] else "")
        for line in section.body or ():
            inner = line.line.split()
            if inner[0] == "neighbor" and inner[2:3] == ["interface"] and inner[1] not in local | addressed:
                yield f"neighbor {inner[1]} of frr.conf has no IPv6 address"
            elif len(words) > 3 and inner[2:3] == ["remote-as"] and not _on_a_link(inner[1], networks):
                yield f"{section.line}: neighbor {inner[1]} is on no interface of the VRF"


def _named(words: list[str]) -> str:
    """Return the second word of a section's header, which is a name; empty if the header has no second word."""
    return words[1] if len(words) > 1 else ""


def _networks(files: Files, vrf: str) -> list[IPv4Network | IPv6Network]:
    """Return the prefixes of a VRF's interfaces, which ``config_db.json`` contains."""
    return [
        network
        for table in ROUTED
        for parts, _ in files.rows(table)
        if len(parts) > 1 and text(files.tables[table].get(parts[0], {}), "vrf_name") == vrf
        for network in _network(parts[1])
    ]


def _network(address: str) -> list[IPv4Network | IPv6Network]:
    """Return a list with the prefix of an interface address; empty if the text is not an address."""
    try:
        return [ip_interface(address).network]
    except ValueError:
        return []


def _on_a_link(word: str, networks: list[IPv4Network | IPv6Network]) -> bool:
    """Return True if a neighbor's address is in one of the prefixes, or if ``word`` is not an address but the name of a peer group."""
    try:
        address = ip_address(word)
    except ValueError:
        return True
    return any(address in network for network in networks)


@check(
    "sonic-vrf",
    why="FRR does not create VRFs: routes of a VRF that SONiC does not have are lost",
    fix="add the VRF to table VRF, with the same VNI",
)
def vrfs(files: Files) -> Iterator[str]:
    """The VRFs in frr.conf are in config_db.json with the same VNIs, and interfaces have the same VRF in both files."""
    rows = {key: row for table in ROUTED for key, row in files.tables.get(table, {}).items()}
    known = {parts[0]: text(row, "vni") for parts, row in files.rows("VRF")}
    for section in files.routing:
        words = section.line.split()
        name = _named(words)
        if words[0] == "interface":
            there, here = words[3] if len(words) > 3 else "", text(rows.get(name, {}), "vrf_name")
            if there != here:
                yield f"interface {name}: VRF {there or 'default'} in frr.conf, {here or 'default'} in config_db.json"
        if words[0] == "vrf" and name not in known:
            yield f"vrf {name} of frr.conf is not in VRF"
        elif words[0] == "vrf":
            vni = next((_named(line.line.split()) for line in section.body or () if line.line.startswith("vni ")), "")
            if vni != known[name]:
                yield f"vrf {name}: VNI {vni} in frr.conf, {known[name] or 'none'} in VRF"
