"""Rules that a name must be defined if it is used, which the models do not check, and rules about MAC-VRFs and system services."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.model.findings.registry import check
from railweave.systems.junos.lint.cos import COS
from railweave.systems.junos.lint.words import Words, vlans
from railweave.systems.junos.names import BUILT_IN_CLASSES, MANAGEMENT_INSTANCE

if TYPE_CHECKING:
    from collections.abc import Iterator


@check(
    "junos-vni-twice",
    why="packets of one VXLAN network would enter a different one",
    fix="give each VLAN and each VRF a different VNI",
)
def vni_twice(root: Words) -> Iterator[str]:
    """A VNI represents one VLAN or one VRF of a switch (RFC 7348, section 4)."""
    used = [(vlan.value("vxlan", "vni"), f"vlan {name}") for name, vlan in vlans(root)]
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
    why="commit rejects a port whose VLAN belongs to a different instance, or the port's frames are lost",
    fix="list the port in the instance that has its VLAN",
)
def mac_vrf_port(root: Words) -> Iterator[str]:
    """A port of a MAC-VRF is a member of the instance's VLANs, and every port in these VLANs is listed in the instance."""
    for name, instance in root.at("routing-instances").below.items():
        if instance.value("instance-type") != "mac-vrf":
            continue
        vlan_names, listed = set(instance.names("vlans")), set(instance.names("interface"))
        for (port, _, unit, *_, vlan), _ in root.at("interfaces").every(
            "*", "unit", "*", "family", "ethernet-switching", "vlan", "members", "*"
        ):
            here = f"{port}.{unit}"
            if (here in listed) != (vlan in vlan_names):
                where = "is listed" if here in listed else "is not listed"
                yield f"{here} is on vlan {vlan} and {where} in routing instance {name}"


@check(
    "junos-mac-vrf-gateway",
    why="servers of the VLAN would keep a different leaf's gateway address, and lose their gateway if that leaf fails",
    fix="set `mac` on the gateway's unit, with the same value on every leaf",
)
def mac_vrf_gateway(root: Words) -> Iterator[str]:
    """The gateway of a VLAN that VXLAN extends has its own MAC address, or a virtual gateway address."""
    for name, vlan in vlans(root):
        gateway = vlan.value("l3-interface")
        if gateway is None or not vlan.has("vxlan"):
            continue
        interface, _, unit = gateway.rpartition(".")
        at = root.at("interfaces", interface, "unit", unit)
        virtual = any(True for _ in at.every("family", "*", "address", "*", "virtual-gateway-address"))
        if not at.has("mac") and not virtual:
            yield f"{gateway} of vlan {name} has no mac"


@check("junos-lldp", why="commit rejects these together", fix="keep one of them")
def lldp(root: Words) -> Iterator[str]:
    """LLDP has either a management address or a management interface, and either a TLV selection or a TLV filter.

    Source: ``junos:must`` of protocols/lldp.
    """
    for first, second in (("management-interface", "management-address"), ("tlv-select", "tlv-filter")):
        if root.has("protocols", "lldp", first) and root.has("protocols", "lldp", second):
            yield f"lldp has {first} and {second}"


@check(
    "junos-snmp-instance",
    why="without it, commit rejects a community's routing instance, and the switch would not answer SNMP there",
    fix="add `snmp routing-instance-access`",
)
def snmp_instance(root: Words) -> Iterator[str]:
    """An SNMP community has a routing instance only with ``snmp routing-instance-access``.

    Source: ``junos:must`` of snmp/community/routing-instance.
    """
    if root.has("snmp", "routing-instance-access"):
        return
    for (name, *_), _ in root.at("snmp", "community").every("*", "routing-instance"):
        yield f"snmp community {name} has a routing-instance"


@check(
    "junos-netconf",
    why="commit rejects it: flatten-commit-results works only in RFC-compliant sessions",
    fix="add `rfc-compliant`, or remove flatten-commit-results",
)
def netconf(root: Words) -> Iterator[str]:
    """NETCONF has ``flatten-commit-results`` only with ``rfc-compliant``.

    Source: ``junos:must`` of system/services/netconf/flatten-commit-results.
    """
    services = root.at("system", "services", "netconf")
    if services.has("flatten-commit-results") and not services.has("rfc-compliant"):
        yield "netconf has flatten-commit-results without rfc-compliant"


_EXPRESSION = frozenset({"(", ")", "&&", "||", "!"})
_VLAN_NUMBERS = re.compile(r"all|\d+(-\d+)?")


@dataclass(frozen=True)
class Reference:
    """A kind of name. ``defined`` are the patterns of paths that define such a name, and ``used`` the patterns of paths that use such a name.

    A path is a list of words such as ``vlans *``; its last word is the name. ``built_in`` are names that need no definition.
    """

    kind: str
    defined: tuple[str, ...]
    used: tuple[str, ...]
    built_in: frozenset[str] = frozenset()


REFERENCES = (
    Reference("drop profile", (f"{COS} drop-profiles *",), (f"{COS} schedulers * drop-profile-map ** drop-profile *",)),
    Reference("scheduler", (f"{COS} schedulers *",), (f"{COS} scheduler-maps * forwarding-class * scheduler *",)),
    Reference(
        "scheduler map",
        (f"{COS} scheduler-maps *",),
        (f"{COS} interfaces * scheduler-map *", f"{COS} interfaces * unit * scheduler-map *"),
    ),
    Reference(
        "forwarding class",
        (f"{COS} forwarding-classes class *", f"{COS} forwarding-classes queue * *"),
        (
            f"{COS} classifiers * * forwarding-class *",
            f"{COS} rewrite-rules * * forwarding-class *",
            f"{COS} scheduler-maps * forwarding-class *",
            f"{COS} interfaces * forwarding-class *",
            f"{COS} interfaces * unit * forwarding-class *",
            "firewall ** then forwarding-class *",
        ),
        frozenset(BUILT_IN_CLASSES),
    ),
    Reference(
        "congestion-notification-profile",
        (f"{COS} congestion-notification-profile *",),
        (f"{COS} interfaces * congestion-notification-profile *",),
    ),
    Reference(
        "policy",
        ("policy-options policy-statement *",),
        (
            "protocols ** import *",
            "protocols ** export *",
            "routing-instances ** import *",
            "routing-instances ** export *",
            "routing-options forwarding-table export *",
            "policy-options policy-statement ** from policy *",
        ),
        _EXPRESSION,
    ),
    Reference(
        "prefix list",
        ("policy-options prefix-list *",),
        (
            "policy-options policy-statement ** from prefix-list *",
            "policy-options policy-statement ** from prefix-list-filter *",
            "firewall ** from prefix-list *",
            "firewall ** from source-prefix-list *",
            "firewall ** from destination-prefix-list *",
        ),
    ),
    Reference("policer", ("firewall policer *",), ("firewall ** then policer *",)),
    Reference(
        "firewall filter",
        ("firewall family * filter *",),
        ("interfaces ** filter input *", "interfaces ** filter output *"),
    ),
    Reference(
        "community",
        ("policy-options community *",),
        (
            "policy-options policy-statement ** from community *",
            "policy-options policy-statement ** then community add *",
            "policy-options policy-statement ** then community set *",
            "policy-options policy-statement ** then community delete *",
            "protocols bgp ** fabric-color *",
            "protocols bgp fabric-advertise route * color *",
            "protocols bgp fabric-advertise route * backup-color *",
        ),
    ),
    Reference("AS list", ("policy-options as-list *",), ("protocols bgp ** peer-as-list *",)),
    Reference("AS path", ("policy-options as-path *",), ("policy-options policy-statement ** from as-path *",)),
    Reference("certificate", ("security certificates local *",), ("system services ** local-certificate *",)),
    Reference("group", ("groups *",), ("** apply-groups *",)),
)


def _names(root: Words, patterns: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield (name, words before it) for every path that matches one of the patterns. The name is the last word of the path."""
    for pattern in patterns:
        for path, _ in root.every(*pattern.split()):
            yield path[-1], " ".join(path[:-1])


@check(
    "junos-undefined-reference",
    why="commit rejects it, or the statement has no effect",
    fix="define the name, or correct it",
)
def undefined_reference(root: Words) -> Iterator[str]:
    """Every scheduler, class, profile, policy, filter, list, community or group that is used is also defined.

    ``REFERENCES`` lists the kinds. The classes best-effort and network-control are built in.
    """
    for reference in REFERENCES:
        defined = {name for name, _ in _names(root, reference.defined)} | reference.built_in
        for name, where in _names(root, reference.used):
            if name not in defined and " vrf-target " not in where:  # communities, not policies
                yield f"{reference.kind} {name!r} is not defined (used in {where})"


@check(
    "junos-undefined-instance",
    why="commit rejects it: the referenced routing instance must be defined",
    fix="define it under routing-instances (mgmt_junos too), or correct the name",
)
def undefined_instance(root: Words) -> Iterator[str]:
    """The routing instance that NTP, syslog, gRPC or SNMP uses is defined.

    Source: ``junos:must`` of each statement. For gRPC, ``management-instance`` is enough to define mgmt_junos.
    """
    for name, where in _names(root, ("system ** routing-instance *", "snmp ** routing-instance *")):
        implied = name == MANAGEMENT_INSTANCE and "grpc" in where.split() and root.has("system", "management-instance")
        if not (implied or root.has("routing-instances", name)):
            yield f"routing instance {name!r} is not defined (used in {where})"


@check(
    "junos-undefined-classifier",
    why="commit rejects it, or traffic is put into the default class",
    fix="define a classifier of this name and kind, or correct the name",
)
def undefined_classifier(root: Words) -> Iterator[str]:
    """A classifier or rewrite rule that is used is defined as the same kind (``dscp``, ``dscp-ipv6`` …)."""
    for word in ("classifiers", "rewrite-rules"):
        for at in (("interfaces", "*", word), ("interfaces", "*", "unit", "*", word)):
            for (*above, _, kind, name), _ in root.at(COS).every(*at, "*", "*"):
                if name != "default" and not root.has(COS, word, kind, name):
                    yield f"{word} {kind} {name!r} is not defined (used on {' '.join(above[1:])})"


@check(
    "junos-undefined-vlan", why="the port would be in no VLAN", fix="define the VLAN under vlans, or correct the name"
)
def undefined_vlan(root: Words) -> Iterator[str]:
    """A VLAN that a port refers to by name is defined, inside or outside a routing instance. Numbers are not checked."""
    known = {name for name, _ in vlans(root)}
    for (port, *_, name), _ in root.at("interfaces").every(
        "*", "unit", "*", "family", "ethernet-switching", "vlan", "members", "*"
    ):
        if not (name in known or _VLAN_NUMBERS.fullmatch(name)):
            yield f"vlan {name!r} is not defined (used on {port})"


@check(
    "junos-undefined-interface",
    why="the statement would apply to nothing",
    fix="define the interface and its unit under interfaces, or correct the name",
)
def undefined_interface(root: Words) -> Iterator[str]:
    """The interfaces that protocols, instances and class of service use exist. Names with a wildcard are not checked."""
    patterns = (
        "protocols router-advertisement interface *",
        "protocols bgp group * dynamic-neighbor * peer-auto-discovery interface *",
        "routing-instances * interface *",
    )
    for interface, where in _names(root, patterns):
        name, _, unit = interface.rpartition(".")
        if interface != "all" and not root.has("interfaces", name, "unit", unit):
            yield f"interface {interface} is not defined (used in {where})"
    for name in root.names(COS, "interfaces"):
        if "*" not in name and name not in {"all", *root.names("interfaces")}:
            yield f"interface {name} is not defined (used in {COS} interfaces)"
