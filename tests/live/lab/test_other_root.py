"""A router of a lab moved to another FRRouting, and started again with the configuration that it saved. Root only."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from railweave.live.lab import assertions, life
from railweave.live.lab.frr import rootfs, routers
from railweave.live.lab.overlay import Overlay
from railweave.live.site.lab import Router
from railweave.systems.installation import Image
from railweave.systems.transaction import RefusedError
from tests.conftest import example, frr_root
from tests.live.lab.day_two.upgrade import newer
from tests.live.lab.machine import needs_lab

pytestmark = needs_lab


@pytest.mark.skipif(newer() is None, reason="no FRR of 2026: `sudo make validators` makes a folder of it")
def test_a_router_starts_again_from_another_root_folder(tmp_path: Path) -> None:
    fabric, root = tmp_path / "other.yaml", newer()
    assert root is not None
    release = rootfs.given(root).version.partition("-")[0]
    try:
        life.up(
            fabric,
            example("h100-rlb"),
            part="rails=1,spines=2",
            overlay=Overlay(bfd_interval_ms=1000),
            frr_root=frr_root(),
        )
        _, running = life.attach(fabric)
        with running:
            router = Router(running, "spine1")
            before = asyncio.run(router.boot())
            with pytest.raises(RefusedError, match="holds FRR"):
                asyncio.run(router.install(Image("9.9", str(root))))
            with pytest.raises(RefusedError, match="there is no FRR in"):
                asyncio.run(router.install(Image(release, str(tmp_path))))
            asyncio.run(router.install(Image(release, str(root))))
            assert asyncio.run(router.boot()) == before, "nothing restarts before it is told"
            asyncio.run(router.restart())
            assert asyncio.run(router.boot()) != before
            pid = routers.daemon_pid(running.place, "spine1", "bgpd")
            assert pid is not None
            assert routers.running_root(pid) == str(root.resolve())
            with running.vty("spine1", "bgpd") as vty:
                assert f"FRRouting {release}" in vty.run("show version")
            assert {one.id: one.failures for one in assertions.run(running, retry_s=60) if not one.passed} == {}
            other = routers.daemon_pid(running.place, "spine2", "bgpd")
            assert other is not None
            assert routers.running_root(other) == str(running.frr.root)
    finally:
        life.down(fabric)
