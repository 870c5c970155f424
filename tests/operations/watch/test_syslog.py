"""Syslog by UDP and TCP, from `logger` too; kinds of messages; what is sent by nobody, without end, or broken."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railweave.operations.watch import syslog as room
from railweave.operations.watch.syslog import Syslog, read

LOGGER = shutil.which("logger")


@pytest.mark.parametrize(
    ("line", "kind", "port", "peer"),
    [
        ("RPD_BGP_NEIGHBOR_STATE_CHANGED: BGP peer fe80::1%et-0/0/0:0.0 (External AS 65001) changed state from Established to Idle (event HoldTime)", "bgp", "", "fe80::1%et-0/0/0:0.0"),
        ("SNMP_TRAP_LINK_DOWN: ifIndex 517, ifAdminStatus up(1), ifOperStatus down(2), ifName et-0/0/1:0", "link", "et-0/0/1:0", ""),
        ("UI_COMMIT_COMPLETED: commit complete", "configuration", "", ""),
        ("%BGP-5-ADJCHANGE: peer 10.0.0.1 (VRF default AS 65001) old state Established event Stop new state Idle", "bgp", "", "10.0.0.1"),
        ("%BFD-5-STATE_CHANGE: peer (vrf:default, ip:fe80::1, intf:Ethernet1/1, srcIp:fe80::2, type:normal) changed state from Up to Down diag PathDown", "bfd", "Ethernet1/1", "fe80::1"),
        ("%LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet1/1, changed state to down", "link", "Ethernet1/1", ""),
        ("PFC Watchdog detected PFC storm on port Ethernet0, queue index 3, queue id 0x15", "pfc-watchdog", "Ethernet0", ""),
        ("Port Ethernet0 oper state set from up to down", "link", "Ethernet0", ""),
        ("%ADJCHANGE: neighbor Ethernet0(stripe1-leaf1) in vrf default Down BGP Notification send", "bgp", "", "Ethernet0"),
        ("sshd[1]: Accepted publickey for somebody", "", "", ""),
    ],
)  # fmt: skip
def test_kinds_of_messages(line: str, kind: str, port: str, peer: str) -> None:
    for head in ("<189>Nov 23 10:00:00 a-leaf rpd[1]: ", "<189>1 2026-11-23T10:00:00.1Z a-leaf rpd 1 - - "):
        found = read((head + line).encode())
        assert (found.severity, found.host, found.kind, found.port, found.peer) == (5, "a-leaf", kind, port, peer)
    named = line.partition(": ")
    if named[1] and named[0].isupper() and " " not in named[0]:  # Junos' structured form
        found = read(
            f'<189>1 2026-11-23T10:00:00.1Z a-leaf rpd 1 {named[0]} [junos@2636.1 a="x\\]y"] {named[2]}'.encode()
        )
        assert (found.host, found.kind, found.port, found.peer) == ("a-leaf", kind, port, peer)


@given(st.binary(max_size=300))
def test_whatever_comes_nothing_is_raised(data: bytes) -> None:
    own = Syslog("127.0.0.1", 0, {"a-leaf": "192.0.2.1"})
    own.take(data, "192.0.2.1")
    [event] = own.events()
    assert not any(ord(one) < 32 for one in event.text)


@asynccontextmanager
async def receiving(addresses: dict[str, str]) -> AsyncIterator[Syslog]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = Syslog("127.0.0.1", port, addresses)
    task = asyncio.create_task(made.run())
    try:
        await until(lambda: _listens(port) or task.done())
        yield made
    finally:
        task.cancel()
        await asyncio.wait([task])


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


async def until(what: Callable[[], bool]) -> None:
    async with asyncio.timeout(15):
        while not what():
            await asyncio.sleep(0.01)


def test_udp_and_tcp() -> None:
    async def run() -> None:
        async with receiving({"a-leaf": "127.0.0.1", "b-leaf": ""}) as own:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
                udp.sendto(b"<189>Nov 23 10:00:00 b-leaf one", ("127.0.0.1", own.port))
            await until(lambda: own.counts["a-leaf", ""] == 1)
            assert own.events("b-leaf") == [], "a name in a message does not count where the address is known"
            reader, writer = await asyncio.open_connection("127.0.0.1", own.port)
            long = b"<189>1 - b-leaf a - - - " + b"x" * 3 * room.MOST_BYTES
            counted = b"<189>1 - b-leaf a - - - counted"
            writer.write(b"<189>1 - b-leaf a - - - by line\n" + long + b"\n" + b"%d %s" % (len(counted), counted))
            await until(lambda: own.counts["a-leaf", ""] == 4)
            texts = [one.text for one in own.events("a-leaf")][::-1]
            assert texts[0] == "one"
            assert texts[1] == "by line"
            assert texts[2].startswith("xxx")
            assert texts[3] == "counted"
            writer.close()
            assert await reader.read() == b""

    asyncio.run(run())


@pytest.mark.skipif(LOGGER is None, reason="there is no logger (Debian: bsdutils)")
@pytest.mark.parametrize("form", ["--rfc3164", "--rfc5424"])
@pytest.mark.parametrize("by", ["--udp", "--tcp"])
def test_what_logger_sends(form: str, by: str) -> None:
    async def run() -> None:
        async with receiving({"a-leaf": "127.0.0.1"}) as own:
            words = [
                str(LOGGER),
                "-n",
                "127.0.0.1",
                "-P",
                str(own.port),
                by,
                form,
                "-p",
                "local0.err",
                "-t",
                "orchagent",
            ]
            words.append("PFC Watchdog detected PFC storm on port Ethernet0, queue index 3")
            await asyncio.to_thread(subprocess.run, words, check=True)
            await until(lambda: own.counts["a-leaf", "pfc-watchdog"] == 1)
            [event] = own.events(kind="pfc-watchdog")
            assert (event.device, event.port, event.severity) == ("a-leaf", "Ethernet0", 3)

    asyncio.run(run())


def test_senders_that_nobody_knows_are_counted_and_memory_is_bounded() -> None:
    own = Syslog("127.0.0.1", 0, {"a-leaf": "192.0.2.1", "b-leaf": "mgmt.example"})
    own.take(b"<189>1 - somebody a - - - x", "198.51.100.7")
    own.take(b"<189>1 - B-LEAF.example.net a - - - x", "198.51.100.7")
    own.take(b"<189>1 - x a - - - y", "::ffff:192.0.2.1")
    assert own.unknown == 1
    assert own.counts == {("b-leaf", ""): 1, ("a-leaf", ""): 1}
    for _ in range(2 * room.MOST_OF_DEVICE):
        own.take(b"<189>1 - x a - - - y", "192.0.2.1")
    assert len(own.events("a-leaf")) == room.MOST_OF_DEVICE


def test_a_port_that_is_taken_is_an_error() -> None:
    from railweave.errors import OutputError

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(OutputError, match="syslog cannot be received"):
            asyncio.run(Syslog("127.0.0.1", taken.getsockname()[1], {}).run())


def test_a_listener_that_fails_does_not_silence_the_others() -> None:
    async def run() -> None:
        async with receiving({"a-leaf": "127.0.0.1"}) as own:
            heard: list[str] = []

            def broken(_: object) -> None:
                raise RecursionError

            own.heard += [broken, lambda event: heard.append(event.text)]
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                for text in (b"one", b"two"):
                    sender.sendto(text, ("127.0.0.1", own.port))
            await until(lambda: len(heard) == 2)
            _, writer = await asyncio.open_connection("127.0.0.1", own.port)
            writer.write(b"three\n" + b"\xff\x00[" * 100 + b"\nfour\n")
            await until(lambda: len(heard) == 5)
            assert own.unread == 5
            writer.close()

    asyncio.run(run())


def test_an_error_while_a_message_is_read_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(data: bytes) -> room.Message:
        if b"bad" in data:
            raise ValueError
        return inner(data)

    async def run() -> None:
        async with receiving({"a-leaf": "127.0.0.1"}) as own:
            _, writer = await asyncio.open_connection("127.0.0.1", own.port)
            writer.write(b"bad\ngood\n")
            await until(lambda: len(own.events()) == 1)
            assert own.unread == 1
            writer.close()

    inner = room.read
    monkeypatch.setattr(room, "read", read)
    asyncio.run(run())
