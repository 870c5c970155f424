"""Arista EOS's running configuration read back: what ``render`` writes, and what others have written.

What a subject's module takes of the text is understood; ``system.yaml`` says what of it cannot be said (``reads``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.config.section_tree import sections
from railweave.model.config.taking import Taking
from railweave.model.device.reading import Reading, said
from railweave.systems.eos.changes import config_tree
from railweave.systems.eos.read.device import device
from railweave.systems.eos.read.text import device_line, sections_of
from railweave.systems.eos.read.values import redacted
from railweave.systems.eos.tree import to_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.config.tree import ConfigTree, Node

__all__ = ["parsed", "printed", "read"]

_TWO = {"router", "management", "vrf", "qos", "platform", "aaa", "ip", "ipv6", "mac", "system", "monitor", "service"}
"""First words of headers that a second one tells apart."""
_PLAIN = re.compile(r"[a-z][a-z-]*")


def read(texts: Mapping[str, str]) -> Reading:
    """The configuration that the texts of one device hold together; JSON of AVD says it again, and is not read.

    Raises ``RenderError`` with the line where a text is broken.
    """
    own = {name: sections_of(text) for name, text in texts.items()}
    taking = Taking([one for found in own.values() for one in found])
    headers = (device_line(text) for text in texts.values())
    model, release = next((one for one in headers if one[0]), ("", ""))
    config = device(taking, model, release)
    files = {id(one): name for name, found in own.items() for one in found}
    wanted = catalog().systems["eos"].reads.irrelevant
    statements = [one for name, lines in _by_file(taking, files) for one in said(name, lines, wanted)]
    return Reading(config, tuple(statements))


def _by_file(taking: Taking, files: Mapping[int, str]) -> Iterator[tuple[str, list[tuple[int, str, str, bool]]]]:
    """The lines of each file: number, part of the configuration, path, and whether they were understood."""
    found: dict[str, list[tuple[int, str, str, bool]]] = {name: [] for name in files.values()}
    here, hierarchy = "", ""
    for section, path, understood in taking.lines():
        if id(section) in files:
            here, hierarchy = files[id(section)], _hierarchy(section.line)
        found[here].append((section.at, hierarchy, redacted(path.partition("\n")[0]), understood))
    yield from found.items()


def _hierarchy(line: str) -> str:
    """The first words of a line at the top, without names: ``router bgp``, ``interface``."""
    words = line.removeprefix("no ").removeprefix("default ").split()
    if len(words) > 1 and words[0] in _TWO and _PLAIN.fullmatch(words[1]):
        return " ".join(words[:2])
    return words[0] if words else line


def parsed(file: str, text: str) -> ConfigTree:
    """A text as a tree of lines and sections. Raises ``RenderError`` with the line where it is broken."""
    del file
    return config_tree(sections_of(text))


def printed(file: str, nodes: Sequence[Node]) -> str:
    """Such a tree as text."""
    del file
    return to_text(sections(nodes))
