"""What ``config apply-patch`` refuses, decided before it is tried.

SONiC's patch tool holds every operation of a patch against a table of its own, by release and by the switch's hardware SKU,
and refuses the whole patch where one operation is not in it. The tables here are those of the branches 202411, 202505 and
202511 of the public repository sonic-net/sonic-utilities (``generic_config_updater/gcu_field_operation_validators.conf.json``
and ``field_operation_validators.py``; 202605 has what 202511 has). What the tool asks the running switch (whether a port
can have a speed or an FEC) is not decided here.
"""

from __future__ import annotations

from dataclasses import dataclass

SOURCE = "sonic-net/sonic-utilities generic_config_updater/gcu_field_operation_validators.conf.json"

INSTEAD = "give the switch the whole new config_db.json and `config reload`, which stops all services: drain it first"

ALWAYS_REFUSED = frozenset({"PFC_WD/GLOBAL", "PFC_WD/GLOBAL/POLL_INTERVAL", "LOOPBACK_INTERFACE/Loopback0"})
"""What no patch may remove (``validate_field_operation``)."""

LISTED = (
    *("Force10-S6100", "Arista-7060CX-32S", "Celestica-DX010-C32", "Seastone-DX010"),
    *("Arista-7260CX3", "Nokia-IXR7220-H3", "Nokia-IXR7220-H4-64D", "Nokia-IXR7220-H4-32D"),
    *("Nokia-IXR7220-H5-64D", "Arista-7060X6-64DE", "Arista-7060X6-64PE", "Nokia-IXR7220-H5-64O"),
    *("Nokia-IXR7220-H5-32D", "Arista-7060X6-16PE", "Nokia-IXR7220-D4-36D"),
)
"""Beginnings of the hardware SKUs with a Tomahawk or Trident 4 that the tool knows; of others it refuses all of these tables."""


@dataclass(frozen=True)
class _Table:
    """What of a table a patch may change: the operations, the fields, and where names in the path count."""

    operations: frozenset[str]
    fields: frozenset[str]
    any_row: bool = False
    """A field counts whatever row it is in; otherwise in rows whose name has a digit, which the tool leaves away."""
    whole_rows: bool = False
    """Rows, and the table, come and go freely."""


_REPLACE = frozenset({"replace"})
_WATCHDOG = _Table(
    frozenset({"add", "remove", "replace"}),
    frozenset({"restoration_time", "detection_time", "action", "global/poll_interval", ""}),
)
_POOL = _Table(
    _REPLACE, frozenset({"ingress_lossless_pool/xoff", "ingress_lossless_pool/size", "egress_lossy_pool/size"})
)
_THRESHOLDS = frozenset({"green_min_threshold", "green_max_threshold", "green_drop_probability"})
_PROFILE = frozenset({"dynamic_th", "xoff"})

_TABLES: dict[str, dict[str, _Table]] = {
    "202411": {
        "PFC_WD": _WATCHDOG,
        "BUFFER_POOL": _POOL,
        "BUFFER_PROFILE": _Table(_REPLACE, _PROFILE),
        "WRED_PROFILE": _Table(_REPLACE, frozenset(f"azure_lossless/{field}" for field in _THRESHOLDS)),
    },
    "202505": {
        "PFC_WD": _WATCHDOG,
        "BUFFER_POOL": _POOL,
        "BUFFER_PROFILE": _Table(_REPLACE, _PROFILE),
        "WRED_PROFILE": _Table(_REPLACE, _THRESHOLDS, any_row=True),
    },
    "202511": {
        "PFC_WD": _WATCHDOG,
        "BUFFER_POOL": _Table(frozenset(), frozenset()),
        "BUFFER_PROFILE": _Table(_REPLACE, _PROFILE, any_row=True, whole_rows=True),
    },
}
"""By the release from which on they hold; tables that are not named are free."""


def refusal(operation: str, path: tuple[str, ...], fields: tuple[str, ...], release: str, sku: str) -> str:
    """Why the tool refuses an operation; empty where it does not.

    ``path`` names table, row and field as far as it goes; ``fields`` are the names in an object that is added. Without a
    release the oldest table holds; without a hardware SKU, one that the tool knows.
    """
    if operation == "remove" and "/".join(path) in ALWAYS_REFUSED:
        return "it lets nobody remove this"
    since = max((one for one in _TABLES if one <= release[:6]), default=min(_TABLES))
    table = _TABLES[since].get(path[0])
    if table is None or (table.whole_rows and len(path) < 3):
        return ""
    if sku and not any(one.lower() in sku.lower() for one in LISTED):
        return f"it changes no {path[0]} on hardware SKU {sku}, which is in none of its lists"
    below = "/".join(path[1:])
    if not table.any_row:
        below = "/".join(part for part in path[1:] if not any(letter.isdigit() for letter in part))
    below = below.lower()
    changed = [f"{below}/{field}" if below else field for field in fields] or [below]
    if table.any_row:
        changed = [one.rpartition("/")[2] for one in changed]
    if operation in table.operations and all(one in table.fields for one in changed):
        return ""
    return f"of {path[0]} it changes {_allowed(table)}"


def _allowed(table: _Table) -> str:
    named = sorted(field for field in table.fields if field)
    return f"no more than {', '.join(named)} of what stands there" if named else "nothing"
