"""What models of a user's own must agree in, beside the form of each: with each other, and with what railweave knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from railweave.model.catalog.definitions import vendor_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.catalog.hardware import Hardware, NicGroup, ServerModel, SwitchModel
    from railweave.model.catalog.models import Catalog

Contradiction = tuple[tuple[str | int, ...], str, str]
"""Where it shows (section, name, and the place inside), what is wrong, and what would be right."""


def contradictions(own: Hardware, known: Catalog) -> Iterator[Contradiction]:
    """What cannot be in models of a user's own; ``known`` is the catalog with them in it."""
    for name, switch in own.switches.items():
        yield from _of_switch(("switches", name), switch, known)
        yield from _first_releases(("switches", name), switch)
    for name, nic in own.nics.items():
        if nic.vendor.lower() not in vendor_files():
            vendors = ", ".join(
                sorted({one.vendor for one in known.nics.values() if one.vendor.lower() in vendor_files()})
            )
            fix = f"vendors are {vendors}; docs/howto/add-a-nic-vendor.md says how to add one"
            yield ("nics", name, "vendor"), f"nothing is known of the vendor {nic.vendor!r}", fix
    for name, server in own.servers.items():
        for group, nics in server.nics.items():
            yield from _of_nics(("servers", name, "nics", group), nics, known)
            if nics.further_ports_of:
                yield from _of_further_ports(("servers", name, "nics", group, "further_ports_of"), server, group)


def _first_releases(at: tuple[str, str], model: SwitchModel) -> Iterator[Contradiction]:
    for nos in model.first_releases:
        if nos not in model.systems:
            what = f"the switch does not run {nos!r}, of which a first release is given"
            yield (*at, "first_releases", nos), what, f"it runs {', '.join(model.systems)}"


def _of_switch(at: tuple[str, str], model: SwitchModel, known: Catalog) -> Iterator[Contradiction]:
    if not model.systems:
        yield (*at, "systems"), "the switch runs no operating system", f"known: {', '.join(known.systems)}"
    for place, nos in enumerate(model.systems):
        if nos not in known.systems:
            fix = f"known: {', '.join(known.systems)}"
            yield (*at, "systems", place), f"there is no operating system {nos!r}", fix
    if not model.ports:
        yield (*at, "ports"), "the switch has no ports", "give at least one group of ports"
    taken: dict[int, int] = {}
    for place, group in enumerate(model.ports):
        if group.count < 1 or group.lanes < 1 or group.speed_gbps < 1 or group.first < 0:
            yield (*at, "ports", place), "count, lanes and speed of ports are at least 1, first at least 0", ""
            continue
        for mode_place, mode in enumerate(group.breakouts):
            inside = (*at, "ports", place, "breakouts", mode_place)
            if mode.channels < 1 or group.lanes % mode.channels:
                fix = f"its {group.lanes} lanes are shared equally by the channels"
                yield inside, f"a port cannot be split into {mode.channels}", fix
            elif mode.channels * mode.speed_gbps > group.speed_gbps:
                yield inside, f"{mode} is more than the {group.speed_gbps}G of the port", "give a lower speed"
        for port in range(group.first, group.last + 1):
            if port in taken:
                yield (
                    (*at, "ports", place),
                    f"port {port} is in two groups",
                    "ports of a model are told apart by number",
                )
                break
            taken[port] = place
    if model.sonic is not None and len(model.sonic.first_lanes) != sum(group.count for group in model.ports):
        yield (*at, "sonic", "first_lanes"), "there is not one first lane a port", "give one for every port, in order"


def _of_nics(at: tuple[str | int, ...], group: NicGroup, known: Catalog) -> Iterator[Contradiction]:
    if group.nic not in known.nics:
        yield (*at, "nic"), f"there is no NIC model {group.nic!r}", f"known: {', '.join(known.nics)}"
    if len(group.names) != len(group.rdma):
        what = f"{len(group.names)} interfaces and {len(group.rdma)} RDMA devices"
        yield (*at, "rdma"), what, "give one of each for every NIC, in the same order"
    if len(group.names) % group.ports:
        what = f"{len(group.names)} names cannot be NICs of {group.ports} ports each"
        yield (*at, "names"), what, "name the first ports of all NICs, then the second ports"
    if len(set(group.names)) != len(group.names):
        yield (*at, "names"), "two NICs have the same name", "name each once"


def _of_further_ports(at: tuple[str | int, ...], server: ServerModel, kind: str) -> Iterator[Contradiction]:
    """A set whose NICs are ports of another set's cards."""
    own = server.nics[kind]
    first = server.nics.get(own.further_ports_of)
    others = ", ".join(one for one in server.nics if one != kind)
    if first is None or first is own:
        yield at, f"the server has no other NICs {own.further_ports_of!r}", f"its other sets: {others or 'none'}"
    elif first.further_ports_of:
        yield at, f"{own.further_ports_of} are further ports themselves", f"name {first.further_ports_of}"
    elif (first.nic, first.adapters) != (own.nic, own.adapters):
        what = f"{own.adapters} {own.nic} are not the cards of {first.adapters} {first.nic}"
        yield at, what, "give both sets the same NIC model, and as many NICs"
    elif [one.further_ports_of for one in server.nics.values()].count(own.further_ports_of) > 1:
        yield (
            at,
            f"two sets are the ports after those of {own.further_ports_of}",
            "name one of them; a card is in two fabrics at most",
        )
