"""Captures of RoCE v2 packets that are made here, byte by byte, are read back; tcpdump reads the same where it is installed."""

from __future__ import annotations

import gzip
import ipaddress
import json
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from railweave.host import capture_roce, packets
from railweave.host.checks.server import Traffic
from railweave.host.commands import main
from railweave.host.failure import HostInputError

ETHERNET = bytes.fromhex("b05ada000102b05ada000304")
SEND_ONLY, WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, READ_REQUEST, ACK = 4, 6, 7, 8, 12, 17
TIME_NS = 1_790_000_000_123_456_789


def _sum(data: bytes) -> int:
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(
    opcode: int,
    psn: int,
    *,
    source: str = "192.168.1.1",
    destination: str = "192.168.2.1",
    dscp: int = 26,
    ecn: int = 2,
    queue_pair: int = 0x2C06,
    port: int = 49152,
    payload: int = 64,
    vlan: int | None = None,
    syndrome: int | None = None,
    udp_port: int = 4791,
) -> bytes:
    """An Ethernet frame with a RoCE v2 packet and its invariant CRC, which is computed as annex A17 says."""
    bth = struct.pack(">BBHB3sB3s", opcode, 0x40, 0xFFFF, 0, queue_pair.to_bytes(3, "big"), 0, psn.to_bytes(3, "big"))
    more = b"" if syndrome is None else struct.pack(">B3s", syndrome, b"\0\0\1")
    body = bth + more + bytes(payload)
    ends = [ipaddress.ip_address(end) for end in (source, destination)]
    traffic, length = dscp << 2 | ecn, 8 + len(body) + 4
    if ends[0].version == 4:
        head = (
            struct.pack(">BBHHHBBH", 0x45, traffic, 20 + length, 1, 0x4000, 64, 17, 0) + ends[0].packed + ends[1].packed
        )
        head = head[:10] + struct.pack(">H", _sum(head)) + head[12:]
        masked = b"\x45\xff" + head[2:8] + b"\xff" + head[9:10] + b"\xff\xff" + head[12:]
    else:
        head = struct.pack(">IHBB", 6 << 28 | traffic << 20, length, 17, 64) + ends[0].packed + ends[1].packed
        masked = b"\x6f\xff\xff\xff" + head[4:7] + b"\xff" + head[8:]
    udp = struct.pack(">HHHH", port, udp_port, length, 0)
    crc = zlib.crc32(b"\xff" * 8 + masked + udp[:6] + b"\xff\xff" + body[:4] + b"\xff" + body[5:])
    ether = {4: 0x0800, 6: 0x86DD}[ends[0].version]
    tag = b"" if vlan is None else struct.pack(">HH", 0x8100, vlan << 13 | 100)
    return ETHERNET + tag + struct.pack(">H", ether) + head + udp + body + struct.pack("<I", crc)


def cnp(**more: object) -> bytes:
    """A congestion notification packet: opcode 0x81, 16 reserved bytes."""
    return packet(packets.CNP, 0, **{"dscp": 48, "ecn": 0, "payload": 16, **more})  # type: ignore[arg-type]


def pcap(frames: list[bytes], *, order: str = "<", nano: bool = False, link: int = 1, snap: int = 1 << 16) -> bytes:
    """The frames as a pcap file, one a microsecond."""
    magic = 0xA1B23C4D if nano else 0xA1B2C3D4
    out = [struct.pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, snap, link)]
    for number, frame in enumerate(frames):
        time = TIME_NS + 1000 * number
        part = time % 1_000_000_000 // (1 if nano else 1000)
        kept = frame[:snap]
        out.append(struct.pack(f"{order}IIII", time // 1_000_000_000, part, len(kept), len(frame)) + kept)
    return b"".join(out)


def pcapng(frames: list[bytes], *, order: str = "<", resolution: int | None = 9, link: int = 1) -> bytes:
    """The frames as a pcapng file: a section, a block that nobody needs, an interface, and a block for each frame."""

    def block(kind: int, body: bytes) -> bytes:
        body += b"\0" * (-len(body) % 4)
        return struct.pack(f"{order}II", kind, 12 + len(body)) + body + struct.pack(f"{order}I", 12 + len(body))

    options = b"" if resolution is None else struct.pack(f"{order}HHB3xHH", 9, 1, resolution, 0, 0)
    out = [
        block(0x0A0D0D0A, struct.pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1)),
        block(5, bytes(12)),
        block(1, struct.pack(f"{order}HHI", link, 0, 0) + options),
    ]
    for number, frame in enumerate(frames):
        ticks = (TIME_NS + 1000 * number) // 10 ** (9 - (6 if resolution is None else resolution))
        head = struct.pack(f"{order}IIIII", 0, ticks >> 32, ticks & 0xFFFFFFFF, len(frame), len(frame))
        out.append(block(6, head + frame))
    return b"".join(out)


FRAMES = [
    packet(WRITE_FIRST, 100, payload=1024),
    packet(WRITE_MIDDLE, 101, payload=1024, ecn=3),
    packet(WRITE_MIDDLE, 103, payload=1024),
    packet(WRITE_LAST, 102, payload=512),
    packet(ACK, 103, source="192.168.2.1", destination="192.168.1.1", queue_pair=0x2C58, syndrome=0x1F, payload=0),
    packet(ACK, 102, source="192.168.2.1", destination="192.168.1.1", queue_pair=0x2C58, syndrome=0x60, payload=0),
    cnp(source="192.168.2.1", destination="192.168.1.1", queue_pair=0x2C58, port=50000),
    cnp(source="192.168.2.1", destination="192.168.1.1", queue_pair=0x2C58, port=50000),
    packet(SEND_ONLY, 7, source="fc00:1:1:1::a", destination="fc00:2:1:1::b", vlan=3, dscp=0, ecn=0),
    packet(READ_REQUEST, 9, source="fc00:1:1:1::a", destination="fc00:2:1:1::b", payload=16),
    packet(SEND_ONLY, 7, udp_port=53),
]


def written(folder: Path, data: bytes) -> Path:
    file = folder / "capture"
    file.write_bytes(data)
    return file


FORMS = {
    "pcap": pcap(FRAMES),
    "pcap of the other byte order": pcap(FRAMES, order=">"),
    "pcap in nanoseconds": pcap(FRAMES, nano=True),
    "pcap cut to its headers": pcap(FRAMES, snap=96),
    "pcap, compressed": gzip.compress(pcap(FRAMES)),
    "pcapng": pcapng(FRAMES),
    "pcapng of the other byte order": pcapng(FRAMES, order=">"),
    "pcapng in microseconds": pcapng(FRAMES, resolution=None),
    "pcapng of two sections": pcapng(FRAMES[:5]) + pcapng(FRAMES[5:], order=">"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_flows(form: str, tmp_path: Path) -> None:
    read = packets.summary(written(tmp_path, FORMS[form]))
    document = packets.document(read)
    assert (document["frames"], document["roce"], document["other"], document["cnps"]) == (11, 10, 1, 2)
    assert document["dscp"] == {"0": 1, "26": 7, "48": 2}
    assert document["ecn"] == {"Not-ECT": 3, "ECT(0)": 6, "CE": 1}
    flows = {(flow["source"], flow["source_port"], flow["queue_pair"]): flow for flow in document["flows"]}
    data = flows["192.168.1.1", 49152, 0x2C06]
    assert document["flows"][0] == data
    assert data["bytes"] == sum(len(frame) for frame in FRAMES[:4])
    assert data["ecn"] == {"ECT(0)": 3, "CE": 1}
    assert data["operations"] == {"RC WRITE first": 1, "RC WRITE middle": 2, "RC WRITE last": 1}
    assert (data["psn_skipped"], data["psn_repeated"]) == (1, 1)
    if form != "pcapng of two sections":
        assert data["seconds"] == pytest.approx(3e-6, abs=1e-12)
    assert flows["192.168.2.1", 49152, 0x2C58]["naks"] == {"PSN sequence error": 1}
    assert flows["192.168.2.1", 50000, 0x2C58]["cnps"] == 2
    six = flows["fc00:1:1:1::a", 49152, 0x2C06]
    assert six["vlan_priorities"] == {"3": 1}
    assert six["psn_skipped"] is None


def test_tcpdump_and_tshark_read_the_same_packets(tmp_path: Path) -> None:
    """What is made here are RoCE packets for others, too."""
    file = written(tmp_path, pcap(FRAMES))
    tcpdump, tshark = shutil.which("tcpdump"), shutil.which("tshark")
    if tcpdump is None and tshark is None:
        pytest.skip("neither tcpdump nor tshark is installed")
    if tcpdump:
        words = [tcpdump, "-n", "-v", "-r", str(file), "udp dst port 4791 or (vlan and udp dst port 4791)"]
        shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        assert shown.count(".4791: ") == 10
        assert "bad cksum" not in shown
        assert shown.count("tos 0xc0") == 2
        assert shown.count("tos 0x6b,CE") == 1
    if tshark:
        fields = [
            word for name in ("infiniband.bth.opcode", "infiniband.bth.psn", "ip.dsfield.dscp") for word in ("-e", name)
        ]
        words = [tshark, "-r", str(file), "-Y", "infiniband", "-T", "fields", *fields]
        shown = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        rows = [line.split("\t") for line in shown.splitlines()]
        assert [row[:2] for row in rows[:4]] == [["6", "100"], ["7", "101"], ["7", "103"], ["8", "102"]]
        assert [row[2] for row in rows].count("48") == 2


def test_sequence_numbers_wrap(tmp_path: Path) -> None:
    frames = [packet(WRITE_MIDDLE, psn % (1 << 24)) for psn in (0xFFFFFE, 0xFFFFFF, 0x1000000, 0x1000001)]
    [flow] = packets.summary(written(tmp_path, pcap(frames))).flows.values()
    assert flow.sequence == (0, 0)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "is no capture of packets"),
        (b"{}\n not a capture", "is no capture of packets"),
        (pcap([])[:10], "ends in the file header"),
        (pcap([]) + struct.pack("<IIII", 0, 0, 1 << 30, 1 << 30), "is damaged: a packet of 1073741824 bytes"),
        (pcapng([]) + struct.pack("<II", 6, 4), "is damaged: a block of 4 bytes"),
        (gzip.compress(pcap(FRAMES))[:60], "cannot be read"),
        (gzip.compress(pcap(FRAMES))[:10] + b"\xff" * 60, "cannot be read"),
    ],
    ids=[
        "empty",
        "text",
        "short header",
        "long packet",
        "short block",
        "cut",
        "damaged",
    ],  # compressed data has the time
)
def test_what_is_no_capture_is_refused(data: bytes, why: str, tmp_path: Path) -> None:
    with pytest.raises(HostInputError, match=why):
        packets.summary(written(tmp_path, data))


def test_a_capture_may_end_anywhere(tmp_path: Path) -> None:
    """tcpdump that was killed leaves such a file."""
    for whole in (pcap(FRAMES), pcapng(FRAMES)):
        for end in range(60, len(whole), 41):
            read = packets.summary(written(tmp_path, whole[:end]))
            assert read.frames - read.other <= 10
        assert all(packets.roce(packets.Frame(0, 1, 99, FRAMES[0][:cut])) is None for cut in range(50))


def test_another_dscp_than_that_of_the_plan_is_told(tmp_path: Path) -> None:
    read = packets.summary(written(tmp_path, pcap(FRAMES)))
    traffic = Traffic(26, 3, 106, True, True, 50, False, 48, 7)
    told = capture_roce.differences(read, {"backend": traffic})
    assert told[0].startswith("1 of 8 RDMA packets have another DSCP than 26")
    assert told[1].startswith("1 packets of flows with data are Not-ECT")
    assert len(told) == 2
    assert capture_roce.differences(read, {}) == []
    other = capture_roce.differences(read, {"backend": Traffic(26, 3, 106, True, False, 50, False, 46, 6)})
    assert "2 of 2 congestion notification packets have another DSCP than 46" in other[1]


def test_read_prints_flows_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, pcap(FRAMES))
    assert main(["capture-roce", "--read", str(file), "--flows", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "11 packets, 10 of RoCE v2 in 4 flows; 1 marked CE, 2 CNPs; DSCP 0 (1), 26 (7), 48 (2); ECN Not-ECT (3), ECT(0) (6), CE (1)"
    )
    assert lines[-1] == "and 2 smaller flows (--flows)"
    assert len(lines) == 6
    assert main(["capture-roce", "--read", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cnps"] == 2
    assert main(["capture-roce"]) == 2
