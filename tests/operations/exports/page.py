"""The figures of trials in the pages of exports."""

from __future__ import annotations

from railweave.writing import write_file
from tests.conftest import ROOT


def put(mark: str, rows: list[str]) -> None:
    """Replace the lines between the marks ``<!-- MARK: begin -->`` and ``<!-- MARK: end -->`` of the page that has them."""
    begin, end = f"<!-- {mark}: begin -->", f"<!-- {mark}: end -->"
    (page,) = [
        page for page in sorted((ROOT / "docs" / "export").glob("*.md")) if begin in page.read_text(encoding="utf-8")
    ]
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    write_file(page, "\n".join([f"{before}{begin}", *rows, f"{end}{rest.partition(end)[2]}"]))
