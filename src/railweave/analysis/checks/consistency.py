"""Rules about values that must agree between devices and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.analysis.routing.isis import adjacencies
from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.model.findings.registry import FindingPlace, Rule, check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.analysis.checks.subject import Subject
    from railweave.model.config.addresses import Prefix
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Finding
    from railweave.model.network.model import Network


@check(
    "duplicate-address",
    "error",
    applies="network",
    why="two devices have the same address, so neither can be reached reliably",
    fix="change the override, or the MAC address from which the IP address is derived",
)
def duplicate_address(subject: Subject) -> Iterator[FindingPlace]:
    """No address is assigned twice."""
    network = subject.network
    owners: dict[str, str] = {}
    given = [
        (f"network {segment.network} of {segment.fabric}" if segment.network else segment.leaf, subnet.gateway)
        for segment in network.segments
        for subnet in segment.subnets
    ]
    given += [
        (f"{server.name}:{nic.name}", address.address)
        for server in network.servers
        for nic in server.nics
        for address in nic.addresses
    ]
    given += [(end.device, end.address) for cable in network.cables for end in (cable.a, cable.b) if end.address]
    for owner, address in given:
        other = owners.setdefault(address, owner)
        if other != owner:
            yield FindingPlace(owner, f"address {address} is also on {other}")


@check(
    "mtu-mismatch",
    "error",
    applies="network",
    why="one end sends packets that are too large for the other end, which drops them",
    fix="set the same fabric MTU for both roles",
)
def mtu_mismatch(subject: Subject) -> Iterator[FindingPlace]:
    """Both ends of a leaf-spine link have the same MTU."""
    ends: dict[str, tuple[str, int]] = {}
    for config in subject.configs.values():
        for port in config.fabric_interfaces():
            other, mtu = ends.setdefault(port.link, (config.name, port.mtu))
            if mtu != port.mtu:
                yield FindingPlace(port.link, f"MTU {port.mtu} on {config.name}, {mtu} on {other}")


@check(
    "qos-mismatch",
    "error",
    applies="network",
    why="one switch protects these packets from loss, and the next switch drops them",
    fix="set the same `dscp` and `pfc_priority` in every role",
)
def qos_mismatch(subject: Subject) -> Iterator[FindingPlace]:
    """Traffic that is lossless on one switch is lossless on its neighbors: same DSCP, same PFC priority on the wire.

    Queue numbers are local and may differ.
    """
    shapes: dict[str, dict[frozenset[tuple[int, int | None]], str]] = {}
    for config in subject.configs.values():
        if config.qos is not None:
            lossless = frozenset(
                (d, traffic_class.pfc_priority)
                for traffic_class in config.qos.classes.values()
                if traffic_class.lossless
                for d in traffic_class.dscp
            )
            fabric = subject.network.switch(config.name).fabric
            if not lossless and _pauses_nowhere(subject.network, config.name):
                continue
            shapes.setdefault(fabric, {}).setdefault(lossless, config.name)
    for fabric, names_by_shape in shapes.items():
        if len(names_by_shape) > 1:
            shown = "; ".join(
                f"{name}: {', '.join(f'DSCP {d} on priority {p}' for d, p in sorted(shape, key=str)) or 'none'}"
                for shape, name in names_by_shape.items()
            )
            yield FindingPlace(fabric, f"lossless traffic differs between switches ({shown})")


ADJACENCY_DOWN = Rule(
    id="adjacency-down",
    severity="error",
    applies="network",
    holds="If one end of a link runs IS-IS, the other end runs IS-IS too, with an address of the same subnet.",
    why="no route uses the link, because the other end does not run IS-IS on it, or has an address of a different "
    "subnet",
    fix="compare the configuration of both ends of the link",
)


def _pauses_nowhere(network: Network, device: str) -> bool:
    """Return True if the design has PFC off on all ports of a switch.

    This is the case for a switch without servers, if PFC is on only for server ports.
    """
    switch = network.switch(device)
    wanted = network.fabric(switch.fabric).intent(switch).qos.pfc
    return switch.role != "leaf" and not wanted.pauses("fabric")


def _adjacency_down(subject: Subject) -> Iterator[Finding]:
    """Yield a finding for each IS-IS port whose adjacency does not come up, or whose ends are in different subnets."""
    up = adjacencies(subject.configs, frozenset())
    for config in subject.configs.values():
        there = {adjacency.link for adjacency in up.get(config.name, ())}
        for port in config.isis.ports if config.isis else ():
            here, others = _networks(config, port.link), _networks(subject.configs.get(port.peer), port.link)
            if port.link not in there or here != others:
                yield ADJACENCY_DOWN.finding(
                    config.name, f"IS-IS on {port.interface} towards {port.peer} cannot come up"
                )


def _networks(config: DeviceConfig | None, link: str) -> list[Prefix]:
    """Return the prefixes of a device's port on the given link.

    Return [] if the device or the port does not exist.
    """
    ports = config.interfaces if config else ()
    return [address.prefix for port in ports if port.link == link for address in port.addresses]


@check(
    "session-down",
    "error",
    applies="network",
    why="no routes are exchanged over the link, because one end has no session on it or expects a different AS number",
    fix="compare the AS numbers and AS lists of both ends",
)
def session_down(subject: Subject) -> Iterator[FindingPlace | Finding]:
    """Every leaf-spine link has a BGP session that both ends accept, or an adjacency of IS-IS."""
    yield from _adjacency_down(subject)
    routes, absent = subject.routes, subject.network.absent
    for config in subject.configs.values():
        for group in config.bgp.groups if config.bgp else ():
            for session in group.sessions:
                if session.link not in absent and (config.name, session.link) not in routes.received:
                    yield FindingPlace(
                        config.name, f"the session to {session.peer} on {session.interface} cannot come up"
                    )


LOGINS_BY_HAND = (
    "run `passwd admin` on each of these switches; make users with useradd, or by `railweave deploy ztp`, which makes "
    "those of `management` and leaves admin as it is"
)
"""The remedy of ``no-login`` on a system whose configuration cannot contain users."""
USERS_ONLY = "set `management: {users: {NAME: {password: secret:NAME-hash}}}`"
"""The remedy of ``no-login`` if no operating system of the network has a root password."""


@check(
    "no-login",
    "warning",
    applies="network",
    why="without users, a system has no account, so that no one can log in, or only an account whose password is "
    "public, so that anyone can",
    fix="set `management: {root_password: secret:root-hash, users: …}`",
)
def no_login(subject: Subject) -> Iterator[FindingPlace]:
    """Switches have a user, and a root password if their system needs one."""
    systems = [catalog().systems[nos] for nos in dict.fromkeys(config.nos for config in subject.configs.values())]
    apart = [system for system in systems if system.login and "management.users" in system.reads.unsaid]
    for system in apart:  # whether or not the file has users: the rendered configuration cannot contain them
        whose = [config.name for config in subject.configs.values() if catalog().systems[config.nos] is system]
        yield FindingPlace(
            subject.network.name,
            f"the configurations of {counted(len(whose), 'switch', 'switches')} ({whose[0]}{', …' if whose[1:] else ''}) contain no logins",
            why=system.login.without_user if system.login else None,
            fix=LOGINS_BY_HAND,
        )
    logins = [system.login for system in systems if system.login is not None and system not in apart]
    management = subject.network.management
    root = [login.without_root for login in logins if login.without_root]
    if root and not management.root_password:
        yield FindingPlace(subject.network.name, "the switches have no root password", why="; ".join(root))
    if logins and not management.users:
        why = "; ".join(dict.fromkeys(login.without_user for login in logins))
        fix = None if root else USERS_ONLY
        yield FindingPlace(subject.network.name, "the switches have no user", why=why, fix=fix)


@check(
    "no-ntp",
    "info",
    applies="network",
    why="the clocks of switches drift apart: their logs and telemetry cannot be put in order, and valid "
    "certificates may be rejected",
    fix="set `management: {ntp: [ADDRESS]}`",
)
def no_ntp(subject: Subject) -> Iterator[FindingPlace]:
    """Switches have an NTP server if their configuration includes management settings."""
    managed = any(catalog().systems[config.nos].management for config in subject.configs.values())
    if managed and not subject.network.management.ntp:
        yield FindingPlace(subject.network.name, "the switches have no NTP server")
