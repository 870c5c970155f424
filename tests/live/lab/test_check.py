"""A lab is a running network, too: `check --lab` finds nothing wrong with it, then what was broken, by its cause. Root only."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path

from typer.testing import CliRunner

from railweave.cli.app import app
from railweave.live.lab import life
from railweave.live.lab.faults import sweep
from railweave.live.lab.faults.kinds import effect as effect_of
from railweave.live.lab.names import namespace
from railweave.live.lab.running import Running
from tests.conftest import EXAMPLES, example
from tests.live.lab import matrix as matrix_of_faults
from tests.live.lab.faults import KINDS, Bench
from tests.live.lab.machine import lab, needs_lab, needs_nft

pytestmark = needs_lab


def checked(fabric: Path, *more: str) -> tuple[int, list[dict[str, str]]]:
    """The exit code, and the findings that are no notes."""
    done = CliRunner().invoke(app, ["check", str(fabric), "--lab", "--json", *more])
    assert done.exit_code in {0, 1}, done.output
    found = json.loads(done.stdout)
    assert found["silent"] == []
    return done.exit_code, [one for one in found["findings"] if one["severity"] != "info"]


def inside_of(space: str, words: str) -> None:
    subprocess.run(["ip", "netns", "exec", space, *words.split()], check=True, capture_output=True)


def broken(running: Running, fabric: Path, **fault: str) -> list[tuple[str, str]]:
    """What is found while a fault lasts; the lab is settled again afterwards."""
    [target] = sweep.targets(running, [{"at": "0s", "for": "5s", **fault}])
    effect = effect_of(running, target)
    effect.begin()
    try:
        _, found = checked(fabric)
    finally:
        effect.end()
    return [(one["id"], one["where"]) for one in found]


@needs_nft
def test_a_lab_is_as_designed_and_what_is_broken_is_found(tmp_path: Path) -> None:
    fabric = tmp_path / "slice.yaml"
    shutil.copy(EXAMPLES / "h100-rlb.yaml", fabric)  # for its lines
    with lab(fabric, example("h100-rlb"), "rails=1,spines=2") as (_, running):
        assert checked(fabric) == (0, [])
        assert checked(fabric, "--all-routes") == (0, [])
        found = broken(running, fabric, kind="link-down", link="stripe1-leaf1--spine1")
        assert found
        assert {id_ for id_, _ in found} <= {"port-down", "port-shut"}
        assert any("stripe1-leaf1" in where or "spine1" in where for _, where in found)
        dropping = broken(running, fabric, kind="blackhole", device="spine1")
        assert {("forwarding-off", "spine1 et-0-0"), ("forwarding-off", "spine1 et-4-0")} <= set(dropping)
        inside = namespace(running.place.lab, "spine1")
        prefix = running.plan.network.segments[0].subnets[0].prefix
        for do, undo, id_ in (
            (
                f"ip -6 route add blackhole {prefix} metric 1",
                f"ip -6 route del blackhole {prefix} metric 1",
                "route-drops",
            ),
            ("sysctl -w net.ipv6.conf.all.forwarding=0", "sysctl -w net.ipv6.conf.all.forwarding=1", "forwarding-off"),
        ):
            inside_of(inside, do)
            try:
                assert (id_, "spine1") in [(one["id"], one["where"]) for one in checked(fabric)[1]]
            finally:
                inside_of(inside, undo)
        assert checked(fabric) == (0, [])
        trial = matrix_of_faults.Trial(fabric, tmp_path, 5)
        for name in ("cables swapped", "daemon killed", "server's rule taken away"):
            with life.attach(fabric)[1] as again:  # interfaces may have been made again
                fault = KINDS[name](Bench(again, random.Random(5)))  # noqa: S311 - repeatable
                assert fault is not None, name
                answers = matrix_of_faults.try_one(trial, fault, lambda _: "not watched")
            assert answers is not None, name
            assert answers.check, (name, fault.what)
            assert fault.named(answers.check[0]), (name, fault.what, answers.check)


@needs_nft
def test_a_capture_of_a_lab_is_checked_without_the_lab(tmp_path: Path) -> None:
    """`collect --lab` keeps what the slice and the timers were: `check FABRIC CAPTURE` takes it anywhere."""
    fabric, capture = tmp_path / "slice.yaml", tmp_path / "capture"
    shutil.copy(EXAMPLES / "h100-rlb.yaml", fabric)
    with lab(fabric, example("h100-rlb"), "rails=1,spines=1,servers=1"):
        done = CliRunner().invoke(app, ["collect", str(fabric), "--lab", "--servers", "-o", str(capture), "--quiet"])
        assert done.exit_code == 0, done.output
        assert json.loads((capture / "meta.json").read_text())["lab"]["slice"] == "rails=1,spines=1,servers=1"
    done = CliRunner().invoke(app, ["check", str(fabric), str(capture), "--json", "--quiet"])
    found = json.loads(done.stdout)
    assert found["silent"] == []
    assert [one["what"] for one in found["findings"] if one["severity"] != "info"] == []
    assert CliRunner().invoke(app, ["drift", str(fabric), str(capture), "--quiet"]).exit_code == 0, "by another system"
    heard = json.loads((capture / "stripe1-leaf1" / "lldp-neighbors.json").read_text())
    assert "spine1" in json.dumps(heard)
