"""Parallel links between a leaf and a spine: a path color holds a queue pair to its switches, if not to a link."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from railweave.api import paths
from railweave.cli.app import app
from tests.conftest import designed

TEXT = """
name: t
fabrics:
  f:
    topology: {stripes: 2, leaves_per_stripe: 1, spines: 2, links_per_spine: 4, link_speed: 400G, oversubscription: 4}
    leaf: {device: qfx5240-64od}
    paths_per_nic: 2
servers:
  - {names: [a1], model: h100-8gpu-cx7, stripe: stripe1}
  - {names: [b1], model: h100-8gpu-cx7, stripe: stripe2}
"""
ENDS = ("a1:gpu0_eth", "b1:gpu0_eth")


def test_a_color_of_parallel_links_pins_to_switches(tmp_path: Path) -> None:
    network, _ = designed(tmp_path, TEXT)
    found = paths(network, *ENDS, qps=2)
    assert [(one.pinned, one.pinned_to) for one in found] == [(False, "switches")] * 2
    spines = [{link.link.partition("--")[2].partition(":")[0] for link in one.hops[1]} for one in found]
    assert spines == [{"spine1"}, {"spine2"}]
    wide, _ = designed(tmp_path, TEXT.replace("paths_per_nic: 2", "paths_per_nic: 1\n    load_balancing: {mode: ecmp}"))
    assert [one.pinned_to for one in paths(wide, *ENDS, qps=2)] == ["", ""]
    single, _ = designed(tmp_path, TEXT.replace("links_per_spine: 4", "links_per_spine: 1"))
    assert [one.pinned_to for one in paths(single, *ENDS, qps=2)] == ["links"] * 2
    assert [one.pinned_to for one in paths(single, *ENDS, down=["stripe2-leaf1"])] == [""]


def test_parallel_links_are_one_line_with_their_share(tmp_path: Path) -> None:
    fabric = tmp_path / "t.yaml"
    fabric.write_text(TEXT)
    words = ["paths", str(fabric), "--src", ENDS[0], "--dst", ENDS[1]]
    lines = CliRunner().invoke(app, words).stdout.splitlines()
    assert lines[0].endswith("  pinned to its switches; parallel links between two of them share its packets")
    assert [line.partition(" each: ")[0].strip() for line in lines[2:4]] == [
        "stripe1-leaf1--spine1: 4 parallel links, 25.0%",
        "stripe2-leaf1--spine1: 4 parallel links, 25.0%",
    ]
    assert len(lines) == 5
    hashed = TEXT.replace("paths_per_nic: 2", "paths_per_nic: 1\n    load_balancing: {mode: ecmp}")
    fabric.write_text(hashed)
    lines = CliRunner().invoke(app, words).stdout.splitlines()
    assert lines[0].endswith("  not pinned")
    assert lines[2:4] == [
        "    one of 8:",
        f"        stripe1-leaf1--spine1: 4 parallel links, 12.5% each: {lines[3].partition('each: ')[2]}",
    ]


def test_queue_pairs_on_the_same_links_and_many_parallel_links_are_short(tmp_path: Path) -> None:
    fabric = tmp_path / "t.yaml"
    hashed = TEXT.replace("paths_per_nic: 2", "paths_per_nic: 1\n    load_balancing: {mode: ecmp}")
    fabric.write_text(hashed.replace("links_per_spine: 4", "links_per_spine: 8"))
    words = ["paths", str(fabric), "--src", ENDS[0], "--dst", ENDS[1], "--qps", "3"]
    text = CliRunner().invoke(app, words).stdout
    assert text.count("    the same links as qp 0\n") == 2
    assert text.count("qp 2 ") == 1
    assert (
        "8 parallel links, 6.2% each: et-0/0/0:0--et-0/0/0:0, et-0/0/0:1--et-0/0/0:1, … et-0/0/3:1--et-0/0/3:1\n"
        in text
    )
    found = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert [len(path["hops"][1]) for path in found] == [16] * 3  # JSON names every link of every queue pair
