"""Values of gNMI as numbers, many at once: a value stays the bytes that came until a round of them is read.

On the wire a ``TypedValue`` is a byte that says its kind, and what follows: integers and flags are varints, seven bits to a byte (protobuf
encoding). All integers of a round are read by eleven operations on arrays, rather than one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from railweave.live.reach.gnmi_messages import message
from railweave.model.state.telemetry import number_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_WIDTH = 11
"""The kind, and the ten bytes of the longest varint."""
_INT, _UINT, _BOOL, _DOUBLE, _FLOAT = 0x10, 0x18, 0x20, 0x71, 0x35
_JSON = (0x52, 0x5A)
JSON_BEGINS = b"\x52\x5a"


def holds_table(value: bytes) -> bool:
    """Whether a value is JSON that is a table, rather than one number or word."""
    return value[:1] in (b"\x52", b"\x5a") and value[1:].lstrip(b"\x00") != b"" and json_text(value)[:1] in (b"{", b"[")


def json_text(value: bytes) -> bytes:
    """The JSON text of a value that is one, without blanks before it."""
    place = 1
    while place < len(value) and value[place] & 0x80:
        place += 1
    return value[place + 1 :].lstrip()


def numbers(
    metrics: Sequence[str], values: Sequence[bytes | float | str]
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Values as integers of 64 bits, and as floats (NaN: no number), each of the metric at its place."""
    counts = np.zeros(len(values), np.uint64)
    floats = np.full(len(values), np.nan)
    wide = [one if isinstance(one, bytes) and len(one) <= _WIDTH else b"" for one in values]
    data = np.frombuffer(b"".join([one.ljust(_WIDTH, b"\0") for one in wide]), np.uint8).reshape(-1, _WIDTH)
    kinds = data[:, 0]
    varints = (kinds == _UINT) | (kinds == _INT) | (kinds == _BOOL)
    if varints.any():
        body = data[varints, 1:].astype(np.uint64)
        read = np.zeros(len(body), np.uint64)
        for place in range(_WIDTH - 1):
            read |= (body[:, place] & np.uint64(0x7F)) << np.uint64(7 * place)
        counts[varints] = read
        signed = kinds[varints] == _INT
        floats[varints] = np.where(signed, read.astype(np.int64), read).astype(np.float64) if signed.any() else read
    doubles = (kinds == _DOUBLE) & np.array([len(one) == 9 for one in wide], np.bool_)
    if doubles.any():
        floats[doubles] = np.ascontiguousarray(data[doubles, 1:9]).view("<f8").ravel()
    for place in map(int, np.flatnonzero(~(varints | doubles))):
        number = _number(metrics[place], values[place])
        if number is not None:
            floats[place] = number
            counts[place] = min(max(int(number), 0), (1 << 64) - 1)
    floats[~np.isfinite(floats)] = np.nan
    return counts, floats


def _number(metric: str, value: bytes | float | str) -> float | None:
    """A value that is no varint: words, JSON, decimals. Integers stay integers; one that 64 bits do not hold is no number."""
    if isinstance(value, bytes):
        if value[:1] in (b"\x52", b"\x5a"):
            body = json_text(value).strip().strip(b'"')
            try:
                return _within(int(body))
            except ValueError:
                return number_of(metric, body.decode("utf-8", "replace"))
        return _of_message(metric, value)
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, int):
        return _within(value)
    return (
        value
        if isinstance(value, float) and value == value and abs(value) != float("inf")
        else number_of(metric, str(value))
    )


def _within(value: int) -> int | None:
    return value if -(1 << 63) <= value < 1 << 64 else None


def _of_message(metric: str, value: bytes) -> float | None:
    from google.protobuf.message import DecodeError

    try:
        read = message("TypedValue").FromString(value)
    except DecodeError:
        return None
    match read.WhichOneof("held"):
        case "string_val" | "ascii_val" as kind:
            return number_of(metric, getattr(read, kind))
        case "decimal_val":
            return read.decimal_val.digits / 10 ** min(read.decimal_val.precision, 18)
        case "float_val" | "double_val" as kind:
            return float(getattr(read, kind))
        case _:
            return None
