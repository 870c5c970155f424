"""The code of a shell script line by line: what is left when comments and empty lines are taken away.

A ``#`` is a comment only where the shell takes it for one: not in quotation marks, in the text that ``<<`` announces, or
inside a word.
"""

from __future__ import annotations

import re

_HERE = re.compile(r"<<(-?)\s*(['\"]?)([A-Za-z_]\w*)\2")
_BEFORE_WORD = " \t;&|()"


def code_lines(text: str) -> list[tuple[int, str]]:
    """Lines (their number, and their text without comments and blanks around it) that hold code."""
    made: list[tuple[int, str]] = []
    open_: list[str] = []  # quotation marks and command substitutions that are not closed yet
    until: list[tuple[str, bool]] = []  # words that end a text which `<<` announced, and whether tabs may stand before
    for number, line in enumerate(text.split("\n"), 1):
        if until:
            word, tabs = until[0]
            if (line.lstrip("\t") if tabs else line) == word:
                del until[0]
            made.append((number, line))
            continue
        outside = not open_
        end = _scan(line, open_)
        code = line[:end]
        if outside or end < len(line):
            code = code.rstrip(" \t")
        if outside:
            until += [(word, bool(dash)) for dash, _, word in _HERE.findall(code) if "<<<" not in code]
            code = code.lstrip(" \t")
        if code:
            made.append((number, code))
    return made


def _scan(line: str, open_: list[str]) -> int:
    """Where the code of a line ends; ``open_`` is what is open before it, and is brought up to its end."""
    at = 0
    while at < len(line):
        one = line[at]
        inside = open_[-1] if open_ else ""
        if inside == "'":
            if one == "'":
                open_.pop()
        elif one == "\\":
            at += 1
        elif one == '"':
            if inside == '"':
                open_.pop()
            else:
                open_.append('"')
        elif line.startswith("$(", at):
            open_.append(")")
            at += 1
        elif one == inside == ")":
            open_.pop()
        elif inside != '"' and one == "'":
            open_.append("'")
        elif inside != '"' and one == "#" and (at == 0 or line[at - 1] in _BEFORE_WORD):
            return at
        at += 1
    return at
