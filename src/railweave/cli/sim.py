"""``railweave sim``: simulate a collective or training jobs on a designed network."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from railweave.api.options import Opt
from railweave.api.verbs import CSV, HTML, MEASURED, RUNNING, Simulate
from railweave.cli.command import command
from railweave.cli.output import PATIENCE_S, print_json, progress, telling, waiting, write_csv

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.job_run import JobPrediction


@dataclass(frozen=True, kw_only=True)
class Sim(Simulate):
    """Options of ``railweave sim``."""

    job: Annotated[
        Path | None,
        Opt(
            "Job file (docs/jobs.md) that describes a training job. Instead of a collective, predict the time of a training step and how long its GPUs wait."
        ),
    ] = None
    chakra_out: Annotated[
        Path | None,
        Opt(
            "With --job: also write the execution trace of each rank into this folder, in the format of MLCommons Chakra."
        ),
    ] = None
    check_packets: Annotated[
        bool, Opt("With --job: simulate the transfers of a step twice, by flows and by packets, and show both times.")
    ] = False
    compare: Annotated[
        str | None,
        Opt(
            "Simulate with each value of a setting, NAME=a,b,c, and explain which value is best. NAME is lb, qps, size, hosts, per-host, or an NCCL (NCCL_…) or engine (host.…) parameter. "
            "If values contain commas, separate the values with semicolons. Several names make a grid of all combinations, for example 'size=4G..16G hosts=2,4'; "
            "with --job, one setting is changed at a time (docs/jobs.md)."
        ),
    ] = None
    measured: Annotated[Path | None, MEASURED] = None
    html: Annotated[Path | None, HTML] = None
    csv: Annotated[Path | None, CSV] = None
    running: Annotated[Path | None, RUNNING] = None


@command(Sim)
def sim(options: Sim, *, as_json: bool, quiet: bool) -> None:
    """Predict the time and the bottleneck of a collective (or, with --job, of a training step) on a designed network, by simulation.

    Exits 1 if the simulated collective or step did not finish, for example because of a fault.
    """
    from railweave.writing import check_writable

    for file in filter(None, (options.html, options.csv)):
        check_writable(file)
    from railweave.errors import InputError, Option, Problem
    from railweave.garbage import uncollected
    from railweave.model.catalog import in_force
    from railweave.model.network.status import absent_sentence
    from railweave.prediction.simulation.job import job_network

    quiet = quiet or as_json
    compare, measured = options.compare, options.measured
    given = options.asked(options.collective, options.size)
    with uncollected():
        with waiting(f"reading and designing {options.source}", quiet=quiet):
            whole = options.network()
            network = job_network(whole, options.fabric)
            if options.running is not None:
                from railweave.api import running as saved

                given["configs"] = saved(whole, options.running)
        if sentence := absent_sentence(whole):
            typer.echo(sentence, err=True)
        with in_force(whole.catalog):
            if options.job is not None:
                from railweave.cli.sim_job import run

                raise typer.Exit(run(network, whole, options.job, options, as_json=as_json, quiet=quiet))
            if options.check_packets:
                description, fix = "goes with --job", "--engine packet is the like of a collective"
                raise InputError([Problem(Option("--check-packets"), description, fix)])
            if measured is not None and compare is None:
                fix = "name what the points vary, as --compare 'size=4G..16G hosts=2,4', or leave it out"
                raise InputError([Problem(Option("--measured"), "goes with --compare", fix)])
            if compare is not None and (len(compare.split()) > 1 or measured is not None):
                code = _grid(network, given, compare, options, as_json=as_json, quiet=quiet)
            else:
                code = _answered(network, given, options, as_json=as_json, quiet=quiet)
    for file in () if as_json else filter(None, (options.html, options.csv)):
        typer.echo(f"wrote {file}")
    raise typer.Exit(code)


def _answered(network: Network, given: dict[str, Any], options: Sim, *, as_json: bool, quiet: bool) -> int:
    """Run the requested simulation, print its result, write its files, and return the exit code."""
    from railweave.prediction.simulation.job_run import steps_table
    from railweave.prediction.simulation.question import answer, questions
    from railweave.writing import write_file

    compare, html, seeds = options.compare, options.html, options.seeds
    if compare is not None:
        from railweave.prediction.simulation.compare import comparison
        from railweave.prediction.simulation.varied import variants

        name = compare.partition("=")[0]
        with telling(quiet=quiet) as say:
            result = comparison(network, variants(network, compare, given), name, watch=html is not None, progress=say)
        if html is not None:
            from railweave.outputs.report.prediction.comparison import comparison_html

            write_file(html, comparison_html(network, result))
        write_csv(options.csv, result.table)
        if as_json:
            print_json(result.to_json())
        else:
            typer.echo(result.to_text())
        return 0 if result.complete else 1
    predictions: list[JobPrediction] = []
    if seeds > 1:
        from railweave.prediction.simulation.seeds import by_size, over_seeds

        for sized in by_size(given):
            with telling(quiet=quiet) as tell:
                predictions.append(over_seeds(network, sized, seeds, watch=html is not None, progress=tell))
            if not as_json:
                typer.echo(predictions[-1].to_text())
    say = None if quiet else partial(typer.echo, err=True)
    for asked in questions(network, given) if seeds == 1 else ():
        with waiting("making the network ready", quiet=quiet):
            predictions.append(
                answer(network, asked, watch=html is not None, progress=_message_progress(quiet=quiet), announce=say)
            )
        if not as_json:
            typer.echo(predictions[-1].to_text())
    if html is not None:
        from railweave.outputs.report.prediction.page import prediction_html

        write_file(html, prediction_html(network, predictions))
    write_csv(options.csv, steps_table([step for prediction in predictions for step in prediction.steps]))
    if as_json:
        values = [prediction.to_json() for prediction in predictions]
        print_json(values if len(values) > 1 else values[0])
    return 0 if all(prediction.complete for prediction in predictions) else 1


def _grid(network: Network, given: dict[str, Any], compare: str, options: Sim, *, as_json: bool, quiet: bool) -> int:
    """Run a grid of simulations, print the result, write its files, and return the exit code."""
    from railweave.prediction.simulation.grid import dimensions, grid
    from railweave.writing import write_file

    with telling(quiet=quiet) as say:
        result = grid(network, dimensions(compare), given, measured=options.measured, progress=say)
    if options.html is not None:
        from railweave.outputs.report.prediction.comparison import grid_html

        write_file(options.html, grid_html(network, result))
    write_csv(options.csv, result.table)
    if as_json:
        print_json(result.to_json())
    else:
        typer.echo(result.to_text())
    return 0 if result.complete else 1


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
