"""A spine and a NIC replaced in a lab: the spine comes back with nothing on it, the NIC with another MAC address."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave import api
from railweave.api.deploying import deploy_apply, deploy_drain, deploy_replace, deploy_undrain
from railweave.live.lab import life, logins
from railweave.live.lab.faults.measure import Prober
from railweave.live.lab.faults.traffic import queue_pairs, spread
from railweave.live.lab.kernel.namespace import ip_batch
from railweave.live.lab.names import namespace
from railweave.live.site.lab import again
from railweave.operations.deploy.plan import Plan
from tests.conftest import EXAMPLES, frr_root
from tests.live.lab.day_two import drain

SPINE, SERVER, NIC = "spine2", "H100-01", "gpu0_eth"
MAC = "a0:88:c2:00:00:77"
HEAD = [
    "| replaced | what the plan changes | statements | time | packets of others lost meanwhile | afterwards |",
    "|---|---|---|---|---|---|",
]


def applied(fabric: Path, access: Path, plan: Plan) -> float:
    """Apply a plan; seconds."""
    began = time.monotonic()
    deploy_apply(
        drain.saved(plan, fabric),
        lab=True,
        access=access,
        idle_limit=drain.QUIET,
        progress=lambda text: drain.say(f"  {text}"),
    )
    return time.monotonic() - began


def statements(plan: Plan) -> int:
    """How many statements a plan changes."""
    return sum(len(one.shown) for one in plan.changed.values())


def spine(fabric: Path, access: Path) -> tuple[str, list[str]]:
    """Drain a spine, put an empty one in its place, give it its configuration, and bring it back: while packets flow."""
    with life.attach(fabric)[1] as lab:
        pairs, _ = queue_pairs(lab, lab.control_plane.routes())
        with Prober(lab, spread(pairs, drain.FLOWS)) as prober:
            applied(fabric, access, deploy_drain(fabric, [SPINE], lab=True, access=access, force=True))
            (lab.place.router(SPINE) / "etc/frr/frr.conf").write_text(f"hostname {SPINE}\n")
            again(lab, SPINE)
            plan = deploy_replace(fabric, SPINE, serial="NEW-1", lab=True, access=access)
            for line in plan.lines()[:12]:
                drain.say(f"  {line}")
            seconds = applied(fabric, access, plan)
            applied(fabric, access, deploy_undrain(fabric, [SPINE], lab=True, access=access))
            probed = prober.stop()
    lost = int((~probed.arrived).sum())
    wrong = [f"{SPINE}: {one}" for one in drain.stands(fabric, access)]
    wrong += [f"{SPINE}: {lost} packets lost"] if lost else []
    wrong += [] if api.load(fabric).switch(SPINE).serial == "NEW-1" else ["the inventory has not its serial number"]
    row = (
        f"| {SPINE}, drained before, with nothing on it | {', '.join(plan.changed)} | {statements(plan)} | {seconds:.0f} s "
        f"| {lost} of {probed.arrived.size:,} | as designed |"
    )
    return row, wrong


def nic(fabric: Path, access: Path) -> tuple[str, list[str]]:
    """Give a NIC another MAC address, and bring its server to what follows."""
    word = f"{SERVER}:{NIC}"
    port = next(one for one in api.load(fabric).server(SERVER).nics if one.name == NIC)
    with life.attach(fabric)[1] as lab:
        pairs, _ = queue_pairs(lab, lab.control_plane.routes())
        others = [one for one in pairs if word not in {one.src, one.dst}]
        with Prober(lab, spread(others, drain.FLOWS)) as prober:
            lines = [
                f"link set {port.netdev} down",
                f"link set {port.netdev} address {MAC}",
                f"link set {port.netdev} up",
            ]
            ip_batch(lines, inside=namespace(lab.place.lab, SERVER))
            plan = deploy_replace(fabric, word, mac=MAC, lab=True, access=access)
            for line in plan.lines():
                drain.say(f"  {line}")
            seconds = applied(fabric, access, plan)
            probed = prober.stop()
    lost = int((~probed.arrived).sum())
    wrong = [f"{word}: {one}" for one in drain.stands(fabric, access)]
    wrong += [f"{word}: {lost} packets of others lost"] if lost else []
    with life.attach(fabric)[1] as lab:
        pairs, _ = queue_pairs(lab, lab.control_plane.routes())
        own = [one for one in pairs if word in {one.src, one.dst}]
        with Prober(lab, own) as prober:
            time.sleep(2)
            probed = prober.stop()
    missing = int((~probed.arrived).sum())
    wrong += [f"{word}: {missing} of its packets lost afterwards"] if missing or not probed.arrived.size else []
    row = (
        f"| {word}, another MAC address | {', '.join(plan.changed)} | {statements(plan)} | {seconds:.0f} s "
        f"| {lost} | {missing} of {probed.arrived.size:,} of its packets lost |"
    )
    return row, wrong


def tried() -> tuple[list[str], list[str]]:
    """The table, and what was wrong."""
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
            for one in (spine, nic):
                row, found = one(fabric, access)
                rows.append(row)
                wrong += found
        finally:
            life.down(fabric)
    return [*HEAD, *rows], wrong
