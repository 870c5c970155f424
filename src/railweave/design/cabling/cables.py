"""Creation of every cable of a fabric, with its two ports, speed, optics and length."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from railweave.counting import counted
from railweave.design.cabling.switch_ports import CableOverrides, FixedCable, SwitchPorts
from railweave.design.inventory import cable_length
from railweave.design.shape.interconnect import peers
from railweave.design.shape.tiers import Leaf, pod_number
from railweave.design.sizing.size import spread
from railweave.model.catalog.optics import Module, OpticRequirement, fitting, joins, of_one_kind
from railweave.model.findings.registry import Rule
from railweave.model.intent.topology import PortRange
from railweave.model.network.devices import Cable, End, Position, RoleName

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from railweave.design.cabling.ports import PortKind
    from railweave.design.context import Context
    from railweave.design.shape.placing import PlacedServer
    from railweave.design.shape.topology import Layout
    from railweave.model.catalog.models import Catalog
    from railweave.model.intent.reading.document import Location
    from railweave.model.intent.topology import CableIntent, Interconnect


UNKNOWN = "unlisted"


OPTIC_UNLISTED = Rule(
    id="optic-unlisted",
    severity="warning",
    applies="design",
    fault="the hardware catalog has no optic for a port's type, speed and cable length",
    why="the bill of materials has no optic for this link",
    fix="name an optic with `optic:`, or add an optic to the catalog",
)


def choose(
    context: Context,
    at: Location,
    asked: str | None,
    cage: str,
    channels: int,
    speed_gbps: int,
    length_m: float,
    *,
    measured_on: int,
    copper: bool,
) -> str:
    """Return the catalog name of the optic for one cable end: ``asked`` if given, or else the best fit.

    - ``at``: the place in the fabric file to report.
    - ``cage``: the form factor of the port.
    - ``channels``: the number of links that the port carries, each of ``speed_gbps``.
    - ``measured_on``: the inventory line with the measured length, or 0 if the length is planned.
    - ``copper``: True if copper assemblies may be chosen. Copper can connect a switch and a NIC, but not two switches.

    Records a problem if ``asked`` does not fit, and a finding if the catalog has no optic that fits.
    """
    fits = fitting(context.catalog, cage, channels, speed_gbps, length_m, copper=copper)
    if asked is not None:
        _check(context, at, asked, f"{cage} of {channels} x {speed_gbps}G", sorted(fits), length_m, measured_on)
        return asked
    if fits:
        return min(fits)[1]
    context.finding(
        OPTIC_UNLISTED,
        f"{channels} x {speed_gbps}G in {cage}",
        at,
        f"the catalog has no optic for a {cage} port with {channels} x {speed_gbps}G over {length_m:g} m",
    )
    return UNKNOWN


def _check(
    context: Context,
    at: Location,
    asked: str,
    port: str,
    fits: list[tuple[float, str]],
    length_m: float,
    measured_on: int,
) -> None:
    """Record a problem if the requested optic (``asked``) is unknown, does not fit its port, or has too short a reach.

    - ``at``: the key path of the request in the fabric file.
    - ``port``: a description of the port.
    - ``fits``: the optics that fit the port and the length, as (reach in metres, name).
    - ``measured_on``: the inventory line with the measured length, or 0 if the length is planned.
    """
    optics = context.catalog.optics
    optic = optics.get(asked)
    if optic is None:
        context.problem(at, f"optic {asked!r} is not in the catalog", f"known optics: {', '.join(sorted(optics))}")
    elif port not in (cages := [f"{cage} of {optic.channels} x {optic.speed_gbps}G" for cage in optic.cages]):
        others = f"use {' or '.join((name for _, name in fits))}, or " if fits else ""
        context.problem(
            at,
            f"optic {asked} is for {' or '.join(cages)}, but the port is {port}",
            f"{others}remove `optic:` to let railweave choose one",
        )
    elif optic.reach_m < length_m and measured_on:
        context.inventory_problem(
            measured_on,
            f"optic {asked} reaches {optic.reach_m:g} m, but the measured length of the cable is {length_m:g} m",
            "choose an optic with more reach "
            f"({context.source.document.file}:{context.source.document.line(at)}), or set an optic for this "
            "cable alone under overrides.cables",
        )
    elif optic.reach_m < length_m:
        context.problem(
            at,
            f"optic {asked} reaches {optic.reach_m:g} m, but the cable is {length_m:g} m long",
            "choose an optic with more reach",
        )


OPTIC_MISMATCH = Rule(
    id="optic-mismatch",
    severity="error",
    sometimes="warning",
    applies="design",
    fault="the optics at the two ends of a link are incompatible (multimode and single mode), because the fabric "
    "file names them, or because the catalog has no compatible pair (a warning)",
    why="the two ends cannot exchange light, and no kind of optic in the catalog fits all modules that these "
    "links join",
    fix="name compatible optics with `optic` and `far_optic`, or use ports that share no module",
)


def settled(
    context: Context, fabric: str, cables: list[Cable], needs: Mapping[tuple[str, str], OpticRequirement]
) -> list[Cable]:
    """Return the cables with optics that interoperate. Record a finding for cables for which the catalog has no such optics.

    ``needs`` holds the requirements of each cable end by (device, port).
    """
    known = context.catalog.optics
    cables = _refitted(cables, _one_a_module(context.catalog, cables))
    pairs = {(cable.a.optic, cable.b.optic) for cable in cables}
    unlike = {(near, far) for near, far in pairs if not joins(known.get(near), known.get(far))}
    if not unlike:
        return cables

    def apart(cable: Cable) -> bool:
        return (cable.a.optic, cable.b.optic) in unlike

    wrong = [cable for cable in cables if apart(cable)]
    groups = _groups(cables)
    members: dict[int, list[Cable]] = {id(groups[cable.a.module]): [] for cable in wrong}
    for cable in cables:
        group = members.get(id(groups[cable.a.module]))
        if group is not None:
            group.append(cable)
    chosen: dict[Module, str] = {}
    unresolved: list[Cable] = []
    for group in members.values():
        ends = [end for cable in group for end in (cable.a, cable.b)]
        optics = of_one_kind(context.catalog, [(end.module, needs[end.device, end.port]) for end in ends])
        chosen |= optics
        unresolved += [] if optics else [cable for cable in group if apart(cable)]
    for kind in ("server", "fabric"):
        of_kind = [cable for cable in unresolved if cable.kind == kind]
        if of_kind:
            _note(context, fabric, of_kind, needs)
    return _refitted(cables, chosen)


def _one_a_module(catalog: Catalog, cables: Sequence[Cable]) -> dict[Module, str]:
    """Return one optic for each module whose links (breakout channels) were given different optics.

    It is the one of these optics with the longest reach.
    """
    known = catalog.optics
    best: dict[Module, str] = {}
    differ: set[Module] = set()
    for cable in cables:
        for end in (cable.a, cable.b):
            if end.channel is None:
                continue  # the only one of its module
            module, optic = end.module, end.optic
            if optic not in known:
                differ.add(module)
            elif (before := best.setdefault(module, optic)) != optic:
                differ.add(module)
                if known[optic].reach_m > known[before].reach_m:
                    best[module] = optic
    return {module: best[module] for module in differ if module in best}


def _refitted(cables: list[Cable], chosen: Mapping[Module, str]) -> list[Cable]:
    """Return the cables with the optics that were chosen for their modules."""
    if not chosen:
        return cables

    def fitted(end: End) -> End:
        optic = chosen.get(end.module, end.optic)
        return end if optic == end.optic else replace(end, optic=optic)

    refitted: list[Cable] = []
    for cable in cables:
        a, b = fitted(cable.a), fitted(cable.b)
        refitted.append(cable if a is cable.a and b is cable.b else replace(cable, a=a, b=b))
    return refitted


def _groups(cables: Sequence[Cable]) -> dict[Module, set[Module]]:
    """Return, for each module, the group of modules that cables connect to it, directly or through other modules.

    Modules of a group must be of one kind, so that they interoperate. All modules of a group map to the same set object.
    """
    groups: dict[Module, set[Module]] = {}
    for cable in cables:
        group, other = (groups.setdefault(place, {place}) for place in (cable.a.module, cable.b.module))
        if group is other:
            continue
        more, less = (group, other) if len(group) >= len(other) else (other, group)
        more |= less
        for place in less:
            groups[place] = more
    return groups


def _note(
    context: Context, fabric: str, wrong: Sequence[Cable], needs: Mapping[tuple[str, str], OpticRequirement]
) -> None:
    cable, known = wrong[0], context.catalog.optics
    asked = any(needs[end.device, end.port].asked for end in (cable.a, cable.b))
    words = " and ".join(f"{end.optic} ({known[end.optic].media}) at {end.device}" for end in (cable.a, cable.b))
    more = f", and {len(wrong) - 1} links more" if len(wrong) > 1 else ""
    context.finding(
        OPTIC_MISMATCH,
        cable.name,
        ("fabrics", fabric, "cabling", cable.kind),
        f"{words} are both ends of the same link{more}",
        severity="error" if asked else "warning",
    )


class _Tier(NamedTuple):
    """Links between two tiers: the lower and the upper role, and the number of parallel links between two switches."""

    lower: RoleName
    upper: RoleName
    links: int
    kind: Literal["fabric", "interconnect"] = "fabric"


class _Place(NamedTuple):
    """A switch at one end of a cable. ``place`` is its number among the neighbors of the switch at the other end.

    The number determines the port on that other switch.
    """

    name: str
    place: int


class _Length(NamedTuple):
    """The length of a cable in metres, and the inventory line on which it was measured (0 if the length is planned)."""

    metres: float
    line: int


def cable(
    context: Context,
    layout: Layout,
    colors: dict[tuple[str, int], int],
    overrides: CableOverrides,
    places: Mapping[str, Position],
) -> list[Cable]:
    """Return every cable of a fabric: the cables of servers (in file order), then the uplinks of each leaf, then those of each spine.

    ``colors`` gives the path-color index of a leaf-spine link by (spine name, link). ``overrides`` holds the cable overrides of the
    fabric file. ``places`` gives the rack positions of devices. Records problems in the context.
    """
    return _Cabler(context, layout, colors, overrides, places).run()


class _Cabler:
    def __init__(
        self,
        context: Context,
        layout: Layout,
        colors: dict[tuple[str, int], int],
        overrides: CableOverrides,
        places: Mapping[str, Position],
    ) -> None:
        self.places = places
        self.context = context
        self.colors = colors
        self.layout = layout
        self.overrides = overrides
        self.ports = SwitchPorts(context, layout)
        self.servers = {server.name: server for server in layout.servers}
        self.optics: dict[tuple[str, int, int, float, bool], tuple[OpticRequirement, str]] = {}
        self.needs: dict[tuple[str, str], OpticRequirement] = {}

    def run(self) -> list[Cable]:
        layout = self.layout
        topology = layout.spec.topology
        made: list[Cable | None] = []
        by_rail = {(leaf.stripe, rail): leaf for leaf in layout.leaves for rail in leaf.rails}
        for server in layout.servers:
            for rail, nic in enumerate(server.nics.names, 1):
                made.append(self._server_cable(server, nic, rail, by_rail[server.stripe, rail]))
        if layout.spines:
            spines = _Tier("leaf", "spine", topology.links_per_spine)
            blocks: dict[str, list[_Place]] = {}
            for spine in layout.spines:
                blocks.setdefault(spine.block, []).append(_Place(spine.name, spine.position))
            for leaf in layout.leaves:
                made += self._up(spines, _Place(leaf.name, leaf.place), blocks[leaf.block])
        if layout.super_spines:
            supers = _Tier("spine", "super-spine", topology.links_per_super_spine)
            groups: dict[str, list[_Place]] = {}
            for super_spine in layout.super_spines:
                groups.setdefault(super_spine.group, []).append(_Place(super_spine.name, super_spine.position))
            for spine in layout.spines:
                made += self._up(supers, _Place(spine.name, pod_number(spine.pod)), groups[spine.group])
        if layout.borders and topology.interconnect:
            made += self._interconnect(topology.interconnect)
        self.ports.check()
        self.context.check()
        cables = settled(self.context, layout.name, [cable for cable in made if cable], self.needs)
        return [self._with_lanes(cable) for cable in cables]

    def _interconnect(self, across: Interconnect) -> list[Cable | None]:
        """Return the cables from spines to their site's routers, and the cables between sites.

        ``across`` holds the interconnect's settings. Each pair of routers is cabled once.
        """
        made: list[Cable | None] = []
        borders = self.layout.borders
        up = _Tier("spine", "dci", across.links_per_router)
        for spine in self.layout.spines:
            here = [_Place(border.name, border.position) for border in borders if border.site == spine.pod]
            made += self._up(up, _Place(spine.name, spine.position), here)
        role: RoleName = self.layout.border_role or "leaf"
        between = _Tier(role, role, across.links, "interconnect")
        places = {border.name: {far.name: place for far, place in peers(borders, border)} for border in borders}
        for near in borders:
            for far in borders:
                if far.site_slot > near.site_slot:
                    upper = _Place(far.name, places[near.name][far.name])
                    made += self._up(between, _Place(near.name, places[far.name][near.name]), [upper])
        return made

    def _up(self, tier: _Tier, lower: _Place, uppers: list[_Place]) -> list[Cable | None]:
        """Return the cables from a lower switch to each of its neighbors (``uppers``) in the tier above."""
        links = range(1, tier.links + 1)
        return [self._fabric_cable(tier, lower, upper, link) for upper in uppers for link in links]

    def _server_cable(self, server: PlacedServer, nic: str, rail: int, leaf: Leaf) -> Cable | None:
        fixed = self.overrides.take(f"{server.name}:{nic}", leaf.name)
        here, each = leaf.rails.index(rail), len(leaf.rails)
        default = self.ports.spot(leaf.name, "server_ports", server.slot, here, each)
        speed = self.layout.nic_speeds[server.stripe]
        end = self.ports.take(leaf.name, "server_ports", default, f"{server.name}:{nic}", fixed, speed)
        if end is None:
            if default is None:
                most = max(s.slot for s in self.layout.servers if s.stripe == leaf.stripe)
                self.ports.too_few(leaf.name, "server_ports", f"servers of {leaf.stripe}", most, each)
            return None
        intent = self.layout.spec.cabling.server
        port = end.port
        ends = (server.name, nic), (leaf.name, end.name)
        length = self._length(intent, fixed, *ends)
        model = self.context.catalog.nics[server.nics.nic]
        near = self._optic(ends[1], "server", fixed, length, port.group.cage, port.channels, model.speed_gbps)
        far = near if near.endswith("-dac") else ""
        if far:  # a longer cable at the same port may yet make both of them optics
            self.needs[ends[0]] = OpticRequirement(model.cage, 1, model.speed_gbps, length.metres, None)
        far = far or self._optic(ends[0], "server", fixed, length, model.cage, 1, model.speed_gbps, far=True)
        return Cable(
            kind="server",
            fabric=self.layout.name,
            a=End(server.name, nic, None, None, "1-4", far),
            b=End(leaf.name, end.name, port.physical, port.channel, end.lanes, near),
            speed_gbps=speed,
            length_m=length.metres,
            measured=length.line > 0,
            color=None,
        )

    def _with_lanes(self, cable: Cable) -> Cable:
        """Return a server cable with the lanes that it uses in the NIC's module, such as ``1-2``. Other cables are returned unchanged.

        Only modules whose links all leave through one connector (``Optic.trunk``) have such lanes. Each lane carries 100G. NIC ports that
        share a module use consecutive lanes.
        """
        module = self.context.catalog.optics.get(cable.a.optic)
        if cable.kind != "server" or module is None or not module.trunk:
            return cable
        server = self.servers[cable.a.device]
        width, first = cable.speed_gbps // 100, 1
        if self.context.catalog.nics[server.nics.nic].one_cage:
            first += server.nics.names.index(cable.a.port) // server.nics.adapters * width
        lanes = str(first) if width == 1 else f"{first}-{first + width - 1}"
        return replace(cable, a=replace(cable.a, lanes=lanes))

    def _fabric_cable(self, tier: _Tier, lower: _Place, upper: _Place, link: int) -> Cable | None:
        fixed = self.overrides.take(lower.name, upper.name, link)
        across = self.layout.spec.topology.interconnect if tier.kind == "interconnect" else None
        below: PortKind = "uplink_ports" if across else "leaf_ports"  # routers of two sites are each other's equals
        speed = across.link_speed if across else self.layout.link_speed(lower.name, upper.name)
        up = self.ports.spot(lower.name, "uplink_ports", upper.place, link - 1, tier.links, speed)
        down = self.ports.spot(upper.name, below, lower.place, link - 1, tier.links, speed)
        a = self.ports.take(lower.name, "uplink_ports", up, f"{upper.name} link {link}", fixed, speed)
        b = self.ports.take(upper.name, below, down, f"{lower.name} link {link}", fixed, speed)
        if a is None or b is None:
            if up is None:
                most = self._most_above(tier.upper)
                self.ports.too_few(lower.name, "uplink_ports", "uplinks", most, tier.links)
            if down is None:
                most = self._most_below(tier.lower)
                fix = self._more_spines(upper.name, most) if (tier.lower, tier.upper) == ("leaf", "spine") else ""
                self.ports.too_few(upper.name, below, f"{tier.lower} links", most, tier.links, fix)
            return None
        intent: CableIntent = getattr(self.layout.spec.cabling, tier.kind)
        near, far = a.port, b.port
        ends = (lower.name, a.name), (upper.name, b.name)
        length = self._length(intent, fixed, *ends)
        optic = self._optic(ends[0], tier.kind, fixed, length, near.group.cage, near.channels, speed)
        far_optic = self._optic(ends[1], tier.kind, fixed, length, far.group.cage, far.channels, speed, far=True)
        return Cable(
            kind="fabric",
            fabric=self.layout.name,
            a=End(lower.name, a.name, near.physical, near.channel, a.lanes, optic),
            b=End(upper.name, b.name, far.physical, far.channel, b.lanes, far_optic),
            speed_gbps=speed,
            length_m=length.metres,
            measured=length.line > 0,
            color=self.colors.get((upper.name, link)) if tier.upper == "spine" else None,
            delay_us=across.delay if across else None,
        )

    def _more_spines(self, spine: str, leaves: int) -> str:
        """Return advice to add spines, so that spines have enough ports for ``leaves`` leaves at the same bandwidth.

        Return "" if the file limits the spines' port range.
        """
        if self.layout.equipment[spine].role.leaf_ports != PortRange():
            return ""
        topology, room = self.layout.spec.topology, self.ports.room(spine, "leaf_ports")
        count, links = len(topology.spine_names()), topology.links_per_spine
        if room >= leaves:
            spines, each = spread(count * links, count * links, room // leaves, colored=False)
            more = counted(spines - count, "spine")
            change = f"`spines: {spines}` with `links_per_spine: {each}` gives the same bandwidth with {more} more"
            return change + self._cost(spines, spines * each, count * links)
        if topology.stripes_per_pod:
            return f"a spine has ports for {counted(room, 'leaf', 'leaves')}: lower `stripes_per_pod`"
        return f"a spine has ports for {counted(room, 'leaf', 'leaves')}: give `stripes_per_pod` and `super_spines`, as `railweave init --gpus` sizes them"

    def _cost(self, spines: int, uplinks: int, before: int) -> str:
        """Return, as text, the switches and cables that the last stripe adds to the fabric. Return "" for a single stripe.

        They include the additional spines and the cables to these spines. ``spines`` is the number of spines with the last stripe.
        ``uplinks`` is the number of uplinks of a leaf with these spines, and ``before`` the number without the additional spines.
        """
        topology = self.layout.spec.topology
        *others, last = topology.stripe_names()
        if not others:
            return ""
        added = [leaf for leaf in self.layout.leaves if leaf.stripe == last]
        switches = len(added) + spines - len(topology.spine_names())
        nics = sum(server.stripe == last for server in self.layout.servers) * self.layout.rails
        cables = len(added) * uplinks + (len(self.layout.leaves) - len(added)) * (uplinks - before) + nics
        return f": {counted(switches, 'switch', 'switches')} and {counted(cables, 'cable')} more than without {last}"

    def _most_above(self, role: RoleName) -> int:
        """Return the highest position of a switch in the upper tier, whose role is ``role``.

        A lower switch needs uplink ports for all positions up to the highest.
        """
        if role == "spine":
            return max(spine.position for spine in self.layout.spines)
        if role == "super-spine":
            return max(super_spine.position for super_spine in self.layout.super_spines)
        return max(border.position for border in self.layout.borders)

    def _most_below(self, role: RoleName) -> int:
        """Return the number of lower switches, with the role ``role``, for which an upper switch needs ports.

        It is the highest number of a lower switch. For a leaf, this is ``leaf.place``. For a spine, it is the number of the spine's pod
        or, with interconnect routers, the spine's position.
        """
        if role == "leaf":
            return max(leaf.place for leaf in self.layout.leaves)
        if self.layout.borders:
            return max(spine.position for spine in self.layout.spines)
        return max(pod_number(spine.pod) for spine in self.layout.spines)

    def _planned(self, intent: CableIntent, fixed: FixedCable | None, device: str, other: str) -> float:
        """Return the planned length in metres of a cable between ``device`` and ``other``.

        It is the length in an override, or else the length between rack positions, or else the default of the cable's kind. ``intent`` has
        the settings of the cable's kind, and ``fixed`` is the cable's override.
        """
        if fixed and fixed.override.length is not None:
            return fixed.override.length
        across = intent is self.layout.spec.cabling.interconnect
        by_racks = None if across else cable_length(self.context.source.spec.racks, self.places, device, other)
        return intent.length if by_racks is None else by_racks

    def _length(self, intent: CableIntent, fixed: FixedCable | None, *ends: tuple[str, str]) -> _Length:
        """Return the cable length that the inventory gives for one of the ``ends`` (device, port), or else the planned length.

        ``intent`` has the settings of the cable's kind, and ``fixed`` is the cable's override.
        """
        inventory = self.context.source.inventory
        for device, port in ends if inventory.items else ():
            item = inventory.get(device, port)
            if item.length_m is not None:
                return _Length(item.length_m, item.line)
        return _Length(self._planned(intent, fixed, ends[0][0], ends[1][0]), 0)

    def _optic(
        self,
        of: tuple[str, str],
        kind: str,
        fixed: FixedCable | None,
        length: _Length,
        cage: str,
        channels: int,
        speed: int,
        *,
        far: bool = False,
    ) -> str:
        """Return the optic of one cable end. ``of`` is (device, port) of this end, and ``length`` the cable's length.

        An override of the cable (``fixed``) comes first, then the optic requested for cables of this ``kind``, then the fitting optic
        with the shortest reach. ``cage`` is the form factor of the port, and ``channels`` the number of links that the port carries.
        ``far`` is True for the upper end of the cable.
        """
        intent: CableIntent = getattr(self.layout.spec.cabling, kind)
        asked = intent.far_optic if far else intent.optic
        of_cable = fixed if fixed and (fixed.override.optic or asked is None) else None
        if of_cable:
            asked = of_cable.override.optic
        key = (cage, channels, speed, length.metres, kind == "server")
        known = self.optics.get(key) if asked is None else None
        if known is not None:
            self.needs[of], optic = known
            return optic
        requirement = self.needs[of] = OpticRequirement(cage, channels, speed, length.metres, asked)
        of_kind = ("fabrics", self.layout.name, "cabling", kind, "far_optic" if far else "optic")
        at = (*of_cable.at, "optic") if of_cable else of_kind
        optic = choose(
            self.context,
            at,
            asked,
            cage,
            channels,
            speed,
            length.metres,
            measured_on=length.line,
            copper=kind == "server",
        )
        if asked is None and optic != UNKNOWN:  # where there is none, every cable says so
            self.optics[key] = requirement, optic
        return optic
