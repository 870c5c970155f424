"""The statement tables of EOS, and that of LLDP with its meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.model.config.statements import Statements, line
from railweave.model.device.management import Management

if TYPE_CHECKING:
    from railweave.model.config.sections import Section, SectionReader


@dataclass(frozen=True, slots=True)
class Lldp:
    """The settings of LLDP, by the names of ``Management``."""

    lldp: bool = True


MANUAL = "EOS user manual, LLDP"
LLDP = Statements(Lldp, (line("no lldp run", MANUAL, sets={"lldp": False}),), disrupts=())
"""LLDP, without the management address that it sends."""


def lldp_lines(management: Management) -> list[Section]:
    """Return the lines of LLDP, without those of the management address."""
    return LLDP.printed(Lldp(**Management.lldp_of(management)))


def read_lldp(taking: SectionReader) -> dict[str, Any]:
    """Return the settings of LLDP by their names in ``Management``."""
    return Management.lldp_of(LLDP.read(taking.sections, taking))
