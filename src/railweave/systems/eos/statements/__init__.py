"""The tables that describe each statement of EOS once, for writing and reading, and the table of LLDP with its conversion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.model.config.codecs import number
from railweave.model.config.statements import Statements, line
from railweave.model.device.management import Management

if TYPE_CHECKING:
    from railweave.model.config.sections import Section, SectionReader


@dataclass(frozen=True, slots=True)
class Lldp:
    """The settings of LLDP.

    - ``lldp``: True if LLDP runs.
    - ``lldp_interval``: the time in seconds between messages; None means EOS's default.
    - ``hold_time``: the time in seconds for which neighbors keep the content of a message.
    """

    lldp: bool = True
    lldp_interval: int | None = None
    hold_time: int | None = None

    @property
    def lldp_hold(self) -> int | None:
        """The hold time as a number of intervals, or None if it is not a whole number of intervals."""
        intervals, rest = divmod(self.hold_time or 0, self.lldp_interval or INTERVAL)
        return intervals if intervals and not rest else None


MANUAL = "EOS user manual, LLDP"
INTERVAL = 30
"""The default time in seconds between LLDP messages."""
LLDP = Statements(
    Lldp,
    (
        line("lldp timer <lldp_interval>", f"{MANUAL}, lldp timer", lldp_interval=number(5, 32768)),
        line("lldp hold-time <hold_time>", f"{MANUAL}, lldp hold-time", hold_time=number(10, 65535)),
        line("no lldp run", MANUAL, sets={"lldp": False}),
    ),
    disrupts=(),
)
"""The statements about LLDP, except the management address that LLDP sends."""


def lldp_lines(management: Management) -> list[Section]:
    """Return the lines about LLDP, except the line of the management address."""
    interval, hold = management.lldp_interval, management.lldp_hold
    return LLDP.printed(Lldp(management.lldp, interval, hold * (interval or INTERVAL) if hold else None))


def read_lldp(reader: SectionReader) -> dict[str, Any]:
    """Return the settings of LLDP, by their names in ``Management``. ``reader`` has the lines of the configuration."""
    lldp = LLDP.read(reader.sections, reader)
    if lldp.lldp_hold is None:
        for statement in reader.each("lldp hold-time *"):
            reader.mark_unknown(statement)
    return Management.lldp_of(lldp)
