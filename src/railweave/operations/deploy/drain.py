"""Drains and their ends: what they name, what is left of the network, what is lost, whether routes follow; the command to wait for."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from railweave.errors import Argument, InputError, Problem
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
class WaitFor:
    """A command for the shell, and how many seconds it may take."""

    command: str
    seconds: float

    async def __call__(self, number: int, wave: Wave) -> str:
        """Run it before a wave; why it was not good, or nothing. What it prints goes where this program's output goes.

        Its environment has ``RAILWEAVE_WAVE`` (the wave's number), ``RAILWEAVE_DEVICES`` and ``RAILWEAVE_SERVERS`` (names with commas between).
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
class Drain:
    """What a plan does beyond switches: ``before`` and ``after`` are the texts of the fabric file, whose ``status:`` it changes.

    ``names`` are the lines of ``status:`` that come or, ``back``, go. ``ports`` are those that carry nothing any more when it is done, by
    switch. ``lines`` tell what is left of the network, ``refused`` why it should not be.
    """

    names: tuple[str, ...]
    back: bool
    before: str
    after: str
    ports: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    lines: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Its form in a plan's file."""
        return {
            "names": list(self.names),
            "back": self.back,
            "before": self.before,
            "after": self.after,
            "ports": {name: list(ports) for name, ports in self.ports.items()},
            "lines": list(self.lines),
            "refused": list(self.refused),
        }

    def other_way(self) -> Drain:
        """What takes it back."""
        return Drain(self.names, not self.back, self.after, self.before)

    @classmethod
    def of_json(cls, found: Mapping[str, Any]) -> Drain:
        """The other way. Raises ``KeyError`` and ``TypeError`` for what is none."""
        return cls(
            tuple(found["names"]),
            bool(found["back"]),
            str(found["before"]),
            str(found["after"]),
            {name: tuple(ports) for name, ports in found["ports"].items()},
            tuple(found["lines"]),
            tuple(found["refused"]),
        )


@dataclass(frozen=True)
class Named:
    """What a word of the command line stands for: ``patterns`` are lines of ``status:``, ``links`` the cables that carry nothing then."""

    patterns: tuple[str, ...]
    links: frozenset[str]


def named(network: Network, word: str) -> Named:
    """What is meant by a switch, a server, a path color, SERVER:NIC, or a link. Raises ``InputError`` where nothing is."""
    devices = {one.name for one in (*network.switches, *network.servers)}
    if word in devices:
        return Named((word,), frozenset(one.name for one in network.cables_of(word)))
    if links := [one.name for one in network.cables if _is_link(one, word)]:
        return Named((word,), frozenset(links))
    if colored := [one for one in network.cables if one.kind == "fabric" and _is_color(network, one, word)]:
        return _of_color(network, colored)
    colors = sorted({color.name for fabric in network.fabrics for color in fabric.colors})
    what = f"there is no switch, server, link or path color {word!r}"
    fix = f"names are those of cabling.csv{', path colors ' + ', '.join(colors) if colors else ''}; a link is A--B or SERVER:NIC"
    raise InputError([Problem(Argument("what"), what, fix)])


def _is_color(network: Network, cable: Cable, word: str) -> bool:
    return cable.color is not None and network.fabric(cable.fabric).color_name(cable.color) == word


def _is_link(cable: Cable, word: str) -> bool:
    if word == f"{cable.a.device}:{cable.a.port}" and cable.kind == "server":
        return True
    near, dashes, far = word.partition("--")

    def ends(one: str, other: str) -> bool:
        return one in {cable.a.device, f"{cable.a.device}:{cable.a.port}"} and other in {
            cable.b.device,
            f"{cable.b.device}:{cable.b.port}",
        }

    return bool(dashes) and (ends(near, far) or ends(far, near))


def _of_color(network: Network, cables: Sequence[Cable]) -> Named:
    """The spines that carry nothing but a color, and links of others."""
    links = {one.name for one in cables}
    spines = dict.fromkeys(one.b.device for one in cables)
    whole = [
        name
        for name in spines
        if all(one.name in links for one in network.cables_of(name) if one.kind == "fabric" and one.b.device == name)
    ]
    rest = [one.name for one in cables if one.b.device not in whole]
    return Named((*whole, *rest), frozenset(one.name for name in whole for one in network.cables_of(name)) | links)


def ports(network: Network, configs: Mapping[str, DeviceConfig], links: frozenset[str]) -> dict[str, tuple[str, ...]]:
    """The ports at which traffic on some links is measured, by switch: each link at the end that most of them share."""
    cables = [one for one in network.cables if one.name in links]
    count: dict[str, int] = {}
    for cable in cables:
        for end in {cable.a.device, cable.b.device} & configs.keys():
            count[end] = count.get(end, 0) + 1
    found: dict[str, list[str]] = {}
    for cable in cables:
        there = [end for end in (cable.b.device, cable.a.device) if end in configs]
        if there:
            switch = max(there, key=lambda name: count[name])
            found.setdefault(switch, []).extend(
                one.name for one in configs[switch].interfaces if one.link == cable.name
            )
    return {name: tuple(ports) for name, ports in sorted(found.items())}


def by_hand(former: DeviceConfig, config: DeviceConfig) -> Iterator[str]:
    """What to type on a switch that nothing here changes; nothing for others."""
    if transaction(config.nos) is not None:
        return
    old, new = system(former.nos).trees(former), system(config.nos).trees(config)
    for file, tree in new.items():
        lines = compare(old[file], tree).commands
        yield from (f"{config.name}: type `{line}`" for line in lines)


def difference(drain: Drain, file: str) -> Iterator[str]:
    """What changes in the fabric file, as a unified diff."""
    import difflib

    sides = (drain.before.splitlines(), drain.after.splitlines())
    yield from difflib.unified_diff(*sides, file, file, lineterm="", n=2)
