"""The shape of operating systems: what they call things, hold and can do, each value with where it comes from."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from railweave.model.intent.base import Model


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


class WatchdogTimes(Model):
    """Timers of the PFC watchdog that a system takes, in milliseconds: the least and the most of each.

    ``step_ms`` is the finest step of timeout and recovery. ``polls`` is how many polling intervals each of the two must hold.
    """

    poll_ms: tuple[int, int]
    timeout_ms: tuple[int, int]
    recovery_ms: tuple[int, int]
    step_ms: int
    polls: int
    source: str


class Range(Model):
    """The least and the most of a number that a system takes, in the unit of the field; ``protocol``: with this underlay only."""

    least: int
    most: int
    protocol: Literal["", "bgp", "isis"] = ""
    source: str


class UnprintedBehavior(Model):
    """The behavior of a system if its configuration does not say: the value of a field of ``DeviceConfig``."""

    value: str | int | float | bool | None
    source: str


class ReadingTrial(Model):
    """Configurations written by others that were read: how much was understood, or is known not to matter."""

    where: str
    files: int
    percent: float = Field(description="the mean over the files, or the median where the note says so")
    enough: int = Field(description="files of which 95 % or more")
    note: str = ""


class Faults(Model):
    """Faults drawn at random in configurations of examples (``tests.mutants.score``), and how many of them ``verify OUT`` names."""

    number: int
    found: float = Field(description="percent of them that make any finding")
    named: float = Field(description="percent that a finding of the right id has on the right line")


class Reads(Model):
    """The parts of a system's configuration text that are read, and those that cannot be.

    Fields are those of ``DeviceConfig`` (docs/device-config.md), with dots between levels and without the names of entries:
    ``bgp.groups.sessions.peer``.
    """

    unsaid: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="fields that its text has no words for, and why; a field stands for all below it",
    )
    defaults: dict[str, UnprintedBehavior] = Field(
        default_factory=dict[str, UnprintedBehavior],
        description="fields that its text leaves out where they have this value",
    )
    irrelevant: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="patterns of statements that change nothing of what railweave looks at, and why",
    )
    by_itself: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="patterns of whole statements that the system writes by itself, by the source: more of these is no difference, and deploy leaves them",
    )
    tried: tuple[ReadingTrial, ...] = Field(
        default=(), description="configurations of others that were read, by where they are public"
    )
    faults: Faults | None = Field(default=None, description="how many faults are found in its configurations; seed 1")


class NotRendered(Model):
    """The reason why a field of the fabric file has no statement on a system.

    ``only`` are the values that have no statement. ``but`` are the values that match what the system does by itself.
    """

    why: str
    only: tuple[str | int | bool, ...] = ()
    but: tuple[str | int | bool, ...] = ()

    def concerns(self, value: object) -> bool:
        """Return whether a value of the field is lost."""
        return (not self.only or value in self.only) and value not in self.but


class Login(Model):
    """The state in which a configuration without logins leaves a system: locked, or with an account that everyone knows."""

    without_root: str = Field(default="", description="empty where root does not log in, or is not configured")
    without_user: str


class Lint(Model):
    """The check that has the lint of a system run: its id, what must hold, and whether ``build`` leaves it to ``verify``."""

    id: str
    holds: str
    slow: bool = False
    warns: bool = Field(default=False, description="some of its rules are warnings")


class Image(Model):
    """The stand-in for a system in a containerlab topology: kind, ports in order, image, and the file that configures it."""

    kind: str
    port: str = Field(description="pattern for the ports, which are never split")
    first_port: int = 0
    image: str
    file: str


class VrfNames(Model):
    """The names that a VRF, which has its tenant's name, may have."""

    most: int = Field(default=31, description="characters of the longest name")
    reserved: dict[str, str] = Field(
        default_factory=dict[str, str], description="names that mean something else there, and what"
    )


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
    port_alias: str = Field(
        default="",
        description="pattern for the alias of a channel, which its LLDP announces as port id; empty: the name is announced",
    )
    whole_port_alias: str = Field(default="", description="the same for a port that is not split")
    policies: Literal["policy-statements", "route-maps"] = Field(
        description="route-maps: connected routes are redistributed into BGP, and a route that no term takes is denied; "
        "policy-statements: export policies originate, and a route that no term takes is treated as without a policy"
    )
    vlan_interface: str = Field(default="irb.{vlan}", description="pattern for the routed interface of a VLAN")
    loopback: str = Field(default="lo0", description="the interface of the router id")
    tunnel_loopback: str = Field(
        default="",
        description="that of tunnel endpoints, where they have addresses of their own; empty: the router id's",
    )
    vrf_loopback: str = Field(
        default="lo0.{unit}",
        description="pattern for a VRF's loopback; sums can stand in braces, {unit} is its tenant's number",
    )
    vlan_name: str = Field(
        default="{name}", description="pattern for a VLAN's name, where the system calls it by its number: {vlan}"
    )
    large_communities: bool = Field(
        default=True, description="BGP has large communities (RFC 8092); else policies use communities of 32 bits"
    )
    isis: bool = Field(default=True, description="it has IS-IS; else a fabric whose underlay that is gets refused")
    vrf_names: VrfNames = VrfNames()
    frr_conf: bool = Field(default=False, description="its routing is FRR, by a frr.conf of its own: the lab runs that")
    pfc_by_queue: bool = Field(
        default=False, description="a lossless class's queue has the number of its PFC priority: no table is between"
    )
    lossless_queue_threshold: int | None = Field(
        default=None,
        description="the dynamic threshold, an index, that a lossless queue gets if the fabric file gives none; empty: no threshold, lossless "
        "packets are held back at ingress only",
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
    maximum_flowsets: int | None = Field(
        default=None,
        description="the largest flowset table of a next-hop group that it takes; empty: any of the fabric file's",
    )
    watchdog_times: WatchdogTimes | None = Field(
        default=None, description="timers of the PFC watchdog that it takes; empty: any of the fabric file's"
    )
    maximum_mtu: int
    queues: int
    lossless_classes: int
    modules: tuple[str, ...] = Field(
        default=(),
        description="modules of its folder beside the parts that every system can have (systems/loader.py)",
    )
    without: dict[str, str] = Field(
        default_factory=dict[str, str], description="parts that its folder lacks on purpose, and why"
    )
    capabilities: dict[str, Capability]
    not_rendered: dict[str, NotRendered] = Field(
        default_factory=dict[str, NotRendered],
        description="fields of the fabric file that it has no statement for, by their place in a fabric (or `management. …`), "
        "`*` standing for a name; a part of the file stands for all in it. A finding says so where the file gives them",
    )
    ranges: dict[str, Range] = Field(
        default_factory=dict[str, Range],
        description="numbers of a fabric that it takes in part only, by their place in the fabric, `*` standing for a name: "
        "the design refuses others",
    )
    reads: Reads = Field(default=Reads(), description="what its reader of configuration text must know")
    source: str

    def has(self, capability: str, release: str | None = None) -> bool:
        """Return whether a release has a feature; None: the default release."""
        entry = self.capabilities.get(capability)
        if entry is None:
            return False
        return entry.since is None or release_key(release or self.release) >= release_key(entry.since)

    @property
    def parts_egress(self) -> bool:
        """True if the system's configuration says how the egress side of the packet buffer is divided."""
        return "qos.buffers.egress_lossless" not in self.reads.unsaid

    def vlan_called(self, name: str, vlan: int | None) -> str:
        """Return the system's name for a VLAN that the design has a name for; empty if there is no VLAN."""
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

    def alias_of(self, port: int, channel: int | None) -> str:
        """Return a port's alias: ``alias_of(1, 0)`` is ``Eth1/2/1`` on SONiC; empty if the system has no aliases."""
        if channel is None:
            return self.whole_port_alias.format(number=port + 1)
        return self.port_alias.format(number=port + 1, part=channel + 1)


def release_key(release: str) -> tuple[int, ...]:
    """The order of releases: ``23.4X100-D31`` is before ``25.4R1``; only the leading version numbers count."""
    match = re.match(r"\s*(\d+)(?:\.(\d+))?", release)
    return tuple(int(part or 0) for part in match.groups()) if match else (0, 0)
