"""Junos OS Evolved: the configuration as a tree, printed in curly-brace and ``set`` form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.catalog.systems import release_key
from railweave.model.device.classes import Ecn
from railweave.systems.common_gaps import extra_findings, left_out_findings
from railweave.systems.junos.parse import merge, parse
from railweave.systems.junos.render import rules
from railweave.systems.junos.render.access import bpdu_block
from railweave.systems.junos.render.control_plane import add_control_plane
from railweave.systems.junos.render.cos import class_of_service
from railweave.systems.junos.render.interfaces import interfaces, router_advertisement, vlans
from railweave.systems.junos.render.isis import isis
from railweave.systems.junos.render.overlay import routing_instances, tunnel_source
from railweave.systems.junos.render.routing import bgp, forwarding_options, policy_options, routing_options
from railweave.systems.junos.render.selective import firewall
from railweave.systems.junos.render.spraying import instance, spraying_firewall
from railweave.systems.junos.render.system import chassis, lldp, management_instance, security, snmp, system
from railweave.systems.junos.tree import block, leaf, set_paths, to_curly, to_set

if TYPE_CHECKING:
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding
    from railweave.systems.junos.tree import Statement


ROUTING = ("protocols bgp", "protocols isis", "policy-options", "routing-options")
"""Hierarchies that decide what ``routes`` computes."""


def tree(config: DeviceConfig) -> list[Statement]:
    """The configuration of a device, the operator's own statements merged in.

    Raises ``RenderError`` where those cannot be read.
    """
    parts = [
        system(config),
        snmp(config),
        chassis(config),
        security(config),
        interfaces(config),
        forwarding_options(config),
        spraying_firewall(config) or firewall(config),
        class_of_service(config),
        policy_options(config),
        block("routing-instances", management_instance(config), instance(config), routing_instances(config)),
        routing_options(config),
        block(
            "protocols",
            router_advertisement(config),
            bgp(config),
            isis(config),
            lldp(config),
            bpdu_block(config),
            block("rstp", leaf("disable")),
        ),
        tunnel_source(config),
        vlans(config),
    ]
    statements = [part for part in parts if part is not None]
    add_control_plane(config, statements)
    if config.extra.strip():
        merge(statements, parse(config.extra))
    return statements


def files(config: DeviceConfig) -> dict[str, str]:
    """``junos.conf`` (curly) and ``junos.set``, from one tree."""
    statements = tree(config)
    return {"junos.conf": to_curly(statements), "junos.set": to_set(statements)}


def lines(config: DeviceConfig) -> list[str]:
    """What follows ``set`` on each line."""
    return [" ".join(path) for statement in tree(config) for path in set_paths(statement)]


def check_extra(text: str) -> None:
    """Raise ``RenderError`` where the operator's statements cannot be read."""
    parse(text)


def gaps(config: DeviceConfig) -> list[Finding]:
    """What Junos cannot express, what could not be verified, and the operator's own statements."""
    found = left_out_findings(config)
    if config.balancing.group_mode == "spray" and not config.balancing.random:
        found.append(rules.NO_SPRAY.finding(config.name))
    if config.bgp and any(group.fabric_color for group in config.bgp.groups):
        found.append(rules.DPF_UNVERIFIED.finding(config.name))
    if config.qos and any(one.ecn and _lengths_alone(one.ecn) for one in config.qos.classes.values()):
        found.append(rules.MARKING_BYTES.finding(config.name))
    model = catalog().switches.get(config.model)
    since = model.platform.dscp_ipv6_since if model else ""
    if config.qos and since and release_key(config.release) < release_key(since):
        what = f"`dscp-ipv6` classifiers on {config.model} with {config.release}: documented from {since} on"
        found.append(rules.IPV6_CLASSIFIER.finding(config.name, what))
    if config.balancing.selective:
        found.append(rules.SELECTIVE_DLB.finding(config.name))
    if config.protection:
        found.append(rules.CONTROL_PLANE.finding(config.name))
    found += _overlay_gaps(config)
    found += _session_gaps(config)
    if config.extra.strip():
        lines = [" ".join(path) for statement in parse(config.extra) for path in set_paths(statement)]
        found += extra_findings(config.name, lines, ROUTING)
    return found


def _session_gaps(config: DeviceConfig) -> list[Finding]:
    """What of keys and hop limits Junos has no statement for, or that no public model confirms."""
    bgp = config.bgp
    if bgp is None:
        return []
    found: list[Finding] = []
    if bgp.authentication and bgp.found_neighbors():
        found.append(rules.NO_KEY.finding(config.name))
    if bgp.ttl_security:
        found.append(rules.HOP_LIMIT.finding(config.name))
    return found


def _lengths_alone(ecn: Ecn) -> bool:
    """Whether marking is wanted by queue lengths, with no fill levels of its own."""
    default = Ecn()
    return ecn.min_bytes is not None and (ecn.min_fill, ecn.max_fill) == (default.min_fill, default.max_fill)


def _overlay_gaps(config: DeviceConfig) -> list[Finding]:
    """What of the overlay no public configuration or model confirms."""
    overlay = config.overlay
    if overlay is None or not overlay.endpoints:
        return []
    found: list[Finding] = []
    if overlay.loopback.family == "ipv6":
        found.append(rules.IPV6_TUNNELS.finding(config.name))
    if len(overlay.endpoints) > 1:
        found.append(rules.COLOR_ENDPOINTS.finding(config.name))
    return found
