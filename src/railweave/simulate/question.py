"""What is asked of a simulation, from a scenario file, from options, or from both; and the run that answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from railweave.collectives.bus_bandwidth import COLLECTIVES
from railweave.design.fault_targets import fault_targets
from railweave.errors import InputError, Problem
from railweave.simulate.conditions import bed_of, conditions_of
from railweave.simulate.job_run import JobPrediction, run_job
from railweave.spec.scenario import Background, Scenario, Step, read_scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from railweave.design.fault_targets import FaultTarget
    from railweave.design.network import Network
    from railweave.spec.scenario import ScenarioFile


@dataclass(frozen=True)
class Question:
    """What is asked. ``file`` is the scenario file that it comes from, ``fib`` one of forwarding tables."""

    scenario: Scenario
    faults: tuple[FaultTarget, ...] = ()
    file: ScenarioFile | None = None
    fib: Path | None = None


def background(text: str) -> Background:
    """``share=0.3,ports=A:nic+B:nic,qps=4,packet=9000`` as the scenario's. Raises ``InputError``."""
    given: dict[str, Any] = {}
    for item in text.split(","):
        name, equals, value = item.partition("=")
        if not equals or name in given:
            what = f"{item!r} is no NAME=VALUE" if not equals else f"{name} is given twice"
            raise InputError([Problem("--background", 0, what, "write share=30%,ports=*:gpu0_eth,qps=4,packet=9000")])
        given[name] = value.split("+") if name == "ports" else value
    try:
        return Background.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{'.'.join(map(str, first['loc']))}: {first['msg'].removeprefix('Value error, ')}"
        fix = f"it has {', '.join(Background.model_fields)}"
        raise InputError([Problem("--background", 0, what, fix)]) from None


def question(
    network: Network,
    *,
    collective: str | None = None,
    size_bytes: int | None = None,
    qps: int | None = None,
    nccl: Iterable[str] = (),
    lb: str | None = None,
    settings: Mapping[str, str] | None = None,
    others: str | Background | None = None,
    scenario: Path | None = None,
    fib: Path | None = None,
) -> Question:
    """What options ask, over what a scenario file asks.

    ``nccl`` are ``KEY=VALUE`` words, ``others`` is background traffic. A collective is one of the two's. Raises
    ``InputError``; of the file with lines.
    """
    file = read_scenario(scenario, "sim") if scenario is not None else None
    base = file.scenario if file is not None else Scenario()
    traffic = base.traffic
    if traffic and not (collective is None and size_bytes is None and qps is None):
        fix = "leave out --collective, --size and --qps, or the scenario's traffic"
        raise InputError([Problem(str(scenario), 0, "the scenario has traffic, and so has the command line", fix)])
    if not traffic:
        name = collective or "all-reduce"
        if name not in COLLECTIVES:
            known = ", ".join(COLLECTIVES)
            raise InputError([Problem("--collective", 0, f"collective: {name!r} is not known", f"there are {known}")])
        if qps is not None and not 1 <= qps <= 128:
            raise InputError([Problem("--qps", 0, f"{qps} queue pairs per connection", "give 1 to 128")])
        traffic = (Step(collective=name, size=size_bytes or 1 << 30, qps=qps),)
    over = base.overrides
    words = _named(nccl)
    traffic = tuple(step.model_copy(update={"nccl": {**step.nccl, **words}}) for step in traffic)
    merged = over.model_copy(
        update={"lb": lb if lb is not None else over.lb, "settings": {**over.settings, **(settings or {})}}
    )
    if isinstance(others, str):
        others = background(others)
    asked = base.model_copy(update={"traffic": traffic, "overrides": merged, "background": others or base.background})
    return Question(asked, tuple(fault_targets(network, file)) if file is not None else (), file, fib)


def _named(words: Iterable[str]) -> dict[str, str]:
    """``KEY=VALUE`` words by key."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            fix = "write KEY=VALUE, as in NCCL_BUFFSIZE=8M"
            raise InputError([Problem("--nccl", 0, f"{word!r} has no value", fix)])
        found[name] = value
    return found


def answer(
    network: Network,
    asked: Question,
    *,
    watch: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,  # noqa: ANN401 - further options of predict
) -> JobPrediction:
    """Run what is asked. With ``watch``, series are collected. Raises ``InputError``; of a scenario file with its line."""
    scenario = asked.scenario
    try:
        bed = bed_of(network, scenario.overrides.lb, asked.fib)
        conditions = conditions_of(bed, scenario.background, asked.faults, scenario.reroute)
        return run_job(network, bed, scenario, conditions, watch=watch, progress=progress, **options)
    except InputError as error:
        if asked.file is None:
            raise
        raise InputError([_placed(asked.file, problem) for problem in error.problems]) from None


PLACES = {
    "--lb": ("overrides", "lb"),
    "--set": ("overrides", "set"),
    "--nccl": ("overrides", "nccl"),
    "--background": ("background",),
    "--scenario": (),
}


def _placed(file: ScenarioFile, problem: Problem) -> Problem:
    """A problem of an option at the line of the scenario that gave it, where the scenario did."""
    place = PLACES.get(problem.file)
    if place is None:
        return problem
    known = [path for path in file.document.lines if path[: len(place)] == place]
    named = [path for path in known if len(path) > len(place) and str(path[-1]) in problem.what]
    if place == ("overrides", "nccl") and not named:
        named = [path for path in file.document.lines if path[-2:-1] == ("nccl",) and str(path[-1]) in problem.what]
    if place and not known and not named:
        return problem
    return file.document.problem((named or [place])[0], problem.what, problem.fix)
