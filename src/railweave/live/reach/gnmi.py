"""gNMI by grpcio: a subscription that lasts until the device or the caller ends it. Nothing here can change a device.

The certificate of the device is checked. If ``certificates`` in access.yaml names a private authority, the name in the
certificate may differ from the device's address, as with eAPI. gRPC has no option for this, so railweave first reads the
name from the certificate. A user's name and password are sent with each call as metadata (gNMI authentication
specification), but only over TLS or on this machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import ssl
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from railweave.live.reach.failure import Kind, ReachError, safe_line
from railweave.live.reach.gnmi_messages import CAPABILITIES, ENCODINGS, MODES, STREAM, SUBSCRIBE, message, path_message
from railweave.live.reach.target import on_this_machine
from railweave.reading import file_bytes

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Sequence

    from railweave.live.reach.target import MachineLogin, Target
    from railweave.model.state.telemetry import Subscription

MOST_BYTES = 64 << 20
"""The largest message that is accepted, in bytes."""
_KINDS: dict[grpc.StatusCode, Kind] = {
    grpc.StatusCode.UNAUTHENTICATED: "login",
    grpc.StatusCode.PERMISSION_DENIED: "login",
    grpc.StatusCode.INVALID_ARGUMENT: "refused",
    grpc.StatusCode.NOT_FOUND: "refused",
    grpc.StatusCode.UNIMPLEMENTED: "refused",
    grpc.StatusCode.DEADLINE_EXCEEDED: "late",
}


class Gnmi:
    """A gNMI channel to one device."""

    def __init__(self, channel: grpc.aio.Channel, target: Target, metadata: tuple[tuple[str, str], ...]) -> None:
        self._channel: Any = channel  # grpcio has no types
        self._target = target
        self._metadata = metadata

    @classmethod
    async def opened(cls, target: Target, port: int) -> Gnmi:
        """Return a connected channel to a device. Raises ``ReachError`` if the device cannot be reached or its certificate is refused."""
        way = target.way
        if way.jump is not None:
            raise ReachError(
                "not asked", "gNMI goes through no jump host here", "reach the device directly, or watch it from there"
            )
        where = f"{f'[{way.address}]' if ':' in way.address else way.address}:{port}"
        options: list[tuple[str, Any]] = [
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.max_receive_message_length", MOST_BYTES),
            ("grpc.keepalive_time_ms", 10_000),
            ("grpc.keepalive_timeout_ms", 5_000),
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.enable_http_proxy", 0),
        ]
        login = (("username", way.user), ("password", way.password.value())) if way.password else ()
        if way.tls:
            authority, name = await _name_of(way, port, target.connect_s)
            if name:
                options.append(("grpc.ssl_target_name_override", name))
            channel = grpc.aio.secure_channel(where, grpc.ssl_channel_credentials(authority), options)
        elif on_this_machine(way.address):
            channel = grpc.aio.insecure_channel(where, options)
        else:
            raise ReachError(
                "not asked", f"gNMI without TLS to {way.address} would show the password", "leave `tls` as it is"
            )
        try:
            async with asyncio.timeout(target.connect_s):
                await channel.channel_ready()
        except TimeoutError:
            await channel.close()
            raise ReachError("unreachable", f"{where} does not answer by gNMI") from None
        except BaseException:
            await channel.close()
            raise
        return cls(channel, target, login)

    async def capabilities(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return two tuples: the YANG models of the device, each with its version, and the encodings that the device supports.

        Raises ``ReachError`` if the device refuses the login or does not answer.
        """
        call: Any = self._channel.unary_unary(CAPABILITIES)
        try:
            answer: bytes = await call(b"", metadata=self._metadata, timeout=self._target.answer_s)
        except grpc.aio.AioRpcError as error:
            raise _failure(error) from None
        try:
            read = message("CapabilityResponse").FromString(answer)
        except DecodeError as error:
            raise ReachError("lost", f"what it sends is no gNMI: {safe_line(str(error))}") from None
        by_number = {number: name for name, number in ENCODINGS.items()}
        models = tuple(f"{supported_model.name} {supported_model.version}" for supported_model in read.supported_models)
        return models, tuple(
            by_number.get(supported_encoding, str(supported_encoding))
            for supported_encoding in read.supported_encodings
        )

    async def subscribed(self, paths: Sequence[Subscription], encoding: str, every_s: float) -> AsyncGenerator[Any]:
        """Yield notifications (``RawNotification``) as they arrive, and None when the device has sent all values once.

        All ``paths`` must have the same origin and target. ``encoding`` is the name of an encoding that the device supports.
        ``every_s`` is the sampling interval in seconds. Raises ``ReachError`` if the device refuses or ends the subscription.
        """
        ended = asyncio.Event()

        async def asking() -> AsyncIterator[bytes]:
            yield request(paths, encoding, every_s)
            await ended.wait()

        call: Any = self._channel.stream_stream(SUBSCRIBE)(asking(), metadata=self._metadata)
        read = message("RawSubscribeResponse").FromString
        try:
            async for data in call:
                try:
                    response = read(data)
                except DecodeError as error:
                    raise ReachError("lost", f"what it sends is no gNMI: {safe_line(str(error))}") from None
                yield None if response.WhichOneof("held") == "sync_response" else response.update
        except grpc.aio.AioRpcError as error:
            raise _failure(error) from None
        finally:
            ended.set()
            call.cancel()
        raise ReachError("lost", "the device ended the subscription")

    async def close(self) -> None:
        """Close the channel."""
        with contextlib.suppress(Exception):
            await self._channel.close()


def request(paths: Sequence[Subscription], encoding: str, every_s: float) -> bytes:
    """Return an encoded ``SubscribeRequest`` for these paths.

    ``encoding`` is the name of the encoding of values. ``every_s`` is the sampling interval in seconds. A path that requires a longer
    interval gets that interval.
    """
    made = message("SubscribeRequest")()
    wanted = made.subscribe
    wanted.mode, wanted.encoding = STREAM, ENCODINGS[encoding]
    if paths[0].target or paths[0].origin:
        wanted.prefix.CopyFrom(path_message("", paths[0].origin, paths[0].target))
    for path in paths:
        added = wanted.subscription.add(path=path_message(path.path), mode=MODES[path.by])
        if path.by == "sample":
            added.sample_interval = int(max(every_s, path.least_s) * 1e9)
    return made.SerializeToString()


def _failure(error: grpc.aio.AioRpcError) -> ReachError:
    kind = _KINDS.get(error.code(), "lost")
    return ReachError(kind, safe_line(error.details() or error.code().name.lower()))


async def _name_of(way: MachineLogin, port: int, limit_s: float) -> tuple[bytes | None, str]:
    """Return (certificates of the private authority, name in the device's certificate). ``way`` is the login.

    The certificates are None, and the name is empty, if the login names no private authority. The name is also empty if the certificate is
    valid for the device's address. Raises ``ReachError`` if the device cannot be reached within ``limit_s`` seconds or its certificate is
    not trusted.
    """
    if way.certificates is None:
        return None, ""
    try:
        authority = file_bytes(way.certificates)
        context = ssl.create_default_context(cafile=str(way.certificates))
    except (OSError, ssl.SSLError) as error:
        raise ReachError("host key", f"{way.certificates} holds no certificates: {safe_line(str(error))}") from None
    context.check_hostname = False  # the name is read here, and checked by gRPC
    context.set_alpn_protocols(["h2"])
    try:
        async with asyncio.timeout(limit_s):
            _, writer = await asyncio.open_connection(way.address, port, ssl=context)
    except TimeoutError:
        raise ReachError("unreachable", f"{way.address} port {port} does not answer") from None
    except ssl.SSLError as error:
        fix = "name the file of the authority that signed it under `certificates`"
        raise ReachError("host key", f"its certificate is not trusted: {safe_line(str(error))}", fix) from None
    except OSError as error:
        raise ReachError(
            "unreachable", f"{way.address} port {port}: {safe_line(error.strerror or str(error))}"
        ) from None
    certificate: Any = writer.get_extra_info("peercert") or {}
    writer.close()
    with contextlib.suppress(Exception):
        await writer.wait_closed()
    names = [name for kind, name in certificate.get("subjectAltName", ()) if kind in {"DNS", "IP Address"}]
    names += [value for part in certificate.get("subject", ()) for kind, value in part if kind == "commonName"]
    if way.address in names or not names:
        return authority, ""
    if not _is_address(way.address):
        raise ReachError("host key", f"its certificate is for {', '.join(names[:3])}, not for {way.address}")
    return authority, names[0]


def _is_address(text: str) -> bool:
    with contextlib.suppress(ValueError):
        return bool(ipaddress.ip_address(text))
    return False
