"""The settings of the OTLP exporter: ``--otlp``, and the environment variables that OpenTelemetry defines for exporters.

The variables are those of "OpenTelemetry Protocol Exporter" and "Environment Variable Specification" (OpenTelemetry specification 1.x).
A variable of one signal (with METRICS or LOGS after the prefix) has priority over the general one. Values of headers are secrets: no
message contains them.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal
from urllib.parse import unquote, urlsplit

from railweave.errors import InputError, Option, Problem, RailweaveError
from railweave.live.reach.target import on_this_machine
from railweave.secret_url import has_user

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

Signal = Literal["metrics", "logs"]
SIGNALS: tuple[Signal, ...] = ("metrics", "logs")
PREFIX = "OTEL_EXPORTER_OTLP_"
LONGEST_S = 60.0
"""The longest time in seconds that one request may be given."""
_TENANTS = frozenset({"x-scope-orgid", "accountid", "projectid"})
"""The headers that only name a tenant, for Loki, Mimir and VictoriaLogs. They may be sent without TLS."""
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
"""The characters of a header name (RFC 9110, section 5.6.2)."""


@dataclass(frozen=True)
class Receiver:
    """The receiver of one signal.

    - ``url``: the address to which requests are posted.
    - ``headers``: further HTTP headers, for example with a token.
    - ``timeout_s``: the seconds within which a request must be answered.
    - ``tls``: the TLS context, which verifies the receiver; None for an address without TLS.
    """

    signal: Signal
    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    timeout_s: float = 10.0
    gzip: bool = False
    tls: ssl.SSLContext | None = field(default=None, repr=False)

    @property
    def shown(self) -> str:
        """The address without its query, for messages."""
        return _without_query(self.url)


@dataclass(frozen=True)
class OtlpSettings:
    """The receivers by signal, and ``attributes``, the attributes of the resource that the environment names."""

    receivers: Mapping[Signal, Receiver]
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])


def otlp_of(url: str, authorities: Path | None, environment: Mapping[str, str]) -> OtlpSettings:
    """Return the settings of the exporter.

    - ``url``: the base address of the receiver; ``/v1/metrics`` and ``/v1/logs`` are appended, as for the variable ENDPOINT.
    - ``authorities``: a PEM file with the certificates by which the receiver is verified, or None for those that this machine trusts.
    - ``environment``: the environment variables. An empty variable counts as not set.

    Raises ``InputError`` for settings that are wrong, and ``RailweaveError`` if a library is missing.
    """
    _check_library()
    variables = {name: value.strip() for name, value in environment.items() if value.strip()}
    problems: list[Problem] = []
    receivers: dict[Signal, Receiver] = {}
    for signal in SIGNALS:
        exporter = f"OTEL_{signal.upper()}_EXPORTER"
        if variables.get(exporter, "otlp") == "none":
            continue
        if variables.get(exporter, "otlp") != "otlp":
            fix = "write otlp or none"
            problems.append(Problem(Option(exporter, variables[exporter]), "there is no such exporter", fix))
        receiver = _receiver(signal, url, authorities, variables, problems)
        if receiver is not None:
            receivers[signal] = receiver
    attributes = _pairs("OTEL_RESOURCE_ATTRIBUTES", variables.get("OTEL_RESOURCE_ATTRIBUTES", ""), problems)
    if service := variables.get("OTEL_SERVICE_NAME"):
        attributes["service.name"] = service
    if not (receivers or problems):
        fault = "nothing would be sent: OTEL_METRICS_EXPORTER and OTEL_LOGS_EXPORTER are none"
        problems.append(Problem(Option("--otlp"), fault, "unset one of them, or leave out --otlp"))
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
    return OtlpSettings(receivers, attributes)


def _check_library() -> None:
    """Raise ``RailweaveError`` if the messages of OTLP are not installed, or are older than log records with a name of their event."""
    fix = "pip install --upgrade 'railweave[otlp]'"
    try:
        from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
    except ImportError:
        raise RailweaveError(f"--otlp needs opentelemetry-proto, which is not installed: {fix}") from None
    if "event_name" not in LogRecord.DESCRIPTOR.fields_by_name:
        raise RailweaveError(f"--otlp needs a newer opentelemetry-proto: {fix}")


def _receiver(
    signal: Signal, base: str, authorities: Path | None, variables: Mapping[str, str], problems: list[Problem]
) -> Receiver | None:
    """Return the receiver of a signal; None after adding to ``problems`` if its settings are wrong."""
    before = len(problems)

    def setting(name: str) -> tuple[str, str]:
        """Return the variable that applies to this signal, and its value, which is empty if neither variable is set."""
        special = f"{PREFIX}{signal.upper()}_{name}"
        chosen = special if special in variables else PREFIX + name
        return chosen, variables.get(chosen, "")

    place, url = Option("--otlp", base), f"{base.rstrip('/')}/v1/{signal}"
    special = f"{PREFIX}{signal.upper()}_ENDPOINT"
    if special in variables:
        place, url = Option(special, variables[special]), variables[special]
    _check_url(place, url, problems)
    protocol, spoken = setting("PROTOCOL")
    if spoken not in {"", "http/protobuf"}:
        fix = f"unset it, or write http/protobuf, and give --otlp the HTTP port of the receiver (often {4318})"
        problems.append(Problem(Option(protocol, spoken), "this protocol is not spoken", fix))
    name, kind = setting("COMPRESSION")
    if kind not in {"", "none", "gzip"}:
        problems.append(Problem(Option(name, kind), "there is no such compression", "write gzip or none"))
    name, listed = setting("HEADERS")
    headers = _pairs(name, listed, problems, secret=True)
    if len(problems) == before and url.lower().startswith("http:") and headers.keys() - _TENANTS:
        _check_way(signal, url, name, problems)
    timeout_s = _timeout_s(*setting("TIMEOUT"), problems)
    tls: ssl.SSLContext | None = None
    if url.lower().startswith("https:"):
        name, file = setting("CERTIFICATE")
        trusted = (Option("--otlp-ca", str(authorities)), str(authorities)) if authorities else (Option(name, file), file)  # fmt: skip
        tls = _context(*trusted, setting("CLIENT_CERTIFICATE"), setting("CLIENT_KEY"), problems)
    elif authorities is not None:
        fix = "write https:// in the address, or leave out --otlp-ca"
        problems.append(Problem(Option("--otlp-ca", str(authorities)), f"{signal} are sent without TLS", fix))
    if len(problems) > before:
        return None
    return Receiver(signal, url, headers, timeout_s, kind == "gzip", tls)


def _check_url(place: Option, url: str, problems: list[Problem]) -> None:
    """Add to ``problems`` if a URL cannot be used. A URL that may hold a password is not shown."""
    import httpx

    if has_user(url):
        fix = f"put them into the environment variable {PREFIX}HEADERS, for example authorization=Basic%20..."
        hidden = Option(place.name)
        problems.append(Problem(hidden, "a user name or password is in the URL, where others can read it", fix))
        return
    try:
        parts, used = urlsplit(url), httpx.URL(url)
        good = used.scheme in {"http", "https"} and bool(used.host) and parts.port != 0
    except (ValueError, httpx.InvalidURL):  # a host name that IDNA does not allow is a ValueError
        parts, good = None, False
    if not good or parts is None:
        shown = Option(place.name, "" if "@" in url else _without_query(place.value))
        problems.append(Problem(shown, "it is not a URL to send to", "write http://HOST:PORT/PATH"))
    elif place.name == "--otlp" and (parts.query or parts.fragment):
        fix = f"leave out what follows ? or #, or set {PREFIX}METRICS_ENDPOINT and {PREFIX}LOGS_ENDPOINT, which are used as they are"
        problems.append(Problem(Option(place.name), "the URL has a query or a fragment", fix))


def _check_way(signal: Signal, url: str, name: str, problems: list[Problem]) -> None:
    """Add to ``problems`` if secrets would be sent to another machine without TLS. ``name`` is the variable that has the headers."""
    if not on_this_machine(urlsplit(url).hostname or ""):
        fault = f"{_without_query(url)} has no TLS, so others can read the headers of {signal} on their way"
        fix = "write https:// in the address, send to a Collector on this machine that uses TLS, or unset the variable"
        problems.append(Problem(Option(name), fault, fix))


def _without_query(url: str) -> str:
    return url.partition("?")[0].partition("#")[0]


def _pairs(name: str, listed: str, problems: list[Problem], *, secret: bool = False) -> dict[str, str]:
    """Return the pairs of a list such as ``key=value,key=value``, with percent-encoded values (W3C Baggage).

    If the values are secrets, they must be HTTP headers, and problems do not show them.
    """
    pairs: dict[str, str] = {}
    for number, entry in enumerate(filter(None, (part.strip() for part in listed.split(","))), 1):
        key, equals, value = entry.partition("=")
        key, value = key.strip(), unquote(value.strip())
        if not equals or not key or (secret and not _is_header(key, value)):
            fault = f"entry {number} does not have the form NAME=VALUE"
            fix = "separate entries by commas; write a comma in a value as %2C, and a blank as %20"
            problems.append(Problem(Option(name, "" if secret else listed), fault, fix))
        else:
            pairs[key.lower() if secret else key] = value
    return pairs


def _is_header(name: str, value: str) -> bool:
    return set(name) <= _TOKEN and value.isprintable() and value.isascii()


def _timeout_s(name: str, value: str, problems: list[Problem]) -> float:
    """Return a timeout in seconds. The variable has milliseconds; the default is 10 s."""
    if not value:
        return 10.0
    if not value.isdecimal() or not 0 < int(value[:9]) <= LONGEST_S * 1000:
        fix = f"write a number of milliseconds from 1 to {LONGEST_S * 1000:.0f}"
        problems.append(Problem(Option(name, value), "it is not a time in milliseconds", fix))
        return 10.0
    return int(value) / 1000


def _context(
    place: Option, authorities: str, certificate: tuple[str, str], key: tuple[str, str], problems: list[Problem]
) -> ssl.SSLContext | None:
    """Return a TLS context that verifies the receiver and its host name.

    ``certificate`` and ``key`` are the variables of the client's certificate and key, each with its value.
    """
    try:
        context = ssl.create_default_context(cafile=authorities or None)
    except (OSError, ssl.SSLError) as error:
        fault = f"no certificates can be read there: {_reason(error)}"
        problems.append(Problem(place, fault, "name a PEM file with the certificates of authorities"))
        return None
    if certificate[1]:
        try:
            context.load_cert_chain(certificate[1], key[1] or None, password=lambda: "")
        except (OSError, ssl.SSLError) as error:
            fault = f"the client certificate and its key cannot be used: {_reason(error)}"
            fix = f"name PEM files in {certificate[0]} and {key[0]}, with a key that has no passphrase"
            problems.append(Problem(Option(*certificate), fault, fix))
            return None
    return context


def _reason(error: OSError) -> str:
    return error.strerror or (error.reason if isinstance(error, ssl.SSLError) else "") or type(error).__name__


def announced(receivers: Iterable[Receiver]) -> list[str]:
    """Return the lines that say at the start where each signal goes."""
    return [f"sending {receiver.signal} to {receiver.shown}" for receiver in receivers]
