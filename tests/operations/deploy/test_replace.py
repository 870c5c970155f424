"""Switches, servers and NICs replaced: what follows, on stand-ins for Junos; and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from railweave import api
from railweave.api.deploying import deploy_apply, deploy_plan, deploy_replace, deploy_rollback
from railweave.errors import InputError
from railweave.operations.deploy.plan import Plan, read_plan
from railweave.operations.deploy.rollout import StoppedError
from railweave.writing import write_file
from tests.live.reach.stand_ins import PASSWORD
from tests.operations.deploy.network import Changing, changing, runs
from tests.operations.deploy.test_rollout import SMALL

MAC = "A0-88-C2-00-00-77"
NIC = "gpu-1:gpu0_eth"


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("READER", PASSWORD)


@pytest.fixture
def network(tmp_path: Path) -> Iterator[Changing]:
    fabric = tmp_path / "fabric.yaml"
    fabric.write_text(f"# ours\n{SMALL}")
    with changing(fabric, runs(fabric)) as found:
        yield found


def saved(network: Changing, plan: Plan) -> Path:
    path = network.fabric.with_name("plan.json")
    write_file(path, json.dumps(plan.to_json()), private=True)
    assert read_plan(path) == plan
    return path


def apply(network: Changing, plan: Plan) -> None:
    deploy_apply(saved(network, plan), access=network.access, settle=0)


def inventory(network: Changing) -> Path:
    return network.fabric.with_name("fabric.inventory.csv")


def test_a_switch_that_was_replaced_gets_its_configuration_and_its_serial_number(network: Changing) -> None:
    wanted = sorted(network.boxes["spine2"].running)
    box = network.boxes["spine2"]
    box.running = [line for line in box.running if not line.startswith("set class-of-service")]
    box.candidate, box.history = list(box.running), [list(box.running)]
    plan = deploy_replace(network.fabric, "spine2", serial="NEW-1", access=network.access)
    assert not plan.refused
    assert set(plan.changed) == {"spine2"}
    assert any(line.startswith("cable to plug in as before: stripe1-leaf1") for line in plan.lines())
    assert any("another host key" in line for line in plan.lines())
    apply(network, plan)
    assert sorted(network.boxes["spine2"].running) == wanted
    assert api.load(network.fabric).switch("spine2").serial == "NEW-1"
    assert not deploy_plan(network.fabric, live=True, access=network.access).changed
    apply(network, deploy_rollback(network.fabric, 1, access=network.access))
    assert not inventory(network).exists(), "there was none before"


def test_one_that_does_not_answer_yet_gets_its_row_alone(network: Changing) -> None:
    network.devices["spine2"].gone = True
    plan = deploy_replace(network.fabric, "spine2", serial="NEW-1", access=network.access)
    assert not plan.refused
    assert not plan.changed
    assert any("spine2 does not answer yet" in line for line in plan.lines())
    apply(network, plan)
    assert "spine2,,,NEW-1" in inventory(network).read_text()


def test_a_nic_that_was_replaced_says_what_follows_from_its_mac_address(network: Changing) -> None:
    inventory(network).write_text("device,interface,mac,serial,netdev,rdma,length\ngpu-1,gpu0_eth,,,,,3\n# ours\n")
    before = api.load(network.fabric)
    plan = deploy_replace(network.fabric, NIC, mac=MAC, access=network.access)
    text = "\n".join(plan.lines())
    assert "+gpu-1,gpu0_eth,a0:88:c2:00:00:77,,,,3" in text
    assert "a288:c2ff:fe00:77" in text, "the address that the NIC makes of it (RFC 4291, appendix A)"
    assert "cable to plug in as before: gpu-1 gpu0_eth -- " in text
    assert any("gpu-1 did not answer" in line or "gpu-1 does not answer yet" in line for line in plan.lines())
    apply(network, plan)
    assert inventory(network).read_text().endswith("# ours,,,,,,\n") or inventory(network).read_text().endswith(
        "# ours\n"
    )
    after = api.load(network.fabric)
    assert before != after
    assert next(nic for nic in after.server("gpu-1").nics if nic.name == "gpu0_eth").mac == MAC.lower().replace(
        "-", ":"
    )


def test_an_inventory_that_changed_since_the_plan_is_left_alone(network: Changing) -> None:
    plan = deploy_replace(network.fabric, "spine2", serial="NEW-1", access=network.access)
    inventory(network).write_text("device,serial\nspine1,OTHER\n")
    with pytest.raises(InputError, match="the inventory has changed since the plan was made"):
        apply(network, plan)


def test_the_inventory_is_as_it_was_where_the_check_fails(network: Changing) -> None:
    box = network.boxes["spine2"]
    box.running = [line for line in box.running if "spine1" not in line and not line.startswith("set routing-options")]
    box.candidate, box.history = list(box.running), [list(box.running)]
    plan = deploy_replace(network.fabric, "spine2", serial="NEW-1", access=network.access)
    assert plan.changed
    network.boxes["spine2"].candidate_refused = True
    with pytest.raises(StoppedError):
        apply(network, plan)
    assert not inventory(network).exists()


@pytest.mark.parametrize(
    ("what", "given", "why"),
    [
        ("spine9", {"serial": "X"}, "no switch, server or NIC"),
        ("gpu-1:eth9", {"mac": MAC}, "no switch, server or NIC"),
        ("spine2", {}, "the serial number of the new one is not given"),
        (NIC, {"serial": "X"}, "the MAC address of the new one is not given"),
        ("spine2", {"mac": MAC}, "has no MAC address in the inventory"),
        (NIC, {"mac": "01:00:5e:00:00:01"}, "is a group address"),
    ],
)
def test_what_cannot_be_is_refused(network: Changing, what: str, given: dict[str, str], why: str) -> None:
    with pytest.raises(InputError, match=why):
        deploy_replace(network.fabric, what, serial=given.get("serial", ""), mac=given.get("mac", ""))
