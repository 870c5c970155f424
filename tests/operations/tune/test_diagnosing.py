"""Table 9's loop on captures of counters: the first symptom, one step, the simulator's word, and what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from railweave.analysis.expect import expected
from railweave.analysis.routing.control_plane import ControlPlane
from railweave.api import load, tune_diagnose
from railweave.cli.app import app
from railweave.errors import InputError
from railweave.model.device.build import device_config
from railweave.model.findings import Finding
from railweave.model.network.model import Network
from railweave.model.state.ports import PfcCounters, PortQueues, Queue
from railweave.operations.tune import diagnosing
from railweave.operations.tune.diagnosing import Diagnosis, rehearsal
from railweave.operations.tune.measuring import RefusedCombination, Sample
from railweave.prediction.simulation.conditions import bed_of
from railweave.prediction.simulation.job import job_network
from tests.conftest import EXAMPLES, example
from tests.live.check.captures import write_answers
from tests.live.check.perfect import perfect
from tests.live.check.said import junos

LEAF, SPINE = "stripe1-leaf1", "spine1"
Counts = Mapping[str, int]


@pytest.fixture
def fabric(tmp_path: Path) -> Path:
    for one in EXAMPLES.glob("h100-rlb.*"):
        shutil.copy(one, tmp_path)
    return tmp_path / "h100-rlb.yaml"


def capture(folder: Path, network: Network, counts: Mapping[str, Counts], taken: str = "2026-11-23T10:00:00Z") -> Path:
    """A capture of two switches whose first fabric port has these counters of its lossless queue: dropped, marked, paused, in_resource."""
    routes = ControlPlane([device_config(network, one.name) for one in network.switches], frozenset()).routes()
    for name in (LEAF, SPINE):
        wanted = expected(network, device_config(network, name), routes)
        state = perfect(wanted)
        port = next(one.name for one in wanted.ports if one.kind == "fabric")
        queues = next(one for one in wanted.queues if one.port == port)
        [(queue, priority)] = queues.lossless.items()
        own = {"dropped": 0, "marked": 0, "paused": 0, "in_resource": 0, **counts.get(name, {})}
        assert state.interfaces is not None
        at = state.interfaces[port]
        state = replace(
            state,
            interfaces={**state.interfaces, port: replace(at, errors=replace(at.errors, in_resource=own["in_resource"]))},
            queues={port: PortQueues({queue: Queue(sent=9, dropped=own["dropped"], ecn_marked=own["marked"])}, {})},
            pfc={port: {priority: PfcCounters(received=own["paused"], sent=0)}},
        )  # fmt: skip
        there = folder / name
        there.mkdir(parents=True)
        for question, text in junos.answers(state).items():
            (there / f"{question}.txt").write_text(text)
    (folder / "meta.json").write_text(json.dumps({"schema": 1, "taken": taken}))
    return folder


def diagnose(fabric: Path, tmp_path: Path, counts: Mapping[str, Counts], **more: Any) -> Diagnosis:
    network = load(fabric)
    before = capture(tmp_path / "before", network, {}, "2026-11-23T09:00:00Z")
    now = capture(tmp_path / "now", network, counts)
    return tune_diagnose(fabric, now, since=before, **{"rehearse": False, **more})


def fields(found: Diagnosis) -> dict[str, tuple[int, int]]:
    assert found.step is not None
    return {".".join(one.path[2:]): (one.have, one.wanted) for one in found.step.moves}


def test_nothing_rose(fabric: Path, tmp_path: Path) -> None:
    found = diagnose(fabric, tmp_path, {})
    assert (found.symptoms, found.step, found.patch) == ((), None, "")
    assert not found.good  # two of twenty switches were asked, and one port of each shows its queues
    assert found.unseen[-1].endswith("did not answer")
    assert "no symptom in what was seen: " in found.to_text()


def test_nothing_rose_on_a_whole_network(fabric: Path, tmp_path: Path) -> None:
    network = load(fabric)
    configs = {switch.name: device_config(network, switch.name) for switch in network.switches}
    routes = ControlPlane(configs.values(), frozenset()).routes()
    for name in ("before", "now"):
        for switch, config in configs.items():
            write_answers(tmp_path / name / switch, junos.answers(perfect(expected(network, config, routes))))
    found = tune_diagnose(fabric, tmp_path / "now", since=tmp_path / "before", rehearse=False)
    assert (found.good, found.unseen) == (True, ())
    assert found.to_text().startswith("no symptom: no counter of the lossless classes rose (")


def test_drops_come_before_pauses_and_marks(fabric: Path, tmp_path: Path) -> None:
    """Two symptoms would pull the same field; one step is taken, and its evidence has device, port, queue and count."""
    counts = {LEAF: {"dropped": 12}, SPINE: {"paused": 7, "marked": 0}}
    found = diagnose(fabric, tmp_path, counts)
    assert [one.rule for one in found.symptoms] == ["lossless-drops", "pfc-without-ecn"]
    assert found.symptoms[0].row == "tail drops and egress queue peak buffer occupancy"
    [evidence] = found.symptoms[0].evidence
    assert evidence.startswith(f"{LEAF} et-0/0/0:0: queue 4 dropped 12 packets")
    assert fields(found) == {"qos.classes.no-loss.ecn.min_fill": (55, 50)}
    assert "min_fill: 50" in found.patch
    assert fabric.read_text() == (EXAMPLES / "h100-rlb.yaml").read_text(), "nothing is written without --apply"


@pytest.mark.parametrize(
    ("counts", "more", "wanted"),
    [
        ({"paused": 7}, {}, {"qos.classes.no-loss.ecn.min_fill": (55, 50)}),
        ({"in_resource": 3}, {}, {"qos.buffers.headroom": (10, 15), "qos.buffers.lossless": (80, 75)}),
        ({"marked": 5}, {"slow_jobs": True}, {"qos.classes.no-loss.ecn.min_fill": (55, 60)}),
    ],
)
def test_the_step_of_each_symptom(
    fabric: Path, tmp_path: Path, counts: Counts, more: dict[str, Any], wanted: dict[str, tuple[int, int]]
) -> None:
    found = diagnose(fabric, tmp_path, {SPINE: counts}, **more)
    assert fields(found) == wanted
    assert found.recommended
    tune_diagnose(fabric, tmp_path / "now", since=tmp_path / "before", rehearse=False, apply=True, **more)
    again = load(fabric)
    qos = again.fabrics[0].intent(again.switch(SPINE)).qos
    assert sum((qos.buffers.lossless, qos.buffers.headroom, qos.buffers.lossy)) == 100


def test_input_drops_take_the_buffer_of_lossy_classes_and_then_fill_levels(fabric: Path) -> None:
    """Junos has no public counter of them: here the finding stands by itself."""
    network, document = load(fabric), {"fabrics": {"backend": {"leaf": {}}}}
    finding = Finding(
        "lossless-input-drops", "error", f"{SPINE} et-0/0/0:0", "et-0/0/0:0: priority 3 dropped 3 packets on input"
    )
    [one] = diagnosing.symptoms(network, document, [finding], slow_jobs=False)
    assert [(each.path[2:], each.have, each.wanted) for each in one.moves] == [
        (("qos", "buffers", "lossless"), 80, 85),
        (("qos", "buffers", "lossy"), 10, 5),
    ]
    text = fabric.read_text().replace("    topology:", "    qos: {buffers: {lossless: 85, lossy: 5}}\n    topology:", 1)
    fabric.write_text(text)
    [one] = diagnosing.symptoms(load(fabric), document, [finding], slow_jobs=False)
    assert [(each.path[-1], each.wanted) for each in one.moves] == [("min_fill", 50)]


def test_marks_alone_are_no_symptom(fabric: Path, tmp_path: Path) -> None:
    assert diagnose(fabric, tmp_path, {SPINE: {"marked": 5}}).symptoms == ()


def test_captures_the_wrong_way_round(fabric: Path, tmp_path: Path) -> None:
    diagnose(fabric, tmp_path, {})
    with pytest.raises(InputError, match="was taken before"):
        tune_diagnose(fabric, tmp_path / "before", since=tmp_path / "now")


def test_a_capture_of_another_network(fabric: Path, tmp_path: Path) -> None:
    diagnose(fabric, tmp_path, {})
    with pytest.raises(InputError):
        tune_diagnose(EXAMPLES / "mi300x-leaf-24.yaml", tmp_path / "now", since=tmp_path / "before")


def test_it_is_rehearsed(fabric: Path, tmp_path: Path) -> None:
    """The packet simulator runs both; a fill level that nothing reaches changes nothing, and nothing speaks against the step."""
    found = diagnose(fabric, tmp_path, {LEAF: {"dropped": 12}}, rehearse=True, servers=2, size=1 << 20)
    assert len(found.before) == len(found.after) == 3
    assert all(one.complete and one.speed > 0 for one in (*found.before, *found.after))
    assert found.recommended
    assert "the simulator says nothing against it" in found.to_text()


@pytest.fixture
def tenants(tmp_path: Path) -> Path:
    for one in EXAMPLES.glob("evpn-gpu-isolation.*"):
        shutil.copy(one, tmp_path)
    return tmp_path / "evpn-gpu-isolation.yaml"


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({}, "the first 4 of 4 servers of tenant-3"),  # 4 of 8 GPUs of each server, where others have 2
        ({"tenant": "tenant-1", "servers": 2}, "the first 2 of 4 servers of tenant-1"),
    ],
)
def test_on_a_network_with_tenants_one_of_them_rehearses(
    tenants: Path, tmp_path: Path, more: dict[str, Any], wanted: str
) -> None:
    found = diagnose(tenants, tmp_path, {LEAF: {"dropped": 12}}, rehearse=True, size=1 << 18, **more)
    assert found.rehearsed == f"all-to-all of 262,144 bytes on {wanted}, 3 seeds"
    assert all(one.complete and one.speed > 0 for one in (*found.before, *found.after))


def test_an_unknown_tenant_is_told_at_its_option(tenants: Path, fabric: Path, tmp_path: Path) -> None:
    for number, (path, message) in enumerate([(tenants, "there is no tenant 'x'"), (fabric, "has no tenants")]):
        with pytest.raises(InputError, match=message):
            diagnose(path, tmp_path / str(number), {LEAF: {"dropped": 12}}, tenant="x", rehearse=True)


@pytest.mark.parametrize("name", ["aidc-three-fabrics", "evpn-functional", "evpn-server-isolation", "frontend-mixed"])
def test_servers_of_a_rehearsal_are_alike_and_on_the_fabric_that_the_step_changes(name: str) -> None:
    """A queue of the storage fabric says nothing about GPUs' NICs, and other servers are on it."""
    network = example(name)
    for fabric in network.fabrics:
        chosen = rehearsal(network, fabric.name)
        assert len(chosen.servers) > 1
        assert bool(chosen.tenant) == bool(fabric.tenants)
        hosts = ",".join(chosen.servers)
        bed = bed_of(job_network(network, fabric.name), tenant=chosen.tenant or None, order=hosts)
        assert [server.name for server in bed.job.servers] == list(chosen.servers)


def test_a_tenant_on_one_server_cannot_rehearse() -> None:
    network = example("evpn-gpu-isolation")
    one = replace(network, servers=network.servers[:1])
    with pytest.raises(InputError, match="--no-rehearse proposes the step without a rehearsal"):
        rehearsal(one, one.fabrics[0].name)


def test_what_the_simulator_calls_worse_is_not_written(
    fabric: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from railweave.operations.tune import simulated

    def slower(network: Network, *_: object) -> Sample:
        ecn = network.fabrics[0].leaf.qos.classes["no-loss"].ecn
        assert ecn is not None
        return Sample(1, (), 40.0 if ecn.min_fill == 55 else 30.0, drops=0)

    monkeypatch.setattr(simulated, "of_collective", slower)
    before = fabric.read_text()
    found = diagnose(fabric, tmp_path, {LEAF: {"dropped": 12}}, rehearse=True, apply=True)
    assert found.worse
    assert not found.recommended
    assert fabric.read_text() == before
    words = [str(fabric), str(tmp_path / "now"), "--since", str(tmp_path / "before"), "--apply"]
    done = CliRunner().invoke(app, ["tune", "diagnose", *words])
    assert done.exit_code == 1
    assert "it is not recommended" in done.output


def test_a_step_that_the_design_refuses(tmp_path: Path) -> None:
    move = diagnosing.Move(("name",), 1, 2)
    symptom = diagnosing.Symptom("lossless-drops", "", (), (move,))
    found = diagnosing.diagnosed(
        tmp_path / "a.yaml", "name: a\n", [symptom], lambda _: RefusedCombination("it does not fit"), ""
    )
    assert (found.refused, found.patch, found.recommended) == ("it does not fit", "", False)


def test_the_verb(fabric: Path, tmp_path: Path) -> None:
    diagnose(fabric, tmp_path, {LEAF: {"dropped": 12}})
    words = [
        "tune",
        "diagnose",
        str(fabric),
        str(tmp_path / "now"),
        "--since",
        str(tmp_path / "before"),
        "--no-rehearse",
    ]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1, done.output  # most counters were not seen
    assert "nothing was changed" in done.output
    done = CliRunner().invoke(app, [*words, "--json"])
    assert json.loads(done.stdout)["step"]["moves"][0]["wanted"] == 50
