"""The cost of splitting each message over all queue pairs, where its proxies are busy posting the parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.catalog.posting import COSTLY, QUEUE_PAIRS, SPLIT
from railweave.model.device.queue_pairs import designed_variables, splits
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.collectives.queue_pairs import parts_of
from railweave.prediction.simulation.agreement import SMALL_PACKET_HOPS, Case, small_case
from railweave.prediction.simulation.collective import predict
from railweave.prediction.simulation.settings import texts

if TYPE_CHECKING:
    from railweave.model.intent.scenario import Scenario
    from railweave.model.network.model import Network
    from railweave.prediction.simulation.conditions import Bed, Conditions
    from railweave.prediction.simulation.job_run import JobPrediction, JobStep
    from railweave.prediction.simulation.prediction import Prediction

POSTING = 0.5
"""The part of the time from which on posting may be what a collective waits for; a setting that is not the design's own is always looked at."""


def with_split_costs(
    network: Network, bed: Bed, scenario: Scenario, conditions: Conditions, found: JobPrediction
) -> JobPrediction:
    """Add a remark to each collective that takes more than ``COSTLY`` longer because its messages are split.

    Such a collective is predicted again without, in a small case if it is large. Raises ``InputError`` as ``predict``.
    """
    told: dict[int, Prediction] = {}
    for one in found.own_runs():
        remark = _remark(network, bed, scenario, conditions, one)
        if remark:
            own = one.prediction
            told[id(own)] = replace(own, remarks=(*own.remarks, remark), notes=(*own.notes, remark))
    if not told:
        return found
    steps = (replace(one, prediction=told.get(id(one.prediction), one.prediction)) for one in found.steps)
    return replace(found, steps=tuple(steps))


def _remark(network: Network, bed: Bed, scenario: Scenario, conditions: Conditions, of: JobStep) -> str:
    own, step = of.prediction, of.step
    if not own.complete:
        return ""
    given = texts(scenario.overrides.nccl | step.nccl)
    colors = bed.fabric.addresses.paths
    nccl = parameters({**designed_variables(network, colors), **given}, bed.job.library)
    pairs = nccl[QUEUE_PAIRS] if step.qps is None else step.qps
    posting = own.load.proxy_ps >= POSTING * own.time_ps
    if not nccl[SPLIT] or pairs == 1 or not (posting or not splits(network, colors)):
        return ""
    large = own.choice.packet_hops > SMALL_PACKET_HOPS
    case = small_case(bed, step.size, own.choice.packet_hops) if large else Case(bed, step.size)

    def time_ps(split: str) -> int:
        return predict(
            network,
            step.collective,
            case.size_bytes,
            qps=step.qps,
            nccl={**given, SPLIT: split},
            settings=texts(scenario.overrides.settings),
            engine=own.choice.engine,
            bed=case.bed,
            conditions=conditions,
            at_ps=of.at_ps,
        ).time_ps

    split_ps = time_ps("1") if large else own.time_ps
    whole_ps = time_ps("0")
    if split_ps <= whole_ps * (1 + COSTLY):
        return ""
    where = f" ({case.size_bytes:,} bytes on {len(case.bed.job.servers)} servers)" if large else ""
    parts = parts_of(pairs, split_data=True, ports=bed.job.ports)
    return (
        f"{SPLIT}=1 makes {step.collective} {split_ps / whole_ps - 1:.0%} longer{where}: each message is posted in {parts} parts, one "
        f"after another; with {SPLIT}=0 it takes {whole_ps / 1e6:,.1f} us, by prediction"
    )
