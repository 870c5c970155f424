"""Measure a combination of values, by the simulator or by hardware: one protocol, its answers, and the design of each combination."""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass, replace
from math import exp, log
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import ValidationError

from railweave.errors import DesignError, SpecError
from railweave.garbage import uncollected
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
class Sample:
    """One run with one seed.

    ``parts``: of each collective the bus bandwidth, GB/s, or of each job the time of a step, ms. ``speed`` is their weighted
    geometric mean. ``drops``, ``pauses`` and ``marks`` are packets and PFC pauses of all collectives; None where nobody counts.
    ``fairness``: Jain's index of what jobs keep of their speed together; None where there are not several.
    """

    seed: int
    parts: tuple[float, ...]
    speed: float
    drops: int | None = None
    pauses: int | None = None
    marks: int | None = None
    fairness: float | None = None
    complete: bool = True

    def to_json(self) -> dict[str, Any]:
        """As plain values; ``sample_of`` takes them back."""
        return {**asdict(self), "parts": list(self.parts)}


def sample_of(value: Mapping[str, Any]) -> Sample:
    """A sample of its plain values."""
    plain: dict[str, Any] = {**value, "parts": tuple(value["parts"])}
    return Sample(**plain)


@dataclass(frozen=True)
class Refused:
    """A combination that no network can have, and why: the design refuses it."""

    why: str


@dataclass(frozen=True)
class Failed:
    """A combination that was on hardware and is not to be there again, and why: a guardrail, with its counter; a device that refused; a run that failed."""

    why: str


@dataclass(frozen=True)
class Wanted:
    """A run that is asked for: values of knobs by name, and a seed."""

    values: Mapping[str, Setting]
    seed: int


class Evaluator(Protocol):
    """Measures runs. The answers are in the order of the questions, and do not depend on who else was asked.

    ``simulated`` asks the simulator; ``hardware`` brings a combination onto the switches with a way back armed, runs benchmarks, watches
    counters meanwhile, and leaves the file's own values behind: a study does not know the difference.
    """

    def measure(self, wanted: Sequence[Wanted]) -> Sequence[Sample | Refused | Failed]:
        """The answers. Raises ``InputError`` for a goal that cannot be run."""
        ...

    def close(self) -> None:
        """Let go of what it holds; after this it is asked no more."""
        ...


def jain(shares: Sequence[float]) -> float:
    """Jain's index of fairness: 1 where all are equal, 1/n where one has everything (R. Jain, D. Chiu, W. Hawe, 1984)."""
    squares = sum(one * one for one in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 1.0


def mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """The weighted geometric mean; 0 where one of them is."""
    if min(values) <= 0:
        return 0.0
    return exp(sum(weight * log(value) for value, weight in zip(values, weights, strict=True)) / sum(weights))


def designed(
    source: Source, values: Mapping[tuple[str, ...], Setting], device: Sequence[str], hardware: Path | None
) -> Network | Refused:
    """The network of a fabric file with values at some paths, or why the design refuses them. ``device``, ``hardware``: see ``api.load``."""
    document = replace(source.document, value=with_values(source.document.value, values))
    try:
        spec = FabricFile.model_validate(document.value)
        with uncollected():
            changed = replace(source, spec=spec, document=document, lock=copy.deepcopy(source.lock))
            return design_source(changed, device=device, hardware=hardware)[0]
    except ValidationError as error:
        return Refused("; ".join(str(one.get("ctx", {}).get("error", one["msg"])) for one in error.errors()))
    except (DesignError, SpecError) as error:
        return Refused("; ".join(one.what for one in error.problems))
