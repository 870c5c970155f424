"""Runs of benchmarks that are to be made, and what each of them should give: a value, with a JSON file as its form.

A plan names servers, NICs and addresses, never the index of a GID: that is looked up on the server when the run begins.
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
    from collections.abc import Mapping

VERSION = 1
"""Of the file's form."""

Memory = Literal["host", "cuda", "rocm"]
"""Where perftest's buffers lie: in the server's memory, or in that of an NVIDIA or AMD GPU."""


@dataclass(frozen=True, slots=True)
class End:
    """One end of a run of perftest.

    - ``host``, ``nic``: as the fabric file calls them; ``device``: the RDMA device (``mlx5_0``), empty where it is found by the address.
    - ``address``: whose RoCEv2 GID is taken; with it goes the path, where addresses have colors.
    - ``gpu``: index of the GPU beside the NIC; None where there is none, or where it does not take part.
    """

    host: str
    nic: str
    address: str
    device: str = ""
    gpu: int | None = None


@dataclass(frozen=True, slots=True)
class Perftest:
    """A run of perftest between two NICs, or of a NIC with itself where both ends are one.

    ``size_bytes``: of a message, None for all sizes (``-a``); ``qps``: queue pairs; ``both_ways``: ``-b``; ``seconds``: how long, where it
    does not go by a number of messages. ``color`` is that of both addresses, empty where the path is not pinned.
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
    """A run of nccl-tests or rccl-tests: ``collective`` as ``railweave sim`` calls it, sizes from ``first_bytes`` to ``last_bytes`` by ``factor``.

    ``hosts``: in the order of ranks; ``per_host``: processes on each, with ``gpus`` GPUs each. ``variables``: over those of ``nccl.env``.
    ``tenant``: whose job it is, where there are several: that tenant's ``nccl.env`` is the one to take.
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
    """One run.

    - ``name``: its own in the plan, fit for a file name with ``/`` between parts (``pairs/leaf/03/h100-01-gpu0_eth``).
    - ``part``: the part of the suite that it belongs to; ``why``: what it shows, a sentence.
    - ``round``: runs of a part with the same number share no NIC and no link, and go at once.
    - ``timeout_s``: when it is ended; ``estimate_s``: what it should take.
    - ``tolerance``: how far below its band a number may be before it is a finding, as a fraction (0.05).
    - ``predictions``: what it should give, each with its band; empty where nothing is known.
    - ``links``: names of the links that its packets take, where the path is pinned, in both directions.
    - ``needs``: what has to be in force on switches or NICs, which the run cannot set itself; empty where the design is in force as it is.
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
    """All runs of a suite on a network. ``fabric``: the fabric file; ``design_digest``: SHA-256 of its design; ``notes``: what was left out, and why."""

    suite: str
    fabric: str
    design_digest: str
    runs: tuple[PlannedRun, ...]
    notes: tuple[str, ...] = ()

    @property
    def estimate_s(self) -> float:
        """Return the expected duration of all runs in seconds; runs of a round go at the same time."""
        longest: dict[tuple[str, int], float] = {}
        for run in self.runs:
            key = run.part, run.round
            longest[key] = max(longest.get(key, 0), run.estimate_s)
        return sum(longest.values())

    @property
    def digest(self) -> str:
        """By which results say which plan they belong to: SHA-256 of the file's text."""
        return hashlib.sha256(self.to_json()).hexdigest()

    def to_json(self) -> bytes:
        """The file: the same plan, the same bytes."""
        document: dict[str, Any] = {"railweave": "bench plan", "version": VERSION, **asdict(self)}
        for given, run in zip(document["runs"], self.runs, strict=True):
            given["kind"] = "perftest" if isinstance(run.test, Perftest) else "nccl-tests"
        return (json.dumps(document, indent=1) + "\n").encode()

    @classmethod
    def from_json(cls, text: str | bytes, file: str) -> Plan:
        """A plan that ``to_json`` wrote. Raises ``SpecError`` where it is none, or one of another version."""
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
    """The plan of a file. Raises ``SpecError``."""
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
