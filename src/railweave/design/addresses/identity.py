"""Allocation of AS numbers, router IDs and management addresses to switches."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, NamedTuple

from railweave.design.limits.platform import own_marking
from railweave.model.findings.registry import Rule
from railweave.model.intent.base import expand
from railweave.model.network.devices import PortQos, RoleName, Server, Switch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.design.context import Context
    from railweave.design.shape.topology import Layout
    from railweave.model.intent.addresses import AddressLists
    from railweave.model.intent.reading.document import Location

MANAGEMENT_ADDRESS_TAKEN = Rule(
    id="management-address-taken",
    severity="error",
    applies="design",
    fault="a switch has the same management address as the gateway, a management server or a server's NIC",
    why="two devices have the same address, so neither can be reached reliably",
    fix="give the switch a different address with `overrides.devices.NAME.management_address`, or change "
    "`management.pool`",
)

FIRST_MANAGEMENT_HOST = 10
"""The first host number of the management pool that a switch can get. Lower numbers are for the gateway and for servers (NTP, DNS)."""


class _Entry(NamedTuple):
    """A switch before its AS number and addresses are allocated. ``number`` is its number in its role, from 1."""

    role: RoleName
    name: str
    number: int
    pod: str
    plane: str
    stripe: str = ""
    rails: tuple[int, ...] = ()


def switches(context: Context, layout: Layout) -> list[Switch]:
    """Return the switches of a fabric, leaves first, with their AS numbers, router IDs and management addresses.

    Records a problem for each pool that is too small. Raises ``DesignError`` if there is any problem.
    """
    spec, name = layout.spec, layout.name
    management = context.source.spec.management
    site = spec.site or next(iter(context.source.spec.sites))
    entries = [
        _Entry("leaf", leaf.name, leaf.number, leaf.pod, leaf.plane, leaf.stripe, leaf.rails) for leaf in layout.leaves
    ]
    entries += [_Entry("spine", spine.name, spine.number, spine.pod, spine.plane) for spine in layout.spines]
    entries += [
        _Entry("super-spine", super_spine.name, super_spine.number, "", super_spine.plane)
        for super_spine in layout.super_spines
    ]
    entries += [_Entry("dci", border.name, border.number, border.site, "") for border in layout.dci]
    names = [entry.name for entry in entries]
    router_ids = context.lock.allot("router-ids", names, shared=True)
    addresses = context.lock.allot("management", names, shared=True)
    pool = ipaddress.ip_network(management.pool)
    gateway = management.gateway or str(pool.network_address + 1)
    _check_management(context, pool)
    lists, own_pool = spec.pools.router_ids, ipaddress.ip_network(spec.pools.router_id)
    by_list = {
        entry.name: listed(context, layout, ("pools", "router_ids"), lists, entry.role, entry.number, entry.name)
        for entry in entries
    }
    base = int(own_pool.network_address)
    owners = {int(ipaddress.ip_address(listed_id)) - base: name for name, listed_id in by_list.items() if listed_id}
    result: list[Switch] = []
    pools = {"leaf": spec.pools.leaf_asn, "spine": spec.pools.spine_asn, "super-spine": spec.pools.super_spine_asn}
    pools["dci"] = spec.pools.dci_asn
    for role, device, number, pod, plane, stripe, rails in entries:
        _, override = context.source.spec.overrides.of_device(device)
        intent = layout.equipment[device].role
        first, last = pools[role]
        asn = override.asn if override and override.asn else first + number - 1
        if asn > last and not (override and override.asn):
            most = max(entry.number for entry in entries if entry.role == role)
            context.problem(
                ("fabrics", name, "pools", f"{role.replace('-', '_')}_asn"),
                f"pool too small: AS numbers {first}-{last} have no number for {role} number {most}",
                _room_for(most, first, [pool for other, pool in pools.items() if other != role]),
            )
            context.check()
        address = _host(context, pool, FIRST_MANAGEMENT_HOST + addresses[device] - 1, ("management", "pool"), device)
        router_id = by_list[device] or _host(
            context,
            own_pool,
            _beside_lists(router_ids, owners, device),
            ("fabrics", name, "pools", "router_id"),
            device,
        )
        result.append(
            Switch(
                name=device,
                fabric=name,
                site=pod if spec.topology.interconnect else site,
                role=role,
                stripe=stripe,
                number=number,
                rails=rails,
                model=intent.device,
                nos=intent.nos,
                release=intent.release or context.catalog.release_of(intent.nos, intent.device),
                asn=asn,
                router_id=override.router_id if override and override.router_id else router_id,
                management_address=f"{override.management_address if override and override.management_address else address}/{pool.prefixlen}",
                management_gateway=gateway,
                serial=context.source.inventory.get(device).serial,
                pod=pod,
                plane=plane,
                buffers=override.buffers if override else None,
                extra=tuple(override.extra.items()) if override else (),
                port_qos=tuple(
                    PortQos(port, port_intent.pfc, port_intent.qos) for port, port_intent in override.ports.items()
                )
                if override
                else (),
                marking=own_marking(intent.qos or spec.qos, layout.roles[role].role.device, intent.device),
            )
        )
    context.check()
    return result


def _room_for(number: int, first: int, others: Sequence[tuple[int, int]]) -> str:
    """Return advice to resize a pool to ``number`` AS numbers: widen the pool, or move it if it would overlap another pool.

    ``first`` is the start of the pool, and ``others`` are the other pools as (first, last).
    """
    last = first + number - 1
    if all(last < low or first > high for low, high in others):
        return f"widen it to at least {first}-{last}"
    start = max(high for _, high in others) + 1
    return (
        f"move it, for example to {start}-{start + number - 1}: a wider pool here would overlap another pool of AS "
        "numbers"
    )


def _beside_lists(slots: Mapping[str, int], owners: Mapping[int, str], device: str) -> int:
    """Return the host number, in the router-ID pool, of a switch that is not in a list of router IDs.

    The number is the switch's number in the lock (``slots``). If a list gives this number to a different switch, the result is
    the lock's number of that switch, and so on until no list uses the number. For example, if a list gives number 5 to leaf2, the switch
    with number 5 gets the number that the lock has for leaf2. So all other switches keep their router IDs. ``owners`` maps host numbers
    to the switches whose router ID comes from a list.
    """
    host = slots[device]
    while host in owners:
        host = slots[owners[host]]
    return host


def listed(
    context: Context,
    layout: Layout,
    part: tuple[str, str],
    lists: AddressLists,
    role: RoleName,
    number: int,
    device: str,
) -> str:
    """Return the address that a list in the fabric file gives to switch ``number`` of a role (from 1).

    Return "" if there is no list for the role. ``part`` is the key path of the lists in the fabric's section. ``device`` names the
    switch in messages. Raises ``DesignError`` if the list is too short, or if the address is not in its pool.
    """
    addresses, at = lists.of(role), ("fabrics", layout.name, *part, role.replace("-", "_"))
    if not addresses:
        return ""
    if number > len(addresses):
        context.problem(
            at,
            f"the list has {len(addresses)} addresses, and {device} is {role} number {number}",
            "add one address for each",
        )
        context.check()
    address = ipaddress.ip_address(addresses[number - 1])
    pool = ipaddress.ip_network(layout.spec.pools.router_id if part[0] == "pools" else _loopbacks(layout))
    if address not in pool:
        key = "router_id" if part[0] == "pools" else "loopbacks"
        context.problem(
            at, f"{address} of {device} is not in {key} {pool}", f"write a pool that contains all of them as `{key}:`"
        )
        context.check()
    return addresses[number - 1]


def _loopbacks(layout: Layout) -> str:
    overlay = layout.spec.evpn()
    return overlay.loopbacks if overlay else ""


def _check_management(context: Context, pool: ipaddress.IPv4Network | ipaddress.IPv6Network) -> None:
    """Record a problem for each management address in an override that is not in ``pool``, the management pool."""
    for device, override in context.source.spec.overrides.devices.items():
        address = override.management_address
        if address is not None and ipaddress.ip_address(address) not in pool:
            context.problem(
                ("overrides", "devices", device, "management_address"),
                f"management address {address} is not in {pool}",
                "choose one inside management.pool",
            )


def _host(
    context: Context,
    pool: ipaddress.IPv4Network | ipaddress.IPv6Network,
    host: int,
    location: tuple[str, ...],
    device: str,
) -> str:
    if host >= pool.num_addresses - 1:
        context.problem(
            location, f"pool too small: {pool} has no address for {device} (host {host})", "use a shorter prefix"
        )
        context.check()
    return str(pool.network_address + host)


def check_distinct(context: Context, all_switches: Sequence[Switch]) -> None:
    """Record a problem for each AS number, router ID or management address that two switches share.

    Also record a problem for overrides of unknown switches. AS numbers must be distinct only within a fabric. Switches of the top tier may
    share an AS number, because no path leads through two of them (RFC 7938, section 5.2.1). Then raise ``DesignError`` if there is any
    problem.
    """
    middle = {(switch.fabric, "spine") for switch in all_switches if switch.role == "super-spine"}
    by_name = {switch.name: switch for switch in all_switches}
    for attribute, label in (
        ("asn", "AS number"),
        ("router_id", "router id"),
        ("management_address", "management address"),
    ):
        owners: dict[object, str] = {}
        for switch in all_switches:
            value = getattr(switch, attribute)
            other = owners.setdefault((switch.fabric, value) if attribute == "asn" else value, switch.name)
            if other != switch.name and not (attribute == "asn" and _both_on_top(switch, by_name[other], middle)):
                context.problem(
                    _given_at(context, attribute, switch, other),
                    f"duplicate {label} {value}: {other} and {switch.name}",
                    "give each switch a different one",
                )
    names = {switch.name for switch in all_switches}
    for key in context.source.spec.overrides.devices:
        for device in expand(key):
            if device not in names:
                context.problem(
                    ("overrides", "devices", key),
                    f"there is no switch {device!r}",
                    "overrides.devices must have names of switches",
                )
    context.check()


def _given_at(context: Context, attribute: str, switch: Switch, other: str) -> Location:
    """Return the key path, in the fabric file, of the setting that gives two switches the same value.

    The setting is an override, a list of router IDs, or the pool. ``attribute`` is the field with the value, such as ``router_id``.
    ``other`` is the name of the second switch.
    """
    spec = context.source.spec
    place = next((n for n in (switch.name, other) if n in spec.overrides.devices), switch.name)
    lists = spec.fabrics[switch.fabric].pools.router_ids
    if attribute == "router_id" and place not in spec.overrides.devices and lists.of(switch.role):
        return ("fabrics", switch.fabric, "pools", "router_ids", switch.role.replace("-", "_"))
    if attribute == "router_id" and place not in spec.overrides.devices:
        return ("fabrics", switch.fabric, "pools", "router_id")
    return ("overrides", "devices", place, attribute)


def _both_on_top(switch: Switch, other: Switch, middle: set[tuple[str, str]]) -> bool:
    return (
        switch.role == other.role
        and switch.role in {"spine", "super-spine"}
        and (switch.fabric, switch.role) not in middle
    )


def check_management(context: Context, all_switches: Sequence[Switch], servers: Sequence[Server]) -> None:
    """Record a finding for each switch whose management address is already taken.

    It may be taken by a gateway, a management server, or a NIC of a server.
    """
    wanted = context.source.spec.management
    taken: dict[str, tuple[str, Location]] = {}
    named: list[tuple[str, str, str]] = [
        *((name_server, "a name server", "dns") for name_server in wanted.dns),
        *((ntp_server, "an NTP server", "ntp") for ntp_server in wanted.ntp),
        *((syslog_server.host, "a syslog server", "syslog") for syslog_server in wanted.syslog),
        *(
            (trap_target, "a target of SNMP traps", "snmp")
            for trap_target in (wanted.snmp.trap_targets if wanted.snmp else ())
        ),
    ]
    for address, holder, key in named:
        taken.setdefault(address, (holder, ("management", key)))
    by_address = {switch.management_address.partition("/")[0]: switch for switch in all_switches}
    for switch in all_switches[:1]:
        taken.setdefault(switch.management_gateway, ("the management gateway", ("management", "gateway")))
    for server in servers:
        for nic in server.nics:
            for nic_address in nic.addresses:
                if nic_address.address in by_address:
                    taken.setdefault(nic_address.address, (f"{server.name}:{nic.name}", ("servers",)))
    for address, (holder, at) in taken.items():
        if address in by_address:
            name = by_address[address].name
            override = context.source.spec.overrides.of_device(name)
            fixed = override[1] is not None and override[1].management_address is not None
            where: Location = ("overrides", "devices", override[0], "management_address") if fixed else at
            context.finding(
                MANAGEMENT_ADDRESS_TAKEN, name, where, f"management address {address} is also that of {holder}"
            )
