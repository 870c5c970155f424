"""Creation of the plan of a suite on a network, and of the plan's table, with the predictions and durations of the runs."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from statistics import fmean, linear_regression
from typing import TYPE_CHECKING, Any

import numpy as np

from railweave._sim import WRITE, PacketEngine
from railweave.counting import counted
from railweave.errors import InputError, Option, Problem
from railweave.model.catalog.server_shapes import domain_remarks
from railweave.model.network.status import present
from railweave.operations.bench.plan import Memory, NcclTests, Perftest, Plan, PlannedRun
from railweave.operations.bench.planning.jobs import jobs
from railweave.operations.bench.planning.pairs import Pairs
from railweave.operations.bench.planning.places import Place, Routed, check_memory, places
from railweave.operations.bench.planning.suites import suite_of
from railweave.operations.store.records import Prediction
from railweave.pages.table import Cell, Column, Table
from railweave.prediction.collectives.program import written
from railweave.prediction.simulation.compare import comparison, longest_run
from railweave.prediction.simulation.job import ordered, stripes
from railweave.prediction.simulation.model.fabric import PacketFabric, packet_fabric
from railweave.prediction.simulation.varied import Variant, one_question
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.bench.plan import RunRequest
    from railweave.prediction.simulation.prediction import Prediction as Predicted


FEWEST, MOST = 4, 1_000
"""The smallest and the largest number of messages per queue pair that are simulated."""
BYTES = 8 << 20
"""The number of bytes per queue pair that are simulated, if this gives between ``FEWEST`` and ``MOST`` messages.

With this number, the delays of the first and last message are negligible.
"""


def write_bandwidth_gbps(
    fabric: PacketFabric,
    src: str,
    dst: str,
    size_bytes: int,
    *,
    qps: int,
    post_cost_ps: int,
    both_ways: bool = False,
    places: tuple[int, int] | None = None,
) -> float:
    """Return the simulated average payload rate in 10^9 bit/s, as perftest prints it. With ``both_ways``, it is the sum of both directions.

    - ``src``, ``dst``: the NICs, as ``SERVER:NIC``. ``qps``: the number of queue pairs.
    - ``post_cost_ps``: the time in picoseconds that a NIC takes per message.
    - ``places``: for each NIC, the index of the address that all queue pairs use, as perftest does with a GID. None
      means that the queue pairs use the addresses of the path colors one after another.

    Raises ``InputError`` for an unknown NIC.
    """
    ends = [(src, dst), (dst, src)] if both_ways else [(src, dst)]
    # Queue pair i of a connection goes from its source's address i mod P.
    numbers = [range(qps)] * 2 if places is None else [[place] * qps for place in places]
    pairs = fabric.queue_pairs(
        [(*end, qp) for end, qp_numbers in zip(ends, numbers, strict=False) for qp in qp_numbers]
    )
    each = min(max(BYTES // size_bytes, FEWEST), MOST)
    number = each * len(pairs)
    messages = np.zeros((number, 4), np.uint64)
    messages[:, 0] = np.tile(np.arange(len(pairs)), each)  # the program posts to its queue pairs in turn
    messages[:, 1] = size_bytes
    messages[:, 3] = WRITE
    arguments = fabric.arguments(pairs)
    arguments["parameters"] = arguments["parameters"] | {"host.post-cost": f"{post_cost_ps}ps"}
    engine = PacketEngine(**arguments, messages=messages)
    engine.run(10**13)
    return number * size_bytes * 8e3 / int(engine.arrivals().max())


BYTES_A_NUMBER = 4
"""The bytes per element. By default, nccl-tests uses the type ``float``."""

MOST_PACKET_HOPS = 60_000_000
"""The estimated number of packet hops of a prediction above which flows are simulated instead of packets.

Above this number, a packet simulation takes more than about ten seconds per result, and a plan has hundreds of results.
"""


@dataclass(frozen=True, slots=True)
class Question:
    """A request for one prediction: the result of the planned run ``run`` at the message size ``size_bytes``."""

    run: RunRequest
    size_bytes: int

    @property
    def key(self) -> Hashable:
        """A key that is equal for questions with the same answer (a predicted result). The answer is then computed only once."""
        test = self.run.test
        if isinstance(test, Perftest):
            test_key: Hashable = (test.program, test.qps, test.both_ways)
        else:
            test_key = (test.collective, test.per_host, test.gpus, test.variables, test.tenant)
        return (test_key, self.size_bytes, self.run.alike, self.run.lb)


def sizes_of(test: Perftest | NcclTests) -> Iterator[int]:
    """Yield the sizes that a test measures, as the test prints them. Sizes that round to 0 are left out."""
    if isinstance(test, Perftest):
        yield from (test.size_bytes,) if test.size_bytes is not None else (1 << power for power in range(1, 24))
        return
    size = test.first_bytes
    while size <= test.last_bytes:
        if printed := printed_size(test.collective, size, len(test.hosts) * test.per_host * test.gpus):
            yield printed
        size *= test.factor


def printed_size(collective: str, size_bytes: int, ranks: int) -> int:
    """Return the size that nccl-tests prints if ``size_bytes`` is requested for a collective (its all_gather.cu, reduce_scatter.cu, alltoall.cu).

    For all-gather, reduce-scatter and all-to-all, the size is rounded down so that it divides into one part per rank, each a whole
    number of 16-byte units. For other collectives, it is rounded down to whole elements.
    """
    if collective in {"all-gather", "reduce-scatter", "all-to-all"}:
        return size_bytes // ranks // 16 * 16 * ranks
    return size_bytes // BYTES_A_NUMBER * BYTES_A_NUMBER


def options(question: Question) -> Mapping[str, Any]:
    """Return the options of ``railweave sim``, by name, that predict the result ``question`` of a collective.

    Raises ``TypeError`` for a perftest run.
    """
    run, test = question.run, question.run.test
    if not isinstance(test, NcclTests):
        raise TypeError("perftest is no collective")
    return {
        "collective": test.collective,
        "size": str(question.size_bytes),
        "nccl": dict(test.variables),
        "lb": run.lb,
        "hosts": ",".join(test.hosts),
        "per_host": test.per_host,
        "tenant": test.tenant or None,
        "engine": "auto",
        "most_hops": MOST_PACKET_HOPS,
    }


LARGE_ERROR, OTHER_ERROR = 0.012, 0.103
"""The relative errors of perftest predictions: first for large messages over a single path, then for all other runs.

For the published rows with large messages (``pt-8388608``, docs/validation.md) the error was 0.1 %, and repeated runs
of the reports differ by 1.2 %. Over all rows the largest error was 10.3 % (``pt-16384``). Over a long link it was 9 %.
If a hash selects links, the prediction covers only one outcome of the hash.
"""
LARGE = "packet engine, seed 1; the published row of large messages was as near, and repeated runs of reports are"
OTHER = "packet engine, seed 1; five published rows of ib_write_bw were as near"
RATE_FREE_BYTES = 64 << 10
"""The message size from which the message rate of a NIC does not limit the bandwidth.

Smaller sizes are predicted only if the message rate of the NIC is known.
"""

PLACES = ("out-of-place", "in-place")
BANDWIDTH = "bandwidth_gbps"
BUS, AVERAGE, SLOPE = "busbw_gbytes_per_s", "average_busbw_gbytes_per_s", "slope_busbw_gbytes_per_s"


def predictions(
    routed: Routed, places: Sequence[Place], runs: Sequence[RunRequest], progress: Callable[[str], None] = silent
) -> list[tuple[Prediction, ...]]:
    """Return the predictions of each run, in the order of ``runs``. ``progress`` is called with progress messages.

    ``routed`` is the network with its routes, and ``places`` has the network's NICs. Raises ``InputError`` if a run cannot be
    simulated.
    """
    asked = {
        question.key: question for run in runs for size in sizes_of(run.test) for question in [Question(run, size)]
    }
    known = predicted_writes(routed, places, asked, progress)
    collectives = predicted_collectives(routed.network, asked, progress)
    return [
        _of_pair(run, known) if isinstance(run.test, Perftest) else _of_job(run, run.test, collectives) for run in runs
    ]


def predicted_writes(
    routed: Routed,
    places: Sequence[Place],
    asked: Mapping[Hashable, Question],
    progress: Callable[[str], None] = silent,
) -> dict[Hashable, float]:
    """Return the predicted rate in 10^9 bit/s of perftest questions (each a run at one message size), by the question's key.

    - ``places``: the NICs, whose message rates are used. ``asked``: the questions by key.

    Runs of a NIC with itself are left out, because the simulator has no path for them.
    """
    rates = {place.name: place.messages_per_us for place in places}
    wanted: dict[Hashable, tuple[Question, Perftest, int]] = {}
    for key, question in asked.items():
        test = question.run.test
        if isinstance(test, Perftest) and test.server != test.client:
            rate = rates[f"{test.client.host}:{test.client.nic}"]
            if rate is not None or question.size_bytes >= RATE_FREE_BYTES:
                wanted[key] = question, test, 0 if rate is None else round(1e6 / rate)
    if not wanted:
        return {}
    fabric = packet_fabric(routed.network, routed.plane.configs, routed.routes)
    bandwidths: dict[Hashable, float] = {}
    for key, (question, test, post_cost_ps) in wanted.items():
        bandwidths[key] = write_bandwidth_gbps(
            fabric,
            f"{test.client.host}:{test.client.nic}",
            f"{test.server.host}:{test.server.nic}",
            question.size_bytes,
            qps=test.qps,
            post_cost_ps=post_cost_ps,
            both_ways=test.both_ways,
            places=question.run.places,
        )
        progress(f"predicting: {len(bandwidths)} of {len(wanted)} kinds of pairs and sizes")
    return bandwidths


def predicted_collectives(
    network: Network, asked: Mapping[Hashable, Question], progress: Callable[[str], None] = silent
) -> dict[Hashable, Predicted]:
    """Return the prediction of each question about a collective, by the question's key. ``asked`` has the questions by key."""
    wanted = [(key, question) for key, question in asked.items() if isinstance(question.run.test, NcclTests)]
    if not wanted:
        return {}

    def say(text: str) -> None:
        progress(f"predicting: {text.replace('variants', 'collectives')}")

    variants = [
        Variant(str(place), one_question(network, options(question))) for place, (_, question) in enumerate(wanted)
    ]
    outcomes = comparison(network, variants, "", progress=say).outcomes
    return {key: longest_run(outcome.answer) for (key, _), outcome in zip(wanted, outcomes, strict=True)}


def _of_pair(run: RunRequest, known: Mapping[Hashable, float]) -> tuple[Prediction, ...]:
    test = run.test
    operation = f"write {'bidirectional ' if isinstance(test, Perftest) and test.both_ways else ''}bandwidth"
    expected: list[Prediction] = []
    for size in sizes_of(test):
        rate = known.get(Question(run, size).key)
        if rate is not None:
            expected.append(write_prediction(run, operation, size, rate))
    return tuple(expected)


def write_prediction(run: RunRequest, operation: str, size_bytes: int, rate_gbps: float) -> Prediction:
    """Return the prediction of a perftest run at one message size, with its band. ``rate_gbps`` is the simulated rate."""
    large = bool(run.links) and size_bytes >= RATE_FREE_BYTES
    off = 1 + (LARGE_ERROR if large else OTHER_ERROR)
    method = LARGE if large else OTHER
    return Prediction(operation, size_bytes, "", BANDWIDTH, rate_gbps, rate_gbps / off, rate_gbps * off, method)


def _of_job(run: RunRequest, test: NcclTests, known: Mapping[Hashable, Predicted]) -> tuple[Prediction, ...]:
    """Return the predictions of a collective: its bus bandwidth at each size, the mean of all sizes, and the bandwidth by slope.

    Each size has two predictions: for the operation in place and out of place. The bandwidth by slope (``slope_gbytes``) is predicted
    only if ``run.slope`` is True and there are several sizes. ``test`` is the test of ``run``. ``known`` has the simulator's predictions
    by the key of their ``Question``. The result is empty if a simulated run does not end.
    """
    all_of = [known[Question(run, size).key] for size in sizes_of(test)]
    if not all(predicted.complete for predicted in all_of):
        return ()
    values = [bus_band(predicted) for predicted in all_of]
    expected = [
        Prediction(test.collective, predicted.size_bytes, place, BUS, *value, method_of(predicted))
        for predicted, value in zip(all_of, values, strict=True)
        for place in PLACES
    ]
    if not expected:
        return ()
    mean = tuple(fmean(value[part] for value in values) for part in range(3))
    expected.append(
        Prediction(test.collective, None, "", AVERAGE, mean[0], mean[1], mean[2], "the mean over sizes and places")
    )
    if run.slope and len(all_of) > 1:
        factor = all_of[0].program.bus_factor
        value = slope_gbytes([(predicted.size_bytes, predicted.time_ps / 1e6) for predicted in all_of], factor)
        largest = all_of[-1]  # bands of other widths would give a slope of their own
        short, long = _between(largest)
        low, high = value * largest.time_ps / long, value * largest.time_ps / short
        expected.append(Prediction(test.collective, None, "", SLOPE, value, low, high, "the slope of times over sizes"))
    return tuple(expected)


def slope_gbytes(points: Sequence[tuple[float, float]], factor: float) -> float:
    """Return the bus bandwidth for very large messages in 10^9 byte/s, from the slope of a line fitted to ``points``.

    ``points`` are pairs of message size in bytes and time in microseconds. ``factor`` is the collective's ratio of bus bandwidth to
    algorithm bandwidth. The startup time of a message does not affect the slope (50 km article, Figure 4).
    """
    slope = linear_regression([size for size, _ in points], [time for _, time in points]).slope
    return factor / slope / 1e3


def _between(predicted: Predicted) -> tuple[int, int]:
    return (
        (predicted.time_ps, predicted.time_ps)
        if predicted.band is None or not predicted.band.known
        else (predicted.band.low_ps, predicted.band.high_ps)
    )


def bus_band(predicted: Predicted) -> tuple[float, float, float]:
    """Return the bus bandwidth of a prediction, and the low and high ends of its band, in 10^9 byte/s."""
    low, high = _between(predicted)
    rate = predicted.program.bus_bandwidth_gbytes
    return rate(predicted.time_ps), rate(high), rate(low)


def method_of(predicted: Predicted) -> str:
    """Return the engine of a prediction, and the published results that its band is based on."""
    engine = f"{predicted.choice.engine} engine, seed 1"
    return engine if predicted.band is None else f"{engine}; {predicted.band.compared}"


def plan_table(plan: Plan) -> Table:
    """Return a table with a row for each part of a plan (a group of its runs, such as ``loops``) and each test in the part.

    The columns are the part, the numbers of runs and rounds, the expected duration, the test and the expected results.
    """
    groups: dict[tuple[str, str], list[PlannedRun]] = {}
    for run in plan.runs:
        groups.setdefault((run.part, _test(run)), []).append(run)
    rows: list[tuple[object, ...]] = []
    for (part, test), runs in groups.items():
        rounds: dict[int, float] = {}
        for run in runs:
            rounds[run.round] = max(rounds.get(run.round, 0), run.estimate_s)
        time = sum(rounds.values())
        rows.append((part, len(runs), len(rounds), Cell(time, duration(time)), test, _expected(runs)))
    return Table(
        (
            Column("part", "text", "part"),
            Column("runs", "number", "runs"),
            Column("rounds", "number", "rounds"),
            Column("time", "number", "estimate_s"),
            Column("test", "text", "test"),
            Column("expected of the largest size", "text", "expected"),
        ),
        rows,
    )


def plan_text(plan: Plan) -> str:
    """Return the table of ``plan_table`` as text, with the settings that runs need beforehand and the notes."""
    lines = plan_table(plan).to_text()
    lines.append(f"{counted(len(plan.runs), 'run')} in about {duration(plan.estimate_s)}")
    needs = Counter(run.needs for run in plan.runs if run.needs)
    lines += [f"before {counted(number, 'run')}: {need}" for need, number in needs.items()]
    lines += [f"note: {note}" for note in plan.notes]
    return "\n".join(lines)


def duration(seconds: float) -> str:
    """Return a duration as text, such as ``1 h 12 min``, ``3 min 20 s`` or ``8 s``."""
    whole = round(seconds)
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min {whole % 60} s" if minutes else f"{whole} s"


def _test(run: PlannedRun) -> str:
    test = run.test
    return test.collective if isinstance(test, NcclTests) else test.program


def _expected(runs: Sequence[PlannedRun]) -> str | None:
    """Return the range of the expected results of some runs as text, such as ``380 to 390 Gb/s at 8 MiB``, or None without predictions.

    If bandwidths by slope (``slope_gbytes``) are predicted, the range is that of these bandwidths. Otherwise it is the range of the
    predictions for each run's largest size.
    """
    slopes = [prediction.value for run in runs for prediction in run.predictions if prediction.quantity == SLOPE]
    if slopes:
        return f"{_range(slopes)} GB/s by the slope"
    known: list[Prediction] = []
    for run in runs:
        sized = [prediction for prediction in run.predictions if prediction.size_bytes is not None]
        if sized:
            known.append(max(sized, key=lambda prediction: prediction.size_bytes or 0))
    if not known:
        return None
    sizes = sorted({prediction.size_bytes or 0 for prediction in known})
    unit = "Gb/s" if known[0].quantity == BANDWIDTH else "GB/s"
    return f"{_range([prediction.value for prediction in known])} {unit} at {written(sizes[-1])}"


def _range(values: Sequence[float]) -> str:
    least, most = f"{min(values):.1f}", f"{max(values):.1f}"
    return least if least == most else f"{least} to {most}"


PERFTEST_START_S, NCCL_START_S = 3.0, 15.0
"""The startup times in seconds of perftest and of nccl-tests (both assumed).

They include login, program start and address exchange, and for nccl-tests the setup of communicators.
"""
ITERATIONS = 5_000
"""The number of messages that ``ib_write_bw`` sends per size and queue pair."""
MESSAGES_PER_S = 4e6
"""The assumed rate of small messages per second if the rate is not predicted. It is about the rate of a Thor2 NIC."""
NCCL_RUNS = 5 + 20
"""The iterations of nccl-tests per size, once in place and once out of place: 5 to warm up and 20 that are measured."""
CHECKED = 2.0
"""The assumed factor by which checking the results (``-c 1``) slows nccl-tests down."""
LEAST_US = 50.0
"""The assumed shortest time in microseconds of a collective without a prediction."""
LEAST_TIMEOUT_S, PATIENCE = 60, 5
"""The shortest timeout in seconds, and the timeout as a multiple of the expected duration."""


def estimate_s(run: RunRequest, predictions: Sequence[Prediction]) -> float:
    """Return the expected duration of a run in seconds, from its predictions or else from the speed of its NICs."""
    test = run.test
    if isinstance(test, Perftest):
        if test.seconds is not None:
            return PERFTEST_START_S + test.seconds
        rate = {prediction.size_bytes: prediction.value for prediction in predictions}
        ways = 2 if test.both_ways else 1
        total = 0.0
        for size in sizes_of(test):
            messages = ITERATIONS * test.qps
            line_s = messages * size * 8 * ways / (rate.get(size, run.gbps * ways) * 1e9)
            total += max(line_s, messages / MESSAGES_PER_S)
        return round(PERFTEST_START_S + total, 1)
    known = {prediction.size_bytes: prediction.value for prediction in predictions if prediction.place}
    total = 0.0
    for size in sizes_of(test):
        # Bus bandwidth counts bytes as often as they move, at most twice.
        each_s = 2 * size / ((known.get(size) or run.gbps / 8) * 1e9)
        total += 2 * NCCL_RUNS * CHECKED * (each_s + (0 if size in known else LEAST_US / 1e6))
    return round(NCCL_START_S + total, 1)


def timeout_s(estimate: float) -> int:
    """Return the timeout of a run in seconds, from its expected duration in seconds."""
    return max(LEAST_TIMEOUT_S, math.ceil(PATIENCE * estimate))


TOLERANCE = 0.05
"""The default fraction by which a number may be below its band. Repeated runs in reports differ by 1.2 %; operators' tests fail at 5 %."""
UNSURE = 0.15
"""The tolerance for predictions that no published result has verified. The value is the target in docs/validation.md."""


def plan(
    network: Network,
    suite: str,
    *,
    fabric: str,
    design_digest: str,
    hosts: str | None = None,
    memory: Memory | None = None,
    parts: Sequence[str] = (),
    predict: bool = True,
    progress: Callable[[str], None] = silent,
) -> Plan:
    """Return the plan of a suite on a network of one fabric (``job_network``). Raises ``InputError`` for an unknown suite, part, server or memory.

    - ``fabric``, ``design_digest``: the fabric file, and the SHA-256 digest of its design.
    - ``hosts``: the servers, in the form that ``prediction.simulation.job.ordered`` accepts.
    - ``memory``: the location of perftest's buffers.
    - ``parts``: the parts (groups of runs) to include; if empty, all parts.
    - ``predict``: True to predict the result of each run.
    """
    wanted = suite_of(suite)
    there = present(network)
    names = ordered(stripes(there, [server.name for server in there.servers]), hosts)
    nic_places = places(there, names)
    check_memory(memory, nic_places)
    routed = Routed.of(network)
    pairs = Pairs(routed, nic_places, memory, progress)
    of = jobs(there, names)
    runs = wanted.runs(pairs, of)
    notes = [*([words] if (words := network.absent_sentence()) else []), *pairs.notes]
    if guessed := sum(place.nic.mac_is_placeholder and _by_mac(place) for place in nic_places):
        notes.append(
            f"addresses of {counted(guessed, 'NIC')} follow from placeholders of MAC addresses: plan again once the inventory has them"
        )
    if not of:
        notes.append("collectives: left out, because no server has both GPUs and NICs on this fabric")
    runs = _chosen(runs, parts, suite)
    expected: Sequence[tuple[Prediction, ...]] = [()] * len(runs)
    if predict:
        notes += domain_remarks(there.catalog, (server.model for server in there.servers))
        expected = predictions(routed, nic_places, runs, progress)
        notes += _unpredicted(runs, expected)
    made = tuple(_planned(run, run_predictions) for run, run_predictions in zip(runs, expected, strict=True))
    return Plan(suite, fabric, design_digest, made, tuple(notes))


def _by_mac(place: Place) -> bool:
    return any(address.origin == "slaac" for address in place.nic.addresses)


def _chosen(runs: Sequence[RunRequest], parts: Sequence[str], suite: str) -> list[RunRequest]:
    known = list(dict.fromkeys(run.part for run in runs))
    for part in parts:
        if part not in known:
            description = f"suite {suite} has no part {part!r} on this network"
            raise InputError([Problem(Option("--part"), description, f"it has {', '.join(known) or 'none'}")])
    if not runs:
        description = f"suite {suite} has nothing to run on this network"
        raise InputError([Problem(Option("--suite"), description, "it takes two servers, or servers with GPUs")])
    return [run for run in runs if not parts or run.part in parts]


def _unpredicted(runs: Sequence[RunRequest], expected: Sequence[tuple[Prediction, ...]]) -> list[str]:
    """Return a sentence for each reason why some of ``runs`` have few or no predictions.

    ``expected`` has the predictions of each run, in the order of ``runs``.
    """
    reasons: list[str] = []
    if any(run.part == "loops" for run in runs):
        reasons.append(
            "loops: no predictions: the simulator does not know how fast a NIC writes to itself; compare the loops with each other"
        )
    both = list(zip(runs, expected, strict=True))
    swept = [
        run_predictions
        for run, run_predictions in both
        if isinstance(run.test, Perftest) and run.test.size_bytes is None and run_predictions
    ]
    if any((sweep[0].size_bytes or 0) >= RATE_FREE_BYTES for sweep in swept):
        reasons.append(
            "pairs: predictions begin at 64 KiB: the catalog does not say how many messages a second the NIC takes"
        )
    none = sum(isinstance(run.test, NcclTests) and not run_predictions for run, run_predictions in both)
    if none:
        reasons.append(
            f"collectives: {counted(none, 'run')} without a prediction, because the simulated run does not end"
        )
    return reasons


def _planned(run: RunRequest, expected: tuple[Prediction, ...]) -> PlannedRun:
    estimate = estimate_s(run, expected)
    sure = all(prediction.low < prediction.value for prediction in expected)
    return PlannedRun(
        name=run.name,
        part=run.part,
        why=run.why,
        test=run.test,
        round=run.round,
        timeout_s=timeout_s(estimate),
        estimate_s=estimate,
        tolerance=TOLERANCE if sure and expected else UNSURE,
        predictions=expected,
        links=run.links,
        needs=run.needs,
    )
