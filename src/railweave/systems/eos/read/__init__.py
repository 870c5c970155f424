"""Reader of Arista EOS's running configuration, whether railweave or someone else wrote it.

Each module of this package reads one area, for example QoS, and marks the lines that it understands. ``reads`` in
``system.yaml`` lists known settings that ``DeviceConfig`` does not represent.
"""

from __future__ import annotations

import bisect
import json
import re
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import RenderError
from railweave.model.catalog import catalog
from railweave.model.config.section_tree import sections
from railweave.model.config.sections import Section, SectionReader
from railweave.model.device.reading import Reading, classify_statements
from railweave.reading import parse_json
from railweave.systems.eos.changes import config_tree
from railweave.systems.eos.read.device import device
from railweave.systems.eos.read.values import redacted
from railweave.systems.eos.tree import to_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from railweave.model.config.sections import Known
    from railweave.model.config.tree import ConfigTree, Node


DEEPEST = 32
"""The greatest depth of sections (EOS has about five levels). Lines that are indented further count as lines of this level."""

_TAB = 3
_ENDS = {"end", "exit"}
_PROMPT = re.compile(r"[\w.-]+(?:\([\w. /-]*\))?[#>] ?(?:(?:sh|sho|show|en|enable|ter|term|terminal|exit|more)\b.*)?")
_MORE = "--More--"
_BANNER = re.compile(r"banner (?:login|motd|exec)")
_TEXT = re.compile(r"action bash|comment|code(?: unit \S+)?")
"""A pattern of lines that begin a text of several lines, for example a comment. A line ``EOF`` ends the text."""


def sections_of(text: str) -> list[Section]:
    """Return the statements of a running configuration, each with its line number.

    ``text`` has lines, or the JSON that EOS prints. Any other JSON has no statements. Raises ``RenderError``, with the line number, if
    JSON is malformed or a banner does not end.
    """
    return _of_json(text) if text.lstrip()[:1] in {"{", "["} else _of_lines(text)


def device_line(text: str) -> tuple[str, str]:
    """Return (model, release) from the comment ``! device:`` in a running configuration. Both are empty if there is no such comment."""
    match = re.search(r"^! device: \S+ \(([^,()\s]+), EOS-([\w.]+)", text, re.MULTILINE)
    return (match[1], match[2]) if match else ("", "")


def _of_lines(text: str) -> list[Section]:
    top = Section("", [])
    stack: list[tuple[int, Section]] = [(-1, top)]
    lines = text.replace("\r", "").split("\n")
    ends = [at for at, line in enumerate(lines) if line.strip() == "EOF"]
    after = 0
    for at, raw in enumerate(lines):
        words = raw.strip()
        if at < after or not words or words[0] == "!" or words in _ENDS:
            continue
        depth = _depth(raw)
        if depth == 0 and (_PROMPT.fullmatch(words) or words.startswith(_MORE)):
            continue
        if _TEXT.fullmatch(words) or _BANNER.fullmatch(words):
            place = bisect.bisect_left(ends, at)
            if place < len(ends):
                after = ends[place] + 1
                words = "\n".join([words, *lines[at + 1 : after - 1], "EOF"])
            elif words.startswith("banner"):
                raise RenderError("no line EOF ends the text of the banner", at + 1)
        while stack[-1][0] >= depth:
            stack.pop()
        parent = stack[-1][1]
        if parent.body is None:
            parent.body = []
        made = Section(words, at=at + 1)
        parent.body.append(made)
        if len(stack) < DEEPEST:
            stack.append((depth, made))
    return top.body or []


def _depth(raw: str) -> int:
    blank = raw[: len(raw) - len(raw.lstrip())]
    return len(blank.expandtabs(_TAB) if "\t" in blank else blank)


def _of_json(text: str) -> list[Section]:
    try:
        document: Any = parse_json(text)
        commands = _commands(document)
    except json.JSONDecodeError as error:
        raise RenderError(f"this is no JSON: {error.msg}", error.lineno) from None
    except (RecursionError, ValueError):  # a number with thousands of digits
        raise RenderError("this is no configuration in JSON", 1) from None
    return list(_sections(commands, _Lines(text), 0)) if commands is not None else []


def _commands(document: object) -> dict[str, Any] | None:
    """Return the commands (``cmds``) in the output of ``show running-config | json``, or None if the output has none.

    Each command maps to the commands below it. The output may be that of the CLI or of eAPI.
    """
    if isinstance(document, list):
        document = next(iter(cast("list[Any]", document)), None)
    if not isinstance(document, dict):
        return None
    answer = cast("dict[str, Any]", document)
    if "result" in answer:
        return _commands(answer["result"])
    commands = answer.get("cmds")
    return cast("dict[str, Any]", commands) if isinstance(commands, dict) else None


class _Lines:
    """A search for the line numbers of keys in a JSON text. Keys must be requested in the order in which the text has them."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._line = 1

    def of(self, key: str) -> int:
        """Return the line number of the next occurrence of a key. If there is none, return the line number of the previous key."""
        at = self._text.find(json.dumps(key, ensure_ascii=False), self._place)
        if at >= 0:
            self._line += self._text.count("\n", self._place, at)
            self._place = at
        return self._line


def _sections(commands: dict[str, Any], lines: _Lines, depth: int) -> Iterator[Section]:
    for key, value in commands.items():
        words = key.strip()
        if not words or words[0] == "!" or words in _ENDS or depth > DEEPEST:
            continue
        at = lines.of(key)
        inner: object = cast("dict[str, Any]", value).get("cmds") if isinstance(value, dict) else None
        body = list(_sections(cast("dict[str, Any]", inner), lines, depth + 1)) if isinstance(inner, dict) else []
        yield Section(words, body or None, at)


__all__ = ["parsed", "printed", "read"]

_TWO = {"router", "management", "vrf", "qos", "platform", "aaa", "ip", "ipv6", "mac", "system", "monitor", "service"}
"""The first words of headers that identify a section only together with the second word, for example ``router bgp``."""
_PLAIN = re.compile(r"[a-z][a-z-]*")


def read(texts: Mapping[str, str]) -> Reading:
    """Return the configuration of one device, read from all its texts together. ``avd.json`` has no EOS statements, so it is ignored.

    Raises ``RenderError``, with the line number, if a text is malformed.
    """
    of_file = {name: sections_of(text) for name, text in texts.items()}
    reader = SectionReader([section for parts in of_file.values() for section in parts])
    headers = (device_line(text) for text in texts.values())
    model, release = next((header for header in headers if header[0]), ("", ""))
    config = device(reader, model, release)
    files = {id(section): name for name, parts in of_file.items() for section in parts}
    wanted = catalog().systems["eos"].reads.irrelevant
    statements = [
        statement for name, lines in _by_file(reader, files) for statement in classify_statements(name, lines, wanted)
    ]
    return Reading(config, tuple(statements))


def _by_file(
    reader: SectionReader, files: Mapping[int, str]
) -> Iterator[tuple[str, list[tuple[int, str, str, Known]]]]:
    """Yield (file name, its lines). Each line is (line number, its top-level section such as ``router bgp``, its path, its mark).

    The mark is ``understood``, ``irrelevant``, or empty for a line that is not understood. ``files`` has the file name of each top-level
    section, by the ``id()`` of the section. ``reader`` has the lines of the configuration.
    """
    lines: dict[str, list[tuple[int, str, str, Known]]] = {name: [] for name in files.values()}
    here, hierarchy = "", ""
    for section, path, understood in reader.lines():
        if id(section) in files:
            here, hierarchy = files[id(section)], _hierarchy(section.line)
        lines[here].append((section.at, hierarchy, redacted(path.partition("\n")[0]), understood))
    yield from lines.items()


def _hierarchy(line: str) -> str:
    """Return the one or two words that identify the section of a top-level line, for example ``router bgp``."""
    words = line.removeprefix("no ").removeprefix("default ").split()
    if len(words) > 1 and words[0] in _TWO and _PLAIN.fullmatch(words[1]):
        return " ".join(words[:2])
    return words[0] if words else line


def parsed(file: str, text: str) -> ConfigTree:
    """Return ``text`` as a tree of lines and sections. ``file`` is ignored.

    Raises ``RenderError``, with the line number, if the text is malformed.
    """
    del file
    return config_tree(sections_of(text))


def printed(file: str, nodes: Sequence[Node]) -> str:
    """Return the nodes of a tree (lines and sections) as text. ``file`` is ignored."""
    del file
    return to_text(sections(nodes))
