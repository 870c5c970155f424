"""The devices at the ports of running switches, and the ports, VLANs and sessions that a plan takes from them.

The running configurations decide, not the design. A port whose server has a different port in the design still carries
that server until its cable is moved.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from railweave.counting import counted
from railweave.json_values import JsonObject
from railweave.model.device.port_model import far_end, router_of
from railweave.model.network.devices import Cable, End
from railweave.model.network.overlay import EDGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from railweave.model.device.model import DeviceConfig
    from railweave.model.device.port_model import Interface
    from railweave.model.network.model import Network

Kind = Literal["server", "fabric", "external", "session"]
TIERS = ("super-spine", "dci", "spine", "leaf")
"""The roles of switches, the highest tier first."""
_NAMES = 3


class FarEnd(NamedTuple):
    """The device and port at the far end of a port. Both are empty if neither the configuration nor the design names them.

    - ``kind``: the kind of the near port. An edge port (a port to a router outside the network) is ``external``.
    - ``speed_gbps``: the speed of the near port; 0 if the configuration does not state it.
    """

    device: str
    port: str
    kind: Kind
    speed_gbps: int = 0

    @property
    def name(self) -> str:
        """The name of the far end for messages: ``SERVER:NIC``, or a device and its port; empty if it is unknown."""
        if self.kind == "server":
            return f"{self.device}:{self.port}" if self.device else ""
        return f"{self.device} {self.port}".strip()


Attached = dict[tuple[str, str], FarEnd]
"""The far end of each port that carries traffic, by switch and port."""


@dataclass(frozen=True)
class LostPort(JsonObject):
    """A switch port that a plan takes out of use, so that the device at the port's far end loses its connection.

    - ``kind``: the kind of the port. ``session``: a BGP session without a port; ``port`` is then the neighbor's address.
    - ``attached``: the name of the far end. If neither the configuration nor the design names it, the names of all NICs that it can be.
    - ``certain``: False if ``attached`` only lists possible NICs.
    - ``loses``: the uses that the port loses by the plan, such as ``VLAN 2``.
    - ``later``: the switch and port that the far end has in the design; empty if the design has no such cable.
    """

    device: str
    port: str
    kind: Kind
    attached: tuple[str, ...]
    certain: bool
    loses: tuple[str, ...]
    later: str = ""

    @classmethod
    def of_json(cls, fields: Mapping[str, Any]) -> LostPort:
        """Return the lost port from ``fields``, its JSON object in a plan file. Raises ``KeyError`` or ``TypeError`` if the object is invalid."""
        return cls(
            fields["device"],
            fields["port"],
            fields["kind"],
            tuple(fields["attached"]),
            bool(fields["certain"]),
            tuple(fields["loses"]),
            fields["later"],
        )


def attached(network: Network, configs: Mapping[str, DeviceConfig]) -> Attached:
    """Return the far end of each port that carries traffic according to these configurations.

    The description of a port names its far end. The design's cable is used instead in these cases:

    - The description names no device of the network.
    - The description of the far port names a different port as its own far end.
    - Another port's description names the same far end.
    """
    designed = designed_ends(network)
    known = {device.name for device in (*network.switches, *network.servers)}
    described = _described(configs)
    times = Counter(described.values())
    ends: Attached = {}
    for name, config in configs.items():
        uses = _uses(config)
        for port in config.interfaces:
            if not uses.get(port.name):
                continue
            place = name, port.name
            kind = "external" if port.outside else port.kind
            far = designed.get(place, ("", ""))
            there = described.get(place, ("", ""))
            trusted = there[0] in known and described.get(there, place) == place and times[there] == 1
            if kind == "external" or there[1] == EDGE:
                far = (there[0] or router_of(port.description) or port.peer, "")
                kind = "external"
            elif there[0] and (far == ("", "") or (trusted and there[0] != far[0]) or (trusted and kind == "fabric")):
                far = there
            ends[place] = FarEnd(*far, kind, port.speed_gbps)
    return ends


def designed_ends(network: Network) -> dict[tuple[str, str], tuple[str, str]]:
    """Return both directions of each cable of the design: by (device, port) of one end, the (device, port) of the other end."""
    return {
        (near.device, near.port): (far.device, far.port)
        for cable in network.cables
        for near, far in ((cable.a, cable.b), (cable.b, cable.a))
    }


def _described(configs: Mapping[str, DeviceConfig]) -> dict[tuple[str, str], tuple[str, str]]:
    """Return the far end (device, port) that the description of each port names, by the switch and name of the port."""
    ends = {
        (name, port.name): far_end(port.description) for name, config in configs.items() for port in config.interfaces
    }
    return {place: far for place, far in ends.items() if far[0]}


def _uses(config: DeviceConfig) -> dict[str, tuple[str, ...]]:
    """Return the uses of each enabled port by port name, such as ``VLAN 2``: its VLANs, VRFs, addresses and routing neighbors.

    A port without uses carries no traffic.
    """
    numbers = {gateway.vlan_name: gateway.vlan for gateway in config.gateways if gateway.vlan is not None}
    uses = {
        port.name: {
            **({f"VLAN {numbers.get(port.vlan, port.vlan)}": None} if port.vlan else {}),
            **{f"VLAN {tag}": None for tag in port.tagged},
            **{f"VRF {part.vrf}": None for part in port.parts() if part.vrf},
            **({"its addresses": None} if port.addresses else {}),
        }
        for port in config.interfaces
        if port.enabled
    }
    sessions = [session.interface for group in (config.bgp.groups if config.bgp else ()) for session in group.sessions]
    sessions += [peer.session.interface for vrf in config.vrfs for peer in vrf.external]
    for names, use in (
        ([gateway.port for gateway in config.gateways if gateway.port], "its addresses"),
        (sessions, "its BGP session"),
        ([port.interface for port in config.isis.ports] if config.isis else [], "its IS-IS adjacency"),
        ([port.interface for port in config.ospf.ports] if config.ospf else [], "its OSPF adjacency"),
    ):
        for name in names:
            if name in uses:
                uses[name][use] = None
    return {name: tuple(words) for name, words in uses.items()}


def lost_attachments(
    network: Network,
    device: str,
    before: DeviceConfig,
    after: DeviceConfig,
    ends: Attached,
    ends_of_cables: Mapping[tuple[str, str], tuple[str, str]] | None = None,
) -> Iterator[LostPort]:
    """Yield the ports and BGP sessions of a switch that lose their use by a plan.

    A port is lost in these cases:

    - It has no use any more.
    - It leaves the VLAN of its server for a VLAN with different prefixes.
    - Its cable to another switch is not the designed cable.

    ``before`` and ``after`` are the configurations of the switch before and after the plan. ``ends`` is the result of ``attached``
    before the plan. ``ends_of_cables`` is the result of ``designed_ends``; None to compute it here.
    """
    was, will = _uses(before), _uses(after)
    designed = designed_ends(network) if ends_of_cables is None else ends_of_cables
    free = tuple(
        f"{cable.a.device}:{cable.a.port}"
        for cable in network.cables_of(device)
        if cable.kind == "server" and cable.b.device == device and not was.get(cable.b.port)
    )
    for port in before.interfaces:
        end = ends.get((device, port.name))
        if end is None:
            continue
        gone = tuple(_gone(port, was[port.name], will.get(port.name, ()), before, after))
        if (
            not gone
            and end.kind == "fabric"
            and designed.get((device, port.name)) not in {None, (end.device, end.port)}
        ):
            gone = ("its cable",)
        if gone:
            names = (end.name,) if end.name else free if end.kind == "server" else ()
            there = " ".join(designed.get((end.device, end.port), ()))
            yield LostPort(device, port.name, end.kind, names, bool(end.name), gone, there)
    yield from _lost_sessions(device, before, after)


def _gone(
    port: Interface, was: Sequence[str], will: Sequence[str], before: DeviceConfig, after: DeviceConfig
) -> Iterator[str]:
    """Yield the uses (such as ``VLAN 2``) that a port loses by a plan.

    ``was`` and ``will`` are the port's uses before and after the plan. A VLAN or VRF that is replaced by another VLAN or VRF is
    not lost; the effects on routes and tenants are shown elsewhere in the plan.
    """
    if not will:
        yield from was
        return
    for kind in ("VLAN ", "VRF "):
        old, new = ([use for use in uses if use.startswith(kind)] for uses in (was, will))
        if len(new) < len(old):
            yield from (use for use in old if use not in new)
    if port.vlan and _leaves_its_prefixes(port, before, after):
        yield was[0]


def _leaves_its_prefixes(port: Interface, before: DeviceConfig, after: DeviceConfig) -> bool:
    """Return True if a plan moves a port to an untagged VLAN with different prefixes, while the old prefixes stay on another VLAN.

    ``before`` and ``after`` are the configurations of the port's switch before and after the plan.
    """
    there = next((each for each in after.interfaces if each.name == port.name), port)
    old, new = (
        {prefix for gateway in config.gateways if gateway.vlan_name == vlan for prefix in gateway.prefixes}
        for config, vlan in ((before, port.vlan), (after, there.vlan))
    )
    kept = {prefix for gateway in after.gateways for prefix in gateway.prefixes}
    return bool(old & kept) and not old & new


def _lost_sessions(device: str, before: DeviceConfig, after: DeviceConfig) -> Iterator[LostPort]:
    """Yield the BGP sessions that a plan removes from a switch, except sessions on its configured ports.

    ``before`` and ``after`` are the configurations of the switch before and after the plan.
    """
    ports = {port.name for port in before.interfaces}
    sides = [
        {
            session.peer_address: session
            for group in (config.bgp.groups if config.bgp else ())
            for session in group.sessions
            if session.peer_address is not None
        }
        for config in (before, after)
    ]
    for address, session in sides[0].items():
        if address not in sides[1] and session.interface not in ports:
            peer = f"{address} (AS {session.peer_as})" if session.peer_as else str(address)
            yield LostPort(device, str(address), "session", (peer,), certain=True, loses=("its BGP session",))


def with_running_cables(
    network: Network, configs: Mapping[str, DeviceConfig]
) -> tuple[Network, dict[str, DeviceConfig]]:
    """Return (network, configurations) with those cables between switches added that are in use but not in the design.

    Two ports have such a cable if the description of each names the other. Routes are then computed over this cable, not
    over the cable that the design has on these ports.
    """
    designed, described = designed_ends(network), _described(configs)
    tiers = {switch.name: TIERS.index(switch.role) for switch in network.switches}
    colors = {
        switch.name: {cable.color for cable in network.cables_of(switch.name) if cable.kind == "fabric"}
        for switch in network.switches
    }
    cables: dict[tuple[str, str], Cable] = {}
    for place, far in described.items():
        if described.get(far) != place or designed.get(place) == far or place in cables or far not in described:
            continue
        lower, upper = sorted((place, far), key=lambda end: (-tiers[end[0]], end))
        port = next(port for port in configs[lower[0]].interfaces if port.name == lower[1])
        common = colors[upper[0]] if len(colors[upper[0]]) == 1 else {None}
        a, b = (End(*end, None, None, "", "") for end in (lower, upper))
        fabric = network.switch(lower[0]).fabric
        cables[place] = cables[far] = Cable(
            "fabric", fabric, a, b, port.speed_gbps, port.length_m, measured=False, color=next(iter(common))
        )
    if not cables:
        return network, dict(configs)
    new = dict.fromkeys(cables.values())
    return replace(network, cables=(*network.cables, *new)), {
        name: _with_links(
            config, {port: cable.name for (device, port), cable in cables.items() if device == name}, described
        )
        for name, config in configs.items()
    }


def _with_links(
    config: DeviceConfig, links: Mapping[str, str], named: Mapping[tuple[str, str], tuple[str, str]]
) -> DeviceConfig:
    if not links:
        return config
    interfaces = tuple(
        replace(
            port,
            link=links[port.name],
            peer=named[config.name, port.name][0],
            peer_port=named[config.name, port.name][1],
        )
        if port.name in links
        else port
        for port in config.interfaces
    )
    bgp = config.bgp and replace(
        config.bgp,
        groups=tuple(
            replace(
                group,
                sessions=tuple(
                    replace(session, link=links.get(session.interface, session.link)) for session in group.sessions
                ),
            )
            for group in config.bgp.groups
        ),
    )
    isis = config.isis and replace(
        config.isis,
        ports=tuple(replace(port, link=links.get(port.interface, port.link)) for port in config.isis.ports),
    )
    return replace(config, interfaces=interfaces, bgp=bgp, isis=isis)


def lines(ports: Sequence[LostPort]) -> Iterator[str]:
    """Yield sentences that list the lost ports, such as ``LOST for good: 2 links: …``. Each sentence is about one kind of far end.

    Ports whose far end has a port in the design are in separate sentences, because they are lost only until recabled.
    """
    for recabled in (True, False):
        when = "until recabled" if recabled else "for good"
        some = [port for port in ports if bool(port.later) == recabled]
        nics = [port for port in some if port.kind == "server" and port.certain]
        if nics:
            yield f"LOST {when}: {counted(len(nics), 'NIC')} with all queue pairs: {_some(map(_place, nics))}"
        for kind, singular, plural in (
            ("fabric", "link", "links"),
            ("external", "link to a device outside the fabric", "links to devices outside the fabric"),
            ("session", "BGP session", "BGP sessions"),
        ):
            places = [_place(port) for port in some if port.kind == kind]
            if places:
                yield f"LOST {when}: {counted(len(places), singular, plural)}: {_some(places)}"
    unknown = [port for port in ports if port.kind == "server" and not port.certain]
    if unknown:
        names = dict.fromkeys(name for port in unknown for name in port.attached)
        by_design = f"by the design, its NICs without a port are {_some(names)}" if names else "nor does the design"
        yield (
            f"LOST: the servers' NICs on {counted(len(unknown), 'port')}, with all queue pairs: "
            f"{_some(f'{port.device} {port.port}' for port in unknown)}. The configuration does not name the NICs; {by_design}"
        )


def _place(port: LostPort) -> str:
    far = port.attached[0] if port.attached else "an unnamed device"
    later = f" (designed: {port.later})" if port.later else ""
    return f"{far} on {port.device}{later}" if port.kind == "session" else f"{far} on {port.device} {port.port}{later}"


def _some(names: Iterable[str]) -> str:
    every = list(names)
    return ", ".join(every[:_NAMES]) + (f" and {len(every) - _NAMES} more" if len(every) > _NAMES else "")
