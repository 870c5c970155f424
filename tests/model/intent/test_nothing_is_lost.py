"""Every field of the fabric file is rendered for every operating system, or a finding names the field.

A field that a model gains is tried without anybody's doing: where its type does not tell another valid value the test fails
until ``asked.py`` gives one, or says why the field rightly changes nothing.
"""

from __future__ import annotations

import re
from fnmatch import fnmatch
from typing import TYPE_CHECKING, Any

import pytest

from railweave.errors import InputError
from railweave.model.intent.fabric import FabricFile
from railweave.systems import systems
from tests.model.intent.asked import CONTEXT, FABRICS, ON_SERVERS, REPORTED, Given
from tests.model.intent.leaves import Leaf, leaves
from tests.model.intent.trial import place, same_statements, trial, with_value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.model.intent.trial import Trial

ALIKE = re.compile(r"fabrics\.\*\.(leaf|spine|super_spine|dci)\.qos\.(?!buffer_monitor)")
"""Fields that are tried at one place only: a role's QoS is the fabric's, for one role."""


def _context(leaf: Leaf) -> Given:
    return next((one for pattern, one in CONTEXT.items() if fnmatch(str(leaf), pattern)), Given())


def _reason(leaf: Leaf) -> str:
    return next((why for pattern, why in REPORTED.items() if fnmatch(str(leaf), pattern)), "")


def _files(leaf: Leaf) -> Iterator[tuple[object, dict[str, Any]]]:
    """Fabric files that are alike but for the field: each value with its file, the one that it has by itself first."""
    how = _context(leaf)
    for name in [how.fabric] if how.fabric else list(FABRICS):
        raw = FABRICS[name]
        for where, value in how.beside.items():
            raw = with_value(raw, _keys(where), value)
        at = place(raw, leaf.path)
        if at is None:
            continue
        now = _now(raw, at) if how.now is None else how.now
        # Of few words the first is written too, for what is there by itself asks for nothing.
        yield now, with_value(raw, at, now) if isinstance(now, bool) or leaf.chooses() or how.now is not None else raw
        for value in how.values or leaf.others(now):
            changed = with_value(raw, at, value)
            for where, other in how.along.items():
                changed = with_value(changed, _keys(where), other)
            yield value, changed
        return


def _keys(where: str) -> list[str | int]:
    return [int(one) if one.isdigit() else one for one in where.split(".")]


def _now(raw: dict[str, Any], at: list[str | int]) -> object:
    value: Any = FabricFile.model_validate(raw)
    for word in at:
        value = value[word] if isinstance(value, dict | tuple) else getattr(value, str(word), None)
    return value


def _named(leaf: Leaf, found: Trial) -> bool:
    """Whether a finding names a field, or a part of the file that the field is in, in backticks."""
    words = {word for word in leaf.path if word not in {"*", "fabrics"}}
    for finding in found.findings:
        for token in re.findall(r"`([^`]+)`", f"{finding.what} {finding.why}"):
            path = token.split(":")[0].split(".")
            if {path[0], path[-1]} <= words:
                return True
    return False


def lost(leaf: Leaf, nos: str) -> list[str]:
    """Values of a field that come to the same on an operating system, with nobody saying so."""
    how = _context(leaf)
    found: list[str] = []
    seen: list[tuple[object, Trial]] = []
    refused = False
    for value, raw in _files(leaf):
        try:
            here = trial(raw, nos)
        except InputError as error:
            if nos == "junos" or not _accepted(raw, "junos"):  # else the refusal is what says so
                found.append(f"{leaf} = {value!r} is refused on {nos}: {error}")
            refused = True
            continue
        like = next(((other, there) for other, there in seen if _same(leaf, there, here)), None)
        if like and str(value) not in how.equal and not any(_named(leaf, one) for one in (here, like[1], seen[0][1])):
            found.append(f"{leaf} = {value!r} comes to the same as {like[0]!r} on {nos}, without a finding")
        seen.append((value, here))
    if len(seen) < 2 and not refused:
        found.append(f"{leaf} has no other value: give one in asked.py, or say there why it changes nothing")
    return found


def _accepted(raw: dict[str, Any], nos: str) -> bool:
    try:
        trial(raw, nos)
    except InputError:
        return False
    return True


def _same(leaf: Leaf, one: Trial, other: Trial) -> bool:
    """Whether what a field decides is alike: statements of switches, or files of servers."""
    if any(fnmatch(str(leaf), pattern) for pattern in ON_SERVERS):
        return one.servers == other.servers
    if leaf.path[2:3] == ("emulation",):
        return same_statements(one.emulated, other.emulated)
    return same_statements(one.configs, other.configs)


def _tried(nos: str) -> list[Leaf]:
    once = [one for one in leaves() if not ALIKE.match(str(one)) and not _reason(one)]
    return [one for one in once if nos in (_systems(one) or systems())]


def _systems(leaf: Leaf) -> tuple[str, ...]:
    """Where a field is tried on some systems only; what is the servers' is the same on all."""
    if any(fnmatch(str(leaf), pattern) for pattern in ON_SERVERS):
        return ("junos",)
    return _context(leaf).systems


@pytest.mark.slow
@pytest.mark.parametrize("nos", systems())
def test_what_is_asked_is_rendered_or_named(nos: str) -> None:
    assert [line for leaf in _tried(nos) for line in lost(leaf, nos)] == []


def test_what_changes_nothing_is_still_a_field() -> None:
    known = [str(one) for one in leaves()]
    for table in (CONTEXT, REPORTED, dict.fromkeys(ON_SERVERS)):
        assert [pattern for pattern in table if not any(fnmatch(one, pattern) for one in known)] == []
