"""Spines of a lab brought to another release of FRRouting while packets of queue pairs flow: none may be lost."""

from __future__ import annotations

import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave import api
from railweave.api.deploying import deploy_apply, deploy_log, deploy_upgrade
from railweave.live.lab import life, logins
from railweave.live.lab.faults.measure import Prober
from railweave.live.lab.faults.traffic import queue_pairs, spread
from railweave.live.lab.frr import rootfs
from railweave.operations.deploy.journal import folder_of
from railweave.operations.deploy.upgrading import SwitchCondition, UpgradeTimeouts
from railweave.tool_roots import project_root
from tests.conftest import EXAMPLES, frr_root
from tests.live.lab.day_two import drain

SPINES = ("spine3", "spine4")
PATIENCE = UpgradeTimeouts(restart_s=120, settle_s=120, every_s=1)
HEAD = [
    "| switch | release before | after | sessions as before | drained | installed and restarted | as before | back in use | packets lost |",
    "|---|---|---|---|---|---|---|---|---|",
]


def newer() -> Path | None:
    """The root folder of the newer FRRouting, where one was made."""
    folder = rootfs.IPV6_TUNNELS.folder
    places = (project_root(folder), rootfs.CACHE / folder)
    return next((one for one in places if one is not None and one.is_dir()), None)


def seconds(fabric: Path, revision: int, device: str) -> dict[str, float]:
    """How long each stage of a device took, by the journal."""
    steps = deploy_log(fabric, revision)[2]
    return {one.verb: one.ended - one.began for one in steps if one.device == device and one.ended is not None}


def upgraded(fabric: Path, access: Path, root: Path, release: str) -> tuple[list[str], list[str]]:
    """Upgrade two spines: their rows, and what was wrong."""
    text = fabric.read_text()
    plan = deploy_upgrade(fabric, release, image=str(root), only=SPINES, force=True, lab=True, access=access)
    wrong = list(plan.refused)
    for line in plan.lines():
        drain.say(f"  {line}")
    if wrong:
        return [], wrong
    assert plan.upgrade is not None
    with life.attach(fabric)[1] as lab:
        pairs, _ = queue_pairs(lab, lab.control_plane.routes())
        with Prober(lab, spread(pairs, drain.FLOWS)) as prober:
            began = time.monotonic()
            path = drain.saved(plan, fabric)
            number = deploy_apply(
                path,
                lab=True,
                access=access,
                idle_limit=drain.QUIET,
                upgrade_timeouts=PATIENCE,
                progress=lambda said: drain.say(f"  {said}"),
            ).number
            drain.say(f"upgraded in {time.monotonic() - began:.0f} s")
            probed = prober.stop()
    lost, sent = int((~probed.arrived).sum()), probed.arrived.size
    wrong += [f"{lost} of {sent} packets lost"] if lost else []
    wrong += [] if fabric.read_text() == text else ["the fabric file is not as it was"]
    again = deploy_upgrade(fabric, release, image=str(root), only=SPINES, force=True, lab=True, access=access)
    wrong += [f"{name} does not run {release}" for wave in again.waves for name in wave.devices]
    wrong += [one for one in drain.stands(fabric, access) if "the design names" not in one]
    rows: list[str] = []
    for name in SPINES:
        took = seconds(fabric, number, name)
        kept = folder_of(fabric) / "revisions" / f"{number:04}" / name / "before" / "state.json"
        before = SwitchCondition.of_json(json.loads(kept.read_text()))
        rows.append(
            f"| {name} | {before.version} | {release} | {len(before.sessions)} | {took['drain']:.0f} s "
            f"| {took['install'] + took['restart']:.0f} s | {took['return']:.0f} s | {took['undrain']:.0f} s | {lost} of {sent:,} |"
        )
    return rows, wrong


def tried() -> tuple[list[str], list[str]]:
    """The table, and what was wrong."""
    root = newer()
    if root is None:
        return [], ["there is no FRR of 2026: `sudo make validators` makes a folder of it"]
    release = rootfs.given(root).version.partition("-")[0]
    rows, wrong = list[str](), list[str]()
    with TemporaryDirectory() as folder:
        fabric = Path(folder) / "fabric.yaml"
        fabric.write_text(
            (EXAMPLES / "h100-rlb.yaml")
            .read_text()
            .replace("device: qfx5240-64od", "device: qfx5240-64od\n      nos: frr")
        )
        try:
            life.up(fabric, api.load(fabric), overlay=drain.TIMERS, frr_root=frr_root())
            with life.attach(fabric)[1] as lab:
                access = logins.listen(lab)
            rows, wrong = upgraded(fabric, access, root, release)
        finally:
            life.down(fabric)
    return [*HEAD, *rows], wrong
