"""``railweave sim --job``: training jobs on a designed network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from railweave.cli.output import print_json, telling
from railweave.errors import InputError, Option, Problem

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.network.model import Network

OF_COLLECTIVES = (
    "collective",
    "size",
    "background",
    "tenant",
    "hosts",
    "per_host",
    "fib",
    "measured",
    "seeds",
    "running",
    "nccl",
)
"""Options that a job file has fields for, or that say nothing of a job."""


def run(network: Network, whole: Network, job: Path, words: dict[str, Any], *, as_json: bool, quiet: bool) -> int:
    """Run the jobs of a file, print what they get; the exit code. ``network``: the fabric that they run on; ``whole``: it with those of storage; ``words``: the options of ``sim``. Raises ``InputError``."""
    from railweave.design.fault_targets import fault_targets
    from railweave.intent.scenario import read_scenario
    from railweave.report.prediction.training import training_html
    from railweave.simulation.settings import by_name
    from railweave.simulation.training.export import chakra_files
    from railweave.simulation.training.question import predict_training
    from railweave.simulation.training.variants import compare_training
    from railweave.writing import write_below, write_file

    wrong = [f"--{name.replace('_', '-')}" for name in OF_COLLECTIVES if words.get(name)]
    if wrong:
        fix = "docs/jobs.md has the fields of a job file, and what it takes besides"
        raise InputError([Problem(Option(wrong[0]), "goes with collectives, not with --job", fix)])
    scenario = None if words["scenario"] is None else read_scenario(words["scenario"], "sim")
    if scenario is not None and (scenario.scenario.traffic or scenario.scenario.background):
        raise InputError(
            [
                Problem(
                    Option("--scenario"),
                    "it has traffic; with --job only its faults count",
                    "give one with faults alone",
                )
            ]
        )
    given: dict[str, Any] = {
        "whole": whole,
        "lb": words["lb"],
        "qps": words["qps"],
        "settings": by_name(words["setting"], "--set"),
        "faults": () if scenario is None else tuple(fault_targets(network, scenario)),
    }
    with telling(quiet=quiet) as say:
        if words["compare"] is not None:
            for name, what in (("html", "draws"), ("chakra_out", "writes")):
                if words[name] is not None:
                    option = Option(f"--{name.replace('_', '-')}")
                    raise InputError(
                        [Problem(option, f"{what} one prediction, not a comparison", "leave out --compare")]
                    )
            found = compare_training(network, job, words["compare"], given, say)
        else:
            found = predict_training(network, job, **given, progress=say)
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
    return 0 if found.complete else 1
