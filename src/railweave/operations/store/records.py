"""The values that are kept of a run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment of a run. An unknown value is empty.

    - ``versions``: of libraries, drivers and tests; ``firmware``: by device.
    - ``variables``: variables of NCCL, RCCL and similar libraries that were in force.
    - ``plugin``: the name and version of the network plugin.
    - ``fabric``, ``design_digest``: the fabric file and the SHA-256 of its design; ``switch_revision``: that of ``deploy history``.
    - ``host_check``: the output of ``railweave host check --json`` or ``fleet check --json`` before the run, as JSON.
    """

    versions: Pairs = ()
    firmware: Pairs = ()
    variables: Pairs = ()
    plugin: str = ""
    fabric: str = ""
    design_digest: str = ""
    switch_revision: str = ""
    host_check: str = ""


@dataclass(frozen=True, slots=True)
class Sample:
    """One number of a run. ``quantity`` has the unit in its name (``busbw_gbytes_per_s``, ``time_us``).

    ``operation`` is a collective as ``railweave sim`` calls it, or what perftest does (``write bandwidth``); ``place`` is ``out-of-place``,
    ``in-place`` or empty; ``line`` that of the file it was read from; ``labels`` what else tells it from others of its run.
    """

    operation: str
    size_bytes: int | None
    place: str
    quantity: str
    value: float
    line: int = 0
    labels: Pairs = ()


@dataclass(frozen=True, slots=True)
class Prediction:
    """The expected value of samples with the same operation, size, place and quantity, as predicted when the run was kept.

    ``low`` and ``high`` are the band; ``method`` names the source of the prediction: the engine, its seed, its scenario.
    """

    operation: str
    size_bytes: int | None
    place: str
    quantity: str
    value: float
    low: float
    high: float
    method: str


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a benchmark, as it is kept.

    - ``tool``: ``perftest``, ``nccl-tests``, ``rccl-tests``, ``mllog``, ``nccl-log`` or ``table``; ``title``: one line for people.
    - ``file``, ``file_digest``, ``line``: where it was read from, the SHA-256 of that text, and the line it begins on.
    - ``began``, ``kept``: when it ran, as the output says it, and when it was kept (ISO 8601, UTC).
    - ``hosts``, ``ranks``: in the order of ranks. ``settings``: what it was asked to do. ``facts``: what a log says that NCCL did.
    - ``failures``: why it failed, where it did; a run that failed is a result too. ``notes``: lines that were not understood.
    """

    tool: str
    title: str
    file: str
    file_digest: str
    line: int
    began: str
    kept: str
    hosts: tuple[str, ...] = ()
    ranks: int | None = None
    settings: Pairs = ()
    facts: Pairs = ()
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    environment: Environment = field(default_factory=Environment)
    samples: tuple[Sample, ...] = ()
    predictions: tuple[Prediction, ...] = ()

    @property
    def id(self) -> str:
        """Return the identifier of the run: a hash of the file's path and digest, and the run's tool, line, title, ranks and settings.

        So reading the same file again adds nothing. A copy of the file under a different path is a different run.
        """
        told = json.dumps([self.tool, self.file, self.file_digest, self.line, self.title, self.ranks, self.settings])
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """The run for machines; pairs are objects."""
        fields = asdict(self)
        fields["environment"] |= {
            name: dict(getattr(self.environment, name)) for name in ("versions", "firmware", "variables")
        }
        fields["samples"] = [asdict(sample) | {"labels": dict(sample.labels)} for sample in self.samples]
        return {"id": self.id, **fields, "settings": dict(self.settings), "facts": dict(self.facts)}


def pairs(given: Mapping[str, str]) -> Pairs:
    """A mapping as pairs, by name."""
    return tuple(sorted(given.items()))
