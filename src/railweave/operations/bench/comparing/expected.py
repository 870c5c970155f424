"""Comparison of benchmark results with the results that are expected of the servers, without a fabric file.

The prediction assumes a network without oversubscription. A result below the prediction therefore has its cause in the
servers, or in a network that is slower than the assumed one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Literal

from railweave.analysis.routing.control_plane import ControlPlane
from railweave.counting import counted
from railweave.errors import RailweaveError
from railweave.json_values import JsonObject
from railweave.model.catalog import in_force
from railweave.model.catalog.hardware import Hardware
from railweave.model.device.build import device_config
from railweave.operations.bench.comparing.predicting import gpu_notes, predictions
from railweave.operations.bench.comparing.rows import BUS, QUANTITY
from railweave.operations.bench.inspector import POINT_TO_POINT
from railweave.operations.bench.planning.making import LARGE_ERROR, OTHER_ERROR, write_bandwidth_gbps
from railweave.operations.store.records import COLLECTIVE_TOOLS
from railweave.pages.table import Column, Table, formatted
from railweave.prediction.collectives.channels import COLLECTIVES
from railweave.prediction.collectives.program import written
from railweave.prediction.simulation.model.fabric import packet_fabric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from railweave.model.network.model import Network
    from railweave.operations.store.records import Run, Sample

Outcome = Literal["right", "wrong", "not-seen"]
SMALLEST = 16 << 20
"""The smallest message of a collective that is checked. Smaller messages measure latency, not bandwidth."""
SMALLEST_PAIR = 64 << 10
"""The smallest message of perftest that is checked."""
GBYTES = "GB/s of bus bandwidth"
PAIR_SERVERS = 2


@dataclass(frozen=True, slots=True)
class CheckedNumber(JsonObject):
    """A measured number, and the number that is expected of the servers.

    - ``of``: the run and the quantity, as text. ``measured``: the number in ``unit``.
    - ``expected``, ``low``, ``high``: the prediction and its band; None if nothing is predicted.
    - ``outcome``: ``right`` inside the band, ``wrong`` below it or after a failure, and ``not-seen`` above it or
      without a prediction.
    - ``why``: sentences with the reason of the outcome and the bottleneck.
    """

    JSON = ("of", "measured", "unit", "expected:1", "low:1", "high:1", "outcome", "why")

    of: str
    measured: float | None
    unit: str
    expected: float | None
    low: float | None
    high: float | None
    outcome: Outcome
    why: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return the number with its outcome as lines of text."""
        number = "" if self.measured is None else f" {self.measured:.4g} {self.unit}"
        band = (
            ""
            if self.expected is None or self.low is None or self.high is None
            else f"; such servers should get {self.low:.4g} to {self.high:.4g} (predicted {self.expected:.4g})"
        )
        return "\n".join([f"{self.outcome}: {self.of}:{number}{band}", *(f"    {sentence}" for sentence in self.why)])


@dataclass(frozen=True, slots=True)
class NumberCheck(JsonObject):
    """The check of all numbers in a benchmark's output. ``servers`` is a sentence about the assumed servers."""

    JSON = ("good", "verdict", "servers", "numbers", "notes")

    servers: str
    numbers: tuple[CheckedNumber, ...]
    notes: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """True if there are numbers, and all of them are right."""
        return bool(self.numbers) and all(number.outcome == "right" for number in self.numbers)

    @property
    def verdict(self) -> str:
        """A sentence that states how many numbers have each outcome."""
        if not self.numbers:
            return "cannot tell: the output has no number that is checked"
        outcomes = [number.outcome for number in self.numbers]
        counts = [
            f"{outcomes.count(outcome)} {outcome}" for outcome in ("right", "wrong", "not-seen") if outcome in outcomes
        ]
        return f"{counted(len(outcomes), 'number')}: {', '.join(counts)}"

    def to_text(self) -> str:
        """Return the check as text: the servers, each number with its outcome, and the verdict."""
        numbers = [number.to_text() for number in self.numbers]
        return "\n".join(
            [f"compared with {self.servers}", *numbers, *(f"note: {note}" for note in self.notes), self.verdict]
        )

    @property
    def table(self) -> Table:
        """The numbers as a table, one row per number with its prediction and outcome."""
        return Table(
            (
                Column("number", "text", "of"),
                Column("measured", "number", "measured"),
                Column("at least", "number", "low"),
                Column("at most", "number", "high"),
                Column("outcome", "text", "outcome"),
            ),
            [
                (
                    number.of,
                    *(formatted(value, ".1f") for value in (number.measured, number.low, number.high)),
                    number.outcome,
                )
                for number in self.numbers
            ],
        )


@dataclass(frozen=True)
class AssumedServers:
    """The servers that a prediction assumes.

    ``gpus`` is the number of GPUs of each server. ``network`` is a function that returns a network with a given number of servers.
    """

    gpus: int
    network: Callable[[int], Network]

    def to_text(self, servers: int = 1) -> str:
        """Return a phrase that names the model of the servers, their NICs and GPU links, and the network that joins ``servers`` of them."""
        network = self.network(servers)
        server = network.servers[0]
        model = network.catalog.servers[server.model]
        link = "" if model.gpu_link is None else f", {model.gpu_link.name} of {model.gpu_link.gbps / 8:g} GB/s"
        nics = f"{counted(len(server.nics), 'NIC')} of {server.nics[0].speed_gbps}G"
        return f"servers of {counted(self.gpus, f'{model.gpu} GPU')} and {nics}{link} (model {server.model}), on a network without oversubscription{_shape(network)}"


def _shape(network: Network) -> str:
    """Return a suffix with the switches and load balancing that a prediction assumes, such as `` (4 leaves and 2 spines, load balancing rlb)``.

    It matters because a network with a static hash gets less than a single switch.
    """
    roles = [switch.role for switch in network.switches]
    spines = len(roles) - roles.count("leaf")
    if not spines:
        return f" ({counted(len(roles), 'leaf', 'leaves')}, no spines)"
    modes = dict.fromkeys(fabric.load_balancing.mode for fabric in network.fabrics)
    leaves = counted(roles.count("leaf"), "leaf", "leaves")
    return f" ({leaves} and {counted(spines, 'spine')}, load balancing {', '.join(modes)})"


def with_gpu_link(network: Network, gbytes_per_s: float) -> Network:
    """Return the network with ``gbytes_per_s`` as the rate of the links between the GPUs of a server, in 10^9 byte/s for each direction."""
    gpu = network.catalog.servers[network.servers[0].model].gpu
    servers = {
        name: model.model_copy(
            update={
                "gpu_link": model.gpu_link.model_copy(
                    update={"gbps": 8 * gbytes_per_s, "source": "given on the command line"}
                )
            }
        )
        for name, model in network.catalog.servers.items()
        if model.gpu_link is not None and model.gpu == gpu
    }
    return replace(network, hardware=network.hardware.with_more(Hardware(servers=servers)))


def number_check(runs: Sequence[Run], assumed: AssumedServers, notes: Iterable[str] = ()) -> NumberCheck:
    """Return the check of the largest message of each run. Raises ``InputError`` if no network of the servers can be designed.

    ``assumed`` holds the servers for which results are predicted. ``notes`` are sentences to include. The check adds notes about
    failed runs, and about GPUs that the servers do not have.
    """
    numbers = tuple(number for run in runs for number in _numbers(run, assumed))
    others = gpu_notes(runs, assumed.network(1), "give the model of these servers by --nic", by_name=False)
    failed = ("`railweave bench triage` names the cause of a failed run and the fix",) * any(
        run.failures for run in runs
    )
    servers = max((len(set(run.hosts)) or -(-(run.ranks or 1) // assumed.gpus) for run in runs), default=1)
    return NumberCheck(assumed.to_text(servers), numbers, (*others, *notes, *failed))


def _numbers(run: Run, assumed: AssumedServers) -> Iterator[CheckedNumber]:
    for failure in run.failures:
        yield CheckedNumber(run.title, None, "", None, None, None, "wrong", (f"The run failed: {failure}.",))
    if run.tool in COLLECTIVE_TOOLS:
        for operation in dict.fromkeys(sample.operation for sample in run.samples) or [""]:
            if operation not in POINT_TO_POINT:
                samples = tuple(sample for sample in run.samples if sample.operation == operation)
                yield from _collective(replace(run, samples=samples), assumed)
    elif run.tool == "perftest":
        yield from _pair(run, assumed)
    elif not run.failures:
        yield _unseen(run.title, f"Nothing predicts the numbers of {run.tool}.")


def _unseen(of: str, why: str, sample: Sample | None = None, unit: str = "") -> CheckedNumber:
    return CheckedNumber(of, sample.value if sample else None, unit, None, None, None, "not-seen", (why,))


def _largest(samples: Sequence[Sample], quantity: str) -> list[Sample]:
    rates = [sample for sample in samples if sample.quantity == quantity and sample.size_bytes]
    size = max((sample.size_bytes or 0 for sample in rates), default=0)
    return [sample for sample in rates if sample.size_bytes == size]


def _collective(run: Run, assumed: AssumedServers) -> Iterator[CheckedNumber]:
    samples = _largest(run.samples, BUS)
    if not samples:
        if not run.failures:
            yield _unseen(run.title, "The output has no bus bandwidth.")
        return
    size = samples[0].size_bytes or 0
    of = f"{samples[0].operation or 'an operation that is not named'} of {written(size)}"
    problem, servers = _servers(run, assumed, samples[0].operation, size)
    if problem:
        yield from (_unseen(f"{of} {sample.place}".strip(), problem, sample, GBYTES) for sample in samples)
        return
    network = assumed.network(servers)
    names = tuple(server.name for server in network.servers)[:servers]
    alike = replace(run, hosts=names, samples=tuple(samples), predictions=())
    with in_force(network.catalog):
        accounts, notes = predictions([alike], network)
    rows = list(accounts[alike.id].rows.items()) if alike.id in accounts else []
    of = f"{of} on {counted(servers, 'server')}, {counted(run.ranks or 0, 'GPU')}"
    for sample in samples:
        place = f"{of}, {sample.place}".removesuffix(", ")
        predicted = next(((prediction, why) for key, (prediction, why) in rows if key.place == sample.place), None)
        if predicted is None:
            reason = notes[0].partition(": ")[2] if notes else "there is no prediction for it"
            yield _unseen(place, f"{reason[:1].upper()}{reason[1:]}.", sample, GBYTES)
            continue
        prediction, why = predicted
        wrong = sum(
            other.value
            for other in run.samples
            if (other.quantity, other.size_bytes, other.place) == ("wrong", size, sample.place)
        )
        if wrong:
            why = (f"{wrong:g} values were wrong.", *why)
        if prediction.low == prediction.high:
            yield _unseen(place, "The prediction has no range: no similar measurement was published.", sample, GBYTES)
        else:
            yield _judged(
                place, sample.value, GBYTES, (prediction.value, prediction.low, prediction.high), why, wrong=bool(wrong)
            )


def _servers(run: Run, assumed: AssumedServers, operation: str, size: int) -> tuple[str, int]:
    """Return (reason why a collective cannot be checked, number of servers of the collective). The reason is empty if it can be checked.

    ``operation`` is the collective, ``size`` its message size in bytes, and ``assumed`` gives the number of GPUs per server.
    """
    hosts = len(set(run.hosts))
    if operation not in COLLECTIVES:
        named = operation or "The operation is not named: give it by --operation"
        return f"{named}: there is no prediction for it." if operation else f"{named}.", hosts
    if size < SMALLEST:
        return f"Messages of {written(size)} measure latency: run up to {written(1 << 30)}.", hosts
    if not run.ranks:
        return "The number of GPUs is not in the output.", hosts
    nodes = dict(run.settings).get("nodes", "")
    servers = hosts or (int(nodes) if nodes.isdigit() else 0) or max(1, -(-run.ranks // assumed.gpus))
    if run.ranks == 1:
        return "A single GPU sends nothing.", servers
    if run.ranks > servers * assumed.gpus:
        return (
            f"{run.ranks} ranks on {servers} servers need more than {assumed.gpus} GPUs per server (--gpus).",
            servers,
        )
    return "", servers


def _pair(run: Run, assumed: AssumedServers) -> Iterator[CheckedNumber]:
    samples = _largest([sample for sample in run.samples if "half" not in sample.operation], QUANTITY)
    if not samples:
        if not run.failures:
            yield _unseen(run.title, "The output has no bandwidth; latencies are not checked.")
        return
    size, operation = samples[0].size_bytes or 0, samples[0].operation
    of, measured = f"{operation} of {written(size)}", median(sample.value for sample in samples)
    if size < SMALLEST_PAIR:
        yield _unseen(
            of,
            f"Messages of {written(size)} measure the message rate: run -s {SMALLEST_PAIR} or more.",
            samples[0],
            "Gb/s",
        )
        return
    network = assumed.network(PAIR_SERVERS)
    first, other, *_ = network.servers
    settings = dict(run.settings)
    digits = "".join(filter(str.isdigit, settings.get("Number of qps", settings.get("Number_of_qps", ""))))
    with in_force(network.catalog):
        plane = ControlPlane((device_config(network, switch.name) for switch in network.switches), network.absent)
        try:
            rate = write_bandwidth_gbps(
                packet_fabric(network, plane.configs, plane.routes()),
                f"{first.name}:{first.nics[0].name}",
                f"{other.name}:{other.nics[0].name}",
                size,
                qps=min(int(digits or 1), 64) or 1,
                post_cost_ps=0,
                both_ways="bidirectional" in operation,
            )
        except RailweaveError as error:
            yield _unseen(of, str(error), samples[0], "Gb/s")
            return
    why = (
        f"The NIC binds: {first.nics[0].speed_gbps}G less the headers of packets.",
        f"The band is {OTHER_ERROR:.0%} below and {LARGE_ERROR:.0%} above: the errors of predictions beside published rows of perftest.",
    )
    yield _judged(of, measured, "Gb/s", (rate, rate / (1 + OTHER_ERROR), rate * (1 + LARGE_ERROR)), why)


def _judged(
    of: str, measured: float, unit: str, band: tuple[float, float, float], why: tuple[str, ...], *, wrong: bool = False
) -> CheckedNumber:
    value, low, high = band
    outcome: Outcome = "wrong" if wrong or measured < low else "right" if measured <= high else "not-seen"
    sentences = list(why)
    if measured < low:
        sentences.insert(0, f"It reaches {measured / value:.0%} of the value predicted for such servers.")
    elif measured > high:
        sentences.insert(
            0,
            "It is above the predicted range: the servers differ from the assumed ones (--gpus, --nic, --nvlink), or the number counts something else.",
        )
    return CheckedNumber(of, measured, unit, value, low, high, outcome, tuple(sentences))
