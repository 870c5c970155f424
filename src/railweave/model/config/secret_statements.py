"""Secrets in statements: lines, statements in braces, and the words of each.

``secret_words`` says which words of a statement are secrets.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from railweave.model.config.secret_words import (
    PLAIN,
    SHAPE,
    STEMS,
    inside_word,
    is_announced,
    labelled,
    secret_words,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

T = TypeVar("T")

_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]\S*|"')


_TOKEN = re.compile(r'/\*[\s\S]*?\*/|\#[^\n]*|"(?:[^"\\]|\\.)*"|[{};\[\]]|[^\s{};\[\]"]+|"')


_SECRET_MARK = "SECRET-DATA"  # noqa: S105 - Junos writes it behind every statement with a secret


_BANNER = re.compile(r"banner (?:login|motd|exec)\s*$")


class FoundSecret(NamedTuple):
    """The secret ``value`` in a text, from offset ``start`` to ``end``."""

    start: int
    end: int
    place: Sequence[str]
    """The words before the secret, from which its name is made."""
    value: str
    written: Callable[[str], str] = str
    """A function that writes the replacement in the notation of the text, for example quoted."""


def spans_of(text: str, at: int) -> list[tuple[str, int, int]]:
    """Return the words of a statement as (word, start, end). ``at`` is the offset of the statement in the whole text."""
    return [(match[0], match.start() + at, match.end() + at) for match in _WORD.finditer(text) if match[0] != "/"]


def secrets_of(spans: Sequence[tuple[str, int, int]], above: Sequence[str], *, lines: bool) -> Iterator[FoundSecret]:
    """Yield the secrets of one statement. ``spans`` has its words with their offsets, and ``above`` the words of its parents.

    ``lines`` is True for a command language in which a secret may contain blanks.
    """
    words = [*above, *(word for word, _, _ in spans)]
    base = len(above)
    if len(spans) > _MOST_WORDS:  # no statement is as long: its words say nothing
        yield from (FoundSecret(start, end, ("text",), word) for word, start, end in spans if not PLAIN.fullmatch(word))
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
        yield FoundSecret(start, end, _place(shown, base, first), value)


_MOST_PARENTS = 24


_MOST_WORDS, _LONGEST_WORD, _SHORTEST_BASE64 = 400, 2000, 40


_SIGNS = frozenset("=:$.")
"""A secret of its own form has at least one of these."""


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


def _cleaned(words: Iterable[str]) -> list[str]:
    """Return the words of a parent line, with an empty string in place of each secret."""
    words = list(words)
    taken = {number for first, past in secret_words(words) for number in range(first, past)}
    return ["" if number in taken or _inside(word, whole=False) else word for number, word in enumerate(words)]


def in_lines(text: str, documents: Callable[[str], Iterator[FoundSecret] | None]) -> Iterator[FoundSecret]:
    """Yield the secrets of a text of indented lines. The parents of a line are the earlier lines with less indentation.

    ``documents`` yields the secrets of a line that is a document; for other lines it returns None.
    """
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
            secrets = documents(line) if STEMS.search(line) else None
            if secrets is not None:
                yield from (secret._replace(start=secret.start + place, end=secret.end + place) for secret in secrets)
            elif STEMS.search(line):
                statement, mark, _ = line.partition(f"## {_SECRET_MARK}")
                outside = [word for words in near([words for _, words in above]) for word in words]
                find = _marked if mark else secrets_of
                yield from find(spans_of(statement, place), outside, lines=not bare.startswith(("set ", "activate ")))
            if _BANNER.match(bare):
                banner = True
            if column or not bare.startswith(("set ", "!")):
                above.append(
                    (column, _cleaned(bare.split()[:_MOST_PARENTS]) if STEMS.search(line) else bare.split()[:8])
                )
        place += len(line) + 1


def _shapes(text: str, at: int) -> Iterator[FoundSecret]:
    """Yield the secrets in free text: what has the form of one, such as password hashes, and what follows ``password is``.

    ``at`` is the text's offset.
    """
    spans = spans_of(text, at)
    words = ["banner", *(word for word, _, _ in spans)]
    taken = {first - 1 for first, _ in labelled(words, 1)}
    for number, (word, start, end) in enumerate(spans):
        inside = [(0, end - start)] if number in taken else _inside(word, whole=False)
        yield from (FoundSecret(start + first, start + past, ("text",), word[first:past]) for first, past in inside)


def _marked(
    spans: Sequence[tuple[str, int, int]], above: Sequence[str], *, lines: bool = False
) -> Iterator[FoundSecret]:
    """Yield the secrets of a statement that the system itself marks as secret.

    If no secret is recognized, yield the last word. ``spans`` has the statement's words, ``above`` the words of its parents.
    """
    secrets = list(secrets_of(spans, above, lines=lines))
    if not secrets and spans:
        words = [*above, *(token for token, _, _ in spans)]
        word, start, end = spans[-1]
        secrets.append(FoundSecret(start, end, _place(words, len(above), len(words) - 1), word))
    yield from secrets


def in_braces(text: str) -> Iterator[FoundSecret]:
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
        return [part for words in near(above) for part in words]

    def secrets(spans: Sequence[tuple[str, int, int]]) -> Iterable[FoundSecret]:
        return secrets_of(spans, parents(), lines=False) if bears(spans) else ()

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


def near(parents: Sequence[T]) -> Sequence[T]:
    """Return the parents that decide about a value: the first ones and the last ones. Texts of hostile devices nest without end."""
    return parents if len(parents) <= 2 * _FAR else [*parents[:_FAR], *parents[-_FAR:]]


_FAR = 8


def secrets_of_lines(
    text: str, at: int, above: Sequence[str], by: str, *, is_json: bool = False
) -> Iterator[FoundSecret]:
    """Yield the secrets in configuration lines that a document contains. ``at`` is the offset of the text, and ``by`` separates its lines.

    ``above`` are the names that lead to the text. In a JSON string, a backslash stands before each quotation mark.
    """
    place = at
    for line in text.split(by):
        if STEMS.search(line):
            spans = spans_of(line.replace('\\"', " '") if is_json else line, place)
            yield from secrets_of(spans, above, lines=True)
        place += len(line) + len(by)
