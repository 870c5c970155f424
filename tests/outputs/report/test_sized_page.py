"""The page of ``railweave init --gpus --html``: the chosen fabric drawn, its alternatives compared, nothing loaded."""

from __future__ import annotations

import re
from pathlib import Path

from railweave.outputs.report.topology.picture import topology_svg
from tests.cli.test_init_sizing import run
from tests.conftest import designed


def test_the_page_draws_the_choice_and_compares_shapes(tmp_path: Path) -> None:
    page = tmp_path / "sizing.html"
    run(str(tmp_path / "new"), "--gpus", "256", "--html", str(page))
    html = page.read_text()
    assert 'class="rw"' in html
    assert 'data-device="backend/stripe1"' in html
    assert '<th scope="col" class="number">two-tier (chosen)</th>' in html
    assert '<th scope="col" class="number">rail-planes</th>' in html
    assert html.count('class="bar-name"') == 3 * 2  # switches, cables and optics of either shape
    assert "Not one-leaf: 256 NICs on a switch of 128 ports." in html
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", html)
    assert "<script" not in html


def test_cost_and_power_are_drawn_for_each_shape(tmp_path: Path) -> None:
    """Of a switch whose power is known, and prices of most: what is not known is named, and no bar stands for it."""
    page, prices = tmp_path / "sizing.html", tmp_path / "prices.yaml"
    prices.write_text("currency: EUR\nprices: {ais800-64o: 30000, osfp-400g-sr4: 900}\nfibre_per_metre: 2\n")
    words = ("--gpus", "128", "--nic", "dgx-h100", "--switch", "ais800-64o", "--html", str(page))
    run(str(tmp_path / "new"), *words, "--prices", str(prices))
    html = page.read_text()
    assert "Cost of switches, optics and cables, EUR" in html
    assert "Power of switches and optics at most, W" in html
    assert html.count('class="bar-name"') == 5 * 3  # one-leaf, two-tier, rail-planes
    assert "Without osfp-800g-2x400g-sr4: no price is given." in html
    assert "No public document says what osfp-800g-2x400g-sr4 draw" in html
    assert "No price is given for dgx-h100, connectx-7, osfp-800g-2x400g-sr4." in html


def test_without_prices_and_watts_the_page_says_how_to_have_them(tmp_path: Path) -> None:
    page = tmp_path / "sizing.html"
    run(str(tmp_path / "new"), "--gpus", "256", "--html", str(page))
    html = page.read_text()
    assert "--prices FILE gives them" in html
    assert "No public document says what qfx5240-64od" in html
    assert re.search(r"<td[^>]*>optics [0-9.]+ kW; of qfx5240-64od[^<]* it is not known</td>", html)
    assert "and what is not known" not in html


def test_servers_that_are_alike_share_a_row(tmp_path: Path) -> None:
    page = tmp_path / "sizing.html"
    run(str(tmp_path / "new"), "--gpus", "512", "--oversubscription", "4:1", "--html", str(page))
    html = page.read_text()
    assert [f"gpu-{number:02d}" for number in range(1, 65) if f'data-device="gpu-{number:02d}"' in html] == [
        "gpu-01",
        "gpu-02",
        "gpu-64",
    ]
    assert "61 servers like the one above: gpu-03 … gpu-63" in html
    assert html.count("61 cables from ") == 8


def test_servers_that_differ_keep_their_rows(tmp_path: Path) -> None:
    text = """\
name: mixed
fabrics:
  backend:
    topology: {stripes: 1, leaves_per_stripe: 1}
    leaf: {device: qfx5240-64od}
servers:
  - {names: "a[1-6]", model: h100-8gpu-cx7}
  - {names: "b[1-5]", model: hgx-h200-8gpu-cx7}
"""
    network, _ = designed(tmp_path, text)
    drawn = topology_svg(network, 8)
    names = [one.name for one in network.servers if f'data-device="{one.name}"' in drawn]
    assert names == ["a1", "a2", "a6", "b1", "b2", "b5"]
    assert all(f'data-device="{one.name}"' in topology_svg(network) for one in network.servers)
