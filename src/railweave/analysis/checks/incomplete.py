"""The rule for incomplete configurations: every object has the fields that it needs, and every name in use is defined.

If a device's configuration has lost statements, the remaining objects may be incomplete. Renderers omit incomplete
objects, and other checks ignore them. This check reports them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.catalog.shares import LEAST_THRESHOLD, MOST_THRESHOLD
from railweave.model.findings.registry import FindingPlace, check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from railweave.analysis.checks.subject import Subject
    from railweave.model.device.model import Bgp, Community, DeviceConfig, QosConfig

WELL_KNOWN = frozenset(
    {
        "accept-own",
        "blackhole",
        "graceful-shutdown",
        "internet",
        "llgr-stale",
        "local-AS",
        "local-as",
        "no-advertise",
        "no-export",
        "no-export-subconfed",
        "no-llgr",
        "no-peer",
    }
)
"""The names of well-known BGP communities (IANA, BGP Well-known Communities), which a configuration may use instead of numbers."""


@check(
    "incomplete-config",
    "error",
    applies="network",
    why="the device rejects or ignores the statement, and railweave's computed results leave it out",
    fix="add the missing statement, or remove the one that needs it",
)
def incomplete_config(subject: Subject) -> Iterator[FindingPlace]:
    """Every value of a configuration has the values that it needs, and every name is defined on the device."""
    for config in subject.configs.values():
        for field, lack in _links(config, {cable.name for cable in subject.network.cables_of(config.name)}):
            yield FindingPlace(config.name, f"{field}: {lack}")
        for part in _PARTS:
            for field, lack in part(config):
                yield FindingPlace(config.name, f"{field}: {lack}")


Lacks = tuple[str, str]
"""A field of ``DeviceConfig`` (docs/folder.md), and a description of what is missing in it."""


def _links(config: DeviceConfig, links: set[str]) -> Iterator[Lacks]:
    """Yield (field, message) for each session or port whose link is not in ``links``, the cables of this device.

    Such a session or port carries no traffic.
    """
    for group in config.bgp.groups if config.bgp else ():
        for session in group.sessions:
            if session.link and session.link not in links:
                yield (
                    f"bgp.groups.{group.name}.sessions.{session.peer}.link",
                    f"{config.name} is not on {session.link!r}",
                )
    for name, running in (("isis", config.isis), ("ospf", config.ospf)):
        for port in running.ports if running else ():
            if port.link and port.link not in links:
                yield f"{name}.ports.{port.interface}.link", f"{config.name} is not on {port.link!r}"


def _hardware(config: DeviceConfig) -> Iterator[Lacks]:
    if config.model not in catalog().switches:
        yield "model", f"the catalog has no switch model {config.model!r}"
    for split in config.splits:
        if split.channels < 1:
            yield f"splits.{split.port}.channels", "a port that is split has at least one channel"


def _ports(config: DeviceConfig) -> Iterator[Lacks]:
    vrfs = {vrf.name for vrf in config.vrfs}
    for port in config.interfaces:
        if not port.name:
            yield "interfaces", f"the port to {port.peer or 'nothing'} has no name"
        for part in port.parts():
            if part.kind == "external" and part.vrf not in vrfs:
                yield f"interfaces.{port.name}.vrf", _undefined("VRF", part.vrf)
    for gateway in config.gateways:
        if gateway.vrf and gateway.vrf not in vrfs:
            yield f"gateways.{gateway.name}.vrf", _undefined("VRF", gateway.vrf)
    shared = {gateway.vlan for gateway in config.gateways if gateway.mac}
    for vlan in config.mac_vrf.vlans if config.mac_vrf else ():
        if vlan.vlan not in shared:
            yield f"mac_vrf.vlans.{vlan.vlan}", "no gateway with an anycast MAC address is on this VLAN"


def _qos(config: DeviceConfig) -> Iterator[Lacks]:
    qos = config.qos
    if qos is None:
        return
    for name, traffic_class in qos.classes.items():
        if traffic_class.lossless and traffic_class.pfc_priority is None:
            yield f"qos.classes.{name}.pfc_priority", "the class is lossless, and no PFC priority is given"
        if traffic_class.dynamic_threshold is not None and not _is_threshold(traffic_class.dynamic_threshold):
            yield f"qos.classes.{name}.dynamic_threshold", _no_threshold(traffic_class.dynamic_threshold)
    if qos.default_class not in qos.classes:
        yield "qos.default_class", _undefined("class", qos.default_class)
    for name in qos.marking:
        if name not in qos.classes:
            yield f"qos.marking.{name}", _undefined("class", name)
    if not _is_threshold(qos.buffers.ingress_dynamic_threshold):
        yield "qos.buffers.ingress_dynamic_threshold", _no_threshold(qos.buffers.ingress_dynamic_threshold)
    yield from _bound(config, qos)


def _bound(config: DeviceConfig, qos: QosConfig) -> Iterator[Lacks]:
    ports = {interface.name for interface in config.interfaces}
    for name in qos.ports:
        if name not in ports:
            yield "qos.ports", _undefined("port", name)
    for profile in qos.profiles:
        for name in profile.ports:
            if name not in ports:
                yield f"qos.profiles.{profile.name}.ports", _undefined("port", name)


def _balancing(config: DeviceConfig) -> Iterator[Lacks]:
    dlb = config.balancing.dlb
    if not config.balancing.group_mode.startswith("dlb"):
        return
    if dlb.sampling_rate < 1:
        yield "balancing.dlb.sampling_rate", "DLB takes at least one sample a second"
    if dlb.flowset_table_size < 1 or dlb.flowset_table_size.bit_count() != 1:
        yield "balancing.dlb.flowset_table_size", f"{dlb.flowset_table_size} is not a power of two"


def _policies(config: DeviceConfig) -> Iterator[Lacks]:
    bgp = config.bgp
    if bgp is None:
        return
    known = {policy.name for policy in bgp.policies}
    communities = {community.name for community in bgp.communities if _has_value(community)}
    for group in bgp.groups:
        for field, name in (("import_policy", group.import_policy), ("export_policy", group.export_policy)):
            if name not in known:
                yield f"bgp.groups.{group.name}.{field}", _undefined("policy", name)
        if group.peer_as_list is not None and group.peer_as_list not in bgp.as_lists:
            yield f"bgp.groups.{group.name}.peer_as_list", _undefined("list of AS numbers", group.peer_as_list)
        if group.fabric_color is not None and group.fabric_color not in communities:
            yield f"bgp.groups.{group.name}.fabric_color", _undefined("community", group.fabric_color)
        for session in group.sessions:
            for field, name in (("import_policy", session.import_policy), ("export_policy", session.export_policy)):
                if name is not None and name not in known:
                    yield f"bgp.groups.{group.name}.sessions.{session.peer}.{field}", _undefined("policy", name)
    if bgp.redistribute_connected is not None and bgp.redistribute_connected not in known:
        yield "bgp.redistribute_connected", _undefined("policy", bgp.redistribute_connected)
    for at in bgp.fabric_advertise:
        for name in (at.color, *at.backup_colors):
            if name not in communities:
                yield f"bgp.fabric_advertise.{at.prefix}", _undefined("community", name)
    yield from _terms(bgp, communities)


def _has_value(community: Community) -> bool:
    """Return True if a community is defined. For an undefined community, ``value`` holds the community's name."""
    return ":" in community.value or community.value in WELL_KNOWN


def _terms(bgp: Bgp, communities: Iterable[str]) -> Iterator[Lacks]:
    for policy in bgp.policies:
        for term in policy.terms:
            where, match = f"bgp.policies.{policy.name}.{term.name}", term.match
            if match.prefix_list is not None and match.prefix_list not in bgp.prefix_lists:
                yield f"{where}.match.prefix_list", _undefined("prefix list", match.prefix_list)
            if match.community is not None and match.community not in communities:
                yield f"{where}.match.community", _undefined("community", match.community)
            for name in term.action.add_communities:
                if name not in communities:
                    yield f"{where}.action.add_communities", _undefined("community", name)


def _protection(config: DeviceConfig) -> Iterator[Lacks]:
    if config.protection is None:
        return
    sources = {source.name for source in config.protection.sources}
    policers = {policer.name for policer in config.protection.policers}
    for rule in config.protection.rules:
        if rule.sources and rule.sources not in sources:
            yield f"protection.rules.{rule.name}.sources", _undefined("list of sources", rule.sources)
        if rule.policer and rule.policer not in policers:
            yield f"protection.rules.{rule.name}.policer", _undefined("policer", rule.policer)


_PARTS: tuple[Callable[[DeviceConfig], Iterator[Lacks]], ...] = (
    _hardware,
    _ports,
    _qos,
    _balancing,
    _policies,
    _protection,
)


def _undefined(kind: str, name: str) -> str:
    return f"the device has no {kind} {name!r}" if name else f"no {kind} is given"


def _is_threshold(index: int) -> bool:
    return LEAST_THRESHOLD <= index <= MOST_THRESHOLD


def _no_threshold(index: int) -> str:
    return f"{index} is no index of a dynamic threshold, which goes from {LEAST_THRESHOLD} to {MOST_THRESHOLD}"
