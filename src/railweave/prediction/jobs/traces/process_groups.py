"""Which ranks form a process group: from the file that stands beside a trace, or from nodes of PyTorch in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from railweave.errors import FileLine, Problem, SpecError
from railweave.reading import parse_json, read_json

if TYPE_CHECKING:
    from pathlib import Path

EVERYBODY = ""
"""The name of the group of all ranks, which collectives without a group are in."""


class ProcessGroups:
    """The groups of a trace while it is read: their names, and the ranks of each."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.members: list[tuple[int, ...]] = []
        self._named: dict[str, int] = {}
        self.add(EVERYBODY, tuple(range(ranks)))

    def add(self, name: str, members: tuple[int, ...]) -> int:
        """Add a group; one of the same name is replaced. Gives its place. Groups of other names are others, though their ranks are the same."""
        if name in self._named:
            self.members[self._named[name]] = members
        else:
            self._named[name] = len(self.members)
            self.members.append(members)
        return self._named[name]

    def place(self, name: str) -> int | None:
        """The place of a group."""
        return self._named.get(name)

    def read(self, path: Path) -> None:
        """Add the groups of a JSON file, ``{"NAME": [RANK, ...], ...}`` as ASTRA-sim has it. Raises ``SpecError``."""
        value: Any = read_json(path, fix='it is {"NAME": [RANK, ...], ...}')
        if not isinstance(value, dict):
            raise SpecError([Problem(FileLine(str(path)), "no groups of ranks", 'it is {"NAME": [RANK, ...], ...}')])
        for name, given in cast("dict[str, Any]", value).items():
            members = self._checked(given)
            if isinstance(members, str):
                raise SpecError([Problem(FileLine(str(path)), f"group {name[:60]!r}: {members}")])
            self.add(name, members)

    def of_pytorch(self, text: str) -> str | None:
        """Add the groups that a node of PyTorch's process groups names in its inputs; gives what is wrong with it, None where nothing is."""
        inner = text[2:-2] if text[:2] in {"['", '["'} else text
        try:
            value: Any = parse_json(inner)
        except ValueError as error:
            return f"process groups that are no JSON: {error}"
        for one in cast("list[Any]", value) if isinstance(value, list) else []:
            if not isinstance(one, dict) or not isinstance(one.get("pg_name"), str):  # pyright: ignore[reportUnknownMemberType]
                return "a process group without a name"
            given = cast("dict[str, Any]", one)
            members = self._checked(given.get("ranks") or list(range(self.ranks)))
            if isinstance(members, str):
                return f"process group {given['pg_name'][:60]!r}: {members}"
            self.add(given["pg_name"], members)
        return None

    def _checked(self, given: Any) -> tuple[int, ...] | str:  # noqa: ANN401 - JSON
        """Ranks of a group, or what is wrong with them."""
        members = cast("list[Any]", given) if isinstance(given, list) else []
        if not members or not all(type(one) is int for one in members):
            return "it is no list of ranks"
        if len(set(members)) < len(members):
            return "a rank is in it twice"
        if beyond := [one for one in members if not 0 <= one < self.ranks]:
            return f"rank {beyond[0]} is in it; the trace has {self.ranks} ranks, from 0"
        return tuple(members)
