"""The page in a browser, as a reader uses it: search, open a stripe, light a path; without a word on the console."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from railweave.analysis.checks.subject import Subject
from railweave.analysis.routing.paths import path_hops, queue_pair_paths
from railweave.live.check.counting import COLUMNS as SUBJECTS
from railweave.model.findings import Finding
from railweave.model.network.model import Network
from railweave.outputs.report.body import body_of
from railweave.outputs.report.living import living_html
from railweave.outputs.report.page import report_html
from railweave.outputs.report.prediction.page import document
from railweave.pages.table import Column, Table, columns, long_text
from railweave.prediction.simulation.compare import COLUMNS
from tests.chromium import Chromium, Page, browser, program
from tests.cli.test_init_sizing import run as sized
from tests.conftest import EXAMPLES
from tests.dual_stack import dual
from tests.outputs.report.conftest import LARGE, read

pytestmark = pytest.mark.skipif(program() is None, reason="there is no Chromium on the PATH")

Report = Callable[[Network, Sequence[Finding]], str]

OPEN_SECONDS = 3.0
"""Most processor time that the page of 8,192 GPUs may take to open, the browser's own start of a tab included."""
MOST_BYTES = 15_000_000


@pytest.fixture(scope="module")
def chromium() -> Iterator[Chromium]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def h100_file(h100: Network, report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(report(h100, list(h100.findings)), encoding="utf-8")
    return file


@pytest.fixture
def page(chromium: Chromium, h100_file: Path) -> Iterator[Page]:
    found = chromium.open(h100_file, width=1440, height=900)
    yield found
    assert found.errors == []


def lit(page: Page) -> set[int]:
    """The cables that are lit in the picture, by their place in the cabling."""
    return set(
        page.evaluate("[...document.querySelectorAll('#picture .cable.on')].map((one) => Number(one.dataset.link))")
    )


def shown_rows(page: Page, table: str) -> list[str]:
    return page.evaluate(f"[...document.querySelectorAll('[data-table={table}] tbody tr')].map((one) => one.innerText)")


def state(page: Page, table: str) -> str:
    return page.evaluate(f"document.querySelector('[data-table={table}] [role=status]').textContent")


def search(page: Page, table: str, words: str) -> None:
    field, matched = (
        f"[data-table={table}] input",
        f"document.querySelector('[data-table={table}] [role=status]').textContent.includes('match')",
    )
    page.evaluate(
        f"(() => {{ const e = document.querySelector({field!r}); e.value = ''; e.dispatchEvent(new Event('input')); }})()"
    )
    page.wait_for(f"!{matched}")
    page.type(field, words)
    page.wait_for(matched)


def ask(page: Page, source: str, target: str, count: int) -> list[list[str]]:
    """The links of each queue pair, as the table of paths says them: names of cables, either way round."""
    for name, value in (("source", source), ("target", target), ("count", str(count))):
        page.type(f"#path-{name}", value)
    page.click("#path-form button")
    cells = page.evaluate(
        "[...document.querySelectorAll('#path-result tbody tr')].map((one) =>"
        " [...one.lastChild.children].map((hop) => hop.textContent))"
    )
    assert len(cells) == count
    return cells


def pinned(link: str) -> set[str]:
    """Both ways in which the table may put one link: ``a port → b port``."""
    near, far = (end.replace(":", " ", 1) for end in link.split("--"))
    return {f"{near} → {far}", f"{far} → {near}"}


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (820, 1100)])
@pytest.mark.parametrize("dark", [False, True])
def test_it_opens_in_any_window(chromium: Chromium, h100_file: Path, width: int, height: int, *, dark: bool) -> None:
    page = chromium.open(h100_file, width=width, height=height, dark=dark)
    assert page.errors == []
    assert page.requests == [h100_file.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", paper))) / 3
    assert (brightness < 60) if dark else (brightness > 200)
    # The smallest words of the picture are still words, not dust.
    assert (
        page.evaluate(
            "Math.min(...[...document.querySelectorAll('#picture text')].map((one) => one.getBoundingClientRect().height))"
        )
        > 8
    )


def test_search_finds_rows_and_more_can_be_had(page: Page, h100: Network) -> None:
    search(page, "cables", "spine2 stripe1-leaf3")
    assert len(shown_rows(page, "cables")) == 1
    assert state(page, "cables") == f"1 of {len(h100.cables)} rows match"
    nic = h100.servers[1].nics[2]
    search(page, "addresses", f"{nic.addresses[3].address} orange")
    (row,) = shown_rows(page, "addresses")
    assert h100.servers[1].name in row
    assert nic.leaf_port in row
    search(page, "addresses", "no-such-nic")
    assert shown_rows(page, "addresses") == []


def test_a_device_is_found_by_its_whole_name_and_parts_of_words_as_such(
    chromium: Chromium, report: Report, tmp_path: Path
) -> None:
    network = read(tmp_path, ECMP.replace("spines: 2, links_per_spine: 4", "spines: 16"))
    file = tmp_path / "report.html"
    file.write_text(report(network, [Finding("x", "info", "spine1", "set `cabling:` here")]), encoding="utf-8")
    page = chromium.open(file, width=1440, height=900)
    search(page, "cables", "spine1")
    mine = sum("spine1" in {one.a.device, one.b.device} for one in network.cables)
    assert state(page, "cables") == f"{mine} of {len(network.cables)} rows match"
    search(page, "cables", "spine1 stripe1-leaf2")
    assert len(shown_rows(page, "cables")) == 1
    search(page, "cables", "pine1")
    assert len(shown_rows(page, "cables")) == mine * 8  # 1, 10 to 16
    search(page, "addresses", "node1")
    assert len(shown_rows(page, "addresses")) == len(network.servers[0].nics)
    assert page.evaluate("document.querySelector('[data-table=findings] code').textContent") == "cabling:"
    assert page.errors == []


def test_a_device_lights_its_cables_until_escape(page: Page, h100: Network) -> None:
    wanted = {place for place, cable in enumerate(h100.cables) if "spine3" in {cable.a.device, cable.b.device}}
    page.click("#picture [data-device=spine3]")
    assert lit(page) == wanted
    assert len(wanted) == 16
    assert page.evaluate("document.getElementById('selection').textContent").startswith("spine3: 16 cables")
    page.send("Input.dispatchKeyEvent", type="keyDown", key="Escape")
    assert lit(page) == set()


def test_a_path_color_lights_where_it_runs(page: Page, h100: Network) -> None:
    page.click("#picture .legend-entry[data-color='backend/2']")
    assert lit(page) == {place for place, cable in enumerate(h100.cables) if cable.color == 2}


@pytest.mark.parametrize("target", ["H100-03:gpu0_eth", "H100-04:gpu5_eth", "H100-02:gpu0_eth"])
def test_paths_are_those_of_the_forwarding_tables(page: Page, h100: Network, target: str) -> None:
    routes = Subject.of(h100).routes
    found = queue_pair_paths(h100, routes, "H100-01:gpu0_eth", target, 6)
    cells = ask(page, "H100-01:gpu0_eth", target, 6)
    for path, hops in zip(found, cells, strict=True):
        assert len(path.hops) == len(hops) >= 2
        for (link,), text in zip(path.hops, hops, strict=True):
            assert text in pinned(link.link)
    names = {link.link for path in found for hop in path.hops for link in hop}
    assert lit(page) == {place for place, cable in enumerate(h100.cables) if cable.name in names}
    rows = page.evaluate("[...document.querySelectorAll('#path-result tbody tr')].map((one) => one.innerText)")
    for path, row in zip(found, rows, strict=True):
        assert path.src_gid in row
        assert path.dst_gid in row
        assert path.color in row


def test_a_nic_has_no_path_to_itself_and_unknown_ones_are_asked_for(page: Page) -> None:
    page.type("#path-target", "H100-01:gpu0_eth")
    page.click("#path-form button")
    assert "needs no path to itself" in page.evaluate("document.getElementById('path-result').textContent")
    page.type("#path-target", "nobody")
    page.click("#path-form button")
    said = "document.getElementById('path-result').textContent"
    assert page.evaluate(said) == 'There is no NIC "nobody": give SERVER:NIC, such as H100-01:gpu0_eth.'
    page.type("#path-target", "H100-03:gpu0_eth")
    for count in ("0", "1000"):
        page.type("#path-count", count)
        page.click("#path-form button")
        assert page.evaluate(said) == "Give 1 to 64 queue pairs."
    ask(page, "H100-01:gpu0_eth", "H100-03:gpu0_eth", 1)
    assert "1 queue pair over 2 switch-to-switch links, on a path of its own" in page.evaluate(said)


@pytest.mark.parametrize("width", [1400, 800])
def test_findings_are_shown_whole(
    chromium: Chromium, h100: Network, report: Report, tmp_path: Path, width: int
) -> None:
    where, fix = ", ".join(f"stripe{k}-leaf1" for k in range(40)), "set `cabling` " + "and measure every cable " * 20
    found = [Finding("an-identifier-of-some-length", "warning", where, fix, fix, fix, "fabric-file.yaml", 7)] * 9
    file = tmp_path / "report.html"
    file.write_text(report(h100, found), encoding="utf-8")
    page = chromium.open(file, width=width, height=900)
    assert page.evaluate(
        "(() => { const box = document.querySelector('[data-table=findings] .scroll');"
        " return [box.scrollWidth - box.clientWidth, box.scrollHeight - box.clientHeight]; })()"
    ) == [0, 0]
    assert page.evaluate(
        "[...document.querySelectorAll('[data-table=findings] td')].every((one) => one.scrollWidth <= one.clientWidth + 1"
        " && one.getBoundingClientRect().right <= innerWidth)"
    )
    assert page.errors == []


def test_a_click_on_a_heading_sorts(page: Page, h100: Network) -> None:
    def names() -> list[str]:
        return [row.split("\t")[0].strip() for row in shown_rows(page, "switches")]

    heading = "[data-table=switches] th:nth-child({}) button"
    before = names()
    page.click(heading.format(1))
    assert names() == [
        *(f"spine{k}" for k in range(1, 5)),
        *(f"stripe{s}-leaf{k}" for s in (1, 2) for k in range(1, 9)),
    ]
    page.click(heading.format(1))
    assert names()[:2] == ["stripe2-leaf8", "stripe2-leaf7"]
    assert page.evaluate("document.querySelector('[data-table=switches] th').getAttribute('aria-sort')") == "descending"
    page.click(heading.format(1))
    assert names() == before
    # Numbers by their value, and only of the rows that are searched for.
    page.evaluate(
        "document.querySelectorAll('[data-table=cables] th button').forEach((one) => one.textContent === 'Length' && one.click())"
    )
    search(page, "cables", "stripe1-leaf1")
    lengths = [cable.length_m for cable in h100.cables if "stripe1-leaf1" in {cable.a.device, cable.b.device}]
    assert [row.split("\t")[-2].strip() for row in shown_rows(page, "cables")] == [
        f"{one:g} m" for one in sorted(lengths)
    ]


DRAWN = """
(() => {
  const svg = document.querySelector("#path-result svg");
  const frame = svg.getBoundingClientRect();
  const boxes = new Map([...svg.querySelectorAll("rect")].map((one) => [one.dataset.device, one.getBoundingClientRect()]));
  const wrong = [];
  for (const way of svg.querySelectorAll(".way")) {
    const line = way.querySelector(".line");
    const end = (at) => line.getPointAtLength(at).matrixTransform(line.getScreenCTM());
    for (const [device, point] of [[way.dataset.from, end(0)], [way.dataset.to, end(line.getTotalLength())]]) {
      const box = boxes.get(device);
      if (point.y < box.top || point.y > box.bottom || point.y < frame.top || point.y > frame.bottom) wrong.push(device);
    }
  }
  for (const [device, box] of boxes) {
    if (box.left < frame.left || box.right > frame.right || box.top < frame.top || box.bottom > frame.bottom) wrong.push(device);
  }
  return [svg.querySelectorAll(".way").length, wrong];
})()
"""
"""How many lines the drawing of paths has, and the devices that a line misses or that stand out of the frame."""


@pytest.mark.parametrize("pairs", [1, 4, 16, 64])
def test_lines_end_at_their_own_devices(page: Page, pairs: int) -> None:
    ask(page, "H100-01:gpu0_eth", "H100-03:gpu0_eth", pairs)
    assert page.evaluate(DRAWN) == [4 * pairs, []]


ECMP = """
name: ecmp
fabrics:
  backend:
    topology: {stripes: 2, leaves_per_stripe: 4, spines: 2, links_per_spine: 4}
    leaf: {device: qfx5240-64od}
    load_balancing: {mode: ecmp}
servers: [{names: "node[1-2]", model: h100-8gpu-cx7, stripe: stripe1}, {names: "node[3-4]", model: h100-8gpu-cx7, stripe: stripe2}]
"""


def test_many_switches_beside_each_other_are_one_box(chromium: Chromium, report: Report, tmp_path: Path) -> None:
    shape = "{stripes: 2, leaves_per_stripe: 4, spines: 2, links_per_spine: 4}"
    assert shape in ECMP
    file = tmp_path / "report.html"
    wide = ECMP.replace(shape, "{stripes: 2, leaves_per_stripe: 4, spines: 32, links_per_spine: 1}")
    file.write_text(report(read(tmp_path, wide), []), encoding="utf-8")
    page = chromium.open(file, width=1280, height=900)
    ask(page, "node1:gpu0_eth", "node3:gpu0_eth", 4)
    names = "[...document.querySelectorAll('#path-result svg rect')].map((one) => one.dataset.device)"
    assert page.evaluate(names) == ["node1", "stripe1-leaf1", "32 devices", "stripe2-leaf1", "node3"]
    assert page.evaluate(DRAWN) == [4 * (1 + 32 + 32 + 1), []]
    assert page.errors == []


def test_a_choice_by_hash_is_told_as_one(chromium: Chromium, report: Report, tmp_path: Path) -> None:
    network = read(tmp_path, ECMP)
    file = tmp_path / "report.html"
    file.write_text(report(network, []), encoding="utf-8")
    page = chromium.open(file, width=1440, height=900)
    target = next(one.name for one in network.servers if one.nics[0].stripe != network.servers[0].nics[0].stripe)
    cells = ask(page, "node1:gpu0_eth", f"{target}:gpu0_eth", 1)
    leaf, far = network.server("node1").nics[0].leaf, network.server(target).nics[0].leaf
    assert cells[0][1:-1] == [
        f"{leaf} → 2 switches: one of 8 links, 12.5 % each",
        f"2 switches → {far}: one of 8 links, 12.5 % each",
    ]
    assert len(lit(page)) == 1 + 8 + 8 + 1
    assert page.errors == []


def test_queue_pairs_of_a_dual_stack_network_keep_to_one_family(
    chromium: Chromium, report: Report, tmp_path: Path
) -> None:
    network = dual("tenants", "junos")
    file = tmp_path / "report.html"
    file.write_text(report(network, []), encoding="utf-8")
    page = chromium.open(file, width=1440, height=900)
    assert len(ask(page, "h1:gpu0_eth", "h4:gpu0_eth", 2)) == 2
    used = network.job_family("backend", "tenant-1")
    both = [page.evaluate("document.querySelector('#path-family').value")]
    both += ["ipv4" if both == ["ipv6"] else "ipv6"]
    assert used in {None, both[0]}
    nics = [network.server(name).nics[0] for name in ("h1", "h4")]
    for family in both:
        page.evaluate(
            f"(() => {{ const e = document.querySelector('#path-family'); e.value = '{family}';"
            " e.dispatchEvent(new Event('change')); })()"
        )
        shown = page.evaluate(
            "[...document.querySelectorAll('#path-result tbody tr')].map((one) => [2, 3].map((k) => one.children[k].textContent))"
        )
        wanted = [[str(one.address) for one in nic.addresses if one.family == family] for nic in nics]
        assert [sorted({row[k] for row in shown}) for k in (0, 1)] == [sorted(one) for one in wanted]
    assert page.errors == []


def test_8192_gpus(chromium: Chromium, tmp_path: Path) -> None:
    network = read(tmp_path, LARGE.replace("leaf:", "paths_per_nic: 8\n    leaf:"))
    routes = Subject.of(network).routes
    file = tmp_path / "report.html"
    file.write_text(report_html(network, list(network.findings), body_of(network, routes)), encoding="utf-8")
    assert file.stat().st_size < MOST_BYTES / 5  # 32,768 GPUs are four times as much
    page = chromium.open(file, width=1440, height=900)
    page.send("Performance.enable")
    used = {one["name"]: one["value"] for one in page.send("Performance.getMetrics")["metrics"]}
    assert used["ProcessTime"] < OPEN_SECONDS
    assert (
        page.evaluate("document.querySelectorAll('tr').length") < 1200
    )  # three tables of 200 rows, the switches, the cards

    search(page, "addresses", "gpu-1024 gpu7 color3")
    (row,) = shown_rows(page, "addresses")
    assert network.servers[-1].nics[-1].addresses[2].address in row

    block = "#picture [data-stripes=stripe7]"
    page.click(block)
    count = "document.querySelectorAll('#expanded .{}').length"
    assert page.evaluate(count.format("fabric-cable")) == page.evaluate(count.format("server-cable")) == 8 * 64
    assert page.evaluate(count.format("leaf")) == 8
    page.move("#expanded [data-device=stripe7-leaf3]")
    assert page.evaluate(count.format("cable.on")) == 64 + 64

    here, there = network.server("gpu-0385"), network.server("gpu-1000")
    cells = ask(page, f"{here.name}:gpu2_eth", f"{there.name}:gpu2_eth", 2)
    assert [len(hops) for hops in cells] == [4, 4]
    assert cells[0][1] == "stripe7-leaf3 → 8 switches: one of 8 links, 12.5 % each"
    found = queue_pair_paths(network, routes, f"{here.name}:gpu2_eth", f"{there.name}:gpu2_eth", 2)
    assert page.evaluate(DRAWN) == [2 * (8 + 8 + 2), []]
    mine = {cable.name for cable in network.cables_of("stripe7-leaf3")}
    names = {link.link for path in found for hop in path.hops for link in hop} & mine
    page.evaluate("document.activeElement.blur()")
    page.send("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
    lit_links = page.evaluate(
        "[...document.querySelectorAll('#expanded .cable.on')].map((one) => Number(one.dataset.link))"
    )
    assert {network.cables[place].name for place in lit_links} == names
    assert len(names) == 16 + 1
    bundles = page.evaluate("[...document.querySelectorAll('#picture .bundle.on')].map((one) => one.dataset.a)")
    assert bundles == ["backend/stripe7", "backend/stripe16"]

    page.click(block)
    assert page.evaluate("document.querySelectorAll('#expanded > *').length") == 0
    assert page.errors == []


PARALLEL = """
name: t
fabrics:
  f:
    topology: {stripes: 2, leaves_per_stripe: 1, spines: 2, links_per_spine: 4, link_speed: 400G, oversubscription: 4}
    leaf: {device: qfx5240-64od}
    paths_per_nic: 2
servers:
  - {names: [a1], model: h100-8gpu-cx7, stripe: stripe1}
  - {names: [b1, b2], model: h100-8gpu-cx7, stripe: stripe2}
status: {b2: planned}
"""


def test_parallel_links_are_a_pinned_path_and_what_is_absent_has_none(
    chromium: Chromium, report: Report, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    file.write_text(report(read(tmp_path, PARALLEL), []), encoding="utf-8")
    page = chromium.open(file, width=1440, height=900)
    cells = ask(page, "a1:gpu0_eth", "b1:gpu0_eth", 2)
    assert [hops[1] for hops in cells] == [
        f"stripe1-leaf1 → {spine}: one of 4 parallel links, 25 % each" for spine in ("spine1", "spine2")
    ]
    assert "each pinned to its switches by its path color" in page.evaluate(
        "document.querySelector('#path-result p').textContent"
    )
    page.type("#path-target", "b2:gpu0_eth")
    page.click("#path-form button")
    assert page.evaluate("document.querySelector('#path-result tbody td:last-child').textContent") == "not reachable"
    assert "Treated as absent" in page.evaluate("document.body.textContent")
    assert page.errors == []


def test_a_picture_wider_than_the_window_says_so(chromium: Chromium, h100_file: Path) -> None:
    page = chromium.open(h100_file, width=800, height=900)
    state = "[picture.scrollWidth > picture.clientWidth + 1, !wider.hidden, picture.className, zoom.textContent]"
    assert page.evaluate(state) == [True, True, "picture more-right", "Whole picture"]
    page.evaluate("picture.scrollLeft = picture.scrollWidth")
    page.wait_for("picture.className === 'picture more-left'")
    page.click("#zoom")
    assert page.evaluate(state) == [False, False, "picture whole", "Readable size"]
    page.click("#zoom")
    assert page.evaluate(state)[3] == "Whole picture"
    assert page.errors == []


def test_a_picture_that_fits_says_nothing(chromium: Chromium, h100_file: Path) -> None:
    page = chromium.open(h100_file, width=1440, height=900)
    assert page.evaluate("[wider.hidden, picture.className, zoom.textContent]") == [True, "picture", "Actual size"]


@pytest.mark.parametrize(("width", "hint"), [(800, "block"), (1440, "none")])
def test_the_page_of_a_check_fits_the_window(
    chromium: Chromium, h100: Network, tmp_path: Path, width: int, hint: str
) -> None:
    said = "the cables in et-0/0/0:0 and et-0/0/1:0 of stripe1-leaf1 are swapped"
    finding = Finding(
        "cables-swapped", "error", "stripe1-leaf1 et-0/0/0:0 and et-0/0/1:0", "f.yaml", 8, said, said, said
    )
    file = tmp_path / "check.html"
    file.write_text(
        living_html(h100, [finding], Table(columns("Device"), []), (Table(SUBJECTS, []), Table((), ())), 20, 20),
        encoding="utf-8",
    )
    page = chromium.open(file, width=width, height=900)
    assert page.evaluate("getComputedStyle(document.querySelector('.wider')).display") == hint
    beyond = "(() => { const p = document.querySelector('.picture'); return p.scrollWidth > p.clientWidth + 1; })()"
    assert page.evaluate(beyond) is (hint == "block")
    assert page.evaluate("[...document.querySelectorAll('.scroll')].every((one) => one.scrollWidth <= one.clientWidth)")
    assert page.errors == []


def test_the_table_of_a_comparison_fits_a_window_of_800_pixels(chromium: Chromium, tmp_path: Path) -> None:
    cells = ("ecmp", 514.3, "+0.0%", 252.81, 0, 0, 0, 0, long_text("proxy H100-01:gpu0_eth busy 78.7%"))
    table = Table((Column("lb"), *COLUMNS), [cells])
    file = tmp_path / "comparison.html"
    file.write_text(document("t", "", [table.to_html()], {}, []), encoding="utf-8")
    page = chromium.open(file, width=800, height=900)
    assert page.evaluate(
        "(() => { const s = document.querySelector('.scroll'); return s.scrollWidth <= s.clientWidth; })()"
    )


def test_the_navigation_is_one_line_in_a_window_of_1280_pixels(chromium: Chromium, h100_file: Path) -> None:
    page = chromium.open(h100_file, width=1280, height=900)
    assert page.evaluate("new Set([...document.querySelectorAll('nav a')].map((one) => one.offsetTop)).size") == 1


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 800])
def test_the_page_of_init_fits_its_window(chromium: Chromium, tmp_path: Path, width: int, dark: bool) -> None:
    """Only the picture and wide tables scroll by themselves; a sentence says where the picture does."""
    file, prices = tmp_path / "sizing.html", tmp_path / "prices.yaml"
    prices.write_text("currency: EUR\nprices: {ais800-64o: 30000, osfp-400g-sr4: 900}\n")
    options = ("--gpus", "256", "--stripes", "2", "--oversubscription", "2:1", "--switch", "ais800-64o")
    sized(str(tmp_path / "new"), *options, "--prices", str(prices), "--html", str(file))
    page = chromium.open(file, width=width, height=900, dark=dark)
    assert page.errors == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    hidden = page.evaluate("getComputedStyle(document.querySelector('.wider')).display") == "none"
    scrolls = page.evaluate("(one => one.scrollWidth > one.clientWidth)(document.querySelector('.picture'))")
    assert hidden != scrolls
    colors = page.evaluate("(one => [one.color, one.backgroundColor])(getComputedStyle(document.body))")
    brightness = [sum(map(int, re.findall(r"\d+", color)[:3])) for color in colors]
    assert (brightness[0] > brightness[1]) == dark


@pytest.mark.parametrize("example", ["evpn-gpu-isolation", "evpn-server-isolation", "evpn-functional"])
def test_tenants_reach_each_other_on_the_page_as_in_the_tables(
    chromium: Chromium, report: Report, tmp_path: Path, example: str
) -> None:
    network = read(tmp_path, (EXAMPLES / f"{example}.yaml").read_text(encoding="utf-8"))
    file = tmp_path / "report.html"
    file.write_text(report(network, []), encoding="utf-8")
    page = chromium.open(file, width=1440, height=900)
    first = page.evaluate("document.querySelector('#path-result p').textContent")
    assert "no path" not in first
    nics = [(server.name, nic) for server in network.servers for nic in server.nics if nic.addresses]
    draw = random.Random(example)  # noqa: S311
    routes = Subject.of(network).routes
    seen: set[tuple[bool, bool]] = set()
    for source, target in [draw.sample(nics, 2) for _ in range(24)]:
        if source[1].fabric != target[1].fabric:
            continue
        names = [f"{server}:{nic.name}" for server, nic in (source, target)]
        cells = ask(page, *names, 1)
        family = network.job_family(source[1].fabric, source[1].tenant) or source[1].addresses[0].family
        address = next(one for one in target[1].addresses if one.family == family).address
        reached = bool(path_hops(network, routes, source, target, address))
        assert (cells != [[]]) == reached, names
        other = source[1].tenant != target[1].tenant
        note = page.evaluate("document.querySelector('#path-result p').textContent")
        assert ("there is no path between them" in note) == (other and not reached)
        seen.add((other, reached))
    assert {(False, True), (True, False)} <= seen
    assert page.errors == []
