"""The tables of a store's page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.pages.charts import shown
from railweave.pages.markup import element, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from railweave.operations.bench.comparing.completion import CompletionTable
    from railweave.operations.bench.comparing.slowest import Slowest
    from railweave.operations.bench.comparing.verdicts import Row
    from railweave.operations.store.records import Run

MOST = 300
"""Rows of a table: the worst of them."""
LONG = 16
UNITS = (("_gbytes_per_s", "GB/s"), ("_gbps", "Gb/s"), ("_per_s", "a second"), ("_us", "us"), ("_s", "s"))
CLASSES = {"worse": "worse", "failed": "failed", "better": "better", "too few repeats": "few"}
ORDER = ("failed", "worse", "too few repeats", "better", "same", "only now", "only before")


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], left_out: int = 0) -> str:
    """A table of cells, which are markup with their ``td``; one of many rows has a scroll bar of its own.

    Columns of words are those whose title begins with ``<``: they are set to the left, as their cells are.
    """
    titles = [element("th", text(one.lstrip("<")), class_="said" if one[0] == "<" else None) for one in heads]
    head = element("thead", element("tr", *titles))
    found = element("table", head, element("tbody", *(element("tr", *cells) for cells in rows)), class_="plain")
    more = element("p", text(f"{left_out:,} more rows are left out."), class_="about") if left_out else ""
    long = len(rows) > LONG
    return element("div", found, class_="scroll long" if long else "scroll", tabindex=0 if long else None) + more


def cell(value: str, class_: str | None = None) -> str:
    """A cell."""
    return element("td", text(value), class_=class_)


def unit(quantity: str) -> str:
    """The unit in the name of a quantity."""
    return next((name for end, name in UNITS if quantity.endswith(end)), "")


def row_table(rows: Sequence[Row], before: str) -> str:
    """Rows with their verdicts, the worst first; ``before`` is what they are beside: ``predicted`` or ``baseline``."""
    ordered = sorted(
        rows, key=lambda row: (ORDER.index(row.verdict), row.ratio if row.ratio is not None else 1.0, row.key)
    )
    band = ("band",) if before == "predicted" else ()
    heads = ("<what", "unit", before, *band, "measured", "ratio", "runs", "verdict")
    cells: list[list[str]] = []
    for row in ordered[:MOST]:
        several = f"{row.repeats[0]}, {row.repeats[1]}" if before == "baseline" else str(row.repeats[1])
        cells.append(
            [
                cell(row.key.to_text(), "said"),
                cell(unit(row.key.quantity)),
                cell(_number(row.before)),
                *([cell(_band(row), "when")] if band else []),
                cell(_number(row.now)),
                cell("–" if row.ratio is None else f"{row.ratio:.2f}"),
                cell(several),
                cell(row.verdict, CLASSES.get(row.verdict)),
            ]
        )
        if row.likely:
            cells.append([element("td", text(" ".join(row.likely)), class_="said because", colspan=len(heads))])
    return table(heads, cells, max(len(rows) - MOST, 0))


def _band(row: Row) -> str:
    return (
        "–" if row.low is None or row.high is None or row.low == row.high else f"{shown(row.low)} to {shown(row.high)}"
    )


def _number(value: float | None) -> str:
    return "–" if value is None else shown(value)


def slowest_table(rows: Sequence[Slowest]) -> str:
    """The slowest of each kind of part."""
    cells = [
        [
            cell(row.kind),
            cell(row.name, "said"),
            cell(f"{row.level:.0%}"),
            cell(f"{row.others:.0%}"),
            cell(str(row.pairs)),
        ]
        for row in rows
    ]
    return table(("kind", "<part", "its pairs", "median of the kind", "pairs"), cells)


def completion_table(found: CompletionTable) -> str:
    """A table in the form of the EVPN and Apstra JVD reports, with how many runs it is the median of."""
    cells = [
        [
            cell(row.profile),
            cell(row.tuned or "–", "said"),
            cell(f"{row.seconds / found.unit_s:.4g}"),
            cell(f"{row.least / found.unit_s:.4g} to {row.most / found.unit_s:.4g}" if row.runs > 1 else "–"),
            cell(str(row.runs)),
        ]
        for row in found.rows
    ]
    return table(
        ("Traffic Profile", "<Tuned parameters in leaf/spine", f"JCT [{found.unit}]", "least to most", "runs"), cells
    )


def run_table(runs: Sequence[Run]) -> str:
    """The runs, the latest first."""
    cells = [
        [
            cell(run.id[:8], "mono"),
            cell((run.began or run.kept)[:19].replace("T", " "), "when"),
            cell(f"{run.tool}: {run.title}", "said"),
            cell(_hosts(run), "said"),
            cell(f"{len(run.samples):,}"),
            cell("; ".join(run.failures[:2]) or "ended", "failed" if run.failures else None),
        ]
        for run in list(runs)[::-1][:MOST]
    ]
    return table(("run", "when", "<what", "<on", "numbers", "end"), cells, len(runs) - len(cells))


def _hosts(run: Run) -> str:
    told = dict(run.settings)
    pair = [told[end] for end in ("client", "server") if told.get(end)]
    names = pair or list(run.hosts)
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
