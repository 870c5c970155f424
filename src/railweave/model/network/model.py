"""The class ``Network``: all design decisions about a network. It is vendor-neutral, immutable and complete.

A network is stored as ``design.json``. ``Network.from_json(network.to_json())`` gives an equal network.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, TypeAdapter

from railweave.counting import counted
from railweave.model.catalog import packaged
from railweave.model.catalog.hardware import Hardware
from railweave.model.findings import Finding
from railweave.model.intent.hosts import Hosts, Job
from railweave.model.intent.management import Management
from railweave.model.network.devices import Cable, Fabric, InactivePart, Nic, Position, Segment, Server, Switch
from railweave.model.network.overlay import ExternalLink, ExternalRouter, Rare, Tenant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from railweave.model.catalog.models import Catalog
    from railweave.model.config.addresses import Family

__all__ = ["SCHEMA", "SHOWN", "Hosts", "Job", "Network"]  # what is wanted of servers is part of a network

SCHEMA = 2
"""The version of ``design.json``. It increases when the meaning of the file changes."""
SHOWN = 3
"""The number of names that a sentence lists before it gives only the count."""


@dataclass(frozen=True)
class Network:
    """A designed network. Tuples have a stable order: fabrics and servers as in the file, devices by number."""

    name: str
    description: str
    management: Management
    hosts: Hosts
    fabrics: tuple[Fabric, ...]
    switches: tuple[Switch, ...]
    segments: tuple[Segment, ...]
    servers: tuple[Server, ...]
    cables: tuple[Cable, ...]
    findings: tuple[Finding, ...]
    schema: int = SCHEMA
    not_active: Annotated[tuple[InactivePart, ...], Rare] = ()
    hardware: Annotated[Hardware, Field(exclude_if=lambda models: models.empty)] = field(default_factory=Hardware)
    """The models of the network's devices that are not in the packaged catalog.

    They are part of the network so that any machine can read ``design.json``.
    """

    def to_json(self) -> bytes:
        """Return the network as the content of ``design.json``, which ends with a newline."""
        return _adapter().dump_json(self, indent=1) + b"\n"

    @staticmethod
    def from_json(data: bytes) -> Network:
        """Return the network in the content of a ``design.json``. Raise ``pydantic.ValidationError`` if the data is not valid."""
        return _adapter().validate_json(data)

    positions: Annotated[dict[str, Position], Field(exclude_if=lambda places: not places)] = field(
        default_factory=dict[str, Position]
    )
    """The rack positions of devices, by name. Devices that the file places in no rack are left out."""

    @cached_property
    def catalog(self) -> Catalog:
        """The packaged catalog, extended by the network's own hardware."""
        return packaged().with_hardware(self.hardware)

    @cached_property
    def _by_name(self) -> dict[str, Any]:
        return {
            "fabric": {fabric.name: fabric for fabric in self.fabrics},
            "switch": {switch.name: switch for switch in self.switches},
            "server": {server.name: server for server in self.servers},
        }

    @cached_property
    def _cable_by_name(self) -> dict[str, Cable]:
        return {cable.name: cable for cable in self.cables}

    @cached_property
    def _systems(self) -> dict[str, frozenset[tuple[str, str]]]:
        by_fabric: dict[str, set[tuple[str, str]]] = {}
        for switch in self.switches:
            if switch.role != "super-spine":
                by_fabric.setdefault(switch.fabric, set()).add((switch.nos, switch.release))
        return {fabric: frozenset(systems) for fabric, systems in by_fabric.items()}

    @cached_property
    def _cables_of(self) -> dict[str, list[Cable]]:
        result: dict[str, list[Cable]] = {}
        for cable in self.cables:
            result.setdefault(cable.a.device, []).append(cable)
            result.setdefault(cable.b.device, []).append(cable)
        return result

    @cached_property
    def spines_of_colors(self) -> dict[tuple[str, int], tuple[str, ...]]:
        """The names of the spines to which a leaf's uplinks of a path color lead, by leaf and ``Color.index``."""
        result: dict[tuple[str, int], dict[str, None]] = {}
        for cable in self.cables:
            if cable.kind == "fabric" and cable.color is not None:
                result.setdefault((cable.a.device, cable.color), {})[cable.b.device] = None
        return {leaf_and_color: tuple(spines) for leaf_and_color, spines in result.items()}

    @cached_property
    def _segments_of(self) -> dict[str, list[Segment]]:
        result: dict[str, list[Segment]] = {}
        for segment in self.segments:
            result.setdefault(segment.leaf, []).append(segment)
        return result

    @cached_property
    def _segment_by(self) -> dict[tuple[str, str, int, str, str], Segment]:
        return {segment.key: segment for segment in self.segments}

    @cached_property
    def _families(self) -> dict[str, set[Family]]:
        by_fabric: dict[str, set[Family]] = {}
        for segment in self.segments:
            if segment.subnets and not segment.network:  # those of the first family come before those of the second
                ends = (segment.subnets[0].prefix, segment.subnets[-1].prefix)
                by_fabric.setdefault(segment.fabric, set()).update("ipv6" if ":" in end else "ipv4" for end in ends)
        return by_fabric

    @cached_property
    def _of_tenants(self) -> dict[tuple[str, str], list[set[Family]]]:
        by_tenant: dict[tuple[str, str], list[set[Family]]] = {}
        for server in self.servers:
            for nic in server.nics:
                if nic.tenant and nic.addresses:
                    by_tenant.setdefault((nic.fabric, nic.tenant), []).append(
                        {address.family for address in nic.addresses}
                    )
        return by_tenant

    @cached_property
    def _long_links(self) -> dict[str, list[Cable]]:
        site = {switch.name: switch.site for switch in self.switches}
        result: dict[str, list[Cable]] = {}
        for cable in self.cables if len(set(site.values())) > 1 else ():
            if cable.kind == "fabric" and site[cable.a.device] != site[cable.b.device]:
                result.setdefault(cable.fabric, []).append(cable)
        return result

    @cached_property
    def _far_apart(self) -> frozenset[str]:
        return frozenset(cable.name for cables in self._long_links.values() for cable in cables)

    @cached_property
    def drained(self) -> frozenset[str]:
        """The names of drained devices and links, including those that are ``draining``."""
        return frozenset(inactive.name for inactive in self.not_active if inactive.status in {"drained", "draining"})

    @cached_property
    def drained_cables(self) -> frozenset[str]:
        """The names of cables that are drained themselves or end at a drained device."""
        off = self.drained
        return frozenset(c.name for c in self.cables if off & {c.name, c.a.device, c.b.device}) if off else off

    @cached_property
    def absent(self) -> frozenset[str]:
        """The names of absent switches, servers and cables.

        A device or cable is absent if it is planned, drained or failed. A cable is also absent if a device at one of its ends
        is absent.
        """
        named = {inactive.name for inactive in self.not_active if inactive.status != "draining"}
        cables = (cable.name for cable in self.cables if cable.a.device in named or cable.b.device in named)
        return frozenset(named.union(cables)) if named else frozenset()

    @cached_property
    def most_nics(self) -> dict[str, tuple[int, int]]:
        """(largest number of NICs per server, highest NIC speed in Gb/s) for each fabric, by name."""
        result: dict[str, tuple[int, int]] = {}
        for server in self.servers:
            for fabric, count in Counter(nic.fabric for nic in server.nics).items():
                speed = max(nic.speed_gbps for nic in server.nics if nic.fabric == fabric)
                most, fastest = result.get(fabric, (0, 0))
                result[fabric] = (max(most, count), max(fastest, speed))
        return result

    @cached_property
    def rail_sizes(self) -> Counter[tuple[str, str, int]]:
        """The number of NICs on each rail of a stripe, by (fabric, stripe, rail)."""
        return Counter((nic.fabric, nic.stripe, nic.rail) for server in self.servers for nic in server.nics)

    @cached_property
    def network_sizes(self) -> Counter[tuple[str, str]]:
        """The number of NICs in each layer-2 network, by (fabric, network name)."""
        return Counter((nic.fabric, nic.network) for server in self.servers for nic in server.nics if nic.network)

    def absent_words(self) -> str:
        """Return a phrase that lists the absent devices and links, or an empty string if nothing is absent.

        For example: ``16 servers planned (H100-17, …), 1 switch failed (spine4)``.
        """
        switches = {switch.name for switch in self.switches}
        servers = {server.name for server in self.servers}
        kinds: dict[tuple[str, str], list[str]] = {}
        for inactive in self.not_active:
            kind = "switch" if inactive.name in switches else "server" if inactive.name in servers else "link"
            kinds.setdefault((kind, inactive.status), []).append(inactive.name)
        return ", ".join(
            f"{counted(len(names), kind, 'switches' if kind == 'switch' else '')} {status} "
            f"({', '.join(names[:SHOWN])}{', …' if len(names) > SHOWN else ''})"
            for (kind, status), names in kinds.items()
        )

    def absent_sentence(self) -> str:
        """Return the list of ``absent_words`` as a sentence, or an empty string if nothing is absent."""
        words = self.absent_words()
        return f"treated as absent because of `status:` in the fabric file: {words}" if words else ""

    def segment_of(self, server: str, nic: Nic) -> Segment:
        """Return the segment of a NIC. Raise ``KeyError`` if the network has no such segment."""
        if nic.network:
            return self._segment_by[nic.fabric, nic.leaf, 0, nic.tenant, nic.network]
        link = "" if nic.vlan else f"{server}:{nic.name}"
        return self._segment_by[nic.fabric, nic.stripe, nic.rail, nic.tenant, link]

    def plane_of(self, nic: Nic) -> str:
        """Return the plane of a NIC's leaf, or an empty string without planes. No link joins NICs of different planes."""
        return self.switch(nic.leaf).plane

    def external_links(self) -> Iterator[tuple[Fabric, Tenant, ExternalRouter, ExternalLink]]:
        """Yield (fabric, tenant, router, link) for every link to an external router."""
        for fabric in self.fabrics:
            for tenant in fabric.tenants:
                for router in tenant.external:
                    for link in router.links:
                        yield fabric, tenant, router, link

    def dangling(self) -> str:
        """Return a sentence about the first reference to a device or fabric that does not exist. Return "" if there is none."""
        devices = {device.name for device in (*self.switches, *self.servers)}
        leaves = {switch.name for switch in self.switches if switch.role == "leaf"}
        fabrics = {fabric.name for fabric in self.fabrics}
        named = [(f"cable {cable.name}", end.device, devices) for cable in self.cables for end in (cable.a, cable.b)]
        named += [(f"VLAN {segment.vlan} of {segment.stripe}", segment.leaf, leaves) for segment in self.segments]
        named += [(f"{s.name}:{nic.name}", nic.leaf, leaves) for s in self.servers for nic in s.nics]
        named += [(f"switch {switch.name}", switch.fabric, fabrics) for switch in self.switches]
        return next(
            (f"{subject} names {name!r}, which does not exist" for subject, name, known in named if name not in known),
            "",
        )

    def fabric(self, name: str) -> Fabric:
        """Return a fabric by name. Raise ``KeyError`` if it does not exist."""
        return self._by_name["fabric"][name]

    def switch(self, name: str) -> Switch:
        """Return a switch by name. Raise ``KeyError`` if it does not exist."""
        return self._by_name["switch"][name]

    def server(self, name: str) -> Server:
        """Return a server by name. Raise ``KeyError`` if it does not exist."""
        return self._by_name["server"][name]

    def cable(self, name: str) -> Cable:
        """Return a cable by name. Raise ``KeyError`` if it does not exist."""
        return self._cable_by_name[name]

    def between_sites(self, cable: Cable) -> bool:
        """Return True if a cable joins switches at different sites."""
        return bool(self._far_apart) and cable.name in self._far_apart

    def long_links(self, fabric: str) -> list[Cable]:
        """Return the cables of a fabric that run between sites."""
        return self._long_links.get(fabric, [])

    def families_of(self, fabric: str) -> frozenset[Family]:
        """Return the address families of the server prefixes of a fabric. Layer-2 networks are ignored."""
        return frozenset(self._families.get(fabric, ()))

    def families_of_tenant(self, fabric: str, tenant: str) -> frozenset[Family]:
        """Return the address families that all NICs of a tenant have."""
        both: frozenset[Family] = frozenset(("ipv4", "ipv6"))
        return both.intersection(*self._of_tenants.get((fabric, tenant), ()))

    def job_family(self, fabric: str, tenant: str) -> Family | None:
        """Return the address family that jobs of a tenant use. None means that each NIC uses the family of its first address.

        If the tenant's NICs have only one family in common, jobs use it. Otherwise they use the family that the fabric file
        requests.
        """
        wanted, every = self.hosts.job.address_family, self.families_of_tenant(fabric, tenant)
        return wanted if wanted in every or len(every) != 1 else next(iter(every))

    def systems_of(self, fabric: str) -> frozenset[tuple[str, str]]:
        """Return (operating system, release) for all switches of a fabric that use path colors: all switches except super-spines."""
        return self._systems.get(fabric, frozenset())

    def cables_of(self, device: str) -> list[Cable]:
        """Return all cables of a device, server cables first."""
        return self._cables_of.get(device, [])

    def segments_of(self, leaf: str) -> list[Segment]:
        """Return the segments of a leaf, ordered by rail."""
        return self._segments_of.get(leaf, [])


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[Network]:
    return TypeAdapter(Network)
