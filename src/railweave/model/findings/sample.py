"""Which of many alike files a validator reads: one of each shape, and others evenly spaced."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

Item = TypeVar("Item")

MOST_VALIDATED = 64
"""Files that are all read; of more, one of each shape and an even sample up to this number."""


def sample(items: Sequence[Item], shape: Callable[[Item], Hashable], most: int | None = MOST_VALIDATED) -> list[Item]:
    """The items to read, in the order given; ``most`` None: all. ``shape`` is what is left without names and numbers."""
    if most is None or len(items) <= most:
        return list(items)
    shapes: dict[Hashable, int] = {}
    for place, one in enumerate(items):
        shapes.setdefault(shape(one), place)
    places = set(shapes.values())
    others = [place for place in range(len(items)) if place not in places]
    room = min(max(most - len(places), 0), len(others))
    places |= {others[number * len(others) // room] for number in range(room)}
    return [items[place] for place in sorted(places)]


def said(chosen: int, count: int, what: str) -> str:
    """What a validator says of its sample; nothing where it read all."""
    return f"; one of each shape and a sample: {chosen} of {count} {what}" if chosen < count else ""
