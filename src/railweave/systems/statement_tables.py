"""The tables that describe the statements of each system (``model.config.statements``), and a check for undefined names."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from railweave import systems
from railweave.model.config.sections import select
from railweave.model.config.statements import Name, Statements

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.model.config.sections import Section

Forms = tuple[str, ...]
References = Mapping[str, tuple[tuple[Forms, ...], tuple[Forms, ...]]]
"""By kind of name: (patterns of the lines that define such a name, patterns of the lines that use it).

Lines that a statement table describes are left out, because the table shows the names in them.
"""


def undefined(root: list[Section], tables: Iterable[Statements[Any]], references: References) -> Iterator[Name]:
    """Yield the names that lines of a configuration use, although no line defines them. ``root`` has all sections.

    ``tables`` are statement tables, which show the names in their lines. ``references`` has the patterns of all other lines with names.
    """
    names = [name for table in tables for name in table.names(root)]
    known = {(name.kind, name.name) for name in names if not name.refers}
    used = [name for name in names if name.refers]
    for kind, (defining, using) in references.items():
        known |= {(kind, line["name"]) for forms in defining for line in select(root, *forms)}
        used += [Name(kind, line["name"], line.path, refers=True) for forms in using for line in select(root, *forms)]
    yield from (name for name in used if (name.kind, name.name) not in known)


def tables(nos: str) -> dict[str, Statements[Any]]:
    """Return the statement tables of the system ``nos``, by key: the objects of class ``Statements`` in its package.

    A key is the module's name, a dot, and the table's name in that module, such as `qos.QOS`. For a table in the package
    ``statements`` itself, the key is only the table's name. The module is in the system's package ``statements``, or is this
    package itself.
    """
    package = f"{systems.__name__}.{nos}"
    modules = {"": package}
    if find_spec(f"{package}.statements") is not None:
        inside = pkgutil.iter_modules(import_module(f"{package}.statements").__path__)
        modules |= {f"{module.name}.": f"{package}.statements.{module.name}" for module in inside}
        modules["statements."] = f"{package}.statements"
    by_id: dict[int, tuple[str, Statements[Any]]] = {}
    for prefix, module in modules.items():
        for key, value in vars(import_module(module)).items():
            if isinstance(value, Statements):
                table = cast("Statements[Any]", value)
                by_id.setdefault(id(table), (f"{prefix}{key}", table))
    return dict(by_id.values())
