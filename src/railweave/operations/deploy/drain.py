"""Drains and undrains: targets, the remaining network, losses, whether routes follow, and the command to run before each wave."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from railweave.errors import Argument, InputError, Problem
from railweave.json_values import JsonObject
from railweave.model.config.compare import compare
from railweave.operations.deploy.changes import transaction
from railweave.systems import system

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.device.model import DeviceConfig
    from railweave.model.network.devices import Cable
    from railweave.model.network.model import Network
    from railweave.operations.deploy.waves import Wave


@dataclass(frozen=True)
class DrainWait:
    """A shell command to run before each wave, and its time limit in seconds."""

    command: str
    seconds: float

    async def __call__(self, number: int, wave: Wave) -> str:
        """Run the command before a wave. Return why it failed; empty if it succeeded. Its output goes to standard error.

        The environment has ``RAILWEAVE_WAVE`` (the wave's number), ``RAILWEAVE_DEVICES`` and ``RAILWEAVE_SERVERS`` (names separated by
        commas).
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
class Drain(JsonObject):
    """The drain or undrain in a plan.

    - ``before``, ``after``: texts of the fabric file, in which ``status:`` changes.
    - ``names``: the lines of ``status:`` that are added or, with ``back``, removed.
    - ``ports``: the ports, by switch, that carry no traffic after the drain.
    - ``lines``: a description of the remaining network; ``refused``: the reasons against the drain.
    """

    names: tuple[str, ...]
    back: bool
    before: str
    after: str
    ports: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    lines: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    def other_way(self) -> Drain:
        """Return the drain that reverses this one."""
        return Drain(self.names, not self.back, self.after, self.before)

    @classmethod
    def of_json(cls, document: Mapping[str, Any]) -> Drain:
        """Build the object from its JSON form. Raises ``KeyError`` or ``TypeError`` if the form is invalid."""
        return cls(
            tuple(document["names"]),
            bool(document["back"]),
            str(document["before"]),
            str(document["after"]),
            {name: tuple(ports) for name, ports in document["ports"].items()},
            tuple(document["lines"]),
            tuple(document["refused"]),
        )


@dataclass(frozen=True)
class DrainTargets:
    """The targets of a drain. ``patterns`` are lines of ``status:``; ``links`` are the links that then carry no traffic."""

    patterns: tuple[str, ...]
    links: frozenset[str]


def named(network: Network, word: str) -> DrainTargets:
    """Return the targets for a switch, server, path color, SERVER:NIC or link. Raises ``InputError`` for an unknown name."""
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
    """Return the targets for a path color: the spines that carry only this color, and the color's links on other spines."""
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
    """Return, by switch, the ports at which to measure the traffic on some links.

    Of the two ends of a link, the switch with more of these links is used.
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
    """Yield the commands to type on a switch that railweave cannot change itself; nothing for other switches."""
    if transaction(config.nos) is not None:
        return
    old, new = system(former.nos).trees(former), system(config.nos).trees(config)
    for file, tree in new.items():
        lines = compare(old[file], tree).commands
        yield from (f"{config.name}: type `{line}`" for line in lines)


def difference(drain: Drain, file: str) -> Iterator[str]:
    """Yield the changes of the fabric file, as a unified diff."""
    import difflib

    sides = (drain.before.splitlines(), drain.after.splitlines())
    yield from difflib.unified_diff(*sides, file, file, lineterm="", n=2)
