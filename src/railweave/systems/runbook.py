"""Checks of a runbook that several operating systems have in common, each in its own commands, and the tables of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.model.device.expected import PAM4_GBPS, Route, Session, Tenant

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Sized

    from railweave.model.device.model import Bgp, DeviceConfig, QosConfig
    from railweave.model.network.model import Network


@dataclass(frozen=True, slots=True)
class Check:
    """One check: the ``commands`` to type, and what they must show, as points and as a table."""

    title: str
    commands: tuple[str, ...]
    points: tuple[str, ...]
    header: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()


def modules_check(network: Network, config: DeviceConfig, title: str, commands: tuple[str, ...], fec: str) -> Check:
    """Return the check of all modules and of error correction; ``fec`` is how the system names RS(544,514)."""
    ports = [one for one in config.interfaces if not one.outside]
    places: dict[str, set[tuple[str, int | str]]] = {}
    links: Counter[str] = Counter()
    for port in ports:
        cable = network.cable(port.link)
        here = cable.a if cable.a.device == config.name else cable.b
        places.setdefault(here.optic, set()).add(here.module)
        links[here.optic] += 1
    rows = tuple(
        (
            name,
            len(found),
            links[name],
            one.description if (one := catalog().optics.get(name)) else "not in the catalog",
        )
        for name, found in places.items()
    )
    points = ["the modules and cable assemblies below, as many as below"]
    optical = sum(count for name, count in links.items() if (one := catalog().optics.get(name)) and one.kind == "optic")
    if optical:
        points.append(
            f"light on {counted(optical, 'optical link')}: no alarm and no warning, high or low, sent or received"
        )
    if any(port.speed_gbps in PAM4_GBPS for port in ports):
        points.append(
            f"error correction is RS(544,514) of IEEE 802.3 clause 119 on ports of 200G and more{fec}, the same at both ends"
        )
        points.append(
            "where the bit error rate before correction is shown: below 2.4e-4, the most that the code corrects"
        )
    points.append(
        "uncorrected errors and CRC errors 0 on every port, and still 0 an hour later; corrected ones are normal"
    )
    return Check(title, commands, tuple(points), ("Module", "Modules", "Links", "What it is"), rows)


class IsisWords(NamedTuple):
    """Show commands of adjacencies and of BFD, the loopback's name, and an interface's name made of its {port}."""

    commands: tuple[str, ...]
    bfd: str
    loopback: str
    interface: str = "{port}"


def isis_checks(config: DeviceConfig, words: IsisWords) -> list[Check]:
    """Return the checks of adjacencies, and of BFD if it runs; none without IS-IS."""
    found = config.isis
    if found is None:
        return []
    rows = tuple((words.interface.format(port=port.interface), port.peer, port.metric) for port in found.ports)
    points = (
        f"{counted(len(rows), 'adjacency', 'adjacencies')}, level 2, all up",
        f"network entity title {found.net}; {counted(len(found.passive), 'server port')} and {words.loopback} passive",
    )
    made = [Check("IS-IS adjacencies", words.commands, points, ("Interface", "Neighbor", "Metric"), rows)]
    if found.bfd:
        timers = f"{found.bfd.minimum_interval} ms x {found.bfd.multiplier}, down after {found.bfd.detection_ms():,} ms"
        made.append(Check("BFD", (words.bfd,), (f"{counted(len(rows), 'session')} up", timers)))
    return made


SESSION_HEADER = ("Group", "Neighbor", "Switch", "AS", "Prefixes received", "Prefixes sent", "Of the received, used")


def session_rows(found: Iterable[Session], discovered: str = "{port}") -> tuple[tuple[object, ...], ...]:
    """Return the rows below ``SESSION_HEADER``; ``discovered`` names a neighbor without an address by its {port}."""
    return tuple(
        (
            one.group.name,
            one.session.peer_address or discovered.format(port=one.session.interface),
            one.session.peer,
            one.session.peer_as,
            one.received,
            one.sent,
            one.used,
        )
        for one in found
    )


def of_both_families(bgp: Bgp) -> tuple[str, ...]:
    """Return the point for sessions that carry two families, of which each summary shows one; else nothing."""
    if len(bgp.families) < 2:
        return ()
    return ("the counts below are of both families together: add those of the two summaries",)


def with_bfd(config: DeviceConfig, found: Sized) -> int:
    """Return the number of sessions that BFD watches: those on links, and those of the overlay if it has BFD."""
    overlay = config.overlay
    return len(found) + (len(overlay.neighbors) if overlay and overlay.bfd else 0)


def other_timers(config: DeviceConfig) -> str:
    """Return what follows the timers of sessions on links if sessions of the overlay have BFD too."""
    return "; those of the overlay have timers of their own" if config.overlay and config.overlay.bfd else ""


def by_family(examples: Iterable[Route]) -> list[Route]:
    """Return the first route of each address family: a command shows one prefix, and its words name the family."""
    found: dict[str, Route] = {}
    for one in examples:
        found.setdefault(one.prefix.family, one)
    return list(found.values())


def first_of_each(examples: Iterable[Route]) -> tuple[str, ...]:
    """Return ``show ip route`` and ``show ipv6 route`` commands, for the first route of each address family."""
    return tuple(
        f"show {'ipv6' if one.prefix.family == 'ipv6' else 'ip'} route {one.prefix}" for one in by_family(examples)
    )


CLASS_HEADER = ("Class", "Traffic class and queue", "DSCP", "Loss", "Scheduling", "ECN marking")


def class_rows(qos: QosConfig) -> tuple[tuple[object, ...], ...]:
    """Return the rows below ``CLASS_HEADER``, by queue: for systems whose ECN thresholds are bytes."""
    return tuple(
        (
            name,
            one.queue,
            ", ".join(map(str, one.dscp)) or "–",
            f"no-drop, PFC priority {one.pfc_priority}" if one.lossless else "lossy",
            "strict"
            if one.priority == "strict-high"
            else (f"weight {one.transmit_percent}" if one.transmit_percent else "–"),
            f"{found.first:,} to {found.last:,} B, up to {found.probability} %"
            if (found := qos.marking.get(name))
            else "–",
        )
        for name, one in sorted(qos.classes.items(), key=lambda item: item[1].queue)
    )


def overlay_session_checks(config: DeviceConfig, command: str) -> list[Check]:
    """Return the check of the overlay's sessions; none without an overlay."""
    overlay = config.overlay
    if overlay is None:
        return []
    points = [f"{counted(len(overlay.neighbors), 'session')} of the group overlay established, from {overlay.loopback}"]
    if overlay.bfd:
        timers = f"{overlay.bfd.minimum_interval} ms x {overlay.bfd.multiplier}"
        points.append(f"BFD up on each, {timers}, down after {overlay.bfd.detection_ms():,} ms")
    if overlay.endpoints:
        ends = ", ".join(one.address for one in overlay.endpoints)
        points.append(f"tunnels end on {ends}")
    rows = tuple((one.peer_address, one.peer, one.peer_as) for one in overlay.neighbors)
    return [Check("Overlay sessions", (command,), tuple(points), ("Neighbor", "Switch", "AS"), rows)]


_TENANT_HEADER = ("VRF", "VNI", "Route distinguisher", "Route targets", "Own prefixes", "Prefixes of other leaves")


def tenants_check(
    network: Network,
    config: DeviceConfig,
    expected: Sequence[Tenant],
    commands: tuple[str, ...],
    *,
    points: tuple[str, ...] = (),
    names: Mapping[str, str] | None = None,
) -> Check:
    """Return the check of tenants' VRFs: a system's own ``points``, then those of all; ``names`` is what the system calls VRFs."""
    rows = tuple(
        (
            (names or {}).get(one.vrf, one.vrf),
            one.vni,
            one.route_distinguisher,
            ", ".join(dict.fromkeys((*one.import_targets, *one.export_targets))),
            len(one.own_prefixes),
            len(one.learned),
        )
        for one in expected
    )
    return Check("Tenants", commands, (*points, *_tenant_points(network, config)), _TENANT_HEADER, rows)


def prefixes_from_outside(config: DeviceConfig) -> str:
    """Return what tables of VRFs hold besides prefixes of servers and loopbacks, as words; empty if no VRF has a router outside."""
    outside = any(vrf.external for vrf in config.vrfs)
    return "the prefixes of links to routers outside, and what those announce, as a default route" if outside else ""


def _tenant_points(network: Network, config: DeviceConfig) -> tuple[str, ...]:
    fabric = network.fabric(network.switch(config.name).fabric)
    own = "the VRF's gateways" + (" and loopbacks" if any(vrf.loopbacks for vrf in config.vrfs) else "")
    leaks = [f"{one.name} takes in those of {', '.join(one.leaks)}" for one in fabric.tenants if one.leaks]
    told = f", or of one that its tenant takes in by `leaks` ({'; '.join(leaks)})," if leaks else ""
    besides = prefixes_from_outside(config)
    return (
        f"own prefixes are those of {own}; the others come as EVPN type-5 routes with its route target",
        *((f"besides them VRFs with a router outside hold {besides}",) if besides else ()),
        f"a prefix in a VRF that is not its tenant's{told} is a leak: stop, and compare route targets",
    )


def external_session_checks(config: DeviceConfig, command: str, names: Mapping[str, str] | None = None) -> list[Check]:
    """Return the check of VRFs' sessions with routers outside, if any; ``command`` shows those of one {vrf} and one address {family}."""
    called = names or {}
    peers = [(vrf, one) for vrf in config.vrfs for one in vrf.external]
    if not peers:
        return []
    asked = {
        command.format(vrf=called.get(vrf.name, vrf.name), family=one.session.local_address.family): None
        for vrf, one in peers
    }
    rows = tuple(
        (
            called.get(vrf.name, vrf.name),
            one.session.peer_address,
            one.router,
            one.session.peer_as,
            ", ".join(one.accept),
        )
        for vrf, one in peers
    )
    header = ("VRF", "Neighbor", "Router", "AS", "Prefixes taken in")
    points = (f"{counted(len(peers), 'session')} established, once the routers outside are set up",)
    return [Check("External sessions", tuple(asked), points, header, rows)]
