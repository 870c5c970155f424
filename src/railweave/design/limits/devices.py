"""Checks of a design against limits of switches, hosts and protocols, and against the values that operating systems accept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from railweave.design.limits.classes import check_lossless
from railweave.design.limits.headroom import check_headroom
from railweave.model.config.quantities import ETHERNET_HEADER
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from railweave.design.context import Context
    from railweave.design.shape.equipment import Equipment
    from railweave.design.shape.topology import Layout
    from railweave.model.catalog.systems import Range, System, WatchdogTimes
    from railweave.model.intent.qos import Qos, TrafficClass, Watchdog
    from railweave.model.intent.reading.document import Location
    from railweave.model.network.devices import Cable, Color


def check_strict_queues(context: Context, system: System, qos: Qos, base: Location) -> None:
    """Record a problem if the system serves queues by number and a strict-priority class is not in the highest queues.

    ``base`` is the key path of the QoS settings in the fabric file.
    """
    if not (system.pfc_by_queue and system.strict_on_top):
        return
    strict = [
        name
        for name, traffic_class in qos.classes.items()
        if traffic_class.priority == "strict-high" and not traffic_class.lossless
    ]
    for name, traffic_class in qos.classes.items():
        if traffic_class.pfc_priority is None:
            continue
        statement = (
            f"on {system.description}, class {name} uses queue {traffic_class.pfc_priority}, the number of its "
            "pfc_priority"
        )
        if traffic_class.priority == "strict-high":
            above = _sharing_above(qos, traffic_class.pfc_priority)
            if above:
                message = (
                    f"{statement}, but {' and '.join(above)} above it {'share' if above[1:] else 'shares'} by "
                    "weight: strict classes must be above all others"
                )
                context.problem((*base, "classes", name, "priority"), message, "set `priority: low`")
        elif len(strict) > system.queues - 1 - traffic_class.pfc_priority:
            message = f"{statement}, so too few queues above it are left for {_these(strict)}"
            fix = f"give {name} a pfc_priority of at most {system.queues - 1 - len(strict)}"
            context.problem((*base, "classes", name, "pfc_priority"), message, fix)


def _sharing_above(qos: Qos, queue: int) -> list[str]:
    """Return the names of the classes that share bandwidth by weight and have a higher queue number than ``queue``."""
    return [
        name
        for name, traffic_class in qos.classes.items()
        if traffic_class.priority != "strict-high" and _queue(traffic_class) > queue
    ]


def _queue(traffic_class: TrafficClass) -> int:
    return traffic_class.queue if traffic_class.pfc_priority is None else traffic_class.pfc_priority


def _these(strict: Sequence[str]) -> str:
    return f"the strict class{'es' if strict[1:] else ''} {', '.join(strict)}"


def check_flowsets(context: Context, layout: Layout) -> None:
    """Record a problem if the fabric file sets a larger DLB flowset table than a switch's operating system supports."""
    wanted = layout.spec.load_balancing
    if wanted.group_mode() != "dlb-flowlet":
        return
    size = wanted.dlb.flowset_table_size
    for nos in dict.fromkeys(kind.role.nos for kind in layout.kinds()):
        system = context.catalog.systems[nos]
        if system.maximum_flowsets is not None and size > system.maximum_flowsets:
            context.problem(
                ("fabrics", layout.name, "load_balancing", "dlb", "flowset_table_size"),
                f"flowset_table_size {size} exceeds the {system.maximum_flowsets} of {system.description}",
                f"use at most {system.maximum_flowsets}",
            )


def check_ranges(context: Context, layout: Layout) -> None:
    """Record a problem for each number in a fabric's settings that is out of range for the operating system of one of its switches.

    QoS settings are checked for each role instead. BFD timers count only if BFD is enabled. BFD timers of the overlay
    count only if the fabric has tenants.
    """
    spec = layout.spec
    timed = {"underlay": spec.underlay.bfd, "overlay": spec.overlay.bfd if spec.overlay and spec.tenants else None}
    unused = {name for name, bfd in timed.items() if bfd is None or not bfd.enabled}
    for nos in dict.fromkeys(kind.role.nos for kind in layout.kinds()):
        system = context.catalog.systems[nos]
        for field, takes in system.ranges.items():
            part, *rest = field.split(".")
            if takes.protocol not in {"", spec.underlay.protocol} or (part in unused and rest[:1] == ["bfd"]):
                continue
            if part != "qos":
                _check_range(context, system, spec, field, takes, ("fabrics", layout.name))


def check_qos_ranges(context: Context, system: System, qos: Qos, base: Location) -> None:
    """Record a problem for each number in a role's QoS that is out of range for its system.

    ``base`` is the key path of the QoS settings in the fabric file.
    """
    for field, takes in system.ranges.items():
        part, _, rest = field.partition(".")
        if part == "qos":
            _check_range(context, system, qos, rest, takes, base)


def _check_range(context: Context, system: System, part: object, field: str, takes: Range, base: Location) -> None:
    for place, value in _numbers(part, field.split(".")):
        if not takes.least <= value <= takes.most:
            message = f"{place[-1]} is {value}, but must be {takes.least} to {takes.most} on {system.description}"
            context.problem((*base, *place), message, "choose a value in that range")


def _numbers(part: object, field: list[str]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield (key path, number) for each number in ``part`` whose key path matches ``field``, a path of field names.

    In this path, ``*`` matches every name. Values that are not set are left out.
    """
    if not field:
        if isinstance(part, int):
            yield (), part
        return
    step, *rest = field
    if isinstance(part, Mapping):
        named = cast("Mapping[str, object]", part)
        inner = named.items() if step == "*" else [(step, named.get(step))]
    else:
        inner = [(step, getattr(part, step, None))]
    for name, child in inner:
        for place, value in _numbers(child, rest):
            yield (name, *place), value


def check_watchdog(context: Context, system: System, qos: Qos, base: Location, release: str | None) -> None:
    """Record a problem for each timer of the PFC watchdog whose value the system does not accept.

    ``base`` is the key path of the QoS settings in the fabric file. ``release`` is the system's release.
    """
    dog, takes = qos.pfc.watchdog, system.watchdog_times
    lossless = any(traffic_class.lossless for traffic_class in qos.classes.values())
    if dog is None or takes is None or not lossless or not system.has("pfc-watchdog", release):
        return
    for key, message, fix in _refused(dog, takes):
        context.problem((*base, "pfc", "watchdog", key), f"{message} on {system.description}", fix)


def _refused(dog: Watchdog, takes: WatchdogTimes) -> Iterator[tuple[str, str, str]]:
    """Yield (field, problem, fix) for each field of the PFC watchdog (``dog``) that the system rejects.

    ``takes`` holds the times that the system accepts.
    """
    timeout = dog.poll_interval * dog.detection
    times = (
        ("poll_interval", "poll_interval", dog.poll_interval, takes.poll_ms, 1),
        ("poll_interval", "poll_interval x detection", timeout, takes.timeout_ms, takes.step_ms),
        ("recovery", "recovery", dog.recovery, takes.recovery_ms, takes.step_ms),
    )
    for key, name, time, (least, most), step in times:
        if not least <= time <= most or time % step:
            steps = f", in steps of {step} ms" if step > 1 else ""
            yield key, f"{name} is {time} ms, but must be {least} to {most} ms{steps}", "choose a value in that range"
    if dog.detection < takes.polls:
        yield (
            "detection",
            f"detection {dog.detection} is less than the {takes.polls} polls that a timeout needs",
            f"use {takes.polls} or more",
        )
    if dog.recovery < takes.polls * dog.poll_interval:
        message = f"recovery {dog.recovery} ms is shorter than {takes.polls} polls of {dog.poll_interval} ms"
        yield "recovery", message, f"use at least {takes.polls * dog.poll_interval} ms, or a shorter poll_interval"


ECMP_NARROW = Rule(
    id="ecmp-narrow",
    severity="warning",
    applies="design",
    fault="`maximum_ecmp` is smaller than the number of uplinks of a leaf",
    why="next-hop groups are truncated, and some uplinks stay idle",
    fix="increase `maximum_ecmp`, or remove it",
)
NO_LOSSLESS_CLASS = Rule(
    id="no-lossless-class",
    severity="warning",
    sometimes="info",
    applies="design",
    fault="a role has no lossless traffic class; severity info if the fabric connects no NICs that belong to GPUs",
    why="after a loss, RoCEv2 sends all later packets again, which costs most of the bandwidth",
    fix="keep the class no-loss, or accept lossy operation",
)
RDMA_NO_DSCP = Rule(
    id="rdma-no-dscp",
    severity="warning",
    applies="design",
    fault="the class of RDMA data has no DSCP",
    why="packets of servers never enter the class",
    fix="set `dscp:` of the class",
)
CNP_NO_CLASS = Rule(
    id="cnp-no-class",
    severity="warning",
    applies="design",
    fault="no class has the DSCP of congestion notification packets",
    why="these packets wait behind all other traffic, and senders slow down late",
    fix="restore the class cnp",
)
KERNEL_MAX_ADDRESSES = Rule(
    id="kernel-max-addresses",
    severity="warning",
    applies="design",
    fault="NICs have more SLAAC prefixes than the Linux kernel accepts by default",
    why="if the kernel itself handles router advertisements, it ignores further prefixes without a message; "
    "systemd-networkd accepts them",
    fix="increase net.ipv6.conf.*.max_addresses on servers",
)


def tunnel_overhead_bytes(vtep: str) -> int:
    """Return the number of bytes that VXLAN adds to a frame: outer Ethernet, IP, UDP and VXLAN headers (RFC 7348, section 5).

    ``vtep`` is the address family of the tunnels.
    """
    return 14 + (20 if vtep == "ipv4" else 40) + 8 + 8


def ecmp_width(layout: Layout) -> int:
    """Return the size of the widest next-hop group that a leaf can have.

    This is the number of its uplinks, or 1 without uplinks.
    """
    return max(1, layout.uplinks)


def check_limits(context: Context, layout: Layout, cables: Sequence[Cable], colors: Sequence[Color]) -> None:
    """Check a design against the limits of the catalog.

    Record a problem for each exceeded limit. Record a finding for each limit that is nearly reached, and for each
    default that interferes with the design.
    """
    _check_ecmp(context, layout)
    check_flowsets(context, layout)
    check_ranges(context, layout)
    ports = _ports(layout, cables)
    roles: set[str] = set()
    for kind in layout.kinds():
        _check_qos(context, layout, kind, again=kind.role_name in roles)
        check_headroom(context, layout, kind, ports.get(kind, []), _qos_at(layout, kind))
        _check_mtu(context, layout, kind)
        roles.add(kind.role_name)
    _check_hosts(context, layout, len(colors))
    _check_routes(context, layout, len(colors) or 1)
    context.check()


def _ports(layout: Layout, cables: Sequence[Cable]) -> dict[Equipment, list[tuple[str, Cable]]]:
    """Return the cabled ports of each kind of switch (role with model), as a list of (switch name, cable)."""
    ports: dict[Equipment, list[tuple[str, Cable]]] = {}
    for cable in cables:
        for device in (cable.a.device, cable.b.device):
            kind = layout.equipment.get(device)
            if kind is not None:
                ports.setdefault(kind, []).append((device, cable))
    return ports


def _qos_at(layout: Layout, kind: Equipment) -> Location:
    """Return the key path, in the fabric file, of the QoS of a kind of switch: under its role if set there, else under the fabric."""
    base = ("fabrics", layout.name)
    return (*base, kind.role_name.replace("-", "_"), "qos") if layout.roles[kind.role_name].role.qos else (*base, "qos")


def _check_ecmp(context: Context, layout: Layout) -> None:
    at = ("fabrics", layout.name, "topology")
    topology = layout.spec.topology
    across = topology.interconnect
    widths = {
        "leaf": ecmp_width(layout),
        "spine": max(topology.links_per_spine, layout.spine_uplinks),
        "super-spine": topology.links_per_super_spine,
        "dci": across.links if across else 0,
    }
    if across and not layout.dci:
        widths["leaf"] = across.links
    for kind in layout.kinds():
        limit, width = kind.model.limits.ecmp_members, widths[kind.role_name]
        if limit is not None and width > limit:
            context.problem(
                at,
                f"{width} uplinks exceed the {limit} members of a next-hop group on {kind.role.device}",
                f"use at most {limit} uplinks",
            )
    width = max(widths[name] for name in layout.tiers)
    asked = layout.spec.underlay.maximum_ecmp
    place = ("fabrics", layout.name, "underlay", "maximum_ecmp")
    for nos in dict.fromkeys(kind.role.nos for kind in layout.kinds()):
        allowed = context.catalog.systems[nos].maximum_ecmp
        if asked is not None and allowed and asked not in allowed:
            near = next((value for value in allowed if value >= asked), allowed[-1])
            context.problem(
                place, f"maximum_ecmp {asked} is not a value that {nos} accepts", f"the next larger value is {near}"
            )
    if asked is not None and asked < width and layout.spines:
        context.finding(
            ECMP_NARROW,
            layout.name,
            place,
            f"maximum_ecmp {asked} is smaller than the number of uplinks of a leaf, {width}",
            fix=f"increase it to {width}, or remove it",
        )


def _check_qos(context: Context, layout: Layout, kind: Equipment, *, again: bool) -> None:
    """Record a problem for each QoS setting that a kind of switch does not support, and a finding if no class is lossless.

    ``again`` is True if the role's classes were already checked for another kind of switch in the same role.
    """
    role, role_name = kind.role, kind.role_name
    qos = role.qos or layout.spec.qos
    system = context.catalog.systems[role.nos]
    base = _qos_at(layout, kind)
    if not system.queues:
        return
    for name, traffic_class in qos.classes.items():
        if traffic_class.queue >= system.queues:
            context.problem(
                (*base, "classes", name, "queue"),
                f"queue {traffic_class.queue} exceeds the {system.queues} queues of {system.description}",
                f"use 0 to {system.queues - 1}",
            )
    check_strict_queues(context, system, qos, base)
    check_watchdog(context, system, qos, base, role.release)
    check_qos_ranges(context, system, qos, base)
    lossless = [name for name, traffic_class in qos.classes.items() if traffic_class.lossless]
    if role_name == "leaf" and not again:
        _check_host_qos(context, layout, base, qos)
        check_lossless(context, layout, base, qos)
    if len(lossless) > system.lossless_classes:
        context.problem(
            (*base, "classes"),
            f"{len(lossless)} lossless classes exceed the {system.lossless_classes} of {system.description}",
            "make some lossy",
        )
    if system.has("qos", role.release) and not lossless and not again:
        rdma = any(server.nics.per_gpu for server in layout.servers)  # else it is meant, as on a frontend
        context.finding(
            NO_LOSSLESS_CLASS,
            f"{layout.name} {role_name}",
            base,
            "no traffic class is lossless",
            severity="warning" if rdma else "info",
        )


def _check_host_qos(context: Context, layout: Layout, base: Location, qos: Qos) -> None:
    """Record findings if RDMA data or congestion notifications have no DSCP.

    Also record a problem if the lossless classes together get a NIC's whole bandwidth. ``base`` is the key path of the QoS settings
    (``qos``) in the fabric file.
    """
    data, cnp = qos.rdma_class(), qos.cnp_class()
    at = (*base, "classes")
    if data is not None and not data.dscp:
        context.finding(RDMA_NO_DSCP, layout.name, at, "the class of RDMA data has no DSCP")
    if cnp is None or not cnp.dscp:
        message = "no class is for congestion notification packets: there is no `cnp` class with a DSCP"
        context.finding(CNP_NO_CLASS, layout.name, at, message)
    shares = qos.nic_shares(context.source.spec.hosts.roce_bandwidth)
    if sum(shares.values()) > 99:
        words = ", ".join(f"{name} {share} %" for name, share in shares.items())
        message = f"the lossless classes together get 100 % of a NIC's link: {words}"
        context.problem(at, message, "reduce their `bandwidth` (and `hosts.roce_bandwidth`) to at most 99 together")


def _check_mtu(context: Context, layout: Layout, kind: Equipment) -> None:
    mtu = layout.spec.mtu
    system = context.catalog.systems[kind.role.nos]
    at = ("fabrics", layout.name, "mtu")
    for key in ("fabric", "server_port"):
        if getattr(mtu, key) > system.maximum_mtu:
            context.problem(
                (*at, key),
                f"MTU {getattr(mtu, key)} exceeds the {system.maximum_mtu} of {system.description}",
                f"use at most {system.maximum_mtu}",
            )
    if mtu.server > mtu.irb:
        context.problem(
            (*at, "server"), f"server MTU {mtu.server} exceeds the gateway's {mtu.irb}", f"use at most {mtu.irb}"
        )
    overlay = layout.spec.evpn()
    tunnel = 0 if overlay is None else tunnel_overhead_bytes(overlay.vtep)
    largest = min(mtu.server, mtu.irb)  # a server's that exceeds the gateway's has been said, and is to come down
    for key, of, inner, outer in (("server_port", "irb", mtu.irb, 0), ("fabric", "server", largest, tunnel)):
        more = f", in a tunnel with {outer} more bytes" if outer else ""
        need = inner + ETHERNET_HEADER + outer
        held = f"an IP packet of {inner} bytes with {ETHERNET_HEADER} bytes of Ethernet header{more}"
        if need > system.maximum_mtu:  # no MTU of that port would do
            message = (
                f"{held}, needs frames of {need} bytes, but {system.description} allows at most {system.maximum_mtu}"
            )
            context.problem((*at, of), message, f"use at most {inner - (need - system.maximum_mtu)}")
        elif getattr(mtu, key) < need:
            context.problem((*at, key), f"MTU {getattr(mtu, key)} is too small for {held}", f"use at least {need}")


def _check_hosts(context: Context, layout: Layout, colors: int) -> None:
    kernel = context.catalog.kernel
    addressing = layout.spec.addressing
    addresses = max(1, colors)
    at = ("fabrics", layout.name, "paths_per_nic" if layout.spec.paths_per_nic else "topology")
    if addressing.server_mode == "slaac":
        if addresses + 1 > kernel.max_addresses:
            context.finding(
                KERNEL_MAX_ADDRESSES,
                layout.name,
                at,
                f"{addresses} prefixes and the link-local address are more than the {kernel.max_addresses} "
                "addresses that the kernel allows on an interface",
                fix=f"set net.ipv6.conf.*.max_addresses to {addresses + 1} on servers",
            )
        size = 40 + kernel.ra_header_bytes + 8 + kernel.ra_prefix_option_bytes * addresses
        if size > layout.spec.mtu.irb:
            context.problem(
                at,
                f"a router advertisement with {addresses} prefixes has {size} bytes, more than the gateway's "
                f"MTU {layout.spec.mtu.irb}",
                _fewer_paths(
                    addresses, (layout.spec.mtu.irb - 48 - kernel.ra_header_bytes) // kernel.ra_prefix_option_bytes
                ),
            )
    gids = next(iter(layout.servers)).nics.nic if layout.servers else ""
    limit = context.catalog.nics[gids].gids if gids else None
    if limit is not None and 2 * (addresses + 1) > limit:
        context.problem(
            at,
            f"{addresses} addresses need {2 * (addresses + 1)} GIDs on a {gids}, which has {limit}",
            _fewer_paths(addresses, limit // 2 - 1),
        )


def _fewer_paths(colors: int, most: int) -> str:
    """Return the remedy for too many path colors: the largest number up to ``most`` into which the uplinks can be divided."""
    fits = [number for number in range(1, min(most, colors - 1) + 1) if colors % number == 0]
    return f"use fewer path colors: set `paths_per_nic: {fits[-1]}`" if fits else "use fewer path colors"


def _check_routes(context: Context, layout: Layout, colors: int) -> None:
    holders = layout.servers if layout.spec.addressing.own_links else layout.spec.topology.stripe_names()
    topology = layout.spec.topology
    single_rail = topology.planes == "rail" and len(layout.leaves[0].rails) == 1
    rails = 1 if single_rail else layout.rails // topology.port_planes
    routes = len(holders) * rails * colors
    for kind in layout.kinds():
        limit = kind.model.limits.ipv6_routes
        if limit is not None and routes > limit:
            context.problem(
                ("fabrics", layout.name, "topology"),
                f"{routes} prefixes exceed the {limit} IPv6 routes of {kind.role.device}",
                _fewer_paths(colors, limit // max(len(holders) * rails, 1)),
            )
