"""The receiver of syslog by UDP (RFC 5426) and TCP (RFC 6587). It keeps the latest messages of each device, and counts them by kind.

Syslog does not prove the identity of the sender. So messages are shown and counted, but none of them opens an anomaly.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import re
from collections import Counter, deque
from dataclasses import dataclass
from time import time
from typing import TYPE_CHECKING, Literal

from railweave.errors import OutputError
from railweave.json_values import JsonObject
from railweave.live.reach.failure import reason
from railweave.operations.watch.descriptors import BACKLOG

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


_LOG = logging.getLogger(__name__)

Kind = Literal["link", "bgp", "bfd", "pfc-watchdog", "configuration", "process", "alarm", ""]
"""The kind of a message by its subject, such as ``link``; empty for any other subject."""

_HEADER = re.compile(r"<(?P<pri>\d{1,3})>")
_NEW = re.compile(
    r"1 (?P<time>\S+) (?P<host>\S+) (?P<app>\S+) (?P<id>\S+) (?P<msg>\S+) (?:-|(?:\[(?:[^]\\]|\\.)*\])+) ?(?P<text>.*)",
    re.DOTALL,
)
_OLD = re.compile(
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?|\d{4}-\d\d-\d\dT\S+) (?P<host>[\w.:-]+) (?P<text>.*)", re.DOTALL
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
MOST_CHARACTERS = 1000
"""The largest number of characters of a message that are kept."""


@dataclass(frozen=True, slots=True)
class Form:
    """The form of one kind of message: a pattern by which such a message is recognized.

    The pattern may have the groups ``port`` and ``peer``. ``source`` is the document that describes the message.
    """

    kind: Kind
    pattern: re.Pattern[str]
    source: str


def _form(kind: Kind, pattern: str, source: str) -> Form:
    return Form(kind, re.compile(pattern), source)


FORMS = (
    _form("bgp", r"RPD_BGP_NEIGHBOR_STATE_CHANGED: BGP peer (?P<peer>\S+)", "Junos"),
    _form("link", r"SNMP_TRAP_LINK_(?:DOWN|UP): .*ifName (?P<port>\S+)", "Junos"),
    _form("configuration", r"UI_COMMIT(?:_COMPLETED|_PROGRESS)?:|UI_LOAD_EVENT:", "Junos"),
    _form("bfd", r"BFDD_(?:STATE_UP_TO_DOWN|TRAP_SHOP_STATE_(?:DOWN|UP))", "Junos"),
    _form("alarm", r"(?:Major|Minor) alarm set, |Alarm set: ", "Junos"),
    _form("bgp", r"%BGP-[35]-(?:ADJCHANGE|NOTIFICATION): peer (?P<peer>\S+)", "EOS"),
    _form("bfd", r"%BFD-5-STATE_CHANGE: peer \(vrf:[^,]+, ip:(?P<peer>[^,]+), intf:(?P<port>[^,]+)", "EOS"),
    _form("link", r"%LINEPROTO-5-UPDOWN: Line protocol on Interface (?P<port>[^,\s]+)", "EOS"),
    _form("configuration", r"%SYS-5-CONFIG_(?:E|I|STARTUP)\b", "EOS"),
    _form("process", r"%PROCMGR-6-PROCESS_TERMINATED: '(?P<peer>[^']+)'", "EOS"),
    _form("pfc-watchdog", r"PFC Watchdog (?:detected PFC storm|storm restored) on port (?P<port>[^\s,]+)", "SONiC"),
    _form("link", r"Port (?P<port>\S+) oper (?:state set from|error event:)", "SONiC"),
    _form("bgp", r"%ADJCHANGE: neighbor (?P<peer>[^\s(]+)", "FRRouting, SONiC"),
    _form("bgp", r"NOTIFICATION: (?:received|sent) (?:from|to) neighbor (?P<peer>\S+)", "FRRouting, SONiC"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Message:
    """A parsed message.

    - ``severity``: 0 (emergency) to 7 (debug). ``host``: the host name in the header, or empty.
    - ``port``, ``peer``: the port, and the neighbor or process, that the text names; each may be empty.
    """

    severity: int
    host: str
    text: str
    kind: Kind = ""
    port: str = ""
    peer: str = ""


def read(data: bytes) -> Message:
    """Return the message in the bytes ``data`` in parsed form. Never raises an error.

    A message without a header has severity 5 (notice), as in RFC 3164.
    """
    line = data.decode("utf-8", "replace").strip("\ufeff\r\n\x00 ")
    header = _HEADER.match(line)
    severity = int(header["pri"]) & 7 if header else 5
    rest = line[header.end() :] if header else line
    form = _NEW.match(rest) or _OLD.match(rest)
    host = form["host"] if form and form["host"] != "-" else ""
    text = form["text"] if form else rest
    if form and "app" in form.groupdict() and form["msg"] != "-":  # Junos has the name of the event in the header
        text = f"{form['msg']}: {text}"
    text = _CONTROL.sub(" ", text)[:MOST_CHARACTERS]
    for event_form in FORMS:
        match = event_form.pattern.search(text)
        if match:
            groups = match.groupdict()
            return Message(severity, host, text, event_form.kind, groups.get("port") or "", groups.get("peer") or "")
    return Message(severity, host, text)


MOST_OF_DEVICE = 500
"""The largest number of messages that are kept of each device."""
MOST_BYTES = 8192
"""The largest number of bytes of a TCP message. A longer message is cut, and its remaining bytes are dropped."""
MESSAGE_S = 30.0
"""The seconds within which a message must be complete after its first byte. An unknown sender must send a message within the same time."""


@dataclass(frozen=True, slots=True)
class Event(JsonObject):
    """A message of a device, with its time of arrival in seconds since 1970."""

    time: float
    device: str
    severity: int
    kind: Kind
    port: str
    peer: str
    text: str


class Syslog:
    """The syslog receiver.

    - ``addresses``: the address of each device by name. If a message comes from none of these addresses, the host name in the message
      determines its device.
    - ``most``: the largest number of TCP connections.
    """

    def __init__(self, host: str, port: int, addresses: Mapping[str, str], most: int = 256) -> None:
        self.host, self.port, self.most = host, port, most
        self.counts: Counter[tuple[str, Kind]] = Counter()
        """The number of messages, by device and kind."""
        self.unknown = 0
        """The number of messages from senders that are not devices of the network."""
        self.unread = 0
        """The number of messages and connections that raised an unforeseen error. Errors number 1, 2, 4, 8, … are logged."""
        self.heard: list[Callable[[Event], None]] = []
        """The functions to call with each message of a device."""
        self._by_address: dict[str, str] = {}
        for device, address in addresses.items():
            with contextlib.suppress(ValueError):
                self._by_address[ipaddress.ip_address(address).compressed] = device
        self._by_name = {address.lower(): address for address in addresses} | {
            address.partition(".")[0].lower(): address for address in addresses
        }
        self._last: dict[str, deque[Event]] = {address: deque(maxlen=MOST_OF_DEVICE) for address in addresses}
        self._writers: dict[asyncio.StreamWriter, bool] = {}
        """The TCP connections; the connection that has been silent longest comes first. The value is True if the connection belongs to a device of the network."""

    async def run(self) -> None:
        """Receive until cancelled. Raises ``OutputError`` if the port cannot be opened."""
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(self), (self.host, self.port))
        except OSError as error:
            raise self._refused(error) from None
        try:
            try:
                server = await asyncio.start_server(
                    self._connected, self.host, self.port, limit=MOST_BYTES, backlog=BACKLOG
                )
            except OSError as error:
                raise self._refused(error) from None
            async with server:
                try:
                    await server.serve_forever()
                finally:
                    for writer in list(self._writers):
                        writer.close()
        finally:
            transport.close()

    def _refused(self, error: OSError) -> OutputError:
        return OutputError(f"syslog cannot be received at {self.host}:{self.port}: {error.strerror or error}")

    def take(self, data: bytes, address: str) -> None:
        """Parse, count and keep one message, whose bytes ``data`` arrived from ``address``. Never raises an error."""
        try:
            self._take(data, address)
        except Exception as error:  # noqa: BLE001 - whatever one sender sends, the others are heard
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        self.unread += 1
        if self.unread & (self.unread - 1) == 0:  # 1, 2, 4, 8, …: a sender must not fill the log
            _LOG.warning("syslog: %s (number %d)", reason(error), self.unread)

    def _take(self, data: bytes, address: str) -> None:
        message = read(data)
        device = self._device(message, address)
        if device is None:
            self.unknown += 1
            return
        self.counts[device, message.kind] += 1
        event = Event(time(), device, message.severity, message.kind, message.port, message.peer, message.text)
        self._last[device].append(event)
        for call in self.heard:
            try:
                call(event)
            except Exception as error:  # noqa: BLE001 - a listener that fails must not silence the others
                self._failed(error)

    def _device(self, message: Message, address: str) -> str | None:
        """Return the name of the device that sent a message, or None if it is unknown.

        The source address has priority over the host name in the message, because a sender can write any host name.
        """
        name = message.host.lower()
        device = self._by_its_address(address)
        return device or self._by_name.get(name) or self._by_name.get(name.partition(".")[0])

    def _by_its_address(self, address: str) -> str | None:
        try:
            parsed = ipaddress.ip_address(address.partition("%")[0])
        except ValueError:
            return None
        return self._by_address.get((getattr(parsed, "ipv4_mapped", None) or parsed).compressed)

    def events(self, device: str = "", kind: str | None = None) -> list[Event]:
        """Return the latest messages, newest first, of ``device`` (empty means all devices) and of ``kind`` (None means all kinds)."""
        rows: Iterable[deque[Event]] = (
            [self._last[device]] if device in self._last else () if device else self._last.values()
        )
        events = [event for row in rows for event in list(row) if kind is None or event.kind == kind]
        return sorted(events, key=lambda event: event.time, reverse=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = str((writer.get_extra_info("peername") or ("",))[0])
        known = self._by_its_address(address) is not None
        if len(self._writers) >= self.most:  # in the place of a stranger, or of a device that says least
            worst = next((other for other, from_device in self._writers.items() if not from_device), None)
            worst = worst or (next(iter(self._writers)) if known else writer)
            self._writers.pop(worst, None)
            worst.transport.abort()
            if worst is writer:
                return
        self._writers[writer] = known
        try:
            while True:
                async with asyncio.timeout(None if known else MESSAGE_S):
                    first = await reader.read(1)
                if not first:
                    break
                async with asyncio.timeout(MESSAGE_S):
                    data = await _message(reader, first)
                if data is None or writer not in self._writers:
                    break
                self._writers[writer] = self._writers.pop(writer)
                if data:
                    self.take(data, address)
        except OSError:  # also after the time is over
            pass
        except Exception as error:  # noqa: BLE001 - whatever one sender sends, the others are heard
            self._failed(error)
        finally:
            self._writers.pop(writer, None)
            writer.close()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, syslog: Syslog) -> None:
        self._syslog = syslog

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._syslog.take(data[:MOST_BYTES], addr[0])


async def _message(reader: asyncio.StreamReader, first: bytes) -> bytes | None:
    """Return the next message of a TCP connection (``reader``); None if the connection has ended or the text is not a message.

    ``first`` is the message's first byte, already read. By RFC 6587, a message is preceded by its length, or followed by a line break.
    """
    if first.isdigit() and first != b"0":
        count = first
        while (more := await reader.read(1)).isdigit() and len(count) < 6:
            count += more
        if more != b" ":
            return None  # neither a length nor a message: nothing that follows can be told apart
        length = int(count)
        try:
            data = await reader.readexactly(min(length, MOST_BYTES))
            for start in range(len(data), length, MOST_BYTES):
                await reader.readexactly(min(MOST_BYTES, length - start))
        except asyncio.IncompleteReadError as error:
            return error.partial or None
        return data
    try:
        return first + await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        return first + error.partial
    except asyncio.LimitOverrunError:
        data = first + await reader.read(MOST_BYTES)
        while True:
            try:
                await reader.readuntil(b"\n")
            except asyncio.LimitOverrunError:
                await reader.read(MOST_BYTES)
            except asyncio.IncompleteReadError:
                break
            else:
                break
        return data
