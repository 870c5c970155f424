"""The part of a ``DeviceState`` that is about ports: links, optics, queues, PFC. None is what the device did not say."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Errors:
    """Error counters of a port. ``in_resource`` counts what arrived and found no buffer, ``ecn_marked`` what left marked."""

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
    """Forward error correction of a port: its name as the device has it, codewords, and the bit error rate before it."""

    mode: str | None = None
    corrected: int | None = None
    uncorrected: int | None = None
    pre_fec_ber: float | None = None


@dataclass(frozen=True, slots=True)
class InterfaceState:
    """A port, or another interface that has a state: whether it is meant to be up and is, and what passes.

    ``mtu`` is the device's own number, which counts the Ethernet frame on some systems and the IP packet on others.
    ``reason`` is the device's word for why it is down. ``flaps`` counts changes of the link, ``last_change`` is when it last changed.
    ``in_bytes`` and ``out_bytes`` count what came and went, as the device counts.
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


@dataclass(frozen=True, slots=True)
class Lane:
    """One lane of an optic: light sent and received in dBm (minus infinity: none), the laser's current in mA."""

    number: int
    tx_dbm: float | None = None
    rx_dbm: float | None = None
    bias_ma: float | None = None


@dataclass(frozen=True, slots=True)
class Optic:
    """An optic: what it is, how warm, and its lanes. ``alarms`` are the names of its alarms that are raised.

    ``cable_m`` is the length in metres of a cable that cannot be unplugged from it (copper, active optical).
    ``rx_low_dbm`` and ``tx_low_dbm`` are the least light before the device raises an alarm. ``present`` is whether there is one.
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
    """An egress queue: packets sent and dropped, packets marked, and the most bytes that ever stood in it."""

    name: str | None = None
    sent: int | None = None
    dropped: int | None = None
    ecn_marked: int | None = None
    peak_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class PriorityGroup:
    """An ingress priority group: packets dropped, the most bytes of shared buffer and of headroom that it used."""

    dropped: int | None = None
    peak_bytes: int | None = None
    peak_headroom_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class PortQueues:
    """Egress queues and ingress priority groups of a port, by their numbers."""

    egress: dict[int, Queue]
    ingress: dict[int, PriorityGroup]


@dataclass(frozen=True, slots=True)
class PfcCounters:
    """PFC frames of one priority."""

    received: int | None = None
    sent: int | None = None
