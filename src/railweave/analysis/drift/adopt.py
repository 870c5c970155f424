"""Adoption of statements that devices have and the design lacks: railweave writes them into the fabric file.

They are written under ``extra:`` of a role, or under ``overrides``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from railweave.errors import FileLine, InputError, Problem, RenderError
from railweave.model.config.apply import merged
from railweave.model.config.gate import named
from railweave.model.intent.base import expand
from railweave.reading import compose_yaml, file_text
from railweave.systems import system
from railweave.writing import write_file

if TYPE_CHECKING:
    from pathlib import Path

    from railweave.analysis.drift.drift import Drift
    from railweave.model.config.tree import Node
    from railweave.model.network.model import Network

_KEYS = {"leaf": "leaf", "spine": "spine", "super-spine": "super_spine", "dci": "dci"}
"""The key of each switch role in the section of a fabric in the fabric file."""


def adopt_into(file: Path, network: Network, drift: Drift) -> list[str]:
    """Write statements that switches have and the design lacks into the fabric file. Return messages on what was adopted or rejected.

    ``drift`` holds the differences from the design. A statement that all switches of a role have goes under ``extra`` of the role,
    any other statement under ``overrides.devices`` of each switch. The design ignores the role's ``extra`` on a switch with its own
    ``extra``. If a switch would need both, nothing is adopted for that switch.

    The file keeps its comments and its order. Either all statements are written or none. Raises ``InputError`` if ``file`` is a build
    folder, or if the statements cannot be added under ``extra:``.
    """
    if not file.is_file():
        fix = "name the fabric file that it was built from"
        raise InputError([Problem(FileLine(str(file)), "--adopt writes a fabric file", fix)])
    messages: list[str] = []
    wanted: dict[tuple[tuple[str, ...], str, str], list[Node]] = {}
    text = file_text(file)
    bound, lists = _lose_an_extra(network, drift), _in_lists(text)
    for (nos, statement), devices in drift.own_statements.items():
        shown = named(statement)
        cause = next(
            candidate for device in drift.devices for candidate in device.own_statements if candidate.found == statement
        )
        for fabric, role in sorted({(network.switch(name).fabric, network.switch(name).role) for name in devices}):
            all_of = _alike(network, fabric, role, nos)
            if cause.alone is None:
                continue
            if not all_of:  # a lab runs another system in the place of the role's
                messages.append(f"not adopted: {shown}: no {role} of fabric {fabric} runs {nos} by design")
                continue
            if all_of <= set(devices):
                wanted.setdefault((("fabrics", fabric, _KEYS[role]), nos, cause.file), []).append(cause.alone)
                for name in sorted(name for name in all_of if nos in dict(network.switch(name).extra)):
                    wanted.setdefault((("overrides", "devices", name), nos, cause.file), []).append(cause.alone)
                messages.append(f"{shown} (extra of {role} in fabric {fabric})")
                continue
            for name in sorted(all_of & set(devices)):
                if name in bound:
                    lost = f"its role has `extra` for {nos}, which it would lose"
                    messages.append(f"not adopted: {shown} of {name}: {lost}")
                elif name in lists:
                    messages.append(f"not adopted: {shown} of {name}, which `overrides` has in the list {lists[name]}")
                else:
                    wanted.setdefault((("overrides", "devices", name), nos, cause.file), []).append(cause.alone)
                    messages.append(f"{shown} (extra of {name})")
    if wanted:
        for (keys, nos, name), nodes in wanted.items():
            reader = system(nos).reader
            if reader is not None:
                lines = named(reader.printed(name, merged(nodes))).strip("\n").split("\n")
                text = with_extra(text, str(file), keys, nos, lines)
        write_file(file, text)
    return messages


def _lose_an_extra(network: Network, drift: Drift) -> set[str]:
    """Return the switches that have an ``extra`` from their role and would lose it if adopting ``drift`` gave them their own ``extra``."""
    roles = {
        (switch.fabric, switch.role, switch.nos)
        for switch in network.switches
        if switch.nos in network.fabric(switch.fabric).role(switch.role).extra
    }
    for (nos, _), devices in drift.own_statements.items():
        for fabric, role in {(network.switch(name).fabric, network.switch(name).role) for name in devices}:
            alike = _alike(network, fabric, role, nos)
            if alike and alike <= set(devices):
                roles.add((fabric, role, nos))
    there = {switch.name for switch in network.switches if switch.nos in dict(switch.extra)}
    return {switch.name for switch in network.switches if (switch.fabric, switch.role, switch.nos) in roles} - there


def _alike(network: Network, fabric: str, role: str, nos: str) -> set[str]:
    """Return the names of a fabric's switches with the given role and operating system (``nos``)."""
    return {
        switch.name for switch in network.switches if (switch.fabric, switch.role, switch.nos) == (fabric, role, nos)
    }


def _in_lists(text: str) -> dict[str, str]:
    """Return the switches that ``overrides.devices`` lists only in a host list such as ``leaf[1-4]``, each with this host list."""
    overrides = _value(_value(compose_yaml(text, ""), "overrides"), "devices")
    keys = [key.value for key, _ in overrides.value] if isinstance(overrides, yaml.MappingNode) else []
    return {name: key for key in keys for name in expand(key) if name != key}


def with_extra(text: str, file: str, keys: tuple[str, ...], nos: str, lines: list[str]) -> str:
    """Return the text of a fabric file with ``lines`` added under ``extra:``, for the operating system ``nos``.

    ``keys`` is the key path of a role or switch in the file. Raises ``InputError`` if the lines cannot be added.
    """
    at = compose_yaml(text, "")
    wanted = [*keys, "extra", nos]
    while wanted and (inner := _value(at, wanted[0])) is not None:
        at = inner
        wanted.pop(0)
    rows = text.splitlines()
    if isinstance(at, yaml.ScalarNode) and not wanted and at.style == "|":
        return _in_block(rows, at, file, nos, lines)
    if not isinstance(at, yaml.MappingNode) or at.flow_style or not wanted:
        line = 1 if at is None else at.start_mark.line + 1
        fix = "write it over several lines, `extra:` of a system as a block (`junos: |`), and adopt again"
        raise InputError([Problem(FileLine(file, line), "nothing can be added to what stands here in one line", fix)])
    column = at.start_mark.column
    end = _end(rows, at.start_mark.line, column)
    made = [
        f"{' ' * (column + 2 * depth)}{key}:{' |' if depth == len(wanted) - 1 else ''}"
        for depth, key in enumerate(wanted)
    ]
    indent = " " * (column + 2 * len(wanted))
    return "\n".join([*rows[:end], *made, *(indent + line for line in lines), *rows[end:]]) + "\n"


def _in_block(rows: list[str], at: yaml.ScalarNode, file: str, nos: str, lines: list[str]) -> str:
    """Return the text of the fabric file with ``lines`` added at the end of the block ``at`` of an existing ``extra:``.

    ``rows`` are the lines of the file. Raises ``InputError`` if the new lines do not fit the syntax of the block.
    """
    first = at.start_mark.line + 1
    try:
        system(nos).check_extra("\n".join([at.value.rstrip("\n"), *lines]))
    except RenderError as error:
        message = f"the statements that stand here and the new ones are not of one form: {error.what}"
        fix = "write them all as the switch prints them, and adopt again"
        raise InputError([Problem(FileLine(file, first), message, fix)]) from None
    indent = len(rows[first]) - len(rows[first].lstrip())
    end = _end(rows, first, indent)
    return "\n".join([*rows[:end], *(" " * indent + line for line in lines), *rows[end:]]) + "\n"


def _end(rows: list[str], start: int, column: int) -> int:
    """Return the index after the last row of a YAML block. The block begins at row ``start`` and is indented by at least ``column``."""
    end = start + 1
    for place in range(start + 1, len(rows)):
        row = rows[place]
        if row.strip() and not row.lstrip().startswith("#"):
            if len(row) - len(row.lstrip()) < column:
                break
            end = place + 1
    return end


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)
