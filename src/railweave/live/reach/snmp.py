"""SNMP by pysnmp: tables of one device, read column by column. No call here can set anything."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pysnmp.hlapi.v3arch.asyncio as pysnmp_asyncio  # pyright: ignore[reportMissingTypeStubs]

from railweave.errors import RailweaveError
from railweave.live.reach.failure import ReachError, UnreadableError, reason

if TYPE_CHECKING:
    from railweave.live.reach.target import Snmp, Target

_SNMP: Any = pysnmp_asyncio  # it has no types
ROWS = 25
"""The number of table rows per SNMP request."""
MOST_ROWS = 1 << 16
"""The largest number of rows that are read of a column. A table of ports has fewer rows."""
RETRIES = 1
LONGEST = 4096
"""The largest number of bytes of a value. A longer value is cut."""
COLUMN_S = 120.0
"""The seconds within which a column must be read."""


_ENGINES: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()
"""The pysnmp engine of each event loop. All devices share it. An engine can be used only in the loop that created it."""


def _engine() -> Any:  # noqa: ANN401 - pysnmp's
    loop = asyncio.get_running_loop()
    if loop not in _ENGINES:
        _ENGINES[loop] = _SNMP.SnmpEngine()
    return _ENGINES[loop]


def _who(credentials: Snmp) -> Any:  # noqa: ANN401 - one of two kinds of pysnmp
    if credentials.community is not None:
        return _SNMP.CommunityData(credentials.community.value(), mpModel=1)
    assert credentials.authentication is not None  # noqa: S101 - the access file has all of version 3, or version 2c
    assert credentials.privacy is not None  # noqa: S101
    return _SNMP.UsmUserData(
        credentials.user,
        credentials.authentication.value(),
        credentials.privacy.value(),
        authProtocol=_SNMP.USM_AUTH_HMAC192_SHA256,
        privProtocol=_SNMP.USM_PRIV_CFB128_AES,
    )


async def column(target: Target, oid: str) -> dict[tuple[int, ...], int | str]:
    """Return the values of the table column ``oid`` by row index; empty if the device lacks the column.

    Rows beyond ``MOST_ROWS`` are left out. Raises ``ReachError`` if access.yaml has no SNMP login for the device, or if the device

    - does not answer, or refuses the request;
    - needs more than ``COLUMN_S`` seconds for the column;
    - returns rows that are not in ascending order, and so might never end;
    - answers with anything that cannot be read.
    """
    credentials = target.way.snmp
    if credentials is None:
        raise ReachError("not asked", "the access file does not say how it is asked by SNMP")
    start = tuple(map(int, oid.split(".")))
    try:
        async with asyncio.timeout(COLUMN_S):
            return await _column(target, credentials, start)
    except TimeoutError:
        raise ReachError("late", f"SNMP: the column {oid} was not read within {COLUMN_S:g} s") from None
    except OSError as error:
        raise ReachError("unreachable", f"SNMP: {error.strerror or error}") from None
    except RailweaveError:
        raise
    except Exception as error:
        raise UnreadableError("refused", f"SNMP: {reason(error)}") from error


async def _column(target: Target, credentials: Snmp, start: tuple[int, ...]) -> dict[tuple[int, ...], int | str]:
    """Return the values of the column ``start`` by row index. Raises ``ReachError`` as ``column`` does."""
    values: dict[tuple[int, ...], int | str] = {}
    last = start
    transport = await _SNMP.UdpTransportTarget.create(
        (target.way.address, credentials.port), target.connect_s / (RETRIES + 1), RETRIES
    )
    walk = _SNMP.bulk_walk_cmd(
        _engine(), _who(credentials), transport, _SNMP.ContextData(), 0, ROWS, _SNMP.ObjectType(_SNMP.ObjectIdentity(start)),
        lexicographicMode=False, lookupMib=False,
    )  # fmt: skip
    async with aclosing(walk):
        async for wrong, status, _, rows in walk:
            if wrong is not None:
                raise _failure(wrong)
            if status:
                raise ReachError("refused", f"SNMP: {status.prettyPrint()}")
            for name, value in rows:
                path = tuple(name)
                if path[: len(start)] != start or len(values) >= MOST_ROWS:
                    return values
                if path <= last:
                    raise _unordered()
                last = path
                values[path[len(start) :]] = _plain(value)
    return values


def _plain(value: Any) -> int | str:  # noqa: ANN401 - any type of pysnmp
    try:
        return int(value)
    except (TypeError, ValueError):
        return bytes(value)[:LONGEST].decode("utf-8", "replace")


def _failure(wrong: object) -> ReachError:
    if type(wrong).__name__ == "RequestTimedOut":
        fix = "look at its community or user, and whether it lets this machine ask"
        return ReachError("late", "SNMP: it does not answer", fix)
    if type(wrong).__name__ == "OidNotIncreasing":
        return _unordered()
    return ReachError("login", f"SNMP: {wrong}")


def _unordered() -> ReachError:
    return UnreadableError("refused", "SNMP: its rows are not in ascending order")
