"""``railweave sim --job``: simulate training jobs on a designed network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from railweave.cli.output import print_json, telling, write_csv
from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from railweave.cli.sim import Sim
    from railweave.model.network.model import Network

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
"""Options that cannot be combined with ``--job``: a job file has fields for them, or they do not apply to jobs."""


def run(network: Network, whole: Network, job: Path, options: Sim, *, as_json: bool, quiet: bool) -> int:
    """Run the jobs of a file, print the results, and return the exit code. Raises ``InputError``.

    ``network`` has the fabric that the jobs run on. ``whole`` also has the storage fabrics.
    """
    from railweave.outputs.report.prediction.training import training_html, variants_html
    from railweave.prediction.simulation.question import background
    from railweave.prediction.simulation.settings import by_name
    from railweave.prediction.simulation.training.export import chakra_files
    from railweave.prediction.simulation.training.question import predict_training
    from railweave.prediction.simulation.training.variants import compare_training, training_over_seeds
    from railweave.writing import write_below, write_file

    wrong = [f"--{name.replace('_', '-')}" for name in OF_COLLECTIVES if getattr(options, name)]
    if wrong:
        fix = "docs/jobs.md has the fields of a job file, and what it takes besides"
        raise InputError([Problem(Option(wrong[0]), "goes with collectives, not with --job", fix)])
    given: dict[str, Any] = {
        "whole": whole,
        "lb": options.lb,
        "qps": options.qps,
        "settings": by_name(options.settings, "--set"),
        "scenario": options.scenario,
        "check": options.check_packets,
        "engine": options.engine,
        "background": None if options.background is None else background(options.background),
    }
    with telling(quiet=quiet) as say:
        if options.compare is not None:
            for option, given_too, fix in (
                ("--seeds", options.seeds > 1, "compare seed=1,2,3"),
                ("--check-packets", options.check_packets, "leave out --compare"),
                ("--chakra-out", options.chakra_out, "leave out --compare"),
            ):
                if given_too:
                    raise InputError([Problem(Option(option), "goes with one prediction, not with --compare", fix)])
            result = compare_training(network, job, options.compare, given, say, _designed(options))
            if options.html is not None:
                write_file(options.html, variants_html(result))
            write_csv(options.csv, result.table)
        else:
            result = (
                predict_training(network, job, **given, progress=say)
                if options.seeds == 1
                else training_over_seeds(network, job, options.seeds, given, say)
            )
            if options.html is not None:
                write_file(options.html, training_html(result))
            write_csv(options.csv, result.table)
            if options.chakra_out is not None:
                for name, content in chakra_files(result):
                    say(f"writing {name}")
                    write_below(options.chakra_out, {name: content})
    if as_json:
        print_json(result.to_json())
    else:
        typer.echo(result.to_text())
        for file in filter(None, (options.html, options.csv)):
            typer.echo(f"wrote {file}")
    return 0 if result.complete else 1


def _designed(options: Sim) -> Callable[[Mapping[str, str]], tuple[Network, Network]] | None:
    """Return a function that designs the network with changed fields of the fabric file. None if the source is not a fabric file."""
    from railweave.api import load
    from railweave.prediction.simulation.job import job_network

    file = options.source
    if not isinstance(file, Path) or file.is_dir():
        return None

    def designed(changes: Mapping[str, str]) -> tuple[Network, Network]:
        other = load(file, device=options.device, hardware=options.hardware, changes=changes)
        return job_network(other, options.fabric), other

    return designed
