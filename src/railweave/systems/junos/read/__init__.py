"""Reader of Junos configuration text in curly braces, ``set`` lines, XML or JSON.

All four are converted to a trie of words (``words``), in which configuration groups are expanded (``shape.inherit``).
Each module of this package reads one area, for example BGP, and marks the words that it understands. If the text lacks a
value that ``DeviceConfig`` requires, an empty value takes its place: an empty name, the address 0.0.0.0, or speed 0.
Secrets are read as references. A secret whose value is in the text becomes ``secret:?``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING

from railweave.model.catalog import catalog
from railweave.model.config.tree import ConfigTree, Node, Step
from railweave.model.device.model import DeviceConfig, loopback_among
from railweave.model.device.reading import Kind, Reading, ReadStatement, classify_statements
from railweave.systems.junos.changes import JunosTree, config_tree
from railweave.systems.junos.meaning import management
from railweave.systems.junos.read import overlay, shape
from railweave.systems.junos.read.balancing import balancing, runs
from railweave.systems.junos.read.bgp import Group, groups, underlay
from railweave.systems.junos.read.forms import Lines, lines
from railweave.systems.junos.read.instances import Instance, vrf, with_loopback
from railweave.systems.junos.read.instances import instances as instances_of
from railweave.systems.junos.read.interfaces import Kind as PortKind
from railweave.systems.junos.read.interfaces import in_order, interfaces, kinds, macsec, splits
from railweave.systems.junos.read.overlay import gateways, vlan_numbers
from railweave.systems.junos.read.policies import policy_options, unused
from railweave.systems.junos.read.ports import Owners, Port, own_address, ports
from railweave.systems.junos.read.protection import protection
from railweave.systems.junos.read.qos import qos
from railweave.systems.junos.read.shape import inherit, isis, isis_links, of_paths, shaped
from railweave.systems.junos.statements.management import SYSTEM
from railweave.systems.junos.tree import Statement, quoted, to_curly, wordset
from railweave.systems.junos.words import NO_ADDRESS, Word, address, asn, interface_address, network, statements

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence

    from railweave.model.config.addresses import InterfaceAddress, Prefix


def configuration(top: Word) -> DeviceConfig:
    """Return the configuration in a trie of words. ``top`` is the root of the trie."""
    named = ports(top)
    networks = {
        unit.name: tuple(map(network, unit.every_address())) for port in named.values() for unit in port.units.values()
    }
    options = policy_options(top, networks)
    owners = Owners(named.values())
    instances = instances_of(top)
    bgp = top.at_path("protocols", "bgp")
    sessions = groups(bgp, top) if bgp is not None else []
    evpn = [group for group in sessions if group.evpn]
    below = [group for group in sessions if group.families or not group.evpn]

    kind = _kinds(top, named, owners, instances, below)
    bridged = {name: port for name, port in named.items() if kind.get(name) == "server" and _is_routed(port)}
    below = [
        _without(group, owners, {unit for each in instances.values() for unit in each.interfaces}) for group in below
    ]
    made = gateways(top, named, instances, bridged)
    vrf_of = {
        unit: instance.word.text
        for instance in instances.values()
        if instance.kind == "vrf"
        for unit in instance.interfaces
    }

    loopbacks = [network(address) for address in _loopback_addresses(named, vrf_of)]
    router_id = top.read(address, "routing-options", "router-id") or (loopbacks[0].address if loopbacks else NO_ADDRESS)
    own_as = top.read(asn, "routing-options", "autonomous-system") or next(
        (group.local_as for group in sessions if group.local_as), 0
    )
    own_as = own_as or 0
    mac_vrf = overlay.mac_vrf(top, instances, named.values())
    vrfs = tuple(
        with_loopback(vrf(instance, options, made, named, owners), instance, named)
        for instance in instances.values()
        if instance.kind == "vrf"
    )
    over = overlay.overlay(top, evpn, options, owners, router_id.prefix, own_as=own_as, tunnels=bool(vrfs or mac_vrf))
    if (
        over is not None and over.loopback == router_id and not loopbacks
    ):  # no loopback has the address from which the sessions start
        over = replace(over, loopback=NO_ADDRESS, neighbors=())
    rules, elsewhere = protection(
        top, named, options, {name for name, use in kind.items() if use == "server"} | {"irb"}
    )
    marks = frozenset(name for name, word in options.communities.items() if word.kind == "understood")
    cos = qos(top, in_order(kind))
    system, own_port = SYSTEM.value(top), own_address(named)
    underlay_bgp = underlay(
        top, below, options, named, owners, asn=own_as, router_id=router_id, elsewhere=elsewhere | marks, keyed=sessions
    )
    cut = splits(top, named)
    shared = balancing(top, named.values())
    unused(options, top)
    config = DeviceConfig(
        name=system.name,
        role="leaf" if "server" in kind.values() or vrfs else "spine",
        model="",
        nos="junos",
        release=system.release,
        management=management.management_of(system, top, named.values(), own_port, protected=rules is not None),
        management_address=own_port,
        management_gateway=management.gateway_of(system, top, own_port),
        loopback=loopback_among(loopbacks, router_id),
        splits=cut,
        interfaces=interfaces(
            named,
            kind,
            cut,
            routed=bridged,
            vrfs=vrf_of,
            pausing={name for profile in cos.profiles for name in profile.ports}
            if cos is not None and cos.profiles
            else None,
            encrypted=macsec(top),
            vlans=vlan_numbers(top, instances),
        ),
        gateways=made,
        bgp=underlay_bgp if sessions else None,
        qos=cos,
        balancing=shared,
        extra="",
        overlay=over,
        vrfs=vrfs,
        mac_vrf=mac_vrf,
        isis=isis(top, named, router_id),
        ospf=None if below else shape.ospf(top, named, router_id),
        protection=rules,
    )
    _leave_loopbacks(top, vrf_of, config.loopbacks())
    return config


def _kinds(
    top: Word, named: Mapping[str, Port], owners: Owners, instances: Mapping[str, Instance], sessions: Iterable[Group]
) -> dict[str, PortKind]:
    fabric = {*isis_links(top), *shape.ospf_links(top)}
    for group in sessions:
        fabric |= {name.removesuffix(".0") for name in group.found}
        for neighbor in group.neighbors:
            owner = owners.unit(neighbor.local or owners.beside(neighbor.peer))
            fabric |= {owner[0].name} if owner is not None else set()
    external: set[str] = set()
    served: set[str] = set()
    for instance in instances.values():
        served |= set(instance.interfaces) if instance.kind == "vrf" else set()
        for group in instance.groups:
            for neighbor in group.neighbors:
                owner = owners.unit(neighbor.local or owners.beside(neighbor.peer))
                external |= {owner[0].name} if owner is not None else set()
    advertised = top.at_path("protocols", "router-advertisement", "interface")
    served |= {interface.text for interface in (advertised or Word("")).below.values() if interface.below}
    return kinds(named, fabric=fabric, external=external, served=served, fabric_known=bool(fabric) or not runs(top))


def _without(group: Group, owners: Owners, elsewhere: Collection[str]) -> Group:
    """Return a BGP group without its sessions on the interfaces ``elsewhere``, which are in routing instances.

    ``owners`` finds the interface of an address.
    """
    units = [(peer, owners.unit(peer.local or owners.beside(peer.peer))) for peer in group.neighbors]
    return replace(
        group,
        found=[unit for unit in group.found if unit not in elsewhere],
        neighbors=[peer for peer, owner in units if owner is None or owner[1].name not in elsewhere],
    )


def _is_routed(port: Port) -> bool:
    """Return True if unit 0 of a port has an address."""
    unit = port.units.get("0")
    return unit is not None and bool(unit.every_address())


def _loopback_addresses(named: Mapping[str, Port], elsewhere: Container[str]) -> list[InterfaceAddress]:
    """Return the addresses of the loopback's units outside routing instances.

    ``named`` has the ports by name. ``elsewhere`` are the units in routing instances.
    """
    units = named["lo0"].units if "lo0" in named else {}
    return [
        address
        for number, unit in units.items()
        if f"lo0.{number}" not in elsewhere
        for address in unit.every_address()
    ]


def _leave_loopbacks(top: Word, elsewhere: Container[str], held: Collection[Prefix]) -> None:
    """Mark loopback addresses as not understood if ``DeviceConfig`` does not have them.

    ``held`` are the addresses that ``DeviceConfig`` has, and ``elsewhere`` the loopback units in routing instances. ``top`` is the root of
    the configuration. Addresses for use inside the switch (127.0.0.0/8, ::1) are exempt.
    """
    for unit in top.entries("interfaces", "lo0", "unit"):
        for family in unit.entries("family") if f"lo0.{unit.text}" not in elsewhere else ():
            for entry in family.entries("address") if family.text in {"inet", "inet6"} else ():
                if entry.kind == "understood" and not entry.text.startswith(("127.", "::1/")):
                    try:
                        known = network(interface_address(entry.text)) in held
                    except ValueError:
                        known = False
                    if not known:
                        entry.mark_unknown()


__all__ = ["parsed", "printed", "read"]

_GROUP = re.compile(r"groups \S+ (?!when )")
"""A pattern of the words ``groups NAME`` before a statement in a configuration group. They are removed to classify the statement."""
_OF_TWO_WORDS = wordset(
    "system protocols class-of-service policy-options routing-options forwarding-options security chassis"
)
"""The top-level hierarchies whose sections are identified by two words, such as ``protocols bgp``."""


def read(texts: Mapping[str, str]) -> Reading:
    """Return the configuration of one device. ``texts`` are its texts by file name.

    Texts whose names differ only after the last dot, for example ``junos.conf`` and ``junos.set``, contain the same
    configuration. The first is read; statements that only the second has are marked as not understood. Raises
    ``RenderError``, with the line number, if a text is malformed.
    """
    files = list(texts)
    of_file = {file: lines(text) for file, text in texts.items()}
    stems: dict[str, str] = {}
    first = [file for file in files if stems.setdefault(PurePath(file).stem, file) == file]
    top = Word("")
    ends: dict[tuple[str, ...], Word] = {}
    for file in first:
        number = files.index(file)
        for path, at in of_file[file].active:
            ends[path] = top.add(path, number, at)
    inherit(top)
    config = configuration(top)
    result = [*_said(top, files), *(statement for file in files for statement in _beside(file, of_file[file]))]
    for file in files:
        if file not in first:
            result += _same(file, of_file[file], ends)
    return Reading(config, tuple(result))


def _said(top: Word, files: list[str]) -> Iterator[ReadStatement]:
    """Yield every statement of the files, marked as understood or not. A list on one line counts as one statement.

    ``top`` is the root of the configuration.
    """
    irrelevant = catalog().systems["junos"].reads.irrelevant
    each: dict[int, list[tuple[int, str, str, bool]]] = {number: [] for number in range(len(files))}
    fixed: list[ReadStatement] = []
    written = (end for end in statements(top) if not end[0].inherited)
    for (number, at, above), group in groupby(written, lambda end: (end[0].file, end[0].at, end[1][:-1])):
        ends = list(group)
        words = [path[-1] for _, path in ends]
        path = " ".join((*above, words[0] if len(words) == 1 else f"[ {' '.join(words)} ]"))
        kinds: set[Kind] = {word.kind for word, _ in ends}
        if kinds == {"irrelevant"}:
            fixed.append(ReadStatement(files[number], at, _hierarchy(above or tuple(words)), path, "irrelevant"))
        else:
            each[number].append((at, _hierarchy((*above, *words)), path, "unknown" not in kinds))
    for number, rows in each.items():
        bare = [(at, part, _GROUP.sub("", path), understood) for at, part, path, understood in rows]
        for (_, _, path, _), statement in zip(rows, classify_statements(files[number], bare, irrelevant), strict=True):
            yield statement if statement.path == path else replace(statement, path=path)
    yield from fixed


def _beside(file: str, listing: Lines) -> Iterator[ReadStatement]:
    """Yield the deactivated statements of a file, and its lines that are not statements. ``listing`` has the statements of the file."""
    for path, at in listing.asleep:
        yield ReadStatement(file, at, _hierarchy(path), " ".join(map(quoted, path)), "irrelevant")
    for text, at, kind in listing.other:
        yield ReadStatement(file, at, text.split()[0], text, kind)


def _same(file: str, listing: Lines, ends: Mapping[tuple[str, ...], Word]) -> Iterator[ReadStatement]:
    """Yield the statements of a second file with the same configuration, marked as understood or not.

    ``listing`` has the statements of the second file, ``ends`` the last word of each statement in the first file.
    """
    irrelevant = catalog().systems["junos"].reads.irrelevant
    each = [(at, _hierarchy(path), " ".join(map(quoted, path)), ends.get(path)) for path, at in listing.active]
    rows = [(at, part, text, word is not None and word.kind == "understood") for at, part, text, word in each]
    yield from classify_statements(file, rows, irrelevant)


def _hierarchy(path: tuple[str, ...]) -> str:
    if path[0] == "routing-instances":
        return " ".join((path[0], *path[2:3]))
    return " ".join(path[:2]) if path[0] in _OF_TWO_WORDS else path[0]


def parsed(file: str, text: str) -> ConfigTree:
    """Return ``text`` as a tree for comparison, without inactive statements. ``file`` is ignored."""
    del file
    listing = lines(text)
    return config_tree(shaped(listing.curly) if listing.curly is not None else of_paths(listing.active))


def printed(file: str, nodes: Sequence[Node]) -> str:
    """Return the nodes of a tree as text: ``set`` lines if the file name ends with ``.set``, otherwise with curly braces."""
    if file.endswith(".set"):
        added = [Step("add", (), node, (at,)) for at, node in enumerate(nodes)]
        return "".join(f"{line}\n" for line in JunosTree(tuple(nodes)).commands(added))
    return to_curly(map(_statement, nodes))


def _statement(node: Node) -> Statement:
    if node.children:
        return Statement(node.name, children=[_statement(child) for child in node.children])
    if node.listed:
        return Statement(node.name, node.values, several=True)
    return Statement((*node.name, *node.values))
