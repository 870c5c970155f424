"""The result of reading a device's configuration text: a ``DeviceConfig``, and the statements that railweave did or did not understand."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import BaseModel, TypeAdapter

from railweave.model.catalog import catalog
from railweave.model.config.addresses import InterfaceAddress
from railweave.model.device.balancing import BalancingConfig
from railweave.model.device.management import Management
from railweave.model.device.model import NO_LOOPBACK, DeviceConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from railweave.model.config.sections import Known


T = TypeVar("T")


class _Same:
    """A wrapper of a part of the fabric file, for use as a cache key. Two keys are equal if they wrap the same object.

    All switches of a fabric share the same objects. With the cache, each part is converted only once.
    """

    def __init__(self, given: BaseModel) -> None:
        self.given = given

    def __hash__(self) -> int:
        return id(self.given)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.given is self.given


def own_type(kind: type[T], given: BaseModel) -> T:
    """Convert ``given``, a section of the fabric file, to ``kind``, the class of the device configuration that has the same field names.

    Fields that ``kind`` lacks are dropped.
    """
    return _converted(kind, _Same(given))


@lru_cache(maxsize=1024)
def _converted(kind: type[T], part: _Same) -> T:
    return _adapter(kind).validate_python(part.given.model_dump())


@lru_cache(maxsize=64)
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(kind)


UNSAID_ADDRESS = InterfaceAddress("0.0.0.0/0")
"""The placeholder for an address that a configuration does not contain."""


def blank_config(nos: str) -> DeviceConfig:
    """Return the configuration that an empty text describes on the operating system ``nos``. Readers fill in the fields that a text states."""
    return DeviceConfig(
        name="",
        role="leaf",
        model="",
        nos=nos,
        release=catalog().systems[nos].release,
        management=Management(),
        management_address=UNSAID_ADDRESS,
        management_gateway=UNSAID_ADDRESS.address,
        loopback=NO_LOOPBACK,
        splits=(),
        interfaces=(),
        gateways=(),
        bgp=None,
        qos=None,
        balancing=BalancingConfig("ecmp", ()),
        extra="",
    )


Kind = Literal["understood", "irrelevant", "unknown"]


@dataclass(frozen=True, slots=True)
class ReadStatement:
    """One statement of a configuration text, with ``kind``: understood, irrelevant or unknown.

    - ``path``: the statement, preceded by its parent statements.
    - ``line``: the line number, from 1.
    - ``hierarchy``: the part of the configuration that holds the statement, for example ``protocols bgp``.
    """

    file: str
    line: int
    hierarchy: str
    path: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Share:
    """The numbers of understood, irrelevant and unknown statements in a part of a configuration, such as ``protocols bgp``."""

    understood: int = 0
    irrelevant: int = 0
    unknown: int = 0

    @property
    def percent(self) -> float:
        """The percentage of statements that are understood or known to be irrelevant."""
        known = self.understood + self.irrelevant
        return 100 * known / (known + self.unknown) if known or self.unknown else 100.0


@dataclass(frozen=True, slots=True)
class Reading:
    """A device's configuration, as read from its text.

    ``port_aliases`` maps the name of a port to its alternative name, which LLDP may announce.
    """

    config: DeviceConfig
    statements: tuple[ReadStatement, ...]
    port_aliases: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def not_understood(self) -> tuple[ReadStatement, ...]:
        """The statements that are neither understood nor known to be irrelevant."""
        return tuple(statement for statement in self.statements if statement.kind == "unknown")

    def shares(self) -> dict[str, Share]:
        """Return the numbers of understood, irrelevant and unknown statements, by part of the configuration, such as ``protocols bgp``."""
        counts: dict[str, dict[Kind, int]] = {}
        for statement in self.statements:
            kinds = counts.setdefault(statement.hierarchy, {"understood": 0, "irrelevant": 0, "unknown": 0})
            kinds[statement.kind] += 1
        return {name: Share(**kinds) for name, kinds in counts.items()}


def classify_statements(
    file: str, lines: Iterable[tuple[int, str, str, bool | Known]], irrelevant: Mapping[str, str]
) -> Iterator[ReadStatement]:
    """Yield each statement of ``file``, classified as understood, irrelevant or unknown.

    ``lines`` holds (line number, part of the configuration, path, result of reading). The result is True for understood,
    False for unknown, or a ``Known``. The keys of ``irrelevant`` are patterns that match from the start of a path.
    """
    patterns = tuple(irrelevant)
    for line, hierarchy, path, understood in lines:
        known: Known = "understood" if understood is True else understood or ""
        kind: Kind = known or ("irrelevant" if _any(patterns).match(path) else "unknown")
        yield ReadStatement(file, line, hierarchy, path, kind)


def is_irrelevant(nos: str) -> Callable[[str], bool]:
    """Return a function that takes the path of a statement and returns True if the statement has no effect on the network.

    The patterns for the operating system ``nos`` are in the catalog.
    """
    patterns = tuple(catalog().systems[nos].reads.irrelevant)
    return lambda path: _any(patterns).match(path) is not None


@lru_cache(maxsize=32)
def _any(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns) or r"(?!)")
