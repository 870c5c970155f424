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

from railweave.model.config.secret_paths import announces, is_secret, is_secret_name
from railweave.model.config.secret_words import (
    HIDDEN,
    PLAIN,
    SHAPE,
    STEMS,
    inside_word,
    is_announced,
    labelled,
    secret_words,
)
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
_BEGIN = re.compile(r"(?i)-----? ?BEGIN (?!(?:[A-Z0-9]+ ){0,8}PUBLIC KEY)[A-Z0-9 ]{1,40}-----?")
_END = re.compile(r"(?i)-----? ?END [A-Z0-9 ]{1,40}-----?")
"""Patterns of the lines around keys and certificates (RFC 7468, RFC 4716)."""
_SPACE = re.compile(r"(?:\s|\\n|\\r)*")
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]\S*|"')
_TOKEN = re.compile(r'/\*[\s\S]*?\*/|\#[^\n]*|"(?:[^"\\]|\\.)*"|[{};\[\]]|[^\s{};\[\]"]+|"')
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|[{}\[\],:]|[^\s{}\[\],:"]+')
"""A pattern of the tokens of JSON. A string that breaks off reaches to the end of the text."""
_XML_TOKEN = re.compile(
    r"<!--[\s\S]*?(?:-->|\Z)|<!\[CDATA\[[\s\S]*?(?:\]\]>|\Z)|<[?!/]?(?:[\w.-]+:)?[\w.-]*(?:\"[^\"]*\"|'[^']*'|[^<>\"'])*>?|[^<]+"
)
_ATTRIBUTE = re.compile(r"([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_SECRET_MARK = "SECRET-DATA"  # noqa: S105 - Junos writes it behind every statement with a secret
_BANNER = re.compile(r"banner (?:login|motd|exec)\s*$")
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
    if not (STEMS.search(text) or _BEGIN.search(text)):
        return text
    document = re.search(r"^[{\[<]", text, re.MULTILINE)
    if document and document.start() and "\n" in text[: document.start()] and _is_document(text[document.start() :]):
        return gated(text[: document.start()], replace) + gated(text[document.start() :], replace)
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
    if begun == "<" and _is_document(text.lstrip()):
        return _edited(text, _secrets(text, _xml), replace)
    braces = re.search(r"\{[ \t]*(?:##[^\n]*)?$", text, re.MULTILINE) and re.search(
        r";[ \t]*(?:##[^\n]*)?$", text, re.MULTILINE
    )
    return _edited(text, _secrets(text, _braces if braces else _lines), replace)


def _is_document(text: str) -> bool:
    """Return True if a text begins as JSON or XML does. Junos prints ``{master:0}`` above its answers."""
    return bool(re.match(r'[{\[]\s*(?:["{\[\]}]|$)|<(?!hidden|secret)[?!/\w]', text))


def redacted(text: str) -> str:
    """Return the text with ``<hidden>`` in place of each secret.

    Secrets that are keys of a table get numbers (``<hidden-1>``) if there are several, so that the keys stay different.
    """
    communities: dict[str, str] = {}

    def replace(place: Sequence[str], value: str) -> str:
        if tuple(place) != (_COMMUNITIES,):
            return HIDDEN
        return communities.setdefault(value, f"<hidden-{len(communities) + 1}>")

    text = gated(
        text, lambda _place, value: value if _STANDS_FOR.fullmatch(value.rstrip(";,")) else replace(_place, value)
    )
    return text.replace("<hidden-1>", HIDDEN) if len(communities) == 1 else text


def hidden(statement: str) -> str:
    """Return statements for display, with secrets hidden. Each line must begin with the names of its parent statements."""

    def replace(_place: Sequence[str], value: str) -> str:
        return value if _STANDS_FOR.fullmatch(value.rstrip(";,")) else HIDDEN

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
            if _STANDS_FOR.fullmatch(value.rstrip(";,")) and not _UNNAMED.fullmatch(value):
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


def _key_material(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each key or certificate in a text. Without its END line, it ends before the next one, or with the text.

    Keys and certificates with nothing but blanks between them are one.
    """
    blocks: list[tuple[int, int]] = []
    begins = [match.start() for match in _BEGIN.finditer(text)]
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
    if not _BEGIN.search(text):
        return text

    def material() -> Iterator[_Secret]:
        for first, past in _key_material(text):
            start, end = first, past
            before = re.search(r'"(?:\s|\\n|\\r)*$', text[max(0, start - 200) : start])
            after = _SPACE.match(text, end)
            behind = after.end() if after else end
            if before and text[behind : behind + 1] == '"':
                start, end = start - len(before[0]), behind + 1
            line = text[max(text.rfind("\n", 0, start) + 1, start - 200) : start]
            yield _Secret(start, end, line.split()[-3:], text[start:end])

    return _edited(text, material(), replace)


def _spans(text: str, at: int) -> list[tuple[str, int, int]]:
    """Return the words of a statement as (word, start, end). ``at`` is the offset of the statement in the whole text."""
    return [(match[0], match.start() + at, match.end() + at) for match in _WORD.finditer(text) if match[0] != "/"]


def _words(spans: Sequence[tuple[str, int, int]], above: Sequence[str], *, lines: bool) -> Iterator[_Secret]:
    words = [*above, *(word for word, _, _ in spans)]
    base = len(above)
    if len(spans) > _MOST_WORDS:  # no statement is as long: its words say nothing
        yield from (_Secret(start, end, ("text",), word) for word, start, end in spans if not PLAIN.fullmatch(word))
        return
    secrets = [
        (first, past, spans[first - base][1], spans[past - 1 - base][2])
        for first, past in (*secret_words(words, base, lines=lines), *labelled(words, base))
    ]
    secrets = [
        secret
        for at, secret in enumerate(secrets)
        if not any(secret[0] < past and first < secret[1] for first, past, _, _ in secrets[:at])
    ]
    taken = {number for first, past, _, _ in secrets for number in range(first, past)}
    for number, (word, start, _) in enumerate(spans, base):
        if number not in taken:
            inside = _inside(word, whole=number > base and is_announced(words[base:number]))
            secrets += [(number, number + 1, start + first, start + past) for first, past in inside]
    taken |= {first for first, _, _, _ in secrets}
    shown = ["" if number in taken else word for number, word in enumerate(words)]
    for first, past, start, end in secrets:
        value = " ".join(words[first:past])
        if past == first + 1:
            value = value[start - spans[first - base][1] : len(value) + end - spans[first - base][2]]
        yield _Secret(start, end, _place(shown, base, first), value)


def _inside(word: str, *, whole: bool) -> list[tuple[int, int]]:
    """Return the spans (start, end) inside a word that look like secrets. If ``whole`` is True, the whole word is one."""
    if len(word) > _LONGEST_WORD:
        return [(0, len(word))]
    bare = word.strip("\"'")
    start = word.find(bare)
    if not whole and len(word) < _SHORTEST_BASE64 and _SIGNS.isdisjoint(word):
        return []
    if whole:
        return [(start, start + len(bare))]
    if SHAPE.fullmatch(bare):
        return [(0, len(word))]
    spans = [match.span() for match in SHAPE.finditer(word)]
    for span in inside_word(word):
        if not any(span[0] < past and first < span[1] for first, past in spans):
            spans.append(span)
    return spans


def _place(shown: Sequence[str], base: int, first: int) -> list[str]:
    """Return up to five words before a secret, from which its name is made. Words that are secrets themselves are left out.

    ``shown`` holds the words of parent lines and then, from index ``base``, the words of the statement. ``first`` is the index of the
    secret. If fewer than three words of the statement precede the secret, words of the parent lines are included.
    """
    before = [word for word in shown[base:first] if word]
    if len(before) < 3:
        before = [word for word in shown[:first] if word]
    return [word for word in before if word != "set"][-5:]


_MOST_PARENTS = 24
_MOST_WORDS, _LONGEST_WORD, _SHORTEST_BASE64 = 400, 2000, 40
_SIGNS = frozenset("=:$.")
"""A secret of its own form has at least one of these."""


def _cleaned(words: Iterable[str]) -> list[str]:
    """Return the words of a parent line, with an empty string in place of each secret."""
    words = list(words)
    taken = {number for first, past in secret_words(words) for number in range(first, past)}
    return ["" if number in taken or _inside(word, whole=False) else word for number, word in enumerate(words)]


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
            if STEMS.search(line) and bare[0] in "{[<" and _is_document(bare):  # one among lines
                secrets = (_xml if bare[0] == "<" else _json)(line)
                yield from (secret._replace(start=secret.start + place, end=secret.end + place) for secret in secrets)
            elif STEMS.search(line):
                statement, mark, _ = line.partition(f"## {_SECRET_MARK}")
                outside = [word for words in _near_lines([words for _, words in above]) for word in words]
                find = _marked if mark else _words
                yield from find(_spans(statement, place), outside, lines=not bare.startswith(("set ", "activate ")))
            if _BANNER.match(bare):
                banner = True
            if column or not bare.startswith(("set ", "!")):
                above.append(
                    (column, _cleaned(bare.split()[:_MOST_PARENTS]) if STEMS.search(line) else bare.split()[:8])
                )
        place += len(line) + 1


def _shapes(text: str, at: int) -> Iterator[_Secret]:
    """Yield the secrets in free text: what has the form of one, such as password hashes, and what follows ``password is``.

    ``at`` is the text's offset.
    """
    spans = _spans(text, at)
    words = ["banner", *(word for word, _, _ in spans)]
    taken = {first - 1 for first, _ in labelled(words, 1)}
    for number, (word, start, end) in enumerate(spans):
        inside = [(0, end - start)] if number in taken else _inside(word, whole=False)
        yield from (_Secret(start + first, start + past, ("text",), word[first:past]) for first, past in inside)


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
        return [part for words in _near_lines(above) for part in words]

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
    """Yield the secrets in an XML document: texts and attributes, by the names of their elements. The document may break off."""
    above: list[str] = []
    for token in _XML_TOKEN.finditer(text):
        word, start = token[0], token.start()
        if word.startswith("<!--"):
            yield from _free(word, start + 4, text)
        elif word.startswith("<![CDATA["):
            inside = word[9:].removesuffix("]]>")
            yield from _text_of_xml(inside, start + 9, above)
        elif word.startswith("</"):
            del above[-1:]
        elif word[0] == "<":
            name = re.match(r"<(?:[\w-]+:)?([\w.-]*)", word)
            tag = name[1] if name else ""
            for match in _ATTRIBUTE.finditer(word):
                group = 2 if match[2] is not None else 3
                names = [*_near(above), tag, match[1]]
                if is_secret(names, match[group]) and match[group]:
                    yield _Secret(
                        start + match.start(group), start + match.end(group), names[-3:], match[group], _escaped
                    )
            if tag and not word.endswith("/>") and word[1:2] not in {"?", "!"}:
                above.append(tag)
        else:
            yield from _text_of_xml(word, start, above)


def _text_of_xml(text: str, at: int, above: Sequence[str]) -> Iterator[_Secret]:
    """Yield the secrets in the text of an element. ``at`` is the text's offset, and ``above`` the names of the element and its parents."""
    value = text.strip()
    start = at + len(text) - len(text.lstrip())
    if not value:
        return
    names = _near(above)
    if (is_secret(names, value) and not _KEY_FILE.fullmatch(value)) or any(secret_words([*names, value], len(names))):
        yield _Secret(start, start + len(value), names[-3:], value, _escaped)
    else:
        yield from (secret._replace(written=_escaped) for secret in _lines_of(value, start, names[-3:], "\n"))


def _free(text: str, at: int, whole: str) -> Iterator[_Secret]:
    """Yield the secrets of free text, in which each line is read as a statement. ``at`` is the offset after the text's mark."""
    end = at + len(text) - 4
    yield from _lines_of(whole[at:end].removesuffix("-->"), at, (), "\n")


def _near(names: Sequence[str]) -> list[str]:
    """Return the names that decide about a value: the first ones and the last ones. Documents of hostile devices nest without end."""
    return [*names] if len(names) <= 2 * _FAR else [*names[:_FAR], *names[-_FAR:]]


def _near_lines(above: list[list[str]]) -> list[list[str]]:
    return above if len(above) <= 2 * _FAR else [*above[:_FAR], *above[-_FAR:]]


_FAR = 8


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace(">", "&gt;")


def _json(text: str) -> Iterator[_Secret]:
    """Yield the secrets of a JSON document, which may break off: values, table keys that are secrets, and secrets inside strings."""
    above: list[str] = []
    lists: list[bool] = [False]
    key = ""
    tokens = list(_JSON_TOKEN.finditer(text))
    for number, token in enumerate(tokens):
        word = token[0]
        before = tokens[number - 1][0] if number else ""
        if word in {"{", "["}:
            above.append(key)
            lists.append(word == "[")
        elif word in {"}", "]"}:
            del above[-1:], lists[max(1, len(lists) - 1) :]
            key = ""
        elif word == ",":
            key = ""
        elif word != ":":
            names = [name for name in _near(above) if name]
            follows = tokens[number + 1][0] if number + 1 < len(tokens) else ""
            breaks_off = not follows and not lists[-1] and before in {"{", ","}
            if word[0] == '"' and (follows == ":" or breaks_off):
                key = _unescaped(word.strip('"'))
                yield from _key_of_json(token, names, key)
            else:
                yield from _value_of_json(token, [*names, key] if key else names)


def _unescaped(word: str) -> str:
    """Return the text of a JSON string, whose escapes stand for letters."""
    if "\\" not in word:
        return word
    try:
        return str(parse_json(f'"{word}"'))
    except ValueError:
        return word


def _key_of_json(token: re.Match[str], above: Sequence[str], key: str) -> Iterator[_Secret]:
    """Yield the secrets in a key of a JSON object. ``above`` are the keys above it."""
    start, end = token.start() + 1, token.start() + len(token[0].rstrip('"'))
    if above and above[-1] == _COMMUNITIES:
        yield _Secret(start, end, (_COMMUNITIES,), key)
    elif key.startswith(f"{_COMMUNITIES}|"):
        yield _Secret(start + len(_COMMUNITIES) + 1, end, (_COMMUNITIES,), key.partition("|")[2])
    elif is_secret_name(above, key):
        yield _Secret(start, end, above[-4:], key)
    elif " " in key:  # a statement, as EOS has them in JSON
        yield from _lines_of(token[0][1:].removesuffix('"'), start, above[-3:], "\\n", is_json=True)


def _value_of_json(token: re.Match[str], names: Sequence[str]) -> Iterator[_Secret]:
    """Yield the secrets in a value of a JSON document. ``names`` are the keys that lead to it."""
    word = token[0]
    if word[0] != '"':
        if word not in {"null", "true", "false"} and names and announces(names[-1]):
            yield _Secret(token.start(), token.end(), names[-4:], word, '"{}"'.format)
        return
    start, inside = token.start() + 1, word[1:].removesuffix('"')
    if not inside:
        return
    if is_secret(names, _unescaped(inside)):
        if not _KEY_FILE.fullmatch(inside):
            yield _Secret(start, start + len(inside), names[-4:], inside)
    elif _BEGIN.search(inside):
        yield _Secret(start, start + len(inside), names[-3:], inside)
    elif inside[0] == "<" and _is_document(inside):
        yield from (secret._replace(start=secret.start + start, end=secret.end + start) for secret in _xml(inside))
    else:
        yield from _lines_of(inside, start, names[-3:], "\\n", is_json=True)


def _lines_of(text: str, at: int, above: Sequence[str], by: str, *, is_json: bool = False) -> Iterator[_Secret]:
    """Yield the secrets in configuration lines that a document contains. ``at`` is the offset of the text, and ``by`` separates its lines.

    ``above`` are the names that lead to the text. In a JSON string, a backslash stands before each quotation mark.
    """
    place = at
    for line in text.split(by):
        if STEMS.search(line):
            spans = _spans(line.replace('\\"', " '") if is_json else line, place)
            yield from _words(spans, above, lines=True)
        place += len(line) + len(by)
