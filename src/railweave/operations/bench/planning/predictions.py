"""What each run should give, by the simulator, with its band."""

from __future__ import annotations

from statistics import fmean, linear_regression
from typing import TYPE_CHECKING

from railweave.operations.bench.plan import NcclTests, Perftest
from railweave.operations.bench.planning.questions import Question, options, sizes_of
from railweave.operations.store.records import Prediction
from railweave.prediction.simulation.compare import comparison, longest_run
from railweave.prediction.simulation.model.fabric import packet_fabric
from railweave.prediction.simulation.perftest import write_bandwidth_gbps
from railweave.prediction.simulation.varied import Variant, one_question

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.bench.planning.places import Place
    from railweave.operations.bench.planning.wanted import Wanted
    from railweave.operations.bench.planning.ways import Routed
    from railweave.prediction.simulation.prediction import Prediction as Predicted

LARGE_ERROR, OTHER_ERROR = 0.012, 0.103
"""How far off a prediction of perftest may be: of large messages over one path, and of others.

Of the published rows with large messages (``pt-8388608``, docs/validation.md) it was off by 0.1 %, and repeated runs of the reports differ by
1.2 %. Of all rows it was off by 10.3 % at most (``pt-16384``); over a long link by 9 %, and where a hash chooses links one draw of it is run.
"""
LARGE = "packet engine, seed 1; the published row of large messages was as near, and repeated runs of reports are"
OTHER = "packet engine, seed 1; five published rows of ib_write_bw were as near"
RATE_FREE_BYTES = 64 << 10
"""From here on the number of messages a second does not bind a NIC: sizes below are predicted of NICs alone whose message rate is known."""

PLACES = ("out-of-place", "in-place")
BANDWIDTH = "bandwidth_gbps"
BUS, AVERAGE, SLOPE = "busbw_gbytes_per_s", "average_busbw_gbytes_per_s", "slope_busbw_gbytes_per_s"


def predictions(
    routed: Routed, places: Sequence[Place], runs: Sequence[Wanted], progress: Callable[[str], None] | None = None
) -> list[tuple[Prediction, ...]]:
    """The predictions of each run. ``progress`` is told how far it is. Raises ``InputError`` where a question cannot be asked."""
    asked = {one.key: one for run in runs for size in sizes_of(run.test) for one in [Question(run, size)]}
    known = _of_perftest(routed, places, asked, progress)
    found = _of_collectives(routed.network, asked, progress)
    return [_of_pair(run, known) if isinstance(run.test, Perftest) else _of_job(run, run.test, found) for run in runs]


def _of_perftest(
    routed: Routed,
    places: Sequence[Place],
    asked: Mapping[Hashable, Question],
    progress: Callable[[str], None] | None,
) -> dict[Hashable, float]:
    """10^9 bit/s by the key of the question. A NIC with itself is not asked about: the simulator has no way for it."""
    rates = {one.name: one.messages_per_us for one in places}
    wanted: dict[Hashable, tuple[Question, Perftest, int]] = {}
    for key, one in asked.items():
        test = one.run.test
        if isinstance(test, Perftest) and test.server != test.client:
            rate = rates[f"{test.client.host}:{test.client.nic}"]
            if rate is not None or one.size_bytes >= RATE_FREE_BYTES:
                wanted[key] = one, test, 0 if rate is None else round(1e6 / rate)
    if not wanted:
        return {}
    fabric = packet_fabric(routed.network, routed.plane.configs, routed.routes)
    found: dict[Hashable, float] = {}
    for key, (one, test, post_cost_ps) in wanted.items():
        found[key] = write_bandwidth_gbps(
            fabric,
            f"{test.client.host}:{test.client.nic}",
            f"{test.server.host}:{test.server.nic}",
            one.size_bytes,
            qps=test.qps,
            post_cost_ps=post_cost_ps,
            both_ways=test.both_ways,
            places=one.run.places,
        )
        if progress is not None:
            progress(f"predicting: {len(found)} of {len(wanted)} kinds of pairs and sizes")
    return found


def _of_collectives(
    network: Network, asked: Mapping[Hashable, Question], progress: Callable[[str], None] | None
) -> dict[Hashable, Predicted]:
    wanted = [(key, one) for key, one in asked.items() if isinstance(one.run.test, NcclTests)]
    if not wanted:
        return {}

    def say(text: str) -> None:
        if progress is not None:
            progress(f"predicting: {text.replace('variants', 'collectives')}")

    variants = [Variant(str(place), one_question(network, options(one))) for place, (_, one) in enumerate(wanted)]
    outcomes = comparison(network, variants, "", progress=say).outcomes
    return {key: longest_run(one.answer) for (key, _), one in zip(wanted, outcomes, strict=True)}


def _of_pair(run: Wanted, known: Mapping[Hashable, float]) -> tuple[Prediction, ...]:
    test = run.test
    operation = f"write {'bidirectional ' if isinstance(test, Perftest) and test.both_ways else ''}bandwidth"
    found: list[Prediction] = []
    for size in sizes_of(test):
        rate = known.get(Question(run, size).key)
        if rate is not None:
            large = bool(run.links) and size >= RATE_FREE_BYTES
            off = 1 + (LARGE_ERROR if large else OTHER_ERROR)
            method = LARGE if large else OTHER
            found.append(Prediction(operation, size, "", BANDWIDTH, rate, rate / off, rate * off, method))
    return tuple(found)


def _of_job(run: Wanted, test: NcclTests, known: Mapping[Hashable, Predicted]) -> tuple[Prediction, ...]:
    """Bus bandwidth of every size in both places, their mean as nccl-tests prints it, and the rate of the slope."""
    all_of = [known[Question(run, size).key] for size in sizes_of(test)]
    if not all(one.complete for one in all_of):
        return ()
    values = [_bus(one) for one in all_of]
    found = [
        Prediction(test.collective, one.size_bytes, place, BUS, *value, _method(one))
        for one, value in zip(all_of, values, strict=True)
        for place in PLACES
    ]
    if not found:
        return ()
    mean = tuple(fmean(value[part] for value in values) for part in range(3))
    found.append(
        Prediction(test.collective, None, "", AVERAGE, mean[0], mean[1], mean[2], "the mean over sizes and places")
    )
    if run.slope and len(all_of) > 1:
        factor = all_of[0].program.bus_factor
        times = [(one.time_ps, *_between(one)) for one in all_of]
        value, high, low = (
            slope_gbytes([(one.size_bytes, time[part] / 1e6) for one, time in zip(all_of, times, strict=True)], factor)
            for part in range(3)
        )
        found.append(Prediction(test.collective, None, "", SLOPE, value, low, high, "the slope of times over sizes"))
    return tuple(found)


def slope_gbytes(points: Sequence[tuple[float, float]], factor: float) -> float:
    """The rate that times tend to, as bus bandwidth in 10^9 byte/s: the slope of the straight line through sizes (bytes) and times (us).

    ``factor``: of bus bandwidth (``bus_factor``). What starting takes does not count (50 km article, Figure 4).
    """
    slope = linear_regression([size for size, _ in points], [time for _, time in points]).slope
    return factor / slope / 1e3


def _between(one: Predicted) -> tuple[int, int]:
    return (one.time_ps, one.time_ps) if one.band is None else (one.band.low_ps, one.band.high_ps)


def _bus(one: Predicted) -> tuple[float, float, float]:
    """Bus bandwidth with its band: a long time is a low rate."""
    low, high = _between(one)
    rate = one.program.bus_bandwidth_gbytes
    return rate(one.time_ps), rate(high), rate(low)


def _method(one: Predicted) -> str:
    engine = f"{one.choice.engine} engine, seed 1"
    return engine if one.band is None else f"{engine}; {one.band.compared}"
