"""Find lines in a configuration of sections by their form and by what they stand below.

A form is a line in words: ``*`` is any word, ``<name>`` any word that is wanted, ``<names...>`` one or more of them, ``**``
any number of words, none included; ``in|out`` is either; ``Vlan<name>`` is a word that begins so. Forms one after another
are levels of the tree; the form ``**`` alone is any number of levels. So ``("router bgp *", "**", "neighbor <name>
activate")`` finds who is active in whatever is below BGP.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from railweave.model.config.sections import Section

ANY = "**"


@dataclass(eq=False, slots=True)
class Selected:
    """A line that was looked for, what stands ``below`` it, and the words that were wanted of it and of those above.

    ``path`` is the line after those above it, joined by `` / ``; ``chain`` are their sections, that of the line last.
    """

    line: str
    below: list[Section]
    path: str
    words: dict[str, str]
    chain: tuple[Section, ...] = ()

    @property
    def at(self) -> int:
        """The number of the line in the text it was read from; 0: it was not read."""
        return self.chain[-1].at

    def __getitem__(self, name: str) -> str:
        return self.words[name]


def select(sections: Iterable[Section], *forms: str) -> Iterator[Selected]:
    """Every line of these forms, a form for each level of the tree, in the order of the configuration."""
    return _select(sections, forms, "", {}, ())


def _select(
    sections: Iterable[Section], forms: tuple[str, ...], above: str, words: dict[str, str], chain: tuple[Section, ...]
) -> Iterator[Selected]:
    form, deeper = forms[0], forms[1:]
    if form == ANY:
        yield from _select(sections, deeper, above, words, chain)
        for one in sections:
            if one.body:
                yield from _select(one.body, forms, f"{above}{one.line} / ", words, (*chain, one))
        return
    begins, pattern = _compiled(form)
    for one in sections:
        if not one.line.startswith(begins) or (deeper and not one.body):
            continue
        found = pattern.fullmatch(one.line)
        if not found:
            continue
        wanted = {**words, **found.groupdict()}
        if deeper:
            yield from _select(one.body or (), deeper, f"{above}{one.line} / ", wanted, (*chain, one))
        else:
            yield Selected(one.line, one.body or [], above + one.line, wanted, (*chain, one))


def has(sections: Iterable[Section], *forms: str) -> bool:
    """Whether there is a line of these forms."""
    return any(True for _ in select(sections, *forms))


@lru_cache(maxsize=1 << 10)
def _compiled(form: str) -> tuple[tuple[str, ...], re.Pattern[str]]:
    """What a line of the form may begin with, and the form as a pattern of a whole line."""
    words = form.split()
    pattern = ""
    for place, word in enumerate(words):
        if word == ANY:  # with the space before it, or at the beginning with that after it
            pattern += "(?: .*)?" if place else "(?:.* )?"
        else:
            pattern += (" " if place and words[:place] != [ANY] else "") + _word(word)
    plain = list(itertools.takewhile(lambda word: not re.search(r"[*<|]", word), words))
    return (" ".join(plain),) if plain else _choices(words[0]), re.compile(pattern)


def _choices(word: str) -> tuple[str, ...]:
    """What a word may begin with: one of several words, or what stands before the part that is any."""
    return tuple(word.split("|")) if "|" in word else (re.split(r"[*<]", word)[0],)


def _word(word: str) -> str:
    if "|" in word:
        return f"(?:{'|'.join(map(re.escape, word.split('|')))})"
    return "".join(_part(part) for part in re.split(r"(<[^>]+>|\*)", word))


def _part(part: str) -> str:
    if part == "*":
        return r"\S+"
    wanted = re.fullmatch(r"<(\w+)(\.\.\.)?>", part)
    if wanted:
        return f"(?P<{wanted[1]}>" + (".+)" if wanted[2] else r"\S+)")
    return re.escape(part)
