"""Designs brought onto labs by ``deploy``, over SSH, while packets of queue pairs flow: what each wave lost, there and back.

``python -m tests.live.lab.deploy_trial [NAME ...]`` (root) writes its table into docs/deploy.md and ends with ``deploy-trial: ok``. A wave
may lose packets only of queue pairs that cross what its plan counts as out; one that disrupts nothing by its plan loses none. Between
tenants that are apart before and after, nothing may arrive at any time.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave import api
from railweave.api.deploying import deploy_apply, deploy_plan, deploy_rollback, deploy_status
from railweave.counting import counted
from railweave.live.lab import assertions, fib, hosts, life, logins
from railweave.live.lab.faults.measure import ProbeCounts, Prober
from railweave.live.lab.faults.traffic import QueuePair, queue_pairs, spread
from railweave.live.lab.overlay import Overlay
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from railweave.operations.deploy.plan import Plan
from railweave.writing import write_file
from tests.conftest import EXAMPLES
from tests.live.lab.machine import needs_lab

PAGE = Path(__file__).parents[3] / "docs" / "deploy.md"
BEGIN, END = "<!-- deploy-trial: begin -->", "<!-- deploy-trial: end -->"
TIMERS = Overlay(bfd_interval_ms=300)
"""BFD so that a busy machine ends no session that is well."""
FLOWS = 256
APART = 32
PATIENCE_S = 90.0


def names_of(*networks: Network) -> list[str]:
    """The names of all that a plan may cut: fabrics, tenants and VNIs."""
    names = {fabric.name for network in networks for fabric in network.fabrics}
    names |= {tenant.name for network in networks for fabric in network.fabrics for tenant in fabric.tenants}
    for network in networks:
        for switch in network.switches:
            bridged = device_config(network, switch.name).mac_vrf
            names |= {f"VNI {vlan.vni}" for vlan in bridged.vlans} if bridged else set()
    return sorted(names)


@dataclass(frozen=True)
class Trial:
    """``before`` and ``after`` are texts of a fabric file; the second is the larger network.

    ``servers``: whether servers change too.
    """

    name: str
    what: str
    before: str
    after: str
    servers: bool = False


@dataclass
class Way:
    """What came of one apply. ``lost`` are, for each wave, the packets lost by queue pairs, and ``sent`` by all.

    ``apart`` are queue pairs between tenants, of which nothing may arrive; ``astray`` are those of which something did.
    """

    plan: Plan
    pairs: Sequence[QueuePair]
    apart: Sequence[QueuePair] = ()
    astray: list[QueuePair] = field(default_factory=list["QueuePair"])
    marks: list[float] = field(default_factory=list[float])
    lost: list[dict[int, int]] = field(default_factory=list[dict[int, int]])
    sent: list[int] = field(default_factory=list[int])
    seconds: float = 0.0

    def measured(self, probed: ProbeCounts) -> None:
        """Packets lost between the beginning of each wave and that of the next, and what went between tenants."""
        wanted = len(self.pairs)
        came = [bool(row.any()) for row in probed.arrived[wanted:]]
        self.astray += [pair for pair, arrived in zip(self.apart, came, strict=True) if arrived]
        probed = ProbeCounts(probed.sent, probed.arrived[:wanted])
        for begin, end in zip(self.marks, [*self.marks[1:], float("inf")], strict=True):
            during = probed.between(begin, end)
            gone = (~during.arrived).sum(axis=1)
            self.lost.append({flow: int(number) for flow, number in enumerate(gone) if number})
            self.sent.append(during.arrived.size)

    def wrong(self) -> list[str]:
        """Waves that lost what they should not have, and what arrived at another tenant."""
        found = [f"packets of {pair} arrived: another tenant's" for pair in self.astray]
        for number, (wave, lost) in enumerate(zip(self.plan.waves, self.lost, strict=True), 1):
            out = {name for name in wave.devices if self.plan.changed[name].disrupts}
            for flow, packets in lost.items():
                pair = self.pairs[flow]
                if not any(name in link for name in out for link in pair.links()):
                    found.append(
                        f"wave {number} ({', '.join(wave.devices)}): {packets} packets of {pair}, which is not at risk"
                    )
        return found

    def row(self, name: str, way: str) -> str:
        """Its line in the table."""
        worst = max((number for lost in self.lost for number in lost.values()), default=0)
        flows = {flow for lost in self.lost for flow in lost}
        total = sum(number for lost in self.lost for number in lost.values())
        hit = sum(bool(lost) for lost in self.lost)
        return (
            f"| {name} | {way} | {len(self.plan.changed)} | {len(self.plan.waves)} | {self.seconds:.0f} s "
            f"| {total:,} of {sum(self.sent):,} | {hit} | {len(flows)} of {len(self.pairs)} | {worst} "
            f"| {f'{len(self.astray)} of {len(self.apart)}' if self.apart else ''} |"
        )


def _rlb() -> Trial:
    after = (
        (EXAMPLES / "h100-rlb.yaml").read_text().replace("device: qfx5240-64od", "device: qfx5240-64od\n      nos: frr")
    )
    before = (
        after.replace("spines: 4", "spines: 3").replace(", {name: orange}", "").replace('"H100-[03-04]"', "H100-03")
    )
    return Trial("h100-rlb", "a spine, its path color, and a server are added", before, after, servers=True)


def _tenants() -> Trial:
    after = (EXAMPLES / "evpn-gpu-isolation.yaml").read_text().replace("release: 23.4X100-D31", "nos: frr")
    before = after.replace("spines: 4", "spines: 3, oversubscription: 1.5:1")
    return Trial("evpn-gpu-isolation", "a spine is added under three tenants", before, after)


TRIALS: dict[str, Callable[[], Trial]] = {"h100-rlb": _rlb, "evpn-gpu-isolation": _tenants}


def between_tenants(network: Network) -> list[QueuePair]:
    """Queue pairs from NICs to NICs of other servers that belong to another tenant."""
    nics = [(f"{server.name}:{nic.name}", nic) for server in network.servers for nic in server.nics]
    return [
        QueuePair(a, b, nic.addresses[0].address, peer.addresses[0].address, "", ())
        for (a, nic), (b, peer) in permutations(nics, 2)
        if nic.tenant != peer.tenant and a.split(":")[0] != b.split(":")[0]
    ]


def say(text: str) -> None:
    """A line on what is done."""
    print(text, flush=True)


def carried_out(fabric: Path, plan: Plan, access: Path, other: Network) -> Way:
    """Apply a plan while packets flow between addresses that servers have before and in the ``other`` network, which is after."""
    path = fabric.with_name("plan.json")
    write_file(path, json.dumps(plan.to_json()), private=True)
    with life.attach(fabric)[1] as lab:
        rails = {f"{server.name}:{nic.name}": nic.rail for server in lab.plan.network.servers for nic in server.nics}
        every, _ = queue_pairs(lab, lab.control_plane.routes())
        stay = {
            (f"{server.name}:{nic.name}", one.address)
            for server in other.servers
            for nic in server.nics
            for one in nic.addresses
        }
        kept = [one for one in every if {(one.src, one.src_gid), (one.dst, one.dst_gid)} <= stay]
        pairs = spread([one for one in kept if rails[one.src] == rails[one.dst]], FLOWS)
        way = Way(plan, pairs, spread(between_tenants(lab.plan.network), APART))

        def mark(text: str) -> None:
            say(f"  {text}")
            if text.startswith("wave ") and ": going back" not in text and " of " not in text.partition(":")[0]:
                way.marks.append(time.monotonic())

        with Prober(lab, [*pairs, *way.apart]) as prober:
            began = time.monotonic()
            deploy_apply(path, lab=True, access=access, progress=mark)
            way.seconds = time.monotonic() - began
            way.measured(prober.stop())
    return way


def stands(fabric: Path, access: Path, *, servers: bool) -> list[str]:
    """What is not as the fabric file has it: statements, servers, forwarding tables, assertions, findings.

    ``servers``: deploy changed them too; otherwise they are brought to their design here.
    """
    wrong = [] if not (plan := deploy_plan(fabric, lab=True, access=access)).changed else plan.lines()[:5]
    with life.attach(fabric)[1] as lab:
        hosts.prepare(lab)
        if not servers:
            hosts.write_files(lab)
        if not hosts.wait_for_addresses(lab, PATIENCE_S):
            wrong.append("servers lack addresses")
        hosts.apply_tables(lab)
        took, left = fib.wait(lab, lab.control_plane.routes(), PATIENCE_S, poll_s=1.0)
        wrong += [] if took is not None else [str(one) for one in left[:5]]
        for one in assertions.run(lab, retry_s=PATIENCE_S):
            wrong += [f"{one.id}: {line}" for line in one.failures[:3]] if not one.passed else []
    wrong += [str(one) for one in api.check(fabric, lab=True).findings if one.severity != "info"][:5]
    wrong += [one.line() for one in deploy_status(fabric, lab=True, access=access)[1] if one.state != "after"]
    return wrong


def tried(trial: Trial) -> tuple[list[str], list[str]]:
    """One trial, there and back: rows of the table, and what was wrong."""
    with TemporaryDirectory() as folder:
        fabric, later = Path(folder) / "fabric.yaml", Path(folder) / "later.yaml"
        fabric.write_text(trial.before)
        later.write_text(trial.after)
        before, after = api.load(fabric), api.load(later)
        say(f"{trial.name}: {trial.what}")
        rows, wrong = list[str](), list[str]()
        try:
            life.up(fabric, before, overlay=TIMERS, room_for=after)
            with life.attach(fabric)[1] as lab:
                access = logins.listen(lab)
            fabric.write_text(trial.after)
            for way in ("there", "back"):
                plan = (
                    deploy_plan(
                        fabric, lab=True, access=access, servers=trial.servers, allow_cut=names_of(before, after)
                    )
                    if way == "there"
                    else deploy_rollback(fabric, 1, lab=True, access=access)
                )
                if way == "back":
                    fabric.write_text(trial.before)
                say(f"{way}: {counted(len(plan.changed), 'device')} in {counted(len(plan.waves), 'wave')}")
                done = carried_out(fabric, plan, access, after if way == "there" else before)
                rows.append(done.row(trial.name, way))
                say(rows[-1])
                found = done.wrong() + stands(fabric, access, servers=trial.servers)
                wrong += [f"{trial.name}, {way}: {one}" for one in found]
                for line in found:
                    say(f"  wrong: {line}")
        finally:
            life.down(fabric)
    return rows, wrong


HEAD = """| network | way | devices | waves | time | packets lost | waves that lost any | flows that lost any | most by one flow | pairs of NICs of other tenants that heard each other |
|---|---|---|---|---|---|---|---|---|---|"""


def main() -> int:
    """All trials, or those named."""
    if needs_lab.args[0]:
        say(f"deploy-trial: not run: {needs_lab.kwargs['reason']}")
        return 1
    names = sys.argv[1:] or list(TRIALS)
    table, wrong = list[str](), list[str]()
    for name in names:
        rows, found = tried(TRIALS[name]())
        table += rows
        wrong += found
    if wrong:
        say(f"deploy-trial: {counted(len(wrong), 'thing')} wrong")
        return 1
    if names == list(TRIALS):
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        text = "\n".join([HEAD, *table])
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    say("deploy-trial: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
