"""The checks of Junos OS Evolved.

Commands are those of the sources (EVPN test report, Table 9; the RDMA load-balancing document) and, where these have
none, ``show configuration``, which every release has.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.model.catalog.headroom import port_headroom
from railweave.systems import runbook
from railweave.systems.junos import names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from railweave.model.device.expected import ExpectedRouting, Route, Session, SharedPrefix
    from railweave.model.device.model import DeviceConfig, QosConfig
    from railweave.model.device.qos_model import TrafficClass
    from railweave.model.network.model import Network


def qos_checks(config: DeviceConfig, qos: QosConfig) -> list[runbook.Check]:
    """Classes with their marking, buffer partitions, and PFC by cable length."""
    buffers = qos.buffers
    model = catalog().switches.get(config.model)
    by_account = model is not None and "pfc-headroom" in model.platform.lacks
    port = qos.ports[0] if qos.ports else "PORT"
    rows = [
        (
            names.class_name(name),
            one.queue,
            ", ".join(f"{dscp} ({dscp:06b})" for dscp in one.dscp) or "–",
            f"{'' if by_account else 'no-loss, '}PFC priority {one.pfc_priority}" if one.lossless else "lossy",
            _share(one),
            f"{one.ecn.min_fill} % to {one.ecn.max_fill} % fill, up to {one.ecn.max_probability} %" if one.ecn else "–",
        )
        for name, one in qos.classes.items()
    ]
    made = [
        runbook.Check(
            "Classes, ECN",
            (
                "show class-of-service forwarding-class",
                f"show class-of-service classifier name {names.CLASSIFIER}",
                f"show class-of-service scheduler-map {names.SCHEDULER_MAP}",
                "show class-of-service drop-profile",
                f"show class-of-service interface {port}",
                "show configuration class-of-service | display set",
            ),
            (f"bound to {counted(len(qos.ports), 'port')}, none by wildcard", _own_packets(qos)),
            ("Class", "Queue", "DSCP", "Loss", "Scheduling", "ECN marking"),
            tuple(rows),
        ),
    ]
    if qos.shared_buffer:
        made.append(
            runbook.Check(
                "Buffer partitions",
                ("show class-of-service shared-buffer", "show configuration class-of-service shared-buffer"),
                (
                    *_shared(config, qos),
                    (
                        f"ingress: lossless {buffers.lossless} %, headroom {buffers.headroom} %, lossy {buffers.lossy} %, "
                        f"dynamic threshold {buffers.ingress_dynamic_threshold}"
                    ),
                    (
                        f"egress: lossless {buffers.egress_lossless} %, lossy {buffers.egress_lossy} %, "
                        f"multicast {buffers.egress_multicast} %"
                        + (" (the system's default)" if buffers.egress == "system" else "")
                    ),
                ),
            )
        )
    if qos.profiles:
        dog = qos.watchdog
        points = (
            [f"watchdog: {dog.poll_interval} ms x {dog.detection}, recovery {dog.recovery} ms, {dog.action}"]
            if dog
            else []
        )
        made.append(
            runbook.Check(
                "PFC per port",
                (
                    "show class-of-service congestion-notification",
                    f"show interfaces {port} extensive",
                    "show configuration class-of-service congestion-notification-profile",
                ),
                (
                    *points,
                    "Priority Flow Control Statistics of a port list every priority: without load all 0",
                    _headroom_note(by_account=by_account),
                ),
                ("Profile", "Cable length", "MRU", "Ports"),
                tuple(
                    (one.name, f"{one.cable_length_m} m", one.mru_bytes, counted(len(one.ports), "port"))
                    for one in qos.profiles
                ),
            )
        )
    return made


def _headroom_note(*, by_account: bool) -> str:
    """Return notes on the headroom that the peers of ports need."""
    if by_account:
        return (
            "load one router first: PFC accounts pause at 5000 µs of the port's speed and resume at 3750 µs; which queue stops when the "
            "peer pauses is Junos' own, for no document has a statement for it here"
        )
    return "the cable length decides the headroom: correct it in the inventory where it was measured otherwise"


def _share(one: TrafficClass) -> str:
    if one.priority == "strict-high":
        return f"strict-high, at most {one.transmit_percent} %" if one.transmit_percent else "strict-high"
    return f"low, at least {one.transmit_percent} %" if one.transmit_percent else "low"


def _shared(config: DeviceConfig, qos: QosConfig) -> tuple[str, ...]:
    """What the pools must show: shares of what dedicated buffers leave, and at least what the ports' headroom needs."""
    speeds = {one.name: one.speed_gbps for one in config.interfaces}
    model = catalog().switches[config.model]
    alike = Counter(
        (profile.cable_length_m, speeds[port], profile.mru_bytes)
        for profile in qos.profiles
        for port in profile.ports
        if port in speeds
    )
    need = sum(
        ports * port_headroom(catalog(), model, length_m, speed, mru).need_bytes
        for (length_m, speed, mru), ports in alike.items()
    ) * sum(one.lossless for one in qos.classes.values())
    words = (
        [f"ingress, Lossless Headroom: at least {math.ceil(need / 1024):,} KB, which the ports below need"]
        if need
        else []
    )
    dedicated = model.dedicated
    if dedicated is None:
        return tuple(words)
    buffers = qos.buffers
    shared = dedicated.shared_bytes(buffers.dedicated_ingress, buffers.dedicated_egress) // 1024
    parts = {"Lossless": buffers.lossless, "Lossless Headroom": buffers.headroom, "Lossy": buffers.lossy}
    pools = ", ".join(f"{name} {shared * part // 100:,} KB" for name, part in parts.items())
    return (
        f"ingress: Shared Buffer about {shared:,} KB as published for these dedicated buffers, of it {pools}",
        *words,
    )


_CONTROL_QUEUE = 3
"""Where Junos routers send BFD, and what BGP sends again ("Default Queue Assignments for Routing Engine Sourced Traffic")."""


def _own_packets(qos: QosConfig) -> str:
    """The queue of what the switch sends itself, as far as it is known."""
    there = next(
        (names.class_name(name) for name, one in qos.classes.items() if one.queue == _CONTROL_QUEUE), "no class"
    )
    words = (
        "BGP and BFD leave by the queue that the release chooses: for its routers Juniper documents queue 0 for BGP, "
        f"queue {_CONTROL_QUEUE} for BFD and for what BGP sends again, for this switch nothing; queue {_CONTROL_QUEUE} is "
        f"{there} here. `show interfaces queue PORT` of an uplink without other traffic shows which one counts"
    )
    control = qos.classes.get("network-control")
    if control is None:
        return words
    return (
        f"{words}; `class-of-service host-outbound-traffic forwarding-class network-control` in `extra:` takes them to "
        f"queue {control.queue} (not tried on a QFX5240)"
    )


ISIS = runbook.IsisWords(
    ("show isis adjacency", "show isis interface", "show isis overview"), "show bfd session", "lo0.0", "{port}.0"
)
"""IS-IS in the words of Junos."""


def macsec_checks(config: DeviceConfig) -> list[runbook.Check]:
    """MACsec on the long links; none where they are not encrypted."""
    ports = [one for one in config.interfaces if one.macsec is not None]
    wanted = ports[0].macsec if ports else None
    if wanted is None:
        return []
    points = (
        f"{counted(len(ports), 'interface')} secured: {', '.join(one.name for one in ports)}",
        f"cipher suite {wanted.cipher_suite}, key name {wanted.key_name}, the same on both ends",
        "no link comes up where the keys differ: IS-IS, BGP and LLDP stay silent there",
    )
    return [runbook.Check("MACsec", ("show security mka sessions", "show security macsec connections"), points)]


def spraying_checks(config: DeviceConfig) -> list[runbook.Check]:
    """That packets of the wanted opcodes alone are sprayed."""
    if not config.balancing.sprays_by_opcode:
        return []
    codes = ", ".join(map(str, config.balancing.opcodes))
    points = (
        "the instance has the routes of the main table; its next hops are shared at random, the main table's by flow",
        f"packets with RDMA opcode {codes} that come in by {', '.join(config.balancing.filtered_ports)} take it",
        "under load every port towards the other site carries the same rate, to a few percent",
    )
    commands = (
        f"show route table {names.SPRAYING_INSTANCE}.inet.0",
        f"show route forwarding-table table {names.SPRAYING_INSTANCE}",
        f"show configuration firewall | match {names.SPRAYING_FILTER}",
        "monitor interface traffic",
    )
    return [runbook.Check("Spraying by opcode", commands, points)]


def tenant_checks(network: Network, config: DeviceConfig, expected: ExpectedRouting) -> list[runbook.Check]:
    """Return the overlay's sessions and tenants, by commands of the EVPN test report (Table 9) and those of EVPN type-5 routes."""
    made = runbook.overlay_session_checks(config, "show bgp summary group overlay")
    if not config.vrfs:
        return made
    first = config.vrfs[0]
    tables = [f"{first.name}.{'inet6' if family == 'ipv6' else 'inet'}.0" for family in first.families()]
    commands = (
        "show route instance detail",
        f"show evpn ip-prefix-database l3-context {first.name}",
        *(f"show route table {table}" for table in tables),
    )
    shown = f"the table {tables[0]} has" if len(tables) == 1 else f"the tables {' and '.join(tables)} together have"
    more = runbook.prefixes_from_outside(config)
    point = f"{shown} the first row's prefixes, and no others" + (f" but {more}" if more else "")
    return [*made, runbook.tenants_check(network, config, expected.tenants, commands, points=(point,))]


def overlay_checks(config: DeviceConfig, expected: ExpectedRouting) -> list[runbook.Check]:
    """Return the checks of layer-2 networks and of prefixes from outside; none if the switch has neither."""
    return [*_networks(config, expected.bridged), *_outside(config, expected.shared)]


def _networks(config: DeviceConfig, bridged: Mapping[int, tuple[str, ...]]) -> list[runbook.Check]:
    found = config.mac_vrf
    if found is None:
        return []
    rows: list[tuple[object, ...]] = []
    for one in found.vlans:
        others = [leaf for leaf in bridged[one.vni] if leaf != config.name]
        ports = sum(1 for port in config.interfaces if port.vlan == one.name)
        rows.append((one.name, one.vlan, one.vni, one.route_target, ports, ", ".join(others) or "none"))
    return [
        runbook.Check(
            "Layer-2 networks, as configured",
            (f"show configuration routing-instances {found.name}", "show vlans"),
            (
                "each VLAN below with its VNI and route target; VLAN, VNI and target are the same on the other leaves",
                "once servers are up: their MAC addresses on the ports here, those of the other leaves behind a tunnel",
            ),
            ("VLAN", "Id", "VNI", "Route target", "Ports here", "Other leaves"),
            tuple(rows),
        )
    ]


def _outside(config: DeviceConfig, expected: Iterable[SharedPrefix]) -> list[runbook.Check]:
    made: list[runbook.Check] = []
    external = {vrf.name: vrf.external for vrf in config.vrfs}
    for one in expected:
        here = one.leaves == (config.name,)
        table = f"{one.vrf}.inet6.0" if one.prefix.family == "ipv6" else f"{one.vrf}.inet.0"
        rows = [
            (peer.router, peer.session.peer_address, peer.session.peer_as, peer.session.interface)
            for peer in external[one.vrf]
        ]
        points = ["the best route is of the router below" if here else f"learned from {', '.join(one.leaves)} by EVPN"]
        points += (
            [f"{counted(len(rows), 'session')} established, with the prefixes of its policy and no others"]
            if rows
            else []
        )
        header = ("Router", "Address", "AS", "Port") if rows else ()
        commands = (f"show route table {table} {one.prefix} exact", *(("show bgp summary",) if rows else ()))
        made.append(runbook.Check(f"{one.prefix} of {one.vrf}", commands, tuple(points), header, tuple(rows)))
    return made


def discovery_check(config: DeviceConfig) -> runbook.Check:
    """Neighbors by router advertisements, or by their addresses."""
    ports = [one.name for one in config.fabric_interfaces() if not one.addresses]
    points = (
        f"{counted(len(ports), 'port')} towards switches send and receive router advertisements",
        "a link-local neighbor on each of them, state reachable; ping it where BGP does not come up",
        "BGP comes up with any AS of the list: another AS on a port than in the table of sessions is a swapped cable",
    )
    first = ports[0] if ports else config.fabric_interfaces()[0].name
    commands = (
        f"show ipv6 router-advertisement interface {first}.0",
        "show ipv6 neighbors",
        f"ping fe80::PEER interface {first}.0 count 3",
    )
    if not ports:
        points = ("the address of each neighbor in the table of sessions below answers",)
        commands = ("show ipv6 neighbors", "ping PEER-ADDRESS count 3")
    return runbook.Check("Neighbors", commands, points)


def session_checks(config: DeviceConfig, found: Sequence[Session]) -> list[runbook.Check]:
    """Sessions of BGP with the prefixes of each, and BFD."""
    bgp = config.bgp
    if bgp is None:
        return []
    discovered = any(not one.session.peer_address for one in found)
    commands = ("show bgp summary", *(("show bgp summary autodiscovered",) if discovered else ()))
    outside = [one for vrf in config.vrfs for one in vrf.external]
    evpn = len(config.overlay.neighbors) if config.overlay else 0
    groups = len(bgp.groups) + bool(evpn) + len({one.router for one in outside})
    points = [
        f"Groups: {groups}  Peers: {len(found) + evpn + len(outside)}  Down peers: 0",
        f"local AS {bgp.asn}, router id {bgp.router_id}",
    ]
    points += [f"{counted(evpn, 'peer')} of them in group overlay, loopback to loopback"] if evpn else []
    points += [f"{counted(len(outside), 'peer')} of them external, in VRFs"] if outside else []
    points.append(_counts(found))
    if discovered:
        points.append("a discovered neighbor is shown as its link-local address, % and the port")
    sums = runbook.Check(
        "BGP sessions",
        commands,
        tuple(points),
        runbook.SESSION_HEADER,
        runbook.session_rows(found, "%{port}.0"),
    )
    return [sums, *([_bfd(config, runbook.with_bfd(config, found))] if bgp.bfd else [])]


def _counts(found: Sequence[Session]) -> str:
    """How the counts of ``show bgp summary`` compare with the table of sessions."""
    words = "each line ends in Active/Received/Accepted/Damped: Received and Accepted as in the table"
    if not any(one.shared for one in found):
        return f"{words}, Active as in its last column: each prefix is used from the session of its next hop alone"
    return (
        f"{words}. Its last column counts prefixes that have this session's port among their next hops; Active may count "
        "one with several next hops on one of their sessions alone"
    )


def _bfd(config: DeviceConfig, count: int) -> runbook.Check:
    bfd = config.bgp.bfd if config.bgp else None
    timers = f"{bfd.minimum_interval} ms x {bfd.multiplier}, down after {bfd.detection_ms():,} ms" if bfd else ""
    return runbook.Check(
        "BFD", ("show bfd session",), (f"{counted(count, 'session')} up", f"{timers}{runbook.other_timers(config)}")
    )


def route_checks(config: DeviceConfig, examples: Sequence[Route]) -> list[runbook.Check]:
    """What the switch advertises by path color, and routes to another leaf."""
    bgp = config.bgp
    made: list[runbook.Check] = []
    if bgp is not None and bgp.fabric_advertise:
        colors = {one.fabric_color for one in bgp.groups}
        rows = [(one.prefix, one.color, ", ".join(one.backup_colors)) for one in bgp.fabric_advertise]
        made.append(
            runbook.Check(
                "Own prefixes, by path color",
                ("show route advertising-protocol bgp NEIGHBOR detail",),
                (
                    f"{len(rows)} prefixes to every neighbor, each with the color community of the session",
                    f"AIGP only on those whose color is the session's ({counted(len(colors), 'path color')})",
                ),
                ("Prefix", "Path color", "Backup colors"),
                tuple(rows),
            )
        )
    if examples:
        points = [
            (
                f"prefixes of {examples[0].leaf}: the active path (marked `*`) has exactly these ports as next hops; paths by other "
                "sessions are listed below it and not used"
            )
        ]
        if not config.gateways and len(examples) > 1:
            points.append("prefixes of path colors that the links to that leaf do not have are there as backup")
        made.append(
            runbook.Check(
                "Routes to another leaf",
                tuple(f"show route {one.prefix} detail" for one in examples[:1]),
                tuple(points),
                ("Prefix", "Path color", "Next hops"),
                tuple(
                    (one.prefix, one.color, ", ".join(f"{port}.0" for port in one.ports) or "none") for one in examples
                ),
            )
        )
    return made


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


def identity(config: DeviceConfig, serial: str) -> runbook.Check:
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
    return runbook.Check(
        "Model and release", ("show version", "show chassis hardware", "show system license"), tuple(points)
    )


def checks(network: Network, config: DeviceConfig, expected: ExpectedRouting) -> list[runbook.Check]:
    """Every check after the configuration is loaded, in the order in which one depends on another."""
    made = [_ports(config), _modules(network, config), *macsec_checks(config), _lldp(config)]
    if config.bgp is not None:
        made += [discovery_check(config), *session_checks(config, expected.sessions)]
        made += route_checks(config, expected.examples)
    if config.isis is not None:
        made += [*runbook.isis_checks(config, ISIS), *route_checks(config, expected.examples)]
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


def _ports(config: DeviceConfig) -> runbook.Check:
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
    return runbook.Check("Ports", ("show interfaces descriptions", f"show interfaces {first}"), tuple(points))


def _modules(network: Network, config: DeviceConfig) -> runbook.Check:
    commands = (
        "show interfaces diagnostics optics",
        'show interfaces et-* extensive | match "Physical interface|FEC|CRC"',
        "show chassis alarms",
    )
    return runbook.modules_check(
        network, config, "Modules and error correction, all ports", commands, " (Junos: FEC119)"
    )


def _lldp(config: DeviceConfig) -> runbook.Check:
    switches = len(config.fabric_interfaces())
    servers = sum(1 for one in config.interfaces if one.kind == "server")
    points = [
        f"{counted(switches, 'switch', 'switches')} seen besides what the management port shows, each on the port of the port table above"
    ]
    points += [f"{counted(servers, 'server port')} more where the servers run LLDP"] if servers else []
    points.append("a neighbor on another port is a cable in the wrong port: move it before going on")
    return runbook.Check("Cabling, by LLDP", ("show lldp neighbors",), tuple(points))


def _gateways(config: DeviceConfig) -> runbook.Check:
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
    return runbook.Check(
        "Server prefixes", tuple(commands), tuple(points), ("Interface", "Gateway", "Prefix"), tuple(rows)
    )


def _balancing(config: DeviceConfig) -> runbook.Check:
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
        commands.append(f"show firewall filter {names.SELECTIVE_FILTER}")
    if config.balancing.global_role:
        points.append(f"global load balancing, {config.balancing.global_role}")
        commands.append("show configuration protocols bgp global-load-balancing")
    return runbook.Check("Load balancing", tuple(commands), tuple(points))


def _counters(config: DeviceConfig) -> runbook.Check:
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
    return runbook.Check("Counters, before and under load", tuple(commands), tuple(points))
