"""A gNMI target of our own, by grpcio's server: leaves with values, subscriptions by SAMPLE and ON_CHANGE, TLS, a user.

It is written with the full messages, the collector reads with the raw ones. As a program it is many targets, for load:
``python -m tests.operations.watch.gnmi_target FOLDER --targets 96 --pack port``. It prints one line of JSON with the ports of its targets, and then
obeys lines of standard input: ``stop N``, ``start N``, ``pause``; each is answered with how many updates each target has sent.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio

from railweave.live.reach.gnmi_messages import CAPABILITIES, ENCODINGS, GET, SUBSCRIBE, elements, message, path_message

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

USER, PASSWORD = "watcher", "a word that is long enough"


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def typed(value: object) -> bytes:
    """A ``TypedValue``: integers as ``uint_val``, text as ``string_val``, bytes as ``json_ietf_val``."""
    if isinstance(value, bool):
        return b"\x20" + (b"\x01" if value else b"\x00")
    if isinstance(value, int):
        return b"\x18" + varint(value)
    if isinstance(value, bytes):
        return b"\x5a" + varint(len(value)) + value
    made = (
        message("TypedValue")(double_val=value) if isinstance(value, float) else message("TypedValue")(string_val=value)
    )
    return made.SerializeToString()


@dataclass
class Leaf:
    """A leaf with its path as written, and encoded; ``step`` is what it rises by with every sample."""

    path: str
    value: object
    step: int = 0
    encoded: bytes = b""
    parts: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        data = path_message(self.path).SerializeToString()
        self.encoded = b"\x0a" + varint(len(data)) + data
        self.parts = elements(self.path)

    def within(self, asked: list[tuple[str, dict[str, str]]]) -> bool:
        return len(asked) <= len(self.parts) and all(
            name == other and all(value in {"*", keys.get(key)} for key, value in wanted.items())
            for (name, wanted), (other, keys) in zip(asked, self.parts, strict=False)
        )


class Target:
    """``groups`` are leaves that are told in one notification each."""

    def __init__(self, name: str, groups: list[list[Leaf]], *, login: bool = False) -> None:
        self.name, self.groups, self.login = name, groups, login
        self.sent = 0
        self.paused = False
        self.asked: list[Any] = []
        self.streams = 0
        self._changes: list[asyncio.Queue[list[Leaf]]] = []
        self._server: grpc.aio.Server | None = None
        self.port = 0
        self.credentials: grpc.ServerCredentials | None = None

    def set(self, path: str, value: object) -> None:
        """Change a leaf, and tell those who asked for changes."""
        leaf = next(one for group in self.groups for one in group if one.path == path)
        leaf.value = value
        for queue in self._changes:
            queue.put_nowait([leaf])

    def notification(self, leaves: list[Leaf]) -> bytes:
        prefix = message("Path")(target=self.name).SerializeToString()
        body = [b"\x08", varint(time.time_ns()), b"\x12", varint(len(prefix)), prefix]
        for leaf in leaves:
            value = typed(leaf.value)
            update = leaf.encoded + b"\x1a" + varint(len(value)) + value
            body += [b"\x22", varint(len(update)), update]
        data = b"".join(body)
        self.sent += len(leaves)
        return b"\x0a" + varint(len(data)) + data

    async def _refused(self, context: Any) -> None:
        given = dict(context.invocation_metadata())
        if self.login and (given.get("username"), given.get("password")) != (USER, PASSWORD):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "wrong user or password")

    async def subscribe(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        await self._refused(context)
        async for first in requests:
            asked = message("SubscribeRequest").FromString(first).subscribe
            break
        self.asked.append(asked)
        wanted = [(elements_of(one.path), one.mode, one.sample_interval) for one in asked.subscription]
        sampled, changing = [], []
        for group in self.groups:
            by = [(leaf, mode, every) for leaf in group for path, mode, every in wanted if leaf.within(path)]
            if changes := [leaf for leaf, mode, _ in by if mode == 1]:
                changing.append(changes)
            if samples := [leaf for leaf, mode, _ in by if mode != 1]:
                sampled.append((samples, min(every for _, mode, every in by if mode != 1) / 1e9))
        queue: asyncio.Queue[list[Leaf]] = asyncio.Queue()
        self._changes.append(queue)
        self.streams += 1
        try:
            for leaves in changing:
                yield self.notification(leaves)
            for leaves, _ in sampled:
                yield self.notification(leaves)
            yield message("SubscribeResponse")(sync_response=True).SerializeToString()
            next_at = time.monotonic()
            followed = {id(leaf) for leaves in changing for leaf in leaves}
            while True:
                next_at += min((every for _, every in sampled), default=3600.0)
                while (left := next_at - time.monotonic()) > 0:
                    with contextlib.suppress(TimeoutError):
                        changed = [one for one in await asyncio.wait_for(queue.get(), left) if id(one) in followed]
                        if changed:
                            yield self.notification(changed)
                if self.paused:
                    continue
                for leaves, _ in sampled:
                    for leaf in leaves:
                        if leaf.step and isinstance(leaf.value, int):
                            leaf.value += leaf.step
                    yield self.notification(leaves)
        finally:
            self.streams -= 1
            self._changes.remove(queue)

    async def capabilities(self, _: bytes, context: Any) -> bytes:
        await self._refused(context)
        made = message("CapabilityResponse")(
            gnmi_version="0.10.0", supported_encodings=[ENCODINGS["json_ietf"], ENCODINGS["proto"]]
        )
        made.supported_models.add(name="openconfig-interfaces", organization="OpenConfig", version="3.0.0")
        return made.SerializeToString()

    async def start(self, port: int = 0) -> None:
        server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
        methods = {
            SUBSCRIBE.rsplit("/", 1)[1]: grpc.stream_stream_rpc_method_handler(self.subscribe),
            CAPABILITIES.rsplit("/", 1)[1]: grpc.unary_unary_rpc_method_handler(self.capabilities),
        }
        assert GET.startswith("/gnmi.gNMI/")
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("gnmi.gNMI", methods),))
        where = f"127.0.0.1:{port or self.port}"
        self.port = (
            server.add_secure_port(where, self.credentials) if self.credentials else server.add_insecure_port(where)
        )
        await server.start()
        self._server = server

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(0)
            self._server = None


def elements_of(path: Any) -> list[tuple[str, dict[str, str]]]:
    return [(one.name, dict(one.key)) for one in path.elem]


def certificates(folder: Path) -> None:
    """An authority of our own, ``ca.pem``, and a certificate of it for the name ``switch.example``."""

    def ran(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    ran("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=authority of a test")
    ran("req", *new, "-keyout", "switch.key", "-out", "switch.csr", "-subj", "/CN=switch.example")
    (folder / "names").write_text("subjectAltName=DNS:switch.example\n")
    sign = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
    ran("x509", "-req", "-in", "switch.csr", "-out", "switch.pem", *sign)


def server_credentials(folder: Path) -> grpc.ServerCredentials:
    pair = ((folder / "switch.key").read_bytes(), (folder / "switch.pem").read_bytes())
    return grpc.ssl_server_credentials([pair])


def openconfig(ports: int, queues: int, *, pack: str = "port", begin: int = 10**12) -> list[list[Leaf]]:
    """Leaves of a switch in the OpenConfig models: one notification for a port's counters, and one for its queues, or for each queue."""
    groups: list[list[Leaf]] = []
    for port in range(ports):
        name = f"et-0/0/{port}:0"
        counters = {
            "in-octets": 12345678,
            "out-octets": 12345678,
            "in-discards": 0,
            "out-discards": 0,
            "in-errors": 0,
            "in-fcs-errors": 0,
        }
        base = f"/interfaces/interface[name={name}]/state"
        groups.append([Leaf(f"{base}/oper-status", "UP")])
        groups.append([Leaf(f"{base}/counters/{leaf}", begin if step else 0, step) for leaf, step in counters.items()])
        rises = {"transmit-pkts": 8000, "transmit-octets": 9_000_000, "dropped-pkts": 0, "ecn-marked-pkts": 11}
        by_queue = [
            [
                Leaf(
                    f"/qos/interfaces/interface[interface-id={name}]/output/queues/queue[name={queue}]/state/{leaf}",
                    begin * (step > 0),
                    step,
                )
                for leaf, step in rises.items()
            ]
            for queue in range(queues)
        ]
        groups += by_queue if pack == "queue" else [[leaf for one in by_queue for leaf in one]]
    return groups


async def serve(folder: Path, targets: list[Target]) -> None:
    """Be all of them until standard input ends."""
    for one in targets:
        one.credentials = server_credentials(folder)
        await one.start()
    print(json.dumps({one.name: one.port for one in targets}), flush=True)
    by_name = {one.name: one for one in targets}
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := (await reader.readline()).decode().split():
        match line:
            case ["stop", name]:
                await by_name[name].stop()
            case ["start", name]:
                await by_name[name].start()
            case ["pause"]:
                for one in targets:
                    one.paused = True
        print(json.dumps({one.name: one.sent for one in targets}), flush=True)
    for one in targets:
        await one.stop()


def main() -> None:
    from pathlib import Path

    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--targets", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--ports", type=int, default=64)
    parser.add_argument("--queues", type=int, default=8)
    parser.add_argument("--pack", choices=("port", "queue"), default="port")
    given = parser.parse_args()
    targets = [
        Target(f"target-{given.first + number}", openconfig(given.ports, given.queues, pack=given.pack))
        for number in range(given.targets)
    ]
    asyncio.run(serve(given.folder, targets))


if __name__ == "__main__":
    main()
