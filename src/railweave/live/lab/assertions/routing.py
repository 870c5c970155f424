"""Assertions about IS-IS adjacencies, forwarding tables and the prefixes that leaves advertise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from railweave.analysis.routing.attributes import DEFAULT_LOCAL_PREFERENCE
from railweave.counting import counted
from railweave.live.lab import fib as tables
from railweave.live.lab.assertions import Observation
from railweave.live.lab.frr.routers import not_started

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.analysis.routing.table import Routes
    from railweave.live.lab.running import Running
    from railweave.model.device.model import Bgp, DeviceConfig, Session
    from railweave.model.network.devices import Segment
    from railweave.model.network.model import Network

_ABSENT_AIGP = 1 << 62


def _sessions(lab: Running) -> Iterator[tuple[DeviceConfig, Bgp, list[Session]]]:
    for config in lab.plan.configs.values():
        if config.bgp is not None:
            yield config, config.bgp, [session for group in config.bgp.groups for session in group.sessions]


def _neighbor(session: Session) -> str:
    """Return the name by which FRR identifies the neighbor of a session."""
    return session.peer_address or session.interface


def isis_adjacencies(lab: Running, routes: Routes) -> Observation:  # noqa: ARG001
    """Check that every link with IS-IS has an adjacency that is up.

    The neighbor is not checked here, because isisd reports the same name for all routers of a lab. The check of
    forwarding tables detects a wrong neighbor.
    """
    failures: list[str] = []
    checked = 0
    for config in lab.plan.configs.values():
        if config.isis is None:
            continue
        if why := not_started(lab.frr, config, "isisd"):
            checked += len(config.isis.ports)
            failures.append(why)
            continue
        with lab.vty(config.name, "isisd") as vty:
            areas: list[dict[str, Any]] = vty.json("show isis neighbor").get("areas", [])
        seen = {
            str(circuit.get("interface")): circuit.get("state")
            for area in areas
            for circuit in area.get("circuits", [])
        }
        for port in config.isis.ports:
            checked += 1
            state = seen.get(port.interface, "absent")
            if state != "Up":
                failures.append(f"{config.name} {port.interface} to {port.peer}: {state}")
    return Observation(checked, f"{counted(checked, 'end')} of adjacencies up", failures)


def fib(lab: Running, routes: Routes) -> Observation:
    """Compare the next-hop groups of every kernel, and the backup paths in BGP's tables, with ``routes``."""
    kernel_tables = tables.read(lab, routes)
    failures = [str(difference) for difference in tables.differences(routes, kernel_tables)]
    backups, wrong = _backups(lab, routes)
    entries = len(routes.fibs) * len(routes.prefixes)
    return Observation(
        entries,
        f"{counted(entries, 'entry', 'entries')} of {counted(len(routes.fibs), 'router')}, "
        f"{counted(len(kernel_tables.routes.groups), 'next-hop group')}, {counted(backups, 'backup')} equal",
        [*failures, *wrong],
    )


def _backups(lab: Running, routes: Routes) -> tuple[int, list[str]]:
    """Return the number of backup paths that were compared with ``routes``, and a sentence for each that differs.

    A backup path is the path that BGP would choose next. It is computed from the attributes of the paths in BGP's table.
    """
    checked, failures = 0, list[str]()
    for config, bgp, sessions in _sessions(lab):
        fib = routes.fibs.get(config.name)
        if fib is None:
            continue
        links = {_neighbor(session): session.link for session in sessions}
        with lab.vty(config.name, "bgpd") as vty:
            known: dict[str, Any] = {}
            for family in bgp.families:
                known |= vty.json(f"show bgp {family} unicast detail").get("routes", {})
        for prefix in routes.prefixes:
            if routes.is_local(config.name, prefix) or prefix in lab.plan.tenant_prefixes:
                continue
            checked += 1
            have = _second_best(known.get(prefix, []), links)
            want = set(routes.backup(config.name, prefix))
            if have != want and len(want) < bgp.maximum_ecmp:
                names = " + ".join(sorted(have)) or "nothing", " + ".join(sorted(want)) or "nothing"
                failures.append(f"{config.name} has as backup of {prefix} {names[0]}, and should have {names[1]}")
    return checked, failures


def _second_best(paths: object, links: dict[str, str]) -> set[str]:
    listed = cast("list[dict[str, Any]]", paths)
    by_key: dict[tuple[int, int, int], set[str]] = {}
    for path in listed:
        peer = path.get("peer", {})
        link = links.get(peer.get("interface", "")) or links.get(peer.get("peerId", ""))
        if not path.get("valid") or link is None:
            continue
        preference = -int(path.get("locPrf", DEFAULT_LOCAL_PREFERENCE))
        aigp = int(path.get("aigpMetric", _ABSENT_AIGP))
        by_key.setdefault((preference, aigp, int(path["aspath"]["length"])), set()).add(link)
    ranked = sorted(by_key)
    return by_key[ranked[1]] if len(ranked) > 1 else set()


def path_colors(lab: Running, routes: Routes) -> Observation:
    """Check that devices forward prefixes of a path color on all their links of that color towards the prefix, and on no others.

    The expected links come from the design. ``routes`` only gives the devices and prefixes to check, and the links that are down. So the
    check also detects mistakes in the configurations, from which ``routes`` is computed. Links that are down or drained do not count. A
    device without any other link of the color towards the prefix is not checked.
    """
    network = lab.plan.network
    owner = {
        s.prefix: (segment.leaf, segment.fabric, s.color) for segment in _with_servers(network) for s in segment.subnets
    }
    above = _above(network)
    leaves = {switch.name for switch in network.switches if switch.role == "leaf"}
    kernel_routes = tables.read(lab, routes).routes
    colors = {fabric.name: fabric for fabric in network.fabrics}
    checked, failures = 0, list[str]()
    for device, fib in kernel_routes.fibs.items():
        cables = [cable for cable in network.cables_of(device) if cable.kind == "fabric"]
        role = lab.plan.configs[device].role
        for prefix, group in zip(kernel_routes.prefixes, cast("list[int]", fib.group.tolist()), strict=True):
            leaf, fabric, color = owner.get(prefix, ("", "", None))
            towards = [cable for cable in cables if role == "leaf" or leaf in {cable.a.device, cable.b.device}]
            off = routes.down | network.drained_cables
            mine = [uplink for uplink in towards if uplink.color == color and uplink.name not in off]
            if color is not None and role == "leaf" and leaf in leaves and _alike(network, device, leaf):
                # Where a link of the color at the other leaf is not in the lab, its spine leads nowhere.
                there = above.get((leaf, color), set())
                mine = [uplink for uplink in mine if uplink.b.device in there]
            want = {uplink.name for uplink in mine}
            if (
                color is None
                or leaf == device
                or not want
                or fabric != cables[0].fabric
                or _apart(network, leaf, device)
            ):
                continue
            checked += 1
            have: set[str] = set(kernel_routes.groups[group]) if group >= 0 else set()
            if have != want:
                name = colors[fabric].color_name(color)
                failures.append(
                    f"{device} sends {prefix}, which is {name}, to {' + '.join(sorted(have)) or 'nowhere'}: its {name} "
                    f"links are {' + '.join(sorted(want))}"
                )
    return Observation(
        checked, f"{counted(checked, 'prefix', 'prefixes')} on devices leave by links of their color", failures
    )


def _with_servers(network: Network) -> list[Segment]:
    """Return the segments (subnets behind a gateway) that have a server or an edge port.

    The gateway of any other segment is down, and no leaf advertises its prefix.
    """
    live = {network.segment_of(server.name, nic).key for server in network.servers for nic in server.nics}
    return [segment for segment in network.segments if segment.key in live or segment.edge]


def _above(network: Network) -> dict[tuple[str, int], set[str]]:
    """Return, for each leaf and color, the spines to which the leaf has links of the color that are not drained."""
    spines: dict[tuple[str, int], set[str]] = {}
    for cable in network.cables:
        if cable.kind == "fabric" and cable.color is not None and cable.name not in network.drained_cables:
            spines.setdefault((cable.a.device, cable.color), set()).add(cable.b.device)
    return spines


def _alike(network: Network, leaf: str, other: str) -> bool:
    """Return True if ``leaf`` and ``other`` have the same fabric, site, pod and plane, and therefore the same spines."""
    near, far = network.switch(leaf), network.switch(other)
    return (near.fabric, near.site, near.pod, near.plane) == (far.fabric, far.site, far.pod, far.plane)


def _apart(network: Network, leaf: str, device: str) -> bool:
    """Return True if a leaf is in a plane, and a device is outside this plane."""
    plane = network.switch(leaf).plane if leaf else ""
    return bool(plane) and plane != network.switch(device).plane


def leaf_transit(lab: Running, routes: Routes) -> Observation:
    """Check that each leaf advertises all its own prefixes on each session, and no other prefix."""
    own_prefixes = {
        name: set[str](config.overlay.prefixes()) if config.overlay else set[str]()
        for name, config in lab.plan.configs.items()
    }
    for segment in _with_servers(lab.plan.network):
        if not segment.tenant:
            own_prefixes[segment.leaf].update(subnet.prefix for subnet in segment.subnets)
    checked, sent, failures = 0, 0, list[str]()
    for config, bgp, sessions in _sessions(lab):
        if config.role != "leaf":
            continue
        with lab.vty(config.name, "bgpd") as vty:
            for session in sessions:
                if routes.down & {session.link, session.peer, config.name}:
                    continue
                checked += 1
                given: set[str] = set()
                for family in bgp.families:
                    words = f"show bgp {family} unicast neighbors {_neighbor(session)} advertised-routes"
                    given |= set(vty.json(words).get("advertisedRoutes", {}))
                sent += len(given)
                where = f"{config.name} {session.interface} to {session.peer}"
                if more := sorted(given - own_prefixes[config.name]):
                    failures.append(
                        f"{where}: advertises {counted(len(more), 'foreign prefix', 'foreign prefixes')}: {more[0]}"
                    )
                if less := sorted(own_prefixes[config.name] - given):
                    failures.append(f"{where}: does not advertise {', '.join(less[:4])}")
    return Observation(
        checked, f"{counted(checked, 'session')} carry {counted(sent, 'own prefix', 'own prefixes')}", failures
    )
