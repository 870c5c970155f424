"""The checks of SONiC.

Commands are those of its command reference (sonic-utilities, ``doc/Command-Reference.md``). Routing is FRRouting's, and asked in
``vtysh``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.systems.frr.runbook import routing_checks
from railweave.systems.runbook import CLASS_HEADER, Check, class_rows, modules_check
from railweave.systems.sonic.daemons import started
from railweave.systems.sonic.render.names import vrf_names
from railweave.systems.sonic.render.ports import ETHERNET_HEADER
from railweave.systems.sonic.render.qos import lossless, lossless_profile, profile_name
from railweave.systems.sonic.render.system import ecmp_fields

if TYPE_CHECKING:
    from railweave.model.device.expected import ExpectedRouting
    from railweave.model.device.model import DeviceConfig, QosConfig
    from railweave.model.network.model import Network

CONFIGURATION = "config_db.json"
ROUTING = "frr.conf"
SORTED = "python3 -m json.tool --sort-keys"


def load(config: DeviceConfig) -> list[tuple[str, tuple[str, ...]]]:
    """Words and commands that put both files on the switch. SONiC has no commit that takes itself back."""
    name = config.name
    return [
        (
            "Copy both files to the switch, at the address that it has now:",
            (f"scp devices/{name}/{CONFIGURATION} devices/{name}/{ROUTING} admin@ADDRESS:/tmp/",),
        ),
        (
            (
                "Do the rest from the console: `config reload` stops every service and changes the management address. SONiC has "
                "no commit that takes itself back, so keep the old files."
            ),
            (
                "sudo cp /etc/sonic/config_db.json /etc/sonic/config_db.before.json",
                "sudo cp /etc/sonic/frr/frr.conf /etc/sonic/frr/frr.before.conf",
            ),
        ),
        (
            "Look at what changes; the second command is silent where FRRouting reads every line:",
            (
                f"diff <(sonic-cfggen -d --print-data | {SORTED}) <({SORTED} /tmp/{CONFIGURATION})",
                f"docker cp /tmp/{ROUTING} bgp:/tmp/{ROUTING} && docker exec bgp vtysh -C -f /tmp/{ROUTING}",
            ),
        ),
        (
            "Put both in place and load them:",
            (
                f"sudo cp /tmp/{CONFIGURATION} /etc/sonic/config_db.json",
                f"sudo cp /tmp/{ROUTING} /etc/sonic/frr/frr.conf",
                "sudo config reload -y",
            ),
        ),
        (
            (
                f"From another terminal, after the services are up: `ssh admin@{config.management_address.address}`. If that does "
                "not work, go back on the console:"
            ),
            (
                "sudo cp /etc/sonic/config_db.before.json /etc/sonic/config_db.json",
                "sudo cp /etc/sonic/frr/frr.before.conf /etc/sonic/frr/frr.conf",
                "sudo config reload -y",
            ),
        ),
    ]


def identity(config: DeviceConfig, serial: str) -> Check:
    """Hardware, release and serial number."""
    platform = catalog().switches[config.model].sonic
    points = [f"HwSKU {platform.hwsku}, platform {platform.platform}"] if platform else []
    points += [f"SONiC {config.release}, or a newer release of the same branch"]
    points += [f"serial number {serial}"] if serial else []
    points += [
        "another release: install this one first (`sudo sonic-installer install IMAGE`, `sudo reboot`), and look again"
    ]
    return Check("Model and release", ("show version", "show platform summary"), tuple(points))


def checks(network: Network, config: DeviceConfig, expected: ExpectedRouting) -> list[Check]:
    """Every check after the configuration is loaded, in the order in which one depends on another."""
    made = [_services(config), _ports(config), _modules(network, config), _lldp(config)]
    made += [in_vtysh(one) for one in routing_checks(network, config, expected, vrf_names(config))]
    if config.gateways:
        made.append(_gateways(config))
    made += _hash(config)
    if config.qos is not None:
        made += _qos(config, config.qos)
    return made


def in_vtysh(check: Check) -> Check:
    """A check of FRRouting with its commands as SONiC's shell takes them."""
    return replace(check, commands=tuple(f"vtysh -c '{one}'" for one in check.commands))


def _services(config: DeviceConfig) -> Check:
    runs = started(config)
    needed = [
        "zebra",
        "bgpd",
        *(["bfdd"] if config.bgp and config.bgp.bfd else []),
        *(["isisd"] if config.isis else []),
    ]
    points = [
        "every service that the switch needs is up: nothing below is true before",
        f"FRRouting runs {', '.join(needed)}",
    ]
    points += [f"SONiC itself starts no {one}: nothing of it works before it runs" for one in needed if one not in runs]
    if "bfdd" in runs:
        points.append(
            "bgpcfgd does not run, frrcfgd does: no route-map RM_SET_SRC gives packets of the switch itself its loopback's address (`ping -I Loopback0`), "
            "and SNMP knows no BGP neighbors"
        )
    commands = ("show system-health summary", "show feature status", "vtysh -c 'show daemons'")
    return Check("Services", commands, tuple(points))


def port_mtus(config: DeviceConfig) -> list[int]:
    """The MTUs of ports, as SONiC counts them: without the Ethernet header."""
    routed = {one.port: one.mtu for one in config.gateways if one.port}
    return sorted({routed.get(one.name, one.mtu - ETHERNET_HEADER) for one in config.interfaces})


def _ports(config: DeviceConfig) -> Check:
    splits = [f"{one.port}: {one.channels}x{one.speed_gbps}G" for one in config.splits if one.channels > 1]
    mtus = ", ".join(map(str, port_mtus(config)))
    points = [
        f"{counted(len(config.interfaces), 'port')} up, up, each described with its neighbor in the port table; MTU {mtus}, without the Ethernet header"
    ]
    points += [f"ports split: {', '.join(splits)}"] if splits else []
    commands = ["show interfaces status", "show interfaces description"]
    commands += ["show interfaces breakout current-mode"] if splits else []
    return Check("Ports", tuple(commands), tuple(points))


def _modules(network: Network, config: DeviceConfig) -> Check:
    commands = (
        "show interfaces transceiver presence",
        "show interfaces transceiver eeprom --dom",
        "show interfaces fec status",
        "show interfaces counters fec-stats",
        "show interfaces counters errors",
    )
    return modules_check(network, config, "Modules and error correction, all ports", commands, " (SONiC: rs)")


def _lldp(config: DeviceConfig) -> Check:
    points = (
        f"{counted(len(config.fabric_interfaces()), 'switch', 'switches')} seen, each on the port of the port table above",
        "a neighbor on another port is a cable in the wrong port: move it before going on",
    )
    return Check("Cabling, by LLDP", ("show lldp table",), points)


def _gateways(config: DeviceConfig) -> Check:
    rows = [
        (f"Vlan{one.vlan}" if one.vlan else one.port, address, prefix)
        for one in config.gateways
        for address, prefix in zip(one.addresses, one.prefixes, strict=True)
    ]
    six = rows[0][1].family == "ipv6"
    commands = [f"show {'ipv6' if six else 'ip'} interfaces"]
    points = ["the gateway addresses below, up where a server is connected"]
    if any(one.vlan for one in config.gateways):
        commands.append("show vlan brief")
        members = sum(1 for one in config.interfaces if one.vlan)
        points.append(f"{counted(members, 'port')} in these VLANs, untagged where servers do not tag")
    timers = next((one.advertisements for one in config.gateways if one.advertisements), None)
    if timers:
        commands.append("vtysh -c 'show ipv6 nd ra-interfaces'")
        points.append(
            f"each prefix below advertised, valid {timers.prefix_valid_lifetime:,} s, preferred "
            f"{timers.prefix_preferred_lifetime:,} s, every {timers.min_interval} to {timers.max_interval} s"
        )
    return Check("Server prefixes", tuple(commands), tuple(points), ("Interface", "Gateway", "Prefix"), tuple(rows))


def _hash(config: DeviceConfig) -> list[Check]:
    """The fields that next-hop groups are shared by: orchagent leaves them as they are on a chip that cannot have them, with a line in syslog alone.

    Source: sonic-swss, ``orchagent/switchorch.cpp`` (``setSwitchHash``).
    """
    fields = ecmp_fields(config)
    if not fields:
        return []
    points = (
        f"ECMP hash {', '.join(fields)}, each of them among the capabilities; if one is missing, orchagent sets none of them, and syslog has `capability is not supported`",
        "the chip then hashes by fields of its own: see that all uplinks carry traffic",
    )
    commands = ("show switch-hash global", "show switch-hash capabilities")
    return [Check("Hash of next-hop groups", commands, points)]


def _qos(config: DeviceConfig, qos: QosConfig) -> list[Check]:
    port = config.interfaces[0].name
    words = (f"bound to {counted(len(qos.ports), 'port')}; DSCPs not named below are {qos.default_class}",)
    commands = ("show runningconfiguration all", "show ecn")
    made = [Check("Classes, ECN", commands, words, CLASS_HEADER, class_rows(qos))]
    paused = lossless(qos)
    if not paused:
        return made
    dog, priorities = qos.watchdog, ", ".join(map(str, paused))
    asked = ["show pfc priority", "show buffer configuration"]
    points = [f"PFC on priority {priorities} of every port below"]
    if dog:
        asked.append("show pfcwd config")
        found = f"{dog.action}, detection {dog.poll_interval * dog.detection} ms, restoration {dog.recovery} ms"
        points.append(f"watchdog: {found}, polled every {dog.poll_interval} ms")
    made.append(Check("PFC and buffers", tuple(asked), tuple(points), *_profiles(config, qos)))
    counters = ["show pfc counters", f"show queue counters {port}", f"show queue wredcounters {port}"]
    counters += ["show priority-group drop counters", "show priority-group watermark headroom"]
    seen = [
        "idle: no errors, no drops, no PFC frames, no ECN-marked packets",
        f"under load: PFC only on priority {priorities}, and ECN marks before it",
        "drops of a lossless priority group: its headroom is short for the real cable",
    ]
    if dog:
        counters.append("show pfcwd stats")
        seen.append("the watchdog has detected nothing")
    return [*made, Check("Counters, before and under load", tuple(counters), tuple(seen))]


def _profiles(config: DeviceConfig, qos: QosConfig) -> tuple[tuple[str, ...], tuple[tuple[object, ...], ...]]:
    """The lossless buffer profile of each port, as ``BUFFER_PROFILE`` has it."""
    model = catalog().switches[config.model]
    ports: dict[str, int] = {}
    rows: dict[str, tuple[object, object]] = {}
    for profile in qos.profiles:
        for port in config.interfaces:
            if port.name in profile.ports:
                name = profile_name(port, profile)
                row = lossless_profile(profile, qos, model)
                rows[name] = (row["size"], row["xoff"])
                ports[name] = ports.get(name, 0) + 1
    header = ("Buffer profile", "Size, bytes", "Headroom (xoff), bytes", "Ports")
    return header, tuple((name, *rows[name], ports[name]) for name in rows)
