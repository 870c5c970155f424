"""Plans of benchmark runs: the runs and the expected result of each, stored as a JSON file.

A plan names servers, NICs and addresses, but no GID index. The server looks up the index when the run begins.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from railweave.errors import FileLine, Problem, SpecError
from railweave.operations.store.records import Prediction

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

VERSION = 1
"""The version of the file format."""

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
        """Read a plan that ``to_json`` wrote. Raises ``SpecError`` if the text is not a plan, or is a plan of a different version."""
        try:
            document: Any = json.loads(text)
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
        try:
            runs = tuple(_run(run) for run in given["runs"])
            return cls(given["suite"], given["fabric"], given["design_digest"], runs, tuple(given["notes"]))
        except (KeyError, TypeError, AttributeError) as error:
            raise SpecError([Problem(FileLine(file), f"a part is missing or of another form: {error}", FIX)]) from None


FIX = "`railweave bench plan FABRIC -o PLAN` makes one"


def read_plan(path: Path | str) -> Plan:
    """Read a plan file. Raises ``SpecError`` if the file cannot be read or is not a plan."""
    try:
        text = Path(path).read_bytes()
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
