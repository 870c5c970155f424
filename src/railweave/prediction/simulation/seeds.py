"""Runs of the same request with several seeds, in parallel processes, to show the effect of chance.

The seed decides which queue pairs share a link, which packets are marked, and which paths sprayed packets take.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from railweave.prediction.collectives.program import sizes
from railweave.prediction.simulation.falls import with_fall
from railweave.prediction.simulation.question import answer, questions
from railweave.prediction.simulation.varied import variants
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.job_run import JobPrediction


def predictions_of(
    network: Network,
    given: Mapping[str, Any],
    seeds: int = 1,
    *,
    watch: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    say: Callable[[str], None] = silent,
    announce: Callable[[str], None] | None = None,
) -> Iterator[JobPrediction]:
    """Yield the prediction for each size of the collective. With ``seeds`` above 1, each prediction is that of the median seed.

    ``given`` has options in the form of ``question.questions``. ``watch``, ``progress`` and ``announce`` are the arguments of
    ``question.answer`` that collect time series and report the progress of a run. ``say`` is called with the progress of several
    seeds. Raises the errors of ``question.questions`` and ``answer``.
    """
    if seeds == 1:
        best: JobPrediction | None = None
        for asked in questions(network, given):
            prediction = answer(network, asked, watch=watch, progress=progress, announce=announce)
            prediction = with_fall(network, asked, prediction, best)
            best = max((prediction, best), key=_bus_bandwidth) if best else prediction
            yield prediction
        return
    wanted = [None] if given.get("size") is None else sizes(str(given["size"]))
    for size in wanted:
        sized = given if size is None else {**given, "size": str(size)}
        yield over_seeds(network, sized, seeds, watch=watch, progress=say)


def _bus_bandwidth(prediction: JobPrediction) -> float:
    return prediction.steps[0].prediction.bus_bandwidth_gbytes


def over_seeds(
    network: Network,
    given: Mapping[str, Any],
    seeds: int,
    *,
    watch: bool = False,
    progress: Callable[[str], None] = silent,
) -> JobPrediction:
    """Return the prediction of the seed with the median time, together with the times of all seeds.

    ``given`` has options in the form of ``question.questions``, with one size. Seeds count up from the seed in the settings, or from 1.
    With ``watch``, time series are collected. Raises ``InputError`` for an invalid option.
    """
    settings: Mapping[str, str] = given.get("settings") or {}
    first = int(settings.get("seed", "1"))
    name = f"seed={','.join(str(first + more) for more in range(seeds))}"
    from railweave.prediction.simulation.compare import comparison  # brings processes with it

    compared = comparison(network, variants(network, name, given), "seed", watch=watch, progress=progress)
    ranked = [outcome.answer for outcome in compared.ranked]
    times = tuple(outcome.answer.time_ps for outcome in compared.outcomes)
    median = ranked[(len(ranked) - 1) // 2]
    if len(median.steps) != 1:
        return replace(median, seeds_ps=times)
    (only,) = median.steps
    band = only.prediction.band
    prediction = replace(only.prediction, band=None if band is None else band.with_seeds(times))
    return replace(median, steps=(replace(only, prediction=prediction),), seeds_ps=times)
