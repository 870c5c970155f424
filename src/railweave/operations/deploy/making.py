"""Making a plan: from what devices run to what the design has them run."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from railweave.analysis.checks.devices import saved
from railweave.analysis.checks.subject import Subject
from railweave.counting import counted
from railweave.errors import unknown_switches
from railweave.live.fleet.host_tree import without_amiss
from railweave.operations.deploy.changes import change, server_change
from railweave.operations.deploy.isolation import Moments
from railweave.operations.deploy.plan import Plan
from railweave.operations.deploy.waves import waves
from railweave.systems import system
from railweave.workers import spread

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from pathlib import Path

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.model import Network
    from railweave.operations.deploy.changes import DeviceChange
    from railweave.operations.deploy.waves import Wave


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
    servers: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Plan:
    """What it takes to bring switches to their design. ``running`` are the texts of each by file name, ``silent`` those that did not answer.

    ``live``: the texts are as devices have them, with their secrets. ``most`` is the share of the network that a wave may put at risk.
    ``configs`` are what the switches should run where that is not as the network has it, as in a lab. ``servers`` are the texts of those that
    take part, with those wanted. Raises ``InputError`` for unknown names in ``only``.
    """
    names = [one.name for one in network.switches]
    if unknown := [name for name in only if name not in names and name not in (servers or silent)]:
        raise unknown_switches(unknown, "names are those of cabling.csv; servers take part with --servers")
    designed = Subject.of(network) if configs is None else Subject(network, configs)
    chosen = {name: texts for name, texts in running.items() if name in names and (not only or name in only)}
    progress(f"comparing {counted(len(chosen), 'switch', 'switches')} with the design")

    def one(name: str) -> DeviceChange:
        config, texts = designed.configs[name], dict(chosen[name])
        return change(name, config.nos, texts, _wanted(config), lambda: saved({name: config}, {name: texts})[name])

    changes = dict(zip(chosen, spread(one, list(chosen)), strict=True))
    for name, (texts, wanted) in (servers or {}).items():
        changes[name] = server_change(name, texts, wanted)
    changed = {name: one for name, one in changes.items() if one}
    progress(f"ordering {counted(len(changed), 'device')}")
    ordered = _ordered(designed, running, changed, most=most, canary=canary)
    left_out = {name: why for name, why in silent.items() if not only or name in only}
    return _plan(fabric, network, changes, ordered, left_out, live=live)


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

    def one(name: str) -> DeviceChange:
        if name not in configs:
            return server_change(name, running[name], without_amiss(before[name]))
        return change(name, configs[name].nos, running[name], before[name], None)

    changes = dict(zip(running, spread(one, list(running)), strict=True))
    changed = {name: one for name, one in changes.items() if one}
    ordered = _ordered(designed, running, changed, most=most)
    return _plan(fabric, network, changes, ordered, silent, live=True, back_to=revision)


def _ordered(
    designed: Subject,
    running: Mapping[str, Mapping[str, str]],
    changed: Mapping[str, DeviceChange],
    *,
    most: float,
    canary: bool = True,
) -> tuple[Wave, ...]:
    """The waves of changes; where there are tenants, with what they mean for these."""
    network, control = designed.network, designed.control_plane
    if not changed or not any(one.overlay for one in network.fabrics):
        return waves(network, control, changed, most=most, canary=canary)
    moments = Moments(network, running, changed, designed.configs)
    return moments.told(waves(network, control, changed, most=most, canary=canary, together=moments.together))


def _plan(
    fabric: Path,
    network: Network,
    changes: Mapping[str, DeviceChange],
    ordered: tuple[Wave, ...],
    silent: Mapping[str, str],
    *,
    live: bool,
    back_to: int | None = None,
) -> Plan:
    """The plan of changes, made now."""
    design = hashlib.sha256(network.to_json()).hexdigest()
    made = datetime.now(UTC).isoformat(timespec="seconds")
    return Plan(str(fabric.resolve()), design, made, live, tuple(changes.values()), ordered, dict(silent), back_to)


def _wanted(config: DeviceConfig) -> dict[str, str]:
    """The files of a device whose text it says; none where nothing here changes it."""
    nos = system(config.nos)
    asked = nos.transaction.FILES.values() if nos.transaction else ()
    return {file: text for file, text in nos.files(config).items() if file in asked}
