"""The reader of packet captures: RoCE packets of pcap and pcapng files, counted by flow, DSCP, ECN and operation.

Sources: IETF draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng; InfiniBand architecture specification, volume 1, chapter 9 (headers and
opcodes) and annex A17 (RoCE v2, and congestion notification packets).
"""

from __future__ import annotations

import gzip
import ipaddress
import struct
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from . import show
from .failure import HostInputError
from .files import opened

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PORT = 4791
"""The UDP destination port of RoCE v2."""
CNP = 0x81
"""The opcode of congestion notification packets."""
ECN_NAMES = ("Not-ECT", "ECT(1)", "ECT(0)", "CE")
_TRANSPORTS = {0: "RC", 1: "UC", 2: "RD", 3: "UD", 4: "CNP", 5: "XRC"}
_OPERATIONS = (
    "SEND first", "SEND middle", "SEND last", "SEND last with immediate", "SEND only", "SEND only with immediate",
    "WRITE first", "WRITE middle", "WRITE last", "WRITE last with immediate", "WRITE only", "WRITE only with immediate",
    "READ request", "READ response first", "READ response middle", "READ response last", "READ response only",
    "acknowledge", "atomic acknowledge", "compare and swap", "fetch and add", "reserved",
    "SEND last with invalidate", "SEND only with invalidate",
)  # fmt: skip
_DATA = frozenset((*range(12), *range(13, 17), 22, 23))
"""The operations that carry data: sends, writes and read responses."""
_READ_REQUEST, _ACKNOWLEDGE = 12, 17
_NAKS = (
    "PSN sequence error",
    "invalid request",
    "remote access error",
    "remote operational error",
    "invalid RD request",
)
_LONGEST = 1 << 26
"""The longest accepted packet or block in bytes; a longer one means that the file is damaged."""
_LINKS = {1: "Ethernet", 12: "IP", 14: "IP", 101: "IP", 113: "SLL", 228: "IP", 229: "IP", 276: "SLL2"}
"""The supported link types by number, and the first header of their frames (tcpdump.org, link-layer header types)."""
_TAGS = {0x8100, 0x88A8, 0x9100}


class Frame(NamedTuple):
    """A captured frame.

    ``time_ns`` is the time in nanoseconds since 1970. ``length`` is the number of bytes on the wire; ``data`` may have
    fewer. ``link`` is the link type.
    """

    time_ns: int
    link: int
    length: int
    data: bytes


class Roce(NamedTuple):
    """The headers of a RoCE v2 packet.

    ``syndrome`` is the syndrome of an acknowledgement, or None. ``vlan_priority`` is None without a VLAN tag.
    """

    source: str
    destination: str
    source_port: int
    dscp: int
    ecn: int
    opcode: int
    becn: bool
    queue_pair: int
    psn: int
    syndrome: int | None
    vlan_priority: int | None


def frames(file: Path) -> Iterator[Frame]:
    """Yield the frames of a capture.

    Raises HostInputError if the file is not a capture. A last frame that is cut off is left out.
    """
    try:
        with opened(file) as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            stream = cast("IO[bytes]", gzip.open(raw)) if packed else raw  # noqa: SIM115 - the file under it is closed
            yield from _frames(file, stream)
    except (OSError, EOFError, zlib.error) as error:
        raise HostInputError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _frames(file: Path, stream: IO[bytes]) -> Iterator[Frame]:
    magic = stream.read(4)
    if magic == b"\x0a\x0d\x0d\x0a":
        yield from _pcapng(file, stream)
        return
    for order in "<>":
        number = struct.unpack(f"{order}I", magic)[0] if len(magic) == 4 else 0
        if number in {0xA1B2C3D4, 0xA1B23C4D}:
            yield from _pcap(file, stream, order, 1 if number == 0xA1B23C4D else 1000)
            return
    raise HostInputError(f"{file}: is no capture of packets (pcap or pcapng)")


def _pcap(file: Path, stream: IO[bytes], order: str, unit_ns: int) -> Iterator[Frame]:
    header = stream.read(20)
    if len(header) < 20:
        raise HostInputError(f"{file}: ends in the file header of pcap")
    link = struct.unpack(f"{order}I", header[16:])[0] & 0xFFFF
    while len(record := stream.read(16)) == 16:
        seconds, part, kept, length = struct.unpack(f"{order}IIII", record)
        if kept > _LONGEST:
            raise HostInputError(f"{file}: is damaged: a packet of {kept} bytes")
        data = stream.read(kept)
        if len(data) < kept:
            return
        yield Frame(seconds * 1_000_000_000 + part * unit_ns, link, length, data)


def _pcapng(file: Path, stream: IO[bytes]) -> Iterator[Frame]:
    order, interfaces = "<", list[tuple[int, int, int]]()
    kind = 0x0A0D0D0A
    while True:
        start = stream.read(4)
        if len(start) < 4:
            return
        if kind == 0x0A0D0D0A:  # each section has its own byte order and interfaces
            mark = stream.read(4)
            order = "<" if mark == b"\x4d\x3c\x2b\x1a" else ">" if mark == b"\x1a\x2b\x3c\x4d" else ""
            if not order:
                raise HostInputError(f"{file}: is damaged: a section of pcapng without its byte order")
            interfaces.clear()
        length = struct.unpack(f"{order}I", start)[0]
        done = 12 if kind == 0x0A0D0D0A else 8
        if not 12 <= length <= _LONGEST:
            raise HostInputError(f"{file}: is damaged: a block of {length} bytes")
        body = stream.read(length - done)
        if len(body) < length - done:
            return
        yield from _block(order, kind, body[:-4], interfaces)
        following = stream.read(4)
        if len(following) < 4:
            return
        kind = struct.unpack(f"{order}I", following)[0]


def _block(order: str, kind: int, body: bytes, interfaces: list[tuple[int, int, int]]) -> Iterator[Frame]:
    """Yield the frame in a block of pcapng, if the block has one. A block that describes an interface is added to ``interfaces`` instead.

    - ``order``: the byte order. ``kind``: the block type. ``body``: the content of the block.
    - ``interfaces``: for each interface of the file, its link type, time units per second, and time offset in seconds.
    """
    if kind == 1 and len(body) >= 8:
        interfaces.append((struct.unpack(f"{order}H", body[:2])[0], *_clock(order, body[8:])))
    elif kind in {2, 6} and len(body) >= 20:
        number, high, low, kept, length = cast("tuple[int, ...]", struct.unpack(f"{order}IIIII", body[:20]))
        if kind == 2:  # the obsolete packet block: 16 bits of it count drops
            number = number & 0xFFFF if order == "<" else number >> 16
        if number < len(interfaces) and kept <= len(body) - 20:
            link, units, offset = interfaces[number]
            ticks = (high << 32) + low
            yield Frame(offset * 1_000_000_000 + ticks * 1_000_000_000 // units, link, length, body[20 : 20 + kept])
    elif kind == 3 and len(body) >= 4 and interfaces:
        length = struct.unpack(f"{order}I", body[:4])[0]
        yield Frame(0, interfaces[0][0], length, body[4 : 4 + length])


def _clock(order: str, options: bytes) -> tuple[int, int]:
    """Return (time units per second, offset in seconds) from the ``options`` of an interface, encoded in byte order ``order``.

    The default is 10^6 units and no offset.
    """
    units, offset = 1_000_000, 0
    while len(options) >= 4:
        code, length = struct.unpack(f"{order}HH", options[:4])
        value = options[4 : 4 + length]
        if code == 9 and length == 1:
            units = 2 ** (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif code == 14 and length == 8:
            offset = struct.unpack(f"{order}q", value)[0]
        elif code == 0:
            break
        options = options[4 + (length + 3) // 4 * 4 :]
    return units, offset


def roce(frame: Frame) -> Roce | None:
    """Return the RoCE v2 headers of a frame.

    Return None if the frame is not a RoCE v2 packet, or was cut off before the end of the base transport header.
    """
    try:
        return _roce(frame)
    except (struct.error, IndexError):
        return None


def _roce(frame: Frame) -> Roce | None:
    data, kind = frame.data, _LINKS.get(frame.link, "")
    at, ether, vlan_priority = 0, 0, None
    if kind == "Ethernet":
        at, ether = 14, struct.unpack_from(">H", data, 12)[0]
        while ether in _TAGS:
            tag, ether = struct.unpack_from(">HH", data, at)
            vlan_priority, at = tag >> 13, at + 4
    elif kind == "SLL":
        at, ether = 16, struct.unpack_from(">H", data, 14)[0]
    elif kind == "SLL2":
        at, ether = 20, struct.unpack_from(">H", data, 0)[0]
    elif kind == "IP":
        ether = {4: 0x0800, 6: 0x86DD}.get(data[0] >> 4, 0)
    address: type[ipaddress.IPv4Address] | type[ipaddress.IPv6Address]
    if ether == 0x0800:
        traffic, protocol, fragment = data[at + 1], data[at + 9], struct.unpack_from(">H", data, at + 6)[0] & 0x1FFF
        ends, address, udp = data[at + 12 : at + 20], ipaddress.IPv4Address, at + 4 * (data[at] & 15)
        if fragment:
            return None
    elif ether == 0x86DD:
        traffic, protocol = struct.unpack_from(">I", data, at)[0] >> 20 & 0xFF, data[at + 6]
        ends, address, udp = data[at + 8 : at + 40], ipaddress.IPv6Address, at + 40
        while protocol in {0, 43, 60}:
            protocol, udp = data[udp], udp + 8 * (data[udp + 1] + 1)
    else:
        return None
    if protocol != 17:
        return None
    source_port, port = struct.unpack_from(">HH", data, udp)
    if port != PORT:
        return None
    opcode, _, _, notification, queue_pair, psn = struct.unpack_from(">BBHB3sx3s", data, udp + 8)
    acknowledge = opcode & 31 == _ACKNOWLEDGE and opcode >> 5 != CNP >> 5
    half = len(ends) // 2
    return Roce(
        str(address(ends[:half])),
        str(address(ends[half:])),
        source_port,
        traffic >> 2,
        traffic & 3,
        opcode,
        bool(notification & 0x40),
        int.from_bytes(queue_pair, "big"),
        int.from_bytes(psn, "big"),
        data[udp + 20] if acknowledge else None,
        vlan_priority,
    )


def operation(opcode: int) -> str:
    """Return the name of an opcode, such as ``RC WRITE middle``."""
    if opcode == CNP:
        return "CNP"
    low = opcode & 31
    name = _OPERATIONS[low] if low < len(_OPERATIONS) else "reserved"
    return f"{_TRANSPORTS.get(opcode >> 5, 'transport ' + str(opcode >> 5))} {name}"


@dataclass
class Flow:
    """The packets from one address and UDP port to one queue pair.

    - ``bytes``: the bytes on the wire. ``first_ns``, ``last_ns``: the times of the first and last packet.
    - ``dscp``, ``ecn``, ``operations``, ``priorities``: packets by DSCP, ECN codepoint, opcode, and VLAN priority.
    - ``naks``: negative acknowledgements by reason.
    - ``skipped``, ``repeated``: the number of sequence numbers that are missing, and that occur again.
    - ``following``: the next sequence number that is expected.
    """

    source: str
    destination: str
    source_port: int
    queue_pair: int
    packets: int = 0
    bytes: int = 0
    first_ns: int = 0
    last_ns: int = 0
    dscp: Counter[int] = field(default_factory=Counter[int])
    ecn: Counter[int] = field(default_factory=Counter[int])
    operations: Counter[int] = field(default_factory=Counter[int])
    priorities: Counter[int] = field(default_factory=Counter[int])
    naks: Counter[str] = field(default_factory=Counter[str])
    skipped: int = 0
    repeated: int = 0
    following: int | None = None

    @property
    def notifications(self) -> int:
        """The number of congestion notification packets."""
        return self.operations[CNP]

    @property
    def data(self) -> int:
        """The number of packets that carry data."""
        return sum(count for opcode, count in self.operations.items() if _carries_data(opcode))

    def add(self, frame: Frame, packet: Roce) -> None:
        """Count a packet in the totals of this flow. ``frame`` is the captured frame that contains the packet."""
        self.first_ns = self.first_ns if self.packets else frame.time_ns
        self.last_ns = max(self.last_ns, frame.time_ns)
        self.packets += 1
        self.bytes += frame.length
        self.dscp[packet.dscp] += 1
        self.ecn[packet.ecn] += 1
        self.operations[packet.opcode] += 1
        if packet.vlan_priority is not None:
            self.priorities[packet.vlan_priority] += 1
        if packet.syndrome is not None and packet.syndrome >> 5 & 3:
            code = packet.syndrome & 31
            known = _NAKS[code] if code < len(_NAKS) else f"code {code}"
            self.naks["receiver not ready" if packet.syndrome >> 5 & 3 == 1 else known] += 1
        if _carries_data(packet.opcode):
            # Numbers have 24 bits; the half that follows the expected one is ahead of it.
            ahead = 0 if self.following is None else (packet.psn - self.following) % (1 << 24)
            if ahead >= 1 << 23:
                self.repeated += 1
            else:
                self.skipped += ahead
                self.following = (packet.psn + 1) % (1 << 24)

    @property
    def sequence(self) -> tuple[int, int] | None:
        """The counts (skipped, repeated) of sequence numbers; None if they cannot be counted for this flow.

        They cannot be counted if the flow has read requests or mixes responses with acknowledgements. A read request uses one sequence
        number for each packet of its response, and responses leave out the numbers of writes.
        """
        kinds = {code & 31 for code in self.operations if code != CNP}
        mixed = _READ_REQUEST in kinds or (_ACKNOWLEDGE in kinds and kinds & {13, 14, 15, 16})
        return None if mixed else (self.skipped, self.repeated)


def _carries_data(opcode: int) -> bool:
    return opcode & 31 in _DATA and opcode >> 5 != CNP >> 5


@dataclass
class Summary:
    """The content of a capture.

    ``other`` is the number of frames that are not RoCE v2. ``links`` has the link types that this reader does not support.
    ``flows`` are by source, destination, source port and queue pair.
    """

    frames: int = 0
    other: int = 0
    links: set[int] = field(default_factory=set[int])
    flows: dict[tuple[str, str, int, int], Flow] = field(default_factory=dict[tuple[str, str, int, int], Flow])

    def total(self, name: str, *, data: bool | None = None) -> Counter[int]:
        """Return the number of packets of all flows by DSCP or by ECN codepoint; ``name`` is ``dscp`` or ``ecn``.

        If ``data`` is True, only flows with data are counted. If it is False, only flows that consist of congestion notifications are
        counted. If it is None, all flows are counted.
        """
        counts: Counter[int] = Counter()
        for flow in self.flows.values():
            if data is None or (flow.data > 0 if data else flow.notifications == flow.packets):
                counts.update(cast("Counter[int]", getattr(flow, name)))
        return counts


def summary(file: Path) -> Summary:
    """Return the content of a capture. Raises HostInputError if the file is no capture."""
    read = Summary()
    for frame in frames(file):
        read.frames += 1
        packet = roce(frame)
        if packet is None:
            read.other += 1
            if frame.link not in _LINKS:
                read.links.add(frame.link)
            continue
        key = (packet.source, packet.destination, packet.source_port, packet.queue_pair)
        if key not in read.flows:
            read.flows[key] = Flow(*key)
        read.flows[key].add(frame, packet)
    return read


def document(read: Summary) -> dict[str, Any]:
    """Return the content ``read`` of a capture as data for JSON: totals, then ``flows`` with the largest number of bytes first."""
    return {
        "frames": read.frames,
        "roce": read.frames - read.other,
        "other": read.other,
        "unknown_link_types": sorted(read.links),
        "dscp": _named(read.total("dscp")),
        "ecn": {ECN_NAMES[code]: count for code, count in sorted(read.total("ecn").items())},
        "cnps": sum(flow.notifications for flow in read.flows.values()),
        "flows": [
            {
                "source": flow.source,
                "destination": flow.destination,
                "source_port": flow.source_port,
                "queue_pair": flow.queue_pair,
                "packets": flow.packets,
                "bytes": flow.bytes,
                "seconds": (flow.last_ns - flow.first_ns) / 1e9,
                "data_packets": flow.data,
                "dscp": _named(flow.dscp),
                "ecn": {ECN_NAMES[code]: count for code, count in sorted(flow.ecn.items())},
                "vlan_priorities": _named(flow.priorities),
                "operations": {operation(code): count for code, count in sorted(flow.operations.items())},
                "cnps": flow.notifications,
                "naks": dict(sorted(flow.naks.items())),
                "psn_skipped": flow.sequence and flow.sequence[0],
                "psn_repeated": flow.sequence and flow.sequence[1],
            }
            for flow in sorted(read.flows.values(), key=lambda flow: -flow.bytes)
        ],
    }


def _named(counts: Counter[int]) -> dict[str, int]:
    return {str(key): count for key, count in sorted(counts.items())}


def text(read: Summary, most: int) -> str:
    """Return the content ``read`` of a capture as text: totals, then a table of the ``most`` largest flows."""
    ecn, notifications = read.total("ecn"), sum(flow.notifications for flow in read.flows.values())
    first = f"{read.frames} packets, {read.frames - read.other} of RoCE v2 in {len(read.flows)} flows"
    marked = f"{ecn[3]} marked CE, {notifications} CNPs"
    lines = [f"{first}; {marked}; DSCP {_counts(read.total('dscp'))}; ECN {_counts(ecn, ECN_NAMES)}"]
    if read.links:
        lines.append(
            f"link types {', '.join(map(str, sorted(read.links)))} cannot be read; capture on an Ethernet interface"
        )
    rows = [
        [
            "source",
            "port",
            "destination",
            "queue pair",
            "packets",
            "bytes",
            "DSCP",
            "ECN",
            "CNPs",
            "skipped",
            "repeated",
            "NAKs",
        ]
    ]
    flows = sorted(read.flows.values(), key=lambda flow: -flow.bytes)
    for flow in flows[:most]:
        sequence = ["-" if count is None else str(count) for count in flow.sequence or (None, None)]
        ends = [flow.source, str(flow.source_port), flow.destination, f"0x{flow.queue_pair:06x}"]
        amounts = [str(flow.packets), str(flow.bytes), _counts(flow.dscp), _counts(flow.ecn, ECN_NAMES)]
        naks = ", ".join(f"{count} {name}" for name, count in sorted(flow.naks.items())) or "0"
        rows.append([*ends, *amounts, str(flow.notifications), *sequence, naks])
    if flows:
        lines += ["", *show.aligned(rows)]
    if len(flows) > most:
        lines.append(f"and {len(flows) - most} smaller flows (--flows)")
    return "\n".join(lines)


def _counts(counts: Counter[int], names: tuple[str, ...] = ()) -> str:
    """Return counts as text such as ``26 (10), 48 (2)``, with each count after its key. If there is only one key, return only the key.

    ``names`` has the text of each key, by index; empty if the keys are their own text.
    """
    shown = {names[key] if names else str(key): count for key, count in sorted(counts.items())}
    if len(shown) < 2:
        return next(iter(shown), "-")
    return ", ".join(f"{key} ({count})" for key, count in shown.items())
