"""The state of ports in a ``DeviceState``: links, optics, queues and PFC. None means that the device gave no value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Errors:
    """The error counters of a port.

    ``in_resource`` counts received packets that found no buffer. ``ecn_marked`` counts packets that the port sent with an ECN mark.
    """

    in_errors: int | None = None
    out_errors: int | None = None
    in_discards: int | None = None
    out_discards: int | None = None
    in_crc: int | None = None
    in_resource: int | None = None
    out_mtu: int | None = None
    ecn_marked: int | None = None


@dataclass(frozen=True, slots=True)
class Fec:
    """The forward error correction of a port: the device's name for the mode, the codewords, and the bit error rate before FEC."""

    mode: str | None = None
    corrected: int | None = None
    uncorrected: int | None = None
    pre_fec_ber: float | None = None


NO_MAC = "00:00:00:00:00:00"
"""The MAC address of an interface that has none, such as a Linux bridge that has lost its last port."""


@dataclass(frozen=True, slots=True)
class InterfaceState:
    """A port, or another interface with a state: its admin and operational state, its properties and its traffic.

    - ``mtu``: the device's own number. Some systems count the Ethernet frame, others the IP packet.
    - ``reason``: the device's term for the reason why the interface is down.
    - ``flaps``: the number of link changes. ``last_change`` is the time of the last change.
    - ``in_bytes``, ``out_bytes``: the bytes received and sent, as the device counts them.
    - ``bridged``: True if the port is a bridge port, and so a member of a VLAN.
    """

    name: str
    admin_up: bool | None = None
    oper_up: bool | None = None
    reason: str | None = None
    description: str | None = None
    speed_gbps: float | None = None
    lanes: int | None = None
    mtu: int | None = None
    mac: str | None = None
    addresses: tuple[str, ...] | None = None
    vrf: str | None = None
    flaps: int | None = None
    last_change: float | None = None
    errors: Errors = Errors()
    fec: Fec = Fec()
    in_bytes: int | None = None
    out_bytes: int | None = None
    bridged: bool | None = None


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane of an optic: sent and received light in dBm (minus infinity: no light), and the laser's current in mA."""

    number: int
    tx_dbm: float | None = None
    rx_dbm: float | None = None
    bias_ma: float | None = None


@dataclass(frozen=True, slots=True)
class Optic:
    """An optic: its type, temperature, voltage, alarms and lanes.

    - ``present``: True if an optic is plugged in.
    - ``alarms``: the names of its active alarms.
    - ``cable_m``: the length in metres of a cable that is fixed to the optic (copper, active optical).
    - ``rx_low_dbm``, ``tx_low_dbm``: the light levels below which the device raises an alarm.
    """

    present: bool | None = None
    kind: str | None = None
    vendor: str | None = None
    part: str | None = None
    serial: str | None = None
    temperature_c: float | None = None
    voltage_v: float | None = None
    lanes: tuple[Lane, ...] = ()
    rx_low_dbm: float | None = None
    tx_low_dbm: float | None = None
    alarms: tuple[str, ...] = ()
    cable_m: float | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """An egress queue: the packets that were sent, dropped and marked, and the peak fill in bytes."""

    name: str | None = None
    sent: int | None = None
    dropped: int | None = None
    ecn_marked: int | None = None
    peak_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class PriorityGroup:
    """An ingress priority group: its dropped packets, and its peak use of shared buffer and of headroom in bytes."""

    dropped: int | None = None
    peak_bytes: int | None = None
    peak_headroom_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class PortQueues:
    """The egress queues and ingress priority groups of a port, by number."""

    egress: dict[int, Queue]
    ingress: dict[int, PriorityGroup]


@dataclass(frozen=True, slots=True)
class PfcCounters:
    """The numbers of PFC frames that a port received and sent for one priority."""

    received: int | None = None
    sent: int | None = None
