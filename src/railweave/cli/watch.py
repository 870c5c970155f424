"""``railweave watch``."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import dataclass
from pathlib import Path
from time import localtime, strftime
from typing import TYPE_CHECKING, Annotated

import typer

from railweave.api.options import Opt
from railweave.api.verbs import DEVICE, DEVICE_ACCESS, FABRIC, HARDWARE
from railweave.cli.command import command
from railweave.cli.output import telling
from railweave.counting import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from railweave.operations.watch.anomalies import Anomaly, Change
    from railweave.operations.watch.watching import NetworkStanding, WatchedNetwork


@dataclass(frozen=True, kw_only=True)
class Watch:
    """Options of ``railweave watch``."""

    fabric: Annotated[Path, FABRIC]
    listen: Annotated[
        str,
        Opt(
            "Address and port of the web server with the console (pages for browsers), /metrics (for Prometheus) and JSON. The word none starts no server."
        ),
    ] = "127.0.0.1:8484"
    store: Annotated[
        Path | None,
        Opt(
            "SQLite file in which samples are kept for 48 hours. Default: samples are not kept, so the console shows no history."
        ),
    ] = None
    interval: Annotated[float, Opt("Time between two samples of a switch, in seconds.", least=1, most=300)] = 10.0
    access: Annotated[Path | None, DEVICE_ACCESS] = None
    only: Annotated[Sequence[str], Opt("Watch only this switch; default: all switches. May be repeated.")] = ()
    servers: Annotated[
        bool,
        Opt(
            "Also query servers once a minute, with `railweave-host` over SSH (docs/collect.md). Default: only switches."
        ),
    ] = False
    lab: Annotated[
        bool, Opt("Watch the lab that `railweave lab up` started for FABRIC, instead of real devices. Needs root.")
    ] = False
    syslog: Annotated[
        str | None,
        Opt(
            "Address and port of this machine on which to receive syslog of the devices, by UDP and TCP, for example 10.0.0.5:514. Default: syslog is not received."
        ),
    ] = None
    webhook: Annotated[
        str | None, Opt("URL to which anomalies (deviations from the design) are sent as JSON. Default: none are sent.")
    ] = None
    alertmanager: Annotated[
        str | None,
        Opt(
            "URL of an Alertmanager to which anomalies are sent, for example http://HOST:9093/api/v2/alerts. Default: none are sent."
        ),
    ] = None
    password: Annotated[
        str | None,
        Opt(
            "Place of the password that readers of the web server must give: env:NAME (environment variable) or file:PATH. If --listen is not a loopback address, --password or --proxy is required."
        ),
    ] = None
    proxy: Annotated[
        str | None,
        Opt(
            "Web proxy that authenticates readers, as ADDRESS=HEADER: requests from ADDRESS are accepted, and HTTP header HEADER names the user. Can replace --password."
        ),
    ] = None
    runs: Annotated[
        str | None,
        Opt("Store of benchmark runs (docs/bench.md), which the console shows on its time axis. Default: no runs."),
    ] = None
    device: Annotated[Sequence[str], DEVICE] = ()
    hardware: Annotated[Path | None, HARDWARE] = None


@command(Watch, "Print a line of JSON whenever an anomaly or the network's overall state changes.")
def watch(options: Watch, *, as_json: bool, quiet: bool) -> None:
    """Sample the state of every switch until interrupted with Ctrl-C, and report deviations from the design, called anomalies.

    Switches with gNMI send their state as a stream; other switches are queried. No device is changed.
    """
    from railweave.api.sites import asking_of
    from railweave.operations.watch.starting import Serving, WatchSettings, password_of, proxy_of, serve, watching_of
    from railweave.outputs.folder.sources import lines_of

    where = _listening(options.listen, guarded=options.password is not None or options.proxy is not None)
    secret = None if options.password is None else password_of(options.password)
    by = None if options.proxy is None else proxy_of(options.proxy)
    at = None if where is None else Serving(*where, secret, by, options.runs)
    _addresses({"--webhook": options.webhook, "--alertmanager": options.alertmanager})
    receives = None if options.syslog is None else _place("--syslog", options.syslog)
    wanted = WatchSettings(options.interval, options.store, options.webhook, options.alertmanager, receives)
    line = lines_of(options.fabric)
    with telling(quiet=quiet or as_json) as say:
        site = asking_of(
            options.fabric,
            lab=options.lab,
            access=options.access,
            only=options.only,
            servers=options.servers,
            device=options.device,
            hardware=options.hardware,
            progress=say,
        )
        here = options.fabric if options.lab or options.fabric.is_file() else None
        watching = watching_of(site, wanted, fabric=here, line=line, say=say)
    watching.heard.append(_json if as_json else _lines(quiet=quiet))
    if as_json or not quiet:
        watching.heard.append(_whole(watching, as_json=as_json))
    if not (quiet or as_json):
        count = len(watching.collector.devices)
        typer.echo(
            f"watching {counted(count, 'device')} every {options.interval:g} s"
            + (f", http://{options.listen}" if where else "")
        )
    serve(watching, at)


def _listening(listen: str, *, guarded: bool) -> tuple[str, int] | None:
    """Return the address and port to listen on; None for ``none``. Raises ``InputError`` for other text.

    Also raises ``InputError`` if the address is not loopback and neither a password nor a proxy is set.
    """
    from railweave.errors import InputError, Option, Problem

    if listen == "none":
        return None
    host, port = _place("--listen", listen, ", or none")
    if not ipaddress.ip_address(host).is_loopback and not guarded:
        fix = "give --password env:NAME or --proxy ADDRESS=HEADER, and put TLS in front of it"
        raise InputError([Problem(Option("--listen", listen), "others could read it without a password", fix)])
    _free(listen, host, port)
    return host, port


def _free(listen: str, host: str, port: int) -> None:
    """Raise ``InputError`` if the server cannot listen on an address, before the address is announced."""
    import socket

    from railweave.errors import InputError, Option, Problem

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does
        try:
            tried.bind((host, port))
        except OSError as error:
            description = f"nothing can be served there: {error.strerror or error}"
            fix = "end the program that has the port, or choose another port of this machine"
            raise InputError([Problem(Option("--listen", listen), description, fix)]) from None


def _addresses(given: Mapping[str, str | None]) -> None:
    """Raise ``InputError`` for every value that is not a valid HTTP or HTTPS URL."""
    from urllib.parse import urlsplit

    from railweave.errors import InputError, Option, Problem

    problems: list[Problem] = []
    for option, address in given.items():
        try:
            url = urlsplit(address or "http://none")
            good = url.scheme in {"http", "https"} and bool(url.hostname) and url.port != 0
        except ValueError:
            good = False
        if not good:
            problems.append(
                Problem(Option(option, str(address)), "it is no address to send to", "write http://HOST:PORT/PATH")
            )
    if problems:
        raise InputError(problems)


def _place(option: str, given: str, more: str = "") -> tuple[str, int]:
    """Return the address and port in an option's value. Raises ``InputError`` if the value is not ADDRESS:PORT."""
    from railweave.errors import InputError, Option, Problem

    host, _, port = given.rpartition(":")
    try:
        address = ipaddress.ip_address(host.strip("[]"))
        number = int(port)
    except ValueError:
        address, number = None, 0
    if address is None or not 0 < number < 1 << 16:
        fix = f"write an address and a port, as 127.0.0.1:8484 or [::1]:8484{more}"
        raise InputError([Problem(Option(option, given), "it is no address with a port", fix)])
    return str(address), number


def _json(changes: Sequence[tuple[Change, Anomaly]]) -> None:
    for change, anomaly in changes:
        typer.echo(json.dumps({"change": change, **anomaly.to_json()}))


def _whole(watching: WatchedNetwork, *, as_json: bool) -> Callable[[object], None]:
    """Return a function that prints the state of the whole network whenever it changes."""
    last: NetworkStanding | None = None

    def whole(_: object) -> None:
        nonlocal last
        now = watching.standing()
        if last is None or (now.state, now.not_known) != (last.state, last.not_known):
            at = strftime("%H:%M:%S")
            typer.echo(json.dumps({"change": "network", **now.to_json()}) if as_json else f"{at} {now}")
        last = now

    return whole


def _lines(*, quiet: bool) -> Callable[[Sequence[tuple[Change, Anomaly]]], None]:
    def lines(changes: Sequence[tuple[Change, Anomaly]]) -> None:
        for change, anomaly in changes:
            if anomaly.finding.severity == "info" or (quiet and anomaly.finding.severity != "error"):
                continue
            at = strftime("%H:%M:%S", localtime(anomaly.closed or anomaly.last))
            word = "over" if change == "closed" else anomaly.finding.severity
            during = " (deploy at work)" if anomaly.deploy else ""
            typer.echo(f"{at} {word}: {anomaly.finding.id} {anomaly.finding.where}: {anomaly.finding.what}{during}")

    return lines
