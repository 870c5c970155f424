"""The kinds of faults that a scenario file can name, and how the lab starts and ends each."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from railweave.errors import LabError
from railweave.live.lab.frr import routers
from railweave.live.lab.kernel import processes, shaping, tunnels
from railweave.live.lab.kernel.namespace import ip, ip_batch, spaces_of, vrf_space
from railweave.live.lab.kernel.shaping import links_of, set_links
from railweave.live.lab.names import namespace

if TYPE_CHECKING:
    from collections.abc import Callable

    from railweave.design.fault_targets import FaultTarget
    from railweave.live.lab.running import Running

PS_PER_S = 10**12

BLACKHOLE_PREFERENCE = 1
"""The preference of the routing rules that make a switch drop all packets that it should forward.

The kernel evaluates these rules after the rule for the switch's own addresses and before all rules that look up routing tables.
"""


@dataclass(frozen=True)
class Effect:
    """A fault in the lab.

    - ``links``: the links that the fault affects.
    - ``down``: the links or devices that the computed routes treat as down during the fault; None if the computation
      cannot predict the fault's effect.
    - ``begin``, ``end``: the functions that start and end the fault.
    - ``prepare``: a function that is called before the measurement, for preparations that lose packets but are not part of
      the fault. ``end`` undoes them.
    - ``note``: a remark for the table of measurements.
    """

    target: FaultTarget
    links: tuple[str, ...]
    down: tuple[str, ...] | None
    begin: Callable[[], None]
    end: Callable[[], None]
    note: str = ""
    prepare: Callable[[], None] = lambda: None

    @property
    def name(self) -> str:
        """The target of the fault as words, such as the name of a link, or of a device and a daemon."""
        fault = self.target.fault
        words = [fault.link, fault.nic, fault.plane, fault.device, fault.daemon, fault.port]
        text = " ".join(word for word in words if word)
        text += f" to {fault.neighbor}" if fault.neighbor else ""
        if fault.rate:
            text += f" at {fault.rate / 1000:g}G" if fault.rate >= 1000 else f" at {fault.rate}M"
        return text + (f" losing {fault.loss:.0%}" if fault.loss else "")


def effect(lab: Running, target: FaultTarget) -> Effect:
    """Return the effect of a fault on this lab.

    Raises ``LabError`` if the part of the network that the lab runs does not contain the target of the fault.
    """
    fault = target.fault
    device = fault.device or ""
    if fault.kind in {"link-down", "nic-down"}:
        return _links_down(lab, target, target.links, target.links)
    if fault.kind == "link-flap":
        return _flapping(lab, target, (fault.period or 0) / PS_PER_S, fault.count or 0)
    if fault.kind == "device-down":
        links = tuple(links_of(lab, device))
        return _links_down(lab, target, links, (device,) if device in lab.plan.configs else links)
    if fault.kind == "plane-down":
        links = tuple(dict.fromkeys(link for device in target.devices for link in links_of(lab, device)))
        return _links_down(lab, target, links, target.devices)
    if fault.kind == "link-slow":
        rate = (fault.rate or 0) * 1_000_000
        slow = _shaped(lab, target, lambda: shaping.slow(lab, target.links, rate), ())
        return replace(slow, prepare=lambda: shaping.slow(lab, target.links, shaping.FULL_BITS_PER_S))
    if fault.kind == "link-lossy":
        chance = fault.loss or 0.0
        down = target.links if chance >= 1 else None
        return _shaped(lab, target, lambda: shaping.lossy(lab, target.links, chance), down)
    if fault.kind == "blackhole":
        return _blackhole(lab, target, device)
    if fault.kind == "device-reboot":
        return _reboot(lab, target, device)
    if fault.kind in {"bgp-session-down", "bgp-down"}:
        return _sessions_down(lab, target, device)
    if fault.kind == "daemon-kill":
        return _daemon_killed(lab, target, device, fault.daemon or "")
    if fault.kind == "ra-stopped":
        return _advertisements_stopped(lab, target, device, fault.port or "")
    raise LabError(f"the lab cannot do {fault.kind}")


def _links_down(lab: Running, target: FaultTarget, links: tuple[str, ...], down: tuple[str, ...]) -> Effect:
    return Effect(target, links, down, lambda: set_links(lab, links, "down"), lambda: set_links(lab, links, "up"))


def _flapping(lab: Running, target: FaultTarget, period_s: float, count: int) -> Effect:
    """Return the effect of the fault ``target``: a link that goes down ``count`` times, for half of each period.

    Assertions are checked after the last outage.
    """

    def begin() -> None:
        start = time.monotonic()
        for number in range(count):
            for half, state in enumerate(("down", "up")):
                time.sleep(max(start + (number + half / 2) * period_s - time.monotonic(), 0.0))
                set_links(lab, target.links, state)

    links = target.links
    return Effect(
        target, links, (), begin, lambda: set_links(lab, links, "up"), f"{count} breaks of {period_s / 2:g} s"
    )


def _shaped(lab: Running, target: FaultTarget, begin: Callable[[], None], down: tuple[str, ...] | None) -> Effect:
    return Effect(target, target.links, down, begin, lambda: shaping.clear(lab, target.links))


def _blackhole(lab: Running, target: FaultTarget, device: str) -> Effect:
    """Return the effect of the fault ``target``: a switch drops the packets that it should forward. The switch's own packets are not dropped.

    A routing rule drops routed packets. Isolation of the bridge's ports drops bridged packets.
    """
    config = lab.plan.configs[device]
    entries = [port.name for port in config.interfaces if port.kind == "fabric"]
    entries += [gateway.name for gateway in config.gateways]
    by_space: dict[str, list[str]] = {}
    for name in entries:
        by_space.setdefault(lab.plan.space(device, name), []).append(name)
    bridged = [(lab.plan.space(device, port.name), port.name) for port in config.interfaces if port.vlan is not None]
    for tunnel in tunnels.tunnels(config):
        space = vrf_space(device, tunnel.vrf)
        if tunnel.layer_2:
            bridged.append((space, tunnel.device))
        else:
            by_space.setdefault(space, []).append(tunnel.bridge)

    def change(verb: str, isolated: str) -> None:
        for space, names in by_space.items():
            inside = namespace(lab.place.lab, space)
            for family in ("-4", "-6"):
                for name in names:
                    words = ["preference", str(BLACKHOLE_PREFERENCE), "iif", name, "blackhole"]
                    ip([family, "rule", verb, *words], inside=inside)
        for space, name in bridged:
            ip_batch([f"link set {name} type bridge_slave isolated {isolated}"], inside=namespace(lab.place.lab, space))

    def end() -> None:
        with contextlib.suppress(LabError):  # it was interrupted before all were there
            change("del", "off")

    links = tuple(links_of(lab, device))
    return Effect(target, links, (), lambda: change("add", "on"), end, "sessions stay up, so nothing is switched over")


def _sessions_down(lab: Running, target: FaultTarget, device: str) -> Effect:
    bgp = lab.plan.configs[device].bgp
    groups = bgp.groups if bgp else ()
    names = [
        session.peer_address or session.interface
        for group in groups
        for session in group.sessions
        if session.link in target.links
    ]
    overlay = lab.plan.configs[device].overlay
    if overlay is not None and target.fault.kind == "bgp-down":
        names += [session.peer_address for session in overlay.neighbors]
    asn = bgp.asn if bgp else 0

    def change(word: str) -> None:
        with lab.vty(device, "bgpd") as vty:
            vty.configure([f"router bgp {asn}", *(f"{word}neighbor {name} shutdown" for name in names)])

    return Effect(target, target.links, target.links, lambda: change(""), lambda: change("no "))


def _daemon_killed(lab: Running, target: FaultTarget, device: str, daemon: str) -> Effect:
    there = routers.daemons_of(lab.frr, lab.plan.configs[device])
    if daemon not in there:
        raise LabError(f"{device} runs no {daemon!r}: its daemons are {', '.join(there)}")

    def begin() -> None:
        pid = routers.daemon_pid(lab.place, device, daemon)
        if pid is not None:
            processes.end([pid])

    def end() -> None:
        if routers.daemon_pid(lab.place, device, daemon) is None:
            routers.restart(lab.place, lab.frr, lab.plan.configs[device], daemon)
            tunnels.wait(lab, lab.plan.configs[device])

    bgp = lab.plan.configs[device].bgp
    links = tuple(links_of(lab, device))
    if daemon == "bgpd" and bgp and bgp.graceful_restart:
        return Effect(target, links, (), begin, end, "its neighbors hold its routes, and its kernel theirs (RFC 4724)")
    return Effect(target, links, (device,) if daemon == "bgpd" else None, begin, end)


def _reboot(lab: Running, target: FaultTarget, device: str) -> Effect:
    config = lab.plan.configs[device]
    links = tuple(links_of(lab, device))

    def begin() -> None:
        _set_ports(lab, device, "down")
        pids = [routers.daemon_pid(lab.place, device, daemon) for daemon in lab.frr.daemons]
        processes.end([pid for pid in pids if pid is not None])
        for space in spaces_of(config):
            for family in ("-4", "-6"):  # a kernel that boots knows no routes; this one would keep BGP's
                ip([family, "route", "flush", "proto", "bgp"], inside=namespace(lab.place.lab, space))

    def end() -> None:
        if routers.daemon_pid(lab.place, device, lab.frr.daemons[0]) is None:
            routers.start(lab.place, lab.frr, [config], lambda _: None)
        _set_ports(lab, device, "up")
        tunnels.wait(lab, config)
        routers.solicit(lab.place, [config])

    return Effect(target, links, (device,), begin, end)


def _set_ports(lab: Running, device: str, state: str) -> None:
    """Set the ports of a switch to ``state``, up or down, at the switch's end of the links."""
    for space in spaces_of(lab.plan.configs[device]):
        names = [name for name in lab.interfaces(space).values() if lab.plan.link(device, name)]
        ip_batch((f"link set {name} {state}" for name in names), inside=namespace(lab.place.lab, space))


def _advertisements_stopped(lab: Running, target: FaultTarget, device: str, port: str) -> Effect:
    network = lab.plan.network
    link = next(
        cable.name
        for cable in network.cables_of(device)
        if any(end.device == device and end.port == port for end in (cable.a, cable.b))
    )
    timers = lab.plan.overlay
    note = f"addresses expire {timers.ra_valid_lifetime_s} s after the last advertisement" if timers else ""
    return Effect(
        target,
        (link,),
        (),
        lambda: shaping.without_advertisements(lab, device, link),
        lambda: shaping.clear(lab, [link]),
        note,
    )
