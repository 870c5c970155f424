"""The checks of Junos OS Evolved.

Commands are those of the sources (EVPN test report, Table 9; the RDMA load-balancing document) and, where these have
none, ``show configuration``, which every release has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.systems.junos.names import SELECTIVE_FILTER
from railweave.systems.junos.runbook.interconnect import ISIS, macsec_checks, spraying_checks
from railweave.systems.junos.runbook.overlay import overlay_checks, tenant_checks
from railweave.systems.junos.runbook.qos import qos_checks
from railweave.systems.junos.runbook.routing import discovery_check, route_checks, session_checks
from railweave.systems.runbook import Check, isis_checks, modules_check

if TYPE_CHECKING:
    from railweave.model.device.expected import ExpectedRouting
    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network

CONFIGURATION = "junos.conf"


def load(config: DeviceConfig) -> list[tuple[str, tuple[str, ...]]]:
    """Words and commands that put the configuration on the switch, each ``commit`` only after what was seen before it."""
    user = next(iter(config.management.users), "USER")
    later = f"as {user} once it runs this design" if config.management.users else "as a user of its own once it has one"
    bgp = config.bgp
    untried = bgp is not None and (bgp.fabric_advertise or any(group.fabric_color for group in bgp.groups))
    steps: list[tuple[str, tuple[str, ...]]] = [
        (
            (
                "Copy the file to the switch, at the address that it has now, or from a USB stick: as root on a switch as "
                f"delivered, {later}. As delivered, root has no password and may not log in over SSH: give it both on the "
                "console first (`set system root-authentication plain-text-password`, `set system services ssh root-login "
                "allow`, `commit`)."
            ),
            (f"scp devices/{config.name}/{CONFIGURATION} root@ADDRESS:/var/tmp/{config.name}.conf",),
        ),
        (
            (
                "Do the rest from the console: management moves into the routing instance mgmt_junos, which may end a session "
                "over the management port. Read what changes, and stop where the check refuses."
            ),
            ("configure exclusive", f"load override /var/tmp/{config.name}.conf", "show | compare", "commit check"),
        ),
    ]
    if untried:
        steps.append(
            (
                (
                    "**`fabric-advertise` and `fabric-color` were never tried on a device and are in no published model.** Run "
                    "`commit check` on one spine and on one leaf before any switch is committed; stop if either refuses."
                ),
                (),
            )
        )
    address = config.management_address.address
    return [
        *steps,
        ("Commit for 10 minutes: without a second commit the switch goes back by itself.", ("commit confirmed 10",)),
        ("From another terminal:", (f"ssh {user}@{address}",)),
        ("Only if that works, within the 10 minutes, on the console:", ("commit",)),
    ]


def identity(config: DeviceConfig, serial: str) -> Check:
    """Model, release and serial number."""
    points = [f"model {config.model}, Junos OS Evolved {config.release}"]
    points += [f"chassis serial number {serial}"] if serial else []
    points += [
        (
            "another release: install this one first, from the console (`request system software add /var/tmp/PACKAGE`, `request "
            "system reboot`), and look again"
        ),
        "licences: 0 in the column Licenses needed of every row, also after loading",
    ]
    return Check("Model and release", ("show version", "show chassis hardware", "show system license"), tuple(points))


def checks(network: Network, config: DeviceConfig, expected: ExpectedRouting) -> list[Check]:
    """Every check after the configuration is loaded, in the order in which one depends on another."""
    made = [_ports(config), _modules(network, config), *macsec_checks(config), _lldp(config)]
    if config.bgp is not None:
        made += [discovery_check(config), *session_checks(config, expected.sessions)]
        made += route_checks(config, expected.examples)
    if config.isis is not None:
        made += [*isis_checks(config, ISIS), *route_checks(config, expected.examples)]
    made += tenant_checks(network, config, expected)
    if config.gateways:
        made.append(_gateways(config))
    made += overlay_checks(config, expected)
    if config.qos is not None:
        made += qos_checks(config, config.qos)
    made += [_balancing(config), *spraying_checks(config)]
    if config.qos is not None:
        made.append(_counters(config))
    return made


def _ports(config: DeviceConfig) -> Check:
    splits = [f"{one.port}: {one.channels} x {one.speed_gbps}G" for one in config.splits if one.channels > 1]
    slower = [f"{one.port} at {one.speed_gbps}G" for one in config.splits if one.channels == 1]
    others = ["irb"] if any(one.vlan for one in config.gateways) else []
    others += ["the parents of split ports"] if splits else []
    besides = f"; besides them {' and '.join(others)} are listed" if others else ""
    points = [
        f"{counted(len(config.interfaces), 'port')} up, up, each described with its neighbor in the port table{besides}"
    ]
    points += [f"ports split: {', '.join(splits)}"] if splits else []
    points += [f"whole ports below their speed: {', '.join(slower)}"] if slower else []
    mtus = sorted({one.mtu for one in config.interfaces})
    points.append(f"MTU {', '.join(map(str, mtus))} on every port")
    first = config.interfaces[0].name if config.interfaces else "et-*"
    return Check("Ports", ("show interfaces descriptions", f"show interfaces {first}"), tuple(points))


def _modules(network: Network, config: DeviceConfig) -> Check:
    commands = (
        "show interfaces diagnostics optics",
        'show interfaces et-* extensive | match "Physical interface|FEC|CRC"',
        "show chassis alarms",
    )
    return modules_check(network, config, "Modules and error correction, all ports", commands, " (Junos: FEC119)")


def _lldp(config: DeviceConfig) -> Check:
    switches = len(config.fabric_interfaces())
    servers = sum(1 for one in config.interfaces if one.kind == "server")
    points = [
        f"{counted(switches, 'switch', 'switches')} seen besides what the management port shows, each on the port of the port table above"
    ]
    points += [f"{counted(servers, 'server port')} more where the servers run LLDP"] if servers else []
    points.append("a neighbor on another port is a cable in the wrong port: move it before going on")
    return Check("Cabling, by LLDP", ("show lldp neighbors",), tuple(points))


def _gateways(config: DeviceConfig) -> Check:
    rows = [
        (f"irb.{one.vlan}" if one.vlan else f"{one.port}.0", address, prefix)
        for one in config.gateways
        for address, prefix in zip(one.addresses, one.prefixes, strict=True)
    ]
    advertised = next((one.advertisements for one in config.gateways if one.advertisements), None)
    units = list(dict.fromkeys(unit for unit, _, _ in rows))
    commands = ["show interfaces terse irb" if config.gateways[0].vlan else "show interfaces terse"]
    points = ["the gateway addresses below, up where a server is connected"]
    if advertised:
        commands.append(f"show ipv6 router-advertisement interface {units[0]}")
        points.append(
            f"each prefix below advertised on-link and autonomous, valid {advertised.prefix_valid_lifetime:,} s, "
            f"preferred {advertised.prefix_preferred_lifetime:,} s, every {advertised.min_interval} to "
            f"{advertised.max_interval} s"
        )
    families = {family for one in config.gateways for family in one.families}
    commands += ["show arp no-resolve"] if "ipv4" in families else []
    commands += ["show ipv6 neighbors"] if "ipv6" in families else []
    if config.gateways[0].proxy_arp:
        points.append("proxy ARP on each: a server that asks for another's address gets the router's MAC")
    points.append("once servers are up: an address of each NIC in each prefix, reachable")
    return Check("Server prefixes", tuple(commands), tuple(points), ("Interface", "Gateway", "Prefix"), tuple(rows))


def _balancing(config: DeviceConfig) -> Check:
    intent, mode = config.balancing, config.balancing.group_mode
    points = [f"next-hop groups are shared by {mode}"]
    if mode.startswith("dlb"):
        dlb = intent.dlb
        bands = dlb.egress_quantization
        points += [
            (
                f"acts on {' and '.join(config.balancing.ether_types)}; inactivity interval "
                f"{dlb.inactivity_interval:g} µs, flowset table {dlb.flowset_table_size}, {dlb.sampling_rate:,} samples/s"
            ),
            f"quality bands {bands.min} to {bands.max} %, rate weight {bands.rate_weightage} %",
        ]
    width = config.maximum_ecmp()
    points += [f"next-hop groups of up to {width} members"] if width else []
    commands = ["show forwarding-options enhanced-hash-key"] if mode.startswith("dlb") else []
    commands += ["show configuration forwarding-options", "show configuration chassis"]
    if config.balancing.selective:
        opcodes = ", ".join(map(str, config.balancing.selective))
        points.append(f"dynamically for RDMA opcodes {opcodes} alone: the counter rdma grows under load")
        commands.append(f"show firewall filter {SELECTIVE_FILTER}")
    if config.balancing.global_role:
        points.append(f"global load balancing, {config.balancing.global_role}")
        commands.append("show configuration protocols bgp global-load-balancing")
    return Check("Load balancing", tuple(commands), tuple(points))


def _counters(config: DeviceConfig) -> Check:
    port = config.interfaces[0].name
    lossless = [one for one in config.qos.classes.values() if one.lossless] if config.qos else []
    points = ["idle: no errors, no drops, no PFC frames, no ECN-marked packets"]
    points += [
        f"under load: packets in queue {one.queue}, none dropped; PFC only on priority {one.pfc_priority}, "
        "and ECN marks before it"
        for one in lossless
    ]
    points.append("resource errors on input: the headroom partition is short for the real cables")
    commands = [f"show interfaces {port} extensive", f"show interfaces queue {port}"]
    if config.qos and config.qos.buffer_monitor:
        commands += [f"show interfaces {what} buffer-occupancy {port}" for what in ("queue", "priority-group")]
    return Check("Counters, before and under load", tuple(commands), tuple(points))
