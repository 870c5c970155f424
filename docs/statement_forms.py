"""The page of statement forms: for each operating system its forms, the source of each and how it was checked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.pages.table import columns, csv_text
from railweave.systems import systems
from railweave.systems.forms import WAYS, forms_of

if TYPE_CHECKING:
    from railweave.systems.forms import Document, Form, Forms

HEAD = """## Statements, their sources, and how each was checked

`native` says that a system has a feature, not that a switch took its statements: no switch has loaded what railweave writes, unless
a row says so. A *form* is a statement without its names and numbers, with the headers above it. The file
`src/railweave/systems/SYSTEM/forms.yaml` has a row for each form of which a system's files are made: the document that it is from, and
what has read it. A statement that is rendered without a row fails a test (`tests/systems/test_forms.py`). The tables below count these
rows and name the documents. [forms.csv](forms.csv) has every form with its sources (the words in front of the titles below), the ways in which it was checked, and what to look for on the first real
switch: for forms that only a document has, or nothing, and for those whose limits are not public. The runbook of a switch lists those that it has
("First of its kind only"). A form begins with the headers above it, divided by slashes.

"""


def forms_tables() -> str:
    """The part of the page on statements: a summary, then a part for each system."""
    found = {nos: forms_of(nos) for nos in systems()}
    return HEAD + "\n".join([_summary(), *(_part(nos, forms) for nos, forms in found.items() if forms.forms)])


def counts_table() -> str:
    """Return a Markdown table: forms by system, and by the strongest way in which each was checked."""
    heads = " | ".join(WAYS)
    rows = [f"| system | forms | {heads} | to look at |", f"|---|---|{'---|' * len(WAYS)}---|"]
    for nos in systems():
        forms = forms_of(nos).forms
        ways = Counter(one.ways[0] for one in forms)
        cells = " | ".join(str(ways[way]) for way in WAYS)
        rows.append(f"| `{nos}` | {len(forms)} | {cells} | {sum(bool(one.look_for) for one in forms)} |")
    return "\n".join([*rows, ""])


def _summary() -> str:
    meanings = [f"| {way} | {meaning} |" for way, meaning in WAYS.items()]
    return "\n".join(
        [
            "### How they were checked\n\n| way | meaning |\n|---|---|",
            *meanings,
            "\nBy the strongest way of each form; *to look at* are those that the runbook of the first switch of each kind asks for:\n",
            counts_table(),
        ]
    )


def _part(nos: str, forms: Forms) -> str:
    lines = [
        f"### {catalog().systems[nos].description} (`{nos}`)\n",
        "| source | kind | release | date |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| {_titled(key, one)} | {one.kind} | {one.release} | {one.date} |" for key, one in forms.documents.items()
    ]
    return "\n".join([*lines, ""])


def forms_csv() -> str:
    """Return every form of every system as CSV."""
    heads = columns("system", "about", "form", "sources", "checked_by", "look_for", "known")
    return csv_text(
        heads,
        [
            (nos, form.about, form.text, _cited(form), ", ".join(form.ways), form.look_for, form.known)
            for nos in systems()
            for form in forms_of(nos).forms
        ],
    )


def _cited(form: Form) -> str:
    """Return the sources of a form by the keys that the page has."""
    return "; ".join(f"{key}: {place}" if place else key for key, place in form.sources.items())


def _titled(key: str, one: Document) -> str:
    title = f"[{one.title}]({one.link})" if one.link else one.title
    return f"`{key}`: {title}"
