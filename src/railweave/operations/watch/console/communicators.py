"""The page of the communicators of running jobs: their bandwidth beside similar communicators and beside the prediction."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from railweave.counting import counted
from railweave.operations.watch.console.view import PageView, Values, ago, size
from railweave.pages.shell import element, section, text
from railweave.pages.table import Cell, Column, Table, formatted

if TYPE_CHECKING:
    from railweave.operations.watch.console.state import Console
    from railweave.operations.watch.inspector.instruments import CommunicatorRate, JobInstruments

MOST = 200
"""The largest number of collectives that the page shows."""
ABOUT = (
    "What NCCL's Inspector of running jobs writes: the median bus bandwidth in GB/s of the last operations of at least 16 MiB, each by "
    "its fastest rank. The prediction is of the design, with nothing down and NCCL's variables as the design has them."
)
COLUMNS = (
    Column("Outcome", "text", "outcome"),
    Column("Communicator", "text", "communicator"),
    Column("Collective", "text", "operation"),
    Column("Measured", "number", "busbw"),
    Column("Predicted", "number", "predicted"),
    Column("Similar", "number", "usual"),
    Column("Rails", "text", "rails"),
    Column("Planes", "text", "planes"),
    Column("Job", "mono", "job"),
    Column("Last", "when", "age_s"),
    Column("Why", "text", "why"),
)
_CLASSES = {"right": "good", "wrong": "warning", "not-seen": "not-known"}


def communicators(console: Console, values: Values) -> PageView | None:
    """Return the page of communicators; None if no records are read. Values that change are added to ``values``."""
    inspector = console.watching.inspector
    if inspector is None:
        return None
    rows = inspector.rows
    table = values.html(
        "communicators", _table(rows) if rows else element("p", text(_nothing(inspector)), class_="about")
    )
    read = values.html("inspector", _followed(inspector))
    return PageView(
        "Communicators",
        [section("communicators", "Communicators", ABOUT, table), section("read", "What is read", "", read)],
        values.live,
    )


def _table(rows: tuple[CommunicatorRate, ...]) -> str:
    outcomes = Counter(row.outcome for row in rows)
    summary = ", ".join(f"{outcomes[outcome]:,} {outcome}" for outcome in _CLASSES if outcomes[outcome])
    # no column of planes where no row has one
    kept = [
        place for place, column in enumerate(COLUMNS) if column.key != "planes" or any(_planes(row) for row in rows)
    ]
    cells = [_cells(row) for row in rows[:MOST]]
    table = Table(
        [COLUMNS[place] for place in kept],
        [[row[place] for place in kept] for row in cells],
        remarks={place: _links(row) for place, row in enumerate(rows[:MOST]) if row.outcome == "wrong"},
        left_out=len(rows) - MOST,
    )
    return element("p", text(f"{counted(len(rows), 'collective')}: {summary}."), class_="about") + table.to_html()


def _cells(row: CommunicatorRate) -> tuple[object, ...]:
    pill = element("span", text(row.outcome), class_=f"pill {_CLASSES[row.outcome]}")
    predicted = None if row.predicted is None else f"{row.predicted:.1f}"
    band = "" if row.low is None else f" ({row.low:.1f} to {row.high:.1f})"
    return (
        Cell(row.outcome, row.outcome, "", pill),
        f"{row.name or row.communicator}, {counted(row.ranks, 'rank')}",
        f"{row.operation} of {row.size}",
        formatted(row.busbw, ".1f"),
        predicted and predicted + band,
        formatted(row.usual, ".1f"),
        row.named_places.get("rails"),
        _planes(row),
        row.job or None,
        Cell(row.age_s, f"{ago(row.age_s)} ago"),
        Cell(row.why, row.why, "text"),
    )


def _planes(row: CommunicatorRate) -> str | None:
    return row.named_places.get("planes")


def _links(row: CommunicatorRate) -> str:
    """Return the servers of a row, and its NICs and links, as text."""
    places = [(name, row.named_places.get(name, "").replace(" ", ", ")) for name in ("NICs", "links")]
    return "; ".join([f"on {', '.join(row.hosts)}", *(f"{name} {text}" for name, text in places if text)])


def _nothing(inspector: JobInstruments) -> str:
    if not inspector.communicators:
        return "Not seen: no job wrote a record in the last minutes."
    return f"Not seen: {counted(inspector.communicators, 'communicator')}, without a collective of at least 16 MiB."


def _followed(inspector: JobInstruments) -> str:
    """Return what is read of the folder, and what cannot be read, as markup."""
    follower = inspector.follower
    counts = follower.counts
    facts = [
        ("Folder", str(follower.folder)),
        (
            "Files",
            f"{len(follower.files):,}" + (f", and {follower.beyond:,} more are not read" if follower.beyond else ""),
        ),
        ("Read", f"{size(counts.read_bytes)}, {counted(counts.records, 'record')}"),
        (
            "Skipped",
            f"{size(counts.skipped_bytes)}, because files grew faster than they are read"
            if counts.skipped_bytes
            else "nothing",
        ),
        ("Predicted", f"{counted(len(inspector.predictor.answers), 'condition')}"),
    ]
    if counts.not_understood:
        facts.append(
            (
                "Not understood",
                f"{counted(counts.not_understood, 'line, field or label', 'lines, fields or labels')}: {follower.notes[-1]}",
            )
        )
    pairs = "".join(element("dt", text(name)) + element("dd", text(fact)) for name, fact in facts)
    problems = [("", follower.why)] if follower.why else list(follower.unreadable.items())[:5]
    wrong = "".join(element("p", text(f"{path or follower.folder}: {why}"), class_="wrong") for path, why in problems)
    return wrong + element("dl", pairs)
