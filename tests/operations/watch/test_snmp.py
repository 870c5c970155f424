"""A real snmpd is asked by versions 2c and 3, with the tables of a switch; what comes is the stream's."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from railweave.errors import SpecError
from railweave.live.collect.access_file import read_access
from railweave.live.reach.failure import ReachError
from railweave.live.reach.snmp import column
from railweave.live.reach.target import MachineLogin, Password, Snmp, Target
from railweave.model.state.telemetry import PORT_NAMES, PORTS_BY_SNMP, Column, Series
from railweave.operations.watch.layout import Layout
from railweave.operations.watch.setting_up import SnmpSource, snmp_numbers
from railweave.operations.watch.stream import Stream
from railweave.systems.junos import telemetry as junos

SNMPD = shutil.which("snmpd") or shutil.which("snmpd", path="/usr/sbin")
needs_snmpd = pytest.mark.skipif(SNMPD is None, reason="snmpd is not installed (Debian: snmpd)")
NAMES = ["lo", "et-0/0/1:0"]
STUCK, RECOVERED = (one.oid for one in junos.SNMP)


@contextmanager
def agent(folder: Path) -> Iterator[int]:
    """snmpd on loopback, with the port table of two ports and a queue of one that was stuck 3 times; its port."""
    assert SNMPD is not None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lines = ["rocommunity a-community 127.0.0.1", "rouser watcher priv", f"agentAddress udp:127.0.0.1:{port}"]
    lines += ["createUser watcher SHA-256 an-authentication AES a-private-word"]
    lines += [f"override {PORT_NAMES}.{517 + place} octet_str {name}" for place, name in enumerate(NAMES)]
    lines += [f"override {STUCK}.518.3 counter 3", f"override {RECOVERED}.518.3 counter 2"]
    lines += ["override 1.3.6.1.2.1.2.2.1.8.518 integer 2"]
    (folder / "snmpd.conf").write_text("\n".join(lines) + "\n")
    words = [SNMPD, "-f", "-Lf", str(folder / "log"), "-C", "-c", str(folder / "snmpd.conf"), "-p", str(folder / "pid"), "-I", "-smux,mteTrigger,ifTable,ifXTable"]  # fmt: skip
    own = {"SNMP_PERSISTENT_DIR": str(folder / "state"), "PATH": "/usr/sbin:/usr/bin"}
    process = subprocess.Popen(words, env=own, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield port
    finally:
        process.terminate()
        process.wait(10)


def target(own: Snmp, limit_s: float = 2) -> Target:
    return Target("a-leaf", (), MachineLogin("127.0.0.1", "nobody", snmp=own), limit_s, limit_s)


def community(port: int, monkeypatch: pytest.MonkeyPatch, word: str = "a-community") -> Snmp:
    monkeypatch.setenv("COMMUNITY", word)
    return Snmp(Password("env", "COMMUNITY"), port=port)


def asked(own: Snmp, oid: str) -> dict[tuple[int, ...], int | str]:
    """A column, once the agent is there."""
    end = time.monotonic() + 20
    while True:
        try:
            return asyncio.run(column(target(own), oid))
        except ReachError:
            if time.monotonic() > end:
                raise


@needs_snmpd
def test_tables_of_a_real_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTHENTICATION", "an-authentication")
    monkeypatch.setenv("PRIVACY", "a-private-word")
    with agent(tmp_path) as port:
        two = community(port, monkeypatch)
        three = Snmp(None, "watcher", Password("env", "AUTHENTICATION"), Password("env", "PRIVACY"), port)
        for own in (two, three):
            assert asked(own, PORT_NAMES) == {(517,): "lo", (518,): "et-0/0/1:0"}
            assert asked(own, STUCK) == {(518, 3): 3}
        assert asked(two, "1.3.6.1.2.1.15.3.1.2") == {}, "a table that the device lacks is empty"

        stream = Stream("a-leaf", Layout(lambda _: None))
        source = SnmpSource(target(two), stream, (*junos.SNMP, *PORTS_BY_SNMP[:1]), column, every_s=0.05)

        async def run() -> None:
            task = asyncio.create_task(source.run())
            async with asyncio.timeout(15):
                while not source.reached.up:
                    await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.wait([task])

        asyncio.run(run())
        stream.end_round(0)
        port_name = "et-0/0/1:0"
        counts = {
            one: int(stream.counts[place]) for place, one in enumerate(stream.layout.series) if one.metric != "port_up"
        }
        assert counts == {Series("storms", port_name, "3"): 3, Series("storms_over", port_name, "3"): 2}
        assert stream.last()[Series("port_up", port_name)] == 0

        monkeypatch.setenv("PRIVACY", "another-private-word")
        with pytest.raises(ReachError):
            asyncio.run(column(target(three, 0.5), STUCK))
        with pytest.raises(ReachError, match="does not answer"):
            asyncio.run(column(target(community(port, monkeypatch, "a-wrong-one"), 0.5), STUCK))


def test_rows_without_a_port_and_words_are_left_out() -> None:
    made = Column("1.2", "queue_dropped", "A-MIB")
    table = {(517, 3): 5, (999, 3): 5, (517, 4): "none", (): 1}
    assert snmp_numbers(made, table, {517: "a"}) == [(Series("queue_dropped", "a", "3"), 5)]


@pytest.mark.parametrize(
    ("own", "wrong"),
    [
        ("{community: geheim}", "a password stands here"),
        ("{user: watcher}", "neither version 2c nor version 3"),
        (
            "{user: a, authentication: 'env:A', privacy: 'env:B', community: 'env:C'}",
            "neither version 2c nor version 3",
        ),
        ("{}", "neither version 2c nor version 3"),
    ],
)
def test_access_that_is_wrong(tmp_path: Path, own: str, wrong: str) -> None:
    (tmp_path / "access.yaml").write_text(f"defaults:\n  snmp: {own}\n")
    with pytest.raises(SpecError) as caught:
        read_access(tmp_path / "access.yaml")
    assert wrong in str(caught.value)
    assert "access.yaml" in str(caught.value)
