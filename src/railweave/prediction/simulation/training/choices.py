"""What training jobs can be compared by: one thing changed, in the question, the job file or the fabric file."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railweave.errors import InputError, Option, Problem
from railweave.model.intent.fabric import FabricFile
from railweave.model.intent.job_file import TrainingJob
from railweave.prediction.simulation.question import background
from railweave.prediction.simulation.training.uplinks import on_leaves, oversubscribed
from railweave.prediction.simulation.varied import values_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from railweave.model.network.model import Network

FILES = ("scenario", "others")
"""What is varied by files; ``none`` stands for none."""
FIX = (
    "write lb=ecmp,dlb, qps=1,4, oversubscription=1:1,2:1, rails=8,1, scenario=none,dead-spine.yaml, others=none,job.yaml, background=none,share=50%, "
    "a field of the job, parallel.pipeline=2,4, or one of the fabric file, fabrics.backend.topology.spines=4,2"
)


@dataclass(frozen=True)
class Choice:
    """One value of what is varied. ``fabric``: fields of the fabric file that it changes; ``given``: arguments of ``predict_training``."""

    name: str
    value: str
    fabric: Mapping[str, str] = field(default_factory=dict[str, str])
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])


def choices(network: Network, words: str, given: Mapping[str, Any]) -> list[Choice]:
    """The values of ``NAME=a,b``. ``given``: arguments of ``predict_training`` besides. Raises ``InputError``."""
    name, equals, rest = words.partition("=")
    values = values_of(name, rest) if equals else []
    made = _made(network, name, given)
    if made is None or not values or len(set(values)) < len(values):
        raise InputError([Problem(Option("--compare"), f"{words!r} is nothing that jobs are compared by", FIX)])
    return [made(value) for value in values]


def _made(network: Network, name: str, given: Mapping[str, Any]) -> Callable[[str], Choice] | None:
    """What makes a choice of a value; None where nothing has that name."""
    head, dot, _ = name.partition(".")
    if name == "lb":
        return lambda value: Choice(name, value, given={"lb": value})
    if name == "engine":
        return lambda value: Choice(name, value, given={"engine": value})
    if name in FILES:
        return lambda value: Choice(name, value, given={name: None if value == "none" else Path(value)})
    if name == "background":
        return lambda value: Choice(name, value, given={name: None if value == "none" else background(value)})
    if name == "oversubscription":
        return lambda value: Choice(name, value, oversubscribed(network, value))
    if name == "rails":
        return lambda value: Choice(name, value, on_leaves(network, value))
    if name.startswith("NCCL_"):
        return lambda value: _changed(f"nccl.{name}", name, value, given)
    if name == "seed" or (dot and head in {"host", "switch"}):
        return lambda value: Choice(name, value, given={"settings": {**(given.get("settings") or {}), name: value}})
    if dot and head == "fabrics" and name.split(".")[1] not in {one.name for one in network.fabrics}:
        return None
    if dot and head in FabricFile.model_fields:
        return lambda value: Choice(name, value, {name: value})
    if head in TrainingJob.model_fields:
        return lambda value: _changed(name, name, value, given)
    return None


def _changed(path: str, name: str, value: str, given: Mapping[str, Any]) -> Choice:
    return Choice(name, value, given={"changes": {**(given.get("changes") or {}), path: value}})
