"""Values by rule: arithmetic that was done by hand, ranges, and a patch that a file's form allows."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from railweave.api import load, tune_headroom, tune_watchdog
from railweave.cli.app import app
from railweave.model.network.model import Network
from railweave.operations.tune import by_rule
from railweave.operations.tune.by_rule import Derived
from tests.conftest import EXAMPLES, example


def values(found: list[Derived]) -> dict[tuple[str, str], Derived]:
    return {(one.role, ".".join(one.path)): one for one in found}


@pytest.fixture
def fabric(tmp_path: Path) -> Path:
    for one in EXAMPLES.glob("h100-rlb.*"):
        shutil.copy(one, tmp_path)
    return tmp_path / "h100-rlb.yaml"


def changed(fabric: Path, qos: str) -> Path:
    """The file with another `qos` of its fabric."""
    text = fabric.read_text()
    fabric.write_text(re.sub(r"^    topology:", f"    qos: {qos}\n    topology:", text, count=1, flags=re.MULTILINE))
    return fabric


def test_what_an_example_has_is_within_its_range() -> None:
    network = example("h100-rlb")
    for one in (*by_rule.headroom(network), *by_rule.watchdog(network)):
        assert one.wanted == one.have, one.name
        assert one.steps


def test_headroom_is_the_sum_of_what_ports_need() -> None:
    """By hand: 50 m both ways at 0.66 c is 505 ns, 25,268 bytes at 400 Gb/s; with peer, pipeline, cells and two packets 158,392."""
    network = example("h100-rlb")
    [one] = [each for each in by_rule.headroom(network) if (each.role, each.path[-1]) == ("spine", "headroom")]
    assert one.least == 3, "16 ports of 158,392 bytes are 2.53 MB of the 86.2 MB that Juniper publishes as shared"
    assert "158,392 bytes each" in one.steps[0]
    assert pytest.approx(2.94, abs=0.01) == 100 * 16 * 158_392 / 86_226_940


def test_thresholds_are_those_of_choudhury_and_hahne() -> None:
    pool = 1000.0
    assert by_rule._limit(7, pool, 1) == 500, "alpha 1: one queue has half, the other half stays free"
    assert by_rule._limit(8, pool, 2) == pytest.approx(2 * pool / 5)


def test_what_is_outside_is_moved_inside(fabric: Path) -> None:
    pfc = "{xon_offset: 4096, watchdog: {poll_interval: 10, detection: 1, recovery: 100}}"
    changed(fabric, f"{{buffers: {{lossless: 88, headroom: 2, ingress_dynamic_threshold: 2}}, pfc: {pfc}}}")
    network = load(fabric)
    found = values(by_rule.headroom(network))
    assert found["spine", "qos.buffers.headroom"].wanted == 3
    assert found["spine", "qos.buffers.lossless"].wanted == 87, "what is left of it"
    assert found["spine", "qos.buffers.ingress_dynamic_threshold"].wanted == 6
    assert found["leaf", "qos.pfc.xon_offset"].wanted == 18432
    dogs = values(by_rule.watchdog(network))
    assert dogs["leaf", "qos.pfc.watchdog.detection"].wanted == 5, "ten pauses of 4.5 ms by polls of 10 ms"
    before = fabric.read_text()
    ruled = tune_headroom(fabric)
    assert fabric.read_text() == before
    assert ruled.patch
    assert tune_headroom(fabric, apply=True).patch == ruled.patch
    tune_watchdog(fabric, apply=True)
    again = load(fabric)
    assert all(one.wanted == one.have for one in (*by_rule.headroom(again), *by_rule.watchdog(again)))
    assert tune_headroom(fabric).patch == ""


def test_a_role_with_qos_of_its_own_is_changed_there() -> None:
    own = Derived("backend", "spine", ("qos", "buffers", "headroom"), 2, 3, 89, 3, "%", ())
    assert by_rule.in_file({"fabrics": {"backend": {"leaf": {}, "spine": {"qos": {}}}}}, [own]) == {
        ("fabrics", "backend", "spine", "qos", "buffers", "headroom"): 3
    }
    assert by_rule.in_file({"fabrics": {"backend": {"leaf": {"qos": {}}}}}, [own]) == {
        ("fabrics", "backend", "leaf", "qos", "buffers", "headroom"): 3
    }, "a spine that is left out is like the leaves"
    assert by_rule.in_file({"fabrics": {"backend": {"leaf": {}, "spine": {}}}}, [own]) == {
        ("fabrics", "backend", "qos", "buffers", "headroom"): 3
    }


def test_nothing_pauses_nothing_to_say(fabric: Path) -> None:
    changed(fabric, "{classes: {no-loss: {lossless: false, pfc_priority: null}}}")
    assert tune_headroom(fabric).values == ()
    done = CliRunner().invoke(app, ["tune", "watchdog", str(fabric)])
    assert done.exit_code == 0, done.output
    assert "no switch of this design pauses anything" in done.output


def test_ports_that_do_not_pause_need_no_headroom(fabric: Path) -> None:
    changed(fabric, "{pfc: {ports: server}}")
    leaf = values(by_rule.headroom(load(fabric)))["leaf", "qos.buffers.headroom"]
    assert not any("leaf-spine" in one for one in leaf.steps)
    assert not any(one.role == "spine" for one in by_rule.headroom(load(fabric)))


@pytest.mark.parametrize("verb", ["headroom", "watchdog"])
def test_the_verbs(verb: str, fabric: Path) -> None:
    done = CliRunner().invoke(app, ["tune", verb, str(fabric)])
    assert done.exit_code == 0, done.output
    assert "every value of the file is within its range" in done.output
    done = CliRunner().invoke(app, ["tune", verb, str(fabric), "--json"])
    assert json.loads(done.stdout)["patch"] == ""


@pytest.mark.parametrize("name", ["evpn-functional", "aidc-three-fabrics", "mi300x-leaf-24", "dci-50km"])
def test_other_networks(name: str) -> None:
    network: Network = example(name)
    for one in (*by_rule.headroom(network), *by_rule.watchdog(network)):
        if one.least is not None and one.most is not None:
            assert one.least <= one.most, one.name
