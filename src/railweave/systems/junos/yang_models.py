"""Juniper's published configuration models, loaded with libyang.

The models are those of the public repository Juniper/yang; the ``conf-with-extensions`` sets say with
``junos:cli-feature "nokeyword"`` which names are not typed on the command line, which is what makes them usable here.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from railweave.errors import RailweaveError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Kind = Literal["container", "list", "leaf", "leaf-list"]

_STRING_OR_COMMENT = re.compile(r"""//[^\n]*|/\*.*?\*/|'[^']*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)
_ESCAPE = re.compile(r'\\[nt"\\]|\\')
_REVISION = re.compile(r"@(\d{4}-\d{2}-\d{2})")
_RELEASE = re.compile(r"\d+\.\d+[RX]\d[\w.-]*")


class ModelsError(RailweaveError):
    """The folder holds no models that can be used; says why and what would do."""


def repaired(text: str) -> str:
    r"""A model with every backslash of a double-quoted string that is no YANG 1.1 escape doubled.

    Junos models write regular expressions as ``"\d+"``; RFC 7950 section 6.1.3 allows only ``\n \t \" \\`` there, and
    libyang holds to it.
    """

    def one_escape(found: re.Match[str]) -> str:
        return "\\\\" if found.group() == "\\" else found.group()

    def one_string(found: re.Match[str]) -> str:
        return _ESCAPE.sub(one_escape, found.group()) if found.group().startswith('"') else found.group()

    return _STRING_OR_COMMENT.sub(one_string, text)


@dataclass(frozen=True)
class ModelFiles:
    """The files of one model set by module name, and the name that its modules begin with."""

    paths: dict[str, Path]
    prefix: str

    @property
    def described(self) -> str:
        """Platform, release and revision as far as the folder and file names tell."""
        root = self.paths[f"{self.prefix}root"]
        release = next((part for part in reversed(root.resolve().parts[:-1]) if _RELEASE.fullmatch(part)), "")
        revision = _REVISION.search(root.name)
        words = [f"{self.prefix.removesuffix('-conf-')} models", release, f"of {revision.group(1)}" if revision else ""]
        return " ".join(word for word in words if word)


def _module(path: Path) -> str:
    return path.stem.partition("@")[0]


def collect(folder: Path) -> ModelFiles:
    """The model set in a folder, as published or already repaired.

    What the set imports and the folder lacks is looked for in a ``common`` folder further up, as the repository has it.
    Raises ``ModelsError`` where there is no set, more than one, or one without the command-line extensions.
    """
    paths = {_module(path): path for path in sorted(folder.rglob("*.yang")) if path.stat().st_size}
    prefixes = sorted(name.removesuffix("root") for name in paths if name.endswith("-conf-root"))
    if len(prefixes) != 1:
        which = f"several model sets ({', '.join(prefixes)})" if prefixes else "no Junos configuration model"
        raise ModelsError(f"{folder} holds {which}; give one set's folder, such as junos-qfx/conf-with-extensions")
    prefix = prefixes[0]
    for above in folder.resolve().parents[:4]:
        if (above / "common").is_dir():
            common = {_module(path): path for path in sorted((above / "common").rglob("*.yang")) if path.stat().st_size}
            paths = {**common, **paths}
    own = (path for name, path in paths.items() if name.startswith(prefix))
    if not any('cli-feature "nokeyword' in path.read_text(encoding="utf-8", errors="replace") for path in own):
        raise ModelsError(f"the models in {folder} lack Junos' command-line extensions; use conf-with-extensions")
    return ModelFiles(paths, prefix)


@dataclass(eq=False)
class SchemaNode:
    """A node of the compiled schema. ``handle`` is libyang's object; what is read from it is kept."""

    handle: Any

    @cached_property
    def name(self) -> str:
        """The node's name, which is the word typed for it unless ``nokeyword``."""
        return str(self.handle.name())

    @cached_property
    def kind(self) -> Kind:
        """What it is; Junos models have nothing else below the root."""
        return cast("Kind", self.handle.keyword())

    @cached_property
    def tag(self) -> str:
        """Its element name with namespace, as ElementTree writes it."""
        util = importlib.import_module("libyang.util")
        return f"{{{util.c2str(self.handle.module().cdata.ns)}}}{self.name}"

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """A list's keys in order."""
        handles = self.handle.keys() if self.kind == "list" else ()
        return tuple(str(handle.name()) for handle in handles)

    @cached_property
    def nokeyword(self) -> bool:
        """Whether the name is not typed on the command line."""
        return any(
            extension.name() == "cli-feature" and "nokeyword" in (extension.argument() or "")
            for extension in self.handle.extensions()
        )

    @cached_property
    def empty(self) -> bool:
        """A leaf that takes no value."""
        return self.kind == "leaf" and str(self.handle.type().basename()) == "empty"

    @cached_property
    def enums(self) -> frozenset[str]:
        """The words of a leaf that is an enumeration; empty for other nodes."""
        if self.kind != "leaf" or str(self.handle.type().basename()) != "enumeration":
            return frozenset()
        return frozenset(str(enum.name()) for enum in self.handle.type().enums())

    @cached_property
    def children(self) -> dict[str, SchemaNode]:
        """Data nodes below it by name, through choices and cases."""
        if self.kind not in {"container", "list"}:
            return {}
        found = [SchemaNode(handle) for handle in self.handle.children()]
        return {child.name: child for child in reversed(found)}

    @cached_property
    def unnamed(self) -> list[SchemaNode]:
        """Children whose names are not typed, keys aside, in the order of the model."""
        return [child for child in reversed(self.children.values()) if child.nokeyword and child.name not in self.keys]


@dataclass(eq=False)
class Models:
    """A loaded model set. ``root`` is the node ``configuration``."""

    root: SchemaNode
    context: Any
    failure: type[Exception]
    described: str

    def refusal(self, xml: str) -> str:
        """What libyang says against a configuration; empty where it accepts."""
        try:
            data = self.context.parse_data_mem(xml, "xml", strict=True, no_state=True, validate_present=True)
        except self.failure as error:
            return str(error).removeprefix("failed to parse data tree: ")
        if data is not None:
            data.free()
        return ""


def load(folder: Path, hierarchies: Iterable[str]) -> Models:
    """Load the models of the top-level ``hierarchies`` (``system``, ``protocols`` …) from a folder.

    Loading only those, and compiling once, takes a second or two where the whole set takes fifteen. Raises
    ``ModelsError`` where the folder or a model cannot be used, ``ImportError`` where libyang is not installed.
    """
    libyang = importlib.import_module("libyang")
    files = collect(folder)
    failure = cast("type[Exception]", libyang.LibyangError)
    with tempfile.TemporaryDirectory(prefix="railweave-yang-") as prepared:
        for path in files.paths.values():
            text = path.read_text(encoding="utf-8", errors="replace")
            (Path(prepared) / path.name).write_text(repaired(text), encoding="utf-8")
        try:
            context = libyang.Context(prepared, explicit_compile=True)
            for module in _wanted(files, hierarchies):
                context.load_module(module)
            context.compile_schema()
        except failure as error:
            raise ModelsError(f"libyang cannot load the models in {folder}: {error}") from None
    top = next(iter(context.get_module(f"{files.prefix}root").children()))
    version = importlib.metadata.version("libyang")
    return Models(SchemaNode(top), context, failure, f"{files.described}, libyang {version}")


def _wanted(files: ModelFiles, hierarchies: Iterable[str]) -> Iterator[str]:
    """The root module, then those of the hierarchies that the set has."""
    yield f"{files.prefix}root"
    for name in sorted(set(hierarchies)):
        if name != "root" and f"{files.prefix}{name}" in files.paths:
            yield f"{files.prefix}{name}"
