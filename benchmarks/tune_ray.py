"""A study on workers of Ray: the same result on any number of them, and what it takes. Usage: python -m benchmarks.tune_ray [STUDY]

``make trial NAME=ray`` installs Ray beside the virtual environment, runs this, and writes the table of docs/predict.md. It ends with ``tune-ray-trial: ok``.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from railweave.api import tune_run
from railweave.operations.tune.studying import JOURNAL, LOCAL

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "predict.md"
BEGIN, END = "<!-- ray: begin -->", "<!-- ray: end -->"
WAYS: tuple[tuple[str, int, str | None], ...] = (
    ("this process", 1, None),
    ("processes of railweave", 2, None),
    ("Ray", 1, LOCAL),
    ("Ray", 2, LOCAL),
    ("Ray", 3, LOCAL),
)
"""By what, how many workers, and the cluster."""


def main() -> None:
    """Run the study each way, and write the table. Exits with 1 where two differ."""
    study = ROOT / "examples" / "studies" / f"{sys.argv[1] if len(sys.argv) > 1 else 'ecn'}.yaml"
    rows: list[str] = []
    journals: list[str] = []
    for name, workers, ray in WAYS:
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            found = tune_run(study, output=folder, workers=workers, ray=ray)
            seconds = time.monotonic() - began
            journals.append((Path(folder) / JOURNAL).read_text())
        same = "the same" if journals[-1] == journals[0] else "ANOTHER"
        rows.append(
            f"| {name} | {workers} | {len(found.outcome.trials)} | {found.outcome.runs} | {seconds:.0f} s | {same} |"
        )
        print(rows[-1], flush=True)
    if len(set(journals)) > 1:
        raise SystemExit("tune-ray-trial: workers change the result")
    version = __import__("ray").__version__
    head = [
        f"[{study.stem}](../examples/studies/{study.name}) by Ray {version}, on {os.cpu_count()} cores with other work; times are with the start of Ray:",
        "",
        "| by | workers | trials | runs | time | journal |",
        "|---|---|---|---|---|---|",
    ]
    text = PAGE.read_text()
    before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
    PAGE.write_text("\n".join([before, *head, *rows, after]))
    print("tune-ray-trial: ok")


if __name__ == "__main__":
    main()
