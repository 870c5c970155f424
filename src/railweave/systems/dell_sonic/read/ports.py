"""Headers of interfaces in the form of their statements: one for each interface of a range."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from railweave.model.config.sections import Section
from railweave.systems.dell_sonic.statements.ports import MOST_VLAN
from railweave.systems.dell_sonic.words import interface, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.config.sections import SectionReader


def spelled(taking: SectionReader) -> list[Section]:
    """Sections at the top. Those of interfaces have the headers of statements: one for each interface of a range."""
    every: list[Section] = []
    for header in taking.sections:
        names = _names(header.line.removeprefix("interface ")) if header.line.startswith("interface ") else ()
        lines = [f"interface {_spelled(name)}" for name in names]
        if lines in ([], [header.line]):
            every.append(header)
        else:
            taking.take(header)
            every += [Section(line, header.body) for line in lines]
    return every


def _spelled(name: str) -> str:
    """``Vlan 10``, as statements have it; names of ports are one word."""
    return re.sub(r"(?<=^Vlan)|(?<=^Loopback)|(?<=^Management)", " ", name)


def _names(words: str) -> Iterator[str]:
    """The interfaces that a header is of."""
    if not words.startswith("range "):
        name = interface(words)
        if name:
            yield name
        return
    words = words.removeprefix("range ").removeprefix("create ")
    kind = re.match(r"[A-Za-z-]+", words)
    for part in words[kind.end() :].split(",") if kind else ():
        yield from _range(kind[0] if kind else "", part.strip())


def _range(kind: str, part: str) -> Iterator[str]:
    """``Eth 1/1-1/4`` as four names."""
    first, dash, last = part.partition("-")
    last = re.sub(r"^[A-Za-z]+", "", last) if dash else first
    stem, slash, low = first.rpartition("/")
    with suppress(ValueError):
        every = numbers(f"{low}-{last.rpartition('/')[2]}", MOST_VLAN)
        yield from filter(None, (interface(f"{kind}{stem}{slash}{number}") for number in every))
