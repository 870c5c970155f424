"""SONiC's published configuration models (sonic-yang-models of sonic-net/sonic-buildimage), loaded with libyang.

``config_db.json`` is not the JSON of these models: its tables are containers, its keys (``A|B``) the keys of lists, its
values all text. The models tell how to read it, as ``sonic-yang-mgmt`` does on a switch.
"""

from __future__ import annotations

import importlib
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import RailweaveError
from railweave.systems.sonic.branches import MASTER, NUMBERED

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONDITION = re.compile(
    r'\{% if yang_model_type == "cvl" %\}[ \t]*\n?(.*?)\{% else %\}[ \t]*\n?(.*?)\{% endif %\}[ \t]*\n?', re.DOTALL
)
INTEGERS = frozenset({"int8", "int16", "int32", "uint8", "uint16", "uint32"})
"""Types that JSON has as numbers (RFC 7951, section 6.1); those of 64 bits are text there."""


class ModelsError(RailweaveError):
    """The folder holds no models that can be used; says why."""


@dataclass(frozen=True, eq=False)
class SonicModels:
    """A loaded set of models. ``tables`` gives the module and the container of every table of ``config_db.json``."""

    context: Any
    tables: dict[str, tuple[str, Any]]
    failure: type[Exception]
    described: str

    def refusal(self, text: str) -> str:
        """What libyang says against a configuration in its own JSON; empty where it accepts."""
        try:
            data = self.context.parse_data_mem(text, "json", strict=True, no_state=True, validate_present=True)
        except self.failure as error:
            return str(error).removeprefix("failed to parse data tree: ")
        if data is not None:
            data.free()
        return ""


def sources(folder: Path) -> dict[str, str]:
    """The text of every model by module name: files as published, templates in the form that checks a whole file.

    ``folder`` is ``src/sonic-yang-models`` of the repository, or one that holds its models whose templates are filled in.
    """
    found = {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.rglob("sonic-*.yang"))}
    for path in sorted(folder.rglob("sonic-*.yang.j2")):
        name = path.name.removesuffix(".yang.j2")
        found.setdefault(name, _CONDITION.sub(lambda match: match.group(2), path.read_text(encoding="utf-8")))
    return found


def by_branch(folder: Path) -> dict[str, Path]:
    """Folders of models by the branch that they are called after; empty for a folder that is one set of models."""
    return {one: folder / one for one in (*NUMBERED, MASTER) if (folder / one).is_dir()}


def load(folder: Path) -> SonicModels:
    """Load every model of a folder.

    Raises ``ModelsError`` where they cannot be used, ``ImportError`` where libyang is not installed.
    """
    libyang = importlib.import_module("libyang")
    texts = sources(folder)
    if "sonic-port" not in texts or "sonic-types" not in texts:
        raise ModelsError(f"{folder} holds no SONiC models (sonic-port.yang, and sonic-types.yang or its template)")
    failure = cast("type[Exception]", libyang.LibyangError)
    with tempfile.TemporaryDirectory(prefix="railweave-yang-") as prepared:
        for name, text in texts.items():
            (Path(prepared) / f"{name}.yang").write_text(text, encoding="utf-8")
        try:
            context = libyang.Context(prepared, explicit_compile=True)
            for name in texts:
                context.load_module(name)
            context.compile_schema()
        except failure as error:
            raise ModelsError(f"libyang cannot load the models in {folder}: {error}") from None
    tables = {table: (name, node) for name in texts for table, node in _tables(context.get_module(name), name)}
    return SonicModels(context, tables, failure, f"{len(texts)} SONiC models")


def _tables(module: Any, name: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - libyang has no types
    for top in module.children():
        if top.keyword() == "container" and top.name() == name:
            for table in top.children():
                yield str(table.name()), table
