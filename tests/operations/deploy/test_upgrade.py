"""Another release put on switches, on stand-ins: ordered, drained, installed, restarted, held against before; and what stops it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from railweave.api.deploying import (
    deploy_apply,
    deploy_history,
    deploy_log,
    deploy_plan,
    deploy_resume,
    deploy_rollback,
    deploy_status,
    deploy_upgrade,
)
from railweave.errors import InputError
from railweave.operations.deploy.plan import Plan, read_plan
from railweave.operations.deploy.rollout import StoppedError
from railweave.operations.deploy.traffic import IdleLimit
from railweave.operations.deploy.upgrading import UpgradeTimeouts
from railweave.writing import write_file
from tests.live.reach.stand_ins import PASSWORD
from tests.operations.deploy import eos_network, network, sonic_network
from tests.operations.deploy.restarting import NEW, OLD, Fleet, of_eos, of_junos, of_sonic, releases
from tests.operations.deploy.test_rollout import SMALL

URL = "http://images.example/new.img"
SPINES = ("spine1", "spine2")
AT_ONCE = IdleLimit(every_s=0, within_s=0)
SHORT = UpgradeTimeouts(restart_s=5, settle_s=0, every_s=0.2)


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READER", PASSWORD)


@dataclass
class Upgraded:
    fabric: Path
    access: Path
    fleet: Fleet

    def plan(self, only: tuple[str, ...] = SPINES, image: str = URL, *, force: bool = True) -> Plan:
        return deploy_upgrade(self.fabric, NEW, image=image, only=only, access=self.access, force=force)

    def apply(self, plan: Plan) -> None:
        path = self.fabric.with_name("plan.json")
        write_file(path, json.dumps(plan.to_json()), private=True)
        assert read_plan(path) == plan
        deploy_apply(path, access=self.access, settle=0, idle_limit=AT_ONCE, upgrade_timeouts=SHORT)

    def resume(self, *, back: bool = False) -> str:
        return deploy_resume(
            self.fabric, access=self.access, settle=0, idle_limit=AT_ONCE, upgrade_timeouts=SHORT, back=back
        ).state


@contextmanager
def junos(fabric: Path) -> Iterator[Upgraded]:
    fabric.write_text(f"# ours\n{SMALL}")
    with network.changing(fabric, network.runs(fabric)) as found:
        yield Upgraded(fabric, found.access, of_junos(found))


@contextmanager
def eos(fabric: Path) -> Iterator[Upgraded]:
    fabric.write_text(eos_network.of_eos(SMALL))
    with eos_network.eos_network(fabric, eos_network.runs(fabric)) as found:
        yield Upgraded(fabric, found.access, of_eos(found))


@contextmanager
def sonic(fabric: Path) -> Iterator[Upgraded]:
    fabric.write_text(sonic_network.of_sonic(SMALL))
    with sonic_network.sonic_network(fabric, sonic_network.runs(fabric)) as found:
        yield Upgraded(fabric, found.access, of_sonic(found))


Make = Callable[[Path], AbstractContextManager[Upgraded]]


@pytest.fixture
def fabric(tmp_path: Path) -> Path:
    return tmp_path / "fabric.yaml"


@pytest.mark.parametrize("made", [junos, eos, pytest.param(sonic, marks=pytest.mark.slow)])
def test_spines_get_a_release_one_after_another_and_come_back(made: Make, fabric: Path) -> None:
    with made(fabric) as one:
        text = fabric.read_text()
        plan = one.plan()
        assert not plan.refused
        assert [wave.devices for wave in plan.waves] == [("spine1",), ("spine2",)]
        one.apply(plan)
        assert releases(one.fleet) == {name: NEW if name in SPINES else OLD for name in one.fleet}
        assert [len(one.fleet[name].images) for name in SPINES] == [1, 1]
        assert fabric.read_text() == text, "nothing is drained any more"
        assert not deploy_plan(fabric, live=True, access=one.access).changed
        assert [row.state for row in deploy_history(fabric)] == ["done"] * 5, (
            "the upgrade, and a drain and its end of each"
        )
        verbs = [step.verb for step in deploy_log(fabric, 1)[2] if step.device == "spine1"]
        assert verbs == ["drain", "install", "restart", "return", "undrain"]
        again = one.plan()
        assert not again.waves
        assert f"{NEW} runs already on spine1, spine2" in again.lines()


@pytest.mark.parametrize("made", [junos, eos, pytest.param(sonic, marks=pytest.mark.slow)])
def test_a_switch_that_comes_back_with_the_wrong_release_stops_it(made: Make, fabric: Path) -> None:
    with made(fabric) as one:
        one.fleet["spine1"].comes_back_as = OLD
        with pytest.raises(
            StoppedError, match=rf"stays drained: spine1: it came back with release {OLD}, and should run"
        ):
            one.apply(one.plan())
        assert "spine1: drained" in fabric.read_text()
        assert one.fleet["spine2"].images == [], "nothing after it begins"
        newest, truths = deploy_status(fabric, access=one.access)
        assert newest is not None
        assert newest.state == "running"
        assert [each.line() for each in truths] == [
            f"{name} runs {OLD}, as before".replace(" runs", ": runs") for name in SPINES
        ]
        with pytest.raises(InputError, match="revision 1 was interrupted"):
            one.apply(one.plan(("spine2",)))
        one.fleet["spine1"].version = NEW  # somebody mends it by hand
        one.fleet["spine1"].state.forget()
        assert one.resume() == "done"
        assert releases(one.fleet)["spine2"] == NEW
        assert "drained" not in fabric.read_text()


@pytest.mark.parametrize("made", [junos, eos, pytest.param(sonic, marks=pytest.mark.slow)])
def test_a_switch_that_comes_back_with_fewer_sessions_stops_it(made: Make, fabric: Path) -> None:
    with made(fabric) as one:
        one.fleet["spine1"].fewer = True
        with pytest.raises(
            StoppedError, match=rf"it runs {NEW}, and is not as before: the BGP session with \S+ was established"
        ):
            one.apply(one.plan())
        assert "spine1: drained" in fabric.read_text()
        with pytest.raises(StoppedError, match="not as before"):
            one.resume(back=True)
        assert deploy_history(fabric)[-1].state == "stopped"
        assert "spine1: drained" in fabric.read_text(), "it is no better, and stays out of use"
        assert one.fleet["spine2"].images == []


def test_a_switch_that_does_not_come_back_stops_it(fabric: Path) -> None:
    with junos(fabric) as one:
        one.fleet["spine1"].stays_away = True
        plan = one.plan()
        path = fabric.with_name("plan.json")
        write_file(path, json.dumps(plan.to_json()), private=True)
        short = UpgradeTimeouts(restart_s=0.1, settle_s=0, every_s=0.05)
        with pytest.raises(StoppedError, match=r"spine1: it is not back after 0.1 s"):
            deploy_apply(path, access=one.access, settle=0, idle_limit=AT_ONCE, upgrade_timeouts=short)
        assert one.fleet["spine2"].images == []


@pytest.mark.parametrize("made", [junos, eos, pytest.param(sonic, marks=pytest.mark.slow)])
def test_a_switch_that_refuses_the_image_is_brought_back_into_use(made: Make, fabric: Path) -> None:
    with made(fabric) as one:
        text = fabric.read_text()
        one.fleet["spine1"].refuses = True
        with pytest.raises(StoppedError, match="the release was not installed, and the switch stays drained: spine1"):
            one.apply(one.plan())
        assert "spine1: drained" in fabric.read_text()
        one.fleet["spine1"].refuses = False
        assert one.resume() == "done"
        assert fabric.read_text() == text
        with pytest.raises(InputError, match=f"install {OLD} by another upgrade"):
            deploy_rollback(fabric, 1, access=one.access)


@pytest.mark.parametrize("changed", [False, True])
def test_a_file_is_copied_and_its_checksum_compared(fabric: Path, tmp_path: Path, changed: bool) -> None:
    fabric.write_text(SMALL)
    image, files = tmp_path / "new.iso", tmp_path / "files"
    image.write_bytes(b"release" * 100_000)
    for name in network.runs(fabric):
        (files / name / "var/tmp").mkdir(parents=True)
    with network.changing(fabric, network.runs(fabric), files=files) as found:
        one = Upgraded(fabric, found.access, of_junos(found))
        plan = one.plan(("spine1",), str(image))
        assert plan.upgrade is not None
        assert plan.upgrade.commands[0] == "request system software add /var/tmp/new.iso"
        if changed:
            (files / "spine1/var/tmp/new.iso").write_bytes(b"another" * 100_000)  # as long, and not the same
            with pytest.raises(StoppedError, match=r"the SHA-256 of /var/tmp/new.iso there is \w+, not"):
                one.apply(plan)
            assert releases(one.fleet)["spine1"] == OLD
            return
        one.apply(plan)
        assert (files / "spine1/var/tmp/new.iso").read_bytes() == image.read_bytes()
        assert [Path(each).name for each in one.fleet["spine1"].images] == ["new.iso"]


def test_an_image_that_is_another_since_the_plan_is_not_installed(fabric: Path, tmp_path: Path) -> None:
    image = tmp_path / "new.iso"
    image.write_bytes(b"release")
    with junos(fabric) as one:
        plan = one.plan(("spine1",), str(image))
        image.write_bytes(b"another")
        with pytest.raises(StoppedError, match="has changed since the plan was made"):
            one.apply(plan)
        assert one.fleet["spine1"].images == []


def test_what_is_gone_meanwhile_refuses_it_and_is_named_where_it_is_forced(fabric: Path) -> None:
    with junos(fabric) as one:
        plan = one.plan(force=False)
        assert any("wave 1: path color green would be gone" in line for line in plan.refused)
        assert any("forced: path color green would be gone" in line for line in one.plan().lines())


def test_servers_must_be_gone_before_their_leaf_is_drained(fabric: Path) -> None:
    with junos(fabric) as one:
        plan = one.plan(("stripe1-leaf1",))
        assert plan.waves[0].servers == ("gpu-1", "gpu-2")
        assert any("forced: 2 NICs would be cut off" in line for line in plan.lines())
        path = fabric.with_name("plan.json")
        write_file(path, json.dumps(plan.to_json()), private=True)
        how = {"access": one.access, "settle": 0, "idle_limit": AT_ONCE, "upgrade_timeouts": SHORT}
        with pytest.raises(StoppedError, match="--wait-for ended with 1: wave 1 was not drained"):
            deploy_apply(path, wait_for="false", **how)  # type: ignore[arg-type]
        assert "drained" not in fabric.read_text()
        assert one.resume() == "done"
        assert one.fleet["stripe1-leaf1"].version == NEW


def test_a_batch_takes_switches_of_one_kind_together(fabric: Path) -> None:
    two_of_each = "    paths_per_nic: 2\n    colors:"
    fabric.write_text(SMALL.replace("    colors:", two_of_each).replace("spines: 2", "spines: 4"))
    spines = [f"spine{number}" for number in range(1, 5)]
    with network.changing(fabric, network.runs(fabric)) as found:
        of_junos(found)
        plan = deploy_upgrade(fabric, NEW, image=URL, only=spines, access=found.access)
        assert not plan.refused, "the other spine of its color is there"
        assert len(plan.waves) == 4
        both = deploy_upgrade(fabric, NEW, image=URL, only=spines, batch=2, access=found.access)
        assert [len(wave.devices) for wave in both.waves] == [1, 1, 2]
        assert any("wave 3: path color blue would be gone" in line for line in both.refused)


def test_a_plan_shows_what_the_release_renders_otherwise(fabric: Path) -> None:
    with junos(fabric) as one:
        plan = deploy_upgrade(fabric, "23.4R1", image=URL, access=one.access, force=True)
        text = "\n".join(plan.lines())
        assert "write `release: 23.4R1` into the fabric file" in text
        assert "+ " in text
        assert any(
            "renders every configuration as before" in line
            for line in deploy_upgrade(fabric, "25.4R2", image=URL, access=one.access, force=True).lines()
        )


def test_wrong_input_is_refused(fabric: Path) -> None:
    with junos(fabric) as one:
        with pytest.raises(InputError, match="junos installs an image, and none is given"):
            one.plan(image="")
        with pytest.raises(InputError, match="cannot be read"):
            one.plan(image="nowhere.iso")
        for bad in ("http://x/a b.iso", "http://x/a.iso\nreload now"):
            with pytest.raises(InputError, match="is not one word"):
                one.plan(image=bad)
        with pytest.raises(InputError, match="no such switch"):
            one.plan(("spine9",))
        one.fleet["spine1"].stand_in.gone = True
        assert any("spine1 did not answer" in line for line in one.plan().refused)
