"""``make screenshot``: the report of the h100-rlb example with the paths of four queue pairs, as a PNG for the README."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.chromium import browser
from tests.golden.refresh import build_example


def main(target: Path) -> None:
    """Build the example, open its report, choose paths, and keep what the window shows."""
    with TemporaryDirectory() as folder, browser() as chromium:
        out = build_example("h100-rlb", Path(folder))
        page = chromium.open(out / "report.html", width=1280, height=1000)
        page.click("#path-form button")
        page.evaluate("document.activeElement.blur(), scrollTo({top: 0, behavior: 'instant'})")
        page.send("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
        page.screenshot(target)
        if page.errors:
            sys.exit("\n".join(page.errors))
    print(f"{target}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
