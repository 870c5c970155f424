"""Plans of benchmark runs: the runs and the expected result of each, stored as a JSON file.

A plan names servers, NICs and addresses, but no GID index. The server looks up the index when the run begins.
"""

from __future__ import annotations

import hashlib
import ipaddress
import json
import math
import re
from dataclasses import asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from railweave.errors import FileLine, Problem, SpecError
from railweave.operations.store.records import Prediction
from railweave.reading import file_bytes, parse_json

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping, Sequence

VERSION = 1
"""The version of the file format."""

PERFTEST = (
    "ib_write_bw", "ib_write_lat", "ib_read_bw", "ib_read_lat", "ib_send_bw", "ib_send_lat", "ib_atomic_bw", "ib_atomic_lat",
)  # fmt: skip
"""The programs of perftest that a plan may name."""
PROGRAMS = {
    "all-reduce": "all_reduce_perf",
    "all-gather": "all_gather_perf",
    "reduce-scatter": "reduce_scatter_perf",
    "all-to-all": "alltoall_perf",
    "send-recv": "sendrecv_perf",
    "broadcast": "broadcast_perf",
    "reduce": "reduce_perf",
    "gather": "gather_perf",
    "scatter": "scatter_perf",
}
"""The programs of nccl-tests and rccl-tests, by collective."""
PREFIXES = ("NCCL_", "RCCL_", "RAILWEAVE_", "UCX_", "HSA_")
"""The beginnings of the names of environment variables that a plan may set."""
VARIABLES = ("CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
"""Further environment variables that a plan may set."""
_OF_FILES = re.compile(r"PLUGIN|MODULE|FILE|DIR|PATH|CONF")
"""A pattern for the names of variables that may load a library or write a file. Their values must not be paths."""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")
_HOST = re.compile(r"[A-Za-z0-9][\w.-]*", re.ASCII)
_DEVICE = re.compile(r"(?:[A-Za-z0-9][\w.-]*)?", re.ASCII)
_MOST_BYTES = 1 << 62
_LONGEST_S = 7 * 86400

Memory = Literal["host", "cuda", "rocm"]
"""The location of perftest's buffers: in server memory, or in the memory of an NVIDIA or AMD GPU."""


@dataclass(frozen=True, slots=True)
class End:
    """One end of a perftest run.

    - ``host``, ``nic``: their names in the fabric file.
    - ``device``: the RDMA device (``mlx5_0``); if empty, the device is found by the address.
    - ``address``: the address whose RoCEv2 GID is used. If addresses have colors, the address also selects the path.
    - ``gpu``: the index of the GPU next to the NIC; None if there is no such GPU or the test does not use it.
    """

    host: str
    nic: str
    address: str
    device: str = ""
    gpu: int | None = None


@dataclass(frozen=True, slots=True)
class Perftest:
    """A perftest run between two NICs, or from a NIC to itself if both ends are the same NIC.

    - ``program``: the program, such as ``ib_write_bw``. ``memory``: the location of its buffers.
    - ``size_bytes``: the message size; None for all sizes (``-a``).
    - ``qps``: the number of queue pairs; ``both_ways``: True for a bidirectional test (``-b``).
    - ``seconds``: the duration; None if the run sends a fixed number of messages.
    - ``color``: the path color of both addresses; empty if the path is not pinned.
    """

    program: str
    server: End
    client: End
    size_bytes: int | None
    qps: int
    memory: Memory
    both_ways: bool = False
    seconds: int | None = None
    color: str = ""


@dataclass(frozen=True, slots=True)
class NcclTests:
    """A run of nccl-tests or rccl-tests. Each message size is ``factor`` times the one before, from ``first_bytes`` to ``last_bytes``.

    - ``collective``: the name of the collective in ``railweave sim``.
    - ``hosts``: the servers, in the order of ranks.
    - ``per_host``: the processes per host, each with ``gpus`` GPUs.
    - ``variables``: environment variables, which override those of ``nccl.env``.
    - ``tenant``: the tenant that owns the job, in a network with several tenants. The run uses that tenant's
      ``nccl.env``.
    """

    collective: str
    hosts: tuple[str, ...]
    per_host: int
    gpus: int
    first_bytes: int
    last_bytes: int
    factor: int = 2
    variables: tuple[tuple[str, str], ...] = ()
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A planned run.

    - ``name``: unique in the plan, and usable as a relative file path (``pairs/leaf/03/h100-01-gpu0_eth``).
    - ``part``: the group of runs that the run belongs to, such as ``loops``. ``why``: a sentence on the purpose of the run.
    - ``test``: the program to run, with its arguments.
    - ``round``: the number of the round. Runs of a part in the same round run at the same time and share no NIC and no link.
    - ``timeout_s``: the time limit; ``estimate_s``: the expected duration.
    - ``predictions``: the expected results, each with its band (the expected range); empty without a prediction.
    - ``tolerance``: a fraction such as 0.05. A measured result may be lower than its band by this fraction without a finding.
    - ``links``: the links that the packets use in both directions, if the path is pinned.
    - ``needs``: the state of switches or NICs that the run needs and cannot set itself; empty if the design is sufficient.
    """

    name: str
    part: str
    why: str
    test: Perftest | NcclTests
    round: int
    timeout_s: int
    estimate_s: float
    tolerance: float
    predictions: tuple[Prediction, ...] = ()
    links: tuple[str, ...] = ()
    needs: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan: all runs of a suite on a network.

    - ``fabric``: the fabric file; ``design_digest``: the SHA-256 digest of its design.
    - ``notes``: a sentence for each group of runs that was left out, with the reason.
    """

    suite: str
    fabric: str
    design_digest: str
    runs: tuple[PlannedRun, ...]
    notes: tuple[str, ...] = ()

    @property
    def estimate_s(self) -> float:
        """The expected duration of all runs in seconds. The runs of a round run at the same time, so a round takes as long as its longest run."""
        longest: dict[tuple[str, int], float] = {}
        for run in self.runs:
            key = run.part, run.round
            longest[key] = max(longest.get(key, 0), run.estimate_s)
        return sum(longest.values())

    @property
    def digest(self) -> str:
        """The SHA-256 digest of the plan file. It identifies the plan in stored results."""
        return hashlib.sha256(self.to_json()).hexdigest()

    def to_text(self) -> str:
        """Return a table of the plan's runs as text, followed by the settings that runs need beforehand and by the notes."""
        from railweave.operations.bench.planning.making import plan_text

        return plan_text(self)

    def to_json(self) -> bytes:
        """Return the content of the plan file. Equal plans give equal bytes."""
        document: dict[str, Any] = {"railweave": "bench plan", "version": VERSION, **asdict(self)}
        for given, run in zip(document["runs"], self.runs, strict=True):
            given["kind"] = "perftest" if isinstance(run.test, Perftest) else "nccl-tests"
        return (json.dumps(document, indent=1) + "\n").encode()

    @classmethod
    def from_json(cls, text: str | bytes, file: str) -> Plan:
        """Read a plan that ``to_json`` wrote.

        Raises ``SpecError`` if the text is not a plan, or is a plan of a different version. A plan comes from anyone, and its programs run
        on the servers: it is also refused if it names a program, a variable or a value that ``railweave bench plan`` does not write.
        """
        try:
            document: Any = parse_json(text.decode() if isinstance(text, bytes) else text)
        except ValueError as error:
            raise SpecError(
                [Problem(FileLine(file, getattr(error, "lineno", 0)), f"is no JSON: {error}", FIX)]
            ) from None
        if not isinstance(document, dict) or cast("Any", document).get("railweave") != "bench plan":
            raise SpecError([Problem(FileLine(file), "is no plan of benchmarks", FIX)])
        given = cast("dict[str, Any]", document)
        if given.get("version") != VERSION:
            description = f"a plan of version {given.get('version')}; this railweave reads version {VERSION}"
            raise SpecError([Problem(FileLine(file), description, "make it again with `railweave bench plan`")])
        source = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        try:
            runs = tuple(_run(run) for run in given["runs"])
            plan = cls(given["suite"], given["fabric"], given["design_digest"], runs, tuple(given["notes"]))
            _check_types(plan)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise SpecError([Problem(FileLine(file), f"a part is missing or of another form: {error}", FIX)]) from None
        if problems := [problem for run in plan.runs for problem in _problems(run, source, file)]:
            raise SpecError(problems)
        return plan


FIX = "`railweave bench plan FABRIC -o PLAN` makes one"


def read_plan(path: Path | str) -> Plan:
    """Read a plan file. Raises ``SpecError`` if the file cannot be read or is not a plan."""
    try:
        text = file_bytes(Path(path))
    except OSError as error:
        raise SpecError([Problem(FileLine(str(path)), f"cannot be read: {error.strerror}", FIX)]) from None
    return Plan.from_json(text, str(path))


def _run(given: Mapping[str, Any]) -> PlannedRun:
    test: dict[str, Any] = dict(given["test"])
    made: Perftest | NcclTests
    if given["kind"] == "perftest":
        test["server"], test["client"] = End(**test["server"]), End(**test["client"])
        made = Perftest(**test)
    else:
        test["hosts"] = tuple(test["hosts"])
        test["variables"] = tuple((name, text) for name, text in test["variables"])
        made = NcclTests(**test)
    plain: dict[str, Any] = {field.name: given[field.name] for field in fields(PlannedRun)}
    plain["test"], plain["links"] = made, tuple(given["links"])
    plain["predictions"] = tuple(Prediction(**prediction) for prediction in given["predictions"])
    return PlannedRun(**plain)


def _check_types(value: object, name: str = "the plan") -> None:
    """Raise ``TypeError`` if a field of a part of a plan, or of the parts in it, does not have the type that its class states."""
    for field in fields(cast("Any", value)):
        given: Any = getattr(value, field.name)
        wanted = str(field.type)
        optional = wanted.endswith(" | None")
        kind = wanted.removesuffix(" | None")
        if given is None and optional:
            continue
        plain = {"str": (str,), "int": (int,), "float": (int, float), "bool": (bool,), "Memory": (str,)}.get(kind)
        if plain is not None and (not isinstance(given, plain) or isinstance(given, bool) != (kind == "bool")):
            raise TypeError(f"{field.name} of {name} is {given!r:.60}, and is to be {wanted}")
        if kind == "float" and not math.isfinite(cast("float", given)):
            raise TypeError(f"{field.name} of {name} is not finite")
        if kind.startswith(("tuple[str", "tuple[tuple")):
            entries = cast("tuple[object, ...]", given)
            if not all(
                isinstance(each, str)
                for entry in entries
                for each in (cast("tuple[object, ...]", entry) if isinstance(entry, tuple) else (entry,))
            ):
                raise TypeError(f"{field.name} of {name} has a value that is not text")
        for part in cast("tuple[object, ...]", given) if isinstance(given, tuple) else (cast("object", given),):
            if is_dataclass(part):
                _check_types(part, getattr(part, "name", field.name))


def _problems(run: PlannedRun, source: str, file: str) -> Iterator[Problem]:
    """Yield the problems of a run: what would be run on servers, and is not what ``railweave bench plan`` writes.

    ``source`` is the text of the plan's file, from which the lines of problems are found.
    """
    begin = max(source.find(f'"name": {json.dumps(run.name)}'), 0)
    of_test = _of_collective(run.test) if isinstance(run.test, NcclTests) else _of_perftest(run.test)
    limits = {"timeout_s": (run.timeout_s, 1, _LONGEST_S), "round": (run.round, 0, 1 << 31)}
    for value, problem, fix in (*_out_of_range(limits), *of_test):
        at = max(source.find(json.dumps(value), begin), begin)
        yield Problem(FileLine(file, source.count("\n", 0, at) + 1), f"{run.name}: {problem}", fix)


def _of_collective(test: NcclTests) -> Iterator[tuple[object, str, str]]:
    """Yield (wrong value, its problem, its correction) for a run of nccl-tests."""
    yield from _unnamed(test.hosts)
    if test.collective not in PROGRAMS:
        yield test.collective, f"there is no collective {test.collective!r}", f"write one of {', '.join(PROGRAMS)}"
    for name, text in test.variables:
        if not _VARIABLE.fullmatch(name) or not (name.startswith(PREFIXES) or name in VARIABLES):
            allowed = f"names begin with {', '.join(PREFIXES)}, or are {', '.join(VARIABLES)}"
            yield name, f"a plan does not set the variable {name!r}", allowed
        elif not text.isprintable() or (_OF_FILES.search(name) and "/" in text):
            yield text, f"{name} is {text!r}, and a plan names no file", "set it in nccl.env"
    yield from _out_of_range(
        {
            "per_host": (test.per_host, 1, 1024),
            "gpus": (test.gpus, 1, 1024),
            "first_bytes": (test.first_bytes, 0, _MOST_BYTES),
            "last_bytes": (test.last_bytes, test.first_bytes, _MOST_BYTES),
            "factor": (test.factor, 1, _MOST_BYTES),
        }
    )


def _of_perftest(test: Perftest) -> Iterator[tuple[object, str, str]]:
    """Yield (wrong value, its problem, its correction) for a run of perftest."""
    yield from _unnamed((test.server.host, test.client.host))
    if test.program not in PERFTEST:
        yield test.program, f"perftest has no program {test.program!r}", f"write one of {', '.join(PERFTEST)}"
    if test.memory not in get_args(Memory):
        yield test.memory, f"there is no memory {test.memory!r}", f"write one of {', '.join(get_args(Memory))}"
    for end in (test.server, test.client):
        if not _is_address(end.address):
            yield end.address, f"{end.address!r} is no address", "write the IP address of a NIC"
        if not _DEVICE.fullmatch(end.device):
            yield end.device, f"{end.device!r} is no RDMA device", "write a name such as mlx5_0"
        yield from _out_of_range({f"gpu of {end.host}": (end.gpu or 0, 0, 1024)})
    yield from _out_of_range(
        {
            "qps": (test.qps, 1, 1 << 20),
            "size_bytes": (1 if test.size_bytes is None else test.size_bytes, 1, _MOST_BYTES),
            "seconds": (1 if test.seconds is None else test.seconds, 1, _LONGEST_S),
        }
    )


def _unnamed(hosts: Sequence[str]) -> Iterator[tuple[object, str, str]]:
    for host in hosts:
        if not _HOST.fullmatch(host):
            yield host, f"{host!r} is no name of a server", "write letters, digits, '.', '-' and '_'"


def _out_of_range(numbers: Mapping[str, tuple[int, int, int]]) -> Iterator[tuple[object, str, str]]:
    """Yield the problem of each number that is out of its range. ``numbers`` has (number, smallest, largest) by name."""
    for name, (number, low, high) in numbers.items():
        if not low <= number <= high:
            yield number, f"{name} is {number}", f"write a number from {low} to {high}"


def _is_address(text: str) -> bool:
    try:
        return "%" not in text and bool(ipaddress.ip_address(text))
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A run that a suite requests, before anything is predicted.

    - ``name``, ``part``, ``why``, ``test``, ``round``, ``links``, ``needs``: the values for the fields of ``PlannedRun``.
    - ``alike``: a value that is equal for runs with the same expected result. Such runs share a prediction.
    - ``gbps``: the total speed of a server's NICs in 10^9 bit/s. Without a prediction it determines the expected
      duration.
    - ``places``: for perftest, (index of the client's address on the client's NIC, index of the server's address on its NIC).
    - ``lb``: the load balancing of switches, if it differs from the design (``railweave sim --lb``).
    - ``slope``: True to predict also the bandwidth from the slope of time over message size.
    """

    name: str
    part: str
    why: str
    test: Perftest | NcclTests
    round: int
    alike: Hashable
    gbps: float
    links: tuple[str, ...] = ()
    places: tuple[int, int] = (0, 0)
    lb: str | None = None
    needs: str = ""
    slope: bool = False
