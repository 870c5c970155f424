"""``src/railweave/simulation/errors.json``: how far off predictions of published rows are, by kind of question."""

from __future__ import annotations

import json
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from railweave.simulation.errors import TABLE

from .published import Collective, rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .published import Job

SMALL = 4 << 20
"""Below, launch and steps decide; from there on, links do."""


def table(errors: Mapping[str, float]) -> list[dict[str, Any]]:
    """The groups, of errors by row as parts of what was published. Rows are in one where library, collective, servers and side of ``SMALL`` are the same."""
    found: dict[tuple[str, str, int, bool], list[tuple[int, float]]] = {}
    for row in rows():
        job = row.job
        if isinstance(job, Collective) and row.row_id in errors:
            library = "RCCL" if job.bed == "thor2" else "NCCL"
            key = (library, job.name, servers(job), job.size < SMALL)
            found.setdefault(key, []).append((job.size, abs(errors[row.row_id]) * 100))
    return [
        {
            "library": library,
            "collective": collective,
            "engine": "packet",
            "servers": [count, count],
            "bytes": [min(size for size, _ in each), max(size for size, _ in each)],
            "rows": len(each),
            "median_abs_percent": round(median(error for _, error in each), 1),
            "p90_abs_percent": round(_ninth_decile([error for _, error in each]), 1),
            "max_abs_percent": round(max(error for _, error in each), 1),
        }
        for (library, collective, count, _), each in sorted(found.items())
    ]


def servers(job: Collective) -> int:
    """How many servers a bed has: that of RCCL as it says, the others four."""
    return job.of[0] if job.bed == "thor2" else 4


def write(predicted: Mapping[Job, float]) -> None:
    """Put the table of these predictions into the package."""
    errors = {row.row_id: row.error(predicted[row.job]) for row in rows() if row.job in predicted}
    TABLE.write_text(text(table(errors)))


def text(found: list[dict[str, Any]]) -> str:
    """The file: a line for each group."""
    return "[\n" + ",\n".join(f"  {json.dumps(one)}" for one in found) + "\n]\n"


def _ninth_decile(errors: list[float]) -> float:
    return errors[0] if len(errors) == 1 else quantiles(errors, n=10, method="inclusive")[-1]
