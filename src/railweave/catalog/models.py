"""The shape of the catalog: hardware, operating systems and limits, each value with where it comes from.

A ``source`` that begins with ``assumed:`` is not documented; findings that rest on it say so.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field, model_validator

from railweave.intent.base import Model


class Breakout(Model):
    """A breakout mode of a port: ``channels`` ports of ``speed_gbps`` each."""

    channels: int
    speed_gbps: int
    source: str

    def __str__(self) -> str:
        return f"{self.channels}x{self.speed_gbps}G"


class PortGroup(Model):
    """Physical ports ``first`` to ``first + count - 1`` of one kind."""

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
        """Every breakout mode of a port, whole first."""
        return [Breakout(channels=1, speed_gbps=self.speed_gbps, source=self.source), *self.breakouts]


class Buffer(Model):
    """Packet buffer of a switch. ``cell_bytes`` is the allocation unit; ``headroom_mb`` the most that headroom may take."""

    shared_mb: float
    cell_bytes: int
    source: str
    cell_source: str


class DedicatedBuffer(Model):
    """How a switch divides its packet buffer as long as nobody changes it: what ports keep for themselves, and what they share.

    Sizes in KB of 1,024 bytes, on both sides of a switch whose shared pool is the same for ingress and egress.
    """

    shared_kb: int
    ingress_kb: int
    egress_kb: int
    source: str

    def shared_bytes(self, ingress_percent: int | None, egress_percent: int | None) -> int:
        """What is shared where dedicated buffers are set to a percentage of their default (None: left as they are)."""
        freed = [
            kb * (100 - percent) / 100
            for kb, percent in ((self.ingress_kb, ingress_percent), (self.egress_kb, egress_percent))
            if percent is not None
        ]
        return round(1024 * (self.shared_kb + sum(freed)))


class Limits(Model):
    """What a switch's silicon can hold. Empty where no source was found."""

    ports: int | None = None
    ecmp_members: int | None = None
    ipv6_routes: int | None = None
    source: str


class SonicPlatform(Model):
    """A switch model as SONiC knows it: the folder of its platform, and what configurations must state themselves.

    ``first_lanes`` holds the first serdes lane of every port, in order; the other lanes of a port follow it.
    ``pause_reserve_frames`` and ``xon_offset_bytes`` are what the platform's own lossless profiles have.
    """

    platform: str
    hwsku: str
    first_lanes: tuple[int, ...]
    pause_reserve_frames: int = 2
    xon_offset_bytes: int
    source: str


Lack = Literal["shared-buffer", "pfc-watchdog", "pfc-xon", "dlb"]
"""What the sources know switches by, and a platform may not have: statements that its configuration leaves out."""

Ability = Literal["random-spray", "payload-filter", "macsec"]
"""What few platforms do: spray packets at random, match the first byte of a UDP payload, encrypt links."""


class Platform(Model):
    """How a model differs from the QFX switches that the rest of the catalog is of.

    ``ecn_min_fill`` is the fill level, percent, at which it marks where a fabric file does not say.
    """

    lacks: tuple[Lack, ...] = ()
    has: tuple[Ability, ...] = ()
    ecn_min_fill: int | None = None
    source: str = ""


Need = Literal["equal-lossless-shares", "tunnel-dscp"]
"""What the configuration of some models must have: the same share of lossless buffers at ingress and egress; statements by
which a tunnel's header has the DSCP of the packet in it."""


class SwitchModel(Model):
    """A switch model. ``features`` are those that not every model has, ``needs`` what not every model asks for, each with its source.

    ``cards`` is how many ports a line card has, in a chassis; empty: it has no cards.
    """

    vendor: str
    asic: str
    description: str
    systems: tuple[str, ...]
    ports: tuple[PortGroup, ...]
    buffer: Buffer
    limits: Limits
    rack_units: int | None = None
    tunnels: dict[Literal["type-2", "type-5"], str] = Field(
        default_factory=dict[Literal["type-2", "type-5"], str],
        description="EVPN routes by which a published configuration has it as a tunnel endpoint, and which that is",
    )
    sonic: SonicPlatform | None = None
    features: dict[str, str] = Field(default_factory=dict[str, str])
    needs: dict[Need, str] = Field(default_factory=dict[Need, str])
    cards: int | None = None
    platform: Platform = Platform()
    dedicated: DedicatedBuffer | None = None

    def group_of(self, port: int) -> PortGroup | None:
        """The port group a physical port belongs to."""
        return next((group for group in self.ports if group.first <= port <= group.last), None)


class Capability(Model):
    """A feature of an operating system, from a release on (empty: every release).

    ``mapped`` says how the system comes to what is asked for by other means; empty: it has the feature itself.
    """

    since: str | None = None
    mapped: str = ""
    source: str


class Marking(Model):
    """ECN marking by queue length, as a system does it where a fabric file gives no lengths of its own."""

    min_bytes: int
    max_bytes: int
    max_probability: int
    source: str


class Unprinted(Model):
    """What a system does where its configuration does not say: the value of a field of ``DeviceConfig``."""

    value: str | int | float | bool | None
    source: str


class Tried(Model):
    """Configurations written by others that were read: how much was understood, or is known not to matter."""

    where: str
    files: int
    percent: float = Field(description="the mean over the files, or the median where the note says so")
    enough: int = Field(description="files of which 95 % or more")
    note: str = ""


class Reads(Model):
    """What is read of a system's configuration text, and what cannot be.

    Fields are those of ``DeviceConfig`` (docs/device-config.md), with dots between levels and without the names of entries:
    ``bgp.groups.sessions.peer``.
    """

    unsaid: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="fields that its text has no words for, and why; a field stands for all below it",
    )
    defaults: dict[str, Unprinted] = Field(
        default_factory=dict[str, Unprinted], description="fields that its text leaves out where they have this value"
    )
    irrelevant: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="patterns of statements that change nothing of what railweave looks at, and why",
    )
    tried: tuple[Tried, ...] = Field(
        default=(), description="configurations of others that were read, by where they are public"
    )


class NotRendered(Model):
    """Why a field of the fabric file has no statement on a system.

    ``only`` are the values of which that is so; ``but`` those that come to what the system does by itself.
    """

    why: str
    only: tuple[str | int | bool, ...] = ()
    but: tuple[str | int | bool, ...] = ()

    def concerns(self, value: object) -> bool:
        """Whether a value of the field is lost."""
        return (not self.only or value in self.only) and value not in self.but


class Login(Model):
    """What a configuration without logins leaves a system with: it is locked, or has an account that everybody knows."""

    without_root: str = Field(default="", description="empty where root does not log in, or is not configured")
    without_user: str


class Lint(Model):
    """The check that has the lint of a system run: its id, what must hold, and whether ``build`` leaves it to ``verify``."""

    id: str
    says: str
    slow: bool = False
    warns: bool = Field(default=False, description="some of its rules are warnings")


class Image(Model):
    """What stands for a system in a containerlab topology: kind, ports in order, image, and the file it is configured by."""

    kind: str
    port: str = Field(description="pattern for the ports, which are never split")
    first_port: int = 0
    image: str
    file: str


class Notes(Model):
    """Sentences about a system for the pages that people read; empty where there is nothing to say."""

    gateway: str = Field(default="", description="what a VLAN's gateway waits for, before it comes up")
    ecn_fill: str = Field(default="", description="what is known of the whole that an ECN fill level is a share of")
    dedicated: str = Field(default="", description="what is taken off a packet buffer before it is partitioned")


class System(Model):
    """A network operating system: naming, limits and features."""

    description: str
    release: str = Field(description="the release that is meant where a fabric file names none")
    port_name: str = Field(
        description="pattern for a channel of a split port: {port}, {channel} (from 0), {lane} (its first in the port, "
        "from 1), {line} (its first of all ports, from 0), {number} and {part} (port and channel, one more), "
        "{card} (a line card's slot)"
    )
    whole_port_name: str = Field(description="the same for a port that is not split")
    policies: Literal["policy-statements", "route-maps"] = Field(
        description="route-maps: connected routes are redistributed into BGP, and a route that no term takes is denied; "
        "policy-statements: export policies originate, and a route that no term takes is treated as without a policy"
    )
    vlan_interface: str = Field(default="irb.{vlan}", description="pattern for the routed interface of a VLAN")
    vlan_name: str = Field(
        default="{name}", description="pattern for a VLAN's name, where the system calls it by its number: {vlan}"
    )
    large_communities: bool = Field(
        default=True, description="BGP has large communities (RFC 8092); else policies use communities of 32 bits"
    )
    isis: bool = Field(default=True, description="it has IS-IS; else a fabric whose underlay that is gets refused")
    frr_conf: bool = Field(default=False, description="its routing is FRR, by a frr.conf of its own: the lab runs that")
    pfc_by_queue: bool = Field(
        default=False, description="a lossless class's queue has the number of its PFC priority: no table is between"
    )
    strict_on_top: bool = Field(
        default=False, description="whether queues below one that shares by weight cannot be strict"
    )
    cnp_queue: int | None = Field(
        default=None, description="queue of congestion notification packets, where the one asked for is taken"
    )
    marking: Marking | None = Field(
        default=None, description="set on systems whose ECN thresholds are bytes, not shares of the buffer"
    )
    dedicated_first: bool = Field(
        default=False,
        description="buffer partitions are shares of what dedicated buffers leave, where a switch model says how much that is",
    )
    control_rules: Literal["addresses", "interfaces", "services"] = Field(
        default="addresses",
        description="what rules for packets to the switch itself can tell apart: addresses and ports; the interface they came by, "
        "too; or services of management alone, not routing sessions",
    )
    kernel_tunnels: bool = Field(default=False, description="VXLAN tunnels end in the kernel, behind these rules")
    management: bool = Field(default=True, description="its files configure management too: logins, time, logs")
    login: Login | None = Field(
        default=None, description="set on systems whose logins are theirs, not those of a Linux host below"
    )
    set_form: bool = Field(
        default=False,
        description="a command has the whole path of what it sets: a change is shown as its commands, not as lines",
    )
    lint: Lint | None = Field(default=None, description="set on systems whose folder has a lint of our own")
    containerlab: Image | None = Field(default=None, description="set on systems that containerlab runs an image of")
    notes: Notes = Notes()
    runs_on: tuple[str, ...] = Field(default=(), description="switch models it runs on, beside those that name it")
    maximum_ecmp: tuple[int, ...] = Field(
        default=(), description="values the system accepts, ascending; empty: any up to 1024"
    )
    maximum_mtu: int
    queues: int
    lossless_classes: int
    capabilities: dict[str, Capability]
    not_rendered: dict[str, NotRendered] = Field(
        default_factory=dict[str, NotRendered],
        description="fields of the fabric file that it has no statement for, by their place in a fabric (or `management. …`), "
        "`*` standing for a name; a part of the file stands for all in it. A finding says so where the file gives them",
    )
    reads: Reads = Field(default=Reads(), description="what its reader of configuration text must know")
    source: str

    def has(self, capability: str, release: str | None = None) -> bool:
        """Whether a release (None: the one that is meant by default) has a feature."""
        entry = self.capabilities.get(capability)
        if entry is None:
            return False
        return entry.since is None or release_key(release or self.release) >= release_key(entry.since)

    def vlan_called(self, name: str, vlan: int | None) -> str:
        """What it calls a VLAN that the design has a name for; empty where there is no VLAN."""
        return self.vlan_name.format(name=name, vlan=vlan) if name and vlan else name

    def name_of(self, port: int, channel: int | None, lane: int = 1, lanes: int = 8, cards: int | None = None) -> str:
        """A port's name: ``name_of(16, 1, 5)`` is ``et-0/0/16:1`` on Junos, ``Ethernet16/5`` on EOS.

        ``lane`` is the first electrical lane of the channel in the port, 1-based; ``lanes`` is how many a port has, ``cards``
        how many ports a line card has.
        """
        card, place = divmod(port, cards) if cards and "{card}" in self.whole_port_name else (0, port)
        pattern = self.whole_port_name if channel is None else self.port_name
        part = None if channel is None else channel + 1
        line = port * lanes + lane - 1
        words = {"card": card, "port": place, "number": place + 1, "lane": lane, "line": line}
        return pattern.format(**words, channel=channel, part=part)


def release_key(release: str) -> tuple[int, ...]:
    """The order of releases: ``23.4X100-D31`` is before ``25.4R1``; only the leading version numbers count."""
    match = re.match(r"\s*(\d+)(?:\.(\d+))?", release)
    return tuple(int(part or 0) for part in match.groups()) if match else (0, 0)


class FirmwareSetting(Model):
    """A setting that an adapter keeps in its own flash.

    ``value`` is as the vendor's tool takes it; ``{cnp_dscp}`` and ``{cnp_priority}`` stand for the designed ones. Empty:
    reported, never changed. ``per_function`` marks one that each PCI function has for itself, ``spraying`` one that is
    wanted only where the fabric sprays packets.
    """

    name: str
    value: str = ""
    per_function: bool = False
    spraying: bool = False
    why: str
    source: str


class NicModel(Model):
    """A network adapter."""

    vendor: str
    description: str
    speed_gbps: int
    cage: str
    driver: str
    gids: int | None = Field(default=None, description="entries of the GID table of a port")
    cnp_priority: int = Field(
        description="802.1p priority that the NIC's own software gives congestion notification packets"
    )
    cnp_priority_source: str
    messages_per_us: float | None = Field(default=None, description="what it takes a microsecond and direction")
    messages_per_us_source: str = ""
    firmware: tuple[FirmwareSetting, ...] = ()
    source: str


class NicGroup(Model):
    """NICs of a server that connect to one fabric, in rail order."""

    nic: str
    names: tuple[str, ...]
    rdma: tuple[str, ...]
    rdma_port: int = 1
    per_gpu: bool = Field(default=False, description="one NIC beside each GPU, in the same order")
    source: str


class BiosSetting(Model):
    """A setting of the server's firmware menu: where it stands, its name and value there, and how to see it from Linux."""

    area: str
    setting: str
    value: str
    note: str = ""
    verify: str = ""


class GpuLinks(Model):
    """What joins the GPUs of a server: ``gbps`` is what one GPU sends to the others, payload, 10^9 bit/s."""

    name: str
    gbps: float
    source: str


class ServerModel(Model):
    """A server model. ``kernel_command_line`` and ``bios`` are what its documents recommend for GPU-to-NIC transfers.

    Storage and headend servers have no GPUs: ``gpus`` is 0, ``gpu`` and ``gpu_vendor`` are empty.
    """

    description: str
    gpus: int
    gpu: str = ""
    gpu_vendor: Literal["NVIDIA", "AMD", ""] = ""
    gpu_link: GpuLinks | None = None
    cpu_vendor: Literal["Intel", "AMD"]
    kernel_command_line: tuple[str, ...] = ()
    kernel_command_line_source: str = ""
    bios: tuple[BiosSetting, ...] = ()
    bios_source: str = ""
    nics: dict[str, NicGroup]
    rack_units: int | None = None
    source: str


class Optic(Model):
    """A pluggable or a cable assembly, by what it joins and how far it reaches."""

    description: str
    cages: tuple[str, ...]
    speed_gbps: int
    channels: int = 1
    reach_m: float
    media: str
    kind: str
    pmd: str = Field(default="", description="of its links: SR, DR, FR or ZR; the same at both ends of a link")
    part: str = Field(default="", description="one that can be ordered")
    connector: str = Field(default="", description="of one link")
    fibres: int | None = Field(default=None, description="that one link uses")
    fibre: str = Field(default="", description="grade and polarity of the cable, as the module's maker asks for it")
    source: str


class Kernel(Model):
    """Limits of Linux hosts and of the protocols between them and the leaf."""

    max_addresses: int
    max_addresses_source: str
    neighbor_gc_thresh: tuple[int, int, int]
    neighbor_gc_thresh_source: str
    rt_table_first: int
    rt_table_last: int
    rt_table_source: str
    ra_header_bytes: int
    ra_prefix_option_bytes: int
    ra_source: str
    ifname_length: int
    ifname_source: str


class Physics(Model):
    """Propagation and pause response, for headroom arithmetic."""

    velocity_factor: float
    light_m_per_s: float
    peer_response_bytes: int
    pipeline_bytes: int
    source: str


class Catalog(Model):
    """Everything the catalog holds, by name."""

    switches: dict[str, SwitchModel]
    systems: dict[str, System]
    nics: dict[str, NicModel]
    servers: dict[str, ServerModel]
    optics: dict[str, Optic]
    kernel: Kernel
    physics: Physics

    @model_validator(mode="after")
    def _runs_on(self) -> Catalog:
        """A model runs what it names, and what names it."""
        for name, model in self.switches.items():
            more = [nos for nos, system in self.systems.items() if name in system.runs_on and nos not in model.systems]
            if more:
                self.switches[name] = model.model_copy(update={"systems": (*model.systems, *more)})
        return self
