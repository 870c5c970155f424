"""The records of a stored run: its environment, samples and predictions."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

Pairs = tuple[tuple[str, str], ...]

GPUS = "GPUs"
"""The name of the fact with the models of a run's GPUs, as the output prints them, separated by commas."""


COLLECTIVE_TOOLS = ("nccl-tests", "rccl-tests", "nccl-inspector")
"""The tools whose runs are collectives with a size, on known ranks and servers."""


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment of a run. An unknown value is empty.

    - ``versions``: the versions of libraries, drivers and tests.
    - ``firmware``: the firmware version of each device.
    - ``variables``: the environment variables of NCCL, RCCL and similar libraries.
    - ``plugin``: the name and version of the network plugin.
    - ``fabric``: the fabric file.
    - ``design_digest``: the SHA-256 of its design.
    - ``switch_revision``: the revision in ``deploy history`` that the switches ran.
    - ``host_check``: the JSON output of ``railweave host check --json`` or ``fleet check --json`` before the run.
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
    """One number of a run.

    - ``operation``: a collective, named as in ``railweave sim``, or a perftest operation such as ``write bandwidth``.
    - ``place``: ``out-of-place``, ``in-place`` or empty.
    - ``quantity``: the measured quantity, with its unit in the name, such as ``busbw_gbytes_per_s`` or ``time_us``.
    - ``line``: the line of the file that the number was read from.
    - ``labels``: further properties that distinguish the sample from other samples of its run.
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
    """The prediction for samples with the same operation, size, place and quantity, made when the run was stored.

    - ``low``, ``high``: the band around ``value``.
    - ``method``: the source of the prediction: the engine with its seed and scenario.
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
    """One run of a benchmark, as it is stored.

    - ``tool``: ``perftest``, ``nccl-tests``, ``rccl-tests``, ``mllog``, ``nccl-log``, ``nccl-inspector``, another benchmark or ``table``.
    - ``title``: a one-line description.
    - ``file``, ``file_digest``, ``line``: the file that the run was read from, the SHA-256 of its text, and the line
      where the run begins.
    - ``began``: the start time that the output reports. ``kept``: the time of storing. Both are ISO 8601 in UTC.
    - ``hosts``: the hosts in rank order. ``ranks``: the number of ranks.
    - ``settings``: the settings that the run requested. ``facts``: the GPUs that the output names (``GPUS``), and the
      settings and devices that NCCL used, according to its log.
    - ``failures``: the reasons of a failure; a failed run is a result too.
    - ``notes``: lines that could not be parsed.
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
        """The identifier of the run: a hash of its file (path and digest), the line where it begins, its tool, title, ranks and settings.

        So a run that is read again from the same file has the same identifier, and is not stored twice. The same
        content in a file with a different path is a different run.
        """
        identity = json.dumps(
            [self.tool, self.file, self.file_digest, self.line, self.title, self.ranks, self.settings]
        )
        return hashlib.sha256(identity.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """Return the run as a JSON object. Pairs become objects."""
        fields = asdict(self)
        fields["environment"] |= {
            name: dict(getattr(self.environment, name)) for name in ("versions", "firmware", "variables")
        }
        fields["samples"] = [asdict(sample) | {"labels": dict(sample.labels)} for sample in self.samples]
        return {"id": self.id, **fields, "settings": dict(self.settings), "facts": dict(self.facts)}


def pairs(given: Mapping[str, str]) -> Pairs:
    """Return the mapping ``given`` as (name, value) pairs, sorted by name."""
    return tuple(sorted(given.items()))
