"""Changes of ``config_db.json``: the file as a tree for comparison, a JSON patch (RFC 6902), and the traffic that a change disrupts.

SONiC's command ``config apply-patch`` accepts such a patch, but refuses some operations (``refusal``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from railweave.model.config.tree import Command, Disruption, Node, Refusal, Step
from railweave.systems.standards import ANY, OPEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.systems.sonic.tables import Tables, Value


SOURCE = "sonic-net/sonic-utilities generic_config_updater/gcu_field_operation_validators.conf.json"

INSTEAD = "give the switch the whole new config_db.json and `config reload`, which stops all services: drain it first"

ALWAYS_REFUSED = frozenset({"PFC_WD/GLOBAL", "PFC_WD/GLOBAL/POLL_INTERVAL", "LOOPBACK_INTERFACE/Loopback0"})
"""The paths that no patch may remove (`validate_field_operation` of sonic-utilities)."""

LISTED = (
    *("Force10-S6100", "Arista-7060CX-32S", "Celestica-DX010-C32", "Seastone-DX010"),
    *("Arista-7260CX3", "Nokia-IXR7220-H3", "Nokia-IXR7220-H4-64D", "Nokia-IXR7220-H4-32D"),
    *("Nokia-IXR7220-H5-64D", "Arista-7060X6-64DE", "Arista-7060X6-64PE", "Nokia-IXR7220-H5-64O"),
    *("Nokia-IXR7220-H5-32D", "Arista-7060X6-16PE", "Nokia-IXR7220-D4-36D"),
)
"""The prefixes of hardware SKUs that ``config apply-patch`` knows. All have a Tomahawk or Trident 4 chip.

For any other SKU, the tool refuses every change to the tables in ``_TABLES``.
"""


@dataclass(frozen=True)
class _Table:
    """The restrictions of a table: the operations that a patch may use, and the fields that the patch may change.

    ``fields`` are the ends of paths in the patch, in lower case. See ``any_row``.
    """

    operations: frozenset[str]
    fields: frozenset[str]
    any_row: bool = False
    """True if the fields may change in any row. ``fields`` then has names of fields without a row.

    If False, the patch tool first removes the parts with digits from the path, and ``fields`` must have the rest: ``dynamic_th`` for a row
    with a digit in its name, ``egress_lossy_pool/size`` for a field of the row ``egress_lossy_pool``.
    """
    whole_rows: bool = False
    """True if a patch may add or remove whole rows, and the table itself."""


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
"""By release: the tables that are restricted from this release on. A patch may change all other tables freely."""


def refusal(operation: str, path: tuple[str, ...], fields: tuple[str, ...], release: str, sku: str) -> str:
    """Return the reason why ``config apply-patch`` refuses an operation; empty if the tool accepts it.

    - ``operation``: ``add``, ``remove`` or ``replace``.
    - ``path``: the table, then the row if the operation concerns one row, then the field if the operation concerns one field.
    - ``fields``: the names in the object that the operation adds.
    - ``release``: the release of SONiC. If it is empty, the oldest release is assumed.
    - ``sku``: the hardware SKU. If it is empty, a SKU that the tool knows is assumed.
    """
    if operation == "remove" and "/".join(path) in ALWAYS_REFUSED:
        return "it lets nobody remove this"
    since = max((first for first in _TABLES if first <= release[:6]), default=min(_TABLES))
    table = _TABLES[since].get(path[0])
    if table is None or (table.whole_rows and len(path) < 3):
        return ""
    if sku and not any(listed.lower() in sku.lower() for listed in LISTED):
        return f"it changes no {path[0]} on hardware SKU {sku}, which is in none of its lists"
    below = "/".join(path[1:])
    if not table.any_row:
        below = "/".join(part for part in path[1:] if not any(letter.isdigit() for letter in part))
    below = below.lower()
    changed = [f"{below}/{field}" if below else field for field in fields] or [below]
    if table.any_row:
        changed = [place.rpartition("/")[2] for place in changed]
    if operation in table.operations and all(field in table.fields for field in changed):
        return ""
    return f"of {path[0]} it changes {_allowed(table)}"


def _allowed(table: _Table) -> str:
    named = sorted(field for field in table.fields if field)
    return f"no more than {', '.join(named)} of what stands there" if named else "nothing"


_METADATA = ("DEVICE_METADATA", "localhost")

AT_START = frozenset({"docker_routing_config_mode", "frr_mgmt_framework_config"})
"""The fields that take effect only when the container of FRRouting starts.

They determine which daemons run, and which program writes the configuration of the daemons.
"""

_AT_START_WHY = "the container of FRRouting reads it only when it starts"
AT_START_SOURCE = "sonic-net/sonic-buildimage dockers/docker-fpm-frr/docker_init.sh"

DISRUPTIONS = (
    Disruption(
        r"PORT / \S+ / (speed|fec|lanes)",
        "the port",
        "its link trains again; a patch of speed takes minutes",
        "IEEE 802.3: both ends must run the same rate and code; sonic-net/sonic-buildimage issue 23945",
        ANY,
    ),
    Disruption(
        r"BREAKOUT_CFG / \S+",
        "every port of the cage",
        "the ports are made again",
        "sonic-utilities config/main.py, breakout: the ports that stand are removed first",
    ),
    Disruption(
        r"PORT / (?P<port>\S+) / admin_status$",
        "the port",
        "it is shut down",
        "sonic-net/sonic-swss orchagent/portsorch.cpp",
        ("add", "replace"),
        value="down",
    ),
    Disruption(
        r"PORT / (?P<port>\S+) / admin_status$",
        "the port",
        "it is shut down: that is what holds without a word of it",
        "sonic-net/sonic-swss orchagent/portsorch.cpp",
        ("remove",),
        itself=True,
    ),
    Disruption(
        r"INTERFACE / (?P<port>[^\s|]+)$",
        "the interface",
        "it loses its addresses, and the sessions from them go",
        "sonic-net/sonic-swss cfgmgr/intfmgr.cpp",
        ("remove",),
    ),
    Disruption(
        r"(VLAN_|VLAN_SUB_)?INTERFACE / ((?P<port>Ethernet[^\s|]+)|\S+) / vrf_name$",
        "the interface",
        "it changes its VRF, and with it the table of its routes: its neighbors and sessions go",
        "RFC 4364, section 3.1: an attachment circuit is of one VRF",
        ANY,
        itself=True,
    ),
    Disruption(
        r"(BUFFER_PG|BUFFER_QUEUE|QUEUE|PORT_QOS_MAP) / Ethernet",
        "the port",
        "the patch tool shuts it while this changes",
        "sonic-utilities generic_config_updater/patch_sorter.py, RequiredValueIdentifier",
        ANY,
    ),
    Disruption(
        r"DEVICE_METADATA / localhost / (docker_routing_config_mode|frr_mgmt_framework_config)",
        "every BGP session",
        "they reset: the container of FRRouting starts again with other daemons",
        AT_START_SOURCE,
        ANY,
    ),
    Disruption(
        r"DEVICE_METADATA / localhost / (bgp_asn|bgp_router_id)",
        "every BGP session",
        "they reset",
        OPEN,
    ),
)


@dataclass(frozen=True)
class TableTree:
    """The tables of a device as a ``ConfigTree``. A row without fields is allowed."""

    nodes: tuple[Node, ...]
    keeps_empty: bool = True
    release: str = ""
    sku: str = ""
    """The hardware SKU. Together with the SONiC release, it decides which changes the patch tool accepts."""

    @property
    def disruptions(self) -> tuple[Disruption, ...]:
        """The traffic disruptions that changes of SONiC's tables cause."""
        return DISRUPTIONS

    def commands(self, steps: Sequence[Step]) -> list[Command]:
        """Return the operations of a JSON patch. SONiC itself sorts the operations by their dependencies.

        ``steps`` are the differences between two trees.
        """
        return [_operation(step) for step in steps]

    def refused(self, steps: Sequence[Step]) -> list[Refusal]:
        """Return the steps that ``config apply-patch`` refuses, and those that would have no effect, each with the reason."""
        refusals: list[Refusal] = []
        for step in steps:
            path = tuple(name[0] for name in (*step.above, step.node.name))
            if path[:2] == _METADATA and path[2:] and path[2] in AT_START:
                refusals.append(
                    Refusal(step, f"a patch of {path[2]} changes nothing: {_AT_START_WHY}", INSTEAD, AT_START_SOURCE)
                )
            fields = () if step.kind == "remove" else tuple(child.name[0] for child in step.node.children or ())
            why = refusal(step.kind, path, fields, self.release, self.sku)
            if why:
                refusals.append(Refusal(step, f"`config apply-patch` refuses it: {why}", INSTEAD, SOURCE))
        return refusals


def config_tree(tables: Tables, release: str = "") -> TableTree:
    """Return ``config_db.json`` as a tree. Empty tables are left out, as in the file."""
    sku = tables.get("DEVICE_METADATA", {}).get("localhost", {}).get("hwsku", "")
    return TableTree(
        tuple(
            Node((name,), children=tuple(Node((key,), children=_fields(row)) for key, row in rows.items()))
            for name, rows in tables.items()
            if rows
        ),
        release=release,
        sku=sku if isinstance(sku, str) else "",
    )


def _fields(row: Mapping[str, Value]) -> tuple[Node, ...]:
    return tuple(
        Node((field,), (value,) if isinstance(value, str) else tuple(value), listed=not isinstance(value, str))
        for field, value in row.items()
    )


def _operation(step: Step) -> Command:
    names = [name[0] for name in (*step.above, step.node.name)]
    pointer = "".join(f"/{name.replace('~', '~0').replace('/', '~1')}" for name in names)
    if step.kind == "remove":
        return {"op": "remove", "path": pointer}
    return {"op": step.kind, "path": pointer, "value": _json(step.node, len(names))}


def _json(node: Node, depth: int) -> object:
    """Return the JSON value of a tree node: a table's rows (``depth`` 1), a row's fields (2), or the value of a field (3)."""
    if depth == 1:
        return {child.name[0]: _json(child, 2) for child in node.children or ()}
    if depth == 2:
        return {child.name[0]: _value(child) for child in node.children or ()}
    return _value(node)


def _value(node: Node) -> Value:
    return list(node.values) if node.listed else node.values[0]
