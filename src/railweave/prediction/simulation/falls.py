"""Sizes at which a collective has less bus bandwidth than at a smaller size, and the choice that would be quicker."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.prediction.collectives.collective import RINGS
from railweave.prediction.collectives.program import written
from railweave.prediction.simulation.question import Question, answer

if TYPE_CHECKING:
    from railweave.model.network.model import Network
    from railweave.prediction.simulation.job_run import JobPrediction
    from railweave.prediction.simulation.prediction import Prediction

FALL = 0.05
"""The fraction by which the bus bandwidth must be less than at a smaller size to get a remark."""
LEAST = 0.01
"""The fraction from which another choice counts as quicker."""
CHOSEN = ("NCCL_ALGO", "NCCL_PROTO")


def with_fall(
    network: Network, asked: Question, prediction: JobPrediction, best: JobPrediction | None
) -> JobPrediction:
    """Return ``prediction`` with a remark if its bus bandwidth is less than that of ``best``.

    ``asked`` is the request of ``prediction``, and ``best`` the prediction of a smaller size with the most bus bandwidth. The remark says how
    quick that size's choice of algorithm and protocol would be, or if it is the same, the library's second choice of algorithm. This takes
    one more run. Raises the errors of ``answer``.
    """
    if best is None or len(prediction.steps) != 1:
        return prediction
    (only,) = prediction.steps
    (traffic,) = asked.scenario.traffic
    if traffic.collective not in RINGS:
        return prediction
    now, before = only.prediction, best.steps[0].prediction
    larger = now.size_bytes > before.size_bytes
    falls = larger and now.bus_bandwidth_gbytes < before.bus_bandwidth_gbytes * (1 - FALL)
    if not (now.complete and falls) or {*traffic.nccl, *asked.scenario.overrides.nccl} & set(CHOSEN):
        return prediction
    choice, smaller = _choice(now), _choice(before)
    words = dict(zip(CHOSEN, smaller, strict=True)) if choice != smaller else {CHOSEN[0]: f"^{choice[0]}"}
    changed = traffic.model_copy(update={"nccl": traffic.nccl | words})
    scenario = asked.scenario.model_copy(update={"traffic": (changed,)})
    other = answer(network, replace(asked, scenario=scenario), name_costs=False).steps[0].prediction
    if not other.complete or _choice(other) == choice:
        return prediction
    quicker = now.time_ps / other.time_ps - 1
    compared = f"would be {quicker:.0%} quicker" if quicker >= LEAST else "would be no quicker"
    remark = (
        f"{written(now.size_bytes)} has less bus bandwidth than {written(before.size_bytes)}: the library's own estimates choose "
        f"{choice[0]} {choice[1]}; {other.program.algorithm} {other.program.protocol} {compared} (predicted)"
    )
    with_remark = replace(now, remarks=(*now.remarks, remark), notes=(*now.notes, remark))
    return replace(prediction, steps=(replace(only, prediction=with_remark),))


def _choice(prediction: Prediction) -> tuple[str, str]:
    return prediction.program.algorithm, prediction.program.protocol
