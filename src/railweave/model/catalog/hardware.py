"""The data models of hardware: switches, NICs, servers and optics, each value with its source.

A ``source`` that begins with ``assumed:`` means that no document gives the value. Findings that depend on such a value
say so. Users' own hardware files have the same fields (docs/hardware.md).
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from railweave.model.intent.base import Model


class Breakout(Model):
    """A breakout mode of a port: ``channels`` ports of ``speed_gbps`` each."""

    channels: int
    speed_gbps: int
    source: str

    def __str__(self) -> str:
        return f"{self.channels}x{self.speed_gbps}G"


class PortGroup(Model):
    """Physical ports of the same kind, numbered ``first`` to ``first + count - 1``.

    ``cage`` is the form of module that the ports take, such as OSFP. ``lanes`` is the number of electrical lanes of a port. ``breakouts``
    are the ways to split a port.
    """

    first: int
    count: int
    cage: str
    speed_gbps: int
    lanes: int
    breakouts: tuple[Breakout, ...] = ()
    source: str

    @property
    def last(self) -> int:
        """The last physical port of the group."""
        return self.first + self.count - 1

    def modes(self) -> list[Breakout]:
        """Return every breakout mode of a port of the group. The first is the port without a breakout."""
        return [Breakout(channels=1, speed_gbps=self.speed_gbps, source=self.source), *self.breakouts]


def _number(key: object) -> object:
    """Return a key that consists of digits as an integer, because JSON and ``hardware show`` have only string keys.

    Return other keys unchanged.
    """
    return int(key) if isinstance(key, str) and key.isdecimal() else key


_Number = Annotated[int, BeforeValidator(_number)]


class HeadroomTable(Model):
    """The PFC headroom table of a switch platform.

    ``rows`` has the headroom in bytes (``xoff``), by speed in Gb/s and cable length in metres.
    """

    rows: dict[_Number, dict[_Number, int]]
    source: str

    def at(self, speed_gbps: int, length_m: float) -> int | None:
        """Return the headroom in bytes for a port speed and a cable length, interpolated linearly between the table's lengths.

        A cable shorter than the shortest listed length has the headroom of that length. Above the longest length, the last two are
        extrapolated. Return None if the table does not list the speed, or lists only one length for it and the cable is longer.
        """
        row = sorted(self.rows.get(speed_gbps, {}).items())
        if len(row) <= 1:
            return row[0][1] if row and length_m <= row[0][0] else None
        if length_m <= row[0][0]:
            return row[0][1]
        place = next((at for at in range(1, len(row)) if length_m <= row[at][0]), len(row) - 1)
        (before, low), (after, high) = row[place - 1 : place + 1]
        return math.ceil(low + (high - low) * (length_m - before) / (after - before))


class Buffer(Model):
    """Packet buffer of a switch.

    - ``cell_bytes``: the allocation unit.
    - ``pipeline_ns``: the time that the chip takes to notice congestion and send a pause.
    - ``headroom``: the headroom table that SONiC's platform files have for the chip; None if no table is public.
    """

    shared_mb: float
    cell_bytes: int
    source: str
    cell_source: str
    pipeline_ns: float | None = Field(
        default=None,
        description="nanoseconds from the byte that fills the buffer to the PFC threshold until the pause frame is on the "
        "wire; empty: the value assumed for most chips",
    )
    pipeline_source: str = ""
    headroom: HeadroomTable | None = Field(
        default=None, description="PFC headroom from the platform's own table, by speed and cable length"
    )


class DedicatedBuffer(Model):
    """A switch's default division of its packet buffer into a part dedicated to ports and a shared part.

    Sizes are in KB of 1,024 bytes. A switch with one shared pool for ingress and egress has the same sizes for both
    directions.
    """

    shared_kb: int
    ingress_kb: int
    egress_kb: int
    source: str

    def shared_bytes(self, ingress_percent: int | None, egress_percent: int | None) -> int:
        """Return the size of the shared part in bytes, after the dedicated buffers are set to a percentage of their default.

        ``ingress_percent`` and ``egress_percent`` are the percentages. None leaves the dedicated buffers of that direction unchanged.
        """
        freed = [
            kb * (100 - percent) / 100
            for kb, percent in ((self.ingress_kb, ingress_percent), (self.egress_kb, egress_percent))
            if percent is not None
        ]
        return round(1024 * (self.shared_kb + sum(freed)))


class Limits(Model):
    """The capacity limits of a switch's silicon. A limit is empty if no source documents it.

    ``ecmp_members`` is the largest number of links in a next-hop group.
    """

    ports: int | None = None
    ecmp_members: int | None = None
    ipv6_routes: int | None = None
    source: str


class SonicPlatform(Model):
    """The SONiC platform of a switch model: its folder, and the platform values that SONiC configurations must repeat.

    - ``first_lanes``: the first serdes lane of every port, in order; the other lanes of a port follow it.
    - ``pause_reserve_frames``: the reserved buffer of a lossless priority group, in frames of the MRU.
    - ``xon_offset_bytes``: the bytes below the pause threshold (XOFF) at which the pause of such a group ends.

    The last two are taken from the platform's own lossless profiles.
    """

    platform: str
    hwsku: str
    first_lanes: tuple[int, ...]
    pause_reserve_frames: int = 2
    xon_offset_bytes: int
    source: str


class FirstRelease(Model):
    """The first release of an operating system that runs on a switch model.

    ``release`` is empty if the document that ``source`` cites names no release that runs on the model.
    """

    release: str
    source: str


Lack = Literal["shared-buffer", "pfc-watchdog", "pfc-xon", "pfc-headroom", "dlb", "dscp-ipv6"]
"""Statement kinds that a platform may lack. The configuration of such a platform leaves these statements out.

- ``pfc-headroom``: cable lengths, MRUs, lossless classes and paused output queues. Such a platform uses PFC accounts instead.
- ``dscp-ipv6``: classifiers and rewrite rules for IPv6. Such a platform applies its classifiers and rules for IPv4 to IPv6 packets too.
"""

Ability = Literal["random-spray", "payload-filter", "macsec"]
"""Features that only a few platforms have: random packet spraying, matching the first byte of a UDP payload, and link encryption."""


class Platform(Model):
    """The differences between a Junos switch model and the usual QFX switch, which the rest of the catalog describes.

    - ``ecn_min_fill``: the queue fill level, in percent, above which the model marks packets with ECN if the fabric
      file sets no fill level.
    - ``dscp_ipv6_since``: the first release with documented IPv6 classifiers; empty if every release has them.
    """

    lacks: tuple[Lack, ...] = ()
    has: tuple[Ability, ...] = ()
    ecn_min_fill: int | None = None
    dscp_ipv6_since: str = ""
    source: str = ""


Need = Literal["equal-lossless-shares", "tunnel-dscp"]
"""Requirements of some models on their configuration.

- ``equal-lossless-shares``: ingress and egress have the same share of lossless buffers.
- ``tunnel-dscp``: the configuration needs statements that copy the inner packet's DSCP to the tunnel header.
"""


class SwitchModel(Model):
    """A switch model.

    - ``systems``: the operating systems that it runs, the usual one first.
    - ``sonic``: values that only SONiC needs. ``platform``: values that only Junos needs.
    - ``dedicated``: the default size of the buffers dedicated to ports; empty if no source has it.
    - ``features``: features that only some models have, each with its source.
    - ``needs``: requirements that only some models have, each with its source.
    - ``cards``: ports per line card in a chassis; empty if the switch has no line cards.
    """

    vendor: str
    asic: str
    description: str
    systems: tuple[str, ...]
    ports: tuple[PortGroup, ...]
    buffer: Buffer
    limits: Limits
    rack_units: int | None = None
    power_w: int | None = Field(default=None, description="largest power draw in watts")
    power_source: str = ""
    tunnels: dict[Literal["type-2", "type-5"], str] = Field(
        default_factory=dict[Literal["type-2", "type-5"], str],
        description="kinds of EVPN routes for which a published configuration uses this model as a tunnel endpoint, and "
        "the source",
    )
    sonic: SonicPlatform | None = None
    first_releases: dict[str, FirstRelease] = Field(
        default_factory=dict[str, FirstRelease],
        description="first release of each operating system that runs on this model; systems without an entry: every "
        "release may",
    )
    features: dict[str, str] = Field(default_factory=dict[str, str])
    needs: dict[Need, str] = Field(default_factory=dict[Need, str])
    cards: int | None = None
    platform: Platform = Platform()
    dedicated: DedicatedBuffer | None = None

    def group_of(self, port: int) -> PortGroup | None:
        """Return the port group that contains the physical port number ``port``, or None."""
        return next((group for group in self.ports if group.first <= port <= group.last), None)


class FirmwareSetting(Model):
    """A setting that an adapter stores in its flash memory.

    - ``value``: the value as the vendor's tool accepts it. If empty, the setting is reported but never changed. The
      placeholders ``{cnp_dscp}`` and ``{cnp_priority}`` become the designed values.
    - ``per_function``: True if each PCI function has its own copy of the setting.
    - ``spraying``: True if the setting is needed only in fabrics that spray packets.
    """

    name: str
    value: str = ""
    per_function: bool = False
    spraying: bool = False
    why: str
    source: str


class JobSetting(Model):
    """The value of an environment variable for RCCL jobs that use an adapter. It overrides the general value of the variable."""

    name: str
    value: str
    why: str
    source: str


class NicModel(Model):
    """A network adapter.

    ``rccl`` holds the variables that the vendor documents for RCCL jobs on this adapter.
    """

    vendor: str
    description: str
    speed_gbps: int
    cage: str
    driver: str
    gids: int | None = Field(default=None, description="number of entries in the GID table of a port")
    cnp_priority: int = Field(
        description="802.1p priority that the NIC's own software uses for congestion notification packets"
    )
    cnp_priority_source: str
    messages_per_us: float | None = Field(
        default=None, description="messages per microsecond that the NIC handles in each direction"
    )
    messages_per_us_source: str = ""
    one_cage: bool = Field(
        default=False,
        description="all ports of a card share one cage, and so one module; false: each port has a cage",
        exclude_if=lambda value: not value,
    )
    clear_to_send_as_notification: str = Field(
        default="",
        description="source for the DSCP of RCCL's clear-to-send messages being that of congestion notification packets; "
        "empty: they have the DSCP of the data",
    )
    rccl: tuple[JobSetting, ...] = ()
    firmware: tuple[FirmwareSetting, ...] = ()
    source: str


class NicGroup(Model):
    """NICs of a server that connect to one fabric, in rail order.

    - ``names``: the Linux interface of each NIC. ``rdma``: its RDMA device.
    - If each NIC has several ``ports``, ``names`` and ``rdma`` list ports: port 1 of every NIC, then port 2 of every NIC, and so on.
    """

    nic: str
    names: tuple[str, ...]
    rdma: tuple[str, ...]
    rdma_port: int = 1
    ports: int = Field(
        default=1,
        ge=1,
        le=8,
        description="number of ports of each NIC; collective libraries merge them into one device. names and rdma list "
        "port 1 of all NICs, then port 2 of all NICs",
    )
    further_ports_of: str = Field(
        default="",
        description="another set of the server's NICs. This set is the remaining ports of the same cards, in the same "
        "order, so that each card is in two fabrics",
    )
    per_gpu: bool = Field(
        default=False,
        description="the NICs belong to the GPUs, in the same order: one NIC per GPU, or one per group of GPUs",
    )
    source: str

    @property
    def adapters(self) -> int:
        """The number of physical NICs. A NIC with several ports counts once."""
        return len(self.names) // self.ports

    def gpu_of(self, rail: int, gpus: int) -> int:
        """Return the index, from 0, of the GPU that uses the NIC on this rail.

        ``rail`` counts from 1. ``gpus`` is the number of GPUs in the server.
        """
        return (rail - 1) % self.adapters * gpus // self.adapters


class BiosSetting(Model):
    """A setting in the server's firmware menu: its menu area, name and value, and how to check it from Linux."""

    area: str
    setting: str
    value: str
    note: str = ""
    verify: str = ""


class GpuLinks(Model):
    """The links between the GPUs of a server.

    ``gbps`` is the payload rate from one GPU to all others together, in 10^9 bit/s.
    """

    name: str
    gbps: float
    source: str


class ServerModel(Model):
    """A server model.

    ``kernel_command_line`` and ``bios`` are the settings that the server's documents recommend for GPU-to-NIC transfers.
    For storage and headend servers, which have no GPUs, ``gpus`` is 0, and ``gpu`` and ``gpu_vendor`` are empty.
    """

    description: str
    gpus: int
    gpu: str = ""
    gpu_vendor: Literal["NVIDIA", "AMD", ""] = ""
    gpu_link: GpuLinks | None = None
    domain_gpus: int | None = Field(
        default=None,
        ge=1,
        exclude_if=lambda value: value is None,  # most servers have no such field in design.json
        description="number of GPUs of the NVLink domain, if it joins several servers: 72 for a tray of a GB300 NVL72; "
        "empty: NVLink ends at the server",
    )
    domain_switches: int | None = Field(
        default=None,
        ge=1,
        exclude_if=lambda value: value is None,
        description="number of NVLink switch trays of the domain, over which every GPU spreads its NVLinks",
    )
    domain_source: str = Field(default="", exclude_if=lambda value: not value)
    cpu_vendor: Literal["Intel", "AMD", "NVIDIA"]
    kernel_command_line: tuple[str, ...] = ()
    kernel_command_line_source: str = ""
    bios: tuple[BiosSetting, ...] = ()
    bios_source: str = ""
    nics: dict[str, NicGroup]
    rack_units: int | None = None
    power_w: int | None = Field(default=None, description="largest power draw in watts")
    power_source: str = ""
    memory_gib: int | None = Field(default=None, ge=1, description="smallest memory in GiB with which it is delivered")
    memory_source: str = ""
    source: str

    def has_gpu(self, name: str) -> bool:
        """Return True if ``name`` can be this model's GPU, as a driver or NCCL prints it (``NVIDIA H100 80GB HBM3``).

        AMD drivers may print a name without a model, such as ``AMD Radeon Graphics``. It can be any GPU of AMD.
        """
        if re.search(rf"(?<![A-Z0-9]){re.escape(self.gpu)}(?![A-Z0-9])", name, re.IGNORECASE):
            return True
        return self.gpu_vendor == "AMD" and re.search(r"AMD Radeon Graphics|\bgfx\d", name) is not None

    def card(self, kind: str, rail: int) -> tuple[str, int]:
        """Return the card of a NIC or port: (NIC set with the card's first ports, index of the card from 0).

        ``kind`` is the NIC set that the port belongs to. ``rail`` counts from 1.
        """
        group = self.nics[kind]
        return group.further_ports_of or kind, (rail - 1) % group.adapters

    @property
    def domain_servers(self) -> int:
        """The number of servers in a full NVLink domain; 1 if NVLink ends at the server."""
        return max(1, (self.domain_gpus or 0) // self.gpus) if self.gpus else 1

    def own_ports(self, kind: str) -> range | None:
        """Return the port numbers, from 1, that NIC set ``kind`` uses on its cards.

        Return None if all ports of the cards belong to this set.
        """
        group = self.nics[kind]
        before = self.nics[group.further_ports_of].ports if group.further_ports_of else 0
        if not before and all(nic.further_ports_of != kind for nic in self.nics.values()):
            return None
        return range(before + 1, before + group.ports + 1)


class Optic(Model):
    """A pluggable module or cable assembly, with its media and its reach.

    ``cages`` are the forms of port that it fits. ``channels`` is the number of its links, and ``speed_gbps`` the speed of each link.
    """

    description: str
    cages: tuple[str, ...]
    speed_gbps: int
    channels: int = 1
    reach_m: float
    media: str
    kind: str
    wavelength_nm: tuple[float, float] | None = Field(
        default=None, description="shortest and longest wavelength in nm that it may send"
    )
    wavelength_source: str = ""
    pmd: str = Field(
        default="", description="type of each link: SR, DR, FR or ZR; both ends of a link have the same type"
    )
    part: str = Field(default="", description="part number of a product that can be ordered")
    connector: str = Field(default="", description="of one link")
    fibres: int | None = Field(default=None, description="number of fibres of one link")
    trunk: bool = Field(
        default=False,
        description="all links of a module leave through one connector; a shuffle panel joins its links to different modules",
        exclude_if=lambda value: not value,
    )
    power_w: float | None = Field(
        default=None, description="largest power draw of a module in watts; for a cable assembly, of both ends together"
    )
    power_source: str = ""
    fibre: str = Field(default="", description="grade and polarity of the cable that the module's maker requires")
    source: str

    @property
    def copper(self) -> bool:
        """True for a copper cable.

        The two ends of a copper cable train the link (IEEE 802.3, clauses 136 and 162: PMD control function).
        """
        return self.kind == "dac" or "copper" in self.media.lower()


class Hardware(Model):
    """Hardware models by section and name, for example the models that users describe themselves (docs/hardware.md)."""

    switches: dict[str, SwitchModel] = Field(default_factory=dict[str, SwitchModel])
    nics: dict[str, NicModel] = Field(default_factory=dict[str, NicModel])
    servers: dict[str, ServerModel] = Field(default_factory=dict[str, ServerModel])
    optics: dict[str, Optic] = Field(default_factory=dict[str, Optic])

    @property
    def empty(self) -> bool:
        """True if there are no models."""
        return not (self.switches or self.nics or self.servers or self.optics)

    def with_more(self, other: Hardware) -> Hardware:
        """Return the models of both objects.

        If both have a model of the same name, ``other`` has precedence.
        """
        return Hardware.model_construct(
            switches={**self.switches, **other.switches},
            nics={**self.nics, **other.nics},
            servers={**self.servers, **other.servers},
            optics={**self.optics, **other.optics},
        )
