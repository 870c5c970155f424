"""The states of a running network as checks read them, and the deviations (differences from the design) that checks report."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import ip_network
from typing import TYPE_CHECKING, Literal

from railweave.model.intent.reading.source import Field
from railweave.model.state.protocols import Route as ReportedRoute
from railweave.model.state.question import DEFAULT_VRF

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from railweave.analysis.checks.devices import DeviceCheck
    from railweave.analysis.expect import Expected
    from railweave.analysis.expect.hosts import ExpectedHost
    from railweave.model.config.addresses import Prefix
    from railweave.model.device.expected import Keys, Route
    from railweave.model.findings import Severity
    from railweave.model.findings.registry import Rule
    from railweave.model.network.devices import Cable, RoleName
    from railweave.model.network.model import Network
    from railweave.model.state.device_state import DeviceState
    from railweave.model.state.host_state import HostState
    from railweave.model.state.question import Question

Kind = Literal[
    "device",
    "link",
    "session",
    "nic",
    "daemon",
    "gateways",
    "answers",
    "vrf",
    "prefix",
    "port",
    "routing",
    "statics",
    "tenants",
]
Part = tuple[Kind, str]
"""A part of the network that a fault can break, or on which a faulty part depends, as (kind, name).

Each of these kinds is a word of ``Kind``:

- a device, its daemons, its answers, or a VRF on it (``DEVICE VRF``)
- a link, the routing session of a link, a NIC, the gateways of a leaf, or the prefix of a loopback address
- a part of a configuration: a port of a device, the policies of all devices (with an empty name), the static routes of a device,
  or the tenants of all devices
"""


@dataclass(frozen=True)
class Visibility:
    """The states that a network can report. Real devices report everything; a lab does not.

    - ``switch``, ``server``: functions that remove from a state the values that the device cannot report correctly.
    - ``not_asked``: the names of the subjects (kinds of state) that the network cannot report, each with the reason.
    """

    switch: Callable[[DeviceState], DeviceState] = lambda state: state
    server: Callable[[HostState], HostState] = lambda state: state
    not_asked: Mapping[str, str] = field(default_factory=dict[str, str])


EVERYTHING = Visibility()
"""The visibility of a network of real devices."""


OVERRIDING = {"static", "kernel", "aggregate"}
"""Route protocols that no design uses for its prefixes. A route of such a protocol overrides the designed route."""


@dataclass(frozen=True)
class NetworkStates:
    """The expected and the reported state of each device. Servers are expected if any server was queried.

    - ``before``, ``hosts_before``: states from an earlier capture, to compare counters with.
    - ``silent``: devices that did not answer, with the reason if it is known.
    - ``unanswered``: for each device, the queries that it did not answer, with the reason.
    - ``questions``: for each switch, the queries about its state. The switch must answer those that are not optional.
    - ``configurations``: for each switch whose running configuration is known, the comparison with its design.
    - ``configuration_parts``: for each switch, each part of its running configuration, with True if it was read.
    - ``moved``: for each switch whose running configuration changed since the earlier capture, the lines that changed.
    - ``rerouted_by``: the function of (device, prefix) that ``identity.rerouted_by`` returns: True if the running and the designed
      configurations may give the device different routes to the prefix, in a network without faults. None if that cannot be computed.
    """

    network: Network
    expected: dict[str, Expected]
    states: dict[str, DeviceState]
    before: dict[str, DeviceState] = field(default_factory=dict[str, "DeviceState"])
    silent: dict[str, str] = field(default_factory=dict[str, str])
    unanswered: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    questions: dict[str, tuple[Question, ...]] = field(default_factory=dict[str, "tuple[Question, ...]"])

    servers_expected: dict[str, ExpectedHost] = field(default_factory=dict[str, "ExpectedHost"])
    hosts: dict[str, HostState] = field(default_factory=dict[str, "HostState"])
    hosts_before: dict[str, HostState] = field(default_factory=dict[str, "HostState"])
    configurations: dict[str, DeviceCheck] = field(default_factory=dict[str, "DeviceCheck"])
    moved: dict[str, tuple[str, ...]] = field(default_factory=dict[str, "tuple[str, ...]"])
    rerouted_by: Callable[[str, str], bool] | None = None
    configuration_parts: dict[str, dict[str, bool]] = field(default_factory=dict[str, "dict[str, bool]"])

    def rerouted(self, device: str, prefix: str) -> bool:
        """Return True if the running and the designed configurations may give a device different routes to a prefix."""
        return self.rerouted_by is None or self.rerouted_by(device, prefix)

    @cached_property
    def roles(self) -> dict[str, RoleName]:
        """The role of each switch."""
        return {switch.name: switch.role for switch in self.network.switches}

    @cached_property
    def cables(self) -> dict[str, Cable]:
        """The cables of the design, by link."""
        return {cable.name: cable for cable in self.network.cables}

    @cached_property
    def tenant_prefixes(self) -> frozenset[Prefix]:
        """The prefixes of all tenants."""
        return frozenset(prefix for expected in self.expected.values() for prefix in expected.vrfs)

    @cached_property
    def _routes(self) -> dict[str, list[tuple[Route, ReportedRoute | None]]]:
        return {}

    def routes(self, device: str) -> list[tuple[Route, ReportedRoute | None]]:
        """Return pairs for a device that answered: each expected route, and the route to the same prefix that the device reported.

        If the device reported its complete table and the table lacks the prefix, the reported route has no next hops. If the device was not
        queried for the route, the reported route is None. The pairs are cached.
        """
        if device not in self._routes:
            expected, state = self.expected[device], self.states[device]
            wanted = {str(route.prefix) for route in expected.routes}
            reported: dict[str, list[ReportedRoute]] = {}
            for each in state.routes or ():
                if each.prefix in wanted:
                    reported.setdefault(each.prefix, []).append(each)
            vrfs = expected.vrfs
            pairs: list[tuple[Route, ReportedRoute | None]] = []
            for route in expected.routes:
                vrf = vrfs.get(route.prefix, None if route.prefix in self.tenant_prefixes else DEFAULT_VRF)
                answer = _of_vrf(reported.get(str(route.prefix), []), vrf)
                if vrf is not None and (answer is None or answer.vrf != vrf) and has_table(state, vrf, route.prefix):
                    answer = ReportedRoute(str(route.prefix), vrf)
                pairs.append((route, answer))
            self._routes[device] = pairs
        return self._routes[device]

    @cached_property
    def vrf_owners(self) -> dict[tuple[str, Prefix], str]:
        """The leaf to which each prefix in a VRF belongs. The key is (VRF, prefix)."""
        return {
            (tenant.vrf, prefix): expected.device
            for expected in self.expected.values()
            for tenant in expected.tenants
            for prefix in tenant.own_prefixes
        }

    @cached_property
    def nics_by_address(self) -> dict[str, tuple[str, str]]:
        """The NIC of each static address, as (``SERVER:NIC``, MAC address). The MAC address is empty if the inventory has none."""
        return {
            address.address.partition("/")[0]: (f"{server.name}:{nic.name}", "" if nic.mac_is_placeholder else nic.mac)
            for server in self.network.servers
            for nic in server.nics
            for address in nic.addresses
            if address.origin != "slaac"
        }

    @cached_property
    def nics_by_mac(self) -> dict[str, str]:
        """The NIC of each MAC address in the inventory, as ``SERVER:NIC``."""
        nics = ((server, nic) for server in self.network.servers for nic in server.nics)
        return {nic.mac: f"{server.name}:{nic.name}" for server, nic in nics if not nic.mac_is_placeholder}

    @cached_property
    def _default_routes(self) -> dict[str, dict[str, ReportedRoute]]:
        return {}

    def default_routes(self, device: str) -> dict[str, ReportedRoute]:
        """Return the routes outside VRFs that a device reported, by prefix."""
        if device not in self._default_routes:
            routes = self.states[device].routes or ()
            self._default_routes[device] = {route.prefix: route for route in routes if route.vrf == DEFAULT_VRF}
        return self._default_routes[device]

    @cached_property
    def _designed(self) -> dict[tuple[int, int], set[int]]:
        """The designed prefixes: the network addresses as numbers, by (IP version, prefix length)."""
        addresses: dict[tuple[int, int], set[int]] = {}
        prefixes = {
            prefix
            for segment in self.network.segments
            for net in segment.subnets
            for prefix in (net.prefix, net.routed_by)
        }
        prefixes |= {switch.loopback for switch in self.network.switches if switch.loopback}
        prefixes |= {end.address for switch in self.network.switches for end in switch.endpoints}
        for network in map(ip_network, prefixes):
            addresses.setdefault((network.version, network.prefixlen), set()).add(int(network.network_address))
        return addresses

    def has_prefix(self, text: str) -> bool:
        """Return True if a prefix is inside a designed prefix of servers, loopbacks or tunnel endpoints."""
        try:
            prefix = ip_network(text, strict=False)
        except ValueError:
            return False
        first = int(prefix.network_address)
        return any(
            version == prefix.version
            and length <= prefix.prefixlen
            and first >> (shift := prefix.max_prefixlen - length) << shift in known
            for (version, length), known in self._designed.items()
        )

    def servers(self) -> Iterator[tuple[ExpectedHost, HostState]]:
        """Yield the expected and the reported state of each server that answered."""
        for device, expected in self.servers_expected.items():
            state = self.hosts.get(device)
            if state is not None:
                yield expected, state

    def pairs(self) -> Iterator[tuple[Expected, DeviceState]]:
        """Yield the expected and the reported state of each device that answered."""
        for device, expected in self.expected.items():
            state = self.states.get(device)
            if state is not None:
                yield expected, state


def _of_vrf(routes: Sequence[ReportedRoute], vrf: str | None) -> ReportedRoute | None:
    """Return the route in the VRF ``vrf``. ``routes`` are the reported routes to one prefix, in all VRFs.

    If the VRF has no route, return the first route whose protocol is not in ``OVERRIDING``, or else None.
    """
    here = [route for route in routes if route.vrf == vrf]
    return next(iter(here or [route for route in routes if route.protocol not in OVERRIDING]), None)


def has_table(state: DeviceState, vrf: str, prefix: Prefix) -> bool:
    """Return True if the complete routing table of ``vrf``, for the address family of the prefix, was read from the device.

    A route that is absent from such a table does not exist on the device.
    """
    return state.routes is not None and f"routes-{'ipv6' if ':' in prefix else 'ipv4'}@{vrf}" in state.answered


@dataclass(frozen=True, slots=True)
class Deviation:
    """A difference between the design and the running network.

    - ``breaks``: the parts of the network that cannot work because of this fault.
    - ``needs``: the parts that the faulty part depends on. Another fault that breaks one of them explains this fault.
    - ``link``: the link, if both of its ends may report this deviation; the two reports become one finding. Empty otherwise.
    - ``because``: the section of the fabric file that determines the design, as keys.
    - ``field``: the name of the field in this section, if the rule is about several fields.
    - ``asked``: the fields of the fabric file that may require the value, if they differ from the fields of the rule.
    - ``peer``: the switch at the other end of a session, or the NIC (``SERVER:NIC``) of an address or neighbor.
    - ``objects``: the number of expected objects that are wrong, for example missing prefixes.
    - ``depth``: the rank among possible causes (0 is the deepest cause), if it differs from the rank of the rule.
    - ``prefixes``: the affected prefixes, if the deviation is about routes.
    """

    rule: Rule
    device: str
    what: str
    because: Keys = ()
    port: str = ""
    link: str = ""
    breaks: frozenset[Part] = frozenset()
    needs: frozenset[Part] = frozenset()
    severity: Severity | None = None
    fix: str | None = None
    objects: int = 1
    depth: int | None = None
    prefixes: tuple[str, ...] = ()
    field: str = ""
    peer: str = ""
    asked: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The device, followed by the port if the deviation is about a port."""
        return f"{self.device} {self.port}".rstrip()


OF_PREFIX = (".addressing.server_prefix", ".addressing.server_pool")
OF_ROUTE = ("overlay?.overlay.vtep", *OF_PREFIX)
OF_NIC_ADDRESS = ("overrides.nics.{nic}.addresses", *OF_PREFIX)
OF_TENANT = (".tenants.{tenant}.members", ".tenant_slices.servers")
OF_COLOR = (".colors", ".paths_per_nic", ".load_balancing.mode")
_OF_EXTERNAL = "tenants?.tenants.{tenant}.external"
_OF_EDGE = "edge_ports?.edge_ports.{edge}"
OF_CABLE = (
    "server?servers.{server}.names",
    f"{_OF_EDGE}.port",
    _OF_EXTERNAL,
    "interconnect?.topology.interconnect.links",
    ".topology.{links}",
)
OF_SPEED = (
    "server?servers.{server}.model",
    f"{_OF_EDGE}.speed",
    _OF_EXTERNAL,
    "interconnect?.topology.interconnect.link_speed",
    ".topology.link_speed",
)
"""Fields of the fabric file that may require a speed. The constants above are those for prefixes, routes, NIC addresses, VRFs, colors, cables.

- A path that begins with a dot is inside the fabric. A path that begins with ``role`` or ``qos`` is inside the section of the
  device's role.
- A path with ``WORD?`` in front is used only if the word is a key of the deviation's ``because``, or the kind of its port
  (``server``, ``interconnect``). The paths after it are then left out.
- ``_names`` has the names that replace words in braces. A path with a name that a deviation does not have is left out.
"""
_SECTIONS = {
    "leaf": ("leaf",),
    "spine": ("spine", "leaf"),
    "super-spine": ("super_spine", "spine", "leaf"),
    "dci": ("dci", "spine", "leaf"),
}
"""The sections of the fabric file with the settings of a role. The first section that the file has is used."""
_TIERS = {"leaf": "stripes", "spine": "spines", "super-spine": "super_spines", "dci": "interconnect"}
"""The field of ``topology`` that determines how many devices a role has."""


def asked_by(living: NetworkStates, deviation: Deviation) -> list[Field]:
    """Return the fields of the fabric file that a deviation (difference from the design) may contradict, the most specific first.

    ``living`` has the expected and the reported states.
    """
    names, kind = _names(living, deviation)
    words = {*deviation.because, kind}
    fabric = ("fabrics", names.get("fabric", ""))
    sections = _SECTIONS.get(names.get("switch_role", ""), ())
    fields: list[Field] = []
    for template in deviation.asked or deviation.rule.asked:
        word, _, path = template.rpartition("?")
        if (word and word not in words) or not {*re.findall(r"{(\w+)}", path)} <= names.keys():
            continue
        head, *keys = (part.format_map(names) for part in path.split("."))
        if head in {"role", "qos"}:
            override = ("overrides", "devices", deviation.device, *keys)
            fields.append(Field(override, override))
        if head == "role":
            fields += [Field((*fabric, section, *keys), (*fabric, section)) for section in sections]
        elif head == "qos":
            for section in sections:
                whole = (*fabric, section)
                fields += [Field((*whole, "qos", *keys), (*whole, "qos")), Field((*fabric, "qos", *keys), whole)]
        else:
            whole = (*((head,) if head else fabric), *keys)
            fields.append(Field(whole, whole))
        if word:
            break
    return fields


def _names(living: NetworkStates, deviation: Deviation) -> tuple[dict[str, str], str]:
    """Return (names, kind) for a deviation: the names that replace words in braces in field paths, and the kind of its port.

    ``living`` has the expected and the reported states.
    """
    network, device = living.network, deviation.device
    names = {"device": device, "peer": deviation.peer, "field": deviation.field}
    roles = living.roles
    port = deviation.port.partition(" and ")[0]
    server = living.servers_expected.get(device)
    kind, link = "", deviation.link
    if server is not None:
        nics = [nic for nic in server.nics if nic.name == port] or server.nics[:1]
        link = nics[0].link if nics else ""
        names |= {"server": device, "nic": f"{device}:{port}", "interface": port}
        kind = "server"
    elif device in living.expected:
        role = roles[device]
        names |= {"fabric": network.switch(device).fabric, "switch_role": role, "tier": _TIERS[role]}
        names["role"] = role.replace("-", "_")
        wanted = next((each for each in living.expected[device].ports if each.name == port), None)
        names["ports"] = "server_port"
        if wanted is not None:
            kind, link = "" if wanted.kind == "fabric" else wanted.kind, wanted.link
            names["server" if kind == "server" else "peer"] = wanted.peer
            names["ports"] = "fabric" if wanted.kind == "fabric" else "server_port"
    cable = living.cables.get(link)
    if cable is not None:
        ends = [roles.get(end.device, "") for end in (cable.a, cable.b)]
        names["fabric"] = cable.fabric
        names["links"] = "links_per_super_spine" if "super-spine" in ends else "links_per_spine"
        if "dci" in ends or ends[0] == ends[1]:
            kind = "interconnect"
        names["cabling"] = cable.kind if kind != "interconnect" else kind
    if names["peer"] in roles:
        names["peer_role"] = roles[names["peer"]].replace("-", "_")
    elif deviation.peer:
        names["server"], _, names["interface"] = deviation.peer.partition(":")
    if "tenants" in deviation.because[:-1]:
        names["tenant"] = deviation.because[-1]
    edges = network.fabric(names["fabric"]).edge_ports if "fabric" in names else ()
    names["edge"] = next((edge.name for edge in edges if edge.link == link), "")
    return {key: name for key, name in names.items() if name}, kind


def some(names: Iterable[object], most: int = 3) -> str:
    """Return the first ``most`` names, separated by commas, with the number of further names: ``a, b, c, 4 more``."""
    words = [str(name) for name in names]
    more = [f"{len(words) - most} more"] if len(words) > most else []
    return ", ".join([*words[:most], *more])


def link_and_ends(link: str, *devices: str) -> frozenset[Part]:
    """Return the link and the devices at its ends, as parts of the network."""
    return frozenset([("link", link), *(("device", device) for device in devices)])
