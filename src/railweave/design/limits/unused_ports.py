"""Ranges of ports that the fabric file gives, and that no link of the role takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from railweave.design.limits.not_rendered import ROLES
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.reading.document import Location
    from railweave.model.network.fabric import RoleName

PORTS_UNUSED = Rule(
    id="ports-unused",
    severity="warning",
    applies="design",
    says="a range of ports is given for links that the role does not have",
    why="it decides nothing",
    fix="remove it, or give the range that is meant: `server_ports` and `uplink_ports` of leaves, `leaf_ports` of what is above",
)


def note_unused_ports(context: Context, layout: Layout) -> None:
    """Note ranges of ports, of roles and of single switches, that no link takes."""
    document = cast("dict[str, Any]", context.source.document.value)
    fabric = cast("dict[str, Any]", document["fabrics"][layout.name])
    for key, role in ROLES.items():
        _note(context, layout, fabric.get(key), role, ("fabrics", layout.name, key))
    role_of = {name: one.role_name for name, one in layout.equipment.items()}
    own = context.source.spec.overrides
    found = {own.of_device(name)[0]: role for name, role in role_of.items() if own.of_device(name)[1]}
    for key, role in found.items():
        _note(context, layout, document["overrides"]["devices"][key], role, ("overrides", "devices", key))


def _note(context: Context, layout: Layout, given: object, role: str, at: Location) -> None:
    taken = _taken(layout, cast("RoleName", role))
    for key in cast("dict[str, Any]", given) if isinstance(given, dict) else ():
        if key.endswith("_ports") and key not in taken:
            what = f"`{key}` of `{at[-1]}`: a {role} of this fabric has no such links"
            context.finding(PORTS_UNUSED, layout.name, (*at, key), what)


def _taken(layout: Layout, role: RoleName) -> set[str]:
    """The ranges that links of a role are put on."""
    across = layout.spec.topology.interconnect
    above = {
        "leaf": bool(layout.spines) or across is not None,
        "spine": bool(layout.super_spines) or bool(layout.dci),
        "super-spine": False,
        "dci": True,
    }[role]
    return {"server_ports" if role == "leaf" else "leaf_ports", *(["uplink_ports"] if above else [])}
