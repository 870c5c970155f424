"""Designs brought onto labs by ``deploy`` while packets of queue pairs flow, and taken back: what each plan predicted, and what each wave lost.

``python -m tests.live.lab.deploy_trial [NAME ...]`` (root) runs all changes, or those named, and puts their rows into the table of
docs/deploy.md; rows of other changes stay. It ends with ``deploy-trial: ok``. A wave may lose packets only of queue pairs that cross what its
plan counts as out, or that go to a prefix that the plan says is cut or lost; any other loss is wrong. Between tenants that are apart before and
after, nothing may arrive at any time.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory

from railweave import api
from railweave.api.deploying import (
    deploy_acknowledge,
    deploy_apply,
    deploy_drain,
    deploy_plan,
    deploy_rollback,
    deploy_status,
    deploy_undrain,
)
from railweave.counting import counted
from railweave.live.lab import assertions, fib, hosts, life
from railweave.live.lab.faults.measure import ProbeCounts, Prober
from railweave.live.lab.faults.traffic import QueuePair, queue_pairs, spread
from railweave.live.lab.overlay import Overlay
from railweave.model.device.build import device_config
from railweave.model.network.model import Network
from railweave.operations.deploy.plan import Plan
from railweave.operations.deploy.rollout import StoppedError
from railweave.operations.deploy.waves import Wave
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
UNSEEN = ("host-name", "model", "serial-number", "server-cables")
"""What a router of a lab does not say of itself."""


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
    """``before`` and ``after`` are texts of a fabric file.

    - ``grows``: the second is the larger network, whose cables the lab has from the beginning.
    - ``servers``: servers change too.
    - ``drained``: what is drained, and then undrained, instead.
    """

    what: str
    before: str
    after: str
    grows: bool = False
    servers: bool = False
    drained: tuple[str, ...] = ()


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
    stopped: str = ""

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

    def predicted(self) -> list[set[int]]:
        """For each wave, the queue pairs that may lose packets by the plan."""
        running, waves = dict[str, int](), list[set[int]]()
        for number, wave in enumerate(self.plan.waves, 1):
            out = {name for name in wave.devices if self.plan.changed[name].disrupts}
            effect = wave.effect
            for cut in effect.cuts:
                running |= {
                    part: max(cut.until, number) for prefix in cut.prefixes for part in prefix.split(", later ")
                }
            running |= {prefix: len(self.plan.waves) for prefix in effect.effects.lost}
            cut = [ip_network(prefix) for prefix, until in running.items() if until >= number]
            waves.append(
                {
                    flow
                    for flow, pair in enumerate(self.pairs)
                    if any(name in link for name in out for link in pair.links())
                    or any(ip_address(pair.dst_gid) in prefix for prefix in cut)
                }
            )
        return waves

    def wrong(self) -> list[str]:
        """Waves that lost what they should not have, and what arrived at another tenant."""
        found = [f"packets of {pair} arrived: another tenant's" for pair in self.astray]
        for number, (wave, lost, may) in enumerate(zip(self.plan.waves, self.lost, self.predicted(), strict=False), 1):
            found += [
                f"wave {number} ({', '.join(wave.devices)}): {packets} packets of {self.pairs[flow]}, which is not at risk"
                for flow, packets in lost.items()
                if flow not in may
            ]
        return [*found, *([self.stopped] if self.stopped else [])]

    def said(self) -> str:
        """What the plan says about its waves, with the number of waves that it says it of."""
        lines = Counter(kind for wave in self.plan.waves for kind in dict.fromkeys(map(_kind, _lines(wave))))
        outside = [f"not in this plan: {', '.join(subjects)}" for subjects in self.plan.outside.values()]
        return "; ".join(
            [
                *(f"{kind} ({counted(number, 'wave')})" for kind, number in lines.items()),
                *(outside if not self.plan.changed else []),
            ]
        )

    def row(self, name: str, way: str) -> str:
        """Its line in the table."""
        flows = {flow for lost in self.lost for flow in lost}
        may = set[int]().union(*self.predicted())
        total = sum(number for lost in self.lost for number in lost.values())
        worst = max((number for lost in self.lost for number in lost.values()), default=0)
        return (
            f"| {name} | {way} | {len(self.plan.changed)} | {len(self.plan.waves)} | {self.seconds:.0f} s | {self.said()} "
            f"| {len(may)} of {len(self.pairs)} | {len(flows)} | {total:,} of {sum(self.sent):,} | {worst} "
            f"| {f'{len(self.astray)} of {len(self.apart)}' if self.apart else ''} |"
        )


def _lines(wave: Wave) -> list[str]:
    return (wave.effect.lines() or ["no effect on traffic"]) if wave.effect.states else ["effect not computed"]


_KINDS = {
    "CUT for as long": "CUT while the wave commits",
    "CUT": "CUT between waves",
    "AT RISK": "AT RISK",
    "changes that routes do not show": "",
    "interrupted while the wave commits": "",
    "disruption unknown": "disruption unknown",
    "no effect": "no effect",
    "effect not computed": "not computed",
    "path colors touched": "path colors touched",
}


def _kind(line: str) -> str:
    """The kind of a line about a wave, without devices and prefixes."""
    for begins, kind in _KINDS.items():
        if line.startswith(begins):
            return kind or line.rpartition(" on ")[0].partition(": ")[2]
    return next(
        (
            kind
            for word, kind in {
                "other links": "moved",
                "VRF": "tenants change",
                "no longer": "lost for good",
                "reached where": "gained",
            }.items()
            if word in line
        ),
        "other",
    )


def _rlb() -> Trial:
    after = (
        (EXAMPLES / "h100-rlb.yaml").read_text().replace("device: qfx5240-64od", "device: qfx5240-64od\n      nos: frr")
    )
    before = (
        after.replace("spines: 4", "spines: 3").replace(", {name: orange}", "").replace('"H100-[03-04]"', "H100-03")
    )
    return Trial("a spine, its path color, and a server are added", before, after, grows=True, servers=True)


def _three_tenants() -> Trial:
    after = (EXAMPLES / "evpn-gpu-isolation.yaml").read_text().replace("release: 23.4X100-D31", "nos: frr")
    before = after.replace("spines: 4", "spines: 3, oversubscription: 1.5:1")
    return Trial("a spine is added under three tenants", before, after, grows=True)


TENANTS = """\
name: tenants
fabrics:
  backend:
    topology: {stripes: 2, leaves_per_stripe: 1, spines: 2, link_speed: 400G, oversubscription: 3}
    leaf: {device: qfx5240-64od, nos: frr}
    spine: {device: qfx5240-64od, nos: frr}
    addressing: {server_pool: "fc00::/16"}
    overlay: {vtep: ipv4}
    load_balancing: {mode: dlb-flowlet}
    tenants:
      blue: {members: ["gpu-1", "gpu-4"]}
      red: {members: ["gpu-2", "gpu-5", "gpu-3", "gpu-6"]}
servers:
  - {names: "gpu-[1-3]", model: dgx-h100-2gpu, stripe: stripe1}
  - {names: "gpu-[4-6]", model: dgx-h100-2gpu, stripe: stripe2}
"""
COLORS = """\
name: colors
fabrics:
  backend:
    topology: {stripes: 2, leaves_per_stripe: 2, spines: 2, link_speed: 400G}
    leaf: {device: qfx5240-64od, nos: frr}
    spine: {device: qfx5240-64od, nos: frr}
    colors: [{name: green}, {name: blue}]
    addressing: {server_pool: "fc00::/16"}
servers:
  - {names: "gpu-[1-2]", model: dgx-h100-2gpu, stripe: stripe1}
  - {names: "gpu-[3-4]", model: dgx-h100-2gpu, stripe: stripe2}
"""
PLANES = """\
name: planes
fabrics:
  backend:
    topology: {stripes: 2, planes: 2, leaves_per_stripe: 1, spines: 2, link_speed: 800G, oversubscription: 4}
    leaf: {device: qfx5240-64od, nos: frr}
    spine: {device: qfx5240-64od, nos: frr}
    naming: {leaf: "{stripe}-{plane}"}
    addressing: {server_pool: "fc00::/16"}
servers:
  - {names: "gpu-1", model: hgx-b300-8gpu-cx8-2x400, stripe: stripe1}
  - {names: "gpu-2", model: hgx-b300-8gpu-cx8-2x400, stripe: stripe2}
"""
_RED = '"gpu-5", "gpu-3", "gpu-6"]}'


def _colors(what: str, line: str) -> Trial:
    return Trial(what, COLORS, COLORS.replace("    colors:", f"    {line}\n    colors:"))


TRIALS: dict[str, Callable[[], Trial]] = {
    "h100-rlb": _rlb,
    "evpn-gpu-isolation": _three_tenants,
    "tenant": lambda: Trial("a tenant is added, for servers of another", TENANTS, TENANTS.replace(_RED, '"gpu-5"]}\n      green: {members: ["gpu-3", "gpu-6"]}')),
    "moved": lambda: Trial("a server moves to another tenant", TENANTS, TENANTS.replace(_RED, '"gpu-5", "gpu-6"]}').replace('"gpu-4"]', '"gpu-4", "gpu-3"]')),
    "vni": lambda: Trial("other VNIs", TENANTS, TENANTS.replace("vtep: ipv4", "vtep: ipv4, vni: 30001-30999")),
    "vtep": lambda: Trial("tunnels end on IPv4 addresses, no more on IPv6 ones", TENANTS.replace("vtep: ipv4", "vtep: ipv6"), TENANTS),
    "mtu": lambda: _colors("a smaller MTU between switches, and the larger one again", "mtu: {fabric: 9100}"),
    "leaf-as": lambda: _colors("other AS numbers of leaves", "pools: {leaf_asn: 4210000000-4210000100}"),
    "spine-as": lambda: _colors("other AS numbers of spines", "pools: {spine_asn: 4220000000-4220000100}"),
    "color": lambda: Trial("a path color with another name", COLORS, COLORS.replace("name: blue", "name: red")),
    "classes": lambda: _colors("another DSCP and PFC priority of the lossless class", "qos: {classes: {no-loss: {dscp: [30], pfc_priority: 4}}}"),
    "plane": lambda: Trial("a plane is drained", PLANES, PLANES, drained=("plane1-spine1", "plane1-spine2", "stripe1-plane1", "stripe2-plane1")),
}  # fmt: skip


def between_tenants(network: Network) -> list[QueuePair]:
    """Queue pairs from NICs to NICs of other servers that belong to another tenant."""
    nics = [(f"{server.name}:{nic.name}", nic) for server in network.servers for nic in server.nics]
    return [
        QueuePair(a, b, nic.addresses[0].address, peer.addresses[0].address, "", ())
        for (a, nic), (b, peer) in permutations(nics, 2)
        if nic.tenant != peer.tenant and nic.addresses and peer.addresses and a.split(":")[0] != b.split(":")[0]
    ]


def say(text: str) -> None:
    """A line on what is done."""
    print(text, flush=True)


def carried_out(fabric: Path, plan: Plan, other: Network) -> Way:
    """Apply a plan while packets flow between addresses that servers have before and in the ``other`` network, which is after."""
    path = fabric.with_name("plan.json")
    write_file(path, json.dumps(plan.to_json()), private=True)
    with life.attach(fabric)[1] as lab:
        here = {f"{server.name}:{nic.name}": nic for server in lab.plan.network.servers for nic in server.nics}
        later = {f"{server.name}:{nic.name}": nic for server in other.servers for nic in server.nics}
        every, _ = queue_pairs(lab, lab.control_plane.routes())
        stay = {(name, one.address) for name, nic in later.items() for one in nic.addresses}
        kept = [
            one
            for one in every
            if {(one.src, one.src_gid), (one.dst, one.dst_gid)} <= stay
            and later[one.src].tenant == later[one.dst].tenant
        ]
        pairs = spread([one for one in kept if here[one.src].rail == here[one.dst].rail], FLOWS)
        apart = [
            one
            for one in between_tenants(lab.plan.network)
            if one.src in later and one.dst in later and later[one.src].tenant != later[one.dst].tenant
        ]
        way = Way(plan, pairs, spread(apart, APART))

        def mark(text: str) -> None:
            say(f"  {text}")
            if text.startswith("wave ") and ": going back" not in text and " of " not in text.partition(":")[0]:
                way.marks.append(time.monotonic())

        with Prober(lab, [*pairs, *way.apart]) as prober:
            began = time.monotonic()
            try:
                deploy_apply(path, lab=True, progress=mark, settle=PATIENCE_S)
            except StoppedError as stopped:
                way.stopped = f"it stopped: {stopped}"
            way.seconds = time.monotonic() - began
            way.measured(prober.stop())
    return way


def stands(fabric: Path, *, servers: bool) -> list[str]:
    """What is not as the fabric file has it: statements, servers, forwarding tables, assertions, findings.

    ``servers``: deploy changed them too; otherwise they are brought to their design here.
    """
    wrong = [] if not (plan := deploy_plan(fabric, lab=True)).changed else plan.lines()[:5]
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
    end = time.monotonic() + PATIENCE_S  # addresses of a former tenant's advertisements live on for a while
    while faults := [
        f"{one.id}: {one.where}: {one.what}" for one in api.check(fabric, lab=True).findings if one.severity != "info"
    ]:
        if time.monotonic() > end:
            break
    kept = [f"`{statement}`" for change in plan.devices for statement in change.kept]  # the plan has named them
    wrong += [fault for fault in faults if not any(statement in fault for statement in kept)][:5]
    wrong += [one.line() for one in deploy_status(fabric, lab=True)[1] if one.state != "after"]
    return wrong


def planned(trial: Trial, fabric: Path, way: str, names: Sequence[str], before: Collection[str]) -> Plan:
    """The plan of one way. ``before``: the switches that have a configuration; others are acknowledged first."""
    if trial.drained:
        if way == "back":
            return deploy_undrain(fabric, trial.drained, lab=True)
        return deploy_drain(fabric, trial.drained, lab=True, force=True)
    if way == "back":
        return deploy_rollback(fabric, 1, lab=True)
    if trial.grows:
        new = [switch.name for switch in api.load(fabric).switches if switch.name not in before]
        for compared in deploy_acknowledge(fabric, new, lab=True, allow_unseen=UNSEEN):
            say(f"{compared.device}: {'acknowledged' if compared.good else compared}")
    return deploy_plan(fabric, lab=True, servers=trial.servers, allow_cut=names)


def tried(name: str, trial: Trial) -> tuple[list[str], list[str]]:
    """One trial, there and back: rows of the table, and what was wrong."""
    with TemporaryDirectory() as folder:
        fabric, later = Path(folder) / "fabric.yaml", Path(folder) / "later.yaml"
        fabric.write_text(trial.before)
        later.write_text(trial.after)
        before, after = api.load(fabric), api.load(later)
        say(f"{name}: {trial.what}")
        rows, wrong = list[str](), list[str]()
        try:
            life.up(fabric, before, overlay=TIMERS, room_for=after if trial.grows else None)
            if not trial.drained:
                fabric.write_text(trial.after)
            for way in ("there", "back"):
                plan = planned(trial, fabric, way, names_of(before, after), {one.name for one in before.switches})
                if way == "back" and not trial.drained:
                    fabric.write_text(trial.before)
                say(f"{way}: {counted(len(plan.changed), 'device')} in {counted(len(plan.waves), 'wave')}")
                for line in plan.refused:
                    say(f"  refused: {line}")
                done = (
                    carried_out(fabric, plan, after if way == "there" else before)
                    if plan.changed and not plan.refused
                    else Way(plan, ())
                )
                rows.append(done.row(f"{trial.what} ({name})", way))
                say(rows[-1])
                drained = way == "there" and trial.drained
                found = [
                    *done.wrong(),
                    *plan.refused,
                    *([] if drained or done.stopped or not plan.changed else stands(fabric, servers=trial.servers)),
                ]
                wrong += [f"{name}, {way}: {one}" for one in found]
                for line in found:
                    say(f"  wrong: {line}")
                if not plan.changed or plan.refused or done.stopped:
                    break
        finally:
            life.down(fabric)
    return rows, wrong


HEAD = """| change | way | devices | waves | time | what the plan said | queue pairs that may lose packets by the plan | queue pairs that lost any | packets lost | most by one | pairs of NICs of other tenants that heard each other |
|---|---|---|---|---|---|---|---|---|---|---|"""


def main() -> int:
    """All trials, or those named."""
    if needs_lab.args[0]:
        say(f"deploy-trial: not run: {needs_lab.kwargs['reason']}")
        return 1
    wrong = list[str]()
    for name in sys.argv[1:] or list(TRIALS):
        rows, found = tried(name, TRIALS[name]())
        wrong += found
        page = PAGE.read_text(encoding="utf-8")
        before, _, rest = page.partition(BEGIN)
        table, _, after = rest.partition(END)
        known = {other: [line for line in table.splitlines() if f"({other}) |" in line] for other in TRIALS} | {
            name: rows
        }
        lines = [line for each in known.values() for line in each]
        PAGE.write_text("\n".join([f"{before}{BEGIN}", HEAD, *lines, f"{END}{after}"]), encoding="utf-8")
    if wrong:
        say(f"deploy-trial: {counted(len(wrong), 'thing')} wrong")
        return 1
    say("deploy-trial: ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
