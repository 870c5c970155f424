"""Predictions of the speed of jobs on a network."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.options import verb
from railweave.api.verbs import (
    Simulate,
    SimulateGrid,
    SimulateSizes,
    SimulateTraining,
    SimulateTrainingVariants,
    SimulateVariants,
    Traffic,
)
from railweave.errors import Argument, InputError, Problem
from railweave.model.catalog import in_force
from railweave.model.network.model import Network
from railweave.outputs.folder.sources import load, path_of
from railweave.writing import write_asked, write_below

if TYPE_CHECKING:
    from collections.abc import Mapping

    from railweave.prediction.simulation.compare import Comparison
    from railweave.prediction.simulation.grid import Grid
    from railweave.prediction.simulation.job_run import JobPrediction
    from railweave.prediction.simulation.training.answer import TrainingPrediction
    from railweave.prediction.simulation.training.variants import Variants


@verb(Simulate)
def simulate(options: Simulate) -> JobPrediction:
    """Predict the speed of a collective, or of the job of a scenario file, on a network (docs/predict.md).

    ``nccl`` and ``settings`` may be mappings by name; ``size`` may be a number of bytes. With a scenario file that has
    traffic, ``collective``, ``size`` and ``qps`` are refused; other arguments override the file. With several
    ``seeds``, ``band`` of a collective or ``seeds_ps`` of a job shows the spread over the seeds. ``configs`` are switch
    configurations that replace the designed ones, as ``running`` returns them. With ``watch``, ``series``, ``queues``
    and ``rates`` of the result have values over time; other results do not change. ``progress`` is a function that
    is called with the running collective, the number of messages that arrived, and their total number.

    Times end in ``_ps`` (10^-12 s) or ``_us``, sizes in ``_bytes``, rates in ``_gbps`` (10^9 bit/s) or ``_gbytes``
    (10^9 byte/s). ``links``, ``flows``, ``series``, ``queues`` and ``rates`` of the result are columns for
    ``polars.DataFrame`` or ``pandas.DataFrame``. Raises ``InputError`` for an invalid argument or scenario, or for
    several sizes. Raises the errors of ``load`` too.
    """
    from railweave.prediction.collectives.program import sizes

    if options.size is not None and len(sizes(str(options.size))) != 1:
        raise InputError([Problem(Argument("size"), f"{options.size!r} are several sizes", "give one")])
    (prediction,) = simulate_sizes.of(SimulateSizes(**vars(options)))
    return prediction


@verb(SimulateSizes)
def simulate_sizes(options: SimulateSizes) -> list[JobPrediction]:
    """Predict the speed of a collective with each of several sizes, one after the other.

    - ``each``: a function that is called with each prediction as soon as it is finished.
    - ``say``: a function that is called with a short description of the current activity.
    - ``announce``: a function that is called before a long run begins, with its expected time and memory.

    Other arguments and errors are those of ``simulate``.
    """
    from railweave.prediction.simulation.job_run import steps_table
    from railweave.prediction.simulation.seeds import predictions_of

    whole, network = _on(options)
    given = options.asked(whole, options.collective, options.size)
    predictions: list[JobPrediction] = []
    with in_force(whole.catalog):
        for prediction in predictions_of(
            network,
            given,
            options.seeds,
            watch=options.watch,
            progress=options.progress,
            say=options.say,
            announce=options.announce,
        ):
            predictions.append(prediction)
            options.each(prediction)

        def page() -> str:
            from railweave.outputs.report.prediction.page import prediction_html

            return prediction_html(network, predictions)

        write_asked(options.html, page)
    steps = [step for prediction in predictions for step in prediction.steps]
    write_asked(options.csv, lambda: steps_table(steps).as_csv())
    return predictions


@verb(SimulateVariants)
def simulate_variants(options: SimulateVariants) -> Comparison:
    """Predict a collective with each value of one setting, in parallel processes, and explain which value is best.

    ``compare`` is the setting with its values, as for ``--compare``: ``"lb=ecmp,dlb"``. ``progress`` is a function that is
    called with the number of finished predictions. Other arguments and errors are those of ``simulate``.
    """
    from railweave.prediction.simulation.compare import comparison, elsewhere
    from railweave.prediction.simulation.varied import variants

    whole, network = _on(options)
    with in_force(whole.catalog):
        given = options.asked(whole, options.collective, options.size)
        wanted = variants(network, options.compare, given)
        name = options.compare.partition("=")[0]
        result = comparison(network, wanted, name, watch=options.html is not None, progress=options.progress)
        result = replace(result, elsewhere=elsewhere(network, options.compare, given, result, options.progress))

        def page() -> str:
            from railweave.outputs.report.prediction.comparison import comparison_html

            return comparison_html(network, result)

        write_asked(options.html, page)
    write_asked(options.csv, result.table.as_csv)
    return result


@verb(SimulateGrid)
def simulate_grid(options: SimulateGrid) -> Grid:
    """Predict a collective for every combination of varied values, in parallel processes (docs/predict.md, Grids).

    ``varied`` has the values by name, with the names of ``--compare``:
    ``{"hosts": ["H100-[01-02]", "H100-[01-04]"], "per-host": [1, 8], "size": ["1M", "1G"]}``. Each list element is one
    value, so a list of servers may contain commas. ``varied`` can also be text, as for ``--compare``:
    ``"size=1M,1G per-host=1,8"``. ``measured`` is a CSV file of measured points to compare with predictions. ``progress``
    is a function that is called with the number of finished predictions. Other arguments are those of ``simulate``.

    ``cells`` of the result has each combination with its prediction. ``to_text`` returns a table. ``fit`` is the rate
    that a straight line through the times over sizes approaches. Scripts that call this function need
    ``if __name__ == "__main__":``, because the processes import the script again. Raises ``InputError`` for an invalid
    value or for more than 400 combinations, and the errors of ``load``.
    """
    from railweave.prediction.simulation.grid import dimensions, dimensions_of, grid

    whole, network = _on(options)
    with in_force(whole.catalog):
        wanted = (
            dimensions(options.varied)
            if isinstance(options.varied, str)
            else dimensions_of((name, map(str, values)) for name, values in options.varied.items())
        )
        given = options.asked(whole, options.collective, options.size)
        result = grid(network, wanted, given, measured=path_of(options.measured), progress=options.progress)

        def page() -> str:
            from railweave.outputs.report.prediction.comparison import grid_html

            return grid_html(network, result)

        write_asked(options.html, page)
    write_asked(options.csv, result.table.as_csv)
    return result


@verb(SimulateTraining)
def simulate_training(options: SimulateTraining) -> TrainingPrediction:
    """Predict the step time of each training job of a file on a network, and the waiting times of GPUs (docs/predict.md#training-steps).

    ``job`` is a job file (docs/simulation-files.md). ``changes`` are values that replace fields of its jobs, by path, such as
    ``parallel.tensor``. ``background`` is that of ``simulate``, with ``to=intra-stripe``, ``inter-stripe`` or NICs.
    ``progress`` is a function that is called with the current activity. With several ``seeds``, ``seeds_ps`` of each job
    has the time of each seed.

    Times end in ``_ps`` (10^-12 s). Raises ``InputError`` for invalid input, with lines of the files, and the errors of
    ``load``.
    """
    from railweave.prediction.simulation.training.export import chakra_files
    from railweave.prediction.simulation.training.variants import training_over_seeds

    whole, network = _on(options)
    with in_force(whole.catalog):
        result = training_over_seeds(network, Path(options.job), options.seeds, options.asked(whole), options.progress)

        def page() -> str:
            from railweave.outputs.report.prediction.training import training_html

            return training_html(result)

        write_asked(options.html, page)
        write_asked(options.csv, result.table.as_csv)
        if options.chakra_out is not None:
            for name, content in chakra_files(result):
                options.progress(f"writing {name}")
                write_below(Path(options.chakra_out), {name: content})
    return result


@verb(SimulateTrainingVariants)
def simulate_training_variants(options: SimulateTrainingVariants) -> Variants:
    """Predict training jobs with each value of one or more settings, and show how much slower each value is than the best.

    See docs/predict.md#training-steps. ``compare`` has the settings with their values, as for ``--compare``: ``"parallel.tensor=2,4"``.
    ``designed`` is the network of ``source``, if already designed. Other arguments and errors are those of
    ``simulate_training``. ``seeds`` and ``chakra_out`` are ignored, because they apply only to single predictions.
    """
    from railweave.prediction.simulation.job import job_network
    from railweave.prediction.simulation.training.variants import compare_training

    fixed = isinstance(options.source, Network) or Path(options.source).is_dir()

    def designed(changes: Mapping[str, str]) -> tuple[Network, Network]:
        other = load(str(options.source), device=options.device, hardware=options.hardware, changes=changes)
        return job_network(other, options.fabric), other

    whole, network = _on(options, options.designed)
    with in_force(whole.catalog):
        result = compare_training(
            network,
            Path(options.job),
            options.compare,
            options.asked(whole),
            options.progress,
            None if fixed else designed,
        )

        def page() -> str:
            from railweave.outputs.report.prediction.training import variants_html

            return variants_html(result)

        write_asked(options.html, page)
        write_asked(options.csv, result.table.as_csv)
    return result


def _on(options: Traffic | SimulateTraining, designed: Network | None = None) -> tuple[Network, Network]:
    """Return (the whole network, its simulated part with only one fabric). ``designed`` is the whole network, if already designed."""
    from railweave.prediction.simulation.job import job_network

    whole = options.network() if designed is None else designed
    return whole, job_network(whole, options.fabric)
