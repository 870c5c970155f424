"""Default settings of switch models for fields that the fabric file omits, and reports of fields without effect.

A field has no effect if a switch's operating system has no statement for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from railweave.model.catalog import catalog
from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.qos import Qos
    from railweave.model.intent.reading.document import Key, Location
    from railweave.model.network.devices import RoleName


NOT_RENDERED = Rule(
    id="not-rendered",
    severity="warning",
    applies="design",
    fault="an operating system of the fabric has no statement for a field of the fabric file",
    why="the field has no effect on switches with this system",
    fix="remove the field, configure the setting with `extra:`, or use a different system",
)
ROLES = {"leaf": "leaf", "spine": "spine", "super_spine": "super-spine", "dci": "dci"}
"""The switch role to which a section of a fabric applies, by the section's key in the fabric file."""

LEAVES_ONLY = frozenset({"addressing", "router_advertisements", "tenants"})
"""The parts of a fabric that apply to leaves only."""


def note_not_rendered(context: Context, layout: Layout) -> None:
    """Record a finding for each operating system that has no statement for a field that the file sets.

    The field can be in a section of the fabric or in ``management``.
    """
    roles: dict[str, set[str]] = {}
    for kind in layout.kinds():
        roles.setdefault(kind.role.nos, set()).add(kind.role_name)
    given = [*_given(context.source.document.value, ("fabrics", layout.name))]
    given += _given(context.source.document.value, ("management",))
    for nos, there in roles.items():
        system = context.catalog.systems[nos]
        for pattern, entry in system.not_rendered.items():
            lost = {
                field: at
                for at, value in given
                if (field := _field(at, there)) and _is(field, pattern) and entry.concerns(value)
            }
            if lost:
                message = (
                    f"{system.description} has no statement for {', '.join(f'`{lost_field}`' for lost_field in lost)}"
                )
                context.finding(NOT_RENDERED, f"{layout.name} {nos}", next(iter(lost.values())), message, why=entry.why)


def _given(value: object, above: Location) -> Iterator[tuple[Location, object]]:
    """Yield (key path, value) for every value below the key path ``above`` in ``value``, the content of the fabric file."""
    for key in above:
        value = cast("dict[Key, object]", value).get(key) if isinstance(value, dict) else None
    yield from _below(value, above)


def _below(value: object, at: Location) -> Iterator[tuple[Location, object]]:
    if isinstance(value, dict):
        for key, inner in cast("dict[Key, object]", value).items():
            yield from _below(inner, (*at, key))
    elif isinstance(value, list) and any(isinstance(element, dict) for element in cast("list[object]", value)):
        for place, inner in enumerate(cast("list[object]", value)):
            yield from _below(inner, (*at, place))
    else:
        yield at, value


def _field(at: Location, roles: set[str]) -> str:
    """Return the field at a key path (``at``) of the fabric file as a dotted name below the fabric or role, as ``not_rendered`` lists it.

    Return "" if the field applies to none of ``roles``.
    """
    keys = [str(key) for key in (at[2:] if at[0] == "fabrics" else at)]
    if keys and keys[0] in ROLES:
        return ".".join(keys[1:]) if ROLES[keys[0]] in roles else ""
    return "" if keys and keys[0] in LEAVES_ONLY and "leaf" not in roles else ".".join(keys)


def _is(field: str, pattern: str) -> bool:
    """Return True if a dotted field name matches a pattern, or is below a field that matches. ``*`` in a pattern matches every name."""
    words, wanted = field.split("."), pattern.split(".")
    return len(words) >= len(wanted) and all(
        wanted_word in {"*", word} for wanted_word, word in zip(wanted, words, strict=False)
    )


PORTS_UNUSED = Rule(
    id="ports-unused",
    severity="warning",
    applies="design",
    fault="a range of ports is set for a kind of link that the role does not have",
    why="the range has no effect",
    fix="remove the range, or set the right one: `server_ports` and `uplink_ports` for leaves, `leaf_ports` for "
    "spines and super-spines",
)


def note_unused_ports(context: Context, layout: Layout) -> None:
    """Record a finding for each port range that no link uses. The port range can belong to a role or to a single switch."""
    document = cast("dict[str, Any]", context.source.document.value)
    fabric = cast("dict[str, Any]", document["fabrics"][layout.name])
    for key, role in ROLES.items():
        _note(context, layout, fabric.get(key), role, ("fabrics", layout.name, key))
    role_of = {name: equipment.role_name for name, equipment in layout.equipment.items()}
    overrides = context.source.spec.overrides
    override_roles = {
        overrides.of_device(name)[0]: role for name, role in role_of.items() if overrides.of_device(name)[1]
    }
    for key, role in override_roles.items():
        _note(context, layout, document["overrides"]["devices"][key], role, ("overrides", "devices", key))


def _note(context: Context, layout: Layout, given: object, role: str, at: Location) -> None:
    taken = _taken(layout, cast("RoleName", role))
    for key in cast("dict[str, Any]", given) if isinstance(given, dict) else ():
        if key.endswith("_ports") and key not in taken:
            message = f"`{key}` of `{at[-1]}` has no effect: a {role} of this fabric has no such links"
            context.finding(PORTS_UNUSED, layout.name, (*at, key), message)


def _taken(layout: Layout, role: RoleName) -> set[str]:
    """Return the names of the port ranges that links of a role use, for example ``uplink_ports``."""
    across = layout.spec.topology.interconnect
    above = {
        "leaf": bool(layout.spines) or across is not None,
        "spine": bool(layout.super_spines) or bool(layout.dci),
        "super-spine": False,
        "dci": True,
    }[role]
    return {"server_ports" if role == "leaf" else "leaf_ports", *(["uplink_ports"] if above else [])}


def with_platform_defaults(qos: Qos, device: str) -> Qos:
    """Return a role's QoS for the switch model ``device``.

    The model's default ECN fill level replaces a level that the file omits.
    """
    model = catalog().switches.get(device)
    fill = model.platform.ecn_min_fill if model else None
    if fill is None:
        return qos
    classes = {
        name: traffic_class
        if traffic_class.ecn is None or "min_fill" in traffic_class.ecn.model_fields_set
        else traffic_class.model_copy(update={"ecn": traffic_class.ecn.model_copy(update={"min_fill": fill})})
        for name, traffic_class in qos.classes.items()
    }
    return qos.model_copy(update={"classes": classes})


def own_marking(qos: Qos, usual: str, device: str) -> tuple[tuple[str, int], ...]:
    """Return the classes for which a switch's ECN fill level differs from its role's, because the two models have different defaults.

    The result holds (class name, lower fill level in percent). ``qos`` is the role's QoS, ``usual`` the role's model and ``device`` the
    switch's model.
    """
    if usual == device:
        return ()
    here, there = with_platform_defaults(qos, device), with_platform_defaults(qos, usual)
    return tuple(
        (name, traffic_class.ecn.min_fill)
        for name, traffic_class in here.classes.items()
        if traffic_class.ecn is not None and traffic_class.ecn != there.classes[name].ecn
    )
