"""QoS statements of Enterprise SONiC: maps, policies and buffers, the QoS of ports, adaptive routing (ARS), and the static hash."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Literal, TypeVar

from railweave.model.config.codecs import NUMBER, choice, defines, in_range, number, refers, whole
from railweave.model.config.number_ranges import ranges
from railweave.model.config.statements import Codec, Statements, each, line
from railweave.systems.dell_sonic.statements import effects
from railweave.systems.dell_sonic.tree import LOSSLESS_BUFFERS
from railweave.systems.dell_sonic.words import numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from railweave.model.config.sections import Section
    from railweave.model.config.statements import Row

T = TypeVar("T")

MOST_DSCP, MOST_QUEUE = 63, 7
KINDS = ("dscp-tc", "tc-queue", "tc-pg", "pfc-priority-queue")
"""The kinds of maps that railweave reads."""


@dataclass(frozen=True, slots=True)
class Wred:
    """A WRED policy: the thresholds ``low`` and ``high`` for green packets in kilobytes, and the ``probability`` at ``high`` in percent.

    ``marks`` tells which packets get ECN marks: ``green`` (only green ones) or ``all``. It is empty if the policy does not mark packets.
    """

    low: int | None = None
    high: int | None = None
    probability: int | None = None
    marks: str = ""


@dataclass(frozen=True, slots=True)
class Queue:
    """The scheduling of a queue. ``serving`` is ``strict`` or ``dwrr``; the latter has a weight."""

    serving: str | None = None
    weight: int | None = None


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A scheduler policy: its queues by number."""

    queues: dict[int, Queue] = field(default_factory=dict[int, Queue])


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a QoS map. The map converts each number in ``members`` to ``target``."""

    members: tuple[int, ...] = ()
    target: int = 0
    section: Section | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Map:
    """A QoS map, with its entries in the order of its lines."""

    entries: tuple[Entry, ...] = ()

    @property
    def targets(self) -> dict[int, int]:
        """The target of each number. If several lines have the same number, the last line applies."""
        return {member: entry.target for entry in self.entries for member in entry.members}


def _by_kind(*values: T) -> dict[str, T]:
    """Return the values by kind of map. ``values`` are in the order of ``KINDS``; empty values are left out."""
    return {kind: value for kind, value in zip(KINDS, values, strict=True) if value}


@dataclass(frozen=True, slots=True)
class BufferProfile:
    """A lossless buffer profile.

    - ``size``: the reserved bytes.
    - ``alpha``: the share of the pool's free part, as the exponent of alpha to the base 2.
    - ``xoff``: the number of bytes that may arrive after a pause.
    """

    size: int = 0
    alpha: int = 0
    xoff: int = 0


@dataclass(frozen=True, slots=True)
class Qos:
    """The QoS objects to which ports refer, by name, and the settings of the switch.

    - ``marking``, ``schedulers``, ``profiles``: WRED policies, scheduler policies, and lossless buffer profiles.
    - ``dscp_tc``, ``tc_queue``, ``tc_pg``, ``pfc_priority_queue``: maps, such as from a traffic class (tc) to a priority group (pg).
    - ``lossless_buffers``: True if lossless buffers are initialized.
    - ``poll``: the polling interval of the PFC watchdog in milliseconds.
    - ``headroom``: the headroom of the buffer pool in bytes.
    """

    lossless_buffers: bool = False
    marking: dict[str, Wred] = field(default_factory=dict[str, Wred])
    schedulers: dict[str, Scheduler] = field(default_factory=dict[str, Scheduler])
    dscp_tc: dict[str, Map] = field(default_factory=dict[str, Map])
    tc_queue: dict[str, Map] = field(default_factory=dict[str, Map])
    tc_pg: dict[str, Map] = field(default_factory=dict[str, Map])
    pfc_priority_queue: dict[str, Map] = field(default_factory=dict[str, Map])
    poll: int | None = None
    headroom: int | None = None
    profiles: dict[str, BufferProfile] = field(default_factory=dict[str, BufferProfile])

    @property
    def maps(self) -> dict[str, dict[str, Map]]:
        """The maps of each kind, by name. A kind without a map is left out."""
        return _by_kind(self.dscp_tc, self.tc_queue, self.tc_pg, self.pfc_priority_queue)

    def targets(self, kind: str, names: Iterable[str]) -> dict[int, int]:
        """Return the target of each number in a map of a kind: the first defined map of ``names``, else the first map of the kind."""
        maps = self.maps.get(kind, {})
        return next((maps[name].targets for name in chain(names, maps) if name in maps), dict[int, int]())


@dataclass(frozen=True, slots=True)
class QueueMarking:
    """The WRED policy that a port applies to a queue, with the line that states it (``section``)."""

    policy: str = ""
    section: Section | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PortQos:
    """The QoS of a port: names of the QoS objects that it uses, PFC priorities that it pauses, and settings of the PFC watchdog.

    - ``marking``: the WRED policy of each queue.
    - ``action``, ``detect``, ``restore``: the watchdog's action, and its times in milliseconds.
    - ``buffers``: the buffer profile of each priority group.
    - ``ars``: the port profile of adaptive routing.
    """

    marking: dict[int, QueueMarking] = field(default_factory=dict[int, QueueMarking])
    scheduler: str = ""
    dscp_tc: str = ""
    tc_queue: str = ""
    tc_pg: str = ""
    pfc_priority_queue: str = ""
    pauses: tuple[int, ...] = ()
    action: Literal["drop", "forward"] | None = None
    detect: int | None = None
    restore: int | None = None
    buffers: dict[int, str] = field(default_factory=dict[int, str])
    ars: str = ""

    @property
    def maps(self) -> dict[str, str]:
        """The name of the map of each kind. A kind without a map is left out."""
        return _by_kind(self.dscp_tc, self.tc_queue, self.tc_pg, self.pfc_priority_queue)

    @property
    def is_watched(self) -> bool:
        """True if the port has a statement about the PFC watchdog."""
        return (self.action, self.detect, self.restore) != (None, None, None)


Mode = Literal["dlb-flowlet", "dlb-per-packet"]


@dataclass(frozen=True, slots=True)
class ArsProfile:
    """A profile of adaptive routing. ``interval`` is the time in microseconds between two samples of the load."""

    interval: int | None = None


@dataclass(frozen=True, slots=True)
class ArsPortProfile:
    """The settings of adaptive routing on a port. ``past_weight`` is the weight of the past load."""

    enabled: bool = False
    past_weight: int | None = None


@dataclass(frozen=True, slots=True)
class ArsObject:
    """The load balancing of next-hop groups.

    For flowlets, ``idle`` is the time in microseconds that separates two flowlets, and ``flows`` is the largest number of flowlets at
    the same time.
    """

    mode: Mode | None = None
    idle: int | None = None
    flows: int | None = None


@dataclass(frozen=True, slots=True)
class Hashed:
    """A header field that the static hash includes, for one address family."""

    ipv4: str | None = None
    ipv6: str | None = None


@dataclass(frozen=True, slots=True)
class Balancing:
    """The load balancing of a switch.

    It has the objects and profiles of adaptive routing by name, the profile in use (``bound``), and the seed and fields of
    the static hash.
    """

    profiles: dict[str, ArsProfile] = field(default_factory=dict[str, ArsProfile])
    port_profiles: dict[str, ArsPortProfile] = field(default_factory=dict[str, ArsPortProfile])
    objects: dict[str, ArsObject] = field(default_factory=dict[str, ArsObject])
    bound: str | None = None
    seed: int | None = None
    hashed: tuple[Hashed, ...] = ()


def _limited(text: str, most: int) -> int:
    value: int = NUMBER.read(text)
    if value > most:
        raise ValueError(text)
    return value


def _members(text: str, most: int) -> tuple[int, ...]:
    return tuple(sorted({*numbers(text, most)}))


def _signed(text: str) -> int:
    return -whole(text[1:]) if text.startswith("-") else whole(text)


CLASS = Codec(in_range(0, MOST_QUEUE), partial(_limited, most=MOST_QUEUE), str, shown_as=f"0-{MOST_QUEUE}")
"""The codec (conversion from and to text) for the number of a queue, traffic class, PFC priority or priority group."""
CLASSES = Codec(CLASS.accepts, partial(_members, most=MOST_QUEUE), ranges, shown_as=CLASS.shown_as)
"""The codec (conversion from and to text) for several numbers of queues, traffic classes or priorities.

Each number is printed in its own line; the reader also accepts a list.
"""
LIST = r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*"
ALPHA = Codec(r"-[1-6]|[0-3]", _signed, str, shown_as="-6 to 3")
FLOWS = replace(
    number(256, 32768),
    accepts="256|512|1024|2048|4096|8192|16384|32768",
    shown_as="256|512|1024|2048|4096|8192|16384|32768",
)
MODE = choice({"dlb-flowlet": "flowlet-quality", "dlb-per-packet": "packet-quality"})
HASH = "ansible sonic_ecmp_load_share"
ARS = "4.5"
"""The first release with adaptive routing. This is an assumption, because no public document states it."""


def _list(most: int) -> Codec:
    """Return the codec (conversion from and to text) for a list of numbers and ranges, such as ``0-2,5``. ``most`` is the largest number."""
    return Codec(LIST, partial(_members, most=most), ranges, shown_as="list")


def _map(kind: str, field_name: str, form: str, members: Codec) -> Row:
    """Return the row of a statement table for QoS maps of a kind.

    ``field_name`` is the field of ``Qos`` with these maps. ``form`` is the pattern of the lines below a map's header. ``members`` is the
    codec (conversion from and to text) for the numbers in such a line.
    """
    entry = each(form, "entries", "guide", Entry, members=members, target=CLASS)
    return each(f"qos map {kind} <name>", field_name, "guide", Map, (entry,), by="name", name=defines(kind))


def _hashed(*words: str) -> Codec:
    return choice({word: word for word in words})


WRED = (
    line(
        "green minimum-threshold <low> maximum-threshold <high> drop-probability <probability>",
        "guide",
        changed="replaced",
        low=NUMBER,
        high=NUMBER,
        probability=number(0, 100),
    ),
    line("ecn <marks>", "guide", usual="", changed="removed", marks=choice({"green": "green", "all": "all"})),
)
QUEUE = (
    line("type <serving>", "guide", serving=choice({"dwrr": "dwrr", "strict": "strict"})),
    line("weight <weight>", "guide", weight=number(1, 100)),
)
SCHEDULER = (each("queue <number>", "queues", "guide", Queue, QUEUE, by="number", number=CLASS),)

QOS = Statements(
    Qos,
    (
        line(LOSSLESS_BUFFERS, "ansible sonic_qos_buffer", sets={"lossless_buffers": True}, disrupts=effects.BUFFERS),
        each("qos wred-policy <name>", "marking", "guide", Wred, WRED, by="name", name=defines("wred-policy")),
        each(
            "qos scheduler-policy <name>",
            "schedulers",
            "guide",
            Scheduler,
            SCHEDULER,
            by="name",
            name=defines("scheduler-policy"),
        ),
        _map("dscp-tc", "dscp_tc", "dscp <members> traffic-class <target>", _list(MOST_DSCP)),
        _map("tc-queue", "tc_queue", "traffic-class <members> queue <target>", CLASSES),
        _map("tc-pg", "tc_pg", "traffic-class <members> priority-group <target>", _list(MOST_QUEUE)),
        _map("pfc-priority-queue", "pfc_priority_queue", "pfc-priority <members> queue <target>", CLASSES),
        line("priority-flow-control watchdog polling-interval <poll>", "spytest security/rbac", poll=number(100, 3000)),
        line(
            "buffer pool ingress_lossless_pool shared-headroom-size <headroom>",
            "ansible sonic_qos_buffer",
            disrupts=effects.BUFFERS,
            changed="replaced",
            headroom=NUMBER,
        ),
        each(
            "buffer profile <name> ingress_lossless_pool <size> dynamic-threshold <alpha> pause pause-threshold <xoff>",
            "profiles",
            "ansible sonic_qos_buffer (ranges: its options)",
            BufferProfile,
            by="name",
            changed="replaced",
            name=defines("profile"),
            size=NUMBER,
            alpha=ALPHA,
            xoff=number(46080, 8388608),
        ),
    ),
    disrupts=(),
)
"""The statements about maps, policies and buffers. Of these, ``prepare.cli`` has only ``buffer init lossless``."""

OPTIONS = "guide; ansible sonic_qos_interfaces"
PORT_QOS = (
    each(
        "queue <number> wred-policy <policy>",
        "marking",
        "guide",
        QueueMarking,
        by="number",
        number=CLASS,
        policy=refers("wred-policy"),
    ),
    line("scheduler-policy <scheduler>", "guide", usual="", scheduler=refers("scheduler-policy")),
    line("qos-map dscp-tc <dscp_tc>", OPTIONS, usual="", dscp_tc=refers("dscp-tc")),
    line("qos-map tc-queue <tc_queue>", OPTIONS, usual="", tc_queue=refers("tc-queue")),
    line("qos-map tc-pg <tc_pg>", OPTIONS, usual="", tc_pg=refers("tc-pg")),
    line(
        "qos-map pfc-priority-queue <pfc_priority_queue>",
        OPTIONS,
        usual="",
        pfc_priority_queue=refers("pfc-priority-queue"),
    ),
    each("priority-flow-control priority <it>", "pauses", "guide", it=CLASS),
    line(
        "priority-flow-control watchdog action <action>", OPTIONS, action=choice({"drop": "drop", "forward": "forward"})
    ),
    line("priority-flow-control watchdog on detect-time <detect>", "guide", detect=number(100, 5000)),
    line("priority-flow-control watchdog restore-time <restore>", "guide", restore=number(100, 60000)),
    each(
        "buffer priority-group <group> <it>",
        "buffers",
        "spytest qos/qos",
        by="group",
        group=CLASS,
        it=refers("profile"),
    ),
    line("ars bind <ars>", "ansible sonic_ars", usual="", since=ARS, changed="removed", ars=refers("port-profile")),
)

BALANCING = Statements(
    Balancing,
    (
        each(
            "ars profile <name>",
            "profiles",
            "ansible sonic_ars",
            ArsProfile,
            (line("sampling-interval <interval>", "ansible sonic_ars", changed="replaced", interval=number(1, 255)),),
            by="name",
            since=ARS,
            name=defines("ars profile"),
        ),
        each(
            "ars port-profile <name>",
            "port_profiles",
            "ansible sonic_ars",
            ArsPortProfile,
            (
                line("enable", "ansible sonic_ars", sets={"enabled": True}),
                line(
                    "load-past-weight <past_weight>",
                    "ansible sonic_ars",
                    changed="replaced",
                    past_weight=number(0, 100),
                ),
            ),
            by="name",
            since=ARS,
            name=defines("port-profile"),
        ),
        each(
            "ars object <name>",
            "objects",
            "ansible sonic_ars",
            ArsObject,
            (
                line("mode <mode>", "ansible sonic_ars (options)", changed="replaced", mode=MODE),
                line("idle-time <idle>", "ansible sonic_ars", changed="replaced", idle=number(16, 32767)),
                line("max-flows <flows>", "ansible sonic_ars", changed="replaced", flows=FLOWS),
            ),
            by="name",
            since=ARS,
            name=defines("object"),
        ),
        line(
            "ars bind profile <bound>", "ansible sonic_ars", since=ARS, changed="removed", bound=refers("ars profile")
        ),
        line("ip load-share hash seed <seed>", HASH, changed="removed", seed=number(0, 16777214)),
        each(
            ("ip load-share hash ipv4 ipv4-<ipv4>", "ip load-share hash ipv6 ipv6-<ipv6>"),
            "hashed",
            HASH,
            Hashed,
            ipv4=_hashed("src-ip", "dst-ip", "ip-proto", "l4-src-port", "l4-dst-port"),
            ipv6=_hashed("src-ip", "dst-ip", "next-hdr", "l4-src-port", "l4-dst-port"),
        ),
    ),
    disrupts=(),
)
"""The statements about adaptive routing and the static hash."""
