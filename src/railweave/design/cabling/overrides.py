"""``overrides.cables``: which cable each is about, and that each finds its cable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railweave.design.context import Context
    from railweave.model.intent.overrides import CableOverride
    from railweave.model.intent.reading.document import Location


@dataclass(frozen=True, slots=True)
class Fixed:
    """What is fixed about a cable, and where in the fabric file."""

    at: Location
    override: CableOverride


class CableOverrides:
    """The overrides of cables that have not found their cable yet."""

    def __init__(self, context: Context) -> None:
        self._left: dict[tuple[str, str, int], Fixed] = {}
        for index, override in enumerate(context.source.spec.overrides.cables):
            a, b = override.between
            at = ("overrides", "cables", index)
            first = self._left.setdefault((a, b, override.link), Fixed(at, override))
            if first.at != at:
                context.problem(
                    at,
                    f"duplicate override of cable {override.link} between {a} and {b}",
                    f"it is first given on line {context.source.document.line(first.at)}",
                )
        context.check()

    def take(self, a: str, b: str, link: int = 1) -> Fixed | None:
        """What is fixed about a cable, if anything; each override is given out once."""
        return self._left.pop((a, b, link), None) if self._left else None

    def check_all_taken(self, context: Context) -> None:
        """Note every override of a cable that there is not."""
        for (a, b, link), fixed in self._left.items():
            context.problem(
                fixed.at,
                f"there is no cable {link} between {a} and {b}",
                "name the ends as [SERVER:NIC, LEAF] or [LEAF, SPINE]",
            )
        context.check()
