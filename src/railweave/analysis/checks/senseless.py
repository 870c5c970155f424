"""The rule for senseless values: values that a switch accepts although a network cannot work with them.

``BOUNDS`` applies to fields of a configuration. ``STATEMENT_BOUNDS`` applies to statements that set no field, such as
BGP's own timers.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from railweave.model.catalog import catalog
from railweave.model.config.quantities import ETHERNET_HEADER
from railweave.model.device.balancing import EgressQuantization
from railweave.model.device.model import Bgp, BridgedVlan, IsisPort, Vrf
from railweave.model.device.port_model import Gateway, Interface
from railweave.model.device.qos_model import Buffers, Ecn, Marking, PfcProfile, TrafficClass, Watchdog
from railweave.model.device.timers import Bfd, RouterAdvertisements
from railweave.model.findings.registry import FindingPlace, Rule, check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from railweave.analysis.checks.subject import Subject
    from railweave.model.device.model import DeviceConfig
    from railweave.model.findings import Severity


@dataclass(frozen=True)
class Bound:
    """The smallest and the largest sensible value of a field, and the reason.

    - ``kind``: the class of the object that has the field, for example ``Bfd``.
    - ``name``: the field. If ``value`` is set, ``name`` may also be a description.
    - ``value``: a function that takes the object and returns the number to compare, or None to skip the check. Without it, the field
      itself is compared.
    - ``least`` and ``most``: a number, or a function of the object and the bytes of the device's packet buffer.
    """

    kind: type
    name: str
    least: float | Callable[[Any, float], float] = -math.inf
    most: float | Callable[[Any, float], float] = math.inf
    why: str = ""
    severity: Severity = "error"
    unit: str = ""
    value: Callable[[Any], float | None] | None = None

    def broken(self, record: object, buffer_bytes: float) -> str:
        """Return a message with the value and the bound that it violates. Return "" if the value is within the bounds.

        ``record`` is the object with the field. ``buffer_bytes`` is the size of the device's packet buffer.
        """
        value = getattr(record, self.name) if self.value is None else self.value(record)
        if value is None:
            return ""
        limits = (self.least, self.most)
        least, most = (limit(record, buffer_bytes) if callable(limit) else limit for limit in limits)
        if least <= value <= most:
            return ""
        side, limit = ("less", least) if value < least else ("more", most)
        named = "" if self._is_field else f"{self.name} "
        return f"{named}{_shown(value)}{self.unit} is {side} than {_shown(limit)}{self.unit}"

    def place(self, record_place: str) -> str:
        """Return the path of the field in the configuration. If the number is computed, return ``record_place``, the path of its object."""
        return f"{record_place}.{self.name}" if self._is_field else record_place

    @property
    def _is_field(self) -> bool:
        """True if ``name`` is a field and not a description."""
        return self.name.isidentifier()


def _shown(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


_LEAST_MTU, _MOST_MTU = 1280, 10_240
_MTU = "IPv6 needs packets of 1280 bytes (RFC 8200, section 5), and no switch of the catalog takes frames of more than 10 KiB"
_PERCENT = "it is a percentage"

BOUNDS = (
    Bound(
        Bfd, "multiplier", 1, 255, "packets with another multiplier are discarded (RFC 5880, sections 4.1 and 6.8.6)"
    ),
    Bound(
        Bfd,
        "multiplier",
        2,
        why="one lost packet takes the session down (RFC 5880, section 6.8.7, has other jitter for it)",
        severity="warning",
        value=lambda bfd: bfd.multiplier or None,
    ),
    Bound(
        Bfd,
        "detection time",
        30,
        90_000,
        "below 30 ms (FRR's shortest interval of 10 ms, three times) a switch's processor cannot keep up; after 90 s BGP's own "
        "hold time has ended the session (RFC 4271, section 10)",
        unit=" ms",
        value=lambda bfd: bfd.detection_ms() or None,
    ),
    Bound(
        Watchdog,
        "detection time",
        10,
        5000,
        "a pause in order lasts up to 3.4 ms (65,535 quanta of 512 bits, at 10 Gb/s), and after 5 s (sonic-pfcwd.yang) RDMA's own "
        "timeouts end jobs",
        unit=" ms",
        value=lambda watchdog: watchdog.poll_interval * watchdog.detection,
    ),
    Bound(
        Watchdog,
        "recovery",
        10,
        60_000,
        "the action lasts for one poll at least, and for 60 s at most (sonic-pfcwd.yang; EOS, priority-flow-control pause watchdog)",
        unit=" ms",
    ),
    Bound(Interface, "mtu", _LEAST_MTU + ETHERNET_HEADER, _MOST_MTU, _MTU),
    Bound(Interface, "speed_gbps", 1, why="a port has a speed"),
    Bound(Gateway, "mtu", _LEAST_MTU, _MOST_MTU, _MTU),
    Bound(Gateway, "vlan", 1, 4094, "VLAN IDs go from 1 to 4094 (IEEE 802.1Q, table 9-2)"),
    Bound(
        RouterAdvertisements,
        "router_lifetime",
        0,
        9000,
        "routers advertise themselves for up to 9000 s (RFC 4861, section 6.2.1)",
        unit=" s",
    ),
    Bound(
        RouterAdvertisements,
        "max_interval",
        4,
        1800,
        "the longest interval is from 4 to 1800 s (RFC 4861, section 6.2.1)",
        unit=" s",
    ),
    Bound(
        RouterAdvertisements,
        "prefix_preferred_lifetime",
        0,
        lambda advertisements, _: advertisements.prefix_valid_lifetime,
        "hosts ignore a prefix that is preferred for longer than it is valid (RFC 4862, section 5.5.3)",
        unit=" s",
    ),
    Bound(
        Ecn,
        "min_fill",
        0,
        lambda ecn, _: ecn.max_fill,
        "marking would begin where it has its greatest probability already",
        unit=" %",
    ),
    Bound(Ecn, "max_fill", 1, 100, _PERCENT, unit=" %"),
    Bound(Ecn, "max_probability", 1, 100, "at 0 % no packet is marked, and above 100 % is nothing", unit=" %"),
    Bound(
        Marking,
        "first",
        0,
        lambda marking, _: marking.last,
        "marking would begin where it has its greatest probability already",
        unit=" bytes",
    ),
    Bound(
        Marking,
        "last",
        1,
        lambda _, buffer_bytes: buffer_bytes,
        "a queue never gets as long as more than the whole buffer",
        unit=" bytes",
    ),
    Bound(Marking, "probability", 1, 100, "at 0 % no packet is marked, and above 100 % is nothing", unit=" %"),
    Bound(
        PfcProfile,
        "headroom_bytes",
        0,
        lambda _, buffer_bytes: buffer_bytes,
        "one port would have more headroom than the switch has buffer",
        unit=" bytes",
    ),
    Bound(PfcProfile, "cable_length_m", 0, 100_000, "no optic without amplifiers reaches further", unit=" m"),
    Bound(TrafficClass, "queue", 0, 11, "no switch of the catalog has more than 12 queues"),
    Bound(TrafficClass, "pfc_priority", 0, 7, "PFC has eight priorities (IEEE 802.1Q, clause 36)"),
    Bound(
        TrafficClass,
        "dscp",
        0,
        63,
        "a DSCP has six bits (RFC 2474)",
        value=lambda traffic: max(traffic.dscp, default=None),
    ),
    Bound(TrafficClass, "transmit_percent", 1, 100, "a queue of weight 0 sends nothing beside others", unit=" %"),
    Bound(TrafficClass, "buffer_percent", 0, 100, _PERCENT, unit=" %"),
    Bound(
        Buffers,
        "lossless, headroom and lossy",
        1,
        100,
        "the parts of the ingress buffer are one buffer",
        unit=" %",
        value=lambda buffers: buffers.lossless + buffers.headroom + buffers.lossy,
    ),
    Bound(
        Buffers,
        "egress_lossless, egress_lossy and egress_multicast",
        1,
        100,
        "the parts of the egress buffer are one buffer",
        unit=" %",
        value=lambda buffers: (
            buffers.egress_lossless + buffers.egress_lossy + buffers.egress_multicast
            if buffers.egress == "designed"
            else None
        ),
    ),
    Bound(
        EgressQuantization,
        "min",
        0,
        lambda quantization, _: quantization.max,
        "the best band of load would be worse than the worst",
        unit=" %",
    ),
    Bound(Bgp, "maximum_ecmp", 1, why="a route has at least one next hop"),
    Bound(IsisPort, "metric", 1, 16_777_214, "a link of metric 16777215 is in no path (RFC 5305, section 3)"),
    Bound(Vrf, "vni", 1, 16_777_215, "a VNI has 24 bits (RFC 7348)"),
    Bound(BridgedVlan, "vlan", 1, 4094, "VLAN IDs go from 1 to 4094 (IEEE 802.1Q, table 9-2)"),
    Bound(BridgedVlan, "vni", 1, 16_777_215, "a VNI has 24 bits (RFC 7348)"),
)
"""The bounds of configuration fields. A field may have several bounds."""


@check(
    "senseless-value",
    "error",
    applies="network",
    sometimes="warning",
    why="the limit that the value exceeds has a reason of its own (below)",
    fix="set a value within the limit",
)
def senseless_value(subject: Subject) -> Iterator[FindingPlace]:
    """Times, sizes, shares and numbers of a configuration are within bounds in which a network works."""
    for config in subject.configs.values():
        alike: dict[tuple[Bound, str], list[str]] = {}
        unsaid = catalog().systems[config.nos].reads.unsaid if config.nos in catalog().systems else ()
        model = catalog().switches.get(config.model)
        buffer_bytes = model.buffer.shared_mb * 1e6 if model is not None else math.inf
        for plain, entry, record in _records(config):
            for bound in _BY_KIND[type(record)]:
                broken = bound.broken(record, buffer_bytes)
                if broken and f"{plain}.{bound.name}" not in unsaid:
                    alike.setdefault((bound, broken), []).append(bound.place(entry))
        for (bound, words), fields in alike.items():
            more = f" (and {len(fields) - 1} more)" if len(fields) > 1 else ""
            yield FindingPlace(
                config.name, f"{fields[0]}: {words}{more}", severity=bound.severity, why=bound.why or None
            )


_BY_KIND: dict[type, tuple[Bound, ...]] = {
    kind: tuple(bound for bound in BOUNDS if bound.kind is kind) for kind in {bound.kind for bound in BOUNDS}
}


def _records(config: DeviceConfig) -> Iterator[tuple[str, str, object]]:
    """Yield (kind of place, place, object) for each object of a configuration that has bounds.

    For example, the kind of place is ``bgp.groups.bfd`` and the place ``bgp.groups.NAME.bfd``.
    """
    for name, protocol in (("bgp", config.bgp), ("overlay", config.overlay), ("isis", config.isis)):
        if protocol is not None and protocol.bfd is not None:
            yield f"{name}.bfd", f"{name}.bfd", protocol.bfd
    if config.bgp is not None:
        yield "bgp", "bgp", config.bgp
        for group in config.bgp.groups:
            if group.bfd is not None and group.bfd.enabled:
                yield "bgp.groups.bfd", f"bgp.groups.{group.name}.bfd", group.bfd
    for port in config.isis.ports if config.isis else ():
        yield "isis.ports", f"isis.ports.{port.interface}", port
    for interface in config.interfaces:
        yield "interfaces", f"interfaces.{interface.name}", interface
    for gateway in config.gateways:
        yield "gateways", f"gateways.{gateway.name}", gateway
        if gateway.advertisements is not None:
            yield "gateways.advertisements", f"gateways.{gateway.name}.advertisements", gateway.advertisements
    for vrf in config.vrfs:
        yield "vrfs", f"vrfs.{vrf.name}", vrf
    for vlan in config.mac_vrf.vlans if config.mac_vrf else ():
        yield "mac_vrf.vlans", f"mac_vrf.vlans.{vlan.vlan}", vlan
    if config.balancing.group_mode.startswith("dlb"):
        quantization = config.balancing.dlb.egress_quantization
        yield "balancing.dlb.egress_quantization", "balancing.dlb.egress_quantization", quantization
    yield from _qos_records(config)


def _qos_records(config: DeviceConfig) -> Iterator[tuple[str, str, object]]:
    qos = config.qos
    if qos is None:
        return
    for name, traffic_class in qos.classes.items():
        yield "qos.classes", f"qos.classes.{name}", traffic_class
        if traffic_class.ecn is not None:
            yield "qos.classes.ecn", f"qos.classes.{name}.ecn", traffic_class.ecn
    for name, marking in qos.marking.items():
        yield "qos.marking", f"qos.marking.{name}", marking
    for profile in qos.profiles:
        yield "qos.profiles", f"qos.profiles.{profile.name}", profile
    if qos.watchdog is not None:
        yield "qos.watchdog", "qos.watchdog", qos.watchdog
    if qos.shared_buffer:
        yield "qos.buffers", "qos.buffers", qos.buffers


SENSELESS_STATEMENT = Rule(
    "senseless-statement",
    "error",
    "folder",
    "a statement that railweave does not otherwise use has an impossible value",
    "the limit that the value exceeds has a reason of its own (below)",
    "restore the designed statement, or set a value within the limit",
)


@dataclass(frozen=True)
class StatementBound:
    """The smallest and the largest sensible number in a statement (``least``, ``most``), and the reason.

    ``pattern`` is searched in the statement, which is preceded by its parent statements and joined with ``/``. The group
    ``value`` of the pattern is the number. If the pattern also has the group ``keepalive``, ``value`` must be greater.
    """

    pattern: str
    least: int
    most: int
    why: str

    def broken(self, statement: str) -> bool:
        """Return True if a statement matches the pattern and its value is out of bounds."""
        match = re.search(self.pattern, statement)
        if match is None:
            return False
        value, keepalive = int(match["value"]), match.groupdict().get("keepalive")
        return not self.least <= value <= self.most or (keepalive is not None and int(keepalive) >= value)


_HOLD = (
    "a session with hold time 0 sees no dead neighbor, 1 and 2 are refused, and keepalives have to come before it ends (RFC 4271, "
    "sections 4.2 and 4.4); after ten minutes traffic has been lost for ten minutes"
)
STATEMENT_BOUNDS = (
    StatementBound(r"(?i)router bgp.* timers (?:bgp )?(?P<keepalive>\d+) (?P<value>\d+)(?: |$)", 3, 600, _HOLD),
    StatementBound(r"protocols / bgp\b.*(?<![\w-])hold-time (?P<value>\d+)$", 3, 600, _HOLD),
    StatementBound(r"BGP_\w+\b.*\b(?:holdtime|hold_time) (?P<value>\d+)$", 3, 600, _HOLD),
    StatementBound(r"BGP_\w+\b.*\b(?:keepalive|keepalive_intvl) (?P<value>\d+)$", 1, 200, _HOLD),
    StatementBound(
        r"(?i)bgp\b.*\b(?:timers connect|connect-retry-interval|conn_retry) (?P<value>\d+)$",
        1,
        300,
        "a session that went down is tried again after that time: RFC 4271, section 10, has 120 s",
    ),
    StatementBound(
        r"(?:\bgraceful-restart\b.*?(?:restart|stalepath|stale-routes|rib-stale)-time"
        r"|BGP_\w+\b.*\bgr_(?:restart|stale_routes)_time) (?P<value>\d+)$",
        1,
        600,
        "stale routes of a neighbor that is gone are used for that long; RFC 4724, section 4.2, has at most the hold time",
    ),
    StatementBound(
        r"(?:\blldp timer|protocols / lldp\b.*advertisement-interval|LLDP\b.*hello_time) (?P<value>\d+)$",
        1,
        300,
        "neighbors are seen late or flood the switch: IEEE 802.1AB has 30 s",
    ),
    StatementBound(
        r"\blldp hold-?time (?P<value>\d+)$",
        4,
        3600,
        "neighbors are forgotten before they speak again, or long after they went: IEEE 802.1AB has 120 s",
    ),
    StatementBound(
        r"(?:\blldp multiplier|protocols / lldp\b.*hold-multiplier|LLDP\b.*multiplier) (?P<value>\d+)$",
        2,
        10,
        "neighbors are forgotten before they speak again, or long after they went (IEEE 802.1AB, section 9.2.5)",
    ),
    StatementBound(
        r"\bscheduler-policy\b.* weight (?P<value>\d+)$", 1, 100, "a queue of weight 0 sends nothing beside others"
    ),
    StatementBound(
        r"\blacp timer\b.* multiplier (?P<value>\d+)$",
        3,
        20,
        "a link leaves its group after that many intervals: IEEE 802.1AX has three",
    ),
)
"""The bounds of statements, for the configuration languages of all systems."""


def senseless_statement(statement: str) -> StatementBound | None:
    """Return the bound that a statement violates, or None."""
    return next((bound for bound in STATEMENT_BOUNDS if bound.broken(statement)), None)
