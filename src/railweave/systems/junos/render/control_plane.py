"""What may reach the switch itself: filters on ``lo0`` and on the management port, and what servers' gateways drop.

On Junos OS Evolved a filter on ``lo0`` is for what comes in by the network, and one on the management port for what comes in there.
The filter on ``lo0`` has the terms of both: where it would be for both, nobody is locked out. A packet of a server to a link-local address is
dropped at its gateway, for a filter on ``lo0`` is not known to tell interfaces apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.systems.junos.names import FAMILIES, SELECTIVE_FILTER, SPRAYING_FILTER
from railweave.systems.junos.parse import merge
from railweave.systems.junos.render.interfaces import MANAGEMENT_PORT
from railweave.systems.junos.tree import block, choices, entry, leaf

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.addresses import Family
    from railweave.model.device.control_plane import ControlRule, PortRange, ServerPortRule
    from railweave.model.device.model import DeviceConfig
    from railweave.systems.junos.tree import Statement

_NEXT_HEADER: dict[Family, str] = {"ipv4": "protocol", "ipv6": "next-header"}
_HOP_LIMIT: dict[Family, str] = {"ipv4": "ttl", "ipv6": "hop-limit"}


def add_control_plane(config: DeviceConfig, statements: list[Statement]) -> None:
    """Merge filters, what they refer to and where they are in use into the statements of a device."""
    wanted = config.protection
    if wanted is None:
        return
    management = config.management_address.family
    to_management = wanted.of("management", management)
    lists = [
        block(("prefix-list", _list(one.name)), [entry(prefix) for prefix in one.prefixes]) for one in wanted.sources
    ]
    made = [
        block(
            "firewall",
            [_filter(family, _name("control-plane", family), wanted.together(family)) for family in FAMILIES],
            _filter(management, _name("management", management), to_management),
            [_policer(one.name, one.rate_bps, one.burst_bytes) for one in wanted.policers],
        ),
        block(
            "interfaces",
            _input(MANAGEMENT_PORT, 0, management, _name("management", management)),
            [_input("lo0", 0, family, _name("control-plane", family)) for family in FAMILIES],
        ),
        block("policy-options", lists),
    ]
    merge(statements, [one for one in made if one is not None])
    for family in FAMILIES:
        _drop_at_servers(config, family, [one for one in wanted.server_ports if one.family == family], statements)


def _name(what: str, family: Family) -> str:
    return f"{what}-{'v6' if family == 'ipv6' else 'v4'}"


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
        _ports("icmp-type", [(one, one) for one in rule.icmp_types]),
        leaf(_HOP_LIMIT[rule.family], rule.hop_limit) if rule.hop_limit is not None else None,
        leaf("tcp-established") if rule.established else None,
    ]
    policed = leaf("policer", rule.policer) if rule.policer else None
    return block(("term", rule.name), block("from", conditions), block("then", [policed, leaf("accept")]))


def _drop(rule: ServerPortRule) -> Statement | None:
    conditions = [
        block("destination-address", [entry(one) for one in rule.destinations]),
        leaf(_NEXT_HEADER[rule.family], rule.protocol),
        _ports("destination-port", rule.destination_ports),
    ]
    count = entry("count", f"dropped-{rule.name}")
    return block(("term", f"drop-{rule.name}"), block("from", conditions), block("then", count, leaf("discard")))


def _drop_at_servers(
    config: DeviceConfig, family: Family, wanted: list[ServerPortRule], statements: list[Statement]
) -> None:
    """Have the interfaces of gateways drop packets, and pass on all else.

    The one filter that an interface may have for RDMA packets has these terms first.
    """
    gateways = [one for one in config.gateways if family in one.families]
    if not wanted or not gateways:
        return
    drops = [one for one in map(_drop, wanted) if one is not None]
    families = [one for top in statements if top.words == ("firewall",) for one in top.children or ()]
    here = [one for top in families if top.words == ("family", FAMILIES[family]) for one in top.children or ()]
    taken = next((one for one in here if one.words[1] in {SELECTIVE_FILTER, SPRAYING_FILTER}), None)
    name = _name("from-servers", family)
    bound = [one for one in gateways if taken is None or not one.port]
    if taken is not None and len(bound) < len(gateways):
        taken.children = [*drops, *(taken.children or ())]
    if not bound:
        return
    passing = block("term rest", block("then", leaf("accept")))
    places = [(one.port or "irb", 0 if one.port else one.vlan or 0) for one in bound]
    made = [
        block("firewall", block(("family", FAMILIES[family]), block(("filter", name), drops, passing))),
        block("interfaces", [_input(port, unit, family, name) for port, unit in places]),
    ]
    merge(statements, [one for one in made if one is not None])


def _input(port: str, unit: int, family: Family, name: str) -> Statement | None:
    bound = block("filter", leaf("input", name))
    return block((port,), block(("unit", unit), block(("family", FAMILIES[family]), bound)))
