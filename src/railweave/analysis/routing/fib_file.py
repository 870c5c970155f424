"""Forwarding tables as a file, for ``railweave sim --fib``: the routes that routers have installed.

::

    {
        "format": "railweave-fib-1",
        "groups": [["stripe1-leaf1:et-0/0/0:0--spine1:et-0/0/0:0"]],
        "devices": {"stripe1-leaf1": {"fc00:2:1:1::/64": 0, "fc00:1:1:1::/64": "local"}},
    }

A group is a next-hop group: the names of its links, all of equal weight. The two ends of a link may be in either order. A
device has, for each prefix, the index of its group, or ``local`` if the prefix is on the device itself. Prefixes that the
device cannot reach are left out. Every switch of the network is in the file; a switch that is down has an empty table.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from railweave.analysis.routing.forwarding import Groups
from railweave.analysis.routing.table import LOCAL, UNREACHABLE, Fib, ReceivedPrefixes, Routes
from railweave.errors import FileLine, InputError, Problem
from railweave.reading import read_json
from railweave.writing import write_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from railweave.model.network.model import Network

FORMAT = "railweave-fib-1"
IS_LOCAL = "local"


def write_fibs(routes: Routes, path: Path) -> None:
    """Write the forwarding tables of all devices. The same routes always give the same file.

    Raises ``OutputError`` if the file cannot be written.
    """
    groups: dict[tuple[str, ...], int] = {}
    devices: dict[str, dict[str, int | str]] = {}
    for name in sorted(routes.fibs):
        table = devices[name] = {}
        for prefix, group in zip(routes.prefixes, cast("list[int]", routes.fibs[name].group.tolist()), strict=True):
            if group == LOCAL:
                table[prefix] = IS_LOCAL
            elif group != UNREACHABLE:
                table[prefix] = groups.setdefault(routes.groups[group], len(groups))
    value = {"format": FORMAT, "groups": [list(group) for group in groups], "devices": devices}
    write_file(path, json.dumps(value, indent=1) + "\n")


def read_fibs(path: Path, network: Network, prefixes: Sequence[str]) -> Routes:
    """Read the forwarding tables in a file, for the given prefixes. Other prefixes in the file, such as loopbacks, are ignored.

    Raises ``InputError`` with all problems if the file is not in the format of this module, or if it does not match the network.
    """
    try:
        value = read_json(path, fix="docs/predict.md has the form")
    except FileNotFoundError:
        raise InputError([Problem(FileLine(str(path)), "no such file", "name a file of forwarding tables")]) from None
    problems: list[Problem] = []
    if not _has_form(value):
        fix = f'write {{"format": "{FORMAT}", "groups": [[link, …], …], "devices": {{name: {{prefix: group}}}}}}'
        raise InputError([Problem(FileLine(str(path)), f"not a file of the form {FORMAT}", fix)])
    known = {cable.name: cable.name for cable in network.cables}
    known |= {"--".join(reversed(name.split("--"))): name for name in known}
    groups = Groups()
    ids: list[int] = []
    for place, links in enumerate(value["groups"]):
        unknown = next((link for link in links if link not in known), None)
        if unknown is not None or not links:
            message = f"groups[{place}]: " + (f"there is no link {unknown!r}" if links else "it has no link")
            problems.append(Problem(FileLine(str(path)), message, "links are leaf:port--spine:port, as in cabling.csv"))
        ids.append(groups.id_of(tuple(dict.fromkeys(str(known.get(link)) for link in links))))
    index = {prefix: place for place, prefix in enumerate(prefixes)}
    fibs: dict[str, Fib] = {}
    for switch in network.switches:
        table = value["devices"].get(switch.name)
        if table is None:
            fix = "give every switch; one that is down has {}"
            problems.append(Problem(FileLine(str(path)), f"devices: {switch.name} is missing", fix))
            continue
        mine = {cable.name for cable in network.cables_of(switch.name)}
        group = np.full(len(index), UNREACHABLE, np.int32)
        for prefix, entry in table.items():
            place = index.get(prefix)
            message = _wrong(entry, ids, groups, mine)
            if message:
                problems.append(Problem(FileLine(str(path)), f"devices.{switch.name}.{prefix}: {message}", ""))
            elif place is not None:
                group[place] = LOCAL if entry == IS_LOCAL else ids[entry]
        none = np.full(len(index), UNREACHABLE, np.int32)
        fibs[switch.name] = Fib(switch.name, group, none, np.zeros(len(index), np.uint8))
    if problems:
        raise InputError(problems)
    return Routes(list(prefixes), index, fibs, groups.members, frozenset(), ReceivedPrefixes({}, tuple, lambda _: None))


def _wrong(entry: Any, ids: list[int], groups: Groups, mine: set[str]) -> str:  # noqa: ANN401 - JSON values
    if entry == IS_LOCAL:
        return ""
    if not isinstance(entry, int) or isinstance(entry, bool) or not 0 <= entry < len(ids):
        return f"{entry!r} is neither a group's place nor {IS_LOCAL!r}"
    foreign = next((link for link in groups.members[ids[entry]] if link not in mine), None)
    return "" if foreign is None else f"{foreign} is not a link of its own"


def _has_form(value: Any) -> bool:  # noqa: ANN401 - JSON values
    if not isinstance(value, dict):
        return False
    value = cast("dict[str, Any]", value)
    groups, devices = value.get("groups"), value.get("devices")
    return (
        value.get("format") == FORMAT
        and isinstance(groups, list)
        and all(isinstance(group, list) for group in cast("list[Any]", groups))
        and all(isinstance(link, str) for group in cast("list[list[Any]]", groups) for link in group)
        and isinstance(devices, dict)
        and all(isinstance(table, dict) for table in cast("dict[str, Any]", devices).values())
    )
