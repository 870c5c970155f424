"""The prediction of one collective on a designed network: its messages, the engine, the run and the bottleneck.

``predict`` calls the other functions of this module in order. Each is one phase.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from railweave.model.catalog.rdma import POST_COST_PS
from railweave.model.device.queue_pairs import designed_variables
from railweave.prediction.collectives.channels import FITTED_QPS, Collective
from railweave.prediction.collectives.collective import program
from railweave.prediction.collectives.nccl import Parameters, parameters
from railweave.prediction.collectives.queue_pairs import Split, split
from railweave.prediction.collectives.single_message import messages, single_message_program
from railweave.prediction.simulation.background import NOTE as BACKGROUND_NOTE
from railweave.prediction.simulation.background import with_background
from railweave.prediction.simulation.bottleneck import Ideal, Load, bottleneck
from railweave.prediction.simulation.conditions import Conditions, SimulatedNetwork, bed_of, with_losses
from railweave.prediction.simulation.engines.choice import MOST_PACKET_HOPS, Choice, choose, forecast, whole_flows
from railweave.prediction.simulation.engines.measured import PacketCounts, interval_ps
from railweave.prediction.simulation.engines.packets import repeated_rounds, run_packets
from railweave.prediction.simulation.engines.report import lossless_drops
from railweave.prediction.simulation.engines.run import FLOW_NOTE, Run, run_flows
from railweave.prediction.simulation.engines.traffic import Traffic, at_once, traffic_of
from railweave.prediction.simulation.errors import Band, Kind, band, marked_share, regime_of
from railweave.prediction.simulation.job import order_text, stripes
from railweave.prediction.simulation.model.outages import Timeline, slowed
from railweave.prediction.simulation.model.ports import (
    FAILOVER_NOTE,
    UNDER_WAY_NOTE,
    apart_ps,
    check_planes,
    next_loss,
    usable,
)
from railweave.prediction.simulation.model.retries import after_retries, retry_parameters
from railweave.prediction.simulation.prediction import Prediction
from railweave.prediction.simulation.rotation import Rotation, rotation, run_rotation
from railweave.prediction.simulation.settings import post_cost_ps, timeout_ps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from railweave.model.network.model import Network
    from railweave.prediction.collectives.program import Program
    from railweave.prediction.simulation.model.addresses import Addresses
    from railweave.prediction.simulation.model.fabric import Arguments, FlowArguments, PacketFabric
    from railweave.prediction.simulation.model.wiring import Wiring

UNUSED_SPINES_NOTE = (
    "no message crosses a spine: all of this traffic stays on leaves, so spines, their links and their failures do not "
    "change the time"
)
"""The remark on a run in which only leaves carry traffic.

An example is a collective in a single stripe (group of leaves) that keeps each NIC's traffic on its rail.
"""


def job_links(
    fabric: PacketFabric,
    pairs: NDArray[np.uint32],
    timeline: Timeline,
    until_ps: int,
    set_parameters: Callable[[FlowArguments], FlowArguments],
) -> NDArray[np.bool_]:
    """Return, for each port, True if it sends messages of the queue pairs ``pairs`` at any time up to ``until_ps``.

    A port counts if any forwarding table of ``timeline`` in this time uses it. The flow engine hashes like the packet engine, so a
    short run of flows with one byte on each queue pair finds the links. ``set_parameters`` adds the parameters of the run, because the
    seed decides the hashes.
    """
    used = np.zeros(len(fabric.wiring.port_cable), np.bool_)
    traffic = at_once(pairs, 1)
    later = [Timeline(tables=(replace(table, at_ps=0),)) for table in timeline.tables if table.at_ps <= until_ps]
    for tables in (Timeline(), *later):
        used |= run_flows(set_parameters(fabric.flow_arguments(pairs, tables)), traffic).sent_bytes > 0
    return used


A = TypeVar("A", "Arguments", "FlowArguments")

LONG_PACKET_HOPS = 20_000_000
"""The smallest number of packet hops (links that packets cross, added up) of a packet run that may be stopped early.

Such a run takes some seconds. It is stopped when its rounds have equal times.
"""

MOST_FLOW_MESSAGES = 4_000_000
"""The largest number of messages that are run as separate flows. More messages would take gigabytes.

With more messages, there is one flow for each connection and queue pair (``prediction.collectives.single_message``).
"""


MANY_RANKS = 200
"""The number of ranks from which only one server of a uniform all-to-all is run (``rotation``).

The number of transfers grows with the square of the ranks.
"""


@dataclass(frozen=True, eq=False)
class _Request:
    """A collective of one size, the prepared network (``bed``), and the settings of the run.

    - ``timeline``: the timeline of ``conditions``, counted from the beginning of the collective.
    - ``parameters``: engine parameters that the caller set or that NCCL implies.
    - ``engine``, ``exact``, ``watch``, ``most_hops``: the arguments of ``predict``.
    """

    bed: SimulatedNetwork
    conditions: Conditions
    timeline: Timeline
    collective: Collective
    size_bytes: int
    nccl: Parameters
    parameters: dict[str, str]
    engine: str
    exact: bool
    watch: bool
    most_hops: int | None


@dataclass(frozen=True, eq=False)
class _Workload:
    """The messages of the collective on its queue pairs.

    - ``program``: the messages. ``parts``: the messages as split over queue pairs.
    - ``job_traffic``: the traffic of the job. ``all_traffic`` also has the background traffic.
    - ``messages``: the approximate number of messages.
    - ``merged``: True if one flow for each connection and queue pair replaces the messages.
    - ``rotation``: the run of only the first server's messages, if that run replaces the whole collective; None otherwise.
    """

    program: Program
    parts: Split
    job_traffic: Traffic
    all_traffic: Traffic
    messages: int = 0
    merged: bool = False
    rotation: Rotation | None = None


@dataclass(frozen=True, eq=False)
class _Plan:
    """The engine for a run (``choice``: packet or flow), and the arguments for it.

    - ``arguments``: the arguments of the flow engine.
    - ``post_ps``: the time in ps that a NIC's proxy (the thread that posts its messages) needs to post one message.
    - ``posting``: the engine parameter that sets this time for NICs with several ports; empty for other NICs.
    """

    arguments: FlowArguments
    choice: Choice
    post_ps: int
    posting: dict[str, str]


@dataclass(frozen=True, eq=False)
class _Attempt:
    """A finished run with its inputs.

    - ``posts``: the largest number of messages that a NIC's proxy (the thread that posts its messages) posts in the whole collective.
      None means that the run itself had all posts.
    - ``errors``: errors for the user, passed on to ``Prediction.errors``.
    """

    request: _Request
    workload: _Workload
    plan: _Plan
    run: Run
    posts: int | None = None
    errors: tuple[str, ...] = ()

    @property
    def proxy_ps(self) -> int | None:
        """The time in ps that the busiest proxy spends on posts. None if the run itself includes it."""
        return None if self.posts is None else self.posts * self.plan.post_ps

    @property
    def time_ps(self) -> int:
        """The time of the collective in ps.

        It is not shorter than the time of the links inside servers. If messages are merged, it is not shorter than the time of
        posting either.
        """
        planned = self.workload.program
        proxy_ps = (self.proxy_ps or 0) if self.workload.merged else 0
        return max(self.run.last_ps + planned.tail_ps, planned.floor_ps, proxy_ps, 1)


def predict(
    network: Network,
    collective: str,
    size_bytes: int,
    *,
    qps: int | None = None,
    nccl: Mapping[str, str] | None = None,
    lb: str | None = None,
    settings: Mapping[str, str] | None = None,
    engine: str = "auto",
    exact: bool = False,
    progress: Callable[[int, int], None] | None = None,
    announce: Callable[[str], None] | None = None,
    bed: SimulatedNetwork | None = None,
    conditions: Conditions | None = None,
    at_ps: int = 0,
    watch: bool = False,
    most_hops: int | None = None,
) -> Prediction:
    """Run a collective over all servers of a network with the packet engine or the flow engine.

    - ``qps``: the number of queue pairs per connection. By default, it is the fabric file's number, or one per path
      color.
    - ``nccl``: NCCL parameters by name.
    - ``lb``: the load balancing of switches, in place of the designed load balancing (``model.fabric.override``).
    - ``settings``: further engine parameters (docs/engine.md).
    - ``engine``: packet, flow or auto (``engines.choice``). With auto, flows are used above ``most_hops`` packet hops.
    - ``exact``: False allows a long packet run to stop early if its rounds take equal times (``engines.packets``).
    - ``progress``: called with the number of messages that arrived, and the number of all messages.
    - ``announce``: called with the expected time and memory of a long run.
    - ``bed``: the network if it is already prepared. Its load balancing then applies, and ``lb`` is ignored.
    - ``conditions``: faults and background traffic. Their times count from the beginning of a job whose collective begins at ``at_ps``.
    - ``watch``: True to collect time series (``Prediction.measured``).

    Raises ``InputError`` if an argument is invalid or the collective cannot run on the network.
    """
    bed = bed or bed_of(network, lb)
    conditions = conditions or Conditions()
    bed = replace(bed, job=with_losses(bed.job, [loss for loss in conditions.nvlink if loss.active(at_ps)]))
    variables = _nccl_parameters(network, bed, nccl, qps)
    begin = time.perf_counter()
    request = _Request(
        bed=bed,
        conditions=conditions,
        timeline=conditions.timeline.since(at_ps),
        collective=cast("Collective", collective),
        size_bytes=size_bytes,
        nccl=variables,
        parameters=retry_parameters(variables) | dict(settings or {}),
        engine=engine,
        exact=exact,
        watch=watch,
        most_hops=most_hops,
    )
    attempt = _soonest(request, progress, announce)
    return _prediction(network, attempt, begin)


def _nccl_parameters(
    network: Network, bed: SimulatedNetwork, nccl: Mapping[str, str] | None, qps: int | None
) -> Parameters:
    """Return NCCL's parameters as the design sets them, changed by ``nccl`` (by name) and ``qps`` (queue pairs per connection).

    ``bed`` is the prepared network.
    """
    designed = designed_variables(network, bed.fabric.addresses.paths)
    variables = parameters({**designed, **(nccl or {})}, bed.job.library)
    return variables if qps is None else variables.with_number("NCCL_IB_QPS_PER_CONNECTION", qps)


def _soonest(
    request: _Request, progress: Callable[[int, int], None] | None, announce: Callable[[str], None] | None = None
) -> _Attempt:
    """Run the collective of ``request``, and return the run with the shortest time.

    Usually there is one run. If a NIC loses a port during a run, the collective is also run as if this port were lost from the beginning,
    because that can be faster than waiting for the port. ``progress`` and ``announce`` are called as in ``predict``.
    """
    workload = _workload(request)
    plan = _plan(request, workload)
    if announce is not None:
        _announce(request, workload, plan.choice, announce)
    attempt = _run(request, workload, plan, progress)
    loss_ps = _next_loss(attempt)
    if loss_ps is None:
        return attempt
    conditions = replace(request.conditions, lost_until_ps=loss_ps)
    without = _soonest(replace(request, conditions=conditions), progress)
    sooner = without.run.complete and (not attempt.run.complete or without.time_ps < attempt.time_ps)
    return without if sooner else attempt


def _workload(request: _Request) -> _Workload:
    """Return the messages to run for the collective of ``request``.

    They are only the first server's messages (see ``_rotation``), or one flow for each connection and queue pair if there are too many
    messages, or all messages.
    """
    rotated = _rotation(request)
    if rotated is not None:
        return _Workload(
            rotated.program, rotated.parts, rotated.sample_traffic, rotated.sample_traffic, rotation=rotated
        )
    fabric, job, background = request.bed.fabric, request.bed.job, request.conditions.background
    count = messages(job, request.collective, request.size_bytes, request.nccl)
    merged = request.engine != "packet" and count > MOST_FLOW_MESSAGES and background is None
    if merged:
        planned = single_message_program(job, request.collective, request.size_bytes, request.nccl)
    else:
        # What can be under way is what receivers' buffers hold: without credit all of an all-to-all would be at once.
        planned = program(job, request.collective, request.size_bytes, request.nccl, credit=True)
    # One flow stands for the messages of a connection, which take its queue pairs in turn: the bytes are on all of them.
    split_data = merged or bool(request.nccl["NCCL_IB_SPLIT_DATA_ON_QPS"])
    parts = split(planned, request.nccl["NCCL_IB_QPS_PER_CONNECTION"], split_data=split_data, ports=job.ports)
    way = usable(fabric, request.timeline, request.conditions.lost_until_ps)
    apart = apart_ps(fabric.wiring, job.ports)
    traffic = traffic_of(fabric.addresses, request.bed.hosts, planned, parts, ports=job.ports, way=way, apart_ps=apart)
    check_planes(fabric, traffic.pairs)
    every = traffic if background is None else with_background(fabric, traffic, background)
    return _Workload(planned, parts, traffic, every, messages=count, merged=merged)


def _rotation(request: _Request) -> Rotation | None:
    """Return a smaller run that replaces the all-to-all of ``request``, or None if the whole collective must be run.

    The smaller run has only the first server's messages. It is possible with many ranks (``MANY_RANKS``) if all servers behave in the same
    way and there is no background traffic. It is used if the flow engine is requested, or if a packet run would have too many packet hops.
    """
    if (
        request.collective != "all-to-all"
        or request.engine not in {"auto", "flow"}
        or request.bed.job.ranks < MANY_RANKS
        or request.conditions.background is not None
    ):
        return None
    rotated = rotation(
        request.bed, request.size_bytes, request.nccl, request.timeline, lambda given: _set(given, request.parameters)
    )
    most = MOST_PACKET_HOPS if request.most_hops is None else request.most_hops
    if isinstance(rotated, Rotation) and (request.engine == "flow" or rotated.packet_hops > most):
        return rotated
    return None


def _plan(request: _Request, workload: _Workload) -> _Plan:
    """Choose the engine and prepare the arguments for it.

    ``request`` is the collective with its settings, and ``workload`` has its messages.
    """
    if workload.rotation is not None:
        arguments = workload.rotation.arguments
    else:
        timeline = after_retries(request.timeline, request.parameters)
        arguments = request.bed.fabric.flow_arguments(workload.all_traffic.pairs, timeline)
        arguments = _set(arguments, request.parameters)
    post_ps = post_cost_ps(arguments["parameters"])
    posting = _posting(post_ps, workload.job_traffic, request.bed.fabric.addresses)
    arguments["parameters"] |= posting
    return _Plan(arguments, _choice(request, workload, arguments), post_ps, posting)


def _choice(request: _Request, workload: _Workload, arguments: FlowArguments) -> Choice:
    """Return the engine (packet or flow) for a run, and the reason for it.

    ``request`` is the collective with its settings, ``workload`` has its messages, and ``arguments`` has the engine's arguments.
    """
    if workload.rotation is not None:
        return workload.rotation.choice
    wiring, traffic = request.bed.fabric.wiring, workload.job_traffic
    if workload.merged:
        return whole_flows(wiring, arguments, traffic, workload.messages)
    others = request.conditions.background is not None
    return choose(request.engine, wiring, arguments, traffic, others=others, most=request.most_hops)


def _announce(request: _Request, workload: _Workload, choice: Choice, announce: Callable[[str], None]) -> None:
    """Call ``announce`` with the expected time and memory of a long or large run before it begins.

    ``request`` is the collective with its settings, ``workload`` has its messages, and ``choice`` the engine.
    """
    traffic = workload.job_traffic
    sentence = forecast(choice.engine, choice.packet_hops, len(traffic.messages), len(traffic.after))
    if sentence:
        announce(f"{request.collective} of {request.size_bytes:,} bytes: {sentence}")


def _run(request: _Request, workload: _Workload, plan: _Plan, progress: Callable[[int, int], None] | None) -> _Attempt:
    """Simulate the collective of ``request``, and return the finished run with its inputs.

    ``workload`` has the messages to send, and ``plan`` has the engine and its arguments. ``progress`` is called with the number of messages
    that arrived, and the number of all messages.
    """
    if workload.rotation is not None:
        run, posts = run_rotation(request.bed, workload.rotation, progress)
        return _Attempt(request, workload, plan, run, posts)
    if plan.choice.engine == "flow":
        run = run_flows(plan.arguments, workload.all_traffic, progress)
        posts = workload.messages // len(request.bed.hosts) if workload.merged else None
        return _Attempt(request, workload, plan, run, posts)
    fabric, traffic = request.bed.fabric, workload.job_traffic
    may_stop = request.conditions.background is None and not request.exact
    may_stop = may_stop and plan.choice.packet_hops >= LONG_PACKET_HOPS
    arguments = _set(fabric.arguments(workload.all_traffic.pairs, request.timeline), request.parameters)
    arguments["parameters"] |= plan.posting
    run = run_packets(
        arguments,
        workload.all_traffic,
        progress,
        repeated_rounds(workload.program, workload.parts) if may_stop else None,
        own_messages=len(traffic.messages),
        series_every_ps=interval_ps(fabric.wiring, traffic) if request.watch else None,
    )
    return _Attempt(request, workload, plan, run, errors=lossless_drops(run.counters, arguments))


def _next_loss(attempt: _Attempt) -> int | None:
    """Return the time in ps at which a NIC with several ports first loses a port during the run, or None.

    ``attempt`` is the finished run with its inputs.
    """
    request, run = attempt.request, attempt.run
    if request.bed.job.ports == 1:
        return None
    pairs, before_ps = attempt.workload.job_traffic.pairs, run.last_ps if run.complete else None
    return next_loss(request.bed.fabric, request.timeline, pairs, request.conditions.lost_until_ps, before_ps)


def _prediction(network: Network, attempt: _Attempt, begin: float) -> Prediction:
    """Return the prediction that follows from an attempt. ``begin`` is the clock reading in seconds at the beginning of the prediction."""
    request, workload, run, time_ps = attempt.request, attempt.workload, attempt.run, attempt.time_ps
    fabric, job, traffic = request.bed.fabric, request.bed.job, workload.job_traffic
    floor_ps = workload.program.floor_ps
    slower = slowed(fabric.wiring, request.timeline.changes, time_ps)
    used = _job_links(attempt)
    load = Load.of(
        fabric.wiring,
        run.sent_bytes * slower,
        traffic,
        attempt.plan.post_ps,
        floor_ps,
        nic_of=fabric.addresses.nic_of,
        used=used,
    )
    if attempt.proxy_ps is not None:  # proxies post all messages, those of credit too, whatever was run of them
        load = replace(load, proxy_ps=attempt.proxy_ps)
    names = job.machines
    every_ps = interval_ps(fabric.wiring, traffic)
    return Prediction(
        collective=request.collective,
        size_bytes=request.size_bytes,
        program=workload.program,
        time_ps=time_ps,
        complete=run.complete,
        choice=attempt.plan.choice,
        steady=run.steady,
        counters=run.counters,
        load=load,
        wall_s=time.perf_counter() - begin,
        notes=_notes(attempt, load),
        remarks=(*fabric.remarks, *_unused_spines(fabric.wiring, run.sent_bytes)),
        hosts=names,
        order=order_text(names, stripes(network, names), job.gpus_per_machine // job.gpus_per_process),
        errors=attempt.errors,
        timeout_ps=timeout_ps(request.parameters),
        measured=PacketCounts.of(
            fabric.wiring, workload.all_traffic, len(traffic.pairs), run, time_ps, every_ps, slower, used
        ),
        ideal=Ideal.of(
            fabric.wiring, traffic, floor_ps, ", ".join(dict.fromkeys(server.link.name for server in job.servers))
        ),
        band=_band(attempt) if run.complete else None,
    )


def _unused_spines(wiring: Wiring, sent_bytes: NDArray[np.float64]) -> tuple[str, ...]:
    """Return a remark, as a tuple, if messages were sent but none of them used a link between switches. Otherwise, return ().

    ``wiring`` has the numbered nodes and ports, and ``sent_bytes`` the bytes that each port sent.
    """
    switch_links = np.minimum(wiring.cables[:, 0], wiring.cables[:, 1]) >= len(wiring.nics)
    on_spines = sent_bytes[switch_links[wiring.port_cable]]
    unused = len(on_spines) > 0 and float(on_spines.sum()) == 0 < float(sent_bytes.sum())
    return (UNUSED_SPINES_NOTE,) if unused else ()


def _job_links(attempt: _Attempt) -> NDArray[np.bool_] | None:
    """Return, for each port, True if the job's messages use it.

    Return None without background traffic, because then only the job uses ports. ``attempt`` is the finished run with its inputs.
    """
    request, pairs = attempt.request, attempt.workload.job_traffic.pairs
    if request.conditions.background is None:
        return None
    return job_links(
        request.bed.fabric, pairs, request.timeline, attempt.time_ps, lambda given: _set(given, request.parameters)
    )


def _notes(attempt: _Attempt, load: Load) -> tuple[str, ...]:
    """Return the assumptions and omissions of the prediction, one sentence each. ``load`` has the busiest parts of the run.

    ``attempt`` is the finished run with its inputs.
    """
    request, rotated = attempt.request, attempt.workload.rotation
    fabric, conditions = request.bed.fabric, request.conditions
    notes = [*fabric.notes, *conditions.notes]
    notes += [] if conditions.background is None else [BACKGROUND_NOTE]
    notes += [] if rotated is None else [rotated.note()]
    notes += [FAILOVER_NOTE] if request.bed.job.ports > 1 and (request.timeline.moments or fabric.routes.down) else []
    notes += [UNDER_WAY_NOTE] if conditions.lost_until_ps else []
    notes += [FLOW_NOTE] if attempt.plan.choice.engine == "flow" else []
    if bottleneck(load, attempt.time_ps).kind == "proxy":
        notes.append(proxy_note(attempt.plan.post_ps, request.nccl["NCCL_IB_QPS_PER_CONNECTION"]))
    return tuple(notes)


def _band(attempt: _Attempt) -> Band:
    """Return the range in which the time of the collective probably lies.

    With faults or background traffic, the range states that no published result covers such a case. ``attempt`` is the finished run with
    its inputs.
    """
    request = attempt.request
    conditions, job = request.conditions, request.bed.job
    others = [
        *(["faults"] if conditions.faulty else []),
        *(["traffic of others"] if conditions.background is not None else []),
    ]
    servers = len(job.servers)
    kind = Kind(
        job.library,
        request.collective,
        regime_of(request.collective, request.size_bytes, servers, marked_share(attempt.run.counters)),
        job.servers[0].gpu,
        attempt.workload.program.algorithm,
        several=job.gpus_per_process > 1,
        alone=servers == 1,
        domains=job.machines_per_server > 1,
    )
    return band(
        attempt.time_ps,
        kind,
        engine=attempt.plan.choice.engine,
        servers=servers,
        size_bytes=request.size_bytes,
        others=" and ".join(others),
    )


def _posting(post_ps: int, traffic: Traffic, addresses: Addresses) -> dict[str, str]:
    """Return the engine parameter for the cost of a post if NICs use several ports. Return {} for other NICs.

    ``post_ps`` is the time in ps per posted message. In reality one proxy posts for all ports of a NIC. The engines have a proxy for each
    port, so the time is multiplied by the number of ports. ``traffic`` has the messages.
    """
    ports = addresses.ports_in_use(traffic.pairs[:, 0])
    return {"host.post-cost": f"{post_ps * ports}ps"} if ports > 1 else {}


def proxy_note(message_ps: int, qps: int) -> str:
    """Return the note for a prediction in which NCCL's proxies (threads that post the messages of a NIC) are the bottleneck.

    The note states the source of ``message_ps``, the assumed time per posted message. If ``qps``, the number of queue pairs per connection,
    is above 1, the note recommends fewer.
    """
    note = f"NCCL's proxies limit the result: posting a message takes {message_ps / 1e6:g} us, a value fitted to two published results (docs/validation.md)"
    more = f"; {qps} queue pairs are more than in any published result, and posting then probably takes longer: try fewer (--compare qps=1,2,4)"
    return note + (
        more if qps > FITTED_QPS else "; fewer queue pairs need fewer posts (--compare qps=1,2,4)" if qps > 1 else ""
    )


def _set(arguments: A, parameters: dict[str, str]) -> A:
    """Set the engine parameters ``parameters`` (value by name) in the arguments of a run, and return the arguments."""
    arguments["parameters"] = {"host.post-cost": f"{POST_COST_PS}ps"} | arguments["parameters"] | parameters
    # otherwise the configured parameters of switches stay
    arguments["profiles"] = [profile | parameters for profile in arguments["profiles"]]
    return arguments
