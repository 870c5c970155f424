"""``railweave sim --job``: training jobs on a designed network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from railweave.cli.output import print_json, telling
from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

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
"""Options that a job file has fields for, or that say nothing of a job."""


def run(
    network: Network,
    whole: Network,
    job: Path,
    words: dict[str, Any],
    designed: Callable[[Mapping[str, str]], tuple[Network, Network]] | None,
    *,
    as_json: bool,
    quiet: bool,
) -> int:
    """Run the jobs of a file, print what they get; the exit code.

    ``network``: the fabric that they run on; ``whole``: it with those of storage; ``words``: the options of ``sim``; ``designed`` designs
    both with fields of the fabric file changed. Raises ``InputError``.
    """
    from railweave.outputs.report.prediction.training import training_html, variants_html
    from railweave.prediction.simulation.question import background
    from railweave.prediction.simulation.settings import by_name
    from railweave.prediction.simulation.training.export import chakra_files
    from railweave.prediction.simulation.training.question import predict_training
    from railweave.prediction.simulation.training.variants import compare_training, training_over_seeds
    from railweave.writing import write_below, write_file

    wrong = [f"--{name.replace('_', '-')}" for name in OF_COLLECTIVES if words.get(name)]
    if wrong:
        fix = "docs/jobs.md has the fields of a job file, and what it takes besides"
        raise InputError([Problem(Option(wrong[0]), "goes with collectives, not with --job", fix)])
    given: dict[str, Any] = {
        "whole": whole,
        "lb": words["lb"],
        "qps": words["qps"],
        "settings": by_name(words["setting"], "--set"),
        "scenario": words["scenario"],
        "check": words["check_packets"],
        "engine": words["engine"],
        "background": None if words["background"] is None else background(words["background"]),
    }
    with telling(quiet=quiet) as say:
        if words["compare"] is not None:
            for name, fix in (
                ("seeds", "compare seed=1,2,3"),
                ("check_packets", "leave out --compare"),
                ("chakra_out", "leave out --compare"),
            ):
                if words[name]:
                    what = "goes with one prediction, not with --compare"
                    raise InputError([Problem(Option(f"--{name.replace('_', '-')}"), what, fix)])
            found = compare_training(network, job, words["compare"], given, say, designed)
            if words["html"] is not None:
                write_file(words["html"], variants_html(found))
        else:
            seeds = words["seeds"] or 1
            found = (
                predict_training(network, job, **given, progress=say)
                if seeds == 1
                else training_over_seeds(network, job, seeds, given, say)
            )
            if words["html"] is not None:
                write_file(words["html"], training_html(found))
            if words["chakra_out"] is not None:
                for name, content in chakra_files(found):
                    say(f"writing {name}")
                    write_below(words["chakra_out"], {name: content})
    if as_json:
        print_json(found.to_json())
    else:
        typer.echo(found.to_text())
        if words["html"] is not None:
            typer.echo(f"wrote {words['html']}")
    return 0 if found.complete else 1
