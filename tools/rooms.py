"""The rooms of the package and what each imports, read from the source; the table of what each may; and the picture.

A wing is a folder below ``src/railweave``. A wing in ``OF_ROOMS`` holds rooms (``model/intent``); each of the others is a room
itself, and may have one room inside it (``INNER``). All folders of operating systems are one room, ``systems/NAME``, and so
are those of NIC vendors, ``nics/NAME``: they are found by their files, and no other module names one. Modules next to the wings
belong to no room and import none, except ``__init__.py``, which is above all wings.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "railweave"
PLUGGED = ("systems", "nics")
"""Rooms that are registries of folders; a registry's own modules know no folder by name."""

WINGS = (
    "host",
    "model",
    "pages",
    "systems",
    "nics",
    "design",
    "analysis",
    "prediction",
    "outputs",
    "live",
    "operations",
    "api",
    "cli",
)
"""The wings, from the ground up: a wing imports only wings that come before it."""
OF_ROOMS = ("model", "analysis", "prediction", "outputs", "live", "operations")
"""Wings that hold rooms, and no modules of their own."""
INNER = ("design/sizing",)
"""Rooms inside a wing that is a room itself."""

Edges = dict[str, dict[str, list[str]]]
"""By room, the rooms it imports and the files in which it does."""


class Import(NamedTuple):
    """One import of something in railweave: from which file, of which module, and whether it is for types alone."""

    file: str
    module: tuple[str, ...]
    types_only: bool


def room_of(module: tuple[str, ...]) -> str:
    """The room of a module (``("model", "intent", "base")``: ``model/intent``); empty for modules next to the wings."""
    first, pair = module[0], "/".join(module[:2])
    if first in PLUGGED and len(module) > 1 and (SOURCE / pair).is_dir():
        return f"{first}/NAME"
    if pair in INNER or (first in OF_ROOMS and (SOURCE / pair).is_dir()):
        return pair
    return first if first not in OF_ROOMS and (SOURCE / first).is_dir() else ""


def imports(path: Path) -> list[Import]:
    """Every import of railweave in a file, wherever in it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    file = str(path.relative_to(SOURCE))
    typing = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    found: list[Import] = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "railweave":
            names = [f"{node.module}.{one.name}" for one in node.names]
        elif isinstance(node, ast.Import):
            names = [one.name for one in node.names if one.name.startswith("railweave.")]
        found += [Import(file, tuple(name.split(".")[1:]), id(node) in typing) for name in names]
    return found


def edges(imports: Callable[[Path], list[Import]] = imports) -> Edges:
    """What each room imports of other rooms, types too. A caller who reads each file once hands in how it is read."""
    found: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted(SOURCE.rglob("*.py")):
        room = room_of(path.relative_to(SOURCE).with_suffix("").parts)
        for one in imports(path):
            other = room_of(one.module)
            # A protocol names the types of whatever its parts take and give, and imports nothing when it runs; so do verbs, of
            # the results that functions of the API return.
            if (
                room
                and other
                and other != room
                and not (one.types_only and (path.name == "protocol.py" or room == "cli"))
            ):
                found[room][other].append(one.file)
    return {room: {other: sorted(set(files)) for other, files in others.items()} for room, others in found.items()}


def allowed(page: str) -> dict[str, set[str]]:
    """The table of docs/architecture.md whose last column says what a room may import."""
    rows = re.findall(r"^\| `([\w/]+)/` \|(?:[^|]*\|){3} ([^|]*) \|$", page, re.MULTILINE)
    return {room: set(re.findall(r"`([\w/]+)`", others)) for room, others in rows}


def levels(graph: dict[str, set[str]]) -> dict[str, int]:
    """How far each room is above the ground: one more than the highest it imports. Raises ``ValueError`` for a circle."""
    found: dict[str, int] = {}

    def level(room: str, above: tuple[str, ...]) -> int:
        if room in above:
            raise ValueError(" imports ".join((*above[above.index(room) :], room)))
        if room not in found:
            found[room] = max((1 + level(one, (*above, room)) for one in sorted(graph.get(room, ()))), default=0)
        return found[room]

    for room in sorted(graph):
        level(room, ())
    return found


def direct(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Only the arrows that no longer path stands for."""

    def reached(room: str) -> set[str]:
        return {far for one in graph.get(room, ()) for far in (one, *reached(one))}

    return {
        room: {one for one in others if all(one not in reached(other) for other in others if other != one)}
        for room, others in graph.items()
    }


WIDTH, BOX, ROW = 1000, (112, 30), 76
STYLE = (
    "<style>path{stroke:#8a94a6;fill:none}rect{fill:#eef2f9;stroke:#3b5b92}text{fill:#1b2433}"
    "@media (prefers-color-scheme:dark){rect{fill:#22304a;stroke:#8fb0ee}text{fill:#e7ecf5}path{stroke:#77839a}}</style>"
)
ARROW = (
    '<defs><marker id="to" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0 8 4 0 8" fill="none"/></marker></defs>'
)


def picture() -> str:
    """The rooms as SVG, those that import nothing at the bottom; an arrow says "imports"."""
    graph = {room: set(others) for room, others in edges().items()}
    height = levels(graph)
    rows: dict[int, list[str]] = defaultdict(list)
    for room in sorted(height):
        rows[height[room]].append(room)
    arrows = direct(graph)
    place: dict[str, tuple[float, float]] = {}
    top = max(rows)
    for level in sorted(rows):  # from the ground up: a room stands above the middle of what it imports
        wanted = {
            room: (sum(place[one][0] for one in arrows.get(room, ())) / len(arrows[room])) if arrows.get(room) else 0.0
            for room in rows[level]
        }
        order = sorted(rows[level], key=lambda room: (wanted[room], room))
        step = WIDTH / len(order)
        place |= {room: (step * (index + 0.5), (top - level) * ROW + 30) for index, room in enumerate(order)}
    total = top * ROW + 60
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {total}" font-family="sans-serif" font-size="13">'
    ]
    lines += [STYLE, ARROW]
    for room in sorted(arrows):
        x, y = place[room]
        for other in sorted(arrows[room]):
            to_x, to_y = place[other]
            bend = (to_y - y) / 2
            start, end = y + BOX[1] / 2, to_y - BOX[1] / 2 - 1
            lines.append(
                f'<path d="M{x:.0f} {start:.0f}C{x:.0f} {start + bend:.0f} {to_x:.0f} {end - bend:.0f} {to_x:.0f} {end:.0f}" '
                'marker-end="url(#to)"/>'
            )
    for room in sorted(place):
        x, y = place[room]
        lines.append(
            f'<rect x="{x - BOX[0] / 2:.0f}" y="{y - BOX[1] / 2:.0f}" width="{BOX[0]}" height="{BOX[1]}" rx="5"/>'
            f'<text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle">{escape(room)}</text>'
        )
    return "\n".join([*lines, "</svg>", ""])
