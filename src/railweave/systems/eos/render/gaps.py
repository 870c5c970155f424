"""What EOS cannot express, and what of it could not be verified."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.catalog import catalog
from railweave.config.sections import flat, parse
from railweave.findings import Finding
from railweave.intent.balancing import Dlb
from railweave.render.extra import extra_findings
from railweave.render.left_out import left_out_findings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.device.model import DeviceConfig

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
        found.append(
            _gap(
                config,
                "color-endpoints",
                "a tunnel endpoint per path color",
                "VXLAN has one source interface",
                "warning",
            )
        )
    if any(one.advertisements and one.advertisements.routes for one in config.gateways):
        found.append(_gap(config, "ra-routes", "route information options", "EOS's router advertisements have none"))
    found += [*_encryption(config), *_bridging(config)]
    if config.extra.strip():
        found += extra_findings(config.name, flat(parse(config.extra)), ROUTING)
    return found


def _gap(config: DeviceConfig, key: str, what: str, why: str, severity: str = "info", fix: str = "") -> Finding:
    level = "warning" if severity == "warning" else "info"
    return Finding(f"eos-no-{key}", level, config.name, f"EOS cannot express {what}", why, fix)


def _encryption(config: DeviceConfig) -> Iterator[Finding]:
    ports = [one.name for one in config.interfaces if one.macsec]
    if ports and "macsec" not in catalog().switches[config.model].platform.has:
        yield Finding(
            "eos-macsec-port",
            "warning",
            config.name,
            f"no public document says that {config.model} encrypts on its ports; {len(ports)} of them are to",
            "MACsec needs ports that can, and a license; without them the switch refuses the lines, and nothing is encrypted",
            "ask Arista, or encrypt in the transport between the sites",
        )


def _bridging(config: DeviceConfig) -> Iterator[Finding]:
    if config.mac_vrf:
        yield Finding(
            "eos-vlan-based",
            "info",
            config.name,
            "each layer-2 network is an EVPN instance of its own (VLAN-based service)",
            "Junos has one instance for all of them (VLAN-aware bundle): nobody has tried the two in one network",
            "keep the leaves of a layer-2 network on one operating system",
        )
    if len({one.mac for one in config.gateways if one.mac}) > 1:
        yield _gap(config, "gateway-mac", "a MAC address for each shared gateway", "it has one for all", "warning")


def _balancing(config: DeviceConfig) -> Iterator[Finding]:
    mode, intent = config.balancing.group_mode, config.balancing.intent
    if mode in {"dlb-per-packet", "spray"}:
        why = "no public document shows the statements; groups are shared by static hash instead"
        opcodes = ", ".join(map(str, intent.spray_opcodes)) if mode == "spray" else ""
        what = f"{mode}{f' of RDMA opcodes {opcodes}' if opcodes else ''} inside a next-hop group"
        yield _gap(config, mode, what, why, "warning", "use dlb-flowlet")
    default = Dlb(flowset_table_size=intent.dlb.flowset_table_size)
    if mode == "dlb-flowlet" and intent.dlb != default:
        why = "EOS has a statement for the flowset table's size alone; the rest is the chip's default"
        yield _gap(config, "dlb-knobs", "the knobs of DLB", why)
    if intent.hash.seed is not None or not (intent.hash.layer3 and intent.hash.layer4):
        why = "they are set by platform profiles that no public schema has; EOS's own hash takes addresses and ports"
        yield _gap(config, "hash", "seed and fields of the hash", why)


def _qos(config: DeviceConfig) -> Iterator[Finding]:
    qos = config.qos
    if qos is None:
        return
    why = "lossless and lossy classes share one pool: thresholds and the headroom pool are set"
    yield _gap(config, "buffer-partition", "the partition of the buffer", why)
    if qos.buffers.dedicated_ingress is not None or qos.buffers.dedicated_egress is not None:
        yield _gap(config, "dedicated-buffer", "dedicated buffers as a share", "EOS reserves bytes a queue")
    if any(one.buffer_percent is not None for one in qos.classes.values()):
        yield _gap(config, "buffer-size", "a queue's share of dedicated buffer", "EOS reserves bytes a queue")
    if qos.xon_offset_cells is not None:
        yield _gap(
            config, "xon-offset", "how far below XOFF a pause is lifted", "the unit of `ingress resume` is not public"
        )


def _management(config: DeviceConfig) -> Iterator[Finding]:
    wanted = config.management
    if len({one.severity for one in wanted.syslog}) > 1:
        yield _gap(config, "syslog-severity", "a severity for each syslog server", "it has one: that which sends most")
    if any(len(user.ssh_keys) > 2 for user in wanted.users.values()):
        yield _gap(config, "ssh-keys", "more than two SSH keys of a user", "the first two are set", "warning")
    open_users = [name for name, user in wanted.users.items() if not user.password]
    if open_users:
        what = f"a user without a password who cannot log in at the console: {', '.join(open_users)}"
        yield _gap(
            config,
            "key-only-login",
            what,
            "they log in by key over SSH, and freely at the console",
            "warning",
            "give a password",
        )
    snmp = wanted.snmp
    if snmp and snmp.trap_targets and not (snmp.community or snmp.users):
        yield _gap(
            config, "traps", "traps without a community or a user", "none are sent", "warning", "give `community:`"
        )
    if wanted.services.grpc_certificate:
        what = "the certificate of gNMI inside the configuration"
        why = "it is a file on the switch: certificate:railweave.pem and sslkey:railweave.key"
        yield _gap(config, "certificate", what, why, fix="copy it there before loading, `copy FILE certificate:`")
