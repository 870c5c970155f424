"""Outside validators: other people's tools that read the rendered files and know what a device would refuse.

Each belongs to the system whose files it reads, runs where its tool is present and says why where it is not; none needs
root, a device or a network.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence
    from pathlib import Path

    from railweave.model.findings import Finding


Item = TypeVar("Item")

MOST_VALIDATED = 64
"""Files that are all read; of more, one of each shape and an even sample up to this number."""


def sample(items: Sequence[Item], shape: Callable[[Item], Hashable], most: int | None = MOST_VALIDATED) -> list[Item]:
    """The items to read, in the order given; ``most`` None: all. ``shape`` is what is left without names and numbers."""
    if most is None or len(items) <= most:
        return list(items)
    shapes: dict[Hashable, int] = {}
    for place, item in enumerate(items):
        shapes.setdefault(shape(item), place)
    places = set(shapes.values())
    others = [place for place in range(len(items)) if place not in places]
    room = min(max(most - len(places), 0), len(others))
    places |= {others[number * len(others) // room] for number in range(room)}
    return [items[place] for place in sorted(places)]


def sample_note(chosen: int, count: int, noun: str) -> str:
    """Return a validator's note about its sample; empty if the validator read everything."""
    return f"; one of each shape and a sample: {chosen} of {count} {noun}" if chosen < count else ""


if TYPE_CHECKING:
    Files = Mapping[str, Mapping[str, str]]
    """Device to file name to text."""


@dataclass
class ValidatorReport:
    """The result of one validator: the number of ``validated`` files, and the ``findings``.

    ``reason`` says why the validator did not run. If it ``ran``, ``reason`` gives the version of the tool and what it left out.
    """

    name: str
    ran: bool
    reason: str
    validated: int = 0
    findings: list[Finding] = field(default_factory=list["Finding"])


@dataclass(frozen=True)
class Validator:
    """One tool: the ``file`` of a device that it reads, and the option that says where the tool or its data are.

    ``run`` takes the files of all devices, that place or None, how many files to read at most (None: all), and the releases of
    devices. A validator that is not ``always`` reported is left out where no device has its file.
    """

    name: str
    file: str
    option: str
    run: Callable[[Files, Path | None, int | None, Mapping[str, str]], ValidatorReport]
    always: bool = True
