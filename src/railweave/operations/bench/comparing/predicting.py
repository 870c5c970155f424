"""New predictions for stored runs on a network, with sentences on the bottleneck that the simulator found for each run."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from railweave.errors import RailweaveError
from railweave.operations.bench.comparing.rows import Key, key_of, where
from railweave.operations.store.records import COLLECTIVE_TOOLS, GPUS, Prediction, Run, Sample
from railweave.prediction.collectives.channels import COLLECTIVES
from railweave.prediction.collectives.nccl import LISTS, NUMBERS
from railweave.prediction.simulation.question import answer, questions
from railweave.prediction.simulation.reasons import reasons
from railweave.progress import silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from railweave.model.network.model import Network
    from railweave.prediction.simulation.prediction import Prediction as Predicted

QUANTITIES = ("busbw_gbytes_per_s", "average_busbw_gbytes_per_s", "time_us")
UNSTATED = {"all-reduce": 1 << 30, "all-to-all": 256 << 20}
"""The message size in bytes to simulate, by collective, if a table gives an average without its sizes (docs/validation.md)."""
UNEVEN = 1.5
"""The smallest ratio of an uplink's traffic to the mean traffic of the switch's uplinks at which the uplink is reported as shared."""

Asked = tuple[str, int, tuple[tuple[str, Any], ...]]
"""A request for a prediction: (collective, size in bytes, options of ``railweave sim`` as pairs of name and value)."""


@dataclass(frozen=True, slots=True)
class RunPrediction:
    """The predictions of a run: by the key of each number, (prediction, sentences about the bottleneck)."""

    rows: dict[Key, tuple[Prediction, tuple[str, ...]]]


def predictions(
    runs: Iterable[Run], network: Network, progress: Callable[[str], None] = silent
) -> tuple[dict[str, RunPrediction], list[str]]:
    """Return (predictions by run id, notes on the runs that were left out).

    Runs of collectives (nccl-tests, rccl-tests, tables) on servers of this network are predicted. The rows of a table must have
    the number of queue pairs (``qps_per_connection`` or ``qps``), and may have the number of servers (``nodes``). ``progress``
    receives a sentence before each prediction.
    """
    known: dict[Asked, tuple[Predicted, tuple[str, ...]] | str] = {}
    by_run: dict[str, RunPrediction] = {}
    notes: dict[str, None] = {}
    for run in runs:
        if stranger := _stranger(run, network):
            notes[f"{run.id}: {stranger}"] = None
            continue
        rows: dict[Key, tuple[Prediction, tuple[str, ...]]] = {}
        for sample in run.samples:
            asked = question_of(run, sample, network)
            if asked is None:
                continue
            if asked not in known:
                progress(f"predicting {asked[0]} of {asked[1]:,} bytes")
                known[asked] = answered(network, asked)
            answer = known[asked]
            if isinstance(answer, str):
                notes[f"{run.id}: {answer}"] = None
                continue
            rows[key_of(sample, where(run), run.tool)] = prediction_of(sample, answer[0]), answer[1]
        if rows:
            by_run[run.id] = RunPrediction(rows)
    return by_run, list(notes)


def gpu_notes(runs: Iterable[Run], network: Network, remedy: str, *, by_name: bool = True) -> list[str]:
    """Return a note for each GPU that the output of a run names and that the servers of the network do not have.

    - ``remedy``: the last part of the note.
    - ``by_name``: True to compare each run with the network's servers of the same names, and to leave out runs on other
      servers. False to compare each run with all servers of the network.
    """
    servers = {server.name.lower(): server.model for server in network.servers}
    notes: dict[str, None] = {}
    for run in runs:
        hosts = [host.lower().partition(".")[0] for host in run.hosts] if by_name else list(servers)
        models = [
            network.catalog.servers[name] for name in dict.fromkeys(servers[host] for host in hosts if host in servers)
        ]
        for gpu in filter(None, dict(run.facts).get(GPUS, "").split(", ")):
            if models and not any(model.has_gpu(gpu) for model in models):
                designed = ", ".join(dict.fromkeys(model.gpu or "none" for model in models))
                notes[
                    f"{run.file} names the GPU {gpu}, and the servers it is compared with have {designed}: {remedy}"
                ] = None
    return list(notes)


def _stranger(run: Run, network: Network) -> str:
    """Return the reason why a run of a test is not on the servers of this network; empty if it is, or if the run is of another tool."""
    if run.tool not in COLLECTIVE_TOOLS or run.predictions or not run.samples:
        return ""
    if not run.hosts:
        return "its output names no servers, so it cannot be compared with a design"
    names = {server.name.lower() for server in network.servers}
    unknown = [host for host in run.hosts if host.lower().partition(".")[0] not in names]
    if not unknown:
        return ""
    designed = network.servers[0].name if network.servers else "none"
    return (
        f"the design has no server called {', '.join(unknown[:3])}{', …' * (len(unknown) > 3)} (its first is {designed}): "
        "give the servers the same names in the fabric file"
    )


def question_of(run: Run, sample: Sample, network: Network) -> Asked | None:
    """Return the request for a prediction of a measured sample (collective, size, options), or None if the sample cannot be predicted."""
    size = sample.size_bytes or UNSTATED.get(sample.operation, 0)
    if sample.quantity not in QUANTITIES or sample.operation not in COLLECTIVES or not size:
        return None
    if run.tool == "table":
        options = _of_table(dict(sample.labels), network)
        return (sample.operation, size, tuple(options.items())) if options else None
    if run.tool not in COLLECTIVE_TOOLS or sample.size_bytes is None:
        return None
    return collective_question(
        network, sample.operation, size, run.hosts, run.ranks, dict(run.settings), run.environment.variables
    )


def collective_question(
    network: Network,
    operation: str,
    size: int,
    hosts: Sequence[str],
    ranks: int | None,
    settings: Mapping[str, str] | None = None,
    variables: Iterable[tuple[str, str]] = (),
) -> Asked | None:
    """Return the request for a prediction of a collective of ``size`` bytes, or None if the network does not have all its ``hosts``.

    ``ranks`` is the number of ranks, or None. ``settings`` are those of nccl-tests, and ``variables`` NCCL's.
    """
    names = {server.name.lower(): server.name for server in network.servers}
    known = [names.get(host.lower().partition(".")[0]) for host in hosts]
    there = [host for host in known if host is not None]
    if operation not in COLLECTIVES or not there or len(there) < len(known):
        return None
    options: dict[str, Any] = {"hosts": ",".join(there)}
    if ranks:
        options |= _of_ranks(settings or {}, ranks, len(there))
    of_nccl = [(name, text) for name, text in variables if name in NUMBERS or name in LISTS]
    return operation, size, (*options.items(), ("nccl", tuple(of_nccl)))


def _of_ranks(settings: Mapping[str, str], ranks: int, hosts: int) -> dict[str, Any]:
    """Return the options for the numbers of GPUs and processes per server, from the numbers of ranks and of servers (``hosts``).

    A rank of nccl-tests is a GPU. A process has a number of ranks equal to its threads times its GPUs per thread. If
    the ranks are not evenly divided, the result has only the key ``uneven``, with the reason why there is no
    prediction.
    """
    gpus, rest = divmod(ranks, hosts)
    if rest or not gpus:
        return {"uneven": f"{ranks} ranks on {hosts} servers"}
    threads, each = (int(settings[name]) if settings.get(name, "").isdigit() else 1 for name in ("nThread", "nGpus"))
    per_process = threads * each
    return {"gpus": gpus, "per_host": gpus // per_process if per_process and not gpus % per_process else gpus}


def _of_table(texts: Mapping[str, str], network: Network) -> dict[str, Any]:
    """Return the options of ``railweave sim`` for a prediction of a table row, by name. ``texts`` has the row's texts by column name.

    The result is empty if the row is from a different network, or does not contain enough information.
    """
    qps = texts.get("qps_per_connection") or texts.get("qps", "")
    nodes, uplinks = texts.get("nodes", ""), texts.get("uplinks_per_leaf", "")
    if not qps.isdigit() or (nodes.isdigit() and int(nodes) != len(network.servers)):
        return {}
    if uplinks.isdigit() and int(uplinks) not in _uplinks(network):
        return {}
    split = texts.get("split_data_on_qps", "")
    options: dict[str, Any] = {"qps": int(qps), "hosts": "stripes-alternate"}
    return options | ({"nccl": (("NCCL_IB_SPLIT_DATA_ON_QPS", split),)} if split.isdigit() else {})


def _uplinks(network: Network) -> set[int]:
    """Return the numbers of uplinks per leaf that occur in a network: for example {4, 8} if some leaves have four and all others have eight."""
    leaves = {switch.name for switch in network.switches if switch.role == "leaf"}
    counts = dict.fromkeys(leaves, 0)
    for cable in network.cables:
        for end in (cable.a.device, cable.b.device):
            if end in leaves and cable.kind != "server":
                counts[end] += 1
    return set(counts.values())


def answered(network: Network, asked: Asked) -> tuple[Predicted, tuple[str, ...]] | str:
    """Return (prediction, sentences that explain it) for the request ``asked``, or the reason why there is no prediction."""
    collective, size, options = asked
    given: dict[str, Any] = {**dict(options), "collective": collective, "size": size}
    if "uneven" in given:
        return f"{given['uneven']}: nothing is predicted of servers that have unlike numbers of ranks"
    if "nccl" in given:
        given["nccl"] = dict(given["nccl"])
    try:
        (question,) = questions(network, given)
        job = answer(network, question, watch=False, name_costs=False)
    except RailweaveError as error:
        return str(error)
    predicted = job.steps[-1].prediction
    if not predicted.complete:
        return f"the prediction of {collective} of {size:,} bytes did not come to its end"
    return predicted, tuple(
        f"{sentence[:1].upper()}{sentence[1:]}" for sentence in (*sharing(predicted), *reasons(predicted))
    )


def sharing(predicted: Predicted) -> list[str]:
    """Return a sentence if queue pairs of several NICs share the busiest uplink in a simulation (``predicted``); otherwise an empty list.

    The sentence is given only if other uplinks of the same switch carry less. It states how much the sharing slows these queue pairs.
    """
    if predicted.measured is None:
        return []
    links = predicted.measured.links
    switches = set(predicted.measured.wiring.switches)
    uplinks: dict[str, list[tuple[float, str]]] = {}
    by_nic: dict[str, float] = {}
    for sender, receiver, link, sent in zip(
        links["from"], links["to"], links["link"], links["tx_bytes"].tolist(), strict=True
    ):
        if sender in switches and receiver in switches:
            uplinks.setdefault(sender, []).append((sent, link))
        elif receiver in switches:
            by_nic[receiver] = max(by_nic.get(receiver, 0.0), sent)
    # of switches that servers are on: what others send is what they were given
    busiest = max(((max(sent), sender) for sender, sent in uplinks.items() if sender in by_nic), default=None)
    if busiest is None or busiest[0][0] <= 0:
        return []
    (most, link), sender = busiest
    every = uplinks[sender]
    # spread evenly, a link carries the mean of them; and no less than one NIC sends, where its queue pair takes one link
    least = max(fmean(sent for sent, _ in every), min(by_nic[sender], most))
    times = most / least
    if times < UNEVEN:
        return []
    idle = sum(sent < least / 100 for sent, _ in every)
    rest = f", while {idle} of {len(every)} links carry nothing" if idle else ""
    sentence = f"Queue pairs share an uplink: {link} carries {times:.1f} times what one NIC of {sender} sends{rest}"
    return [f"{sentence}; expect {_part(times)} of what queue pairs on links of their own get."]


def _part(times: float) -> str:
    return "half" if 1.8 <= times <= 2.2 else f"{1 / times:.0%}"


def prediction_of(sample: Sample, predicted: Predicted) -> Prediction:
    """Return the predicted value of a sample, with its band."""
    low, high = (
        (predicted.time_ps, predicted.time_ps)
        if predicted.band is None or not predicted.band.known
        else (predicted.band.low_ps, predicted.band.high_ps)
    )
    times = predicted.time_ps, low, high
    if sample.quantity != "time_us":
        times = predicted.time_ps, high, low  # a long time is a low rate
    value, least, most = (
        time / 1e6 if sample.quantity == "time_us" else predicted.program.bus_bandwidth_gbytes(time) for time in times
    )
    method = f"{predicted.choice.engine} engine, predicted when it was compared"
    return Prediction(sample.operation, sample.size_bytes, sample.place, sample.quantity, value, least, most, method)
