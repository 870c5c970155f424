"""What the published models say of every statement that the examples and the variants render: container, list or leaf.

``junos_schema.txt`` has a line for each, indented below its parent: the word typed for it (``*`` where the name itself is
not typed), its kind, the words of its keys (``*`` for a key whose own name is not typed), and ``ordered`` where the model
says ``ordered-by user``. It was made from Juniper's 23.4R2 models (public repository Juniper/yang, folder
``23.4/23.4R2/native/conf-and-rpcs/junos-qfx/conf-with-extensions``); ``RAILWEAVE_YANG=FOLDER python -m
tests.model.config.junos_schema`` makes it again. What those models do not have is in ``LATER``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.conftest import SMALL, example
from tests.model.config.variants import networks

from railweave.model.device.build import device_config
from railweave.systems.junos.render import tree
from railweave.systems.junos.tree import Statement
from railweave.systems.junos.yang_models import UNMARKED, Conversion, Models, SchemaNode, load

FILE = Path(__file__).with_suffix(".txt")

LATER = """\
protocols container
 bgp container
  fabric-advertise container
   route list *
    color leaf
    backup-color leaf-list ordered
  group list * ordered
   fabric-color leaf
class-of-service container
 congestion-notification-profile list *
  input container
   pfc-account list *
    pfc-priority leaf-list ordered
   dscp container
    code-point list *
     pfc-account-name leaf
"""
"""Statements of Junos OS 25.4R1, as its command reference has them; and PFC accounts of PTX (Juniper/yang, 23.4R1-EVO)."""


@dataclass(eq=False)
class Word:
    """A word of the schema and what may stand below it."""

    word: str
    kind: str
    keys: tuple[str, ...] = ()
    ordered: bool = False
    below: list[Word] = field(default_factory=list)

    @cached_property
    def _named(self) -> dict[str, Word]:
        found: dict[str, Word] = {}
        for one in self.below:
            if one.word not in found or one.kind == "list":
                found[one.word] = one
        return found

    def child(self, word: str) -> Word | None:
        """What a typed word stands for: what is so called, else a list without a name of its own, else such a leaf."""
        return self._named.get(word) or self._named.get("*")


def read(*texts: str) -> Word:
    """The schema in texts of the file's form; what stands in several is joined."""
    root = Word("", "container")
    for text in texts:
        open_words = [root]
        for line in text.splitlines():
            depth = len(line) - len(line.lstrip())
            word, kind, *rest = line.split()
            del open_words[depth + 1 :]
            parent = open_words[-1]
            found = next((one for one in parent.below if (one.word, one.kind) == (word, kind)), None)
            if found is None:
                keys = tuple(one for one in rest if one != "ordered")
                found = Word(word, kind, keys, "ordered" in rest)
                parent.below.append(found)
            open_words.append(found)
    return root


def schema() -> Word:
    """The committed schema, and what later releases add."""
    return read(FILE.read_text(), LATER)


def rendered() -> Iterator[list[Statement]]:
    """The configuration of every switch of the small examples and of the variants."""
    for network in (*(example(name) for name in SMALL), *networks("junos")):
        for switch in network.switches:
            yield tree(device_config(network, switch.name, "junos"))


class _Visited(Conversion):
    """A conversion that keeps which nodes of the schema it meets."""

    def _enter(self, node: SchemaNode, tokens: Any, place: Any) -> Any:
        visited.add(id(node))
        kept.append(node)
        return super()._enter(node, tokens, place)


visited: set[int] = set()
kept: list[SchemaNode] = []


def models() -> Models | None:
    """The published models, where ``RAILWEAVE_YANG`` names their folder."""
    folder = os.environ.get("RAILWEAVE_YANG")
    if not folder:
        return None
    return load(Path(folder), {statement.words[0] for one in rendered() for statement in one})


def made(found: Models) -> str:
    """The file's text from the models."""
    for statements in rendered():
        _Visited(found.root).add(statements)
    lines: list[str] = []

    def add(node: SchemaNode, parent: SchemaNode, depth: int) -> None:
        typed = not (node.nokeyword or UNMARKED.get(parent.name) == node.name)
        kind = "empty" if node.empty else node.kind
        keys = [] if node.kind != "list" else _keys(node)
        order = ["ordered"] if node.kind in {"list", "leaf-list"} and node.handle.ordered() else []
        lines.append(" " * depth + " ".join([node.name if typed else "*", kind, *keys, *order]))
        for child in node.children.values():
            if id(child) in visited:
                add(child, node, depth + 1)

    for top in found.root.children.values():
        if id(top) in visited:
            add(top, found.root, 0)
    return "".join(f"{line}\n" for line in lines)


def _keys(node: SchemaNode) -> list[str]:
    """How its keys are typed; ``...`` where a word and what follows it are keys together."""
    if "choice-ident" in node.keys:
        return ["..."]
    return [key if len(node.keys) > 1 else "*" for key in node.keys]


if __name__ == "__main__":
    loaded = models()
    if loaded is None:
        raise SystemExit("set RAILWEAVE_YANG to the folder of the models")
    FILE.write_text(made(loaded))
