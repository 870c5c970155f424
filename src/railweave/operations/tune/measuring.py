"""Measure a combination of values, by the simulator or by hardware: a protocol, its answers, and the design of each combination."""

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
from railweave.outputs.folder.steps import design_source

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from railweave.model.intent.reading.source import Source
    from railweave.model.intent.scenario import Setting
    from railweave.model.network.model import Network


@dataclass(frozen=True)
class Sample(JsonObject):
    """One run with one seed.

    ``parts``: the bus bandwidth of each collective, GB/s, or the time of a step of each job, ms. ``speed`` is their weighted geometric
    mean. ``drops``, ``pauses`` and ``marks`` count packets dropped, PFC pauses and ECN-marked packets of all collectives; None if they are
    not counted.
    ``fairness``: Jain's index of the speed that jobs keep when they run together; None unless there are several jobs.
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
    """Build a sample from its plain values."""
    plain: dict[str, Any] = {**value, "parts": tuple(value["parts"])}
    return Sample(**plain)


@dataclass(frozen=True)
class RefusedCombination:
    """A combination that no network can have, and why: the design refuses it."""

    why: str


@dataclass(frozen=True)
class FailedCombination:
    """A combination that failed on hardware and is not to be tried there again, and why.

    Reasons are a guardrail, with its counter; a device that refused; a run that failed.
    """

    why: str


@dataclass(frozen=True)
class TrialRequest:
    """A run that is asked for: values of knobs by name, and a seed."""

    values: Mapping[str, Setting]
    seed: int


class Evaluator(Protocol):
    """An evaluator of runs. The answers are in the order of the questions, and do not depend on the other questions.

    ``simulated`` asks the simulator. ``hardware`` brings a combination onto the switches with a rollback timer armed, runs benchmarks,
    watches counters meanwhile, and leaves the file's own values behind. A study treats both alike.
    """

    def measure(self, wanted: Sequence[TrialRequest]) -> Sequence[Sample | RefusedCombination | FailedCombination]:
        """Return the answers. Raises ``InputError`` for a goal that cannot be run."""
        ...

    def close(self) -> None:
        """Release all resources; no more questions may follow."""
        ...


def jain(shares: Sequence[float]) -> float:
    """Return Jain's index of fairness: 1 if all shares are equal, 1/n if one has everything (R. Jain, D. Chiu, W. Hawe, 1984)."""
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
    """Return the network of a fabric file with values at some paths, or why the design refuses them.

    ``device``, ``hardware``: see ``api.load``.
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
