"""Path colors (groups of uplinks that separate traffic): their names and numbers, and the color of each uplink."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from railweave.model.findings.registry import Rule
from railweave.model.network.devices import Color

if TYPE_CHECKING:
    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.lock import Lock


COLORS_UNBALANCED = Rule(
    id="colors-unbalanced",
    severity="warning",
    applies="design",
    fault="after spines were removed, path colors have different numbers of uplinks",
    why="queue pairs of colors with fewer uplinks get less bandwidth; a removed spine does not move the other "
    "uplinks to different colors",
    fix='delete the pool "FABRIC/uplinks" from the lock file, so that the next build distributes colors again',
)


def color(context: Context, layout: Layout) -> tuple[tuple[Color, ...], dict[tuple[str, int], int]]:
    """Return (the path colors of a fabric, the color index of each uplink by (spine name, link)).

    Both are empty without path colors. With one color per uplink, the color index is the uplink's number in the lock, so adding
    or removing a spine changes no other color. With fewer colors than uplinks, uplinks get the colors in rotation. A color
    name keeps its number even if an earlier name is removed. Records a problem if two colors have the same name. Raises ``DesignError``
    if the uplinks cannot be divided equally among the colors.
    """
    spec, name = layout.spec, layout.name
    if spec.load_balancing.mode != "rlb":
        if (spec.paths_per_nic or 1) > 1:
            context.problem(
                ("fabrics", name, "paths_per_nic"),
                f"paths_per_nic {spec.paths_per_nic} needs path colors, but load_balancing.mode is "
                f"{spec.load_balancing.mode}",
                "set `load_balancing: {mode: rlb}`, or remove paths_per_nic",
            )
        return (), {}
    links = spec.topology.links_per_spine
    keys = {(spine.key, link): f"{spine.key}#{link}" for link in range(1, links + 1) for spine in layout.spines}
    slots = context.lock.allot(f"{name}/uplinks", keys.values())
    names: dict[str, list[str]] = {}  # the spines that the leaves of one block or another see under a key
    for spine in layout.spines:
        names.setdefault(spine.key, []).append(spine.name)
    wanted = spec.paths_per_nic
    if wanted is None or not keys:
        count = max(slots.values(), default=1)
        chosen = {key: slots[text] for key, text in keys.items()}
        live = sorted(set(slots.values())) or [1]
    else:
        if len(keys) % wanted:
            ways = [str(n) for n in range(1, len(keys) + 1) if len(keys) % n == 0]
            context.problem(
                ("fabrics", name, "paths_per_nic"),
                f"the {len(keys)} uplinks of a leaf cannot be divided equally among {wanted} path colors",
                f"use {', '.join(ways)}",
            )
            context.check()
        count = wanted
        chosen = {key: (slots[text] - 1) % wanted + 1 for key, text in keys.items()}
        live = list(range(1, wanted + 1))
        _check_balance(context, name, wanted, list(chosen.values()))
    indexes = {(name, link): index for (key, link), index in chosen.items() for name in names[key]}
    placed = _place_names(context.lock, f"{name}/colors", [color_spec.name for color_spec in spec.colors], live)
    named = {placed[color_spec.name]: color_spec for color_spec in spec.colors}
    colors: list[Color] = []
    numbers: set[int] = set()
    for index in range(1, count + 1):
        given = named.get(index)
        number = given.number if given and given.number else index
        while number in numbers or (given is None and number in {c.number for c in spec.colors if c.number}):
            number += 1
        numbers.add(number)
        if given is None and f"color{index}" in {c.name for c in spec.colors}:
            context.problem(
                ("fabrics", name, "colors"),
                f"two path colors have the name color{index}",
                f"path color {index} has the default name color{index}, which another color has, too: name it, "
                "or rename the other color",
            )
        colors.append(Color(index, number, given.name if given else f"color{index}"))
    return tuple(path_color for path_color in colors if path_color.index in live), indexes


def _place_names(lock: Lock, pool: str, names: list[str], live: list[int]) -> dict[str, int]:
    """Return the color index of each name: the index in ``pool`` of the lock, or else the first index of ``live`` that has no name.

    ``live`` holds the color indexes in use. A name keeps its color if an earlier name is removed, and a renamed color
    keeps its uplinks.
    """
    had = lock.pools.get(pool, {})
    placed = {name: had[name] for name in names if name in had}
    free = itertools.chain(live, itertools.count(max([*live, *had.values()], default=0) + 1))
    for name in names:
        if name not in placed:
            placed[name] = next(index for index in free if index not in placed.values())
    gone = {name: index for name, index in had.items() if name not in placed and index not in placed.values()}
    lock.pools[pool] = {**gone, **placed}
    return lock.allot(pool, names)


def _check_balance(context: Context, name: str, wanted: int, indexes: list[int]) -> None:
    loads = [indexes.count(index) for index in range(1, wanted + 1)]
    if min(loads) == 0:
        context.problem(
            ("fabrics", name, "topology", "spines"),
            f"path color {loads.index(0) + 1} has no uplink left after spines were removed",
            f'delete the pool "{name}/uplinks" from the lock file, so that the next build distributes the colors again',
        )
    elif min(loads) != max(loads):
        context.finding(
            COLORS_UNBALANCED,
            name,
            ("fabrics", name, "topology", "spines"),
            f"path colors have {min(loads)} to {max(loads)} uplinks each",
            fix=f'delete the pool "{name}/uplinks" from the lock file, so that the next build distributes colors again',
        )
