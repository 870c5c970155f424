"""Checks of traffic classes and of QoS exceptions on ports, and the conversion of ECN fill levels to queue lengths.

Lossless classes are checked for traffic, bandwidth share, marking and buffers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog.shares import port_share_bytes, ports_at
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.qos import Qos
    from railweave.model.intent.reading.document import Location
    from railweave.model.intent.topology import Role
    from railweave.model.network.devices import Cable, RoleIntent, RoleName, Switch


def check_port_qos(context: Context, layout: Layout, switches: Sequence[Switch], cables: Sequence[Cable]) -> None:
    """Record a problem for a QoS exception on a port without a link, or on only one end of a link between switches.

    Then raise ``DesignError`` if there is any problem.
    """
    qos_by_port = {(switch.name, each.port): each for switch in switches for each in switch.port_qos}
    if not qos_by_port:
        return
    ends = {(end.device, end.port) for cable in cables for end in (cable.a, cable.b)}
    ends |= {(edge_port.leaf, edge_port.port) for edge_port in layout.spec.edge_ports.values()}
    ends |= {
        (link.leaf, link.port)
        for tenant in layout.spec.tenants.values()
        for router in tenant.external.values()
        for link in router.links
    }
    for device, port in qos_by_port:
        if (device, port) not in ends:
            key, _ = context.source.spec.overrides.of_device(device)
            at = ("overrides", "devices", key, "ports", port)
            context.problem(
                at,
                f"no cable is connected to port {port!r} of {device}",
                "use a port with a cable (cabling.csv lists them)",
            )
    for cable in cables:
        pair = [(end.device, end.port) for end in (cable.a, cable.b)]
        pair_qos = [qos_by_port.get(end) for end in pair]
        if cable.kind == "fabric" and (pair_qos[0] is None) != (pair_qos[1] is None):
            here, far = pair if pair_qos[0] else reversed(pair)
            key, _ = context.source.spec.overrides.of_device(here[0])
            at = ("overrides", "devices", key, "ports", here[1])
            message = f"{here[0]} {here[1]} has a different quality of service than the far end, {far[0]} {far[1]}"
            context.problem(
                at, message, "give both ends the same exception, so that either both send pause frames or neither does"
            )
    context.check()


ECN_BYTES = Rule(
    id="ecn-bytes",
    severity="info",
    applies="design",
    fault="a system that marks by queue length in bytes needs ECN fill levels (percent) converted",
    why="no vendor documents the base of the percentage; railweave uses a port's equal share of the egress pool, "
    "also in predictions",
    fix="set `min_bytes` and `max_bytes` to choose the lengths yourself",
)
STEP = 1000
"""The granularity of queue thresholds, in bytes: one kilobyte, the unit of EOS and of Enterprise SONiC."""


def with_lengths(context: Context, qos: Qos, role: Role, speed_gbps: int, at: Location) -> Qos:
    """Return a role's QoS with ECN fill levels converted to queue lengths in bytes, if the role's operating system uses bytes.

    ``at`` is the key path of the QoS in the file. If the file sets ECN without fill levels, the system's own queue lengths
    apply. Each conversion of fill levels produces a finding.
    """
    system, model = context.catalog.systems[role.nos], context.catalog.switches[role.device]
    if system.marking is None:
        return qos
    classes = dict(qos.classes)
    for name, traffic_class in qos.classes.items():
        ecn = traffic_class.ecn
        if ecn is None or ecn.min_bytes is not None or not ecn.model_fields_set:
            continue
        lengths = {"min_bytes": system.marking.min_bytes, "max_bytes": system.marking.max_bytes}
        if not ecn.model_fields_set.isdisjoint({"min_fill", "max_fill"}):
            by_others = (
                qos.buffers.egress == "system" and not system.parts_egress
            )  # another system's shares: as if not said
            buffers = type(qos.buffers)() if by_others else qos.buffers
            percent = buffers.egress_lossless if traffic_class.lossless else buffers.egress_lossy
            whole = port_share_bytes(model, percent, speed_gbps)
            first = max(STEP, whole * ecn.min_fill // 100 // STEP * STEP)  # from 0 on every packet would be marked
            last = max(first + STEP, whole * ecn.max_fill // 100 // STEP * STEP)
            lengths = {"min_bytes": first, "max_bytes": last}
            pool = "lossless" if traffic_class.lossless else "lossy"
            message = (
                f"class {name}: `min_fill` {ecn.min_fill} % and `max_fill` {ecn.max_fill} % are {first // STEP} and "
                f"{last // STEP} kB on {system.description}: shares of {whole // STEP} kB, which is `egress_{pool}` of "
                f"the {model.buffer.shared_mb:g} MB of {role.device} over {ports_at(model, speed_gbps)} ports"
            )
            context.finding(ECN_BYTES, str(at[1]), (*at, "classes", name, "ecn"), message)
        classes[name] = traffic_class.model_copy(update={"ecn": ecn.model_copy(update=lengths)})
    return qos.model_copy(update={"classes": classes})


LOSSLESS_NO_DSCP = Rule(
    id="lossless-no-dscp",
    severity="warning",
    applies="design",
    fault="a lossless class other than that of RDMA data has no DSCP",
    why="no packet enters the class, but switches and NICs reserve headroom, a queue and bandwidth for it",
    fix="set `dscp:` of the class, or remove the class",
)
LOSSLESS_NO_SHARE = Rule(
    id="lossless-no-share",
    severity="warning",
    applies="design",
    fault="one of several lossless classes has no `bandwidth`",
    why="without `bandwidth`, a NIC splits the bandwidth left by the other classes between this class and all "
    "other traffic, and SONiC gives the class the lowest weight",
    fix="set `bandwidth` of each lossless class, so that the sum over all classes is at most 100",
)
MARKED_ON_ONE_TIER = Rule(
    id="marked-on-one-tier",
    severity="warning",
    applies="design",
    fault="switches of one role mark a lossless class (ECN), and those of another do not",
    why="without marks, senders do not slow down, and PFC spreads the congestion",
    fix="set `ecn` of the class in the `qos` of every role or of none: a role with its own `qos` inherits nothing "
    "from the fabric's",
)
LOSSLESS_POOL_IDLE = Rule(
    id="lossless-pool-idle",
    severity="warning",
    applies="design",
    fault="switches on which no port sends pauses reserve most of their buffer for lossless classes",
    why="`pfc.ports` excludes all ports of these switches, so all classes are lossy there, RDMA data too, and "
    "share the pool of lossy classes",
    fix="give that role its own `qos` with the same classes and `pfc`, and `buffers: "
    "{lossless: 5, headroom: 5, lossy: 90, egress_lossless: 5, egress_lossy: 85, egress_multicast: 10}`",
)


def check_lossless(context: Context, layout: Layout, base: Location, qos: Qos) -> None:
    """Record a finding for each lossless class without a DSCP, and for each without a share of the NIC's bandwidth.

    ``base`` is the key path of the QoS settings (``qos``) in the fabric file.
    """
    shares = qos.nic_shares(context.source.spec.hosts.roce_bandwidth)
    for name, traffic_class in qos.classes.items():
        if not traffic_class.lossless:
            continue
        at = (*base, "classes", name)
        if not traffic_class.dscp and name != qos.rdma_name():
            context.finding(LOSSLESS_NO_DSCP, layout.name, at, f"lossless class {name} has no DSCP")
        if traffic_class.nic_share is None and len(shares) > 1:
            message = f"lossless class {name} has no `bandwidth`; NICs give it {shares[name]} %"
            context.finding(LOSSLESS_NO_SHARE, layout.name, at, message)


def check_roles(context: Context, layout: Layout, roles: Mapping[RoleName, RoleIntent]) -> None:
    """Record a finding for each role that marks a lossless class (ECN) although leaves do not, or the other way round.

    Also record a finding for each role above the leaves that reserves more buffer for lossless classes than for others but sends no
    pause frames.
    """
    at = ("fabrics", layout.name)
    able: list[RoleName] = [name for name in layout.tiers if context.catalog.systems[roles[name].nos].queues]
    leaf = roles["leaf"].qos if "leaf" in able else None
    for name in able:
        qos = roles[name].qos
        for key, traffic_class in leaf.classes.items() if leaf and name != "leaf" else ():
            other = qos.classes.get(key)
            if traffic_class.lossless and other and (traffic_class.ecn is None) != (other.ecn is None):
                marks, not_ = (name, "leaf") if traffic_class.ecn is None else ("leaf", name)
                message = f"{marks} switches mark class {key} (ECN), and {not_} switches do not"
                context.finding(MARKED_ON_ONE_TIER, layout.name, (*at, name.replace("-", "_"), "qos"), message)
        if (
            name != "leaf"
            and qos.lossless_class()
            and not qos.pfc.pauses("fabric")
            and qos.buffers.lossless > qos.buffers.lossy
        ):
            message = (
                f"{name} switches send pause frames on no port, but reserve {qos.buffers.lossless} % of their "
                f"buffer for lossless classes and {qos.buffers.lossy} % for all others"
            )
            context.finding(LOSSLESS_POOL_IDLE, layout.name, (*at, "qos", "pfc", "ports"), message)
