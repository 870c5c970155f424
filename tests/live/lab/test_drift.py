"""Running configurations and the lab: what routers print is as designed, what was changed in one is found with what it does,
and a saved configuration is what the lab runs. Root only.
"""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.live.lab import life
from railweave.live.lab.frr.held_sessions import Vty
from railweave.live.lab.names import lab_id
from railweave.live.lab.state import Place
from railweave.outputs.folder.designing import design_file
from tests.conftest import frr_root
from tests.live.lab.machine import lab, needs_lab

pytestmark = needs_lab

FABRIC = """
name: small
fabrics:
  backend:
    topology: {stripes: 1, spines: 2, link_speed: 400G}
    leaf: {device: qfx5240-64od, nos: frr}
    spine: {device: qfx5240-64od, nos: frr}
    colors: [{name: green}, {name: blue}]
    addressing: {server_pool: "fc00::/16"}
servers:
  - {names: gpu-1, model: dgx-h100-2gpu, stripe: stripe1}
"""
LEAF = "stripe1-leaf1"


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    return done.stdout


def told(fabric: Path, daemon: str, *lines: str) -> None:
    """What somebody types into a leaf."""
    with Vty(Place(lab_id(fabric)).router(LEAF) / "run/frr", daemon) as vty:
        vty.configure(lines)


def test_what_was_changed_in_a_router_is_all_that_differs(tmp_path: Path) -> None:
    fabric, capture = tmp_path / "fabric.yaml", tmp_path / "saved"
    fabric.write_text(dedent(FABRIC))
    with lab(fabric, design_file(fabric)[0]) as (_, running):
        asn = running.plan.configs[LEAF].bgp
        assert asn is not None
        run("collect", str(fabric), "--lab", "--servers", "-o", str(capture), "--quiet")
        clean = json.loads(run("drift", str(fabric), str(capture), "--json"))
        assert (clean["equal"], clean["compared"], clean["missing"], clean["unknown"]) == (True, 4, [], [])
        told(fabric, "bgpd", "route-map to-spines permit 20", "no set large-community")
        told(fabric, "bgpd", f"router bgp {asn.asn}", "neighbor et-0-0 remote-as 65001", "no neighbor spine-blue bfd")
        run("collect", str(fabric), "--lab", "-o", str(capture), "--quiet")
    found = json.loads(run("drift", str(fabric), str(capture), "--json", code=1))
    [device] = found["devices"]
    assert device["device"] == LEAF
    lines = (capture / LEAF / "configuration.txt").read_text().splitlines()
    said = {one["designed"].rpartition(" / ")[2] or one["running"]: one for one in device["different"]}
    assert {name.split(" ")[0] for name in said} == {"neighbor", "set"}, said
    assert any("remote-as 4" in name for name in said)
    assert any("bfd profile" in name for name in said)
    assert any("large-community" in name for name in said)
    peer = next(one for name, one in said.items() if "remote-as" in name)
    assert "65001" in lines[peer["line"] - 1]
    assert found["effects"]["lost"] or found["effects"]["moved"]
    assert found["effects"]["colors"]


def test_the_lab_runs_what_was_saved(tmp_path: Path) -> None:
    fabric, folder = tmp_path / "fabric.yaml", tmp_path / "out"
    fabric.write_text(dedent(FABRIC))
    run("build", str(fabric), "-o", str(folder), "--quiet")
    saved = tmp_path / "saved" / LEAF
    saved.mkdir(parents=True)
    text = (folder / "devices" / LEAF / "frr.conf").read_text()
    assert "set local-preference 200" in text
    (saved / "configuration.txt").write_text(text.replace("set local-preference 200", "set local-preference 50"))
    words = ["lab", "up", str(fabric), "--running", str(saved.parent), "--quiet"]
    try:
        run(*words, *(["--frr-root", str(root)] if (root := frr_root()) else []))
        place = Place(lab_id(fabric))
        of_leaf, of_other = (place.router(name) / "etc/frr/frr.conf" for name in (LEAF, "stripe1-leaf2"))
        assert "set local-preference 50" in of_leaf.read_text()
        assert "set local-preference 200" in of_other.read_text()
        with Vty(place.router(LEAF) / "run/frr", "bgpd") as vty:
            assert "local-preference 50" in vty.run("show running-config")
    finally:
        life.down(fabric)
