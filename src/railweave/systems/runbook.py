"""Runbooks of systems, written as texts with placeholders. One function fills in the values of a switch for every operating system.

A step in a text has a few lines::

    #[bgp.bfd] BFD
    $ show bfd peers
    - {bfd_sessions} up
    | sessions

The first character shows the kind of a line:

- ``#`` is the title of a step, and begins the step.
- ``$`` is a command to enter.
- ``-`` is a point that the output of the command must show.
- ``|`` is the name of a table to print.

Names in braces are names in ``VALUES``, or attributes of ``Switch``. A line is left out if a name in it has no value.
It is printed several times if a name has several values. ``{?name}`` and ``{!name}`` print nothing: they leave out the
line if the value is missing (``?``) or present (``!``). Names in brackets after ``#`` are such conditions for the whole
step; ``*name`` in brackets prints the step once for each value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from railweave.counting import counted
from railweave.model.catalog import catalog
from railweave.model.config.naming import target_value
from railweave.model.device.expected import PAM4_GBPS

if TYPE_CHECKING:
    from railweave.model.device.expected import ExpectedRouting
    from railweave.model.device.model import DeviceConfig, Gateway, Marking
    from railweave.model.device.qos_model import TrafficClass
    from railweave.model.network.model import Network


@dataclass(frozen=True, slots=True)
class Check:
    """A check: the commands to enter on the switch, and their expected output.

    The output is described by sentences (``points``) and by a table with the column titles ``header`` and the rows ``rows``.
    """

    title: str
    commands: tuple[str, ...]
    points: tuple[str, ...]
    header: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()


class Text(str):
    """A piece of a sentence that fills a placeholder. If the piece is empty, the line is still printed.

    Any other empty value leaves the line out.
    """


class Table(NamedTuple):
    """A routing table that a step shows: its address family, its VRF, and the prefix of one of its routes."""

    family: str
    vrf: str = ""
    prefix: str = ""

    @property
    def ip(self) -> str:
        """The keyword for the address family in commands with ``ip`` for IPv4 and ``ipv6`` for IPv6."""
        return "ipv6" if self.family == "ipv6" else "ip"

    @property
    def junos(self) -> str:
        """The name of a VRF's routing table in Junos, for example ``red.inet.0``."""
        return f"{self.vrf}.{'inet6' if self.family == 'ipv6' else 'inet'}.0"


class Switch:
    """A switch whose runbook is written. ``switch[name]`` is the value of a placeholder such as ``{bfd_sessions}``.

    Optional fields of the configuration are typed as ``Any`` here: a step about such a field is printed only if it exists.
    """

    def __init__(
        self,
        values: Values,
        config: DeviceConfig,
        network: Network | None = None,
        expected: ExpectedRouting | None = None,
        serial: str = "",
    ) -> None:
        self._values = values
        self.config, self.serial = config, serial
        self.network, self.expected = cast("Network", network), cast("ExpectedRouting", expected)
        self.bgp: Any = config.bgp
        self.isis: Any = config.isis
        self.overlay: Any = config.overlay
        self.qos: Any = config.qos
        self.entry: Any = None
        """The value for which a repeated step is being printed."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - any value
        return self._values[name](self) if name in self._values else getattr(self, name)


Values = Mapping[str, Callable[[Switch], Any]]
Tables = Mapping[str, tuple[tuple[str, ...], Callable[[Switch], Iterable[tuple[object, ...]]]]]
"""The tables of a runbook, by name: (the column titles, the function that returns the rows for a switch)."""


def _timers(bfd: Any) -> str:  # noqa: ANN401 - of sessions or adjacencies
    return f"{bfd.minimum_interval} ms x {bfd.multiplier}, down after {bfd.detection_ms():,} ms" if bfd else ""


def _modules(switch: Switch) -> tuple[dict[str, set[tuple[str, int | str]]], Counter[str]]:
    """Return (modules, links), two dictionaries whose keys are models of optical modules.

    ``modules`` has the modules of each model in this switch, as (device, port). ``links`` has the number of the switch's links with this
    model.
    """
    places: dict[str, set[tuple[str, int | str]]] = {}
    links: Counter[str] = Counter()
    for port in switch.config.interfaces:
        if not port.outside:
            cable = switch.network.cable(port.link)
            here = cable.a if cable.a.device == switch.config.name else cable.b
            places.setdefault(here.optic, set()).add(here.module)
            links[here.optic] += 1
    return places, links


def _module_points(switch: Switch) -> Iterator[str]:
    """Yield sentences about optical modules and cables, each a point to check: their number, the received light, bit errors."""
    optics, links = catalog().optics, _modules(switch)[1]
    light = sum(count for name, count in links.items() if name in optics and optics[name].kind == "optic")
    yield "the modules and cable assemblies below, as many as below"
    if light:
        yield f"light on {counted(light, 'optical link')}: no alarm and no warning, high or low, sent or received"
    if any(port.speed_gbps in PAM4_GBPS for port in switch.config.interfaces if not port.outside):
        yield f"error correction is RS(544,514) of IEEE 802.3 clause 119 on ports of 200G and more{switch['fec']}, the same at both ends"
        yield "where the bit error rate before correction is shown: below 2.4e-4, the most that the code corrects"
    yield "uncorrected errors and CRC errors 0 on every port, and still 0 an hour later; corrected ones are normal"


def _module_rows(switch: Switch) -> Iterator[tuple[object, ...]]:
    optics, (places, links) = catalog().optics, _modules(switch)
    for name, there in places.items():
        yield name, len(there), links[name], optics[name].description if name in optics else "not in the catalog"


def _overlay_points(switch: Switch) -> Iterator[str]:
    overlay = switch.overlay
    yield f"{counted(len(overlay.neighbors), 'session')} of the group overlay established, from {overlay.loopback}"
    if overlay.bfd:
        yield f"BFD up on each, {_timers(overlay.bfd)}"
    if overlay.endpoints:
        yield f"tunnels end on {', '.join(end.address for end in overlay.endpoints)}"


def _tenant_points(switch: Switch) -> Iterator[str]:
    config, fabric = switch.config, switch.network.fabric(switch.network.switch(switch.config.name).fabric)
    local = "the VRF's gateways" + (" and loopbacks" if any(vrf.loopbacks for vrf in config.vrfs) else "")
    yield f"own prefixes are those of {local}; the others come as EVPN type-5 routes with its route target"
    if switch["from_outside"]:
        yield f"besides them VRFs with a router outside hold {switch['from_outside']}"
    leaks = "; ".join(f"{vrf.name} takes in those of {', '.join(vrf.leaks)}" for vrf in fabric.tenants if vrf.leaks)
    designed = f", or of one that its tenant takes in by `leaks` ({leaks})," if leaks else ""
    yield f"a prefix in a VRF that is not its tenant's{designed} is a leak: stop, and compare route targets"


def _external(switch: Switch) -> list[tuple[str, Any]]:
    """Return the sessions with external routers, as (the name of the VRF on the switch, the session)."""
    return [(switch["vrf"](vrf.name), peer) for vrf in switch.config.vrfs for peer in vrf.external]


def _examples(switch: Switch) -> tuple[Table, ...]:
    """Return a ``Table`` with the first route of each address family, as an example for commands that need a prefix."""
    tables: dict[str, Table] = {}
    for route in switch["routes"]:
        tables.setdefault(route.prefix.family, Table(route.prefix.family, prefix=str(route.prefix)))
    return tuple(tables.values())


def _bfd_sessions(switch: Switch) -> str:
    overlay = len(switch.overlay.neighbors) if switch.overlay and switch.overlay.bfd else 0
    return counted(len(switch.expected.sessions) + overlay, "session")


def _gateway_name(gateway: Gateway) -> str:
    return f"Vlan{gateway.vlan}" if gateway.vlan else gateway.port


def _share(row: TrafficClass) -> str:
    weight = f"weight {row.transmit_percent}" if row.transmit_percent else "–"
    return "strict" if row.priority == "strict-high" else weight


def _marked(ecn: Marking) -> str:
    return f"{ecn.first:,} to {ecn.last:,} B, up to {ecn.probability} %"


VALUES: Values = {
    # Names of objects on the system.
    "fec": lambda _: "",
    "vrf": lambda _: str,
    "target": lambda _: target_value,
    "port": lambda _: "{}",
    "discovered": lambda _: "{}",
    "split": lambda _: "{}: {}x{}G",
    "gateway_name": lambda _: _gateway_name,
    # Ports and modules.
    "user": lambda switch: next(iter(switch.config.management.users), "USER"),
    "first": lambda switch: switch.config.interfaces[0].name if switch.config.interfaces else "PORT",
    "ports": lambda switch: counted(len(switch.config.interfaces), "port"),
    "mtus": lambda switch: ", ".join(map(str, sorted({port.mtu for port in switch.config.interfaces}))),
    "switches": lambda switch: counted(len(switch.config.fabric_interfaces()), "switch", "switches"),
    "splits": lambda switch: ", ".join(
        switch["split"].format(part.port, part.channels, part.speed_gbps)
        for part in switch.config.splits
        if part.channels > 1
    ),
    "module_points": lambda switch: tuple(_module_points(switch)),
    "secured_ports": lambda switch: [port for port in switch.config.interfaces if port.macsec is not None],
    "secured": lambda switch: counted(len(switch["secured_ports"]), "interface"),
    "secured_names": lambda switch: ", ".join(port.name for port in switch["secured_ports"]),
    "macsec": lambda switch: next((port.macsec for port in switch["secured_ports"]), None),
    # Routing. Routes to other leaves are in the default VRF.
    "neighbors": lambda switch: counted(len(switch.expected.sessions), "neighbor"),
    "both_families": lambda switch: (
        len(switch.bgp.families) > 1
        and "the counts below are of both families together: add those of the two summaries"
    ),
    "bfd_sessions": _bfd_sessions,
    "session_timers": lambda switch: _timers(switch.bgp.bfd),
    "bfd_timers": lambda switch: (
        _timers(switch.bgp.bfd)
        + ("; those of the overlay have timers of their own" if switch.overlay and switch.overlay.bfd else "")
    ),
    "isis_timers": lambda switch: _timers(switch.isis.bfd),
    "adjacencies": lambda switch: counted(len(switch.isis.ports), "adjacency", "adjacencies"),
    "isis_sessions": lambda switch: counted(len(switch.isis.ports), "session"),
    "isis_neighbors": lambda switch: counted(len(switch.isis.ports), "neighbor"),
    "passive": lambda switch: counted(len(switch.isis.passive), "server port"),
    "routes": lambda switch: switch.expected.underlay,
    "leaf": lambda switch: switch["routes"][0].leaf if switch["routes"] else "",
    "example": _examples,
    # The overlay, tenants, and routers outside.
    "overlay_points": lambda switch: tuple(_overlay_points(switch)),
    "tenant": lambda switch: tuple(
        Table(family, switch["vrf"](vrf.name)) for vrf in switch.config.vrfs[:1] for family in vrf.families()
    ),
    "tenant_points": lambda switch: tuple(_tenant_points(switch)),
    "from_outside": lambda switch: (
        any(vrf.external for vrf in switch.config.vrfs)
        and "the prefixes of links to routers outside, and what those announce, as a default route"
    ),
    "external": lambda switch: tuple(
        dict.fromkeys(Table(peer.session.local_address.family, vrf) for vrf, peer in _external(switch))
    ),
    "external_sessions": lambda switch: counted(len(_external(switch)), "session"),
    # Servers.
    "gateway": lambda switch: Table(switch.config.gateways[0].addresses[0].family),
    "first_gateway": lambda switch: switch["gateway_name"](switch.config.gateways[0]),
    "advertised": lambda switch: next(
        (gateway.advertisements for gateway in switch.config.gateways if gateway.advertisements), None
    ),
    # Classes and PFC.
    "dog": lambda switch: switch.qos and switch.qos.watchdog,
    "classes": lambda switch: sorted(switch.qos.classes.items(), key=lambda item: item[1].queue),
    "lossless": lambda switch: ", ".join(
        map(
            str,
            sorted(
                row.pfc_priority
                for row in (switch.qos.classes.values() if switch.qos else ())
                if row.pfc_priority is not None
            ),
        )
    ),
    "bound": lambda switch: counted(len(switch.qos.ports), "port"),
    "share": lambda _: _share,
    "marked": lambda _: _marked,
}

TABLES: Tables = {
    "modules": (("Module", "Modules", "Links", "What it is"), _module_rows),
    "sessions": (
        ("Group", "Neighbor", "Switch", "AS", "Prefixes received", "Prefixes sent", "Of the received, used"),
        lambda switch: (
            (
                row.group.name,
                row.session.peer_address or switch["discovered"].format(row.session.interface),
                row.session.peer,
                row.session.peer_as,
                row.received,
                row.sent,
                row.used,
            )
            for row in switch.expected.sessions
        ),
    ),
    "adjacencies": (
        ("Interface", "Neighbor", "Metric"),
        lambda switch: ((switch["port"].format(port.interface), port.peer, port.metric) for port in switch.isis.ports),
    ),
    "routes": (
        ("Prefix", "Path color", "Next hops"),
        lambda switch: (
            (route.prefix, route.color, ", ".join(map(switch["port"].format, route.ports)) or "none")
            for route in switch["routes"]
        ),
    ),
    "overlay": (
        ("Neighbor", "Switch", "AS"),
        lambda switch: ((peer.peer_address, peer.peer, peer.peer_as) for peer in switch.overlay.neighbors),
    ),
    "tenants": (
        ("VRF", "VNI", "Route distinguisher", "Route targets", "Own prefixes", "Prefixes of other leaves"),
        lambda switch: (
            (
                switch["vrf"](vrf.vrf),
                vrf.vni,
                vrf.route_distinguisher,
                ", ".join(map(switch["target"], dict.fromkeys((*vrf.import_targets, *vrf.export_targets)))),
                len(vrf.own_prefixes),
                len(vrf.learned),
            )
            for vrf in switch.expected.tenants
        ),
    ),
    "external": (
        ("VRF", "Neighbor", "Router", "AS", "Prefixes taken in"),
        lambda switch: (
            (vrf, peer.session.peer_address, peer.router, peer.session.peer_as, ", ".join(peer.accept))
            for vrf, peer in _external(switch)
        ),
    ),
    "gateways": (
        ("Interface", "Gateway", "Prefix"),
        lambda switch: (
            (switch["gateway_name"](gateway), address, prefix)
            for gateway in switch.config.gateways
            for address, prefix in zip(gateway.addresses, gateway.prefixes, strict=True)
        ),
    ),
    "classes": (
        ("Class", "Traffic class and queue", "DSCP", "Loss", "Scheduling", "ECN marking"),
        lambda switch: (
            (
                name,
                row.queue,
                ", ".join(map(str, row.dscp)) or "–",
                f"no-drop, PFC priority {row.pfc_priority}" if row.lossless else "lossy",
                switch["share"](row),
                switch["marked"](ecn) if (ecn := switch.qos.marking.get(name)) else "–",
            )
            for name, row in switch["classes"]
        ),
    ),
}


_HEAD = re.compile(r"#(?:\[([^\]]*)\])? (.*)")
_NAME = re.compile(r"\{([?!]?)([\w.]+)(?::([^}]*))?\}")


def _value(switch: Switch, name: str, bound: Mapping[str, object]) -> tuple[str, Any]:
    """Return (path, value) of a dotted name, such as ``bgp.sessions``.

    The path ends before the end of the name if a value on the way is a tuple or a list. ``bound`` has values, by path, that
    replace those of the switch.
    """
    value: Any = switch
    path = ""
    for part in name.split("."):
        above, path = path, f"{path}.{part}" if path else part
        if path in bound:
            value = bound[path]
            continue
        value = None if value is None or value is False else getattr(value, part) if above else switch[part]
        if type(value) in (tuple, list):
            break
    return path, value


@lru_cache(maxsize=1024)
def _names(text: str) -> tuple[tuple[str, str], ...]:
    """Return the names in braces on a line, as (sign, name). The sign is ``?``, ``!`` or empty."""
    return tuple((sign, name) for sign, name, _ in _NAME.findall(text))


def _printed(text: str, switch: Switch, bound: Mapping[str, object]) -> list[str]:
    """Return the printed lines for a line of the text: none if the line is left out, several if a name has several values.

    ``bound`` has values, by path, that replace those of the switch.
    """
    given: dict[str, Any] = {}
    for sign, name in _names(text):
        path, value = _value(switch, name, bound)
        if sign:
            if bool(value) is (sign == "!"):
                return []
        elif type(value) in (tuple, list):
            return [line for entry in value for line in _printed(text, switch, {**bound, path: entry})]
        elif value is None or value is False or (value == "" and not isinstance(value, Text)):
            return []
        given[name] = value
    if not given:
        return [text]
    return [_NAME.sub(lambda match: "" if match[1] else format(given[match[2]], match[3] or ""), text)]


@lru_cache(maxsize=32)
def _parsed(text: str) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Return (name, title, lines) of each step of a text.

    The step is repeated for each value of ``name``; an empty name means that the step is printed once. ``title`` begins
    with the step's conditions.
    """
    made: list[tuple[str, str, tuple[str, ...]]] = []
    for block in re.split(r"\n(?=#)", text.strip()):
        head, *lines = block.splitlines()
        names, title = cast("re.Match[str]", _HEAD.fullmatch(head)).groups(default="")
        conditions = (f"{{{name}}}" if name[0] in "?!" else f"{{?{name.lstrip('*')}}}" for name in names.split())
        each = next((name[1:] for name in names.split() if name[0] == "*"), "")
        made.append((each, f"{''.join(conditions)}{title}", tuple(lines)))
    return tuple(made)


class Runbook:
    """The runbook of a system: the texts of its load, identity and check steps, and the values and tables that only this system has."""

    def __init__(
        self,
        configuration: str,
        load: str,
        identity: str,
        checks: str,
        values: Values | None = None,
        tables: Tables | None = None,
    ) -> None:
        self.CONFIGURATION = configuration
        self._texts = load, identity, checks
        self._values, self._tables = {**VALUES, **(values or {})}, {**TABLES, **(tables or {})}

    def load(self, config: DeviceConfig) -> list[tuple[str, tuple[str, ...]]]:
        """Return the steps that load the configuration on the switch, each as (a sentence, the commands to enter)."""
        return [(step.title, step.commands) for step in self._steps(self._texts[0], Switch(self._values, config))]

    def identity(self, config: DeviceConfig, serial: str) -> Check:
        """Return the check of the device's identity. ``serial`` is the expected serial number."""
        return next(self._steps(self._texts[1], Switch(self._values, config, serial=serial)))

    def checks(self, network: Network, config: DeviceConfig, expected: ExpectedRouting) -> list[Check]:
        """Return every check after the configuration is loaded. A check on which others depend precedes them.

        ``expected`` is the state of routing that the checks must show.
        """
        return list(self._steps(self._texts[2], Switch(self._values, config, network, expected)))

    def _steps(self, text: str, switch: Switch) -> Iterator[Check]:
        """Yield the steps of a text that apply to a switch, with the switch's values filled in."""
        for each, title, lines in _parsed(text):
            for entry in _value(switch, each, {})[1] if each else (None,):
                switch.entry, bound = entry, {each: entry} if each else {}
                for printed in _printed(title, switch, bound):
                    yield self._step(printed, lines, switch, bound)

    def _step(self, title: str, lines: tuple[str, ...], switch: Switch, bound: Mapping[str, object]) -> Check:
        commands, points = (
            tuple(text for line in lines if line[0] == kind for text in _printed(line[2:], switch, bound))
            for kind in "$-"
        )
        for line in lines:
            if line[0] == "|":
                header, rows = self._tables[line[2:]]
                return Check(title, commands, points, header, tuple(rows(switch)))
        return Check(title, commands, points)
