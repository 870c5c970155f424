"""Requests for predictions, from a scenario file, options or both, and the runs that answer the requests.

The module also determines the extra time that a collective takes because its messages are split over queue pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from railweave.design.fault_targets import FaultTarget, fault_targets
from railweave.errors import FileLine, InputError, Option, Problem
from railweave.model.catalog.rdma import COSTLY, QUEUE_PAIRS, SPLIT
from railweave.model.device.queue_pairs import designed_variables, splits
from railweave.model.intent.reading.document import Location, plain, wrong_value
from railweave.model.intent.scenario import Background, Scenario, ScenarioFile, Step, read_scenario
from railweave.nearest import nearest
from railweave.prediction.collectives.channels import COLLECTIVES
from railweave.prediction.collectives.nccl import parameters
from railweave.prediction.collectives.program import sizes
from railweave.prediction.collectives.queue_pairs import MOST_QUEUE_PAIRS, parts_of
from railweave.prediction.simulation.agreement import SMALL_PACKET_HOPS, Case, small_case
from railweave.prediction.simulation.collective import predict
from railweave.prediction.simulation.conditions import Conditions, SimulatedNetwork, bed_of, conditions_of
from railweave.prediction.simulation.job_run import JobPrediction, JobStep, run_job
from railweave.prediction.simulation.settings import texts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network
    from railweave.prediction.simulation.prediction import Prediction


POSTING = 0.5
"""The fraction of the time that NIC proxies (threads that post messages) must spend on posting before railweave computes the cost of splitting.

If a run splits messages although the design does not, railweave always computes the cost.
"""


def with_split_costs(
    network: Network, bed: SimulatedNetwork, scenario: Scenario, conditions: Conditions, job_prediction: JobPrediction
) -> JobPrediction:
    """Return ``job_prediction`` with a remark on each collective that takes over 10 % longer (``COSTLY``) because its messages are split.

    The collective is predicted a second time without splitting, in a small case if it is large. ``bed``, ``scenario`` and ``conditions``
    are the arguments with which the job ran (``job_run.run_job``). Raises the errors of ``predict``.
    """
    with_remark: dict[int, Prediction] = {}
    for run in job_prediction.own_runs():
        remark = _remark(network, bed, scenario, conditions, run)
        if remark:
            prediction = run.prediction
            with_remark[id(prediction)] = replace(
                prediction, remarks=(*prediction.remarks, remark), notes=(*prediction.notes, remark)
            )
    if not with_remark:
        return job_prediction
    steps = (
        replace(step, prediction=with_remark.get(id(step.prediction), step.prediction)) for step in job_prediction.steps
    )
    return replace(job_prediction, steps=tuple(steps))


def _remark(network: Network, bed: SimulatedNetwork, scenario: Scenario, conditions: Conditions, of: JobStep) -> str:
    prediction, step = of.prediction, of.step
    if not prediction.complete:
        return ""
    given = texts(scenario.overrides.nccl | step.nccl)
    colors = bed.fabric.addresses.paths
    nccl = parameters({**designed_variables(network, colors), **given}, bed.job.library)
    pairs = nccl[QUEUE_PAIRS] if step.qps is None else step.qps
    posting = prediction.load.proxy_ps >= POSTING * prediction.time_ps
    if not nccl[SPLIT] or pairs == 1 or not (posting or not splits(network, colors)):
        return ""
    large = prediction.choice.packet_hops > SMALL_PACKET_HOPS
    case = small_case(bed, step.size, prediction.choice.packet_hops) if large else Case(bed, step.size)

    def time_ps(split: str) -> int:
        return predict(
            network,
            step.collective,
            case.size_bytes,
            qps=step.qps,
            nccl={**given, SPLIT: split},
            settings=texts(scenario.overrides.settings),
            engine=prediction.choice.engine,
            bed=case.bed,
            conditions=conditions,
            at_ps=of.at_ps,
        ).time_ps

    split_ps = time_ps("1") if large else prediction.time_ps
    whole_ps = time_ps("0")
    if split_ps <= whole_ps * (1 + COSTLY):
        return ""
    where = f" ({case.size_bytes:,} bytes on {len(case.bed.job.servers)} servers)" if large else ""
    parts = parts_of(pairs, split_data=True, ports=bed.job.ports)
    return (
        f"{SPLIT}=1 makes {step.collective} {split_ps / whole_ps - 1:.0%} slower{where}: each message is posted in {parts} parts, one "
        f"after another; with {SPLIT}=0 it takes {whole_ps / 1e6:,.1f} us (predicted)"
    )


@dataclass(frozen=True)
class Question:
    """A request for a prediction.

    - ``file``: the scenario file from which the request was read, or None.
    - ``fib``: a file of forwarding tables, in place of computed tables.
    - ``engine``, ``exact``, ``most_hops``: the choice of packets or flows; see ``collective.predict``.
    - ``tenant``: the tenant that owns the job, if there are several.
    - ``configs``: running configurations of switches, in place of the designed configurations.
    - ``gpus``: the number of GPUs of each server that take part; None means all.
    """

    scenario: Scenario
    faults: tuple[FaultTarget, ...] = ()
    file: ScenarioFile | None = None
    fib: Path | None = None
    tenant: str | None = None
    engine: str = "auto"
    exact: bool = False
    configs: Mapping[str, DeviceConfig] | None = None
    gpus: int | None = None
    most_hops: int | None = None


def background(text: str) -> Background:
    """Read background traffic from a text such as ``share=0.3,ports=A:nic+B:nic,qps=4,packet=9000``.

    The fields are those of a scenario. Raises ``InputError`` if the text is invalid.
    """
    given: dict[str, Any] = {}
    for item in text.split(","):
        name, equals, value = item.partition("=")
        if not equals or name in given:
            description = f"{item!r} does not have the form NAME=VALUE" if not equals else f"{name} is given twice"
            raise InputError(
                [Problem(Option("--background"), description, "write share=30%,ports=*:gpu0_eth,qps=4,packet=9000")]
            )
        several = name == "ports" or (name == "to" and ":" in value)
        given[name] = value.split("+") if several else plain(value)
    try:
        return Background.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        wrong = wrong_value(first)
        description = f"{'.'.join(map(str, first['loc']))}: {wrong.what}"
        fix = wrong.fix or f"it has {', '.join(Background.model_fields)}"
        raise InputError([Problem(Option("--background", part=first["loc"]), description, fix)]) from None


def questions(network: Network, given: Mapping[str, Any]) -> list[Question]:
    """Return one request for each size of the collective. Options override the scenario file.

    ``given`` has options by the parameter names of ``railweave.simulate``. An option that is missing or None has its
    default. The collective comes either from the scenario or from the options. Raises ``InputError`` for an invalid
    option and, with the line, for an error in the scenario file.
    """
    path: Path | None = given.get("scenario")
    file = read_scenario(path, "sim") if path is not None else None
    base = file.scenario if file is not None else Scenario()
    if base.traffic and any(given.get(name) is not None for name in ("collective", "size", "qps")):
        fix = "leave out --collective, --size and --qps, or the scenario's traffic"
        raise InputError([Problem(FileLine(str(path)), "both the scenario and the command line give traffic", fix)])
    nccl: Mapping[str, str] = given.get("nccl") or {}
    settings: Mapping[str, str] = given.get("settings") or {}
    lb, others = given.get("lb"), given.get("background")
    overrides = base.overrides.model_copy(
        update={"lb": base.overrides.lb if lb is None else lb, "settings": {**base.overrides.settings, **settings}}
    )
    faults = tuple(fault_targets(network, file)) if file is not None else ()
    prepared_questions: list[Question] = []
    for traffic in [base.traffic] if base.traffic else _traffic(given):
        steps = tuple(step.model_copy(update={"nccl": {**step.nccl, **nccl}}) for step in traffic)
        asked = base.model_copy(
            update={
                "traffic": steps,
                "overrides": overrides,
                "hosts": base.hosts if given.get("hosts") is None else str(given["hosts"]),
                "per_host": base.per_host if given.get("per_host") is None else given["per_host"],
                "background": base.background if others is None else background(others),
            }
        )
        engine, exact = given.get("engine") or "auto", bool(given.get("exact"))
        more = {name: given.get(name) for name in ("fib", "tenant", "configs", "gpus", "most_hops")}
        prepared_questions.append(Question(asked, faults, file, engine=engine, exact=exact, **more))
    return prepared_questions


def _traffic(given: Mapping[str, Any]) -> list[tuple[Step]]:
    """Return, for each size in the options, the steps of a job: a tuple with a single collective.

    ``given`` has the options by name.
    """
    name, qps = given.get("collective") or "all-reduce", given.get("qps")
    if name not in COLLECTIVES:
        known = ", ".join(COLLECTIVES)
        near = nearest(name, COLLECTIVES)
        meant = f"did you mean {near}? " if near else ""
        raise InputError([Problem(Option("--collective"), f"{name!r} is not known", f"{meant}there are {known}")])
    if qps is not None and not 1 <= qps <= MOST_QUEUE_PAIRS:
        raise InputError(
            [Problem(Option("--qps"), f"{qps} queue pairs per connection", f"give 1 to {MOST_QUEUE_PAIRS}")]
        )
    return [(Step(collective=name, size=size, qps=qps),) for size in sizes(str(given.get("size") or "1G"))]


def answer(
    network: Network,
    asked: Question,
    *,
    watch: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    announce: Callable[[str], None] | None = None,
    name_costs: bool = True,
) -> JobPrediction:
    """Run the request ``asked`` and return its prediction.

    - ``watch``: True to collect time series.
    - ``progress``: called with a description of the step, the number of messages that arrived, and the number of all messages.
    - ``announce``: called with the expected time and memory of a long run before it begins.
    - ``name_costs``: True to add a remark if splitting messages over queue pairs costs more than 10 % (``COSTLY``). This takes additional
      runs.

    Raises ``InputError`` for an invalid request and, with the line, for an error in the scenario file.
    """
    scenario = asked.scenario
    try:
        bed = bed_of(
            network,
            scenario.overrides.lb,
            asked.fib,
            asked.tenant,
            asked.configs,
            order=scenario.hosts,
            processes=scenario.per_host,
            gpus=asked.gpus,
        )
        conditions = conditions_of(bed, scenario.background, asked.faults, scenario.reroute)
        job_prediction = run_job(
            network,
            bed,
            scenario,
            conditions,
            watch=watch,
            progress=progress,
            announce=announce,
            engine=asked.engine,
            exact=asked.exact,
            most_hops=asked.most_hops,
        )
        if name_costs:
            job_prediction = with_split_costs(network, bed, scenario, conditions, job_prediction)
        return replace(job_prediction, events=_events(asked.faults))
    except InputError as error:
        if asked.file is None:
            raise
        raise InputError([_placed(asked, asked.file, problem) for problem in error.problems]) from None


def _events(faults: tuple[FaultTarget, ...]) -> tuple[tuple[int, str], ...]:
    """Return the beginnings and ends of faults, in order, as (time in ps, description)."""
    events: list[tuple[int, str]] = []
    for target in faults:
        fault = target.fault
        label = f"{fault.kind} {fault.link or fault.nic or fault.plane or fault.domain or fault.device}"
        events.append((fault.at, label))
        if fault.end_ps is not None:
            events.append((fault.end_ps, f"{label} ends"))
    return tuple(sorted(events))


def _placed(asked: Question, file: ScenarioFile, problem: Problem) -> Problem:
    """Return ``problem``, an error of the request ``asked``. If it is about an option whose value comes from ``file``, change its location.

    The location is then the line of the value in this scenario file, instead of the option.
    """
    if not isinstance(problem.place, Option):
        return problem
    given, written = (scenario.model_dump(by_alias=True) for scenario in (asked.scenario, file.scenario))
    for location in _locations(problem.place, asked.scenario):
        value = _at(written, location)
        if value not in (None, {}, ()) and value == _at(given, location):
            return file.document.problem(location, problem.what, problem.fix)
    return problem


def _locations(option: Option, scenario: Scenario) -> Iterator[Location]:
    """Yield the locations in a scenario file from which the value of an option may come.

    For an NCCL parameter, the locations in a collective come before the location for all collectives.
    """
    match option.name:
        case "--lb":
            yield ("overrides", "lb")
        case "--set":
            yield ("overrides", "set", *option.part)
        case "--hosts":
            yield ("hosts",)
        case "--per-host":
            yield ("per_host",)
        case "--background":
            yield ("background", *option.part)
        case "--nccl":
            for number, step in enumerate(scenario.traffic):
                of_step = option.part[:1] and option.part[0] in step.nccl
                yield (*(("traffic", number) if of_step else ("overrides",)), "nccl", *option.part)
        case _:
            pass


def _at(value: Any, location: Location) -> Any:  # noqa: ANN401 - walks plain data
    """Return the member of nested dicts and lists at a location (keys and indexes), or None if there is none."""
    for key in location:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value
