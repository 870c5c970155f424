"""Statement forms: patterns of the lines in each operating system's files, with the sources of the forms and how they were checked.

A form is a statement with placeholders in place of its names and numbers. The headers above the statement come first:
``router bgp <number> / router-id <address>``. The forms are in ``forms.yaml`` of the system's folder. Each form there
names documents from that file's ``documents:``. The kinds of these documents decide how the form counts as checked, so
no form can claim a check without a document.

The placeholders of a form:

- ``<name>``: one word, such as a name or a secret;
- ``<number>``: digits, with the signs that join them (``60000-65000``, ``1/2.100``, ``0.01``);
- ``<address>``: an address, a prefix or a MAC address;
- ``<numbers>``: several numbers or addresses, separated by spaces;
- ``<set>``: one word, or words in braces;
- ``<source>``: ``any``, ``host`` and an address, or a prefix;
- ``<text>``: the rest of the line;
- ``<a|b>``: one of the words; ``[words]``: words that may be absent.
"""

from __future__ import annotations

import importlib
import re
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypedDict, cast

from railweave import systems
from railweave.model.catalog.definitions import system_files
from railweave.reading import packaged_text, packaged_yaml
from railweave.systems.loader import FORMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from railweave.model.config.statements import Form as StatementForm

Kind = Literal["model", "schema", "parser", "configurations", "document"]
"""The kind of a source: the vendor's model, a schema, a program that reads the file, configurations, or a document.

Schemas and configurations are from parties other than the vendor.
"""

Way = Literal["model", "schema", "parser", "configurations", "document only", "nothing"]
"""The kinds of checks of a statement form, which is a pattern of a configuration line. The strongest comes first."""

READ_BY: tuple[Literal["model", "schema", "parser", "configurations"], ...] = (
    "model",
    "schema",
    "parser",
    "configurations",
)
"""The kinds of sources that prove more than a document does. The strongest comes first."""

WAYS: dict[Way, str] = {
    "model": "the vendor's own model (YANG) has the statement and takes its values",
    "schema": "a schema of the statement takes its values and prints the same line",
    "parser": "the program that reads the file, or its own parser, takes the line",
    "configurations": "other people's configurations or tests have the line",
    "document only": "a document has the line; nothing has read it",
    "nothing": "no public source has the line as it is written",
}
"""For each kind of check, a sentence for display that says what the check proves."""

_PLACEHOLDERS = {
    "name": r"(?!/(?:\s|$))\S+",
    "number": r"-?[0-9][0-9.,:/-]*",
    "address": r"[0-9a-f.:]+(?:/\d+)?",
    "source": r"(?:any|host \S+|\S+/\d+)",
    "numbers": r"-?\d[0-9.,:/-]*(?: \d[0-9.,:/-]*)*",
    "set": r"(?:\{ [^{}]+ \}|\S+)",
    "text": r".+",
}


@dataclass(frozen=True)
class Document:
    """A source of statement forms: its title, kind, release and date."""

    title: str
    kind: Kind
    release: str = ""
    date: str = ""
    link: str = ""


@dataclass(frozen=True, eq=False)
class Form:
    """A statement form: the pattern of a line of a system's files.

    - ``about``: the topic of the form.
    - ``text``: the pattern, such as ``router bgp <number>``.
    - ``sources``: the pages or sections that show the form, by document.
    - ``look_for``: the effect that an operator should observe on the first switch; empty if there is nothing to observe.
    """

    about: str
    text: str
    sources: Mapping[str, str]
    documents: Mapping[str, Document] = field(repr=False)
    look_for: str = ""
    known: str = ""
    """A remark about the form besides its sources: a limit of the check, or a fact that no source states. Empty if there is none."""
    words: str = ""
    """The regular expression of the form, if it differs from the expression that follows from the form's text."""

    @property
    def kinds(self) -> set[Kind]:
        """The kinds of the form's sources."""
        return {self.documents[key].kind for key in self.sources}

    @property
    def ways(self) -> tuple[Way, ...]:
        """The checks that the form passed, the strongest first."""
        read: tuple[Way, ...] = tuple(kind for kind in READ_BY if kind in self.kinds)
        return read or (("document only",) if self.kinds else ("nothing",))

    @property
    def weak(self) -> bool:
        """True if the form was checked only against documents, or has no source at all (see ``ways``)."""
        return self.ways[0] in {"document only", "nothing"}

    def cited(self) -> str:
        """The sources as a line for display: the title of each document and the page or section in it."""
        documents = [
            f"{self.documents[key].title}{f': {place}' if place else ''}" for key, place in self.sources.items()
        ]
        return "; ".join(documents) or "none is public"

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The regular expression that matches a whole line of this form."""
        return re.compile(self.words or _pattern(self.text), re.DOTALL)


@dataclass(frozen=True, eq=False)
class Forms:
    """The statement forms (patterns of configuration lines) of a system.

    ``included`` are the forms of other systems whose files this system also has. For example, SONiC has FRR's files.
    """

    documents: Mapping[str, Document]
    forms: tuple[Form, ...]
    included: tuple[Forms, ...] = ()

    @cached_property
    def _by_word(self) -> dict[str, list[Form]]:
        """The forms by their first word. Forms that begin with a placeholder have an empty key."""
        by_word: dict[str, list[Form]] = {}
        for form in self.forms:
            word = form.text.split(" ", 1)[0]
            by_word.setdefault("" if set("<[") & set(word) else word, []).append(form)
        return by_word

    def of(self, line: str) -> list[Form]:
        """Return the forms that match a statement. If ``forms.yaml`` is correct, exactly one matches.

        ``line`` includes the headers of the statement, separated by `` / ``.
        """
        rows = self._by_word
        near = [*rows.get(line.split(" ", 1)[0], ()), *rows.get("", ())]
        of_line = [form for form in near if form.pattern.fullmatch(line)]
        return of_line or [form for other in self.included for form in other.of(line)]

    @cached_property
    def _looked_at(self) -> Forms:
        forms = (*self.forms, *(form for other in self.included for form in other.forms))
        return Forms(self.documents, tuple(form for form in forms if form.look_for))

    def to_look_at(self, lines: Iterable[str]) -> list[Form]:
        """Return those forms with a ``look_for`` text that match at least one line, in the order of ``forms.yaml``.

        ``look_for`` is the effect of the form that an operator should check on the first switch. ``lines`` are statements with their
        headers, separated by `` / ``.
        """
        rows = self._looked_at
        matched = {form for line in lines for form in rows.of(line)}
        return [form for form in rows.forms if form in matched]


def _pattern(form: str) -> str:
    return "".join(_part(part) for part in re.split(r"(<[^>]+>|\[[^\]]+\])", form))


def _part(part: str) -> str:
    if part.startswith("["):
        return f"(?:{_pattern(part[1:-1])})?"
    if not part.startswith("<"):
        return re.escape(part)
    return _PLACEHOLDERS.get(part[1:-1]) or f"(?:{'|'.join(map(re.escape, part[1:-1].split('|')))})"


@cache
def forms_of(nos: str) -> Forms:
    """Return the statement forms of an operating system, from its ``forms.yaml`` or from ``FORMS`` of its module ``forms``.

    A system with neither has no forms. Raises ``ValueError`` if a form names a document that the file does not list.
    """
    file = system_files()[nos].with_name(FORMS)
    if file.is_file():
        return read_forms(file)
    if not file.with_suffix(".py").is_file():
        return Forms({}, ())
    return cast("Forms", importlib.import_module(f"{systems.__name__}.{nos}.forms").FORMS)


def read_forms(file: Path) -> Forms:
    """Return the forms in a file. Raises ``ValueError`` if a form names a document that the file does not list."""
    data: _File = packaged_yaml(packaged_text(file))
    documents = {key: Document(**document) for key, document in data["documents"].items()}
    forms = tuple(form for group in data["forms"] for form in _group(documents, group, file.parent.name))
    return Forms(documents, forms, tuple(forms_of(nos) for nos in data.get("includes", ())))


class _Row(TypedDict, total=False):
    """An item of ``forms.yaml``, or the values that all items of a group share.

    - ``sources``: the pages or sections that show the form, by document.
    - ``also``: further documents, such as other people's configurations that contain the form.
    - ``look_for``: the effect that an operator should observe on the first switch that has this form.
    """

    form: str
    sources: dict[str, str | float | None]
    also: list[str]
    look_for: str
    known: str


class _Group(_Row):
    """A group of items in ``forms.yaml`` about the same topic (``about``).

    - ``under``: the headers above the statements of the group. Each header gives a separate form.
    - ``rows``: the items. An item without properties is only the text of its form.
    - ``table``: the name of a statement table in the system's package ``statements``. The statements that it prints also
      belong to the group.
    """

    about: str
    under: NotRequired[list[str]]
    rows: NotRequired[list[str | _Row]]
    table: NotRequired[str]


class _File(TypedDict):
    includes: NotRequired[list[str]]
    documents: dict[str, dict[str, Any]]
    forms: list[_Group]


def _of_table(nos: str, name: str) -> list[str]:
    """Return the forms that a statement table prints, with a placeholder such as ``<number>`` for each variable word."""
    table = getattr(importlib.import_module(f"{systems.__name__}.{nos}.statements"), name)
    return [_placed(form) for row, forms, _ in table.statements() if row.prints for form in forms]


def _placed(form: StatementForm) -> str:
    shown_as = {slot: form.codecs[slot].shown_as for slot in form.slots}
    words = {
        slot: word if word in _PLACEHOLDERS else "number" if word[:1].isdigit() else "name"
        for slot, word in shown_as.items()
    }
    return re.sub(r"<(\w+)>", lambda slot: f"<{words[slot[1]]}>", form.raw)


def _group(documents: Mapping[str, Document], group: _Group, nos: str) -> Iterator[Form]:
    for row in [*group.get("rows", ()), *(_of_table(nos, group["table"]) if "table" in group else ())]:
        entry: _Row = {"form": row} if isinstance(row, str) else row
        sources = entry["sources"] if "sources" in entry else group.get("sources", {})
        places = {key: str(place or "") for key, place in sources.items()} | dict.fromkeys(entry.get("also", ()), "")
        if missing := places.keys() - documents.keys():
            raise ValueError(f"{entry.get('form')}: no document is called {', '.join(sorted(missing))}")
        look_for, known = entry.get("look_for", group.get("look_for", "")), entry.get("known", group.get("known", ""))
        words = entry.get("form", "")
        for header in group.get("under", [""]):
            text = f"{header} / {words}" if header else words
            yield Form(group["about"], text, places, documents, look_for, known)
