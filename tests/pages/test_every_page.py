"""Every page in a browser, as wide as a desktop, a tablet and a telephone: nothing is cut, all is readable, and it prints.

Contrast and names are checked by axe (https://github.com/dequelabs/axe-core), which the package ``axe-core-python`` carries.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.chromium import Chromium, Page, browser, program
from tests.pages.every_page import KINDS, PAGES

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(program() is None, reason="there is no Chromium on the PATH (Debian: apt install chromium)"),
]

AXE = (
    "axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'best-practice'], resultTypes: ['violations']})"
    ".then((found) => found.violations.map((one) => [one.id, one.nodes.length, one.nodes[0].html.slice(0, 160), one.nodes[0].failureSummary]))"
)

CUT = """[...document.querySelectorAll('h1,h2,h3,h4,p,li,dt,dd,b,span,button,td,th,a')].filter((one) => {
  const style = getComputedStyle(one);
  return style.overflowX === 'hidden' && one.scrollWidth > one.clientWidth + 1;
}).map((one) => one.outerHTML.slice(0, 120))"""
"""Texts of which a part cannot be seen and cannot be scrolled to."""

SQUEEZED = """[...document.querySelectorAll('td')].filter((one) => {
  const size = parseFloat(getComputedStyle(one).fontSize);
  return one.checkVisibility() && one.textContent.length > 60 && one.clientWidth < 9 * size;
}).map((one) => one.outerHTML.slice(0, 120))"""
"""Sentences in columns of a few letters."""

SMALL_TEXT = """[...document.querySelectorAll('.chart text')].filter((one) => {
  const box = one.getBoundingClientRect();
  return one.textContent.trim() && box.height > 0 && box.height < 8;
}).map((one) => one.textContent)"""
"""Texts of charts that are too small to read: a line of 11 pixels is about 13 pixels high."""

PAPER = 716
"""The width of A4 in CSS pixels, less the margins that ``page.css`` asks for."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module", params=KINDS)
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return PAGES[request.param](tmp_path_factory.mktemp(request.param))


def axe() -> str:
    """The script of axe. Skips the test if no package has it."""
    found = find_spec("axe_core_python")
    if found is None or found.origin is None:
        pytest.skip("axe is not installed (pip install axe-core-python)")
    return (Path(found.origin).parent / "axe.min.js").read_text()


def opened(chromium: Chromium, file: Path, width: int, *, dark: bool = False) -> Page:
    page = chromium.open(file, width=width, height=900, dark=dark)
    assert page.errors == []
    return page


def test_nothing_is_cut_squeezed_or_wider_than_the_window(chromium: Chromium, file: Path) -> None:
    for width in (1280, 800, 400):
        page = opened(chromium, file, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for wrong in (CUT, SQUEEZED, SMALL_TEXT):
            assert page.evaluate(wrong) == [], width
        page.close()


def test_contrast_and_names_satisfy_axe(chromium: Chromium, file: Path) -> None:
    script = axe()
    for width, dark in ((1280, False), (1280, True), (400, True)):
        page = opened(chromium, file, width, dark=dark)
        page.evaluate(script)
        found = page.evaluate(AXE)
        assert found == [], json.dumps(found, indent=1)
        page.close()


def test_it_prints_on_paper_with_all_its_rows(chromium: Chromium, file: Path) -> None:
    """Dark screens print dark text on white; no region scrolls on paper, so none may be wider or higher than it shows."""
    page = opened(chromium, file, PAPER, dark=True)
    page.send("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(23, 33, 46)"
    assert page.evaluate("document.documentElement.scrollWidth") <= PAPER
    hidden = (
        "[...document.querySelectorAll('.scroll,.picture,.plot')].filter((one) => one.checkVisibility() && "
        "(one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1))"
        ".map((one) => [one.outerHTML.slice(0, 120), one.scrollWidth, one.clientWidth, one.scrollHeight, one.clientHeight])"
    )
    assert page.evaluate(hidden) == []
    assert (
        page.evaluate("[...document.querySelectorAll('nav,button,form')].filter((one) => one.checkVisibility())") == []
    )
    assert len(page.send("Page.printToPDF", preferCSSPageSize=True)["data"]) > 1000
    page.close()
