"""One server moved between tenants: what the plan touches, and who can reach whom at each moment."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from railweave import api
from railweave.analysis.drift.running import running_configs
from railweave.api.deploying import deploy_apply, deploy_plan
from railweave.model.device.build import device_config
from railweave.model.device.model import DeviceConfig
from railweave.model.state.device_state import DeviceState
from railweave.operations.deploy.making import Answers, PlanConfigs, leaks, make_plan, tenants
from railweave.operations.deploy.rollout import StoppedError
from railweave.operations.deploy.waves import Wave
from railweave.writing import write_file
from tests.conftest import ROOT
from tests.live.reach.stand_ins import PASSWORD
from tests.operations.deploy.network import Changing, changing, runs
from tests.operations.deploy.test_mixed import texts

MOVED, LEAVES = "MI300-03", {"stripe2-leaf1", "stripe2-leaf2"}
OLD = (ROOT / "examples" / "evpn-server-isolation.yaml").read_text()
NEW = OLD.replace('["MI300-[01-02]"]', '["MI300-[01-03]"]').replace('["MI300-[03-04]"]', '["MI300-04"]')


@pytest.fixture
def fabric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("READER", PASSWORD)
    for name in ("fabric", "old"):
        lock = (ROOT / "examples" / "evpn-server-isolation.lock").read_text()
        (tmp_path / f"{name}.lock").write_text(lock)
    (tmp_path / "old.yaml").write_text(OLD)
    path = tmp_path / "fabric.yaml"
    path.write_text(NEW)
    return path


def running(network: Changing) -> dict[str, DeviceConfig]:
    """What switches run now."""
    lines = {name: {"junos.conf": "\n".join(box.running)} for name, box in network.boxes.items()}
    return running_configs(api.load(network.fabric), lines)


def vrfs(network: Changing) -> set[str]:
    """The tenants that the server is in."""
    return set(tenants(api.load(network.fabric), running(network))[MOVED].values())


def test_a_wave_never_leaves_a_server_in_two_tenants(fabric: Path) -> None:
    old, new = api.load(fabric.with_name("old.yaml")), api.load(fabric)
    plan = make_plan(fabric, new, Answers(texts(old)))
    assert set(plan.changed) == LEAVES
    assert [set(wave.devices) for wave in plan.waves] == [LEAVES]
    assert plan.waves[0].servers == (MOVED,)
    said = "\n".join(plan.waves[0].risks)
    assert f"{MOVED} moves from tenant-3 to tenant-2; until the last of its leaves has committed" in said
    assert "8 NICs (12% of all) cannot be reached" in said
    assert "no tenant takes routes of another" in said
    one = make_plan(fabric, new, Answers({name: one for name, one in texts(old).items() if name != "stripe2-leaf2"}))
    assert any(f"{MOVED} moves, and it is not known what stripe2-leaf2 runs" in line for line in one.refused)
    moments = PlanConfigs(new, texts(old), plan.changed, {name: device_config(new, name) for name in texts(old)})
    apart = moments.with_tenant_moves([Wave((leaf,), "") for leaf in sorted(LEAVES)])
    assert apart[0].refused == (f"{MOVED} would be in tenant-2 and tenant-3: between tenant-3 and tenant-2",)
    assert apart[1].refused == ()


def test_a_wave_that_would_open_a_tenant_to_another_is_refused(fabric: Path) -> None:
    old = api.load(fabric.with_name("old.yaml"))
    configs = running_configs(old, texts(old))
    assert leaks(configs.values()) == []
    leaf = configs["stripe2-leaf1"]
    first, second = leaf.vrfs[:2]
    open_ = replace(leaf, vrfs=(replace(first, import_targets=second.export_targets), *leaf.vrfs[1:]))
    found = leaks([*(one for one in configs.values() if one.name != leaf.name), open_])
    assert found == [
        f"VRF {first.name} of stripe2-leaf1 would take routes of {second.name}, by route target {second.export_targets[0].removeprefix('target:')}"
    ]


@pytest.mark.slow
def test_a_server_moves_between_tenants_by_its_leaves_alone_and_back_where_the_check_fails(fabric: Path) -> None:
    with changing(fabric, runs(fabric.with_name("old.yaml"))) as network:
        assert vrfs(network) == {"tenant-3"}
        path = fabric.with_name("plan.json")
        write_file(path, json.dumps(deploy_plan(fabric, live=True, access=network.access).to_json()), private=True)

        def spoiled(name: str, state: DeviceState) -> DeviceState:
            if name != "stripe2-leaf2" or not network.boxes[name].waits:
                return state
            return replace(state, bgp=tuple(replace(one, state="Active") for one in state.bgp or ()))

        network.state.spoiled = spoiled
        with pytest.raises(StoppedError, match="the check after the change failed: stripe2-leaf2") as stopped:
            deploy_apply(path, access=network.access, settle=0)
        assert stopped.value.back
        assert vrfs(network) == {"tenant-3"}
        assert leaks(running(network).values()) == []
        network.state.spoiled = lambda _, state: state
        assert deploy_apply(path, access=network.access, settle=0).state == "done"
        assert vrfs(network) == {"tenant-2"}
        assert leaks(running(network).values()) == []
        assert {name for name, box in network.boxes.items() if box.log} == LEAVES


def _without_routes(state: DeviceState) -> DeviceState:
    """A leaf whose tenants have lost what other leaves announce, while all sessions are up."""
    kept = tuple(route for route in state.routes or () if not route.vrf or route.protocol != "bgp")
    assert kept != state.routes
    return replace(state, routes=kept)


def _without_subnets(state: DeviceState) -> DeviceState:
    """A leaf that does not forward to the servers of its tenants any more."""
    kept = tuple(route for route in state.routes or () if not route.vrf or route.protocol != "connected")
    assert kept != state.routes
    return replace(state, routes=kept)


@pytest.mark.slow
@pytest.mark.parametrize("fault", [_without_routes, _without_subnets])
def test_the_first_wave_fails_where_routes_of_tenants_are_wrong(
    fabric: Path, fault: Callable[[DeviceState], DeviceState]
) -> None:
    """The change is of BFD timers alone. What goes wrong with the first wave is on a leaf beside it, and about tenants only."""
    fabric.write_text(OLD.replace("{peering: numbered}", "{peering: numbered, bfd: {multiplier: 5}}"))
    with changing(fabric, runs(fabric.with_name("old.yaml"))) as network:
        plan = deploy_plan(fabric, live=True, access=network.access)
        assert len(plan.waves) > 1
        path = fabric.with_name("plan.json")
        write_file(path, json.dumps(plan.to_json()), private=True)

        def spoiled(name: str, state: DeviceState) -> DeviceState:
            waits = any(box.waits for box in network.boxes.values())
            return fault(state) if waits and name == "stripe2-leaf1" else state

        network.state.spoiled = spoiled
        with pytest.raises(StoppedError, match="the check after the change failed: stripe2-leaf1") as stopped:
            deploy_apply(path, access=network.access, settle=0)
        assert (stopped.value.wave, stopped.value.back) == (1, True)
        changed = {name for name, box in network.boxes.items() if "commit confirmed" in box.log}
        assert changed == set(plan.waves[0].devices)
