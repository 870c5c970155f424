"""Plans of drains and undrains: their targets, the losses, and a check that traffic avoids drained links.

The module also runs the operator's command before a wave (``--wait-for``).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.errors import Argument, InputError, Problem
from railweave.model.catalog import in_force
from railweave.model.config.compare import compare
from railweave.model.intent.status import with_active, with_drained, without_drained
from railweave.operations.deploy.changes import transaction
from railweave.operations.deploy.making import Answers, make_plan
from railweave.operations.deploy.plan import Drain
from railweave.operations.deploy.remaining import capacity, lost_parts, still_used
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.devices import Cable
    from railweave.model.network.model import Network
    from railweave.operations.deploy.plan import Plan
    from railweave.operations.deploy.planning import RunningFabric
    from railweave.operations.deploy.waves import Wave


@dataclass(frozen=True)
class DrainWait:
    """A shell command to run before each wave, and its time limit in seconds."""

    command: str
    seconds: float

    async def __call__(self, number: int, wave: Wave) -> str:
        """Run the command before wave ``number``. Return the reason if it failed, else an empty string.

        The output of the command goes to standard error. Its environment has ``RAILWEAVE_WAVE`` (the number), ``RAILWEAVE_DEVICES`` and
        ``RAILWEAVE_SERVERS`` (names separated by commas).
        """
        given = {
            "RAILWEAVE_WAVE": str(number),
            "RAILWEAVE_DEVICES": ",".join(wave.devices),
            "RAILWEAVE_SERVERS": ",".join(wave.servers),
        }
        child = await asyncio.create_subprocess_shell(
            self.command,
            stdin=asyncio.subprocess.DEVNULL,
            env={**os.environ, **given},
            start_new_session=True,
            stdout=2,
        )
        try:
            async with asyncio.timeout(self.seconds):
                status = await child.wait()
        except TimeoutError:
            return f"--wait-for did not end within {self.seconds:g} s"
        finally:
            if child.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(child.pid, signal.SIGKILL)
                await child.wait()
        return f"--wait-for ended with {status}" if status else ""


@dataclass(frozen=True)
class DrainTargets:
    """The targets of a drain. ``patterns`` has their lines for ``status:`` (fabric file), and ``links`` the links that then carry no traffic."""

    patterns: tuple[str, ...]
    links: frozenset[str]


def named(network: Network, word: str) -> DrainTargets:
    """Return the drain targets that ``word`` names: a switch, server, path color, SERVER:NIC or link. Raises ``InputError`` for an unknown name."""
    devices = {device.name for device in (*network.switches, *network.servers)}
    if word in devices:
        return DrainTargets((word,), frozenset(cable.name for cable in network.cables_of(word)))
    if links := [cable.name for cable in network.cables if _is_link(cable, word)]:
        return DrainTargets((word,), frozenset(links))
    if colored := [cable for cable in network.cables if cable.kind == "fabric" and _is_color(network, cable, word)]:
        return _of_color(network, colored)
    colors = sorted({color.name for fabric in network.fabrics for color in fabric.colors})
    description = f"there is no switch, server, link or path color {word!r}"
    fix = f"names are those of cabling.csv{', path colors ' + ', '.join(colors) if colors else ''}; a link is A--B or SERVER:NIC"
    raise InputError([Problem(Argument("what"), description, fix)])


def _is_color(network: Network, cable: Cable, word: str) -> bool:
    return cable.color is not None and network.fabric(cable.fabric).color_name(cable.color) == word


def _is_link(cable: Cable, word: str) -> bool:
    if word == f"{cable.a.device}:{cable.a.port}" and cable.kind == "server":
        return True
    near, dashes, far = word.partition("--")

    def ends(first: str, other: str) -> bool:
        return first in {cable.a.device, f"{cable.a.device}:{cable.a.port}"} and other in {
            cable.b.device,
            f"{cable.b.device}:{cable.b.port}",
        }

    return bool(dashes) and (ends(near, far) or ends(far, near))


def _of_color(network: Network, cables: Sequence[Cable]) -> DrainTargets:
    """Return the targets for draining a path color. ``cables`` are the links of the color.

    The targets are the spines that carry only this color, and the color's links on other spines.
    """
    links = {cable.name for cable in cables}
    spines = dict.fromkeys(cable.b.device for cable in cables)
    whole = [
        name
        for name in spines
        if all(
            cable.name in links
            for cable in network.cables_of(name)
            if cable.kind == "fabric" and cable.b.device == name
        )
    ]
    rest = [cable.name for cable in cables if cable.b.device not in whole]
    return DrainTargets(
        (*whole, *rest), frozenset(cable.name for name in whole for cable in network.cables_of(name)) | links
    )


def ports(network: Network, configs: Mapping[str, DeviceConfig], links: frozenset[str]) -> dict[str, tuple[str, ...]]:
    """Return the ports at which to measure the traffic on some links, by switch.

    One end of each link is measured: the end at the switch that has more of these links.
    """
    cables = [cable for cable in network.cables if cable.name in links]
    count: dict[str, int] = {}
    for cable in cables:
        for end in {cable.a.device, cable.b.device} & configs.keys():
            count[end] = count.get(end, 0) + 1
    by_switch: dict[str, list[str]] = {}
    for cable in cables:
        there = [end for end in (cable.b.device, cable.a.device) if end in configs]
        if there:
            switch = max(there, key=lambda name: count[name])
            by_switch.setdefault(switch, []).extend(
                interface.name for interface in configs[switch].interfaces if interface.link == cable.name
            )
    return {name: tuple(ports) for name, ports in sorted(by_switch.items())}


def by_hand(former: DeviceConfig, config: DeviceConfig) -> Iterator[str]:
    """Yield the commands that the operator must type to change a switch from the design ``former`` to the design ``config``.

    Yield nothing if railweave can change the switch.
    """
    if transaction(config.nos) is not None:
        return
    old, new = system(former.nos).trees(former), system(config.nos).trees(config)
    for file, tree in new.items():
        lines = compare(old[file], tree).commands
        yield from (f"{config.name}: type `{line}`" for line in lines)


def plan_drain(fabric: RunningFabric, words: Sequence[str], *, force: bool, also_pending: bool = False) -> Plan:
    """Plan a drain: take switches, links, path colors or servers out of use by routing. Raises ``InputError`` for an unknown name.

    - ``words``: the names of the targets.
    - ``force``: plan the drain even if it would otherwise be refused.
    - ``also_pending``: include the other differences of the changed switches from the design.
    """
    before = fabric.network()
    targets = [named(before, word) for word in words]
    text = fabric.text()
    patterns = [pattern for target in targets for pattern in target.patterns]
    wanted = [pattern for pattern in patterns if not _is_drained(before, pattern)]
    changed = with_drained(text, wanted)
    after = fabric.designed_as(changed)
    in_use = before if len(wanted) == len(patterns) else fabric.designed_as(without_drained(text, patterns))
    return _planned(
        fabric,
        (before, after),
        targets,
        (text, changed),
        other=in_use,
        back=False,
        force=force,
        also_pending=also_pending,
    )


def plan_undrain(fabric: RunningFabric, words: Sequence[str], *, again: bool, also_pending: bool = False) -> Plan:
    """Plan the return of drained switches, links, path colors or servers to service. Raises ``InputError`` for an unknown name.

    - ``words``: the names of the drained targets.
    - ``again``: allow a plan although no named target is drained; otherwise this is an ``InputError``.
    - ``also_pending``: include the other differences of the changed switches from the design.
    """
    before = fabric.network()
    targets = [named(before, word) for word in words]
    wanted = [pattern for target in targets for pattern in target.patterns if _is_drained(before, pattern)]
    if not wanted and not again:
        fix = "`status:` of the fabric file says what is"
        raise InputError([Problem(Argument("what"), f"{', '.join(words)}: not drained", fix)])
    text = fabric.text()
    changed = without_drained(text, wanted)
    if left := [pattern for pattern in wanted if _is_drained(fabric.designed_as(changed), pattern)]:
        changed = with_active(changed, left)  # a line for several says so
    after = fabric.designed_as(changed)
    patterns = [pattern for target in targets for pattern in target.patterns]
    other = before if wanted else fabric.designed_as(with_drained(text, patterns))
    return _planned(
        fabric, (before, after), targets, (text, changed), other=other, back=True, force=True, also_pending=also_pending
    )


def _is_drained(network: Network, pattern: str) -> bool:
    """Return True if everything that ``pattern``, a line of the fabric file's ``status:``, names is drained."""
    devices = {device.name for device in (*network.switches, *network.servers)}
    return {pattern} <= network.drained if pattern in devices else named(network, pattern).links <= network.drained


def _planned(
    fabric: RunningFabric,
    networks: tuple[Network, Network],
    targets: Sequence[DrainTargets],
    texts: tuple[str, str],
    *,
    other: Network,
    back: bool,
    force: bool,
    also_pending: bool,
) -> Plan:
    """Return the plan for a drain or, with ``back``, an undrain.

    - ``networks``: the network before and after.
    - ``texts``: the fabric file before and after.
    - ``other``: the network with the targets in the opposite state. The plan covers the switches whose configurations
      differ between ``other`` and the network after, even if the fabric file already has the new state.
    - ``force``, ``also_pending``: see ``plan_drain``.
    """
    before, after = networks
    links = frozenset(link for target in targets for link in target.links)
    with in_force(after.catalog):
        site = fabric.site_of(after)
        former = fabric.site_of(other).configs
        affected = [name for name, config in site.configs.items() if former.get(name) != config]
        running, silent_ones = fabric.running(site, affected)
        plan = make_plan(
            fabric.path,
            site.network,
            Answers(running, silent=silent_ones),
            only=affected,
            configs=site.configs,
            former=None if also_pending else {name: former[name] for name in affected if name in former},
            progress=fabric.say,
        )
        lines, refused = list[str](), [f"{name} did not answer: {why}" for name, why in silent_ones.items()]
        lost = list[str]()
        if not back:
            fabric.say("working out what is left")
            lines += capacity(before, after)
            lost = list(lost_parts(before, after, site.configs))
            lines += [f"forced: {loss}" for loss in lost] if force else []
            refused += [] if force else [f"{loss} (--force takes it out all the same)" for loss in lost]
            refused += still_used(after, site.configs, links)
        stood = former if other is before else fabric.site_of(before).configs
        refused += [line for name in affected for line in by_hand(stood[name], site.configs[name])]
        watched = {} if back else ports(after, site.configs, links)
    names = tuple(pattern for target in targets for pattern in target.patterns)
    return replace(plan, drain=Drain(names, back, *texts, watched, tuple(lines), tuple(refused)))
