"""Faults of a lab, drawn by a seeded die: what is done to its kernels, cables and daemons, and where it must be found."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from railweave.live.lab import hosts, lldp
from railweave.live.lab.faults import sweep
from railweave.live.lab.faults.kinds import effect as effect_of
from railweave.live.lab.frr import routers
from railweave.live.lab.kernel import processes
from railweave.live.lab.kernel.links import router_lines
from railweave.live.lab.kernel.namespace import ip, ip_batch
from railweave.live.lab.names import namespace
from railweave.live.lab.plan import Wire
from railweave.live.lab.running import Running
from railweave.model.network.devices import Cable
from railweave.systems import system

End = tuple[str, str]
"""A device and its port; an empty port is any of them, or none."""


@dataclass(frozen=True)
class Drawn:
    """A fault. A finding names it right that is at one of ``at``; ``settle_s`` is how long it takes to be seen."""

    what: str
    at: tuple[End, ...]
    begin: Callable[[], object]
    end: Callable[[], object]
    settle_s: float = 3


Draw = Callable[[random.Random, Running], Drawn]
KINDS: dict[str, Draw] = {}
"""Every kind of fault by its name."""


def kind(name: str) -> Callable[[Draw], Draw]:
    def add(draw: Draw) -> Draw:
        KINDS[name] = draw
        return draw

    return add


def _cable(dice: random.Random, lab: Running, kind: str) -> tuple[Cable, tuple[End, ...]]:
    cable = dice.choice([one for one in lab.plan.network.cables if one.kind == kind])
    return cable, _ends(lab, cable.name)


def _ends(lab: Running, link: str) -> tuple[End, ...]:
    """Both ends, by the names that the lab gives ports and those that the design gives them."""
    cable = lab.plan.network.cable(link)
    ends = (cable.a, cable.b)
    return tuple(
        dict.fromkeys((one.device, name) for one in ends for name in (lab.plan.interface(one.device, link), one.port))
    )


def _by_ip(lab: Running, device: str, do: str, undo: str, what: str, at: Iterable[End]) -> Drawn:
    space = namespace(lab.place.lab, device)
    return Drawn(what, tuple(at), lambda: ip(do.split(), inside=space), lambda: ip(undo.split(), inside=space))


def _by_vty(
    lab: Running,
    device: str,
    daemon: str,
    do: list[str],
    undo: list[str],
    what: str,
    at: Iterable[End],
    settle_s: float = 3,
) -> Drawn:
    def change(lines: list[str]) -> None:
        with lab.vty(device, daemon) as vty:
            vty.configure(lines)

    return Drawn(what, tuple(at), lambda: change(do), lambda: change(undo), settle_s)


def _of_scenario(lab: Running, what: str, at: Iterable[End], **words: object) -> Drawn:
    effect = effect_of(lab, sweep.targets(lab, [{"at": "0s", "for": "5s", **words}])[0])
    return Drawn(what, tuple(at), effect.begin, effect.end)


@kind("link down")
def _link_down(dice: random.Random, lab: Running) -> Drawn:
    cable, at = _cable(dice, lab, "fabric")
    return _of_scenario(lab, cable.name, at, kind="link-down", link=cable.name)


@kind("NIC's link down")
def _nic_down(dice: random.Random, lab: Running) -> Drawn:
    cable, at = _cable(dice, lab, "server")
    return _of_scenario(lab, cable.name, at, kind="nic-down", nic=f"{cable.a.device}:{cable.a.port}")


@kind("switch dark")
def _device_down(dice: random.Random, lab: Running) -> Drawn:
    device = dice.choice(list(lab.plan.configs))
    cables = lab.plan.network.cables_of(device)
    at = [
        (device, ""),
        *(end for one in cables for end in _ends(lab, one.name)),
    ]  # leaves' uplinks are shut at the spines
    drawn = _of_scenario(lab, device, at, kind="device-down", device=device)
    return replace(drawn, settle_s=5)


@kind("MTU of a port")
def _port_mtu(dice: random.Random, lab: Running) -> Drawn:
    cable, _ = _cable(dice, lab, "fabric")
    device = dice.choice([cable.a.device, cable.b.device])
    plug = next(
        one for wire in lab.plan.wires if wire.link == cable.name for one in (wire.a, wire.b) if one.device == device
    )
    mtu = dice.choice([1500, 4096, 9000])
    words = f"link set {plug.interface} mtu"
    return _by_ip(
        lab,
        device,
        f"{words} {mtu}",
        f"{words} {plug.mtu}",
        f"{device} {plug.interface}: {mtu}",
        [(device, plug.interface)],
    )


@kind("MTU of a NIC")
def _nic_mtu(dice: random.Random, lab: Running) -> Drawn:
    cable, at = _cable(dice, lab, "server")
    plug = next(wire.a for wire in lab.plan.wires if wire.link == cable.name)
    mtu, words = dice.choice([1500, 4200]), f"link set {plug.interface} mtu"
    return _by_ip(
        lab, plug.device, f"{words} {mtu}", f"{words} {plug.mtu}", f"{plug.device} {plug.interface}: {mtu}", at
    )


@kind("AS number")
def _as_number(dice: random.Random, lab: Running) -> Drawn:
    config = lab.plan.configs[dice.choice(list(lab.plan.configs))]
    assert config.bgp is not None
    session = dice.choice([one for group in config.bgp.groups for one in group.sessions])
    words = [f"router bgp {config.bgp.asn}", f"neighbor {session.interface} interface remote-as"]
    wrong = session.peer_as + dice.randrange(1, 9)
    return _by_vty(
        lab,
        config.name,
        "bgpd",
        [words[0], f"{words[1]} {wrong}"],
        [words[0], f"{words[1]} {session.peer_as}"],
        f"{config.name} {session.interface}: {wrong}",
        _ends(lab, session.link),
    )


@kind("session shut down")
def _session(dice: random.Random, lab: Running) -> Drawn:
    cable, at = _cable(dice, lab, "fabric")
    one, other = dice.sample([cable.a.device, cable.b.device], 2)
    words = {"kind": "bgp-session-down", "device": one, "neighbor": other}
    return _of_scenario(lab, f"{one} with {other}", at, **words)


@kind("BFD timers")
def _bfd_timers(dice: random.Random, lab: Running) -> Drawn:
    config = lab.plan.configs[dice.choice(list(lab.plan.configs))]
    assert config.bgp is not None
    assert config.bgp.bfd is not None
    words, wrong = ["bfd", "profile fabric"], dice.choice([250, 600, 1000])
    return _by_vty(
        lab,
        config.name,
        "bfdd",
        [*words, f"transmit-interval {wrong}"],
        [*words, f"transmit-interval {config.bgp.bfd.minimum_interval}"],
        f"{config.name}: {wrong} ms",
        [(config.name, "")],
    )


@kind("BFD off")
def _bfd_off(dice: random.Random, lab: Running) -> Drawn:
    config = lab.plan.configs[dice.choice(list(lab.plan.configs))]
    assert config.bgp is not None
    group = dice.choice(config.bgp.groups)
    words = [f"router bgp {config.bgp.asn}"]
    at = {(config.name, ""), *(end for one in group.sessions for end in _ends(lab, one.link))}
    return _by_vty(
        lab,
        config.name,
        "bgpd",
        [*words, f"no neighbor {group.name} bfd"],
        [*words, f"neighbor {group.name} bfd profile fabric"],
        f"{config.name}: {group.name}",
        sorted(at),
    )


@kind("policy term")
def _policy(dice: random.Random, lab: Running) -> Drawn:
    """A term that accepts now refuses, at whichever switch."""
    config = lab.plan.configs[dice.choice(list(lab.plan.configs))]
    text = system(config.nos).files(config)["frr.conf"]
    name, number = dice.choice(re.findall(r"^route-map (\S+) permit (\d+)$", text, re.MULTILINE))
    return _by_vty(
        lab,
        config.name,
        "bgpd",
        [f"route-map {name} deny {number}"],
        [f"route-map {name} permit {number}"],
        f"{config.name}: {name} {number}",
        [(config.name, "")],
        settle_s=8,  # FRR waits 5 s for more lines before it applies a route map (bgp route-map delay-timer)
    )


@kind("gateway's address")
def _gateway(dice: random.Random, lab: Running) -> Drawn:
    config = dice.choice([one for one in lab.plan.configs.values() if one.gateways])
    gateway = dice.choice(config.gateways)
    address = dice.choice(gateway.addresses)
    words, at = f"{address} dev {gateway.name}", [(config.name, gateway.name)]
    return _by_ip(lab, config.name, f"addr del {words}", f"addr add {words}", f"{config.name}: {address}", at)


@kind("daemon killed")
def _daemon(dice: random.Random, lab: Running) -> Drawn:
    device, daemon = dice.choice(list(lab.plan.configs)), dice.choice(["zebra", "bgpd", "bfdd"])
    return _of_scenario(lab, f"{device}: {daemon}", [(device, "")], kind="daemon-kill", device=device, daemon=daemon)


@kind("no router advertisements")
def _advertisements(dice: random.Random, lab: Running) -> Drawn:
    """Addresses are no longer preferred, so not to be used, when the lifetime of the last advertisement is over."""
    cable, at = _cable(dice, lab, "server")
    timers = lab.plan.overlay
    assert timers is not None
    drawn = _of_scenario(lab, cable.name, at, kind="ra-stopped", device=cable.b.device, port=cable.b.port)
    return replace(drawn, settle_s=timers.ra_preferred_lifetime_s + timers.ra_interval_s)


@kind("server's rule")
def _rule(dice: random.Random, lab: Running) -> Drawn:
    host = lab.plan.hosts[dice.choice(list(lab.plan.hosts))]
    rule = dice.choice([one for one in host.rules if one.from_])
    space = namespace(lab.place.lab, host.name)
    family = "-6" if ":" in (rule.from_ or "") else "-4"
    at = [(host.name, next(nic.name for nic in host.nics if nic.netdev == rule.dev))]
    return Drawn(
        f"{host.name}: from {rule.from_}",
        tuple(at),
        lambda: ip([family, "rule", "del", "from", str(rule.from_)], inside=space),
        lambda: hosts.apply_tables(lab),
        0,
    )


@kind("server's route")
def _route(dice: random.Random, lab: Running) -> Drawn:
    host = lab.plan.hosts[dice.choice(list(lab.plan.hosts))]
    route = dice.choice(host.routes)
    space = namespace(lab.place.lab, host.name)
    family = "-6" if ":" in (route.via or route.to) else "-4"
    at = [(host.name, next(nic.name for nic in host.nics if nic.netdev == route.dev))]
    words = [family, "route", "del", route.to, "dev", route.dev, "table", str(route.table)]
    return Drawn(
        f"{host.name}: {route.to} in table {route.table}",
        tuple(at),
        lambda: ip(words, inside=space),
        lambda: hosts.apply_tables(lab),
        0,
    )


@kind("cables swapped")
def _swapped(dice: random.Random, lab: Running) -> Drawn:
    """Two cables between switches, or two of servers at one leaf, exchanged at the device where both end."""
    device = dice.choice(list(lab.plan.configs))
    kinds = {kind: [c for c in lab.plan.network.cables_of(device) if c.kind == kind] for kind in ("fabric", "server")}
    first, second = dice.sample(dice.choice([cables for cables in kinds.values() if len(cables) > 1]), 2)
    wires = {wire.link: wire for wire in lab.plan.wires}
    one, other = wires[first.name], wires[second.name]
    crossed = (replace(one, b=other.b), replace(other, b=one.b))
    if one.b.device != other.b.device and one.a.device != other.a.device:
        raise AssertionError(f"{first.name} and {second.name} end on no device together")
    at = (*_ends(lab, first.name), *_ends(lab, second.name))
    drawn = Drawn(
        f"{device}: {first.name} and {second.name}",
        at,
        lambda: rewire(lab, (one, other), crossed),
        lambda: rewire(lab, crossed, (one, other)),
    )
    return replace(drawn, settle_s=2 * lldp.INTERVAL_S + 2)  # both ends have announced themselves by then


def rewire(lab: Running, gone: Iterable[Wire], made: Iterable[Wire]) -> None:
    """Pull cables and plug in others between the same ports, of routers that are off meanwhile: FRR does not take up a new interface under an old name."""
    plan, made = lab.plan, list(made)
    routed = {one.device for wire in made if wire.a.device in plan.configs for one in (wire.a, wire.b)}
    pids = [routers.daemon_pid(lab.place, device, daemon) for device in routed for daemon in lab.frr.daemons]
    processes.end([pid for pid in pids if pid is not None])

    def space(device: str, interface: str) -> str:
        return namespace(lab.place.lab, plan.space(device, interface))

    for wire in gone:
        ip(["link", "del", wire.a.interface], inside=space(wire.a.device, wire.a.interface))
    for wire in made:
        ends = [
            f"name {one.interface} netns {space(one.device, one.interface)} mtu {one.mtu}"
            + (f" address {one.mac}" if one.mac else "")
            for one in (wire.a, wire.b)
        ]
        ip_batch([f"link add {ends[0]} type veth peer {ends[1]}"])
    for device, interface in {(one.device, one.interface) for wire in made for one in (wire.a, wire.b)}:
        config = plan.configs.get(device)
        lines = router_lines(config) if config else [f"link set {interface} up"]
        ip_batch((line for line in lines if line.startswith(f"link set {interface} ")), inside=space(device, interface))
        lldp.configure(lab.place, plan, device)
    configs = [plan.configs[device] for device in sorted(routed)]
    routers.start(lab.place, lab.frr, configs, lambda _: None)
    routers.solicit(lab.place, plan.configs.values())
