"""Gaps of SONiC: parts of a configuration that SONiC cannot express, and statements that could not be verified."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.config.sections import flat
from railweave.systems.common_gaps import extra_findings, left_out_findings
from railweave.systems.frr.render import no_ao
from railweave.systems.sonic.render import by_release, rules
from railweave.systems.sonic.render.frr import parts
from railweave.systems.sonic.render.ports import KEY_NAME_DIGITS
from railweave.systems.sonic.render.qos import lossless
from railweave.systems.sonic.statements.management import LEAST_ATTEMPTS
from railweave.systems.sonic.tables import lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import DeviceConfig, QosConfig
    from railweave.model.findings import Finding

_TWO_POOLS = frozenset({"Tomahawk 4", "Tomahawk 5"})
"""The chips for which the published platforms configure one buffer pool at ingress and one at egress."""

ROUTING = ("router bgp", "router isis", "route-map", "ip prefix-list", "ipv6 prefix-list", "bgp ")
"""The first words of lines that affect the routes that railweave computes (``routes``)."""


def gaps(config: DeviceConfig) -> list[Finding]:
    """Return findings about parts of the design that SONiC expresses differently or not at all, and about the operator's own statements."""
    findings = [
        *left_out_findings(config),
        *by_release.gaps(config),
        *_balancing(config),
        *_overlay(config),
        *_ports(config),
        *_management(config),
        *(_qos(config, config.qos) if config.qos else ()),
    ]
    if config.gateways and config.gateways[0].advertisements:
        if config.gateways[0].advertisements.routes:
            findings.append(rules.NO_RA_ROUTES.finding(config.name))
        findings.append(rules.NO_RA_INTERVAL.finding(config.name))
    if config.bgp and config.bgp.as_lists:
        findings.append(rules.PEER_AS.finding(config.name))
    if no_ao(config):
        findings.append(rules.NO_AO.finding(config.name))
    if config.extra.strip():
        rows, routing = parts(config.extra)
        findings += extra_findings(config.name, [*lines(rows), *flat(routing)], ROUTING)
    return findings


def sprayed(config: DeviceConfig) -> str:
    """Return the words of a finding that say which packets are sprayed; empty if spraying does not depend on RDMA opcodes."""
    opcodes = config.balancing.spray_opcodes
    return f" of RDMA opcodes {', '.join(map(str, opcodes))} (`spray_opcodes`)" if opcodes else ""


def _balancing(config: DeviceConfig) -> Iterator[Finding]:
    intent = config.balancing
    if config.balancing.group_mode != "ecmp":
        message = f"{config.balancing.group_mode}{sprayed(config)} has no place in config_db.json (`mode`, `within_color`, `dlb`)"
        yield rules.NO_LOAD_BALANCING.finding(config.name, message)
    if intent.hash.seed is not None:
        yield rules.NO_HASH.finding(config.name)


def _ports(config: DeviceConfig) -> Iterator[Finding]:
    if config.isis is not None:
        yield rules.ISISD.finding(config.name)
    if any(gateway.proxy_arp and gateway.port for gateway in config.gateways):
        yield rules.NO_PROXY_ARP.finding(config.name)
    wanted = next((port.macsec for port in config.interfaces if port.macsec), None)
    if wanted is not None:
        yield rules.MACSEC_KEY.finding(config.name)
        if len(wanted.key_name) < KEY_NAME_DIGITS:
            yield rules.MACSEC_NAME.finding(config.name)


def _overlay(config: DeviceConfig) -> Iterator[Finding]:
    overlay = config.overlay
    if overlay is None or not overlay.endpoints:
        return
    if any(len(vrf.import_targets) > 1 for vrf in config.vrfs):
        yield rules.NO_LEAKS.finding(config.name)
    if len(overlay.endpoints) > 1:
        yield rules.NO_COLOR_ENDPOINTS.finding(config.name)
    if any(endpoint.address.family == "ipv6" for endpoint in overlay.endpoints[:1]):
        yield rules.IPV6_TUNNEL.finding(config.name)


def _management(config: DeviceConfig) -> Iterator[Finding]:
    wanted = config.management
    if wanted.users or wanted.root_password:
        yield rules.NO_LOGINS.finding(config.name)
    if wanted.domain and not wanted.dns:
        yield rules.NO_DOMAIN.finding(config.name)
    if login := wanted.login():
        yield rules.NO_LOCKOUT.finding(config.name)
        if login.attempts < LEAST_ATTEMPTS:
            yield rules.FEW_ATTEMPTS.finding(config.name)
    if wanted.aaa():
        yield rules.REMOTE_ROLE.finding(config.name)
    if config.bpdu_guard():
        yield rules.NO_BPDU_GUARD.finding(config.name)
    if wanted.snmp and wanted.snmp.community and wanted.snmp.clients:
        yield rules.SNMP_CLIENTS.finding(config.name)
    if wanted.services.netconf:
        yield rules.NO_NETCONF.finding(config.name)
    if wanted.services.grpc_certificate is not None:
        yield rules.CERTIFICATE.finding(config.name)
    if wanted.snmp and wanted.snmp.trap_targets:
        yield rules.TRAPS.finding(config.name)
    if config.protection:
        yield rules.CONTROL_PLANE.finding(config.name)


def _qos(config: DeviceConfig, qos: QosConfig) -> Iterator[Finding]:
    buffers = qos.buffers
    model = catalog().switches.get(config.model)
    if model is not None and model.asic in _TWO_POOLS and lossless(qos):
        yield rules.BUFFER_POOLS.finding(config.name)
    if buffers.egress_multicast:
        yield rules.MULTICAST_POOL.finding(config.name)
    if buffers.egress == "system":
        yield rules.EGRESS_POOLS.finding(config.name)
    dedicated = [traffic_class for traffic_class in qos.classes.values() if traffic_class.buffer_percent is not None]
    if dedicated or buffers.dedicated_ingress is not None or buffers.dedicated_egress is not None:
        yield rules.DEDICATED_BUFFER.finding(config.name)
    if any(
        traffic_class.priority == "strict-high" and traffic_class.transmit_percent
        for traffic_class in qos.classes.values()
    ):
        yield rules.STRICT_CAP.finding(config.name)
    if qos.watchdog and any(
        traffic_class.lossless and traffic_class.queue != traffic_class.pfc_priority
        for traffic_class in qos.classes.values()
    ):
        yield rules.WATCHDOG_QUEUE.finding(config.name)
