"""Predictions of the speed of jobs on a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from railweave.api.options import verb
from railweave.api.verbs import Simulate, SimulateGrid, SimulateTraining
from railweave.errors import Argument, InputError, Problem
from railweave.model.catalog import in_force
from railweave.outputs.folder.sources import path_of

if TYPE_CHECKING:
    from railweave.prediction.simulation.grid import Grid
    from railweave.prediction.simulation.job_run import JobPrediction
    from railweave.prediction.simulation.training.answer import TrainingPrediction


@verb(Simulate)
def simulate(options: Simulate) -> JobPrediction:
    """Predict the speed of a collective, or of the job of a scenario file, on a network (docs/predict.md).

    ``nccl`` and ``settings`` may be mappings by name; ``size`` may be a number of bytes. With a scenario file that has traffic,
    ``collective``, ``size`` and ``qps`` are refused; other arguments override the file. With ``seeds``, ``band`` of a collective or
    ``seeds_ps`` of a job shows the effect of chance. ``configs`` are switch configurations that replace the designed ones, as ``running``
    returns them. ``watch`` collects ``series``, ``queues`` and ``rates`` over time, which changes no result. ``progress`` is called now and
    then with the running collective, the number of messages that arrived, and their total number.

    Times end in ``_ps`` (10^-12 s) or ``_us``, sizes in ``_bytes``, rates in ``_gbps`` (10^9 bit/s) or ``_gbytes`` (10^9
    byte/s). ``links``, ``flows``, ``series``, ``queues`` and ``rates`` of the result are columns for
    ``polars.DataFrame`` or ``pandas.DataFrame``. Raises ``InputError`` for an invalid argument or scenario or for several sizes, and as
    ``load`` does.
    """
    from railweave.prediction.simulation.job import job_network
    from railweave.prediction.simulation.question import answer, questions

    network = job_network(options.network(), options.fabric)
    with in_force(network.catalog):
        given = options.asked(options.collective, options.size)
        if options.seeds > 1:
            from railweave.prediction.simulation.seeds import over_seeds

            return over_seeds(network, given, options.seeds, watch=options.watch)
        asked = questions(network, given)
        if len(asked) != 1:
            raise InputError([Problem(Argument("size"), f"{options.size!r} are several sizes", "give one")])
        return answer(network, asked[0], watch=options.watch, progress=options.progress)


@verb(SimulateGrid)
def simulate_grid(options: SimulateGrid) -> Grid:
    """Predict a collective for every combination of varied values, in parallel processes (docs/predict.md, Grids).

    ``varied`` has the values by name, with the names of ``--compare``:
    ``{"hosts": ["H100-[01-02]", "H100-[01-04]"], "per-host": [1, 8], "size": ["1M", "1G"]}``. Each list element is one value, so a list of
    servers may contain commas. Other arguments are those of ``simulate``. ``measured`` is a CSV file of measured points to compare with
    predictions. ``progress`` is called with the number of finished predictions.

    ``cells`` of the result has each combination and its prediction, ``to_text`` returns a table, and ``fit`` the rate that a line over sizes
    approaches. Scripts that call this function need ``if __name__ == "__main__":``, because the processes import the script again. Raises
    ``InputError`` for an invalid value, for more than 400 combinations, and as ``load`` does.
    """
    from railweave.prediction.simulation.grid import dimensions_of, grid
    from railweave.prediction.simulation.job import job_network

    network = job_network(options.network(), options.fabric)
    with in_force(network.catalog):
        wanted = dimensions_of((name, map(str, values)) for name, values in options.varied.items())
        given = options.asked(options.collective, options.size)
        return grid(network, wanted, given, measured=path_of(options.measured), progress=options.progress)


@verb(SimulateTraining)
def simulate_training(options: SimulateTraining) -> TrainingPrediction:
    """Predict the step time of each training job of a file on a network, and the waiting times of GPUs (docs/jobs.md).

    ``job`` is a job file (docs/job-file.md). ``changes`` are values that replace fields of its jobs, by path, such as ``parallel.tensor``.
    ``background`` is that of ``simulate``, with ``to=intra-stripe``, ``inter-stripe`` or NICs. ``progress`` is called with the current
    activity.

    Times end in ``_ps`` (10^-12 s). Raises ``InputError`` for invalid input, with lines of the files, and as ``load`` does.
    """
    from railweave.prediction.simulation.job import job_network
    from railweave.prediction.simulation.question import background
    from railweave.prediction.simulation.settings import by_name
    from railweave.prediction.simulation.training.question import predict_training

    whole = options.network()
    network = job_network(whole, options.fabric)
    with in_force(whole.catalog):
        return predict_training(
            network,
            Path(options.job),
            whole=whole,
            changes=options.changes,
            lb=options.lb,
            qps=options.qps,
            settings=by_name(options.settings, "--set"),
            scenario=path_of(options.scenario),
            others=path_of(options.others),
            background=None if options.background is None else background(options.background),
            engine=options.engine,
            check=options.check_packets,
            progress=options.progress,
        )
