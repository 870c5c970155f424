"""What a collective gets on a designed network, packet by packet or as flows, and what binds it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from railweave.catalog.posting import POST_COST_PS
from railweave.collectives.collective import program
from railweave.collectives.nccl import parameters
from railweave.collectives.pace import FITTED_QPS
from railweave.collectives.queue_pairs import split
from railweave.collectives.whole import messages, whole
from railweave.device.queue_pairs import designed_variables
from railweave.simulation.background import NOTE as BACKGROUND_NOTE
from railweave.simulation.background import with_background
from railweave.simulation.bottleneck import Load, bottleneck
from railweave.simulation.conditions import Bed, Conditions, bed_of
from railweave.simulation.engines.choice import MOST_PACKET_HOPS, choose, forecast, whole_flows
from railweave.simulation.engines.flows import FLOW_NOTE, run_flows
from railweave.simulation.engines.measured import Measured, interval_ps
from railweave.simulation.engines.packets import run_packets
from railweave.simulation.engines.report import lossless_drops
from railweave.simulation.engines.rounds import repeated_rounds
from railweave.simulation.engines.traffic import traffic_of
from railweave.simulation.errors import band
from railweave.simulation.ideal import Ideal
from railweave.simulation.job import stripes
from railweave.simulation.job_links import job_links
from railweave.simulation.model.faults import slowed
from railweave.simulation.model.ports import FAILOVER_NOTE, UNDER_WAY_NOTE, apart_ps, check_planes, next_loss, usable
from railweave.simulation.model.retries import after_retries, retry_parameters
from railweave.simulation.prediction import Prediction
from railweave.simulation.ranks import order_text
from railweave.simulation.rotation import Rotation, rotation, run_rotation
from railweave.simulation.settings import post_cost_ps, timeout_ps

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from railweave.collectives.bus_bandwidth import Collective
    from railweave.network.model import Network
    from railweave.simulation.model.fabric import Arguments, FlowArguments, PacketFabric
    from railweave.simulation.model.outages import Timeline

A = TypeVar("A", "Arguments", "FlowArguments")

LONG_PACKET_HOPS = 20_000_000
"""From so many on (some seconds), a run of packets is stopped when it is steady."""

MOST_FLOW_MESSAGES = 4_000_000
"""Beyond, flows are one for each connection and queue pair (``collectives.whole``): messages would take gigabytes."""


MANY_RANKS = 200
"""From so many on, one server is run of an all-to-all where all do alike (``rotation``): transfers are ranks squared."""


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
    bed: Bed | None = None,
    conditions: Conditions | None = None,
    at_ps: int = 0,
    watch: bool = False,
    most_hops: int | None = None,
) -> Prediction:
    """Run a collective over all servers of a network through the packet engine or the flow engine.

    ``qps`` is the number of queue pairs per connection (default: the fabric file's, or one per path color), ``nccl`` are parameters by name,
    ``lb`` overrides how switches share (``simulate.balancing``), ``settings`` are further engine parameters (docs/sim.md).
    ``engine`` is packet, flow or auto (``simulate.engine_choice``), which takes flows above ``most_hops`` packet hops; a long run of packets is stopped when it is steady
    (``simulate.steady``), unless it is to be ``exact``. ``progress`` is called with messages arrived, and how many there are, ``announce`` with what a long run
    will take. ``bed``
    is the network made ready before (then ``lb`` is the bed's), ``conditions`` what else goes on, in a job whose collective
    begins at ``at_ps``; with ``watch`` series are collected (``Prediction.measured``). Raises ``InputError`` for what cannot be.
    """
    bed = bed or bed_of(network, lb)
    conditions = conditions or Conditions()
    fabric, job, hosts = bed.fabric, bed.job, bed.hosts
    colors = fabric.addresses.paths
    known = parameters({**designed_variables(network, colors), **(nccl or {})}, job.library)
    if qps is not None:
        known = known.with_number("NCCL_IB_QPS_PER_CONNECTION", qps)
    kind = cast("Collective", collective)
    begin = time.perf_counter()
    count = messages(job, kind, size_bytes, known)
    large = engine != "packet" and count > MOST_FLOW_MESSAGES and conditions.background is None
    wanted = retry_parameters(known) | dict(settings or {})
    timeline = conditions.timeline.since(at_ps)
    one: Rotation | None = None
    if (
        kind == "all-to-all"
        and engine in {"auto", "flow"}
        and job.ranks >= MANY_RANKS
        and conditions.background is None
    ):
        alike = rotation(bed, size_bytes, known, timeline, lambda given: _set(given, wanted))
        if isinstance(alike, Rotation) and (
            engine == "flow" or alike.packet_hops > (MOST_PACKET_HOPS if most_hops is None else most_hops)
        ):
            one = alike
    # What can be under way is what receivers' buffers hold: without credit all of an all-to-all would be at once.
    if one is not None:
        planned, parts, own = one.program, one.parts, one.own
    else:
        planned = whole(job, kind, size_bytes, known) if large else program(job, kind, size_bytes, known, credit=True)
        split_data = bool(known["NCCL_IB_SPLIT_DATA_ON_QPS"])
        parts = split(planned, known["NCCL_IB_QPS_PER_CONNECTION"], split_data=split_data, ports=job.ports)
        way = usable(fabric, timeline, conditions.lost_until_ps)
        apart = apart_ps(fabric.wiring, job.ports)
        own = traffic_of(fabric.addresses, hosts, planned, parts, ports=job.ports, way=way, apart_ps=apart)
        check_planes(fabric, own.pairs)
    traffic = own if conditions.background is None else with_background(fabric, own, conditions.background)
    every_ps = interval_ps(fabric.wiring, own)
    arguments = (
        _set(fabric.flow_arguments(traffic.pairs, after_retries(timeline, wanted)), wanted)
        if one is None
        else one.arguments
    )
    message_ps = post_cost_ps(arguments["parameters"])
    arguments["parameters"] |= _posting(message_ps, fabric.addresses.ports_in_use(own.pairs[:, 0]))
    if one is not None:
        choice = one.choice
    elif large:
        choice = whole_flows(fabric.wiring, arguments, own, count)
    else:
        choice = choose(engine, fabric.wiring, arguments, own, others=conditions.background is not None, most=most_hops)
    if announce is not None and (
        said := forecast(choice.engine, choice.packet_hops, len(own.messages), len(own.after))
    ):
        announce(f"{collective} of {size_bytes:,} bytes: {said}")
    by_address: Arguments | None = None
    posts: int | None = count // len(hosts) if large else None
    if one is not None:
        run, posts = run_rotation(bed, one, progress)
    elif choice.engine == "flow":
        run = run_flows(arguments, traffic, progress)
    else:
        alone = conditions.background is None
        repeated = (
            repeated_rounds(planned, parts) if alone and not exact and choice.packet_hops >= LONG_PACKET_HOPS else None
        )
        by_address = _set(fabric.arguments(traffic.pairs, timeline), wanted)
        by_address["parameters"] |= _posting(message_ps, fabric.addresses.ports_in_use(own.pairs[:, 0]))
        run = run_packets(
            by_address, traffic, progress, repeated, own=len(own.messages), series_every_ps=every_ps if watch else None
        )
    time_ps = run.last_ps if run.complete else None
    moment = next_loss(fabric, timeline, own.pairs, conditions.lost_until_ps, time_ps) if job.ports > 1 else None
    if (
        moment is not None
    ):  # while it ran: the ports that are left may be sooner than what waits for those that are lost
        asked = {
            "qps": qps,
            "nccl": nccl,
            "settings": settings,
            "engine": engine,
            "exact": exact,
            "watch": watch,
            "most_hops": most_hops,
        }
        without = predict(
            network,
            collective,
            size_bytes,
            **cast("Any", asked),
            progress=progress,
            bed=bed,
            conditions=replace(conditions, lost_until_ps=moment),
            at_ps=at_ps,
        )
        if without.complete and (time_ps is None or without.time_ps < time_ps):
            return without
    proxies_ps = 0 if posts is None else posts * message_ps
    time_ps = max(run.last_ps + planned.tail_ps, planned.floor_ps, proxies_ps if large else 0, 1)
    slower = slowed(fabric.wiring, timeline.changes, time_ps)
    used = _job_links(fabric, own.pairs, conditions, timeline, time_ps, wanted)
    load = Load.of(
        fabric.wiring, run.sent_bytes * slower, own, message_ps, planned.floor_ps, fabric.addresses.nic_of, used
    )
    if posts is not None:  # proxies post all messages, those of credit too, whatever was run of them
        load = replace(load, proxy_ps=proxies_ps)
    names = tuple(server.name for server in job.servers)
    notes = [*fabric.notes, *conditions.notes]
    notes += [] if conditions.background is None else [BACKGROUND_NOTE]
    notes += [] if one is None else [one.note()]
    notes += [FAILOVER_NOTE] if job.ports > 1 and (timeline.moments or fabric.routes.down) else []
    notes += [UNDER_WAY_NOTE] if conditions.lost_until_ps else []
    notes += [FLOW_NOTE] if choice.engine == "flow" else []
    if bottleneck(load, time_ps).kind == "proxy":
        notes.append(proxy_note(message_ps, known["NCCL_IB_QPS_PER_CONNECTION"]))
    return Prediction(
        collective=collective,
        size_bytes=size_bytes,
        program=planned,
        time_ps=time_ps,
        complete=run.complete,
        choice=choice,
        steady=run.steady,
        counters=run.counters,
        load=load,
        wall_s=time.perf_counter() - begin,
        notes=tuple(notes),
        remarks=fabric.remarks,
        hosts=names,
        order=order_text(names, stripes(network, names), job.gpus_per_server // job.gpus_per_process),
        errors=lossless_drops(run.counters, by_address) if by_address is not None else (),
        timeout_ps=timeout_ps(wanted),
        measured=Measured.of(fabric.wiring, traffic, len(own.pairs), run, time_ps, every_ps, slower, used),
        ideal=Ideal.of(fabric.wiring, own, planned.floor_ps),
        band=band(
            time_ps,
            library=job.library,
            collective=collective,
            engine=choice.engine,
            servers=len(job.servers),
            size_bytes=size_bytes,
            others=" and ".join(_others(conditions)),
        )
        if run.complete
        else None,
    )


def _job_links(
    fabric: PacketFabric,
    pairs: NDArray[np.uint32],
    conditions: Conditions,
    timeline: Timeline,
    time_ps: int,
    wanted: dict[str, str],
) -> NDArray[np.bool_] | None:
    """Return by port whether the job's messages take it, or None if no one else sends."""
    if conditions.background is None:
        return None
    return job_links(fabric, pairs, timeline, time_ps, lambda given: _set(given, wanted))


def _posting(message_ps: int, ports: int) -> dict[str, str]:
    """A NIC's proxy posts for all its ports in use; engines have a proxy for each, which takes so many times longer."""
    return {"host.post-cost": f"{message_ps * ports}ps"} if ports > 1 else {}


def proxy_note(message_ps: int, qps: int) -> str:
    """What decides where proxies are the limit, and how far that was compared with anything."""
    note = f"the proxies limit the result: each post takes {message_ps / 1e6:g} us, a figure fitted on two published rows (docs/validation.md)"
    more = f"; {qps} queue pairs are more than were compared, and a post then likely costs more: compare with fewer (--compare qps=1,2,4)"
    return note + (
        more if qps > FITTED_QPS else "; fewer queue pairs post less (--compare qps=1,2,4)" if qps > 1 else ""
    )


def _others(conditions: Conditions) -> list[str]:
    """What goes on besides that no published row has."""
    faults = conditions.timeline.changes or conditions.timeline.tables
    return [*(["faults"] if faults else []), *(["traffic of others"] if conditions.background is not None else [])]


def _set(arguments: A, wanted: dict[str, str]) -> A:
    """Arguments with the settings that were given."""
    arguments["parameters"] = {"host.post-cost": f"{POST_COST_PS}ps"} | arguments["parameters"] | wanted
    arguments["profiles"] = [one | wanted for one in arguments["profiles"]]  # else what switches have configured stays
    return arguments
