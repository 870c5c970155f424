"""The interface of evaluators, which measure combinations of values in the simulator or on hardware, and their results.

The module also designs the network of a combination.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from math import exp, log
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import ValidationError

from railweave.errors import DesignError, SpecError
from railweave.garbage import uncollected
from railweave.json_values import JsonObject
from railweave.model.intent.fabric import FabricFile
from railweave.operations.tune.patch import with_values
from railweave.outputs.folder.designing import design_source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from railweave.model.intent.reading.source import Source
    from railweave.model.intent.scenario import Setting
    from railweave.model.network.model import Network


@dataclass(frozen=True)
class Sample(JsonObject):
    """The result of one run with one seed.

    - ``parts``: the bus bandwidth of each collective in GB/s, or the step time of each job in ms.
    - ``speed``: the weighted geometric mean of ``parts``, in the same unit. More is better for collectives, and less is
      better for jobs.
    - ``drops``, ``pauses``, ``marks``: dropped packets, PFC pauses and ECN-marked packets of all collectives; None if
      not counted.
    - ``fairness``: Jain's fairness index of the jobs' relative speeds; None if there is only one job. A relative speed is a job's step
      time without other jobs, divided by its step time with them.
    - ``complete``: True if everything arrived.
    """

    seed: int
    parts: tuple[float, ...]
    speed: float
    drops: int | None = None
    pauses: int | None = None
    marks: int | None = None
    fairness: float | None = None
    complete: bool = True


def sample_of(value: Mapping[str, Any]) -> Sample:
    """Return the sample that a JSON object of a stored trial describes."""
    plain: dict[str, Any] = {**value, "parts": tuple(value["parts"])}
    return Sample(**plain)


@dataclass(frozen=True)
class RefusedCombination:
    """A combination of values that the design refuses. ``why`` is the reason."""

    why: str


@dataclass(frozen=True)
class FailedCombination:
    """A combination of values that failed on hardware and is not tried there again. ``why`` is one of these reasons:

    - A counter rose by more than its guardrail, the limit that the study sets for it. The text names the counter.
    - A device refused the change.
    - The run failed.
    """

    why: str


@dataclass(frozen=True)
class TrialRequest:
    """A requested run of a trial: the values of knobs (the fields that a study varies) by name, and a seed."""

    values: Mapping[str, Setting]
    seed: int


class Evaluator(Protocol):
    """An evaluator of trials. Results are in request order, and each depends only on its own request.

    One evaluator runs the simulator. The other, for hardware, applies a combination to the switches with a rollback timer,
    runs benchmarks while it watches counters, and then restores the file's own values. A study uses both in the same way.
    """

    def measure(self, wanted: Sequence[TrialRequest]) -> Sequence[Sample | RefusedCombination | FailedCombination]:
        """Return the result of each trial in ``wanted``, in order. Raises ``InputError`` if the study's collectives or jobs cannot be run."""
        ...

    def close(self) -> None:
        """Release all resources. No trial can be measured afterwards."""
        ...


def jain(shares: Sequence[float]) -> float:
    """Return Jain's fairness index: 1 if all n shares are equal, 1/n if one share is 1 and the others are 0 (R. Jain, D. Chiu, W. Hawe, 1984)."""
    squares = sum(share * share for share in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 1.0


def mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Return the weighted geometric mean; 0 if any value is 0 or less."""
    if min(values) <= 0:
        return 0.0
    return exp(sum(weight * log(value) for value, weight in zip(values, weights, strict=True)) / sum(weights))


def designed(
    source: Source, values: Mapping[tuple[str, ...], Setting], device: Sequence[str], hardware: Path | None
) -> Network | RefusedCombination:
    """Return the network of the fabric file ``source`` with some values replaced, or the reason why the design refuses them.

    ``values`` has the new values by path. ``device`` has switch models that replace the models of the fabric file, and ``hardware`` is a
    folder of hardware files.
    """
    document = replace(source.document, value=with_values(source.document.value, values))
    try:
        spec = FabricFile.model_validate(document.value)
        with uncollected():
            changed = replace(source, spec=spec, document=document, lock=copy.deepcopy(source.lock))
            return design_source(changed, device=device, hardware=hardware)[0]
    except ValidationError as error:
        return RefusedCombination(
            "; ".join(str(detail.get("ctx", {}).get("error", detail["msg"])) for detail in error.errors())
        )
    except (DesignError, SpecError) as error:
        return RefusedCombination("; ".join(problem.what for problem in error.problems))
