from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from railweave.model.network.devices import Color
from railweave.model.network.model import Network
from railweave.outputs.report.topology.picture import TITLE_SIZE, topology_svg
from railweave.pages.palette import HUES, strokes
from railweave.pages.shell import width
from tests.conftest import designed
from tests.outputs.report.conftest import EXAMPLE, read

SVG = "{http://www.w3.org/2000/svg}"


def parse(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - our own output


def classed(root: ET.Element, name: str) -> list[ET.Element]:
    return [one for one in root.iter() if name in one.get("class", "").split()]


def words(element: ET.Element) -> str:
    return "".join(element.itertext())


def shown(root: ET.Element) -> list[str]:
    return ["".join(one.itertext()) for one in root.iter(f"{SVG}text")]


def test_every_device_is_named_and_marked(h100: Network) -> None:
    root = parse(topology_svg(h100))
    names = {one.name for one in (*h100.switches, *h100.servers)}
    assert {one.get("data-device") for one in classed(root, "device")} == names
    assert names <= set(shown(root))
    assert len(names) == 16 + 4 + 4


def test_one_line_per_cable_in_its_path_color(h100: Network) -> None:
    root = parse(topology_svg(h100))
    drawn = Counter((one.get("data-a"), one.get("data-b"), one.get("data-color")) for one in classed(root, "cable"))
    numbers = {1: "backend/1", 2: "backend/2", 3: "backend/3", 4: "backend/4", None: None}
    assert drawn == Counter((one.a.device, one.b.device, numbers[one.color]) for one in h100.cables)
    assert sum(drawn.values()) == 32 + 64
    for cable in classed(root, "cable"):
        line = next(one for one in cable if "line" in one.get("class", "").split())
        color = cable.get("data-color")
        assert line.get("class", "").split()[0] == ("plain" if color is None else f"k1-{color[-1]}")


def test_titles_say_what_a_cable_is(h100: Network) -> None:
    root = parse(topology_svg(h100))
    titles = {words(one[0]) for one in classed(root, "cable")}
    assert (
        "stripe1-leaf2:et-0/0/0:0--spine1:et-0/0/0:1\n"
        "400G, path color green (color:0:1), 50 m planned\nosfp-800g-2x400g-sr4"
    ) in titles
    assert (
        "H100-01:gpu0_eth--stripe1-leaf1:et-0/0/16:0\n400G, 10 m planned\nosfp-400g-sr4 / osfp-800g-2x400g-sr4"
    ) in titles


def test_server_cables_run_straight_down_their_rail(h100: Network) -> None:
    root = parse(topology_svg(h100))
    leaves = {
        one.get("data-device"): (float(box.get("x", "0")), float(box.get("width", "0")))
        for one in classed(root, "leaf")
        for box in classed(one, "box")
    }
    for cable in classed(root, "server-cable"):
        path = next(one.get("d", "") for one in cable if one.tag == f"{SVG}path")
        found = re.fullmatch(r"M([\d.]+) [\d.]+V[\d.]+", path)
        assert found, path
        left, width = leaves[cable.get("data-b")]
        assert left < float(found[1]) < left + width


def test_legend_has_each_color_with_its_number(h100: Network) -> None:
    root = parse(topology_svg(h100))
    entries = [[words(text) for text in one.iter(f"{SVG}text")] for one in classed(root, "legend-entry")]
    assert entries == [
        ["green", "color:0:1"],
        ["blue", "color:0:2"],
        ["red", "color:0:3"],
        ["orange", "color:0:4"],
    ]


@pytest.mark.parametrize("name", ["h100", pytest.param("large", marks=pytest.mark.scale), "flat"])
def test_it_is_self_contained_and_the_same_every_time(name: str, request: pytest.FixtureRequest) -> None:
    network: Network = request.getfixturevalue(name)
    svg = topology_svg(network)
    assert svg == topology_svg(Network.from_json(network.to_json()))
    parse(svg)
    assert set(re.findall(r"https?://[^\"' ]*", svg)) == {"http://www.w3.org/2000/svg"}
    assert "prefers-color-scheme:dark" in svg
    assert not re.search(r"<script|@import|url\(|href=", svg)


def test_everything_is_inside_the_picture(h100: Network) -> None:
    root = parse(topology_svg(h100))
    wide, height = float(root.get("width", "0")), float(root.get("height", "0"))
    for box in root.iter(f"{SVG}rect"):
        assert -10 <= float(box.get("x", "0")) <= wide
        assert float(box.get("x", "0")) + float(box.get("width", "0")) <= wide
        assert float(box.get("y", "0")) + float(box.get("height", "0")) <= height


def test_names_from_outside_are_escaped(h100: Network) -> None:
    evil = '</title><script>alert("1")</script>\x07&'
    network = replace(h100, name=evil, description=evil)
    root = parse(topology_svg(network))
    assert not list(root.iter(f"{SVG}script"))
    assert words(root[1]) == evil.replace("\x07", "\ufffd")


@pytest.mark.scale
def test_a_large_fabric_is_blocks_of_bounded_size(large: Network) -> None:
    svg = topology_svg(large)
    root = parse(svg)
    assert len(large.cables) == 2 * 8192
    assert len(svg) < 64_000
    assert len(classed(root, "bundle")) == len(classed(root, "cable")) == 16
    devices = {one.get("data-device") for one in classed(root, "device")}
    assert devices == {"backend/spines", *(f"backend/stripe{number}" for number in range(1, 17))}
    texts = shown(root)
    assert texts.count("512 × 400G") == 16
    assert texts.count("64 servers, 512 GPUs") == 16
    assert "64 spines  ·  qfx5240-64od" in texts
    assert "stripe16-leaf1 … stripe16-leaf8" in texts
    assert float(root.get("width", "0")) * 0.8 <= 1400 - 56  # shown whole by a page of 1,400 px
    titles = {words(one[0]) for one in classed(root, "bundle")}
    assert all(one.splitlines()[-1].startswith("50 m, ") for one in titles)
    assert "64 path colors, color1 (color:0:1) to color64 (color:0:64)" in texts


@pytest.mark.scale
def test_more_stripes_than_fit_share_a_block(large: Network) -> None:
    renamed = tuple(
        replace(one, stripe=f"s{place}") if one.role == "leaf" else one for place, one in enumerate(large.switches)
    )
    svg = topology_svg(replace(large, switches=renamed))
    root = parse(svg)
    assert len(classed(root, "bundle")) == 30
    assert "99 more stripes" in shown(root)
    assert len(svg) < 100_000


def test_a_fabric_without_spines_has_leaves_over_several_rails(flat: Network) -> None:
    root = parse(topology_svg(flat))
    texts = shown(root)
    assert [one for one in texts if one.startswith("rail")] == ["rails 1–2", "rails 3–4", "rails 5–6", "rails 7–8"]
    assert not classed(root, "spine")
    assert len(classed(root, "server-cable")) == len(classed(root, "cable")) == 24


def test_each_nic_says_which_tenant_it_belongs_to(tmp_path: Path) -> None:
    network = read(tmp_path, (EXAMPLE.parent / "evpn-gpu-isolation.yaml").read_text(encoding="utf-8"))
    root = parse(topology_svg(network))
    assert [words(one[-2]) + words(one[-1]) for one in classed(root, "tenant-entry")] == [
        "Atenant-1",
        "Btenant-2",
        "Ctenant-3",
    ]
    said = Counter(word for word in shown(root) if word in {"A", "B", "C"})
    assert said == {"A": 1 + 8, "B": 1 + 8, "C": 1 + 16}  # in the legend, and on the NICs of four servers


def simulated(color: str, matrix: tuple[tuple[float, ...], ...]) -> tuple[float, ...]:
    """A color as seen with a color-vision deficiency (Machado, Oliveira, Fernandes 2009, severity 1.0), linear RGB."""
    linear = [(int(color[at : at + 2], 16) / 255) ** 2.2 for at in (1, 3, 5)]
    seen = [sum(a * b for a, b in zip(row, linear, strict=True)) for row in matrix]
    return tuple(max(0.0, value) ** (1 / 2.2) for value in seen)


DEFICIENCIES = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}


@pytest.mark.parametrize("matrix", DEFICIENCIES.values(), ids=DEFICIENCIES)
@pytest.mark.parametrize("shade", [0, 1], ids=["light", "dark"])
def test_usual_colors_stay_apart_for_color_blind_readers(shade: int, matrix: tuple[tuple[float, ...], ...]) -> None:
    seen = [simulated(HUES[name][shade], matrix) for name in ("green", "blue", "red", "orange")]
    for place, one in enumerate(seen):
        for other in seen[place + 1 :]:
            assert math.dist(one, other) > 0.25


def test_no_two_colors_of_a_fabric_look_the_same() -> None:
    names = ["green", "lime", "RED", "color4", *(f"color{place}" for place in range(5, 25))]
    found = strokes([Color(place, place, name) for place, name in enumerate(names, 1)], 1)
    assert (found[1].light, found[2].light) == (HUES["green"][0],) * 2
    assert found[1].dash != found[2].dash
    assert found[3].light == HUES["red"][0]
    assert len({(one.light, one.dash) for one in found.values()}) == len(names)


def test_the_title_of_a_tier_is_inside_its_box(tmp_path: Path) -> None:
    text = """
name: t
fabrics:
  backend:
    topology: {stripes: 1, spines: 4, links_per_spine: 16}
    leaf: {device: arista-7060x6-64pe, nos: eos}
    load_balancing: {mode: ecmp}
servers: [{names: "gpu-[01-64]", model: dgx-h200}]
"""
    network, _ = designed(tmp_path, text)
    [tier] = [
        one for one in classed(parse(topology_svg(network)), "spine") if one.get("data-device") == "backend/spines"
    ]
    [box] = [one for one in tier if one.get("class") == "box"]
    titles = [words(one) for one in tier.iter(f"{SVG}text")]
    assert titles[0] == "4 spines  ·  arista-7060x6-64pe"
    assert width(titles[0], TITLE_SIZE) < float(box.get("width", "0"))
