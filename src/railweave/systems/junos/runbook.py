"""The runbook of Junos OS Evolved.

The commands are from two documents of Juniper: the EVPN test report, Table 9, and the document about RDMA load
balancing. If the documents have no command for a check, the check uses ``show configuration``, which every release has.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.model.catalog.headroom import port_headroom
from railweave.systems.junos import names
from railweave.systems.runbook import Runbook, Switch, Table, Tables, Text, Values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.addresses import Prefix
    from railweave.model.device.model import Gateway

CONFIGURATION = "junos.conf"

LOAD = """
# Copy the file to the switch, at the address that it has now, or from a USB stick: as root on a switch as delivered, {later}. As delivered, root has no password and may not log in over SSH: give it both on the console first (`set system root-authentication plain-text-password`, `set system services ssh root-login allow`, `commit`).
$ scp devices/{config.name}/junos.conf root@ADDRESS:/var/tmp/{config.name}.conf
# Do the rest from the console: management moves into the routing instance mgmt_junos, which may end a session over the management port. Read what changes, and stop where the check refuses.
$ configure exclusive
$ load override /var/tmp/{config.name}.conf
$ show | compare
$ commit check
#[untried] **`fabric-advertise` and `fabric-color` were never tried on a device and are in no published model.** Run `commit check` on one spine and on one leaf before any switch is committed; stop if either refuses.
# Commit for 10 minutes: without a second commit the switch goes back by itself.
$ commit confirmed 10
# From another terminal:
$ ssh {user}@{config.management_address.address}
# Only if that works, within the 10 minutes, on the console:
$ commit
"""

IDENTITY = """
# Model and release
$ show version
$ show chassis hardware
$ show system license
- model {config.model}, Junos OS Evolved {config.release}
- chassis serial number {serial}
- another release: install this one first, from the console (`request system software add /var/tmp/PACKAGE`, `request system reboot`), and look again
- licences: 0 in the column Licenses needed of every row, also after loading
"""

_COUNTS = "each line ends in Active/Received/Accepted/Damped: Received and Accepted as in the table"
_CONTROL_QUEUE = 3
"""The queue in which Junos routers send BFD packets and BGP retransmissions ("Default Queue Assignments for Routing Engine Sourced Traffic")."""

CHECKS = f"""
# Ports
$ show interfaces descriptions
$ show interfaces {{first}}
- {{ports}} up, up, each described with its neighbor in the port table{{besides}}
- ports split: {{splits}}
- whole ports below their speed: {{slower}}
- MTU {{mtus}} on every port
# Modules and error correction, all ports
$ show interfaces diagnostics optics
$ show interfaces et-* extensive | match "Physical interface|FEC|CRC"
$ show chassis alarms
- {{module_points}}
| modules
#[macsec] MACsec
$ show security mka sessions
$ show security macsec connections
- {{secured}} secured: {{secured_names}}
- cipher suite {{macsec.cipher_suite}}, key name {{macsec.key_name}}, the same on both ends
- no link comes up where the keys differ: IS-IS, BGP and LLDP stay silent there
# Cabling, by LLDP
$ show lldp neighbors
- {{switches}} seen besides what the management port shows, each on the port of the port table above
- {{server_ports}} more where the servers run LLDP
- a neighbor on another port is a cable in the wrong port: move it before going on
#[bgp unnumbered] Neighbors
$ show ipv6 router-advertisement interface {{first_unnumbered}}.0
$ show ipv6 neighbors
$ ping fe80::PEER interface {{first_unnumbered}}.0 count 3
- {{unnumbered}} towards switches send and receive router advertisements
- a link-local neighbor on each of them, state reachable; ping it where BGP does not come up
- BGP comes up with any AS of the list: another AS on a port than in the table of sessions is a swapped cable
#[bgp !unnumbered] Neighbors
$ show ipv6 neighbors
$ ping PEER-ADDRESS count 3
- the address of each neighbor in the table of sessions below answers
#[bgp] BGP sessions
$ show bgp summary
$ {{?discovers}}show bgp summary autodiscovered
- Groups: {{peers.groups}}  Peers: {{peers.all}}  Down peers: 0
- local AS {{bgp.asn}}, router id {{bgp.router_id}}
- {{peers.overlay}} of them in group overlay, loopback to loopback
- {{peers.outside}} of them external, in VRFs
- {{!several_hops}}{_COUNTS}, Active as in its last column: each prefix is used from the session of its next hop alone
- {{?several_hops}}{_COUNTS}. Its last column counts prefixes that have this session's port among their next hops; Active may count one with several next hops on one of their sessions alone
- {{?discovers}}a discovered neighbor is shown as its link-local address, % and the port
| sessions
#[bgp.bfd] BFD
$ show bfd session
- {{bfd_sessions}} up
- {{bfd_timers}}
#[isis] IS-IS adjacencies
$ show isis adjacency
$ show isis interface
$ show isis overview
- {{adjacencies}}, level 2, all up
- network entity title {{isis.net}}; {{passive}} and lo0.0 passive
| adjacencies
#[isis.bfd] BFD
$ show bfd session
- {{isis_sessions}} up
- {{isis_timers}}
#[bgp.fabric_advertise] Own prefixes, by path color
$ show route advertising-protocol bgp NEIGHBOR detail
- {{offered}} prefixes to every neighbor, each with the color community of the session
- AIGP only on those whose color is the session's ({{colors}})
| offered
#[leaf] Routes to another leaf
$ show route {{first_route}} detail
- prefixes of {{leaf}}: the active path (marked `*`) has exactly these ports as next hops; paths by other sessions are listed below it and not used
- {{?backups}}prefixes of path colors that the links to that leaf do not have are there as backup
| routes
#[overlay] Overlay sessions
$ show bgp summary group overlay
- {{overlay_points}}
| overlay
#[config.vrfs] Tenants
$ show route instance detail
$ show evpn ip-prefix-database l3-context {{first_vrf}}
$ show route table {{tenant.junos}}
- {{tables}} the first row's prefixes, and no others{{but}}
- {{tenant_points}}
| tenants
#[config.gateways] Server prefixes
$ show interfaces terse{{irb}}
$ {{?advertised}}show ipv6 router-advertisement interface {{first_gateway}}
$ {{?four}}show arp no-resolve
$ {{?six}}show ipv6 neighbors
- the gateway addresses below, up where a server is connected
- each prefix below advertised on-link and autonomous, valid {{advertised.prefix_valid_lifetime:,}} s, preferred {{advertised.prefix_preferred_lifetime:,}} s, every {{advertised.min_interval}} to {{advertised.max_interval}} s
- {{?proxy_arp}}proxy ARP on each: a server that asks for another's address gets the router's MAC
- once servers are up: an address of each NIC in each prefix, reachable
| gateways
#[config.mac_vrf] Layer-2 networks, as configured
$ show configuration routing-instances {{config.mac_vrf.name}}
$ show vlans
- each VLAN below with its VNI and route target; VLAN, VNI and target are the same on the other leaves
- once servers are up: their MAC addresses on the ports here, those of the other leaves behind a tunnel
| networks
#[*shared] {{shared.prefix}} of {{shared.vrf}}
$ show route table {{shared.table}} {{shared.prefix}} exact
$ {{?shared.sessions}}show bgp summary
- {{?shared.here}}the best route is of the router below
- {{!shared.here}}learned from {{shared.leaves}} by EVPN
- {{shared.sessions}} established, with the prefixes of its policy and no others
| shared
#[qos] Classes, ECN
$ show class-of-service forwarding-class
$ show class-of-service classifier name {names.CLASSIFIER}
$ show class-of-service scheduler-map {names.SCHEDULER_MAP}
$ show class-of-service drop-profile
$ show class-of-service interface {{qos_port}}
$ show configuration class-of-service | display set
- bound to {{bound}}, none by wildcard
- BGP and BFD leave by the queue that the release chooses: for its routers Juniper documents queue 0 for BGP, queue {_CONTROL_QUEUE} for BFD and for what BGP sends again, for this switch nothing; queue {_CONTROL_QUEUE} is {{control_class}} here. `show interfaces queue PORT` of an uplink without other traffic shows which one counts{{control_taken}}
| classes
#[qos.shared_buffer] Buffer partitions
$ show class-of-service shared-buffer
$ show configuration class-of-service shared-buffer
- {{pools}}
- ingress: lossless {{qos.buffers.lossless}} %, headroom {{qos.buffers.headroom}} %, lossy {{qos.buffers.lossy}} %, dynamic threshold {{qos.buffers.ingress_dynamic_threshold}}
- egress: lossless {{qos.buffers.egress_lossless}} %, lossy {{qos.buffers.egress_lossy}} %, multicast {{qos.buffers.egress_multicast}} %{{egress_default}}
#[qos.profiles] PFC per port
$ show class-of-service congestion-notification
$ show interfaces {{qos_port}} extensive
$ show configuration class-of-service congestion-notification-profile
- watchdog: {{dog.poll_interval}} ms x {{dog.detection}}, recovery {{dog.recovery}} ms, {{dog.action}}
- Priority Flow Control Statistics of a port list every priority: without load all 0
- {{?by_account}}load one router first: PFC accounts pause at 5000 µs of the port's speed and resume at 3750 µs; which queue stops when the peer pauses is Junos' own, for no document has a statement for it here
- {{!by_account}}the cable length decides the headroom: correct it in the inventory where it was measured otherwise
| profiles
# Load balancing
$ {{?dynamic}}show forwarding-options enhanced-hash-key
$ show configuration forwarding-options
$ show configuration chassis
$ {{?config.balancing.selective}}show firewall filter {names.SELECTIVE_FILTER}
$ {{?config.balancing.global_role}}show configuration protocols bgp global-load-balancing
- next-hop groups are shared by {{config.balancing.group_mode}}
- acts on {{ether_types}}; inactivity interval {{dynamic.inactivity_interval:g}} µs, flowset table {{dynamic.flowset_table_size}}, {{dynamic.sampling_rate:,}} samples/s
- quality bands {{dynamic.egress_quantization.min}} to {{dynamic.egress_quantization.max}} %, rate weight {{dynamic.egress_quantization.rate_weightage}} %
- next-hop groups of up to {{widest}} members
- dynamically for RDMA opcodes {{selective}} alone: the counter rdma grows under load
- global load balancing, {{config.balancing.global_role}}
#[config.balancing.sprays_by_opcode] Spraying by opcode
$ show route table {names.SPRAYING_INSTANCE}.inet.0
$ show route forwarding-table table {names.SPRAYING_INSTANCE}
$ show configuration firewall | match {names.SPRAYING_FILTER}
$ monitor interface traffic
- the instance has the routes of the main table; its next hops are shared at random, the main table's by flow
- packets with RDMA opcode {{opcodes}} that come in by {{filtered}} take it
- under load every port towards the other site carries the same rate, to a few percent
#[qos] Counters, before and under load
$ show interfaces {{first}} extensive
$ show interfaces queue {{first}}
$ show interfaces {{monitored}} buffer-occupancy {{first}}
- idle: no errors, no drops, no PFC frames, no ECN-marked packets
- under load: packets in queue {{paused.queue}}, none dropped; PFC only on priority {{paused.pfc_priority}}, and ECN marks before it
- resource errors on input: the headroom partition is short for the real cables
"""


class _Peers(NamedTuple):
    """The numbers of BGP groups and peers that the summary of BGP must show.

    ``overlay`` and ``outside`` (external routers) are phrases such as "2 peers". A phrase is empty if there are no such peers.
    """

    groups: int
    all: int
    overlay: str
    outside: str


def _some(count: int, noun: str) -> str:
    return counted(count, noun) if count else ""


def _peers(switch: Switch) -> _Peers:
    outside = [peer for vrf in switch.config.vrfs for peer in vrf.external]
    evpn = len(switch.overlay.neighbors) if switch.overlay else 0
    return _Peers(
        len(switch.bgp.groups) + bool(evpn) + len({peer.router for peer in outside}),
        len(switch.expected.sessions) + evpn + len(outside),
        _some(evpn, "peer"),
        _some(len(outside), "peer"),
    )


class _Shared(NamedTuple):
    """A prefix that external routers announce.

    - ``table``: the routing table of the prefix.
    - ``leaves``: the names of the leaves that receive the prefix.
    - ``here``: True if this switch is the only such leaf.
    - ``sessions``: the number of this switch's sessions with external routers, as a phrase.
    - ``rows``: a row of the printed table for each of these sessions.
    """

    prefix: Prefix
    vrf: str
    table: str
    leaves: str
    here: bool
    sessions: str
    rows: tuple[tuple[object, ...], ...]


def _shared(switch: Switch) -> tuple[_Shared, ...]:
    made: list[_Shared] = []
    peers = {vrf.name: vrf.external for vrf in switch.config.vrfs}
    for row in switch.expected.shared:
        table = Table(row.prefix.family, row.vrf).junos
        rows = tuple(
            (peer.router, peer.session.peer_address, peer.session.peer_as, peer.session.interface)
            for peer in peers[row.vrf]
        )
        here, sessions = row.leaves == (switch.config.name,), _some(len(rows), "session")
        made.append(_Shared(row.prefix, row.vrf, table, ", ".join(row.leaves), here, sessions, rows))
    return tuple(made)


def _besides(switch: Switch) -> Text:
    others = ["irb"] if any(gateway.vlan for gateway in switch.config.gateways) else []
    others += ["the parents of split ports"] if switch["splits"] else []
    return Text(f"; besides them {' and '.join(others)} are listed" if others else "")


def _tables(switch: Switch) -> str:
    tables = [table.junos for table in switch["tenant"]]
    return f"the table {tables[0]} has" if len(tables) == 1 else f"the tables {' and '.join(tables)} together have"


def _networks(switch: Switch) -> Iterator[tuple[object, ...]]:
    for vlan in switch.config.mac_vrf.vlans if switch.config.mac_vrf else ():
        others = ", ".join(leaf for leaf in switch.expected.bridged[vlan.vni] if leaf != switch.config.name)
        ports = sum(1 for port in switch.config.interfaces if port.vlan == vlan.name)
        yield vlan.name, vlan.vlan, vlan.vni, vlan.route_target, ports, others or "none"


def _by_account(switch: Switch) -> bool:
    """Return True if the switch model has PFC accounts (thresholds for each priority) instead of a headroom for each cable length."""
    model = catalog().switches.get(switch.config.model)
    return model is not None and "pfc-headroom" in model.platform.lacks


def _control_class(switch: Switch) -> str:
    """Return the name of the traffic class whose queue the switch may use for its own BFD packets, or ``no class`` if the queue has none."""
    queues = {row.queue: names.class_name(name) for name, row in reversed(switch.qos.classes.items())}
    return queues.get(_CONTROL_QUEUE, "no class")


def _control_taken(switch: Switch) -> Text:
    """Return the advice to send the switch's own packets through the queue of ``network-control``; empty without this class."""
    control = switch.qos.classes.get("network-control")
    statement = "`class-of-service host-outbound-traffic forwarding-class network-control` in `extra:`"
    return Text(f"; {statement} takes them to queue {control.queue} (not tried on a QFX5240)" if control else "")


def _classes(switch: Switch) -> Iterator[tuple[object, ...]]:
    no_loss = "" if _by_account(switch) else "no-loss, "
    for name, row in switch.qos.classes.items():
        dscps = ", ".join(f"{dscp} ({dscp:06b})" for dscp in row.dscp) or "–"
        ecn, loss = row.ecn, f"{no_loss}PFC priority {row.pfc_priority}" if row.lossless else "lossy"
        marked = f"{ecn.min_fill} % to {ecn.max_fill} % fill, up to {ecn.max_probability} %" if ecn else "–"
        strict, percent = row.priority == "strict-high", row.transmit_percent
        kind, bound = ("strict-high", "most") if strict else ("low", "least")
        yield (
            names.class_name(name),
            row.queue,
            dscps,
            loss,
            f"{kind}, at {bound} {percent} %" if percent else kind,
            marked,
        )


def _pools(switch: Switch) -> tuple[str, ...]:
    """Return the expected sizes of buffer pools as sentences: the share of each pool in the shared buffer, and the minimum headroom."""
    model, buffers = catalog().switches[switch.config.model], switch.qos.buffers
    speeds = {port.name: port.speed_gbps for port in switch.config.interfaces}
    alike = Counter(
        (profile.cable_length_m, speeds[port], profile.mru_bytes)
        for profile in switch.qos.profiles
        for port in profile.ports
        if port in speeds
    )
    need = len(switch["paused"]) * sum(
        ports * port_headroom(catalog(), model, length_m, speed, mru).need_bytes
        for (length_m, speed, mru), ports in alike.items()
    )
    least = f"ingress, Lossless Headroom: at least {math.ceil(need / 1024):,} KB, which the ports below need"
    needs = (least,) if need else ()
    if model.dedicated is None:
        return needs
    shared = model.dedicated.shared_bytes(buffers.dedicated_ingress, buffers.dedicated_egress) // 1024
    parts = {"Lossless": buffers.lossless, "Lossless Headroom": buffers.headroom, "Lossy": buffers.lossy}
    pools = ", ".join(f"{name} {shared * part // 100:,} KB" for name, part in parts.items())
    return (
        f"ingress: Shared Buffer about {shared:,} KB as published for these dedicated buffers, of it {pools}",
        *needs,
    )


def _gateway_name(gateway: Gateway) -> str:
    return f"irb.{gateway.vlan}" if gateway.vlan else f"{gateway.port}.0"


VALUES: Values = {
    "fec": lambda _: " (Junos: FEC119)",
    "port": lambda _: "{}.0",
    "discovered": lambda _: "%{}.0",
    "split": lambda _: "{}: {} x {}G",
    "target": lambda _: str,
    "gateway_name": lambda _: _gateway_name,
    "later": lambda switch: (
        f"as {switch['user']} once it runs this design"
        if switch.config.management.users
        else "as a user of its own once it has one"
    ),
    "untried": lambda switch: (
        switch.bgp and (switch.bgp.fabric_advertise or any(group.fabric_color for group in switch.bgp.groups))
    ),
    "first": lambda switch: switch.config.interfaces[0].name if switch.config.interfaces else "et-*",
    "besides": _besides,
    "slower": lambda switch: ", ".join(
        f"{part.port} at {part.speed_gbps}G" for part in switch.config.splits if part.channels == 1
    ),
    "server_ports": lambda switch: _some(
        sum(port.kind == "server" for port in switch.config.interfaces), "server port"
    ),
    "unnumbered_ports": lambda switch: [port.name for port in switch.config.fabric_interfaces() if not port.addresses],
    "unnumbered": lambda switch: _some(len(switch["unnumbered_ports"]), "port"),
    "first_unnumbered": lambda switch: switch["unnumbered_ports"][0],
    "discovers": lambda switch: any(not row.session.peer_address for row in switch.expected.sessions),
    "several_hops": lambda switch: any(row.shared for row in switch.expected.sessions),
    "peers": _peers,
    "offered": lambda switch: len(switch.bgp.fabric_advertise),
    "colors": lambda switch: counted(len({group.fabric_color for group in switch.bgp.groups}), "path color"),
    "routes": lambda switch: switch.expected.examples,
    "first_route": lambda switch: switch["routes"][0].prefix,
    "backups": lambda switch: not switch.config.gateways and len(switch["routes"]) > 1,
    "first_vrf": lambda switch: switch.config.vrfs[0].name,
    "tables": _tables,
    "but": lambda switch: Text(f" but {switch['from_outside']}" if switch["from_outside"] else ""),
    "irb": lambda switch: Text(" irb" if switch.config.gateways[0].vlan else ""),
    "proxy_arp": lambda switch: switch.config.gateways[0].proxy_arp,
    "four": lambda switch: any("ipv4" in gateway.families for gateway in switch.config.gateways),
    "six": lambda switch: any("ipv6" in gateway.families for gateway in switch.config.gateways),
    "shared": _shared,
    "qos_port": lambda switch: switch.qos.ports[0] if switch.qos.ports else "PORT",
    "by_account": _by_account,
    "paused": lambda switch: tuple(row for row in switch.qos.classes.values() if row.lossless),
    "control_class": _control_class,
    "control_taken": _control_taken,
    "egress_default": lambda switch: Text(" (the system's default)" if switch.qos.buffers.egress == "system" else ""),
    "pools": _pools,
    "monitored": lambda switch: ("queue", "priority-group") if switch.qos.buffer_monitor else (),
    "dynamic": lambda switch: switch.config.balancing.group_mode.startswith("dlb") and switch.config.balancing.dlb,
    "ether_types": lambda switch: " and ".join(switch.config.balancing.ether_types),
    "widest": lambda switch: switch.config.maximum_ecmp() or None,
    "selective": lambda switch: ", ".join(map(str, switch.config.balancing.selective)),
    "opcodes": lambda switch: ", ".join(map(str, switch.config.balancing.opcodes)),
    "filtered": lambda switch: ", ".join(switch.config.balancing.filtered_ports),
}

TABLES: Tables = {
    "offered": (
        ("Prefix", "Path color", "Backup colors"),
        lambda switch: ((row.prefix, row.color, ", ".join(row.backup_colors)) for row in switch.bgp.fabric_advertise),
    ),
    "networks": (("VLAN", "Id", "VNI", "Route target", "Ports here", "Other leaves"), _networks),
    "shared": (("Router", "Address", "AS", "Port"), lambda switch: switch.entry.rows),
    "classes": (("Class", "Queue", "DSCP", "Loss", "Scheduling", "ECN marking"), _classes),
    "profiles": (
        ("Profile", "Cable length", "MRU", "Ports"),
        lambda switch: (
            (row.name, f"{row.cable_length_m} m", row.mru_bytes, counted(len(row.ports), "port"))
            for row in switch.qos.profiles
        ),
    ),
}

_BOOK = Runbook(CONFIGURATION, LOAD, IDENTITY, CHECKS, VALUES, TABLES)
load, identity, checks = _BOOK.load, _BOOK.identity, _BOOK.checks
