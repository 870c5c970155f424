"""The state of a network by what was compared of it: a device that was not heard of is not known, and then the whole is not either."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from railweave.counting import counted

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from railweave.operations.watch.anomalies import Anomaly

Word = Literal["as designed", "not as designed", "not known"]
SHOWN = 3
"""Devices that a line names before it only counts them."""


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of the whole network. ``not_known`` are the devices that were not compared with the design at the last look."""

    state: Word
    devices: int
    errors: int
    warnings: int
    not_known: tuple[str, ...]

    def to_json(self) -> dict[str, object]:
        """The standing as the documented JSON object."""
        return asdict(self)

    def __str__(self) -> str:
        said = f"{self.state}: {self.devices - len(self.not_known)} of {counted(self.devices, 'device')} compared"
        if self.not_known:
            more = len(self.not_known) - SHOWN
            said += f", not {', '.join(self.not_known[:SHOWN])}" + (f" and {more} more" if more > 0 else "")
        return said


def standing(expected: Collection[str], compared: Collection[str], anomalies: Iterable[Anomaly]) -> Standing:
    """The standing of a network. ``expected`` are all devices that have to be compared, ``compared`` those that were."""
    severities = [one.finding.severity for one in anomalies]
    errors, warnings = severities.count("error"), severities.count("warning")
    not_known = tuple(one for one in expected if one not in compared)
    state: Word = "not as designed" if errors or warnings else "not known" if not_known else "as designed"
    return Standing(state, len(expected), errors, warnings, not_known)
