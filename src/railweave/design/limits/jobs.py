"""Settings of collective jobs that contradict what the fabrics and the servers' NICs are designed for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog.posting import COSTLY, QUEUE_PAIRS, SPLIT, split_cost
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.model.catalog.hardware import ServerModel
    from railweave.model.intent.reading.document import Key
    from railweave.model.network.fabric import Fabric

JOB_TRAFFIC_CLASS = Rule(
    id="job-traffic-class",
    severity="warning",
    applies="design",
    says="a job's traffic class is not that of RDMA data on the switches, as with `NCCL_IB_TC: 0`",
    why="its packets carry a DSCP that no switch protects: they are dropped where designed ones are paused and marked",
    fix="leave the variable out: railweave sets it to the DSCP of the lossless class, times four, with ECT(0)",
)
JOB_GID_INDEX = Rule(
    id="job-gid-index",
    severity="warning",
    applies="design",
    says="a job has a fixed GID index, and GIDs are found by value here",
    why="an index changes with the order in which addresses come up, and differs between servers: the job then fails, or leaves "
    "by another address than the one its path follows from",
    fix="leave the variable out: the index is found when the job starts, by NCCL_IB_ADDR_RANGE or by `railweave host env`",
)
JOB_QUEUE_PAIRS = Rule(
    id="job-queue-pairs",
    severity="warning",
    applies="design",
    says="a connection has fewer queue pairs than the fabric has path colors",
    why="each queue pair takes one color, so that the others carry nothing of the connection",
    fix="leave it out: a queue pair for each color; fewer may serve all-to-all better, which has many connections at once",
)
JOB_PORTS_APART = Rule(
    id="job-ports-apart",
    severity="warning",
    applies="design",
    says="a job's environment keeps NCCL from merging the ports of a NIC, which are in planes of their own",
    why="each port is then a device of its own: a connection has the bandwidth of one port instead of all, and no other port to go "
    "on with when that one's plane dies",
    fix="leave the variable out: railweave sets NCCL_IB_MERGE_NICS=1 and NCCL_NET_MERGE_LEVEL=PORT (docs/planes.md)",
)
JOB_SPLIT_DATA = Rule(
    id="job-split-data",
    severity="info",
    sometimes="warning",
    applies="design",
    says="messages that are split over all queue pairs of a connection make an all-to-all longer; a warning if the file asks for it",
    why="one proxy of a NIC posts the parts one after another, 0.67 us each, and that takes longer than to send them",
    fix="with path colors railweave's net plugin weighs paths by these parts, so the design keeps NCCL_IB_SPLIT_DATA_ON_QPS=1; fewer queue "
    "pairs (`hosts.job.qps_per_connection`) cost less, and `railweave sim --nccl NCCL_IB_SPLIT_DATA_ON_QPS=0` predicts the difference",
)
_TRAFFIC_CLASSES = ("NCCL_IB_TC", "UCX_IB_TRAFFIC_CLASS")
_GID_INDEXES = ("NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX")
_BY_VALUE = {-1, "auto"}
"""What NCCL and UCX take for an index that they look for themselves."""


def check_job(context: Context, fabrics: Sequence[Fabric]) -> None:
    """Note what the file asks of jobs that the fabrics of GPUs' own NICs are not made for.

    The RDMA load-balancing document ("Running the NCCL Job") has a queue pair for each path; that a traffic class is set
    follows from the Thor2 guide, section 2.5 (settings of NIC and switch match). NCCL's own default of both is 0.
    """
    job = context.source.spec.hosts.job
    models = [context.catalog.servers[name] for name in {group.model for group in context.source.spec.servers}]
    used = [one for one in fabrics if any(one.nics in model.nics and model.nics[one.nics].per_gpu for model in models)]
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
                    shown = "left out, which is 0" if value is None else str(value)
                    what = f"{name} is {shown}: DSCP {number >> 2}, and RDMA data of {fabric.name} has {data.dscp[0]}"
                    context.finding(JOB_TRAFFIC_CLASS, fabric.name, (*at, name), what)
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
            what = f"{pairs} queue pairs a connection over {len(fabric.colors)} path colors of {fabric.name}"
            context.finding(JOB_QUEUE_PAIRS, fabric.name, where, what)
        at = where if pairs else ("fabrics", fabric.name)
        _check_splitting(context, fabric, models, pairs or max(len(fabric.colors), 1), at)


def _check_splitting(
    context: Context, fabric: Fabric, models: Sequence[ServerModel], pairs: int, where: Sequence[Key]
) -> None:
    """Note that splitting messages over queue pairs costs more than it may, of the NICs that it costs most.

    Between sites the distance bounds what is under way, whatever is posted.
    """
    job = context.source.spec.hosts.job
    asked = SPLIT in job.environment
    if fabric.interconnect is not None or (str(job.environment[SPLIT]) != "1" if asked else not fabric.colors):
        return
    found: list[tuple[float, str]] = []
    for model in models:
        group = model.nics.get(fabric.nics)
        if group is None or not group.per_gpu:
            continue
        gbps = context.catalog.nics[group.nic].speed_gbps
        ports = f"{group.ports} x " if group.ports > 1 else ""
        cost = split_cost(gbps, group.ports, pairs)
        what = (
            f"{pairs * group.ports} parts of each message over {ports}{gbps}G: an all-to-all takes up to "
            f"{cost:.0%} longer than with whole messages"
        )
        found.append((cost, what))
    cost, what = max(found, default=(0.0, ""))
    if cost > COSTLY:
        at = ("hosts", "job", "environment", SPLIT) if asked else where
        context.finding(JOB_SPLIT_DATA, fabric.name, at, what, severity="warning" if asked else None)


def _check_merging(context: Context, used: Sequence[Fabric]) -> None:
    """Note variables by which NCCL takes each port of a NIC for a NIC of its own."""
    environment = context.source.spec.hosts.job.environment
    apart = {"NCCL_IB_MERGE_NICS": "0", "NCCL_NET_MERGE_LEVEL": "LOC"}
    for name, value in apart.items():
        given = environment.get(name)
        if given is None or str(given).strip().upper() != value:
            continue
        for fabric in used:
            if fabric.adapters:
                what = f"{name} is {given}, and NICs of {fabric.name} have several ports"
                context.finding(JOB_PORTS_APART, fabric.name, ("hosts", "job", "environment", name), what)


def _check_family(context: Context, used: Sequence[Fabric]) -> None:
    """Note a problem where NICs have no address of the family that jobs are to use."""
    wanted = context.source.spec.hosts.job.address_family
    for fabric in used if wanted else ():
        owners = [one.name for one in fabric.tenants] or [""]
        own = {pool for tenant in owners for pool in fabric.pools_of(tenant)}
        own |= {one.prefix for tenant in fabric.tenants for one in tenant.networks}
        if all((":" in pool) != (wanted == "ipv6") for pool in own):
            context.problem(
                ("hosts", "job", "address_family"),
                f"no NIC of {fabric.name} has an address of {wanted}: its pools are {', '.join(sorted(own))}",
                "leave it out, or give the fabric `addressing.dual_stack`",
            )
    context.check()


def _number(value: str | int) -> int | None:
    """A variable's number; None where it is none, as where it names another variable."""
    try:
        return int(value)
    except ValueError:
        return None
