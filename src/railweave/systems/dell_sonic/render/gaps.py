"""What the command line of Enterprise SONiC does not express, and what no public document confirms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.config.sections import flat
from railweave.systems.common_gaps import extra_findings, left_out_findings
from railweave.systems.dell_sonic.render import rules
from railweave.systems.dell_sonic.render.qos import adaptive
from railweave.systems.dell_sonic.tree import parse
from railweave.systems.frr.render import no_ao
from railweave.systems.sonic.render.gaps import sprayed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import DeviceConfig, QosConfig
    from railweave.model.findings import Finding

ROUTING = ("router bgp", "route-map", "ip prefix-list", "ipv6 prefix-list", "bgp ")
"""Commands that decide what ``routes`` computes."""


def gaps(config: DeviceConfig) -> list[Finding]:
    """What has no place, what is done otherwise, and the operator's own commands."""
    found = [
        rules.NO_MODEL.finding(config.name),
        rules.PREPARE.finding(config.name),
        *left_out_findings(config),
        *_balancing(config),
        *_ports(config),
        *_routing(config),
        *_management(config),
        *(_qos(config, config.qos) if config.qos else ()),
    ]
    if config.extra.strip():
        found += extra_findings(config.name, flat(parse(config.extra)), ROUTING)
    return found


def _balancing(config: DeviceConfig) -> Iterator[Finding]:
    if config.balancing.group_mode == "spray":
        yield rules.NO_SPRAY.finding(config.name, f"random packet spraying (`mode`){sprayed(config)} is not configured")
    if adaptive(config):
        yield rules.ARS_OBJECT.finding(config.name)
        yield rules.ARS_BANDS.finding(config.name)


def _ports(config: DeviceConfig) -> Iterator[Finding]:
    if any(port.macsec for port in config.interfaces):
        yield rules.NO_MACSEC.finding(config.name)
    if any(port.unit_vlan is not None for port in config.interfaces):
        yield rules.SUB_INTERFACE.finding(config.name)


def _routing(config: DeviceConfig) -> Iterator[Finding]:
    if no_ao(config):
        yield rules.NO_AO.finding(config.name)
    if config.isis:
        yield rules.NO_ISIS.finding(config.name)
    if config.bgp and config.bgp.as_lists:
        yield rules.PEER_AS.finding(config.name)
    if config.gateways and config.gateways[0].advertisements and config.gateways[0].advertisements.routes:
        yield rules.NO_RA_ROUTES.finding(config.name)
    overlay = config.overlay
    if overlay is None:
        return
    if any(len(vrf.import_targets) > 1 for vrf in config.vrfs):
        yield rules.NO_LEAKS.finding(config.name)
    if len(overlay.endpoints) > 1:
        yield rules.NO_COLOR_ENDPOINTS.finding(config.name)
    if overlay.endpoints and overlay.endpoints[0].address.family == "ipv6":
        yield rules.IPV6_TUNNEL.finding(config.name)
    if overlay.reflects:
        yield rules.NEXT_HOP_UNCHANGED.finding(config.name)


def _management(config: DeviceConfig) -> Iterator[Finding]:
    wanted = config.management
    unsaid: list[str] = []
    unsaid += ["the login banner (`banner`)"] if wanted.banner else []
    unsaid += ["the time zone (`time_zone`)"] if wanted.time_zone != "UTC" else []
    unsaid += ["SSH keys (`ssh_keys`)"] if any(user.ssh_keys for user in wanted.users.values()) else []
    snmp = wanted.snmp
    unsaid += ["users without a password"] if any(not user.password for user in wanted.users.values()) else []
    unsaid += ["root's password (`root_password`)"] if wanted.root_password else []
    unsaid += ["SNMPv3 users (`snmp.users`)"] if snmp and snmp.users else []
    unsaid += (
        ["SNMP traps without a community (`trap_targets`)"] if snmp and snmp.trap_targets and not snmp.community else []
    )
    unsaid += ["the DNS domain (`domain`)"] if wanted.domain else []
    unsaid += ["who may ask by SNMP (`clients`)"] if snmp and snmp.community and snmp.clients else []
    servers = wanted.aaa()
    unsaid += ["what users may do whom only a server knows (`role`)"] if servers else []
    unsaid += ["RADIUS after TACACS+ (`radius`)"] if servers and len(servers.groups()) > 1 else []
    if unsaid:
        what = f"{', '.join(unsaid)} {'are' if len(unsaid) > 1 else 'is'} not configured"
        yield rules.MANAGEMENT.finding(config.name, what)
    if wanted.syslog:
        yield rules.NO_SYSLOG.finding(config.name)
    if wanted.services.netconf:
        yield rules.NO_NETCONF.finding(config.name)
    if wanted.services.grpc_certificate is not None:
        yield rules.CERTIFICATE.finding(config.name)
    if config.protection:
        yield rules.CONTROL_PLANE.finding(config.name)


def _qos(config: DeviceConfig, qos: QosConfig) -> Iterator[Finding]:
    yield rules.NO_BUFFER_PARTITION.finding(config.name)
    if qos.buffers.dedicated_ingress is not None or qos.buffers.dedicated_egress is not None:
        yield rules.NO_DEDICATED_BUFFER.finding(config.name)
    if qos.xon_offset_cells is not None:
        yield rules.NO_XON_OFFSET.finding(config.name)
    if any(one.priority == "strict-high" and one.transmit_percent for one in qos.classes.values()):
        yield rules.STRICT_CAP.finding(config.name)
    if any(one.dynamic_threshold is not None or one.buffer_percent is not None for one in qos.classes.values()):
        yield rules.QUEUE_BUFFERS.finding(config.name)
