"""A failure campaign in a lab: each fault by the commands of ``deploy campaign`` beside ``lab fault``, and a program that is killed meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave import api
from railweave.api.deploying import campaign_plan, campaign_run, deploy_history, deploy_plan, deploy_status, rehearsed
from railweave.live.lab import fib, life
from railweave.live.lab.overlay import Overlay
from railweave.operations.deploy.campaign.carrying import Limits, turn_table
from tests.conftest import frr_root

FABRIC = """\
name: campaign
fabrics:
  backend:
    topology: {stripes: 2, spines: 4, link_speed: 400G}
    leaf: {device: qfx5240-64od, nos: frr}
    spine: {device: qfx5240-64od, nos: frr}
    addressing: {server_pool: "fc00::/16"}
servers:
  - {names: "gpu-[1-2]", model: dgx-h100-2gpu, stripe: stripe1}
  - {names: "gpu-[3-4]", model: dgx-h100-2gpu, stripe: stripe2}
"""
SCENARIO = """\
name: what may break on a day
faults:
  - {at: 0s, kind: link-down, link: stripe1-leaf1--spine1}
  - {at: 60s, kind: bgp-session-down, device: stripe1-leaf2, neighbor: spine2}
  - {at: 120s, kind: bgp-down, device: spine3}
  - {at: 180s, kind: device-down, device: spine4}
  - {at: 240s, kind: device-reboot, device: spine1}
  - {at: 300s, kind: daemon-kill, device: spine2, daemon: bgpd}
"""
FORCE = ["color1", "color2", "color3", "color4"]
"""With a spine for each path color every fault takes one from a leaf; its packets go over the others."""
LIMITS = Limits(restore_within=60, settle=90)
KILLED = """
import os, sys
from railweave.api.deploying import campaign_plan, campaign_run
from railweave.operations.deploy.campaign import carrying
from railweave.operations.deploy.campaign.carrying import Limits
sleep = carrying.time.sleep
carrying.time.sleep = lambda seconds: os._exit(9) if seconds == 5 else sleep(seconds)
fabric, scenario, *force = sys.argv[1:]
campaign = campaign_plan(fabric, scenario, lab=True, force=force, hold=5)
campaign_run(fabric, campaign, lab=True, limits=Limits(restore_within=10, settle=60))
"""


def say(text: str) -> None:
    """A line on what is done."""
    print(text, flush=True)


def stands(fabric: Path) -> list[str]:
    """What is not as designed."""
    plan = deploy_plan(fabric, lab=True)
    wrong = plan.lines()[:5] if plan.changed else []
    with life.attach(fabric)[1] as lab:
        took, left = fib.wait(lab, lab.control_plane.routes(), 60, poll_s=0.5)
    return wrong + ([] if took is not None else [str(one) for one in left[:3]])


def killed(fabric: Path, scenario: Path) -> tuple[str, list[str]]:
    """Kill a campaign in the middle of its first turn: what is told of it, and whether the router restores itself."""
    other = scenario.with_name("killed.yaml")
    other.write_text("faults:\n  - {at: 0s, kind: bgp-down, device: spine3}\n")
    words = [sys.executable, "-c", KILLED, str(fabric), str(other), *FORCE]
    ran = subprocess.run(words, check=False, env=os.environ)
    _, truths = deploy_status(fabric, lab=True)
    told = [one.line() for one in truths]
    wrong = [] if ran.returncode == 9 else [f"it ended with {ran.returncode}"]
    wrong += [] if [one.state for one in truths] == ["waiting"] else [f"told: {told}"]
    begun, states = time.monotonic(), [one.state for one in truths]
    while states != ["before"] and time.monotonic() - begun < 60:
        time.sleep(1)
        states = [one.state for one in deploy_status(fabric, lab=True)[1]]
    seconds = time.monotonic() - begun
    wrong += [] if states == ["before"] else [f"it was not restored within {seconds:.0f} s: {states}"]
    return (
        f"| a campaign that is killed | - | - | {told[0] if told else '-'} | by its timer, {seconds:.0f} s later |",
        wrong,
    )


def tried() -> tuple[list[str], list[str]]:
    """The table, and what was wrong."""
    table, wrong = turn_table((), ()).to_markdown(), list[str]()
    with TemporaryDirectory() as folder:
        fabric, scenario = Path(folder) / "fabric.yaml", Path(folder) / "scenario.yaml"
        fabric.write_text(FABRIC)
        scenario.write_text(SCENARIO)
        try:
            life.up(fabric, api.load(fabric), overlay=Overlay(bfd_interval_ms=300), frr_root=frr_root())
            refused = campaign_plan(fabric, scenario, lab=True).refused
            wrong += [] if any("path color color1 would be gone" in one for one in refused) else ["it was not refused"]
            campaign = campaign_plan(fabric, scenario, lab=True, force=FORCE, hold=5)
            wrong += campaign.refused
            if not wrong:
                say("lab fault")
                measured = rehearsed(fabric, scenario.with_name(_at_once(scenario)))
                results = campaign_run(
                    fabric, campaign, lab=True, limits=LIMITS, progress=lambda text: say(f"  {text}")
                )
                table = turn_table(results, measured).to_markdown()
                wrong += [f"{one.planned.turn.name}: {line}" for one in results for line in one.wrong]
                wrong += [] if len(results) == len(campaign.turns) else ["it did not go on to its end"]
                wrong += [] if all(one.seen.sent for one in results) else ["no packet was sent"]
                wrong += stands(fabric)
                row, found = killed(fabric, scenario)
                table.append(row)
                wrong += found + stands(fabric)
                wrong += [] if len(deploy_history(fabric)) == len(campaign.turns) + 1 else ["the journal lacks a turn"]
        finally:
            life.down(fabric)
    return table, wrong


def _at_once(scenario: Path) -> str:
    """The same faults without the pauses, which ``lab fault`` would wait for: it lets each settle first."""
    name = "quick.yaml"
    lines = scenario.read_text().splitlines()
    quick = [line.replace(f"at: {60 * at}s", f"at: {at}s") for at, line in enumerate(lines, -2)]
    scenario.with_name(name).write_text("\n".join(quick) + "\n")
    return name
