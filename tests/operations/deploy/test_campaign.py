"""Failure campaigns on stand-ins: what is broken waits for nobody, is restored at once or by the switch's own timer, and never reaches further than told."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from railweave import InputError, SpecError
from railweave.api.deploying import (
    campaign_plan,
    campaign_run,
    deploy_history,
    deploy_plan,
    deploy_resume,
    deploy_status,
)
from railweave.cli import main
from railweave.design.fault_targets import FaultTarget
from railweave.live.fleet.rdma import Pair, PairOutput
from railweave.live.site.protocol import PacketLoss
from railweave.model.device.build import device_config
from railweave.model.intent.scenario import Fault
from railweave.model.network.model import Network
from railweave.operations.deploy.campaign import carrying
from railweave.operations.deploy.campaign.carrying import Limits, lab_results, summed, turn_table
from railweave.operations.deploy.campaign.plan import Campaign, Turn, TurnPrediction, predicted
from railweave.systems import system
from railweave.systems.outage import Commands
from tests.live.reach.stand_ins import PASSWORD
from tests.operations.deploy import eos_network, network, sonic_network
from tests.operations.deploy.test_rollout import SMALL

PLAIN = SMALL.replace(
    "colors: [{name: green}, {name: blue}]", "paths_per_nic: 1\n    load_balancing: {mode: dlb-flowlet}"
)
LINK = "stripe1-leaf1--spine1"
LIMITS = Limits(restore_within=60, settle=0)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READER", PASSWORD)
    monkeypatch.setattr(carrying.time, "sleep", lambda _: None)


@contextmanager
def switches(
    nos: str, folder: Path, text: str = PLAIN
) -> Iterator[tuple[Path, Callable[[], dict[str, str]], Callable[[], list[str]]]]:
    """Stand-ins that run their design: the fabric file, what each runs now, and which have a change that waits."""
    fabric = folder / "fabric.yaml"
    if nos == "junos":
        fabric.write_text(text)
        with network.changing(fabric, network.runs(fabric)) as found:
            yield (
                fabric,
                lambda: {name: "\n".join(sorted(box.running)) for name, box in found.boxes.items()},
                lambda: [name for name, box in found.boxes.items() if box.waits],
            )
    elif nos == "eos":
        fabric.write_text(eos_network.of_eos(text))
        with eos_network.eos_network(fabric, eos_network.runs(fabric)) as eos:
            yield (
                fabric,
                lambda: {name: box.running for name, box in eos.boxes.items()},
                lambda: [name for name, box in eos.boxes.items() if box.waits],
            )
    else:
        fabric.write_text(sonic_network.of_sonic(text))
        with sonic_network.sonic_network(fabric, sonic_network.runs(fabric)) as sonic:
            yield (
                fabric,
                lambda: {name: "\n".join(box.running) for name, box in sonic.boxes.items()},
                lambda: [name for name, box in sonic.boxes.items() if list(box.folder.glob("deploy/*/armed"))],
            )


def scenario(fabric: Path, *faults: str) -> Path:
    path = fabric.with_name("scenario.yaml")
    path.write_text("faults:\n" + "".join(f"  - {{{one}}}\n" for one in faults))
    return path


def planned(fabric: Path, *faults: str, **options: object) -> Campaign:
    return campaign_plan(fabric, scenario(fabric, *faults), access=fabric.with_name("access.yaml"), **options)  # type: ignore[arg-type]


FAULTS = {
    "link-down": (f"at: 0s, kind: link-down, link: {LINK}", {"spine1"}),
    "bgp-session-down": ("at: 0s, kind: bgp-session-down, device: stripe1-leaf1, neighbor: spine1", {"stripe1-leaf1"}),
    "bgp-down": ("at: 0s, kind: bgp-down, device: spine1", {"spine1"}),
    "device-down": ("at: 0s, kind: device-down, device: spine1", {"spine1"}),
}


@pytest.mark.parametrize("nos", ["junos", "eos", "sonic"])
@pytest.mark.parametrize("kind", FAULTS)
def test_what_is_broken_waits_on_the_switch_and_is_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nos: str, kind: str
) -> None:
    fault, changed = FAULTS[kind]
    with switches(nos, tmp_path) as (fabric, running, waiting):
        before = running()
        campaign = planned(fabric, fault)
        assert not campaign.refused
        assert running() == before, "a campaign that is only planned changes nothing"
        seen: list[tuple[set[str], list[str]]] = []

        def look(seconds: float) -> None:
            now = running()
            seen.append(({name for name in now if now[name] != before[name]}, waiting()))
            if seconds == 20:
                _, truths = deploy_status(fabric, access=fabric.with_name("access.yaml"))
                assert {one.state for one in truths} == {"waiting"}

        monkeypatch.setattr(carrying.time, "sleep", look)
        [result] = campaign_run(fabric, campaign, access=fabric.with_name("access.yaml"), limits=LIMITS)
        assert seen[-1] == (changed, list(changed))
        assert result.good, result.wrong
        assert result.planned.predicted.keep == result.planned.predicted.queue_pairs > 0
        assert running() == before
        assert not waiting()
        assert [one.state for one in deploy_history(fabric)] == ["stopped"]
        assert not deploy_plan(fabric, live=True, access=fabric.with_name("access.yaml")).changed


def test_a_turn_states_its_computed_effect(tmp_path: Path) -> None:
    """The leaf behind the broken link sends its neighbor's prefixes to the other spine only."""
    with switches("junos", tmp_path) as (fabric, _, _):
        campaign = planned(fabric, FAULTS["link-down"][0])
    (turn,) = campaign.turns
    (wave,) = turn.plan.waves
    assert wave.devices == ("spine1",)
    assert {device for devices in wave.effect.effects.moved.values() for device in devices} >= {"stripe1-leaf1"}
    assert any("take other links" in line for line in campaign.lines())
    assert campaign.to_json()["turns"][0]["effects"] == [wave.effect.to_json()]


def test_an_interrupt_restores_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with switches("junos", tmp_path) as (fabric, running, waiting):
        before = running()
        campaign = planned(fabric, FAULTS["link-down"][0], FAULTS["bgp-down"][0].replace("0s", "90s"))

        def interrupted(seconds: float) -> None:
            if seconds == 20:
                raise KeyboardInterrupt

        monkeypatch.setattr(carrying.time, "sleep", interrupted)
        with pytest.raises(KeyboardInterrupt):
            campaign_run(fabric, campaign, access=fabric.with_name("access.yaml"), limits=LIMITS)
        assert running() == before
        assert not waiting()
        [only] = deploy_history(fabric)
        assert (only.state, only.why) == ("stopped", "KeyboardInterrupt"), "the second turn was not begun"


KILLED = """
import os, sys
from pathlib import Path
from railweave.api.deploying import campaign_plan, campaign_run
from railweave.operations.deploy.campaign import carrying
carrying.time.sleep = lambda seconds: os._exit(9) if seconds == 20 else None
fabric, scenario, access = sys.argv[1:]
campaign_run(fabric, campaign_plan(fabric, scenario, access=access), access=access)
"""


@pytest.mark.parametrize("nos", ["junos", "eos", "sonic"])
def test_what_a_killed_campaign_broke_is_told_and_ended(tmp_path: Path, nos: str) -> None:
    """And it is not broken again by ``resume``, which goes on with an apply."""
    with switches(nos, tmp_path) as (fabric, running, waiting):
        before = running()
        access = fabric.with_name("access.yaml")
        words = [str(fabric), str(scenario(fabric, FAULTS["link-down"][0])), str(access)]
        ran = subprocess.run([sys.executable, "-c", KILLED, *words], check=False, env=dict(os.environ))
        assert ran.returncode == 9
        assert waiting() == ["spine1"]
        newest, truths = deploy_status(fabric, access=access)
        assert newest is not None
        assert (newest.state, [one.state for one in truths]) == ("running", ["waiting"])
        with pytest.raises(InputError, match="was interrupted"):
            campaign_run(fabric, planned(fabric, "at: 0s, kind: bgp-down, device: spine2"), access=access)
        assert deploy_resume(fabric, access=access, settle=0).state == "stopped"
        assert running() == before
        assert not waiting()


def test_the_switch_restores_what_a_killed_campaign_broke(tmp_path: Path) -> None:
    """Junos's shortest timer is a minute, which this stand-in makes a tenth of a second."""
    fabric = tmp_path / "fabric.yaml"
    fabric.write_text(PLAIN)
    with network.changing(fabric, network.runs(fabric), scale=0.03) as found:
        before = {name: sorted(box.running) for name, box in found.boxes.items()}
        words = [str(fabric), str(scenario(fabric, FAULTS["link-down"][0])), str(found.access)]
        ran = subprocess.run([sys.executable, "-c", KILLED, *words], check=False, env=dict(os.environ))
        assert ran.returncode == 9
        timer = found.boxes["spine1"]._timer
        if timer is not None:
            timer.join()
        assert {name: sorted(box.running) for name, box in found.boxes.items()} == before
        _, truths = deploy_status(fabric, access=found.access)
        assert [one.state for one in truths] == ["before"]


@pytest.mark.parametrize(
    ("fault", "options", "said"),
    [
        (FAULTS["link-down"][0], {}, "path color green would be gone on stripe1-leaf1"),
        (FAULTS["link-down"][0], {"force": ["blue"]}, "path color green would be gone"),
        (FAULTS["link-down"][0], {"force": ["green"]}, ""),
        (FAULTS["link-down"][0], {"force": ["gree"]}, "path color green would be gone"),
        (FAULTS["link-down"][0], {"force": ["green"], "blast_radius": "spine2"}, "outside the blast radius"),
        ("at: 0s, kind: device-down, device: gpu-1", {}, "touches 2 switches"),
        ("at: 0s, kind: device-down, device: gpu-1", {"blast_radius": "2"}, ""),
        ("at: 0s, kind: device-reboot, device: stripe1-leaf1", {"blast_radius": "2"}, "would be cut off"),
        ("at: 0s, kind: daemon-kill, device: spine1, daemon: sshd", {"force": ["green"]}, "has no 'sshd'"),
    ],
)
def test_it_reaches_no_further_than_told(tmp_path: Path, fault: str, options: dict[str, object], said: str) -> None:
    with switches("junos", tmp_path, SMALL) as (fabric, running, _):
        before = running()
        campaign = planned(fabric, fault, **options)
        text = "; ".join(campaign.refused)
        assert said in text if said else not text
        if said:
            with pytest.raises(InputError, match="the campaign is refused"):
                campaign_run(fabric, campaign, access=fabric.with_name("access.yaml"))
            assert not deploy_history(fabric)
        assert running() == before


def test_faults_that_overlap_are_one_turn(tmp_path: Path) -> None:
    with switches("junos", tmp_path) as (fabric, _, _):
        first, second = FAULTS["link-down"][0], "at: 10s, kind: link-down, link: stripe1-leaf2--spine2"
        apart = planned(fabric, first, second)
        together = planned(fabric, f"{first}, for: 30s", second)
        assert [len(one.turn.targets) for one in apart.turns] == [1, 1]
        [one] = together.turns
        assert (one.turn.seconds, set(one.touched)) == (30, {"spine1", "spine2"})
        assert "touches 2 switches" in together.refused[0]


def test_a_network_that_is_not_as_designed_is_not_broken(tmp_path: Path) -> None:
    with switches("junos", tmp_path) as (fabric, _, _):
        fabric.write_text(PLAIN.replace("fc00::/16", "fd00::/16"))
        assert any("does not run its design" in one for one in planned(fabric, FAULTS["bgp-down"][0]).refused)


@pytest.mark.parametrize("kind", ["link-slow, rate: 1G", "link-lossy, loss: 10%", "link-flap, period: 1s, count: 2"])
def test_what_no_switch_takes_back_by_itself_is_refused_with_its_line(tmp_path: Path, kind: str) -> None:
    with switches("junos", tmp_path) as (fabric, _, _), pytest.raises(SpecError) as refused:
        planned(fabric, f"at: 0s, kind: {kind}, link: {LINK}")
    assert "scenario.yaml:2" in str(refused.value)
    assert "campaign cannot do" in str(refused.value)


class Recorder:
    """A session that only remembers what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def execute(self, words: str, given: str = "") -> str:
        self.told.append(words + given)
        return ""

    async def close(self) -> None:
        return


@pytest.mark.parametrize(
    ("nos", "reboot", "end"),
    [
        ("junos", "<request-reboot/>", "restart routing immediately"),
        ("eos", "reload now", "agent Bgp terminate"),
        ("sonic", "reboot", "docker exec bgp pkill -KILL -x bgpd"),
        ("frr", "systemctl reboot", "pkill -KILL -x bgpd"),
    ],
)
def test_restarts_and_ends_of_processes_are_the_systems_own_commands(nos: str, reboot: str, end: str) -> None:
    outage, session = system(nos).outage, Recorder()
    assert outage is not None
    asyncio.run(outage.reboot(session))
    asyncio.run(outage.end(session, "bgpd"))
    assert reboot in session.told[0]
    assert end in session.told[1]


def test_a_restart_is_told_to_the_switch(tmp_path: Path) -> None:
    with switches("junos", tmp_path) as (fabric, _, _):
        campaign = planned(fabric, "at: 0s, kind: device-reboot, device: spine1")
        assert campaign.turns[0].commands == ("spine1: restart it; it comes back by itself",)
        told: list[str] = []

        async def reboot(commands: Commands, session: object) -> None:
            del commands
            told.append(type(session).__name__)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Commands, "reboot", reboot)
            [result] = campaign_run(fabric, campaign, access=fabric.with_name("access.yaml"), limits=LIMITS)
        assert told == ["NetconfShell"]
        assert result.good


def test_the_model_says_who_moves_and_who_keeps_a_path(rlb: Network) -> None:
    """On h100-rlb a spine has one of four path colors, and a leaf is the only way to its NICs."""
    configs = {one.name: device_config(rlb, one.name) for one in rlb.switches}

    def of(kind: str, **what: str) -> TurnPrediction:
        fault = Fault.model_validate({"at": 0, "kind": kind, **what})
        return predicted(rlb, configs, Turn((FaultTarget(fault),), 1))

    spine, leaf = of("device-down", device="spine1"), of("device-reboot", device="stripe1-leaf1")
    assert spine.keep == spine.queue_pairs == leaf.queue_pairs
    assert spine.crossing * 4 == of("bgp-down", device="spine1").crossing * 4 > 0
    assert leaf.keep is not None
    assert 0 < leaf.queue_pairs - leaf.keep == leaf.crossing
    assert of("daemon-kill", device="spine1", daemon="zebra").keep is None


def test_pings_are_summed_and_a_dead_path_is_named() -> None:
    row = {"sent": 100, "lost": 7, "dead": False, "reason": ""}
    pair = Pair("gpu-1", "gpu-2", 18590)
    assert summed([PairOutput(pair, json.dumps([row, row | {"lost": 3}]))]) == PacketLoss(200, 10, 0.07)
    dead = summed([PairOutput(pair, json.dumps([row | {"dead": True, "reason": "retries ran out"}]))])
    assert "a path of gpu-1 is dead: retries ran out" in dead.line()
    assert summed([PairOutput(pair, error="no answer in time")]).line() == "gpu-1 to gpu-2: no answer in time"


def test_the_verb_shows_first_and_breaks_by_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with switches("junos", tmp_path) as (fabric, running, _):
        before = running()
        measured = tmp_path / "lab.json"
        one = {"lost": 3, "sent": 1000, "switch_s": 0.31, "kept": 8, "asked": 8}
        measured.write_text(json.dumps({"faults": [one]}))
        path = scenario(fabric, FAULTS["link-down"][0])
        words = ["deploy", "campaign", str(fabric), str(path), "--access", str(fabric.with_name("access.yaml")), "-q"]
        words += ["--settle", "0", "--lab-results", str(measured)]

        def run(*more: str) -> tuple[int, str]:
            monkeypatch.setattr("sys.argv", ["railweave", *words, *more])
            with pytest.raises(SystemExit) as stop:
                main()
            assert isinstance(stop.value.code, int)
            return stop.value.code, capsys.readouterr().out

        code, out = run()
        assert (code, not deploy_history(fabric)) == (0, True)
        assert "nothing was broken" in out
        digest = out.split("--digest ")[1].split()[0]
        assert run("--digest", "0" * 16)[0] == 2
        code, out = run("--digest", digest)
        assert code == 0
        assert out.splitlines()[0].split() == ["broken", "predicted", "lab", "measured", "whole", "again"]
        assert "3 of 1,000 lost, 0.31 s to switch; 8 of 8 kept a path" in out
        code, out = run("--yes", "--json")
        assert json.loads(out)["good"]
        assert running() == before
    with pytest.raises(InputError, match="there are no measured faults"):
        lab_results(path)
    assert not turn_table([], []).rows
