"""Sending of probes to other servers of the fabric, by ICMP echo of the designed size without fragmentation, or by RDMA.

``python -m railweave_host.probing FILE`` reads probes (``[{"source", "target", "bytes"}]``) and prints their outcomes
in the same order. ``railweave fleet mesh`` runs this module from the zipapp. Nothing on the server is changed.

ICMP probes use datagram sockets, which need no privileges if ``net.ipv4.ping_group_range`` includes the user's group.
Otherwise they use raw sockets (root) or the ``ping`` program. RDMA probes are sent by ``railweave-rdma-ping``.
"""

from __future__ import annotations

import errno
import json
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from .directions import LossyPair, directions
from .failure import HostInputError

PROGRAM = "railweave-rdma-ping"
_INSTALLED = ("/usr/local/bin", "/usr/bin", "/opt/railweave/bin")


def find() -> Path:
    """Return the path of railweave-rdma-ping. Raises HostInputError if it is not found.

    The program is searched for at ``$RAILWEAVE_RDMA_PING``, in the PATH, in the folders of ``cmake --install``, and in
    a checkout's build folder.
    """
    named = os.environ.get("RAILWEAVE_RDMA_PING")
    if named:
        if not os.access(named, os.X_OK):
            raise HostInputError(f"RAILWEAVE_RDMA_PING={named}: there is no such program")
        return Path(named)
    on_path = shutil.which(PROGRAM)
    if on_path:
        return Path(on_path)
    checkout = Path(__file__).resolve().parents[3] / "build" / "plugin"
    for folder in (*_INSTALLED, checkout):
        if os.access(Path(folder, PROGRAM), os.X_OK):
            return Path(folder, PROGRAM)
    raise HostInputError(
        f"{PROGRAM} is not on the PATH or in {', '.join(_INSTALLED)}: it is built and installed with the net plugin "
        "(make plugin; cmake --install build/plugin), or named in RAILWEAVE_RDMA_PING"
    )


def run(words: list[str]) -> int:
    """Replace this process by ``railweave-rdma-ping`` with these arguments. Raises HostInputError if it cannot be run."""
    program = find()
    try:
        os.execv(program, [PROGRAM, *words])
    except OSError as error:
        raise HostInputError(f"{program}: cannot be run: {error.strerror}") from None


OK = "ok"
SIZE = "size"
LOST = "lost"
REFUSED = "refused"
NOT_TRIED = "not tried"
"""The outcomes of a probe.

- ``OK``: the answer has the full size.
- ``SIZE``: only small packets are answered.
- ``LOST``: no packet is answered.
- ``REFUSED``: this server's kernel does not send the packet.
- ``NOT_TRIED``: the user may not send ICMP packets.
"""

TRIES = 3
WAIT_S = 0.7
"""The time in seconds to wait for an answer, in each of ``TRIES`` attempts."""

_AT_ONCE = 32
"""The number of packets in flight together: enough to be quick, and few enough that no queue on the path drops any."""

_SMALL = 128
"""The size in bytes of the packets to send if large ones do not return."""

_HEADERS = {socket.AF_INET: 20 + 8, socket.AF_INET6: 40 + 8}
_REQUEST = {socket.AF_INET: 8, socket.AF_INET6: 128}
_REPLY = {socket.AF_INET: 0, socket.AF_INET6: 129}
_PROTOCOL = {socket.AF_INET: socket.IPPROTO_ICMP, socket.AF_INET6: socket.IPPROTO_ICMPV6}
_WHOLE = {  # linux/in.h, linux/in6.h: IP_MTU_DISCOVER and IPV6_MTU_DISCOVER, whatever the path was found to take before
    socket.AF_INET: ((socket.IPPROTO_IP, 10, 3),),
    socket.AF_INET6: ((socket.IPPROTO_IPV6, 23, 3), (socket.IPPROTO_IPV6, 62, 1)),
}
_TELL_ERRORS = {socket.AF_INET: (socket.IPPROTO_IP, 11), socket.AF_INET6: (socket.IPPROTO_IPV6, 25)}
_MSG_ERRQUEUE = 0x2000
_ERROR = struct.Struct("=IBBBBII")  # struct sock_extended_err, linux/errqueue.h
_ECHO = struct.Struct("!BBHHH")

_SAID = {
    errno.EMSGSIZE: "it is larger than the MTU here",
    errno.EADDRNOTAVAIL: "the server does not have this address",
    errno.ENETUNREACH: "the server has no route for this address",
    errno.EHOSTUNREACH: "nobody answers for the next hop or the target",
    errno.ENETDOWN: "the interface is down",
    errno.EACCES: "a route or a firewall forbids it",
    errno.EPERM: "a firewall of this server drops it",
    errno.ENOBUFS: "the interface takes no packet of this size now",
    errno.EINVAL: "the server has no route for this address",
}


@dataclass
class Outcome:
    """The outcome of a probe.

    ``outcome`` is one of the constants from ``OK`` to ``NOT_TRIED``, and ``said`` the reason for it. ``by`` is the address that sent an
    error message. ``ms`` is the round-trip time; None without an answer.
    """

    outcome: str = LOST
    said: str = ""
    by: str = ""
    ms: float | None = None


@dataclass
class _Probe:
    source: str
    target: str
    size: int
    outcome: Outcome = field(default_factory=Outcome)
    sent: float = 0.0

    @property
    def family(self) -> socket.AddressFamily:
        return socket.AF_INET6 if ":" in self.source else socket.AF_INET


def main(words: list[str] | None = None) -> int:
    """Run the probes in a file and print their outcomes as JSON."""
    (name,) = sys.argv[1:] if words is None else words
    asked = [
        _Probe(str(load["source"]), str(load["target"]), int(load["bytes"]))
        for load in json.loads(Path(name).read_text(encoding="utf-8"))
    ]
    by = probed(asked)
    print(json.dumps({"by": by, "rdma_ping": _rdma_ping(), "probes": [asdict(probe.outcome) for probe in asked]}))
    return 0


def _rdma_ping() -> str:
    """Return the path of ``railweave-rdma-ping``, or an empty string if it is missing or the server has no RDMA devices."""
    try:
        return str(find()) if any(Path("/sys/class/infiniband").iterdir()) else ""
    except (OSError, HostInputError):
        return ""


def probed(probes: list[_Probe]) -> str:
    """Send all probes, record the outcome of each, and return the method: the kind of socket, or ``ping``; empty if none works."""
    try:
        with _Sockets(probes) as sockets:
            _rounds(sockets, probes, None)
            _rounds(sockets, probes, _SMALL)
            kind = sockets.kind
    except PermissionError:
        if shutil.which("ping"):
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(_by_program, probes))
            return "ping"
        for probe in probes:
            probe.outcome = Outcome(
                NOT_TRIED, "this user may not send ICMP: allow it by net.ipv4.ping_group_range, or use --sudo"
            )
        return ""
    _tell_directions(probes)
    return kind


def _tell_directions(probes: list[_Probe]) -> None:
    """Add the direction of the loss to each probe of which only small packets were answered.

    Probes for which a router sent an error are skipped, because the error already names the router that dropped the packet.
    """
    lost = {
        id(probe): LossyPair(probe.source, probe.target, probe.size)
        for probe in probes
        if probe.outcome.outcome == SIZE and probe.outcome.ms is not None and not probe.outcome.by
    }
    sentences = directions(lost.values(), _SMALL)
    for probe in probes:
        if id(probe) in lost:
            probe.outcome.said = f"{probe.outcome.said}; {sentences[lost[id(probe)]]}"


class _Sockets:
    """The ICMP sockets of this server, one for each source address of the probes.

    If the kernel allows no datagram sockets, raw sockets are opened.
    """

    def __init__(self, probes: list[_Probe]) -> None:
        self.kind = "datagram"
        self.of: dict[str, socket.socket] = {}
        self.poll = select.poll()
        self.by_number: dict[int, str] = {}
        for probe in probes:
            if probe.source not in self.of and probe.outcome.outcome == LOST:
                self._open(probe, probes)

    def _open(self, probe: _Probe, probes: list[_Probe]) -> None:
        made = self._made(probe.family)
        try:
            for option in _WHOLE[probe.family]:
                made.setsockopt(*option)
            made.setsockopt(*_TELL_ERRORS[probe.family], 1)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            made.setblocking(False)
            made.bind((probe.source, 0))
        except OSError as error:
            made.close()
            for other in probes:
                if other.source == probe.source:
                    other.outcome = Outcome(REFUSED, _reason(error))
            return
        self.of[probe.source] = made
        self.by_number[made.fileno()] = probe.source
        self.poll.register(made.fileno(), select.POLLIN)

    def _made(self, family: socket.AddressFamily) -> socket.socket:
        for kind, name in ((socket.SOCK_DGRAM, "datagram"), (socket.SOCK_RAW, "raw")):
            try:
                made = socket.socket(family, kind, _PROTOCOL[family])
            except PermissionError:
                continue
            self.kind = name
            return made
        raise PermissionError(errno.EPERM, "neither kind of socket may be opened")

    def __enter__(self) -> _Sockets:
        return self

    def __exit__(self, *_: object) -> None:
        for open_socket in self.of.values():
            open_socket.close()


def _rounds(sockets: _Sockets, probes: list[_Probe], size: int | None) -> None:
    """Send unanswered probes up to ``TRIES`` times.

    ``size`` is the number of bytes of each packet; None means the size that the probe requests.
    """
    for _ in range(TRIES):
        open_ones = {LOST, SIZE} if size else {LOST}
        left = [probe for probe in probes if probe.outcome.outcome in open_ones and probe.outcome.ms is None]
        for first in range(0, len(left), _AT_ONCE):
            _sent_and_awaited(sockets, left[first : first + _AT_ONCE], size)


def _sent_and_awaited(sockets: _Sockets, probes: list[_Probe], size: int | None) -> None:
    waiting: dict[tuple[str, str], _Probe] = {}
    for number, probe in enumerate(probes):
        body = bytes((size or probe.size) - _HEADERS[probe.family])
        checked = _ECHO.pack(_REQUEST[probe.family], 0, 0, os.getpid() & 0xFFFF, number) + body
        if probe.family == socket.AF_INET:  # of ICMPv6 the kernel sums up itself
            checked = _ECHO.pack(_REQUEST[probe.family], 0, _sum(checked), os.getpid() & 0xFFFF, number) + body
        probe.sent = time.monotonic()
        sender = sockets.of[probe.source]
        sender.getsockopt(
            socket.SOL_SOCKET, socket.SO_ERROR
        )  # else what an earlier packet met would be said of this one
        try:
            sender.sendto(checked, (probe.target, 0))
        except OSError as error:
            probe.outcome = Outcome(SIZE if error.errno == errno.EMSGSIZE else LOST, _reason(error))
            _errors(sockets, probe.source, waiting)
            continue
        waiting[probe.source, probe.target] = probe
    until = time.monotonic() + WAIT_S
    while waiting and (left := until - time.monotonic()) > 0:
        for number, _ in sockets.poll.poll(left * 1000):
            source = sockets.by_number[number]
            _errors(sockets, source, waiting)
            _replies(sockets, source, waiting)


def _replies(sockets: _Sockets, source: str, waiting: dict[tuple[str, str], _Probe]) -> None:
    while True:
        try:
            data, peer = sockets.of[source].recvfrom(65536)
        except BlockingIOError:
            return
        except OSError:
            continue  # what the error queue told already
        family = socket.AF_INET6 if ":" in source else socket.AF_INET
        if sockets.kind == "raw" and family == socket.AF_INET:
            data = data[(data[0] & 15) * 4 :]
        if len(data) < _ECHO.size or data[0] != _REPLY[family]:
            continue
        if sockets.kind == "raw" and _ECHO.unpack_from(data)[3] != os.getpid() & 0xFFFF:
            continue  # another program's
        probe = waiting.pop((source, peer[0].partition("%")[0]), None)
        if probe is not None:
            ms = round((time.monotonic() - probe.sent) * 1000, 3)
            text = probe.outcome.said or f"packets of {_SMALL} bytes come back, of {probe.size} bytes none"
            whole = len(data) - _ECHO.size == probe.size - _HEADERS[family]
            probe.outcome = Outcome(OK, ms=ms) if whole else Outcome(SIZE, text, probe.outcome.by, ms)


def _errors(sockets: _Sockets, source: str, waiting: dict[tuple[str, str], _Probe]) -> None:
    """Read the ICMP errors that a socket received, and record sender and reason in the probe to which each error belongs.

    ``waiting`` has the unanswered probes by source and target address.
    """
    while True:
        try:
            _, extra, _, address = sockets.of[source].recvmsg(0, 1024, _MSG_ERRQUEUE)
        except OSError:
            return
        probe = waiting.get((source, str(address[0]).partition("%")[0])) if address else None
        for level, kind, data in extra:
            if probe is None or (level, kind) != _TELL_ERRORS[probe.family] or len(data) < _ERROR.size:
                continue
            number, origin, *_, info, _ = _ERROR.unpack_from(data)
            by = _offender(data[_ERROR.size :]) if origin in {2, 3} else ""  # SO_EE_ORIGIN_ICMP, _ICMP6
            large = number == errno.EMSGSIZE
            text = (
                f"larger than an MTU of {info} on the way" if large and by else _SAID.get(number, os.strerror(number))
            )
            probe.outcome = Outcome(SIZE if large else LOST, text, by)
            waiting.pop((probe.source, probe.target), None)


def _offender(data: bytes) -> str:
    if len(data) < 8:
        return ""
    family = struct.unpack_from("=H", data)[0]
    if family == socket.AF_INET6 and len(data) >= 24:
        return socket.inet_ntop(socket.AF_INET6, data[8:24])
    return socket.inet_ntop(socket.AF_INET, data[4:8]) if family == socket.AF_INET else ""


def _reason(error: OSError) -> str:
    return _SAID.get(error.errno or 0, error.strerror or str(error))


def _sum(data: bytes) -> int:
    """Return the Internet checksum (RFC 1071)."""
    data += bytes(len(data) % 2)
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _by_program(probe: _Probe) -> None:
    """Send a probe with ``ping`` of iputils: first a packet of the full size, then a small one."""
    for size in (probe.size, _SMALL):
        words = ["ping", "-n", "-M", "do", "-c", str(TRIES), "-i", "0.2", "-W", "1", "-I", probe.source]
        words += ["-s", str(size - _HEADERS[probe.family]), probe.target]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        lines = (done.stdout + done.stderr).strip().splitlines()
        if done.returncode == 0:
            probe.outcome = Outcome(OK) if size == probe.size else Outcome(SIZE, probe.outcome.said)
            return
        if size == probe.size:
            wrong = [line for line in lines if "rror" in line or "nreachable" in line or line.startswith("ping:")]
            probe.outcome = Outcome(REFUSED if done.returncode == 2 else LOST, wrong[0][:200] if wrong else "")


if __name__ == "__main__":
    sys.exit(main())
