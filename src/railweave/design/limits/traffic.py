"""Checks of load balancing, and of the job settings that depend on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog.rdma import COSTLY, QUEUE_PAIRS, SPLIT, split_cost
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.catalog.hardware import ServerModel
    from railweave.model.network.devices import Cable, Fabric


JOB_TRAFFIC_CLASS = Rule(
    id="job-traffic-class",
    severity="warning",
    applies="design",
    fault="jobs set a traffic class that differs from the class of RDMA data on switches, for example `NCCL_IB_TC: 0`",
    why="packets get a DSCP that switches do not protect: they are dropped, while packets with the designed DSCP "
    "are paused and marked",
    fix="remove the variable: railweave sets it to the DSCP of the lossless class times four, plus ECT(0)",
)
JOB_GID_INDEX = Rule(
    id="job-gid-index",
    severity="warning",
    applies="design",
    fault="jobs set a fixed GID index, but this design looks GIDs up by value",
    why="the index depends on the order in which addresses come up, and differs between servers: jobs fail, or "
    "packets leave with an address of a different path",
    fix="remove the variable: NCCL_IB_ADDR_RANGE or `railweave host env` finds the index when the job starts",
)
JOB_QUEUE_PAIRS = Rule(
    id="job-queue-pairs",
    severity="warning",
    applies="design",
    fault="a connection has fewer queue pairs than the fabric has path colors",
    why="each queue pair uses one color, so this connection does not use the other colors",
    fix="remove the setting, so that each color gets a queue pair. Fewer queue pairs can be faster for "
    "all-to-all, which has many connections at once",
)
JOB_PORTS_APART = Rule(
    id="job-ports-apart",
    severity="warning",
    applies="design",
    fault="a job variable prevents NCCL from merging the ports of a NIC, although each port is in a plane of its own",
    why="each port becomes a separate device: a connection has the bandwidth of one port instead of all, and no "
    "other port if the plane of its port fails",
    fix="remove the variable: railweave sets NCCL_IB_MERGE_NICS=1 and NCCL_NET_MERGE_LEVEL=PORT (docs/howto/size-a-network.md#planes-nics-with-several-ports)",
)
JOB_SPLIT_DATA = Rule(
    id="job-split-data",
    severity="warning",
    applies="design",
    fault="the fabric file splits each message over all queue pairs of a connection, which makes all-to-all slower",
    why="NCCL has one proxy thread per NIC, which posts the parts one after another; 0.67 us for each part is "
    "longer than the part takes to send",
    fix="remove NCCL_IB_SPLIT_DATA_ON_QPS: whole messages take the queue pairs in turn. `railweave sim --nccl "
    "NCCL_IB_SPLIT_DATA_ON_QPS=0` predicts the difference",
)
_TRAFFIC_CLASSES = ("NCCL_IB_TC", "UCX_IB_TRAFFIC_CLASS")
_GID_INDEXES = ("NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX")
_BY_VALUE = {-1, "auto"}
"""The values of the GID index setting that let NCCL and UCX choose the index themselves."""


def check_job(context: Context, fabrics: Sequence[Fabric]) -> None:
    """Record a finding for each job setting in the file that does not suit the fabrics of the GPUs' NICs.

    The RDMA load-balancing document ("Running the NCCL Job") uses one queue pair for each path. The Thor2 guide,
    section 2.5, requires matching settings on NIC and switch. So the traffic class must be set, because NCCL's default is 0.
    """
    job = context.source.spec.hosts.job
    models = [context.catalog.servers[name] for name in {group.model for group in context.source.spec.servers}]
    used = [
        fabric
        for fabric in fabrics
        if any(fabric.nics in model.nics and model.nics[fabric.nics].per_gpu for model in models)
    ]
    if not used:
        return
    _check_family(context, used)
    at = ("hosts", "job", "environment")
    for name in _TRAFFIC_CLASSES:
        if name in job.environment:
            value = job.environment[name]
            number = 0 if value is None else _number(value)
            for fabric in used:
                data = fabric.leaf.qos.rdma_class()
                if number is not None and data is not None and data.dscp and number >> 2 not in data.dscp:
                    shown = "not given, which means 0" if value is None else str(value)
                    message = (
                        f"{name} is {shown}, which means DSCP {number >> 2}, but RDMA data of {fabric.name} "
                        f"has DSCP {data.dscp[0]}"
                    )
                    context.finding(JOB_TRAFFIC_CLASS, fabric.name, (*at, name), message)
    _check_merging(context, used)
    for name in _GID_INDEXES:
        value = job.environment.get(name)
        if value is not None and value not in _BY_VALUE and _number(value) != -1:
            context.finding(JOB_GID_INDEX, "jobs", (*at, name), f"{name} is {value} on every server")
    given = job.environment.get(QUEUE_PAIRS)
    pairs = job.qps_per_connection if given is None else _number(given)
    where = ("hosts", "job", "qps_per_connection") if given is None else (*at, QUEUE_PAIRS)
    for fabric in used:
        if pairs is not None and pairs < len(fabric.colors):
            message = f"{pairs} queue pairs per connection over {len(fabric.colors)} path colors of {fabric.name}"
            context.finding(JOB_QUEUE_PAIRS, fabric.name, where, message)
        if fabric.interconnect is None and str(job.environment.get(SPLIT)) == "1":
            _check_splitting(context, fabric, models, pairs or max(len(fabric.colors), 1))


def _check_splitting(context: Context, fabric: Fabric, models: Sequence[ServerModel], pairs: int) -> None:
    """Record a finding if splitting each message over several queue pairs makes an all-to-all much slower.

    The finding is about the NICs with the highest cost. ``pairs`` is the number of queue pairs per connection. ``models`` are the
    server models. Fabrics with links between sites are not checked, because there the distance limits the data in flight.
    """
    costs: list[tuple[float, str]] = []
    for model in models:
        group = model.nics.get(fabric.nics)
        if group is None or not group.per_gpu:
            continue
        gbps = context.catalog.nics[group.nic].speed_gbps
        ports = f"{group.ports} x " if group.ports > 1 else ""
        cost = split_cost(gbps, group.ports, pairs)
        message = (
            f"each message is split into {pairs * group.ports} parts over {ports}{gbps}G: an all-to-all takes "
            f"up to {cost:.0%} longer than with whole messages"
        )
        costs.append((cost, message))
    cost, message = max(costs, default=(0.0, ""))
    if cost > COSTLY:
        context.finding(JOB_SPLIT_DATA, fabric.name, ("hosts", "job", "environment", SPLIT), message)


def _check_merging(context: Context, used: Sequence[Fabric]) -> None:
    """Record a finding for environment variables of jobs that make NCCL treat each port of a NIC as a separate NIC.

    ``used`` are the fabrics that jobs use.
    """
    environment = context.source.spec.hosts.job.environment
    apart = {"NCCL_IB_MERGE_NICS": "0", "NCCL_NET_MERGE_LEVEL": "LOC"}
    for name, value in apart.items():
        given = environment.get(name)
        if given is None or str(given).strip().upper() != value:
            continue
        for fabric in used:
            if fabric.adapters:
                message = f"{name} is {given}, but NICs of {fabric.name} have several ports"
                context.finding(JOB_PORTS_APART, fabric.name, ("hosts", "job", "environment", name), message)


def _check_family(context: Context, used: Sequence[Fabric]) -> None:
    """Record a problem if NICs have no address of the address family that jobs are set to use. ``used`` are the fabrics that jobs use.

    Then raise ``DesignError`` if there is any problem.
    """
    wanted = context.source.spec.hosts.job.address_family
    for fabric in used if wanted else ():
        owners = [tenant.name for tenant in fabric.tenants] or [""]
        pools = {pool for tenant in owners for pool in fabric.pools_of(tenant)}
        pools |= {network.prefix for tenant in fabric.tenants for network in tenant.networks}
        if all((":" in pool) != (wanted == "ipv6") for pool in pools):
            context.problem(
                ("hosts", "job", "address_family"),
                f"no NIC of {fabric.name} has an {wanted} address: its pools are {', '.join(sorted(pools))}",
                "remove it, or give the fabric `addressing.dual_stack`",
            )
    context.check()


def _number(value: str | int) -> int | None:
    """Return an environment variable's value as a number, or None if it is text, for example the name of another variable."""
    try:
        return int(value)
    except ValueError:
        return None


MOST_LEAVES = 64
"""The largest number of leaves in a fabric with global load balancing (Juniper, Global Load Balancing: "Considerations")."""

NIC_ADAPTIVE_ROUTING = "nic-adaptive-routing"
"""The catalog's name for a feature of switch models: a document describes their use with NICs that do adaptive routing."""

SPRAYING = ("dlb-per-packet", "spray")
"""The modes that send packets of one queue pair over several paths. They require adaptive routing on the NICs."""

SELECTIVE_DLB_ABSENT = Rule(
    id="selective-dlb-absent",
    severity="warning",
    applies="design",
    fault="no document shows that a switch model or release can restrict DLB to some RDMA opcodes (`selective`); "
    "DLB applies to all packets",
    why="all packets are balanced by the mode of the group",
    fix="choose different models or a later release, or remove `selective:`",
)
PATH_REBALANCING_UNDOCUMENTED = Rule(
    id="path-rebalancing-undocumented",
    severity="info",
    applies="design",
    fault="`reassignment` is set, but is not documented for a switch model",
    why="the switch may reject or ignore `reassignment`",
    fix="test it on one switch with `commit check`",
)


DLB_INACTIVITY_SHORT = Rule(
    id="dlb-inactivity-short",
    severity="warning",
    applies="design",
    fault="the pause that ends a flowlet is shorter than in any published test report",
    why="if a flow moves to a different link after such a short pause, its packets can arrive out of order, and "
    "queue pairs send them again (Apstra test report, known limitations: seen with 16 microseconds)",
    fix="use 256us, the recommended default, or 128us, which the EVPN test report used",
)
DLB_MIXED_SPEEDS = Rule(
    id="dlb-mixed-speeds",
    severity="warning",
    applies="design",
    fault="dynamic load balancing over uplinks of different speeds",
    why="dynamic load balancing compares links by their load and queues, not by their speed: flows may be put on "
    "the slower link (Apstra test report, known limitations)",
    fix="give all uplinks of a next-hop group the same speed (`link_speed`, switch models), or use `reassignment` "
    "on models for which it is documented",
)
ADAPTIVE_ROUTING_UNDOCUMENTED = Rule(
    id="adaptive-routing-undocumented",
    severity="warning",
    applies="design",
    fault="NICs use adaptive routing, but the switches are not documented for it",
    why="NICs then mark every packet as free to take any path, which adds 16 bytes to each and limits packets in "
    "flight to 512 per queue pair; no document shows that these switches spread such packets as the NICs "
    "expect",
    fix="use mode dlb-flowlet, or test with one pair of leaves first",
)
SHORTEST_TRIED_US = 128
"""The shortest pause between flowlets in the test reports, in microseconds (EVPN test report, Tables 1.1 to 3.1)."""


def check_balancing(context: Context, layout: Layout, cables: Sequence[Cable]) -> None:
    """Record findings about switches that lack the requested kind of load balancing, and topologies in which that kind cannot work."""
    wanted = layout.spec.load_balancing
    at = ("fabrics", layout.name, "load_balancing")
    if wanted.global_balancing:
        _check_global(context, layout)
    if wanted.selective:
        for device in _without(context, layout, "selective-dlb"):
            context.finding(
                SELECTIVE_DLB_ABSENT,
                f"{layout.name} {device}",
                (*at, "selective"),
                f"no document shows that {device} can restrict DLB to some RDMA opcodes (`selective`)",
                why=f"all packets are balanced by {wanted.group_mode()}",
            )
    if wanted.group_mode() == "dlb-flowlet" and wanted.dlb.inactivity_interval < SHORTEST_TRIED_US:
        context.finding(
            DLB_INACTIVITY_SHORT,
            layout.name,
            (*at, "dlb", "inactivity_interval"),
            f"`inactivity_interval` is {wanted.dlb.inactivity_interval} us",
        )
    if wanted.group_mode().startswith("dlb"):
        _check_speeds(context, layout, cables)
    _check_adaptive_routing(context, layout)
    if wanted.dlb.reassignment and wanted.group_mode() == "dlb-flowlet":
        for device in _without(context, layout, "path-rebalancing"):
            context.finding(
                PATH_REBALANCING_UNDOCUMENTED,
                f"{layout.name} {device}",
                (*at, "dlb", "reassignment"),
                f"reactive path rebalancing is documented for QFX5240, but not for {device}",
            )


def _check_speeds(context: Context, layout: Layout, cables: Sequence[Cable]) -> None:
    """Record a finding if the uplinks of a next-hop group have different speeds. With path colors, each color of a switch is one group."""
    group_speeds: dict[tuple[str, int | None], set[int]] = {}
    for cable in cables:
        if cable.kind == "fabric":
            group_speeds.setdefault((cable.a.device, cable.color), set()).add(cable.speed_gbps)
    mixed: dict[tuple[int, ...], list[str]] = {}
    for (device, _), speeds in group_speeds.items():
        if len(speeds) > 1 and "dlb" not in layout.equipment[device].model.platform.lacks:
            mixed.setdefault(tuple(sorted(speeds)), []).append(device)
    for speeds, devices in mixed.items():
        first, *others = dict.fromkeys(devices)
        more = f" and {len(others)} more" if others else ""
        shown = " and ".join(f"{speed}G" for speed in speeds)
        message = f"uplinks of {shown} are in one group of {first}{more}"
        context.finding(DLB_MIXED_SPEEDS, layout.name, ("fabrics", layout.name, "topology", "link_speed"), message)


def _check_adaptive_routing(context: Context, layout: Layout) -> None:
    """Record a finding about switch models that are not documented to work with adaptive routing of NICs, if the NICs would use it."""
    if layout.spec.load_balancing.group_mode() not in SPRAYING:
        return
    nics = {context.catalog.nics[server.nics.nic].vendor for server in layout.servers}
    if "NVIDIA" not in nics:
        return
    kinds = (kind for kind in layout.kinds() if NIC_ADAPTIVE_ROUTING not in kind.model.features)
    for device in dict.fromkeys(kind.role.device for kind in kinds):
        message = f"ConnectX NICs expect adaptive routing, but no document shows that {device} supports it"
        where = ("fabrics", layout.name, "load_balancing", "mode")
        context.finding(ADAPTIVE_ROUTING_UNDOCUMENTED, f"{layout.name} {device}", where, message)


def _without(context: Context, layout: Layout, feature: str) -> list[str]:
    """Return a description, with the release, of each switch model that lacks a feature. Emulated switches are ignored."""
    systems = context.catalog.systems
    return list(
        dict.fromkeys(
            f"{kind.role.device} on {kind.role.nos} {kind.role.release or systems[kind.role.nos].release}"
            for kind in layout.kinds()
            if feature not in kind.model.features or not systems[kind.role.nos].has(feature, kind.role.release)
        )
    )


def _check_global(context: Context, layout: Layout) -> None:
    topology = layout.spec.topology
    at = ("fabrics", layout.name, "load_balancing", "global_balancing")
    reasons: list[tuple[str, str]] = [
        (f"{device} does not support it", "use QFX5240 switches with Junos 23.4 or later for all roles")
        for device in _without(context, layout, "global-load-balancing")
    ]
    if topology.super_spines or not layout.spines:
        reasons.append(("it works in leaf-spine-leaf fabrics only", "turn it off"))
    if topology.links_per_spine > 1:
        reason = f"it supports one link between a leaf and a spine, but there are {topology.links_per_spine}"
        reasons.append((reason, "set links_per_spine: 1, and use more spines"))
    if len(layout.leaves) > MOST_LEAVES:
        reasons.append((f"it supports {MOST_LEAVES} leaves, but there are {len(layout.leaves)}", "turn it off"))
    if layout.spec.evpn() is not None:
        reasons.append(("it has no effect on routes of tenants and overlays", "turn it off"))
    for reason, fix in reasons:
        context.problem(at, f"no global load balancing: {reason}", fix)
