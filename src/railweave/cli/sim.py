"""``railweave sim``: simulate a collective or training jobs on a designed network."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from railweave.api.options import Opt
from railweave.api.verbs import (
    MEASURED,
    Simulate,
    SimulateGrid,
    SimulateSizes,
    SimulateTraining,
    SimulateTrainingVariants,
    SimulateVariants,
    Source,
)
from railweave.cli.command import command
from railweave.cli.output import PATIENCE_S, done, print_json, progress, telling, waiting
from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.compare import Comparison
    from railweave.prediction.simulation.grid import Grid
    from railweave.prediction.simulation.job_run import JobPrediction
    from railweave.prediction.simulation.training.answer import TrainingPrediction
    from railweave.prediction.simulation.training.variants import Variants

Given = TypeVar("Given", bound=Source)
OF_COLLECTIVES = (
    "collective",
    "size",
    "tenant",
    "hosts",
    "per_host",
    "fib",
    "measured",
    "running",
    "nccl",
)
"""Options that cannot be combined with ``--job``, because a job file has fields for them or because they do not apply to jobs."""


@dataclass(frozen=True, kw_only=True)
class Sim(Simulate):
    """Options of ``railweave sim``."""

    job: Annotated[
        Path | None,
        Opt(
            "Job file (docs/predict.md#training-steps), which describes a training job. Instead of a collective, one training step is predicted: its time, and the time for which GPUs wait for the network.",
            metavar="FILE",
        ),
    ] = None
    chakra_out: Annotated[
        Path | None,
        Opt(
            "With --job: also write the execution trace of each rank into this folder, in the format of MLCommons Chakra.",
            metavar="FOLDER",
        ),
    ] = None
    check_packets: Annotated[
        bool, Opt("With --job: simulate the transfers of a step twice, by flows and by packets, and show both times.")
    ] = False
    compare: Annotated[
        str | None,
        Opt(
            "Simulate with each value of a setting, for example lb=ecmp,dlb, and explain which value is best. NAME is lb, qps, size, hosts, per-host, or a parameter of NCCL (NCCL_…) or of the engine (host.…). "
            "Separate values that contain commas by semicolons. With several settings, all combinations are simulated, for example 'size=4G..16G hosts=2,4'; "
            "with --job, one setting is changed at a time (docs/predict.md#training-steps).",
            metavar="NAME=VALUES",
        ),
    ] = None
    measured: Annotated[Path | None, MEASURED] = None


@command(Sim)
def sim(options: Sim, *, as_json: bool, quiet: bool) -> None:
    """Predict, by simulation, the time and the bottleneck of a collective (for example all-reduce) or of a training step (--job) on a network.

    Exits 1 if the simulated collective or step does not finish, for example because of a fault in --scenario.
    """
    from railweave.garbage import uncollected
    from railweave.writing import check_writable

    written = [Path(file) for file in (options.html, options.csv) if file is not None]
    for file in written:
        check_writable(file)
    quiet = quiet or as_json
    with uncollected():
        with waiting(f"reading and designing {options.source}", quiet=quiet):
            network = options.network()
        if sentence := network.absent_sentence():
            typer.echo(sentence, err=True)
        _check(options)
        if options.job is None and options.compare is None:
            complete = _sizes(network, options, as_json=as_json, quiet=quiet)
        else:
            with telling(quiet=quiet) as say:
                result = (_of_job if options.job is not None else _compared)(network, options, say)
            complete = result.complete
            if as_json:
                print_json(result.to_json())
            else:
                typer.echo(result.to_text())
    for file in () if as_json else written:
        typer.echo(f"wrote {file}")
    raise typer.Exit(0 if complete else 1)


def _check(options: Sim) -> None:
    """Raise ``InputError`` for options that do not go together."""
    several = options.compare is not None

    def wrong(option: str, description: str, fix: str) -> InputError:
        return InputError([Problem(Option(option), description, fix)])

    if options.job is not None:
        for name in OF_COLLECTIVES:
            if getattr(options, name):
                fix = "docs/predict.md#training-steps has the fields of a job file, and what it takes besides"
                raise wrong(f"--{name.replace('_', '-')}", "goes with collectives, not with --job", fix)
        for option, given, fix in (
            ("--seeds", options.seeds > 1, "compare seed=1,2,3"),
            ("--check-packets", options.check_packets, "leave out --compare"),
            ("--chakra-out", options.chakra_out, "leave out --compare"),
        ):
            if several and given:
                raise wrong(option, "goes with one prediction, not with --compare", fix)
    elif options.check_packets:
        raise wrong("--check-packets", "goes with --job", "for a collective, give --engine packet")
    elif options.measured is not None and not several:
        fix = "name what the points vary, as --compare 'size=4G..16G hosts=2,4', or leave it out"
        raise wrong("--measured", "goes with --compare", fix)


def _as(kind: type[Given], network: Network, options: Sim, **more: Any) -> Given:  # noqa: ANN401 - fields of the kind
    """Return options of the class ``kind`` with the values of ``options``.

    The source is the designed network. ``more`` has further values, which take precedence.
    """
    more = {"source": network, "device": (), "hardware": None, **more}
    names = [field.name for field in fields(kind) if field.name not in more and hasattr(options, field.name)]
    return kind(**more, **{name: getattr(options, name) for name in names})


def _sizes(network: Network, options: Sim, *, as_json: bool, quiet: bool) -> bool:
    """Predict the collective with each size and print each prediction when it is ready. Return whether all of them complete."""
    from railweave.api.predicting import simulate_sizes

    def show(prediction: JobPrediction) -> None:
        if not as_json:
            done(quiet=quiet)
            typer.echo(prediction.to_text())

    with waiting("preparing the network", quiet=quiet or options.seeds > 1), telling(quiet=quiet) as say:
        predictions = simulate_sizes.of(
            _as(
                SimulateSizes,
                network,
                options,
                watch=options.html is not None,
                progress=_message_progress(quiet=quiet),
                each=show,
                say=say,
                announce=None if quiet else partial(typer.echo, err=True),
            )
        )
    if as_json:
        values = [prediction.to_json() for prediction in predictions]
        print_json(values if len(values) > 1 else values[0])
    return all(prediction.complete for prediction in predictions)


def _compared(network: Network, options: Sim, say: Callable[[str], None]) -> Comparison | Grid:
    """Predict the collective with each value of one setting, or with each combination of values of several settings."""
    from railweave.api.predicting import simulate_grid, simulate_variants

    if options.measured is not None or len((options.compare or "").split()) > 1:
        return simulate_grid.of(_as(SimulateGrid, network, options, varied=options.compare, progress=say))
    return simulate_variants.of(_as(SimulateVariants, network, options, progress=say))


def _of_job(network: Network, options: Sim, say: Callable[[str], None]) -> TrainingPrediction | Variants:
    """Predict the training jobs of a file, or compare them with several values of a setting."""
    from railweave.api.predicting import simulate_training, simulate_training_variants

    if options.compare is None:
        return simulate_training.of(_as(SimulateTraining, network, options, progress=say))
    # Settings may change the fabric file, which is then designed again, with the switches and the hardware that were given.
    given = {name: getattr(options, name) for name in ("source", "device", "hardware")}
    return simulate_training_variants.of(
        _as(SimulateTrainingVariants, network, options, designed=network, progress=say, **given)
    )


def _message_progress(*, quiet: bool) -> Callable[[str, int, int], None]:
    """Return a function that reports how many messages have arrived.

    On a terminal it reports every half second. In a log it reports first after two seconds, then every ten.
    """
    say = progress(quiet=quiet)
    every = 0.5 if sys.stderr.isatty() else 10.0
    following = time.monotonic() + min(every, PATIENCE_S)

    def show(label: str, arrived: int, of: int) -> None:
        nonlocal following
        if time.monotonic() >= following:
            following = time.monotonic() + every
            say(f"{label}: {arrived} of {of} messages")

    return show
