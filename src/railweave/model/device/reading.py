"""The result of reading a device's configuration text: a ``DeviceConfig``, and each statement that was not understood."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import BaseModel, TypeAdapter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from railweave.model.device.model import DeviceConfig


T = TypeVar("T")


class _Same:
    """A part of the fabric file, told from others by which object it is: all switches of a fabric have the same."""

    def __init__(self, given: BaseModel) -> None:
        self.given = given

    def __hash__(self) -> int:
        return id(self.given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.given is self.given


def own_type(kind: type[T], given: BaseModel) -> T:
    """A part of the fabric file as the type of a device whose fields have the same names; others are left."""
    return _converted(kind, _Same(given))


@lru_cache(maxsize=1024)
def _converted(kind: type[T], part: _Same) -> T:
    return _adapter(kind).validate_python(part.given.model_dump())


@lru_cache(maxsize=64)
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(kind)


Kind = Literal["understood", "irrelevant", "unknown"]


@dataclass(frozen=True, slots=True)
class ReadStatement:
    """A statement of a text and how it was read.

    ``path`` begins with the statements above this one; ``line`` is 1-based. ``hierarchy`` is the part of the configuration that the
    statement belongs to, in the system's own words.
    """

    file: str
    line: int
    hierarchy: str
    path: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Share:
    """The numbers of statements in part of a configuration that were understood, change nothing that matters, or are unknown."""

    understood: int = 0
    irrelevant: int = 0
    unknown: int = 0

    @property
    def percent(self) -> float:
        """The percentage of all statements that are understood or known not to matter."""
        known = self.understood + self.irrelevant
        return 100 * known / (known + self.unknown) if known or self.unknown else 100.0


@dataclass(frozen=True, slots=True)
class Reading:
    """A device's configuration as its text has it. Fields that the system has no words for are empty or guessed (``unsaid``).

    ``port_aliases`` are second names of ports, by which LLDP announces them.
    """

    config: DeviceConfig
    statements: tuple[ReadStatement, ...]
    port_aliases: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def not_understood(self) -> tuple[ReadStatement, ...]:
        """Statements that are neither understood nor known not to matter."""
        return tuple(statement for statement in self.statements if statement.kind == "unknown")

    def shares(self) -> dict[str, Share]:
        """Of each part of the configuration, how much was understood."""
        counts: dict[str, dict[Kind, int]] = {}
        for statement in self.statements:
            kinds = counts.setdefault(statement.hierarchy, {"understood": 0, "irrelevant": 0, "unknown": 0})
            kinds[statement.kind] += 1
        return {name: Share(**kinds) for name, kinds in counts.items()}


def classify_statements(
    file: str, lines: Iterable[tuple[int, str, str, bool]], irrelevant: Mapping[str, str]
) -> Iterator[ReadStatement]:
    """Statements as (line, hierarchy, path, understood) with what became of them; patterns begin at the start of a path."""
    patterns = tuple(irrelevant)
    for line, hierarchy, path, understood in lines:
        kind: Kind = "understood" if understood else "irrelevant" if _any(patterns).match(path) else "unknown"
        yield ReadStatement(file, line, hierarchy, path, kind)


@lru_cache(maxsize=32)
def _any(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns) or r"(?!)")
