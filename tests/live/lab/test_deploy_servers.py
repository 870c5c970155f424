"""Servers of a lab as devices of a wave, there and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from railweave import api
from railweave.api.deploying import deploy_apply, deploy_plan, deploy_rollback
from railweave.live.lab import hosts, life
from tests.live.lab.machine import needs_lab
from tests.live.lab.test_deploy import DESIGN, designed, save

pytestmark = [needs_lab, pytest.mark.slow]
CHANGED = DESIGN.replace("fc00::/16", "fd00::/16")


def in_place(fabric: Path) -> bool:
    """Whether every server's kernel has what its file says, and nothing else in those tables."""
    with life.attach(fabric)[1] as running:
        return all(hosts.differences(running, name) == ([], []) for name in running.plan.hosts)


def test_servers_of_a_lab_get_other_addresses_after_their_leaves_and_back(tmp_path: Path) -> None:
    fabric, file = tmp_path / "fabric.yaml", tmp_path / "plan.json"
    fabric.write_text(DESIGN)
    with designed(fabric):
        assert not deploy_plan(fabric, lab=True, servers=True).changed
        fabric.write_text(CHANGED)
        plan = deploy_plan(fabric, lab=True, servers=True, allow_cut=["backend"])
        assert {"gpu-1", "gpu-2"} < set(plan.changed)
        assert [wave.devices for wave in plan.waves][-2:] == [("gpu-1",), ("gpu-2",)]
        deploy_apply(save(plan, file), lab=True)
        assert not deploy_plan(fabric, lab=True, servers=True).changed
        assert in_place(fabric)
        # Leaves announce the new prefixes within their interval, 600 s as designed: servers may still have their old addresses alone.
        assert {one.id for one in api.check(fabric, lab=True).findings} <= {"nic-address-missing", "nic-address-stray"}
        back = deploy_rollback(fabric, 1, lab=True)
        fabric.write_text(DESIGN)
        deploy_apply(save(back, file), lab=True)
        assert not deploy_plan(fabric, lab=True, servers=True).changed
        assert in_place(fabric)
        assert api.check(fabric, lab=True).good
