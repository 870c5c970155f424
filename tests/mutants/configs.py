"""Configurations with fields dropped, emptied or swapped, and texts with lines dropped, doubled or cut short.

A text that lacks a statement gives a configuration that no design has: a class without a PFC priority, a policy that nothing
defines, a port without a cable. Whatever is read is rendered, checked and routed all the same. None of that may raise an exception:
what is wrong becomes a finding. The seed draws devices of all examples on all systems, and what is done to them.

``python -m tests.mutants.configs 100000 1``: 100,000 mutants of seed 1. Prints every exception once, with the edits that led to
it, and exits 1 if it has any.
"""

from __future__ import annotations

import random
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from railweave.analysis.checks.checks import checks
from railweave.analysis.checks.devices import compare_device
from railweave.analysis.checks.lints import LINTS
from railweave.analysis.checks.subject import Subject
from railweave.analysis.routing.headers import walk
from railweave.analysis.routing.paths import queue_pair_paths
from railweave.errors import RailweaveError, RenderError, UnsettledError
from railweave.model.catalog import catalog, in_force
from railweave.model.config.addresses import Address, InterfaceAddress, Prefix
from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.model.network.model import Network
from railweave.prediction.simulation.model.fabric import packet_fabric
from railweave.systems import system, systems
from tests.conftest import SMALL, example
from tests.retarget import LONG_HAUL, retargeted

KEPT = frozenset({("schema",), ("name",), ("nos",)})
"""What tells which device it is: no text changes it."""

Step = str | int
Path = tuple[Step, ...]

HOLLOW: dict[type, Any] = {
    str: "",
    int: 0,
    float: 0.0,
    Address: Address("0.0.0.0"),  # noqa: S104 - an address that is not there
    Prefix: Prefix("0.0.0.0/0"),
    InterfaceAddress: InterfaceAddress("0.0.0.0/0"),
}
"""What stands for a value that is not there, by its type."""


@dataclass(frozen=True)
class Place:
    """A value in a configuration: the way to it, and its declared type. ``entry``: it is one of a list or a mapping."""

    path: Path
    kind: Any
    entry: bool

    @property
    def field(self) -> tuple[str, ...]:
        """The names on the way to it, without places in lists and names of entries."""
        return tuple(one for one in self.path if isinstance(one, str) and not one.startswith("\0"))

    def __str__(self) -> str:
        return ".".join(str(one).removeprefix("\0") for one in self.path)


@dataclass(frozen=True)
class Edit:
    """What was done to a value."""

    place: Place
    how: str
    value: Any

    def __str__(self) -> str:
        shown = "" if self.how == "drop" else f" to {self.value!r:.60}"
        return f"{self.how} {self.place}{shown}"


@cache
def _hints(kind: type) -> dict[str, Any]:
    return {name: _bare(hint) for name, hint in get_type_hints(kind, include_extras=True).items()}


def _bare(hint: Any) -> Any:
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return hint


def _parts(kind: Any) -> tuple[Any, bool]:
    """A type without None, and whether None is of it."""
    if get_origin(kind) in {Union, UnionType}:
        others = [_bare(one) for one in get_args(kind) if one is not NoneType]
        return others[0], NoneType in get_args(kind)
    return kind, False


def places(value: object, kind: Any, path: Path = (), *, entry: bool = False) -> Iterator[Place]:
    """Every value in a configuration, from the outside in."""
    if path in KEPT:
        return
    if path:
        yield Place(path, kind, entry)
    kind, _ = _parts(kind)
    if is_dataclass(value):
        hints = _hints(type(value))
        for one in fields(value):
            yield from places(getattr(value, one.name), hints[one.name], (*path, one.name))
    elif isinstance(value, tuple):
        arguments = get_args(kind)
        many = len(arguments) == 2 and arguments[1] is Ellipsis
        for at, one in enumerate(value):
            yield from places(one, _bare(arguments[0 if many else at]), (*path, at), entry=many)
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from places(one, _bare(get_args(kind)[1]), (*path, f"\0{name}"), entry=True)


def at(value: Any, path: Path) -> Any:
    """The value at a place."""
    for step in path:
        if isinstance(step, int):
            value = value[step]
        elif step.startswith("\0"):
            value = value[step[1:]]
        else:
            value = getattr(value, step)
    return value


def put(value: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    """The same with another value at a place; one that ``change`` makes ``GONE`` is taken out of its list or mapping."""
    if not path:
        return change(value)
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        new = put(value[step], rest, change)
        return (*value[:step], *(() if new is GONE else (new,)), *value[step + 1 :])
    if step.startswith("\0"):
        new = put(value[step[1:]], rest, change)
        made = {name: (new if name == step[1:] else one) for name, one in value.items()}
        return {name: one for name, one in made.items() if one is not GONE}
    return replace(value, **{step: put(getattr(value, step), rest, change)})


GONE = object()


class Drawn:
    """Mutants of the configurations of one network. A value is swapped with one that a device has in the same field, or of the same type."""

    def __init__(self, configs: dict[str, DeviceConfig], draw: random.Random) -> None:
        self.configs, self.draw = configs, draw
        self.fields: dict[str, dict[tuple[str, ...], list[Place]]] = {}
        self.seen: dict[tuple[str, ...], list[Any]] = {}
        self.types: dict[str, list[Any]] = {}

    def of(self, device: str) -> dict[tuple[str, ...], list[Place]]:
        """The places of a configuration by their fields. Its values are those that others are swapped with from now on."""
        if device not in self.fields:
            found = self.fields.setdefault(device, {})
            for place in places(self.configs[device], DeviceConfig):
                value, kind, field = at(self.configs[device], place.path), str(place.kind), place.field
                found.setdefault(field, []).append(place)
                self.seen.setdefault((*field, kind), []).append(value)
                self.types.setdefault(kind, []).append(value)
        return self.fields[device]

    def mutant(self, device: str) -> tuple[DeviceConfig, list[Edit]]:
        """One configuration with one to three edits."""
        config = self.configs[device]
        edits: list[Edit] = []
        for _ in range(self.draw.choice((1, 1, 1, 2, 3))):
            found = self.of(device)
            edit = self.edit(config, self.draw.choice(found[self.draw.choice(list(found))]))
            if edit is not None:
                config = put(config, edit.place.path, lambda _, edit=edit: edit.value)
                edits.append(edit)
        return config, edits

    def edit(self, config: DeviceConfig, place: Place) -> Edit | None:
        """An edit of a value, if an earlier one has left it where it was."""
        try:
            value = at(config, place.path)
        except (AttributeError, IndexError, KeyError, TypeError):
            return None
        kind, optional = _parts(place.kind)
        ways = ["swap", "empty"] + (["drop"] if optional or place.entry else [])
        how = self.draw.choice(ways)
        if how == "drop":
            new = GONE if place.entry else None
        elif how == "empty":
            new = self.hollow(value, kind)
        else:
            like = self.seen[(*place.field, str(place.kind))]
            new = self.draw.choice(like if self.draw.random() < 0.6 else self.types[str(place.kind)])
            if get_origin(kind) is Literal:
                new = self.draw.choice(get_args(kind))
        return None if new is value or (new is not GONE and new == value) else Edit(place, how, new)

    def hollow(self, value: Any, kind: Any) -> Any:
        """A value with nothing in it."""
        if isinstance(value, bool) or kind is bool:
            return not value
        if get_origin(kind) is Literal:
            return self.draw.choice(get_args(kind))
        if isinstance(value, dict) or get_origin(kind) is dict:
            return {}
        if get_origin(kind) is tuple and get_args(kind)[-1] is Ellipsis:
            return ()
        if isinstance(kind, type) and kind in HOLLOW:
            if self.draw.random() < 0.3 and kind in {Address, Prefix, InterfaceAddress}:
                return kind("::/0" if kind is not Address else "::")
            return HOLLOW[kind]
        if isinstance(kind, type) and is_dataclass(kind) and value is not None:
            hints = _hints(kind)
            return kind(**{one.name: _least(hints[one.name]) for one in fields(kind)})
        return value


def _least(kind: Any) -> Any:
    """The least value of a type."""
    kind, optional = _parts(kind)
    if optional:
        return None
    if get_origin(kind) is Literal:
        return get_args(kind)[0]
    if get_origin(kind) is dict:
        return {}
    if get_origin(kind) is tuple:
        args = get_args(kind)
        return () if args[-1] is Ellipsis else tuple(_least(_bare(one)) for one in args)
    if kind is bool:
        return False
    if kind in HOLLOW:
        return HOLLOW[kind]
    hints = _hints(kind)
    return kind(**{one.name: _least(hints[one.name]) for one in fields(kind)})


@dataclass(frozen=True)
class Crash:
    """An exception, by where it was raised, and the edits that led to it."""

    stage: str
    error: str
    where: str
    network: str
    edits: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.network}: {self.stage}: {self.error} at {self.where}: {'; '.join(self.edits)}"


SHARE = 3
"""One of so many devices of a network is mutated at once: their checks are run together."""

OF_TEXTS = 0.2
"""The share of rounds in which texts are edited, not configurations."""

MOST_LINES = 5
"""Lines that are edited in one text."""


def networks() -> Iterator[tuple[str, str]]:
    """Every example on every system that it can be designed for."""
    for nos in systems():
        for name in SMALL:
            long_haul = name == LONG_HAUL and nos not in {"junos", "sonic", "frr"}
            if not long_haul:
                yield name, nos


@cache
def designed(name: str, nos: str) -> tuple[Network, dict[str, DeviceConfig]]:
    """An example on a system, and its designed configurations."""
    network = example(name) if nos in {"junos", "frr"} else retargeted(name, nos)
    return network, {one.name: device_config(network, one.name, nos) for one in network.switches}


def crashes(number: int, seed: int) -> Iterator[Crash]:
    """The exceptions of so many mutants, each place in the code once."""
    draw = random.Random(seed)  # noqa: S311 - mutants are drawn, not secrets
    everywhere = list(networks())
    draw.shuffle(everywhere)
    mutators: dict[tuple[str, str], Drawn] = {}
    seen: set[str] = set()
    made = turn = 0
    while made < number:
        name, nos = everywhere[turn % len(everywhere)]
        turn += 1
        network, configs = designed(name, nos)
        with in_force(network.catalog):
            if (name, nos) not in mutators:
                mutators[name, nos] = Drawn(configs, draw)
            mutator = mutators[name, nos]
            chosen = draw.sample(list(configs), min(max(1, len(configs) // SHARE), number - made))
            made += len(chosen)
            label = f"{name} on {nos}"
            if draw.random() < OF_TEXTS:
                found = _of_texts(label, network, configs, chosen, draw)
            else:
                mutants = {device: mutator.mutant(device) for device in chosen}
                found = _of_network(label, network, configs, mutants, draw)
            for crash in found:
                if crash.where not in seen:
                    seen.add(crash.where)
                    yield crash


def _of_network(
    label: str,
    network: Network,
    configs: dict[str, DeviceConfig],
    mutants: dict[str, tuple[DeviceConfig, list[Edit]]],
    draw: random.Random,
) -> Iterator[Crash]:
    """Render mutants, read their texts back, and check the network with them in it."""
    read: dict[str, DeviceConfig] = {}
    for device, (config, edits) in mutants.items():
        here, shown = system(config.nos), tuple(f"{device}: {one}" for one in edits)
        stage = "render"
        try:
            files = here.files(config)
            here.gaps(config)
            stage = draw.choice(("trees", "lines", "drift", *[""] * 7))
            if stage == "trees":
                here.trees(config)
            elif stage == "lines":
                here.lines(config)
            elif stage == "drift":
                was = here.files(configs[device])
                texts = {file: was[file] for file in here.configurations(configs[device])}
                found = {file: (file, files[file]) for file in texts if file in files}
                stood = compare_device(configs[device], texts, found, why=draw.random() < 0.1)
                read |= {device: stood.config} if stood.config else {}
        except RenderError:  # on purpose: a value that the system has no form for; `verify` has a finding of it
            pass
        except Exception as error:  # noqa: BLE001 - any is what is looked for
            yield _crash(label, stage, error, shown)
    every = tuple(f"{device}: {one}" for device, (_, edits) in mutants.items() for one in edits)
    direct = {device: config for device, (config, _) in mutants.items()}
    yield from _checked(label, network, configs, read if read and draw.random() < 0.3 else direct, every, draw)


def _of_texts(
    label: str, network: Network, configs: dict[str, DeviceConfig], chosen: list[str], draw: random.Random
) -> Iterator[Crash]:
    """Edit lines of devices' texts, read them, and check the network with what they say."""
    read: dict[str, DeviceConfig] = {}
    every: list[str] = []
    for device in chosen:
        config = configs[device]
        files = system(config.nos).files(config)
        texts = {file: files[file] for file in system(config.nos).configurations(config)}
        file = draw.choice(list(texts))
        text, edits = edited(texts[file], draw)
        shown = tuple(f"{device}/{file}: {one}" for one in edits)
        every += shown
        try:
            stood = compare_device(config, texts, {file: (file, text)}, why=draw.random() < 0.2)
        except Exception as error:  # noqa: BLE001 - any is what is looked for
            yield _crash(label, "read", error, shown)
            continue
        read |= {device: stood.config} if stood.config else {}
    yield from _checked(label, network, configs, read, tuple(every), draw)


def edited(text: str, draw: random.Random) -> tuple[str, list[str]]:
    """A text with lines dropped, doubled, moved, without a word, or cut off behind one; and what was done, by line."""
    lines = text.splitlines()
    done: list[str] = []
    for _ in range(draw.randint(1, MOST_LINES)):
        if not lines:
            break
        place = draw.randrange(len(lines))
        how = draw.choice(("drop", "drop", "double", "move", "word", "word", "short", "cut"))
        line = lines[place]
        done.append(f"{how} {place + 1} `{line.strip()}`")
        if how == "drop":
            del lines[place]
        elif how == "double":
            lines.insert(place, line)
        elif how == "move":
            lines.insert(draw.randrange(len(lines)), lines.pop(place))
        elif how == "word":
            words = line.split(" ")
            del words[draw.randrange(len(words))]
            lines[place] = " ".join(words)
        elif how == "short":
            lines[place] = line[: draw.randint(0, len(line))]
        elif draw.random() < 0.2:
            del lines[place:]
    return "".join(f"{one}\n" for one in lines), done


def _checked(
    label: str,
    network: Network,
    configs: dict[str, DeviceConfig],
    changed: dict[str, DeviceConfig],
    every: tuple[str, ...],
    draw: random.Random,
) -> Iterator[Crash]:
    """Run every check on a network in which some configurations have changed, and follow queue pairs through it."""
    whole, alone = Subject(network, configs | changed), Subject(network, changed)
    for name, rule in checks().items():
        if name == "single-fault" and draw.random() > 0.02:  # it works out routes for every fault
            continue
        try:
            list(rule.run(alone if rule in LINTS else whole))
        except UnsettledError:  # on purpose: `run_checks` has a finding of it
            return
        except Exception as error:  # noqa: BLE001
            yield _crash(label, name, error, every)
    nics = [f"{server.name}:{nic.name}" for server in network.servers for nic in server.nics]
    try:
        if len(nics) > 1:
            src, dst = draw.sample(nics, 2)
            for path in queue_pair_paths(network, whole.routes, src, dst, 2):
                walk(network, whole.routes, path, src, dst, whole.configs)
        if draw.random() < 0.1:
            packet_fabric(network, whole.configs, whole.routes)
    except RailweaveError:  # on purpose: NICs that have no path to each other, or a prefix that no switch has
        pass
    except Exception as error:  # noqa: BLE001
        yield _crash(label, "paths", error, every)


def _crash(label: str, stage: str, error: Exception, edits: tuple[str, ...]) -> Crash:
    frames = [one for one in traceback.extract_tb(error.__traceback__) if "/railweave/" in one.filename]
    where = f"{frames[-1].filename.rpartition('/railweave/')[2]}:{frames[-1].lineno}" if frames else "?"
    return Crash(stage, f"{type(error).__name__} {error}", f"{where} {type(error).__name__}", label, edits)


if __name__ == "__main__":
    count = 0
    for each in crashes(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1):
        print(each, flush=True)
        count += 1
    print(f"{sys.argv[1]} mutants: {count or 'no'} exceptions; {len(catalog().systems)} systems, {len(SMALL)} examples")
    sys.exit(bool(count))
