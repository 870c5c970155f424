"""The external validators: third-party tools that read the rendered files and detect errors that a device would reject.

Each validator belongs to the system whose files it reads. If its tool is missing, the validator reports why it did not run.
No validator needs root access, a device or a network.
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
"""The largest number of files that a validator reads without sampling.

If there are more files, it reads a sample of this size: one file of each structure, and a selection spread evenly over
the other files.
"""


def sample(items: Sequence[Item], shape: Callable[[Item], Hashable], most: int | None = MOST_VALIDATED) -> list[Item]:
    """Return the items to validate, in their original order: all, or a sample of ``most``. If ``most`` is None, return all.

    A sample has one item of each structure, even if there are more structures than ``most``. The rest of the sample is spread evenly over
    the remaining items. ``shape`` returns an item's structure without names and numbers.
    """
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
    """Return the end of a validator's note, which states that it read ``chosen`` of ``count`` files; empty if it read all.

    ``noun`` is the word for the files in the note.
    """
    return f"; one of each shape and a sample: {chosen} of {count} {noun}" if chosen < count else ""


if TYPE_CHECKING:
    Files = Mapping[str, Mapping[str, str]]
    """The files of each device: a map of device name to file name to text."""


@dataclass
class ValidatorReport:
    """The result of a validator: the number of ``validated`` files, and the ``findings`` about them.

    If the validator did not run, ``reason`` says why. If it ran, ``reason`` gives the tool's version and the files left
    out.
    """

    name: str
    ran: bool
    reason: str
    validated: int = 0
    findings: list[Finding] = field(default_factory=list["Finding"])


@dataclass(frozen=True)
class Validator:
    """A validator of rendered files.

    - ``file``: the file of a device that the validator reads.
    - ``option``: the option that gives the location of the tool or its data.
    - ``run``: the function that validates. Its arguments are the files of all devices, the value of the option or None,
      the largest number of files to read (None: all), and the releases of the devices.
    - ``always``: False to leave the validator out of the report if no device has its file.
    """

    name: str
    file: str
    option: str
    run: Callable[[Files, Path | None, int | None, Mapping[str, str]], ValidatorReport]
    always: bool = True
