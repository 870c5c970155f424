"""Setup of the monitoring of a site's network, with the HTTP server."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import signal
import socket
from dataclasses import dataclass, replace
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, cast

from railweave.errors import Argument, InputError, Option, Problem
from railweave.live.reach.target import password_of
from railweave.model.state.host_metrics import HOST_METRICS
from railweave.operations.watch.anomalies import MOST_CLOSED, Anomalies
from railweave.operations.watch.collector import Collector
from railweave.operations.watch.console.guard import Proxy
from railweave.operations.watch.descriptors import BACKLOG, connections
from railweave.operations.watch.notify import Notifier
from railweave.operations.watch.setting_up import watched
from railweave.operations.watch.store import Store
from railweave.operations.watch.syslog import Syslog
from railweave.operations.watch.validator import Validator
from railweave.operations.watch.watching import WatchedNetwork
from railweave.secret_url import http_url

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from railweave.live.site.site import RunningDevices
    from railweave.model.intent.reading.source import Field, FieldSource
    from railweave.model.network.model import Network
    from railweave.operations.watch.inspector.instruments import JobInstruments
    from railweave.operations.watch.otlp.exporter import Otlp
    from railweave.operations.watch.otlp.settings import OtlpSettings

_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""The syntax of an HTTP header name (RFC 9110)."""
WINDOW = 3
"""The number of sampling intervals between the two readings of counters that are compared."""
QUIET = 3
"""The number of sampling intervals after which an anomaly that is no longer seen is closed."""


@dataclass(frozen=True)
class WatchSettings:
    """The settings of a watch.

    - ``every_s``: the sampling interval in seconds.
    - ``store``: the file of samples and anomalies, or None. ``store_bytes``: its largest size; None means no limit.
    - ``webhook``, ``alertmanager``: the addresses that receive anomalies.
    - ``syslog``: the address and port on which syslog is received.
    - ``otlp``: the receivers of OpenTelemetry, or None.
    - ``inspector``: the folder in which NCCL's Inspector writes, or None.
    """

    every_s: float = 10.0
    store: Path | None = None
    webhook: str | None = None
    alertmanager: str | None = None
    syslog: tuple[str, int] | None = None
    otlp: OtlpSettings | None = None
    inspector: Path | None = None
    store_bytes: int | None = None


def watching_of(
    site: RunningDevices,
    wanted: WatchSettings,
    *,
    fabric: Path | None,
    line: Callable[[Sequence[Field]], FieldSource],
    say: Callable[[str], None],
) -> WatchedNetwork:
    """Return the watched network of a site. Raises ``InputError`` if the site has no devices, and ``OutputError`` if the store cannot be used.

    - ``wanted``: the settings of the watch. ``fabric``: the fabric file.
    - ``line``: a function that takes fields of the fabric file. It returns the first of them that the file has, with the line number.
    """
    if not site.asked:
        raise InputError([Problem(Argument("watch"), "the network has no switch", "add one to the fabric file")])
    network = site.network
    # Of servers not only what is collected: their numbers too.
    asked = [
        device if device.system else replace(device, questions=(*device.questions, HOST_METRICS))
        for device in site.asked.values()
    ]
    roles = {switch.name: switch.role for switch in network.switches} | {
        server.name: "server" for server in network.servers
    }
    devices = watched(
        asked, roles, every_s=wanted.every_s, rarely_s=max(site.rarely_s, wanted.every_s), open_by=site.ask_by
    )
    validator = Validator(
        network,
        site.configs,
        window_s=WINDOW * wanted.every_s,
        visible=site.visible,
        line=line,
        devices=[device.target.name for device in asked if device.system],
        servers=[device.target.name for device in asked if not device.system],
    )
    addresses = {name: site.addresses.get(name, "") for name in site.asked}
    store = None if wanted.store is None else Store(wanted.store, wanted.store_bytes)
    names = frozenset(node.name for node in (*network.switches, *network.servers))
    receivers = wanted.webhook or wanted.alertmanager
    notifier = Notifier(wanted.webhook, wanted.alertmanager, say, store) if receivers else None
    ends = {
        (expected.device, port.name): port.peer for expected in validator.expected.values() for port in expected.ports
    }
    anomalies = Anomalies(names, QUIET * wanted.every_s, ends=ends)
    if notifier is not None:
        anomalies.elsewhere = notifier.silenced
    if store is not None:
        anomalies.restore(store.anomalies(MOST_CLOSED), store.silences(), time())
    return WatchedNetwork(
        Collector(devices, store, every_s=wanted.every_s),
        validator,
        anomalies,
        store,
        wanted.every_s,
        fabric,
        notifier,
        None if wanted.syslog is None else Syslog(*wanted.syslog, addresses, connections(len(addresses))),
        None if wanted.otlp is None else _exporter(wanted.otlp, network.name, wanted.every_s, say),
        None if wanted.inspector is None else _instruments(wanted.inspector, network, wanted.every_s),
    )


def _instruments(folder: Path, network: Network, every_s: float) -> JobInstruments:
    from railweave.operations.watch.inspector.instruments import JobInstruments  # it needs the prediction

    return JobInstruments(folder, network, every_s=every_s)


def _exporter(settings: OtlpSettings, network: str, every_s: float, say: Callable[[str], None]) -> Otlp:
    from railweave.operations.watch.otlp.exporter import Otlp  # an extra (docs/decisions.md)

    return Otlp(settings, network, every_s, say)


@dataclass(frozen=True)
class Serving:
    """The settings of the HTTP server: its address, its access rules, and ``runs``, a store of benchmark runs for the console."""

    host: str
    port: int
    password: str | None = None
    proxy: Proxy | None = None
    runs: str | None = None
    token: str | None = None
    """The token that writers need; None if nothing can be changed."""


def proxy_of(given: str) -> Proxy:
    """Return the proxy that ``given`` names as ``ADDRESS=HEADER``. Raises ``InputError`` if the text has a different form."""
    address, _, header = given.partition("=")
    try:
        proxy_address = str(ipaddress.ip_address(address.strip("[]")))
    except ValueError:
        proxy_address = ""
    if not proxy_address or not _HEADER.fullmatch(header):
        fix = "write the proxy's address and the header in which it says who asks, as 10.0.0.5=X-Remote-User"
        raise InputError([Problem(Option("--proxy", given), "it does not have the form ADDRESS=HEADER", fix)])
    return Proxy(proxy_address, header)


def serving_of(
    listen: str, password: str | None, proxy: str | None, runs: str | None, token: str | None = None
) -> Serving | None:
    """Return the settings of the HTTP server for the address ``listen``; None if ``listen`` is ``none``.

    ``password`` (``env:NAME`` or ``file:PATH``) and ``proxy`` (``ADDRESS=HEADER``) are the values of these options. ``runs`` is the store
    of benchmark runs that the console shows: an SQLite file, a ``postgresql://`` address, or None. ``token`` (``env:NAME`` or ``file:PATH``)
    is the value of ``--write-token``.

    Raises ``InputError`` if ``listen`` is not ADDRESS:PORT, or if the address cannot be used. Also raises it if other machines can reach
    the address and neither a password nor a proxy is given.
    """
    secret = None if password is None else password_of(password)
    write_token = None if token is None else password_of(token, "--write-token")
    by = None if proxy is None else proxy_of(proxy)
    if listen == "none":
        return None
    host, port = address_of("--listen", listen, ", or none")
    if not ipaddress.ip_address(host).is_loopback and secret is None and by is None:
        fix = "give --password env:NAME or --proxy ADDRESS=HEADER, and put TLS in front of it"
        raise InputError([Problem(Option("--listen", listen), "others could read it without a password", fix)])
    _free(listen, host, port)
    return Serving(host, port, secret, by, runs, write_token)


def _free(listen: str, host: str, port: int) -> None:
    """Raise ``InputError`` if the server cannot listen on ``host`` and ``port``. This is tested before the address is printed.

    ``listen`` is the value of the option ``--listen``, for the error.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
        try:
            tried.bind((host, port))
        except OSError as error:
            description = f"nothing can be served there: {error.strerror or error}"
            fix = "end the program that has the port, or choose another port of this machine"
            raise InputError([Problem(Option("--listen", listen), description, fix)]) from None


def urls_of(given: Mapping[str, str | None]) -> list[str | None]:
    """Return the HTTP or HTTPS URL of every value of ``given`` (by option). None stays None.

    A value is a URL, or names one as ``env:NAME`` or ``file:PATH``. Raises ``InputError`` for every value that is no valid URL, or that
    shows a password to others.
    """
    problems: list[Problem] = []
    urls: list[str | None] = []
    for option, address in given.items():
        try:
            urls.append(None if address is None else http_url(option, address))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return urls


def folder_of(option: str, given: str) -> Path:
    """Return the folder in the value ``given`` of an option. Raises ``InputError`` if it is no folder, or cannot be read."""
    folder = Path(given)
    try:
        next(folder.iterdir(), None)
    except OSError as error:
        fix = "name a folder that exists and that this user can read: the one above those of NCCL_INSPECTOR_DUMP_DIR"
        raise InputError([Problem(Option(option, given), f"it cannot be read: {error.strerror}", fix)]) from None
    return folder


def address_of(option: str, given: str, more: str = "") -> tuple[str, int]:
    """Return the address and port in the value ``given`` of an option. Raises ``InputError`` if the value is not ADDRESS:PORT.

    ``more`` is a text that the error appends to its fix.
    """
    host, _, port = given.rpartition(":")
    try:
        address = ipaddress.ip_address(host.strip("[]"))
        number = int(port)
    except ValueError:
        address, number = None, 0
    if address is None or not 0 < number < 1 << 16:
        fix = f"write an address and a port, as 127.0.0.1:8484 or [::1]:8484{more}"
        raise InputError([Problem(Option(option, given), "it is not an address with a port", fix)])
    return str(address), number


def serve(watching: WatchedNetwork, at: Serving | None) -> None:
    """Watch the network ``watching``, and serve it by HTTP if ``at`` is given, until SIGINT or SIGTERM.

    Raises ``OutputError`` if the store cannot be written, or syslog cannot be received.
    """
    asyncio.run(_served(watching, at))
    if watching.store is not None:
        watching.store.close()


async def _served(watching: WatchedNetwork, at: Serving | None) -> None:
    running = asyncio.create_task(watching.run())
    tasks: set[asyncio.Task[Any]] = {running}
    server: Any = None
    if at is not None:
        import uvicorn

        from railweave.operations.watch.app import app, limited

        most = connections(len(watching.collector.devices))
        config = uvicorn.Config(
            app(watching, at.password, proxy=at.proxy, runs=at.runs, most=most, token=at.token),
            http=limited(most),
            ws="none",
            backlog=BACKLOG,
            host=at.host,
            port=at.port,
            proxy_headers=False,  # whose address a request comes from is not for its headers to say
            timeout_graceful_shutdown=1,  # a page that is open waits for events without end
            log_level="error",  # a client that sends no HTTP is not worth a line
            access_log=False,
            lifespan="off",
        )
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None
        tasks.add(asyncio.create_task(server._serve()))  # noqa: SLF001 - `serve` would take the signals for itself
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(signal_number, ended.set)
    tasks.add(waiting := asyncio.create_task(ended.wait()))
    done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for call in watching.ending:
        call()
    if server is not None:
        server.should_exit = True
    for task in (running, waiting):
        task.cancel()
    await asyncio.wait(tasks, timeout=5)
    for task in done - {waiting}:
        error = task.exception()
        if error is not None:
            raise _first(error)


def _first(error: BaseException) -> BaseException:
    """Return the first error inside nested exception groups."""
    if isinstance(error, BaseExceptionGroup):
        those = cast("BaseExceptionGroup[BaseException]", error)
        return _first(those.exceptions[0])
    return error
