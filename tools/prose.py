#!/usr/bin/env python3
"""Lint the English of docstrings, help texts and pages, and names: ``tools/prose.py [PATH ...]``; default: the package and docs/.

Refused are: a first word of FIRST; a sentence of more than 40 words; a name in double backticks that is nowhere in the source;
the words of WORDS, each of which is wrong in every use; and variables, parameters and functions with a name of VAGUE. ``../shared/english.md`` has the rules. Prints a line for each place, and
exits 1 if there is one.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from docs_words import parts

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "railweave"
FIRST = {"What", "Whether", "Who", "Whose", "How", "Why", "Which", "It"}
VAGUE = {"one", "found", "own", "what", "said", "told", "got"}
"""Names that say nothing of the thing: a variable is a ``port``, a ``route``, a ``term``. Fields may have them: they are keys of JSON."""
MOST_WORDS = 40
WORDS = {
    r"anew": "again, or rebuild",
    r"whoever|somebody|nobody": "name the actor, or write: no one",
    r"the like of": "a kind of",
    r"goes without": "has no, or ignores",
    r"stands? (?:in|beside)": "is in, is next to",
    r"judged?|judges": "check, compare",
    r"begins? again": "start over",
    r"once more": "again, or leave it out",
    r"heard of": "received, or reached",
    r"mend(?:s|ed|ing)?": "fix",
    r"another than": "a different, or: has changed",
    r"(?:says?|said|told) of (?:itself|themselves)": "reports",
    r"what came of it": "the result",
    r"rests": "is stopped",
    # A reader takes "taken for" as "mistaken for": the text means a deliberate treatment.
    r"(?:is|are|was|were|be|been) taken for": "is treated as",
    # "Alike" leaves open whether the results are equal or only the behavior is.
    r"do(?:es)? alike": "behave in the same way, or: take the same time",
    # Files and fields neither speak nor know; the sentence hides where a reader has to look.
    r"nothing (?:says|tells|knows)": "no file gives, or: is unknown",
    # Idiom that is easily read as "told, apart from".
    r"told apart": "distinguished",
}
"""Words that are wrong in every use, as regular expressions, and what to write."""
_WORDS = [(re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), better) for pattern, better in WORDS.items()]
_NAME = re.compile(r"``([A-Za-z_][\w.]*)(?:\(\))?``")
_CODE = re.compile(r"``.*?``|`[^`]*`")
LIBRARIES = {"pandas", "polars"}
"""Libraries of users, which the package does not import."""
HELP = {"Opt", "Argument", "Option"}
"""Calls whose first argument, or ``help=``, is a help text."""


class Text(NamedTuple):
    """A docstring or a help text, and the line on which it begins."""

    line: int
    text: str


def texts(tree: ast.Module) -> Iterator[Text]:
    """Yield every docstring of a module, those of attributes too, and every help text."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ):
            for statement in body:
                if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                    value = statement.value.value
                    if isinstance(value, str):
                        yield Text(statement.lineno, value)
        elif isinstance(node, ast.Call):
            yield from _help(node)


def _help(call: ast.Call) -> Iterator[Text]:
    name = ast.unparse(call.func).rpartition(".")[2]
    given = [word.value for word in call.keywords if word.arg in {"help", "short_help"}]
    if name in HELP and call.args:
        given.append(call.args[0])
    for value in given:
        if isinstance(value, ast.Constant) and isinstance(value.value, str) and " " in value.value:
            yield Text(value.lineno, value.value)


def vague(tree: ast.Module) -> Iterator[Text]:
    """Yield every binding of a vague name."""
    fields = {
        id(statement.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) if id(node) not in fields:
                pass
            case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                pass
            case ast.MatchAs(name=name) | ast.MatchStar(name=name) | ast.ExceptHandler(name=name):
                pass
            case _:
                continue
        if name in VAGUE:
            yield Text(node.lineno, name)


@cache
def names() -> frozenset[str]:
    """Return every word of the source that a name in backticks may be: identifiers, modules, words of texts and of data files."""
    found: set[str] = set()
    for path in (
        *ROOT.glob("src/railweave/**/*.*"),
        *ROOT.glob("crates/*/src/**/*.rs"),
        *ROOT.glob("plugin/**/*.[ch]"),
    ):
        found.update(path.with_suffix("").parts)
        if path.suffix in {".py", ".yaml", ".rs", ".c", ".h", ".sh", ".toml", ".js"}:
            text = re.sub(r"``[^`]*``", "", path.read_text(encoding="utf-8"))
            found.update(re.findall(r"\w+", text))
    return frozenset(found)


def _known(name: str) -> bool:
    """Return whether a name is in the source, or is the end of names in it, such as a unit (``_ps``)."""
    parts = name.split(".")
    return (
        parts[0] in LIBRARIES
        or hasattr(builtins, parts[0])
        or set(parts) <= names()
        or (name.startswith("_") and any(word.endswith(name) for word in names()))
    )


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text; an item of a list and a paragraph end one too."""
    for part in re.split(r"\n\s*\n|\n\s*- ", text):
        yield from re.split(r"(?<=[.!?])\s+", _CODE.sub("name", " ".join(part.split())))


def faults(text: str) -> Iterator[str]:
    """Yield what is wrong in a text."""
    words = text.split()
    if words and words[0] in FIRST:
        yield f"begins with {words[0]}: begin with a verb, or the noun that a value is"
    for sentence in sentences(text):
        count = len(sentence.split())
        if count > MOST_WORDS:
            yield f"a sentence of {count} words: {sentence[:50]}..."
    for name in _NAME.findall(text):
        if not _known(name):
            yield f"``{name}`` is nowhere in the source"
    plain = _CODE.sub("", text)
    for pattern, better in _WORDS:
        for match in pattern.finditer(plain):
            yield f"{match[0]!r}: write {better}"


def page_faults(page: Path) -> Iterator[Text]:
    """Yield the words of WORDS in what is written by hand on a page, outside of code."""
    written, _ = parts(page.read_text(encoding="utf-8"))
    plain = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), written, flags=re.MULTILINE | re.DOTALL)
    for number, line in enumerate(plain.splitlines(), start=1):
        for pattern, better in _WORDS:
            for match in pattern.finditer(_CODE.sub("", line)):
                yield Text(number, f"{match[0]!r}: write {better}")


def main() -> int:
    """Check the files given, or the package and the pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", type=Path, nargs="*", metavar="PATH", help="files or folders")
    given = parser.parse_args().paths or [
        SOURCE,
        *(ROOT / "docs").rglob("*.md"),
    ]
    files = [file for path in given for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    count = 0
    for file in files:
        if file.suffix == ".md":
            for place in page_faults(file):
                count += 1
                print(f"{file}:{place.line}: {place.text}")
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for line, name in sorted(vague(tree)):
            count += 1
            print(f"{file}:{line}: binds {name!r}: name the thing")
        for text in sorted(texts(tree)):
            for fault in faults(text.text):
                count += 1
                print(f"{file}:{text.line}: {fault}")
    print(
        f"{len(files)} files: {count} faults" if count else f"{len(files)} files: English and names pass",
        file=sys.stderr,
    )
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
