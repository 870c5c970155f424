"""Rows and fields that not every SONiC release supports, and findings about those that a device's release lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from railweave.model.catalog import catalog
from railweave.systems.sonic.branches import FRR, MASTER, NEWEST, NUMBERED, OLDEST, branch, known, newer
from railweave.systems.sonic.meaning.management import system_of
from railweave.systems.sonic.meaning.vlans import vlans_of
from railweave.systems.sonic.render import rules
from railweave.systems.sonic.statements.management import SYSTEM
from railweave.systems.sonic.statements.vlans import VLANS
from railweave.systems.sonic.tables import Tables, of_sections, to_section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from railweave.model.config.statements import Statements
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding


_TRIED_FRR = (10, 3)
"""The oldest FRRouting release that was tried with rendered files (docs/folder.md#outside-validators)."""

LOST = {
    "BANNER_MESSAGE": "who logs in sees no `banner`",
    "DNS_OPTIONS": "the switch asks for names without its `domain`",
    "FLEX_COUNTER_TABLE": "marks of ECN are not counted queue by queue",
    "GNMI": "gNMI listens in every VRF, ports of servers and of the fabric included; where `control_plane` is given it is limited by source",
    "SAG": rules.NO_ANYCAST.fault,
    "SERIAL_CONSOLE": "an idle console session is not ended (`login.idle`)",
    "SSH_SERVER": "an idle SSH session is not ended (`login.idle`)",
    "VLAN_INTERFACE": rules.NO_ANYCAST.fault,
}
"""By table: the effect that is lost if an older release lacks the table or its newest field."""

_GRAVE = {"GNMI": rules.RELEASE_LACKS, "SAG": rules.NO_ANYCAST, "VLAN_INTERFACE": rules.NO_ANYCAST}


_TABLES: dict[Statements[Any], Callable[[DeviceConfig], Any]] = {SYSTEM: system_of, VLANS: vlans_of}


def designed(config: DeviceConfig) -> Tables:
    """Return the tables of a design for the newest release.

    Tables of ports and of their QoS are left out, because every release supports them.
    """
    return of_sections(section for table, value_of in _TABLES.items() for section in table.printed(value_of(config)))


def lacking(tables: Tables, on: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows and fields that the branch ``on`` does not have, as (table, row, field, first branch that has it).

    The field is empty if the branch lacks the whole row.
    """
    late = {first for first in (*NUMBERED, MASTER) if newer(first, on)}
    for table, row, fields in ((name, row, fields) for name in LOST for row, fields in tables.get(name, {}).items()):
        section = to_section(table, row, fields)
        for path, first in (lacked for statements in _TABLES for lacked in statements.since([section], late)):
            yield table, row, path.partition(" / ")[2].partition(" ")[0], first


def keep(tables: Tables, on: str) -> None:
    """Remove from ``tables`` the rows and fields that the branch ``on`` does not support."""
    for table, row, field, _ in list(lacking(tables, on)):
        if field:
            tables[table][row].pop(field, None)
        else:
            tables[table].pop(row, None)
            if not tables[table]:
                del tables[table]


def gaps(config: DeviceConfig) -> Iterator[Finding]:
    """Yield a finding for each table or field that the release lacks, and one if the release does not support the switch's platform."""
    name, release, on = config.name, config.release, branch(config.release)
    if not known(release):
        whose = "master" if on == MASTER else f"branch {on}"
        message = f"release {release} is of no branch that has been read ({OLDEST} to {NEWEST}, and master): rendered as for {whose}"
        yield rules.RELEASE.finding(name, message)
    lacked: dict[str, tuple[str, str, str]] = {}
    for table, row, field, first in lacking(designed(config), on):
        place = f"{table} {field}" if field else f"{table}|{row}"
        lacked.setdefault(LOST[table], (table, place, first))
    for lost, (table, place, first) in lacked.items():
        since = "is on master alone, and so in releases after it" if first == MASTER else f"is there from {first} on"
        rule = _GRAVE.get(table, rules.RELEASE_MINOR)
        yield rule.finding(name, f"release {release} lacks {place}, which {since}: {lost}")
    frr = FRR.get(on, "")
    if frr and tuple(int(part) for part in frr.split(".")[:2]) < _TRIED_FRR:
        yield rules.OLD_FRR.finding(
            name, f"release {release} routes by FRR {frr}: frr.conf is read by 10.3 and newer in our checks"
        )
    yield from _platform(config)


def _platform(config: DeviceConfig) -> Iterator[Finding]:
    """Yield a finding if the release does not support the platform of the switch model."""
    model = catalog().switches.get(config.model)
    first = model.first_releases.get("sonic") if model else None
    if model is None or first is None or model.sonic is None:
        return
    where = f"platform {model.sonic.platform}, HwSKU {model.sonic.hwsku}"
    if not first.release:
        yield rules.NO_PLATFORM.finding(config.name, f"no published branch of SONiC has {config.model} ({where})")
    elif known(config.release) and newer(first.release, branch(config.release)):
        message = f"release {config.release} has no {config.model} ({where}): it is there from {first.release} on"
        yield rules.NO_PLATFORM.finding(config.name, message)
