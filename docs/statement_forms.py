"""The page of statement forms: for each operating system its forms, the source of each and how it was checked."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from railweave.model.catalog import catalog
from railweave.systems import systems
from railweave.systems.forms import WAYS, forms_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.systems.forms import Document, Forms

MANY = 3
"""Forms that share what to look for from this number on are a list below one sentence, not rows of a table."""

HEAD = """## Statements, their sources, and how each was checked

`native` says that a system has a feature, not that a switch took its statements: no switch has loaded what railweave writes, unless
a row says so. A *form* is a statement without its names and numbers, with the headers above it. The file
`src/railweave/systems/SYSTEM/forms.yaml` has a row for each form of which a system's files are made: the document that it is from, and
what has read it. A statement that is rendered without a row fails a test (`tests/systems/test_forms.py`). The tables below count these
rows, name the documents, and list the forms to look at first on a real switch: those that only a document has, or nothing, and those
whose limits are not public. Runbooks list them too ("First of its kind only"). A form has the headers above it before a slash, or above its line.

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
    meanings = [f"| {way} | {says} |" for way, says in WAYS.items()]
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
    groups: dict[tuple[str, str], list[str]] = {}
    for form in forms.forms:
        if form.look_for:
            groups.setdefault((form.look_for, form.known), []).append(form.text)
    if not groups:
        return "\n".join([*lines, ""])
    lines.append("\nTo look at first on a real switch:\n")
    for (look_for, known), texts in groups.items():
        if len(texts) >= MANY:
            seen = look_for.replace("the checks below", "the checks of the runbook") + (known and f" ({known})")
            lines.append(f"For these {len(texts)} forms, {seen}:\n")
            lines.append(f"```text\n{_tree(texts)}```\n")
    rows = [
        (_code(text), _cell(look_for), _cell(known))
        for (look_for, known), texts in groups.items()
        if len(texts) < MANY
        for text in texts
    ]
    if rows:
        lines += ["| form | look for | known |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join([*lines, ""])


def _tree(texts: list[str]) -> str:
    """Return forms as indented lines: each header once, above the forms that it has in common."""
    tree: dict[str, Any] = {}
    for text in texts:
        below = tree
        for part in text.split(" / "):
            below = below.setdefault(part, {})

    def lines(inner: dict[str, Any], indent: str) -> Iterator[str]:
        for part, deeper in inner.items():
            yield f"{indent}{part}\n"
            yield from lines(deeper, f"{indent}  ")

    return "".join(lines(tree, ""))


def _titled(key: str, one: Document) -> str:
    title = f"[{one.title}]({one.link})" if one.link else one.title
    return f"`{key}`: {title}"


def _code(text: str) -> str:
    words = text.replace("|", "\\|").replace("\n", " ⏎ ")
    return f"`{words}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
