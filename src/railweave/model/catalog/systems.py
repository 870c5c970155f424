"""The data models of operating systems: naming, limits and features, each value with its source."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from railweave.model.intent.base import Model


class Capability(Model):
    """A feature of an operating system.

    ``since`` is the first release with the feature; None if every release has the feature. ``mapped`` explains how a system without the
    feature reaches the same result by other means; otherwise it is empty.
    """

    since: str | None = None
    mapped: str = ""
    source: str


class Marking(Model):
    """A system's default ECN marking by queue length, used if the fabric file gives no lengths.

    Above ``min_bytes``, the switch begins to mark packets. At ``max_bytes``, it marks ``max_probability`` percent of them.
    """

    min_bytes: int
    max_bytes: int
    max_probability: int
    source: str


class WatchdogTimes(Model):
    """The timer values of the PFC watchdog that a system accepts: the minimum and maximum of each timer, in milliseconds.

    - ``step_ms``: the finest step of timeout and recovery.
    - ``polls``: the minimum number of polling intervals in the timeout and in the recovery time.
    """

    poll_ms: tuple[int, int]
    timeout_ms: tuple[int, int]
    recovery_ms: tuple[int, int]
    step_ms: int
    polls: int
    source: str


class Range(Model):
    """The minimum and maximum of a number that a system accepts, in the unit of the field.

    If ``protocol`` is set, the range applies only with that underlay.
    """

    least: int
    most: int
    protocol: Literal["", "bgp", "isis"] = ""
    source: str


class UnprintedBehavior(Model):
    """A system's default for a field of ``DeviceConfig``, if the system's configuration text does not show this default."""

    value: str | int | float | bool | None
    source: str


class ReadingTrial(Model):
    """The result of reading configurations written by other people, in percent of all their statements."""

    where: str = Field(description="the repository, and its commit")
    files: int
    statements: int
    understood: float = Field(description="without the irrelevant ones")
    known: float = Field(description="understood or irrelevant")
    before: float = Field(description="understood by the readers of commit 7958d393")
    note: str = ""


class TakenBack(Model):
    """Statements that earlier versions of the reader understood or passed over as irrelevant, and that are now unknown.

    ``form`` is the pattern of these statements, and ``because`` the reason.
    """

    form: str
    number: int = Field(description="statements of the configurations that were tried")
    because: str


class Faults(Model):
    """Results of a mutation test: random faults put into example configurations, and how many of them ``verify OUT`` reports.

    See ``tests.mutants.score``.
    """

    number: int
    found: float = Field(description="percent of them that make any finding")
    named: float = Field(description="percent that a finding of the right id has on the right line")


class Reads(Model):
    """The fields that a system's configuration text shows, and those that it cannot show.

    Fields are named as in ``DeviceConfig`` (docs/folder.md). Dots separate levels, and names of list
    members are left out, for example ``bgp.groups.sessions.peer``.
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
    spelled: dict[str, str] = Field(
        default_factory=dict[str, str],
        description="patterns of whole statements, by the source: statements that differ only in the groups of a pattern are equal",
    )
    tried: tuple[ReadingTrial, ...] = Field(
        default=(), description="configurations of others that were read, by where they are public"
    )
    taken_back: tuple[TakenBack, ...] = Field(
        default=(), description="what is unknown in these configurations that was not so before"
    )
    faults: Faults | None = Field(default=None, description="how many faults are found in its configurations; seed 1")


class NotRendered(Model):
    """A field of the fabric file for which a system has no statement, and the reason.

    - ``only``: the values without a statement; empty means all values.
    - ``but``: the values that need no statement, because the system behaves that way by default.
    """

    why: str
    only: tuple[str | int | bool, ...] = ()
    but: tuple[str | int | bool, ...] = ()

    def concerns(self, value: object) -> bool:
        """Return True if the system's configuration cannot express this value of the field."""
        return (not self.only or value in self.only) and value not in self.but


class Login(Model):
    """The login state of a system whose configuration defines no login.

    Either no login works, or a well-known account is open.
    """

    without_root: str = Field(default="", description="empty where root does not log in, or is not configured")
    without_user: str


class Lint(Model):
    """The lint that railweave runs on a system's configuration folder.

    ``id`` is the id of the lint's findings, and ``holds`` the condition that the lint checks. ``slow`` is True if only ``verify`` runs the
    lint, because the lint takes long.
    """

    id: str
    holds: str
    slow: bool = False
    warns: bool = Field(default=False, description="some of its rules are warnings")


class Image(Model):
    """The container image for a system in a containerlab topology: kind, port naming, image and configuration file."""

    kind: str
    port: str = Field(description="pattern for the ports, which are never split")
    first_port: int = 0
    image: str
    file: str


class VrfNames(Model):
    """A system's limits on VRF names. A VRF has the name of its tenant."""

    most: int = Field(default=31, description="characters of the longest name")
    reserved: dict[str, str] = Field(
        default_factory=dict[str, str], description="names that mean something else there, and what"
    )


class Notes(Model):
    """Sentences about a system for the generated documentation. Empty if there is nothing to say."""

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
    management_port: str = Field(
        default="eth0", description="the interface of management, as its commands and its LLDP name it"
    )
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
        """Return True if a release has the feature ``capability``. ``release`` None means the system's default release."""
        entry = self.capabilities.get(capability)
        if entry is None:
            return False
        return entry.since is None or release_key(release or self.release) >= release_key(entry.since)

    @property
    def parts_egress(self) -> bool:
        """True if the system's configuration states how the egress packet buffer is divided."""
        return "qos.buffers.egress_lossless" not in self.reads.unsaid

    def vlan_called(self, name: str, vlan: int | None) -> str:
        """Return the name that a VLAN has on the system, from its designed name and VLAN ID. Without a VLAN ID, the name is unchanged."""
        return self.vlan_name.format(name=name, vlan=vlan) if name and vlan else name

    def name_of(self, port: int, channel: int | None, lane: int = 1, lanes: int = 8, cards: int | None = None) -> str:
        """Return a port's name: ``name_of(16, 1, 5)`` is ``et-0/0/16:1`` on Junos, ``Ethernet16/5`` on EOS.

        - ``channel``: the breakout channel, from 0; None for a port without a breakout.
        - ``lane``: the first electrical lane of the channel in the port, from 1.
        - ``lanes``: the number of lanes of a port.
        - ``cards``: the number of ports of a line card; None if there are no line cards.
        """
        card, place = divmod(port, cards) if cards and "{card}" in self.whole_port_name else (0, port)
        pattern = self.whole_port_name if channel is None else self.port_name
        part = None if channel is None else channel + 1
        line = port * lanes + lane - 1
        words = {"card": card, "port": place, "number": place + 1, "lane": lane, "line": line}
        return pattern.format(**words, channel=channel, part=part)

    def alias_of(self, port: int, channel: int | None) -> str:
        """Return a port's alias: ``alias_of(1, 0)`` is ``Eth1/2/1`` on SONiC; empty if the system has no aliases.

        ``channel`` is the breakout channel, from 0; None for a port without a breakout.
        """
        if channel is None:
            return self.whole_port_alias.format(number=port + 1)
        return self.port_alias.format(number=port + 1, part=channel + 1)


def release_key(release: str) -> tuple[int, ...]:
    """Return a sort key for releases: ``23.4X100-D31`` comes before ``25.4R1``. Only the first two version numbers count."""
    match = re.match(r"\s*(\d+)(?:\.(\d+))?", release)
    return tuple(int(part or 0) for part in match.groups()) if match else (0, 0)
