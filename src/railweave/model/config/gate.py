"""The gate that replaces secrets in device text. All text from devices passes this gate before it enters a file that is shared.

A device's text is a JSON or XML document, statements in braces, or plain lines. ``secret_words`` finds the secret words
of a statement. Each secret is replaced by ``<hidden>`` or ``<hidden:NAME>``; equal secrets get equal names. No
configuration reader accepts either placeholder. ``named`` turns ``<hidden:NAME>`` into a reference when a statement
enters the fabric file. All other text stays unchanged and on its line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from railweave.model.config.secret_documents import COMMUNITIES, in_document, in_json, in_xml, is_document
from railweave.model.config.secret_statements import FoundSecret, in_braces, in_lines, secrets_of, spans_of
from railweave.model.config.secret_words import HIDDEN, KEY_BEGIN, STEMS
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Replace = Callable[[Sequence[str], str], str]
    """A function that returns the text to replace a secret with. Its arguments are the words before the secret, and the secret's value."""
    Find = Callable[[str], Iterator[FoundSecret]]
    """A function that finds the secrets in a text of one form (JSON, XML, braces or lines)."""

_HIDDEN_NAME = re.compile(r"<hidden:([^<>\s]+)>")
_STANDS_FOR = re.compile(r'"?(?:<secret:[^<>]*>|<hidden(?:[-:][^<>\s]*)?>|&lt;(?:secret|hidden)[^<>]*&gt;)"?')
"""A pattern of the placeholders that replace secrets. Text with a placeholder has already passed the gate."""
_UNNAMED = re.compile(r'"?<hidden(?:-\d+)?>"?')

_END = re.compile(r"(?i)-----? ?END [A-Z0-9 ]{1,40}-----?")
"""A pattern of the line after a key or certificate (RFC 7468, RFC 4716)."""
_SPACE = re.compile(r"(?:\s|\\n|\\r)*")


def gated(text: str, replace: Replace) -> str:
    """Return the text with each secret replaced.

    ``replace`` gets the words before the secret and the secret itself, and returns the replacement.
    """
    if not (STEMS.search(text) or KEY_BEGIN.search(text)):
        return text
    document = re.search(r"^[{\[<]", text, re.MULTILINE)
    if document and document.start() and "\n" in text[: document.start()] and is_document(text[document.start() :]):
        return gated(text[: document.start()], replace) + gated(text[document.start() :], replace)
    begun = text.lstrip()[:1]
    if begun in {"{", "["}:
        edited = _edited(text, _secrets(text, in_json), replace)
        try:
            parse_json(text)
        except ValueError:
            text = (
                edited  # a part of a document, or none: what has its form is without secrets, the rest is read as lines
            )
        else:
            return edited
    text = _without_key_material(text, replace)
    if begun == "<" and is_document(text.lstrip()):
        return _edited(text, _secrets(text, in_xml), replace)
    braces = re.search(r"\{[ \t]*(?:##[^\n]*)?$", text, re.MULTILINE) and re.search(
        r";[ \t]*(?:##[^\n]*)?$", text, re.MULTILINE
    )
    return _edited(text, _secrets(text, in_braces if braces else _in_lines), replace)


def _in_lines(text: str) -> Iterator[FoundSecret]:
    return in_lines(text, in_document)


def _stands_for_secret(value: str) -> bool:
    return _STANDS_FOR.fullmatch(value.rstrip(";,")) is not None


def redacted(text: str) -> str:
    """Return the text with ``<hidden>`` in place of each secret.

    Secrets that are keys of a table get numbers (``<hidden-1>``) if there are several, so that the keys stay different.
    """
    communities: dict[str, str] = {}

    def replace(place: Sequence[str], value: str) -> str:
        if tuple(place) != (COMMUNITIES,):
            return HIDDEN
        return communities.setdefault(value, f"<hidden-{len(communities) + 1}>")

    text = gated(text, lambda _place, value: value if _stands_for_secret(value) else replace(_place, value))
    return text.replace("<hidden-1>", HIDDEN) if len(communities) == 1 else text


def hidden(statement: str) -> str:
    """Return statements for display, with secrets hidden. Each line must begin with the names of its parent statements."""

    def replace(_place: Sequence[str], value: str) -> str:
        return value if _stands_for_secret(value) else HIDDEN

    return "\n".join(
        _edited(line, secrets_of(spans_of(line, 0), (), lines=False), replace) if STEMS.search(line) else line
        for line in _without_key_material(statement, replace).split("\n")
    )


@dataclass
class Gate:
    """The gate for the devices of one network. Equal secrets at the same place of their configurations get the same name on all devices.

    A capture may contain ``<hidden>`` in place of a secret. Railweave then assumes that all devices have the same secret at that place. The
    operator sees the secret's name and supplies its value.
    """

    _names: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    _taken: set[str] = field(default_factory=set[str])

    def text(self, device: str, text: str) -> str:
        """Return the device's text with ``<hidden:NAME>`` in place of each secret. Existing references stay unchanged."""

        def replace(place: Sequence[str], value: str) -> str:
            if _stands_for_secret(value) and not _UNNAMED.fullmatch(value):
                return value
            where = _slug(place)
            key = (where, value.strip('"'))
            if key not in self._names:
                self._names[key] = self._new(where, device)
            return f"<hidden:{self._names[key]}>"

        return gated(text, replace)

    def _new(self, where: str, device: str) -> str:
        """Return an unused name for a secret: the name ``where``, which is formed from the secret's place in the configuration.

        If that name is already used, the device name is added.
        """
        name = where
        if name in self._taken:
            name = base = f"{_slug((device,))}/{where}"[:120]
            number = 1
            while name in self._taken:
                number += 1
                name = f"{base}-{number}"
        self._taken.add(name)
        return name


def named(text: str) -> str:
    """Return a text with references for the fabric file: ``<hidden:NAME>`` from ``Gate.text`` becomes ``<secret:NAME>``."""
    return _HIDDEN_NAME.sub(r"<secret:\1>", text)


def _slug(place: Sequence[str]) -> str:
    words = [re.sub(r"[^A-Za-z0-9_.:@]+", "-", part).strip("-") for part in place]
    return "-".join(word for word in words if word)[-100:].strip("-") or "secret"


@lru_cache(maxsize=64)
def _secrets(text: str, find: Find) -> tuple[FoundSecret, ...]:
    """Return the secrets of a text that the function ``find`` finds.

    The result is cached: a change reads the texts of its devices again after each step, and most texts are unchanged.
    """
    return tuple(find(text))


def _edited(text: str, secrets: Iterable[FoundSecret], replace: Replace) -> str:
    """Return the text with each secret replaced. Line breaks inside a secret are kept, so that other text stays on its line."""
    edits = [(secret.start, secret.end, secret.written(replace(secret.place, secret.value))) for secret in secrets]
    parts: list[str] = []
    at = 0
    for start, end, by in sorted(edits):
        parts += [text[at:start], by, "\n" * text.count("\n", start, end)]
        at = end
    return "".join([*parts, text[at:]])


def _key_material(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each key or certificate in a text. Without its END line, it ends before the next one, or with the text.

    Keys and certificates with nothing but blanks between them are one.
    """
    blocks: list[tuple[int, int]] = []
    begins = [match.start() for match in KEY_BEGIN.finditer(text)]
    for number, start in enumerate(begins):
        following = begins[number + 1] if number + 1 < len(begins) else len(text)
        end = _END.search(text, start, following)
        past = end.end() if end else start + len(text[start:following].rstrip())
        if blocks and _SPACE.fullmatch(text, blocks[-1][1], start):
            blocks[-1] = (blocks[-1][0], past)
        else:
            blocks.append((start, past))
    return blocks


def _without_key_material(text: str, replace: Replace) -> str:
    """Return the text with each key or certificate, and the quotation marks around it, replaced by ``replace``.

    The number of lines stays the same.
    """
    if not KEY_BEGIN.search(text):
        return text

    def material() -> Iterator[FoundSecret]:
        for first, past in _key_material(text):
            start, end = first, past
            before = re.search(r'"(?:\s|\\n|\\r)*$', text[max(0, start - 200) : start])
            after = _SPACE.match(text, end)
            behind = after.end() if after else end
            if before and text[behind : behind + 1] == '"':
                start, end = start - len(before[0]), behind + 1
            line = text[max(text.rfind("\n", 0, start) + 1, start - 200) : start]
            yield FoundSecret(start, end, line.split()[-3:], text[start:end])

    return _edited(text, material(), replace)
