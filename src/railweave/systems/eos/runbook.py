"""The checks of Arista EOS. Commands are those of its manual; expected values follow from the design."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.systems import runbook
from railweave.systems.eos.names import MACSEC_PROFILE
from railweave.systems.eos.render.keys import CIPHERS
from railweave.systems.eos.render.qos import headroom_bytes, lossless

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.model.device.expected import ExpectedRouting, Route, Session
    from railweave.model.device.model import DeviceConfig, QosConfig
    from railweave.model.device.qos_model import TrafficClass
    from railweave.model.network.model import Network


ISIS = runbook.IsisWords(
    ("show isis neighbors", "show isis interface", "show isis summary"), "show bfd peers", "Loopback0"
)
"""IS-IS in the words of EOS."""


def macsec_checks(config: DeviceConfig) -> list[runbook.Check]:
    """MACsec on the long links; none where they are not encrypted."""
    ports = [one for one in config.interfaces if one.macsec is not None]
    wanted = ports[0].macsec if ports else None
    if wanted is None:
        return []
    points = (
        f"profile {MACSEC_PROFILE} secures {counted(len(ports), 'interface')}: {', '.join(one.name for one in ports)}",
        f"cipher {CIPHERS[wanted.cipher_suite]}, key name {wanted.key_name}, the same on both ends",
        "no link comes up where the keys differ: IS-IS, BGP and LLDP stay silent there",
    )
    return [runbook.Check("MACsec", ("show mac security interface", "show mac security participants"), points)]


CONFIGURATION = "eos.conf"


def load(config: DeviceConfig) -> list[tuple[str, tuple[str, ...]]]:
    """Words and commands that put the configuration on the switch."""
    user = next(iter(config.management.users), "USER")
    steps: list[tuple[str, tuple[str, ...]]] = [
        (
            (
                "Copy the file to the switch, at the address that it has now, or from a USB stick. A switch as delivered has "
                "the user admin without a password, who may log in on the console alone: give admin one first."
            ),
            (f"scp devices/{config.name}/{CONFIGURATION} admin@ADDRESS:/mnt/flash/{config.name}.conf",),
        )
    ]
    if config.management.services.grpc_certificate:
        steps.append(
            (
                "gNMI takes its certificate from the switch's own store: put it there first, or gNMI does not start.",
                ("copy flash:railweave.pem certificate:", "copy flash:railweave.key sslkey:"),
            )
        )
    steps.append(
        (
            (
                "Do the rest from the console. The session holds what changes until it is committed: read it, and stop where a "
                "line was refused."
            ),
            (
                "configure session railweave",
                "rollback clean-config",
                f"copy flash:{config.name}.conf session-config",
                "show session-config diffs",
            ),
        )
    )
    address = config.management_address.address
    return [
        *steps,
        ("Commit for 10 minutes: without a second commit the switch goes back by itself.", ("commit timer 00:10:00",)),
        ("From another terminal:", (f"ssh {user}@{address}",)),
        (
            "Only if that works, within the 10 minutes, on the console:",
            ("configure session railweave commit", "copy running-config startup-config"),
        ),
    ]


def identity(config: DeviceConfig, serial: str) -> runbook.Check:
    """Model, release and serial number."""
    points = [f"model {config.model}, EOS {config.release} or newer"]
    points += [f"serial number {serial}"] if serial else []
    points.append("another release: install this one first (`install source IMAGE`, `reload`), and look again")
    return runbook.Check("Model and release", ("show version",), tuple(points))


def checks(network: Network, config: DeviceConfig, expected: ExpectedRouting) -> list[runbook.Check]:
    """Every check after the configuration is loaded, in the order in which one depends on another."""
    made = [
        _ports(config),
        _modules(network, config),
        *macsec_checks(config),
        _lldp(config),
        *runbook.isis_checks(config, ISIS),
    ]
    if config.bgp is not None:
        made += _bgp(config, expected.sessions)
        made += _routes(config, expected.underlay)
    made += _tenants(network, config, expected)
    if config.gateways:
        made.append(_gateways(config))
    if config.qos is not None:
        made += _qos(config, config.qos)
    return made


def _ports(config: DeviceConfig) -> runbook.Check:
    points = (
        f"{counted(len(config.interfaces), 'port')} connected, each described with its neighbor in the port table",
    )
    return runbook.Check("Ports", ("show interfaces status connected", "show interfaces description"), points)


def _modules(network: Network, config: DeviceConfig) -> runbook.Check:
    commands = ("show interfaces transceiver", "show interfaces error-correction", "show interfaces counters errors")
    return runbook.modules_check(network, config, "Modules and error correction, all ports", commands, "")


def _lldp(config: DeviceConfig) -> runbook.Check:
    points = (
        f"{counted(len(config.fabric_interfaces()), 'switch', 'switches')} seen, each on the port of the port table above",
        "a neighbor on another port is a cable in the wrong port: move it before going on",
    )
    return runbook.Check("Cabling, by LLDP", ("show lldp neighbors",), points)


def _bgp(config: DeviceConfig, found: Sequence[Session]) -> list[runbook.Check]:
    bgp = config.bgp
    if bgp is None:
        return []
    points = (
        f"local AS {bgp.asn}, router id {bgp.router_id}, {counted(len(found), 'neighbor')}, all established",
        (
            "PfxRcd counts what was received, PfxAcc what the import policy lets in; the last column counts prefixes that "
            "have this session's port among their next hops"
        ),
    )
    made = [
        runbook.Check(
            "BGP sessions",
            tuple(f"show bgp {one} unicast summary" for one in bgp.families),
            (*points, *runbook.of_both_families(bgp)),
            runbook.SESSION_HEADER,
            runbook.session_rows(found),
        )
    ]
    if bgp.bfd:
        timers = f"{bgp.bfd.minimum_interval} ms x {bgp.bfd.multiplier}, down after {bgp.bfd.detection_ms():,} ms"
        made.append(
            runbook.Check(
                "BFD",
                ("show bfd peers",),
                (
                    f"{counted(runbook.with_bfd(config, found), 'session')} up",
                    f"{timers}{runbook.other_timers(config)}",
                ),
            )
        )
    return made


def _routes(config: DeviceConfig, examples: Sequence[Route]) -> list[runbook.Check]:
    if not examples or config.bgp is None:
        return []
    return [
        runbook.Check(
            "Routes to another leaf",
            runbook.first_of_each(examples),
            (f"prefixes of {examples[0].leaf}, with exactly these ports as next hops of the route in use",),
            ("Prefix", "Path color", "Next hops"),
            tuple((one.prefix, one.color, ", ".join(one.ports) or "none") for one in examples),
        )
    ]


def _tenants(network: Network, config: DeviceConfig, expected: ExpectedRouting) -> list[runbook.Check]:
    made = runbook.overlay_session_checks(config, "show bgp evpn summary")
    if not config.vrfs:
        return made
    first = config.vrfs[0]
    tables = (f"show {'ipv6' if family == 'ipv6' else 'ip'} route vrf {first.name}" for family in first.families())
    commands = ("show vrf", "show vxlan vni", *tables)
    made.append(runbook.tenants_check(network, config, expected.tenants, commands))
    return made + runbook.external_session_checks(config, "show bgp {family} unicast summary vrf {vrf}")


def _gateways(config: DeviceConfig) -> runbook.Check:
    rows = [
        (f"Vlan{one.vlan}" if one.vlan else one.port, address, prefix)
        for one in config.gateways
        for address, prefix in zip(one.addresses, one.prefixes, strict=True)
    ]
    six = rows[0][1].family == "ipv6"
    commands = (
        f"show {'ipv6' if six else 'ip'} interface brief",
        *((f"show ipv6 nd ra interface {rows[0][0]}",) if six else ()),
    )
    points = ["the gateway addresses below, up where a server is connected"]
    timers = next((one.advertisements for one in config.gateways if one.advertisements), None)
    if timers:
        points.append(
            f"each prefix below advertised, valid {timers.prefix_valid_lifetime:,} s, preferred "
            f"{timers.prefix_preferred_lifetime:,} s, every {timers.min_interval} to {timers.max_interval} s"
        )
    return runbook.Check("Server prefixes", commands, tuple(points), ("Interface", "Gateway", "Prefix"), tuple(rows))


def _qos(config: DeviceConfig, qos: QosConfig) -> list[runbook.Check]:
    port = config.interfaces[0].name
    rows = [
        (
            name,
            one.queue,
            ", ".join(map(str, one.dscp)) or "–",
            f"no-drop, PFC priority {one.pfc_priority}" if one.lossless else "lossy",
            _share(one),
            _marked(qos, name),
        )
        for name, one in sorted(qos.classes.items(), key=lambda item: item[1].queue)
    ]
    header = ("Class", "Traffic class and queue", "DSCP", "Loss", "Scheduling", "ECN marking")
    commands = ("show qos maps", f"show qos interfaces {port}")
    points = (f"bound to {counted(len(qos.ports), 'port')}; DSCPs not named below are {qos.default_class}",)
    made = [runbook.Check("Classes, ECN", commands, points, header, tuple(rows))]
    if lossless(qos):
        dog = qos.watchdog
        wanted = [f"headroom {headroom_bytes(qos):,} bytes a port and priority"]
        wanted += [f"watchdog: {dog.poll_interval} ms x {dog.detection}, recovery {dog.recovery} ms"] if dog else []
        pfc = ("show priority-flow-control status", "show platform trident mmu queue profile")
        made.append(runbook.Check("PFC and buffers", pfc, tuple(wanted)))
        counters = (
            "idle: no errors, no drops, no PFC frames, no ECN-marked packets",
            f"under load: PFC only on priority {', '.join(map(str, lossless(qos)))}, and ECN marks before it",
        )
        words = (
            "show priority-flow-control counters",
            f"show interfaces {port} counters queue",
            "show qos interfaces ecn counters queue",
        )
        made.append(runbook.Check("Counters, before and under load", words, counters))
    return made


def _share(one: TrafficClass) -> str:
    if one.priority == "strict-high":
        return f"strict, shaped to {one.transmit_percent} %" if one.transmit_percent else "strict"
    return f"bandwidth {one.transmit_percent} %" if one.transmit_percent else "–"


def _marked(qos: QosConfig, name: str) -> str:
    found = qos.marking.get(name)
    return f"{found.first // 1000} to {found.last // 1000} kB, up to {found.probability} %" if found else "–"
