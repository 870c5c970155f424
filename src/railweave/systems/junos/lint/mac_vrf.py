"""Bridging instances: what their ports, VLANs and VNIs must agree on, which the models do not check."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.findings.registry import check
from railweave.systems.junos.lint.words import vlans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.systems.junos.lint.words import Words


@check(
    "junos-vni-twice",
    "error",
    applies="junos",
    why="packets of one VXLAN network would enter another",
    fix="give each VLAN and each VRF a VNI of its own",
)
def vni_twice(root: Words) -> Iterator[str]:
    """A VNI stands for one VLAN or one VRF of a switch (RFC 7348, section 4)."""
    used = [(one.value("vxlan", "vni"), f"vlan {name}") for name, one in vlans(root)]
    used += [
        (number, f"routing instance {name}")
        for (name, *_, number), _ in root.at("routing-instances").every(
            "*", "protocols", "evpn", "ip-prefix-routes", "vni", "*"
        )
    ]
    owners: dict[str, str] = {}
    for number, user in used:
        if number is not None and owners.setdefault(number, user) != user:
            yield f"{owners[number]} and {user} both have VNI {number}"


@check(
    "junos-mac-vrf-port",
    "error",
    applies="junos",
    why="commit refuses a port whose VLAN is of another instance, or its frames go nowhere",
    fix="list the port in the instance that has its VLAN",
)
def mac_vrf_port(root: Words) -> Iterator[str]:
    """A port of a MAC-VRF is on that instance's VLANs, and a port on such a VLAN is listed there."""
    for name, one in root.at("routing-instances").below.items():
        if one.value("instance-type") != "mac-vrf":
            continue
        own, listed = set(one.names("vlans")), set(one.names("interface"))
        for (port, _, unit, *_, vlan), _ in root.at("interfaces").every(
            "*", "unit", "*", "family", "ethernet-switching", "vlan", "members", "*"
        ):
            here = f"{port}.{unit}"
            if (here in listed) != (vlan in own):
                where = "is listed" if here in listed else "is not listed"
                yield f"{here} is on vlan {vlan} and {where} in routing instance {name}"


@check(
    "junos-mac-vrf-gateway",
    "error",
    applies="junos",
    why="servers of the VLAN would keep another leaf's gateway address, and lose it with that leaf",
    fix="give the gateway's unit `mac`, the same on every leaf",
)
def mac_vrf_gateway(root: Words) -> Iterator[str]:
    """The gateway of a VLAN that is stretched by VXLAN has a MAC address of its own, or a virtual gateway address."""
    for name, one in vlans(root):
        gateway = one.value("l3-interface")
        if gateway is None or not one.has("vxlan"):
            continue
        interface, _, unit = gateway.rpartition(".")
        at = root.at("interfaces", interface, "unit", unit)
        virtual = any(True for _ in at.every("family", "*", "address", "*", "virtual-gateway-address"))
        if not at.has("mac") and not virtual:
            yield f"{gateway} of vlan {name} has no mac"
