"""Access lists of the control plane.

SONiC's lists hold services of management, and what servers' ports drop: less than the rules of the design. What may manage
the switch is read of them; the rules are worked out from that and from the sessions, and those hold whose rows stand.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from railweave.model.device import protection
from railweave.systems.frr.read.values import prefix
from railweave.systems.sonic.render.control_plane import control_plane as rendered

if TYPE_CHECKING:
    from railweave.model.config.addresses import Prefix
    from railweave.model.device.control_plane import ControlPlane
    from railweave.model.device.model import DeviceConfig
    from railweave.systems.sonic.read.rows import Row, Rows
    from railweave.systems.sonic.tables import Row as Fields

_SOURCES = ("SRC_IP", "SRC_IPV6")


def control_plane(tables: Rows, config: DeviceConfig) -> ControlPlane | None:
    """The rules of the design that the lists' rows are those of; None where there are no lists of the control plane."""
    services = {row.key: row.words("services") for row in tables.rows("ACL_TABLE") if row.text("type") == "CTRLPLANE"}
    managers: dict[Prefix, None] = {}
    for row in tables.rows("ACL_RULE"):
        if "SSH" in services.get(row.parts()[0], ()):
            found = [prefix(row.text(name)) for name in _SOURCES if name in row.fields]
            managers.update({one: None for one in found if one is not None})
    for row in (*tables.rows("ACL_TABLE"), *tables.rows("ACL_RULE")):
        row.taken.clear()
    if not managers:
        return None
    rules = protection.control_plane(
        config, tuple(managers), sees_interfaces=False, holds_sessions=False, in_kernel=False
    )
    wanted = rendered(replace(config, protection=rules))
    missing = _compare(tables, "ACL_TABLE", wanted["ACL_TABLE"]) + _compare(tables, "ACL_RULE", wanted["ACL_RULE"])
    return replace(rules, rules=(), server_ports=()) if missing else rules


def _compare(tables: Rows, table: str, wanted: dict[str, Fields]) -> int:
    """Take the fields that are as wanted; how many are missing or otherwise."""
    missing = 0
    for key, fields in wanted.items():
        row: Row = tables.row(table, key)
        for name, value in fields.items():
            if row.fields.get(name) == value:
                row.taken.add(name)
            else:
                missing += 1
    return missing
