"""Figures of the source: ``tools/house.py [CHECKOUT] [--json]``. How large it is, and which modules only one other imports."""

from __future__ import annotations

import argparse
import ast
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
PARAMETERS = 10
PARTS = [
    "render",
    "changes",
    "read",
    "state",
    "telemetry",
    "transaction",
    "upgrade",
    "outage",
    "first_boot",
    "lint",
    "validator",
    "runbook",
    "forms",
]
FOUND = ("nics/*/*.py", "cli/*.py", "host/commands.py", *(f"**/systems/*/{part}.py" for part in PARTS))
"""Modules that are found by their names or are where a program begins, whoever imports them. Rules are found too."""
RULES = "findings.registry import"


class Module(NamedTuple):
    """A file of the package, read."""

    path: Path
    text: str
    tree: ast.Module


def modules(source: Path) -> dict[str, Module]:
    """Every module by its name below the package; a package is named as its folder."""
    found: dict[str, Module] = {}
    for path in sorted(source.rglob("*.py")):
        name = ".".join(path.relative_to(source).with_suffix("").parts).removesuffix("__init__").removesuffix(".")
        text = path.read_text(encoding="utf-8")
        found[name] = Module(path, text, ast.parse(text))
    return found


def imported(name: str, module: Module, known: dict[str, Module]) -> set[str]:
    """The modules of the package that one imports, wherever in it, for types too."""
    found: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found |= {one.name.partition(".")[2] for one in node.names if one.name.startswith("railweave.")}
        elif isinstance(node, ast.ImportFrom):
            home = (node.module or "").split(".") if node.module else []
            if node.level:
                here = name.split(".") if module.path.name == "__init__.py" else name.split(".")[:-1]
                home = [*here[: len(here) - node.level + 1], *home]
            elif home[:1] == ["railweave"]:
                home = home[1:]
            else:
                continue
            for one in node.names:
                inside = ".".join([*home, one.name])
                found.add(inside if inside in known else ".".join(home))
    return found & known.keys() - {name}


def figures(checkout: Path) -> dict[str, Any]:
    """Every figure by its name."""
    source = checkout / "src" / "railweave"
    known = modules(source)
    importers: defaultdict[str, set[str]] = defaultdict(set)
    for name, module in known.items():
        for other in imported(name, module, known):
            importers[other].add(name)
    found = {path for pattern in FOUND for path in source.glob(pattern)}
    found |= {
        one.path for name, one in known.items() if {"checks", "lint"} & set(name.split(".")) and RULES in one.text
    }
    single = {
        name: min(importers[name])
        for name, module in known.items()
        if len(importers[name]) == 1
        and module.path.name not in {"__init__.py", "__main__.py"}
        and module.path not in found
    }
    nodes = [node for module in known.values() for node in ast.walk(module.tree)]
    length = {name: len(module.text.splitlines()) for name, module in known.items()}
    total = sum(length.values())
    imports = sum(
        (node.end_lineno or 0) - node.lineno + 1 for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)
    )
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    wide = [one for one in functions if _parameters(one.args) >= PARAMETERS]
    rooms = Counter(name.partition(".")[0] for name, module in known.items() if module.path.parent != source)
    alone = Counter(name.partition(".")[0] for name in single)
    return {
        "files": len(known),
        "lines": total,
        "statements": sum(isinstance(node, ast.stmt) for node in nodes),
        "longest file": max(length.values()),
        "modules with a single importer": len(single),
        "their lines": sum(length[name] for name in single),
        f"functions with {PARAMETERS} parameters or more": len(wide),
        "imports' share of lines": round(imports / total, 4),
        "rooms": {room: {"files": count, "single importer": alone[room]} for room, count in sorted(rooms.items())},
        "single importers": dict(sorted(single.items())),
    }


def _parameters(args: ast.arguments) -> int:
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, (args.vararg, args.kwarg))]
    return sum(one.arg not in {"self", "cls"} for one in every)


def main() -> None:
    """Print the figures of a checkout."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("checkout", nargs="?", type=Path, default=ROOT)
    words.add_argument("--json", action="store_true", help="also the name of every module with a single importer")
    given = words.parse_args()
    found = figures(given.checkout)
    if given.json:
        print(json.dumps(found, indent=1))
        return
    rooms = found.pop("rooms")
    del found["single importers"]
    for name, value in found.items():
        print(f"{name:38}{value:>10,}" if isinstance(value, int) else f"{name:38}{value:>10.2%}")
    print(f"{'top folders (rooms)':38}{len(rooms):>10,}")
    for room, counts in sorted(rooms.items(), key=lambda one: -one[1]["single importer"]):
        print(f"  {room:16}{counts['files']:>5} files{counts['single importer']:>5} with a single importer")


if __name__ == "__main__":
    main()
