"""The names that a target accepts. A design whose names a target would refuse, or would confuse, is refused before anything is written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.errors import InputError, NetworkPart, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class NameRule:
    """The names that one kind of object may have in a target.

    - ``kind``: the object, for example ``a Slurm node``.
    - ``pattern``: a regular expression for the whole name, and ``form`` the same in words.
    - ``longest``: the largest number of characters.
    - ``source``: the document that states the rule.
    """

    kind: str
    pattern: str
    form: str
    longest: int
    source: str

    def problem(self, name: str) -> str:
        """Return what is wrong with a name, or an empty string if it is valid."""
        if len(name) > self.longest:
            return f"the name has {len(name)} characters, but {self.kind} has at most {self.longest} ({self.source})"
        if re.fullmatch(self.pattern, name) is None:
            return f"the name of {self.kind} has {self.form} ({self.source})"
        return ""


def check_names(rule: NameRule, names: Iterable[str]) -> None:
    """Check names against a rule. Raises ``InputError`` with every name that breaks it."""
    problems = [(name, problem) for name in names if (problem := rule.problem(name))]
    if problems:
        fix = "change the name in the fabric file (`naming:` or `servers:`)"
        raise InputError([Problem(NetworkPart(name), problem, fix) for name, problem in problems])


def check_distinct(kind: str, names: Mapping[str, str]) -> None:
    """Check that no two names become the same in a target. ``names`` maps each name to its form in the target.

    Raises ``InputError`` with every pair of names that cannot be distinguished.
    """
    first: dict[str, str] = {}
    problems: list[Problem] = []
    for name, written in names.items():
        other = first.setdefault(written, name)
        if other != name:
            problems.append(
                Problem(
                    NetworkPart(name),
                    f"{kind} would have the same name as {other}: {written}",
                    "change one of the names",
                )
            )
    if problems:
        raise InputError(problems)
