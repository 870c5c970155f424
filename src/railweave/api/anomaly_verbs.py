"""Options of the verbs that read and change the anomalies of a running watch. See ``api.options``."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated

from railweave.api.options import Argument, Opt

_TOKEN = "env:RAILWEAVE_TOKEN"  # noqa: S105 - the place of the token, not the token


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """Options of verbs that ask a running watch."""

    at: Annotated[
        str,
        Opt(
            "URL of the console of a running `railweave watch`, or env:NAME or file:PATH, which hold it. Default: http://127.0.0.1:8484.",
            metavar="URL",
        ),
    ] = "http://127.0.0.1:8484"
    password: Annotated[
        str | None,
        Opt("Source of the console's password, if it needs one: env:NAME or file:PATH.", metavar="SOURCE"),
    ] = None


@dataclass(frozen=True, kw_only=True)
class _Writing(_Reading):
    """Options of verbs that change something in a running watch."""

    why: Annotated[str, Opt("Reason, for those who read it later.", metavar="REASON")]
    by: Annotated[str, Opt("Person who does this. Default: the user of this machine.", metavar="NAME")] = ""
    token: Annotated[
        str,
        Opt(
            "Source of the token with which the watch was started (--write-token): env:NAME or file:PATH.",
            metavar="SOURCE",
        ),
    ] = _TOKEN


@dataclass(frozen=True, kw_only=True)
class AnomaliesList(_Reading):
    """Options of ``anomalies``."""

    closed: Annotated[bool, Opt("List closed anomalies, latest first, in place of open ones.")] = False


@dataclass(frozen=True)
class AnomaliesAck(_Writing):
    """Options of ``acknowledge``."""

    anomaly: Annotated[int, Argument("Number of an open anomaly.")]


@dataclass(frozen=True)
class AnomaliesSilence(_Writing):
    """Options of ``silence``."""

    anomaly: Annotated[
        int | None, Argument("Number of an anomaly. Default: all anomalies that the other options fit.")
    ] = None
    _: KW_ONLY
    duration: Annotated[
        str, Opt("Duration of the silence, for example 30m, 2h or 1d; at most 30d.", name="--for", metavar="TIME")
    ]
    rule: Annotated[str, Opt("Silence only findings with this id, for example port-down.", metavar="ID")] = ""
    device: Annotated[str, Opt("Silence only this switch or server.", metavar="NAME")] = ""
    rack: Annotated[str, Opt("Silence only the devices of this rack.", metavar="NAME")] = ""
    tenant: Annotated[str, Opt("Silence only the servers of this tenant.", metavar="NAME")] = ""


@dataclass(frozen=True, kw_only=True)
class AnomaliesSilences(_Reading):
    """Options of ``silences``."""


@dataclass(frozen=True)
class AnomaliesUnsilence(_Writing):
    """Options of ``unsilence``."""

    silence: Annotated[int, Argument("Number of a silence; `railweave anomalies silences` lists them.")]
