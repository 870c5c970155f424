"""Names of devices: no two alike, within a fabric, between fabrics, and between switches and servers.

Capitals do not tell names apart: those of hosts are compared without them (RFC 4343), and so are folders on some file systems.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.model.config.naming import named
from railweave.model.intent.names import LONGEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.topology import Naming

_FIELDS = {"leaf": "{stripe} and {leaf}", "spine": "{spine}", "super_spine": "{super_spine}", "dci": "{site} and {dci}"}
"""What tells the devices of a role apart in a naming pattern."""


def switch_name(context: Context, naming: Naming, fabric: str, role: str, **fields: str | int) -> str:
    """The name of a switch of a role by its pattern, or its own. Notes a problem where a sum of the pattern is below 0."""
    try:
        return naming.name_of(named(getattr(naming, role), fabric=fabric, **fields))
    except ValueError as error:
        shown = ", ".join(f"{name} {value}" for name, value in fields.items())
        context.problem(
            ("fabrics", fabric, "naming", role), f"the pattern gives no name for {shown} ({error})", "use other factors"
        )
        context.check()
        raise


def check_names(context: Context, layouts: Sequence[Layout]) -> None:
    """Note names that two devices would have: the first that each naming pattern gives."""
    groups = enumerate(context.source.spec.servers)
    servers = {name.casefold(): index for index, group in groups for name in group.names}
    owners: dict[str, str] = {}
    for layout in layouts:
        for role, names in (
            ("leaf", [leaf.name for leaf in layout.leaves]),
            ("spine", [spine.name for spine in layout.spines]),
            ("super_spine", [one.name for one in layout.super_spines]),
            ("dci", [one.name for one in layout.dci]),
        ):
            _check_servers(context, servers, names)
            _check_length(context, layout.name, role, names)
            counts = Counter(name.casefold() for name in names)
            repeated = next((name for name in names if name.casefold() in owners or counts[name.casefold()] > 1), None)
            if repeated is not None:
                _note(context, layout.name, role, repeated, owners.get(repeated.casefold(), layout.name))
            owners.update(dict.fromkeys(counts, layout.name))
        _check_renamed(context, layout)
    context.check()


def _check_renamed(context: Context, layout: Layout) -> None:
    """A switch that gets a name of its own is there."""
    there = set(layout.equipment)
    for patterned, name in layout.spec.naming.switches.items():
        if name not in there:
            at = ("fabrics", layout.name, "naming", "switches", patterned)
            context.problem(at, f"no switch would be called {patterned!r}", "name it as the pattern of its role does")


def _check_servers(context: Context, servers: dict[str, int], names: Sequence[str]) -> None:
    for name in names:
        if name.casefold() in servers:
            context.problem(
                ("servers", servers[name.casefold()], "names"),
                f"duplicate name: a server and a switch would be called {name!r}",
                "rename the server, or the switch with `naming:`",
            )


def _check_length(context: Context, fabric: str, role: str, names: Sequence[str]) -> None:
    """A pattern may make a longer name than the one that it was tried with."""
    longest = max(names, key=len, default="")
    if len(longest) > LONGEST:
        context.problem(
            ("fabrics", fabric, "naming", role),
            f"a switch would be called {longest[:LONGEST]!r}…, {len(longest)} letters",
            f"host names have at most {LONGEST}: shorten the pattern, or the names of stripes and spines",
        )


def _note(context: Context, fabric: str, role: str, name: str, other: str) -> None:
    at = ("fabrics", fabric, "naming", role)
    if other == fabric:
        context.problem(
            at, f"duplicate name: two devices would be called {name!r}", f"use {_FIELDS[role]} in the pattern"
        )
    else:
        context.problem(
            at,
            f"duplicate name: fabrics {other!r} and {fabric!r} both have a switch {name!r}",
            'name them apart, for example `naming: {leaf: "{fabric}-{stripe}-leaf{leaf}", spine: "{fabric}-{spine}"}`',
        )
