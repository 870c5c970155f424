"""Rendering of Junos OS Evolved: the configuration as a tree, printed with curly braces and as ``set`` lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.catalog.systems import release_key
from railweave.model.device.qos_model import Ecn
from railweave.systems.common_gaps import extra_findings, left_out_findings, note, warning
from railweave.systems.junos.meaning.management import edge_of, system_of
from railweave.systems.junos.names import FAMILIES, SELECTIVE_FILTER, SPRAYING_FILTER
from railweave.systems.junos.parse import merge, parse
from railweave.systems.junos.render.cos import class_of_service
from railweave.systems.junos.render.interfaces import (
    MANAGEMENT_PORT,
    field_profile,
    firewall,
    interfaces,
    router_advertisement,
    vlans,
)
from railweave.systems.junos.render.overlay import key_chain, routing_instances, tunnel_source
from railweave.systems.junos.render.routing import bgp, forwarding_options, isis, policy_options, routing_options
from railweave.systems.junos.render.spraying import instance, spraying_firewall
from railweave.systems.junos.statements.management import NEIGHBORS, SYSTEM
from railweave.systems.junos.tree import Statement, block, choices, entry, leaf, set_paths, to_curly, to_set

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.addresses import Family
    from railweave.model.device.control_plane import ControlRule, PortRange, ServerPortRule
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding


ASSOCIATION = "interconnect"


def macsec(config: DeviceConfig) -> Statement | None:
    """Return the block ``macsec`` with one pre-shared key for every link between sites. Return None if no link is encrypted."""
    ports = [port for port in config.interfaces if port.macsec is not None]
    wanted = ports[0].macsec if ports else None
    if wanted is None:
        return None
    return block(
        "macsec",
        block(
            ("connectivity-association", ASSOCIATION),
            leaf("cipher-suite", wanted.cipher_suite),
            leaf("security-mode", "static-cak"),
            block("pre-shared-key", leaf("ckn", wanted.key_name), leaf("cak", f"<{wanted.key}>")),
        ),
        block("interfaces", [block((port.name,), leaf("connectivity-association", ASSOCIATION)) for port in ports]),
    )


def security(config: DeviceConfig) -> Statement | None:
    """Return the block ``security`` with the keys of BGP sessions and MACsec, or None if it would be empty."""
    return block("security", key_chain(config), macsec(config))


def chassis(config: DeviceConfig) -> Statement | None:
    """Return the block ``chassis`` with the maximum size of next-hop groups, and buffer monitoring. None if it would be empty."""
    monitor = config.qos is not None and config.qos.buffer_monitor
    return block(
        "chassis",
        leaf("maximum-ecmp", config.maximum_ecmp()) if config.bgp or config.isis else None,
        block("fpc 0", block("traffic-manager", leaf("buffer-monitor-enable") if monitor else None)),
    )


NO_SPRAY = warning(
    "junos-no-spray",
    "Junos on QFX has no statement for random packet spraying (`mode`, `spray_opcodes`)",
    "a static hash distributes flows over next-hop groups instead",
    "use load_balancing mode dlb-per-packet",
)
MARKING_BYTES = warning(
    "junos-marking-bytes",
    "the queue lengths of ECN (`min_bytes`, `max_bytes`) are not configured, because Junos marks by fill level",
    "`min_fill` and `max_fill` have their default values, because the fabric file sets only lengths",
    "also set `min_fill` and `max_fill`",
)
DPF_UNVERIFIED = note(
    "junos-dpf-unverified",
    "no published model contains fabric-color and fabric-advertise",
    (
        "no validator can check these statements; a document shows that backup-color accepts a list, but this was "
        "not tested on a device"
    ),
    "test one leaf and one spine with `commit check` before the other switches",
)
SELECTIVE_DLB = note(
    "junos-selective-dlb",
    (
        "no published model contains rdma-opcode and dynamic-load-balance, and changing the field profile "
        "restarts the forwarding engine"
    ),
    (
        "these statements are documented for routed IPv4 ports; filters for bridged and IPv6 ports use the "
        "documented hierarchy, but were not tested on a device"
    ),
    (
        "commit them while no job runs; test one leaf first, and check that the counters of `show firewall` "
        "increase under load"
    ),
)
IPV6_TUNNELS = note(
    "junos-ipv6-tunnels",
    "the source address of type-5 tunnels over IPv6 is documented only for MAC-VRFs",
    "railweave uses the documented statement, switch-options vtep-source-interface lo0.0 inet6, without a MAC-VRF",
    "test one leaf with `commit check`",
)
NO_KEY = warning(
    "junos-no-key",
    (
        "BGP sessions on links have no key (`authentication`: `algorithm`, `key`, `key_id`), because their "
        "neighbors are discovered"
    ),
    (
        "peer-auto-discovery and authentication-key exclude each other; sessions of an overlay have configured "
        "addresses, and have the key"
    ),
    "use `peering: numbered`, or protect sessions on links with `ttl_security` and control-plane protection",
)
HOP_LIMIT = note(
    "junos-hop-limit",
    (
        "Junos with `ttl_security` sends BGP packets with a hop limit of 255, but does not check the hop limit of "
        "received packets"
    ),
    "only a filter on lo0 lets Junos drop packets that crossed a router",
    "configure control-plane protection (`management.security`)",
)
COLOR_ENDPOINTS = warning(
    "junos-color-endpoints",
    "a tunnel endpoint per path color inside one VRF depends on a next hop that an export policy sets",
    "Junos documents a colored tunnel address per MAC-VRF; setting it with a policy was not tested on a device",
    "test one pair of leaves before the other switches",
)
CONTROL_PLANE = note(
    "junos-control-plane",
    "control-plane filters (`control_plane`) on lo0 and the management port were not tested on a device",
    (
        "published models contain every statement, but do not show which conditions a filter on lo0 of this "
        "switch supports"
    ),
    "load them with `commit confirmed` on one leaf and one spine before the other switches, and check `show firewall`",
)
IPV6_CLASSIFIER = warning(
    "junos-ipv6-classifier",
    "classifiers for both IPv6 and IPv4 are configured on a model and release for which this is not documented",
    "commit may reject them, or IPv6 packets are put into the default class, where RDMA data is not lossless",
    "use a later release, or test one router with `commit check`",
)


_NEXT_HEADER: dict[Family, str] = {"ipv4": "protocol", "ipv6": "next-header"}
_HOP_LIMIT: dict[Family, str] = {"ipv4": "ttl", "ipv6": "hop-limit"}


def add_control_plane(config: DeviceConfig, statements: list[Statement]) -> None:
    """Add control-plane filters to a device's statements, with the filters' prefix lists and policers, and the lines that apply the filters."""
    wanted = config.protection
    if wanted is None:
        return
    management = config.management_address.family
    to_management = wanted.of("management", management)
    lists = [
        block(("prefix-list", _list(source.name)), [entry(prefix) for prefix in source.prefixes])
        for source in wanted.sources
    ]
    made = [
        block(
            "firewall",
            [_filter(family, _name("control-plane", family), wanted.together(family)) for family in FAMILIES],
            _filter(management, _name("management", management), to_management),
            [_policer(policer.name, policer.rate_bps, policer.burst_bytes) for policer in wanted.policers],
        ),
        block(
            "interfaces",
            _input(MANAGEMENT_PORT, 0, management, _name("management", management)),
            [_input("lo0", 0, family, _name("control-plane", family)) for family in FAMILIES],
        ),
        block("policy-options", lists),
    ]
    merge(statements, [statement for statement in made if statement is not None])
    for family in FAMILIES:
        _drop_at_servers(config, family, [rule for rule in wanted.server_ports if rule.family == family], statements)


def _name(purpose: str, family: Family) -> str:
    return f"{purpose}-{'v6' if family == 'ipv6' else 'v4'}"


def _list(sources: str) -> str:
    return f"from-{sources}"


def _policer(name: str, rate_bps: int, burst_bytes: int) -> Statement | None:
    limits = block("if-exceeding", leaf("bandwidth-limit", rate_bps), leaf("burst-size-limit", burst_bytes))
    return block(("policer", name), limits, block("then", leaf("discard")))


def _filter(family: Family, name: str, rules: Iterable[ControlRule]) -> Statement | None:
    return block(
        ("family", FAMILIES[family]),
        block(
            ("filter", name),
            [_term(rule) for rule in rules],
            block("term rest", block("then", entry("count", f"dropped-{name}"), leaf("discard"))),
        ),
    )


def _ports(name: str, ports: Iterable[PortRange]) -> Statement | None:
    words = [str(first) if first == last else f"{first}-{last}" for first, last in ports]
    if not words:
        return None
    return leaf(name, words[0]) if len(words) == 1 else choices(name, words)


def _term(rule: ControlRule) -> Statement | None:
    protocol = "icmp6" if rule.protocol == "icmp" and rule.family == "ipv6" else rule.protocol
    conditions = [
        block("source-prefix-list", entry(_list(rule.sources))) if rule.sources else None,
        leaf(_NEXT_HEADER[rule.family], protocol),
        _ports("source-port", rule.source_ports),
        _ports("destination-port", rule.destination_ports),
        _ports("icmp-type", [(icmp_type, icmp_type) for icmp_type in rule.icmp_types]),
        leaf(_HOP_LIMIT[rule.family], rule.hop_limit) if rule.hop_limit is not None else None,
        leaf("tcp-established") if rule.established else None,
    ]
    policed = leaf("policer", rule.policer) if rule.policer else None
    return block(("term", rule.name), block("from", conditions), block("then", [policed, leaf("accept")]))


def _drop(rule: ServerPortRule) -> Statement | None:
    conditions = [
        block("destination-address", [entry(prefix) for prefix in rule.destinations]),
        leaf(_NEXT_HEADER[rule.family], rule.protocol),
        _ports("destination-port", rule.destination_ports),
    ]
    count = entry("count", f"dropped-{rule.name}")
    return block(("term", f"drop-{rule.name}"), block("from", conditions), block("then", count, leaf("discard")))


def _drop_at_servers(
    config: DeviceConfig, family: Family, wanted: list[ServerPortRule], statements: list[Statement]
) -> None:
    """Add filters to ``statements``. At the interfaces of gateways, they drop the packets in ``wanted``, and accept all other packets.

    ``family`` is the address family of the packets. An interface can have only one filter. If it already has a filter for RDMA packets, the
    new terms are placed at the beginning of that filter.
    """
    gateways = [gateway for gateway in config.gateways if family in gateway.families]
    if not wanted or not gateways:
        return
    drops = [statement for statement in map(_drop, wanted) if statement is not None]
    families = [statement for top in statements if top.words == ("firewall",) for statement in top.children or ()]
    here = [
        statement for top in families if top.words == ("family", FAMILIES[family]) for statement in top.children or ()
    ]
    taken = next((statement for statement in here if statement.words[1] in {SELECTIVE_FILTER, SPRAYING_FILTER}), None)
    name = _name("from-servers", family)
    bound = [gateway for gateway in gateways if taken is None or not gateway.port]
    if taken is not None and len(bound) < len(gateways):
        taken.children = [*drops, *(taken.children or ())]
    if not bound:
        return
    passing = block("term rest", block("then", leaf("accept")))
    places = [(gateway.port or "irb", 0 if gateway.port else gateway.vlan or 0) for gateway in bound]
    made = [
        block("firewall", block(("family", FAMILIES[family]), block(("filter", name), drops, passing))),
        block("interfaces", [_input(port, unit, family, name) for port, unit in places]),
    ]
    merge(statements, [statement for statement in made if statement is not None])


def _input(port: str, unit: int, family: Family, name: str) -> Statement | None:
    bound = block("filter", leaf("input", name))
    return block((port,), block(("unit", unit), block(("family", FAMILIES[family]), bound)))


ROUTING = ("protocols bgp", "protocols isis", "policy-options", "routing-options")
"""The hierarchies that affect the routes that railweave computes (``routes``)."""


ORDER = (
    "system",
    "snmp",
    "chassis",
    "security",
    "interfaces",
    "forwarding-options",
    "firewall",
    "class-of-service",
    "policy-options",
    "routing-instances",
    "routing-options",
    "protocols",
    "switch-options",
    "vlans",
)
"""The hierarchies at the top level, in the order in which they are printed."""


def tree(config: DeviceConfig) -> list[Statement]:
    """Return the configuration of a device, with the operator's own statements merged in.

    Raises ``RenderError`` if the operator's statements cannot be read.
    """
    made = {statement.words: statement for statement in SYSTEM.tree(system_of(config))}
    parts = [
        field_profile(config),
        chassis(config),
        security(config),
        interfaces(config),
        forwarding_options(config),
        spraying_firewall(config) or firewall(config),
        class_of_service(config),
        policy_options(config),
        block("routing-instances", instance(config), routing_instances(config)),
        routing_options(config),
        block("protocols", router_advertisement(config), bgp(config), isis(config)),
        tunnel_source(config),
        vlans(config),
    ]
    for part in filter(None, parts):
        same = made.setdefault(part.words, part)
        if same is not part:
            same.children = [*(same.children or ()), *(part.children or ())]
    statements = list(made.values())
    NEIGHBORS.add(statements, edge_of(config))
    statements.sort(key=lambda statement: ORDER.index(statement.words[0]))
    add_control_plane(config, statements)
    if config.extra.strip():
        merge(statements, parse(config.extra))
    return statements


def files(config: DeviceConfig) -> dict[str, str]:
    """Return the texts of ``junos.conf`` (with curly braces) and ``junos.set``, by file name."""
    statements = tree(config)
    return {"junos.conf": to_curly(statements), "junos.set": to_set(statements)}


def lines(config: DeviceConfig) -> list[str]:
    """Return the ``set`` lines without the word ``set``."""
    return [" ".join(path) for statement in tree(config) for path in set_paths(statement)]


def check_extra(text: str) -> None:
    """Raise ``RenderError`` if the operator's statements cannot be read."""
    parse(text)


def gaps(config: DeviceConfig) -> list[Finding]:
    """Return findings about the operator's own statements, and about parts of the design that Junos cannot express or no source confirms."""
    findings = left_out_findings(config)
    if config.balancing.group_mode == "spray" and not config.balancing.random:
        findings.append(NO_SPRAY.finding(config.name))
    if config.bgp and any(group.fabric_color for group in config.bgp.groups):
        findings.append(DPF_UNVERIFIED.finding(config.name))
    if config.qos and any(
        traffic_class.ecn and _lengths_alone(traffic_class.ecn) for traffic_class in config.qos.classes.values()
    ):
        findings.append(MARKING_BYTES.finding(config.name))
    model = catalog().switches.get(config.model)
    since = model.platform.dscp_ipv6_since if model else ""
    if config.qos and since and release_key(config.release) < release_key(since):
        message = f"`dscp-ipv6` classifiers on {config.model} with {config.release}: documented from {since} on"
        findings.append(IPV6_CLASSIFIER.finding(config.name, message))
    if config.balancing.selective:
        findings.append(SELECTIVE_DLB.finding(config.name))
    if config.protection:
        findings.append(CONTROL_PLANE.finding(config.name))
    findings += _overlay_gaps(config)
    findings += _session_gaps(config)
    if config.extra.strip():
        lines = [" ".join(path) for statement in parse(config.extra) for path in set_paths(statement)]
        findings += extra_findings(config.name, lines, ROUTING)
    return findings


def _session_gaps(config: DeviceConfig) -> list[Finding]:
    """Return findings about keys and hop limits of sessions. Junos has no statement for them, or no public model confirms the statement."""
    bgp = config.bgp
    if bgp is None:
        return []
    findings: list[Finding] = []
    if bgp.authentication and bgp.found_neighbors():
        findings.append(NO_KEY.finding(config.name))
    if bgp.ttl_security:
        findings.append(HOP_LIMIT.finding(config.name))
    return findings


def _lengths_alone(ecn: Ecn) -> bool:
    """Return True if the fabric file sets ECN thresholds only as queue lengths in bytes, and not as fill levels in percent."""
    default = Ecn()
    return ecn.min_bytes is not None and (ecn.min_fill, ecn.max_fill) == (default.min_fill, default.max_fill)


def _overlay_gaps(config: DeviceConfig) -> list[Finding]:
    """Return findings about statements for the overlay that no public configuration or model confirms."""
    overlay = config.overlay
    if overlay is None or not overlay.endpoints:
        return []
    findings: list[Finding] = []
    if overlay.loopback.family == "ipv6":
        findings.append(IPV6_TUNNELS.finding(config.name))
    if len(overlay.endpoints) > 1:
        findings.append(COLOR_ENDPOINTS.finding(config.name))
    return findings
