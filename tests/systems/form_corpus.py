"""Statements of each operating system, to hold the rows of ``forms.yaml`` against: examples, and what no example has."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from railweave.model.config.addresses import Address, InterfaceAddress, Prefix
from railweave.model.device.balancing import Reassignment
from railweave.model.device.build import device_config
from railweave.model.device.management import Services, Syslog, User
from railweave.model.device.model import Action, DeviceConfig
from railweave.model.device.overlay import in_form, standard
from railweave.model.network.model import Network
from railweave.systems import system
from railweave.systems.forms import forms_of
from tests.access import RADIUS, TACACS, protected
from tests.conftest import SMALL, example
from tests.dual_stack import FABRICS, dual
from tests.external_port import shared_port
from tests.mutants import network_of
from tests.outputs.rendering.eos import networks as aristas
from tests.retarget import LONG_HAUL, ON_DELL, retargeted
from tests.systems.there_and_back import one_of_each_role

if TYPE_CHECKING:
    from collections.abc import Iterator

CHANGED = ("h100-rlb", "evpn-server-isolation", "mi300x-leaf-24", "aidc-three-fabrics")
"""Networks whose first leaf is also taken with what no network has: path colors, tenants, VLANs, routers outside."""
ALGORITHMS = ("md5", "ao-aes-128-cmac", "ao-hmac-sha-1")


def examples(nos: str) -> Iterator[Network]:
    """The examples that a system is not refused for, on it."""
    for name in ON_DELL if nos == "dell_sonic" else SMALL:
        if nos in {"junos", "frr"}:
            yield example(name)
        else:
            yield aristas.network(name) if nos == "eos" and name == LONG_HAUL else retargeted(name, nos)


def more(nos: str) -> Iterator[Network]:
    """Protected control planes, two address families, VLANs on ports to routers outside."""
    for name in ("h100-rlb", "evpn-functional", "mi300x-leaf-24"):
        yield network_of(f"+{name}", nos)
    for name in FABRICS:
        yield dual(name, nos)
    yield shared_port(nos)
    if nos == "frr":
        network = example("h100-rlb")
        yield replace(network, fabrics=tuple(replace(one, emulation="aigp") for one in network.fabrics))


@cache
def configs(nos: str) -> tuple[DeviceConfig, ...]:
    """A switch of each role of every network; and leaves of some with what no network has."""
    networks = [*examples(nos), *more(nos)]
    plain = [device_config(network, name, nos) for network in networks for name in one_of_each_role(network)]
    leaves = {config.name: config for network in networks if network.name in CHANGED for config in _leaf(network, nos)}
    changed = [one for config in leaves.values() for one in _changed(config)]
    spine = next(one for one in plain if one.role == "spine")
    changed += [replace(spine, balancing=replace(spine.balancing, group_mode="dlb-flowlet", selective=(10, 11)))]
    if nos == "sonic":  # tables and fields that came after the default release
        changed += [replace(one, release="202612") for one in (*plain, *changed)]
    keyed = [
        replace(one, isis=replace(one.isis, key="secret:isis", families=("ipv4", "ipv6"))) for one in plain if one.isis
    ]
    return (*plain, *changed, *keyed)


def _leaf(network: Network, nos: str) -> list[DeviceConfig]:
    return [device_config(network, next(one.name for one in network.switches if one.role == "leaf"), nos)]


@cache
def lines(nos: str) -> tuple[list[str], ...]:
    """The statements of each configuration, with the headers above them."""
    return tuple(system(nos).lines(one) for one in configs(nos))


@cache
def statements(nos: str) -> tuple[str, ...]:
    """Every statement with the headers above it, once."""
    return tuple(dict.fromkeys(line for some in lines(nos) for line in some))


def _changed(config: DeviceConfig) -> Iterator[DeviceConfig]:
    """The configuration with fields that no example sets, each where it means something."""
    yield from (protected(config, algorithm) for algorithm in ALGORITHMS)
    yield from _managed(config)
    yield from _advertised(config)
    yield from _balanced(config)
    yield from _policed(config)
    yield _shut_and_tagged(config)


def _managed(config: DeviceConfig) -> Iterator[DeviceConfig]:
    wide = protected(config)
    own = wide.management
    snmp, security = own.snmp, own.security
    assert snmp
    assert security
    assert security.aaa
    users = {
        role: User(role, None if role == "operator" else "secret:hash", ("ssh-ed25519 AAAA a", "ssh-rsa BBBB b"))
        for role in ("super-user", "operator", "read-only")
    }
    severities = ("emergency", "alert", "critical", "error", "warning", "notice", "info", "any")
    own = replace(
        own,
        domain="gpu.example.net",
        dns=("172.20.0.2", "fd00::2"),
        ntp=("172.20.0.3", "ntp.example.net"),
        time_zone="Europe/Berlin",
        users=users,
        root_password="secret:root",  # noqa: S106 - a reference
        banner="Authorized use only.\nAll is logged.",
        lldp_interval=10,
        lldp_hold=3,
        snmp=replace(snmp, contact="noc", location="hall 1", trap_targets=("172.20.0.9",)),
        services=Services(netconf_rfc_compliant=True, grpc_certificate="secret:pem", eapi=True),
    )
    for severity in severities:
        yield replace(wide, management=replace(own, syslog=(Syslog("172.20.0.4", severity=severity),)))
    snmp = own.snmp
    assert snmp
    ported = replace(
        security.aaa, tacacs=(replace(TACACS, port=4949),), radius=(replace(RADIUS, port=1645),), role="super-user"
    )
    bare = replace(
        own,
        lldp=False,
        snmp=replace(snmp, community=None, clients=()),
        services=Services(netconf=False),
        security=replace(security, aaa=ported),
    )
    yield replace(
        wide,
        management=bare,
        management_address=InterfaceAddress("fd00:20::10/64"),
        management_gateway=Address("fd00:20::1"),
    )
    yield replace(wide, management=replace(own, security=replace(security, aaa=replace(ported, radius=())), snmp=None))
    clients = replace(snmp, clients=(Prefix("172.20.0.0/24"), Prefix("fd00::/64")), users={})
    yield replace(wide, management=replace(own, security=None, snmp=clients))


def _advertised(config: DeviceConfig) -> Iterator[DeviceConfig]:
    for fields in (
        {"managed": True, "other": True, "reachable_time": 30_000, "retransmit_timer": 1000, "link_mtu": True},
        {"on_link": False},
        {"autonomous": False},
        {"on_link": False, "autonomous": False},
        {"routes": (Prefix("fc00::/16"),), "route_preference": "high"},
    ):
        gateways = tuple(
            replace(one, advertisements=one.advertisements and replace(one.advertisements, **fields))
            for one in config.gateways
        )
        yield replace(config, gateways=gateways)
    yield replace(config, gateways=tuple(replace(one, proxy_arp=True) for one in config.gateways))


def _balanced(config: DeviceConfig) -> Iterator[DeviceConfig]:
    own, qos = config.balancing, config.qos
    for mode in ("ecmp", "dlb-flowlet", "dlb-per-packet", "spray"):
        yield replace(config, balancing=replace(own, group_mode=mode))
    yield replace(config, balancing=replace(own, hash=replace(own.hash, seed=7), fast_reroute=False))
    reassigned = replace(own.dlb, reassignment=Reassignment(), flowset_table_size=2048)
    yield replace(config, balancing=replace(own, group_mode="dlb-flowlet", dlb=reassigned))
    servers = tuple(one.name for one in config.interfaces if one.kind == "server")
    fabric = tuple(one.name for one in config.fabric_interfaces())
    for role in ("helper-only", "load-balancer-only"):
        yield replace(
            config,
            balancing=replace(
                own, group_mode="dlb-flowlet", selective=(10, 11), filtered_ports=servers, global_role=role
            ),
        )
    for opcodes in ((), (10, 11)):
        sprayed = replace(own, group_mode="spray", random=True, opcodes=opcodes, filtered_ports=fabric)
        yield replace(config, balancing=sprayed)
    if qos is None:
        return
    for watchdog in (None, qos.watchdog and replace(qos.watchdog, action="forward")):
        yield replace(config, qos=replace(qos, watchdog=watchdog, buffer_monitor=True))
    lossy = {
        name: replace(one, lossless=False, pfc_priority=None, transmit_percent=None)
        for name, one in qos.classes.items()
    }
    yield replace(config, qos=replace(qos, classes=lossy, watchdog=None, marking={}))


def _policed(config: DeviceConfig) -> Iterator[DeviceConfig]:
    bgp = config.bgp
    if bgp is None:
        return
    prepended = Action(
        accept=True, add_communities=(bgp.communities[0].name,) if bgp.communities else (), prepend=(65000, 65000)
    )
    policies = tuple(
        replace(
            policy,
            terms=tuple(
                replace(term, action=replace(prepended, replace_communities=bool(place % 2)))
                for place, term in enumerate(policy.terms)
            ),
        )
        for policy in bgp.policies
    )
    yield replace(config, bgp=replace(bgp, policies=policies))
    named = [group.import_policy for group in bgp.groups]
    drained = tuple(
        replace(
            group,
            sessions=tuple(replace(one, import_policy=named[0], export_policy=named[0]) for one in group.sessions),
        )
        for group in bgp.groups
    )
    yield replace(config, bgp=replace(bgp, groups=drained))
    if any(one.kind == "large" for one in bgp.communities):
        overlay = config.overlay and replace(config.overlay, from_spine=standard(config.overlay.from_spine))
        yield replace(config, bgp=replace(bgp, communities=in_form(bgp.communities, large=False)), overlay=overlay)


def _shut_and_tagged(config: DeviceConfig) -> DeviceConfig:
    ports = tuple(
        replace(one, enabled=False)
        if place % 3 == 0
        else replace(one, native_vlan=3001, tagged=(3002, 3004))
        if one.vlan and place % 3 == 1
        else one
        for place, one in enumerate(config.interfaces)
    )
    return replace(config, interfaces=ports)


@cache
def covering(nos: str) -> tuple[DeviceConfig, ...]:
    """Few switches that have every form between them: of those left, the one with the most forms that are missing."""
    of = {line: {one.text for one in forms_of(nos).of(line)} for line in statements(nos)}
    have = [set[str]().union(*(of[line] for line in some)) for some in lines(nos)]
    missing, found = set[str]().union(*have), list[DeviceConfig]()
    while missing:
        place = max(range(len(have)), key=lambda one: len(have[one] & missing))
        found.append(configs(nos)[place])
        missing -= have[place]
    return tuple(found)
