"""Fields that the fabric file gives and an operating system has no statement for: said, each with its line."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from railweave.model.findings.registry import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.reading.document import Key, Location

NOT_RENDERED = Rule(
    id="not-rendered",
    severity="warning",
    applies="design",
    says="a field of the fabric file has no statement on an operating system of its switches",
    why="what is asked for there does not reach the switch",
    fix="leave the field out, configure it by `extra:`, or use another system",
)
ROLES = {"leaf": "leaf", "spine": "spine", "super_spine": "super-spine", "dci": "dci"}
"""The role whose switches a part of a fabric is for, by its key."""

LEAVES_ONLY = frozenset({"addressing", "router_advertisements", "tenants"})
"""Parts of a fabric that no other role has anything of."""


def note_not_rendered(context: Context, layout: Layout) -> None:
    """Note the fields of a fabric, and of what all fabrics share, that systems of its switches have no statement for."""
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
                what = f"{system.description} has no statement for {', '.join(f'`{one}`' for one in lost)}"
                context.finding(NOT_RENDERED, f"{layout.name} {nos}", next(iter(lost.values())), what, why=entry.why)


def _given(value: object, above: Location) -> Iterator[tuple[Location, object]]:
    """The values that stand in a part of the file, each with its place."""
    for key in above:
        value = cast("dict[Key, object]", value).get(key) if isinstance(value, dict) else None
    yield from _below(value, above)


def _below(value: object, at: Location) -> Iterator[tuple[Location, object]]:
    if isinstance(value, dict):
        for key, inner in cast("dict[Key, object]", value).items():
            yield from _below(inner, (*at, key))
    elif isinstance(value, list) and any(isinstance(one, dict) for one in cast("list[object]", value)):
        for place, inner in enumerate(cast("list[object]", value)):
            yield from _below(inner, (*at, place))
    else:
        yield at, value


def _field(at: Location, roles: set[str]) -> str:
    """The field of a place, as ``not_rendered`` names it; empty where it is of no switch of ``roles``."""
    own = [str(key) for key in (at[2:] if at[0] == "fabrics" else at)]
    if own and own[0] in ROLES:
        return ".".join(own[1:]) if ROLES[own[0]] in roles else ""
    return "" if own and own[0] in LEAVES_ONLY and "leaf" not in roles else ".".join(own)


def _is(field: str, pattern: str) -> bool:
    """Whether a field is one of a pattern, or in it."""
    words, wanted = field.split("."), pattern.split(".")
    return len(words) >= len(wanted) and all(one in {"*", word} for one, word in zip(wanted, words, strict=False))
