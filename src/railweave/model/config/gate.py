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
from typing import TYPE_CHECKING, NamedTuple

from railweave.model.config.secret_words import HIDDEN, INSIDE, SHAPE, STEMS, secret_words
from railweave.reading import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    Replace = Callable[[Sequence[str], str], str]
    """A function that returns the text to replace a secret with. Its arguments are the words before the secret, and the secret's value."""
    Find = Callable[[str], Iterator["_Secret"]]
    """A function that finds the secrets in a text of one form (JSON, XML, braces or lines)."""

_HIDDEN_NAME = re.compile(r"<hidden:([^<>\s]+)>")
_STANDS_FOR = re.compile(r'"?(?:<secret:[^<>]*>|<hidden(?:[-:][^<>\s]*)?>|&lt;(?:secret|hidden)[^<>]*&gt;)"?')
"""A pattern of the placeholders that replace secrets. Text with a placeholder has already passed the gate."""
_UNNAMED = re.compile(r'"?<hidden(?:-\d+)?>"?')
_KEY_MATERIAL = re.compile(
    r"(?:-----BEGIN (?!(?:[A-Z0-9]+ )*PUBLIC KEY)[A-Z0-9 ]{1,40}-----(?:(?!-----BEGIN )[\s\S])*?(?:-----END [A-Z0-9 ]{1,40}-----(?:\s|\\n)*|\Z))+"
)
"""A pattern of keys and certificates in PEM (RFC 7468). If the END line is missing, everything after BEGIN matches."""
_SPACE = re.compile(r"(?:\s|\\n|\\r)*")
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]\S*|"')
_TOKEN = re.compile(r'/\*[\s\S]*?\*/|\#[^\n]*|"(?:[^"\\]|\\.)*"|[{};\[\]]|[^\s{};\[\]"]+|"')
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_TAG = re.compile(
    r"<((?:[\w-]+:)?([\w.-]+))(?:\s[^<>]{0,200})?>\s*([^<>]+?)\s*</\1>|<((?:[\w-]+:)?([\w.-]+))(?:\s[^<>]{0,200})?(/?)>|</[\w:.-]+>"
)
_SECRET_MARK = "SECRET-DATA"  # noqa: S105 - Junos writes it behind every statement with a secret
_BANNER = re.compile(r"banner (?:login|motd|exec)\s*$")
_JSON_KEY = re.compile(
    r"(?i)(?:.*[-_.])?(?:passwd|password|passkey|passphrase|secret|psk|cak|token|credential|bindpw|apikey"
    r"|(?:auth|authentication|privacy|priv|private|shared|api|access|secret|encryption|md|digest|server)[-_]?key|key[-_]?string)"
    r"(?:[-_]?(?:hash|hashed|encrypted|value|data))?|snmp[-_]community"
)
"""A pattern of JSON keys whose values are secrets."""
_KEY_FILE = re.compile(r"/(?:[\w.-]+/)+[\w.-]+\.(?:key|pem|cer|crt)")
"""A pattern of paths to key files. A path is not a secret."""
_COMMUNITIES = "SNMP_COMMUNITY"
"""The SONiC table whose keys are secrets."""


class _Secret(NamedTuple):
    """The secret ``value`` in a text, from offset ``start`` to ``end``."""

    start: int
    end: int
    place: Sequence[str]
    """The words before the secret, from which its name is made."""
    value: str
    written: Callable[[str], str] = str
    """A function that writes the replacement in the notation of the text, for example quoted."""


def gated(text: str, replace: Replace) -> str:
    """Return the text with each secret replaced.

    ``replace`` gets the words before the secret and the secret itself, and returns the replacement.
    """
    if not (STEMS.search(text) or "-----BEGIN " in text):
        return text
    begun = text.lstrip()[:1]
    if begun in {"{", "["}:
        edited = _edited(text, _secrets(text, _json), replace)
        try:
            parse_json(text)
        except ValueError:
            text = (
                edited  # a part of a document, or none: what has its form is without secrets, the rest is read as lines
            )
        else:
            return edited
    text = _without_key_material(text, replace)
    if begun == "<" and re.match(r"\s*<[?!/\w]", text):
        return _edited(text, _secrets(text, _xml), replace)
    braces = re.search(r"\{[ \t]*(?:##[^\n]*)?$", text, re.MULTILINE) and re.search(
        r";[ \t]*(?:##[^\n]*)?$", text, re.MULTILINE
    )
    return _edited(text, _secrets(text, _braces if braces else _lines), replace)


def redacted(text: str) -> str:
    """Return the text with ``<hidden>`` in place of each secret.

    Secrets that are keys of a table get numbers (``<hidden-1>``) if there are several, so that the keys stay different.
    """
    communities: dict[str, str] = {}

    def replace(place: Sequence[str], value: str) -> str:
        if tuple(place) != (_COMMUNITIES,):
            return HIDDEN
        return communities.setdefault(value, f"<hidden-{len(communities) + 1}>")

    text = gated(text, lambda _place, value: value if _STANDS_FOR.fullmatch(value) else replace(_place, value))
    return text.replace("<hidden-1>", HIDDEN) if len(communities) == 1 else text


def hidden(statement: str) -> str:
    """Return statements for display, with secrets hidden. Each line must begin with the names of its parent statements."""

    def replace(_place: Sequence[str], value: str) -> str:
        return value if _STANDS_FOR.fullmatch(value) else HIDDEN

    return "\n".join(
        _edited(line, _words(_spans(line, 0), (), lines=False), replace) if STEMS.search(line) else line
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
            if _STANDS_FOR.fullmatch(value) and not _UNNAMED.fullmatch(value):
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
def _secrets(text: str, find: Find) -> tuple[_Secret, ...]:
    """Return the secrets of a text that the function ``find`` finds.

    The result is cached: a change reads the texts of its devices again after each step, and most texts are unchanged.
    """
    return tuple(find(text))


def _edited(text: str, secrets: Iterable[_Secret], replace: Replace) -> str:
    """Return the text with each secret replaced. Line breaks inside a secret are kept, so that other text stays on its line."""
    edits = [(secret.start, secret.end, secret.written(replace(secret.place, secret.value))) for secret in secrets]
    parts: list[str] = []
    at = 0
    for start, end, by in sorted(edits):
        parts += [text[at:start], by, "\n" * text.count("\n", start, end)]
        at = end
    return "".join([*parts, text[at:]])


def _without_key_material(text: str, replace: Replace) -> str:
    """Return the text with each key or certificate, and the quotation marks around it, replaced by ``replace``.

    The number of lines stays the same.
    """
    if "-----BEGIN " not in text:
        return text

    def material() -> Iterator[_Secret]:
        for match in _KEY_MATERIAL.finditer(text):
            start, end = match.start(), match.start() + len(match[0].rstrip())
            before = re.search(r'"(?:\s|\\n|\\r)*$', text[max(0, start - 200) : start])
            after = _SPACE.match(text, end)
            behind = after.end() if after else end
            if before and text[behind : behind + 1] == '"':
                start, end = start - len(before[0]), behind + 1
            line = text[text.rfind("\n", 0, start) + 1 : start]
            yield _Secret(start, end, line.split()[-3:], text[start:end])

    return _edited(text, material(), replace)


def _spans(text: str, at: int) -> list[tuple[str, int, int]]:
    """Return the words of a statement as (word, start, end). ``at`` is the offset of the statement in the whole text."""
    return [(match[0], match.start() + at, match.end() + at) for match in _WORD.finditer(text) if match[0] != "/"]


def _words(spans: Sequence[tuple[str, int, int]], above: Sequence[str], *, lines: bool) -> Iterator[_Secret]:
    words = [*above, *(word for word, _, _ in spans)]
    base = len(above)
    secrets = [
        (first, past, spans[first - base][1], spans[past - 1 - base][2])
        for first, past in secret_words(words, base, lines=lines)
    ]
    taken = {number for first, past, _, _ in secrets for number in range(first, past)}
    for number, (word, start, _) in enumerate(spans, base):
        if number not in taken:
            bearer = number > base and words[number - 1].strip("\"':").lower() == "bearer"
            inside = _inside(word, bearer=bearer)
            secrets += [(number, number + 1, start + first, start + past) for first, past in inside]
    taken |= {first for first, _, _, _ in secrets}
    shown = ["" if number in taken else word for number, word in enumerate(words)]
    for first, past, start, end in secrets:
        value = " ".join(words[first:past])
        if past == first + 1:
            value = value[start - spans[first - base][1] : len(value) + end - spans[first - base][2]]
        yield _Secret(start, end, _place(shown, base, first), value)


def _inside(word: str, *, bearer: bool) -> list[tuple[int, int]]:
    """Return the spans (start, end) inside a word that look like secrets. If ``bearer`` is True, the whole word is a secret.

    ``bearer`` is True after the word ``bearer`` of an HTTP login.
    """
    bare = word.strip("\"'")
    start = word.find(bare)
    if bearer:
        return [(start, start + len(bare))]
    if SHAPE.fullmatch(bare):
        return [(0, len(word))]
    spans = [match.span() for match in SHAPE.finditer(word)]
    inside = [match.span("value") for match in INSIDE.finditer(word)]
    return spans + [span for span in inside if not any(span[0] < past and first < span[1] for first, past in spans)]


def _place(shown: Sequence[str], base: int, first: int) -> list[str]:
    """Return up to five words before a secret, from which its name is made. Words that are secrets themselves are left out.

    ``shown`` holds the words of parent lines and then, from index ``base``, the words of the statement. ``first`` is the index of the
    secret. If fewer than three words of the statement precede the secret, words of the parent lines are included.
    """
    before = [word for word in shown[base:first] if word]
    if len(before) < 3:
        before = [word for word in shown[:first] if word]
    return [word for word in before if word != "set"][-5:]


def _cleaned(words: Iterable[str]) -> list[str]:
    """Return the words of a parent line, with an empty string in place of each secret."""
    words = list(words)
    taken = {number for first, past in secret_words(words) for number in range(first, past)}
    return ["" if number in taken or _inside(word, bearer=False) else word for number, word in enumerate(words)]


def _lines(text: str) -> Iterator[_Secret]:
    """Yield the secrets of a text of indented lines. The parents of a line are the earlier lines with less indentation."""
    above: list[tuple[int, list[str]]] = []
    place, banner = 0, False
    for line in text.split("\n"):
        bare = line.strip()
        if banner:
            banner = bare != "EOF"
            yield from _shapes(line, place)
        elif bare:
            column = len(line) - len(line.lstrip())
            while above and above[-1][0] >= column:
                above.pop()
            if STEMS.search(line):
                statement, mark, _ = line.partition(f"## {_SECRET_MARK}")
                outside = [word for _, words in above for word in words]
                find = _marked if mark else _words
                yield from find(_spans(statement, place), outside, lines=not bare.startswith(("set ", "activate ")))
            if _BANNER.match(bare):
                banner = True
            if column or not bare.startswith(("set ", "!")):
                above.append((column, _cleaned(bare.split()) if STEMS.search(line) else bare.split()[:8]))
        place += len(line) + 1


def _shapes(text: str, at: int) -> Iterator[_Secret]:
    """Yield the secrets in free text that are recognized by their form, such as password hashes. ``at`` is the text's offset."""
    for match in SHAPE.finditer(text):
        yield _Secret(at + match.start(), at + match.end(), ("text",), match[0])


def _marked(spans: Sequence[tuple[str, int, int]], above: Sequence[str], *, lines: bool = False) -> Iterator[_Secret]:
    """Yield the secrets of a statement that the system itself marks as secret.

    If no secret is recognized, yield the last word. ``spans`` has the statement's words, ``above`` the words of its parents.
    """
    secrets = list(_words(spans, above, lines=lines))
    if not secrets and spans:
        words = [*above, *(token for token, _, _ in spans)]
        word, start, end = spans[-1]
        secrets.append(_Secret(start, end, _place(words, len(above), len(words) - 1), word))
    yield from secrets


def _braces(text: str) -> Iterator[_Secret]:
    """Yield the secrets of statements in braces.

    Only statements with a word of ``STEMS``, or with a parent that has such a word, are searched.
    """
    above: list[list[str]] = []
    stems: list[bool] = [False]
    statement: list[tuple[str, int, int]] = []
    ended: list[tuple[str, int, int]] = []

    def bears(spans: Sequence[tuple[str, int, int]]) -> bool:
        return stems[-1] or bool(spans and STEMS.search(text, spans[0][1], spans[-1][2]))

    def parents() -> list[str]:
        return [part for words in above for part in words]

    def secrets(spans: Sequence[tuple[str, int, int]]) -> Iterable[_Secret]:
        return _words(spans, parents(), lines=False) if bears(spans) else ()

    for token in _TOKEN.finditer(text):
        word = token[0]
        if word[0] == "#" or word.startswith("/*"):
            if _SECRET_MARK in word and ended:
                yield from _marked(ended, parents())
                ended = []
            continue
        yield from secrets(ended)
        ended = []
        if word == "{":
            yield from secrets([*statement, (word, token.start(), token.end())])
            stems.append(bears(statement))
            words = [*(part for part, _, _ in statement), word]
            outside = parents() if stems[-1] else []
            above.append((_cleaned([*outside, *words])[len(outside) :] if stems[-1] else words)[:-1])
            statement = []
        elif word in {"}", ";"}:
            if word == ";":
                ended = statement
            else:
                yield from secrets(statement)
                del above[-1:], stems[max(1, len(stems) - 1) :]
            statement = []
        elif word not in {"[", "]"}:
            statement.append((word, token.start(), token.end()))
    yield from secrets(ended)
    yield from secrets(statement)


def _xml(text: str) -> Iterator[_Secret]:
    """Yield the secrets in the text of XML elements.

    The names of an element and its parents decide if its text is a secret.
    """
    above: list[str] = []
    for tag in _TAG.finditer(text):
        if tag[2] is not None:
            words = [*above, tag[2], tag[3]]
            place = list(secret_words(words, len(above)))
            shaped = SHAPE.search(tag[3])
            in_snmp = tag[2] == "name" and above[-1:] == ["community"] and "snmp" in above
            if place or shaped or in_snmp:
                yield _Secret(tag.start(3), tag.end(3), [*above, tag[2]][-3:], tag[3], _escaped)
        elif tag[5] is not None:
            if not tag[6]:
                above.append(tag[5])
        elif above:
            above.pop()


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _json(text: str) -> Iterator[_Secret]:
    """Yield the secrets of a JSON document: values of secret keys, table keys that are secrets, and secrets inside strings."""
    path: list[str | None] = []
    key: str | None = None
    tokens = list(_JSON_TOKEN.finditer(text))
    for number, token in enumerate(tokens):
        word = token[0]
        if word in {"{", "["}:
            path.append(key)
            key = None
        elif word in {"}", "]"}:
            del path[-1:]
            key = None
        elif word == ",":
            key = None
        elif word == ":":
            continue
        elif word[0] == '"' and number + 1 < len(tokens) and tokens[number + 1][0] == ":":
            key = word[1:-1]
            names = [name for name in path if name]
            if path and path[-1] == _COMMUNITIES:
                yield _Secret(token.start() + 1, token.end() - 1, (_COMMUNITIES,), key)
                key = ""
            elif key.startswith(f"{_COMMUNITIES}|"):
                start = token.start() + 1 + len(_COMMUNITIES) + 1
                yield _Secret(start, token.end() - 1, (_COMMUNITIES,), key.partition("|")[2])
            else:
                yield from _text_of_json(key, token.start() + 1, names)
        else:
            yield from _value_of_json(token, path, key)
            if path and tokens[number - 1][0] != ":":
                key = None


def _value_of_json(token: re.Match[str], path: Sequence[str | None], key: str | None) -> Iterator[_Secret]:
    word, names = token[0], [part for part in (*path, key) if part]
    last = names[-1] if names else ""
    under = any(name.startswith("NTP_KEY") for name in names) and last == "value"
    community = last.casefold() == "community" and any("snmp" in name.casefold() for name in names[:-1])
    if _JSON_KEY.fullmatch(last) or under or community:
        if word[0] == '"':
            value = word[1:-1]
            if value and not _KEY_FILE.fullmatch(value):
                yield _Secret(token.start() + 1, token.end() - 1, names[-4:], value)
        elif word not in {"null", "true", "false"}:
            yield _Secret(token.start(), token.end(), names[-4:], word, '"{}"'.format)
    elif word[0] == '"':
        yield from _text_of_json(word[1:-1], token.start() + 1, names)


def _text_of_json(text: str, at: int, above: Sequence[str]) -> Iterator[_Secret]:
    """Yield the secrets of a JSON string that may contain configuration lines, separated by escaped newlines.

    ``at`` is the offset of the string; ``above`` has the keys that lead to it.
    """
    if not STEMS.search(text) and "-----BEGIN " not in text:
        return
    if "-----BEGIN " in text and _KEY_MATERIAL.search(text):
        yield _Secret(at, at + len(text), above[-3:], text)
        return
    place = at
    for line in text.split("\\n"):
        yield from _words(_spans(line, place), above[-3:], lines=False)
        place += len(line) + 2
