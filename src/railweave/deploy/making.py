"""Making a plan: from what devices run to what the design has them run."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from railweave.checks.devices import saved
from railweave.checks.subject import Subject
from railweave.deploy.changes import change
from railweave.deploy.plan import Plan
from railweave.deploy.waves import waves
from railweave.errors import InputError, Option, Problem
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from railweave.device.model import DeviceConfig
    from railweave.network.model import Network


def make_plan(
    fabric: Path,
    network: Network,
    running: Mapping[str, Mapping[str, str]],
    *,
    silent: Mapping[str, str],
    live: bool,
    only: Collection[str] = (),
    most: float = 0.5,
    canary: bool = True,
    configs: dict[str, DeviceConfig] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Plan:
    """What it takes to bring switches to their design. ``running`` are the texts of each by file name, ``silent`` those that did not answer.

    ``live``: the texts are as devices have them, with their secrets. ``most`` is the share of the network that a wave may put at risk.
    ``configs`` are what the switches should run where that is not as the network has it, as in a lab. Raises ``InputError`` for unknown names in ``only``.
    """
    names = [one.name for one in network.switches]
    if unknown := [name for name in only if name not in names]:
        fix = "names are those of cabling.csv"
        raise InputError([Problem(Option("--only", name), "the network has no such switch", fix) for name in unknown])
    designed = Subject.of(network) if configs is None else Subject(network, configs)
    chosen = {name: texts for name, texts in running.items() if name in names and (not only or name in only)}
    progress(f"comparing {len(chosen)} switches with their design")
    own = saved(designed.configs, {name: dict(texts) for name, texts in chosen.items()})
    changes = {
        name: change(name, designed.configs[name].nos, texts, _wanted(designed, name), own.get(name))
        for name, texts in chosen.items()
    }
    changed = {name: one for name, one in changes.items() if one}
    progress(f"ordering {len(changed)} devices")
    return Plan(
        str(fabric.resolve()),
        hashlib.sha256(network.to_json()).hexdigest(),
        datetime.now(UTC).isoformat(timespec="seconds"),
        live,
        tuple(changes.values()),
        waves(network, designed.control_plane, changed, most=most, canary=canary),
        {name: why for name, why in silent.items() if not only or name in only},
    )


def plan_back(
    fabric: Path,
    network: Network,
    running: Mapping[str, Mapping[str, str]],
    before: Mapping[str, Mapping[str, str]],
    *,
    silent: Mapping[str, str],
    revision: int,
    most: float,
    configs: dict[str, DeviceConfig],
) -> Plan:
    """What it takes to bring switches back to what they ran ``before`` a revision, statements of their own included."""
    designed = Subject(network, configs)
    changes = {name: change(name, configs[name].nos, texts, before[name], None) for name, texts in running.items()}
    changed = {name: one for name, one in changes.items() if one}
    return Plan(
        str(fabric.resolve()),
        hashlib.sha256(network.to_json()).hexdigest(),
        datetime.now(UTC).isoformat(timespec="seconds"),
        True,
        tuple(changes.values()),
        waves(network, designed.control_plane, changed, most=most),
        dict(silent),
        revision,
    )


def _wanted(subject: Subject, name: str) -> dict[str, str]:
    config = subject.configs[name]
    files = system(config.nos).files(config)
    return {file: files[file] for file in system(config.nos).configurations(config)}
