"""What EOS cannot express, and what of it could not be verified."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.catalog.headroom import port_headroom
from railweave.model.config.sections import flat, parse
from railweave.model.device.balancing import Dlb
from railweave.systems.common_gaps import extra_findings, left_out_findings
from railweave.systems.eos.render import rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.device.model import DeviceConfig, QosConfig
    from railweave.model.findings import Finding

ROUTING = (
    "router bgp",
    "router isis",
    "route-map",
    "ip prefix-list",
    "ipv6 prefix-list",
    "ip large-community-list",
    "ip community-list",
    "peer-filter",
)
"""Lines that decide what ``routes`` computes."""


def gaps(config: DeviceConfig) -> list[Finding]:
    """What the configuration asks for that EOS cannot express, and the operator's own lines."""
    found = [*left_out_findings(config), *_balancing(config), *_qos(config), *_management(config)]
    if config.overlay and len(config.overlay.endpoints) > 1:
        found.append(rules.NO_COLOR_ENDPOINTS.finding(config.name))
    if any(one.advertisements and one.advertisements.routes for one in config.gateways):
        found.append(rules.NO_RA_ROUTES.finding(config.name))
    found += [*_encryption(config), *_bridging(config), *_sessions(config)]
    if config.extra.strip():
        found += extra_findings(config.name, flat(parse(config.extra)), ROUTING)
    return found


def _encryption(config: DeviceConfig) -> Iterator[Finding]:
    ports = [one.name for one in config.interfaces if one.macsec]
    model = catalog().switches.get(config.model)
    if ports and (model is None or "macsec" not in model.platform.has):
        what = f"no public document says that {config.model} encrypts on its ports; {len(ports)} of them are to"
        yield rules.MACSEC_PORT.finding(config.name, what)


def _sessions(config: DeviceConfig) -> Iterator[Finding]:
    bgp = config.bgp
    if bgp and bgp.authentication and bgp.found_neighbors():
        yield rules.FOUND_KEY.finding(config.name)
    if bgp and bgp.graceful_restart and bgp.bfd:
        yield rules.SHARED_FATE.finding(config.name)


def _bridging(config: DeviceConfig) -> Iterator[Finding]:
    if config.mac_vrf:
        yield rules.VLAN_BASED.finding(config.name)
    if len({one.mac for one in config.gateways if one.mac}) > 1:
        yield rules.NO_GATEWAY_MAC.finding(config.name)


def _balancing(config: DeviceConfig) -> Iterator[Finding]:
    mode, intent = config.balancing.group_mode, config.balancing
    if mode == "dlb-per-packet":
        yield rules.NO_DLB_PER_PACKET.finding(config.name)
    if mode == "spray":
        opcodes = ", ".join(map(str, intent.spray_opcodes))
        of = f" of RDMA opcodes {opcodes} (`spray_opcodes`)" if opcodes else ""
        yield rules.NO_SPRAY.finding(config.name, f"EOS cannot express spray (`mode`){of} inside a next-hop group")
    default = Dlb(flowset_table_size=intent.dlb.flowset_table_size)
    if mode == "dlb-flowlet" and intent.dlb != default:
        yield rules.NO_DLB_KNOBS.finding(config.name)
    if intent.hash.seed is not None or not (intent.hash.layer3 and intent.hash.layer4):
        yield rules.NO_HASH.finding(config.name)


def _qos(config: DeviceConfig) -> Iterator[Finding]:
    qos = config.qos
    if qos is None:
        return
    yield rules.NO_BUFFER_PARTITION.finding(config.name)
    if qos.buffers.dedicated_ingress is not None or qos.buffers.dedicated_egress is not None:
        yield rules.NO_DEDICATED_BUFFER.finding(config.name)
    if any(one.buffer_percent is not None for one in qos.classes.values()):
        yield rules.NO_BUFFER_SIZE.finding(config.name)
    if _mru_in_table(config, qos):
        yield rules.MRU_IN_TABLE.finding(config.name)
    if qos.xon_offset_cells is not None:
        yield rules.NO_XON_OFFSET.finding(config.name)


def _mru_in_table(config: DeviceConfig, qos: QosConfig) -> bool:
    """Return whether the neediest port has an MRU of its own and the platform's table decides its headroom."""
    model = catalog().switches.get(config.model)
    ports = {one.name: one for one in config.interfaces}
    most = max(qos.profiles, key=lambda one: one.headroom_bytes, default=None)
    port = next((ports[name] for name in most.ports if name in ports), None) if most is not None else None
    if model is None or most is None or port is None:
        return False
    room = port_headroom(catalog(), model, most.cable_length_m, port.speed_gbps, most.mru_bytes)
    return most.mru_bytes != port.mtu and room.limit_bytes == room.table_bytes


def _management(config: DeviceConfig) -> Iterator[Finding]:
    wanted = config.management
    if len({one.severity for one in wanted.syslog}) > 1:
        yield rules.NO_SYSLOG_SEVERITY.finding(config.name)
    if any(len(user.ssh_keys) > 2 for user in wanted.users.values()):
        yield rules.NO_SSH_KEYS.finding(config.name)
    open_users = [name for name, user in wanted.users.items() if not user.password]
    if open_users:
        rule = rules.NO_KEY_ONLY_LOGIN
        yield rule.finding(config.name, f"{rule.says}: {', '.join(open_users)}")
    if wanted.root_password:
        yield rules.NO_ROOT.finding(config.name)
    if wanted.services.netconf_rfc_compliant and wanted.services.netconf:
        yield rules.NETCONF_RFC.finding(config.name)
    snmp = wanted.snmp
    if snmp and snmp.trap_targets and not (snmp.community or snmp.users):
        yield rules.NO_TRAPS.finding(config.name)
    if wanted.services.grpc_certificate:
        yield rules.NO_CERTIFICATE.finding(config.name)
    if config.protection:
        yield rules.CONTROL_PLANE.finding(config.name)
